//! `bandwidth`: bytes per cycle from shared memory, L1, L2 and DRAM, by the width of an access and the number
//! of SMs that take part.

use std::fmt::Write;

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LANES, Shape, Word};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::stamps::span;

/// The probe.
pub const PROBE: Probe = Probe {
    name: "bandwidth",
    about: "bytes per cycle of shared memory, L1, L2 and DRAM, by access width and number of SMs",
    run,
};

const STREAM: &str = include_str!("kernels/stream.sass");
const SHARED: &str = include_str!("kernels/shared.sass");
/// Threads of the one CTA of each SM.
const THREADS: u32 = 512;
/// Loads in flight of each thread.
const FLIGHT: u32 = 8;
/// Groups of them that are waited for together, and the dependence counter of the first; those before it are
/// the rest of the kernel's.
const GROUPS: u32 = 4;
const FIRST_COUNTER: u32 = 2;
/// Rounds of so many loads.
const ROUNDS: u32 = 8;
/// Widths of an access in bytes.
const WIDTHS: [u32; 3] = [4, 8, 16];

/// Where the bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Shared,
    L1,
    L2,
    Dram,
}

impl Level {
    const ALL: [Level; 4] = [Level::Shared, Level::L1, Level::L2, Level::Dram];

    fn name(self) -> &'static str {
        match self {
            Level::Shared => "shared",
            Level::L1 => "L1",
            Level::L2 => "L2",
            Level::Dram => "DRAM",
        }
    }

    fn load(self) -> Load {
        match self {
            Level::L2 => Load::PastL1,
            _ => Load::Cached,
        }
    }

    /// Whether SMs share it.
    fn is_shared_by_sms(self) -> bool {
        matches!(self, Level::L2 | Level::Dram)
    }
}

fn suffix(width: u32) -> &'static str {
    match width {
        4 => "",
        8 => ".64",
        _ => ".128",
    }
}

/// The text with its eight loads of a width, in groups that have a dependence counter each: a warp waits for
/// one group and loads it anew while the others are in flight.
fn text(level: Level, width: u32) -> String {
    let suffix = suffix(width);
    let (pattern, load) = match level {
        Level::Shared => (SHARED, format!("LDS{suffix}")),
        _ => (STREAM, format!("LDG.E{suffix}{}", level.load().suffix())),
    };
    let mut loads = String::new();
    // Writing to a string does not fail.
    for group in 0..GROUPS {
        let members = group * FLIGHT / GROUPS..(group + 1) * FLIGHT / GROUPS;
        for index in members.clone() {
            let data = 32 + 4 * index;
            let _ = writeln!(loads, "LOP3.LUT R9, R9, R{data}, RZ, 0x3c, !PT ;");
        }
        for index in members.clone().filter(|_| level.is_shared_by_sms()) {
            let address = 16 + 2 * index;
            let _ = writeln!(
                loads,
                "LOP3.LUT R14, R13, R12, RZ, 0xc0, !PT ;\n\
                 IMAD.WIDE.U32 R{address}, R14, R15, c[0x0][base] ;\n\
                 IADD3 R13, R13, c[0x0][step], RZ ;"
            );
        }
        for index in members {
            let (counter, data) = (FIRST_COUNTER + group, 32 + 4 * index);
            let address = match level {
                Level::Shared => "[R12]".to_owned(),
                Level::L1 => "[R16.64]".to_owned(),
                _ => format!("[R{}.64]", 16 + 2 * index),
            };
            let _ = writeln!(loads, "[B?:R?:W{counter}:?:S?] {load} R{data}, {address} ;");
        }
    }
    // What every SM has for itself is loaded from one place, so that nothing but loads takes time.
    let place = match level {
        Level::L1 => "IMAD.WIDE.U32 R16, R13, R15, c[0x0][base] ;\n",
        _ => "",
    };
    pattern
        .replace("    LOADS\n", &loads)
        .replace("    PLACE\n", place)
}

/// The texts of all levels and widths.
pub(crate) fn texts() -> Vec<(String, Load)> {
    let levels = Level::ALL.into_iter();
    let all = levels.flat_map(|level| WIDTHS.map(|width| (text(level, width), level.load())));
    all.collect()
}

