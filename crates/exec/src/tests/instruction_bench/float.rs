//! Floating-point arithmetic by soft floats: single, double and packed short types.

use rustc_apfloat::ieee::{BFloat, Double, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round, Status};
use sass::{Adjust, Modifier as M, Opcode, Select};

use super::lane::Lane;

pub const NEAREST: Round = Round::NearestTiesToEven;

/// The direction that the mnemonic names.
pub fn rounding(l: &Lane<'_>) -> Round {
    if l.has(M::RM) || l.has(M::FLOOR) {
        Round::TowardNegative
    } else if l.has(M::RP) || l.has(M::CEIL) {
        Round::TowardPositive
    } else if l.has(M::RZ) || l.has(M::TRUNC) {
        Round::TowardZero
    } else {
        NEAREST
    }
}

pub fn adjusted<F: Float>(value: F, adjust: Adjust) -> F {
    let value = if adjust.absolute { value.abs() } else { value };
    if adjust.negate { -value } else { value }
}

/// Denormals as zeros of their sign.
pub fn flushed<F: Float>(value: F) -> F {
    if value.is_denormal() {
        F::ZERO.copy_sign(value)
    } else {
        value
    }
}

/// A number in a type that holds every product of the others, and sums as long as they are rounded
/// to odd.
pub fn convert<F: FloatConvert<T>, T: Float>(value: F, round: Round) -> T {
    value.convert_r(round, &mut false).value
}

fn clamped<F: Float>(value: F, one: F) -> F {
    if value.is_nan() || value.is_negative() {
        F::ZERO
    } else if matches!(value.partial_cmp(&one), Some(std::cmp::Ordering::Greater)) {
        one
    } else {
        value
    }
}

/// Bits of a single: NaN canonical, flushed and clamped as the mnemonic says.
fn single_bits(l: &Lane<'_>, value: Single) -> u32 {
    let ftz = l.has(M::FTZ) || l.has(M::FMZ);
    let value = if ftz { flushed(value) } else { value };
    let value = if l.has(M::SAT) {
        clamped(value, Single::from_bits(0x3f80_0000))
    } else {
        value
    };
    if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits() as u32
    }
}

fn single(l: &mut Lane<'_>) -> Single {
    let ftz = l.has(M::FTZ) || l.has(M::FMZ);
    let (word, adjust, _) = l.raw();
    let value = adjusted(Single::from_bits(word.into()), adjust);
    if ftz { flushed(value) } else { value }
}

/// The word of a single after signs, as moves see it.
fn signed_word(l: &mut Lane<'_>) -> u32 {
    let (word, adjust, _) = l.raw();
    let word = if adjust.absolute {
        word & 0x7fff_ffff
    } else {
        word
    };
    if adjust.negate {
        word ^ 0x8000_0000
    } else {
        word
    }
}

/// What a comparison's name says of two numbers.
pub fn holds<F: Float>(name: &str, a: F, b: F) -> bool {
    use std::cmp::Ordering::*;
    let order = a.partial_cmp(&b);
    let (base, unordered) = match name {
        "LTU" => ("LT", true),
        "EQU" => ("EQ", true),
        "LEU" => ("LE", true),
        "GTU" => ("GT", true),
        "NEU" => ("NE", true),
        "GEU" => ("GE", true),
        other => (other, false),
    };
    match (base, order) {
        ("F", _) => false,
        ("T", _) => true,
        ("NUM", order) => order.is_some(),
        ("NAN", order) => order.is_none(),
        (_, None) => unordered,
        ("LT", Some(o)) => o == Less,
        ("EQ", Some(o)) => o == Equal,
        ("LE", Some(o)) => o != Greater,
        ("GT", Some(o)) => o == Greater,
        ("NE", Some(o)) => o != Equal,
        ("GE", Some(o)) => o != Less,
        (other, _) => panic!("comparison {other}"),
    }
}

