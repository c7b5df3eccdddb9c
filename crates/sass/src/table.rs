//! The encoding table: one row per mnemonic and operand form, from which the decoder, the printer and
//! the assembler derive. The families lie in `table/`, in the order of the units that execute them.
//!
//! A row names bits, never code: where the opcode stands (bits 0 to 11), which bits choose each
//! printed suffix and which bits hold each operand. Bit numbers are the 128-bit word's.
//! Field positions follow Mesa NAK's `sm70_encode.rs`, CuAssembler's instruction repositories and
//! nv_isa_solver's published pages (all MIT); the vendor's disassembler checks them
//! (`scripts/compare-disassembly-corpus.sh`).

mod asynchronous;
mod atomic;
mod barrier;
mod brain_conversion;
mod cluster;
mod control_flow;
mod conversion;
mod describe;
mod double;
mod float;
mod graphics;
mod half;
mod hopper;
mod hopper_flow;
mod hopper_memory;
mod integer;
mod memory;
mod miscellaneous;
#[path = "table/move_.rs"]
mod moves;
mod predicate;
mod tensor;
mod texture;
mod turing;
mod turing_surface;
mod uniform;
mod warp_group;

use std::collections::BTreeSet;
use std::sync::OnceLock;

use smallvec::SmallVec;

use crate::architecture::Architecture;
use crate::modifier::Modifier;
use crate::opcode::Opcode;
use crate::operand::{ImmediateKind, Select};
use crate::word::Word;

pub use describe::*;

/// One encoding: a mnemonic with its suffix fields and operand fields.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Base mnemonic.
    pub opcode: Opcode,
    /// Bits 0 to 8, the opcode proper.
    pub code: u16,
    /// Which values of bits 9 to 11, the operand form, this row covers: bit k set for value k.
    pub forms: u8,
    /// How bit 91 must stand for the word to be legal.
    pub high: High,
    /// First and last architecture that have this encoding.
    pub architectures: (Architecture, Architecture),
    /// Further conditions that choose this row among those of the same opcode.
    pub when: &'static [When],
    /// Suffixes in printed order.
    pub suffixes: &'static [Suffix],
    /// Operands in printed order.
    pub fields: &'static [Field],
    /// What stands in bits (first, width, value) that no printed part names, unused predicates
    /// above all, in compiled code; other such bits are zero.
    pub rest: &'static [(u8, u8, u64)],
}

/// What a row demands of bit 91, which tells uniform registers and bindless constants apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum High {
    /// Always zero.
    Zero,
    /// Always one.
    One,
    /// Either; no operand depends on it.
    Any,
    /// By the operand form of a vector instruction: one for a uniform register, either for a constant
    /// (bindless if one), zero otherwise.
    ByForm,
}

/// A condition on the word.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// The bits have this value.
    Is(u8, u8, u64),
    /// The bits do not have this value.
    Not(u8, u8, u64),
    /// Exactly one of the bits is set.
    PowerOfTwo(u8, u8),
}

/// A printed suffix of the mnemonic: the concatenated bits index a list of names.
#[derive(Clone, Copy, Debug)]
pub struct Suffix {
    /// Bit runs (first, width), lowest first.
    pub bits: &'static [(u8, u8)],
    /// One name per value, separated by spaces: `-` prints nothing, `?` is an illegal value, a dot
    /// joins two suffixes. Values beyond the list are illegal.
    pub names: &'static str,
}

/// The source positions of an arithmetic instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slot {
    /// First source: bits 24 to 31 in every form.
    A,
    /// Second source: bits 32 up, or bits 64 to 71 where the third takes that place.
    B,
    /// Third source: bits 64 to 71, or bits 32 up.
    C,
    /// Third source of an instruction without a second: bits 32 up in every form.
    Last,
}

/// Which signs a source can carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adjusts {
    /// Leading `-`.
    pub negate: bool,
    /// `|…|`.
    pub absolute: bool,
    /// Leading `~`, stored in the bit that elsewhere is the minus sign.
    pub invert: bool,
    /// Half-precision instructions keep the signs of bits 64 to 71 elsewhere.
    pub half: bool,
    /// The sign bit is stored inverted or elsewhere: bits of minus and absolute, 0 if by position.
    pub at: (u8, u8),
}

