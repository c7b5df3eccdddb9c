//! What a parameter may be: its types, its range, and the declaration that a stage makes of it.

use std::ops::{RangeFrom, RangeFull, RangeInclusive, RangeToInclusive};

use crate::Value;

/// One parameter as the stage that reads it declares it.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The full key, `barrier.hold`.
    pub key: &'static str,
    /// The unit, empty for a plain number, a truth value or a choice.
    pub unit: &'static str,
    /// What the parameter means, from the field's documentation.
    pub doc: &'static str,
    /// The values it may take, as text: `0..=1000`, or the names of a choice.
    pub range: &'static str,
    /// Whether a GPU may leave it out, because it has no such thing.
    pub optional: bool,
    /// Whether a value is of the right kind and inside the range.
    pub check: fn(&Value) -> Result<(), Mismatch>,
}

impl PartialEq for Declaration {
    fn eq(&self, other: &Self) -> bool {
        (self.key, self.unit, self.doc, self.range)
            == (other.key, other.unit, other.doc, other.range)
    }
}

/// Why a value does not fit a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It is of the wrong kind; what it must be stands here in words.
    Kind(&'static str),
    /// It lies outside the declared range.
    Range,
}

/// A type that a parameter may have.
pub trait Parameter: Sized {
    /// What its values are, in words, for an error.
    const KIND: &'static str;
    /// The values that the type itself allows, as text, for a parameter declared with `..`.
    const DOMAIN: &'static str;
    /// Whether a GPU may leave the parameter out.
    const OPTIONAL: bool = false;
    /// What a parameter that is left out is.
    fn absent() -> Option<Self> {
        None
    }
    /// The typed value.
    ///
    /// # Errors
    /// A [`Mismatch`] if the value is of another kind or does not fit the type.
    fn from_value(value: &Value) -> Result<Self, Mismatch>;
}

/// A parameter that a GPU leaves out where it has no such thing.
impl<T: Parameter> Parameter for Option<T> {
    const KIND: &'static str = T::KIND;
    const DOMAIN: &'static str = T::DOMAIN;
    const OPTIONAL: bool = true;
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        T::from_value(value).map(Some)
    }
}

macro_rules! integer_parameter {
    ($($type:ident),*) => {$(
        impl Parameter for $type {
            const KIND: &'static str = "an integer";
            const DOMAIN: &'static str = concat!("any ", stringify!($type));
            fn from_value(value: &Value) -> Result<Self, Mismatch> {
                match value {
                    Value::Integer(integer) => {
                        Self::try_from(*integer).map_err(|_| Mismatch::Range)
                    }
                    _ => Err(Mismatch::Kind(Self::KIND)),
                }
            }
        }
    )*};
}
integer_parameter!(u8, u16, u32, u64, usize);

impl Parameter for f64 {
    const KIND: &'static str = "a number";
    const DOMAIN: &'static str = "any number";
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        match value {
            Value::Float(float) if float.is_nan() => Err(Mismatch::Range),
            Value::Float(float) => Ok(*float),
            Value::Integer(integer) => Ok(*integer as f64),
            _ => Err(Mismatch::Kind(Self::KIND)),
        }
    }
}

impl Parameter for bool {
    const KIND: &'static str = "true or false";
    const DOMAIN: &'static str = "true or false";
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        match value {
            Value::Boolean(flag) => Ok(*flag),
            _ => Err(Mismatch::Kind(Self::KIND)),
        }
    }
}

macro_rules! list_parameter {
    ($($type:ident),*) => {$(
        impl Parameter for Vec<$type> {
            const KIND: &'static str = "a list of integers";
            const DOMAIN: &'static str = "any list of integers";
            fn from_value(value: &Value) -> Result<Self, Mismatch> {
                let fit = |item: i128| $type::try_from(item).map_err(|_| Mismatch::Range);
                match value {
                    Value::List(list) => list.iter().map(|item| fit(*item)).collect(),
                    Value::Masks(masks) => masks.iter().map(|mask| fit((*mask).into())).collect(),
                    Value::Integer(item) => fit(*item).map(|item| vec![item]),
                    _ => Err(Mismatch::Kind(Self::KIND)),
                }
            }
        }
    )*};
}
list_parameter!(u32, u64);

impl Parameter for String {
    const KIND: &'static str = "text";
    const DOMAIN: &'static str = "any text";
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(Mismatch::Kind(Self::KIND)),
        }
    }
}

/// The range expression of a declaration.
pub trait Bounds<T> {
    /// Whether the value lies inside.
    fn holds(&self, value: &T) -> bool;
}

impl<T: PartialOrd> Bounds<T> for RangeInclusive<T> {
    fn holds(&self, value: &T) -> bool {
        self.contains(value)
    }
}

impl<T: PartialOrd> Bounds<Option<T>> for RangeInclusive<T> {
    fn holds(&self, value: &Option<T>) -> bool {
        value.as_ref().is_none_or(|value| self.contains(value))
    }
}

