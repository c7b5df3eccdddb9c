//! What a walk through compiled code finds.

use std::collections::BTreeMap;

use hardware::latency::DistanceKind;
use sass::Class;

use super::state::Place;

/// What a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Hazard {
    /// A distance of the table is not kept.
    Distance(DistanceKind),
    /// A read of a result of variable latency that was not waited for.
    Read,
    /// An overwrite of a result of variable latency that was not waited for.
    Overwrite,
    /// An overwrite of a source that may not have been read yet.
    ReadOverwrite,
}

/// Two instructions that are too close, or not kept apart by a counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    /// What is violated.
    pub hazard: Hazard,
    /// Index of the earlier instruction.
    pub earlier: usize,
    /// Index of the later instruction.
    pub later: usize,
    /// The register.
    pub register: Place,
    /// Distance found.
    pub distance: u16,
}

/// A kind of distance between two classes of operands.
pub type Pair = (DistanceKind, Class, Class);

/// Distances seen of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The smallest.
    pub least: u16,
    /// How many there were.
    pub count: u64,
}

/// What a walk found.
#[derive(Default)]
pub struct Scan {
    /// Violations, each once.
    pub findings: Vec<Finding>,
    /// Distances from fixed-latency producers.
    pub seen: BTreeMap<Pair, Seen>,
    /// Pairs of instructions exactly as far apart as the table demands, and more than one cycle.
    pub tight: Vec<(DistanceKind, usize, usize)>,
}
