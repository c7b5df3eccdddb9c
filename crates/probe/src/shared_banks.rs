//! `shared-banks`: banks of shared memory, from what a load takes longer when its lanes lie apart.
//!
//! Lanes that want different words of one bank are served one after the other. Loads of 64 and 128 bits are
//! served for half and quarter warps, and only what one such part wants from a bank counts together.

use report::plot::{Axis, Mark, Plot, Scale, Series};

use crate::bench::{Bench, LANES, Shape, Word};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::list::{Choice, Probe};
use crate::outcome::{Cell, Outcome, Rows};

/// The probe.
pub const PROBE: Probe = Probe {
    name: "shared-banks",
    about: "bank conflicts of shared memory by stride, for loads of 32, 64 and 128 bits",
    run,
};

const TEXT: &str = include_str!("kernels/banks.sass");
/// Bytes of a word, which banks interleave.
const WORD: u32 = 4;
/// The longest stride in words.
const LONGEST: u32 = 64;

fn text(width: u32) -> String {
    let suffix = match width {
        4 => "",
        8 => ".64",
        _ => ".128",
    };
    TEXT.replace("LDSW", &format!("LDS{suffix}"))
}

/// The texts of all widths.
pub(crate) fn texts() -> [String; 3] {
    [4, 8, 16].map(text)
}

/// Cycles of a load of `width` bytes whose lanes are `stride` bytes apart.
fn cycles(bench: &mut Bench, width: u32, stride: u32) -> Result<u32, ProbeError> {
    let text = text(width);
    let name = format!("banks_{width}");
    let shape = Shape {
        ctas: 1,
        threads: LANES,
    };
    let stamps = bench.stamps(
        &name,
        &text,
        Load::Cached,
        shape,
        (&[], &[Word::U32(stride)]),
    )?;
    Ok(stamps[0].cycles())
}

fn run(bench: &mut Bench, _: &Choice) -> Result<Outcome, ProbeError> {
    let mut table = Rows::new(
        "strides",
        &["bits", "stride words", "cycles", "more than the least"],
    );
    let mut series = Vec::new();
    let mut outcome_banks = 0;
    let mut findings = Vec::new();
    for width in [4u32, 8, 16] {
        let words = width / WORD;
        let strides = (0..=LONGEST).filter(|stride| stride % words == 0);
        // Every stride up to 8, then those that matter: even ones, and odd neighbours of powers of two.
        let strides = strides.filter(|s| {
            *s <= 8 || s.is_power_of_two() || (s - 1).is_power_of_two() || (s + 1).is_power_of_two()
        });
        let mut points = Vec::new();
        for stride in strides {
            points.push((stride, cycles(bench, width, stride * WORD)?));
        }
        // All lanes want the same: that conflicts with nothing. The same for lanes in a row.
        let in_a_row = points
            .iter()
            .find(|point| point.0 == words)
            .map_or(0, |point| point.1);
        let least = points
            .iter()
            .skip(1)
            .map(|point| point.1)
            .min()
            .unwrap_or(0);
        let most = points.iter().map(|point| point.1).max().unwrap_or(0);
        for &(stride, cycles) in &points {
            table.row([
                (width * 8).into(),
                stride.into(),
                cycles.into(),
                cycles.saturating_sub(least).into(),
            ]);
        }
        if width == 4 {
            // From the stride on that is the number of banks all lanes want the same bank.
            let all = points.iter().find(|point| point.1 == most);
            outcome_banks = all.map_or(0, |point| point.0);
            findings.push(("conflict_32_bits", most - least));
        } else if width == 8 {
            findings.push(("conflict_64_bits", most - least));
        } else {
            findings.push(("conflict_128_bits", most - least));
        }
        findings.push(match width {
            4 => ("in_a_row_32_bits", in_a_row),
            8 => ("in_a_row_64_bits", in_a_row),
            _ => ("in_a_row_128_bits", in_a_row),
        });
        series.push(Series {
            name: format!("{} bits", width * 8),
            mark: Mark::Line,
            points: points
                .iter()
                .map(|p| (f64::from(p.0), f64::from(p.1)))
                .collect(),
        });
    }
    let mut outcome = Outcome::new(Plot {
        title: format!("{}: a load of shared memory by stride", bench.card().name),
        x: Axis {
            title: "words from lane to lane".to_owned(),
            scale: Scale::Linear,
        },
        y: Axis {
            title: "cycles, with two clock reads".to_owned(),
            scale: Scale::Linear,
        },
        series,
    });
    outcome.found("banks", outcome_banks, "");
    for (name, value) in findings {
        outcome.found(name, Cell::from(value), "cycles");
    }
    outcome.tables.push(table);
    Ok(outcome)
}
