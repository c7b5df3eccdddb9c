//! What can happen to an SM at a known cycle.
//!
//! Events of a warp that may come after its end carry its generation: its slot may hold another warp by
//! then.

use crate::dependence::Hold;

/// Index of a memory instruction in the memory unit's pending-request table.
pub type RecordIndex = u16;

/// One entry of the calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A dependence counter of a warp falls by one; visible to issue in this cycle.
    CounterFalls {
        slot: u8,
        counter: u8,
        generation: u8,
    },
    /// A DEPBAR.LE of this warp takes hold.
    DepbarHolds {
        slot: u8,
        counter: u8,
        at_most: u8,
        others: u8,
        generation: u8,
    },
    /// The warp's CTA barrier takes hold, unless it has been released by now.
    BarrierHolds { slot: u8, generation: u8 },
    /// The CTA barrier lets these warps go.
    BarrierReleases { wait: u8 },
    /// A sleeping or fenced warp goes on.
    WarpWakes { slot: u8, hold: Hold },
    /// A variable-latency instruction outside the memory unit has read its sources.
    SourcesRead {
        slot: u8,
        counter: u8,
        hazard: u16,
        generation: u8,
    },
    /// A variable-latency result outside the memory unit wants the write ports.
    ResultReady {
        slot: u8,
        counter: u8,
        hazard: u16,
        banks: u8,
        generation: u8,
    },
    /// A variable-latency result outside the memory unit is written.
    ResultWritten {
        slot: u8,
        counter: u8,
        hazard: u16,
        variable: bool,
        generation: u8,
    },
    /// The oldest instruction of this sub-core's address stages asks for the shared unit.
    HandOver { sub_core: u8 },
    /// The shared unit can take the next instruction.
    HandOverFree,
    /// Source registers of a memory instruction have been read.
    MemorySourcesRead { record: RecordIndex },
    /// The accesses of a memory instruction reach the L1 data cache.
    L1Access { record: RecordIndex },
    /// A constant load reaches the constant cache of the memory unit.
    ConstantAccess { record: RecordIndex },
    /// All data of a memory instruction are at hand in the shared unit.
    DataReady { record: RecordIndex },
    /// The last register of a memory instruction has been written.
    WrittenBack { record: RecordIndex },
    /// A memory instruction without result leaves the pending-request table.
    Retired { record: RecordIndex },
    /// The L0-L1 link can take a request.
    LinkRequest,
    /// A request arrives at the shared instruction and constant cache.
    LinkArrives {
        line: u32,
        sub_core: u8,
        purpose: u8,
    },
    /// A line arrives at a sub-core (or the memory unit).
    LinkReply {
        line: u32,
        sub_core: u8,
        purpose: u8,
    },
    /// A line that missed the shared instruction and constant cache is filled.
    LineFills { miss: u16 },
    /// The oldest FP64 instruction of this sub-core is ready for the shared FP64 unit.
    Float64HandOver { sub_core: u8 },
}
