//! The arithmetic of the tensor cores against a model that shares nothing with them: integers that are
//! aligned, cut and added in 128 bits, element by element, after the published descriptions (MMA-Sim,
//! arXiv 2511.10909; Khattak and Mikaitis, arXiv 2512.07004).

use sass::{Architecture, Instruction, Modifier as M, Opcode};

use super::super::*;
use super::layout::{Kind, place_a, place_b, place_c, put};
use Architecture::{Sm75, Sm80, Sm86, Sm89, Sm90};

/// A number in a format: `significand · 2^unit`, which aligns as if its exponent were `exponent`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Nan,
    Infinite(bool),
    Finite {
        negative: bool,
        significand: i128,
        unit: i32,
        exponent: i32,
    },
}

/// Fraction and exponent bits of a format.
pub fn format(kind: Kind) -> (u32, u32) {
    match kind {
        Kind::Half => (10, 5),
        Kind::Brain => (7, 8),
        Kind::Tf32 => (10, 8),
        Kind::E4m3 => (3, 4),
        Kind::E5m2 => (2, 5),
        other => panic!("{other:?} is no short float"),
    }
}

/// A number of a format from its bits, lowest first.
pub fn decode(bits: u64, (fraction, exponent): (u32, u32)) -> Number {
    let rest = bits & ((1 << fraction) - 1);
    let power = bits >> fraction & ((1 << exponent) - 1);
    let negative = bits >> (fraction + exponent) & 1 == 1;
    let bias = (1 << (exponent - 1)) - 1;
    let top = (1 << exponent) - 1;
    if (fraction, exponent) == (3, 4) {
        // E4M3 spends one pattern on NaN and none on infinity.
        if power == top && rest == 7 {
            return Number::Nan;
        }
    } else if power == top {
        return if rest == 0 {
            Number::Infinite(negative)
        } else {
            Number::Nan
        };
    }
    let hidden = if power == 0 { 0 } else { 1 << fraction };
    let significand = i128::from(rest | hidden);
    let exponent = power.max(1) as i32 - bias;
    Number::Finite {
        negative,
        significand,
        unit: exponent - fraction as i32,
        exponent: if significand == 0 { -126 } else { exponent },
    }
}

/// Element of the registers as the instruction sees it; TF32 drops the lower 13 bits.
pub fn element(kind: Kind, bits: u64) -> Number {
    let bits = if kind == Kind::Tf32 { bits >> 13 } else { bits };
    decode(bits, format(kind))
}

fn product(x: Number, y: Number) -> Number {
    use Number::{Finite, Infinite, Nan};
    match (x, y) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinite(p), Infinite(q)) => Infinite(p != q),
        (
            Infinite(p),
            Finite {
                negative,
                significand,
                ..
            },
        )
        | (
            Finite {
                negative,
                significand,
                ..
            },
            Infinite(p),
        ) => {
            if significand == 0 {
                Nan
            } else {
                Infinite(p != negative)
            }
        }
        (
            Finite {
                negative: p,
                significand: s,
                unit: u,
                exponent: e,
            },
            Finite {
                negative: q,
                significand: t,
                unit: v,
                exponent: f,
            },
        ) => Finite {
            negative: p != q,
            significand: s * t,
            unit: u + v,
            exponent: e + f,
        },
    }
}

/// Sum of the terms, each cut `kept` bits below the largest exponent: an integer and its unit; or what
/// infinities and NaN make of it.
fn sum(terms: &[Number], kept: i32) -> Result<(i128, i32), Number> {
    let mut infinite = None;
    for term in terms {
        match (*term, infinite) {
            (Number::Nan, _) => return Err(Number::Nan),
            (Number::Infinite(sign), Some(other)) if sign != other => return Err(Number::Nan),
            (Number::Infinite(sign), _) => infinite = Some(sign),
            _ => {}
        }
    }
    if let Some(sign) = infinite {
        return Err(Number::Infinite(sign));
    }
    let finite = terms.iter().filter_map(|term| match *term {
        Number::Finite {
            negative,
            significand,
            unit,
            exponent,
        } => Some((negative, significand, unit, exponent)),
        _ => None,
    });
    let largest = finite.clone().map(|term| term.3).max().unwrap();
    let unit = largest - kept;
    let total = finite
        .map(|(negative, significand, own, _)| {
            let distance = own - unit;
            let aligned = if distance >= 0 {
                significand << distance
            } else {
                significand.checked_shr(-distance as u32).unwrap_or(0)
            };
            if negative { -aligned } else { aligned }
        })
        .sum();
    Ok((total, unit))
}

