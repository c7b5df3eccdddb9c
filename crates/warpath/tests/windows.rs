//! Grids larger than the GPU: CTAs are dealt out the same way under any window and any number of threads
//! (DESIGN.md W1 to W3).

#![allow(clippy::unwrap_used)]

mod common;

use common::{kernels, run};

#[test]
fn ctas_are_dealt_out_the_same_way() {
    for name in [
        "bench/dispatch.toml",
        "vadd/vadd.toml",
        "histogram/histogram_global.toml",
        "saxpy/saxpy.toml",
    ] {
        let file = kernels().join(name);
        // Few SMs, so that CTAs wait.
        let sms = ["--set", "card.sms=6"];
        let reference = run(&file, &["--threads", "1", sms[0], sms[1]]);
        for (threads, window) in [
            ("1", "7"),
            ("2", "7"),
            ("2", "64"),
            ("2", "1000"),
            ("3", "180"),
        ] {
            let other = run(
                &file,
                &["--threads", threads, "--window", window, sms[0], sms[1]],
            );
            assert!(
                reference == other,
                "{name}: --threads {threads} --window {window} changes it"
            );
        }
    }
}

#[test]
fn one_cycle_windows() {
    let file = kernels().join("reduction/reduction.toml");
    let reference = run(&file, &["--threads", "1"]);
    let other = run(&file, &["--threads", "1", "--window", "1"]);
    assert!(reference == other, "--window 1 changes it");
}
