//! When it happens inside one SM: the core of Huerta et al., "Analyzing Modern NVIDIA GPU cores", in the
//! order an instruction meets its stages (MODEL.md §1 to §7).
//!
//! `front_end` → `issue` → `control` → `allocate` (`register_file`, `reuse_cache`) → `units`, or
//! `memory_unit` → write-back. [`Sm`] runs one SM for a window; what executes stands behind
//! [`source::Source`].
//!
//! Invariant: time never decides values, but who sees them where wrong control bits are to do what they do
//! on the machine (`emulation`). This crate sees lanes, addresses and kinds, and calls the source
//! once per issued instruction in an order that does not depend on windows or threads.

mod allocate;
mod audit;
mod barrier;
mod constant_cache;
mod control;
mod copies;
mod cta;
mod dependence;
mod emulation;
mod error;
mod event;
mod fence;
mod front_end;
mod hang;
mod hazard;
mod issue;
mod memory_unit;
mod parameters;
mod port;
mod program;
mod register_file;
mod reuse_cache;
mod ring;
mod sm;
mod stall_reason;
mod statistics;
mod sub_core;
mod tags;
mod units;
mod walk;
mod wheel;

pub use audit::UnderWay;
pub use constant_cache::constant_address;
pub use dependence::{DependenceArea, DependenceMode, Release};
pub use emulation::Issued;
pub use error::SmError;
pub use hang::WaitingWarp;
pub use hazard::{Hazard, HazardKind, HazardMode};
pub use issue::Policy;
pub use parameters::{SmParameters, declarations};
pub use program::Program;
pub use sm::{Launch, Pause, SUB_CORES, Sm};
pub use stall_reason::StallReason;
pub use statistics::{SmStatistics, Traffic, TrafficTable};
pub use walk::{Touched, Walk, WalkTarget};
