//! The register-file cache (MODEL.md §5.3): per bank one entry of operand slots that the compiler fills
//! by `.reuse`.

use crate::program::Operand;

/// Most operand slots per bank.
const SLOTS: usize = 4;
const EMPTY: u16 = u16::MAX;

/// Sub-entries by bank and operand slot: `warp << 8 | register`.
pub struct ReuseCache {
    slots: usize,
    entries: [[u16; SLOTS]; 2],
    filled: u8,
    /// Operands that needed no read port.
    pub hits: u64,
}

impl ReuseCache {
    /// An empty cache with `slots` operand slots per bank (0: no cache).
    pub fn new(slots: u32) -> ReuseCache {
        ReuseCache {
            slots: (slots as usize).min(SLOTS),
            entries: [[EMPTY; SLOTS]; 2],
            filled: 0,
            hits: 0,
        }
    }

    /// Whether no sub-entry is filled.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    #[inline]
    fn holds(&self, warp: u8, register: u8, slot: usize) -> bool {
        slot < self.slots
            && self.entries[register as usize & 1][slot] == (warp as u16) << 8 | register as u16
    }

    /// As [`ReuseCache::needs`] for operands that name no register twice and need `without` reads
    /// without the cache.
    #[inline]
    pub fn needs_of_distinct(&self, warp: u8, operands: &[Operand], without: [u8; 2]) -> [u8; 2] {
        let mut needs = without;
        for operand in operands {
            for part in 0..operand.count.min(2) {
                let register = operand.register.wrapping_add(part);
                if self.holds(warp, register, operand.slot as usize) {
                    needs[register as usize & 1] -= 1;
                }
            }
        }
        needs
    }

    /// Reads per bank that `operands` of warp `warp` need from the register file, hits taken off.
    /// A register named twice counts once.
    pub fn needs(&self, warp: u8, operands: &[Operand]) -> [u8; 2] {
        let mut needs = [0u8; 2];
        for (index, operand) in operands.iter().enumerate() {
            for part in 0..operand.count {
                let register = operand.register.wrapping_add(part);
                if part < 2 && self.holds(warp, register, operand.slot as usize) {
                    continue;
                }
                let again = operands[..index].iter().any(|earlier| {
                    register.wrapping_sub(earlier.register) < earlier.count
                        && !(register.wrapping_sub(earlier.register) < 2
                            && self.holds(warp, register, earlier.slot as usize))
                });
                if !again {
                    needs[register as usize & 1] += 1;
                }
            }
        }
        needs
    }

    /// The instruction leaves Allocate: every read to a slot and bank empties the sub-entry, which is
    /// filled again only if the operand carries reuse.
    pub fn leave_allocate(&mut self, warp: u8, operands: &[Operand]) {
        for operand in operands {
            let slot = operand.slot as usize;
            if slot >= self.slots {
                continue;
            }
            for part in 0..operand.count.min(2) {
                let register = operand.register.wrapping_add(part);
                if self.holds(warp, register, slot) {
                    self.hits += 1;
                }
                let entry = &mut self.entries[register as usize & 1][slot];
                if *entry != EMPTY {
                    *entry = EMPTY;
                    self.filled -= 1;
                }
                if operand.reuse {
                    *entry = (warp as u16) << 8 | register as u16;
                    self.filled += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands(registers: [(u8, bool); 3]) -> Vec<Operand> {
        registers
            .into_iter()
            .enumerate()
            .map(|(slot, (register, reuse))| Operand {
                register,
                count: 1,
                slot: slot as u8,
                reuse,
            })
            .collect()
    }

    /// The four examples of MODEL.md §5.4: does I2, does I3 hit for R2?
    #[test]
    fn worked_examples() {
        let first = [(2, true), (3, false), (4, false)];
        let third = [(2, false), (12, false), (13, false)];
        let cases = [
            ([(2, false), (7, false), (8, false)], true, false),
            ([(2, true), (7, false), (8, false)], true, true),
            ([(7, false), (2, false), (8, false)], false, true),
            ([(4, false), (7, false), (8, false)], false, false),
        ];
        for (second, second_hits, third_hits) in cases {
            let mut cache = ReuseCache::new(3);
            cache.leave_allocate(0, &operands(first));
            let before = cache.hits;
            cache.leave_allocate(0, &operands(second));
            assert_eq!(cache.hits > before, second_hits, "{second:?}");
            let before = cache.hits;
            cache.leave_allocate(0, &operands(third));
            assert_eq!(cache.hits > before, third_hits, "{second:?}");
        }
    }

    #[test]
    fn both_ways_of_counting_agree_for_distinct_registers() {
        let mut cache = ReuseCache::new(3);
        cache.leave_allocate(1, &operands([(2, true), (5, true), (8, true)]));
        for warp in [0, 1] {
            for registers in [(2, 5, 8), (5, 2, 8), (2, 4, 6), (8, 7, 5)] {
                let of = |register| (register, false);
                let operands = operands([of(registers.0), of(registers.1), of(registers.2)]);
                let without = ReuseCache::new(0).needs(0, &operands);
                assert_eq!(
                    cache.needs_of_distinct(warp, &operands, without),
                    cache.needs(warp, &operands),
                    "{registers:?}"
                );
            }
        }
    }

    #[test]
    fn a_register_named_twice_is_read_once() {
        let cache = ReuseCache::new(3);
        assert_eq!(
            cache.needs(0, &operands([(2, false), (2, false), (5, false)])),
            [1, 1]
        );
    }
}
