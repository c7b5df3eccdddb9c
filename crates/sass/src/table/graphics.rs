//! Instructions of shaders and debuggers that compute code does not hold, as far as their operands are
//! registers: differences between the lanes of a quad, return addresses of the trap handler, carry-less
//! products, moves between predicates and uniform registers.

use super::float::{FTZ, ROUND};
use super::*;
use crate::opcode::Opcode::*;
use crate::operand::Select;
use Slot::{A, B, C};

/// Which half of the return address RPCMOV moves.
const HALF_PC: Field = Field::Keyword {
    bits: (31, 1),
    names: "Rpc.LO Rpc.HI",
};
const UNIFORM_SET: Field = Field::PredicateSet {
    uniform: true,
    select: Selects::Nothing,
};
/// A uniform register of which UR2UP takes one byte.
const BYTE_OF: Field = Field::Source {
    slot: A,
    literal: ImmediateKind::Unsigned,
    adjust: PLAIN,
    select: Selects::Bits(
        76,
        2,
        &[
            Some(Select::None),
            Some(Select::B1),
            Some(Select::B2),
            Some(Select::B3),
        ],
    ),
};
/// Signs of both operands for each lane of a quad (P plus, N minus, Z none), the last lane first.
const SIGNS_OF_LANES: Field = Field::Keyword {
    bits: (32, 8),
    names: "PPPPPPPP PPPPPPPN PPPPPPNP PPPPPPZP PPPPPNPP PPPPPNPN PPPPPNNP PPPPPNZP PPPPNPPP \
     PPPPNPPN PPPPNPNP PPPPNPZP PPPPZPPP PPPPZPPN PPPPZPNP PPPPZPZP PPPNPPPP PPPNPPPN \
     PPPNPPNP PPPNPPZP PPPNPNPP PPPNPNPN PPPNPNNP PPPNPNZP PPPNNPPP PPPNNPPN PPPNNPNP \
     PPPNNPZP PPPNZPPP PPPNZPPN PPPNZPNP PPPNZPZP PPNPPPPP PPNPPPPN PPNPPPNP PPNPPPZP \
     PPNPPNPP PPNPPNPN PPNPPNNP PPNPPNZP PPNPNPPP PPNPNPPN PPNPNPNP PPNPNPZP PPNPZPPP \
     PPNPZPPN PPNPZPNP PPNPZPZP PPZPPPPP PPZPPPPN PPZPPPNP PPZPPPZP PPZPPNPP PPZPPNPN \
     PPZPPNNP PPZPPNZP PPZPNPPP PPZPNPPN PPZPNPNP PPZPNPZP PPZPZPPP PPZPZPPN PPZPZPNP \
     PPZPZPZP PNPPPPPP PNPPPPPN PNPPPPNP PNPPPPZP PNPPPNPP PNPPPNPN PNPPPNNP PNPPPNZP \
     PNPPNPPP PNPPNPPN PNPPNPNP PNPPNPZP PNPPZPPP PNPPZPPN PNPPZPNP PNPPZPZP PNPNPPPP \
     PNPNPPPN PNPNPPNP PNPNPPZP PNPNPNPP PNPNPNPN PNPNPNNP PNPNPNZP PNPNNPPP PNPNNPPN \
     PNPNNPNP PNPNNPZP PNPNZPPP PNPNZPPN PNPNZPNP PNPNZPZP PNNPPPPP PNNPPPPN PNNPPPNP \
     PNNPPPZP PNNPPNPP PNNPPNPN PNNPPNNP PNNPPNZP PNNPNPPP PNNPNPPN PNNPNPNP PNNPNPZP \
     PNNPZPPP PNNPZPPN PNNPZPNP PNNPZPZP PNZPPPPP PNZPPPPN PNZPPPNP PNZPPPZP PNZPPNPP \
     PNZPPNPN PNZPPNNP PNZPPNZP PNZPNPPP PNZPNPPN PNZPNPNP PNZPNPZP PNZPZPPP PNZPZPPN \
     PNZPZPNP PNZPZPZP NPPPPPPP NPPPPPPN NPPPPPNP NPPPPPZP NPPPPNPP NPPPPNPN NPPPPNNP \
     NPPPPNZP NPPPNPPP NPPPNPPN NPPPNPNP NPPPNPZP NPPPZPPP NPPPZPPN NPPPZPNP NPPPZPZP \
     NPPNPPPP NPPNPPPN NPPNPPNP NPPNPPZP NPPNPNPP NPPNPNPN NPPNPNNP NPPNPNZP NPPNNPPP \
     NPPNNPPN NPPNNPNP NPPNNPZP NPPNZPPP NPPNZPPN NPPNZPNP NPPNZPZP NPNPPPPP NPNPPPPN \
     NPNPPPNP NPNPPPZP NPNPPNPP NPNPPNPN NPNPPNNP NPNPPNZP NPNPNPPP NPNPNPPN NPNPNPNP \
     NPNPNPZP NPNPZPPP NPNPZPPN NPNPZPNP NPNPZPZP NPZPPPPP NPZPPPPN NPZPPPNP NPZPPPZP \
     NPZPPNPP NPZPPNPN NPZPPNNP NPZPPNZP NPZPNPPP NPZPNPPN NPZPNPNP NPZPNPZP NPZPZPPP \
     NPZPZPPN NPZPZPNP NPZPZPZP ZPPPPPPP ZPPPPPPN ZPPPPPNP ZPPPPPZP ZPPPPNPP ZPPPPNPN \
     ZPPPPNNP ZPPPPNZP ZPPPNPPP ZPPPNPPN ZPPPNPNP ZPPPNPZP ZPPPZPPP ZPPPZPPN ZPPPZPNP \
     ZPPPZPZP ZPPNPPPP ZPPNPPPN ZPPNPPNP ZPPNPPZP ZPPNPNPP ZPPNPNPN ZPPNPNNP ZPPNPNZP \
     ZPPNNPPP ZPPNNPPN ZPPNNPNP ZPPNNPZP ZPPNZPPP ZPPNZPPN ZPPNZPNP ZPPNZPZP ZPNPPPPP \
     ZPNPPPPN ZPNPPPNP ZPNPPPZP ZPNPPNPP ZPNPPNPN ZPNPPNNP ZPNPPNZP ZPNPNPPP ZPNPNPPN \
     ZPNPNPNP ZPNPNPZP ZPNPZPPP ZPNPZPPN ZPNPZPNP ZPNPZPZP ZPZPPPPP ZPZPPPPN ZPZPPPNP \
     ZPZPPPZP ZPZPPNPP ZPZPPNPN ZPZPPNNP ZPZPPNZP ZPZPNPPP ZPZPNPPN ZPZPNPNP ZPZPNPZP \
     ZPZPZPPP ZPZPZPPN ZPZPZPNP ZPZPZPZP",
};

