//! Hopper's matrix instructions of a warp group, whose factors lie in shared memory behind
//! descriptors, and what a warp group is managed by.

use super::*;
use crate::opcode::Opcode::*;

/// Rows and columns in multiples of eight, bits 53 to 57.
const SHAPE: Suffix = suffix(
    &[(53, 5)],
    "64x8 64x16 64x24 64x32 64x40 64x48 64x56 64x64 64x72 64x80 64x88 64x96 64x104 64x112 \
     64x120 64x128 64x136 64x144 64x152 64x160 64x168 64x176 64x184 64x192 64x200 64x208 \
     64x216 64x224 64x232 64x240 64x248 64x256",
);
/// Rows and columns of the integer shapes, of which fewer exist.
const INTEGER_SHAPE: Suffix = suffix(
    &[(53, 6)],
    "64x8 ? ? 64x16 ? ? 64x24 ? ? 64x32 ? ? 64x48 ? ? 64x64 ? ? 64x80 ? ? 64x96 ? ? \
     64x112 ? ? 64x128 ? ? 64x144 ? ? 64x160 ? ? 64x176 ? ? 64x192 ? ? 64x208 ? ? 64x224 \
     ? ? 64x240 ? ? 64x256",
);
const SPARSE_INTEGER_SHAPE: Suffix = suffix(
    &[(53, 6)],
    "? 64x8 ? ? 64x16 ? ? 64x24 ? ? 64x32 ? ? 64x48 ? ? 64x64 ? ? 64x80 ? ? 64x96 ? ? \
     64x112 ? ? 64x128 ? ? 64x144 ? ? 64x160 ? ? 64x176 ? ? 64x192 ? ? 64x208 ? ? 64x224 \
     ? ? 64x240 ? ? 64x256",
);
/// Rows and columns of the one-bit shapes.
const BIT_SHAPE: Suffix = suffix(
    &[(53, 6)],
    "64x8 64x16 64x24 64x32 64x48 64x64 64x80 64x96 64x112 64x128 64x144 64x160 64x176 \
     64x192 64x208 64x224 64x240 64x256",
);
const HALF_ACCUMULATOR: Suffix = suffix(&[(75, 1)], "F16 F32");
const HALF_FACTORS: Suffix = suffix(&[(76, 2)], "- BF16 TF32");
const SAT: Suffix = suffix(&[(75, 1)], "- SAT");
const OFFSET: Suffix = suffix(&[(74, 1)], "- REGOFFSET");
const INTEGER_A: Suffix = suffix(&[(76, 2)], "U8 S8");
const INTEGER_B: Suffix = suffix(&[(82, 2)], "U8 S8");
const QUARTER_A: Suffix = suffix(&[(76, 1)], "E4M3 E5M2");
const QUARTER_B: Suffix = suffix(&[(77, 1)], "E4M3 E5M2");
const DENSE: &[When] = &[When::Is(73, 1, 0)];
const SPARSE: &[When] = &[When::Is(73, 1, 1)];

/// The accumulator that is added, RZ for none.
const ADDEND: Field = reg(64);
/// The uniform predicate by which it is added, stored complemented.
const GATE: Field = gate(87, true);
/// Metadata of a sparse factor and which lanes hold it.
const METADATA: Field = reg(40);
const SELECTOR: Field = unsigned(&[(48, 2)]);
const SELECTOR_OR_NOTHING: Field = unsigned_or_nothing(&[(48, 2)], 0);
/// The scoreboard of warp groups that counts the instruction.
const COUNTER: Field = Field::Keyword {
    bits: (84, 3),
    names: "gsb0 ? ? ? ? ? ? -",
};
/// Both factors in shared memory; the flags of the half-precision ones.
const BOTH: Field = Field::MatrixDescriptor {
    at: 24,
    both: true,
    flags: [72, 63, 61, 62],
};
const BOTH_QUARTERS: Field = Field::MatrixDescriptor {
    at: 24,
    both: true,
    flags: [72, 63, 0, 0],
};
const BOTH_INTEGERS: Field = Field::MatrixDescriptor {
    at: 24,
    both: true,
    flags: [0; 4],
};
/// The first factor in registers, the second in shared memory.
const FIRST: Field = Field::Register {
    at: 24,
    adjust: NEGATE,
    select: Selects::Nothing,
    optional: false,
    reused: false,
};
const SECOND: Field = Field::MatrixDescriptor {
    at: 32,
    both: false,
    flags: [0, 63, 0, 62],
};
const SECOND_QUARTER: Field = Field::MatrixDescriptor {
    at: 32,
    both: false,
    flags: [0, 63, 0, 0],
};
const SECOND_INTEGER: Field = Field::MatrixDescriptor {
    at: 32,
    both: false,
    flags: [0; 4],
};

