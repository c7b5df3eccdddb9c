//! Matrix products of halves, as tensor cores make them.

use half::f16;

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::{ElementType, Values, half_from_f64};

/// Sums in double precision, where products of halves and sums of a few thousand are exact or nearly so.
fn product(a: &[f16], b: &[f16], m: usize, n: usize, k: usize) -> Vec<f64> {
    let wide = |halves: &[f16]| {
        halves
            .iter()
            .map(|value| value.to_f64())
            .collect::<Vec<f64>>()
    };
    let (a, b) = (wide(a), wide(b));
    let mut sums = vec![0.0f64; m * n];
    for row in 0..m {
        let sums = &mut sums[row * n..(row + 1) * n];
        for depth in 0..k {
            let left = a[row * k + depth];
            for (sum, right) in sums.iter_mut().zip(&b[depth * n..(depth + 1) * n]) {
                *sum += left * right;
            }
        }
    }
    sums
}

struct Shape {
    m: usize,
    n: usize,
    k: usize,
}

fn shape(inputs: &Inputs) -> Result<Shape, ReferenceError> {
    Ok(Shape {
        m: inputs.size("m")?,
        n: inputs.size("n")?,
        k: inputs.size("k")?,
    })
}

/// The product rounded to the type of buffer `c`.
fn expected_c(
    inputs: &Inputs,
    shape: &Shape,
    a: &[f16],
    b: &[f16],
) -> Result<Output, ReferenceError> {
    let size = shape.m * shape.n;
    // The length is checked before the work is done.
    let values = match inputs.find("c")?.element {
        ElementType::F32 => {
            let mut c = inputs.f32s("c", size)?;
            let sums = product(a, b, shape.m, shape.n, shape.k);
            c.iter_mut().zip(sums).for_each(|(c, sum)| *c = sum as f32);
            Values::F32(c)
        }
        ElementType::F16 => {
            let mut c = inputs.f16s("c", size)?;
            let sums = product(a, b, shape.m, shape.n, shape.k);
            c.iter_mut()
                .zip(sums)
                .for_each(|(c, sum)| *c = half_from_f64(sum));
            Values::F16(c)
        }
        got => {
            let buffer = "c".to_owned();
            return Err(ReferenceError::WrongType {
                buffer,
                got,
                expected: "f32 or f16",
            });
        }
    };
    Ok(Output::new("c", values))
}

/// `c = a * b`, a of m x k and b of k x n halves. Tensor cores truncate within a step, so launch files
/// state a tolerance unless every sum is exact.
pub(crate) fn hgemm(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let shape = shape(inputs)?;
    let a = inputs.f16s("a", shape.m * shape.k)?;
    let b = inputs.f16s("b", shape.k * shape.n)?;
    Ok(vec![expected_c(inputs, &shape, &a, &b)?])
}

/// The same after `a` and `b` have been filled from the integers in `a_integers` and `b_integers`.
pub(crate) fn hgemm_integers(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let shape = shape(inputs)?;
    let halves = |name: &str, size: usize| -> Result<Vec<f16>, ReferenceError> {
        let integers = inputs.i8s(name, size)?;
        Ok(integers
            .iter()
            .map(|&value| f16::from_f32(f32::from(value)))
            .collect())
    };
    let a = halves("a_integers", shape.m * shape.k)?;
    let b = halves("b_integers", shape.k * shape.n)?;
    let c = expected_c(inputs, &shape, &a, &b)?;
    Ok(vec![
        Output::new("a", Values::F16(a)),
        Output::new("b", Values::F16(b)),
        c,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_product() {
        let half = |values: &[f32]| values.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
        let a = half(&[1.0, 2.0, 3.0, 4.0]);
        let b = half(&[0.5, 0.0, 0.0, 0.25]);
        assert_eq!(product(&a, &b, 2, 2, 2), [0.5, 0.5, 1.5, 1.0]);
    }
}
