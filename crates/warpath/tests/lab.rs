//! `warpath lab`, `warpath asm` from the command line.

#![allow(clippy::unwrap_used)]

use assert_cmd::Command;

fn warpath() -> Command {
    Command::cargo_bin("warpath").unwrap()
}

fn output(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn rows_are_json() {
    let arguments = ["lab", "run", "a100_yield_single_warp", "--format", "json"];
    let (code, out, _) = output(warpath().args(arguments));
    assert_eq!(code, 0);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(row["experiment"], "a100_yield_single_warp");
        assert_eq!(row["gpu"], "a100-sxm4-40gb");
        assert_eq!((&row["exact"], &row["pass"]), (&true.into(), &true.into()));
        assert_eq!(row["expected"]["cycles"], row["measured"]["cycles"]);
        assert!(row["measured"]["fault"].is_null() && row["measured"]["value"].is_null());
    }
}

#[test]
fn an_exact_row_that_differs_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let experiment = |exact: bool| {
        format!(
            "schema = 1\n[[experiment]]\nid = \"mine\"\ngpu = \"RTX A6000\"\nsource_kind = \"raw\"\n\
             cycle_exact = {exact}\nsass = '''\n\
             [B------:R-:W-:-:S01] CS2R.32 R2, SR_CLOCKLO ;\n\
             [B------:R-:W-:-:S07] NOP ;\n\
             [B------:R-:W-:-:S01] CS2R.32 R4, SR_CLOCKLO ;\n'''\n\
             [experiment.measured]\nall = {{ cycles = 9 }}\n"
        )
    };
    for (exact, expected) in [(true, 1), (false, 0)] {
        std::fs::write(&file, experiment(exact)).unwrap();
        let (code, out, error) = output(warpath().args(["lab", "run", "--file"]).arg(&file));
        assert_eq!(code, expected, "{out}{error}");
        assert!(out.contains("DIFFERS: cycles"), "{out}");
    }
    std::fs::write(&file, experiment(true).replace("NOP", "FROB")).unwrap();
    let (code, out, _) = output(warpath().args(["lab", "run", "--file"]).arg(&file));
    assert_eq!(code, 1);
    assert!(out.contains("FROB") && out.contains("mnemonic"), "{out}");
}

#[test]
fn bad_usage_is_told() {
    let (code, _, error) = output(warpath().args(["lab", "run", "no_such_experiment"]));
    assert_eq!(code, 2);
    assert!(error.contains("no_such_experiment"), "{error}");
    let (code, _, error) = output(warpath().args(["lab", "run", "--file", "/no/such/file"]));
    assert_eq!(code, 2, "{error}");
    let (code, out, _) = output(warpath().args(["lab", "list"]));
    assert_eq!(code, 0);
    assert!(out.contains("a100_register_file_cache"), "{out}");
}

#[test]
fn text_becomes_a_cubin_that_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.sass");
    let text = "\
.arch sm_86
.kernel store
.param 8 out
    [B------:R-:W0:-:S02] S2R R0, SR_TID.X ;
    [B------:R-:W-:-:S02] MOV R3, 0x4 ;
    [B------:R-:W-:Y:S09] ULDC.64 UR4, c[0x0][0x118] ;
    [B0-----:R-:W-:Y:S06] IMAD.WIDE.U32 R2, R0, R3, c[0x0][out] ;
    [B------:R-:W-:-:S04] IADD3 R0, R0, 0x7, RZ ;
    [B------:R-:W-:-:S01] STG.E [R2.64], R0 ;
    [B------:R-:W-:-:S05] EXIT ;
";
    std::fs::write(&file, text).unwrap();
    let cubin = folder.path().join("store.cubin");
    let (code, out, error) = output(warpath().arg("asm").arg(&file).arg("-o").arg(&cubin));
    assert_eq!(code, 0, "{error}");
    assert!(out.contains("kernel store, sm_86, 7 instructions"), "{out}");
    let dump = folder.path().join("out.bin");
    let arguments = [
        "--kernel",
        "store",
        "--grid",
        "1",
        "--block",
        "32",
        "--arg",
        "out=u32:32:zero",
    ];
    let (code, _, error) = output(
        warpath()
            .arg("run")
            .arg(&cubin)
            .args(arguments)
            .arg("--dump")
            .arg(format!("out={}", dump.display())),
    );
    assert_eq!(code, 0, "{error}");
    let bytes = std::fs::read(dump).unwrap();
    let (words, _) = bytes.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    assert_eq!(words, (7..39).collect::<Vec<u32>>());

    std::fs::write(&file, text.replace("IADD3 R0,", "IADD3 R256,")).unwrap();
    let (code, _, error) = output(warpath().arg("asm").arg(&file));
    assert_eq!(code, 2);
    assert!(
        error.contains("line 8, column 33") && error.contains("R256"),
        "{error}"
    );
    std::fs::write(&file, text.replace("[B------:R-:W-:Y:S09] ", "")).unwrap();
    let (code, _, error) = output(warpath().arg("asm").arg(&file));
    assert_eq!(code, 2);
    assert!(error.contains("control bits"), "{error}");
}

/// MODEL.md §3.4, c: a yield on the second instruction of each of four warps.
#[test]
fn a_schedule_is_drawn() {
    let (code, out, error) =
        output(warpath().args(["lab", "draw", "paper_schedule_yield/four_warps"]));
    assert_eq!(code, 0, "{error}");
    let rows: Vec<&str> = out.lines().filter(|line| line.starts_with('W')).collect();
    // The cycles of each warp in the first 100.
    let cycles = |row: &str| -> Vec<usize> {
        let (_, marks) = row.split_once("  ").expect("a lane");
        let marks = marks.trim_start().bytes().enumerate();
        marks
            .filter(|(_, mark)| *mark == b'#')
            .map(|(cycle, _)| cycle)
            .collect()
    };
    let span = |from: usize, to: usize| (from..to).collect::<Vec<_>>();
    assert_eq!(cycles(rows[0]), [span(0, 2), span(4, 34)].concat(), "{out}");
    assert_eq!(
        cycles(rows[1]),
        [span(2, 4), span(34, 64)].concat(),
        "{out}"
    );
    assert_eq!(
        cycles(rows[2]),
        [span(64, 66), span(68, 98)].concat(),
        "{out}"
    );
    assert_eq!(
        cycles(rows[3]),
        [span(66, 68), span(98, 100)].concat(),
        "{out}"
    );

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("schedule.svg");
    let drawn = ["lab", "draw", "paper_schedule_yield/four_warps", "--svg"];
    let (code, _, error) = output(warpath().args(drawn).arg(&file));
    assert_eq!(code, 0, "{error}");
    let svg = std::fs::read_to_string(&file).expect("a drawing");
    // The closing clock of the last warp is its last instruction but one.
    assert_eq!(svg.matches("<title>").count(), 127, "{svg}");

    let (code, _, error) = output(warpath().args(["lab", "draw", "paper_schedule_yield"]));
    assert_eq!(code, 2);
    assert!(error.contains("four_warps, one_warp"), "{error}");
}
