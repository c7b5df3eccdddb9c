//! LD, LDG, LDL, LDS and their stores: data between registers and the spaces.

use source::{Effect, Operation as Kind, Space};

use crate::lanes::{Lanes, lanes_of};
use crate::lower::Address;
use crate::memory::access::{Done, Unit, note, write_words};
use crate::memory::address::{Resolved, check_global, check_offsets, interleave, resolved};
use crate::memory::deferred::{self, extend};
use crate::memory::generic::Spaces;
use crate::memory::local::LocalMemory;
use crate::memory::port::Port;
use crate::memory::{Named, Size};

/// The operands of a load or store.
#[derive(Clone, Copy)]
pub(crate) struct Transfer<'a> {
    pub(crate) space: Named,
    /// First register of the data; `None` for RZ.
    pub(crate) row: Option<u16>,
    pub(crate) address: &'a Address,
    pub(crate) size: Size,
    /// Ordered at the GPU or beyond.
    pub(crate) strong: bool,
}

fn space_of(spaces: Spaces) -> Space {
    if spaces.global != 0 || spaces.shared | spaces.local == 0 {
        Space::Global
    } else if spaces.shared != 0 {
        Space::Shared
    } else {
        Space::Local
    }
}

/// Notes the part of an access that goes to one space.
#[inline(always)]
fn finish(local: &LocalMemory, spaces: Spaces, kind: Kind, bytes: u32, effect: &mut Effect) {
    let space = space_of(spaces);
    let lanes = match space {
        Space::Global => spaces.global,
        Space::Shared => spaces.shared,
        _ => spaces.local,
    };
    if spaces.local != 0 {
        interleave(local, &mut effect.access.addresses, spaces.local);
    }
    note(effect, space, kind, lanes, bytes);
}

/// Executes a load in the lanes of `mask`.
#[inline(always)]
pub(crate) fn load<P: Port>(
    unit: &mut Unit<'_>,
    transfer: Transfer<'_>,
    mask: u32,
    port: &mut P,
    effect: &mut Effect,
) -> Done {
    let Transfer {
        space,
        row,
        address,
        size,
        strong,
    } = transfer;
    let bytes = u32::from(size.bytes);
    let to = &mut effect.access.addresses;
    let Resolved { spaces, survey } =
        resolved(unit.host, unit.warp, space, address, bytes, mask, to);
    let addresses = &effect.access.addresses;
    if spaces.shared != 0 {
        let limit = unit.shared.len();
        check_offsets(addresses, spaces.shared, survey, bytes, limit, "shared")?;
        unit.shared
            .load(addresses, spaces.shared, survey, bytes, unit.words);
    }
    if spaces.local != 0 {
        check_offsets(
            addresses,
            spaces.local,
            survey,
            bytes,
            unit.local.len(),
            "local",
        )?;
        unit.local.load(addresses, spaces.local, bytes, unit.words);
    }
    let mut token = None;
    let mut now = mask;
    if spaces.global != 0 {
        let batch = check_global(port, addresses, spaces.global, survey, bytes)?;
        if strong || port.must_defer(&batch) {
            let operation = &mut *unit.operation;
            operation.kind = deferred::Kind::Load {
                signed: size.signed,
            };
            operation.lanes = spaces.global;
            operation.bytes = bytes;
            operation.addresses = *addresses;
            operation.row = row;
            token = port.defer(operation);
            if token.is_none() {
                let results = port.perform(operation);
                for (word, result) in unit.words.iter_mut().zip(&results) {
                    word.blend(result, spaces.global);
                }
            } else {
                now &= !spaces.global;
            }
        } else {
            port.load(&batch, unit.words);
        }
    }
    if let Some(row) = row {
        extend(&mut unit.words[0], bytes, size.signed);
        write_words(unit.warp, row, unit.words, bytes, now);
    }
    finish(unit.local, spaces, Kind::Load, bytes, effect);
    effect.access.deferred = token;
    effect.access.bypass = strong || token.is_some();
    Ok(())
}

/// Executes a store in the lanes of `mask`.
#[inline(always)]
pub(crate) fn store<P: Port>(
    unit: &mut Unit<'_>,
    transfer: Transfer<'_>,
    mask: u32,
    port: &mut P,
    effect: &mut Effect,
) -> Done {
    let Transfer {
        space,
        row,
        address,
        size,
        strong,
    } = transfer;
    let bytes = u32::from(size.bytes);
    let to = &mut effect.access.addresses;
    let Resolved { spaces, survey } =
        resolved(unit.host, unit.warp, space, address, bytes, mask, to);
    let addresses = &effect.access.addresses;
    let count = bytes.div_ceil(4) as usize;
    for (index, word) in unit.words.iter_mut().enumerate().take(count) {
        *word = match row {
            Some(row) => unit.warp.registers[row as usize + index],
            None => Lanes::ZERO,
        };
    }
    if spaces.shared != 0 {
        let limit = unit.shared.len();
        check_offsets(addresses, spaces.shared, survey, bytes, limit, "shared")?;
        unit.shared
            .store(addresses, spaces.shared, survey, bytes, unit.words);
    }
    if spaces.local != 0 {
        check_offsets(
            addresses,
            spaces.local,
            survey,
            bytes,
            unit.local.len(),
            "local",
        )?;
        unit.local.store(addresses, spaces.local, bytes, unit.words);
    }
    let mut token = None;
    if spaces.global != 0 {
        let batch = check_global(port, addresses, spaces.global, survey, bytes)?;
        if strong || port.must_defer(&batch) {
            let operation = &mut *unit.operation;
            operation.kind = deferred::Kind::Store;
            operation.lanes = spaces.global;
            operation.bytes = bytes;
            operation.addresses = *addresses;
            operation.operands[..4].copy_from_slice(&*unit.words);
            operation.row = None;
            token = port.defer(operation);
            if token.is_none() {
                port.perform(operation);
            }
        } else {
            port.store(&batch, unit.words);
        }
    }
    finish(unit.local, spaces, Kind::Store, bytes, effect);
    effect.access.deferred = token;
    effect.access.bypass = strong || token.is_some();
    Ok(())
}

/// Words of narrow local data.
impl LocalMemory {
    /// Reads each lane's bytes.
    fn load(&self, offsets: &[u64; 32], lanes: u32, bytes: u32, words: &mut [Lanes; 4]) {
        for lane in lanes_of(lanes) {
            let offset = offsets[lane] as u32;
            if bytes >= 4 {
                for index in 0..bytes / 4 {
                    words[index as usize][lane] = self.word(offset + 4 * index, lane);
                }
            } else {
                let word = self.word(offset, lane) >> (8 * (offset % 4));
                words[0][lane] = word & ((1 << (8 * bytes)) - 1);
            }
        }
    }

    /// Writes each lane's bytes.
    fn store(&mut self, offsets: &[u64; 32], lanes: u32, bytes: u32, words: &[Lanes; 4]) {
        for lane in lanes_of(lanes) {
            let offset = offsets[lane] as u32;
            if bytes >= 4 {
                for index in 0..bytes / 4 {
                    self.write(
                        offset + 4 * index,
                        lane,
                        words[index as usize][lane],
                        u32::MAX,
                    );
                }
            } else {
                let shift = 8 * (offset % 4);
                let bits = ((1u32 << (8 * bytes)) - 1) << shift;
                self.write(offset, lane, words[0][lane] << shift, bits);
            }
        }
    }
}
