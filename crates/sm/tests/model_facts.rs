//! Facts of MODEL.md §1, §2 and §7 that are no table of their own, and rows of REGRESSIONS.md that belong to
//! an SM.

mod common;

use common::random::{Act, Line, Outcome, Setup, one_cta};
use common::{Bench, Step, cycle};
use sass::Class;
use sm::{StallReason, UnderWay};
use source::{MemoryKind, Operation, Space};

const WARM: &[&str] = &[
    "l0_instruction_cache.perfect=true",
    "constant_operand_cache.perfect=true",
];

fn run(lines: Vec<Line>) -> Outcome {
    run_as(lines, one_cta(1))
}

fn run_as(lines: Vec<Line>, setup: Setup) -> Outcome {
    let outcome = Bench::new("rtx-a6000", WARM).run_random(&lines, setup);
    assert_eq!(outcome.left, UnderWay::default());
    outcome
}

fn at(outcome: &Outcome, pc: u32) -> u64 {
    cycle(&outcome.issued, 0, pc)
}

/// Distances from line 0 to the lines behind it.
fn distances(lines: Vec<Line>) -> Vec<u64> {
    let count = lines.len() as u32 - 1;
    let outcome = run(lines);
    (1..count)
        .map(|pc| at(&outcome, pc) - at(&outcome, 0))
        .collect()
}

/// A warp that has loaded what follows, and then `lines`; distances from the first of them.
fn warm_distances(kind: MemoryKind, act: Act, lines: Vec<Line>) -> Vec<u64> {
    let mut all: Vec<Line> = vec![
        Step::memory(kind, false, 4, Some(60))
            .write_counter(5)
            .stall(2)
            .act(act),
        Step::nop().waits(1 << 5).stall(15).into(),
    ];
    all.extend((0..8).map(|_| Line::from(Step::nop().stall(15))));
    let first = all.len() as u32;
    let count = lines.len() as u32;
    all.extend(lines);
    let outcome = run(all);
    (1..count - 1)
        .map(|n| at(&outcome, first + n) - at(&outcome, first))
        .collect()
}

/// §1.3, §1.4: stall and yield are a maximum; stall 0 with yield is a long stall.
#[test]
fn stall_and_yield() {
    let distance = |stall, yields: bool| {
        let step = Step::nop().stall(stall);
        let step = if yields { step.yields() } else { step };
        distances(vec![step.into(), Step::nop().into(), Step::exit().into()])[0]
    };
    for (stall, yields, expected) in [
        (0, false, 1),
        (1, false, 1),
        (1, true, 2),
        (2, true, 2),
        (7, true, 7),
        (15, false, 15),
        (0, true, 46),
    ] {
        assert_eq!(
            distance(stall, yields),
            expected,
            "stall {stall}, yield {yields}"
        );
    }
}

/// §1.5: a counter is seen from the second cycle on: stall 1 escapes, stall 2 and yield wait.
#[test]
fn a_counter_is_seen_two_cycles_after_issue() {
    let distance = |producer: Step| {
        let lines = vec![
            producer.write_counter(0).into(),
            Step::nop().waits(1).into(),
            Step::exit().into(),
        ];
        distances(lines)[0]
    };
    assert_eq!(distance(Step::mufu(20, 2)), 1);
    assert_eq!(distance(Step::mufu(20, 2).stall(2)), 19);
    assert_eq!(distance(Step::mufu(20, 2).yields()), 19);
}

/// §1.6 and truth/a100_core.toml, a100_depbar_stall: DEPBAR takes hold four cycles after its issue. Two
/// ALU instructions, two cycles apart, follow it.
#[test]
fn a_depbar_takes_hold_after_four_cycles() {
    for (stall, slip) in [(1, 2), (2, 1), (3, 1), (4, 0), (8, 0)] {
        let lines = vec![
            Step::load(20).write_counter(2).stall(4).into(),
            Step::depbar(2, 0).stall(stall).into(),
            Step::iadd3(30, [1, 2, 3]).into(),
            Step::iadd3(31, [1, 2, 3]).into(),
            Step::exit().into(),
        ];
        let found = distances(lines);
        let slipped = found[1..]
            .iter()
            .filter(|&&distance| distance < 100)
            .count();
        assert_eq!(slipped, slip, "stall {stall}: {found:?}");
    }
}

