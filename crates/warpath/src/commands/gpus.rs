//! `warpath gpus`: the GPUs that are built in, with the figures by which people know them.

use std::io::Write;

use hardware::{CardParameters, MemoryParameters};
use report::table::{Align, Table};
use serde::Serialize;

use crate::cli::{GpusArguments, ListFormat};
use crate::failure::{Failure, Problem};
use crate::input::load_gpu;

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    title: String,
    architecture: String,
    sms: u32,
    core_clock_mhz: f64,
    l2_bytes: u64,
    dram_bytes: u64,
    bandwidth_gb_per_s: f64,
}

/// Prints the list.
pub fn run(arguments: &GpusArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut entries = Vec::new();
    for name in hardware::names() {
        let gpu = load_gpu(name, &[])?;
        let wrong = |error: hardware::HardwareError| Problem::new(error.to_string()).input();
        let card = CardParameters::load(&gpu).map_err(wrong)?;
        let memory = MemoryParameters::load(&gpu).map_err(wrong)?;
        entries.push(Entry {
            name,
            title: card.title,
            architecture: format!("sm_{}", card.architecture),
            sms: card.sms,
            core_clock_mhz: card.core_clock,
            l2_bytes: memory.l2_size,
            dram_bytes: memory.dram_size,
            bandwidth_gb_per_s: memory.bandwidth,
        });
    }
    if arguments.format == ListFormat::Json {
        return super::write_json(&entries, out);
    }
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("card", Align::Left),
        ("arch", Align::Left),
        ("SMs", Align::Right),
        ("clock MHz", Align::Right),
        ("L2 MiB", Align::Right),
        ("DRAM GiB", Align::Right),
        ("GB/s", Align::Right),
    ]);
    for entry in &entries {
        table.row([
            entry.name.to_owned(),
            entry.title.clone(),
            entry.architecture.clone(),
            entry.sms.to_string(),
            entry.core_clock_mhz.to_string(),
            (entry.l2_bytes as f64 / f64::from(1 << 20)).to_string(),
            (entry.dram_bytes as f64 / f64::from(1 << 30)).to_string(),
            entry.bandwidth_gb_per_s.to_string(),
        ]);
    }
    write!(out, "{table}")?;
    Ok(())
}
