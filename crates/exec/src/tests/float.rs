//! Single precision against soft floats of arbitrary rounding.

use rustc_apfloat::ieee::Single;
use rustc_apfloat::{Float, Round, Status};
use sass::{Modifier as M, Opcode};

use super::*;

/// Singles at which things change.
pub const SINGLES: [u32; 24] = [
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x0080_0001,
    0x3f80_0000,
    0xbf80_0000,
    0x3f7f_ffff,
    0x3f80_0001,
    0x4000_0000,
    0x3f00_0000,
    0x3380_0000,
    0x4b00_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_1234,
    0x1f80_0000,
    0x5f00_0000,
];

/// A random single: any bits, or numbers near one another so that sums cancel.
pub fn random_single(random: &mut Random) -> u32 {
    match random.word() % 4 {
        0 => random.word(),
        1 => 0x3f80_0000 + random.word() % 0x0100_0000,
        2 => (random.word() & 0x8000_0000) | (0x3f00_0000 + random.word() % 0x0080_0000),
        _ => random.word() & 0x80ff_ffff,
    }
}

fn singles(random: usize) -> Vec<(u32, u32, u32)> {
    let mut cases = Vec::new();
    for &a in &SINGLES {
        for &b in &SINGLES {
            for &c in &SINGLES[..20] {
                cases.push((a, b, c));
            }
        }
    }
    let mut source = Random::new(5);
    for _ in 0..random {
        let (a, b) = (random_single(&mut source), random_single(&mut source));
        // Often an addend that nearly cancels the product.
        let c = if source.word().is_multiple_of(3) {
            let product = f32::from_bits(a) * f32::from_bits(b);
            (-product)
                .to_bits()
                .wrapping_add(source.word() % 5)
                .wrapping_sub(2)
        } else {
            random_single(&mut source)
        };
        cases.push((a, b, c));
    }
    cases
}

pub const ROUNDINGS: [(Option<M>, Round); 4] = [
    (None, Round::NearestTiesToEven),
    (Some(M::RM), Round::TowardNegative),
    (Some(M::RP), Round::TowardPositive),
    (Some(M::RZ), Round::TowardZero),
];

fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

fn finish(value: Single, ftz: bool, saturate: bool) -> u32 {
    let mut bits = if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits() as u32
    };
    if ftz {
        bits = flush(bits);
    }
    if saturate {
        let number = f32::from_bits(bits);
        bits = if number.is_nan() || number <= 0.0 {
            0
        } else {
            number.min(1.0).to_bits()
        };
    }
    bits
}

fn check(
    opcode: Opcode,
    modifiers: &[M],
    cases: &[(u32, u32, u32)],
    operands: &[Operand],
    reference: impl Fn(u32, u32, u32) -> u32,
) {
    let i = instruction(opcode, modifiers, operands);
    in_warps(cases, |lanes| {
        let mut w = warp();
        set(&mut w, 1, |i| lanes[i].0);
        set(&mut w, 2, |i| lanes[i].1);
        set(&mut w, 3, |i| lanes[i].2);
        let after = run(&i, &w);
        for (lane, &(a, b, c)) in lanes.iter().enumerate() {
            let expected = reference(a, b, c);
            assert_eq!(
                after.registers[0][lane],
                expected,
                "{} of {a:#010x} {b:#010x} {c:#010x}: {:#010x}, not {expected:#010x}",
                i.display(0),
                after.registers[0][lane],
            );
        }
    });
}

#[test]
fn sums_products_and_fused_products_in_every_rounding() {
    let cases = singles(6000);
    let number = |bits: u32| Single::from_bits(u128::from(bits));
    for (modifier, round) in ROUNDINGS {
        for ftz in [false, true] {
            for saturate in [false, true] {
                let mut modifiers = Vec::new();
                if ftz {
                    modifiers.push(M::FTZ);
                }
                modifiers.extend(modifier);
                if saturate {
                    modifiers.push(M::SAT);
                }
                let source = |bits: u32| number(if ftz { flush(bits) } else { bits });
                check(
                    Opcode::FADD,
                    &modifiers,
                    &cases,
                    &[r(0), r(1), r(2)],
                    |a, b, _| finish(source(a).add_r(source(b), round).value, ftz, saturate),
                );
                check(
                    Opcode::FMUL,
                    &modifiers,
                    &cases,
                    &[r(0), r(1), r(2)],
                    |a, b, _| finish(source(a).mul_r(source(b), round).value, ftz, saturate),
                );
                check(
                    Opcode::FFMA,
                    &modifiers,
                    &cases,
                    &[r(0), r(1), r(2), r(3)],
                    |a, b, c| {
                        let value = source(a).mul_add_r(source(b), source(c), round).value;
                        finish(value, ftz, saturate)
                    },
                );
            }
        }
    }
}

