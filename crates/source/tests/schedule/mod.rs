//! Static checks of compiled schedules, shared by the tests of this folder; each uses its own part.
#![allow(dead_code, missing_docs)]

pub mod check;
pub mod code;
pub mod findings;
pub mod flow;
pub mod queue;
pub mod state;
