//! `warpath disasm --asm`: a cubin as text that `warpath asm` takes back.

use std::io::Write;

use super::disasm::{architecture, chosen_cubins, of_cubin, read_words};
use crate::cli::DisasmArguments;
use crate::failure::{Failure, Problem};

/// Prints the text.
pub fn run(arguments: &DisasmArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let text = if let Some(name) = &arguments.raw {
        let architecture = architecture(name)?;
        ::lab::text_of_code(&read_words(&arguments.file)?, architecture)
    } else {
        let cubins = chosen_cubins(arguments)?;
        let [cubin] = cubins.as_slice() else {
            return Err(Problem::new(format!(
                "{}: {} cubins: choose one with --arch or --kernel",
                arguments.file.display(),
                cubins.len()
            ))
            .input());
        };
        let architecture = of_cubin(&arguments.file, cubin.sm())?;
        let named = |kernel: &&cubin::Kernel| match &arguments.kernel {
            Some(name) => kernel.name == *name,
            None => true,
        };
        let chosen: Vec<_> = cubin.kernels().iter().filter(named).collect();
        ::lab::text_of(cubin, &chosen, architecture)
    };
    out.write_all(text.as_bytes())?;
    Ok(())
}
