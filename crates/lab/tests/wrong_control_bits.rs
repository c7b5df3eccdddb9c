//! What wrong control bits give is what the hazard check says they do: for each kind of dependence the
//! consumer is moved away from its producer cycle by cycle, or its wait is left out, and the value is
//! stale just where the pair is reported.

use std::ops::RangeInclusive;

use lab::{Bench, Document, Row, Value};

/// The GPUs that the sweeps run on: with and without an FP64 pipe of its own in each sub-core.
const GPUS: [&str; 2] = ["rtx-a6000", "a100-sxm4-40gb"];

/// Where a value is loaded from, and a shared word that holds it too.
const BEFORE: &str = "\
[B------:R-:W0:-:S02] S2R R18, SR_TID.X ;
[B0-----:R-:W-:Y:S15] IADD3 R13, R18, 0x3e8, RZ ;
[B------:R-:W-:Y:S15] ISETP.NE.AND P0, PT, RZ, RZ, PT ;
[B------:R-:W-:Y:S15] IMAD.SHL.U32 R23, R18, 0x4, RZ ;
[B------:R-:W-:Y:S15] STS [R23], R13 ;
[B------:R-:W-:Y:S15] STS [R23+0x200], R23 ;
[B------:R-:W-:Y:S15] STS [R23+0x400], RZ ;
[B------:R-:W-:Y:S15] MOV R19, 0x4 ;
[B------:R-:W-:Y:S15] IMAD.WIDE.U32 R14, R18, R19, c[0x0][input] ;
[B------:R-:W1:-:S02] LDG.E R26, [R14.64] ;
[B-1----:R-:W-:Y:S15] MOV R27, RZ ;
[B------:R-:W-:Y:S15] MOV R16, RZ ;
[B------:R-:W-:Y:S15] MOV R24, RZ ;
[B------:R-:W-:Y:S15] MOV R28, 0x3f800000 ;
[B------:R-:W-:Y:S15] UMOV UR6, 0x5 ;
.rept 40
[B------:R-:W-:Y:S15] NOP ;
.endr";

/// Runs `sass` on `gpu` in one CTA of `block` threads for each named substitution of {X}; the row of each.
fn rows(gpu: &str, block: u32, sass: &str, variants: &[(String, String)]) -> Vec<Row> {
    let mut measured = String::new();
    for (name, text) in variants {
        measured += &format!("{name} = {{ sub = {{ X = '''{text}''' }}, value = 0 }}\n");
    }
    let text = format!(
        "schema = 1\n[[experiment]]\nid = \"sweep\"\ngpu = \"{gpu}\"\nblock = {block}\nsass = '''\n{sass}\n'''\n\
         [experiment.frame]\nbefore = '''\n{BEFORE}\n'''\nvalue = 24\nshared = 2048\n\
         [experiment.frame.buffers.input]\ncount = 512\nstart = 1000\nstep = 1\n\
         [experiment.measured]\n{measured}"
    );
    let document = Document::parse("sweep.toml", &text).expect("a lab file");
    let mut bench = Bench::new(&[]).expect("the built-in files");
    let mut rows = Vec::new();
    bench
        .run(&document.experiments[0], None, &|_| true, &mut |row| {
            rows.push(row)
        })
        .expect("a run");
    rows
}

/// Lane 0's value, or what the launch failed with.
fn value(row: &Row) -> Result<i64, String> {
    match (row.measured.value, &row.measured.fault) {
        (Some(Value::Integer(value)), None) => Ok(value),
        (_, Some(fault)) => Err(fault.clone()),
        _ => Err(format!("{row:?}")),
    }
}

/// NOPs that put `distance` cycles between two instructions.
fn nops(distance: usize) -> String {
    "[B------:R-:W-:-:S01] NOP ;\n".repeat(distance - 1)
}

/// Moves the consumer of `sass`, in which {X} stands between producer and consumer, through `distances`:
/// up to some distance it is reported and gives `stale`, from there on neither.
fn boundary(
    gpu: &str,
    sass: &str,
    distances: RangeInclusive<usize>,
    stale: i64,
    fresh: i64,
) -> usize {
    let least = *distances.start();
    let variants: Vec<_> = distances
        .map(|distance| (format!("D{distance:02}"), nops(distance)))
        .collect();
    let rows = rows(gpu, 32, sass, &variants);
    assert_eq!(rows.len(), variants.len());
    let mut first = None;
    for (row, distance) in rows.iter().zip(least..) {
        let expected = if row.hazards > 0 { stale } else { fresh };
        assert_eq!(
            value(row),
            Ok(expected),
            "{gpu}, {distance} cycles apart, {} reports:\n{sass}",
            row.hazards
        );
        if row.hazards == 0 && first.is_none() {
            first = Some(distance);
        }
        let enough = first.is_some();
        assert_eq!(enough, row.hazards == 0, "{gpu}: {distance}\n{sass}");
    }
    let first = first.expect("a distance that is enough");
    assert!(first > least, "{gpu}: nothing was too early\n{sass}");
    first
}

