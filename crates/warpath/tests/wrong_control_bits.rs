//! `--hazards emulate` on code that is wrong in every way at once: what it computes depends on time, and on
//! nothing else; code that is right is left alone, and the mode is refused where there is no time.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{kernel, warpath};

/// Loads, atomics and copies that nobody waits for, stores whose data are overwritten in the queue.
const WRONG: &str = "\
.arch sm_86
.kernel wrong
.param 8 out
.param 8 input
.shared 1024
[B------:R-:W0:-:S02] S2R R18, SR_TID.X ;
[B------:R-:W1:-:S02] S2R R17, SR_CTAID.X ;
[B01----:R-:W-:Y:S15] IMAD R18, R17, c[0x0][0x0], R18 ;
[B------:R-:W-:Y:S15] MOV R19, 0x4 ;
[B------:R-:W-:Y:S15] IMAD.WIDE.U32 R14, R18, R19, c[0x0][input] ;
[B------:R-:W-:Y:S15] IMAD.WIDE.U32 R12, R18, R19, c[0x0][out] ;
[B------:R-:W-:Y:S15] LOP3.LUT R23, R18, 0x7f, RZ, 0xc0, !PT ;
[B------:R-:W-:Y:S15] IMAD.SHL.U32 R23, R23, 0x4, RZ ;
[B------:R-:W-:Y:S15] STS [R23], R18 ;
[B------:R-:W0:-:S01] LDG.E R20, [R14.64] ;
[B------:R-:W1:-:S01] LDS R21, [R23] ;
[B------:R-:W2:-:S01] ATOMG.E.ADD.STRONG.GPU PT, R22, [R14.64], R18 ;
[B------:R-:W-:-:S01] IADD3 R24, R20, R21, R22 ;
[B------:R-:W-:-:S01] IADD3 R24, R24, 0x1, RZ ;
[B------:R-:W-:-:S01] ISETP.GT.AND P0, PT, R24, 0x40, PT ;
[B------:R-:W-:-:S01] @P0 IADD3 R24, R24, R20, RZ ;
.rept 20
[B------:R-:W-:-:S01] STG.E [R12.64], R24 ;
[B------:R-:W-:-:S01] IADD3 R24, R24, R21, RZ ;
[B------:R-:W-:-:S01] IADD3 R24, R24, R22, RZ ;
.endr
[B------:R-:W3:-:S01] LDGSTS.E [R23+0x200], [R14.64] ;
[B------:R-:W-:-:S01] LDS R25, [R23+0x200] ;
[B------:R-:W-:-:S01] STG.E [R12.64+0x4000], R25 ;
[B012---:R-:W-:Y:S15] STG.E [R12.64+0x8000], R22 ;
[B------:R-:W-:-:S05] EXIT ;
";

/// Output buffer and cycles of a run.
fn run(folder: &Path, cubin: &Path, arguments: &[&str]) -> (Vec<u8>, u64, u64) {
    let out = folder.join("out.bin");
    let output = warpath()
        .arg("run")
        .arg(cubin)
        .args(["--kernel", "wrong", "--grid", "32", "--block", "128"])
        .args(["--arg", "out=u32:12288:zero", "--arg", "u32:4096:iota(5,3)"])
        .args(["--format", "json", "--dump"])
        .arg(format!("out={}", out.display()))
        .args(arguments)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let launch = &report[0];
    (
        std::fs::read(&out).unwrap(),
        launch["cycles"].as_u64().unwrap(),
        launch["hazards"]["count"].as_u64().unwrap(),
    )
}

#[test]
fn wrong_values_depend_on_time_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (text, cubin) = (folder.path().join("w.sass"), folder.path().join("w.cubin"));
    std::fs::write(&text, WRONG).unwrap();
    let assembled = warpath()
        .arg("asm")
        .arg(&text)
        .arg("-o")
        .arg(&cubin)
        .output();
    assert!(assembled.unwrap().status.success());
    let emulate = |more: &[&str]| {
        let arguments = [&["--hazards", "emulate"], more].concat();
        run(folder.path(), &cubin, &arguments)
    };
    let plain = emulate(&["--threads", "1"]);
    assert!(plain.2 > 0, "nothing is reported");
    for more in [
        &["--threads", "2"][..],
        &["--threads", "1", "--window", "1"],
        &["--threads", "2", "--window", "7"],
        &["--threads", "1", "--host-isa", "baseline"],
    ] {
        assert!(emulate(more) == plain, "{more:?} changes it");
    }
    // What the program says, and what the machine does.
    let checked = run(folder.path(), &cubin, &["--hazards", "check"]);
    assert_ne!(checked.0, plain.0);
    let slower = emulate(&["--set", "memory_unit.shared_lookup=20"]);
    assert_eq!(checked.0.len(), slower.0.len());
}

#[test]
fn emulation_needs_time() {
    let vadd = kernel("vadd/vadd.toml");
    let output = warpath()
        .args(["run", &vadd, "--mode", "functional", "--hazards", "emulate"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("--mode timing"), "{error}");
}
