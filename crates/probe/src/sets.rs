//! Lines that share a set of a cache, found by what pushes what out. The probes of L1 and of L2 stand on it.
//!
//! The shortest prefix of a list of lines that pushes a target out ends with a line of its set. That line
//! goes to the front and the search begins anew, until the lines in front suffice alone: they are as many
//! as there are ways, where the line that was used longest ago is replaced first.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::Bench;
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::outcome::{Cell, Outcome, Rows};
use crate::random::Random;
use crate::scan::Place;

/// No cache has more ways.
const MOST_WAYS: usize = 1 << 10;
/// Laps around lines of a set; the last is looked at.
const LAPS: usize = 4;
/// Lines that hits and misses are learned from.
const LEARNED: usize = 64;
/// A miss takes at least so many cycles more than a hit, or no cache is seen.
const LEAST_STEP: u32 = 4;

/// A target with the lines of its set.
#[derive(Debug, Clone)]
pub struct Set {
    /// The target.
    pub target: u64,
    /// As many lines of its set as push it out.
    pub others: Vec<u64>,
}

/// The cache that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// The L1 cache of an SM: hits against loads that find their line in L2.
    L1,
    /// The L2 cache, by loads past L1: hits against loads from DRAM.
    L2,
}

impl Cache {
    fn load(self) -> Load {
        match self {
            Cache::L1 => Load::Cached,
            Cache::L2 => Load::PastL1,
        }
    }
}

/// Loads of one SM with the threshold that tells misses from hits.
pub struct Sight<'a> {
    /// Where they run.
    pub bench: &'a mut Bench,
    /// The SM.
    pub sm: u32,
    /// Cycles of a load that hits, clock reads included.
    pub hit: u32,
    /// Least cycles of one that misses.
    pub miss: u32,
    cache: Cache,
}

