//! `chase`: the time of a dependent load against the bytes that loads are spread over. The staircase whose
//! steps are the L1 cache, the L2 cache and the DRAM, with the loads of an SM through L1 and past it. A hop is a
//! load and what a loop adds to it (MODEL.md T3), here two sums of what was loaded and the loop's own instructions: a
//! choice, as what the measured loop held is not known. A chase without the sums tells how much of a hop that is.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LINE};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::ring::{Chase, Footprint, ROUND};

/// The probe.
pub const PROBE: Probe = Probe {
    name: "chase",
    about: "time of a dependent load over the bytes that are touched: L1, L2 and DRAM",
    run,
};

/// Bytes of the smallest footprint.
const FIRST: u64 = 1 << 10;
/// Lines up to which a ring holds the whole footprint; of larger ones it holds those touched first.
const WHOLE: u64 = 4096;
/// Hops that are timed at least, and hops of a ring that holds a part of its footprint.
const HOPS: usize = 1024;
/// Pages of 2 MiB that every translation cache holds: within them the DRAM is seen without translations.
const NEAR: u64 = 16 << 20;

/// The footprints: powers of two and the numbers in the middle, to twice the L2 cache.
fn footprints(l2_bytes: u64) -> Vec<u64> {
    let last = (2 * l2_bytes).max(4 * FIRST);
    let powers = (0..).map(|k| FIRST << k).take_while(|bytes| *bytes <= last);
    let mut all: Vec<u64> = powers
        .flat_map(|bytes| [bytes, bytes + bytes / 2])
        .collect();
    all.retain(|bytes| *bytes < last);
    all.push(last);
    all
}

fn run(bench: &mut Bench, choice: &Choice) -> Result<Outcome, ProbeError> {
    let card = bench.card().clone();
    let last = 2 * card.l2_bytes;
    let base = bench.allocate(last.max(NEAR), "the footprint of a chase")?;
    let mut table = Rows::new(
        "staircase",
        &["footprint bytes", "L1 cycles", "past L1 cycles"],
    );
    let mut through = Vec::new();
    let mut past = Vec::new();
    for bytes in footprints(card.l2_bytes) {
        let cached = hop(bench, base, bytes, (Load::Cached, false), choice.sm)?;
        let uncached = hop(bench, base, bytes, (Load::PastL1, false), choice.sm)?;
        through.push((bytes as f64, cached));
        past.push((bytes as f64, uncached));
        table.row([bytes.into(), cached.into(), Cell::Real(uncached)]);
    }
    let dram = cold(bench, base, choice.sm)?;
    // The smallest footprint fits every cache.
    let (l1, l2) = (through[0].1, past[0].1);
    let loop_adds = l1 - hop(bench, base, FIRST, (Load::Cached, true), choice.sm)?;
    let farthest = through[through.len() - 1].1;
    let series = |name: &str, points| Series {
        name: name.to_owned(),
        mark: Mark::Line,
        points,
    };
    let mut outcome = Outcome::new(Plot {
        title: format!("{}: a hop of a pointer chase, SM {}", card.name, choice.sm),
        x: Axis {
            title: "bytes that are touched".to_owned(),
            scale: Scale::Binary,
        },
        y: Axis {
            title: "cycles".to_owned(),
            scale: Scale::Linear,
        },
        series: vec![
            series("through L1", through.clone()),
            series("past L1", past),
        ],
    });
    for (name, nanoseconds, cycles) in [
        ("l1_hit", "l1_hit_time", l1),
        ("l2_hit", "l2_hit_time", l2),
        ("dram", "dram_time", dram),
        (
            "dram_and_translation",
            "dram_and_translation_time",
            farthest,
        ),
    ] {
        outcome.found(name, cycles, "cycles");
        outcome.found(nanoseconds, card.nanoseconds(cycles), "ns");
    }
    outcome.found("loop_adds", loop_adds, "cycles");
    // L1 ends where a hop has gone half of the way to L2.
    let within = through.iter().filter(|point| point.1 < (l1 + l2) / 2.0);
    outcome.found(
        "l1_bytes",
        within.map(|point| point.0 as u64).max().unwrap_or(0),
        "bytes",
    );
    let within = through
        .iter()
        .filter(|point| point.1 < (l2 + farthest) / 2.0);
    outcome.found(
        "l2_bytes",
        within.map(|point| point.0 as u64).max().unwrap_or(0),
        "bytes",
    );
    outcome.notes.push(
        "a hop is a load of a pointer and what the loop adds, two sums among it; a load alone takes loop_adds less"
            .to_owned(),
    );
    outcome.notes.push(
        "dram: lines that were never loaded, within 16 MiB; dram_and_translation: twice the L2 cache, so that \
         translations are missing too"
            .to_owned(),
    );
    outcome.tables.push(table);
    Ok(outcome)
}

/// Cycles of a hop in a footprint, by its load and whether it has nothing else.
fn hop(
    bench: &mut Bench,
    base: u64,
    bytes: u64,
    (load, bare): (Load, bool),
    sm: u32,
) -> Result<f64, ProbeError> {
    let lines = bytes / LINE;
    let footprint = Footprint {
        base,
        lines: lines as u32,
    };
    if lines <= WHOLE {
        let ring = footprint.first(lines as usize);
        let lap = ring.len().next_multiple_of(ROUND);
        return bench.chase(&Chase {
            ring: &ring,
            touched: None,
            load,
            bare,
            sm,
            hops: (2 * lap, lap.max(HOPS / 4)),
        });
    }
    // One lap: a second would find what the first has brought.
    bench.chase(&Chase {
        ring: &footprint.first(HOPS),
        touched: Some(footprint),
        load,
        bare,
        sm,
        hops: (ROUND, HOPS - ROUND),
    })
}

/// Cycles of a hop to lines that no cache holds, in few pages: they are pushed out by a footprint elsewhere.
fn cold(bench: &mut Bench, base: u64, sm: u32) -> Result<f64, ProbeError> {
    let near = Footprint {
        base,
        lines: (NEAR / LINE) as u32,
    };
    let lines = 2 * bench.card().l2_bytes / LINE;
    let other = bench.allocate(lines * LINE, "a footprint that pushes out another")?;
    let elsewhere = Footprint {
        base: other,
        lines: lines as u32,
    };
    let cycles = bench.chase(&Chase {
        ring: &near.first(2 * HOPS),
        touched: Some(elsewhere),
        load: Load::Cached,
        bare: false,
        sm,
        hops: (ROUND, 2 * HOPS - ROUND),
    })?;
    bench.free(other);
    Ok(cycles)
}
