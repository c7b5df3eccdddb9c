//! Word to instruction: the first step after fetch. Picks the row of the encoding table that
//! describes the word, then reads suffixes and operands from the bits that the row names.

use smallvec::SmallVec;

use crate::architecture::Architecture;
use crate::control::Control;
use crate::instruction::{Decoded, Guard, Instruction};
use crate::modifier::Modifier;
use crate::operand::{
    Adjust, ConstantBank, ImmediateKind, Operand, Predicate, Register, Select, UniformRegister,
};
use crate::table::{self, Address, Adjusts, Compiled, Field, High, Selects, Slot};
use crate::word::Word;

/// Decodes `word` as an instruction of `architecture`.
pub fn decode(word: Word, architecture: Architecture) -> Decoded {
    let mut candidates = table::table(architecture).candidates(word);
    match candidates.find_map(|candidate| decode_as(candidate, word, architecture)) {
        Some(instruction) => Decoded::Instruction(instruction),
        None => Decoded::Unknown(word),
    }
}

/// Reads `word` by one row, or `None` if the row does not describe it.
pub(crate) fn decode_as(
    compiled: &Compiled,
    word: Word,
    architecture: Architecture,
) -> Option<Instruction> {
    let row = &compiled.row;
    if !row.matches(word) {
        return None;
    }
    let mut modifiers: SmallVec<[Modifier; 8]> = SmallVec::new();
    for (suffix, names) in row.suffixes.iter().zip(&compiled.suffixes) {
        let value = word.concatenate(suffix.bits);
        modifiers.extend_from_slice(names.get(value as usize)?.as_ref()?);
    }
    let mut operands: SmallVec<[Operand; 8]> = SmallVec::new();
    for (field, keywords) in row.fields.iter().zip(&compiled.keywords) {
        match read(field, keywords, word, row.high)? {
            Read::Operand(operand) => operands.push(operand),
            Read::Nothing => {}
        }
    }
    let guard = Guard {
        predicate: Predicate(word.bits(12, 3) as u8),
        negate: word.bit(15),
        uniform: row.guard_is_uniform(),
    };
    let control = Control::decode(word);
    let opcode = row.opcode;
    Some(Instruction {
        word,
        architecture,
        opcode,
        modifiers,
        guard,
        operands,
        control,
    })
}

/// The row by which `word` decodes.
pub(crate) fn row_of(word: Word, architecture: Architecture) -> Option<&'static Compiled> {
    table::table(architecture)
        .candidates(word)
        .find(|candidate| decode_as(candidate, word, architecture).is_some())
}

/// What a field holds in a given word.
enum Read {
    Operand(Operand),
    Nothing,
}

fn sign_extend(value: u64, width: u32) -> i64 {
    let unused = 64 - width.clamp(1, 64);
    ((value << unused) as i64) >> unused
}

fn register(word: Word, at: u8) -> Register {
    Register(word.bits(at.into(), 8) as u8)
}

fn uniform(word: Word, at: u8) -> UniformRegister {
    UniformRegister(word.bits(at.into(), 6) as u8)
}

/// The bit that stands for `.reuse` of the register at bit `at`: a control bit per register position.
/// The metadata of a sparse matrix product (bit 40) has its own.
pub(crate) fn reuse_bit(at: u8) -> Option<u32> {
    match at {
        24 => Some(122),
        32 => Some(123),
        64 => Some(124),
        40 => Some(50),
        _ => None,
    }
}

/// Whether the register at bit `at` carries `.reuse`: control bits count only while the yield bit
/// stands.
fn reuse(word: Word, at: u8) -> bool {
    reuse_bit(at).is_some_and(|bit| word.bit(bit) && (bit == 50 || word.bit(109)))
}

/// The sign bits (minus, absolute) that belong to a source at bit `at`.
pub(crate) fn sign_bits(at: u8, adjusts: Adjusts) -> (u32, u32) {
    let (mut minus, mut absolute) = match (at, adjusts.half) {
        (24, _) => (72, 73),
        (32, _) => (63, 62),
        (_, false) => (75, 74),
        (_, true) => (84, 83),
    };
    if adjusts.at.0 != 0 {
        minus = adjusts.at.0.into();
    }
    if adjusts.at.1 != 0 {
        absolute = adjusts.at.1.into();
    }
    (minus, absolute)
}

/// First of the two bits that choose the halves of a half-precision source at bit `at`.
pub(crate) fn half_bits(at: u8) -> u32 {
    match at {
        24 => 74,
        32 => 60,
        _ => 81,
    }
}

/// Where a source stands in operand form `form`: forms 2, 3 and 7 put the third source into bits 32
/// up and the second into bits 64 to 71.
pub(crate) fn slot_bits(slot: Slot, form: u8) -> u8 {
    let swapped = matches!(form, 2 | 3 | 7);
    match (slot, swapped) {
        (Slot::A, _) => 24,
        (Slot::B, true) | (Slot::C, false) => 64,
        (Slot::B, false) | (Slot::C, true) | (Slot::Last, _) => 32,
    }
}

