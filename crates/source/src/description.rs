//! What the timing model must know about a static instruction before any is issued. Built once per
//! kernel from decoded instructions (or, later, from traces); the SM turns it into its 64-byte rows.

use sass::{Control, Footprint};

/// One static instruction, described for timing.
#[derive(Clone, PartialEq, Debug)]
pub struct Description {
    /// Control bits.
    pub control: Control,
    /// Registers read and written.
    pub footprint: Footprint,
    /// Latency class: row and column of the GPU's latency table.
    pub class: sass::Class,
    /// Constant operand of a fixed-latency instruction: looked up at issue in the L0 constant cache.
    pub constant: Option<ConstantUse>,
    /// Set if the instruction goes through the memory unit.
    pub memory: Option<MemoryShape>,
    /// What else issue has to do for it.
    pub special: Special,
}

/// A constant operand at a fixed place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConstantUse {
    /// Constant bank.
    pub bank: u8,
    /// Byte offset.
    pub offset: u32,
}

/// How an instruction meets the memory unit (rows of MODEL.md §7.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemoryShape {
    /// Which row of the stage table.
    pub kind: MemoryKind,
    /// Whether the address has no general register (uniform register or immediate only).
    pub uniform_address: bool,
    /// Bytes per lane: 1, 2, 4, 8, 16 (LDSM: 4 per matrix).
    pub bytes: u8,
}

/// Rows of the memory unit's stage table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum MemoryKind {
    /// LDG, LD, LDL, texture loads.
    GlobalLoad,
    /// STG, ST, STL, RED (no result).
    GlobalStore,
    /// ATOMG, ATOM: as loads, performed at L2.
    GlobalAtomic,
    /// LDS.
    SharedLoad,
    /// LDSM.
    MatrixLoad,
    /// STS.
    SharedStore,
    /// ATOMS.
    SharedAtomic,
    /// LDC.
    ConstantLoad,
    /// LDGSTS.
    CopyToShared,
    /// SHFL, S2R, MATCH, QSPC, CCTL, MEMBAR and others that only pass through.
    Pass,
}

/// What issue has to do besides the ordinary.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Special {
    /// Nothing.
    None,
    /// DEPBAR.LE: hold until `counter` is at most `at_most` and all counters of `others` are zero.
    WaitCounter {
        /// Dependence counter, 0 to 5.
        counter: u8,
        /// Highest value that lets the warp go on.
        at_most: u8,
        /// Further counters that must be zero, bit k = counter k.
        others: u8,
    },
    /// LDGDEPBAR: commits the LDGSTS group; its write counter falls when the group is complete.
    CommitCopies,
    /// ARRIVES.LDGSTSBAR: arrives at a barrier in shared memory when the warp's copies so far are
    /// complete.
    ArriveCopies,
    /// MEMBAR.
    Fence(Scope),
    /// BAR and its relatives.
    CtaBarrier {
        /// DEFER_BLOCKING: it takes hold of its warp later than a plain one.
        deferred: bool,
    },
    /// Reads the clock; sampled in the Control stage.
    Clock,
    /// ERRBAR.
    ErrorBarrier,
    /// CCTL.IVALL: invalidates L1D.
    InvalidateL1,
    /// EXIT.
    Exit,
}

/// Scope of a fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// The CTA.
    Cta,
    /// The GPU.
    Gpu,
    /// The system.
    System,
}