pub(super) const ROWS: &[Row] = &[
    alu(
        CLMAD,
        0x02c,
        ANY,
        &[],
        &[suffix(&[(77, 1)], "LO HI")],
        &[D, word(A, PLAIN), word(B, PLAIN), word(C, PLAIN)],
    )
    .since(Architecture::Sm80),
    plain(
        FSWZADD,
        0x822,
        &[],
        &[FTZ, ROUND, suffix(&[(77, 1)], "- NDV")],
        &[D, reg(24), reg(64), SIGNS_OF_LANES],
    ),
    alu(
        RPCMOV,
        0x152,
        RRR | RIR | RCR | RUR,
        &[],
        &[fixed("32")],
        &[HALF_PC, word(B, PLAIN)],
    ),
    plain(RPCMOV, 0x353, &[], &[fixed("32")], &[D, HALF_PC]),
    plain(
        SETCTAID,
        0x31f,
        &[],
        &[suffix(&[(78, 2)], "X Y Z -")],
        &[reg(24)],
    ),
    plain(GETLMEMBASE, 0x3c0, &[], &[], &[D]),
    alu(
        OUT,
        0x124,
        RRR | RIR | RCR | RUR,
        &[],
        &[suffix(&[(78, 2)], "? EMIT CUT EMIT_THEN_CUT")],
        &[D, reg(24), int(B, PLAIN)],
    ),
    plain(
        PIXLD,
        0x925,
        &[],
        &[suffix(
            &[(78, 3)],
            "- COVMASK CENTROID_OFFSET MY_INDEX INNER_COVERAGE",
        )],
        &[D, pred(81)],
    ),
    plain(
        UR2UP,
        0x884,
        &[],
        &[],
        &[UNIFORM_SET, BYTE_OF, unsigned_or_nothing(&[(32, 32)], 0xff)],
    )
    .high(High::One),
    plain(UR2UP, 0xc84, &[], &[], &[UNIFORM_SET, BYTE_OF, ureg(32)]).high(High::One),
    plain(
        UP2UR,
        0xc83,
        &[],
        &[suffix(&[(76, 2)], "- B1 B2 B3")],
        &[UD, UNIFORM_SET, ureg(24), ureg(32)],
    )
    .high(High::One),
];
