//! Arithmetic that Hopper encodes its own way: integer minimum and addition, also on pairs of halves, half
//! precision and MUFU. Jumps stand in `hopper_flow`, memory in `hopper_memory`, its new units in `tensor_map`
//! and `warp_group`.

use super::float::{FTZ, SAT};
use super::half::{FLUSH, brain};
use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B, C};

/// Type of an integer minimum, bits 72 and 73, and `.RELU` of bit 76.
const MINIMUM: [Suffix; 2] = [
    suffix(&[(72, 2)], "U32 - U16x2 S16x2"),
    suffix(&[(76, 1)], "- RELU"),
];
/// Rows that also tell of each half which source was taken.
const CHOICES: &[When] = &[When::Not(81, 3, 7), When::Not(84, 3, 7)];

/// A register that the register-file cache can keep.
const KEPT: Field = Field::Register {
    at: 24,
    adjust: PLAIN,
    select: Selects::Nothing,
    optional: false,
    reused: true,
};
/// HFMA2.OOB, where other architectures have no name.
const OUT_OF_BOUNDS: [When; 2] = [When::Is(80, 1, 1), When::Is(76, 1, 1)];
/// The third source of VHMNMX, whose halves are chosen in bits of their own.
const LIMIT: Field = Field::Source {
    slot: C,
    literal: ImmediateKind::Float16Pair,
    adjust: HALF,
    select: Selects::Bits(
        76,
        2,
        &[
            Some(crate::operand::Select::None),
            None,
            Some(crate::operand::Select::H0H0),
            Some(crate::operand::Select::H1H1),
        ],
    ),
};
/// Functions of MUFU, bits 74 to 77.
const FUNCTION: Suffix = suffix(&[(74, 4)], "COS SIN EX2 LG2 RCP RSQ ? ? SQRT TANH");
/// A 16-bit source of MUFU: its lower or its upper half.
const fn short(literal: ImmediateKind) -> Field {
    Field::Source {
        slot: B,
        literal,
        adjust: SIGNS,
        select: Selects::Bits(60, 2, &[Some(Select::None), Some(Select::H1)]),
    }
}
/// A brain-float source of the tensor datapath's HFMA2.
const fn brain_pair(slot: Slot) -> Field {
    Field::Source {
        slot,
        literal: ImmediateKind::BFloat16Pair,
        adjust: HALF,
        select: Selects::Nothing,
    }
}

/// A row of this architecture alone.
pub(super) const fn only(row: Row) -> Row {
    row.since(Architecture::Sm90)
}

