//! Conversions that pack several narrow results into a register, and saturation of integers: F2FP,
//! F2IP, I2IP and I2I. The merging forms keep half of a third source above the packed results, so
//! that two of them fill a register. Meanings follow PTX's `cvt` and `cvt.pack`.

use sass::{Modifier, Opcode, Select};

use crate::lanes::Lanes;
use crate::lower::{Lowered, Reader, refuse};
use crate::micro::Operand;
use crate::rounding::{
    BRAIN, E5M2, Format, HALF, HALF_NAN, NAN, QUARTER_NAN, Rounding, TENSOR, e4m3_to_f32,
    half_to_f32, narrow, narrow_e4m3,
};
use crate::warp::Warp;

use super::conversion::{Integer, integral, to_integer};

/// Type of a packed float.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Packed {
    Half,
    Brain,
    /// TF32: a single whose low 13 bits are zero.
    Tensor,
    E4M3,
    E5M2,
}

/// How results beyond the range of the destination are formed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// Negative results become zero.
    relu: bool,
    /// Infinite results become the largest number.
    finite: bool,
    rounding: Rounding,
}

/// Lowered packing conversions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Two singles packed into two halves or brain floats: a above b.
    Pair {
        row: u16,
        a: Operand,
        b: Operand,
        to: Packed,
        limits: Limits,
    },
    /// One single as a half, brain float or TF32; half of c, if any, above it.
    One {
        row: u16,
        b: Operand,
        above: Option<Above>,
        to: Packed,
        limits: Limits,
    },
    /// Two singles packed into eight-bit floats, half of c above them.
    Bytes {
        row: u16,
        a: Operand,
        b: Operand,
        above: Above,
        to: Packed,
        limits: Limits,
    },
    /// Both halves of b packed into eight-bit floats, half of c above them.
    HalvesToBytes {
        row: u16,
        b: Operand,
        above: Above,
        to: Packed,
        limits: Limits,
    },
    /// Two eight-bit floats of one half of b as two halves.
    BytesToHalves {
        row: u16,
        b: Operand,
        shift: u8,
        from: Packed,
        relu: bool,
    },
    /// Two singles as saturated bytes, half of c above them.
    IntegerBytes {
        row: u16,
        a: Operand,
        b: Operand,
        above: Above,
        to: Integer,
        relu: bool,
        /// NaN becomes zero.
        nan_zero: bool,
        rounding: Rounding,
    },
    /// A word saturated to a narrower integer.
    Saturate { row: u16, a: Operand, to: Integer },
    /// Two words as narrower integers, the low bits of c above them.
    Integers {
        row: u16,
        sources: [Operand; 3],
        to: Integer,
        /// Which bits of c stand above: right shift before they move up.
        shift: u8,
        saturate: bool,
        relu: bool,
    },
}

/// The half of a register that stands above the packed results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Above {
    operand: Operand,
    high: bool,
}

fn above(r: &mut Reader<'_>) -> Lowered<Above> {
    let (operand, adjust, select) = r.source()?;
    let high = match select {
        _ if adjust != sass::Adjust::default() => return refuse("a sign of the merged source"),
        Select::None | Select::H0 => false,
        Select::H1 => true,
        _ => return refuse("a suffix of the merged source"),
    };
    Ok(Above { operand, high })
}

fn float_pack(r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    r.only_named(&[
        "SATFINITE",
        "RELU",
        "BF16",
        "F16",
        "F32",
        "TF32",
        "E4M3",
        "E5M2",
        "PACK_AB",
        "PACK_B",
        "MERGE_C",
        "PACK_AB_MERGE_C",
        "UNPACK_B",
        "UNPACK_B_MERGE_C",
        "RZ",
    ])?;
    let limits = Limits {
        relu: r.has(RELU),
        finite: r.has(SATFINITE),
        rounding: super::float::rounding(r),
    };
    let mut types = r.instruction.modifiers.iter().filter_map(|m| match m {
        F16 => Some(Some(Packed::Half)),
        BF16 => Some(Some(Packed::Brain)),
        TF32 => Some(Some(Packed::Tensor)),
        E4M3 => Some(Some(Packed::E4M3)),
        E5M2 => Some(Some(Packed::E5M2)),
        F32 => Some(None),
        _ => None,
    });
    // Before sm_89 halves and the source, singles, go unnamed.
    let (to, from) = match (types.next(), types.next()) {
        (None, _) => (Packed::Half, None),
        (Some(Some(to)), None) => (to, None),
        (Some(Some(to)), Some(from)) => (to, from),
        (Some(None), _) => return refuse("F2FP to F32"),
    };
    let eight = matches!(to, Packed::E4M3 | Packed::E5M2);
    let row = r.destination(1)?;
    Ok(match (to, from) {
        (Packed::Half | Packed::Brain, None) if r.has(PACK_AB) => Op::Pair {
            row,
            a: r.plain_source()?,
            b: r.plain_source()?,
            to,
            limits,
        },
        (Packed::Half | Packed::Brain, None) if r.has(MERGE_C) => Op::One {
            row,
            b: r.plain_source()?,
            above: Some(above(r)?),
            to,
            limits,
        },
        (Packed::Tensor, None) if r.named("PACK_B") => Op::One {
            row,
            b: r.plain_source()?,
            above: None,
            to,
            limits,
        },
        _ if eight && !limits.finite => {
            return refuse("F2FP to eight-bit floats without SATFINITE");
        }
        (_, None) if eight && r.has(PACK_AB_MERGE_C) => Op::Bytes {
            row,
            a: r.plain_source()?,
            b: r.plain_source()?,
            above: above(r)?,
            to,
            limits,
        },
        (_, Some(Packed::Half)) if eight && r.has(UNPACK_B_MERGE_C) => Op::HalvesToBytes {
            row,
            b: r.plain_source()?,
            above: above(r)?,
            to,
            limits,
        },
        (Packed::Half, Some(from @ (Packed::E4M3 | Packed::E5M2)))
            if r.has(UNPACK_B) && !r.has(RZ) =>
        {
            let (b, _, select) = r.source()?;
            Op::BytesToHalves {
                row,
                b,
                shift: if select == Select::H1 { 16 } else { 0 },
                from,
                relu: limits.relu,
            }
        }
        _ => return refuse("F2FP between these types, which no PTX conversion names"),
    })
}

