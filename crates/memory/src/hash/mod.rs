//! The functions that spread lines over slices and sets, each a pure function of the line number
//! (MODEL.md §8.1, §8.3). A new function is one file here and one line in the choice below.

mod ad102;
mod fair;
mod linear;
mod polynomial;
mod set;
mod slice;

pub use ad102::Ad102Parameters;
pub use polynomial::Polynomial;
pub use set::{SetIndex, SetMaskParameters};
pub use slice::SliceSelector;

hardware::choice! {
    /// The function that selects a slice.
    pub enum SliceHash {
        /// Every block of as many lines as there are slices goes to each slice once, in an order
        /// that is another for each block. Fair for any number of slices.
        Fair = "fair",
        /// The artifact's polynomial hash, reduced modulo the number of slices: unfair where that
        /// is no power of two (MODEL.md T22). Kept for comparisons.
        PolynomialMod = "polynomial-mod",
        /// AD102's 12 controllers of 3 or 4 slices, as reconstructed (MODEL.md §8.2).
        Ad102 = "ad102",
    }
}

hardware::choice! {
    /// The function that selects a set inside a slice.
    pub enum SetHash {
        /// The low bits, exclusive-or the polynomial hash of the others.
        Polynomial = "polynomial",
        /// The low bits.
        Linear = "linear",
        /// Parities under the masks of `l2.set_masks` and `l2.set_quotient_masks`.
        Masks = "masks",
    }
}
