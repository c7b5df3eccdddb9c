//! Matrix instructions: fragment layouts of the PTX manual with exact integers (`layout`), the rule of
//! accumulation against an independent model (`rule`) and against results of the machines
//! (`measured`), and examples from the literature.

mod layout;
mod literature;
mod measured;
mod rule;

use sass::{Modifier as M, Opcode};

use super::*;
use crate::rounding::{f32_to_brain, f32_to_half, half_to_f32};

/// Small random integers, which every format and accumulator holds exactly.
fn small(random: &mut Random) -> i32 {
    (random.word() % 9) as i32 - 4
}

/// Lays out A (16 × k), B (k × 8) and C (16 × 8) as PTX does for two elements in a register.
fn halves(k: usize, single: bool, brain: bool) {
    let mut random = Random::new(k as u64 + 100);
    let a: Vec<Vec<i32>> = (0..16)
        .map(|_| (0..k).map(|_| small(&mut random)).collect())
        .collect();
    let b: Vec<Vec<i32>> = (0..k)
        .map(|_| (0..8).map(|_| small(&mut random)).collect())
        .collect();
    let c: Vec<Vec<i32>> = (0..16)
        .map(|_| (0..8).map(|_| small(&mut random)).collect())
        .collect();
    let encode = |x: i32| {
        if brain {
            f32_to_brain(x as f32)
        } else {
            f32_to_half(x as f32)
        }
    };
    let mut w = warp();
    for lane in 0..32 {
        let (group, within) = (lane / 4, lane % 4);
        for index in 0..k / 4 {
            // PTX: row = group for even registers, group + 8 for odd ones; column = 2 within, + 8
            // for the second pair of registers.
            let row = group + 8 * (index % 2);
            let column = 2 * within + 8 * (index / 2);
            w.registers[8 + index][lane] =
                encode(a[row][column]) | encode(a[row][column + 1]) << 16;
        }
        for index in 0..k / 8 {
            let row = 2 * within + 8 * index;
            w.registers[16 + index][lane] = encode(b[row][group]) | encode(b[row + 1][group]) << 16;
        }
        for half in 0..2 {
            let (row, column) = (group + 8 * half, 2 * within);
            if single {
                for j in 0..2 {
                    w.registers[20 + 2 * half + j][lane] = (c[row][column + j] as f32).to_bits();
                }
            } else {
                w.registers[20 + half][lane] = f32_to_half(c[row][column] as f32)
                    | f32_to_half(c[row][column + 1] as f32) << 16;
            }
        }
    }
    let mut modifiers = vec![if k == 16 { M::N16816 } else { M::N1688 }];
    modifiers.push(if single { M::F32 } else { M::F16 });
    if brain {
        modifiers.push(M::BF16);
    }
    let after = run(
        &instruction(Opcode::HMMA, &modifiers, &[r(0), r(8), r(16), r(20)]),
        &w,
    );
    for lane in 0..32 {
        let (group, within) = (lane / 4, lane % 4);
        for half in 0..2 {
            for j in 0..2 {
                let (row, column) = (group + 8 * half, 2 * within + j);
                let expected =
                    c[row][column] + (0..k).map(|l| a[row][l] * b[l][column]).sum::<i32>();
                let found = if single {
                    f32::from_bits(after.registers[2 * half + j][lane])
                } else {
                    half_to_f32(after.registers[half][lane] >> (16 * j) & 0xffff)
                };
                assert_eq!(found, expected as f32);
            }
        }
    }
}

/// REGRESSIONS F5: the shapes of FP16 and BF16 products; integers, TF32 and the rest below.
#[test]
fn hmma_layouts() {
    for k in [8, 16] {
        halves(k, true, false);
        halves(k, false, false);
        halves(k, true, true);
    }
}