/// The bits and sign of a modifier that names an integer type.
fn integer(modifier: Modifier) -> Option<Integer> {
    let (sign, bits) = modifier.text().split_at(1);
    let signed = match sign {
        "S" => true,
        "U" => false,
        _ => return None,
    };
    let bits = bits.parse().ok().filter(|b| matches!(b, 2 | 4 | 8 | 16))?;
    Some(Integer { bits, signed })
}

/// Lowers a packing conversion.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let narrow = r.instruction.modifiers.iter().find_map(|&m| integer(m));
    Ok(match opcode {
        Opcode::F2FP => float_pack(r)?,
        Opcode::F2IP => {
            r.only(&[U8, S8, F32, TRUNC, NTZ, RELU])?;
            Op::IntegerBytes {
                row: r.destination(1)?,
                a: r.plain_source()?,
                b: r.plain_source()?,
                above: above(r)?,
                to: Integer {
                    bits: 8,
                    signed: r.has(S8),
                },
                relu: r.has(RELU),
                nan_zero: r.has(NTZ),
                rounding: integral(r),
            }
        }
        Opcode::I2I => {
            r.only(&[U8, S8, U16, S16, S32, SAT])?;
            let (Some(to), true) = (narrow, r.has(SAT)) else {
                return refuse("I2I without a narrow type or saturation");
            };
            Op::Saturate {
                row: r.destination(1)?,
                a: r.plain_source()?,
                to,
            }
        }
        Opcode::I2IP => {
            r.only_named(&[
                "U2", "S2", "U4", "S4", "U8", "S8", "U16", "S16", "S32", "SAT", "SATRELU",
            ])?;
            let Some(to) = narrow else {
                return refuse("I2IP without a narrow type");
            };
            let row = r.destination(1)?;
            let (a, b) = (r.plain_source()?, r.plain_source()?);
            let (c, adjust, select) = r.source()?;
            // The suffix of the narrower types names the bits that stay: 24 or 28 low ones.
            let shift = match select {
                _ if adjust != sass::Adjust::default() => {
                    return refuse("a sign of the merged source");
                }
                Select::None | Select::Low24 | Select::Low28 => 0,
                Select::H1 if to.bits >= 8 => 16,
                _ => return refuse("a suffix of the merged source"),
            };
            Op::Integers {
                row,
                sources: [a, b, c],
                to,
                shift,
                saturate: r.has(SAT) || r.has(SATRELU),
                relu: r.has(SATRELU),
            }
        }
        other => return refuse(format!("{} is not a packing conversion", other.text())),
    })
}

/// One number in a packed type; NaN becomes the canonical one of the type.
#[inline(always)]
fn packed(value: f64, to: Packed, limits: Limits) -> u32 {
    let (format, nan, most): (Format, u32, u32) = match to {
        Packed::Half => (HALF, HALF_NAN, 0x7bff),
        Packed::Brain => (BRAIN, HALF_NAN, 0x7f7f),
        Packed::Tensor => (TENSOR, NAN, 0x3fbff),
        Packed::E5M2 => (E5M2, QUARTER_NAN, 0x7b),
        Packed::E4M3 => (E5M2, QUARTER_NAN, 0x7e),
    };
    if value.is_nan() {
        return nan;
    }
    let (bits, sign) = match to {
        Packed::E4M3 => (narrow_e4m3(value, limits.rounding), 0x80),
        Packed::E5M2 => (narrow(value, format, limits.rounding), 0x80),
        Packed::Tensor => (narrow(value, format, limits.rounding), 0x4_0000),
        Packed::Half | Packed::Brain => (narrow(value, format, limits.rounding), 0x8000),
    };
    let magnitude = bits & (sign - 1);
    let bits = if limits.relu && bits & sign != 0 {
        0
    } else if limits.finite && magnitude > most {
        bits & sign | most
    } else {
        bits
    };
    if to == Packed::Tensor {
        bits << 13
    } else {
        bits
    }
}

