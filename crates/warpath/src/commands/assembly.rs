//! `warpath disasm --asm`: a cubin as text that `warpath asm` takes back.

use std::io::Write;

use super::disasm::{architecture, of_cubin, read_words};
use crate::cli::DisasmArguments;
use crate::failure::{Failure, Problem};
use crate::input::load_cubin;

/// Prints the text.
pub fn run(arguments: &DisasmArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let text = if let Some(name) = &arguments.raw {
        let architecture = architecture(name)?;
        lab::text_of_code(&read_words(&arguments.file)?, architecture)
    } else {
        let cubin = load_cubin(&arguments.file)?;
        let architecture = of_cubin(&arguments.file, cubin.sm())?;
        let wrong = |error: cubin::CubinError| {
            Problem::new(format!("{}: {error}", arguments.file.display())).input()
        };
        let chosen = match &arguments.kernel {
            Some(name) => vec![cubin.kernel(name).map_err(wrong)?],
            None => cubin.kernels().iter().collect(),
        };
        lab::text_of(&cubin, &chosen, architecture)
    };
    out.write_all(text.as_bytes())?;
    Ok(())
}
