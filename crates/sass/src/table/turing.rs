//! What only Turing encodes its own way. Its memory instructions keep scope and kind of ordering in
//! two fields of their own, where Ampere has one list of the pairs that exist, and print both.

use super::atomic::{OPERATION, SHORT_OPERATION, SWAP};
use super::float::FTZ;
use super::integer::{COMBINE, COMPARE, SIGNED};
use super::memory::{
    EVICT, EXTENDED, FILL, L2_FILL, LONG, PLAIN_ADDRESS, SIZE, local, with_uniform,
};
use super::*;
use crate::opcode::Opcode::*;
use Slot::{A, B};

/// Kind and scope of a load's order, bits 77 to 80.
pub(super) const LOAD_ORDER: Suffix = suffix(
    &[(77, 4)],
    "CONSTANT.CTA CONSTANT.SM CONSTANT.GPU CONSTANT.SYS CTA SM GPU SYS \
     STRONG.CTA STRONG.SM STRONG.GPU STRONG.SYS MMIO.CTA MMIO.SM MMIO.GPU MMIO.SYS",
);
/// Kind and scope of a store's order, bits 77 to 80.
pub(super) const STORE_ORDER: Suffix = suffix(
    &[(77, 4)],
    "? ? ? ? CTA SM GPU SYS STRONG.CTA STRONG.SM STRONG.GPU STRONG.SYS \
     MMIO.CTA MMIO.SM MMIO.GPU MMIO.SYS",
);
/// Kind and scope of an atomic operation's order, bits 77 to 80.
pub(super) const ATOMIC_ORDER: Suffix = suffix(
    &[(77, 4)],
    "? ? ? ? CTA SM GPU SYS STRONG.CTA STRONG.SM STRONG.GPU STRONG.SYS",
);
pub(super) const PRIVATE: Suffix = suffix(&[(76, 1)], "- PRIVATE");
/// A load that answers zero where a predicate says so, bit 87.
const ZD: Suffix = fixed("ZD");
const IS_ZD: &[When] = &[When::Is(87, 1, 1)];
/// A suffix of shared loads that later architectures lack, bit 76.
const U: Suffix = suffix(&[(76, 1)], "- U");

/// Access size of global and generic memory, bits 73 to 75.
const GLOBAL_SIZE: Suffix = suffix(&[(73, 3)], "U8 S8 U16 S16 - 64 128 U.128");

const LOAD: [Suffix; 6] = [EXTENDED, EVICT, L2_FILL, GLOBAL_SIZE, LOAD_ORDER, PRIVATE];
const LOAD_ZD: [Suffix; 7] = [
    EXTENDED,
    EVICT,
    L2_FILL,
    GLOBAL_SIZE,
    LOAD_ORDER,
    PRIVATE,
    ZD,
];
const STORE: [Suffix; 5] = [EXTENDED, EVICT, GLOBAL_SIZE, STORE_ORDER, PRIVATE];
/// Type of an atomic operation, bits 73 to 75.
const TYPE: Suffix = suffix(&[(73, 3)], "- S32 64 F32.FTZ.RN F16x2.RN S64 F64.RN");
const REDUCE: [Suffix; 6] = [
    EXTENDED,
    SHORT_OPERATION,
    EVICT,
    TYPE,
    ATOMIC_ORDER,
    PRIVATE,
];
const OPERATE: [Suffix; 6] = [EXTENDED, OPERATION, EVICT, TYPE, ATOMIC_ORDER, PRIVATE];
/// Type of a compare-and-swap.
const SWAP_TYPE: Suffix = suffix(&[(73, 3)], "- S32 64");
const EXCHANGE: [Suffix; 6] = [EXTENDED, SWAP, EVICT, SWAP_TYPE, ATOMIC_ORDER, PRIVATE];
const SWAP_GLOBAL: [Suffix; 6] = [
    EXTENDED,
    fixed("CAS"),
    EVICT,
    SWAP_TYPE,
    ATOMIC_ORDER,
    PRIVATE,
];
const SIMPLE: Field = Field::Memory(PLAIN_ADDRESS);
/// A generic or global address with a uniform register.
const ATOMIC_UNIFORM: Field = Field::Memory(Address {
    uniform: Some(64),
    wide: Some(70),
    ..PLAIN_ADDRESS
});

/// A row of this architecture alone.
pub(super) const fn only(row: Row) -> Row {
    row.until(Architecture::Sm75)
}

