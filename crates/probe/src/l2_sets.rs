//! `l2-associativity` and `l2-resident`: how many lines of a set stay in L2, and whether as many bytes as L2
//! has stay at all.
//!
//! Sets of L2 are too many for a search as in L1, and which of them a line has is no linear function. So
//! all SMs go twice over random lines, some fraction of what L2 holds: lines that miss the second time are
//! of sets with more lines than ways, and among those few the lines of one set are soon found.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LANES, LINE, Shape, Word};
use crate::counters;
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::random::{Order, Random};
use crate::scan::Place;
use crate::sets::{Cache, Sight};

/// The probe of the ways.
pub const ASSOCIATIVITY: Probe = Probe {
    name: "l2-associativity",
    about: "ways of the L2 cache: how many lines of one set stay",
    run: associativity,
};

/// The probe of the whole.
pub const RESIDENT: Probe = Probe {
    name: "l2-resident",
    about: "whether as many bytes as L2 has stay in it, by where they begin",
    run: resident,
};

/// Share of the lines of L2 that are gone over at first; more or fewer then, so many times at most.
const FIRST_SHARE: f64 = 0.375;
const LOOKS: usize = 16;
/// Lines in crowded sets that are enough.
const ENOUGH: usize = 48;
/// Most lines that the search in one set goes over.
const MOST: usize = 2048;
/// Warps of each SM that go over the lines.
const WARPS: u32 = 8;
/// Bytes between the starts of the sets that may stay.
const PAGE: u64 = 2 << 20;

/// Random lines that miss when all SMs go over them a second time: neither too few nor too many.
fn crowded(sight: &mut Sight<'_>, random: &mut Random) -> Result<Vec<u64>, ProbeError> {
    let bytes = sight.bench.card().l2_bytes;
    let room = (4 * bytes).max(1 << 20);
    let base = sight.bench.allocate(room, "lines that may share a set")?;
    let mut share = FIRST_SHARE;
    for _ in 0..LOOKS {
        let count = (bytes / LINE) as f64 * share;
        let lines = (0..count as u64).map(|_| base + random.below(room / LINE) * LINE);
        let mut list: Vec<u64> = lines.collect();
        list.sort_unstable();
        list.dedup();
        for index in (1..list.len()).rev() {
            list.swap(index, random.below(index as u64 + 1) as usize);
        }
        let place = Place::Everywhere { warps: WARPS };
        let times = sight.bench.times_of_last(2, &list, Load::PastL1, place)?;
        let missed = list
            .iter()
            .zip(times)
            .filter(|(_, time)| *time >= sight.miss);
        let missed: Vec<u64> = missed.map(|(line, _)| *line).collect();
        if missed.len() < ENOUGH {
            share *= 1.2;
        } else if missed.len() > MOST {
            share /= 1.6;
        } else {
            return Ok(missed);
        }
    }
    Err(ProbeError::Inconclusive {
        probe: ASSOCIATIVITY.name,
        reason: "of random lines either none miss a second time or most".to_owned(),
    })
}

fn associativity(bench: &mut Bench, choice: &Choice) -> Result<Outcome, ProbeError> {
    let probe = ASSOCIATIVITY.name;
    let mut random = Random::new(3);
    let fresh = bench.allocate(64 * LINE, "lines for the first look")?;
    let lines: Vec<u64> = (0..64).map(|index| fresh + index * LINE).collect();
    let mut sight = Sight::new(bench, choice.sm, probe, Cache::L2, &lines)?;
    let missed = crowded(&mut sight, &mut random)?;
    let found = missed.len();
    let mut found_set = None;
    let mut tried: Vec<u64> = Vec::new();
    for &target in &missed {
        if tried.contains(&target) {
            continue;
        }
        let pool = missed.iter().copied().filter(|line| *line != target);
        let Some(set) = sight.find_set(target, pool.collect(), &mut random, probe)? else {
            continue;
        };
        if sight.holds(&set)? {
            found_set = Some(set);
            break;
        }
        tried.extend(set.others);
    }
    let Some(set) = found_set else {
        return Err(ProbeError::Inconclusive {
            probe,
            reason: format!(
                "of {found} lines that missed no few are found that stay alone and push each other out with one \
                 more"
            ),
        });
    };
    let ways = set.others.len();
    let mut outcome = sight.chains(set, "L2", "loads past L1")?;
    outcome.found("l2_ways", ways, "");
    outcome.notes.push(format!(
        "{found} random lines were of sets with more lines than ways"
    ));
    Ok(outcome)
}

const TOUCH: &str = include_str!("kernels/touch.sass");
/// Sectors that were looked up in L2 for loads and not found.
const MISSES: &str = "lts__t_sectors_op_read_lookup_miss.sum";

