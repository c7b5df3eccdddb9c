//! From the stored bytes of an image to those of the cubin or the PTX it holds.

use std::borrow::Cow;
use std::io::Read;

use crate::error::CubinError;
use crate::fatbin::{Compression, Image};

/// Largest image that is unpacked, in bytes: the largest cubins of the vendor's libraries have
/// some hundred megabytes.
const LARGEST: u64 = 1 << 30;
/// An LZ4 block cannot say more than 255 bytes with one, but for its first few.
const LZ4_RATIO: u64 = 255;

impl<'data> Image<'data> {
    /// The image's bytes, unpacked. For a grouped image the whole group is unpacked to get at it.
    ///
    /// # Errors
    /// Bytes that are no LZ4 block or zstd frame, that unpack to another length than the image's
    /// header says, and a place in a group beyond the group's end.
    pub fn bytes(&self) -> Result<Cow<'data, [u8]>, CubinError> {
        let whole = match self.compression {
            Compression::None => Cow::Borrowed(self.stored),
            Compression::Lz4 => Cow::Owned(self.lz4()?),
            Compression::Zstd => Cow::Owned(self.zstd()?),
        };
        let Some(part) = self.part else {
            return Ok(whole);
        };
        let place = usize::try_from(part.start)
            .ok()
            .zip(usize::try_from(part.length).ok())
            .and_then(|(start, length)| Some(start..start.checked_add(length)?))
            .filter(|place| place.end <= whole.len());
        let Some(place) = place else {
            return Err(CubinError::Malformed {
                place: format!("the image for {self} in a group of the fatbin"),
                offset: self.offset,
                found: format!(
                    "bytes {} to {} of the group",
                    part.start,
                    part.start.saturating_add(part.length)
                ),
                expected: format!("no more than its {} bytes", whole.len()),
            });
        };
        Ok(match whole {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[place]),
            Cow::Owned(mut bytes) => {
                bytes.truncate(place.end);
                bytes.drain(..place.start);
                Cow::Owned(bytes)
            }
        })
    }

    fn broken(&self, method: &'static str, reason: String) -> CubinError {
        CubinError::Compression {
            image: self.to_string(),
            offset: self.offset,
            method,
            reason,
        }
    }

    /// The unpacked length, refused before anything is allocated when it cannot be true.
    fn length(&self, method: &'static str, most: u64) -> Result<usize, CubinError> {
        usize::try_from(self.unpacked)
            .ok()
            .filter(|_| self.unpacked <= most.min(LARGEST))
            .ok_or_else(|| {
                self.broken(
                    method,
                    format!(
                        "its header says that it unpacks to {} bytes, its {} stored bytes hold at \
                         most {}",
                        self.unpacked,
                        self.stored.len(),
                        most.min(LARGEST)
                    ),
                )
            })
    }

    fn lz4(&self) -> Result<Vec<u8>, CubinError> {
        let most = (self.stored.len() as u64)
            .saturating_mul(LZ4_RATIO)
            .saturating_add(64);
        let length = self.length("LZ4", most)?;
        let bytes = lz4_flex::block::decompress(self.stored, length)
            .map_err(|error| self.broken("LZ4", error.to_string()))?;
        self.of_length("LZ4", bytes, length)
    }

    fn zstd(&self) -> Result<Vec<u8>, CubinError> {
        let length = self.length("zstd", LARGEST)?;
        let broken = |reason: String| self.broken("zstd", reason);
        let decoder = ruzstd::decoding::StreamingDecoder::new(self.stored)
            .map_err(|error| broken(error.to_string()))?;
        // Grows with what is really there, whatever the header says.
        let mut bytes = Vec::new();
        decoder
            .take(length as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| broken(error.to_string()))?;
        self.of_length("zstd", bytes, length)
    }

    fn of_length(
        &self,
        method: &'static str,
        bytes: Vec<u8>,
        length: usize,
    ) -> Result<Vec<u8>, CubinError> {
        if bytes.len() == length {
            return Ok(bytes);
        }
        let relation = if bytes.len() > length {
            "more than"
        } else {
            "only"
        };
        let found = bytes.len().min(length);
        Err(self.broken(
            method,
            format!("it unpacks to {relation} {found} bytes, its header says {length}"),
        ))
    }
}
