//! What broke other simulators from end to end: rows of REGRESSIONS.md that need whole launches.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;

use common::{fails, kernel, kernels, warpath};
use serde_json::Value;

/// Assembles `text` into a cubin of `folder`, control bits filled in.
fn assembled(folder: &Path, name: &str, text: &str) -> String {
    let source = folder.join(name).with_extension("sass");
    std::fs::write(&source, text).unwrap();
    let cubin = folder.join(name).with_extension("cubin");
    let mut command = warpath();
    command.args(["asm", "--auto-control", "-o"]);
    command.arg(&cubin).arg(&source).assert().success();
    cubin.to_string_lossy().into_owned()
}

/// The launches of a run as JSON.
fn told(arguments: &[&str]) -> Vec<Value> {
    let mut command = warpath();
    let run = command
        .arg("run")
        .args(arguments)
        .args(["--format", "json"]);
    let run = run.assert().success();
    let report: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
    report.as_array().unwrap().clone()
}

fn metric(launch: &Value, name: &str) -> u64 {
    let value = launch["metrics"][name].as_u64();
    value.unwrap_or_else(|| panic!("no {name} in {launch:#}"))
}

/// REGRESSIONS C11: a GPU without tensor units for a kernel's matrices is refused by name, not simulated for
/// ever.
#[test]
fn c11_matrices_without_a_tensor_unit_are_refused_by_name() {
    let file = kernel("hgemm/hgemm_f32.toml");
    let error = fails(2, &["run", &file, "--set", "tensor.f16_f32=0"]);
    assert!(error.contains("`tensor.f16_f32` is 0"), "{error}");
    // Turing's tensor cores know no TF32.
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("half.toml");
    let text = "base = \"rtx-2070\"\n[card]\n\
                architecture = { value = 86, source = \"own choice\", confidence = \"guess\" }\n";
    std::fs::write(&document, text).unwrap();
    let gpu = document.to_string_lossy();
    let error = fails(
        2,
        &["run", &kernel("matrix/floats_tf32.toml"), "--gpu", &gpu],
    );
    for word in ["`product_tf32`", "tensor instruction", "`tensor.tf32`"] {
        assert!(error.contains(word), "no {word} in {error}");
    }
}

/// Each CTA waits until it is its turn, adds its part to the sum and hands on: the order of the parts shows
/// in the result.
const SPLIT_K: &str = "\
.arch sm_86
.kernel split_k
.param 8 turn
.param 8 sum
    S2R R0, SR_CTAID.X ;
    MOV R2, c[0x0][turn] ;
    MOV R3, c[0x0][0x164] ;
    MOV R4, c[0x0][sum] ;
    MOV R5, c[0x0][0x16c] ;
wait:
    LDG.E.STRONG.GPU R6, [R2.64] ;
    ISETP.NE.AND P0, PT, R6, R0, PT ;
    @P0 BRA wait ;
    MEMBAR.SC.GPU ;
    CCTL.IVALL ;
    LDG.E R7, [R4.64] ;
    IMAD R7, R7, 0x3, R0 ;
    STG.E [R4.64], R7 ;
    MEMBAR.SC.GPU ;
    IADD3 R6, R6, 0x1, RZ ;
    STG.E.STRONG.GPU [R2.64], R6 ;
    EXIT ;
";

/// REGRESSIONS C12: CTAs that wait for their turn, more than are resident at once, end with the sum of the
/// parts in order.
#[test]
fn c12_a_semaphore_between_more_ctas_than_fit_comes_to_its_end() {
    const CTAS: u32 = 80;
    let folder = tempfile::tempdir().unwrap();
    let cubin = assembled(folder.path(), "split_k", SPLIT_K);
    let expected = (0..CTAS).fold(0u32, |sum, cta| sum.wrapping_mul(3).wrapping_add(cta));
    for mode in ["timing", "functional"] {
        let out = folder.path().join(mode);
        let dump = format!("sum={}", out.display());
        let grid = CTAS.to_string();
        let launches = told(&[
            &cubin,
            "--gpu",
            "rtx-a6000",
            "--set",
            "card.sms=2",
            "--grid",
            &grid,
            "--block",
            "32",
            "--arg",
            "turn=u32:1:zero",
            "--arg",
            "sum=u32:1:zero",
            "--dump",
            &dump,
            "--mode",
            mode,
        ]);
        let fit = launches[0]["occupancy"]["ctas_per_sm"].as_u64().unwrap();
        assert!(2 * fit < CTAS.into(), "{fit} CTAs fit on an SM");
        let sum = std::fs::read(&out).unwrap();
        assert_eq!(sum, expected.to_le_bytes(), "{mode}");
    }
}

