//! Probes: the measurements by which machines are taken apart from outside.
//!
//! A probe knows of the GPU what a data sheet tells ([`bench::Card`]). Everything else it finds by launching
//! kernels of its own, SASS texts that one scheduler fills in for every architecture ([`kernel`]), and by
//! reading back clocks, buffers and the counters that a profiler shows. So a probe works on any GPU
//! document, also on one of a GPU that does not exist.
//!
//! In the order of a measurement: [`list`] names the probes, [`bench`] is where they launch, [`scan`],
//! [`ring`] and [`stamps`] are the ways to time loads, [`sets`] finds lines of one set, [`counters`] the
//! slice of a line and the channels, each further file is one probe or two, [`outcome`] is what it tells.

// A test that meets an error it does not expect is meant to panic.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod atomics;
pub mod bandwidth;
pub mod bench;
pub mod chase;
pub mod counters;
pub mod dram;
pub mod error;
pub mod gf2;
pub mod kernel;
pub mod l1_sets;
pub mod l2_sets;
pub mod l2_slices;
pub mod list;
pub mod loaded_latency;
pub mod outcome;
pub mod random;
pub mod refresh;
pub mod ring;
pub mod scan;
pub mod sets;
pub mod shared_banks;
pub mod stamps;
pub mod tlb;

pub use bench::{Bench, Card};
pub use error::ProbeError;
pub use list::{ALL, Choice, Probe, find};
pub use outcome::{Cell, Finding, Outcome, Rows};
