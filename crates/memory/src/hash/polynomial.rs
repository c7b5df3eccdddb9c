//! The artifact's polynomial hash: a remainder over GF(2), here by one table per byte.

/// `Σ q_k · x^(width + k)` modulo a primitive polynomial of degree `width`, over the low bits of q.
#[derive(Clone, Debug)]
pub struct Polynomial {
    tables: Box<[[u16; 256]; 4]>,
}

/// A primitive polynomial of each degree from 1 to 16, without its leading term.
const PRIMITIVE: [u32; 16] = [
    0x1, 0x3, 0x3, 0x3, 0x5, 0x3, 0x3, 0x1d, 0x11, 0x9, 0x5, 0x53, 0x1b, 0x143, 0x3, 0x100b,
];

impl Polynomial {
    /// The hash of `width` bits (0 to 16) that looks at the low `bits` bits (at most 32).
    pub fn new(width: u32, bits: u32) -> Polynomial {
        let mut tables = Box::new([[0; 256]; 4]);
        let width = width.min(PRIMITIVE.len() as u32);
        if width == 0 {
            return Polynomial { tables };
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
        let mut power = primitive & ((1 << width) - 1);
        for bit in 0..bits.min(32) {
            for (byte, entry) in tables[bit as usize / 8].iter_mut().enumerate() {
                if byte >> (bit % 8) & 1 == 1 {
                    *entry ^= power as u16;
                }
            }
            power = times_x(power);
        }
        Polynomial { tables }
    }

    /// The hash of `q`.
    #[inline]
    pub fn of(&self, q: u64) -> u32 {
        let q = q as u32;
        let byte = |n: usize| usize::from((q >> (8 * n)) as u8);
        u32::from(
            self.tables[0][byte(0)]
                ^ self.tables[1][byte(1)]
                ^ self.tables[2][byte(2)]
                ^ self.tables[3][byte(3)],
        )
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
