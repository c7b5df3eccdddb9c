//! The memory unit (MODEL.md §7): four sub-core halves (`stages`) feed one unit shared by the SM.
//!
//! In the order an instruction meets it: `stages` (latch, queue, address stages) → `hand_over`
//! (arbitration, pending-request table) → `coalesce` → `l1d`, shared memory, constants or straight to
//! L2 (`access`) → `complete` (transfer to the sub-core, write-back, release).

mod access;
pub mod coalesce;
mod complete;
pub mod copy_check;
mod hand_over;
pub mod l1d;
pub mod record;
pub mod set_index;
pub mod stages;
pub mod translation;

use std::collections::VecDeque;

use crate::constant_cache::{ConstantCache, LoadConstantParameters};
use l1d::L1d;
use record::Records;
use set_index::L1dSettings;
use stages::Stages;

hardware::parameters! {
    /// The memory unit: structure and throughput (MODEL.md §7.1 to 7.3). Stage lengths are cycles of the
    /// six address stages; stores add their data cycles to the last one. `…_read` counts from the last
    /// cycle of the last stage to the cycle in which issue sees the sources as read.
    pub struct MemoryUnitParameters = "memory_unit" {
        /// Places of a sub-core's queue, kept until hand-over.
        queue: u32, "instructions", 1..=64;
        /// Cycles between two hand-overs to the shared unit.
        hand_over_interval: u64, "cycles", 1..=16;
        /// Entries of the pending-request table.
        pending: u32, "instructions", 1..=4096;
        /// Instructions that generate accesses at once.
        generators: u32, "instructions", 1..=4;
        /// Cycles from hand-over to the lookup in shared memory or a constant cache.
        to_lookup: u64, "cycles", 1..=32;
        /// Cycles of translation before the L1 data cache.
        translation: u64, "cycles", 0..=32;
        /// Bytes per cycle from the shared unit to a sub-core, global and local data.
        global_transfer: u32, "bytes", 4..=256;
        /// Bytes per cycle from the shared unit to a sub-core, shared-memory data.
        shared_transfer: u32, "bytes", 4..=256;
        /// Cycles that a transfer of shared-memory data takes at least.
        shared_transfer_least: u32, "cycles", 1..=16;
        /// Cycles that a loaded register can wait for its write port until what follows it waits too.
        write_slack: u64, "cycles", 0..=64;
        /// Cycles of a shared-memory lookup.
        shared_lookup: u64, "cycles", 1..=64;
        /// Further cycles if the address comes from a general register.
        shared_register_address: u64, "cycles", 0..=16;
        /// Further cycles of LDSM with two or four matrices.
        matrix_lookup: u64, "cycles", 0..=16;
        /// Cycles from the end of an LDGSTS's L1 lookup until its write counter is seen to fall.
        copy_release: u64, "cycles", 1..=64;
        /// Cycles from the end of an LDGSTS's L1 lookup to its store in shared memory.
        copy_transfer: u64, "cycles", 1..=64;
        /// Lanes of an atomic that travel in one packet.
        atomic_lanes: u32, "lanes", 1..=32;
        /// Address stages: global or local load, uniform address.
        load_uniform: Vec<u32>, "cycles", ..;
        /// Address stages: global or local load, register address.
        load_register: Vec<u32>, "cycles", ..;
        /// Address stages: global or local store, uniform address.
        store_uniform: Vec<u32>, "cycles", ..;
        /// Address stages: global or local store, register address.
        store_register: Vec<u32>, "cycles", ..;
        /// Address stages: shared load, uniform or immediate address.
        shared_load_uniform: Vec<u32>, "cycles", ..;
        /// Address stages: shared load, register address.
        shared_load_register: Vec<u32>, "cycles", ..;
        /// Address stages: shared store, uniform or immediate address.
        shared_store_uniform: Vec<u32>, "cycles", ..;
        /// Address stages: shared store, register address.
        shared_store_register: Vec<u32>, "cycles", ..;
        /// Address stages: constant load, immediate address.
        constant_load_uniform: Vec<u32>, "cycles", ..;
        /// Address stages: constant load, register address.
        constant_load_register: Vec<u32>, "cycles", ..;
        /// Address stages: LDGSTS.
        copy: Vec<u32>, "cycles", ..;
        /// Address stages: SHFL, S2R, MATCH, MEMBAR and others that only pass through.
        pass: Vec<u32>, "cycles", ..;
        /// Sources read: global or local load, uniform address.
        load_uniform_read: u32, "cycles", 0..=16;
        /// Sources read: global or local load, register address.
        load_register_read: u32, "cycles", 0..=16;
        /// Sources read: global or local store.
        store_read: u32, "cycles", 0..=16;
        /// Sources read: shared load.
        shared_load_read: u32, "cycles", 0..=16;
        /// Sources read: shared store.
        shared_store_read: u32, "cycles", 0..=16;
        /// Sources read: constant load, immediate address; with a register address they count as read
        /// when the result is written.
        constant_load_read: u32, "cycles", 0..=16;
        /// Sources read: LDGSTS.
        copy_read: u32, "cycles", 0..=16;
        /// Sources read: instructions that only pass through.
        pass_read: u32, "cycles", 0..=16;
    }
}

