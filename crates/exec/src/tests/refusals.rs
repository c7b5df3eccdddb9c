//! What exec refuses of memory, control flow, barriers and lane exchange: every operand form and every
//! combination of suffixes that the encoding table knows is lowered; nothing beyond the list below may be
//! refused.

use std::collections::{BTreeMap, BTreeSet};

use sass::Opcode;
use sass::Opcode::*;

use super::instruction_bench::words;
use super::*;

/// Opcodes of these families.
const OPCODES: &[Opcode] = &[
    ACQBULK,
    ARRIVES,
    ATOM,
    ATOMG,
    ATOMS,
    B2R,
    BAR,
    BMOV,
    BPT,
    BRA,
    BREAK,
    BRX,
    BRXU,
    BSSY,
    BSYNC,
    CALL,
    CCTL,
    CCTLL,
    CGAERRBAR,
    CS2R,
    DEPBAR,
    ELECT,
    ENDCOLLECTIVE,
    ERRBAR,
    EXIT,
    FENCE,
    JMP,
    JMX,
    KILL,
    LD,
    LDC,
    LDG,
    LDGDEPBAR,
    LDGSTS,
    LDL,
    LDS,
    LDSM,
    LEPC,
    MATCH,
    MEMBAR,
    MOVM,
    NANOSLEEP,
    NOP,
    PMTRIG,
    PREEXIT,
    QSPC,
    R2UR,
    RED,
    REDG,
    REDUX,
    RET,
    RPCMOV,
    S2R,
    S2UR,
    SHFL,
    ST,
    STG,
    STL,
    STS,
    STSM,
    SYNCS,
    ULDC,
    UP2UR,
    UR2UP,
    VOTE,
    VOTEU,
    WARPSYNC,
    YIELD,
];

const OF_SHARED: &str = "the compiler names no cache, type or scope but the SM's with it";
const NOT_COMPILED: &str = "no compiler emits it, and no public source says what it does";
const OF_TRAPS: &str = "for the trap handler";
const NO_CONDITION: &str = "the compiler gives a load no predicate to write or to wait for";
const WITH_ORDER: &str = "the compiler orders no copy";

