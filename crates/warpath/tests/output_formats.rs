//! The formats for machines hold what docs/json.md promises; text fits one screen and carries colour only
//! on a terminal.

#![allow(clippy::unwrap_used)]

mod common;

use common::{kernel, warpath};
use serde_json::Value;

fn output(arguments: &[&str]) -> String {
    let output = warpath()
        .env_remove("NO_COLOR")
        .args(arguments)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.stderr.is_empty(),
        "no progress bar outside a terminal"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&output(arguments)).unwrap()
}

/// The fields that a table of docs/json.md names in its first column.
fn documented(section: &str) -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(section).unwrap();
    let section = rest.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.flat_map(|row| {
        let first = row.split(" |").next().unwrap();
        first
            .split("`, `")
            .map(|name| name.trim_end_matches('`').to_owned())
            .collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn a_run_has_the_documented_fields_and_no_others() {
    let vadd = kernel("vadd/vadd.toml");
    let timing = [
        "cycles",
        "launch_overhead_cycles",
        "clock_mhz",
        "time_ns",
        "ipc_per_sm",
        "schedulers",
        "issue_slots",
        "metrics",
        "hazards",
    ];
    let mut documented = documented("## `warpath run`");
    documented.sort();
    for mode in ["timing", "functional"] {
        let launches = json(&["run", &vadd, "--format", "json", "--mode", mode]);
        let launch = launches.as_array().unwrap()[0].as_object().unwrap();
        let mut fields: Vec<String> = launch.keys().cloned().collect();
        fields.sort();
        let expected: Vec<String> = documented
            .iter()
            .filter(|field| mode == "timing" || !timing.contains(&field.as_str()))
            .cloned()
            .collect();
        assert_eq!(fields, expected, "{mode}");
    }
}

#[test]
fn a_launch_file_of_two_launches_gives_two_objects() {
    let launches = json(&[
        "run",
        &kernel("reduction/reduction.toml"),
        "--format",
        "json",
    ]);
    let launches = launches.as_array().unwrap();
    assert_eq!(launches.len(), 2);
    assert!(launches[0]["checks"].as_array().unwrap().is_empty());
    assert!(!launches[1]["checks"].as_array().unwrap().is_empty());
    let csv = output(&[
        "run",
        &kernel("reduction/reduction.toml"),
        "--format",
        "csv",
    ]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3);
    let columns = |line: &str| line.split(',').count();
    assert!(lines.iter().all(|line| columns(line) == columns(lines[0])));
}

#[test]
fn hazards_can_be_left_out() {
    let vadd = kernel("vadd/vadd.toml");
    let launches = json(&["run", &vadd, "--format", "json", "--hazards", "off"]);
    assert_eq!(
        launches[0]["hazards"],
        serde_json::json!({ "checked": false })
    );
}

#[test]
fn text_is_one_screen_without_colour() {
    let text = output(&["run", &kernel("vadd/vadd.toml")]);
    assert!(text.lines().count() <= 40, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 120),
        "{text}"
    );
    assert!(!text.contains('\x1b'), "colour outside a terminal");
    for word in [
        "vadd",
        "occupancy",
        "limited by",
        "cycles",
        "IPC",
        "long_scoreboard",
        "L1D",
        "DRAM",
        "data sheet",
        "hazards",
        "not modelled",
        "warp instructions/s",
        "passed",
    ] {
        assert!(text.contains(word), "no {word} in {text}");
    }
}

#[test]
fn listings() {
    let gpus = json(&["gpus", "--format", "json"]);
    assert!(
        gpus.as_array()
            .unwrap()
            .iter()
            .any(|gpu| gpu["name"] == "rtx-a6000")
    );
    let one = json(&[
        "explain",
        "launch.overhead",
        "--gpu",
        "rtx-3090",
        "--format",
        "json",
    ]);
    assert_eq!(one["key"], "launch.overhead");
    for field in [
        "value",
        "unit",
        "source",
        "confidence",
        "meaning",
        "defined_in",
    ] {
        assert!(!one[field].is_null(), "{field}");
    }
    let set = json(&[
        "explain",
        "launch.overhead",
        "--set",
        "launch.overhead=7",
        "--format",
        "json",
    ]);
    assert_eq!(
        (&set["value"], set["overrides"].is_u64()),
        (&serde_json::json!(7), true)
    );
    let coverage = json(&[
        "coverage",
        &kernel("vadd/vadd.sm_86.cubin"),
        "--format",
        "json",
    ]);
    assert_eq!(coverage["unknown"], 0);
    assert_eq!(coverage["executes_percent"], 100.0);
    assert_eq!(coverage["architectures"][0]["architecture"], "sm_86");
}

/// Coverage of a folder is told per architecture; a word that nothing describes fails it.
#[test]
fn coverage_fails_on_unknown_words() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("below");
    std::fs::create_dir(&below).unwrap();
    for (from, to) in [("86", folder.path()), ("80", below.as_path())] {
        let name = format!("vadd.sm_{from}.cubin");
        std::fs::copy(kernel(&format!("vadd/{name}")), to.join(name)).unwrap();
    }
    let run = |folder: &std::path::Path| {
        let path = folder.to_str().unwrap();
        warpath()
            .args(["coverage", path, "--format", "json"])
            .output()
            .unwrap()
    };
    let output = run(folder.path());
    assert_eq!(output.status.code(), Some(0));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = found["architectures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["architecture"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["sm_80", "sm_86"]);

    // EXIT becomes a word without meaning.
    let file = below.join("vadd.sm_80.cubin");
    let mut bytes = std::fs::read(&file).unwrap();
    let exit = 0x794d_u64.to_le_bytes();
    let at = bytes
        .windows(exit.len())
        .position(|window| window == exit)
        .unwrap();
    bytes[at..at + 8].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    let output = run(folder.path());
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["unknown"], 1);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("1 unknown words"), "{told}");
}

#[test]
fn disassembly_of_bare_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("words.bin");
    // FFMA R4, R4, R5, R6 and a word that no row describes.
    let mut bytes = 0x0000_0005_0404_7223_u64.to_le_bytes().to_vec();
    bytes.extend(0x000fc80000000006u64.to_le_bytes());
    bytes.extend([0xff; 16]);
    std::fs::write(&file, &bytes).unwrap();
    let text = output(&["disasm", "--raw", "sm_86", &file.to_string_lossy()]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains("FFMA R4, R4, R5, R6 ;"), "{text}");
    assert!(lines[1].contains("unknown"), "{text}");
}

#[test]
fn start_up_needs_no_files() {
    let folder = tempfile::tempdir().unwrap();
    warpath()
        .current_dir(folder.path())
        .args(["gpus"])
        .assert()
        .success();
    let once = ["bench", "dispatch", "--once", "--mode", "functional"];
    let output = warpath()
        .current_dir(folder.path())
        .args(once)
        .output()
        .unwrap();
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    for field in [
        "name",
        "threads",
        "warp_instructions",
        "warp_instructions_per_second",
        "peak_rss_bytes",
    ] {
        assert!(!figures[field].is_null(), "{field}");
    }
}
