//! Numbers that look random and are the same in every run.

/// A generator (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator with a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit.max(1))) >> 64) as u64
    }
}

/// Places 0 to `count` − 1 in an order that looks random and needs no table: place i is
/// `(i · multiplier) mod 2ᵏ`, left out where that is not below `count`. Kernels go through it too.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// Places.
    pub count: u32,
    /// 2ᵏ − 1, the least such that holds them.
    pub mask: u32,
    /// Odd.
    pub multiplier: u32,
}

impl Order {
    /// The order of `count` places.
    pub fn new(count: u32) -> Order {
        Order {
            count,
            mask: count.max(1).next_power_of_two().wrapping_sub(1),
            // The golden ratio of 2³²: neighbours in the order lie far apart at every size.
            multiplier: 0x9e37_79b1,
        }
    }

    /// The places.
    pub fn places(self) -> impl Iterator<Item = u32> {
        let all = 0..=self.mask;
        let places = all.map(move |i| i.wrapping_mul(self.multiplier) & self.mask);
        places.filter(move |&place| place < self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_holds_every_place_once() {
        for count in [1, 2, 3, 96, 1000, 4096] {
            let mut places: Vec<u32> = Order::new(count).places().collect();
            places.sort_unstable();
            assert!(places.iter().copied().eq(0..count), "{count}");
        }
    }

    #[test]
    fn numbers_stay_below_their_limit() {
        let mut random = Random::new(7);
        let seen: Vec<u64> = (0..1000).map(|_| random.below(10)).collect();
        assert!((0..10).all(|value| seen.contains(&value)));
        assert!(seen.iter().all(|&value| value < 10));
    }
}
