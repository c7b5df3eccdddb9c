//! Integers against arithmetic in 128 bits and descriptions bit by bit.

use sass::{Modifier as M, Opcode, Operand};

use super::*;

/// Runs a three-source instruction `d = op R1, R2, R3` over all triples and compares.
fn three(build: impl Fn() -> Instruction, reference: impl Fn(u32, u32, u32) -> u32) {
    let instruction = build();
    in_warps(&triples(4096), |lanes| {
        let mut w = warp();
        set(&mut w, 1, |i| lanes[i].0);
        set(&mut w, 2, |i| lanes[i].1);
        set(&mut w, 3, |i| lanes[i].2);
        let after = run(&instruction, &w);
        for (lane, &(a, b, c)) in lanes.iter().enumerate() {
            assert_eq!(
                after.registers[0][lane],
                reference(a, b, c),
                "{} of {a:#x} {b:#x} {c:#x}",
                instruction.display(0)
            );
        }
    });
}

fn signed_sources(negate: u32, complement: bool) -> [Operand; 3] {
    [1u8, 2, 3].map(|k| match (negate >> (k - 1) & 1, complement) {
        (0, _) => r(k),
        (_, false) => minus(k),
        (_, true) => not(k),
    })
}

#[test]
fn iadd3_and_its_carries() {
    for negate in 0..8 {
        let [a, b, c] = signed_sources(negate, false);
        let i = instruction(
            Opcode::IADD3,
            &[],
            &[r(0), p(0, false), p(1, false), a, b, c],
        );
        let [a, b, c] = signed_sources(negate, false);
        let plain = instruction(Opcode::IADD3, &[], &[r(0), a, b, c]);
        in_warps(&triples(1024), |lanes| {
            let mut w = warp();
            set(&mut w, 1, |i| lanes[i].0);
            set(&mut w, 2, |i| lanes[i].1);
            set(&mut w, 3, |i| lanes[i].2);
            let after = run(&i, &w);
            assert_eq!(run(&plain, &w).registers[0], after.registers[0]);
            for lane in 0..32 {
                let words = [lanes[lane].0, lanes[lane].1, lanes[lane].2];
                let sum: u128 = words
                    .iter()
                    .enumerate()
                    .map(|(k, &word)| {
                        if negate >> k & 1 == 1 {
                            u128::from(!word) + 1
                        } else {
                            u128::from(word)
                        }
                    })
                    .sum();
                assert_eq!(after.registers[0][lane], sum as u32);
                assert_eq!(after.predicates[0] >> lane & 1 == 1, sum >> 32 >= 1);
                assert_eq!(after.predicates[1] >> lane & 1 == 1, sum >> 32 >= 2);
            }
        });
    }
}

#[test]
fn iadd3_x_adds_two_carries_and_complements() {
    for negate in 0..8 {
        let [a, b, c] = signed_sources(negate, true);
        let i = instruction(
            Opcode::IADD3,
            &[M::X],
            &[
                r(0),
                p(2, false),
                p(3, false),
                a,
                b,
                c,
                p(0, false),
                p(1, true),
            ],
        );
        in_warps(&triples(1024), |lanes| {
            let mut w = warp();
            set(&mut w, 1, |i| lanes[i].0);
            set(&mut w, 2, |i| lanes[i].1);
            set(&mut w, 3, |i| lanes[i].2);
            w.predicates[0] = 0x5a5a_0ff0;
            w.predicates[1] = 0x3333_aaaa;
            let after = run(&i, &w);
            for lane in 0..32 {
                let words = [lanes[lane].0, lanes[lane].1, lanes[lane].2];
                let mut sum: u128 = words
                    .iter()
                    .enumerate()
                    .map(|(k, &word)| u128::from(if negate >> k & 1 == 1 { !word } else { word }))
                    .sum();
                sum += u128::from(w.predicates[0] >> lane & 1);
                sum += u128::from(!w.predicates[1] >> lane & 1);
                assert_eq!(after.registers[0][lane], sum as u32);
                assert_eq!(after.predicates[2] >> lane & 1 == 1, sum >> 32 >= 1);
                assert_eq!(after.predicates[3] >> lane & 1 == 1, sum >> 32 >= 2);
            }
        });
    }
}

