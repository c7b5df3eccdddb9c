//! Instruction to text, as the vendor's disassembler prints it with absolute branch addresses.
//! Stands beside `decode`: what it prints are the decoded operands; the row of the encoding table
//! adds only how a place is written.

use std::fmt::{self, Display, Formatter};

use smallvec::{SmallVec, smallvec};

use crate::architecture::Architecture;
use crate::instruction::{Guard, Instruction};
use crate::opcode::Opcode;
use crate::operand::{
    Adjust, ConstantBank, ImmediateKind, MATRIX_FLAGS, Operand, Predicate, Register, Select,
    UniformRegister,
};
use crate::special::special_register;
use crate::table::{self, Address, Field, Row, Selects, Slot};
use crate::word::Word;

impl Instruction {
    /// The instruction's text, its branch targets computed from its own address `pc`, without the
    /// closing semicolon.
    pub fn display(&self, pc: u64) -> impl Display + '_ {
        Text {
            instruction: self,
            pc,
        }
    }
}

/// Set where the disassembler shows the descriptor register of an address before Hopper.
pub(crate) const SHOWN_DESCRIPTOR: u32 = 101;

struct Text<'a> {
    instruction: &'a Instruction,
    pc: u64,
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let instruction = self.instruction;
        if !instruction.guard.is_always() {
            write!(f, "{} ", instruction.guard)?;
        }
        f.write_str(instruction.opcode.text())?;
        for modifier in &instruction.modifiers {
            write!(f, "{}{}", modifier.joint(), modifier.text())?;
        }
        let row = table::table(instruction.architecture)
            .candidates(instruction.word)
            .find(|compiled| {
                compiled.row.opcode == instruction.opcode && compiled.describes(instruction.word)
            })
            .map(|compiled| &compiled.row);
        for (index, operand) in instruction.operands.iter().enumerate() {
            let previous = index
                .checked_sub(1)
                .map(|index| &instruction.operands[index]);
            let separator = match previous {
                None => " ",
                // The vendor's disassembler pads the names of non-numbers.
                Some(Operand::Immediate { bits, kind }) if is_padded(*bits, *kind) => " , ",
                // A jump's offset follows its register without a comma.
                Some(_) if is_addend(instruction, index) => " ",
                Some(_) => ", ",
            };
            f.write_str(separator)?;
            self.operand(f, operand, row)?;
        }
        Ok(())
    }
}

/// Whether operand `index` is what an indexed jump adds to its register.
fn is_addend(instruction: &Instruction, index: usize) -> bool {
    let register = matches!(
        instruction.operands[index - 1],
        Operand::Register { .. } | Operand::UniformRegister { .. }
    );
    register && is_indexed_jump(instruction.opcode)
}

/// Whether the offset of this instruction follows its register without a comma.
pub(crate) fn is_indexed_jump(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::BRX | Opcode::BRXU | Opcode::CALL | Opcode::RET | Opcode::JMX
    )
}

