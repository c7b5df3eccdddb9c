//! The sectors that deferred operations of an SM hold (DESIGN.md V2), with how many hold each.

use source::Sector;

/// Marks a free place; no sector has this number.
const FREE: u64 = u64::MAX;

/// Counts by sector: open addressing, kept at most half full.
#[derive(Clone, Debug)]
pub(crate) struct SectorCounts {
    sectors: Vec<u64>,
    counts: Vec<u32>,
    used: usize,
}

impl Default for SectorCounts {
    fn default() -> SectorCounts {
        SectorCounts {
            sectors: vec![FREE; 64],
            counts: vec![0; 64],
            used: 0,
        }
    }
}

impl SectorCounts {
    fn home(&self, sector: u64) -> usize {
        (sector.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.sectors.len() - 1)
    }

    /// Where a sector is, or the free place where it would go.
    #[inline(always)]
    fn place(&self, sector: u64) -> usize {
        let mask = self.sectors.len() - 1;
        let mut at = self.home(sector);
        while self.sectors[at] != FREE && self.sectors[at] != sector {
            at = (at + 1) & mask;
        }
        at
    }

    /// Whether no sector is held.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Whether a sector is held.
    #[inline(always)]
    pub(crate) fn holds(&self, sector: Sector) -> bool {
        self.sectors[self.place(sector.0)] != FREE
    }

    /// One more holds the sector.
    pub(crate) fn enter(&mut self, sector: Sector) {
        if 2 * self.used >= self.sectors.len() {
            self.grow();
        }
        let at = self.place(sector.0);
        if self.sectors[at] == FREE {
            self.sectors[at] = sector.0;
            self.used += 1;
        }
        self.counts[at] += 1;
    }

    /// One less holds the sector.
    pub(crate) fn leave(&mut self, sector: Sector) {
        let at = self.place(sector.0);
        if self.sectors[at] == FREE {
            return;
        }
        self.counts[at] -= 1;
        if self.counts[at] == 0 {
            self.remove(at);
        }
    }

    /// Frees a place and closes the gap in the chain behind it.
    fn remove(&mut self, mut gap: usize) {
        let mask = self.sectors.len() - 1;
        self.used -= 1;
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            if self.sectors[at] == FREE {
                break;
            }
            // An entry may move to the gap if its home is not behind the gap.
            let home = self.home(self.sectors[at]);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.sectors[gap] = self.sectors[at];
                self.counts[gap] = self.counts[at];
                gap = at;
            }
        }
        self.sectors[gap] = FREE;
        self.counts[gap] = 0;
    }

    fn grow(&mut self) {
        let size = self.sectors.len() * 2;
        let sectors = std::mem::replace(&mut self.sectors, vec![FREE; size]);
        let counts = std::mem::replace(&mut self.counts, vec![0; size]);
        for (sector, count) in sectors.into_iter().zip(counts) {
            if sector != FREE {
                let at = self.place(sector);
                self.sectors[at] = sector;
                self.counts[at] = count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_a_map() {
        let mut counts = SectorCounts::default();
        let mut map = std::collections::HashMap::new();
        let mut random = 1u64;
        for step in 0..20_000u64 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let sector = Sector(random >> 40 & 0x1ff);
            let held = map.get(&sector.0).copied().unwrap_or(0);
            assert_eq!(counts.holds(sector), held > 0, "step {step}");
            if random >> 33 & 1 == 0 && held > 0 {
                counts.leave(sector);
                map.insert(sector.0, held - 1);
            } else {
                counts.enter(sector);
                map.insert(sector.0, held + 1);
            }
        }
        for (sector, count) in map {
            for _ in 0..count {
                assert!(counts.holds(Sector(sector)));
                counts.leave(Sector(sector));
            }
            assert!(!counts.holds(Sector(sector)));
        }
        assert!(counts.is_empty());
    }
}