/// Bytes per cycle of so many SMs together.
fn measure(
    bench: &mut Bench,
    level: Level,
    width: u32,
    sms: u32,
    base: u64,
) -> Result<f64, ProbeError> {
    let name = format!("{}_{width}", level.name());
    let shape = Shape {
        ctas: sms,
        threads: THREADS,
    };
    let text = text(level, width);
    let all = sms * THREADS * width;
    let stamps = match level {
        Level::Shared => {
            let after = [Word::U32(width), Word::U32(2), Word::U32(ROUNDS)];
            bench.stamps(&name, &text, level.load(), shape, (&[], &after))?
        }
        _ => {
            let (step, mask, laps) = match level {
                // Each thread loads the same again and again.
                Level::L1 => (0, u32::MAX, 2),
                Level::L2 => (all, footprint(bench.card().l2_bytes / 4) - 1, 2),
                // Once, and everything from DRAM.
                _ => (all, u32::MAX, 1),
            };
            let after = [
                Word::U32(width),
                Word::U32(step),
                Word::U32(mask),
                Word::U32(laps),
                Word::U32(ROUNDS),
            ];
            let words: (&[Word], &[Word]) = (&[Word::U64(base)], &after);
            if level == Level::L2 {
                // An SM that is ahead must not find what another is about to bring.
                bench.stamps(&name, &text, level.load(), shape, words)?;
            }
            bench.stamps(&name, &text, level.load(), shape, words)?
        }
    };
    let bytes = f64::from(all) * f64::from(FLIGHT * ROUNDS);
    Ok(bytes / f64::from(span(&stamps)))
}

/// The greatest power of two of bytes that is not above, for masks.
fn footprint(bytes: u64) -> u32 {
    1 << bytes.max(1 << 12).ilog2().min(30)
}

fn run(bench: &mut Bench, _: &Choice) -> Result<Outcome, ProbeError> {
    let card = bench.card().clone();
    let once = u64::from(card.sms * THREADS * FLIGHT * ROUNDS) * 16;
    // A piece for every measurement: what one has loaded may still be in L2 when the next begins.
    let base = bench.allocate(once + card.l2_bytes, "bytes to stream")?;
    let mut counts = vec![1, card.sms.div_ceil(4), card.sms.div_ceil(2), card.sms];
    counts.dedup();
    let mut table = Rows::new(
        "bandwidths",
        &["from", "bits", "SMs", "bytes per cycle", "by SM", "GB/s"],
    );
    let mut series = Vec::new();
    let mut best = Vec::new();
    for level in Level::ALL {
        let mut most: (f64, f64) = (0.0, 0.0);
        for width in WIDTHS {
            let mut points = Vec::new();
            for &sms in &counts {
                // What an SM has for itself does not depend on the others.
                if !level.is_shared_by_sms() && sms != 1 && sms != card.sms {
                    continue;
                }
                if level == Level::Dram {
                    push_out(bench, base + once)?;
                }
                let rate = measure(bench, level, width, sms, base)?;
                let by_sm = rate / f64::from(sms);
                most = (most.0.max(rate), most.1.max(by_sm));
                points.push((f64::from(sms), rate));
                table.row([
                    level.name().into(),
                    (width * 8).into(),
                    sms.into(),
                    Cell::Real(rate),
                    Cell::Real(by_sm),
                    Cell::Real(rate * card.clock / 1000.0),
                ]);
            }
            if width == 16 {
                series.push(Series {
                    name: format!("{}, 128 bits", level.name()),
                    mark: Mark::Line,
                    points,
                });
            }
        }
        best.push(most);
    }
    let mut outcome = Outcome::new(Plot {
        title: format!("{}: bytes per cycle", card.name),
        x: Axis {
            title: "SMs".to_owned(),
            scale: Scale::Binary,
        },
        y: Axis {
            title: "bytes per cycle".to_owned(),
            scale: Scale::Binary,
        },
        series,
    });
    outcome.found("shared_by_sm", best[0].1, "bytes/cycle");
    outcome.found("l1_by_sm", best[1].1, "bytes/cycle");
    outcome.found("l2", best[2].0, "bytes/cycle");
    outcome.found("dram", best[3].0, "bytes/cycle");
    let rate = best[3].0 * card.clock / 1000.0;
    outcome.found("dram_rate", rate, "GB/s");
    outcome.found(
        "dram_share",
        100.0 * rate / card.bandwidth,
        "% of the data sheet's",
    );
    outcome.tables.push(table);
    outcome.notes.push(format!(
        "one CTA of {THREADS} threads on each SM, {FLIGHT} loads in flight of each thread"
    ));
    Ok(outcome)
}

/// Loads as many bytes as L2 has, so that nothing else is left in it.
fn push_out(bench: &mut Bench, base: u64) -> Result<(), ProbeError> {
    let lines = (bench.card().l2_bytes / crate::bench::LINE) as u32;
    let order = crate::random::Order::new(lines);
    let shape = Shape {
        ctas: bench.card().sms,
        threads: 8 * LANES,
    };
    let arguments = [
        Word::U64(base),
        Word::U32(lines),
        Word::U32(order.mask),
        Word::U32(order.multiplier),
        Word::U32(1),
    ];
    let touch = include_str!("kernels/touch.sass");
    bench.launch("touch", touch, Load::PastL1, shape, &arguments)?;
    Ok(())
}
