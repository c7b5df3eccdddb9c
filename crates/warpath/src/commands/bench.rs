//! `warpath bench`: the simulator's own speed on its standing workloads, each measured in a process of
//! its own so that peak memory is its own too.

use std::io::Write;
use std::process::Command;

use device::launch::Workload;
use device::{Files, RunOptions, Session};
use report::number::{bytes, grouped, rate};
use report::table::{Align, Table};
use serde::{Deserialize, Serialize};

use crate::cli::{BenchArguments, ListFormat, Mode};
use crate::failure::{Failure, Problem};
use crate::input::load_gpu;

/// The GPU of the standing workloads.
const GPU: &str = "rtx-a6000";

/// A standing workload: its launch file and cubin, part of the program.
struct Standing {
    name: &'static str,
    text: &'static str,
    files: &'static [(&'static str, &'static [u8])],
}

macro_rules! standing {
    ($($name:literal),*) => {
        &[$(Standing {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/bench/", $name, ".toml")),
            files: &[(
                concat!($name, ".sm_86.cubin"),
                include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/bench/", $name, ".sm_86.cubin")),
            )],
        },)*]
    };
}

const STANDING: &[Standing] = standing!["ffma", "stream", "mixed", "chase", "dispatch"];

/// What one measurement gives.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Figures {
    name: String,
    mode: String,
    threads: usize,
    warp_instructions: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycles: Option<u64>,
    host_seconds: f64,
    warp_instructions_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu_cycles_per_second: Option<f64>,
    peak_rss_bytes: u64,
}

#[derive(Serialize)]
struct Results {
    gpu: &'static str,
    repeat: u32,
    workloads: Vec<Figures>,
}

/// Measures and prints.
pub fn run(arguments: &BenchArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let chosen = choose(&arguments.workloads)?;
    if arguments.once {
        let threads = arguments.threads.first().copied().unwrap_or(1);
        for standing in chosen {
            super::write_json(&measure(standing, threads, arguments.mode)?, out)?;
        }
        return Ok(());
    }
    let threads = if arguments.threads.is_empty() {
        let all = std::thread::available_parallelism().map_or(1, |count| count.get());
        if all > 1 { vec![1, all] } else { vec![1] }
    } else {
        arguments.threads.clone()
    };
    // Repetitions are interleaved so that a slow spell of the machine falls on all alike.
    let mut runs: Vec<Vec<Figures>> = Vec::new();
    for _ in 0..arguments.repeat {
        let mut place = 0;
        for standing in &chosen {
            for &count in &threads {
                let figures = measure_in_child(standing.name, count, arguments.mode)?;
                match runs.get_mut(place) {
                    Some(list) => list.push(figures),
                    None => runs.push(vec![figures]),
                }
                place += 1;
            }
        }
    }
    let workloads: Vec<Figures> = runs.into_iter().filter_map(median).collect();
    if arguments.format == ListFormat::Json {
        return super::write_json(
            &Results {
                gpu: GPU,
                repeat: arguments.repeat,
                workloads,
            },
            out,
        );
    }
    let mut table = Table::new(&[
        ("workload", Align::Left),
        ("threads", Align::Right),
        ("warp instructions", Align::Right),
        ("cycles", Align::Right),
        ("instructions/s", Align::Right),
        ("cycles/s", Align::Right),
        ("peak memory", Align::Right),
    ]);
    for figures in &workloads {
        table.row([
            figures.name.clone(),
            figures.threads.to_string(),
            grouped(figures.warp_instructions),
            figures.cycles.map_or("-".to_owned(), grouped),
            rate(figures.warp_instructions_per_second),
            figures.gpu_cycles_per_second.map_or("-".to_owned(), rate),
            bytes(figures.peak_rss_bytes),
        ]);
    }
    write!(out, "{table}")?;
    Ok(())
}

fn choose(names: &[String]) -> Result<Vec<&'static Standing>, Failure> {
    if names.is_empty() {
        return Ok(STANDING.iter().collect());
    }
    names
        .iter()
        .map(|name| {
            STANDING
                .iter()
                .find(|standing| standing.name == name)
                .ok_or_else(|| {
                    let known: Vec<&str> = STANDING.iter().map(|standing| standing.name).collect();
                    Problem::new(format!(
                        "no workload `{name}`; known are {}",
                        known.join(", ")
                    ))
                    .input()
                })
        })
        .collect()
}

/// The run with the median speed.
fn median(mut runs: Vec<Figures>) -> Option<Figures> {
    runs.sort_by(|a, b| a.host_seconds.total_cmp(&b.host_seconds));
    let peak = runs.iter().map(|run| run.peak_rss_bytes).max().unwrap_or(0);
    let middle = runs.len() / 2;
    let mut figures = runs.into_iter().nth(middle)?;
    figures.peak_rss_bytes = peak;
    Some(figures)
}

fn measure_in_child(name: &str, threads: usize, mode: Mode) -> Result<Figures, Failure> {
    let wrong = |reason: String| Problem::new(format!("workload `{name}`: {reason}")).run();
    let program = std::env::current_exe().map_err(|error| wrong(error.to_string()))?;
    let mode = super::run::mode(mode).name();
    let output = Command::new(program)
        .args([
            "bench",
            name,
            "--once",
            "--threads",
            &threads.to_string(),
            "--mode",
            mode,
        ])
        .output()
        .map_err(|error| wrong(error.to_string()))?;
    if !output.status.success() {
        return Err(wrong(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| wrong(error.to_string()))
}

fn measure(standing: &Standing, threads: usize, mode: Mode) -> Result<Figures, Failure> {
    let workload = Workload::parse(standing.name, standing.text).map_err(device::RunError::from)?;
    let files = Files::Embedded(standing.files);
    let options = RunOptions {
        mode: super::run::mode(mode),
        threads,
        ..RunOptions::default()
    };
    let mut session = Session::new(&workload, &files, load_gpu(GPU, &[])?, &options)?;
    let report = session.run(&options, &mut |_| {})?;
    if !report.passed() {
        return Err(Problem::new(format!("workload `{}`: wrong result", standing.name)).run());
    }
    let launches = &report.launches;
    let warp_instructions = launches.iter().map(|launch| launch.warp_instructions).sum();
    let host_seconds: f64 = launches.iter().map(|launch| launch.host_seconds).sum();
    let cycles: Option<u64> = launches
        .iter()
        .map(|launch| launch.timing.as_ref().map(|timing| timing.cycles))
        .sum();
    Ok(Figures {
        name: standing.name.to_owned(),
        mode: options.mode.name().to_owned(),
        threads: launches.first().map_or(threads, |launch| launch.threads),
        warp_instructions,
        cycles,
        host_seconds,
        warp_instructions_per_second: warp_instructions as f64 / host_seconds.max(1e-9),
        gpu_cycles_per_second: cycles.map(|cycles| cycles as f64 / host_seconds.max(1e-9)),
        peak_rss_bytes: peak_memory(),
    })
}

/// The most memory that this process has held, in bytes; 0 where the system does not tell.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| {
        rest.trim()
            .trim_end_matches("kB")
            .trim()
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or(0) * 1024
}
