//! What broke once: each test is named after the fault and fails without its mend.

mod common;

use common::random::{Act, Line, Outcome, Setup, one_cta};
use common::{Bench, Step, cycle};
use sass::Class;
use sm::{StallReason, UnderWay};
use source::{MemoryKind, Operation, Scope, Space};

const WARM: &[&str] = &[
    "l0_instruction_cache.perfect=true",
    "constant_operand_cache.perfect=true",
];

fn run(lines: Vec<Line>, setup: Setup) -> Outcome {
    let outcome = Bench::new("rtx-a6000", WARM).run_random(&lines, setup);
    assert_eq!(outcome.left, UnderWay::default());
    assert_eq!(outcome.tokens, 0);
    outcome
}

fn issue(outcome: &Outcome, slot: u8, pc: u32) -> u64 {
    cycle(&outcome.issued, slot, pc)
}

/// The barrier is reached within the four cycles that an older DEPBAR needs to take hold; when the DEPBAR
/// lets go, the barrier must not (the bench panics if a warp slips past a barrier).
#[test]
fn a_depbar_that_lets_go_does_not_open_the_barrier_behind_it() {
    let lines = vec![
        Step::load(20).write_counter(0).stall(2).into(),
        Step::depbar(0, 0).into(),
        Step::barrier().into(),
        Step::nop().into(),
        Step::exit().into(),
    ];
    // Lower-numbered warps come late, long after the load of the first is back.
    let mut late = lines.clone();
    late.insert(0, Step::new(Class::Sleep).stall(5).act(Act::Late(500)));
    run(lines, one_cta(2));
    run(late, one_cta(8));
}

#[test]
fn two_depbars_in_a_row_both_hold() {
    let lines = vec![
        Step::load(20).write_counter(0).stall(2).into(),
        Step::mufu(21, 2).write_counter(1).stall(2).into(),
        Step::depbar(0, 0).into(),
        Step::depbar(1, 0).stall(4).into(),
        Step::nop().into(),
        Step::exit().into(),
    ];
    let outcome = run(lines, one_cta(1));
    // The load misses and takes a round trip; the MUFU is over long before.
    assert!(issue(&outcome, 0, 4) > 210);
}

/// BAR.ARV, and a BAR that only some lanes of a warp have reached, hold nobody.
#[test]
fn a_warp_that_only_arrives_runs_on() {
    let lines = vec![
        Step::barrier().stall(5).act(Act::Arrive),
        Step::nop().stall(15).into(),
        Step::nop().into(),
        Step::exit().into(),
    ];
    let outcome = run(lines, one_cta(1));
    assert_eq!(issue(&outcome, 0, 2) - issue(&outcome, 0, 0), 20);
}

/// The last warp at a barrier runs on for a few cycles: it may stand at the next barrier when the first
/// one's release comes.
#[test]
fn the_release_of_a_barrier_does_not_open_the_next() {
    let lines = vec![
        Step::barrier().into(),
        Step::barrier().into(),
        Step::barrier().into(),
        Step::nop().into(),
        Step::exit().into(),
    ];
    run(lines, one_cta(5));
}

/// A warp alone at its barrier runs on and may end; the release must not reach the warp that follows in
/// its slot.
#[test]
fn the_release_of_a_barrier_does_not_reach_the_next_cta() {
    let lines = vec![
        Step::nop().act(Act::ExitSome(1)),
        Step::barrier().into(),
        Step::exit().into(),
    ];
    let setup = Setup {
        ctas: 6,
        ..one_cta(2)
    };
    run(lines, setup);
}

/// A fixed-latency instruction's counters fall after its warp has ended; the next warp in the slot has its
/// own.
#[test]
fn late_counters_of_an_ended_warp_do_not_reach_the_next() {
    let lines = vec![
        Step::load(20).write_counter(0).stall(2).into(),
        Step::nop().waits(1).into(),
        Step::iadd3(21, [1, 2, 3])
            .write_counter(0)
            .read_counter(0)
            .into(),
        Step::depbar(0, 0).into(),
        Step::exit().write_counter(0).into(),
    ];
    let setup = Setup {
        ctas: 4,
        ..one_cta(1)
    };
    let outcome = run(lines, setup);
    // The loads of the later CTAs hit; all of them must wait for their own load.
    let waits: Vec<u64> = outcome
        .issued
        .chunks(5)
        .map(|warp| warp[1].2 - warp[0].2)
        .collect();
    assert_eq!(waits.len(), 4);
    assert_eq!(&waits[1..], [32, 32, 32]);
}

/// REGRESSIONS C3, with and without a counter.
#[test]
fn ldgdepbar_without_ldgsts_is_complete_at_once() {
    for counter in [None, Some(0)] {
        let mut commit = Step::commit().stall(2);
        commit.description.control.write_counter = counter;
        let lines = vec![
            commit.into(),
            Step::depbar(0, 0).stall(4).into(),
            Step::copy().into(),
            Step::commit().write_counter(0).stall(2).into(),
            Step::depbar(0, 0).stall(4).into(),
            Step::nop().into(),
            Step::exit().into(),
        ];
        let outcome = run(lines, one_cta(1));
        assert!(issue(&outcome, 0, 2) - issue(&outcome, 0, 0) <= 8);
        assert!(issue(&outcome, 0, 5) - issue(&outcome, 0, 2) > 210);
    }
}

