//! Which line of the source an instruction comes from: the DWARF line table that `-lineinfo` and
//! `-G` leave in `.debug_line`, with NVIDIA's extension for inlined calls.
//!
//! Addresses in the table count from the start of a function; a relocation (type 2) on each
//! set-address operation names the function. The extended operation 0x90 takes two LEB128 numbers:
//! the row of the sequence (from 1) that is the call site of the inlined code that follows, or 0
//! for code that is not inlined, and the offset of the inlined function's name in `.debug_str`
//! (checked against `nvdisasm -gi`).

use std::collections::BTreeMap;

use gimli::{
    DebugLine, DebugLineOffset, EndianSlice, LineInstruction, LineProgramHeader, LineRow,
    LittleEndian, Reader,
};
use object::elf;

use crate::elf::{Elf, LE, SectionIndex};
use crate::error::CubinError;

/// The section that holds the table.
const SECTION: &str = ".debug_line";
/// NVIDIA's extended operation: code that follows is inlined.
const INLINED: gimli::DwLne = gimli::DwLne(0x90);
/// Addresses of a function are told from those of others by its section in the bits from here on.
const SECTION_SHIFT: u32 = 40;
/// Bytes of a set-address operand.
const ADDRESS_BYTES: usize = 8;
/// Most inlined calls that [`LineTable::chain`] follows.
const DEEPEST: usize = 64;

/// The place in the source of the instructions from an offset on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Offset of the first instruction in its function, in bytes.
    pub offset: u64,
    /// Index of the file in [`LineTable::files`].
    pub file: usize,
    /// Line, from 1.
    pub line: u64,
    /// Mangled name of the function whose inlined body this is, if it is one and named.
    pub function: Option<String>,
    /// Index of the call site among its function's lines, for inlined code.
    call: Option<usize>,
}

/// The line table of a cubin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineTable {
    files: Vec<String>,
    /// By code section, in the order of their offsets.
    functions: BTreeMap<SectionIndex, Vec<Line>>,
    /// Sequences whose function no relocation names.
    unplaced: usize,
}

/// The raw table as the file holds it, kept so that a cubin with broken debug information can
/// still run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawLines {
    line: Vec<u8>,
    names: Vec<u8>,
    /// Where a set-address operand lies, and the code section it means.
    functions: Vec<(usize, SectionIndex)>,
}

impl RawLines {
    /// The table's bytes and relocations; what does not fit is left for [`RawLines::table`] to
    /// find.
    pub fn read(elf: &Elf<'_>) -> RawLines {
        let find = |name: &str| elf.sections.iter().find(|section| section.name == name);
        let Some(section) = find(SECTION) else {
            return RawLines::default();
        };
        let mut functions = Vec::new();
        for table in &elf.sections {
            if table.info != section.index.0 {
                continue;
            }
            let entries: Vec<(u64, usize)> = match table.kind {
                elf::SHT_REL => table
                    .table::<elf::Rel64<object::LittleEndian>>()
                    .unwrap_or_default()
                    .iter()
                    .map(|entry| (entry.r_offset.get(LE), entry.r_sym(LE) as usize))
                    .collect(),
                elf::SHT_RELA => table
                    .table::<elf::Rela64<object::LittleEndian>>()
                    .unwrap_or_default()
                    .iter()
                    .map(|entry| (entry.r_offset.get(LE), entry.r_sym(LE, false) as usize))
                    .collect(),
                _ => continue,
            };
            for (offset, symbol) in entries {
                let code = elf.symbols.get(symbol).and_then(|symbol| symbol.section);
                if let (Ok(offset), Some(code)) = (usize::try_from(offset), code) {
                    functions.push((offset, code));
                }
            }
        }
        RawLines {
            line: section.data.to_vec(),
            names: find(".debug_str").map_or(Vec::new(), |names| names.data.to_vec()),
            functions,
        }
    }

