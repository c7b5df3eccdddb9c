//! The block-dispatch benchmark.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// The first `n` elements of `out` hold their own index.
pub(crate) fn iota(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let mut out = inputs.u32s("out", n)?;
    for (index, out) in out.iter_mut().enumerate().take(n) {
        *out = index as u32;
    }
    Ok(vec![Output::new("out", Values::U32(out))])
}
