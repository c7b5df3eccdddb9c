//! The heap of device `malloc`: a block of device memory of fixed size that lives as long as the
//! device. The lowest place that fits is given; what is freed joins its neighbours.

use std::collections::BTreeMap;

use source::{Cycle, SmId};

use crate::lanes::lanes_of;

/// Alignment of every block, and the least size of one.
const ALIGNMENT: u64 = 16;

/// Bytes of the heap unless the host asks for another size (`cudaLimitMallocHeapSize`; CUDA C++
/// Programming Guide, "Dynamic Global Memory Allocation").
pub const DEFAULT_HEAP: u64 = 8 << 20;

/// The lanes of one call of `malloc` or `free`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub(crate) free: bool,
    pub(crate) lanes: u32,
    /// Bytes wanted, or the address to free.
    pub(crate) words: [u64; 32],
}

/// A request of a warp, waiting for the next boundary.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) cycle: Cycle,
    pub(crate) warp: u8,
    pub(crate) generation: u32,
    pub(crate) pc: u32,
    pub(crate) request: Request,
}

/// An address was freed that no `malloc` gave, or not any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BadFree {
    pub(crate) lane: usize,
    pub(crate) address: u64,
}

/// The first wrong `free` of a launch in timing mode, told when the launch ends.
#[derive(Clone, Debug)]
pub(crate) struct Misuse {
    pub(crate) cycle: Cycle,
    pub(crate) sm: SmId,
    pub(crate) fault: Box<source::Fault>,
}

/// The heap.
#[derive(Clone, Debug)]
pub(crate) struct Heap {
    /// Free ranges: first address and bytes.
    free: BTreeMap<u64, u64>,
    /// Blocks that were given: address and bytes.
    given: BTreeMap<u64, u64>,
    pub(crate) misuse: Option<Misuse>,
}

impl Heap {
    /// A heap in `bytes` bytes of device memory at `base`.
    pub(crate) fn new(base: u64, bytes: u64) -> Heap {
        let bytes = bytes - bytes % ALIGNMENT;
        Heap {
            free: (bytes > 0).then_some((base, bytes)).into_iter().collect(),
            given: BTreeMap::new(),
            misuse: None,
        }
    }

    /// A block of `bytes` bytes, or 0 if none is left.
    pub(crate) fn allocate(&mut self, bytes: u64) -> u64 {
        let Some(bytes) = bytes.max(1).checked_next_multiple_of(ALIGNMENT) else {
            return 0;
        };
        let Some((&base, &size)) = self.free.iter().find(|(_, size)| **size >= bytes) else {
            return 0;
        };
        self.free.remove(&base);
        if size > bytes {
            self.free.insert(base + bytes, size - bytes);
        }
        self.given.insert(base, bytes);
        base
    }

    /// Takes a block back; whether it was one. Null is none and no mistake.
    pub(crate) fn release(&mut self, address: u64) -> bool {
        if address == 0 {
            return true;
        }
        let Some(mut bytes) = self.given.remove(&address) else {
            return false;
        };
        let mut base = address;
        if let Some(next) = self.free.remove(&(base + bytes)) {
            bytes += next;
        }
        if let Some((&before, &size)) = self.free.range(..base).next_back()
            && before + size == base
        {
            base = before;
            bytes += size;
        }
        self.free.insert(base, bytes);
        true
    }

    /// Serves the lanes of a request in rising order; the addresses given.
    ///
    /// # Errors
    /// The first lane that frees what is not its to free.
    pub(crate) fn serve(&mut self, request: &Request) -> Result<[u64; 32], BadFree> {
        let mut addresses = [0; 32];
        for lane in lanes_of(request.lanes) {
            let word = request.words[lane];
            if !request.free {
                addresses[lane] = self.allocate(word);
            } else if !self.release(word) {
                return Err(BadFree {
                    lane,
                    address: word,
                });
            }
        }
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_overlap_and_come_back() {
        let (base, bytes) = (0x1000, 4096);
        let mut heap = Heap::new(base, bytes);
        let mut blocks: Vec<(u64, u64)> = Vec::new();
        let mut random = 7u64;
        for step in 0..5_000u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            if random >> 40 & 3 == 0 && !blocks.is_empty() {
                let place = (random >> 20) as usize % blocks.len();
                assert!(heap.release(blocks.swap_remove(place).0));
                continue;
            }
            let wanted = random >> 50 & 0xff;
            let address = heap.allocate(wanted);
            let used: u64 = blocks.iter().map(|b| b.1.max(1).next_multiple_of(16)).sum();
            if address == 0 {
                assert!(
                    used + wanted.max(1) > bytes / 4,
                    "step {step}: only {used} used"
                );
                continue;
            }
            assert!(address.is_multiple_of(16) && address >= base);
            assert!(address + wanted <= base + bytes);
            for &(other, size) in &blocks {
                assert!(address + wanted.max(1) <= other || other + size.max(1) <= address);
            }
            blocks.push((address, wanted));
        }
        for (address, _) in blocks {
            assert!(heap.release(address));
        }
        // All is one range again.
        assert_eq!(heap.allocate(bytes), base);
        assert_eq!(heap.allocate(1), 0);
    }

    #[test]
    fn only_what_was_given_is_taken_back() {
        let mut heap = Heap::new(0x1000, 256);
        let a = heap.allocate(32);
        assert!(heap.release(0));
        assert!(!heap.release(a + 16));
        assert!(heap.release(a));
        assert!(!heap.release(a));
        assert_eq!(heap.allocate(u64::MAX), 0);
    }
}
