//! What a file of code may be: a cubin, a fatbin, or a host executable or object with fatbins
//! in it. The first look at a file; [`Cubin::parse`](crate::Cubin::parse) reads what comes out.

use std::borrow::Cow;

use crate::cubin::Cubin;
use crate::error::CubinError;
use crate::fatbin::choose::best_of_each;
use crate::fatbin::host::{fatbins_of_host, is_host_file};
use crate::fatbin::read::{MAGIC, fatbin_at};
use crate::fatbin::{Fatbin, Image, ImageKind};

/// A file of code, told by its first bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Container<'data> {
    /// One cubin; whether it is sound is not yet known.
    Cubin(&'data [u8]),
    /// One or more fatbins: a fatbin file holds one, a host program one for each translation
    /// unit or device link.
    Fatbins(Vec<Fatbin<'data>>),
}

/// A cubin of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked<'data> {
    /// Which image it is, as the compiler's options name it (`sm_86`); `None` for a file that is
    /// a cubin itself.
    pub image: Option<String>,
    /// The cubin's bytes.
    pub bytes: Cow<'data, [u8]>,
}

impl<'data> Container<'data> {
    /// Tells what a file is and reads its table of images.
    ///
    /// # Errors
    /// A malformed fatbin or host file; a host file without fatbins, or with none that is linked.
    /// What is neither is taken for a cubin, whose parser names what is wrong.
    pub fn parse(bytes: &'data [u8]) -> Result<Container<'data>, CubinError> {
        if bytes.starts_with(&MAGIC) {
            return Ok(Container::Fatbins(vec![fatbin_at(bytes, 0, 0)?.0]));
        }
        if !is_host_file(bytes) {
            return Ok(Container::Cubin(bytes));
        }
        let found = fatbins_of_host(bytes)?;
        // A program whose kernels come from the device link has an empty fatbin besides.
        if found.linked.iter().any(|fatbin| !fatbin.images.is_empty()) {
            return Ok(Container::Fatbins(found.linked));
        }
        Err(CubinError::NoFatbin {
            relocatable: !found.relocatable.is_empty(),
        })
    }

    /// The architectures that there is machine code for (86 for sm_86), in file order. Fatbins say it
    /// without being unpacked.
    ///
    /// # Errors
    /// A file that is a cubin itself and malformed.
    pub fn architectures(&self) -> Result<Vec<u32>, CubinError> {
        match self {
            Container::Cubin(bytes) => Ok(vec![Cubin::parse(bytes)?.sm()]),
            Container::Fatbins(fatbins) => Ok(fatbins
                .iter()
                .flat_map(|fatbin| &fatbin.images)
                .filter(|image| image.kind == ImageKind::Cubin)
                .map(|image| image.architecture)
                .collect()),
        }
    }

    /// The cubins that a GPU of architecture `hardware` (86 for sm_86) runs, in file order: one
    /// for each fatbin that has code for it, chosen as the driver does. A file that is a cubin
    /// itself is given back whatever it is for.
    ///
    /// # Errors
    /// No code for the GPU, images that cannot be unpacked.
    pub fn cubins_for(&self, hardware: u32) -> Result<Vec<Unpacked<'data>>, CubinError> {
        match self {
            Container::Cubin(bytes) => Ok(vec![Unpacked {
                image: None,
                bytes: Cow::Borrowed(*bytes),
            }]),
            Container::Fatbins(fatbins) => best_of_each(fatbins, hardware)?
                .into_iter()
                .map(unpack)
                .collect(),
        }
    }

    /// All cubins, in file order.
    ///
    /// # Errors
    /// Images that cannot be unpacked.
    pub fn cubins(&self) -> Result<Vec<Unpacked<'data>>, CubinError> {
        match self {
            Container::Cubin(bytes) => Ok(vec![Unpacked {
                image: None,
                bytes: Cow::Borrowed(*bytes),
            }]),
            Container::Fatbins(fatbins) => fatbins
                .iter()
                .flat_map(|fatbin| &fatbin.images)
                .filter(|image| image.kind == ImageKind::Cubin)
                .map(unpack)
                .collect(),
        }
    }
}

fn unpack<'data>(image: &Image<'data>) -> Result<Unpacked<'data>, CubinError> {
    Ok(Unpacked {
        image: Some(image.to_string()),
        bytes: image.bytes()?,
    })
}
