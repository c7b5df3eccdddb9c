//! `dram`: rows, banks and channels, from times of loads that no cache holds.
//!
//! A load whose row is open is served sooner than one that has to open it. After a load of x, a load of y
//! that is soon served shares the row of x; if it is not and a second sector of x is not either, y has opened
//! another row of the same bank. Every line is loaded for the first time, within pages that are all
//! translated. How many banks there are follows from how often a row is closed by so many random others
//! before the next refresh. Lines of one channel take longer where both are loaded at once from open rows.

use std::collections::{BTreeMap, BTreeSet};

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LANES, LINE, SECTOR};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::random::Random;
use crate::scan::Place;

/// The probe.
pub const PROBE: Probe = Probe {
    name: "dram",
    about: "rows, banks and channels of the DRAM, from times of pairs of loads",
    run,
};

/// Bytes that lines are taken from: few pages.
pub(crate) const FIELD: u64 = 16 << 20;
/// Pairs for each address bit, and for each size of block.
const PAIRS: usize = 48;
const BLOCK_PAIRS: usize = 256;
/// Address bits that are looked at: from a sector to half a page.
const BITS: std::ops::RangeInclusive<u32> = 5..=20;
/// Sizes of blocks, as powers of two, in which lines of one row are looked for.
const BLOCKS: std::ops::RangeInclusive<u32> = 8..=17;
/// Bytes that rows are taken from which may close another: so many that hardly two are the same.
const WIDE: u64 = 256 << 20;
/// Looks at whether a row stayed open, and rows that are opened between at most.
const LOOKS: usize = 1200;
const MOST_BETWEEN: usize = 96;
/// Pairs that are loaded at once, and the difference in cycles from which on they are not told apart.
const CHANNEL_PAIRS: usize = 2000;
const MEETING: i64 = 16;
/// A row hit is at least so many cycles sooner.
const LEAST_STEP: u32 = 3;

/// Lines that were never loaded.
pub(crate) struct Fresh {
    base: u64,
    bytes: u64,
    used: BTreeSet<u64>,
    random: Random,
}

impl Fresh {
    pub(crate) fn new(bench: &mut Bench, bytes: u64, seed: u64) -> Result<Fresh, ProbeError> {
        Ok(Fresh {
            base: bench.allocate(bytes, "lines that were never loaded")?,
            bytes,
            used: BTreeSet::new(),
            random: Random::new(seed),
        })
    }

    /// A line and its partner at the offset that `partner` makes of the line's.
    fn pair(&mut self, partner: impl Fn(u64, &mut Random) -> u64) -> (u64, u64) {
        loop {
            let one = self.random.below(self.bytes / LINE) * LINE;
            let other = partner(one, &mut self.random);
            let line = |offset: u64| offset / LINE;
            if !self.used.contains(&line(one)) && !self.used.contains(&line(other)) {
                self.used.extend([line(one), line(other)]);
                return (self.base + one, self.base + other);
            }
        }
    }

    pub(crate) fn line(&mut self) -> u64 {
        self.pair(|one, _| one).0
    }
}

/// Times, with what tells a row hit from others.
struct RowTimes<'a> {
    bench: &'a mut Bench,
    sm: u32,
    /// Cycles of a row hit, and of a load that opens its row.
    hit: u32,
    miss: u32,
}

pub(crate) fn median(mut times: Vec<u32>) -> u32 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

impl RowTimes<'_> {
    fn times(&mut self, list: &[u64]) -> Result<Vec<u32>, ProbeError> {
        self.bench.times(list, Load::PastL1, Place::Sm(self.sm))
    }

    fn is_hit(&self, time: u32) -> bool {
        time < (self.hit + self.miss) / 2
    }
}

fn learn<'a>(bench: &'a mut Bench, fresh: &mut Fresh, sm: u32) -> Result<RowTimes<'a>, ProbeError> {
    let lines: Vec<u64> = (0..512).map(|_| fresh.line()).collect();
    let list: Vec<u64> = lines
        .iter()
        .flat_map(|line| [*line, line + SECTOR])
        .collect();
    let times = bench.times(&list, Load::PastL1, Place::Sm(sm))?;
    // By the second half most banks have had a row opened.
    let (pairs, _) = times[times.len() / 2..].as_chunks::<2>();
    let miss = median(pairs.iter().map(|pair| pair[0]).collect());
    let hit = median(pairs.iter().map(|pair| pair[1]).collect());
    if miss < hit + LEAST_STEP {
        return Err(ProbeError::Inconclusive {
            probe: PROBE.name,
            reason: format!(
                "a first load takes {miss} cycles, one of the same row {hit}: open rows are not seen"
            ),
        });
    }
    Ok(RowTimes {
        bench,
        sm,
        hit,
        miss,
    })
}

