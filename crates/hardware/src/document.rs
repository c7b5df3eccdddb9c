//! One GPU document: a base and entries with value, source and confidence.

use std::fmt;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::{HardwareError, Place, Value};

/// How far a number may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// Seen in a hardware experiment or stated by the vendor.
    Measured,
    /// Chosen so that a model fits measurements.
    Modelled,
    /// Nothing better known.
    Guess,
}

impl Confidence {
    const ALL: [Confidence; 3] = [
        Confidence::Measured,
        Confidence::Modelled,
        Confidence::Guess,
    ];

    /// The name that stands in a document.
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::Measured => "measured",
            Confidence::Modelled => "modelled",
            Confidence::Guess => "guess",
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One key of a document.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) value: Value,
    pub(crate) source: String,
    pub(crate) confidence: Confidence,
    pub(crate) note: Option<String>,
    pub(crate) place: Place,
}

/// A document: where it inherits from and what it says itself.
pub(crate) struct Document {
    pub(crate) base: Option<String>,
    pub(crate) entries: Vec<Entry>,
}

impl Document {
    pub(crate) fn parse(file: &str, text: &str) -> Result<Document, HardwareError> {
        let lines = text.match_indices('\n').map(|(offset, _)| offset).collect();
        let reader = Reader { file, lines };
        let root = DeTable::parse(text).map_err(|error| HardwareError::Syntax {
            place: reader.place(error.span().map_or(text.len(), |span| span.start)),
            message: error.message().to_owned(),
        })?;
        let mut document = Document {
            base: None,
            entries: Vec::new(),
        };
        for (name, item) in root.get_ref() {
            match item.get_ref() {
                DeValue::String(base) if name.get_ref() == "base" => {
                    document.base = Some(base.to_string());
                }
                DeValue::Table(table) if name.get_ref() != "base" => {
                    for (field, item) in table {
                        let key = format!("{}.{}", name.get_ref(), field.get_ref());
                        document.entries.push(reader.entry(key, item)?);
                    }
                }
                _ => {
                    return Err(reader.fault(
                        name.span().start,
                        name.get_ref(),
                        "a document holds `base = \"NAME\"` and tables of keys",
                    ));
                }
            }
        }
        Ok(document)
    }
}

struct Reader<'a> {
    file: &'a str,
    /// Offsets of the line ends.
    lines: Vec<usize>,
}

impl Reader<'_> {
    fn place(&self, offset: usize) -> Place {
        Place {
            file: self.file.to_owned(),
            line: 1 + self.lines.partition_point(|end| *end < offset),
        }
    }

    fn fault(&self, offset: usize, key: &str, message: &str) -> HardwareError {
        HardwareError::Document {
            place: self.place(offset),
            key: key.to_owned(),
            message: message.to_owned(),
        }
    }

    fn entry(&self, key: String, item: &Spanned<DeValue<'_>>) -> Result<Entry, HardwareError> {
        let start = item.span().start;
        let DeValue::Table(table) = item.get_ref() else {
            return Err(self.fault(
                start,
                &key,
                "must be { value = …, source = \"…\", confidence = \"…\" }",
            ));
        };
        let (mut value, mut source, mut confidence, mut note) = (None, None, None, None);
        for (field, item) in table {
            let start = item.span().start;
            match (field.get_ref().as_ref(), item.get_ref()) {
                ("value", item) => value = Some(self.value(start, &key, item)?),
                ("source", DeValue::String(text)) if !text.trim().is_empty() => {
                    source = Some(text.to_string());
                }
                ("confidence", DeValue::String(text)) => {
                    let found = Confidence::ALL.into_iter().find(|c| c.name() == *text);
                    confidence = Some(found.ok_or_else(|| {
                        self.fault(
                            start,
                            &key,
                            "`confidence` must be \"measured\", \"modelled\" or \"guess\"",
                        )
                    })?);
                }
                ("note", DeValue::String(text)) => note = Some(text.to_string()),
                ("source" | "confidence" | "note", _) => {
                    let message = format!("`{}` must be text", field.get_ref());
                    return Err(self.fault(start, &key, &message));
                }
                (other, _) => {
                    let message = format!(
                        "has no field `{other}`; fields are value, source, confidence and note"
                    );
                    return Err(self.fault(start, &key, &message));
                }
            }
        }
        let missing = |field: &str| self.fault(start, &key, &format!("lacks its `{field}`"));
        Ok(Entry {
            value: value.ok_or_else(|| missing("value"))?,
            source: source.ok_or_else(|| missing("source"))?,
            confidence: confidence.ok_or_else(|| missing("confidence"))?,
            note,
            place: self.place(start),
            key,
        })
    }

    fn value(&self, start: usize, key: &str, item: &DeValue<'_>) -> Result<Value, HardwareError> {
        let read = match item {
            DeValue::String(text) => Some(Value::Text(text.to_string())),
            DeValue::Boolean(flag) => Some(Value::Boolean(*flag)),
            DeValue::Integer(number) => integer(number).map(Value::Integer),
            DeValue::Array(array) => {
                let items = array.iter().map(|item| match item.get_ref() {
                    DeValue::Integer(number) => integer(number),
                    _ => None,
                });
                let masks = array.iter().all(|item| {
                    matches!(item.get_ref(), DeValue::Integer(number) if number.radix() == 16)
                });
                let list = items.collect::<Option<Vec<i128>>>();
                list.map(|list| Value::from_list(list, masks && !array.is_empty()))
            }
            DeValue::Float(float) => float.as_str().parse().ok().map(Value::Float),
            _ => None,
        };
        read.ok_or_else(|| {
            self.fault(
                start,
                key,
                "`value` must be an integer, a number, true or false, text or a list of integers",
            )
        })
    }
}

fn integer(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}
