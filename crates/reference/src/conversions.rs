//! Conversions between number types.

use half::f16;

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::rows::table;

/// One row per conversion of the numbers in `reals` and `integers`.
pub(crate) fn conversions(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let reals = inputs.f32s("reals", n)?;
    let integers = inputs.words("integers", n)?;
    table(inputs, n, |i| convert(reals[i], integers[i]))
}

/// Rust's conversions saturate as the hardware's do.
fn convert(x: f32, u: u32) -> [u32; 22] {
    let wide = f64::from(x) * 1.0625;
    let s = u as i32;
    let long = u64::from(u) * 0x1_0000_0001;
    [
        x as i32 as u32,
        x.round_ties_even() as i32 as u32,
        x.ceil() as i32 as u32,
        x.floor() as i32 as u32,
        x as u32,
        (x as i64 >> 8) as u32,
        wide as i32 as u32,
        (wide.round_ties_even() as i64 >> 4) as u32,
        (u as f32).to_bits(),
        (s as f32).to_bits(),
        (long as f32).to_bits(),
        (f64::from(s).to_bits() >> 32) as u32,
        (long as f64).to_bits() as u32,
        (wide as f32).to_bits(),
        u32::from(f16::from_f32(x).to_bits()),
        f16::from_bits(u as u16 & 0x7bff).to_f32().to_bits(),
        x.floor().to_bits(),
        x.ceil().to_bits(),
        x.trunc().to_bits(),
        x.round_ties_even().to_bits(),
        u32::from(u as u8).wrapping_add((u >> 8) as i8 as u32),
        u as i16 as u32,
    ]
}
