//! Vector addition.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// `c = a + b` for the first `n` elements.
pub(crate) fn vadd(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let a = inputs.f32s("a", n)?;
    let b = inputs.f32s("b", n)?;
    let mut c = inputs.f32s("c", n)?;
    for (c, (a, b)) in c.iter_mut().zip(a.iter().zip(&b)).take(n) {
        *c = a + b;
    }
    Ok(vec![Output::new("c", Values::F32(c))])
}
