//! What an instruction reads and writes: registers of every file, in which role. The timing model's
//! port bookings, the hazard check and the assembler's dependence pass all derive from it.
//!
//! Each opcode has a layout: which operands it writes, how many registers each source spans. The
//! operands themselves are walked in printed order, so what is printed decides (a destination of PT
//! that is left out writes nothing).

mod hopper;
mod layout;
mod matrix;
mod texture;
mod walk;

use smallvec::SmallVec;

use crate::class::Class;

pub use walk::footprint;

/// A register file of one warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum File {
    /// R0 to R254, one value per lane.
    General,
    /// UR0 to UR62, one value per warp.
    Uniform,
    /// P0 to P6, one bit per lane.
    Predicate,
    /// UP0 to UP6, one bit per warp.
    UniformPredicate,
    /// B0 to B15, a lane mask.
    Convergence,
}

/// What a read register is used for; visibility distances depend on it (DESIGN.md H1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Role {
    /// An ordinary source operand.
    Data,
    /// The instruction's guard predicate.
    Guard,
    /// Part of a memory address or another operand sampled by a variable-latency unit's address stage.
    Address,
    /// Data to be stored (sampled by the memory unit).
    StoreData,
}

/// A run of consecutive registers that one operand reads or writes. RZ, URZ, PT never appear.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Use {
    /// Which file.
    pub file: File,
    /// First register.
    pub first: u8,
    /// Number of registers, 1 to 16; up to 128 of a warp group's matrix.
    pub count: u8,
    /// Role of a read; `Role::Data` for writes.
    pub role: Role,
    /// Place among the source operands (0, 1, 2 for A, B, C; literals and constants have theirs too), the
    /// key of the reuse cache; `None` if not a general register.
    pub slot: Option<u8>,
    /// The operand carries `.reuse`.
    pub reuse: bool,
    /// Row (writes) or column (reads) of the distance table: the instruction's class, except where
    /// an operand is written or sampled at a time of its own (halves of IMAD.WIDE, bindless banks).
    pub class: Class,
}

/// Everything one instruction reads and writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// Registers read, guard included.
    pub reads: SmallVec<[Use; 8]>,
    /// Registers written.
    pub writes: SmallVec<[Use; 4]>,
}
