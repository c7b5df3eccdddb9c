//! Front end: where instructions come from before one can be issued (MODEL.md §4).
//!
//! In the order an instruction meets it: `level1` (L1 instruction and L1.5 constant cache shared by the
//! SM, and the link to it) → `stream_buffer` → `level0` (L0 instruction cache of the sub-core) →
//! `fetch` (arbitration and the three-entry instruction buffers).

pub mod fetch;
pub mod level0;
pub mod level1;
mod link;
pub mod stream_buffer;
