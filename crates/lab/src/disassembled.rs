//! A cubin as text that assembles to the same kernels: what `warpath disasm --asm` prints.

use std::fmt::Write;

use cubin::{Cubin, Kernel};
use sass::assemble::assembly_text;
use sass::{Architecture, Word};

/// The text of `kernels` of a cubin for `architecture`. What a cubin holds beyond kernels and constant
/// banks 2 and 3 is named in a comment and left out.
pub fn text_of(cubin: &Cubin, kernels: &[&Kernel], architecture: Architecture) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_all(cubin, kernels, architecture, &mut text);
    text
}

/// The text of bare code, as a kernel without name.
pub fn text_of_code(code: &[u8], architecture: Architecture) -> String {
    let mut text = format!(".arch {architecture}\n");
    let _ = write_code(code, architecture, &mut text);
    text
}

fn write_all(
    cubin: &Cubin,
    kernels: &[&Kernel],
    architecture: Architecture,
    out: &mut String,
) -> std::fmt::Result {
    for left_out in left_out(cubin) {
        writeln!(out, "// left out: {left_out}")?;
    }
    writeln!(out, ".arch {architecture}")?;
    if let Some(data) = cubin.constant_bank(3, None) {
        write_bank(3, data, out)?;
    }
    for kernel in kernels {
        write_kernel(kernel, architecture, out)?;
    }
    Ok(())
}

fn left_out(cubin: &Cubin) -> Vec<String> {
    let mut left_out = Vec::new();
    for function in cubin
        .functions()
        .iter()
        .filter(|function| !function.is_entry)
    {
        left_out.push(format!("device function {}", function.name));
    }
    for variable in cubin.globals() {
        left_out.push(format!("global variable {}", variable.name));
    }
    for function in cubin.externs() {
        left_out.push(format!("external function {}", function.name));
    }
    for bank in cubin.constant_banks() {
        if !matches!(bank.bank, 0 | 2 | 3) {
            left_out.push(format!("constant bank {}", bank.bank));
        }
    }
    if !cubin.relocations().is_empty() {
        left_out.push(format!("{} relocations", cubin.relocations().len()));
    }
    left_out
}

fn write_kernel(kernel: &Kernel, architecture: Architecture, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n.kernel {}", kernel.name)?;
    writeln!(out, ".registers {}", kernel.registers)?;
    for (directive, bytes) in [
        (".shared", kernel.static_shared),
        (".local", kernel.local_per_thread),
        (".barriers", kernel.barriers),
    ] {
        if bytes > 0 {
            writeln!(out, "{directive} {bytes}")?;
        }
    }
    let mut end = 0;
    for parameter in &kernel.parameters {
        // Larger alignments than a parameter's own size asks for become parameters of a byte.
        let alignment = 1 << parameter.size.trailing_zeros().min(3);
        while u32::next_multiple_of(end, alignment) < parameter.offset {
            writeln!(out, ".pad {}", parameter.offset - end)?;
            end = parameter.offset;
        }
        writeln!(out, ".param {}", parameter.size)?;
        end = parameter.offset + parameter.size;
    }
    if let Some(data) = &kernel.constant2 {
        write_bank(2, data, out)?;
    }
    write_code(&kernel.code, architecture, out)
}

fn write_bank(bank: u8, data: &[u8], out: &mut String) -> std::fmt::Result {
    for line in data.chunks(32) {
        write!(out, ".const {bank}")?;
        for word in line.chunks(4) {
            let mut bytes = [0; 4];
            bytes[..word.len()].copy_from_slice(word);
            write!(out, ", {:#x}", u32::from_le_bytes(bytes))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_code(code: &[u8], architecture: Architecture, out: &mut String) -> std::fmt::Result {
    let (words, _) = code.as_chunks::<16>();
    for (index, bytes) in words.iter().enumerate() {
        let pc = index as u64 * 16;
        let text = assembly_text(Word::from_bytes(*bytes), pc, architecture);
        writeln!(out, "/*{pc:04x}*/ {text}")?;
    }
    Ok(())
}
