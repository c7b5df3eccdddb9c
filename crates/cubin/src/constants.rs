//! Constant banks: the sections `.nv.constant<bank>` of the module and
//! `.nv.constant<bank>.<function>` of one function.
//!
//! Bank 0 is laid out by the compiler (driver area, then parameters) and filled at launch; 2
//! holds jump tables and literals of one function, 3 the program's `__constant__` variables, 4
//! the addresses of globals and of external functions.

use crate::elf::{Elf, Section, SectionIndex};
use crate::error::CubinError;
use crate::kernel::owner;

/// Constant banks that an instruction can name (5 bits).
const BANKS: u32 = 32;

/// One constant bank with its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstantBank {
    /// Number of the bank, as in `c[0x3][…]`.
    pub bank: u32,
    /// The code section of the function it belongs to; `None` for the module's.
    pub function: Option<SectionIndex>,
    /// The section it comes from.
    pub section: SectionIndex,
    /// Its bytes.
    pub data: Vec<u8>,
}

/// The bank number of a constant section's name, if it is one.
pub(crate) fn bank_number(section: &Section<'_>) -> Option<u32> {
    let rest = section.name.strip_prefix(".nv.constant")?;
    let digits = rest.split('.').next()?;
    let bank = digits.parse().ok()?;
    (bank < BANKS && !section.is_nobits()).then_some(bank)
}

/// Reads the constant banks.
pub(crate) fn read_banks(elf: &Elf<'_>) -> Result<Vec<ConstantBank>, CubinError> {
    let mut banks: Vec<ConstantBank> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for section in &elf.sections {
        let Some(bank) = bank_number(section) else {
            continue;
        };
        let function = match section.info {
            0 => None,
            _ => Some(SectionIndex(owner(elf, section)?)),
        };
        if !seen.insert((bank, function)) {
            return Err(section.malformed_header(
                format!("constant bank {bank} a second time"),
                "each bank once for the module and once for each function",
            ));
        }
        banks.push(ConstantBank {
            bank,
            function,
            section: section.index,
            data: section.data.to_vec(),
        });
    }
    Ok(banks)
}

/// The bank as a function sees it: its own, else the module's.
pub(crate) fn find(
    banks: &[ConstantBank],
    bank: u32,
    function: Option<SectionIndex>,
) -> Option<&ConstantBank> {
    let of = |wanted: Option<SectionIndex>| {
        banks
            .iter()
            .find(|b| b.bank == bank && b.function == wanted)
    };
    match function {
        Some(_) => of(function).or_else(|| of(None)),
        None => of(None),
    }
}
