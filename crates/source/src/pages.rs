//! Virtual and physical addresses: which frame of device memory each page lies in. The device fills the
//! table between launches; during one it is fixed, and the SMs read it where packets leave them
//! (MODEL.md §8.2). What executes knows virtual addresses only.

/// Bits of an address inside a page, where no device says otherwise.
const PAGE_BITS: u32 = 21;

/// Consecutive pages with the frame of each.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Region {
    first: u64,
    frames: Vec<u32>,
}

/// The page table of a launch. A page that is not mapped is its own frame, so that an empty table leaves
/// addresses as they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageTable {
    page_bits: u32,
    /// By rising page, none adjacent to the next.
    regions: Vec<Region>,
}

impl Default for PageTable {
    fn default() -> PageTable {
        PageTable::new(PAGE_BITS, [])
    }
}

impl PageTable {
    /// A table of pages of 2^`page_bits` bytes: page number and frame number, by rising page.
    pub fn new(page_bits: u32, mapped: impl IntoIterator<Item = (u64, u32)>) -> PageTable {
        let mut regions: Vec<Region> = Vec::new();
        for (page, frame) in mapped {
            match regions.last_mut() {
                Some(last) if last.first + last.frames.len() as u64 == page => {
                    last.frames.push(frame);
                }
                _ => regions.push(Region {
                    first: page,
                    frames: vec![frame],
                }),
            }
        }
        PageTable { page_bits, regions }
    }

    /// Bits of an address inside a page.
    #[inline]
    pub fn page_bits(&self) -> u32 {
        self.page_bits
    }

    /// The frame of page number `page`.
    pub fn frame(&self, page: u64) -> u64 {
        let after = self.regions.partition_point(|region| region.first <= page);
        let region = after.checked_sub(1).map(|index| &self.regions[index]);
        let frame = region.and_then(|region| region.frames.get((page - region.first) as usize));
        frame.map_or(page, |&frame| u64::from(frame))
    }

    /// The physical address of virtual address `address`.
    pub fn physical(&self, address: u64) -> u64 {
        let inside = address & ((1 << self.page_bits) - 1);
        self.frame(address >> self.page_bits) << self.page_bits | inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_lie_in_their_frames() {
        let table = PageTable::new(21, [(3, 7), (4, 5), (0x3f800, 0)]);
        assert_eq!(table.regions.len(), 2);
        assert_eq!(table.physical(3 << 21 | 0x1234), 7 << 21 | 0x1234);
        assert_eq!(table.physical(4 << 21), 5 << 21);
        assert_eq!(table.physical(0x7f_0000_0080), 0x80);
        // What is not mapped keeps its address.
        for page in [0, 2, 5, 0x3f801] {
            assert_eq!(table.frame(page), page);
        }
        assert_eq!(
            PageTable::default().physical(0x7f_1234_5678),
            0x7f_1234_5678
        );
    }
}
