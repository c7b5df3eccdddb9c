//! The cubin as the rest of the workspace sees it: parsed once, owned, looked up by section.

use std::collections::{HashMap, HashSet};

use object::elf;

use crate::constants::{ConstantBank, find, read_banks};
use crate::elf::{Elf, SectionIndex, Symbol, SymbolIndex, shorten};
use crate::error::CubinError;
use crate::globals::{GlobalVariable, Globals, read_globals};
use crate::info::InfoRecord;
use crate::kernel::{Function, Kernel, read_functions};
use crate::lines::{LineTable, RawLines};
use crate::relocation::{Relocation, read_relocations};

/// A parsed cubin. It owns copies of everything that it hands out.
#[derive(Debug, Clone)]
pub struct Cubin {
    sm: u32,
    abi_version: u8,
    relocatable: bool,
    functions: Vec<Function>,
    kernels: Vec<Kernel>,
    module_info: Vec<InfoRecord>,
    banks: Vec<ConstantBank>,
    globals: Globals,
    symbols: Vec<Symbol>,
    section_names: Vec<String>,
    externs: Vec<Extern>,
    relocations: Vec<Relocation>,
    not_loaded: Vec<String>,
    lines: RawLines,
}

/// A function that the cubin calls but does not hold: `vprintf`, `malloc`, `free`,
/// `__assertfail` and whatever else the driver is to supply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extern {
    /// Its name.
    pub name: String,
    /// Its place in the symbol table.
    pub symbol: SymbolIndex,
}

/// The SM number in the ELF flags: bits 8–15 for ABI version 8, bits 0–7 for version 7.
pub(crate) fn sm_of(elf: &Elf<'_>) -> u32 {
    if elf.abi_version == 8 {
        (elf.flags >> 8) & 0xff
    } else {
        elf.flags & 0xff
    }
}

impl Cubin {
    /// Parses the bytes of an ELF cubin. Any input gives a cubin or one error, never a panic.
    pub fn parse(bytes: &[u8]) -> Result<Cubin, CubinError> {
        let elf = Elf::parse(bytes)?;
        let mut read = read_functions(&elf)?;
        let banks = read_banks(&elf)?;
        let globals = read_globals(&elf)?;
        let relocations = read_relocations(&elf)?;

        let own: HashMap<SectionIndex, &ConstantBank> = banks
            .iter()
            .filter(|bank| bank.bank == 2)
            .filter_map(|bank| Some((bank.function?, bank)))
            .collect();
        for kernel in &mut read.kernels {
            kernel.constant2 = own.get(&kernel.section).map(|bank| bank.data.clone());
        }

        let externs = elf
            .symbols
            .iter()
            .enumerate()
            .filter(|(_, symbol)| symbol.undefined && symbol.is_function())
            .map(|(index, symbol)| Extern {
                name: symbol.name.clone(),
                symbol: SymbolIndex(index as u32),
            })
            .collect();
        let global_sections: HashSet<SectionIndex> =
            globals.sections.iter().map(|place| place.section).collect();
        let not_loaded = elf
            .sections
            .iter()
            .filter(|s| s.flags & u64::from(elf::SHF_ALLOC) != 0 && s.size > 0)
            .filter(|s| {
                !s.is_code()
                    && crate::constants::bank_number(s).is_none()
                    && !global_sections.contains(&s.index)
                    && !s.name.starts_with(".nv.shared.")
            })
            .map(|s| s.name.to_owned())
            .collect();

        Ok(Cubin {
            sm: sm_of(&elf),
            abi_version: elf.abi_version,
            relocatable: elf.file_type == elf::ET_REL,
            functions: read.functions,
            kernels: read.kernels,
            module_info: read.module_info,
            banks,
            globals,
            section_names: elf.sections.iter().map(|s| s.name.to_owned()).collect(),
            externs,
            relocations,
            not_loaded,
            lines: RawLines::read(&elf),
            symbols: elf.symbols,
        })
    }

    /// The architecture that the code is for: 86 for sm_86 (ELF flags).
    pub fn sm(&self) -> u32 {
        self.sm
    }

    /// The ABI version: 7 for CUDA 11.8 and 12.x, 8 for CUDA 13.x (ELF identification).
    pub fn abi_version(&self) -> u8 {
        self.abi_version
    }

    /// Whether it is a relocatable object (`-rdc=true`), which can be looked at but not loaded.
    pub fn is_relocatable(&self) -> bool {
        self.relocatable
    }

