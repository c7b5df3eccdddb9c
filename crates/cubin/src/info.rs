//! `.nv.info` sections: the attribute records (EIATTR) by which the compiler tells the driver
//! what a function needs. Every record is kept raw; `kernel` reads those that matter to a launch.
//!
//! A record is {u8 format, u8 attribute, u16 value or size}, followed by `size` bytes for format
//! 4, padded to four bytes. Attribute names are those that `cuobjdump -elf` prints, with the
//! gaps filled from CuAssembler's `CuNVInfo.py` (MIT).

use crate::elf::Section;
use crate::error::CubinError;

/// Attributes that this crate reads.
pub mod attribute {
    /// Largest block, three 32-bit numbers (`__launch_bounds__`).
    pub const MAX_THREADS: u8 = 0x05;
    /// Where the parameters lie: 32-bit symbol of the bank, 16-bit offset, 16-bit size.
    pub const PARAM_CBANK: u8 = 0x0a;
    /// Symbols of external functions, 32 bits each.
    pub const EXTERNS: u8 = 0x0f;
    /// Required block, three 32-bit numbers (`.reqntid`).
    pub const REQNTID: u8 = 0x10;
    /// Bytes of local memory of a function's own frame: 32-bit symbol, 32-bit size.
    pub const FRAME_SIZE: u8 = 0x11;
    /// Bytes of stack with all callees: 32-bit symbol, 32-bit size, all ones if unknown.
    pub const MIN_STACK_SIZE: u8 = 0x12;
    /// One parameter: 32-bit index, 16-bit ordinal, 16-bit offset, 32 bits with the size from
    /// bit 18 on.
    pub const KPARAM_INFO: u8 = 0x17;
    /// Bytes of all parameters, 16-bit.
    pub const CBANK_PARAM_SIZE: u8 = 0x19;
    /// Upper bound for the register count that was given to the compiler, 16-bit.
    pub const MAXREG_COUNT: u8 = 0x1b;
    /// Offsets of EXIT instructions, 32 bits each.
    pub const EXIT_INSTR_OFFSETS: u8 = 0x1c;
    /// Bytes of stack with all callees at most: 32-bit symbol, 32-bit size.
    pub const MAX_STACK_SIZE: u8 = 0x23;
    /// Registers per thread: 32-bit symbol, 32-bit count.
    pub const REGCOUNT: u8 = 0x2f;
    /// One parameter where one of them is larger than 16,383 bytes: 32-bit index, 16-bit ordinal,
    /// 16-bit offset, 16-bit size, 16 bits of flags.
    pub const KPARAM_INFO_V2: u8 = 0x45;
    /// Where indirect branches go: per branch its 32-bit offset, 32 bits that are 0, a 32-bit count and as
    /// many 32-bit offsets (seen in compiled code with BRX).
    pub const INDIRECT_BRANCH_TARGETS: u8 = 0x34;
    /// CTA barriers in use, 8-bit (CUDA 13).
    pub const NUM_BARRIERS: u8 = 0x4c;
}

