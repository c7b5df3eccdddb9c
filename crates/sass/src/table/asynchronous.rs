//! Hopper's asynchronous copies and what they are synchronised by: copies and reductions of tensors
//! and blocks by the tensor memory access unit, barriers in shared memory (SYNCS), stores into and
//! reductions on the shared memory of another CTA of the cluster, loads that reduce over multicast
//! memory.

use super::atomic::SHORT_OPERATION;
use super::memory::{EXTENDED, PLAIN_ADDRESS};
use super::*;
use crate::opcode::Opcode::*;

/// A row of this architecture alone.
const fn only(row: Row) -> Row {
    row.since(Architecture::Sm90)
}

/// An address in the uniform register at bit `at`.
const fn place(at: u8) -> Field {
    Field::Memory(Address {
        base: None,
        offset: (at, 0),
        uniform: Some(at),
        ..PLAIN_ADDRESS
    })
}

/// A shared address in a register and the uniform register of bit `at`.
const fn sum(at: u8) -> Field {
    Field::Memory(Address {
        uniform: Some(at),
        ..PLAIN_ADDRESS
    })
}

/// A shared address in a uniform register with an offset.
const UNIFORM_PLACE: Field = Field::Memory(Address {
    base: None,
    uniform: Some(24),
    ..PLAIN_ADDRESS
});
/// An address in another CTA's shared memory; the register is a pair if bit `wide` is set.
const fn remote(wide: u8) -> Field {
    Field::Memory(Address {
        uniform: Some(64),
        wide: Some(wide),
        explicit: true,
        ..PLAIN_ADDRESS
    })
}
/// A multicast address.
const MULTICAST: Field = Field::Memory(Address {
    uniform: Some(64),
    wide: Some(70),
    descriptor: Some(71),
    ..PLAIN_ADDRESS
});
/// Cache policy, if bit 76 is set.
const POLICY: Field = Field::Policy {
    at: 40,
    present: 76,
};
/// Dimensions of a tensor, bits 79 to 81.
const DIMENSIONS: Suffix = suffix(&[(79, 3)], "1D 2D 3D 4D 5D");
const IM2COL: Suffix = suffix(&[(82, 1)], "- IM2COL");
const TO_ALL: Suffix = suffix(&[(75, 1)], "- MULTICAST");
/// Destination and source space of a block.
const TO: Suffix = suffix(&[(73, 1)], "G S");
const FROM: Suffix = suffix(&[(74, 1)], "G S");
/// What an arrival does to the two counts of a barrier: arrivals and transactions.
const COUNTS: Suffix = suffix(&[(84, 3)], "- A1T0 A0T1 A0TR A0TX ART0");
/// Floating type of a multicast load, bits 73 to 76 and 87.
const FLOAT_TYPE: Suffix = suffix(
    &[(73, 4), (87, 1)],
    "F16x2.RN F16x4.RN F16x8.RN BF16x2.RN BF16x4.RN BF16x8.RN ? ? ? ? ? ? \
     F32.RN F32x2.RN F32x4.RN F64.RN",
);
/// Order of an access that is ordered by its barrier alone.
const UNORDERED: Suffix = suffix(&[(77, 4)], "-");