#[test]
fn signs_of_sources() {
    let cases = singles(1000);
    let number = |bits: u32| Single::from_bits(u128::from(bits));
    let both = Adjust {
        negate: true,
        absolute: true,
        invert: false,
    };
    let operands = [r(0), adjusted(1, both), minus(2)];
    check(Opcode::FADD, &[], &cases, &operands, |a, b, _| {
        let sum = number(a | 0x8000_0000).add_r(number(b ^ 0x8000_0000), Round::NearestTiesToEven);
        finish(sum.value, false, false)
    });
    let operands = [r(0), minus(1), r(2), minus(3)];
    check(Opcode::FFMA, &[], &cases, &operands, |a, b, c| {
        let value = number(a ^ 0x8000_0000)
            .mul_add_r(number(b), number(c ^ 0x8000_0000), Round::NearestTiesToEven)
            .value;
        finish(value, false, false)
    });
}

#[test]
fn scaled_products_round_once() {
    let cases = singles(2000);
    for (modifier, exponent) in [(M::D8, -3), (M::D2, -1), (M::M2, 1), (M::M8, 3)] {
        for (rounding, round) in ROUNDINGS {
            let mut modifiers = vec![modifier];
            modifiers.extend(rounding);
            check(
                Opcode::FMUL,
                &modifiers,
                &cases,
                &[r(0), r(1), r(2)],
                |a, b, _| {
                    let wide = |bits: u32| f64::from(f32::from_bits(bits));
                    // Exact in double precision.
                    let product = wide(a) * wide(b) * 2f64.powi(exponent);
                    let value =
                        rustc_apfloat::ieee::Double::from_bits(u128::from(product.to_bits()));
                    let mut loses = false;
                    let single: Single =
                        rustc_apfloat::FloatConvert::convert_r(value, round, &mut loses).value;
                    finish(single, false, false)
                },
            );
        }
    }
}

#[test]
fn zero_times_anything_is_zero_with_fmz() {
    let operands = [r(0), r(1), r(2), r(3)];
    let cases = [(0, 0x7f80_0000, 0x4000_0000), (0x7fc0_0000, 1, 0xbf80_0000)];
    check(Opcode::FFMA, &[M::FMZ], &cases, &operands, |_, _, c| c);
}

#[test]
fn minimum_maximum_and_nan() {
    let cases = singles(2000);
    for ftz in [false, true] {
        for nan in [false, true] {
            for minimum in [false, true] {
                let mut modifiers = Vec::new();
                if ftz {
                    modifiers.push(M::FTZ);
                }
                if nan {
                    modifiers.push(M::NAN);
                }
                let operands = [r(0), r(1), r(2), p(7, !minimum)];
                check(Opcode::FMNMX, &modifiers, &cases, &operands, |a, b, _| {
                    let (a, b) = if ftz { (flush(a), flush(b)) } else { (a, b) };
                    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
                    match (x.is_nan(), y.is_nan()) {
                        (true, true) => 0x7fff_ffff,
                        (true, false) | (false, true) if nan => 0x7fff_ffff,
                        (true, false) => b,
                        (false, true) => a,
                        (false, false) => {
                            let less = x < y || x == y && a >> 31 > b >> 31;
                            if less == minimum { a } else { b }
                        }
                    }
                });
            }
        }
    }
}

#[test]
fn comparisons_with_nan() {
    use std::cmp::Ordering::*;
    let table: [(M, &[Option<std::cmp::Ordering>]); 16] = [
        (M::F, &[]),
        (M::LT, &[Some(Less)]),
        (M::EQ, &[Some(Equal)]),
        (M::LE, &[Some(Less), Some(Equal)]),
        (M::GT, &[Some(Greater)]),
        (M::NE, &[Some(Less), Some(Greater)]),
        (M::GE, &[Some(Greater), Some(Equal)]),
        (M::NUM, &[Some(Less), Some(Equal), Some(Greater)]),
        (M::NAN, &[None]),
        (M::LTU, &[Some(Less), None]),
        (M::EQU, &[Some(Equal), None]),
        (M::LEU, &[Some(Less), Some(Equal), None]),
        (M::GTU, &[Some(Greater), None]),
        (M::NEU, &[Some(Less), Some(Greater), None]),
        (M::GEU, &[Some(Greater), Some(Equal), None]),
        (M::T, &[Some(Less), Some(Equal), Some(Greater), None]),
    ];
    let cases = singles(500);
    for (modifier, holds) in table {
        let operands = [p(0, false), p(1, false), r(1), r(2), pt()];
        let i = instruction(Opcode::FSETP, &[modifier, M::AND], &operands);
        let set_one = instruction(
            Opcode::FSET,
            &[M::BF, modifier, M::AND],
            &[r(0), r(1), r(2), pt()],
        );
        in_warps(&cases, |lanes| {
            let mut w = warp();
            set(&mut w, 1, |i| lanes[i].0);
            set(&mut w, 2, |i| lanes[i].1);
            let after = run(&i, &w);
            let ones = run(&set_one, &w);
            for lane in 0..32 {
                let order =
                    f32::from_bits(lanes[lane].0).partial_cmp(&f32::from_bits(lanes[lane].1));
                let expected = holds.contains(&order);
                assert_eq!(
                    after.predicates[0] >> lane & 1 == 1,
                    expected,
                    "{modifier:?}"
                );
                assert_eq!(
                    after.predicates[1] >> lane & 1 == 1,
                    !expected,
                    "{modifier:?}"
                );
                assert_eq!(
                    ones.registers[0][lane],
                    if expected { 0x3f80_0000 } else { 0 }
                );
            }
        });
    }
}

