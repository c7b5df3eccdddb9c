//! Conversions between number types.

use sass::{Modifier, Opcode, Select};

use crate::lanes::Lanes;
use crate::lower::{Lowered, Reader, Signs, refuse};
use crate::micro::{Operand, Wide};
use crate::rounding::{
    BRAIN, DOUBLE_NAN, HALF, Rounding, SINGLE, brain_to_f32, canonical, flush, half_to_f32, narrow,
};
use crate::softfloat;
use crate::warp::Warp;

/// A floating-point type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Float {
    Half,
    Brain,
    Single,
    Double,
}

/// An integer type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Integer {
    pub(crate) bits: u8,
    pub(crate) signed: bool,
}

/// A source of 32 or 64 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Word(Operand),
    Pair(Wide),
}

/// Lowered conversions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Float to float.
    Float {
        row: u16,
        a: Source,
        signs: Signs,
        shift: u8,
        from: Float,
        to: Float,
        rounding: Rounding,
        ftz: bool,
    },
    /// Float to integral float.
    Integral {
        row: u16,
        a: Source,
        signs: Signs,
        shift: u8,
        kind: Float,
        rounding: Rounding,
        ftz: bool,
    },
    /// Float to integer, saturating.
    ToInteger {
        row: u16,
        a: Source,
        signs: Signs,
        shift: u8,
        from: Float,
        to: Integer,
        rounding: Rounding,
        ftz: bool,
        /// NaN becomes zero (`.NTZ`), else the topmost bit of the type alone (PTX ISA, `cvt`).
        nan_zero: bool,
    },
    /// Integer to float. `shift` selects a byte or half of the source.
    FromInteger {
        row: u16,
        a: Source,
        from: Integer,
        shift: u8,
        to: Float,
        rounding: Rounding,
    },
}

fn float_of(modifier: Modifier) -> Option<Float> {
    match modifier {
        Modifier::F16 => Some(Float::Half),
        Modifier::BF16 => Some(Float::Brain),
        Modifier::F32 => Some(Float::Single),
        Modifier::F64 => Some(Float::Double),
        _ => None,
    }
}

fn integer_of(modifier: Modifier) -> Option<Integer> {
    use Modifier::*;
    let (bits, signed) = match modifier {
        U8 => (8, false),
        U16 => (16, false),
        U32 => (32, false),
        U64 => (64, false),
        S8 => (8, true),
        S16 => (16, true),
        S32 => (32, true),
        S64 => (64, true),
        _ => return None,
    };
    Some(Integer { bits, signed })
}

/// Direction of rounding to an integer.
pub(crate) fn integral(r: &Reader<'_>) -> Rounding {
    r.choose(
        &[
            (Modifier::FLOOR, Rounding::Down),
            (Modifier::CEIL, Rounding::Up),
            (Modifier::TRUNC, Rounding::Zero),
        ],
        Rounding::Nearest,
    )
}

/// A float source and where its low bit stands.
fn source(r: &mut Reader<'_>, from: Float) -> Lowered<(Source, Signs, u8)> {
    if from == Float::Double {
        let (wide, adjust) = r.wide_source(true)?;
        return Ok((Source::Pair(wide), Signs::default().with(0, adjust), 0));
    }
    let (word, adjust, select) = r.source()?;
    let short = matches!(from, Float::Half | Float::Brain);
    let shift = match select {
        Select::None | Select::H0 | Select::H0H0 => 0,
        Select::H1 | Select::H1H1 if short => 16,
        _ => return refuse("a suffix of a float source"),
    };
    Ok((Source::Word(word), Signs::default().with(0, adjust), shift))
}

/// The float type of a source or result that is a single unless named.
fn float_type(r: &Reader<'_>) -> Float {
    let types = [
        (Modifier::F16, Float::Half),
        (Modifier::BF16, Float::Brain),
        (Modifier::F64, Float::Double),
    ];
    r.choose(&types, Float::Single)
}