pub(super) const ROWS: &[Row] = &[
    only(plain(
        LDG,
        0x381,
        IS_ZD,
        &LOAD_ZD,
        &[pred(81), D, SIMPLE, FILL],
    )),
    only(plain(
        LDG,
        0x981,
        IS_ZD,
        &LOAD_ZD,
        &[pred(81), D, with_uniform(32, None), FILL],
    ))
    .high(High::One),
    only(plain(
        LD,
        0x980,
        IS_ZD,
        &LOAD_ZD,
        &[pred(81), D, LONG, FILL],
    )),
    only(plain(
        LD,
        0x980,
        IS_ZD,
        &LOAD_ZD,
        &[pred(81), D, with_uniform(32, None), FILL],
    ))
    .high(High::One),
    only(plain(
        LDS,
        0x984,
        IS_ZD,
        &[U, SIZE, ZD],
        &[pred(81), D, local(None, Some(78), None)],
    )),
    only(plain(
        LDS,
        0x984,
        IS_ZD,
        &[U, SIZE, ZD],
        &[pred(81), D, local(Some(32), Some(78), None)],
    ))
    .high(High::One),
    only(plain(
        LDG,
        0x381,
        &[],
        &LOAD,
        &[pred_or_nothing(81), D, SIMPLE, FILL],
    )),
    only(plain(
        LDG,
        0x981,
        &[],
        &LOAD,
        &[pred_or_nothing(81), D, with_uniform(32, None), FILL],
    ))
    .high(High::One),
    only(plain(LD, 0x980, &[], &LOAD, &[D, LONG, FILL])),
    only(plain(
        LD,
        0x980,
        &[],
        &LOAD,
        &[D, with_uniform(32, None), FILL],
    ))
    .high(High::One),
    only(plain(
        LDS,
        0x984,
        &[],
        &[U, SIZE],
        &[D, local(None, Some(78), None)],
    )),
    only(plain(
        LDS,
        0x984,
        &[],
        &[U, SIZE],
        &[D, local(Some(32), Some(78), None)],
    ))
    .high(High::One),
    only(plain(STG, 0x386, &[], &STORE, &[SIMPLE, reg(32)])),
    only(plain(
        STG,
        0x986,
        &[],
        &STORE,
        &[with_uniform(64, None), reg(32)],
    ))
    .high(High::One),
    only(plain(ST, 0x385, &[], &STORE, &[LONG, reg(64)])),
    only(plain(
        ST,
        0x985,
        &[],
        &STORE,
        &[with_uniform(64, None), reg(32)],
    ))
    .high(High::One),
    only(plain(
        LDL,
        0x983,
        &[],
        &[EVICT, SIZE],
        &[D, local(Some(32), None, None)],
    ))
    .high(High::One),
    only(plain(
        STL,
        0x987,
        &[],
        &[EVICT, SIZE],
        &[local(Some(64), None, None), reg(32)],
    ))
    .high(High::One),
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
        &[pred(81), D, ATOMIC_UNIFORM, reg(32)],
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
        &[pred(81), D, ATOMIC_UNIFORM, reg(32)],
    ))
    .high(High::One),
    only(plain(
        ATOM,
        0x38b,
        &[],
        &EXCHANGE,
        &[pred(81), D, SIMPLE, reg(32), reg(64)],
    )),
    only(plain(RED, 0x98e, &[], &REDUCE, &[SIMPLE, reg(32)])),
    only(plain(
        RED,
        0x98e,
        &[],
        &REDUCE,
        &[with_uniform(64, None), reg(32)],
    ))
    .high(High::One),
    // No branch has a uniform register.
    only(
        plain(
            BRA,
            0x947,
            &[],
            &[
                suffix(&[(85, 2)], "- INC DEC"),
                suffix(&[(32, 2)], "- U DIV CONV"),
            ],
            &[
                pred_source_or_nothing(87),
                Field::Target {
                    bits: &[(34, 48)],
                    scale: 4,
                },
            ],
        )
        .high(High::One),
    ),
    // The joined predicate of a comparison stands in the text wherever it is not PT.
    only(alu(
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
            JOINED,
        ],
    )),
    only(alu(
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
            JOINED,
        ],
    )),
    only(alu(
        FMNMX,
        0x009,
        ANY_B,
        &[],
        &[FTZ],
        &[D, float(A, SIGNS), float(B, SIGNS), pred_source(87)],
    )),
    only(alu(
        WARPSYNC,
        0x148,
        RRR | RIR | RCR,
        &[],
        &[],
        &[pred_source_or_nothing(87), word(B, PLAIN)],
    )),
    only(plain(
        MEMBAR,
        0x992,
        &[],
        &[
            suffix(&[(79, 2)], "SC ALL -"),
            suffix(&[(76, 3)], "CTA SM GPU SYS ? VC"),
            suffix(&[(72, 1)], "- MMIO"),
        ],
        &[],
    )),
];

/// The predicate that joins a comparison, left out if PT.
const JOINED: Field = pred_source_or_nothing(68);
