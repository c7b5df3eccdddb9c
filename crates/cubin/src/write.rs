//! A cubin of assembled kernels: what `cubin` reads, written. The layout is that of CUDA 13 (ABI version
//! 8): `.nv.info`, then for each kernel `.nv.info.<fn>`, `.nv.shared.<fn>`, `.nv.constant0.<fn>`,
//! `.nv.constant2.<fn>` and `.text.<fn>`, as far as the kernel needs them.

use object::elf;
use thiserror::Error;

use crate::elf::{SHT_CUDA_INFO, Symbol};
use crate::info::attribute;
use crate::kernel::INSTRUCTION_BYTES;

/// A cubin to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewCubin {
    /// The architecture, 86 for sm_86.
    pub sm: u32,
    /// Its kernels.
    pub kernels: Vec<NewKernel>,
    /// Constant bank 3, which all kernels share.
    pub constant3: Vec<u8>,
}

/// A kernel to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewKernel {
    /// Its name.
    pub name: String,
    /// Machine code, a multiple of 16 bytes.
    pub code: Vec<u8>,
    /// Registers per thread.
    pub registers: u32,
    /// CTA barriers.
    pub barriers: u32,
    /// Static shared memory in bytes.
    pub shared: u32,
    /// Local memory per thread in bytes.
    pub local: u32,
    /// Where the parameters start in constant bank 0.
    pub parameter_base: u32,
    /// Offset from that start and size of each parameter, in bytes.
    pub parameters: Vec<(u32, u32)>,
    /// Constant bank 2.
    pub constant2: Vec<u8>,
    /// Offsets of the EXIT instructions.
    pub exits: Vec<u32>,
}

/// What a cubin cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WriteError {
    /// The architecture's number does not fit its field.
    #[error("sm_{0}: the header holds numbers up to 255")]
    Architecture(u32),
    /// A name is empty, holds a zero byte or occurs twice.
    #[error("kernel `{0}`: a kernel needs a name of its own, without zero bytes")]
    Name(String),
    /// A number does not fit its field.
    #[error("kernel `{kernel}`: {found} {what}, at most {most} can be declared")]
    TooMany {
        /// The kernel.
        kernel: String,
        /// Of what.
        what: &'static str,
        /// How many.
        found: u64,
        /// The most.
        most: u64,
    },
    /// The code is no whole number of instructions.
    #[error("kernel `{kernel}`: {bytes} bytes of code are no whole number of instructions")]
    Code {
        /// The kernel.
        kernel: String,
        /// Bytes of code.
        bytes: usize,
    },
}

/// Bytes of ELF structures.
const HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const SYMBOL: usize = 24;
/// Section flags.
const INFO_LINK: u64 = elf::SHF_INFO_LINK as u64;
const ALLOC: u64 = elf::SHF_ALLOC as u64;
const WRITE: u64 = elf::SHF_WRITE as u64;
const EXECUTE: u64 = elf::SHF_EXECINSTR as u64;
/// EIATTR_CUDA_API_VERSION and the version of CUDA 13.5's PTX, 8.7.
const API_VERSION: (u8, u32) = (0x37, 0x87);
/// ELF flags of CUDA 13 besides the architecture in bits 8 to 15.
const FLAGS: u32 = 0x0600_0004;

/// A section being written.
struct Section {
    name: String,
    kind: u32,
    flags: u64,
    link: u32,
    info: u32,
    alignment: u64,
    entry: u64,
    data: Vec<u8>,
    /// Size of a section without bytes in the file.
    empty_size: u64,
}

impl Section {
    fn new(name: impl Into<String>, kind: u32, flags: u64, alignment: u64) -> Section {
        Section {
            name: name.into(),
            kind,
            flags,
            link: 0,
            info: 0,
            alignment,
            entry: 0,
            data: Vec::new(),
            empty_size: 0,
        }
    }
}

/// Strings, each ended by a zero byte; position 0 is the empty one.
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        at
    }
}

/// Attribute records.
#[derive(Default)]
struct Records(Vec<u8>);