/// Every thread adds one to the same word.
const ONE_WORD: &str = "\
.arch sm_86
.kernel one_word
.param 8 word
    MOV R2, c[0x0][word] ;
    MOV R3, c[0x0][0x164] ;
    MOV R4, 0x1 ;
    RED.E.ADD.STRONG.GPU [R2.64], R4 ;
    EXIT ;
";

/// REGRESSIONS M1: 163,840 atomics of one word are 10,240 of L2, sixteen lanes in each, and its slice takes
/// one in a cycle.
#[test]
fn m1_atomics_of_one_word_are_not_served_lane_by_lane() {
    let folder = tempfile::tempdir().unwrap();
    let cubin = assembled(folder.path(), "one_word", ONE_WORD);
    let out = folder.path().join("word");
    let dump = format!("word={}", out.display());
    let launches = told(&[
        &cubin,
        "--gpu",
        "rtx-a6000",
        "--grid",
        "640",
        "--block",
        "256",
        "--arg",
        "word=u32:1:zero",
        "--dump",
        &dump,
    ]);
    assert_eq!(std::fs::read(&out).unwrap(), 163_840_u32.to_le_bytes());
    let launch = &launches[0];
    assert_eq!(metric(launch, "lts__t_sectors_op_red.sum"), 10_240);
    assert_eq!(
        metric(launch, "lts__t_requests_srcunit_tex_op_red.sum"),
        10_240
    );
    let cycles = launch["cycles"].as_u64().unwrap();
    assert!((10_240..14_000).contains(&cycles), "{cycles} cycles");
}

/// REGRESSIONS C14: products of every size end, with the right result.
#[test]
fn c14_products_of_growing_size_end() {
    let folder = tempfile::tempdir().unwrap();
    let cubin = kernels().join("sgemm/sgemm.{arch}.cubin");
    let mut cycles = 0;
    for (m, n, k, mode) in [
        (64, 64, 16, "timing"),
        (64, 128, 32, "timing"),
        (192, 64, 48, "timing"),
        (256, 320, 16, "timing"),
        (512, 512, 16, "timing"),
        (1024, 512, 64, "functional"),
    ] {
        let text = format!(
            "cubin = \"{}\"\ngpu = \"rtx-a6000\"\ntitle = \"{m} x {n} x {k}\"\n\
             [[launch]]\nkernel = \"sgemm\"\ngrid = [{}, {}]\nblock = [256]\n\
             args = [{{ i32 = {n} }}, {{ i32 = {k} }}, {{ f32 = 1.5 }}, \"a\", \"b\", {{ f32 = 0.5 }}, \"c\"]\n\
             [buffers.a]\ntype = \"f32\"\ncount = {}\ninit = {{ random = 1, low = -1.0, high = 1.0 }}\n\
             [buffers.b]\ntype = \"f32\"\ncount = {}\ninit = {{ random = 2, low = -1.0, high = 1.0 }}\n\
             [buffers.c]\ntype = \"f32\"\ncount = {}\ninit = {{ random = 3, low = -1.0, high = 1.0 }}\n\
             [parameters]\nm = {m}\nn = {n}\nk = {k}\nalpha = 1.5\nbeta = 0.5\n\
             [[check]]\nreference = \"sgemm\"\n",
            cubin.display(),
            n / 64,
            m / 64,
            m * k,
            k * n,
            m * n,
        );
        let file = folder.path().join("product.toml");
        std::fs::write(&file, text).unwrap();
        let launches = told(&[&file.to_string_lossy(), "--mode", mode]);
        let checks = launches[0]["checks"].as_array().unwrap();
        assert!(!checks.is_empty() && checks.iter().all(|check| check["passed"] == true));
        if mode == "timing" {
            let took = launches[0]["cycles"].as_u64().unwrap();
            assert!(took > cycles / 2, "{m} x {n} x {k}: {took} cycles");
            cycles = took;
        }
    }
}

/// Straight-line code of 100 KB.
const INSTRUCTIONS: u64 = 6400;

