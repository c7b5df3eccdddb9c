//! The numbers that name things: cycles, program counters, SMs, warps, CTAs, lanes, sectors, lines.

/// A core-clock cycle since the launch began.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Cycle(pub u64);

impl Cycle {
    /// A cycle that never comes.
    pub const NEVER: Cycle = Cycle(u64::MAX);
}

impl std::ops::Add<u64> for Cycle {
    type Output = Cycle;
    fn add(self, cycles: u64) -> Cycle {
        Cycle(self.0 + cycles)
    }
}

impl std::ops::Sub for Cycle {
    type Output = u64;
    fn sub(self, earlier: Cycle) -> u64 {
        self.0 - earlier.0
    }
}

/// A program counter in units of instructions: index into the loaded code image. Its byte address
/// is 16 times this number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Pc(pub u32);

impl Pc {
    /// The pc of the instruction that follows in memory.
    pub const fn next(self) -> Pc {
        Pc(self.0.wrapping_add(1))
    }

    /// Byte address inside the code image.
    pub const fn byte_address(self) -> u64 {
        self.0 as u64 * 16
    }
}

/// A streaming multiprocessor of the GPU, 0-based.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct SmId(pub u16);

/// A warp's place in its SM, 0 to 63. Its sub-core is `slot mod 4` (MODEL.md §2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct WarpSlot(pub u8);

/// A CTA's place in its SM, 0 to 31.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct CtaSlot(pub u8);

/// A set of the 32 lanes of a warp, bit i = lane i.
pub type LaneMask = u32;

/// A set of the warps of an SM, bit i = warp slot i.
pub type WarpMask = u64;

/// Names a deferred operation (DESIGN.md V1) of one SM from its issue to its last acknowledgement.
/// Reused afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Token(pub u32);

/// A 32-byte sector of device memory: byte address divided by 32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Sector(pub u64);

impl Sector {
    /// Bytes of a sector.
    pub const BYTES: u64 = 32;

    /// The sector that holds `address`.
    pub const fn of(address: u64) -> Sector {
        Sector(address / Sector::BYTES)
    }

    /// Byte address of its first byte.
    pub const fn address(self) -> u64 {
        self.0 * Sector::BYTES
    }
}

/// A set of the bytes of a sector, bit i = byte i.
pub type ByteMask = u32;

/// A 128-byte line of device memory: byte address divided by 128.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Line(pub u64);

/// A set of the sectors of a line, bit i = sector i; the upper four bits are 0.
pub type SectorMask = u8;

impl Line {
    /// Sectors of a line.
    pub const SECTORS: u32 = 4;
    /// Bytes of a line.
    pub const BYTES: u64 = Line::SECTORS as u64 * Sector::BYTES;
    /// All sectors of a line.
    pub const WHOLE: SectorMask = 0xf;

    /// The line that holds `address`.
    pub const fn of(address: u64) -> Line {
        Line(address / Line::BYTES)
    }

    /// Its sector `index`, 0 to 3.
    pub const fn sector(self, index: u32) -> Sector {
        Sector(self.0 * Line::SECTORS as u64 + index as u64)
    }
}

impl Sector {
    /// The line that holds it.
    pub const fn line(self) -> Line {
        Line(self.0 / Line::SECTORS as u64)
    }

    /// Its bit among the sectors of its line.
    pub const fn mask(self) -> SectorMask {
        1 << (self.0 % Line::SECTORS as u64)
    }
}
