//! Hostile and mistaken input: one clear error that names what and where, the right exit code, nothing
//! half-written.

#![allow(clippy::unwrap_used)]

mod common;

use common::{fails, kernel, warpath};

/// Arguments of a good run of vadd from its cubin, to be spoilt one by one.
fn vadd<'a>(cubin: &'a str, changes: &[(&'a str, &'a str)]) -> Vec<&'a str> {
    let mut options = vec![
        ("--kernel", "vadd"),
        ("--grid", "1"),
        ("--block", "64"),
        ("--gpu", "rtx-a6000"),
        ("--mode", "functional"),
    ];
    for &(name, value) in changes.iter().filter(|(name, _)| *name != "--args") {
        match options.iter_mut().find(|option| option.0 == name) {
            Some(option) => option.1 = value,
            None => options.push((name, value)),
        }
    }
    let mut arguments = vec!["run", cubin];
    for (name, value) in options {
        arguments.extend([name, value]);
    }
    let args = changes.iter().find(|(name, _)| *name == "--args").map_or(
        "a=f32:64:iota(0,1) b=f32:64:fill(1) c=f32:64:zero i32:64",
        |change| change.1,
    );
    for argument in args.split_whitespace() {
        arguments.extend(["--arg", argument]);
    }
    arguments
}

fn cubin() -> String {
    kernel("vadd/vadd.sm_86.cubin")
}

#[test]
fn the_good_run_is_good() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.bin");
    let cubin = cubin();
    let mut arguments = vadd(&cubin, &[]);
    let dump = format!("c={}", file.display());
    arguments.extend(["--dump", &dump]);
    warpath().args(&arguments).assert().success();
    let bytes = std::fs::read(&file).unwrap();
    let values: Vec<f32> = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b))
        .collect();
    assert!(
        values
            .iter()
            .enumerate()
            .all(|(index, value)| *value == index as f32 + 1.0)
    );
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        1,
        "no temporary file is left"
    );

    let by_position = format!("2={}", file.display());
    let last = arguments.len() - 1;
    arguments[last] = &by_position;
    warpath().args(&arguments).assert().success();
}

#[test]
fn truncated_cubins() {
    let whole = std::fs::read(cubin()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("short.cubin");
    for length in [0, 3, 16, 63, 64, 100, whole.len() / 2, whole.len() / 4 * 3] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let path = path.to_string_lossy();
        for command in ["disasm", "coverage"] {
            let told = fails(2, &[command, &path]);
            assert!(told.contains("short.cubin"), "{told}");
        }
        let told = fails(2, &vadd(&path, &[]));
        assert!(told.contains("byte"), "{told}");
    }
}

#[test]
fn flipped_bits_never_panic() {
    let whole = std::fs::read(cubin()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flipped.cubin");
    let text = path.to_string_lossy().into_owned();
    // A step that is prime to 8 spreads the flips over all bits of all fields.
    for bit in (0..whole.len() * 8).step_by((whole.len() * 8 / 150) | 1) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bytes).unwrap();
        let mut arguments = vadd(&text, &[]);
        arguments.extend(["--max-cycles", "100000"]);
        let output = warpath().args(&arguments).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            matches!(output.status.code(), Some(0..=2)),
            "bit {bit}: {told}"
        );
        assert!(!told.contains("panicked"), "bit {bit}: {told}");
    }
}

#[test]
fn files_that_are_no_cubins() {
    let told = fails(
        2,
        &["run", "/no/such/file.cubin", "--grid", "1", "--block", "1"],
    );
    assert!(told.contains("/no/such/file.cubin"), "{told}");
    let told = fails(2, &["disasm", &kernel("vadd/vadd.cu")]);
    assert!(told.contains("ELF"), "{told}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.cubin");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(5 << 30).unwrap();
    let told = fails(2, &["disasm", &path.to_string_lossy()]);
    assert!(told.contains("larger than"), "{told}");
}

#[test]
fn a_fatbin_without_a_cubin_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("none.fatbin");
    // Magic number, version 1, a header of 16 bytes, no images.
    let mut bytes = 0xba55_ed50u32.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend([0; 8]);
    std::fs::write(&file, bytes).unwrap();
    let file = file.display().to_string();
    for command in ["disasm", "coverage"] {
        let told = fails(2, &[command, &file]);
        assert!(told.contains("no cubin: the file holds no image"), "{told}");
    }
}

