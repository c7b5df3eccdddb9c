//! Our disassembly against the vendor's, line by line. Pure: takes the text that `nvdisasm` or
//! `cuobjdump -sass` printed, gives a tally; the command `warpath disasm FILE --against` does the
//! reading and running.

use std::collections::BTreeMap;

use crate::architecture::Architecture;
use crate::decode::decode;
use crate::instruction::Decoded;
use crate::word::Word;

/// One instruction of a vendor listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VendorLine {
    /// Address within its function or section.
    pub pc: u64,
    /// The instruction word.
    pub word: Word,
    /// Its text, normalised (see [`normalise`]).
    pub text: String,
}

/// One function (or section) of a vendor listing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct VendorFunction {
    /// Name, empty for a raw listing.
    pub name: String,
    /// Instructions in address order.
    pub lines: Vec<VendorLine>,
}

/// Text with runs of blanks made one and the closing semicolon taken off.
pub fn normalise(text: &str) -> String {
    let text = text.trim().trim_end_matches(';');
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Mnemonic with its suffixes, without guard and operands: `IMAD.WIDE.U32`.
pub fn mnemonic(text: &str) -> &str {
    let unguarded = match text.strip_prefix('@') {
        Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest),
        None => text,
    };
    unguarded.split(' ').next().unwrap_or("")
}

/// The number inside `/*…*/` at the start of `line`, and what follows it.
fn comment(line: &str) -> Option<(u64, &str)> {
    let (inside, rest) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let inside = inside.trim();
    let digits = inside.strip_prefix("0x").unwrap_or(inside);
    Some((u64::from_str_radix(digits, 16).ok()?, rest))
}

/// Reads the listing of `cuobjdump -sass` or of `nvdisasm -c -hex`, which give every instruction
/// two lines: address, text and the word's low half, then its high half. Other lines are skipped.
///
/// `nvdisasm` writes labels in place of branch targets unless it reads raw code (`-b`); use
/// `cuobjdump` for whole cubins.
pub fn parse_listing(listing: &str) -> Vec<VendorFunction> {
    let mut functions: Vec<VendorFunction> = Vec::new();
    let mut pending: Option<(u64, String, u64)> = None;
    for line in listing.lines() {
        if let Some(name) = function_name(line) {
            functions.push(VendorFunction {
                name: name.to_owned(),
                lines: Vec::new(),
            });
            pending = None;
            continue;
        }
        let Some((number, rest)) = comment(line) else {
            continue;
        };
        match (pending.take(), rest.trim().is_empty()) {
            (Some((pc, text, low)), true) => {
                if functions.is_empty() {
                    functions.push(VendorFunction::default());
                }
                if let Some(function) = functions.last_mut() {
                    let word = Word::from_halves(low, number);
                    function.lines.push(VendorLine { pc, word, text });
                }
            }
            (_, false) => {
                let Some(at) = rest.rfind("/*") else { continue };
                if let Some((low, _)) = comment(&rest[at..]) {
                    pending = Some((number, normalise(&rest[..at]), low));
                }
            }
            (None, true) => {}
        }
    }
    functions
}

/// The name that opens a function: `Function : name` (cuobjdump) or `.text.name:` (nvdisasm).
fn function_name(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(name) = line.strip_prefix("Function : ") {
        return Some(name.trim());
    }
    line.strip_prefix(".text.")?.strip_suffix(':')
}

/// The texts of one instruction that differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Address.
    pub pc: u64,
    /// Word.
    pub word: Word,
    /// The vendor's text.
    pub vendor: String,
    /// Ours; empty for an unknown word.
    pub ours: String,
}

/// Result of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Instructions compared.
    pub lines: usize,
    /// Those with equal text.
    pub equal_lines: usize,
    /// The vendor's mnemonics with suffixes, each with the number of its lines and how many of those
    /// we give another mnemonic.
    pub mnemonics: BTreeMap<String, (usize, usize)>,
    /// Differences by the vendor's mnemonic; of each kind the first few.
    pub differences: BTreeMap<String, Vec<Difference>>,
}