/// `total · 2^unit` in a format of `fraction` stored bits, toward zero or to nearest.
fn round(total: i128, unit: i32, (fraction, exponent): (u32, u32), nearest: bool) -> u64 {
    let sign = ((total < 0) as u64) << (fraction + exponent);
    let magnitude = total.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let bias = (1 << (exponent - 1)) - 1;
    let top = (1u64 << exponent) - 1;
    let mut power = (magnitude.ilog2() as i32 + unit).max(1 - bias);
    let drop = power - fraction as i32 - unit;
    let mut significand = if drop <= 0 {
        magnitude << -drop
    } else if drop > 127 {
        0
    } else {
        let (quotient, rest) = (magnitude >> drop, magnitude & ((1 << drop) - 1));
        let half = 1 << (drop - 1);
        let up = nearest && (rest > half || rest == half && quotient & 1 == 1);
        quotient + u128::from(up)
    };
    if significand >> (fraction + 1) != 0 {
        significand >>= 1;
        power += 1;
    }
    if power > bias {
        return sign | top << fraction;
    }
    let normal = significand >> fraction != 0;
    let biased = if normal { (power + bias) as u64 } else { 0 };
    sign | biased << fraction | significand as u64 & ((1 << fraction) - 1)
}

/// What the machines do by architecture and type: products of a step, bits kept, fraction bits of a
/// single-precision result.
fn parameters(architecture: Architecture, kind: Kind) -> (usize, i32, u32) {
    match (architecture, kind) {
        (Sm89, Kind::E4m3 | Kind::E5m2) => (16, 13, 13),
        (Sm90, Kind::Tf32) => (8, 25, 23),
        (Sm90, _) => (16, 25, 23),
        (_, Kind::Tf32) => (4, 24, 23),
        _ => (8, 24, 23),
    }
}

/// The inner product of `a` and `b` added to the accumulator `c`, in the bits of the result's format.
pub fn model(
    architecture: Architecture,
    kind: Kind,
    single: bool,
    a: &[Number],
    b: &[Number],
    c: u64,
) -> u64 {
    let (products, kept, fraction) = parameters(architecture, kind);
    let layout = if single { (23, 8) } else { (10, 5) };
    let mut accumulator = c;
    for (a, b) in a.chunks(products).zip(b.chunks(products)) {
        let mut terms = vec![decode(accumulator, layout)];
        terms.extend(a.iter().zip(b).map(|(&x, &y)| product(x, y)));
        accumulator = match sum(&terms, kept) {
            Ok((total, unit)) if single => {
                let below = 23 - fraction;
                round(total, unit, layout, false) >> below << below
            }
            Ok((total, unit)) => round(total, unit, layout, true),
            Err(Number::Infinite(sign)) => {
                let (infinity, at) = if single {
                    (0x7f80_0000, 31)
                } else {
                    (0x7c00, 15)
                };
                infinity | (sign as u64) << at
            }
            Err(_) => {
                if single {
                    0x7fff_ffff
                } else {
                    0x7fff
                }
            }
        };
    }
    accumulator
}

/// A random element: any bits, an exponent near that of one, or an edge of the format.
fn random_element(random: &mut Random, (fraction, exponent): (u32, u32), mode: u32) -> u64 {
    let width = fraction + exponent + 1;
    let word = u64::from(random.word()) | u64::from(random.word()) << 32;
    let bits = word & ((1 << width) - 1);
    let bias = (1u64 << (exponent - 1)) - 1;
    let near = || {
        let power = bias - 4 + (word >> 40) % 8;
        bits & !(((1 << exponent) - 1) << fraction) | power << fraction
    };
    match mode {
        0 => bits,
        1 => near(),
        _ => {
            let top = ((1u64 << exponent) - 1) << fraction;
            let edges = [
                0,
                1,
                (1 << fraction) - 1,
                1 << fraction,
                top - 1,
                top,
                top | 1,
                top | ((1 << fraction) - 1),
                bias << fraction,
            ];
            match word >> 56 & 15 {
                n if (n as usize) < edges.len() => {
                    let sign = (word >> 50 & 1) << (width - 1);
                    edges[n as usize] | sign
                }
                9 => bits & ((1 << fraction) - 1),
                _ => near(),
            }
        }
    }
}

