//! Levels of detail in fixed point with 8 fractional bits.

use super::sampler::{Filter, Sampler};

/// Fractional bits of a level of detail.
const FRACTION: u32 = 8;

/// A level of detail from a register, rounded to fixed point. No number is level 0.
pub(crate) fn explicit(level: f32) -> i64 {
    // Infinities saturate; no number becomes 0.
    (f64::from(level) * 256.0 + 0.5).floor() as i64
}

/// The level at which the longer of two steps of the screen, in texels of level 0, is one texel:
/// half the binary logarithm of its squared length.
pub(crate) fn of_steps(horizontal: [f64; 3], vertical: [f64; 3]) -> i64 {
    let square = |step: [f64; 3]| step.iter().map(|part| part * part).sum::<f64>();
    let longest = square(horizontal).max(square(vertical));
    if longest == 0.0 || longest.is_nan() {
        return i64::from(i32::MIN);
    }
    // To 9 fractional bits; half of it, then, to 10, two more than are kept. Ties up.
    let bits = logarithm(longest, FRACTION + 1);
    (bits + 2) >> 2
}

/// The binary logarithm with `fraction` bits behind the point, rounded down, by squaring: the same on
/// every machine.
fn logarithm(value: f64, fraction: u32) -> i64 {
    if value.is_infinite() {
        return i64::from(i32::MAX);
    }
    let (mut significand, exponent) = split(value);
    let mut bits = exponent;
    for _ in 0..fraction {
        significand *= significand;
        let carry = significand >= 2.0;
        if carry {
            significand /= 2.0;
        }
        bits = bits << 1 | i64::from(carry);
    }
    bits
}

/// A positive number as significand in [1, 2) and exponent.
fn split(value: f64) -> (f64, i64) {
    if value < f64::MIN_POSITIVE {
        let (significand, exponent) = split(value * 2f64.powi(64));
        return (significand, exponent - 64);
    }
    let bits = value.to_bits();
    let exponent = (bits >> 52) as i64 - 1023;
    (
        f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52),
        exponent,
    )
}

/// One or two levels: the first, and the weight in 256ths of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Levels {
    pub(crate) first: u32,
    pub(crate) next_weight: u64,
}

/// The levels that a level of detail takes its texels from.
pub(crate) fn choose(level: i64, sampler: &Sampler, levels: u32) -> Levels {
    let level = level
        .saturating_add(explicit(sampler.level_bias))
        .min(explicit(sampler.level_range[1]))
        .max(explicit(sampler.level_range[0]))
        .clamp(0, i64::from(levels - 1) << FRACTION);
    match sampler.level_filter {
        Filter::Point => Levels {
            first: ((level + 128) >> FRACTION) as u32,
            next_weight: 0,
        },
        Filter::Linear => Levels {
            first: (level >> FRACTION) as u32,
            next_weight: (level & 255) as u64,
        },
    }
}