    /// Reads the table.
    pub fn table(&self) -> Result<LineTable, CubinError> {
        let mut bytes = self.line.clone();
        for &(offset, section) in &self.functions {
            let place = offset
                .checked_add(ADDRESS_BYTES)
                .and_then(|end| bytes.get_mut(offset..end))
                .ok_or_else(|| CubinError::Lines {
                    section: SECTION,
                    reason: format!(
                        "a relocation at offset {offset:#x}, but it has {} bytes",
                        self.line.len()
                    ),
                })?;
            let address = (u64::from(section.0) + 1) << SECTION_SHIFT;
            place.copy_from_slice(&address.to_le_bytes());
        }
        let wrong = |error: gimli::Error| CubinError::Lines {
            section: SECTION,
            reason: error.to_string(),
        };
        let mut table = LineTable::default();
        let section = DebugLine::new(&bytes, LittleEndian);
        let mut at = 0;
        while at < bytes.len() {
            let program = section
                .program(DebugLineOffset(at), ADDRESS_BYTES as u8, None, None)
                .map_err(wrong)?;
            let header = program.header();
            // The unit's length field is not counted in the length.
            let unit = header.unit_length() + 4;
            table.unit(program, &self.names).map_err(wrong)?;
            at = at.saturating_add(unit);
        }
        Ok(table)
    }
}

type Bytes<'data> = EndianSlice<'data, LittleEndian>;

impl LineTable {
    /// The names of the source files, with their folders.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Whether there is no line at all: code compiled without `-lineinfo` or `-G`.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// How many sequences of the table are left out because nothing says which function they are of.
    pub fn unplaced(&self) -> usize {
        self.unplaced
    }

    /// The lines of a function, given by its code section, in the order of their offsets.
    pub fn lines(&self, function: SectionIndex) -> &[Line] {
        self.functions.get(&function).map_or(&[], Vec::as_slice)
    }

    /// The line of the instruction at `offset` bytes of a function.
    pub fn line(&self, function: SectionIndex, offset: u64) -> Option<&Line> {
        let lines = self.lines(function);
        let after = lines.partition_point(|line| line.offset <= offset);
        lines[..after].last()
    }

    /// A line, the call site that it was inlined at, that one's call site and so on: innermost
    /// first.
    pub fn chain(&self, function: SectionIndex, offset: u64) -> Vec<&Line> {
        let lines = self.lines(function);
        let mut chain: Vec<&Line> = Vec::new();
        let mut next = self.line(function, offset);
        while let Some(line) = next.filter(|_| chain.len() < DEEPEST) {
            chain.push(line);
            next = line.call.and_then(|call| lines.get(call));
        }
        chain
    }

    /// Reads one unit: its files, then its sequences, one for each function.
    fn unit(
        &mut self,
        mut program: gimli::IncompleteLineProgram<Bytes<'_>>,
        names: &[u8],
    ) -> Result<(), gimli::Error> {
        let first_file = self.files.len();
        let header = program.header().clone();
        for file in header.file_names() {
            self.files.push(path(&header, file));
        }
        let mut instructions = header.instructions();
        let mut row = LineRow::new(&header);
        let mut sequence: Vec<Line> = Vec::new();
        let mut section = None;
        let mut inlined: (usize, Option<String>) = (0, None);
        while let Some(instruction) = instructions.next_instruction(&header)? {
            if let LineInstruction::UnknownExtended(INLINED, mut operands) = instruction {
                let call = operands.read_uleb128()?;
                let name = operands.read_uleb128().unwrap_or(0);
                let call = usize::try_from(call).unwrap_or(usize::MAX);
                inlined = (call, (call > 0).then(|| name_at(names, name)).flatten());
                continue;
            }
            if !row.execute(instruction, &mut program)? {
                continue;
            }
            if row.end_sequence() {
                self.end(section.take(), std::mem::take(&mut sequence));
                inlined = (0, None);
            } else {
                let code = row.address() >> SECTION_SHIFT;
                section = code
                    .checked_sub(1)
                    .and_then(|code| u32::try_from(code).ok());
                let file = usize::try_from(row.file_index()).unwrap_or(0);
                sequence.push(Line {
                    offset: row.address() & ((1 << SECTION_SHIFT) - 1),
                    file: (first_file + file.saturating_sub(1)).min(self.files.len()),
                    line: row.line().map_or(0, |line| line.get()),
                    function: inlined.1.clone(),
                    // Only earlier rows: a chain of calls ends.
                    call: inlined
                        .0
                        .checked_sub(1)
                        .filter(|&call| call < sequence.len()),
                });
            }
            row.reset(&header);
        }
        Ok(())
    }

