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
    let issued = Bench::new("rtx-a6000", WARM).run(&steps, 1, 300);
    cycle(&issued, 0, at + 1) - cycle(&issued, 0, at)
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
