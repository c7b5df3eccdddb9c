//! A text to its kernels: comments, directives, labels, repetition; then every line by `instruction`.
//!
//! ```text
//! .arch sm_80
//! .kernel scale
//! .param 8 out            // c[0x0][out] is its place in constant bank 0
//! .shared 128
//! .equ FACTOR, 0x3
//!     [B------:R-:W0:-:S02] S2R R0, SR_TID.X ;
//! loop:
//!     .rept 4
//!     [B------:R-:W-:-:S04] IMAD R1, R1, FACTOR, R0 ;
//!     .endr
//!     [B------:R-:W-:-:S05] @P0 BRA loop ;
//! ```

use std::collections::BTreeMap;

use super::control::ControlText;
use super::cursor::{Cursor, Symbols};
use super::error::AssembleError;
use super::instruction::{Names, instruction};
use crate::architecture::Architecture;
use crate::decode::decode;
use crate::footprint::{File, footprint};
use crate::instruction::Decoded;
use crate::opcode::Opcode;
use crate::operand::Operand;
use crate::word::Word;

/// Instructions of a text at most.
const MOST_INSTRUCTIONS: usize = 1 << 20;
/// Lines that are read at most, each turn of a repetition counted.
const MOST_LINES: usize = 1 << 22;
/// Repetitions inside one another at most.
const MOST_NESTED: usize = 16;
/// Registers beyond the highest one used that a kernel declares: the hardware takes two of the declared
/// ones (truth: a100_register_limit).
const RESERVED_REGISTERS: u32 = 2;
/// Registers that a kernel can declare at most.
const MOST_REGISTERS: u32 = 255;

/// What a text assembles to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assembly {
    /// The architecture of `.arch`, or the one asked for.
    pub architecture: Architecture,
    /// Kernels in the order of the text.
    pub kernels: Vec<AssembledKernel>,
    /// Bytes of constant bank 3, which all kernels share.
    pub constant3: Vec<u8>,
}

/// One kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AssembledKernel {
    /// Its name.
    pub name: String,
    /// Its instructions.
    pub instructions: Vec<AssembledInstruction>,
    /// Registers that it declares: `.registers`, else two more than it uses.
    pub registers: u32,
    /// Static shared memory in bytes.
    pub shared: u32,
    /// Local memory per thread in bytes.
    pub local: u32,
    /// CTA barriers.
    pub barriers: u32,
    /// Parameters in order.
    pub parameters: Vec<ParameterText>,
    /// Bytes of constant bank 2, the kernel's own.
    pub constant2: Vec<u8>,
}

/// An instruction and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AssembledInstruction {
    /// The word; open control fields are those of no control.
    pub word: Word,
    /// The control field as written.
    pub control: ControlText,
    /// Line of the text, from 1.
    pub line: usize,
    /// Column of its first character, from 1.
    pub column: usize,
}

/// A parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParameterText {
    /// Size in bytes.
    pub size: u32,
    /// Offset from the parameters' base in bytes.
    pub offset: u32,
}

impl AssembledKernel {
    /// The machine code.
    pub fn code(&self) -> Vec<u8> {
        let words = self.instructions.iter();
        words.flat_map(|line| line.word.0.to_le_bytes()).collect()
    }

    /// The first instruction whose control field is not closed.
    pub fn first_open(&self) -> Option<&AssembledInstruction> {
        let mut lines = self.instructions.iter();
        lines.find(|line| line.control.closed().is_none())
    }
}

/// Bytes that the parameters of a kernel take at most.
const MOST_PARAMETER_BYTES: u32 = 4096;

/// Assembles a text. `architecture` holds unless the text has an `.arch`.
pub fn assemble(text: &str, architecture: Option<Architecture>) -> Result<Assembly, AssembleError> {
    let lines = uncomment(text);
    let mut reader = Reader {
        architecture,
        chosen: None,
        symbols: Symbols::new(),
        drafts: Vec::new(),
        constant3: Vec::new(),
        instructions: 0,
        read: 0,
    };
    reader.lines(&lines, 0..lines.len(), 0)?;
    reader.finish(&lines)
}

