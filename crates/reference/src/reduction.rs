//! Reductions.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

const WARP: usize = 32;

/// Sum over a warp by shuffles from higher lanes; lanes beyond the end read themselves.
fn warp_sum(mut lanes: [f32; WARP]) -> f32 {
    for offset in [16, 8, 4, 2, 1] {
        lanes = std::array::from_fn(|lane| {
            let other = if lane + offset < WARP {
                lane + offset
            } else {
                lane
            };
            lanes[lane] + lanes[other]
        });
    }
    lanes[0]
}

/// What each of `grid` blocks of `block` threads makes of the numbers.
fn block_sums(numbers: &[f32], grid: usize, block: usize) -> Vec<f32> {
    let threads = grid * block;
    let thread_sum = |thread: usize| {
        numbers
            .iter()
            .skip(thread)
            .step_by(threads)
            .fold(0.0f32, |sum, number| sum + number)
    };
    (0..grid)
        .map(|index| {
            let mut of_warp = [0.0; WARP];
            for (warp, sum) in of_warp.iter_mut().enumerate().take(block / WARP) {
                let first = index * block + warp * WARP;
                *sum = warp_sum(std::array::from_fn(|lane| thread_sum(first + lane)));
            }
            warp_sum(of_warp)
        })
        .collect()
}

/// The sum of the first `n` elements of `in`: `partial` holds what `grid` blocks of `block` threads
/// make of them, `result` what one block of `grid` threads (at least a warp) makes of those.
pub(crate) fn reduce_sum(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let grid = inputs.positive("grid")?;
    let block = inputs.positive("block")?;
    let from = inputs.f32s("in", n)?;
    let mut partial = inputs.f32s("partial", grid)?;
    let mut result = inputs.f32s("result", 1)?;
    let sums = block_sums(&from[..n], grid, block);
    result[0] = block_sums(&sums, 1, grid.next_multiple_of(WARP))[0];
    partial[..grid].copy_from_slice(&sums);
    Ok(vec![
        Output::new("partial", Values::F32(partial)),
        Output::new("result", Values::F32(result)),
    ])
}

/// Sum (wrapping), least and greatest of the first `n` elements of `in`.
pub(crate) fn reduce_integers(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let from = inputs.i32s("in", n)?;
    let mut result = inputs.i32s("result", 3)?;
    for &number in &from[..n] {
        result[0] = result[0].wrapping_add(number);
        result[1] = result[1].min(number);
        result[2] = result[2].max(number);
    }
    Ok(vec![Output::new("result", Values::I32(result))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_integers_do_not_depend_on_the_order() {
        let numbers: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let sums = block_sums(&numbers, 4, 64);
        assert_eq!(sums.len(), 4);
        assert_eq!(sums.iter().sum::<f32>(), 499_500.0);
        assert_eq!(block_sums(&sums, 1, 32), [499_500.0]);
    }
}
