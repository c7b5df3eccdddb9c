//! Dependences between instructions of a warp, as the compiler states them in the control bits
//! (MODEL.md §1.5, §1.6) or as scoreboards find them (§9.2), and whatever else holds a warp back.

mod area;
mod control_bits;
mod deferred;
mod hold;
mod scoreboard;

pub use area::DependenceArea;
pub use control_bits::{COUNTERS, NO_LIMITS};
pub use hold::Hold;
pub use scoreboard::{DependenceMode, DependenceParameters, Release, Scoreboard};
