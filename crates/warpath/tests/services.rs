//! What device code asks of the system: the same lines in both modes and for any number of threads and
//! any window, failed assertions as CUDA words them, a heap that catches misuse.

#![allow(clippy::unwrap_used)]

mod common;

use assert_cmd::Command;

fn warpath(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::cargo_bin("warpath")
        .unwrap()
        .arg("run")
        .args(arguments)
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn file(name: &str) -> String {
    common::kernels()
        .join("services")
        .join(name)
        .display()
        .to_string()
}

/// Lines of the kernel `print_lines`, computed with Rust's own formatting.
fn expected_lines() -> Vec<String> {
    let mut lines = Vec::new();
    for i in 0..100i64 {
        let letter = char::from(b'a' + (i % 26) as u8);
        let octal = if i == 0 {
            "0".to_owned()
        } else {
            format!("0{i:o}")
        };
        lines.push(format!(
            "thread {:3} of block {}: {:+} {:05} {:<4}| {:x} {octal} {letter}",
            i % 40,
            i / 40,
            i - 3,
            i * 7,
            i,
            i * 255
        ));
        if i % 3 != 0 {
            continue;
        }
        let exponential = if i == 0 {
            "0.000000e+00".to_owned()
        } else {
            let text = format!("{:.6e}", i as f64 * 1.0e10);
            let (mantissa, exponent) = text.split_once('e').unwrap();
            format!("{mantissa}e+{exponent:0>2}")
        };
        // A whole number in hexadecimal: its leading one, then the bits behind it.
        let hexadecimal = if i == 0 {
            "0x0p+0".to_owned()
        } else {
            let power = 63 - i.leading_zeros();
            let fraction = format!("{:013x}", (i as u64) << (52 - power) & ((1 << 52) - 1));
            let fraction = fraction.trim_end_matches('0');
            let point = if fraction.is_empty() { "" } else { "." };
            format!("0x1{point}{fraction}p+{power}")
        };
        lines.push(format!(
            "hello local{}      lit| {:.2} {exponential} {} {hexadecimal} {} %",
            i % 10,
            i as f64 * 0.5,
            i as f64 / 8.0,
            i << 40
        ));
    }
    lines.sort();
    lines
}

#[test]
fn both_modes_print_the_same_lines() {
    let launch = file("print_lines.toml");
    let printed = |arguments: &[&str]| {
        let arguments = [&[launch.as_str(), "--format", "json"], arguments].concat();
        let (code, out, errors) = warpath(&arguments);
        assert_eq!(code, Some(0), "{errors}");
        let report: serde_json::Value = serde_json::from_str(&out).unwrap();
        report[0]["printed"].as_str().unwrap().to_owned()
    };
    let first = printed(&[]);
    for other in [
        ["--threads", "1"],
        ["--threads", "2"],
        ["--window", "1"],
        ["--window", "7"],
    ] {
        assert_eq!(first, printed(&other), "{other:?}");
    }
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&first), expected_lines());
    assert_eq!(
        sorted(&printed(&["--mode", "functional"])),
        expected_lines()
    );
    let (_, text, _) = warpath(&[&launch]);
    assert!(text.starts_with("Device printf") && text.contains(&first));
}

#[test]
fn a_failed_assertion_is_told_as_cuda_tells_it() {
    for mode in ["functional", "timing"] {
        let (code, out, errors) = warpath(&[
            &file("services.sm_86.cubin"),
            "--kernel=assertion",
            "--grid=1",
            "--block=4",
            "--arg=values=u32:4:values(1,9,2,8)",
            "--arg=i32:5",
            "--mode",
            mode,
        ]);
        assert_eq!(code, Some(1));
        let line = |thread: u32| {
            format!(
                "void assertion(const unsigned int *, int): block: [0,0,0], thread: [{thread},0,0] \
                 Assertion `values[threadIdx.x] < static_cast<unsigned>(limit)` failed."
            )
        };
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 2, "{out}");
        for (text, thread) in lines.iter().zip([1, 3]) {
            assert!(text.starts_with("services.cu:"), "{text}");
            assert!(text.ends_with(&line(thread)), "{text}");
        }
        assert!(errors.contains("thread: [1,0,0] Assertion"), "{errors}");
    }
}

#[test]
fn a_block_freed_twice_is_an_error() {
    for mode in ["functional", "timing"] {
        let run = |times: &str| {
            warpath(&[
                &file("services.sm_86.cubin"),
                "--kernel=freed_twice",
                "--grid=2",
                "--block=32",
                &format!("--arg=i32:{times}"),
                "--mode",
                mode,
            ])
        };
        assert_eq!(run("1").0, Some(0));
        let (code, _, errors) = run("2");
        assert_eq!(code, Some(1));
        assert!(
            errors.contains("no block of the heap begins there"),
            "{errors}"
        );
        assert!(
            errors.contains("thread (0, 0, 0) of CTA (0, 0, 0)"),
            "{errors}"
        );
    }
}

#[test]
fn a_cooperative_launch_must_fit_the_gpu() {
    let cubin = common::kernels().join("synchronisation/grid_sync.sm_86.cubin");
    let (code, _, errors) = warpath(&[
        &cubin.display().to_string(),
        "--grid=100000",
        "--block=128",
        "--arg=u32:16:zero",
        "--arg=u32:16:zero",
        "--arg=i32:16",
        "--arg=i32:1",
        "--cooperative",
    ]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(
        errors.contains("100000 CTAs of a cooperative launch"),
        "{errors}"
    );
}
