//! What a reference is given: the buffers as they were before the first launch, and the named
//! parameters of the launch file.

use std::collections::BTreeMap;

use half::f16;

use crate::values::{ElementType, Number, PartialElement, Values};

/// The initial bytes of one buffer and what they mean.
#[derive(Debug, Clone, Copy)]
pub struct Buffer<'a> {
    /// Type of the elements.
    pub element: ElementType,
    /// The elements in memory order, little-endian.
    pub bytes: &'a [u8],
}

/// Everything that a reference computes from.
#[derive(Debug, Clone, Default)]
pub struct Inputs<'a> {
    buffers: BTreeMap<&'a str, Buffer<'a>>,
    parameters: BTreeMap<&'a str, Number>,
}

/// The expected final contents of one buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Name of the buffer.
    pub buffer: String,
    /// What it must hold.
    pub values: Values,
}

impl Output {
    /// An expectation for the buffer called `buffer`.
    pub fn new(buffer: impl Into<String>, values: Values) -> Self {
        Output {
            buffer: buffer.into(),
            values,
        }
    }
}

/// Why a reference cannot compute its result: the launch file does not fit it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReferenceError {
    /// No buffer of that name.
    #[error("the reference needs a buffer `{0}`")]
    MissingBuffer(String),
    /// A buffer of another type.
    #[error("buffer `{buffer}` must hold {expected} elements, not {got}")]
    WrongType {
        /// The buffer.
        buffer: String,
        /// The type that the launch file gives it.
        got: ElementType,
        /// The type that the reference needs, or the types.
        expected: &'static str,
    },
    /// A buffer whose bytes end within an element.
    #[error("buffer `{buffer}`: {source}")]
    PartialElement {
        /// The buffer.
        buffer: String,
        /// What is wrong with its bytes.
        source: PartialElement,
    },
    /// Too few elements for the sizes that the parameters give.
    #[error("buffer `{buffer}` has {got} elements, the parameters need {needed}")]
    TooShort {
        /// The buffer.
        buffer: String,
        /// How many elements it has.
        got: usize,
        /// How many the parameters ask for.
        needed: usize,
    },
    /// No parameter of that name.
    #[error("the reference needs a parameter `{0}` in [parameters]")]
    MissingParameter(&'static str),
    /// A parameter outside what it can mean.
    #[error("parameter `{name}` = {value}: expected {expected}")]
    BadParameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: Number,
        /// What would be right.
        expected: &'static str,
    },
    /// An element of an index buffer that points outside another.
    #[error("buffer `{buffer}`, element {index}: {value} is no valid index (limit {limit})")]
    BadIndex {
        /// The buffer of indices.
        buffer: &'static str,
        /// Which element.
        index: usize,
        /// What it holds.
        value: i64,
        /// One more than the largest index allowed.
        limit: usize,
    },
}

/// Sizes beyond this are refused, so that products of three sizes stay far from overflow.
const LARGEST_SIZE: i128 = 1 << 31;

impl<'a> Inputs<'a> {
    /// No buffers and no parameters.
    pub fn new() -> Self {
        Inputs::default()
    }

    /// Adds a buffer.
    pub fn buffer(&mut self, name: &'a str, element: ElementType, bytes: &'a [u8]) -> &mut Self {
        self.buffers.insert(name, Buffer { element, bytes });
        self
    }

    /// Adds a parameter.
    pub fn parameter(&mut self, name: &'a str, value: Number) -> &mut Self {
        self.parameters.insert(name, value);
        self
    }

