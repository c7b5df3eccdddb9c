//! From 32 lane addresses to distinct 32-byte sectors of 128-byte lines, and from shared-memory
//! addresses to wavefronts (MODEL.md §7.5, §7.6).

use source::{Access, ByteMask, LaneMask, Line, Operation, Sector, SectorMask};

/// Sectors of a line.
const SECTORS: usize = Line::SECTORS as usize;
/// Lines that the lanes of one instruction can touch: an element may straddle two.
const MOST: usize = 64;

/// Lines of one warp access with the sectors that are touched, in the order of the first lane that
/// touches each line.
#[derive(Clone, Debug)]
pub struct Lines {
    /// Number of lines.
    pub count: u16,
    /// Number of sectors of all lines.
    pub sectors: u16,
    line: [u64; MOST],
    mask: [SectorMask; MOST],
    whole: [SectorMask; MOST],
    lanes: [[u8; SECTORS]; MOST],
    /// Bytes that the lanes touch in each sector, bit i = byte i.
    touched: [[ByteMask; SECTORS]; MOST],
    /// Lines beyond those: a texture fetch filters up to 16 texels per lane.
    further: Vec<(u64, SectorMask)>,
}

/// The sectors that an access touches in one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The line.
    pub line: Line,
    /// Its sectors.
    pub sectors: SectorMask,
    /// Stores: those of which every byte is touched.
    pub whole: SectorMask,
}

impl Lines {
    /// No lines.
    pub fn new() -> Lines {
        Lines {
            count: 0,
            sectors: 0,
            line: [0; MOST],
            mask: [0; MOST],
            whole: [0; MOST],
            lanes: [[0; SECTORS]; MOST],
            touched: [[0; SECTORS]; MOST],
            further: Vec::new(),
        }
    }

    /// Forgets all lines.
    #[inline]
    pub fn clear(&mut self) {
        self.count = 0;
        self.sectors = 0;
    }

    /// What is touched in the line number `index`, below [`Lines::count`].
    #[inline]
    pub fn at(&self, index: usize) -> Part {
        match self.line.get(index) {
            Some(&line) => Part {
                line: Line(line),
                sectors: self.mask[index],
                whole: self.whole[index],
            },
            None => {
                let (line, sectors) = self.further[index - MOST];
                Part {
                    line: Line(line),
                    sectors,
                    whole: 0,
                }
            }
        }
    }

    /// The bytes of each sector of line `index` that a store touches.
    #[inline]
    pub fn bytes(&self, index: usize) -> [ByteMask; SECTORS] {
        self.touched.get(index).copied().unwrap_or_default()
    }

    /// Lanes that touch sector `sector` (0 to 3) of line `index`.
    #[inline]
    pub fn lanes(&self, index: usize, sector: u32) -> u32 {
        let lanes = self.lanes.get(index);
        lanes.map_or(1, |lanes| lanes[sector as usize].into())
    }

    /// The sectors of a texture fetch: the texels of all lanes, merged already.
    fn texels(&mut self, texels: &[u64]) {
        self.further.clear();
        for &sector in texels {
            let (line, bit) = (Sector(sector).line().0, Sector(sector).mask());
            if let Some(index) = self.find(line) {
                self.mask[index] |= bit;
            } else if let Some(last) = self.further.last_mut()
                && last.0 == line
            {
                last.1 |= bit;
            } else if usize::from(self.count) < MOST {
                let index = usize::from(self.count);
                self.line[index] = line;
                self.mask[index] = bit;
                self.whole[index] = 0;
                self.touched[index] = [0; SECTORS];
                self.lanes[index] = [1; SECTORS];
                self.count += 1;
            } else {
                self.further.push((line, bit));
                self.count += 1;
            }
        }
        self.sectors = texels.len() as u16;
    }

    #[inline]
    fn find(&self, line: u64) -> Option<usize> {
        let count = usize::from(self.count).min(MOST);
        self.line[..count].iter().rposition(|&known| known == line)
    }

    /// A lane touches `bytes` bytes from byte `from` of a sector on.
    #[inline]
    fn add(&mut self, sector: u64, from: u64, bytes: u64) {
        let (line, part) = (sector / SECTORS as u64, (sector % SECTORS as u64) as usize);
        let index = self.find(line).unwrap_or_else(|| {
            let index = usize::from(self.count);
            self.line[index] = line;
            self.mask[index] = 0;
            self.whole[index] = 0;
            self.lanes[index] = [0; SECTORS];
            self.touched[index] = [0; SECTORS];
            self.count += 1;
            index
        });
        self.sectors += u16::from(self.mask[index] >> part & 1 == 0);
        self.mask[index] |= 1 << part;
        self.lanes[index][part] += 1;
        self.touched[index][part] |= bytes_from(from, bytes);
    }