/// Where a source's printed suffix comes from.
#[derive(Clone, Copy, Debug)]
pub enum Selects {
    /// No suffix.
    Nothing,
    /// Always this one.
    Always(Select),
    /// The halves of a half-precision source, two bits by position.
    Half,
    /// Bits (first, width) index this list; `None` is an illegal value.
    Bits(u8, u8, &'static [Option<Select>]),
}

/// An address in brackets.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// First bit of the base register, if there is one.
    pub base: Option<u8>,
    /// First bit and width of the byte offset.
    pub offset: (u8, u8),
    /// First bit of the uniform register, if there is one.
    pub uniform: Option<u8>,
    /// Bit that makes the base register a 64-bit pair (else `.U32`) beside a uniform register.
    pub wide: Option<u8>,
    /// Bit that makes the uniform register a memory descriptor, which is not printed.
    pub descriptor: Option<u8>,
    /// First bit of the uniform register whose successor is the descriptor, in place of `uniform`.
    pub descriptor_after: Option<u8>,
    /// First of two bits that scale the base register (`.X4`, `.X8`, `.X16`).
    pub scale: Option<u8>,
    /// Whether a lone offset is printed with its sign.
    pub signed: bool,
    /// Whether the base is printed even if RZ and the uniform register not if URZ.
    pub explicit: bool,
}

/// An operand.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    /// A general register in eight bits.
    Register {
        /// First bit.
        at: u8,
        /// Signs.
        adjust: Adjusts,
        /// Suffix.
        select: Selects,
        /// Left out if RZ.
        optional: bool,
        /// The register-file cache can keep it (`.reuse`).
        reused: bool,
    },
    /// An arithmetic source, whose kind the operand form decides.
    Source {
        /// Position.
        slot: Slot,
        /// How a literal in this place reads.
        literal: ImmediateKind,
        /// Signs.
        adjust: Adjusts,
        /// Suffix.
        select: Selects,
    },
    /// A uniform register in six bits.
    Uniform {
        /// First bit.
        at: u8,
        /// Signs.
        adjust: Adjusts,
        /// Left out if URZ.
        optional: bool,
    },
    /// The uniform register that lies `distance` behind the one at bit `at`.
    UniformBehind {
        /// First bit.
        at: u8,
        /// How many registers further.
        distance: u8,
    },
    /// A cache policy in uniform registers, left out unless bit `present` is set.
    Policy {
        /// First bit.
        at: u8,
        /// The bit that says so.
        present: u8,
    },
    /// The descriptors of one or both factors of a warp group's matrix instruction.
    MatrixDescriptor {
        /// First bit.
        at: u8,
        /// Whether both factors are described.
        both: bool,
        /// Bits of the factors' flags, in the order of `MATRIX_FLAGS`; 0 if there is no such bit.
        flags: [u8; 4],
    },
    /// A predicate in three bits.
    Predicate {
        /// First bit.
        at: u8,
        /// Bit of the leading `!`.
        not: Option<u8>,
        /// Left out if PT.
        optional: bool,
        /// A uniform predicate.
        uniform: bool,
        /// The number is stored complemented, so that zero stands for PT.
        complement: bool,
    },
    /// All predicates as one value.
    PredicateSet {
        /// The uniform ones.
        uniform: bool,
        /// Suffix.
        select: Selects,
    },
    /// A literal, or a lookup table of several bit runs.
    Immediate {
        /// Bit runs (first, width), lowest first.
        bits: &'static [(u8, u8)],
        /// Reading.
        kind: ImmediateKind,
        /// Left out if it has this value.
        default: Option<u64>,
        /// Factor between the stored and the printed value.
        scale: u8,
    },
    /// A constant with an index register: bank in bits 54 to 58, offset in bits 38 to 53.
    Constant {
        /// First bit of the index register.
        index: Option<u8>,
        /// First bit of the uniform index register.
        uniform_index: Option<u8>,
        /// First bit of the uniform register of a bindless constant.
        bindless: Option<u8>,
    },
    /// An address.
    Memory(Address),
    /// A convergence barrier in four bits.
    Convergence {
        /// First bit.
        at: u8,
    },
    /// A special register in bits 72 to 79.
    Special,
    /// A dependence counter in three bits.
    Counter {
        /// First bit.
        at: u8,
    },
    /// A set of dependence counters, left out if empty.
    CounterSet {
        /// First bit.
        at: u8,
        /// Number of counters.
        width: u8,
    },
    /// A code address of `width` bits relative to the next instruction.
    Target {
        /// Bit runs (first, width), lowest first.
        bits: &'static [(u8, u8)],
        /// Bytes that the number counts.
        scale: u8,
    },
    /// A word: the bits index a list of names as in `Suffix`; `-` leaves it out.
    Keyword {
        /// First bit and width.
        bits: (u8, u8),
        /// Names.
        names: &'static str,
    },
}

