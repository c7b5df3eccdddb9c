//! Half precision and brain floats against soft floats.

use rustc_apfloat::ieee::{BFloat, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use sass::{Modifier as M, Opcode};

use super::*;

const HALVES: [u32; 18] = [
    0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x401, 0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x4000, 0x1400,
    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
];

fn words(random: usize) -> Vec<(u32, u32, u32)> {
    let mut cases = Vec::new();
    for &a in &HALVES {
        for &b in &HALVES {
            for &c in &HALVES {
                cases.push((a | b << 16, b | c << 16, c | a << 16));
            }
        }
    }
    let mut source = Random::new(31);
    cases.extend((0..random).map(|_| (source.word(), source.word(), source.word())));
    cases
}

fn each(i: &Instruction, cases: &[(u32, u32, u32)], reference: impl Fn(u32, u32, u32) -> u32) {
    in_warps(cases, |lanes| {
        let mut w = warp();
        set(&mut w, 1, |i| lanes[i].0);
        set(&mut w, 2, |i| lanes[i].1);
        set(&mut w, 3, |i| lanes[i].2);
        let after = run(i, &w);
        for (lane, &(a, b, c)) in lanes.iter().enumerate() {
            for shift in [0, 16] {
                let part = |word: u32| word >> shift & 0xffff;
                let expected = reference(part(a), part(b), part(c));
                assert_eq!(
                    part(after.registers[0][lane]),
                    expected,
                    "{} of {:#x} {:#x} {:#x}",
                    i.display(0),
                    part(a),
                    part(b),
                    part(c)
                );
            }
        }
    });
}

fn bits<F: Float>(value: F) -> u32 {
    if value.is_nan() {
        0x7fff
    } else {
        value.to_bits() as u32
    }
}

#[test]
fn half_sums_products_and_fused_products() {
    let cases = words(4000);
    let number = |bits: u32| Half::from_bits(u128::from(bits));
    let near = Round::NearestTiesToEven;
    each(
        &instruction(Opcode::HADD2, &[], &[r(0), r(1), r(2)]),
        &cases,
        |a, b, _| bits(number(a).add_r(number(b), near).value),
    );
    each(
        &instruction(Opcode::HMUL2, &[], &[r(0), r(1), minus(2)]),
        &cases,
        |a, b, _| bits(number(a).mul_r(-number(b), near).value),
    );
    each(
        &instruction(Opcode::HFMA2, &[], &[r(0), r(1), r(2), r(3)]),
        &cases,
        |a, b, c| bits(number(a).mul_add_r(number(b), number(c), near).value),
    );
    each(
        &instruction(Opcode::HFMA2, &[M::MMA], &[r(0), r(1), r(2), r(3)]),
        &cases,
        |a, b, c| bits(number(a).mul_add_r(number(b), number(c), near).value),
    );
    each(
        &instruction(Opcode::HFMA2, &[M::RELU], &[r(0), r(1), r(2), r(3)]),
        &cases,
        |a, b, c| {
            let result = bits(number(a).mul_add_r(number(b), number(c), near).value);
            if result & 0x8000 != 0 { 0 } else { result }
        },
    );
    each(
        &instruction(Opcode::HMUL2, &[M::SAT], &[r(0), r(1), r(2)]),
        &cases,
        |a, b, _| {
            let result = bits(number(a).mul_r(number(b), near).value);
            if result & 0x8000 != 0 || result > 0x7c00 {
                0
            } else {
                result.min(0x3c00)
            }
        },
    );
}

#[test]
fn brain_float_products() {
    let cases = words(4000);
    let number = |bits: u32| BFloat::from_bits(u128::from(bits));
    let near = Round::NearestTiesToEven;
    let i = instruction(Opcode::HFMA2, &[M::BF16_V2], &[r(0), r(1), r(2), r(3)]);
    each(&i, &cases, |a, b, c| {
        bits(number(a).mul_add_r(number(b), number(c), near).value)
    });
    let i = instruction(Opcode::HMUL2, &[M::BF16_V2], &[r(0), r(1), r(2)]);
    each(&i, &cases, |a, b, _| {
        bits(number(a).mul_r(number(b), near).value)
    });
}

#[test]
fn halves_selected_and_widened() {
    // HADD2.F32 R0, -RZ, R1.H1_H1
    for (select, shift) in [(Select::H0H0, 0), (Select::H1H1, 16)] {
        let i = instruction(
            Opcode::HADD2,
            &[M::F32],
            &[r(0), minus(255), selected(1, select)],
        );
        in_warps(&words(2000), |lanes| {
            let mut w = warp();
            set(&mut w, 1, |i| lanes[i].0);
            let after = run(&i, &w);
            for (lane, &(a, _, _)) in lanes.iter().enumerate() {
                let value = Half::from_bits(u128::from(a >> shift & 0xffff));
                let mut loses = false;
                let expected: Single = value.convert(&mut loses).value;
                let expected = if expected.is_nan() {
                    0x7fff_ffff
                } else {
                    expected.to_bits() as u32
                };
                assert_eq!(after.registers[0][lane], expected);
            }
        });
    }
    let i = instruction(
        Opcode::HADD2,
        &[],
        &[r(0), selected(1, Select::H0H0), selected(2, Select::H1H1)],
    );
    let mut w = warp();
    set(&mut w, 1, |_| 0x4000_3c00);
    set(&mut w, 2, |_| 0x4200_0000);
    assert_eq!(run(&i, &w).registers[0][3], 0x4400_4400);
}

#[test]
fn half_minimum_and_comparisons() {
    let cases = words(2000);
    let value = |bits: u32| crate::rounding::half_to_f32(bits);
    for minimum in [true, false] {
        let i = instruction(Opcode::HMNMX2, &[], &[r(0), r(1), r(2), p(7, !minimum)]);
        each(&i, &cases, |a, b, _| {
            let (x, y) = (value(a), value(b));
            match (x.is_nan(), y.is_nan()) {
                (true, true) => 0x7fff,
                (true, false) => b,
                (false, true) => a,
                _ => {
                    let less = x < y || x == y && a >> 15 > b >> 15;
                    if less == minimum { a } else { b }
                }
            }
        });
    }
    let i = instruction(
        Opcode::HSET2,
        &[M::BF, M::GT, M::AND],
        &[r(0), r(1), r(2), pt()],
    );
    each(
        &i,
        &cases,
        |a, b, _| if value(a) > value(b) { 0x3c00 } else { 0 },
    );
    let i = instruction(Opcode::HSET2, &[M::NEU, M::AND], &[r(0), r(1), r(2), pt()]);
    each(
        &i,
        &cases,
        |a, b, _| if value(a) != value(b) { 0xffff } else { 0 },
    );
    let i = instruction(
        Opcode::HSETP2,
        &[M::GE, M::AND],
        &[p(0, false), p(1, false), r(1), r(2), pt()],
    );
    in_warps(&cases, |lanes| {
        let mut w = warp();
        set(&mut w, 1, |i| lanes[i].0);
        set(&mut w, 2, |i| lanes[i].1);
        let after = run(&i, &w);
        for (lane, &(a, b, _)) in lanes.iter().enumerate() {
            let low = value(a & 0xffff) >= value(b & 0xffff);
            let high = value(a >> 16) >= value(b >> 16);
            assert_eq!(after.predicates[0] >> lane & 1 == 1, low);
            assert_eq!(after.predicates[1] >> lane & 1 == 1, high);
        }
    });
}

#[test]
fn conversions_of_every_half() {
    for bits in 0..=0xffffu32 {
        let wide = crate::rounding::half_to_f32(bits);
        let reference = ::half::f16::from_bits(bits as u16).to_f32_const();
        assert_eq!(wide.is_nan(), reference.is_nan());
        if !wide.is_nan() {
            assert_eq!(wide.to_bits(), reference.to_bits());
            assert_eq!(crate::rounding::f32_to_half(wide), bits);
        }
    }
    let mut random = Random::new(33);
    for _ in 0..100_000 {
        let value = f32::from_bits(super::float::random_single(&mut random));
        if !value.is_nan() {
            let expected = u32::from(::half::f16::from_f32_const(value).to_bits());
            assert_eq!(crate::rounding::f32_to_half(value), expected, "{value:e}");
            let expected = u32::from(::half::bf16::from_f32(value).to_bits());
            assert_eq!(crate::rounding::f32_to_brain(value), expected, "{value:e}");
        }
    }
}