/// The last copy of a group is complete in the cycle or two between the issue of LDGDEPBAR and the rise
/// of its counter: the counter must not stay up.
#[test]
fn a_group_that_completes_before_its_counter_rises_is_not_lost() {
    for pause in 0..160 {
        let mut lines: Vec<Line> = vec![
            Step::load(20).write_counter(1).stall(2).into(),
            Step::nop().waits(2).stall(15).into(),
            Step::copy().into(),
        ];
        for _ in 0..pause / 8 {
            lines.push(Step::nop().stall(8).into());
        }
        lines.push(Step::nop().stall(pause as u8 % 8 + 1).into());
        lines.extend([
            Step::commit().write_counter(0).stall(2).into(),
            Step::nop().waits(1).into(),
            Step::exit().into(),
        ]);
        run(lines, one_cta(1));
    }
}

/// MODEL.md §1.5: a counter holds 63; the 64th producer waits.
#[test]
fn the_64th_producer_of_a_counter_waits() {
    let mut lines: Vec<Line> = (0..80)
        .map(|n| Step::load(n).write_counter(0).read_counter(1).into())
        .collect();
    lines.push(Step::nop().waits(3).into());
    lines.push(Step::exit().into());
    let overrides = [WARM, &["memory_unit.hand_over_interval=1"]].concat();
    let outcome = Bench::new("rtx-a6000", &overrides).run_random(&lines, one_cta(1));
    assert_eq!(outcome.left, UnderWay::default());
    assert!(issue(&outcome, 0, 63) > issue(&outcome, 0, 62) + 20);

    // Both counters the same: two at a time.
    let mut lines: Vec<Line> = (0..80)
        .map(|n| Step::load(n).write_counter(0).read_counter(0).into())
        .collect();
    lines.push(Step::nop().waits(1).into());
    lines.push(Step::exit().into());
    run(lines, one_cta(1));
}

#[test]
fn a_fence_with_a_false_guard_costs_nothing() {
    let lines = vec![
        Step::fence(Scope::System).act(Act::Off),
        Step::nop().into(),
        Step::exit().into(),
    ];
    let outcome = run(lines, one_cta(1));
    assert_eq!(issue(&outcome, 0, 1) - issue(&outcome, 0, 0), 1);
}

/// MEMBAR waits for deferred and plain stores of other warps of its SM, not for their arrival.
#[test]
fn a_fence_waits_for_the_stores_of_its_sm() {
    let store = || Step::memory(MemoryKind::GlobalStore, false, 4, None);
    for (act, least) in [
        (
            Act::Access(Space::Global, Operation::Store, 0, 4, u32::MAX),
            210,
        ),
        (Act::Deferred(Operation::Reduction, 0, u32::MAX), 210),
        (Act::Off, 0),
    ] {
        let lines = vec![
            store().act(act),
            Step::fence(Scope::Gpu).stall(2).into(),
            Step::nop().into(),
            Step::exit().into(),
        ];
        let outcome = run(lines, one_cta(3));
        let waited = issue(&outcome, 0, 2) - issue(&outcome, 0, 1);
        let cost = 186;
        assert!(
            waited >= least + cost && waited < least + cost + 160,
            "{act:?}: {waited}"
        );
    }
}

/// MODEL.md §2.4: MEMBAR holds its own warp until its dependence counters are zero, also one that rises
/// while it is issued.
#[test]
fn a_fence_waits_for_the_counters_of_its_warp() {
    for (stall, scope) in [(1, Scope::Cta), (2, Scope::Cta), (9, Scope::Gpu)] {
        let lines = vec![
            Step::load(20).write_counter(3).stall(stall).into(),
            Step::fence(scope).stall(2).into(),
            Step::nop().into(),
            Step::exit().into(),
        ];
        let outcome = run(lines, one_cta(1));
        let waited = issue(&outcome, 0, 2) - issue(&outcome, 0, 0);
        // The bench answers after 180 cycles and more, then the fence has its cost.
        let cost = if scope == Scope::Cta { 53 } else { 186 };
        assert!(
            waited >= 210 + cost,
            "{scope:?} {stall} cycles behind: {waited}"
        );
    }
}