/// T29 and truth/a100_core.toml, a100_lds_queue_1_subcore: an instruction six cycles behind a BAR with
/// DEFER_BLOCKING slips past it; a plain one, as compiled code relies on, has taken hold by then.
#[test]
fn a_deferred_barrier_takes_hold_a_cycle_later_than_a_plain_one() {
    for (deferred, stall, slips) in [
        (false, 5, true),
        (false, 6, false),
        (true, 6, true),
        (true, 7, false),
    ] {
        let lines = vec![
            Step::barrier_with(deferred).stall(stall).into(),
            Step::iadd3(30, [1, 2, 3]).into(),
            Step::exit().into(),
        ];
        let found = distances(lines)[0];
        let kept = found == u64::from(stall);
        assert_eq!(kept, slips, "deferred {deferred}, stall {stall}: {found}");
    }
}

/// §1.6: n operations of a counter may be left.
#[test]
fn a_depbar_waits_for_the_first_of_several() {
    let load =
        |to| Line::from(Step::memory(MemoryKind::SharedLoad, false, 4, Some(to)).write_counter(0));
    let distance = |left| {
        let lines = vec![
            load(20),
            load(21),
            load(22),
            Step::depbar(0, left).stall(4).into(),
            Step::nop().into(),
            Step::exit().into(),
        ];
        distances(lines)[3]
    };
    let (all, two, one) = (distance(0), distance(1), distance(2));
    assert_eq!(one, 24, "the first, as an LDS alone");
    assert!(one < two && two < all, "{one} {two} {all}");
}

/// §2.4, trap T10: IMAD.WIDE closes the issue port for one cycle, to every warp; IMAD does not.
#[test]
fn only_a_wide_multiply_blocks_the_port() {
    for (class, expected) in [(Class::ImadWide, 2), (Class::Imad, 1)] {
        let lines = vec![
            Step::op(class, 20, [1, 2, 255]).into(),
            Step::nop().into(),
            Step::exit().into(),
        ];
        assert_eq!(distances(lines)[0], expected, "{class:?}");
    }
}

/// §7.5: a coalesced 32-lane load makes four accesses in four cycles: three more than one lane's 32.
#[test]
fn a_coalesced_load_takes_three_cycles_more() {
    for (pattern, lanes, expected) in [
        (2, 1, 32),
        (0, u32::MAX, 35),
        (0, 0xff, 32),
        (0, 0xffff, 33),
    ] {
        let act = Act::Access(Space::Global, Operation::Load, pattern, 4, lanes);
        let lines = vec![
            Step::load(20).write_counter(0).stall(2).act(act),
            Step::nop().waits(1).into(),
            Step::exit().into(),
        ];
        let found = warm_distances(MemoryKind::GlobalLoad, act, lines);
        assert_eq!(found, [expected], "pattern {pattern}, lanes {lanes:x}");
    }
}

/// §7.1: an instruction emits one access per cycle, four instructions at once do: what follows a load of
/// 32 sectors does not wait for it; the fifth in a row does.
#[test]
fn four_instructions_generate_accesses_at_once() {
    let act = Act::Access(Space::Global, Operation::Load, 1, 4, u32::MAX);
    let small = Act::Access(Space::Global, Operation::Load, 1, 4, 1);
    for (large, waits) in [(1, false), (3, false), (4, true)] {
        let mut lines: Vec<Line> = (0..large)
            .map(|n| Step::load(20 + n).write_counter(1).act(act))
            .collect();
        lines.push(Step::load(40).write_counter(0).stall(2).act(small));
        lines.push(Step::nop().waits(1).into());
        lines.push(Step::exit().into());
        let found = warm_distances(MemoryKind::GlobalLoad, act, lines);
        let distance = found[large as usize]
            - if large > 1 {
                found[large as usize - 1]
            } else {
                found[0]
            };
        // Alone it takes 32; address stages and hand-over are shared, so a little more.
        assert_eq!(distance > 48, waits, "{large} large loads: {distance}");
    }
}

