//! `atomics`: additions per cycle by which words the lanes, warps and SMs add to.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LANES, LINE, Shape, Word};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};
use crate::stamps::span;

/// The probe.
pub const PROBE: Probe = Probe {
    name: "atomics",
    about: "throughput of global atomics by address pattern",
    run,
};

const TEXT: &str = include_str!("kernels/atomics.sass");
/// Warps of each SM, if it holds so many: enough that few SMs keep a slice busy.
const WARPS: u32 = 16;
/// Rounds of four additions of each thread, once so many and once twice: what the further ones add is the
/// throughput, as the first warps begin alone and the last end alone.
const ROUNDS: u32 = 4;

/// Words that are added to.
struct Pattern {
    name: &'static str,
    finding: &'static str,
    /// Bytes from lane to lane, and from warp to warp.
    strides: (u32, u32),
}

const PATTERNS: [Pattern; 6] = [
    Pattern {
        name: "one word of all",
        finding: "one_word",
        strides: (0, 0),
    },
    Pattern {
        name: "one line of all, a word of each lane",
        finding: "one_line",
        strides: (4, 0),
    },
    Pattern {
        name: "a word of each warp, in one line after the other",
        finding: "word_by_warp",
        strides: (0, 4),
    },
    Pattern {
        name: "a word of each warp, each in its line",
        finding: "line_by_warp",
        strides: (0, LINE as u32),
    },
    Pattern {
        name: "a line of each warp, a word of each lane",
        finding: "words_by_warp",
        strides: (4, LINE as u32),
    },
    Pattern {
        name: "a line of each lane",
        finding: "spread",
        strides: (LINE as u32, LINE as u32 * LANES),
    },
];

fn run(bench: &mut Bench, _: &Choice) -> Result<Outcome, ProbeError> {
    let card = bench.card().clone();
    let by_sm = WARPS.min(card.warps_per_sm);
    let shape = Shape {
        ctas: card.sms,
        threads: by_sm * LANES,
    };
    let warps = card.sms * by_sm;
    let mut table = Rows::new(
        "patterns",
        &[
            "words added to",
            "lanes per cycle",
            "warps per cycle",
            "cycles",
        ],
    );
    let mut points = Vec::new();
    let mut findings = Vec::new();
    for (index, pattern) in PATTERNS.iter().enumerate() {
        let (lane, warp) = pattern.strides;
        let bytes = u64::from(lane * (LANES - 1)) + u64::from(warp) * u64::from(warps - 1) + 4;
        let base = bench.allocate(bytes, "words to add to")?;
        let mut sum = 0;
        let mut spans = [0; 2];
        for (cycles, rounds) in spans.iter_mut().zip([ROUNDS, 2 * ROUNDS]) {
            let arguments = [Word::U32(lane), Word::U32(warp), Word::U32(rounds)];
            let stamps = bench.stamps(
                "atomics",
                TEXT,
                Load::Cached,
                shape,
                (&[Word::U64(base)], &arguments),
            )?;
            *cycles = span(&stamps);
            // Nothing is lost: the words hold what was added.
            sum += u64::from(warps * LANES * 4 * rounds);
            let words = bench.read(base, (bytes / 4) as usize)?;
            let found: u64 = words.iter().map(|&word| u64::from(word)).sum();
            if sum != found {
                return Err(ProbeError::Inconclusive {
                    probe: PROBE.name,
                    reason: format!("{}: {sum} additions of 1 gave {found}", pattern.name),
                });
            }
        }
        bench.free(base);
        let cycles = spans[1].saturating_sub(spans[0]).max(1);
        let rate = f64::from(warps * LANES * 4 * ROUNDS) / f64::from(cycles);
        points.push((index as f64, rate));
        findings.push((pattern.finding, rate));
        table.row([
            pattern.name.into(),
            Cell::Real(rate),
            Cell::Real(rate / f64::from(LANES)),
            cycles.into(),
        ]);
    }
    let mut outcome = Outcome::new(Plot {
        title: format!("{}: additions per cycle, {warps} warps", card.name),
        x: Axis {
            title: "pattern, in the order of the table".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            title: "lanes per cycle".to_owned(),
            scale: Scale::Linear,
        },
        series: vec![Series {
            name: "ATOMG.ADD of 32 bits".to_owned(),
            mark: Mark::Bars,
            points,
        }],
    });
    for (name, rate) in findings {
        outcome.found(name, rate, "lanes/cycle");
    }
    outcome.tables.push(table);
    Ok(outcome)
}
