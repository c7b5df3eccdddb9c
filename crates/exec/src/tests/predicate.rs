//! Integer comparisons, predicate logic and predicates as registers.

use sass::{Modifier as M, Opcode, Operand};

use super::*;

#[test]
fn isetp_compares_and_combines() {
    let compares: [(M, fn(i64, i64) -> bool); 8] = [
        (M::F, |_, _| false),
        (M::LT, |a, b| a < b),
        (M::EQ, |a, b| a == b),
        (M::LE, |a, b| a <= b),
        (M::GT, |a, b| a > b),
        (M::NE, |a, b| a != b),
        (M::GE, |a, b| a >= b),
        (M::T, |_, _| true),
    ];
    let combines: [(M, fn(bool, bool) -> bool); 3] = [
        (M::AND, |a, b| a && b),
        (M::OR, |a, b| a || b),
        (M::XOR, |a, b| a != b),
    ];
    for (compare, holds) in compares {
        for signed in [true, false] {
            for (combine, joined) in combines {
                for extended in [false, true] {
                    let mut modifiers = vec![compare];
                    if !signed {
                        modifiers.push(M::U32);
                    }
                    modifiers.push(combine);
                    let mut operands = vec![p(0, false), p(1, false), r(1), r(2), p(2, true)];
                    if extended {
                        modifiers.push(M::EX);
                        operands.push(p(3, false));
                    }
                    let i = instruction(Opcode::ISETP, &modifiers, &operands);
                    in_warps(&pairs(64), |lanes| {
                        let mut w = warp();
                        set(&mut w, 1, |i| lanes[i].0);
                        set(&mut w, 2, |i| lanes[i].1);
                        w.predicates[2] = 0xff00_ff00;
                        w.predicates[3] = 0xaaaa_5555;
                        let after = run(&i, &w);
                        for lane in 0..32 {
                            let (a, b) = lanes[lane];
                            let number = |word: u32| {
                                if signed {
                                    i64::from(word as i32)
                                } else {
                                    i64::from(word)
                                }
                            };
                            let mut result = holds(number(a), number(b));
                            if extended && a == b && compare != M::F && compare != M::T {
                                result = w.predicates[3] >> lane & 1 == 1;
                            }
                            let with = w.predicates[2] >> lane & 1 == 0;
                            let get = |k: usize| after.predicates[k] >> lane & 1 == 1;
                            assert_eq!(get(0), joined(result, with));
                            assert_eq!(get(1), joined(!result, with));
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn predicates_as_registers() {
    let mut w = warp();
    for k in 0..7 {
        w.predicates[k] = 0x9e37_79b9u32.rotate_left(5 * k as u32);
    }
    set(&mut w, 1, |lane| 0x0101_0101u32.wrapping_mul(lane as u32));
    let set_of_predicates = Operand::PredicateSet {
        uniform: false,
        select: Select::None,
    };
    for (modifier, byte) in [
        (None, 0),
        (Some(M::B1), 1),
        (Some(M::B2), 2),
        (Some(M::B3), 3),
    ] {
        let modifiers: Vec<M> = modifier.into_iter().collect();
        let operands = [r(0), set_of_predicates.clone(), r(1), imm(0x5b)];
        let after = run(&instruction(Opcode::P2R, &modifiers, &operands), &w);
        for lane in 0..32 {
            let bits = (0..7).fold(0, |b, k| b | (w.predicates[k] >> lane & 1) << k);
            let mask = 0x5bu32 << (8 * byte);
            let expected = w.registers[1][lane] & !mask | (bits << (8 * byte)) & mask;
            assert_eq!(after.registers[0][lane], expected);
        }
        let select = [Select::None, Select::B1, Select::B2, Select::B3][byte];
        let operands = [set_of_predicates.clone(), selected(1, select), imm(0x2f)];
        let after = run(&instruction(Opcode::R2P, &[], &operands), &w);
        for lane in 0..32 {
            for k in 0..7 {
                let expected = if 0x2f >> k & 1 == 1 {
                    w.registers[1][lane] >> (8 * byte + k) & 1
                } else {
                    w.predicates[k] >> lane & 1
                };
                assert_eq!(after.predicates[k] >> lane & 1, expected);
            }
        }
        assert_eq!(after.predicates[7], ALL);
    }
}

#[test]
fn plop3_every_table() {
    for table in 0..=255u32 {
        let i = instruction(
            Opcode::PLOP3,
            &[M::LUT],
            &[
                p(4, false),
                p(5, false),
                p(0, false),
                p(1, true),
                p(2, false),
                imm(table),
                imm(255 - table),
            ],
        );
        let mut w = warp();
        w.predicates[0] = 0xf0f0_f0f0;
        w.predicates[1] = 0xcccc_cccc;
        w.predicates[2] = 0xaaaa_aaaa;
        let after = run(&i, &w);
        for lane in 0..32 {
            let bit = |k: usize| w.predicates[k] >> lane & 1;
            let index = bit(0) << 2 | (bit(1) ^ 1) << 1 | bit(2);
            assert_eq!(after.predicates[4] >> lane & 1, table >> index & 1);
            assert_eq!(after.predicates[5] >> lane & 1, (255 - table) >> index & 1);
        }
    }
}

/// UP2UR puts the uniform predicates into a byte of a register, UR2UP takes them back from there: words of
/// compiled code.
#[test]
fn uniform_predicates_are_kept_in_a_byte() {
    let decoded = |low, high| match sass::decode(
        sass::Word::from_halves(low, high),
        sass::Architecture::Sm90,
    ) {
        sass::Decoded::Instruction(instruction) => instruction,
        other => panic!("{other:?}"),
    };
    let keep = decoded(0x0000_00ff_3e3e_7883, 0x000f_c800_0800_3000);
    let back = decoded(0x0000_00ff_3e00_7884, 0x000f_c600_0800_3000);
    assert_eq!(
        keep.display(0).to_string(),
        "UP2UR.B3 UR62, UPR, UR62, 0xff"
    );
    assert_eq!(back.display(0).to_string(), "UR2UP UPR, UR62.B3");
    for bits in 0..128u8 {
        let mut w = warp();
        w.uniforms[62] = 0x1234_5678;
        w.uniform_predicates = 0x80 | bits;
        let mut kept = run(&keep, &w);
        assert_eq!(
            kept.uniforms[62] & 0x7fff_ffff,
            u32::from(bits) << 24 | 0x34_5678
        );
        kept.uniform_predicates = 0x80 | !bits & 0x7f;
        assert_eq!(run(&back, &kept).uniform_predicates, 0x80 | bits);
    }
}
