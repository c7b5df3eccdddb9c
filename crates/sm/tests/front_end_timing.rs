//! Fetch, instruction caches, prefetching and branches (MODEL.md §3.4, §4).

mod common;

use common::random::{Act, Line, one_cta};
use common::{Bench, Step, cycle, order};
use sass::Class;

/// Four warps on each sub-core behind a barrier, `count` independent instructions: issue order of
/// sub-core 0. A fifth warp, which would be the greedy one, ends.
fn behind_a_barrier(count: u32, overrides: &[&str], latency: u64) -> String {
    let mut steps = vec![Step::barrier().stall(5), Step::leave().stall(8)];
    steps.extend((0..count).map(|_| Step::nop()));
    steps.push(Step::exit());
    let issued = Bench::new("rtx-a6000", overrides).run(&steps, 20, latency);
    let issued: Vec<_> = issued
        .into_iter()
        .filter(|&(slot, pc, _)| slot % 4 == 0 && (2..2 + count).contains(&pc))
        .map(|(slot, pc, cycle)| (slot - 4, pc, cycle))
        .collect();
    order(&issued)
}

/// MODEL.md §3.4 a: W3 until its miss, W2 through that point (served by then) to its end, then W3, W1,
/// W0. Long lines and a near L2, so that the miss is served while W2 runs.
#[test]
fn a_miss_hands_over_to_the_next_warp_which_keeps_its_turn() {
    let overrides = [
        "stream_buffer.depth=0",
        "l0_instruction_cache.line_bytes=1024",
        "l1_instruction_cache.link=1",
    ];
    let order = behind_a_barrier(100, &overrides, 40);
    assert_eq!(order, "W3x62 W2x100 W3x38 W1x100 W0x100");
}

/// Once a line is here the greedy warp runs through it, although others wait for it too. (Their answers
/// once took the latch from its fetches, and the warps took turns for the rest of the program.)
#[test]
fn a_late_line_does_not_make_warps_take_turns() {
    let order = behind_a_barrier(30, &["stream_buffer.depth=0"], 300);
    let line = |n| format!("W3x{n} W2x{n} W1x{n} W0x{n}");
    assert_eq!(order, [line(6), line(8), line(8), line(8)].join(" "));
}

/// MODEL.md §3.4 a with a perfect instruction cache; §4.1 with the stream buffer ahead of the warps.
#[test]
fn without_misses_it_is_greedy_then_youngest() {
    // Lines from L2 as fast as the stream asks for them; a GA102 gives one in 36 cycles.
    let fast = ["l1_instruction_cache.fill_interval=1"];
    for overrides in [&fast[..], &["l0_instruction_cache.perfect=true"]] {
        let order = behind_a_barrier(60, overrides, 300);
        assert_eq!(order, "W3x60 W2x60 W1x60 W0x60");
    }
}

/// MODEL.md §4: a warp alone issues one instruction per cycle from three buffer entries; with two it
/// cannot.
#[test]
fn three_buffer_entries_feed_one_issue_per_cycle() {
    for (entries, spent) in [(3, 32), (2, 47)] {
        let steps: Vec<Line> = std::iter::once(Step::barrier().stall(15))
            .chain((0..32).map(|_| Step::nop()))
            .chain([Step::exit()])
            .map(Line::from)
            .collect();
        // Twice through the code: the second CTA finds it in L0.
        let overrides = format!("fetch.buffer_entries={entries}");
        let setup = common::random::Setup {
            ctas: 2,
            ..one_cta(1)
        };
        let outcome = Bench::new("rtx-a6000", &[&overrides]).run_random(&steps, setup);
        let second = &outcome.issued[34..];
        assert_eq!(second[32].2 - second[1].2 + 1, spent, "{entries} entries");
    }
}

/// MODEL.md §4.2: the target of a taken branch issues three cycles later on an L0 hit; a branch not taken
/// costs nothing.
#[test]
fn a_taken_branch_takes_three_cycles() {
    let lines = vec![
        Step::nop().into(),
        Step::new(Class::Branch).act(Act::Jump(0, 3)),
        Step::nop().into(),
        Step::exit().into(),
    ];
    let outcome = Bench::new("rtx-a6000", &[]).run_random(&lines, one_cta(1));
    let cycles: Vec<u64> = outcome.issued.iter().map(|i| i.2).collect();
    assert_eq!(cycles[2] - cycles[1], 3, "taken");
    assert_eq!(cycles[4] - cycles[3], 3, "taken");
    assert_eq!(cycles[8] - cycles[7], 1, "not taken");
}

