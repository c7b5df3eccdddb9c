//! What Hopper encodes its own way among the instructions that every kernel uses: jumps with a wider
//! offset, integer minimum and addition on pairs of halves, reductions without a result, REDG.
//! Its new units stand in `tensor_map` and `warp_group`.

use super::atomic::{OPERATION, SHARED_SWAP, SHORT_OPERATION, shared};
use super::float::{FTZ, SAT};
use super::half::{FLUSH, brain};
use super::memory::{EVICT, EXTENDED, PLAIN_ADDRESS, STORE_ORDER, with_uniform};
use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B, C};

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

/// Type of an integer minimum, bits 72 and 73, and `.RELU` of bit 76.
const MINIMUM: [Suffix; 2] = [
    suffix(&[(72, 2)], "U32 - U16x2 S16x2"),
    suffix(&[(76, 1)], "- RELU"),
];
/// Rows that also tell of each half which source was taken.
const CHOICES: &[When] = &[When::Not(81, 3, 7), When::Not(84, 3, 7)];

/// Integer type of an atomic operation, bits 73 to 75.
const WIDE_TYPE: Suffix = suffix(&[(73, 3)], "- S32 64 S64 128");
/// Integer type, bits 73 to 75.
const TYPE: Suffix = suffix(&[(73, 3)], "- S32 64 S64");
/// Floating operation, bits 88 and 89.
const FLOAT_OPERATION: Suffix = suffix(&[(88, 2)], "ADD MIN MAX");
/// Floating type, bits 73 to 76 and 87.
const FLOAT_TYPE: Suffix = suffix(
    &[(73, 4), (87, 1)],
    "F16x2.RN F16x4.RN F16x8.RN BF16x2.RN BF16x4.RN BF16x8.RN ? ? ? F32.FTZ.RN F32x2.FTZ.RN \
     F32x4.FTZ.RN F32.RN F32x2.RN F32x4.RN F64.RN",
);
const REDUCE: [Suffix; 5] = [EXTENDED, SHORT_OPERATION, EVICT, TYPE, STORE_ORDER];
/// Type of an operation on shared memory.
const SHARED_TYPE: Suffix = suffix(&[(73, 3)], "- S32 64 ? 128");
/// A shared address whose uniform register is always printed.
const SHARED_SUM: Field = Field::Memory(Address {
    uniform: Some(64),
    scale: Some(78),
    ..PLAIN_ADDRESS
});
const OPERATE_FLOAT: [Suffix; 5] = [EXTENDED, FLOAT_OPERATION, EVICT, FLOAT_TYPE, STORE_ORDER];
const REDUCE_FLOAT: [Suffix; 5] = [EXTENDED, FLOAT_OPERATION, EVICT, FLOAT_TYPE, STORE_ORDER];

