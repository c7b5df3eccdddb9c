//! A CTA's shared memory: bytes with bounds.

use crate::lanes::{Lanes, lanes_of};

/// Shared memory of one CTA.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedMemory {
    bytes: Vec<u8>,
}

impl SharedMemory {
    /// Starts over with `bytes` zero bytes.
    pub(crate) fn reset(&mut self, bytes: usize) {
        self.bytes.clear();
        self.bytes.resize(bytes, 0);
    }

    /// Number of bytes.
    pub(crate) fn len(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Whether `bytes` bytes at `offset` are inside.
    #[inline(always)]
    pub(crate) fn holds(&self, offset: u64, bytes: u64) -> bool {
        offset + bytes <= self.bytes.len() as u64
    }

    /// Reads `N` bytes, zero outside.
    #[inline(always)]
    pub(crate) fn read<const N: usize>(&self, offset: u32) -> [u8; N] {
        match self
            .bytes
            .get(offset as usize..)
            .and_then(|rest| rest.first_chunk::<N>())
        {
            Some(chunk) => *chunk,
            None => [0; N],
        }
    }

    /// Reads a word.
    #[inline(always)]
    pub(crate) fn word(&self, offset: u32) -> u32 {
        u32::from_le_bytes(self.read::<4>(offset))
    }

    /// Writes bytes that lie inside.
    #[inline(always)]
    pub(crate) fn write(&mut self, offset: u32, bytes: &[u8]) {
        let at = offset as usize;
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Words `index` of an access of `bytes` (at least 4) in the lanes of `mask`.
    #[inline(always)]
    pub(crate) fn gather_words(&self, offsets: &[u64; 32], mask: u32, index: u32) -> Lanes {
        let mut result = Lanes::ZERO;
        if mask == u32::MAX {
            for lane in 0..32 {
                result[lane] = self.word(offsets[lane] as u32 + 4 * index);
            }
        } else {
            for lane in lanes_of(mask) {
                result[lane] = self.word(offsets[lane] as u32 + 4 * index);
            }
        }
        result
    }
}