/// The memory unit of one SM.
pub struct MemoryUnit {
    /// The sub-cores' halves.
    pub stages: [Stages; 4],
    /// Instructions on their way.
    pub records: Records,
    /// L1 data cache.
    pub l1d: L1d,
    /// Constant cache for LDC.
    pub constants: ConstantCache,
    /// Cycles of a lookup in it.
    pub constant_lookup: u64,
    /// Cycles of an L1 lookup.
    pub l1_lookup: u64,
    /// Sub-cores whose oldest instruction is ready for hand-over: bit s its memory instruction, bit 4 + s its
    /// FP64 instruction.
    pub asking: u8,
    /// Bit of `asking` served last.
    pub last_served: u8,
    /// First cycle of the next hand-over.
    pub hand_over_free: u64,
    /// Cycle of the next HandOverFree event; `u64::MAX` if there is none.
    pub hand_over_armed: u64,
    /// Entries in use of the pending-request table.
    pub pending: u32,
    /// When each access generator becomes free.
    pub generators: [u64; 4],
    /// When shared memory becomes free.
    pub shared_free: u64,
    /// When the last result of the shared-memory queue of each sub-core is at hand: they come in order.
    pub shared_last: [u64; 4],
    /// Texture instructions of each sub-core whose data have not been delivered, oldest first: they come
    /// in order, as the compiler relies on when several share the last one's counter.
    pub textures: [VecDeque<u16>; 4],
    /// When the path to each sub-core becomes free.
    pub return_free: [u64; 4],
    /// Records whose accesses wait for room in L1 or the port, oldest first.
    pub retry: VecDeque<u16>,
    /// Records that wait for a constant line: (line, record).
    pub constant_waiters: Vec<(u32, u16)>,
}

impl MemoryUnit {
    /// An idle unit with `l1_bytes` of L1 data cache.
    pub fn new(
        parameters: &MemoryUnitParameters,
        l1d: &L1dSettings,
        constants: &LoadConstantParameters,
        l1_bytes: u32,
    ) -> MemoryUnit {
        MemoryUnit {
            stages: std::array::from_fn(|_| Stages::new(parameters.queue)),
            records: Records::new(),
            l1d: L1d::new(l1d, l1_bytes),
            constants: ConstantCache::new(
                constants.sets,
                constants.ways,
                constants.line_bytes,
                constants.perfect,
            ),
            constant_lookup: constants.lookup,
            l1_lookup: l1d.parameters.lookup,
            asking: 0,
            last_served: 7,
            hand_over_free: 0,
            hand_over_armed: u64::MAX,
            pending: 0,
            generators: [0; 4],
            shared_free: 0,
            shared_last: [0; 4],
            textures: std::array::from_fn(|_| VecDeque::with_capacity(16)),
            return_free: [0; 4],
            retry: VecDeque::with_capacity(64),
            constant_waiters: Vec::with_capacity(32),
        }
    }

    /// The data on their way back stand still for `cycles`, and so does what comes behind them.
    pub fn stall(&mut self, now: u64, cycles: u64) {
        self.hand_over_free = self.hand_over_free.max(now) + cycles;
        for generator in &mut self.generators {
            *generator = (*generator).max(now) + cycles;
        }
    }
}
