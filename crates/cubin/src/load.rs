//! Loading: every code section at an address of its own, the global segment and the external
//! functions at the addresses that the caller chose, all relocations applied.
//!
//! The device's memory is the caller's: this file hands out bytes and the addresses they are for.

use std::collections::HashMap;

use crate::constants::{ConstantBank, find};
use crate::cubin::Cubin;
use crate::elf::{SectionIndex, Symbol, SymbolIndex, shorten};
use crate::error::CubinError;
use crate::relocation::{Relocation, RelocationKind};

/// Distance in bytes between the magic addresses of two external functions: one instruction.
pub const EXTERN_STRIDE: u64 = 16;

/// First address that does not fit the target field of CALL.ABS (49 bits).
const ADDRESS_LIMIT: u64 = 1 << 49;

/// Device addresses that the caller chooses for a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadBases {
    /// Address of the global segment ([`Cubin::global_size`] bytes), a multiple of
    /// [`Cubin::global_alignment`].
    pub global: u64,
    /// Address from which the code sections follow one another, a multiple of 128.
    pub code: u64,
    /// Magic address of the first external function; the next ones follow every
    /// [`EXTERN_STRIDE`] bytes, in the order of [`Cubin::externs`]. A multiple of 16.
    pub externs: u64,
}

/// A loaded cubin: patched bytes and the addresses they are for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// Every code section in section order, not overlapping, addresses rising.
    pub functions: Vec<LoadedFunction>,
    /// First address behind the code.
    pub code_end: u64,
    /// The global segment.
    pub global: GlobalImage,
    /// The constant banks, patched.
    pub constants: Vec<ConstantBank>,
    /// External functions in the order of [`Cubin::externs`].
    pub externs: Vec<LoadedExtern>,
    /// Where handles of bound textures and surfaces are wanted, in the order of the relocations.
    pub references: Vec<Reference>,
    /// Code sections with a relocation that is not understood, and the first such relocation of each:
    /// what else the cubin holds can run.
    pub refused: Vec<(SectionIndex, CubinError)>,
}

/// A place in a constant bank that holds the handle of what is bound to a texture or surface
/// reference (`.texref`, `.surfref`) when a kernel starts; zero as loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The reference's name.
    pub name: String,
    /// Whether it is a surface reference.
    pub is_surface: bool,
    /// The section of the constant bank.
    pub section: SectionIndex,
    /// Offset of 4 bytes in the bank.
    pub offset: u64,
}

/// A code section at its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedFunction {
    /// The code section.
    pub section: SectionIndex,
    /// Name of its function; can be empty.
    pub name: String,
    /// Device address of its first instruction, a multiple of 128.
    pub address: u64,
    /// Patched machine code, a multiple of 16 bytes.
    pub code: Vec<u8>,
}

/// The global segment as it is before the first kernel runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalImage {
    /// Device address of the segment.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Patched bytes with their offsets in the segment; everything else is zero. (Zeros are not
    /// spelt out: a small file can ask for a huge segment.)
    pub initial: Vec<(u64, Vec<u8>)>,
}

/// An external function at its magic address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedExtern {
    /// Its name.
    pub name: String,
    /// The address that calls of it go to.
    pub address: u64,
}

impl Loaded {
    /// The function whose code is that section.
    pub fn function(&self, section: SectionIndex) -> Option<&LoadedFunction> {
        self.functions.iter().find(|f| f.section == section)
    }

    /// The function that holds an address.
    pub fn function_at(&self, address: u64) -> Option<&LoadedFunction> {
        let after = self.functions.partition_point(|f| f.address <= address);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (address - function.address < function.code.len() as u64).then_some(function)
    }

    /// The external function at an address.
    pub fn extern_at(&self, address: u64) -> Option<&LoadedExtern> {
        self.externs.iter().find(|e| e.address == address)
    }

    /// The patched bytes of a constant bank: the function's own, else the module's.
    pub fn constant_bank(&self, bank: u32, function: Option<SectionIndex>) -> Option<&[u8]> {
        find(&self.constants, bank, function).map(|found| found.data.as_slice())
    }
}

/// Where sections and externals lie.
struct Places {
    code: HashMap<SectionIndex, u64>,
    global: HashMap<SectionIndex, u64>,
    externs: HashMap<SymbolIndex, u64>,
}

