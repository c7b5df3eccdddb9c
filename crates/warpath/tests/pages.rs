//! Pages: how they lie in device memory changes cycles and never results, and the translation buffer
//! counts and costs what it should.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::{fails, kernel, kernels, run};
use serde_json::Value;

/// A launch file of the chase over `nodes` nodes that are `stride` words apart.
fn chase(folder: &tempfile::TempDir, nodes: u32, stride: u32, steps: u32, more: &str) -> PathBuf {
    let file = folder.path().join("chase.toml");
    let cubin = kernel("bench/chase.{arch}.cubin");
    let words = u64::from(nodes) * u64::from(stride);
    let text = format!(
        "cubin = \"{cubin}\"\ngpu = \"rtx-4090\"\n{more}\n[[launch]]\nkernel = \"chase\"\n\
         grid = [1]\nblock = [32]\nargs = [\"ring\", \"out\", {{ i32 = {steps} }}]\n\
         [buffers.ring]\ntype = \"u32\"\ncount = {words}\n\
         init = {{ permutation_ring = 1, stride = {stride} }}\n\
         [buffers.out]\ntype = \"u32\"\ncount = 32\ninit = {{ fill = 0 }}\n\
         [parameters]\nsteps = {steps}\n[[check]]\nreference = \"chase\"\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

fn metric(report: &Value, name: &str) -> u64 {
    report[0]["metrics"][name].as_u64().unwrap()
}

/// MODEL.md §8.2: beyond 16 pages of 2 MiB a hop takes 11 cycles more, within them none.
#[test]
fn a_page_too_many_costs_eleven_cycles() {
    let folder = tempfile::tempdir().unwrap();
    // Nodes 32 KiB apart, each visited once: no hop hits L1.
    let chased = |pages: u32, entries: &str| {
        let file = chase(&folder, pages * 64, 1 << 13, pages * 64 - 1, "");
        let set = ["--set", entries, "--set", "dram.refresh_period=1000000000"];
        run(
            &file,
            &[&["--threads", "1", "--warm-l2", "off"], &set[..]].concat(),
        )
        .report
    };
    let report = chased(14, "translation.entries=16");
    let lookups = metric(&report, "tlb_lookups.sum");
    let misses = metric(&report, "tlb_misses.sum");
    assert!(lookups > 890 && misses < 20, "{misses} of {lookups}");

    let with = chased(24, "translation.entries=16");
    let without = chased(24, "translation.entries=0");
    let misses = metric(&with, "tlb_misses.sum");
    assert_eq!(
        misses + metric(&with, "tlb_hits.sum"),
        metric(&with, "tlb_lookups.sum")
    );
    assert_eq!(metric(&without, "tlb_misses.sum"), 0);
    // Eight of 24 pages are not at hand.
    assert!((400..650).contains(&misses), "{misses} misses");
    let cycles = |report: &Value| report[0]["cycles"].as_u64().unwrap() as f64;
    let cost = (cycles(&with) - cycles(&without)) / misses as f64;
    assert!((10.0..=12.0).contains(&cost), "{cost} cycles a miss");
}

/// REGRESSIONS M6 and DESIGN.md H6: values know nothing of frames; a seed gives the same cycles on any
/// number of threads and in any window.
#[test]
fn shuffled_pages_change_cycles_alone() {
    let file = kernels().join("vadd/vadd.toml");
    let with = |more: &[&str]| {
        let mut arguments = vec![
            "--gpu",
            "rtx-4090",
            "--set",
            "card.sms=8",
            "--warm-l2",
            "off",
        ];
        arguments.extend(more);
        run(&file, &arguments)
    };
    let contiguous = with(&["--threads", "1"]);
    let shuffled = with(&["--threads", "1", "--pages", "shuffled", "--page-seed", "3"]);
    assert_eq!(contiguous.memory, shuffled.memory);
    assert_ne!(contiguous.report[0]["cycles"], shuffled.report[0]["cycles"]);
    for (threads, window) in [("2", "7"), ("2", "1000")] {
        let again = with(&[
            "--threads",
            threads,
            "--window",
            window,
            "--pages",
            "shuffled",
            "--page-seed",
            "3",
        ]);
        assert!(shuffled == again, "--threads {threads} --window {window}");
    }
    let other = with(&["--threads", "1", "--pages", "shuffled", "--page-seed", "4"]);
    assert_eq!(contiguous.memory, other.memory);
}

#[test]
fn launch_files_choose_pages() {
    let folder = tempfile::tempdir().unwrap();
    let cycles = |more: &str, arguments: &[&str]| {
        let file = chase(&folder, 256, 1 << 16, 255, more);
        run(&file, arguments).report[0]["cycles"].clone()
    };
    let shuffled = cycles("pages = \"shuffled\"\npage_seed = 5", &[]);
    let by_hand = ["--pages", "shuffled", "--page-seed", "5"];
    assert_eq!(shuffled, cycles("", &by_hand));
    // The command line has the last word.
    let by_hand = ["--pages", "contiguous"];
    assert_eq!(cycles("", &[]), cycles("pages = \"shuffled\"", &by_hand));
    let file = chase(&folder, 4, 1024, 3, "pages = \"scattered\"");
    let told = fails(2, &["run", &file.to_string_lossy()]);
    assert!(
        told.contains("pages") && told.contains("shuffled"),
        "{told}"
    );
}

/// What does not fit device memory is told by name, the driver's own too: buffers and code take both frames.
#[test]
fn frames_are_limited_by_dram() {
    let file = kernel("vadd/vadd.toml");
    let told = fails(
        2,
        &[
            "run",
            &file,
            "--gpu",
            "rtx-a6000",
            "--set",
            "dram.rows=4",
            "--set",
            "memory.dram_size=3145728",
        ],
    );
    assert!(
        told.contains("`constant banks`") && told.contains("device memory"),
        "{told}"
    );
    let told = fails(
        2,
        &[
            "run",
            &file,
            "--gpu",
            "rtx-4090",
            "--set",
            "memory.page_size=100000",
        ],
    );
    assert!(
        told.contains("memory.page_size") && told.contains("power of two"),
        "{told}"
    );
}
