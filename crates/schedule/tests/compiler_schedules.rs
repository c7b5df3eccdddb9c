//! The latency tables, classes and footprints against what the vendor's compiler makes: `lint` has nothing
//! to say of its code, on all ways through it, and the distances that it keeps agree with the tables and
//! with the mined ones of gpus/latency.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{GPUS, rules};
use schedule::{Mined, Rules, Verdict};

/// What was mined of `files`, by architecture; every finding fails.
fn mine(files: &[PathBuf]) -> BTreeMap<u32, Mined> {
    let all: BTreeMap<u32, Rules> = GPUS.map(|(sm, _)| (sm, rules(sm))).into();
    let mut mined: BTreeMap<u32, Mined> = BTreeMap::new();
    let mut wrong = Vec::new();
    for file in files {
        for code in common::sections(file) {
            let scan = code.lint(&all[&code.sm]);
            let mined = mined.entry(code.sm).or_default();
            mined.add(code.instructions.len(), &scan);
            for finding in scan.findings {
                let (earlier, later) = (code.show(finding.earlier), code.show(finding.later));
                wrong.push(format!(
                    "{}: {finding:?}\n  {earlier}\n  {later}",
                    code.name
                ));
            }
        }
    }
    for (sm, mined) in &mined {
        println!(
            "sm_{sm}: {} instructions, {} files in all",
            mined.instructions,
            files.len()
        );
    }
    let shown: Vec<String> = wrong.iter().take(20).cloned().collect();
    assert!(
        wrong.is_empty(),
        "{} findings in compiled code:\n{}",
        wrong.len(),
        shown.join("\n")
    );
    mined
}

/// The committed file of an architecture.
fn file(sm: u32) -> PathBuf {
    let latency = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gpus/latency");
    latency.join(format!("mined_sm_{sm}.csv"))
}

/// `BLESS=1 cargo test -p schedule --test compiler_schedules` adds what the kernels show to the files.
#[test]
fn our_kernels_have_no_findings_and_agree_with_the_mined_distances() {
    for (sm, mined) in mine(&common::kernels()) {
        let table = &rules(sm).table;
        for row in mined.rows(table) {
            assert_ne!(row.verdict(), Verdict::Smaller, "sm_{sm}: {row:?}");
        }
        assert!(mined.rows(table).len() > 100, "sm_{sm}");
        let text = std::fs::read_to_string(file(sm)).unwrap_or_default();
        let (committed, rows) =
            Mined::from_csv(&text).unwrap_or_else(|error| panic!("sm_{sm}: {error}"));
        let mut renewed = committed.clone();
        for (&pair, &seen) in &mined.pairs {
            let known = renewed.pairs.entry(pair).or_insert(seen);
            known.least = known.least.min(seen.least);
        }
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(file(sm), renewed.to_csv(table)).expect("the file can be written");
            continue;
        }
        for row in &rows {
            let needed = table.distance(row.kind, row.producer.index(), row.consumer.index());
            assert_eq!(
                row.needed, needed,
                "mined_sm_{sm}.csv is of another table: {row:?}"
            );
            assert_ne!(
                row.verdict(),
                Verdict::Smaller,
                "mined_sm_{sm}.csv: {row:?}"
            );
        }
        assert_eq!(
            renewed.to_csv(table),
            text,
            "mined_sm_{sm}.csv: BLESS=1 cargo test -p schedule --test compiler_schedules"
        );
    }
}

#[test]
fn public_code_has_no_findings() {
    let corpus = common::corpus();
    if !corpus.is_empty() {
        mine(&corpus);
    }
}

/// REGRESSIONS C20: the distance that must be kept is a property of the pair of producer and consumer.
#[test]
fn c20_one_producer_has_as_many_distances_as_kinds_of_consumers() {
    let text = std::fs::read_to_string(file(86)).unwrap_or_default();
    let (_, rows) = Mined::from_csv(&text).unwrap_or_else(|error| panic!("{error}"));
    for (producer, least) in [("CoupledAlu", 5), ("CoupledFma", 4), ("Imad", 4)] {
        let tight = rows.iter().filter(|row| row.verdict() == Verdict::Equal);
        let of = tight.filter(|row| row.producer.name() == producer);
        let distances: std::collections::BTreeSet<u16> = of.map(|row| row.needed).collect();
        assert!(distances.len() >= least, "{producer}: {distances:?}");
    }
}

#[test]
fn a_file_of_mined_distances_that_is_none_is_refused_by_line() {
    for (text, line) in [
        ("# instructions: many\n", 1),
        ("register,RAW,CoupledAlu\n", 1),
        ("\nregister,RAW,CoupledAlu,Nonesuch,4,4,1,equal,4\n", 2),
        ("register,RAW,CoupledAlu,CoupledAlu,4,5,1,equal,4\n", 1),
    ] {
        let error = Mined::from_csv(text).err();
        assert_eq!(error.map(|error| error.line), Some(line), "{text}");
    }
}