impl Cubin {
    /// Lays out code, globals and external functions at the given addresses and applies every
    /// relocation.
    pub fn load(&self, bases: &LoadBases) -> Result<Loaded, CubinError> {
        if self.is_relocatable() {
            return Err(CubinError::Relocatable);
        }
        aligned("the global segment", bases.global, self.global_alignment())?;
        aligned("code", bases.code, 128)?;
        aligned("the external functions", bases.externs, EXTERN_STRIDE)?;

        let segment = self.global_segment();
        below_limit("the global segment", bases.global, segment.size)?;
        let mut places = Places {
            code: HashMap::new(),
            global: segment
                .sections
                .iter()
                .map(|s| (s.section, bases.global + s.offset))
                .collect(),
            externs: HashMap::new(),
        };
        let mut functions = Vec::with_capacity(self.functions().len());
        let mut address = bases.code;
        for function in self.functions() {
            address = address
                .checked_next_multiple_of(function.alignment)
                .unwrap_or(u64::MAX);
            let length = function.code.len() as u64;
            let end = below_limit("code", address, length)?;
            places.code.insert(function.section, address);
            functions.push(LoadedFunction {
                section: function.section,
                name: function.name.clone(),
                address,
                code: function.code.clone(),
            });
            address = end;
        }
        let mut externs = Vec::with_capacity(self.externs().len());
        let mut magic = bases.externs;
        for function in self.externs() {
            let end = below_limit("an external function", magic, EXTERN_STRIDE)?;
            places.externs.insert(function.symbol, magic);
            externs.push(LoadedExtern {
                name: function.name.clone(),
                address: magic,
            });
            magic = end;
        }

        let mut constants = self.constant_banks().to_vec();
        let mut initial: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut targets: HashMap<SectionIndex, Target> = HashMap::new();
        for (position, function) in functions.iter().enumerate() {
            targets.insert(function.section, Target::Code(position));
        }
        for (position, bank) in constants.iter().enumerate() {
            targets.insert(bank.section, Target::Constant(position));
        }
        for section in segment.sections.iter().filter(|s| !s.data.is_empty()) {
            targets.insert(section.section, Target::Global(initial.len()));
            initial.push((section.offset, section.data.clone()));
        }

        let mut references = Vec::new();
        let mut refused: Vec<(SectionIndex, CubinError)> = Vec::new();
        for relocation in self.relocations() {
            if relocation.kind == RelocationKind::None {
                continue;
            }
            if let Some(reference) = self.reference(relocation)? {
                references.push(reference);
                continue;
            }
            let section = relocation.section;
            let is_code = matches!(targets.get(&section), Some(Target::Code(_)));
            let value = match self.value_of(relocation, &places) {
                Ok(value) => value,
                Err(error @ CubinError::UnsupportedRelocation { .. }) if is_code => {
                    if refused.iter().all(|(known, _)| *known != section) {
                        refused.push((section, error));
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            let bytes = match targets.get(&relocation.section) {
                Some(&Target::Code(at)) => functions.get_mut(at).map(|f| f.code.as_mut_slice()),
                Some(&Target::Constant(at)) => constants.get_mut(at).map(|b| b.data.as_mut_slice()),
                Some(&Target::Global(at)) => initial.get_mut(at).map(|(_, b)| b.as_mut_slice()),
                None => None,
            };
            if let Some(bytes) = bytes {
                self.patch(relocation, value, bytes)?;
            }
        }
        Ok(Loaded {
            functions,
            code_end: address,
            global: GlobalImage {
                address: bases.global,
                size: segment.size,
                initial,
            },
            constants,
            externs,
            references,
            refused,
        })
    }

    /// The place of a handle, if the relocation is for one.
    fn reference(&self, relocation: &Relocation) -> Result<Option<Reference>, CubinError> {
        let is_surface = match relocation.kind {
            RelocationKind::TextureHandle => false,
            RelocationKind::SurfaceHandle => true,
            _ => return Ok(None),
        };
        let section = relocation.section;
        let symbol = self.symbol(relocation.symbol);
        let in_a_bank = self.constant_banks().iter().any(|b| b.section == section);
        match symbol {
            Some(symbol) if in_a_bank => Ok(Some(Reference {
                name: symbol.name.clone(),
                is_surface,
                section,
                offset: relocation.offset,
            })),
            _ => Err(CubinError::UnresolvedSymbol {
                section: self.section_name(section).map(shorten).unwrap_or_default(),
                offset: relocation.offset,
                symbol: symbol.map(|s| shorten(&s.name)).unwrap_or_default(),
                reason: "is a handle that no constant bank holds".to_owned(),
            }),
        }
    }

    /// Bytes that the code sections take up when loaded at a multiple of their largest alignment.
    pub fn code_size(&self) -> u64 {
        self.functions().iter().fold(0u64, |end, function| {
            end.next_multiple_of(function.alignment) + function.code.len() as u64
        })
    }

    /// The address that a relocation writes.
    fn value_of(&self, relocation: &Relocation, places: &Places) -> Result<u64, CubinError> {
        let section_name = || {
            self.section_name(relocation.section)
                .map(shorten)
                .unwrap_or_default()
        };
        let symbol = self.symbol(relocation.symbol);
        let symbol_name = || symbol.map(|s| shorten(&s.name)).unwrap_or_default();
        if let RelocationKind::Unsupported(kind) = relocation.kind {
            return Err(CubinError::UnsupportedRelocation {
                section: section_name(),
                index: relocation.index,
                offset: relocation.offset,
                symbol: symbol_name(),
                kind,
                name: relocation.kind.name(),
            });
        }
        let unresolved = |reason: String| CubinError::UnresolvedSymbol {
            section: section_name(),
            offset: relocation.offset,
            symbol: symbol_name(),
            reason,
        };
        let base = match symbol {
            Some(Symbol {
                section: Some(section),
                ..
            }) => places
                .code
                .get(section)
                .or_else(|| places.global.get(section))
                .copied()
                .ok_or_else(|| {
                    let name = self.section_name(*section).map(shorten).unwrap_or_default();
                    unresolved(format!(
                        "lies in {name}; only code and global memory have addresses"
                    ))
                })?,
            Some(symbol) if symbol.undefined => places
                .externs
                .get(&relocation.symbol)
                .copied()
                .ok_or_else(|| unresolved("is undefined and not a function".to_owned()))?,
            _ => return Err(unresolved("is absolute".to_owned())),
        };
        base.checked_add(symbol.map_or(0, |s| s.value))
            .and_then(|address| address.checked_add_signed(relocation.addend))
            .ok_or_else(|| {
                unresolved(format!(
                    "with addend {} leaves the 64-bit address space",
                    relocation.addend
                ))
            })
    }

    /// Writes the address into the section's bytes.
    fn patch(
        &self,
        relocation: &Relocation,
        value: u64,
        bytes: &mut [u8],
    ) -> Result<(), CubinError> {
        let at = relocation.offset as usize;
        let mut write = |at: usize, field: &[u8]| {
            if let Some(place) = bytes.get_mut(at..at + field.len()) {
                place.copy_from_slice(field);
            }
        };
        match relocation.kind {
            RelocationKind::None
            | RelocationKind::TextureHandle
            | RelocationKind::SurfaceHandle
            | RelocationKind::Unsupported(_) => {}
            RelocationKind::Absolute64 | RelocationKind::Generic64 => {
                write(at, &value.to_le_bytes());
            }
            RelocationKind::Low32 => write(at + 4, &(value as u32).to_le_bytes()),
            RelocationKind::High32 => write(at + 4, &((value >> 32) as u32).to_le_bytes()),
            RelocationKind::Target47 => {
                if !value.is_multiple_of(4) || value >= ADDRESS_LIMIT {
                    return Err(CubinError::Address {
                        what: format!(
                            "the target of {} at {:#x}",
                            relocation.kind.name(),
                            relocation.offset
                        ),
                        address: value,
                        expected: "a multiple of 4 below 2^49".to_owned(),
                    });
                }
                if let Some(word) = bytes.get_mut(at..at + 16) {
                    let mut instruction = [0u8; 16];
                    instruction.copy_from_slice(word);
                    const FIELD: u128 = ((1 << 47) - 1) << 34;
                    let patched = (u128::from_le_bytes(instruction) & !FIELD)
                        | (u128::from(value >> 2) << 34);
                    word.copy_from_slice(&patched.to_le_bytes());
                }
            }
        }
        Ok(())
    }
}

/// Which of the loaded byte vectors a section's bytes are in.
enum Target {
    Code(usize),
    Constant(usize),
    Global(usize),
}

fn aligned(what: &str, address: u64, alignment: u64) -> Result<(), CubinError> {
    if address.is_multiple_of(alignment) {
        Ok(())
    } else {
        Err(CubinError::Address {
            what: what.to_owned(),
            address,
            expected: format!("a multiple of {alignment}"),
        })
    }
}

/// The end of `length` bytes at `address`, which has to stay in the address space.
fn below_limit(what: &str, address: u64, length: u64) -> Result<u64, CubinError> {
    address
        .checked_add(length)
        .filter(|&end| end <= ADDRESS_LIMIT)
        .ok_or_else(|| CubinError::Address {
            what: what.to_owned(),
            address,
            expected: format!("{length} bytes that end below 2^49"),
        })
}
