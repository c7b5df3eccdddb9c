//! The streaming benchmark.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// `out = in + 1` for the first `n` elements.
pub(crate) fn stream(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let from = inputs.f32s("in", n)?;
    let mut out = inputs.f32s("out", n)?;
    for (from, out) in from.iter().zip(&mut out).take(n) {
        *out = from + 1.0;
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}
