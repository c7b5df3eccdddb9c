//! Relocations: the places that hold addresses which only the loader knows.
//!
//! CUDA 12.x and 13.x put addresses of globals and of external functions into constant bank 4
//! (type 2); CUDA 11.8, and nvlink of any release, patch them into instructions (types 56, 57
//! and 58). `.rel` tables stand for addend 0, `.rela` tables carry one. Type names are those that
//! `cuobjdump -elf` prints.

use object::LittleEndian;
use object::elf;

use crate::constants::bank_number;
use crate::elf::{Elf, LE, Section, SectionIndex, SymbolIndex};
use crate::error::CubinError;
use crate::kernel::INSTRUCTION_BYTES;

/// What a relocation writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationKind {
    /// R_CUDA_NONE (0): nothing.
    None,
    /// R_CUDA_64 (2): the 64-bit address.
    Absolute64,
    /// R_CUDA_G64 (4): the 64-bit generic address, which for global memory is the address.
    Generic64,
    /// R_CUDA_ABS32_LO_32 (56): address bits 0–31 into bits 32–63 of an instruction.
    Low32,
    /// R_CUDA_ABS32_HI_32 (57): address bits 32–63 into bits 32–63 of an instruction.
    High32,
    /// R_CUDA_ABS47_34 (58): address bits 2–48 into bits 34–80 of an instruction, the target of
    /// CALL.ABS and JMP.
    Target47,
    /// R_CUDA_TEX_HEADER_INDEX (6): the 32-bit handle of the texture that is bound to a texture
    /// reference.
    TextureHandle,
    /// R_CUDA_SURF_HEADER_INDEX (52): that of the surface bound to a surface reference.
    SurfaceHandle,
    /// A type that the loader does not know, by its number.
    Unsupported(u32),
}

impl RelocationKind {
    /// The kind of a type number.
    pub fn from_type(number: u32) -> Self {
        match number {
            0 => RelocationKind::None,
            2 => RelocationKind::Absolute64,
            4 => RelocationKind::Generic64,
            6 => RelocationKind::TextureHandle,
            52 => RelocationKind::SurfaceHandle,
            56 => RelocationKind::Low32,
            57 => RelocationKind::High32,
            58 => RelocationKind::Target47,
            other => RelocationKind::Unsupported(other),
        }
    }

    /// The type number.
    pub fn number(self) -> u32 {
        match self {
            RelocationKind::None => 0,
            RelocationKind::Absolute64 => 2,
            RelocationKind::Generic64 => 4,
            RelocationKind::TextureHandle => 6,
            RelocationKind::SurfaceHandle => 52,
            RelocationKind::Low32 => 56,
            RelocationKind::High32 => 57,
            RelocationKind::Target47 => 58,
            RelocationKind::Unsupported(number) => number,
        }
    }

    /// The type's name as `cuobjdump -elf` prints it, or `unknown`.
    pub fn name(self) -> &'static str {
        let number = self.number();
        NAMES
            .iter()
            .find(|(known, _)| *known == number)
            .map_or("unknown", |(_, name)| *name)
    }

    /// Bytes from the relocation's offset on that it may touch.
    fn reach(self) -> u64 {
        match self {
            RelocationKind::None | RelocationKind::Unsupported(_) => 0,
            RelocationKind::TextureHandle | RelocationKind::SurfaceHandle => 4,
            RelocationKind::Absolute64 | RelocationKind::Generic64 => 8,
            RelocationKind::Low32 | RelocationKind::High32 | RelocationKind::Target47 => {
                INSTRUCTION_BYTES as u64
            }
        }
    }

    /// Whether it patches an instruction.
    pub fn is_instruction(self) -> bool {
        self.reach() == INSTRUCTION_BYTES as u64
    }
}

#[rustfmt::skip]
const NAMES: &[(u32, &str)] = &[
    (0, "R_CUDA_NONE"), (1, "R_CUDA_32"), (2, "R_CUDA_64"), (3, "R_CUDA_G32"), (4, "R_CUDA_G64"),
    (6, "R_CUDA_TEX_HEADER_INDEX"), (52, "R_CUDA_SURF_HEADER_INDEX"), (55, "R_CUDA_ABS32_32"), (56, "R_CUDA_ABS32_LO_32"), (57, "R_CUDA_ABS32_HI_32"),
    (58, "R_CUDA_ABS47_34"), (59, "R_CUDA_ABS16_32"), (60, "R_CUDA_ABS24_32"),
    (61, "R_CUDA_FUNC_DESC32_32"), (62, "R_CUDA_FUNC_DESC32_LO_32"),
    (63, "R_CUDA_FUNC_DESC32_HI_32"), (64, "R_CUDA_CONST_FIELD19_40"),
    (65, "R_CUDA_BINDLESSOFF14_40"), (66, "R_CUDA_CONST_FIELD21_38"),
    (67, "R_CUDA_INSTRUCTION128"), (68, "R_CUDA_YIELD_OPCODE9_0"),
    (69, "R_CUDA_YIELD_CLEAR_PRED4_87"), (70, "R_CUDA_32_LO"), (71, "R_CUDA_32_HI"),
    (72, "R_CUDA_UNUSED_CLEAR32"), (73, "R_CUDA_UNUSED_CLEAR64"), (74, "R_CUDA_ABS24_40"),
    (75, "R_CUDA_ABS55_16_34"),
];

