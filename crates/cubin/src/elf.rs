//! The ELF layer: header, section headers, section bytes and symbols of an ELF64 little-endian
//! file, borrowed from the input and checked against its length.
//!
//! Everything above this file works on sections and symbols that are known to lie in the file.
//! The raw structures are those of the `object` crate; the checks are ours, so that an error
//! names the byte. Which fields NVIDIA uses for what: OS/ABI 0x33 with ABI version 7 is CUDA 11.8
//! and 12.x, 0x41 with version 8 is CUDA 13.x.

use std::fmt;

use object::LittleEndian;
use object::elf;
use object::pod::{Pod, from_bytes, slice_from_bytes};

use crate::error::CubinError;

/// Raw ELF structures, little-endian.
type RawHeader = elf::FileHeader64<LittleEndian>;
type RawSection = elf::SectionHeader64<LittleEndian>;
type RawSymbol = elf::Sym64<LittleEndian>;

/// Byte order of every cubin.
pub(crate) const LE: LittleEndian = LittleEndian;

/// `.nv.info` and `.nv.info.<function>`: attribute records.
pub(crate) const SHT_CUDA_INFO: u32 = 0x7000_0000;
/// Global, local, shared and reserved shared memory in relocatable objects: no bytes in the file,
/// like `SHT_NOBITS`, which executable cubins use instead.
const SHT_CUDA_NOBITS: [u32; 4] = [0x7000_0007, 0x7000_0009, 0x7000_000a, 0x7000_0015];

/// Largest alignment of a section that is accepted, in bytes. The compiler uses up to 1 KiB.
const MAX_ALIGNMENT: u64 = 1 << 20;

/// Position of a section in the section header table of its cubin. Kernels are identified by it:
/// names can be empty or occur twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionIndex(pub u32);

impl fmt::Display for SectionIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Position of a symbol in the symbol table of its cubin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolIndex(pub u32);

/// A symbol as the symbol table holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Name; can be empty, and need not be unique.
    pub name: String,
    /// Offset in its section, in bytes (`st_value`).
    pub value: u64,
    /// Size in bytes (`st_size`).
    pub size: u64,
    /// Type: 0 none, 1 object, 2 function, 3 section (`st_info` bits 0–3).
    pub kind: u8,
    /// NVIDIA's flags (`st_other`): 0x10 an entry function, 0x04 managed memory.
    pub other: u8,
    /// The section it lies in; `None` for undefined and absolute symbols.
    pub section: Option<SectionIndex>,
    /// Whether it is undefined, that is: to be supplied by the loader.
    pub undefined: bool,
}

impl Symbol {
    /// `st_other` flag of entry functions (`__global__`).
    pub const ENTRY: u8 = 0x10;
    /// `st_other` flag of managed variables (`__managed__`).
    pub const MANAGED: u8 = 0x04;

    /// Whether the symbol is a function.
    pub fn is_function(&self) -> bool {
        self.kind == elf::STT_FUNC
    }

    /// Whether the symbol is a variable.
    pub fn is_object(&self) -> bool {
        self.kind == elf::STT_OBJECT
    }
}

/// A section header with the section's bytes.
#[derive(Debug, Clone)]
pub(crate) struct Section<'data> {
    pub index: SectionIndex,
    pub name: &'data str,
    pub kind: u32,
    pub flags: u64,
    /// Offset of the bytes in the file.
    pub offset: u64,
    /// Size in bytes, in memory; equals `data.len()` unless `is_nobits`.
    pub size: u64,
    pub link: u32,
    pub info: u32,
    /// A power of two.
    pub alignment: u64,
    pub data: &'data [u8],
    /// Offset of the section's header in the file, for messages.
    pub header_offset: u64,
}

