//! The alternatives that can be set (docs/alternatives.md): none changes a result, and each moves cycles the
//! way it must.

#![allow(clippy::unwrap_used)]

mod common;

use common::{kernel, run, warpath};
use proptest::prelude::*;
use serde_json::Value;
use std::path::PathBuf;

/// Kernels without clock reads and races: shared memory, barriers, atomics, tensor instructions, divergence.
const KERNELS: [&str; 8] = [
    "vadd/vadd.toml",
    "reduction/reduction.toml",
    "hgemm/hgemm_f32.toml",
    "sgemm/sgemm.toml",
    "spmv_csr/spmv_vector.toml",
    "transpose/transpose_padded.toml",
    "features/control_flow.toml",
    "features/warp_primitives.toml",
];

fn settings(list: &[String]) -> Vec<&str> {
    list.iter()
        .flat_map(|setting| ["--set", setting.as_str()])
        .collect()
}

/// Cycles of all launches of a kernel with these settings.
fn cycles(name: &str, list: &[&str]) -> u64 {
    let list: Vec<String> = list.iter().map(|&setting| setting.to_owned()).collect();
    let outcome = run(&PathBuf::from(kernel(name)), &settings(&list));
    let launches = outcome.report.as_array().unwrap();
    launches
        .iter()
        .map(|launch| launch["cycles"].as_u64().unwrap())
        .sum()
}

/// Any combination of the alternatives.
fn configuration() -> impl Strategy<Value = Vec<String>> {
    let choose = |values: &'static [&'static str]| prop::sample::select(values);
    (
        choose(&["control_bits", "scoreboard", "scoreboard_war", "hybrid"]),
        0u32..=63,
        choose(&["write_back", "bypass"]),
        choose(&["cggty", "gto", "lrr"]),
        0u32..=32,
        any::<bool>(),
        choose(&["1", "2", "16"]),
        any::<bool>(),
        choose(&["off", "check", "emulate"]),
    )
        .prop_map(
            |(mode, consumers, release, policy, depth, perfect, ports, reuse, hazards)| {
                vec![
                    format!("dependence.mode={mode}"),
                    format!("dependence.consumers={consumers}"),
                    format!("dependence.release={release}"),
                    format!("issue.policy={policy}"),
                    format!("stream_buffer.depth={depth}"),
                    format!("l0_instruction_cache.perfect={perfect}"),
                    format!("register_file.read_ports={ports}"),
                    format!("register_file.reuse_cache={reuse}"),
                    hazards.to_owned(),
                ]
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_alternative_changes_a_result(
        name in prop::sample::select(&KERNELS[..]),
        mut configuration in configuration(),
    ) {
        let file = PathBuf::from(kernel(name));
        let plain = run(&file, &["--mode", "functional"]);
        let hazards = configuration.pop().unwrap();
        let mut arguments = settings(&configuration);
        arguments.extend(["--hazards", &hazards]);
        let other = run(&file, &arguments);
        prop_assert_eq!(&plain.memory, &other.memory, "{} {:?}", name, configuration);
    }
}

#[test]
fn scoreboards_cost_what_they_keep_waiting() {
    for name in ["sgemm/sgemm.toml", "hgemm/hgemm_f32.toml"] {
        let control = cycles(name, &[]);
        let written = cycles(name, &["dependence.mode=scoreboard_war"]);
        let bypassed = cycles(
            name,
            &[
                "dependence.mode=scoreboard_war",
                "dependence.release=bypass",
            ],
        );
        let one = cycles(
            name,
            &["dependence.mode=scoreboard_war", "dependence.consumers=1"],
        );
        assert!(written > control, "{name}: {written} against {control}");
        assert!(bypassed < written, "{name}: {bypassed} against {written}");
        assert!(one >= written, "{name}: {one} against {written}");
        // Code that has control bits keeps them.
        assert_eq!(cycles(name, &["dependence.mode=hybrid"]), control, "{name}");
        // MODEL.md §9.3: from seven readers on nothing changes.
        let seven = cycles(
            name,
            &["dependence.mode=scoreboard_war", "dependence.consumers=7"],
        );
        assert_eq!(seven, written, "{name}");
    }
}

#[test]
fn ports_and_caches_help() {
    let name = "sgemm/sgemm.toml";
    let plain = cycles(name, &[]);
    let uncached = cycles(name, &["register_file.reuse_cache=false"]);
    let two = cycles(
        name,
        &[
            "register_file.reuse_cache=false",
            "register_file.read_ports=2",
        ],
    );
    let ideal = cycles(
        name,
        &[
            "register_file.reuse_cache=false",
            "register_file.read_ports=16",
        ],
    );
    assert!(uncached > plain, "{uncached} without, {plain} with");
    assert!(two < uncached && ideal <= two, "{two} and {ideal}");
    let cold = cycles(name, &["stream_buffer.depth=0"]);
    let perfect = cycles(name, &["l0_instruction_cache.perfect=true"]);
    assert!(
        cold > plain && plain >= perfect,
        "{cold}, {plain}, {perfect}"
    );
}

#[test]
fn the_area_is_the_published_one() {
    for (gpu, control, scoreboards) in [
        ("rtx-a6000", "0.09 %", "5.32 %"),
        ("a100-sxm4-40gb", "0.13 %", "7.09 %"),
    ] {
        let output = warpath().args(["area", "--gpu", gpu]).output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let row = |mode: &str| {
            let found = text
                .lines()
                .find(|line| line.contains(&format!(" {mode} ")));
            found.unwrap().to_owned()
        };
        assert!(row("control_bits").starts_with("* ") && row("control_bits").ends_with(control));
        assert!(row("scoreboard_war").ends_with(scoreboards), "{text}");
    }
    let output = warpath()
        .args([
            "area",
            "--format",
            "json",
            "--set",
            "dependence.consumers=1",
        ])
        .output()
        .unwrap();
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["schemes"][2]["dependence"], "scoreboard_war");
    assert_eq!(value["schemes"][2]["bits_per_warp"], 664);
}
