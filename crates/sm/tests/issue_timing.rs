//! Measured facts of issue, register file and reuse cache (MODEL.md §3.3, §3.4, §5.4, §2.3).

mod common;

use common::{Bench, Step, cycle, order};
use sass::Class;

const WARM: &[&str] = &[
    "l0_instruction_cache.perfect=true",
    "constant_operand_cache.perfect=true",
];

/// Difference of the two clock samples in a window of `inner`.
fn window(gpu: &str, overrides: &[&str], inner: Vec<Step>) -> u64 {
    let mut steps = vec![Step::clock(40), Step::nop()];
    let count = inner.len() as u32;
    steps.extend(inner);
    steps.push(Step::nop());
    steps.push(Step::clock(41));
    steps.push(Step::exit());
    let overrides: Vec<_> = WARM.iter().chain(overrides).copied().collect();
    let issued = Bench::new(gpu, &overrides).run(&steps, 1, 300);
    cycle(&issued, 0, count + 3) - cycle(&issued, 0, 0)
}

fn listing_a(x: u8, y: u8, first: fn(u8, [u8; 3]) -> Step) -> Vec<Step> {
    vec![first(11, [10, 12, 14]), Step::ffma(13, [16, x, y])]
}

#[test]
fn read_conflicts_cost_five_six_seven_cycles() {
    let gpu = "rtx-a6000";
    assert_eq!(window(gpu, &[], listing_a(19, 21, Step::ffma)), 5);
    assert_eq!(window(gpu, &[], listing_a(18, 21, Step::ffma)), 6);
    assert_eq!(window(gpu, &[], listing_a(18, 20, Step::ffma)), 7);
}

#[test]
fn two_read_ports_cost_five_cycles_always() {
    for (x, y) in [(19, 21), (18, 21), (18, 20)] {
        let overrides = ["register_file.read_ports=2"];
        assert_eq!(
            window("rtx-a6000", &overrides, listing_a(x, y, Step::ffma)),
            5
        );
    }
}

/// truth/a100_core.toml, a100_rf_bank_conflict: one half-warp FP32 pipe.
#[test]
fn ga100_costs_six_six_seven_after_ffma_and_five_six_seven_after_iadd3() {
    let gpu = "a100-sxm4-40gb";
    let expected = [((19, 21), 6, 5), ((18, 21), 6, 6), ((18, 20), 7, 7)];
    for ((x, y), after_ffma, after_iadd3) in expected {
        assert_eq!(window(gpu, &[], listing_a(x, y, Step::ffma)), after_ffma);
        assert_eq!(window(gpu, &[], listing_a(x, y, Step::iadd3)), after_iadd3);
    }
}

/// Without the last NOP a conflict does not delay the clock: Control samples before it stalls.
#[test]
fn a_clock_right_behind_the_conflict_sees_four_cycles() {
    for (x, y) in [(19, 21), (18, 21), (18, 20)] {
        let mut steps = vec![Step::clock(40), Step::nop()];
        steps.extend(listing_a(x, y, Step::ffma));
        steps.push(Step::clock(41));
        steps.push(Step::exit());
        let issued = Bench::new("rtx-a6000", WARM).run(&steps, 1, 300);
        assert_eq!(cycle(&issued, 0, 4) - cycle(&issued, 0, 0), 4);
    }
}

/// truth/a100_core.toml, a100_stall_raw_fadd_ffma: window = stall + 4 from 2 on.
#[test]
fn the_stall_count_is_the_distance() {
    for (stall, expected) in [(1, 6), (2, 6), (3, 7), (4, 8), (6, 10), (8, 12)] {
        let inner = vec![
            Step::op(Class::CoupledFma, 20, [21, 22, 255]).stall(stall),
            Step::ffma(24, [20, 20, 20]),
        ];
        assert_eq!(
            window("a100-sxm4-40gb", &[], inner),
            expected,
            "stall {stall}"
        );
    }
}

