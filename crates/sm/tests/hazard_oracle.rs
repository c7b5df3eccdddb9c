//! The hazard check against an oracle: straight-line code scheduled by a small list scheduler has no
//! hazards; with any stall lowered, the reports are exactly the pairs that came too close; with any wait
//! dropped that was waited for, the pair is reported.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeSet;

use common::random::{Line, Outcome, Setup, one_cta};
use common::{Bench, Step, read};
use hardware::latency::{DistanceKind, LatencyTable};
use proptest::prelude::*;
use sass::Class;
use sm::HazardKind;
use source::MemoryKind;

const WARM: &[&str] = &[
    "l0_instruction_cache.perfect=true",
    "constant_operand_cache.perfect=true",
];

/// One instruction before it is scheduled.
#[derive(Clone, Debug)]
struct Operation {
    step: Step,
    variable: bool,
}

fn operation(&(kind, [a, b, c]): &(u8, [u8; 3])) -> Operation {
    let register = |n: u8| n % 10;
    let (to, x, y) = (register(a), register(b), register(c));
    let (step, variable) = match kind % 10 {
        0..=2 => (Step::ffma(to, [x, y, 255]), false),
        3 | 4 => (Step::iadd3(to, [x, y, 255]), false),
        5 => (Step::op(Class::Fp16, to, [x, y, 255]), false),
        6 => (Step::mufu(to, x), true),
        7 => (Step::load(to), true),
        8 => {
            let mut step = Step::memory(MemoryKind::SharedLoad, false, 4, Some(to));
            step.description
                .footprint
                .reads
                .push(read(x, 0, Class::Memory));
            (step, true)
        }
        _ => {
            let mut step = Step::memory(MemoryKind::GlobalStore, false, 4, None);
            step.description
                .footprint
                .reads
                .push(read(x, 0, Class::Memory));
            (step, true)
        }
    };
    Operation { step, variable }
}

/// Why an instruction waits for a counter: the producer, and what kind of dependence.
#[derive(Clone, Copy, Debug)]
struct Wait {
    at: usize,
    counter: u8,
    kind: HazardKind,
    producer: usize,
}

struct Scheduled {
    steps: Vec<Step>,
    variable: Vec<bool>,
    waits: Vec<Wait>,
}

fn touches(uses: &[sass::Use], register: u8) -> Option<Class> {
    uses.iter()
        .find(|u| register.wrapping_sub(u.first) < u.count)
        .map(|u| u.class)
}

/// Cycles that must lie between two fixed-latency instructions, or a fixed one and any later one.
fn needed(table: &LatencyTable, first: &Step, second: &Step, register: u8, write: bool) -> u16 {
    let (kind, uses) = if write {
        (
            DistanceKind::RegisterOverwrite,
            &second.description.footprint.writes[..],
        )
    } else {
        (
            DistanceKind::Register,
            &second.description.footprint.reads[..],
        )
    };
    let producer = touches(&first.description.footprint.writes, register);
    match (producer, touches(uses, register)) {
        (Some(producer), Some(consumer)) => {
            table.distance(kind, producer.index(), consumer.index())
        }
        _ => 0,
    }
}

/// The fixed-latency reader before `second` that forbids overwriting `register` longest, with the cycles
/// that must lie between the two.
fn reader(
    table: &LatencyTable,
    steps: &[Step],
    variable: &[bool],
    times: &[u64],
    second: &Step,
    register: u8,
) -> Option<(usize, u64)> {
    let kind = DistanceKind::RegisterReadOverwrite;
    let writer = touches(&second.description.footprint.writes, register)?;
    let mut longest: Option<(usize, Class, u64)> = None;
    for (index, step) in steps.iter().enumerate() {
        if variable[index] {
            continue;
        }
        for read in step.description.footprint.reads.iter() {
            if register.wrapping_sub(read.first) >= read.count {
                continue;
            }
            let most = (0..Class::ALL.len())
                .map(|writer| table.distance(kind, read.class.index(), writer))
                .max()
                .unwrap_or(0);
            let until = times[index] + u64::from(most);
            if longest.is_none_or(|(_, _, other)| other <= until) {
                longest = Some((index, read.class, until));
            }
        }
    }
    let (index, class, _) = longest?;
    Some((
        index,
        table.distance(kind, class.index(), writer.index()).into(),
    ))
}

