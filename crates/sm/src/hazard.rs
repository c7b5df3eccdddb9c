//! The hazard check (DESIGN.md §3, H1 to H3): does the code keep the distances and wait on the counters
//! that the machine needs? Results are those of program order in any case; what the machine would do
//! differently is reported, with both instructions. Nothing here changes a cycle.

use crate::program::{Mark, Program, Row};

/// Kind of a hazard.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum HazardKind {
    /// A read, guard or address before the value is visible.
    ReadAfterWrite,
    /// A write before an older one has landed.
    WriteAfterWrite,
    /// A write before an older reader has sampled its source.
    WriteAfterRead,
    /// A read of LDGSTS bytes before their group was waited for.
    CopyNotWaitedFor,
}

impl HazardKind {
    /// Short name.
    pub const fn name(self) -> &'static str {
        match self {
            HazardKind::ReadAfterWrite => "RAW",
            HazardKind::WriteAfterWrite => "WAW",
            HazardKind::WriteAfterRead => "WAR",
            HazardKind::CopyNotWaitedFor => "LDGSTS",
        }
    }
}

/// A pair of instructions that the hardware would get wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hazard {
    /// What is wrong.
    pub kind: HazardKind,
    /// Older instruction (pc in instructions).
    pub first: u32,
    /// Younger instruction.
    pub second: u32,
    /// Place in the warp's register table: general registers first, then uniform registers,
    /// predicates, uniform predicates.
    pub place: u16,
    /// Issue distance found, in cycles.
    pub found: u64,
    /// Distance needed; 0 if the older one has variable latency and a counter must be waited for.
    pub needed: u64,
    /// Warp slot in which it was seen first.
    pub slot: u8,
    /// Cycle in which it was seen first.
    pub cycle: u64,
    /// Times it happened.
    pub count: u64,
}

/// State of a register: nothing under way.
const SETTLED: u64 = 0xff;
/// State of a register: look at the list of instructions under way.
const LISTED: u64 = 0xfe;
/// No entry.
pub const NO_HAZARD: u16 = u16::MAX;

/// Last write of each register of a warp: issue cycle << 8 | class, or a state.
struct WarpTable {
    written: Vec<u64>,
    lanes: Vec<u32>,
    pc: Vec<u32>,
    /// Readers of variable latency that have not sampled yet, per register.
    reading: Vec<u8>,
    /// Entries under way.
    under_way: Vec<u16>,
}

/// An instruction of variable latency, or a fixed-latency write that shares its register with others.
#[derive(Clone, Copy)]
struct Entry {
    slot: u8,
    pc: u32,
    issued: u64,
    lanes: u32,
    reads: (u32, u8),
    writes: (u32, u8),
    reads_pending: bool,
    writes_pending: bool,
    /// Fixed-latency write: settled from this cycle on.
    settles: u64,
    /// First unguarded reader of the pending result: (pc, cycle, place).
    suspect: Option<(u32, u64, u16)>,
    next_free: u16,
}

/// Distinct hazards kept; further ones are only counted.
const KEPT: usize = 256;
/// Cycles before write-back from which an unguarded reader sees a variable-latency result
/// (a fixed-latency reader samples the register file three cycles after issue: H1).
const SAMPLE_DELAY: u64 = 3;

/// The hazard table of an SM.
pub struct Hazards {
    enabled: bool,
    warps: Vec<WarpTable>,
    entries: Vec<Entry>,
    free: u16,
    found: Vec<Hazard>,
    count: u64,
}

impl Hazards {
    /// An empty table for warps of `places` registers.
    pub fn new(enabled: bool, places: usize, slots: usize) -> Hazards {
        let warps = if enabled { slots } else { 0 };
        Hazards {
            enabled,
            warps: (0..warps)
                .map(|_| WarpTable {
                    written: vec![SETTLED; places],
                    lanes: vec![0; places],
                    pc: vec![0; places],
                    reading: vec![0; places],
                    under_way: Vec::with_capacity(32),
                })
                .collect(),
            entries: Vec::with_capacity(256),
            free: NO_HAZARD,
            found: Vec::new(),
            count: 0,
        }
    }

    /// Hazards found, each pair once.
    pub fn found(&self) -> &[Hazard] {
        &self.found
    }

    /// How often a hazard was met.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// A new warp starts in `slot`.
    pub fn start_warp(&mut self, slot: u8) {
        if !self.enabled {
            return;
        }
        let table = &mut self.warps[slot as usize];
        table.written.fill(SETTLED);
        table.reading.fill(0);
        table.under_way.clear();
    }

