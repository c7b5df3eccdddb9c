//! Atomic operations whose final results do not depend on their order.

use half::f16;

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

/// The limit at which the counters of increment and decrement wrap.
const WRAP: u32 = 1_000_000;

/// Every operation once per word of `in`, on global cells and, per block of `block` threads, on
/// shared ones.
pub(crate) fn atomics(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let block = inputs.positive("block")?;
    let values = inputs.u32s("in", 0)?;
    let mut cells = inputs.u32s("cells", 14)?;
    let mut wide = inputs.u64s("wide", 3)?;
    let mut reals = inputs.f32s("reals", 1)?;
    let mut doubles = inputs.f64s("doubles", 1)?;
    let mut halves = inputs.f16s("halves", 2)?;
    let mut shared_cells = inputs.u32s("shared_cells", values.len().div_ceil(block) * 16)?;

    for &value in &values {
        global(&mut cells, value);
        wide[0] = wide[0].wrapping_add(u64::from(value).wrapping_mul(0x1_0000_0001));
        wide[1] = wide[1].max(u64::from(value) << 20);
        wide[2] = 0x0123_4567_89ab_cdef;
        reals[0] += (value & 15) as f32;
        doubles[0] += f64::from(value & 1023);
        halves[0] = f16::from_f32(halves[0].to_f32() + (value & 1) as f32);
        halves[1] = f16::from_f32(halves[1].to_f32() + 1.0);
    }
    for (values, cells) in values.chunks(block).zip(shared_cells.chunks_mut(16)) {
        cells.copy_from_slice(&shared(values));
    }
    Ok(vec![
        Output::new("cells", Values::U32(cells)),
        Output::new("wide", Values::U64(wide)),
        Output::new("reals", Values::F32(reals)),
        Output::new("doubles", Values::F64(doubles)),
        Output::new("halves", Values::F16(halves)),
        Output::new("shared_cells", Values::U32(shared_cells)),
    ])
}

fn global(cells: &mut [u32], value: u32) {
    cells[0] = cells[0].wrapping_add(value);
    cells[1] = cells[1].min(value);
    cells[2] = cells[2].max(value);
    cells[3] &= value | 0xffff;
    cells[4] |= value & 0xff0;
    cells[5] ^= value;
    cells[6] = if cells[6] >= WRAP { 0 } else { cells[6] + 1 };
    cells[7] = if cells[7] == 0 || cells[7] > WRAP {
        WRAP
    } else {
        cells[7] - 1
    };
    cells[8] = (cells[8] as i32).min(value as i32) as u32;
    cells[9] = (cells[9] as i32).max(value as i32) as u32;
    cells[10] = cells[10].wrapping_sub(1);
    cells[11] = cells[11].wrapping_add(cells[12]);
    cells[12] = cells[12].wrapping_add(1);
    cells[13] = cells[13].wrapping_add(value & 3);
}

fn shared(values: &[u32]) -> [u32; 16] {
    let count = values.len() as u32;
    let wide: u64 = values.iter().map(|&value| u64::from(value)).sum();
    [
        wide as u32,
        values.iter().copied().fold(u32::MAX, u32::min),
        values.iter().copied().fold(0, u32::max),
        values
            .iter()
            .fold(u32::MAX, |all, value| all & (value | 0xff)),
        values.iter().fold(0, |all, value| all | (value & 0xff0)),
        values.iter().fold(0, |all, value| all ^ value),
        count,
        count,
        count,
        (0..count).fold(0, |all, slot| all ^ slot),
        77,
        5,
        0,
        0,
        (wide >> 3) as u32,
        values.iter().map(|value| value & 15).sum(),
    ]
}
