//! Latency classes: the row and column of a GPU's latency table that an instruction belongs to
//! (truth/latencies.csv, NAK rows; MODEL.md §6).

use crate::instruction::Instruction;

/// A latency class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Class {
    /// IADD3, LOP3, ISETP and the like.
    CoupledAlu,
}

/// The class of `instruction`.
pub fn class(_instruction: &Instruction) -> Class {
    Class::CoupledAlu
}
