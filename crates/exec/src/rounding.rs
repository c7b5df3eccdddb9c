//! Rounding of floating-point results exactly as the machine does: all four directions, from an
//! intermediate in double precision that was rounded to odd and so still tells which side of every
//! shorter number the exact result lies on (Boldo and Melquiond, "Emulation of FMA and correctly
//! rounded sums: proved algorithms using rounding to odd").

/// Rounding direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    #[default]
    Nearest,
    /// Towards minus infinity (`.RM`).
    Down,
    /// Towards plus infinity (`.RP`).
    Up,
    /// Towards zero (`.RZ`).
    Zero,
}

/// A number format by its fraction and exponent bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    fraction: u32,
    exponent: u32,
}

/// Single precision.
pub(crate) const SINGLE: Format = Format {
    fraction: 23,
    exponent: 8,
};
/// Half precision.
pub(crate) const HALF: Format = Format {
    fraction: 10,
    exponent: 5,
};
/// Brain float.
pub(crate) const BRAIN: Format = Format {
    fraction: 7,
    exponent: 8,
};

/// TF32 without the thirteen bits below it.
pub(crate) const TENSOR: Format = Format {
    fraction: 10,
    exponent: 8,
};
/// Eight bits with five of exponent; E4M3 is rounded through it (`narrow_e4m3`).
pub(crate) const E5M2: Format = Format {
    fraction: 2,
    exponent: 5,
};
/// As many fraction bits as E4M3 with one more of exponent.
const E5M3: Format = Format {
    fraction: 3,
    exponent: 5,
};

/// NaN as eight-bit results have it.
pub(crate) const QUARTER_NAN: u32 = 0x7f;
/// NaN as single-precision results have it.
pub(crate) const NAN: u32 = 0x7fff_ffff;
/// NaN as half-precision and brain-float results have it.
pub(crate) const HALF_NAN: u32 = 0x7fff;
/// NaN as double-precision results have it.
pub(crate) const DOUBLE_NAN: u64 = 0xfff8_0000_0000_0000;

/// The bits of `value` rounded to a shorter format; NaN becomes the canonical one.
#[inline(always)]
pub(crate) fn narrow(value: f64, format: Format, rounding: Rounding) -> u32 {
    let bits = value.to_bits();
    let negative = bits >> 63 == 1;
    let sign = (negative as u64) << (format.fraction + format.exponent);
    let infinity = ((1u64 << format.exponent) - 1) << format.fraction;
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0x7ff {
        // All bits but the sign.
        let nan = (1u64 << (format.fraction + format.exponent)) - 1;
        return if fraction != 0 {
            nan as u32
        } else {
            (sign | infinity) as u32
        };
    }
    let (significand, exponent) = if exponent == 0 {
        (fraction, -1022)
    } else {
        (fraction | 1 << 52, exponent - 1023)
    };
    let bias = (1 << (format.exponent - 1)) - 1;
    let least = 1 - bias;
    let below = (least - exponent).max(0) as u32;
    let drop = (52 - format.fraction + below).min(63);
    let kept = significand >> drop;
    let rest = significand & ((1 << drop) - 1);
    let half = 1u64 << (drop - 1);
    let up = match rounding {
        Rounding::Nearest => rest > half || rest == half && kept & 1 == 1,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
        Rounding::Zero => false,
    };
    let kept = kept + up as u64;
    let mut result = if below > 0 {
        kept
    } else {
        (((exponent + bias) as u64 - 1) << format.fraction) + kept
    };
    if result >= infinity {
        let to_infinity = match rounding {
            Rounding::Nearest => true,
            Rounding::Down => negative,
            Rounding::Up => !negative,
            Rounding::Zero => false,
        };
        result = if to_infinity { infinity } else { infinity - 1 };
    }
    (sign | result) as u32
}

/// The bits of a number rounded to E4M3, which has no infinity: magnitudes above 0x7e are too large.
#[inline(always)]
pub(crate) fn narrow_e4m3(value: f64, rounding: Rounding) -> u32 {
    // 2^-8 times as large, the exponent field of the wider format is E4M3's own.
    let wide = narrow(value * (1.0 / 256.0), E5M3, rounding);
    (wide & 0xff).min(0x7f) | (wide & 0x100) >> 1
}

