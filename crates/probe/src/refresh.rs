//! `refresh`: how many loads from DRAM meet a refresh, and how long they wait for it.
//!
//! One warp loads line after line that no cache holds. Most take the same time; what comes later than that
//! found its bank refreshed, somewhere within the time that a refresh takes.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, SECTOR};
use crate::dram::{FIELD, Fresh, median};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::random::Random;
use crate::scan::Place;

/// The probe.
pub const PROBE: Probe = Probe {
    name: "refresh",
    about: "histogram of the delays of loads from DRAM: the share that a refresh makes late, and by how much",
    run,
};

/// Loads.
const LOADS: usize = 36_000;
/// Loads of one launch.
const PART: usize = 3000;
/// Most times that a line is loaded.
const AGAIN: u64 = 4;
/// Bars of the histogram.
const BARS: usize = 16;
/// Cycles beyond the usual that are late: more than a row that has to be closed first costs.
const LATE: u32 = 40;

fn run(bench: &mut Bench, choice: &Choice) -> Result<Outcome, ProbeError> {
    let card = bench.card().clone();
    let mut fresh = Fresh::new(bench, FIELD, 5)?;
    let mut random = Random::new(8);
    let mut times = Vec::with_capacity(LOADS);
    // In parts, so that what is written down stays in L2: writes to DRAM would be in the way. A line is
    // loaded again now and then, and pauses are of different lengths, by chance: loads at even distances would
    // meet refreshes in step.
    for _ in 0..LOADS / PART {
        let mut list = Vec::new();
        let mut first = Vec::new();
        for _ in 0..PART {
            let line = fresh.line();
            first.push(list.len());
            // Each word of a sector pauses for another time.
            let words = (0..=random.below(AGAIN)).map(|_| line + 4 * random.below(SECTOR / 4));
            list.extend(words.collect::<Vec<_>>());
        }
        let all = bench.times(&list, Load::PastL1, Place::Sm(choice.sm))?;
        times.extend(first.into_iter().map(|index| all[index]));
    }
    let usual = median(times.clone());
    let delays: Vec<u32> = times
        .iter()
        .map(|time| time.saturating_sub(usual))
        .collect();
    let late: Vec<u32> = delays
        .iter()
        .copied()
        .filter(|delay| *delay > LATE)
        .collect();
    let longest = late.iter().copied().max().unwrap_or(0);
    // Uniform delays are as often below the threshold as the threshold is a part of the longest.
    let hidden = f64::from(LATE) / f64::from(longest.max(LATE + 1));
    let share = 100.0 * late.len() as f64 / LOADS as f64 / (1.0 - hidden);
    let width = (longest / BARS as u32 + 1).max(1);
    let mut bars = [0u64; BARS];
    for delay in &late {
        bars[(delay / width) as usize] += 1;
    }
    let mut table = Rows::new("delays", &["from ns", "to ns", "loads"]);
    let mut points = Vec::new();
    for (index, &count) in bars.iter().enumerate() {
        let from = index as u32 * width;
        let nanoseconds = |cycles: u32| card.nanoseconds(f64::from(cycles));
        let first = from.max(LATE);
        if from + width > LATE {
            table.row([
                Cell::Real(nanoseconds(first)),
                Cell::Real(nanoseconds(from + width)),
                count.into(),
            ]);
            points.push((nanoseconds(from + width / 2), count as f64));
        }
    }
    let mut outcome = Outcome::new(Plot {
        title: format!("{}: loads from DRAM that come late, of {LOADS}", card.name),
        x: Axis {
            title: "delay in ns".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            title: "loads".to_owned(),
            scale: Scale::Linear,
        },
        series: vec![Series {
            name: "late loads".to_owned(),
            mark: Mark::Bars,
            points,
        }],
    });
    outcome.found("usual", usual, "cycles");
    outcome.found("late", share, "% of the loads");
    if late.is_empty() {
        outcome
            .notes
            .push("no load came late: this DRAM is not refreshed".to_owned());
    } else {
        let count = late.len() as f64;
        let mean = late.iter().map(|&delay| f64::from(delay)).sum::<f64>() / count;
        outcome.found("late_loads", late.len(), "");
        outcome.found("longest_delay", card.nanoseconds(f64::from(longest)), "ns");
        outcome.found("mean_delay", card.nanoseconds(mean), "ns");
        // Of delays that are uniform, half lie in each half of the range that is seen.
        let middle = (LATE + longest) / 2;
        let above = late.iter().filter(|delay| **delay > middle).count();
        outcome.found("in_the_upper_half", 100.0 * above as f64 / count, "%");
    }
    outcome.tables.push(table);
    outcome.notes.push(format!(
        "delays are counted from {LATE} cycles on; the share has those below added as if delays were uniform"
    ));
    Ok(outcome)
}
