//! Which slice a line belongs to, and its number inside that slice.

use crate::divide::Divisor;
use crate::parameters::Misfit;

use super::ad102::{Ad102, Ad102Parameters};
use super::{Polynomial, SliceHash, fair};

/// The slice function of a GPU.
#[derive(Clone, Debug)]
pub struct SliceSelector {
    function: Function,
    partitions: u32,
    slices_per_partition: u32,
    slices: Divisor,
}

#[derive(Clone, Debug)]
enum Function {
    Fair,
    PolynomialMod(Polynomial),
    Ad102(Box<Ad102>),
}

/// Where a line belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Selected {
    /// The partition.
    pub partition: u32,
    /// The slice inside the partition.
    pub sub: u32,
    /// The line's number among those of the slice; of the partition, if
    /// [`SliceSelector::numbers_partitions`].
    pub local: u64,
}

impl SliceSelector {
    /// A function to `partitions` × `slices_per_partition` slices, at most 4096.
    ///
    /// # Errors
    /// The key at fault and what it must be.
    pub fn new(
        hash: SliceHash,
        partitions: u32,
        slices_per_partition: u32,
        hash_bits: u32,
        ad102: &Ad102Parameters,
    ) -> Result<SliceSelector, Misfit> {
        let slices = u64::from(partitions) * u64::from(slices_per_partition);
        let width = slices.next_power_of_two().trailing_zeros();
        Ok(SliceSelector {
            function: match hash {
                SliceHash::Fair => Function::Fair,
                SliceHash::PolynomialMod => {
                    Function::PolynomialMod(Polynomial::new(width, hash_bits))
                }
                SliceHash::Ad102 => {
                    let function = Ad102::new(ad102, partitions, slices_per_partition)?;
                    Function::Ad102(Box::new(function))
                }
            },
            partitions,
            slices_per_partition,
            slices: Divisor::new(slices),
        })
    }

    /// Number of slices.
    pub fn slices(&self) -> u32 {
        self.slices.get() as u32
    }

    /// Whether lines are numbered over all slices of a partition, not inside each.
    #[inline]
    pub fn numbers_partitions(&self) -> bool {
        matches!(self.function, Function::Ad102(_))
    }

    /// Where a line belongs. Functions that go by blocks of as many lines as there are slices give
    /// it the number of its block.
    #[inline]
    pub fn of(&self, line: u64) -> Selected {
        if let Function::Ad102(function) = &self.function {
            let (partition, sub, local) = function.of(line);
            return Selected {
                partition,
                sub,
                local,
            };
        }
        let block = self.slices.divide(line);
        let position = (line - block * self.slices.get()) as u32;
        let (partition, sub) = match &self.function {
            Function::PolynomialMod(polynomial) => {
                let slice = (polynomial.of(block) ^ position) % self.slices();
                let partition = slice / self.slices_per_partition;
                (partition, slice - partition * self.slices_per_partition)
            }
            _ => {
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
                )
            }
        };
        Selected {
            partition,
            sub,
            local: block,
        }
    }
}