impl Text<'_> {
    /// Whether an address's descriptor register is printed: always on Hopper, by a bit before.
    fn shows_descriptor(&self) -> bool {
        let instruction = self.instruction;
        instruction.architecture >= Architecture::Sm90 || instruction.word.bit(SHOWN_DESCRIPTOR)
    }

    fn operand(&self, f: &mut Formatter<'_>, operand: &Operand, row: Option<&Row>) -> fmt::Result {
        match operand {
            Operand::Register {
                register,
                adjust,
                reuse,
                select,
            } => {
                let half = if *select == Select::H1 {
                    Select::H1.text()
                } else {
                    ""
                };
                adjusted(f, *adjust, &format_args!("{register}{half}"))?;
                f.write_str(if *reuse { ".reuse" } else { "" })?;
                f.write_str(if half.is_empty() { select.text() } else { "" })
            }
            Operand::UniformRegister {
                register,
                adjust,
                select,
            } => adjusted(f, *adjust, &format_args!("{register}{}", select.text())),
            Operand::Predicate { predicate, negate } => {
                predicate_text(f, *predicate, *negate, false)
            }
            Operand::UniformPredicate { predicate, negate } => {
                predicate_text(f, *predicate, *negate, true)
            }
            Operand::PredicateSet { uniform, select } => {
                write!(f, "{}PR{}", if *uniform { "U" } else { "" }, select.text())
            }
            Operand::Immediate { bits, kind } => immediate(f, *bits, *kind),
            Operand::Constant {
                bank,
                index,
                uniform_index,
                offset,
                adjust,
                select,
            } => {
                let constant = ConstantText {
                    bank: *bank,
                    index: *index,
                    uniform_index: *uniform_index,
                    offset: *offset,
                    spaced: row.is_some_and(|row| spaced(row, self.instruction.word)),
                    indexed: row.map_or((false, false), indexed),
                    select: *select,
                };
                adjusted(f, *adjust, &constant)
            }
            Operand::Memory {
                base,
                base_select,
                uniform,
                uniform_select,
                offset,
                ..
            } => {
                let address = row.and_then(|row| address(row, operand, self.instruction));
                let described = matches!(
                    operand,
                    Operand::Memory {
                        descriptor: Some(_),
                        ..
                    }
                );
                let has_uniform = !described
                    && address.map_or(*uniform != UniformRegister::ZERO, |a| a.uniform.is_some());
                let explicit = address.is_some_and(|address| address.explicit);
                // Beside the 32-bit offset of a remote address URZ is printed too.
                let remote = matches!(self.instruction.opcode, Opcode::STAS | Opcode::REDAS);
                let shown = remote && *base_select == Select::U32;
                let has_uniform =
                    has_uniform && !(explicit && *uniform == UniformRegister::ZERO && !shown);
                let signed = address.is_some_and(|address| address.signed);
                let width = address.map_or(24, |address| address.offset.1);
                if let (
                    true,
                    Operand::Memory {
                        descriptor: Some(register),
                        ..
                    },
                ) = (self.shows_descriptor(), operand)
                {
                    write!(f, "desc[{register}]")?;
                }
                f.write_str("[")?;
                let mut empty = true;
                let scaled = matches!(base_select, Select::X4 | Select::X8 | Select::X16);
                let pair = matches!(base_select, Select::Wide | Select::U32);
                // Hopper prints the base wherever it is taken as a 32-bit offset.
                let offset_base = *base_select == Select::U32
                    && self.instruction.architecture >= Architecture::Sm90;
                if *base != Register::ZERO
                    || explicit
                    || described
                    || scaled && has_uniform
                    || pair && !has_uniform
                    || offset_base
                {
                    write!(f, "{base}{}", base_select.text())?;
                    empty = false;
                }
                if has_uniform {
                    let plus = if empty { "" } else { "+" };
                    write!(f, "{plus}{uniform}{}", uniform_select.text())?;
                    empty = false;
                }
                match (*offset, empty) {
                    (0, true) => f.write_str("RZ")?,
                    (0, false) => {}
                    (offset, true) if !signed => {
                        write!(
                            f,
                            "{:#x}",
                            (offset as u32) & (u32::MAX >> (32 - width.min(32)))
                        )?;
                    }
                    (offset, true) => signed_hex(f, offset.into())?,
                    (offset, false) => {
                        f.write_str("+")?;
                        signed_hex(f, offset.into())?;
                    }
                }
                f.write_str("]")
            }
            Operand::Policy(register) => write!(f, "desc[{register}]"),
            Operand::MatrixDescriptor {
                register, flags, ..
            } => {
                write!(f, "gdesc[{register}]")?;
                for (flag, name) in MATRIX_FLAGS.iter().enumerate() {
                    if flags >> flag & 1 == 1 {
                        write!(f, ".{name}")?;
                    }
                }
                Ok(())
            }
            Operand::ConvergenceBarrier(barrier) => write!(f, "B{barrier}"),
            Operand::SpecialRegister(number) => {
                match special_register(*number, self.instruction.architecture) {
                    Some(name) => f.write_str(name),
                    None => write!(f, "SR{number}"),
                }
            }
            Operand::Counter(counter) => write!(f, "SB{counter}"),
            Operand::CounterSet(set) => {
                f.write_str("{")?;
                let counters = (0..8).rev().filter(|counter| set >> counter & 1 == 1);
                for (place, counter) in counters.enumerate() {
                    write!(f, "{}{counter}", if place == 0 { "" } else { "," })?;
                }
                f.write_str("}")
            }
            Operand::Target(offset) => {
                let next = self.pc.wrapping_add(16);
                signed_hex(f, next.wrapping_add(*offset as u64) as i64)
            }
            Operand::Keyword(word) => f.write_str(word),
        }
    }
}