impl<'a> Sight<'a> {
    /// Learns what hits and misses look like from lines that were never loaded.
    ///
    /// # Errors
    /// A cache that cannot be seen.
    pub fn new(
        bench: &'a mut Bench,
        sm: u32,
        probe: &'static str,
        cache: Cache,
        lines: &[u64],
    ) -> Result<Sight<'a>, ProbeError> {
        // Each line twice: the second load hits. The first half fills the instruction caches.
        let lines = lines.iter().take(LEARNED).flat_map(|line| [*line; 2]);
        let lines: Vec<u64> = lines.collect();
        let mut seconds = |load| -> Result<(u32, u32), ProbeError> {
            let times = bench.times(&lines, load, Place::Sm(sm))?;
            let (pairs, _) = times[times.len() / 2..].as_chunks::<2>();
            let middle = |mut times: Vec<u32>| {
                times.sort_unstable();
                times.get(times.len() / 2).copied().unwrap_or(0)
            };
            Ok((
                middle(pairs.iter().map(|pair| pair[0]).collect()),
                middle(pairs.iter().map(|pair| pair[1]).collect()),
            ))
        };
        let (from_dram, from_l2) = seconds(Load::PastL1)?;
        let (hit, miss) = match cache {
            Cache::L1 => (seconds(Load::Cached)?.1, from_l2),
            Cache::L2 => (from_l2, from_dram),
        };
        if miss < hit + LEAST_STEP {
            return Err(ProbeError::Inconclusive {
                probe,
                reason: format!("a hit takes {hit} cycles, a miss {miss}: no cache is seen"),
            });
        }
        Ok(Sight {
            bench,
            sm,
            hit,
            miss: hit + (miss - hit) / 2,
            cache,
        })
    }

    /// Times of the loads of a list, one after the other.
    ///
    /// # Errors
    /// A launch that fails.
    pub fn times(&mut self, list: &[u64]) -> Result<Vec<u32>, ProbeError> {
        self.bench
            .times(list, self.cache.load(), Place::Sm(self.sm))
    }

    /// For each list of lines: whether its first line is pushed out by the others.
    ///
    /// # Errors
    /// A launch that fails.
    pub fn pushed_out(&mut self, lists: &[Vec<u64>]) -> Result<Vec<bool>, ProbeError> {
        let mut all = Vec::new();
        let mut ends = Vec::new();
        for list in lists {
            all.extend_from_slice(list);
            all.push(list[0]);
            ends.push(all.len() - 1);
        }
        let times = self.times(&all)?;
        Ok(ends.iter().map(|&end| times[end] >= self.miss).collect())
    }

    /// Whether the first line of a list is pushed out by the others.
    ///
    /// # Errors
    /// A launch that fails.
    pub fn one_pushed_out(&mut self, list: Vec<u64>) -> Result<bool, ProbeError> {
        Ok(self.pushed_out(&[list])?[0])
    }

    /// Without the lines that are not needed: where the list of a long search was itself in the way, lines
    /// were taken that do nothing.
    fn pruned(&mut self, target: u64, mut others: Vec<u64>) -> Result<Set, ProbeError> {
        let mut index = 0;
        while index < others.len() {
            let without = others.iter().enumerate().filter(|(at, _)| *at != index);
            let list = std::iter::once(target).chain(without.map(|(_, line)| *line));
            if self.one_pushed_out(list.collect())? {
                others.remove(index);
            } else {
                index += 1;
            }
        }
        Ok(Set { target, others })
    }

    /// Times of the last lap of loads of these lines around and around.
    fn last_lap(&mut self, lines: &[u64]) -> Result<Vec<u32>, ProbeError> {
        let laps = lines.iter().copied().cycle().take(LAPS * lines.len());
        let times = self.times(&laps.collect::<Vec<_>>())?;
        Ok(times[(LAPS - 1) * lines.len()..].to_vec())
    }

    /// Whether lines that push a target out are of its set and as many as there are ways: around and around
    /// they all hit without the target and all miss with it. A list or the code may have stood in the way of
    /// the search and taken a way for itself.
    ///
    /// # Errors
    /// A launch that fails.
    pub fn holds(&mut self, set: &Set) -> Result<bool, ProbeError> {
        let others = self.last_lap(&set.others)?;
        let with: Vec<u64> = std::iter::once(set.target)
            .chain(set.others.iter().copied())
            .collect();
        let all = self.last_lap(&with)?;
        Ok(
            others.iter().all(|&time| time < self.miss)
                && all.iter().all(|&time| time >= self.miss),
        )
    }

    /// Loads more and more lines of a set of the cache `level`, around and around: what fits hits.
    pub fn chains(&mut self, set: Set, level: &str, loads: &str) -> Result<Outcome, ProbeError> {
        let all: Vec<u64> = std::iter::once(set.target).chain(set.others).collect();
        let mut table = Rows::new("chains", &["lines of one set", "cycles per load", "misses"]);
        let mut points = Vec::new();
        for count in 1..=all.len() {
            let last = self.last_lap(&all[..count])?;
            let mean = last.iter().map(|&time| f64::from(time)).sum::<f64>() / count as f64;
            let misses = last.iter().filter(|&&time| time >= self.miss).count();
            points.push((count as f64, mean));
            table.row([count.into(), Cell::Real(mean), misses.into()]);
        }
        let card = &self.bench.card().name;
        let mut outcome = Outcome::new(Plot {
            title: format!("{card}: lines of one {level} set, around and around"),
            x: Axis {
                title: "lines".to_owned(),
                scale: Scale::Linear,
            },
            y: Axis {
                title: "cycles per load, with two clock reads".to_owned(),
                scale: Scale::Linear,
            },
            series: vec![Series {
                name: loads.to_owned(),
                mark: Mark::Line,
                points,
            }],
        });
        outcome.tables.push(table);
        Ok(outcome)
    }

    /// The lines of `pool` that push `target` out; nothing if all of them do not.
    ///
    /// # Errors
    /// A cache of more ways than any has, or one that does not replace what was used longest ago.
    pub fn find_set(
        &mut self,
        target: u64,
        mut pool: Vec<u64>,
        random: &mut Random,
        probe: &'static str,
    ) -> Result<Option<Set>, ProbeError> {
        let list = |front: &[u64], pool: &[u64]| -> Vec<u64> {
            let front = front.iter().chain(pool);
            std::iter::once(target).chain(front.copied()).collect()
        };
        // In an order of its own, so that the end of a prefix says nothing of an address.
        for index in (1..pool.len()).rev() {
            pool.swap(index, random.below(index as u64 + 1) as usize);
        }
        let mut others: Vec<u64> = Vec::new();
        while others.len() < MOST_WAYS {
            if !others.is_empty() && self.one_pushed_out(list(&others, &[]))? {
                return self.pruned(target, others).map(Some);
            }
            // The shortest prefix that suffices together with the lines in front.
            let (mut too_short, mut enough) = (0, pool.len());
            if !self.one_pushed_out(list(&others, &pool))? {
                return if others.is_empty() {
                    Ok(None)
                } else {
                    Err(ProbeError::Inconclusive {
                        probe,
                        reason: "a line that was pushed out stays the next time: what was used longest ago \
                                 is not what goes first"
                            .to_owned(),
                    })
                };
            }
            while too_short + 1 < enough {
                let middle = (too_short + enough) / 2;
                if self.one_pushed_out(list(&others, &pool[..middle]))? {
                    enough = middle;
                } else {
                    too_short = middle;
                }
            }
            others.push(pool[enough - 1]);
            pool.truncate(enough - 1);
        }
        Err(ProbeError::Inconclusive {
            probe,
            reason: format!("no set of at most {MOST_WAYS} ways"),
        })
    }
}