#[test]
fn wrong_architecture() {
    let told = fails(
        2,
        &vadd(&kernel("vadd/vadd.sm_89.cubin"), &[("--gpu", "rtx-a6000")]),
    );
    assert!(
        told.contains("sm_89") && told.contains("rtx-a6000"),
        "{told}"
    );
    // Code for sm_80 runs on sm_86, as on the hardware.
    warpath()
        .args(vadd(&kernel("vadd/vadd.sm_80.cubin"), &[]))
        .assert()
        .success();
}

#[test]
fn unknown_names_come_with_the_nearest() {
    let cubin = cubin();
    let told = fails(2, &vadd(&cubin, &[("--kernel", "vad")]));
    assert!(told.contains("`vadd`"), "{told}");
    let told = fails(2, &vadd(&cubin, &[("--gpu", "rtx-a600")]));
    assert!(told.contains("rtx-a6000"), "{told}");
    let told = fails(2, &vadd(&cubin, &[("--set", "launch.overhed=1")]));
    assert!(told.contains("launch.overhead"), "{told}");
    let told = fails(2, &vadd(&cubin, &[("--set", "card.sms=0")]));
    assert!(
        told.contains("card.sms") && told.contains("1..=1024"),
        "{told}"
    );
    let told = fails(
        2,
        &vadd(&cubin, &[("--set", "engine.visibility_quantum=100000")]),
    );
    assert!(told.contains("engine.visibility_quantum"), "{told}");
}

#[test]
fn arguments_that_do_not_fit() {
    let cubin = cubin();
    let buffers = "a=f32:64:zero b=f32:64:zero c=f32:64:zero";
    let with = |args: &str| fails(2, &vadd(&cubin, &[("--args", args)]));
    let told = with(buffers);
    assert!(
        told.contains("4 parameters") && told.contains("3 arguments"),
        "{told}"
    );
    let told = with(&format!("{buffers} i32:64 i32:1"));
    assert!(told.contains("5 arguments"), "{told}");
    let told = with(&format!("{buffers} i64:64"));
    assert!(
        told.contains("argument 3") && told.contains("8 bytes"),
        "{told}"
    );
    let told = with("i32:1 b=f32:64:zero c=f32:64:zero i32:64");
    assert!(
        told.contains("argument 0") && told.contains("a buffer"),
        "{told}"
    );
    for bad in [
        "i32:x",
        "i32",
        "f33:1",
        "a=f32:64",
        "a=f32:0:zero",
        "i32:5000000000",
        "f32:4:what(1)",
    ] {
        let told = with(&format!("{buffers} {bad}"));
        assert!(told.contains(bad), "{told}");
    }
    let told = with("a=f32:64:@/no/such/file b=f32:64:zero c=f32:64:zero i32:64");
    assert!(told.contains("/no/such/file"), "{told}");
    let told = with("a=f64:1000000000000:zero b=f32:64:zero c=f32:64:zero i32:64");
    assert!(
        told.contains("device memory") && told.contains("`a`"),
        "{told}"
    );
    let told = with("a=f64:1000000000:iota(0,1) b=f32:64:zero c=f32:64:zero i32:64");
    assert!(told.contains("first contents"), "{told}");
}

#[test]
fn impossible_launches() {
    let cubin = cubin();
    for (name, value, word) in [
        ("--grid", "0", "--grid 0"),
        ("--grid", "1,65536", "65535"),
        ("--grid", "1,1,1,1", "one to three"),
        ("--grid", "x", "--grid x"),
        ("--block", "1025", "1024"),
        ("--block", "32,33", "1056"),
        ("--block", "1,1,65", "64"),
        ("--shared", "200000", "shared memory"),
        ("--dump", "nothing", "ARG=FILE"),
        ("--dump", "z=out.bin", "`z`"),
        ("--dump", "c=/no/such/folder/out.bin", "/no/such/folder"),
    ] {
        let told = fails(2, &vadd(&cubin, &[(name, value)]));
        assert!(told.contains(word), "{name} {value}: {told}");
    }
}

