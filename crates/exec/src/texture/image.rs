//! An image in device memory: format, extents, and where each texel lies.
//!
//! Arrays of two and three dimensions are block-linear as the hardware's are: 64 bytes by 8 rows form a
//! group of bytes (512 bytes, 16 sectors of 16 bytes by 2 rows), up to 16 groups below one another a
//! block, blocks lie in rows (Tegra X1 Technical Reference Manual, "Block linear"; MIT-licensed Mesa
//! NIL). Slices of a 3-D image lie one behind the other, as do layers (a cube's faces are layers), each
//! with all its levels. Arrays of one dimension, linear memory and pitched rows are what they are.
//!
//! The host's order is the plain one: level by level, in each layer by layer, slice by slice, row by
//! row, texel by texel.

use crate::error::ExecError;
use crate::memory::global::GlobalMemory;

use super::format::TexelFormat;

/// Bytes and rows of a group of bytes.
const GROUP_BYTES: u64 = 64;
const GROUP_ROWS: u64 = 8;
const GROUP: u64 = GROUP_BYTES * GROUP_ROWS;
/// Most groups of a block, as a power of two.
const MOST_GROUPS: u32 = 4;
/// Alignment of levels and layers.
const ALIGNMENT: u64 = 512;

/// How many coordinates a texel has besides its layer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dimension {
    /// Width.
    One,
    /// Width and height.
    Two,
    /// Width, height and depth.
    Three,
    /// Six square faces.
    Cube,
}

impl Dimension {
    /// Coordinates of a texel in its layer.
    pub const fn axes(self) -> u32 {
        match self {
            Dimension::One => 1,
            Dimension::Two | Dimension::Cube => 2,
            Dimension::Three => 3,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Dimension::One => "1-D",
            Dimension::Two => "2-D",
            Dimension::Three => "3-D",
            Dimension::Cube => "cube",
        }
    }
}

/// Extents of an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// Coordinates of a texel.
    pub dimension: Dimension,
    /// Width, height and depth in texels; 1 where there is no such axis.
    pub extent: [u32; 3],
    /// Number of layers (of a cube: of cubes) if it is layered.
    pub layers: Option<u32>,
    /// Levels of detail, at least 1.
    pub levels: u32,
}

impl Shape {
    /// Images that lie behind one another: layers, or faces of layers.
    pub fn slots(&self) -> u32 {
        let faces = if self.dimension == Dimension::Cube {
            6
        } else {
            1
        };
        faces * self.layers.unwrap_or(1)
    }

    /// Extents of a level.
    pub fn extent_of(&self, level: u32) -> [u32; 3] {
        self.extent
            .map(|extent| extent.checked_shr(level).unwrap_or(0).max(1))
    }
}

/// How an image lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Storage {
    /// One row, read by index (`cudaResourceTypeLinear`).
    Linear,
    /// Rows that many bytes apart (`cudaResourceTypePitch2D`).
    Pitched(u64),
    /// An array (`cudaResourceTypeArray`, `cudaResourceTypeMipmappedArray`).
    Array,
}

/// An image that cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ImageError {
    /// A number of channels that texels cannot have.
    #[error("{0} channels; a texel has 1, 2 or 4")]
    Channels(u32),
    /// An extent that is zero or too large.
    #[error("{axis} {found}; it must be 1 to {most}")]
    Extent {
        /// Which.
        axis: &'static str,
        /// Its value.
        found: u32,
        /// The limit.
        most: u32,
    },
    /// A cube whose faces are not square.
    #[error("faces of {0} x {1} texels; a cube's are square")]
    NotSquare(u32, u32),
    /// More levels than halving gives.
    #[error("{found} levels of detail; the extents allow {most}")]
    Levels {
        /// The number.
        found: u32,
        /// The limit.
        most: u32,
    },
    /// Layers, levels or dimensions that such memory cannot hold.
    #[error("{0}")]
    Storage(&'static str),
    /// Rows that are too close or not aligned.
    #[error("rows {found} bytes apart; it must be a multiple of 32 and at least {least}")]
    Pitch {
        /// The distance.
        found: u64,
        /// Bytes of a row.
        least: u64,
    },
}

/// Where a level of a layer lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Level {
    extent: [u32; 3],
    /// Bytes from the start of its layer.
    offset: u64,
    /// Bytes between rows (of one group each if block-linear) and between slices.
    row: u64,
    slice: u64,
    /// Groups of a block as a power of two.
    block: u32,
}