#[inline(always)]
fn single(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

impl Above {
    #[inline(always)]
    fn fetch(self, warp: &Warp) -> Lanes {
        let lanes = warp.fetch(self.operand);
        if self.high {
            Lanes::from_fn(|lane| lanes[lane] & 0xffff_0000)
        } else {
            Lanes::from_fn(|lane| lanes[lane] << 16)
        }
    }
}

/// The narrower integer of a word.
#[inline(always)]
fn narrowed(word: u32, to: Integer, saturate: bool, relu: bool) -> u32 {
    let value = word as i32;
    let value = if relu { value.max(0) } else { value };
    let value = if saturate {
        let (least, most) = if to.signed {
            (-(1 << (to.bits - 1)), (1 << (to.bits - 1)) - 1)
        } else {
            (0, (1 << to.bits) - 1)
        };
        value.clamp(least, most)
    } else {
        value
    };
    value as u32
}

/// Executes a packing conversion in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    match *op {
        Op::Pair {
            row,
            a,
            b,
            to,
            limits,
        } => super::map2(warp, mask, row, a, b, |a, b| {
            packed(single(b), to, limits) | packed(single(a), to, limits) << 16
        }),
        Op::One {
            row,
            b,
            above,
            to,
            limits,
        } => {
            let b = warp.fetch(b);
            let above = above.map_or(Lanes::ZERO, |above| above.fetch(warp));
            let result = Lanes::from_fn(|lane| packed(single(b[lane]), to, limits) | above[lane]);
            warp.write(row, &result, mask);
        }
        Op::Bytes {
            row,
            a,
            b,
            above,
            to,
            limits,
        } => {
            let (a, b, above) = (warp.fetch(a), warp.fetch(b), above.fetch(warp));
            let result = Lanes::from_fn(|lane| {
                let low = packed(single(b[lane]), to, limits);
                let high = packed(single(a[lane]), to, limits);
                above[lane] | high << 8 | low
            });
            warp.write(row, &result, mask);
        }
        Op::HalvesToBytes {
            row,
            b,
            above,
            to,
            limits,
        } => {
            let (b, above) = (warp.fetch(b), above.fetch(warp));
            let result = Lanes::from_fn(|lane| {
                let element = |bits: u32| packed(f64::from(half_to_f32(bits)), to, limits);
                above[lane] | element(b[lane] >> 16) << 8 | element(b[lane] & 0xffff)
            });
            warp.write(row, &result, mask);
        }
        Op::BytesToHalves {
            row,
            b,
            shift,
            from,
            relu,
        } => {
            let b = warp.fetch(b);
            let limits = Limits {
                relu,
                finite: false,
                rounding: Rounding::Nearest,
            };
            let element = |byte: u32| {
                let value = if from == Packed::E4M3 {
                    e4m3_to_f32(byte)
                } else {
                    half_to_f32(byte << 8)
                };
                packed(f64::from(value), Packed::Half, limits)
            };
            let result = Lanes::from_fn(|lane| {
                let pair = b[lane] >> shift;
                element(pair & 0xff) | element(pair >> 8 & 0xff) << 16
            });
            warp.write(row, &result, mask);
        }
        Op::IntegerBytes {
            row,
            a,
            b,
            above,
            to,
            relu,
            nan_zero,
            rounding,
        } => {
            let (a, b, above) = (warp.fetch(a), warp.fetch(b), above.fetch(warp));
            let byte = |bits: u32| {
                let value = single(bits);
                let value = if relu && value < 0.0 { 0.0 } else { value };
                to_integer(value, to, rounding, nan_zero) as u32 & 0xff
            };
            let result = Lanes::from_fn(|lane| above[lane] | byte(a[lane]) << 8 | byte(b[lane]));
            warp.write(row, &result, mask);
        }
        Op::Saturate { row, a, to } => {
            super::map1(warp, mask, row, a, |a| narrowed(a, to, true, false));
        }
        Op::Integers {
            row,
            sources,
            to,
            shift,
            saturate,
            relu,
        } => super::map3(warp, mask, row, sources, |a, b, c| {
            let bits = u32::from(to.bits);
            let ones = (1u32 << bits) - 1;
            let element = |word: u32| narrowed(word, to, saturate, relu) & ones;
            let above = u64::from(c >> shift) << (2 * bits);
            above as u32 | element(a) << bits | element(b)
        }),
    }
}
