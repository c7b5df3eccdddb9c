//! Runs that do not end: a deadlock is told at once with the wait graph, a livelock by the limit of
//! cycles (DESIGN.md W6).

#![allow(clippy::unwrap_used)]

mod common;

use common::{fails, kernel};

/// Three warps: the third waits alone at a named barrier that expects two.
fn deadlock<'a>(cubin: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec![
        "run",
        cubin,
        "--grid",
        "3",
        "--block",
        "96",
        "--arg",
        "out=u32:448:zero",
    ];
    arguments.extend(more);
    arguments
}

#[test]
fn a_deadlock_is_told_at_once_with_who_waits_for_what() {
    let cubin = kernel("abi/barriers.sm_86.cubin");
    let told = fails(1, &deadlock(&cubin, &[]));
    for word in [
        "`barriers`",
        "deadlock in cycle",
        "9 live warps",
        "SM 2",
        "CTA barrier 2",
        "1 of 2 warps",
    ] {
        assert!(told.contains(word), "no {word} in {told}");
    }
    for (threads, window) in [("1", "1"), ("1", "7"), ("2", "7")] {
        let other = fails(
            1,
            &deadlock(&cubin, &["--threads", threads, "--window", window]),
        );
        assert_eq!(
            told, other,
            "the report depends on neither threads nor window"
        );
    }
}

#[test]
fn without_time_too() {
    let cubin = kernel("abi/barriers.sm_86.cubin");
    let told = fails(1, &deadlock(&cubin, &["--mode", "functional"]));
    assert!(
        told.contains("deadlock") && told.contains("barrier"),
        "{told}"
    );
}

#[test]
fn a_livelock_ends_at_the_limit() {
    // One CTA plays both sides' part only if there is another.
    let cubin = kernel("litmus/message_passing.sm_86.cubin");
    let mut arguments = vec![
        "run",
        &cubin,
        "--kernel",
        "ping_pong",
        "--grid",
        "1",
        "--block",
        "64",
    ];
    for argument in ["counter=u32:1:zero", "turn=u32:1:zero", "i32:20"] {
        arguments.extend(["--arg", argument]);
    }
    for (mode, limit) in [("timing", "100000"), ("functional", "1000")] {
        let mut arguments = arguments.clone();
        arguments.extend(["--mode", mode, "--max-cycles", limit]);
        let told = fails(1, &arguments);
        assert!(
            told.contains("not finished after") && told.contains("pc 0x"),
            "{told}"
        );
    }
}

/// REGRESSIONS C18: one warp alone on the GPU multiplies matrices to the end.
#[test]
fn one_warp_alone_multiplies_matrices_to_the_end() {
    for (architecture, gpu) in common::GPUS.into_iter().skip(1) {
        let cubin = kernel(&format!("laws/mma.{architecture}.cubin"));
        let mut arguments = vec!["run", &cubin, "--gpu", gpu, "--kernel", "mma_16816_f32"];
        arguments.extend(["--grid", "1", "--block", "32", "--format", "json"]);
        for argument in ["u32:6:zero", "f32:32:zero", "i32:16"] {
            arguments.extend(["--arg", argument]);
        }
        for mode in ["timing", "functional"] {
            let run = common::warpath()
                .args(&arguments)
                .args(["--mode", mode])
                .assert()
                .success();
            let report: serde_json::Value =
                serde_json::from_slice(&run.get_output().stdout).unwrap();
            let instructions = report[0]["warp_instructions"].as_u64().unwrap();
            assert!(
                instructions > 16 * 32,
                "{architecture} {mode}: {instructions}"
            );
        }
    }
}
