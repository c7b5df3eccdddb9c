//! The whole GPU: launch files, CTA dispatch, time windows, statistics and the hang report. Joins an
//! instruction source with `sm` and `memory` (MODEL.md §8).
//!
//! Invariant: memory, cycles and statistics of a run depend on neither host threads nor window.

pub mod launch;
