//! `warpath lint`: silent on compiled code, exit code 1 and both instructions for what is wrong.

#![allow(clippy::unwrap_used)]

mod common;

use common::{kernel, warpath};
use serde_json::Value;

/// Assembles nothing: `lint` reads the text itself.
fn lint(body: &str, gpu: &str) -> (i32, Value) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kernel.sass");
    let text = format!(".kernel k\n{body}    [B------:R-:W-:-:S05] EXIT ;\n");
    std::fs::write(&file, text).unwrap();
    let output = warpath()
        .args(["lint", "--format", "json", "--arch", "sm_86", "--gpu", gpu])
        .arg(&file)
        .output()
        .unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    (output.status.code().unwrap(), report)
}

#[test]
fn each_fault_has_its_name_distances_and_both_instructions() {
    let cases = [
        (
            "    [B------:R-:W-:-:S03] FADD R4, R2, R3 ;\n    [B------:R-:W-:-:S04] FADD R5, R4, R4 ;\n",
            "stall_too_small",
            (Some(3), Some(4)),
        ),
        (
            "    [B------:R-:W-:-:S04] LDS R4, [R2] ;\n    [B------:R-:W-:-:S04] FADD R5, R4, R4 ;\n",
            "counter_missing",
            (None, None),
        ),
        (
            "    [B------:R-:W0:-:S04] LDS R4, [R2] ;\n    [B------:R-:W-:-:S04] FADD R5, R4, R4 ;\n",
            "wait_missing",
            (None, None),
        ),
        (
            "    [B------:R-:W0:-:S01] LDS R4, [R2] ;\n    [B0-----:R-:W-:-:S04] FADD R5, R4, R4 ;\n",
            "wait_too_early",
            (Some(1), Some(2)),
        ),
        (
            "    [B------:R-:W-:-:S04] LDS RZ, [R2] ;\n    [B---3--:R-:W-:-:S04] FADD R5, R4, R4 ;\n",
            "unraised_wait",
            (None, None),
        ),
        (
            "    [B------:R-:W-:-:S01] FADD R5, R4.reuse, R3 ;\n    [B------:R-:W-:-:S04] IADD3 R4, R6, R7, R7 ;\n\
             \x20   [B------:R-:W-:-:S04] IADD3 R8, R9, R4, R4 ;\n    [B------:R-:W-:-:S04] FADD R9, R4, R3 ;\n",
            "useless_reuse",
            (None, None),
        ),
        (
            "    [B------:R-:W-:-:S04] FADD R5, R4.reuse, R3 ;\n    [B------:R-:W-:-:S05] MOV R4, R7 ;\n\
             \x20   [B------:R-:W-:-:S04] FADD R9, R4, R3 ;\n",
            "stale_reuse",
            (None, None),
        ),
        (
            "    [B------:R-:W-:-:S12] FADD R5, R4, R3 ;\n",
            "collapsed_stall",
            (Some(1), Some(12)),
        ),
    ];
    for (body, fault, (found, needed)) in cases {
        let (code, report) = lint(body, "rtx-a6000");
        assert_eq!(code, 1, "{body}");
        let findings = report["findings"].as_array().unwrap();
        let told = findings.iter().find(|told| told["fault"] == fault);
        let told = told.unwrap_or_else(|| panic!("{fault} not in {findings:#?}"));
        assert_eq!(told["found"].as_u64(), found, "{told}");
        assert_eq!(told["needed"].as_u64(), needed, "{told}");
        for place in [&told["first"], &told["second"]] {
            assert!(place["text"].as_str().unwrap().starts_with("[B"), "{told}");
            assert!(place["line"].as_u64().unwrap() >= 2, "{told}");
        }
    }
}