/// MODEL.md §4: an L0 miss that hits L1 issues 79 cycles later than a hit would: fetch to issue takes 3
/// cycles on a hit and 82 then.
#[test]
fn an_l0_miss_that_hits_l1_costs_79_cycles() {
    // An L1 line holds two L0 lines: the first miss brings the second to L1.
    let overrides = [
        "stream_buffer.depth=0",
        "l0_instruction_cache.line_bytes=64",
    ];
    let lines: Vec<Line> = (0..7)
        .map(|n| Step::nop().stall(1 + 14 * (n == 3) as u8).into())
        .chain([Step::exit().into()])
        .collect();
    let outcome = Bench::new("rtx-a6000", &overrides).run_random(&lines, one_cta(1));
    // Instruction 4 is fetched when instruction 1 leaves its buffer entry.
    let fetched = cycle(&outcome.issued, 0, 1);
    assert_eq!(cycle(&outcome.issued, 0, 4) - fetched, 82);
}

/// REGRESSIONS C6: a sub-core whose memory queue is full does not slow another one's arithmetic.
#[test]
fn a_saturated_sub_core_does_not_slow_another() {
    let time = |saturate: bool| {
        let mut lines: Vec<Line> = vec![Step::new(Class::Sleep).stall(5).act(Act::Late(60))];
        // Warp 0 (sub-core 0) sleeps longest; the others go first through the same code.
        for n in 0..64 {
            lines.push(Step::ffma(n % 16 * 2, [33, 36, 36]).into());
        }
        lines.push(Step::nop().act(Act::ExitSome(0)));
        for n in 0..64 {
            lines.push(if saturate {
                Step::load(n).into()
            } else {
                Step::nop().into()
            });
        }
        lines.push(Step::exit().into());
        let overrides = ["l0_instruction_cache.perfect=true"];
        let outcome = Bench::new("rtx-a6000", &overrides).run_random(&lines, one_cta(2));
        cycle(&outcome.issued, 0, 64) - cycle(&outcome.issued, 0, 1)
    };
    assert_eq!(time(true), time(false));
    assert_eq!(time(true), 63);
}

/// REGRESSIONS C8: instructions whose guard is false everywhere are issued like others.
#[test]
fn instructions_without_lanes_count_as_issued() {
    let lines: Vec<Line> = (0..40)
        .map(|n| Step::ffma(n % 16 * 2, [33, 36, 36]).act(Act::Off))
        .chain([Step::exit().into()])
        .collect();
    let overrides = ["l0_instruction_cache.perfect=true"];
    let outcome = Bench::new("rtx-a6000", &overrides).run_random(&lines, one_cta(1));
    assert_eq!(outcome.statistics.warp_instructions, 41);
    assert_eq!(outcome.statistics.slots(sm::StallReason::Selected), 41);
    assert_eq!(outcome.statistics.thread_instructions, 32);
    assert_eq!(
        cycle(&outcome.issued, 0, 39) - cycle(&outcome.issued, 0, 0),
        39
    );
}

/// MODEL.md §4: the shared cache has so many misses at once, with so many requests each. Requests that find
/// no room wait, the link stands still, and nothing is lost: with one miss at a time as with many.
#[test]
fn misses_without_room_wait() {
    // Sub-cores apart from each other in the code, and constants of their own.
    let steps: Vec<Step> = (0..600)
        .map(|n| match n % 7 {
            3 => Step::op(Class::CoupledAlu, 10, [1, 2, 3]).constant(0, n * 64),
            _ => Step::nop(),
        })
        .chain([Step::exit()])
        .collect();
    let run = |outstanding: u32, merges: u32| {
        let overrides = [
            format!("l1_instruction_cache.outstanding={outstanding}"),
            format!("l1_instruction_cache.merges={merges}"),
        ];
        let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
        let (issued, sm) = Bench::new("rtx-a6000", &overrides).run_sm(&steps, 8, 300);
        assert_eq!(issued.len(), 8 * 601, "{outstanding}, {merges}");
        let last = issued.iter().map(|issue| issue.2).max().unwrap_or(0);
        let s = sm.statistics();
        assert!(s.instruction_missing_most <= u64::from(outstanding));
        assert!(s.instruction_stalled_most <= 40, "what the link holds");
        (last, s.instruction_missing_most, s.instruction_stalled_most)
    };
    let (slowest, one, stalled) = run(1, 1);
    assert_eq!(one, 1);
    assert!(stalled > 1, "{stalled}");
    let (merged, ..) = run(1, 32);
    let (fast, many, none) = run(32, 32);
    assert!(many > 4 && none == 0, "{many}, {none}");
    assert!(fast < merged.min(slowest), "{fast}, {merged}, {slowest}");
}