/// The address field that `operand` was read from.
fn address(row: &Row, operand: &Operand, instruction: &Instruction) -> Option<Address> {
    let place = instruction
        .operands
        .iter()
        .filter(|other| matches!(other, Operand::Memory { .. }))
        .position(|other| std::ptr::eq(other, operand))?;
    row.fields
        .iter()
        .filter_map(|field| match field {
            Field::Memory(address) => Some(*address),
            _ => None,
        })
        .nth(place)
}

/// Whether the constant of this word is written with a space between bank and offset: where the
/// source it stands for can carry a suffix.
fn spaced(row: &Row, word: Word) -> bool {
    let slots: &[Slot] = match word.bits(9, 3) {
        3 => &[Slot::C, Slot::Last],
        _ => &[Slot::B],
    };
    row.fields.iter().any(|field| match field {
        Field::Source { slot, select, .. } => {
            slots.contains(slot) && !matches!(select, Selects::Nothing)
        }
        _ => false,
    })
}

/// Whether this row's constant has an index register and a uniform one.
fn indexed(row: &Row) -> (bool, bool) {
    row.fields
        .iter()
        .find_map(|field| match field {
            Field::Constant {
                index,
                uniform_index,
                ..
            } => Some((index.is_some(), uniform_index.is_some())),
            _ => None,
        })
        .unwrap_or_default()
}

struct ConstantText {
    bank: ConstantBank,
    index: Register,
    uniform_index: UniformRegister,
    offset: i32,
    spaced: bool,
    /// Whether the place has an index register and a uniform one.
    indexed: (bool, bool),
    select: Select,
}

impl Display for ConstantText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.bank {
            ConstantBank::Number(bank) => write!(f, "c[{bank:#x}]")?,
            ConstantBank::Bindless(register) => write!(f, "cx[{register}]")?,
        }
        f.write_str(if self.spaced { " [" } else { "[" })?;
        let (index, uniform_index) = self.indexed;
        let mut empty = true;
        if self.index != Register::ZERO || index && self.offset == 0 {
            write!(f, "{}", self.index)?;
            empty = false;
        }
        if self.uniform_index != UniformRegister::ZERO || uniform_index {
            write!(f, "{}{}", if empty { "" } else { "+" }, self.uniform_index)?;
            empty = false;
        }
        if empty || self.offset != 0 {
            f.write_str(if empty { "" } else { "+" })?;
            signed_hex(f, self.offset.into())?;
        }
        f.write_str("]")?;
        f.write_str(self.select.text())
    }
}

impl Display for Register {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Register::ZERO => f.write_str("RZ"),
            Register(number) => write!(f, "R{number}"),
        }
    }
}

impl Display for UniformRegister {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            UniformRegister::ZERO => f.write_str("URZ"),
            UniformRegister(number) => write!(f, "UR{number}"),
        }
    }
}

impl Display for Guard {
    /// `@P0`, `@!UP1`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("@")?;
        predicate_text(f, self.predicate, self.negate, self.uniform)
    }
}

fn predicate_text(
    f: &mut Formatter<'_>,
    predicate: Predicate,
    negate: bool,
    uniform: bool,
) -> fmt::Result {
    f.write_str(if negate { "!" } else { "" })?;
    f.write_str(if uniform { "U" } else { "" })?;
    match predicate {
        Predicate::TRUE => f.write_str("PT"),
        Predicate(number) => write!(f, "P{number}"),
    }
}

fn adjusted(f: &mut Formatter<'_>, adjust: Adjust, value: &dyn Display) -> fmt::Result {
    f.write_str(if adjust.negate { "-" } else { "" })?;
    f.write_str(if adjust.invert { "~" } else { "" })?;
    if adjust.absolute {
        write!(f, "|{value}|")
    } else {
        write!(f, "{value}")
    }
}

