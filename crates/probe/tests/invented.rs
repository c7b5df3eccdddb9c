//! Every probe finds from outside what the document of a GPU that does not exist says.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use hardware::{Gpu, Value};
use probe::gf2::reduced;
use probe::{Bench, Cell, Choice, Outcome, find};

fn invented() -> Gpu {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/invented.toml");
    let mut gpu = Gpu::load(file.to_str().unwrap()).unwrap();
    gpu.check(&device::declarations()).unwrap();
    gpu
}

fn number(gpu: &Gpu, key: &str) -> f64 {
    match gpu.value(key).unwrap() {
        Value::Integer(value) => *value as f64,
        Value::Float(value) => *value,
        other => panic!("{key} is {other:?}"),
    }
}

/// Runs a probe with hazards looked for: control bits that were filled in must leave none.
fn outcome(gpu: &Gpu, name: &str, sm: u32) -> Outcome {
    let mut bench = Bench::new(gpu.clone(), 1).unwrap().checked();
    let probe = find(name).unwrap();
    let outcome = (probe.run)(&mut bench, &Choice { sm }).unwrap();
    assert!(
        !outcome.tables.is_empty() && outcome.tables.iter().all(|table| !table.rows.is_empty())
    );
    assert!(
        outcome.plot.svg().contains("<title>"),
        "{name} draws nothing"
    );
    outcome
}

fn found(outcome: &Outcome, name: &str) -> f64 {
    outcome
        .number(name)
        .unwrap_or_else(|| panic!("no {name} in {:?}", outcome.findings))
}

/// Whether a measurement lies within so many parts in a hundred of what is right.
fn near(found: f64, right: f64, percent: f64) -> bool {
    (found - right).abs() <= right * percent / 100.0
}

#[test]
fn chase_sees_the_steps() {
    let gpu = invented();
    let outcome = outcome(&gpu, "chase", 1);
    let (l1, l2, dram) = (
        found(&outcome, "l1_hit"),
        found(&outcome, "l2_hit"),
        found(&outcome, "dram"),
    );
    // A load through L1 takes the lookup of the document and the stages around it, a hop two sums besides.
    let lookup = number(&gpu, "l1_data_cache.lookup");
    let loop_adds = found(&outcome, "loop_adds");
    assert!(near(l1 - loop_adds, lookup + 23.0, 1.0), "L1 {l1}");
    assert!(near(loop_adds, 4.0, 5.0), "a loop adds {loop_adds}");
    assert!(l2 > l1 + number(&gpu, "l2.fixed_latency"), "L2 {l2}");
    let beyond = number(&gpu, "dram.fixed_latency");
    assert!(
        dram > l2 + beyond && dram < l2 + 2.0 * beyond,
        "DRAM {dram} after L2 {l2}"
    );
    let l1_bytes = number(&gpu, "l1_data_cache.sets") * number(&gpu, "l1_data_cache.ways") * 128.0;
    assert_eq!(found(&outcome, "l1_bytes"), l1_bytes);
    let (l2_bytes, size) = (found(&outcome, "l2_bytes"), number(&gpu, "memory.l2_size"));
    assert!(
        l2_bytes <= size && l2_bytes >= 0.6 * size,
        "L2 of {l2_bytes} bytes"
    );
}

#[test]
fn l1_sets_are_found() {
    let gpu = invented();
    let ways = number(&gpu, "l1_data_cache.ways");
    assert_eq!(
        found(&outcome(&gpu, "l1-associativity", 0), "l1_ways"),
        ways
    );
    let outcome = outcome(&gpu, "l1-masks", 3);
    assert_eq!(found(&outcome, "l1_ways"), ways);
    assert_eq!(
        found(&outcome, "l1_sets"),
        number(&gpu, "l1_data_cache.sets")
    );
    let Value::Masks(masks) = gpu.value("l1_data_cache.masks").unwrap() else {
        panic!("masks are no masks");
    };
    let rows = outcome.tables[0].rows.iter().map(|row| match &row[1] {
        Cell::Text(mask) => u64::from_str_radix(mask.trim_start_matches("0x"), 16).unwrap(),
        other => panic!("{other:?}"),
    });
    assert_eq!(rows.collect::<Vec<_>>(), reduced(masks));
}

#[test]
fn masks_of_a_linear_index_are_single_bits() {
    let mut gpu = invented();
    gpu.set("l1_data_cache.index=linear").unwrap();
    let outcome = outcome(&gpu, "l1-masks", 0);
    let rows = outcome.tables[0].rows.iter();
    let masks: Vec<Cell> = rows.map(|row| row[1].clone()).collect();
    let expected = [12, 11, 10, 9, 8, 7].map(|bit| Cell::Text(format!("{:#011x}", 1u64 << bit)));
    assert_eq!(masks, expected);
}

#[test]
fn translations_are_found() {
    let gpu = invented();
    let outcome = outcome(&gpu, "tlb", 2);
    assert_eq!(
        found(&outcome, "tlb_entries"),
        number(&gpu, "translation.entries")
    );
    assert_eq!(
        found(&outcome, "page_bytes"),
        number(&gpu, "memory.page_size")
    );
    let miss = number(&gpu, "translation.miss");
    for name in [
        "miss_cost",
        "least_miss_cost_of_sms",
        "most_miss_cost_of_sms",
    ] {
        let cost = found(&outcome, name);
        assert!((cost - miss).abs() <= 1.0, "{name} {cost} for {miss}");
    }
}

