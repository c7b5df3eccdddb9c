//! `dram`: rows, banks and channels, from times of loads that no cache holds.
//!
//! A load whose row is open is served sooner than one that has to open it. After a load of x, a load of y
//! that is soon served shares the row of x; if it is not and a second sector of x is not either, y has opened
//! another row of the same bank. Every line is loaded for the first time, within pages that are all
//! translated. How many banks there are follows from how often a row is closed by so many random others
//! before the next refresh; how many channels, from how often the bursts of two open rows wait for each
//! other.

use std::collections::BTreeSet;

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
const BLOCK_PAIRS: usize = 128;
/// Address bits that are looked at: from a sector to half a page.
const BITS: std::ops::RangeInclusive<u32> = 5..=20;
/// Sizes of blocks, as powers of two, in which lines of one row are looked for.
const BLOCKS: std::ops::RangeInclusive<u32> = 8..=17;
/// Bytes that rows are taken from which may close another: so many that hardly two are the same.
const WIDE: u64 = 256 << 20;
/// Looks at whether a row stayed open, and rows that are opened between at most.
const LOOKS: usize = 1200;
const MOST_BETWEEN: usize = 96;
/// Pairs that tell how many channels there are.
const CHANNEL_PAIRS: usize = 3000;
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
    let (bits, same_row_bit) = by_bit(&mut rows, &mut fresh)?;
    let (blocks, row_bytes) = by_block(&mut rows, &mut fresh)?;
    let (looks, banks) = count_banks(&mut rows, &mut fresh)?;
    let channels = count_channels(&mut rows, &mut fresh, same_row_bit)?;
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
    if let Some((channels, error)) = channels {
        outcome.found("channels", channels, "");
        outcome.found("channels_error", error, "");
        outcome.notes.push(
            "channels: one by the share of random pairs that wait for each other, with its standard error"
                .to_owned(),
        );
    } else {
        outcome
            .notes
            .push("channels: pairs that share one do not stand out".to_owned());
    }
    outcome
        .notes
        .push("times of single loads hold two clock reads".to_owned());
    outcome.tables.extend([bits, blocks, looks]);
    Ok(outcome)
}

/// What becomes of pairs that differ in one address bit, and a bit whose pairs share a row.
fn by_bit(rows: &mut RowTimes<'_>, fresh: &mut Fresh) -> Result<(Rows, Option<u64>), ProbeError> {
    let mut table = Rows::new(
        "bits",
        &[
            "address bit",
            "same row",
            "same bank, other row",
            "elsewhere",
        ],
    );
    let mut shares_row = None;
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
        if same > 0.9 && difference >= LINE && shares_row.is_none() {
            shares_row = Some(difference);
        }
        table.row([
            bit.into(),
            Cell::Real(same),
            Cell::Real(closed),
            Cell::Real(1.0 - same - closed),
        ]);
    }
    Ok((table, shares_row))
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
        if same >= 8 {
            most = most.max(bytes);
        }
        table.row([block.into(), Cell::Real(share), Cell::Real(bytes)]);
    }
    Ok((table, 1 << most.log2().round() as u32))
}

/// Looks at whether rows stay open while so many random others are opened: how many do.
fn stay_open(
    rows: &mut RowTimes<'_>,
    fresh: &mut Fresh,
    wide: &mut Fresh,
    (looks, between): (usize, usize),
) -> Result<usize, ProbeError> {
    let mut gathers = Vec::new();
    let lanes = LANES as usize;
    let each = MOST_BETWEEN / lanes + 1;
    for _ in 0..looks {
        let line = fresh.line();
        gathers.push(vec![line]);
        let others: Vec<u64> = (0..between).map(|_| wide.line()).collect();
        let mut parts = others.chunks(lanes);
        // Loads of what is in L2 take the place of those that open no row; the last of them also brings back
        // the translation that others may have pushed out.
        for _ in 0..each {
            gathers.push(parts.next().map_or_else(|| vec![line], <[u64]>::to_vec));
        }
        gathers.push(vec![line + SECTOR]);
    }
    let times = rows.bench.times_of_gathers(&gathers, rows.sm)?;
    let last = times.iter().skip(each + 1).step_by(each + 2);
    Ok(last.filter(|&&time| rows.is_hit(time)).count())
}

