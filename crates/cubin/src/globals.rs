//! Variables of the program and the global segment that those in global memory share.
//!
//! The loader lays the module's `.nv.global.init` and `.nv.global` sections out as one segment:
//! initialised bytes first, then zeros. A variable's device address is the segment's address plus
//! its offset.

use std::collections::HashMap;

use crate::constants::bank_number;
use crate::elf::{Elf, Section, SectionIndex, Symbol};
use crate::error::CubinError;

/// Largest global segment in bytes: more than any GPU has memory.
const MAX_SEGMENT_BYTES: u64 = 1 << 40;

/// The memory a variable lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    /// Global memory (`__device__`).
    Global,
    /// Global memory that host and device share (`__managed__`).
    Managed,
    /// A constant bank (`__constant__`, bank 3).
    Constant {
        /// Number of the bank.
        bank: u32,
    },
}

/// A named variable of the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalVariable {
    /// Name as the symbol table has it; can be empty.
    pub name: String,
    /// Where it lies.
    pub space: Space,
    /// Offset in bytes in the global segment, or in its constant bank.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Its bytes in the file, relocations not applied; `None` if it starts as zeros.
    pub initial: Option<Vec<u8>>,
}

/// A section's place in the global segment.
#[derive(Debug, Clone)]
pub(crate) struct GlobalSection {
    pub section: SectionIndex,
    /// Offset in the segment in bytes.
    pub offset: u64,
    /// Bytes in the file; empty for zeros.
    pub data: Vec<u8>,
}

/// The global segment and the variables of the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Globals {
    pub sections: Vec<GlobalSection>,
    /// Size of the segment in bytes.
    pub size: u64,
    /// Alignment of the segment in bytes.
    pub alignment: u64,
    pub globals: Vec<GlobalVariable>,
    pub constants: Vec<GlobalVariable>,
}

fn is_global(section: &Section<'_>) -> bool {
    section.name == ".nv.global"
        || section.name == ".nv.global.init"
        || section.name.starts_with(".nv.global.init.")
}

/// Lays out the segment and reads the variables.
pub(crate) fn read_globals(elf: &Elf<'_>) -> Result<Globals, CubinError> {
    let mut globals = Globals {
        alignment: 256,
        ..Globals::default()
    };
    for nobits in [false, true] {
        for section in elf.sections.iter().filter(|s| is_global(s)) {
            if section.is_nobits() != nobits {
                continue;
            }
            let place = globals
                .size
                .checked_next_multiple_of(section.alignment)
                .and_then(|offset| Some((offset, offset.checked_add(section.size)?)));
            let Some((offset, end)) = place.filter(|&(_, end)| end <= MAX_SEGMENT_BYTES) else {
                return Err(section.malformed_header(
                    format!("a size of {} bytes", section.size),
                    "global variables of at most 1 TiB in all",
                ));
            };
            globals.size = end;
            globals.alignment = globals.alignment.max(section.alignment);
            globals.sections.push(GlobalSection {
                section: section.index,
                offset,
                data: section.data.to_vec(),
            });
        }
    }

    let places: HashMap<SectionIndex, u64> = globals
        .sections
        .iter()
        .map(|place| (place.section, place.offset))
        .collect();
    let mut copied = 0u64;
    for (index, symbol) in elf.symbols.iter().enumerate() {
        let Some(section) = symbol.section.and_then(|s| elf.section(s.0)) else {
            continue;
        };
        if !symbol.is_object() {
            continue;
        }
        let (space, base) = if let Some(&offset) = places.get(&section.index) {
            let managed = symbol.other & Symbol::MANAGED != 0;
            let space = if managed {
                Space::Managed
            } else {
                Space::Global
            };
            (space, offset)
        } else if let Some(bank) = bank_number(section).filter(|_| section.info == 0) {
            (Space::Constant { bank }, 0)
        } else {
            continue;
        };
        let end = symbol.value.checked_add(symbol.size);
        if end.is_none_or(|end| end > section.size) {
            return Err(CubinError::Malformed {
                place: format!("symbol {index} (`{}`)", crate::elf::shorten(&symbol.name)),
                offset: elf.symbol_offset(index),
                found: format!("{} bytes at offset {:#x}", symbol.size, symbol.value),
                expected: format!(
                    "a variable that lies in the {} bytes of {}",
                    section.size,
                    section.place()
                ),
            });
        }
        let initial = if section.is_nobits() {
            None
        } else {
            copied = copied.saturating_add(symbol.size);
            if copied > elf.file_length.saturating_mul(4) {
                return Err(section.malformed(
                    symbol.value,
                    format!("variable `{}`", crate::elf::shorten(&symbol.name)),
                    "variables that do not overlap",
                ));
            }
            let start = symbol.value as usize;
            section
                .data
                .get(start..start + symbol.size as usize)
                .map(<[u8]>::to_vec)
        };
        let variable = GlobalVariable {
            name: symbol.name.clone(),
            space,
            offset: base + symbol.value,
            size: symbol.size,
            initial,
        };
        match space {
            Space::Constant { .. } => globals.constants.push(variable),
            Space::Global | Space::Managed => globals.globals.push(variable),
        }
    }
    Ok(globals)
}
