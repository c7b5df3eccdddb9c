//! `cargo bench`: the same measurement as `warpath bench`.

use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    // Cargo passes options of its own (`--bench`); the rest goes to the command.
    let arguments = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench");
    match Command::new(env!("CARGO_BIN_EXE_warpath"))
        .arg("bench")
        .args(arguments)
        .status()
    {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
