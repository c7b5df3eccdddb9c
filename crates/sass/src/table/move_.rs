//! Moves between registers: copies, selections, byte permutations, predicates as registers, special
//! registers, shuffles across the warp.

use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B, C};

/// Which byte of a register P2R and R2P touch.
const BYTE: [Option<Select>; 4] = [
    Some(Select::None),
    Some(Select::B1),
    Some(Select::B2),
    Some(Select::B3),
];

/// Direction of a shuffle.
const DIRECTION: Suffix = suffix(&[(58, 2)], "IDX UP DOWN BFLY");

pub(super) const ROWS: &[Row] = &[
    alu(
        MOV,
        0x002,
        ANY_B,
        &[],
        &[],
        &[D, word(B, PLAIN), unsigned_or_nothing(&[(72, 4)], 15)],
    ),
    alu(
        SEL,
        0x007,
        ANY_B,
        &[],
        &[],
        &[D, word(A, PLAIN), word(B, PLAIN), pred_source(87)],
    ),
    alu(
        PRMT,
        0x016,
        ANY,
        &[],
        &[suffix(&[(72, 3)], "- F4E B4E RC8 ECL ECR RC16")],
        &[D, word(A, PLAIN), word(B, PLAIN), word(C, PLAIN)],
    ),
    alu(
        P2R,
        0x003,
        ANY_B,
        &[],
        &[suffix(&[(76, 2)], "- B1 B2 B3")],
        &[
            D,
            Field::PredicateSet {
                uniform: false,
                select: Selects::Nothing,
            },
            int(A, PLAIN),
            int(B, PLAIN),
        ],
    ),
    // The mask of all predicates of a byte is not printed.
    alu(
        R2P,
        0x004,
        RIR,
        &[When::Is(32, 32, 0xff)],
        &[],
        &[
            Field::PredicateSet {
                uniform: false,
                select: Selects::Nothing,
            },
            Field::Register {
                at: 24,
                adjust: PLAIN,
                select: Selects::Bits(76, 2, &BYTE),
                optional: false,
                reused: true,
            },
        ],
    ),
    alu(
        R2P,
        0x004,
        ANY_B,
        &[],
        &[],
        &[
            Field::PredicateSet {
                uniform: false,
                select: Selects::Nothing,
            },
            Field::Register {
                at: 24,
                adjust: PLAIN,
                select: Selects::Bits(76, 2, &BYTE),
                optional: false,
                reused: true,
            },
            word(B, PLAIN),
        ],
    ),
    plain(S2R, 0x919, &[], &[], &[D, Field::Special]),
    plain(
        CS2R,
        0x805,
        &[],
        &[suffix(&[(80, 1)], "32 -")],
        &[D, Field::Special],
    ),
    plain(
        SHFL,
        0x389,
        &[],
        &[DIRECTION],
        &[pred(81), D, reg(24), reg(32), reg(64)],
    ),
    plain(
        SHFL,
        0x589,
        &[],
        &[DIRECTION],
        &[pred(81), D, reg(24), reg(32), unsigned(&[(40, 13)])],
    ),
    plain(
        SHFL,
        0x989,
        &[],
        &[DIRECTION],
        &[pred(81), D, reg(24), unsigned(&[(53, 5)]), reg(64)],
    ),
    plain(
        SHFL,
        0xf89,
        &[],
        &[DIRECTION],
        &[
            pred(81),
            D,
            reg(24),
            unsigned(&[(53, 5)]),
            unsigned(&[(40, 13)]),
        ],
    ),
    plain(
        MOVM,
        0x23a,
        &[],
        &[fixed("16"), suffix(&[(78, 2)], "MT88 M832 M864")],
        &[D, reg(24)],
    ),
];
