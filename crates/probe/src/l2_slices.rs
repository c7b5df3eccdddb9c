//! `l2-slices`: which lines share a slice of L2, and how throughput grows with the slices that take part.
//!
//! While some SMs load one line without end, past L1, other SMs time loads of many lines. Those of the same
//! slice wait behind the endless loads, the others do not. The first line that is in no slice yet is the next
//! to be loaded without end, so every launch finds one slice. Lines of chosen slices are then loaded by all
//! SMs at once, each load's slice drawn at random: k slices give nearly k times what one gives, as chance
//! favours some and all wait for those, unless something else is used up before.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LANES, LINE, Shape, Word};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::random::Random;
use crate::stamps::span;

/// The probe.
pub const PROBE: Probe = Probe {
    name: "l2-slices",
    about: "slices of L2 by contention, and throughput of k slices against that of one",
    run,
};

const CONTEND: &str = include_str!("kernels/contend.sass");
const GATHER: &str = include_str!("kernels/gather.sass");
/// Threads of each CTA; those that time loads use one warp.
const THREADS: u32 = 256;
/// Lines that are told apart, at most: 32 for each SM that times loads.
const MOST_LINES: usize = 3072;
/// Cycles until timing begins: the lines come from DRAM first, then the endless loads queue up.
const DELAY: u32 = 6000;
/// SMs at least that load one line without end.
const HAMMERS: u32 = 3;
/// No L2 has more slices.
const MOST_SLICES: usize = 256;
/// Warps of each SM that load from chosen slices, and rounds of 128 loads of each.
const WARPS: u32 = 8;
/// Loads that a measurement of throughput takes for each slice.
const LOADS_BY_SLICE: u32 = 8192;
/// The seed of the lines that are told apart, and of those that are loaded.
const SEED: u64 = 6;

/// Times of the lines while one line is loaded without end, or nothing is.
fn contended(
    bench: &mut Bench,
    lines: &[u64],
    hammered: Option<u64>,
    hammers: u32,
) -> Result<Vec<u32>, ProbeError> {
    let bytes: Vec<u8> = lines.iter().flat_map(|line| line.to_le_bytes()).collect();
    let list = bench.scratch((bytes.len() * 2) as u64 + LINE)?;
    let out = list + bytes.len() as u64;
    let counter = out + lines.len() as u64 * 4;
    bench.write(list, &bytes)?;
    bench.write(counter, &[0; 8])?;
    let probers = lines.len() as u32 / LANES;
    let arguments = [
        Word::U64(hammered.unwrap_or(0)),
        Word::U64(list),
        Word::U64(out),
        Word::U64(counter),
        Word::U32(hammers),
        Word::U32(probers),
        Word::U32(DELAY),
    ];
    let shape = Shape {
        ctas: hammers + probers,
        threads: THREADS,
    };
    bench.launch("contend", CONTEND, Load::PastL1, shape, &arguments)?;
    bench.read(out, lines.len())
}

/// Lines by the slice that they share.
fn classify(bench: &mut Bench, lines: &[u64], hammers: u32) -> Result<Vec<Vec<u64>>, ProbeError> {
    let quiet = contended(bench, lines, None, hammers)?;
    let mut slices: Vec<Vec<u64>> = Vec::new();
    let mut left: Vec<usize> = (0..lines.len()).collect();
    while let Some(&first) = left.first() {
        if slices.len() == MOST_SLICES {
            return Err(ProbeError::Inconclusive {
                probe: PROBE.name,
                reason: format!(
                    "more than {MOST_SLICES} groups of lines do not wait for each other"
                ),
            });
        }
        let times = contended(bench, lines, Some(lines[first]), hammers)?;
        let delay = |index: usize| times[index].saturating_sub(quiet[index]);
        // The line itself is of the slice for certain.
        let threshold = delay(first) / 2;
        if threshold < 8 {
            return Err(ProbeError::Inconclusive {
                probe: PROBE.name,
                reason: format!(
                    "loads of one line without end delay another load of it by {} cycles: {} of {} are not \
                     enough SMs to keep a slice busy",
                    delay(first),
                    hammers,
                    bench.card().sms
                ),
            });
        }
        let (same, other) = left
            .into_iter()
            .partition(|&index| delay(index) >= threshold);
        let same: Vec<usize> = same;
        slices.push(same.into_iter().map(|index| lines[index]).collect());
        left = other;
    }
    Ok(slices)
}

