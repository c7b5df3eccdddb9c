//! `tlb`: translations that an SM holds, the bytes that one is good for, and what a missing one costs.
//!
//! Loads past L1 go around over lines in more and more pages; their lines stay in L2. From one page too many
//! on every hop misses its translation, the next is always the one that was replaced longest ago.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LINE};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::ring::{Chase, ROUND};

/// The probe.
pub const PROBE: Probe = Probe {
    name: "tlb",
    about: "translations that an SM holds, bytes of a page, cost of a miss",
    run,
};

/// Stride that no page exceeds, for the count of translations.
const FAR: u64 = 16 << 20;
/// Most pages that are gone around over.
const MOST: usize = 128;
/// Least stride that is tried for the size of a page.
const NEAREST: u64 = 4 << 10;
/// A step of fewer cycles is none.
const STEP: f64 = 1.0;
/// SMs at most on which the cost is measured again.
const SMS: u32 = 8;

/// Lines `stride` apart, each at another place of its stretch, so that they do not share sets.
fn spread(base: u64, stride: u64, count: usize) -> Vec<u64> {
    let places = stride / LINE;
    (0..count as u64)
        .map(|index| base + index * stride + index.wrapping_mul(0x9e37_79b1) % places * LINE)
        .collect()
}

/// Cycles of a hop around over `count` lines `stride` apart.
fn hop(
    bench: &mut Bench,
    base: u64,
    stride: u64,
    count: usize,
    sm: u32,
) -> Result<f64, ProbeError> {
    let ring = spread(base, stride, count);
    let lap = count.next_multiple_of(ROUND);
    // The first lap brings the lines to L2, the second the translations as they stay.
    bench.chase(&Chase {
        bare: false,
        ring: &ring,
        touched: None,
        load: Load::PastL1,
        sm,
        hops: (2 * lap, (2 * lap).max(8 * ROUND)),
    })
}

fn run(bench: &mut Bench, choice: &Choice) -> Result<Outcome, ProbeError> {
    let card = bench.card().clone();
    let most = (card.dram_bytes / 2 / FAR).min(MOST as u64).max(2) as usize;
    let base = bench.allocate(FAR * most as u64, "lines in many pages")?;
    let base = base.next_multiple_of(FAR.min(2 << 20));
    let most = most - 1;
    let mut table = Rows::new("pages", &["lines, each in its page", "cycles per hop"]);
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut counts: Vec<usize> = (1..=most).collect();
    // Singly up to 32, then coarser.
    counts.retain(|count| *count <= 32 || count % 8 == 0);
    for &count in &counts {
        let cycles = hop(bench, base, FAR, count, choice.sm)?;
        points.push((count as f64, cycles));
        table.row([count.into(), Cell::Real(cycles)]);
    }
    let few = points[0].1;
    let many = points[points.len() - 1].1;
    let mut outcome = Outcome::new(Plot {
        title: format!("{}: a hop past L1 over lines in many pages", card.name),
        x: Axis {
            title: "pages".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            title: "cycles".to_owned(),
            scale: Scale::Linear,
        },
        series: vec![Series {
            name: format!("SM {}", choice.sm),
            mark: Mark::Line,
            points: points.clone(),
        }],
    });
    outcome.tables.push(table);
    outcome.found("hit", few, "cycles");
    if many - few < STEP {
        outcome.notes.push(format!(
            "no step up to {} pages: this SM has as many translations as are needed, or looks none up",
            counts[counts.len() - 1]
        ));
        return Ok(outcome);
    }
    let half = (few + many) / 2.0;
    let within = points.iter().filter(|point| point.1 < half);
    let entries = within.map(|point| point.0 as usize).max().unwrap_or(0);
    outcome.found("tlb_entries", entries, "");
    outcome.found("miss_cost", many - few, "cycles");
    outcome.found("miss_cost_time", card.nanoseconds(many - few), "ns");

    // Four times as many lines as there are translations, at growing strides: while several lines share a
    // page only the first of them misses, from the page's size on each does.
    let lines = (4 * entries).min(most);
    let mut strides = Rows::new(
        "strides",
        &["stride bytes", "cycles per hop", "hops that miss"],
    );
    let mut page = None;
    let mut stride = NEAREST;
    while stride <= FAR {
        let cycles = hop(bench, base, stride, lines, choice.sm)?;
        let share = ((cycles - few) / (many - few)).clamp(0.0, 1.0);
        strides.row([stride.into(), Cell::Real(cycles), Cell::Real(share)]);
        if share > 0.75 && page.is_none() {
            page = Some(stride);
        }
        stride *= 2;
    }
    outcome.tables.push(strides);
    match page {
        Some(page) => {
            outcome.found("page_bytes", page, "bytes");
            outcome.found("tlb_reach", page * entries as u64, "bytes");
        }
        None => outcome
            .notes
            .push("no stride up to 16 MiB misses at every hop".to_owned()),
    }

    // The same from other SMs.
    let mut costs = Rows::new("sms", &["SM", "hit cycles", "cost of a miss"]);
    let step = card.sms.div_ceil(SMS).max(1);
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    for sm in (0..card.sms).step_by(step as usize) {
        let near = hop(bench, base, FAR, 1, sm)?;
        let far = hop(bench, base, FAR, (2 * entries).min(most), sm)?;
        range = (range.0.min(far - near), range.1.max(far - near));
        costs.row([sm.into(), Cell::Real(near), Cell::Real(far - near)]);
    }
    outcome.tables.push(costs);
    outcome.found("least_miss_cost_of_sms", range.0, "cycles");
    outcome.found("most_miss_cost_of_sms", range.1, "cycles");
    Ok(outcome)
}
