//! Instructions under way: those of variable latency, and fixed-latency writes that share a register with
//! others. The slow half of the hazard check.

use super::{HazardKind, Hazards, LISTED, NO_HAZARD, Place, SETTLED};
use crate::program::{Mark, Path, Program, Queue, Row};

/// An instruction of variable latency, or a fixed-latency write that shares its register with others.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) slot: u8,
    pub(super) pc: u32,
    pub(super) issued: u64,
    pub(super) lanes: u32,
    pub(super) reads: (u32, u8),
    pub(super) writes: (u32, u8),
    pub(super) reads_pending: bool,
    pub(super) writes_pending: bool,
    /// Fixed-latency write: settled from this cycle on.
    pub(super) settles: u64,
    /// First unguarded reader of the pending result: (pc, cycle, place).
    pub(super) suspect: Option<(u32, u64, u16)>,
    pub(super) next_free: u16,
}

/// Cycles before write-back from which an unguarded reader sees a variable-latency result
/// (a fixed-latency reader samples the register file three cycles after issue: H1).
const SAMPLE_DELAY: u64 = 3;

impl Hazards {
    /// A register is overwritten: has the reader that needs it longest sampled it? Fixed-latency readers
    /// sample a fixed time after issue, which differs between classes.
    pub(super) fn check_reader(
        &mut self,
        program: &Program,
        mark: &Mark,
        place: usize,
        pc: u32,
        slot: u8,
        now: u64,
    ) {
        let read = self.warps[slot as usize].places[place].read;
        let class = read & 0xff;
        if class == SETTLED {
            return;
        }
        let needed = program
            .distances
            .get(mark.overwrite_kind, class as u8, mark.class);
        let found = now - (read >> 8);
        if found < needed {
            let first = self.warps[slot as usize].places[place].reader;
            let kind = HazardKind::WriteAfterRead;
            self.report(kind, first, pc, place, found, needed, slot, now);
        }
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn check_read_listed(
        &mut self,
        program: &Program,
        mark: &Mark,
        place: usize,
        pc: u32,
        slot: u8,
        lanes: u32,
        now: u64,
    ) {
        for step in 0..self.warps[slot as usize].under_way.len() {
            let index = self.warps[slot as usize].under_way[step];
            let entry = self.entries[index as usize];
            if !entry.writes_pending || entry.lanes & lanes == 0 {
                continue;
            }
            let Some(written) = covering(program.marks(entry.writes), place) else {
                continue;
            };
            if entry.settles == u64::MAX {
                let suspect = &mut self.entries[index as usize].suspect;
                if suspect.is_none() {
                    *suspect = Some((pc, now, place as u16));
                }
                continue;
            }
            let needed = program.distances.get(mark.kind, written.class, mark.class);
            let found = now - entry.issued;
            if found < needed {
                let kind = HazardKind::ReadAfterWrite;
                self.report(kind, entry.pc, pc, place, found, needed, slot, now);
            }
        }
    }

    /// Moves the fixed-latency write that the table holds for `place` to the list.
    #[cold]
    pub(super) fn list_fixed(&mut self, program: &Program, place: usize, slot: u8) {
        let table = &self.warps[slot as usize];
        let (written, lanes, pc) = (
            table.places[place].written,
            table.places[place].lanes,
            table.places[place].pc,
        );
        let issued = written >> 8;
        let settles = issued + program.distances.largest(written as u8);
        let row = &program.rows[pc as usize];
        self.add_entry(
            program,
            Entry {
                slot,
                pc,
                issued,
                lanes,
                reads: (0, 0),
                writes: row.writes,
                reads_pending: false,
                writes_pending: true,
                settles,
                suspect: None,
                next_free: NO_HAZARD,
            },
        );
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn list_new_fixed(
        &mut self,
        program: &Program,
        mark: &Mark,
        place: usize,
        pc: u32,
        slot: u8,
        lanes: u32,
        now: u64,
    ) {
        self.prune(program, slot, now);
        if self.warps[slot as usize].places[place].writing == 0 {
            let table = &mut self.warps[slot as usize];
            table.places[place].written = now << 8 | mark.class as u64;
            table.places[place].lanes = lanes;
            table.places[place].pc = pc;
            return;
        }
        let row = &program.rows[pc as usize];
        self.add_entry(
            program,
            Entry {
                slot,
                pc,
                issued: now,
                lanes,
                reads: (0, 0),
                writes: row.writes,
                reads_pending: false,
                writes_pending: true,
                settles: now + program.distances.largest(mark.class),
                suspect: None,
                next_free: NO_HAZARD,
            },
        );
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn check_write_listed(
        &mut self,
        program: &Program,
        mark: &Mark,
        place: usize,
        pc: u32,
        slot: u8,
        lanes: u32,
        now: u64,
    ) {
        for step in 0..self.warps[slot as usize].under_way.len() {
            let index = self.warps[slot as usize].under_way[step];
            let entry = self.entries[index as usize];
            if !entry.writes_pending || entry.lanes & lanes == 0 || entry.issued == now {
                continue;
            }
            if entry.settles == u64::MAX && in_order(program, entry.pc, pc) {
                continue;
            }
            let Some(written) = covering(program.marks(entry.writes), place) else {
                continue;
            };
            let found = now - entry.issued;
            let needed = if entry.settles == u64::MAX {
                0
            } else {
                program.distances.get(mark.kind, written.class, mark.class)
            };
            if entry.settles == u64::MAX || found < needed {
                let kind = HazardKind::WriteAfterWrite;
                self.report(kind, entry.pc, pc, place, found, needed, slot, now);
            }
        }
    }

    #[cold]
    pub(super) fn check_readers(
        &mut self,
        program: &Program,
        place: usize,
        pc: u32,
        slot: u8,
        lanes: u32,
        now: u64,
    ) {
        for step in 0..self.warps[slot as usize].under_way.len() {
            let index = self.warps[slot as usize].under_way[step];
            let entry = self.entries[index as usize];
            if entry.reads_pending
                && entry.lanes & lanes != 0
                && entry.issued != now
                && !reads_before_write(program, entry.pc, pc)
                && covering(program.marks(entry.reads), place).is_some()
            {
                let found = now - entry.issued;
                let kind = HazardKind::WriteAfterRead;
                self.report(kind, entry.pc, pc, place, found, 0, slot, now);
            }
        }
    }

    /// Enters an instruction of variable latency: its sources are being read, its results pending.
    pub(super) fn add_variable(
        &mut self,
        program: &Program,
        row: &Row,
        pc: u32,
        slot: u8,
        lanes: u32,
        now: u64,
    ) -> u16 {
        let table = &mut self.warps[slot as usize];
        for mark in program.marks(row.reads) {
            if !mark.guard {
                for place in mark.first..mark.first + mark.count as u16 {
                    table.places[place as usize].reading += 1;
                }
            }
        }
        for mark in program.marks(row.writes) {
            for place in mark.first as usize..mark.first as usize + mark.count as usize {
                let written = self.warps[slot as usize].places[place].written;
                let class = written & 0xff;
                if class != SETTLED
                    && class != LISTED
                    && now - (written >> 8) < program.distances.largest(class as u8)
                    && self.warps[slot as usize].places[place].lanes & !lanes != 0
                {
                    self.list_fixed(program, place, slot);
                }
                self.warps[slot as usize].places[place].written = LISTED;
            }
        }
        self.add_entry(
            program,
            Entry {
                slot,
                pc,
                issued: now,
                lanes,
                reads: row.reads,
                writes: row.writes,
                reads_pending: true,
                writes_pending: row.writes.1 > 0,
                settles: u64::MAX,
                suspect: None,
                next_free: NO_HAZARD,
            },
        )
    }

    pub(super) fn add_entry(&mut self, program: &Program, entry: Entry) -> u16 {
        let slot = entry.slot as usize;
        if entry.writes_pending {
            count(program, &entry, &mut self.warps[slot].places, |writing| {
                writing.saturating_add(1)
            });
        }
        let index = if self.free == NO_HAZARD {
            self.entries.push(entry);
            self.entries.len() as u16 - 1
        } else {
            let index = self.free;
            self.free = self.entries[index as usize].next_free;
            self.entries[index as usize] = entry;
            index
        };
        self.warps[slot].under_way.push(index);
        index
    }

    /// Takes settled fixed-latency writes off the list.
    pub(super) fn prune(&mut self, program: &Program, slot: u8, now: u64) {
        let table = &mut self.warps[slot as usize];
        let places = &mut table.places;
        let entries = &mut self.entries;
        let free = &mut self.free;
        table.under_way.retain(|&index| {
            let entry = &mut entries[index as usize];
            if entry.settles <= now {
                if entry.writes_pending {
                    count(program, entry, places, |writing| writing.saturating_sub(1));
                }
                entry.writes_pending = false;
                entry.next_free = *free;
                *free = index;
                return false;
            }
            true
        });
    }

    /// The sources of entry `index` have been sampled.
    pub fn sources_read(&mut self, index: u16, program: &Program) {
        if index == NO_HAZARD {
            return;
        }
        let entry = &mut self.entries[index as usize];
        if !entry.reads_pending {
            return;
        }
        entry.reads_pending = false;
        let table = &mut self.warps[entry.slot as usize];
        for mark in program.marks(entry.reads) {
            if !mark.guard {
                for place in mark.first..mark.first + mark.count as u16 {
                    let reading = &mut table.places[place as usize].reading;
                    *reading = reading.saturating_sub(1);
                }
            }
        }
    }

    /// The result of entry `index` has been written; issue sees it in cycle `now`.
    pub fn result_written(&mut self, index: u16, program: &Program, now: u64) {
        if index == NO_HAZARD {
            return;
        }
        let entry = self.entries[index as usize];
        if !entry.writes_pending {
            return;
        }
        self.entries[index as usize].writes_pending = false;
        if let Some((pc, cycle, place)) = entry.suspect
            && now > cycle + SAMPLE_DELAY
        {
            let kind = HazardKind::ReadAfterWrite;
            let found = cycle - entry.issued;
            self.report(
                kind,
                entry.pc,
                pc,
                place as usize,
                found,
                0,
                entry.slot,
                cycle,
            );
        }
        let slot = entry.slot as usize;
        count(program, &entry, &mut self.warps[slot].places, |writing| {
            writing.saturating_sub(1)
        });
        let mut pruned = false;
        for mark in program.marks(entry.writes) {
            for place in mark.first as usize..mark.first as usize + mark.count as usize {
                if self.warps[slot].places[place].writing > 0 && !pruned {
                    self.prune(program, entry.slot, now);
                    pruned = true;
                }
                let table = &mut self.warps[slot];
                if table.places[place].writing == 0 && table.places[place].written & 0xff == LISTED
                {
                    table.places[place].written = SETTLED;
                }
            }
        }
    }

    /// Entry `index` is over.
    pub fn retired(&mut self, index: u16, program: &Program, now: u64) {
        if index == NO_HAZARD {
            return;
        }
        self.sources_read(index, program);
        self.result_written(index, program, now);
        let slot = self.entries[index as usize].slot;
        let under_way = &mut self.warps[slot as usize].under_way;
        if let Some(place) = under_way.iter().position(|&other| other == index) {
            under_way.remove(place);
            self.entries[index as usize].next_free = self.free;
            self.free = index;
        }
        if self.warps[slot as usize].under_way.len() > 8 {
            self.prune(program, slot, now);
        }
    }
}

/// Changes the count of each register that `entry` writes.
#[inline]
fn count(program: &Program, entry: &Entry, places: &mut [Place], change: impl Fn(u8) -> u8) {
    for mark in program.marks(entry.writes) {
        let first = mark.first as usize;
        for place in &mut places[first..first + mark.count as usize] {
            place.writing = change(place.writing);
        }
    }
}

/// Whether both instructions return their results through one queue, in order.
fn in_order(program: &Program, first: u32, second: u32) -> bool {
    let (first, second) = (
        &program.rows[first as usize],
        &program.rows[second as usize],
    );
    first.queue != Queue::Any && first.queue == second.queue && second.path != Path::Fixed
}

/// Whether `second` cannot write before `first` has read: they share a queue, or go down the memory
/// unit one behind the other.
fn reads_before_write(program: &Program, first: u32, second: u32) -> bool {
    let both_memory = [first, second]
        .iter()
        .all(|&pc| program.rows[pc as usize].path == Path::Memory);
    both_memory || in_order(program, first, second)
}

/// The use that covers `place`.
#[inline]
fn covering(marks: &[Mark], place: usize) -> Option<&Mark> {
    marks
        .iter()
        .find(|mark| place.wrapping_sub(mark.first as usize) < mark.count as usize)
}