/// The comparison's name among the suffixes.
fn comparison(l: &Lane<'_>) -> &'static str {
    const NAMES: [&str; 16] = [
        "F", "LT", "EQ", "LE", "GT", "NE", "GE", "NUM", "NAN", "LTU", "EQU", "LEU", "GTU", "NEU",
        "GEU", "T",
    ];
    let modifiers = &l.instruction.modifiers;
    modifiers
        .iter()
        .find_map(|m| NAMES.into_iter().find(|n| *n == m.text()))
        .expect("a comparison")
}

fn combine(l: &Lane<'_>, value: bool, with: bool) -> bool {
    match () {
        () if l.has(M::AND) => value && with,
        () if l.has(M::OR) => value || with,
        () => value != with,
    }
}

/// The smaller or larger number: a zero with minus sign is below one without, and a number beats
/// NaN unless `.NAN` is there. `sign` replaces the sign of a number under `.XORSIGN`.
fn chosen<F: Float>(l: &Lane<'_>, a: F, b: F, minimum: bool, negative: bool) -> Option<F> {
    let value = match (a.is_nan(), b.is_nan()) {
        (true, true) => return None,
        (true, false) | (false, true) if l.has(M::NAN) => return None,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let less = match a.partial_cmp(&b) {
                Some(std::cmp::Ordering::Equal) => a.is_negative() && !b.is_negative(),
                order => order == Some(std::cmp::Ordering::Less),
            };
            if less == minimum { a } else { b }
        }
    };
    Some(if l.has(M::XORSIGN) {
        let value = value.abs();
        if negative { -value } else { value }
    } else {
        value
    })
}

/// Expects what a single-precision instruction does.
pub fn expect_single(l: &mut Lane<'_>) {
    let round = rounding(l);
    let opcode = l.instruction.opcode;
    if opcode == Opcode::FSETP {
        let (p, q) = (l.predicate_destination(), l.predicate_destination());
        let (a, b) = (single(l), single(l));
        let with = l.predicate();
        let value = holds(comparison(l), a, b);
        return super::integer::combined(l, p, q, value, with);
    }
    let d = l.destination();
    let bits = match opcode {
        Opcode::FADD => {
            let (a, b) = (single(l), single(l));
            single_bits(l, a.add_r(b, round).value)
        }
        Opcode::FSWZADD => {
            let a = single(l);
            let (word, ..) = l.raw();
            let b = Single::from_bits(word.into());
            let b = if l.has(M::FTZ) { flushed(b) } else { b };
            let Some(sass::Operand::Keyword(letters)) = l.peek() else {
                panic!("{}", l.instruction.display(0));
            };
            l.skip();
            let of_a = letters.as_bytes()[2 * (l.lane % 4)];
            let of_b = letters.as_bytes()[2 * (l.lane % 4) + 1];
            let signed = |value: Single, sign| if sign == b'N' { -value } else { value };
            if of_a == b'Z' {
                b.to_bits() as u32
            } else {
                single_bits(l, signed(a, of_a).add_r(signed(b, of_b), round).value)
            }
        }
        Opcode::FMUL => {
            let (a, b) = (single(l), single(l));
            let scale = l.instruction.modifiers.iter().find_map(|m| match m.text() {
                "D8" => Some(-3),
                "D4" => Some(-2),
                "D2" => Some(-1),
                "M2" => Some(1),
                "M4" => Some(2),
                "M8" => Some(3),
                _ => None,
            });
            let product = if l.has(M::FMZ) && (a.is_zero() || b.is_zero()) {
                Single::ZERO
            } else if let Some(scale) = scale {
                let (a, b): (Quad, Quad) = (convert(a, NEAREST), convert(b, NEAREST));
                convert(a.mul_r(b, NEAREST).value.scalbn(scale), round)
            } else {
                a.mul_r(b, round).value
            };
            single_bits(l, product)
        }
        Opcode::FFMA => {
            let (a, b, c) = (single(l), single(l), single(l));
            let sum = if l.has(M::FMZ) && (a.is_zero() || b.is_zero()) {
                Single::ZERO.add_r(c, round).value
            } else {
                a.mul_add_r(b, c, round).value
            };
            single_bits(l, sum)
        }
        Opcode::FMNMX => {
            let (mut negative, mut pair) = (false, Vec::new());
            for _ in 0..2 {
                let (word, adjust, _) = l.raw();
                negative ^= (word >> 31 == 1) != adjust.negate;
                let value = adjusted(Single::from_bits(word.into()), adjust);
                pair.push(if l.has(M::FTZ) { flushed(value) } else { value });
            }
            let minimum = l.predicate();
            chosen(l, pair[0], pair[1], minimum, negative)
                .map_or(0x7fff_ffff, |value| value.to_bits() as u32)
        }
        Opcode::FSEL => {
            let (a, b) = (signed_word(l), signed_word(l));
            let word = if l.predicate() { a } else { b };
            if l.has(M::FTZ) && word & 0x7f80_0000 == 0 {
                word & 0x8000_0000
            } else {
                word
            }
        }
        Opcode::FSET => {
            let (a, b) = (single(l), single(l));
            let with = l.predicate();
            if combine(l, holds(comparison(l), a, b), with) {
                0x3f80_0000
            } else {
                0
            }
        }
        other => panic!("{} is no single-precision instruction", other.text()),
    };
    l.write(d, bits);
}