impl Section<'_> {
    /// How messages call the section.
    pub fn place(&self) -> String {
        format!("section {} ({})", self.index, self.name)
    }

    /// Whether the section has a size but no bytes in the file.
    pub fn is_nobits(&self) -> bool {
        self.kind == elf::SHT_NOBITS || SHT_CUDA_NOBITS.contains(&self.kind)
    }

    /// Whether the section holds instructions.
    pub fn is_code(&self) -> bool {
        self.kind == elf::SHT_PROGBITS
            && self.flags & u64::from(elf::SHF_EXECINSTR) != 0
            && (self.name == ".text" || self.name.starts_with(".text."))
    }

    /// An error about the section's header.
    pub fn malformed_header(&self, found: String, expected: &str) -> CubinError {
        CubinError::Malformed {
            place: format!("header of {}", self.place()),
            offset: self.header_offset,
            found,
            expected: expected.to_owned(),
        }
    }

    /// An error about a byte of the section's content, at `offset` from its start.
    pub fn malformed(&self, offset: u64, found: String, expected: impl Into<String>) -> CubinError {
        CubinError::Malformed {
            place: self.place(),
            offset: self.offset.saturating_add(offset),
            found,
            expected: expected.into(),
        }
    }

    /// The section's content as a table of `T`.
    pub fn table<T: Pod>(&self) -> Result<&[T], CubinError> {
        let entry = size_of::<T>();
        if !self.data.len().is_multiple_of(entry) {
            return Err(self.malformed_header(
                format!("a size of {} bytes", self.data.len()),
                &format!("a multiple of {entry} bytes, the size of one entry"),
            ));
        }
        match slice_from_bytes(self.data, self.data.len() / entry) {
            Ok((table, _)) => Ok(table),
            Err(()) => Err(self.malformed_header(
                format!("a size of {} bytes", self.data.len()),
                "a table that lies in the file",
            )),
        }
    }
}

/// The parsed ELF layer.
#[derive(Debug)]
pub(crate) struct Elf<'data> {
    pub abi_version: u8,
    pub file_type: u16,
    pub flags: u32,
    pub sections: Vec<Section<'data>>,
    pub symbols: Vec<Symbol>,
    /// Offset of the symbol table in the file.
    symbols_offset: u64,
    /// Length of the file in bytes.
    pub file_length: u64,
}

impl<'data> Elf<'data> {
    /// Parses and checks header, section headers and symbols.
    pub fn parse(bytes: &'data [u8]) -> Result<Self, CubinError> {
        check_identification(bytes)?;
        let header: &RawHeader = structure(bytes, 0, || "the ELF header".to_owned())?;
        let machine = header.e_machine.get(LE);
        if machine != elf::EM_CUDA {
            return Err(CubinError::Machine {
                found: machine,
                meaning: machine_name(machine),
            });
        }
        let abi_version = header.e_ident.abi_version;
        match (header.e_ident.os_abi, abi_version) {
            (0x33, 7) | (0x41, 8) => {}
            (os_abi, abi_version) => {
                return Err(CubinError::Abi {
                    os_abi,
                    abi_version,
                });
            }
        }
        let file_type = header.e_type.get(LE);
        if file_type != elf::ET_EXEC && file_type != elf::ET_REL {
            return Err(CubinError::FileType { found: file_type });
        }

        let mut names = NameBudget::new(bytes.len());
        let sections = read_sections(bytes, header, &mut names)?;
        let symbols = read_symbols(&sections, &mut names)?;
        let symbols_offset = sections
            .iter()
            .find(|s| s.kind == elf::SHT_SYMTAB)
            .map_or(0, |s| s.offset);
        Ok(Elf {
            abi_version,
            file_type,
            flags: header.e_flags.get(LE),
            sections,
            symbols,
            symbols_offset,
            file_length: bytes.len() as u64,
        })
    }

    /// Offset in the file of a symbol's table entry.
    pub fn symbol_offset(&self, index: usize) -> u64 {
        self.symbols_offset + (index * size_of::<RawSymbol>()) as u64
    }

