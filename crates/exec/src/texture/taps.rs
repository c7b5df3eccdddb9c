//! The texels that the lanes of a warp read in one fetch: where they lie, what each is worth, and, once
//! they have been read, what they hold.

use source::Access;

use crate::lanes::{Lanes, lanes_of};
use crate::memory::overlay::locate;
use crate::memory::port::{Batch, Port};

use super::blend::{WHOLE, mean_of_fractions, mean_of_reals};
use super::colour::linear;
use super::coordinate::{self, ONE, in_texels, resolve};
use super::format::TexelFormat;
use super::image::{Dimension, Image};
use super::level::{Levels, choose};
use super::sampler::{Filter, Reading, Sampler};

/// Most texels of one lane: two levels of two texels along each of three axes.
const MOST: usize = 16;
/// Bytes of a sector.
const SECTOR: u64 = 32;

/// What a lane asks for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Request {
    /// Coordinates as the instruction gives them; of a cube: place on its face.
    pub(crate) coordinates: [f64; 3],
    /// Layer, face, or both in one.
    pub(crate) slot: u32,
    /// Level of detail in 256ths.
    pub(crate) level: i64,
    /// Added to texel indices.
    pub(crate) offset: [i64; 3],
}

/// The texels of a warp's fetch.
#[derive(Debug)]
pub(crate) struct Taps {
    /// Taps of the lane that has most of them.
    count: usize,
    /// Taps of each lane.
    of_lane: [u8; 32],
    /// Lanes that read a texel in each tap; the others' are zero.
    lanes: [u32; MOST],
    addresses: [[u64; 32]; MOST],
    weights: [[u64; 32]; MOST],
    /// Bytes of the texels.
    texels: [[[u32; 4]; 32]; MOST],
}

impl Taps {
    /// No texels.
    pub(crate) fn new() -> Taps {
        Taps {
            count: 0,
            of_lane: [0; 32],
            lanes: [0; MOST],
            addresses: [[0; 32]; MOST],
            weights: [[0; 32]; MOST],
            texels: [[[0; 4]; 32]; MOST],
        }
    }

