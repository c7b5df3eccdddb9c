//! Typed arrays: what a buffer of a launch file holds, and its little-endian bytes.

use std::fmt;
use std::str::FromStr;

use half::f16;

/// A number of a launch file or a result, wide enough for every element type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number.
    Integer(i128),
    /// A floating-point number.
    Real(f64),
}

impl Number {
    /// The number as a double, rounded if it must be.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Real(value) => value,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(value) => value.fmt(formatter),
            Number::Real(value) => fmt::Debug::fmt(value, formatter),
        }
    }
}

/// The half nearest to a double. (The `half` crate rounds twice, by way of single precision, or drops
/// the lowest bits, depending on the machine.)
pub fn half_from_f64(value: f64) -> f16 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || !nearest.is_finite() {
        return f16::from_f32(nearest);
    }
    // Rounding to odd keeps the inexactness visible to the second rounding.
    let toward_zero = nearest.to_bits() - u32::from(back.abs() > value.abs());
    f16::from_f32(f32::from_bits(toward_zero | 1))
}

/// A name that is none of the element types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown element type `{0}`: expected i8, u8, i16, u16, i32, u32, i64, u64, f16, f32 or f64"
)]
pub struct UnknownElementType(pub String);

/// Bytes that are no whole number of elements.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{bytes} bytes are no whole number of {element} elements of {size} bytes")]
pub struct PartialElement {
    /// How many bytes there are.
    pub bytes: usize,
    /// The element type.
    pub element: ElementType,
    /// Its size in bytes.
    pub size: usize,
}

/// One declaration for everything that exists once per element type.
macro_rules! element_types {
    ($($variant:ident, $rust:ty, $name:literal, $number:ident;)*) => {
        /// The type of a buffer's elements.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ElementType {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl ElementType {
            /// Every element type.
            pub const ALL: &'static [ElementType] = &[$(ElementType::$variant),*];

            /// The name that launch files use.
            pub fn name(self) -> &'static str {
                match self {
                    $(ElementType::$variant => $name,)*
                }
            }

            /// Bytes per element.
            pub fn size(self) -> usize {
                match self {
                    $(ElementType::$variant => size_of::<$rust>(),)*
                }
            }
        }

        /// An array of one of the element types.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Values {
            $(#[doc = concat!("Elements of type `", $name, "`.")] $variant(Vec<$rust>),)*
        }

        impl Values {
            /// The type of the elements.
            pub fn element(&self) -> ElementType {
                match self {
                    $(Values::$variant(_) => ElementType::$variant,)*
                }
            }

            /// How many elements there are.
            pub fn len(&self) -> usize {
                match self {
                    $(Values::$variant(values) => values.len(),)*
                }
            }

            /// The element at `index`, if there is one.
            pub fn get(&self, index: usize) -> Option<Number> {
                match self {
                    $(Values::$variant(values) => {
                        values.get(index).map(|&value| number!($number, value))
                    })*
                }
            }

            /// The elements in memory order, little-endian.
            pub fn to_bytes(&self) -> Vec<u8> {
                match self {
                    $(Values::$variant(values) => {
                        values.iter().flat_map(|value| value.to_le_bytes()).collect()
                    })*
                }
            }

            /// Reads little-endian elements.
            pub fn from_bytes(element: ElementType, bytes: &[u8]) -> Result<Values, PartialElement> {
                let size = element.size();
                if !bytes.len().is_multiple_of(size) {
                    return Err(PartialElement { bytes: bytes.len(), element, size });
                }
                Ok(match element {
                    $(ElementType::$variant => {
                        let (elements, _) = bytes.as_chunks::<{ size_of::<$rust>() }>();
                        Values::$variant(
                            elements.iter().map(|&bytes| <$rust>::from_le_bytes(bytes)).collect(),
                        )
                    })*
                })
            }
        }
    };
}

macro_rules! number {
    (integer, $value:expr) => {
        Number::Integer(i128::from($value))
    };
    (real, $value:expr) => {
        Number::Real(f64::from($value))
    };
}