fn double(l: &mut Lane<'_>) -> Double {
    let (bits, adjust) = l.wide(true);
    adjusted(Double::from_bits(bits.into()), adjust)
}

pub fn double_bits(value: Double) -> u64 {
    if value.is_nan() {
        0xfff8_0000_0000_0000
    } else {
        value.to_bits() as u64
    }
}

/// Expects what a double-precision instruction does.
pub fn expect_double(l: &mut Lane<'_>) {
    let round = rounding(l);
    let opcode = l.instruction.opcode;
    if opcode == Opcode::DSETP {
        let (p, q) = (l.predicate_destination(), l.predicate_destination());
        let (a, b) = (double(l), double(l));
        let with = l.predicate();
        if !l.has(M::MIN) && !l.has(M::MAX) {
            let value = holds(comparison(l), a, b);
            return super::integer::combined(l, p, q, value, with);
        }
        // Compiled minima take a where the first is true and quiet a NaN b where the second is.
        let less = match a.partial_cmp(&b) {
            Some(std::cmp::Ordering::Equal) => a.is_negative() && !b.is_negative(),
            order => order == Some(std::cmp::Ordering::Less),
        };
        let first = !a.is_nan() && (b.is_nan() || less == l.has(M::MIN));
        let (first, second) = (
            combine(l, first, with),
            combine(l, !first && b.is_nan(), with),
        );
        l.write_predicate(p, first);
        l.write_predicate(q, second);
        return;
    }
    let d = l.destination();
    let (a, b) = (double(l), double(l));
    let value = match opcode {
        Opcode::DADD => a.add_r(b, round).value,
        Opcode::DMUL => a.mul_r(b, round).value,
        Opcode::DFMA => a.mul_add_r(b, double(l), round).value,
        other => panic!("{} is no double-precision instruction", other.text()),
    };
    l.write_wide(d, double_bits(value));
}

/// One element of a packed source, exact in a wide type, and its sign before its |…|.
#[derive(Clone, Copy)]
struct Element {
    value: Quad,
    negative: bool,
}

/// Both elements of a packed source.
fn pair(l: &mut Lane<'_>) -> [Element; 2] {
    let brain = l.has(M::BF16_V2);
    let ftz = l.has(M::FTZ) || l.has(M::FMZ);
    let (word, adjust, select) = l.raw();
    let parts = match select {
        Select::None | Select::H0NegatedH1 => [word & 0xffff, word >> 16],
        Select::H0H0 | Select::H0 => [word & 0xffff; 2],
        Select::H1H1 | Select::H1 => [word >> 16; 2],
        Select::F32 => {
            let value = adjusted(Single::from_bits(word.into()), adjust);
            let element = Element {
                value: convert(value, NEAREST),
                negative: (word >> 31 == 1) != adjust.negate,
            };
            return [element; 2];
        }
        other => panic!("{other:?} of a packed source"),
    };
    let element = |k: usize| {
        let bits = u128::from(parts[k]);
        let extra = select == Select::H0NegatedH1 && k == 1;
        let adjust = Adjust {
            negate: adjust.negate != extra,
            ..adjust
        };
        let value: Quad = if brain {
            let value = adjusted(BFloat::from_bits(bits), adjust);
            convert(if ftz { flushed(value) } else { value }, NEAREST)
        } else {
            let value = adjusted(Half::from_bits(bits), adjust);
            convert(if ftz { flushed(value) } else { value }, NEAREST)
        };
        Element {
            value,
            negative: (parts[k] >> 15 == 1) != adjust.negate,
        }
    };
    [element(0), element(1)]
}

/// a · b + c rounded to odd, so that a second rounding is as if it were the only one.
fn fused_to_odd(a: Quad, b: Quad, c: Quad) -> Quad {
    let sum = a.mul_add_r(b, c, Round::TowardZero);
    if sum.status.contains(Status::INEXACT) {
        Quad::from_bits(sum.value.to_bits() | 1)
    } else {
        sum.value
    }
}

