//! Our disassembly against the vendor's over bare words: those of a file, those of a file with bits
//! turned, or every opcode with random fields. Shows by kind what differs.
//!
//! Usage: `vendor_probe <folder of nvdisasm> sm_xx words <file>…`
//!        `vendor_probe <folder of nvdisasm> sm_xx flips <seeds per form> <random words per seed> <file>…`
//!        `vendor_probe <folder of nvdisasm> sm_xx scan <random words per opcode>`
//!
//! A file holds 16-byte words. `flips` takes of every value of bits 0 to 11 with its mnemonic that many
//! words, turns every single bit outside of opcode, guard and control field, and as many random ones
//! of up to four bits.

#[path = "../vendor/mod.rs"]
mod vendor;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sass::compare::{mnemonic, normalise};
use sass::{Architecture, Decoded, Word, decode};
use vendor::{Failure, texts};

/// Bits that are neither opcode, guard nor control field.
const FIELDS: std::ops::Range<u32> = 16..105;
/// Words that one call of the disassembler takes.
const BATCH: usize = 200_000;

/// A small generator of its own, so that every run sees the same words.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn read_words(file: &Path) -> Result<Vec<Word>, Failure> {
    let bytes = std::fs::read(file)?;
    let (words, _) = bytes.as_chunks::<16>();
    Ok(words.iter().map(|&bytes| Word::from_bytes(bytes)).collect())
}

fn ours(word: Word, pc: u64, architecture: Architecture) -> String {
    match decode(word, architecture) {
        Decoded::Instruction(instruction) => normalise(&instruction.display(pc).to_string()),
        Decoded::Unknown(_) => String::new(),
    }
}

/// Words of the files, turned.
fn flips(
    tools: &Path,
    architecture: Architecture,
    seeds_per_form: usize,
    per_seed: usize,
    words: &[Word],
) -> Result<Vec<Word>, Failure> {
    let mut seeds: BTreeMap<(u64, bool, String), Vec<Word>> = BTreeMap::new();
    for batch in words.chunks(BATCH) {
        for (word, text) in batch.iter().zip(texts(tools, batch, architecture)?) {
            if let Some(text) = text {
                let form = (word.bits(0, 12), word.bit(91), mnemonic(&text).to_owned());
                let seeds = seeds.entry(form).or_default();
                if seeds.len() < seeds_per_form {
                    seeds.push(*word);
                }
            }
        }
    }
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut chosen = BTreeSet::new();
    for word in seeds.into_values().flatten() {
        chosen.extend(FIELDS.map(|bit| Word(word.0 ^ 1 << bit)));
        for _ in 0..per_seed {
            let mut turned = word.0;
            for _ in 0..2 + random(&mut state) % 3 {
                turned ^= 1 << (u64::from(FIELDS.start) + random(&mut state) % 89);
            }
            chosen.insert(Word(turned));
        }
    }
    Ok(chosen.into_iter().collect())
}

/// Every value of bits 0 to 11 with random fields and an unguarded, plain control field.
fn scan(per_opcode: usize) -> Vec<Word> {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut words = Vec::new();
    for code in 0..4096u128 {
        for round in 0..per_opcode {
            let mut fields = u128::from(random(&mut state)) << 64 | u128::from(random(&mut state));
            // Sparse fields are legal more often.
            for _ in 0..round % 4 {
                fields &= u128::from(random(&mut state)) << 64 | u128::from(random(&mut state));
            }
            fields &= ((1 << 105) - 1) & !0xffff;
            words.push(Word(
                fields | code | 7 << 12 | 0xfc000 << 100 & (((1 << 21) - 1) << 105),
            ));
        }
    }
    words
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [tools, name, mode, rest @ ..] = arguments.as_slice() else {
        return Err("usage: vendor_probe <tools> sm_xx words|flips|scan …".into());
    };
    let tools = PathBuf::from(tools);
    let architecture = name
        .strip_prefix("sm_")
        .and_then(|number| number.parse().ok())
        .and_then(Architecture::from_number)
        .ok_or("an architecture is named sm_xx")?;
    let read = |files: &[String]| -> Result<Vec<Word>, Failure> {
        let mut words = Vec::new();
        for file in files {
            words.extend(read_words(Path::new(file))?);
        }
        Ok(words)
    };
    let words = match (mode.as_str(), rest) {
        ("words", files) => read(files)?,
        ("flips", [seeds, per_seed, files @ ..]) => flips(
            &tools,
            architecture,
            seeds.parse()?,
            per_seed.parse()?,
            &read(files)?,
        )?,
        ("scan", [per_opcode]) => scan(per_opcode.parse()?),
        _ => return Err("unknown mode".into()),
    };
    let (mut legal, mut equal, mut accepted) = (0usize, 0usize, 0usize);
    let mut differences: BTreeMap<String, Vec<(Word, u64, String, String)>> = BTreeMap::new();
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    for batch in words.chunks(BATCH) {
        for (index, text) in texts(&tools, batch, architecture)?.into_iter().enumerate() {
            let (word, pc) = (batch[index], index as u64 * 16);
            let ours = ours(word, pc, architecture);
            let Some(text) = text else {
                accepted += usize::from(!ours.is_empty());
                continue;
            };
            legal += 1;
            if ours == text {
                equal += 1;
                continue;
            }
            let kind = mnemonic(&text);
            let base = kind.split('.').next().unwrap_or("");
            let kind = format!("{:03x} {base}", word.bits(0, 12));
            if ours.is_empty() {
                *unknown.entry(kind.clone()).or_default() += 1;
            }
            differences
                .entry(kind)
                .or_default()
                .push((word, pc, text, ours));
        }
    }
    for (kind, differences) in &differences {
        let unknown = unknown.get(kind).copied().unwrap_or(0);
        println!(
            "== {kind}: {} differ, {unknown} of them unknown",
            differences.len()
        );
        // Evenly spread samples.
        let step = differences.len().div_ceil(12).max(1);
        for (word, pc, vendor, ours) in differences.iter().step_by(step) {
            println!("  {:016x} {:016x} @{pc:x}", word.low(), word.high());
            println!("    vendor {vendor}");
            println!("    ours   {ours}");
        }
    }
    println!(
        "{architecture}: {} words, {legal} legal, {equal} equal, {} differ; \
         {accepted} that the vendor refuses are known to us",
        words.len(),
        legal - equal
    );
    Ok(())
}
