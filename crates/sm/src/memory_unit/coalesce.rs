//! From 32 lane addresses to distinct 32-byte sectors, and from shared-memory addresses to a conflict
//! degree (MODEL.md §7.5, §7.6).

use source::{Access, LaneMask, Sector};

/// Sectors of one warp access, in the order of the first lane that touches each.
#[derive(Clone, Debug)]
pub struct Sectors {
    /// Number of sectors.
    pub count: u16,
    /// Sector numbers.
    pub sector: [u64; 64],
    /// Bytes that the lanes touch in each sector, 32 at most.
    pub bytes: [u8; 64],
    /// Lanes that touch each sector.
    pub lanes: [u8; 64],
    /// Sectors beyond the 64th: a texture fetch filters up to 16 texels per lane.
    further: Vec<u64>,
}

impl Sectors {
    /// No sectors.
    pub fn new() -> Sectors {
        Sectors {
            count: 0,
            sector: [0; 64],
            bytes: [0; 64],
            lanes: [0; 64],
            further: Vec::new(),
        }
    }

    /// Sector `index` of a load.
    #[inline]
    pub fn at(&self, index: usize) -> u64 {
        match self.sector.get(index) {
            Some(&sector) => sector,
            None => self.further[index - self.sector.len()],
        }
    }

    /// The sectors of a texture fetch: the texels of all lanes, merged already.
    fn texels(&mut self, texels: &[u64]) {
        let (near, further) = texels.split_at(texels.len().min(self.sector.len()));
        self.sector[..near.len()].copy_from_slice(near);
        self.bytes[..near.len()].fill(Sector::BYTES as u8);
        self.lanes[..near.len()].fill(1);
        self.further.clear();
        self.further.extend_from_slice(further);
        self.count = texels.len() as u16;
    }

    #[inline]
    fn add(&mut self, sector: u64, bytes: u8, same_place: bool) {
        for index in (0..self.count as usize).rev() {
            if self.sector[index] == sector {
                if !same_place {
                    self.bytes[index] = (self.bytes[index] + bytes).min(Sector::BYTES as u8);
                }
                self.lanes[index] += 1;
                return;
            }
        }
        let index = self.count as usize;
        self.sector[index] = sector;
        self.bytes[index] = bytes;
        self.lanes[index] = 1;
        self.count += 1;
    }

    /// Coalesces the lanes of `access`.
    pub fn coalesce(&mut self, access: &Access) {
        self.count = 0;
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
        let mut last = u64::MAX;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let address = access.addresses[lane];
            let (first, end) = (
                address / Sector::BYTES,
                (address + bytes - 1) / Sector::BYTES,
            );
            self.add(first, bytes as u8, address == last);
            if end != first {
                self.add(end, bytes as u8, false);
            }
            last = address;
        }
    }

    /// The common case: all lanes active, one element after the other.
    #[inline]
    fn consecutive(&mut self, start: u64, bytes: u64) {
        let end = start + 32 * bytes;
        let first = start / Sector::BYTES;
        let last = (end - 1) / Sector::BYTES;
        for (index, sector) in (first..=last).enumerate() {
            let from = start.max(sector * Sector::BYTES);
            let to = end.min((sector + 1) * Sector::BYTES);
            self.sector[index] = sector;
            self.bytes[index] = (to - from) as u8;
            self.lanes[index] = (to - from).div_ceil(bytes) as u8;
        }
        self.count = (last - first + 1) as u16;
    }
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

