//! The structured-sparse factor of mma.sp: which elements of B meet the elements of A that are kept.
//!
//! A row of A holds two of every four elements (one of two TF32 numbers, two of four pairs of 4-bit
//! integers), and the metadata says which. The four lanes of a row share its metadata: depending on the
//! shape, all four, a pair of them or a single one, which the selector names (PTX ISA, "Warp-level
//! matrix instructions for sparse matrix").

use crate::lanes::Lanes;
use crate::warp::Warp;

use super::tensor::register;
use super::tensor_rule::Element;
use super::tensor_step::{MOST, Terms, terms};

/// The metadata operand of a sparse product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Metadata {
    /// Its register, `None` for RZ.
    pub(crate) row: Option<u16>,
    /// Which lane or pair of lanes of each four holds it.
    pub(crate) selector: u8,
    /// Bits of an element of A.
    pub(crate) bits: u8,
    /// Elements of a row of A as it lies in registers.
    pub(crate) k: u8,
}

impl Metadata {
    /// Bits of metadata of one kept element, or of one kept pair of 4-bit integers.
    const fn index_bits(self) -> usize {
        if self.bits == 32 { 4 } else { 2 }
    }

    /// For the row of A that is `lane`'s in the upper (0) or lower (1) half: the lane and the first bit
    /// of the metadata of kept element `kept`.
    #[inline(always)]
    fn place(self, lane: usize, half: usize, kept: usize) -> (usize, usize) {
        // Pairs of 4-bit integers have one index.
        let (kept, k) = match self.bits {
            4 => (kept / 2, usize::from(self.k) / 2),
            _ => (kept, usize::from(self.k)),
        };
        let bit = kept * self.index_bits();
        let row_bits = k * self.index_bits();
        let selector = usize::from(self.selector);
        let within = match (self.bits >= 16, row_bits) {
            // Both halves of the rows in one lane.
            (true, 16) => return ((lane & !3) + selector, 16 * half + bit),
            (true, _) => {
                let within = 2 * selector + bit / 16;
                return ((lane & !3) + (within & 3), 16 * half + bit % 16);
            }
            // One lane for each half, and for each 32 bits of the row.
            (false, 32) => 2 * selector + half,
            (false, _) => 2 * (bit / 32) + half,
        };
        ((lane & !3) + (within & 3), bit % 32)
    }

    /// Where along the depth kept element `kept` stands, from the word of metadata that tells it.
    #[inline(always)]
    fn position(self, word: u32, bit: usize, kept: usize) -> usize {
        let index = word as usize >> bit & 3;
        match self.bits {
            // The indices of the two 16-bit halves of a number: 0b0100 or 0b1110.
            32 => 2 * kept + (index >> 1),
            4 => 8 * (kept / 4) + 2 * index + kept % 2,
            _ => 4 * (kept / 2) + index,
        }
    }

    /// The position along the depth of kept element `kept` in the row of A of `lane` and `half`.
    #[inline(always)]
    pub(crate) fn find(self, words: &Lanes, lane: usize, half: usize, kept: usize) -> usize {
        let (holder, bit) = self.place(lane, half, kept);
        self.position(words[holder & 31], bit, kept)
    }
}

/// The elements of B that meet the kept elements of one half of A's rows.
pub(crate) struct Selected {
    pub(crate) metadata: Metadata,
    pub(crate) element: Element,
    /// First register of B.
    pub(crate) b: Option<u16>,
    /// Upper (0) or lower (1) rows.
    pub(crate) half: usize,
    /// First kept element.
    pub(crate) first: usize,
}

impl Selected {
    /// Deals out `count` elements for both columns of each lane; whether any is infinite or NaN.
    #[inline(always)]
    pub(crate) fn deal(&self, warp: &Warp, count: usize, dealt: &mut [[Terms; MOST]; 2]) -> bool {
        let words = register(warp, self.metadata.row, 0);
        let per_register = self.element.per_register();
        let mut special = false;
        for slot in 0..count {
            // Register, lane of a column and first bit of each lane's element.
            let places: [(usize, usize, u32); 32] = std::array::from_fn(|lane| {
                let kept = self.first + slot;
                let k = self.metadata.find(&words, lane, self.half, kept);
                let (index, rest) = (k / (4 * per_register), k % (4 * per_register));
                let shift = self.element.bits() * (rest % per_register) as u32;
                (index, rest / per_register, shift)
            });
            for column in 0..2 {
                let picked = Lanes::from_fn(|lane| {
                    let (index, within, shift) = places[lane];
                    let from = 4 * (2 * (lane % 4) + column) + within;
                    let Some(first) = self.b else { return 0 };
                    warp.registers[first as usize + index][from & 31] >> shift
                });
                let (found, infinite) = terms(self.element, &picked, 0);
                dealt[column][slot & (MOST - 1)] = found;
                special |= infinite;
            }
        }
        special
    }
}
