//! Conversions between number types.

use sass::{Modifier, Opcode, Select};

use crate::lanes::Lanes;
use crate::lower::{Lowered, Reader, Signs, refuse};
use crate::micro::{Operand, Wide};
use crate::rounding::{
    BRAIN, DOUBLE_NAN, HALF, HALF_NAN, Rounding, SINGLE, canonical, flush, half_to_f32, narrow,
};
use crate::softfloat;
use crate::warp::Warp;

/// A floating-point type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Float {
    Half,
    Single,
    Double,
}

/// An integer type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Integer {
    bits: u8,
    signed: bool,
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
        kind: Float,
        rounding: Rounding,
        ftz: bool,
    },
    /// Float to integer, saturating; NaN becomes zero.
    ToInteger {
        row: u16,
        a: Source,
        signs: Signs,
        from: Float,
        to: Integer,
        rounding: Rounding,
        ftz: bool,
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
    /// Two singles packed into two halves or brain floats.
    Pack {
        row: u16,
        a: Operand,
        b: Operand,
        brain: bool,
        relu: bool,
        finite: bool,
        rounding: Rounding,
    },
    /// Two singles saturated to bytes above which the low half of c moves.
    PackBytes {
        row: u16,
        sources: [Operand; 3],
        signed: bool,
        relu: bool,
        rounding: Rounding,
    },
}

