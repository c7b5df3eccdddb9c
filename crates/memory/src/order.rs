//! Orders packets by cycle without comparing them: one counting pass over the cycles of a window.

/// A stable counting sort by cycle, with storage that is kept.
#[derive(Clone, Debug, Default)]
pub struct CycleOrder {
    starts: Vec<u32>,
    order: Vec<u32>,
}

/// A span of cycles this much longer than the number of packets is sorted by comparison instead.
const SPARSE: u64 = 16;

impl CycleOrder {
    /// The indices of `items` by cycle; of equal cycles, in their order.
    pub fn of<T>(&mut self, items: &[T], cycle: impl Fn(&T) -> u64) -> &[u32] {
        let (first, last) = items.iter().fold((u64::MAX, 0), |(first, last), item| {
            let cycle = cycle(item);
            (first.min(cycle), last.max(cycle))
        });
        self.order.clear();
        let Some(span) = last.checked_sub(first) else {
            return &self.order;
        };
        if span / SPARSE >= items.len() as u64 {
            self.order.extend(0..items.len() as u32);
            self.order
                .sort_by_key(|&index| cycle(&items[index as usize]));
            return &self.order;
        }
        self.starts.clear();
        self.starts.resize(span as usize + 2, 0);
        for item in items {
            self.starts[(cycle(item) - first) as usize + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.order.resize(items.len(), 0);
        for (index, item) in items.iter().enumerate() {
            let start = &mut self.starts[(cycle(item) - first) as usize];
            self.order[*start as usize] = index as u32;
            *start += 1;
        }
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_in_dense_and_sparse_windows() {
        for spread in [1_u64, 7, 1000, 1 << 40] {
            let mut state = 1_u64;
            let items: Vec<u64> = (0..200)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (state >> 33) % spread + 5
                })
                .collect();
            let mut order = CycleOrder::default();
            let got = order.of(&items, |&cycle| cycle);
            let mut want: Vec<u32> = (0..200).collect();
            want.sort_by_key(|&index| items[index as usize]);
            assert_eq!(got, want);
        }
        assert!(CycleOrder::default().of(&[0_u64; 0], |&c| c).is_empty());
    }
}
