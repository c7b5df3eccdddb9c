//! The way back: transfer to the sub-core, write port, release of counters and places (MODEL.md §3.2,
//! §5.5, §7.7).

use source::MemoryKind;

use super::record::NO_COUNTER;
use crate::event::{Event, RecordIndex};
use crate::sm::Sm;

impl Sm {
    /// The sources of `record` have been read: its read counter falls.
    pub(crate) fn memory_sources_read(&mut self, index: RecordIndex) {
        let record = &mut self.unit.records[index];
        let (slot, counter, hazard, pc) =
            (record.slot, record.read_counter, record.hazard, record.pc);
        let uncounted = record.write_counter == NO_COUNTER;
        record.read_counter = NO_COUNTER;
        if counter != NO_COUNTER {
            self.counter_falls(slot, counter);
        }
        self.sources_read(hazard);
        if uncounted && self.program.rows[pc as usize].answers_with_sources() {
            self.result_written(hazard);
        }
    }

    /// All data of `record` are at hand in this cycle.
    pub(crate) fn data_ready(&mut self, index: RecordIndex) {
        if self.walk.is_some() {
            self.walk_data(index);
        }
        let record = &mut self.unit.records[index];
        if !record.in_order {
            self.transfer(index);
            return;
        }
        record.arrived = true;
        let sub_core = record.sub_core as usize;
        while let Some(&oldest) = self.unit.textures[sub_core].front()
            && self.unit.records[oldest].arrived
        {
            self.unit.textures[sub_core].pop_front();
            self.transfer(oldest);
        }
    }

    /// The data of `record` go to its sub-core.
    fn transfer(&mut self, index: RecordIndex) {
        let now = self.now;
        let record = &self.unit.records[index];
        match record.kind {
            MemoryKind::CopyToShared => self.copy_read(index),
            MemoryKind::GlobalStore => {
                // A deferred store or reduction: acknowledged, nothing to write.
                self.retire(index);
            }
            _ if record.banks == 0 && record.write_counter == NO_COUNTER => self.retire(index),
            _ => {
                let sub_core = record.sub_core as usize;
                let start = now.max(self.unit.return_free[sub_core]);
                let cycles = record.transfer as u64;
                let registers = self.program.rows[record.pc as usize].registers_written as u64;
                let slack = self.parameters.memory_unit.write_slack;
                let ports = &mut self.sub_cores[sub_core].write_ports;
                let mut written = start;
                let mut stalls = 0;
                let mut write = |cycles: u64, banks: u8| {
                    let arrives = written + cycles;
                    written = ports.book_load(now, arrives, banks);
                    stalls += (written - arrives).saturating_sub(slack);
                };
                if registers > 1 && registers <= cycles {
                    // One register after the other, the banks in turn; a port that is taken delays the
                    // rest.
                    for register in 0..registers {
                        let share =
                            cycles * (register + 1) / registers - cycles * register / registers;
                        write(share, 1 << (register & 1));
                    }
                } else {
                    write(cycles, record.banks);
                }
                self.unit.return_free[sub_core] = written;
                if stalls > 0 {
                    self.unit.stall(now, stalls);
                }
                if self.walk.is_some() {
                    self.walk_transfer(index, start, written, written + 1);
                }
                self.wheel
                    .schedule(written + 1, Event::WrittenBack { record: index });
            }
        }
    }

    /// The last register of `record` has been written; issue sees it in this cycle.
    pub(crate) fn written_back(&mut self, index: RecordIndex) {
        self.release_write(index);
        self.retire(index);
    }

    fn release_write(&mut self, index: RecordIndex) {
        let record = &mut self.unit.records[index];
        let (slot, write, read) = (record.slot, record.write_counter, record.read_counter);
        let hazard = record.hazard;
        let unread = record.read_counter != NO_COUNTER || record.read_with_write;
        record.write_counter = NO_COUNTER;
        record.read_counter = NO_COUNTER;
        if unread {
            if read != NO_COUNTER {
                self.counter_falls(slot, read);
            }
            self.sources_read(hazard);
        }
        if write != NO_COUNTER {
            self.counter_falls(slot, write);
        }
        self.result_written(hazard);
    }

    /// The read half of an LDGSTS is done: the counter falls a little later, the data go on to shared
    /// memory.
    #[inline(never)]
    fn copy_read(&mut self, index: RecordIndex) {
        let parameters = &self.parameters.memory_unit;
        let (release, transfer) = (parameters.copy_release, parameters.copy_transfer);
        let record = &mut self.unit.records[index];
        let (slot, counter) = (record.slot, record.write_counter);
        record.write_counter = NO_COUNTER;
        if counter != NO_COUNTER {
            let generation = self.warps[slot as usize].generation;
            let event = Event::CounterFalls {
                slot,
                counter,
                generation,
            };
            self.wheel.schedule(self.now + release, event);
        }
        record.kind = MemoryKind::SharedStore;
        let arrives = self.now + transfer;
        self.access_shared(index, arrives);
    }

    /// `record` leaves the pending-request table.
    pub(crate) fn retire(&mut self, index: RecordIndex) {
        let record = &self.unit.records[index];
        let (slot, operation, group) = (record.slot, record.operation, record.group);
        let (deferred, order, hazard) = (record.deferred, record.order, record.hazard);
        let write = record.write_counter;
        if write != NO_COUNTER || record.read_counter != NO_COUNTER {
            self.release_write(index);
        }
        if let Some(token) = deferred {
            self.completed.push(token);
            self.deferred_done(slot, index);
        }
        if order != u32::MAX {
            // The instruction itself; packets that a plain store sent are acknowledged one by one.
            self.acknowledged(order);
        }
        self.entry_retired(hazard);
        if operation == source::Operation::CopyToShared {
            self.copy_check.done(index);
            if self.emulation.is_some() {
                self.hazards.written.push(hazard);
            }
            self.copy_done(slot, group);
        }
        if self.walk.is_some() {
            self.walk_retires(index);
        }
        self.unit.records.remove(index);
        self.unit.pending -= 1;
        self.instruction_done(slot);
        if self.unit.asking != 0 {
            self.hand_over();
        }
    }
}
