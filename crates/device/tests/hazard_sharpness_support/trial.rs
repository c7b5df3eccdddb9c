//! One mutant: what must be reported, whether it is, and why not if it is not.

use std::collections::{BTreeMap, BTreeSet};

use sass::{Control, Opcode, Word};
use sm::{Hazard, HazardKind};

use super::bench::{Bench, Outcome};
use super::mutation::{Change, Mutation, Pair, with_control};
use super::subject::{Run, Section, Subject};

/// Cycles before write-back from which a reader sees a result (H1).
const SAMPLE_DELAY: u64 = 3;

/// What became of a mutation, the worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The pair is in the report.
    Reported,
    /// No run executes both instructions.
    NotExecuted,
    /// No warp executes one behind the other in a common lane.
    NotInSuccession,
    /// The yield flag keeps the cycle that the stall count gave up.
    KeptByYield,
    /// A wait for a counter between the two keeps them apart.
    KeptByWait,
    /// A branch between the two costs more than its stall count.
    KeptByBranch,
    /// The unit, a port or another warp keeps the two apart.
    KeptByUnit,
    /// The older instruction was done when the younger one came.
    InTime,
    /// Several warps contend for the units: no probe tells whether it was done.
    NotTold,
    /// The mutant does not end.
    NoEnd,
    /// A hazard that is not reported.
    Missed,
}

impl Verdict {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Reported => "reported",
            Verdict::NotExecuted => "not executed",
            Verdict::NotInSuccession => "not one behind the other in a common lane",
            Verdict::KeptByYield => "distance kept by the yield flag",
            Verdict::KeptByWait => "distance kept by a wait in between",
            Verdict::KeptByBranch => "distance kept by a branch in between",
            Verdict::KeptByUnit => "distance kept by unit, port or another warp",
            Verdict::InTime => "done in time",
            Verdict::NotTold => "not told by the probes: warps contend",
            Verdict::NoEnd => "does not end",
            Verdict::Missed => "missed",
        }
    }
}

/// An instruction and the next time another one follows it in a common lane.
struct Passage {
    /// The warp.
    warp: usize,
    /// Where the later instruction stands in what the warp issues.
    position: usize,
    /// The warp, and which time that it issues the earlier instruction.
    producer: (usize, usize),
    /// Cycles between the two.
    distance: u64,
}

/// For each time that a warp issues the instruction at `earlier`: the cycles until it issues the next
/// one.
fn done(outcome: &Outcome, earlier: u32) -> BTreeMap<(usize, usize), u64> {
    let mut found = BTreeMap::new();
    for (number, warp) in outcome.warps.iter().enumerate() {
        let issued = warp.windows(2).filter(|pair| pair[0].pc == earlier);
        for (time, pair) in issued.enumerate() {
            found.insert((number, time), pair[1].cycle - pair[0].cycle);
        }
    }
    found
}

fn passages(outcome: &Outcome, pair: Pair, first: u32) -> Vec<Passage> {
    let (earlier, later) = (first + pair.earlier as u32, first + pair.later as u32);
    let mut found = Vec::new();
    for (warp, issues) in outcome.warps.iter().enumerate() {
        let mut last = None;
        let mut times = 0;
        for (position, issue) in issues.iter().enumerate() {
            let lanes = if pair.guard {
                issue.active
            } else {
                issue.lanes
            };
            if issue.pc == later
                && let Some((cycle, written, time)) = last
                && lanes & written != 0
            {
                let distance = issue.cycle - cycle;
                let producer = (warp, time);
                found.push(Passage {
                    warp,
                    position,
                    producer,
                    distance,
                });
                if issue.lanes == issue.active {
                    last = None;
                }
            }
            if issue.pc == earlier {
                last = Some((issue.cycle, issue.lanes, times));
                times += 1;
            }
        }
    }
    found
}

/// The first cycle in which two runs do not issue the same.
fn first_difference(one: &Outcome, other: &Outcome) -> u64 {
    let pairs = one.warps.iter().zip(&other.warps);
    pairs
        .flat_map(|(one, other)| one.iter().zip(other))
        .filter(|(one, other)| (one.cycle, one.pc) != (other.cycle, other.pc))
        .map(|(one, other)| one.cycle.min(other.cycle))
        .min()
        .unwrap_or(u64::MAX)
}

