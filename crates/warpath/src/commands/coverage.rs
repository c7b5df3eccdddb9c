//! `warpath coverage`: which opcodes cubins use, which of them execute and which are timed.

use std::collections::BTreeMap;
use std::io::Write;

use report::number::grouped;
use report::table::{Align, Table};
use sass::{Decoded, Word};
use serde::Serialize;

use super::disasm::of_cubin;
use crate::cli::{CoverageArguments, ListFormat};
use crate::failure::Failure;
use crate::input::load_cubin;

/// One opcode with its modifiers.
#[derive(Serialize)]
struct Entry {
    opcode: String,
    count: u64,
    executes: bool,
    timed: bool,
}

#[derive(Serialize)]
struct Summary {
    instructions: u64,
    unknown: u64,
    executes_percent: f64,
    timed_percent: f64,
    opcodes: Vec<Entry>,
}

/// Counts and prints.
pub fn run(arguments: &CoverageArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut counts: BTreeMap<String, (u64, bool, bool)> = BTreeMap::new();
    let mut unknown = 0;
    for file in &arguments.files {
        let cubin = load_cubin(file)?;
        let architecture = of_cubin(file, cubin.sm())?;
        let timed = device::is_timed(architecture);
        for function in cubin.functions() {
            for bytes in function.code.as_chunks::<16>().0 {
                let Decoded::Instruction(instruction) =
                    sass::decode(Word::from_bytes(*bytes), architecture)
                else {
                    unknown += 1;
                    continue;
                };
                let mut name = instruction.opcode.text().to_owned();
                for modifier in &instruction.modifiers {
                    name.push('.');
                    name.push_str(modifier.text());
                }
                let executes = device::executes(&instruction);
                let entry = counts.entry(name).or_insert((0, true, true));
                entry.0 += 1;
                entry.1 &= executes;
                entry.2 &= timed;
            }
        }
    }
    let known: u64 = counts.values().map(|(count, ..)| count).sum();
    let instructions = known + unknown;
    let percent = |part: u64| 100.0 * part as f64 / instructions.max(1) as f64;
    let executes: u64 = counts
        .values()
        .filter(|entry| entry.1)
        .map(|entry| entry.0)
        .sum();
    let timed: u64 = counts
        .values()
        .filter(|entry| entry.2)
        .map(|entry| entry.0)
        .sum();
    let mut opcodes: Vec<Entry> = counts
        .into_iter()
        .map(|(opcode, (count, executes, timed))| Entry {
            opcode,
            count,
            executes,
            timed,
        })
        .collect();
    opcodes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.opcode.cmp(&b.opcode)));
    let summary = Summary {
        instructions,
        unknown,
        executes_percent: percent(executes),
        timed_percent: percent(timed),
        opcodes,
    };
    if arguments.format == ListFormat::Json {
        return super::write_json(&summary, out);
    }
    let mut table = Table::new(&[
        ("opcode", Align::Left),
        ("count", Align::Right),
        ("share", Align::Right),
        ("executes", Align::Left),
        ("timed", Align::Left),
    ]);
    let told = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    for entry in &summary.opcodes {
        table.row([
            entry.opcode.clone(),
            grouped(entry.count),
            format!("{:.2} %", percent(entry.count)),
            told(entry.executes),
            told(entry.timed),
        ]);
    }
    write!(out, "{table}")?;
    writeln!(
        out,
        "\n{} instructions, {} opcodes with modifiers: {:.2} % execute, {:.2} % are timed, {} unknown",
        grouped(summary.instructions),
        summary.opcodes.len(),
        summary.executes_percent,
        summary.timed_percent,
        grouped(summary.unknown)
    )?;
    Ok(())
}
