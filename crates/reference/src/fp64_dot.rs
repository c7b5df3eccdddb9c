//! Dot product in double precision, in the kernel's order of additions.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

const WARP: usize = 32;

/// `partial` sums of the blocks and their `total`.
pub(crate) fn fp64_dot(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let (grid, block) = (inputs.positive("grid")?, inputs.positive("block")?);
    let (a, b) = (inputs.f64s("a", n)?, inputs.f64s("b", n)?);
    let mut partial = inputs.f64s("partial", grid)?;
    let mut total = inputs.f64s("total", 1)?;
    for (index, out) in partial.iter_mut().take(grid).enumerate() {
        let threads = (0..block.next_multiple_of(WARP)).map(|thread| {
            (index * block + thread..n)
                .step_by(grid * block)
                .fold(0.0f64, |sum, i| a[i].mul_add(b[i], sum))
        });
        *out = block_sum(&threads.collect::<Vec<_>>());
    }
    let lanes = grid.next_multiple_of(WARP);
    let sums: Vec<f64> = (0..lanes)
        .map(|lane| if lane < grid { partial[lane] } else { 0.0 })
        .collect();
    total[0] = block_sum(&sums);
    Ok(vec![
        Output::new("partial", Values::F64(partial)),
        Output::new("total", Values::F64(total)),
    ])
}

/// Lane 0's sum of a tree of `shfl.down`: lanes beyond the warp give a lane its own value.
fn warp_sum(lanes: &[f64]) -> f64 {
    let mut sums = lanes.to_vec();
    sums.resize(WARP, 0.0);
    for distance in [16, 8, 4, 2, 1] {
        let old = sums.clone();
        for lane in 0..WARP {
            sums[lane] = old[lane] + old.get(lane + distance).copied().unwrap_or(old[lane]);
        }
    }
    sums[0]
}

fn block_sum(threads: &[f64]) -> f64 {
    let warps: Vec<f64> = threads.chunks(WARP).map(warp_sum).collect();
    warp_sum(&warps)
}
