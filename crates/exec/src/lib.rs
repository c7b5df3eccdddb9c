//! What an instruction does: registers, lanes, control flow and memory spaces of the simulated
//! program. Implements the contract of `source` for execution-driven timing ([`SmState`]) and runs
//! kernels without timing ([`functional`]).
//!
//! The way of an instruction: [`Module`] decodes the code image of a cubin, [`Launch`] lowers it to
//! micro-operations with operands resolved (`lower`, `micro`), a machine steps a warp through them
//! (`machine`), register-file operations run in code compiled for the host's instruction set
//! (`isa_dispatch`), control flow moves splits (`split`), loads and stores go through a port to
//! device memory (`memory`).
//!
//! Invariant: results depend on the program, its inputs and the order of calls only, never on the
//! host instruction set, nor on time unless it is asked for (`emulate`).

// Lane loops index several rows by lane.
#![allow(clippy::needless_range_loop)]

mod constant;
mod cta;
mod emulate;
mod error;
mod family;
pub mod functional;
mod isa_dispatch;
mod lanes;
mod launch;
mod lower;
mod machine;
mod memory;
mod micro;
mod program;
mod rounding;
mod service;
mod sm;
mod softfloat;
mod split;
#[cfg(test)]
mod tests;
pub mod texture;
mod warp;

pub use error::ExecError;
pub use functional::{FunctionalStatistics, RunFault};
pub use isa_dispatch::HostIsa;
pub use launch::{Launch, LaunchOptions, UnknownOp, system_shared};
pub use memory::global::GlobalMemory;
pub use memory::local::LOCAL_BASE;
pub use memory::pages::PageOrder;
pub use program::{CODE_BASE, Module, Program};
pub use service::console::Printed;
pub use service::heap::DEFAULT_HEAP;
pub use sm::SmState;

/// Whether execution is written for an instruction. Derived from the lowering that launches use.
pub fn executes(instruction: &sass::Instruction) -> bool {
    refusal(instruction).is_none()
}

/// Why an instruction is not executed, if it is not.
pub fn refusal(instruction: &sass::Instruction) -> Option<String> {
    // As many registers and constants as there can be: what a launch lacks is not the question.
    static BANKS: std::sync::OnceLock<constant::Banks> = std::sync::OnceLock::new();
    let banks = BANKS.get_or_init(|| {
        let mut banks = constant::Banks::new();
        for bank in 0..32 {
            banks.set(bank, vec![0; 1 << 16]);
        }
        banks
    });
    let context = lower::Context {
        pc: 1 << 20,
        registers: 255,
        banks,
    };
    lower::lower(instruction, context)
        .err()
        .map(|refusal| refusal.0)
}