fn signed_hex(f: &mut Formatter<'_>, value: i64) -> fmt::Result {
    write!(
        f,
        "{}{:#x}",
        if value < 0 { "-" } else { "" },
        value.unsigned_abs()
    )
}

/// A half-precision value, exactly.
pub(crate) fn half_value(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        31 if fraction != 0.0 => f64::NAN,
        31 => f64::INFINITY,
        0 => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    magnitude.copysign(if bits >> 15 == 1 { -1.0 } else { 1.0 })
}

/// A literal's floating value and, for a NaN, whether it is a signalling one.
type Value = (f64, bool);

fn single(bits: u32) -> Value {
    let value = f32::from_bits(bits);
    (f64::from(value), value.is_nan() && bits & 0x0040_0000 == 0)
}

fn double_high(bits: u32) -> Value {
    let value = f64::from_bits(u64::from(bits) << 32);
    // With its lower half zero a NaN without quiet bit keeps some fraction bit in the upper half.
    (value, value.is_nan() && bits & 0x0008_0000 == 0)
}

fn half(bits: u16) -> Value {
    let value = half_value(bits);
    (value, value.is_nan() && bits & 0x0200 == 0)
}

/// The floating values a literal stands for, in printed order; none for an integer.
fn values(bits: u64, kind: ImmediateKind) -> SmallVec<[Value; 2]> {
    let low = bits as u32;
    match kind {
        ImmediateKind::Signed | ImmediateKind::Unsigned => smallvec![],
        ImmediateKind::Float32 => smallvec![single(low)],
        ImmediateKind::Float64High => smallvec![double_high(low)],
        ImmediateKind::Float16 => smallvec![half(low as u16)],
        ImmediateKind::BFloat16 => smallvec![single(low << 16)],
        ImmediateKind::Float16Pair => smallvec![half((low >> 16) as u16), half(low as u16)],
        ImmediateKind::BFloat16Pair => smallvec![single(low & 0xffff_0000), single(low << 16)],
    }
}

/// Whether the disassembler pads the text of a literal: names of infinities and NaNs, and -0.
fn is_padded(bits: u64, kind: ImmediateKind) -> bool {
    values(bits, kind).last().is_some_and(padded)
}

fn padded(&(value, _): &Value) -> bool {
    !value.is_finite() || value == 0.0 && value.is_sign_negative()
}

fn immediate(f: &mut Formatter<'_>, bits: u64, kind: ImmediateKind) -> fmt::Result {
    match kind {
        ImmediateKind::Signed => signed_hex(f, bits as i64),
        ImmediateKind::Unsigned => write!(f, "{bits:#x}"),
        _ => {
            let values = values(bits, kind);
            for (index, &value) in values.iter().enumerate() {
                if index > 0 {
                    f.write_str(if !padded(&values[0]) { ", " } else { " , " })?;
                }
                float(f, value)?;
            }
            Ok(())
        }
    }
}

/// A floating value as C's `%.20g` writes it, from 10⁹ on as `%.20e`.
fn float(f: &mut Formatter<'_>, (value, signalling): Value) -> fmt::Result {
    let sign = if value.is_sign_negative() { '-' } else { '+' };
    if value.is_nan() {
        return write!(f, "{sign}{}NAN", if signalling { 'S' } else { 'Q' });
    }
    if value.is_infinite() {
        return write!(f, "{sign}INF");
    }
    if value == 0.0 {
        return f.write_str(if value.is_sign_negative() {
            "-0.0"
        } else {
            "0"
        });
    }
    let scientific = format!("{value:.19e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return f.write_str(&scientific);
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value.abs() >= 1e9 {
        let scientific = format!("{value:.20e}");
        let mantissa = scientific.split('e').next().unwrap_or(mantissa);
        return write!(f, "{mantissa}e{exponent:+03}");
    }
    if exponent < -4 {
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        return write!(f, "{mantissa}e{exponent:+03}");
    }
    let decimals = usize::try_from(19 - exponent).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    } else {
        f.write_str(&text)
    }
}