const D: usize = 0;
const A: usize = 8;
const B: usize = 16;
const C: usize = 24;

/// One instruction on random matrices against the model.
fn check(architecture: Architecture, shape: M, kinds: (Kind, Kind), single: bool, mode: u32) {
    let (kind_a, kind_b) = kinds;
    let mut random = Random::new(shape as u64 * 64 + u64::from(mode) * 8 + u64::from(single));
    let (_, k) = super::layout::sizes(shape);
    let mut draw = |kind: Kind| {
        let bits = random_element(&mut random, format(kind), mode);
        // What lies below TF32 must not count.
        match kind {
            Kind::Tf32 => bits << 13 | u64::from(random.word() & 0x1fff),
            _ => bits,
        }
    };
    let a: Vec<Vec<u64>> = (0..16)
        .map(|_| (0..k).map(|_| draw(kind_a)).collect())
        .collect();
    let b: Vec<Vec<u64>> = (0..k)
        .map(|_| (0..8).map(|_| draw(kind_b)).collect())
        .collect();
    let layout = if single { (23, 8) } else { (10, 5) };
    let c: Vec<Vec<u64>> = (0..16)
        .map(|_| {
            (0..8)
                .map(|_| random_element(&mut random, layout, mode))
                .collect()
        })
        .collect();
    let mut w = warp();
    for lane in 0..32 {
        for i in 0..16 * k / 32 {
            let (row, column) = place_a(16, kind_a.bits(), lane, i);
            put(&mut w, A, lane, i, kind_a.bits(), a[row][column]);
        }
        for i in 0..8 * k / 32 {
            let (row, column) = place_b(kind_b.bits(), lane, i);
            put(&mut w, B, lane, i, kind_b.bits(), b[row][column]);
        }
        for i in 0..4 {
            let (row, column) = place_c(lane, i);
            put(
                &mut w,
                C,
                lane,
                i,
                if single { 32 } else { 16 },
                c[row][column],
            );
        }
    }
    let mut modifiers = vec![shape, if single { M::F32 } else { M::F16 }];
    let name = |kind| if kind == Kind::E4m3 { M::E4M3 } else { M::E5M2 };
    let opcode = match kind_a {
        Kind::E4m3 | Kind::E5m2 => {
            modifiers.extend([name(kind_a), name(kind_b)]);
            Opcode::QMMA
        }
        _ => Opcode::HMMA,
    };
    modifiers.extend(match kind_a {
        Kind::Brain => Some(M::BF16),
        Kind::Tf32 => Some(M::TF32),
        _ => None,
    });
    let operands = [r(D as u8), r(A as u8), r(B as u8), r(C as u8)];
    let i = Instruction {
        architecture,
        ..instruction(opcode, &modifiers, &operands)
    };
    let after = run(&i, &w);
    for lane in 0..32 {
        for i in 0..4 {
            let (row, column) = place_c(lane, i);
            let x: Vec<Number> = a[row].iter().map(|&bits| element(kind_a, bits)).collect();
            let y: Vec<Number> = b.iter().map(|row| element(kind_b, row[column])).collect();
            let expected = model(architecture, kind_a, single, &x, &y, c[row][column]);
            let found = if single {
                u64::from(after.registers[D + i][lane])
            } else {
                u64::from(after.registers[D + i / 2][lane] >> (16 * (i % 2)) & 0xffff)
            };
            assert_eq!(
                found, expected,
                "{architecture:?} {modifiers:?} mode {mode}, row {row}, column {column}: {found:#x}, \
                 not {expected:#x}; a {x:?} b {y:?} c {:#x}",
                c[row][column]
            );
        }
    }
}

fn check_modes(architecture: Architecture, shape: M, kinds: (Kind, Kind), singles: &[bool]) {
    for &single in singles {
        for mode in 0..8 {
            check(architecture, shape, kinds, single, mode % 3 + mode / 6);
        }
    }
}

#[test]
fn halves() {
    for architecture in [Sm75, Sm80, Sm86, Sm89, Sm90] {
        check_modes(
            architecture,
            M::N1688,
            (Kind::Half, Kind::Half),
            &[true, false],
        );
        if architecture != Sm75 {
            check_modes(
                architecture,
                M::N16816,
                (Kind::Half, Kind::Half),
                &[true, false],
            );
        }
    }
}

