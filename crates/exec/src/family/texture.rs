//! Texture fetches: TEX, TXD (sampled), TLD (by index), TLD4 (four texels of one channel), TXQ
//! (extents). How the arguments lie in registers is what the vendor's compiler shows (and MIT-licensed
//! Mesa NAK for the order of all of them).

use sass::{Architecture, Modifier, Opcode, Operand as Printed, Register};
use source::{Effect, FaultKind, Operation as Access, Space};

use crate::lanes::{Lanes, lanes_of};
use crate::lower::{Lowered, Reader, refuse};
use crate::memory::access::{Done, Unit, note};
use crate::memory::address::trouble;
use crate::memory::port::Port;
use crate::micro::Operand;
use crate::rounding::f32_to_half;
use crate::texture::cube::{face_of, on_face};
use crate::texture::image::{Dimension, Image};
use crate::texture::sampler::{Reading, Sampler};
use crate::texture::taps::{Request, slot};
use crate::texture::{TextureTable, level};
use crate::warp::Warp;

/// Where an instruction has its handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Handle {
    /// The same in all lanes: a constant or a uniform register.
    Fixed(Operand),
    /// Among the arguments.
    Argument,
}

/// Arguments in one or two runs of registers; `None` for RZ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arguments {
    first: Option<u16>,
    second: Option<u16>,
    /// How many are in the first run.
    split: u8,
}

/// What a fetch does with its coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// TEX, TXD.
    Sample,
    /// TLD.
    Load,
    /// TLD4: which channel.
    Gather(u8),
}

/// Where the level of detail comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    /// Level 0.
    Zero,
    /// The coordinates of the lanes of a quad.
    Implicit,
    /// That, and an argument to add.
    Bias,
    /// An argument.
    Explicit,
    /// Derivatives among the arguments.
    Gradient,
}

/// A lowered fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fetch {
    kind: Kind,
    dimension: Dimension,
    layered: bool,
    handle: Handle,
    arguments: Arguments,
    level: Level,
    /// A level that is not there counts as the last one (TLD.CL).
    clamp_level: bool,
    offset: bool,
    results: Results,
    /// Predicate that is set where the texels are not resident: nowhere.
    out: u8,
}

/// Where a fetch puts its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Results {
    /// Rows of the first two and the last two components that are wanted.
    lower: u16,
    upper: u16,
    /// Components that are wanted.
    mask: u8,
    /// Two halves in a register.
    halves: bool,
}

/// Lowered texture instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// TEX, TLD, TLD4, TXD.
    Fetch(Fetch),
    /// TXQ: the extents of a level.
    Extents {
        handle: Handle,
        arguments: Arguments,
        results: Results,
    },
}

/// The number that a printed dimension stands for.
fn dimension_of(name: &str) -> Option<(Dimension, bool)> {
    let (plain, layered) = match name.strip_prefix("ARRAY_") {
        Some(plain) => (plain, true),
        None => (name, false),
    };
    let dimension = match plain {
        "1D" => Dimension::One,
        "2D" => Dimension::Two,
        "3D" => Dimension::Three,
        "CUBE" => Dimension::Cube,
        _ => return None,
    };
    Some((dimension, layered))
}

/// Coordinates that an instruction for a dimension takes.
const fn coordinates_of(dimension: Dimension) -> u8 {
    match dimension {
        Dimension::One => 1,
        Dimension::Two => 2,
        Dimension::Three | Dimension::Cube => 3,
    }
}

/// The handle of an instruction if it is a constant or in a uniform register.
pub(crate) fn fixed_handle(r: &mut Reader<'_>) -> Lowered<Option<Handle>> {
    if r.at_immediate() {
        let (bank, word) = (r.immediate()?, r.immediate()?);
        let offset = 4 * word as u32;
        return match r.context.banks.read(bank as u8, offset, 4) {
            Some(value) => Ok(Some(Handle::Fixed(Operand::Scalar(value as u32)))),
            None => refuse(format!("c[{bank:#x}][{offset:#x}] lies outside the bank")),
        };
    }
    if matches!(r.peek(), Some(Printed::UniformRegister { .. })) {
        let handle = r.plain_source()?;
        if r.immediate()? != 0 {
            return refuse("an offset beside a handle in a uniform register");
        }
        return Ok(Some(Handle::Fixed(handle)));
    }
    Ok(None)
}

/// A register operand that is not printed if it is RZ.
fn at_register(r: &Reader<'_>) -> bool {
    matches!(r.peek(), Some(Printed::Register { .. }))
}

