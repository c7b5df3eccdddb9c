//! Compiled code to look at: the committed cubins of kernels/ and, where it is present, a public
//! corpus. Shared by tests that each use their own part.
#![allow(dead_code, missing_docs)]

pub mod oracle;

use std::path::{Path, PathBuf};

use cubin::{Cubin, Function};
use hardware::Gpu;
use sass::{Architecture, Decoded, Instruction, Word};
use schedule::flow::Tables;
use schedule::{Rules, Scan, Section};

/// Each architecture with latency tables, and a GPU of it.
pub const GPUS: [(u32, &str); 5] = [
    (75, "rtx-2080-ti"),
    (80, "a100-sxm4-40gb"),
    (86, "rtx-a6000"),
    (89, "rtx-4090"),
    (90, "h100-pcie"),
];

/// The rules of an architecture.
pub fn rules(sm: u32) -> Rules {
    let name = GPUS.iter().find(|gpu| gpu.0 == sm).map_or("", |gpu| gpu.1);
    let gpu = Gpu::load(name).unwrap_or_else(|error| panic!("{error}"));
    Rules::of(&gpu).unwrap_or_else(|error| panic!("{error}"))
}

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
    /// Where indirect jumps go.
    pub tables: Tables,
}

impl Code {
    /// All checks of the section.
    pub fn lint(&self, rules: &Rules) -> Scan {
        self.lint_mutant(rules, &self.instructions)
    }

    /// All checks of the section with other control bits.
    pub fn lint_mutant(&self, rules: &Rules, code: &[Option<Instruction>]) -> Scan {
        let section = Section {
            code,
            is_entry: self.is_entry,
            tables: &self.tables,
        };
        schedule::lint(rules, section)
    }

    /// Instruction number `index` for a message.
    pub fn show(&self, index: usize) -> String {
        match &self.instructions[index] {
            Some(instruction) => format!(
                "{:04x} {} {}",
                index * 16,
                instruction.control,
                instruction.display(index as u64 * 16)
            ),
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
        Architecture::from_number(sm).filter(|_| GPUS.iter().any(|gpu| gpu.0 == sm))
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
        tables: tables(function),
    };
    cubin.functions().iter().map(section).collect()
}

fn tables(function: &Function) -> Tables {
    let index = |offset: &u32| *offset as usize / 16;
    let branches = function.indirect_branches();
    let tables = branches
        .iter()
        .map(|(branch, targets)| (index(branch), targets.iter().map(index).collect()));
    tables.collect()
}
