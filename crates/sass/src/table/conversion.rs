//! Conversions between number types.

use super::float::{FTZ, ROUND};
use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B, C};

/// Rounding to an integer, bits 78 and 79.
pub(super) const INTEGRAL: Suffix = suffix(&[(78, 2)], "- FLOOR CEIL TRUNC");
pub(super) const NTZ: Suffix = suffix(&[(77, 1)], "- NTZ");
/// Integer result: bit 72 signed, bits 75 and 76 size.
pub(super) const INTEGER: Suffix = suffix(&[(75, 2), (72, 1)], "U8 U16 U32 U64 S8 S16 - S64");
/// Integer source: bit 74 signed, bits 84 and 85 size.
pub(super) const FROM_INTEGER: Suffix = suffix(&[(84, 2), (74, 1)], "U8 U16 U32 U64 S8 S16 - S64");
/// A half-precision source.
const HALF_SOURCE: Field = Field::Source {
    slot: B,
    literal: ImmediateKind::Float16,
    adjust: SIGNS,
    select: Selects::Bits(60, 2, &WORDS),
};
/// Sub-word of an integer source.
pub(super) const BYTES: [Option<Select>; 4] = [
    Some(Select::None),
    Some(Select::B1),
    Some(Select::B2),
    Some(Select::B3),
];
pub(super) const WORDS: [Option<Select>; 2] = [Some(Select::None), Some(Select::H1)];

