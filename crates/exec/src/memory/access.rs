//! What load and store instructions do: addresses, bounds and alignment, the data, and what the
//! timing model must know of them.

use source::{Access, Effect, FaultKind, Operation as Kind, Space};

use crate::constant::Banks;
use crate::lanes::{Lanes, lanes_of, mask_of};
use crate::lower::Address;
use crate::memory::deferred::{self, Operation, extend};
use crate::memory::generic::{self, Spaces};
use crate::memory::local::LocalMemory;
use crate::memory::overlay::locate;
use crate::memory::port::{Batch, Port, to_words};
use crate::memory::shared::SharedMemory;
use crate::memory::{ConstantMode, Named, Op, Size};
use crate::micro::Operand;
use crate::warp::Warp;

/// What one warp's instruction works on.
pub(crate) struct Unit<'a> {
    pub(crate) warp: &'a mut Warp,
    pub(crate) shared: &'a mut SharedMemory,
    pub(crate) local: &'a mut LocalMemory,
    pub(crate) banks: &'a Banks,
    /// Space for an operation that may be deferred.
    pub(crate) operation: &'a mut Operation,
}

/// A fault with the lane at fault.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Trouble {
    pub(crate) lane: Option<u8>,
    pub(crate) kind: FaultKind,
}

/// Result of executing.
pub(crate) type Done = Result<(), Box<Trouble>>;

fn trouble<T>(lane: usize, kind: FaultKind) -> Result<T, Box<Trouble>> {
    Err(Box::new(Trouble {
        lane: Some(lane as u8),
        kind,
    }))
}

/// 64-bit addresses of all lanes.
#[inline(always)]
pub(crate) fn addresses_wide(warp: &Warp, address: &Address, result: &mut [u64; 32]) {
    let mut added = address.offset as i64 as u64;
    if address.uniform != 63 {
        let number = address.uniform as usize & 63;
        added = added.wrapping_add(u64::from(warp.uniforms[number]));
        if address.uniform_wide {
            added = added.wrapping_add(u64::from(warp.uniforms[(number + 1) & 63]) << 32);
        }
    }
    match address.base {
        Operand::Register(row) if address.wide => {
            let low = &warp.registers[row as usize];
            let high = &warp.registers[row as usize + 1];
            let mut lane = 0;
            while lane < 32 {
                result[lane] =
                    (u64::from(high[lane]) << 32 | u64::from(low[lane])).wrapping_add(added);
                lane += 1;
            }
        }
        Operand::Register(row) => {
            let low = &warp.registers[row as usize];
            let mut lane = 0;
            while lane < 32 {
                result[lane] = (u64::from(low[lane]) << address.scale).wrapping_add(added);
                lane += 1;
            }
        }
        _ => result.fill(added),
    }
}

/// 32-bit addresses of all lanes, wrapping, as shared and local memory have them.
#[inline(always)]
pub(crate) fn addresses_narrow(warp: &Warp, address: &Address, result: &mut [u64; 32]) {
    let mut added = address.offset as u32;
    if address.uniform != 63 {
        added = added.wrapping_add(warp.uniforms[address.uniform as usize & 63]);
    }
    match address.base {
        Operand::Register(row) => {
            let base = &warp.registers[row as usize];
            let mut lane = 0;
            while lane < 32 {
                result[lane] = u64::from((base[lane] << address.scale).wrapping_add(added));
                lane += 1;
            }
        }
        _ => result.fill(u64::from(added)),
    }
}

/// Checks alignment.
#[inline(always)]
fn aligned(addresses: &[u64; 32], mask: u32, bytes: u32, space: &'static str) -> Done {
    let low = u64::from(bytes) - 1;
    let mut any = 0;
    let mut lane = 0;
    while lane < 32 {
        let taken = 0u64.wrapping_sub(u64::from(mask >> lane & 1));
        any |= addresses[lane] & low & taken;
        lane += 1;
    }
    if any == 0 {
        Ok(())
    } else {
        misaligned(addresses, mask, bytes, space)
    }
}

#[cold]
fn misaligned(addresses: &[u64; 32], mask: u32, bytes: u32, space: &'static str) -> Done {
    for lane in lanes_of(mask) {
        let address = addresses[lane];
        if !address.is_multiple_of(u64::from(bytes)) {
            return trouble(
                lane,
                FaultKind::Misaligned {
                    space,
                    address,
                    bytes,
                },
            );
        }
    }
    Ok(())
}

