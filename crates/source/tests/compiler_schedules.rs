//! The latency tables, classes and footprints against what the vendor's compiler makes: its code
//! keeps every distance and waits for every counter, on all ways through it. Where it keeps a distance
//! exactly, the table is proven tight.

mod schedule;

use std::collections::BTreeMap;
use std::path::PathBuf;

use hardware::latency::LatencyTable;
use sass::Class;
use schedule::check::Walk;
use schedule::code;
use schedule::findings::{Pair, Seen};

fn table(sm: u32) -> LatencyTable {
    LatencyTable::load(sm, Class::NAMES).unwrap_or_else(|error| panic!("{error}"))
}

/// Architectures with latency tables.
const ARCHITECTURES: [u32; 5] = [75, 80, 86, 89, 90];

/// Checks all `files` and prints, per architecture, what is never tight in them.
fn check(files: &[PathBuf]) {
    let tables: BTreeMap<u32, LatencyTable> = ARCHITECTURES.map(|sm| (sm, table(sm))).into();
    let mut seen: BTreeMap<u32, BTreeMap<Pair, Seen>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut instructions: BTreeMap<u32, usize> = BTreeMap::new();
    for file in files {
        for code in code::sections(file) {
            *instructions.entry(code.sm).or_default() += code.instructions.len();
            let scan = Walk::new(&tables[&code.sm], &code.instructions).run();
            for finding in scan.findings {
                let (earlier, later) = (code.show(finding.earlier), code.show(finding.later));
                wrong.push(format!(
                    "{}: {finding:?}\n  {earlier}\n  {later}",
                    code.name
                ));
            }
            let seen = seen.entry(code.sm).or_default();
            for (pair, new) in scan.seen {
                let known = seen.entry(pair).or_insert(Seen {
                    least: u16::MAX,
                    count: 0,
                });
                known.least = known.least.min(new.least);
                known.count += new.count;
            }
        }
    }
    println!("{instructions:?} instructions in {} cubins", files.len());
    for (sm, seen) in &mut seen {
        print_loose(*sm, &tables[sm], seen);
    }
    let shown = wrong
        .iter()
        .take(20)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        wrong.is_empty(),
        "{} hazards in compiled code:\n{shown}",
        wrong.len()
    );
}

fn print_loose(sm: u32, table: &LatencyTable, seen: &mut BTreeMap<Pair, Seen>) {
    let needed =
        |(kind, producer, consumer): Pair| table.distance(kind, producer.index(), consumer.index());
    // A distance of one is kept by any two instructions.
    seen.retain(|&pair, _| needed(pair) > 1);
    let tight = seen
        .iter()
        .filter(|(pair, seen)| seen.least == needed(**pair))
        .count();
    println!(
        "sm_{sm}: {tight} of {} pairs of classes are tight; never tight are",
        seen.len()
    );
    for (&pair, seen) in seen
        .iter()
        .filter(|(pair, seen)| seen.least > needed(**pair))
    {
        let (kind, producer, consumer) = pair;
        println!(
            "  {} {} -> {}: {} needed, {} at least, {} times",
            kind.name(),
            producer.name(),
            consumer.name(),
            needed(pair),
            seen.least,
            seen.count
        );
    }
}

#[test]
fn our_kernels_keep_every_distance_and_counter() {
    check(&code::kernels());
}

#[test]
fn public_code_keeps_every_distance_and_counter() {
    let corpus = code::corpus();
    if !corpus.is_empty() {
        check(&corpus);
    }
}
