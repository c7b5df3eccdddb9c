//! What is under way before an instruction: fixed-latency results that are not visible to everyone
//! yet, and instructions of variable latency.

use std::collections::BTreeMap;

use sass::{Class, File, Guard, Predicate};

/// Cycles after which a fixed-latency result is visible whatever its class: more than any distance.
pub const LONG_AGO: u16 = 32;

/// Cycles after which a fixed-latency instruction has read its sources whatever its class.
const READ_LONG_AGO: u16 = 8;

/// A register of a warp.
pub type Place = (File, u8);

/// In which lanes an instruction takes effect, as far as its guard still says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes {
    guard: Guard,
    known: bool,
}

impl Lanes {
    /// Lanes of an instruction guarded by `guard`.
    pub fn of(guard: Guard) -> Lanes {
        Lanes {
            guard,
            known: guard.predicate != Predicate::TRUE,
        }
    }

    /// All lanes, whatever the guard.
    pub fn all(self) -> Lanes {
        Lanes {
            known: false,
            ..self
        }
    }

    /// Whether the two can have no lane in common: complementary guards.
    pub fn disjoint(self, other: Lanes) -> bool {
        self.known
            && other.known
            && self.guard.predicate == other.guard.predicate
            && self.guard.uniform == other.guard.uniform
            && self.guard.negate != other.guard.negate
    }

    /// The predicate at `place` is overwritten.
    fn forget(&mut self, place: Place) {
        let file = if self.guard.uniform {
            File::UniformPredicate
        } else {
            File::Predicate
        };
        if place == (file, self.guard.predicate.0) {
            self.known = false;
        }
    }
}

/// A fixed-latency write, or a read by a fixed-latency instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fixed {
    /// The instruction.
    pub instruction: usize,
    /// Class of the operand.
    pub class: Class,
    /// Cycles since it issued.
    pub age: u16,
    /// Its lanes.
    pub lanes: Lanes,
    /// The counter that guards it, if there is one, was waited for.
    pub waited: bool,
    /// The result was read since, on every way: who overwrites it keeps away from the reader.
    pub read: bool,
}

/// An instruction of variable latency on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flight {
    /// Cycles since it issued.
    pub age: u16,
    /// Results are not written yet.
    pub results: bool,
    /// Sources are not read yet.
    pub sources: bool,
    /// Later increments of its write counter.
    pub after_write: u8,
    /// Later increments of its read counter.
    pub after_read: u8,
    /// Cycles until a DEPBAR that covers the results takes hold.
    pub results_in: Option<u16>,
    /// The same for the sources.
    pub sources_in: Option<u16>,
    /// By counter: a younger instruction that raised it, and whose results stand for these.
    pub covers_results: [Option<Cover>; 6],
    /// By counter: a younger instruction that raised it, and whose sources stand for these.
    pub covers_sources: [Option<Cover>; 6],
    /// Its lanes.
    pub lanes: Lanes,
}

/// A younger instruction, on every way since.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cover {
    /// Cycles since it issued.
    pub age: u16,
    /// Later increments of its counter.
    pub after: u8,
}

/// What is known before an instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// Last fixed-latency writes of each register.
    pub writes: BTreeMap<Place, Vec<Fixed>>,
    /// Last reads of each register by fixed-latency instructions.
    pub reads: BTreeMap<Place, Vec<Fixed>>,
    /// Variable-latency instructions on their way.
    pub flights: BTreeMap<usize, Flight>,
    /// Those that will write a register.
    pub to_write: BTreeMap<Place, Vec<usize>>,
    /// Those that will read a register.
    pub to_read: BTreeMap<Place, Vec<usize>>,
}

impl State {
    /// `cycles` go by.
    pub fn advance(&mut self, cycles: u16) {
        for entries in self.writes.values_mut().chain(self.reads.values_mut()) {
            for entry in entries.iter_mut() {
                entry.age = (entry.age + cycles).min(LONG_AGO);
            }
            entries.retain(|entry| entry.age < LONG_AGO);
        }
        for entries in self.reads.values_mut() {
            entries.retain(|entry| entry.age < READ_LONG_AGO);
        }
        self.writes.retain(|_, entries| !entries.is_empty());
        self.reads.retain(|_, entries| !entries.is_empty());
        for flight in self.flights.values_mut() {
            flight.age = (flight.age + cycles).min(LONG_AGO);
            let covers = flight
                .covers_results
                .iter_mut()
                .chain(&mut flight.covers_sources);
            for cover in covers.flatten() {
                cover.age = (cover.age + cycles).min(LONG_AGO);
            }
            for hold in [&mut flight.results_in, &mut flight.sources_in]
                .into_iter()
                .flatten()
            {
                *hold = hold.saturating_sub(cycles);
            }
            flight.results &= flight.results_in != Some(0);
            flight.sources &= flight.sources_in != Some(0) && flight.results_in != Some(0);
        }
        self.flights
            .retain(|_, flight| flight.results || flight.sources);
        let flights = &self.flights;
        let under_way = |index: &usize, of: fn(&Flight) -> bool| flights.get(index).is_some_and(of);
        for indices in self.to_write.values_mut() {
            indices.retain(|index| under_way(index, |flight| flight.results));
        }
        for indices in self.to_read.values_mut() {
            indices.retain(|index| under_way(index, |flight| flight.sources));
        }
        self.to_write.retain(|_, indices| !indices.is_empty());
        self.to_read.retain(|_, indices| !indices.is_empty());
    }

