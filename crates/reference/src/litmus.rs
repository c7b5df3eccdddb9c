//! The litmus kernels whose right results are more than a constant.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// After reductions each followed by a store of thread + round, the last store stands.
pub(crate) fn red_then_store(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let block = inputs.positive("block")?;
    let rounds = inputs.positive("rounds")?;
    let mut cells = inputs.u32s("cells", 0)?;
    for (index, cell) in cells.iter_mut().enumerate() {
        *cell = (index % block + rounds - 1) as u32;
    }
    Ok(vec![Output::new("cells", Values::U32(cells))])
}

/// Each load sees every reduction before it: `seen` is the sum of all values on the way.
pub(crate) fn red_then_load(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rounds = inputs.size("rounds")?;
    let mut cells = inputs.u32s("cells", 0)?;
    let mut seen = inputs.u32s("seen", cells.len())?;
    for (index, (cell, seen)) in cells.iter_mut().zip(&mut seen).enumerate() {
        *seen = *cell;
        for _ in 0..rounds {
            *cell = cell.wrapping_add(index as u32 + 1);
            *seen = seen.wrapping_add(*cell);
        }
    }
    Ok(vec![
        Output::new("cells", Values::U32(cells)),
        Output::new("seen", Values::U32(seen)),
    ])
}

/// Each strong load sees the store of the round before, the first one the initial value.
pub(crate) fn strong_load_then_store(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rounds = inputs.size("rounds")?;
    let mut cells = inputs.u32s("cells", 0)?;
    let mut seen = inputs.u32s("seen", cells.len())?;
    for (index, (cell, seen)) in cells.iter_mut().zip(&mut seen).enumerate() {
        *seen = 0;
        for round in 0..rounds {
            *seen = seen.wrapping_add(*cell);
            *cell = (index + round) as u32;
        }
    }
    Ok(vec![
        Output::new("cells", Values::U32(cells)),
        Output::new("seen", Values::U32(seen)),
    ])
}

/// Word i of the message of pair p, `words` long, is 1000 p + i.
pub(crate) fn messages(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let words = inputs.positive("words")?;
    let mut received = inputs.u32s("received", 0)?;
    for (index, word) in received.iter_mut().enumerate() {
        *word = (index / words * 1000 + index % words) as u32;
    }
    Ok(vec![Output::new("received", Values::U32(received))])
}

/// `result` is the wrapping sum of `in`.
pub(crate) fn last_block_sum(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let from = inputs.u32s("in", 0)?;
    let sum = from
        .iter()
        .fold(0, |sum: u32, number| sum.wrapping_add(*number));
    Ok(vec![Output::new("result", Values::U32(vec![sum]))])
}

/// One phase: each block adds its own word, its neighbour's and 1.
fn phase(before: &[u32]) -> Vec<u32> {
    (0..before.len())
        .map(|block| {
            let neighbour = before[(block + 1) % before.len()];
            before[block].wrapping_add(neighbour).wrapping_add(1)
        })
        .collect()
}

/// Row p + 1 of `words` comes from row p, for `phases` phases of `blocks` blocks.
pub(crate) fn grid_barrier(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let blocks = inputs.positive("blocks")?;
    let phases = inputs.size("phases")?;
    let mut words = inputs.u32s("words", blocks * (phases + 1))?;
    for index in 0..phases {
        let now = phase(&words[index * blocks..(index + 1) * blocks]);
        words[(index + 1) * blocks..(index + 2) * blocks].copy_from_slice(&now);
    }
    Ok(vec![Output::new("words", Values::U32(words))])
}

/// The same between two rows in turn.
pub(crate) fn grid_barrier_in_place(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let blocks = inputs.positive("blocks")?;
    let phases = inputs.size("phases")?;
    let mut words = inputs.u32s("words", blocks * 2)?;
    for index in 0..phases {
        let (from, to) = (index % 2 * blocks, (index + 1) % 2 * blocks);
        let now = phase(&words[from..from + blocks]);
        words[to..to + blocks].copy_from_slice(&now);
    }
    Ok(vec![Output::new("words", Values::U32(words))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_sum_neighbours() {
        assert_eq!(phase(&[1, 2, 3]), [4, 6, 5]);
        assert_eq!(phase(&phase(&[1, 2, 3])), [11, 12, 10]);
    }
}
