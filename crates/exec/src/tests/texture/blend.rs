//! The weighted mean where double precision alone would not do.

use super::super::Random;
use crate::texture::blend::{WHOLE, mean_of_reals};

fn mean(terms: &[(u64, f32)]) -> f32 {
    mean_of_reals(terms.iter().copied())
}

#[test]
fn what_cancels_leaves_what_is_small() {
    let quarter = WHOLE / 4;
    let huge = 2f32.powi(120);
    let tiny = 2f32.powi(-100);
    let terms = [
        (quarter, huge),
        (quarter, tiny),
        (quarter, -huge),
        (quarter, -3.0 * tiny),
    ];
    assert_eq!(mean(&terms), -tiny / 2.0);
    let least = f32::from_bits(1);
    let terms = [
        (WHOLE / 2, huge),
        (WHOLE / 4, -2.0 * huge),
        (WHOLE / 4, 4.0 * least),
    ];
    assert_eq!(mean(&terms), least);
    assert_eq!(mean(&[(WHOLE / 2, huge), (WHOLE / 2, -huge)]), 0.0);
}

#[test]
fn a_tie_is_broken_by_what_double_precision_loses() {
    // Half a unit in the last place, and a little.
    let one = 1.0 + f32::EPSILON;
    let little = 2f32.powi(-80);
    let half = WHOLE / 2;
    let quarter = WHOLE / 4;
    assert_eq!(mean(&[(half, 1.0), (half, one)]), 1.0, "a tie goes to even");
    let up = [(half, 1.0), (quarter, one), (quarter, one), (0, 7.0)];
    assert_eq!(mean(&up), 1.0);
    let above = [(half, 1.0), (half - 2, one), (1, one), (1, one + little)];
    assert_eq!(mean(&above), 1.0, "the little is lost in single precision");
    let above = [
        (half, 1.0),
        (half - (1 << 20), one),
        (1 << 20, one),
        (1 << 9, little),
    ];
    assert_eq!(mean(&above), one);
    let below = [
        (half, 1.0),
        (half - (1 << 20), one),
        (1 << 20, one),
        (1 << 9, -little),
    ];
    assert_eq!(mean(&below), 1.0);
}

#[test]
fn infinities_and_no_numbers_spread_unless_their_weight_is_zero() {
    let half = WHOLE / 2;
    assert_eq!(mean(&[(half, f32::INFINITY), (half, 1.0)]), f32::INFINITY);
    assert!(mean(&[(half, f32::INFINITY), (half, f32::NEG_INFINITY)]).is_nan());
    assert!(mean(&[(half, f32::NAN), (half, 1.0)]).is_nan());
    assert_eq!(mean(&[(0, f32::NAN), (WHOLE, 1.0)]), 1.0);
    assert_eq!(mean(&[(WHOLE, f32::INFINITY), (0, 1.0)]), f32::INFINITY);
}

/// Numbers within 2^±20 against sums in 128-bit integers.
#[test]
fn random_means_are_exact() {
    let mut random = Random::new(11);
    for _ in 0..20_000 {
        let mut left = WHOLE;
        let terms: Vec<(u64, f32)> = (0..16)
            .map(|tap| {
                let weight = if tap == 15 {
                    left
                } else {
                    random.wide() % (left / 2 + 1)
                };
                left -= weight;
                let exponent = 107 + random.word() % 41;
                let bits = random.word() & 0x807f_ffff | exponent << 23;
                (weight, f32::from_bits(bits))
            })
            .collect();
        let mut sum = 0i128;
        for (weight, value) in &terms {
            // Multiples of 2^-43.
            sum += i128::from(*weight) * (f64::from(*value) * 2f64.powi(43)) as i128;
        }
        // 128-bit integers become single precision in one rounding, here scaled by 2^75.
        let expected = (sum as f32) / 2f32.powi(75);
        assert_eq!(mean(&terms).to_bits(), expected.to_bits(), "{terms:?}");
    }
}
