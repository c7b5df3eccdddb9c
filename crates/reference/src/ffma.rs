//! Chains of fused multiply-adds: the arithmetic benchmark and the timing laws.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

fn coefficients(inputs: &Inputs) -> Result<(f32, f32), ReferenceError> {
    let coefficients = inputs.f32s("coefficients", 2)?;
    Ok((coefficients[0], coefficients[1]))
}

/// `length` dependent steps of `value * factor + addend`.
fn chain(mut value: f32, factor: f32, addend: f32, length: usize) -> f32 {
    for _ in 0..length {
        let next = value.mul_add(factor, addend);
        if next.to_bits() == value.to_bits() {
            break; // a fixed point: every further step gives the same
        }
        value = next;
    }
    value
}

/// Each thread of a block of `block` threads sums `chains` chains (8 unless given) of
/// `trips * steps` steps (`steps` is 8 unless given), chain c starting at thread + c.
pub(crate) fn ffma(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let block = inputs.positive("block")?;
    let trips = inputs.size("trips")?;
    let chains = inputs.size("chains").or_else(unless_missing(8))?;
    let steps = inputs.size("steps").or_else(unless_missing(8))?;
    let (factor, addend) = coefficients(inputs)?;
    let mut out = inputs.f32s("out", 0)?;
    let sums: Vec<f32> = (0..block.min(out.len()))
        .map(|thread| {
            (0..chains)
                .map(|c| chain((thread + c) as f32, factor, addend, trips * steps))
                .fold(0.0, |sum, value| sum + value)
        })
        .collect();
    for (index, out) in out.iter_mut().enumerate() {
        *out = sums[index % block];
    }
    Ok(vec![Output::new("out", Values::F32(out))])
}

fn unless_missing(default: usize) -> impl Fn(ReferenceError) -> Result<usize, ReferenceError> {
    move |error| match error {
        ReferenceError::MissingParameter(_) => Ok(default),
        other => Err(other),
    }
}

/// Each buffer `out_<n>` holds, for each thread, a chain of `trips * n` steps from its own index.
pub(crate) fn ffma_chain(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let trips = inputs.size("trips")?;
    let (factor, addend) = coefficients(inputs)?;
    let mut outputs = Vec::new();
    for name in inputs.buffer_names() {
        let Some(length) = name
            .strip_prefix("out_")
            .and_then(|n| n.parse::<u32>().ok())
        else {
            continue;
        };
        let mut out = inputs.f32s(name, 0)?;
        for (thread, out) in out.iter_mut().enumerate() {
            *out = chain(thread as f32, factor, addend, trips * length as usize);
        }
        outputs.push(Output::new(name, Values::F32(out)));
    }
    Ok(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_converges_to_its_fixed_point() {
        assert_eq!(chain(8.0, 0.5, 0.25, 1), 4.25);
        assert_eq!(
            chain(8.0, 0.5, 0.25, usize::MAX),
            chain(8.0, 0.5, 0.25, 1000)
        );
        assert!((chain(8.0, 0.5, 0.25, 1000) - 0.5).abs() < 1e-6);
    }
}
