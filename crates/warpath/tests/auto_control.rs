//! `asm --auto-control`: control bits that are filled in let kernels compute what they must, without a
//! hazard, in about the compiler's time; and what texts say of open and given fields holds.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};

use common::{GPUS, kernels, run, warpath};
use cubin::Cubin;
use sass::assemble::ControlText;
use sass::{Architecture, Decoded, Instruction, Word};
use schedule::Rules;
use schedule::fill::{Line, fill};

/// Launch files that run with filled-in control bits, one architecture each in turn.
const LAUNCHES: [&str; 16] = [
    "vadd/vadd",
    "saxpy/saxpy",
    "reduction/reduction",
    "transpose/transpose_padded",
    "stencil2d/stencil2d",
    "softmax/softmax",
    "bitonic_sort/bitonic_sort",
    "histogram/histogram_shared",
    "spmv_csr/spmv_vector",
    "sgemm/sgemm",
    "hgemm/hgemm_f32",
    "mandelbrot/mandelbrot",
    "black_scholes/black_scholes",
    "fp64_dot/fp64_dot",
    "calls/jump_table",
    "nbody/nbody",
];

/// The bits of the control field, reuse among them.
const FIELD: u128 = ((1 << 21) - 1) << 105;

fn decoded(word: Word, architecture: Architecture) -> Option<Instruction> {
    match sass::decode(word, architecture) {
        Decoded::Instruction(instruction) => Some(instruction),
        Decoded::Unknown(_) => None,
    }
}

/// A cubin whose functions have all their control bits filled in anew.
fn refilled(bytes: &[u8], rules: &Rules) -> Vec<u8> {
    let cubin = Cubin::parse(bytes).unwrap();
    let architecture = Architecture::from_number(cubin.sm()).unwrap();
    let mut bytes = bytes.to_vec();
    for function in cubin.functions() {
        let old: Vec<Word> = function
            .code
            .as_chunks::<16>()
            .0
            .iter()
            .map(|one| Word::from_bytes(*one))
            .collect();
        // No counter is 7.
        let none = 7 << 110 | 7 << 113 | 1 << 109;
        let bare = |word: &Word| Word(word.0 & !FIELD | none);
        let words: Vec<Word> = old.iter().map(bare).collect();
        let lines: Vec<Line> = words
            .iter()
            .map(|&word| Line {
                instruction: decoded(word, architecture),
                given: ControlText::default(),
            })
            .collect();
        let index = |offset: &u32| *offset as usize / 16;
        let branches = function.indirect_branches();
        let tables = branches
            .iter()
            .map(|(branch, targets)| (index(branch), targets.iter().map(index).collect()))
            .collect();
        let new = fill(rules, &lines, &words, &tables);
        let code: Vec<u8> = new.iter().flat_map(|word| word.0.to_le_bytes()).collect();
        let at = bytes
            .windows(function.code.len())
            .position(|window| window == function.code)
            .unwrap();
        bytes[at..at + code.len()].copy_from_slice(&code);
    }
    bytes
}

/// A copy of a kernel's folder with the cubins of an architecture refilled.
fn copy(folder: &Path, to: &Path, architecture: &str, rules: &Rules) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let file: PathBuf = file.unwrap().path();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&file).unwrap();
        let bytes = match name.contains(architecture) && name.ends_with(".cubin") {
            true => refilled(&bytes, rules),
            false => bytes,
        };
        std::fs::write(to.join(name), bytes).unwrap();
    }
}

#[test]
fn kernels_compute_what_they_must_with_filled_in_control_bits() {
    let (mut ran, mut ours, mut theirs) = (0, 0, 0);
    // `WARPATH_SWEEP=1` runs each on all architectures.
    let sweep = std::env::var_os("WARPATH_SWEEP").is_some();
    for (position, launch) in LAUNCHES.iter().enumerate() {
        let file = kernels().join(format!("{launch}.toml"));
        for (number, (architecture, gpu)) in GPUS.into_iter().enumerate() {
            let in_turn = sweep || number == position % GPUS.len();
            if !in_turn || !common::has_code_for(&file, architecture) {
                continue;
            }
            let rules = Rules::of(&hardware::Gpu::load(gpu).unwrap()).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let name = file.parent().unwrap().file_name().unwrap();
            let copied = folder.path().join(name);
            copy(file.parent().unwrap(), &copied, architecture, &rules);
            let arguments = ["--gpu", gpu, "--hazards", "check"];
            let new = run(&copied.join(file.file_name().unwrap()), &arguments);
            let old = run(&file, &arguments);
            let launches = new
                .report
                .as_array()
                .unwrap()
                .iter()
                .zip(old.report.as_array().unwrap());
            for (new, old) in launches {
                assert_eq!(
                    new["hazards"]["count"], 0,
                    "{launch} on {gpu}: {:#}",
                    new["hazards"]
                );
                let checks = new["checks"].as_array().unwrap();
                assert!(
                    checks.iter().all(|check| check["passed"] == true),
                    "{launch} on {gpu}"
                );
                let (new, old) = (
                    new["cycles"].as_u64().unwrap(),
                    old["cycles"].as_u64().unwrap(),
                );
                println!("{launch} on {gpu}: {new} cycles, the compiler's {old}");
                assert!(
                    2 * new < 3 * old,
                    "{launch} on {gpu}: {new} cycles for {old}"
                );
                (ours, theirs) = (ours + new, theirs + old);
            }
            ran += 1;
        }
    }
    println!("{ran} kernels, {ours} cycles in all, the compiler's {theirs}");
    assert!(ran >= 12, "{ran}");
}

