//! A second opinion on control bits, written apart from the library's walk: follows single ways through a
//! section, instruction by instruction, and looks at every pair of instructions on them. It knows nothing
//! of what came before its way, so it finds less; what it finds is certain.

use std::collections::BTreeSet;

use hardware::latency::DistanceKind;
use sass::{Class, File, Instruction, Predicate, Role, Use};
use schedule::{Hazard, Rules};
use source::{Description, MemoryKind, Queue, Special};

/// Instructions of a way at most.
const LONGEST: usize = 160;
/// Ways that are followed at most.
const MOST_WAYS: usize = 24;
/// Instructions that a way begins before the place of interest.
const BEFORE: usize = 60;

/// A section to be followed.
pub struct Oracle<'a> {
    rules: &'a Rules,
    code: &'a [Option<Instruction>],
    described: Vec<Option<Description>>,
}

/// What is certain: hazard, earlier and later instruction.
pub type Certain = (Hazard, usize, usize);

impl<'a> Oracle<'a> {
    pub fn new(rules: &'a Rules, code: &'a [Option<Instruction>]) -> Oracle<'a> {
        let described = code
            .iter()
            .map(|i| i.as_ref().map(source::describe))
            .collect();
        Oracle {
            rules,
            code,
            described,
        }
    }

    /// Every hazard on ways that pass the instruction at `place`.
    pub fn around(&self, place: usize) -> BTreeSet<Certain> {
        let mut start = place;
        while start > 0 && place - start < BEFORE && self.follows(start - 1, start) {
            start -= 1;
        }
        let mut found = BTreeSet::new();
        let mut open = vec![(vec![(start, 0u32)], 0usize)];
        let mut ways = 0;
        while let Some((mut way, turns)) = open.pop() {
            loop {
                let &(last, time) = &way[way.len() - 1];
                let next = self.next(last);
                let Some((&first, others)) = next.split_first().filter(|_| way.len() < LONGEST)
                else {
                    break;
                };
                let step = |target: usize| {
                    let stall = self.described[last]
                        .as_ref()
                        .map_or(1, |of| self.rules.distance(of.control));
                    let least = if target == last + 1 { 1 } else { 3 };
                    (target, time + u32::from(stall.max(least)))
                };
                for &other in others {
                    if ways + open.len() < MOST_WAYS && turns < 8 {
                        let mut branch = way.clone();
                        branch.push(step(other));
                        open.push((branch, turns + 1));
                    }
                }
                way.push(step(first));
            }
            self.way(&way, &mut found);
            ways += 1;
        }
        found
    }

    fn follows(&self, one: usize, next: usize) -> bool {
        self.next(one).contains(&next)
    }

    /// The instructions that can come next, inside the function.
    fn next(&self, index: usize) -> Vec<usize> {
        use sass::Opcode::*;
        let Some(Some(instruction)) = self.code.get(index) else {
            return Vec::new();
        };
        let target = || {
            instruction
                .operands
                .iter()
                .find_map(|operand| match *operand {
                    sass::Operand::Target(offset) => {
                        usize::try_from((index as i64 + 1) + offset / 16).ok()
                    }
                    _ => None,
                })
        };
        let mut next = Vec::new();
        let guarded = !instruction.guard.is_always()
            || instruction.operands.iter().any(|operand| {
                matches!(operand, sass::Operand::Predicate { predicate, negate }
                    | sass::Operand::UniformPredicate { predicate, negate }
                    if *predicate != Predicate::TRUE || *negate)
            });
        let conditional = instruction
            .modifiers
            .iter()
            .any(|m| matches!(m.text(), "DIV" | "CONV"));
        match instruction.opcode {
            BRA => {
                if guarded || conditional {
                    next.push(index + 1);
                }
                next.extend(target());
            }
            EXIT | KILL | RET | BRX | BRXU | JMX | JMP | CALL => {
                if guarded {
                    next.push(index + 1);
                }
            }
            _ => next.push(index + 1),
        }
        next.retain(|&index| index < self.code.len());
        next
    }

    fn of(&self, index: usize) -> Option<(&Instruction, &Description)> {
        Some((
            self.code.get(index)?.as_ref()?,
            self.described.get(index)?.as_ref()?,
        ))
    }

    fn way(&self, way: &[(usize, u32)], found: &mut BTreeSet<Certain>) {
        for later in 0..way.len() {
            let Some((_, description)) = self.of(way[later].0) else {
                return;
            };
            for read in &description.footprint.reads {
                for register in read.first..read.first.saturating_add(read.count) {
                    self.look(way, later, read, register, false, found);
                }
            }
            for write in &description.footprint.writes {
                for register in write.first..write.first.saturating_add(write.count) {
                    self.look(way, later, write, register, true, found);
                }
            }
        }
    }

    /// Looks back from one register that the instruction at place `later` of a way touches.
    fn look(
        &self,
        way: &[(usize, u32)],
        later: usize,
        used: &Use,
        register: u8,
        writes: bool,
        found: &mut BTreeSet<Certain>,
    ) {
        let Some((_, description)) = self.of(way[later].0) else {
            return;
        };
        let touches = |of: &Use| {
            of.file == used.file
                && (of.first..of.first.saturating_add(of.count)).contains(&register)
        };
        for earlier in (0..later).rev() {
            let Some((older, old)) = self.of(way[earlier].0) else {
                return;
            };
            let time = way[later].1 - way[earlier].1;
            let variable = self.rules.variable(old.class);
            let apart = used.role != Role::Guard && self.disjoint(way, earlier, later);
            let both = (way[earlier].0, way[later].0);
            for write in old.footprint.writes.iter().filter(|write| touches(write)) {
                if apart {
                    continue;
                }
                if variable {
                    let ordered =
                        Queue::of(old).is_some() && Queue::of(old) == Queue::of(description);
                    let accumulates = old.class == Class::WarpGroupMatrix && ordered;
                    let kept =
                        ordered && writes && self.rules.variable(description.class) || accumulates;
                    if !kept && !self.waited(way, earlier, later, false) {
                        let hazard = if writes {
                            Hazard::Overwrite
                        } else {
                            Hazard::Read
                        };
                        found.insert((hazard, both.0, both.1));
                    }
                } else if let Some(kind) = kind(used, writes) {
                    let needed =
                        self.rules
                            .table
                            .distance(kind, write.class.index(), used.class.index());
                    if time < u32::from(needed) && !self.waited(way, earlier, later, false) {
                        found.insert((Hazard::Distance(kind), both.0, both.1));
                    }
                }
            }
            let unguarded = older.guard.predicate == Predicate::TRUE;
            let replaced = unguarded && old.footprint.writes.iter().any(touches);
            if writes && !replaced {
                for read in old.footprint.reads.iter().filter(|read| touches(read)) {
                    if apart || read.role == Role::Guard {
                        continue;
                    }
                    if variable && read.file == File::General {
                        let ordered =
                            Queue::of(old).is_some() && Queue::of(old) == Queue::of(description);
                        let path = old.memory.is_some() && description.memory.is_some();
                        let kept = ordered && self.rules.variable(description.class) || path;
                        if !kept && !self.waited(way, earlier, later, true) {
                            found.insert((Hazard::ReadOverwrite, both.0, both.1));
                        }
                    } else if let Some(kind) = read_overwrite(used.file) {
                        let needed =
                            self.rules
                                .table
                                .distance(kind, read.class.index(), used.class.index());
                        if time < u32::from(needed) && !self.waited(way, earlier, later, true) {
                            found.insert((Hazard::Distance(kind), both.0, both.1));
                        }
                    }
                }
            }
            // An unguarded write takes the place of what was before.
            if replaced {
                return;
            }
        }
    }

    /// Whether the two instructions have complementary guards that nobody writes between them.
    fn disjoint(&self, way: &[(usize, u32)], earlier: usize, later: usize) -> bool {
        let (Some((one, first)), Some((two, _))) = (self.of(way[earlier].0), self.of(way[later].0))
        else {
            return false;
        };
        let (a, b) = (one.guard, two.guard);
        let file = if a.uniform {
            File::UniformPredicate
        } else {
            File::Predicate
        };
        let writes = |description: &Description| {
            description.footprint.writes.iter().any(|write| {
                write.file == file
                    && (write.first..write.first.saturating_add(write.count))
                        .contains(&a.predicate.0)
            })
        };
        a.predicate != Predicate::TRUE
            && a.predicate == b.predicate
            && a.uniform == b.uniform
            && a.negate != b.negate
            && !writes(first)
            && !(way[earlier + 1..later].iter())
                .any(|&(index, _)| self.of(index).is_some_and(|(_, between)| writes(between)))
    }

    /// Whether something between waits for the earlier instruction: for its results, or for its sources.
    fn waited(&self, way: &[(usize, u32)], earlier: usize, later: usize, sources: bool) -> bool {
        let Some((_, old)) = self.of(way[earlier].0) else {
            return true;
        };
        let answers = old.control.write_counter.is_none()
            && old.memory.map(|shape| shape.kind) == Some(MemoryKind::GlobalAtomic)
            && !old
                .footprint
                .writes
                .iter()
                .any(|write| write.file == File::General);
        let mut counters = vec![old.control.write_counter];
        if sources || answers {
            counters.push(old.control.read_counter);
        }
        for counter in counters.into_iter().flatten() {
            if self.fell(way, earlier, later, counter) {
                return true;
            }
        }
        // A BAR stands behind the hand-over of all that came before.
        let end = way[later].1;
        let barrier = |index: usize, time: u32| {
            let hold = match self.of(index).map(|(_, between)| between.special) {
                Some(Special::CtaBarrier { deferred: true }) => self.rules.barrier_deferred_hold,
                Some(Special::CtaBarrier { deferred: false }) => self.rules.barrier_hold,
                _ => return false,
            };
            end - time >= u32::from(hold)
        };
        if sources
            && old.memory.is_some()
            && way[earlier + 1..later]
                .iter()
                .any(|&(index, time)| barrier(index, time))
        {
            return true;
        }
        if old.class == Class::WarpGroupMatrix {
            let group = |index: usize| {
                self.code[index]
                    .as_ref()
                    .is_some_and(|i| i.opcode == sass::Opcode::WARPGROUP)
            };
            return way[earlier + 1..later]
                .iter()
                .any(|&(index, _)| group(index));
        }
        // A younger instruction of a unit that keeps its order stands for the older.
        (earlier + 1..later).any(|younger| {
            let Some((_, young)) = self.of(way[younger].0) else {
                return false;
            };
            let ordered = Queue::of(old).is_some() && Queue::of(old) == Queue::of(young);
            let path = old.memory.is_some() && young.memory.is_some();
            let uncounted = old.control.write_counter.is_none();
            let fell = |counter: Option<u8>| {
                counter.is_some_and(|counter| self.fell(way, younger, later, counter))
            };
            if sources && (ordered || path) {
                return fell(young.control.write_counter) || fell(young.control.read_counter);
            }
            ordered && uncounted && fell(young.control.write_counter)
        })
    }

    /// Whether the counter that the instruction at place `earlier` raised was waited for before the one
    /// at place `later`, or by it.
    fn fell(&self, way: &[(usize, u32)], earlier: usize, later: usize, counter: u8) -> bool {
        let mut raised = 0u8;
        for place in earlier + 1..=later {
            let Some((_, description)) = self.of(way[place].0) else {
                return false;
            };
            let age = way[place].1 - way[earlier].1;
            if description.control.wait_mask >> counter & 1 == 1 && age >= 2 {
                return true;
            }
            if let Special::WaitCounter {
                counter: named,
                at_most,
                others,
            } = description.special
            {
                let holds = way[later].1 - way[place].1 >= u32::from(self.rules.depbar_hold);
                let covers = others >> counter & 1 == 1 || named == counter && raised >= at_most;
                if place < later && holds && covers {
                    return true;
                }
            }
            for by in [
                description.control.write_counter,
                description.control.read_counter,
            ] {
                raised += u8::from(by == Some(counter));
            }
        }
        false
    }
}

fn kind(used: &Use, writes: bool) -> Option<DistanceKind> {
    use DistanceKind::*;
    Some(match (used.file, writes, used.role) {
        (File::General, true, _) => RegisterOverwrite,
        (File::Predicate, true, _) => PredicateOverwrite,
        (File::Uniform, true, _) => UniformOverwrite,
        (File::UniformPredicate, true, _) => UniformPredicateOverwrite,
        (File::General, _, Role::Address) => Address,
        (File::General, _, Role::StoreData) => StoreData,
        (File::General, ..) => Register,
        (File::Predicate, _, Role::Guard) => Guard,
        (File::Predicate, ..) => PredicateData,
        (File::Uniform, ..) => Uniform,
        (File::UniformPredicate, _, Role::Guard) => UniformGuard,
        (File::UniformPredicate, ..) => UniformPredicateData,
        (File::Convergence, ..) => return None,
    })
}

fn read_overwrite(file: File) -> Option<DistanceKind> {
    match file {
        File::General => Some(DistanceKind::RegisterReadOverwrite),
        File::Uniform => Some(DistanceKind::UniformReadOverwrite),
        File::UniformPredicate => Some(DistanceKind::UniformPredicateReadOverwrite),
        File::Predicate | File::Convergence => None,
    }
}
