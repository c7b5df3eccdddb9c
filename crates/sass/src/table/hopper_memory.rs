//! Memory instructions that Hopper encodes its own way: atomic operations with types apart from their
//! operations, REDG, fences.

use super::atomic::{OPERATION, SHARED_SWAP, SHORT_OPERATION, shared};
use super::hopper::only;
use super::memory::{EVICT, EXTENDED, PLAIN_ADDRESS, STORE_ORDER, with_uniform};
use super::*;
use crate::opcode::Opcode::*;

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

/// Spaces that QSPC asks for.
const QUERY: [Suffix; 2] = [EXTENDED, suffix(&[(73, 2)], "G L S D")];

pub(super) const ROWS: &[Row] = &[
    only(plain(CGAERRBAR, 0x5ab, &[], &[], &[])),
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
];
