//! Surface accesses: SULD, SUST (`.D`: bytes as they are, `.P`: converted to the surface's format),
//! SURED and SUATOM. Coordinates are those of bytes along x (`.BA`) or of texels; outside the surface an
//! access is dropped and reads zero (`.IGN`), is moved to the edge, or traps (`.TRAP`).

use sass::{Modifier, Opcode, Operand as Printed, Register, UniformRegister};
use source::{Effect, FaultKind, Operation as Access, Space};

use crate::family::atomic_value::{Arithmetic, Function, Type};
use crate::family::texture::{Handle, fixed_handle, no_object, same_handle};
use crate::lanes::{Lanes, lanes_of};
use crate::lower::{Lowered, Reader, refuse};
use crate::memory::access::{Done, Trouble, Unit, note, write_words};
use crate::memory::address::trouble;
use crate::memory::deferred;
use crate::memory::overlay::locate;
use crate::memory::port::{Batch, Port};
use crate::memory::{Size, is_strong};
use crate::texture::TextureTable;
use crate::texture::format::TexelFormat;
use crate::texture::image::{Dimension, Image};
use crate::warp::Warp;

/// What happens outside the surface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outside {
    /// Nothing is stored, zero is read.
    Ignore,
    /// The access moves to the edge.
    Clamp,
    /// A fault.
    Trap,
}

/// Where an access goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// First register of the coordinates; `None` for RZ.
    coordinates: Option<u16>,
    dimension: Dimension,
    layered: bool,
    /// Along x in bytes.
    in_bytes: bool,
    outside: Outside,
    /// A handle in a register has its row here.
    handle: Handle,
    handle_row: u16,
}

/// Lowered surface instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// SULD.D.
    Load {
        place: Place,
        row: Option<u16>,
        size: Size,
        strong: bool,
    },
    /// SUST.D.
    Store {
        place: Place,
        row: Option<u16>,
        size: Size,
        strong: bool,
    },
    /// SUST.P: this many channels of 32 bits each.
    StoreTexel {
        place: Place,
        row: Option<u16>,
        channels: u8,
        strong: bool,
    },
    /// SURED, SUATOM.
    Atomic {
        place: Place,
        row: Option<u16>,
        out: u8,
        operand: Option<u16>,
        second: Option<u16>,
        arithmetic: Arithmetic,
        /// Signed if the surface's channels are.
        by_format: bool,
        reduction: bool,
    },
}

/// Registers that hold the coordinates.
fn coordinate_count(dimension: Dimension, layered: bool) -> u16 {
    dimension.axes() as u16 + u16::from(layered)
}

/// The coordinates: a register in brackets.
fn coordinates(r: &mut Reader<'_>, count: u16) -> Lowered<Option<u16>> {
    let Some(Printed::Memory {
        base,
        uniform,
        offset: 0,
        ..
    }) = r.peek()
    else {
        return refuse("coordinates that are not a register");
    };
    if *uniform != UniformRegister::ZERO {
        return refuse("coordinates in uniform registers");
    }
    r.skip();
    if *base == Register::ZERO {
        Ok(None)
    } else {
        r.rows(*base, count).map(Some)
    }
}

/// The handle: a constant, a uniform register, or a register and its row.
fn handle(r: &mut Reader<'_>) -> Lowered<(Handle, u16)> {
    if let Some(handle) = fixed_handle(r)? {
        return Ok((handle, 0));
    }
    match r.register_source(1)? {
        Some(row) => Ok((Handle::Argument, row)),
        None => refuse("a handle in RZ"),
    }
}

fn operation(r: &Reader<'_>) -> Lowered<(Arithmetic, bool)> {
    use Modifier::*;
    let functions = [
        (ADD, Some(Function::Add)),
        (MIN, Some(Function::Minimum)),
        (MAX, Some(Function::Maximum)),
        (INC, Some(Function::Increment)),
        (DEC, Some(Function::Decrement)),
        (AND, Some(Function::And)),
        (OR, Some(Function::Or)),
        (XOR, Some(Function::Xor)),
        (EXCH, Some(Function::Exchange)),
        (CAS, Some(Function::CompareAndSwap)),
    ];
    let types = [
        (S32, Type::S32),
        (U64, Type::U64),
        (S64, Type::S64),
        (F32, Type::F32),
        (F16x2, Type::F16x2),
        (SD32, Type::U32),
        (SD64, Type::U64),
    ];
    let kind = r.choose(&types, Type::U32);
    match r.choose(&functions, None) {
        Some(function) => Ok((
            Arithmetic {
                function,
                kind,
                elements: 1,
            },
            r.has(SD32) || r.has(SD64),
        )),
        None => refuse("an atomic operation without a function"),
    }
}

