//! A word as text that assembles to the same word.

use std::fmt::Write;

use super::cursor::Symbols;
use super::instruction::{Names, instruction};
use crate::architecture::Architecture;
use crate::control::Control;
use crate::decode::decode;
use crate::instruction::Decoded;
use crate::word::Word;

/// The text of `word` at address `pc` of its kernel, control field and semicolon included. Reads back as
/// the same word: bits that the printed operands do not tell follow them as a mask, and a word that is no
/// instruction is written by its halves.
pub fn assembly_text(word: Word, pc: u64, architecture: Architecture) -> String {
    let raw = || format!(".word 0x{:016x}, 0x{:016x}", word.low(), word.high());
    let Decoded::Instruction(read) = decode(word, architecture) else {
        return raw();
    };
    let mut text = format!("{} {}", Control::decode(word), read.display(pc));
    let names = Names {
        labels: &|_| None,
        symbols: &Symbols::new(),
    };
    match instruction(&text, 1, pc, architecture, names) {
        Ok(line) if line.word == word => {}
        Ok(line) => {
            // Writing to a string does not fail.
            let _ = write!(text, " ^{:#x}", line.word.0 ^ word.0);
        }
        Err(_) => return raw(),
    }
    text.push_str(" ;");
    text
}
