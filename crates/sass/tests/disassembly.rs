//! The decoder and printer against the committed corpus, and on words that mean nothing.

use sass::compare::{Tally, VendorLine, normalise};
use sass::{
    Architecture, ConstantBank, Control, Decoded, Instruction, Operand, Register, Word, decode,
};

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).expect("hexadecimal")
}

fn instruction(low: u64, high: u64) -> Instruction {
    match decode(Word::from_halves(low, high), Architecture::Sm86) {
        Decoded::Instruction(instruction) => instruction,
        Decoded::Unknown(word) => panic!("unknown {word:?}"),
    }
}

/// A small generator of its own, so that every run sees the same words.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn corpus_is_equal(architecture: Architecture, corpus: &str) {
    let mut tally = Tally::default();
    for line in corpus.lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.splitn(4, ' ');
        let mut part = || parts.next().expect("four parts");
        let pc = hex(part());
        let (low, high) = (hex(part()), hex(part()));
        let text = normalise(part());
        tally.add_line(
            &VendorLine {
                pc,
                word: Word::from_halves(low, high),
                text,
            },
            architecture,
        );
    }
    assert!(tally.lines > 3000, "{} lines", tally.lines);
    assert!(tally.differences.is_empty(), "{:#?}", tally.differences);
}

#[test]
fn corpus_of_sm_75_is_equal() {
    corpus_is_equal(Architecture::Sm75, include_str!("corpus/sm_75.txt"));
}

#[test]
fn corpus_of_sm_90_is_equal() {
    corpus_is_equal(Architecture::Sm90, include_str!("corpus/sm_90.txt"));
}

#[test]
fn corpus_of_sm_80_is_equal() {
    corpus_is_equal(Architecture::Sm80, include_str!("corpus/sm_80.txt"));
}

#[test]
fn corpus_of_sm_86_is_equal() {
    corpus_is_equal(Architecture::Sm86, include_str!("corpus/sm_86.txt"));
}

#[test]
fn corpus_of_sm_89_is_equal() {
    corpus_is_equal(Architecture::Sm89, include_str!("corpus/sm_89.txt"));
}

#[test]
fn a_million_random_words_never_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut known = 0;
    for round in 0..1_000_000u32 {
        let word = Word::from_halves(random(&mut state), random(&mut state));
        let architecture = Architecture::ALL[round as usize % Architecture::ALL.len()];
        if let Decoded::Instruction(instruction) = decode(word, architecture) {
            known += 1;
            assert!(
                !instruction
                    .display(random(&mut state))
                    .to_string()
                    .is_empty()
            );
        }
    }
    assert!(known > 10_000, "{known} known words");
}

#[test]
fn every_opcode_survives_extreme_fields() {
    for code in 0..4096 {
        for fill in [0, u128::MAX, 0x5555_5555_5555_5555_5555_5555_5555_5555] {
            let word = Word(fill & !0xfff | code);
            for &architecture in Architecture::ALL {
                if let Decoded::Instruction(instruction) = decode(word, architecture) {
                    for pc in [0, u64::MAX] {
                        let _ = instruction.display(pc).to_string();
                    }
                }
            }
        }
    }
}

#[test]
fn control_fields_round_trip() {
    let field = Word(((1 << 21) - 1) << 105);
    for bits in 0..1u128 << 21 {
        let word = Word(bits << 105);
        let control = Control::decode(word);
        let encoded = control.encode();
        assert_eq!(Control::decode(encoded), control);
        assert_eq!(encoded.0 & !field.0, 0);
        // Counter 6 does not exist and reads as none.
        if word.bits(110, 3) != 6 && word.bits(113, 3) != 6 {
            assert_eq!(encoded, word);
        }
    }
}

/// REGRESSIONS T25: the register that indexes a constant bank is an operand.
#[test]
fn index_register_of_a_constant_is_decoded() {
    let ldc = instruction(0x0080_0000_0c12_7b82, 0x000e_2400_0000_0a00);
    assert_eq!(ldc.display(0).to_string(), "LDC.64 R18, c[0x2][R12]");
    match ldc.operands[1] {
        Operand::Constant {
            bank,
            index,
            offset,
            ..
        } => {
            assert_eq!(bank, ConstantBank::Number(2));
            assert_eq!(index, Register(12));
            assert_eq!(offset, 0);
        }
        ref other => panic!("{other:?}"),
    }
}