#[test]
fn hmma_tf32_layout() {
    let mut random = Random::new(55);
    let a: Vec<Vec<i32>> = (0..16)
        .map(|_| (0..8).map(|_| small(&mut random)).collect())
        .collect();
    let b: Vec<Vec<i32>> = (0..8)
        .map(|_| (0..8).map(|_| small(&mut random)).collect())
        .collect();
    let mut w = warp();
    for lane in 0..32 {
        let (group, within) = (lane / 4, lane % 4);
        for index in 0..4 {
            let (row, column) = (group + 8 * (index % 2), within + 4 * (index / 2));
            w.registers[8 + index][lane] = (a[row][column] as f32).to_bits();
        }
        for index in 0..2 {
            w.registers[16 + index][lane] = (b[within + 4 * index][group] as f32).to_bits();
        }
    }
    let operands = [r(0), r(8), r(16), r(255)];
    let i = instruction(Opcode::HMMA, &[M::N1688, M::F32, M::TF32], &operands);
    let after = run(&i, &w);
    for lane in 0..32 {
        for register in 0..4 {
            let row = lane / 4 + 8 * (register / 2);
            let column = 2 * (lane % 4) + register % 2;
            let expected: i32 = (0..8).map(|l| a[row][l] * b[l][column]).sum();
            assert_eq!(
                f32::from_bits(after.registers[register][lane]),
                expected as f32
            );
        }
    }
}

/// One element of HMMA.16816.F32 with given products in row 0, column 0.
fn dot(a: &[f32], b: &[f32], c: f32) -> f32 {
    let mut w = warp();
    for column in 0..16 {
        let (index, lane) = (2 * (column / 8), column % 8 / 2);
        w.registers[8 + index][lane] |= f32_to_half(a[column]) << (16 * (column % 2));
        let (index, lane) = (column / 8, column % 8 / 2);
        w.registers[16 + index][lane] |= f32_to_half(b[column]) << (16 * (column % 2));
    }
    w.registers[20][0] = c.to_bits();
    let i = instruction(
        Opcode::HMMA,
        &[M::N16816, M::F32],
        &[r(0), r(8), r(16), r(20)],
    );
    f32::from_bits(run(&i, &w).registers[0][0])
}

/// The rule found on Ampere: terms are cut 24 bits below the largest, sums cut to single precision.
#[test]
fn accumulation_truncates() {
    let zeros = [0f32; 16];
    let with = |values: &[(usize, f32)]| {
        let mut v = zeros;
        for &(index, value) in values {
            v[index] = value;
        }
        v
    };
    let ones = [1f32; 16];
    // A product of 2^-24 beside 1 survives alignment but not the cut to 23 fraction bits ...
    let tiny = 2f32.powi(-24);
    assert_eq!(dot(&with(&[(0, tiny)]), &ones, 1.0), 1.0);
    // ... and two of them make one last bit.
    assert_eq!(
        dot(&with(&[(0, tiny), (1, tiny)]), &ones, 1.0),
        1.0 + 2f32.powi(-23)
    );
    // In different halves of K each is cut by itself.
    assert_eq!(dot(&with(&[(0, tiny), (8, tiny)]), &ones, 1.0), 1.0);
    // 2^-24 is a denormal half: products below 2^-24 beside 1 vanish before the sum.
    let small = with(&[(0, tiny), (1, tiny)]);
    let mut halves = ones;
    halves[0] = 0.5;
    halves[1] = 0.5;
    assert_eq!(dot(&small, &halves, 1.0), 1.0);
    // Negative sums are cut towards zero too.
    assert_eq!(dot(&with(&[(0, -tiny)]), &ones, -1.0), -1.0);
    assert_eq!(dot(&with(&[(0, f32::INFINITY)]), &ones, 1.0), f32::INFINITY);
    let opposite = with(&[(0, f32::INFINITY), (1, f32::NEG_INFINITY)]);
    assert_eq!(dot(&opposite, &ones, 1.0).to_bits(), 0x7fff_ffff);
}

