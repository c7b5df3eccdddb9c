//! The tags of an L2 slice: which lines are there, which of their sectors hold data, which must be
//! written back, which are on their way (MODEL.md §8.1: sectored, LRU, write-back, allocate on
//! miss, lazy fetch).
//!
//! Of a sector that was written without being read, the bytes that were written are known. Once they are
//! all of them, by however many writes, the sector is as good as one that was read. Until then a read
//! fetches it, and a write-back carries the mask.

use source::{ByteMask, Line, SectorMask};

/// The sectors of a line, as four masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sectors {
    /// Hold the whole sector.
    pub valid: u8,
    /// Hold bytes that the DRAM does not have yet. Dirty without valid: those of `L2Tags::bytes`.
    pub dirty: u8,
    /// Are being read from the DRAM.
    pub pending: u8,
}

/// Every sector of a line.
const ALL: u8 = 0xf;
/// No line.
const NO_LINE: u64 = u64::MAX;
/// Bits of a way's number in the recency order.
const WAY_BITS: u32 = 4;
/// Every way's nibble holds 1.
const ONES: u64 = 0x1111_1111_1111_1111;
/// The order of an untouched set: way 0 first.
const UNTOUCHED: u64 = 0xfedc_ba98_7654_3210;

/// Ways of a set as stored.
const STRIDE: u32 = 16;
/// Every byte holds 1.
const BYTE_ONES: u64 = 0x0101_0101_0101_0101;

/// The tags of one slice.
#[derive(Clone, Debug)]
pub struct L2Tags {
    ways: u32,
    /// Per set, one byte of each way's line: a lookup compares these first.
    keys: Vec<[u64; 2]>,
    /// Per slot, the line.
    lines: Vec<u64>,
    sectors: Vec<Sectors>,
    /// Per slot, the bytes of each sector that are written; meaningful where it is dirty and not valid.
    /// Nothing until there is such a sector.
    bytes: Vec<[ByteMask; Line::SECTORS as usize]>,
    /// Per set, the ways from the most to the least recently used, lowest nibble first.
    order: Vec<u64>,
}

impl L2Tags {
    /// Empty tags of `sets` × `ways` lines, at most 16 ways. A slot is set × 16 + way.
    pub fn new(sets: u32, ways: u32) -> L2Tags {
        let slots = (sets * STRIDE) as usize;
        L2Tags {
            ways: ways.min(STRIDE),
            keys: vec![[0; 2]; sets as usize],
            lines: vec![NO_LINE; slots],
            sectors: vec![Sectors::default(); slots],
            bytes: Vec::new(),
            order: vec![UNTOUCHED; sets as usize],
        }
    }

    /// The way of a slot in its set.
    pub fn way(&self, slot: u32) -> u32 {
        slot % STRIDE
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.lines.len()
    }

    /// The slot of `line` in `set`, if it is there.
    #[inline]
    pub fn find(&self, set: u32, line: u64) -> Option<u32> {
        let wanted = u64::from(key(line)) * BYTE_ONES;
        for (half, &keys) in (0_u32..).zip(&self.keys[set as usize]) {
            let differs = keys ^ wanted;
            // Marks every byte that is zero, and now and then another: the line decides.
            let mut equal = differs.wrapping_sub(BYTE_ONES) & !differs & (BYTE_ONES << 7);
            while equal != 0 {
                let slot = set * STRIDE + half * 8 + equal.trailing_zeros() / 8;
                if self.lines[slot as usize] == line {
                    return Some(slot);
                }
                equal &= equal - 1;
            }
        }
        None
    }

    /// The line in a slot; meaningless if the slot was never filled.
    #[inline]
    pub fn line(&self, slot: u32) -> u64 {
        self.lines[slot as usize]
    }

    /// The sectors of a slot.
    #[inline]
    pub fn sectors(&mut self, slot: u32) -> &mut Sectors {
        &mut self.sectors[slot as usize]
    }

    /// Writes bytes of the sectors `written` of a slot. How many became dirty.
    #[inline]
    pub fn write(
        &mut self,
        slot: u32,
        written: SectorMask,
        bytes: &[ByteMask; Line::SECTORS as usize],
    ) -> u32 {
        let sectors = &mut self.sectors[slot as usize];
        let mut whole = 0;
        for (sector, &bytes) in bytes.iter().enumerate() {
            whole |= SectorMask::from(bytes == ByteMask::MAX) << sector;
        }
        let partly = written & !(whole | sectors.valid);
        if partly != 0 {
            if self.bytes.is_empty() {
                self.bytes = vec![[0; Line::SECTORS as usize]; self.lines.len()];
            }
            let known = &mut self.bytes[slot as usize];
            for (sector, (known, &bytes)) in known.iter_mut().zip(bytes).enumerate() {
                if partly >> sector & 1 == 1 {
                    let before = if sectors.dirty >> sector & 1 == 1 {
                        *known
                    } else {
                        0
                    };
                    *known = before | bytes;
                    whole |= SectorMask::from(*known == ByteMask::MAX) << sector;
                }
            }
        }
        let became = written & !sectors.dirty;
        sectors.dirty |= written;
        sectors.valid |= written & whole;
        became.count_ones()
    }

    /// Sectors of which only some bytes are there, and the DRAM does not have those.
    #[inline]
    pub fn partly_written(&self, slot: u32) -> SectorMask {
        let sectors = &self.sectors[slot as usize];
        sectors.dirty & !sectors.valid
    }

