//! The commands, one file each.

mod against;
mod area;
mod asm;
mod assembly;
mod bench;
mod completions;
mod coverage;
mod disasm;
mod explain;
mod gpus;
mod lab;
mod lint;
mod man;
mod probe;
mod run;
mod walk;

use std::io::Write;

use crate::cli::Command;
use crate::failure::Failure;

/// Runs a command.
pub fn run(command: Command, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Run(arguments) => run::run(&arguments, out),
        Command::Walk(arguments) => walk::run(&arguments, out),
        Command::Asm(arguments) => asm::run(&arguments, out),
        Command::Disasm(arguments) => disasm::run(&arguments, out),
        Command::Lint(arguments) => lint::run(&arguments, out),
        Command::Coverage(arguments) => coverage::run(&arguments, out),
        Command::Gpus(arguments) => gpus::run(&arguments, out),
        Command::Area(arguments) => area::run(&arguments, out),
        Command::Explain(arguments) => explain::run(&arguments, out),
        Command::Lab(arguments) => lab::run(&arguments, out),
        Command::Probe(arguments) => probe::run(&arguments, out),
        Command::Bench(arguments) => bench::run(&arguments, out),
        Command::Completions(arguments) => completions::run(&arguments, out),
        Command::Man => man::run(out),
    }
}

/// Writes a value as indented JSON.
fn write_json(value: &impl serde::Serialize, out: &mut dyn Write) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| crate::failure::Problem::new(error.to_string()).run())?;
    writeln!(out, "{text}")?;
    Ok(())
}
