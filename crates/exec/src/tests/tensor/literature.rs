//! Examples from M. Fasi, N. J. Higham, M. Mikaitis and S. Pranesh, "Numerical behavior of NVIDIA tensor
//! cores", PeerJ Computer Science 7:e330 (2021), which tell the designs apart: what they observed on T4
//! and A100 must come out here.

use sass::{Architecture, Modifier as M};

use super::layout::Kind;
use super::measured::inner_product;
use crate::rounding::{f32_to_half, half_to_f32};
use Architecture::{Sm75, Sm80, Sm86, Sm89, Sm90};

/// 2^n.
fn power(n: i32) -> f32 {
    2f32.powi(n)
}

/// The inner product of halves in single precision, on the architecture's shape.
fn single(architecture: Architecture, a: &[f32], b: &[f32], c: f32) -> f32 {
    let shape = if architecture == Sm75 {
        M::N1688
    } else {
        M::N16816
    };
    let halves = |x: &[f32]| -> Vec<u64> { x.iter().map(|&x| u64::from(f32_to_half(x))).collect() };
    let c = u64::from(c.to_bits());
    let factors = (halves(a), halves(b));
    let found = inner_product(
        architecture,
        shape,
        Kind::Half,
        true,
        (&factors.0, &factors.1, c),
    );
    f32::from_bits(found as u32)
}

/// The same with a half accumulator.
fn half(architecture: Architecture, a: &[f32], b: &[f32], c: f32) -> f32 {
    let shape = if architecture == Sm75 {
        M::N1688
    } else {
        M::N16816
    };
    let halves = |x: &[f32]| -> Vec<u64> { x.iter().map(|&x| u64::from(f32_to_half(x))).collect() };
    let c = u64::from(f32_to_half(c));
    let factors = (halves(a), halves(b));
    let found = inner_product(
        architecture,
        shape,
        Kind::Half,
        false,
        (&factors.0, &factors.1, c),
    );
    half_to_f32(found as u32)
}

const ALL: [Architecture; 5] = [Sm75, Sm80, Sm86, Sm89, Sm90];
const BELOW_ONE: f32 = 1.0 - f32::EPSILON / 2.0;

/// Section "Support for subnormal numbers".
#[test]
fn subnormals_count() {
    for on in ALL {
        assert_eq!(single(on, &[power(-24)], &[4.0], 0.0), power(-22));
        assert_eq!(half(on, &[power(-24)], &[4.0], 0.0), power(-22));
        assert_eq!(single(on, &[], &[], power(-149)), power(-149));
        assert_eq!(half(on, &[power(-14)], &[0.5], 0.0), power(-15));
        assert_eq!(half(on, &[power(-14)], &[1.0], -power(-15)), power(-15));
        assert_eq!(single(on, &[power(-14)], &[1.0], -power(-15)), power(-15));
    }
}

/// Section "Accuracy of the dot products": products are exact, terms below the largest are cut.
#[test]
fn products_are_exact() {
    let below = 1.0 - power(-11);
    for on in ALL {
        let square = 1.0 - power(-10) + power(-22);
        assert_eq!(single(on, &[below], &[below], 0.0), square);
        assert_eq!(single(on, &[below; 4], &[below; 4], 0.0), 4.0 * square);
        let found = half(on, &[below, below], &[below, power(-11)], 0.0);
        assert_eq!(found, 1.0 - power(-10) + power(-11));
    }
    // Four products of 2^-25 beside 1 vanish where 24 bits are kept; Hopper keeps one more.
    let small = ([0.5; 4], [power(-24); 4]);
    for on in [Sm75, Sm80, Sm86, Sm89] {
        assert_eq!(single(on, &small.0, &small.1, 1.0), 1.0);
    }
    assert_eq!(single(Sm90, &small.0, &small.1, 1.0), 1.0 + power(-23));
    // Whichever term is the largest.
    for on in [Sm75, Sm80, Sm86, Sm89] {
        for largest in 0..4 {
            let (mut a, mut b) = small;
            (a[largest], b[largest]) = (1.0, 1.0);
            assert_eq!(single(on, &a, &b, power(-24)), 1.0);
        }
    }
}

/// Section "Rounding modes": sums are cut toward zero, half accumulators rounded to nearest.
#[test]
fn rounding() {
    for on in ALL {
        let rest = power(-23) + power(-24);
        assert_eq!(single(on, &[1.0; 2], &[2.0, rest], 0.0), 2.0);
        assert_eq!(single(on, &[1.0; 2], &[-2.0, -rest], 0.0), -2.0);
        let tiny = power(-24);
        assert_eq!(half(on, &[tiny, tiny], &[0.5, 0.25], 0.0), tiny);
    }
}

/// Section "Features of the accumulator": T4 and A100 have a guard bit, which V100 has not; partial sums
/// are not normalized; there are bits for the carries.
#[test]
fn accumulator() {
    let tiny = power(-24);
    for on in ALL {
        // A guard bit: 1 - (1 - 2^-24).
        assert_eq!(single(on, &[1.0], &[1.0], -BELOW_ONE), tiny);
        // No normalization in between.
        assert_eq!(
            single(on, &[1.0; 4], &[tiny; 4], BELOW_ONE),
            1.0 + power(-23)
        );
        // Carries of two and of three bits.
        let c = 1.0 + power(-22) + power(-23);
        for small in 0..4 {
            let mut b = [1.0; 4];
            b[small] = power(-23);
            let found = single(on, &[1.0; 4], &b, c);
            assert_eq!(found, 4.0 + power(-21), "{on:?}");
        }
        let b = [1.0, 1.5, 1.75, 1.875];
        assert_eq!(single(on, &[1.0; 4], &b, 1.875), 8.0);
        assert_eq!(single(on, &[1.0; 4], &[1.0; 4], c), 5.0);
        assert_eq!(single(on, &[1.0; 4], &[-1.0; 4], -c), -5.0);
    }
}

/// The same section, "Monotonicity": a larger accumulator can give a smaller sum.
#[test]
fn sums_are_not_monotonic() {
    for on in [Sm75, Sm80, Sm86, Sm89] {
        let a = [0.5; 4];
        let b = [power(-24), power(-24), power(-24), power(-23) + power(-24)];
        let partial = single(on, &a, &b, BELOW_ONE);
        assert!(single(on, &a, &b, 1.0) < partial, "{on:?}");
    }
}
