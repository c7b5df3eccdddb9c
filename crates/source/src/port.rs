//! What crosses between an SM and the memory side: addresses and kinds, never values (DESIGN.md V6).

use crate::id::{Cycle, Sector, SmId, Token};

/// Names a request of one SM until its last reply. Chosen and reused by the SM.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct RequestId(pub u32);

/// What a request asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum RequestKind {
    /// Data read (loads, deferred strong loads).
    Read,
    /// Data write; acknowledged.
    Write,
    /// Atomic with a result; performed at the slice.
    Atomic,
    /// Atomic without a result; performed at the slice, acknowledged.
    Reduction,
    /// Instruction line read after an L1I miss.
    Instruction,
    /// Constant line read after an L1.5 miss.
    Constant,
}

/// One packet from an SM to the memory side: one sector (32 bytes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Cycle in which it leaves the SM (enters the request network).
    pub cycle: Cycle,
    /// The SM it comes from.
    pub sm: SmId,
    /// Answered under this name, exactly once.
    pub id: RequestId,
    /// What it asks for.
    pub kind: RequestKind,
    /// The sector it touches.
    pub sector: Sector,
    /// Writes: number of bytes written in the sector, 1 to 32. Others: 32.
    pub bytes: u8,
    /// Lanes merged into this packet (atomics and reductions: how many updates it carries), at least 1.
    pub lanes: u8,
    /// Set if the packet belongs to a deferred operation: the slice reports when it performs it.
    pub deferred: Option<Token>,
}

/// The answer to one request: data, acknowledgement, and the credit to send another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reply {
    /// Cycle in which it arrives at the SM.
    pub cycle: Cycle,
    /// The request it answers.
    pub id: RequestId,
}

/// A deferred packet took effect at its slice. Listed by the memory side in the order in which values
/// must be applied: (arrival cycle, slice, SM, sequence).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Performed {
    /// Cycle in which the packet arrived at the slice.
    pub cycle: Cycle,
    /// SM that sent it.
    pub sm: SmId,
    /// Its operation.
    pub token: Token,
    /// The sector of this packet: lanes of the operation with addresses in it take effect.
    pub sector: Sector,
}
