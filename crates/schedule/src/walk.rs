//! The static form of the hazard check (DESIGN.md H2) by the rules of `hardware::latency`: walks
//! a section with nothing but stall counts, wait masks and counters and reports every register
//! that is touched too early. Time is what the code itself asks for: an instruction issues as many cycles
//! after the one before it as [`Rules::distance`] says, the target of a taken branch no earlier than
//! `control.redirect` cycles after the branch.
//!
//! Ways are followed per lane: where lanes part, each goes its own way, and counters that other lanes
//! raise meanwhile only make it wait longer. A function of the section is walked once per place that calls
//! it. Where control leaves the section everything is taken to have settled before it comes back; an
//! indirect jump whose table is not known may go to every block that nothing else leads to.

use std::collections::{BTreeMap, BTreeSet};

use sass::{Class, File, Instruction, Opcode, Operand, Predicate, Role, Use};
use source::{Description, MemoryKind, Queue, Special};

use crate::check::places;
use crate::finding::Scan;
use crate::flow::{Elsewhere, Flow};
use crate::lint::Section;
use crate::rules::Rules;
use crate::state::{Cover, Fixed, Flight, Lanes, State, insert, note};

/// Calls inside one another that are told apart; deeper ones leave the section.
const MOST_CALLS: usize = 256;

/// A code section, described.
pub struct Walk<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) code: &'a [Option<Instruction>],
    pub(crate) described: Vec<Option<Description>>,
    flow: Flow,
}

/// Which calls the walk is inside: where the innermost returns to, and the calls around it.
type Calls = Vec<Option<(usize, usize)>>;

/// What a walk knows before each block, by calls and first instruction.
struct Reached {
    /// Entry 0 is outside of all calls; another is its outer entry and where it returns to.
    calls: Calls,
    before: BTreeMap<(usize, usize), State>,
    todo: BTreeSet<(usize, usize)>,
}

impl Reached {
    /// A way with `state` comes to `place`.
    fn reach(&mut self, place: (usize, usize), state: &State) {
        let known = self.before.entry(place);
        let new = matches!(known, std::collections::btree_map::Entry::Vacant(_));
        if known.or_default().join(state) || new {
            self.todo.insert(place);
        }
    }

    /// The calls inside a call that returns to `back`, made inside `calls`.
    fn inside(&mut self, calls: usize, back: usize) -> Option<usize> {
        let entry = Some((calls, back));
        if let Some(known) = self.calls.iter().position(|&known| known == entry) {
            return Some(known);
        }
        // A call that is made inside itself leaves the section.
        let mut outer = calls;
        while let Some((next, returns)) = self.calls[outer] {
            if returns == back {
                return None;
            }
            outer = next;
        }
        (self.calls.len() < MOST_CALLS).then(|| {
            self.calls.push(entry);
            self.calls.len() - 1
        })
    }
}

/// Where a block leads to.
enum Exit {
    /// To a block.
    Block(usize),
    /// Into a function of the section, from where it comes back.
    Call(usize, usize),
    /// Back behind the call.
    Return,
}