impl Row {
    /// Whether the guard of this instruction is a uniform predicate: the instructions of the uniform
    /// datapath and of Hopper's units behind it; VOTEU (0x086) votes over lanes and has an ordinary one.
    pub(crate) fn guard_is_uniform(&self) -> bool {
        matches!(
            self.code,
            0x082..=0x085
                | 0x087..=0x0bf
                | 0x1b2
                | 0x1b4..=0x1bc
                | 0x1c3
                | 0x1c7..=0x1c9
                | 0x1ce
        )
    }

    /// The usual values of the bits that no printed part names.
    pub(crate) fn unprinted(&self) -> u128 {
        let bits = self.rest.iter();
        bits.fold(0, |word, &(first, _, value)| {
            word | u128::from(value) << first
        })
    }

    /// Whether this row describes `word`.
    pub(crate) fn matches(&self, word: Word) -> bool {
        let form = word.bits(9, 3) as u8;
        let high = word.bit(91);
        let legal = match self.high {
            High::Zero => !high,
            High::One => high,
            High::Any => true,
            High::ByForm => match form {
                3 | 5 => true,
                6 | 7 => high,
                _ => !high,
            },
        };
        legal
            && self.when.iter().all(|when| match *when {
                When::Is(first, width, value) => word.bits(first.into(), width.into()) == value,
                When::Not(first, width, value) => word.bits(first.into(), width.into()) != value,
                When::PowerOfTwo(first, width) => {
                    word.bits(first.into(), width.into()).is_power_of_two()
                }
            })
    }
}

/// All rows, family by family; of several rows that match a word the first counts.
pub fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        [
            // What one architecture encodes its own way stands before the common rows.
            turing::ROWS,
            turing_surface::ROWS,
            cluster::ROWS,
            hopper::ROWS,
            hopper_flow::ROWS,
            hopper_memory::ROWS,
            brain_conversion::ROWS,
            asynchronous::ROWS,
            warp_group::ROWS,
            integer::ROWS,
            moves::ROWS,
            float::ROWS,
            half::ROWS,
            double::ROWS,
            conversion::ROWS,
            predicate::ROWS,
            memory::ROWS,
            atomic::ROWS,
            texture::ROWS,
            control_flow::ROWS,
            barrier::ROWS,
            uniform::ROWS,
            tensor::ROWS,
            miscellaneous::ROWS,
            graphics::ROWS,
        ]
        .concat()
    })
}

/// A name list looked up once: per value the suffixes it prints, `None` for an illegal value.
type Names = Vec<Option<SmallVec<[Modifier; 2]>>>;

/// A row with its suffix names resolved.
pub(crate) struct Compiled {
    pub row: Row,
    pub suffixes: Vec<Names>,
    /// Per operand field the words of a `Keyword`, empty for other fields.
    pub keywords: Vec<Vec<&'static str>>,
}

impl Compiled {
    /// Whether the row matches `word` and all its suffixes have a meaning.
    pub(crate) fn describes(&self, word: Word) -> bool {
        self.row.matches(word)
            && self
                .row
                .suffixes
                .iter()
                .zip(&self.suffixes)
                .all(|(suffix, names)| {
                    let value = word.concatenate(suffix.bits) as usize;
                    names.get(value).is_some_and(Option::is_some)
                })
    }
}

/// The table of one architecture: the rows of each value of bits 0 to 11.
pub(crate) struct Table {
    compiled: Vec<Compiled>,
    by_code: Vec<SmallVec<[u16; 2]>>,
    by_opcode: Vec<SmallVec<[u16; 4]>>,
}

