//! One launch on one screen: what ran, how it sat on the GPU, how long it took and where the issue
//! slots went.

use std::fmt::{self, Write};

use device::launch::CheckOutcome;
use device::{HazardReport, LaunchReport, RunReport, Timing};

use crate::number::{bytes, grouped, rate, time};
use crate::table::{Align, Table};

/// How text is decorated.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style {
    /// Whether to use colour.
    pub colour: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }
}

/// Hazards and mismatches that are told one by one.
const SHOWN: usize = 6;
/// Columns of a full bar.
const BAR: usize = 32;

/// The whole run as text.
pub fn run(report: &RunReport, style: Style) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_run(&mut text, report, style);
    text
}

fn write_run(out: &mut String, report: &RunReport, style: Style) -> fmt::Result {
    if let Some(title) = &report.title {
        writeln!(out, "{}\n", style.bold(title))?;
    }
    let launches = report.launches.len();
    for (index, launch) in report.launches.iter().enumerate() {
        if launches > 1 {
            writeln!(out, "launch {} of {launches}", index + 1)?;
        }
        write_printed(out, &launch.printed)?;
        write_launch(out, launch, style)?;
        if index + 1 < launches {
            writeln!(out)?;
        }
    }
    write_checks(out, &report.checks, style)
}

/// What device code printed, as it stands.
fn write_printed(out: &mut String, printed: &str) -> fmt::Result {
    out.write_str(printed)?;
    if printed.is_empty() || printed.ends_with('\n') {
        return Ok(());
    }
    writeln!(out)
}

fn line(out: &mut String, head: &str, text: &str) -> fmt::Result {
    writeln!(out, "  {head:<13}{text}")
}

fn write_launch(out: &mut String, launch: &LaunchReport, style: Style) -> fmt::Result {
    writeln!(
        out,
        "{} on {} ({}), code for sm_{}, {} mode",
        style.bold(&launch.kernel),
        launch.gpu_title,
        launch.gpu,
        launch.architecture,
        launch.mode.name()
    )?;
    let threads = |extent: [u32; 3]| extent.into_iter().map(u64::from).product::<u64>();
    line(
        out,
        "grid",
        &format!(
            "{} {} of {} {}",
            counted(threads(launch.grid), "CTA"),
            extent(launch.grid),
            counted(threads(launch.block), "thread"),
            extent(launch.block)
        ),
    )?;
    let occupancy = &launch.occupancy;
    line(
        out,
        "resources",
        &format!(
            "{} registers per thread, {} static + {} dynamic shared memory per CTA",
            launch.registers,
            bytes(launch.static_shared.into()),
            bytes(launch.dynamic_shared.into())
        ),
    )?;
    let warps = occupancy.warps_per_sm();
    let achieved = launch
        .timing
        .as_ref()
        .and_then(|timing| timing.metric("sm__warps_active.avg.pct_of_peak_sustained_active"))
        .map_or(String::new(), |percent| {
            format!("; achieved {percent:.1} %")
        });
    line(
        out,
        "occupancy",
        &format!(
            "{} = {warps} of {} warps per SM ({:.1} %), limited by {}{achieved}",
            counted(occupancy.ctas_per_sm.into(), "CTA"),
            launch.warps_per_sm,
            100.0 * f64::from(warps) / f64::from(launch.warps_per_sm.max(1)),
            occupancy.limit
        ),
    )?;
    if let Some(timing) = &launch.timing {
        line(
            out,
            "cycles",
            &format!(
                "{} = {} at {} MHz, without the launch overhead of {} cycles",
                style.bold(&grouped(timing.cycles)),
                time(timing.nanoseconds()),
                timing.clock,
                grouped(timing.launch_overhead)
            ),
        )?;
    }
    let ipc = launch
        .timing
        .as_ref()
        .and_then(|timing| timing.metric("sm__inst_executed.avg.per_cycle_elapsed"))
        .map_or(String::new(), |ipc| format!("; IPC {ipc:.3} per SM"));
    line(
        out,
        "instructions",
        &format!(
            "{} warp, {} thread{ipc}",
            grouped(launch.warp_instructions),
            grouped(launch.thread_instructions)
        ),
    )?;
    if let Some(timing) = &launch.timing {
        write_slots(out, timing)?;
        write_memory(out, timing)?;
        write_hazards(out, timing.hazards.as_deref(), style)?;
    }
    if launch.not_modelled.is_empty() {
        line(out, "not modelled", "nothing that this run met")?;
    }
    for (index, what) in launch.not_modelled.iter().enumerate() {
        line(out, if index == 0 { "not modelled" } else { "" }, what)?;
    }
    line(
        out,
        "host",
        &format!(
            "{:.3} s, {} warp instructions/s, {}",
            launch.host_seconds,
            rate(launch.host_rate()),
            counted(launch.threads as u64, "thread")
        ),
    )?;
    let timing = launch.timing.iter();
    for kind in timing.flat_map(|timing| &timing.instances) {
        crate::instances::write(out, kind)?;
    }
    Ok(())
}

