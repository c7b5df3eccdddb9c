//! `--warm-l2`: what copies from the host leave in L2 when a kernel begins.

#![allow(clippy::unwrap_used)]

mod common;

use serde_json::Value;

/// Launches of a run as JSON.
fn launches(file: &str, arguments: &[&str]) -> Vec<Value> {
    let output = common::warpath()
        .args(["run", file, "--format", "json", "--gpu", "rtx-4090"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn metric(launch: &Value, name: &str) -> u64 {
    launch["metrics"][name].as_u64().unwrap()
}

#[test]
fn a_kernel_finds_its_input_in_l2_unless_it_is_to_be_cold() {
    let file = common::kernel("vadd/vadd.toml");
    let read = |arguments: &[&str]| metric(&launches(&file, arguments)[0], "dram__bytes_read.sum");
    let cold = read(&["--warm-l2", "off"]);
    assert!(cold > 2 * 4 * 65_536, "{cold}");
    assert_eq!(read(&[]), 0);
    assert_eq!(read(&["--warm-l2", "on"]), 0);
    let cycles = |arguments: &[&str]| launches(&file, arguments)[0]["cycles"].as_u64().unwrap();
    assert!(cycles(&[]) < cycles(&["--warm-l2", "off"]));
}

/// The launch file of vadd, changed, beside its cubins.
fn changed(folder: &std::path::Path, change: impl Fn(&str) -> String) -> String {
    for file in std::fs::read_dir(common::kernel("vadd")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_some_and(|kind| kind == "cubin") {
            std::fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
        }
    }
    let text = std::fs::read_to_string(common::kernel("vadd/vadd.toml")).unwrap();
    let path = folder.join("changed.toml");
    std::fs::write(&path, change(&text)).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn a_launch_finds_what_the_one_before_wrote() {
    let folder = tempfile::tempdir().unwrap();
    // The second launch reads what the first wrote, and writes the same again.
    let again = "[[launch]]\nkernel = \"vadd\"\ngrid = [256]\nblock = [256]\n\
                 args = [\"c\", \"c\", \"d\", { i32 = 65536 }]\n";
    let more = "[buffers.d]\ntype = \"f32\"\ncount = 65536\ninit = { fill = 0 }\n";
    let file = changed(folder.path(), |text| {
        text.replacen("[buffers.a]", &format!("{again}\n{more}\n[buffers.a]"), 1)
    });
    let second = |arguments: &[&str]| {
        let all = launches(&file, arguments);
        metric(&all[1], "dram__bytes_read.sum")
    };
    assert_eq!(second(&[]), 0);
    assert!(second(&["--warm-l2", "off"]) >= 4 * 65_536);
}

#[test]
fn a_launch_file_may_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = changed(folder.path(), |text| format!("warm_l2 = false\n{text}"));
    let read = |arguments: &[&str]| metric(&launches(&file, arguments)[0], "dram__bytes_read.sum");
    assert!(read(&[]) > 0);
    assert_eq!(read(&["--warm-l2", "on"]), 0);
}
