//! Arithmetic on pairs of halves.

use half::f16;

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::rows::table;
use crate::values::half_from_f64;

/// One row per operation on the pairs of `a` and `b`.
pub(crate) fn halves(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let a = inputs.f16s("a", 2 * n)?;
    let b = inputs.f16s("b", 2 * n)?;
    table(inputs, n, |i| {
        operations([a[2 * i], a[2 * i + 1]], [b[2 * i], b[2 * i + 1]])
    })
}

/// Applies an operation to both halves; its double-precision result must be exact.
fn pairwise(a: [f16; 2], b: [f16; 2], operation: impl Fn(f64, f64) -> f64) -> u32 {
    let half =
        |i: usize| u32::from(half_from_f64(operation(a[i].to_f64(), b[i].to_f64())).to_bits());
    half(0) | half(1) << 16
}

fn operations(a: [f16; 2], b: [f16; 2]) -> [u32; 10] {
    [
        pairwise(a, b, |a, b| a + b),
        pairwise(a, b, |a, b| a - b),
        pairwise(a, b, |a, b| a * b),
        pairwise(a, b, |a, b| a * b + a),
        pairwise(a, b, f64::min),
        pairwise(a, b, f64::max),
        pairwise(a, b, |a, _| -a),
        pairwise(a, b, |a, b| if a > b { 1.0 } else { 0.0 }),
        1,
        u32::from(a[0] > b[1]),
    ]
}
