//! The code that is looked at: the sections of cubins and of texts.

use std::path::Path;

use cubin::Function;
use sass::{Architecture, Decoded, Instruction, Word};
use schedule::flow::{NO_TABLES, Tables};

use crate::cli::LintArguments;
use crate::commands::disasm::{architecture, of_cubin};
use crate::commands::{asm, run};
use crate::failure::Failure;
use crate::input::{load_cubins, load_cubins_for, read_text};

/// One code section to be looked at.
pub struct Subject {
    /// The file.
    pub file: String,
    pub name: String,
    pub architecture: Architecture,
    pub is_entry: bool,
    pub code: Vec<Option<Instruction>>,
    pub tables: Tables,
    /// Lines of the text that the instructions stand in.
    pub lines: Vec<usize>,
}

/// The sections of a file: of a text's kernels, or of all functions of its cubins.
pub fn subjects(path: &Path, arguments: &LintArguments) -> Result<Vec<Subject>, Failure> {
    let is_text = path
        .extension()
        .is_some_and(|extension| extension == "sass");
    if is_text {
        return of_text(path, arguments);
    }
    let cubins = match &arguments.gpu {
        Some(gpu) => load_cubins_for(path, Some(gpu), run::gpu_of)?.0,
        None => load_cubins(path)?,
    };
    let file = path.display().to_string();
    let mut subjects = Vec::new();
    for cubin in &cubins {
        let architecture = of_cubin(path, cubin.sm())?;
        let wanted = |function: &&Function| {
            arguments.kernel.as_ref().is_none_or(|name| {
                let mut kernels = cubin.kernels().iter();
                kernels.any(|kernel| kernel.name == *name && kernel.section == function.section)
            })
        };
        for function in cubin.functions().iter().filter(wanted) {
            let words = function.code.as_chunks::<16>().0.iter();
            let index = |offset: &u32| (offset / Word::BYTES) as usize;
            let branches = function.indirect_branches();
            let tables = branches
                .iter()
                .map(|(branch, targets)| (index(branch), targets.iter().map(index).collect()));
            subjects.push(Subject {
                file: file.clone(),
                name: function.name.clone(),
                architecture,
                is_entry: function.is_entry,
                code: words
                    .map(|bytes| decoded(Word::from_bytes(*bytes), architecture))
                    .collect(),
                tables: tables.collect(),
                lines: Vec::new(),
            });
        }
    }
    Ok(subjects)
}

fn of_text(path: &Path, arguments: &LintArguments) -> Result<Vec<Subject>, Failure> {
    let file = path.display().to_string();
    let text = read_text(path)?;
    let given = arguments.arch.as_deref().map(architecture).transpose()?;
    let assembly = sass::assemble::assemble(&text, given)
        .map_err(|error| asm::misread(&file, &text, &error))?;
    asm::closed(&file, &text, &assembly)?;
    let wanted = |name: &str| {
        arguments
            .kernel
            .as_ref()
            .is_none_or(|kernel| kernel == name)
    };
    let kernels = assembly
        .kernels
        .iter()
        .filter(|kernel| wanted(&kernel.name));
    let subject = |kernel: &sass::assemble::AssembledKernel| Subject {
        file: file.clone(),
        name: kernel.name.clone(),
        architecture: assembly.architecture,
        is_entry: true,
        code: kernel
            .instructions
            .iter()
            .map(|line| decoded(line.word, assembly.architecture))
            .collect(),
        tables: NO_TABLES.clone(),
        lines: kernel.instructions.iter().map(|line| line.line).collect(),
    };
    Ok(kernels.map(subject).collect())
}

/// The instruction of a word, if it is one.
pub fn decoded(word: Word, architecture: Architecture) -> Option<Instruction> {
    match sass::decode(word, architecture) {
        Decoded::Instruction(instruction) => Some(instruction),
        Decoded::Unknown(_) => None,
    }
}
