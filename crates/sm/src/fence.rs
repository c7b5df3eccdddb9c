//! Memory fences in time (DESIGN.md V3): MEMBAR.GPU and .SYS complete when every store and deferred
//! operation issued before by any warp of the SM is acknowledged; MEMBAR.CTA when the warp's own
//! memory instructions have been handed over. All of them wait for the warp's dependence counters too,
//! and those of .GPU and .SYS then empty the L1 data cache (MODEL.md §2.4).

use std::collections::VecDeque;

use source::Scope;

use crate::dependence::Hold;
use crate::event::Event;
use crate::sm::Sm;

hardware::parameters! {
    /// Memory fences: cycles that they cost beyond what they wait for (MODEL.md §2.4).
    pub struct FenceParameters = "fence" {
        /// MEMBAR.CTA.
        cta: u64, "cycles", 0..=100_000;
        /// MEMBAR.GPU.
        gpu: u64, "cycles", 0..=100_000;
        /// MEMBAR.SYS.
        system: u64, "cycles", 0..=100_000;
        /// Whether MEMBAR.GPU and MEMBAR.SYS invalidate the L1 data cache when they complete.
        invalidates_l1: bool, "", false..=true;
    }
}

/// Stores and deferred operations of an SM in the order of issue, until they are acknowledged.
#[derive(Debug, Default)]
pub struct Orders {
    base: u32,
    /// Acknowledgements still to come, from `base` on.
    remaining: VecDeque<u32>,
}

impl Orders {
    /// A new operation; it counts as one acknowledgement until [`Orders::acknowledged`].
    pub fn add(&mut self) -> u32 {
        self.remaining.push_back(1);
        self.base + self.remaining.len() as u32 - 1
    }

    /// One more acknowledgement will come for `order`.
    pub fn expect(&mut self, order: u32) {
        self.remaining[(order - self.base) as usize] += 1;
    }

    /// One acknowledgement has come. True if the front moved.
    pub fn acknowledged(&mut self, order: u32) -> bool {
        self.remaining[(order - self.base) as usize] -= 1;
        let before = self.base;
        while self.remaining.front() == Some(&0) {
            self.remaining.pop_front();
            self.base += 1;
        }
        self.base != before
    }

    /// Operations that are not acknowledged, or follow one that is not.
    pub fn len(&self) -> usize {
        self.remaining.len()
    }

    /// The order that the next operation will get.
    pub fn next(&self) -> u32 {
        self.base + self.remaining.len() as u32
    }

    /// Whether everything before `order` is acknowledged.
    pub fn done_before(&self, order: u32) -> bool {
        self.base >= order
    }
}

/// What a fenced warp waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fence {
    /// Its scope.
    pub scope: Scope,
    /// Operations before this one must be acknowledged.
    pub order: u32,
}

impl Sm {
    /// The warp in `slot` has issued a MEMBAR.
    #[inline(never)]
    pub(crate) fn starts_fence(&mut self, slot: u8, scope: Scope) {
        let order = self.orders.next();
        self.warps[slot as usize].fence = Some(Fence { scope, order });
        self.fenced |= 1 << slot;
        self.hold(slot, Hold::Fence);
        self.look_at_fence(slot);
    }

    /// Lets the fenced warp in `slot` go if nothing is left to wait for.
    #[inline(never)]
    pub(crate) fn look_at_fence(&mut self, slot: u8) {
        let warp = &self.warps[slot as usize];
        let Some(fence) = warp.fence else { return };
        let parameters = &self.parameters.fence;
        let (done, cost) = match fence.scope {
            Scope::Cta => (warp.unhanded == 0, parameters.cta),
            Scope::Gpu => (self.orders.done_before(fence.order), parameters.gpu),
            Scope::System => (self.orders.done_before(fence.order), parameters.system),
        };
        if done && self.counters_are_zero(slot) {
            self.warps[slot as usize].fence = None;
            self.fenced &= !(1 << slot);
            if fence.scope != Scope::Cta && parameters.invalidates_l1 {
                self.unit.l1d.invalidate();
            }
            let hold = Hold::Fence;
            self.wheel
                .schedule(self.now + cost.max(1), Event::WarpWakes { slot, hold });
        }
    }

    /// One acknowledgement of operation `order` has come.
    pub(crate) fn acknowledged(&mut self, order: u32) {
        if self.orders.acknowledged(order) {
            let mut left = self.fenced;
            while left != 0 {
                let slot = left.trailing_zeros() as u8;
                left &= left - 1;
                self.look_at_fence(slot);
            }
        }
    }
}