/// Adding 64- and 96-bit numbers word by word gives the 128-bit sum.
#[test]
fn carries_chain() {
    let low = instruction(Opcode::IADD3, &[], &[r(8), p(0, false), r(0), r(4), r(255)]);
    let next = |d: u8, a: u8, b: u8, out: u8, carry: u8| {
        instruction(
            Opcode::IADD3,
            &[M::X],
            &[
                r(d),
                p(out, false),
                r(a),
                r(b),
                r(255),
                p(carry, false),
                p(7, true),
            ],
        )
    };
    let mut random = Random::new(7);
    for _ in 0..64 {
        let mut w = warp();
        for row in 0..8 {
            let words: Vec<u32> = (0..32)
                .map(|_| {
                    if random.word().is_multiple_of(3) {
                        u32::MAX
                    } else {
                        random.word()
                    }
                })
                .collect();
            set(&mut w, row, |i| words[i]);
        }
        let before = w.clone();
        w = run(&low, &w);
        w = run(&next(9, 1, 5, 1, 0), &w);
        w = run(&next(10, 2, 6, 2, 1), &w);
        w = run(&next(11, 3, 7, 3, 2), &w);
        for lane in 0..32 {
            let number = |w: &Warp, first: usize| {
                (0..4).fold(0u128, |n, k| {
                    n | u128::from(w.registers[first + k][lane]) << (32 * k)
                })
            };
            let sum = number(&before, 0).wrapping_add(number(&before, 4));
            assert_eq!(number(&w, 8), sum);
        }
    }
}

#[test]
fn imad_low_word() {
    three(
        || instruction(Opcode::IMAD, &[], &[r(0), r(1), r(2), r(3)]),
        |a, b, c| a.wrapping_mul(b).wrapping_add(c),
    );
    three(
        || instruction(Opcode::IMAD, &[M::U32], &[r(0), r(1), r(2), minus(3)]),
        |a, b, c| a.wrapping_mul(b).wrapping_sub(c),
    );
    three(
        || instruction(Opcode::IMAD, &[M::X], &[r(0), r(1), r(2), not(3), pt()]),
        |a, b, c| a.wrapping_mul(b).wrapping_add(!c).wrapping_add(1),
    );
}

#[test]
fn imad_wide_high_and_extended() {
    for signed in [false, true] {
        for negate in [false, true] {
            for extended in [false, true] {
                for high in [false, true] {
                    let mut modifiers = vec![if high { M::HI } else { M::WIDE }];
                    if !signed {
                        modifiers.push(M::U32);
                    }
                    let c = match (negate, extended) {
                        (false, _) => r(4),
                        (true, false) => minus(4),
                        (true, true) => not(4),
                    };
                    let mut operands = vec![r(0), p(1, false), r(2), r(3), c];
                    if extended {
                        modifiers.push(M::X);
                        operands.push(p(0, false));
                    }
                    let i = instruction(Opcode::IMAD, &modifiers, &operands);
                    in_warps(&triples(512), |lanes| {
                        let mut w = warp();
                        set(&mut w, 2, |i| lanes[i].0);
                        set(&mut w, 3, |i| lanes[i].1);
                        let c = |lane: usize| {
                            u64::from(lanes[lane].2) << 32 | u64::from(lanes[lane].0 ^ 0xff)
                        };
                        set_wide(&mut w, 4, c);
                        w.predicates[0] = 0xf0f0_cccc;
                        let after = run(&i, &w);
                        for lane in 0..32 {
                            let (a, b) = (lanes[lane].0, lanes[lane].1);
                            let product = if signed {
                                (i128::from(a as i32) * i128::from(b as i32)) as u64
                            } else {
                                u64::from(a) * u64::from(b)
                            };
                            let mut sum = u128::from(product);
                            sum += u128::from(if negate { !c(lane) } else { c(lane) });
                            if extended {
                                sum += u128::from(w.predicates[0] >> lane & 1);
                            } else if negate {
                                sum += 1;
                            }
                            if high {
                                assert_eq!(after.registers[0][lane], (sum as u64 >> 32) as u32);
                            } else {
                                assert_eq!(wide(&after, 0, lane), sum as u64);
                            }
                            assert_eq!(after.predicates[1] >> lane & 1 == 1, sum >> 64 != 0);
                        }
                    });
                }
            }
        }
    }
}

