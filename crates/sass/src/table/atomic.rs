//! Atomic operations and reductions on global, generic and shared memory.

use super::memory::{EVICT, EXTENDED, PLAIN_ADDRESS, STORE_ORDER, with_uniform};
use super::*;
use crate::opcode::Opcode::*;

/// Operation, bits 87 to 90.
pub(super) const OPERATION: Suffix =
    suffix(&[(87, 4)], "ADD MIN MAX INC DEC AND OR XOR EXCH SAFEADD");
/// Operation of a form whose bit 90 belongs to the address.
pub(super) const SHORT_OPERATION: Suffix = suffix(&[(87, 3)], "ADD MIN MAX INC DEC AND OR XOR");
/// Type, bits 73 to 76.
const TYPE: Suffix = suffix(&[(73, 4)], "- S32 64 F32.FTZ.RN F16x2.RN S64 F64.RN");
/// Type of a compare-and-swap.
const SWAP_TYPE: Suffix = suffix(&[(73, 4)], "- S32 64");
/// Compare-and-swap or its shared-memory helper.
pub(super) const SWAP: Suffix = suffix(&[(87, 1)], "CAS CAST");
/// The compare-and-swap of a loop that holds a lock on the word.
pub(super) const SHARED_SWAP: Suffix = suffix(&[(87, 2)], "CAS CAST CAS CAST.SPIN");
/// Type of an operation on shared memory.
const SHARED_TYPE: Suffix = suffix(&[(73, 2)], "- S32 64");

/// A shared address, scaled and with a uniform register where it has one.
pub(super) const fn shared(uniform: Option<u8>) -> Field {
    Field::Memory(Address {
        uniform,
        scale: Some(78),
        ..PLAIN_ADDRESS
    })
}

/// A generic or global address with a uniform register, or its descriptor.
const fn uniform_address() -> Field {
    Field::Memory(Address {
        uniform: Some(64),
        wide: Some(70),
        descriptor: Some(71),
        ..PLAIN_ADDRESS
    })
}

const OPERATE: [Suffix; 5] = [EXTENDED, OPERATION, EVICT, TYPE, STORE_ORDER];
const EXCHANGE: [Suffix; 5] = [EXTENDED, SWAP, EVICT, SWAP_TYPE, STORE_ORDER];
const SWAP_GLOBAL: [Suffix; 5] = [EXTENDED, fixed("CAS"), EVICT, SWAP_TYPE, STORE_ORDER];
/// An address whose uniform register is always printed.
const LONE: Field = Field::Memory(Address {
    uniform: Some(64),
    wide: Some(70),
    ..PLAIN_ADDRESS
});
const SIMPLE: Field = Field::Memory(PLAIN_ADDRESS);

pub(super) const ROWS: &[Row] = &[
    plain(ATOMG, 0x3a8, &[], &OPERATE, &[pred(81), D, SIMPLE, reg(32)])
        .since(Architecture::Sm80)
        .until(Architecture::Sm89),
    plain(
        ATOMG,
        0x9a8,
        &[],
        &OPERATE,
        &[pred(81), D, uniform_address(), reg(32)],
    )
    .high(High::One)
    .since(Architecture::Sm80)
    .until(Architecture::Sm89),
    plain(
        ATOMG,
        0x3a9,
        &[],
        &SWAP_GLOBAL,
        &[pred(81), D, SIMPLE, reg(32), reg(64)],
    )
    .since(Architecture::Sm80)
    .until(Architecture::Sm89),
    plain(ATOM, 0x38a, &[], &OPERATE, &[pred(81), D, SIMPLE, reg(32)])
        .since(Architecture::Sm80)
        .until(Architecture::Sm89),
    plain(
        ATOM,
        0x98a,
        &[],
        &OPERATE,
        &[pred(81), D, uniform_address(), reg(32)],
    )
    .high(High::One)
    .since(Architecture::Sm80)
    .until(Architecture::Sm89),
    plain(
        ATOM,
        0x38b,
        &[],
        &EXCHANGE,
        &[pred(81), D, SIMPLE, reg(32), reg(64)],
    )
    .since(Architecture::Sm80)
    .until(Architecture::Sm89),
    plain(
        RED,
        0x98e,
        &[],
        &[EXTENDED, SHORT_OPERATION, EVICT, TYPE, STORE_ORDER],
        &[SIMPLE, reg(32)],
    )
    .since(Architecture::Sm80)
    .until(Architecture::Sm89),
    plain(
        RED,
        0x98e,
        &[],
        &[EXTENDED, SHORT_OPERATION, EVICT, TYPE, STORE_ORDER],
        &[with_uniform(64, Some(71)), reg(32)],
    )
    .high(High::One)
    .since(Architecture::Sm80)
    .until(Architecture::Sm89),
    plain(
        ATOMS,
        0x38c,
        &[],
        &[OPERATION, SHARED_TYPE],
        &[D, shared(None), reg(32)],
    )
    .until(Architecture::Sm89),
    plain(
        ATOMS,
        0x98c,
        &[],
        &[OPERATION, SHARED_TYPE],
        &[D, shared(Some(64)), reg(32)],
    )
    .high(High::One)
    .until(Architecture::Sm89),
    plain(
        ATOMS,
        0xf8c,
        &[When::Is(87, 4, 10)],
        &[fixed("POPC.INC"), suffix(&[(73, 2)], "32")],
        &[D, shared(Some(64))],
    )
    .high(High::One),
    plain(
        ATOMS,
        0xf8c,
        &[When::Is(87, 4, 9)],
        &[fixed("ARRIVE"), suffix(&[(73, 2)], "? ? 64")],
        &[D, shared(Some(64))],
    )
    .high(High::One),
    plain(
        ATOM,
        0xf8a,
        &[When::Is(87, 4, 9)],
        &[
            EXTENDED,
            fixed("ARRIVE"),
            EVICT,
            suffix(&[(73, 4)], "? ? 64"),
            STORE_ORDER,
        ],
        &[pred(81), D, LONE],
    )
    .high(High::One)
    .since(Architecture::Sm80),
    plain(
        ATOM,
        0xf8a,
        &[When::Is(87, 4, 10)],
        &[
            EXTENDED,
            fixed("POPC.INC"),
            EVICT,
            suffix(&[(73, 4)], "32"),
            STORE_ORDER,
        ],
        &[pred(81), D, LONE],
    )
    .high(High::One)
    .since(Architecture::Sm80),
    plain(
        ATOMS,
        0x38d,
        &[],
        &[SHARED_SWAP, SHARED_TYPE],
        &[D, shared(None), reg(32), reg(64)],
    )
    .until(Architecture::Sm89),
];
