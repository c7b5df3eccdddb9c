//! One step of an accumulation, for all lanes at once: elements become significands and exponents,
//! which are aligned, cut and added as `tensor_rule` says.

use crate::lanes::Lanes;
use crate::rounding::{HALF, HALF_NAN, NAN, Rounding, SINGLE, narrow};

use super::tensor_rule::{Element, Layout, Rule};

/// Exponent that zero counts with.
const ZERO_EXPONENT: i32 = -126;

/// Exponent of infinities (significand 1 or -1) and of NaN (significand 0), above all others, also
/// beside a zero.
const SPECIAL: i32 = 0x1000;

/// Least sum of two exponents one of which is special.
const SPECIAL_PRODUCT: i32 = SPECIAL - 0x400;

/// Most products of a step.
pub(crate) const MOST: usize = 16;

/// Products added in one 32-bit sum: those of Hopper have 27 bits.
const CHUNK: usize = 8;

/// One element in each lane: a signed significand and an exponent, as words.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) significand: Lanes,
    pub(crate) exponent: Lanes,
}

impl Terms {
    /// Zeros.
    pub(crate) const ZERO: Terms = Terms {
        significand: Lanes::ZERO,
        exponent: Lanes::ZERO,
    };

    /// For each lane the element of lane `from(lane)`.
    #[inline(always)]
    pub(crate) fn deal(&self, from: impl Fn(usize) -> usize) -> Terms {
        Terms {
            significand: Lanes::from_fn(|lane| self.significand[from(lane) & 31]),
            exponent: Lanes::from_fn(|lane| self.exponent[from(lane) & 31]),
        }
    }
}

/// Significand and exponent of an element in the low bits.
#[inline(always)]
fn decode(layout: Layout, bits: u32) -> (i32, i32) {
    let bits = bits >> layout.drop;
    let top = (1 << layout.exponent) - 1;
    let bias = (top >> 1) as i32;
    let fraction = bits & ((1 << layout.fraction) - 1);
    let exponent = bits >> layout.fraction & top;
    let sign = 0i32.wrapping_sub((bits >> (layout.fraction + layout.exponent) & 1) as i32);
    let special = exponent == top && fraction >= layout.special;
    let number = fraction | ((exponent != 0) as u32) << layout.fraction;
    let significand = if special {
        (fraction == layout.infinity) as u32
    } else {
        number
    } as i32;
    let power = if special {
        SPECIAL
    } else if number == 0 {
        ZERO_EXPONENT
    } else {
        exponent.max(1) as i32 - bias
    };
    ((significand ^ sign) - sign, power)
}

/// Decodes the elements of one register that stand `shift` bits up; whether any is special.
#[inline(always)]
pub(crate) fn terms(element: Element, word: &Lanes, shift: u32) -> (Terms, bool) {
    let layout = element.layout();
    let mut terms = Terms::ZERO;
    let mut special = 0u32;
    let mut lane = 0;
    while lane < 32 {
        let (significand, exponent) = decode(layout, word[lane] >> shift);
        terms.significand[lane] = significand as u32;
        terms.exponent[lane] = exponent as u32;
        special |= exponent as u32 & SPECIAL as u32 & !((exponent >> 31) as u32);
        lane += 1;
    }
    (terms, special != 0)
}

/// Layout of an accumulator.
const fn accumulator_layout(single: bool) -> Layout {
    let (fraction, exponent) = if single { (23, 8) } else { (10, 5) };
    Layout {
        drop: 0,
        fraction,
        exponent,
        special: 0,
        infinity: 0,
    }
}

/// A magnitude cut toward zero.
#[inline(always)]
fn cut(value: i32, up: u32, down: i32) -> i32 {
    let sign = value >> 31;
    let magnitude = ((value ^ sign) - sign) as u32;
    let aligned = ((magnitude << up) >> down.min(31)) as i32;
    (aligned ^ sign) - sign
}

/// What a step depends on besides its terms.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub(crate) rule: Rule,
    /// Fraction bits of a product.
    pub(crate) fraction: u32,
    /// The accumulator comes in single precision.
    pub(crate) single_in: bool,
    /// The result is in single precision.
    pub(crate) single_out: bool,
}

