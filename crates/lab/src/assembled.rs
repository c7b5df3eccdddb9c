//! What `sass` assembles as what `cubin` writes: code, resources and parameters of each kernel.

use cubin::{NewCubin, NewKernel};
use sass::assemble::{AssembledKernel, Assembly};
use sass::{Architecture, Decoded, Opcode, Word};

/// The cubin of assembled kernels.
pub fn new_cubin(assembly: &Assembly) -> NewCubin {
    let architecture = assembly.architecture;
    let kernels = assembly.kernels.iter();
    NewCubin {
        sm: architecture.number(),
        kernels: kernels
            .map(|kernel| new_kernel(kernel, architecture))
            .collect(),
        constant3: assembly.constant3.clone(),
    }
}

fn new_kernel(kernel: &AssembledKernel, architecture: Architecture) -> NewKernel {
    let parameters = kernel.parameters.iter();
    let lines = kernel.instructions.iter().enumerate();
    let exits = lines.filter_map(
        |(index, line)| match sass::decode(line.word, architecture) {
            Decoded::Instruction(instruction) if instruction.opcode == Opcode::EXIT => {
                Some(index as u32 * Word::BYTES)
            }
            _ => None,
        },
    );
    NewKernel {
        name: kernel.name.clone(),
        code: kernel.code(),
        registers: kernel.registers,
        barriers: kernel.barriers,
        shared: kernel.shared,
        local: kernel.local,
        parameter_base: architecture.parameter_base(),
        parameters: parameters.map(|one| (one.offset, one.size)).collect(),
        constant2: kernel.constant2.clone(),
        exits: exits.collect(),
    }
}
