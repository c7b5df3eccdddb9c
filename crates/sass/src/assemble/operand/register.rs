//! Registers as operands: signs around them, suffixes behind them, the bits that both go to.

use super::super::cursor::Cursor;
use super::super::partial::Partial;
use crate::decode::{HALVES, half_bits, sign_bits};
use crate::operand::{Adjust, Select};
use crate::table::{Adjusts, Selects};

/// A register as written: signs around it, suffixes behind it.
pub(super) struct RegisterText {
    pub(super) adjust: Adjust,
    pub(super) reuse: bool,
    pub(super) select: Select,
}

/// Reads the suffix of an operand.
pub(super) fn selection(cursor: &mut Cursor<'_>) -> Select {
    let start = cursor.at();
    match cursor.suffix() {
        None => Select::None,
        Some(text) => match Select::from_text(text) {
            Some(select) => select,
            None => {
                cursor.back(start);
                Select::None
            }
        },
    }
}

/// Reads signs, then what `number` reads, then suffixes.
pub(super) fn signed<T>(
    cursor: &mut Cursor<'_>,
    number: impl Fn(&mut Cursor<'_>) -> Option<T>,
) -> Option<(T, RegisterText)> {
    let mut text = RegisterText {
        adjust: Adjust::default(),
        reuse: false,
        select: Select::None,
    };
    text.adjust.negate = cursor.skip("-");
    text.adjust.invert = cursor.skip("~");
    text.adjust.absolute = cursor.skip("|");
    let value = number(cursor)?;
    suffixes(cursor, &mut text);
    if text.adjust.absolute {
        cursor.demand("|")?;
        suffixes(cursor, &mut text);
    }
    Some((value, text))
}

pub(super) fn suffixes(cursor: &mut Cursor<'_>, text: &mut RegisterText) {
    loop {
        if cursor.skip_here(".reuse") {
            text.reuse = true;
            continue;
        }
        match selection(cursor) {
            Select::None => return,
            select => text.select = select,
        }
    }
}

pub(super) fn general_register(cursor: &mut Cursor<'_>) -> Option<u8> {
    cursor.numbered("R", 254, ("RZ", 255), "a register R0 to R254 or RZ")
}

pub(super) fn uniform_register(cursor: &mut Cursor<'_>) -> Option<u8> {
    cursor.numbered(
        "UR",
        62,
        ("URZ", 63),
        "a uniform register UR0 to UR62 or URZ",
    )
}

/// A predicate's number.
pub(crate) fn predicate(cursor: &mut Cursor<'_>, uniform: bool) -> Option<u8> {
    if uniform {
        cursor.numbered("UP", 6, ("UPT", 7), "a uniform predicate UP0 to UP6 or UPT")
    } else {
        cursor.numbered("P", 6, ("PT", 7), "a predicate P0 to P6 or PT")
    }
}

pub(super) fn register(
    cursor: &mut Cursor<'_>,
    at: u8,
    adjusts: Adjusts,
    selects: Selects,
    reuse: Option<u32>,
    partial: Partial,
) -> Option<Partial> {
    cursor.blanks();
    let start = cursor.at();
    let (number, text) = signed(cursor, general_register)?;
    let end = cursor.at();
    cursor.back(start);
    let partial = partial.with(at.into(), 8, number.into())?;
    let partial = adjust_bits(cursor, partial, at, adjusts, text.adjust)?;
    let partial = select_bits(cursor, partial, at, selects, text.select)?;
    let partial = match (reuse, text.reuse) {
        (Some(bit), kept) => partial.with_bit(bit, kept)?,
        (None, false) => partial,
        (None, true) => return cursor.miss("an operand without `.reuse`"),
    };
    cursor.back(end);
    Some(partial)
}

pub(super) fn uniform(
    cursor: &mut Cursor<'_>,
    at: u8,
    adjusts: Adjusts,
    selects: Selects,
    partial: Partial,
) -> Option<Partial> {
    cursor.blanks();
    let start = cursor.at();
    let (number, text) = signed(cursor, uniform_register)?;
    let end = cursor.at();
    cursor.back(start);
    if text.reuse {
        return cursor.miss("an operand without `.reuse`");
    }
    let partial = partial.with(at.into(), 6, number.into())?;
    let partial = adjust_bits(cursor, partial, at, adjusts, text.adjust)?;
    let partial = select_bits(cursor, partial, at, selects, text.select)?;
    cursor.back(end);
    Some(partial)
}

pub(super) fn adjust_bits(
    cursor: &mut Cursor<'_>,
    partial: Partial,
    at: u8,
    adjusts: Adjusts,
    adjust: Adjust,
) -> Option<Partial> {
    if adjust.negate && !adjusts.negate {
        return cursor.miss("an operand without `-`");
    }
    if adjust.invert && !adjusts.invert {
        return cursor.miss("an operand without `~`");
    }
    if adjust.absolute && !adjusts.absolute {
        return cursor.miss("an operand without `|…|`");
    }
    let (minus, absolute) = sign_bits(at, adjusts);
    let partial = if adjusts.negate || adjusts.invert {
        partial.with_bit(minus, adjust.negate || adjust.invert)?
    } else {
        partial
    };
    if adjusts.absolute {
        partial.with_bit(absolute, adjust.absolute)
    } else {
        Some(partial)
    }
}

pub(super) fn select_bits(
    cursor: &mut Cursor<'_>,
    partial: Partial,
    at: u8,
    selects: Selects,
    select: Select,
) -> Option<Partial> {
    let (first, width, list): (u32, u32, &[Option<Select>]) = match selects {
        Selects::Nothing if select == Select::None => return Some(partial),
        Selects::Always(always) if select == always => return Some(partial),
        Selects::Nothing => return cursor.miss("an operand without suffix"),
        Selects::Always(always) => {
            return cursor.miss(format!("an operand with `{}`", always.text()));
        }
        Selects::Half => (half_bits(at), 2, &HALVES),
        Selects::Bits(first, width, list) => (first.into(), width.into(), list),
    };
    match list.iter().position(|&one| one == Some(select)) {
        Some(value) => partial.with(first, width, value as u64),
        None => {
            let names: Vec<&str> = list
                .iter()
                .flatten()
                .map(|select| match select {
                    Select::None => "nothing",
                    select => select.text(),
                })
                .collect();
            cursor.miss(format!("an operand with suffix {}", names.join(", ")))
        }
    }
}
