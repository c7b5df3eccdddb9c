//! One line: control field, guard, mnemonic and operands to a word. Tries the rows of the mnemonic in
//! table order; the first whose word decodes to the same instruction counts.

use super::control::{ControlText, control};
use super::cursor::{Cursor, Symbols};
use super::error::AssembleError;
use super::operand::{Place, predicate};
use super::partial::Partial;
use crate::architecture::Architecture;
use crate::control::Control;
use crate::decode::{decode_as, row_of};
use crate::display::is_indexed_jump;
use crate::modifier::Modifier;
use crate::opcode::Opcode;
use crate::table::{self, Compiled, High, When};
use crate::word::Word;

/// Readings of one mnemonic's suffixes that are tried at most.
const MOST_READINGS: usize = 32;

/// What a line says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// The word; where the control field is left open its bits are those of no control:
    /// `[B------:R-:W-:-:S00]`.
    pub word: Word,
    /// The control field as written.
    pub control: ControlText,
    /// Bits that a `^` mask at the end of the line flips.
    pub flipped: u128,
    /// Which bits the text decides (guard, control and flipped bits included), the others being
    /// the row's usual ones.
    pub decided: u128,
}

/// What the names in a line stand for.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// Addresses of labels.
    pub labels: &'a dyn Fn(&str) -> Option<u64>,
    /// Numbers.
    pub symbols: &'a Symbols,
}

/// Reads one instruction, `[B------:R-:W-:-:S01] @P0 FFMA R4, R4, R5, R6 ;`, at address `pc`.
/// `line` is the number that an error tells.
pub fn instruction(
    text: &str,
    line: usize,
    pc: u64,
    architecture: Architecture,
    names: Names<'_>,
) -> Result<Line, AssembleError> {
    let mut cursor = Cursor::new(text, names.symbols);
    match read(&mut cursor, pc, architecture, names.labels) {
        Some(line) => Ok(line),
        None => Err(cursor.trouble.error(line, text)),
    }
}

fn read(
    cursor: &mut Cursor<'_>,
    pc: u64,
    architecture: Architecture,
    labels: &dyn Fn(&str) -> Option<u64>,
) -> Option<Line> {
    let control = control(cursor)?;
    let guard = guard(cursor)?;
    cursor.blanks();
    let start = cursor.at();
    let mnemonic = cursor.word(".");
    let mut parts = mnemonic.split('.');
    let name = parts.next().unwrap_or("");
    let Some(opcode) = Opcode::ALL.iter().find(|opcode| opcode.text() == name) else {
        cursor.back(start);
        return cursor.miss("a mnemonic");
    };
    let table = table::table(architecture);
    if table.rows_of(*opcode).next().is_none() {
        cursor.back(start);
        return cursor.miss(format!("a mnemonic of {architecture}"));
    }
    let mut suffixes = Vec::new();
    let mut at = start + name.len() + 1;
    for part in parts {
        // A part can hold two suffixes, the second of which begins with `x`: `64x8x16`.
        let joined = part
            .rmatch_indices('x')
            .find_map(|(split, _)| {
                let (front, back) = part.split_at(split);
                Some((Modifier::from_text(front)?, Modifier::from_text(back)?))
            })
            .filter(|_| Modifier::from_text(part).is_none());
        if let Some((front, back)) = joined {
            suffixes.push((front, at));
            suffixes.push((back, at));
            at += 1 + part.len();
            continue;
        }
        let Some(modifier) = Modifier::from_text(part) else {
            cursor.back(at.min(start + mnemonic.len()));
            return cursor.miss(format!("a suffix of {name}"));
        };
        suffixes.push((modifier, at));
        at += part.len() + 1;
    }
    let operands = cursor.at();
    // What can be said without a uniform register is said without.
    let plain = table
        .rows_of(*opcode)
        .filter(|compiled| compiled.row.high != High::One);
    let uniform = table
        .rows_of(*opcode)
        .filter(|compiled| compiled.row.high == High::One);
    for compiled in plain.chain(uniform) {
        if guard.is_some_and(|guard| guard.uniform != compiled.row.guard_is_uniform()) {
            cursor.back(start);
            cursor.miss::<()>("a mnemonic whose guard is of this kind");
            continue;
        }
        for form in (0..8u8).filter(|form| compiled.row.forms >> form & 1 == 1) {
            let Some(head) = head(compiled, form, guard) else {
                continue;
            };
            let mut readings = Vec::new();
            let given = (&suffixes[..], operands);
            read_suffixes(cursor, compiled, 0, given, head, &mut readings);
            for reading in readings {
                let place = Place {
                    row: &compiled.row,
                    form,
                    architecture,
                    pc,
                    labels,
                };
                cursor.back(operands);
                let Some((partial, flipped)) =
                    read_operands(cursor, &place, compiled, (0, 0), reading)
                else {
                    continue;
                };
                let closed = control.closed().unwrap_or(OPEN);
                let Some(partial) = with_control(partial, closed) else {
                    continue;
                };
                let word = partial.word(compiled.row.unprinted());
                if means_the_same(compiled, word, architecture) {
                    return Some(Line {
                        word: Word(word.0 ^ flipped),
                        control,
                        flipped,
                        decided: partial.decided() | flipped,
                    });
                }
                cursor.back(start);
                cursor.miss::<()>("an instruction that can be told from others");
            }
        }
    }
    None
}

