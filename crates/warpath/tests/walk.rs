//! `warpath walk`: the life of one access, told hop by hop.

#![allow(clippy::unwrap_used)]

mod common;

use std::process::Output;

use common::{fails, kernel, warpath};
use serde_json::Value;

/// Refresh would come between now and then.
const NO_REFRESH: &str = "dram.refresh_period=1000000000";

fn output(arguments: &[&str]) -> Output {
    warpath().args(arguments).output().unwrap()
}

fn walk(file: &str, gpu: &str, extra: &[&str]) -> Value {
    let file = kernel(file);
    let mut arguments = vec!["walk", &file, "--gpu", gpu, "--format", "json"];
    arguments.extend(extra);
    let output = output(&arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Every step begins where the one before ended, from issue to the end.
fn adds_up(walk: &Value) {
    let way = walk["way"].as_array().unwrap();
    let cycle = |hop: &Value, end: &str| hop[end].as_u64().unwrap();
    assert_eq!(way[0]["start"], walk["issued"], "{walk:#}");
    for pair in way.windows(2) {
        assert_eq!(pair[0]["end"], pair[1]["start"], "{pair:#?}");
    }
    assert_eq!(way.last().unwrap()["end"], walk["done"]);
    let sum: u64 = way
        .iter()
        .map(|hop| cycle(hop, "end") - cycle(hop, "start"))
        .sum();
    assert_eq!(sum, walk["cycles"].as_u64().unwrap());
}

fn steps(walk: &Value) -> Vec<&str> {
    let way = walk["way"].as_array().unwrap();
    way.iter()
        .map(|hop| hop["structure"].as_str().unwrap())
        .collect()
}

/// vadd with one warp: no other opens its rows.
const ONE_WARP: &str = r#"
cubin = "vadd.sm_89.cubin"

[[launch]]
kernel = "vadd"
grid = [1]
block = [32]
args = ["a", "b", "c", { i32 = 32 }]

[buffers.a]
type = "f32"
count = 32
init = { fill = 1 }

[buffers.b]
type = "f32"
count = 32
init = { fill = 2 }

[buffers.c]
type = "f32"
count = 32
init = { fill = 0 }
"#;

/// MODEL.md §8.2: the example load, as the launch file of the whole kernel tells it.
#[test]
fn the_first_load_of_vadd_is_the_example() {
    let walk = walk("vadd/vadd.toml", "rtx-4090", &[]);
    adds_up(&walk);
    let counts = [
        "sectors",
        "translations",
        "crossings",
        "slices",
        "activations",
        "column_reads",
    ];
    let counts = counts.map(|name| walk[name].as_u64().unwrap());
    assert_eq!(counts, [4, 1, 1, 1, 1, 4], "{walk:#}");
    assert_eq!(walk["lines"].as_array().unwrap().len(), 1);
    assert_eq!(walk["warm_l2"], false);
    // Each column is another burst of the row that was opened.
    let hops = walk["hops"].as_array().unwrap();
    let columns = hops.iter().filter(|hop| hop["structure"] == "DRAM column");
    let mut columns: Vec<u64> = columns.map(|hop| hop["column"].as_u64().unwrap()).collect();
    columns.sort_unstable();
    columns.dedup();
    assert_eq!(columns.len(), 4, "{walk:#}");
    // The way back.
    for structure in [
        "from controller",
        "L2 fill",
        "reply network",
        "L1 fill",
        "write-back",
    ] {
        assert!(steps(&walk).contains(&structure), "{structure}: {walk:#}");
    }
}

/// With what copies have left in L2 the same load ends there, and the walk says which it was.
#[test]
fn a_warm_l2_is_seen_and_told() {
    let walk = walk("vadd/vadd.toml", "rtx-4090", &["--warm-l2", "on"]);
    adds_up(&walk);
    assert_eq!(walk["warm_l2"], true);
    assert_eq!(walk["column_reads"], 0, "{walk:#}");
    assert!(steps(&walk).contains(&"L2"));
}

/// A row that others have opened is told with the cycle, not counted as the load's activation.
#[test]
fn a_row_opened_by_others_is_told() {
    let walk = walk("vadd/vadd.toml", "rtx-4090", &["--warp", "0"]);
    adds_up(&walk);
    assert_eq!(walk["activations"], 0, "{walk:#}");
    let hops = walk["hops"].as_array().unwrap();
    let columns: Vec<&Value> = hops
        .iter()
        .filter(|hop| hop["structure"] == "DRAM column")
        .collect();
    assert_eq!(columns.len(), 4);
    for column in columns {
        let since = column["row_open_since"].as_u64();
        assert!(
            since.is_some_and(|since| since < column["start"].as_u64().unwrap())
                || column["row_opened_for"] == "another access",
            "{column:#}"
        );
    }
}

/// Accesses to shared memory with their passes, constants with the levels of their caches.
#[test]
fn shared_memory_and_constants_can_be_followed() {
    let store = walk("reduction/reduction.toml", "rtx-4090", &["--pc", "0x210"]);
    adds_up(&store);
    assert!(steps(&store).contains(&"shared memory"), "{store:#}");
    assert_eq!(store["passes"], 1);
    let load = walk("reduction/reduction.toml", "rtx-4090", &["--pc", "0x280"]);
    adds_up(&load);
    assert_eq!(load["passes"], 1);
    assert_eq!(steps(&load).last(), Some(&"write-back"));
    // A column of a tile of 32 × 32 words: every lane in the same bank.
    let conflicts = walk(
        "transpose/transpose_conflicts.toml",
        "rtx-4090",
        &["--pc", "0x210"],
    );
    adds_up(&conflicts);
    assert_eq!(conflicts["passes"], 32);
    assert_eq!(
        conflicts["cycles"].as_u64().unwrap(),
        load["cycles"].as_u64().unwrap() + 31
    );
    for (gpu, pc) in [("rtx-4090", "0xb0"), ("h100-pcie", "0")] {
        let constant = walk("abi/barriers.toml", gpu, &["--pc", pc]);
        adds_up(&constant);
        assert_eq!(constant["constant_lines"], 1, "{constant:#}");
        for structure in [
            "constant cache",
            "constant link",
            "L1.5 constant cache",
            "request network",
            "L2",
            "constant return",
        ] {
            assert!(
                steps(&constant).contains(&structure),
                "{structure}: {constant:#}"
            );
        }
    }
}

/// MODEL.md §8.2: the example load alone on the GPU.
#[test]
fn a_cold_load_of_vadd_goes_to_dram_and_back() {
    let folder = std::env::temp_dir().join(format!("walk-one-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(
        kernel("vadd/vadd.sm_89.cubin"),
        folder.join("vadd.sm_89.cubin"),
    )
    .unwrap();
    let file = folder.join("one_warp.toml");
    std::fs::write(&file, ONE_WARP).unwrap();
    let walk = walk(file.to_str().unwrap(), "rtx-4090", &["--set", NO_REFRESH]);
    std::fs::remove_dir_all(&folder).unwrap();
    adds_up(&walk);
    assert_eq!(walk["translations"], 1);
    assert_eq!(walk["slices"], 1);
    assert_eq!(walk["sectors"], 4);
    assert_eq!(walk["lines"].as_array().unwrap().len(), 1);
    assert_eq!(walk["crossings"], 1);
    assert_eq!(walk["activations"], 1, "{walk:#}");
    assert_eq!(walk["column_reads"], 4);
    let hops = walk["hops"].as_array().unwrap();
    let slices = hops
        .iter()
        .filter(|hop| hop["structure"] == "request network");
    assert_eq!(slices.count(), 1, "one slice");
    for structure in [
        "address stages",
        "L1D",
        "port",
        "request network",
        "L2",
        "to controller",
        "DRAM column",
        "from controller",
        "L2 fill",
        "reply network",
        "transfer",
        "write-back",
    ] {
        assert!(steps(&walk).contains(&structure), "{structure}: {walk:#}");
    }
    // Each of the four sectors has a way of its own without a gap.
    for sector in 0..4_u64 {
        let own = |hop: &&Value| {
            hop["packet"].is_u64() && hop["sectors"].as_u64().unwrap() >> sector & 1 == 1
        };
        let mut own: Vec<&Value> = hops.iter().filter(own).collect();
        own.sort_by_key(|hop| (hop["start"].as_u64(), hop["end"].as_u64()));
        for pair in own.windows(2) {
            assert_eq!(
                pair[0]["end"], pair[1]["start"],
                "sector {sector}: {pair:#?}"
            );
        }
    }
}

/// Walks of all kinds of accesses on several GPUs add up.
#[test]
fn every_kind_of_access_adds_up() {
    let cases: [(&str, &[&str]); 6] = [
        ("vadd/vadd.toml", &["--nth", "1"]),
        ("vadd/vadd.toml", &["--warp", "5"]),
        ("reduction/reduction.toml", &[]),
        ("transpose/transpose_uncoalesced.toml", &["--warp", "3"]),
        ("spmv_csr/spmv_scalar.toml", &["--nth", "2"]),
        ("histogram/histogram_global.toml", &[]),
    ];
    for gpu in ["rtx-4090", "rtx-a6000", "a100-sxm4-40gb", "rtx-2080-ti"] {
        for (file, extra) in cases {
            adds_up(&walk(file, gpu, extra));
        }
    }
}

/// Stores and atomics end with their acknowledgement.
#[test]
fn stores_and_atomics_can_be_followed() {
    for (file, mnemonic) in [
        ("vadd/vadd.toml", "STG"),
        ("histogram/histogram_global.toml", "RED"),
    ] {
        let path = kernel(file);
        let errors = fails(2, &["walk", &path, "--gpu", "rtx-4090", "--pc", "1"]);
        let errors = errors.replace(['\n', '│'], " ");
        let words: Vec<&str> = errors.split_whitespace().collect();
        // The error lists what can be followed: `0x00f0 STG.E …`.
        let place = words.iter().position(|word| word.starts_with(mnemonic));
        let Some(place) = place else {
            panic!("{mnemonic} is not among {errors}");
        };
        let before = words[..place]
            .iter()
            .rev()
            .find(|word| word.starts_with("0x"));
        let walk = walk(file, "rtx-4090", &["--pc", before.unwrap()]);
        adds_up(&walk);
        assert!(walk["instruction"].as_str().unwrap().contains(mnemonic));
    }
}

/// What is asked for must be there; the error says what would be right.
#[test]
fn wrong_requests_are_refused() {
    let file = kernel("vadd/vadd.toml");
    for (arguments, says) in [
        (vec!["--pc", "0x0"], "instructions that go to memory"),
        (vec!["--pc", "0x7"], "no multiple of 16"),
        (vec!["--nth", "1000"], "times"),
        (vec!["--warp", "99999999"], "the grid has"),
        (vec!["--launch", "7"], "there is no launch 7"),
    ] {
        let mut all = vec!["walk", &file, "--gpu", "rtx-4090"];
        all.extend(&arguments);
        let errors = fails(2, &all);
        let one_line = errors.replace(['\n', '│'], " ");
        let words: Vec<&str> = one_line.split_whitespace().collect();
        assert!(words.join(" ").contains(says), "{arguments:?}: {errors}");
    }
}

/// Text and drawing tell the same.
#[test]
fn text_and_drawing_have_every_step() {
    let file = kernel("vadd/vadd.toml");
    let folder = std::env::temp_dir().join(format!("walk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let svg = folder.join("walk.svg");
    let output = output(&[
        "walk",
        &file,
        "--gpu",
        "rtx-4090",
        "--svg",
        svg.to_str().unwrap(),
    ]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let drawing = std::fs::read_to_string(&svg).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let json = walk("vadd/vadd.toml", "rtx-4090", &[]);
    for hop in json["hops"].as_array().unwrap() {
        let structure = hop["structure"].as_str().unwrap();
        assert!(text.contains(structure), "{structure}: {text}");
        assert!(drawing.contains(structure), "{structure}");
    }
    assert!(text.contains("4 sectors, 1 line"), "{text}");
    assert!(
        text.contains(&format!("{} cycles = ", json["cycles"])),
        "{text}"
    );
    let marks = drawing.matches("<title>").count();
    assert_eq!(marks, json["hops"].as_array().unwrap().len());
}

/// A walk is the same for any number of threads.
#[test]
fn threads_do_not_matter() {
    let one = walk("vadd/vadd.toml", "rtx-4090", &["--threads", "1"]);
    let two = walk("vadd/vadd.toml", "rtx-4090", &["--threads", "2"]);
    assert_eq!(one, two);
}