/// A generic or global address with a uniform register, or its descriptor.
const DESCRIBED: Field = Field::Memory(Address {
    uniform: Some(64),
    wide: Some(70),
    descriptor: Some(71),
    ..PLAIN_ADDRESS
});
const SIMPLE: Field = Field::Memory(PLAIN_ADDRESS);
const OPERATE: [Suffix; 5] = [EXTENDED, OPERATION, EVICT, WIDE_TYPE, STORE_ORDER];
const SWAP_TYPE: Suffix = suffix(&[(73, 3)], "- S32 64 ? 128");
const EXCHANGE: [Suffix; 5] = [EXTENDED, SHARED_SWAP, EVICT, SWAP_TYPE, STORE_ORDER];
const SWAP_GLOBAL: [Suffix; 5] = [EXTENDED, fixed("CAS"), EVICT, SWAP_TYPE, STORE_ORDER];

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
/// Spaces that QSPC asks for.
const QUERY: [Suffix; 2] = [EXTENDED, suffix(&[(73, 2)], "G L S D")];

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
const fn only(row: Row) -> Row {
    row.since(Architecture::Sm90)
}

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
    only(plain(CGAERRBAR, 0x5ab, &[], &[], &[])),
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
    only(plain(
        REDG,
        0x98e,
        &[],
        &REDUCE,
        &[Field::Memory(PLAIN_ADDRESS), reg(32)],
    )),
    only(plain(
        REDG,
        0x98e,
        &[],
        &REDUCE,
        &[with_uniform(64, Some(71)), reg(32)],
    ))
    .high(High::One),
    only(plain(
        REDG,
        0x9a6,
        &[],
        &REDUCE_FLOAT,
        &[Field::Memory(PLAIN_ADDRESS), reg(32)],
    )),
    only(plain(
        REDG,
        0x9a6,
        &[],
        &REDUCE_FLOAT,
        &[with_uniform(64, Some(71)), reg(32)],
    ))
    .high(High::One),
    only(plain(
        ATOM,
        0x38a,
        &[],
        &OPERATE,
        &[pred(81), D, SIMPLE, reg(32)],
    )),
    only(plain(
        ATOM,
        0x98a,
        &[],
        &OPERATE,
        &[pred(81), D, DESCRIBED, reg(32)],
    ))
    .high(High::One),
    only(plain(
        ATOM,
        0x3a2,
        &[],
        &OPERATE_FLOAT,
        &[pred(81), D, SIMPLE, reg(32)],
    )),
    only(plain(
        ATOM,
        0x9a2,
        &[],
        &OPERATE_FLOAT,
        &[pred(81), D, DESCRIBED, reg(32)],
    ))
    .high(High::One),
    only(plain(
        ATOM,
        0x38b,
        &[],
        &EXCHANGE,
        &[pred(81), D, SIMPLE, reg(32), reg(64)],
    )),
    only(plain(
        ATOMG,
        0x3a8,
        &[],
        &OPERATE,
        &[pred(81), D, SIMPLE, reg(32)],
    )),
    only(plain(
        ATOMG,
        0x9a8,
        &[],
        &OPERATE,
        &[pred(81), D, DESCRIBED, reg(32)],
    ))
    .high(High::One),
    only(plain(
        ATOMG,
        0x3a3,
        &[],
        &OPERATE_FLOAT,
        &[pred(81), D, SIMPLE, reg(32)],
    )),
    only(plain(
        ATOMG,
        0x9a3,
        &[],
        &OPERATE_FLOAT,
        &[pred(81), D, DESCRIBED, reg(32)],
    ))
    .high(High::One),
    only(plain(
        ATOMG,
        0x3a9,
        &[],
        &SWAP_GLOBAL,
        &[pred(81), D, SIMPLE, reg(32), reg(64)],
    )),
    only(plain(
        ATOMS,
        0x38c,
        &[],
        &[OPERATION, SHARED_TYPE],
        &[D, shared(None), reg(32)],
    )),
    only(plain(
        ATOMS,
        0x98c,
        &[],
        &[OPERATION, SHARED_TYPE],
        &[D, shared(Some(64)), reg(32)],
    ))
    .high(High::One),
    only(plain(
        ATOMS,
        0x38d,
        &[],
        &[SHARED_SWAP, SHARED_TYPE],
        &[D, shared(None), reg(32), reg(64)],
    )),
    only(plain(
        ATOMS,
        0xf8c,
        &[When::Is(87, 4, 11)],
        &[fixed("POPC.INC"), suffix(&[(73, 3)], "32")],
        &[D, SHARED_SUM],
    ))
    .high(High::One),
    only(plain(QSPC, 0x3aa, &[], &QUERY, &[pred(81), D, SIMPLE])),
    only(plain(
        QSPC,
        0x9aa,
        &[],
        &QUERY,
        &[pred(81), D, with_uniform(32, None)],
    ))
    .high(High::One),
    // Hopper's minimum can tell which source it took.
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
    only(plain(
        MEMBAR,
        0x992,
        &[],
        &[
            suffix(&[(79, 2)], "SC ALL - MMIO"),
            suffix(&[(76, 3)], "CTA SM GPU SYS ? VC CTA.PARTIAL"),
        ],
        &[],
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
