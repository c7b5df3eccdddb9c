//! What enters a slice and what leaves it.

use source::{ByteMask, Line, RequestKind, SectorMask};

/// A request at the port of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// L2 cycle in which it has passed the port.
    pub arrival: u64,
    /// L2 cycle in which it has reached it.
    pub reached: u64,
    /// The line.
    pub line: u64,
    /// The number of the line among those of the slice.
    pub local: u32,
    /// The request's name.
    pub id: u32,
    /// Its SM.
    pub sm: u16,
    /// L2 cycles that the lookup is busy with it.
    pub cost: u16,
    /// What it asks for.
    pub kind: RequestKind,
    /// The sectors of the line.
    pub sectors: SectorMask,
    /// The bytes of each that a write writes.
    pub bytes: [ByteMask; Line::SECTORS as usize],
    /// Whether its way is noted.
    pub traced: bool,
}

/// A reply on its way into the reply network.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Cycle in which its first sector enters the network.
    pub cycle: u64,
    /// The request's name.
    pub id: u32,
    /// Its SM.
    pub sm: u16,
    /// The sectors that it answers.
    pub sectors: SectorMask,
    /// Cycles from its first sector to its last.
    pub span: u8,
    /// Whether it carries data.
    pub data: bool,
    /// Whether its way is noted.
    pub traced: bool,
}

/// The sectors of a mask.
#[inline]
pub(super) fn each(mut sectors: SectorMask) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let sector = sectors.trailing_zeros() as u8;
        let some = sectors != 0;
        sectors &= sectors.wrapping_sub(1);
        some.then_some(sector)
    })
}