/// Lowers a surface instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    const KNOWN: &[Modifier] = {
        use Modifier::*;
        &[
            D, P, BA, N1D, N1D_BUFFER, N1D_ARRAY, N2D, N2D_ARRAY, N3D, EF, EL, LU, EU, NA, U8, S8,
            U16, S16, N64, N128, CONSTANT, STRONG, SM, GPU, SYS, PRIVATE, CTA, MMIO, IGN, TRAP, R,
            RG, ADD, MIN, MAX, INC, DEC, AND, OR, XOR, EXCH, CAS, S32, U64, F32, FTZ, RN, F16x2,
            S64, SD32, SD64,
        ]
    };
    r.only(KNOWN)?;
    let shapes = [
        (N1D, (Dimension::One, false)),
        (N1D_BUFFER, (Dimension::One, false)),
        (N1D_ARRAY, (Dimension::One, true)),
        (N2D, (Dimension::Two, false)),
        (N2D_ARRAY, (Dimension::Two, true)),
        (N3D, (Dimension::Three, false)),
    ];
    let (dimension, layered) = r.choose(&shapes, (Dimension::Two, false));
    let outside = r.choose(
        &[(IGN, Outside::Ignore), (TRAP, Outside::Trap)],
        Outside::Clamp,
    );
    let size = crate::memory::size_of(r);
    let strong = is_strong(r);
    let converts = r.has(P);
    let count = coordinate_count(dimension, layered);
    let place = |coordinates, (handle, handle_row), in_bytes| Place {
        coordinates,
        dimension,
        layered,
        in_bytes,
        outside,
        handle,
        handle_row,
    };
    let in_bytes = r.has(BA);
    match opcode {
        Opcode::SULD => {
            if converts {
                return refuse("a surface load that converts");
            }
            if r.predicate_destination_or_none()? != 7 {
                return refuse("a surface load with a predicate result");
            }
            let row = r.destination_or_none(size.registers())?;
            let at = coordinates(r, count)?;
            Ok(Op::Load {
                place: place(at, handle(r)?, in_bytes),
                row,
                size,
                strong,
            })
        }
        Opcode::SUST => {
            let at = coordinates(r, count)?;
            if converts {
                let channels = r.choose(&[(R, 1), (RG, 2)], 4u8);
                let row = r.register_source(u16::from(channels))?;
                return Ok(Op::StoreTexel {
                    place: place(at, handle(r)?, false),
                    row,
                    channels,
                    strong,
                });
            }
            let row = r.register_source(size.registers())?;
            Ok(Op::Store {
                place: place(at, handle(r)?, in_bytes),
                row,
                size,
                strong,
            })
        }
        _ => {
            let (arithmetic, by_format) = operation(r)?;
            let registers = (arithmetic.kind.bytes() / 4) as u16;
            let reduction = opcode == Opcode::SURED;
            let (out, row) = if reduction {
                (7, None)
            } else {
                (
                    r.predicate_destination()?,
                    r.destination_or_none(registers)?,
                )
            };
            let at = coordinates(r, count)?;
            let swap = arithmetic.function == Function::CompareAndSwap;
            // What is expected and the new value lie side by side.
            let data = r.register_source(if swap { 2 * registers } else { registers })?;
            Ok(Op::Atomic {
                place: place(at, handle(r)?, in_bytes),
                row,
                out,
                operand: data,
                second: data.filter(|_| swap).map(|row| row + registers),
                arithmetic,
                by_format,
                reduction,
            })
        }
    }
}

/// The addresses of an access and the lanes that are inside.
struct Found {
    inside: u32,
    addresses: [u64; 32],
}

/// Why a lane's access is outside.
struct Beyond;

