//! Operations inside the register file: the part of execution that is compiled for each host
//! instruction set (`isa_dispatch`).

use crate::isa_dispatch::Host;
use crate::micro::Vector;
use crate::warp::Warp;

use super::*;

/// Executes `op` in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute<H: Host>(op: &Vector, warp: &mut Warp, mask: u32) {
    match op {
        Vector::Float(op) => float::execute::<H>(op, warp, mask),
        Vector::Integer(op) => integer::execute(op, warp, mask),
        Vector::Move(op) => move_::execute(op, warp, mask),
        Vector::Predicate(op) => predicate::execute(op, warp, mask),
        Vector::Half(op) => half::execute(op, warp, mask),
        Vector::Double(op) => double::execute(op, warp, mask),
        Vector::Conversion(op) => conversion::execute(op, warp, mask),
        Vector::Uniform(op) => uniform::execute(op, warp, mask),
        Vector::SpecialFunction(op) => special_function::execute(op, warp, mask),
        Vector::ShuffleVote(op) => shuffle_vote::execute(op, warp, mask),
        Vector::Tensor(op) => tensor::execute(op, warp),
        Vector::Packing(op) => packing::execute(op, warp, mask),
        Vector::PackedInteger(op) => packed_integer::execute(op, warp, mask),
    }
}
