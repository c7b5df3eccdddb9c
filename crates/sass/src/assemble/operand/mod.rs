//! One operand: text to the bits of its field. The inverse of `decode::read`, by the same fields.

mod memory;
mod register;

pub(crate) use register::predicate;

use super::cursor::Cursor;
use super::literal::{in_width, literal};
use super::partial::Partial;
use crate::architecture::Architecture;
use crate::decode::{is_in_register, reuse_bit, reuse_position, slot_bits};
use crate::display::SHOWN_DESCRIPTOR;
use crate::operand::{ImmediateKind, MATRIX_FLAGS, Select};
use crate::special::special_register;
use crate::table::{Address, Adjusts, Field, High, Row, Selects, Slot};
use memory::{address_text, constant, encode_constant};
use register::{adjust_bits, register, select_bits, selection, uniform, uniform_register};

/// The uniform register that holds the descriptor of an address that does not print it: the one in
/// which the vendor's compiler keeps it most often.
const USUAL_DESCRIPTOR: u64 = 4;

/// What an operand is read for.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub row: &'a Row,
    /// The operand form, bits 9 to 11.
    pub form: u8,
    pub architecture: Architecture,
    /// Address of the instruction.
    pub pc: u64,
    /// Addresses of labels.
    pub labels: &'a dyn Fn(&str) -> Option<u64>,
}