/// The lines of a text, comments replaced by blanks so that columns stay.
fn uncomment(text: &str) -> Vec<String> {
    let mut inside = false;
    text.lines()
        .map(|line| {
            let mut clean = String::with_capacity(line.len());
            let mut characters = line.chars().peekable();
            while let Some(c) = characters.next() {
                let next = characters.peek().copied();
                match (inside, c, next) {
                    (false, '/', Some('/')) => break,
                    (false, '/', Some('*')) => inside = true,
                    (true, '*', Some('/')) => inside = false,
                    (true, ..) => {
                        clean.push(' ');
                        continue;
                    }
                    (false, ..) => {
                        clean.push(c);
                        continue;
                    }
                }
                characters.next();
                clean.push_str("  ");
            }
            clean
        })
        .collect()
}

/// A line that becomes an instruction once the labels are known.
struct Draft {
    line: usize,
    /// Byte at which it starts in its line.
    start: usize,
}

/// A kernel while its text is read.
struct DraftKernel {
    kernel: AssembledKernel,
    registers: Option<u32>,
    /// Bytes of parameters so far.
    parameter_end: u32,
    labels: BTreeMap<String, u64>,
    symbols: Symbols,
    drafts: Vec<Draft>,
}

struct Reader {
    architecture: Option<Architecture>,
    chosen: Option<Architecture>,
    symbols: Symbols,
    drafts: Vec<DraftKernel>,
    constant3: Vec<u8>,
    instructions: usize,
    read: usize,
}

/// The error at byte `at` of a line.
fn wrong(line: usize, text: &str, at: usize, expected: impl Into<String>) -> AssembleError {
    let mut trouble = super::error::Trouble::default();
    trouble.miss(at, expected);
    trouble.error(line, text)
}

impl Reader {
    /// Reads lines `range` (indices from 0), which stand in `depth` repetitions.
    fn lines(
        &mut self,
        lines: &[String],
        range: std::ops::Range<usize>,
        depth: usize,
    ) -> Result<(), AssembleError> {
        let mut index = range.start;
        while index < range.end {
            let text = &lines[index];
            self.read += 1;
            if self.read > MOST_LINES {
                let expected =
                    format!("the end: at most {MOST_LINES} lines, repeated ones counted");
                return Err(wrong(index + 1, text, 0, expected));
            }
            let start = self.labels(index + 1, text)?;
            let rest = text[start..].trim_start();
            let at = text.len() - rest.len();
            if rest.is_empty() {
                index += 1;
                continue;
            }
            let name = directive(rest);
            match name {
                Some(".rept") => {
                    if depth == MOST_NESTED {
                        let expected =
                            format!("at most {MOST_NESTED} repetitions inside one another");
                        return Err(wrong(index + 1, text, at, expected));
                    }
                    let times = self.repetitions(index + 1, text, at)?;
                    let end = closing(lines, index, range.end)?;
                    let body = index + 1..end;
                    for _ in 0..if body.is_empty() { 0 } else { times } {
                        self.lines(lines, body.clone(), depth + 1)?;
                    }
                    index = end;
                }
                Some(".endr") => {
                    return Err(wrong(index + 1, text, at, "a `.rept` before this `.endr`"));
                }
                Some(".word") | None => self.instruction(index, text, at)?,
                Some(name) => self.directive(index + 1, text, at, name)?,
            }
            index += 1;
        }
        Ok(())
    }

    /// Takes the labels at the start of a line; gives the byte behind them.
    fn labels(&mut self, line: usize, text: &str) -> Result<usize, AssembleError> {
        let mut at = 0;
        loop {
            let rest = text[at..].trim_start();
            let start = text.len() - rest.len();
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
            let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            if length == 0
                || !rest[length..].starts_with(':')
                || rest.starts_with(|c: char| c.is_ascii_digit())
            {
                return Ok(at);
            }
            let draft = self.draft();
            let address = draft.drafts.len() as u64 * u64::from(Word::BYTES);
            if draft
                .labels
                .insert(rest[..length].to_owned(), address)
                .is_some()
            {
                return Err(wrong(
                    line,
                    text,
                    start,
                    "a label that is new in its kernel",
                ));
            }
            at = start + length + 1;
        }
    }

    /// The kernel that is being read; one without a name before any `.kernel`.
    fn draft(&mut self) -> &mut DraftKernel {
        if self.drafts.is_empty() {
            self.open("kernel");
        }
        let last = self.drafts.len() - 1;
        &mut self.drafts[last]
    }

