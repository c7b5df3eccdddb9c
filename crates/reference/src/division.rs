//! Division, square roots and fused operations that round correctly, on arbitrary bit patterns.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

fn bits_f32(value: f32) -> u32 {
    if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits()
    }
}

fn bits_f64(value: f64) -> u64 {
    if value.is_nan() {
        0x7fff_ffff_ffff_ffff
    } else {
        value.to_bits()
    }
}

/// `quotient`, `root` of the magnitude of a, `reciprocal` of b, as bit patterns.
pub(crate) fn division_f32(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let a = inputs.words("a", n)?;
    let b = inputs.words("b", n)?;
    let output = |name: &str, operation: fn(f32, f32) -> f32| {
        let mut out = inputs.u32s(name, n)?;
        for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(&b)) {
            *out = bits_f32(operation(f32::from_bits(*a), f32::from_bits(*b)));
        }
        Ok(Output::new(name, Values::U32(out)))
    };
    Ok(vec![
        output("quotient", |a, b| a / b)?,
        output("root", |a, _| a.abs().sqrt())?,
        output("reciprocal", |_, b| 1.0 / b)?,
    ])
}

/// `quotient`, `root` of the magnitude of a, and a fused multiply-add, as bit patterns.
pub(crate) fn division_f64(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let a = inputs.double_words("a", n)?;
    let b = inputs.double_words("b", n)?;
    let output = |name: &str, operation: fn(f64, f64) -> f64| {
        let mut out = inputs.u64s(name, n)?;
        for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(&b)) {
            *out = bits_f64(operation(f64::from_bits(*a), f64::from_bits(*b)));
        }
        Ok(Output::new(name, Values::U64(out)))
    };
    Ok(vec![
        output("quotient", |a, b| a / b)?,
        output("root", |a, _| a.abs().sqrt())?,
        output("fused", |a, b| {
            a.mul_add(b, if a < b { a - b } else { a * 3.0 })
        })?,
    ])
}
