//! Comparison of a result with what the reference expects.

use crate::values::{ElementType, Number, Values};

/// How far a floating-point result may lie from the expected one. Zero in both means equal bits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tolerance {
    /// Allowed absolute difference.
    pub absolute: f64,
    /// Allowed difference relative to the expected value, added to the absolute one.
    pub relative: f64,
    /// Allowed difference in units in the last place: steps between numbers of the type. Zeros of
    /// both signs are one number, infinity is one step above the largest.
    pub ulps: u64,
}

impl Tolerance {
    /// Equal bits.
    pub const EXACT: Tolerance = Tolerance {
        absolute: 0.0,
        relative: 0.0,
        ulps: 0,
    };
}

/// One element that differs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mismatch {
    /// Index of the element.
    pub index: usize,
    /// What the run left there.
    pub got: Number,
    /// What the reference expects.
    pub expected: Number,
}

/// The outcome of a comparison of two arrays of one type and length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// How many elements were compared.
    pub elements: usize,
    /// How many of them differ.
    pub mismatches: usize,
    /// The first few that differ, at most [`Comparison::SHOWN`].
    pub first: Vec<Mismatch>,
    /// The largest absolute difference of floating-point elements, whether allowed or not.
    pub largest_difference: f64,
}

impl Comparison {
    /// How many mismatches are told one by one.
    pub const SHOWN: usize = 8;

    /// Whether no element differs.
    pub fn passed(&self) -> bool {
        self.mismatches == 0
    }
}

/// Two arrays that cannot be compared element by element.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// The element types differ.
    #[error("the buffer holds {got} elements, the expected values are {expected}")]
    Type {
        /// Type of the result.
        got: ElementType,
        /// Type of the expectation.
        expected: ElementType,
    },
    /// The lengths differ.
    #[error("the buffer holds {got} elements, {expected} values are expected")]
    Length {
        /// Length of the result.
        got: usize,
        /// Length of the expectation.
        expected: usize,
    },
}

/// Compares a result with its expectation. Integers must be equal; floating-point elements must have
/// equal bits, or under a tolerance both be NaN, or differ by at most
/// `absolute + relative * |expected|` or by at most `ulps` steps.
pub fn compare(
    got: &Values,
    expected: &Values,
    tolerance: Tolerance,
) -> Result<Comparison, CompareError> {
    if got.element() != expected.element() {
        return Err(CompareError::Type {
            got: got.element(),
            expected: expected.element(),
        });
    }
    if got.len() != expected.len() {
        return Err(CompareError::Length {
            got: got.len(),
            expected: expected.len(),
        });
    }
    let exact = |bits_equal: bool, _: f64, _: f64, _: u64| bits_equal;
    let within = |bits_equal: bool, got: f64, expected: f64, steps: u64| {
        bits_equal
            || (got.is_nan() && expected.is_nan())
            || (got - expected).abs() <= tolerance.absolute + tolerance.relative * expected.abs()
            || (!got.is_nan() && !expected.is_nan() && steps <= tolerance.ulps)
    };
    Ok(if tolerance == Tolerance::EXACT {
        walk(got, expected, exact)
    } else {
        walk(got, expected, within)
    })
}

/// A float's place among the numbers of its type, from its sign and the rest of its bits.
fn place(negative: bool, magnitude: u64) -> i128 {
    if negative {
        -i128::from(magnitude)
    } else {
        i128::from(magnitude)
    }
}

