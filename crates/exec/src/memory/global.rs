//! Device memory: allocations at 64-bit addresses, filled page by page on first write, so that an
//! allocation costs what is written to it and not its size.

use source::PageTable;

use crate::error::ExecError;
use crate::memory::pages::{End, PageOrder, Pages};
use crate::service::console::{Console, Printed};
use crate::service::heap::{BadFree, Heap, Request};

/// Lowest address that is handed out: above 4 GiB, and such that addresses need more than 32 bits.
pub const FIRST_ADDRESS: u64 = 0x7f_0000_0000;

/// Alignment of every allocation.
pub const ALIGNMENT: u64 = 256;

/// Bytes of a page that frames are handed out for, unless the caller says otherwise. An allocation of a
/// page or more begins at one.
const DEFAULT_PAGE_SIZE: u64 = 2 << 20;

/// Bytes never allocated behind each allocation, so that running over its end is noticed.
const GUARD: u64 = 256;

/// Bytes of a block of host memory that holds contents.
pub(crate) const PAGE: u64 = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 16;

/// Bytes that all allocations may take in all unless the caller says otherwise.
const DEFAULT_CAPACITY: u64 = 1 << 40;

type Page = Box<[u8; PAGE as usize]>;

/// One allocation.
#[derive(Debug)]
struct Allocation {
    base: u64,
    bytes: u64,
    name: String,
    pages: Vec<Option<Page>>,
}

/// Device memory of one GPU.
#[derive(Debug)]
pub struct GlobalMemory {
    /// By rising address.
    allocations: Vec<Allocation>,
    next: u64,
    capacity: u64,
    used: u64,
    frames: Pages,
    /// The heap of device `malloc`, once it is reserved.
    pub(crate) heap: Option<Heap>,
    /// What device code has printed.
    pub(crate) console: Console,
}

impl Default for GlobalMemory {
    fn default() -> GlobalMemory {
        GlobalMemory::new()
    }
}

/// Where an access lies: number of the allocation and byte offset in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    allocation: u32,
    offset: u64,
}

impl GlobalMemory {
    /// Empty memory without a limit worth the name.
    pub fn new() -> GlobalMemory {
        GlobalMemory::with_capacity(DEFAULT_CAPACITY)
    }

    /// Empty memory of `capacity` bytes in pages of 2 MiB.
    pub fn with_capacity(capacity: u64) -> GlobalMemory {
        GlobalMemory::with_pages(capacity, DEFAULT_PAGE_SIZE, PageOrder::Contiguous)
    }

    /// Empty memory of `capacity` bytes in pages of `page_size`, a power of two and at least 256, whose
    /// frames are handed out in `order`.
    pub fn with_pages(capacity: u64, page_size: u64, order: PageOrder) -> GlobalMemory {
        GlobalMemory {
            allocations: Vec::new(),
            next: FIRST_ADDRESS,
            capacity,
            used: 0,
            frames: Pages::new(capacity, page_size, order),
            heap: None,
            console: Console::default(),
        }
    }

    /// Allocates `bytes` (0 counts as 1) under a name for messages; the content is zero.
    ///
    /// # Errors
    /// [`ExecError::OutOfMemory`].
    pub fn allocate(&mut self, bytes: u64, name: &str) -> Result<u64, ExecError> {
        let page_size = self.frames.page_size();
        let alignment = if bytes >= page_size {
            page_size
        } else {
            ALIGNMENT
        };
        self.allocate_aligned(bytes, alignment, name)
    }

    /// As [`GlobalMemory::allocate`] with an alignment, a power of two.
    ///
    /// # Errors
    /// [`ExecError::OutOfMemory`].
    pub fn allocate_aligned(
        &mut self,
        bytes: u64,
        alignment: u64,
        name: &str,
    ) -> Result<u64, ExecError> {
        let bytes = bytes.max(1);
        let free = self.capacity - self.used;
        let alignment = alignment.max(ALIGNMENT);
        let base = self.next.checked_next_multiple_of(alignment);
        let end = if bytes >= self.frames.page_size() {
            End::Bottom
        } else {
            End::Top
        };
        let fits = |frames: &mut Pages, base| bytes <= free && frames.map(base, bytes, end);
        let base = base
            .filter(|base| base >> 47 == 0)
            .filter(|&base| fits(&mut self.frames, base));
        let Some(base) = base else {
            return Err(ExecError::OutOfMemory {
                name: name.to_owned(),
                bytes,
                free: free.min(self.frames.free()),
            });
        };
        self.used += bytes;
        self.next = (base + bytes + GUARD).next_multiple_of(ALIGNMENT);
        let pages = bytes.div_ceil(PAGE) as usize;
        self.allocations.push(Allocation {
            base,
            bytes,
            name: name.to_owned(),
            pages: std::iter::repeat_with(|| None).take(pages).collect(),
        });
        Ok(base)
    }