/// All 256 tables, from registers and with a literal, with the predicate result.
///
/// REGRESSIONS F2: three-input logic, all 256 tables.
#[test]
fn lop3_every_table() {
    for table in 0..=255u32 {
        let i = instruction(
            Opcode::LOP3,
            &[M::LUT],
            &[p(0, false), r(0), r(1), r(2), r(3), imm(table), p(1, false)],
        );
        let mut random = Random::new(u64::from(table));
        let mut w = warp();
        for row in 1..4 {
            let words: Vec<u32> = (0..32).map(|_| random.word()).collect();
            set(&mut w, row, |i| words[i]);
        }
        // The eight minterms in the first lane.
        w.registers[1][0] = 0b1111_0000;
        w.registers[2][0] = 0b1100_1100;
        w.registers[3][0] = 0b1010_1010;
        w.predicates[1] = 0x1248_0000;
        let after = run(&i, &w);
        assert_eq!(after.registers[0][0] & 0xff, table);
        for lane in 0..32 {
            let (a, b, c) = (
                w.registers[1][lane],
                w.registers[2][lane],
                w.registers[3][lane],
            );
            let mut expected = 0;
            for bit in 0..32 {
                let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
                expected |= (table >> index & 1) << bit;
            }
            assert_eq!(after.registers[0][lane], expected, "table {table:#x}");
            let set = expected != 0 || w.predicates[1] >> lane & 1 == 1;
            assert_eq!(after.predicates[0] >> lane & 1 == 1, set);
        }
    }
}

#[test]
fn funnel_shifts() {
    let kinds = [
        (M::S64, 64, true),
        (M::U64, 64, false),
        (M::S32, 32, true),
        (M::U32, 32, false),
    ];
    for right in [false, true] {
        for wrap in [false, true] {
            for high in [false, true] {
                for (kind, bits, signed) in kinds {
                    let mut modifiers = vec![if right { M::R } else { M::L }];
                    if wrap {
                        modifiers.push(M::W);
                    }
                    modifiers.push(kind);
                    if high {
                        modifiers.push(M::HI);
                    }
                    let reference = |low: u32, amount: u32, upper: u32| {
                        let pair = u64::from(upper) << 32 | u64::from(low);
                        let amount = if wrap {
                            amount % bits
                        } else {
                            amount.min(bits)
                        };
                        let shifted: i128 = if right {
                            let value = if signed {
                                i128::from(pair as i64)
                            } else {
                                i128::from(pair)
                            };
                            value >> amount
                        } else {
                            i128::from(pair) << amount
                        };
                        if high {
                            (shifted >> 32) as u32
                        } else {
                            shifted as u32
                        }
                    };
                    three(
                        || instruction(Opcode::SHF, &modifiers, &[r(0), r(1), r(2), r(3)]),
                        reference,
                    );
                    for amount in [0, 1, 5, 31, 32, 33, 63, 64, 65, u32::MAX] {
                        three(
                            || {
                                let operands = [r(0), r(1), imm(amount), r(3)];
                                instruction(Opcode::SHF, &modifiers, &operands)
                            },
                            |low, _, upper| reference(low, amount, upper),
                        );
                    }
                }
            }
        }
    }
}

