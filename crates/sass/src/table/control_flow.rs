//! Branches, calls, convergence barriers and what else moves the program counter.

use super::*;
use crate::opcode::Opcode::*;
use Slot::B;

/// The 48-bit offset of a jump in bytes.
const OFFSET: &[(u8, u8)] = &[(34, 48)];
/// A jump's target relative to the next instruction.
const TARGET: Field = Field::Target {
    bits: OFFSET,
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
/// What an indexed jump adds to its register, left out if zero.
const ADDEND: Field = Field::Immediate {
    bits: OFFSET,
    kind: ImmediateKind::Signed,
    default: Some(0),
    scale: 4,
};
/// The predicate that joins the guard, left out if PT.
const CONDITION: Field = pred_source_or_nothing(87);

pub(super) const ROWS: &[Row] = &[
    plain(
        BRA,
        0x947,
        &[],
        &[
            suffix(&[(85, 2)], "- INC DEC"),
            suffix(&[(32, 2)], "- U DIV CONV"),
        ],
        &[CONDITION, TARGET],
    )
    .until(Architecture::Sm89),
    plain(
        BRA,
        0x947,
        &[],
        &[
            suffix(&[(85, 2)], "- INC DEC"),
            suffix(&[(32, 2)], "? ? DIV CONV"),
        ],
        &[CONDITION, MASK, TARGET],
    )
    .high(High::One)
    .until(Architecture::Sm89)
    .since(Architecture::Sm80),
    plain(
        BRX,
        0x949,
        &[],
        &[suffix(&[(85, 2)], "- INC DEC")],
        &[CONDITION, reg(24), ADDEND],
    )
    .until(Architecture::Sm89),
    plain(
        BRXU,
        0x958,
        &[],
        &[
            suffix(&[(85, 2)], "- INC DEC"),
            suffix(&[(32, 2)], "- U DIV"),
        ],
        &[CONDITION, ureg(24), ADDEND],
    )
    .high(High::One)
    .until(Architecture::Sm89),
    plain(
        CALL,
        0x943,
        &[],
        &[fixed("ABS"), suffix(&[(86, 1)], "- NOINC")],
        &[
            CONDITION,
            Field::Immediate {
                bits: OFFSET,
                kind: ImmediateKind::Signed,
                default: None,
                scale: 4,
            },
        ],
    )
    .until(Architecture::Sm89),
    plain(
        CALL,
        0x343,
        &[],
        &[fixed("ABS"), suffix(&[(86, 1)], "- NOINC")],
        &[CONDITION, reg(24), ADDEND],
    )
    .until(Architecture::Sm89),
    plain(
        CALL,
        0xb43,
        &[],
        &[fixed("ABS"), suffix(&[(86, 1)], "- NOINC")],
        &[
            CONDITION,
            Field::Constant {
                index: None,
                uniform_index: None,
                bindless: None,
            },
        ],
    ),
    plain(
        CALL,
        0x944,
        &[],
        &[fixed("REL"), suffix(&[(86, 1)], "- NOINC")],
        &[CONDITION, TARGET],
    )
    .until(Architecture::Sm89),
    plain(
        CALL,
        0x344,
        &[],
        &[fixed("REL"), suffix(&[(86, 1)], "- NOINC")],
        &[CONDITION, reg(24), TARGET],
    )
    .until(Architecture::Sm89),
    plain(
        RET,
        0x950,
        &[When::Is(85, 1, 0)],
        &[fixed("REL"), suffix(&[(86, 1)], "- NODEC")],
        &[CONDITION, reg(24), TARGET],
    )
    .until(Architecture::Sm89),
    plain(
        RET,
        0x950,
        &[When::Is(85, 1, 1)],
        &[fixed("ABS"), suffix(&[(86, 1)], "- NODEC")],
        &[
            CONDITION,
            reg(24),
            Field::Immediate {
                bits: OFFSET,
                kind: ImmediateKind::Signed,
                default: None,
                scale: 4,
            },
        ],
    )
    .until(Architecture::Sm89),
    plain(
        EXIT,
        0x94d,
        &[],
        &[
            suffix(&[(84, 2)], "- KEEPREFCOUNT PREEMPTED"),
            suffix(&[(86, 1)], "- NO_ATEXIT"),
        ],
        &[CONDITION],
    ),
    plain(KILL, 0x95b, &[], &[], &[CONDITION]),
    plain(
        BSSY,
        0x945,
        &[],
        &[],
        &[
            CONDITION,
            Field::Convergence { at: 16 },
            Field::Target {
                bits: &[(34, 30)],
                scale: 4,
            },
        ],
    ),
    plain(
        BSYNC,
        0x941,
        &[],
        &[],
        &[CONDITION, Field::Convergence { at: 16 }],
    ),
    plain(
        BREAK,
        0x942,
        &[],
        &[],
        &[CONDITION, Field::Convergence { at: 16 }],
    ),
    plain(YIELD, 0x946, &[], &[], &[CONDITION]),
    alu(
        WARPSYNC,
        0x148,
        RRR,
        &[],
        &[suffix(&[(86, 1)], "- EXCLUSIVE")],
        &[CONDITION, word(B, PLAIN)],
    )
    .until(Architecture::Sm89),
    alu(
        WARPSYNC,
        0x148,
        RIR | RCR,
        &[],
        &[],
        &[CONDITION, word(B, PLAIN)],
    )
    .until(Architecture::Sm89),
    alu(
        NANOSLEEP,
        0x15d,
        RRR | RIR | RCR,
        &[],
        &[suffix(&[(86, 1)], "- RAND"), suffix(&[(85, 1)], "- WARP")],
        &[CONDITION, word(B, PLAIN)],
    ),
    plain(
        BMOV,
        0x355,
        &[When::Is(28, 2, 0)],
        &[fixed("32"), suffix(&[(84, 1)], "- CLEAR")],
        &[D, Field::Convergence { at: 24 }],
    ),
    plain(
        BMOV,
        0x355,
        &[When::Is(28, 2, 1)],
        &[fixed("32"), suffix(&[(84, 1)], "- CLEAR")],
        &[D, STATE],
    ),
    alu(
        BMOV,
        0x156,
        RRR | RIR | RCR,
        &[When::Is(28, 2, 0)],
        &[fixed("32"), suffix(&[(84, 1)], "- PQUAD")],
        &[Field::Convergence { at: 24 }, word(B, PLAIN)],
    ),
    alu(
        BMOV,
        0x156,
        RRR | RIR | RCR,
        &[When::Is(28, 2, 1)],
        &[fixed("32"), suffix(&[(84, 1)], "- PQUAD")],
        &[STATE, word(B, PLAIN)],
    ),
    plain(BMOV, 0x357, &[], &[fixed("64")], &[STATE_PC, reg(32)]),
    plain(LEPC, 0x34e, &[], &[], &[D]),
    plain(
        BPT,
        0x95c,
        &[],
        &[suffix(&[(84, 3)], "? ? ? TRAP INT")],
        &[unsigned_or_nothing(&[(34, 3)], 0)],
    ),
    plain(
        JMX,
        0x94c,
        &[],
        &[suffix(&[(85, 2)], "- INC DEC")],
        &[CONDITION, reg(24), ADDEND],
    )
    .until(Architecture::Sm89),
    plain(
        JMP,
        0x94a,
        &[],
        &[
            suffix(&[(85, 2)], "- INC DEC"),
            suffix(&[(32, 2)], "- U DIV CONV"),
        ],
        &[
            CONDITION,
            Field::Immediate {
                bits: OFFSET,
                kind: ImmediateKind::Signed,
                default: None,
                scale: 4,
            },
        ],
    )
    .until(Architecture::Sm89),
    // Between a barrier and a part of the warp's state.
    plain(
        BMOV,
        0xf55,
        &[When::Is(28, 2, 1)],
        &[fixed("32"), suffix(&[(84, 1)], "- CLEAR")],
        &[Field::Convergence { at: 16 }, STATE],
    )
    .high(High::Any),
    plain(
        BMOV,
        0xf56,
        &[When::Is(28, 2, 1)],
        &[fixed("32"), suffix(&[(84, 1)], "- PQUAD")],
        &[STATE, Field::Convergence { at: 16 }],
    )
    .high(High::Any),
    plain(
        CALL,
        0x943,
        &[],
        &[fixed("ABS"), suffix(&[(86, 1)], "- NOINC")],
        &[CONDITION, ureg(24), ADDEND],
    )
    .high(High::One)
    .until(Architecture::Sm89),
    plain(
        CALL,
        0x944,
        &[],
        &[fixed("REL"), suffix(&[(86, 1)], "- NOINC")],
        &[CONDITION, ureg(24), TARGET],
    )
    .high(High::One)
    .until(Architecture::Sm89),
    plain(
        RET,
        0x950,
        &[When::Is(85, 1, 0)],
        &[fixed("REL"), suffix(&[(86, 1)], "- NODEC")],
        &[CONDITION, ureg(24), TARGET],
    )
    .high(High::One)
    .until(Architecture::Sm89),
    plain(
        RET,
        0x950,
        &[When::Is(85, 1, 1)],
        &[fixed("ABS"), suffix(&[(86, 1)], "- NODEC")],
        &[
            CONDITION,
            ureg(24),
            Field::Immediate {
                bits: OFFSET,
                kind: ImmediateKind::Signed,
                default: None,
                scale: 4,
            },
        ],
    )
    .high(High::One)
    .until(Architecture::Sm89),
];

/// Parts of a warp's state that BMOV reaches beside the barriers.
const STATE: Field = Field::Keyword {
    bits: (24, 4),
    names: "THREAD_STATE_ENUM.0 THREAD_STATE_ENUM.1 THREAD_STATE_ENUM.2 THREAD_STATE_ENUM.3 \
            THREAD_STATE_ENUM.4 TRAP_RETURN_PC.LO TRAP_RETURN_PC.HI TRAP_RETURN_MASK MEXITED MKILL \
            MACTIVE MATEXIT OPT_STACK API_CALL_DEPTH ATEXIT_PC.LO ATEXIT_PC.HI",
};
const STATE_PC: Field = Field::Keyword {
    bits: (24, 4),
    names: "ATEXIT_PC",
};