    /// The section of that index.
    pub fn section(&self, index: u32) -> Option<&Section<'data>> {
        self.sections.get(index as usize)
    }
}

/// How many bytes of names may be read in all: names that overlap in the string table would
/// otherwise multiply the size of the file.
struct NameBudget {
    left: usize,
}

impl NameBudget {
    fn new(file_length: usize) -> Self {
        NameBudget {
            left: file_length.saturating_mul(16).saturating_add(1 << 16),
        }
    }

    /// The NUL-terminated name at `offset` of a string table; a name that is not UTF-8 ends
    /// where it ceases to be.
    fn name<'data>(
        &mut self,
        strings: &Section<'data>,
        offset: u32,
        owner: impl Fn() -> (String, u64),
    ) -> Result<&'data str, CubinError> {
        let fail = |found: String, expected: &str| {
            let (place, at) = owner();
            CubinError::Malformed {
                place,
                offset: at,
                found,
                expected: expected.to_owned(),
            }
        };
        let Some(tail) = strings.data.get(offset as usize..) else {
            return Err(fail(
                format!("a name at offset {offset:#x} of the string table"),
                &format!("at most {:#x}, the table's size", strings.data.len()),
            ));
        };
        let reach = tail.len().min(self.left);
        let Some(length) = tail[..reach].iter().position(|&byte| byte == 0) else {
            let expected = if reach < tail.len() {
                "names that do not share their bytes in the string table"
            } else {
                "a NUL byte before the end of the string table"
            };
            return Err(fail(
                format!(
                    "a name of more than {reach} bytes at offset {offset:#x} of the string table"
                ),
                expected,
            ));
        };
        self.left -= length;
        let name = &tail[..length];
        Ok(match std::str::from_utf8(name) {
            Ok(text) => text,
            Err(fault) => std::str::from_utf8(&name[..fault.valid_up_to()]).unwrap_or_default(),
        })
    }
}

/// Checks the bytes before anything depends on them: magic, class, byte order.
fn check_identification(bytes: &[u8]) -> Result<(), CubinError> {
    if !bytes.starts_with(&elf::ELFMAG) {
        let first: Vec<String> = bytes.iter().take(4).map(|b| format!("{b:02x}")).collect();
        let hint = if bytes.is_empty() {
            " (the file is empty)"
        } else if bytes.starts_with(&[0x50, 0xed, 0x55, 0xba]) {
            " (this is a fatbin)"
        } else if bytes.starts_with(b".version") || bytes.starts_with(b"//") {
            " (this looks like PTX)"
        } else {
            ""
        };
        return Err(CubinError::NotElf {
            found: if first.is_empty() {
                "nothing".to_owned()
            } else {
                first.join(" ")
            },
            hint,
        });
    }
    let truncated = |offset: u64, what: &str| CubinError::Truncated {
        what: what.to_owned(),
        offset,
        needed: 1,
        length: bytes.len() as u64,
    };
    match bytes.get(4) {
        Some(&elf::ELFCLASS64) => {}
        Some(&found) => {
            let meaning = if found == elf::ELFCLASS32 {
                "32-bit"
            } else {
                "unknown"
            };
            return Err(CubinError::Class { found, meaning });
        }
        None => return Err(truncated(4, "the ELF class")),
    }
    match bytes.get(5) {
        Some(&elf::ELFDATA2LSB) => Ok(()),
        Some(&found) => {
            let meaning = if found == elf::ELFDATA2MSB {
                "big-endian"
            } else {
                "unknown"
            };
            Err(CubinError::Endianness { found, meaning })
        }
        None => Err(truncated(5, "the ELF data encoding")),
    }
}