/// REGRESSIONS F4: SHF.L.W as a rotation.
#[test]
fn a_rotation_is_a_wrapping_funnel_shift() {
    // SHF.L.W.U32.HI R0, R1, 0x18, R1
    let i = instruction(
        Opcode::SHF,
        &[M::L, M::W, M::U32, M::HI],
        &[r(0), r(1), imm(24), r(1)],
    );
    let mut w = warp();
    set(&mut w, 1, |lane| {
        0x1234_5678u32.wrapping_mul(lane as u32 + 1)
    });
    let after = run(&i, &w);
    for lane in 0..32 {
        assert_eq!(
            after.registers[0][lane],
            w.registers[1][lane].rotate_left(24)
        );
    }
}

#[test]
fn lea_scales_and_adds() {
    for shift in [0, 1, 2, 5, 31] {
        three(
            || instruction(Opcode::LEA, &[], &[r(0), r(1), r(2), imm(shift)]),
            |a, b, _| (a << shift).wrapping_add(b),
        );
        three(
            || instruction(Opcode::LEA, &[], &[r(0), minus(1), r(2), imm(shift)]),
            |a, b, _| b.wrapping_sub(a << shift),
        );
        three(
            || instruction(Opcode::LEA, &[M::HI], &[r(0), r(1), r(2), r(3), imm(shift)]),
            |a, b, c| {
                let pair = u64::from(c) << 32 | u64::from(a);
                b.wrapping_add((pair << shift >> 32) as u32)
            },
        );
        three(
            || {
                instruction(
                    Opcode::LEA,
                    &[M::HI, M::SX32],
                    &[r(0), r(1), r(2), imm(shift)],
                )
            },
            |a, b, _| b.wrapping_add(((i64::from(a as i32)) << shift >> 32) as u32),
        );
    }
}

/// LEA and LEA.HI.X make a 64-bit address.
#[test]
fn lea_makes_addresses() {
    let low = instruction(Opcode::LEA, &[], &[r(6), p(0, false), r(1), r(2), imm(3)]);
    let high = instruction(
        Opcode::LEA,
        &[M::HI, M::X],
        &[r(7), r(1), r(3), r(4), imm(3), p(0, false)],
    );
    in_warps(&triples(2048), |lanes| {
        let mut w = warp();
        set(&mut w, 1, |i| lanes[i].0);
        set(&mut w, 2, |i| lanes[i].1);
        set(&mut w, 3, |i| lanes[i].2);
        set(&mut w, 4, |i| lanes[i].1.rotate_left(7));
        let after = run(&high, &run(&low, &w));
        for lane in 0..32 {
            let index = wide_of(w.registers[1][lane], w.registers[4][lane]);
            let base = wide_of(w.registers[2][lane], w.registers[3][lane]);
            assert_eq!(wide(&after, 6, lane), base.wrapping_add(index << 3));
        }
    });
}

