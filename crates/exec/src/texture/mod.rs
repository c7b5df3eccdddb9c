//! Textures and surfaces: what a handle stands for and what sampling it gives (CUDA C++ Programming
//! Guide, "Texture Fetching"). The instructions themselves are in `family/texture` and
//! `family/surface.rs`.
//!
//! The way of a fetch: a handle names an entry of the [`TextureTable`] (`table`), which holds an
//! [`Image`] (`image`: texel format, extents, where each texel lies) and a [`Sampler`] (`sampler`);
//! coordinates become texel indices with weights (`coordinate`, `cube`), a level of detail one or two
//! levels (`level`), both together the texels to read (`taps`), and what those hold is decoded
//! (`format`, `colour`) and weighted (`blend`).
//!
//! Where the guide leaves a choice, this is what is done:
//!
//! * coordinates are scaled exactly; linear filtering rounds them to 8 fractional bits, ties up, so
//!   that weights are multiples of 1/256; point filtering takes the floor;
//! * the weighted sum of texels is exact and rounded once, to single precision; texels of weight zero
//!   take no part;
//! * a coordinate that is no number counts as 0;
//! * of equally long axes of a cube's direction z counts before y before x, and each face is sampled
//!   for itself, its address mode being clamp;
//! * levels of detail have 8 fractional bits, ties up;
//! * sRGB's curve gives each colour rounded to single precision, before filtering;
//! * channels that a format lacks read as 0, the fourth as 1; beyond a border all read as 0.

pub(crate) mod blend;
pub(crate) mod colour;
pub(crate) mod coordinate;
pub(crate) mod cube;
pub(crate) mod format;
pub(crate) mod image;
pub(crate) mod level;
pub(crate) mod sampler;
pub(crate) mod table;
pub(crate) mod taps;

pub use format::{ChannelType, TexelFormat};
pub use image::{Dimension, Image, ImageError, Shape, Storage};
pub use sampler::{AddressMode, Filter, ReadMode, Sampler, SamplerError};
pub use table::{TableError, TextureIndex, TextureTable};
