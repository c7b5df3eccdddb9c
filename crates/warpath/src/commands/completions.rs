//! `warpath completions`: the completion script of a shell, from the command definitions.

use std::io::Write;

use clap::CommandFactory;

use crate::cli::{Arguments, CompletionsArguments};
use crate::failure::Failure;

/// Prints the script.
pub fn run(arguments: &CompletionsArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let mut script = Vec::new();
    let mut command = Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "warpath", &mut script);
    Ok(out.write_all(&script)?)
}