/// Checks that all lanes lie below `limit`.
#[inline(always)]
fn inside(addresses: &[u64; 32], mask: u32, bytes: u32, limit: u32, space: &'static str) -> Done {
    let last = u64::from(limit).checked_sub(u64::from(bytes));
    let mut highest = 0;
    let mut lane = 0;
    while lane < 32 {
        let taken = 0u64.wrapping_sub(u64::from(mask >> lane & 1));
        highest = highest.max(addresses[lane] & taken);
        lane += 1;
    }
    if last.is_some_and(|last| highest <= last) {
        return Ok(());
    }
    outside(addresses, mask, bytes, limit, space)
}

#[cold]
fn outside(addresses: &[u64; 32], mask: u32, bytes: u32, limit: u32, space: &'static str) -> Done {
    for lane in lanes_of(mask) {
        let address = addresses[lane];
        if address + u64::from(bytes) > u64::from(limit) {
            let nearest = Some(match (limit, space) {
                (0, "local") => "the kernel has no local memory".to_owned(),
                (0, _) => "the block has no shared memory".to_owned(),
                (_, "local") => format!("each thread has {limit} bytes"),
                _ => format!("the block has {limit} bytes"),
            });
            return trouble(
                lane,
                FaultKind::OutOfBounds {
                    space,
                    address,
                    bytes,
                    nearest,
                },
            );
        }
    }
    Ok(())
}

/// Checks addresses of device memory; the block that holds them.
#[inline(always)]
pub(crate) fn check_global<'a, P: Port>(
    port: &P,
    addresses: &'a [u64; 32],
    lanes: u32,
    bytes: u32,
) -> Result<Batch<'a>, Box<Trouble>> {
    aligned(addresses, lanes, bytes, "global")?;
    let block = locate(port.memory(), addresses, lanes, bytes);
    if block.is_none() {
        each_allocated(port, addresses, lanes, bytes)?;
    }
    Ok(Batch {
        addresses,
        lanes,
        bytes,
        block,
    })
}

#[inline(never)]
fn each_allocated<P: Port>(port: &P, addresses: &[u64; 32], lanes: u32, bytes: u32) -> Done {
    let mut hint = 0;
    for lane in lanes_of(lanes) {
        let address = addresses[lane];
        match port.memory().find(address, u64::from(bytes), hint) {
            Some(place) => hint = place.allocation(),
            None => {
                let nearest = Some(port.memory().nearest(address));
                return trouble(
                    lane,
                    FaultKind::OutOfBounds {
                        space: "global",
                        address,
                        bytes,
                        nearest,
                    },
                );
            }
        }
    }
    Ok(())
}

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
        } => load(unit, space, row, address, size, strong, mask, port, effect),
        Op::Store {
            space,
            row,
            ref address,
            size,
            strong,
        } => store(unit, space, row, address, size, strong, mask, port, effect),
        Op::LoadConstant {
            row,
            uniform,
            bank,
            index,
            offset,
            size,
            mode,
        } => load_constant(
            unit, row, uniform, bank, index, offset, size, mode, mask, effect,
        ),
        Op::LoadMatrix {
            row,
            ref address,
            matrices,
            transpose,
        } => load_matrix(unit, row, address, matrices, transpose, mask, effect),
        Op::Copy {
            ref to,
            ref from,
            bytes,
            bypass,
            fill,
        } => {
            let kept = unit.warp.predicate(fill) & mask;
            copy_to_shared(
                unit,
                to,
                from,
                u32::from(bytes),
                bypass,
                kept,
                mask,
                port,
                effect,
            )
        }
        Op::Query {
            out,
            row,
            ref address,
            space,
        } => {
            query(unit, out, row, address, space, mask);
            Ok(())
        }
    }
}

