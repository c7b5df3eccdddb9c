//! Texture fetches and surface accesses. A handle is a constant (bank and word), a constant by a
//! uniform register, or (bindless) part of the coordinates.

use super::memory::{EVICT, LOAD_ORDER, PLAIN_ADDRESS, SIZE, STORE_ORDER};
use super::*;
use crate::opcode::Opcode::*;

/// Scalar operands: only the registers named are read.
const SCR: Suffix = suffix(&[(60, 1)], "- SCR");
/// Handle in a register beside the coordinates.
const BOUND: Suffix = suffix(&[(59, 1)], "- B");
const BINDLESS: Suffix = suffix(&[(59, 1)], "? B");
/// Half-precision result.
const HALF: Suffix = suffix(&[(79, 2)], "- F16.RN F16.RZ");
/// Level of detail.
const LOD: Suffix = suffix(&[(87, 3)], "- LZ LB LL LC LB.LC LC.FDV");
const EXPLICIT: Suffix = suffix(&[(87, 3)], "? LZ ? LL");
const CLAMP: Suffix = suffix(&[(87, 1)], "- LC");
const AOFFI: Suffix = suffix(&[(76, 1)], "- AOFFI");
const OFFSETS: Suffix = suffix(&[(76, 2)], "- AOFFI PTP");
/// Depth comparison.
const DC: Suffix = suffix(&[(78, 1)], "- DC");
const NDV: Suffix = suffix(&[(77, 1)], "- NDV");
const MS: Suffix = suffix(&[(78, 1)], "- MS");
const CL: Suffix = suffix(&[(77, 1)], "- CL");
const NODEP: Suffix = suffix(&[(90, 1)], "- NODEP");
/// The component that TLD4 gathers.
const COMPONENT: Suffix = suffix(&[(87, 2)], "R G B A");
/// Dimensions of a texture.
const DIMENSION: Field = Field::Keyword {
    bits: (61, 3),
    names: "1D 2D 3D CUBE ARRAY_1D ARRAY_2D ? ARRAY_CUBE",
};
const PLANE: Field = Field::Keyword {
    bits: (61, 3),
    names: "? 2D ? CUBE ? ARRAY_2D ? ARRAY_CUBE",
};
const ARRAY: Field = Field::Keyword {
    bits: (61, 3),
    names: "1D 2D 3D ? ARRAY_1D ARRAY_2D",
};
const LINEAR: Field = Field::Keyword {
    bits: (61, 3),
    names: "1D 2D ? ? ARRAY_1D ARRAY_2D",
};
/// Which property TXQ asks for.
const QUERY: Field = Field::Keyword {
    bits: (62, 2),
    names: "TEX_HEADER_DIMENSION TEX_HEADER_TEXTURE_TYPE TEX_HEADER_SAMPLER_POS",
};
/// Component mask, left out if all four.
const MASK: Field = unsigned_or_nothing(&[(72, 4)], 15);
const ALL_MASK: Field = unsigned_or_nothing(&[(72, 4)], 15);
/// Constant bank and word of a handle.
pub(super) const HANDLE: [Field; 2] = [unsigned(&[(54, 5)]), unsigned(&[(40, 14)])];
/// Second coordinate register of a bound fetch, left out if RZ.
const B: Field = reg_or_nothing(32);

/// Coordinates in bytes.
pub(super) const BYTES: Suffix = suffix(&[(72, 1)], "- BA");
/// Dimensions of a surface.
pub(super) const SURFACE: Suffix = suffix(&[(61, 3)], "1D 1D_BUFFER 1D_ARRAY 2D 2D_ARRAY 3D");
/// What happens outside the surface.
pub(super) const BORDER: Suffix = suffix(&[(59, 2)], "IGN - TRAP");
/// Components of a formatted access.
pub(super) const CHANNELS: Suffix = suffix(&[(72, 4)], "? R ? RG ? ? ? ? ? ? ? ? ? ? ? -");
pub(super) const OPERATION: Suffix = suffix(&[(87, 4)], "ADD MIN MAX INC DEC AND OR XOR EXCH");
pub(super) const SHORT_OPERATION: Suffix = suffix(&[(87, 3)], "ADD MIN MAX INC DEC AND OR XOR");
pub(super) const TYPE: Suffix = suffix(&[(73, 3)], "- S32 U64 F32.FTZ.RN F16x2.RN S64 SD32 SD64");
pub(super) const SWAP_TYPE: Suffix = suffix(&[(73, 3)], "- S32 U64");
/// The coordinates of a surface access, in brackets.
pub(super) const COORDINATES: Field = Field::Memory(Address {
    offset: (24, 0),
    ..PLAIN_ADDRESS
});

