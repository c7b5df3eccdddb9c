//! Constants and addresses as operands: brackets with registers and a number inside.

use super::super::cursor::Cursor;
use super::super::literal::in_width;
use super::super::partial::Partial;
use super::miss_at;
use super::register::{general_register, selection, signed, uniform_register};
use crate::operand::{Adjust, Select};

/// A constant as written.
pub(super) struct ConstantText {
    pub(super) bindless: bool,
    pub(super) bank: u8,
    pub(super) parts: AddressText,
    pub(super) adjust: Adjust,
    pub(super) select: Select,
}

pub(super) fn constant(cursor: &mut Cursor<'_>) -> Option<ConstantText> {
    let start = cursor.at();
    let read = signed(cursor, |cursor| {
        cursor.blanks();
        let (bindless, bank) = if cursor.skip_here("cx[") {
            (true, uniform_register(cursor)?)
        } else if cursor.skip_here("c[") {
            let at = cursor.at();
            match u8::try_from(cursor.integer("a constant bank 0 to 31")?) {
                Ok(bank @ 0..=31) => (false, bank),
                _ => return miss_at(cursor, at, "a constant bank 0 to 31"),
            }
        } else {
            return cursor.miss("a constant `c[bank][offset]`");
        };
        cursor.demand("]")?;
        cursor.demand("[")?;
        let parts = inside(cursor)?;
        Some((bindless, bank, parts))
    });
    let ((bindless, bank, parts), text) = read?;
    if text.reuse {
        return miss_at(cursor, start, "an operand without `.reuse`");
    }
    Some(ConstantText {
        bindless,
        bank,
        parts,
        adjust: text.adjust,
        select: text.select,
    })
}

pub(super) fn encode_constant(
    cursor: &mut Cursor<'_>,
    constant: &ConstantText,
    index: Option<u8>,
    uniform_index: Option<u8>,
    bindless: Option<u8>,
    partial: Partial,
) -> Option<Partial> {
    let parts = &constant.parts;
    let mut partial = partial;
    match (bindless, constant.bindless) {
        (Some(at), true) => partial = partial.with(at.into(), 6, constant.bank.into())?,
        (None, false) => partial = partial.with(54, 5, constant.bank.into())?,
        (Some(_), false) => return cursor.miss("a bindless constant `cx[UR][offset]`"),
        (None, true) => return cursor.miss("a constant `c[bank][offset]`"),
    }
    match (index, parts.base) {
        (Some(at), base) => partial = partial.with(at.into(), 8, base.unwrap_or(255).into())?,
        (None, None) => {}
        (None, Some(_)) => return cursor.miss("a constant without index register"),
    }
    match (uniform_index, parts.uniform) {
        (Some(at), Some(register)) => partial = partial.with(at.into(), 6, register.into())?,
        (None, None) => {}
        (Some(_), None) => return cursor.miss("a constant with a uniform index register"),
        (None, Some(_)) => return cursor.miss("a constant without uniform index register"),
    }
    if parts.select != Select::None || parts.descriptor.is_some() {
        return cursor.miss("an index register without suffix");
    }
    match in_width(parts.offset, 16) {
        Some(offset) => partial.with(38, 16, offset),
        None => cursor.miss("a constant with an offset of 16 bits"),
    }
}

/// An address as written.
pub(super) struct AddressText {
    pub(super) base: Option<u8>,
    pub(super) select: Select,
    pub(super) uniform: Option<u8>,
    pub(super) descriptor: Option<u8>,
    pub(super) offset: i128,
}

/// `desc[UR4][R2.64+UR6+0x10]`.
pub(super) fn address_text(cursor: &mut Cursor<'_>) -> Option<AddressText> {
    cursor.blanks();
    let descriptor = if cursor.skip_here("desc[") {
        let register = uniform_register(cursor)?;
        cursor.demand("]")?;
        Some(register)
    } else {
        None
    };
    cursor.blanks();
    if !cursor.skip_here("[") {
        return cursor.miss("an address in brackets");
    }
    let mut parts = inside(cursor)?;
    parts.descriptor = descriptor;
    Some(parts)
}

/// What stands between an opened bracket and the closing one: registers and a number, added.
pub(super) fn inside(cursor: &mut Cursor<'_>) -> Option<AddressText> {
    let mut parts = AddressText {
        base: None,
        select: Select::None,
        uniform: None,
        descriptor: None,
        offset: 0,
    };
    let mut numbers = 0;
    loop {
        cursor.blanks();
        if cursor.rest().starts_with("UR") && parts.uniform.is_none() {
            parts.uniform = Some(uniform_register(cursor)?);
        } else if cursor.rest().starts_with('R') && parts.base.is_none() {
            parts.base = Some(general_register(cursor)?);
            parts.select = selection(cursor);
        } else if numbers == 0 {
            parts.offset = cursor.integer("a register or an offset")?;
            numbers += 1;
        } else {
            return cursor.miss("`]`");
        }
        cursor.blanks();
        if cursor.skip_here("]") {
            return Some(parts);
        }
        if !cursor.skip_here("+") && !cursor.rest().starts_with('-') {
            return cursor.miss("`+` or `]`");
        }
    }
}
