//! The control field as text, `[B--2---:R0:W1:Y:S04]`; a `?` in place of a field leaves it open.

use super::cursor::Cursor;
use crate::control::Control;

/// A control field as written: `None` where it is left open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControlText {
    /// Wait mask.
    pub wait_mask: Option<u8>,
    /// Read counter, 7 for none.
    pub read_counter: Option<Option<u8>>,
    /// Write counter, 7 for none.
    pub write_counter: Option<Option<u8>>,
    /// Yield.
    pub yields: Option<bool>,
    /// Stall count.
    pub stall: Option<u8>,
}

impl ControlText {
    /// The control bits, if none of them is left open; reuse bits not among them.
    pub fn closed(self) -> Option<Control> {
        Some(Control {
            stall: self.stall?,
            yields: self.yields?,
            write_counter: self.write_counter?,
            read_counter: self.read_counter?,
            wait_mask: self.wait_mask?,
            reuse: 0,
        })
    }
}

/// Reads a control field, or nothing where no bracket opens.
pub(crate) fn control(cursor: &mut Cursor<'_>) -> Option<ControlText> {
    if !cursor.skip("[") {
        return Some(ControlText::default());
    }
    let wait_mask = waits(cursor)?;
    cursor.demand(":")?;
    let read_counter = counter(cursor, "R")?;
    cursor.demand(":")?;
    let write_counter = counter(cursor, "W")?;
    cursor.demand(":")?;
    cursor.blanks();
    let yields = if cursor.skip_here("Y") {
        Some(true)
    } else if cursor.skip_here("-") {
        Some(false)
    } else if cursor.skip_here("?") {
        None
    } else {
        return cursor.miss("`Y`, `-` or `?`");
    };
    cursor.demand(":")?;
    let stall = stall(cursor)?;
    cursor.demand("]")?;
    Some(ControlText {
        wait_mask,
        read_counter,
        write_counter,
        yields,
        stall,
    })
}

/// `B` and a place per counter: its number or `-`; or `B?`.
fn waits(cursor: &mut Cursor<'_>) -> Option<Option<u8>> {
    cursor.demand("B")?;
    if cursor.skip_here("?") {
        return Some(None);
    }
    let mut mask = 0;
    for counter in 0..6u8 {
        let digit = char::from(b'0' + counter);
        if cursor.skip_here(digit.encode_utf8(&mut [0; 4])) {
            mask |= 1 << counter;
        } else if !cursor.skip_here("-") {
            return cursor.miss(format!("`{digit}` or `-`"));
        }
    }
    Some(Some(mask))
}

fn counter(cursor: &mut Cursor<'_>, letter: &str) -> Option<Option<Option<u8>>> {
    cursor.demand(letter)?;
    if cursor.skip_here("?") {
        return Some(None);
    }
    if cursor.skip_here("-") {
        return Some(Some(None));
    }
    for counter in 0..6u8 {
        let digit = char::from(b'0' + counter);
        if cursor.skip_here(digit.encode_utf8(&mut [0; 4])) {
            return Some(Some(Some(counter)));
        }
    }
    cursor.miss("a counter 0 to 5, `-` or `?`")
}

fn stall(cursor: &mut Cursor<'_>) -> Option<Option<u8>> {
    cursor.demand("S")?;
    if cursor.skip_here("?") {
        return Some(None);
    }
    let at = cursor.at();
    match cursor.word("").parse::<u8>() {
        Ok(stall @ 0..=15) => Some(Some(stall)),
        _ => {
            cursor.back(at);
            cursor.miss("a stall count 00 to 15 or `?`")
        }
    }
}
