//! `warpath area`: the bits that keeping dependences takes (MODEL.md §9.4).

use std::io::Write;

use device::{DependenceArea, DependenceMode, SmParameters};
use hardware::OccupancyParameters;
use report::number::grouped;
use serde_json::json;

use crate::cli::{AreaArguments, ListFormat};
use crate::failure::{Failure, Problem};
use crate::input::load_gpu;

/// Bits of a register.
const REGISTER_BITS: u64 = 32;

/// Prints the bits of every way to keep dependences; the GPU's own is marked.
pub fn run(arguments: &AreaArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let gpu = load_gpu(&arguments.gpu, &arguments.set)?;
    let wrong = |error: hardware::HardwareError| Problem::new(error.to_string()).input();
    let sm = SmParameters::load(&gpu).map_err(wrong)?;
    let limits = OccupancyParameters::load(&gpu).map_err(wrong)?;
    let file = u64::from(limits.registers_per_sm) * REGISTER_BITS;
    let warps = u64::from(limits.warps_per_sm);
    let own = sm.dependence.mode;
    let area = DependenceArea::new(limits.registers_per_thread, sm.dependence.consumers);
    let rows = DependenceMode::ALL.iter().map(|&mode| {
        let per_warp = area.bits_per_warp(mode);
        let per_sm = per_warp.map(|bits| u64::from(bits) * warps);
        let share = per_sm.map(|bits| 100.0 * bits as f64 / file as f64);
        (mode, per_warp, per_sm, share)
    });
    if arguments.format == ListFormat::Json {
        let schemes: Vec<_> = rows
            .map(|(mode, per_warp, per_sm, share)| {
                json!({
                    "dependence": mode.name(),
                    "own": mode == own,
                    "bits_per_warp": per_warp,
                    "bits_per_sm": per_sm,
                    "percent_of_registers": share,
                })
            })
            .collect();
        let value = json!({
            "gpu": gpu.name(),
            "warps_per_sm": warps,
            "register_file_bits": file,
            "consumers": sm.dependence.consumers,
            "schemes": schemes,
        });
        return super::write_json(&value, out);
    }
    let consumers = match sm.dependence.consumers {
        0 => "any number of".to_owned(),
        most => most.to_string(),
    };
    writeln!(
        out,
        "{}: {warps} warps per SM, {} bits of registers per SM, {consumers} readers counted\n",
        gpu.name(),
        grouped(file)
    )?;
    writeln!(
        out,
        "  {:<16} {:>13} {:>11} {:>9}",
        "dependence.mode", "bits per warp", "bits per SM", "share"
    )?;
    for (mode, per_warp, per_sm, share) in rows {
        let number = |bits: Option<u64>| bits.map_or("no bound".to_owned(), grouped);
        let share = share.map_or(String::new(), |share| format!("{share:.2} %"));
        writeln!(
            out,
            "{} {:<16} {:>13} {:>11} {share:>9}",
            if mode == own { '*' } else { ' ' },
            mode.name(),
            number(per_warp.map(u64::from)),
            number(per_sm),
        )?;
    }
    Ok(())
}