/// An E4M3 number.
#[inline(always)]
pub(crate) fn e4m3_to_f32(byte: u32) -> f32 {
    let magnitude = byte & 0x7f;
    if magnitude == 0x7f {
        return f32::NAN;
    }
    // Exponent and fraction where a single has them, times the difference of the biases, 2^120.
    let value = f32::from_bits(magnitude << 20) * f32::from_bits(0x7b80_0000);
    f32::from_bits(value.to_bits() | (byte & 0x80) << 24)
}

/// The exact sum of two numbers rounded to odd in double precision: if it is not exact, its last bit
/// is one.
#[inline(always)]
pub(crate) fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    let bits = sum.to_bits();
    // An infinite or NaN sum has a NaN error, which is neither above nor below zero.
    #[allow(clippy::double_comparisons)] // false for NaN
    let adjust = (error > 0.0 || error < 0.0) && bits & 1 == 0;
    let away = (error > 0.0) == (bits >> 63 == 0);
    let step = if away {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    f64::from_bits(if adjust { step } else { bits })
}

/// Fused multiply-add in single precision without a fused instruction: the product of two singles
/// is exact in double precision.
#[inline(always)]
pub(crate) fn fused(a: f32, b: f32, c: f32) -> f32 {
    add_to_odd(f64::from(a) * f64::from(b), f64::from(c)) as f32
}

/// p + c rounded to a shorter format in any direction; p and c must be exact.
#[inline(always)]
pub(crate) fn sum(p: f64, c: f64, format: Format, rounding: Rounding) -> u32 {
    let sum = add_to_odd(p, c);
    if sum == 0.0 && rounding == Rounding::Down {
        // Terms that cancel give minus zero when rounding down.
        let positive = p.is_sign_positive() && c.is_sign_positive();
        return (!positive as u32) << (format.fraction + format.exponent);
    }
    narrow(sum, format, rounding)
}

/// A half-precision number.
#[inline(always)]
pub(crate) fn half_to_f32(bits: u32) -> f32 {
    let sign = (bits & 0x8000) << 16;
    let magnitude = bits & 0x7fff;
    // Numbers and denormals by a multiplication, which is exact; infinities and NaN apart.
    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
    let special = (magnitude << 13) | 0x7f80_0000;
    let value = if magnitude >= 0x7c00 {
        special
    } else {
        scaled.to_bits()
    };
    f32::from_bits(value | sign)
}

/// A brain float.
#[inline(always)]
pub(crate) fn brain_to_f32(bits: u32) -> f32 {
    f32::from_bits(bits << 16)
}

/// A single rounded to half precision, to nearest.
#[inline(always)]
pub(crate) fn f32_to_half(value: f32) -> u32 {
    let bits = value.to_bits();
    let sign = bits >> 16 & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let rounded = if magnitude > 0x7f80_0000 {
        return HALF_NAN;
    } else if magnitude >= 0x4780_0000 {
        0x7c00
    } else if magnitude < 0x3880_0000 {
        // Below the least normal half: adding 0.5 leaves the rounded fraction in the low bits.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000
    } else {
        let odd = magnitude >> 13 & 1;
        (magnitude - 0x3800_0000 + 0xfff + odd) >> 13
    };
    sign | rounded
}

/// A single rounded to a brain float, to nearest.
#[inline(always)]
pub(crate) fn f32_to_brain(value: f32) -> u32 {
    let bits = value.to_bits();
    if value.is_nan() {
        return HALF_NAN;
    }
    let odd = bits >> 16 & 1;
    (bits + 0x7fff + odd) >> 16
}

/// Denormals become zero of their sign.
#[inline(always)]
pub(crate) fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// The bits of a result; NaN becomes the canonical one.
#[inline(always)]
pub(crate) fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// Clamps to [0, 1]; NaN becomes zero.
#[inline(always)]
pub(crate) fn saturate(bits: u32) -> u32 {
    let value = f32::from_bits(bits);
    if value > 0.0 {
        if value < 1.0 { bits } else { 0x3f80_0000 }
    } else {
        0
    }
}