    /// The kernels (entry functions) in section order. Device functions are in
    /// [`Cubin::functions`], where `is_entry` tells the two apart.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel of that name, as the symbol table has it.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, CubinError> {
        let mut named = self.kernels.iter().filter(|k| k.name == name);
        match (named.next(), named.next()) {
            (Some(kernel), None) => Ok(kernel),
            (Some(_), Some(_)) => Err(CubinError::AmbiguousKernel {
                name: shorten(name),
                sections: self
                    .kernels
                    .iter()
                    .filter(|k| k.name == name)
                    .map(|k| k.section)
                    .collect(),
            }),
            _ => Err(no_such_kernel(std::slice::from_ref(self), name)),
        }
    }

    /// The kernel whose code is that section.
    pub fn kernel_at(&self, section: SectionIndex) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.section == section)
    }

    /// Every code section in section order: kernels and device functions.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Variables in global memory (`__device__`, `__managed__`, strings), in symbol order.
    pub fn globals(&self) -> &[GlobalVariable] {
        &self.globals.globals
    }

    /// Variables in constant memory (`__constant__`), in symbol order.
    pub fn constants(&self) -> &[GlobalVariable] {
        &self.globals.constants
    }

    /// Size in bytes of the segment that all global variables share.
    pub fn global_size(&self) -> u64 {
        self.globals.size
    }

    /// Alignment in bytes that the global segment needs, a power of two of at least 256.
    pub fn global_alignment(&self) -> u64 {
        self.globals.alignment
    }

    /// All constant banks as the file holds them, relocations not applied.
    pub fn constant_banks(&self) -> &[ConstantBank] {
        &self.banks
    }

    /// The bytes of a constant bank, relocations not applied: that of the kernel (named by its
    /// code section) if it has one of its own, else the module's.
    pub fn constant_bank(&self, bank: u32, kernel: Option<SectionIndex>) -> Option<&[u8]> {
        find(&self.banks, bank, kernel).map(|found| found.data.as_slice())
    }

    /// Undefined functions, which the driver is to supply, in symbol order.
    pub fn externs(&self) -> &[Extern] {
        &self.externs
    }

    /// Relocations against code, constant banks and initialised globals.
    pub fn relocations(&self) -> &[Relocation] {
        &self.relocations
    }

    /// The symbol table.
    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The symbol at that place of the symbol table.
    pub fn symbol(&self, index: SymbolIndex) -> Option<&Symbol> {
        self.symbols.get(index.0 as usize)
    }

    /// The name of a section.
    pub fn section_name(&self, section: SectionIndex) -> Option<&str> {
        self.section_names
            .get(section.0 as usize)
            .map(String::as_str)
    }

    /// Attribute records of the module (`.nv.info`), raw.
    pub fn module_info(&self) -> &[InfoRecord] {
        &self.module_info
    }

    /// Names of sections that would take up device memory but that the loader does not know; a
    /// run has to list them as not modelled.
    pub fn not_loaded(&self) -> &[String] {
        &self.not_loaded
    }

    /// Which source line an instruction comes from. Empty for code that was compiled without
    /// `-lineinfo` or `-G`.
    ///
    /// # Errors
    /// A `.debug_line` section that is no DWARF line table.
    pub fn line_table(&self) -> Result<LineTable, CubinError> {
        self.lines.table()
    }

    pub(crate) fn global_segment(&self) -> &Globals {
        &self.globals
    }
}

/// Which of several cubins, those of one program, holds the kernel of that name: the first, for
/// the compiler gives a kernel that several translation units share the same code in each.
///
/// # Errors
/// None of them does.
pub fn find_kernel(cubins: &[Cubin], name: &str) -> Result<usize, CubinError> {
    cubins
        .iter()
        .position(|cubin| cubin.kernels.iter().any(|kernel| kernel.name == name))
        .ok_or_else(|| no_such_kernel(cubins, name))
}

/// The error that tells what kernels there are.
fn no_such_kernel(cubins: &[Cubin], name: &str) -> CubinError {
    let kernels = || cubins.iter().flat_map(|cubin| &cubin.kernels);
    CubinError::NoSuchKernel {
        name: shorten(name),
        nearest: nearest(kernels(), name),
        all: kernels().map(|kernel| kernel.name.clone()).collect(),
    }
}

/// At most three kernel names like the one asked for: those that contain it first, then by edit
/// distance.
fn nearest<'a>(kernels: impl Iterator<Item = &'a Kernel>, name: &str) -> Vec<String> {
    const COMPARED: usize = 4096;
    let mut ranked: Vec<(bool, usize, &str)> = kernels
        .take(COMPARED)
        .filter(|k| !k.name.is_empty())
        .map(|k| {
            let contains = !name.is_empty() && k.name.contains(name);
            (!contains, edit_distance(name, &k.name), k.name.as_str())
        })
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked
        .into_iter()
        .take(3)
        .map(|(_, _, near)| near.to_owned())
        .collect()
}

/// Levenshtein distance over the first 128 bytes of both names, plus what their lengths beyond
/// that differ by: mangled names run to kilobytes.
fn edit_distance(left: &str, right: &str) -> usize {
    const LONGEST: usize = 128;
    let a = &left.as_bytes()[..left.len().min(LONGEST)];
    let b = &right.as_bytes()[..right.len().min(LONGEST)];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    let beyond = |length: usize| length.saturating_sub(LONGEST);
    row[b.len()] + beyond(left.len()).abs_diff(beyond(right.len()))
}