fn machine_name(machine: u16) -> &'static str {
    match machine {
        elf::EM_386 => "x86",
        elf::EM_X86_64 => "x86-64: a host program; extract its cubins with cuobjdump -xelf all",
        elf::EM_AARCH64 => "AArch64: a host program; extract its cubins with cuobjdump -xelf all",
        elf::EM_AMDGPU => "AMD GPU",
        elf::EM_BPF => "BPF",
        elf::EM_RISCV => "RISC-V",
        _ => "unknown",
    }
}

/// The structure at `offset` of the file.
fn structure<T: Pod>(
    bytes: &[u8],
    offset: u64,
    what: impl Fn() -> String,
) -> Result<&T, CubinError> {
    usize::try_from(offset)
        .ok()
        .and_then(|start| bytes.get(start..))
        .and_then(|tail| from_bytes(tail).ok())
        .map(|(value, _)| value)
        .ok_or_else(|| CubinError::Truncated {
            what: what(),
            offset,
            needed: size_of::<T>() as u64,
            length: bytes.len() as u64,
        })
}

/// `length` bytes at `offset` of the file.
fn slice(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(length).ok()?)?;
    bytes.get(start..end)
}

fn read_sections<'data>(
    bytes: &'data [u8],
    header: &RawHeader,
    names: &mut NameBudget,
) -> Result<Vec<Section<'data>>, CubinError> {
    let header_size = size_of::<RawSection>() as u64;
    let table_offset = header.e_shoff.get(LE);
    let malformed = |offset: u64, found: String, expected: String| CubinError::Malformed {
        place: "the ELF header".to_owned(),
        offset,
        found,
        expected,
    };
    let entry_size = header.e_shentsize.get(LE);
    if u64::from(entry_size) != header_size {
        return Err(malformed(
            58,
            format!("section headers of {entry_size} bytes"),
            format!("{header_size} bytes"),
        ));
    }
    if table_offset < size_of::<RawHeader>() as u64 {
        return Err(malformed(
            40,
            format!("section headers at byte {table_offset}"),
            "an offset behind the ELF header".to_owned(),
        ));
    }
    // Counts of 0xff00 and more stand in the first section header.
    let first: &RawSection = structure(bytes, table_offset, || "section header 0".to_owned())?;
    let count = match header.e_shnum.get(LE) {
        0 => first.sh_size.get(LE),
        count => u64::from(count),
    };
    let names_index = match header.e_shstrndx.get(LE) {
        elf::SHN_XINDEX => first.sh_link.get(LE),
        index => u32::from(index),
    };
    let table = count
        .checked_mul(header_size)
        .and_then(|length| slice(bytes, table_offset, length))
        .ok_or_else(|| CubinError::Truncated {
            what: format!("the table of {count} section headers"),
            offset: table_offset,
            needed: count.saturating_mul(header_size),
            length: bytes.len() as u64,
        })?;
    let headers: &[RawSection] = slice_from_bytes(table, table.len() / size_of::<RawSection>())
        .map_or(&[], |(headers, _)| headers);

    let mut sections = Vec::with_capacity(headers.len());
    let mut total: u64 = 0;
    for (index, raw) in headers.iter().enumerate() {
        let mut section = Section {
            index: SectionIndex(index as u32),
            name: "",
            kind: raw.sh_type.get(LE),
            flags: raw.sh_flags.get(LE),
            offset: raw.sh_offset.get(LE),
            size: raw.sh_size.get(LE),
            link: raw.sh_link.get(LE),
            info: raw.sh_info.get(LE),
            alignment: raw.sh_addralign.get(LE).max(1),
            data: &[],
            header_offset: table_offset + index as u64 * header_size,
        };
        if section.kind == elf::SHT_NULL {
            section.size = 0;
        } else if !section.is_nobits() {
            section.data = slice(bytes, section.offset, section.size).ok_or_else(|| {
                CubinError::Truncated {
                    what: format!("the content of section {index}"),
                    offset: section.offset,
                    needed: section.size,
                    length: bytes.len() as u64,
                }
            })?;
            total += section.size;
            if total > bytes.len() as u64 {
                return Err(section.malformed_header(
                    format!("a size of {} bytes", section.size),
                    "sections that together are no longer than the file: they overlap",
                ));
            }
        }
        if section.kind != elf::SHT_NULL
            && (!section.alignment.is_power_of_two() || section.alignment > MAX_ALIGNMENT)
        {
            return Err(section.malformed_header(
                format!("an alignment of {}", section.alignment),
                &format!("a power of two up to {MAX_ALIGNMENT}"),
            ));
        }
        sections.push(section);
    }

    let strings = match sections.get(names_index as usize) {
        Some(section) if section.kind == elf::SHT_STRTAB => section.clone(),
        _ => {
            return Err(malformed(
                62,
                format!("section {names_index} as the table of section names"),
                "a string table (section type 3)".to_owned(),
            ));
        }
    };
    for (section, raw) in sections.iter_mut().zip(headers) {
        if section.kind != elf::SHT_NULL {
            let (index, at) = (section.index, section.header_offset);
            section.name = names.name(&strings, raw.sh_name.get(LE), || {
                (format!("header of section {index}"), at)
            })?;
        }
    }
    Ok(sections)
}

