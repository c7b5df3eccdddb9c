//! The hazard check (DESIGN.md §3, H1 to H3): does the code keep the distances and wait on the counters
//! that the machine needs? Results are those of program order in any case; what the machine would do
//! differently is reported, with both instructions. Nothing here changes a cycle.

mod under_way;

use crate::program::{Mark, NO_KIND, Program, Row};
use under_way::Entry;

/// What is done about code whose control bits are wrong (DESIGN.md §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HazardMode {
    /// Nothing: values are those of program order.
    Off,
    /// Values are those of program order; what the machine would get wrong is reported.
    #[default]
    Check,
    /// The same is reported, and values are those that the machine would see.
    Emulate,
}

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

/// State of one register of a warp. Four of them fill a cache line of the host: the check touches
/// little else in the common case.
#[derive(Clone, Copy)]
struct Place {
    /// Last write: issue cycle << 24 | readers of variable latency that have not sampled yet << 16 |
    /// entries under way that will write << 8 | class, or a state.
    packed: u64,
    /// Lanes of the last write.
    lanes: u32,
    /// Pc of the last write.
    pc: u32,
}

impl Place {
    /// Nothing under way.
    const QUIET: Place = Place {
        packed: SETTLED,
        lanes: 0,
        pc: 0,
    };
    const READER: u64 = 1 << 16;
    const WRITER: u64 = 1 << 8;

    /// Class of the last write, or a state.
    #[inline]
    fn class(&self) -> u64 {
        self.packed & 0xff
    }

    /// Issue cycle of the last write.
    #[inline]
    fn issued(&self) -> u64 {
        self.packed >> 24
    }

    /// Readers of variable latency that have not sampled yet.
    #[inline]
    fn readers(&self) -> u64 {
        self.packed >> 16 & 0xff
    }

    /// Entries under way that will write.
    #[inline]
    fn writers(&self) -> u64 {
        self.packed >> 8 & 0xff
    }

    #[inline]
    fn set_state(&mut self, state: u64) {
        self.packed = self.packed & !0xff | state;
    }

    /// A fixed-latency write of `class`, issued in cycle `now` (below 2^40).
    #[inline]
    fn write(&mut self, now: u64, class: u8, lanes: u32, pc: u32) {
        self.packed = now << 24 | self.packed & 0xff_ff00 | class as u64;
        self.lanes = lanes;
        self.pc = pc;
    }

    #[inline]
    fn add_reader(&mut self) {
        debug_assert!(self.readers() < 0xff);
        self.packed += Place::READER;
    }

    #[inline]
    fn remove_reader(&mut self) {
        if self.readers() > 0 {
            self.packed -= Place::READER;
        }
    }

    #[inline]
    fn add_writer(&mut self) {
        if self.writers() < 0xff {
            self.packed += Place::WRITER;
        }
    }

    #[inline]
    fn remove_writer(&mut self) {
        if self.writers() > 0 {
            self.packed -= Place::WRITER;
        }
    }
}

/// The read that forbids overwriting a register longest; kept for the few registers whose readers
/// sample after issue.
#[derive(Clone, Copy)]
struct LastRead {
    /// Issue cycle << 8 | class, or SETTLED.
    read: u64,
    /// Its pc.
    pc: u32,
}

impl LastRead {
    const QUIET: LastRead = LastRead {
        read: SETTLED,
        pc: 0,
    };
}

/// Registers of one warp, and what is under way.
struct WarpTable {
    places: Vec<Place>,
    /// By place, as `places`.
    reads: Vec<LastRead>,
    /// Entries under way.
    under_way: Vec<u16>,
}

/// Distinct hazards kept; further ones are only counted.
const KEPT: usize = 256;
/// The hazard table of an SM.
pub struct Hazards {
    enabled: bool,
    /// Whether wrong values follow: who has written is noted then.
    emulates: bool,
    /// Entries whose results were written in this cycle.
    pub(crate) written: Vec<u16>,
    /// Registers of a warp's table.
    places: usize,
    warps: Vec<WarpTable>,
    entries: Vec<Entry>,
    free: u16,
    found: Vec<Hazard>,
    count: u64,
}

