//! Where fatbins lie in a host executable, shared library or object: the sections `.nv_fatbin`
//! (code that is ready to load, one fatbin after the other) and `__nv_relfatbin` (objects of
//! separate compilation, which a device link has turned into one of the former).
//!
//! The section headers are enough: the registration records of `.nvFatBinSegment` only point back
//! into these sections.

use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

use crate::error::CubinError;
use crate::fatbin::Fatbin;
use crate::fatbin::read::{MAGIC, fatbin_at};

/// Sections with code that is ready to load.
const LINKED: &[u8] = b".nv_fatbin";
/// Sections with objects of separate compilation.
const RELOCATABLE: &[u8] = b"__nv_relfatbin";

/// The fatbins of a host file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFatbins<'data> {
    /// Those with code that is ready to load, in file order.
    pub linked: Vec<Fatbin<'data>>,
    /// Those with objects that still have to be linked.
    pub relocatable: Vec<Fatbin<'data>>,
}

/// Whether the bytes are an ELF file for a host processor rather than a GPU.
pub fn is_host_file(bytes: &[u8]) -> bool {
    let machine = bytes.get(18..20).and_then(|field| field.try_into().ok());
    bytes.starts_with(&elf::ELFMAG)
        && machine.is_some_and(|field| u16::from_le_bytes(field) != elf::EM_CUDA)
}

/// Finds the fatbins of a host executable or object.
///
/// # Errors
/// Section headers or fatbins that do not fit the file.
pub fn fatbins_of_host(bytes: &[u8]) -> Result<HostFatbins<'_>, CubinError> {
    let wrong = |error: object::Error| CubinError::Malformed {
        place: "the host file's section headers".to_owned(),
        offset: 0,
        found: error.to_string(),
        expected: "a 64-bit little-endian ELF file".to_owned(),
    };
    let header = elf::FileHeader64::<Endianness>::parse(bytes).map_err(wrong)?;
    let endian = header.endian().map_err(wrong)?;
    let sections = header.sections(endian, bytes).map_err(wrong)?;
    let mut found = HostFatbins::default();
    for section in sections.iter() {
        let name = sections.section_name(endian, section).map_err(wrong)?;
        let into = if name == LINKED {
            &mut found.linked
        } else if name == RELOCATABLE {
            &mut found.relocatable
        } else {
            continue;
        };
        let data = section.data(endian, bytes).map_err(wrong)?;
        fatbins_of_section(data, section.sh_offset(endian), into)?;
    }
    Ok(found)
}

/// The fatbins of one section: each begins at a multiple of 8, after padding of zeros.
fn fatbins_of_section<'data>(
    data: &'data [u8],
    base: u64,
    into: &mut Vec<Fatbin<'data>>,
) -> Result<(), CubinError> {
    let mut at = 0;
    while at < data.len() {
        let rest = &data[at..];
        let padding = rest.iter().take_while(|&&byte| byte == 0).count();
        if padding == rest.len() {
            break;
        }
        // The magic number has no zero byte: what comes first after the padding is its start.
        let (fatbin, end) = fatbin_at(data, at + padding, base)?;
        into.push(fatbin);
        at = end;
    }
    debug_assert!(MAGIC.iter().all(|&byte| byte != 0));
    Ok(())
}
