//! Measured facts of the memory pipeline inside the SM (MODEL.md §3.5, §7.2, §7.4).

mod common;

use common::{Bench, Step, cycle};
use source::MemoryKind;

const WARM: &[&str] = &[
    "l0_instruction_cache.perfect=true",
    "constant_operand_cache.perfect=true",
];

/// Distance from a memory instruction to the first instruction that waits for one of its counters;
/// a first access has brought the data in.
fn distance(kind: MemoryKind, uniform: bool, bytes: u8, read: bool) -> u64 {
    distance_on("rtx-a6000", kind, uniform, bytes, read)
}

/// The same on another GPU.
fn distance_on(gpu: &str, kind: MemoryKind, uniform: bool, bytes: u8, read: bool) -> u64 {
    let target = if matches!(kind, MemoryKind::GlobalStore | MemoryKind::SharedStore) {
        None
    } else {
        Some(20)
    };
    let access = || Step::memory(kind, uniform, bytes, target);
    let tested = if read {
        access().read_counter(1).stall(2)
    } else {
        access().write_counter(1).stall(2)
    };
    let warm = match kind {
        MemoryKind::CopyToShared | MemoryKind::GlobalLoad => {
            Step::memory(MemoryKind::GlobalLoad, false, 4, Some(30))
        }
        MemoryKind::ConstantLoad => Step::memory(MemoryKind::ConstantLoad, false, 4, Some(30)),
        _ => Step::memory(MemoryKind::SharedLoad, false, 4, Some(30)),
    };
    let mut steps = vec![
        warm.write_counter(0).stall(2),
        Step::nop().waits(1).stall(15),
    ];
    for _ in 0..8 {
        steps.push(Step::nop().stall(15));
    }
    let at = steps.len() as u32;
    steps.push(tested);
    steps.push(Step::nop().waits(2));
    steps.push(Step::exit());
    let issued = Bench::new(gpu, WARM).run(&steps, 1, 300);
    cycle(&issued, 0, at + 1) - cycle(&issued, 0, at)
}

/// MODEL.md §6: on Turing the first address stage is one cycle shorter, and with it every distance of
/// Table 2; a public measurement has 31 cycles and one of the clock reads for a load that hits L1, 22 and
/// one for a shared load (truth/latencies.csv, RTX 2070; a100_core.toml, tu_lds_window).
#[test]
fn turing_is_a_cycle_shorter_than_table_two() {
    use MemoryKind::*;
    for (kind, uniform, bytes, read) in [
        (GlobalLoad, true, 4, true),
        (GlobalLoad, false, 4, true),
        (GlobalStore, true, 8, true),
        (GlobalStore, false, 16, true),
        (SharedLoad, false, 4, true),
        (SharedStore, false, 4, true),
        (ConstantLoad, true, 4, true),
        (GlobalLoad, true, 8, false),
        (GlobalLoad, false, 4, false),
        (GlobalLoad, false, 16, false),
        (SharedLoad, true, 4, false),
        (SharedLoad, false, 16, false),
        (ConstantLoad, false, 4, false),
        (Pass, true, 4, false),
    ] {
        let [turing, ampere] =
            ["rtx-2080-ti", "rtx-a6000"].map(|gpu| distance_on(gpu, kind, uniform, bytes, read));
        assert_eq!(
            turing + 1,
            ampere,
            "{kind:?} uniform {uniform} {bytes} bytes, sources {read}"
        );
    }
    assert_eq!(distance_on("rtx-2080-ti", GlobalLoad, false, 4, false), 31);
    assert_eq!(distance_on("rtx-2080-ti", SharedLoad, true, 4, false), 22);
}

/// truth/latencies.csv: a hop of a pointer chase through L1 takes 34.1 cycles on an H100 and 32.1 on an H800,
/// on A100s more.
#[test]
fn hopper_hits_l1_earlier() {
    let hop = |gpu| distance_on(gpu, MemoryKind::GlobalLoad, false, 8, false);
    assert_eq!(hop("h100-pcie"), 33);
    assert_eq!(hop("a100-sxm4-40gb"), 34);
}