/// Lowers a conversion.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let ftz = r.has(FTZ);
    Ok(match opcode {
        Opcode::F2F => {
            r.only(&[FTZ, F16, BF16, F32, F64, RM, RP, RZ])?;
            let types: Vec<Float> = r
                .instruction
                .modifiers
                .iter()
                .filter_map(|&m| float_of(m))
                .collect();
            let [to, from] = types[..] else {
                return refuse("F2F without two types");
            };
            let rounding = super::float::rounding(r);
            let row = r.destination(if to == Float::Double { 2 } else { 1 })?;
            let (a, signs, shift) = source(r, from)?;
            Op::Float {
                row,
                a,
                signs,
                shift,
                from,
                to,
                rounding,
                ftz,
            }
        }
        Opcode::FRND => {
            r.only(&[FTZ, F16, BF16, F64, FLOOR, CEIL, TRUNC])?;
            let kind = float_type(r);
            let pair = kind == Float::Double;
            let row = r.destination(if pair { 2 } else { 1 })?;
            let (a, signs, shift) = source(r, kind)?;
            Op::Integral {
                row,
                a,
                signs,
                shift,
                kind,
                rounding: integral(r),
                ftz,
            }
        }
        Opcode::F2I => {
            r.only(&[
                FTZ, U8, U16, U32, U64, S8, S16, S32, S64, F16, BF16, F64, FLOOR, CEIL, TRUNC, NTZ,
            ])?;
            let to = r
                .instruction
                .modifiers
                .iter()
                .find_map(|&m| integer_of(m))
                .unwrap_or(Integer {
                    bits: 32,
                    signed: true,
                });
            let from = float_type(r);
            let row = r.destination(if to.bits == 64 { 2 } else { 1 })?;
            let (a, signs, shift) = source(r, from)?;
            Op::ToInteger {
                row,
                a,
                signs,
                shift,
                from,
                to,
                rounding: integral(r),
                ftz,
                nan_zero: r.has(NTZ),
            }
        }
        Opcode::I2F | Opcode::I2FP => {
            r.only(&[
                F16, BF16, F32, F64, U8, U16, U32, U64, S8, S16, S32, S64, RM, RP, RZ,
            ])?;
            let from = r
                .instruction
                .modifiers
                .iter()
                .find_map(|&m| integer_of(m))
                .unwrap_or(Integer {
                    bits: 32,
                    signed: true,
                });
            let to = float_type(r);
            let rounding = super::float::rounding(r);
            let row = r.destination(if to == Float::Double { 2 } else { 1 })?;
            let (a, select) = if from.bits == 64 {
                (Source::Pair(r.wide_source(false)?.0), Select::None)
            } else {
                let (word, adjust, select) = r.source()?;
                if adjust != sass::Adjust::default() {
                    return refuse("a sign of an integer source");
                }
                (Source::Word(word), select)
            };
            let shift = match select {
                Select::None | Select::B0 | Select::H0 => 0,
                Select::B1 => 8,
                Select::B2 | Select::H1 => 16,
                Select::B3 => 24,
                _ => return refuse("a suffix of an integer source"),
            };
            Op::FromInteger {
                row,
                a,
                from,
                shift,
                to,
                rounding,
            }
        }
        other => return refuse(format!("{} is not a conversion", other.text())),
    })
}

/// A 16-bit source with its signs.
#[inline(always)]
fn short(bits: u32, signs: Signs) -> u32 {
    let keep = !(!signs.keep(0) >> 16);
    bits & 0xffff & keep ^ signs.flip(0) >> 16
}

/// The source of one lane in double precision, which holds every value of the other types.
#[inline(always)]
fn value(low: u32, high: u32, signs: Signs, from: Float, ftz: bool) -> f64 {
    match from {
        Float::Half => f64::from(half_to_f32(short(low, signs))),
        Float::Brain => f64::from(brain_to_f32(short(low, signs))),
        Float::Single => {
            let bits = signs.apply(0, low);
            f64::from(f32::from_bits(if ftz { flush(bits) } else { bits }))
        }
        Float::Double => f64::from_bits(u64::from(signs.apply(0, high)) << 32 | u64::from(low)),
    }
}

/// Rounds to an integral value.
#[inline(always)]
fn to_integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
        Rounding::Zero => value.trunc(),
    }
}

/// Rounds to an integer of a type, saturating.
#[inline(always)]
pub(crate) fn to_integer(value: f64, to: Integer, rounding: Rounding, nan_zero: bool) -> u64 {
    if value.is_nan() && !nan_zero {
        let unused = 64 - u32::from(to.bits);
        let top = 1u64 << 63;
        return if to.signed {
            (top as i64 >> unused) as u64
        } else {
            top >> unused
        };
    }
    // Rust's conversion saturates and makes NaN zero, as the machine does.
    let value = to_integral(value, rounding);
    match (to.bits, to.signed) {
        (8, true) => value as i8 as u64,
        (8, false) => value as u8 as u64,
        (16, true) => value as i16 as u64,
        (16, false) => value as u16 as u64,
        (32, true) => value as i32 as u64,
        (32, false) => value as u32 as u64,
        (_, true) => value as i64 as u64,
        (_, false) => value as u64,
    }
}