/// Opcode, reason as exec gives it, and why it may stay: ptxas 11.8, 12.9 and 13.5 emit none of it for any
/// PTX of these families.
const REFUSED: &[(Opcode, &str, &str)] = &[
    (ATOM, "ATOM.128", "CAST of 128 bits: PTX has none"),
    (ATOM, "ATOM.CTA", OF_SHARED),
    (ATOM, "ATOM.EF", OF_SHARED),
    (ATOM, "ATOM.EL", OF_SHARED),
    (ATOM, "ATOM.EU", OF_SHARED),
    (ATOM, "ATOM.GPU", OF_SHARED),
    (ATOM, "ATOM.LU", OF_SHARED),
    (ATOM, "ATOM.MMIO", OF_SHARED),
    (ATOM, "ATOM.NA", OF_SHARED),
    (ATOM, "ATOM.PRIVATE", OF_SHARED),
    (ATOM, "ATOM.SYS", OF_SHARED),
    (ATOM, "ATOM.CONSTANT", NOT_COMPILED),
    (ATOM, "ATOM.SAFEADD", NOT_COMPILED),
    (ATOM, NO_TYPE, NOT_COMPILED),
    (
        ATOM,
        "the predicate result of an atomic operation on shared memory",
        NOT_COMPILED,
    ),
    (ATOMG, "ATOMG.CONSTANT", NOT_COMPILED),
    (ATOMG, "ATOMG.SAFEADD", NOT_COMPILED),
    (ATOMG, NO_TYPE, NOT_COMPILED),
    (ATOMS, "ATOMS.128", "CAST of 128 bits: PTX has none"),
    (ATOMS, "ATOMS.SAFEADD", NOT_COMPILED),
    (ATOMS, NO_TYPE, NOT_COMPILED),
    (B2R, "B2R other than .RESULT", OF_TRAPS),
    (B2R, "B2R.WARP", OF_TRAPS),
    (BAR, "BAR.SCAN", NOT_COMPILED),
    (BAR, "BAR.SYNCALL", NOT_COMPILED),
    (BMOV, "BMOV.64", OF_TRAPS),
    (
        BMOV,
        "a part of the warp's state other than MACTIVE",
        OF_TRAPS,
    ),
    (BMOV, "quads of a convergence barrier", NOT_COMPILED),
    (BPT, "BPT.INT", "for debuggers"),
    (
        BRA,
        "an operand that is not a code address",
        "a uniform predicate beside an ordinary one",
    ),
    (BRXU, "BRXU.DIV", NOT_COMPILED),
    (
        CALL,
        "an operand that is not a code address",
        "by a uniform register",
    ),
    (ELECT, "ELECT among the lanes of a predicate", NOT_COMPILED),
    (ELECT, "ELECT.IGNOREKILL", "for shaders"),
    (
        ELECT,
        "an operand that is not understood",
        "among the lanes of a uniform register",
    ),
    (JMP, "JMP.CONV", NOT_COMPILED),
    (JMP, "JMP.DIV", NOT_COMPILED),
    (LD, "LD.ZD", NO_CONDITION),
    (LD, "a load with a fill condition", NO_CONDITION),
    (LDC, "LDC.IL", NOT_COMPILED),
    (LDC, "LDC.ISL", NOT_COMPILED),
    (LDG, "LDG.ZD", NO_CONDITION),
    (LDG, "a load with a fill condition", NO_CONDITION),
    (LDG, "a load with a predicate result", NO_CONDITION),
    (LDGSTS, "LDGSTS.CTA", WITH_ORDER),
    (LDGSTS, "LDGSTS.GPU", WITH_ORDER),
    (LDGSTS, "LDGSTS.MMIO", WITH_ORDER),
    (LDGSTS, "LDGSTS.SM", WITH_ORDER),
    (LDGSTS, "LDGSTS.VC", WITH_ORDER),
    (LDS, "LDS.ZD", NO_CONDITION),
    (LDSM, "LDSM into RZ", "the compiler removes it"),
    (LDSM, "LDSM.M816", NOT_COMPILED),
    (LDSM, "LDSM.M832", NOT_COMPILED),
    (MOVM, "MOVM.M832", NOT_COMPILED),
    (MOVM, "MOVM.M864", NOT_COMPILED),
    (RED, "RED.CONSTANT", NOT_COMPILED),
    (RED, NO_TYPE, NOT_COMPILED),
    (REDG, "REDG.CONSTANT", NOT_COMPILED),
    (REDG, NO_TYPE, NOT_COMPILED),
    (
        RET,
        "an operand that is not a code address",
        "by a uniform register",
    ),
    (SYNCS, "SYNCS.CAS", NOT_COMPILED),
    (SYNCS, "SYNCS.IVALL", NOT_COMPILED),
    (SYNCS, "SYNCS.LD", NOT_COMPILED),
    (SYNCS, "SYNCS.WB", NOT_COMPILED),
    (
        ULDC,
        "a bindless constant",
        "the compiler of CUDA binds every constant",
    ),
];
const NO_TYPE: &str = "an atomic operation on a type that it does not exist for";

/// What depends on the registers, constants and special registers that a word happens to name.
const BY_OPERAND: &[&str] = &[
    "R255 of a kernel with 255 registers",
    "a pair of uniform registers from UR62",
    "c[",
    "special register ",
];

#[test]
fn nothing_else_is_refused() {
    let banks = Banks::new();
    let context = Context {
        pc: 0,
        registers: 255,
        banks: &banks,
    };
    let mut lowered = BTreeSet::new();
    let mut found: BTreeMap<(&str, String), String> = BTreeMap::new();
    for &opcode in OPCODES {
        words::each(opcode, 2, |instruction| match lower(instruction, context) {
            Ok(_) => {
                lowered.insert(opcode.text());
            }
            Err(reason) if BY_OPERAND.iter().any(|known| reason.0.starts_with(known)) => {}
            Err(reason) => {
                found
                    .entry((opcode.text(), reason.0))
                    .or_insert_with(|| instruction.display(0).to_string());
            }
        });
    }
    let known: BTreeSet<(&str, String)> = REFUSED
        .iter()
        .map(|(opcode, reason, _)| (opcode.text(), (*reason).to_owned()))
        .collect();
    let unlisted: Vec<_> = found
        .iter()
        .filter(|(key, _)| !known.contains(key))
        .collect();
    assert!(unlisted.is_empty(), "refused and not listed: {unlisted:#?}");
    let stale: Vec<_> = known
        .iter()
        .filter(|key| !found.contains_key(key))
        .collect();
    assert!(stale.is_empty(), "listed and not refused: {stale:#?}");
    // ELECT asks among all lanes, S2R for a register that there is: words at random do not.
    for opcode in OPCODES
        .iter()
        .filter(|opcode| !matches!(opcode, ELECT | S2R | S2UR | CS2R))
    {
        assert!(
            lowered.contains(opcode.text()),
            "{opcode:?}: no form is lowered"
        );
    }
}
