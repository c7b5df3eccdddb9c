//! Result tables of the feature kernels: one row per operation, one column per thread.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// Fills the buffer `out` with, for each of `n` threads, one word per row. Words of `out` beyond the
/// rows stay as they are.
pub(crate) fn table<const ROWS: usize>(
    inputs: &Inputs,
    n: usize,
    thread: impl Fn(usize) -> [u32; ROWS],
) -> Result<Vec<Output>, ReferenceError> {
    let mut out = inputs.u32s("out", ROWS * n)?;
    for index in 0..n {
        for (row, word) in thread(index).into_iter().enumerate() {
            out[row * n + index] = word;
        }
    }
    Ok(vec![Output::new("out", Values::U32(out))])
}
