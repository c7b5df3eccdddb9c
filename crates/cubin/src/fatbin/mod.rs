//! The fatbin: the archive in which the compiler packs one program's code for several
//! architectures, as a file of its own or inside host executables and objects.
//!
//! In the order a file meets them:
//!
//! * [`mod@host`] — where fatbins lie in a host executable or object;
//! * [`mod@read`] — the header and the images of one fatbin;
//! * [`mod@unpack`] — LZ4, zstd and grouped images;
//! * [`mod@choose`] — which image a GPU runs.
//!
//! The layout was taken from `fatbinary` of CUDA 13.5 in every compression mode and from what
//! the releases 11.8 and 12.x write, and checked against `cuobjdump -lelf` and `-xelf`.

pub mod choose;
pub mod host;
pub mod read;
pub mod unpack;

use std::fmt;

/// One fatbin: the images of one translation unit, or of one device link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fatbin<'data> {
    /// Offset of its header in the file, in bytes.
    pub offset: u64,
    /// Its images in file order.
    pub images: Vec<Image<'data>>,
}

/// What an image holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    /// PTX text (kind 1).
    Ptx,
    /// An ELF cubin (kind 2).
    Cubin,
    /// Something else, by its kind number: intermediate code for link-time optimisation and the
    /// like.
    Other(u16),
}

/// On which GPUs besides the named one an image's code may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Portability {
    /// Those of the same generation that are not older.
    Generation,
    /// None (`sm_90a`).
    Architecture,
    /// Those of the same family (`sm_100f`).
    Family,
}

/// How an image's bytes are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    None,
    /// One LZ4 block.
    Lz4,
    /// One zstd frame.
    Zstd,
}

/// One image of a fatbin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image<'data> {
    /// What it holds.
    pub kind: ImageKind,
    /// The architecture it was compiled for: 86 for sm_86 or compute_86.
    pub architecture: u32,
    /// Where else its code may run.
    pub portability: Portability,
    /// The name that the compiler gave it; mostly none.
    pub name: Option<String>,
    /// How it is stored.
    pub compression: Compression,
    /// Offset of its entry in the file, in bytes.
    pub offset: u64,
    /// The stored bytes, without padding; those of the whole group for a grouped image.
    pub stored: &'data [u8],
    /// Length in bytes once unpacked; that of the whole group for a grouped image.
    pub unpacked: u64,
    /// Its place in the unpacked group, for an image of a group (`fatbinary --concat`).
    pub part: Option<Part>,
}

/// The place of an image in its unpacked group, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Where it begins.
    pub start: u64,
    /// How long it is.
    pub length: u64,
}

impl fmt::Display for Image<'_> {
    /// `sm_86` or `compute_86`, with the letter of restricted portability, as the compiler's
    /// options name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = match self.kind {
            ImageKind::Cubin => "sm_",
            ImageKind::Ptx | ImageKind::Other(_) => "compute_",
        };
        let letter = match self.portability {
            Portability::Generation => "",
            Portability::Architecture => "a",
            Portability::Family => "f",
        };
        write!(f, "{prefix}{}{letter}", self.architecture)
    }
}