fn run(bench: &mut Bench, choice: &Choice) -> Result<Outcome, ProbeError> {
    let card = bench.card().clone();
    let mut fresh = Fresh::new(bench, FIELD, 4)?;
    let mut rows = learn(bench, &mut fresh, choice.sm)?;
    let bits = by_bit(&mut rows, &mut fresh)?;
    let (blocks, row_bytes) = by_block(&mut rows, &mut fresh)?;
    let (looks, banks) = count_banks(&mut rows, &mut fresh)?;
    let meetings = meetings(&mut rows, &mut fresh)?;
    let points = |column: usize| {
        let rows = bits.rows.iter();
        let pairs = rows.filter_map(|row| match (&row[0], &row[column]) {
            (Cell::Count(bit), Cell::Real(share)) => Some((*bit as f64, *share)),
            _ => None,
        });
        pairs.collect::<Vec<_>>()
    };
    let series = |name: &str, column| Series {
        name: name.to_owned(),
        mark: Mark::Line,
        points: points(column),
    };
    let mut outcome = Outcome::new(Plot {
        title: format!(
            "{}: where two lines lie that differ in one address bit",
            card.name
        ),
        x: Axis {
            title: "address bit".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            title: "share of the pairs".to_owned(),
            scale: Scale::Linear,
        },
        series: vec![series("same row", 1), series("same bank, other row", 2)],
    });
    outcome.found("row_hit", rows.hit, "cycles");
    outcome.found("row_miss", rows.miss, "cycles");
    outcome.found("row_bytes", row_bytes, "bytes");
    if let Some((banks, error)) = banks {
        outcome.found("banks", banks, "");
        outcome.found("banks_error", error, "");
    } else {
        outcome
            .notes
            .push("banks: rows close as soon without others that are opened".to_owned());
    }
    outcome.notes.push(
        "banks: an estimate with its standard error; too few where refresh closes rows meanwhile. meetings: pairs of one channel take longer; of random \
         pairs one in so many as there are channels is of one"
            .to_owned(),
    );
    outcome
        .notes
        .push("times of single loads hold two clock reads".to_owned());
    outcome.tables.extend([bits, blocks, looks, meetings]);
    Ok(outcome)
}

/// What becomes of pairs that differ in one address bit.
fn by_bit(rows: &mut RowTimes<'_>, fresh: &mut Fresh) -> Result<Rows, ProbeError> {
    let mut table = Rows::new(
        "bits",
        &[
            "address bit",
            "same row",
            "same bank, other row",
            "elsewhere",
        ],
    );
    for bit in BITS {
        let difference = 1u64 << bit;
        let mut list = Vec::new();
        for _ in 0..PAIRS {
            let (one, other) = fresh.pair(|one, _| one ^ difference);
            // A sector that neither of the two has loaded.
            let third = if difference == SECTOR {
                2 * SECTOR
            } else {
                SECTOR
            };
            list.extend([one, other, one ^ third]);
        }
        let times = rows.times(&list)?;
        let (triples, _) = times.as_chunks::<3>();
        let same = triples.iter().filter(|times| rows.is_hit(times[1])).count();
        let closed = triples
            .iter()
            .filter(|times| !rows.is_hit(times[1]) && !rows.is_hit(times[2]));
        let (same, closed) = (
            same as f64 / PAIRS as f64,
            closed.count() as f64 / PAIRS as f64,
        );
        table.row([
            bit.into(),
            Cell::Real(same),
            Cell::Real(closed),
            Cell::Real(1.0 - same - closed),
        ]);
    }
    Ok(table)
}

/// Lines of a row by the share of pairs in ever larger blocks that are of one row.
fn by_block(rows: &mut RowTimes<'_>, fresh: &mut Fresh) -> Result<(Rows, u64), ProbeError> {
    let mut table = Rows::new(
        "blocks",
        &["block bytes", "pairs of one row", "bytes of a row in it"],
    );
    let mut most: f64 = LINE as f64;
    for bits in BLOCKS {
        let block = 1u64 << bits;
        let lines = block / LINE;
        let mut list = Vec::new();
        for _ in 0..BLOCK_PAIRS {
            let (one, other) = fresh.pair(|one, random| {
                let step = 1 + random.below(lines - 1);
                one & !(block - 1) | (one + step * LINE) & (block - 1)
            });
            list.extend([one, other]);
        }
        let times = rows.times(&list)?;
        let (pairs, _) = times.as_chunks::<2>();
        let same = pairs.iter().filter(|times| rows.is_hit(times[1])).count();
        let share = same as f64 / BLOCK_PAIRS as f64;
        let bytes = LINE as f64 * (1.0 + share * (lines - 1) as f64);
        // A handful of pairs says too little.
        if same >= 20 {
            most = most.max(bytes);
        }
        table.row([block.into(), Cell::Real(share), Cell::Real(bytes)]);
    }
    Ok((table, 1 << most.log2().round() as u32))
}