    /// Frees the allocation that begins at `address`; whether there was one.
    pub fn free(&mut self, address: u64) -> bool {
        match self.allocations.binary_search_by_key(&address, |a| a.base) {
            Ok(index) => {
                let allocation = self.allocations.remove(index);
                self.used -= allocation.bytes;
                self.frames.unmap(allocation.base, allocation.bytes);
                true
            }
            Err(_) => false,
        }
    }

    /// Reserves the heap that device `malloc` gives from, if there is none yet.
    ///
    /// # Errors
    /// [`ExecError::OutOfMemory`].
    pub fn reserve_heap(&mut self, bytes: u64) -> Result<(), ExecError> {
        if self.heap.is_none() {
            let base = self.allocate(bytes, "the heap of device malloc")?;
            self.heap = Some(Heap::new(base, bytes));
        }
        Ok(())
    }

    /// Frames for `bytes` bytes that the driver needs itself under a name for messages: code, constants,
    /// local memory.
    ///
    /// # Errors
    /// [`ExecError::OutOfMemory`].
    pub fn reserve_frames(&mut self, bytes: u64, name: &str) -> Result<Vec<u32>, ExecError> {
        self.frames
            .reserve(bytes)
            .ok_or_else(|| ExecError::OutOfMemory {
                name: name.to_owned(),
                bytes,
                free: self.frames.free(),
            })
    }

