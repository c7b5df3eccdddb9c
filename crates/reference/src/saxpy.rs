//! SAXPY.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// `y = alpha * x + y`, fused, for the first `n` elements.
pub(crate) fn saxpy(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let alpha = inputs.f32("alpha")?;
    let x = inputs.f32s("x", n)?;
    let mut y = inputs.f32s("y", n)?;
    for (x, y) in x.iter().zip(&mut y).take(n) {
        *y = alpha.mul_add(*x, *y);
    }
    Ok(vec![Output::new("y", Values::F32(y))])
}