/// Assembles a text with `--auto-control`; the instructions of the cubin as text.
fn assembled(text: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let (source, cubin) = (folder.path().join("k.sass"), folder.path().join("k.cubin"));
    std::fs::write(&source, text).unwrap();
    let output = warpath()
        .args(["asm", "--auto-control", "--arch", "sm_86", "-o"])
        .args([&cubin, &source])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let listing = warpath().arg("disasm").arg(&cubin).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    (said, String::from_utf8(listing.stdout).unwrap())
}

#[test]
fn open_fields_are_filled_and_given_ones_stay() {
    let (said, listing) = assembled(
        ".kernel k\n.param 8 out\n\
         [B?:R?:W3:?:S?] S2R R0, SR_TID.X ;\n\
         MOV R2, c[0x0][out] ;\n\
         MOV R3, c[0x0][0x164] ;\n\
         FADD R4, R0, R0 ;\n\
         [B?:R?:W?:?:S09] FADD R5, R4, R4 ;\n\
         STG.E [R2.64], R5 ;\n\
         EXIT ;\n",
    );
    let lines: Vec<&str> = listing.lines().collect();
    let line = |text: &str| {
        lines
            .iter()
            .find(|line| line.contains(text))
            .copied()
            .unwrap()
    };
    assert!(line("S2R").contains(":W3:"), "{listing}");
    assert!(line("FADD R4").contains("[B---3--:"), "{listing}");
    assert!(line("FADD R4").contains(":S04]"), "{listing}");
    assert!(line("FADD R5").contains(":S09]"), "{listing}");
    assert!(!said.contains("findings"), "{said}");
}

#[test]
fn what_given_fields_leave_wrong_is_said() {
    let (said, _) = assembled(
        ".kernel k\n[B?:R?:W?:?:S01] FADD R4, R0, R0 ;\nFADD R5, R4, R4 ;\nSTS [R2], R5 ;\nEXIT ;\n",
    );
    assert!(said.contains("1 findings remain"), "{said}");
}

/// No instruction is inserted: copies that nobody waits for are an error that names DEPBAR.
#[test]
fn copies_without_a_depbar_are_told_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.sass");
    let text = |wait: &str| {
        format!(
            ".kernel k\n.param 8 in\n.shared 512\nMOV R2, c[0x0][in] ;\nMOV R3, c[0x0][0x164] ;\n\
             LDGSTS.E [RZ], [R2.64] ;\nLDGDEPBAR ;\n{wait}LDS R5, [RZ] ;\nSTG.E [R2.64], R5 ;\nEXIT ;\n"
        )
    };
    std::fs::write(&file, text("")).unwrap();
    let auto = ["asm", "--auto-control", "--arch", "sm_86"];
    let output = warpath().args(auto).arg(&file).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    for word in [
        "line 7, column 1: found `LDGDEPBAR`",
        "DEPBAR.LE",
        "inserts no",
    ] {
        assert!(told.contains(word), "no {word} in {told}");
    }
    let (_, listing) = assembled(&text("DEPBAR.LE SB3, 0x0 ;\n"));
    let commit = listing.lines().find(|line| line.contains("LDGDEPBAR"));
    assert!(commit.unwrap().contains(":W3:"), "{listing}");
}

#[test]
fn a_control_field_that_is_none_is_told_with_line_column_and_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.sass");
    for (field, column, token, expected) in [
        ("[B7-----:R-:W-:-:S01]", 3, "7", "`0` or `-`"),
        (
            "[B------:R6:W-:-:S01]",
            11,
            "6",
            "a counter 0 to 5, `-` or `?`",
        ),
        ("[B------:R-:X-:-:S01]", 13, "X", "`W`"),
        ("[B------:R-:W-:N:S01]", 16, "N", "`Y`, `-` or `?`"),
        (
            "[B------:R-:W-:-:S16]",
            19,
            "16",
            "a stall count 00 to 15 or `?`",
        ),
        ("[B------:R-:W-:-:S01", 22, "NOP", "`]`"),
    ] {
        std::fs::write(&file, format!(".kernel k\n{field} NOP ;\n")).unwrap();
        for auto in [false, true] {
            let mut command = warpath();
            command.args(["asm", "--arch", "sm_86"]);
            if auto {
                command.arg("--auto-control");
            }
            let output = command.arg(&file).output().unwrap();
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{field}: {told}");
            assert!(told.contains("line 2, column "), "{field}: {told}");
            assert!(
                told.contains(&format!("column {column}: found `{token}")),
                "{field}: {told}"
            );
            assert!(told.contains(expected), "{field}: {told}");
        }
    }
}
