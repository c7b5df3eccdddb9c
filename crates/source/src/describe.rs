//! From a decoded instruction to its description for timing.

use sass::Instruction;

use crate::description::{Description, Special};

/// Describes `instruction` for the timing model.
pub fn describe(instruction: &Instruction) -> Description {
    Description {
        control: instruction.control,
        footprint: sass::footprint(instruction),
        class: sass::class(instruction),
        constant: None,
        memory: None,
        special: Special::None,
    }
}