/// Cycles before an older instruction is done from which a younger one no longer disturbs it, or sees
/// its result.
fn grace(kind: HazardKind) -> u64 {
    match kind {
        HazardKind::ReadAfterWrite => SAMPLE_DELAY,
        _ => 0,
    }
}

/// What a probe tells about the older instruction when the younger one came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Told {
    Done,
    UnderWay,
    Nothing,
}

/// In `probe` the instruction behind the younger one waits for the older one; nothing else differs from
/// `reference`. Up to the first cycle in which that changes anything both are in one state: if nothing
/// ever changes, or the first change is too short to matter, the older one was done, unless the
/// instruction behind came too late to tell.
fn tell(reference: &Outcome, probe: &Outcome, pair: Pair, found: &[Passage]) -> Told {
    let until = first_difference(reference, probe);
    let grace = grace(pair.kind).max(1);
    let mut told = if until == u64::MAX {
        Told::Done
    } else {
        Told::Nothing
    };
    for passage in found {
        let next = |outcome: &Outcome| {
            let issue = outcome.warps.get(passage.warp)?.get(passage.position + 1)?;
            Some(issue.cycle)
        };
        let cycle = reference.warps[passage.warp][passage.position].cycle;
        let (Some(now), Some(held)) = (next(reference), next(probe)) else {
            return Told::Nothing;
        };
        if now == until {
            return if held > cycle + grace {
                Told::UnderWay
            } else {
                Told::Done
            };
        }
        if until == u64::MAX && now > cycle + grace {
            told = Told::Nothing;
        }
    }
    told
}

/// A mutation of a section of a subject.
pub struct Trial<'a> {
    /// The cubin.
    pub subject: &'a Subject,
    /// The section.
    pub section: &'a Section,
    /// What is changed.
    pub mutation: Mutation,
    /// What the static walk finds in the mutant.
    pub pairs: &'a [Pair],
}

/// What a mutation led to.
pub struct Finding {
    /// In short.
    pub verdict: Verdict,
    /// The pair of instructions that decided.
    pub text: String,
    /// Whether it would not have been taken for harmless without the report.
    pub known_without: bool,
}

