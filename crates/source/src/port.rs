//! What crosses between an SM and the memory side: addresses and kinds, never values (DESIGN.md V6).

use crate::id::{ByteMask, Cycle, Line, Sector, SectorMask, SmId, Token};

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

/// One packet from an SM to the memory side: some sectors of one line, physically addressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Cycle in which it leaves the SM (enters the request network).
    pub cycle: Cycle,
    /// The SM it comes from.
    pub sm: SmId,
    /// Every sector is answered under this name, exactly once.
    pub id: RequestId,
    /// What it asks for.
    pub kind: RequestKind,
    /// The physical line it touches.
    pub line: Line,
    /// The sectors of the line that it touches, at least one.
    pub sectors: SectorMask,
    /// Writes: the bytes of each sector that are written; none of sectors that are not touched. Others: 0.
    pub bytes: [ByteMask; Line::SECTORS as usize],
    /// Lanes merged into this packet (atomics and reductions: how many updates it carries), at least 1.
    pub lanes: u8,
    /// Set if the packet belongs to a deferred operation: the slice reports when it performs it.
    pub deferred: Option<Deferred>,
    /// Whether each structure on its way notes when and where it met it. Changes nothing else.
    pub traced: bool,
}

/// What a packet carries for the side of the values, of which the memory side sees nothing
/// (DESIGN.md V6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deferred {
    /// Its operation.
    pub token: Token,
    /// The packet's line as the program addresses it. Pages hold whole lines: the sectors are the same.
    pub virtual_line: Line,
}

/// The answer to some sectors of a request: data or acknowledgement, and, with the last sector, the
/// credit to send another packet. The sectors that were found in L2 come together, those of a miss as
/// the DRAM returns them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reply {
    /// Cycle in which the last of these sectors arrives at the SM.
    pub cycle: Cycle,
    /// The request it answers.
    pub id: RequestId,
    /// The sectors that came, at least one.
    pub sectors: SectorMask,
}

/// A sector of a deferred packet took effect at its slice. Listed by the memory side in the order in
/// which values must be applied: (arrival cycle, slice, SM, sequence), and by sector inside a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Performed {
    /// Cycle in which the packet arrived at the slice.
    pub cycle: Cycle,
    /// SM that sent it.
    pub sm: SmId,
    /// Its operation.
    pub token: Token,
    /// A sector of this packet, virtually addressed: lanes of the operation with addresses in it take
    /// effect.
    pub sector: Sector,
}
