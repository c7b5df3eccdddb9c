//! Integer arithmetic, logic and shifts on general registers. Each multiply-add has the rows of its
//! aliases before it: the disassembler names IMAD by what its operands make of it.

use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B, C};

/// Carry or overflow predicates of an addition, left out if PT.
const CARRY_OUT: [Field; 2] = [pred_or_nothing(81), pred_or_nothing(84)];

/// Predicate combination of a comparison, bits 74 and 75.
pub(super) const COMBINE: Suffix = suffix(&[(74, 2)], "AND OR XOR");
/// Integer comparison, bits 76 to 78.
pub(super) const COMPARE: Suffix = suffix(&[(76, 3)], "F LT EQ LE GT NE GE T");
/// Unsigned unless bit 73 is set.
pub(super) const SIGNED: Suffix = suffix(&[(73, 1)], "U32 -");

/// IMAD that moves its third source, since its first or second source is zero, or that moves its first
/// one, times one plus RZ. Bindless constants (bit 91) keep the plain name.
const PRODUCT_ZERO: &[When] = &[When::Is(24, 8, 255), When::Is(74, 1, 0), When::Is(91, 1, 0)];
const PRODUCT_ZERO_B: &[When] = &[When::Is(32, 8, 255), When::Is(74, 1, 0)];
const PRODUCT_ZERO_SWAPPED: &[When] =
    &[When::Is(64, 8, 255), When::Is(74, 1, 0), When::Is(91, 1, 0)];
const TIMES_ZERO: &[When] = &[When::Is(32, 32, 0), When::Is(74, 1, 0)];
const TIMES_ONE: &[When] = &[
    When::Is(32, 32, 1),
    When::Is(64, 8, 255),
    When::Is(74, 1, 0),
];
/// IMAD that shifts: times a power of two, plus RZ. A shift by 16 keeps the plain name.
const SHIFTS: &[When] = &[
    When::PowerOfTwo(32, 31),
    When::Is(63, 1, 0),
    When::Not(32, 32, 0x10000),
    When::Is(64, 8, 255),
    When::Is(74, 1, 0),
];
/// IMAD that adds: times one.
const ADDS: &[When] = &[When::Is(32, 32, 1), When::Is(74, 1, 0)];
const MULTIPLY_ADD: &[Field] = &[D, int(A, PLAIN), int(B, PLAIN), int(C, NEGATE)];

/// Shifts: type in bits 73 and 74, `.W` 75, direction 76, `.HI` 80.
pub(super) const SHIFT: [Suffix; 4] = [
    suffix(&[(76, 1)], "L R"),
    suffix(&[(75, 1)], "- W"),
    suffix(&[(73, 2)], "S64 U64 S32 U32"),
    suffix(&[(80, 1)], "- HI"),
];