/// REGRESSIONS T27: a shift with every suffix, an addition with carry predicates in both directions.
#[test]
fn funnel_shift_and_carries_are_decoded() {
    let shift = instruction(0x0000_0013_040b_7819, 0x000f_ca00_0001_0e04);
    assert_eq!(
        shift.display(0).to_string(),
        "SHF.L.W.U32.HI R11, R4, 0x13, R4"
    );
    let add = instruction(
        0x0000_000f_0202_8210,
        0x000f_ca00_00ff_e4ff & !(7 << 17) | 1 << 17,
    );
    assert_eq!(
        add.display(0).to_string(),
        "@!P0 IADD3.X R2, P1, R2, R15, RZ, P1, !PT"
    );
    assert_eq!(
        add.operands[1],
        Operand::Predicate {
            predicate: sass::Predicate(1),
            negate: false
        }
    );
    assert_eq!(
        add.operands[5],
        Operand::Predicate {
            predicate: sass::Predicate(1),
            negate: false
        }
    );
    assert_eq!(
        add.operands[6],
        Operand::Predicate {
            predicate: sass::Predicate(7),
            negate: true
        }
    );
}

#[test]
fn literals_print_as_the_vendor_does() {
    let add = |bits: u64| {
        instruction(0x7421 | bits << 32, 0x000f_e200_0000_0000)
            .display(0)
            .to_string()
    };
    for (bits, text) in [
        (0x0000_0000, "0"),
        (0x8000_0000, "-0.0"),
        (0x0000_0001, "1.4012984643248170709e-45"),
        (0x3fc0_0000, "1.5"),
        (0xbf80_0000, "-1"),
        (0x3dcc_cccd, "0.10000000149011611938"),
        (0x38d1_b717, "9.9999997473787516356e-05"),
        (0x4d00_0000, "134217728"),
        (0x4e80_0000, "1.07374182400000000000e+09"),
        (0x7e80_0000, "8.50705917302346158658e+37"),
        (0x7f80_0000, "+INF"),
        (0xff80_0000, "-INF"),
        (0x7fc0_0000, "+QNAN"),
        (0x7f80_0001, "+SNAN"),
    ] {
        assert_eq!(add(bits), format!("FADD R0, R0, {text}"));
    }
}

#[test]
fn branch_targets_are_absolute() {
    let branch = instruction(0x0000_0020_0000_8947, 0x000f_ea00_0380_0000);
    assert_eq!(branch.display(0x10).to_string(), "@!P0 BRA 0x40");
    assert_eq!(branch.operands[0], Operand::Target(0x20));
    // The branch to itself that closes a function.
    let own = instruction(0xffff_fff0_0000_7947, 0x000f_c000_0383_ffff);
    assert_eq!(own.display(0x100).to_string(), "BRA 0x100");
}

#[test]
fn integers_packed_into_two_and_four_bits_name_the_bits_that_stay() {
    let words: [(u64, &str); 5] = [
        (0x004f_ca00_0000_5304, "I2IP.S2.S32.SAT R5, R0, R5, R4.28"),
        (0x004f_ca00_0000_4304, "I2IP.U2.S32.SAT R5, R0, R5, R4.28"),
        (0x004f_ca00_0000_7204, "I2IP.S4.S32.SAT R5, R0, R5, R4.24"),
        (0x004f_ca00_0000_6204, "I2IP.U4.S32.SAT R5, R0, R5, R4.24"),
        (0x004f_ca00_0000_1004, "I2IP.S8.S32.SAT R5, R0, R5, R4"),
    ];
    for (high, text) in words {
        let found = instruction(0x0000_0005_0005_7239, high);
        assert_eq!(found.display(0).to_string(), text);
    }
}