/// Accesses that the lanes of a shared-memory instruction need: the largest number of distinct words in
/// one bank; lanes with the same word share it. Accesses wider than a word go in passes of the lanes
/// that together move 128 bytes (REGRESSIONS M13: 64-bit by half warps, 128-bit by quarter warps).
pub fn conflict_degree(addresses: &[u64; 32], lanes: LaneMask, bytes: u8) -> u32 {
    let words = (bytes as usize / 4).max(1);
    let lanes_per_pass = (32 / words).max(1);
    let span = if lanes_per_pass == 32 {
        LaneMask::MAX
    } else {
        (1 << lanes_per_pass) - 1
    };
    let mut degree = 0;
    let mut passes = 0;
    for first_lane in (0..32).step_by(lanes_per_pass) {
        let pass_lanes = lanes >> first_lane & span;
        if pass_lanes != 0 {
            passes += 1;
            degree += pass_degree(addresses, pass_lanes, first_lane, words);
        }
    }
    // The transfer already counts one cycle per 128 bytes.
    if passes == 0 {
        1
    } else {
        degree - (passes - 1)
    }
}

/// The pattern that a shared-memory instruction used last, and its conflict degree: it depends only on
/// the distances between the lanes' words, which a loop seldom changes.
#[derive(Clone, Debug)]
pub struct Pattern {
    lanes: LaneMask,
    /// Distance of each lane's address from lane 0's, in bytes.
    offsets: [u32; 32],
    degree: u32,
}

impl Pattern {
    /// No pattern yet.
    pub const NONE: Pattern = Pattern {
        lanes: 0,
        offsets: [0; 32],
        degree: 1,
    };

    /// The conflict degree of an access, worked out only if its pattern is new.
    #[inline]
    pub fn degree(&mut self, addresses: &[u64; 32], lanes: LaneMask, bytes: u8) -> u32 {
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
            self.degree = conflict_degree(addresses, lanes, bytes);
        }
        self.degree
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

    #[test]
    fn both_ways_of_coalescing_agree() {
        for bytes in [1u8, 2, 4, 8, 16] {
            for start in [0u64, 4, 16, 28, 4096] {
                let start = start / bytes as u64 * bytes as u64;
                let access = access(bytes, |lane| start + lane * bytes as u64);
                let mut fast = Sectors::new();
                fast.coalesce(&access);
                let mut slow = Sectors::new();
                let mut all_but = access.clone();
                all_but.addresses.swap(0, 31);
                slow.coalesce(&all_but);
                assert_eq!(fast.count, slow.count, "{bytes} bytes from {start}");
                let total: u32 = fast.bytes[..fast.count as usize]
                    .iter()
                    .map(|&b| b as u32)
                    .sum();
                assert_eq!(total, 32 * bytes as u32);
            }
        }
    }

    /// REGRESSIONS M12: the conflict degree of strided accesses.
    #[test]
    fn bank_conflicts_follow_the_stride() {
        for stride in [1u64, 2, 4, 8, 16, 32] {
            let access = access(4, |lane| lane * 4 * stride);
            let degree = conflict_degree(&access.addresses, u32::MAX, 4);
            assert_eq!(degree as u64, stride);
        }
        let broadcast = access(4, |_| 64);
        assert_eq!(conflict_degree(&broadcast.addresses, u32::MAX, 4), 1);
    }

    #[test]
    fn a_remembered_pattern_gives_the_same_degree() {
        let mut pattern = Pattern::NONE;
        for start in [0u64, 4, 128, 2, 4096] {
            for stride in [4u64, 8, 128, 4, 4] {
                let access = access(4, |lane| start + lane * stride);
                for lanes in [u32::MAX, 0xffff, 1 << 31] {
                    let known = pattern.degree(&access.addresses, lanes, 4);
                    assert_eq!(known, conflict_degree(&access.addresses, lanes, 4));
                }
            }
        }
    }

    /// REGRESSIONS M13: wide accesses conflict within quarter and half warps only.
    #[test]
    fn wide_accesses_conflict_within_their_pass() {
        let dense = access(16, |lane| lane * 16);
        assert_eq!(conflict_degree(&dense.addresses, u32::MAX, 16), 1);
        let dense = access(8, |lane| lane * 8);
        assert_eq!(conflict_degree(&dense.addresses, u32::MAX, 8), 1);
        let strided = access(16, |lane| lane * 32);
        assert_eq!(
            conflict_degree(&strided.addresses, u32::MAX, 16),
            5,
            "4 passes of degree 2"
        );
    }
}
