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

/// Cycles from one dependent FFMA to the next: 256 more of them, fetched without a miss.
fn chain(list: &[&str]) -> u64 {
    let mut all = vec!["l0_instruction_cache.perfect=true".to_owned()];
    all.extend(list.iter().map(|&setting| setting.to_owned()));
    let outcome = run(
        &PathBuf::from(kernel("laws/ffma_chain.toml")),
        &settings(&all),
    );
    let cycles = |launch: usize| outcome.report[launch]["cycles"].as_u64().unwrap();
    (cycles(3) - cycles(2) + 128) / 256
}

/// MODEL.md §9.2: a dependent ALU instruction comes 10 cycles later, or 4 as with control bits if the
/// scoreboard knows of the bypass.
#[test]
fn scoreboards_let_go_at_write_back_or_by_bypass() {
    assert_eq!(chain(&[]), 4);
    assert_eq!(chain(&["dependence.mode=hybrid"]), 4);
    for mode in [
        "dependence.mode=scoreboard",
        "dependence.mode=scoreboard_war",
    ] {
        assert_eq!(chain(&[mode]), 10);
    }
    let bypass = "dependence.release=bypass";
    assert_eq!(chain(&["dependence.mode=scoreboard", bypass]), 4);
    // The accumulator's reader is done at the end of its read phase, not before.
    assert_eq!(chain(&["dependence.mode=scoreboard_war", bypass]), 6);
}

/// MODEL.md §9.2: from seven readers on nothing changes.
#[test]
fn few_counted_readers_hold_up_independent_ones() {
    let name = "sgemm/sgemm.toml";
    let mode = "dependence.mode=scoreboard_war";
    let most = cycles(name, &[mode]);
    assert!(cycles(name, &[mode, "dependence.consumers=1"]) > most);
    assert_eq!(cycles(name, &[mode, "dependence.consumers=7"]), most);
    assert_eq!(cycles(name, &[mode, "dependence.consumers=0"]), most);
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
    // Beyond two ports nothing is left to gain here, and another order of warps may cost a few cycles.
    assert!(
        two < uncached && ideal < two + two / 100,
        "{two} and {ideal}"
    );
    let cold = cycles(name, &["stream_buffer.depth=0"]);
    let perfect = cycles(name, &["l0_instruction_cache.perfect=true"]);
    assert!(
        cold > plain && plain >= perfect,
        "{cold}, {plain}, {perfect}"
    );
}

/// Code without control bits: wrong on a machine that relies on them, right on scoreboards.
#[test]
fn code_without_control_bits_runs_on_scoreboards() {
    const CODE: [&str; 9] = [
        "S2R R0, SR_TID.X",
        "MOV R1, 0x4",
        "IMAD.WIDE.U32 R2, R0, R1, c[0x0][input]",
        "IMAD.WIDE.U32 R4, R0, R1, c[0x0][out]",
        "LDG.E R6, [R2.64]",
        "IADD3 R6, R6, 0x1, RZ",
        "IADD3 R6, R6, R0, RZ",
        "STG.E [R4.64], R6",
        "EXIT",
    ];
    let lines = CODE.map(|line| format!("[B------:R0:W0:Y:S00] {line} ;\n"));
    let text = format!(
        ".arch sm_86\n.kernel bare\n.param 8 out\n.param 8 input\n{}",
        lines.concat()
    );
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("bare.sass"), text).unwrap();
    let (sass, cubin) = (place("bare.sass"), place("bare.cubin"));
    let assembled = warpath()
        .arg("asm")
        .arg(sass)
        .arg("-o")
        .arg(&cubin)
        .output();
    assert!(assembled.unwrap().status.success());
    let expected: Vec<u8> = (0..32u32).flat_map(|i| (8 + 2 * i).to_le_bytes()).collect();
    for (mode, right) in [
        ("hybrid", true),
        ("scoreboard", true),
        ("control_bits", false),
    ] {
        let out = place("out.bin");
        let output = warpath()
            .arg("run")
            .arg(&cubin)
            .args(["--kernel", "bare", "--grid", "1", "--block", "32"])
            .args(["--arg", "out=u32:32:zero", "--arg", "u32:32:iota(7,1)"])
            .args(["--hazards", "emulate", "--format", "json", "--set"])
            .arg(format!("dependence.mode={mode}"))
            .arg("--dump")
            .arg(format!("out={}", out.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{mode}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let result = std::fs::read(&out).unwrap();
        assert_eq!(result == expected, right, "{mode}");
        // All zero is a long stall, but not so long as a load.
        assert_eq!(report[0]["hazards"]["count"] == 0, right, "{mode}");
    }
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
