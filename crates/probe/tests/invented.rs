//! Every probe finds from outside what the document of a GPU that does not exist says.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use hardware::{Gpu, Value};
use probe::gf2::reduced;
use probe::{Bench, Cell, Choice, Outcome, find};
use source::Line;

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
        found(&outcome, "l1_bytes"),
        ways * number(&gpu, "l1_data_cache.sets") * 128.0
    );
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

/// The masks that were measured on the machine come back out of times alone.
#[test]
fn l1_masks_of_the_rtx_4090_are_found() {
    let mut gpu = Gpu::load("rtx-4090").unwrap();
    gpu.check(&device::declarations()).unwrap();
    gpu.set("card.sms=4").unwrap();
    let Value::Masks(masks) = gpu.value("l1_data_cache.masks").unwrap().clone() else {
        panic!("masks are no masks");
    };
    let outcome = outcome(&gpu, "l1-masks", 2);
    let rows = outcome.tables[0].rows.iter().map(|row| match &row[1] {
        Cell::Text(mask) => u64::from_str_radix(mask.trim_start_matches("0x"), 16).unwrap(),
        other => panic!("{other:?}"),
    });
    assert_eq!(rows.collect::<Vec<_>>(), reduced(&masks));
    assert_eq!(found(&outcome, "l1_sets"), 256.0);
    assert_eq!(found(&outcome, "l1_ways"), 4.0);
    // A kernel's own kilobyte of shared memory takes the smallest part that can be taken.
    let kib = found(&outcome, "l1_bytes") / 1024.0;
    assert!((112.0..=128.0).contains(&kib), "{kib} KiB");
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

/// The slice of each line as the document's own function has it.
fn slices_by_document(bench: &Bench, gpu: &Gpu, lines: &[u64]) -> Vec<u32> {
    let l2 = memory::L2Parameters::load(gpu).unwrap();
    let dram = memory::dram::DramParameters::load(gpu).unwrap();
    let map = memory::AddressMap::new(gpu, &l2, &dram).unwrap();
    let pages = bench.device().memory().page_table([]);
    let line = |address: &u64| Line(pages.physical(*address) / 128);
    let places = lines.iter().map(|address| map.place(line(address)));
    places.map(|place| map.slice(place)).collect()
}

#[test]
fn slices_are_those_of_the_document() {
    let gpu = invented();
    let mut bench = Bench::new(gpu.clone(), 1).unwrap().checked();
    let outcome = (find("l2-slices").unwrap().run)(&mut bench, &Choice { sm: 0 }).unwrap();
    let slices = number(&gpu, "l2.partitions") * number(&gpu, "l2.slices_per_partition");
    assert_eq!(found(&outcome, "slices"), slices);
    let members = outcome.tables.iter().find(|one| one.name == "members");
    let members = members.unwrap().rows.iter().map(|row| match &row[..] {
        [Cell::Text(line), Cell::Count(slice)] => {
            let line = u64::from_str_radix(line.trim_start_matches("0x"), 16).unwrap();
            (line, *slice as u32)
        }
        other => panic!("{other:?}"),
    });
    let (lines, told): (Vec<u64>, Vec<u32>) = members.unzip();
    assert!(lines.len() >= 16 * slices as usize, "{} lines", lines.len());
    assert_eq!(told, slices_by_document(&bench, &gpu, &lines));
    // Two and three slices serve as much more, while the SMs can ask for it.
    for row in &outcome.tables[0].rows {
        if let [Cell::Count(k @ 1..=3), _, Cell::Real(relative)] = row[..] {
            assert!(near(relative, k as f64, 5.0), "{k} slices: {relative}");
        }
    }
}

/// 36 slices of the reconstructed function, with pages laid anywhere; five of another number.
#[test]
fn counters_tell_the_slices_of_other_gpus() {
    let mut ad102 = Gpu::load("rtx-4090").unwrap();
    ad102.check(&device::declarations()).unwrap();
    ad102.set("card.sms=8").unwrap();
    let mut five = invented();
    for set in [
        "l2.partitions=5",
        "l2.slices_per_partition=1",
        "memory.l2_size=327680",
        "memory.bus_width=80",
        "memory.bandwidth=120",
        "memory.dram_size=2684354560",
    ] {
        five.set(set).unwrap();
    }
    for (gpu, slices) in [(ad102, 36), (five, 5)] {
        let mut bench =
            Bench::with_pages(gpu.clone(), 1, device::PageOrder::Shuffled { seed: 3 }).unwrap();
        let base = bench.allocate(64 << 20, "lines").unwrap();
        let lines: Vec<u64> = (0..60).map(|i| base + i * 1_089_536 / 128 * 128).collect();
        assert_eq!(probe::counters::slices(&mut bench).unwrap(), slices);
        let told = probe::counters::slices_of(&mut bench, &lines, "test").unwrap();
        assert_eq!(
            told,
            slices_by_document(&bench, &gpu, &lines),
            "{}",
            gpu.name()
        );
    }
}

#[test]
fn l2_ways_are_found() {
    for (sets, ways) in [(64, 8), (16, 4), (32, 12), (128, 16)] {
        let mut gpu = invented();
        gpu.set(&format!("l2.sets={sets}")).unwrap();
        gpu.set(&format!("l2.ways={ways}")).unwrap();
        gpu.set(&format!("memory.l2_size={}", 6 * sets * ways * 128))
            .unwrap();
        let outcome = outcome(&gpu, "l2-associativity", 1);
        assert_eq!(
            found(&outcome, "l2_ways"),
            f64::from(ways),
            "{sets} × {ways}"
        );
        // What fits hits, one more misses at every load.
        let misses = outcome.tables[0].rows.iter().map(|row| row[2].clone());
        let mut expected = vec![Cell::Count(0); ways as usize];
        expected.push(Cell::Count(u64::from(ways as u32) + 1));
        assert_eq!(misses.collect::<Vec<_>>(), expected, "{sets} × {ways}");
    }
}

/// Slices and sets that are chosen evenly: as many bytes as L2 has stay, but for the few lines of a launch
/// itself; a slice more does not.
#[test]
fn as_much_as_l2_has_stays_resident() {
    let mut gpu = invented();
    gpu.set("l2.set_hash=linear").unwrap();
    gpu.set("l2.sets=256").unwrap();
    gpu.set("memory.l2_size=1572864").unwrap();
    let outcome = outcome(&gpu, "l2-resident", 0);
    let stay = found(&outcome, "most_that_stay");
    assert!((97.0..=100.0).contains(&stay), "{stay} %");
    let rows = &outcome.tables[1].rows;
    let stay = |row: usize| match rows[row][2] {
        Cell::Real(share) => share,
        ref other => panic!("{other:?}"),
    };
    assert_eq!(stay(0), 100.0, "half of it");
    // A sixth more gives so many sets one line too many for each way that it fills: they keep nothing.
    assert!(stay(3) < 10.0, "a slice more: {} %", stay(3));
}

#[test]
fn dram_is_found() {
    for refreshed in [false, true] {
        let mut gpu = invented();
        if !refreshed {
            gpu.set("dram.refresh_period=1000000000").unwrap();
        }
        let outcome = outcome(&gpu, "dram", 4);
        assert!(found(&outcome, "row_hit") < found(&outcome, "row_miss"));
        let channels = number(&gpu, "l2.partitions") * number(&gpu, "dram.channels_per_partition");
        let banks = channels * number(&gpu, "dram.banks");
        assert!(
            near(found(&outcome, "banks"), banks, 15.0),
            "{:?}",
            outcome.findings
        );
        assert!(
            near(found(&outcome, "channels"), channels, 15.0),
            "{:?}",
            outcome.findings
        );
        // Six bits of the map are columns of 32 bytes.
        assert_eq!(
            found(&outcome, "row_bytes"),
            2048.0,
            "{:?}",
            outcome.tables[1]
        );
    }
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
    assert!((late - 100.0 * stall / period).abs() < 0.3, "{late} % late");
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

/// Bytes per cycle of one SM, and of all of them, as the table has them.
fn rate(outcome: &Outcome, from: &str, bits: u64, sms: u64) -> f64 {
    let rows = outcome.tables[0].rows.iter();
    let mut rates = rows.filter_map(|row| match &row[..] {
        [
            Cell::Text(level),
            Cell::Count(width),
            Cell::Count(count),
            Cell::Real(rate),
            ..,
        ] => (level == from && *width == bits && *count == sms).then_some(*rate),
        _ => None,
    });
    rates
        .next()
        .unwrap_or_else(|| panic!("no {from}, {bits} bits, {sms} SMs"))
}

#[test]
fn bandwidths_are_those_of_the_document() {
    let gpu = invented();
    let outcome = outcome(&gpu, "bandwidth", 0);
    let sms = number(&gpu, "card.sms") as u64;
    // A warp's load is handed over every so many cycles: 32 lanes of 4 and of 8 bytes. Wider ones move
    // through 128 bytes of shared memory and of L1 in a cycle.
    let interval = number(&gpu, "memory_unit.hand_over_interval");
    for level in ["shared", "L1"] {
        for (bits, bytes) in [(32, 128.0 / interval), (64, 256.0 / interval), (128, 128.0)] {
            let bytes = f64::min(bytes, 128.0);
            let one = rate(&outcome, level, bits, 1);
            assert!(
                near(one, bytes, 5.0),
                "{level}, {bits} bits: {one} of {bytes}"
            );
            let all = rate(&outcome, level, bits, sms);
            assert!(
                near(all, one * sms as f64, 1.0),
                "{level}: {all} of {sms} times {one}"
            );
        }
    }
    // From L2 a sector per cycle comes to each SM, and slices give more than the SMs take.
    let port = 32.0 * number(&gpu, "crossbar.sm_rate");
    let from_l2 = rate(&outcome, "L2", 128, 1);
    assert!(near(from_l2, port, 5.0), "{from_l2} of {port}");
    assert!(near(found(&outcome, "l2"), port * sms as f64, 5.0));
    let share = found(&outcome, "dram_share");
    assert!(
        (85.0..=100.0).contains(&share),
        "{share} % of the DRAM's bandwidth"
    );
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
fn atomics_are_as_quick_as_their_slices() {
    let gpu = invented();
    let outcome = outcome(&gpu, "atomics", 0);
    // A slice applies so many lanes of a sector at once, one packet after the other.
    let lanes = number(&gpu, "l2.atomic_lanes") / number(&gpu, "l2.atomic_interval");
    let one = found(&outcome, "one_word");
    assert!(
        one <= lanes && one > 0.8 * lanes,
        "{one} of {lanes} lanes per cycle"
    );
    // The lanes of a line are eight to a sector, each sector a packet.
    let line = found(&outcome, "one_line");
    let eight = 8.0 / number(&gpu, "l2.atomic_interval");
    assert!(
        line <= eight && line > 0.8 * eight,
        "{line} of {eight} lanes per cycle"
    );
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
    let chased = outcome_of_chase(&gpu);
    for (level, alone) in [("l2_unloaded", chased.0), ("dram_unloaded", chased.1)] {
        // A hop besides asks for whole lines and works out where the next is: few cycles.
        let hop = found(&outcome, level);
        assert!(
            hop >= alone && hop < alone + 60.0,
            "{level} {hop} after {alone}"
        );
    }
    let mut before = BTreeMap::new();
    for row in &outcome.tables[0].rows {
        let [
            Cell::Text(from),
            Cell::Count(warps),
            Cell::Real(latency),
            Cell::Real(rate),
            _,
        ] = &row[..]
        else {
            panic!("{row:?}");
        };
        // Little's law: what is under way is a line of each warp, but at the ends.
        let under_way = latency * rate / 128.0;
        assert!(
            (0.6..=1.02).contains(&(under_way / *warps as f64)),
            "{from}: {under_way} lines of {warps} warps"
        );
        // More warps never make a hop quicker.
        let last = before.insert(from.clone(), *latency).unwrap_or(0.0);
        assert!(*latency > 0.97 * last, "{from}: {latency} after {last}");
    }
    // 240 lines ask for more than the DRAM gives: a hop waits.
    assert!(found(&outcome, "dram_loaded") > 1.1 * found(&outcome, "dram_unloaded"));
    let sheet = number(&gpu, "memory.bandwidth") * 1000.0 / number(&gpu, "card.core_clock");
    let most = found(&outcome, "dram_most");
    assert!(
        most <= sheet && most > 0.5 * sheet,
        "{most} of {sheet} bytes per cycle"
    );
    assert!(found(&outcome, "l2_most") > most);
}

/// A hop of a chase from L2 and from DRAM.
fn outcome_of_chase(gpu: &Gpu) -> (f64, f64) {
    let outcome = outcome(gpu, "chase", 0);
    (found(&outcome, "l2_hit"), found(&outcome, "dram"))
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