#[test]
fn fixed_latency_results_are_seen_from_their_distance_on() {
    for gpu in GPUS {
        let alu = "[B------:R-:W-:-:S01] IADD3 R16, R26, 0x1, RZ ;\n{X}\
                   [B------:R-:W-:-:S05] IADD3 R24, R16, 0x1, RZ ;";
        assert_eq!(boundary(gpu, alu, 2..=5, 1, 1002), 4);
        let address = "[B------:R-:W-:-:S01] IADD3 R16, R23, 0x200, RZ ;\n{X}\
                       [B------:R-:W0:-:S02] LDS R25, [R16] ;\n\
                       [B0-----:R-:W-:-:S05] IADD3 R24, R25, 0x7, RZ ;";
        assert_eq!(boundary(gpu, address, 3..=6, 1007, 7), 5);
        let data = "[B------:R-:W-:-:S01] IADD3 R16, R26, 0x1, RZ ;\n{X}\
                    [B------:R0:W-:-:S02] STS [R23+0x400], R16 ;\n\
                    [B0-----:R-:W0:-:S02] LDS R24, [R23+0x400] ;\n\
                    [B0-----:R-:W-:-:S05] NOP ;";
        assert_eq!(boundary(gpu, data, 3..=6, 0, 1001), 5);
        let predicate = "[B------:R-:W-:-:S01] ISETP.EQ.AND P0, PT, RZ, RZ, PT ;\n{X}\
                         [B------:R-:W-:-:S05] SEL R24, R26, 0x1, P0 ;";
        assert_eq!(boundary(gpu, predicate, 2..=5, 1, 1000), 4);
        let guard = "[B------:R-:W-:-:S01] ISETP.EQ.AND P0, PT, RZ, RZ, PT ;\n{X}\
                     [B------:R-:W-:-:S05] @P0 MOV R24, R26 ;";
        assert_eq!(boundary(gpu, guard, 11..=14, 0, 1000), 13);
        let branch = "[B------:R-:W-:-:S01] ISETP.EQ.AND P0, PT, RZ, RZ, PT ;\n{X}\
                      [B------:R-:W-:-:S05] @P0 BRA over ;\n\
                      [B------:R-:W-:-:S05] MOV R24, 0x7 ;\nover:";
        assert_eq!(boundary(gpu, branch, 11..=14, 7, 0), 13);
        let uniform = "[B------:R-:W-:-:S01] UIADD3 UR6, UR6, 0x1, URZ ;\n{X}\
                       [B------:R-:W-:-:S05] IADD3 R24, R26, UR6, RZ ;";
        assert_eq!(boundary(gpu, uniform, 4..=7, 1005, 1006), 6);
    }
}

#[test]
fn matrix_results_are_seen_from_their_distance_on() {
    for gpu in GPUS {
        // Ones: each element of the product is the sum of eight products of halves.
        let matrix = "[B------:R-:W-:Y:S15] MOV R28, 0x3c003c00 ;\n\
                      [B------:R-:W-:Y:S15] MOV R29, 0x3c003c00 ;\n\
                      [B------:R-:W-:Y:S15] CS2R R30, SRZ ;\n\
                      [B------:R-:W-:Y:S15] CS2R R32, SRZ ;\n\
                      [B------:R-:W-:-:S01] HMMA.1688.F32 R30, R28, R29, RZ ;\n{X}\
                      [B------:R-:W-:-:S05] MOV R24, R30 ;";
        let eight = i64::from(8f32.to_bits());
        let first = boundary(gpu, matrix, 2..=36, 0, eight);
        assert!(first > 10, "{gpu}: {first}");
    }
}

/// For an instruction of variable latency: without its wait the consumer is stale, with it it is not.
fn waits(gpu: &str, producer: &str, consumer: &str, stale: i64, fresh: i64) {
    let sass = format!(
        "[B------:R-:W0:-:S02] {producer} ;\n[B{{X}}-----:R-:W-:-:S05] {consumer} ;\n\
         [B0-----:R-:W-:-:S05] NOP ;"
    );
    let variants =
        [("a_without", "-"), ("b_waits", "0")].map(|(n, t)| (n.to_owned(), t.to_owned()));
    let rows = rows(gpu, 32, &sass, &variants);
    assert_eq!(value(&rows[0]), Ok(stale), "{gpu}, without a wait: {sass}");
    assert!(rows[0].hazards > 0, "{gpu}: {sass}");
    assert_eq!(value(&rows[1]), Ok(fresh), "{gpu}, with a wait: {sass}");
    assert_eq!(rows[1].hazards, 0, "{gpu}: {sass}");
}

