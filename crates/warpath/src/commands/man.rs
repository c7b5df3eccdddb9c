//! `warpath man`: the man page of all commands, from their definitions.

use std::io::Write;

use clap::CommandFactory;

use crate::cli::Arguments;
use crate::failure::Failure;

/// Prints the page: the program's, then a part for each command.
pub fn run(out: &mut dyn Write) -> Result<(), Failure> {
    let mut command = Arguments::command();
    command.build();
    let page = clap_mangen::Man::new(command.clone());
    page.render(out)?;
    for command in command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        let name = format!("warpath {}", command.get_name());
        let part = clap_mangen::Man::new(command.clone().bin_name(name.clone()));
        writeln!(out, ".SH \"{}\"", name.to_uppercase())?;
        part.render_description_section(out)?;
        part.render_synopsis_section(out)?;
        part.render_options_section(out)?;
    }
    Ok(())
}
