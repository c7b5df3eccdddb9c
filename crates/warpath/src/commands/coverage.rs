//! `warpath coverage`: per architecture which opcodes cubins use, which of them execute and which are
//! timed. What executes is asked of the lowering that launches use, instruction by instruction.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use report::number::grouped;
use report::table::{Align, Table};
use sass::{Architecture, Decoded, Instruction, Word};
use serde::Serialize;

use super::disasm::of_cubin;
use crate::cli::{CoverageArguments, ListFormat};
use crate::failure::{Failure, Problem};
use crate::input::load_cubins;

/// One opcode with its modifiers.
#[derive(Serialize)]
struct Entry {
    opcode: String,
    count: u64,
    executes: bool,
    timed: bool,
    /// Why it does not execute.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Drives a unit of Hopper of which nothing executes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    hopper_unit: bool,
}

/// What is found in the cubins of one architecture.
#[derive(Serialize)]
struct PerArchitecture {
    architecture: String,
    cubins: u64,
    instructions: u64,
    unknown: u64,
    base_opcodes: usize,
    executes_percent: f64,
    timed_percent: f64,
    opcodes: Vec<Entry>,
}

#[derive(Serialize)]
struct Summary {
    instructions: u64,
    unknown: u64,
    executes_percent: f64,
    timed_percent: f64,
    architectures: Vec<PerArchitecture>,
}

/// How often an opcode occurs and why its instructions are refused, if any is.
#[derive(Default)]
struct Count {
    instructions: u64,
    refused: u64,
    reason: Option<String>,
    hopper_unit: bool,
}

/// Counts of one architecture.
#[derive(Default)]
struct Counts {
    cubins: u64,
    unknown: u64,
    base_opcodes: BTreeSet<&'static str>,
    opcodes: BTreeMap<String, Count>,
}

impl Counts {
    fn add(&mut self, instruction: &Instruction) {
        self.base_opcodes.insert(instruction.opcode.text());
        let entry = self.opcodes.entry(instruction.mnemonic()).or_default();
        entry.instructions += 1;
        if let Some(reason) = device::refusal(instruction) {
            entry.refused += 1;
            entry.hopper_unit = instruction.opcode.drives_hopper_unit();
            entry.reason.get_or_insert(reason);
        }
    }

    fn finish(self, architecture: Architecture) -> PerArchitecture {
        let timed = device::is_timed(architecture);
        let known: u64 = self.opcodes.values().map(|count| count.instructions).sum();
        let refused: u64 = self.opcodes.values().map(|count| count.refused).sum();
        let instructions = known + self.unknown;
        let percent = |part: u64| 100.0 * part as f64 / instructions.max(1) as f64;
        let mut opcodes: Vec<Entry> = self
            .opcodes
            .into_iter()
            .map(|(opcode, count)| Entry {
                opcode,
                count: count.instructions,
                executes: count.refused == 0,
                timed,
                reason: count.reason,
                hopper_unit: count.hopper_unit,
            })
            .collect();
        opcodes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.opcode.cmp(&b.opcode)));
        PerArchitecture {
            architecture: architecture.to_string(),
            cubins: self.cubins,
            instructions,
            unknown: self.unknown,
            base_opcodes: self.base_opcodes.len(),
            executes_percent: percent(known - refused),
            timed_percent: if timed { percent(known) } else { 0.0 },
            opcodes,
        }
    }
}

/// Counts and prints. Fails if a word is unknown or an instruction outside of Hopper's units does not
/// execute.
pub fn run(arguments: &CoverageArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut counts: BTreeMap<Architecture, Counts> = BTreeMap::new();
    for file in cubins(&arguments.files)? {
        for cubin in load_cubins(&file)? {
            let architecture = of_cubin(&file, cubin.sm())?;
            let counts = counts.entry(architecture).or_default();
            counts.cubins += 1;
            for function in cubin.functions() {
                for bytes in function.code.as_chunks::<16>().0 {
                    match sass::decode(Word::from_bytes(*bytes), architecture) {
                        Decoded::Instruction(instruction) => counts.add(&instruction),
                        Decoded::Unknown(_) => counts.unknown += 1,
                    }
                }
            }
        }
    }
    let architectures: Vec<PerArchitecture> = counts
        .into_iter()
        .map(|(architecture, counts)| counts.finish(architecture))
        .collect();
    let instructions = architectures.iter().map(|each| each.instructions).sum();
    let unknown: u64 = architectures.iter().map(|each| each.unknown).sum();
    let share = |percent: fn(&PerArchitecture) -> f64| {
        let weighted = architectures
            .iter()
            .map(|each| percent(each) * each.instructions as f64);
        weighted.sum::<f64>() / (instructions as f64).max(1.0)
    };
    let summary = Summary {
        instructions,
        unknown,
        executes_percent: share(|each| each.executes_percent),
        timed_percent: share(|each| each.timed_percent),
        architectures,
    };
    match arguments.format {
        ListFormat::Json => super::write_json(&summary, out)?,
        ListFormat::Text => write_text(&summary, out)?,
    }
    let entries = summary.architectures.iter().flat_map(|each| &each.opcodes);
    let refused = entries
        .filter(|entry| !entry.executes && !entry.hopper_unit)
        .count() as u64;
    if unknown == 0 && refused == 0 {
        return Ok(());
    }
    out.flush()?;
    Err(Problem::new(format!(
        "{} unknown words, {} opcodes with modifiers that do not execute",
        grouped(unknown),
        grouped(refused)
    ))
    .run())
}

/// The files, in place of folders the cubins below them in order of path.
pub fn cubins(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = files.len();
            below(path, &mut files)?;
            if files.len() == before {
                return Err(
                    Problem::new(format!("{}: holds no .cubin file", path.display())).input(),
                );
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn below(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error: std::io::Error| {
        Problem::new(format!("{}: cannot be read: {error}", folder.display())).input()
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.sort();
    for path in paths {
        if path.is_dir() {
            below(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "cubin")
        {
            files.push(path);
        }
    }
    Ok(())
}

fn write_text(summary: &Summary, out: &mut dyn Write) -> Result<(), Failure> {
    for each in &summary.architectures {
        let mut table = Table::new(&[
            ("opcode", Align::Left),
            ("count", Align::Right),
            ("share", Align::Right),
            ("executes", Align::Left),
            ("timed", Align::Left),
        ]);
        let told = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
        for entry in &each.opcodes {
            let share = 100.0 * entry.count as f64 / each.instructions.max(1) as f64;
            table.row([
                entry.opcode.clone(),
                grouped(entry.count),
                format!("{share:.2} %"),
                told(entry.executes),
                told(entry.timed),
            ]);
        }
        writeln!(out, "{table}")?;
        for entry in each.opcodes.iter().filter(|entry| !entry.executes) {
            let reason = entry.reason.as_deref().unwrap_or("");
            writeln!(out, "{} does not execute: {reason}", entry.opcode)?;
        }
        writeln!(
            out,
            "{}: {} instructions in {} cubins, {} opcodes ({} with modifiers): {:.2} % execute, \
             {:.2} % are timed, {} unknown\n",
            each.architecture,
            grouped(each.instructions),
            grouped(each.cubins),
            each.base_opcodes,
            each.opcodes.len(),
            each.executes_percent,
            each.timed_percent,
            grouped(each.unknown)
        )?;
    }
    Ok(())
}