impl Step {
    /// The accumulators after the products of `a` and `b`, at most [`MOST`], were added. `special`
    /// says whether any element may be infinite or NaN.
    #[inline(always)]
    pub(crate) fn add(self, accumulator: &Lanes, a: &[Terms], b: &[Terms], special: bool) -> Lanes {
        let kept = u32::from(self.rule.kept);
        let layout = accumulator_layout(self.single_in);
        let mut significand = [0i32; 32];
        let mut exponent = [0i32; 32];
        let mut infinite = special as u32;
        for lane in 0..32 {
            let (s, e) = decode(layout, accumulator[lane]);
            significand[lane] = s;
            exponent[lane] = e;
            infinite |= (e >= SPECIAL) as u32;
        }
        let mut largest = exponent;
        for (x, y) in a.iter().zip(b) {
            for lane in 0..32 {
                let product = x.exponent[lane].wrapping_add(y.exponent[lane]) as i32;
                largest[lane] = largest[lane].max(product);
            }
        }
        let (up, down) = (
            kept.saturating_sub(layout.fraction),
            layout.fraction.saturating_sub(kept) as i32,
        );
        let mut sum = [0i32; 32];
        for lane in 0..32 {
            let distance = largest[lane] - exponent[lane] + down;
            sum[lane] = cut(significand[lane], up, distance);
        }
        let mut total = [0f64; 32];
        // Fraction bits of a product below those kept.
        let up = kept - self.fraction;
        for (a, b) in a.chunks(CHUNK).zip(b.chunks(CHUNK)) {
            for (x, y) in a.iter().zip(b) {
                for lane in 0..32 {
                    let product =
                        (x.significand[lane] as i32).wrapping_mul(y.significand[lane] as i32);
                    let exponent = x.exponent[lane].wrapping_add(y.exponent[lane]) as i32;
                    sum[lane] += cut(product, up, largest[lane] - exponent);
                }
            }
            for lane in 0..32 {
                total[lane] += f64::from(sum[lane]);
                sum[lane] = 0;
            }
        }
        let mut result = Lanes::from_fn(|lane| {
            let scale = (1023 + i64::from(largest[lane]) - i64::from(kept)) as u64;
            self.round(total[lane] * f64::from_bits(scale << 52))
        });
        if infinite != 0 {
            self.with_infinities(&mut result, accumulator, a, b);
        }
        result
    }

    /// A sum as a result.
    #[inline(always)]
    fn round(self, value: f64) -> u32 {
        if !self.single_out {
            narrow(value, HALF, Rounding::Nearest)
        } else if value.abs() >= 340282366920938463463374607431768211456.0 {
            // 2^128 and more is infinite although the cut is toward zero.
            f32::INFINITY.copysign(value as f32).to_bits()
        } else {
            let below = 23 - u32::from(self.rule.fraction);
            narrow(value, SINGLE, Rounding::Zero) >> below << below
        }
    }

    /// Replaces the results of lanes with infinities or NaN among their terms.
    #[inline(never)]
    fn with_infinities(self, result: &mut Lanes, accumulator: &Lanes, a: &[Terms], b: &[Terms]) {
        let layout = accumulator_layout(self.single_in);
        for lane in 0..32 {
            let (mut plus, mut minus, mut nan) = (false, false, false);
            let mut meet = |significand: i32| match significand.signum() {
                1 => plus = true,
                -1 => minus = true,
                _ => nan = true,
            };
            let (significand, exponent) = decode(layout, accumulator[lane]);
            if exponent >= SPECIAL {
                meet(significand);
            }
            for (x, y) in a.iter().zip(b) {
                let exponent = x.exponent[lane].wrapping_add(y.exponent[lane]) as i32;
                if exponent >= SPECIAL_PRODUCT {
                    // Infinity times zero and NaN times anything have significand 0.
                    meet(
                        (x.significand[lane] as i32).signum()
                            * (y.significand[lane] as i32).signum(),
                    );
                }
            }
            let (infinity, canonical, sign) = if self.single_out {
                (0x7f80_0000, NAN, 31)
            } else {
                (0x7c00, HALF_NAN, 15)
            };
            if nan || plus && minus {
                result[lane] = canonical;
            } else if plus || minus {
                result[lane] = infinity | (minus as u32) << sign;
            }
        }
    }
}
