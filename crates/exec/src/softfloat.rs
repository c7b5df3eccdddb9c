//! Double-precision arithmetic in the rounding directions that the host does not offer, in integers.
//! Rare (slow paths of square root and division), so written for clarity.

use crate::rounding::{DOUBLE_NAN, Rounding};

/// A finite number: sign, exponent of the lowest bit, significand.
#[derive(Clone, Copy)]
struct Parts {
    negative: bool,
    exponent: i32,
    significand: u64,
}

fn parts(value: f64) -> Parts {
    let bits = value.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    Parts {
        negative: bits >> 63 == 1,
        exponent: exponent.max(1) - 1075,
        significand: if exponent == 0 {
            fraction
        } else {
            fraction | 1 << 52
        },
    }
}

/// Rounds sign · magnitude · 2^exponent, of which `sticky` says that there is more below.
fn round(negative: bool, magnitude: u128, exponent: i32, sticky: bool, rounding: Rounding) -> f64 {
    let sign = (negative as u64) << 63;
    if magnitude == 0 {
        return f64::from_bits(sign);
    }
    let width = 128 - magnitude.leading_zeros() as i32;
    // The result keeps 53 bits, or fewer where it would be denormal.
    let lowest = (exponent + width - 53).max(-1074);
    let drop = lowest - exponent;
    let (kept, half, rest) = if drop <= 0 {
        ((magnitude << -drop) as u64, false, sticky)
    } else if drop > 127 {
        (0, false, true)
    } else {
        let kept = (magnitude >> drop) as u64;
        let half = magnitude >> (drop - 1) & 1 == 1;
        let rest = magnitude & ((1u128 << (drop - 1)) - 1) != 0 || sticky;
        (kept, half, rest)
    };
    let inexact = half || rest;
    let up = match rounding {
        Rounding::Nearest => half && (rest || kept & 1 == 1),
        Rounding::Down => negative && inexact,
        Rounding::Up => !negative && inexact,
        Rounding::Zero => false,
    };
    let kept = kept + up as u64;
    // `lowest` is -1074 for denormals and the first binade alike; a carry moves into the exponent.
    let biased = if kept >> 52 == 0 {
        0
    } else {
        (lowest + 1075) as u64
    };
    let bits = if biased == 0 {
        kept
    } else {
        ((biased - 1) << 52) + kept
    };
    const INFINITY: u64 = 0x7ff << 52;
    if bits >= INFINITY {
        let to_infinity = match rounding {
            Rounding::Nearest => true,
            Rounding::Down => negative,
            Rounding::Up => !negative,
            Rounding::Zero => false,
        };
        return f64::from_bits(sign | if to_infinity { INFINITY } else { INFINITY - 1 });
    }
    f64::from_bits(sign | bits)
}

/// An integer of sign and magnitude in any direction.
#[inline]
pub(crate) fn from_integer(negative: bool, magnitude: u64, rounding: Rounding) -> f64 {
    if magnitude == 0 {
        return 0.0;
    }
    round(negative, u128::from(magnitude), 0, false, rounding)
}

/// a · b in any direction.
#[inline(never)]
pub(crate) fn multiply(a: f64, b: f64, rounding: Rounding) -> f64 {
    let plain = a * b;
    if plain.is_nan() {
        return f64::from_bits(DOUBLE_NAN);
    }
    if !a.is_finite() || !b.is_finite() || a == 0.0 || b == 0.0 {
        return plain;
    }
    let (x, y) = (parts(a), parts(b));
    let magnitude = u128::from(x.significand) * u128::from(y.significand);
    round(
        x.negative != y.negative,
        magnitude,
        x.exponent + y.exponent,
        false,
        rounding,
    )
}

/// a · b + c in any direction, rounded once.
#[inline(never)]
pub(crate) fn multiply_add(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    if !a.is_finite() || !b.is_finite() || !c.is_finite() {
        let plain = a * b + c;
        // An overflow of finite factors is no infinity: only c decides then.
        if a.is_finite() && b.is_finite() && !c.is_nan() {
            return c;
        }
        return if plain.is_nan() {
            f64::from_bits(DOUBLE_NAN)
        } else {
            plain
        };
    }
    let (x, y, z) = (parts(a), parts(b), parts(c));
    let product_negative = x.negative != y.negative;
    let product = u128::from(x.significand) * u128::from(y.significand);
    if product == 0 && z.significand == 0 {
        let negative = if product_negative == z.negative {
            z.negative
        } else {
            rounding == Rounding::Down
        };
        return if negative { -0.0 } else { 0.0 };
    }
    if product == 0 {
        return c;
    }
    let product_exponent = x.exponent + y.exponent;
    if z.significand == 0 {
        return round(product_negative, product, product_exponent, false, rounding);
    }
    // Both into 127 bits with room for a carry: the larger one is shifted up as far as it goes, the
    // smaller one down to the same exponent, with what falls off kept as one sticky bit.
    let addend = u128::from(z.significand);
    let top = |m: u128, e: i32| e + 128 - m.leading_zeros() as i32;
    let (big, small) = if top(product, product_exponent) >= top(addend, z.exponent) {
        (
            (product, product_exponent, product_negative),
            (addend, z.exponent, z.negative),
        )
    } else {
        (
            (addend, z.exponent, z.negative),
            (product, product_exponent, product_negative),
        )
    };
    let up = big.0.leading_zeros() as i32 - 2;
    let magnitude = big.0 << up;
    let exponent = big.1 - up;
    let shift = exponent - small.1;
    let (aligned, lost) = if shift <= 0 {
        // The small one's lowest bit lies above: its top is no higher than the big one's.
        (small.0 << -shift, false)
    } else if shift > 127 {
        (0, true)
    } else {
        (small.0 >> shift, small.0 & ((1u128 << shift) - 1) != 0)
    };
    let (negative, sum) = if big.2 == small.2 {
        (big.2, magnitude + aligned)
    } else if magnitude >= aligned {
        // What was lost is subtracted too: one less, and the sticky bit stands for the rest.
        (big.2, magnitude - aligned - lost as u128)
    } else {
        (small.2, aligned - magnitude)
    };
    if sum == 0 && !lost {
        return if rounding == Rounding::Down {
            -0.0
        } else {
            0.0
        };
    }
    round(negative, sum, exponent, lost, rounding)
}
