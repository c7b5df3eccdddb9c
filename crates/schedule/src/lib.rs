//! Control bits against the latency tables, without running anything: what `warpath lint` and
//! `warpath asm --auto-control` stand on.
//!
//! In the order of a check: [`rules`] says what a control field means on a GPU, [`flow`] where control
//! goes, [`walk`] follows a section on all ways with nothing but stall counts, wait masks and counters
//! ([`state`] is what it knows before an instruction, [`queue`] which units keep their order, `check` what
//! it reports), [`reuse`] follows the register-file cache, [`counters`] looks for waits that nobody can
//! end, [`encoding`] for stall counts that do not mean what they say. [`lint`] puts them together,
//! [`finding`] is what they find. [`mine`] turns the distances seen into tables.

pub mod counters;
pub mod encoding;
pub mod fill;
pub mod finding;
pub mod flow;
pub mod lint;
pub mod mine;
pub mod reuse;
pub mod rules;
pub mod state;
pub mod walk;

mod check;

pub use finding::{Finding, Hazard, Pair, Scan, Seen};
pub use lint::{Fault, Section, lint};
pub use mine::{Mined, Verdict};
pub use rules::Rules;
pub use walk::Walk;
