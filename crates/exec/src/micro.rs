//! Lowered instructions: what `lower` makes of a decoded instruction for one launch. Operands are
//! resolved to register rows and scalars (constants at a fixed place are read once), modifiers to
//! enums, so that execution is one match and a loop over lanes.

use crate::family;
use crate::memory;

/// Row of the sink that writes to RZ go to, relative to the kernel's register count.
pub(crate) const SINK_ROWS: usize = 2;

/// A 32-bit source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    /// A row of the register file.
    Register(u16),
    /// The same value in all lanes: an immediate, a constant, RZ.
    Scalar(u32),
    /// A uniform register.
    Uniform(u8),
}

/// A 64-bit source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wide {
    /// Two rows: low word first.
    Register(u16),
    /// Low and high word, the same in all lanes.
    Scalar(u32, u32),
    /// Two uniform registers.
    Uniform(u8),
}

/// A predicate source: a number, whether it is uniform, whether it is negated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PredicateSource(u8);

impl PredicateSource {
    /// PT.
    pub(crate) const TRUE: PredicateSource = PredicateSource(7);
    /// !PT.
    pub(crate) const FALSE: PredicateSource = PredicateSource(7 | 8);

    /// A source that reads predicate `number`.
    pub(crate) const fn new(number: u8, negate: bool, uniform: bool) -> PredicateSource {
        PredicateSource(number & 7 | (negate as u8) << 3 | (uniform as u8) << 4)
    }

    /// Its number.
    #[inline(always)]
    pub(crate) const fn number(self) -> u8 {
        self.0 & 7
    }

    /// All ones if negated.
    #[inline(always)]
    pub(crate) const fn inversion(self) -> u32 {
        0u32.wrapping_sub((self.0 >> 3 & 1) as u32)
    }

    /// Whether it is a uniform predicate.
    #[inline(always)]
    pub(crate) const fn is_uniform(self) -> bool {
        self.0 >> 4 & 1 == 1
    }
}

/// One lowered instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Micro {
    /// What it does.
    pub(crate) op: Op,
    /// In which lanes.
    pub(crate) guard: PredicateSource,
}

/// What a lowered instruction does, by family. Each family's file defines, lowers and executes its
/// operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Nothing.
    Nop,
    /// Touches registers and predicates of the warp only.
    Vector(Vector),
    /// Goes through the memory unit.
    Memory(memory::Op),
    /// Atomic operation.
    Atomic(family::atomic::Op),
    /// Texture fetch.
    Texture(family::texture::Op),
    /// Surface access.
    Surface(family::surface::Op),
    /// Moves the program counter.
    Control(family::control_flow::Op),
    /// CTA barrier.
    Barrier(family::barrier::Op),
    /// Reads state beyond registers: special registers, clocks.
    Miscellaneous(family::miscellaneous::Op),
    /// Not executed: number of the reason in [`Refusals`].
    Refused(u32),
    /// Touches this register, which is beyond those that the kernel may use: the machine traps.
    BeyondRegisters(u8),
}

/// Operations inside the register file, executed by code compiled for each host instruction set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Vector {
    Integer(family::integer::Op),
    Float(family::float::Op),
    Half(family::half::Op),
    Double(family::double::Op),
    Conversion(family::conversion::Op),
    Predicate(family::predicate::Op),
    Move(family::move_::Op),
    SpecialFunction(family::special_function::Op),
    Uniform(family::uniform::Op),
    ShuffleVote(family::shuffle_vote::Op),
    Tensor(family::tensor::Op),
    Packing(family::packing::Op),
    PackedInteger(family::packed_integer::Op),
}

/// Why instructions of a launch are not executed; `Op::Refused` holds an index into it.
pub(crate) type Refusals = Vec<String>;
