//! The 128-bit instruction word: the first thing fetched, before anything is decoded.

/// One 128-bit instruction as it lies in memory (little endian), bit 0 being the lowest bit of the
/// first byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Word(pub u128);

impl Word {
    /// Bytes of one instruction; every program counter is a multiple of it.
    pub const BYTES: u32 = 16;

    /// Builds a word from its low and high 64-bit halves, as the vendor's disassembler prints them.
    pub const fn from_halves(low: u64, high: u64) -> Word {
        Word((high as u128) << 64 | low as u128)
    }

    /// Builds a word from 16 bytes in memory order.
    pub const fn from_bytes(bytes: [u8; 16]) -> Word {
        Word(u128::from_le_bytes(bytes))
    }

    /// The low 64 bits.
    pub const fn low(self) -> u64 {
        self.0 as u64
    }

    /// The high 64 bits.
    pub const fn high(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// `width` bits (1 to 64) from bit `first` (0 to 127) up.
    pub const fn bits(self, first: u32, width: u32) -> u64 {
        let shifted = (self.0 >> first) as u64;
        if width >= 64 {
            shifted
        } else {
            shifted & ((1 << width) - 1)
        }
    }

    /// Bit `position` (0 to 127).
    pub const fn bit(self, position: u32) -> bool {
        self.0 >> position & 1 == 1
    }

    /// Bit runs (first, width) as one number, the first run lowest.
    pub(crate) fn concatenate(self, runs: &[(u8, u8)]) -> u64 {
        let mut value = 0;
        let mut shift = 0u32;
        for &(first, width) in runs {
            value |= self
                .bits(first.into(), width.into())
                .checked_shl(shift)
                .unwrap_or(0);
            shift += u32::from(width);
        }
        value
    }
}
