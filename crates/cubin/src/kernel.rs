//! Code sections and what their functions need: registers, barriers, shared and local memory,
//! parameters.
//!
//! Where each number comes from:
//!
//! | what | CUDA 11.8, 12.x (ABI 7) | CUDA 13.x (ABI 8) |
//! |---|---|---|
//! | registers | `sh_info` bits 24–31 and REGCOUNT | the same |
//! | barriers | `sh_flags` bits 20–26 | NUM_BARRIERS |
//! | static shared memory | size of `.nv.shared.<fn>` | the same |
//! | local memory | FRAME_SIZE, MIN_STACK_SIZE | the same |
//! | parameters | KPARAM_INFO, PARAM_CBANK, CBANK_PARAM_SIZE | the same, KPARAM_INFO_V2 |

use std::collections::HashMap;

use crate::elf::{Elf, SHT_CUDA_INFO, Section, SectionIndex, Symbol, SymbolIndex};
use crate::error::CubinError;
use crate::info::{InfoRecord, InfoValue, attribute, read_records, words_of};

/// Bytes of one instruction from sm_70 on.
pub const INSTRUCTION_BYTES: usize = 16;
/// Largest register count of a thread.
const MAX_REGISTERS: u32 = 255;
/// CTA barriers that the hardware has.
const MAX_BARRIERS: u32 = 16;
/// Bytes of a constant bank.
const CONSTANT_BANK_BYTES: u32 = 1 << 16;
/// What MIN_STACK_SIZE says where the compiler cannot tell: recursion, unknown callees.
const UNKNOWN_STACK: u32 = u32::MAX;

/// A kernel: an entry function with all that a launch has to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// Name of the entry function as the symbol table has it (mangled for C++); can be empty.
    pub name: String,
    /// The code section; what identifies the kernel in its cubin.
    pub section: SectionIndex,
    /// Machine code as the file holds it, a multiple of 16 bytes, relocations not applied
    /// (see [`crate::Cubin::load`]).
    pub code: Vec<u8>,
    /// Registers per thread (section header, REGCOUNT).
    pub registers: u32,
    /// CTA barriers in use, 0 to 16 (section flags before CUDA 13, NUM_BARRIERS from then on).
    pub barriers: u32,
    /// Static shared memory per CTA in bytes (size of `.nv.shared.<fn>`). From sm_90 on with
    /// CUDA 13 it includes the 1 KiB that the system reserves.
    pub static_shared: u32,
    /// Local memory per thread in bytes that is known to be needed: the larger of MIN_STACK_SIZE
    /// and the sum of the frames of all functions in the section.
    pub local_per_thread: u32,
    /// Whether the compiler could not bound the stack (recursion): the driver then grants
    /// `cudaLimitStackSize`, 1 KiB unless the program asks for more.
    pub stack_is_unbounded: bool,
    /// Parameters in order (KPARAM_INFO).
    pub parameters: Vec<Parameter>,
    /// Offset of the parameters in constant bank 0 in bytes (PARAM_CBANK): 0x160 on sm_75 to
    /// sm_89, more where a kernel has more than 4 KiB of parameters.
    pub parameter_base: u32,
    /// Bytes of all parameters with their padding (CBANK_PARAM_SIZE).
    pub parameter_size: u32,
    /// Largest block that may be launched (`__launch_bounds__`, MAX_THREADS).
    pub max_threads: Option<[u32; 3]>,
    /// The only block that may be launched (`.reqntid`, REQNTID).
    pub required_threads: Option<[u32; 3]>,
    /// Size in bytes of constant bank 0 as the file lays it out: driver area and parameters.
    pub constant0_size: u32,
    /// Constant bank 2: jump tables, literals and function addresses of this kernel.
    pub constant2: Option<Vec<u8>>,
    /// Every attribute record of the kernel, raw (`.nv.info.<fn>`).
    pub info: Vec<InfoRecord>,
}

/// One parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Position in the parameter list, from 0.
    pub index: u32,
    /// Offset from the parameter base in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// A code section: an entry function or a device function with what lies inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The code section.
    pub section: SectionIndex,
    /// Name of the function that the section is of; can be empty.
    pub name: String,
    /// Whether it is an entry function (a kernel), not a device function.
    pub is_entry: bool,
    /// Machine code as the file holds it, a multiple of 16 bytes.
    pub code: Vec<u8>,
    /// Alignment of the code in bytes, at least 128.
    pub alignment: u64,
    /// The functions inside the section, in symbol order: the section's own and those that the
    /// compiler placed behind it (`$kernel$helper`).
    pub symbols: Vec<FunctionSymbol>,
    /// Registers per thread (section header, REGCOUNT).
    pub registers: u32,
    /// CTA barriers in use, 0 to 16.
    pub barriers: u32,
    /// Static shared memory in bytes.
    pub static_shared: u32,
    /// Every attribute record of the function, raw (`.nv.info.<fn>`).
    pub info: Vec<InfoRecord>,
}

