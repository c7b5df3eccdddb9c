//! Conversions against soft floats.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use sass::{Modifier as M, Opcode};

use super::float::{ROUNDINGS, SINGLES, random_single};
use super::*;

const INTEGRAL: [(Option<M>, Round); 4] = [
    (None, Round::NearestTiesToEven),
    (Some(M::FLOOR), Round::TowardNegative),
    (Some(M::CEIL), Round::TowardPositive),
    (Some(M::TRUNC), Round::TowardZero),
];

const INTEGERS: [(M, u32, bool); 8] = [
    (M::U8, 8, false),
    (M::U16, 16, false),
    (M::U32, 32, false),
    (M::U64, 64, false),
    (M::S8, 8, true),
    (M::S16, 16, true),
    (M::S32, 32, true),
    (M::S64, 64, true),
];

fn single_cases() -> Vec<u32> {
    let mut cases = SINGLES.to_vec();
    // Around every power of two, where ranges end and halves fall.
    for exponent in 100..=200u32 {
        for mantissa in [0, 1, 0x40_0000, 0x7f_ffff, 0x3f_ffff, 0x60_0000] {
            cases.push(exponent << 23 | mantissa);
            cases.push(exponent << 23 | mantissa | 0x8000_0000);
        }
    }
    let mut random = Random::new(21);
    cases.extend((0..2000).map(|_| random_single(&mut random)));
    cases
}

fn double_cases() -> Vec<u64> {
    let mut cases: Vec<u64> = single_cases()
        .iter()
        .map(|&bits| f64::from(f32::from_bits(bits)).to_bits())
        .collect();
    for exponent in [
        1u64, 2, 870, 896, 897, 1000, 1022, 1023, 1054, 1055, 1086, 1087, 1150,
    ] {
        for mantissa in [
            0,
            1,
            (1 << 52) - 1,
            1 << 51,
            (1 << 51) + 1,
            1 << 28,
            (1 << 29) - 1,
            3 << 28,
        ] {
            cases.push(exponent << 52 | mantissa);
            cases.push(exponent << 52 | mantissa | 1 << 63);
        }
    }
    let mut random = Random::new(22);
    cases.extend((0..2000).map(|_| random.wide()));
    cases
}

/// An integer of a type from a soft float: saturating; NaN gives the topmost bit alone, as without
/// `.NTZ`.
fn integer<F: Float>(value: F, bits: u32, signed: bool, round: Round) -> u64 {
    if value.is_nan() {
        return if signed {
            (i64::MIN >> (64 - bits)) as u64
        } else {
            1 << (bits - 1)
        };
    }
    let (low, high) = if signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    let mut exact = false;
    let wide = value.to_i128_r(127, round, &mut exact).value;
    wide.clamp(low, high) as u64
}

#[test]
fn floats_to_integers() {
    for (mode, round) in INTEGRAL {
        for (kind, bits, signed) in INTEGERS {
            let pair = bits == 64;
            let mut modifiers = if kind == M::S32 { vec![] } else { vec![kind] };
            modifiers.extend(mode);
            let i = instruction(Opcode::F2I, &modifiers, &[r(0), r(2)]);
            in_warps(&single_cases(), |lanes| {
                let mut w = warp();
                set(&mut w, 2, |lane| lanes[lane]);
                let after = run(&i, &w);
                for (lane, &a) in lanes.iter().enumerate() {
                    let value = Single::from_bits(u128::from(a));
                    let expected = integer(value, bits, signed, round);
                    let found = if pair {
                        wide(&after, 0, lane)
                    } else {
                        u64::from(after.registers[0][lane])
                    };
                    let expected = if pair {
                        expected
                    } else {
                        u64::from(expected as u32)
                    };
                    assert_eq!(found, expected, "{} of {a:#x}", i.display(0));
                }
            });
            let mut modifiers = if kind == M::S32 { vec![] } else { vec![kind] };
            modifiers.push(M::F64);
            modifiers.extend(mode);
            let i = instruction(Opcode::F2I, &modifiers, &[r(0), r(2)]);
            in_warps(&double_cases(), |lanes| {
                let mut w = warp();
                set_wide(&mut w, 2, |lane| lanes[lane]);
                let after = run(&i, &w);
                for (lane, &a) in lanes.iter().enumerate() {
                    let value = Double::from_bits(u128::from(a));
                    let expected = integer(value, bits, signed, round);
                    let (found, expected) = if pair {
                        (wide(&after, 0, lane), expected)
                    } else {
                        (
                            u64::from(after.registers[0][lane]),
                            u64::from(expected as u32),
                        )
                    };
                    assert_eq!(found, expected, "{} of {a:#x}", i.display(0));
                }
            });
        }
    }
}