pub(super) const ROWS: &[Row] = &[
    only(plain(
        UTMALDG,
        0x3b4,
        &[],
        &[DIMENSIONS, IM2COL, TO_ALL],
        &[place(32), place(24), ureg(64), POLICY],
    ))
    .high(High::One),
    only(plain(
        UTMALDG,
        0x5b4,
        &[],
        &[DIMENSIONS],
        &[place(32), place(24), POLICY],
    ))
    .high(High::One),
    only(plain(
        UTMAPF,
        0x3b8,
        &[When::Is(82, 1, 1)],
        &[fixed("L2"), DIMENSIONS, fixed("IM2COL")],
        &[place(32), place(24), ureg(64), POLICY],
    ))
    .high(High::One),
    only(plain(
        UTMAPF,
        0x5b8,
        &[],
        &[fixed("L2"), DIMENSIONS],
        &[place(32), place(24), POLICY],
    ))
    .high(High::One),
    only(plain(
        UTMASTG,
        0x3b5,
        &[],
        &[DIMENSIONS, IM2COL],
        &[place(32), place(24), POLICY],
    ))
    .high(High::One),
    only(plain(
        UTMAREDG,
        0x3b6,
        &[],
        &[DIMENSIONS, IM2COL, SHORT_OPERATION],
        &[place(32), place(24), POLICY],
    ))
    .high(High::One),
    only(plain(UTMACMDFLUSH, 0x9b7, &[], &[], &[])),
    only(plain(
        UTMACCTL,
        0x9b9,
        &[],
        &[suffix(&[(82, 1)], "IV PF")],
        &[place(24)],
    ))
    .high(High::One),
    only(plain(
        UBLKCP,
        0x3ba,
        &[],
        &[
            TO,
            FROM,
            TO_ALL,
            suffix(&[(81, 2)], "- LTC64B LTC128B LTC256B"),
            suffix(&[(83, 1)], "- SEQUENCED"),
        ],
        &[place(32), place(24), ureg(64), POLICY],
    ))
    .high(High::One),
    only(plain(
        UBLKRED,
        0x3bb,
        &[When::Is(74, 1, 1)],
        &[
            TO,
            fixed("S"),
            SHORT_OPERATION,
            suffix(
                &[(81, 4)],
                "- S32 U64 S64 F16.RN F32.RN F32.FTZ.RN F64.RN BF16.RN",
            ),
        ],
        &[place(32), place(24), ureg(64), POLICY],
    ))
    .high(High::One),
    only(plain(
        UBLKPF,
        0x3bc,
        &[],
        &[fixed("L2")],
        &[place(24), ureg(64), POLICY],
    ))
    .high(High::One),
    // Barriers in shared memory.
    only(plain(
        SYNCS,
        0x5a7,
        &[When::Is(70, 2, 1)],
        &[
            fixed("PHASECHK"),
            fixed("TRANS64"),
            suffix(&[(72, 1)], "- TRYWAIT"),
        ],
        &[pred(81), sum(64), reg(32)],
    ))
    .high(High::One),
    only(plain(
        SYNCS,
        0x9a7,
        &[When::Is(70, 2, 0)],
        &[
            fixed("ARRIVE"),
            fixed("TRANS64"),
            suffix(&[(73, 2)], "- TMASK RED"),
            suffix(&[(75, 1)], "- OPTOUT"),
            COUNTS,
        ],
        &[D, sum(64), reg(32)],
    ))
    .high(High::One),
    only(plain(
        SYNCS,
        0x5b2,
        &[When::Is(72, 2, 1)],
        &[fixed("EXCH"), fixed("64")],
        &[UD, UNIFORM_PLACE, ureg(32)],
    ))
    .high(High::One),
    only(plain(
        SYNCS,
        0x3b2,
        &[When::Is(72, 2, 2)],
        &[fixed("CAS"), fixed("64")],
        &[
            UD,
            UNIFORM_PLACE,
            ureg(32),
            Field::UniformBehind {
                at: 32,
                distance: 2,
            },
        ],
    ))
    .high(High::One),
    only(plain(
        SYNCS,
        0x9b2,
        &[When::Is(72, 2, 0)],
        &[fixed("LD"), fixed("64")],
        &[UD, UNIFORM_PLACE],
    ))
    .high(High::One),
    only(plain(
        SYNCS,
        0x5b1,
        &[When::Is(73, 1, 1)],
        &[fixed("LD"), fixed("64"), suffix(&[(74, 1)], "- WATCH")],
        &[D, sum(64)],
    ))
    .high(High::One),
    only(plain(
        SYNCS,
        0x9b1,
        &[When::Is(73, 1, 0)],
        &[fixed("CCTL"), suffix(&[(72, 1)], "IV WB")],
        &[sum(64)],
    ))
    .high(High::One),
    only(plain(
        SYNCS,
        0x9b1,
        &[When::Is(73, 1, 0), When::Is(72, 1, 0)],
        &[fixed("CCTL"), fixed("IVALL")],
        &[],
    )),
    only(plain(
        FENCE,
        0x3c6,
        &[],
        &[fixed("VIEW"), fixed("ASYNC"), suffix(&[(72, 1)], "S G")],
        &[],
    )),
    only(plain(
        STAS,
        0xdbd,
        &[],
        &[suffix(&[(73, 3)], "? ? ? ? - 64 128"), UNORDERED],
        &[remote(90), reg(32)],
    ))
    .high(High::One),
    only(plain(
        REDAS,
        0xdbe,
        &[],
        &[
            suffix(&[(87, 4)], "ADD MIN MAX INC DEC AND OR XOR"),
            suffix(&[(73, 3)], "- S32 64"),
            UNORDERED,
        ],
        &[remote(72), reg(32)],
    ))
    .high(High::One),
    only(plain(
        LDGMC,
        0x9a4,
        &[When::Is(77, 4, 10)],
        &[
            EXTENDED,
            suffix(&[(87, 4)], "ADD MIN MAX ? ? AND OR XOR"),
            suffix(&[(73, 3)], "32 S32 64 S64"),
            fixed("STRONG"),
            fixed("SYS"),
        ],
        &[D, MULTICAST],
    ))
    .high(High::One),
    only(plain(
        LDGMC,
        0x9a5,
        &[When::Is(77, 4, 10)],
        &[
            EXTENDED,
            suffix(&[(88, 2)], "ADD MIN MAX F32ADD"),
            FLOAT_TYPE,
            fixed("STRONG"),
            fixed("SYS"),
        ],
        &[D, MULTICAST],
    ))
    .high(High::One),
    only(plain(
        ARRIVES,
        0x9b0,
        &[When::Is(72, 4, 10)],
        &[
            fixed("LDGSTSBAR"),
            fixed("64"),
            suffix(&[(70, 2)], "- ARVCNT TRANSCNT"),
        ],
        &[sum(64)],
    ))
    .high(High::One),
    only(plain(
        STSM,
        0x844,
        &[],
        &[
            fixed("16"),
            suffix(&[(78, 1)], "M88 MT88"),
            suffix(&[(72, 2)], "- 2 4"),
        ],
        &[Field::Memory(PLAIN_ADDRESS), reg(32)],
    )),
    only(plain(
        STSM,
        0x844,
        &[],
        &[
            fixed("16"),
            suffix(&[(78, 1)], "M88 MT88"),
            suffix(&[(72, 2)], "- 2 4"),
        ],
        &[sum(64), reg(32)],
    ))
    .high(High::One),
];
