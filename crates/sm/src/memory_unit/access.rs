//! Lookups: L1 data cache, shared memory, constant cache, and what goes straight to L2.

use source::{Deferred, MemoryKind, Operation, Queue, RequestKind, SectorMask, Space};

use super::coalesce::Part;
use super::l1d::Lookup;
use crate::event::{Event, RecordIndex};
use crate::port::{Outstanding, Packet};
use crate::sm::Sm;

impl Sm {
    /// Books shared memory for `record`, which arrives there in cycle `arrives`.
    pub(crate) fn access_shared(&mut self, index: RecordIndex, arrives: u64) {
        let parameters = &self.parameters.memory_unit;
        let record = &self.unit.records[index];
        let wavefronts = record.wavefronts;
        let cycles = wavefronts.cycles.max(1) as u64;
        let start = arrives.max(self.unit.shared_free);
        self.unit.shared_free = start + cycles;
        if wavefronts.cycles > 0 {
            let traffic = &mut self.statistics.traffic;
            let traffic = traffic.count(Space::Shared, record.operation);
            traffic.instructions += 1;
            traffic.wavefronts += cycles;
            traffic.conflicts += wavefronts.conflicts() as u64;
        }
        // The first pass is in the lookup; the transfer takes a cycle for each.
        let mut done = start + wavefronts.conflicts() as u64 + parameters.shared_lookup;
        if record.register_address {
            done += parameters.shared_register_address;
        }
        if record.matrices {
            done += parameters.matrix_lookup;
        }
        let stores = record.kind == MemoryKind::SharedStore;
        let mut in_turn = done;
        if stores {
            self.wheel.schedule(done, Event::Retired { record: index });
        } else {
            in_turn = self.return_in_order(index, done);
        }
        if self.walk.is_some() {
            self.walk_shared(index, (arrives, start), (done, in_turn));
        }
    }

    /// The data of `record` are at hand in cycle `done`, but not before those of earlier instructions of
    /// its queue: when that is.
    pub(crate) fn return_in_order(&mut self, index: RecordIndex, done: u64) -> u64 {
        let record = &self.unit.records[index];
        let mut done = done;
        if self.program.rows[record.pc as usize].queue == Some(Queue::Shared) {
            let last = &mut self.unit.shared_last[record.sub_core as usize];
            done = done.max(*last);
            *last = done;
        }
        self.wheel
            .schedule(done, Event::DataReady { record: index });
        done
    }

