//! Lookups: L1 data cache, shared memory, constant cache, and what goes straight to L2.

use source::{MemoryKind, Operation, Queue, RequestKind, Sector};

use super::l1d::Lookup;
use crate::event::{Event, RecordIndex};
use crate::port::Outstanding;
use crate::sm::Sm;

impl Sm {
    /// Books shared memory for `record`, which arrives there in cycle `arrives`.
    pub(crate) fn access_shared(&mut self, index: RecordIndex, arrives: u64) {
        let parameters = &self.parameters.memory_unit;
        let record = &self.unit.records[index];
        let degree = record.degree.max(1) as u64;
        let start = arrives.max(self.unit.shared_free);
        self.unit.shared_free = start + degree;
        self.statistics.shared_instructions += 1;
        self.statistics.shared_conflicts += degree - 1;
        let mut done = start + degree - 1 + parameters.shared_lookup;
        if record.register_address {
            done += parameters.shared_register_address;
        }
        if record.matrices {
            done += parameters.matrix_lookup;
        }
        if record.kind == MemoryKind::SharedStore {
            self.wheel.schedule(done, Event::Retired { record: index });
        } else {
            self.return_in_order(index, done);
        }
    }

    /// The data of `record` are at hand in cycle `done`, but not before those of earlier instructions of
    /// its queue.
    pub(crate) fn return_in_order(&mut self, index: RecordIndex, done: u64) {
        let record = &self.unit.records[index];
        let mut done = done;
        if self.program.rows[record.pc as usize].queue == Some(Queue::Shared) {
            let last = &mut self.unit.shared_last[record.sub_core as usize];
            done = done.max(*last);
            *last = done;
        }
        self.wheel
            .schedule(done, Event::DataReady { record: index });
    }

    /// The accesses of `record` reach the L1 data cache in this cycle, one sector after the other.
    pub(crate) fn access_l1(&mut self, index: RecordIndex) {
        let record = &self.unit.records[index];
        if record.sectors.count == 0 {
            let done = self.now + self.unit.l1_lookup;
            self.finish_lookup(index, done);
            return;
        }
        if !self.unit.retry.is_empty() || !self.look_up(index) {
            self.unit.retry.push_back(index);
        }
    }

    /// Records that were held back try again: an answer has come.
    pub(crate) fn retry_accesses(&mut self) {
        while let Some(&index) = self.unit.retry.front() {
            if !self.look_up(index) {
                return;
            }
            self.unit.retry.pop_front();
        }
    }

    /// Looks up the sectors of `record`; false if it has to wait for room.
    fn look_up(&mut self, index: RecordIndex) -> bool {
        let now = self.now;
        let (operation, bypass, count) = {
            let record = &self.unit.records[index];
            (
                record.operation,
                record.bypass || record.deferred.is_some(),
                record.sectors.count,
            )
        };
        let first = self.unit.records[index].next_sector;
        for step in first..count {
            // In steady flow sector i is looked up i cycles after the first.
            let lookup = now + (step - first) as u64;
            let leaves = lookup + self.unit.l1_lookup;
            let room = match operation {
                _ if bypass => self.send_past_l1(index, step as usize, leaves),
                Operation::Load | Operation::CopyToShared => {
                    self.load_sector(index, step as usize, lookup, leaves)
                }
                _ => self.store_sector(index, step as usize, lookup, leaves),
            };
            if !room {
                self.unit.records[index].next_sector = step;
                return false;
            }
        }
        self.unit.records[index].next_sector = count;
        let done = now + (count - first).saturating_sub(1) as u64 + self.unit.l1_lookup;
        self.finish_lookup(index, done);
        true
    }

    fn load_sector(&mut self, index: RecordIndex, step: usize, lookup: u64, leaves: u64) -> bool {
        let sector = self.unit.records[index].sectors.at(step);
        match self
            .unit
            .l1d
            .load(&mut self.port, sector, index, lookup, leaves)
        {
            Lookup::Hit => true,
            Lookup::Waits => {
                self.unit.records[index].waiting += 1;
                true
            }
            Lookup::Full => false,
        }
    }

    fn store_sector(&mut self, index: RecordIndex, step: usize, lookup: u64, leaves: u64) -> bool {
        if !self.port.has_room(1) {
            return false;
        }
        let record = &self.unit.records[index];
        let (sector, bytes) = (record.sectors.sector[step], record.sectors.bytes[step]);
        let (slot, order) = (record.slot, record.order);
        self.unit.l1d.store(sector, bytes, lookup);
        self.port.send_packet(
            leaves,
            RequestKind::Write,
            Sector(sector),
            bytes,
            1,
            None,
            Outstanding::Write { slot, order },
        );
        self.acknowledgement_expected(slot, order);
        true
    }

