//! What is to run: launch files and launches built from the command line.

pub mod argument;
pub mod buffer;
pub mod check;
mod document;
mod file;
pub mod texture;

pub use argument::{
    ARGUMENT_SYNTAX, Argument, ArgumentError, ArgumentSyntaxError, pack, parse_argument,
};
pub use buffer::{Buffer, Contents};
pub use check::{Check, CheckOutcome, Expectation};
pub use document::LaunchFileError;
pub use file::{DEFAULT_STACK, KernelLaunch, Workload};
pub use reference::{Comparison, Mismatch, Number};
pub use texture::{TextureObject, place_images};
