//! Allocate: a fixed-latency instruction books all its register reads in the window that follows, or
//! waits and keeps everything behind it waiting (MODEL.md §3.1, §5.2). From here on its times are fixed,
//! which is why the compiler's distances stay valid.

use crate::event::Event;
use crate::hazard::NO_HAZARD;
use crate::sm::Sm;

impl Sm {
    /// One cycle of the Allocate stage.
    #[inline]
    pub(crate) fn allocate(&mut self, sub_core: usize) {
        let now = self.now;
        let sub = &mut self.sub_cores[sub_core];
        let Some(latched) = sub.allocate else { return };
        if latched.since > now {
            return;
        }
        let row = &self.program.rows[latched.pc as usize];
        let operands = row.operands.1 > 0;
        if operands {
            let cached = row.reuses || !sub.reuse_cache.is_empty();
            let needs = if cached {
                let operands = self.program.operands(row.operands);
                if row.distinct_operands {
                    let without = row.bank_needs;
                    sub.reuse_cache
                        .needs_of_distinct(latched.slot, operands, without)
                } else {
                    sub.reuse_cache.needs(latched.slot, operands)
                }
            } else {
                row.bank_needs
            };
            if !sub.read_ports.book(now, needs, row.read_window as u32) {
                sub.port_stalls += 1;
                sub.units.hold(latched.unit);
                return;
            }
            if cached {
                sub.reuse_cache
                    .leave_allocate(latched.slot, self.program.operands(row.operands));
            }
        }
        sub.allocate = None;
        let result =
            now + 1 + self.parameters.register_file.read_window as u64 + row.latency as u64;
        if row.write_banks != 0 {
            sub.write_ports.book_result(now, result, row.write_banks);
        }
        let slot = latched.slot * 4 + sub_core as u8;
        let generation = latched.generation;
        // Only scoreboards have an entry for an instruction of fixed latency.
        let entry = latched.hazard;
        if row.read_counter != 7 || entry != NO_HAZARD {
            let read = now + 1 + row.read_window as u64;
            let event = Event::SourcesRead {
                slot,
                counter: row.read_counter,
                hazard: entry,
                generation,
            };
            self.wheel.schedule(read, event);
        }
        let falls = row.write_counter != 7 && !row.commits_copies();
        if falls || entry != NO_HAZARD {
            let event = Event::ResultWritten {
                slot,
                counter: if falls { row.write_counter } else { 7 },
                hazard: entry,
                variable: false,
                generation,
            };
            // A counter is seen to fall a cycle later, a scoreboard at once (MODEL.md §9.2).
            let seen = if falls { result + 1 } else { result };
            self.wheel.schedule(seen, event);
        }
    }

    /// Queue and address stages of the memory unit: what moves in this cycle. Runs after Allocate, so
    /// fixed-latency reads have priority at the ports.
    #[inline]
    pub(crate) fn enter_memory_stages(&mut self, sub_core: usize) {
        let now = self.now;
        let stages = &mut self.unit.stages[sub_core];
        if let Some(record) = stages.latch_to_queue(now) {
            let pc = self.unit.records[record].pc;
            stages.enqueue(self.program.rows[pc as usize].stages, now);
        }
        if stages.head_ready(now) && self.sub_cores[sub_core].read_ports.book_both_next(now) {
            if let (Some(emulation), Some(record)) = (&mut self.emulation, stages.head()) {
                emulation.reads_at(self.unit.records[record].hazard, now + 1);
            }
            if self.walk.is_some() {
                self.walk_enters(self.unit.stages[sub_core].head());
            }
            self.unit.stages[sub_core].enter(now);
            self.propagate_stages(sub_core);
        }
    }
}