/// What stands in a word whose control field is left open.
const OPEN: Control = Control {
    stall: 0,
    yields: false,
    write_counter: None,
    read_counter: None,
    wait_mask: 0,
    reuse: 0,
};

/// The guard as written.
#[derive(Clone, Copy)]
struct GuardText {
    number: u8,
    negate: bool,
    uniform: bool,
}

fn guard(cursor: &mut Cursor<'_>) -> Option<Option<GuardText>> {
    if !cursor.skip("@") {
        return Some(None);
    }
    let negate = cursor.skip_here("!");
    let uniform = cursor.rest().starts_with('U');
    Some(Some(GuardText {
        number: predicate(cursor, uniform)?,
        negate,
        uniform,
    }))
}

/// Opcode, form, conditions and guard.
fn head(compiled: &Compiled, form: u8, guard: Option<GuardText>) -> Option<Partial> {
    let row = &compiled.row;
    let mut partial = Partial::default()
        .with(0, 9, row.code.into())?
        .with(9, 3, form.into())?;
    partial = match row.high {
        High::Zero => partial.with_bit(91, false)?,
        High::One => partial.with_bit(91, true)?,
        High::ByForm => match form {
            6 | 7 => partial.with_bit(91, true)?,
            // A constant source decides: it may be bindless.
            3 | 5 => partial,
            _ => partial.with_bit(91, false)?,
        },
        High::Any => partial,
    };
    for when in row.when {
        if let When::Is(first, width, value) = *when {
            partial = partial.with(first.into(), width.into(), value)?;
        }
    }
    let (number, negate) = guard.map_or((7, false), |guard| (guard.number, guard.negate));
    partial.with(12, 3, number.into())?.with_bit(15, negate)
}

