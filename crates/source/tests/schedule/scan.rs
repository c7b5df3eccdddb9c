//! The static form of the hazard check (DESIGN.md H2): walks compiled code with nothing but stall
//! counts, wait masks and counters, and reports every register that is touched too early.
//!
//! Rules:
//! - *Time.* An instruction issues `max(1, stall)` cycles after the one before it; taken branches are
//!   given no more than their stall count.
//! - *Fixed latency.* A read of a fixed-latency result needs the distance of the table: by kind (role
//!   of the operand, register file), class of the written operand, class of the reading operand. An
//!   overwrite needs the overwrite distance. Overwriting what a fixed-latency instruction reads is
//!   always safe, but for uniform registers, which have distances of their own.
//! - *Variable latency.* Its results are pending until a wait for its write counter, its sources
//!   until a wait for its read or write counter. A wait counts only if the instruction issues at least
//!   two cycles after the increment (MODEL.md §1.5); DEPBAR takes hold four cycles after it issued. An
//!   instruction without counter is covered by a later one of the same in-order unit.
//! - *Lanes.* Instructions under complementary guards touch different lanes.

use std::collections::{BTreeMap, HashMap};

use hardware::latency::{DistanceKind, LatencyTable};
use sass::{Class, File, Guard, Instruction, Operand, Opcode, Role, Use};
use source::{Description, MemoryKind, Special};

/// Cycles after which a fixed-latency result is visible whatever its class.
const LONG_AGO: u16 = 48;
/// Cycles from the issue of DEPBAR until it holds back younger instructions.
const DEPBAR_HOLD: u16 = 4;
/// Cycles from an instruction's issue until a wait mask sees its counters raised.
const COUNTER_VISIBLE: u16 = 2;

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Hazard {
    /// A distance of the table is not kept.
    Distance(DistanceKind),
    /// A read of a result of variable latency that was not waited for.
    Read,
    /// An overwrite of a result of variable latency that was not waited for.
    Overwrite,
    /// An overwrite of a source that may not have been read yet.
    ReadOverwrite,
}

/// A pair of instructions that are too close, or not kept apart by a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    /// What is violated.
    pub hazard: Hazard,
    /// Index of the earlier instruction.
    pub earlier: usize,
    /// Index of the later instruction.
    pub later: usize,
    /// File and number of the register.
    pub register: (File, u8),
    /// Distance found.
    pub distance: u16,
}

/// A pair of operand classes between which a distance was seen.
pub type Pair = (DistanceKind, Class, Class);

/// Smallest distance of a pair, where it was seen (earlier and later instruction), and how often.
#[derive(Clone, Copy, Debug)]
pub struct Observed {
    /// Smallest distance.
    pub distance: u16,
    /// Earlier and later instruction.
    pub place: (usize, usize),
    /// Number of pairs seen.
    pub count: u64,
}

/// What a walk found.
#[derive(Default)]
pub struct Scan {
    /// Violations.
    pub findings: Vec<Finding>,
    /// Distances from fixed-latency producers.
    pub observed: BTreeMap<Pair, Observed>,
}

type Place = (File, u8);

/// An instruction's guard as far as it still says which lanes it took effect in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lanes {
    guard: Guard,
    valid: bool,
}

/// A fixed-latency write or read that later instructions must keep away from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fixed {
    instruction: usize,
    class: Class,
    age: u16,
    lanes: Lanes,
    waited: bool,
}

/// A variable-latency instruction on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Flight {
    age: u16,
    results: bool,
    sources: bool,
    /// Later increments of its write and its read counter.
    after: (u8, u8),
    /// Cycles until a DEPBAR that covers it takes hold: results, sources.
    hold: (Option<u16>, Option<u16>),
    lanes: Lanes,
    /// Position in program order along the walk, for the in-order units.
    order: u32,
}

