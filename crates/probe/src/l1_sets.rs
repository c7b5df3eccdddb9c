//! `l1-associativity` and `l1-masks`: which lines share a set of the L1 cache, from times of loads alone.
//!
//! The lines that push a target out ([`crate::sets`]) are as many as there are ways. Where the set is a
//! linear function of the address bits, differences of lines of one set form a space over GF(2). Its basis
//! is found bit by bit: with the lines of a set at hand, one pass tells whether any of many lines is of that
//! set too. The masks of the set's bits span what is orthogonal to that space.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LINE};
use crate::error::ProbeError;
use crate::gf2::{orthogonal, parity};
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::random::Random;
use crate::sets::{Cache, Set, Sight};

/// The probe of the ways.
pub const ASSOCIATIVITY: Probe = Probe {
    name: "l1-associativity",
    about: "ways of the L1 cache: how many lines of one set stay",
    run: associativity,
};

/// The probe of the set function.
pub const MASKS: Probe = Probe {
    name: "l1-masks",
    about: "address bits that choose the set of the L1 cache, by elimination over GF(2)",
    run: masks,
};

/// Lines of the first list that is tried, and most that are.
const FIRST_LIST: usize = 1 << 10;
const LONGEST_LIST: usize = 1 << 16;
/// Sets that are searched for their ways.
const TARGETS: usize = 4;
/// Sets whose ways are counted once the masks are known, at most, and ways beyond those of the first that are
/// looked for.
const COUNTED: usize = 1 << 10;
const MORE_WAYS: usize = 4;
/// No set function has more bits.
const MOST_BITS: usize = 14;
/// Lines whose set is predicted from the masks and looked up.
const CHECKS: usize = 64;

/// Where lines are taken from: an aligned piece of memory, a power of two.
struct Field {
    base: u64,
    bits: u32,
}

impl Field {
    /// As much as the GPU's memory allows.
    fn new(bench: &mut Bench) -> Result<Field, ProbeError> {
        // Twice as much holds a piece that is aligned to its size. An eighth is left for all else.
        let room = bench.card().dram_bytes / 8 * 7 / 2;
        let bits = room.max(LINE * 2).ilog2();
        let address = bench.allocate(2u64 << bits, "lines that may share a set")?;
        Ok(Field {
            base: address.next_multiple_of(1 << bits),
            bits,
        })
    }

    /// Bits of an address that tell lines apart within it.
    fn columns(&self) -> u64 {
        (1u64 << self.bits) - LINE
    }

    fn line(&self, random: &mut Random) -> u64 {
        self.base + (random.bits() & self.columns())
    }
}

/// A target with the lines that push it out, from a list that is as long as it must be.
fn set_of(
    sight: &mut Sight<'_>,
    (field, target): (&Field, u64),
    random: &mut Random,
    probe: &'static str,
) -> Result<Set, ProbeError> {
    let mut size = FIRST_LIST;
    while size <= LONGEST_LIST {
        let lines = (0..size).map(|_| field.line(random));
        let mut pool: Vec<u64> = lines.filter(|line| *line != target).collect();
        pool.sort_unstable();
        pool.dedup();
        if let Some(set) = sight.find_set(target, pool, random, probe)? {
            return Ok(set);
        }
        size *= 2;
    }
    Err(ProbeError::Inconclusive {
        probe,
        reason: format!("{LONGEST_LIST} random lines do not push one out of the cache"),
    })
}