/// Every way in which the row's suffix fields print what stands behind the mnemonic, which ends at byte
/// `end`.
fn read_suffixes(
    cursor: &mut Cursor<'_>,
    compiled: &Compiled,
    index: usize,
    (suffixes, end): (&[(Modifier, usize)], usize),
    partial: Partial,
    readings: &mut Vec<Partial>,
) {
    let (Some(suffix), Some(names)) = (
        compiled.row.suffixes.get(index),
        compiled.suffixes.get(index),
    ) else {
        match suffixes.first() {
            None if readings.len() < MOST_READINGS => readings.push(partial),
            None => {}
            Some(&(_, at)) => {
                cursor.back(at);
                cursor.miss::<()>(format!("no such suffix of {}", compiled.row.opcode.text()));
            }
        }
        return;
    };
    // Of several values with one name the usual one comes first.
    let usual = Word(compiled.row.unprinted());
    let usual = usual.concatenate(suffix.bits) as usize;
    let values = std::iter::once(usual).chain((0..names.len()).filter(|&value| value != usual));
    for value in values {
        let Some(name) = names.get(value).and_then(Option::as_ref) else {
            continue;
        };
        let matches = name.len() <= suffixes.len()
            && name
                .iter()
                .zip(suffixes)
                .all(|(name, (given, _))| name == given);
        if !matches {
            if let Some(first) = name.first() {
                cursor.back(suffixes.first().map_or(end, |&(_, at)| at));
                cursor.miss::<()>(format!("`.{}`", first.text()));
            }
            continue;
        }
        if let Some(partial) = partial.with_runs(suffix.bits, value as u64) {
            read_suffixes(
                cursor,
                compiled,
                index + 1,
                (&suffixes[name.len()..], end),
                partial,
                readings,
            );
        }
    }
}

/// Reads the operands from field `index` on, `count` being read already, then the end of the line: the
/// word and its flipped bits. An operand that can be left out is first looked for, then left out.
fn read_operands(
    cursor: &mut Cursor<'_>,
    place: &Place<'_>,
    compiled: &Compiled,
    (index, count): (usize, usize),
    partial: Partial,
) -> Option<(Partial, u128)> {
    let (Some(field), Some(keywords)) =
        (compiled.row.fields.get(index), compiled.keywords.get(index))
    else {
        return read_end(cursor).map(|flipped| (partial, flipped));
    };
    let start = cursor.at();
    // A jump's offset follows its register without a comma.
    let separated = count == 0 || cursor.skip(",") || is_indexed_jump(compiled.row.opcode);
    if separated {
        if let Some(partial) = place.read(cursor, field, keywords, partial)
            && let Some(read) =
                read_operands(cursor, place, compiled, (index + 1, count + 1), partial)
        {
            return Some(read);
        }
    } else {
        cursor.miss::<()>("`,`");
    }
    cursor.back(start);
    let partial = Place::absent(field, keywords, partial)?;
    read_operands(cursor, place, compiled, (index + 1, count), partial)
}

/// The end of a line: a mask of bits to flip, `^0x…`, and a semicolon.
fn read_end(cursor: &mut Cursor<'_>) -> Option<u128> {
    let mut flipped = 0;
    if cursor.skip("^") {
        let at = cursor.at();
        let digits = cursor.word("");
        let mask = digits
            .strip_prefix("0x")
            .and_then(|digits| u128::from_str_radix(digits, 16).ok());
        match mask {
            Some(mask) => flipped = mask,
            None => {
                cursor.back(at);
                return cursor.miss("a hexadecimal mask of bits to flip");
            }
        }
    }
    cursor.skip(";");
    if cursor.is_at_end() {
        Some(flipped)
    } else {
        cursor.blanks();
        cursor.miss("`;` or the end of the line")
    }
}

fn with_control(partial: Partial, control: Control) -> Option<Partial> {
    // Reuse bits are the operands'.
    let word = control.encode();
    partial.with(105, 17, word.bits(105, 17))
}

/// Whether `word`, put together by the row `compiled`, is the instruction that the row describes also
/// for who decodes it.
fn means_the_same(compiled: &Compiled, word: Word, architecture: Architecture) -> bool {
    let Some(found) = row_of(word, architecture) else {
        return false;
    };
    if std::ptr::eq(found, compiled) {
        return true;
    }
    let wanted = decode_as(compiled, word, architecture);
    let given = decode_as(found, word, architecture);
    let text = |read: Option<crate::Instruction>| {
        read.map(|read| (read.modifiers.clone(), read.operands.clone()))
    };
    wanted.is_some() && text(wanted) == text(given)
}
