//! Registers that a deferred operation has not delivered (DESIGN.md V5): whoever touches one is held.

use source::{Source, WarpSlot};

use super::Hold;
use crate::event::RecordIndex;
use crate::memory_unit::record::NO_COUNTER;
use crate::sm::{SUB_CORES, Sm};

impl Sm {
    /// Whether the next instruction of a warp touches a register that a deferred operation has not
    /// delivered (DESIGN.md V5); if so, holds the warp until it has.
    #[inline(never)]
    pub(crate) fn touches_deferred<S: Source>(
        &mut self,
        slot: u8,
        local: usize,
        source: &S,
    ) -> bool {
        // Disjoint lanes never conflict (H3).
        let lanes = source.next_lanes(WarpSlot(slot));
        let sub = &self.sub_cores[slot as usize % SUB_CORES];
        let row = &self.program.rows[sub.pc[local] as usize];
        let next = sub.pc[local];
        let touched = self
            .deferred_under_way
            .iter()
            .find_map(|&(other, index, pending_lanes)| {
                if other != slot || pending_lanes & lanes == 0 {
                    return None;
                }
                let older = self.unit.records[index].pc;
                let read = self.unit.records[index].read_counter == NO_COUNTER;
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
                Some((older, mark.first, read))
            });
        if let Some((older, place, read)) = touched {
            // Its reader may have waited for the sources, and is held all the same.
            if !(read && self.program.rows[older as usize].answers_with_sources()) {
                if self.emulation.is_some() {
                    // It sees what the register holds.
                    return false;
                }
                self.hazards
                    .touches_pending(older, next, place, slot, self.now);
            }
            self.hold(slot, Hold::Deferred);
        }
        touched.is_some()
    }

    /// A deferred operation of the warp in `slot` has delivered.
    #[inline(never)]
    pub(crate) fn deferred_done(&mut self, slot: u8, index: RecordIndex) {
        let before = self.deferred_under_way.len();
        self.deferred_under_way
            .retain(|entry| (entry.0, entry.1) != (slot, index));
        if self.deferred_under_way.len() < before {
            self.warps[slot as usize].deferred -= 1;
            self.release(slot, Hold::Deferred);
        }
    }
}