    /// The names of all buffers, in alphabetical order.
    pub(crate) fn buffer_names(&self) -> impl Iterator<Item = &'a str> {
        self.buffers.keys().copied()
    }

    /// The buffer called `name`.
    pub(crate) fn find(&self, name: &str) -> Result<Buffer<'a>, ReferenceError> {
        self.buffers
            .get(name)
            .copied()
            .ok_or_else(|| ReferenceError::MissingBuffer(name.to_owned()))
    }

    /// The elements of the buffer called `name`.
    pub(crate) fn values(&self, name: &str) -> Result<Values, ReferenceError> {
        let buffer = self.find(name)?;
        Values::from_bytes(buffer.element, buffer.bytes).map_err(|source| {
            ReferenceError::PartialElement {
                buffer: name.to_owned(),
                source,
            }
        })
    }

    /// The first `needed` words of a buffer of 4-byte elements, whatever they mean.
    pub(crate) fn words(&self, name: &str, needed: usize) -> Result<Vec<u32>, ReferenceError> {
        let buffer = self.find(name)?;
        self.raw(name, buffer, 4, "4-byte", needed)?;
        let (words, _) = buffer.bytes.as_chunks();
        Ok(words[..needed]
            .iter()
            .map(|&bytes| u32::from_le_bytes(bytes))
            .collect())
    }

    /// The first `needed` double words of a buffer of 8-byte elements, whatever they mean.
    pub(crate) fn double_words(
        &self,
        name: &str,
        needed: usize,
    ) -> Result<Vec<u64>, ReferenceError> {
        let buffer = self.find(name)?;
        self.raw(name, buffer, 8, "8-byte", needed)?;
        let (words, _) = buffer.bytes.as_chunks();
        Ok(words[..needed]
            .iter()
            .map(|&bytes| u64::from_le_bytes(bytes))
            .collect())
    }

    fn raw(
        &self,
        name: &str,
        buffer: Buffer<'a>,
        size: usize,
        expected: &'static str,
        needed: usize,
    ) -> Result<(), ReferenceError> {
        let (buffer_name, got) = (name.to_owned(), buffer.bytes.len() / size);
        if buffer.element.size() != size {
            let got = buffer.element;
            return Err(ReferenceError::WrongType {
                buffer: buffer_name,
                got,
                expected,
            });
        }
        if got < needed {
            return Err(ReferenceError::TooShort {
                buffer: buffer_name,
                got,
                needed,
            });
        }
        Ok(())
    }

    /// A parameter that counts something.
    pub(crate) fn size(&self, name: &'static str) -> Result<usize, ReferenceError> {
        let value = self.number(name)?;
        match value {
            Number::Integer(size) if (0..=LARGEST_SIZE).contains(&size) => Ok(size as usize),
            _ => Err(ReferenceError::BadParameter {
                name,
                value,
                expected: "a whole number from 0 to 2^31",
            }),
        }
    }

    /// A parameter that counts something of which there must be at least one.
    pub(crate) fn positive(&self, name: &'static str) -> Result<usize, ReferenceError> {
        match self.size(name)? {
            0 => Err(ReferenceError::BadParameter {
                name,
                value: Number::Integer(0),
                expected: "at least 1",
            }),
            size => Ok(size),
        }
    }

    /// A parameter that the kernel gets as a float.
    pub(crate) fn f32(&self, name: &'static str) -> Result<f32, ReferenceError> {
        Ok(self.number(name)?.as_f64() as f32)
    }

    fn number(&self, name: &'static str) -> Result<Number, ReferenceError> {
        self.parameters
            .get(name)
            .copied()
            .ok_or(ReferenceError::MissingParameter(name))
    }
}

macro_rules! typed {
    ($($method:ident, $rust:ty, $variant:ident, $name:literal;)*) => {
        impl Inputs<'_> {
            $(
                #[doc = concat!("The `", $name, "` elements of a buffer, at least `needed` of them.")]
                pub(crate) fn $method(
                    &self,
                    name: &str,
                    needed: usize,
                ) -> Result<Vec<$rust>, ReferenceError> {
                    match self.values(name)? {
                        Values::$variant(values) if values.len() >= needed => Ok(values),
                        Values::$variant(values) => Err(ReferenceError::TooShort {
                            buffer: name.to_owned(),
                            got: values.len(),
                            needed,
                        }),
                        other => Err(ReferenceError::WrongType {
                            buffer: name.to_owned(),
                            got: other.element(),
                            expected: $name,
                        }),
                    }
                }
            )*
        }
    };
}

typed! {
    f32s, f32, F32, "f32";
    f16s, f16, F16, "f16";
    u32s, u32, U32, "u32";
    i32s, i32, I32, "i32";
    i8s, i8, I8, "i8";
    u8s, u8, U8, "u8";
    u16s, u16, U16, "u16";
    i16s, i16, I16, "i16";
    u64s, u64, U64, "u64";
    f64s, f64, F64, "f64";
}
