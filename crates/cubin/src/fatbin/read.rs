//! The header of a fatbin and its images: fixed-layout records, each with its own header size
//! and stored size.
//!
//! Header, 16 bytes: magic, version (u16), header size (u16), size of all that follows (u64).
//! Image header, at least 64 bytes: +0 kind (u16), +4 header size (u32), +8 stored size with
//! padding (u64), +16 stored size without (u32, 0 when not compressed), +20 offset of the options
//! (u32), +28 architecture (u32), +32 name offset (u32), +36 name length (u32), +40 flags (u64),
//! +56 unpacked size (u64). An image of kind 256 is a group: its options hold a count (u32), a
//! size (u32) and one 64-byte image header per member, whose +4 is the member's offset in the
//! unpacked group and whose +8 is its size.

use crate::error::CubinError;
use crate::fatbin::{Compression, Fatbin, Image, ImageKind, Part, Portability};

/// First bytes of a fatbin.
pub const MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];
/// The version of the layout below, the only one there is.
const VERSION: u16 = 1;
/// Bytes of a fatbin's header.
const HEADER: usize = 16;
/// Fewest bytes of an image's header.
const IMAGE_HEADER: usize = 64;
/// The kind of a group of images.
const GROUP: u16 = 256;

/// Flag: the image is one LZ4 block.
const LZ4: u64 = 0x2000;
/// Flag: the image is one zstd frame.
const ZSTD: u64 = 0x8000;
/// Flag: the code runs on exactly the named architecture (`sm_90a`).
const ARCHITECTURE_SPECIFIC: u64 = 0x10_0000;
/// Flag: the code runs on the family of the named architecture (`sm_100f`).
const FAMILY_SPECIFIC: u64 = 0x20_0000;

/// The little-endian number of `N` bytes at `offset`; `None` past the end.
fn bytes_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes
        .get(offset..)?
        .get(..N)
        .and_then(|found| found.try_into().ok())
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes_at(bytes, offset).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes_at(bytes, offset).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes_at(bytes, offset).map(u64::from_le_bytes)
}

/// What an image's header says, before it is checked against what follows it.
struct ImageHeader {
    kind: u16,
    second: u32,
    size: u64,
    compressed: u32,
    options: u32,
    architecture: u32,
    name: (u32, u32),
    flags: u64,
    unpacked: u64,
}

impl ImageHeader {
    /// The header at the start of `bytes`; `None` if they are too few.
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(ImageHeader {
            kind: u16_at(bytes, 0)?,
            second: u32_at(bytes, 4)?,
            size: u64_at(bytes, 8)?,
            compressed: u32_at(bytes, 16)?,
            options: u32_at(bytes, 20)?,
            architecture: u32_at(bytes, 28)?,
            name: (u32_at(bytes, 32)?, u32_at(bytes, 36)?),
            flags: u64_at(bytes, 40)?,
            unpacked: u64_at(bytes, 56)?,
        })
    }

    fn image_kind(&self) -> ImageKind {
        match self.kind {
            1 => ImageKind::Ptx,
            2 => ImageKind::Cubin,
            other => ImageKind::Other(other),
        }
    }

    fn portability(&self) -> Portability {
        if self.flags & FAMILY_SPECIFIC != 0 {
            Portability::Family
        } else if self.flags & ARCHITECTURE_SPECIFIC != 0 {
            Portability::Architecture
        } else {
            Portability::Generation
        }
    }

    fn compression(&self) -> Compression {
        if self.flags & ZSTD != 0 {
            Compression::Zstd
        } else if self.flags & LZ4 != 0 {
            Compression::Lz4
        } else {
            Compression::None
        }
    }
}

/// The image headers are read one after the other; `position` says where in the file we are.
struct Reader<'data> {
    /// The bytes that the fatbin lies in, up to their end.
    bytes: &'data [u8],
    /// Offset of `bytes` in the file.
    base: u64,
    /// Index of the image that is read, for messages.
    index: usize,
}

impl<'data> Reader<'data> {
    fn place(&self) -> String {
        format!("image {} of the fatbin", self.index)
    }

    fn truncated(&self, what: &str, offset: usize, needed: u64) -> CubinError {
        CubinError::Truncated {
            what: what.to_owned(),
            offset: self.base + offset as u64,
            needed,
            length: self.base + self.bytes.len() as u64,
        }
    }

    fn malformed(&self, offset: usize, found: String, expected: &str) -> CubinError {
        CubinError::Malformed {
            place: self.place(),
            offset: self.base + offset as u64,
            found,
            expected: expected.to_owned(),
        }
    }