fn associativity(bench: &mut Bench, choice: &Choice) -> Result<Outcome, ProbeError> {
    let probe = ASSOCIATIVITY.name;
    let mut random = Random::new(1);
    let field = Field::new(bench)?;
    let lines: Vec<u64> = (0..64).map(|_| field.line(&mut random)).collect();
    let mut sight = Sight::new(bench, choice.sm, probe, Cache::L1, &lines)?;
    // Sets may have different ways: shared memory takes some, and what is left need not be a multiple.
    let mut sets = Vec::new();
    for _ in 0..TARGETS {
        let target = field.line(&mut random);
        let set = set_of(&mut sight, (&field, target), &mut random, probe)?;
        if !sight.holds(&set)? {
            return Err(ProbeError::Inconclusive {
                probe,
                reason: "lines that push one out do not stay alone: what was used longest ago is not what goes \
                         first"
                    .to_owned(),
            });
        }
        sets.push(set);
    }
    let ways = sets.iter().map(|set| set.others.len());
    let (least, most) = (ways.clone().min().unwrap_or(0), ways.max().unwrap_or(0));
    let largest = sets.into_iter().find(|set| set.others.len() == most);
    let Some(largest) = largest else {
        return Err(ProbeError::Inconclusive {
            probe,
            reason: "no set".to_owned(),
        });
    };
    let mut outcome = sight.chains(largest, "L1", "loads through L1")?;
    outcome.found("l1_ways", most, "");
    outcome.found("fewest_ways_of_a_set", least, "");
    outcome.notes.push(format!(
        "{TARGETS} sets, as the L1 cache is divided for a kernel without shared memory"
    ));
    Ok(outcome)
}

/// The space of differences of lines of one set: a vector for each bit of the address that is not free.
struct Differences {
    vectors: Vec<u64>,
    /// Bits that choose sets which no other of them choose.
    free: Vec<u64>,
}

/// Finds the differences bit by bit: either a combination of free bits leads to the same set, or the bit is
/// free itself.
fn differences(
    sight: &mut Sight<'_>,
    field: &Field,
    set: &Set,
    probe: &'static str,
) -> Result<Differences, ProbeError> {
    // The target with one line less than push it out: any line of the set is the one too many.
    let front: Vec<u64> = std::iter::once(set.target)
        .chain(set.others[1..].iter().copied())
        .collect();
    let with = |candidates: &[u64]| -> Vec<u64> {
        let front = front.iter().copied();
        front
            .chain(candidates.iter().map(|one| set.target ^ one))
            .collect()
    };
    let mut found = Differences {
        vectors: Vec::new(),
        free: Vec::new(),
    };
    let mut bit = LINE;
    while bit <= field.columns() {
        let mut candidates: Vec<u64> = vec![bit];
        for free in &found.free {
            let with_free: Vec<u64> = candidates.iter().map(|one| one ^ free).collect();
            candidates.extend(with_free);
        }
        if sight.one_pushed_out(with(&candidates))? {
            while candidates.len() > 1 {
                let half = candidates.len() / 2;
                if sight.one_pushed_out(with(&candidates[..half]))? {
                    candidates.truncate(half);
                } else {
                    candidates.drain(..half);
                }
            }
            found.vectors.push(candidates[0]);
        } else {
            found.free.push(bit);
            if found.free.len() > MOST_BITS {
                return Err(ProbeError::Inconclusive {
                    probe,
                    reason: format!(
                        "more than {MOST_BITS} address bits lead to different sets each: the set is no \
                         linear function of the address"
                    ),
                });
            }
        }
        bit <<= 1;
    }
    Ok(found)
}

/// Ways of each set, or of so many of them: how many lines of it, made from the differences, push one out.
fn ways_of_sets(
    sight: &mut Sight<'_>,
    set: &Set,
    (found, ways): (&Differences, usize),
    random: &mut Random,
) -> Result<Vec<usize>, ProbeError> {
    let sets = (1usize << found.free.len()).min(COUNTED);
    let most = (ways + MORE_WAYS).min(1 << found.vectors.len().min(16));
    let mut lists = Vec::new();
    for number in 0..sets {
        // Each sum of the free bits leads to another set.
        let free = found.free.iter().enumerate();
        let target = free.fold(set.target, |line, (bit, mask)| {
            if number >> bit & 1 == 1 {
                line ^ mask
            } else {
                line
            }
        });
        let mut list = vec![target];
        while list.len() <= most {
            let difference = found.vectors.iter().fold(0, |sum, vector| {
                if random.bits() & 1 == 0 {
                    sum
                } else {
                    sum ^ vector
                }
            });
            if !list.contains(&(target ^ difference)) {
                list.push(target ^ difference);
            }
        }
        lists.extend((1..=most).map(|others| list[..=others].to_vec()));
    }
    let out = sight.pushed_out(&lists)?;
    let ways = out.chunks(most).map(|out| {
        let stays = out.iter().take_while(|out| !**out).count();
        // With as many others as there are ways it goes.
        (stays + 1).min(most)
    });
    Ok(ways.collect())
}

