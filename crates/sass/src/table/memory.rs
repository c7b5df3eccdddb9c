//! Loads and stores of every space, and the constant bank.

use super::*;
use crate::opcode::Opcode::*;

/// A plain register address with an offset of 24 bits.
pub(super) const PLAIN_ADDRESS: Address = Address {
    base: Some(24),
    offset: (40, 24),
    uniform: None,
    wide: None,
    descriptor: None,
    descriptor_after: None,
    scale: None,
    signed: false,
    explicit: false,
};

/// An address with a uniform register at bit `uniform`, or its descriptor.
pub(super) const fn with_uniform(uniform: u8, descriptor: Option<u8>) -> Field {
    Field::Memory(Address {
        uniform: Some(uniform),
        wide: Some(90),
        descriptor,
        ..PLAIN_ADDRESS
    })
}

/// A shared or local address, scaled and with a uniform register where it has one.
pub(super) const fn local(uniform: Option<u8>, scale: Option<u8>, descriptor: Option<u8>) -> Field {
    Field::Memory(Address {
        uniform,
        scale,
        descriptor,
        ..PLAIN_ADDRESS
    })
}

/// An address with an offset of 32 bits.
pub(super) const LONG: Field = Field::Memory(Address {
    offset: (32, 32),
    ..PLAIN_ADDRESS
});

/// 64-bit address, bit 72.
pub(super) const EXTENDED: Suffix = suffix(&[(72, 1)], "- E");
/// Eviction priority, bits 84 to 86.
pub(super) const EVICT: Suffix = suffix(&[(84, 3)], "EF - EL LU EU NA");
/// Size hint of the L2 fill, bits 68 and 69.
pub(super) const L2_FILL: Suffix = suffix(&[(68, 2)], "- LTC64B LTC128B LTC256B");
/// Access size, bits 73 to 75.
pub(super) const SIZE: Suffix = suffix(&[(73, 3)], "U8 S8 U16 S16 - 64 128");
/// Order and scope of a load, bits 77 to 80.
pub(super) const LOAD_ORDER: Suffix = suffix(
    &[(77, 4)],
    "- CONSTANT.PRIVATE CONSTANT.CTA CONSTANT.CTA.PRIVATE CONSTANT STRONG.SM \
     STRONG.GPU.PRIVATE STRONG.GPU MMIO.GPU CONSTANT.SM STRONG.SYS CONSTANT.SM.PRIVATE \
     MMIO.SYS CONSTANT.VC CONSTANT.VC.PRIVATE CONSTANT.GPU",
);
/// Order and scope of a store or an atomic operation, bits 77 to 80.
pub(super) const STORE_ORDER: Suffix = suffix(
    &[(77, 4)],
    "- CONSTANT.PRIVATE CONSTANT.CTA CONSTANT.CTA.PRIVATE STRONG.SM.PRIVATE STRONG.SM \
     STRONG.GPU.PRIVATE STRONG.GPU MMIO.GPU CONSTANT.SM STRONG.SYS CONSTANT.SM.PRIVATE \
     MMIO.SYS CONSTANT.VC CONSTANT.VC.PRIVATE CONSTANT.GPU",
);

const LOAD: [Suffix; 5] = [EXTENDED, EVICT, L2_FILL, SIZE, LOAD_ORDER];
const STORE: [Suffix; 4] = [EXTENDED, EVICT, SIZE, STORE_ORDER];
/// The predicate that a load's fill condition reads.
pub(super) const FILL: Field = gate(64, false);

/// Order and scope of LDGSTS, bits 77 to 80.
const COPY_ORDER: Suffix = suffix(
    &[(77, 4)],
    "- CONSTANT.PRIVATE CONSTANT.CTA CONSTANT.CTA.PRIVATE CONSTANT MMIO.CTA GPU.PRIVATE \
     MMIO.CTA.PRIVATE MMIO.SM CONSTANT.SM MMIO.VC CONSTANT.SM.PRIVATE MMIO.GPU CONSTANT.VC \
     CONSTANT.VC.PRIVATE CONSTANT.GPU",
);
/// Suffixes of LDGSTS: L2 fill in bits 71 and 72, order as a load's but for two scopes.
const COPY: [Suffix; 7] = [
    fixed("E"),
    suffix(&[(81, 1)], "BYPASS -"),
    EVICT,
    suffix(&[(71, 2)], "- LTC64B LTC128B LTC256B"),
    suffix(&[(73, 3)], "? ? ? ? - 64 128"),
    suffix(&[(82, 1)], "- ZFILL"),
    COPY_ORDER,
];
/// Shared destination and global source of LDGSTS; one of them may take a uniform register.
const COPY_TO: Field = Field::Memory(Address {
    base: Some(16),
    offset: (44, 20),
    signed: true,
    ..PLAIN_ADDRESS
});
const COPY_TO_UNIFORM: Field = Field::Memory(Address {
    base: Some(16),
    offset: (44, 20),
    uniform: Some(64),
    signed: true,
    ..PLAIN_ADDRESS
});
const COPY_FROM: Field = Field::Memory(Address {
    offset: (32, 12),
    wide: Some(70),
    descriptor: Some(76),
    descriptor_after: Some(64),
    explicit: true,
    ..PLAIN_ADDRESS
});
const COPY_FROM_UNIFORM: Field = Field::Memory(Address {
    offset: (32, 12),
    uniform: Some(64),
    wide: Some(70),
    descriptor: Some(76),
    explicit: true,
    ..PLAIN_ADDRESS
});

