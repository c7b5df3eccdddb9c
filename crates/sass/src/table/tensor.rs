//! Matrix multiply-accumulate on the tensor cores.

use super::*;
use crate::opcode::Opcode::*;

/// The uniform predicate of a sparse or masked step, left out if UPT.
const GATE: Field = gate(87, true);

pub(super) const ROWS: &[Row] = &[
    plain(
        HMMA,
        0x23c,
        &[When::Is(73, 1, 0)],
        &[
            suffix(&[(75, 1), (78, 1)], "1688 16816 1684 ?"),
            suffix(&[(76, 1)], "F16 F32"),
            suffix(&[(82, 2)], "- BF16 TF32"),
        ],
        &[D, reg(24), reg(32), reg(64), GATE],
    ),
    plain(
        DMMA,
        0x23f,
        &[When::Is(76, 1, 0)],
        &[fixed("884"), super::float::ROUND],
        &[D, SIGNED_A, SIGNED_B, SIGNED_C, GATE],
    ),
];

const SIGNED_A: Field = Field::Register {
    at: 24,
    adjust: SIGNS,
    select: Selects::Nothing,
    optional: false,
};
const SIGNED_B: Field = Field::Register {
    at: 32,
    adjust: SIGNS,
    select: Selects::Nothing,
    optional: false,
};
const SIGNED_C: Field = Field::Register {
    at: 64,
    adjust: SIGNS,
    select: Selects::Nothing,
    optional: false,
};
