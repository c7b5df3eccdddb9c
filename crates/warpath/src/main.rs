//! The command line: reads it, runs one command, renders what went wrong. One file per command.
//!
//! Exit codes: 0 ok, 1 the run failed (a fault, a deadlock, a failed check), 2 bad usage or input.

mod cli;
mod commands;
mod failure;
mod input;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let result = commands::run(arguments.command, &mut out)
        .and_then(|()| out.flush().map_err(failure::Failure::from));
    drop(out);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.render(),
    }
}