/// Where FCHK says that the fast division is enough, the compiler's sequence gives the exact result.
#[test]
fn the_fast_division_is_right_where_fchk_allows_it() {
    let check = instruction(Opcode::FCHK, &[], &[p(0, false), r(1), r(2)]);
    let mut fast = 0;
    in_warps(&singles(20_000), |lanes| {
        let mut w = warp();
        set(&mut w, 1, |i| lanes[i].0);
        set(&mut w, 2, |i| lanes[i].1);
        let after = run(&check, &w);
        for (lane, &(a, b, _)) in lanes.iter().enumerate() {
            if after.predicates[0] >> lane & 1 == 1 {
                continue;
            }
            fast += 1;
            let (a, b) = (f32::from_bits(a), f32::from_bits(b));
            let seed = 1.0 / b;
            let reciprocal = seed.mul_add((-b).mul_add(seed, 1.0), seed);
            let quotient = a.mul_add(reciprocal, 0.0);
            let quotient = reciprocal.mul_add((-b).mul_add(quotient, a), quotient);
            let result = reciprocal.mul_add((-b).mul_add(quotient, a), quotient);
            let exact = Single::from_bits(u128::from(a.to_bits())).div_r(
                Single::from_bits(u128::from(b.to_bits())),
                Round::NearestTiesToEven,
            );
            assert!(exact.status == Status::OK || exact.status == Status::INEXACT);
            assert_eq!(
                result.to_bits(),
                exact.value.to_bits() as u32,
                "{a:e} / {b:e}"
            );
        }
    });
    assert!(fast > 5000);
}

#[test]
fn special_functions_flush_and_round() {
    let one = |modifier: M, a: u32| {
        let i = instruction(Opcode::MUFU, &[modifier], &[r(0), r(1)]);
        let mut w = warp();
        set(&mut w, 1, |_| a);
        f32::from_bits(run(&i, &w).registers[0][5])
    };
    assert_eq!(one(M::RCP, 4f32.to_bits()), 0.25);
    assert_eq!(one(M::RCP, 1), f32::INFINITY);
    assert_eq!(one(M::RCP, 0x8000_0000), f32::NEG_INFINITY);
    assert_eq!(one(M::RCP, 2e38f32.to_bits()), 0.0);
    assert_eq!(one(M::RSQ, 0.25f32.to_bits()), 2.0);
    assert_eq!(one(M::SQRT, 2f32.to_bits()), 2f32.sqrt());
    assert_eq!(one(M::EX2, (-3f32).to_bits()), 0.125);
    assert_eq!(one(M::EX2, (-130f32).to_bits()), 0.0);
    assert_eq!(one(M::LG2, 8f32.to_bits()), 3.0);
    assert_eq!(one(M::LG2, 0), f32::NEG_INFINITY);
    assert!(one(M::LG2, (-1f32).to_bits()).is_nan());
    assert_eq!(one(M::SIN, 0.25f32.to_bits()), 1.0);
    assert_eq!(one(M::COS, 1000f32.to_bits()), 1.0);
    assert_eq!(one(M::TANH, f32::INFINITY.to_bits()), 1.0);
    let seed = |modifier: M, x: f64| {
        let i = instruction(Opcode::MUFU, &[modifier], &[r(0), r(1)]);
        let mut w = warp();
        set(&mut w, 1, |_| (x.to_bits() >> 32) as u32);
        f64::from_bits(u64::from(run(&i, &w).registers[0][0]) << 32)
    };
    assert!((seed(M::RCP64H, 3.0) * 3.0 - 1.0).abs() < 1e-5);
    assert!((seed(M::RSQ64H, 7.0) * 7f64.sqrt() - 1.0).abs() < 1e-5);
    assert_eq!(seed(M::RCP64H, 0.0), f64::INFINITY);
    assert_eq!(seed(M::RCP64H, f64::NEG_INFINITY), -0.0);
    assert!(seed(M::RCP64H, f64::NAN).is_nan());
}
