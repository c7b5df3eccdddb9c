//! What a check of control bits finds.

use std::collections::BTreeMap;

use hardware::latency::DistanceKind;
use sass::Class;

use crate::state::Place;

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
    /// A wait for a counter that nothing before it can have raised.
    UnraisedWait(u8),
    /// A read that can find an overwritten value in the register-file cache.
    StaleReuse,
    /// A reuse bit whose operand no later instruction can find in the register-file cache.
    UselessReuse,
    /// A stall count that does not mean what it says.
    CollapsedStall,
}

/// Two instructions that are too close, or not kept apart by a counter, or one whose control field is
/// wrong by itself (`earlier` and `later` are the same then).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    /// What is violated.
    pub hazard: Hazard,
    /// Index of the earlier instruction.
    pub earlier: usize,
    /// Index of the later instruction.
    pub later: usize,
    /// The register, where it is about one.
    pub register: Option<Place>,
    /// Distance found in cycles, the smallest of all ways; 0 where distance is not the matter.
    pub distance: u16,
    /// Distance needed; 0 where a counter is needed, or distance is not the matter.
    pub needed: u16,
    /// The instruction that overwrites what the register-file cache holds.
    pub between: Option<usize>,
}

/// A kind of distance between two classes of operands.
pub type Pair = (DistanceKind, Class, Class);

/// Distances seen of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// The smallest.
    pub least: u16,
    /// How many there were.
    pub count: u64,
}

impl Seen {
    /// Nothing seen yet.
    pub const NEVER: Seen = Seen {
        least: u16::MAX,
        count: 0,
    };

    /// Adds what was seen elsewhere.
    pub fn merge(&mut self, other: Seen) {
        self.least = self.least.min(other.least);
        self.count += other.count;
    }
}

/// What a walk found.
#[derive(Default, Debug)]
pub struct Scan {
    /// Violations, each once.
    pub findings: Vec<Finding>,
    /// Distances from fixed-latency producers.
    pub seen: BTreeMap<Pair, Seen>,
    /// Pairs of instructions exactly as far apart as the table demands, and more than one cycle.
    pub tight: Vec<(DistanceKind, usize, usize)>,
}
