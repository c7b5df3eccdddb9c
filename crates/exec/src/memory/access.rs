//! What one warp's memory instruction works on, and which file executes it.

use source::{Access, Effect, FaultKind, Operation as Kind, Space};

use crate::constant::Banks;
use crate::isa_dispatch::HostIsa;
use crate::lanes::Lanes;
use crate::memory::constant::ConstantLoad;
use crate::memory::deferred::Operation;
use crate::memory::load_store::Transfer;
use crate::memory::local::LocalMemory;
use crate::memory::port::Port;
use crate::memory::shared::SharedMemory;
use crate::memory::{Op, constant, copy, generic, load_store, matrix};
use crate::texture::taps::Taps;
use crate::warp::Warp;

/// What one warp's instruction works on.
pub(crate) struct Unit<'a> {
    pub(crate) host: HostIsa,
    pub(crate) warp: &'a mut Warp,
    pub(crate) shared: &'a mut SharedMemory,
    pub(crate) local: &'a mut LocalMemory,
    pub(crate) banks: &'a Banks,
    /// Space for an operation that may be deferred.
    pub(crate) operation: &'a mut Operation,
    /// Space for data; lanes that take no part keep what was there.
    pub(crate) words: &'a mut [Lanes; 4],
    /// Space for the texels of a fetch.
    pub(crate) taps: &'a mut Taps,
}

/// A fault with the lane at fault.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Trouble {
    pub(crate) lane: Option<u8>,
    pub(crate) kind: FaultKind,
}

/// Result of executing.
pub(crate) type Done = Result<(), Box<Trouble>>;

/// Notes an access for the timing model. Addresses are already in `effect`.
#[inline(always)]
pub(crate) fn note(effect: &mut Effect, space: Space, operation: Kind, lanes: u32, bytes: u32) {
    let access: &mut Access = &mut effect.access;
    effect.accesses = true;
    access.space = space;
    access.operation = operation;
    access.lanes = lanes;
    access.bytes = bytes as u8;
    access.bypass = false;
    access.deferred = None;
    access.texels.clear();
}

/// Writes result words to registers.
#[inline(always)]
pub(crate) fn write_words(warp: &mut Warp, row: u16, words: &[Lanes; 4], bytes: u32, mask: u32) {
    let count = bytes.div_ceil(4) as usize;
    for (index, lanes) in words.iter().enumerate().take(count) {
        warp.write(row + index as u16, lanes, mask);
    }
}

/// Executes a memory instruction in the lanes of `mask`.
///
/// # Errors
/// The fault of the first lane at fault.
#[inline]
pub(crate) fn execute<P: Port>(
    op: &Op,
    unit: &mut Unit<'_>,
    mask: u32,
    port: &mut P,
    effect: &mut Effect,
) -> Done {
    match *op {
        Op::Load {
            space,
            row,
            ref address,
            size,
            strong,
        } => {
            let transfer = Transfer {
                space,
                row,
                address,
                size,
                strong,
            };
            load_store::load(unit, transfer, mask, port, effect)
        }
        Op::Store {
            space,
            row,
            ref address,
            size,
            strong,
        } => {
            let transfer = Transfer {
                space,
                row,
                address,
                size,
                strong,
            };
            load_store::store(unit, transfer, mask, port, effect)
        }
        Op::LoadConstant {
            row,
            uniform,
            bank,
            index,
            offset,
            size,
            mode,
        } => {
            let load = ConstantLoad {
                row,
                uniform,
                bank,
                index,
                offset,
                size,
                mode,
            };
            constant::load(unit, load, mask, effect)
        }
        Op::LoadMatrix {
            row,
            ref address,
            matrices,
            transpose,
        } => matrix::load(unit, row, address, matrices, transpose, mask, effect),
        Op::StoreMatrix {
            row,
            ref address,
            matrices,
            transpose,
        } => matrix::store(unit, row, address, matrices, transpose, mask, effect),
        Op::Copy {
            ref to,
            ref from,
            bytes,
            bypass,
            fill,
        } => {
            let kept = unit.warp.predicate(fill) & mask;
            let bytes = u32::from(bytes);
            let copy = copy::Copy {
                to,
                from,
                bytes,
                bypass,
                kept,
            };
            copy::copy_to_shared(unit, copy, mask, port, effect)
        }
        Op::Query {
            out,
            row,
            ref address,
            space,
        } => {
            generic::query(unit, out, row, address, space, mask);
            Ok(())
        }
    }
}
