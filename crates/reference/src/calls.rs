//! `kernels/calls`: recursion, virtual functions, function pointers and jump tables.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

fn mix(mut x: u32) -> u32 {
    x ^= x >> 15;
    x = x.wrapping_mul(0x2c1b_3c6d);
    x ^ x >> 12
}

fn walk(state: u32, depth: u32) -> u32 {
    let frame: [u32; 4] = std::array::from_fn(|k| mix(state.wrapping_add(k as u32)));
    if depth == 0 {
        return frame[state as usize & 3];
    }
    let mut result = walk(frame[state as usize & 3], depth - 1);
    if result & 1 == 1 {
        let next = frame[(result >> 1) as usize & 3];
        result = result.wrapping_add(walk(next, depth / 2));
    }
    result ^ frame[result as usize & 3]
}

fn each_thread(inputs: &Inputs, value: impl Fn(u32) -> u32) -> Result<Vec<Output>, ReferenceError> {
    let mut out = inputs.u32s("out", 0)?;
    for (thread, place) in (0u32..).zip(&mut out) {
        *place = value(thread);
    }
    Ok(vec![Output::new("out", Values::U32(out))])
}

/// Thread i descends i mod `depth` levels.
pub(crate) fn recursion(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let depth = inputs.positive("depth")? as u32;
    each_thread(inputs, |thread| walk(thread, thread % depth))
}

/// Each thread has four objects and picks one by its data in every round.
pub(crate) fn virtual_calls(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rounds = inputs.size("rounds")? as u32;
    each_thread(inputs, |thread| {
        let factor = (thread * 2 + 7) | 1;
        (0..rounds).fold(thread + 1, |x, round| match (x >> 3 ^ round) & 3 {
            0 => x.wrapping_add(thread),
            1 => x.wrapping_mul(factor),
            2 => x.rotate_left(thread % 29 + 1),
            _ => x.wrapping_mul(factor).wrapping_mul(factor),
        })
    })
}

/// Each thread picks one of three functions by its data in every round.
pub(crate) fn function_pointers(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rounds = inputs.size("rounds")? as u32;
    each_thread(inputs, |thread| {
        (3..rounds + 3).fold(thread, |x, operand| match x % 3 {
            0 => x.wrapping_add(operand),
            1 => x.wrapping_sub(operand),
            _ => x.wrapping_mul(operand),
        })
    })
}

/// Each thread takes one of nine branches by its data in every round.
pub(crate) fn jump_table(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let rounds = inputs.size("rounds")? as u32;
    each_thread(inputs, |thread| {
        (0..rounds).fold(thread, |x, round| match x % 9 {
            0 => x.wrapping_mul(3).wrapping_add(1),
            1 => x ^ 0x55,
            2 => (x >> 1).wrapping_add(round),
            3 => !x,
            4 => x.wrapping_add(1_000_003),
            5 => x.wrapping_mul(x).wrapping_add(5),
            6 => (x << 7).wrapping_sub(x),
            7 => mix(x),
            _ => x.wrapping_sub(round),
        })
    })
}