/// Sectors that miss in so many passes over `lines` lines from `base` on.
fn misses(bench: &mut Bench, base: u64, lines: u32, passes: u32) -> Result<u64, ProbeError> {
    let order = Order::new(lines);
    let shape = Shape {
        ctas: bench.card().sms,
        threads: WARPS * LANES,
    };
    let arguments = [
        Word::U64(base),
        Word::U32(lines),
        Word::U32(order.mask),
        Word::U32(order.multiplier),
        Word::U32(passes),
    ];
    let report = bench.launch("touch", TOUCH, Load::PastL1, shape, &arguments)?;
    let metric = report
        .timing
        .as_ref()
        .and_then(|timing| timing.metric(MISSES));
    metric
        .map(|count| count as u64)
        .ok_or_else(|| ProbeError::Inconclusive {
            probe: RESIDENT.name,
            reason: format!("no counter {MISSES}"),
        })
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Lines of `bytes` bytes from `base` on that are gone again when all SMs come to them the next time.
fn lost(bench: &mut Bench, base: u64, bytes: u64) -> Result<u64, ProbeError> {
    let lines = (bytes / LINE) as u32;
    // The first launch leaves L2 as every later one does; one more pass misses what does not stay.
    misses(bench, base, lines, 1)?;
    let once = misses(bench, base, lines, 1)?;
    let twice = misses(bench, base, lines, 2)?;
    Ok(twice.saturating_sub(once))
}

fn resident(bench: &mut Bench, _: &Choice) -> Result<Outcome, ProbeError> {
    let bytes = bench.card().l2_bytes;
    let half = bytes / 2;
    let slices = counters::slices(bench)? as u64;
    // The driver's first allocation begins where pages do.
    let start = bench.allocate(2 * bytes, "as many bytes as L2 has")?;
    let mut table = Rows::new("starts", &["start bytes", "lines that miss", "% that stay"]);
    let mut points = Vec::new();
    let page = PAGE.min(half / 4);
    let share = |missed: u64, bytes: u64| 100.0 * (1.0 - missed as f64 / (bytes / LINE) as f64);
    let mut best = (f64::NEG_INFINITY, 0);
    for offset in [0, page, half / page / 2 * page, half] {
        let missed = lost(bench, start + offset, bytes)?;
        let stay = share(missed, bytes);
        if stay > best.0 {
            best = (stay, offset);
        }
        points.push((offset as f64 / f64::from(1 << 20), stay));
        table.row([offset.into(), missed.into(), Cell::Real(stay)]);
    }
    // From the best of them on: less than L2 holds, all of it, a slice of it more, and still more.
    let base = start + best.1;
    let slice = bytes / slices.max(1) / LINE * LINE;
    let mut sizes = Rows::new(
        "sizes",
        &[
            "bytes from the best start",
            "lines that miss",
            "% that stay",
        ],
    );
    let mut stay_of = Vec::new();
    for size in [half, bytes - slice, bytes, bytes + slice, bytes + half] {
        let missed = lost(bench, base, size)?;
        let stay = share(missed, size);
        stay_of.push((size, missed, stay));
        sizes.row([size.into(), missed.into(), Cell::Real(stay)]);
    }
    let mut outcome = Outcome::new(Plot {
        title: format!(
            "{}: lines that stay of as many as L2 holds",
            bench.card().name
        ),
        x: Axis {
            title: "start in MiB".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            title: "% that stay".to_owned(),
            scale: Scale::Linear,
        },
        series: vec![Series {
            name: "one sector of each line, twice".to_owned(),
            mark: Mark::Bars,
            points,
        }],
    });
    let whole = stay_of.iter().filter(|(_, missed, _)| *missed == 0);
    let most = whole.map(|(size, ..)| *size).max().unwrap_or(0);
    outcome.found("l2_bytes", bytes, "bytes");
    outcome.found("start", best.1, "bytes");
    outcome.found("most_that_stay", best.0, "%");
    outcome.found("largest_that_stays_whole", most, "bytes");
    outcome.found("slice_more_bytes", bytes + slice, "bytes");
    outcome.found("slice_more_that_stay", stay_of[3].2, "%");
    outcome.tables.push(table);
    outcome.tables.push(sizes);
    outcome.notes.push(match most >= bytes {
        true => format!(
            "{:.2} MiB stay resident from the best start, as many as L2 has; with a slice more {} of {} lines \
             miss",
            mebibytes(bytes),
            stay_of[3].1,
            stay_of[3].0 / LINE
        ),
        false => format!(
            "{:.2} MiB, as many as L2 has, stay only in part from every start that was tried: sets are chosen \
             unevenly, or something else takes lines",
            mebibytes(bytes)
        ),
    });
    outcome.notes.push(
        "code, constants and counters take lines of their own: each can make the lines of its set miss"
            .to_owned(),
    );
    Ok(outcome)
}