impl Table {
    /// The candidates for `word`, in table order.
    pub(crate) fn candidates(&self, word: Word) -> impl Iterator<Item = &Compiled> {
        self.by_code[word.bits(0, 12) as usize]
            .iter()
            .map(|&index| &self.compiled[index as usize])
    }

    /// The rows of a mnemonic, in table order.
    pub(crate) fn rows_of(&self, opcode: Opcode) -> impl Iterator<Item = &Compiled> {
        self.by_opcode[opcode as usize]
            .iter()
            .map(|&index| &self.compiled[index as usize])
    }
}

/// Suffixes of a dotted name; unknown parts make the value illegal, which a test excludes.
fn parse_name(name: &str) -> Option<SmallVec<[Modifier; 2]>> {
    match name {
        "-" => Some(SmallVec::new()),
        "?" => None,
        _ => name.split('.').map(Modifier::from_text).collect(),
    }
}

fn build(architecture: Architecture) -> Table {
    let mut compiled: Vec<Compiled> = rows()
        .iter()
        .filter(|row| row.architectures.0 <= architecture && architecture <= row.architectures.1)
        .map(|row| Compiled {
            row: *row,
            suffixes: row
                .suffixes
                .iter()
                .map(|suffix| suffix.names.split_whitespace().map(parse_name).collect())
                .collect(),
            keywords: row
                .fields
                .iter()
                .map(|field| match field {
                    Field::Keyword { names, .. } => names.split_whitespace().collect(),
                    _ => Vec::new(),
                })
                .collect(),
        })
        .collect();
    if architecture == Architecture::Sm75 {
        ignore_bit_91(&mut compiled);
    }
    let mut by_code = vec![SmallVec::new(); 4096];
    let mut by_opcode = vec![SmallVec::new(); Opcode::ALL.len()];
    for (index, compiled) in compiled.iter().enumerate() {
        by_opcode[compiled.row.opcode as usize].push(index as u16);
        for form in (0..8).filter(|form| compiled.row.forms >> form & 1 == 1) {
            by_code[usize::from(compiled.row.code) | form << 9].push(index as u16);
        }
    }
    Table {
        compiled,
        by_code,
        by_opcode,
    }
}

/// Turing does not look at bit 91 of an instruction that has no form with a uniform register.
fn ignore_bit_91(compiled: &mut [Compiled]) {
    let with_uniform: BTreeSet<(u16, u8)> = compiled
        .iter()
        .filter(|compiled| compiled.row.high != High::Zero)
        .flat_map(|compiled| forms(&compiled.row))
        .collect();
    for compiled in compiled {
        if compiled.row.high == High::Zero
            && forms(&compiled.row).all(|form| !with_uniform.contains(&form))
        {
            compiled.row.high = High::Any;
        }
    }
}

/// The opcode of `row` with each of its forms.
fn forms(row: &Row) -> impl Iterator<Item = (u16, u8)> + use<> {
    let (code, forms) = (row.code, row.forms);
    (0..8)
        .filter(move |form| forms >> form & 1 == 1)
        .map(move |form| (code, form))
}

/// The table of `architecture`, built on first use.
pub(crate) fn table(architecture: Architecture) -> &'static Table {
    static TABLES: [OnceLock<Table>; 5] = [const { OnceLock::new() }; 5];
    TABLES[architecture as usize].get_or_init(|| build(architecture))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suffix_name_is_known() {
        for row in rows() {
            for suffix in row.suffixes {
                let values = suffix.names.split_whitespace().count();
                let bits: u32 = suffix.bits.iter().map(|&(_, width)| u32::from(width)).sum();
                assert!(
                    values <= 1 << bits,
                    "{:?}: too many names: {}",
                    row.opcode,
                    suffix.names
                );
                for name in suffix.names.split_whitespace().filter(|&name| name != "?") {
                    assert!(
                        parse_name(name).is_some(),
                        "{:?}: unknown suffix {name}",
                        row.opcode
                    );
                }
            }
        }
    }

    #[test]
    fn every_mnemonic_has_a_row() {
        for opcode in Opcode::ALL {
            let later = ["SYNCS"];
            if !later.contains(&opcode.text()) {
                assert!(rows().iter().any(|row| row.opcode == *opcode), "{opcode:?}");
            }
        }
    }
}
