//! REGRESSIONS C20: the distance that must be kept is a property of the pair of producer and consumer.
//! Compiled kernels give no report; with a stall count lowered that is as small as allowed, or a
//! needed wait bit, counter or DEPBAR taken away, the run reports that pair of instructions. Where it
//! does not, the issues of the mutant and of probes tell why; a hazard that is not reported fails.
//!
//! A fixed sample runs by default: of each architecture one of so many cubins, so that all together
//! cover every cubin, and of those one of so many mutations. `WARPATH_SWEEP=all cargo test -p device
//! --test hazard_sharpness -- --nocapture` runs every mutation of every cubin (many minutes) and tells of
//! each that is not reported, `WARPATH_SWEEP=N` every N-th; `WARPATH_SWEEP_CUBIN=NAME` restricts either
//! to cubins of that name.

mod hazard_sharpness_support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use hazard_sharpness_support::bench::Bench;
use hazard_sharpness_support::mutation::{candidates as candidates_of, needed};
use hazard_sharpness_support::subject::{cubins, subject};
use hazard_sharpness_support::trial::{Trial, Verdict};
use schedule::Rules;

/// One of so many mutations runs in the sample.
const SAMPLE: usize = 12;

/// Each architecture with the GPU that it runs on here.
const ARCHITECTURES: [(u32, &str); 5] = [
    (75, "rtx-2080-ti"),
    (80, "a100-sxm4-40gb"),
    (86, "rtx-a6000"),
    (89, "rtx-4090"),
    (90, "h100-pcie"),
];

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

fn rules(gpu: &str) -> Rules {
    let gpu = hardware::Gpu::load(gpu).unwrap_or_else(|error| panic!("{error}"));
    Rules::of(&gpu).unwrap_or_else(|error| panic!("{error}"))
}

/// What runs: of the cubins of an architecture, and of their mutations.
struct Sweep {
    /// Every so many mutations.
    every: usize,
    /// Whether cubins are left to other architectures.
    shared: bool,
    /// What a cubin's name must hold.
    only: String,
    /// Whether what is not reported is told.
    tell: bool,
}

impl Sweep {
    /// As the environment has it.
    fn wanted() -> Sweep {
        let sweep = std::env::var("WARPATH_SWEEP").ok();
        let every = sweep.as_deref().map(|sweep| match sweep {
            "all" => 1,
            number => number.parse().expect("WARPATH_SWEEP is `all` or a number"),
        });
        let only = std::env::var("WARPATH_SWEEP_CUBIN").unwrap_or_default();
        Sweep {
            every: every.unwrap_or(SAMPLE),
            shared: every.is_none() && only.is_empty(),
            only,
            tell: every.is_some(),
        }
    }
}

/// Takes away what is needed in the code of architecture number `number` of the list, and demands
/// reports.
fn what_is_taken_away_is_reported(number: usize) {
    let (sm, gpu) = ARCHITECTURES[number];
    let sweep = Sweep::wanted();
    let mut table: BTreeMap<(&str, Verdict), usize> = BTreeMap::new();
    let (mut wrong, mut extra) = (Vec::new(), BTreeSet::new());
    let (mut candidates, mut ran, mut known_without) = (0usize, 0usize, 0usize);
    let mut bench = Bench::new(gpu);
    let rules = rules(gpu);
    let files = cubins(&kernels(), sm);
    for (position, (file, workloads)) in files.iter().enumerate() {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let other = sweep.shared && position % ARCHITECTURES.len() != number;
        if other || !name.contains(&sweep.only) {
            continue;
        }
        let subject = subject(file, workloads, &mut bench);
        let reports = subject.reports.iter();
        wrong.extend(reports.map(|line| format!("as compiled: {} {line}", subject.name)));
        if sweep.tell {
            for line in &subject.left_out {
                println!("left out: {} {line}", subject.name);
            }
        }
        for section in &subject.sections {
            for mutation in candidates_of(&rules, &section.code) {
                candidates += 1;
                if !candidates.is_multiple_of(sweep.every) {
                    continue;
                }
                let code = section.code.as_slice();
                let Some(pairs) = needed(&rules, code, subject.architecture, mutation) else {
                    continue;
                };
                ran += 1;
                let trial = Trial {
                    subject: &subject,
                    section,
                    mutation,
                    pairs: &pairs,
                };
                let found = trial.run(&mut bench, &mut extra);
                known_without += usize::from(found.known_without);
                let row = (mutation.change.name(), found.verdict);
                *table.entry(row).or_default() += 1;
                let text = format!("{}: {} {}", found.verdict.name(), subject.name, found.text);
                match found.verdict {
                    Verdict::Missed | Verdict::NoEnd => wrong.push(text),
                    Verdict::Reported | Verdict::NotExecuted => {}
                    _ if sweep.tell => println!("{text}"),
                    _ => {}
                }
            }
        }
    }
    println!(
        "sm_{sm}: {ran} mutations, every {} of {candidates}",
        sweep.every
    );
    for ((change, verdict), count) in &table {
        println!("sm_{sm} {change:>15}: {count:5} {}", verdict.name());
    }
    let count = |wanted: Verdict| -> usize {
        let of =
            |((_, verdict), count): (&(_, Verdict), &usize)| (*verdict == wanted).then_some(*count);
        table.iter().filter_map(of).sum()
    };
    let (reported, executed) = (count(Verdict::Reported), ran - count(Verdict::NotExecuted));
    println!(
        "sm_{sm}: {known_without} of {reported} would have been found missing without their report"
    );
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
    if sweep.only.is_empty() {
        assert!(ran >= 40, "{ran} mutations");
        assert!(
            2 * reported > executed,
            "only {reported} of {executed} that were executed are reported"
        );
        // What decides why something is not reported would decide rightly for what is.
        assert!(
            10 * known_without > 9 * reported,
            "{known_without} of {reported}"
        );
    }
}

#[test]
fn c20_what_is_needed_and_taken_away_is_reported_on_sm_75() {
    what_is_taken_away_is_reported(0);
}

#[test]
fn c20_what_is_needed_and_taken_away_is_reported_on_sm_80() {
    what_is_taken_away_is_reported(1);
}

#[test]
fn c20_what_is_needed_and_taken_away_is_reported_on_sm_86() {
    what_is_taken_away_is_reported(2);
}

#[test]
fn c20_what_is_needed_and_taken_away_is_reported_on_sm_89() {
    what_is_taken_away_is_reported(3);
}

#[test]
fn c20_what_is_needed_and_taken_away_is_reported_on_sm_90() {
    what_is_taken_away_is_reported(4);
}
