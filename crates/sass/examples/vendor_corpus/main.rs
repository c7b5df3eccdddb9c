//! Remakes the committed corpus of `tests/corpus` with the vendor's tools; see
//! `scripts/compare-disassembly-corpus.sh`.
//!
//! Usage: `vendor_corpus <folder of cuobjdump and nvdisasm> <folder of the corpus> <folder of cubins>…`
//!
//! Per architecture: one word of every text shape in the cubins, and around one word of every
//! operation the single-bit flips that give a further shape, each labelled with the text of the
//! vendor's disassembler.

#[path = "../vendor/mod.rs"]
mod vendor;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use sass::compare::{mnemonic, normalise, parse_listing};
use sass::{Architecture, Decoded, Word, decode};
use vendor::{Failure, texts};

/// Bits that are neither opcode, guard nor control field.
const FIELDS: std::ops::Range<u32> = 16..105;

/// The text with every number replaced, so that one word of each shape is kept.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut after_name = false;
    for character in text.chars() {
        if character.is_ascii_digit() && after_name {
            continue;
        }
        after_name = matches!(character, 'R' | 'P' | 'B' | 'x');
        shape.push(
            if character.is_ascii_hexdigit() && !character.is_ascii_uppercase() {
                '0'
            } else {
                character
            },
        );
    }
    let mut squeezed = String::new();
    for character in shape.chars() {
        if !(character == '0' && squeezed.ends_with('0')) {
            squeezed.push(character);
        }
    }
    squeezed
}

/// The cubins of `architecture` below `folder`, in order of name.
fn cubins(folder: &Path, architecture: Architecture) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(cubins(&path, architecture)?);
        } else if path
            .to_string_lossy()
            .ends_with(&format!(".{architecture}.cubin"))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The words to label.
fn words(
    tools: &Path,
    folders: &[PathBuf],
    architecture: Architecture,
) -> Result<Vec<Word>, Failure> {
    let mut shapes: BTreeMap<String, Word> = BTreeMap::new();
    let mut operations: BTreeMap<(u64, String), Word> = BTreeMap::new();
    let mut files = Vec::new();
    for folder in folders {
        files.extend(cubins(folder, architecture)?);
    }
    for cubin in files {
        let output = Command::new(tools.join("cuobjdump"))
            .arg("-sass")
            .arg(&cubin)
            .output()?;
        for function in parse_listing(&String::from_utf8_lossy(&output.stdout)) {
            for line in function.lines {
                shapes.entry(shape(&line.text)).or_insert(line.word);
                let operation = (line.word.bits(0, 12), mnemonic(&line.text).to_owned());
                operations.entry(operation).or_insert(line.word);
            }
        }
    }
    let mut chosen: BTreeSet<Word> = shapes.values().copied().collect();
    for word in operations.into_values() {
        for bit in FIELDS {
            let flip = Word(word.0 ^ 1 << bit);
            if let Decoded::Instruction(instruction) = decode(flip, architecture) {
                let text = normalise(&instruction.display(0).to_string());
                if let std::collections::btree_map::Entry::Vacant(entry) =
                    shapes.entry(shape(&text))
                {
                    entry.insert(flip);
                    chosen.insert(flip);
                }
            }
        }
    }
    Ok(chosen.into_iter().collect())
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [tools, corpus, folders @ ..] = arguments.as_slice() else {
        return Err("usage: vendor_corpus <tools> <corpus> <folder of cubins>…".into());
    };
    for &architecture in Architecture::ALL {
        let words = words(tools, folders, architecture)?;
        let path = corpus.join(format!("{architecture}.txt"));
        let mut out = std::io::BufWriter::new(std::fs::File::create(&path)?);
        writeln!(
            out,
            "# {architecture}: address, low and high half of the word, the vendor's text"
        )?;
        for (index, text) in texts(tools, &words, architecture)?.into_iter().enumerate() {
            if let Some(text) = text {
                let (pc, word) = (index * 16, words[index]);
                writeln!(
                    out,
                    "{pc:x} {:016x} {:016x} {text}",
                    word.low(),
                    word.high()
                )?;
            }
        }
        out.flush()?;
        println!("{}", path.display());
    }
    Ok(())
}
