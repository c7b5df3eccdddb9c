//! Single-precision arithmetic and the multi-function unit.

use super::integer::COMBINE;
use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B, C, Last};

/// Rounding of results, bits 78 and 79.
pub(super) const ROUND: Suffix = suffix(&[(78, 2)], "- RM RP RZ");
/// Denormals flushed to zero, bit 80.
pub(super) const FTZ: Suffix = suffix(&[(80, 1)], "- FTZ");
/// Saturation to [0, 1], bit 77.
pub(super) const SAT: Suffix = suffix(&[(77, 1)], "- SAT");
/// Denormals flushed and 0 times anything 0, in bits 80 and 76.
pub(super) const FLUSH: Suffix = suffix(&[(80, 1), (76, 1)], "- FTZ FMZ ?");
/// Floating comparison, bits 76 to 79.
pub(super) const COMPARE: Suffix = suffix(
    &[(76, 4)],
    "F LT EQ LE GT NE GE NUM NAN LTU EQU LEU GTU NEU GEU T",
);

/// The half-precision source of MUFU: its lower or its upper half.
const SHORT: Field = Field::Source {
    slot: B,
    literal: ImmediateKind::Float16,
    adjust: SIGNS,
    select: Selects::Bits(60, 2, &[Some(Select::None), Some(Select::H1)]),
};

pub(super) const ROWS: &[Row] = &[
    alu(
        FADD,
        0x021,
        RRR | ANY_C,
        &[],
        &[FTZ, ROUND, SAT],
        &[D, float(A, SIGNS), float(Last, SIGNS)],
    ),
    alu(
        FMUL,
        0x020,
        ANY_B,
        &[],
        &[
            FLUSH,
            suffix(&[(84, 3)], "? D8 D4 D2 - M2 M4 M8"),
            ROUND,
            SAT,
        ],
        &[D, float(A, SIGNS), float(B, SIGNS)],
    ),
    alu(
        FFMA,
        0x023,
        ANY,
        &[],
        &[FLUSH, ROUND, SAT],
        &[D, float(A, SIGNS), float(B, SIGNS), float(C, SIGNS)],
    ),
    alu(
        FMNMX,
        0x009,
        ANY_B,
        &[],
        &[FTZ, suffix(&[(81, 1)], "- NAN")],
        &[D, float(A, SIGNS), float(B, SIGNS), pred_source(87)],
    )
    .until(Architecture::Sm80),
    alu(
        FMNMX,
        0x009,
        ANY_B,
        &[],
        &[
            FTZ,
            suffix(&[(81, 1)], "- NAN"),
            suffix(&[(82, 1)], "- XORSIGN"),
        ],
        &[D, float(A, SIGNS), float(B, SIGNS), pred_source(87)],
    )
    .since(Architecture::Sm86),
    alu(
        FSEL,
        0x008,
        ANY_B,
        &[],
        &[FTZ],
        &[D, float(A, SIGNS), float(B, SIGNS), pred_source(87)],
    ),
    alu(
        FSET,
        0x00a,
        ANY_B,
        &[],
        &[fixed("BF"), COMPARE, FTZ, COMBINE],
        &[D, float(A, SIGNS), float(B, SIGNS), pred_source(87)],
    ),
    alu(
        FSETP,
        0x00b,
        ANY_B,
        &[],
        &[COMPARE, FTZ, COMBINE],
        &[
            pred(81),
            pred(84),
            float(A, SIGNS),
            float(B, SIGNS),
            pred_source(87),
        ],
    ),
    alu(
        FCHK,
        0x102,
        ANY_B,
        &[],
        &[],
        &[pred(81), float(A, SIGNS), float(B, SIGNS)],
    ),
    // The 64-bit seeds take the upper half of a double.
    alu(
        MUFU,
        0x108,
        ANY_B,
        &[When::Is(75, 2, 3), When::Is(77, 1, 0), When::Is(73, 1, 0)],
        &[suffix(&[(74, 1)], "RCP64H RSQ64H")],
        &[D, double(B, SIGNS)],
    ),
    alu(
        MUFU,
        0x108,
        ANY_B,
        &[When::Is(73, 1, 0)],
        &[suffix(&[(74, 4)], "COS SIN EX2 LG2 RCP RSQ ? ? SQRT TANH")],
        &[D, float(B, SIGNS)],
    ),
    alu(
        MUFU,
        0x108,
        ANY_B,
        &[When::Is(73, 1, 1)],
        &[
            suffix(&[(74, 4)], "COS SIN EX2 LG2 RCP RSQ ? ? SQRT TANH"),
            fixed("F16"),
        ],
        &[D, SHORT],
    ),
];
