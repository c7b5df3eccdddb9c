//! Which set of its slice a line belongs to.

use crate::divide::Divisor;
use crate::parameters::Misfit;

use super::linear::{Linear, rank};
use super::{Polynomial, SetHash, ad102};

hardware::parameters! {
    /// What the set function `masks` is made of; a GPU with another function has none of these.
    pub struct SetMaskParameters = "l2" {
        /// For each bit of the set's number, from the lowest, a mask over the bits of an address.
        set_masks: Option<Vec<u64>>, "", ..;
        /// For each bit, a mask over the bits of the quotient, whose parity is added.
        set_quotient_masks: Option<Vec<u64>>, "", ..;
        /// What an address is divided by to give the quotient.
        set_quotient: Option<u64>, "bytes", ..;
        /// Bytes of the blocks that are counted modulo 9 for the highest bit.
        set_block: Option<u64>, "bytes", ..;
        /// The remainders modulo 9 of blocks for which the highest bit turns over.
        set_residues: Option<Vec<u32>>, "", ..;
    }
}

/// The set function of the slices.
#[derive(Clone, Debug)]
pub enum SetIndex {
    /// The low bits of the line's number in its slice, exclusive-or a polynomial hash of the others.
    Polynomial(u32, Polynomial),
    /// The low bits.
    Linear(u32),
    /// Parities of the line's number and of a quotient.
    Masks(Box<SetMasks>),
}

/// Sets by masks (MODEL.md §8.2).
#[derive(Clone, Debug)]
pub struct SetMasks {
    direct: Linear,
    quotient: Linear,
    by: Divisor,
    /// What a block's remainder modulo 9 adds.
    turned: [u32; 9],
    block: u32,
    nine: Divisor,
}

impl SetIndex {
    /// A function to 2^`bits` sets whose polynomial looks at `hash_bits` bits above those.
    ///
    /// # Errors
    /// The key at fault and what it must be.
    pub fn new(
        hash: SetHash,
        bits: u32,
        hash_bits: u32,
        masks: &SetMaskParameters,
    ) -> Result<SetIndex, Misfit> {
        Ok(match hash {
            SetHash::Polynomial => SetIndex::Polynomial(bits, Polynomial::new(bits, hash_bits)),
            SetHash::Linear => SetIndex::Linear(bits),
            SetHash::Masks => SetIndex::Masks(Box::new(SetMasks::new(masks, bits)?)),
        })
    }

    /// The set of a line: its number, and that among the lines of its slice.
    #[inline]
    pub fn of(&self, line: u64, local: u32) -> u32 {
        let low = |bits: u32| local & ((1 << bits) - 1);
        match self {
            SetIndex::Polynomial(bits, hash) => low(*bits) ^ hash.of(u64::from(local) >> bits),
            SetIndex::Linear(bits) => low(*bits),
            SetIndex::Masks(masks) => masks.of(line),
        }
    }
}

impl SetMasks {
    fn new(p: &SetMaskParameters, bits: u32) -> Result<SetMasks, Misfit> {
        const MASKS: &str = "l2.set_masks";
        const QUOTIENT: &str = "l2.set_quotient";
        const QUOTIENT_MASKS: &str = "l2.set_quotient_masks";
        const BLOCK: &str = "l2.set_block";
        const RESIDUES: &str = "l2.set_residues";
        let count = bits as usize;
        let several = || format!("{bits} masks, one for each bit of a set's number");
        let direct = p.set_masks.as_deref().ok_or(Misfit::missing(MASKS))?;
        let direct = ad102::lines(MASKS, direct)?;
        if direct.len() != count {
            return Err(Misfit::new(MASKS, several()));
        }
        let line = crate::address::LINE_BYTES;
        let (quotient, by) = match (p.set_quotient_masks.as_deref(), p.set_quotient) {
            (None, None) => (vec![0; count], 1),
            (None, _) => return Err(Misfit::missing(QUOTIENT_MASKS)),
            (_, None) => return Err(Misfit::missing(QUOTIENT)),
            (Some(masks), _) if masks.len() != count => {
                return Err(Misfit::new(QUOTIENT_MASKS, several()));
            }
            (Some(masks), _) if masks.iter().any(|mask| mask >> 32 != 0) => {
                return Err(Misfit::new(QUOTIENT_MASKS, "masks of 32 bits"));
            }
            (_, Some(by)) if by == 0 || by % line != 0 => {
                return Err(Misfit::new(QUOTIENT, format!("a multiple of {line}")));
            }
            (Some(masks), Some(by)) => (masks.to_vec(), by / line),
        };
        let rows: Vec<u128> = direct
            .iter()
            .zip(&quotient)
            .map(|(&direct, &quotient)| u128::from(direct) | u128::from(quotient) << 64)
            .collect();
        if rank(&rows) != count {
            let right =
                "masks that are, with those of l2.set_quotient_masks, independent over GF(2)";
            return Err(Misfit::new(MASKS, right));
        }
        let mut turned = [0; 9];
        let block = match (p.set_residues.as_deref(), p.set_block) {
            (None, None) => line,
            (None, _) => return Err(Misfit::missing(RESIDUES)),
            (_, None) => return Err(Misfit::missing(BLOCK)),
            (Some(residues), Some(block)) => {
                for &residue in residues {
                    let place = turned.get_mut(residue as usize);
                    *place.ok_or(Misfit::new(RESIDUES, "numbers below 9"))? = 1 << bits >> 1;
                }
                block
            }
        };
        if !block.is_power_of_two() || !(line..=1 << 30).contains(&block) {
            let right = format!("a power of two from {line} bytes to 1 GiB");
            return Err(Misfit::new(BLOCK, right));
        }
        Ok(SetMasks {
            direct: Linear::from_masks(&direct),
            quotient: Linear::from_masks(&quotient),
            by: Divisor::new(by),
            turned,
            block: (block / line).trailing_zeros(),
            nine: Divisor::new(9),
        })
    }

    #[inline]
    fn of(&self, line: u64) -> u32 {
        let block = line >> self.block;
        let residue = block - 9 * self.nine.divide(block);
        self.direct.of(line)
            ^ self.quotient.of(self.by.divide(line))
            ^ self.turned[residue as usize]
    }
}