    /// Coalesces the lanes of `access`.
    pub fn coalesce(&mut self, access: &Access) {
        self.clear();
        if !access.texels.is_empty() {
            self.texels(&access.texels);
            return;
        }
        let bytes = access.bytes.max(1) as u64;
        if access.lanes == LaneMask::MAX && bytes <= 16 && consecutive(&access.addresses, bytes) {
            self.consecutive(access.addresses[0], bytes);
            return;
        }
        let mut lanes = access.lanes;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let address = access.addresses[lane];
            let from = address % Sector::BYTES;
            let first = address / Sector::BYTES;
            let here = bytes.min(Sector::BYTES - from);
            self.add(first, from, here);
            if here < bytes {
                self.add(first + 1, 0, bytes - here);
            }
        }
        if access.operation == Operation::Store {
            for index in 0..usize::from(self.count) {
                let touched = self.touched[index].iter().enumerate();
                self.whole[index] = touched.fold(0, |whole, (part, &touched)| {
                    whole | SectorMask::from(touched == ByteMask::MAX) << part
                });
            }
        }
    }

    /// The common case: all lanes active, one element after the other.
    #[inline]
    fn consecutive(&mut self, start: u64, bytes: u64) {
        let end = start + 32 * bytes;
        let first = start / Line::BYTES;
        let last = (end - 1) / Line::BYTES;
        for (index, line) in (first..=last).enumerate() {
            let mut mask = 0;
            let mut whole = 0;
            let mut touched = [0; SECTORS];
            for (part, touched) in touched.iter_mut().enumerate() {
                let sector = line * Line::BYTES + part as u64 * Sector::BYTES;
                let from = start.max(sector);
                let to = end.min(sector + Sector::BYTES);
                if from < to {
                    mask |= 1 << part;
                    *touched = bytes_from(from - sector, to - from);
                    whole |= SectorMask::from(*touched == ByteMask::MAX) << part;
                    self.lanes[index][part] = (to - from).div_ceil(bytes) as u8;
                }
            }
            self.line[index] = line;
            self.mask[index] = mask;
            self.whole[index] = whole;
            self.touched[index] = touched;
            self.sectors += mask.count_ones() as u16;
        }
        self.count = (last - first + 1) as u16;
    }
}

/// `bytes` bytes of a sector from byte `from` on.
#[inline]
fn bytes_from(from: u64, bytes: u64) -> ByteMask {
    (((1_u64 << bytes) - 1) << from) as ByteMask
}

#[inline]
fn consecutive(addresses: &[u64; 32], bytes: u64) -> bool {
    let mut same = true;
    for (lane, &address) in addresses.iter().enumerate() {
        same &= address == addresses[0].wrapping_add(lane as u64 * bytes);
    }
    same
}

/// Banks of shared memory, each one word wide.
const BANKS: usize = 32;

/// How often shared memory is read or written for one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wavefronts {
    /// Cycles in which the banks are busy with it.
    pub cycles: u32,
    /// Those that it would need without a conflict: one for each 128 bytes.
    pub passes: u32,
}

impl Wavefronts {
    /// Those of an instruction that moves nothing.
    pub const NONE: Wavefronts = Wavefronts {
        cycles: 0,
        passes: 0,
    };

    /// Cycles that conflicts add.
    pub fn conflicts(self) -> u32 {
        self.cycles - self.passes
    }
}

/// Accesses that the lanes of a shared-memory instruction need: the largest number of distinct words in
/// one bank; lanes with the same word share it. Accesses wider than a word go in passes of the lanes
/// that together move 128 bytes (REGRESSIONS M13: 64-bit by half warps, 128-bit by quarter warps).
pub fn wavefronts(addresses: &[u64; 32], lanes: LaneMask, bytes: u8) -> Wavefronts {
    let words = (bytes as usize / 4).max(1);
    let lanes_per_pass = (32 / words).max(1);
    let span = if lanes_per_pass == 32 {
        LaneMask::MAX
    } else {
        (1 << lanes_per_pass) - 1
    };
    let mut needed = Wavefronts::NONE;
    for first_lane in (0..32).step_by(lanes_per_pass) {
        let pass_lanes = lanes >> first_lane & span;
        if pass_lanes != 0 {
            needed.passes += 1;
            needed.cycles += pass_degree(addresses, pass_lanes, first_lane, words);
        }
    }
    if needed.passes == 0 {
        return Wavefronts {
            cycles: 1,
            passes: 1,
        };
    }
    needed
}