/// truth/latencies.csv: in a chain of loads of 64-bit pointers that hit L1 each takes 36 cycles on the RTX 4090 and
/// the L40 (the 40 of MODEL.md §8.2 are those of a loop, T3); shared memory is as on GA102 (T4).
#[test]
fn ada_takes_36_cycles_a_load() {
    let on = |kind, uniform, bytes| distance_on("rtx-4090", kind, uniform, bytes, false);
    assert_eq!(on(MemoryKind::GlobalLoad, false, 8), 36);
    assert_eq!(on(MemoryKind::SharedLoad, false, 4), 24);
    assert_eq!(on(MemoryKind::SharedLoad, true, 4), 23);
}

/// MODEL.md §8.2: a load that misses L1 takes 11 cycles more where its page is none of the 16 that were
/// used last, on whichever SM; one that hits L1 does not look for a translation.
#[test]
fn a_page_of_2_mib_too_many_takes_eleven_cycles_more() {
    const PAGE: u64 = 2 << 20;
    let chain = |places: &[u64], gpu: &str, more: &[&str], sm: u16| {
        let mut steps = vec![Step::nop().stall(15)];
        for &place in places {
            let mut load = Step::memory(MemoryKind::GlobalLoad, false, 8, Some(20));
            load.distance = place;
            steps.push(load.write_counter(0).stall(2));
            steps.push(Step::nop().waits(1).stall(15));
        }
        steps.push(Step::exit());
        let mut bench = Bench::new(gpu, &[WARM, more].concat());
        bench.sm = source::SmId(sm);
        let (issued, sm) = bench.run_sm(&steps, 1, 300);
        let cycles: Vec<u64> = (0..places.len() as u32)
            .map(|load| cycle(&issued, 0, 2 * load + 2) - cycle(&issued, 0, 2 * load + 1))
            .collect();
        let counted = sm.statistics();
        assert_eq!(
            counted.translation_hits + counted.translation_misses,
            counted.translations
        );
        (cycles, counted.translations, counted.translation_misses)
    };
    // Each load misses L1: another line of its page each time around.
    let around = |pages: u64| -> Vec<u64> {
        (0..3 * pages)
            .map(|step| step % pages * PAGE + step / pages * 128)
            .collect()
    };
    for sm in [0, 127] {
        let (cycles, lookups, misses) = chain(&around(16), "rtx-4090", &[], sm);
        assert_eq!((lookups, misses), (48, 16));
        let [miss, hit] = [cycles[1], cycles[16]];
        assert_eq!(miss, hit + 11);
        assert!(cycles[..16].iter().all(|&cycles| cycles == miss));
        assert!(cycles[16..].iter().all(|&cycles| cycles == hit));
        let (cycles, lookups, misses) = chain(&around(17), "rtx-4090", &[], sm);
        assert_eq!((lookups, misses), (51, 51));
        assert!(cycles.iter().all(|&cycles| cycles == miss));
        let off = ["translation.entries=0"];
        let (cycles, _, misses) = chain(&around(17), "rtx-4090", &off, sm);
        assert_eq!(misses, 0);
        assert!(cycles.iter().all(|&cycles| cycles == hit));
    }
    // What L1 holds needs no translation, though 16 other pages came in between.
    let mut places: Vec<u64> = (0..17).map(|page| page * PAGE).collect();
    places.push(0);
    let (cycles, lookups, _) = chain(&places, "rtx-4090", &[], 0);
    assert_eq!((cycles[17], lookups), (36, 17));
}

/// An instruction beyond those that may wait for one packet tries again when it has come.
#[test]
fn merges_are_bounded() {
    let run = |merges: &str| {
        let mut steps = vec![Step::nop().stall(15)];
        for n in 0..6 {
            let load = Step::memory(MemoryKind::GlobalLoad, false, 4, Some(20 + n));
            steps.push(load.write_counter(0).stall(2));
        }
        steps.push(Step::nop().waits(1).stall(15));
        steps.push(Step::exit());
        let bench = Bench::new("rtx-a6000", &[WARM, &[merges]].concat());
        let (issued, sm) = bench.run_sm(&steps, 1, 300);
        let counted = sm.statistics();
        (
            cycle(&issued, 0, 7) - cycle(&issued, 0, 6),
            counted.l1_load_hits,
            counted.l1_load_misses,
            counted.translations,
        )
    };
    let (waited, hits, misses, packets) = run("l1_data_cache.merges=48");
    assert_eq!((hits, misses, packets), (0, 6, 1));
    // With four, the last two find the sector when it has come.
    let (longer, hits, misses, packets) = run("l1_data_cache.merges=4");
    assert_eq!((hits, misses, packets), (2, 4, 1));
    assert!(longer > waited, "{longer} after {waited}");
}

