//! Frames of device memory: which of them each page of the virtual address space lies in. What the
//! driver does is not known beyond its pages of 2 MiB; here large allocations take frames from the bottom,
//! small ones (which share pages) and the driver's own from the top, in rising or in shuffled order.

use std::collections::{BTreeMap, BTreeSet};

/// In which order frames are handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PageOrder {
    /// Neighbouring pages of an allocation lie in neighbouring frames.
    #[default]
    Contiguous,
    /// Frames in an order that the seed picks, as on a machine that has been up for a while.
    Shuffled {
        /// Picks the order.
        seed: u64,
    },
}

/// The end that a frame is taken from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Bottom,
    Top,
}

#[derive(Clone, Copy, Debug)]
struct Mapped {
    /// The frame's place in the order of handing out.
    ordinal: u32,
    /// Allocations that lie in the page.
    users: u32,
}

/// The pages of a device.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    page_bits: u32,
    frames: u32,
    order: PageOrder,
    mapped: BTreeMap<u64, Mapped>,
    /// Ordinals below `bottom` and from `top` on have been handed out.
    bottom: u32,
    top: u32,
    freed: BTreeSet<u32>,
}

impl Pages {
    /// `capacity` bytes in pages of `page_size`, a power of two.
    pub(crate) fn new(capacity: u64, page_size: u64, order: PageOrder) -> Pages {
        let frames = u32::try_from(capacity.div_ceil(page_size)).unwrap_or(u32::MAX);
        Pages {
            page_bits: page_size.trailing_zeros(),
            frames,
            order,
            mapped: BTreeMap::new(),
            bottom: 0,
            top: frames,
            freed: BTreeSet::new(),
        }
    }

    /// Bits of an address inside a page.
    pub(crate) fn page_bits(&self) -> u32 {
        self.page_bits
    }

    /// Bytes of a page.
    pub(crate) fn page_size(&self) -> u64 {
        1 << self.page_bits
    }

    /// Bytes in frames that are free.
    pub(crate) fn free(&self) -> u64 {
        (u64::from(self.top - self.bottom) + self.freed.len() as u64) << self.page_bits
    }

    fn pages_of(&self, base: u64, bytes: u64) -> std::ops::RangeInclusive<u64> {
        base >> self.page_bits..=(base + bytes - 1) >> self.page_bits
    }

    /// Maps the pages of an allocation of `bytes` bytes, at least one, those that no other lies in.
    /// False, and nothing is mapped, if there are not enough frames.
    pub(crate) fn map(&mut self, base: u64, bytes: u64, end: End) -> bool {
        let pages = self.pages_of(base, bytes);
        let known = self.mapped.range(pages.clone()).count() as u64;
        let wanted = pages.end() - pages.start() + 1 - known;
        if wanted > self.free() >> self.page_bits {
            return false;
        }
        for page in pages {
            if let Some(mapped) = self.mapped.get_mut(&page) {
                mapped.users += 1;
            } else if let Some(ordinal) = self.take(end) {
                self.mapped.insert(page, Mapped { ordinal, users: 1 });
            }
        }
        true
    }

    /// An allocation is gone: frames of pages that no other lies in are free.
    pub(crate) fn unmap(&mut self, base: u64, bytes: u64) {
        for page in self.pages_of(base, bytes) {
            if let Some(mapped) = self.mapped.get_mut(&page) {
                mapped.users -= 1;
                if mapped.users == 0 {
                    self.freed.insert(mapped.ordinal);
                    self.mapped.remove(&page);
                }
            }
        }
    }

    /// Frames for `bytes` bytes that the driver needs itself, for good; `None` if there are not enough.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Option<Vec<u32>> {
        let wanted = bytes.div_ceil(self.page_size());
        if wanted > self.free() >> self.page_bits {
            return None;
        }
        (0..wanted)
            .map(|_| self.take(End::Top).map(|ordinal| self.frame(ordinal)))
            .collect()
    }

    /// Every mapped page with its frame, by rising page.
    pub(crate) fn mapped(&self) -> impl Iterator<Item = (u64, u32)> {
        let pages = self.mapped.iter();
        pages.map(|(&page, mapped)| (page, self.frame(mapped.ordinal)))
    }

    fn take(&mut self, end: End) -> Option<u32> {
        let again = match end {
            End::Bottom => self.freed.pop_first(),
            End::Top => self.freed.pop_last(),
        };
        if again.is_some() {
            return again;
        }
        if self.bottom == self.top {
            return None;
        }
        Some(match end {
            End::Bottom => {
                self.bottom += 1;
                self.bottom - 1
            }
            End::Top => {
                self.top -= 1;
                self.top
            }
        })
    }

    /// The frame that is handed out at place `ordinal`.
    fn frame(&self, ordinal: u32) -> u32 {
        match self.order {
            PageOrder::Contiguous => ordinal,
            PageOrder::Shuffled { seed } => shuffled(ordinal, self.frames, seed),
        }
    }
}