impl Function {
    /// Where the indirect branches of the code go, by the offset of the branch, as the compiler recorded
    /// it; in bytes. A record that ends early gives what it holds; one that was never filled in (CUDA 11.8
    /// writes zeros for sm_90) says nothing.
    pub fn indirect_branches(&self) -> Vec<(u32, Vec<u32>)> {
        let mut branches = Vec::new();
        let records = self.info.iter();
        for record in records.filter(|one| one.attribute == attribute::INDIRECT_BRANCH_TARGETS) {
            let words = record.words().unwrap_or_default();
            let mut rest = words.as_slice();
            while let [branch, _, count, others @ ..] = rest {
                let (targets, next) = others.split_at(others.len().min(*count as usize));
                if targets.iter().any(|&target| target != 0) {
                    branches.push((*branch, targets.to_vec()));
                }
                rest = next;
            }
        }
        branches
    }
}

/// A function symbol inside a code section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionSymbol {
    /// Position in the symbol table.
    pub symbol: SymbolIndex,
    /// Its name; can be empty.
    pub name: String,
    /// Offset of its first instruction in the section, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Bytes of local memory of its own frame (FRAME_SIZE), where stated.
    pub frame_size: Option<u32>,
}

/// What `.nv.info` says about each symbol.
#[derive(Debug, Default, Clone, Copy)]
struct Resources {
    registers: Option<u32>,
    frame_size: Option<u32>,
    min_stack_size: Option<u32>,
    max_stack_size: Option<u32>,
}

/// All that was read of the functions of a cubin.
pub(crate) struct Functions {
    pub functions: Vec<Function>,
    pub kernels: Vec<Kernel>,
    pub module_info: Vec<InfoRecord>,
}

