//! `warpath disasm --against`: line by line with the vendor's disassembler, where it is installed.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use report::number::grouped;
use sass::Architecture;
use sass::compare::{Tally, parse_listing};

use super::disasm::{architecture, chosen_cubins, chosen_functions, of_cubin, read_words};
use crate::cli::DisasmArguments;
use crate::failure::{Failure, Problem};

/// Kinds of differences that are listed.
const SHOWN: usize = 40;

/// Compares and prints counts by kind.
pub fn run(arguments: &DisasmArguments, vendor: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let (code, architecture) = code_of(arguments)?;
    let listing = disassemble(vendor, &code, architecture)?;
    let mut tally = Tally::default();
    for function in parse_listing(&listing) {
        tally.add(&function, architecture);
    }
    if tally.lines * 16 != code.len() {
        return Err(Problem::new(format!(
            "{}: its listing has {} of {} instructions",
            vendor.display(),
            tally.lines,
            code.len() / 16
        ))
        .run());
    }
    write_tally(&tally, out)?;
    if tally.equal_lines == tally.lines {
        return Ok(());
    }
    out.flush()?;
    let different = (tally.lines - tally.equal_lines) as u64;
    Err(Problem::new(format!("{} lines differ", grouped(different))).run())
}

fn write_tally(tally: &Tally, out: &mut dyn Write) -> Result<(), Failure> {
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    let (equal, kinds) = tally.equal_mnemonics();
    writeln!(
        out,
        "{} of {} lines equal ({:.3} %), {equal} of {kinds} opcodes with modifiers equal ({:.2} %)",
        grouped(tally.equal_lines as u64),
        grouped(tally.lines as u64),
        percent(tally.equal_lines, tally.lines),
        percent(equal, kinds)
    )?;
    for (kind, differences) in tally.differences.iter().take(SHOWN) {
        let lines = tally.mnemonics.get(kind).map_or(0, |(lines, _)| *lines);
        writeln!(out, "\n{kind}: {} lines", grouped(lines as u64))?;
        for difference in differences.iter().take(1) {
            writeln!(out, "  warpath  {}", difference.ours)?;
            writeln!(out, "  vendor   {}", difference.vendor)?;
            let (low, high) = (difference.word.low(), difference.word.high());
            writeln!(
                out,
                "  word     {low:#018x} {high:#018x} at {:#06x}",
                difference.pc
            )?;
        }
    }
    if tally.differences.len() > SHOWN {
        writeln!(
            out,
            "\nand {} more opcodes",
            tally.differences.len() - SHOWN
        )?;
    }
    Ok(())
}

/// All code of the file, function after function, as one image from address 0.
fn code_of(arguments: &DisasmArguments) -> Result<(Vec<u8>, Architecture), Failure> {
    if let Some(name) = &arguments.raw {
        return Ok((read_words(&arguments.file)?, architecture(name)?));
    }
    let cubins = chosen_cubins(arguments)?;
    let mut code = Vec::new();
    let mut sm = None;
    for cubin in &cubins {
        if sm.is_some_and(|sm| sm != cubin.sm()) {
            return Err(Problem::new(format!(
                "{}: code for several architectures: choose one with --arch",
                arguments.file.display()
            ))
            .input());
        }
        sm = Some(cubin.sm());
        for function in chosen_functions(arguments, cubin) {
            code.extend_from_slice(&function.code);
        }
    }
    let architecture = of_cubin(&arguments.file, sm.unwrap_or_default())?;
    Ok((code, architecture))
}

/// The vendor's listing.
fn disassemble(vendor: &Path, code: &[u8], architecture: Architecture) -> Result<String, Failure> {
    let folder = std::env::temp_dir();
    let file = folder.join(format!("warpath-disasm-{}.bin", std::process::id()));
    let wrong = |reason: String| Problem::new(format!("{}: {reason}", vendor.display())).input();
    std::fs::write(&file, code)
        .map_err(|error| wrong(format!("cannot write {}: {error}", file.display())))?;
    let result = Command::new(vendor)
        .arg("--binary")
        .arg(format!("SM{}", architecture.number()))
        .arg("-hex")
        .arg(&file)
        .output();
    // The answer counts, not the temporary file.
    let _ = std::fs::remove_file(&file);
    let output = match result {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Problem::new(format!(
                "{}: the vendor's disassembler is not installed here; nothing was compared",
                vendor.display()
            ))
            .help("scripts/install-toolchain.sh installs it as .toolchain/bin/nvdisasm")
            .input());
        }
        Err(error) => return Err(wrong(format!("cannot be run: {error}"))),
    };
    if !output.status.success() {
        return Err(wrong(
            String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