/// What is known before an instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    writes: BTreeMap<Place, Vec<Fixed>>,
    reads: BTreeMap<Place, Vec<Fixed>>,
    flights: BTreeMap<usize, Flight>,
    /// Variable-latency instructions that write or read a register.
    pending_writes: BTreeMap<Place, Vec<usize>>,
    pending_reads: BTreeMap<Place, Vec<usize>>,
    order: u32,
}

/// Units that return results in the order of issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Queue {
    SpecialFunction,
    Double,
    Shared,
    Texture,
    Global,
    Other,
}

fn queue(description: &Description) -> Queue {
    match (description.class, description.memory.map(|shape| shape.kind)) {
        (
            Class::SpecialFunction | Class::Conversion | Class::BitScan | Class::DivisionCheck,
            _,
        ) => Queue::SpecialFunction,
        (Class::RedirectedFp64 | Class::ConversionF64 | Class::Dmma884, _) => Queue::Double,
        (Class::Texture, _) => Queue::Texture,
        (
            _,
            Some(MemoryKind::SharedLoad | MemoryKind::SharedStore | MemoryKind::SharedAtomic),
        )
        | (Class::Shuffle, _) => Queue::Shared,
        (_, Some(MemoryKind::GlobalLoad | MemoryKind::GlobalStore | MemoryKind::GlobalAtomic)) => {
            Queue::Global
        }
        _ => Queue::Other,
    }
}

/// A code section with its descriptions.
pub struct Walk<'a> {
    table: &'a LatencyTable,
    code: &'a [Option<Instruction>],
    described: Vec<Option<Description>>,
}

