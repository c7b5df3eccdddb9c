//! HMMA: 16 × 8 × k matrices of half, brain-float and TF32 elements.
//!
//! Products are summed as microsoft/MMA-Sim found on Ampere and Ada (arXiv 2511.10909): accumulator
//! and products of one step are aligned to the largest exponent among them, cut 24 bits below it and
//! added exactly; the sum is cut to single precision (or rounded to half). A step is half of K for
//! 16816 and for TF32 1688, all of K otherwise.
//!
//! Everything is computed for all lanes at once: elements become significands and exponents, which
//! are dealt out so that each lane has the row of A and the column of B of its results.

use crate::lanes::Lanes;
use crate::rounding::{HALF, HALF_NAN, NAN, Rounding, SINGLE, half_to_f32, narrow};
use crate::warp::Warp;

use super::tensor::{Element, register};

/// Fraction bits kept below the largest exponent.
const KEPT: u32 = 24;

/// Exponent that zero counts with.
const ZERO_EXPONENT: i32 = -126;

/// The operands of HMMA: first registers, `None` for RZ.
#[derive(Clone, Copy)]
pub(crate) struct Matrices {
    pub(crate) row: u16,
    pub(crate) a: Option<u16>,
    pub(crate) b: Option<u16>,
    pub(crate) c: Option<u16>,
    pub(crate) k: u8,
    pub(crate) element: Element,
    /// Accumulates in single precision.
    pub(crate) single: bool,
}

/// One element in each lane: a signed significand and an exponent, as words.
#[derive(Clone, Copy)]
struct Terms {
    significand: Lanes,
    exponent: Lanes,
}

impl Element {
    /// Fraction bits of an element.
    const fn fraction(self) -> u32 {
        match self {
            Element::Half | Element::Tf32 => 10,
            Element::Brain => 7,
        }
    }

    /// Elements of a register.
    const fn per_register(self) -> usize {
        match self {
            Element::Tf32 => 1,
            Element::Half | Element::Brain => 2,
        }
    }

    /// The value of an element in the low bits of a word.
    fn widen(self, bits: u32) -> f32 {
        match self {
            Element::Half => half_to_f32(bits),
            Element::Brain => f32::from_bits(bits << 16),
            Element::Tf32 => f32::from_bits(bits & 0xffff_e000),
        }
    }
}

/// Significand and exponent of an element, and whether it is infinite or NaN.
#[inline(always)]
fn decode(element: Element, bits: u32) -> (i32, i32, bool) {
    // Sign, biased exponent and fraction; the bias and the exponent of infinities.
    let (negative, exponent, fraction, bias, top) = match element {
        Element::Half => (bits >> 15 & 1, bits >> 10 & 0x1f, bits & 0x3ff, 15, 0x1f),
        Element::Brain => (bits >> 15 & 1, bits >> 7 & 0xff, bits & 0x7f, 127, 0xff),
        Element::Tf32 => (bits >> 31, bits >> 23 & 0xff, bits >> 13 & 0x3ff, 127, 0xff),
    };
    let normal = (exponent != 0) as u32;
    let significand = (fraction | normal << element.fraction()) as i32;
    let power = if significand == 0 {
        ZERO_EXPONENT
    } else {
        exponent.max(1) as i32 - bias
    };
    let sign = 0i32.wrapping_sub(negative as i32);
    ((significand ^ sign) - sign, power, exponent == top)
}

/// Significand (24 bits) and exponent of an accumulator, and whether it is infinite or NaN.
#[inline(always)]
fn decode_single(bits: u32) -> (i32, i32, bool) {
    let exponent = bits >> 23 & 0xff;
    let significand = (bits & 0x7f_ffff | ((exponent != 0) as u32) << 23) as i32;
    let power = if significand == 0 {
        ZERO_EXPONENT
    } else {
        exponent.max(1) as i32 - 127
    };
    let sign = 0i32.wrapping_sub((bits >> 31) as i32);
    ((significand ^ sign) - sign, power, exponent == 0xff)
}

/// Decodes the elements of one register that stand `shift` bits up.
#[inline(always)]
fn terms(element: Element, word: &Lanes, shift: u32) -> (Terms, bool) {
    let mut significand = Lanes::ZERO;
    let mut exponent = Lanes::ZERO;
    let mut special = 0u32;
    let mut lane = 0;
    while lane < 32 {
        let (s, e, infinite) = decode(element, word[lane] >> shift);
        significand[lane] = s as u32;
        exponent[lane] = e as u32;
        special |= infinite as u32;
        lane += 1;
    }
    (
        Terms {
            significand,
            exponent,
        },
        special != 0,
    )
}

