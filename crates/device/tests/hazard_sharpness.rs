//! REGRESSIONS C20: the distance that must be kept is a property of the pair of producer and consumer.
//! Compiled kernels give no report; with a stall count lowered that is as small as allowed, or a
//! needed wait bit, counter or DEPBAR taken away, the run reports that pair of instructions. Where it
//! does not, the issues of the mutant and of probes tell why; a hazard that is not reported fails.
//!
//! A fixed sample runs by default. `WARPATH_SWEEP=all cargo test -p device --test hazard_sharpness --
//! --nocapture` runs every mutation (some minutes) and tells of each that is not reported;
//! `WARPATH_SWEEP_CUBIN=NAME` restricts it to cubins of that name.

mod hazard_sharpness_support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use hardware::latency::LatencyTable;
use hazard_sharpness_support::bench::Bench;
use hazard_sharpness_support::mutation::mutations;
use hazard_sharpness_support::schedule::check::Walk;
use hazard_sharpness_support::schedule::code;
use hazard_sharpness_support::schedule::findings::{Pair, Seen};
use hazard_sharpness_support::subject::subjects;
use hazard_sharpness_support::trial::{Trial, Verdict};
use sass::Class;

/// One of so many mutations runs in the sample.
const SAMPLE: usize = 40;

/// Each architecture with the GPU that it runs on here.
const ARCHITECTURES: [(u32, &str); 3] =
    [(80, "a100-sxm4-40gb"), (86, "rtx-a6000"), (89, "rtx-4090")];

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

fn latencies(sm: u32) -> LatencyTable {
    LatencyTable::load(sm, Class::NAMES).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn c20_what_is_needed_and_taken_away_is_reported() {
    let all = std::env::var_os("WARPATH_SWEEP").is_some();
    let only = std::env::var("WARPATH_SWEEP_CUBIN").unwrap_or_default();
    let mut table: BTreeMap<(&str, Verdict), usize> = BTreeMap::new();
    let (mut wrong, mut extra) = (Vec::new(), BTreeSet::new());
    let (mut number, mut ran, mut known_without) = (0usize, 0usize, 0usize);
    for (sm, gpu) in ARCHITECTURES {
        let mut bench = Bench::new(gpu);
        let latencies = latencies(sm);
        for subject in subjects(&kernels(), sm, &mut bench) {
            if !subject.name.contains(&only) {
                continue;
            }
            let reports = subject.reports.iter();
            wrong.extend(reports.map(|line| format!("as compiled: {} {line}", subject.name)));
            if all {
                for line in &subject.left_out {
                    println!("left out: {} {line}", subject.name);
                }
            }
            for section in &subject.sections {
                let needed = mutations(&latencies, &section.code, subject.architecture);
                for (mutation, pairs) in &needed {
                    number += 1;
                    if !all && !number.is_multiple_of(SAMPLE) {
                        continue;
                    }
                    ran += 1;
                    let (mutation, pairs) = (*mutation, pairs.as_slice());
                    let trial = Trial {
                        subject: &subject,
                        section,
                        mutation,
                        pairs,
                    };
                    let found = trial.run(&mut bench, &mut extra);
                    known_without += usize::from(found.known_without);
                    let row = (mutation.change.name(), found.verdict);
                    *table.entry(row).or_default() += 1;
                    let text = format!("{}: {} {}", found.verdict.name(), subject.name, found.text);
                    match found.verdict {
                        Verdict::Missed | Verdict::NoEnd => wrong.push(text),
                        Verdict::Reported | Verdict::NotExecuted => {}
                        _ if all => println!("{text}"),
                        _ => {}
                    }
                }
            }
        }
    }
    println!("{ran} of {number} mutations");
    for ((change, verdict), count) in &table {
        println!("{change:>15}: {count:5} {}", verdict.name());
    }
    let reported: usize = table
        .iter()
        .filter(|((_, verdict), _)| *verdict == Verdict::Reported)
        .map(|(_, count)| count)
        .sum();
    println!("{known_without} of {reported} would have been found missing without their report");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let extra: Vec<String> = extra.into_iter().collect();
    assert!(
        extra.is_empty(),
        "not known to the static walk:\n{}",
        extra.join("\n")
    );
    if only.is_empty() {
        assert!(2 * reported > ran, "only {reported} of {ran} are reported");
        // What decides why something is not reported would decide rightly for what is.
        assert!(
            10 * known_without > 9 * reported,
            "{known_without} of {reported}"
        );
    }
}

/// All distances that the committed kernels keep, of an architecture.
fn seen(sm: u32) -> BTreeMap<Pair, Seen> {
    let latencies = latencies(sm);
    let mut seen: BTreeMap<Pair, Seen> = BTreeMap::new();
    let sections = code::kernels()
        .into_iter()
        .flat_map(|file| code::sections(&file));
    for section in sections.filter(|section| section.sm == sm) {
        for (pair, new) in Walk::new(&latencies, &section.instructions).run().seen {
            let known = seen.entry(pair).or_insert(new);
            known.least = known.least.min(new.least);
            known.count += new.count;
        }
    }
    seen
}

#[test]
fn c20_one_producer_has_as_many_distances_as_kinds_of_consumers() {
    let latencies = latencies(86);
    let mut distances: BTreeMap<&str, BTreeSet<u16>> = BTreeMap::new();
    for ((kind, producer, consumer), seen) in seen(86) {
        let needed = latencies.distance(kind, producer.index(), consumer.index());
        if seen.least == needed {
            distances.entry(producer.name()).or_default().insert(needed);
        }
    }
    println!("tight distances by producer: {distances:?}");
    for (producer, least) in [("CoupledAlu", 5), ("CoupledFma", 5), ("Hmma16816F32", 2)] {
        let found = distances.get(producer).map_or(0, BTreeSet::len);
        assert!(found >= least, "{producer}: {:?}", distances.get(producer));
    }
}

/// Pairs of classes whose distance no committed kernel keeps exactly: nothing here shows that the table
/// is tight there. `BLESS=1 cargo test -p device --test hazard_sharpness` writes the list anew.
#[test]
fn pairs_that_are_never_tight_are_listed() {
    let mut text = String::from(
        "# Pairs of latency classes that come close in the committed kernels, but never as close as the\n\
         # table allows: architecture, kind, producer, consumer, cycles needed, least found, how often.\n",
    );
    for (sm, _) in ARCHITECTURES {
        let latencies = latencies(sm);
        let seen = seen(sm);
        let needed = |&(kind, producer, consumer): &Pair| {
            latencies.distance(kind, producer.index(), consumer.index())
        };
        let loose = seen.iter().filter(|(pair, seen)| seen.least > needed(pair));
        println!(
            "sm_{sm}: {} of {} pairs are never tight",
            loose.clone().count(),
            seen.len()
        );
        for (pair, seen) in loose {
            let (kind, producer, consumer) = pair;
            writeln!(
                text,
                "sm_{sm} {} {} {} {} {} {}",
                kind.name(),
                producer.name(),
                consumer.name(),
                needed(pair),
                seen.least,
                seen.count
            )
            .expect("writing to a string");
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/hazard_sharpness_support/never_tight.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &text).expect("the list can be written");
    }
    let listed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        listed == text,
        "never_tight.txt: BLESS=1 cargo test -p device --test hazard_sharpness"
    );
}
