//! CTAs and warps of an SM: where they are placed, and when they are over (MODEL.md §2, §7.5).

use source::{CtaSlot, Cycle, Source, WarpSlot};

use crate::copies::Closed;
use crate::dependence::{COUNTERS, NO_LIMITS};
use crate::event::Event;
use crate::sm::{Cta, SUB_CORES, Sm};
use crate::stall_reason::StallReason;
use crate::sub_core::SLOTS;

impl Sm {
    /// Whether a CTA slot is free.
    pub fn can_start_cta(&self) -> bool {
        self.resident_ctas < self.launch.ctas_per_sm
            && self.free_warps.count_ones() >= self.launch.warps_per_cta
    }

    /// Starts CTA number `cta` of the grid; its warps can fetch from cycle `at` on, which must not lie
    /// before the cycles already simulated.
    pub fn start_cta<S: Source>(
        &mut self,
        source: &mut S,
        shared: &S::Shared,
        cta: u64,
        at: Cycle,
    ) {
        let Some(place) = self.ctas.iter().position(|cta| !cta.resident) else {
            return;
        };
        let at = at.0.max(self.frontier);
        let mut chosen = [WarpSlot(0); SLOTS * SUB_CORES];
        let count = self.launch.warps_per_cta as usize;
        // Warp w goes to sub-core w mod 4, counted from the sub-core with the fewest warps.
        let fewest = (0..SUB_CORES)
            .min_by_key(|&sub_core| self.sub_cores[sub_core].present.count_ones())
            .unwrap_or(0);
        let mut mask = 0;
        for (warp, chosen) in chosen.iter_mut().enumerate().take(count) {
            let free = self.free_warps & !mask;
            let preferred = (0..SUB_CORES)
                .map(|step| (fewest + warp + step) % SUB_CORES)
                .find_map(|sub_core| {
                    let lanes = 0x1111_1111_1111_1111u64 << sub_core;
                    let here = free & lanes;
                    (here != 0).then(|| here.trailing_zeros() as u8)
                });
            let Some(slot) = preferred else { return };
            mask |= 1 << slot;
            *chosen = WarpSlot(slot);
        }
        self.free_warps &= !mask;
        self.resident_ctas += 1;
        self.count_residents(at);
        self.resident_warps += count as u32;
        self.ctas[place] = Cta {
            resident: true,
            warps: mask,
            busy: mask,
        };
        source.start_cta(shared, cta, CtaSlot(place as u8), &chosen[..count]);
        for &slot in &chosen[..count] {
            let pc = source.pc(slot).0;
            self.start_warp(slot.0, place as u8, pc, at);
        }
        if self.walk.is_some() {
            self.walk_cta(cta, &chosen[..count]);
        }
    }