impl Place {
    /// Calls `each(image, lanes)` for the lanes of each handle.
    fn by_surface<'t>(
        &self,
        warp: &Warp,
        table: &'t TextureTable,
        mask: u32,
        mut each: impl FnMut(&'t Image, u32) -> Done,
    ) -> Done {
        let handles = match self.handle {
            Handle::Fixed(operand) => warp.fetch(operand),
            Handle::Argument => warp.registers[self.handle_row as usize],
        };
        let mut left = mask;
        while left != 0 {
            let (lanes, handle) = same_handle(&handles, left);
            left &= !lanes;
            let lane = lanes.trailing_zeros() as usize;
            let Some(image) = table.surface(handle) else {
                return trouble(lane, no_object("surface", handle));
            };
            if let Some(reason) = self.misfit(image) {
                return trouble(lane, FaultKind::Texture(reason));
            }
            each(image, lanes)?;
        }
        Ok(())
    }

    /// Why the instruction cannot access this surface, if it cannot. A cube is its faces.
    fn misfit(&self, image: &Image) -> Option<String> {
        let shape = image.shape();
        let (dimension, layered) = match shape.dimension {
            Dimension::Cube => (Dimension::Two, true),
            other => (other, shape.layers.is_some()),
        };
        if (dimension, layered) == (self.dimension, self.layered) {
            return None;
        }
        let kind = |dimension: Dimension, layered: bool| {
            format!(
                "{}{}",
                dimension.name(),
                if layered { " layered" } else { "" }
            )
        };
        Some(format!(
            "surface `{}` is {}, the instruction's is {}",
            image.name(),
            kind(dimension, layered),
            kind(self.dimension, self.layered)
        ))
    }

    /// Address of `bytes` bytes at the coordinates of a lane; `None` if it has no access.
    fn address(
        &self,
        warp: &Warp,
        image: &Image,
        lane: usize,
        bytes: u32,
    ) -> Result<Option<u64>, Box<Trouble>> {
        let coordinate = |index: u32| match self.coordinates {
            Some(row) => i64::from(warp.registers[row as usize + index as usize][lane] as i32),
            None => 0,
        };
        let axes = self.dimension.axes();
        let texel = i64::from(image.format().bytes());
        let extent = image.extent(0);
        let width = i64::from(extent[0]) * texel;
        let x = if self.in_bytes {
            coordinate(0)
        } else {
            coordinate(0).saturating_mul(texel)
        };
        let misaligned = x.rem_euclid(i64::from(bytes)) != 0;
        let within = |value: i64, size: i64, last: i64| -> Result<u64, Beyond> {
            if (0..=last).contains(&value) {
                Ok(value as u64)
            } else if self.outside == Outside::Clamp && size > 0 && last >= 0 {
                Ok(value.clamp(0, last) as u64)
            } else {
                Err(Beyond)
            }
        };
        let all = (|| {
            let byte = within(x, width, width - i64::from(bytes))?;
            let mut others = [0; 2];
            for axis in 1..axes {
                let size = i64::from(extent[axis as usize]);
                others[axis as usize - 1] = within(coordinate(axis), size, size - 1)?;
            }
            let slots = i64::from(image.shape().slots());
            let slot = if self.layered {
                within(coordinate(axes), slots, slots - 1)? as u32
            } else {
                0
            };
            Ok(image.byte_address(0, slot, [byte, others[0], others[1]]))
        })();
        let count = axes + u32::from(self.layered);
        let described = || {
            let list: Vec<String> = (0..count)
                .map(|index| coordinate(index).to_string())
                .collect();
            let [width, height, depth] = extent;
            let unit = if self.in_bytes { "byte x" } else { "x" };
            format!(
                "at ({}), x being {unit}, of surface `{}` of {width} x {height} x {depth} texels of {texel} bytes, {} layers",
                list.join(", "),
                image.name(),
                image.shape().slots()
            )
        };
        match all {
            Ok(_) if misaligned => trouble(
                lane,
                FaultKind::Texture(format!(
                    "{bytes} bytes that are not aligned {}",
                    described()
                )),
            ),
            Ok(address) => Ok(Some(address)),
            Err(Beyond) if self.outside == Outside::Trap => trouble(
                lane,
                FaultKind::Texture(format!("{bytes} bytes outside, {}", described())),
            ),
            Err(Beyond) => Ok(None),
        }
    }

