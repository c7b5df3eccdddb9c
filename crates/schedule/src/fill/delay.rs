//! Waits and stall counts: what the walk finds is mended where it costs least, until it finds nothing.
//!
//! A wait stands at the instruction that needs it. Missing cycles go to the instruction before the one
//! that comes too early, so that those between are not held up; across blocks to the end of the first
//! block, which every way passes.

use std::collections::{BTreeMap, BTreeSet};

use sass::{Instruction, Opcode};
use source::{MemoryKind, Special};

use super::{Draft, FIRST_WITH_YIELD, FIRST_YIELDING, MOST_STALL};
use crate::finding::{Finding, Hazard};
use crate::flow::{Elsewhere, Flow};
use crate::walk::Walk;

/// Turns at most; each mends something, and what it mends stays.
const MOST_TURNS: usize = 400;

/// Adds waits and stall counts until nothing can be mended any more.
pub(super) fn settle(draft: &mut Draft<'_>) {
    let flow = Flow::new(&draft.code, draft.tables);
    wait_for_loads(draft);
    leave(draft, &flow);
    for _ in 0..MOST_TURNS {
        let findings = Walk::new(draft.rules, draft.section()).run().findings;
        if !mend(draft, &flow, findings) {
            break;
        }
    }
    for index in 0..draft.code.len() {
        // Reuse bits count only without yield.
        let Some(control) = draft.control(index).filter(|control| control.reuse == 0) else {
            continue;
        };
        let plain = draft.code[index]
            .as_ref()
            .is_some_and(|one| !is_control(one));
        if control.stall >= FIRST_YIELDING && plain && draft.given[index].yields.is_none() {
            draft.set(index, |control| control.yields = true);
        }
    }
}

/// Loads whose results a way brings to the instruction at `index`, as far as the text before it in its
/// section tells.
pub(super) fn loads_before(draft: &Draft<'_>, index: usize) -> Vec<usize> {
    let is_load = |instruction: &Instruction| {
        let description = source::describe(instruction);
        let kind = description.memory.map(|shape| shape.kind);
        let loads = matches!(
            kind,
            Some(MemoryKind::GlobalLoad | MemoryKind::GlobalAtomic)
        );
        loads && !description.footprint.writes.is_empty()
    };
    let before = draft.code.iter().enumerate().take(index);
    let loads = before.filter(|(_, one)| one.as_ref().is_some_and(is_load));
    loads.map(|(load, _)| load).collect()
}

/// CCTL.IVALL waits for the loads before it.
fn wait_for_loads(draft: &mut Draft<'_>) {
    for index in 0..draft.code.len() {
        let special = draft.code[index]
            .as_ref()
            .map(|one| source::describe(one).special);
        if special != Some(Special::InvalidateL1) || draft.given[index].wait_mask.is_some() {
            continue;
        }
        let loads = loads_before(draft, index);
        let counters = loads
            .iter()
            .filter_map(|&load| draft.control(load)?.write_counter);
        let mask = counters.fold(0, |mask, counter| mask | 1 << counter);
        draft.set(index, |control| control.wait_mask |= mask);
    }
}

/// Where control leaves the section, everything that was raised before is waited for, and every result of
/// fixed latency has its time.
fn leave(draft: &mut Draft<'_>, flow: &Flow) {
    for index in 0..draft.code.len() {
        let Some(instruction) = &draft.code[index] else {
            continue;
        };
        let successors = flow.successors(index, instruction);
        if successors.elsewhere != Elsewhere::Call || successors.target.is_some() {
            continue;
        }
        let raised = (0..index).fold(0u8, |mask, earlier| {
            let control = draft.control(earlier);
            let counters = control.map(|one| [one.write_counter, one.read_counter]);
            let counters = counters.into_iter().flatten().flatten();
            counters.fold(mask, |mask, counter| mask | 1 << counter)
        });
        if draft.given[index].wait_mask.is_none() {
            draft.set(index, |control| control.wait_mask |= raised);
        }
        if draft.given[index].stall.is_none() {
            let yields = draft.given[index].yields != Some(false);
            draft.set(index, |control| {
                control.stall = if yields {
                    MOST_STALL
                } else {
                    FIRST_WITH_YIELD - 1
                };
                control.yields = yields;
            });
        }
    }
}

fn is_control(instruction: &Instruction) -> bool {
    use Opcode::*;
    matches!(
        instruction.opcode,
        BRA | BRX
            | BRXU
            | BSYNC
            | BREAK
            | CALL
            | EXIT
            | JMP
            | JMX
            | KILL
            | RET
            | WARPSYNC
            | BAR
            | ERRBAR
    )
}

/// Mends what can be mended of `findings`; whether anything was.
fn mend(draft: &mut Draft<'_>, flow: &Flow, mut findings: Vec<Finding>) -> bool {
    findings.sort_by_key(|finding| (finding.later, finding.earlier, finding.distance));
    let mut added: BTreeMap<usize, u16> = BTreeMap::new();
    let first = first_waits(draft, &findings);
    let mut mended = false;
    for finding in findings {
        let (earlier, later) = (finding.earlier, finding.later);
        let missing = match finding.hazard {
            Hazard::Distance(_) => finding.needed - finding.distance,
            Hazard::Read | Hazard::Overwrite | Hazard::ReadOverwrite => {
                let counters = finding.counters(&draft.code);
                let waited = draft.control(later).map_or(0, |control| control.wait_mask);
                if counters & waited == 0 {
                    if first.contains(&(earlier, later)) {
                        let counter = preferred(draft, &finding, counters);
                        draft.set(later, |control| control.wait_mask |= 1 << counter);
                        mended = true;
                    }
                    continue;
                }
                draft
                    .rules
                    .control
                    .counter_visible
                    .saturating_sub(finding.distance)
            }
            _ => continue,
        };
        let places = places(flow, earlier, later);
        let so_far: u16 = places.iter().filter_map(|place| added.get(place)).sum();
        let mut missing = missing.saturating_sub(so_far);
        for place in places {
            let grown = lengthen(draft, place, missing);
            if grown > 0 {
                *added.entry(place).or_default() += grown;
                mended = true;
            }
            missing = missing.saturating_sub(grown);
            if missing == 0 {
                break;
            }
        }
        if missing > 0 && finding.needed > u16::from(MOST_STALL) {
            mended |= guard_by_counter(draft, earlier, later);
        }
    }
    mended
}