/// First register of a run that is as long as will be known later.
fn run(r: &mut Reader<'_>) -> Lowered<Register> {
    match r.peek() {
        Some(Printed::Register { register, .. }) => {
            r.skip();
            Ok(*register)
        }
        _ => refuse("an argument that is not a register"),
    }
}

fn rows(r: &Reader<'_>, first: Register, count: u8) -> Lowered<Option<u16>> {
    if first == Register::ZERO || count == 0 {
        return Ok(None);
    }
    r.rows(first, u16::from(count)).map(Some)
}

fn keyword<'a>(r: &mut Reader<'a>) -> Lowered<&'a str> {
    match r.peek() {
        Some(Printed::Keyword(name)) => {
            r.skip();
            Ok(name)
        }
        _ => refuse("an operand that is not a name"),
    }
}

/// Lowers a texture instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    const KNOWN: &[Modifier] = &[
        SCR, B, F16, RN, LZ, LL, LB, CL, AOFFI, EF, EL, LU, EU, NA, NDV, NODEP, R, G, A,
    ];
    if opcode == Opcode::TMML {
        return refuse("the level of detail as a result");
    }
    r.only(KNOWN)?;
    let out = if opcode == Opcode::TXQ {
        7
    } else {
        r.predicate_destination_or_none()?
    };
    let (upper, lower) = (run(r)?, run(r)?);
    let first = run(r)?;
    if opcode == Opcode::TXQ && keyword(r)? != "TEX_HEADER_DIMENSION" {
        return refuse("a property of a texture other than its extents");
    }
    let second = if at_register(r) {
        run(r)?
    } else {
        Register::ZERO
    };
    let handle = fixed_handle(r)?;
    let letters = r
        .instruction
        .modifiers
        .iter()
        .filter(|modifier| **modifier == B)
        .count();
    // The first letter of TLD4 is its channel.
    let channel = r.choose(&[(R, 0), (G, 1), (B, 2), (A, 3)], 0u8);
    let beside = letters > usize::from(opcode == Opcode::TLD4 && channel == 2);
    if handle.is_some() && beside {
        return refuse("two handles");
    }
    let handle = handle.unwrap_or(Handle::Argument);
    let bound = u8::from(handle == Handle::Argument);
    let shape = if opcode == Opcode::TXQ {
        None
    } else {
        let name = keyword(r)?;
        match dimension_of(name) {
            Some(shape) => Some(shape),
            None => return refuse(format!("textures of dimension {name}")),
        }
    };
    let mask = if r.at_immediate() {
        r.immediate()? as u8 & 15
    } else {
        15
    };
    let halves = r.has(F16);
    let components = mask.count_ones() as u8;
    let registers = if halves {
        components.div_ceil(2)
    } else {
        components
    };
    // Halves take one register on either side.
    let (low, high) = match halves {
        true => (registers.min(1), registers.saturating_sub(1)),
        false => (registers.min(2), registers.saturating_sub(2)),
    };
    let sink = r.context.registers;
    let results = Results {
        lower: rows(r, lower, low)?.unwrap_or(sink),
        upper: rows(r, upper, high)?.unwrap_or(sink),
        mask,
        halves,
    };
    let Some((dimension, layered)) = shape else {
        // A handle among the arguments comes first, then the level.
        let arguments = Arguments {
            first: rows(r, first, 1 + bound)?,
            second: None,
            split: 1 + bound,
        };
        return Ok(Op::Extents {
            handle,
            arguments,
            results,
        });
    };
    let axes = coordinates_of(dimension);
    let offset = r.has(AOFFI);
    let (kind, level) = match opcode {
        Opcode::TEX => (
            Kind::Sample,
            r.choose(
                &[(LZ, Level::Zero), (LL, Level::Explicit), (LB, Level::Bias)],
                Level::Implicit,
            ),
        ),
        Opcode::TXD => (Kind::Sample, Level::Gradient),
        Opcode::TLD => (
            Kind::Load,
            r.choose(&[(LZ, Level::Zero), (LL, Level::Explicit)], Level::Zero),
        ),
        _ => (Kind::Gather(channel), Level::Zero),
    };
    if opcode == Opcode::TXD && dimension.axes() == 3 || dimension == Dimension::Cube && offset {
        return refuse("a dimension that the instruction does not have");
    }
    let layer = u8::from(layered);
    let with_level = u8::from(matches!(level, Level::Explicit | Level::Bias));
    let (coordinates, further) = match opcode {
        Opcode::TXD => (bound + axes + layer.max(u8::from(offset)), 2 * axes),
        _ => (layer + axes, bound + with_level + u8::from(offset)),
    };
    let all = coordinates + further;
    let split = if r.has(SCR) {
        all.div_ceil(2)
    } else {
        coordinates
    };
    Ok(Op::Fetch(Fetch {
        kind,
        dimension,
        layered,
        handle,
        arguments: Arguments {
            first: rows(r, first, split)?,
            second: rows(r, second, all - split)?,
            split,
        },
        level,
        clamp_level: r.has(CL),
        offset,
        results,
        out,
    }))
}

