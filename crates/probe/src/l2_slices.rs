//! `l2-slices`: which lines share a slice of L2, and how throughput grows with the slices that take part.
//!
//! The counters of each slice tell which one a line is in ([`crate::counters`]). Lines of chosen slices
//! are then loaded by all SMs at once, each load's drawn at random: k slices give nearly k times what one
//! gives, as chance favours some and all wait for those, unless something else is used up before.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LANES, LINE, Shape, Word};
use crate::counters;
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::random::Random;
use crate::stamps::span;

/// The probe.
pub const PROBE: Probe = Probe {
    name: "l2-slices",
    about: "slices of L2 by their counters, and throughput of k slices against that of one",
    run,
};

const GATHER: &str = include_str!("kernels/gather.sass");
/// Lines whose slices are told, for each slice, and at most.
const LINES_BY_SLICE: usize = 32;
const MOST_LINES: usize = 2048;
/// A throughput below that share of k times one slice's is held up by something else.
const SHARE: f64 = 0.9;
/// Warps of each SM that load from chosen slices, and rounds of 128 loads of each.
const WARPS: u32 = 8;
/// Loads that a measurement of throughput takes for each slice.
const LOADS_BY_SLICE: u32 = 8192;
/// The seed of the lines that are told apart, and of those that are loaded.
const SEED: u64 = 6;

/// Loads per cycle of all SMs from the lines of some slices, once they flow: the first warps begin while
/// others still warm up, so it is what further rounds add that counts.
fn throughput(bench: &mut Bench, slices: &[Vec<u64>]) -> Result<f64, ProbeError> {
    let sms = bench.card().sms;
    let shape = Shape {
        ctas: sms,
        threads: WARPS * LANES,
    };
    let loads = 128 * WARPS * sms;
    // Each load of a round draws a slice and one of its lines; what is drawn unevenly stays so. Lanes of one
    // warp draw different lines: those with the same would ask together.
    let mut random = Random::new(SEED);
    let mut lines: Vec<u64> = Vec::with_capacity(loads as usize);
    let several = slices.iter().map(Vec::len).sum::<usize>() > LANES as usize;
    while lines.len() < loads as usize {
        let slice = &slices[random.below(slices.len() as u64) as usize];
        let line = slice[random.below(slice.len() as u64) as usize];
        let warp = &lines[lines.len() / LANES as usize * LANES as usize..];
        if !(several && warp.contains(&line)) {
            lines.push(line);
        }
    }
    let bytes: Vec<u8> = lines.iter().flat_map(|line| line.to_le_bytes()).collect();
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
    let instances = counters::slices(bench)?;
    let count = (LINES_BY_SLICE * instances).min(MOST_LINES);
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
    let holders = counters::slices_of(bench, &lines, PROBE.name)?;
    let mut by_slice = vec![Vec::new(); instances];
    for (&line, &slice) in lines.iter().zip(&holders) {
        by_slice[slice as usize].push(line);
    }
    let mut members = Rows::new("members", &["line", "slice"]);
    for (line, &slice) in lines.iter().zip(&holders) {
        members.row([Cell::Text(format!("{line:#x}")), slice.into()]);
    }
    let shares = by_slice.iter().map(Vec::len);
    let (least, most) = (shares.clone().min().unwrap_or(0), shares.max().unwrap_or(0));
    let mut slices: Vec<Vec<u64>> = by_slice.into_iter().filter(|one| !one.is_empty()).collect();
    // One slice alone has to have lines for all lanes.
    slices.sort_by_key(|lines| std::cmp::Reverse(lines.len()));
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
    outcome.tables.push(members);
    outcome.notes.push(format!(
        "{count} random lines of {room} bytes; slices are numbered as their counters are"
    ));
    let held_up = points
        .iter()
        .find(|(k, rate)| *rate < SHARE * k * one)
        .map(|(k, _)| k);
    if let Some(k) = held_up {
        outcome.notes.push(format!(
            "from {k} slices on something else than slices is used up: SMs that can load no more, or \
             networks"
        ));
    }
    Ok(outcome)
}
