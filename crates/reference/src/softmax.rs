//! Softmax.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// Softmax of `rows` rows of `columns` elements, computed in double precision: the kernel's
/// exponential is approximate, so its launch file states a tolerance.
pub(crate) fn softmax(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rows = inputs.size("rows")?;
    let columns = inputs.positive("columns")?;
    let from = inputs.f32s("in", rows * columns)?;
    let mut out = inputs.f32s("out", rows * columns)?;
    for (from, out) in from.chunks(columns).zip(out.chunks_mut(columns)).take(rows) {
        softmax_of_row(from, out);
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

fn softmax_of_row(from: &[f32], out: &mut [f32]) {
    let most = from.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exponential = |value: f32| f64::from(value - most).exp();
    let sum: f64 = from.iter().map(|&value| exponential(value)).sum();
    for (from, out) in from.iter().zip(out) {
        *out = (exponential(*from) / sum) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_sums_to_one_and_keeps_its_order() {
        let mut out = [0.0; 4];
        softmax_of_row(&[1.0, 3.0, -2.0, 100.0], &mut out);
        assert!((out.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!(out[3] > out[1] && out[1] > out[0] && out[0] > out[2]);
    }
}