    pub(crate) fn start_warp(&mut self, slot: u8, cta: u8, pc: u32, at: u64) {
        let warp = &mut self.warps[slot as usize];
        warp.cta = cta;
        warp.resident = true;
        warp.ended = false;
        warp.arrival_left = 0;
        warp.generation = warp.generation.wrapping_add(1);
        warp.fence = None;
        warp.depbar = NO_LIMITS;
        warp.copies.clear();
        warp.barrier_generation = warp.barrier_generation.wrapping_add(1);
        self.hazards.start_warp(slot);
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.start_warp(slot);
        }
        if let Some(emulation) = &mut self.emulation {
            emulation.start_warp(slot);
        }
        let sub = &mut self.sub_cores[slot as usize % SUB_CORES];
        let local = slot as usize / SUB_CORES;
        let bit = 1u16 << local;
        // The new warp is younger than all that are here.
        for other in 0..SLOTS {
            if sub.present >> other & 1 == 1 {
                sub.younger[other] |= bit;
            } else {
                sub.younger[other] &= !bit;
            }
        }
        sub.younger[local] = 0;
        sub.turns.leave(local);
        sub.present |= bit;
        sub.stalled &= !bit;
        sub.stall_ends.clear(local);
        sub.held &= !bit;
        sub.holds[local] = 0;
        sub.dependent &= !bit;
        sub.constant_wait &= !bit;
        sub.constant_missed &= !bit;
        sub.counters[local] = [0; COUNTERS];
        sub.nearly_full &= !bit;
        for increment in &mut sub.increments {
            // Of a warp that ended a moment ago.
            if increment.is_some_and(|i| i.slot as usize == local) {
                *increment = None;
            }
        }
        sub.nonzero[local] = 0;
        sub.long[local] = 0;
        sub.pc[local] = pc;
        sub.wait[local] = self
            .program
            .rows
            .get(pc as usize)
            .map_or(0, |row| row.wait_mask);
        sub.fetch.start(local, pc, at);
        sub.next_step = sub.next_step.min(at);
    }

    /// A memory instruction of the warp in `slot` has been handed over.
    pub(crate) fn handed_over(&mut self, slot: u8) {
        let warp = &mut self.warps[slot as usize];
        warp.unhanded -= 1;
        let fence_complete = warp.unhanded == 0;
        if warp.arrival_left > 0 {
            warp.arrival_left -= 1;
            if warp.arrival_left == 0 {
                self.arrival_complete(slot);
            }
        }
        if fence_complete && self.fenced >> slot & 1 == 1 {
            self.look_at_fence(slot);
        }
    }

    /// A store sends a packet that will be acknowledged.
    #[inline]
    pub(crate) fn acknowledgement_expected(&mut self, slot: u8, order: u32) {
        self.orders.expect(order);
        self.warps[slot as usize].unacknowledged += 1;
    }

    pub(crate) fn write_acknowledged(&mut self, slot: u8) {
        self.warps[slot as usize].unacknowledged -= 1;
        self.look_at_end(slot);
    }

    /// An instruction of variable latency is over.
    #[inline]
    pub(crate) fn instruction_done(&mut self, slot: u8) {
        self.warps[slot as usize].outstanding -= 1;
        if self.warps[slot as usize].ended {
            self.look_at_end(slot);
        }
    }

    /// A copy to shared memory of group `group` is complete.
    pub(crate) fn copy_done(&mut self, slot: u8, group: u32) {
        let warp = &mut self.warps[slot as usize];
        let (generation, now, wheel) = (warp.generation, self.now, &mut self.wheel);
        let arrivals = &mut self.arrivals;
        warp.copies.done(group, |closed| match closed {
            Closed::Counter(counter, from) if (counter as usize) < COUNTERS => {
                let event = Event::CounterFalls {
                    slot,
                    counter,
                    generation,
                };
                wheel.schedule(now.max(from), event);
            }
            Closed::Counter(..) => {}
            Closed::Arrival => arrivals.push(WarpSlot(slot)),
        });
    }

    /// The last lane of the warp in `slot` has exited.
    pub(crate) fn warp_ended(&mut self, slot: u8) {
        self.warps[slot as usize].ended = true;
        self.look_at_end(slot);
    }

    /// Ends the warp, and its CTA, once nothing is under way any more.
    pub(crate) fn look_at_end(&mut self, slot: u8) {
        let warp = &self.warps[slot as usize];
        if !warp.ended || warp.outstanding > 0 || warp.unacknowledged > 0 {
            return;
        }
        let place = warp.cta as usize;
        let cta = &mut self.ctas[place];
        if cta.busy >> slot & 1 == 0 {
            return;
        }
        cta.busy &= !(1 << slot);
        if cta.busy != 0 {
            return;
        }
        let warps = cta.warps;
        *cta = Cta::default();
        self.free_warps |= warps;
        self.resident_ctas -= 1;
        self.statistics.ctas += 1;
        self.count_residents(self.now + 1);
        self.resident_warps -= warps.count_ones();
        let mut left = warps;
        while left != 0 {
            let slot = left.trailing_zeros() as usize;
            left &= left - 1;
            self.warps[slot].resident = false;
        }
        self.copy_check.clear(place as u8);
        self.forget_barriers(warps);
        self.charge_drained();
        self.freed = true;
        self.finished_at = self.now + 1;
    }

    pub(crate) fn count_residents(&mut self, cycle: u64) {
        if self.resident_warps > 0 && cycle > self.active_since {
            let cycles = cycle - self.active_since;
            self.statistics.active_cycles += cycles;
            self.statistics.resident_warp_cycles += cycles * self.resident_warps as u64;
        }
        self.active_since = self.active_since.max(cycle);
    }

    /// A CTA has ended in this cycle: sub-cores that waited for its last stores are idle from now on.
    fn charge_drained(&mut self) {
        for sub_core in 0..SUB_CORES {
            if self.sub_cores[sub_core].charge_to == StallReason::Drain && !self.draining(sub_core)
            {
                let sub = &mut self.sub_cores[sub_core];
                if sub.charged_until < self.now {
                    sub.charge(self.now);
                }
                sub.charge_to = StallReason::Idle;
            }
        }
    }

    /// Whether ended warps of a sub-core still wait for something.
    pub(crate) fn draining(&self, sub_core: usize) -> bool {
        (0..SLOTS).any(|local| {
            let slot = local * SUB_CORES + sub_core;
            self.warps.get(slot).is_some_and(|warp| {
                warp.ended && warp.resident && self.ctas[warp.cta as usize].busy >> slot & 1 == 1
            })
        })
    }

    /// Whether any CTA is resident.
    pub fn has_ctas(&self) -> bool {
        self.resident_ctas > 0
    }
}
