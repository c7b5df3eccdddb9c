//! Loads and stores of every space.
//!
//! The way of an access: `access` (which instruction), `address` (lanes' addresses, surveyed and
//! checked), `load_store`, `constant`, `matrix` and `copy` (what it does), then the spaces:
//!
//! * [`global`] — device memory: allocations and their bytes; [`pages`] — frames of the pages;
//! * `generic` — which space a generic address lies in;
//! * `local` — per-thread memory, interleaved over the lanes of a warp;
//! * `shared` — a CTA's shared memory;
//! * `port` — the way to device memory: at once in functional mode, by the visibility rules of
//!   DESIGN.md V1 to V5 in timing mode;
//! * `overlay` — an SM's own stores of this quantum, and the log from which all SMs' are published;
//! * `deferred` — operations that take effect at their slice, `sectors` — where they are under way.

pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod constant;
pub(crate) mod copy;
pub(crate) mod deferred;
pub(crate) mod generic;
pub mod global;
pub(crate) mod load_store;
pub(crate) mod local;
pub(crate) mod matrix;
pub(crate) mod overlay;
pub mod pages;
pub(crate) mod port;
pub(crate) mod sectors;
pub(crate) mod shared;

use sass::{Modifier, Opcode};

use crate::lower::{Address, Lowered, Reader, refuse};
use crate::micro::{Operand, PredicateSource};

pub(crate) use generic::{LOCAL_WINDOW, SHARED_WINDOW};

/// The space an instruction names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Named {
    Global,
    Generic,
    Local,
    Shared,
}

/// Bytes of an access and whether a narrow one is extended by its sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Size {
    pub(crate) bytes: u8,
    pub(crate) signed: bool,
}

impl Size {
    /// Registers that hold the data of one lane.
    pub(crate) const fn registers(self) -> u16 {
        if self.bytes <= 4 {
            1
        } else {
            self.bytes as u16 / 4
        }
    }
}

/// Lowered memory instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// LD, LDG, LDL, LDS.
    Load {
        space: Named,
        /// `None`: into RZ.
        row: Option<u16>,
        address: Address,
        size: Size,
        /// Ordered at the GPU or beyond: takes effect at its slice.
        strong: bool,
    },
    /// ST, STG, STL, STS.
    Store {
        space: Named,
        row: Option<u16>,
        address: Address,
        size: Size,
        strong: bool,
    },
    /// LDC, ULDC with an index.
    LoadConstant {
        row: u16,
        uniform: bool,
        bank: u8,
        index: Operand,
        offset: i32,
        size: Size,
        mode: ConstantMode,
    },
    /// LDSM: 8 × 8 matrices of 16-bit elements.
    LoadMatrix {
        row: u16,
        address: Address,
        matrices: u8,
        transpose: bool,
    },
    /// STSM: the same into shared memory; `None` for RZ.
    StoreMatrix {
        row: Option<u16>,
        address: Address,
        matrices: u8,
        transpose: bool,
    },
    /// LDGSTS.
    Copy {
        to: Address,
        from: Address,
        bytes: u8,
        bypass: bool,
        fill: PredicateSource,
    },
    /// QSPC: whether a generic address lies in a space.
    Query {
        out: u8,
        row: u16,
        address: Address,
        space: Named,
    },
}

/// How LDC forms bank and offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConstantMode {
    /// The index is added to the offset.
    Linear,
    /// The upper half of the index is added to the bank.
    Indexed,
}

/// Size of an access from the modifiers.
pub(crate) fn size_of(r: &Reader<'_>) -> Size {
    use Modifier::*;
    let sizes = [
        (
            U8,
            Size {
                bytes: 1,
                signed: false,
            },
        ),
        (
            S8,
            Size {
                bytes: 1,
                signed: true,
            },
        ),
        (
            U16,
            Size {
                bytes: 2,
                signed: false,
            },
        ),
        (
            S16,
            Size {
                bytes: 2,
                signed: true,
            },
        ),
        (
            N64,
            Size {
                bytes: 8,
                signed: false,
            },
        ),
        (
            N128,
            Size {
                bytes: 16,
                signed: false,
            },
        ),
    ];
    r.choose(
        &sizes,
        Size {
            bytes: 4,
            signed: false,
        },
    )
}