    /// Makes the slot the most recently used of its set.
    #[inline]
    pub fn touch(&mut self, set: u32, slot: u32) {
        let way = u64::from(slot % STRIDE);
        let order = self.order[set as usize];
        // The lowest nibble that is zero after the exclusive-or holds the way.
        let differs = order ^ (way * ONES);
        let zero = differs.wrapping_sub(ONES) & !differs & (ONES << (WAY_BITS - 1));
        let shift = zero.trailing_zeros() / WAY_BITS * WAY_BITS;
        let newer = order & ((1_u64 << shift) - 1);
        let older = order & !((1_u64 << shift) - 1) & !(0xf_u64 << shift);
        self.order[set as usize] = older | newer << WAY_BITS | way;
    }

    /// The least recently used slot of a set that waits for nothing.
    #[inline]
    pub fn victim(&self, set: u32) -> Option<u32> {
        let order = self.order[set as usize];
        let first = set * STRIDE;
        (0..self.ways)
            .rev()
            .map(|position| first + (order >> (position * WAY_BITS) & 0xf) as u32)
            .find(|&slot| self.sectors[slot as usize].pending == 0)
    }

    /// Puts `line` into a slot, with no sector.
    #[inline]
    pub fn replace(&mut self, slot: u32, line: u64) {
        let (way, keys) = (slot % STRIDE, &mut self.keys[(slot / STRIDE) as usize]);
        let (half, shift) = ((way / 8) as usize, way % 8 * 8);
        keys[half] = keys[half] & !(0xff << shift) | u64::from(key(line)) << shift;
        self.lines[slot as usize] = line;
        self.sectors[slot as usize] = Sectors::default();
    }

    /// Forgets what was on its way, at the end of a launch that was given up.
    pub fn settle(&mut self) {
        for sectors in &mut self.sectors {
            sectors.pending = 0;
        }
    }

    /// Puts a whole line that the DRAM has too into its set. How many sectors of another line the
    /// DRAM did not have yet.
    pub fn fill(&mut self, set: u32, line: u64) -> u32 {
        let slot = match self.find(set, line) {
            Some(slot) => slot,
            None => match self.victim(set) {
                Some(victim) => {
                    let dirty = self.sectors(victim).dirty.count_ones();
                    self.replace(victim, line);
                    *self.sectors(victim) = Sectors {
                        valid: ALL,
                        ..Sectors::default()
                    };
                    self.touch(set, victim);
                    return dirty;
                }
                None => return 0,
            },
        };
        *self.sectors(slot) = Sectors {
            valid: ALL,
            ..Sectors::default()
        };
        self.touch(set, slot);
        0
    }

    /// Sectors that hold bytes the DRAM does not have.
    pub fn dirty_sectors(&self) -> u64 {
        let dirty = |sectors: &Sectors| u64::from(sectors.dirty.count_ones());
        self.sectors.iter().map(dirty).sum()
    }
}

/// The byte that stands for a line in a first comparison.
#[inline]
fn key(line: u64) -> u8 {
    (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_way_goes_first() {
        for ways in [1, 2, 3, 4, 12, 16] {
            let mut tags = L2Tags::new(2, ways);
            let mut model: Vec<u32> = (0..ways).collect();
            let mut state = 12345_u32;
            for _ in 0..1000 {
                let victim = tags.victim(1).expect("nothing is pending");
                assert_eq!(victim, STRIDE + model[ways as usize - 1]);
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let way = (state >> 16) % ways;
                tags.touch(1, STRIDE + way);
                model.retain(|&other| other != way);
                model.insert(0, way);
            }
        }
    }

    /// Against bytes that are kept one by one.
    #[test]
    fn a_sector_is_there_once_each_of_its_bytes_was_written() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u32
        };
        for _ in 0..300 {
            let mut tags = L2Tags::new(1, 2);
            let mut model = [[false; 32]; 4];
            for line in 0..2 {
                // What the slot held before does not matter.
                tags.replace(0, line);
                model = [[false; 32]; 4];
                for _ in 0..random() % 12 {
                    let mut bytes = [0; 4];
                    let mut written = 0;
                    for (sector, bytes) in bytes.iter_mut().enumerate() {
                        *bytes = match random() % 4 {
                            0 => continue,
                            1 => 0xff << (random() % 4 * 8),
                            2 => 1 << (random() % 32),
                            _ => random() | random() << 16,
                        };
                        written |= u8::from(*bytes != 0) << sector;
                        for (byte, known) in model[sector].iter_mut().enumerate() {
                            *known |= *bytes >> byte & 1 == 1;
                        }
                    }
                    tags.write(0, written, &bytes);
                }
            }
            for (sector, bytes) in model.iter().enumerate() {
                let sectors = *tags.sectors(0);
                let valid = bytes.iter().all(|&known| known);
                let dirty = bytes.iter().any(|&known| known);
                assert_eq!(sectors.valid >> sector & 1 == 1, valid);
                assert_eq!(sectors.dirty >> sector & 1 == 1, dirty);
                assert_eq!(tags.partly_written(0) >> sector & 1 == 1, dirty && !valid);
            }
        }
    }

    #[test]
    fn a_seventeenth_line_of_a_set_thrashes_and_sixteen_do_not() {
        for (lines, misses_per_round) in [(16, 0), (17, 17)] {
            let mut tags = L2Tags::new(1, 16);
            let mut misses = 0;
            for round in 0..3 {
                if round == 1 {
                    misses = 0;
                }
                for line in 0..lines {
                    let slot = tags.find(0, line).unwrap_or_else(|| {
                        misses += 1;
                        let slot = tags.victim(0).expect("nothing is pending");
                        tags.replace(slot, line);
                        slot
                    });
                    tags.touch(0, slot);
                }
            }
            assert_eq!(misses, 2 * misses_per_round);
        }
    }
}