/// An image at an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image {
    name: String,
    address: u64,
    format: TexelFormat,
    shape: Shape,
    storage: Storage,
    levels: Vec<Level>,
    /// Bytes between layers.
    layer: u64,
}

/// Most texels along each axis (CUDA C++ Programming Guide, "Technical Specifications", compute
/// capability 7.5 to 9.0).
fn limits(shape: &Shape, storage: Storage) -> [u32; 3] {
    match (shape.dimension, storage) {
        (_, Storage::Linear) => [1 << 28, 1, 1],
        (Dimension::One, _) if shape.layers.is_some() => [32768, 1, 1],
        (Dimension::One, _) => [131_072, 1, 1],
        (Dimension::Two, _) if shape.layers.is_some() => [32768, 32768, 1],
        (Dimension::Two, Storage::Pitched(_)) => [131_072, 65000, 1],
        (Dimension::Two, _) => [131_072, 65536, 1],
        (Dimension::Three, _) => [16384, 16384, 16384],
        (Dimension::Cube, _) => [32768, 32768, 1],
    }
}

impl Image {
    /// An image of `format` and `shape`, without memory yet; `name` is for messages.
    ///
    /// # Errors
    /// What cannot be.
    pub fn new(
        name: &str,
        format: TexelFormat,
        shape: Shape,
        storage: Storage,
    ) -> Result<Image, ImageError> {
        if ![1, 2, 4].contains(&format.channels) {
            return Err(ImageError::Channels(format.channels));
        }
        let most = limits(&shape, storage);
        for (axis, name) in ["width", "height", "depth"].into_iter().enumerate() {
            let found = shape.extent[axis];
            if found == 0 || found > most[axis] {
                return Err(ImageError::Extent {
                    axis: name,
                    found,
                    most: most[axis],
                });
            }
        }
        let [width, height, depth] = shape.extent;
        if shape.dimension == Dimension::Cube && width != height {
            return Err(ImageError::NotSquare(width, height));
        }
        if let Some(layers) = shape.layers {
            let most = match shape.dimension {
                Dimension::Three => 0,
                Dimension::Cube => 341,
                _ => 2048,
            };
            if most == 0 {
                return Err(ImageError::Storage("a 3-D image has no layers"));
            }
            if layers == 0 || layers > most {
                return Err(ImageError::Extent {
                    axis: "number of layers",
                    found: layers,
                    most,
                });
            }
        }
        let most = 32 - width.max(height).max(depth).leading_zeros();
        if shape.levels == 0 || shape.levels > most {
            return Err(ImageError::Levels {
                found: shape.levels,
                most,
            });
        }
        let row = u64::from(width) * u64::from(format.bytes());
        if storage != Storage::Array && (shape.levels > 1 || shape.layers.is_some()) {
            return Err(ImageError::Storage(
                "levels of detail and layers need an array",
            ));
        }
        match storage {
            Storage::Linear if shape.dimension != Dimension::One => {
                return Err(ImageError::Storage(
                    "linear memory holds a 1-D texture only",
                ));
            }
            Storage::Pitched(_) if shape.dimension != Dimension::Two => {
                return Err(ImageError::Storage(
                    "pitched memory holds a 2-D texture only",
                ));
            }
            Storage::Pitched(pitch) if pitch < row || !pitch.is_multiple_of(32) => {
                return Err(ImageError::Pitch {
                    found: pitch,
                    least: row,
                });
            }
            _ => {}
        }
        let mut image = Image {
            name: name.to_owned(),
            address: 0,
            format,
            shape,
            storage,
            levels: Vec::new(),
            layer: 0,
        };
        for level in 0..shape.levels {
            image.add_level(level);
        }
        Ok(image)
    }