/// §7.6, REGRESSIONS M12, M13: a conflict of degree d costs d - 1 cycles; 128-bit accesses conflict in
/// quarter warps.
#[test]
fn a_shared_conflict_of_degree_d_costs_d_minus_one() {
    let distance = |pattern, bytes: u8, lanes| {
        let act = Act::Access(Space::Shared, Operation::Load, pattern, bytes, lanes);
        let lines = vec![
            Step::memory(MemoryKind::SharedLoad, false, bytes, Some(20))
                .write_counter(0)
                .stall(2)
                .act(act),
            Step::nop().waits(1).into(),
            Step::exit().into(),
        ];
        distances(lines)[0]
    };
    assert_eq!(distance(0, 4, u32::MAX), 24, "no conflict");
    assert_eq!(distance(2, 4, u32::MAX), 24, "one word for all");
    assert_eq!(distance(1, 4, u32::MAX), 24 + 31, "all in one bank");
    assert_eq!(distance(1, 4, 0xff), 24 + 7, "eight lanes in one bank");
    assert_eq!(distance(0, 8, u32::MAX), 24, "64 bits, dense");
    assert_eq!(distance(0, 16, u32::MAX), 26, "128 bits, dense");
}

/// REGRESSIONS C2: a constant load over several lines lowers its counter once.
#[test]
fn a_constant_load_over_several_lines_clears_its_counter_once() {
    for (pattern, lanes) in [(0, u32::MAX), (4, u32::MAX), (2, 1)] {
        let act = Act::Access(Space::Constant, Operation::Load, pattern, 4, lanes);
        let load = || Step::memory(MemoryKind::ConstantLoad, false, 4, Some(20)).act(act);
        let counted = |line: Line| Line {
            step: line.step.write_counter(0).read_counter(1).stall(2),
            ..line
        };
        let lines = vec![
            counted(load()),
            Step::nop().waits(3).into(),
            counted(load()),
            Step::nop().waits(3).into(),
            Step::exit().into(),
        ];
        let found = distances(lines);
        assert!(found[0] > 210, "the first misses: {found:?}");
        let again = found[2] - found[1];
        assert!((29..29 + 32).contains(&again), "the second hits: {found:?}");
    }
}

/// REGRESSIONS C5: two instructions of one pipe whose results come in the same cycle.
#[test]
fn results_of_one_pipe_in_one_cycle() {
    let pair = || Step::op(Class::CoupledDisp64, 20, [1, 2, 255]).stall(2);
    let lines: Vec<Line> = (0..20)
        .flat_map(|n| {
            let counted = pair().write_counter(0);
            [
                counted.into(),
                Step::iadd3(30 + n, [1, 2, 3])
                    .write_counter(0)
                    .stall(2)
                    .into(),
            ]
        })
        .chain([Step::nop().waits(1).into(), Step::exit().into()])
        .collect();
    let found = distances(lines);
    // Nothing is delayed: one every two cycles.
    assert_eq!(found[38], 39 * 2);
}

/// REGRESSIONS C9: an older load that returns last does not clear what a younger instruction has pending,
/// nor the other way round.
#[test]
fn an_older_write_back_does_not_clear_a_younger_counter() {
    let lines = vec![
        Step::load(4).write_counter(0).into(),
        Step::mufu(4, 2).write_counter(1).stall(2).into(),
        Step::nop().waits(2).into(),
        Step::mufu(4, 2).write_counter(1).stall(2).into(),
        Step::nop().waits(1).into(),
        Step::mufu(4, 2).write_counter(1).stall(2).into(),
        Step::nop().waits(3).into(),
        Step::exit().into(),
    ];
    let found = distances(lines);
    assert_eq!(found[1] - found[0], 19);
    assert!(found[3] > 210);
    assert_eq!(found[5] - found[4], 19);
}

