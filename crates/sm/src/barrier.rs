//! CTA barriers in time (MODEL.md §2.4, trap T29; DESIGN.md H5). Who has arrived as far as values go is
//! the source's business; here it is when the hardware lets the warps go.

use source::{Source, Special, WarpMask, WarpSlot};

use crate::dependence::Hold;
use crate::event::Event;
use crate::sm::{SUB_CORES, Sm};

hardware::parameters! {
    /// The CTA barrier.
    pub struct BarrierParameters = "barrier" {
        /// Cycles from the issue of BAR until it holds the warp.
        hold: u64, "cycles", 1..=63;
        /// Cycles from the issue of BAR.DEFER_BLOCKING until it holds the warp.
        deferred_hold: u64, "cycles", 1..=63;
        /// Cycles from the last arrival to the release.
        release: u64, "cycles", 1..=1000;
    }
}

/// A completed barrier whose last warps have not been seen by the hardware yet.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Warps to release.
    pub warps: WarpMask,
    /// Warps among them whose earlier memory instructions are still to be handed over.
    pub missing: WarpMask,
    /// The place is in use.
    pub active: bool,
}

impl Sm {
    /// The warp in `slot` has issued the CTA-barrier instruction at `pc`.
    #[inline(never)]
    pub(crate) fn arrives_at_barrier(
        &mut self,
        pc: u32,
        slot: u8,
        blocked: bool,
        released: WarpMask,
    ) {
        let now = self.now;
        let warp = &mut self.warps[slot as usize];
        warp.arrival_left = warp.unhanded;
        if blocked || released >> slot & 1 == 1 {
            // It may have slipped past an older barrier, whose hold and release concern it no longer.
            warp.barrier_generation = warp.barrier_generation.wrapping_add(1);
            for wait in &mut self.barrier_waits {
                wait.warps &= !(1 << slot);
            }
        }
        if blocked {
            self.hold(slot, Hold::Barrier);
        } else if released >> slot & 1 == 1 {
            // The last to arrive. One that only arrives (BAR.ARV), or whose other lanes run on, is
            // not held.
            let generation = self.warps[slot as usize].barrier_generation;
            let parameters = &self.parameters.barrier;
            let hold = match self.program.rows[pc as usize].special {
                Special::CtaBarrier { deferred: true } => parameters.deferred_hold,
                _ => parameters.hold,
            };
            let cycle = now + hold;
            self.wheel
                .schedule(cycle, Event::BarrierHolds { slot, generation });
        }
    }

    /// As far as values go the barrier is complete: `released` may go on.
    #[inline(never)]
    pub(crate) fn barrier_complete(&mut self, released: WarpMask) {
        let mut missing = 0;
        let mut left = released;
        while left != 0 {
            let slot = left.trailing_zeros() as usize;
            left &= left - 1;
            if self.warps[slot].arrival_left > 0 {
                missing |= 1 << slot;
            }
        }
        let wait = Wait {
            warps: released,
            missing,
            active: true,
        };
        let place = match self.barrier_waits.iter().position(|wait| !wait.active) {
            Some(place) => {
                self.barrier_waits[place] = wait;
                place
            }
            None => {
                self.barrier_waits.push(wait);
                self.barrier_waits.len() - 1
            }
        };
        if missing == 0 {
            self.release_later(place);
        }
    }

    fn release_later(&mut self, place: usize) {
        let cycle = self.now + self.parameters.barrier.release;
        self.wheel
            .schedule(cycle, Event::BarrierReleases { wait: place as u8 });
    }

    /// The last memory instruction before a barrier has been handed over.
    #[inline(never)]
    pub(crate) fn arrival_complete(&mut self, slot: u8) {
        for place in 0..self.barrier_waits.len() {
            let wait = &mut self.barrier_waits[place];
            if wait.active && wait.missing >> slot & 1 == 1 {
                wait.missing &= !(1 << slot);
                if wait.missing == 0 {
                    self.release_later(place);
                }
            }
        }
    }

    /// The CTA of these warps has ended.
    pub(crate) fn forget_barriers(&mut self, warps: WarpMask) {
        for wait in &mut self.barrier_waits {
            wait.warps &= !warps;
        }
    }

    #[inline(never)]
    pub(crate) fn release_barrier<S: Source>(&mut self, place: usize, source: &mut S) {
        let mut left = self.barrier_waits[place].warps;
        self.barrier_waits[place].active = false;
        while left != 0 {
            let slot = left.trailing_zeros() as u8;
            left &= left - 1;
            let warp = &mut self.warps[slot as usize];
            warp.barrier_generation = warp.barrier_generation.wrapping_add(1);
            if warp.ended || !warp.resident {
                continue;
            }
            // Which of its lanes run first is the source's business.
            let pc = source.pc(WarpSlot(slot)).0;
            let sub = &mut self.sub_cores[slot as usize % SUB_CORES];
            let local = slot as usize / SUB_CORES;
            if sub.pc[local] != pc {
                sub.pc[local] = pc;
                sub.wait[local] = self
                    .program
                    .rows
                    .get(pc as usize)
                    .map_or(0, |row| row.wait_mask);
                sub.fetch.redirect(local, pc, self.now);
                sub.look_at_counters(local);
            }
            self.release(slot, Hold::Barrier);
        }
    }
}
