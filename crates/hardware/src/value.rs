//! A parameter's value as it stands in a GPU document, before it is given its Rust type.

use std::fmt;

/// The value of one key of a GPU document.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer of any size that TOML can write.
    Integer(i128),
    /// A finite or infinite number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// Text: the name of a choice, a title.
    Text(String),
    /// A list of integers.
    List(Vec<i128>),
    /// A list of integers written in hexadecimal: masks over the bits of an address.
    Masks(Vec<u64>),
}

impl Value {
    /// Reads a value as it is written after `key=` on a command line: a number or a truth value
    /// where the text is one, text otherwise.
    pub fn from_text(text: &str) -> Value {
        let text = text.trim();
        if let Ok(flag) = text.parse::<bool>() {
            return Value::Boolean(flag);
        }
        if text.contains(',') {
            let items = text
                .trim_start_matches('[')
                .trim_end_matches(']')
                .split(',');
            let list = items.clone().map(|item| match Value::from_text(item) {
                Value::Integer(integer) => Some(integer),
                _ => None,
            });
            if let Some(list) = list.collect() {
                let masks = items.clone().all(|item| item.trim().starts_with("0x"));
                return Value::from_list(list, masks);
            }
            return Value::Text(text.to_owned());
        }
        let digits = text.replace('_', "");
        let (radix, digits) = match digits.get(..2) {
            Some("0x") => (16, &digits[2..]),
            Some("0b") => (2, &digits[2..]),
            Some("0o") => (8, &digits[2..]),
            _ => (10, digits.as_str()),
        };
        if let Ok(integer) = i128::from_str_radix(digits, radix) {
            return Value::Integer(integer);
        }
        let numeric = digits.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        if numeric && let Ok(float) = digits.parse::<f64>() {
            return Value::Float(float);
        }
        let text = text
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(text);
        Value::Text(text.to_owned())
    }

    /// A list of integers; of masks, if it is written so and they fit.
    pub(crate) fn from_list(list: Vec<i128>, masks: bool) -> Value {
        let fitting = || list.iter().map(|item| u64::try_from(*item).ok()).collect();
        match masks.then(fitting).flatten() {
            Some(masks) => Value::Masks(masks),
            None => Value::List(list),
        }
    }

    /// What kind of value it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a number",
            Value::Boolean(_) => "true or false",
            Value::Text(_) => "text",
            Value::List(_) | Value::Masks(_) => "a list of integers",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(integer) => write!(f, "{integer}"),
            Value::Float(float) => write!(f, "{float}"),
            Value::Boolean(flag) => write!(f, "{flag}"),
            Value::Text(text) => write!(f, "{text}"),
            Value::List(list) => {
                let list: Vec<String> = list.iter().map(i128::to_string).collect();
                write!(f, "{}", list.join(", "))
            }
            Value::Masks(masks) => {
                let masks: Vec<String> = masks.iter().map(|mask| format!("{mask:#x}")).collect();
                write!(f, "{}", masks.join(", "))
            }
        }
    }
}