#[test]
fn results_of_variable_latency_are_seen_when_their_counter_falls() {
    let one = i64::from(1f32.to_bits());
    for gpu in GPUS {
        let use_it = "IADD3 R24, R16, 0x1, RZ";
        waits(gpu, "LDG.E R16, [R14.64]", use_it, 1, 1001);
        waits(gpu, "LDG.E.STRONG.GPU R16, [R14.64]", use_it, 1, 1001);
        waits(gpu, "LDS R16, [R23]", use_it, 1, 1001);
        waits(gpu, "LDC R16, c[0x0][RZ]", use_it, 1, 33);
        waits(gpu, "ATOMS.ADD R16, [R23], R26", use_it, 1, 1001);
        waits(
            gpu,
            "ATOMG.E.ADD.STRONG.GPU PT, R16, [R14.64], R26",
            use_it,
            1,
            1001,
        );
        waits(gpu, "SHFL.IDX PT, R16, R26, 0x1, 0x1f", use_it, 1, 1002);
        waits(gpu, "S2R R16, SR_EQMASK", use_it, 1, 2);
        waits(gpu, "MUFU.RCP R16, R28", "MOV R24, R16", 0, one);
        waits(gpu, "I2F R16, 0x1", "MOV R24, R16", 0, one);
        waits(gpu, "POPC R16, R26", use_it, 1, 7);
    }
    waits(
        "rtx-a6000",
        "DADD R16, RZ, 1",
        "MOV R24, R17",
        0,
        0x3ff0_0000,
    );
}

/// DESIGN.md H1: an unguarded reader sees a load three cycles before its counter falls.
#[test]
fn unguarded_readers_sample_three_cycles_after_issue() {
    for gpu in GPUS {
        for (load, around) in [
            ("LDS R16, [R23]", 18..=26),
            ("LDG.E R16, [R14.64]", 26..=36),
            ("MUFU.RCP R16, R28", 14..=22),
        ] {
            let sass = format!(
                "[B------:R-:W0:-:S01] {load} ;\n{{X}}[B------:R-:W-:-:S05] MOV R24, R16 ;\n\
                 [B0-----:R-:W-:-:S05] NOP ;"
            );
            let fresh = match load {
                "MUFU.RCP R16, R28" => i64::from(1f32.to_bits()),
                _ => 1000,
            };
            let first = boundary(gpu, &sass, around, 0, fresh);
            // With a wait the consumer issues three cycles later.
            let guarded = format!(
                "[B------:R-:W-:-:S01] CS2R.32 R20, SR_CLOCKLO ;\n\
                 [B------:R-:W-:-:S01] NOP ;\n\
                 [B------:R-:W0:-:S02] {load} ;\n\
                 [B0-----:R-:W-:-:S01] NOP ;\n\
                 [B------:R-:W-:-:S05] CS2R.32 R21, SR_CLOCKLO ;\n\
                 [B------:R-:W-:-:S05] IADD3 R24, R21, -R20, {{X}} ;"
            );
            let rows = rows(gpu, 32, &guarded, &[("all".to_owned(), "RZ".to_owned())]);
            assert_eq!(value(&rows[0]), Ok(first as i64 + 3 + 3), "{gpu}: {load}");
        }
    }
}

