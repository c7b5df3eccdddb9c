//! A decoded instruction: what `decode` makes of a word, what `exec` executes and what `source`
//! describes to the timing model.

use smallvec::SmallVec;

use crate::architecture::Architecture;
use crate::control::Control;
use crate::modifier::Modifier;
use crate::opcode::Opcode;
use crate::operand::{Operand, Predicate};
use crate::word::Word;

/// Predicate that decides per lane (or, uniform, per warp) whether the instruction takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Guard {
    /// The predicate; `Predicate::TRUE` if there is no guard.
    pub predicate: Predicate,
    /// Leading `!`: the instruction takes effect where the predicate is false.
    pub negate: bool,
    /// Whether the predicate is a uniform one (`@UP0`).
    pub uniform: bool,
}

impl Guard {
    /// No guard: `@PT`.
    pub const ALWAYS: Guard = Guard {
        predicate: Predicate::TRUE,
        negate: false,
        uniform: false,
    };

    /// Whether this guard lets every lane pass.
    pub fn is_always(self) -> bool {
        self.predicate == Predicate::TRUE && !self.negate
    }
}

/// One decoded instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Instruction {
    /// The word it was decoded from.
    pub word: Word,
    /// The architecture it was decoded for.
    pub architecture: Architecture,
    /// Base mnemonic.
    pub opcode: Opcode,
    /// Suffixes in printed order; unprinted defaults are absent.
    pub modifiers: SmallVec<[Modifier; 8]>,
    /// Guard predicate.
    pub guard: Guard,
    /// Operands in printed order, destinations first.
    pub operands: SmallVec<[Operand; 8]>,
    /// Control bits.
    pub control: Control,
}

impl Instruction {
    /// The mnemonic with its suffixes, as printed: `IMAD.WIDE.U32`.
    pub fn mnemonic(&self) -> String {
        let mut text = self.opcode.text().to_owned();
        for modifier in &self.modifiers {
            text.push_str(modifier.joint());
            text.push_str(modifier.text());
        }
        text
    }

    /// Whether the mnemonic carries `modifier`.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }
}

/// What a word means: an instruction, or a word that the table does not know.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Decoded {
    /// A known instruction.
    Instruction(Instruction),
    /// No row matches this word.
    Unknown(Word),
}
