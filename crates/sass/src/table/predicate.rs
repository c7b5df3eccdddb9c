//! Predicate logic and votes.

use super::*;
use crate::opcode::Opcode::*;

const LUT_HIGH: Field = unsigned(&[(64, 3), (72, 5)]);
const LUT_LOW: Field = unsigned(&[(16, 8)]);

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
];