#[test]
fn conversions_of_brain_floats_print_as_the_vendor_prints_them() {
    // Words of `__nv_bfloat16` intrinsics compiled for sm_90, and of the same with other operands.
    let lines: [(u64, u64, &str); 16] = [
        (
            0x0000000200077305,
            0x004e24000040e100,
            "F2I.S8.BF16.TRUNC.NTZ R7, R2",
        ),
        (
            0x0000000200077305,
            0x004e280000406800,
            "F2I.U16.BF16.FLOOR.NTZ R7, R2",
        ),
        (
            0x0000000200077305,
            0x004e28000040b100,
            "F2I.BF16.CEIL.NTZ R7, R2",
        ),
        (
            0x1000000200077305,
            0x0000000000403100,
            "F2I.BF16.NTZ R7, R2.H1",
        ),
        (0x00003f8000077905, 0x0000000000403100, "F2I.BF16.NTZ R7, 1"),
        (
            0x0000000200047311,
            0x004e28000040d800,
            "F2I.U64.BF16.TRUNC R4, R2",
        ),
        (
            0x8000000200077311,
            0x0000000000401900,
            "F2I.S64.BF16 R7, -R2",
        ),
        (
            0x0000000200077306,
            0x004e28000010e400,
            "I2F.BF16.S16.RZ R7, R2",
        ),
        (
            0x1000000200077306,
            0x0000000000102400,
            "I2F.BF16.S16 R7, R2.H1",
        ),
        (
            0x0000000200077306,
            0x004e28000020a000,
            "I2F.BF16.U32.RP R7, R2",
        ),
        (0x0000000500077906, 0x0000000000202400, "I2F.BF16 R7, 0x5"),
        (
            0x0000000200077312,
            0x004e280000306400,
            "I2F.BF16.S64.RM R7, R2",
        ),
        (
            0x0000000200077307,
            0x004e28000040a000,
            "FRND.BF16.CEIL R7, R2",
        ),
        (0x0000000400077d07, 0x0000000008402000, "FRND.BF16 R7, UR4"),
        (
            0x0000000200077310,
            0x004e280000302000,
            "F2F.BF16.F64 R7, R2",
        ),
        (
            0x1000000200077310,
            0x0000000000401800,
            "F2F.F64.BF16 R7, R2.H1",
        ),
    ];
    for (low, high, text) in lines {
        let word = Word::from_halves(low, high);
        let Decoded::Instruction(instruction) = decode(word, Architecture::Sm90) else {
            panic!("{text} is unknown");
        };
        assert_eq!(instruction.display(0).to_string(), text);
        // No other architecture has them.
        assert!(
            matches!(decode(word, Architecture::Sm89), Decoded::Unknown(_)),
            "{text}"
        );
    }
}

/// REGRESSIONS T24: a uniform register above 31 keeps its number, and a field of an architecture that is not
/// known makes the word unknown, nothing worse (`a_million_random_words_never_panic`).
#[test]
fn uniform_registers_have_six_bits() {
    // UIADD3 UR4, UR32, 0x1, URZ with every first source.
    for number in 0..64u64 {
        let low = 0x0000_0001_0004_7890 | number << 24;
        let add = instruction(low, 0x000f_e800_0fff_e03f);
        let name = match number {
            63 => "URZ".to_owned(),
            _ => format!("UR{number}"),
        };
        assert_eq!(
            add.display(0).to_string(),
            format!("UIADD3 UR4, {name}, 0x1, URZ")
        );
    }
}

/// REGRESSIONS T30: a store raises a read counter until its data are read, as compiled code has it.
#[test]
fn a_store_may_raise_a_read_counter() {
    let store = instruction(0x0000_0009_0400_7986, 0x0001_e200_0c10_1904);
    assert_eq!(store.display(0).to_string(), "STG.E [R4.64], R9");
    let control = Control::decode(Word::from_halves(
        0x0000_0009_0400_7986,
        0x0001_e200_0c10_1904,
    ));
    assert_eq!(
        (control.read_counter, control.write_counter),
        (Some(0), None)
    );
}
