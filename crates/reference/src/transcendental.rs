//! Functions that rest on the approximate function unit, computed in double precision.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

const ROWS: usize = 14;

/// One row per function of the numbers in `in`.
pub(crate) fn transcendental(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let from = inputs.f32s("in", n)?;
    let mut out = inputs.f32s("out", ROWS * n)?;
    for (index, &x) in from.iter().enumerate().take(n) {
        for (row, value) in functions(x).into_iter().enumerate() {
            out[row * n + index] = value as f32;
        }
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

/// The arguments are computed in single precision, as the kernel does.
fn functions(x: f32) -> [f64; ROWS] {
    let wide = f64::from(x);
    [
        wide.exp(),
        f64::from(x.abs() + 0.125).ln(),
        wide.sin(),
        wide.cos(),
        f64::from(x * 1_000_000.0).sin(),
        f64::from(x.abs() + 0.5).powf(f64::from(1.7f32)),
        wide.tanh(),
        1.0 / f64::from(x.abs() + 0.25).sqrt(),
        wide.exp2(),
        wide.atan2(2.0),
        wide.sin(),
        wide.exp(),
        wide / 3.0,
        error_function(wide),
    ]
}

/// The error function by its Taylor series, which is accurate for the small arguments used here.
fn error_function(x: f64) -> f64 {
    let mut power = x;
    let mut sum = x;
    for n in 1..100 {
        power *= -x * x / f64::from(n);
        sum += power / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_function_is_right_at_known_points() {
        assert!((error_function(0.5) - 0.520_499_877_813_046_5).abs() < 1e-14);
        assert!((error_function(3.0) - 0.999_977_909_503_001_4).abs() < 1e-12);
    }
}
