//! Which slice a line belongs to, and its number inside that slice.

use super::{Polynomial, SliceHash, fair};

/// The slice function of a GPU.
#[derive(Clone, Debug)]
pub struct SliceSelector {
    hash: SliceHash,
    partitions: u32,
    slices_per_partition: u32,
    slices: u64,
    /// ⌈2^64 / slices⌉, for division by multiplication; 0 for one slice.
    reciprocal: u64,
    polynomial: Polynomial,
}

/// Below this, division by multiplication with a rounded-up reciprocal is exact for up to 4096
/// slices.
const EXACT_BELOW: u64 = 1 << 48;

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
            slices,
            reciprocal: if slices > 1 {
                (u64::MAX / slices) + 1
            } else {
                0
            },
            polynomial: Polynomial::new(slices.next_power_of_two().trailing_zeros(), hash_bits),
        }
    }

    /// Number of slices.
    pub fn slices(&self) -> u32 {
        self.slices as u32
    }

    /// The slice of a line, and the line's number inside the slice: the number of the block of as
    /// many lines as there are slices.
    #[inline]
    pub fn of(&self, line: u64) -> (u32, u64) {
        let block = self.divide(line);
        let position = (line - block * self.slices) as u32;
        let slice = match self.hash {
            SliceHash::Fair => {
                let partition = position / self.slices_per_partition;
                let sub = position - partition * self.slices_per_partition;
                let (rotate, rotate_sub) =
                    fair::rotation(block, self.partitions, self.slices_per_partition);
                let wrap = |value: u32, bound: u32| {
                    if value >= bound { value - bound } else { value }
                };
                wrap(partition + rotate, self.partitions) * self.slices_per_partition
                    + wrap(sub + rotate_sub, self.slices_per_partition)
            }
            SliceHash::PolynomialMod => (self.polynomial.of(block) ^ position) % self.slices as u32,
        };
        (slice, block)
    }

    #[inline]
    fn divide(&self, line: u64) -> u64 {
        if line < EXACT_BELOW && self.reciprocal != 0 {
            ((u128::from(line) * u128::from(self.reciprocal)) >> 64) as u64
        } else {
            line / self.slices
        }
    }
}
