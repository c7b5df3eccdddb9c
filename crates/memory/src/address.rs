//! Where a sector lives: its slice, its number inside the slice, and its place in the DRAM
//! (MODEL.md §8.1, address decode).

use crate::dram::{Coordinates, DramMap};
use crate::hash::{SetIndex, SliceSelector};

/// Sectors of a line.
pub(crate) const SECTORS: u32 = 4;
/// Bytes of a line: the interleave of slices.
pub(crate) const LINE_BYTES: u64 = SECTORS as u64 * source::Sector::BYTES;

/// The slice of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The memory partition.
    pub partition: u32,
    /// The slice inside the partition.
    pub sub: u32,
    /// The number of its line among those of the slice, its low 32 bits.
    pub local: u32,
}

/// The address functions of a GPU.
#[derive(Clone, Debug)]
pub struct AddressMap {
    pub(crate) slices: SliceSelector,
    pub(crate) sets: SetIndex,
    pub(crate) dram: DramMap,
    pub(crate) slices_per_partition: u32,
}

impl AddressMap {
    /// The slice of the line that holds `sector`.
    #[inline]
    pub fn place(&self, sector: source::Sector) -> Place {
        let (partition, sub, local) = self.slices.of(sector.0 / u64::from(SECTORS));
        Place {
            partition,
            sub,
            local: local as u32,
        }
    }

    /// The slice, counted over all partitions.
    #[inline]
    pub fn slice(&self, place: Place) -> u32 {
        place.partition * self.slices_per_partition + place.sub
    }

    /// Number of slices.
    pub fn slice_count(&self) -> u32 {
        self.slices.slices()
    }

    /// The DRAM channel, bank and row of sector `sector` (0 to 3) of a slice's line. The lines of
    /// a partition's slices take turns in its DRAM.
    #[inline]
    pub fn coordinates(&self, local: u32, sub_slice: u32, sector: u32) -> Coordinates {
        let line = u64::from(local) * u64::from(self.slices_per_partition) + u64::from(sub_slice);
        self.dram.of(line, sector)
    }
}