/// A permutation of 0 to `count` − 1: a Feistel network over the next even number of bits, walked until
/// it comes back into range.
fn shuffled(ordinal: u32, count: u32, seed: u64) -> u32 {
    let half = (32 - count.saturating_sub(1).leading_zeros())
        .div_ceil(2)
        .max(1);
    let low = (1u64 << half) - 1;
    let mut value = u64::from(ordinal);
    loop {
        for round in 0..4 {
            let (left, right) = (value >> half, value & low);
            value = right << half | (left ^ mixed(right, seed, round)) & low;
        }
        if value < u64::from(count) {
            return value as u32;
        }
    }
}

/// Bits that depend on all of `value`, `seed` and `round` (the finaliser of SplitMix64).
fn mixed(value: u64, seed: u64, round: u64) -> u64 {
    let mut bits = seed
        .wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add(value.wrapping_mul(0xd6e8_feb8_6659_fd93));
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 2 << 20;

    #[test]
    fn a_shuffle_hands_out_every_frame_once() {
        for count in [1u32, 2, 3, 16, 1000, 12_288] {
            for seed in [0, 1, u64::MAX] {
                let mut frames: Vec<u32> = (0..count)
                    .map(|ordinal| shuffled(ordinal, count, seed))
                    .collect();
                if count >= 1000 {
                    let in_place = frames
                        .iter()
                        .enumerate()
                        .filter(|(i, f)| *i == **f as usize);
                    assert!(in_place.count() < 20, "{count} frames, seed {seed}");
                }
                frames.sort_unstable();
                assert!(
                    frames.iter().copied().eq(0..count),
                    "{count} frames, seed {seed}"
                );
            }
        }
        let order = |seed| (0..1000).map(move |ordinal| shuffled(ordinal, 1000, seed));
        assert!(order(1).ne(order(2)));
    }

    #[test]
    fn pages_are_shared_and_come_back() {
        let mut pages = Pages::new(8 * PAGE, PAGE, PageOrder::Contiguous);
        let base = 0x7f_0000_0000;
        // A small allocation, then a large one, then a small one in the large one's last page.
        assert!(pages.map(base, 256, End::Top));
        assert!(pages.map(base + PAGE, 2 * PAGE + 1, End::Bottom));
        assert!(pages.map(base + 3 * PAGE + 512, 256, End::Top));
        let first = base >> 21;
        let table: Vec<_> = pages.mapped().collect();
        assert_eq!(
            table,
            [(first, 7), (first + 1, 0), (first + 2, 1), (first + 3, 2)]
        );
        pages.unmap(base + PAGE, 2 * PAGE + 1);
        assert_eq!(pages.free(), 6 * PAGE);
        assert!(pages.map(base + 64 * PAGE, 6 * PAGE, End::Bottom));
        assert!(
            !pages.map(base + 128 * PAGE, 1, End::Bottom),
            "all frames are taken"
        );
        assert_eq!(pages.reserve(1), None);
        let mut frames: Vec<u32> = pages.mapped().map(|(_, frame)| frame).collect();
        frames.sort_unstable();
        assert!(frames.into_iter().eq(0..8));
    }

    #[test]
    fn the_driver_takes_frames_from_the_top() {
        let mut pages = Pages::new(8 * PAGE, PAGE, PageOrder::Contiguous);
        assert_eq!(pages.reserve(PAGE + 1), Some(vec![7, 6]));
        assert!(pages.map(0, PAGE, End::Bottom));
        assert_eq!(pages.mapped().collect::<Vec<_>>(), [(0, 0)]);
    }
}