pub(super) const ROWS: &[Row] = &[
    alu(
        IADD3,
        0x010,
        ANY,
        &[When::Is(74, 1, 0)],
        &[],
        &[
            D,
            CARRY_OUT[0],
            CARRY_OUT[1],
            int(A, NEGATE),
            int(B, NEGATE),
            int(C, NEGATE),
        ],
    )
    .rest(&[NO_CARRY, NO_SECOND_CARRY]),
    alu(
        IADD3,
        0x010,
        ANY,
        &[When::Is(74, 1, 1)],
        &[fixed("X")],
        &[
            D,
            CARRY_OUT[0],
            CARRY_OUT[1],
            int(A, INVERT),
            int(B, INVERT),
            int(C, INVERT),
            pred_source(87),
            pred_source(77),
        ],
    ),
    // IMAD and its aliases.
    alu(
        IMAD,
        0x024,
        RRR | RRI | RRC | RIR | RCR,
        PRODUCT_ZERO,
        &[fixed("MOV"), SIGNED],
        MULTIPLY_ADD,
    )
    .rest(&[NO_CARRY, NO_CARRY_OUT]),
    alu(
        IMAD,
        0x024,
        RRR,
        PRODUCT_ZERO_B,
        &[fixed("MOV"), SIGNED],
        MULTIPLY_ADD,
    )
    .rest(&[NO_CARRY, NO_CARRY_OUT]),
    alu(
        IMAD,
        0x024,
        RRI | RRC,
        PRODUCT_ZERO_SWAPPED,
        &[fixed("MOV"), SIGNED],
        MULTIPLY_ADD,
    )
    .rest(&[NO_CARRY, NO_CARRY_OUT]),
    alu(
        IMAD,
        0x024,
        RIR,
        TIMES_ZERO,
        &[fixed("MOV"), SIGNED],
        MULTIPLY_ADD,
    )
    .rest(&[NO_CARRY, NO_CARRY_OUT]),
    alu(
        IMAD,
        0x024,
        RIR,
        TIMES_ONE,
        &[fixed("MOV"), SIGNED],
        MULTIPLY_ADD,
    )
    .rest(&[NO_CARRY, NO_CARRY_OUT]),
    alu(
        IMAD,
        0x024,
        RIR,
        SHIFTS,
        &[fixed("SHL"), SIGNED],
        MULTIPLY_ADD,
    )
    .rest(&[NO_CARRY, NO_CARRY_OUT]),
    alu(
        IMAD,
        0x024,
        RIR,
        ADDS,
        &[fixed("IADD"), SIGNED],
        MULTIPLY_ADD,
    )
    .rest(&[NO_CARRY, NO_CARRY_OUT]),
    alu(
        IMAD,
        0x024,
        ANY,
        &[When::Is(74, 1, 0)],
        &[SIGNED],
        &[D, int(A, PLAIN), int(B, PLAIN), int(C, NEGATE)],
    )
    .rest(&[NO_CARRY, NO_CARRY_OUT]),
    alu(
        IMAD,
        0x024,
        ANY,
        &[When::Is(74, 1, 1)],
        &[SIGNED, fixed("X")],
        &[
            D,
            int(A, PLAIN),
            int(B, PLAIN),
            int(C, INVERT),
            pred_source(87),
        ],
    )
    .rest(&[NO_CARRY_OUT]),
    alu(
        IMAD,
        0x025,
        ANY,
        &[When::Is(74, 1, 0)],
        &[fixed("WIDE"), SIGNED],
        &[
            D,
            CARRY_OUT[0],
            int(A, PLAIN),
            int(B, PLAIN),
            int(C, NEGATE),
        ],
    )
    .rest(&[NO_CARRY]),
    alu(
        IMAD,
        0x025,
        ANY,
        &[When::Is(74, 1, 1)],
        &[fixed("WIDE"), SIGNED, fixed("X")],
        &[
            D,
            CARRY_OUT[0],
            int(A, PLAIN),
            int(B, PLAIN),
            int(C, INVERT),
            pred_source(87),
        ],
    ),
    alu(
        IMAD,
        0x027,
        ANY,
        &[When::Is(74, 1, 0)],
        &[fixed("HI"), SIGNED],
        &[
            D,
            CARRY_OUT[0],
            int(A, PLAIN),
            int(B, PLAIN),
            int(C, NEGATE),
        ],
    )
    .rest(&[NO_CARRY]),
    alu(
        IMAD,
        0x027,
        ANY,
        &[When::Is(74, 1, 1)],
        &[fixed("HI"), SIGNED, fixed("X")],
        &[
            D,
            CARRY_OUT[0],
            int(A, PLAIN),
            int(B, PLAIN),
            int(C, INVERT),
            pred_source(87),
        ],
    ),
    // Without `.HI` the third source is not read and not printed.
    alu(
        LEA,
        0x011,
        ANY_B,
        &[When::Is(73, 2, 0), When::Is(80, 1, 0)],
        &[],
        &[
            D,
            CARRY_OUT[0],
            word(A, NEGATE),
            word(B, NEGATE),
            unsigned(&[(75, 5)]),
        ],
    )
    .rest(&[NO_CARRY, (64, 8, 255)]),
    alu(
        LEA,
        0x011,
        ANY_B,
        &[When::Is(73, 2, 2), When::Is(80, 1, 0)],
        &[fixed("X")],
        &[
            D,
            CARRY_OUT[0],
            word(A, INVERT),
            word(B, INVERT),
            unsigned(&[(75, 5)]),
            pred_source(87),
        ],
    )
    .rest(&[(64, 8, 255)]),
    alu(
        LEA,
        0x011,
        ANY_B,
        &[When::Is(73, 2, 0), When::Is(80, 1, 1)],
        &[fixed("HI")],
        &[
            D,
            CARRY_OUT[0],
            word(A, NEGATE),
            word(B, NEGATE),
            word(C, PLAIN),
            unsigned(&[(75, 5)]),
        ],
    )
    .rest(&[NO_CARRY]),
    alu(
        LEA,
        0x011,
        ANY_C,
        &[When::Is(74, 1, 0), When::Is(80, 1, 1)],
        &[fixed("HI")],
        &[
            D,
            CARRY_OUT[0],
            word(A, NEGATE),
            word(B, PLAIN),
            word(C, PLAIN),
            unsigned(&[(75, 5)]),
        ],
    )
    .rest(&[NO_CARRY]),
    alu(
        LEA,
        0x011,
        ANY_B,
        &[When::Is(73, 2, 2), When::Is(80, 1, 1)],
        &[fixed("HI.X")],
        &[
            D,
            CARRY_OUT[0],
            word(A, INVERT),
            word(B, INVERT),
            word(C, PLAIN),
            unsigned(&[(75, 5)]),
            pred_source(87),
        ],
    ),
    alu(
        LEA,
        0x011,
        ANY_C,
        &[When::Is(74, 1, 1), When::Is(80, 1, 1)],
        &[fixed("HI.X")],
        &[
            D,
            CARRY_OUT[0],
            word(A, INVERT),
            word(B, PLAIN),
            word(C, PLAIN),
            unsigned(&[(75, 5)]),
            pred_source(87),
        ],
    ),
    alu(
        LEA,
        0x011,
        ANY_B,
        &[When::Is(73, 2, 1), When::Is(80, 1, 1)],
        &[fixed("HI.SX32")],
        &[
            D,
            CARRY_OUT[0],
            word(A, NEGATE),
            word(B, NEGATE),
            unsigned(&[(75, 5)]),
        ],
    )
    .rest(&[NO_CARRY, (64, 8, 255)]),
    alu(
        LEA,
        0x011,
        ANY_B,
        &[When::Is(73, 2, 3), When::Is(80, 1, 1)],
        &[fixed("HI.X.SX32")],
        &[
            D,
            CARRY_OUT[0],
            word(A, INVERT),
            word(B, INVERT),
            unsigned(&[(75, 5)]),
            pred_source(87),
        ],
    )
    .rest(&[(64, 8, 255)]),
    alu(
        LOP3,
        0x012,
        ANY,
        &[],
        &[fixed("LUT"), suffix(&[(80, 1)], "- PAND")],
        &[
            pred_or_nothing(81),
            D,
            word(A, PLAIN),
            word(B, PLAIN),
            word(C, PLAIN),
            unsigned(&[(72, 8)]),
            pred_source(87),
        ],
    ),
    alu(IABS, 0x013, ANY_B, &[], &[], &[D, int(B, PLAIN)]),
    alu(
        VABSDIFF,
        0x014,
        ANY,
        &[],
        &[SIGNED],
        &[
            D,
            pred_or_nothing(81),
            word(A, PLAIN),
            word(B, PLAIN),
            word(C, PLAIN),
        ],
    ),
    alu(
        VABSDIFF4,
        0x015,
        ANY,
        &[],
        &[suffix(&[(73, 1)], "U8 -"), suffix(&[(75, 1)], "- ACC")],
        &[
            D,
            pred_or_nothing(81),
            word(A, PLAIN),
            word(B, PLAIN),
            word(C, PLAIN),
        ],
    ),
    alu(
        IMNMX,
        0x017,
        ANY_B,
        &[],
        &[SIGNED],
        &[D, int(A, PLAIN), int(B, PLAIN), pred_source(87)],
    ),
    alu(
        SHF,
        0x019,
        ANY,
        &[],
        &SHIFT,
        &[D, word(A, PLAIN), word(B, PLAIN), word(C, PLAIN)],
    ),
    alu(
        SGXT,
        0x01a,
        ANY_B,
        &[],
        &[suffix(&[(75, 1)], "- W"), SIGNED],
        &[D, word(A, PLAIN), word(B, PLAIN)],
    ),
    alu(
        BMSK,
        0x01b,
        ANY_B,
        &[],
        &[suffix(&[(75, 1)], "- W")],
        &[D, word(A, PLAIN), word(B, PLAIN)],
    ),
    alu(
        IDP,
        0x026,
        ANY,
        &[When::Is(76, 1, 0)],
        &[
            fixed("4A"),
            suffix(&[(73, 1)], "U8 S8"),
            suffix(&[(74, 1)], "U8 S8"),
        ],
        &[D, word(A, PLAIN), word(B, PLAIN), word(C, NEGATE)],
    ),
    alu(
        IDP,
        0x026,
        ANY,
        &[When::Is(76, 1, 1)],
        &[
            fixed("2A"),
            suffix(&[(77, 1)], "LO HI"),
            suffix(&[(73, 1)], "U16 S16"),
            suffix(&[(74, 1)], "U8 S8"),
        ],
        &[D, word(A, PLAIN), word(B, PLAIN), word(C, NEGATE)],
    ),
    alu(
        FLO,
        0x100,
        ANY_B,
        &[],
        &[SIGNED, suffix(&[(74, 1)], "- SH")],
        &[D, pred_or_nothing(81), word(B, INVERT)],
    ),
    alu(BREV, 0x101, ANY_B, &[], &[], &[D, word(B, PLAIN)]),
    alu(POPC, 0x109, ANY_B, &[], &[], &[D, word(B, INVERT)]),
    alu(
        ISETP,
        0x00c,
        ANY_B,
        &[When::Is(72, 1, 0)],
        &[COMPARE, SIGNED, COMBINE],
        &[
            pred(81),
            pred(84),
            int(A, PLAIN),
            int(B, PLAIN),
            pred_source(87),
        ],
    )
    .rest(&[(68, 3, 7)]),
    alu(
        ISETP,
        0x00c,
        ANY_B,
        &[When::Is(72, 1, 1)],
        &[COMPARE, SIGNED, COMBINE, fixed("EX")],
        &[
            pred(81),
            pred(84),
            int(A, PLAIN),
            int(B, PLAIN),
            pred_source(87),
            pred_source(68),
        ],
    ),
];
