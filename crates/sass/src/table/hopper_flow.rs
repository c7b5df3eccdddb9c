//! Jumps, calls and convergence as Hopper encodes them: wider offsets, absolute addresses in the word.

use super::hopper::only;
use super::*;
use crate::opcode::Opcode::*;

/// The 56-bit offset of a jump in words of four bytes.
const OFFSET: &[(u8, u8)] = &[(16, 8), (34, 48)];
/// The 55-bit offset of a jump without a register.
const SHORT_OFFSET: &[(u8, u8)] = &[(16, 8), (34, 47)];
const TARGET: Field = Field::Target {
    bits: OFFSET,
    scale: 4,
};
/// The predicate that joins the guard, left out if PT.
const CONDITION: Field = pred_source_or_nothing(87);
/// What an indexed jump adds to its register, left out if zero.
const ADDEND: Field = Field::Immediate {
    bits: OFFSET,
    kind: ImmediateKind::Signed,
    default: Some(0),
    scale: 4,
};
/// The same where zero is printed.
const SHOWN_ADDEND: Field = Field::Immediate {
    bits: OFFSET,
    kind: ImmediateKind::Signed,
    default: None,
    scale: 4,
};
/// An absolute address.
const ABSOLUTE: Field = Field::Immediate {
    bits: SHORT_OFFSET,
    kind: ImmediateKind::Signed,
    default: None,
    scale: 4,
};
/// The lane mask that BRA.DIV and BRA.CONV compare, complemented by bit 30.
const MASK: Field = Field::Uniform {
    at: 24,
    adjust: Adjusts {
        at: (30, 0),
        ..INVERT
    },
    optional: false,
};
const DEPTH: Suffix = suffix(&[(85, 2)], "- INC DEC");
const NOINC: Suffix = suffix(&[(86, 1)], "- NOINC");
const NODEC: Suffix = suffix(&[(86, 1)], "- NODEC");

pub(super) const ROWS: &[Row] = &[
    only(plain(
        BRA,
        0x947,
        &[],
        &[DEPTH, suffix(&[(32, 2)], "- U DIV CONV")],
        &[CONDITION, TARGET],
    )),
    only(plain(
        BRA,
        0x947,
        &[],
        &[DEPTH, suffix(&[(32, 2)], "? ? DIV CONV")],
        &[CONDITION, MASK, TARGET],
    ))
    .high(High::One),
    only(plain(
        BRX,
        0x949,
        &[],
        &[DEPTH],
        &[CONDITION, reg(24), ADDEND],
    )),
    only(plain(
        BRXU,
        0x958,
        &[],
        &[DEPTH, suffix(&[(32, 2)], "- U DIV")],
        &[CONDITION, ureg(24), ADDEND],
    ))
    .high(High::One),
    only(plain(
        JMX,
        0x94c,
        &[],
        &[DEPTH],
        &[CONDITION, reg(24), ADDEND],
    )),
    only(plain(
        JMP,
        0x94a,
        &[],
        &[DEPTH, suffix(&[(32, 2)], "- U DIV CONV")],
        &[CONDITION, ABSOLUTE],
    )),
    only(plain(
        JMP,
        0x94a,
        &[],
        &[DEPTH, suffix(&[(32, 2)], "? ? DIV CONV")],
        &[CONDITION, MASK, ABSOLUTE],
    ))
    .high(High::One),
    only(plain(
        CALL,
        0x943,
        &[],
        &[fixed("ABS"), NOINC],
        &[CONDITION, ABSOLUTE],
    )),
    only(plain(
        CALL,
        0x943,
        &[],
        &[fixed("ABS"), NOINC],
        &[CONDITION, ureg(24), ADDEND],
    ))
    .high(High::One),
    only(plain(
        CALL,
        0x343,
        &[],
        &[fixed("ABS"), NOINC],
        &[CONDITION, reg(24), ADDEND],
    )),
    only(plain(
        CALL,
        0x944,
        &[],
        &[fixed("REL"), NOINC],
        &[CONDITION, TARGET],
    )),
    only(plain(
        CALL,
        0x944,
        &[],
        &[fixed("REL"), NOINC],
        &[CONDITION, ureg(24), TARGET],
    ))
    .high(High::One),
    only(plain(
        CALL,
        0x344,
        &[],
        &[fixed("REL"), NOINC],
        &[CONDITION, reg(24), TARGET],
    )),
    only(plain(
        RET,
        0x950,
        &[When::Is(85, 1, 0)],
        &[fixed("REL"), NODEC],
        &[CONDITION, reg(24), TARGET],
    )),
    only(plain(
        RET,
        0x950,
        &[When::Is(85, 1, 1)],
        &[fixed("ABS"), NODEC],
        &[CONDITION, reg(24), SHOWN_ADDEND],
    )),
    only(plain(
        RET,
        0x950,
        &[When::Is(85, 1, 0)],
        &[fixed("REL"), NODEC],
        &[CONDITION, ureg(24), TARGET],
    ))
    .high(High::One),
    only(plain(
        RET,
        0x950,
        &[When::Is(85, 1, 1)],
        &[fixed("ABS"), NODEC],
        &[CONDITION, ureg(24), SHOWN_ADDEND],
    ))
    .high(High::One),
    // WARPSYNC.COLLECTIVE names the code that the lanes run together.
    only(plain(
        WARPSYNC,
        0x348,
        &[When::Is(86, 1, 0)],
        &[suffix(&[(85, 1)], "- EXCLUSIVE")],
        &[CONDITION, reg(24)],
    )),
    only(plain(
        WARPSYNC,
        0x348,
        &[When::Is(85, 2, 2)],
        &[fixed("COLLECTIVE")],
        &[CONDITION, reg(24), TARGET],
    )),
    only(plain(
        WARPSYNC,
        0x948,
        &[When::Is(85, 2, 0)],
        &[fixed("ALL")],
        &[CONDITION],
    )),
    only(plain(
        WARPSYNC,
        0x948,
        &[When::Is(85, 2, 2)],
        &[fixed("COLLECTIVE"), fixed("ALL")],
        &[CONDITION, TARGET],
    )),
    only(plain(ENDCOLLECTIVE, 0x91b, &[], &[], &[CONDITION])),
    only(plain(
        LEPC,
        0x94e,
        &[],
        &[],
        &[
            D,
            Field::Target {
                bits: &[(24, 58)],
                scale: 1,
            },
        ],
    )),
];
