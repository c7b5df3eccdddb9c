//! A launch file's TOML with the place of everything in it, so that an error can name file, line
//! and key and say what would be right. First step from a launch file to a run.

use std::ops::Range;
use std::sync::Arc;

use reference::Number;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Something in a launch file that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {}{found}; expected {expected}", key_prefix(.key))]
pub struct LaunchFileError {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key, as in `launch[0].grid`; empty for a syntax error.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What would be right.
    pub expected: String,
    /// Bytes of the text that the error is about.
    pub span: Range<usize>,
    /// The file's text.
    pub text: Arc<str>,
}

fn key_prefix(key: &str) -> String {
    if key.is_empty() {
        String::new()
    } else {
        format!("key `{key}`: ")
    }
}

/// A launch file's name and text: what errors are built from.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    file: String,
    text: Arc<str>,
}

impl Document {
    /// A document of that name and text.
    pub fn new(file: &str, text: &str) -> Document {
        Document {
            file: file.to_owned(),
            text: Arc::from(text),
        }
    }

    /// An error about those bytes of the text.
    pub fn error(
        &self,
        span: Range<usize>,
        key: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Box<LaunchFileError> {
        let before = self.text.get(..span.start).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Box::new(LaunchFileError {
            file: self.file.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            key: key.into(),
            found: found.into(),
            expected: expected.into(),
            span,
            text: Arc::clone(&self.text),
        })
    }

    /// Parses the text as TOML.
    pub fn parse(&self) -> Result<Spanned<DeTable<'_>>, Box<LaunchFileError>> {
        DeTable::parse(&self.text).map_err(|error| {
            let message = error.message().trim_end().replace('\n', ", ");
            let span = error.span().unwrap_or(0..0);
            self.error(span, "", message, "a TOML document")
        })
    }
}

/// A value of the document with its place and key.
#[derive(Clone)]
pub(crate) struct Value<'a> {
    document: &'a Document,
    key: String,
    span: Range<usize>,
    value: &'a DeValue<'a>,
}

/// A table of the document with its place and key.
#[derive(Clone)]
pub(crate) struct Table<'a> {
    document: &'a Document,
    key: String,
    span: Range<usize>,
    table: &'a DeTable<'a>,
}

/// What reading a part of a document gives.
pub(crate) type Reading<T> = Result<T, Box<LaunchFileError>>;

impl<'a> Table<'a> {
    /// The document's top table.
    pub fn top(document: &'a Document, table: &'a Spanned<DeTable<'a>>) -> Table<'a> {
        Table {
            document,
            key: String::new(),
            span: 0..0,
            table: table.get_ref(),
        }
    }

    fn path(&self, key: &str) -> String {
        if self.key.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.key)
        }
    }

    /// Refuses every key that is not in `known`.
    pub fn only(&self, known: &[&str]) -> Reading<()> {
        for key in self.table.keys() {
            if !known.contains(&key.get_ref().as_ref()) {
                let name = key.get_ref().as_ref();
                return Err(self.document.error(
                    key.span(),
                    self.path(name),
                    "a key that is not known here",
                    one_of(known),
                ));
            }
        }
        Ok(())
    }

    /// The value of a key, if it is there.
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        let value = self.table.get(key)?;
        Some(Value {
            document: self.document,
            key: self.path(key),
            span: value.span(),
            value: value.get_ref(),
        })
    }

    /// The value of a key that has to be there.
    pub fn require(&self, key: &str, expected: &str) -> Reading<Value<'a>> {
        self.get(key).ok_or_else(|| {
            self.document
                .error(self.span.clone(), self.path(key), "nothing", expected)
        })
    }

    /// All keys with their values in the order of the file.
    pub fn entries(&self) -> Vec<(&'a str, Value<'a>)> {
        let mut entries: Vec<_> = self
            .table
            .iter()
            .map(|(key, value)| {
                let name: &'a str = key.get_ref().as_ref();
                let value = Value {
                    document: self.document,
                    key: self.path(name),
                    span: value.span(),
                    value: value.get_ref(),
                };
                (key.span().start, name, value)
            })
            .collect();
        entries.sort_by_key(|(start, ..)| *start);
        entries
            .into_iter()
            .map(|(_, name, value)| (name, value))
            .collect()
    }
}

impl<'a> Value<'a> {
    /// An error about the value that names what would be right.
    pub fn error(
        &self,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Box<LaunchFileError> {
        self.document
            .error(self.span.clone(), self.key.clone(), found, expected)
    }

    fn wrong_type(&self, expected: &str) -> Box<LaunchFileError> {
        let found = match self.value.type_str() {
            kind @ ("array" | "integer") => format!("an {kind}"),
            kind => format!("a {kind}"),
        };
        self.error(found, expected)
    }

    /// The value as a string.
    pub fn string(&self, expected: &str) -> Reading<&'a str> {
        self.value.as_str().ok_or_else(|| self.wrong_type(expected))
    }

    /// The value as a string, if it is one.
    pub fn as_string(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// The value as a table.
    pub fn table(&self, expected: &str) -> Reading<Table<'a>> {
        let table = self
            .value
            .as_table()
            .ok_or_else(|| self.wrong_type(expected))?;
        Ok(Table {
            document: self.document,
            key: self.key.clone(),
            span: self.span.clone(),
            table,
        })
    }

    /// The value as a truth value.
    pub fn boolean(&self, expected: &str) -> Reading<bool> {
        self.value
            .as_bool()
            .ok_or_else(|| self.wrong_type(expected))
    }

    /// The elements of an array.
    pub fn array(&self, expected: &str) -> Reading<Vec<Value<'a>>> {
        let array = self
            .value
            .as_array()
            .ok_or_else(|| self.wrong_type(expected))?;
        Ok(array
            .iter()
            .enumerate()
            .map(|(index, value)| Value {
                document: self.document,
                key: format!("{}[{index}]", self.key),
                span: value.span(),
                value: value.get_ref(),
            })
            .collect())
    }

    /// Whether the value is an array.
    pub fn is_array(&self) -> bool {
        self.value.is_array()
    }

    /// The value as a number of any kind.
    pub fn number(&self, expected: &str) -> Reading<Number> {
        if let Some(integer) = self.value.as_integer() {
            return i128::from_str_radix(integer.as_str(), integer.radix())
                .map(Number::Integer)
                .map_err(|_| self.error("an integer beyond 128 bits", expected));
        }
        if let Some(real) = self.value.as_float() {
            return real
                .as_str()
                .parse()
                .map(Number::Real)
                .map_err(|_| self.error("a number that cannot be read", expected));
        }
        Err(self.wrong_type(expected))
    }

    /// The value as an integer in a range.
    pub fn integer(&self, range: std::ops::RangeInclusive<u64>, expected: &str) -> Reading<u64> {
        match self.number(expected)? {
            Number::Integer(value) => u64::try_from(value)
                .ok()
                .filter(|value| range.contains(value))
                .ok_or_else(|| self.error(value.to_string(), expected)),
            Number::Real(value) => Err(self.error(format!("{value:?}"), expected)),
        }
    }
}

/// "`a`, `b` or `c`".
pub(crate) fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}
