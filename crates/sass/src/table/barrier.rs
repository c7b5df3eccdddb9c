//! Barriers of a CTA, memory barriers, cache control and dependence counters.

use super::memory::PLAIN_ADDRESS;
use super::*;
use crate::opcode::Opcode::*;

/// Barrier number and thread count of BAR as literals.
const BARRIER: Field = unsigned(&[(54, 4)]);
const COUNT: Field = unsigned(&[(42, 12)]);
/// A count of zero means all threads of the CTA.
const COUNT_OR_NOTHING: Field = unsigned_or_nothing(&[(42, 12)], 0);
const DEFER: Suffix = suffix(&[(80, 1)], "- DEFER_BLOCKING");
const REDUCE: Suffix = suffix(&[(74, 2)], "POPC AND OR");
/// Scope of a memory barrier, bits 76 to 78.
const SCOPE: Suffix = suffix(&[(76, 3)], "CTA SM GPU SYS ? VC");

pub(super) const ROWS: &[Row] = &[
    // BAR: barrier and thread count each from the register of bits 32 to 39 or as literals.
    plain(
        BAR,
        0x31d,
        &[When::Is(77, 3, 0)],
        &[fixed("SYNC"), DEFER],
        &[reg(32), reg(32)],
    ),
    plain(
        BAR,
        0x31d,
        &[When::Is(77, 3, 1)],
        &[fixed("ARV")],
        &[reg(32), reg(32)],
    ),
    plain(
        BAR,
        0x31d,
        &[When::Is(77, 3, 2)],
        &[fixed("RED"), REDUCE, DEFER],
        &[reg(32), reg(32), pred_source(87)],
    ),
    plain(
        BAR,
        0x31d,
        &[When::Is(77, 3, 3)],
        &[fixed("SCAN")],
        &[reg(32), reg(32), pred_source(87)],
    ),
    plain(
        BAR,
        0x51d,
        &[When::Is(77, 3, 0)],
        &[fixed("SYNC"), DEFER],
        &[reg(32), COUNT_OR_NOTHING],
    ),
    plain(
        BAR,
        0x51d,
        &[When::Is(77, 3, 1)],
        &[fixed("ARV")],
        &[reg(32), COUNT],
    ),
    plain(
        BAR,
        0x51d,
        &[When::Is(77, 3, 2)],
        &[fixed("RED"), REDUCE, DEFER],
        &[reg(32), COUNT_OR_NOTHING, pred_source(87)],
    ),
    plain(
        BAR,
        0x51d,
        &[When::Is(77, 3, 3)],
        &[fixed("SCAN")],
        &[reg(32), COUNT, pred_source(87)],
    ),
    plain(
        BAR,
        0x91d,
        &[When::Is(77, 3, 0)],
        &[fixed("SYNC"), DEFER],
        &[BARRIER, reg(32)],
    ),
    plain(
        BAR,
        0x91d,
        &[When::Is(77, 3, 1)],
        &[fixed("ARV")],
        &[BARRIER, reg(32)],
    ),
    plain(
        BAR,
        0x91d,
        &[When::Is(77, 3, 2)],
        &[fixed("RED"), REDUCE, DEFER],
        &[BARRIER, reg(32), pred_source(87)],
    ),
    plain(
        BAR,
        0x91d,
        &[When::Is(77, 3, 3)],
        &[fixed("SCAN")],
        &[BARRIER, reg(32), pred_source(87)],
    ),
    plain(
        BAR,
        0xb1d,
        &[When::Is(77, 3, 0)],
        &[fixed("SYNC"), DEFER],
        &[BARRIER, COUNT_OR_NOTHING],
    ),
    plain(
        BAR,
        0xb1d,
        &[When::Is(77, 3, 1)],
        &[fixed("ARV")],
        &[BARRIER, COUNT],
    ),
    plain(
        BAR,
        0xb1d,
        &[When::Is(77, 3, 2)],
        &[fixed("RED"), REDUCE, DEFER],
        &[BARRIER, COUNT_OR_NOTHING, pred_source(87)],
    ),
    plain(
        BAR,
        0xb1d,
        &[When::Is(77, 3, 3)],
        &[fixed("SCAN")],
        &[BARRIER, COUNT, pred_source(87)],
    ),
    plain(
        BAR,
        0xb1d,
        &[When::Is(77, 3, 4)],
        &[fixed("SYNCALL"), DEFER],
        &[],
    ),
    plain(
        B2R,
        0x31c,
        &[When::Is(78, 2, 0)],
        &[],
        &[D, unsigned(&[(54, 4)])],
    )
    .rest(&[NO_CARRY_OUT]),
    plain(
        B2R,
        0x31c,
        &[When::Is(78, 2, 1)],
        &[fixed("RESULT")],
        &[D, pred_or_nothing(81)],
    ),
    plain(B2R, 0x31c, &[When::Is(78, 2, 2)], &[fixed("WARP")], &[D]),
    plain(
        MEMBAR,
        0x992,
        &[],
        &[suffix(&[(79, 2)], "SC ALL - MMIO"), SCOPE],
        &[],
    )
    .since(Architecture::Sm80),
    plain(ERRBAR, 0x9ab, &[], &[], &[]),
    plain(LDGDEPBAR, 0x9af, &[], &[], &[]),
    plain(
        DEPBAR,
        0x91a,
        &[When::Is(47, 1, 1)],
        &[fixed("LE")],
        &[
            Field::Counter { at: 44 },
            unsigned(&[(38, 6)]),
            Field::CounterSet { at: 32, width: 6 },
        ],
    ),
    plain(
        DEPBAR,
        0x91a,
        &[When::Is(47, 1, 0)],
        &[],
        &[Field::CounterSet { at: 32, width: 6 }],
    ),
    plain(
        CCTL,
        0x98f,
        &[],
        &[
            suffix(&[(78, 2)], "- U C I"),
            suffix(&[(87, 4)], "? ? ? ? IVALL ? IVALLP WBALL WBALLP"),
        ],
        &[],
    )
    .rest(&[(24, 8, 255)]),
    plain(
        CCTL,
        0x98f,
        &[],
        &[
            suffix(&[(72, 1)], "- E"),
            suffix(&[(78, 2)], "- U C I"),
            suffix(&[(87, 4)], "PF1 PF2 WB IV ? RS ? ? ? PML2 DML2 RML2"),
        ],
        &[Field::Memory(Address {
            offset: (32, 32),
            ..PLAIN_ADDRESS
        })],
    ),
    plain(
        CCTLL,
        0x990,
        &[],
        &[suffix(&[(87, 3)], "PF1 PF2 WB IV IVALL RS IVALLP WBALL")],
        &[Field::Memory(PLAIN_ADDRESS)],
    ),
    plain(
        ARRIVES,
        0x9b0,
        &[],
        &[fixed("LDGSTSBAR"), fixed("64")],
        &[Field::Memory(Address {
            uniform: Some(64),
            ..PLAIN_ADDRESS
        })],
    )
    .high(High::One),
];