/// An instruction in the memory unit's queue reads its registers when it leaves the queue: whoever
/// overwrites them before is read instead.
#[test]
fn sources_can_be_overwritten_while_their_reader_is_queued() {
    for gpu in GPUS {
        // Four sub-cores share the way out of their queues.
        let reader = |queue: &str, last: &str, overwrite: &str, then: &str| {
            let queue: String = (40..52)
                .map(|free| {
                    format!("[B------:R-:W-:-:S01] {queue} ;\n")
                        .replace("FREE", &format!("R{free}"))
                })
                .collect();
            format!(
                "{queue}[B------:R0:{last} ;\n\
                 [B{{X}}-----:R-:W-:-:S02] {overwrite} ;\n\
                 [B01----:R-:W-:-:S15] NOP ;\n\
                 [B------:R-:W-:Y:S15] NOP ;\n\
                 [B------:R-:W2:-:S02] {then} ;\n\
                 [B--2---:R-:W-:-:S05] NOP ;"
            )
        };
        let stored = reader(
            "STG.E [R14.64+0x400], R23",
            "W-:-:S02] STG.E [R14.64+0x200], R26",
            "MOV R26, 0x7",
            "LDG.E R24, [R14.64+0x200]",
        );
        let moved = reader(
            "STG.E [R14.64+0x400], R23",
            "W-:-:S02] STG.E [R14.64+0x200], R26",
            "IADD3 R14, R14, 0x4, RZ",
            "LDG.E R24, [R14.64+0x1fc]",
        );
        let loaded = reader(
            "LDG.E FREE, [R14.64+0x400]",
            "W1:-:S02] LDG.E R24, [R14.64]",
            "IADD3 R14, R14, 0x4, RZ",
            "LDG.E R25, [R14.64]",
        );
        for (sass, overwritten, right) in
            [(stored, 7, 1000), (moved, 1128, 1000), (loaded, 1001, 1000)]
        {
            let variants =
                [("a_without", "-"), ("b_waits", "0")].map(|(n, t)| (n.to_owned(), t.to_owned()));
            let rows = rows(gpu, 128, &sass, &variants);
            assert!(rows[0].hazards > 0, "{gpu}:\n{sass}");
            assert_eq!(value(&rows[0]), Ok(overwritten), "{gpu}:\n{sass}");
            assert_eq!(value(&rows[1]), Ok(right), "{gpu}:\n{sass}");
            assert_eq!(rows[1].hazards, 0, "{gpu}:\n{sass}");
        }
    }
}

/// Of two results for one register the one that lands last stays.
#[test]
fn a_late_result_lands_over_a_younger_one() {
    for gpu in GPUS {
        let sass = "[B------:R-:W0:-:S02] LDS R24, [R23] ;\n\
                    [B{X}-----:R-:W-:-:S05] MOV R24, 0x7 ;\n\
                    [B0-----:R-:W-:-:S15] NOP ;\n\
                    [B------:R-:W-:Y:S15] NOP ;";
        let variants =
            [("a_without", "-"), ("b_waits", "0")].map(|(n, t)| (n.to_owned(), t.to_owned()));
        let rows = rows(gpu, 32, sass, &variants);
        assert_eq!(value(&rows[0]), Ok(1000), "{gpu}");
        assert!(rows[0].hazards > 0);
        assert_eq!(value(&rows[1]), Ok(7), "{gpu}");
        assert_eq!(rows[1].hazards, 0);
    }
}

/// Bytes that LDGSTS brings are there when its group has been waited for.
#[test]
fn copies_to_shared_memory_are_seen_when_they_are_complete() {
    for gpu in GPUS {
        let sass = "[B------:R-:W-:-:S02] LDGSTS.E [R23+0x400], [R14.64] ;\n\
                    [B------:R-:W0:-:S02] LDGDEPBAR ;\n\
                    [B------:R-:W-:-:S05] {X} ;\n\
                    [B------:R-:W1:-:S02] LDS R24, [R23+0x400] ;\n\
                    [B01----:R-:W-:-:S05] NOP ;";
        let variants = [("a_without", "NOP"), ("b_waits", "DEPBAR.LE SB0, 0x0")]
            .map(|(n, t)| (n.to_owned(), t.to_owned()));
        let rows = rows(gpu, 32, sass, &variants);
        assert_eq!(value(&rows[0]), Ok(0), "{gpu}");
        assert!(rows[0].hazards > 0);
        assert_eq!(value(&rows[1]), Ok(1000), "{gpu}");
        assert_eq!(rows[1].hazards, 0);
    }
}

/// R2UR.OR joins with what its predicate holds when its result lands: compilers put it two cycles behind the
/// instruction that writes the predicate.
#[test]
fn a_joined_predicate_is_read_when_the_result_lands() {
    // Lane 0's value is the one taken, so only what is joined can set its predicate.
    let sass = "[B------:R-:W-:Y:S15] ISETP.{X}.AND P1, PT, RZ, RZ, PT ;\n\
                [B------:R-:W-:-:S02] PLOP3.LUT P1, PT, P1, PT, PT, 0xf, 0x0 ;\n\
                [B------:R-:W-:Y:S15] R2UR.OR P1, UR4, R18 ;\n\
                [B------:R-:W-:Y:S15] NOP ;\n\
                [B------:R-:W-:Y:S15] SEL R24, R26, RZ, P1 ;";
    let variants = ["EQ", "NE"].map(|test| (test.to_owned(), test.to_owned()));
    let rows = rows("h100-pcie", 32, sass, &variants);
    let told: Vec<_> = rows.iter().map(|row| (value(row), row.hazards)).collect();
    assert_eq!(told, [(Ok(0), 0), (Ok(1000), 0)]);
}
