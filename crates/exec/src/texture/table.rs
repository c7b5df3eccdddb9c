//! The textures and surfaces of a device, and the handles that name them.
//!
//! A handle is the 32-bit number that instructions take: the image's index in its low 20 bits and, up to
//! sm_89, the sampler's index in its high 12 bits. Index 0 names nothing.

use sass::Architecture;

use super::image::Image;
use super::sampler::{Sampler, SamplerError};

/// Most objects: as many as a sampler's index can name.
const MOST: usize = (1 << 12) - 1;
/// Bits of an image's index.
const IMAGE_BITS: u32 = 20;

/// A texture or surface that cannot be had.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// The sampler does not fit.
    #[error("texture `{texture}`: {error}")]
    Sampler {
        /// The texture.
        texture: String,
        /// Why.
        error: SamplerError,
    },
    /// No index left.
    #[error("more than {MOST} textures and surfaces")]
    Full,
}

#[derive(Clone, PartialEq, Debug)]
struct Object {
    image: Image,
    /// `None`: a surface.
    sampler: Option<Sampler>,
}

/// All textures and surfaces.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TextureTable {
    objects: Vec<Object>,
}

/// Names an entry of a [`TextureTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TextureIndex(u32);

impl TextureTable {
    /// Adds a texture.
    ///
    /// # Errors
    /// A sampler that does not fit the image, or too many objects.
    pub fn add_texture(
        &mut self,
        image: Image,
        sampler: Sampler,
    ) -> Result<TextureIndex, TableError> {
        sampler.check(&image).map_err(|error| TableError::Sampler {
            texture: image.name().to_owned(),
            error,
        })?;
        self.add(image, Some(sampler))
    }

    /// Adds a surface.
    ///
    /// # Errors
    /// Too many objects.
    pub fn add_surface(&mut self, image: Image) -> Result<TextureIndex, TableError> {
        self.add(image, None)
    }

    fn add(&mut self, image: Image, sampler: Option<Sampler>) -> Result<TextureIndex, TableError> {
        if self.objects.len() >= MOST {
            return Err(TableError::Full);
        }
        self.objects.push(Object { image, sampler });
        Ok(TextureIndex(self.objects.len() as u32))
    }

    /// The handle that a kernel is given (`cudaTextureObject_t`, `cudaSurfaceObject_t`).
    pub fn handle(&self, index: TextureIndex, architecture: Architecture) -> u64 {
        let sampler = if samplers_apart(architecture) {
            u64::from(index.0) << IMAGE_BITS
        } else {
            0
        };
        u64::from(index.0) | sampler
    }

    /// The handle of the texture or surface of that name (of several, the last one's).
    pub(crate) fn named(
        &self,
        name: &str,
        is_surface: bool,
        architecture: Architecture,
    ) -> Option<u32> {
        let position = self
            .objects
            .iter()
            .rposition(|o| o.image.name() == name && o.sampler.is_none() == is_surface)?;
        Some(self.handle(TextureIndex(position as u32 + 1), architecture) as u32)
    }

    fn object(&self, index: u32) -> Option<&Object> {
        self.objects.get((index as usize).checked_sub(1)?)
    }

    /// The image of a handle.
    pub(crate) fn image(&self, handle: u32) -> Option<&Image> {
        let object = self.object(handle & ((1 << IMAGE_BITS) - 1))?;
        Some(&object.image)
    }

    /// The image of a handle that names a surface.
    pub(crate) fn surface(&self, handle: u32) -> Option<&Image> {
        let object = self.object(handle & ((1 << IMAGE_BITS) - 1))?;
        object.sampler.is_none().then_some(&object.image)
    }

    /// Image and sampler of a handle that names a texture.
    pub(crate) fn texture(
        &self,
        handle: u32,
        architecture: Architecture,
    ) -> Option<(&Image, &Sampler)> {
        let index = handle & ((1 << IMAGE_BITS) - 1);
        let object = self.object(index)?;
        object.sampler?;
        let sampler = if samplers_apart(architecture) {
            self.object(handle >> IMAGE_BITS)?
        } else {
            object
        };
        Some((&object.image, sampler.sampler.as_ref()?))
    }
}

/// Whether handles name image and sampler each.
fn samplers_apart(architecture: Architecture) -> bool {
    architecture < Architecture::Sm90
}
