//! `l1-associativity` and `l1-masks`: which lines share a set of the L1 cache, from times of loads alone.
//!
//! Lines that push a target out are found one by one: the shortest prefix of a list of random lines that
//! pushes the target out ends with a line of its set. That line goes to the front and the search begins
//! anew, until the lines in front suffice alone: they are as many as there are ways. Where the set is a
//! linear function of the address bits, differences of lines of one set form a space over GF(2). Its basis
//! is found bit by bit: with the lines of a set at hand, one pass tells whether any of many lines is of that
//! set too. The masks of the set's bits span what is orthogonal to that space.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LINE};
use crate::error::ProbeError;
use crate::gf2::{orthogonal, parity};
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::random::Random;
use crate::scan::Place;

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
/// No cache has more ways.
const MOST_WAYS: usize = 1 << 10;
/// No set function has more bits.
const MOST_BITS: usize = 14;
/// Lines whose set is predicted from the masks and looked up.
const CHECKS: usize = 64;

/// A target with the lines of its set.
struct Set {
    target: u64,
    /// As many lines of its set as push it out.
    others: Vec<u64>,
}

/// Loads of one SM with the threshold that tells misses from hits.
struct Sight<'a> {
    bench: &'a mut Bench,
    sm: u32,
    /// Cycles of a load that hits, and least cycles of one that misses.
    hit: u32,
    miss: u32,
}

impl<'a> Sight<'a> {
    /// Learns what hits and misses look like.
    fn new(
        bench: &'a mut Bench,
        sm: u32,
        probe: &'static str,
        lines: &[u64],
    ) -> Result<Sight<'a>, ProbeError> {
        // Each line twice: the first load misses, the second hits.
        let lines: Vec<u64> = lines.iter().take(64).flat_map(|line| [*line; 2]).collect();
        let times = bench.times(&lines, Load::Cached, Place::Sm(sm))?;
        let middle = |mut times: Vec<u32>| {
            times.sort_unstable();
            times[times.len() / 2]
        };
        // The first chunk fills the instruction caches.
        let (pairs, _) = times[times.len() / 2..].as_chunks::<2>();
        let miss = pairs.iter().map(|pair| pair[0]).min().unwrap_or(0);
        let hit = middle(pairs.iter().map(|pair| pair[1]).collect());
        if miss <= hit + 4 {
            return Err(ProbeError::Inconclusive {
                probe,
                reason: format!(
                    "a second load takes {hit} cycles, a first one {miss}: no cache is seen"
                ),
            });
        }
        Ok(Sight {
            bench,
            sm,
            hit,
            miss: hit + (miss - hit) / 2,
        })
    }

    /// For each list of lines: whether its first line is pushed out by the others.
    fn pushed_out(&mut self, lists: &[Vec<u64>]) -> Result<Vec<bool>, ProbeError> {
        let mut all = Vec::new();
        let mut ends = Vec::new();
        for list in lists {
            all.extend_from_slice(list);
            all.push(list[0]);
            ends.push(all.len() - 1);
        }
        let times = self.bench.times(&all, Load::Cached, Place::Sm(self.sm))?;
        Ok(ends.iter().map(|&end| times[end] >= self.miss).collect())
    }

    fn one_pushed_out(&mut self, list: Vec<u64>) -> Result<bool, ProbeError> {
        Ok(self.pushed_out(&[list])?[0])
    }
}

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