impl<'a> Walk<'a> {
    pub fn new(table: &'a LatencyTable, code: &'a [Option<Instruction>]) -> Walk<'a> {
        let described = code.iter().map(|i| i.as_ref().map(source::describe)).collect();
        Walk { table, code, described }
    }

    fn variable(&self, class: Class) -> bool {
        self.table.unit(class.index()).variable
    }

    /// Walks the whole section to a fixed point, then reports.
    pub fn run(&self) -> Scan {
        let starts = self.starts();
        let mut before: HashMap<usize, State> =
            starts.iter().map(|&start| (start, State::default())).collect();
        let mut todo: Vec<usize> = starts.clone();
        let mut rounds = vec![0u32; self.code.len()];
        while let Some(start) = todo.pop() {
            rounds[start] += 1;
            if rounds[start] > 200 {
                continue;
            }
            let state = before[&start].clone();
            for (target, state) in self.block(start, state, &starts, None) {
                let known = before.entry(target).or_default();
                if join(known, &state) && !todo.contains(&target) {
                    todo.push(target);
                }
            }
        }
        let mut scan = Scan::default();
        for &start in &starts {
            self.block(start, before[&start].clone(), &starts, Some(&mut scan));
        }
        scan.findings.sort();
        scan.findings.dedup();
        scan
    }

    /// First instructions of basic blocks.
    fn starts(&self) -> Vec<usize> {
        let mut starts = vec![0];
        for (index, instruction) in self.code.iter().enumerate() {
            let Some(instruction) = instruction else {
                starts.push(index + 1);
                continue;
            };
            if let Some(target) = self.target(index) {
                starts.push(target);
            }
            if ends_block(instruction) {
                starts.push(index + 1);
            }
        }
        starts.retain(|&start| start < self.code.len());
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Where a branch goes.
    fn target(&self, index: usize) -> Option<usize> {
        let instruction = self.code[index].as_ref()?;
        if !matches!(instruction.opcode, Opcode::BRA | Opcode::BSSY | Opcode::CALL) {
            return None;
        }
        instruction.operands.iter().find_map(|operand| match *operand {
            Operand::Target(offset) => {
                let target = (index as i64 + 1) * 16 + offset;
                (target >= 0 && target % 16 == 0)
                    .then(|| (target / 16) as usize)
                    .filter(|&target| target < self.code.len())
            }
            _ => None,
        })
    }

    /// Walks one block; gives the states at its successors.
    fn block(
        &self,
        start: usize,
        mut state: State,
        starts: &[usize],
        mut scan: Option<&mut Scan>,
    ) -> Vec<(usize, State)> {
        let mut index = start;
        let mut successors = Vec::new();
        loop {
            let (Some(instruction), Some(description)) =
                (&self.code[index], &self.described[index])
            else {
                return successors;
            };
            self.step(index, instruction, description, &mut state, &mut scan);
            let next = index + 1;
            match instruction.opcode {
                Opcode::BRA => {
                    if let Some(target) = self.target(index) {
                        successors.push((target, state.clone()));
                    }
                }
                Opcode::CALL => {
                    if let Some(target) = self.target(index) {
                        successors.push((target, state.clone()));
                    }
                    return successors;
                }
                _ => {}
            }
            if next >= self.code.len() || (leaves(instruction) && always(instruction)) {
                return successors;
            }
            if starts.binary_search(&next).is_ok() {
                successors.push((next, state));
                return successors;
            }
            index = next;
        }
    }

    fn step(
        &self,
        index: usize,
        instruction: &Instruction,
        description: &Description,
        state: &mut State,
        scan: &mut Option<&mut Scan>,
    ) {
        self.wait(description.control.wait_mask, state, COUNTER_VISIBLE);
        let mut lanes = Lanes { guard: instruction.guard, valid: true };
        if instruction.guard.predicate == sass::Predicate::TRUE {
            lanes.valid = false;
        }
        let footprint = &description.footprint;
        if let Some(scan) = scan {
            for read in &footprint.reads {
                self.check_read(index, read, lanes, state, scan);
            }
            for write in &footprint.writes {
                self.check_write(index, description, write, lanes, state, scan);
            }
        }
        self.issue(index, description, lanes, state);
        match description.special {
            Special::WaitCounter { counter, at_most, others } => {
                self.depbar(counter, at_most, others, state);
            }
            Special::CtaBarrier => self.hand_over(state),
            _ => {}
        }
        let control = description.control;
        let stall = if control.stall == 0 && control.yields { LONG_AGO } else { control.stall.into() };
        advance(state, stall.max(1));
    }

    /// A wait mask: everything that its counters cover is done.
    fn wait(&self, mask: u8, state: &mut State, visible: u16) {
        if mask == 0 {
            return;
        }
        let names = |counter: Option<u8>| counter.is_some_and(|counter| mask >> counter & 1 == 1);
        let mut results = Vec::new();
        let mut sources = Vec::new();
        for (&index, flight) in &state.flights {
            let Some(description) = &self.described[index] else { continue };
            if flight.age < visible {
                continue;
            }
            if names(description.control.write_counter) {
                results.push(index);
            }
            if names(description.control.read_counter) {
                sources.push(index);
            }
        }
        for writes in state.writes.values_mut().flatten() {
            let Some(description) = &self.described[writes.instruction] else { continue };
            writes.waited |= writes.age >= visible && names(description.control.write_counter);
        }
        for index in results {
            self.done(index, true, state, None);
        }
        for index in sources {
            self.done(index, false, state, None);
        }
    }

    /// Marks an instruction's results (and sources) or only its sources as done, with everything
    /// older of its in-order unit.
    fn done(&self, index: usize, results: bool, state: &mut State, hold: Option<u16>) {
        let Some(description) = &self.described[index] else { return };
        let unit = queue(description);
        let order = state.flights.get(&index).map_or(0, |flight| flight.order);
        for (&other, flight) in &mut state.flights {
            let Some(described) = &self.described[other] else { continue };
            let older = flight.order < order && unit != Queue::Other && queue(described) == unit;
            let uncounted = described.control.write_counter.is_none();
            if other != index && !(older && (uncounted || !results)) {
                continue;
            }
            match hold {
                None => {
                    flight.results &= !results;
                    flight.sources = false;
                }
                Some(hold) => {
                    let nearer = |old: Option<u16>| Some(old.map_or(hold, |old| old.min(hold)));
                    if results {
                        flight.hold.0 = nearer(flight.hold.0);
                    }
                    flight.hold.1 = nearer(flight.hold.1);
                }
            }
        }
    }

    /// DEPBAR.LE: all but the last `at_most` increments of `counter` are done, and all of `others`.
    fn depbar(&self, counter: u8, at_most: u8, others: u8, state: &mut State) {
        let mut results = Vec::new();
        let mut sources = Vec::new();
        for (&index, flight) in &state.flights {
            let Some(description) = &self.described[index] else { continue };
            let control = description.control;
            let covers = |named: Option<u8>, after: u8| {
                named.is_some_and(|named| {
                    others >> named & 1 == 1 || named == counter && after >= at_most
                })
            };
            if covers(control.write_counter, flight.after.0) {
                results.push(index);
            }
            if covers(control.read_counter, flight.after.1) {
                sources.push(index);
            }
        }
        for index in results {
            self.done(index, true, state, Some(DEPBAR_HOLD));
        }
        for index in sources {
            self.done(index, false, state, Some(DEPBAR_HOLD));
        }
    }

    /// BAR: the warp's earlier memory instructions have been handed to the SM (DESIGN.md H5), so their
    /// sources have been read.
    fn hand_over(&self, state: &mut State) {
        for (&index, flight) in &mut state.flights {
            let memory = |description: &Description| description.memory.is_some();
            if self.described[index].as_ref().is_some_and(memory) {
                flight.sources = false;
            }
        }
    }

    fn check_read(&self, index: usize, read: &Use, lanes: Lanes, state: &State, scan: &mut Scan) {
        let Some(kind) = read_kind(read) else { return };
        // A guard is read in all lanes.
        let lanes = if read.role == Role::Guard { Lanes { valid: false, ..lanes } } else { lanes };
        for number in read.first..read.first.saturating_add(read.count) {
            let place = (read.file, number);
            for &earlier in state.pending_writes.get(&place).into_iter().flatten() {
                let Some(flight) = state.flights.get(&earlier) else { continue };
                if pending(flight.results, flight.hold.0) && !disjoint(flight.lanes, lanes) {
                    let distance = flight.age;
                    let hazard = Hazard::Read;
                    scan.findings.push(Finding { hazard, earlier, later: index, register: place, distance });
                }
            }
            for fixed in state.writes.get(&place).into_iter().flatten() {
                self.check_distance(index, kind, fixed, read.class, place, lanes, scan);
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn check_distance(
        &self,
        index: usize,
        kind: DistanceKind,
        fixed: &Fixed,
        class: Class,
        place: Place,
        lanes: Lanes,
        scan: &mut Scan,
    ) {
        if fixed.waited || fixed.age >= LONG_AGO || disjoint(fixed.lanes, lanes) {
            return;
        }
        let needed = self.table.distance(kind, fixed.class.index(), class.index());
        let seen = scan.observed.entry((kind, fixed.class, class)).or_insert(Observed {
            distance: u16::MAX,
            place: (0, 0),
            count: 0,
        });
        seen.count += 1;
        if fixed.age < seen.distance {
            seen.distance = fixed.age;
            seen.place = (fixed.instruction, index);
        }
        if fixed.age < needed {
            scan.findings.push(Finding {
                hazard: Hazard::Distance(kind),
                earlier: fixed.instruction,
                later: index,
                register: place,
                distance: fixed.age,
            });
        }
    }

    fn check_write(
        &self,
        index: usize,
        description: &Description,
        write: &Use,
        lanes: Lanes,
        state: &State,
        scan: &mut Scan,
    ) {
        let Some((kind, read_kind)) = overwrite_kinds(write.file) else { return };
        let variable = self.variable(description.class);
        let same_queue = |earlier: usize| {
            let unit = queue(description);
            variable
                && unit != Queue::Other
                && self.described[earlier].as_ref().is_some_and(|other| queue(other) == unit)
        };
        for number in write.first..write.first.saturating_add(write.count) {
            let place = (write.file, number);
            for &earlier in state.pending_writes.get(&place).into_iter().flatten() {
                let Some(flight) = state.flights.get(&earlier) else { continue };
                if pending(flight.results, flight.hold.0)
                    && !disjoint(flight.lanes, lanes)
                    && !same_queue(earlier)
                {
                    let (hazard, distance) = (Hazard::Overwrite, flight.age);
                    scan.findings.push(Finding { hazard, earlier, later: index, register: place, distance });
                }
            }
            for &earlier in state.pending_reads.get(&place).into_iter().flatten() {
                let Some(flight) = state.flights.get(&earlier) else { continue };
                if pending(flight.sources, flight.hold.1)
                    && !disjoint(flight.lanes, lanes)
                    && !same_queue(earlier)
                {
                    let (hazard, distance) = (Hazard::ReadOverwrite, flight.age);
                    scan.findings.push(Finding { hazard, earlier, later: index, register: place, distance });
                }
            }
            for fixed in state.writes.get(&place).into_iter().flatten() {
                self.check_distance(index, kind, fixed, write.class, place, lanes, scan);
            }
            if let Some(kind) = read_kind {
                for fixed in state.reads.get(&place).into_iter().flatten() {
                    self.check_distance(index, kind, fixed, write.class, place, lanes, scan);
                }
            }
        }
    }

    /// The instruction's own reads and writes become what later ones must keep away from.
    fn issue(&self, index: usize, description: &Description, lanes: Lanes, state: &mut State) {
        let control = description.control;
        for flight_index in state.flights.keys().copied().collect::<Vec<_>>() {
            let Some(other) = &self.described[flight_index] else { continue };
            let Some(flight) = state.flights.get_mut(&flight_index) else { continue };
            let increments = |counter: Option<u8>| {
                counter.map_or(0, |counter| {
                    u8::from(control.write_counter == Some(counter))
                        + u8::from(control.read_counter == Some(counter))
                })
            };
            flight.after.0 = flight.after.0.saturating_add(increments(other.control.write_counter)).min(64);
            flight.after.1 = flight.after.1.saturating_add(increments(other.control.read_counter)).min(64);
        }
        let variable = self.variable(description.class);
        let guarded = lanes.guard.predicate != sass::Predicate::TRUE;
        state.order += 1;
        if variable || control.read_counter.is_some() {
            let own = u8::from(
                control.write_counter.is_some() && control.write_counter == control.read_counter,
            );
            state.flights.insert(index, Flight {
                age: 0,
                results: variable,
                sources: true,
                after: (0, own),
                hold: (None, None),
                lanes,
                order: state.order,
            });
        }
        for read in &description.footprint.reads {
            for number in read.first..read.first.saturating_add(read.count) {
                let place = (read.file, number);
                let sampled_late = read.file == File::General;
                if sampled_late && (variable || control.read_counter.is_some()) {
                    let pending = state.pending_reads.entry(place).or_default();
                    if !pending.contains(&index) {
                        pending.push(index);
                        pending.sort_unstable();
                    }
                }
                if matches!(read.file, File::Uniform | File::UniformPredicate)
                    && read.role != Role::Guard
                {
                    note(state.reads.entry(place).or_default(), Fixed {
                        instruction: index,
                        class: read.class,
                        age: 0,
                        lanes,
                        waited: false,
                    });
                }
            }
        }
        for write in &description.footprint.writes {
            for number in write.first..write.first.saturating_add(write.count) {
                let place = (write.file, number);
                if matches!(write.file, File::Predicate | File::UniformPredicate) {
                    forget_lanes(state, number, write.file == File::UniformPredicate);
                }
                if !guarded {
                    state.writes.remove(&place);
                    state.pending_writes.remove(&place);
                    state.pending_reads.remove(&place);
                    state.reads.remove(&place);
                }
                if variable {
                    let pending = state.pending_writes.entry(place).or_default();
                    if !pending.contains(&index) {
                        pending.push(index);
                        pending.sort_unstable();
                    }
                } else {
                    note(state.writes.entry(place).or_default(), Fixed {
                        instruction: index,
                        class: write.class,
                        age: 0,
                        lanes,
                        waited: false,
                    });
                }
            }
        }
    }
}

/// Adds or renews an entry.
fn note(entries: &mut Vec<Fixed>, entry: Fixed) {
    entries.retain(|old| old.instruction != entry.instruction || old.class != entry.class);
    entries.push(entry);
    entries.sort_by_key(|entry| (entry.instruction, entry.class));
}

/// A predicate is overwritten: what it guarded is no longer known by lane.
fn forget_lanes(state: &mut State, predicate: u8, uniform: bool) {
    let forget = |lanes: &mut Lanes| {
        if lanes.guard.predicate.0 == predicate && lanes.guard.uniform == uniform {
            lanes.valid = false;
        }
    };
    for entry in state.writes.values_mut().chain(state.reads.values_mut()).flatten() {
        forget(&mut entry.lanes);
    }
    for flight in state.flights.values_mut() {
        forget(&mut flight.lanes);
    }
}

fn pending(open: bool, hold: Option<u16>) -> bool {
    open && hold != Some(0)
}

/// Whether two instructions can have no lane in common.
fn disjoint(one: Lanes, other: Lanes) -> bool {
    one.valid
        && other.valid
        && one.guard.predicate == other.guard.predicate
        && one.guard.uniform == other.guard.uniform
        && one.guard.negate != other.guard.negate
}

fn read_kind(read: &Use) -> Option<DistanceKind> {
    Some(match (read.file, read.role) {
        (File::General, Role::Address) => DistanceKind::Address,
        (File::General, Role::StoreData) => DistanceKind::StoreData,
        (File::General, _) => DistanceKind::Register,
        (File::Predicate, Role::Guard) => DistanceKind::Guard,
        (File::Predicate, _) => DistanceKind::PredicateData,
        (File::Uniform, _) => DistanceKind::Uniform,
        (File::UniformPredicate, Role::Guard) => DistanceKind::UniformGuard,
        (File::UniformPredicate, _) => DistanceKind::UniformPredicateData,
        (File::Convergence, _) => return None,
    })
}

fn overwrite_kinds(file: File) -> Option<(DistanceKind, Option<DistanceKind>)> {
    Some(match file {
        File::General => (DistanceKind::RegisterOverwrite, None),
        File::Predicate => (DistanceKind::PredicateOverwrite, None),
        File::Uniform => {
            (DistanceKind::UniformOverwrite, Some(DistanceKind::UniformReadOverwrite))
        }
        File::UniformPredicate => (
            DistanceKind::UniformPredicateOverwrite,
            Some(DistanceKind::UniformPredicateReadOverwrite),
        ),
        File::Convergence => return None,
    })
}

fn always(instruction: &Instruction) -> bool {
    instruction.guard.is_always()
        && !instruction.operands.iter().any(|operand| {
            matches!(operand, Operand::Predicate { .. } | Operand::UniformPredicate { .. })
        })
}

fn leaves(instruction: &Instruction) -> bool {
    use Opcode::*;
    match instruction.opcode {
        // `.DIV` and `.CONV` fall through when their condition fails.
        BRA => !instruction
            .modifiers
            .iter()
            .any(|modifier| matches!(modifier.text(), "DIV" | "CONV")),
        BRX | JMX | RET | EXIT | KILL | CALL => true,
        _ => false,
    }
}

fn ends_block(instruction: &Instruction) -> bool {
    leaves(instruction) || instruction.opcode == Opcode::BRA
}

fn advance(state: &mut State, cycles: u16) {
    for entry in state.writes.values_mut().chain(state.reads.values_mut()).flatten() {
        entry.age = (entry.age + cycles).min(LONG_AGO);
    }
    state.writes.retain(|_, entries| {
        entries.retain(|entry| entry.age < LONG_AGO);
        !entries.is_empty()
    });
    state.reads.retain(|_, entries| {
        entries.retain(|entry| entry.age < LONG_AGO);
        !entries.is_empty()
    });
    for flight in state.flights.values_mut() {
        flight.age = (flight.age + cycles).min(LONG_AGO);
        for hold in [&mut flight.hold.0, &mut flight.hold.1].into_iter().flatten() {
            *hold = hold.saturating_sub(cycles);
        }
        if flight.hold.0 == Some(0) {
            flight.results = false;
            flight.sources = false;
        }
        if flight.hold.1 == Some(0) {
            flight.sources = false;
        }
    }
    state.flights.retain(|_, flight| flight.results || flight.sources);
    let flights = &state.flights;
    state.pending_writes.retain(|_, indices| {
        indices.retain(|index| flights.get(index).is_some_and(|flight| flight.results));
        !indices.is_empty()
    });
    state.pending_reads.retain(|_, indices| {
        indices.retain(|index| flights.get(index).is_some_and(|flight| flight.sources));
        !indices.is_empty()
    });
}

/// Joins a state into what is known at a place; whether that changed anything.
fn join(known: &mut State, new: &State) -> bool {
    let before = known.clone();
    let join_fixed = |known: &mut BTreeMap<Place, Vec<Fixed>>, new: &BTreeMap<Place, Vec<Fixed>>| {
        for (place, entries) in new {
            let known = known.entry(*place).or_default();
            for entry in entries {
                let same = known
                    .iter_mut()
                    .find(|old| old.instruction == entry.instruction && old.class == entry.class);
                match same {
                    Some(old) => {
                        old.age = old.age.min(entry.age);
                        old.waited &= entry.waited;
                        old.lanes.valid &= entry.lanes.valid;
                    }
                    None => known.push(*entry),
                }
            }
            known.sort_by_key(|entry| (entry.instruction, entry.class));
        }
    };
    join_fixed(&mut known.writes, &new.writes);
    join_fixed(&mut known.reads, &new.reads);
    for (&index, flight) in &new.flights {
        match known.flights.get_mut(&index) {
            Some(old) => {
                old.age = old.age.min(flight.age);
                old.results |= flight.results;
                old.sources |= flight.sources;
                old.after.0 = old.after.0.min(flight.after.0);
                old.after.1 = old.after.1.min(flight.after.1);
                let later = |one: Option<u16>, other: Option<u16>| match (one, other) {
                    (Some(one), Some(other)) => Some(one.max(other)),
                    _ => None,
                };
                old.hold.0 = later(old.hold.0, flight.hold.0);
                old.hold.1 = later(old.hold.1, flight.hold.1);
                old.lanes.valid &= flight.lanes.valid;
            }
            None => {
                known.flights.insert(index, *flight);
            }
        }
    }
    for (mine, theirs) in [
        (&mut known.pending_writes, &new.pending_writes),
        (&mut known.pending_reads, &new.pending_reads),
    ] {
        for (place, indices) in theirs {
            let known = mine.entry(*place).or_default();
            for index in indices {
                if !known.contains(index) {
                    known.push(*index);
                }
            }
            known.sort_unstable();
        }
    }
    known.order = known.order.max(new.order);
    let mut compared = before;
    compared.order = known.order;
    let orderless = |state: &State| {
        let mut state = state.clone();
        for flight in state.flights.values_mut() {
            flight.order = 0;
        }
        state
    };
    orderless(&compared) != orderless(known)
}
