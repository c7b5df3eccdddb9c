//! Waits for counters that nobody raises: of no use, and most likely meant for another counter.

use std::collections::BTreeMap;

use sass::Instruction;
use source::Special;

use crate::finding::{Finding, Hazard};
use crate::flow::Flow;
use crate::lint::Section;

/// All six counters.
const ALL: u8 = 0x3f;

/// Follows which counters may have been raised on the way to each instruction.
pub fn check(section: Section<'_>, flow: &Flow) -> Vec<Finding> {
    let code = section.code;
    let mut before: BTreeMap<usize, u8> = BTreeMap::new();
    let mut todo = Vec::new();
    // A function is called, and an indirect jump taken, with anything raised.
    let entered = |start: usize| match start {
        0 if section.is_entry => 0,
        _ => ALL,
    };
    let behind_call = |start: usize| matches!(code.get(start.wrapping_sub(1)), Some(Some(i)) if i.opcode == sass::Opcode::CALL);
    for &start in &flow.starts {
        if start == 0 || flow.orphans.contains(&start) || behind_call(start) {
            before.insert(start, entered(start));
            todo.push(start);
        }
    }
    let mut findings = BTreeMap::new();
    while let Some(start) = todo.pop() {
        let mut raised = before[&start];
        let mut index = start;
        while let Some(Some(instruction)) = code.get(index) {
            let waited = waits(instruction);
            for counter in 0..6 {
                if waited >> counter & 1 == 1 {
                    // What one way says another may take back.
                    findings.insert((index, counter), raised >> counter & 1 == 0);
                }
            }
            let control = instruction.control;
            for counter in [control.write_counter, control.read_counter] {
                raised |= counter.map_or(0, |counter| 1 << counter);
            }
            for target in flow.inside(index, instruction) {
                if !flow.is_start(target) {
                    continue;
                }
                let known = before.get(&target).copied();
                let joined = known.unwrap_or(0) | raised;
                if known != Some(joined) {
                    before.insert(target, joined);
                    todo.push(target);
                }
            }
            index += 1;
            if flow.is_start(index) {
                break;
            }
        }
    }
    let unraised = findings.into_iter().filter(|&(_, unraised)| unraised);
    let finding = |((index, counter), _)| Finding {
        hazard: Hazard::UnraisedWait(counter),
        earlier: index,
        later: index,
        register: None,
        distance: 0,
        needed: 0,
        between: None,
    };
    unraised.map(finding).collect()
}

/// The counters that an instruction waits for. A DEPBAR with nothing but a list waits for whatever there
/// may be.
fn waits(instruction: &Instruction) -> u8 {
    let named = match source::describe(instruction).special {
        Special::WaitCounter {
            counter, others, ..
        } if others >> counter & 1 == 0 => 1 << counter,
        _ => 0,
    };
    instruction.control.wait_mask | named
}