fn masks(bench: &mut Bench, choice: &Choice) -> Result<Outcome, ProbeError> {
    let probe = MASKS.name;
    let mut random = Random::new(2);
    let field = Field::new(bench)?;
    let lines: Vec<u64> = (0..64).map(|_| field.line(&mut random)).collect();
    let mut sight = Sight::new(bench, choice.sm, probe, Cache::L1, &lines)?;
    let set = set_of(&mut sight, (&field, field.base), &mut random, probe)?;
    let ways = set.others.len();
    let found = differences(&mut sight, &field, &set, probe)?;
    let masks = orthogonal(&found.vectors, field.columns());
    // What the masks say of lines that they were not made from.
    let front: Vec<u64> = std::iter::once(set.target)
        .chain(set.others[1..].iter().copied())
        .collect();
    let mut lists = Vec::new();
    let mut predicted = Vec::new();
    for index in 0..CHECKS {
        let mut difference = random.bits() & field.columns();
        if index % 2 == 0 {
            // Of the same set: any sum of differences.
            difference = found.vectors.iter().fold(0, |sum, vector| {
                if random.bits() & 1 == 0 {
                    sum
                } else {
                    sum ^ vector
                }
            });
        }
        if front.contains(&(set.target ^ difference)) {
            continue;
        }
        predicted.push(masks.iter().all(|mask| parity(difference, *mask) == 0));
        let list = front.iter().copied().chain([set.target ^ difference]);
        lists.push(list.collect());
    }
    let seen = sight.pushed_out(&lists)?;
    let right = seen
        .iter()
        .zip(&predicted)
        .filter(|(seen, predicted)| seen == predicted);
    let right = right.count();
    if right < seen.len() {
        return Err(ProbeError::Inconclusive {
            probe,
            reason: format!(
                "masks predict {right} of {} lines: the set is no linear function of the address",
                seen.len()
            ),
        });
    }
    let by_set = ways_of_sets(&mut sight, &set, (&found, ways), &mut random)?;
    let (hit, miss) = (sight.hit, sight.miss);
    let mut table = Rows::new("masks", &["set bit", "mask"]);
    let mut points = Vec::new();
    for (index, mask) in masks.iter().enumerate() {
        table.row([index.into(), Cell::Text(format!("{mask:#011x}"))]);
        let bits = (0..64).filter(|bit| mask >> bit & 1 == 1);
        points.extend(bits.map(|bit| (f64::from(bit), index as f64)));
    }
    let mut outcome = Outcome::new(Plot {
        title: format!(
            "{}: address bits in the set of the L1 cache",
            bench.card().name
        ),
        x: Axis {
            title: "address bit".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            title: "set bit".to_owned(),
            scale: Scale::Linear,
        },
        series: vec![Series {
            name: "bit of the mask".to_owned(),
            mark: Mark::Points,
            points,
        }],
    });
    outcome.found("l1_sets", 1u64 << masks.len(), "");
    let most = by_set.iter().copied().max().unwrap_or(ways);
    outcome.found("l1_ways", most, "");
    let sum: usize = by_set.iter().sum();
    let mean = sum as f64 / by_set.len().max(1) as f64;
    let bytes = mean * (LINE << masks.len()) as f64;
    outcome.found("l1_bytes", bytes.round() as u64, "bytes");
    outcome.found("predicted_lines", format!("{right} of {}", seen.len()), "");
    outcome.tables.push(table);
    let mut counts = Rows::new("ways", &["ways", "sets"]);
    for ways in 1..=most {
        let count = by_set.iter().filter(|one| **one == ways).count();
        if count > 0 {
            counts.row([ways.into(), count.into()]);
        }
    }
    outcome.tables.push(counts);
    outcome.notes.push(format!(
        "address bits 7 to {}; any masks that span the same space choose the same sets; loads of less than \
         {miss} cycles are hits, hits take {hit}",
        field.bits - 1
    ));
    Ok(outcome)
}