/// One relocation against a section that is loaded: code, a constant bank or initialised globals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// The section to be patched.
    pub section: SectionIndex,
    /// Offset in that section, in bytes; for code that of the instruction.
    pub offset: u64,
    /// What is written.
    pub kind: RelocationKind,
    /// The symbol whose address is written.
    pub symbol: SymbolIndex,
    /// Added to the symbol's address; 0 in `.rel` tables.
    pub addend: i64,
    /// Position in its table.
    pub index: u64,
}

/// Whether a section's bytes are loaded to where the program sees them.
fn is_loaded(section: &Section<'_>) -> bool {
    section.is_code() || bank_number(section).is_some() || section.name.starts_with(".nv.global")
}

/// Reads the relocations against loaded sections.
pub(crate) fn read_relocations(elf: &Elf<'_>) -> Result<Vec<Relocation>, CubinError> {
    let mut relocations = Vec::new();
    for table in &elf.sections {
        if !matches!(table.kind, elf::SHT_REL | elf::SHT_RELA) {
            continue;
        }
        let Some(target) = elf.section(table.info) else {
            return Err(table.malformed_header(
                format!("sh_info {}", table.info),
                "the index of the section to be relocated",
            ));
        };
        if !is_loaded(target) {
            continue;
        }
        let first = relocations.len();
        if table.kind == elf::SHT_REL {
            for raw in table.table::<elf::Rel64<LittleEndian>>()? {
                relocations.push(Relocation {
                    section: target.index,
                    offset: raw.r_offset.get(LE),
                    kind: RelocationKind::from_type(raw.r_type(LE)),
                    symbol: SymbolIndex(raw.r_sym(LE)),
                    addend: 0,
                    index: (relocations.len() - first) as u64,
                });
            }
        } else {
            for raw in table.table::<elf::Rela64<LittleEndian>>()? {
                relocations.push(Relocation {
                    section: target.index,
                    offset: raw.r_offset.get(LE),
                    kind: RelocationKind::from_type(raw.r_type(LE, false)),
                    symbol: SymbolIndex(raw.r_sym(LE, false)),
                    addend: raw.r_addend.get(LE),
                    index: (relocations.len() - first) as u64,
                });
            }
        }
        for relocation in relocations.iter().skip(first) {
            check(elf, table, target, relocation)?;
        }
    }
    Ok(relocations)
}

/// Checks that a relocation's place and symbol exist.
fn check(
    elf: &Elf<'_>,
    table: &Section<'_>,
    target: &Section<'_>,
    relocation: &Relocation,
) -> Result<(), CubinError> {
    let entry = if table.kind == elf::SHT_REL { 16 } else { 24 };
    let at = relocation.index * entry;
    let end = relocation.offset.checked_add(relocation.kind.reach());
    if end.is_none_or(|end| end > target.data.len() as u64) {
        return Err(table.malformed(
            at,
            format!("a relocation at offset {:#x}", relocation.offset),
            format!(
                "a place in the {:#x} bytes of {}",
                target.data.len(),
                target.place()
            ),
        ));
    }
    let instruction = relocation.kind.is_instruction();
    if instruction
        && (!relocation.offset.is_multiple_of(INSTRUCTION_BYTES as u64) || !target.is_code())
    {
        return Err(table.malformed(
            at,
            format!(
                "{} at offset {:#x} of {}",
                relocation.kind.name(),
                relocation.offset,
                target.place()
            ),
            "the offset of an instruction, a multiple of 16, in a code section",
        ));
    }
    if relocation.symbol.0 as usize >= elf.symbols.len() {
        return Err(table.malformed(
            at + 8,
            format!("symbol {}", relocation.symbol.0),
            format!("less than {}, the number of symbols", elf.symbols.len()),
        ));
    }
    Ok(())
}