impl Records {
    fn half(&mut self, attribute: u8, value: u16) {
        self.0.extend_from_slice(&[3, attribute]);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn byte(&mut self, attribute: u8, value: u8) {
        self.0.extend_from_slice(&[2, attribute, value, 0]);
    }

    fn words(&mut self, attribute: u8, words: &[u32]) {
        self.0.extend_from_slice(&[4, attribute]);
        self.0
            .extend_from_slice(&((words.len() * 4) as u16).to_le_bytes());
        for word in words {
            self.0.extend_from_slice(&word.to_le_bytes());
        }
    }
}

/// Section 0, section names, symbol names and symbols.
const SECTION_NAMES: usize = 1;
const SYMBOL_NAMES: usize = 2;
const SYMBOLS: usize = 3;

impl NewCubin {
    /// The bytes of the ELF file.
    pub fn write(&self) -> Result<Vec<u8>, WriteError> {
        if self.sm > 255 {
            return Err(WriteError::Architecture(self.sm));
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            kernel.check()?;
            if self.kernels[..index]
                .iter()
                .any(|other| other.name == kernel.name)
            {
                return Err(WriteError::Name(kernel.name.clone()));
            }
        }
        let mut sections = vec![
            Section::new("", elf::SHT_NULL, 0, 0),
            Section::new(".shstrtab", elf::SHT_STRTAB, 0, 1),
            Section::new(".strtab", elf::SHT_STRTAB, 0, 1),
            Section::new(".symtab", elf::SHT_SYMTAB, 0, 8),
        ];
        let mut names = Strings(vec![0]);
        // Local symbols (sections) come before global ones (kernels): as many of each are known ahead.
        let mut locals = vec![0; SYMBOL];
        let mut globals = Vec::new();
        let first_global = 1 + 2 * self.kernels.len();
        let mut module = Records::default();
        let module_info = sections.len();
        sections.push(Section::new(".nv.info", SHT_CUDA_INFO, 0, 4));
        if !self.constant3.is_empty() {
            let mut bank = Section::new(".nv.constant3", elf::SHT_PROGBITS, ALLOC, 4);
            bank.data.clone_from(&self.constant3);
            sections.push(bank);
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            let function = (first_global + index) as u32;
            module.words(attribute::REGCOUNT, &[function, kernel.registers]);
            module.words(attribute::FRAME_SIZE, &[function, kernel.local]);
            module.words(attribute::MIN_STACK_SIZE, &[function, kernel.local]);
        }
        sections[module_info].data = module.0;
        sections[module_info].link = SYMBOLS as u32;
        for (index, kernel) in self.kernels.iter().enumerate() {
            let function = (first_global + index) as u32;
            // The symbols of a kernel's sections: constant bank 0, then code.
            let kernel_sections = kernel.sections((1 + 2 * index) as u32);
            let text = (sections.len() + kernel_sections.len() - 1) as u32;
            for mut section in kernel_sections {
                let own = sections.len() as u32;
                if own == text {
                    section.info = kernel.registers << 24 | function;
                    locals.extend(symbol(
                        names.add(&section.name),
                        elf::STT_SECTION,
                        0,
                        own,
                        0,
                    ));
                    let name = names.add(&kernel.name);
                    let size = kernel.code.len() as u64;
                    let kind = elf::STB_GLOBAL << 4 | elf::STT_FUNC;
                    globals.extend(symbol(name, kind, Symbol::ENTRY, text, size));
                } else {
                    section.info = text;
                    if section.name.starts_with(".nv.constant0.") {
                        locals.extend(symbol(
                            names.add(&section.name),
                            elf::STT_SECTION,
                            0,
                            own,
                            0,
                        ));
                    }
                }
                sections.push(section);
            }
        }
        locals.extend(globals);
        sections[SYMBOLS].data = locals;
        sections[SYMBOLS].link = SYMBOL_NAMES as u32;
        sections[SYMBOLS].info = first_global as u32;
        sections[SYMBOLS].entry = SYMBOL as u64;
        sections[SYMBOL_NAMES].data = names.0;
        Ok(lay_out(sections, FLAGS | self.sm << 8))
    }
}

impl NewKernel {
    fn check(&self) -> Result<(), WriteError> {
        if self.name.is_empty() || self.name.contains('\0') {
            return Err(WriteError::Name(self.name.clone()));
        }
        if !self.code.len().is_multiple_of(INSTRUCTION_BYTES) {
            return Err(WriteError::Code {
                kernel: self.name.clone(),
                bytes: self.code.len(),
            });
        }
        let size = self.parameter_bytes();
        for (what, found, most) in [
            ("registers", u64::from(self.registers), 255),
            ("barriers", u64::from(self.barriers), 16),
            ("bytes of code", self.code.len() as u64, u64::from(u32::MAX)),
            (
                "bytes of constant bank 0",
                u64::from(self.parameter_base) + u64::from(size),
                0xffff,
            ),
            (
                "bytes of constant bank 2",
                self.constant2.len() as u64,
                0x1_0000,
            ),
            ("EXIT instructions", self.exits.len() as u64, 0xffff / 4),
        ] {
            if found > most {
                return Err(WriteError::TooMany {
                    kernel: self.name.clone(),
                    what,
                    found,
                    most,
                });
            }
        }
        Ok(())
    }

    fn parameter_bytes(&self) -> u32 {
        let ends = self.parameters.iter();
        ends.map(|&(offset, size)| offset.saturating_add(size))
            .max()
            .unwrap_or(0)
    }