element_types! {
    I8, i8, "i8", integer;
    U8, u8, "u8", integer;
    I16, i16, "i16", integer;
    U16, u16, "u16", integer;
    I32, i32, "i32", integer;
    U32, u32, "u32", integer;
    I64, i64, "i64", integer;
    U64, u64, "u64", integer;
    F16, f16, "f16", real;
    F32, f32, "f32", real;
    F64, f64, "f64", real;
}

impl ElementType {
    /// Whether the elements are floating-point numbers.
    pub fn is_real(self) -> bool {
        matches!(self, ElementType::F16 | ElementType::F32 | ElementType::F64)
    }

    /// The least and the greatest integer of the type; `None` for floating-point types.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        let bits = 8 * self.size() as u32;
        match self {
            ElementType::I8 | ElementType::I16 | ElementType::I32 | ElementType::I64 => {
                Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
            }
            ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => {
                Some((0, (1 << bits) - 1))
            }
            ElementType::F16 | ElementType::F32 | ElementType::F64 => None,
        }
    }

    /// Appends one element to `bytes`: integers as given (their low bits), numbers for a
    /// floating-point type rounded to nearest. The caller has checked the range.
    pub(crate) fn write(self, number: Number, bytes: &mut Vec<u8>) {
        match (self, number) {
            (ElementType::F16, number) => {
                bytes.extend_from_slice(&half_from_f64(number.as_f64()).to_le_bytes());
            }
            (ElementType::F32, number) => {
                bytes.extend_from_slice(&(number.as_f64() as f32).to_le_bytes());
            }
            (ElementType::F64, number) => {
                bytes.extend_from_slice(&number.as_f64().to_le_bytes());
            }
            (_, Number::Integer(value)) => {
                bytes.extend_from_slice(&value.to_le_bytes()[..self.size()]);
            }
            (_, Number::Real(value)) => {
                bytes.extend_from_slice(&(value as i128).to_le_bytes()[..self.size()]);
            }
        }
    }

    /// Whether an element of this type can hold the number: integers by range (a real number only
    /// if it is whole), floating-point types always.
    pub fn holds(self, number: Number) -> bool {
        let Some((least, most)) = self.integer_range() else {
            return true;
        };
        match number {
            Number::Integer(value) => (least..=most).contains(&value),
            Number::Real(value) => {
                value.fract() == 0.0 && value >= least as f64 && value <= most as f64
            }
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for ElementType {
    type Err = UnknownElementType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        ElementType::ALL
            .iter()
            .copied()
            .find(|element| element.name() == name)
            .ok_or_else(|| UnknownElementType(name.to_owned()))
    }
}

impl Values {
    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip_for_every_type() {
        for &element in ElementType::ALL {
            let bytes: Vec<u8> = (0..4 * element.size() as u8).collect();
            let values = Values::from_bytes(element, &bytes).unwrap();
            assert_eq!(values.len(), 4);
            assert_eq!(values.element(), element);
            assert_eq!(values.to_bytes(), bytes);
            assert_eq!(element.name().parse(), Ok(element));
        }
    }

    #[test]
    fn halves_round_once() {
        // Just above the middle between 1 and the next half: single precision would lose that.
        let step = 1.0 / 1024.0;
        assert_eq!(
            half_from_f64(1.0 + step / 2.0 + 1e-12),
            f16::from_f32(1.0 + step as f32)
        );
        assert_eq!(half_from_f64(1.0 + step / 2.0 - 1e-12), f16::ONE);
        assert_eq!(half_from_f64(-(1.0 + step / 2.0)), f16::NEG_ONE);
        assert_eq!(half_from_f64(1e300), f16::INFINITY);
        assert_eq!(half_from_f64(1e-300), f16::ZERO);
        assert!(half_from_f64(f64::NAN).is_nan());
    }

    #[test]
    fn a_partial_element_is_an_error() {
        assert!(Values::from_bytes(ElementType::U32, &[0; 7]).is_err());
    }

    #[test]
    fn integers_hold_their_range_only() {
        assert!(ElementType::U8.holds(Number::Integer(255)));
        assert!(!ElementType::U8.holds(Number::Integer(256)));
        assert!(!ElementType::U8.holds(Number::Real(0.5)));
        assert!(ElementType::I8.holds(Number::Real(-128.0)));
        assert!(ElementType::U64.holds(Number::Integer(i128::from(u64::MAX))));
    }
}