    fn open(&mut self, name: &str) {
        self.drafts.push(DraftKernel {
            kernel: AssembledKernel {
                name: name.to_owned(),
                ..AssembledKernel::default()
            },
            registers: None,
            parameter_end: 0,
            labels: BTreeMap::new(),
            symbols: self.symbols.clone(),
            drafts: Vec::new(),
        });
    }

    fn instruction(&mut self, index: usize, text: &str, at: usize) -> Result<(), AssembleError> {
        self.instructions += 1;
        if self.instructions > MOST_INSTRUCTIONS {
            let expected = format!("the end: at most {MOST_INSTRUCTIONS} instructions");
            return Err(wrong(index + 1, text, at, expected));
        }
        self.draft().drafts.push(Draft {
            line: index,
            start: at,
        });
        Ok(())
    }

    fn repetitions(&mut self, line: usize, text: &str, at: usize) -> Result<u32, AssembleError> {
        let symbols = self.draft().symbols.clone();
        let mut cursor = Cursor::new(text, &symbols);
        cursor.back(at + ".rept".len());
        let times =
            number(&mut cursor, "how often", MOST_INSTRUCTIONS as u32).filter(|_| end(&mut cursor));
        times.ok_or_else(|| cursor.trouble.error(line, text))
    }

    fn directive(
        &mut self,
        line: usize,
        text: &str,
        at: usize,
        name: &str,
    ) -> Result<(), AssembleError> {
        let symbols = match self.drafts.last() {
            Some(draft) => draft.symbols.clone(),
            None => self.symbols.clone(),
        };
        let mut cursor = Cursor::new(text, &symbols);
        cursor.back(at + name.len());
        let done = self
            .obey(&mut cursor, at, name)
            .filter(|()| end(&mut cursor));
        done.ok_or_else(|| cursor.trouble.error(line, text))
    }