pub(super) const fn from_integer(literal: ImmediateKind, select: Selects) -> Field {
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
        &[When::Is(84, 2, 1)],
        &[
            FTZ,
            suffix(
                &[(84, 2), (75, 3)], "? ? ? ? ? ? F16.F32 ? ? F32.F16 ? ? ? ? ? ? ? ? BF16.F32",
            ),
            ROUND,
        ],
        &[D, HALF_SOURCE],
    )
    .until(Architecture::Sm80),
    alu(
        F2F,
        0x104,
        ANY_B,
        &[When::Is(84, 2, 1)],
        &[
            FTZ,
            suffix(
                &[(84, 3), (75, 3)],
                "? ? ? ? ? ? ? ? ? ? F16.F32 ? ? ? ? ? ? F32.F16 ? ? ? ? ? ? ? ? ? ? ? ? ? ? ? ? BF16.F32",
            ),
            ROUND,
        ],
        &[D, HALF_SOURCE],
    )
    .since(Architecture::Sm86),    alu(
        F2F,
        0x104,
        ANY_B,
        &[],
        &[
            FTZ,
            suffix(
                &[(84, 2), (75, 3)], "? ? ? ? ? ? F16.F32 ? ? F32.F16 ? ? ? ? ? ? ? ? BF16.F32",
            ),
            ROUND,
        ],
        &[D, float(B, SIGNS)],
    )
    .until(Architecture::Sm80),
    alu(
        F2F,
        0x104,
        ANY_B,
        &[],
        &[
            FTZ,
            suffix(
                &[(84, 3), (75, 3)],
                "? ? ? ? ? ? ? ? ? ? F16.F32 ? ? ? ? ? ? F32.F16 ? ? ? ? ? ? ? ? ? ? ? ? ? ? ? ? BF16.F32",
            ),
            ROUND,
        ],
        &[D, float(B, SIGNS)],
    )
    .since(Architecture::Sm86),    alu(
        F2F,
        0x110,
        ANY_B,
        &[When::Is(84, 2, 1)],
        &[
            FTZ,
            suffix(
                &[(75, 2), (84, 2)],
                "? ? ? ? ? ? ? F64.F16 ? ? ? F64.F32 ? F16.F64 F32.F64 ?",
            ),
            ROUND,
        ],
        &[D, HALF_SOURCE],
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
        &[When::Is(84, 2, 1)],
        &[
            FTZ,
            suffix(&[(75, 2), (72, 1)], "U8 U16 U32 ? S8 S16 - ?"),
            suffix(&[(84, 2)], "? F16 - ?"),
            INTEGRAL,
            NTZ,
        ],
        &[D, HALF_SOURCE],
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
        &[When::Is(84, 2, 1)],
        &[
            FTZ,
            INTEGER,
            suffix(&[(84, 2)], "? F16 - F64"),
            INTEGRAL,
            NTZ,
        ],
        &[D, HALF_SOURCE],
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
        FRND,
        0x107,
        ANY_B,
        &[When::Is(84, 2, 1)],
        &[
            FTZ,
            suffix(&[(75, 2), (84, 2)], "? ? ? ? ? F16 ? ? ? ? -"),
            INTEGRAL,
        ],
        &[D, HALF_SOURCE],
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
    )
    .since(Architecture::Sm86),
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
        &[D, float(A, PLAIN), float(B, PLAIN), MERGED],
    )
    .since(Architecture::Sm86),
    // F2FP packs two halves; since sm_89 it names both types and knows eight-bit floats.
    alu(
        F2FP,
        0x03e,
        ANY_B,
        &[When::Is(78, 1, 0), When::Is(81, 1, 0)],
        &[SATFINITE, RELU, BF16, fixed("PACK_AB"), PACK_ROUND],
        &[D, float(A, PLAIN), float(B, PLAIN)],
    )
    .until(Architecture::Sm86),
    alu(
        F2FP,
        0x03e,
        ANY,
        &[When::Is(78, 1, 1), When::Is(81, 1, 0)],
        &[SATFINITE, RELU, BF16, fixed("MERGE_C"), PACK_ROUND],
        &[D, float(B, PLAIN), MERGED],
    )
    .until(Architecture::Sm86),
    alu(
        F2FP,
        0x03e,
        ANY_B,
        &[When::Is(78, 1, 0), When::Is(89, 2, 0), When::Is(81, 1, 0)],
        &[
            SATFINITE,
            RELU,
            PACKED,
            SOURCE,
            fixed("PACK_AB"),
            PACK_ROUND,
        ],
        &[D, float(A, PLAIN), float(B, PLAIN)],
    )
    .since(Architecture::Sm89),
    alu(
        F2FP,
        0x03e,
        ANY,
        &[When::Is(78, 1, 1), When::Is(89, 2, 0), When::Is(81, 1, 0)],
        &[
            SATFINITE,
            RELU,
            PACKED,
            SOURCE,
            fixed("MERGE_C"),
            PACK_ROUND,
        ],
        &[D, float(B, PLAIN), MERGED],
    )
    .since(Architecture::Sm89),
    alu(
        F2FP,
        0x03e,
        ANY,
        &[When::Is(78, 1, 1), When::Is(89, 2, 2), When::Is(81, 1, 0)],
        &[
            SATFINITE,
            RELU,
            PACKED,
            SOURCE,
            fixed("PACK_AB_MERGE_C"),
            PACK_ROUND,
        ],
        &[D, float(A, PLAIN), float(B, PLAIN), MERGED],
    )
    .since(Architecture::Sm89),
    alu(
        F2FP,
        0x03e,
        ANY,
        &[
            When::Is(78, 1, 0),
            When::Is(89, 2, 2),
            When::Is(73, 2, 1),
            When::Is(81, 1, 0),
        ],
        &[
            SATFINITE,
            RELU,
            PACKED,
            fixed("F16.UNPACK_B_MERGE_C"),
            PACK_ROUND,
        ],
        &[D, word(B, PLAIN), MERGED],
    )
    .since(Architecture::Sm89),
    alu(
        F2FP,
        0x03e,
        ANY_B,
        &[
            When::Is(78, 1, 0),
            When::Is(89, 2, 1),
            When::Is(74, 1, 1),
            When::Is(81, 1, 0),
        ],
        &[RELU, PACKED, SOURCE, fixed("UNPACK_B"), PACK_ROUND],
        &[
            D,
            Field::Source {
                slot: B,
                literal: ImmediateKind::Unsigned,
                adjust: PLAIN,
                select: Selects::Bits(88, 1, &[Some(Select::None), Some(Select::H1)]),
            },
        ],
    )
    .since(Architecture::Sm89),
    alu(
        I2I,
        0x038,
        ANY_B,
        &[],
        &[suffix(&[(76, 2)], "U8 S8 U16 S16"), fixed("S32.SAT")],
        &[D, int(B, PLAIN)],
    ),
    alu(
        I2IP,
        0x039,
        ANY_B,
        &[When::Is(78, 1, 0)],
        &[
            suffix(&[(76, 2)], "U8 S8 U16 S16"),
            fixed("S32"),
            suffix(&[(74, 2)], "SAT - SATRELU"),
        ],
        &[D, int(A, PLAIN), int(B, PLAIN), PACKED_LOW],
    ),
    alu(
        I2IP,
        0x039,
        ANY_B,
        &[When::Is(77, 2, 2), When::Is(72, 2, 3)],
        &[
            suffix(&[(76, 1)], "U2 S2"),
            fixed("S32"),
            suffix(&[(74, 2)], "SAT - SATRELU"),
        ],
        &[D, int(A, PLAIN), int(B, PLAIN), LOW_28],
    ),
    alu(
        I2IP,
        0x039,
        ANY_B,
        &[When::Is(77, 2, 3), When::Is(72, 2, 2)],
        &[
            suffix(&[(76, 1)], "U4 S4"),
            fixed("S32"),
            suffix(&[(74, 2)], "SAT - SATRELU"),
        ],
        &[D, int(A, PLAIN), int(B, PLAIN), LOW_24],
    ),
    alu(
        I2F,
        0x112,
        ANY_B,
        &[When::Is(84, 2, 0)],
        &[suffix(&[(75, 2)], "? F16 - F64"), FROM_INTEGER, ROUND],
        &[
            D,
            from_integer(ImmediateKind::Unsigned, Selects::Bits(60, 2, &BYTES)),
        ],
    ),
    alu(
        I2F,
        0x112,
        ANY_B,
        &[When::Is(84, 2, 1)],
        &[suffix(&[(75, 2)], "? F16 - F64"), FROM_INTEGER, ROUND],
        &[
            D,
            from_integer(ImmediateKind::Unsigned, Selects::Bits(60, 2, &WORDS)),
        ],
    ),
    alu(
        I2F,
        0x112,
        ANY_B,
        &[When::Is(85, 1, 1), When::Is(74, 1, 1)],
        &[suffix(&[(75, 2)], "? F16 - F64"), FROM_INTEGER, ROUND],
        &[D, from_integer(ImmediateKind::Signed, Selects::Nothing)],
    ),
    alu(
        I2F,
        0x112,
        ANY_B,
        &[When::Is(85, 1, 1), When::Is(74, 1, 0)],
        &[suffix(&[(75, 2)], "? F16 - F64"), FROM_INTEGER, ROUND],
        &[D, from_integer(ImmediateKind::Unsigned, Selects::Nothing)],
    ),
];