/// For each lane the values of lane `from(lane)`.
#[inline(always)]
fn deal(terms: &Terms, from: impl Fn(usize) -> usize) -> Terms {
    Terms {
        significand: Lanes::from_fn(|lane| terms.significand[from(lane) & 31]),
        exponent: Lanes::from_fn(|lane| terms.exponent[from(lane) & 31]),
    }
}

/// Elements along K as each lane needs them: of its row of A (both halves of rows) and its column of
/// B (both columns).
struct Dealt {
    a: [[Terms; 16]; 2],
    b: [[Terms; 16]; 2],
}

/// A magnitude cut towards zero.
#[inline(always)]
fn cut(value: i32, up: u32, down: i32) -> i32 {
    let sign = value >> 31;
    let magnitude = ((value ^ sign) - sign) as u32;
    let aligned = ((magnitude << up) >> down.min(31)) as i32;
    (aligned ^ sign) - sign
}

/// One step for one register of results: accumulators and `range` of K.
#[inline(always)]
fn step(accumulator: &Lanes, half: bool, a: &[Terms], b: &[Terms], fraction: u32) -> Lanes {
    // Fraction bits of a product below those kept.
    let up = KEPT - 2 * fraction;
    let mut significand = [0i32; 32];
    let mut exponent = [0i32; 32];
    for lane in 0..32 {
        let bits = if half {
            half_to_f32(accumulator[lane]).to_bits()
        } else {
            accumulator[lane]
        };
        let (s, e, _) = decode_single(bits);
        significand[lane] = s;
        exponent[lane] = e;
    }
    let mut largest = exponent;
    for (x, y) in a.iter().zip(b) {
        for lane in 0..32 {
            let product = x.exponent[lane].wrapping_add(y.exponent[lane]) as i32;
            largest[lane] = largest[lane].max(product);
        }
    }
    let mut sum = [0i32; 32];
    for lane in 0..32 {
        sum[lane] = cut(significand[lane], KEPT - 23, largest[lane] - exponent[lane]);
    }
    for (x, y) in a.iter().zip(b) {
        for lane in 0..32 {
            let product = (x.significand[lane] as i32).wrapping_mul(y.significand[lane] as i32);
            let exponent = x.exponent[lane].wrapping_add(y.exponent[lane]) as i32;
            sum[lane] += cut(product, up, largest[lane] - exponent);
        }
    }
    Lanes::from_fn(|lane| {
        let scale = (1023 + i64::from(largest[lane]) - i64::from(KEPT)) as u64;
        let value = f64::from(sum[lane]) * f64::from_bits(scale << 52);
        if half {
            narrow(value, HALF, Rounding::Nearest)
        } else if value.abs() >= 340282366920938463463374607431768211456.0 {
            // 2^128 and more is infinite although the cut is towards zero.
            f32::INFINITY.copysign(value as f32).to_bits()
        } else {
            narrow(value, SINGLE, Rounding::Zero)
        }
    })
}

/// Executes HMMA; all lanes take part.
#[inline(always)]
pub(crate) fn execute(warp: &mut Warp, m: Matrices) {
    let k = m.k as usize;
    let per_register = m.element.per_register();
    let quarters = k / (4 * per_register);
    let zero = Terms {
        significand: Lanes::ZERO,
        exponent: Lanes::ZERO,
    };
    let mut dealt = Dealt {
        a: [[zero; 16]; 2],
        b: [[zero; 16]; 2],
    };
    let mut special = false;
    for quarter in 0..quarters {
        for part in 0..per_register {
            let shift = 16 * part as u32;
            for half in 0..2 {
                let word = register(warp, m.a, (2 * quarter + half) as u16);
                let (found, infinite) = terms(m.element, &word, shift);
                special |= infinite;
                for within in 0..4 {
                    let index = (4 * quarter + within) * per_register + part;
                    dealt.a[half][index & 15] = deal(&found, |lane| (lane & !3) | within);
                }
            }
            let word = register(warp, m.b, quarter as u16);
            let (found, infinite) = terms(m.element, &word, shift);
            special |= infinite;
            for column in 0..2 {
                for within in 0..4 {
                    let index = (4 * quarter + within) * per_register + part;
                    dealt.b[column][index & 15] =
                        deal(&found, |lane| 4 * (2 * (lane % 4) + column) + within);
                }
            }
        }
    }
    let steps = if k == 16 || m.element == Element::Tf32 && k == 8 {
        2
    } else {
        1
    };
    let length = k / steps;
    let mut results = [Lanes::ZERO; 4];
    for half in 0..2 {
        for column in 0..2 {
            let index = 2 * half + column;
            let mut accumulator = if m.single {
                register(warp, m.c, index as u16)
            } else {
                let word = register(warp, m.c, half as u16);
                Lanes::from_fn(|lane| word[lane] >> (16 * column) & 0xffff)
            };
            let infinite = (0..32).any(|lane| {
                let top = if m.single { 0x7f80_0000 } else { 0x7c00 };
                accumulator[lane] & top == top
            });
            if special || infinite {
                accumulator = with_infinities(warp, m, &accumulator, half, column);
            } else {
                for part in 0..steps {
                    let range = part * length..(part + 1) * length;
                    // An overflow of the first step is seen by the second as it is.
                    let a = &dealt.a[half][range.clone()];
                    let b = &dealt.b[column][range];
                    let next = step(&accumulator, !m.single, a, b, m.element.fraction());
                    accumulator = keep_infinities(&accumulator, &next, m.single);
                }
            }
            if m.single {
                results[index] = accumulator;
            } else {
                for lane in 0..32 {
                    results[half][lane] |= accumulator[lane] << (16 * column);
                }
            }
        }
    }
    let count = if m.single { 4 } else { 2 };
    for (index, lanes) in results.iter().enumerate().take(count) {
        warp.registers[m.row as usize + index] = *lanes;
    }
}

