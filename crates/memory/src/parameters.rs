//! What the crossbar and the L2 slices are told by a GPU document (MODEL.md §8.1, §8.3).

use hardware::{Gpu, HardwareError};

use crate::hash::{SetHash, SliceHash};

hardware::parameters! {
    /// The request and the reply network between SMs and L2 slices.
    pub struct CrossbarParameters = "crossbar" {
        /// Cycles from the SM's port into the request network.
        from_sm: u64, "cycles", 0..=1000;
        /// Cycles through the request network when no other packet is in the way.
        request: u64, "cycles", 1..=1000;
        /// Cycles through the reply network when no other packet is in the way.
        reply: u64, "cycles", 1..=1000;
        /// Cycles from the reply network to the SM.
        to_sm: u64, "cycles", 0..=1000;
        /// Ports of the networks on the side of the L2 slices, one for each slice.
        slice_ports: u64, "", 1..=4096;
        /// Sectors of one packet that the ports of a slice, in and out, move per L2 cycle. A packet
        /// without data takes one.
        slice_rate: u64, "sectors/cycle", 1..=4;
        /// Sectors of one packet that the port of an SM takes per cycle.
        sm_rate: u64, "sectors/cycle", 1..=4;
    }

    /// The L2 cache: its slices, grouped into partitions that own DRAM channels.
    pub struct L2Parameters = "l2" {
        /// Memory partitions.
        partitions: u64, "", 1..=256;
        /// L2 slices of a partition.
        slices_per_partition: u64, "", 1..=16;
        /// Sets of a slice; a power of two.
        sets: u64, "", 1..=65_536;
        /// Lines of a set.
        ways: u64, "", 1..=16;
        /// The clock of the slices and of their ports, if it is not the core clock.
        clock: Option<f64>, "MHz", 100.0..=10_000.0;
        /// The function that selects a slice.
        slice_hash: SliceHash, "", ..;
        /// The function that selects a set inside a slice.
        set_hash: SetHash, "", ..;
        /// Address bits above the slice interleave that the polynomial hash looks at.
        hash_bits: u64, "bits", 1..=32;
        /// Core cycles of a packet's way from the request network to the lookup, without queues. A slice
        /// looks up one packet per L2 cycle.
        fixed_latency: u64, "cycles", 0..=10_000;
        /// Core cycles from the lookup, or from a fill, until the reply enters the reply network.
        lookup_latency: u64, "cycles", 1..=1000;
        /// Sectors of a slice that may be on their way from DRAM.
        mshrs: u64, "", 4..=4096;
        /// Requests that may wait for one such sector.
        mshr_merges: u64, "", 1..=4096;
        /// Packets that may stand in front of a slice's lookup, behind its port of the request network.
        /// Further ones wait in the network, in the places that the credits of their SMs are.
        queue: u64, "packets", 1..=4096;
        /// Replies that may stand in front of a slice's port into the reply network. Without a place for
        /// its reply no packet is looked up, and no data from the DRAM are taken.
        reply_queue: u64, "packets", 1..=4096;
        /// Packets of a slice to its DRAM channels that may wait for room there.
        miss_queue: u64, "packets", 8..=4096;
        /// Lanes of an atomic that one packet may carry; more cost further rounds.
        atomic_lanes: u64, "lanes", 1..=32;
        /// L2 cycles that a slice is busy with one round of an atomic.
        atomic_interval: u64, "L2 cycles", 1..=1000;
    }
}

/// A key whose value does not fit the others, though in range by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The key.
    pub key: &'static str,
    /// What it must be; nothing if it is missing.
    pub right: Option<String>,
}

impl Misfit {
    pub(crate) fn new(key: &'static str, right: impl Into<String>) -> Misfit {
        Misfit {
            key,
            right: Some(right.into()),
        }
    }

    pub(crate) fn missing(key: &'static str) -> Misfit {
        Misfit { key, right: None }
    }

    /// The error, with the value and the place that gives it.
    pub(crate) fn of(self, gpu: &Gpu) -> HardwareError {
        match self.right {
            Some(right) if gpu.has(self.key) => misfit(gpu, self.key, &right),
            _ => HardwareError::MissingKey {
                files: gpu.files().to_vec(),
                key: self.key.to_owned(),
                range: "as the function that is chosen needs it",
                unit: "",
            },
        }
    }
}

/// Reports a value that is in range by itself but does not fit the others.
pub(crate) fn misfit(gpu: &Gpu, key: &str, right: &str) -> HardwareError {
    match gpu.explain(key) {
        Ok(explanation) => HardwareError::Document {
            place: explanation.defined_in,
            key: key.to_owned(),
            message: format!("is {}, but must be {right}", explanation.value),
        },
        Err(error) => error,
    }
}