/// Loads per cycle of all SMs from the lines of some slices, once they flow: the first warps begin while
/// others still warm up, so it is what further rounds add that counts.
fn throughput(bench: &mut Bench, slices: &[Vec<u64>]) -> Result<f64, ProbeError> {
    let sms = bench.card().sms;
    let shape = Shape {
        ctas: sms,
        threads: WARPS * LANES,
    };
    let loads = 128 * WARPS * sms;
    // Each load of a round draws a slice, and what is drawn unevenly stays so. The lines of a slice take
    // turns: lanes of one load with the same line would be one access.
    let mut random = Random::new(SEED);
    let mut turns = vec![0; slices.len()];
    let lines = (0..loads).map(|_| {
        let drawn = random.below(slices.len() as u64) as usize;
        let (slice, turn) = (&slices[drawn], &mut turns[drawn]);
        *turn = (*turn + 1) % slice.len();
        slice[*turn]
    });
    let bytes: Vec<u8> = lines.flat_map(|line| line.to_le_bytes()).collect();
    let list = bench.allocate(bytes.len() as u64, "lines of chosen slices")?;
    bench.write(list, &bytes)?;
    let rounds = (LOADS_BY_SLICE * slices.len() as u32)
        .div_ceil(loads)
        .max(2);
    let mut spans = [0; 2];
    for (cycles, rounds) in spans.iter_mut().zip([rounds, 2 * rounds]) {
        let after = [Word::U32(loads.next_power_of_two() - 1), Word::U32(rounds)];
        let before = [Word::U64(list)];
        let stamps = bench.stamps("gather", GATHER, Load::PastL1, shape, (&before, &after))?;
        *cycles = span(&stamps);
    }
    bench.free(list);
    Ok(f64::from(loads * rounds) / f64::from(spans[1].saturating_sub(spans[0]).max(1)))
}

fn run(bench: &mut Bench, _: &Choice) -> Result<Outcome, ProbeError> {
    let card = bench.card().clone();
    // One SM alone may load more slowly than a slice serves.
    let hammers = (card.sms / 16).max(HAMMERS);
    if card.sms <= hammers {
        return Err(ProbeError::Inconclusive {
            probe: PROBE.name,
            reason: format!(
                "{} SMs are too few: {HAMMERS} load and others time",
                card.sms
            ),
        });
    }
    // On SMs of their own: what an SM shares is no slice.
    let probers = (card.sms - hammers) as usize;
    let probers = probers.min(MOST_LINES / LANES as usize);
    let count = probers * LANES as usize;
    // Half of what L2 holds at most, from twice as much.
    let count = count
        .min((card.l2_bytes / LINE / 2) as usize / 32 * 32)
        .max(32);
    let room = 2 * card.l2_bytes;
    let base = bench.allocate(room, "lines of all slices")?;
    let mut random = Random::new(SEED);
    let mut lines: Vec<u64> = Vec::new();
    while lines.len() < count {
        let line = base + random.below(room / LINE) * LINE;
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let slices = classify(bench, &lines, hammers)?;
    let all = slices.len();
    let mut table = Rows::new(
        "throughputs",
        &["slices", "loads per cycle", "relative to one"],
    );
    let mut counts = vec![1, 2, 4, all / 4, all / 2, all];
    counts.retain(|k| *k >= 1 && *k <= all);
    counts.sort_unstable();
    counts.dedup();
    let mut points = Vec::new();
    for &k in &counts {
        let rate = throughput(bench, &slices[..k])?;
        points.push((k as f64, rate));
        table.row([k.into(), Cell::Real(rate), Cell::Real(rate / points[0].1)]);
    }
    let one = points[0].1;
    let last = points[points.len() - 1].1;
    let shares = slices.iter().map(Vec::len);
    let (least, most) = (shares.clone().min().unwrap_or(0), shares.max().unwrap_or(0));
    let mut outcome = Outcome::new(Plot {
        title: format!("{}: loads per cycle from the lines of k slices", card.name),
        x: Axis {
            title: "slices".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            title: "loads per cycle".to_owned(),
            scale: Scale::Linear,
        },
        series: vec![
            Series {
                name: "measured".to_owned(),
                mark: Mark::Points,
                points: points.clone(),
            },
            Series {
                name: "k times one slice".to_owned(),
                mark: Mark::Line,
                points: points
                    .iter()
                    .map(|point| (point.0, point.0 * one))
                    .collect(),
            },
        ],
    });
    outcome.found("slices", all, "");
    outcome.found("loads_of_one_slice", one, "loads/cycle");
    outcome.found("loads_of_all_slices", last, "loads/cycle");
    outcome.found("all_against_one", last / one, "");
    outcome.found("fewest_lines_of_a_slice", least, "");
    outcome.found("most_lines_of_a_slice", most, "");
    outcome.tables.push(table);
    outcome.notes.push(format!(
        "{count} random lines of {room} bytes, told apart by contention"
    ));
    Ok(outcome)
}