/// Addresses of an access into `effect`, sorted by space.
#[inline(always)]
fn resolve(warp: &Warp, space: Named, address: &Address, mask: u32, to: &mut [u64; 32]) -> Spaces {
    let none = Spaces {
        global: 0,
        shared: 0,
        local: 0,
    };
    match space {
        Named::Global => {
            addresses_wide(warp, address, to);
            Spaces {
                global: mask,
                ..none
            }
        }
        Named::Shared => {
            addresses_narrow(warp, address, to);
            Spaces {
                shared: mask,
                ..none
            }
        }
        Named::Local => {
            addresses_narrow(warp, address, to);
            // The window has 24 bits.
            for address in to.iter_mut() {
                *address &= generic::WINDOW - 1;
            }
            Spaces {
                local: mask,
                ..none
            }
        }
        Named::Generic => {
            addresses_wide(warp, address, to);
            generic::resolve(to, mask)
        }
    }
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

/// Replaces local offsets by device addresses.
fn interleave(local: &LocalMemory, addresses: &mut [u64; 32], lanes: u32) {
    for lane in lanes_of(lanes) {
        addresses[lane] = local.device_address(addresses[lane] as u32, lane);
    }
}

/// Writes result words to registers.
#[inline(always)]
pub(crate) fn write_words(warp: &mut Warp, row: u16, words: &[Lanes; 4], bytes: u32, mask: u32) {
    let count = bytes.div_ceil(4) as usize;
    for (index, lanes) in words.iter().enumerate().take(count) {
        warp.write(row + index as u16, lanes, mask);
    }
}

#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn load<P: Port>(
    unit: &mut Unit<'_>,
    space: Named,
    row: Option<u16>,
    address: &Address,
    size: Size,
    strong: bool,
    mask: u32,
    port: &mut P,
    effect: &mut Effect,
) -> Done {
    let bytes = u32::from(size.bytes);
    let spaces = resolve(
        unit.warp,
        space,
        address,
        mask,
        &mut effect.access.addresses,
    );
    let mut words = [Lanes::ZERO; 4];
    if spaces.shared != 0 {
        let offsets = &effect.access.addresses;
        aligned(offsets, spaces.shared, bytes, "shared")?;
        inside(offsets, spaces.shared, bytes, unit.shared.len(), "shared")?;
        load_shared(unit.shared, offsets, spaces.shared, bytes, &mut words);
    }
    if spaces.local != 0 {
        let offsets = &effect.access.addresses;
        aligned(offsets, spaces.local, bytes, "local")?;
        inside(offsets, spaces.local, bytes, unit.local.len(), "local")?;
        for lane in lanes_of(spaces.local) {
            let offset = offsets[lane] as u32;
            if bytes >= 4 {
                for index in 0..bytes / 4 {
                    words[index as usize][lane] = unit.local.word(offset + 4 * index, lane);
                }
            } else {
                let word = unit.local.word(offset, lane) >> (8 * (offset % 4));
                words[0][lane] = word & ((1 << (8 * bytes)) - 1);
            }
        }
    }
    let mut token = None;
    let mut now = mask;
    if spaces.global != 0 {
        let batch = check_global(port, &effect.access.addresses, spaces.global, bytes)?;
        if strong || port.must_defer(&batch) {
            let operation = &mut *unit.operation;
            operation.kind = deferred::Kind::Load {
                signed: size.signed,
            };
            operation.lanes = spaces.global;
            operation.bytes = bytes;
            operation.addresses = effect.access.addresses;
            operation.row = row;
            token = port.defer(operation);
            if token.is_none() {
                let results = port.perform(operation);
                for (word, result) in words.iter_mut().zip(&results) {
                    word.blend(result, spaces.global);
                }
            } else {
                now &= !spaces.global;
            }
        } else {
            port.load(&batch, &mut words);
        }
    }
    if let Some(row) = row {
        extend(&mut words[0], bytes, size.signed);
        write_words(unit.warp, row, &words, bytes, now);
    }
    finish_access(unit.local, spaces, Kind::Load, bytes, effect);
    effect.access.deferred = token;
    effect.access.bypass = strong || token.is_some();
    Ok(())
}

/// Notes the part of an access that goes to one space.
#[inline(always)]
fn finish_access(
    local: &LocalMemory,
    spaces: Spaces,
    operation: Kind,
    bytes: u32,
    effect: &mut Effect,
) {
    let space = space_of(spaces);
    let lanes = match space {
        Space::Global if spaces.global == 0 => 0,
        Space::Global => spaces.global,
        Space::Shared => spaces.shared,
        _ => spaces.local,
    };
    if spaces.local != 0 {
        interleave(local, &mut effect.access.addresses, spaces.local);
    }
    note(effect, space, operation, lanes, bytes);
}

#[inline(always)]
fn load_shared(
    shared: &SharedMemory,
    offsets: &[u64; 32],
    lanes: u32,
    bytes: u32,
    words: &mut [Lanes; 4],
) {
    match bytes {
        1 => {
            for lane in lanes_of(lanes) {
                words[0][lane] = u32::from(shared.read::<1>(offsets[lane] as u32)[0]);
            }
        }
        2 => {
            for lane in lanes_of(lanes) {
                words[0][lane] =
                    u32::from(u16::from_le_bytes(shared.read::<2>(offsets[lane] as u32)));
            }
        }
        _ => {
            for (index, word) in words.iter_mut().enumerate().take(bytes as usize / 4) {
                *word = shared.gather_words(offsets, lanes, index as u32);
            }
        }
    }
}

