//! What wrong control bits do (`--hazards emulate`; DESIGN.md §3, H1 and H4): which results an
//! instruction sees, when they land in the register file, and who read them too early or too late. The
//! values are the source's business.
//!
//! * A result of fixed latency is seen by an instruction that issues at least the distance of both
//!   classes later, and lands when nobody is left who would not see it. Port conflicts and holds do not
//!   change who sees what (H1).
//! * A result of variable latency lands when its counter falls.
//! * Registers are read some cycles after issue. A fixed-latency instruction sees what lands until
//!   `control.register_read` cycles after its issue; one that waits in a queue, what lands until it leaves the
//!   queue for its first address stage (the operand-read cycle of MODEL.md §3.2), results of younger
//!   instructions included. Guards, predicates and uniform registers of those are read at issue.
//! * Of two results for one register the one that lands last stays.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hardware::latency::DistanceKind;
use source::{Cycle, Fault, MemoryKind, Pc, ReaderId, Register, ResultId, Sight, Source, WarpSlot};

use crate::event::RecordIndex;
use crate::program::{Mark, NO_KIND, Path, Program, Row};
use crate::sm::Sm;

use hardware::control::ControlParameters;

/// What waits in no queue reads its registers a cycle later than instructions of fixed latency: a result of
/// fixed latency has to be one cycle older for it (MODEL.md §3.1).
const BEHIND_FIXED: u64 = 1;
/// A cycle that is not known.
const NEVER: u64 = u64::MAX;
/// No memory record.
const NO_RECORD: RecordIndex = RecordIndex::MAX;

/// Results of one issued instruction.
#[derive(Clone, Copy)]
struct Pending {
    id: u16,
    pc: u32,
    lanes: u32,
    issued: u64,
    /// Cycle from which the register file holds them; NEVER while that is not known.
    lands: u64,
    landed: bool,
    variable: bool,
}

/// An instruction that has not read its sources.
#[derive(Clone, Copy)]
struct Reader {
    slot: u8,
    /// Which warp of the slot.
    generation: u8,
    pc: u32,
    lanes: u32,
    issued: u64,
    record: RecordIndex,
    /// Waits in a queue.
    queued: bool,
}

/// Results and readers of an instruction of variable latency, by its entry in the hazard table.
#[derive(Clone, Copy)]
struct Entry {
    slot: u8,
    result: u16,
    reader: u16,
}

const NO_ENTRY: Entry = Entry {
    slot: 0,
    result: u16::MAX,
    reader: u16::MAX,
};

#[derive(Default)]
struct WarpState {
    /// In the order of issue.
    pending: Vec<Pending>,
    /// Instructions that have not read their sources.
    readers: u32,
    generation: u8,
}

/// An instruction that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// When.
    pub cycle: Cycle,
    /// By which warp.
    pub warp: WarpSlot,
    /// Which.
    pub pc: Pc,
}

/// Results and readers under way on an SM.
pub struct Emulation {
    /// Cycles from issue to the register read of a fixed-latency instruction (DESIGN.md H1).
    register_read: u64,
    warps: Vec<WarpState>,
    free_results: Vec<u16>,
    results: u16,
    readers: Vec<Reader>,
    free_readers: Vec<u16>,
    entries: Vec<Entry>,
    /// When readers read, where that is known.
    due: BinaryHeap<Reverse<(u64, u16)>>,
    /// Every instruction in the order of issue, if they are watched.
    pub watched: Option<Vec<Issued>>,
    /// What [`Emulation::look`] has entered last.
    issued: (u16, Option<u16>, u64),
    // Space for the sight of one instruction.
    visible: Vec<(Register, ResultId)>,
    reads: Vec<Register>,
    writes: Vec<Register>,
}

