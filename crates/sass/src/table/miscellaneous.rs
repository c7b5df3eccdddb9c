//! What fits no unit: no-operations and warp-wide matches.

use super::*;
use crate::opcode::Opcode::*;

pub(super) const ROWS: &[Row] = &[
    plain(NOP, 0x918, &[], &[], &[]),
    plain(
        MATCH,
        0x3a1,
        &[When::Is(79, 1, 1)],
        &[fixed("ANY"), suffix(&[(73, 1)], "- U64")],
        &[D, reg(24)],
    )
    .rest(&[NO_CARRY_OUT]),
    plain(
        MATCH,
        0x3a1,
        &[When::Is(79, 1, 0)],
        &[fixed("ALL"), suffix(&[(73, 1)], "- U64")],
        &[pred(81), D, reg(24)],
    ),
    plain(
        PMTRIG,
        0x801,
        &[],
        &[],
        &[pred_source_or_nothing(87), unsigned(&[(32, 16)])],
    ),
];
