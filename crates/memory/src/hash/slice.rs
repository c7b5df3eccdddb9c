//! Which slice a line belongs to, and its number inside that slice.

use crate::divide::Divisor;

use super::{Polynomial, SliceHash, fair};

/// The slice function of a GPU.
#[derive(Clone, Debug)]
pub struct SliceSelector {
    hash: SliceHash,
    partitions: u32,
    slices_per_partition: u32,
    slices: Divisor,
    polynomial: Polynomial,
}

impl SliceSelector {
    /// A function to `partitions` × `slices_per_partition` slices, at most 4096.
    pub fn new(
        hash: SliceHash,
        partitions: u32,
        slices_per_partition: u32,
        hash_bits: u32,
    ) -> SliceSelector {
        let slices = u64::from(partitions) * u64::from(slices_per_partition);
        SliceSelector {
            hash,
            partitions,
            slices_per_partition,
            slices: Divisor::new(slices),
            polynomial: Polynomial::new(slices.next_power_of_two().trailing_zeros(), hash_bits),
        }
    }

    /// Number of slices.
    pub fn slices(&self) -> u32 {
        self.slices.get() as u32
    }

    /// The partition of a line, the slice inside it, and the line's number inside the slice: the
    /// number of the block of as many lines as there are slices.
    #[inline]
    pub fn of(&self, line: u64) -> (u32, u32, u64) {
        let block = self.slices.divide(line);
        let position = (line - block * self.slices.get()) as u32;
        match self.hash {
            SliceHash::Fair => {
                let partition = position / self.slices_per_partition;
                let sub = position - partition * self.slices_per_partition;
                let (rotate, rotate_sub) =
                    fair::rotation(block, self.partitions, self.slices_per_partition);
                let wrap = |value: u32, bound: u32| {
                    if value >= bound { value - bound } else { value }
                };
                (
                    wrap(partition + rotate, self.partitions),
                    wrap(sub + rotate_sub, self.slices_per_partition),
                    block,
                )
            }
            SliceHash::PolynomialMod => {
                let slice = (self.polynomial.of(block) ^ position) % self.slices();
                let partition = slice / self.slices_per_partition;
                (
                    partition,
                    slice - partition * self.slices_per_partition,
                    block,
                )
            }
        }
    }
}