/// REGRESSIONS C15: a launch that starts just below 2^32 takes the same cycles as one that starts at 0.
#[test]
fn nothing_changes_at_two_to_the_32() {
    let lines: Vec<Line> = vec![
        Step::load(4).write_counter(0).stall(2).into(),
        Step::mufu(5, 2).write_counter(1).stall(2).into(),
        Step::copy().into(),
        Step::commit().write_counter(2).stall(2).into(),
        Step::barrier().stall(5).into(),
        Step::ffma(6, [4, 5, 6]).waits(7).into(),
        Step::exit().into(),
    ];
    let from = |start| {
        let setup = Setup {
            start,
            ctas: 3,
            ..one_cta(4)
        };
        let outcome = run_as(lines.clone(), setup);
        let shifted: Vec<_> = outcome
            .issued
            .iter()
            .map(|&(s, pc, c)| (s, pc, c - start))
            .collect();
        (shifted, outcome.end - start)
    };
    for before in [0, 1, 10, 300] {
        assert_eq!(from(0), from((1 << 32) - before));
    }
}

/// REGRESSIONS M19: LDGSTS under way are counted once, whatever way they end.
#[test]
fn copies_are_counted_once() {
    for (lanes, off) in [(u32::MAX, false), (0, false), (1, true)] {
        let act = if off {
            Act::Off
        } else {
            Act::Access(Space::Global, Operation::CopyToShared, 1, 4, lanes)
        };
        let mut lines: Vec<Line> = Vec::new();
        for _ in 0..5 {
            lines.push(Step::copy().write_counter(1).read_counter(2).act(act));
            lines.push(Step::commit().write_counter(0).stall(2).into());
        }
        lines.push(Step::depbar(0, 2).stall(4).into());
        lines.push(Step::nop().waits(7).into());
        lines.push(Step::exit().into());
        run_as(
            lines,
            Setup {
                ctas: 3,
                ..one_cta(5)
            },
        );
    }
}

/// §5.5: a load's register waits for a fixed-latency result of its bank; of a 64-bit load each register
/// meets its own bank.
#[test]
fn a_load_waits_for_a_fixed_result_of_its_bank() {
    let distance = |bytes: u8, gap: u8, to: u8| {
        let lines = vec![
            Step::memory(MemoryKind::SharedLoad, true, bytes, Some(20))
                .write_counter(0)
                .stall(gap)
                .into(),
            Step::iadd3(to, [1, 2, 3]).stall(2).into(),
            Step::nop().waits(1).into(),
            Step::exit().into(),
        ];
        distances(lines)[1]
    };
    // Written at t + 22; an ALU result is written ten cycles after issue.
    for (gap, to, expected) in [(11, 30, 23), (12, 30, 24), (12, 31, 23), (13, 30, 23)] {
        assert_eq!(
            distance(4, gap, to),
            expected,
            "ALU result {gap} later to R{to}"
        );
    }
    // R20 at 21, R21 at 22: each can be delayed, and the first delays the second.
    for (gap, to, expected) in [(11, 30, 24), (11, 31, 23), (12, 30, 23), (12, 31, 24)] {
        assert_eq!(
            distance(8, gap, to),
            expected,
            "ALU result {gap} later to R{to}"
        );
    }
}

/// REGRESSIONS T31: empty instructions with long stalls in front of FP64 arithmetic are waits that the
/// compiler asked for.
#[test]
fn stalls_of_empty_instructions_are_waits() {
    let mut steps: Vec<Step> = (0..4).map(|_| Step::nop().stall(12)).collect();
    steps.push(
        Step::op(Class::RedirectedFp64, 20, [2, 4, 255])
            .write_counter(0)
            .stall(2),
    );
    steps.push(Step::exit().waits(1));
    let (issued, sm) = Bench::new("rtx-a6000", WARM).run_sm(&steps, 1, 300);
    assert_eq!(cycle(&issued, 0, 4) - cycle(&issued, 0, 0), 48);
    // Eleven cycles behind each, one behind the FP64 instruction and those behind EXIT.
    let waits = sm.statistics().slots(StallReason::Wait);
    assert!((45..60).contains(&waits), "{waits} slots");
}
