//! What keeps a warp from issuing beyond stall counts and wait masks. A warp can be held for several
//! reasons at once (a barrier is reached before an older DEPBAR takes hold); it goes on when all are gone.

use crate::sm::{SUB_CORES, Sm};
use crate::stall_reason::StallReason;

/// A reason to be held, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Hold {
    /// DEPBAR.LE waits for dependence counters.
    Counters = 1,
    /// The next instruction touches a register that a deferred operation has not delivered.
    Deferred = 2,
    /// CTA barrier.
    Barrier = 4,
    /// Memory fence.
    Fence = 8,
    /// NANOSLEEP.
    Sleep = 16,
}

impl Sm {
    /// Keeps the warp in `slot` from issuing.
    #[inline(never)]
    pub(crate) fn hold(&mut self, slot: u8, hold: Hold) {
        let sub = &mut self.sub_cores[slot as usize % SUB_CORES];
        let local = slot as usize / SUB_CORES;
        sub.held |= 1 << local;
        sub.holds[local] |= hold as u8;
        self.wake(slot as usize % SUB_CORES);
    }

    /// The warp in `slot` is no longer held for this reason.
    #[inline(never)]
    pub(crate) fn release(&mut self, slot: u8, hold: Hold) {
        let sub = &mut self.sub_cores[slot as usize % SUB_CORES];
        let local = slot as usize / SUB_CORES;
        sub.holds[local] &= !(hold as u8);
        if sub.holds[local] == 0 {
            sub.held &= !(1 << local);
        }
        self.wake(slot as usize % SUB_CORES);
    }

    /// What the slots of a held warp are charged to.
    pub(crate) fn held_reason(&self, sub_core: usize, local: usize) -> StallReason {
        let sub = &self.sub_cores[sub_core];
        let has = |hold: Hold| sub.holds[local] & hold as u8 != 0;
        if has(Hold::Barrier) {
            StallReason::Barrier
        } else if has(Hold::Fence) {
            StallReason::Membar
        } else if has(Hold::Sleep) {
            StallReason::Sleeping
        } else if has(Hold::Deferred) || self.depbar_waits_long(sub_core, local) {
            StallReason::LongScoreboard
        } else {
            StallReason::ShortScoreboard
        }
    }

    /// Whether a counter that keeps a DEPBAR.LE waiting was raised by something that goes off the SM.
    fn depbar_waits_long(&self, sub_core: usize, local: usize) -> bool {
        let sub = &self.sub_cores[sub_core];
        let limits = &self.warps[local * SUB_CORES + sub_core].depbar;
        let counters = sub.counters[local].iter().zip(limits).enumerate();
        counters
            .filter(|(_, (value, limit))| value > limit)
            .any(|(counter, _)| sub.long[local] >> counter & 1 == 1)
    }
}
