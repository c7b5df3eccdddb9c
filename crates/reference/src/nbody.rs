//! One step of an n-body system, in double precision.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// New positions `to` and velocities `velocity_to` of `n` bodies: four numbers each, the fourth of a
/// position is the mass.
pub(crate) fn nbody(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let from = inputs.f32s("from", 4 * n)?;
    let velocity = inputs.f32s("velocity", 4 * n)?;
    let (mut to, mut velocity_to) = (
        inputs.f32s("to", 4 * n)?,
        inputs.f32s("velocity_to", 4 * n)?,
    );
    let step = f64::from(inputs.f32("step")?);
    let softening = f64::from(inputs.f32("softening")?);
    let number = |values: &[f32], index: usize| f64::from(values[index]);
    for i in 0..n {
        let mut acceleration = [0.0; 3];
        for k in 0..n {
            let offset = [0, 1, 2].map(|c| number(&from, 4 * k + c) - number(&from, 4 * i + c));
            let square = offset.iter().map(|d| d * d).sum::<f64>() + softening;
            let scale = number(&from, 4 * k + 3) / (square * square.sqrt());
            for (sum, d) in acceleration.iter_mut().zip(offset) {
                *sum += d * scale;
            }
        }
        for (c, a) in acceleration.iter().enumerate() {
            let v = number(&velocity, 4 * i + c) + a * step;
            velocity_to[4 * i + c] = v as f32;
            to[4 * i + c] = (number(&from, 4 * i + c) + v * step) as f32;
        }
        to[4 * i + 3] = from[4 * i + 3];
        velocity_to[4 * i + 3] = velocity[4 * i + 3];
    }
    Ok(vec![
        Output::new("to", Values::F32(to)),
        Output::new("velocity_to", Values::F32(velocity_to)),
    ])
}