    /// The addresses of all lanes, put into the effect.
    fn find(
        &self,
        warp: &Warp,
        image: &Image,
        lanes: u32,
        bytes: u32,
    ) -> Result<Found, Box<Trouble>> {
        let mut found = Found {
            inside: 0,
            addresses: [0; 32],
        };
        for lane in lanes_of(lanes) {
            if let Some(address) = self.address(warp, image, lane, bytes)? {
                found.addresses[lane] = address;
                found.inside |= 1 << lane;
            }
        }
        Ok(found)
    }
}

/// Executes a surface instruction in the lanes of `mask`.
///
/// # Errors
/// A handle that names no such surface, an access outside one, or a misaligned one.
pub(crate) fn execute<P: Port>(
    op: &Op,
    unit: &mut Unit<'_>,
    table: &TextureTable,
    mask: u32,
    port: &mut P,
    effect: &mut Effect,
) -> Done {
    match *op {
        Op::Load {
            place,
            row,
            size,
            strong,
        } => {
            let bytes = u32::from(size.bytes);
            let found = all(unit, &place, table, mask, |_| bytes)?;
            let Found { inside, addresses } = found.0;
            // What is outside reads zero.
            for words in unit.words.iter_mut() {
                words.blend(&Lanes::ZERO, mask);
            }
            begin(effect, Access::Load, &addresses, inside, bytes);
            let mut now = mask;
            if inside != 0 {
                let batch = batch(port, &addresses, inside, bytes);
                if strong || port.must_defer(&batch) {
                    let signed = size.signed;
                    let kind = deferred::Kind::Load { signed };
                    fill(unit, kind, &addresses, inside, bytes, row);
                    effect.access.deferred = port.defer(unit.operation);
                    effect.access.bypass = true;
                    if effect.access.deferred.is_some() {
                        now &= !inside;
                    } else {
                        let results = port.perform(unit.operation);
                        for (word, result) in unit.words.iter_mut().zip(&results) {
                            word.blend(result, inside);
                        }
                    }
                } else {
                    port.load(&batch, unit.words);
                }
            }
            if let Some(row) = row {
                deferred::extend(&mut unit.words[0], bytes, size.signed);
                write_words(unit.warp, row, unit.words, bytes, now);
            }
            Ok(())
        }
        Op::Store {
            place,
            row,
            size,
            strong,
        } => {
            let bytes = u32::from(size.bytes);
            let found = all(unit, &place, table, mask, |_| bytes)?;
            data(unit, row, bytes.div_ceil(4));
            store(unit, &found.0, bytes, strong, port, effect);
            Ok(())
        }
        Op::StoreTexel {
            place,
            row,
            channels,
            strong,
        } => {
            let written = |format: TexelFormat| TexelFormat {
                channels: format.channels.min(u32::from(channels)),
                ..format
            };
            let (found, format) = all(unit, &place, table, mask, |image| {
                written(image.format()).bytes()
            })?;
            let Some(format) = format else {
                return trouble(
                    mask.trailing_zeros() as usize,
                    FaultKind::Unsupported(
                        "a formatted store to surfaces of several formats at once".to_owned(),
                    ),
                );
            };
            let format = written(format);
            data(unit, row, u32::from(channels));
            for lane in lanes_of(found.inside) {
                let mut texel = [0; 4];
                for channel in 0..format.channels {
                    let value = unit.words[channel as usize][lane];
                    format.put_channel(&mut texel, channel, value);
                }
                for (word, value) in unit.words.iter_mut().zip(texel) {
                    word[lane] = value;
                }
            }
            store(unit, &found, format.bytes(), strong, port, effect);
            Ok(())
        }
        Op::Atomic {
            place,
            row,
            out,
            operand,
            second,
            mut arithmetic,
            by_format,
            reduction,
        } => {
            let bytes = arithmetic.kind.bytes();
            let (Found { inside, addresses }, format) = all(unit, &place, table, mask, |_| bytes)?;
            if by_format && format.is_some_and(|format| format.channel.is_signed()) {
                arithmetic.kind = if bytes == 8 { Type::S64 } else { Type::S32 };
            }
            let kind = if reduction {
                Access::Reduction
            } else {
                Access::Atomic
            };
            begin(effect, kind, &addresses, inside, bytes);
            if out != 7 {
                unit.warp.write_predicate(out, inside, mask);
            }
            if let Some(row) = row {
                write_words(unit.warp, row, &[Lanes::ZERO; 4], bytes, mask & !inside);
            }
            if inside == 0 {
                return Ok(());
            }
            let word = |unit: &Unit<'_>, row: Option<u16>, index: u32| match row {
                Some(row) if 4 * index < bytes => {
                    unit.warp.registers[row as usize + index as usize]
                }
                _ => Lanes::ZERO,
            };
            let operands = [
                word(unit, operand, 0),
                word(unit, operand, 1),
                Lanes::ZERO,
                Lanes::ZERO,
                word(unit, second, 0),
                word(unit, second, 1),
                Lanes::ZERO,
                Lanes::ZERO,
            ];
            fill(
                unit,
                deferred::Kind::Atomic(arithmetic),
                &addresses,
                inside,
                bytes,
                row,
            );
            unit.operation.operands = operands;
            effect.access.bypass = true;
            effect.access.deferred = port.defer(unit.operation);
            if effect.access.deferred.is_none() {
                let results = port.perform(unit.operation);
                if let Some(row) = row {
                    write_words(unit.warp, row, &results, bytes, inside);
                }
            }
            Ok(())
        }
    }
}