    /// The kernel's sections, constant bank 0 always among them, its code last. `bank` is the symbol of
    /// that bank.
    fn sections(&self, bank: u32) -> Vec<Section> {
        let name = &self.name;
        let mut info = Section::new(format!(".nv.info.{name}"), SHT_CUDA_INFO, INFO_LINK, 4);
        info.link = SYMBOLS as u32;
        info.data = self.info(bank);
        let mut sections = vec![info];
        if self.shared > 0 {
            let flags = WRITE | ALLOC | INFO_LINK;
            let mut shared = Section::new(format!(".nv.shared.{name}"), elf::SHT_NOBITS, flags, 16);
            shared.empty_size = self.shared.into();
            sections.push(shared);
        }
        for (number, data) in [
            (
                0,
                vec![0; (self.parameter_base + self.parameter_bytes()) as usize],
            ),
            (2, self.constant2.clone()),
        ] {
            if number == 0 || !data.is_empty() {
                let name = format!(".nv.constant{number}.{name}");
                let mut bank = Section::new(name, elf::SHT_PROGBITS, ALLOC | INFO_LINK, 4);
                bank.data = data;
                sections.push(bank);
            }
        }
        let mut text = Section::new(
            format!(".text.{name}"),
            elf::SHT_PROGBITS,
            ALLOC | EXECUTE,
            128,
        );
        text.link = SYMBOLS as u32;
        text.data.clone_from(&self.code);
        sections.push(text);
        sections
    }

    /// `.nv.info.<fn>`.
    fn info(&self, bank: u32) -> Vec<u8> {
        let size = self.parameter_bytes();
        let mut records = Records::default();
        records.words(API_VERSION.0, &[API_VERSION.1]);
        records.words(
            attribute::PARAM_CBANK,
            &[bank, size << 16 | self.parameter_base],
        );
        records.half(attribute::CBANK_PARAM_SIZE, size as u16);
        for (index, &(offset, size)) in self.parameters.iter().enumerate().rev() {
            // In constant bank 0x1f, the parameters' own.
            let place = [0, offset << 16 | index as u32, size << 18 | 0x1f << 12];
            records.words(attribute::KPARAM_INFO, &place);
        }
        records.half(attribute::MAXREG_COUNT, 0xff);
        if self.barriers > 0 {
            records.byte(attribute::NUM_BARRIERS, self.barriers as u8);
        }
        records.words(attribute::EXIT_INSTR_OFFSETS, &self.exits);
        records.0
    }
}

/// The bytes of a symbol.
fn symbol(name: u32, info: u8, other: u8, section: u32, size: u64) -> [u8; SYMBOL] {
    let mut bytes = [0; SYMBOL];
    bytes[0..4].copy_from_slice(&name.to_le_bytes());
    bytes[4] = info;
    bytes[5] = other;
    bytes[6..8].copy_from_slice(&(section as u16).to_le_bytes());
    bytes[16..24].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// The file: header, sections, section headers.
fn lay_out(mut sections: Vec<Section>, flags: u32) -> Vec<u8> {
    let mut section_names = Strings(vec![0]);
    let names: Vec<u32> = sections
        .iter()
        .map(|section| match section.name.as_str() {
            "" => 0,
            name => section_names.add(name),
        })
        .collect();
    sections[SECTION_NAMES].data = section_names.0;
    let mut file = vec![0; HEADER];
    let mut headers = Vec::new();
    for (section, name) in sections.iter().zip(names) {
        let alignment = section.alignment.max(1) as usize;
        file.resize(file.len().next_multiple_of(alignment), 0);
        let offset = if section.kind == elf::SHT_NULL {
            0
        } else {
            file.len() as u64
        };
        let size = match section.kind {
            elf::SHT_NOBITS => section.empty_size,
            _ => section.data.len() as u64,
        };
        file.extend_from_slice(&section.data);
        headers.extend_from_slice(&name.to_le_bytes());
        headers.extend_from_slice(&section.kind.to_le_bytes());
        for word in [section.flags, 0, offset, size] {
            headers.extend_from_slice(&word.to_le_bytes());
        }
        headers.extend_from_slice(&section.link.to_le_bytes());
        headers.extend_from_slice(&section.info.to_le_bytes());
        headers.extend_from_slice(&section.alignment.to_le_bytes());
        headers.extend_from_slice(&section.entry.to_le_bytes());
    }
    file.resize(file.len().next_multiple_of(8), 0);
    let table = file.len() as u64;
    file.extend_from_slice(&headers);

    let mut header = Vec::with_capacity(HEADER);
    // Magic, 64 bits, little endian, version 1; NVIDIA's OS/ABI and ABI version of CUDA 13.
    header.extend_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0x41, 8]);
    header.resize(16, 0);
    header.extend_from_slice(&elf::ET_EXEC.to_le_bytes());
    header.extend_from_slice(&elf::EM_CUDA.to_le_bytes());
    header.extend_from_slice(&1u32.to_le_bytes());
    for word in [0u64, 0, table] {
        header.extend_from_slice(&word.to_le_bytes());
    }
    header.extend_from_slice(&flags.to_le_bytes());
    let counts = [
        HEADER as u16,
        0,
        0,
        SECTION_HEADER as u16,
        sections.len() as u16,
        SECTION_NAMES as u16,
    ];
    for count in counts {
        header.extend_from_slice(&count.to_le_bytes());
    }
    file[..HEADER].copy_from_slice(&header);
    file
}
