//! The way to the unit that the sub-cores share, and back: who passes when (MODEL.md §5.5, §6, §7.1, §7.6).

mod common;

use common::{Bench, Step};
use sass::Class;
use source::MemoryKind;

const WARM: &[&str] = &[
    "l0_instruction_cache.perfect=true",
    "constant_operand_cache.perfect=true",
];

/// The last issue of each warp that runs `count` times through `steps` after a first load.
fn ends(bench: &Bench, steps: &[Step], count: u32, warps: u32) -> Vec<u64> {
    let warm = Step::memory(MemoryKind::GlobalLoad, false, 16, Some(60));
    let mut script = vec![
        warm.all_lanes().write_counter(5).stall(2),
        Step::nop().waits(1 << 5).stall(15),
        Step::barrier().stall(15),
    ];
    for _ in 0..count {
        script.extend_from_slice(steps);
    }
    script.push(Step::nop().waits(0b11_1111));
    script.push(Step::exit());
    let mut ends = vec![0; warps as usize];
    for (slot, _, cycle) in bench.run(&script, warps, 300) {
        ends[slot as usize] = cycle;
    }
    ends
}

/// Cycles that `steps` take each time, of the whole SM with `warps` warps.
fn period(bench: &Bench, steps: &[Step], warps: u32) -> f64 {
    let end = |count| {
        ends(bench, steps, count, warps)
            .into_iter()
            .fold(0, u64::max)
    };
    (end(48) - end(16)) as f64 / f64::from(32 * warps)
}

fn load(kind: MemoryKind, bytes: u8) -> Step {
    let step = Step::memory(kind, false, bytes, Some(20));
    step.all_lanes().write_counter(0).stall(2)
}

fn float64() -> Step {
    Step::op(Class::RedirectedFp64, 40, [42, 44, 255])
        .write_counter(1)
        .stall(2)
}

/// MODEL.md §7.6: shared memory moves 128 bytes per cycle; a 32-bit load is bounded by the hand-over.
#[test]
fn shared_memory_is_busy_for_each_128_bytes() {
    let bench = Bench::new("rtx-a6000", WARM);
    for (bytes, expected) in [(4, 2.0), (8, 2.0), (16, 4.0)] {
        let period = period(&bench, &[load(MemoryKind::SharedLoad, bytes)], 8);
        assert!(
            (period - expected).abs() < 0.02,
            "{bytes} bytes: {period} cycles"
        );
    }
}

/// GPU_Microbenchmark l1_bw_64f (RTX 4090): 16 cycles for each FP64 instruction, some 19 with a load beside it.
#[test]
fn fp64_and_memory_instructions_exclude_each_other() {
    let bench = Bench::new("rtx-4090", WARM);
    let alone = period(&bench, &[float64()], 16);
    assert!((alone - 16.0).abs() < 0.1, "{alone} cycles");
    for kind in [MemoryKind::GlobalLoad, MemoryKind::SharedLoad] {
        let both = period(&bench, &[float64(), load(kind, 8)], 16);
        assert!((18.0..20.0).contains(&both), "{kind:?}: {both} cycles");
    }
    // A chip with FP64 units in its sub-cores has no such way.
    let bench = Bench::new("a100-sxm4-40gb", WARM);
    let [alone, both] = [
        vec![load(MemoryKind::SharedLoad, 8)],
        vec![
            Step::op(Class::RedirectedFp64, 40, [42, 44, 255]).stall(2),
            load(MemoryKind::SharedLoad, 8),
        ],
    ]
    .map(|steps| period(&bench, &steps, 16));
    assert!((both - alone).abs() < 0.5, "{both} beside {alone} cycles");
}

/// AmpereArchViaMicroBenchMark L1cacheBW_float (RTX 3060): warps that wait for room in the queue advance alike.
#[test]
fn warps_that_were_turned_away_take_turns() {
    let ends = ends(
        &Bench::new("rtx-3060", WARM),
        &[load(MemoryKind::GlobalLoad, 4)],
        48,
        32,
    );
    let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    assert!(last - first < last / 10, "{first} to {last}");
    assert!(*last > 32 * 48 * 2, "{last}");
}

/// Results that take a bank's write port in every cycle keep a loaded register waiting, and what comes behind
/// it, beyond the cycle that it can wait.
#[test]
fn loads_that_wait_for_a_write_port_hold_up_others() {
    let steps: Vec<Step> = std::iter::once(load(MemoryKind::SharedLoad, 16))
        .chain((0..12).map(|n| Step::ffma(10 + 2 * (n % 4), [255, 255, 255])))
        .collect();
    let period_with = |slack| {
        let overrides = [WARM, &[slack]].concat();
        period(&Bench::new("rtx-a6000", &overrides), &steps, 16)
    };
    let [none, one, any] = [
        "memory_unit.write_slack=0",
        "memory_unit.write_slack=1",
        "memory_unit.write_slack=64",
    ]
    .map(period_with);
    assert!(any < 4.1, "{any}");
    assert!(none > one && one > any, "{none}, {one}, {any}");
}
