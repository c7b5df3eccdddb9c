//! Instructions under way: those of variable latency, and fixed-latency writes that share a register with
//! others. The slow half of the hazard check.

use super::{HazardKind, Hazards, LISTED, NO_HAZARD, Place, SETTLED};
use crate::program::{Mark, Path, Program, Row};

/// An instruction of variable latency, or a fixed-latency write that shares its register with others.
/// What it reads and writes stands in its row.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) issued: u64,
    /// Fixed-latency write: settled from this cycle on.
    pub(super) settles: u64,
    /// First unguarded reader of the pending result: its cycle (NEVER: none), pc and place.
    pub(super) suspect_cycle: u64,
    pub(super) suspect: u32,
    pub(super) suspect_place: u16,
    pub(super) next_free: u16,
    pub(super) pc: u32,
    pub(super) lanes: u32,
    pub(super) slot: u8,
    pub(super) reads_pending: bool,
    pub(super) writes_pending: bool,
}

const NEVER: u64 = u64::MAX;

impl Entry {
    /// A fixed-latency write.
    fn fixed(slot: u8, pc: u32, issued: u64, lanes: u32, settles: u64) -> Entry {
        Entry {
            issued,
            settles,
            suspect_cycle: NEVER,
            suspect: 0,
            suspect_place: 0,
            next_free: NO_HAZARD,
            pc,
            lanes,
            slot,
            reads_pending: false,
            writes_pending: true,
        }
    }

    /// An instruction of variable latency that reads, and `writes` too.
    fn variable(slot: u8, pc: u32, issued: u64, lanes: u32, writes: bool) -> Entry {
        Entry {
            reads_pending: true,
            writes_pending: writes,
            ..Entry::fixed(slot, pc, issued, lanes, NEVER)
        }
    }