#[test]
fn imma_layout_and_saturation() {
    let mut random = Random::new(77);
    let a: Vec<Vec<i32>> = (0..16)
        .map(|_| (0..32).map(|_| random.word() as i8 as i32).collect())
        .collect();
    let b: Vec<Vec<i32>> = (0..32)
        .map(|_| (0..8).map(|_| random.word() as u8 as i32).collect())
        .collect();
    let mut w = warp();
    for lane in 0..32 {
        let (group, within) = (lane / 4, lane % 4);
        for index in 0..4 {
            let (row, first) = (group + 8 * (index % 2), 4 * within + 16 * (index / 2));
            let bytes = [0, 1, 2, 3].map(|e| a[row][first + e] as u8);
            w.registers[8 + index][lane] = u32::from_le_bytes(bytes);
        }
        for index in 0..2 {
            let bytes = [0, 1, 2, 3].map(|e| b[4 * within + 16 * index + e][group] as u8);
            w.registers[16 + index][lane] = u32::from_le_bytes(bytes);
        }
        for index in 0..4 {
            w.registers[20 + index][lane] = if lane % 2 == 0 { i32::MAX as u32 } else { 5 };
        }
    }
    for saturate in [false, true] {
        let mut modifiers = vec![M::N16832, M::S8, M::U8];
        if saturate {
            modifiers.push(M::SAT);
        }
        let operands = [
            r(0),
            selected(8, Select::Row),
            selected(16, Select::Col),
            r(20),
        ];
        let after = run(&instruction(Opcode::IMMA, &modifiers, &operands), &w);
        for lane in 0..32 {
            for register in 0..4 {
                let row = lane / 4 + 8 * (register / 2);
                let column = 2 * (lane % 4) + register % 2;
                let c = if lane % 2 == 0 {
                    i64::from(i32::MAX)
                } else {
                    5
                };
                let sum = c
                    + (0..32)
                        .map(|l| i64::from(a[row][l]) * i64::from(b[l][column]))
                        .sum::<i64>();
                let expected = if saturate {
                    sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
                } else {
                    sum as u32
                };
                assert_eq!(after.registers[register][lane], expected);
            }
        }
    }
}

#[test]
fn dmma_layout() {
    let mut random = Random::new(78);
    let mut number = || f64::from(small(&mut random)) + 0.25;
    let a: Vec<Vec<f64>> = (0..8).map(|_| (0..4).map(|_| number()).collect()).collect();
    let b: Vec<Vec<f64>> = (0..4).map(|_| (0..8).map(|_| number()).collect()).collect();
    let c: Vec<Vec<f64>> = (0..8).map(|_| (0..8).map(|_| number()).collect()).collect();
    let mut w = warp();
    set_wide(&mut w, 8, |lane| a[lane / 4][lane % 4].to_bits());
    set_wide(&mut w, 10, |lane| b[lane % 4][lane / 4].to_bits());
    for j in 0..2 {
        set_wide(&mut w, 12 + 2 * j, |lane| {
            c[lane / 4][2 * (lane % 4) + j].to_bits()
        });
    }
    let after = run(
        &instruction(Opcode::DMMA, &[M::N884], &[r(0), r(8), r(10), r(12)]),
        &w,
    );
    for lane in 0..32 {
        for j in 0..2 {
            let (row, column) = (lane / 4, 2 * (lane % 4) + j);
            let expected = (0..4).fold(c[row][column], |s, l| a[row][l].mul_add(b[l][column], s));
            assert_eq!(f64::from_bits(wide(&after, 2 * j, lane)), expected);
        }
    }
}

#[test]
fn movm_transposes() {
    let i = instruction(Opcode::MOVM, &[M::N16, M::MT88], &[r(0), r(1)]);
    let mut w = warp();
    let element = |row: usize, column: usize| (100 * row + column) as u32;
    set(&mut w, 1, |lane| {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        element(row, column) | element(row, column + 1) << 16
    });
    let after = run(&i, &w);
    for lane in 0..32 {
        let (row, column) = (lane / 4, 2 * (lane % 4));
        let expected = element(column, row) | element(column + 1, row) << 16;
        assert_eq!(after.registers[0][lane], expected);
    }
}

/// An element's significand as a number in [1, 2), or below 1 if denormal, and its exponent, as
/// MMA-Sim takes them; zero has exponent -126.
fn parts(value: f64, least: i32) -> (f64, i32) {
    if value == 0.0 {
        return (0.0, -126);
    }
    let exponent = (value.abs().log2().floor() as i32).max(least);
    (value / 2f64.powi(exponent), exponent)
}

/// One step of MMA-Sim's `nv_fused_dot_add` with 24 fraction bits, in double precision.
fn reference_step(a: &[f64], b: &[f64], c: f64, least: i32, single: bool) -> f64 {
    let exact: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>() + c;
    if !exact.is_finite() {
        return exact;
    }
    let mut terms = vec![parts(c, -126)];
    for (&x, &y) in a.iter().zip(b) {
        let ((sx, ex), (sy, ey)) = (parts(x, least), parts(y, least));
        terms.push((sx * sy, ex + ey));
    }
    let largest = terms.iter().map(|t| t.1).max().unwrap();
    let sum: f64 = terms
        .iter()
        .map(|&(s, e)| (s * 2f64.powi(24 + e - largest)).trunc() * 2f64.powi(-24))
        .sum();
    let sum = sum * 2f64.powi(largest);
    if single {
        let (s, e) = parts(sum, -126);
        let cut = (s * 2f64.powi(23)).trunc() * 2f64.powi(-23) * 2f64.powi(e);
        if cut.abs() >= 2f64.powi(128) {
            f64::INFINITY.copysign(cut)
        } else {
            cut
        }
    } else {
        f64::from(half_to_f32(crate::rounding::narrow(
            sum,
            crate::rounding::HALF,
            crate::rounding::Rounding::Nearest,
        )))
    }
}

