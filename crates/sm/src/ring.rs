//! A ring of 64 cycles with a set of warps in each: the short waits of a sub-core.

/// Sets of local warp slots by cycle, up to 63 cycles ahead.
pub struct MaskRing {
    masks: [u16; 64],
    occupied: u64,
}

impl MaskRing {
    /// An empty ring.
    pub fn new() -> MaskRing {
        MaskRing {
            masks: [0; 64],
            occupied: 0,
        }
    }

    /// Enters `slot` for `cycle`, which lies after `now` and less than 64 cycles ahead.
    #[inline]
    pub fn set(&mut self, slot: usize, cycle: u64, now: u64) {
        debug_assert!(cycle > now && cycle - now < 64);
        let place = (cycle % 64) as usize;
        self.masks[place] |= 1 << slot;
        self.occupied |= 1 << place;
    }

    /// Takes out the set of cycle `now`.
    #[inline]
    pub fn take(&mut self, now: u64) -> u16 {
        let place = (now % 64) as usize;
        let mask = self.masks[place];
        self.masks[place] = 0;
        self.occupied &= !(1 << place);
        mask
    }

    /// Takes `slot` out of all cycles.
    #[inline]
    pub fn clear(&mut self, slot: usize) {
        let mut occupied = self.occupied;
        while occupied != 0 {
            let place = occupied.trailing_zeros() as usize;
            occupied &= occupied - 1;
            self.masks[place] &= !(1 << slot);
            if self.masks[place] == 0 {
                self.occupied &= !(1 << place);
            }
        }
    }

    /// Next occupied cycle after `now`, `u64::MAX` if none.
    #[inline]
    pub fn next(&self, now: u64) -> u64 {
        if self.occupied == 0 {
            return u64::MAX;
        }
        let rotated = self.occupied.rotate_right((now % 64) as u32 + 1);
        now + 1 + rotated.trailing_zeros() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_finds_the_nearest_cycle_across_the_wrap() {
        let mut ring = MaskRing::new();
        ring.set(3, 130, 100);
        ring.set(5, 127, 100);
        assert_eq!(ring.next(100), 127);
        assert_eq!(ring.take(127), 1 << 5);
        assert_eq!(ring.next(127), 130);
        ring.clear(3);
        assert_eq!(ring.next(127), u64::MAX);
    }
}
