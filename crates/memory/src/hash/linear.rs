//! Functions of a line number that are linear over GF(2): bit i of the value is the parity of the
//! number's bits under mask i. One table per byte makes a value four loads, whatever the masks are.

/// A linear function of the low 32 bits of a line number, to at most 16 bits.
#[derive(Clone, Debug)]
pub struct Linear {
    tables: Box<[[u16; 256]; 4]>,
}

/// Bits of a line number that count.
pub const LINE_BITS: u32 = 32;

impl Linear {
    /// The function to which bit `n` of the line number (0 to 31) adds `column(n)`.
    pub fn from_columns(column: impl Fn(u32) -> u16) -> Linear {
        let mut tables = Box::new([[0; 256]; 4]);
        for bit in 0..LINE_BITS {
            let column = column(bit);
            for (byte, entry) in tables[bit as usize / 8].iter_mut().enumerate() {
                if byte >> (bit % 8) & 1 == 1 {
                    *entry ^= column;
                }
            }
        }
        Linear { tables }
    }

    /// The function whose bit i is the parity of the line number under `masks[i]`.
    pub fn from_masks(masks: &[u64]) -> Linear {
        Linear::from_columns(|bit| {
            let bits = (0..).zip(masks);
            bits.fold(0, |column, (row, mask)| {
                column | ((mask >> bit & 1) as u16) << row
            })
        })
    }

    /// The value of a line number.
    #[inline]
    pub fn of(&self, line: u64) -> u32 {
        let line = line as u32;
        let byte = |n: usize| usize::from((line >> (8 * n)) as u8);
        u32::from(
            self.tables[0][byte(0)]
                ^ self.tables[1][byte(1)]
                ^ self.tables[2][byte(2)]
                ^ self.tables[3][byte(3)],
        )
    }
}

/// How many of the rows are independent over GF(2).
pub fn rank(rows: &[u128]) -> usize {
    let mut basis: Vec<u128> = Vec::new();
    for &row in rows {
        // Each row of the basis has its highest bit to itself.
        let rest = basis.iter().fold(row, |rest, &row| rest.min(rest ^ row));
        if rest != 0 {
            basis.push(rest);
        }
    }
    basis.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_parities_under_the_masks() {
        let masks = [0x1, 0x8000_0001, 0xffff_ffff, 0x0f0f_0000, 0];
        let linear = Linear::from_masks(&masks);
        let mut line = 1_u64;
        for _ in 0..1000 {
            line = line.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let low = line & 0xffff_ffff;
            let expected = (0..).zip(masks).fold(0, |value, (bit, mask)| {
                value | ((low & mask).count_ones() & 1) << bit
            });
            assert_eq!(linear.of(line), expected, "{line:#x}");
        }
    }

    #[test]
    fn the_rank_counts_independent_rows() {
        assert_eq!(rank(&[]), 0);
        assert_eq!(rank(&[0, 1, 1]), 1);
        assert_eq!(rank(&[0b110, 0b011, 0b101]), 2);
        assert_eq!(rank(&[1 << 127, 1, 1 << 127 | 1 | 2]), 3);
        assert_eq!(rank(&[0b100, 0b111, 0b110, 0b101]), 3);
    }
}