/// Suffixes that steer caches only, and those that order.
const HINTS: &[Modifier] = {
    use Modifier::*;
    &[
        E, EF, EL, LU, EU, NA, LTC64B, LTC128B, LTC256B, CONSTANT, STRONG, SM, GPU, SYS, PRIVATE,
        CTA, MMIO, VC, U, U8, S8, U16, S16, N64, N128,
    ]
};

/// Whether the access is ordered at the GPU or beyond.
pub(crate) fn is_strong(r: &Reader<'_>) -> bool {
    use Modifier::*;
    (r.has(STRONG) || r.has(MMIO)) && (r.has(GPU) || r.has(SYS))
}

/// Lowers a memory instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let size = size_of(r);
    let extended = r.has(E);
    Ok(match opcode {
        Opcode::LDG | Opcode::LD | Opcode::LDL | Opcode::LDS => {
            r.only(HINTS)?;
            let space = named(opcode);
            if r.at_predicate() {
                return refuse("a load with a predicate result");
            }
            let row = r.destination_or_none(size.registers())?;
            let address = r.address(extended)?;
            if r.predicate_source_or(PredicateSource::TRUE)? != PredicateSource::TRUE {
                return refuse("a load with a fill condition");
            }
            Op::Load {
                space,
                row,
                address,
                size,
                strong: is_strong(r),
            }
        }
        Opcode::STG | Opcode::ST | Opcode::STL | Opcode::STS => {
            r.only(HINTS)?;
            let space = named(opcode);
            let address = r.address(extended)?;
            let row = r.register_source(size.registers())?;
            Op::Store {
                space,
                row,
                address,
                size,
                strong: is_strong(r),
            }
        }
        Opcode::LDC | Opcode::ULDC => {
            r.only(&[U8, S8, U16, S16, N64, IL, IS])?;
            let uniform = opcode == Opcode::ULDC;
            let row = if uniform {
                u16::from(r.uniform_destination(size.registers() as u8)?)
            } else {
                r.destination(size.registers())?
            };
            let mode = if r.has(IS) {
                ConstantMode::Indexed
            } else {
                ConstantMode::Linear
            };
            if r.has(IL) {
                return refuse("LDC.IL");
            }
            let (bank, index, offset) = r.indexed_constant()?;
            Op::LoadConstant {
                row,
                uniform,
                bank,
                index,
                offset,
                size,
                mode,
            }
        }
        Opcode::LDSM => {
            r.only(&[N16, M88, MT88, N2, N4])?;
            let matrices = r.choose(&[(N2, 2), (N4, 4)], 1);
            let Some(row) = r.destination_or_none(matrices)? else {
                return refuse("LDSM into RZ");
            };
            let address = r.address(false)?;
            Op::LoadMatrix {
                row,
                address,
                matrices: matrices as u8,
                transpose: r.has(MT88),
            }
        }
        Opcode::STSM => {
            r.only(&[N16, M88, MT88, N2, N4])?;
            let matrices: u16 = r.choose(&[(N2, 2), (N4, 4)], 1);
            let address = r.address(false)?;
            Op::StoreMatrix {
                row: r.register_source(matrices)?,
                address,
                matrices: matrices as u8,
                transpose: r.has(MT88),
            }
        }
        Opcode::LDGSTS => {
            r.only(&[
                E, BYPASS, EF, EL, LU, EU, NA, LTC64B, LTC128B, LTC256B, N64, N128, CONSTANT,
                ZFILL, PRIVATE,
            ])?;
            let to = r.address(false)?;
            let from = r.address(true)?;
            let fill = r.predicate_source_or(PredicateSource::TRUE)?;
            Op::Copy {
                to,
                from,
                bytes: size.bytes,
                bypass: r.has(BYPASS),
                fill,
            }
        }
        Opcode::QSPC => {
            // `.D` asks for the shared memory of the cluster, of which the CTA's own is the only part.
            r.only(&[E, G, L, S, D])?;
            let space = r.choose(&[(G, Named::Global), (L, Named::Local)], Named::Shared);
            let out = r.predicate_destination()?;
            let row = r.destination(1)?;
            Op::Query {
                out,
                row,
                address: r.address(extended)?,
                space,
            }
        }
        other => return refuse(format!("{} is not a memory instruction", other.text())),
    })
}

fn named(opcode: Opcode) -> Named {
    match opcode {
        Opcode::LDG | Opcode::STG => Named::Global,
        Opcode::LDL | Opcode::STL => Named::Local,
        Opcode::LDS | Opcode::STS => Named::Shared,
        _ => Named::Generic,
    }
}
