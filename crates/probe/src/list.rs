//! The probes by name: the one list that the command line, its help, the documentation's test and the tests
//! of the probes derive from.

use crate::bench::Bench;
use crate::error::ProbeError;
use crate::outcome::Outcome;

/// What a probe can be told.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice {
    /// The SM that measures; probes that use all of them do not look at it.
    pub sm: u32,
}

/// A probe.
pub struct Probe {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it measures, in a line.
    pub about: &'static str,
    /// Measures.
    pub run: fn(&mut Bench, &Choice) -> Result<Outcome, ProbeError>,
}

/// Every probe: what a load meets, from an SM outwards, then what many of them get.
pub const ALL: &[Probe] = &[
    crate::chase::PROBE,
    crate::l1_sets::ASSOCIATIVITY,
    crate::l1_sets::MASKS,
    crate::tlb::PROBE,
    crate::l2_slices::PROBE,
    crate::l2_sets::ASSOCIATIVITY,
    crate::l2_sets::RESIDENT,
    crate::dram::PROBE,
    crate::refresh::PROBE,
    crate::bandwidth::PROBE,
    crate::shared_banks::PROBE,
    crate::atomics::PROBE,
    crate::loaded_latency::PROBE,
];

/// The probe of that name.
pub fn find(name: &str) -> Option<&'static Probe> {
    ALL.iter().find(|probe| probe.name == name)
}
