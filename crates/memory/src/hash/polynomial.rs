//! The artifact's polynomial hash: a remainder over GF(2), which is a linear function.

use super::linear::Linear;

/// `Σ q_k · x^(width + k)` modulo a primitive polynomial of degree `width`, over the low bits of q.
#[derive(Clone, Debug)]
pub struct Polynomial(Linear);

/// A primitive polynomial of each degree from 1 to 16, without its leading term.
const PRIMITIVE: [u32; 16] = [
    0x1, 0x3, 0x3, 0x3, 0x5, 0x3, 0x3, 0x1d, 0x11, 0x9, 0x5, 0x53, 0x1b, 0x143, 0x3, 0x100b,
];

impl Polynomial {
    /// The hash of `width` bits (0 to 16) that looks at the low `bits` bits (at most 32).
    pub fn new(width: u32, bits: u32) -> Polynomial {
        let width = width.min(PRIMITIVE.len() as u32);
        if width == 0 {
            return Polynomial(Linear::from_columns(|_| 0));
        }
        let primitive = PRIMITIVE[width as usize - 1];
        let times_x = |value: u32| {
            let shifted = value << 1;
            if shifted >> width & 1 == 1 {
                (shifted ^ primitive) & ((1 << width) - 1)
            } else {
                shifted
            }
        };
        // The remainder of x^(width + k) for each bit k.
        let first = primitive & ((1 << width) - 1);
        let remainder = |k| (0..k).fold(first, |power, _| times_x(power)) as u16;
        Polynomial(Linear::from_columns(|k| {
            if k < bits { remainder(k) } else { 0 }
        }))
    }

    /// The hash of `q`.
    #[inline]
    pub fn of(&self, q: u64) -> u32 {
        self.0.of(q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_bits_reduce_by_x6_x_1() {
        let hash = Polynomial::new(6, 19);
        // x^6 = x + 1, x^7 = x^2 + x, x^11 = x^6 + x^5 = x^5 + x + 1.
        assert_eq!(hash.of(0b1), 0b11);
        assert_eq!(hash.of(0b10), 0b110);
        assert_eq!(hash.of(0b10_0000), 0b10_0011);
        assert_eq!(hash.of(0b11), 0b101);
        assert_eq!(hash.of(1 << 19), 0);
    }

    #[test]
    fn every_polynomial_is_primitive() {
        for width in 1..=16_u32 {
            // The powers of x run through all non-zero remainders.
            let period = (1_u32 << width) - 1;
            let primitive = PRIMITIVE[width as usize - 1];
            let mut value = 1_u32;
            let mut steps = 0_u32;
            loop {
                value <<= 1;
                if value >> width & 1 == 1 {
                    value = (value ^ primitive) & period;
                }
                steps += 1;
                if value == 1 {
                    break;
                }
            }
            assert_eq!(steps, period, "width {width}");
        }
    }
}