#[test]
fn slices_are_not_told_where_sms_are_too_few_to_keep_one_busy() {
    let mut bench = Bench::new(invented(), 1).unwrap();
    let probe = find("l2-slices").unwrap();
    let error = (probe.run)(&mut bench, &Choice { sm: 0 }).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not enough SMs to keep a slice busy"),
        "{error}"
    );
}

#[test]
fn a_quarter_of_l2_stays_resident() {
    let gpu = invented();
    // Sets are hashed: the whole fits only about.
    let outcome = outcome(&gpu, "l2-resident", 0);
    let stay = found(&outcome, "most_that_stay");
    assert!((25.0..=100.0).contains(&stay), "{stay} %");
}

#[test]
fn dram_is_found() {
    // Rows that refresh closes are not told from those that others close.
    let mut gpu = invented();
    gpu.set("dram.refresh_period=1000000000").unwrap();
    let outcome = outcome(&gpu, "dram", 4);
    assert!(found(&outcome, "row_hit") < found(&outcome, "row_miss"));
    let channels = number(&gpu, "l2.partitions") * number(&gpu, "dram.channels_per_partition");
    let banks = channels * number(&gpu, "dram.banks");
    assert!(
        near(found(&outcome, "banks"), banks, 20.0),
        "{:?}",
        outcome.findings
    );
    // Six bits of the map are columns of 32 bytes.
    assert_eq!(found(&outcome, "row_bytes"), 2048.0);
}

#[test]
fn refresh_is_found() {
    let gpu = invented();
    let outcome = outcome(&gpu, "refresh", 0);
    let (stall, period) = (
        number(&gpu, "dram.refresh_stall"),
        number(&gpu, "dram.refresh_period"),
    );
    let late = found(&outcome, "late");
    assert!((late - 100.0 * stall / period).abs() < 1.0, "{late} % late");
    assert!(
        near(found(&outcome, "longest_delay"), stall, 10.0),
        "{:?}",
        outcome.findings
    );
    let upper = found(&outcome, "in_the_upper_half");
    assert!(
        (40.0..=60.0).contains(&upper),
        "{:?} {:?}",
        outcome.findings,
        outcome.tables
    );
}

#[test]
fn bandwidths_are_those_of_the_document() {
    let gpu = invented();
    let outcome = outcome(&gpu, "bandwidth", 0);
    let shared = found(&outcome, "shared_by_sm");
    assert!(shared > 100.0, "shared memory {shared} bytes per cycle");
    let share = found(&outcome, "dram_share");
    assert!(
        share <= 100.0 && share > 60.0,
        "{share} % of the DRAM's bandwidth"
    );
    assert!(found(&outcome, "l2") > 1.5 * found(&outcome, "dram"));
    assert!(found(&outcome, "l1_by_sm") >= 32.0);
}

#[test]
fn shared_memory_has_32_banks_and_judges_parts_of_a_warp() {
    let outcome = outcome(&invented(), "shared-banks", 0);
    assert_eq!(found(&outcome, "banks"), 32.0);
    // All lanes at one bank: 32 turns in place of 1; halves of 16 turns, quarters of 8.
    assert_eq!(found(&outcome, "conflict_32_bits"), 31.0);
    assert_eq!(found(&outcome, "conflict_64_bits"), 30.0);
    assert_eq!(found(&outcome, "conflict_128_bits"), 28.0);
    let row = |bits: u64, stride: u64| {
        let rows = outcome.tables[0].rows.iter();
        let mut rows = rows.filter(|r| r[0] == Cell::Count(bits) && r[1] == Cell::Count(stride));
        rows.next().unwrap()[3].clone()
    };
    for (stride, more) in [
        (1, 0),
        (2, 1),
        (4, 3),
        (8, 7),
        (16, 15),
        (32, 31),
        (33, 0),
        (31, 0),
    ] {
        assert_eq!(row(32, stride), Cell::Count(more), "stride {stride}");
    }
    // Lanes in a row conflict at no width: a quarter warp of 128-bit loads covers every bank once.
    assert_eq!(row(64, 2), Cell::Count(0));
    assert_eq!(row(128, 4), Cell::Count(0));
    assert_eq!(row(128, 8), Cell::Count(4));
}

#[test]
fn atomics_of_one_word_are_the_slowest() {
    let outcome = outcome(&invented(), "atomics", 0);
    let one = found(&outcome, "one_word");
    for faster in ["words_by_warp", "line_by_warp"] {
        assert!(found(&outcome, faster) > one, "{:?}", outcome.findings);
    }
}

#[test]
fn latency_rises_under_load() {
    let gpu = invented();
    let outcome = outcome(&gpu, "loaded-latency", 0);
    assert_eq!(
        found(&outcome, "warps"),
        number(&gpu, "card.sms") * number(&gpu, "occupancy.warps_per_sm")
    );
    let (unloaded, loaded) = (
        found(&outcome, "dram_unloaded"),
        found(&outcome, "dram_loaded"),
    );
    assert!(loaded > 1.1 * unloaded, "{unloaded} grows to {loaded}");
    assert!(found(&outcome, "l2_loaded") >= found(&outcome, "l2_unloaded"));
    assert!(found(&outcome, "l2_most") > found(&outcome, "dram_most"));
}

#[test]
fn an_sm_that_is_not_there_is_not_waited_for() {
    let mut bench = Bench::new(invented(), 1).unwrap();
    assert_eq!(bench.card().sms, 5);
    let list = [bench.allocate(128, "a line").unwrap()];
    let place = probe::scan::Place::Sm(7);
    // No CTA is on it, so nothing is timed.
    let times = bench
        .times(&list, probe::kernel::Load::Cached, place)
        .unwrap();
    assert_eq!(times, [0]);
}