/// Bits of a short result: flushed, clamped, rectified as the mnemonic says.
fn short_bits<F: Float>(l: &Lane<'_>, value: F, one: F) -> u32
where
    Quad: FloatConvert<F>,
{
    let ftz = l.has(M::FTZ) || l.has(M::FMZ);
    let value = if ftz { flushed(value) } else { value };
    let value = if l.has(M::SAT) {
        clamped(value, one)
    } else {
        value
    };
    if value.is_nan() {
        0x7fff
    } else if l.has(M::RELU) && value.is_negative() {
        0
    } else {
        value.to_bits() as u32
    }
}

fn rounded(l: &Lane<'_>, value: Quad) -> u32 {
    if l.has(M::F32) {
        let value: Single = convert(value, NEAREST);
        let bits = single_bits(l, value);
        if l.has(M::RELU) && !value.is_nan() && bits >> 31 == 1 {
            0
        } else {
            bits
        }
    } else if l.has(M::BF16_V2) {
        short_bits::<BFloat>(l, convert(value, NEAREST), BFloat::from_bits(0x3f80))
    } else {
        short_bits::<Half>(l, convert(value, NEAREST), Half::from_bits(0x3c00))
    }
}

/// Expects what a packed half-precision or brain-float instruction does.
pub fn expect_half(l: &mut Lane<'_>) {
    let opcode = l.instruction.opcode;
    if opcode == Opcode::HSETP2 {
        let (p, q) = (l.predicate_destination(), l.predicate_destination());
        let (a, b) = (pair(l), pair(l));
        let with = l.predicate();
        let name = comparison(l);
        let each = [0, 1].map(|k| holds(name, a[k].value, b[k].value));
        let values = if l.has(M::H_AND) {
            [each[0] && each[1], !(each[0] && each[1])]
        } else {
            each
        };
        let results = values.map(|value| combine(l, value, with));
        l.write_predicate(p, results[0]);
        l.write_predicate(q, results[1]);
        return;
    }
    let d = l.destination();
    let (a, b) = (pair(l), pair(l));
    let one: Quad = convert(Single::from_bits(0x3f80_0000), NEAREST);
    let results = match opcode {
        Opcode::HADD2 => [0, 1].map(|k| rounded(l, fused_to_odd(a[k].value, one, b[k].value))),
        Opcode::HMUL2 => [0, 1].map(|k| {
            let (a, b) = (a[k].value, b[k].value);
            let product = if l.has(M::FMZ) && (a.is_zero() || b.is_zero()) {
                Quad::ZERO
            } else {
                a.mul_r(b, NEAREST).value
            };
            rounded(l, product)
        }),
        Opcode::HFMA2 => {
            let c = pair(l);
            // PT: other predicates are refused.
            if l.at_predicate() {
                l.skip();
            }
            [0, 1].map(|k| {
                let (a, b, c) = (a[k].value, b[k].value, c[k].value);
                let sum = if l.has(M::FMZ) && (a.is_zero() || b.is_zero()) {
                    Quad::ZERO.add_r(c, NEAREST).value
                } else {
                    fused_to_odd(a, b, c)
                };
                rounded(l, sum)
            })
        }
        Opcode::HMNMX2 => {
            let minimum = l.predicate();
            [0, 1].map(|k| {
                let negative = a[k].negative != b[k].negative;
                let value = chosen(l, a[k].value, b[k].value, minimum, negative);
                value.map_or(0x7fff, |value| {
                    if l.has(M::BF16_V2) {
                        convert::<_, BFloat>(value, NEAREST).to_bits() as u32
                    } else {
                        convert::<_, Half>(value, NEAREST).to_bits() as u32
                    }
                })
            })
        }
        Opcode::HSET2 => {
            let with = l.predicate();
            let name = comparison(l);
            let set = match (l.has(M::BF), l.has(M::BF16_V2)) {
                (false, _) => 0xffff,
                (true, false) => 0x3c00,
                (true, true) => 0x3f80,
            };
            [0, 1].map(|k| {
                if combine(l, holds(name, a[k].value, b[k].value), with) {
                    set
                } else {
                    0
                }
            })
        }
        other => panic!("{} is no half-precision instruction", other.text()),
    };
    let word = if l.has(M::F32) {
        results[0]
    } else {
        results[0] | results[1] << 16
    };
    l.write(d, word);
}