/// MODEL.md §5.4: the clock differences of the four reuse-cache examples and the sensitive variants.
#[test]
fn reuse_cache_examples() {
    let first = || Step::iadd3(30, [2, 3, 4]).reuse(0);
    let third = || Step::iadd3(32, [2, 12, 13]);
    let gpu = "rtx-a6000";
    let example = |second: Step| window(gpu, &[], vec![first(), second, third()]);
    assert_eq!(example(Step::ffma(31, [2, 7, 8])), 6);
    assert_eq!(example(Step::ffma(31, [2, 7, 8]).reuse(0)), 6);
    assert_eq!(example(Step::ffma(31, [7, 2, 8])), 6);
    assert_eq!(example(Step::ffma(31, [4, 7, 8])), 7);
    let sensitive = |first: Step, second: Step| {
        let mut steps = vec![Step::clock(40), Step::nop(), first, second];
        steps.push(Step::iadd3(33, [2, 12, 14]));
        steps.extend([
            Step::nop(),
            Step::nop(),
            Step::nop(),
            Step::clock(41),
            Step::exit(),
        ]);
        let issued = Bench::new(gpu, WARM).run(&steps, 1, 300);
        cycle(&issued, 0, 8) - cycle(&issued, 0, 0)
    };
    let first = || Step::iadd3(31, [2, 6, 4]);
    assert_eq!(sensitive(first().reuse(0), Step::ffma(35, [2, 10, 8])), 11);
    assert_eq!(
        sensitive(first().reuse(0), Step::ffma(35, [2, 10, 8]).reuse(0)),
        10
    );
    assert_eq!(sensitive(first().reuse(0), Step::ffma(35, [4, 10, 8])), 12);
    assert_eq!(sensitive(first(), Step::ffma(35, [2, 10, 8])), 12);
}

/// 32 independent instructions on four warps of each sub-core, instruction buffers filled: what
/// sub-core 0 issues behind a barrier. A fifth warp, which arrives last and would be the greedy one,
/// ends there.
fn schedule(second: fn(Step) -> Step) -> Vec<(u8, u32, u64)> {
    let mut steps = vec![Step::barrier().stall(5), Step::leave().stall(8)];
    for index in 0..32 {
        // No unit limits: the schedules are about control bits alone.
        let step = Step::nop();
        steps.push(if index == 1 { second(step) } else { step });
    }
    steps.push(Step::exit());
    let issued = Bench::new("rtx-a6000", WARM).run(&steps, 20, 300);
    issued
        .into_iter()
        .filter(|&(slot, pc, _)| slot % 4 == 0 && (2..34).contains(&pc))
        .map(|(slot, pc, cycle)| (slot - 4, pc, cycle))
        .collect()
}

#[test]
fn schedule_without_control_bits_is_greedy_then_youngest() {
    let issued = schedule(|step| step);
    assert_eq!(order(&issued), "W3x32 W2x32 W1x32 W0x32");
}

#[test]
fn schedule_with_a_stall_of_four() {
    let issued = schedule(|step| step.stall(4));
    assert_eq!(order(&issued), "W3x2 W2x2 W1x2 W3x30 W2x30 W1x30 W0x32");
    let first = issued[0].2;
    let last = issued[issued.len() - 1].2;
    // 131 cycles: three bubbles; the EXIT of each warp takes one more slot.
    assert_eq!(last - first + 1, 131 + 3);
}

#[test]
fn schedule_with_a_yield() {
    let issued = schedule(Step::yields);
    assert_eq!(
        order(&issued),
        "W3x2 W2x2 W3x30 W2x30 W1x2 W0x2 W1x30 W0x30"
    );
}

/// MODEL.md §2.3: a constant operand that misses L0 and hits L1.5 is issued 79 cycles after the first
/// attempt; others may issue from the fourth cycle on.
#[test]
fn a_constant_miss_takes_79_cycles() {
    // The first miss brings a 128-byte line to L1.5; the second constant lies in its other half,
    // which is another 64-byte line of L0.
    let steps = vec![
        Step::iadd3(10, [1, 2, 3]).constant(3, 0).stall(3),
        Step::iadd3(11, [1, 2, 3]).constant(3, 0x40).stall(15),
        Step::exit(),
    ];
    let overrides = ["l0_instruction_cache.perfect=true"];
    let issued = Bench::new("rtx-a6000", &overrides).run(&steps, 1, 300);
    let first_attempt = cycle(&issued, 0, 0) + 3;
    assert_eq!(cycle(&issued, 0, 1) - first_attempt, 79);
}

/// MODEL.md §2.3: the greedy warp's constant miss keeps the others back for three cycles; in the
/// fourth the youngest goes on.
#[test]
fn others_issue_from_the_fourth_cycle_of_a_constant_miss() {
    let mut steps = vec![Step::barrier().stall(5), Step::leave().stall(8)];
    steps.extend([Step::nop(), Step::iadd3(10, [1, 2, 3]).constant(3, 0)]);
    steps.push(Step::exit());
    let overrides = ["l0_instruction_cache.perfect=true"];
    let issued = Bench::new("rtx-a6000", &overrides).run(&steps, 12, 300);
    let (greedy, other) = (8, 4);
    assert_eq!(
        cycle(&issued, other, 2) - (cycle(&issued, greedy, 2) + 1),
        3
    );
}

