//! Half-precision and brain-float arithmetic on pairs.

use super::float::{FTZ, SAT};
use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B, C, Last};

const COMBINE: Suffix = suffix(&[(69, 2)], "AND OR XOR");
const COMPARE: Suffix = super::float::COMPARE;
pub(super) const FLUSH: Suffix = suffix(&[(80, 1), (76, 1)], "- FTZ FMZ ?");
const BF16: Suffix = suffix(&[(85, 1)], "- BF16_V2");
const WIDE: Suffix = suffix(&[(78, 1)], "- F32");
/// Rows with brain-float literals.
const BRAIN: &[When] = &[When::Is(85, 1, 1)];

/// Rows that rectify under a predicate.
const RECTIFIED: &[When] = &[When::Is(79, 1, 1)];
const BRAIN_RELU: &[When] = &[When::Is(85, 1, 1), When::Is(79, 1, 1)];
/// The first source of a widening addition has no absolute value.
const WIDENED: Field = Field::Source {
    slot: A,
    literal: ImmediateKind::Float16Pair,
    adjust: Adjusts {
        absolute: false,
        ..HALF
    },
    select: Selects::Half,
};
/// A widening addition reads only the low half of a literal.
const SINGLE: Field = Field::Source {
    slot: Last,
    literal: ImmediateKind::Float16,
    adjust: HALF,
    select: Selects::Half,
};

/// A second source of which the high half is negated.
const HALF_NEGATED: Field = Field::Source {
    slot: B,
    literal: ImmediateKind::Float16Pair,
    adjust: HALF,
    select: Selects::Always(Select::H0NegatedH1),
};

/// A brain-float source.
pub(super) const fn brain(slot: Slot) -> Field {
    let literal = ImmediateKind::BFloat16Pair;
    Field::Source {
        slot,
        literal,
        adjust: HALF,
        select: Selects::Half,
    }
}

/// A source of the tensor datapath's HFMA2, which has no half selection.
const fn pair(slot: Slot) -> Field {
    let literal = ImmediateKind::Float16Pair;
    Field::Source {
        slot,
        literal,
        adjust: HALF,
        select: Selects::Nothing,
    }
}

pub(super) const ROWS: &[Row] = &[
    alu(
        HADD2,
        0x030,
        RRI,
        &[When::Is(78, 1, 1)],
        &[WIDE, FTZ, SAT],
        &[D, WIDENED, SINGLE],
    )
    .since(Architecture::Sm86),
    alu(
        HADD2,
        0x030,
        RRR | ANY_C,
        &[When::Is(78, 1, 1)],
        &[WIDE, FTZ, SAT],
        &[D, WIDENED, half(Last)],
    )
    .since(Architecture::Sm86),
    alu(
        HADD2,
        0x030,
        RRR | ANY_C,
        &[],
        &[WIDE, FTZ, SAT],
        &[D, half(A), half(Last)],
    ),
    alu(
        HFMA2,
        0x031,
        ANY,
        BRAIN_RELU,
        &[BF16, WIDE, FLUSH, fixed("RELU"), SAT],
        &[D, brain(A), brain(B), brain(C), pred_source_or_nothing(87)],
    )
    .since(Architecture::Sm80),
    alu(
        HFMA2,
        0x031,
        ANY,
        BRAIN,
        &[BF16, WIDE, FLUSH, SAT],
        &[D, brain(A), brain(B), brain(C)],
    )
    .since(Architecture::Sm80),
    alu(
        HFMA2,
        0x031,
        ANY,
        RECTIFIED,
        &[WIDE, FLUSH, fixed("RELU"), SAT],
        &[D, half(A), half(B), half(C), pred_source_or_nothing(87)],
    )
    .since(Architecture::Sm80),
    alu(
        HFMA2,
        0x031,
        ANY,
        &[When::Is(86, 1, 1), When::Is(79, 1, 0)],
        &[WIDE, FLUSH, SAT],
        &[D, half(A), HALF_NEGATED, half(C)],
    )
    .since(Architecture::Sm86),
    alu(
        HFMA2,
        0x031,
        ANY,
        &[],
        &[WIDE, FLUSH, SAT],
        &[D, half(A), half(B), half(C)],
    ),
    alu(
        HMUL2,
        0x032,
        ANY_B,
        BRAIN,
        &[BF16, WIDE, FLUSH, SAT],
        &[D, brain(A), brain(B)],
    )
    .since(Architecture::Sm90),
    alu(
        HMUL2,
        0x032,
        ANY_B,
        &[],
        &[WIDE, FLUSH, SAT],
        &[D, half(A), half(B)],
    ),
    alu(
        HSET2,
        0x033,
        RRR | ANY_C,
        &[],
        &[suffix(&[(71, 1)], "- BF"), COMPARE, FTZ, COMBINE],
        &[D, half(A), half(Last), pred_source(87)],
    ),
    alu(
        HSETP2,
        0x034,
        RRR | ANY_C,
        &[],
        &[COMPARE, FTZ, suffix(&[(71, 1)], "- H_AND"), COMBINE],
        &[pred(81), pred(84), half(A), half(Last), pred_source(87)],
    ),
    alu(
        HFMA2,
        0x035,
        ANY,
        RECTIFIED,
        &[fixed("MMA"), FLUSH, fixed("RELU"), SAT],
        &[D, pair(A), pair(B), pair(C), pred_source_or_nothing(87)],
    )
    .since(Architecture::Sm80),
    alu(
        HFMA2,
        0x035,
        ANY,
        &[],
        &[fixed("MMA"), FLUSH, SAT],
        &[D, pair(A), pair(B), pair(C)],
    ),
    alu(
        HMNMX2,
        0x040,
        ANY_B,
        BRAIN,
        &[WIDE, BF16, FTZ, suffix(&[(81, 1)], "- NAN")],
        &[D, brain(A), brain(B), pred_source(87)],
    )
    .until(Architecture::Sm80)
    .since(Architecture::Sm80),
    alu(
        HMNMX2,
        0x040,
        ANY_B,
        BRAIN,
        &[
            WIDE,
            BF16,
            FTZ,
            suffix(&[(81, 1)], "- NAN"),
            suffix(&[(82, 1)], "- XORSIGN"),
        ],
        &[D, brain(A), brain(B), pred_source(87)],
    )
    .since(Architecture::Sm86),
    alu(
        HMNMX2,
        0x040,
        ANY_B,
        &[],
        &[WIDE, BF16, FTZ, suffix(&[(81, 1)], "- NAN")],
        &[D, half(A), half(B), pred_source(87)],
    )
    .until(Architecture::Sm80),
    alu(
        HMNMX2,
        0x040,
        ANY_B,
        &[],
        &[
            WIDE,
            BF16,
            FTZ,
            suffix(&[(81, 1)], "- NAN"),
            suffix(&[(82, 1)], "- XORSIGN"),
        ],
        &[D, half(A), half(B), pred_source(87)],
    )
    .since(Architecture::Sm86),
];