impl<T: PartialOrd> Bounds<T> for RangeFrom<T> {
    fn holds(&self, value: &T) -> bool {
        self.contains(value)
    }
}

impl<T: PartialOrd> Bounds<T> for RangeToInclusive<T> {
    fn holds(&self, value: &T) -> bool {
        self.contains(value)
    }
}

impl<T> Bounds<T> for RangeFull {
    fn holds(&self, _: &T) -> bool {
        true
    }
}

/// The typed value, if it is of the right kind and inside the range.
///
/// # Errors
/// The [`Mismatch`] otherwise.
pub fn typed<T: Parameter>(value: &Value, range: impl Bounds<T>) -> Result<T, Mismatch> {
    let value = T::from_value(value)?;
    if range.holds(&value) {
        Ok(value)
    } else {
        Err(Mismatch::Range)
    }
}

/// The text of a declared range: that of the expression, or the type's own domain for `..`.
pub const fn range_text(expression: &'static str, domain: &'static str) -> &'static str {
    match expression.as_bytes() {
        b".." => domain,
        _ => expression,
    }
}

/// Declares a structure of parameters: its fields, their keys, units, ranges and documentation.
///
/// A field of type `Option<T>` is a parameter that a GPU may leave out.
///
/// The structure gets `DECLARED`, the list of its [`Declaration`]s, and `load`, which reads it
/// from a [`Gpu`](crate::Gpu).
///
/// ```
/// hardware::parameters! {
///     /// Parameters of the CTA barrier.
///     pub struct BarrierParameters = "barrier" {
///         /// Cycles from the issue of BAR until it holds the warp.
///         hold: u64, "cycles", 0..=1000;
///     }
/// }
/// assert_eq!(BarrierParameters::DECLARED[0].key, "barrier.hold");
/// ```
#[macro_export]
macro_rules! parameters {
    ($(
        $(#[doc = $about:literal])*
        $vis:vis struct $name:ident = $prefix:literal {
            $(
                $(#[doc = $doc:literal])*
                $field:ident : $type:ty, $unit:literal, $range:expr;
            )*
        }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $(
                $(#[doc = $doc])*
                pub $field: $type,
            )*
        }

        impl $name {
            /// The parameters of this structure, as declared.
            pub const DECLARED: &'static [$crate::Declaration] = &[$(
                $crate::Declaration {
                    key: concat!($prefix, ".", stringify!($field)),
                    unit: $unit,
                    doc: concat!($($doc, "\n",)*),
                    range: $crate::range_text(
                        stringify!($range),
                        <$type as $crate::Parameter>::DOMAIN,
                    ),
                    optional: <$type as $crate::Parameter>::OPTIONAL,
                    check: |value| $crate::typed::<$type>(value, $range).map(|_| ()),
                },
            )*];

            /// Reads the structure from a GPU.
            ///
            /// # Errors
            /// A key that is missing, of the wrong kind or out of range.
            pub fn load(gpu: &$crate::Gpu) -> Result<Self, $crate::HardwareError> {
                let mut declared = Self::DECLARED.iter();
                Ok(Self {
                    $($field: gpu.load_next::<$type>(&mut declared)?,)*
                })
            }
        }
    )*};
}

/// Declares a parameter type that is a choice between named values.
///
/// ```
/// hardware::choice! {
///     /// Which warp the scheduler tries first.
///     pub enum Policy {
///         /// Greedy, then youngest.
///         Cggty = "cggty",
///         /// Greedy, then oldest.
///         Gto = "gto",
///     }
/// }
/// assert_eq!(Policy::Gto.name(), "gto");
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[doc = $about:literal])*
        $vis:vis enum $name:ident {
            $(#[doc = $first_doc:literal])*
            $first:ident = $first_text:literal
            $(,
                $(#[doc = $doc:literal])*
                $variant:ident = $text:literal
            )*
            $(,)?
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $name {
            $(#[doc = $first_doc])*
            #[doc = concat!("Written `", $first_text, "`.")]
            $first,
            $(
                $(#[doc = $doc])*
                #[doc = concat!("Written `", $text, "`.")]
                $variant,
            )*
        }

        impl $name {
            /// Every choice, in the order of the declaration.
            pub const ALL: &'static [Self] = &[Self::$first, $(Self::$variant,)*];

            /// The name that stands in a GPU document.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::$first => $first_text,
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl $crate::Parameter for $name {
            const KIND: &'static str = concat!("one of ", $first_text $(, ", ", $text)*);
            const DOMAIN: &'static str = concat!($first_text $(, ", ", $text)*);
            fn from_value(value: &$crate::Value) -> Result<Self, $crate::Mismatch> {
                match value {
                    $crate::Value::Text(text) => Self::ALL
                        .iter()
                        .copied()
                        .find(|choice| choice.name() == text)
                        .ok_or($crate::Mismatch::Range),
                    _ => Err($crate::Mismatch::Kind(Self::KIND)),
                }
            }
        }
    };
}
