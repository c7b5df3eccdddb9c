//! The static form of the hazard check (DESIGN.md H2) by the rules of `hardware::latency`: walks
//! compiled code with nothing but stall counts, wait masks and counters and reports every register
//! that is touched too early. Time is what the code itself asks for: an instruction issues
//! `max(1, stall)` cycles after the one before it, the target of a taken branch no earlier than
//! [`REDIRECT`] cycles after the branch.

use std::collections::{BTreeSet, HashMap};

use hardware::latency::{DistanceKind, LatencyTable};
use sass::{Class, File, Instruction, Predicate, Role, Use};
use source::{Description, MemoryKind, Special};

use super::findings::{Finding, Hazard, Scan, Seen};
use super::flow::Flow;
use super::queue::queue;
use super::state::{Fixed, Flight, LONG_AGO, Lanes, Place, State, insert, note};

/// Cycles from the issue of DEPBAR until it holds back younger instructions (MODEL.md §1.6).
const DEPBAR_HOLD: u16 = 4;
/// Cycles from an instruction's issue until a wait mask sees its counters raised (MODEL.md §1.5).
const COUNTER_VISIBLE: u16 = 2;
/// Least distance from a taken branch to its target (MODEL.md §4.2).
const REDIRECT: u16 = 3;

/// A code section, described.
pub struct Walk<'a> {
    table: &'a LatencyTable,
    code: &'a [Option<Instruction>],
    described: Vec<Option<Description>>,
    flow: Flow,
}