/// Stalls and counters for `operations`.
fn schedule(table: &LatencyTable, operations: &[Operation]) -> Scheduled {
    let mut out = Scheduled {
        steps: Vec::new(),
        variable: Vec::new(),
        waits: Vec::new(),
    };
    let mut times: Vec<u64> = Vec::new();
    // Instruction whose result or sources each counter stands for.
    let mut writes: [Option<usize>; 3] = [None; 3];
    let mut reads: [Option<usize>; 3] = [None; 3];
    let mut turn = 0;
    for operation in operations {
        let mut step = operation.step.clone();
        let footprint = step.description.footprint.clone();
        let mut earliest = times.last().map_or(0, |t| t + 1);
        for register in 0..10u8 {
            let reads_it = touches(&footprint.reads, register).is_some();
            let writes_it = touches(&footprint.writes, register).is_some();
            if !reads_it && !writes_it {
                continue;
            }
            if let Some((first, cycles)) =
                reader(table, &out.steps, &out.variable, &times, &step, register)
            {
                earliest = earliest.max(times[first] + cycles);
            }
            let last = out
                .steps
                .iter()
                .rposition(|s| touches(&s.description.footprint.writes, register).is_some());
            if let Some(last) = last
                && !out.variable[last]
            {
                for write in [false, true] {
                    let cycles = needed(table, &out.steps[last], &step, register, write);
                    earliest = earliest.max(times[last] + cycles as u64);
                }
            }
        }
        let at_is = |out: &Scheduled| out.steps.len();
        // Counters: what this instruction depends on, and the ones it takes over.
        let mut mask = 0;
        let mut waits = Vec::new();
        for counter in 0..3 {
            if let Some(producer) = writes[counter] {
                let of = &out.steps[producer].description.footprint.writes;
                let raw = footprint
                    .reads
                    .iter()
                    .any(|u| touches(of, u.first).is_some());
                let waw = footprint
                    .writes
                    .iter()
                    .any(|u| touches(of, u.first).is_some());
                if raw || waw || operation.variable && turn % 3 == counter {
                    mask |= 1 << counter;
                    writes[counter] = None;
                    if raw {
                        waits.push((counter as u8, HazardKind::ReadAfterWrite, producer));
                    } else if waw {
                        waits.push((counter as u8, HazardKind::WriteAfterWrite, producer));
                    }
                }
            }
            if let Some(reader) = reads[counter] {
                let of = &out.steps[reader].description.footprint.reads;
                let war = footprint
                    .writes
                    .iter()
                    .any(|u| touches(of, u.first).is_some());
                if war || operation.variable && turn % 3 == counter {
                    mask |= 8 << counter;
                    reads[counter] = None;
                    if war {
                        waits.push((counter as u8 + 3, HazardKind::WriteAfterRead, reader));
                    }
                }
            }
        }
        // Stall of the instruction before, with NOPs if one is not enough.
        if let Some(&time) = times.last() {
            let mut left = earliest - time;
            while left > 15 {
                out.steps.last_mut().unwrap().description.control.stall = 15;
                out.steps.push(Step::nop());
                out.variable.push(false);
                times.push(times.last().unwrap() + 15);
                left -= 15;
            }
            let previous = out.steps.last_mut().unwrap();
            let stall = &mut previous.description.control.stall;
            *stall = (*stall).max(left as u8);
            earliest = times.last().unwrap() + *stall as u64;
        }
        let at = at_is(&out);
        out.waits
            .extend(waits.into_iter().map(|(counter, kind, producer)| Wait {
                at,
                counter,
                kind,
                producer,
            }));
        step = step.waits(mask);
        if operation.variable {
            let counter = turn % 3;
            turn += 1;
            if !footprint.writes.is_empty() {
                step = step.write_counter(counter as u8);
                writes[counter] = Some(at);
            }
            if !footprint.reads.is_empty() {
                step = step.read_counter(counter as u8 + 3);
                reads[counter] = Some(at);
            }
            step = step.stall(2);
        }
        out.steps.push(step);
        out.variable.push(operation.variable);
        times.push(earliest);
    }
    out.steps.last_mut().unwrap().description.control.stall = 15;
    out
}

fn run(gpu: &str, steps: &[Step]) -> Outcome {
    let mut lines: Vec<Line> = steps.iter().cloned().map(Line::from).collect();
    lines.push(Step::exit().waits(0x3f).into());
    Bench::new(gpu, WARM).run_random(&lines, Setup { ..one_cta(1) })
}