    /// Instruction `row` at `pc` is issued in cycle `now`, in effect in `lanes` of the `active` ones.
    /// Returns its entry if it has variable latency.
    #[inline]
    #[allow(clippy::too_many_arguments)]
    pub fn issue(
        &mut self,
        program: &Program,
        row: &Row,
        pc: u32,
        slot: u8,
        lanes: u32,
        active: u32,
        now: u64,
        variable: bool,
    ) -> u16 {
        if !self.enabled {
            return NO_HAZARD;
        }
        for mark in program.marks(row.reads) {
            let touched = if mark.guard { active } else { lanes };
            for place in mark.first..mark.first + mark.count as u16 {
                self.check_read(program, mark, place as usize, pc, slot, touched, now);
            }
        }
        if lanes == 0 && !variable {
            return NO_HAZARD;
        }
        for mark in program.marks(row.writes) {
            for place in mark.first..mark.first + mark.count as u16 {
                self.check_write(
                    program,
                    mark,
                    place as usize,
                    pc,
                    slot,
                    lanes,
                    now,
                    variable,
                );
            }
        }
        if variable {
            self.add_variable(program, row, pc, slot, lanes, now)
        } else {
            NO_HAZARD
        }
    }

    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn check_read(
        &mut self,
        program: &Program,
        mark: &Mark,
        place: usize,
        pc: u32,
        slot: u8,
        lanes: u32,
        now: u64,
    ) {
        let table = &self.warps[slot as usize];
        let written = table.written[place];
        let class = written & 0xff;
        if class == SETTLED {
            return;
        }
        if class == LISTED {
            self.check_read_listed(program, mark, place, pc, slot, lanes, now);
            return;
        }
        let needed = program.distances.get(mark.kind, class as u8, mark.class);
        let found = now - (written >> 8);
        if found < needed && table.lanes[place] & lanes != 0 {
            let first = table.pc[place];
            self.report(
                HazardKind::ReadAfterWrite,
                first,
                pc,
                place,
                found,
                needed,
                slot,
                now,
            );
        }
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn check_read_listed(
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

    #[inline]
    #[allow(clippy::too_many_arguments)]
    fn check_write(
        &mut self,
        program: &Program,
        mark: &Mark,
        place: usize,
        pc: u32,
        slot: u8,
        lanes: u32,
        now: u64,
        variable: bool,
    ) {
        let table = &mut self.warps[slot as usize];
        if table.reading[place] != 0 {
            self.check_readers(program, place, pc, slot, lanes, now);
        }
        let table = &mut self.warps[slot as usize];
        let written = table.written[place];
        let class = written & 0xff;
        if class == LISTED {
            self.check_write_listed(program, mark, place, pc, slot, lanes, now);
        } else if class != SETTLED {
            let older = program.distances.largest(class as u8);
            let age = now - (written >> 8);
            if table.lanes[place] & lanes != 0 {
                let needed = program.distances.get(mark.kind, class as u8, mark.class);
                if age < needed {
                    let first = table.pc[place];
                    let kind = HazardKind::WriteAfterWrite;
                    self.report(kind, first, pc, place, age, needed, slot, now);
                }
            }
            let table = &mut self.warps[slot as usize];
            if age < older && table.lanes[place] & !lanes != 0 {
                // Lanes of the older write that this one leaves alone are still under way: both go
                // on the list.
                self.list_fixed(program, place, slot);
                self.warps[slot as usize].written[place] = LISTED;
            }
        }
        if variable {
            return;
        }
        let table = &mut self.warps[slot as usize];
        if table.written[place] & 0xff == LISTED {
            self.list_new_fixed(program, mark, place, pc, slot, lanes, now);
            return;
        }
        table.written[place] = now << 8 | mark.class as u64;
        table.lanes[place] = lanes;
        table.pc[place] = pc;
    }

    /// Moves the fixed-latency write that the table holds for `place` to the list.
    #[cold]
    fn list_fixed(&mut self, program: &Program, place: usize, slot: u8) {
        let table = &self.warps[slot as usize];
        let (written, lanes, pc) = (table.written[place], table.lanes[place], table.pc[place]);
        let issued = written >> 8;
        let settles = issued + program.distances.largest(written as u8);
        let row = &program.rows[pc as usize];
        self.add_entry(Entry {
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
        });
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn list_new_fixed(
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
        let still_listed = self.warps[slot as usize].under_way.iter().any(|&index| {
            let entry = &self.entries[index as usize];
            entry.writes_pending && covering(program.marks(entry.writes), place).is_some()
        });
        if !still_listed {
            let table = &mut self.warps[slot as usize];
            table.written[place] = now << 8 | mark.class as u64;
            table.lanes[place] = lanes;
            table.pc[place] = pc;
            return;
        }
        let row = &program.rows[pc as usize];
        self.add_entry(Entry {
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
        });
    }

    #[cold]
    #[allow(clippy::too_many_arguments)]
    fn check_write_listed(
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
            if !entry.writes_pending || entry.lanes & lanes == 0 || entry.pc == pc {
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
    fn check_readers(
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
                && entry.pc != pc
                && covering(program.marks(entry.reads), place).is_some()
            {
                let found = now - entry.issued;
                let kind = HazardKind::WriteAfterRead;
                self.report(kind, entry.pc, pc, place, found, 0, slot, now);
            }
        }
    }

    /// Enters an instruction of variable latency: its sources are being read, its results pending.
    fn add_variable(
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
                    table.reading[place as usize] += 1;
                }
            }
        }
        for mark in program.marks(row.writes) {
            for place in mark.first as usize..mark.first as usize + mark.count as usize {
                let written = self.warps[slot as usize].written[place];
                let class = written & 0xff;
                if class != SETTLED
                    && class != LISTED
                    && now - (written >> 8) < program.distances.largest(class as u8)
                    && self.warps[slot as usize].lanes[place] & !lanes != 0
                {
                    self.list_fixed(program, place, slot);
                }
                self.warps[slot as usize].written[place] = LISTED;
            }
        }
        self.add_entry(Entry {
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
        })
    }

    fn add_entry(&mut self, entry: Entry) -> u16 {
        let slot = entry.slot as usize;
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
    fn prune(&mut self, _program: &Program, slot: u8, now: u64) {
        let table = &mut self.warps[slot as usize];
        let entries = &mut self.entries;
        let free = &mut self.free;
        table.under_way.retain(|&index| {
            let entry = &mut entries[index as usize];
            if entry.settles <= now {
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
                    let reading = &mut table.reading[place as usize];
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
        for mark in program.marks(entry.writes) {
            for place in mark.first as usize..mark.first as usize + mark.count as usize {
                let others = self.warps[entry.slot as usize]
                    .under_way
                    .iter()
                    .any(|&other| {
                        let other = &self.entries[other as usize];
                        other.writes_pending
                            && other.settles > now
                            && covering(program.marks(other.writes), place).is_some()
                    });
                let table = &mut self.warps[entry.slot as usize];
                if !others && table.written[place] & 0xff == LISTED {
                    table.written[place] = SETTLED;
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

    /// Instruction `second` touches a register that the deferred operation `first` has not delivered; it
    /// is held until then (DESIGN.md V5).
    pub fn touches_pending(&mut self, first: u32, second: u32, place: u16, slot: u8, cycle: u64) {
        if self.enabled {
            let kind = HazardKind::ReadAfterWrite;
            self.report(kind, first, second, place as usize, 0, 0, slot, cycle);
        }
    }

    /// Whether hazards are checked.
    #[inline]
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Records a hazard that another part of the SM found (LDGSTS).
    #[allow(clippy::too_many_arguments)]
    pub fn report(
        &mut self,
        kind: HazardKind,
        first: u32,
        second: u32,
        place: usize,
        found: u64,
        needed: u64,
        slot: u8,
        cycle: u64,
    ) {
        self.count += 1;
        let same = |hazard: &&mut Hazard| {
            hazard.kind == kind
                && hazard.first == first
                && hazard.second == second
                && hazard.place == place as u16
        };
        if let Some(hazard) = self.found.iter_mut().find(same) {
            hazard.count += 1;
        } else if self.found.len() < KEPT {
            let place = place as u16;
            let count = 1;
            self.found.push(Hazard {
                kind,
                first,
                second,
                place,
                found,
                needed,
                slot,
                cycle,
                count,
            });
        }
    }
}

/// The use that covers `place`.
#[inline]
fn covering(marks: &[Mark], place: usize) -> Option<&Mark> {
    marks
        .iter()
        .find(|mark| place.wrapping_sub(mark.first as usize) < mark.count as usize)
}