    #[inline]
    fn reads<'a>(&self, program: &'a Program) -> &'a [Mark] {
        program.marks(program.rows[self.pc as usize].reads)
    }

    #[inline]
    fn writes<'a>(&self, program: &'a Program) -> &'a [Mark] {
        program.marks(program.rows[self.pc as usize].writes)
    }
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
        let last = self.warps[slot as usize].reads[place];
        let class = last.read & 0xff;
        if class == SETTLED {
            return;
        }
        let needed = program
            .distances
            .get(mark.overwrite_kind, class as u8, mark.class);
        let found = now - (last.read >> 8);
        if found < needed {
            let kind = HazardKind::WriteAfterRead;
            self.report(kind, last.pc, pc, place, found, needed, slot, now);
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
            let Some(written) = covering(entry.writes(program), place) else {
                continue;
            };
            if entry.settles == u64::MAX {
                let entry = &mut self.entries[index as usize];
                if entry.suspect_cycle == NEVER {
                    entry.suspect_cycle = now;
                    entry.suspect = pc;
                    entry.suspect_place = place as u16;
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
        let state = self.warps[slot as usize].places[place];
        let settles = state.issued() + program.distances.largest(state.class() as u8);
        let entry = Entry::fixed(slot, state.pc, state.issued(), state.lanes, settles);
        self.add_entry(program, entry);
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
        let state = &mut self.warps[slot as usize].places[place];
        if state.writers() == 0 {
            state.write(now, mark.class, lanes, pc);
            return;
        }
        let settles = now + program.distances.largest(mark.class);
        self.add_entry(program, Entry::fixed(slot, pc, now, lanes, settles));
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
            let Some(written) = covering(entry.writes(program), place) else {
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
                && covering(entry.reads(program), place).is_some()
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
            if mark.general {
                let first = mark.first as usize;
                for state in &mut table.places[first..first + mark.count as usize] {
                    state.add_reader();
                }
            }
        }
        for mark in program.marks(row.writes) {
            for place in mark.first as usize..mark.first as usize + mark.count as usize {
                let state = &mut self.warps[slot as usize].places[place];
                let class = state.class();
                if class == LISTED {
                    continue;
                }
                let shared = class != SETTLED
                    && state.lanes & !lanes != 0
                    && now - state.issued() < program.distances.largest(class as u8);
                if shared {
                    self.list_fixed(program, place, slot);
                }
                self.warps[slot as usize].places[place].set_state(LISTED);
            }
        }
        let entry = Entry::variable(slot, pc, now, lanes, row.writes.1 > 0);
        self.add_entry(program, entry)
    }

    pub(super) fn add_entry(&mut self, program: &Program, entry: Entry) -> u16 {
        let slot = entry.slot as usize;
        if entry.writes_pending {
            change(
                program,
                &entry,
                &mut self.warps[slot].places,
                Place::add_writer,
            );
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
                    change(program, entry, places, Place::remove_writer);
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
        for mark in entry.reads(program) {
            if mark.general {
                let first = mark.first as usize;
                for state in &mut table.places[first..first + mark.count as usize] {
                    state.remove_reader();
                }
            }
        }
    }

    /// The result of entry `index` has been written; issue sees it in cycle `now`.
    pub fn result_written(&mut self, index: u16, program: &Program, now: u64) {
        if index == NO_HAZARD {
            return;
        }
        let entry = &mut self.entries[index as usize];
        if !entry.writes_pending {
            return;
        }
        entry.writes_pending = false;
        if self.emulates {
            self.written.push(index);
        }
        if entry.suspect_cycle != NEVER {
            self.judge_suspect(index, now);
        }
        let entry = &self.entries[index as usize];
        let mut shared = false;
        for mark in entry.writes(program) {
            let first = mark.first as usize;
            let places = &mut self.warps[entry.slot as usize].places;
            for state in &mut places[first..first + mark.count as usize] {
                state.remove_writer();
                if state.writers() > 0 {
                    shared = true;
                } else if state.class() == LISTED {
                    state.set_state(SETTLED);
                }
            }
        }
        if shared {
            self.settle_shared(index, program, now);
        }
    }

    /// The result of entry `index` has been written: was its first unguarded reader too early?
    #[cold]
    #[inline(never)]
    fn judge_suspect(&mut self, index: u16, now: u64) {
        let entry = self.entries[index as usize];
        let cycle = entry.suspect_cycle;
        if now > cycle + SAMPLE_DELAY {
            let kind = HazardKind::ReadAfterWrite;
            let place = entry.suspect_place as usize;
            let found = cycle - entry.issued;
            self.report(
                kind,
                entry.pc,
                entry.suspect,
                place,
                found,
                0,
                entry.slot,
                cycle,
            );
        }
    }

    /// Others still write what entry `index` has written: those that have settled by now leave the list.
    #[cold]
    #[inline(never)]
    fn settle_shared(&mut self, index: u16, program: &Program, now: u64) {
        let entry = self.entries[index as usize];
        self.prune(program, entry.slot, now);
        for mark in entry.writes(program) {
            let first = mark.first as usize;
            let places = &mut self.warps[entry.slot as usize].places;
            for state in &mut places[first..first + mark.count as usize] {
                if state.writers() == 0 && state.class() == LISTED {
                    state.set_state(SETTLED);
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

/// Changes the state of each register that `entry` writes.
#[inline]
fn change(program: &Program, entry: &Entry, places: &mut [Place], change: impl Fn(&mut Place)) {
    for mark in entry.writes(program) {
        let first = mark.first as usize;
        for place in &mut places[first..first + mark.count as usize] {
            change(place);
        }
    }
}

/// Whether both instructions return their results through one queue, in order.
fn in_order(program: &Program, first: u32, second: u32) -> bool {
    let (first, second) = (
        &program.rows[first as usize],
        &program.rows[second as usize],
    );
    first.queue.is_some() && first.queue == second.queue && second.path != Path::Fixed
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