/// The next accumulators, except where the one before was infinite already.
#[inline(always)]
fn keep_infinities(before: &Lanes, next: &Lanes, single: bool) -> Lanes {
    let top = if single { 0x7f80_0000 } else { 0x7c00 };
    Lanes::from_fn(|lane| {
        if before[lane] & top == top {
            before[lane]
        } else {
            next[lane]
        }
    })
}

/// The same with infinities or NaN among elements or accumulators: lane by lane, those that are
/// finite by the rule, the others by the plain sum.
#[inline(never)]
fn with_infinities(
    warp: &Warp,
    m: Matrices,
    accumulators: &Lanes,
    half: usize,
    column: usize,
) -> Lanes {
    let k = m.k as usize;
    let per_register = m.element.per_register();
    let steps = if k == 16 || m.element == Element::Tf32 && k == 8 {
        2
    } else {
        1
    };
    let length = k / steps;
    Lanes::from_fn(|lane| {
        let element = |first: Option<u16>, index: u16, from: usize, part: usize| {
            register(warp, first, index)[from] >> (16 * part)
        };
        let mut bits = accumulators[lane];
        for first in (0..k).step_by(length) {
            let mut a = [0u32; 16];
            let mut b = [0u32; 16];
            for l in first..first + length {
                let (quarter, rest) = (l / (4 * per_register), l % (4 * per_register));
                let (within, part) = (rest / per_register, rest % per_register);
                let row = (2 * quarter + half) as u16;
                a[l - first] = element(m.a, row, (lane & !3) | within, part);
                let from = 4 * (2 * (lane % 4) + column) + within;
                b[l - first] = element(m.b, quarter as u16, from, part);
            }
            bits = one_step(bits, &a[..length], &b[..length], m);
        }
        bits
    })
}

/// One step of one result.
fn one_step(bits: u32, a: &[u32], b: &[u32], m: Matrices) -> u32 {
    let element = m.element;
    let c = if m.single {
        f32::from_bits(bits)
    } else {
        half_to_f32(bits)
    };
    let finite = c.is_finite() && a.iter().chain(b).all(|&x| !decode(element, x).2);
    if finite {
        let terms = |bits: &u32| {
            let (significand, exponent, _) = decode(element, *bits);
            Terms {
                significand: Lanes::splat(significand as u32),
                exponent: Lanes::splat(exponent as u32),
            }
        };
        let (a, b): (Vec<Terms>, Vec<Terms>) =
            (a.iter().map(terms).collect(), b.iter().map(terms).collect());
        return step(&Lanes::splat(bits), !m.single, &a, &b, element.fraction())[0];
    }
    let narrow_to = |bits: u32| {
        if element == Element::Tf32 {
            bits
        } else {
            bits & 0xffff
        }
    };
    let sum = a.iter().zip(b).fold(f64::from(c), |sum, (&x, &y)| {
        let (x, y) = (element.widen(narrow_to(x)), element.widen(narrow_to(y)));
        sum + f64::from(x) * f64::from(y)
    });
    match (m.single, sum.is_nan()) {
        (false, true) => HALF_NAN,
        (true, true) => NAN,
        (false, false) => narrow(sum, HALF, Rounding::Nearest),
        (true, false) => (sum as f32).to_bits(),
    }
}
