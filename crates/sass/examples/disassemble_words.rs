//! Reads lines `sm_86 <pc hex> <low half hex> <high half hex>` from standard input and prints the text
//! of each word, or an empty line for an unknown one: a quick probe beside the vendor's disassembler.

use std::io::{BufRead, Write};

use sass::{Architecture, Decoded, Word, decode};

fn hex(text: Option<&str>) -> u64 {
    text.and_then(|text| u64::from_str_radix(text, 16).ok())
        .unwrap_or(0)
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let mut parts = line.split_whitespace();
        let architecture = parts
            .next()
            .and_then(|name| name.strip_prefix("sm_")?.parse().ok())
            .and_then(Architecture::from_number)
            .unwrap_or(Architecture::Sm86);
        let pc = hex(parts.next());
        let (low, high) = (hex(parts.next()), hex(parts.next()));
        match decode(Word::from_halves(low, high), architecture) {
            Decoded::Instruction(instruction) => writeln!(out, "{}", instruction.display(pc))?,
            Decoded::Unknown(_) => writeln!(out)?,
        }
    }
    out.flush()
}