/// MODEL.md §2.4: MEMBAR.GPU and .SYS invalidate the L1 data cache, MEMBAR.CTA and a guard that is false
/// do not.
#[test]
fn a_fence_of_the_gpu_empties_l1() {
    let load = |to| Step::load(to).write_counter(0).stall(2);
    let act = Act::Access(Space::Global, Operation::Load, 0, 4, u32::MAX);
    let again = |fence: Line, overrides: &[&str]| {
        let lines = vec![
            load(20).act(act),
            fence.step.clone().waits(1).stall(2).act(fence.act),
            load(21).act(act),
            Step::nop().waits(1).into(),
            Step::exit().into(),
        ];
        let overrides = [WARM, overrides].concat();
        let outcome = Bench::new("rtx-a6000", &overrides).run_random(&lines, one_cta(1));
        issue(&outcome, 0, 3) - issue(&outcome, 0, 2)
    };
    let hit = again(Step::nop().into(), &[]);
    assert!(hit < 60, "a hit: {hit}");
    assert_eq!(again(Step::fence(Scope::Cta).into(), &[]), hit);
    assert_eq!(again(Step::fence(Scope::Gpu).act(Act::Off), &[]), hit);
    for scope in [Scope::Gpu, Scope::System] {
        assert!(again(Step::fence(scope).into(), &[]) > 200, "{scope:?}");
        let off = ["fence.invalidates_l1=false"];
        assert_eq!(again(Step::fence(scope).into(), &off), hit, "{scope:?}");
    }
}

/// A deferred operation without lanes still gives its token back, and its registers are not pending.
#[test]
fn a_deferred_operation_without_lanes_ends() {
    let atomic = Step::memory(MemoryKind::GlobalAtomic, false, 4, Some(20));
    let lines = vec![
        atomic.act(Act::Deferred(Operation::Atomic, 0, 0)),
        Step::iadd3(21, [20, 1, 2]).into(),
        Step::exit().into(),
    ];
    run(lines, one_cta(1));
}

/// MODEL.md §2.3: the countdown runs while the greedy warp is ready but for its constant, whether or not
/// anyone else could have been issued meanwhile.
#[test]
fn who_becomes_ready_long_after_a_constant_miss_is_not_held_back() {
    let lines = vec![
        Step::new(Class::Sleep).stall(5).act(Act::Late(10)),
        Step::iadd3(10, [1, 2, 3]).constant(3, 0).into(),
        Step::nop().into(),
        Step::exit().into(),
    ];
    let overrides = ["l0_instruction_cache.perfect=true"];
    let outcome = Bench::new("rtx-a6000", &overrides).run_random(&lines, one_cta(5));
    // Warp 4 wakes first and is greedy; its constant takes a round trip. Warp 0, whose constant is the
    // same, wakes 40 cycles later; both go on when the line comes.
    let first = issue(&outcome, 4, 1);
    assert!(first > issue(&outcome, 0, 0) + 210);

    let lines = vec![
        Step::nop().into(),
        Step::new(Class::Sleep).stall(5).act(Act::Late(10)),
        Step::nop().act(Act::ExitSome(1)),
        Step::iadd3(10, [1, 2, 3]).constant(3, 0).into(),
        Step::exit().into(),
    ];
    let outcome = Bench::new("rtx-a6000", &overrides).run_random(&lines, one_cta(5));
    // Warp 0 wakes 40 cycles after warp 4, long after the hold.
    let wakes = issue(&outcome, 0, 1) + 80;
    assert_eq!(issue(&outcome, 0, 2), wakes);
}

/// MODEL.md §5.5: a MUFU's result gives way to a fixed-latency result of its bank, also one that was
/// issued long after it.
#[test]
fn a_mufu_result_waits_for_a_younger_fixed_result() {
    let distance = |gap: u8, bank: u8| {
        let lines = vec![
            Step::mufu(20, 2).write_counter(0).stall(gap).into(),
            Step::iadd3(22 + bank, [1, 2, 3]).stall(2).into(),
            Step::nop().waits(1).into(),
            Step::exit().into(),
        ];
        let outcome = run(lines, one_cta(1));
        issue(&outcome, 0, 2) - issue(&outcome, 0, 0)
    };
    // Written at 18 and t + 10: the ADD eight cycles later takes the port.
    assert_eq!(distance(7, 0), 19);
    assert_eq!(distance(8, 0), 20);
    assert_eq!(distance(8, 1), 19);
    assert_eq!(distance(9, 0), 19);
}

/// Slots between the last EXIT and the last acknowledgement are drain, on the sub-core that stored.
#[test]
fn drain_lasts_to_the_last_acknowledgement() {
    let lines = vec![
        Step::memory(MemoryKind::GlobalStore, false, 4, None).into(),
        Step::exit().into(),
    ];
    let parameters = one_cta(1);
    let outcome = run(lines, parameters);
    let drain = outcome.statistics.slots(StallReason::Drain);
    assert!(
        drain > 200 && drain <= outcome.end,
        "{drain} of {}",
        outcome.end
    );
}

/// Loads that wait for one sector go on in the order in which they were issued.
#[test]
fn the_oldest_waiter_of_a_sector_goes_first() {
    let mut lines: Vec<Line> = (0..3)
        .map(|n| Step::load(20 + n).write_counter(n).stall(2).into())
        .collect();
    lines.extend((0..3).map(|n| Line::from(Step::nop().waits(1 << n))));
    lines.push(Step::exit().into());
    let outcome = run(lines, one_cta(1));
    let went_on: Vec<u64> = (3..6).map(|pc| issue(&outcome, 0, pc)).collect();
    // One transfer of two cycles after the other.
    assert_eq!(went_on[1] - went_on[0], 2);
    assert_eq!(went_on[2] - went_on[1], 2);
}
