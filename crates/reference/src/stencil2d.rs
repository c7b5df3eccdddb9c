//! Five-point stencil.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// `steps` steps from buffer `a` to `b`, back to `a`, and so on. Cells at the border stay.
pub(crate) fn stencil2d(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (width, height) = (inputs.size("width")?, inputs.size("height")?);
    let (centre, side) = (inputs.f32("centre")?, inputs.f32("side")?);
    let mut from = inputs.f32s("a", width * height)?;
    let mut to = inputs.f32s("b", width * height)?;
    let steps = inputs.size("steps")?;
    for _ in 0..steps {
        step(&from, &mut to, width, height, centre, side);
        std::mem::swap(&mut from, &mut to);
    }
    let (a, b) = if steps % 2 == 0 {
        (from, to)
    } else {
        (to, from)
    };
    Ok(vec![
        Output::new("a", Values::F32(a)),
        Output::new("b", Values::F32(b)),
    ])
}

fn step(from: &[f32], to: &mut [f32], width: usize, height: usize, centre: f32, side: f32) {
    for y in 0..height {
        for x in 0..width {
            let at = y * width + x;
            let inside = x > 0 && x + 1 < width && y > 0 && y + 1 < height;
            to[at] = if inside {
                let sides = (from[at - 1] + from[at + 1]) + (from[at - width] + from[at + width]);
                side.mul_add(sides, centre * from[at])
            } else {
                from[at]
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_field_stays_and_a_peak_spreads() {
        let mut to = vec![0.0; 25];
        step(&[2.0; 25], &mut to, 5, 5, 0.5, 0.125);
        assert_eq!(to, [2.0; 25]);
        let mut peak = vec![0.0; 25];
        peak[12] = 8.0;
        step(&peak, &mut to, 5, 5, 0.5, 0.125);
        assert_eq!((to[12], to[11], to[7], to[6]), (4.0, 1.0, 1.0, 0.0));
    }
}