fn wide_of(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// REGRESSIONS F2: byte permutations, all selectors.
#[test]
fn prmt_every_selector_of_every_mode() {
    let (a, c) = (0x8382_0100u32, 0x8786_0504u32);
    let bytes: Vec<u32> = [a, c]
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .map(u32::from)
        .collect();
    let assemble = |chosen: [u32; 4]| (0..4).fold(0, |word, k| word | chosen[k] << (8 * k));
    // The default mode: a nibble for each byte, all 65,536 of them.
    let i = instruction(Opcode::PRMT, &[], &[r(0), r(1), r(2), r(3)]);
    for first in (0..0x1_0000u32).step_by(32) {
        let mut w = warp();
        set(&mut w, 1, |_| a);
        set(&mut w, 2, |lane| first + lane as u32);
        set(&mut w, 3, |_| c);
        let after = run(&i, &w);
        for lane in 0..32 {
            let selector = first + lane as u32;
            let chosen = [0, 1, 2, 3].map(|k| {
                let nibble = selector >> (4 * k) & 15;
                let byte = bytes[(nibble & 7) as usize];
                if nibble < 8 {
                    byte
                } else if byte & 0x80 != 0 {
                    0xff
                } else {
                    0
                }
            });
            assert_eq!(
                after.registers[0][lane],
                assemble(chosen),
                "selector {selector:#x}"
            );
        }
    }
    // The tables of the PTX manual, bytes 0 to 3.
    type Table = [[usize; 4]; 4];
    let modes: [(M, Table); 6] = [
        (
            M::F4E,
            [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
        ),
        (
            M::B4E,
            [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]],
        ),
        (M::RC8, [[0; 4], [1; 4], [2; 4], [3; 4]]),
        (
            M::ECL,
            [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]],
        ),
        (
            M::ECR,
            [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
        ),
        (
            M::RC16,
            [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
        ),
    ];
    for (mode, table) in modes {
        let i = instruction(Opcode::PRMT, &[mode], &[r(0), r(1), r(2), r(3)]);
        let mut w = warp();
        set(&mut w, 1, |_| a);
        set(&mut w, 2, |lane| lane as u32);
        set(&mut w, 3, |_| c);
        let after = run(&i, &w);
        for lane in 0..32 {
            let chosen = table[lane & 3].map(|index| bytes[index]);
            assert_eq!(
                after.registers[0][lane],
                assemble(chosen),
                "{mode:?} {lane}"
            );
        }
    }
}

#[test]
fn counting_and_reversing() {
    let one = |opcode, modifiers: &[M], reference: &dyn Fn(u32) -> u32| {
        let i = instruction(opcode, modifiers, &[r(0), r(1)]);
        let mut cases = EDGES.to_vec();
        cases.extend((0..32).map(|k| 1u32 << k));
        let mut random = Random::new(3);
        cases.extend((0..512).map(|_| random.word() >> (random.word() % 32)));
        in_warps(&cases, |lanes| {
            let mut w = warp();
            set(&mut w, 1, |i| lanes[i]);
            let after = run(&i, &w);
            for lane in 0..32 {
                let expected = reference(lanes[lane]);
                assert_eq!(
                    after.registers[0][lane], expected,
                    "{:?} {:#x}",
                    opcode, lanes[lane]
                );
            }
        });
    };
    let highest = |word: u32| (0..32).rev().find(|&k| word >> k & 1 == 1);
    one(Opcode::POPC, &[], &|a| (0..32).map(|k| a >> k & 1).sum());
    one(Opcode::BREV, &[], &|a| {
        (0..32).fold(0, |w, k| w | (a >> k & 1) << (31 - k))
    });
    one(Opcode::FLO, &[M::U32], &|a| highest(a).unwrap_or(u32::MAX));
    one(Opcode::FLO, &[M::U32, M::SH], &|a| {
        highest(a).map_or(u32::MAX, |k| 31 - k)
    });
    one(Opcode::FLO, &[], &|a| {
        highest(if a >> 31 == 1 { !a } else { a }).unwrap_or(u32::MAX)
    });
    one(Opcode::IABS, &[], &|a| (a as i32).wrapping_abs() as u32);
}

#[test]
fn minimum_and_maximum() {
    for (modifiers, signed) in [(vec![], true), (vec![M::U32], false)] {
        for minimum in [true, false] {
            three(
                || {
                    let operands = [r(0), r(1), r(2), p(7, !minimum)];
                    instruction(Opcode::IMNMX, &modifiers, &operands)
                },
                |a, b, _| match (signed, minimum) {
                    (true, true) => (a as i32).min(b as i32) as u32,
                    (true, false) => (a as i32).max(b as i32) as u32,
                    (false, true) => a.min(b),
                    (false, false) => a.max(b),
                },
            );
        }
    }
}

#[test]
fn masks_and_extensions() {
    for wrap in [false, true] {
        let modifiers: &[M] = if wrap { &[M::W] } else { &[] };
        for b in [0, 1, 7, 8, 31, 32, 33, 200] {
            three(
                || instruction(Opcode::BMSK, modifiers, &[r(0), r(1), imm(b)]),
                |a, _, _| {
                    let (first, width) = if wrap {
                        (a % 32, b % 32)
                    } else {
                        (a.min(32), b.min(32))
                    };
                    (0..32)
                        .filter(|&k| k >= first && k < first + width)
                        .fold(0, |m, k| m | 1 << k)
                },
            );
            for signed in [false, true] {
                let mut modifiers = modifiers.to_vec();
                if !signed {
                    modifiers.push(M::U32);
                }
                three(
                    || instruction(Opcode::SGXT, &modifiers, &[r(0), r(1), imm(b)]),
                    |a, _, _| {
                        let width = if wrap { b % 32 } else { b.min(32) };
                        let fill = signed && width > 0 && a >> (width - 1) & 1 == 1;
                        (0..32).fold(0, |w, k| {
                            let bit = if k < width { a >> k & 1 } else { fill as u32 };
                            w | bit << k
                        })
                    },
                );
            }
        }
    }
}

#[test]
fn dot_products_and_differences() {
    let byte = |word: u32, k: usize, signed: bool| -> i64 {
        let byte = word.to_le_bytes()[k];
        if signed {
            i64::from(byte as i8)
        } else {
            i64::from(byte)
        }
    };
    let half = |word: u32, k: usize, signed: bool| -> i64 {
        let half = (word >> (16 * k)) as u16;
        if signed {
            i64::from(half as i16)
        } else {
            i64::from(half)
        }
    };
    for (ta, sa) in [(M::U8, false), (M::S8, true)] {
        for (tb, sb) in [(M::U8, false), (M::S8, true)] {
            three(
                || instruction(Opcode::IDP, &[M::N4A, ta, tb], &[r(0), r(1), r(2), r(3)]),
                |a, b, c| {
                    let sum: i64 = (0..4).map(|k| byte(a, k, sa) * byte(b, k, sb)).sum();
                    (sum as u32).wrapping_add(c)
                },
            );
        }
    }
    for (ta, sa) in [(M::U16, false), (M::S16, true)] {
        for (tb, sb) in [(M::U8, false), (M::S8, true)] {
            for (part, first) in [(M::LO, 0), (M::HI, 2)] {
                three(
                    || {
                        let operands = [r(0), r(1), r(2), r(3)];
                        instruction(Opcode::IDP, &[M::N2A, part, ta, tb], &operands)
                    },
                    |a, b, c| {
                        let sum: i64 = (0..2)
                            .map(|k| half(a, k, sa) * byte(b, first + k, sb))
                            .sum();
                        (sum as u32).wrapping_add(c)
                    },
                );
            }
        }
    }
    three(
        || instruction(Opcode::VABSDIFF, &[], &[r(0), r(1), r(2), r(3)]),
        |a, b, c| {
            let difference = (i64::from(a as i32) - i64::from(b as i32)).unsigned_abs();
            (difference as u32).wrapping_add(c)
        },
    );
    three(
        || {
            instruction(
                Opcode::VABSDIFF4,
                &[M::U8, M::ACC],
                &[r(0), r(1), r(2), r(3)],
            )
        },
        |a, b, c| {
            let sum: i64 = (0..4)
                .map(|k| (byte(a, k, false) - byte(b, k, false)).abs())
                .sum();
            (sum as u32).wrapping_add(c)
        },
    );
    three(
        || instruction(Opcode::VABSDIFF4, &[M::U8], &[r(0), r(1), r(2), r(255)]),
        |a, b, _| {
            (0..4).fold(0, |word, k| {
                let difference = (byte(a, k, false) - byte(b, k, false)).unsigned_abs() as u32;
                word | difference << (8 * k)
            })
        },
    );
}

/// Lanes outside the mask keep their values.
#[test]
fn inactive_lanes_keep_their_registers_and_predicates() {
    let i = instruction(Opcode::IADD3, &[], &[r(0), p(0, false), r(1), r(2), r(255)]);
    let mut w = warp();
    set(&mut w, 0, |_| 77);
    set(&mut w, 1, |_| u32::MAX);
    set(&mut w, 2, |_| 3);
    let mask = 0x8421_00ff;
    let after = run_masked(&i, &w, mask);
    for lane in 0..32 {
        assert_eq!(
            after.registers[0][lane],
            if mask >> lane & 1 == 1 { 2 } else { 77 }
        );
    }
    assert_eq!(after.predicates[0], mask);
}

/// The uniform datapath computes what the lanes compute.
#[test]
fn uniform_instructions_agree_with_vector_ones() {
    let mut random = Random::new(11);
    let u = |k: u8| ur(k);
    for _ in 0..400 {
        let words: Vec<u32> = (0..6)
            .map(|k| {
                if random.word().is_multiple_of(4) {
                    EDGES[k * 2]
                } else {
                    random.word()
                }
            })
            .collect();
        let mut w = warp();
        for (k, &word) in words.iter().enumerate() {
            w.uniforms[k + 1] = word;
            set(&mut w, k + 1, |_| word);
        }
        w.predicates[0] = if words[5] & 1 == 1 { ALL } else { 0 };
        w.write_uniform_predicate(0, words[5] & 1 == 1);
        let up = |k: u8| Operand::UniformPredicate {
            predicate: Predicate(k),
            negate: false,
        };
        let shift = imm(words[4] & 31);
        let cases: Vec<(Instruction, Instruction, bool)> = vec![
            (
                instruction(
                    Opcode::UIADD3,
                    &[],
                    &[u(20), up(1), up(2), u(1), u(2), u(3)],
                ),
                instruction(
                    Opcode::IADD3,
                    &[],
                    &[r(20), p(1, false), p(2, false), r(1), r(2), r(3)],
                ),
                false,
            ),
            (
                instruction(Opcode::UIMAD, &[M::WIDE], &[u(20), u(1), u(2), u(3)]),
                instruction(Opcode::IMAD, &[M::WIDE], &[r(20), r(1), r(2), r(3)]),
                true,
            ),
            (
                instruction(
                    Opcode::ULOP3,
                    &[M::LUT],
                    &[up(1), u(20), u(1), u(2), u(3), imm(0x6d), up(0)],
                ),
                instruction(
                    Opcode::LOP3,
                    &[M::LUT],
                    &[p(1, false), r(20), r(1), r(2), r(3), imm(0x6d), p(0, false)],
                ),
                false,
            ),
            (
                instruction(
                    Opcode::USHF,
                    &[M::R, M::S64],
                    &[u(20), u(1), shift.clone(), u(2)],
                ),
                instruction(
                    Opcode::SHF,
                    &[M::R, M::S64],
                    &[r(20), r(1), shift.clone(), r(2)],
                ),
                false,
            ),
            (
                instruction(
                    Opcode::ULEA,
                    &[M::HI, M::X],
                    &[u(20), up(1), u(1), u(2), u(3), shift.clone(), up(0)],
                ),
                instruction(
                    Opcode::LEA,
                    &[M::HI, M::X],
                    &[r(20), p(1, false), r(1), r(2), r(3), shift, p(0, false)],
                ),
                false,
            ),
            (
                instruction(
                    Opcode::UISETP,
                    &[M::GE, M::OR],
                    &[up(1), up(2), u(1), u(2), up(0)],
                ),
                instruction(
                    Opcode::ISETP,
                    &[M::GE, M::OR],
                    &[p(1, false), p(2, false), r(1), r(2), p(0, false)],
                ),
                false,
            ),
            (
                instruction(Opcode::UPRMT, &[], &[u(20), u(1), u(2), u(3)]),
                instruction(Opcode::PRMT, &[], &[r(20), r(1), r(2), r(3)]),
                false,
            ),
        ];
        for (uniform, vector, pair) in cases {
            let (a, b) = (run(&uniform, &w), run(&vector, &w));
            assert_eq!(a.uniforms[20], b.registers[20][9], "{}", uniform.display(0));
            if pair {
                assert_eq!(a.uniforms[21], b.registers[21][9]);
            }
            for k in 1..3 {
                let expected = b.predicates[k] & 1 == 1;
                assert_eq!(
                    a.uniform_predicates >> k & 1 == 1,
                    expected,
                    "{}",
                    uniform.display(0)
                );
            }
        }
    }
}
