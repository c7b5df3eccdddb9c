//! Text to words: the way back from `display`, by the rows that `decode` reads.
//!
//! In the order a text meets them: `program` splits it into kernels and lines, obeys directives and
//! places labels; `instruction` picks the row of a line; `control` reads its control field, `operand` and
//! `literal` its operands; `partial` puts the word together. `write` is the inverse of all that: a text
//! that assembles to the same words. `schedule` fills in control bits that a text leaves open.
//!
//! Several words can have one text, as some bits are not printed. The text stands for the word that the
//! vendor's compiler would write: unprinted bits are those of the row (`Row::rest`). A word that differs
//! from it carries the differing bits as a mask behind its operands, `^0x40000000000000000`.

mod control;
mod cursor;
mod error;
mod instruction;
mod literal;
mod operand;
mod partial;
mod program;
mod write;

pub use control::ControlText;
pub use cursor::Symbols;
pub use error::AssembleError;
pub use instruction::{Line, Names, instruction};
pub use program::{AssembledInstruction, AssembledKernel, Assembly, ParameterText, assemble};
pub use write::assembly_text;
