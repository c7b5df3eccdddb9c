//! Where a line lives: its slice, its number inside the slice, and its place in the DRAM
//! (MODEL.md §8.1, address decode).

use hardware::{Gpu, HardwareError};

use crate::dram::{Coordinates, DramMap, DramParameters};
use crate::hash::{Ad102Parameters, SetIndex, SetMaskParameters, SliceSelector};
use crate::parameters::{L2Parameters, misfit};

/// Sectors of a line.
pub(crate) const SECTORS: u32 = source::Line::SECTORS;
/// Bytes of a line: the interleave of slices.
pub(crate) const LINE_BYTES: u64 = source::Line::BYTES;

/// The slice of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The memory partition.
    pub partition: u32,
    /// The slice inside the partition.
    pub sub: u32,
    /// The number of its line among those of the slice or of the partition, as the slice function
    /// counts; its low 32 bits.
    pub local: u32,
}

/// The address functions of a GPU.
#[derive(Clone, Debug)]
pub struct AddressMap {
    pub(crate) slices: SliceSelector,
    pub(crate) sets: SetIndex,
    pub(crate) dram: DramMap,
    pub(crate) slices_per_partition: u32,
    lines_together: bool,
}

impl AddressMap {
    /// The address functions that a GPU's documents choose.
    ///
    /// # Errors
    /// Masks, constants or a map that are missing or do not fit.
    pub fn new(
        gpu: &Gpu,
        l2: &L2Parameters,
        dram: &DramParameters,
    ) -> Result<AddressMap, HardwareError> {
        let slices_per_partition = l2.slices_per_partition as u32;
        let hash_bits = l2.hash_bits as u32;
        let map = DramMap::new(
            &dram.address_map,
            dram.bank_index,
            dram.banks,
            dram.rows,
            dram.channels_per_partition,
        )
        .map_err(|right| misfit(gpu, "dram.address_map", &right))?;
        Ok(AddressMap {
            slices: SliceSelector::new(
                l2.slice_hash,
                l2.partitions as u32,
                slices_per_partition,
                hash_bits,
                &Ad102Parameters::load(gpu)?,
            )
            .map_err(|misfit| misfit.of(gpu))?,
            sets: SetIndex::new(
                l2.set_hash,
                l2.sets.trailing_zeros(),
                hash_bits,
                &SetMaskParameters::load(gpu)?,
            )
            .map_err(|misfit| misfit.of(gpu))?,
            lines_together: map.keeps_lines_together(),
            dram: map,
            slices_per_partition,
        })
    }

    /// The set of a line in its slice: its number, and [`Place::local`].
    #[inline]
    pub fn set(&self, line: u64, local: u32) -> u32 {
        self.sets.of(line, local)
    }

    /// The slice of a physical line.
    #[inline]
    pub fn place(&self, line: source::Line) -> Place {
        let selected = self.slices.of(line.0);
        Place {
            partition: selected.partition,
            sub: selected.sub,
            local: selected.local as u32,
        }
    }

    /// The slice, counted over all partitions.
    #[inline]
    pub fn slice(&self, place: Place) -> u32 {
        place.partition * self.slices_per_partition + place.sub
    }

    /// Whether [`Place::local`] counts the lines of a partition, not those of a slice.
    pub fn numbers_partitions(&self) -> bool {
        self.slices.numbers_partitions()
    }

    /// Bytes of one row in every bank of a channel.
    pub fn row_bytes(&self) -> u64 {
        self.dram.row_bytes()
    }

    /// Number of slices.
    pub fn slice_count(&self) -> u32 {
        self.slices.slices()
    }

    /// Whether [`coordinates`](AddressMap::coordinates) are the same for all sectors of a line.
    #[inline]
    pub fn keeps_lines_together(&self) -> bool {
        self.lines_together
    }

    /// The DRAM channel, bank and row of sector `sector` (0 to 3) of a slice's line. The lines of
    /// a partition's slices take turns in its DRAM.
    #[inline]
    pub fn coordinates(&self, local: u32, sub_slice: u32, sector: u32) -> Coordinates {
        self.dram.of(self.of_partition(local, sub_slice), sector)
    }

    /// The column, a burst of the row, of the same sector.
    #[cold]
    pub fn column(&self, local: u32, sub_slice: u32, sector: u32) -> u32 {
        self.dram
            .column(self.of_partition(local, sub_slice), sector)
    }

    /// The number of a slice's line among those of its partition.
    #[inline]
    fn of_partition(&self, local: u32, sub_slice: u32) -> u64 {
        if self.slices.numbers_partitions() {
            u64::from(local)
        } else {
            u64::from(local) * u64::from(self.slices_per_partition) + u64::from(sub_slice)
        }
    }
}
