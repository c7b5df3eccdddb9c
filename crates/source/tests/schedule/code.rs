//! Compiled code to look at: the committed cubins of kernels/ and, where it is present, a public
//! corpus.

use std::path::{Path, PathBuf};

use cubin::{Cubin, Function};
use sass::{Architecture, Decoded, Instruction, Word};

/// A code section, decoded.
pub struct Code {
    /// File and section.
    pub name: String,
    /// Architecture.
    pub sm: u32,
    /// Whether it is a kernel, not a device function.
    pub is_entry: bool,
    /// One entry per 16 bytes; `None` where the word is unknown.
    pub instructions: Vec<Option<Instruction>>,
}

impl Code {
    /// Instruction number `index` for a message.
    pub fn show(&self, index: usize) -> String {
        match &self.instructions[index] {
            Some(instruction) => {
                let modifiers = instruction.modifiers.iter().map(|modifier| modifier.text());
                let mnemonic: Vec<_> = std::iter::once(instruction.opcode.text())
                    .chain(modifiers)
                    .collect();
                format!(
                    "{:04x} {} {}",
                    index * 16,
                    instruction.control,
                    mnemonic.join(".")
                )
            }
            None => format!("{:04x} ?", index * 16),
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The cubins of this repository.
pub fn kernels() -> Vec<PathBuf> {
    let found = cubins(&root().join("kernels"));
    assert!(!found.is_empty(), "kernels/ holds cubins");
    found
}

/// The cubins of the corpus, which is not part of the repository.
pub fn corpus() -> Vec<PathBuf> {
    let found = cubins(&root().join("corpus"));
    if found.is_empty() {
        eprintln!("skipped: no corpus of compiled public code in corpus/");
    }
    found
}

/// Every cubin below `folder`, in order of name; nothing if there is no such folder.
fn cubins(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "cubin")
            {
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
    let cubin = Cubin::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let sm = cubin.sm();
    let Some(architecture) =
        Architecture::from_number(sm).filter(|_| matches!(sm, 75 | 80 | 86 | 89 | 90))
    else {
        return Vec::new();
    };
    let file = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let decode = |bytes: &[u8; 16]| match sass::decode(Word::from_bytes(*bytes), architecture) {
        Decoded::Instruction(instruction) => Some(instruction),
        Decoded::Unknown(_) => None,
    };
    let section = |function: &Function| Code {
        name: format!("{}:{}", file.as_deref().unwrap_or("?"), function.name),
        sm,
        is_entry: function.is_entry,
        instructions: function.code.as_chunks().0.iter().map(decode).collect(),
    };
    cubin.functions().iter().map(section).collect()
}