/// A row of this architecture alone.
const fn only(row: Row) -> Row {
    row.since(Architecture::Sm90).high(High::One)
}

pub(super) const ROWS: &[Row] = &[
    only(plain(
        HGMMA,
        0x9f0,
        DENSE,
        &[
            SHAPE,
            suffix(&[(58, 2)], "x16 x8"),
            HALF_ACCUMULATOR,
            HALF_FACTORS,
        ],
        &[D, BOTH, ADDEND, GATE, COUNTER],
    )),
    only(plain(
        IGMMA,
        0x9f1,
        DENSE,
        &[INTEGER_SHAPE, fixed("x32"), INTEGER_A, INTEGER_B, SAT],
        &[D, BOTH_INTEGERS, ADDEND, GATE, COUNTER],
    )),
    only(plain(
        BGMMA,
        0x9f2,
        &[],
        &[
            BIT_SHAPE,
            fixed("x256"),
            suffix(&[(77, 2)], "? ? AND"),
            suffix(&[(80, 1)], "? POPC"),
        ],
        &[D, BOTH_INTEGERS, ADDEND, GATE, COUNTER],
    )),
    only(plain(
        QGMMA,
        0x9f3,
        DENSE,
        &[
            SHAPE,
            suffix(&[(58, 1)], "x32"),
            HALF_ACCUMULATOR,
            QUARTER_A,
            QUARTER_B,
        ],
        &[D, BOTH_QUARTERS, ADDEND, GATE, COUNTER],
    )),
    only(plain(
        HGMMA,
        0xdf0,
        DENSE,
        &[
            SHAPE,
            suffix(&[(58, 2)], "x16 x8"),
            HALF_ACCUMULATOR,
            HALF_FACTORS,
        ],
        &[D, FIRST, SECOND, ADDEND, GATE, COUNTER],
    )),
    only(plain(
        IGMMA,
        0xdf1,
        DENSE,
        &[INTEGER_SHAPE, fixed("x32"), INTEGER_A, INTEGER_B, SAT],
        &[D, reg(24), SECOND_INTEGER, ADDEND, GATE, COUNTER],
    )),
    only(plain(
        BGMMA,
        0xdf2,
        &[],
        &[
            BIT_SHAPE,
            fixed("x256"),
            suffix(&[(77, 2)], "? ? AND"),
            suffix(&[(80, 1)], "? POPC"),
        ],
        &[D, reg(24), SECOND_INTEGER, ADDEND, GATE, COUNTER],
    )),
    only(plain(
        QGMMA,
        0xdf3,
        DENSE,
        &[
            SHAPE,
            suffix(&[(58, 1)], "x32"),
            HALF_ACCUMULATOR,
            QUARTER_A,
            QUARTER_B,
        ],
        &[D, FIRST, SECOND_QUARTER, ADDEND, GATE, COUNTER],
    )),
    only(plain(
        HGMMA,
        0x9f0,
        SPARSE,
        &[
            fixed("SP"),
            OFFSET,
            SHAPE,
            suffix(&[(58, 2)], "x16 ? x32"),
            HALF_ACCUMULATOR,
            HALF_FACTORS,
        ],
        &[D, BOTH, ADDEND, GATE, METADATA, SELECTOR, COUNTER],
    )),
    only(plain(
        IGMMA,
        0x9f1,
        SPARSE,
        &[
            fixed("SP"),
            OFFSET,
            SPARSE_INTEGER_SHAPE,
            fixed("x64"),
            INTEGER_A,
            INTEGER_B,
            SAT,
        ],
        &[
            D,
            BOTH_INTEGERS,
            ADDEND,
            GATE,
            METADATA,
            SELECTOR_OR_NOTHING,
            COUNTER,
        ],
    )),
    only(plain(
        QGMMA,
        0x9f3,
        SPARSE,
        &[
            fixed("SP"),
            OFFSET,
            SHAPE,
            suffix(&[(58, 1)], "? x64"),
            HALF_ACCUMULATOR,
            QUARTER_A,
            QUARTER_B,
        ],
        &[
            D,
            BOTH_QUARTERS,
            ADDEND,
            GATE,
            METADATA,
            SELECTOR_OR_NOTHING,
            COUNTER,
        ],
    )),
    only(plain(
        HGMMA,
        0xdf0,
        SPARSE,
        &[
            fixed("SP"),
            OFFSET,
            SHAPE,
            suffix(&[(58, 2)], "x16 ? x32"),
            HALF_ACCUMULATOR,
            HALF_FACTORS,
        ],
        &[D, FIRST, SECOND, ADDEND, GATE, METADATA, SELECTOR, COUNTER],
    )),
    only(plain(
        IGMMA,
        0xdf1,
        SPARSE,
        &[
            fixed("SP"),
            OFFSET,
            SPARSE_INTEGER_SHAPE,
            fixed("x64"),
            INTEGER_A,
            INTEGER_B,
            SAT,
        ],
        &[
            D,
            reg(24),
            SECOND_INTEGER,
            ADDEND,
            GATE,
            METADATA,
            SELECTOR_OR_NOTHING,
            COUNTER,
        ],
    )),
    only(plain(
        QGMMA,
        0xdf3,
        SPARSE,
        &[
            fixed("SP"),
            OFFSET,
            SHAPE,
            suffix(&[(58, 1)], "? x64"),
            HALF_ACCUMULATOR,
            QUARTER_A,
            QUARTER_B,
        ],
        &[
            D,
            FIRST,
            SECOND_QUARTER,
            ADDEND,
            GATE,
            METADATA,
            SELECTOR_OR_NOTHING,
            COUNTER,
        ],
    )),
    only(plain(
        WARPGROUP,
        0x9c5,
        &[],
        &[suffix(&[(79, 2)], "ARRIVE WAIT")],
        &[],
    ))
    .high(High::Zero),
    only(plain(
        WARPGROUP,
        0x9c5,
        &[When::Is(79, 2, 2), When::Is(47, 1, 1)],
        &[fixed("DEPBAR"), fixed("LE")],
        &[
            Field::Keyword {
                bits: (84, 3),
                names: "gsb0",
            },
            unsigned(&[(72, 3)]),
        ],
    ))
    .high(High::Zero),
    only(plain(
        WARPGROUPSET,
        0xd5e,
        &[When::Is(79, 1, 0)],
        &[fixed("AC")],
        &[ureg(32)],
    )),
    only(plain(
        USETMAXREG,
        0x9c8,
        &[When::Is(72, 3, 5)],
        &[fixed("DEALLOC"), fixed("CTAPOOL")],
        &[unsigned(&[(32, 10)])],
    )),
    only(plain(
        USETMAXREG,
        0x9c8,
        &[When::Is(72, 3, 6)],
        &[fixed("TRY_ALLOC"), fixed("CTAPOOL")],
        &[upred(81), unsigned(&[(32, 10)])],
    )),
];