/// Banks, by how many random rows it takes to close one, with the standard error.
fn count_banks(
    rows: &mut RowTimes<'_>,
    fresh: &mut Fresh,
) -> Result<(Rows, Option<(f64, f64)>), ProbeError> {
    let mut table = Rows::new("banks", &["rows opened between", "looks", "row still open"]);
    let bytes = WIDE.min(rows.bench.card().dram_bytes / 8);
    let mut wide = Fresh::new(rows.bench, bytes, 7)?;
    let mut look = |rows: &mut RowTimes<'_>, looks, between| -> Result<f64, ProbeError> {
        let open = stay_open(rows, fresh, &mut wide, (looks, between))?;
        table.row([between.into(), looks.into(), open.into()]);
        Ok(open as f64 / looks as f64)
    };
    // What closes rows anyway, then ever more others until about half of the rows are closed.
    let alone = look(rows, LOOKS, 0)?;
    let mut between = 2;
    while look(rows, LOOKS / 8, between)? > alone / 2.0 && between < MOST_BETWEEN {
        between = (2 * between).min(MOST_BETWEEN);
    }
    let open = look(rows, LOOKS, between)?;
    let stays = open / alone.max(f64::MIN_POSITIVE);
    if !(0.01..0.99).contains(&stays) {
        return Ok((table, None));
    }
    let banks = |stays: f64| 1.0 / (1.0 - stays.powf(1.0 / between as f64));
    let error = (stays * (1.0 - stays) / LOOKS as f64).sqrt();
    let spread = (banks((stays + error).min(0.999)) - banks(stays - error)) / 2.0;
    Ok((table, Some((banks(stays), spread))))
}

/// Channels by the share of random pairs whose bursts wait for each other, with its standard error.
fn count_channels(
    rows: &mut RowTimes<'_>,
    fresh: &mut Fresh,
    same_row: Option<u64>,
) -> Result<Option<(f64, f64)>, ProbeError> {
    let Some(difference) = same_row else {
        return Ok(None);
    };
    let measure = |rows: &mut RowTimes<'_>, pairs: &[(u64, u64)]| -> Result<Vec<u32>, ProbeError> {
        let mut gathers = Vec::new();
        for &(one, other) in pairs {
            gathers.push(vec![one]);
            gathers.push(vec![other]);
            // Both rows are open: only their bursts can meet.
            let sectors =
                (1..4).flat_map(|sector| [one + sector * SECTOR, other + sector * SECTOR]);
            gathers.push(sectors.collect());
        }
        let times = rows.bench.times_of_gathers(&gathers, rows.sm)?;
        Ok(times.into_iter().skip(2).step_by(3).collect())
    };
    let known: Vec<(u64, u64)> = (0..64)
        .map(|_| fresh.pair(|one, _| one ^ difference))
        .collect();
    let together = median(measure(rows, &known)?);
    let pairs: Vec<(u64, u64)> = (0..CHANNEL_PAIRS)
        .map(|_| fresh.pair(|_, random| random.below(FIELD / LINE) * LINE))
        .collect();
    let times = measure(rows, &pairs)?;
    let apart = median(times.clone());
    if together < apart + 2 {
        return Ok(None);
    }
    // Bursts of one row follow each other more slowly than those of two banks of a channel.
    let threshold = apart + 2;
    let waited = times.iter().filter(|&&time| time >= threshold).count() as f64;
    let channels = CHANNEL_PAIRS as f64 / waited.max(1.0);
    Ok(Some((channels, channels / waited.max(1.0).sqrt())))
}
