//! Conversions from and to brain floats as sm_90 has them for every type. (Before, compiled code goes by
//! way of single precision.)

use super::conversion::{BYTES, FROM_INTEGER, INTEGER, INTEGRAL, NTZ, WORDS, from_integer};
use super::float::{FTZ, ROUND};
use super::*;
use crate::opcode::Opcode::*;
use Slot::B;

/// The source is a brain float: bits 84 to 86.
const FROM_BRAIN: When = When::Is(84, 3, 4);
/// The result is a brain float: bits 75 to 77.
const TO_BRAIN: When = When::Is(75, 3, 4);
/// A brain float, one half of a register.
const BRAIN: Field = Field::Source {
    slot: B,
    literal: ImmediateKind::BFloat16,
    adjust: SIGNS,
    select: Selects::Bits(60, 2, &WORDS),
};
/// Integers below 32 bits are no literals.
const SHORT: u8 = RRR | RCR | RUR;

const fn to_integer(code: u16, suffixes: &'static [Suffix]) -> Row {
    alu(F2I, code, ANY_B, &[FROM_BRAIN], suffixes, &[D, BRAIN]).since(Architecture::Sm90)
}

const fn of_integer(code: u16, forms: u8, when: &'static [When], fields: &'static [Field]) -> Row {
    const SUFFIXES: &[Suffix] = &[fixed("BF16"), FROM_INTEGER, ROUND];
    alu(I2F, code, forms, when, SUFFIXES, fields).since(Architecture::Sm90)
}

pub(super) const ROWS: &[Row] = &[
    to_integer(
        0x105,
        &[
            FTZ,
            suffix(&[(75, 2), (72, 1)], "U8 U16 U32 ? S8 S16 - ?"),
            fixed("BF16"),
            INTEGRAL,
            NTZ,
        ],
    ),
    to_integer(0x111, &[FTZ, INTEGER, fixed("BF16"), INTEGRAL, NTZ]),
    alu(
        FRND,
        0x107,
        ANY_B,
        &[FROM_BRAIN, TO_BRAIN],
        &[FTZ, fixed("BF16"), INTEGRAL],
        &[D, BRAIN],
    )
    .since(Architecture::Sm90),
    alu(
        F2F,
        0x110,
        ANY_B,
        &[When::Is(84, 3, 3), TO_BRAIN],
        &[FTZ, fixed("BF16"), fixed("F64"), ROUND],
        &[D, double(B, SIGNS)],
    )
    .since(Architecture::Sm90),
    alu(
        F2F,
        0x110,
        ANY_B,
        &[FROM_BRAIN, When::Is(75, 3, 3)],
        &[FTZ, fixed("F64"), fixed("BF16"), ROUND],
        &[D, BRAIN],
    )
    .since(Architecture::Sm90),
    of_integer(
        0x106,
        SHORT,
        &[TO_BRAIN, When::Is(84, 2, 0)],
        &[
            D,
            from_integer(ImmediateKind::Unsigned, Selects::Bits(60, 2, &BYTES)),
        ],
    ),
    of_integer(
        0x106,
        SHORT,
        &[TO_BRAIN, When::Is(84, 2, 1)],
        &[
            D,
            from_integer(ImmediateKind::Unsigned, Selects::Bits(60, 2, &WORDS)),
        ],
    ),
    of_integer(
        0x106,
        ANY_B,
        &[TO_BRAIN, When::Is(84, 2, 2), When::Is(74, 1, 1)],
        &[D, from_integer(ImmediateKind::Signed, Selects::Nothing)],
    ),
    of_integer(
        0x106,
        ANY_B,
        &[TO_BRAIN, When::Is(84, 2, 2), When::Is(74, 1, 0)],
        &[D, from_integer(ImmediateKind::Unsigned, Selects::Nothing)],
    ),
    of_integer(
        0x112,
        SHORT,
        &[TO_BRAIN, When::Is(84, 2, 0)],
        &[
            D,
            from_integer(ImmediateKind::Unsigned, Selects::Bits(60, 2, &BYTES)),
        ],
    ),
    of_integer(
        0x112,
        SHORT,
        &[TO_BRAIN, When::Is(84, 2, 1)],
        &[
            D,
            from_integer(ImmediateKind::Unsigned, Selects::Bits(60, 2, &WORDS)),
        ],
    ),
    of_integer(
        0x112,
        ANY_B,
        &[TO_BRAIN, When::Is(85, 1, 1), When::Is(74, 1, 1)],
        &[D, from_integer(ImmediateKind::Signed, Selects::Nothing)],
    ),
    of_integer(
        0x112,
        ANY_B,
        &[TO_BRAIN, When::Is(85, 1, 1), When::Is(74, 1, 0)],
        &[D, from_integer(ImmediateKind::Unsigned, Selects::Nothing)],
    ),
];