/// Pairs whose fixed-latency producer is too close, by the issue cycles.
fn too_close(
    table: &LatencyTable,
    scheduled: &Scheduled,
    steps: &[Step],
    cycles: &[u64],
) -> BTreeSet<(HazardKind, u32, u32)> {
    let mut pairs = BTreeSet::new();
    for second in 0..steps.len() {
        for register in 0..10u8 {
            if let Some((first, needed)) = reader(
                table,
                &steps[..second],
                &scheduled.variable,
                cycles,
                &steps[second],
                register,
            ) && cycles[second] - cycles[first] < needed
            {
                pairs.insert((HazardKind::WriteAfterRead, first as u32, second as u32));
            }
            let last = steps[..second]
                .iter()
                .rposition(|s| touches(&s.description.footprint.writes, register).is_some());
            let Some(first) = last else { continue };
            if scheduled.variable[first] {
                continue;
            }
            for write in [false, true] {
                let needed = needed(table, &steps[first], &steps[second], register, write) as u64;
                if cycles[second] - cycles[first] < needed {
                    let kind = if write {
                        HazardKind::WriteAfterWrite
                    } else {
                        HazardKind::ReadAfterWrite
                    };
                    pairs.insert((kind, first as u32, second as u32));
                }
            }
        }
    }
    pairs
}

fn reported(outcome: &Outcome, fixed: bool) -> BTreeSet<(HazardKind, u32, u32)> {
    outcome
        .hazards
        .iter()
        .filter(|hazard| (hazard.needed != 0) == fixed)
        .map(|hazard| (hazard.kind, hazard.first, hazard.second))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reports_are_exactly_what_came_too_close(
        seeds in prop::collection::vec((any::<u8>(), any::<[u8; 3]>()), 2..24),
        ampere in any::<bool>(),
    ) {
        let (gpu, architecture) = if ampere { ("rtx-a6000", 86) } else { ("a100-sxm4-40gb", 80) };
        let table = LatencyTable::load(architecture, Class::NAMES).unwrap();
        let operations: Vec<_> = seeds.iter().map(operation).collect();
        let scheduled = schedule(&table, &operations);
        let right = run(gpu, &scheduled.steps);
        prop_assert_eq!(&right.hazards, &vec![], "right control bits");
        let cycles = |outcome: &Outcome| outcome.issued.iter().map(|i| i.2).collect::<Vec<_>>();
        let right_cycles = cycles(&right);

        for place in 0..scheduled.steps.len() {
            let mut steps = scheduled.steps.clone();
            let stall = &mut steps[place].description.control.stall;
            if *stall < 2 || scheduled.variable[place] && *stall == 2 {
                continue;
            }
            *stall -= 1;
            let outcome = run(gpu, &steps);
            let expected = too_close(&table, &scheduled, &steps, &cycles(&outcome));
            prop_assert_eq!(reported(&outcome, true), expected, "stall of {} lowered", place);
        }

        for wait in &scheduled.waits {
            let mut steps = scheduled.steps.clone();
            steps[wait.at].description.control.wait_mask &= !(1 << wait.counter);
            let outcome = run(gpu, &steps);
            let (found, right) = (cycles(&outcome)[wait.at], right_cycles[wait.at]);
            let sharp = match wait.kind {
                // Until three cycles before the write-back a fixed-latency reader sees the old value.
                HazardKind::ReadAfterWrite => found + 3 < right,
                // Instructions of one queue keep their order.
                _ => found < right && !scheduled.variable[wait.at],
            };
            if sharp {
                let pair = (wait.kind, wait.producer as u32, wait.at as u32);
                prop_assert!(
                    reported(&outcome, false).contains(&pair),
                    "{:?} dropped, issued at {} instead of {}: {:?}", wait, found, right, outcome.hazards
                );
            }
        }
    }
}

/// Bytes that an LDGSTS writes are pending until its group has been waited for.
#[test]
fn reading_copied_bytes_too_early_is_reported() {
    use common::random::Act;
    use source::{Operation, Space};
    let copy = |counter| {
        let act = Act::Access(Space::Global, Operation::CopyToShared, 0, 4, u32::MAX);
        [
            Step::copy().act(act),
            Step::commit().write_counter(counter).stall(2).into(),
        ]
    };
    // The bytes of the copy, and others.
    for (pattern, overlaps) in [(1, true), (7, false)] {
        for (left, waited) in [(0, true), (1, false)] {
            let mut lines: Vec<Line> = copy(0).into_iter().chain(copy(0)).collect();
            lines.push(Step::depbar(0, left).stall(4).into());
            let act = Act::Access(Space::Shared, Operation::Load, pattern, 4, u32::MAX);
            let load = Step::memory(MemoryKind::SharedLoad, false, 4, Some(20));
            lines.push(load.write_counter(1).stall(2).act(act));
            lines.push(Step::exit().waits(3).into());
            let outcome = Bench::new("rtx-a6000", WARM).run_random(&lines, one_cta(1));
            let found: Vec<_> = outcome.hazards.iter().map(|hazard| hazard.kind).collect();
            if overlaps && !waited {
                assert_eq!(found, [HazardKind::CopyNotWaitedFor]);
            } else {
                assert_eq!(found, [], "pattern {pattern}, {left} left");
            }
        }
    }
}