#[test]
fn a_kernel_without_code_for_the_gpu_names_the_architectures_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("newer.toml");
    let good = std::fs::read_to_string(kernel("vadd/vadd.toml")).unwrap();
    let newer = format!("architectures = [\"sm_80\", \"sm_89\"]\n{good}");
    std::fs::write(&path, newer).unwrap();
    let told = fails(2, &["run", &path.to_string_lossy(), "--gpu", "rtx-a6000"]);
    for word in ["rtx-a6000", "sm_86", "sm_80 and sm_89"] {
        assert!(told.contains(word), "no {word} in {told}");
    }
}

#[test]
fn accesses_out_of_bounds_and_misaligned() {
    let cubin = cubin();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.bin");
    let dump = format!("c={}", file.display());
    for mode in ["functional", "timing"] {
        let told = fails(
            1,
            &vadd(
                &cubin,
                &[
                    ("--mode", mode),
                    ("--dump", &dump),
                    ("--args", "a=f32:64:zero b=f32:60:zero c=f32:64:zero i32:64"),
                ],
            ),
        );
        for word in [
            "`vadd`",
            "pc 0x00",
            "LDG",
            "thread (60, 0, 0)",
            "CTA (0, 0, 0)",
            "out of bounds",
            "`b`",
        ] {
            assert!(told.contains(word), "{mode}: no {word} in {told}");
        }
        let told = fails(
            1,
            &vadd(
                &cubin,
                &[
                    ("--mode", mode),
                    ("--dump", &dump),
                    (
                        "--args",
                        "u64:0x7f0000000001 b=f32:64:zero c=f32:64:zero i32:64",
                    ),
                ],
            ),
        );
        assert!(
            told.contains("thread (0, 0, 0)") && told.contains("0x7f0000000001"),
            "{told}"
        );
    }
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        0,
        "nothing is written"
    );
}

#[test]
fn the_limit_of_cycles_and_the_wait_graph() {
    let told = fails(1, &["run", &kernel("vadd/vadd.toml"), "--max-cycles", "50"]);
    assert!(
        told.contains("50 cycles") && told.contains("SM 0"),
        "{told}"
    );
}

#[test]
fn launch_files_at_fault() {
    let good = std::fs::read_to_string(kernel("vadd/vadd.toml")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spoilt.toml");
    let name = path.to_string_lossy().into_owned();
    std::fs::copy(cubin(), folder.path().join("vadd.sm_86.cubin")).unwrap();
    for (from, to, words) in [
        ("grid = [256]", "grid = []", "launch[0].grid"),
        ("grid =", "gird =", "launch[0].gird"),
        ("kernel = \"vadd\"", "kernel = \"vad\"", "`vadd`"),
        ("reference = \"vadd\"", "reference = \"vsub\"", "vsub"),
        ("\"c\", {", "\"d\", {", "buffer name `d`"),
        ("type = \"f32\"", "type = \"f31\"", "buffers.a.type"),
        ("count = 65536", "count = 65535", "out of bounds"),
        ("low = -1.0", "low = \"x\"", "buffers.a.init.low"),
        ("n = 65536", "m = 65536", "parameter `n`"),
        ("gpu = \"rtx-a6000\"", "gpu = \"gtx\"", "gtx"),
        ("[[launch]]", "[[launch]", "spoilt.toml:5"),
        ("vadd.{arch}.cubin", "none.{arch}.cubin", "none.sm_86.cubin"),
    ] {
        assert!(good.contains(from), "{from}");
        std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let output = warpath()
            .args(["run", &name, "--mode", "functional"])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(words), "{to}: {told}");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{to}: {told}");
        assert!(!told.contains("panicked"), "{told}");
    }
    let wrong = good.replacen(
        "reference = \"vadd\"",
        "buffer = \"c\"\nvalues = { fill = 0 }",
        1,
    );
    std::fs::write(&path, wrong).unwrap();
    let output = warpath()
        .args(["run", &name, "--mode", "functional"])
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "a failed check is a failed run"
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("check of `c` failed"));
}

#[test]
fn usage() {
    let told = fails(2, &["run", &kernel("vadd/vadd.toml"), "--grid", "1"]);
    assert!(told.contains("--grid"), "{told}");
    for arguments in [
        &["run"][..],
        &["no-such-command"],
        &["run", "x", "--threads", "-1"],
    ] {
        let output = warpath().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
    }
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["man"],
        &["completions", "bash"],
        &["gpus"],
    ] {
        warpath().args(arguments).assert().success();
    }
}
