//! Control: the stage behind issue (MODEL.md §3). Fixed-latency instructions go on to Allocate; one that
//! cannot stays and closes the issue port. Others go to their unit; one that its unit cannot take steps
//! aside and keeps its warp, and every instruction that is not of fixed latency, from issuing.

use crate::event::Event;
use crate::program::Path;
use crate::sm::Sm;
use crate::sub_core::Latched;

impl Sm {
    /// One cycle of the Control stage.
    #[inline]
    pub(crate) fn control(&mut self, sub_core: usize) {
        let now = self.now;
        if let Some(aside) = self.sub_cores[sub_core].throttled
            && self.unit_takes(sub_core, aside)
        {
            self.sub_cores[sub_core].throttled = None;
        }
        let sub = &mut self.sub_cores[sub_core];
        let Some(mut latched) = sub.control else {
            return;
        };
        if latched.since > now {
            return;
        }
        if self.program.rows[latched.pc as usize].path == Path::Fixed {
            if let Some(ahead) = sub.allocate {
                // Held for a cycle, and so is the unit's input (once, if both have the same).
                if ahead.unit != latched.unit {
                    sub.units.hold(latched.unit);
                }
                return;
            }
            latched.since = now + 1;
            sub.allocate = Some(latched);
        } else if !self.unit_takes(sub_core, latched) {
            if self.parameters.issue.full_queue_closes_port {
                return;
            }
            // None is there: nothing but instructions of fixed latency is issued while one is.
            self.sub_cores[sub_core].throttled = Some(latched);
        }
        self.sub_cores[sub_core].control = None;
    }

    /// The unit of a variable-latency instruction takes it, if it can.
    #[inline]
    fn unit_takes(&mut self, sub_core: usize, latched: Latched) -> bool {
        let now = self.now;
        let sub = &mut self.sub_cores[sub_core];
        let row = &self.program.rows[latched.pc as usize];
        match row.path {
            Path::Fixed => return false,
            Path::Memory => {
                if !self.unit.stages[sub_core].latch_free() {
                    return false;
                }
                self.unit.stages[sub_core].accept(latched.record, now);
            }
            Path::Variable => {
                if !sub.units.is_free(row.unit, now) {
                    return false;
                }
                let (interval, latency) = (row.interval as u64, row.latency as u64);
                sub.units.take(row.unit, now, interval);
                if let Some(emulation) = &mut self.emulation {
                    emulation.reads_behind_control(latched.hazard, now);
                }
                let slot = latched.slot * 4 + sub_core as u8;
                let read = Event::SourcesRead {
                    slot,
                    counter: row.read_counter,
                    hazard: latched.hazard,
                    generation: latched.generation,
                };
                self.wheel.schedule(now + interval + 1, read);
                let ready = Event::ResultReady {
                    slot,
                    counter: row.write_counter,
                    hazard: latched.hazard,
                    banks: row.write_banks,
                    generation: latched.generation,
                };
                // Not before the sources are read, whatever the table says.
                self.wheel
                    .schedule(now + (latency + 1).max(interval), ready);
            }
            Path::SharedFloat64 => {
                if sub.float64_queued >= self.parameters.shared_float64.queue {
                    return false;
                }
                sub.float64_queued += 1;
                let transfer = row.float64_transfer as u64;
                let parameters = &self.parameters.shared_float64;
                let start = (now + 2 + parameters.stages).max(sub.float64_transfer_free);
                let ready = start + transfer;
                if let Some(emulation) = &mut self.emulation {
                    // Two cycles after Control without contention.
                    let enters = start - parameters.stages;
                    emulation.reads_behind_control(latched.hazard, enters - 2);
                }
                sub.float64_transfer_free = ready;
                self.float64_waiting[sub_core].push_back(latched);
                let event = Event::Float64HandOver {
                    sub_core: sub_core as u8,
                };
                self.wheel.schedule(ready, event);
            }
        }
        true
    }

    /// The next FP64 instruction of `sub_core` has brought its operands to the way that it shares with
    /// memory instructions.
    #[inline(never)]
    pub(crate) fn float64_asks(&mut self, sub_core: usize) {
        let now = self.now;
        let place = self.float64_ready[sub_core] as usize;
        let Some(latched) = self.float64_waiting[sub_core].get(place) else {
            return;
        };
        self.float64_ready[sub_core] += 1;
        let read = Event::SourcesRead {
            slot: latched.slot * 4 + sub_core as u8,
            counter: self.program.rows[latched.pc as usize].read_counter,
            hazard: latched.hazard,
            generation: latched.generation,
        };
        self.wheel.schedule(now + 1, read);
        self.unit.asking |= 0b1_0000 << sub_core;
        self.hand_over();
    }

    /// The oldest FP64 instruction of `sub_core` goes to the unit that the SM shares, which takes its lanes in
    /// the cycles that follow.
    #[inline(never)]
    pub(crate) fn float64_handed_over(&mut self, sub_core: usize) {
        let now = self.now;
        let Some(latched) = self.float64_waiting[sub_core].pop_front() else {
            return;
        };
        self.float64_ready[sub_core] -= 1;
        if self.float64_ready[sub_core] == 0 {
            self.unit.asking &= !(0b1_0000 << sub_core);
        }
        let row = &self.program.rows[latched.pc as usize];
        let parameters = &self.parameters.shared_float64;
        let start = (now + parameters.accept).max(self.float64_free);
        self.float64_free = start + row.interval as u64;
        // Result latch one cycle after the pipeline.
        let latch = start + row.latency as u64 + 1;
        let back = parameters.write_register * row.registers_written as u64;
        self.sub_cores[sub_core].float64_queued -= 1;
        let slot = latched.slot * 4 + sub_core as u8;
        let ready = Event::ResultReady {
            slot,
            counter: row.write_counter,
            hazard: latched.hazard,
            banks: row.write_banks,
            generation: latched.generation,
        };
        self.wheel.schedule(latch + back.max(1) - 1, ready);
        self.wake(sub_core);
    }
}
