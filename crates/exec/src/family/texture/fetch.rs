//! What a fetch asks of a texture, lane by lane, and what it makes of the texels.

use source::Effect;

use crate::lanes::{Lanes, lanes_of};
use crate::memory::access::Unit;
use crate::memory::port::Port;
use crate::rounding::f32_to_half;
use crate::texture::cube::{face_of, on_face};
use crate::texture::image::{Dimension, Image, Storage};
use crate::texture::level;
use crate::texture::sampler::{Reading, Sampler};
use crate::texture::taps::{Request, slot};
use crate::warp::Warp;

use super::{Arguments, Fetch, Handle, Kind, Level, coordinates_of};

impl Arguments {
    /// Argument `index`.
    #[inline]
    pub(super) fn get(self, warp: &Warp, index: u8, lane: usize) -> u32 {
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
pub(super) struct Positions {
    pub(super) handle: u8,
    layer: u8,
    coordinates: u8,
    level: u8,
    offset: u8,
}

impl Fetch {
    pub(super) fn positions(&self) -> Positions {
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
pub(super) fn handles(handle: Handle, arguments: Arguments, position: u8, warp: &Warp) -> Lanes {
    match handle {
        Handle::Fixed(operand) => warp.fetch(operand),
        Handle::Argument => Lanes::from_fn(|lane| arguments.get(warp, position, lane)),
    }
}

impl Fetch {
    /// Why the instruction cannot sample this texture, if it cannot. One-dimensional textures are
    /// sampled with a second coordinate that has no effect.
    pub(super) fn misfit(&self, image: &Image, sampler: &Sampler) -> Option<String> {
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
        if self.kind != Kind::Load && image.storage() == Storage::Linear {
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

    pub(super) fn execute<P: Port>(
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