/// Names of attributes, by number.
#[rustfmt::skip]
const NAMES: &[(u8, &str)] = &[
    (0x00, "EIATTR_ERROR"), (0x01, "EIATTR_PAD"), (0x02, "EIATTR_IMAGE_SLOT"),
    (0x03, "EIATTR_JUMPTABLE_RELOCS"), (0x04, "EIATTR_CTAIDZ_USED"), (0x05, "EIATTR_MAX_THREADS"),
    (0x06, "EIATTR_IMAGE_OFFSET"), (0x07, "EIATTR_IMAGE_SIZE"),
    (0x08, "EIATTR_TEXTURE_NORMALIZED"), (0x09, "EIATTR_SAMPLER_INIT"),
    (0x0a, "EIATTR_PARAM_CBANK"), (0x0b, "EIATTR_SMEM_PARAM_OFFSETS"),
    (0x0c, "EIATTR_CBANK_PARAM_OFFSETS"), (0x0d, "EIATTR_SYNC_STACK"),
    (0x0e, "EIATTR_TEXID_SAMPID_MAP"), (0x0f, "EIATTR_EXTERNS"), (0x10, "EIATTR_REQNTID"),
    (0x11, "EIATTR_FRAME_SIZE"), (0x12, "EIATTR_MIN_STACK_SIZE"),
    (0x13, "EIATTR_SAMPLER_FORCE_UNNORMALIZED"), (0x14, "EIATTR_BINDLESS_IMAGE_OFFSETS"),
    (0x15, "EIATTR_BINDLESS_TEXTURE_BANK"), (0x16, "EIATTR_BINDLESS_SURFACE_BANK"),
    (0x17, "EIATTR_KPARAM_INFO"), (0x18, "EIATTR_SMEM_PARAM_SIZE"),
    (0x19, "EIATTR_CBANK_PARAM_SIZE"), (0x1a, "EIATTR_QUERY_NUMATTRIB"),
    (0x1b, "EIATTR_MAXREG_COUNT"), (0x1c, "EIATTR_EXIT_INSTR_OFFSETS"),
    (0x1d, "EIATTR_S2RCTAID_INSTR_OFFSETS"), (0x1e, "EIATTR_CRS_STACK_SIZE"),
    (0x1f, "EIATTR_NEED_CNP_WRAPPER"), (0x20, "EIATTR_NEED_CNP_PATCH"),
    (0x21, "EIATTR_EXPLICIT_CACHING"), (0x22, "EIATTR_ISTYPEP_USED"),
    (0x23, "EIATTR_MAX_STACK_SIZE"), (0x24, "EIATTR_SUQ_USED"),
    (0x25, "EIATTR_LD_CACHEMOD_INSTR_OFFSETS"), (0x26, "EIATTR_LOAD_CACHE_REQUEST"),
    (0x27, "EIATTR_ATOM_SYS_INSTR_OFFSETS"), (0x28, "EIATTR_COOP_GROUP_INSTR_OFFSETS"),
    (0x29, "EIATTR_COOP_GROUP_MASK_REGIDS"), (0x2a, "EIATTR_SW1850030_WAR"),
    (0x2b, "EIATTR_WMMA_USED"), (0x2c, "EIATTR_HAS_PRE_V10_OBJECT"),
    (0x2d, "EIATTR_ATOMF16_EMUL_INSTR_OFFSETS"), (0x2e, "EIATTR_ATOM16_EMUL_INSTR_REG_MAP"),
    (0x2f, "EIATTR_REGCOUNT"), (0x30, "EIATTR_SW2393858_WAR"),
    (0x31, "EIATTR_INT_WARP_WIDE_INSTR_OFFSETS"), (0x32, "EIATTR_SHARED_SCRATCH"),
    (0x33, "EIATTR_STATISTICS"), (0x34, "EIATTR_INDIRECT_BRANCH_TARGETS"),
    (0x35, "EIATTR_SW2861232_WAR"), (0x36, "EIATTR_SW_WAR"), (0x37, "EIATTR_CUDA_API_VERSION"),
    (0x38, "EIATTR_NUM_MBARRIERS"), (0x39, "EIATTR_MBARRIER_INSTR_OFFSETS"),
    (0x3a, "EIATTR_COROUTINE_RESUME_ID_OFFSETS"), (0x3b, "EIATTR_SAM_REGION_STACK_SIZE"),
    (0x3c, "EIATTR_PER_REG_TARGET_PERF_STATS"), (0x3d, "EIATTR_CTA_PER_CLUSTER"),
    (0x3e, "EIATTR_EXPLICIT_CLUSTER"), (0x3f, "EIATTR_MAX_CLUSTER_RANK"),
    (0x40, "EIATTR_INSTR_REG_MAP"), (0x45, "EIATTR_KPARAM_INFO_V2"),
    (0x46, "EIATTR_SYSCALL_OFFSETS"), (0x4c, "EIATTR_NUM_BARRIERS"),
    (0x50, "EIATTR_SPARSE_MMA_MASK"), (0x5f, "EIATTR_MERCURY_ISA_VERSION"),
    (0x66, "EIATTR_LANGUAGE"),
];

