//! Matrix multiply-accumulate on the tensor cores.

use super::*;
use crate::opcode::Opcode::*;

/// The uniform predicate that gates a step, stored complemented, left out if UPT.
const GATE: Field = gate(87, true);
/// The accumulator that is added.
const ADDEND: Field = signed_register(64, PLAIN);
/// Factors of HMMA and DMMA with their signs.
const FACTOR_A: Field = signed_register(24, NEGATE);
const FACTOR_B: Field = signed_register(32, NEGATE);
/// Factors of the integer shapes, whose layout is part of the text.
const ROW_A: Field = laid_out(24, PLAIN, Selects::Bits(73, 1, &[Some(Select::Row)]));
const COLUMN_B: Field = laid_out(32, PLAIN, Selects::Bits(74, 1, &[None, Some(Select::Col)]));
/// Metadata of a sparse factor and which lanes hold it.
const METADATA: Field = Field::Register {
    at: 40,
    adjust: PLAIN,
    select: Selects::Nothing,
    optional: false,
    reused: true,
};
const SELECTOR: Field = unsigned(&[(48, 2)]);

const fn signed_register(at: u8, adjust: Adjusts) -> Field {
    Field::Register {
        at,
        adjust,
        select: Selects::Nothing,
        optional: false,
        reused: true,
    }
}

const fn laid_out(at: u8, adjust: Adjusts, select: Selects) -> Field {
    Field::Register {
        at,
        adjust,
        select,
        optional: false,
        reused: true,
    }
}

const ACCUMULATOR: Suffix = suffix(&[(76, 1)], "F16 F32");
const FACTOR: Suffix = suffix(&[(82, 2)], "- BF16 TF32");
/// Types of IMMA's factors: sign and width.
const INTEGER_A: Suffix = suffix(&[(76, 2), (83, 1)], "U8 S8 ? ? U4 S4");
const INTEGER_B: Suffix = suffix(&[(78, 2), (84, 1)], "U8 S8 ? ? U4 S4");
const SAT: Suffix = suffix(&[(82, 1)], "- SAT");

/// Factors of HMMA.884, which lanes hold by rows or by columns.
const EITHER_LAYOUT: &[Option<Select>] = &[Some(Select::Row), Some(Select::Col)];

