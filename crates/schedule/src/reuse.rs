//! The register-file cache on all ways through a section (MODEL.md §5.3): a reuse bit keeps an operand
//! for the next read at the same place, and no write takes it away. A later read of the register at that
//! place gets the old value, if no other warp came between.
//!
//! Which reads pass the cache is the compiler's own view: those of the arithmetic units, FP64 that the SM
//! shares among them. Whether a kept operand survives until its next read is left open, as the compiler
//! leaves it: of no use is a reuse bit only where no read of that register at that place is to come.

use std::collections::{BTreeMap, BTreeSet};

use sass::{File, Instruction, Opcode};
use source::Description;

use crate::finding::{Finding, Hazard};
use crate::flow::Flow;
use crate::state::Lanes;

/// A place of the cache: operand slot and bank.
type Place = (u8, u8);

/// What a place may hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Kept {
    register: u8,
    /// The instruction whose reuse bit keeps it.
    by: usize,
    /// An instruction that has overwritten the register since.
    overwritten: Option<usize>,
}

/// What each place may hold.
type Cache = BTreeMap<Place, BTreeSet<Kept>>;

struct Check<'a> {
    code: &'a [Option<Instruction>],
    described: Vec<Option<Description>>,
    flow: &'a Flow,
}

/// Follows the cache on all ways through a section.
pub fn check(code: &[Option<Instruction>], flow: &Flow) -> Vec<Finding> {
    let described = code
        .iter()
        .map(|instruction| instruction.as_ref().map(source::describe))
        .collect();
    let check = Check {
        code,
        described,
        flow,
    };
    let mut findings = check.stale();
    findings.extend(check.useless());
    findings
}

fn join(mine: &mut Cache, theirs: &Cache) -> bool {
    let mut changed = false;
    for (&place, kept) in theirs {
        let known = mine.entry(place).or_default();
        for &kept in kept {
            changed |= known.insert(kept);
        }
    }
    changed
}

/// Whether an instruction's operands pass the cache: those of the arithmetic units, whose opcodes have
/// bit 8 clear.
pub fn passes_cache(instruction: &Instruction) -> bool {
    !instruction.word.bit(8)
}

/// Slot, register and reuse bit of what an instruction reads through the cache.
fn operands(description: &Description) -> impl Iterator<Item = (u8, u8, bool)> + '_ {
    let general = description.footprint.reads.iter();
    general
        .filter_map(|read| (read.file == File::General).then_some((read, read.slot?)))
        .flat_map(|(read, slot)| {
            (0..read.count.min(2))
                .map(move |part| (slot, read.first.saturating_add(part), read.reuse))
        })
}

/// Registers that a place's next read can be of, before they are overwritten: by place A, B, C and that
/// of a sparse product's metadata.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Awaited([[u64; 4]; 4]);

impl Awaited {
    fn bit(&mut self, slot: u8, register: u8) -> Option<(&mut u64, u64)> {
        let registers = self.0.get_mut(usize::from(slot))?;
        Some((
            &mut registers[usize::from(register >> 6)],
            1 << (register & 63),
        ))
    }

    fn insert(&mut self, slot: u8, register: u8) {
        if let Some((word, bit)) = self.bit(slot, register) {
            *word |= bit;
        }
    }

    fn remove(&mut self, register: u8) {
        for slot in 0..4 {
            if let Some((word, bit)) = self.bit(slot, register) {
                *word &= !bit;
            }
        }
    }

    fn holds(mut self, slot: u8, register: u8) -> bool {
        self.bit(slot, register)
            .is_some_and(|(word, bit)| *word & bit != 0)
    }

    /// Adds what others await; whether that is new.
    fn join(&mut self, other: Awaited) -> bool {
        let before = *self;
        for (mine, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *mine |= theirs;
        }
        *self != before
    }
}