fn read_symbols(
    sections: &[Section<'_>],
    names: &mut NameBudget,
) -> Result<Vec<Symbol>, CubinError> {
    let Some(table) = sections.iter().find(|s| s.kind == elf::SHT_SYMTAB) else {
        return Ok(Vec::new());
    };
    let strings = match sections.get(table.link as usize) {
        Some(section) if section.kind == elf::SHT_STRTAB => section,
        _ => {
            return Err(table.malformed_header(
                format!("section {} as the table of symbol names", table.link),
                "a string table (section type 3)",
            ));
        }
    };
    // Section indices of 0xff00 and more stand in a table of their own.
    let wide_indices = sections
        .iter()
        .find(|s| s.kind == elf::SHT_SYMTAB_SHNDX && s.link == table.index.0)
        .map_or(&[][..], |s| s.data);

    let raw_symbols: &[RawSymbol] = table.table()?;
    let mut symbols = Vec::with_capacity(raw_symbols.len());
    for (index, raw) in raw_symbols.iter().enumerate() {
        let at = table.offset + (index * size_of::<RawSymbol>()) as u64;
        let place = || (format!("symbol {index} in {}", table.place()), at);
        let name = names.name(strings, raw.st_name.get(LE), place)?;
        let short = raw.st_shndx.get(LE);
        let section = match short {
            elf::SHN_UNDEF => None,
            elf::SHN_XINDEX => {
                let start = index * 4;
                wide_indices
                    .get(start..start + 4)
                    .and_then(|bytes| bytes.try_into().ok())
                    .map(u32::from_le_bytes)
            }
            elf::SHN_LORESERVE..=elf::SHN_HIRESERVE => None,
            index => Some(u32::from(index)),
        };
        if let Some(section) = section
            && section as usize >= sections.len()
        {
            return Err(CubinError::Malformed {
                place: format!("symbol {index} (`{}`) in {}", shorten(name), table.place()),
                offset: at + 6,
                found: format!("section {section}"),
                expected: format!("at most {}, the last section", sections.len() - 1),
            });
        }
        symbols.push(Symbol {
            name: name.to_owned(),
            value: raw.st_value.get(LE),
            size: raw.st_size.get(LE),
            kind: raw.st_info & 0xf,
            other: raw.st_other,
            section: section.map(SectionIndex),
            undefined: short == elf::SHN_UNDEF,
        });
    }
    Ok(symbols)
}

/// A name cut to a length that a message can bear.
pub(crate) fn shorten(name: &str) -> String {
    const LONGEST: usize = 120;
    if name.chars().count() <= LONGEST {
        name.to_owned()
    } else {
        let head: String = name.chars().take(LONGEST).collect();
        format!("{head}…")
    }
}
