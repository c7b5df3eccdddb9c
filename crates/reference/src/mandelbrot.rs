//! Escape times of the Mandelbrot set.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// Trips until each of `width` x `height` points escapes, at most `most_trips`.
pub(crate) fn mandelbrot(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let (width, height) = (inputs.size("width")?, inputs.size("height")?);
    let (left, top, step) = (inputs.f32("left")?, inputs.f32("top")?, inputs.f32("step")?);
    let most_trips = inputs.size("most_trips")?;
    let mut trips = inputs.u32s("trips", width * height)?;
    for y in 0..height {
        for x in 0..width {
            let real = (x as f32).mul_add(step, left);
            let imaginary = (y as f32).mul_add(step, top);
            trips[y * width + x] = escape_time(real, imaginary, most_trips);
        }
    }
    Ok(vec![Output::new("trips", Values::U32(trips))])
}

/// The operations of the kernel, in its order.
fn escape_time(c_real: f32, c_imaginary: f32, most_trips: usize) -> u32 {
    let (mut real, mut imaginary) = (0.0f32, 0.0f32);
    for trip in 0..most_trips {
        let (real_squared, imaginary_squared) = (real * real, imaginary * imaginary);
        if real_squared + imaginary_squared > 4.0 {
            return trip as u32;
        }
        imaginary = (real + real).mul_add(imaginary, c_imaginary);
        real = (real_squared - imaginary_squared) + c_real;
    }
    most_trips as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_stays_and_far_points_leave_at_once() {
        assert_eq!(escape_time(0.0, 0.0, 100), 100);
        assert_eq!(escape_time(3.0, 0.0, 100), 1);
        assert_eq!(escape_time(-2.0, 0.0, 100), 100);
    }
}