/// How many differences of one kind a tally keeps.
const KEPT: usize = 8;

impl Tally {
    /// Adds one function.
    pub fn add(&mut self, function: &VendorFunction, architecture: Architecture) {
        for line in &function.lines {
            self.add_line(line, architecture);
        }
    }

    /// Adds one instruction.
    pub fn add_line(&mut self, line: &VendorLine, architecture: Architecture) {
        let ours = match decode(line.word, architecture) {
            Decoded::Instruction(instruction) => instruction.display(line.pc).to_string(),
            Decoded::Unknown(_) => String::new(),
        };
        let ours = normalise(&ours);
        let kind = mnemonic(&line.text);
        let count = self.mnemonics.entry(kind.to_owned()).or_default();
        count.0 += 1;
        count.1 += usize::from(mnemonic(&ours) != kind);
        self.lines += 1;
        if ours == line.text {
            self.equal_lines += 1;
            return;
        }
        let differences = self.differences.entry(kind.to_owned()).or_default();
        if differences.len() < KEPT {
            let (pc, word) = (line.pc, line.word);
            differences.push(Difference {
                pc,
                word,
                vendor: line.text.clone(),
                ours,
            });
        }
    }

    /// Adds another tally.
    pub fn merge(&mut self, other: Tally) {
        self.lines += other.lines;
        self.equal_lines += other.equal_lines;
        for (kind, (lines, wrong)) in other.mnemonics {
            let count = self.mnemonics.entry(kind).or_default();
            count.0 += lines;
            count.1 += wrong;
        }
        for (kind, more) in other.differences {
            let kept = self.differences.entry(kind).or_default();
            kept.extend(more);
            kept.truncate(KEPT);
        }
    }

    /// Distinct mnemonics with suffixes, and how many of them we give in every line.
    pub fn equal_mnemonics(&self) -> (usize, usize) {
        let equal = self
            .mnemonics
            .values()
            .filter(|&&(_, wrong)| wrong == 0)
            .count();
        (equal, self.mnemonics.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cuobjdump_listing_is_read() {
        let listing = "
\t\tFunction : kernel
\t.headerflags\t@\"EF_CUDA_SM86\"
        /*0000*/                   MOV R1, c[0x0][0x28] ;              /* 0x00000a0000017a02 */
                                                                       /* 0x000fe40000000f00 */
        /*0010*/              @!P0 BRA 0x40 ;                          /* 0x0000002000008947 */
                                                                       /* 0x000fea0003800000 */
";
        let functions = parse_listing(listing);
        assert_eq!(functions.len(), 1);
        assert_eq!(functions[0].name, "kernel");
        assert_eq!(functions[0].lines[1].text, "@!P0 BRA 0x40");
        let mut tally = Tally::default();
        tally.add(&functions[0], Architecture::Sm86);
        assert_eq!(
            (tally.lines, tally.equal_lines),
            (2, 2),
            "{:?}",
            tally.differences
        );
        assert_eq!(tally.equal_mnemonics(), (2, 2));
    }

    #[test]
    fn a_difference_is_told_by_kind() {
        let word = Word::from_halves(0x00000a0000017a02, 0x000fe40000000f00);
        let line = VendorLine {
            pc: 0,
            word,
            text: "@P0 NOP.X".to_owned(),
        };
        let mut tally = Tally::default();
        tally.add_line(&line, Architecture::Sm86);
        assert_eq!(tally.differences["NOP.X"][0].ours, "MOV R1, c[0x0][0x28]");
        assert_eq!(tally.equal_mnemonics(), (0, 1));
    }

    #[test]
    fn odd_lines_are_skipped() {
        for listing in [
            "",
            "/*",
            "/**/",
            "/*zz*/ x",
            "/*0000*/ NOP ;",
            "/*0000*/ NOP ; /*",
            "*/ /*",
        ] {
            assert!(
                parse_listing(listing)
                    .iter()
                    .all(|function| function.lines.is_empty())
            );
        }
    }
}
