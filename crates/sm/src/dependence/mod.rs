//! Dependences between instructions of a warp, as the compiler states them in the control bits
//! (MODEL.md §1.5, §1.6), and whatever else holds a warp back.

mod control_bits;
mod deferred;
mod hold;

pub use control_bits::{COUNTERS, NO_LIMITS};
pub use hold::Hold;