    /// The page table as it is now, with frames of the driver's at further addresses, by rising address.
    pub fn page_table<'a>(&self, driver: impl IntoIterator<Item = (u64, &'a [u32])>) -> PageTable {
        let page_bits = self.frames.page_bits();
        let driver = driver.into_iter().flat_map(|(address, frames)| {
            let first = address >> page_bits;
            (first..).zip(frames.iter().copied())
        });
        // Both are in order; the driver's addresses lie below those that are allocated.
        PageTable::new(page_bits, driver.chain(self.frames.mapped()))
    }

    /// Takes what device code has printed since the last time.
    pub fn take_printed(&mut self) -> Printed {
        self.console.take()
    }

    /// Takes the first wrong `free` of the past launch, with its cycle and SM.
    pub fn take_misuse(&mut self) -> Option<(source::Cycle, source::SmId, Box<source::Fault>)> {
        let misuse = self.heap.as_mut()?.misuse.take()?;
        Some((misuse.cycle, misuse.sm, misuse.fault))
    }

    /// Serves a request to the heap; without one nothing can be had.
    pub(crate) fn serve(&mut self, request: &Request) -> Result<[u64; 32], BadFree> {
        match &mut self.heap {
            Some(heap) => heap.serve(request),
            None => Heap::new(0, 0).serve(request),
        }
    }

    /// Base, size and name of every allocation, by rising address.
    pub fn allocations(&self) -> impl Iterator<Item = (u64, u64, &str)> {
        self.allocations
            .iter()
            .map(|a| (a.base, a.bytes, a.name.as_str()))
    }

    /// Bytes of host memory that hold written pages.
    pub fn resident_bytes(&self) -> u64 {
        let pages: usize = self
            .allocations
            .iter()
            .map(|a| a.pages.iter().flatten().count())
            .sum();
        pages as u64 * PAGE
    }

    /// Copies bytes from device memory.
    ///
    /// # Errors
    /// [`ExecError::NoAllocation`].
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), ExecError> {
        let place = self.host_place(address, bytes.len() as u64)?;
        self.copy_out(place, bytes);
        Ok(())
    }

    /// Copies bytes to device memory.
    ///
    /// # Errors
    /// [`ExecError::NoAllocation`].
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), ExecError> {
        let place = self.host_place(address, bytes.len() as u64)?;
        self.copy_in(place, bytes);
        Ok(())
    }

    /// Sets `count` bytes to `value`.
    ///
    /// # Errors
    /// [`ExecError::NoAllocation`].
    pub fn fill(&mut self, address: u64, value: u8, count: u64) -> Result<(), ExecError> {
        let place = self.host_place(address, count)?;
        let allocation = &mut self.allocations[place.allocation as usize];
        let mut offset = place.offset;
        let end = place.offset + count;
        while offset < end {
            let within = (offset % PAGE) as usize;
            let length = ((end - offset) as usize).min(PAGE as usize - within);
            let slot = &mut allocation.pages[(offset >> PAGE_BITS) as usize];
            if value == 0 && length == PAGE as usize {
                *slot = None;
            } else if value != 0 || slot.is_some() {
                slot.get_or_insert_with(new_page)[within..within + length].fill(value);
            }
            offset += length as u64;
        }
        Ok(())
    }

    fn host_place(&self, address: u64, bytes: u64) -> Result<Place, ExecError> {
        self.find(address, bytes.max(1), 0)
            .ok_or_else(|| ExecError::NoAllocation {
                address,
                bytes,
                nearest: self.nearest(address),
            })
    }

    /// The allocation that holds all of `bytes` bytes at `address`. `hint` is the number of an
    /// allocation to try first.
    #[inline]
    pub(crate) fn find(&self, address: u64, bytes: u64, hint: u32) -> Option<Place> {
        if let Some(allocation) = self.allocations.get(hint as usize) {
            let offset = address.wrapping_sub(allocation.base);
            if offset < allocation.bytes && bytes <= allocation.bytes - offset {
                return Some(Place {
                    allocation: hint,
                    offset,
                });
            }
        }
        let after = self.allocations.partition_point(|a| a.base <= address);
        let index = after.checked_sub(1)?;
        let allocation = &self.allocations[index];
        let offset = address - allocation.base;
        (offset < allocation.bytes && bytes <= allocation.bytes - offset).then_some(Place {
            allocation: index as u32,
            offset,
        })
    }

    /// The allocation nearest to an address, described for a message.
    pub fn nearest(&self, address: u64) -> String {
        let distance = |a: &Allocation| {
            if address < a.base {
                a.base - address
            } else {
                (address - a.base).saturating_sub(a.bytes - 1)
            }
        };
        match self.allocations.iter().min_by_key(|a| distance(a)) {
            None => "there is no allocation".to_owned(),
            Some(a) => {
                let end = a.base + a.bytes;
                let place = if address < a.base {
                    format!("{} bytes before", a.base - address)
                } else if address >= end {
                    format!("{} bytes behind", address - end + 1)
                } else {
                    "across the end of".to_owned()
                };
                format!(
                    "{place} `{}` ({:#x} to {:#x}, {} bytes)",
                    a.name, a.base, end, a.bytes
                )
            }
        }
    }

    /// The bytes of the page that holds a place, from the place to the page's end; `None` if the
    /// page was never written.
    #[inline(always)]
    pub(crate) fn page(&self, place: Place) -> Option<&[u8]> {
        let page = self.allocations[place.allocation as usize].pages
            [(place.offset >> PAGE_BITS) as usize]
            .as_deref()?;
        Some(&page[(place.offset % PAGE) as usize..])
    }

    /// As `page`, to be written.
    #[inline(always)]
    pub(crate) fn page_mut(&mut self, place: Place) -> &mut [u8] {
        let slot = &mut self.allocations[place.allocation as usize].pages
            [(place.offset >> PAGE_BITS) as usize];
        &mut slot.get_or_insert_with(new_page)[(place.offset % PAGE) as usize..]
    }

    fn copy_out(&self, mut place: Place, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let length = bytes.len().min((PAGE - place.offset % PAGE) as usize);
            let (part, rest) = bytes.split_at_mut(length);
            match self.page(place) {
                Some(page) => part.copy_from_slice(&page[..length]),
                None => part.fill(0),
            }
            place.offset += length as u64;
            bytes = rest;
        }
    }

    fn copy_in(&mut self, mut place: Place, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let length = bytes.len().min((PAGE - place.offset % PAGE) as usize);
            self.page_mut(place)[..length].copy_from_slice(&bytes[..length]);
            place.offset += length as u64;
            bytes = &bytes[length..];
        }
    }

    /// Reads `N` bytes that do not cross a page (an aligned access).
    #[inline(always)]
    pub(crate) fn read_aligned<const N: usize>(&self, place: Place) -> [u8; N] {
        let mut bytes = [0; N];
        if let Some(page) = self.page(place)
            && let Some(source) = page.first_chunk::<N>()
        {
            bytes = *source;
        }
        bytes
    }

    /// Writes bytes that do not cross a page.
    #[inline(always)]
    pub(crate) fn write_aligned(&mut self, place: Place, bytes: &[u8]) {
        if let Some(target) = self.page_mut(place).get_mut(..bytes.len()) {
            target.copy_from_slice(bytes);
        }
    }
}

impl Place {
    /// The place `bytes` further on.
    #[inline(always)]
    pub(crate) fn advance(self, bytes: u64) -> Place {
        Place {
            allocation: self.allocation,
            offset: self.offset + bytes,
        }
    }

    /// Number of the allocation, a hint for the next search.
    #[inline(always)]
    pub(crate) fn allocation(self) -> u32 {
        self.allocation
    }

    /// Bytes from here to the end of the page.
    #[inline(always)]
    pub(crate) fn to_page_end(self) -> u64 {
        PAGE - self.offset % PAGE
    }
}

