//! Reading one line: words, numbers and signs, blanks skipped, what was missed noted.

use std::collections::BTreeMap;

use super::error::Trouble;

/// Names that stand for numbers: `.equ` and `.param`.
pub type Symbols = BTreeMap<String, i64>;

/// A place in a line.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    symbols: &'a Symbols,
    /// What was expected and not found.
    pub trouble: Trouble,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str, symbols: &'a Symbols) -> Cursor<'a> {
        Cursor {
            text,
            at: 0,
            symbols,
            trouble: Trouble::default(),
        }
    }

    /// The place, to come back to.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes back to a place that `at` gave.
    pub(crate) fn back(&mut self, at: usize) {
        self.at = at;
    }

    /// What is left.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks.
    pub(crate) fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Whether nothing but blanks is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.rest().trim_start().is_empty()
    }

    /// Skips blanks and `sign` if it stands there.
    pub(crate) fn skip(&mut self, sign: &str) -> bool {
        self.blanks();
        self.skip_here(sign)
    }

    /// Skips `sign` if it stands right here.
    pub(crate) fn skip_here(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len();
        }
        found
    }

    /// Notes that `expected` is not here.
    pub(crate) fn miss<T>(&mut self, expected: impl Into<String>) -> Option<T> {
        self.trouble.miss(self.at, expected);
        None
    }

    /// Skips blanks and `sign`, which has to stand there.
    pub(crate) fn demand(&mut self, sign: &str) -> Option<()> {
        self.blanks();
        if self.skip_here(sign) {
            Some(())
        } else {
            self.miss(format!("`{sign}`"))
        }
    }

    /// The letters, digits and `extra` signs that stand right here; can be empty.
    pub(crate) fn word(&mut self, extra: &str) -> &'a str {
        let rest = self.rest();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || extra.contains(c);
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// A suffix with its dot (`.reuse`), whatever it is.
    pub(crate) fn suffix(&mut self) -> Option<&'a str> {
        let start = self.at;
        if !self.skip_here(".") {
            return None;
        }
        if self.word("").is_empty() {
            self.at = start;
            return None;
        }
        Some(&self.text[start..self.at])
    }

    /// An integer: decimal, hexadecimal or a symbol, a minus sign or none.
    pub(crate) fn integer(&mut self, expected: &str) -> Option<i128> {
        self.blanks();
        let start = self.at;
        let negative = self.skip_here("-");
        let digits = self.word("");
        let magnitude = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
            Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16).ok(),
            None if digits.starts_with('+') => None,
            None => digits.parse::<u64>().ok(),
        };
        let value = magnitude
            .map(i128::from)
            .or_else(|| self.symbols.get(digits).copied().map(i128::from));
        match value {
            Some(value) => Some(if negative { -value } else { value }),
            None => {
                self.at = start;
                self.miss(expected)
            }
        }
    }

    /// The number of a register: `prefix` and decimal digits up to `most`, or the name `zero`.
    pub(crate) fn numbered(
        &mut self,
        prefix: &str,
        most: u8,
        zero: (&str, u8),
        expected: &str,
    ) -> Option<u8> {
        self.blanks();
        let start = self.at;
        let word = self.word("");
        if word == zero.0 {
            return Some(zero.1);
        }
        let number = word
            .strip_prefix(prefix)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|digits| digits.parse::<u8>().ok())
            .filter(|&number| number <= most);
        if number.is_none() {
            self.at = start;
            return self.miss(expected);
        }
        number
    }
}
