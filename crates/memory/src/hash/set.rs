//! Which set of its slice a line belongs to.

use super::{Polynomial, SetHash};

/// The set function of the slices.
#[derive(Clone, Debug)]
pub struct SetIndex {
    hash: SetHash,
    bits: u32,
    polynomial: Polynomial,
}

impl SetIndex {
    /// A function to 2^`bits` sets whose polynomial looks at `hash_bits` bits above those.
    pub fn new(hash: SetHash, bits: u32, hash_bits: u32) -> SetIndex {
        SetIndex {
            hash,
            bits,
            polynomial: Polynomial::new(bits, hash_bits),
        }
    }

    /// The set of the slice's line number `local`.
    #[inline]
    pub fn of(&self, local: u32) -> u32 {
        let low = local & ((1 << self.bits) - 1);
        match self.hash {
            SetHash::Polynomial => low ^ self.polynomial.of(u64::from(local) >> self.bits),
            SetHash::Linear => low,
        }
    }
}
