//! Conversions between number types.

use super::float::{FTZ, ROUND};
use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B, C};

/// Rounding to an integer, bits 78 and 79.
const INTEGRAL: Suffix = suffix(&[(78, 2)], "- FLOOR CEIL TRUNC");
const NTZ: Suffix = suffix(&[(77, 1)], "- NTZ");
/// Integer result: bit 72 signed, bits 75 and 76 size.
const INTEGER: Suffix = suffix(&[(75, 2), (72, 1)], "U8 U16 U32 U64 S8 S16 - S64");
/// Integer source: bit 74 signed, bits 84 and 85 size.
const FROM_INTEGER: Suffix = suffix(&[(84, 2), (74, 1)], "U8 U16 U32 U64 S8 S16 - S64");
/// Sub-word of an integer source.
const BYTES: [Option<Select>; 4] = [
    Some(Select::None),
    Some(Select::B1),
    Some(Select::B2),
    Some(Select::B3),
];
const WORDS: [Option<Select>; 4] = [Some(Select::None), None, Some(Select::H1), None];

const fn from_integer(literal: ImmediateKind, select: Selects) -> Field {
    Field::Source {
        slot: B,
        literal,
        adjust: PLAIN,
        select,
    }
}

pub(super) const ROWS: &[Row] = &[
    alu(
        F2F,
        0x104,
        ANY_B,
        &[],
        &[
            FTZ,
            suffix(
                &[(75, 2), (84, 2)],
                "? ? ? ? ? ? F32.F16 ? ? F16.F32 ? ? ? ? ? ?",
            ),
            ROUND,
        ],
        &[D, float(B, SIGNS)],
    ),
    alu(
        F2F,
        0x110,
        ANY_B,
        &[],
        &[
            FTZ,
            suffix(
                &[(75, 2), (84, 2)],
                "? ? ? ? ? ? ? F64.F16 ? ? ? F64.F32 ? F16.F64 F32.F64 ?",
            ),
            ROUND,
        ],
        &[D, float(B, SIGNS)],
    ),
    alu(
        F2I,
        0x105,
        ANY_B,
        &[],
        &[
            FTZ,
            suffix(&[(75, 2), (72, 1)], "U8 U16 U32 ? S8 S16 - ?"),
            suffix(&[(84, 2)], "? F16 - ?"),
            INTEGRAL,
            NTZ,
        ],
        &[D, float(B, SIGNS)],
    ),
    alu(
        F2I,
        0x111,
        ANY_B,
        &[],
        &[
            FTZ,
            INTEGER,
            suffix(&[(84, 2)], "? F16 - F64"),
            INTEGRAL,
            NTZ,
        ],
        &[D, float(B, SIGNS)],
    ),
    alu(
        I2F,
        0x106,
        ANY_B,
        &[When::Is(84, 2, 0)],
        &[suffix(&[(75, 2)], "? F16 - ?"), FROM_INTEGER, ROUND],
        &[
            D,
            from_integer(ImmediateKind::Unsigned, Selects::Bits(60, 2, &BYTES)),
        ],
    ),
    alu(
        I2F,
        0x106,
        ANY_B,
        &[When::Is(84, 2, 1)],
        &[suffix(&[(75, 2)], "? F16 - ?"), FROM_INTEGER, ROUND],
        &[
            D,
            from_integer(ImmediateKind::Unsigned, Selects::Bits(60, 2, &WORDS)),
        ],
    ),
    alu(
        I2F,
        0x106,
        ANY_B,
        &[When::Is(84, 2, 2), When::Is(74, 1, 1)],
        &[suffix(&[(75, 2)], "? F16 - ?"), FROM_INTEGER, ROUND],
        &[D, from_integer(ImmediateKind::Signed, Selects::Nothing)],
    ),
    alu(
        I2F,
        0x106,
        ANY_B,
        &[When::Is(84, 2, 2), When::Is(74, 1, 0)],
        &[suffix(&[(75, 2)], "? F16 - ?"), FROM_INTEGER, ROUND],
        &[D, from_integer(ImmediateKind::Unsigned, Selects::Nothing)],
    ),
    alu(
        I2F,
        0x112,
        ANY_B,
        &[When::Is(74, 1, 1)],
        &[suffix(&[(75, 2)], "? F16 - F64"), FROM_INTEGER, ROUND],
        &[D, from_integer(ImmediateKind::Signed, Selects::Nothing)],
    ),
    alu(
        I2F,
        0x112,
        ANY_B,
        &[When::Is(74, 1, 0)],
        &[suffix(&[(75, 2)], "? F16 - F64"), FROM_INTEGER, ROUND],
        &[D, from_integer(ImmediateKind::Unsigned, Selects::Nothing)],
    ),
    alu(
        FRND,
        0x107,
        ANY_B,
        &[],
        &[
            FTZ,
            suffix(&[(75, 2), (84, 2)], "? ? ? ? ? F16 ? ? ? ? -"),
            INTEGRAL,
        ],
        &[D, float(B, SIGNS)],
    ),
    alu(
        FRND,
        0x113,
        ANY_B,
        &[When::Is(75, 2, 3), When::Is(84, 2, 3)],
        &[FTZ, fixed("F64"), INTEGRAL],
        &[D, double(B, SIGNS)],
    ),
    alu(
        I2FP,
        0x045,
        ANY_B,
        &[When::Is(75, 2, 2), When::Is(84, 2, 2)],
        &[
            fixed("F32"),
            suffix(&[(74, 1)], "U32 S32"),
            suffix(&[(78, 2)], "- ? ? RZ"),
        ],
        &[D, word(B, PLAIN)],
    ),
    alu(
        F2FP,
        0x03e,
        ANY_B,
        &[When::Is(78, 1, 0)],
        &[
            suffix(&[(77, 1)], "- SATFINITE"),
            suffix(&[(75, 1)], "- RELU"),
            suffix(&[(76, 1)], "- BF16"),
            fixed("PACK_AB"),
            suffix(&[(79, 2)], "- ? ? RZ"),
        ],
        &[D, float(A, PLAIN), float(B, PLAIN)],
    ),
    alu(
        F2IP,
        0x043,
        ANY,
        &[],
        &[
            suffix(&[(76, 2)], "U8 S8 ? ?"),
            fixed("F32"),
            suffix(&[(78, 2)], "- ? ? TRUNC"),
            suffix(&[(74, 1)], "- NTZ"),
            suffix(&[(75, 1)], "- RELU"),
        ],
        &[D, float(A, PLAIN), float(B, PLAIN), float(C, PLAIN)],
    ),
];
