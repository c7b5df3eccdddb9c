//! Predicate logic and votes.

use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B, C};

const LUT_HIGH: Field = unsigned(&[(64, 3), (72, 5)]);
const LUT_LOW: Field = unsigned(&[(16, 8)]);

const LUT_WHOLE: Field = unsigned(&[(72, 8)]);

/// The sign bit of a source as a predicate.
const fn sign(slot: Slot) -> Field {
    Field::Source {
        slot,
        literal: ImmediateKind::Unsigned,
        adjust: PLAIN,
        select: Selects::Always(Select::Sign),
    }
}

pub(super) const ROWS: &[Row] = &[
    plain(
        PLOP3,
        0x81c,
        &[When::Is(67, 1, 0)],
        &[fixed("LUT")],
        &[
            pred(81),
            pred(84),
            pred_source(87),
            pred_source(77),
            pred_source(68),
            LUT_HIGH,
            LUT_LOW,
        ],
    ),
    plain(
        PLOP3,
        0x81c,
        &[When::Is(67, 1, 1)],
        &[fixed("LUT")],
        &[
            pred(81),
            pred(84),
            pred_source(87),
            pred_source(77),
            upred_source(68),
            LUT_HIGH,
            LUT_LOW,
        ],
    ),
    plain(
        VOTE,
        0x806,
        &[],
        &[suffix(&[(72, 2)], "ALL ANY EQ")],
        &[reg_or_nothing(16), pred(81), pred_source(87)],
    ),
    // Sign bits of registers as inputs.
    alu(
        PLOP3,
        0x01d,
        RRR | RCR,
        &[],
        &[fixed("LUT")],
        &[
            pred(81),
            pred(84),
            pred_source(87),
            sign(B),
            pred_source(68),
            LUT_WHOLE,
            LUT_LOW,
        ],
    ),
    alu(
        PLOP3,
        0x01e,
        RRR | RCR,
        &[],
        &[fixed("LUT")],
        &[
            pred(81),
            pred(84),
            pred_source(87),
            sign(B),
            sign(C),
            LUT_WHOLE,
            LUT_LOW,
        ],
    ),
    alu(
        PLOP3,
        0x01f,
        RRR | RCR,
        &[],
        &[fixed("LUT")],
        &[
            pred(81),
            pred(84),
            sign(A),
            sign(B),
            sign(C),
            LUT_WHOLE,
            LUT_LOW,
        ],
    ),
];
