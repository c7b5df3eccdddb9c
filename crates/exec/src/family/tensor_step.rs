//! One step of an accumulation, for all lanes at once: elements become significands and exponents,
//! which are aligned, cut and added as `tensor_rule` says.

use crate::lanes::Lanes;
use crate::rounding::{HALF, HALF_NAN, NAN, Rounding, narrow};

use super::tensor_rule::{Element, Layout, Rule};

/// Exponent that zero counts with.
const ZERO_EXPONENT: i32 = -126;

/// Exponent of infinities (significand 1 or -1) and of NaN (significand 0), above all others, also
/// beside a zero.
const SPECIAL: i32 = 0x1000;

/// Least sum of two exponents one of which is special.
const SPECIAL_PRODUCT: i32 = SPECIAL - 0x400;

/// The least number that single precision does not hold.
const TWO_TO_128: f64 = 340282366920938463463374607431768211456.0;

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

/// Significand and exponent of an element in the low bits, which is not infinite or NaN.
#[inline(always)]
fn decode(layout: Layout, bits: u32) -> (i32, i32) {
    let bits = bits >> layout.drop;
    let top = (1 << layout.exponent) - 1;
    let bias = (top >> 1) as i32;
    let fraction = bits & ((1 << layout.fraction) - 1);
    let exponent = bits >> layout.fraction & top;
    let sign = 0i32.wrapping_sub((bits >> (layout.fraction + layout.exponent) & 1) as i32);
    let significand = (fraction | ((exponent != 0) as u32) << layout.fraction) as i32;
    let power = if significand == 0 {
        ZERO_EXPONENT
    } else {
        exponent.max(1) as i32 - bias
    };
    ((significand ^ sign) - sign, power)
}

/// Whether an element is infinite or NaN.
#[inline(always)]
fn is_special(layout: Layout, bits: u32) -> bool {
    let magnitude = bits >> layout.drop & ((1 << (layout.fraction + layout.exponent)) - 1);
    magnitude >= layout.least_special
}

/// 1 or -1 for an infinity, 0 for NaN.
fn direction(layout: Layout, bits: u32) -> i32 {
    let bits = bits >> layout.drop;
    let sign = layout.fraction + layout.exponent;
    if bits & ((1 << sign) - 1) != layout.infinity {
        0
    } else if bits >> sign & 1 == 1 {
        -1
    } else {
        1
    }
}

/// Decodes the elements of one register that stand `shift` bits up; whether any is infinite or NaN.
#[inline(always)]
pub(crate) fn terms(element: Element, word: &Lanes, shift: u32) -> (Terms, bool) {
    let layout = element.layout();
    let mut terms = Terms::ZERO;
    let mut special = 0u32;
    let mut lane = 0;
    while lane < 32 {
        let bits = word[lane] >> shift;
        let (significand, exponent) = decode(layout, bits);
        terms.significand[lane] = significand as u32;
        terms.exponent[lane] = exponent as u32;
        special |= is_special(layout, bits) as u32;
        lane += 1;
    }
    if special != 0 {
        mark_specials(&mut terms, layout, word, shift);
    }
    (terms, special != 0)
}

/// Gives infinities and NaN their significand and exponent.
#[inline(never)]
fn mark_specials(terms: &mut Terms, layout: Layout, word: &Lanes, shift: u32) {
    for lane in 0..32 {
        let bits = word[lane] >> shift;
        if is_special(layout, bits) {
            terms.significand[lane] = direction(layout, bits) as u32;
            terms.exponent[lane] = SPECIAL as u32;
        }
    }
}

/// Layout of an accumulator.
const fn accumulator_layout(single: bool) -> Layout {
    if single {
        Layout::ieee(0, 23, 8)
    } else {
        Layout::ieee(0, 10, 5)
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

/// Adds products, each cut below the largest exponent; at most [`CHUNK`] of them.
#[inline(always)]
fn add_products(sum: &mut [i32; 32], largest: &[i32; 32], up: u32, a: &[Terms], b: &[Terms]) {
    for (x, y) in a.iter().zip(b) {
        for lane in 0..32 {
            let product = (x.significand[lane] as i32).wrapping_mul(y.significand[lane] as i32);
            let exponent = x.exponent[lane].wrapping_add(y.exponent[lane]) as i32;
            sum[lane] += cut(product, up, largest[lane] - exponent);
        }
    }
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
            infinite |= is_special(layout, accumulator[lane]) as u32;
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
        // Fraction bits of a product below those kept.
        let up = kept - self.fraction;
        let (first, second) = (a.len().min(CHUNK), a.len());
        add_products(&mut sum, &largest, up, &a[..first], &b[..first]);
        let scale = |lane: usize| {
            let exponent = (1023 + i64::from(largest[lane]) - i64::from(kept)) as u64;
            f64::from_bits(exponent << 52)
        };
        let mut result = if second > first {
            let mut rest = [0i32; 32];
            add_products(&mut rest, &largest, up, &a[first..], &b[first..]);
            Lanes::from_fn(|lane| {
                let total = f64::from(sum[lane]) + f64::from(rest[lane]);
                self.round(total * scale(lane))
            })
        } else {
            Lanes::from_fn(|lane| self.round(f64::from(sum[lane]) * scale(lane)))
        };
        if infinite != 0 {
            self.with_infinities(&mut result, accumulator, a, b);
        }
        result
    }

    /// A sum as a result.
    #[inline(always)]
    fn round(self, value: f64) -> u32 {
        if !self.single_out {
            return narrow(value, HALF, Rounding::Nearest);
        }
        // To nearest, then back where that was away from zero; 2^128 and more stays infinite although
        // the cut is toward zero.
        let nearest = value as f32;
        let beyond = f64::from(nearest).abs() > value.abs() && value.abs() < TWO_TO_128;
        let below = 23 - u32::from(self.rule.fraction);
        (nearest.to_bits() - beyond as u32) & (u32::MAX << below)
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
            if is_special(layout, accumulator[lane]) {
                meet(direction(layout, accumulator[lane]));
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
