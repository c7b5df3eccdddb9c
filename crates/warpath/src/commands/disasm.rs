//! `warpath disasm`: the instructions of a cubin, or of bare words, as text with control bits.

use std::io::Write;
use std::path::Path;

use cubin::{Cubin, Function, Line, LineTable};
use sass::{Architecture, Decoded, Word};

use crate::cli::DisasmArguments;
use crate::failure::{Failure, Problem};
use crate::input::{load_cubins, read_code};

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
    let mut first = true;
    for cubin in chosen_cubins(arguments)? {
        let architecture = of_cubin(&arguments.file, cubin.sm())?;
        let lines = match arguments.lines {
            true => cubin.line_table().map_err(|error| {
                Problem::new(format!("{}: {error}", arguments.file.display())).input()
            })?,
            false => LineTable::default(),
        };
        if lines.unplaced() > 0 {
            eprintln!(
                "warning: {}: {} sequences of the line table name no function; their lines are left out",
                arguments.file.display(),
                lines.unplaced()
            );
        }
        for function in chosen_functions(arguments, &cubin) {
            if !std::mem::take(&mut first) {
                writeln!(out)?;
            }
            write_head(function, architecture, out)?;
            let mut last = None;
            let (words, _) = function.code.as_chunks::<16>();
            for (index, bytes) in words.iter().enumerate() {
                let pc = index as u64 * 16;
                let line = lines.line(function.section, pc);
                if line.is_some() && line != last {
                    write_line(&lines, &lines.chain(function.section, pc), out)?;
                    last = line;
                }
                write_word(pc, *bytes, architecture, out)?;
            }
        }
    }
    Ok(())
}

/// The cubins that the arguments choose: of their architecture, and with their kernel.
pub fn chosen_cubins(arguments: &DisasmArguments) -> Result<Vec<Cubin>, Failure> {
    let wrong = |text: String| Problem::new(format!("{}: {text}", arguments.file.display()));
    let mut cubins = load_cubins(&arguments.file)?;
    if let Some(name) = &arguments.arch {
        let wanted = architecture(name)?.number();
        let mut held: Vec<String> = cubins.iter().map(|c| format!("sm_{}", c.sm())).collect();
        held.dedup();
        cubins.retain(|cubin| cubin.sm() == wanted);
        if cubins.is_empty() {
            let held = held.join(", ");
            return Err(wrong(format!("no code for {name}: the file holds {held}")).input());
        }
    }
    if let Some(name) = &arguments.kernel {
        cubin::find_kernel(&cubins, name).map_err(|error| wrong(error.to_string()).input())?;
        cubins.retain(|cubin| cubin.kernels().iter().any(|kernel| kernel.name == *name));
    }
    Ok(cubins)
}

/// The functions of a cubin that the arguments choose.
pub fn chosen_functions<'a>(
    arguments: &'a DisasmArguments,
    cubin: &'a Cubin,
) -> impl Iterator<Item = &'a Function> {
    let named = |function: &&Function| match &arguments.kernel {
        Some(name) => cubin
            .kernels()
            .iter()
            .any(|kernel| kernel.name == *name && kernel.section == function.section),
        None => true,
    };
    cubin.functions().iter().filter(named)
}

/// Where the instructions that follow come from: a comment line, with the calls that were inlined.
fn write_line(table: &LineTable, chain: &[&Line], out: &mut dyn Write) -> Result<(), Failure> {
    for (depth, line) in chain.iter().enumerate() {
        let head = if depth == 0 { "// " } else { " inlined at " };
        let file = table.files().get(line.file).map_or("?", String::as_str);
        write!(out, "{head}{file}:{}", line.line)?;
        if let Some(function) = &line.function {
            write!(out, " ({function})")?;
        }
    }
    writeln!(out)?;
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
        write_word(index as u64 * 16, *bytes, architecture, out)?;
    }
    Ok(())
}

fn write_word(
    pc: u64,
    bytes: [u8; 16],
    architecture: Architecture,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    match sass::decode(Word::from_bytes(bytes), architecture) {
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