const SATFINITE: Suffix = suffix(&[(77, 1)], "- SATFINITE");
const RELU: Suffix = suffix(&[(75, 1)], "- RELU");
const BF16: Suffix = suffix(&[(76, 1)], "- BF16");
/// Rounding of a packed result, bits 79 and 80.
const PACK_ROUND: Suffix = suffix(&[(79, 2)], "- ? ? RZ");
/// Packed type: bits 76, 86 and 87.
const PACKED: Suffix = suffix(&[(76, 1), (86, 2)], "F16 BF16 ? TF32 E5M2 E4M3");
/// Source type, bits 73 and 74.
const SOURCE: Suffix = suffix(&[(73, 2)], "F32 F16 E5M2 E4M3");
/// The half that a packed result keeps.
const MERGED: Field = Field::Source {
    slot: C,
    literal: ImmediateKind::Float32,
    adjust: PLAIN,
    select: Selects::Bits(72, 1, &[Some(Select::None), Some(Select::H1)]),
};
/// The half into which I2IP packs.
const PACKED_LOW: Field = Field::Source {
    slot: C,
    literal: ImmediateKind::Signed,
    adjust: PLAIN,
    select: Selects::Bits(72, 2, &[Some(Select::None), Some(Select::H1)]),
};
/// The low bits above which I2IP packs two of two or four bits.
const LOW_28: Field = low(Select::Low28);
const LOW_24: Field = low(Select::Low24);

const fn low(select: Select) -> Field {
    Field::Source {
        slot: C,
        literal: ImmediateKind::Signed,
        adjust: PLAIN,
        select: Selects::Always(select),
    }
}
