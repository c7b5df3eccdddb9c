//! Dependence counters and DEPBAR.

use super::Hold;
use crate::sm::{SUB_CORES, Sm};
use crate::sub_core::{Increment, SubCore};

/// Dependence counters of a warp.
pub const COUNTERS: usize = 6;
/// The largest value of a counter: an instruction that would exceed it is not issued (MODEL.md §1.5).
pub const COUNTER_MOST: u8 = 63;
/// Counters above this value are looked at before the next producer is issued: two instructions, each
/// with both counters, may be under way to them.
const NEARLY_FULL: u8 = COUNTER_MOST - 6;
/// What a warp that no DEPBAR.LE holds waits for: no counter exceeds it.
pub const NO_LIMITS: [u8; COUNTERS] = [COUNTER_MOST; COUNTERS];

impl SubCore {
    /// Counters that rise in cycle `now`.
    #[inline]
    pub fn raise_counters(&mut self, now: u64) {
        let place = (now % 4) as usize;
        let Some(increment) = self.increments[place] else {
            return;
        };
        if increment.cycle > now {
            return;
        }
        self.increments[place] = None;
        let slot = increment.slot as usize;
        for counter in [increment.write, increment.read] {
            if (counter as usize) < COUNTERS {
                let value = &mut self.counters[slot][counter as usize];
                debug_assert!(*value < COUNTER_MOST, "a dependence counter overflows");
                *value += 1;
                if *value >= NEARLY_FULL {
                    self.nearly_full |= 1 << slot;
                }
                self.nonzero[slot] |= 1 << counter;
                if increment.long {
                    self.long[slot] |= 1 << counter;
                } else if self.counters[slot][counter as usize] == 1 {
                    self.long[slot] &= !(1 << counter);
                }
            }
        }
        self.look_at_counters(slot);
    }

    /// Whether a counter of the warp in `slot` would exceed its largest value if an instruction that
    /// raises `write` and `read` were issued. Only asked of warps in `nearly_full`.
    #[cold]
    pub fn would_overflow(&mut self, slot: usize, write: u8, read: u8) -> bool {
        let mut values = self.counters[slot];
        if values.iter().all(|&value| value < NEARLY_FULL) {
            self.nearly_full &= !(1 << slot);
            return false;
        }
        let mut overflows = false;
        let mut add = |counter: u8, own: bool| {
            if let Some(value) = values.get_mut(counter as usize) {
                *value += 1;
                overflows |= own && *value > COUNTER_MOST;
            }
        };
        for Increment { write, read, .. } in self
            .increments
            .iter()
            .flatten()
            .filter(|i| i.slot as usize == slot)
        {
            add(*write, false);
            add(*read, false);
        }
        add(write, true);
        add(read, true);
        overflows
    }
}

impl Sm {
    /// A dependence counter of the warp in `slot` falls by one, unless the slot holds another warp by
    /// now.
    #[inline]
    pub(crate) fn counter_falls_of(&mut self, slot: u8, counter: u8, generation: u8) {
        if self.warps[slot as usize].generation == generation {
            self.counter_falls(slot, counter);
        }
    }

    /// A dependence counter of the warp in `slot` falls by one.
    #[inline]
    pub(crate) fn counter_falls(&mut self, slot: u8, counter: u8) {
        let sub_core = slot as usize % SUB_CORES;
        let local = slot as usize / SUB_CORES;
        let sub = &mut self.sub_cores[sub_core];
        let Some(value) = sub.counters[local].get_mut(counter as usize) else {
            return;
        };
        debug_assert!(*value > 0, "a dependence counter falls below zero");
        *value = value.saturating_sub(1);
        if *value == 0 {
            sub.nonzero[local] &= !(1 << counter);
        }
        sub.look_at_counters(local);
        // Nearly always nothing holds the warp but its counters, if that.
        let holds = sub.holds[local];
        if holds & Hold::Counters as u8 != 0 {
            self.look_at_depbar(slot);
        }
        if holds & Hold::Fence as u8 != 0 {
            self.look_at_fence(slot);
        }
        self.wake(sub_core);
    }

    /// Whether all dependence counters of the warp in `slot` are zero and will stay so.
    pub(crate) fn counters_are_zero(&self, slot: u8) -> bool {
        let sub = &self.sub_cores[slot as usize % SUB_CORES];
        let local = slot as usize / SUB_CORES;
        let rises = |increment: &Increment| increment.slot as usize == local;
        sub.nonzero[local] == 0 && !sub.increments.iter().flatten().any(rises)
    }

    /// A DEPBAR.LE of the warp in `slot` takes hold. Several may hold a warp at once.
    #[inline(never)]
    pub(crate) fn depbar_holds(&mut self, slot: u8, counter: u8, at_most: u8, others: u8) {
        let limits = &mut self.warps[slot as usize].depbar;
        for (index, limit) in limits.iter_mut().enumerate() {
            if index == counter as usize {
                *limit = (*limit).min(at_most);
            }
            if others >> index & 1 == 1 {
                *limit = 0;
            }
        }
        self.hold(slot, Hold::Counters);
        self.look_at_depbar(slot);
    }

    #[inline(never)]
    fn look_at_depbar(&mut self, slot: u8) {
        let sub = &self.sub_cores[slot as usize % SUB_CORES];
        let counters = &sub.counters[slot as usize / SUB_CORES];
        let limits = &mut self.warps[slot as usize].depbar;
        if counters
            .iter()
            .zip(limits.iter())
            .all(|(value, limit)| value <= limit)
        {
            *limits = NO_LIMITS;
            self.release(slot, Hold::Counters);
        }
    }
}