impl Place<'_> {
    /// Reads the operand at the cursor as `field`.
    pub(crate) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        field: &Field,
        keywords: &[&str],
        partial: Partial,
    ) -> Option<Partial> {
        match *field {
            Field::Register {
                at,
                adjust,
                select,
                reused,
                ..
            } => {
                let reuse = reused.then(|| reuse_bit(at)).flatten();
                register(cursor, at, adjust, select, reuse, partial)
            }
            Field::Source {
                slot,
                literal,
                adjust,
                select,
            } => self.source(cursor, slot, literal, adjust, select, partial),
            Field::Uniform { at, adjust, .. } => {
                uniform(cursor, at, adjust, Selects::Nothing, partial)
            }
            // Its number follows from the register before it.
            Field::UniformBehind { at, distance } => {
                cursor.blanks();
                let start = cursor.at();
                let number = uniform_register(cursor)?;
                let first = match number {
                    63 => Some(63),
                    number => number.checked_sub(distance),
                };
                match first.and_then(|first| partial.with(at.into(), 6, first.into())) {
                    Some(partial) => Some(partial),
                    None => miss_at(
                        cursor,
                        start,
                        &format!("the uniform register {distance} behind the one before"),
                    ),
                }
            }
            Field::Policy { at, present } => {
                cursor.demand("desc")?;
                cursor.demand("[")?;
                let number = uniform_register(cursor)?;
                cursor.demand("]")?;
                partial
                    .with(at.into(), 6, number.into())?
                    .with_bit(present.into(), true)
            }
            Field::MatrixDescriptor { at, flags, .. } => {
                cursor.demand("gdesc")?;
                cursor.demand("[")?;
                let number = uniform_register(cursor)?;
                cursor.demand("]")?;
                let mut partial = partial.with(at.into(), 6, number.into())?;
                for (bit, name) in flags
                    .into_iter()
                    .zip(MATRIX_FLAGS)
                    .filter(|&(bit, _)| bit != 0)
                {
                    let set = cursor.skip_here(&format!(".{name}"));
                    partial = partial.with_bit(bit.into(), set)?;
                }
                Some(partial)
            }
            Field::Predicate {
                at,
                not,
                uniform,
                complement,
                ..
            } => {
                let start = cursor.at();
                let negate = cursor.skip("!");
                if negate && not.is_none() {
                    cursor.back(start);
                    return cursor.miss("a predicate without `!`");
                }
                let number = predicate(cursor, uniform)?;
                let stored = if complement { 7 - number } else { number };
                let partial = partial.with(at.into(), 3, stored.into())?;
                match not {
                    Some(bit) => partial.with_bit(bit.into(), negate),
                    None => Some(partial),
                }
            }
            Field::PredicateSet { uniform, select } => {
                let name = if uniform { "UPR" } else { "PR" };
                cursor.blanks();
                let start = cursor.at();
                if cursor.word("") != name {
                    cursor.back(start);
                    return cursor.miss(format!("`{name}`"));
                }
                let text = selection(cursor);
                select_bits(cursor, partial, 0, select, text)
            }
            Field::Immediate {
                bits, kind, scale, ..
            } => {
                let width: u32 = bits.iter().map(|&(_, width)| u32::from(width)).sum();
                let start = cursor.at();
                let value = if scale == 1 {
                    literal(cursor, kind, width)?
                } else {
                    let value = cursor.integer("a number")?;
                    let scale = i128::from(scale);
                    let stored = (value % scale == 0).then(|| in_width(value / scale, width));
                    match stored.flatten() {
                        Some(stored) => stored,
                        None => {
                            cursor.back(start);
                            return cursor
                                .miss(format!("a multiple of {scale} that fits {width} bits"));
                        }
                    }
                };
                partial.with_runs(bits, value)
            }
            Field::Constant {
                index,
                uniform_index,
                bindless,
            } => {
                let constant = constant(cursor)?;
                encode_constant(cursor, &constant, index, uniform_index, bindless, partial)
            }
            Field::Memory(address) => self.memory(cursor, address, partial),
            Field::Convergence { at } => {
                let number =
                    cursor.numbered("B", 15, ("", 0), "a convergence barrier B0 to B15")?;
                partial.with(at.into(), 4, number.into())
            }
            Field::Special => {
                let number = special(cursor, self.architecture)?;
                partial.with(72, 8, number.into())
            }
            Field::Counter { at } => {
                let number = cursor.numbered("SB", 5, ("", 0), "a counter SB0 to SB5")?;
                partial.with(at.into(), 3, number.into())
            }
            Field::CounterSet { at, width } => {
                let set = counters(cursor, width)?;
                partial.with(at.into(), width.into(), set)
            }
            Field::Target { bits, scale } => self.target(cursor, bits, scale.into(), partial),
            Field::Keyword {
                bits: (first, width),
                ..
            } => {
                cursor.blanks();
                let start = cursor.at();
                let word = cursor.word(".");
                let value = keywords
                    .iter()
                    .position(|&name| name == word && !matches!(name, "-" | "?"));
                match value {
                    Some(value) => partial.with(first.into(), width.into(), value as u64),
                    None => {
                        cursor.back(start);
                        let names: Vec<&str> = keywords
                            .iter()
                            .copied()
                            .filter(|name| !matches!(*name, "-" | "?"))
                            .collect();
                        cursor.miss(names.join(" or "))
                    }
                }
            }
        }
    }

    /// The bits of an operand that its text leaves out, if it can be left out.
    pub(crate) fn absent(field: &Field, keywords: &[&str], partial: Partial) -> Option<Partial> {
        match *field {
            Field::Register {
                at, optional: true, ..
            } => partial.with(at.into(), 8, 255),
            Field::Uniform {
                at, optional: true, ..
            } => partial.with(at.into(), 6, 63),
            Field::Predicate {
                at,
                not,
                optional: true,
                complement,
                ..
            } => {
                let partial = partial.with(at.into(), 3, if complement { 0 } else { 7 })?;
                match not {
                    Some(bit) => partial.with_bit(bit.into(), false),
                    None => Some(partial),
                }
            }
            Field::Immediate {
                bits,
                default: Some(default),
                ..
            } => partial.with_runs(bits, default),
            Field::CounterSet { at, width } => partial.with(at.into(), width.into(), 0),
            Field::Policy { present, .. } => partial.with_bit(present.into(), false),
            Field::Keyword {
                bits: (first, width),
                ..
            } => {
                let value = keywords.iter().position(|&name| name == "-")?;
                partial.with(first.into(), width.into(), value as u64)
            }
            _ => None,
        }
    }

    fn source(
        &self,
        cursor: &mut Cursor<'_>,
        slot: Slot,
        kind: ImmediateKind,
        adjusts: Adjusts,
        selects: Selects,
        partial: Partial,
    ) -> Option<Partial> {
        let at = slot_bits(slot, self.form);
        if is_in_register(at, self.form, self.row.high) {
            if self.row.high == High::One {
                return uniform(cursor, at, adjusts, selects, partial);
            }
            let cached = self.row.code < 0x100;
            let reuse = cached.then(|| reuse_bit(reuse_position(slot))).flatten();
            return register(cursor, at, adjusts, selects, reuse, partial);
        }
        match self.form {
            2 | 4 => {
                let width = match kind {
                    ImmediateKind::Float16 | ImmediateKind::BFloat16 => 16,
                    _ => 32,
                };
                let value = literal(cursor, kind, width)?;
                partial.with(32, width, value)
            }
            3 | 5 => {
                let constant = constant(cursor)?;
                let partial = adjust_bits(cursor, partial, at, adjusts, constant.adjust)?;
                let partial = select_bits(cursor, partial, at, selects, constant.select)?;
                let partial = if self.row.high == High::ByForm {
                    partial.with_bit(91, constant.bindless)?
                } else {
                    partial
                };
                let bindless = constant.bindless.then_some(32);
                encode_constant(cursor, &constant, None, None, bindless, partial)
            }
            6 | 7 => uniform(cursor, at, adjusts, selects, partial),
            _ => None,
        }
    }

    fn memory(
        &self,
        cursor: &mut Cursor<'_>,
        address: Address,
        partial: Partial,
    ) -> Option<Partial> {
        cursor.blanks();
        let start = cursor.at();
        let parts = address_text(cursor)?;
        let mut partial = partial;
        match (address.base, parts.base) {
            (Some(at), base) => partial = partial.with(at.into(), 8, base.unwrap_or(255).into())?,
            (None, None) => {}
            (None, Some(_)) => return miss_at(cursor, start, "an address without register"),
        }
        // A uniform register beside the base, or the descriptor in its place.
        let described = match (address.uniform, address.descriptor, parts.uniform) {
            (Some(at), _, Some(uniform)) => {
                partial = partial.with(at.into(), 6, uniform.into())?;
                false
            }
            (None, _, Some(_)) => {
                return miss_at(cursor, start, "an address without uniform register");
            }
            (_, Some(_), None) => true,
            (Some(at), None, None) if address.explicit => {
                partial = partial.with(at.into(), 6, 63)?;
                false
            }
            (Some(_), None, None) => {
                return miss_at(cursor, start, "an address with a uniform register");
            }
            (None, None, None) => false,
        };
        if let Some(bit) = address.descriptor {
            partial = partial.with_bit(bit.into(), described)?;
        }
        match (parts.descriptor, described) {
            (Some(register), true) => {
                partial = match (address.descriptor_after, address.uniform) {
                    (Some(at), _) => partial.with(at.into(), 6, register.checked_sub(1)?.into())?,
                    (None, Some(at)) => partial.with(at.into(), 6, register.into())?,
                    (None, None) => partial,
                };
                // Hopper shows every descriptor.
                let shown = self.architecture < Architecture::Sm90;
                partial = partial.with_bit(SHOWN_DESCRIPTOR, shown)?;
            }
            (None, true) => {
                let (at, register) = match (address.descriptor_after, address.uniform) {
                    (Some(at), _) => (at, USUAL_DESCRIPTOR - 1),
                    (None, Some(at)) => (at, USUAL_DESCRIPTOR),
                    (None, None) => (0, 0),
                };
                if at != 0 {
                    partial = partial.with(at.into(), 6, register)?;
                }
                partial = partial.with_bit(SHOWN_DESCRIPTOR, false)?;
            }
            (Some(_), false) => return miss_at(cursor, start, "an address without descriptor"),
            (None, false) => {}
        }
        // What is printed of the base tells how wide it is and how it is scaled.
        let printed = parts
            .base
            .is_some_and(|base| base != 255 || parts.select != Select::None)
            || parts.base.is_some() && (described || address.explicit);
        partial = match (address.wide, address.scale, parts.select) {
            (Some(bit), _, Select::Wide) => partial.with_bit(bit.into(), true)?,
            (Some(bit), _, Select::U32) => partial.with_bit(bit.into(), false)?,
            // Without a base its width does not matter; it is that of a pair.
            (Some(bit), _, Select::None) if !printed => partial.with_bit(bit.into(), true)?,
            (None, Some(first), Select::X4) => partial.with(first.into(), 2, 1)?,
            (None, Some(first), Select::X8) => partial.with(first.into(), 2, 2)?,
            (None, Some(first), Select::X16) => partial.with(first.into(), 2, 3)?,
            (None, Some(first), Select::None) => partial.with(first.into(), 2, 0)?,
            (None, None, Select::None) => partial,
            (wide, scale, _) => {
                let expected = match (wide, scale) {
                    (Some(_), _) => "a base register with `.64` or `.U32`",
                    (None, Some(_)) => "a base register alone or with `.X4`, `.X8` or `.X16`",
                    (None, None) => "a base register without suffix",
                };
                return miss_at(cursor, start, expected);
            }
        };
        let (first, width) = address.offset;
        match in_width(parts.offset, width.into()) {
            Some(offset) => partial.with(first.into(), width.into(), offset),
            None => miss_at(
                cursor,
                start,
                &format!("an address with an offset of {width} bits"),
            ),
        }
    }

    fn target(
        &self,
        cursor: &mut Cursor<'_>,
        bits: &[(u8, u8)],
        scale: i64,
        partial: Partial,
    ) -> Option<Partial> {
        cursor.blanks();
        let start = cursor.at();
        let labelled = cursor
            .rest()
            .starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '.' | '_' | '$' | '`'));
        let address = if labelled {
            // The vendor's disassembler writes `(.L_1).
            let quoted = cursor.skip_here("`(");
            let name = cursor.word(".$");
            let found = (self.labels)(name);
            if quoted {
                cursor.skip_here(")");
            }
            match found {
                Some(address) => address,
                None => return miss_at(cursor, start, "a label of this kernel or an address"),
            }
        } else {
            cursor.integer("a label or an address")? as u64
        };
        let offset = address.wrapping_sub(self.pc.wrapping_add(16)) as i64;
        let width: u32 = bits.iter().map(|&(_, width)| u32::from(width)).sum();
        let scale = scale.max(1);
        let stored = (offset % scale == 0)
            .then(|| in_signed(offset / scale, width))
            .flatten();
        match stored {
            Some(stored) => partial.with_runs(bits, stored),
            None => miss_at(
                cursor,
                start,
                &format!("an address within reach, a multiple of {scale}"),
            ),
        }
    }
}

