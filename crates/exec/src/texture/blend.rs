//! The weighted sum of texels, exact and rounded once.

/// The weights of a fetch add up to this.
pub(crate) const WHOLE: u64 = 1 << WHOLE_BITS;
/// 8 bits for each of three axes and for the level of detail.
pub(crate) const WHOLE_BITS: u32 = 32;

/// The mean of numerators over `unit`, to single precision. `unit` has at most 16 bits.
///
/// Sum and divisor are integers below 2^53, and a quotient of theirs that is no multiple of a
/// single-precision number's half unit is at least 2^-42 away from the next in relative terms: rounding
/// to double precision first changes nothing.
pub(crate) fn mean_of_fractions(
    terms: impl Iterator<Item = (u64, i32)>,
    unit: u32,
    signed: bool,
) -> f32 {
    let mut sum = 0i64;
    for (weight, numerator) in terms {
        // The most negative number stands for -1, too.
        let numerator = if signed {
            numerator.max(-(unit as i32))
        } else {
            numerator
        };
        sum += weight as i64 * i64::from(numerator);
    }
    (sum as f64 / (f64::from(unit) * WHOLE as f64)) as f32
}

/// The mean of single-precision numbers, rounded to nearest even.
pub(crate) fn mean_of_reals(terms: impl Iterator<Item = (u64, f32)> + Clone) -> f32 {
    let mut sum = 0.0;
    let mut first = true;
    let mut exact = true;
    for (weight, value) in terms.clone() {
        if weight == 0 {
            continue;
        }
        if weight == WHOLE {
            return value;
        }
        let (scale, value) = (weight as f64, f64::from(value));
        let product = scale * value;
        // Up to 29 significant bits times 24 fit a double.
        if weight >> weight.trailing_zeros() >> 29 != 0 {
            exact &= scale.mul_add(value, -product) == 0.0;
        }
        if first {
            sum = product;
            first = false;
            continue;
        }
        let next = sum + product;
        let part = next - sum;
        exact &= (sum - (next - part)) + (product - part) == 0.0;
        sum = next;
    }
    if exact || !sum.is_finite() {
        return (sum / WHOLE as f64) as f32;
    }
    let mut accumulator = Accumulator::default();
    for (weight, value) in terms {
        accumulator.add(weight, value);
    }
    accumulator.mean()
}

/// Digits of 32 bits, the lowest worth 2^-149, each with room for carries.
#[derive(Default)]
struct Accumulator {
    digits: [i64; 12],
}

impl Accumulator {
    fn add(&mut self, weight: u64, value: f32) {
        let bits = value.to_bits();
        let exponent = bits >> 23 & 0xff;
        let fraction = u64::from(bits & 0x7f_ffff);
        let (significand, place) = match exponent {
            0 => (fraction, 0),
            _ => (fraction | 1 << 23, exponent - 1),
        };
        let product = u128::from(significand * weight) << (place % 32);
        for digit in 0..3 {
            let part = (product >> (32 * digit)) as u32;
            let part = i64::from(part);
            let place = &mut self.digits[place as usize / 32 + digit];
            *place += if value.is_sign_negative() {
                -part
            } else {
                part
            };
        }
    }

    /// The sum over the sum of all weights.
    fn mean(mut self) -> f32 {
        self.carry();
        let negative = self.digits[11] < 0;
        if negative {
            for digit in &mut self.digits {
                *digit = -*digit;
            }
            self.carry();
        }
        let Some(top) = self.digits.iter().rposition(|&digit| digit != 0) else {
            return 0.0;
        };
        // Three digits hold at least 65 significant bits; what is below only tells whether it is zero.
        let digit = |index: usize| match top.checked_sub(index) {
            Some(place) => self.digits[place] as u128,
            None => 0,
        };
        let high = digit(0) << 64 | digit(1) << 32 | digit(2);
        let below = self.digits[..top.saturating_sub(2)]
            .iter()
            .any(|&digit| digit != 0);
        let drop = (128 - high.leading_zeros()).saturating_sub(53);
        let rest = high & ((1 << drop) - 1) != 0 || below;
        // Rounded to odd in double precision, so that rounding again is rounding once.
        let rounded = (high >> drop) as u64 | u64::from(rest);
        let exponent = 32 * (top as i32 - 2) + drop as i32 - 149 - WHOLE_BITS as i32;
        let magnitude = scale(rounded as f64, exponent) as f32;
        if negative { -magnitude } else { magnitude }
    }

    /// Makes every digit but the last one lie in 0 to 2^32 - 1.
    fn carry(&mut self) {
        let mut carried = 0;
        for digit in &mut self.digits[..11] {
            let value = *digit + carried;
            *digit = value & 0xffff_ffff;
            carried = value >> 32;
        }
        self.digits[11] += carried;
    }
}

/// `value * 2^exponent` for results in double precision's normal range.
fn scale(value: f64, exponent: i32) -> f64 {
    let power = |exponent: i32| f64::from_bits(((1023 + exponent) as u64) << 52);
    let half = exponent / 2;
    value * power(half) * power(exponent - half)
}
