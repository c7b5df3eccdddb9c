//! `dram`: rows, banks and channels, from times of loads that no cache holds.
//!
//! A load whose row is open is served sooner than one that has to open it. After a load of x, a load of y
//! that is soon served shares the row of x; if it is not and a second sector of x is not either, y has opened
//! another row of the same bank. Every line is loaded for the first time, and its page is translated. How many
//! bytes a row has follows from lines of one row in ever larger blocks, how many banks there are from how
//! often a row is closed by so many random others. Channels are told by the counters of each that a profiler
//! shows.

use std::collections::BTreeSet;

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LANES, LINE, SECTOR};
use crate::counters;
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
/// Bytes within which one translation is good, as far as is known: a line of each such stretch is loaded
/// where a translation may be missing.
const STRETCH: u64 = 2 << 20;
/// Pairs for each address bit.
const PAIRS: usize = 48;
/// Address bits that are looked at: from a sector to half a page.
const BITS: std::ops::RangeInclusive<u32> = 5..=20;
/// A share of pairs from which on an address bit tells columns of one row apart.
const ONE_ROW: f64 = 0.75;
/// Sizes of blocks, as powers of two of lines, in which lines of one row are looked for, and pairs of each:
/// more in large ones, where they are few.
const BLOCKS: std::ops::RangeInclusive<u32> = 1..=12;
const BLOCK_PAIRS: [usize; 2] = [512, 4096];
const LARGE_BLOCK: u32 = 7;
/// Bytes that random rows are taken from, at most: so many that hardly one is open.
const WIDE: u64 = 4 << 30;
/// Looks at whether rows stayed open, the rows of each, and loads of random lines between at most.
const LOOKS: usize = 2500;
const ROWS_BY_LOOK: usize = 4;
const MOST_BETWEEN: usize = 12;
/// Lines for each address bit whose channel is told, and random ones whose channels must be all.
const CHANNEL_PAIRS: usize = 4;
const CHANNEL_LINES: usize = 1 << 14;
/// Warps of each SM that load those.
const WARPS: u32 = 4;
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
        let bytes = bytes / STRETCH * STRETCH;
        let base = bench.allocate(bytes + STRETCH, "lines that were never loaded")?;
        Ok(Fresh {
            base: base.next_multiple_of(STRETCH),
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
            if self.take(&[one, other]) {
                return (self.base + one, self.base + other);
            }
        }
    }

    /// Whether lines at these offsets were free; they are not any more. The first line of each stretch never
    /// is.
    fn take(&mut self, offsets: &[u64]) -> bool {
        let line = |offset: &u64| offset / LINE;
        let first = |offset: &u64| offset.is_multiple_of(STRETCH);
        let free = |offset: &u64| !first(offset) && !self.used.contains(&line(offset));
        let taken = offsets.iter().all(free);
        if taken {
            self.used.extend(offsets.iter().map(line));
        }
        taken
    }

    /// A line whose translation is good for another too.
    fn beside(&self, line: u64) -> u64 {
        self.base + (line - self.base) / STRETCH * STRETCH
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
    let mut wide = Fresh::new(rows.bench, WIDE.min(card.dram_bytes / 8), 7)?;
    let (blocks, lines) = by_block(&mut rows, &mut wide)?;
    let row_bytes = (lines * SECTOR) << (5..7).filter(|&bit| one_row(&bits, bit)).count();
    let (looks, banks) = count_banks(&mut rows, &mut fresh, &mut wide)?;
    let (channel_bits, shares) = channels(&mut rows, &mut wide)?;
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
    match banks {
        Some((banks, error)) => {
            outcome.found("banks", banks, "");
            outcome.found("banks_error", error, "");
        }
        None => outcome
            .notes
            .push("banks: rows close as soon without others that are opened".to_owned()),
    }
    let count = shares.rows.len();
    outcome.found("channels", count, "");
    if let Some((banks, _)) = banks {
        outcome.found("banks_of_a_channel", banks / count.max(1) as f64, "");
    }
    outcome.notes.push(
        "banks of all channels: an estimate with its standard error; what refresh closes is told from looks with one \
         row in one load. channels: those whose counters count"
            .to_owned(),
    );
    outcome
        .notes
        .push("times of single loads hold two clock reads".to_owned());
    outcome
        .tables
        .extend([bits, blocks, looks, channel_bits, shares]);
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

/// Whether pairs that differ in that address bit share a row.
fn one_row(bits: &Rows, wanted: u64) -> bool {
    bits.rows.iter().any(|row| match (&row[0], &row[1]) {
        (Cell::Count(bit), Cell::Real(share)) => *bit == wanted && *share > ONE_ROW,
        _ => false,
    })
}

/// Lines of a row, a power of two: those that lie with a line in its block of so many lines, but not in the
/// half of it, by the share of pairs that are of one row.
fn by_block(rows: &mut RowTimes<'_>, fresh: &mut Fresh) -> Result<(Rows, u64), ProbeError> {
    let mut table = Rows::new(
        "blocks",
        &["block bytes", "pairs", "of one row", "lines of a row in it"],
    );
    // Random lines may find their row open too: told from lines far apart.
    let bytes = fresh.bytes;
    let mut share = |pairs: usize, partner: &dyn Fn(u64, &mut Random) -> u64| {
        let mut list = Vec::with_capacity(4 * pairs);
        for _ in 0..pairs {
            let (one, other) = fresh.pair(partner);
            list.extend([fresh.beside(one), fresh.beside(other), one, other]);
        }
        let times = rows.times(&list)?;
        let (loads, _) = times.as_chunks::<4>();
        let same = loads.iter().filter(|times| rows.is_hit(times[3])).count();
        Ok::<f64, ProbeError>(same as f64)
    };
    let chance = share(BLOCK_PAIRS[1], &|_, random| {
        random.below(bytes / LINE) * LINE
    })? / BLOCK_PAIRS[1] as f64;
    // And some find it closed again by a refresh: told from sectors of one line.
    let open = share(BLOCK_PAIRS[1], &|one, _| one + SECTOR)? / BLOCK_PAIRS[1] as f64;
    let mut lines = 1.0;
    for bits in BLOCKS {
        let half = 1u64 << (bits - 1);
        let pairs = BLOCK_PAIRS[usize::from(bits >= LARGE_BLOCK)];
        let same = share(pairs, &|one, random| {
            one ^ ((half + random.below(half)) * LINE)
        })?;
        let by_chance = chance * pairs as f64;
        lines += (same - by_chance) / pairs as f64 / open.max(0.1) * half as f64;
        table.row([
            (2 * half * LINE).into(),
            pairs.into(),
            Cell::Real(same),
            Cell::Real(lines),
        ]);
    }
    Ok((table, 1 << lines.max(1.0).log2().round() as u32))
}

/// The share of rows that stay open while `loads` loads of so many random lines at once are made, and the
/// cycles that all this takes. A load before each look brings back the translation that others may have pushed
/// out.
fn stay_open(
    rows: &mut RowTimes<'_>,
    (fresh, wide): (&mut Fresh, &mut Fresh),
    looks: usize,
    (loads, lanes): (usize, usize),
) -> Result<(f64, f64), ProbeError> {
    let mut gathers = Vec::new();
    for _ in 0..looks {
        let lines: Vec<u64> = (0..ROWS_BY_LOOK).map(|_| fresh.line()).collect();
        gathers.push(lines.clone());
        gathers.extend((0..loads).map(|_| (0..lanes).map(|_| wide.line()).collect()));
        gathers.extend(
            lines
                .iter()
                .flat_map(|line| [vec![*line], vec![line + SECTOR]]),
        );
    }
    let times = rows.bench.times_of_gathers(&gathers, rows.sm)?;
    let mut open = 0;
    for looked in times.chunks_exact(1 + loads + 2 * ROWS_BY_LOOK) {
        let (pairs, _) = looked[1 + loads..].as_chunks::<2>();
        open += pairs.iter().filter(|pair| rows.is_hit(pair[1])).count();
    }
    let cycles: u64 = times.iter().map(|&time| u64::from(time)).sum();
    Ok((
        open as f64 / (looks * ROWS_BY_LOOK) as f64,
        cycles as f64 / looks as f64,
    ))
}

/// Banks, by how many random rows it takes to close one, with the standard error. As many loads of one line
/// each find closed what refresh has closed, so the rest is what the other lines have closed.
fn count_banks(
    rows: &mut RowTimes<'_>,
    fresh: &mut Fresh,
    wide: &mut Fresh,
) -> Result<(Rows, Option<(f64, f64)>), ProbeError> {
    let lanes = LANES as usize;
    let columns = ["loads between", "rows of each", "looks", "still open"];
    let mut table = Rows::new("banks", &columns);
    let mut look = |looks: usize, loads: usize, lanes: usize| -> Result<(f64, f64), ProbeError> {
        let seen = stay_open(rows, (&mut *fresh, &mut *wide), looks, (loads, lanes))?;
        let open = seen.0;
        table.row([
            loads.into(),
            lanes.into(),
            (looks * ROWS_BY_LOOK).into(),
            Cell::Real(open),
        ]);
        Ok(seen)
    };
    // Ever more others until about half of the rows are closed.
    let mut loads = 1;
    let alone = look(LOOKS / 10, 1, 1)?.0;
    while loads < MOST_BETWEEN && look(LOOKS / 10, loads, lanes)?.0 > alone / 2.0 {
        loads = (2 * loads).min(MOST_BETWEEN);
    }
    let (one, cycles) = look(LOOKS, loads, 1)?;
    let (many, more_cycles) = look(LOOKS, loads, lanes)?;
    // More lines take a little longer: so much more is closed by refresh.
    let refreshed = one.max(0.01).ln() / cycles * (more_cycles - cycles);
    let stays = many / one / refreshed.exp();
    if one < 0.05 || many < 0.02 || stays > 0.98 {
        return Ok((table, None));
    }
    let more = (loads * (lanes - 1)) as f64;
    let banks = 1.0 / (1.0 - stays.powf(1.0 / more));
    let variance = |open: f64| (1.0 - open) / open / (LOOKS * ROWS_BY_LOOK) as f64;
    let error = banks * (variance(one) + variance(many)).sqrt() / -stays.ln();
    Ok((table, Some((banks, error))))
}

/// Channels: which address bits lead to another, and how random lines are shared out.
fn channels(rows: &mut RowTimes<'_>, fresh: &mut Fresh) -> Result<(Rows, Rows), ProbeError> {
    let mut table = Rows::new("channel_bits", &["address bit", "pairs of one channel"]);
    let place = Place::Sm(rows.sm);
    for bit in BITS {
        let mut same = 0;
        for _ in 0..CHANNEL_PAIRS {
            let mask = 1u64 << bit;
            let pair = match mask < LINE {
                true => {
                    let line = fresh.line();
                    [line, line ^ mask]
                }
                false => <[u64; 2]>::from(fresh.pair(|one, _| one ^ mask)),
            };
            let read = counters::channel_reads(rows.bench, &pair, place)?;
            same += usize::from(read.iter().filter(|read| **read > 0).count() == 1);
        }
        table.row([bit.into(), Cell::Real(same as f64 / CHANNEL_PAIRS as f64)]);
    }
    let lines: Vec<u64> = (0..CHANNEL_LINES).map(|_| fresh.line()).collect();
    let mut shares = Rows::new("channels", &["channel", "% of random lines"]);
    let place = Place::Everywhere { warps: WARPS };
    let read = counters::channel_reads(rows.bench, &lines, place)?;
    let sum: u64 = read.iter().sum();
    for (channel, read) in read.into_iter().enumerate().filter(|(_, read)| *read > 0) {
        shares.row([
            channel.into(),
            Cell::Real(100.0 * read as f64 / sum.max(1) as f64),
        ]);
    }
    Ok((table, shares))
}