/// Reads code sections and their `.nv.info`, `.nv.shared` and `.nv.constant0`.
pub(crate) fn read_functions(elf: &Elf<'_>) -> Result<Functions, CubinError> {
    let mut module_info = Vec::new();
    let mut resources: HashMap<u32, Resources> = HashMap::new();
    let mut infos: HashMap<u32, (&Section<'_>, Vec<InfoRecord>)> = HashMap::new();
    let mut shared: HashMap<u32, u32> = HashMap::new();
    let mut constant0: HashMap<u32, u32> = HashMap::new();

    for section in &elf.sections {
        if section.kind == SHT_CUDA_INFO && section.name == ".nv.info" {
            let records = read_records(section)?;
            for record in &records {
                note_resource(section, record, &mut resources)?;
            }
            module_info.extend(records);
        } else if section.kind == SHT_CUDA_INFO && section.name.starts_with(".nv.info.") {
            let function = owner(elf, section)?;
            let records = read_records(section)?;
            if infos.insert(function, (section, records)).is_some() {
                return Err(section.malformed_header(
                    format!("a second .nv.info for section {function}"),
                    "one for each function",
                ));
            }
        } else if section.name.starts_with(".nv.shared.") && section.info != 0 {
            shared.insert(owner(elf, section)?, size_32(section)?);
        } else if section.name.starts_with(".nv.constant0.") && section.info != 0 {
            constant0.insert(owner(elf, section)?, size_32(section)?);
        }
    }

    let mut inside: HashMap<u32, Vec<usize>> = HashMap::new();
    for (index, symbol) in elf.symbols.iter().enumerate() {
        if let (true, Some(section)) = (symbol.is_function(), symbol.section) {
            inside.entry(section.0).or_default().push(index);
        }
    }

    let sm = crate::cubin::sm_of(elf);
    let mut functions = Vec::new();
    let mut kernels = Vec::new();
    for section in elf.sections.iter().filter(|s| s.is_code()) {
        let index = section.index.0;
        let (info_section, info) = match infos.remove(&index) {
            Some((info_section, records)) => (Some(info_section), records),
            None => (None, Vec::new()),
        };
        let symbols = inside.remove(&index).unwrap_or_default();
        let function = read_function(elf, section, &symbols, &resources, &info, info_section)?
            .with_shared(shared.get(&index).copied().unwrap_or(0));
        if function.is_entry {
            kernels.push(read_kernel(
                &function,
                main_symbol(elf, section, &symbols).and_then(|s| resources.get(&(s as u32))),
                info_section,
                constant0.get(&index).copied(),
                sm,
            )?);
        }
        functions.push(function);
    }
    Ok(Functions {
        functions,
        kernels,
        module_info,
    })
}

impl Function {
    fn with_shared(mut self, bytes: u32) -> Self {
        self.static_shared = bytes;
        self
    }
}

/// The code section that a per-function section belongs to, from its `sh_info`.
pub(crate) fn owner(elf: &Elf<'_>, section: &Section<'_>) -> Result<u32, CubinError> {
    match elf.section(section.info) {
        Some(target) if target.is_code() => Ok(section.info),
        _ => Err(section.malformed_header(
            format!("sh_info {}", section.info),
            "the index of the code section that it belongs to",
        )),
    }
}

fn size_32(section: &Section<'_>) -> Result<u32, CubinError> {
    u32::try_from(section.size).map_err(|_| {
        section.malformed_header(
            format!("a size of {} bytes", section.size),
            "less than 4 GiB",
        )
    })
}

/// Notes a per-symbol record of the module-wide `.nv.info`.
fn note_resource(
    section: &Section<'_>,
    record: &InfoRecord,
    resources: &mut HashMap<u32, Resources>,
) -> Result<(), CubinError> {
    use attribute::{FRAME_SIZE, MAX_STACK_SIZE, MIN_STACK_SIZE, REGCOUNT};
    if !matches!(
        record.attribute,
        REGCOUNT | FRAME_SIZE | MIN_STACK_SIZE | MAX_STACK_SIZE
    ) {
        return Ok(());
    }
    let words = words_of(section, record, 2)?;
    let (symbol, value) = (words[0], words[1]);
    let entry = resources.entry(symbol).or_default();
    match record.attribute {
        REGCOUNT if value > MAX_REGISTERS => {
            return Err(section.malformed(
                u64::from(record.offset) + 8,
                format!("{value} registers for symbol {symbol}"),
                format!("at most {MAX_REGISTERS}"),
            ));
        }
        REGCOUNT => entry.registers = Some(value),
        FRAME_SIZE => entry.frame_size = Some(value),
        MIN_STACK_SIZE => entry.min_stack_size = Some(value),
        _ => entry.max_stack_size = Some(value),
    }
    Ok(())
}

/// The symbol of the section's own function: the one that `sh_info` names, else the first one at
/// offset 0.
fn main_symbol(elf: &Elf<'_>, section: &Section<'_>, symbols: &[usize]) -> Option<usize> {
    let named = (section.info & 0x00ff_ffff) as usize;
    if symbols.contains(&named) {
        return Some(named);
    }
    let value = |symbol: usize| elf.symbols.get(symbol).map(|s| s.value);
    symbols.iter().copied().find(|&s| value(s) == Some(0))
}

fn read_function(
    elf: &Elf<'_>,
    section: &Section<'_>,
    symbols: &[usize],
    resources: &HashMap<u32, Resources>,
    info: &[InfoRecord],
    info_section: Option<&Section<'_>>,
) -> Result<Function, CubinError> {
    if !section.data.len().is_multiple_of(INSTRUCTION_BYTES) {
        return Err(section.malformed_header(
            format!("{} bytes of code", section.data.len()),
            "a multiple of 16, the size of an instruction",
        ));
    }
    let main = main_symbol(elf, section, symbols);
    let main_symbol: Option<&Symbol> = main.and_then(|index| elf.symbols.get(index));
    let from_section = section.name.strip_prefix(".text.").unwrap_or("");
    let name = match main_symbol {
        Some(symbol) if !symbol.name.is_empty() => symbol.name.as_str(),
        _ => from_section,
    };

    let stated = main.and_then(|index| resources.get(&(index as u32)));
    let registers = (section.info >> 24).max(stated.and_then(|r| r.registers).unwrap_or(0));

    let mut barriers = if elf.abi_version == 7 {
        (section.flags >> 20) as u32 & 0x7f
    } else {
        0
    };
    for record in info {
        if record.attribute == attribute::NUM_BARRIERS
            && let InfoValue::Byte(count) = record.value
        {
            barriers = barriers.max(u32::from(count));
        }
    }
    if barriers > MAX_BARRIERS {
        let found = format!("{barriers} barriers");
        let expected = format!("at most {MAX_BARRIERS}");
        return Err(match info_section {
            Some(place) if elf.abi_version != 7 => place.malformed(0, found, expected),
            _ => section.malformed_header(found, &expected),
        });
    }

    let symbols = symbols
        .iter()
        .filter_map(|&index| elf.symbols.get(index).map(|symbol| (index, symbol)))
        .map(|(index, symbol)| FunctionSymbol {
            symbol: SymbolIndex(index as u32),
            name: symbol.name.clone(),
            offset: symbol.value,
            size: symbol.size,
            frame_size: resources.get(&(index as u32)).and_then(|r| r.frame_size),
        })
        .collect();
    Ok(Function {
        section: section.index,
        name: name.to_owned(),
        is_entry: main_symbol.is_some_and(|s| s.other & Symbol::ENTRY != 0),
        code: section.data.to_vec(),
        alignment: section.alignment.max(128),
        symbols,
        registers,
        barriers,
        static_shared: 0,
        info: info.to_vec(),
    })
}

fn read_kernel(
    function: &Function,
    resources: Option<&Resources>,
    info_section: Option<&Section<'_>>,
    constant0_size: Option<u32>,
    sm: u32,
) -> Result<Kernel, CubinError> {
    let frames = function
        .symbols
        .iter()
        .filter_map(|s| s.frame_size)
        .fold(0u32, u32::saturating_add);
    let stack = resources.and_then(|r| r.min_stack_size).unwrap_or(0);
    let largest = resources.and_then(|r| r.max_stack_size).unwrap_or(0);
    let known = |bytes: u32| if bytes == UNKNOWN_STACK { 0 } else { bytes };

    let mut kernel = Kernel {
        name: function.name.clone(),
        section: function.section,
        code: function.code.clone(),
        registers: function.registers,
        barriers: function.barriers,
        static_shared: function.static_shared,
        local_per_thread: frames.max(known(stack)).max(known(largest)),
        stack_is_unbounded: stack == UNKNOWN_STACK || largest == UNKNOWN_STACK,
        parameters: Vec::new(),
        parameter_base: constant0_size.unwrap_or(default_parameter_base(sm)),
        parameter_size: 0,
        max_threads: None,
        required_threads: None,
        constant0_size: constant0_size.unwrap_or(0),
        constant2: None,
        info: function.info.clone(),
    };
    if let Some(section) = info_section {
        read_parameters(section, &mut kernel)?;
    }
    Ok(kernel)
}

/// Where parameters start in constant bank 0 for a kernel that does not say.
fn default_parameter_base(sm: u32) -> u32 {
    match sm {
        0..90 => 0x160,
        90..100 => 0x210,
        _ => 0x380,
    }
}

fn read_parameters(section: &Section<'_>, kernel: &mut Kernel) -> Result<(), CubinError> {
    let mut stated_size: Option<(u32, u32)> = None;
    let mut bank_size: Option<(u32, u32)> = None;
    for record in &kernel.info {
        let at = u64::from(record.offset);
        match record.attribute {
            attribute::PARAM_CBANK => {
                let words = words_of(section, record, 2)?;
                kernel.parameter_base = words[1] & 0xffff;
                bank_size = Some((words[1] >> 16, record.offset));
            }
            attribute::CBANK_PARAM_SIZE => {
                let InfoValue::Half(size) = record.value else {
                    return Err(section.malformed(
                        at,
                        format!("EIATTR_CBANK_PARAM_SIZE as {:?}", record.value),
                        "format 3 (half)",
                    ));
                };
                stated_size = Some((u32::from(size), record.offset));
            }
            attribute::KPARAM_INFO | attribute::KPARAM_INFO_V2 => {
                let words = words_of(section, record, 3)?;
                let size = if record.attribute == attribute::KPARAM_INFO {
                    words[2] >> 18
                } else {
                    words[2] & 0xffff
                };
                kernel.parameters.push(Parameter {
                    index: words[1] & 0xffff,
                    offset: words[1] >> 16,
                    size,
                });
            }
            attribute::MAX_THREADS => {
                let words = words_of(section, record, 3)?;
                kernel.max_threads = Some([words[0], words[1], words[2]]);
            }
            attribute::REQNTID => {
                let words = words_of(section, record, 3)?;
                kernel.required_threads = Some([words[0], words[1], words[2]]);
            }
            _ => {}
        }
    }

    if let (Some((stated, at)), Some((bank, _))) = (stated_size, bank_size)
        && stated != bank
    {
        return Err(section.malformed(
            u64::from(at),
            format!("{stated} bytes of parameters (EIATTR_CBANK_PARAM_SIZE)"),
            format!("{bank}, as EIATTR_PARAM_CBANK says"),
        ));
    }
    let (size, size_at) = stated_size.or(bank_size).unwrap_or((0, 0));
    kernel.parameter_size = size;
    if kernel.parameter_base + size > CONSTANT_BANK_BYTES {
        return Err(section.malformed(
            u64::from(size_at),
            format!(
                "{size} bytes of parameters from {:#x} on",
                kernel.parameter_base
            ),
            "parameters that lie in the 64 KiB of constant bank 0",
        ));
    }

    kernel.parameters.sort_by_key(|p| p.index);
    for (position, parameter) in kernel.parameters.iter().enumerate() {
        if parameter.index as usize != position {
            return Err(section.malformed(
                0,
                format!("a record of parameter {}", parameter.index),
                format!("parameter {position}: each once, from 0 on"),
            ));
        }
        if parameter.offset + parameter.size > size {
            return Err(section.malformed(
                0,
                format!(
                    "parameter {position} of {} bytes at offset {}",
                    parameter.size, parameter.offset
                ),
                format!("one that lies in the {size} bytes of all parameters"),
            ));
        }
    }
    Ok(())
}
