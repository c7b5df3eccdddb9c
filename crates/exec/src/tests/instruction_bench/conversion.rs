//! Conversions by soft floats and 128-bit integers.

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use sass::{Modifier as M, Opcode, Select};

use super::float::{NEAREST, adjusted, convert, double_bits, flushed, rounding};
use super::lane::Lane;

/// Names of float types among the suffixes.
fn float_types(l: &Lane<'_>) -> Vec<&'static str> {
    const NAMES: [&str; 7] = ["F16", "BF16", "F32", "F64", "TF32", "E4M3", "E5M2"];
    let modifiers = &l.instruction.modifiers;
    modifiers
        .iter()
        .filter_map(|m| NAMES.into_iter().find(|n| *n == m.text()))
        .collect()
}

/// Width and sign of the integer type among the suffixes.
fn integer_type(l: &Lane<'_>) -> (u32, bool) {
    let modifiers = &l.instruction.modifiers;
    modifiers
        .iter()
        .find_map(|m| {
            let (sign, bits) = m.text().split_at(1);
            let bits: u32 = bits.parse().ok()?;
            match sign {
                "U" => Some((bits, false)),
                "S" => Some((bits, true)),
                _ => None,
            }
        })
        .unwrap_or((32, true))
}

/// A float source of a type, exact.
fn source(l: &mut Lane<'_>, name: &str) -> Quad {
    if name == "F64" {
        let (bits, adjust) = l.wide(true);
        return convert(adjusted(Double::from_bits(bits.into()), adjust), NEAREST);
    }
    let (word, adjust, select) = l.raw();
    let short = match select {
        Select::H1 | Select::H1H1 => word >> 16,
        _ => word & 0xffff,
    };
    match name {
        "F16" => convert(adjusted(Half::from_bits(short.into()), adjust), NEAREST),
        "BF16" => convert(adjusted(BFloat::from_bits(short.into()), adjust), NEAREST),
        _ => {
            let value = adjusted(Single::from_bits(word.into()), adjust);
            convert(if l.has(M::FTZ) { flushed(value) } else { value }, NEAREST)
        }
    }
}

fn bits<F: Float>(value: F, nan: u64) -> u64 {
    if value.is_nan() {
        nan
    } else {
        value.to_bits() as u64
    }
}

/// A number in a float type.
fn encode(l: &Lane<'_>, value: Quad, name: &str, round: Round) -> u64 {
    match name {
        "F16" => bits::<Half>(convert(value, round), 0x7fff),
        "BF16" => bits::<BFloat>(convert(value, round), 0x7fff),
        "F64" => double_bits(convert(value, round)),
        _ => {
            let value: Single = convert(value, round);
            let value = if l.has(M::FTZ) { flushed(value) } else { value };
            bits(value, 0x7fff_ffff)
        }
    }
}

fn write(l: &mut Lane<'_>, d: super::lane::Destination, value: u64, wide: bool) {
    if wide {
        l.write_wide(d, value);
    } else {
        l.write(d, value as u32);
    }
}

/// A saturated integer; NaN is zero with `.NTZ` and else the topmost bit alone.
fn to_integer(value: Quad, bits: u32, signed: bool, round: Round, nan_zero: bool) -> u64 {
    if value.is_nan() {
        return match (nan_zero, signed) {
            (true, _) => 0,
            (false, false) => 1 << (bits - 1),
            (false, true) => (-1i64 << (bits - 1)) as u64,
        };
    }
    let width = bits as usize;
    let mut exact = false;
    // Out of range, soft floats give the nearest bound as well.
    if signed {
        value.to_i128_r(width, round, &mut exact).value as i64 as u64
    } else {
        value.to_u128_r(width, round, &mut exact).value as u64
    }
}

fn float_to_integer(l: &mut Lane<'_>) {
    let (bits, signed) = integer_type(l);
    let from = float_types(l).first().copied().unwrap_or("F32");
    let (round, nan_zero) = (rounding(l), l.has(M::NTZ));
    let d = l.destination();
    let value = source(l, from);
    let result = to_integer(value, bits, signed, round, nan_zero);
    write(l, d, result, bits == 64);
}

fn integer_to_float(l: &mut Lane<'_>) {
    let (bits, signed) = integer_type(l);
    let to = float_types(l).first().copied().unwrap_or("F32");
    let round = rounding(l);
    let d = l.destination();
    let word = if bits == 64 {
        l.wide(false).0
    } else {
        let (word, _, select) = l.raw();
        let shift = match select {
            Select::B1 => 8,
            Select::B2 | Select::H1 => 16,
            Select::B3 => 24,
            _ => 0,
        };
        u64::from(word >> shift)
    };
    let unused = 64 - bits;
    let number = if signed {
        i128::from((word << unused) as i64 >> unused)
    } else {
        i128::from(word << unused >> unused)
    };
    let result = match to {
        "F16" => Half::from_i128_r(number, round).value.to_bits(),
        "BF16" => BFloat::from_i128_r(number, round).value.to_bits(),
        "F64" => Double::from_i128_r(number, round).value.to_bits(),
        _ => Single::from_i128_r(number, round).value.to_bits(),
    };
    write(l, d, result as u64, to == "F64");
}

fn float_to_float(l: &mut Lane<'_>) {
    let types = float_types(l);
    let round = rounding(l);
    let d = l.destination();
    let value = source(l, types[1]);
    let result = encode(l, value, types[0], round);
    write(l, d, result, types[0] == "F64");
}

fn float_to_integral(l: &mut Lane<'_>) {
    let name = float_types(l).first().copied().unwrap_or("F32");
    let round = rounding(l);
    let d = l.destination();
    let value = source(l, name).round_to_integral(round).value;
    let result = encode(l, value, name, NEAREST);
    write(l, d, result, name == "F64");
}

/// A packed element: rectified, and the largest number instead of infinity under `.SATFINITE`.
fn element<F: Float>(l: &Lane<'_>, value: Quad, nan: u32) -> u32
where
    Quad: FloatConvert<F>,
{
    if value.is_nan() {
        return nan;
    }
    let narrow: F = convert(value, rounding(l));
    if l.has(M::RELU) && value.is_negative() {
        return 0;
    }
    let narrow = if l.has(M::SATFINITE) && !narrow.is_finite() {
        let most = F::largest();
        if value.is_negative() { -most } else { most }
    } else {
        narrow
    };
    narrow.to_bits() as u32
}

/// A single as TF32: eleven significant bits of a single's exponents.
fn tensor(l: &Lane<'_>, value: Quad) -> u32 {
    if value.is_nan() {
        return 0x7fff_ffff;
    }
    if l.has(M::RELU) && value.is_negative() {
        return 0;
    }
    // As a single whose units are 2^13 as large: exact, rounded to an integral number of units.
    let single: Single = convert(value, NEAREST);
    let magnitude = single.abs().to_bits() as u32;
    let (kept, rest) = (magnitude >> 13, magnitude & 0x1fff);
    let up = match rounding(l) {
        Round::TowardZero => false,
        _ => rest > 0x1000 || rest == 0x1000 && kept & 1 == 1,
    };
    let rounded = if single.is_infinite() {
        kept
    } else {
        kept + u32::from(up)
    };
    let rounded = if l.has(M::SATFINITE) {
        rounded.min(0x3fbff)
    } else {
        rounded
    };
    rounded << 13 | u32::from(value.is_negative()) << 31
}

fn short(l: &Lane<'_>, value: Quad, name: &str) -> u32 {
    match name {
        "BF16" => element::<BFloat>(l, value, 0x7fff),
        "E4M3" => element::<Float8E4M3FN>(l, value, 0x7f),
        "E5M2" => element::<Float8E5M2>(l, value, 0x7f),
        _ => element::<Half>(l, value, 0x7fff),
    }
}

fn plain_single(l: &mut Lane<'_>) -> Quad {
    convert(Single::from_bits(l.word().into()), NEAREST)
}

/// The half that a merging pack keeps.
fn kept(l: &mut Lane<'_>) -> u32 {
    let (word, _, select) = l.raw();
    let half = if select == Select::H1 {
        word >> 16
    } else {
        word & 0xffff
    };
    half << 16
}

fn pack(l: &mut Lane<'_>) {
    let to = float_types(l).first().copied().unwrap_or("F16");
    let d = l.destination();
    let eight = to == "E4M3" || to == "E5M2";
    let word = if to == "TF32" {
        let value = plain_single(l);
        tensor(l, value)
    } else if l.named("PACK_AB") {
        let (a, b) = (plain_single(l), plain_single(l));
        short(l, a, to) << 16 | short(l, b, to)
    } else if l.named("MERGE_C") {
        let b = plain_single(l);
        short(l, b, to) | kept(l)
    } else if l.named("PACK_AB_MERGE_C") {
        assert!(eight);
        let (a, b) = (plain_single(l), plain_single(l));
        short(l, a, to) << 8 | short(l, b, to) | kept(l)
    } else if l.named("UNPACK_B_MERGE_C") {
        assert!(eight);
        let word = l.word();
        let half = |bits: u32| convert(Half::from_bits(u128::from(bits & 0xffff)), NEAREST);
        short(l, half(word >> 16), to) << 8 | short(l, half(word), to) | kept(l)
    } else {
        assert!(l.named("UNPACK_B"));
        let from = float_types(l)[1];
        let (word, _, select) = l.raw();
        let word = if select == Select::H1 {
            word >> 16
        } else {
            word
        };
        let byte = |bits: u32| {
            let bits = u128::from(bits & 0xff);
            if from == "E4M3" {
                convert(Float8E4M3FN::from_bits(bits), NEAREST)
            } else {
                convert(Float8E5M2::from_bits(bits), NEAREST)
            }
        };
        short(l, byte(word >> 8), to) << 16 | short(l, byte(word), to)
    };
    l.write(d, word);
}

fn integer_bytes(l: &mut Lane<'_>) {
    let signed = l.has(M::S8);
    let (round, nan_zero, relu) = (rounding(l), l.has(M::NTZ), l.has(M::RELU));
    let d = l.destination();
    let (a, b) = (plain_single(l), plain_single(l));
    let byte = |value: Quad| {
        if relu && !value.is_nan() && value.is_negative() {
            0
        } else {
            to_integer(value, 8, signed, round, nan_zero) as u32 & 0xff
        }
    };
    let word = byte(a) << 8 | byte(b) | kept(l);
    l.write(d, word);
}

fn integers(l: &mut Lane<'_>) {
    let (bits, signed) = integer_type(l);
    let relu = l.has(M::SATRELU);
    let saturate = l.has(M::SAT) || relu;
    let (least, most) = if signed {
        (-1i64 << (bits - 1), (1i64 << (bits - 1)) - 1)
    } else {
        (0, (1i64 << bits) - 1)
    };
    let narrow = |word: u32| {
        let value = i64::from(word as i32);
        let value = if relu { value.max(0) } else { value };
        if saturate {
            value.clamp(least, most)
        } else {
            value
        }
    };
    let d = l.destination();
    if l.instruction.opcode == Opcode::I2I {
        let a = l.word();
        return l.write(d, narrow(a) as u32);
    }
    let (a, b) = (narrow(l.word()), narrow(l.word()));
    let (c, _, select) = l.raw();
    let c = if select == Select::H1 { c >> 16 } else { c };
    let ones = (1i64 << bits) - 1;
    // PTX ISA, `cvt.pack`: b lowest, a above it, then the low bits of c.
    let word = (b & ones) | (a & ones) << bits | i64::from(c) << (2 * bits);
    l.write(d, word as u32);
}

/// Expects what a conversion does.
pub fn expect(l: &mut Lane<'_>) {
    match l.instruction.opcode {
        Opcode::F2I => float_to_integer(l),
        Opcode::I2F | Opcode::I2FP => integer_to_float(l),
        Opcode::F2F => float_to_float(l),
        Opcode::FRND => float_to_integral(l),
        Opcode::F2FP => pack(l),
        Opcode::F2IP => integer_bytes(l),
        Opcode::I2I | Opcode::I2IP => integers(l),
        other => panic!("{} is no conversion", other.text()),
    }
}