/// The pattern that a shared-memory instruction used last, and what it needs: that depends only on the
/// distances between the lanes' words, which a loop seldom changes.
#[derive(Clone, Debug)]
pub struct Pattern {
    lanes: LaneMask,
    /// Distance of each lane's address from lane 0's, in bytes.
    offsets: [u32; 32],
    needed: Wavefronts,
}

impl Pattern {
    /// No pattern yet.
    pub const NONE: Pattern = Pattern {
        lanes: 0,
        offsets: [0; 32],
        needed: Wavefronts::NONE,
    };

    /// The wavefronts of an access, worked out only if its pattern is new.
    #[inline]
    pub fn wavefronts(&mut self, addresses: &[u64; 32], lanes: LaneMask, bytes: u8) -> Wavefronts {
        let base = addresses[0] as u32;
        let mut same = true;
        for (offset, &address) in self.offsets.iter().zip(addresses) {
            same &= (address as u32).wrapping_sub(base) == *offset;
        }
        // Words, not bytes, conflict: a base that is no multiple of a word makes another pattern.
        if !same || self.lanes != lanes || !base.is_multiple_of(4) {
            for (offset, &address) in self.offsets.iter_mut().zip(addresses) {
                *offset = (address as u32).wrapping_sub(base);
            }
            self.lanes = if base.is_multiple_of(4) { lanes } else { 0 };
            self.needed = wavefronts(addresses, lanes, bytes);
        }
        self.needed
    }
}

/// Accesses of one pass. Most have no conflict: one word per bank at most.
fn pass_degree(addresses: &[u64; 32], lanes: u32, first_lane: usize, words: usize) -> u32 {
    let mut word_of_bank = [0u32; BANKS];
    let mut seen = 0u32;
    let mut left = lanes;
    while left != 0 {
        let lane = left.trailing_zeros() as usize + first_lane;
        left &= left - 1;
        let first = (addresses[lane] / 4) as u32;
        for part in 0..words as u32 {
            let word = first + part;
            let bank = word as usize % BANKS;
            if seen >> bank & 1 == 0 {
                seen |= 1 << bank;
                word_of_bank[bank] = word;
            } else if word_of_bank[bank] != word {
                return conflicting_degree(addresses, lanes, first_lane, words);
            }
        }
    }
    1
}

