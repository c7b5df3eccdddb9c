//! How a texture is sampled (`cudaTextureDesc`).

use super::format::{ChannelType, TexelFormat};
use super::image::{Dimension, Image, Storage};

/// What stands for texels outside a texture, per axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AddressMode {
    /// The texture repeats; needs normalized coordinates.
    Wrap,
    /// The texel at the edge.
    Clamp,
    /// The texture repeats, every other time mirrored; needs normalized coordinates.
    Mirror,
    /// Zero.
    Border,
}

/// How values between texels (or levels) are made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Filter {
    /// The nearest one's value.
    Point,
    /// Weighted mean of the neighbours.
    Linear,
}

/// What a fetch returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReadMode {
    /// The channels as they are; integers of 8 and 16 bits are extended.
    Element,
    /// Integers of 8 and 16 bits as single-precision numbers from 0 (or -1) to 1.
    Normalized,
}

/// How a texture is sampled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sampler {
    /// What lies outside, for x, y, z.
    pub address: [AddressMode; 3],
    /// Between texels.
    pub filter: Filter,
    /// Between levels of detail.
    pub level_filter: Filter,
    /// Whether coordinates run from 0 to 1.
    pub normalized: bool,
    /// What a fetch returns.
    pub read: ReadMode,
    /// Whether colours are stored in sRGB's curve.
    pub srgb: bool,
    /// Added to every level of detail.
    pub level_bias: f32,
    /// Least and greatest level of detail.
    pub level_range: [f32; 2],
}

impl Default for Sampler {
    /// Point filter, clamp, coordinates in texels, elements as they are: `cudaTextureDesc` all zero,
    /// but for clamp instead of wrap, which that needs normalized coordinates.
    fn default() -> Sampler {
        Sampler {
            address: [AddressMode::Clamp; 3],
            filter: Filter::Point,
            level_filter: Filter::Point,
            normalized: false,
            read: ReadMode::Element,
            srgb: false,
            level_bias: 0.0,
            level_range: [0.0, 16.0],
        }
    }
}

/// A sampler that does not fit an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SamplerError {
    /// Repeating needs normalized coordinates.
    #[error("address modes wrap and mirror need normalized coordinates")]
    Repeats,
    /// A linear filter of integers.
    #[error("a linear filter needs floating-point channels or a normalized read")]
    LinearIntegers,
    /// A normalized read of wide integers.
    #[error("a normalized read needs integers of 8 or 16 bits")]
    WideNormalized,
    /// sRGB is a format of four bytes.
    #[error("sRGB needs a normalized read of four channels of 8 bits without sign")]
    Srgb,
    /// Levels with coordinates in texels.
    #[error("several levels of detail need normalized coordinates")]
    LevelsInTexels,
    /// A linear array is not sampled.
    #[error(
        "a texture on linear memory is read by index: coordinates in texels, a point filter and address mode clamp or border"
    )]
    LinearMemory,
    /// A cube's faces are addressed by direction.
    #[error("a cube needs normalized coordinates and address mode clamp")]
    Cube,
    /// A level of detail that is no number.
    #[error("levels of detail must be finite numbers, the least one first")]
    Levels,
}

/// What the values of a fetch are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// Integers.
    Integers,
    /// Fractions of the number that stands for 1.
    Fractions(u32),
    /// Colours of a byte each in sRGB's curve, and a fourth channel of 255ths.
    Colours,
    /// Single-precision numbers.
    Reals,
}

impl Sampler {
    /// Checks that the sampler can sample `image`.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, image: &Image) -> Result<(), SamplerError> {
        let shape = image.shape();
        let axes = shape.dimension.axes() as usize;
        let modes = &self.address[..axes];
        let repeats = |mode: &AddressMode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
        if image.storage() == Storage::Linear {
            let fits = self.filter == Filter::Point && !self.normalized;
            if !fits || modes.iter().any(repeats) {
                return Err(SamplerError::LinearMemory);
            }
        }
        if !self.normalized && modes.iter().any(repeats) {
            return Err(SamplerError::Repeats);
        }
        let channel = image.format().channel;
        if self.read == ReadMode::Normalized && channel.unit().is_none() {
            return Err(SamplerError::WideNormalized);
        }
        let colours = image.format().channel == ChannelType::U8 && image.format().channels == 4;
        if self.srgb && !(colours && self.read == ReadMode::Normalized) {
            return Err(SamplerError::Srgb);
        }
        let integers = self.reading(image.format()) == Reading::Integers;
        let mixes = self.filter == Filter::Linear || self.level_filter == Filter::Linear;
        if integers && mixes {
            return Err(SamplerError::LinearIntegers);
        }
        if shape.levels > 1 && !self.normalized {
            return Err(SamplerError::LevelsInTexels);
        }
        let clamps = modes.iter().all(|&mode| mode == AddressMode::Clamp);
        if shape.dimension == Dimension::Cube && !(self.normalized && clamps) {
            return Err(SamplerError::Cube);
        }
        let [least, most] = self.level_range;
        if !self.level_bias.is_finite() || !least.is_finite() || !most.is_finite() || least > most {
            return Err(SamplerError::Levels);
        }
        Ok(())
    }

    /// What values of texels of `format` are.
    pub(crate) fn reading(&self, format: TexelFormat) -> Reading {
        match (self.read, format.channel.unit()) {
            _ if format.channel.is_real() => Reading::Reals,
            (ReadMode::Normalized, Some(_)) if self.srgb => Reading::Colours,
            (ReadMode::Normalized, Some(unit)) => Reading::Fractions(unit),
            _ => Reading::Integers,
        }
    }
}
