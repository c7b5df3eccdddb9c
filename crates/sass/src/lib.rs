//! SASS, NVIDIA's machine code: a 128-bit word, what it means and how it is written.
//!
//! Stands at the start of the flow: `cubin` hands out bytes, this crate turns them into
//! [`Instruction`]s, `exec` executes those and describes them to the timing model.
//! Pure, no I/O, never panics: any word gives an instruction or [`Decoded::Unknown`].

mod architecture;
pub mod assemble;
mod class;
pub mod compare;
mod control;
mod decode;
mod display;
mod footprint;
mod instruction;
mod modifier;
mod opcode;
mod operand;
mod special;
pub mod table;
mod word;

pub use architecture::Architecture;
pub use class::{Class, class};
pub use control::Control;
pub use decode::decode;
pub use footprint::{File, Footprint, Role, Use, footprint};
pub use instruction::{Decoded, Guard, Instruction};
pub use modifier::Modifier;
pub use opcode::Opcode;
pub use operand::{
    Adjust, ConstantBank, ImmediateKind, MATRIX_FLAGS, Operand, Predicate, Register, Select,
    UniformRegister,
};
pub use table::{Row, rows};
pub use word::Word;