impl<'a> Walk<'a> {
    pub fn new(table: &'a LatencyTable, code: &'a [Option<Instruction>]) -> Walk<'a> {
        let described = code
            .iter()
            .map(|i| i.as_ref().map(source::describe))
            .collect();
        Walk {
            table,
            code,
            described,
            flow: Flow::new(code),
        }
    }

    /// Walks the section on all ways to a fixed point, then reports.
    pub fn run(&self) -> Scan {
        let starts = &self.flow.starts;
        let mut before: HashMap<usize, State> = starts
            .iter()
            .map(|&start| (start, State::default()))
            .collect();
        // Lowest address first: mostly the order of execution.
        let mut todo: BTreeSet<usize> = starts.iter().copied().collect();
        while let Some(start) = todo.pop_first() {
            for (target, state) in self.block(start, before[&start].clone(), None) {
                if before.entry(target).or_default().join(&state) {
                    todo.insert(target);
                }
            }
        }
        let mut scan = Scan::default();
        for &start in starts {
            self.block(start, before[&start].clone(), Some(&mut scan));
        }
        scan.findings.sort();
        scan.findings.dedup();
        scan
    }

    /// Walks one block; gives the states at the blocks behind it. Behind a call everything is taken
    /// to have settled, as the callee runs first.
    fn block(
        &self,
        start: usize,
        mut state: State,
        mut scan: Option<&mut Scan>,
    ) -> Vec<(usize, State)> {
        let mut index = start;
        let mut behind = Vec::new();
        while let (Some(Some(instruction)), Some(Some(description))) =
            (self.code.get(index), self.described.get(index))
        {
            self.step(
                index,
                instruction,
                description,
                &mut state,
                scan.as_deref_mut(),
            );
            let successors = self.flow.successors(index, instruction);
            if let Some(target) = successors.target {
                let mut taken = state.clone();
                let stall = u16::from(description.control.stall).max(1);
                taken.advance(REDIRECT.saturating_sub(stall));
                behind.push((target, taken));
            }
            index += 1;
            if !successors.falls_through {
                break;
            }
            if self.flow.is_start(index) {
                behind.push((index, state));
                break;
            }
        }
        behind
    }

    fn step(
        &self,
        index: usize,
        instruction: &Instruction,
        description: &Description,
        state: &mut State,
        scan: Option<&mut Scan>,
    ) {
        let control = description.control;
        self.wait(control.wait_mask, state);
        let lanes = Lanes::of(instruction.guard);
        if let Some(scan) = scan {
            for read in &description.footprint.reads {
                self.check_read(index, read, lanes, state, scan);
            }
            for write in &description.footprint.writes {
                self.check_write(index, description, write, lanes, state, scan);
            }
        }
        self.issue(index, instruction, description, lanes, state);
        match description.special {
            Special::WaitCounter {
                counter,
                at_most,
                others,
            } => {
                self.depbar(counter, at_most, others, state);
            }
            Special::CtaBarrier => self.hand_over(state),
            _ => {}
        }
        let forever = control.stall == 0 && control.yields;
        state.advance(if forever {
            LONG_AGO
        } else {
            u16::from(control.stall).max(1)
        });
    }

    fn variable(&self, description: &Description) -> bool {
        self.table.unit(description.class.index()).variable
    }

    /// A wait mask: everything that its counters cover is done.
    fn wait(&self, mask: u8, state: &mut State) {
        let names = |counter: Option<u8>| counter.is_some_and(|counter| mask >> counter & 1 == 1);
        for (of_reads, entries) in [(false, &mut state.writes), (true, &mut state.reads)] {
            for entry in entries.values_mut().flatten() {
                let Some(description) = &self.described[entry.instruction] else {
                    continue;
                };
                let control = description.control;
                let waited =
                    names(control.write_counter) || of_reads && names(control.read_counter);
                entry.waited |= waited && entry.age >= COUNTER_VISIBLE;
            }
        }
        let raised: Vec<usize> = state
            .flights
            .iter()
            .filter(|(_, flight)| flight.age >= COUNTER_VISIBLE)
            .map(|(&index, _)| index)
            .collect();
        for index in raised {
            let Some(description) = &self.described[index] else {
                continue;
            };
            if names(description.control.write_counter) {
                self.done(index, true, state, None);
            } else if names(description.control.read_counter) {
                self.done(index, answers_with_sources(description), state, None);
            }
        }
    }

    /// Marks an instruction's results and sources, or only its sources, as done, with what that says
    /// about older instructions: now, or in `hold` cycles.
    fn done(&self, index: usize, results: bool, state: &mut State, hold: Option<u16>) {
        let (Some(description), Some(order)) = (
            &self.described[index],
            state.flights.get(&index).map(|flight| flight.order),
        ) else {
            return;
        };
        for (&other, flight) in &mut state.flights {
            let Some(described) = &self.described[other] else {
                continue;
            };
            let older = flight.order < order;
            let in_order = older && queue(description).is_some_and(|q| queue(described) == Some(q));
            let in_path = older && description.memory.is_some() && described.memory.is_some();
            let uncounted = described.control.write_counter.is_none();
            let results = results && (other == index || in_order && uncounted);
            let sources = other == index || in_order || in_path;
            let nearer = |old: Option<u16>, hold: u16| Some(old.map_or(hold, |old| old.min(hold)));
            match hold {
                None => {
                    flight.results &= !results;
                    flight.sources &= !sources;
                }
                Some(hold) => {
                    if results {
                        flight.results_in = nearer(flight.results_in, hold);
                    }
                    if sources {
                        flight.sources_in = nearer(flight.sources_in, hold);
                    }
                }
            }
        }
    }

    /// DEPBAR.LE: all but the last `at_most` increments of `counter` are done, and all of `others`.
    fn depbar(&self, counter: u8, at_most: u8, others: u8, state: &mut State) {
        let covers = |named: Option<u8>, after: u8| {
            named.is_some_and(|named| {
                others >> named & 1 == 1 || named == counter && after >= at_most
            })
        };
        for (index, flight) in state.flights.clone() {
            let Some(description) = &self.described[index] else {
                continue;
            };
            if covers(description.control.write_counter, flight.after_write) {
                self.done(index, true, state, Some(DEPBAR_HOLD));
            } else if covers(description.control.read_counter, flight.after_read) {
                let results = answers_with_sources(description);
                self.done(index, results, state, Some(DEPBAR_HOLD));
            }
        }
    }

    /// BAR: the warp's earlier memory instructions have been handed to the SM (DESIGN.md H5), so their
    /// sources have been read.
    fn hand_over(&self, state: &mut State) {
        for (&index, flight) in &mut state.flights {
            let memory = |description: &Description| description.memory.is_some();
            flight.sources &= !self.described[index].as_ref().is_some_and(memory);
        }
    }

    fn check_read(&self, index: usize, read: &Use, lanes: Lanes, state: &State, scan: &mut Scan) {
        let Some(kind) = read_kind(read) else { return };
        // A guard is read in every lane.
        let lanes = if read.role == Role::Guard {
            lanes.all()
        } else {
            lanes
        };
        for register in places(read) {
            for &earlier in state.to_write.get(&register).into_iter().flatten() {
                report(state, Hazard::Read, earlier, index, register, lanes, scan);
            }
            for fixed in state.writes.get(&register).into_iter().flatten() {
                self.check_distance(index, kind, fixed, read.class, register, lanes, scan);
            }
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
        let Some((kind, read_kind)) = overwrite_kinds(write.file) else {
            return;
        };
        let in_order = |earlier: usize| {
            let earlier = self.described[earlier].as_ref();
            let unit = queue(description).filter(|_| self.variable(description));
            unit.is_some() && earlier.is_some_and(|earlier| queue(earlier) == unit)
        };
        let in_path = |earlier: usize| {
            let earlier = self.described[earlier].as_ref();
            description.memory.is_some() && earlier.is_some_and(|earlier| earlier.memory.is_some())
        };
        for register in places(write) {
            for &earlier in state.to_write.get(&register).into_iter().flatten() {
                if !in_order(earlier) {
                    report(
                        state,
                        Hazard::Overwrite,
                        earlier,
                        index,
                        register,
                        lanes,
                        scan,
                    );
                }
            }
            for &earlier in state.to_read.get(&register).into_iter().flatten() {
                if !in_order(earlier) && !in_path(earlier) {
                    report(
                        state,
                        Hazard::ReadOverwrite,
                        earlier,
                        index,
                        register,
                        lanes,
                        scan,
                    );
                }
            }
            for fixed in state.writes.get(&register).into_iter().flatten() {
                self.check_distance(index, kind, fixed, write.class, register, lanes, scan);
            }
            for fixed in state.reads.get(&register).into_iter().flatten() {
                if let Some(kind) = read_kind {
                    self.check_distance(index, kind, fixed, write.class, register, lanes, scan);
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn check_distance(
        &self,
        later: usize,
        kind: DistanceKind,
        fixed: &Fixed,
        class: Class,
        register: Place,
        lanes: Lanes,
        scan: &mut Scan,
    ) {
        if fixed.waited || fixed.lanes.disjoint(lanes) {
            return;
        }
        let (earlier, distance) = (fixed.instruction, fixed.age);
        let needed = self
            .table
            .distance(kind, fixed.class.index(), class.index());
        let seen = scan.seen.entry((kind, fixed.class, class)).or_insert(Seen {
            least: u16::MAX,
            count: 0,
        });
        seen.count += 1;
        seen.least = seen.least.min(distance);
        if distance == needed && needed > 1 {
            scan.tight.push((kind, earlier, later));
        }
        if distance < needed {
            let hazard = Hazard::Distance(kind);
            scan.findings.push(Finding {
                hazard,
                earlier,
                later,
                register,
                distance,
            });
        }
    }

    /// The instruction's own reads and writes become what later ones must keep away from.
    fn issue(
        &self,
        index: usize,
        instruction: &Instruction,
        description: &Description,
        lanes: Lanes,
        state: &mut State,
    ) {
        let control = description.control;
        let increments = |counter: Option<u8>| {
            let raises = |by: Option<u8>| u8::from(counter.is_some() && by == counter);
            raises(control.write_counter) + raises(control.read_counter)
        };
        for (&other, flight) in &mut state.flights {
            if let Some(other) = &self.described[other] {
                let (write, read) = (other.control.write_counter, other.control.read_counter);
                flight.after_write = flight.after_write.saturating_add(increments(write)).min(63);
                flight.after_read = flight.after_read.saturating_add(increments(read)).min(63);
            }
        }
        state.order += 1;
        let variable = self.variable(description);
        if variable {
            let same =
                control.write_counter.is_some() && control.write_counter == control.read_counter;
            state.flights.insert(
                index,
                Flight {
                    age: 0,
                    results: true,
                    sources: true,
                    after_write: 0,
                    after_read: u8::from(same),
                    results_in: None,
                    sources_in: None,
                    lanes,
                    order: state.order,
                },
            );
        }
        let fixed = |class| Fixed {
            instruction: index,
            class,
            age: 0,
            lanes,
            waited: false,
        };
        for read in &description.footprint.reads {
            for register in places(read) {
                match read.file {
                    File::General if variable => {
                        insert(state.to_read.entry(register).or_default(), index);
                    }
                    File::General | File::Uniform | File::UniformPredicate
                        if read.role != Role::Guard =>
                    {
                        note(state.reads.entry(register).or_default(), fixed(read.class));
                    }
                    _ => {}
                }
            }
        }
        let guarded = instruction.guard.predicate != Predicate::TRUE;
        for write in &description.footprint.writes {
            for register in places(write) {
                state.forget_lanes(register);
                if !guarded {
                    state.forget_place(register);
                }
                if variable {
                    insert(state.to_write.entry(register).or_default(), index);
                } else {
                    note(
                        state.writes.entry(register).or_default(),
                        fixed(write.class),
                    );
                }
            }
        }
    }
}

/// Whether an atomic operation without write counter returns a predicate alone, which is known with its
/// sources: Hopper's generic ATOM that tells whether the address was a shared one.
fn answers_with_sources(description: &Description) -> bool {
    let general = |write: &Use| write.file == File::General;
    description.control.write_counter.is_none()
        && description.memory.map(|shape| shape.kind) == Some(MemoryKind::GlobalAtomic)
        && !description.footprint.writes.iter().any(general)
}

/// Reports that `later` touches what the variable-latency instruction `earlier` is not done with.
fn report(
    state: &State,
    hazard: Hazard,
    earlier: usize,
    later: usize,
    register: Place,
    lanes: Lanes,
    scan: &mut Scan,
) {
    let Some(flight) = state.flights.get(&earlier) else {
        return;
    };
    let open = if hazard == Hazard::ReadOverwrite {
        flight.sources
    } else {
        flight.results
    };
    if open && !flight.lanes.disjoint(lanes) {
        let distance = flight.age;
        scan.findings.push(Finding {
            hazard,
            earlier,
            later,
            register,
            distance,
        });
    }
}

fn places(of: &Use) -> impl Iterator<Item = Place> + use<> {
    let file = of.file;
    (of.first..of.first.saturating_add(of.count)).map(move |register| (file, register))
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
    use DistanceKind::*;
    Some(match file {
        File::General => (RegisterOverwrite, Some(RegisterReadOverwrite)),
        File::Predicate => (PredicateOverwrite, None),
        File::Uniform => (UniformOverwrite, Some(UniformReadOverwrite)),
        File::UniformPredicate => (
            UniformPredicateOverwrite,
            Some(UniformPredicateReadOverwrite),
        ),
        File::Convergence => return None,
    })
}