    fn obey(&mut self, cursor: &mut Cursor<'_>, at: usize, name: &str) -> Option<()> {
        match name {
            ".arch" => {
                cursor.blanks();
                let start = cursor.at();
                let architecture = cursor
                    .word("")
                    .strip_prefix("sm_")
                    .and_then(|digits| digits.parse().ok())
                    .and_then(Architecture::from_number);
                let Some(architecture) = architecture else {
                    cursor.back(start);
                    let known: Vec<String> = Architecture::ALL
                        .iter()
                        .map(Architecture::to_string)
                        .collect();
                    return cursor.miss(known.join(", "));
                };
                if !self.drafts.is_empty() {
                    cursor.back(at);
                    return cursor.miss("`.arch` before the first kernel");
                }
                self.chosen = Some(architecture);
            }
            ".kernel" => {
                let start = cursor.at();
                cursor.blanks();
                let kernel = cursor.word("$.");
                if kernel.is_empty() || self.drafts.iter().any(|draft| draft.kernel.name == kernel)
                {
                    cursor.back(start);
                    return cursor.miss("the name of a new kernel");
                }
                self.open(kernel);
            }
            ".equ" => {
                cursor.blanks();
                let start = cursor.at();
                let symbol = cursor.word("");
                if !symbol.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    cursor.back(start);
                    return cursor.miss("a name");
                }
                cursor.demand(",")?;
                let value = cursor.integer("a number")?;
                let Ok(value) = i64::try_from(value) else {
                    return cursor.miss("a number of 64 bits");
                };
                let symbols = match self.drafts.last_mut() {
                    Some(draft) => &mut draft.symbols,
                    None => &mut self.symbols,
                };
                symbols.insert(symbol.to_owned(), value);
            }
            ".param" => self.parameter(cursor)?,
            ".pad" => {
                let bytes = number(cursor, "bytes between parameters", MOST_PARAMETER_BYTES)?;
                let draft = self.draft();
                draft.parameter_end = draft.parameter_end.saturating_add(bytes);
            }
            ".shared" => {
                let bytes = number(cursor, "bytes of shared memory", 1 << 20)?;
                self.draft().kernel.shared = bytes;
            }
            ".local" => {
                let bytes = number(cursor, "bytes of local memory", 1 << 19)?;
                self.draft().kernel.local = bytes;
            }
            ".registers" => {
                let registers = number(cursor, "a number of registers", MOST_REGISTERS)?;
                self.draft().registers = Some(registers);
            }
            ".barriers" => {
                let barriers = number(cursor, "a number of CTA barriers", 16)?;
                self.draft().kernel.barriers = barriers;
            }
            ".const" => self.constant(cursor)?,
            _ => {
                cursor.back(at);
                return cursor.miss(
                    ".arch, .kernel, .param, .pad, .shared, .local, .registers, .barriers, .const, .equ, \
                     .rept, .endr, .word or an instruction",
                );
            }
        }
        Some(())
    }

    /// `.param BYTES [NAME]`: aligned to its size, at most to 8 bytes.
    fn parameter(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let Some(architecture) = self.architecture() else {
            return cursor.miss("`.arch sm_xx` before the first parameter");
        };
        let base = architecture.parameter_base();
        let size = number(cursor, "bytes of a parameter", MOST_PARAMETER_BYTES)?;
        if size == 0 {
            return cursor.miss("bytes of a parameter");
        }
        cursor.blanks();
        let start = cursor.at();
        let name = cursor.word("");
        let draft = self.draft();
        let alignment = 1 << size.trailing_zeros().min(3);
        let offset = draft
            .parameter_end
            .min(MOST_PARAMETER_BYTES)
            .next_multiple_of(alignment);
        if offset.saturating_add(size) > MOST_PARAMETER_BYTES {
            cursor.back(start);
            return cursor.miss("parameters of 4096 bytes in all");
        }
        draft.parameter_end = offset + size;
        draft.kernel.parameters.push(ParameterText { size, offset });
        if !name.is_empty() {
            let place = i64::from(base + offset);
            draft.symbols.insert(name.to_owned(), place);
        }
        Some(())
    }

    fn architecture(&self) -> Option<Architecture> {
        self.chosen.or(self.architecture)
    }

    /// `.const BANK, WORD, …`: 32-bit words behind those that the bank has.
    fn constant(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        const BANK_BYTES: usize = 1 << 16;
        let start = cursor.at();
        let bank = number(cursor, "constant bank 2 or 3", 3)?;
        if bank < 2 {
            cursor.back(start);
            return cursor.miss("constant bank 2 or 3");
        }
        while cursor.skip(",") {
            let at = cursor.at();
            let word = cursor.integer("a 32-bit word")?;
            let Some(word) = super::literal::in_width(word, 32) else {
                cursor.back(at);
                return cursor.miss("a 32-bit word");
            };
            let bytes = match bank {
                2 => &mut self.draft().kernel.constant2,
                _ => &mut self.constant3,
            };
            if bytes.len() + 4 > BANK_BYTES {
                cursor.back(at);
                return cursor.miss("a bank of at most 64 KiB");
            }
            bytes.extend_from_slice(&(word as u32).to_le_bytes());
        }
        Some(())
    }

    /// Assembles every line, now that the labels are known.
    fn finish(self, lines: &[String]) -> Result<Assembly, AssembleError> {
        let first = lines.first().map_or("", String::as_str);
        let Some(architecture) = self.architecture() else {
            return Err(wrong(
                1,
                first,
                0,
                "`.arch sm_xx`, as no architecture is given",
            ));
        };
        let mut kernels = Vec::new();
        for draft in self.drafts {
            let DraftKernel {
                mut kernel,
                registers,
                labels,
                symbols,
                drafts,
                ..
            } = draft;
            let labels = |name: &str| labels.get(name).copied();
            let names = Names {
                labels: &labels,
                symbols: &symbols,
            };
            for (index, line) in drafts.iter().enumerate() {
                let pc = index as u64 * u64::from(Word::BYTES);
                let read = read_line(&lines[line.line], line, pc, architecture, names)?;
                kernel.instructions.push(read);
            }
            // What is declared holds: code that names a barrier by register does not show how many.
            if kernel.barriers == 0 {
                kernel.barriers = barriers_of(&kernel, architecture);
            }
            kernel.registers = registers.unwrap_or_else(|| registers_of(&kernel, architecture));
            kernels.push(kernel);
        }
        Ok(Assembly {
            architecture,
            kernels,
            constant3: self.constant3,
        })
    }
}

