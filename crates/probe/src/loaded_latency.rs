//! `loaded-latency`: how long a hop takes while other warps load too, up to as many as the GPU holds.
//!
//! Every warp chases by itself, a line at a time, so offered bandwidth rises with their number until the
//! level is used up; from there on only the time of a hop rises.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LANES, LINE, Shape, Word};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::stamps::span;

/// The probe.
pub const PROBE: Probe = Probe {
    name: "loaded-latency",
    about: "time of a hop against bandwidth, from one warp to all that the GPU holds",
    run,
};

const TEXT: &str = include_str!("kernels/load.sass");
/// Hops of each warp.
const HOPS: u32 = 32;
/// CTAs of an SM at most; their warps are what the SM holds in equal parts.
const CTAS: u32 = 2;

/// Time of a hop and bytes per cycle of so many warps.
fn measure(
    bench: &mut Bench,
    warps: u32,
    base: u64,
    (touched, lines): (u32, u32),
) -> Result<(f64, f64), ProbeError> {
    let sms = bench.card().sms;
    // CTAs as small as they can be, so that the warps are spread over the SMs.
    let ctas = if warps <= sms { warps } else { sms };
    let by_sm = warps / ctas;
    let most = bench.card().warps_per_sm / CTAS;
    let parts = by_sm.div_ceil(most.max(1));
    let shape = Shape {
        ctas: ctas * parts,
        threads: by_sm / parts * LANES,
    };
    let counter = bench.allocate(LINE, "warps that are ready")?;
    let running = shape.ctas * (shape.threads / LANES);
    let after = [
        Word::U64(counter),
        Word::U32(touched),
        Word::U32(lines - 1),
        Word::U32(HOPS),
        Word::U32(running),
        Word::U32(running.wrapping_mul(0x85eb_ca6b)),
    ];
    let stamps = bench.stamps(
        "load",
        TEXT,
        Load::PastL1,
        shape,
        (&[Word::U64(base)], &after),
    )?;
    bench.free(counter);
    let cycles = stamps
        .iter()
        .map(|stamp| u64::from(stamp.cycles()))
        .sum::<u64>();
    let hops = f64::from(running) * f64::from(HOPS);
    let latency = cycles as f64 / hops;
    let bandwidth = hops * LINE as f64 / f64::from(span(&stamps));
    Ok((latency, bandwidth))
}

fn run(bench: &mut Bench, _: &Choice) -> Result<Outcome, ProbeError> {
    let card = bench.card().clone();
    let all = card.sms * (card.warps_per_sm / CTAS * CTAS);
    // Far more lines than L2 holds, and a quarter of what it holds.
    let room = (card.dram_bytes / 4).min(32 * card.l2_bytes);
    let far = 1u64 << (room / LINE).max(2).ilog2().min(25);
    let near = 1u64 << (card.l2_bytes / 8 / LINE).max(2).ilog2().min(16);
    let base = bench.allocate(far * LINE, "lines to hop to")?;
    let mut counts = Vec::new();
    let mut warps = 1;
    while warps < all {
        counts.push(warps);
        warps *= 2;
        // Whole numbers of warps on every SM.
        if warps > card.sms {
            warps = warps / card.sms * card.sms;
        }
    }
    counts.push(all);
    let mut table = Rows::new(
        "loads",
        &["from", "warps", "cycles per hop", "bytes per cycle", "GB/s"],
    );
    let mut series = Vec::new();
    let mut outcome_numbers = Vec::new();
    for (name, lines, touched) in [("L2", near, near), ("DRAM", far, 0)] {
        let mut points = Vec::new();
        for &warps in &counts {
            let (latency, bandwidth) = measure(bench, warps, base, (touched as u32, lines as u32))?;
            points.push((bandwidth, latency));
            table.row([
                name.into(),
                warps.into(),
                Cell::Real(latency),
                Cell::Real(bandwidth),
                Cell::Real(bandwidth * card.clock / 1000.0),
            ]);
        }
        let most = points.iter().map(|point| point.0).fold(0.0, f64::max);
        let last = points.last().map_or(0.0, |point| point.1);
        outcome_numbers.push((points[0].1, last, most));
        series.push(Series {
            name: name.to_owned(),
            mark: Mark::Line,
            points,
        });
    }
    let mut outcome = Outcome::new(Plot {
        title: format!("{}: a hop under load, 1 to {all} warps", card.name),
        x: Axis {
            title: "bytes per cycle".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            title: "cycles per hop".to_owned(),
            scale: Scale::Linear,
        },
        series,
    });
    outcome.found("warps", all, "");
    let names = [
        ["l2_unloaded", "l2_loaded", "l2_most"],
        ["dram_unloaded", "dram_loaded", "dram_most"],
    ];
    for ([unloaded, loaded, most], numbers) in names.into_iter().zip(outcome_numbers) {
        outcome.found(unloaded, numbers.0, "cycles");
        outcome.found(loaded, numbers.1, "cycles");
        outcome.found(most, numbers.2, "bytes/cycle");
    }
    outcome.tables.push(table);
    outcome.notes.push(format!(
        "{HOPS} hops of each warp to whole lines; L2: {near} lines that were loaded before, DRAM: {far}"
    ));
    Ok(outcome)
}
