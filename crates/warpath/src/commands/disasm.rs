//! `warpath disasm`: the instructions of a cubin, or of bare words, as text with control bits.

use std::io::Write;
use std::path::Path;

use cubin::Function;
use sass::{Architecture, Decoded, Word};

use crate::cli::DisasmArguments;
use crate::failure::{Failure, Problem};
use crate::input::{load_cubin, read_code};

/// Prints the instructions, or the comparison with the vendor's disassembler.
pub fn run(arguments: &DisasmArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(vendor) = &arguments.against {
        return super::against::run(arguments, vendor, out);
    }
    if arguments.asm {
        return super::assembly::run(arguments, out);
    }
    if let Some(name) = &arguments.raw {
        let architecture = architecture(name)?;
        let code = read_words(&arguments.file)?;
        return write_code(&code, architecture, out);
    }
    let cubin = load_cubin(&arguments.file)?;
    let architecture = of_cubin(&arguments.file, cubin.sm())?;
    let chosen = match &arguments.kernel {
        Some(name) => {
            let kernel = cubin.kernel(name).map_err(|error| {
                Problem::new(format!("{}: {error}", arguments.file.display())).input()
            })?;
            Some(kernel.section)
        }
        None => None,
    };
    let functions = cubin
        .functions()
        .iter()
        .filter(|f| chosen.is_none_or(|section| f.section == section));
    for (index, function) in functions.enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write_head(function, architecture, out)?;
        write_code(&function.code, architecture, out)?;
    }
    Ok(())
}

fn write_head(
    function: &Function,
    architecture: Architecture,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let kind = if function.is_entry {
        "kernel"
    } else {
        "function"
    };
    writeln!(
        out,
        "// {kind} {}: {architecture}, {} instructions, {} registers, {} barriers, {} bytes of shared memory",
        function.name,
        function.code.len() / 16,
        function.registers,
        function.barriers,
        function.static_shared,
    )?;
    Ok(())
}

fn write_code(code: &[u8], architecture: Architecture, out: &mut dyn Write) -> Result<(), Failure> {
    let (words, _) = code.as_chunks::<16>();
    for (index, bytes) in words.iter().enumerate() {
        let pc = index as u64 * 16;
        match sass::decode(Word::from_bytes(*bytes), architecture) {
            Decoded::Instruction(instruction) => writeln!(
                out,
                "/*{pc:04x}*/ {} {} ;",
                instruction.control,
                instruction.display(pc)
            )?,
            Decoded::Unknown(word) => writeln!(
                out,
                "/*{pc:04x}*/ {} .word 0x{:016x}, 0x{:016x} ; // unknown",
                sass::Control::decode(word),
                word.low(),
                word.high()
            )?,
        }
    }
    Ok(())
}

/// The architecture of that name, `sm_86`.
pub fn architecture(name: &str) -> Result<Architecture, Failure> {
    name.strip_prefix("sm_")
        .unwrap_or(name)
        .parse()
        .ok()
        .and_then(Architecture::from_number)
        .ok_or_else(|| {
            Problem::new(format!(
                "unknown architecture `{name}`: known are {}",
                known()
            ))
            .input()
        })
}

/// The architecture of a cubin.
pub fn of_cubin(file: &Path, sm: u32) -> Result<Architecture, Failure> {
    Architecture::from_number(sm).ok_or_else(|| {
        Problem::new(format!(
            "{}: the code is for sm_{sm}; known are {}",
            file.display(),
            known()
        ))
        .input()
    })
}

fn known() -> String {
    let names: Vec<String> = Architecture::ALL
        .iter()
        .map(Architecture::to_string)
        .collect();
    names.join(", ")
}

/// The bytes of a file of bare words.
pub fn read_words(file: &Path) -> Result<Vec<u8>, Failure> {
    let code = read_code(file)?;
    if !code.len().is_multiple_of(16) {
        return Err(Problem::new(format!(
            "{}: {} bytes are no whole number of 16-byte instructions",
            file.display(),
            code.len()
        ))
        .input());
    }
    Ok(code)
}