fn read_line(
    text: &str,
    draft: &Draft,
    pc: u64,
    architecture: Architecture,
    names: Names<'_>,
) -> Result<AssembledInstruction, AssembleError> {
    let line = draft.line + 1;
    let column = text[..draft.start].chars().count() + 1;
    // Blanks in place of a label keep the columns.
    let blank = " ".repeat(column - 1) + &text[draft.start..];
    let (word, control) = if text[draft.start..].starts_with(".word") {
        raw_word(&blank, line, column - 1)?
    } else {
        let read = instruction(&blank, line, pc, architecture, names)?;
        (read.word, read.control)
    };
    Ok(AssembledInstruction {
        word,
        control,
        line,
        column,
    })
}

/// `.word 0x…, 0x…`: the halves of a word, lower one first.
fn raw_word(text: &str, line: usize, start: usize) -> Result<(Word, ControlText), AssembleError> {
    let symbols = Symbols::new();
    let mut cursor = Cursor::new(text, &symbols);
    cursor.back(start + ".word".len());
    let half = |cursor: &mut Cursor<'_>| {
        let value = cursor.integer("half a word of 64 bits")?;
        u64::try_from(value)
            .ok()
            .or_else(|| cursor.miss("half a word of 64 bits"))
    };
    let low = half(&mut cursor);
    let high = low
        .and_then(|_| cursor.demand(","))
        .and_then(|()| half(&mut cursor));
    cursor.skip(";");
    match (low, high, end(&mut cursor)) {
        (Some(low), Some(high), true) => {
            let word = Word::from_halves(low, high);
            let control = crate::control::Control::decode(word);
            let control = ControlText {
                wait_mask: Some(control.wait_mask),
                read_counter: Some(control.read_counter),
                write_counter: Some(control.write_counter),
                yields: Some(control.yields),
                stall: Some(control.stall),
            };
            Ok((word, control))
        }
        _ => Err(cursor.trouble.error(line, text)),
    }
}

/// The directive that a line starts with.
fn directive(rest: &str) -> Option<&str> {
    let length = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))
        .unwrap_or(rest.len());
    rest.starts_with('.').then(|| &rest[..length])
}

/// The line of the `.endr` that closes the `.rept` of line `open`.
fn closing(lines: &[String], open: usize, end: usize) -> Result<usize, AssembleError> {
    let mut depth = 0;
    for (index, line) in lines.iter().enumerate().take(end).skip(open) {
        match directive(line.trim_start()) {
            Some(".rept") => depth += 1,
            Some(".endr") => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(index);
        }
    }
    let text = &lines[open];
    Err(wrong(open + 1, text, text.len(), "an `.endr` further down"))
}

/// A number from 0 to `most`.
fn number(cursor: &mut Cursor<'_>, what: &str, most: u32) -> Option<u32> {
    cursor.blanks();
    let start = cursor.at();
    let value = cursor.integer(what)?;
    match u32::try_from(value) {
        Ok(value) if value <= most => Some(value),
        _ => {
            cursor.back(start);
            cursor.miss(format!("{what}, 0 to {most}"))
        }
    }
}

/// Whether the line ends here.
fn end(cursor: &mut Cursor<'_>) -> bool {
    if cursor.is_at_end() {
        return true;
    }
    cursor.blanks();
    cursor.miss::<()>("the end of the line");
    false
}

/// Registers that a kernel needs: its highest one, and the reserved ones.
fn registers_of(kernel: &AssembledKernel, architecture: Architecture) -> u32 {
    let mut used = 0;
    for line in &kernel.instructions {
        if let Decoded::Instruction(instruction) = decode(line.word, architecture) {
            let footprint = footprint(&instruction);
            for one in footprint.reads.iter().chain(&footprint.writes) {
                if one.file == File::General {
                    used = used.max(u32::from(one.first) + u32::from(one.count));
                }
            }
        }
    }
    (used + RESERVED_REGISTERS).min(MOST_REGISTERS)
}

/// CTA barriers that a kernel names; all of them if it names one by register.
fn barriers_of(kernel: &AssembledKernel, architecture: Architecture) -> u32 {
    let decoded = kernel
        .instructions
        .iter()
        .map(|line| decode(line.word, architecture));
    let barriers = decoded.map(|decoded| match decoded {
        Decoded::Instruction(instruction) if instruction.opcode == Opcode::BAR => {
            match instruction.operands.first() {
                Some(Operand::Immediate { bits, .. }) => (*bits as u32).saturating_add(1).min(16),
                Some(Operand::Register { .. }) => 16,
                _ => 1,
            }
        }
        _ => 0,
    });
    barriers.max().unwrap_or(0)
}
