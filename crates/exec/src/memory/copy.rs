//! LDGSTS: copies from device memory to shared memory without passing through registers.

use source::{Effect, Operation as Kind, Space};

use crate::lanes::{Lanes, lanes_of};
use crate::lower::Address;
use crate::memory::access::{Done, Unit, note};
use crate::memory::address::{check_global, check_offsets, survey};
use crate::memory::deferred;
use crate::memory::port::Port;
use crate::memory::shared::SharedMemory;

/// The operands of a copy.
#[derive(Clone, Copy)]
pub(crate) struct Copy<'a> {
    pub(crate) to: &'a Address,
    pub(crate) from: &'a Address,
    pub(crate) bytes: u32,
    /// Past L1.
    pub(crate) bypass: bool,
    /// Lanes that copy; the others that take part write zeros.
    pub(crate) kept: u32,
}

/// Executes LDGSTS in the lanes of `mask`.
pub(crate) fn copy_to_shared<P: Port>(
    unit: &mut Unit<'_>,
    copy: Copy<'_>,
    mask: u32,
    port: &mut P,
    effect: &mut Effect,
) -> Done {
    let Copy {
        to,
        from,
        bytes,
        bypass,
        kept,
    } = copy;
    let mut targets = [0; 32];
    let found = survey(unit.host, unit.warp, to, false, bytes, mask, &mut targets);
    check_offsets(
        &targets,
        mask,
        Some(found),
        bytes,
        unit.shared.len(),
        "shared",
    )?;
    for (offset, &target) in effect.access.shared.iter_mut().zip(&targets) {
        *offset = target as u32;
    }
    let addresses = &mut effect.access.addresses;
    let found = survey(unit.host, unit.warp, from, true, bytes, kept, addresses);
    put(
        unit.shared,
        &effect.access.shared,
        mask & !kept,
        bytes,
        &[Lanes::ZERO; 4],
    );
    let mut token = None;
    if kept != 0 {
        let batch = check_global(port, &effect.access.addresses, kept, Some(found), bytes)?;
        if port.must_defer(&batch) {
            let operation = &mut *unit.operation;
            operation.kind = deferred::Kind::CopyToShared;
            operation.lanes = kept;
            operation.bytes = bytes;
            operation.addresses = effect.access.addresses;
            operation.shared = effect.access.shared;
            operation.row = None;
            token = port.defer(operation);
        } else {
            port.load(&batch, unit.words);
            put(unit.shared, &effect.access.shared, kept, bytes, unit.words);
        }
    }
    note(effect, Space::Global, Kind::CopyToShared, kept, bytes);
    effect.access.bypass = bypass || token.is_some();
    effect.access.deferred = token;
    Ok(())
}

/// Writes each lane's words to shared memory.
pub(crate) fn put(
    shared: &mut SharedMemory,
    offsets: &[u32; 32],
    lanes: u32,
    bytes: u32,
    words: &[Lanes; 4],
) {
    for lane in lanes_of(lanes) {
        for index in 0..bytes / 4 {
            shared.write(
                offsets[lane] + 4 * index,
                &words[index as usize][lane].to_le_bytes(),
            );
        }
    }
}