/// MODEL.md §3.2: MUFU reads at 10 and is visible at 19. §6: DFMA on the shared unit at 52.
#[test]
fn special_function_and_shared_double_distances() {
    let distance_on = |gpu: &str, class: Class, read: bool, pair: bool| {
        let mut tested = Step::op(class, 20, [2, 255, 255]);
        if pair {
            tested = Step::op(class, 20, [2, 4, 6]);
            for used in &mut tested.description.footprint.reads {
                used.count = 2;
            }
            tested.description.footprint.writes[0].count = 2;
        }
        let tested = if read {
            tested.read_counter(1)
        } else {
            tested.write_counter(1)
        };
        let steps = vec![tested.stall(2), Step::nop().waits(2), Step::exit()];
        let issued = Bench::new(gpu, WARM).run(&steps, 1, 300);
        cycle(&issued, 0, 1) - cycle(&issued, 0, 0)
    };
    let distance = |class, read, pair| distance_on("rtx-a6000", class, read, pair);
    assert_eq!(distance(Class::SpecialFunction, true, false), 10);
    assert_eq!(distance(Class::SpecialFunction, false, false), 19);
    assert_eq!(distance(Class::RedirectedFp64, false, true), 52);
    // Turing: one stage less before the transfer, one cycle more in the pipeline (§6).
    let turing = distance_on("rtx-2080-ti", Class::RedirectedFp64, false, true);
    assert_eq!(turing, 52 - 1 + 1);
    let turing = distance_on("rtx-2080-ti", Class::RedirectedFp64, true, true);
    assert_eq!(turing + 1, distance(Class::RedirectedFp64, true, true));
}

/// One FFMA per cycle and sub-core on GA102 and GH100, one per two cycles on GA100 and TU102 (§6).
#[test]
fn ffma_rate() {
    for (gpu, cycles) in [
        ("rtx-a6000", 256),
        ("h100-pcie", 256),
        ("a100-sxm4-40gb", 512),
        ("rtx-2080-ti", 512),
    ] {
        let mut steps = Vec::new();
        for index in 0..64 {
            steps.push(Step::ffma(40 + index % 16 * 2, [11, 12, 12]));
        }
        steps.push(Step::exit());
        let issued = Bench::new(gpu, WARM).run(&steps, 16, 300);
        let of_sub_core: Vec<_> = issued.iter().filter(|i| i.0 % 4 == 0 && i.1 < 64).collect();
        let (first, last) = (of_sub_core[0].2, of_sub_core[of_sub_core.len() - 1].2);
        let spent = last - first + 1;
        assert!(
            spent + 1 >= cycles && spent <= cycles + 8,
            "{gpu}: {spent} cycles for 256 FFMAs"
        );
    }
}

/// truth/a100_core.toml, tu_rf_bank_conflict_64: on Turing each further IADD3 takes two cycles (16
/// integer lanes) or as many as it has reads of one bank, if that is more.
#[test]
fn turing_integer_instructions_take_two_cycles_or_their_reads_of_a_bank() {
    // IADD3 R10, R12, R[14+2i], R10: three even registers.
    let conflict = |i: u8| Step::iadd3(10, [12, 14 + 2 * (i % 32), 10]);
    assert_eq!(window_of(64, conflict) - window_of(32, conflict), 32 * 3);
    // IADD3 R10, R[16+2i], R[17+2i], R10: two even registers and an odd one.
    let spread = |i: u8| Step::iadd3(10, [16 + 2 * (i % 32), 17 + 2 * (i % 32), 10]);
    assert_eq!(window_of(64, spread) - window_of(32, spread), 32 * 2);
}

/// Cycles from the first of `count` instructions to the one behind them, on Turing.
fn window_of(count: u8, inner: impl Fn(u8) -> Step) -> u64 {
    let mut steps: Vec<Step> = (0..count).map(inner).collect();
    let last = steps.len() as u32;
    steps.push(Step::iadd3(90, [12, 13, 255]));
    steps.push(Step::exit());
    let issued = Bench::new("rtx-2080-ti", WARM).run(&steps, 1, 300);
    cycle(&issued, 0, last) - cycle(&issued, 0, 0)
}
