//! Fragments of the tensor cores' instructions.

use super::layout::{Layout, result};
use crate::class::{accumulator_bits, factor_bits, shape};
use crate::instruction::Instruction;
use crate::modifier::Modifier;
use crate::opcode::Opcode;

/// Fragments of a matrix instruction: `rows · columns · bits / 1024` registers each, the first
/// factor of a sparse one half of that (MODEL.md §6).
pub(super) fn matrix(instruction: &Instruction) -> Layout {
    if instruction.opcode == Opcode::HMMA && instruction.has(Modifier::N884) {
        // A step of Volta's shape: four products, the results of two registers.
        return result(2, [2, 2, 2, 1]);
    }
    let (rows, depth) = shape(instruction);
    let columns = 8;
    let registers = |elements: u16, bits: u16| (elements * bits / 1024).clamp(1, 16) as u8;
    let sparse = if instruction.has(Modifier::SP) { 2 } else { 1 };
    let factor = factor_bits(instruction);
    let sum = registers(rows * columns, accumulator_bits(instruction));
    let first = registers(rows * depth / sparse, factor);
    result(sum, [first, registers(depth * columns, factor), sum, 1])
}
