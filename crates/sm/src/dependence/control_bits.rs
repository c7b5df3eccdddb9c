//! Dependence counters, DEPBAR, and registers that a deferred operation has not delivered.

use crate::event::RecordIndex;
use crate::sm::{SUB_CORES, Sm};
use crate::stall_reason::StallReason;

impl Sm {
    /// A dependence counter of the warp in `slot` falls by one.
    #[inline]
    pub(crate) fn counter_falls(&mut self, slot: u8, counter: u8) {
        let sub_core = slot as usize % SUB_CORES;
        let local = slot as usize / SUB_CORES;
        let sub = &mut self.sub_cores[sub_core];
        let value = &mut sub.counters[local][counter as usize];
        *value = value.saturating_sub(1);
        if *value == 0 {
            sub.nonzero[local] &= !(1 << counter);
        }
        sub.look_at_counters(local);
        if self.warps[slot as usize].depbar.is_some() {
            self.look_at_depbar(slot);
        }
        self.wake(sub_core);
    }

    pub(crate) fn depbar_holds(&mut self, slot: u8, counter: u8, at_most: u8, others: u8) {
        let warp = &mut self.warps[slot as usize];
        if !warp.resident || warp.ended {
            return;
        }
        warp.depbar = Some((counter, at_most, others));
        let kind = if self.sub_cores[slot as usize % SUB_CORES].long[slot as usize / SUB_CORES]
            >> counter
            & 1
            == 1
        {
            StallReason::LongScoreboard
        } else {
            StallReason::ShortScoreboard
        };
        self.hold(slot, kind);
        self.look_at_depbar(slot);
    }

    pub(crate) fn look_at_depbar(&mut self, slot: u8) {
        let sub = &self.sub_cores[slot as usize % SUB_CORES];
        let local = slot as usize / SUB_CORES;
        let Some((counter, at_most, others)) = self.warps[slot as usize].depbar else {
            return;
        };
        let value = sub.counters[local]
            .get(counter as usize)
            .copied()
            .unwrap_or(0);
        if value <= at_most && sub.nonzero[local] & others == 0 {
            self.warps[slot as usize].depbar = None;
            self.release(slot);
        }
    }

    /// Keeps the warp in `slot` from issuing.
    pub(crate) fn hold(&mut self, slot: u8, reason: StallReason) {
        let sub = &mut self.sub_cores[slot as usize % SUB_CORES];
        let local = slot as usize / SUB_CORES;
        sub.held |= 1 << local;
        sub.held_by[local] = reason;
        self.wake(slot as usize % SUB_CORES);
    }

    /// Lets the warp in `slot` issue again.
    pub(crate) fn release(&mut self, slot: u8) {
        let sub = &mut self.sub_cores[slot as usize % SUB_CORES];
        sub.held &= !(1 << (slot as usize / SUB_CORES));
        self.wake(slot as usize % SUB_CORES);
    }

    /// Whether the next instruction of a warp touches a register that a deferred operation has not
    /// delivered (DESIGN.md V5); if so, holds the warp until it has.
    pub(crate) fn touches_deferred(&mut self, slot: u8, local: usize) -> bool {
        let sub = &self.sub_cores[slot as usize % SUB_CORES];
        let row = &self.program.rows[sub.pc[local] as usize];
        let next = sub.pc[local];
        let touched = self.deferred_under_way.iter().find_map(|&(other, index)| {
            if other != slot {
                return None;
            }
            let older = self.unit.records[index].pc;
            let pending = self.program.marks(self.program.rows[older as usize].writes);
            let mut uses = self
                .program
                .marks(row.reads)
                .iter()
                .chain(self.program.marks(row.writes));
            let mark = uses.find(|mark| {
                pending.iter().any(|write| {
                    mark.first < write.first + write.count as u16
                        && write.first < mark.first + mark.count as u16
                })
            })?;
            Some((older, mark.first))
        });
        if let Some((older, place)) = touched {
            self.hazards
                .touches_pending(older, next, place, slot, self.now);
            self.hold(slot, StallReason::LongScoreboard);
        }
        touched.is_some()
    }

    /// A deferred operation of the warp in `slot` has delivered.
    pub(crate) fn deferred_done(&mut self, slot: u8, index: RecordIndex) {
        let before = self.deferred_under_way.len();
        self.deferred_under_way
            .retain(|&entry| entry != (slot, index));
        if self.deferred_under_way.len() < before {
            self.warps[slot as usize].deferred -= 1;
            let local = slot as usize / SUB_CORES;
            let sub = &self.sub_cores[slot as usize % SUB_CORES];
            let held_for_data = sub.held >> local & 1 == 1
                && sub.held_by[local] == StallReason::LongScoreboard
                && self.warps[slot as usize].depbar.is_none();
            if held_for_data {
                self.release(slot);
            }
        }
    }
}