impl Arguments {
    /// Argument `index`.
    #[inline]
    fn get(self, warp: &Warp, index: u8, lane: usize) -> u32 {
        let (run, index) = if index < self.split {
            (self.first, index)
        } else {
            (self.second, index - self.split)
        };
        match run {
            Some(row) => warp.registers[row as usize + index as usize][lane],
            None => 0,
        }
    }
}

/// Positions of a fetch's arguments.
#[derive(Clone, Copy)]
struct Positions {
    handle: u8,
    layer: u8,
    coordinates: u8,
    level: u8,
    offset: u8,
}

impl Fetch {
    fn positions(&self) -> Positions {
        let bound = u8::from(self.handle == Handle::Argument);
        let layer = u8::from(self.layered);
        let axes = coordinates_of(self.dimension);
        if self.level == Level::Gradient {
            // The handle first; layer and offset share a register behind the coordinates.
            let behind = bound + axes;
            return Positions {
                handle: 0,
                layer: behind,
                coordinates: bound,
                level: behind + layer.max(u8::from(self.offset)),
                offset: behind,
            };
        }
        let handle = layer + axes;
        let level = handle + bound;
        let with_level = u8::from(matches!(self.level, Level::Explicit | Level::Bias));
        Positions {
            handle,
            layer: 0,
            coordinates: layer,
            level,
            offset: level + with_level,
        }
    }
}

/// The handle of each lane.
fn handles(handle: Handle, arguments: Arguments, position: u8, warp: &Warp) -> Lanes {
    match handle {
        Handle::Fixed(operand) => warp.fetch(operand),
        Handle::Argument => Lanes::from_fn(|lane| arguments.get(warp, position, lane)),
    }
}

/// The lanes of `lanes` that have the first one's handle, and the handle.
pub(crate) fn same_handle(handles: &Lanes, lanes: u32) -> (u32, u32) {
    let handle = handles[lanes.trailing_zeros() as usize & 31];
    let same = lanes_of(lanes)
        .filter(|&lane| handles[lane] == handle)
        .fold(0, |mask, lane| mask | 1 << lane);
    (same, handle)
}

/// Executes a texture instruction in the lanes of `mask`.
///
/// # Errors
/// A handle that names no texture, or one that the instruction cannot sample.
pub(crate) fn execute<P: Port>(
    op: &Op,
    unit: &mut Unit<'_>,
    table: &TextureTable,
    architecture: Architecture,
    mask: u32,
    port: &mut P,
    effect: &mut Effect,
) -> Done {
    match op {
        Op::Fetch(fetch) => {
            note(effect, Space::Texture, Access::Load, 0, 4);
            let handles = handles(
                fetch.handle,
                fetch.arguments,
                fetch.positions().handle,
                unit.warp,
            );
            let mut left = mask;
            while left != 0 {
                let (lanes, handle) = same_handle(&handles, left);
                left &= !lanes;
                let lane = lanes.trailing_zeros() as usize;
                let Some((image, sampler)) = table.texture(handle, architecture) else {
                    return trouble(lane, no_object("texture", handle));
                };
                if let Some(reason) = fetch.misfit(image, sampler) {
                    return trouble(lane, FaultKind::Texture(reason));
                }
                fetch.execute(unit, image, sampler, lanes, port, effect);
            }
            effect.accesses = effect.access.lanes != 0;
            if fetch.out != 7 {
                unit.warp.write_predicate(fetch.out, 0, mask);
            }
            Ok(())
        }
        Op::Extents {
            handle,
            arguments,
            results,
        } => {
            let handles = handles(*handle, *arguments, 0, unit.warp);
            let level = arguments.split - 1;
            let mut values = [Lanes::ZERO; 4];
            for lane in lanes_of(mask) {
                let Some(image) = table.image(handles[lane]) else {
                    return trouble(lane, no_object("texture or surface", handles[lane]));
                };
                let level = arguments.get(unit.warp, level, lane);
                for (value, extent) in values.iter_mut().zip(extents(image, level)) {
                    value[lane] = extent;
                }
            }
            let wanted = (0..4).filter(|component| results.mask >> component & 1 == 1);
            for (place, component) in wanted.enumerate() {
                results.write(unit.warp, place, &values[component], mask);
            }
            Ok(())
        }
    }
}