    /// Instructions on their way that touch no register any more, because it has been overwritten since, do
    /// not matter to anyone: their states would be joined again and again for nothing.
    pub fn forget_unnamed(&mut self) {
        let mut named: Vec<usize> = self
            .to_write
            .values()
            .chain(self.to_read.values())
            .flatten()
            .copied()
            .collect();
        named.sort_unstable();
        self.flights
            .retain(|index, _| named.binary_search(index).is_ok());
    }

    /// The predicate at `place` is overwritten: what it guarded is no longer known by lane.
    pub fn forget_lanes(&mut self, place: Place) {
        for entry in self
            .writes
            .values_mut()
            .chain(self.reads.values_mut())
            .flatten()
        {
            entry.lanes.forget(place);
        }
        for flight in self.flights.values_mut() {
            flight.lanes.forget(place);
        }
    }

    /// Every lane of `place` is overwritten: what was before does not matter any more.
    pub fn forget_place(&mut self, place: Place) {
        self.writes.remove(&place);
        self.reads.remove(&place);
        self.to_write.remove(&place);
        self.to_read.remove(&place);
    }

    /// Joins in the state of another way to the same place; whether that changed anything. The
    /// worse of both holds.
    pub fn join(&mut self, other: &State) -> bool {
        let mut changed = join_fixed(&mut self.writes, &other.writes);
        changed |= join_fixed(&mut self.reads, &other.reads);
        for (&index, &flight) in &other.flights {
            let known = self.flights.get(&index).copied();
            let joined = known.map_or(flight, |known| known.join(flight));
            if known != Some(joined) {
                self.flights.insert(index, joined);
                changed = true;
            }
        }
        for (mine, theirs) in [
            (&mut self.to_write, &other.to_write),
            (&mut self.to_read, &other.to_read),
        ] {
            for (&place, indices) in theirs {
                for &index in indices {
                    changed |= insert(mine.entry(place).or_default(), index);
                }
            }
        }
        changed
    }
}

/// Adds `index` to a sorted list; whether it is new.
pub fn insert(indices: &mut Vec<usize>, index: usize) -> bool {
    match indices.binary_search(&index) {
        Ok(_) => false,
        Err(place) => {
            indices.insert(place, index);
            true
        }
    }
}

/// Adds `entry` in place of an older one of the same instruction and class.
pub fn note(entries: &mut Vec<Fixed>, entry: Fixed) {
    entries.retain(|old| (old.instruction, old.class) != (entry.instruction, entry.class));
    entries.push(entry);
}

fn join_fixed(
    mine: &mut BTreeMap<Place, Vec<Fixed>>,
    theirs: &BTreeMap<Place, Vec<Fixed>>,
) -> bool {
    let mut changed = false;
    for (&place, entries) in theirs {
        let known = mine.entry(place).or_default();
        for entry in entries {
            let same = known
                .iter_mut()
                .find(|old| (old.instruction, old.class) == (entry.instruction, entry.class));
            let Some(old) = same else {
                known.push(*entry);
                changed = true;
                continue;
            };
            let before = *old;
            old.age = old.age.min(entry.age);
            old.waited &= entry.waited;
            old.read &= entry.read;
            old.lanes.known &= entry.lanes.known;
            changed |= *old != before;
        }
    }
    changed
}

impl Flight {
    fn join(self, other: Flight) -> Flight {
        let later = |one: Option<u16>, two: Option<u16>| Some(one?.max(two?));
        Flight {
            age: self.age.min(other.age),
            results: self.results | other.results,
            sources: self.sources | other.sources,
            after_write: self.after_write.min(other.after_write),
            after_read: self.after_read.min(other.after_read),
            results_in: later(self.results_in, other.results_in),
            sources_in: later(self.sources_in, other.sources_in),
            lanes: Lanes {
                known: self.lanes.known & other.lanes.known,
                ..self.lanes
            },
            covers_results: join_covers(self.covers_results, other.covers_results),
            covers_sources: join_covers(self.covers_sources, other.covers_sources),
        }
    }
}

/// What stands for an instruction on both ways.
fn join_covers(mine: [Option<Cover>; 6], theirs: [Option<Cover>; 6]) -> [Option<Cover>; 6] {
    std::array::from_fn(|counter| {
        let (mine, theirs) = (mine[counter]?, theirs[counter]?);
        Some(Cover {
            age: mine.age.min(theirs.age),
            after: mine.after.min(theirs.after),
        })
    })
}
