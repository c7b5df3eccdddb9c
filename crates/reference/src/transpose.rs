//! Matrix transpose.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// `out` (width x height) is `in` (height rows of `width` elements) transposed.
pub(crate) fn transpose(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (width, height) = (inputs.size("width")?, inputs.size("height")?);
    let from = inputs.f32s("in", width * height)?;
    let mut out = inputs.f32s("out", width * height)?;
    for y in 0..height {
        for x in 0..width {
            out[x * height + y] = from[y * width + x];
        }
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}