/// Whether a source at bit `at` is a register in operand form `form`. Uniform instructions have
/// uniform registers in place of general ones.
pub(crate) fn is_in_register(at: u8, form: u8, high: High) -> bool {
    at != 32 || form == 1 || high == High::One && form == 6
}

/// The register position whose reuse bit a source has: by source, not by the bits that hold it.
pub(crate) fn reuse_position(slot: Slot) -> u8 {
    match slot {
        Slot::A => 24,
        Slot::B => 32,
        Slot::C | Slot::Last => 64,
    }
}

fn adjust(word: Word, at: u8, adjusts: Adjusts) -> Adjust {
    let (minus, absolute) = sign_bits(at, adjusts);
    Adjust {
        negate: adjusts.negate && word.bit(minus),
        absolute: adjusts.absolute && word.bit(absolute),
        invert: adjusts.invert && word.bit(minus),
    }
}

/// Halves of a half-precision source.
pub(crate) const HALVES: [Option<Select>; 4] = [
    Some(Select::None),
    Some(Select::F32),
    Some(Select::H0H0),
    Some(Select::H1H1),
];

fn select(word: Word, at: u8, selects: Selects) -> Option<Select> {
    match selects {
        Selects::Nothing => Some(Select::None),
        Selects::Always(select) => Some(select),
        Selects::Half => HALVES[word.bits(half_bits(at), 2) as usize],
        Selects::Bits(first, width, list) => {
            *list.get(word.bits(first.into(), width.into()) as usize)?
        }
    }
}