/// Addresses of all lanes, whichever surfaces they name, and the format if all have one.
fn all(
    unit: &Unit<'_>,
    place: &Place,
    table: &TextureTable,
    mask: u32,
    bytes: impl Fn(&Image) -> u32,
) -> Result<(Found, Option<TexelFormat>), Box<Trouble>> {
    let mut together = Found {
        inside: 0,
        addresses: [0; 32],
    };
    let mut format = None;
    let mut same = true;
    place.by_surface(unit.warp, table, mask, |image, lanes| {
        let found = place.find(unit.warp, image, lanes, bytes(image))?;
        together.inside |= found.inside;
        for lane in lanes_of(found.inside) {
            together.addresses[lane] = found.addresses[lane];
        }
        same &= *format.get_or_insert(image.format()) == image.format();
        Ok(())
    })?;
    Ok((together, format.filter(|_| same)))
}

/// Notes an access for the timing model.
fn begin(effect: &mut Effect, kind: Access, addresses: &[u64; 32], lanes: u32, bytes: u32) {
    effect.access.addresses = *addresses;
    note(effect, Space::Texture, kind, lanes, bytes);
    effect.accesses = lanes != 0;
}

fn batch<'a, P: Port>(port: &P, addresses: &'a [u64; 32], lanes: u32, bytes: u32) -> Batch<'a> {
    Batch {
        addresses,
        lanes,
        bytes,
        block: locate(port.memory(), addresses, lanes, bytes),
        consecutive: false,
    }
}

/// Puts register data into the unit's words.
fn data(unit: &mut Unit<'_>, row: Option<u16>, count: u32) {
    for (index, word) in unit.words.iter_mut().enumerate().take(count as usize) {
        *word = match row {
            Some(row) => unit.warp.registers[row as usize + index],
            None => Lanes::ZERO,
        };
    }
}

/// Fills the operation that may be deferred.
fn fill(
    unit: &mut Unit<'_>,
    kind: deferred::Kind,
    addresses: &[u64; 32],
    lanes: u32,
    bytes: u32,
    row: Option<u16>,
) {
    let operation = &mut *unit.operation;
    operation.kind = kind;
    operation.lanes = lanes;
    operation.bytes = bytes;
    operation.addresses = *addresses;
    operation.row = row;
}

/// Stores the unit's words.
fn store<P: Port>(
    unit: &mut Unit<'_>,
    found: &Found,
    bytes: u32,
    strong: bool,
    port: &mut P,
    effect: &mut Effect,
) {
    let Found { inside, addresses } = found;
    begin(effect, Access::Store, addresses, *inside, bytes);
    if *inside == 0 {
        return;
    }
    let batch = batch(port, addresses, *inside, bytes);
    if strong || port.must_defer(&batch) {
        fill(unit, deferred::Kind::Store, addresses, *inside, bytes, None);
        unit.operation.operands[..4].copy_from_slice(&*unit.words);
        effect.access.deferred = port.defer(unit.operation);
        effect.access.bypass = true;
        if effect.access.deferred.is_none() {
            port.perform(unit.operation);
        }
    } else {
        port.store(&batch, unit.words);
    }
}
