//! The pointer-chasing benchmark.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// Every element of `out` is where `steps` steps through `ring` from element 0 end.
pub(crate) fn chase(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let steps = inputs.size("steps")?;
    let ring = inputs.u32s("ring", 1)?;
    let mut at = 0;
    for _ in 0..steps {
        let next = ring[at];
        let index = at;
        at = next as usize;
        if at >= ring.len() {
            return Err(ReferenceError::BadIndex {
                buffer: "ring",
                index,
                value: i64::from(next),
                limit: ring.len(),
            });
        }
    }
    let out = vec![at as u32; inputs.u32s("out", 0)?.len()];
    Ok(vec![Output::new("out", Values::U32(out))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ElementType, Number};

    #[test]
    fn follows_the_ring_and_refuses_to_leave_it() {
        let out = [0; 8];
        for (steps, expected) in [(0, Some(0)), (1, Some(2)), (2, Some(1)), (3, None)] {
            let ring = Values::U32(vec![2, 9, 1]).to_bytes();
            let mut inputs = Inputs::new();
            inputs.buffer("ring", ElementType::U32, &ring);
            inputs.buffer("out", ElementType::U32, &out);
            inputs.parameter("steps", Number::Integer(steps));
            let result = chase(&inputs).ok().map(|outputs| outputs[0].values.clone());
            assert_eq!(result, expected.map(|at| Values::U32(vec![at; 2])));
        }
    }
}
