//! Host programs and fatbins where a cubin may stand: the image for the GPU is chosen, kernels are
//! found in whichever module has them, and separately compiled code runs once it is linked.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::warpath;
use serde_json::Value;

fn fixture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cubin/tests/fixtures");
    folder.join(name).to_string_lossy().into_owned()
}

fn output(arguments: &[&str]) -> (bool, String) {
    let output = warpath().args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    (output.status.success(), text)
}

/// Two launches of one program whose kernels lie in two modules, the second of them linked from two
/// translation units; on GPUs that take different images.
#[test]
fn a_launch_file_may_name_a_host_program() {
    let folder = tempfile::tempdir().unwrap();
    let library = fixture("host_library.so");
    let file = folder.path().join("program.toml");
    let text = format!(
        r#"
        cubin = "{library}"
        [[launch]]
        kernel = "second"
        grid = [1]
        block = [32]
        args = ["numbers"]
        [[launch]]
        kernel = "add"
        grid = [1]
        block = [32]
        args = ["sums", "terms", {{ i32 = 32 }}]
        [buffers.numbers]
        type = "i32"
        count = 32
        [buffers.sums]
        type = "f32"
        count = 32
        init = {{ fill = 1.0 }}
        [buffers.terms]
        type = "f32"
        count = 32
        init = {{ iota = [0, 1] }}
        [[check]]
        buffer = "numbers"
        values = {:?}
        [[check]]
        buffer = "sums"
        values = {:?}
        "#,
        (0..32).map(|i| 2 * i).collect::<Vec<i32>>(),
        (1..33).map(|i| i as f32).collect::<Vec<f32>>(),
    );
    std::fs::write(&file, text).unwrap();
    let file = file.to_string_lossy();
    for (gpu, add) in [("rtx-a6000", 86), ("rtx-4090", 86)] {
        let (success, text) = output(&["run", &file, "--gpu", gpu, "--format", "json"]);
        assert!(success, "{text}");
        let report: Value = serde_json::from_str(&text).unwrap();
        let launches = report.as_array().unwrap();
        assert_eq!(launches.len(), 2);
        for launch in launches {
            assert_eq!(launch["architecture"], format!("sm_{add}"));
            assert_eq!(launch["hazards"]["count"], 0);
        }
    }
    // The linked module has code for sm_86 only.
    let (success, text) = output(&["run", &file, "--gpu", "a100-sxm4-40gb"]);
    assert!(!success);
    assert!(text.contains("no kernel named `second`"), "{text}");
}

#[test]
fn a_kernel_of_a_fatbin_runs_on_the_gpu_of_its_best_image() {
    for name in ["fat_none", "fat_speed", "fat_size", "fat_group"] {
        let file = fixture(&format!("{name}.fatbin"));
        let arguments = ["--grid", "1", "--block", "32", "--format", "json"];
        for (gpu, image) in [("a100-sxm4-40gb", 80), ("rtx-a6000", 86), ("rtx-4090", 86)] {
            let mut line = vec!["run", &file, "--gpu", gpu];
            line.extend(arguments);
            for argument in ["f32:32:fill(1)", "f32:32:fill(1)", "i32:32"] {
                line.extend(["--arg", argument]);
            }
            let (success, text) = output(&line);
            assert!(success, "{name} on {gpu}: {text}");
            let report: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(report[0]["architecture"], format!("sm_{image}"));
        }
    }
}

#[test]
fn disassembly_covers_every_image_or_the_one_asked_for() {
    let file = fixture("fat_size.fatbin");
    let (_, all) = output(&["disasm", &file]);
    for architecture in ["sm_75", "sm_80", "sm_86", "sm_90"] {
        assert!(
            all.contains(&format!("// kernel add: {architecture},")),
            "{all}"
        );
    }
    let (_, one) = output(&["disasm", &file, "--arch", "sm_80"]);
    assert_eq!(one.matches("// kernel add").count(), 1);
    let (success, text) = output(&["disasm", &file, "--arch", "sm_89"]);
    assert!(!success && text.contains("no code for sm_89"), "{text}");
}

#[test]
fn source_lines_stand_before_their_instructions() {
    let file = fixture("lines_sm86_cuda13.cubin");
    let (_, text) = output(&["disasm", &file, "--kernel", "first", "--lines"]);
    let inlined = "// source/lines.cu:4 (_Z5innerf) inlined at source/lines.cu:8 (_Z5outerf) \
                   inlined at source/lines.cu:15\n/*0080*/";
    assert!(text.contains(inlined), "{text}");
}

#[test]
fn what_has_no_code_for_the_gpu_is_refused() {
    for (name, words) in [
        ("fat_ptx.fatbin", "PTX for compute_90"),
        ("host_relocatable.o", "objects of separate compilation only"),
    ] {
        let file = fixture(name);
        let line = [
            "run", &file, "--kernel", "add", "--grid", "1", "--block", "1",
        ];
        let result = warpath().args(line).output().unwrap();
        let text = String::from_utf8(result.stderr).unwrap();
        assert_eq!(result.status.code(), Some(2), "{text}");
        let text = text.replace(['\n', '│'], " ");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{name}: {text}");
    }
}