pub(super) const ROWS: &[Row] = &[
    plain(
        TEX,
        0xb60,
        &[],
        &[SCR, BOUND, HALF, LOD, AOFFI, DC, EVICT, NDV, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            B,
            HANDLE[0],
            HANDLE[1],
            DIMENSION,
            MASK,
        ],
    ),
    plain(
        TEX,
        0xf60,
        &[],
        &[SCR, HALF, LOD, AOFFI, DC, EVICT, NDV, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            B,
            ureg(40),
            unsigned(&[(46, 8)]),
            DIMENSION,
            MASK,
        ],
    )
    .high(High::One),
    plain(
        TEX,
        0x361,
        &[],
        &[SCR, BINDLESS, HALF, LOD, AOFFI, DC, EVICT, NDV, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            reg(32),
            DIMENSION,
            MASK,
        ],
    ),
    plain(
        TLD4,
        0xb63,
        &[],
        &[SCR, COMPONENT, BOUND, HALF, OFFSETS, DC, EVICT, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            B,
            HANDLE[0],
            HANDLE[1],
            PLANE,
            MASK,
        ],
    ),
    plain(
        TLD4,
        0xf63,
        &[],
        &[SCR, COMPONENT, HALF, OFFSETS, DC, EVICT, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            B,
            ureg(40),
            unsigned(&[(46, 8)]),
            PLANE,
            MASK,
        ],
    )
    .high(High::One),
    plain(
        TLD4,
        0x364,
        &[],
        &[SCR, COMPONENT, BINDLESS, HALF, OFFSETS, DC, EVICT, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            reg(32),
            PLANE,
            MASK,
        ],
    ),
    plain(
        TLD,
        0xb66,
        &[],
        &[SCR, BOUND, HALF, EXPLICIT, AOFFI, EVICT, MS, CL, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            B,
            HANDLE[0],
            HANDLE[1],
            ARRAY,
            MASK,
        ],
    ),
    plain(
        TLD,
        0xf66,
        &[],
        &[SCR, HALF, EXPLICIT, AOFFI, EVICT, MS, CL, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            B,
            ureg(40),
            unsigned(&[(46, 8)]),
            ARRAY,
            MASK,
        ],
    )
    .high(High::One),
    plain(
        TLD,
        0x367,
        &[],
        &[SCR, BINDLESS, HALF, EXPLICIT, AOFFI, EVICT, MS, CL, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            reg(32),
            ARRAY,
            MASK,
        ],
    ),
    plain(
        TXD,
        0xb6c,
        &[],
        &[BOUND, HALF, CLAMP, AOFFI, EVICT, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            B,
            HANDLE[0],
            HANDLE[1],
            LINEAR,
            MASK,
        ],
    ),
    plain(
        TXD,
        0xf6c,
        &[],
        &[HALF, CLAMP, AOFFI, EVICT, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            B,
            ureg(40),
            unsigned(&[(46, 8)]),
            LINEAR,
            MASK,
        ],
    )
    .high(High::One),
    plain(
        TXD,
        0x36d,
        &[],
        &[BINDLESS, HALF, CLAMP, AOFFI, EVICT, NODEP],
        &[
            pred_or_nothing(81),
            reg(64),
            D,
            reg(24),
            reg(32),
            LINEAR,
            MASK,
        ],
    ),
    plain(
        TMML,
        0xb69,
        &[],
        &[BOUND, fixed("LOD"), NDV, NODEP],
        &[
            reg(64),
            D,
            reg(24),
            B,
            HANDLE[0],
            HANDLE[1],
            DIMENSION,
            ALL_MASK,
        ],
    ),
    plain(
        TMML,
        0xf69,
        &[],
        &[fixed("LOD"), NDV, NODEP],
        &[
            reg(64),
            D,
            reg(24),
            B,
            ureg(40),
            unsigned(&[(46, 8)]),
            DIMENSION,
            ALL_MASK,
        ],
    )
    .high(High::One),
    plain(
        TMML,
        0x36a,
        &[],
        &[BINDLESS, fixed("LOD"), NDV, NODEP],
        &[reg(64), D, reg(24), reg(32), DIMENSION, ALL_MASK],
    ),
    plain(
        TXQ,
        0xb6f,
        &[],
        &[BOUND, NODEP],
        &[reg(64), D, reg(24), QUERY, HANDLE[0], HANDLE[1], ALL_MASK],
    ),
    plain(
        TXQ,
        0xf6f,
        &[],
        &[NODEP],
        &[
            reg(64),
            D,
            reg(24),
            QUERY,
            ureg(40),
            unsigned(&[(46, 8)]),
            ALL_MASK,
        ],
    )
    .high(High::One),
    plain(
        TXQ,
        0x370,
        &[],
        &[BINDLESS, NODEP],
        &[reg(64), D, reg(24), QUERY, ALL_MASK],
    ),
    plain(
        SULD,
        0x99a,
        &[],
        &[fixed("D"), BYTES, SURFACE, EVICT, SIZE, LOAD_ORDER, BORDER],
        &[pred_or_nothing(81), D, COORDINATES, reg(64)],
    ),
    plain(
        SULD,
        0xb99,
        &[],
        &[fixed("D"), BYTES, SURFACE, EVICT, SIZE, LOAD_ORDER, BORDER],
        &[pred_or_nothing(81), D, COORDINATES, HANDLE[0], HANDLE[1]],
    ),
    plain(
        SULD,
        0xf99,
        &[],
        &[fixed("D"), BYTES, SURFACE, EVICT, SIZE, LOAD_ORDER, BORDER],
        &[
            pred_or_nothing(81),
            D,
            COORDINATES,
            ureg(40),
            unsigned(&[(46, 8)]),
        ],
    )
    .high(High::One),
    plain(
        SULD,
        0x998,
        &[],
        &[fixed("P"), SURFACE, EVICT, LOAD_ORDER, CHANNELS, BORDER],
        &[pred_or_nothing(81), D, COORDINATES, reg(64)],
    ),
    plain(
        SULD,
        0xb97,
        &[],
        &[fixed("P"), SURFACE, EVICT, LOAD_ORDER, CHANNELS, BORDER],
        &[pred_or_nothing(81), D, COORDINATES, HANDLE[0], HANDLE[1]],
    ),
    plain(
        SULD,
        0xf97,
        &[],
        &[fixed("P"), SURFACE, EVICT, LOAD_ORDER, CHANNELS, BORDER],
        &[
            pred_or_nothing(81),
            D,
            COORDINATES,
            ureg(40),
            unsigned(&[(46, 8)]),
        ],
    )
    .high(High::One),
    plain(
        SUST,
        0x99e,
        &[],
        &[fixed("D"), BYTES, SURFACE, EVICT, SIZE, STORE_ORDER, BORDER],
        &[COORDINATES, reg(32), reg(64)],
    ),
    plain(
        SUST,
        0xb9d,
        &[],
        &[fixed("D"), BYTES, SURFACE, EVICT, SIZE, STORE_ORDER, BORDER],
        &[COORDINATES, reg(32), HANDLE[0], HANDLE[1]],
    ),
    plain(
        SUST,
        0xf9d,
        &[],
        &[fixed("D"), BYTES, SURFACE, EVICT, SIZE, STORE_ORDER, BORDER],
        &[COORDINATES, reg(32), ureg(40), unsigned(&[(46, 8)])],
    )
    .high(High::One),
    plain(
        SUST,
        0x99c,
        &[],
        &[fixed("P"), SURFACE, EVICT, STORE_ORDER, CHANNELS, BORDER],
        &[COORDINATES, reg(32), reg(64)],
    ),
    plain(
        SUST,
        0xb9b,
        &[],
        &[fixed("P"), SURFACE, EVICT, STORE_ORDER, CHANNELS, BORDER],
        &[COORDINATES, reg(32), HANDLE[0], HANDLE[1]],
    ),
    plain(
        SUST,
        0xf9b,
        &[],
        &[fixed("P"), SURFACE, EVICT, STORE_ORDER, CHANNELS, BORDER],
        &[COORDINATES, reg(32), ureg(40), unsigned(&[(46, 8)])],
    )
    .high(High::One),
    plain(
        SUATOM,
        0x394,
        &[],
        &[
            fixed("D"),
            BYTES,
            SURFACE,
            OPERATION,
            EVICT,
            TYPE,
            STORE_ORDER,
            BORDER,
        ],
        &[pred(81), D, COORDINATES, reg(32), reg(64)],
    ),
    plain(
        SUATOM,
        0x396,
        &[],
        &[
            fixed("D"),
            BYTES,
            SURFACE,
            fixed("CAS"),
            EVICT,
            SWAP_TYPE,
            STORE_ORDER,
            BORDER,
        ],
        &[pred(81), D, COORDINATES, reg(32), reg(64)],
    ),
    plain(
        SURED,
        0x3a0,
        &[],
        &[
            fixed("D"),
            BYTES,
            SURFACE,
            SHORT_OPERATION,
            EVICT,
            TYPE,
            STORE_ORDER,
            BORDER,
        ],
        &[COORDINATES, reg(32), reg(64)],
    ),
    plain(
        SUATOM,
        0x593,
        &[],
        &[
            fixed("D"),
            BYTES,
            SURFACE,
            OPERATION,
            EVICT,
            TYPE,
            STORE_ORDER,
            BORDER,
        ],
        &[pred(81), D, COORDINATES, reg(32), HANDLE[0], HANDLE[1]],
    ),
    plain(
        SUATOM,
        0x595,
        &[],
        &[
            fixed("D"),
            BYTES,
            SURFACE,
            fixed("CAS"),
            EVICT,
            SWAP_TYPE,
            STORE_ORDER,
            BORDER,
        ],
        &[pred(81), D, COORDINATES, reg(32), HANDLE[0], HANDLE[1]],
    ),
    plain(
        SURED,
        0x59f,
        &[],
        &[
            fixed("D"),
            BYTES,
            SURFACE,
            SHORT_OPERATION,
            EVICT,
            TYPE,
            STORE_ORDER,
            BORDER,
        ],
        &[COORDINATES, reg(32), HANDLE[0], HANDLE[1]],
    ),
    plain(
        SUATOM,
        0xf93,
        &[],
        &[
            fixed("D"),
            BYTES,
            SURFACE,
            OPERATION,
            EVICT,
            TYPE,
            STORE_ORDER,
            BORDER,
        ],
        &[
            pred(81),
            D,
            COORDINATES,
            reg(32),
            ureg(40),
            unsigned(&[(46, 8)]),
        ],
    )
    .high(High::One),
    plain(
        SUATOM,
        0xf95,
        &[],
        &[
            fixed("D"),
            BYTES,
            SURFACE,
            fixed("CAS"),
            EVICT,
            SWAP_TYPE,
            STORE_ORDER,
            BORDER,
        ],
        &[
            pred(81),
            D,
            COORDINATES,
            reg(32),
            ureg(40),
            unsigned(&[(46, 8)]),
        ],
    )
    .high(High::One),
    plain(
        SURED,
        0xf9f,
        &[],
        &[
            fixed("D"),
            BYTES,
            SURFACE,
            SHORT_OPERATION,
            EVICT,
            TYPE,
            STORE_ORDER,
            BORDER,
        ],
        &[COORDINATES, reg(32), ureg(40), unsigned(&[(46, 8)])],
    )
    .high(High::One),
];
