//! `warpath disasm --against`: line by line with the vendor's disassembler, where it is installed.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use report::number::grouped;
use sass::{Architecture, Decoded, Word};

use super::disasm::{architecture, of_cubin, read_words};
use crate::cli::DisasmArguments;
use crate::failure::{Failure, Problem};
use crate::input::load_cubin;

/// Kinds of differences that are listed.
const SHOWN: usize = 40;

/// Lines of one opcode with modifiers.
#[derive(Default)]
struct Kind {
    lines: u64,
    equal: u64,
    /// Our first line that differs, and the vendor's.
    example: Option<(String, String)>,
}

/// Compares and prints counts by kind.
pub fn run(arguments: &DisasmArguments, vendor: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let (code, architecture) = code_of(arguments)?;
    let theirs = disassemble(vendor, &code, architecture)?;
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    for (index, bytes) in code.as_chunks::<16>().0.iter().enumerate() {
        let pc = index as u64 * 16;
        let ours = match sass::decode(Word::from_bytes(*bytes), architecture) {
            Decoded::Instruction(instruction) => normal(&instruction.display(pc).to_string()),
            Decoded::Unknown(_) => "(unknown)".to_owned(),
        };
        let theirs = theirs.get(&pc).map_or("(missing)", String::as_str);
        let kind = kinds.entry(opcode(theirs).to_owned()).or_default();
        kind.lines += 1;
        if ours == theirs {
            kind.equal += 1;
        } else {
            kind.example
                .get_or_insert_with(|| (ours, theirs.to_owned()));
        }
    }
    let lines: u64 = kinds.values().map(|kind| kind.lines).sum();
    let equal: u64 = kinds.values().map(|kind| kind.equal).sum();
    let whole = kinds
        .values()
        .filter(|kind| kind.lines == kind.equal)
        .count();
    let percent = |part: f64, whole: f64| 100.0 * part / whole.max(1.0);
    writeln!(
        out,
        "{} of {} lines equal ({:.3} %), {} of {} opcodes with modifiers equal in every line ({:.2} %)",
        grouped(equal),
        grouped(lines),
        percent(equal as f64, lines as f64),
        whole,
        kinds.len(),
        percent(whole as f64, kinds.len() as f64)
    )?;
    let mut different: Vec<_> = kinds
        .iter()
        .filter(|(_, kind)| kind.equal < kind.lines)
        .collect();
    different.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.lines - kind.equal));
    for (opcode, kind) in different.iter().take(SHOWN) {
        writeln!(
            out,
            "\n{opcode}: {} of {} differ",
            kind.lines - kind.equal,
            kind.lines
        )?;
        if let Some((ours, theirs)) = &kind.example {
            writeln!(out, "  warpath  {ours}\n  vendor   {theirs}")?;
        }
    }
    if different.len() > SHOWN {
        writeln!(out, "\nand {} more opcodes", different.len() - SHOWN)?;
    }
    if equal == lines {
        return Ok(());
    }
    out.flush()?;
    Err(Problem::new(format!("{} lines differ", grouped(lines - equal))).run())
}

/// All code of the file, function after function, as one image from address 0.
fn code_of(arguments: &DisasmArguments) -> Result<(Vec<u8>, Architecture), Failure> {
    if let Some(name) = &arguments.raw {
        return Ok((read_words(&arguments.file)?, architecture(name)?));
    }
    let cubin = load_cubin(&arguments.file)?;
    let architecture = of_cubin(&arguments.file, cubin.sm())?;
    let chosen = match &arguments.kernel {
        Some(name) => Some(
            cubin
                .kernel(name)
                .map_err(|error| {
                    Problem::new(format!("{}: {error}", arguments.file.display())).input()
                })?
                .section,
        ),
        None => None,
    };
    let functions = cubin.functions().iter();
    let code = functions
        .filter(|function| chosen.is_none_or(|section| function.section == section))
        .flat_map(|function| function.code.iter().copied())
        .collect();
    Ok((code, architecture))
}

/// The vendor's text of every instruction by its address.
fn disassemble(
    vendor: &Path,
    code: &[u8],
    architecture: Architecture,
) -> Result<BTreeMap<u64, String>, Failure> {
    let folder = std::env::temp_dir();
    let file = folder.join(format!("warpath-disasm-{}.bin", std::process::id()));
    let wrong = |reason: String| Problem::new(format!("{}: {reason}", vendor.display())).input();
    std::fs::write(&file, code)
        .map_err(|error| wrong(format!("cannot write {}: {error}", file.display())))?;
    let result = Command::new(vendor)
        .arg("--binary")
        .arg(format!("SM{}", architecture.number()))
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
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(parse_line).collect())
}

/// Address and text of a line `/*0010*/ … ;`.
fn parse_line(line: &str) -> Option<(u64, String)> {
    let (address, text) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let address = u64::from_str_radix(address, 16).ok()?;
    Some((address, normal(text.split(';').next()?)))
}

/// With single blanks and none at either end.
fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The opcode with its modifiers, behind a guard if there is one.
fn opcode(text: &str) -> &str {
    let mut words = text.split(' ');
    match words.next() {
        Some(guard) if guard.starts_with('@') => words.next().unwrap_or(""),
        first => first.unwrap_or(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_vendor() {
        let line = "        /*00d0*/              @!P0 BRA 0x230 ;  ";
        assert_eq!(parse_line(line), Some((0xd0, "@!P0 BRA 0x230".to_owned())));
        assert_eq!(parse_line(".headerflags"), None);
        assert_eq!(opcode("@!P0 BRA 0x230"), "BRA");
        assert_eq!(opcode("EXIT"), "EXIT");
    }
}