/// The value of a record; which form it takes is the record's format (EIFMT).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InfoValue {
    /// EIFMT_NVAL (1): the attribute is present, no value.
    None,
    /// EIFMT_BVAL (2): one byte.
    Byte(u8),
    /// EIFMT_HVAL (3): 16 bits.
    Half(u16),
    /// EIFMT_SVAL (4): a sequence of bytes.
    Bytes(Vec<u8>),
}

/// One attribute record of a `.nv.info` section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InfoRecord {
    /// Number of the attribute (EIATTR).
    pub attribute: u8,
    /// Its value, raw.
    pub value: InfoValue,
    /// Offset of the record in its section, in bytes.
    pub offset: u32,
}

impl InfoRecord {
    /// The attribute's name as `cuobjdump -elf` prints it, if it is known.
    pub fn name(&self) -> Option<&'static str> {
        NAMES
            .iter()
            .find(|(number, _)| *number == self.attribute)
            .map(|(_, name)| *name)
    }

    /// Number of the record's format (EIFMT): 1 none, 2 byte, 3 half, 4 bytes.
    pub fn format(&self) -> u8 {
        match self.value {
            InfoValue::None => 1,
            InfoValue::Byte(_) => 2,
            InfoValue::Half(_) => 3,
            InfoValue::Bytes(_) => 4,
        }
    }

    /// The value as little-endian 32-bit words, where it is a sequence of them.
    pub fn words(&self) -> Option<Vec<u32>> {
        match &self.value {
            InfoValue::Bytes(bytes) if bytes.len() % 4 == 0 => Some(
                bytes
                    .chunks_exact(4)
                    .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
                    .collect(),
            ),
            _ => None,
        }
    }
}

/// Reads the records of one section.
pub(crate) fn read_records(section: &Section<'_>) -> Result<Vec<InfoRecord>, CubinError> {
    let data = section.data;
    let mut records = Vec::new();
    let mut at = 0usize;
    while at < data.len() {
        let Some(&[format, attribute, low, high]) = data.get(at..at + 4) else {
            return Err(section.malformed(
                at as u64,
                format!("an attribute record of {} bytes", data.len() - at),
                "at least 4 bytes: format, attribute and a 16-bit value or size",
            ));
        };
        let half = u16::from_le_bytes([low, high]);
        let start = at + 4;
        let (value, end) = match format {
            1 => (InfoValue::None, start),
            2 => (InfoValue::Byte(low), start),
            3 => (InfoValue::Half(half), start),
            4 => {
                let end = start + usize::from(half);
                let Some(bytes) = data.get(start..end) else {
                    return Err(section.malformed(
                        at as u64 + 2,
                        format!("attribute {attribute:#04x} with {half} bytes"),
                        format!(
                            "at most {} bytes, up to the section's end",
                            data.len() - start
                        ),
                    ));
                };
                (InfoValue::Bytes(bytes.to_vec()), end.next_multiple_of(4))
            }
            other => {
                return Err(section.malformed(
                    at as u64,
                    format!("attribute format {other}"),
                    "1 (no value), 2 (byte), 3 (half) or 4 (bytes)",
                ));
            }
        };
        records.push(InfoRecord {
            attribute,
            value,
            offset: at as u32,
        });
        at = end;
    }
    Ok(records)
}

/// The 32-bit words of a record that must have `count` of them.
pub(crate) fn words_of(
    section: &Section<'_>,
    record: &InfoRecord,
    count: usize,
) -> Result<Vec<u32>, CubinError> {
    match record.words() {
        Some(words) if words.len() == count => Ok(words),
        _ => Err(section.malformed(
            u64::from(record.offset),
            format!(
                "{} as {:?}",
                record.name().unwrap_or("attribute"),
                record.value
            ),
            format!("format 4 with {count} words of 32 bits"),
        )),
    }
}
