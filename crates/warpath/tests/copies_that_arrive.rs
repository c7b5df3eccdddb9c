//! Asynchronous copies that arrive at a barrier in shared memory (ARRIVES): who waits there reads what they
//! brought, however long they take; who does not wait is reported.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{GPUS, kernel, kernels, warpath};
use serde_json::Value;

/// The kernel of this name as text, changed, assembled again.
fn changed(folder: &Path, architecture: &str, from: &str, to: &str) -> String {
    let cubin = kernel(&format!("synchronisation/pipeline.{architecture}.cubin"));
    let output = warpath()
        .args(["disasm", "--asm", "--kernel", "copies_that_arrive", &cubin])
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{architecture}: {from}");
    let (sass, cubin) = (folder.join("changed.sass"), folder.join("changed.cubin"));
    std::fs::write(&sass, text.replace(from, to)).unwrap();
    warpath()
        .arg("asm")
        .arg(&sass)
        .arg("-o")
        .arg(&cubin)
        .assert()
        .success();
    cubin.to_string_lossy().into_owned()
}

fn report(gpu: &str, cubin: &str, more: &[&str]) -> Value {
    let mut arguments = vec!["run", cubin, "--gpu", gpu, "--kernel", "copies_that_arrive"];
    arguments.extend(["--grid", "5", "--block", "128", "--format", "json"]);
    arguments.extend([
        "--arg",
        "u32:2560:random(1,0,1000)",
        "--arg",
        "u32:2560:zero",
    ]);
    arguments.extend(more);
    let output = warpath().args(&arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn kinds(report: &Value) -> Vec<&str> {
    let list = report[0]["hazards"]["list"].as_array().unwrap();
    let kinds = list.iter().map(|hazard| hazard["kind"].as_str().unwrap());
    kinds.collect()
}

/// The warp that finds the phase unfinished jumps past the wait all the same.
#[test]
fn a_wait_that_is_left_out_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    for (architecture, gpu) in GPUS {
        let (from, to) = match architecture {
            "sm_75" => continue,
            "sm_90" => (
                "/*0270*/ [B-1----:R-:W-:-:S05] @!P0 BRA",
                "[B-1----:R-:W-:-:S05] @!PT BRA",
            ),
            _ => (
                "/*02e0*/ [B------:R-:W-:-:S05] @P0 BRA",
                "[B------:R-:W-:-:S05] BRA",
            ),
        };
        let right = changed(folder.path(), architecture, from, from);
        assert_eq!(kinds(&report(gpu, &right, &[])), [""; 0], "{architecture}");
        let wrong = changed(folder.path(), architecture, from, to);
        let one = report(gpu, &wrong, &["--warm-l2", "off", "--threads", "1"]);
        assert!(
            kinds(&one).iter().all(|kind| *kind == "LDGSTS") && !kinds(&one).is_empty(),
            "{architecture}: {:?}",
            kinds(&one)
        );
        let two = report(
            gpu,
            &wrong,
            &["--warm-l2", "off", "--threads", "2", "--window", "7"],
        );
        assert_eq!(one[0]["hazards"], two[0]["hazards"], "{architecture}");
    }
}

/// The copies come from DRAM: the slower it is, the more often the warps look at their barrier.
#[test]
fn a_wait_lasts_until_the_copies_have_come() {
    let cubin = kernel("synchronisation/pipeline.sm_86.cubin");
    let instructions = |latency: &str| {
        let set = format!("dram.fixed_latency={latency}");
        let report = report("rtx-a6000", &cubin, &["--set", &set, "--warm-l2", "off"]);
        let metrics = report[0]["metrics"].as_object().unwrap();
        metrics["smsp__inst_executed.sum"].as_u64().unwrap()
    };
    let (short, long) = (instructions("100"), instructions("1100"));
    // Twenty warps that take ten instructions or so and forty cycles for a look.
    assert!(long > short + 20 * 50, "{short} and {long}");
    let file = kernels().join("synchronisation/copies_that_arrive.toml");
    let slow = ["--set", "dram.fixed_latency=1100", "--warm-l2", "off"];
    let one = common::run(&file, &[&slow[..], &["--threads", "1"]].concat());
    let two = common::run(
        &file,
        &[&slow[..], &["--threads", "2", "--window", "7"]].concat(),
    );
    assert_eq!(one, two);
}
