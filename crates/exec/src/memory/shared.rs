//! A CTA's shared memory: bytes with bounds.

use crate::lanes::{ALL, Lanes, WARP, lanes_of};
use crate::memory::address::Survey;

/// Shared memory of one CTA.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedMemory {
    bytes: Vec<u8>,
}

impl SharedMemory {
    /// Starts over with `bytes` zero bytes.
    pub(crate) fn reset(&mut self, bytes: usize) {
        self.bytes.clear();
        self.bytes.resize(bytes, 0);
    }

    /// Number of bytes.
    pub(crate) fn len(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Reads `N` bytes, zero outside.
    #[inline(always)]
    pub(crate) fn read<const N: usize>(&self, offset: u32) -> [u8; N] {
        match self
            .bytes
            .get(offset as usize..)
            .and_then(|rest| rest.first_chunk::<N>())
        {
            Some(chunk) => *chunk,
            None => [0; N],
        }
    }

    /// Reads a word.
    #[inline(always)]
    pub(crate) fn word(&self, offset: u32) -> u32 {
        u32::from_le_bytes(self.read::<4>(offset))
    }

    /// Writes bytes that lie inside.
    #[inline(always)]
    pub(crate) fn write(&mut self, offset: u32, bytes: &[u8]) {
        let at = offset as usize;
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// Reads each lane's bytes into words; the offsets were checked.
    #[inline(always)]
    pub(crate) fn load(
        &self,
        offsets: &[u64; 32],
        lanes: u32,
        survey: Option<Survey>,
        bytes: u32,
        words: &mut [Lanes; 4],
    ) {
        if bytes < 4 {
            for lane in lanes_of(lanes) {
                let offset = offsets[lane] as u32;
                words[0][lane] = if bytes == 1 {
                    u32::from(self.read::<1>(offset)[0])
                } else {
                    u32::from(u16::from_le_bytes(self.read::<2>(offset)))
                };
            }
            return;
        }
        let count = (bytes / 4) as usize;
        match survey {
            // One address for all: a broadcast.
            Some(survey) if survey.lowest == survey.highest => {
                for (index, word) in words.iter_mut().enumerate().take(count) {
                    *word = Lanes::splat(self.word(survey.lowest as u32 + 4 * index as u32));
                }
            }
            Some(survey) if survey.consecutive && bytes == 4 => {
                let from = survey.lowest as usize;
                if let Some(block) = self.bytes.get(from..from + 128) {
                    words[0] = words_of(block);
                }
            }
            _ => match bytes {
                4 => self.gather::<4>(offsets, lanes, words),
                8 => self.gather::<8>(offsets, lanes, words),
                _ => self.gather::<16>(offsets, lanes, words),
            },
        }
    }

    /// Reads `N` bytes of each lane.
    #[inline(always)]
    fn gather<const N: usize>(&self, offsets: &[u64; 32], lanes: u32, words: &mut [Lanes; 4]) {
        let mut read = |lane: usize| {
            let from = offsets[lane] as u32 as usize;
            let element = match self.bytes.get(from..from + N) {
                Some(element) => element,
                None => &[0; N],
            };
            for (word, bytes) in words.iter_mut().zip(element.chunks_exact(4)) {
                word[lane] = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            }
        };
        if lanes == ALL {
            for lane in 0..WARP {
                read(lane);
            }
        } else {
            for lane in lanes_of(lanes) {
                read(lane);
            }
        }
    }

    /// Writes each lane's bytes, lanes in rising order; the offsets were checked.
    #[inline(always)]
    pub(crate) fn store(
        &mut self,
        offsets: &[u64; 32],
        lanes: u32,
        survey: Option<Survey>,
        bytes: u32,
        words: &[Lanes; 4],
    ) {
        if bytes < 4 {
            for lane in lanes_of(lanes) {
                let word = words[0][lane].to_le_bytes();
                self.write(offsets[lane] as u32, &word[..bytes as usize]);
            }
            return;
        }
        if let Some(survey) = survey
            && survey.consecutive
            && bytes == 4
        {
            let from = survey.lowest as usize;
            if let Some(block) = self.bytes.get_mut(from..from + 128) {
                for (place, word) in block.chunks_exact_mut(4).zip(words[0].0) {
                    place.copy_from_slice(&word.to_le_bytes());
                }
            }
            return;
        }
        for lane in lanes_of(lanes) {
            let offset = offsets[lane] as usize;
            if let Some(place) = self.bytes.get_mut(offset..offset + bytes as usize) {
                for (index, part) in place.chunks_exact_mut(4).enumerate() {
                    part.copy_from_slice(&words[index & 3][lane].to_le_bytes());
                }
            }
        }
    }
}

/// Thirty-two words from 128 bytes.
#[inline(always)]
pub(crate) fn words_of(block: &[u8]) -> Lanes {
    let mut lanes = Lanes::ZERO;
    for (word, bytes) in lanes.0.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    lanes
}
