//! `warpath asm`: SASS text to a cubin, control bits filled in where they are left open.

use std::io::Write;

use sass::assemble::{AssembleError, AssembledKernel, Assembly};
use sass::{Architecture, Opcode};

use crate::cli::AsmArguments;
use crate::failure::{Failure, Problem};
use crate::input::read_text;

/// Assembles the text and writes the cubin.
pub fn run(arguments: &AsmArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let file = arguments.file.display().to_string();
    let text = read_text(&arguments.file)?;
    let architecture = match &arguments.arch {
        Some(name) => Some(super::disasm::architecture(name)?),
        None => None,
    };
    let mut assembly = sass::assemble::assemble(&text, architecture)
        .map_err(|error| misread(&file, &text, &error))?;
    if assembly.kernels.is_empty() {
        return Err(Problem::new(format!("{file}: no instruction in it")).input());
    }
    let mut against = 0;
    if arguments.auto_control {
        let gpu = arguments.gpu.as_deref();
        let rules = super::lint::rules_of(gpu, assembly.architecture, &file)?;
        for kernel in &mut assembly.kernels {
            against += schedule::fill::kernel(&rules, kernel, assembly.architecture);
            waited_for(&file, &text, kernel, assembly.architecture)?;
        }
    } else {
        closed(&file, &text, &assembly)?;
    }
    let cubin = ::lab::new_cubin(&assembly)
        .write()
        .map_err(|error| Problem::new(format!("{file}: {error}")).input())?;
    let output = match &arguments.output {
        Some(path) => path.clone(),
        None => arguments.file.with_extension("cubin"),
    };
    std::fs::write(&output, &cubin).map_err(|error| {
        Problem::new(format!("{}: cannot be written: {error}", output.display())).run()
    })?;
    for kernel in &assembly.kernels {
        writeln!(
            out,
            "{}: kernel {}, {}, {} instructions, {} registers",
            output.display(),
            kernel.name,
            assembly.architecture,
            kernel.instructions.len(),
            kernel.registers
        )?;
    }
    if against > 0 {
        writeln!(
            out,
            "{against} findings remain because of control fields that are given: `warpath lint {}`",
            output.display()
        )?;
    }
    Ok(())
}

/// Demands that somebody waits for every commit of copies whose counter was left open: nothing but DEPBAR
/// names the counter that it is to raise, and none is inserted.
fn waited_for(
    file: &str,
    text: &str,
    kernel: &AssembledKernel,
    architecture: Architecture,
) -> Result<(), Failure> {
    const COMMIT: &str = "LDGDEPBAR";
    let mut commits = kernel.instructions.iter().filter(|line| {
        let instruction = super::lint::decoded(line.word, architecture);
        let raises_none = |one: sass::Instruction| {
            one.opcode == Opcode::LDGDEPBAR && one.control.write_counter.is_none()
        };
        line.control.write_counter.is_none() && instruction.is_some_and(raises_none)
    });
    let Some(commit) = commits.next() else {
        return Ok(());
    };
    let written = text.lines().nth(commit.line.saturating_sub(1));
    let before = written.and_then(|line| line.split_once(COMMIT));
    let error = AssembleError {
        line: commit.line,
        column: before.map_or(1, |(before, _)| before.chars().count() + 1),
        token: COMMIT.to_owned(),
        expected:
            "a DEPBAR.LE in the kernel that waits for its copies (`--auto-control` inserts no \
                   instruction), or the counter that it raises"
                .to_owned(),
    };
    Err(misread(file, text, &error))
}

/// Demands that no control field is left open.
pub fn closed(file: &str, text: &str, assembly: &Assembly) -> Result<(), Failure> {
    let mut open = assembly
        .kernels
        .iter()
        .filter_map(AssembledKernel::first_open);
    let Some(open) = open.next() else {
        return Ok(());
    };
    let error = AssembleError {
        line: open.line,
        column: open.column,
        token: String::new(),
        expected: "control bits in front, `[B------:R-:W-:-:S01]`".to_owned(),
    };
    Err(misread(file, text, &error))
}

/// The error with the line that it is about.
pub fn misread(file: &str, text: &str, error: &AssembleError) -> Failure {
    let mut start = 0;
    let mut lines = text.split_inclusive('\n');
    for line in lines.by_ref().take(error.line - 1) {
        start += line.len();
    }
    let line = lines.next().unwrap_or("");
    let at = line
        .char_indices()
        .nth(error.column - 1)
        .map_or(line.trim_end().len(), |(at, _)| at);
    let span = start + at..start + at + error.token.len();
    let label = format!("expected {}", error.expected);
    Problem::new(format!("{file}: {error}"))
        .snippet(file, text, span, &label)
        .input()
}
