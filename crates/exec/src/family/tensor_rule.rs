//! How the tensor cores of each architecture add: how many products a step takes, how far below the
//! largest term they are cut, how many fraction bits a result keeps.
//!
//! The rules are those of microsoft/MMA-Sim (Xie et al., arXiv 2511.10909) and of Khattak and
//! Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv 2512.07004), which agree with each other
//! and with the latter's measurements on A100, A2, L40S, an Ada laptop GPU, H100 and H200:
//!
//! * products are exact, a denormal keeps the exponent of the least normal number, and so does a
//!   denormal accumulator;
//! * accumulator and products of a step are aligned to the largest exponent among them, cut toward
//!   zero a number of bits below it, and added exactly;
//! * the sum is cut toward zero to single precision, or rounded to nearest to half precision; the
//!   next step takes it as its accumulator;
//! * NaN results are canonical.
//!
//! For sparse factors no model is published. Their steps are taken to hold as many of the products
//! that are left as dense ones do.

use sass::Architecture;

/// Element type of a factor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Element {
    /// binary16.
    Half,
    /// bfloat16.
    Brain,
    /// The upper 19 bits of binary32.
    Tf32,
    /// Four exponent and three fraction bits; no infinity, one NaN of each sign.
    E4m3,
    /// Five exponent and two fraction bits.
    E5m2,
}

/// Where sign, exponent and fraction of an element lie.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Bits below the fraction.
    pub(crate) drop: u32,
    pub(crate) fraction: u32,
    pub(crate) exponent: u32,
    /// Least magnitude that is infinite or NaN.
    pub(crate) least_special: u32,
    /// Magnitude of an infinity, more than any if there is none.
    pub(crate) infinity: u32,
}

impl Layout {
    /// A format with the special values of IEEE 754.
    pub(crate) const fn ieee(drop: u32, fraction: u32, exponent: u32) -> Layout {
        let infinity = ((1 << exponent) - 1) << fraction;
        Layout {
            drop,
            fraction,
            exponent,
            least_special: infinity,
            infinity,
        }
    }
}

impl Element {
    /// Its layout.
    pub(crate) const fn layout(self) -> Layout {
        match self {
            Element::Half => Layout::ieee(0, 10, 5),
            Element::Brain => Layout::ieee(0, 7, 8),
            Element::Tf32 => Layout::ieee(13, 10, 8),
            Element::E5m2 => Layout::ieee(0, 2, 5),
            // The largest magnitude alone is NaN.
            Element::E4m3 => Layout {
                least_special: 0x7f,
                infinity: u32::MAX,
                ..Layout::ieee(0, 3, 4)
            },
        }
    }

    /// Bits from one element of a register to the next.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Element::Half | Element::Brain => 16,
            Element::Tf32 => 32,
            Element::E4m3 | Element::E5m2 => 8,
        }
    }

    /// Elements of a register.
    pub(crate) const fn per_register(self) -> usize {
        32 / self.bits() as usize
    }
}

/// How one architecture adds products of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    /// Most products of one step.
    pub(crate) products: u8,
    /// Fraction bits kept below the largest exponent of a step.
    pub(crate) kept: u8,
    /// Fraction bits of a single-precision result.
    pub(crate) fraction: u8,
}

/// The rule for factors of a type, `None` where the architecture has no such instruction.
pub(crate) fn rule(architecture: Architecture, element: Element) -> Option<Rule> {
    use Architecture::{Sm75, Sm80, Sm86, Sm89, Sm90};
    use Element::{Brain, E4m3, E5m2, Half, Tf32};
    let (products, kept, fraction) = match (architecture, element) {
        (Sm75, Half) => (8, 24, 23),
        (Sm80 | Sm86 | Sm89, Half | Brain) => (8, 24, 23),
        (Sm80 | Sm86 | Sm89, Tf32) => (4, 24, 23),
        // Accumulates with 13 fraction bits, whatever the format of the result.
        (Sm89, E4m3 | E5m2) => (16, 13, 13),
        (Sm90, Half | Brain) => (16, 25, 23),
        (Sm90, Tf32) => (8, 25, 23),
        _ => return None,
    };
    Some(Rule {
        products,
        kept,
        fraction,
    })
}
