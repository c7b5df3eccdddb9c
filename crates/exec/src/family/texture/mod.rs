//! Texture fetches: TEX, TXD (sampled), TLD (by index), TLD4 (four texels of one channel), TXQ
//! (extents). The operations (here), what instructions are lowered to which (`lower`), and what a fetch
//! asks of a texture and makes of its texels (`fetch`). How the arguments lie in registers is what the
//! vendor's compiler shows (and MIT-licensed Mesa NAK for the order of all of them).

mod fetch;
mod lower;

use sass::Architecture;
use source::{Effect, FaultKind, Operation as Access, Space};

use crate::lanes::{Lanes, lanes_of};
use crate::memory::access::{Done, Unit, note};
use crate::memory::address::trouble;
use crate::memory::port::Port;
use crate::micro::Operand;
use crate::texture::TextureTable;
use crate::texture::image::{Dimension, Image};
use crate::warp::Warp;

pub(crate) use lower::{fixed_handle, lower};

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

/// Coordinates that an instruction for a dimension takes.
const fn coordinates_of(dimension: Dimension) -> u8 {
    match dimension {
        Dimension::One => 1,
        Dimension::Two => 2,
        Dimension::Three | Dimension::Cube => 3,
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
            let handles = fetch::handles(
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
            let handles = fetch::handles(*handle, *arguments, 0, unit.warp);
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