#[test]
fn integers_to_floats() {
    let mut cases: Vec<u64> = EDGES
        .iter()
        .map(|&e| u64::from(e) << 32 | 0xffff_ffff)
        .collect();
    cases.extend(EDGES.iter().map(|&e| u64::from(e)));
    for k in 0..64 {
        cases.extend([
            1u64 << k,
            (1 << k) - 1,
            (1 << k) + 1,
            (1u64 << k).wrapping_mul(3),
        ]);
    }
    let mut random = Random::new(23);
    cases.extend((0..1000).map(|_| random.wide() >> (random.word() % 64)));
    for (mode, round) in ROUNDINGS {
        for (kind, bits, signed) in INTEGERS {
            for target in [None, Some(M::F16), Some(M::F64)] {
                let mut modifiers: Vec<M> = target.into_iter().collect();
                if kind != M::S32 {
                    modifiers.push(kind);
                }
                modifiers.extend(mode);
                let i = instruction(Opcode::I2F, &modifiers, &[r(0), r(2)]);
                in_warps(&cases, |lanes| {
                    let mut w = warp();
                    set_wide(&mut w, 2, |lane| lanes[lane]);
                    let after = run(&i, &w);
                    for (lane, &a) in lanes.iter().enumerate() {
                        let unused = 64 - bits;
                        let value = if signed {
                            i128::from((a << unused) as i64 >> unused)
                        } else {
                            i128::from(a << unused >> unused)
                        };
                        let (found, expected) = match target {
                            None => (
                                u64::from(after.registers[0][lane]),
                                Single::from_i128_r(value, round).value.to_bits() as u64,
                            ),
                            Some(M::F16) => (
                                u64::from(after.registers[0][lane]),
                                Half::from_i128_r(value, round).value.to_bits() as u64,
                            ),
                            _ => (
                                wide(&after, 0, lane),
                                Double::from_i128_r(value, round).value.to_bits() as u64,
                            ),
                        };
                        assert_eq!(found, expected, "{} of {a:#x}", i.display(0));
                    }
                });
            }
        }
    }
}

#[test]
fn bytes_of_a_register() {
    for (select, shift) in [
        (Select::None, 0),
        (Select::B1, 8),
        (Select::B2, 16),
        (Select::B3, 24),
    ] {
        for (kind, signed) in [(M::U8, false), (M::S8, true)] {
            let i = instruction(Opcode::I2F, &[kind], &[r(0), selected(1, select)]);
            let mut w = warp();
            set(&mut w, 1, |lane| 0x8142_c3f4u32.rotate_left(lane as u32));
            let after = run(&i, &w);
            for lane in 0..32 {
                let byte = (w.registers[1][lane] >> shift) as u8;
                let expected = if signed {
                    f32::from(byte as i8)
                } else {
                    f32::from(byte)
                };
                assert_eq!(after.registers[0][lane], expected.to_bits());
            }
        }
    }
}

fn canonical<F: Float>(value: F, nan: u64) -> u64 {
    if value.is_nan() {
        nan
    } else {
        value.to_bits() as u64
    }
}

#[test]
fn floats_to_shorter_floats() {
    for (mode, round) in ROUNDINGS {
        let mut loses = false;
        let with = |first: M, second: M| {
            let mut modifiers = vec![first, second];
            modifiers.extend(mode);
            modifiers
        };
        let i = instruction(Opcode::F2F, &with(M::F32, M::F64), &[r(0), r(2)]);
        let h = instruction(Opcode::F2F, &with(M::F16, M::F64), &[r(0), r(2)]);
        in_warps(&double_cases(), |lanes| {
            let mut w = warp();
            set_wide(&mut w, 2, |lane| lanes[lane]);
            let (single, half) = (run(&i, &w), run(&h, &w));
            for (lane, &a) in lanes.iter().enumerate() {
                let value = Double::from_bits(u128::from(a));
                let expected: Single = value.convert_r(round, &mut loses).value;
                let expected = canonical(expected, 0x7fff_ffff);
                assert_eq!(
                    u64::from(single.registers[0][lane]),
                    expected,
                    "{a:#x} {round:?}"
                );
                let expected: Half = value.convert_r(round, &mut loses).value;
                assert_eq!(
                    u64::from(half.registers[0][lane]),
                    canonical(expected, 0x7fff)
                );
            }
        });
        let i = instruction(Opcode::F2F, &with(M::F16, M::F32), &[r(0), r(2)]);
        in_warps(&single_cases(), |lanes| {
            let mut w = warp();
            set(&mut w, 2, |lane| lanes[lane]);
            let after = run(&i, &w);
            for (lane, &a) in lanes.iter().enumerate() {
                let value = Single::from_bits(u128::from(a));
                let expected: Half = value.convert_r(round, &mut loses).value;
                let found = u64::from(after.registers[0][lane]);
                assert_eq!(found, canonical(expected, 0x7fff), "{a:#x}");
            }
        });
    }
}