/// MODEL.md §6 and §7.1: a sub-core's memory unit holds four and one more on Ampere, three and one on
/// Turing; the next load waits in Control until the first is handed over.
#[test]
fn turing_queues_one_load_less() {
    let absorbed = |gpu| {
        let mut steps = vec![
            Step::memory(MemoryKind::GlobalLoad, false, 4, Some(30))
                .write_counter(0)
                .stall(2),
            Step::nop().waits(1).stall(15),
        ];
        steps.extend((0..8).map(|_| Step::nop().stall(15)));
        let first = steps.len() as u32;
        for n in 0..8 {
            steps.push(Step::memory(MemoryKind::GlobalLoad, false, 4, Some(40 + n)));
        }
        steps.push(Step::exit());
        let issued = Bench::new(gpu, WARM).run(&steps, 1, 300);
        let gap = |n| cycle(&issued, 0, first + n + 1) - cycle(&issued, 0, first + n);
        (0..7).take_while(|&n| gap(n) == 1).count()
    };
    // The load that does not fit has itself been issued.
    assert_eq!([absorbed("rtx-2080-ti"), absorbed("rtx-a6000")], [4, 5]);
}

#[test]
fn table_two_write_after_read() {
    use MemoryKind::*;
    for (kind, uniform, expected) in [
        (GlobalLoad, true, [9, 9, 9]),
        (GlobalLoad, false, [11, 11, 11]),
        (GlobalStore, true, [10, 12, 16]),
        (GlobalStore, false, [14, 16, 20]),
        (SharedLoad, true, [9, 9, 9]),
        (SharedLoad, false, [9, 9, 9]),
        (SharedStore, true, [10, 12, 16]),
        (SharedStore, false, [12, 14, 18]),
        (CopyToShared, false, [13, 13, 13]),
    ] {
        for (bytes, expected) in [4, 8, 16].into_iter().zip(expected) {
            let found = distance(kind, uniform, bytes, true);
            assert_eq!(found, expected, "{kind:?} uniform {uniform} {bytes} bytes");
        }
    }
    assert_eq!(distance(ConstantLoad, true, 4, true), 10);
    assert_eq!(distance(ConstantLoad, false, 4, true), 29);
}

#[test]
fn table_two_read_after_write() {
    use MemoryKind::*;
    for (kind, uniform, expected) in [
        (GlobalLoad, true, [29, 31, 35]),
        (GlobalLoad, false, [32, 34, 38]),
        (SharedLoad, true, [23, 23, 25]),
        (SharedLoad, false, [24, 24, 26]),
        (CopyToShared, false, [39, 39, 39]),
    ] {
        for (bytes, expected) in [4, 8, 16].into_iter().zip(expected) {
            let found = distance(kind, uniform, bytes, false);
            assert_eq!(found, expected, "{kind:?} uniform {uniform} {bytes} bytes");
        }
    }
    assert_eq!(distance(ConstantLoad, true, 4, false), 26);
    assert_eq!(distance(ConstantLoad, false, 4, false), 29);
    assert_eq!(distance(ConstantLoad, false, 8, false), 29);
    assert_eq!(distance(Pass, true, 4, false), 16, "SHFL, S2R");
}