#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn store<P: Port>(
    unit: &mut Unit<'_>,
    space: Named,
    row: Option<u16>,
    address: &Address,
    size: Size,
    strong: bool,
    mask: u32,
    port: &mut P,
    effect: &mut Effect,
) -> Done {
    let bytes = u32::from(size.bytes);
    let spaces = resolve(
        unit.warp,
        space,
        address,
        mask,
        &mut effect.access.addresses,
    );
    let count = bytes.div_ceil(4) as usize;
    let mut words = [Lanes::ZERO; 4];
    if let Some(row) = row {
        for (index, word) in words.iter_mut().enumerate().take(count) {
            *word = unit.warp.registers[row as usize + index];
        }
    }
    if spaces.shared != 0 {
        let offsets = &effect.access.addresses;
        aligned(offsets, spaces.shared, bytes, "shared")?;
        inside(offsets, spaces.shared, bytes, unit.shared.len(), "shared")?;
        for lane in lanes_of(spaces.shared) {
            let offset = offsets[lane] as u32;
            if bytes >= 4 {
                for (index, word) in words.iter().enumerate().take(count) {
                    unit.shared
                        .write(offset + 4 * index as u32, &word[lane].to_le_bytes());
                }
            } else {
                let word = words[0][lane].to_le_bytes();
                unit.shared.write(offset, &word[..bytes as usize]);
            }
        }
    }
    if spaces.local != 0 {
        let offsets = &effect.access.addresses;
        aligned(offsets, spaces.local, bytes, "local")?;
        inside(offsets, spaces.local, bytes, unit.local.len(), "local")?;
        for lane in lanes_of(spaces.local) {
            let offset = offsets[lane] as u32;
            if bytes >= 4 {
                for (index, word) in words.iter().enumerate().take(count) {
                    unit.local
                        .write(offset + 4 * index as u32, lane, word[lane], u32::MAX);
                }
            } else {
                let shift = 8 * (offset % 4);
                let bits = ((1u32 << (8 * bytes)) - 1) << shift;
                unit.local
                    .write(offset, lane, words[0][lane] << shift, bits);
            }
        }
    }
    let mut token = None;
    if spaces.global != 0 {
        let batch = check_global(port, &effect.access.addresses, spaces.global, bytes)?;
        if strong || port.must_defer(&batch) {
            let operation = &mut *unit.operation;
            operation.kind = deferred::Kind::Store;
            operation.lanes = spaces.global;
            operation.bytes = bytes;
            operation.addresses = effect.access.addresses;
            operation.operands = words;
            operation.row = None;
            token = port.defer(operation);
            if token.is_none() {
                port.perform(operation);
            }
        } else {
            port.store(&batch, &words);
        }
    }
    finish_access(unit.local, spaces, Kind::Store, bytes, effect);
    effect.access.deferred = token;
    effect.access.bypass = strong || token.is_some();
    Ok(())
}

#[allow(clippy::too_many_arguments)]
fn load_constant(
    unit: &mut Unit<'_>,
    row: u16,
    uniform: bool,
    bank: u8,
    index: Operand,
    offset: i32,
    size: Size,
    mode: ConstantMode,
    mask: u32,
    effect: &mut Effect,
) -> Done {
    let bytes = u32::from(size.bytes);
    let index = unit.warp.fetch(index);
    let lanes = if uniform { 1 } else { mask };
    let mut words = [Lanes::ZERO; 4];
    for lane in lanes_of(lanes) {
        let (number, at) = match mode {
            ConstantMode::Linear => (bank, index[lane].wrapping_add(offset as u32)),
            ConstantMode::Indexed => (
                bank.wrapping_add((index[lane] >> 16) as u8),
                (index[lane] & 0xffff).wrapping_add(offset as u32),
            ),
        };
        if at % bytes != 0 {
            let address = u64::from(at);
            return trouble(
                lane,
                FaultKind::Misaligned {
                    space: "constant",
                    address,
                    bytes,
                },
            );
        }
        let Some(value) = unit.banks.read(number, at, bytes) else {
            let nearest = Some(format!(
                "constant bank {number} has {} bytes",
                unit.banks.size(number)
            ));
            return trouble(
                lane,
                FaultKind::OutOfBounds {
                    space: "constant",
                    address: u64::from(at),
                    bytes,
                    nearest,
                },
            );
        };
        words[0][lane] = value as u32;
        words[1][lane] = (value >> 32) as u32;
        effect.access.addresses[lane] = u64::from(number) << 32 | u64::from(at);
    }
    extend(&mut words[0], bytes, size.signed);
    if uniform {
        unit.warp.write_uniform(row as u8, words[0][0]);
        if bytes == 8 && row != 63 {
            unit.warp.write_uniform(row as u8 + 1, words[1][0]);
        }
    } else {
        write_words(unit.warp, row, &words, bytes, mask);
        note(effect, Space::Constant, Kind::Load, mask, bytes);
    }
    Ok(())
}

