//! `warpath disasm --against`: line by line with the vendor's disassembler, where it is installed.

use std::io::Write;
use std::path::Path;

use crate::cli::DisasmArguments;
use crate::failure::{Failure, Problem};

/// Compares and prints counts by kind.
pub fn run(
    _arguments: &DisasmArguments,
    vendor: &Path,
    _out: &mut dyn Write,
) -> Result<(), Failure> {
    Err(Problem::new(format!("{}: not compared yet", vendor.display())).input())
}