pub(super) const ROWS: &[Row] = &[
    only(alu(
        VIADD,
        0x036,
        ANY_B,
        &[],
        &[suffix(&[(73, 1)], "- 16x2")],
        &[D, word(A, PLAIN), word(B, NEGATE)],
    )),
    only(alu(
        VIMNMX,
        0x048,
        ANY_B,
        CHOICES,
        &MINIMUM,
        &[
            D,
            pred(81),
            pred(84),
            int(A, PLAIN),
            int(B, PLAIN),
            pred_source(87),
        ],
    )),
    only(alu(
        VIMNMX,
        0x048,
        ANY_B,
        &[When::Is(81, 3, 7)],
        &MINIMUM,
        &[D, int(A, PLAIN), int(B, PLAIN), pred_source(87)],
    ))
    .rest(&[(84, 3, 7)]),
    only(alu(
        VIADDMNMX,
        0x046,
        ANY,
        &[],
        &MINIMUM,
        &[
            D,
            word(A, PLAIN),
            word(B, NEGATE),
            word(C, PLAIN),
            pred_source(87),
        ],
    )),
    only(alu(
        VIMNMX3,
        0x00f,
        ANY,
        &[],
        &MINIMUM,
        &[
            D,
            word(A, PLAIN),
            word(B, PLAIN),
            word(C, PLAIN),
            pred_source(87),
        ],
    )),
    only(plain(
        R2UR,
        0x2ca,
        &[When::Is(84, 1, 0)],
        &[],
        &[pred_or_nothing(81), UD, KEPT],
    )),
    only(plain(
        R2UR,
        0x2ca,
        &[When::Is(84, 1, 1)],
        &[fixed("OR")],
        &[pred(81), UD, KEPT],
    )),
    only(alu(
        FMNMX,
        0x009,
        ANY_B,
        &[When::Is(65, 1, 1)],
        &[
            FTZ,
            suffix(&[(81, 1)], "- NAN"),
            suffix(&[(82, 1)], "- XORSIGN"),
            fixed("IS_A"),
        ],
        &[
            D,
            pred(66),
            float(A, SIGNS),
            float(B, SIGNS),
            pred_source(87),
        ],
    )),
    only(alu(
        HADD2,
        0x030,
        RRR | ANY_C,
        &[When::Is(85, 1, 1), When::Is(78, 1, 0)],
        &[fixed("BF16_V2"), FTZ, SAT],
        &[D, brain(A), brain(Slot::Last)],
    )),
    // Elements from outside a tensor count as zero.
    only(alu(
        HFMA2,
        0x031,
        ANY,
        &[
            OUT_OF_BOUNDS[0],
            OUT_OF_BOUNDS[1],
            When::Is(85, 1, 1),
            When::Is(79, 1, 1),
        ],
        &[fixed("BF16_V2"), fixed("OOB"), fixed("RELU")],
        &[D, brain(A), brain(B), brain(C), pred_source_or_nothing(87)],
    )),
    only(alu(
        HFMA2,
        0x031,
        ANY,
        &[OUT_OF_BOUNDS[0], OUT_OF_BOUNDS[1], When::Is(85, 1, 1)],
        &[fixed("BF16_V2"), fixed("OOB")],
        &[D, brain(A), brain(B), brain(C)],
    )),
    only(alu(
        HFMA2,
        0x031,
        ANY,
        &[OUT_OF_BOUNDS[0], OUT_OF_BOUNDS[1], When::Is(79, 1, 1)],
        &[fixed("OOB"), fixed("RELU")],
        &[D, half(A), half(B), half(C), pred_source_or_nothing(87)],
    )),
    only(alu(
        HFMA2,
        0x031,
        ANY,
        &OUT_OF_BOUNDS,
        &[fixed("OOB")],
        &[D, half(A), half(B), half(C)],
    )),
    only(alu(
        HFMA2,
        0x035,
        ANY,
        &[When::Is(85, 1, 1), When::Is(78, 1, 0), When::Is(79, 1, 1)],
        &[fixed("MMA"), fixed("BF16_V2"), FLUSH, fixed("RELU"), SAT],
        &[
            D,
            brain_pair(A),
            brain_pair(B),
            brain_pair(C),
            pred_source_or_nothing(87),
        ],
    )),
    only(alu(
        HFMA2,
        0x035,
        ANY,
        &[When::Is(85, 1, 1), When::Is(78, 1, 0), When::Is(79, 1, 0)],
        &[fixed("MMA"), fixed("BF16_V2"), FLUSH, SAT],
        &[D, brain_pair(A), brain_pair(B), brain_pair(C)],
    )),
    only(alu(
        MUFU,
        0x108,
        ANY_B,
        &[When::Is(75, 2, 3), When::Is(77, 1, 0), When::Is(72, 2, 0)],
        &[suffix(&[(74, 1)], "RCP64H RSQ64H")],
        &[D, double(B, SIGNS)],
    )),
    only(alu(
        MUFU,
        0x108,
        ANY_B,
        &[When::Is(72, 2, 0)],
        &[FUNCTION],
        &[D, float(B, SIGNS)],
    )),
    only(alu(
        MUFU,
        0x108,
        ANY_B,
        &[When::Is(72, 2, 1)],
        &[FUNCTION, fixed("F16")],
        &[D, short(ImmediateKind::Float16)],
    )),
    only(alu(
        MUFU,
        0x108,
        ANY_B,
        &[When::Is(72, 2, 2)],
        &[FUNCTION, fixed("BF16")],
        &[D, short(ImmediateKind::BFloat16)],
    )),
    only(alu(
        F2FP,
        0x03e,
        ANY_B,
        &[When::Is(78, 1, 1), When::Is(89, 2, 1), When::Is(73, 2, 0)],
        &[
            suffix(&[(75, 1)], "- RELU"),
            suffix(&[(76, 1), (86, 2)], "? ? ? TF32"),
            fixed("F32.PACK_B"),
            suffix(&[(79, 3)], "-"),
        ],
        &[D, float(B, PLAIN)],
    )),
    only(alu(
        VHMNMX,
        0x047,
        ANY,
        &[When::Is(85, 1, 1), When::Is(78, 1, 0)],
        &[
            fixed("BF16_V2"),
            FTZ,
            suffix(&[(81, 1)], "- NAN"),
            suffix(&[(82, 1)], "- XORSIGN"),
        ],
        &[D, brain(A), brain(B), LIMIT, pred_source(87)],
    )),
    only(alu(
        VHMNMX,
        0x047,
        ANY,
        &[When::Is(85, 1, 0), When::Is(78, 1, 0)],
        &[
            FTZ,
            suffix(&[(81, 1)], "- NAN"),
            suffix(&[(82, 1)], "- XORSIGN"),
        ],
        &[D, half(A), half(B), LIMIT, pred_source(87)],
    )),
    // The byte mask is printed without sign.
    only(alu(
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
            word(A, PLAIN),
            word(B, PLAIN),
        ],
    )),
];
