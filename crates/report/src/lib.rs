//! Explains a run to people and programs: text of one screen, JSON, CSV.
//!
//! Invariant: prints what `device` measured and computes nothing that another format lacks.

pub mod csv;
pub mod json;
pub mod number;
pub mod table;
pub mod text;

pub use text::Style;
