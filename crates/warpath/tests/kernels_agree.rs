//! Every kernel gives its reference's result on every architecture and in both modes, and memory,
//! cycles and statistics are the same for any number of threads. Compiled code has the control bits that it
//! needs, so emulating what wrong ones do changes nothing.

#![allow(clippy::unwrap_used)]

mod common;

use common::{GPUS, Outcome, has_code_for, launch_files, run};

/// Large launches: measured by `warpath bench` and by hand, too long for a test of every combination.
fn is_large(file: &std::path::Path) -> bool {
    file.file_stem().is_some_and(|stem| stem == "vadd_16m")
}

/// Runs every kernel that has code for GPU number `number` of the list. Two threads against one are
/// compared for every fourth kernel, another fourth per architecture: what threads could change
/// (windows, dispatch, order at the slices) does not depend on the architecture. Of another fourth the
/// emulation of hazards is compared; of all kernels with WARPATH_EMULATE=all.
fn every_kernel(number: usize) {
    let (architecture, gpu) = GPUS[number];
    let files = launch_files(|folder| folder != "litmus");
    assert!(files.len() >= 30);
    let sweep = std::env::var("WARPATH_EMULATE").is_ok_and(|which| which == "all");
    let mut ran = 0;
    for (position, file) in files.iter().enumerate() {
        if is_large(file) || !has_code_for(file, architecture) {
            continue;
        }
        ran += 1;
        let with = |mode, threads| run(file, &["--gpu", gpu, "--mode", mode, "--threads", threads]);
        let one = with("timing", "1");
        if position % 4 == number % 4 {
            assert!(
                one == with("timing", "2"),
                "{} on {gpu}: threads change it",
                file.display()
            );
        }
        if sweep || position % 4 == (number + 2) % 4 {
            let arguments = ["--gpu", gpu, "--hazards", "emulate", "--threads", "1"];
            assert!(
                one == run(file, &arguments),
                "{} on {gpu}: emulating hazards changes it",
                file.display()
            );
        }
        let functional = with("functional", "1");
        assert!(
            same_memory(&one, &functional),
            "{} on {gpu}: the modes leave different memory",
            file.display()
        );
        for launch in one.report.as_array().unwrap() {
            let hazards = &launch["hazards"];
            assert_eq!(
                hazards["count"],
                0,
                "{} on {gpu}: {hazards:#}",
                file.display()
            );
            let checks = launch["checks"].as_array().unwrap();
            assert!(checks.iter().all(|check| check["passed"] == true));
        }
    }
    assert!(ran >= 30, "{ran} kernels for {architecture}");
}

fn same_memory(a: &Outcome, b: &Outcome) -> bool {
    a.memory == b.memory
}

#[test]
fn on_sm_75() {
    every_kernel(0);
}

#[test]
fn on_sm_80() {
    every_kernel(1);
}

#[test]
fn on_sm_86() {
    every_kernel(2);
}

#[test]
fn on_sm_89() {
    every_kernel(3);
}

#[test]
fn on_sm_90() {
    every_kernel(4);
}

#[test]
fn cycles_are_the_same_whatever_is_done_about_hazards() {
    for name in [
        "vadd/vadd.toml",
        "reduction/reduction.toml",
        "hgemm/hgemm_f32.toml",
    ] {
        let file = common::kernels().join(name);
        let cycles = |hazards| {
            let outcome = run(&file, &["--hazards", hazards]);
            let launches = outcome.report.as_array().unwrap().clone();
            launches
                .iter()
                .map(|launch| launch["cycles"].as_u64())
                .collect::<Vec<_>>()
        };
        assert_eq!(cycles("check"), cycles("off"), "{name}");
        assert_eq!(cycles("check"), cycles("emulate"), "{name}");
    }
}