#[test]
fn brain_floats_and_tf32() {
    for architecture in [Sm80, Sm86, Sm89, Sm90] {
        for shape in [M::N1688, M::N16816] {
            check_modes(architecture, shape, (Kind::Brain, Kind::Brain), &[true]);
        }
        for shape in [M::N1684, M::N1688] {
            check_modes(architecture, shape, (Kind::Tf32, Kind::Tf32), &[true]);
        }
    }
}

#[test]
fn eight_bit_floats_of_ada() {
    for shape in [M::N16816, M::N16832] {
        for a in [Kind::E4m3, Kind::E5m2] {
            for b in [Kind::E4m3, Kind::E5m2] {
                check_modes(Sm89, shape, (a, b), &[true, false]);
            }
        }
    }
}

/// Doubles: chains of fused multiply-adds in the order of the depth, the accumulator first, against
/// rustc_apfloat.
#[test]
fn doubles_are_chains_of_fused_multiply_adds() {
    use rustc_apfloat::{Float, Round, ieee::Double};
    let shapes = [
        (Sm80, M::N884, 8, 4),
        (Sm90, M::N16x8x4, 16, 4),
        (Sm90, M::N16x8x8, 16, 8),
        (Sm90, M::N16x8x16, 16, 16),
    ];
    let roundings = [
        (None, Round::NearestTiesToEven),
        (Some(M::RZ), Round::TowardZero),
        (Some(M::RM), Round::TowardNegative),
        (Some(M::RP), Round::TowardPositive),
    ];
    for (architecture, shape, m, k) in shapes {
        for (index, (suffix, rounding)) in roundings.into_iter().enumerate() {
            let mut random = Random::new(k as u64 * 4 + index as u64);
            let mut draw = |n: usize| {
                let word = u64::from(random.word()) << 32 | u64::from(random.word());
                match n % 7 {
                    0 => word & 0x800f_ffff_ffff_ffff,
                    1 if word >> 20 & 3 == 0 => 0x7ff0_0000_0000_0000 | word & (1 << 63),
                    _ => word & 0x803f_ffff_ffff_ffff | 0x3fc0_0000_0000_0000,
                }
            };
            let mut matrix = |rows: usize, columns: usize| -> Vec<Vec<u64>> {
                (0..rows)
                    .map(|row| (0..columns).map(|column| draw(row + 3 * column)).collect())
                    .collect()
            };
            let (a, b, c) = (matrix(m, k), matrix(k, 8), matrix(m, 8));
            let mut w = warp();
            let (row_b, row_c) = (A + 16, A + 24);
            for lane in 0..32 {
                for i in 0..m * k / 32 {
                    let (row, column) = place_a(m, 64, lane, i);
                    put(&mut w, A, lane, i, 64, a[row][column]);
                }
                for i in 0..k * 8 / 32 {
                    let (row, column) = place_b(64, lane, i);
                    put(&mut w, row_b, lane, i, 64, b[row][column]);
                }
                for i in 0..m / 4 {
                    let (row, column) = place_c(lane, i);
                    put(&mut w, row_c, lane, i, 64, c[row][column]);
                }
            }
            let mut modifiers = vec![shape];
            modifiers.extend(suffix);
            let operands = [r(D as u8), r(A as u8), r(row_b as u8), r(row_c as u8)];
            let i = Instruction {
                architecture,
                ..instruction(Opcode::DMMA, &modifiers, &operands)
            };
            let after = run(&i, &w);
            for lane in 0..32 {
                for i in 0..m / 4 {
                    let (row, column) = place_c(lane, i);
                    let number = |bits: u64| Double::from_bits(u128::from(bits));
                    let mut sum = number(c[row][column]);
                    for l in 0..k {
                        let (x, y) = (number(a[row][l]), number(b[l][column]));
                        sum = x.mul_add_r(y, sum, rounding).value;
                    }
                    let expected = if sum.is_nan() {
                        0xfff8_0000_0000_0000
                    } else {
                        sum.to_bits() as u64
                    };
                    let found = wide(&after, D + 2 * i, lane);
                    assert_eq!(found, expected, "{modifiers:?}, row {row}, column {column}");
                }
            }
        }
    }
}