#[test]
fn a_loop_is_followed_around() {
    // The read of R4 at the loop's head is too close to its write at the end, around the loop alone.
    let body = "    [B------:R-:W-:-:S05] MOV R4, RZ ;\n\
                again:\n    [B------:R-:W-:-:S04] FADD R5, R4, R4 ;\n\
                \x20   [B------:R-:W-:-:S13] ISETP.NE.AND P0, PT, R3, RZ, PT ;\n\
                \x20   [B------:R-:W-:-:S01] IMAD R4, R2, R2, R2 ;\n    [B------:R-:W-:-:S01] @P0 BRA again ;\n";
    let (code, report) = lint(&body.replace("S13", "S11"), "rtx-a6000");
    assert_eq!(code, 1);
    let findings = report["findings"].as_array().unwrap();
    let around = |told: &&Value| told["first"]["pc"] == 0x30 && told["second"]["pc"] == 0x10;
    assert!(
        !findings.iter().any(|told| around(&told)),
        "a way of 4 cycles: {findings:#?}"
    );
    let guard = |told: &&Value| told["kind"] == "guard" && told["needed"] == 13;
    assert!(findings.iter().any(|told| guard(&told)), "{findings:#?}");
}

/// BAR holds its warp behind the hand-over of earlier stores, so their sources may be overwritten then. With
/// DEFER_BLOCKING it takes hold later; the shorter one is that of bitsandbytes' code for sm_80, which stalls
/// BAR.SYNC by 6 and overwrites at once.
#[test]
fn a_barrier_stands_for_the_read_counter_of_earlier_stores_once_it_takes_hold() {
    for (gpu, bar, stall, silent) in [
        ("rtx-a6000", "BAR.SYNC", 6, true),
        ("rtx-a6000", "BAR.SYNC", 5, false),
        ("rtx-a6000", "BAR.SYNC.DEFER_BLOCKING", 7, true),
        ("rtx-a6000", "BAR.SYNC.DEFER_BLOCKING", 6, false),
    ] {
        let body = format!(
            "    [B------:R-:W-:-:S04] STS.U8 [R2], R7 ;\n    [B------:R-:W-:-:S{stall:02}] {bar} 0x0 ;\n\
             \x20   [B------:R-:W-:-:S05] IADD3 R7, R8, R9, RZ ;\n"
        );
        let (code, report) = lint(&body, gpu);
        assert_eq!(code == 0, silent, "{body}{report:#}");
        let findings = report["findings"].as_array().unwrap();
        let overwrite = |told: &Value| told["dependence"] == "WAR" && told["register"] == "R7";
        assert_eq!(findings.iter().any(overwrite), !silent, "{report:#}");
    }
}

#[test]
fn what_compilers_write_has_no_findings() {
    for file in [
        "reduction/reduction.sm_86.cubin",
        "vadd/vadd.sm_75.cubin",
        "hgemm/hgemm.sm_90.cubin",
    ] {
        let output = warpath().args(["lint", &kernel(file)]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(text.starts_with("0 findings in "), "{text}");
    }
}

#[test]
fn mining_compares_with_the_tables() {
    let file = kernel("reduction/reduction.sm_86.cubin");
    let output = warpath()
        .args(["lint", "--mine", "--format", "json", &file])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    let tight = rows.iter().filter(|row| row["verdict"] == "equal").count();
    assert!(tight > 10, "{rows:#?}");
    assert!(rows.iter().all(|row| row["verdict"] != "smaller"));
}

#[test]
fn what_cannot_be_checked_is_refused_by_name() {
    let file = kernel("vadd/vadd.sm_86.cubin");
    for (arguments, wanted) in [
        (vec!["lint", &file, "--gpu", "rtx-2080-ti"], "sm_75"),
        (vec!["lint", &file, "--gpu", "nonesuch"], "nonesuch"),
        (vec!["lint", &file, "--kernel", "nonesuch"], "nonesuch"),
        (vec!["lint", "no-such-file.cubin"], "no-such-file.cubin"),
    ] {
        let output = warpath().args(&arguments).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(wanted), "{arguments:?}: {error}");
    }
}