/// MODEL.md §7.2: the cycle in which load n leaves Control, for one to four active sub-cores.
#[test]
fn table_one() {
    let expected: [&[&[u64]]; 4] = [
        &[&[2, 3, 4, 5, 6, 13, 17, 21]],
        &[&[2, 3, 4, 5, 6, 13, 17, 21], &[2, 3, 4, 5, 6, 15, 19, 23]],
        &[
            &[2, 3, 4, 5, 6, 13, 19, 25],
            &[2, 3, 4, 5, 6, 15, 21, 27],
            &[2, 3, 4, 5, 6, 17, 23, 29],
        ],
        &[
            &[2, 3, 4, 5, 6, 13, 21, 29],
            &[2, 3, 4, 5, 6, 15, 23, 31],
            &[2, 3, 4, 5, 6, 17, 25, 33],
            &[2, 3, 4, 5, 6, 19, 27, 35],
        ],
    ];
    for (active, rows) in expected.iter().enumerate() {
        // A warm-up load, a long pause, then eight loads, each followed by what issues next.
        let load = || Step::memory(MemoryKind::GlobalLoad, false, 4, Some(20));
        let mut steps = vec![
            load().write_counter(0).stall(2),
            Step::nop().waits(1).stall(15),
        ];
        for _ in 0..40 {
            steps.push(Step::nop().stall(15));
        }
        let at = steps.len() as u32;
        for _ in 0..8 {
            steps.push(load());
        }
        steps.push(Step::nop());
        steps.push(Step::exit());
        let issued = Bench::new("rtx-a6000", WARM).run(&steps, active as u32 + 1, 300);
        for (sub_core, row) in rows.iter().enumerate() {
            let slot = sub_core as u8;
            let start = cycle(&issued, slot, at) - 1;
            // Load n leaves Control in the cycle in which its successor can be issued.
            let left: Vec<u64> = (0..8)
                .map(|n| cycle(&issued, slot, at + n + 1) - start)
                .collect();
            assert_eq!(&left, row, "{} active, sub-core {sub_core}", active + 1);
        }
    }
}

/// MODEL.md §3.5: three loads and an add; the add issues at 36.
#[test]
fn three_loads_and_an_add() {
    let load = |to| Step::memory(MemoryKind::GlobalLoad, false, 4, Some(to));
    let mut steps = vec![
        load(30).write_counter(5).stall(2),
        Step::nop().waits(1 << 5).stall(15),
    ];
    let at = steps.len() as u32;
    steps.push(load(10).write_counter(3));
    steps.push(load(11).write_counter(3).read_counter(0));
    steps.push(load(12).write_counter(4).read_counter(0).stall(2));
    steps.push(Step::iadd3(8, [10, 11, 255]).waits(1 | 1 << 3));
    steps.push(Step::exit());
    let issued = Bench::new("rtx-a6000", WARM).run(&steps, 1, 300);
    let start = cycle(&issued, 0, at);
    assert_eq!(cycle(&issued, 0, at + 2) - start, 2);
    assert_eq!(cycle(&issued, 0, at + 3) - start, 36);
}

/// Issued and empty slots add up to cycles times sub-cores.
#[test]
fn slots_add_up() {
    let load = || {
        Step::memory(MemoryKind::GlobalLoad, false, 4, Some(20))
            .write_counter(0)
            .stall(2)
    };
    let steps = vec![
        load(),
        Step::iadd3(21, [20, 20, 20]).waits(1).stall(2),
        load(),
        Step::exit(),
    ];
    let (issued, sm) = Bench::new("rtx-a6000", &[]).run_sm(&steps, 8, 300);
    let statistics = sm.statistics();
    assert_eq!(statistics.warp_instructions, issued.len() as u64);
    assert_eq!(statistics.slots.iter().sum::<u64>(), 4 * sm.finished_at().0);
    assert_eq!(sm.hazards(), []);
}

/// Compiled code gives a batch of texture fetches one counter, that of the last: an early one that misses
/// holds up a later one that hits.
#[test]
fn texture_fetches_return_in_order() {
    let near = |to| Step::texture(to, 0);
    let far = |to| Step::texture(to, 1 << 20);
    let run = |first: Step| {
        let steps = vec![
            near(30).write_counter(0).stall(2),
            Step::nop().waits(1).stall(15),
            first,
            near(11).write_counter(3).stall(2),
            Step::iadd3(8, [10, 11, 255]).waits(1 << 3),
            Step::exit(),
        ];
        let (issued, sm) = Bench::new("rtx-a6000", WARM).run_sm(&steps, 1, 300);
        assert_eq!(sm.hazards(), []);
        cycle(&issued, 0, 4) - cycle(&issued, 0, 3)
    };
    let (hit, miss) = (run(near(10)), run(far(10)));
    assert!(hit < 60, "{hit} cycles after two hits");
    assert!(miss > 300, "{miss} cycles after a miss and a hit");
}