/// A handle that names nothing of its kind.
pub(crate) fn no_object(kind: &str, handle: u32) -> FaultKind {
    FaultKind::Texture(format!("handle {handle:#x} names no {kind}"))
}

/// Width, height, depth or layers of a level, and the number of levels.
fn extents(image: &Image, level: u32) -> [u32; 4] {
    let shape = image.shape();
    if level >= shape.levels {
        return [0, 0, 0, shape.levels];
    }
    let [width, mut height, mut depth] = shape.extent_of(level);
    if let Some(layers) = shape.layers {
        match shape.dimension {
            Dimension::One => height = layers,
            _ => depth = layers,
        }
    }
    [width, height, depth, shape.levels]
}

impl Results {
    /// Writes the `place`th of the wanted components.
    fn write(&self, warp: &mut Warp, place: usize, values: &Lanes, mask: u32) {
        let row = if place < 2 {
            self.lower + place as u16
        } else {
            self.upper + place as u16 - 2
        };
        // The sink has two rows, as has each run.
        warp.write(row, values, mask);
    }
}

impl Fetch {
    /// Why the instruction cannot sample this texture, if it cannot. One-dimensional textures are
    /// sampled with a second coordinate that has no effect.
    fn misfit(&self, image: &Image, sampler: &Sampler) -> Option<String> {
        let shape = image.shape();
        let fits = self.dimension == shape.dimension
            || self.dimension == Dimension::Two && shape.dimension == Dimension::One;
        if !fits || self.layered != shape.layers.is_some() {
            let kind = |dimension: Dimension, layered| {
                format!(
                    "{}{}",
                    dimension.name(),
                    if layered { " layered" } else { "" }
                )
            };
            return Some(format!(
                "texture `{}` is {}, the instruction's is {}",
                image.name(),
                kind(shape.dimension, shape.layers.is_some()),
                kind(self.dimension, self.layered),
            ));
        }
        if self.kind != Kind::Load && image.storage() == crate::texture::Storage::Linear {
            return Some(format!(
                "texture `{}` is on linear memory, which is read by index only",
                image.name()
            ));
        }
        if self.results.halves && sampler.reading(image.format()) == Reading::Integers {
            return Some(format!(
                "texture `{}` holds integers, the instruction returns halves",
                image.name()
            ));
        }
        None
    }

    fn execute<P: Port>(
        &self,
        unit: &mut Unit<'_>,
        image: &Image,
        sampler: &Sampler,
        lanes: u32,
        port: &mut P,
        effect: &mut Effect,
    ) {
        let taps = &mut *unit.taps;
        taps.clear();
        for lane in lanes_of(lanes) {
            match self.kind {
                Kind::Load => {
                    let (level, slot, index) = self.index(unit.warp, image, lane);
                    taps.load(lane, image, level, slot, index);
                }
                Kind::Sample => {
                    taps.sample(
                        lane,
                        image,
                        sampler,
                        &self.request(unit.warp, image, sampler, lane),
                    );
                }
                Kind::Gather(_) => {
                    taps.gather(
                        lane,
                        image,
                        sampler,
                        &self.request(unit.warp, image, sampler, lane),
                    );
                }
            }
        }
        let bytes = image.format().bytes();
        effect.access.bytes = bytes as u8;
        taps.read(bytes, port, unit.words, &mut effect.access);
        let (format, reading) = (image.format(), sampler.reading(image.format()));
        let value = |lane, component| match self.kind {
            Kind::Gather(channel) => {
                taps.gathered(lane, format, reading, u32::from(channel), component)
            }
            _ => taps.sampled(lane, format, reading, component),
        };
        let mut place = 0;
        let mut halves = Lanes::ZERO;
        for component in 0..4 {
            if self.results.mask >> component & 1 == 0 {
                continue;
            }
            let mut values = Lanes::ZERO;
            for lane in lanes_of(lanes) {
                values[lane] = value(lane, component);
            }
            if !self.results.halves {
                self.results.write(unit.warp, place, &values, lanes);
                place += 1;
                continue;
            }
            // Two components in a register, each pair in a run of its own.
            for lane in lanes_of(lanes) {
                let half = f32_to_half(f32::from_bits(values[lane]));
                halves[lane] =
                    (halves[lane] & (0xffff * (place as u32 & 1))) | half << (16 * (place & 1));
            }
            self.results.write(unit.warp, place & 2, &halves, lanes);
            place += 1;
        }
    }