    /// The accesses of `record` reach the L1 data cache in this cycle, one sector after the other.
    pub(crate) fn access_l1(&mut self, index: RecordIndex) {
        let record = &self.unit.records[index];
        if record.lines.count == 0 {
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

    /// Looks up the lines of `record`; false if it has to wait for room. Counts what came of it.
    fn look_up(&mut self, index: RecordIndex) -> bool {
        let before = self.unit.l1d.hits();
        let (done, looked_up) = self.look_up_lines(index);
        let hits = self.unit.l1d.hits() - before;
        let record = &self.unit.records[index];
        if !matches!(record.operation, Operation::Atomic | Operation::Reduction) {
            let traffic = self
                .statistics
                .traffic
                .count(record.space, record.operation);
            traffic.hits += hits;
            traffic.misses += looked_up - hits;
        }
        done
    }

    /// Whether all lines were looked up, and the sectors that were.
    fn look_up_lines(&mut self, index: RecordIndex) -> (bool, u64) {
        let now = self.now;
        let (operation, bypass, count) = {
            let record = &self.unit.records[index];
            (
                record.operation,
                record.bypass || record.deferred.is_some(),
                record.lines.count,
            )
        };
        let mut looked_up = 0;
        for step in self.unit.records[index].next_line..count {
            let place = step as usize;
            let part = self.unit.records[index].lines.at(place);
            let sectors = u64::from(part.sectors.count_ones());
            // In steady flow sector i is looked up i cycles after the first; what the line lacks
            // leaves with the last of its sectors.
            let first = now + looked_up;
            let last = first + sectors - 1;
            let (sent, hits) = (self.port.requests.len(), self.unit.l1d.hits());
            let room = match operation {
                Operation::Atomic | Operation::Reduction => self.send_atomic(index, place, first),
                _ if bypass => self.send_past_l1(index, place, last),
                Operation::Load | Operation::CopyToShared => self.load_line(index, part, last),
                Operation::Store => self.store_line(index, place, last),
            };
            if !room {
                self.unit.records[index].next_line = step;
                return (false, looked_up);
            }
            if self.walk.is_some() {
                let hits = self.unit.l1d.hits() - hits;
                self.walk_line(index, part, (first, last), sent, hits);
            }
            looked_up += sectors;
        }
        self.unit.records[index].next_line = count;
        let done = now + looked_up.saturating_sub(1) + self.unit.l1_lookup;
        self.finish_lookup(index, done);
        (true, looked_up)
    }

    fn load_line(&mut self, index: RecordIndex, part: Part, lookup: u64) -> bool {
        let leaves = lookup + self.unit.l1_lookup;
        let (line, sectors) = (part.line.0, part.sectors);
        match self
            .unit
            .l1d
            .load(&mut self.port, line, sectors, index, lookup, leaves)
        {
            Lookup::Hit => true,
            Lookup::Waits(sectors) => {
                self.unit.records[index].waiting += sectors;
                true
            }
            Lookup::Full => false,
        }
    }

    fn store_line(&mut self, index: RecordIndex, place: usize, lookup: u64) -> bool {
        if !self.port.has_room(1) {
            return false;
        }
        let record = &self.unit.records[index];
        let (slot, order) = (record.slot, record.order);
        let part = record.lines.at(place);
        self.unit
            .l1d
            .store(part.line.0, part.sectors, part.whole, lookup);
        let packet = Packet {
            bytes: record.lines.bytes(place),
            ..Packet::read(RequestKind::Write, part.line, part.sectors)
        };
        let leaves = lookup + self.unit.l1_lookup;
        self.port
            .send(leaves, packet, Outstanding::Write { slot, order });
        self.acknowledgement_expected(slot, order);
        true
    }

    /// A packet of a deferred or bypassing load or store: performed at the slice, answered to the
    /// record.
    fn send_past_l1(&mut self, index: RecordIndex, place: usize, lookup: u64) -> bool {
        if !self.port.has_room(1) {
            return false;
        }
        let record = &mut self.unit.records[index];
        let part = record.lines.at(place);
        let (kind, bytes) = match record.operation {
            Operation::Store => (RequestKind::Write, record.lines.bytes(place)),
            _ => (RequestKind::Read, [0; 4]),
        };
        let packet = Packet {
            bytes,
            deferred: record.deferred.map(|token| Deferred {
                token,
                virtual_line: part.line,
            }),
            ..Packet::read(kind, part.line, part.sectors)
        };
        record.waiting += part.sectors.count_ones() as u16;
        let leaves = lookup + self.unit.l1_lookup;
        self.port
            .send(leaves, packet, Outstanding::Bypass { record: index });
        true
    }

    /// The packets of an atomic or reduction for line `place` of the record: of each sector as many
    /// as its lanes need, the first sector's from its lookup in cycle `first` on.
    fn send_atomic(&mut self, index: RecordIndex, place: usize, first: u64) -> bool {
        let per_packet = self.parameters.memory_unit.atomic_lanes.max(1);
        let record = &self.unit.records[index];
        let part = record.lines.at(place);
        let sectors = || (0..4).filter(|sector| part.sectors >> sector & 1 == 1);
        let packets: u32 = sectors()
            .map(|sector| record.lines.lanes(place, sector).div_ceil(per_packet))
            .sum();
        if !self.port.has_room(packets) {
            return false;
        }
        let kind = match record.operation {
            Operation::Atomic => RequestKind::Atomic,
            _ => RequestKind::Reduction,
        };
        let deferred = record.deferred.map(|token| Deferred {
            token,
            virtual_line: part.line,
        });
        for (leaves, sector) in (first + self.unit.l1_lookup..).zip(sectors()) {
            let mut left = self.unit.records[index].lines.lanes(place, sector);
            while left > 0 {
                let carried = left.min(per_packet);
                left -= carried;
                let packet = Packet {
                    lanes: carried as u8,
                    // The sector's values are applied once, with its last packet.
                    deferred: deferred.filter(|_| left == 0),
                    ..Packet::read(kind, part.line, 1 << sector)
                };
                self.port
                    .send(leaves, packet, Outstanding::Bypass { record: index });
            }
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
        if stored || record.kind == MemoryKind::GlobalStore && record.lines.count == 0 {
            self.wheel.schedule(done, Event::Retired { record: index });
        } else if record.waiting == 0 {
            self.wheel
                .schedule(done, Event::DataReady { record: index });
        }
    }

    /// An answer of some sectors for `record` has come in this cycle.
    #[inline]
    pub(crate) fn part_arrives(&mut self, index: RecordIndex, sectors: SectorMask) {
        let now = self.now;
        let record = &mut self.unit.records[index];
        record.waiting -= sectors.count_ones() as u16;
        record.ready = record.ready.max(now);
        if record.waiting == 0 && record.next_line == record.lines.count {
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
        let mut last_missing = None;
        let mut looked_up = 0u64;
        let line_bytes = self.unit.constants.line_bytes();
        let mut seen = [u32::MAX; 64];
        for &address in &record.constant[..usize::from(record.constants)] {
            let line = address as u32 / line_bytes;
            if seen[..looked_up as usize].contains(&line) {
                continue;
            }
            seen[looked_up as usize] = line;
            if !self.unit.constants.lookup(line, now + looked_up) {
                missing += 1;
                last_missing = Some(line);
                self.unit.constant_waiters.push((line, index));
            }
            looked_up += 1;
        }
        record.waiting = missing;
        record.ready = now + looked_up.saturating_sub(1) + self.unit.constant_lookup;
        let ready = record.ready;
        if self.walk.is_some() {
            self.walk_constant(index, looked_up, last_missing, ready);
        }
        if missing == 0 {
            self.wheel
                .schedule(ready, Event::DataReady { record: index });
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
        if self.walk.is_some() {
            self.walk_constant_arrives(line, self.parameters.l1_instruction_cache.link);
        }
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