    /// Adds a sequence to the lines of its function, if it is known which that is, and puts them in the
    /// order of their offsets: a linker may have joined several sequences, in any order.
    fn end(&mut self, section: Option<u32>, sequence: Vec<Line>) {
        let Some(section) = section else {
            self.unplaced += usize::from(!sequence.is_empty());
            return;
        };
        let lines = self.functions.entry(SectionIndex(section)).or_default();
        let before = lines.len();
        lines.extend(sequence.into_iter().map(|line| Line {
            call: line.call.map(|call| call + before),
            ..line
        }));
        if lines.is_sorted_by_key(|line| line.offset) {
            return;
        }
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|&index| lines[index].offset);
        let mut place = vec![0; lines.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        *lines = order
            .iter()
            .map(|&old| Line {
                call: lines[old].call.map(|call| place[call]),
                ..lines[old].clone()
            })
            .collect();
    }
}

/// A file's name with its folder.
fn path(header: &LineProgramHeader<Bytes<'_>>, file: &gimli::FileEntry<Bytes<'_>>) -> String {
    let text = |value: gimli::AttributeValue<Bytes<'_>>| match value {
        gimli::AttributeValue::String(text) => text.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    let name = text(file.path_name());
    match file.directory(header).map(text) {
        Some(folder) if !folder.is_empty() && !name.starts_with('/') => format!("{folder}/{name}"),
        _ => name,
    }
}

/// The NUL-terminated name at `offset` of `.debug_str`, if there is one and it is not empty.
fn name_at(names: &[u8], offset: u64) -> Option<String> {
    let tail = names.get(usize::try_from(offset).ok()?..)?;
    let length = tail.iter().position(|&byte| byte == 0)?;
    (length > 0).then(|| String::from_utf8_lossy(&tail[..length]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(offset: u64, line: u64, call: Option<usize>) -> Line {
        Line {
            offset,
            file: 0,
            line,
            function: None,
            call,
        }
    }

    fn numbers(table: &LineTable, offset: u64) -> Vec<u64> {
        let chain = table.chain(SectionIndex(3), offset);
        chain.iter().map(|line| line.line).collect()
    }

    #[test]
    fn lines_out_of_order_are_put_in_order() {
        let mut table = LineTable::default();
        // The second row's call site is the first; the third's is the second.
        let sequence = vec![row(64, 7, None), row(16, 8, Some(0)), row(0, 9, Some(1))];
        table.end(Some(3), sequence);
        assert_eq!(numbers(&table, 0), [9, 8, 7]);
        assert_eq!(numbers(&table, 31), [8, 7]);
        assert_eq!(numbers(&table, 640), [7]);
    }

    #[test]
    fn sequences_of_one_function_are_joined() {
        let mut table = LineTable::default();
        table.end(Some(3), vec![row(64, 1, None), row(80, 2, Some(0))]);
        table.end(Some(3), vec![row(0, 3, None), row(16, 4, Some(0))]);
        table.end(Some(4), vec![row(0, 5, None)]);
        assert_eq!(numbers(&table, 16), [4, 3]);
        assert_eq!(numbers(&table, 80), [2, 1]);
        assert_eq!(table.lines(SectionIndex(4)).len(), 1);
        assert_eq!(table.unplaced(), 0);
    }

    #[test]
    fn a_sequence_of_no_function_is_counted() {
        let mut table = LineTable::default();
        table.end(None, vec![row(0, 1, None)]);
        table.end(None, Vec::new());
        assert_eq!(table.unplaced(), 1);
        assert!(table.is_empty());
    }
}