    fn add_level(&mut self, level: u32) {
        let extent = self.shape.extent_of(level);
        let bytes = u64::from(extent[0]) * u64::from(self.format.bytes());
        let rows = u64::from(extent[1]);
        let (row, slice, block) = match self.storage {
            Storage::Linear => (bytes, bytes, 0),
            Storage::Pitched(pitch) => (pitch, pitch * rows, 0),
            Storage::Array if self.shape.dimension == Dimension::One => (bytes, bytes, 0),
            Storage::Array => {
                // As high as the level needs.
                let groups = rows.div_ceil(GROUP_ROWS);
                let block = groups.next_power_of_two().trailing_zeros().min(MOST_GROUPS);
                let columns = bytes.div_ceil(GROUP_BYTES);
                let row = columns * (GROUP << block);
                (row, row * groups.div_ceil(1 << block), block)
            }
        };
        self.levels.push(Level {
            extent,
            offset: self.layer,
            row,
            slice,
            block,
        });
        let size = slice * u64::from(extent[2]);
        self.layer = (self.layer + size).next_multiple_of(ALIGNMENT);
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Format of its texels.
    pub fn format(&self) -> TexelFormat {
        self.format
    }

    /// Its extents.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How it lies in memory.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// Bytes of memory that it takes.
    pub fn bytes(&self) -> u64 {
        match (self.storage, self.levels.first()) {
            (Storage::Array, _) | (_, None) => self.layer * u64::from(self.shape.slots()),
            (_, Some(level)) => level.slice,
        }
    }

    /// Bytes of the texels in the host's order. Pitched and linear memory is in that order.
    pub fn host_bytes(&self) -> u64 {
        if self.storage != Storage::Array {
            return self.bytes();
        }
        let texels: u64 = self
            .levels
            .iter()
            .map(|level| level.extent.iter().map(|&n| u64::from(n)).product::<u64>())
            .sum();
        texels * u64::from(self.shape.slots()) * u64::from(self.format.bytes())
    }

    /// The image at an address in memory that is large enough for it.
    pub fn at(mut self, address: u64) -> Image {
        self.address = address;
        self
    }

    /// The image in memory of its own, with contents zero.
    ///
    /// # Errors
    /// [`ExecError::OutOfMemory`].
    pub fn allocate(self, memory: &mut GlobalMemory) -> Result<Image, ExecError> {
        let address = memory.allocate_aligned(self.bytes(), ALIGNMENT, &self.name)?;
        Ok(self.at(address))
    }

    /// Extents of a level that the image has.
    #[inline]
    pub(crate) fn extent(&self, level: u32) -> [u32; 3] {
        self.levels[level as usize].extent
    }

    /// Address of the byte `byte` bytes into a row.
    #[inline]
    pub(crate) fn byte_address(&self, level: u32, slot: u32, [byte, y, z]: [u64; 3]) -> u64 {
        let place = &self.levels[level as usize];
        let base = self.address + self.layer * u64::from(slot) + place.offset + place.slice * z;
        if self.storage != Storage::Array || self.shape.dimension == Dimension::One {
            return base + place.row * y + byte;
        }
        let group_row = y / GROUP_ROWS;
        base + place.row * (group_row >> place.block)
            + (byte / GROUP_BYTES) * (GROUP << place.block)
            + GROUP * (group_row & ((1 << place.block) - 1))
            + in_group(byte % GROUP_BYTES, y % GROUP_ROWS)
    }

    /// Address of a texel.
    #[inline]
    pub(crate) fn texel_address(&self, level: u32, slot: u32, [x, y, z]: [u32; 3]) -> u64 {
        let byte = u64::from(x) * u64::from(self.format.bytes());
        self.byte_address(level, slot, [byte, u64::from(y), u64::from(z)])
    }

    /// Copies texels in the host's order to the image; no more than there are.
    ///
    /// # Errors
    /// [`ExecError::NoAllocation`] if the image has no memory.
    pub fn upload(&self, memory: &mut GlobalMemory, texels: &[u8]) -> Result<(), ExecError> {
        self.runs(
            |address, from, length| match texels.get(from..from + length) {
                Some(run) => memory.write(address, run),
                None => Ok(()),
            },
        )
    }

    /// Copies the image to `texels` in the host's order.
    ///
    /// # Errors
    /// [`ExecError::NoAllocation`] if the image has no memory.
    pub fn download(&self, memory: &GlobalMemory, texels: &mut [u8]) -> Result<(), ExecError> {
        self.runs(
            |address, from, length| match texels.get_mut(from..from + length) {
                Some(run) => memory.read(address, run),
                None => Ok(()),
            },
        )
    }

    /// Calls `copy(address, host offset, bytes)` for pieces that lie together in both.
    fn runs(
        &self,
        mut copy: impl FnMut(u64, usize, usize) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        if self.storage != Storage::Array {
            return copy(self.address, 0, self.bytes() as usize);
        }
        let piece = if self.shape.dimension == Dimension::One {
            u64::MAX
        } else {
            16
        };
        let mut from = 0;
        for (level, place) in self.levels.iter().enumerate() {
            let [width, height, depth] = place.extent;
            let row = u64::from(width) * u64::from(self.format.bytes());
            for slot in 0..self.shape.slots() {
                for z in 0..u64::from(depth) {
                    for y in 0..u64::from(height) {
                        let mut byte = 0;
                        while byte < row {
                            let length = piece.min(row - byte);
                            let address = self.byte_address(level as u32, slot, [byte, y, z]);
                            copy(address, from, length as usize)?;
                            byte += length;
                            from += length as usize;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Place of a byte of a row in its group: halves of 32 bytes, pairs of rows, 16 bytes of either row.
#[inline]
const fn in_group(byte: u64, row: u64) -> u64 {
    byte / 32 * 256 + row / 2 * 64 + byte % 32 / 16 * 32 + row % 2 * 16 + byte % 16
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use super::*;
    use crate::texture::ChannelType;

    fn shape(dimension: Dimension, extent: [u32; 3], layers: Option<u32>, levels: u32) -> Shape {
        Shape {
            dimension,
            extent,
            layers,
            levels,
        }
    }

    #[test]
    fn every_texel_has_a_place_of_its_own_and_comes_back() {
        let cases = [
            shape(Dimension::One, [37, 1, 1], None, 1),
            shape(Dimension::One, [16, 1, 1], Some(5), 5),
            shape(Dimension::Two, [37, 41, 1], None, 6),
            shape(Dimension::Two, [5, 300, 1], Some(3), 2),
            shape(Dimension::Three, [9, 17, 6], None, 5),
            shape(Dimension::Cube, [12, 12, 1], None, 4),
            shape(Dimension::Cube, [4, 4, 1], Some(2), 3),
        ];
        for shape in cases {
            for (channel, channels) in [
                (ChannelType::U8, 1),
                (ChannelType::F16, 2),
                (ChannelType::F32, 4),
            ] {
                let format = TexelFormat { channel, channels };
                let mut memory = GlobalMemory::new();
                let image = Image::new("t", format, shape, Storage::Array)
                    .unwrap()
                    .allocate(&mut memory)
                    .unwrap();
                let mut places = BTreeSet::new();
                for level in 0..shape.levels {
                    let [width, height, depth] = shape.extent_of(level);
                    for slot in 0..shape.slots() {
                        for z in 0..depth {
                            for y in 0..height {
                                for x in 0..width {
                                    let address = image.texel_address(level, slot, [x, y, z]);
                                    assert!(address.is_multiple_of(u64::from(format.bytes())));
                                    assert!(places.insert(address));
                                }
                            }
                        }
                    }
                }
                let end = places.last().unwrap() + u64::from(format.bytes());
                assert!(end <= image.address + image.bytes(), "{shape:?}");
                assert_eq!(
                    places.len() as u64 * u64::from(format.bytes()),
                    image.host_bytes()
                );
                let texels: Vec<u8> = (0..image.host_bytes())
                    .map(|i| (i * 7 + i / 251) as u8)
                    .collect();
                image.upload(&mut memory, &texels).unwrap();
                let mut back = vec![0; texels.len()];
                image.download(&memory, &mut back).unwrap();
                assert_eq!(texels, back, "{shape:?}");
            }
        }
    }

    #[test]
    fn a_group_of_bytes_is_sixteen_sectors() {
        // The first sector holds 16 bytes of two rows; the next one lies to its right.
        assert_eq!(in_group(0, 0), 0);
        assert_eq!(in_group(15, 1), 31);
        assert_eq!(in_group(16, 0), 32);
        assert_eq!(in_group(0, 2), 64);
        assert_eq!(in_group(32, 0), 256);
        assert_eq!(in_group(63, 7), 511);
    }

    #[test]
    fn impossible_images_are_named() {
        let format = TexelFormat {
            channel: ChannelType::F32,
            channels: 1,
        };
        let refused = |shape: Shape, storage| {
            Image::new("t", format, shape, storage)
                .unwrap_err()
                .to_string()
        };
        let two = shape(Dimension::Two, [8, 8, 1], None, 1);
        assert!(refused(Shape { levels: 5, ..two }, Storage::Array).contains("allow 4"));
        assert!(
            refused(
                Shape {
                    extent: [0, 8, 1],
                    ..two
                },
                Storage::Array
            )
            .contains("width 0")
        );
        assert!(refused(two, Storage::Linear).contains("height 8"));
        assert!(refused(two, Storage::Pitched(16)).contains("at least 32"));
        let cube = shape(Dimension::Cube, [8, 4, 1], None, 1);
        assert!(refused(cube, Storage::Array).contains("8 x 4"));
        let layered = shape(Dimension::Three, [8, 8, 8], Some(2), 1);
        assert!(refused(layered, Storage::Array).contains("no layers"));
        let three = TexelFormat {
            channels: 3,
            ..format
        };
        assert!(Image::new("t", three, two, Storage::Array).is_err());
    }
}