fn counted(count: u64, thing: &str) -> String {
    format!(
        "{} {thing}{}",
        grouped(count),
        if count == 1 { "" } else { "s" }
    )
}

fn extent([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

fn write_slots(out: &mut String, timing: &Timing) -> fmt::Result {
    let total: u64 = timing.issue_slots.iter().map(|(_, count)| count).sum();
    line(
        out,
        "issue slots",
        &format!(
            "{} = cycles x {} schedulers",
            grouped(total),
            timing.schedulers
        ),
    )?;
    let mut slots: Vec<_> = timing
        .issue_slots
        .iter()
        .filter(|(_, count)| *count > 0)
        .collect();
    slots.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut table = Table::new(&[
        ("", Align::Left),
        ("", Align::Right),
        ("", Align::Right),
        ("", Align::Left),
    ])
    .indented(4);
    for (reason, count) in slots {
        let share = *count as f64 / total.max(1) as f64;
        let bar = "█".repeat((share * BAR as f64).round() as usize);
        table.row([
            reason.name().to_owned(),
            grouped(*count),
            format!("{:.1} %", 100.0 * share),
            bar,
        ]);
    }
    write!(out, "{table}")
}

fn write_memory(out: &mut String, timing: &Timing) -> fmt::Result {
    let rates = [
        ("L1D", "l1tex__t_sector_hit_rate.pct"),
        ("L2", "lts__t_sector_hit_rate.pct"),
        ("L0I", "l0i_hit_rate.pct"),
        ("L1I", "l1i_hit_rate.pct"),
        ("constant", "constant_hit_rate.pct"),
    ];
    let rates: Vec<String> = rates
        .into_iter()
        .filter_map(|(name, metric)| Some(format!("{name} {:.1} %", timing.metric(metric)?)))
        .collect();
    if !rates.is_empty() {
        line(out, "hit rates", &rates.join("   "))?;
    }
    let read = timing.metric("dram__bytes_read.sum");
    let write = timing.metric("dram__bytes_write.sum");
    let throughput = timing.metric("dram__bytes.sum.per_second");
    let share = timing.metric("dram__throughput.avg.pct_of_peak_sustained_elapsed");
    if let (Some(read), Some(write), Some(throughput), Some(share)) =
        (read, write, throughput, share)
    {
        line(
            out,
            "DRAM",
            &format!(
                "{} read, {} written: {:.1} GB/s = {share:.1} % of the data sheet's {} GB/s",
                bytes(read as u64),
                bytes(write as u64),
                throughput / 1e9,
                timing.data_sheet_bandwidth
            ),
        )?;
    }
    Ok(())
}

fn write_hazards(out: &mut String, hazards: Option<&[HazardReport]>, style: Style) -> fmt::Result {
    let Some(hazards) = hazards else {
        return line(out, "hazards", "not looked for (--hazards off)");
    };
    if hazards.is_empty() {
        return line(out, "hazards", &style.good("none"));
    }
    line(
        out,
        "hazards",
        &style.bad(&format!("{} pairs of instructions", hazards.len())),
    )?;
    for hazard in hazards.iter().take(SHOWN) {
        line(
            out,
            "",
            &format!(
                "{} on {}, {} times, first {}:",
                hazard.kind,
                hazard.what,
                grouped(hazard.count),
                hazard.place
            ),
        )?;
        for (offset, text) in [&hazard.first, &hazard.second] {
            line(out, "", &format!("  {offset:04x}  {text}"))?;
        }
        let needed = match hazard.needed {
            0 => "a dependence counter must be waited for".to_owned(),
            needed => format!("{needed} are needed"),
        };
        line(
            out,
            "",
            &format!("  {} cycles apart, {needed}", hazard.found),
        )?;
    }
    if hazards.len() > SHOWN {
        line(
            out,
            "",
            &format!(
                "and {} more (all with --format json)",
                hazards.len() - SHOWN
            ),
        )?;
    }
    Ok(())
}

fn write_checks(out: &mut String, checks: &[CheckOutcome], style: Style) -> fmt::Result {
    for (index, check) in checks.iter().enumerate() {
        let comparison = &check.comparison;
        let verdict = if check.passed() {
            format!(
                "{} ({} elements)",
                style.good("passed"),
                grouped(comparison.elements as u64)
            )
        } else {
            format!(
                "{}: {} of {} elements differ",
                style.bad("FAILED"),
                grouped(comparison.mismatches as u64),
                grouped(comparison.elements as u64)
            )
        };
        let head = if index == 0 { "checks" } else { "" };
        line(
            out,
            head,
            &format!("{} = {}: {verdict}", check.buffer, check.expectation),
        )?;
        for mismatch in comparison
            .first
            .iter()
            .take(if check.passed() { 0 } else { SHOWN })
        {
            line(
                out,
                "",
                &format!(
                    "  {}[{}] is {}, expected {}",
                    check.buffer, mismatch.index, mismatch.got, mismatch.expected
                ),
            )?;
        }
    }
    Ok(())
}