/// `value` as a signed field of `width` bits.
fn in_signed(value: i64, width: u32) -> Option<u64> {
    let half = 1i128 << (width.clamp(1, 64) - 1);
    let mask = (1u128 << width.clamp(1, 64)) - 1;
    (-half..half)
        .contains(&i128::from(value))
        .then_some((value as u128 & mask) as u64)
}

fn miss_at<T>(cursor: &mut Cursor<'_>, at: usize, expected: &str) -> Option<T> {
    cursor.back(at);
    cursor.miss(expected)
}

fn special(cursor: &mut Cursor<'_>, architecture: Architecture) -> Option<u8> {
    cursor.blanks();
    let start = cursor.at();
    let name = cursor.word(".");
    let named = (0..=255).find(|&number| special_register(number, architecture) == Some(name));
    let numbered = || name.strip_prefix("SR")?.parse::<u8>().ok();
    match named.or_else(numbered) {
        Some(number) => Some(number),
        None => miss_at(cursor, start, "a special register, `SR_…`"),
    }
}

/// `{3,0}`.
fn counters(cursor: &mut Cursor<'_>, width: u8) -> Option<u64> {
    cursor.demand("{")?;
    let mut set = 0;
    loop {
        let at = cursor.at();
        match u32::try_from(cursor.integer("a counter")?) {
            Ok(counter) if counter < width.into() => set |= 1 << counter,
            _ => return miss_at(cursor, at, &format!("a counter 0 to {}", width - 1)),
        }
        if cursor.skip("}") {
            return Some(set);
        }
        cursor.demand(",")?;
    }
}