impl<'a> Walk<'a> {
    /// Describes a section.
    pub fn new(rules: &'a Rules, section: Section<'a>) -> Walk<'a> {
        let code = section.code;
        let described = code
            .iter()
            .map(|i| i.as_ref().map(source::describe))
            .collect();
        Walk {
            rules,
            code,
            described,
            flow: Flow::new(code, section.tables),
        }
    }

    /// Walks the section on all ways to a fixed point, then reports.
    pub fn run(&self) -> Scan {
        let mut reached = Reached {
            calls: vec![None],
            before: BTreeMap::new(),
            todo: BTreeSet::new(),
        };
        for &start in &self.flow.starts {
            reached.reach((0, start), &State::default());
        }
        // Lowest address first: mostly the order of execution.
        while let Some((calls, start)) = reached.todo.pop_first() {
            let before = reached.before[&(calls, start)].clone();
            for (exit, state) in self.block(start, before, None) {
                match exit {
                    Exit::Block(target) => reached.reach((calls, target), &state),
                    Exit::Call(target, back) => match reached.inside(calls, back) {
                        Some(inner) => reached.reach((inner, target), &state),
                        None => reached.reach((0, target), &state),
                    },
                    Exit::Return => {
                        if let Some((outer, back)) = reached.calls[calls] {
                            reached.reach((outer, back), &state);
                        }
                    }
                }
            }
        }
        let mut scan = Scan::default();
        for (&(_, start), before) in &reached.before {
            self.block(start, before.clone(), Some(&mut scan));
        }
        scan.findings.sort();
        scan.findings.dedup();
        scan
    }

    /// Walks one block; gives the states at the blocks behind it.
    fn block(
        &self,
        start: usize,
        mut state: State,
        mut scan: Option<&mut Scan>,
    ) -> Vec<(Exit, State)> {
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
            let stall = self.rules.distance(description.control);
            let taken = || {
                let mut taken = state.clone();
                taken.advance(self.rules.control.redirect.saturating_sub(stall));
                taken
            };
            match (successors.elsewhere, successors.target) {
                (Elsewhere::Nowhere, Some(target)) => behind.push((Exit::Block(target), taken())),
                (Elsewhere::Call, Some(target)) => {
                    behind.push((Exit::Call(target, index + 1), taken()));
                }
                (Elsewhere::Return, _) => behind.push((Exit::Return, taken())),
                (Elsewhere::Table, _) => {
                    for &target in self.flow.through_table(index) {
                        behind.push((Exit::Block(target), taken()));
                    }
                }
                (Elsewhere::Nowhere | Elsewhere::Call, None) => {}
            }
            index += 1;
            if !successors.falls_through {
                break;
            }
            if self.flow.is_start(index) {
                behind.push((Exit::Block(index), state));
                break;
            }
        }
        for (_, state) in &mut behind {
            state.forget_unnamed();
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
            self.check(index, description, lanes, state, scan);
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
            Special::CtaBarrier { deferred } => self.hand_over(deferred, state),
            _ => {}
        }
        if let Some(at_most) = waits_for_groups(instruction) {
            self.groups_done(at_most, state);
        }
        state.advance(self.rules.distance(control));
    }

    pub(crate) fn variable(&self, description: &Description) -> bool {
        self.rules.variable(description.class)
    }

    /// A wait mask: everything that its counters cover is done.
    fn wait(&self, mask: u8, state: &mut State) {
        let names = |counter: Option<u8>| counter.is_some_and(|counter| mask >> counter & 1 == 1);
        let visible = self.rules.control.counter_visible;
        for (of_reads, entries) in [(false, &mut state.writes), (true, &mut state.reads)] {
            for entry in entries.values_mut().flatten() {
                let Some(description) = &self.described[entry.instruction] else {
                    continue;
                };
                let control = description.control;
                let waited =
                    names(control.write_counter) || of_reads && names(control.read_counter);
                entry.waited |= waited && entry.age >= visible;
            }
        }
        for (&index, flight) in &mut state.flights {
            let Some(description) = &self.described[index] else {
                continue;
            };
            let own = flight.age >= visible;
            let control = description.control;
            let results = own && names(control.write_counter);
            let sources = own && names(control.read_counter);
            let answers = sources && answers_with_sources(description);
            let covered = |by: &[Option<Cover>; 6]| {
                let mut counters = (0..6).filter(|&counter| mask >> counter & 1 == 1);
                counters.any(|counter| by[counter].is_some_and(|one| one.age >= visible))
            };
            let covers_results = covered(&flight.covers_results);
            let covers_sources = covered(&flight.covers_sources);
            flight.results &= !(results || answers || covers_results);
            flight.sources &= !(results || sources || covers_results || covers_sources);
        }
    }

    /// DEPBAR.LE: all but the last `at_most` increments of `counter` are done, and all of `others`, when it
    /// takes hold.
    fn depbar(&self, counter: u8, at_most: u8, others: u8, state: &mut State) {
        let falls = |named: Option<u8>, after: u8| {
            named.is_some_and(|named| {
                others >> named & 1 == 1 || named == counter && after >= at_most
            })
        };
        let hold = self.rules.depbar_hold;
        let nearer = |old: Option<u16>| Some(old.map_or(hold, |old| old.min(hold)));
        for (&index, flight) in &mut state.flights {
            let Some(description) = &self.described[index] else {
                continue;
            };
            let control = description.control;
            let results = falls(control.write_counter, flight.after_write);
            let sources = falls(control.read_counter, flight.after_read);
            let answers = sources && answers_with_sources(description);
            let covered = |by: &[Option<Cover>; 6]| {
                let covers = by.iter().zip(0u8..);
                covers
                    .into_iter()
                    .any(|(one, counter)| one.is_some_and(|one| falls(Some(counter), one.after)))
            };
            let covers_results = covered(&flight.covers_results);
            let covers_sources = covered(&flight.covers_sources);
            if results || answers || covers_results {
                flight.results_in = nearer(flight.results_in);
            }
            if results || sources || covers_results || covers_sources {
                flight.sources_in = nearer(flight.sources_in);
            }
        }
    }

    /// A younger instruction stands for older ones: in a unit that keeps its order its results for theirs,
    /// and its sources for theirs, as in the memory unit.
    fn cover(&self, description: &Description, state: &mut State) {
        let control = description.control;
        let raises = |counter: u8, by: Option<u8>| u8::from(by == Some(counter));
        let same = u8::from(
            control.write_counter.is_some() && control.write_counter == control.read_counter,
        );
        let unit = Queue::of(description);
        for (&older, flight) in &mut state.flights {
            let Some(old) = &self.described[older] else {
                continue;
            };
            for counter in 0..6u8 {
                let by =
                    raises(counter, control.write_counter) + raises(counter, control.read_counter);
                for covers in [&mut flight.covers_results, &mut flight.covers_sources] {
                    if let Some(cover) = &mut covers[usize::from(counter)] {
                        cover.after = cover.after.saturating_add(by).min(63);
                    }
                }
            }
            let in_order = unit.is_some() && Queue::of(old) == unit;
            let in_path = description.memory.is_some() && old.memory.is_some();
            let note = |covers: &mut [Option<Cover>; 6], counter: Option<u8>, after: u8| {
                if let Some(place) =
                    counter.and_then(|counter| covers.get_mut(usize::from(counter)))
                {
                    place.get_or_insert(Cover { age: 0, after });
                }
            };
            if in_order && old.control.write_counter.is_none() {
                note(&mut flight.covers_results, control.write_counter, 0);
                if answers_with_sources(description) {
                    note(&mut flight.covers_results, control.read_counter, 0);
                }
            }
            if in_order || in_path {
                note(&mut flight.covers_sources, control.write_counter, 0);
                note(&mut flight.covers_sources, control.read_counter, same);
            }
        }
    }

    /// WARPGROUP.DEPBAR: the warp group's matrix instructions are done, but for the last `at_most` that the
    /// group's counter counts.
    fn groups_done(&self, at_most: u8, state: &mut State) {
        for (&index, flight) in &mut state.flights {
            let (Some(description), Some(instruction)) =
                (&self.described[index], &self.code[index])
            else {
                continue;
            };
            let counted = u8::from(!counts_group(instruction));
            let done = description.class == Class::WarpGroupMatrix
                && flight.after_write >= at_most.saturating_add(counted);
            flight.results &= !done;
            flight.sources &= !done;
        }
    }

    /// BAR: where it holds the warp, earlier memory instructions have been handed to the SM (DESIGN.md H5),
    /// so their sources have been read. Until it takes hold younger instructions slip past.
    fn hand_over(&self, deferred: bool, state: &mut State) {
        let hold = self.rules.hold(deferred);
        for (&index, flight) in &mut state.flights {
            let memory = |description: &Description| description.memory.is_some();
            if self.described[index].as_ref().is_some_and(memory) {
                flight.sources_in = Some(flight.sources_in.map_or(hold, |old| old.min(hold)));
            }
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
                let write = match other.class {
                    Class::WarpGroupMatrix => u8::from(counts_group(instruction)),
                    _ => increments(write),
                };
                flight.after_write = flight.after_write.saturating_add(write).min(63);
                flight.after_read = flight.after_read.saturating_add(increments(read)).min(63);
            }
        }
        let variable = self.variable(description);
        if variable {
            self.cover(description, state);
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
                    covers_results: [None; 6],
                    covers_sources: [None; 6],
                    lanes,
                },
            );
        }
        let fixed = |class| Fixed {
            instruction: index,
            class,
            age: 0,
            lanes,
            waited: false,
            read: false,
        };
        for read in &description.footprint.reads {
            for register in places(read) {
                for entry in state.writes.get_mut(&register).into_iter().flatten() {
                    entry.read |= !entry.lanes.disjoint(lanes);
                }
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

/// Whether the counter of warp groups counts a matrix instruction.
fn counts_group(instruction: &Instruction) -> bool {
    sass::class(instruction) == Class::WarpGroupMatrix
        && (instruction.operands.iter()).any(|operand| matches!(operand, Operand::Keyword(_)))
}

/// Which of the counted matrix instructions WARPGROUP.DEPBAR does not wait for.
fn waits_for_groups(instruction: &Instruction) -> Option<u8> {
    let mut operands = instruction.operands.iter();
    let waits = instruction.opcode == Opcode::WARPGROUP;
    operands.find_map(|operand| match *operand {
        Operand::Immediate { bits, .. } if waits => Some((bits & 7) as u8),
        _ => None,
    })
}

/// Whether an atomic operation without write counter returns a predicate alone, which is known with its
/// sources: Hopper's generic ATOM that tells whether the address was a shared one.
fn answers_with_sources(description: &Description) -> bool {
    let general = |write: &Use| write.file == File::General;
    description.control.write_counter.is_none()
        && description.memory.map(|shape| shape.kind) == Some(MemoryKind::GlobalAtomic)
        && !description.footprint.writes.iter().any(general)
}