/// Random elements of wide range against MMA-Sim's rule.
#[test]
fn accumulation_follows_the_published_rule() {
    let mut random = Random::new(91);
    let shapes = [
        (M::N16816, 16, None, 2),
        (M::N1688, 8, None, 1),
        (M::N16816, 16, Some(M::BF16), 2),
        (M::N1688, 8, Some(M::TF32), 2),
    ];
    for (shape, k, kind, steps) in shapes {
        for single in [true, false] {
            if kind.is_some() && !single {
                continue;
            }
            for round in 0..40 {
                let mut w = warp();
                let infinities = round % 8 == 7;
                for row in 8..20 {
                    for lane in 0..32 {
                        w.registers[row][lane] = match kind {
                            Some(M::TF32) => super::float::random_single(&mut random) & 0x3fff_ffff,
                            Some(_) => random.word() & 0xbfff_bfff,
                            None => random.word(),
                        };
                        if kind.is_none() && !infinities {
                            w.registers[row][lane] &= 0xbbff_bbff;
                        }
                    }
                }
                for row in 20..24 {
                    for lane in 0..32 {
                        w.registers[row][lane] = if single {
                            ((random.word() as i32 as f32)
                                * 2f32.powi((random.word() % 40) as i32 - 50))
                            .to_bits()
                        } else {
                            random.word() & 0xbbff_bbff
                        };
                    }
                }
                let mut modifiers = vec![shape, if single { M::F32 } else { M::F16 }];
                modifiers.extend(kind);
                let operands = [r(0), r(8), r(16), r(20)];
                let after = run(&instruction(Opcode::HMMA, &modifiers, &operands), &w);
                let per_register = if kind == Some(M::TF32) { 1 } else { 2 };
                let value = |row: usize, lane: usize, part: usize| -> f64 {
                    let word = w.registers[row][lane];
                    f64::from(match kind {
                        Some(M::TF32) => f32::from_bits(word & 0xffff_e000),
                        Some(_) => f32::from_bits(word >> (16 * part) << 16),
                        None => half_to_f32(word >> (16 * part) & 0xffff),
                    })
                };
                let least = if kind.is_none() { -14 } else { -126 };
                for lane in 0..32 {
                    for half in 0..2 {
                        for j in 0..2 {
                            let column = 2 * (lane % 4) + j;
                            let mut c = if single {
                                f64::from(f32::from_bits(w.registers[20 + 2 * half + j][lane]))
                            } else {
                                let word = w.registers[20 + half][lane];
                                f64::from(half_to_f32(word >> (16 * j) & 0xffff))
                            };
                            let element = |l: usize, of_a: bool| {
                                let quarter = l / (4 * per_register);
                                let within = l % (4 * per_register) / per_register;
                                let part = l % per_register;
                                if of_a {
                                    value(8 + 2 * quarter + half, lane / 4 * 4 + within, part)
                                } else {
                                    value(16 + quarter, 4 * column + within, part)
                                }
                            };
                            for step in 0..steps {
                                let range = step * k / steps..(step + 1) * k / steps;
                                let a: Vec<f64> = range.clone().map(|l| element(l, true)).collect();
                                let b: Vec<f64> = range.map(|l| element(l, false)).collect();
                                c = reference_step(&a, &b, c, least, single);
                            }
                            let found = f64::from(if single {
                                f32::from_bits(after.registers[2 * half + j][lane])
                            } else {
                                half_to_f32(after.registers[half][lane] >> (16 * j) & 0xffff)
                            });
                            assert!(
                                found == c || found.is_nan() && c.is_nan(),
                                "{modifiers:?} lane {lane}: {found:e}, not {c:e}"
                            );
                        }
                    }
                }
            }
        }
    }
}