pub(super) const ROWS: &[Row] = &[
    plain(
        LDG,
        0x381,
        &[],
        &LOAD,
        &[pred_or_nothing(81), D, Field::Memory(PLAIN_ADDRESS), FILL],
    )
    .since(Architecture::Sm80),
    plain(
        LDG,
        0x981,
        &[],
        &LOAD,
        &[pred_or_nothing(81), D, with_uniform(32, Some(76)), FILL],
    )
    .high(High::One)
    .since(Architecture::Sm80),
    plain(LD, 0x980, &[], &LOAD, &[D, LONG, FILL]).since(Architecture::Sm80),
    plain(
        LD,
        0x980,
        &[],
        &LOAD,
        &[D, with_uniform(32, Some(76)), FILL],
    )
    .high(High::One)
    .since(Architecture::Sm80),
    plain(
        LDL,
        0x983,
        &[],
        &[EVICT, SIZE],
        &[D, local(None, None, None)],
    ),
    plain(
        LDL,
        0x983,
        &[],
        &[EVICT, SIZE],
        &[D, local(Some(32), None, Some(76))],
    )
    .high(High::One),
    plain(LDS, 0x984, &[], &[SIZE], &[D, local(None, Some(78), None)]).since(Architecture::Sm80),
    plain(
        LDS,
        0x984,
        &[],
        &[SIZE],
        &[D, local(Some(32), Some(78), None)],
    )
    .high(High::One)
    .since(Architecture::Sm80),
    plain(
        STG,
        0x386,
        &[],
        &STORE,
        &[Field::Memory(PLAIN_ADDRESS), reg(32)],
    )
    .since(Architecture::Sm80),
    plain(
        STG,
        0x986,
        &[],
        &STORE,
        &[with_uniform(64, Some(76)), reg(32)],
    )
    .high(High::One)
    .since(Architecture::Sm80),
    plain(ST, 0x385, &[], &STORE, &[LONG, reg(64)]).since(Architecture::Sm80),
    plain(
        ST,
        0x985,
        &[],
        &STORE,
        &[with_uniform(64, Some(76)), reg(32)],
    )
    .high(High::One)
    .since(Architecture::Sm80),
    plain(
        STL,
        0x387,
        &[],
        &[EVICT, SIZE],
        &[local(None, None, None), reg(32)],
    ),
    plain(
        STL,
        0x987,
        &[],
        &[EVICT, SIZE],
        &[local(Some(64), None, Some(76)), reg(32)],
    )
    .high(High::One),
    plain(
        STS,
        0x388,
        &[],
        &[SIZE],
        &[local(None, Some(78), None), reg(32)],
    ),
    plain(
        STS,
        0x988,
        &[],
        &[SIZE],
        &[local(Some(64), Some(78), None), reg(32)],
    )
    .high(High::One),
    plain(
        LDC,
        0xb82,
        &[],
        &[
            suffix(&[(73, 3)], "U8 S8 U16 S16 - 64"),
            suffix(&[(78, 2)], "- IL IS ISL"),
        ],
        &[
            D,
            Field::Constant {
                index: Some(24),
                uniform_index: None,
                bindless: None,
            },
        ],
    ),
    plain(
        LDSM,
        0x83b,
        &[],
        &[
            fixed("16"),
            suffix(&[(78, 2)], "M88 MT88 M816 M832"),
            suffix(&[(72, 2)], "- 2 4"),
        ],
        &[
            D,
            Field::Memory(Address {
                signed: true,
                ..PLAIN_ADDRESS
            }),
        ],
    ),
    plain(
        LDSM,
        0x83b,
        &[],
        &[
            fixed("16"),
            suffix(&[(78, 2)], "M88 MT88 M816 M832"),
            suffix(&[(72, 2)], "- 2 4"),
        ],
        &[
            D,
            Field::Memory(Address {
                signed: true,
                uniform: Some(32),
                ..PLAIN_ADDRESS
            }),
        ],
    )
    .high(High::One),
    // LDGSTS copies from a global address to a shared one.
    plain(
        LDGSTS,
        0xfae,
        &[],
        &COPY,
        &[COPY_TO, COPY_FROM_UNIFORM, pred_source_or_nothing(87)],
    )
    .high(High::One),
    plain(
        LDGSTS,
        0xdae,
        &[],
        &COPY,
        &[COPY_TO_UNIFORM, COPY_FROM, pred_source_or_nothing(87)],
    )
    .high(High::One),
    plain(
        QSPC,
        0x3aa,
        &[],
        &[EXTENDED, suffix(&[(73, 2)], "G L S")],
        &[pred(81), D, Field::Memory(PLAIN_ADDRESS)],
    )
    .until(Architecture::Sm89),
    plain(
        QSPC,
        0x9aa,
        &[],
        &[EXTENDED, suffix(&[(73, 2)], "G L S")],
        &[pred(81), D, with_uniform(32, None)],
    )
    .high(High::One)
    .until(Architecture::Sm89),
];