impl Emulation {
    /// Nothing under way in `slots` warps.
    pub fn new(slots: usize, watch: bool, control: &ControlParameters) -> Emulation {
        Emulation {
            register_read: control.register_read.into(),
            warps: (0..slots).map(|_| WarpState::default()).collect(),
            free_results: Vec::new(),
            results: 0,
            readers: Vec::new(),
            free_readers: Vec::new(),
            entries: Vec::new(),
            due: BinaryHeap::new(),
            watched: watch.then(Vec::new),
            issued: (0, None, 0),
            visible: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// A new warp starts in `slot`.
    pub fn start_warp(&mut self, slot: u8) {
        let warp = &mut self.warps[slot as usize];
        warp.generation = warp.generation.wrapping_add(1);
        warp.readers = 0;
        let ids = warp.pending.drain(..).map(|pending| pending.id);
        self.free_results.extend(ids);
    }

    /// First cycle in which a reader is known to read.
    #[inline]
    pub fn next(&self) -> u64 {
        self.due.peek().map_or(NEVER, |Reverse((cycle, _))| *cycle)
    }

    fn new_result(&mut self) -> u16 {
        self.free_results.pop().unwrap_or_else(|| {
            self.results += 1;
            self.results - 1
        })
    }

    fn new_reader(&mut self, reader: Reader) -> u16 {
        match self.free_readers.pop() {
            Some(id) => {
                self.readers[id as usize] = reader;
                id
            }
            None => {
                self.readers.push(reader);
                self.readers.len() as u16 - 1
            }
        }
    }

    fn entry(&self, hazard: u16) -> Entry {
        let entry = self.entries.get(hazard as usize);
        entry.copied().unwrap_or(NO_ENTRY)
    }

    /// The instruction with entry `hazard` waits in no queue and leaves the Control stage in cycle `now`.
    pub fn reads_behind_control(&mut self, hazard: u16, now: u64) {
        self.reads_at(hazard, now + self.register_read);
    }

    /// The instruction with entry `hazard` reads its sources in cycle `cycle`.
    pub fn reads_at(&mut self, hazard: u16, cycle: u64) {
        let entry = self.entry(hazard);
        if entry.reader != u16::MAX {
            self.due.push(Reverse((cycle, entry.reader)));
            self.entries[hazard as usize].reader = u16::MAX;
        }
    }

    /// The memory instruction with entry `hazard` has this record.
    pub fn has_record(&mut self, hazard: u16, record: RecordIndex) {
        let entry = self.entry(hazard);
        if entry.reader != u16::MAX {
            self.readers[entry.reader as usize].record = record;
        }
    }

    /// Puts all results of the warp in `slot` that have landed by `now` into the register file.
    fn land<S: Source>(&mut self, slot: u8, now: u64, source: &mut S) {
        let warp = &mut self.warps[slot as usize];
        // In the order of landing, of one cycle in the order of issue.
        loop {
            let due = |pending: &&mut Pending| !pending.landed && pending.lands <= now;
            let first = warp.pending.iter_mut().filter(due);
            let Some(pending) = first.min_by_key(|pending| pending.lands) else {
                break;
            };
            pending.landed = true;
            source.land(ResultId(pending.id));
        }
        if warp.readers == 0 {
            let free = &mut self.free_results;
            warp.pending.retain(|pending| {
                if pending.landed {
                    free.push(pending.id);
                }
                !pending.landed
            });
        }
    }

    /// The results of entry `hazard` of the hazard table are in the register file from this cycle on.
    fn written<S: Source>(&mut self, hazard: u16, now: u64, source: &mut S) {
        let entry = self.entry(hazard);
        if entry.result == u16::MAX {
            return;
        }
        self.entries[hazard as usize].result = u16::MAX;
        let warp = &mut self.warps[entry.slot as usize];
        let mut own = warp.pending.iter_mut();
        if let Some(pending) = own.find(|pending| pending.id == entry.result) {
            pending.lands = now;
        }
        self.land(entry.slot, now, source);
    }

    /// Works out what the instruction of `row` sees and touches. Cycles after issue in which something of
    /// what it reads may still change, if it is of fixed latency; 0 if nothing can.
    fn look<S: Source>(
        &mut self,
        program: &Program,
        row: &Row,
        slot: u8,
        now: u64,
        source: &mut S,
    ) -> u64 {
        self.land(slot, now, source);
        self.visible.clear();
        self.reads.clear();
        self.writes.clear();
        let reads = program.marks(row.reads);
        let pending = &self.warps[slot as usize].pending;
        let mut unsure = 0;
        for mark in reads {
            if mark.overwrite_kind != NO_KIND {
                let late = program
                    .distances
                    .largest_of(mark.overwrite_kind, mark.class);
                unsure = unsure.max(late.saturating_sub(1));
            }
            for place in mark.first..mark.first + mark.count as u16 {
                let Some(register) = program.register(place) else {
                    continue;
                };
                self.reads.push(register);
                for result in pending.iter().filter(|result| !result.landed) {
                    let Some(written) = covering(program, result.pc, place) else {
                        continue;
                    };
                    if result.variable {
                        unsure = unsure.max(self.register_read);
                        continue;
                    }
                    // A register with two roles is seen if it is in both.
                    let sees = |mark: &Mark| {
                        let needed = program.distances.get(mark.kind, written.class, mark.class);
                        now - result.issued >= needed
                    };
                    let mut roles = reads.iter().filter(|mark| covers(mark, place));
                    if roles.all(sees) {
                        self.visible.push((register, ResultId(result.id)));
                    }
                }
            }
        }
        for mark in program.marks(row.writes) {
            let places = mark.first..mark.first + mark.count as u16;
            let registers = places.filter_map(|place| program.register(place));
            self.writes.extend(registers);
        }
        unsure
    }

    /// Enters the results of an instruction that was issued as `id`.
    #[allow(clippy::too_many_arguments)]
    fn enter(
        &mut self,
        program: &Program,
        row: &Row,
        id: u16,
        pc: u32,
        slot: u8,
        lanes: u32,
        now: u64,
    ) {
        let variable = row.path != Path::Fixed;
        let writes = program.marks(row.writes);
        let mut lands = NEVER;
        if !variable {
            let seen = writes.iter().map(|mark| program.seen_by_all(mark));
            lands = now + seen.max().unwrap_or(0);
        }
        for older in &mut self.warps[slot as usize].pending {
            let is_fixed = !older.variable && !variable && !older.landed;
            if !is_fixed || older.lanes & lanes == 0 {
                continue;
            }
            let found = now - older.issued;
            for mark in writes {
                let first = mark.first..mark.first + mark.count as u16;
                let mut both = first.filter_map(|place| covering(program, older.pc, place));
                let Some(written) = both.next() else { continue };
                let needed = program.distances.get(mark.kind, written.class, mark.class);
                if found >= needed {
                    lands = lands.max(older.lands);
                } else {
                    older.lands = older.lands.max(lands + 1);
                }
            }
        }
        self.warps[slot as usize].pending.push(Pending {
            id,
            pc,
            lanes,
            issued: now,
            lands,
            landed: false,
            variable,
        });
    }

    /// What has changed for `reader` since its issue, if it reads in cycle `now`.
    fn changes(&mut self, program: &Program, reader: &Reader, now: u64) {
        self.visible.clear();
        let reads = program.marks(program.rows[reader.pc as usize].reads);
        for result in &self.warps[reader.slot as usize].pending {
            if result.lanes & reader.lanes == 0 {
                continue;
            }
            for mark in reads.iter().filter(|mark| mark.general || !reader.queued) {
                for place in mark.first..mark.first + mark.count as u16 {
                    let Some(written) = covering(program, result.pc, place) else {
                        continue;
                    };
                    let changed = if result.variable {
                        let until = if reader.queued {
                            now
                        } else {
                            reader.issued + self.register_read
                        };
                        result.landed && (reader.issued + 1..=until).contains(&result.lands)
                    } else if result.issued <= reader.issued {
                        // Older results of fixed latency are seen at issue or not at all.
                        false
                    } else if reader.queued {
                        let needed = program.distances.get(mark.kind, written.class, mark.class);
                        now >= result.issued + needed + self.register_read + BEHIND_FIXED
                    } else {
                        overwritten(program, mark, written, result.issued - reader.issued)
                    };
                    if changed && let Some(register) = program.register(place) {
                        self.visible.push((register, ResultId(result.id)));
                    }
                }
            }
        }
    }
}

/// Whether a write that was issued `after` cycles behind a fixed-latency instruction comes before that has
/// read its source: matrix instructions in two passes read the second half late.
fn overwritten(program: &Program, read: &Mark, written: &Mark, after: u64) -> bool {
    let kind = read.overwrite_kind;
    kind != NO_KIND && after < program.distances.get(kind, read.class, written.class)
}

fn covers(mark: &Mark, place: u16) -> bool {
    place.wrapping_sub(mark.first) < mark.count as u16
}

/// The write of the instruction at `pc` that covers `place`.
fn covering(program: &Program, pc: u32, place: u16) -> Option<&Mark> {
    let writes = program.marks(program.rows[pc as usize].writes);
    writes.iter().find(|mark| covers(mark, place))
}

impl Program {
    /// The register at a place of a warp's table; `None` for those that always read the same.
    fn register(&self, place: u16) -> Option<Register> {
        use crate::program::{PREDICATES, UNIFORM};
        let place = place as usize;
        let Some(uniform) = place.checked_sub(self.registers) else {
            return Some(Register::General(place as u8));
        };
        let Some(predicate) = uniform.checked_sub(UNIFORM) else {
            return (uniform < UNIFORM - 1).then_some(Register::Uniform(uniform as u8));
        };
        let number = (predicate % PREDICATES) as u8;
        if number as usize == PREDICATES - 1 {
            None
        } else if predicate < PREDICATES {
            Some(Register::Predicate(number))
        } else {
            Some(Register::UniformPredicate(number))
        }
    }

    /// Cycles after issue from which every reader sees what `mark` writes.
    fn seen_by_all(&self, mark: &Mark) -> u64 {
        use DistanceKind as Kind;
        let kinds: &[Kind] = match self.register(mark.first) {
            Some(Register::General(_)) | None => &[Kind::Register, Kind::Address, Kind::StoreData],
            Some(Register::Uniform(_)) => &[Kind::Uniform],
            Some(Register::Predicate(_)) => &[Kind::Guard, Kind::PredicateData],
            Some(Register::UniformPredicate(_)) => {
                &[Kind::UniformGuard, Kind::UniformPredicateData]
            }
        };
        let largest = |kind: &DistanceKind| self.distances.largest_of(*kind as u8, mark.class);
        kinds.iter().map(largest).max().unwrap_or(0)
    }
}

impl Sm {
    /// Has the source execute the next instruction of the warp in `slot`, with what it sees.
    ///
    /// # Errors
    /// The fault of the simulated program.
    #[inline(never)]
    pub(crate) fn execute_emulated<S: Source>(
        &mut self,
        source: &mut S,
        shared: &S::Shared,
        slot: u8,
        pc: u32,
    ) -> Result<(), Fault> {
        let now = self.now;
        let Some(emulation) = &mut self.emulation else {
            return Ok(());
        };
        let program = &self.program;
        let row = &program.rows[pc as usize];
        let late = emulation.look(program, row, slot, now, source);
        let queued = row.path != Path::Fixed;
        let result = emulation.new_result();
        let reader = (queued || late > 0).then(|| {
            emulation.new_reader(Reader {
                slot,
                generation: emulation.warps[slot as usize].generation,
                pc,
                lanes: 0,
                issued: now,
                record: NO_RECORD,
                queued,
            })
        });
        emulation.issued = (result, reader, late);
        let sight = Sight {
            visible: &emulation.visible,
            reads: &emulation.reads,
            writes: &emulation.writes,
            result: ResultId(result),
            reader: reader.map(ReaderId),
        };
        let (warp, clock) = (WarpSlot(slot), Cycle(now + 1));
        source.issue_emulated(shared, warp, Pc(pc), clock, &sight, &mut self.effect)
    }

    /// Enters what the instruction that was executed last has under way; `hazard` is its entry in the
    /// hazard table, if it has variable latency.
    #[inline(never)]
    pub(crate) fn enter_emulated(&mut self, slot: u8, pc: u32, hazard: u16) {
        let (now, lanes) = (self.now, self.effect.lanes);
        let Some(emulation) = &mut self.emulation else {
            return;
        };
        let program = &self.program;
        let row = &program.rows[pc as usize];
        if let Some(watched) = &mut emulation.watched {
            watched.push(Issued {
                cycle: Cycle(now),
                warp: WarpSlot(slot),
                pc: Pc(pc),
            });
        }
        let (result, reader, late) = emulation.issued;
        let copies = row.memory_kind == MemoryKind::CopyToShared && self.effect.accesses;
        let mut entry = NO_ENTRY;
        entry.slot = slot;
        if lanes != 0 && (row.writes.1 > 0 || copies) {
            emulation.enter(program, row, result, pc, slot, lanes, now);
            entry.result = result;
        } else {
            emulation.free_results.push(result);
        }
        if let Some(id) = reader {
            if lanes == 0 {
                emulation.free_readers.push(id);
            } else {
                emulation.readers[id as usize].lanes = lanes;
                emulation.warps[slot as usize].readers += 1;
                if row.path == Path::Fixed {
                    emulation.due.push(Reverse((now + late, id)));
                } else {
                    entry.reader = id;
                }
            }
        }
        if row.path != Path::Fixed {
            let index = hazard as usize;
            if index >= emulation.entries.len() {
                emulation.entries.resize(index + 1, NO_ENTRY);
            }
            emulation.entries[index] = entry;
        }
    }

    /// What lands in this cycle, and who reads in it. Runs before anything is issued.
    ///
    /// # Errors
    /// The fault of the simulated program, with the slot of its warp.
    #[inline(never)]
    pub(crate) fn emulate<S: Source>(
        &mut self,
        source: &mut S,
        shared: &S::Shared,
    ) -> Result<(), (u8, Fault)> {
        let now = self.now;
        let Some(emulation) = &mut self.emulation else {
            return Ok(());
        };
        let program = &self.program;
        for &hazard in &self.hazards.written {
            emulation.written(hazard, now, source);
        }
        self.hazards.written.clear();
        while emulation.next() <= now {
            let Some(Reverse((_, id))) = emulation.due.pop() else {
                break;
            };
            let reader = emulation.readers[id as usize];
            emulation.free_readers.push(id);
            let warp = &mut emulation.warps[reader.slot as usize];
            if warp.generation != reader.generation {
                continue;
            }
            warp.readers -= 1;
            emulation.changes(program, &reader, now);
            if emulation.visible.is_empty() {
                continue;
            }
            let seen = &emulation.visible;
            let clock = Cycle(now + 1);
            let changed = source
                .read_again(shared, ReaderId(id), seen, clock, &mut self.effect)
                .map_err(|fault| (reader.slot, fault))?;
            if changed && reader.record != NO_RECORD {
                self.unit.records[reader.record].place_again(&self.effect);
            }
        }
        Ok(())
    }
}