fn load_matrix(
    unit: &mut Unit<'_>,
    row: u16,
    address: &Address,
    matrices: u8,
    transpose: bool,
    mask: u32,
    effect: &mut Effect,
) -> Done {
    addresses_narrow(unit.warp, address, &mut effect.access.addresses);
    // Lanes 8m to 8m + 7 hold the row addresses of matrix m.
    let rows = 8 * u32::from(matrices);
    let used = if rows >= 32 {
        u32::MAX
    } else {
        (1 << rows) - 1
    };
    let offsets = &effect.access.addresses;
    aligned(offsets, used, 16, "shared")?;
    inside(offsets, used, 16, unit.shared.len(), "shared")?;
    for matrix in 0..usize::from(matrices) {
        let element = |i: usize, j: usize| -> u32 {
            let at = offsets[8 * matrix + i] as u32 + 2 * j as u32;
            u32::from(u16::from_le_bytes(unit.shared.read::<2>(at)))
        };
        let result = if transpose {
            Lanes::from_fn(|lane| {
                let (i, j) = (lane / 4, 2 * (lane % 4));
                element(j, i) | element(j + 1, i) << 16
            })
        } else {
            Lanes::from_fn(|lane| {
                unit.shared
                    .word(offsets[8 * matrix + lane / 4] as u32 + 4 * (lane as u32 % 4))
            })
        };
        unit.warp.write(row + matrix as u16, &result, mask);
    }
    note(effect, Space::Shared, Kind::Load, used, 16);
    Ok(())
}

#[allow(clippy::too_many_arguments)]
fn copy_to_shared<P: Port>(
    unit: &mut Unit<'_>,
    to: &Address,
    from: &Address,
    bytes: u32,
    bypass: bool,
    kept: u32,
    mask: u32,
    port: &mut P,
    effect: &mut Effect,
) -> Done {
    let mut targets = [0; 32];
    addresses_narrow(unit.warp, to, &mut targets);
    aligned(&targets, mask, bytes, "shared")?;
    inside(&targets, mask, bytes, unit.shared.len(), "shared")?;
    for lane in 0..32 {
        effect.access.shared[lane] = targets[lane] as u32;
    }
    addresses_wide(unit.warp, from, &mut effect.access.addresses);
    // Lanes without a source are filled with zeros.
    put(
        unit.shared,
        &effect.access.shared,
        mask & !kept,
        bytes,
        &[Lanes::ZERO; 4],
    );
    let mut token = None;
    if kept != 0 {
        let batch = check_global(port, &effect.access.addresses, kept, bytes)?;
        let mut words = [Lanes::ZERO; 4];
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
            port.load(&batch, &mut words);
            put(unit.shared, &effect.access.shared, kept, bytes, &words);
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

fn query(unit: &mut Unit<'_>, out: u8, row: u16, address: &Address, space: Named, mask: u32) {
    let mut addresses = [0; 32];
    addresses_wide(unit.warp, address, &mut addresses);
    let spaces = generic::resolve(&mut addresses, u32::MAX);
    let set = match space {
        Named::Shared => spaces.shared,
        Named::Local => spaces.local,
        Named::Global | Named::Generic => spaces.global,
    };
    let result = Lanes::from_fn(|lane| set >> lane & 1);
    unit.warp.write(row, &result, mask);
    unit.warp
        .write_predicate(out, mask_of(|lane| set >> lane & 1 == 1), mask);
}

/// Reads up to 8 bytes of shared memory as words.
pub(crate) fn shared_value(shared: &SharedMemory, offset: u32, bytes: u32) -> u64 {
    if bytes == 8 {
        u64::from_le_bytes(shared.read::<8>(offset))
    } else {
        u64::from(to_words(&shared.read::<4>(offset))[0])
    }
}
