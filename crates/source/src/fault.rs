//! Errors of the simulated program: it did something that the machine would trap.

use crate::id::Pc;

/// A fault of one warp instruction. `device` adds SM, CTA and kernel when it reports it.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// Where.
    pub pc: Pc,
    /// First faulting lane, if a lane is at fault.
    pub lane: Option<u8>,
    /// Thread index of that lane in its CTA (x, y, z).
    pub thread: [u32; 3],
    /// CTA index in the grid (x, y, z).
    pub cta: [u32; 3],
    /// What happened.
    pub kind: FaultKind,
}

/// What a faulting instruction did.
#[derive(Clone, PartialEq, Debug)]
pub enum FaultKind {
    /// The address is in no allocation.
    OutOfBounds {
        /// Name of the space.
        space: &'static str,
        /// Byte address or offset.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
        /// Nearest allocation or limit, described.
        nearest: Option<String>,
    },
    /// The address is not a multiple of the access size.
    Misaligned {
        /// Name of the space.
        space: &'static str,
        /// Byte address or offset.
        address: u64,
        /// Bytes accessed: the alignment needed.
        bytes: u32,
    },
    /// The word is in no row of the table, or no execution is written for it.
    UnknownInstruction {
        /// Its low and high halves.
        word: [u64; 2],
        /// Mnemonic if it decodes, else a note.
        text: String,
    },
    /// The hardware refuses the instruction as it is: a register beyond those that the kernel declared.
    IllegalInstruction(String),
    /// Control left the code.
    IllegalPc,
    /// BPT.TRAP, __trap() or a failed device assertion.
    Trap(String),
    /// A texture or surface access that cannot be: no such handle, another dimension, outside.
    Texture(String),
    /// Something the hardware could do and this simulator cannot.
    Unsupported(String),
    /// The program misused a barrier (count not a multiple of the warp size, too many warps, …).
    Barrier(String),
}
