//! Issue: which warp goes next, and what happens to it in that cycle (MODEL.md §2).
//!
//! `cggty`, `gto` and `lrr` hold the policies, `turns` the order of those that a full queue turned away,
//! `select` the conditions a candidate must meet and what issuing does.

pub mod cggty;
mod gto;
mod lrr;
mod select;
pub mod turns;

hardware::choice! {
    /// Which warp of a sub-core the scheduler tries first.
    pub enum Policy {
        /// The one that issued last, else the youngest.
        Cggty = "cggty",
        /// The one that issued last, else the oldest.
        Gto = "gto",
        /// The next in turn behind the one that issued last.
        Lrr = "lrr",
    }
}

impl Policy {
    /// The warp to try first among `candidates` (not empty); `last` issued last, `younger[slot]` are the
    /// warps younger than `slot`.
    #[inline]
    pub fn select(self, candidates: u16, last: usize, younger: &[u16; 16]) -> usize {
        match self {
            Policy::Cggty => cggty::select(candidates, last, younger),
            Policy::Gto => gto::select(candidates, last, younger),
            Policy::Lrr => lrr::select(candidates, last),
        }
    }
}

hardware::parameters! {
    /// The issue stage.
    pub struct IssueParameters = "issue" {
        /// Which warp goes first, in issue and in fetch.
        policy: Policy, "", ..;
        /// Cycles that the greedy warp's constant miss keeps others from issuing.
        constant_hold: u32, "cycles", 0..=64;
        /// Cycles of the issue port lost after IMAD.WIDE.
        wide_multiply_block: u64, "cycles", 0..=8;
        /// Cycles of the issue port lost after ERRBAR.
        error_barrier_block: u64, "cycles", 0..=8;
        /// Cycles from the issue of DEPBAR.LE until it holds the warp.
        depbar_hold: u64, "cycles", 1..=63;
        /// Whether an instruction whose unit has no room closes the issue port, instead of holding its own
        /// warp and others of variable latency only.
        full_queue_closes_port: bool, "", false..=true;
    }
}
