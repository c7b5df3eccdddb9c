//! The memory model and forward progress: litmus kernels hold, and are bit-identical, under any window,
//! any number of threads and any host instruction set (DESIGN.md V1 to V6, W1 to W6).

#![allow(clippy::unwrap_used)]

mod common;

use common::{launch_files, run};

fn litmus() -> Vec<std::path::PathBuf> {
    let files = launch_files(|folder| folder == "litmus");
    assert!(files.len() >= 20);
    files
}

#[test]
fn windows_and_threads_change_nothing() {
    for file in litmus() {
        let reference = run(&file, &["--threads", "1"]);
        for window in ["1", "7"] {
            let other = run(&file, &["--threads", "1", "--window", window]);
            assert!(
                reference == other,
                "{}: --window {window} changes it",
                file.display()
            );
        }
        for window in ["7", "100000"] {
            let other = run(&file, &["--threads", "2", "--window", window]);
            assert!(
                reference == other,
                "{}: --threads 2 --window {window} changes it",
                file.display()
            );
        }
    }
}

#[test]
fn host_instruction_sets_change_nothing() {
    for file in litmus() {
        let reference = run(&file, &["--host-isa", "baseline"]);
        for isa in ["avx2", "avx512"] {
            if has(isa) {
                let other = run(&file, &["--host-isa", isa]);
                assert!(
                    reference == other,
                    "{}: --host-isa {isa} changes it",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn functional_mode_makes_progress_and_agrees() {
    for file in litmus() {
        run(&file, &["--mode", "functional"]);
    }
}

#[test]
fn on_every_architecture_without_hazards() {
    for file in litmus() {
        for (architecture, gpu) in common::GPUS {
            if !common::has_code_for(&file, architecture) {
                continue;
            }
            let outcome = run(&file, &["--gpu", gpu]);
            for launch in outcome.report.as_array().unwrap() {
                let hazards = &launch["hazards"];
                assert_eq!(
                    hazards["count"],
                    0,
                    "{} on {gpu}: {hazards:#}",
                    file.display()
                );
            }
        }
    }
}

fn has(isa: &str) -> bool {
    #[cfg(target_arch = "x86_64")]
    return match isa {
        "avx2" => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        "avx512" => {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
        }
        _ => false,
    };
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = isa;
        false
    }
}