fn straight_line(folder: &Path) -> String {
    let kernel = |name: &str, step: u32| {
        format!(
            ".kernel {name}\n.param 8 out\n    MOV R2, c[0x0][out] ;\n    MOV R3, c[0x0][0x164] ;\n\
             \x20   MOV R4, RZ ;\n.rept {INSTRUCTIONS}\n    IADD3 R4, R4, {step:#x}, RZ ;\n.endr\n\
             \x20   STG.E [R2.64], R4 ;\n    EXIT ;\n"
        )
    };
    let text = format!(".arch sm_86\n{}{}", kernel("first", 1), kernel("second", 2));
    let cubin = assembled(folder, "two", &text);
    let launch = |name: &str, threads: u32| {
        format!(
            "[[launch]]\nkernel = \"{name}\"\ngrid = [1]\nblock = [{threads}]\nargs = [\"out\"]\n"
        )
    };
    let text = format!(
        "cubin = \"{cubin}\"\ngpu = \"rtx-a6000\"\ntitle = \"two kernels in turn\"\n{}{}{}{}\
         [buffers.out]\ntype = \"u32\"\ncount = 1\ninit = {{ fill = 0 }}\n",
        launch("first", 32),
        launch("second", 32),
        launch("first", 32),
        launch("second", 128),
    );
    let file = folder.join("two.toml");
    std::fs::write(&file, text).unwrap();
    file.to_string_lossy().into_owned()
}

/// REGRESSIONS M9 and M10: two kernels of 100 KB each in turn share no line of an instruction cache; and what
/// the caches count is what straight-line code must cost them.
#[test]
fn m9_m10_kernels_in_turn_find_none_of_each_others_code_in_the_instruction_caches() {
    let folder = tempfile::tempdir().unwrap();
    let file = straight_line(folder.path());
    let launches = told(&[&file, "--set", "card.sms=1"]);
    assert_eq!(launches.len(), 4);
    // Three instructions before, two behind; lines of 128 bytes.
    let lines = (INSTRUCTIONS + 5).div_ceil(8);
    for launch in &launches {
        let warps = launch["warp_instructions"].as_u64().unwrap() / (INSTRUCTIONS + 5);
        let accesses = metric(launch, "l0i_hits.sum") + metric(launch, "l0i_misses.sum");
        assert!(
            accesses >= warps * (INSTRUCTIONS + 5),
            "{accesses} accesses of {warps} warps"
        );
        assert!(metric(launch, "l0i_misses.sum") > 0 && metric(launch, "l0i_hits.sum") > 0);
        // Every sub-core looks each line up, and some beyond the end; none is there yet.
        let (misses, hits) = (
            metric(launch, "l1i_misses.sum"),
            metric(launch, "l1i_hits.sum"),
        );
        let lookups = (lines * warps)..((lines + 20) * warps);
        assert!(
            lookups.contains(&(misses + hits)),
            "{misses} and {hits} of {lines} lines"
        );
        assert!(misses >= lines, "{misses} of {lines} lines: {launch:#}");
    }
    // Lines that are under way are asked for once, however many sub-cores wait for them.
    let sent = |launch: &Value| metric(launch, "l1tex__m_l1tex2xbar_req_cycles_active.sum");
    let (alone, together) = (sent(&launches[1]), sent(&launches[3]));
    assert!(
        alone >= lines,
        "{alone} requests on the crossbar for {lines} lines"
    );
    assert!(
        together < alone + alone / 8,
        "{together} requests for four warps, {alone} for one"
    );
    assert_eq!(launches[0]["cycles"], launches[2]["cycles"]);
}

/// REGRESSIONS M21, M22 and F8: the copies of tensors with their edges are a unit that is not there. They are
/// refused by name, and no result is made up.
#[test]
fn m21_m22_f8_copies_of_tensors_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, copy) in [
        ("load", "UTMALDG.2D [UR8], [UR4]"),
        ("store", "UTMASTG.2D [UR8], [UR4]"),
    ] {
        let text = format!(
            ".arch sm_90\n.kernel {name}\n.shared 1024\n    UMOV UR4, 0x0 ;\n    {copy} ;\n    EXIT ;\n"
        );
        let cubin = assembled(folder.path(), name, &text);
        for mode in ["timing", "functional"] {
            let error = fails(
                1,
                &[
                    "run",
                    &cubin,
                    "--gpu",
                    "h100-pcie",
                    "--grid",
                    "1",
                    "--block",
                    "32",
                    "--mode",
                    mode,
                ],
            );
            for word in [name, copy, "copies of tensors"] {
                assert!(error.contains(word), "no {word} in {error}");
            }
        }
    }
}
