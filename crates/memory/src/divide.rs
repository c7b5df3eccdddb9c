//! Division by a number that is fixed for a GPU, as a multiplication.

/// A divisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    divisor: u64,
    /// ⌈2^64 / divisor⌉.
    reciprocal: u64,
    /// Dividends below this may be multiplied: the rounded-up reciprocal is exact for them.
    exact_below: u64,
}

impl Divisor {
    /// A divisor; not 0.
    pub fn new(divisor: u64) -> Divisor {
        let divisor = divisor.max(1);
        Divisor {
            divisor,
            reciprocal: (u64::MAX / divisor).wrapping_add(1),
            // 2^64 / 1 does not fit.
            exact_below: if divisor == 1 { 0 } else { u64::MAX / divisor },
        }
    }

    /// The divisor itself.
    #[inline]
    pub fn get(self) -> u64 {
        self.divisor
    }

    /// ⌊dividend / divisor⌋.
    #[inline]
    pub fn divide(self, dividend: u64) -> u64 {
        if dividend < self.exact_below {
            ((u128::from(dividend) * u128::from(self.reciprocal)) >> 64) as u64
        } else if self.divisor == 1 {
            dividend
        } else {
            dividend / self.divisor
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_division() {
        for divisor in (1..100).chain([512, 1800, 65_535, 1_410_000, 10_000_000, u64::MAX]) {
            let by = Divisor::new(divisor);
            let limit = u64::MAX / divisor;
            for around in [
                0,
                1,
                divisor,
                divisor.saturating_mul(1 << 20),
                limit,
                u64::MAX,
            ] {
                for dividend in around.saturating_sub(2)..=around.saturating_add(2) {
                    assert_eq!(
                        by.divide(dividend),
                        dividend / divisor,
                        "{dividend}/{divisor}"
                    );
                }
            }
        }
    }
}
