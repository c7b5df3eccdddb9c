//! Matrix products in single precision.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// Sums of one fused chain along `k` per element of the product, as the tiled kernels make them.
fn product(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Vec<f32> {
    let mut sums = vec![0.0f32; m * n];
    for row in 0..m {
        let sums = &mut sums[row * n..(row + 1) * n];
        for depth in 0..k {
            let left = a[row * k + depth];
            for (sum, right) in sums.iter_mut().zip(&b[depth * n..(depth + 1) * n]) {
                *sum = left.mul_add(*right, *sum);
            }
        }
    }
    sums
}

/// `c = a * b` for square matrices of `n` rows.
pub(crate) fn matrix_product(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let a = inputs.f32s("a", n * n)?;
    let b = inputs.f32s("b", n * n)?;
    let mut c = inputs.f32s("c", n * n)?;
    c[..n * n].copy_from_slice(&product(&a, &b, n, n, n));
    Ok(vec![Output::new("c", Values::F32(c))])
}

/// `c = alpha * a * b + beta * c`, a of m x k and b of k x n elements.
pub(crate) fn sgemm(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (m, n, k) = (inputs.size("m")?, inputs.size("n")?, inputs.size("k")?);
    let (alpha, beta) = (inputs.f32("alpha")?, inputs.f32("beta")?);
    let a = inputs.f32s("a", m * k)?;
    let b = inputs.f32s("b", k * n)?;
    let mut c = inputs.f32s("c", m * n)?;
    for (c, sum) in c.iter_mut().zip(product(&a, &b, m, n, k)) {
        *c = alpha.mul_add(sum, beta * *c);
    }
    Ok(vec![Output::new("c", Values::F32(c))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_product() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // 2 x 3
        let b = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]; // 3 x 2
        assert_eq!(product(&a, &b, 2, 2, 3), [4.0, 5.0, 10.0, 11.0]);
    }
}
