//! Mnemonics of compiled code: each decodes as the vendor's disassembler prints it, and lowers to something
//! that executes. The words stand in `compiled/`.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use sass::{Architecture, Decoded, Word, decode};

/// What compiled code holds and exec refuses beside Hopper's units.
const REFUSED: &[(&str, &str)] = &[];

/// Base mnemonics of public benchmarks, libraries and feature tests, on all architectures and on each.
const COMMON: &str = "\
ATOM ATOMG ATOMS B2R BAR BMOV BPT BRA BREAK BREV BRX BSSY BSYNC CALL CCTL CS2R DADD DEPBAR DFMA \
DMUL DSETP ERRBAR EXIT F2F F2I FADD FCHK FFMA FLO FMNMX FMUL FRND FSEL FSETP HADD2 HFMA2 HMMA \
HMUL2 HSET2 HSETP2 I2F IABS IADD3 IDP IMAD IMMA ISETP LD LDC LDG LDL LDS LDSM LEA LEPC LOP3 \
MATCH MEMBAR MOV MOVM MUFU NANOSLEEP NOP P2R PLOP3 POPC PRMT QSPC R2P R2UR RET S2R S2UR SEL SGXT \
SHF SHFL ST STG STL STS SULD SUST TEX TLD TLD4 TXD UFLO UIADD3 UIMAD UISETP ULDC ULEA ULOP3 UMOV \
UPOPC USEL USHF VABSDIFF VABSDIFF4 VOTE VOTEU WARPSYNC YIELD";
const OF_EACH: [(Architecture, &str, &str); 5] = [
    (
        Architecture::Sm75,
        include_str!("compiled/sm_75.txt"),
        "IMNMX RED",
    ),
    (Architecture::Sm80, include_str!("compiled/sm_80.txt"), ""),
    (
        Architecture::Sm86,
        include_str!("compiled/sm_86.txt"),
        "ARRIVES BMMA BMSK DMMA F2FP F2IP HMNMX2 I2FP IMNMX LDGDEPBAR LDGSTS RED REDUX UPLOP3 UPRMT",
    ),
    (
        Architecture::Sm89,
        include_str!("compiled/sm_89.txt"),
        "ARRIVES BMMA DMMA F2FP HMNMX2 I2FP IMNMX LDGDEPBAR LDGSTS RED REDUX",
    ),
    (
        Architecture::Sm90,
        include_str!("compiled/sm_90.txt"),
        "ARRIVES BMMA CGAERRBAR DMMA ENDCOLLECTIVE F2FP HMNMX2 I2FP LDGDEPBAR LDGSTS REDG REDUX SYNCS \
VIADD VIADDMNMX VIMNMX VIMNMX3",
    ),
];

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}

#[test]
fn every_compiled_mnemonic_decodes_and_executes() {
    let mut refused = Vec::new();
    for (architecture, list, more) in OF_EACH {
        let mut bases = BTreeSet::new();
        let mut lines = 0;
        for line in list.lines().filter(|line| !line.starts_with('#')) {
            let [low, high, name] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let word = Word::from_halves(hexadecimal(low), hexadecimal(high));
            let Decoded::Instruction(instruction) = decode(word, architecture) else {
                panic!("{architecture}: {line} is unknown");
            };
            assert_eq!(instruction.mnemonic(), name, "{architecture}: {line}");
            bases.insert(instruction.opcode.text());
            lines += 1;
            let reason = exec::refusal(&instruction);
            let known = REFUSED.iter().any(|(known, _)| *known == name);
            if reason.is_some() && !known && !instruction.opcode.drives_hopper_unit() {
                refused.push(format!("{architecture}: {line}: {reason:?}"));
            }
            assert!(reason.is_some() || !known, "{architecture}: {line}");
        }
        assert!(lines > 800, "{architecture}: {lines} lines");
        let wanted: &[&str] = match architecture {
            Architecture::Sm80 => &[],
            _ => &[COMMON, more],
        };
        for base in wanted.iter().flat_map(|list| list.split_whitespace()) {
            assert!(bases.contains(base), "{architecture}: no word of {base}");
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