/// Compares element by element, with `agrees` given whether the bits are equal, both values and the
/// number of steps between them.
fn walk(
    got: &Values,
    expected: &Values,
    agrees: impl Fn(bool, f64, f64, u64) -> bool,
) -> Comparison {
    let mut comparison = Comparison {
        elements: got.len(),
        ..Comparison::default()
    };
    macro_rules! integers {
        ($got:expr, $expected:expr) => {
            for (index, (got, expected)) in $got.iter().zip($expected).enumerate() {
                if got != expected {
                    comparison.note(
                        index,
                        Number::Integer((*got).into()),
                        Number::Integer((*expected).into()),
                    );
                }
            }
        };
    }
    macro_rules! reals {
        ($got:expr, $expected:expr) => {
            for (index, (got, expected)) in $got.iter().zip($expected).enumerate() {
                let bits_equal = got.to_bits() == expected.to_bits();
                let at = [got, expected].map(|number| {
                    let negative = number.is_sign_negative();
                    let clear = if negative { -*number } else { *number };
                    place(negative, u64::from(clear.to_bits()))
                });
                let steps = at[0].abs_diff(at[1]) as u64;
                let (got, expected) = (f64::from(*got), f64::from(*expected));
                let difference = (got - expected).abs();
                if !bits_equal && difference > comparison.largest_difference {
                    comparison.largest_difference = difference;
                }
                if !agrees(bits_equal, got, expected, steps) {
                    comparison.note(index, Number::Real(got), Number::Real(expected));
                }
            }
        };
    }
    match (got, expected) {
        (Values::I8(got), Values::I8(expected)) => integers!(got, expected),
        (Values::U8(got), Values::U8(expected)) => integers!(got, expected),
        (Values::I16(got), Values::I16(expected)) => integers!(got, expected),
        (Values::U16(got), Values::U16(expected)) => integers!(got, expected),
        (Values::I32(got), Values::I32(expected)) => integers!(got, expected),
        (Values::U32(got), Values::U32(expected)) => integers!(got, expected),
        (Values::I64(got), Values::I64(expected)) => integers!(got, expected),
        (Values::U64(got), Values::U64(expected)) => integers!(got, expected),
        (Values::F16(got), Values::F16(expected)) => reals!(got, expected),
        (Values::F32(got), Values::F32(expected)) => reals!(got, expected),
        (Values::F64(got), Values::F64(expected)) => reals!(got, expected),
        // The caller has checked that the types agree.
        _ => comparison.mismatches = got.len(),
    }
    comparison
}

impl Comparison {
    fn note(&mut self, index: usize, got: Number, expected: Number) {
        self.mismatches += 1;
        if self.first.len() < Comparison::SHOWN {
            self.first.push(Mismatch {
                index,
                got,
                expected,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bits_pass_and_signed_zeros_differ() {
        let zero = Values::F32(vec![0.0, f32::NAN]);
        assert!(
            compare(&zero, &zero.clone(), Tolerance::EXACT)
                .unwrap()
                .passed()
        );
        let negative = Values::F32(vec![-0.0, f32::NAN]);
        assert_eq!(
            compare(&zero, &negative, Tolerance::EXACT)
                .unwrap()
                .mismatches,
            1
        );
    }

    #[test]
    fn tolerances_add() {
        let got = Values::F64(vec![1.05, 10.1]);
        let expected = Values::F64(vec![1.0, 10.0]);
        let loose = Tolerance {
            absolute: 0.04,
            relative: 0.02,
            ..Tolerance::EXACT
        };
        assert!(compare(&got, &expected, loose).unwrap().passed());
        let tight = Tolerance {
            absolute: 0.04,
            ..Tolerance::EXACT
        };
        let comparison = compare(&got, &expected, tight).unwrap();
        assert_eq!(comparison.mismatches, 2);
        assert_eq!(comparison.first[0].index, 0);
        assert!(comparison.largest_difference > 0.09);
    }

    #[test]
    fn units_in_the_last_place_are_steps_between_numbers() {
        let steps = |ulps: u64| Tolerance {
            ulps,
            ..Tolerance::EXACT
        };
        let passes = |got: f32, expected: f32, ulps: u64| {
            let (got, expected) = (Values::F32(vec![got]), Values::F32(vec![expected]));
            compare(&got, &expected, steps(ulps)).unwrap().passed()
        };
        let next = f32::from_bits(0x3f80_0002);
        assert!(passes(next, 1.0, 2) && !passes(next, 1.0, 1));
        // Across zero and to infinity.
        let tiny = f32::from_bits(1);
        assert!(passes(tiny, -tiny, 2) && !passes(tiny, -tiny, 1));
        assert!(passes(f32::INFINITY, f32::MAX, 1));
        assert!(passes(f32::NAN, f32::NAN, 1) && !passes(f32::NAN, f32::INFINITY, 1 << 40));
        assert!(!passes(-0.0, 0.0, 0) && passes(-0.0, 0.0, 1));
        let (got, expected) = (Values::F64(vec![1.0]), Values::F64(vec![-1.0]));
        assert!(!compare(&got, &expected, steps(1 << 60)).unwrap().passed());
    }

    #[test]
    fn only_the_first_mismatches_are_kept() {
        let got = Values::U32(vec![1; 100]);
        let expected = Values::U32(vec![2; 100]);
        let comparison = compare(&got, &expected, Tolerance::EXACT).unwrap();
        assert_eq!(
            (comparison.mismatches, comparison.first.len()),
            (100, Comparison::SHOWN)
        );
        assert!(compare(&got, &Values::U32(vec![]), Tolerance::EXACT).is_err());
        assert!(compare(&got, &Values::I32(vec![1; 100]), Tolerance::EXACT).is_err());
    }
}
