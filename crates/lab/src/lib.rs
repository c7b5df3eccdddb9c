//! The laboratory: SASS text to something that runs, and back.
//!
//! * [`mod@assembled`] — an assembled text as a cubin;
//! * [`mod@disassembled`] — a cubin as text that assembles to the same kernels.

pub mod assembled;
pub mod disassembled;

pub use assembled::new_cubin;
pub use disassembled::{text_of, text_of_code};
