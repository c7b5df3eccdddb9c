//! What Hopper adds for clusters of CTAs and for kernels that follow one another: barriers of a
//! cluster, the election of one lane, the dependence between grids.

use super::*;
use crate::opcode::Opcode::*;

/// A row of this architecture alone.
const fn only(row: Row) -> Row {
    row.since(Architecture::Sm90)
}

/// The 56-bit offset of a jump in words of four bytes.
const TARGET: Field = Field::Target {
    bits: &[(16, 8), (34, 48)],
    scale: 4,
};

pub(super) const ROWS: &[Row] = &[
    only(plain(UCGABAR_ARV, 0x9c7, &[When::Is(72, 1, 0)], &[], &[])).high(High::One),
    only(plain(UCGABAR_WAIT, 0xdc7, &[], &[], &[])).high(High::One),
    only(plain(ACQBULK, 0x82e, &[], &[], &[])),
    only(plain(PREEXIT, 0x82d, &[], &[], &[])),
    only(plain(
        ELECT,
        0x82f,
        &[],
        &[suffix(&[(85, 1)], "- IGNOREKILL")],
        &[pred(81), UD, pred_source(87)],
    )),
    only(plain(
        ELECT,
        0x82f,
        &[],
        &[suffix(&[(85, 1)], "- IGNOREKILL")],
        &[pred(81), UD, ureg(32)],
    ))
    .high(High::One),
    // A branch of the whole warp by a uniform predicate, and one that waits for no lane.
    only(plain(
        BRA,
        0x547,
        &[When::Is(32, 2, 1)],
        &[
            suffix(&[(85, 2)], "- INC DEC"),
            fixed("U"),
            suffix(&[(84, 1)], "- ANY"),
        ],
        &[
            pred_source_or_nothing(87),
            Field::Predicate {
                at: 24,
                not: Some(27),
                optional: false,
                uniform: true,
                complement: false,
            },
            TARGET,
        ],
    ))
    .high(High::One),
    only(plain(
        BRA,
        0x947,
        &[When::Is(32, 2, 1), When::Is(84, 1, 1)],
        &[suffix(&[(85, 2)], "- INC DEC"), fixed("U"), fixed("ANY")],
        &[pred_source_or_nothing(87), TARGET],
    )),
    only(plain(ULEPC, 0x3ce, &[], &[], &[UD])).high(High::One),
    only(plain(
        ULEPC,
        0x9ce,
        &[],
        &[],
        &[
            UD,
            Field::Target {
                bits: &[(24, 58)],
                scale: 1,
            },
        ],
    ))
    .high(High::One),
    only(plain(
        USETSHMSZ,
        0x9c9,
        &[When::Is(72, 1, 0)],
        &[],
        &[unsigned(&[(32, 20)])],
    )),
    only(plain(
        USETSHMSZ,
        0x9c9,
        &[When::Is(72, 1, 1)],
        &[fixed("FLUSH")],
        &[],
    )),
    only(plain(USETSHMSZ, 0x3c9, &[], &[], &[ureg(32)])).high(High::One),
    only(alu(
        NANOSLEEP,
        0x15d,
        RRR | RIR | RCR,
        &[When::Is(84, 1, 1)],
        &[
            suffix(&[(86, 1)], "- RAND"),
            suffix(&[(85, 1)], "- WARP"),
            fixed("SYNCS"),
        ],
        &[pred_source_or_nothing(87), word(Slot::B, PLAIN)],
    )),
];