    /// Forgets all texels.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.of_lane = [0; 32];
        self.lanes = [0; MOST];
    }

    /// Adds a texel of `lane` at `address`, or one beyond a border.
    fn push(&mut self, lane: usize, address: Option<u64>, weight: u64) {
        let tap = self.of_lane[lane] as usize;
        if tap >= MOST {
            return;
        }
        self.of_lane[lane] += 1;
        self.count = self.count.max(tap + 1);
        self.weights[tap][lane] = weight;
        self.texels[tap][lane] = [0; 4];
        if let Some(address) = address {
            self.addresses[tap][lane] = address;
            self.lanes[tap] |= 1 << lane;
        }
    }

    /// Adds what `lane` samples.
    pub(crate) fn sample(
        &mut self,
        lane: usize,
        image: &Image,
        sampler: &Sampler,
        request: &Request,
    ) {
        let Levels { first, next_weight } = choose(request.level, sampler, image.shape().levels);
        self.sample_level(lane, image, sampler, request, first, ONE - next_weight);
        if next_weight > 0 {
            self.sample_level(lane, image, sampler, request, first + 1, next_weight);
        }
    }

    fn sample_level(
        &mut self,
        lane: usize,
        image: &Image,
        sampler: &Sampler,
        request: &Request,
        level: u32,
        weight: u64,
    ) {
        let extent = image.extent(level);
        let axes = image.shape().dimension.axes() as usize;
        let mut choices = [[(0i64, ONE); 2]; 3];
        for axis in 0..axes {
            let place = in_texels(request.coordinates[axis], extent[axis], sampler.normalized);
            let span = match sampler.filter {
                Filter::Point => coordinate::point(place),
                Filter::Linear => coordinate::linear(place),
            };
            let index = span.first.saturating_add(request.offset[axis]);
            choices[axis] = [
                (index, ONE - span.second_weight),
                (index.saturating_add(1), span.second_weight),
            ];
        }
        // The first axis changes fastest.
        for corner in 0..1usize << axes {
            let mut index = [0i64; 3];
            let mut product = weight;
            for axis in 0..3 {
                let (at, share) = choices[axis][corner >> axis & 1];
                index[axis] = at;
                product *= share;
            }
            if product > 0 {
                let address = address(image, sampler, level, request.slot, index);
                self.push(lane, address, product);
            }
        }
    }

    /// Adds the four texels that `lane` would filter between: lower left, lower right, upper right,
    /// upper left, where the second coordinate grows downwards.
    pub(crate) fn gather(
        &mut self,
        lane: usize,
        image: &Image,
        sampler: &Sampler,
        request: &Request,
    ) {
        let extent = image.extent(0);
        let mut first = [0i64; 2];
        for (axis, first) in first.iter_mut().enumerate() {
            let place = in_texels(request.coordinates[axis], extent[axis], sampler.normalized);
            let span = coordinate::linear(place);
            *first = span.first.saturating_add(request.offset[axis]);
        }
        for (right, down) in [(0, 1), (1, 1), (1, 0), (0, 0)] {
            let index = [
                first[0].saturating_add(right),
                first[1].saturating_add(down),
                0,
            ];
            self.push(lane, address(image, sampler, 0, request.slot, index), WHOLE);
        }
    }

    /// Adds the texel of `lane` at an index; beyond the image there are zeros.
    pub(crate) fn load(
        &mut self,
        lane: usize,
        image: &Image,
        level: u32,
        slot: Option<u32>,
        index: [i64; 3],
    ) {
        let address = (|| {
            if level >= image.shape().levels {
                return None;
            }
            let extent = image.extent(level);
            let mut texel = [0; 3];
            for axis in 0..3 {
                let inside = (0..i64::from(extent[axis])).contains(&index[axis]);
                texel[axis] = inside.then_some(index[axis] as u32)?;
            }
            Some(image.texel_address(level, slot?, texel))
        })();
        self.push(lane, address, WHOLE);
    }

    /// Reads the texels and notes them in `access`.
    pub(crate) fn read<P: Port>(
        &mut self,
        bytes: u32,
        port: &mut P,
        words: &mut [Lanes; 4],
        access: &mut Access,
    ) {
        for tap in 0..self.count {
            let lanes = self.lanes[tap];
            if lanes == 0 {
                continue;
            }
            let addresses = &self.addresses[tap];
            let batch = Batch {
                addresses,
                lanes,
                bytes,
                block: locate(port.memory(), addresses, lanes, bytes),
                consecutive: false,
            };
            port.load(&batch, words);
            for lane in lanes_of(lanes) {
                let address = addresses[lane];
                let texel = &mut self.texels[tap][lane];
                for (index, word) in words.iter().enumerate().take(bytes.div_ceil(4) as usize) {
                    texel[index] = word[lane];
                }
                if access.lanes >> lane & 1 == 0 {
                    access.lanes |= 1 << lane;
                    access.addresses[lane] = address;
                }
                let sector = address / SECTOR;
                if !access.texels.iter().rev().any(|&other| other == sector) {
                    access.texels.push(sector);
                }
            }
        }
    }

    /// Channel `channel` of what `lane` samples: an integer, or a single-precision number.
    pub(crate) fn sampled(
        &self,
        lane: usize,
        format: TexelFormat,
        reading: Reading,
        channel: u32,
    ) -> u32 {
        if channel >= format.channels {
            return absent(reading, channel);
        }
        let terms = (0..self.of_lane[lane] as usize).map(|tap| {
            let value = format.channel_of(self.texels[tap][lane], channel);
            (self.weights[tap][lane], value)
        });
        match reading {
            Reading::Integers => terms.map(|(_, value)| value).next().unwrap_or(0),
            Reading::Fractions(unit) => {
                let terms = terms.map(|(weight, value)| (weight, value as i32));
                mean_of_fractions(terms, unit, format.channel.is_signed()).to_bits()
            }
            Reading::Colours => {
                mean_of_reals(terms.map(|(weight, value)| (weight, linear(value, channel))))
                    .to_bits()
            }
            Reading::Reals => {
                mean_of_reals(terms.map(|(weight, value)| (weight, f32::from_bits(value))))
                    .to_bits()
            }
        }
    }

    /// Channel `channel` of texel `tap` that `lane` gathers.
    pub(crate) fn gathered(
        &self,
        lane: usize,
        format: TexelFormat,
        reading: Reading,
        channel: u32,
        tap: u32,
    ) -> u32 {
        if channel >= format.channels {
            return absent(reading, channel);
        }
        let value = format.channel_of(self.texels[tap as usize & (MOST - 1)][lane], channel);
        match reading {
            Reading::Fractions(unit) => {
                let term = std::iter::once((WHOLE, value as i32));
                mean_of_fractions(term, unit, format.channel.is_signed()).to_bits()
            }
            Reading::Colours => linear(value, channel).to_bits(),
            Reading::Integers | Reading::Reals => value,
        }
    }
}

/// A channel that the format lacks.
fn absent(reading: Reading, channel: u32) -> u32 {
    match (channel, reading) {
        (3, Reading::Integers) => 1,
        (3, _) => 1f32.to_bits(),
        _ => 0,
    }
}

/// Address of the texel that stands for an index; `None` beyond a border.
fn address(
    image: &Image,
    sampler: &Sampler,
    level: u32,
    slot: u32,
    index: [i64; 3],
) -> Option<u64> {
    let extent = image.extent(level);
    let axes = image.shape().dimension.axes() as usize;
    let mut texel = [0; 3];
    for axis in 0..axes {
        texel[axis] = resolve(index[axis], extent[axis], sampler.address[axis])?;
    }
    Some(image.texel_address(level, slot, texel))
}

/// The image behind an image's layer index and cube face: the layer is clamped.
pub(crate) fn slot(image: &Image, layer: u32, face: u32) -> u32 {
    let shape = image.shape();
    let layer = layer.min(shape.layers.unwrap_or(1) - 1);
    if shape.dimension == Dimension::Cube {
        6 * layer + face
    } else {
        layer
    }
}
