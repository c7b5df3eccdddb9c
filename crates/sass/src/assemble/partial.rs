//! A word while it is put together: which bits are decided, and as what.

use crate::word::Word;

/// Bits decided so far.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Partial {
    value: u128,
    decided: u128,
}

impl Partial {
    /// Decides `width` bits from `first` up, or `None` if `value` does not fit or the bits are decided
    /// otherwise.
    pub(crate) fn with(self, first: u32, width: u32, value: u64) -> Option<Partial> {
        if width < 64 && value >> width != 0 || first + width > 128 {
            return None;
        }
        let mask = match width {
            0 => return Some(self),
            64.. => u128::from(u64::MAX),
            _ => (1 << width) - 1,
        } << first;
        let value = u128::from(value) << first & mask;
        let both = self.decided & mask;
        (self.value & both == value & both).then_some(Partial {
            value: self.value | value,
            decided: self.decided | mask,
        })
    }

    /// Decides several runs of bits as one number, the first run lowest.
    pub(crate) fn with_runs(mut self, runs: &[(u8, u8)], mut value: u64) -> Option<Partial> {
        for &(first, width) in runs {
            let width = u32::from(width);
            let part = if width >= 64 {
                value
            } else {
                value & ((1 << width) - 1)
            };
            self = self.with(first.into(), width, part)?;
            value = value.checked_shr(width).unwrap_or(0);
        }
        (value == 0).then_some(self)
    }

    /// Decides the bits of a flag.
    pub(crate) fn with_bit(self, bit: u32, value: bool) -> Option<Partial> {
        self.with(bit, 1, value.into())
    }

    /// Which bits are decided.
    pub(crate) fn decided(self) -> u128 {
        self.decided
    }

    /// The word, its undecided bits taken from `rest`.
    pub(crate) fn word(self, rest: u128) -> Word {
        Word(self.value | rest & !self.decided)
    }
}
