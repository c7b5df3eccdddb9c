//! Compiled code to look at: the committed cubins of kernels/ and, where it is present, a public
//! corpus.

use std::path::{Path, PathBuf};

use cubin::Cubin;
use sass::{Architecture, Decoded, Instruction, Word};

/// A code section, decoded.
pub struct Code {
    /// File and section.
    pub name: String,
    /// Architecture.
    pub sm: u32,
    /// One entry per 16 bytes; `None` where the word is unknown.
    pub instructions: Vec<Option<Instruction>>,
}

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every cubin below `folder`, in order of name; nothing if there is no such folder.
pub fn cubins(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cubin") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The code sections of one cubin; nothing if it is of an architecture without latency table.
pub fn sections(path: &Path) -> Vec<Code> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cubin = match Cubin::parse(&bytes) {
        Ok(cubin) => cubin,
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let sm = cubin.sm();
    let Some(architecture) = Architecture::from_number(sm).filter(|_| matches!(sm, 80 | 86 | 89))
    else {
        return Vec::new();
    };
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let section = |function: &cubin::Function| Code {
        name: format!("{}:{}", file.as_deref().unwrap_or("?"), function.name),
        sm,
        instructions: function
            .code
            .as_chunks::<16>()
            .0
            .iter()
            .map(|&bytes| match sass::decode(Word::from_bytes(bytes), architecture) {
                Decoded::Instruction(instruction) => Some(instruction),
                Decoded::Unknown(_) => None,
            })
            .collect(),
    };
    cubin.functions().iter().map(section).collect()
}
