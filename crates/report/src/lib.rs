//! Explains a run to people and programs: text of one screen, JSON, CSV.
//!
//! Invariant: prints what `device` measured and computes nothing that another format lacks.

// A test that meets an error it does not expect is meant to panic.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod csv;
mod instances;
pub mod json;
pub mod metrics;
pub mod number;
pub mod plot;
pub mod table;
pub mod text;
pub mod timeline;
pub mod walk;

pub use text::Style;