    /// Reads the image at `start` of a fatbin that ends at `end`; gives its images (several for a
    /// group) and where the next one starts.
    fn image(
        &mut self,
        start: usize,
        end: usize,
        images: &mut Vec<Image<'data>>,
    ) -> Result<usize, CubinError> {
        let whole = &self.bytes[start..end];
        let header = ImageHeader::read(whole).ok_or_else(|| {
            self.truncated(
                &format!("the header of {}", self.place()),
                start,
                IMAGE_HEADER as u64,
            )
        })?;
        let header_size = header.second as usize;
        if header_size < IMAGE_HEADER || header_size > whole.len() {
            return Err(self.malformed(
                start + 4,
                format!("a header of {header_size} bytes"),
                "at least 64, and no more than the fatbin has left",
            ));
        }
        let stored = usize::try_from(header.size)
            .ok()
            .and_then(|size| whole.get(header_size..)?.get(..size))
            .ok_or_else(|| {
                self.malformed(
                    start + 8,
                    format!("a stored size of {} bytes", header.size),
                    "no more than the fatbin has left",
                )
            })?;
        let next = start + header_size + stored.len();
        let compression = header.compression();
        let (stored, unpacked) = match compression {
            Compression::None => (stored, stored.len() as u64),
            Compression::Lz4 | Compression::Zstd => {
                let exact = stored.get(..header.compressed as usize).ok_or_else(|| {
                    self.malformed(
                        start + 16,
                        format!("a compressed size of {} bytes", header.compressed),
                        "no more than the stored size",
                    )
                })?;
                (exact, header.unpacked)
            }
        };
        let image = Image {
            kind: header.image_kind(),
            architecture: header.architecture,
            portability: header.portability(),
            name: self.name(&whole[..header_size], header.name),
            compression,
            offset: self.base + start as u64,
            stored,
            unpacked,
            part: None,
        };
        if header.kind == GROUP {
            self.group(start, &whole[..header_size], header.options, &image, images)?;
        } else {
            images.push(image);
        }
        Ok(next)
    }

    /// The members of a group, whose headers lie in the options of the group's own.
    fn group(
        &self,
        start: usize,
        header: &[u8],
        options: u32,
        group: &Image<'data>,
        images: &mut Vec<Image<'data>>,
    ) -> Result<(), CubinError> {
        let options = options as usize;
        let count = u32_at(header, options).ok_or_else(|| {
            self.malformed(
                start + 20,
                format!("options at byte {options} of the header"),
                "an offset in the header, where the group's members are",
            )
        })?;
        for member in 0..count as usize {
            let at = member
                .checked_mul(IMAGE_HEADER)
                .and_then(|offset| offset.checked_add(options)?.checked_add(8))
                .filter(|&at| at < header.len());
            let member = at
                .and_then(|at| ImageHeader::read(&header[at..]))
                .ok_or_else(|| {
                    self.malformed(
                        start + options,
                        format!("a group of {count} images"),
                        "as many 64-byte headers as lie in the group's own",
                    )
                })?;
            images.push(Image {
                kind: member.image_kind(),
                architecture: member.architecture,
                portability: member.portability(),
                part: Some(Part {
                    start: u64::from(member.second),
                    length: member.size,
                }),
                ..group.clone()
            });
        }
        Ok(())
    }

    /// The name at `(offset, length)` of an image's header, if it has one.
    fn name(&self, header: &[u8], (offset, length): (u32, u32)) -> Option<String> {
        if length == 0 {
            return None;
        }
        let bytes = header.get(offset as usize..)?.get(..length as usize)?;
        let name = String::from_utf8_lossy(bytes);
        Some(name.trim_end_matches('\0').to_owned())
    }
}

/// Reads the fatbin that begins at byte `start` of `bytes`; `base` is the offset of `bytes` in
/// the file, for messages. Also tells where it ends in `bytes`.
///
/// # Errors
/// Another magic number or version, a size that runs past `bytes`, image headers that do not fit.
pub fn fatbin_at(bytes: &[u8], start: usize, base: u64) -> Result<(Fatbin<'_>, usize), CubinError> {
    let mut reader = Reader {
        bytes,
        base,
        index: 0,
    };
    let whole = bytes.get(start..).unwrap_or_default();
    let fields = (|| {
        Some((
            bytes_at::<4>(whole, 0)?,
            u16_at(whole, 4)?,
            u16_at(whole, 6)?,
            u64_at(whole, 8)?,
        ))
    })();
    let Some((magic, version, header_size, body)) = fields else {
        return Err(reader.truncated("the fatbin's header", start, HEADER as u64));
    };
    let wrong = |offset: usize, found: String, expected: &str| CubinError::Malformed {
        place: "the fatbin's header".to_owned(),
        offset: base + (start + offset) as u64,
        found,
        expected: expected.to_owned(),
    };
    if magic != MAGIC {
        return Err(wrong(
            0,
            format!("the number {:#010x}", u32::from_le_bytes(magic)),
            "0xba55ed50, with which every fatbin begins",
        ));
    }
    if version != VERSION {
        return Err(wrong(4, format!("version {version}"), "version 1"));
    }
    let header_size = usize::from(header_size);
    if header_size < HEADER {
        return Err(wrong(
            6,
            format!("a header of {header_size} bytes"),
            "at least 16",
        ));
    }
    let end = usize::try_from(body)
        .ok()
        .and_then(|body| start.checked_add(header_size)?.checked_add(body))
        .filter(|&end| end <= bytes.len());
    let Some(end) = end else {
        return Err(reader.truncated("the fatbin's images", start + header_size, body));
    };
    let mut images = Vec::new();
    let mut at = start + header_size;
    while at < end {
        at = reader.image(at, end, &mut images)?;
        reader.index += 1;
    }
    let fatbin = Fatbin {
        offset: base + start as u64,
        images,
    };
    Ok((fatbin, end))
}