/// Accesses of a pass in which words of one bank differ.
#[cold]
fn conflicting_degree(addresses: &[u64; 32], lanes: u32, first_lane: usize, words: usize) -> u32 {
    let mut words_of_bank = [[u32::MAX; 32]; BANKS];
    let mut count = [0u8; BANKS];
    let mut lanes = lanes;
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize + first_lane;
        lanes &= lanes - 1;
        for part in 0..words {
            let word = (addresses[lane] / 4) as u32 + part as u32;
            let bank = word as usize % BANKS;
            let seen = &mut words_of_bank[bank];
            let used = count[bank] as usize;
            if !seen[..used].contains(&word) && used < 32 {
                seen[used] = word;
                count[bank] += 1;
            }
        }
    }
    count.iter().copied().max().unwrap_or(1).max(1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use source::Effect;

    fn access(bytes: u8, address: impl Fn(u64) -> u64) -> Access {
        let mut access = Effect::new().access;
        access.bytes = bytes;
        access.lanes = u32::MAX;
        for lane in 0..32 {
            access.addresses[lane] = address(lane as u64);
        }
        access
    }

    /// Every line with its sectors and those wholly touched.
    fn parts(lines: &Lines) -> Vec<Part> {
        (0..usize::from(lines.count)).map(|i| lines.at(i)).collect()
    }

    #[test]
    fn both_ways_of_coalescing_agree() {
        for bytes in [1u8, 2, 4, 8, 16] {
            for start in [0u64, 4, 16, 28, 96, 4096] {
                let start = start / bytes as u64 * bytes as u64;
                let mut access = access(bytes, |lane| start + lane * bytes as u64);
                access.operation = Operation::Store;
                let mut fast = Lines::new();
                fast.coalesce(&access);
                let mut slow = Lines::new();
                access.addresses[16..].reverse();
                slow.coalesce(&access);
                let (fast_parts, mut slow_parts) = (parts(&fast), parts(&slow));
                slow_parts.sort_by_key(|part| part.line);
                assert_eq!(fast_parts, slow_parts, "{bytes} bytes from {start}");
                assert_eq!(fast.sectors, slow.sectors);
                let every: u32 = (0..fast_parts.len())
                    .map(|index| fast.bytes(index).map(u32::count_ones).iter().sum::<u32>())
                    .sum();
                assert_eq!(every, 32 * u32::from(bytes), "each byte once");
                for (index, part) in fast_parts.iter().enumerate() {
                    let other = (0..slow_parts.len())
                        .find(|&other| slow.at(other).line == part.line)
                        .unwrap();
                    for sector in (0..4).filter(|sector| part.sectors >> sector & 1 == 1) {
                        assert_eq!(fast.lanes(index, sector), slow.lanes(other, sector));
                    }
                    assert_eq!(fast.bytes(index), slow.bytes(other));
                }
            }
        }
    }

    #[test]
    fn the_sectors_of_a_line_are_one_part() {
        // Lanes take turns in two lines.
        let mixed = access(4, |lane| lane % 2 * 128 + lane / 2 * 8);
        let mut lines = Lines::new();
        lines.coalesce(&mixed);
        let masks: Vec<_> = parts(&lines)
            .iter()
            .map(|p| (p.line.0, p.sectors))
            .collect();
        assert_eq!(masks, [(0, 0xf), (1, 0xf)]);
        assert_eq!(lines.sectors, 8);
    }

    #[test]
    fn a_word_written_by_many_lanes_is_no_whole_sector() {
        let mut store = access(4, |lane| lane % 2 * 4);
        store.operation = Operation::Store;
        let mut lines = Lines::new();
        lines.coalesce(&store);
        assert_eq!((lines.at(0).sectors, lines.at(0).whole), (1, 0));
        assert_eq!(lines.bytes(0), [0xff, 0, 0, 0]);
        assert_eq!(lines.lanes(0, 0), 32);
    }

    #[test]
    fn texels_of_more_lines_than_fit_are_kept() {
        let mut fetch = access(4, |_| 0);
        fetch.texels = (0..400).map(|texel| texel * 2).collect();
        let mut lines = Lines::new();
        lines.coalesce(&fetch);
        let sectors: Vec<u64> = parts(&lines)
            .iter()
            .flat_map(|part| {
                let line = part.line;
                let sectors = part.sectors;
                (0..4)
                    .filter(move |sector| sectors >> sector & 1 == 1)
                    .map(move |sector| line.sector(sector).0)
            })
            .collect();
        assert_eq!(sectors, fetch.texels);
        assert_eq!((lines.count, lines.sectors), (200, 400));
    }

    /// REGRESSIONS M12: the conflict degree of strided accesses.
    #[test]
    fn bank_conflicts_follow_the_stride() {
        for stride in [1u64, 2, 4, 8, 16, 32] {
            let access = access(4, |lane| lane * 4 * stride);
            let needed = wavefronts(&access.addresses, u32::MAX, 4);
            assert_eq!((needed.cycles as u64, needed.passes), (stride, 1));
        }
        let broadcast = access(4, |_| 64);
        assert_eq!(wavefronts(&broadcast.addresses, u32::MAX, 4).cycles, 1);
    }

    #[test]
    fn a_remembered_pattern_needs_the_same() {
        let mut pattern = Pattern::NONE;
        for start in [0u64, 4, 128, 2, 4096] {
            for stride in [4u64, 8, 128, 4, 4] {
                let access = access(4, |lane| start + lane * stride);
                for lanes in [u32::MAX, 0xffff, 1 << 31] {
                    let known = pattern.wavefronts(&access.addresses, lanes, 4);
                    assert_eq!(known, wavefronts(&access.addresses, lanes, 4));
                }
            }
        }
    }

    /// REGRESSIONS M13: wide accesses conflict within quarter and half warps only.
    #[test]
    fn wide_accesses_conflict_within_their_pass() {
        let dense = access(16, |lane| lane * 16);
        let needed = |cycles, passes| Wavefronts { cycles, passes };
        assert_eq!(wavefronts(&dense.addresses, u32::MAX, 16), needed(4, 4));
        let dense = access(8, |lane| lane * 8);
        assert_eq!(wavefronts(&dense.addresses, u32::MAX, 8), needed(2, 2));
        assert_eq!(wavefronts(&dense.addresses, 0xff, 8), needed(1, 1));
        let strided = access(16, |lane| lane * 32);
        assert_eq!(wavefronts(&strided.addresses, u32::MAX, 16), needed(8, 4));
    }
}