fn read(field: &Field, keywords: &[&'static str], word: Word, high: High) -> Option<Read> {
    let operand = match *field {
        Field::Register {
            at,
            adjust: adjusts,
            select: selects,
            optional,
            reused,
        } => {
            let register = register(word, at);
            if optional && register == Register::ZERO {
                return Some(Read::Nothing);
            }
            Operand::Register {
                register,
                adjust: adjust(word, at, adjusts),
                reuse: reused && reuse(word, at),
                select: select(word, at, selects)?,
            }
        }
        Field::Source {
            slot,
            literal,
            adjust: adjusts,
            select: selects,
        } => {
            return source(word, high, slot, literal, adjusts, selects).map(Read::Operand);
        }
        Field::Uniform {
            at,
            adjust: adjusts,
            optional,
        } => {
            let register = uniform(word, at);
            if optional && register == UniformRegister::ZERO {
                return Some(Read::Nothing);
            }
            Operand::UniformRegister {
                register,
                adjust: adjust(word, at, adjusts),
                select: Select::None,
            }
        }
        Field::UniformBehind { at, distance } => Operand::UniformRegister {
            register: match uniform(word, at) {
                UniformRegister::ZERO => UniformRegister::ZERO,
                UniformRegister(number) => UniformRegister((number + distance).min(63)),
            },
            adjust: Adjust::default(),
            select: Select::None,
        },
        Field::Policy { at, present } => {
            if !word.bit(present.into()) {
                return Some(Read::Nothing);
            }
            Operand::Policy(uniform(word, at))
        }
        Field::MatrixDescriptor { at, both, flags } => Operand::MatrixDescriptor {
            register: uniform(word, at),
            both,
            flags: (0..4)
                .filter(|&flag| flags[flag] != 0 && word.bit(flags[flag].into()))
                .fold(0, |set, flag| set | 1 << flag),
        },
        Field::Predicate {
            at,
            not,
            optional,
            uniform,
            complement,
        } => {
            let stored = word.bits(at.into(), 3) as u8;
            let predicate = Predicate(if complement { 7 - stored } else { stored });
            let negate = not.is_some_and(|bit| word.bit(bit.into()));
            if optional && predicate == Predicate::TRUE && !negate {
                return Some(Read::Nothing);
            }
            if uniform {
                Operand::UniformPredicate { predicate, negate }
            } else {
                Operand::Predicate { predicate, negate }
            }
        }
        Field::PredicateSet {
            uniform,
            select: selects,
        } => Operand::PredicateSet {
            uniform,
            select: select(word, 0, selects)?,
        },
        Field::Immediate {
            bits,
            kind,
            default,
            scale,
        } => {
            let value = word.concatenate(bits);
            if default == Some(value) {
                return Some(Read::Nothing);
            }
            let width = bits.iter().map(|&(_, width)| u32::from(width)).sum();
            let value = match kind {
                ImmediateKind::Signed => sign_extend(value, width) as u64,
                _ => value,
            };
            Operand::Immediate {
                bits: value.wrapping_mul(scale.into()),
                kind,
            }
        }
        Field::Constant {
            index,
            uniform_index,
            bindless,
        } => constant(word, index, uniform_index, bindless),
        Field::Memory(address) => memory(word, address),
        Field::Convergence { at } => Operand::ConvergenceBarrier(word.bits(at.into(), 4) as u8),
        Field::Special => Operand::SpecialRegister(word.bits(72, 8) as u8),
        Field::Counter { at } => match word.bits(at.into(), 3) as u8 {
            counter @ 0..=5 => Operand::Counter(counter),
            _ => return None,
        },
        Field::CounterSet { at, width } => match word.bits(at.into(), width.into()) as u8 {
            0 => return Some(Read::Nothing),
            set => Operand::CounterSet(set),
        },
        Field::Target { bits, scale } => {
            let width = bits.iter().map(|&(_, width)| u32::from(width)).sum();
            Operand::Target(sign_extend(word.concatenate(bits), width).wrapping_mul(scale.into()))
        }
        Field::Keyword {
            bits: (first, width),
            ..
        } => match *keywords.get(word.bits(first.into(), width.into()) as usize)? {
            "-" => return Some(Read::Nothing),
            "?" => return None,
            name => Operand::Keyword(name),
        },
    };
    Some(Read::Operand(operand))
}

/// An arithmetic source: register, literal, constant or uniform register by the operand form.
fn source(
    word: Word,
    high: High,
    slot: Slot,
    literal: ImmediateKind,
    adjusts: Adjusts,
    selects: Selects,
) -> Option<Operand> {
    let form = word.bits(9, 3) as u8;
    let at = slot_bits(slot, form);
    if is_in_register(at, form, high) {
        let adjust = adjust(word, at, adjusts);
        let select = select(word, at, selects)?;
        // Only the arithmetic units (opcodes below 0x100) have a register-file cache.
        let reuse = word.bits(8, 1) == 0 && reuse(word, reuse_position(slot));
        return Some(if high == High::One {
            Operand::UniformRegister {
                register: uniform(word, at),
                adjust,
                select,
            }
        } else {
            Operand::Register {
                register: register(word, at),
                adjust,
                reuse,
                select,
            }
        });
    }
    match form {
        2 | 4 => {
            let bits = word.bits(32, 32);
            let bits = match literal {
                ImmediateKind::Signed => sign_extend(bits, 32) as u64,
                ImmediateKind::Float16 | ImmediateKind::BFloat16 => bits & 0xffff,
                _ => bits,
            };
            Some(Operand::Immediate {
                bits,
                kind: literal,
            })
        }
        3 | 5 => {
            let bindless = word.bit(91).then_some(32);
            match constant(word, None, None, bindless) {
                Operand::Constant {
                    bank,
                    index,
                    uniform_index,
                    offset,
                    ..
                } => Some(Operand::Constant {
                    bank,
                    index,
                    uniform_index,
                    // Arithmetic reads whole words: the two lowest offset bits are not decoded.
                    offset: offset & !3,
                    adjust: adjust(word, at, adjusts),
                    select: select(word, at, selects)?,
                }),
                other => Some(other),
            }
        }
        6 | 7 => Some(Operand::UniformRegister {
            register: uniform(word, at),
            adjust: adjust(word, at, adjusts),
            select: select(word, at, selects)?,
        }),
        _ => None,
    }
}

fn constant(
    word: Word,
    index: Option<u8>,
    uniform_index: Option<u8>,
    bindless: Option<u8>,
) -> Operand {
    let offset = word.bits(38, 16);
    let (bank, offset) = match bindless {
        Some(at) => (ConstantBank::Bindless(uniform(word, at)), offset as i32),
        None => (
            ConstantBank::Number(word.bits(54, 5) as u8),
            sign_extend(offset, 16) as i32,
        ),
    };
    Operand::Constant {
        bank,
        index: index.map_or(Register::ZERO, |at| register(word, at)),
        uniform_index: uniform_index.map_or(UniformRegister::ZERO, |at| uniform(word, at)),
        offset,
        adjust: Adjust::default(),
        select: Select::None,
    }
}

fn memory(word: Word, address: Address) -> Operand {
    let (first, width) = address.offset;
    let described = address.descriptor.is_some_and(|bit| word.bit(bit.into()));
    let uniform = address.uniform.map(|at| uniform(word, at));
    let base_select = match (address.wide, address.scale) {
        (Some(bit), _) if word.bit(bit.into()) => Select::Wide,
        (Some(_), _) => Select::U32,
        (None, Some(first)) => {
            [Select::None, Select::X4, Select::X8, Select::X16][word.bits(first.into(), 2) as usize]
        }
        (None, None) => Select::None,
    };
    Operand::Memory {
        base: address.base.map_or(Register::ZERO, |at| register(word, at)),
        base_select,
        uniform: match uniform {
            Some(register) if !described => register,
            _ => UniformRegister::ZERO,
        },
        uniform_select: Select::None,
        descriptor: match address.descriptor_after {
            Some(at) if described => {
                Some(UniformRegister((word.bits(at.into(), 6) as u8 + 1).min(63)))
            }
            _ => uniform.filter(|_| described),
        },
        offset: sign_extend(word.bits(first.into(), width.into()), width.into()) as i32,
    }
}