pub(super) const ROWS: &[Row] = &[
    plain(
        HMMA,
        0x236,
        &[],
        &[
            fixed("884"),
            ACCUMULATOR,
            suffix(&[(78, 1)], "F16 F32"),
            suffix(&[(79, 2)], "STEP0 STEP1 STEP2 STEP3"),
        ],
        &[
            D,
            laid_out(24, PLAIN, Selects::Bits(73, 1, EITHER_LAYOUT)),
            laid_out(32, PLAIN, Selects::Bits(74, 1, EITHER_LAYOUT)),
            ADDEND,
        ],
    )
    .until(Architecture::Sm75),
    // Turing has no sparse factors.
    plain(
        HMMA,
        0x23c,
        &[],
        &[
            suffix(&[(75, 1), (78, 1)], "1688 16816 1684"),
            ACCUMULATOR,
            suffix(&[(77, 1)], "- SATFINITE"),
        ],
        &[D, FACTOR_A, FACTOR_B, ADDEND],
    )
    .until(Architecture::Sm75),
    plain(
        HMMA,
        0x23c,
        &[When::Is(73, 1, 0)],
        &[
            suffix(&[(75, 1), (78, 1)], "1688 16816 1684"),
            ACCUMULATOR,
            FACTOR,
        ],
        &[D, FACTOR_A, FACTOR_B, ADDEND],
    )
    .since(Architecture::Sm80)
    .until(Architecture::Sm80),
    plain(
        HMMA,
        0x23c,
        &[When::Is(73, 1, 0)],
        &[
            suffix(&[(75, 1), (78, 1)], "1688 16816 1684"),
            ACCUMULATOR,
            FACTOR,
        ],
        &[D, FACTOR_A, FACTOR_B, ADDEND, GATE],
    )
    .since(Architecture::Sm86),
    plain(
        HMMA,
        0x23c,
        &[When::Is(73, 1, 1)],
        &[
            fixed("SP"),
            suffix(&[(75, 1), (78, 1)], "1688 16816 ? 16832"),
            ACCUMULATOR,
            FACTOR,
        ],
        &[D, FACTOR_A, FACTOR_B, ADDEND, METADATA, SELECTOR],
    )
    .until(Architecture::Sm80)
    .since(Architecture::Sm80),
    plain(
        HMMA,
        0x23c,
        &[When::Is(73, 1, 1)],
        &[
            fixed("SP"),
            suffix(&[(75, 1), (78, 1)], "1688 16816 ? 16832"),
            ACCUMULATOR,
            FACTOR,
        ],
        &[D, FACTOR_A, FACTOR_B, ADDEND, GATE, METADATA, SELECTOR],
    )
    .since(Architecture::Sm86),
    // Turing has no sparse factors.
    plain(
        IMMA,
        0x237,
        &[],
        &[
            suffix(&[(75, 1), (85, 2)], "8816 ? 8832 ? 16816 16832 16864"),
            INTEGER_A,
            INTEGER_B,
            SAT,
        ],
        &[D, ROW_A, COLUMN_B, ADDEND],
    )
    .until(Architecture::Sm75),
    plain(
        IMMA,
        0x237,
        &[When::Is(72, 1, 0)],
        &[
            suffix(&[(75, 1), (85, 2)], "8816 ? 8832 ? 16816 16832 16864"),
            INTEGER_A,
            INTEGER_B,
            SAT,
        ],
        &[D, ROW_A, COLUMN_B, ADDEND],
    )
    .since(Architecture::Sm80)
    .until(Architecture::Sm80),
    plain(
        IMMA,
        0x237,
        &[When::Is(72, 1, 0)],
        &[
            suffix(&[(75, 1), (85, 2)], "8816 ? 8832 ? 16816 16832 16864"),
            INTEGER_A,
            INTEGER_B,
            SAT,
        ],
        &[D, ROW_A, COLUMN_B, ADDEND, GATE],
    )
    .since(Architecture::Sm86),
    plain(
        IMMA,
        0x237,
        &[When::Is(72, 1, 1)],
        &[
            fixed("SP"),
            suffix(&[(75, 1), (85, 2)], "? ? 8832 8864 ? 16832 16864 168128"),
            INTEGER_A,
            INTEGER_B,
            SAT,
        ],
        &[D, ROW_A, COLUMN_B, ADDEND, METADATA, SELECTOR],
    )
    .until(Architecture::Sm80)
    .since(Architecture::Sm80),
    plain(
        IMMA,
        0x237,
        &[When::Is(72, 1, 1)],
        &[
            fixed("SP"),
            suffix(&[(75, 1), (85, 2)], "? ? 8832 8864 ? 16832 16864 168128"),
            INTEGER_A,
            INTEGER_B,
            SAT,
        ],
        &[D, ROW_A, COLUMN_B, ADDEND, GATE, METADATA, SELECTOR],
    )
    .since(Architecture::Sm86),
    plain(
        BMMA,
        0x23d,
        &[],
        &[
            suffix(&[(75, 2)], "88128 168128 168256"),
            fixed("XOR"),
            suffix(&[(80, 1)], "? POPC"),
        ],
        &[D, ROW_A, COLUMN_B, ADDEND],
    )
    .until(Architecture::Sm75),
    plain(
        BMMA,
        0x23d,
        &[],
        &[
            suffix(&[(75, 2)], "88128 168128 168256"),
            suffix(&[(77, 2)], "XOR ? AND"),
            suffix(&[(80, 1)], "? POPC"),
        ],
        &[D, ROW_A, COLUMN_B, ADDEND],
    )
    .since(Architecture::Sm80)
    .until(Architecture::Sm80),
    plain(
        BMMA,
        0x23d,
        &[],
        &[
            suffix(&[(75, 2)], "88128 168128 168256"),
            suffix(&[(77, 2)], "XOR ? AND"),
            suffix(&[(80, 1)], "? POPC"),
        ],
        &[D, ROW_A, COLUMN_B, ADDEND, GATE],
    )
    .since(Architecture::Sm86),
    plain(
        DMMA,
        0x23f,
        &[When::Is(76, 1, 0)],
        &[fixed("884"), super::float::ROUND],
        &[
            D,
            signed_register(24, SIGNS),
            signed_register(32, SIGNS),
            signed_register(64, SIGNS),
        ],
    )
    .until(Architecture::Sm80),
    Row {
        architectures: (Architecture::Sm86, Architecture::Sm89),
        ..plain(
            DMMA,
            0x23f,
            &[When::Is(76, 1, 0)],
            &[fixed("884"), super::float::ROUND],
            &[
                D,
                signed_register(24, SIGNS),
                signed_register(32, SIGNS),
                signed_register(64, SIGNS),
                GATE,
            ],
        )
    },
    plain(
        DMMA,
        0x23f,
        &[],
        &[
            suffix(&[(76, 2)], "8x8x4 16x8x4 16x8x8 16x8x16"),
            super::float::ROUND,
        ],
        &[
            D,
            signed_register(24, SIGNS),
            signed_register(32, SIGNS),
            signed_register(64, SIGNS),
            GATE,
        ],
    )
    .since(Architecture::Sm90),
    plain(
        QMMA,
        0x27a,
        &[When::Is(80, 1, 0)],
        &[
            suffix(&[(75, 2)], "16816 16832"),
            suffix(&[(77, 1)], "F16 F32"),
            suffix(&[(78, 1)], "E4M3 E5M2"),
            suffix(&[(79, 1)], "E4M3 E5M2"),
        ],
        &[
            D,
            laid_out(24, NEGATE, Selects::Bits(73, 1, &[Some(Select::Row)])),
            laid_out(32, NEGATE, Selects::Bits(74, 1, &[None, Some(Select::Col)])),
            ADDEND,
            GATE,
        ],
    )
    .since(Architecture::Sm89),
    plain(
        QMMA,
        0x27a,
        &[When::Is(80, 1, 1)],
        &[
            fixed("SP"),
            suffix(&[(75, 2)], "? 16832 16864"),
            suffix(&[(77, 1)], "F16 F32"),
            suffix(&[(78, 1)], "E4M3 E5M2"),
            suffix(&[(79, 1)], "E4M3 E5M2"),
        ],
        &[
            D,
            laid_out(24, NEGATE, Selects::Bits(73, 1, &[Some(Select::Row)])),
            laid_out(32, NEGATE, Selects::Bits(74, 1, &[None, Some(Select::Col)])),
            ADDEND,
            GATE,
            METADATA,
            SELECTOR,
        ],
    )
    .since(Architecture::Sm89),
];