/// Of the instructions that depend on one of variable latency the first that can wait for it, as earlier and
/// later instruction: the others may not need to any more.
fn first_waits(draft: &Draft<'_>, findings: &[Finding]) -> BTreeSet<(usize, usize)> {
    let length = draft.code.len();
    let mut first: BTreeMap<(usize, bool), usize> = BTreeMap::new();
    for finding in findings {
        let sources = finding.hazard == Hazard::ReadOverwrite;
        let counted = matches!(
            finding.hazard,
            Hazard::Read | Hazard::Overwrite | Hazard::ReadOverwrite
        );
        let counters = finding.counters(&draft.code);
        let waited = draft
            .control(finding.later)
            .map_or(0, |control| control.wait_mask);
        let open = draft.given[finding.later].wait_mask.is_none();
        if !counted || !open || counters == 0 || counters & waited != 0 {
            continue;
        }
        let ahead = match finding.later > finding.earlier {
            true => finding.later,
            false => finding.later + length,
        };
        let known = first.entry((finding.earlier, sources)).or_insert(ahead);
        *known = ahead.min(*known);
    }
    let pairs = first.into_iter();
    pairs
        .map(|((earlier, _), later)| (earlier, later % length))
        .collect()
}

/// Which of several counters the later instruction waits for: for sources the one that falls first.
fn preferred(draft: &Draft<'_>, finding: &Finding, counters: u8) -> u8 {
    let read = draft
        .control(finding.earlier)
        .and_then(|control| control.read_counter);
    match read {
        Some(read) if finding.hazard == Hazard::ReadOverwrite && counters >> read & 1 == 1 => read,
        _ => {
            let write = draft
                .control(finding.earlier)
                .and_then(|control| control.write_counter);
            write.unwrap_or(counters.trailing_zeros() as u8)
        }
    }
}

/// Instructions whose stall counts lie between the two on every way, the best first.
fn places(flow: &Flow, earlier: usize, later: usize) -> Vec<usize> {
    let start = |index: usize| {
        let behind = flow.starts.partition_point(|&start| start <= index);
        flow.starts[behind.saturating_sub(1)]
    };
    let end = |index: usize| {
        let behind = flow.starts.partition_point(|&start| start <= index);
        flow.starts.get(behind).copied().unwrap_or(index + 1)
    };
    if earlier < later && start(earlier) == start(later) {
        return (earlier..later).rev().collect();
    }
    let before = (start(later)..later).rev();
    let behind = (earlier..end(earlier)).rev();
    before.chain(behind).collect()
}

/// Adds up to `missing` cycles behind an instruction; how many it took.
fn lengthen(draft: &mut Draft<'_>, place: usize, missing: u16) -> u16 {
    let given = draft.given[place];
    let Some(control) = draft.control(place) else {
        return 0;
    };
    if given.stall.is_some() || missing == 0 {
        return 0;
    }
    let may_yield = given.yields != Some(false);
    let most = if may_yield || draft.rules.stalls.collapsed_stalls.is_empty() {
        MOST_STALL
    } else {
        FIRST_WITH_YIELD - 1
    };
    let before = draft.rules.distance(control);
    let wanted = (before + missing).min(u16::from(most));
    if wanted <= before {
        return 0;
    }
    let stall = wanted as u8;
    draft.set(place, |control| {
        control.stall = stall;
        control.yields |= given.yields.is_none() && stall >= FIRST_WITH_YIELD;
    });
    wanted - before
}

/// A result of fixed latency that no stall count covers (matrix instructions): a counter does. The one
/// that fewest others raise.
fn guard_by_counter(draft: &mut Draft<'_>, earlier: usize, later: usize) -> bool {
    if draft.given[later].wait_mask.is_some() {
        return false;
    }
    let known = draft
        .control(earlier)
        .and_then(|control| control.write_counter);
    let counter = match known {
        Some(counter) => counter,
        None if draft.given[earlier].write_counter.is_some() => return false,
        None => {
            let mut raised = [0usize; 6];
            for index in 0..draft.code.len() {
                let control = draft.control(index);
                let counters = control.map(|one| [one.write_counter, one.read_counter]);
                for counter in counters.into_iter().flatten().flatten() {
                    raised[usize::from(counter)] += 1;
                }
            }
            let least = (0..6u8).min_by_key(|&counter| raised[usize::from(counter)]);
            let counter = least.unwrap_or(0);
            draft.set(earlier, |control| control.write_counter = Some(counter));
            counter
        }
    };
    let waits = draft
        .control(later)
        .is_some_and(|control| control.wait_mask >> counter & 1 == 1);
    draft.set(later, |control| control.wait_mask |= 1 << counter);
    !waits
}
