//! What the built-in lab files say machines do, the simulator does: every exact row, to the cycle.

use lab::{Bench, Row};

/// Exact rows that are not met yet, each with what is missing.
const MISSING: &[(&str, &str)] = &[
    // The scheduler among many warps.
    ("a100_cggty_13_warps/", "trace"),
];

/// Other rows that are not met yet, each with what is missing.
const NOT_CLOSE: &[(&str, &str)] = &[
    // Its code came from beyond L2, at a rate that no other row tells.
    ("tu_rf_bank_conflict_64/FFMA_", "a cold start"),
];

fn rows(pattern: &str) -> Vec<Row> {
    let mut bench = Bench::new(&[]).expect("the built-in files");
    let mut rows = Vec::new();
    for document in bench.known().to_vec() {
        for experiment in &document.experiments {
            if experiment.id.starts_with(pattern) {
                bench
                    .run(experiment, None, &|_| true, &mut |row| rows.push(row))
                    .expect("a run");
            }
        }
    }
    rows
}

#[test]
fn rows_are_met() {
    let mut wrong = Vec::new();
    let mut passed = 0;
    let rows = rows("");
    for row in rows.iter().filter(|row| row.exact) {
        let name = format!("{}/{}", row.experiment, row.variant);
        let missing = MISSING.iter().find(|(known, _)| name.starts_with(known));
        match (row.pass, missing) {
            (true, None) => passed += 1,
            (false, Some(_)) => {}
            (true, Some((_, why))) => {
                wrong.push(format!("{name} is met now: {why} is no longer missing"))
            }
            (false, None) => wrong.push(format!("{name}: {row:?}")),
        }
    }
    for row in rows.iter().filter(|row| !row.exact) {
        let name = format!("{}/{}", row.experiment, row.variant);
        let missing = NOT_CLOSE.iter().any(|(known, _)| name.starts_with(known));
        if row.pass == missing {
            wrong.push(format!("{name}: {row:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(passed >= 260, "{passed} exact rows");
}

#[test]
fn a_frame_is_borrowed_by_id() {
    let text = "schema = 1\n[[experiment]]\nid = \"a100_yield_single_warp\"\n\
                gpu = \"A100-SXM4-40GB (GA100, sm_80)\"\ncycle_exact = true\nsass = '''\n\
                [B------:R-:W-:-:S01] CS2R.32 R23, SR_CLOCKLO ;\n\
                [B------:R-:W-:-:{CTL}] NOP ;\n\
                [B------:R-:W-:-:S01] CS2R.32 R25, SR_CLOCKLO ;\n\
                [B------:R-:W-:-:S05] EXIT ;\n'''\n\
                [experiment.measured]\nS07 = { sub = { CTL = \"S07\" }, cycles = 8 }\n\
                S09 = { sub = { CTL = \"S09\" }, cycles = 8 }\n";

    let document = lab::Document::parse("mine.toml", text).expect("a lab file");
    let mut bench = Bench::new(&[]).expect("the built-in files");
    let mut rows = Vec::new();
    bench
        .run(&document.experiments[0], None, &|_| true, &mut |row| {
            rows.push(row)
        })
        .expect("a run");
    let told: Vec<_> = rows
        .iter()
        .map(|row| (row.measured.cycles, row.pass))
        .collect();
    assert_eq!(told, [(Some(8.0), true), (Some(10.0), false)], "{rows:#?}");
}

/// The measured bypass, one cycle too early: the address is not there yet, and the access goes elsewhere.
#[test]
fn an_address_one_cycle_too_early_faults() {
    let text = "schema = 1\n[[experiment]]\nid = \"a100_result_bypass_ldg_address\"\n\
                gpu = \"A100-SXM4-40GB (GA100, sm_80)\"\nsource_kind = \"readme\"\nsass = '''\n\
                [B------:R-:W-:-:S04] MOV R22, R19 ;\n\
                [B------:R-:W-:-:{STALL}] MOV R15, R22 ;\n\
                [B------:R-:W0:-:S02] LDG.E R12, [R14.64] ;\n\
                [B0-----:R-:W-:-:S05] MOV R24, R12 ;\n\
                [B------:R-:W-:-:S05] EXIT ;\n'''\n\
                [experiment.measured]\n\
                S04 = { sub = { STALL = \"S04\" }, fault = \"illegal address\" }\n\
                S05 = { sub = { STALL = \"S05\" }, value = 1000 }\n";
    let document = lab::Document::parse("mine.toml", text).expect("a lab file");
    let mut bench = Bench::new(&[]).expect("the built-in files");
    let mut passed = Vec::new();
    bench
        .run(&document.experiments[0], None, &|_| true, &mut |row| {
            passed.push(row.pass)
        })
        .expect("a run");
    assert_eq!(passed, [true, true]);
}

#[test]
fn bad_files_are_told() {
    for (text, part) in [
        ("", "schema"),
        ("schema = 2", "schema 2"),
        ("schema = 1\n[[experiment]]\nid = 3", "id"),
        (
            "schema = 1\n[[experiment]]\nid = \"a\"\nsass = \"\"\n[experiment.measured]\n\
             [[experiment]]\nid = \"a\"\nsass = \"\"\n[experiment.measured]\n",
            "stands twice",
        ),
        (
            "schema = 1\n[[experiment]]\nid = \"a\"\nsass = \"\"\n[experiment.measured]\n\
             row = { cycles = \"5\" }\n",
            "`a`, `row`: `cycles` must be a number",
        ),
        (
            "schema = 1\n[[experiment]]\nid = \"a\"\nsass = \"\"\n[experiment.measured]\n\
             row = { block = 0, cycles = 5 }\n",
            "`block` must be a number from 1 on",
        ),
        (
            "schema = 1\n[[experiment]]\nid = \"a\"\nsass = \"\"\n[experiment.measured]\n\
             row = { closings = [1, \"2\"] }\n",
            "`closings` must be a list of cycles",
        ),
    ] {
        let error = lab::Document::parse("bad.toml", text)
            .expect_err(text)
            .to_string();
        assert!(
            error.contains("bad.toml") && error.contains(part),
            "{error}"
        );
    }
}
