//! Local memory: words of the threads of a warp side by side, so that lane l's word w is row w,
//! column l. Rows are made in groups on first write.

use crate::lanes::Lanes;

/// Words of a group.
const GROUP: usize = 32;

/// Device address of the first byte of all local memory, below everything that is allocated. Caches and
/// the page table know it; values never pass through it.
pub const LOCAL_BASE: u64 = 0x30_0000_0000;

/// Bytes of device addresses that the threads of a warp with `bytes` bytes each take.
pub(crate) fn warp_bytes(bytes: u32) -> u64 {
    u64::from(bytes).next_multiple_of(16) * 32
}

/// Local memory of the 32 threads of one warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalMemory {
    groups: Vec<Option<Box<[Lanes; GROUP]>>>,
    bytes: u32,
    /// Device address of word 0 of lane 0.
    base: u64,
}

impl LocalMemory {
    /// Starts over with `bytes` zero bytes for each thread; `warp` numbers the warps that live at
    /// the same time.
    pub(crate) fn reset(&mut self, bytes: u32, warp: u64) {
        if bytes == 0 && self.bytes == 0 {
            return;
        }
        self.groups.clear();
        self.groups
            .resize_with((bytes as usize).div_ceil(4 * GROUP), || None);
        self.bytes = bytes;
        self.base = LOCAL_BASE + warp * warp_bytes(bytes);
    }

    /// Bytes of each thread.
    pub(crate) fn len(&self) -> u32 {
        self.bytes
    }

    /// Device address of a byte of a lane.
    #[inline(always)]
    pub(crate) fn device_address(&self, offset: u32, lane: usize) -> u64 {
        self.base + u64::from(offset / 4) * 128 + 4 * lane as u64 + u64::from(offset % 4)
    }

    /// A lane's word that holds byte `offset`.
    #[inline(always)]
    pub(crate) fn word(&self, offset: u32, lane: usize) -> u32 {
        let word = (offset / 4) as usize;
        match self.groups.get(word / GROUP) {
            Some(Some(group)) => group[word % GROUP][lane],
            _ => 0,
        }
    }

    /// Writes the bits of `mask` in a lane's word.
    #[inline(always)]
    pub(crate) fn write(&mut self, offset: u32, lane: usize, value: u32, mask: u32) {
        let word = (offset / 4) as usize;
        if let Some(group) = self.groups.get_mut(word / GROUP) {
            let group = group.get_or_insert_with(|| Box::new([Lanes::ZERO; GROUP]));
            let place = &mut group[word % GROUP][lane];
            *place = (*place & !mask) | (value & mask);
        }
    }
}
