//! `kernels/services`: what kernels that print and allocate leave in memory.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// The number of arguments of each thread's calls of `printf`: eight, and eight more in every third.
pub(crate) fn print_lines(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let mut counts = inputs.u32s("counts", n)?;
    for (index, count) in counts.iter_mut().enumerate().take(n) {
        *count = if index % 3 == 0 { 16 } else { 8 };
    }
    Ok(vec![Output::new("counts", Values::U32(counts))])
}

/// The sum over each thread's lists, last node first.
pub(crate) fn heap_lists(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rounds = inputs.size("rounds")? as u32;
    let mut sums = inputs.u32s("sums", 0)?;
    for (thread, sum) in (0u32..).zip(&mut sums) {
        *sum = 0;
        for round in 0..rounds {
            for node in (0..1 + (thread * 5 + round) % 7).rev() {
                let value = thread * 100 + round * 10 + node;
                *sum = sum.wrapping_mul(31).wrapping_add(value);
            }
        }
    }
    Ok(vec![Output::new("sums", Values::U32(sums))])
}

/// The sum over each thread's block, and the number of the thread opposite in its CTA.
pub(crate) fn heap_blocks(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let words = inputs.size("words")? as u32;
    let block = inputs.positive("block")? as u32;
    let mut sums = inputs.u32s("sums", 0)?;
    for (thread, sum) in (0u32..).zip(&mut sums) {
        let first = thread / block * block;
        *sum = first + block - 1 - thread % block;
        for word in 0..words {
            *sum = sum.wrapping_add(thread * words + word);
        }
    }
    Ok(vec![Output::new("sums", Values::U32(sums))])
}
