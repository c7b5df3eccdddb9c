//! What can be wrong with a GPU document or an override, with the file, line and key.

use thiserror::Error;

/// Where a value was defined: a file and a line of it, or the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, `gpus/rtx-a6000.toml`, or `--set`.
    pub file: String,
    /// The line, counted from 1; 0 where there is none.
    pub line: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

/// An error of this crate.
#[derive(Debug, Error)]
pub enum HardwareError {
    /// No GPU of that name is built in.
    #[error("no GPU is called `{name}`{}; known are {}", suggestion(.nearest), .known.join(", "))]
    UnknownGpu {
        /// The name asked for.
        name: String,
        /// The names most like it.
        nearest: Vec<String>,
        /// All names.
        known: Vec<String>,
    },
    /// A family of GPUs was asked for as if it were one.
    #[error("`{name}` is a family of GPUs, not one; GPUs are {}", .known.join(", "))]
    Family {
        /// The family's name.
        name: String,
        /// The names of the GPUs.
        known: Vec<String>,
    },
    /// The file cannot be read.
    #[error("{file}: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is larger than any GPU document.
    #[error("{file}: larger than {limit} bytes, which no GPU document is")]
    TooLarge {
        /// The file.
        file: String,
        /// The largest size read.
        limit: u64,
    },
    /// The file is not TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// Where.
        place: Place,
        /// What the parser says.
        message: String,
    },
    /// The file is TOML but not a GPU document.
    #[error("{place}: `{key}`: {message}")]
    Document {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// What would be right.
        message: String,
    },
    /// Documents name each other as base, or the chain is too long.
    #[error("{file}: its chain of bases does not end: {}", .chain.join(" -> "))]
    BaseChain {
        /// The document it starts from.
        file: String,
        /// The chain.
        chain: Vec<String>,
    },
    /// No parameter has that key.
    #[error("no parameter is called `{key}`{}", suggestion(.nearest))]
    UnknownKey {
        /// The key asked for.
        key: String,
        /// The keys most like it.
        nearest: Vec<String>,
    },
    /// A document gives a key that nothing declares.
    #[error("{place}: nothing declares `{key}`{}", suggestion(.nearest))]
    UndeclaredKey {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// The declared keys most like it.
        nearest: Vec<String>,
    },
    /// A declared key stands in none of the GPU's documents.
    #[error("{}: `{key}` is missing ({range}{}{unit})", .files.join(", "), gap(.unit))]
    MissingKey {
        /// The GPU's documents, itself first, then its bases.
        files: Vec<String>,
        /// The key.
        key: String,
        /// The range of what is missing.
        range: &'static str,
        /// Its unit.
        unit: &'static str,
    },
    /// The value is of the wrong kind.
    #[error("{place}: `{key}` is {value}, but must be {expected}")]
    WrongKind {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The kind it must have.
        expected: &'static str,
    },
    /// The value lies outside the declared range.
    #[error("{place}: `{key}` is {value}, but must be in {range}{}{unit}", gap(.unit))]
    OutOfRange {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The range.
        range: &'static str,
        /// The unit.
        unit: &'static str,
    },
    /// An override is not of the form `key=value`.
    #[error("`{text}` is not of the form key=value")]
    Assignment {
        /// The override.
        text: String,
    },
    /// Two stages declare the same key differently.
    #[error("`{key}` is declared twice, differently")]
    DeclaredTwice {
        /// The key.
        key: String,
    },
}

fn suggestion(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!(", did you mean {}?", names.join(" or ")),
    }
}

fn gap(unit: &str) -> &'static str {
    if unit.is_empty() { "" } else { " " }
}