impl Hazards {
    /// An empty table for warps of `places` registers.
    pub fn new(mode: HazardMode, places: usize, slots: usize) -> Hazards {
        let enabled = mode != HazardMode::Off;
        let warps = if enabled { slots } else { 0 };
        Hazards {
            enabled,
            emulates: mode == HazardMode::Emulate,
            written: Vec::new(),
            places,
            warps: (0..warps)
                .map(|_| WarpTable {
                    places: Vec::new(),
                    reads: Vec::new(),
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

    /// Instructions of variable latency that are not over.
    pub fn under_way(&self) -> usize {
        let listed = self.warps.iter().flat_map(|table| &table.under_way);
        listed
            .filter(|&&index| self.entries[index as usize].settles == u64::MAX)
            .count()
    }

    /// Entries that are neither free nor listed by a warp: always 0.
    pub fn lost(&self) -> usize {
        let listed: usize = self.warps.iter().map(|table| table.under_way.len()).sum();
        let mut free = 0;
        let mut next = self.free;
        while next != NO_HAZARD {
            free += 1;
            next = self.entries[next as usize].next_free;
        }
        self.entries.len() - free - listed
    }

    /// A new warp starts in `slot`.
    pub fn start_warp(&mut self, slot: u8) {
        if !self.enabled {
            return;
        }
        let table = &mut self.warps[slot as usize];
        // The first warp of a slot brings its table.
        table.places.clear();
        table.places.resize(self.places, Place::QUIET);
        table.reads.clear();
        table.reads.resize(self.places, LastRead::QUIET);
        // Only settled writes can be left: nothing of variable latency outlives its CTA.
        for index in table.under_way.drain(..) {
            self.entries[index as usize].next_free = self.free;
            self.free = index;
        }
    }

    /// Has the host fetch the state of registers that will soon be looked at.
    #[inline]
    pub fn expect(&self, slot: u8, mark: &Mark) {
        if self.enabled
            && let Some(place) = self.warps[slot as usize].places.get(mark.first as usize)
        {
            std::hint::black_box(place.pc);
        }
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
        self.note_reads(program, row, pc, slot, now);
        if variable {
            self.add_variable(program, row, pc, slot, lanes, now)
        } else {
            NO_HAZARD
        }
    }

    /// Remembers the reads that forbid overwriting their registers for a while.
    #[inline]
    fn note_reads(&mut self, program: &Program, row: &Row, pc: u32, slot: u8, now: u64) {
        let table = &mut self.warps[slot as usize];
        for mark in program.marks(row.reads) {
            if mark.overwrite_kind == NO_KIND {
                continue;
            }
            let until = |read: u64| {
                (read >> 8)
                    + program
                        .distances
                        .largest_of(mark.overwrite_kind, read as u8)
            };
            let read = (now << 8) | mark.class as u64;
            let first = mark.first as usize;
            for last in &mut table.reads[first..first + mark.count as usize] {
                if last.read & 0xff == SETTLED || until(last.read) <= until(read) {
                    *last = LastRead { read, pc };
                }
            }
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
        let state = &self.warps[slot as usize].places[place];
        let class = state.class();
        if class == SETTLED {
            return;
        }
        if class == LISTED {
            self.check_read_listed(program, mark, place, pc, slot, lanes, now);
            return;
        }
        let needed = program.distances.get(mark.kind, class as u8, mark.class);
        let found = now - state.issued();
        if found < needed && state.lanes & lanes != 0 {
            let first = state.pc;
            let kind = HazardKind::ReadAfterWrite;
            self.report(kind, first, pc, place, found, needed, slot, now);
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
        let state = self.warps[slot as usize].places[place];
        if state.readers() != 0 {
            self.check_readers(program, place, pc, slot, lanes, now);
        }
        if mark.overwrite_kind != NO_KIND {
            self.check_reader(program, mark, place, pc, slot, now);
        }
        let class = state.class();
        if class == LISTED {
            self.check_write_listed(program, mark, place, pc, slot, lanes, now);
            if !variable {
                self.list_new_fixed(program, mark, place, pc, slot, lanes, now);
            }
            return;
        }
        if class != SETTLED {
            let age = now - state.issued();
            if state.lanes & lanes != 0 {
                let needed = program.distances.get(mark.kind, class as u8, mark.class);
                if age < needed {
                    let kind = HazardKind::WriteAfterWrite;
                    self.report(kind, state.pc, pc, place, age, needed, slot, now);
                }
            }
            if state.lanes & !lanes != 0 && age < program.distances.largest(class as u8) {
                // Lanes of the older write that this one leaves alone are still under way: both go
                // on the list.
                self.list_fixed(program, place, slot);
                self.warps[slot as usize].places[place].set_state(LISTED);
                if !variable {
                    self.list_new_fixed(program, mark, place, pc, slot, lanes, now);
                }
                return;
            }
        }
        if !variable {
            self.warps[slot as usize].places[place].write(now, mark.class, lanes, pc);
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

    /// Records a hazard, also one that another part of the SM found (LDGSTS).
    #[cold]
    #[inline(never)]
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
