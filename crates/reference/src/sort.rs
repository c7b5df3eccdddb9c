//! Sorting.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// The `keys` in ascending order.
pub(crate) fn sort(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let mut keys = inputs.u32s("keys", 0)?;
    keys.sort_unstable();
    Ok(vec![Output::new("keys", Values::U32(keys))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ElementType;

    #[test]
    fn sorted_is_a_permutation_in_order() {
        let keys = Values::U32(vec![3, u32::MAX, 0, 3, 7]).to_bytes();
        let mut inputs = Inputs::new();
        inputs.buffer("keys", ElementType::U32, &keys);
        let outputs = sort(&inputs).unwrap();
        assert_eq!(outputs[0].values, Values::U32(vec![0, 3, 3, 7, u32::MAX]));
    }
}
