//! What can be wrong with SASS text.

use std::fmt;

/// The first thing in a text that is not SASS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssembleError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What stands there; empty at the end of the line.
    pub token: String,
    /// What would be right there.
    pub expected: String,
}

impl fmt::Display for AssembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.line, self.column)?;
        if self.token.is_empty() {
            write!(f, "the line ends, expected {}", self.expected)
        } else {
            write!(f, "found `{}`, expected {}", self.token, self.expected)
        }
    }
}

impl std::error::Error for AssembleError {}

/// What a reader of one line expected where: the places furthest right count, as the reading that came
/// furthest is most likely what was meant.
#[derive(Default, Debug)]
pub(crate) struct Trouble {
    at: usize,
    expected: Vec<String>,
}

/// So many expectations are told at most.
const MOST_TOLD: usize = 6;

impl Trouble {
    /// Notes that `expected` was not found at byte `at`.
    pub(crate) fn miss(&mut self, at: usize, expected: impl Into<String>) {
        if at > self.at {
            self.expected.clear();
        }
        if at >= self.at {
            self.at = at;
            let expected = expected.into();
            if !self.expected.contains(&expected) {
                self.expected.push(expected);
            }
        }
    }

    /// The error for line `line`, whose text is `text`; `start` is the column of its first byte.
    pub(crate) fn error(self, line: usize, text: &str) -> AssembleError {
        let at = self.at.min(text.len());
        let (before, rest) = text.split_at(at);
        let rest = rest.trim_start();
        let at = text.len() - rest.len();
        let before = if rest.is_empty() { before } else { &text[..at] };
        let mut expected = self.expected;
        if expected.len() > MOST_TOLD {
            expected.truncate(MOST_TOLD);
            expected.push("and others".to_owned());
        }
        AssembleError {
            line,
            column: before.chars().count() + 1,
            token: token(rest).to_owned(),
            expected: expected.join(" or "),
        }
    }
}

/// The token that begins `text`: a word, or one sign.
fn token(text: &str) -> &str {
    const LONGEST: usize = 40;
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '@' | '!');
    let words = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    let length = if words > 0 {
        words
    } else {
        text.chars().next().map_or(0, char::len_utf8)
    };
    let token = &text[..length];
    match token.char_indices().nth(LONGEST) {
        Some((end, _)) => &token[..end],
        None => token,
    }
}