/// A float's bits from sign and magnitude of an integer.
#[inline(always)]
fn from_integer(negative: bool, magnitude: u64, to: Float, rounding: Rounding) -> u64 {
    let (format, direction) = match to {
        Float::Double => {
            return softfloat::from_integer(negative, magnitude, rounding).to_bits();
        }
        Float::Single => (SINGLE, rounding),
        Float::Half => (HALF, rounding),
        Float::Brain => (BRAIN, rounding),
    };
    // To odd in 53 bits, so that the second rounding sees what was lost.
    let excess = 11u32.saturating_sub(magnitude.leading_zeros());
    let lost = magnitude & ((1 << excess) - 1) != 0;
    let odd = (magnitude >> excess | lost as u64) << excess;
    let wide = if negative { -(odd as f64) } else { odd as f64 };
    u64::from(narrow(wide, format, direction))
}

#[inline(always)]
fn fetch(warp: &Warp, source: Source) -> (Lanes, Lanes) {
    match source {
        Source::Word(operand) => (warp.fetch(operand), Lanes::ZERO),
        Source::Pair(wide) => warp.fetch_wide(wide),
    }
}

#[inline(always)]
fn write(warp: &mut Warp, mask: u32, row: u16, pair: bool, bits: impl Fn(usize) -> u64) {
    let mut low = Lanes::ZERO;
    let mut high = Lanes::ZERO;
    let mut lane = 0;
    while lane < 32 {
        let bits = bits(lane);
        low[lane] = bits as u32;
        high[lane] = (bits >> 32) as u32;
        lane += 1;
    }
    warp.write(row, &low, mask);
    if pair {
        warp.write(row + 1, &high, mask);
    }
}

/// Bits of a value in a float type.
#[inline(always)]
fn encode(value: f64, to: Float, rounding: Rounding, ftz: bool) -> u64 {
    match to {
        Float::Half => u64::from(narrow(value, HALF, rounding)),
        Float::Brain => u64::from(narrow(value, BRAIN, rounding)),
        Float::Single => {
            let bits = narrow(value, SINGLE, rounding);
            u64::from(if ftz { flush(bits) } else { bits })
        }
        Float::Double if value.is_nan() => DOUBLE_NAN,
        Float::Double => value.to_bits(),
    }
}

/// Executes a conversion in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    match *op {
        Op::Float {
            row,
            a,
            signs,
            shift,
            from,
            to,
            rounding,
            ftz,
        } => {
            let (low, high) = fetch(warp, a);
            write(warp, mask, row, to == Float::Double, |lane| {
                encode(
                    value(low[lane] >> shift, high[lane], signs, from, ftz),
                    to,
                    rounding,
                    ftz,
                )
            });
        }
        Op::Integral {
            row,
            a,
            signs,
            shift,
            kind,
            rounding,
            ftz,
        } => {
            let (low, high) = fetch(warp, a);
            write(warp, mask, row, kind == Float::Double, |lane| {
                let value = value(low[lane] >> shift, high[lane], signs, kind, ftz);
                encode(to_integral(value, rounding), kind, Rounding::Nearest, ftz)
            });
        }
        Op::ToInteger {
            row,
            a,
            signs,
            shift,
            from,
            to,
            rounding,
            ftz,
            nan_zero,
        } => {
            let (low, high) = fetch(warp, a);
            write(warp, mask, row, to.bits == 64, |lane| {
                let value = value(low[lane] >> shift, high[lane], signs, from, ftz);
                to_integer(value, to, rounding, nan_zero)
            });
        }
        Op::FromInteger {
            row,
            a,
            from,
            shift,
            to,
            rounding,
        } => {
            let (low, high) = fetch(warp, a);
            if to == Float::Single && from.bits <= 32 && rounding == Rounding::Nearest {
                // The host rounds 32-bit integers to nearest as well.
                let unused = 32 - u32::from(from.bits);
                let result = Lanes::from_fn(|lane| {
                    let word = (low[lane] >> shift) << unused;
                    let value = if from.signed {
                        (word as i32 >> unused) as f32
                    } else {
                        (word >> unused) as f32
                    };
                    canonical(value)
                });
                warp.write(row, &result, mask);
                return;
            }
            write(warp, mask, row, to == Float::Double, |lane| {
                let unused = 64 - u32::from(from.bits);
                let word = (u64::from(high[lane]) << 32 | u64::from(low[lane])) >> shift << unused;
                let (negative, magnitude) = if from.signed {
                    let signed = word as i64 >> unused;
                    (signed < 0, signed.unsigned_abs())
                } else {
                    (false, word >> unused)
                };
                from_integer(negative, magnitude, to, rounding)
            });
        }
    }
}