/// Finds the lines that push a target out.
fn find_set(
    sight: &mut Sight<'_>,
    field: &Field,
    random: &mut Random,
    probe: &'static str,
) -> Result<Set, ProbeError> {
    let inconclusive = |reason: String| Err(ProbeError::Inconclusive { probe, reason });
    let target = field.base;
    let mut pool: Vec<u64> = Vec::new();
    let list = |front: &[u64], pool: &[u64]| -> Vec<u64> {
        let front = front.iter().chain(pool);
        std::iter::once(target).chain(front.copied()).collect()
    };
    let grow = |pool: &mut Vec<u64>, random: &mut Random, size: usize| {
        while pool.len() < size {
            let line = field.line(random);
            if line != target {
                pool.push(line);
            }
        }
        pool.sort_unstable();
        pool.dedup();
    };
    let mut size = FIRST_LIST;
    grow(&mut pool, random, size);
    while !sight.one_pushed_out(list(&[], &pool))? {
        size *= 2;
        if size > LONGEST_LIST {
            return inconclusive(format!(
                "{LONGEST_LIST} random lines do not push one out of the L1 cache"
            ));
        }
        grow(&mut pool, random, size);
    }
    // In an order of its own, so that the end of a prefix says nothing of an address.
    for index in (1..pool.len()).rev() {
        pool.swap(index, random.below(index as u64 + 1) as usize);
    }
    let mut others: Vec<u64> = Vec::new();
    while others.len() < MOST_WAYS {
        if !others.is_empty() && sight.one_pushed_out(list(&others, &[]))? {
            return Ok(Set { target, others });
        }
        // The shortest prefix that suffices together with the lines in front.
        let (mut too_short, mut enough) = (0, pool.len());
        if !sight.one_pushed_out(list(&others, &pool))? {
            return inconclusive("a line that was pushed out stays the next time".to_owned());
        }
        while too_short + 1 < enough {
            let middle = (too_short + enough) / 2;
            if sight.one_pushed_out(list(&others, &pool[..middle]))? {
                enough = middle;
            } else {
                too_short = middle;
            }
        }
        others.push(pool[enough - 1]);
        pool.truncate(enough - 1);
    }
    inconclusive(format!("no set of at most {MOST_WAYS} ways"))
}

fn associativity(bench: &mut Bench, choice: &Choice) -> Result<Outcome, ProbeError> {
    let probe = ASSOCIATIVITY.name;
    let mut random = Random::new(1);
    let field = Field::new(bench)?;
    let lines: Vec<u64> = (0..64).map(|_| field.line(&mut random)).collect();
    let mut sight = Sight::new(bench, choice.sm, probe, &lines)?;
    let set = find_set(&mut sight, &field, &mut random, probe)?;
    let ways = set.others.len();
    // Around and around over more and more lines of the set: what fits hits.
    let mut table = Rows::new("chains", &["lines of one set", "cycles per load", "misses"]);
    let mut points = Vec::new();
    let all: Vec<u64> = std::iter::once(set.target).chain(set.others).collect();
    for count in 1..=all.len() {
        let laps = 4usize;
        let chain: Vec<u64> = all[..count]
            .iter()
            .copied()
            .cycle()
            .take(laps * count)
            .collect();
        let times = sight
            .bench
            .times(&chain, Load::Cached, Place::Sm(sight.sm))?;
        let last = &times[(laps - 1) * count..];
        let mean = last.iter().map(|&time| f64::from(time)).sum::<f64>() / count as f64;
        let misses = last.iter().filter(|&&time| time >= sight.miss).count();
        points.push((count as f64, mean));
        table.row([count.into(), Cell::Real(mean), misses.into()]);
    }
    let mut outcome = Outcome::new(Plot {
        title: format!(
            "{}: lines of one L1 set, around and around",
            bench.card().name
        ),
        x: Axis {
            title: "lines".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            title: "cycles per load, with two clock reads".to_owned(),
            scale: Scale::Linear,
        },
        series: vec![Series {
            name: "loads through L1".to_owned(),
            mark: Mark::Line,
            points,
        }],
    });
    outcome.found("l1_ways", ways, "");
    outcome.tables.push(table);
    outcome
        .notes
        .push("as the L1 cache is divided for a kernel without shared memory".to_owned());
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

fn masks(bench: &mut Bench, choice: &Choice) -> Result<Outcome, ProbeError> {
    let probe = MASKS.name;
    let mut random = Random::new(2);
    let field = Field::new(bench)?;
    let lines: Vec<u64> = (0..64).map(|_| field.line(&mut random)).collect();
    let mut sight = Sight::new(bench, choice.sm, probe, &lines)?;
    let set = find_set(&mut sight, &field, &mut random, probe)?;
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
    outcome.found("l1_ways", ways, "");
    outcome.found("l1_bytes", (ways as u64 * LINE) << masks.len(), "bytes");
    outcome.found("predicted_lines", format!("{right} of {}", seen.len()), "");
    outcome.tables.push(table);
    outcome.notes.push(format!(
        "address bits 7 to {}; any masks that span the same space choose the same sets; loads of less than \
         {miss} cycles are hits, hits take {hit}",
        field.bits - 1
    ));
    Ok(outcome)
}