impl Trial<'_> {
    fn place(&self, index: usize) -> u32 {
        self.section.first + index as u32
    }

    /// The pairs that the mutation is about; all that the static walk finds, if none is.
    fn wanted(&self) -> Vec<Pair> {
        let about = |pair: &&Pair| match self.mutation.change {
            Change::Stall { earlier, later, .. } => (pair.earlier, pair.later) == (earlier, later),
            Change::Wait(_) => pair.later == self.mutation.index,
            Change::WriteCounter | Change::ReadCounter => pair.earlier == self.mutation.index,
            Change::Depbar => true,
        };
        let wanted: Vec<Pair> = self.pairs.iter().filter(about).copied().collect();
        if wanted.is_empty() {
            self.pairs.to_vec()
        } else {
            wanted
        }
    }

    /// Runs the mutant in every launch that executes the pair until one reports it. Reports that the
    /// static walk knows nothing of go to `extra`.
    pub fn run(&self, bench: &mut Bench, extra: &mut BTreeSet<String>) -> Finding {
        let bytes = self.mutant();
        let wanted = self.wanted();
        let mut worst = (Verdict::NotExecuted, String::new());
        for run in &self.subject.runs {
            let executed = |index: usize| run.executed.contains(&self.place(index));
            let copies = wanted.is_empty();
            if !executed(self.mutation.index)
                || !copies
                    && !wanted
                        .iter()
                        .any(|p| executed(p.earlier) && executed(p.later))
            {
                continue;
            }
            let outcome = match bench.run(&bytes, &run.launch, &run.image) {
                Ok(outcome) => outcome,
                Err(reason) => {
                    worst = worst.max((Verdict::NoEnd, format!("{}: {reason}", run.name)));
                    continue;
                }
            };
            self.note_extra(&outcome, extra);
            if self.is_reported(&outcome, &wanted) {
                let (verdict, text) = self.judge(bench, run, &outcome, &wanted);
                return Finding {
                    verdict: Verdict::Reported,
                    text,
                    known_without: verdict >= Verdict::NotTold,
                };
            }
            worst = worst.max(self.judge(bench, run, &outcome, &wanted));
        }
        let (verdict, text) = worst;
        Finding {
            verdict,
            text,
            known_without: false,
        }
    }

    fn is_reported(&self, outcome: &Outcome, wanted: &[Pair]) -> bool {
        outcome.hazards.iter().any(|hazard| match wanted {
            [] => hazard.kind == HazardKind::CopyNotWaitedFor,
            wanted => wanted.iter().any(|pair| self.is_of(hazard, pair)),
        })
    }

    /// Whether a report is of this pair.
    fn is_of(&self, hazard: &Hazard, pair: &Pair) -> bool {
        (hazard.kind, hazard.first, hazard.second)
            == (pair.kind, self.place(pair.earlier), self.place(pair.later))
    }

    /// Notes reports that the static walk knows nothing of. What follows from an instruction that is not
    /// waited for goes on behind the overwrite, where the walk ends; and it does not follow returns.
    fn note_extra(&self, outcome: &Outcome, extra: &mut BTreeSet<String>) {
        let instruction = self.section.code[self.mutation.index].as_ref();
        if instruction.is_some_and(|i| i.opcode == Opcode::RET) {
            return;
        }
        let known = |hazard: &Hazard| self.pairs.iter().any(|pair| self.is_of(hazard, pair));
        for hazard in &outcome.hazards {
            let follows = outcome
                .hazards
                .iter()
                .any(|other| other.first == hazard.first && known(other));
            if hazard.kind == HazardKind::CopyNotWaitedFor || known(hazard) || follows {
                continue;
            }
            let show = |pc: u32| self.show(pc.wrapping_sub(self.section.first) as usize);
            extra.insert(format!(
                "{} {}: {:?}: {:?} found {} needed {}\n    {}\n    {}",
                self.subject.name,
                self.section.name,
                self.mutation,
                hazard.kind,
                hazard.found,
                hazard.needed,
                show(hazard.first),
                show(hazard.second),
            ));
        }
    }

    /// Why nothing is reported, as far as the issues of the mutant tell; or that it should be.
    fn judge(
        &self,
        bench: &mut Bench,
        run: &Run,
        outcome: &Outcome,
        wanted: &[Pair],
    ) -> (Verdict, String) {
        let mut verdict = (Verdict::NotInSuccession, String::new());
        for pair in wanted {
            let found = passages(outcome, *pair, self.section.first);
            let Some(least) = found.iter().map(|passage| passage.distance).min() else {
                continue;
            };
            let new = if pair.needed > 0 {
                if least >= u64::from(pair.needed) {
                    self.keeper(*pair)
                } else {
                    Verdict::Missed
                }
            } else {
                let mut run = |bytes: Vec<u8>| bench.run(&bytes, &run.launch, &run.image).ok();
                let [reference, probe] = self.probes(*pair).map(&mut run);
                let told = reference
                    .zip(probe)
                    .map_or(Told::Nothing, |(reference, probe)| {
                        let found = passages(&reference, *pair, self.section.first);
                        tell(&reference, &probe, *pair, &found)
                    });
                let contended = outcome.warps.len() > 1;
                match told {
                    Told::Done => Verdict::InTime,
                    _ if !self.is_slow(*pair, &found, &mut run) => Verdict::InTime,
                    Told::Nothing if contended => Verdict::NotTold,
                    _ => Verdict::Missed,
                }
            };
            let text = format!(
                "{} {} {:?}: {:?} at {least}\n    {}\n    {}",
                run.name,
                self.section.name,
                self.mutation.change,
                pair,
                self.show(pair.earlier),
                self.show(pair.later)
            );
            verdict = verdict.max((new, text));
        }
        verdict
    }

    /// What keeps a pair apart although a stall count between the two is lowered.
    fn keeper(&self, pair: Pair) -> Verdict {
        let code = &self.section.code;
        let control = |index: usize| code[index].as_ref().map(|i| i.control);
        let (first, last) = (self.mutation.index, pair.later);
        if control(first).is_some_and(|control| control.yields && control.stall == 2) {
            return Verdict::KeptByYield;
        }
        if last <= first {
            return Verdict::KeptByBranch;
        }
        let between = || code[first..last].iter().flatten();
        if between().any(|i| matches!(i.opcode, Opcode::BRA | Opcode::CALL | Opcode::RET)) {
            Verdict::KeptByBranch
        } else if code[first + 1..=last]
            .iter()
            .flatten()
            .any(|i| i.control.wait_mask != 0)
        {
            Verdict::KeptByWait
        } else {
            Verdict::KeptByUnit
        }
    }

    /// The mutant with the pair's later instruction not stalling any more; and the same with the
    /// instruction behind that waiting for the pair's earlier one.
    fn probes(&self, pair: Pair) -> [Vec<u8>; 2] {
        // A counter that nothing near uses shows this instruction alone.
        let nearby = pair.earlier.saturating_sub(24)..=pair.later.max(pair.earlier) + 1;
        let code = self.section.code.iter().enumerate();
        let near = code.filter(|(index, _)| nearby.contains(index));
        let used = near.filter_map(|(_, i)| i.as_ref()).fold(0u8, |used, i| {
            let bit = |counter: Option<u8>| counter.map_or(0, |counter| 1u8 << counter);
            used | i.control.wait_mask | bit(i.control.write_counter) | bit(i.control.read_counter)
        });
        let mut reference = self.mutant();
        self.rewrite(&mut reference, pair.later, |control| {
            control.stall = 1;
            control.yields = false;
        });
        let mut bytes = reference.clone();
        let mut counter = (0..6).find(|counter| used >> counter & 1 == 0).unwrap_or(5);
        self.rewrite(&mut bytes, pair.earlier, |control| {
            let field = match pair.kind {
                HazardKind::WriteAfterRead => &mut control.read_counter,
                _ => &mut control.write_counter,
            };
            counter = *field.get_or_insert(counter);
        });
        self.rewrite(&mut bytes, pair.later + 1, |control| {
            control.wait_mask |= 1 << counter;
        });
        [reference, bytes]
    }

    /// Whether the pair's earlier instruction takes longer than its consumers leave it, whichever
    /// counter the instruction behind it waits for it with.
    fn is_slow(
        &self,
        pair: Pair,
        found: &[Passage],
        run: &mut dyn FnMut(Vec<u8>) -> Option<Outcome>,
    ) -> bool {
        let mut least: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        let early = |least: &BTreeMap<(usize, usize), u64>| {
            found.iter().any(|passage| {
                let done = least.get(&passage.producer).copied().unwrap_or(0);
                passage.distance + grace(pair.kind) < done
            })
        };
        for counter in 0..6 {
            let mut bytes = self.subject.bytes.clone();
            self.rewrite(&mut bytes, pair.earlier, |control| {
                match pair.kind {
                    HazardKind::WriteAfterRead => control.read_counter = Some(counter),
                    _ => control.write_counter = Some(counter),
                }
                control.stall = control.stall.max(2);
            });
            self.rewrite(&mut bytes, pair.earlier + 1, |control| {
                control.wait_mask |= 1 << counter;
            });
            let Some(probe) = run(bytes) else { continue };
            for (place, cycles) in done(&probe, self.place(pair.earlier)) {
                let known = least.entry(place).or_insert(cycles);
                *known = cycles.min(*known);
            }
            if !early(&least) {
                return false;
            }
        }
        true
    }

    fn mutant(&self) -> Vec<u8> {
        let mut bytes = self.subject.bytes.clone();
        let at = self.section.offset + 16 * self.mutation.index;
        let word: [u8; 16] = bytes[at..at + 16].try_into().expect("a word");
        let word = self.mutation.apply(Word::from_bytes(word));
        bytes[at..at + 16].copy_from_slice(&word.0.to_le_bytes());
        bytes
    }

    fn rewrite(&self, bytes: &mut [u8], index: usize, change: impl FnOnce(&mut Control)) {
        let at = self.section.offset + 16 * index;
        let mut word = [0; 16];
        word.copy_from_slice(&bytes[at..at + 16]);
        let word = with_control(Word::from_bytes(word), change);
        bytes[at..at + 16].copy_from_slice(&word.0.to_le_bytes());
    }

    fn show(&self, index: usize) -> String {
        match self.section.code.get(index) {
            Some(Some(i)) => format!(
                "{:04x} {} {}",
                index * 16,
                i.control,
                i.display(index as u64 * 16)
            ),
            _ => format!("{:04x} ?", index * 16),
        }
    }
}
