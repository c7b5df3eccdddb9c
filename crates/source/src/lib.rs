//! The small contract between what executes (`exec`, later `trace`) and what is timed (`sm`,
//! `memory`): the [`Source`] trait and its plain types.
//!
//! Invariant: nothing here holds a value of the simulated program; addresses, kinds and times only.

mod contract;
mod describe;
mod description;
mod effect;
mod fault;
mod hop;
mod id;
mod pages;
mod port;
mod queue;
mod sight;

pub use contract::Source;
pub use describe::describe;
pub use description::{ConstantUse, Description, MemoryKind, MemoryShape, Scope, Special};
pub use effect::{Access, Effect, Operation, Space};
pub use fault::{Fault, FaultKind};
pub use hop::{Chosen, Found, Hop, RowState, Structure, Wait};
pub use id::{
    ByteMask, CtaSlot, Cycle, LaneMask, Line, Pc, Sector, SectorMask, SmId, Token, WarpMask,
    WarpSlot,
};
pub use pages::PageTable;
pub use port::{Deferred, Performed, Reply, Request, RequestId, RequestKind};
pub use queue::Queue;
pub use sight::{ReaderId, Register, ResultId, Sight};
