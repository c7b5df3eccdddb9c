//! What the built-in lab files say machines do, the simulator does: every exact row, to the cycle.

use lab::{Bench, Row};

/// Exact rows that are not met yet, each with what is missing.
const MISSING: &[(&str, &str)] = &[
    // Values that wrong control bits give: `--hazards emulate`.
    ("a100_stall_raw_fadd_ffma/S01", "emulate"),
    ("a100_stall_raw_fadd_ffma/S03", "emulate"),
    ("a100_window_diagnostics/D_DEP_S01", "emulate"),
    ("a100_long_stall_yield/DASH_S12", "emulate"),
    ("a100_long_stall_yield/DASH_S14", "emulate"),
    ("a100_long_stall_yield/DASH_S15", "emulate"),
    ("a100_depbar_stall/S01", "emulate"),
    ("a100_dep_counter_wait/NO_WAIT", "emulate"),
    ("a100_dep_counter_visibility/DASH_S01", "emulate"),
    // The scheduler among many warps.
    ("a100_cggty_13_warps/", "trace"),
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
fn exact_rows_are_met() {
    let mut wrong = Vec::new();
    let mut passed = 0;
    let rows = rows("a100_");
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
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(passed >= 37, "{passed} exact rows");
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
