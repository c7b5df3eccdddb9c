//! Stall counts that do not mean what they say (MODEL.md §1.3): above 11 without yield they collapse to a
//! cycle or two on the GPUs whose documents say so.

use sass::Instruction;

use crate::finding::{Finding, Hazard};
use crate::rules::Rules;

/// Looks at every instruction by itself.
pub fn check(rules: &Rules, code: &[Option<Instruction>]) -> Vec<Finding> {
    let collapsed = code.iter().enumerate().filter_map(|(index, instruction)| {
        let control = instruction.as_ref()?.control;
        let distance = rules.collapsed(control)?;
        Some(Finding {
            hazard: Hazard::CollapsedStall,
            earlier: index,
            later: index,
            register: None,
            distance,
            needed: u16::from(control.stall),
            between: None,
        })
    });
    collapsed.collect()
}