fn new_page() -> Page {
    // Boxed from a vector: a page does not pass over the stack.
    match vec![0u8; PAGE as usize].into_boxed_slice().try_into() {
        Ok(page) => page,
        Err(_) => Box::new([0; PAGE as usize]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_lie_above_4_gib_aligned_and_apart() {
        let mut memory = GlobalMemory::new();
        let a = memory.allocate(100, "a").unwrap();
        let b = memory.allocate(100, "b").unwrap();
        assert_eq!(a, FIRST_ADDRESS);
        assert!(b.is_multiple_of(ALIGNMENT) && b >= a + 100 + GUARD);
    }

    #[test]
    fn six_gigabytes_cost_only_what_is_written() {
        let mut memory = GlobalMemory::new();
        let base = memory.allocate(6 << 30, "large").unwrap();
        let last = base + (6 << 30) - 4;
        memory.write(last, &[1, 2, 3, 4]).unwrap();
        let mut bytes = [0; 4];
        memory.read(last, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4]);
        memory.read(base + (5 << 30), &mut bytes).unwrap();
        assert_eq!(bytes, [0; 4]);
        assert_eq!(memory.resident_bytes(), PAGE);
        assert!(memory.read(last + 1, &mut bytes).is_err());
    }

    /// REGRESSIONS M6: virtual and physical addresses beyond 32 bits, a frame of its own for each page.
    #[test]
    fn six_gigabytes_lie_in_frames_of_their_own() {
        const PAGE: u64 = 2 << 20;
        const DRAM: u64 = 24 << 30;
        for order in [PageOrder::Contiguous, PageOrder::Shuffled { seed: 7 }] {
            let mut memory = GlobalMemory::with_pages(DRAM, PAGE, order);
            let small = memory.allocate(100, "small").unwrap();
            let base = memory.allocate(6 << 30, "large").unwrap();
            let code = memory.reserve_frames(1, "code").unwrap();
            let table = memory.page_table([(0x10_0000_0000, &code[..])]);
            if order == PageOrder::Contiguous {
                // Large allocations from the bottom, the rest from the top.
                assert_eq!(table.physical(base), 0);
                assert_eq!(table.physical(base + (5 << 30) + 77), (5 << 30) + 77);
                assert_eq!(table.physical(small), DRAM - PAGE);
                assert_eq!(table.physical(0x10_0000_0080), DRAM - 2 * PAGE + 0x80);
            }
            let pages = (0..6 << 30).step_by(PAGE as usize);
            let addresses = pages.map(|offset| base + offset);
            let mut frames: Vec<u64> = addresses
                .chain([small, 0x10_0000_0000])
                .map(|address| table.frame(address / PAGE))
                .collect();
            frames.sort_unstable();
            let count = frames.len();
            frames.dedup();
            assert_eq!((frames.len(), count), (3074, 3074));
            assert!(frames.iter().all(|&frame| frame < DRAM / PAGE));
            assert!(frames.iter().any(|&frame| frame * PAGE > 1 << 32));
        }
    }

    #[test]
    fn frames_run_out_and_come_back() {
        const PAGE: u64 = 2 << 20;
        let mut memory = GlobalMemory::with_pages(8 * PAGE, PAGE, PageOrder::Contiguous);
        let a = memory.allocate(5 * PAGE, "a").unwrap();
        memory.reserve_frames(PAGE + 1, "code").unwrap();
        // Bytes would be free, but a page for each is not.
        let error = memory.allocate(PAGE + 1, "b").unwrap_err();
        assert!(
            matches!(error, ExecError::OutOfMemory { free: PAGE, .. }),
            "{error}"
        );
        assert!(memory.reserve_frames(2 * PAGE, "local memory").is_err());
        assert!(memory.free(a));
        memory.allocate(PAGE + 1, "b").unwrap();
    }

    #[test]
    fn host_copies_cross_pages() {
        let mut memory = GlobalMemory::new();
        let base = memory.allocate(3 * PAGE, "a").unwrap();
        let data: Vec<u8> = (0..2 * PAGE as usize)
            .map(|i| i as u8 ^ (i >> 8) as u8)
            .collect();
        memory.write(base + 77, &data).unwrap();
        let mut back = vec![0; data.len()];
        memory.read(base + 77, &mut back).unwrap();
        assert_eq!(back, data);
        memory.fill(base, 0, 3 * PAGE).unwrap();
        memory.read(base + 77, &mut back).unwrap();
        assert!(back.iter().all(|&b| b == 0));
    }

    #[test]
    fn the_nearest_allocation_is_named() {
        let mut memory = GlobalMemory::new();
        let a = memory.allocate(16, "first").unwrap();
        memory.allocate(16, "second").unwrap();
        let message = memory.read(a + 16, &mut [0; 4]).unwrap_err().to_string();
        assert!(message.contains("1 bytes behind `first`"), "{message}");
    }
}