/// The share of rows that stay open while so many random others are opened. Where there are fewer others,
/// loads of what is in L2 take their place; the last of them also brings back the translation that others
/// may have pushed out.
fn stay_open(
    rows: &mut RowTimes<'_>,
    (fresh, wide): (&mut Fresh, &mut Fresh),
    (looks, between): (usize, usize),
) -> Result<f64, ProbeError> {
    let parts = MOST_BETWEEN / LANES as usize + 1;
    let mut gathers = Vec::new();
    for _ in 0..looks {
        let line = fresh.line();
        gathers.push(vec![line]);
        let others: Vec<u64> = (0..between).map(|_| wide.line()).collect();
        let mut others = others.chunks(LANES as usize);
        for _ in 0..parts {
            gathers.push(others.next().map_or_else(|| vec![line], <[u64]>::to_vec));
        }
        gathers.push(vec![line + SECTOR]);
    }
    let times = rows.bench.times_of_gathers(&gathers, rows.sm)?;
    let looked = times.chunks_exact(parts + 2);
    let open = looked.filter(|times| rows.is_hit(times[parts + 1])).count();
    Ok(open as f64 / looks as f64)
}

/// Banks, by how many random rows it takes to close one, with the standard error. What closes rows anyway is
/// told from looks at rows that nothing else was opened after.
fn count_banks(
    rows: &mut RowTimes<'_>,
    fresh: &mut Fresh,
) -> Result<(Rows, Option<(f64, f64)>), ProbeError> {
    let columns = ["rows opened between", "looks", "still open"];
    let mut table = Rows::new("banks", &columns);
    let bytes = WIDE.min(rows.bench.card().dram_bytes / 8);
    let mut wide = Fresh::new(rows.bench, bytes, 7)?;
    let mut look = |looks: usize, between: usize| -> Result<f64, ProbeError> {
        let open = stay_open(rows, (&mut *fresh, &mut wide), (looks, between))?;
        table.row([between.into(), looks.into(), Cell::Real(open)]);
        Ok(open)
    };
    let alone = look(LOOKS, 0)?.max(0.01);
    // Ever more others until about half of the rows are closed.
    let mut between = 2;
    while look(LOOKS / 8, between)? > alone / 2.0 && between < MOST_BETWEEN {
        between = (2 * between).min(MOST_BETWEEN);
    }
    let stays = look(LOOKS, between)? / alone;
    if !(0.02..0.98).contains(&stays) {
        return Ok((table, None));
    }
    let banks = |stays: f64| 1.0 / (1.0 - stays.powf(1.0 / between as f64));
    let error = (stays * (1.0 - stays) / LOOKS as f64).sqrt();
    let spread = (banks((stays + error).min(0.999)) - banks(stays - error)) / 2.0;
    Ok((table, Some((banks(stays), spread))))
}

/// How much longer than the usual it takes to load from two open rows at once: pairs that share a channel
/// wait for each other's bursts.
fn meetings(rows: &mut RowTimes<'_>, fresh: &mut Fresh) -> Result<Rows, ProbeError> {
    let mut gathers = Vec::new();
    for _ in 0..CHANNEL_PAIRS {
        let (one, other) = fresh.pair(|_, random| random.below(FIELD / LINE) * LINE);
        gathers.push(vec![one]);
        gathers.push(vec![other]);
        let sectors = (1..4).flat_map(|sector| [one + sector * SECTOR, other + sector * SECTOR]);
        gathers.push(sectors.collect());
    }
    let times = rows.bench.times_of_gathers(&gathers, rows.sm)?;
    let times: Vec<u32> = times.into_iter().skip(2).step_by(3).collect();
    let usual = median(times.clone());
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    for time in times {
        let more = i64::from(time) - i64::from(usual);
        *counts.entry(more.clamp(-MEETING, MEETING)).or_default() += 1;
    }
    let columns = ["cycles more than the usual", "pairs", "% of the pairs"];
    let mut table = Rows::new("meetings", &columns);
    for (more, count) in counts {
        table.row([
            Cell::Text(format!("{more:+}")),
            count.into(),
            Cell::Real(100.0 * count as f64 / CHANNEL_PAIRS as f64),
        ]);
    }
    Ok(table)
}