#[test]
fn pairs_of_shorter_floats() {
    for (mode, round) in [
        (None, Round::NearestTiesToEven),
        (Some(M::RZ), Round::TowardZero),
    ] {
        let mut half = vec![M::PACK_AB];
        half.extend(mode);
        let mut brain = vec![M::BF16, M::PACK_AB];
        brain.extend(mode);
        let half = instruction(Opcode::F2FP, &half, &[r(0), r(1), r(2)]);
        let brain = instruction(Opcode::F2FP, &brain, &[r(0), r(1), r(2)]);
        let cases = single_cases();
        in_warps(&cases, |lanes| {
            let mut w = warp();
            set(&mut w, 1, |lane| lanes[lane]);
            set(&mut w, 2, |lane| lanes[31 - lane]);
            let (h, b) = (run(&half, &w), run(&brain, &w));
            let mut loses = false;
            for lane in 0..32 {
                for (row, shift) in [(1, 16), (2, 0)] {
                    let value = Single::from_bits(u128::from(w.registers[row][lane]));
                    let expected: Half = value.convert_r(round, &mut loses).value;
                    let found = h.registers[0][lane] >> shift & 0xffff;
                    assert_eq!(u64::from(found), canonical(expected, 0x7fff));
                    let expected: BFloat = value.convert_r(round, &mut loses).value;
                    let found = b.registers[0][lane] >> shift & 0xffff;
                    assert_eq!(u64::from(found), canonical(expected, 0x7fff));
                }
            }
        });
    }
}

#[test]
fn floats_to_longer_floats_are_exact() {
    let wide_of_single = instruction(Opcode::F2F, &[M::F64, M::F32], &[r(0), r(2)]);
    in_warps(&single_cases(), |lanes| {
        let mut w = warp();
        set(&mut w, 2, |lane| lanes[lane]);
        let after = run(&wide_of_single, &w);
        for (lane, &a) in lanes.iter().enumerate() {
            let value = f64::from(f32::from_bits(a));
            let expected = if value.is_nan() {
                0xfff8_0000_0000_0000
            } else {
                value.to_bits()
            };
            assert_eq!(wide(&after, 0, lane), expected);
        }
    });
    let halves: Vec<u32> = (0..=0xffff).collect();
    let single_of_half = instruction(Opcode::F2F, &[M::F32, M::F16], &[r(0), r(2)]);
    in_warps(&halves, |lanes| {
        let mut w = warp();
        set(&mut w, 2, |lane| lanes[lane]);
        let after = run(&single_of_half, &w);
        let mut loses = false;
        for (lane, &a) in lanes.iter().enumerate() {
            let value = Half::from_bits(u128::from(a));
            let expected: Single = value.convert(&mut loses).value;
            let expected = canonical(expected, 0x7fff_ffff);
            assert_eq!(u64::from(after.registers[0][lane]), expected, "{a:#x}");
        }
    });
}

#[test]
fn floats_to_integral_floats() {
    for (mode, round) in INTEGRAL {
        let modifiers: Vec<M> = mode.into_iter().collect();
        let i = instruction(Opcode::FRND, &modifiers, &[r(0), r(2)]);
        in_warps(&single_cases(), |lanes| {
            let mut w = warp();
            set(&mut w, 2, |lane| lanes[lane]);
            let after = run(&i, &w);
            for (lane, &a) in lanes.iter().enumerate() {
                let value = Single::from_bits(u128::from(a))
                    .round_to_integral(round)
                    .value;
                let found = u64::from(after.registers[0][lane]);
                assert_eq!(found, canonical(value, 0x7fff_ffff), "{a:#x}");
            }
        });
        let mut modifiers = vec![M::F64];
        modifiers.extend(mode);
        let i = instruction(Opcode::FRND, &modifiers, &[r(0), r(2)]);
        in_warps(&double_cases(), |lanes| {
            let mut w = warp();
            set_wide(&mut w, 2, |lane| lanes[lane]);
            let after = run(&i, &w);
            for (lane, &a) in lanes.iter().enumerate() {
                let value = Double::from_bits(u128::from(a))
                    .round_to_integral(round)
                    .value;
                assert_eq!(
                    wide(&after, 0, lane),
                    canonical(value, 0xfff8_0000_0000_0000)
                );
            }
        });
    }
}
