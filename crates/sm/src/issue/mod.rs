//! Issue: which warp goes next, and what happens to it in that cycle (MODEL.md §2).
//!
//! `cggty` holds the policy, `select` the conditions a candidate must meet, `effects` what issuing does.

pub mod cggty;
mod select;

hardware::parameters! {
    /// The issue stage.
    pub struct IssueParameters = "issue" {
        /// Distance to the warp's next instruction after stall 0 with yield.
        stall_zero_yield: u64, "cycles", 1..=63;
        /// Distance after stall counts 12 to 15 without yield, which do not mean what they say.
        collapsed_stalls: Vec<u32>, "cycles", ..;
        /// Cycles that the greedy warp's constant miss keeps others from issuing.
        constant_hold: u32, "cycles", 0..=64;
        /// Cycles of the issue port lost after IMAD.WIDE.
        wide_multiply_block: u64, "cycles", 0..=8;
        /// Cycles of the issue port lost after ERRBAR.
        error_barrier_block: u64, "cycles", 0..=8;
        /// Cycles from the issue of DEPBAR.LE until it holds the warp.
        depbar_hold: u64, "cycles", 1..=63;
    }
}