    /// Level, slot and texel that a lane loads; no slot if there is no such layer.
    fn index(&self, warp: &Warp, image: &Image, lane: usize) -> (u32, Option<u32>, [i64; 3]) {
        let positions = self.positions();
        let argument = |position| self.arguments.get(warp, position, lane);
        let shape = image.shape();
        let offset = self.offset(warp, positions.offset, lane);
        let mut index = [0; 3];
        for axis in 0..shape.dimension.axes() as usize {
            let coordinate = argument(positions.coordinates + axis as u8) as i32;
            index[axis] = i64::from(coordinate) + offset[axis];
        }
        let level = match self.level {
            Level::Explicit => argument(positions.level),
            _ => 0,
        };
        let level = if self.clamp_level {
            (level as i32).clamp(0, shape.levels as i32 - 1) as u32
        } else {
            level
        };
        let slot = if self.layered {
            let layer = argument(positions.layer) & 0xffff;
            (layer < shape.layers.unwrap_or(1)).then_some(layer)
        } else {
            Some(0)
        };
        (level, slot, index)
    }

    /// What a lane samples.
    fn request(&self, warp: &Warp, image: &Image, sampler: &Sampler, lane: usize) -> Request {
        let positions = self.positions();
        let argument = |position, lane| self.arguments.get(warp, position, lane);
        let direction = |lane| -> [f32; 3] {
            let mut coordinates = [0.0; 3];
            for (axis, place) in coordinates
                .iter_mut()
                .enumerate()
                .take(coordinates_of(self.dimension) as usize)
            {
                *place = f32::from_bits(argument(positions.coordinates + axis as u8, lane));
            }
            coordinates
        };
        let cube = self.dimension == Dimension::Cube;
        let own = direction(lane);
        let face = if cube { face_of(own) } else { 0 };
        let place = |coordinates: [f32; 3]| -> [f64; 3] {
            if cube {
                let [s, t] = on_face(face, coordinates);
                [s, t, 0.0]
            } else {
                coordinates.map(f64::from)
            }
        };
        let layer = if self.layered {
            argument(positions.layer, lane) & 0xffff
        } else {
            0
        };
        let extent = image.shape().extent;
        // From coordinates to texels of level 0.
        let steps = |from: [f64; 3], to: [f64; 3]| -> [f64; 3] {
            std::array::from_fn(|axis| {
                if axis >= image.shape().dimension.axes() as usize {
                    return 0.0;
                }
                let scale = if sampler.normalized {
                    f64::from(extent[axis])
                } else {
                    1.0
                };
                (to[axis] - from[axis]) * scale
            })
        };
        let of_quad = || {
            // The lanes to the right of and below the first one of the quad.
            let first = lane & !3;
            let corner = place(direction(first));
            level::of_steps(
                steps(corner, place(direction(first + 1))),
                steps(corner, place(direction(first + 2))),
            )
        };
        let number = |position| f32::from_bits(argument(position, lane));
        let level = match self.level {
            Level::Zero => 0,
            Level::Explicit => level::explicit(number(positions.level)),
            Level::Implicit => of_quad(),
            Level::Bias => of_quad() + level::explicit(number(positions.level)),
            Level::Gradient => {
                let derivative = |direction: u8| -> [f64; 3] {
                    std::array::from_fn(|axis| {
                        if axis >= coordinates_of(self.dimension) as usize {
                            return 0.0;
                        }
                        let position = positions.level + 2 * axis as u8 + direction;
                        f64::from(number(position))
                    })
                };
                let zero = [0.0; 3];
                level::of_steps(steps(zero, derivative(0)), steps(zero, derivative(1)))
            }
        };
        Request {
            coordinates: place(own),
            slot: slot(image, layer, face),
            level,
            offset: self.offset(warp, positions.offset, lane),
        }
    }

    /// The offset in texels: 4 bits per axis; 6 of 8 per axis for gathers; behind the layer for TXD.
    fn offset(&self, warp: &Warp, position: u8, lane: usize) -> [i64; 3] {
        if !self.offset {
            return [0; 3];
        }
        let packed = self.arguments.get(warp, position, lane);
        let (packed, bits, distance) = match (self.kind, self.level) {
            (Kind::Gather(_), _) => (packed, 6, 8),
            (_, Level::Gradient) => (packed >> 16, 4, 4),
            _ => (packed, 4, 4),
        };
        std::array::from_fn(|axis| {
            let field = packed >> (distance * axis as u32);
            i64::from((field << (32 - bits)) as i32 >> (32 - bits))
        })
    }
}
