//! All checks of one section.

use sass::Instruction;

use crate::finding::{Finding, Hazard, Scan};
use crate::flow::{Flow, NO_TABLES, Tables};
use crate::mine::dependence;
use crate::rules::Rules;
use crate::walk::Walk;
use crate::{counters, encoding, reuse};

/// A code section to be checked.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// One entry per 16 bytes; `None` where the word is unknown.
    pub code: &'a [Option<Instruction>],
    /// Whether it is a kernel: nothing is under way where it begins.
    pub is_entry: bool,
    /// Where its indirect jumps go, as far as it is known.
    pub tables: &'a Tables,
}

impl<'a> Section<'a> {
    /// A kernel about whose indirect jumps nothing is known.
    pub fn kernel(code: &'a [Option<Instruction>]) -> Section<'a> {
        Section {
            code,
            is_entry: true,
            tables: &NO_TABLES,
        }
    }
}

/// Checks a section on all ways through it; findings in order of the later instruction, each pair of
/// instructions once per hazard.
pub fn lint(rules: &Rules, section: Section<'_>) -> Scan {
    let flow = Flow::new(section.code, section.tables);
    let mut scan = Walk::new(rules, section).run();
    scan.findings.extend(counters::check(section, &flow));
    scan.findings.extend(reuse::check(section.code, &flow));
    scan.findings.extend(encoding::check(rules, section.code));
    let place = |finding: &Finding| (finding.later, finding.earlier, finding.hazard);
    scan.findings
        .sort_by_key(|finding| (place(finding), finding.distance, finding.register));
    scan.findings.dedup_by_key(|finding| place(finding));
    scan
}

/// What is wrong, in one name: the kinds that `warpath lint` tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// Fewer cycles than a result of fixed latency takes.
    StallTooSmall,
    /// An instruction of variable latency raises no counter that could be waited for.
    CounterMissing,
    /// The counter is not waited for.
    WaitMissing,
    /// The wait comes before the counter is seen raised.
    WaitTooEarly,
    /// A wait for a counter that nothing raises.
    UnraisedWait,
    /// A reuse bit that hands on an overwritten value.
    StaleReuse,
    /// A reuse bit that no read can use.
    UselessReuse,
    /// A stall count that does not mean what it says.
    CollapsedStall,
}

impl Fault {
    /// The name in output for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::StallTooSmall => "stall_too_small",
            Fault::CounterMissing => "counter_missing",
            Fault::WaitMissing => "wait_missing",
            Fault::WaitTooEarly => "wait_too_early",
            Fault::UnraisedWait => "unraised_wait",
            Fault::StaleReuse => "stale_reuse",
            Fault::UselessReuse => "useless_reuse",
            Fault::CollapsedStall => "collapsed_stall",
        }
    }
}

impl Finding {
    /// What is wrong, given the section it was found in and the rules it was found by.
    pub fn fault(&self, rules: &Rules, code: &[Option<Instruction>]) -> Fault {
        let control = |index: usize| code.get(index).and_then(Option::as_ref).map(|i| i.control);
        match self.hazard {
            Hazard::Distance(_) => Fault::StallTooSmall,
            Hazard::UnraisedWait(_) => Fault::UnraisedWait,
            Hazard::StaleReuse => Fault::StaleReuse,
            Hazard::UselessReuse => Fault::UselessReuse,
            Hazard::CollapsedStall => Fault::CollapsedStall,
            Hazard::Read | Hazard::Overwrite | Hazard::ReadOverwrite => {
                let counters = self.counters(code);
                let waits = control(self.later).map_or(0, |control| control.wait_mask);
                if counters == 0 {
                    Fault::CounterMissing
                } else if waits & counters != 0 && self.distance < rules.control.counter_visible {
                    Fault::WaitTooEarly
                } else {
                    Fault::WaitMissing
                }
            }
        }
    }

    /// Counters of the earlier instruction of which one must be waited for, as a mask.
    pub fn counters(&self, code: &[Option<Instruction>]) -> u8 {
        let Some(Some(earlier)) = code.get(self.earlier) else {
            return 0;
        };
        let bit = |counter: Option<u8>| counter.map_or(0, |counter| 1 << counter);
        let write = bit(earlier.control.write_counter);
        match self.hazard {
            Hazard::ReadOverwrite => write | bit(earlier.control.read_counter),
            _ => write,
        }
    }

    /// RAW, WAW or WAR, where it is about a dependence.
    pub const fn dependence(&self) -> Option<&'static str> {
        match self.hazard {
            Hazard::Distance(kind) => Some(dependence(kind)),
            Hazard::Read => Some("RAW"),
            Hazard::Overwrite => Some("WAW"),
            Hazard::ReadOverwrite => Some("WAR"),
            _ => None,
        }
    }
}