    /// A packet of a deferred or bypassing access: performed at the slice, answered to the record.
    fn send_past_l1(&mut self, index: RecordIndex, step: usize, leaves: u64) -> bool {
        let record = &self.unit.records[index];
        let per_packet = self.parameters.memory_unit.atomic_lanes.max(1);
        let lanes = record.sectors.lanes[step] as u32;
        let kind = match record.operation {
            Operation::Load | Operation::CopyToShared => RequestKind::Read,
            Operation::Store => RequestKind::Write,
            Operation::Atomic => RequestKind::Atomic,
            Operation::Reduction => RequestKind::Reduction,
        };
        let packets = match record.operation {
            Operation::Atomic | Operation::Reduction => lanes.div_ceil(per_packet),
            _ => 1,
        };
        if !self.port.has_room(packets) {
            return false;
        }
        let (sector, bytes) = (record.sectors.sector[step], record.sectors.bytes[step]);
        let deferred = record.deferred;
        let mut left = lanes;
        for packet in 0..packets {
            let carried = left.min(per_packet);
            left -= carried;
            // The sector's values are applied once, with its last packet.
            let token = if packet + 1 == packets {
                deferred
            } else {
                None
            };
            let waits = Outstanding::Bypass { record: index };
            let lanes = carried.max(1) as u8;
            self.port
                .send_packet(leaves, kind, Sector(sector), bytes, lanes, token, waits);
        }
        self.unit.records[index].waiting += packets as u16;
        true
    }

    /// All sectors of `record` have been looked up by cycle `done`.
    fn finish_lookup(&mut self, index: RecordIndex, done: u64) {
        let record = &mut self.unit.records[index];
        record.ready = record.ready.max(done);
        // Writes through L1 are acknowledged later; what passes it by ends with its last answer.
        let past = record.bypass || record.deferred.is_some();
        let stored = matches!(record.operation, Operation::Store) && !past;
        if stored || record.kind == MemoryKind::GlobalStore && record.sectors.count == 0 {
            self.wheel.schedule(done, Event::Retired { record: index });
        } else if record.waiting == 0 {
            self.wheel
                .schedule(done, Event::DataReady { record: index });
        }
    }

    /// One answer for `record` has come in this cycle.
    #[inline]
    pub(crate) fn part_arrives(&mut self, index: RecordIndex) {
        let now = self.now;
        let record = &mut self.unit.records[index];
        record.waiting -= 1;
        record.ready = record.ready.max(now);
        if record.waiting == 0 && record.next_sector == record.sectors.count {
            let ready = record.ready.max(now + 1);
            self.wheel
                .schedule(ready, Event::DataReady { record: index });
        }
    }

    /// A constant load looks up its lines.
    #[inline(never)]
    pub(crate) fn access_constant(&mut self, index: RecordIndex) {
        let now = self.now;
        let record = &mut self.unit.records[index];
        let mut missing = 0;
        let mut looked_up = 0u64;
        let line_bytes = self.unit.constants.line_bytes();
        let mut seen = [u32::MAX; 64];
        for place in 0..record.sectors.count as usize {
            let line = record.sectors.sector[place] as u32 / line_bytes;
            if seen[..looked_up as usize].contains(&line) {
                continue;
            }
            seen[looked_up as usize] = line;
            if !self.unit.constants.lookup(line, now + looked_up) {
                missing += 1;
                self.unit.constant_waiters.push((line, index));
            }
            looked_up += 1;
        }
        record.next_sector = record.sectors.count;
        record.waiting = missing;
        record.ready = now + looked_up.saturating_sub(1) + self.unit.constant_lookup;
        if missing == 0 {
            self.wheel
                .schedule(record.ready, Event::DataReady { record: index });
        } else {
            self.level1.arm(&mut self.wheel, now);
        }
    }

    /// A constant line arrived at the memory unit.
    #[inline(never)]
    pub(crate) fn constant_line_arrives(&mut self, line: u32) {
        let now = self.now;
        self.unit.constants.arrive(line, now);
        let lookup = self.unit.constant_lookup;
        let mut waiters = std::mem::take(&mut self.unit.constant_waiters);
        waiters.retain(|&(wanted, index)| {
            if wanted != line {
                return true;
            }
            let record = &mut self.unit.records[index];
            record.waiting -= 1;
            record.ready = record.ready.max(now + lookup);
            if record.waiting == 0 {
                self.wheel
                    .schedule(record.ready, Event::DataReady { record: index });
            }
            false
        });
        self.unit.constant_waiters = waiters;
    }
}