impl Check<'_> {
    /// Reads that can find an overwritten value.
    fn stale(&self) -> Vec<Finding> {
        let mut findings = BTreeSet::new();
        let mut before: BTreeMap<usize, Cache> = BTreeMap::new();
        let mut todo: BTreeSet<usize> = self.flow.starts.iter().copied().collect();
        while let Some(start) = todo.pop_first() {
            let mut cache = before.entry(start).or_default().clone();
            let mut index = start;
            while let Some(Some(instruction)) = self.code.get(index) {
                self.step(index, &mut cache, &mut findings);
                for target in self.flow.inside(index, instruction) {
                    if self.flow.is_start(target) && join(before.entry(target).or_default(), &cache)
                    {
                        todo.insert(target);
                    }
                }
                index += 1;
                if self.flow.is_start(index) {
                    break;
                }
            }
        }
        findings.into_iter().collect()
    }

    fn step(&self, index: usize, cache: &mut Cache, findings: &mut BTreeSet<Finding>) {
        let (Some(description), Some(instruction)) = (&self.described[index], &self.code[index])
        else {
            return;
        };
        let lanes = Lanes::of(instruction.guard);
        if passes_cache(instruction) {
            for (slot, register, reuse) in operands(description) {
                let place = (slot, register & 1);
                let kept = cache.remove(&place).unwrap_or_default();
                for kept in kept.iter().filter(|kept| kept.register == register) {
                    let between = kept.overwritten.filter(|&writer| {
                        let writer = self.code[writer].as_ref();
                        writer.is_some_and(|writer| !Lanes::of(writer.guard).disjoint(lanes))
                    });
                    if between.is_some() {
                        findings.insert(Finding {
                            hazard: Hazard::StaleReuse,
                            earlier: kept.by,
                            later: index,
                            register: Some((File::General, register)),
                            distance: 0,
                            needed: 0,
                            between,
                        });
                    }
                }
                if reuse {
                    let kept = Kept {
                        register,
                        by: index,
                        overwritten: None,
                    };
                    cache.insert(place, BTreeSet::from([kept]));
                }
            }
        }
        for write in &description.footprint.writes {
            if write.file != File::General {
                continue;
            }
            let written = write.first..write.first.saturating_add(write.count);
            for kept in cache.values_mut() {
                if kept.iter().any(|kept| written.contains(&kept.register)) {
                    let overwrite = |kept: &Kept| Kept {
                        overwritten: if written.contains(&kept.register) {
                            Some(index)
                        } else {
                            kept.overwritten
                        },
                        ..*kept
                    };
                    *kept = kept.iter().map(overwrite).collect();
                }
            }
        }
    }

    /// What is awaited behind the instruction at `index`.
    fn behind(
        &self,
        index: usize,
        instruction: &Instruction,
        at: &BTreeMap<usize, Awaited>,
    ) -> Awaited {
        let mut awaited = Awaited::default();
        for target in self.flow.inside(index, instruction) {
            awaited.join(at.get(&target).copied().unwrap_or_default());
        }
        awaited
    }

    /// What is awaited before the instruction at `index`, given what is behind it.
    fn before(&self, index: usize, mut awaited: Awaited) -> Awaited {
        let (Some(description), Some(instruction)) = (&self.described[index], &self.code[index])
        else {
            return awaited;
        };
        if instruction.guard.is_always() {
            for write in &description.footprint.writes {
                if write.file == File::General {
                    for register in write.first..write.first.saturating_add(write.count) {
                        awaited.remove(register);
                    }
                }
            }
        }
        if passes_cache(instruction) {
            for (slot, register, _) in operands(description) {
                awaited.insert(slot, register);
            }
        }
        awaited
    }

    /// Reuse bits whose register no read at that place is to come for.
    fn useless(&self) -> Vec<Finding> {
        let starts = &self.flow.starts;
        let mut at: BTreeMap<usize, Awaited> = BTreeMap::new();
        let end = |place: usize| starts.get(place + 1).copied().unwrap_or(self.code.len());
        let mut changed = true;
        while changed {
            changed = false;
            for (place, &start) in starts.iter().enumerate().rev() {
                let last = end(place) - 1;
                let Some(Some(instruction)) = self.code.get(last) else {
                    continue;
                };
                let mut awaited = self.behind(last, instruction, &at);
                for index in (start..=last).rev() {
                    awaited = self.before(index, awaited);
                }
                changed |= at.entry(start).or_default().join(awaited);
            }
        }
        let mut findings = Vec::new();
        for (place, &start) in starts.iter().enumerate() {
            let last = end(place) - 1;
            let Some(Some(instruction)) = self.code.get(last) else {
                continue;
            };
            let mut awaited = self.behind(last, instruction, &at);
            for index in (start..=last).rev() {
                findings.extend(self.useless_of(index, awaited));
                awaited = self.before(index, awaited);
            }
        }
        findings
    }

    fn useless_of(&self, index: usize, behind: Awaited) -> Option<Finding> {
        let (description, instruction) =
            (self.described[index].as_ref()?, self.code[index].as_ref()?);
        if !passes_cache(instruction) {
            return None;
        }
        // An instruction that overwrites its own source keeps the old value.
        let own = |register: u8| {
            let mut writes = description.footprint.writes.iter();
            writes.any(|write| {
                write.file == File::General
                    && (write.first..write.first.saturating_add(write.count)).contains(&register)
            })
        };
        // Packed HADD2 marks C, but for a read at B that follows.
        let packed = |slot| instruction.opcode == Opcode::HADD2 && slot == 2;
        let awaited = |slot, register| {
            behind.holds(slot, register) || packed(slot) && behind.holds(1, register)
        };
        let useless = |slot, register| own(register) || !awaited(slot, register);
        // A pair is of use if either half is.
        let reads = || {
            let general = description.footprint.reads.iter();
            general.filter(|read| read.reuse && read.file == File::General)
        };
        let read = reads().find(|read| {
            let slot = read.slot.unwrap_or(u8::MAX);
            let mut whole = reads().filter(|other| other.slot == read.slot);
            whole.all(|part| {
                (0..part.count).all(|offset| useless(slot, part.first.saturating_add(offset)))
            })
        })?;
        Some(Finding {
            hazard: Hazard::UselessReuse,
            earlier: index,
            later: index,
            register: Some((File::General, read.first)),
            distance: 0,
            needed: 0,
            between: None,
        })
    }
}
