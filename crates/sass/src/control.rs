//! The control field: what the compiler tells the issue stage (MODEL.md §1.1, ISA.md §4.1).
//! Bits 105 to 125 of the word, from Volta to Hopper.

use crate::word::Word;

/// Control bits of one instruction, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Control {
    /// Stall count, 0 to 15 cycles.
    pub stall: u8,
    /// Whether yield is active. The stored bit is inverted: bit 109 = 0 means active.
    pub yields: bool,
    /// Dependence counter raised until the result is written (RAW, WAW), 0 to 5.
    pub write_counter: Option<u8>,
    /// Dependence counter raised until the sources are read (WAR), 0 to 5.
    pub read_counter: Option<u8>,
    /// Bit k set: counter k must be zero before issue.
    pub wait_mask: u8,
    /// Bit k set: keep the register of source slot k in the register-file cache.
    pub reuse: u8,
}

/// Index that stands for "no counter".
const NO_COUNTER: u64 = 7;

impl Control {
    /// Reads the control field of `word`. Counter numbers 6 and 7 both decode to `None`, as only
    /// six counters exist.
    pub fn decode(word: Word) -> Control {
        let counter = |first| match word.bits(first, 3) {
            index @ 0..=5 => Some(index as u8),
            _ => None,
        };
        Control {
            stall: word.bits(105, 4) as u8,
            yields: !word.bit(109),
            write_counter: counter(110),
            read_counter: counter(113),
            wait_mask: word.bits(116, 6) as u8,
            reuse: word.bits(122, 4) as u8,
        }
    }

    /// The field back as bits 105 to 125 of a word, all other bits zero.
    pub fn encode(self) -> Word {
        let counter = |index: Option<u8>| index.map_or(NO_COUNTER, u64::from) as u128;
        Word(
            (self.stall as u128 & 15) << 105
                | (!self.yields as u128) << 109
                | counter(self.write_counter) << 110
                | counter(self.read_counter) << 113
                | (self.wait_mask as u128 & 63) << 116
                | (self.reuse as u128 & 15) << 122,
        )
    }
}

impl std::fmt::Display for Control {
    /// CuAssembler notation: `[B--2---:R0:W1:Y:S04]`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[B")?;
        for counter in 0..6 {
            if self.wait_mask >> counter & 1 == 1 {
                write!(f, "{counter}")?;
            } else {
                write!(f, "-")?;
            }
        }
        match self.read_counter {
            Some(counter) => write!(f, ":R{counter}")?,
            None => write!(f, ":R-")?,
        }
        match self.write_counter {
            Some(counter) => write!(f, ":W{counter}")?,
            None => write!(f, ":W-")?,
        }
        write!(
            f,
            ":{}:S{:02}]",
            if self.yields { 'Y' } else { '-' },
            self.stall
        )
    }
}