fn float_of(modifier: Modifier) -> Option<Float> {
    match modifier {
        Modifier::F16 => Some(Float::Half),
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
fn integral(r: &Reader<'_>) -> Rounding {
    r.choose(
        &[
            (Modifier::FLOOR, Rounding::Down),
            (Modifier::CEIL, Rounding::Up),
            (Modifier::TRUNC, Rounding::Zero),
        ],
        Rounding::Nearest,
    )
}

fn source(r: &mut Reader<'_>, pair: bool) -> Lowered<(Source, Signs, Select)> {
    if pair {
        let (wide, adjust) = r.wide_source(true)?;
        Ok((
            Source::Pair(wide),
            Signs::default().with(0, adjust),
            Select::None,
        ))
    } else {
        let (word, adjust, select) = r.source()?;
        Ok((Source::Word(word), Signs::default().with(0, adjust), select))
    }
}

/// Lowers a conversion.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let ftz = r.has(FTZ);
    Ok(match opcode {
        Opcode::F2F => {
            r.only(&[FTZ, F16, F32, F64, RM, RP, RZ])?;
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
            let (a, signs, _) = source(r, from == Float::Double)?;
            Op::Float {
                row,
                a,
                signs,
                from,
                to,
                rounding,
                ftz,
            }
        }
        Opcode::FRND => {
            r.only(&[FTZ, F16, F64, FLOOR, CEIL, TRUNC])?;
            let kind = r.choose(&[(F16, Float::Half), (F64, Float::Double)], Float::Single);
            let pair = kind == Float::Double;
            let row = r.destination(if pair { 2 } else { 1 })?;
            let (a, signs, _) = source(r, pair)?;
            Op::Integral {
                row,
                a,
                signs,
                kind,
                rounding: integral(r),
                ftz,
            }
        }
        Opcode::F2I => {
            r.only(&[
                FTZ, U8, U16, U32, U64, S8, S16, S32, S64, F16, F64, FLOOR, CEIL, TRUNC, NTZ,
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
            let from = r.choose(&[(F16, Float::Half), (F64, Float::Double)], Float::Single);
            let row = r.destination(if to.bits == 64 { 2 } else { 1 })?;
            let (a, signs, _) = source(r, from == Float::Double)?;
            Op::ToInteger {
                row,
                a,
                signs,
                from,
                to,
                rounding: integral(r),
                ftz,
            }
        }
        Opcode::I2F | Opcode::I2FP => {
            r.only(&[
                F16, F32, F64, U8, U16, U32, U64, S8, S16, S32, S64, RM, RP, RZ,
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
            let to = r.choose(&[(F16, Float::Half), (F64, Float::Double)], Float::Single);
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
        Opcode::F2FP => {
            r.only(&[SATFINITE, RELU, BF16, F16, F32, PACK_AB, RZ])?;
            if !r.has(PACK_AB) {
                return refuse("F2FP without .PACK_AB");
            }
            let rounding = super::float::rounding(r);
            let (brain, relu, finite) = (r.has(BF16), r.has(RELU), r.has(SATFINITE));
            let row = r.destination(1)?;
            let (a, b) = (r.plain_source()?, r.plain_source()?);
            Op::Pack {
                row,
                a,
                b,
                brain,
                relu,
                finite,
                rounding,
            }
        }
        Opcode::F2IP => {
            r.only(&[U8, S8, F32, TRUNC, NTZ, RELU])?;
            let row = r.destination(1)?;
            let sources = [r.plain_source()?, r.plain_source()?, r.plain_source()?];
            let (signed, relu) = (r.has(S8), r.has(RELU));
            Op::PackBytes {
                row,
                sources,
                signed,
                relu,
                rounding: integral(r),
            }
        }
        other => return refuse(format!("{} is not a conversion", other.text())),
    })
}

/// The source of one lane in double precision, which holds every value of the other types.
#[inline(always)]
fn value(low: u32, high: u32, signs: Signs, from: Float, ftz: bool) -> f64 {
    match from {
        Float::Half => {
            let keep = !(!signs.keep(0) >> 16);
            f64::from(half_to_f32(low & 0xffff & keep ^ signs.flip(0) >> 16))
        }
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
fn to_integer(value: f64, to: Integer, rounding: Rounding) -> u64 {
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
        Float::Single => {
            let bits = narrow(value, SINGLE, rounding);
            u64::from(if ftz { flush(bits) } else { bits })
        }
        Float::Double if value.is_nan() => DOUBLE_NAN,
        Float::Double => value.to_bits(),
    }
}

/// One element of a pack.
#[inline(always)]
fn packed(bits: u32, brain: bool, relu: bool, finite: bool, rounding: Rounding) -> u32 {
    let value = f64::from(f32::from_bits(bits));
    let (format, most) = if brain {
        (BRAIN, 0x7f7f)
    } else {
        (HALF, 0x7bff)
    };
    let result = narrow(value, format, rounding);
    let nan = value.is_nan();
    if nan {
        HALF_NAN
    } else if relu && result & 0x8000 != 0 {
        0
    } else if finite && result & 0x7fff > most {
        result & 0x8000 | most
    } else {
        result
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
            from,
            to,
            rounding,
            ftz,
        } => {
            let (low, high) = fetch(warp, a);
            write(warp, mask, row, to == Float::Double, |lane| {
                encode(
                    value(low[lane], high[lane], signs, from, ftz),
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
            kind,
            rounding,
            ftz,
        } => {
            let (low, high) = fetch(warp, a);
            write(warp, mask, row, kind == Float::Double, |lane| {
                let value = value(low[lane], high[lane], signs, kind, ftz);
                encode(to_integral(value, rounding), kind, Rounding::Nearest, ftz)
            });
        }
        Op::ToInteger {
            row,
            a,
            signs,
            from,
            to,
            rounding,
            ftz,
        } => {
            let (low, high) = fetch(warp, a);
            write(warp, mask, row, to.bits == 64, |lane| {
                to_integer(value(low[lane], high[lane], signs, from, ftz), to, rounding)
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
        Op::Pack {
            row,
            a,
            b,
            brain,
            relu,
            finite,
            rounding,
        } => {
            super::map2(warp, mask, row, a, b, |a, b| {
                packed(b, brain, relu, finite, rounding)
                    | packed(a, brain, relu, finite, rounding) << 16
            });
        }
        Op::PackBytes {
            row,
            sources,
            signed,
            relu,
            rounding,
        } => {
            super::map3(warp, mask, row, sources, |a, b, c| {
                let byte = |bits: u32| {
                    let value = f64::from(f32::from_bits(bits));
                    let value = if relu && value < 0.0 { 0.0 } else { value };
                    to_integer(value, Integer { bits: 8, signed }, rounding) as u32 & 0xff
                };
                c << 16 | byte(a) << 8 | byte(b)
            });
        }
    }
}
