//! Results that a table beside the launch file states, for functions that need more precision than
//! the CPU's arithmetic has.

use crate::inputs::{Inputs, Output, ReferenceError};

/// `out` must hold what the buffer `expected`, filled from a file, holds.
pub(crate) fn expected(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    inputs.find("out")?;
    Ok(vec![Output::new("out", inputs.values("expected")?)])
}
