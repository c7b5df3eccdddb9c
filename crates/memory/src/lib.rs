//! When it happens beyond the SM: crossbar, L2 slices, DRAM channels and back (MODEL.md §8).
//!
//! A [`Request`](source::Request) is one line with a mask of sectors. It crosses the request network (`crossbar`) to the
//! slice that its address selects (`hash`, `address`), is looked up in the slice's tags (`slice`,
//! `l2_tags`), waits for the DRAM on a miss (`mshr`, `dram`), and its
//! [`Reply`](source::Reply) crosses the reply network back to the SM. This crate sees addresses
//! and kinds, never values (DESIGN.md V6); `system` joins the parts and runs them ahead of the SMs
//! by exactly the latency that makes their inputs known (DESIGN.md W1).

mod address;
mod clock;
mod crossbar;
mod divide;
pub mod dram;
mod geometry;
pub mod hash;
mod hops;
mod l2_tags;
mod mshr;
mod order;
mod parameters;
mod partition;
mod reply_queue;
mod request_queue;
mod slice;
mod statistics;
mod system;

pub use address::{AddressMap, Place};
pub use parameters::{CrossbarParameters, L2Parameters, Misfit};
pub use partition::Partition;
pub use statistics::{InstanceCounts, MemoryStatistics, RollUp, Statistic, Unit};
pub use system::MemorySystem;

/// Every parameter that this crate reads from a GPU document.
pub fn declarations() -> Vec<&'static [hardware::Declaration]> {
    vec![
        CrossbarParameters::DECLARED,
        L2Parameters::DECLARED,
        hash::Ad102Parameters::DECLARED,
        hash::SetMaskParameters::DECLARED,
        dram::DramParameters::DECLARED,
    ]
}
