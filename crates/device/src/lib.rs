//! The whole GPU: launch files, CTA dispatch, time windows, statistics and the hang report. Joins an
//! instruction source with `sm` and `memory` (MODEL.md §8).
//!
//! Invariant: memory, cycles and statistics of a run depend on neither host threads nor window.
//!
//! In the order of a run: [`launch`] reads what is to run, [`Session`] fills the buffers of a
//! [`Device`] and runs the launches, [`engine`] moves time, [`statistics`] names what was counted,
//! a [`RunReport`] tells it.

// A test that meets an error it does not expect is meant to panic.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod device;
pub mod engine;
mod error;
mod files;
mod functional;
pub mod launch;
mod options;
mod pages;
mod report;
mod session;
pub mod statistics;
mod timed;
mod walk;

pub use device::{Code, Device, LoadedCubin, Prepared};
pub use engine::{EngineParameters, Hang, HangKind, Progress};
pub use error::{FaultReport, FunctionalHang, HangReport, RunError};
pub use exec::{HostIsa, PageOrder, UnknownOp};
pub use files::Files;
pub use options::{DEFAULT_MAX_CYCLES, Mode, Pages, RunOptions};
pub use report::{HazardReport, Issue, LaunchReport, RunReport, Timing};
pub use session::{RunProgress, Session};
pub use sm::{DependenceArea, DependenceMode, HazardMode, SmParameters};
pub use source::{Chosen, Hop, Line, RowState, Structure};
pub use statistics::{Metric, MetricValue};
pub use walk::{WalkError, WalkReport, WalkRequest, packets};

/// Whether an execution is written for an instruction.
pub fn executes(instruction: &sass::Instruction) -> bool {
    exec::executes(instruction)
}

/// Why an instruction is not executed, if it is not.
pub fn refusal(instruction: &sass::Instruction) -> Option<String> {
    exec::refusal(instruction)
}

/// Whether the timing model has latencies for an architecture's instructions. (Its table has a row for
/// every class of instruction or does not load.)
pub fn is_timed(architecture: sass::Architecture) -> bool {
    hardware::latency::LatencyTable::load(architecture.number(), sass::Class::NAMES).is_ok()
}

/// Every parameter that the model reads from a GPU document.
pub fn declarations() -> Vec<&'static [hardware::Declaration]> {
    let mut declared = memory::declarations();
    declared.extend(sm::declarations());
    declared.push(EngineParameters::DECLARED);
    declared
}
