//! A loaded cubin and a kernel of it: the code image, decoded, with one description for timing per
//! program counter.

use std::sync::Arc;

use cubin::{Cubin, LoadBases, Loaded, SectionIndex};
use sass::{Architecture, Decoded, Word};
use source::{Description, Pc};

use crate::error::ExecError;
use crate::memory::global::GlobalMemory;

/// Address of the code image in the code address space. Not zero, so that a null function pointer
/// leads nowhere.
pub const CODE_BASE: u64 = 0x10_0000_0000;

/// Address of the first external function.
pub(crate) const EXTERN_BASE: u64 = 0x20_0000_0000;

/// Largest code image in bytes.
const MAX_CODE: u64 = 1 << 28;

/// A cubin loaded on a device: all its functions in one code image, its global variables in device
/// memory. Kernels launched from one module share both.
#[derive(Debug)]
pub struct Module {
    architecture: Architecture,
    loaded: Loaded,
    decoded: Vec<Decoded>,
    descriptions: Arc<[Description]>,
    frames: Vec<u32>,
}

impl Module {
    /// Loads all code of `cubin` and puts its global variables into `memory`.
    ///
    /// # Errors
    /// An architecture that cannot be read, relocations that cannot be applied, no memory.
    pub fn load(cubin: &Cubin, memory: &mut GlobalMemory) -> Result<Module, ExecError> {
        let architecture = Architecture::from_number(cubin.sm())
            .ok_or(ExecError::Architecture { found: cubin.sm() })?;
        let bytes = cubin.code_size();
        if bytes > MAX_CODE {
            return Err(ExecError::CodeSize {
                bytes,
                limit: MAX_CODE,
            });
        }
        let alignment = cubin.global_alignment();
        let global = if cubin.global_size() > 0 {
            memory.allocate_aligned(cubin.global_size(), alignment, "global variables")?
        } else {
            0
        };
        let loaded = cubin.load(&LoadBases {
            global,
            code: CODE_BASE,
            externs: EXTERN_BASE,
        })?;
        for (offset, bytes) in &loaded.global.initial {
            memory.write(global + offset, bytes)?;
        }
        let code = (loaded.code_end - CODE_BASE).clamp(1, MAX_CODE);
        let frames = memory.reserve_frames(code, "code")?;
        let words = ((loaded.code_end - CODE_BASE) / 16).min(MAX_CODE / 16) as usize;
        let mut image = vec![Word::default(); words];
        for function in &loaded.functions {
            let first = ((function.address - CODE_BASE) / 16) as usize;
            for (place, chunk) in image
                .iter_mut()
                .skip(first)
                .zip(function.code.chunks_exact(16))
            {
                let mut word = [0; 16];
                word.copy_from_slice(chunk);
                *place = Word::from_bytes(word);
            }
        }
        let decoded: Vec<Decoded> = image
            .iter()
            .map(|&word| sass::decode(word, architecture))
            .collect();
        let descriptions = decoded.iter().map(|d| describe(d, architecture)).collect();
        Ok(Module {
            architecture,
            loaded,
            decoded,
            descriptions,
            frames,
        })
    }

    /// Frames of device memory that the code image lies in.
    pub fn frames(&self) -> &[u32] {
        &self.frames
    }

    /// The architecture of the code.
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// The decoded code image; position = program counter.
    pub fn decoded(&self) -> &[Decoded] {
        &self.decoded
    }

    /// What was loaded where.
    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The program counter of a code address, if it lies in the image.
    pub fn pc_of(&self, address: u64) -> Option<Pc> {
        let offset = address.checked_sub(CODE_BASE)?;
        (offset % 16 == 0 && offset / 16 < self.decoded.len() as u64)
            .then_some(Pc((offset / 16) as u32))
    }

    /// Name of the function that holds `pc` and the byte offset of `pc` in it, as the disassembler
    /// numbers instructions.
    pub fn locate(&self, pc: Pc) -> Option<(&str, u64)> {
        let address = CODE_BASE + pc.byte_address();
        let function = self.loaded.function_at(address)?;
        Some((&function.name, address - function.address))
    }

    /// The first pc and number of instructions of a code section.
    pub(crate) fn section_range(&self, section: SectionIndex) -> Option<std::ops::Range<usize>> {
        let function = self.loaded.function(section)?;
        let first = ((function.address - CODE_BASE) / 16) as usize;
        Some(first..first + function.code.len() / 16)
    }
}

/// Describes a word for timing; one that is not understood, as an instruction that touches nothing.
fn describe(decoded: &Decoded, architecture: Architecture) -> Description {
    match decoded {
        Decoded::Instruction(instruction) => source::describe(instruction),
        Decoded::Unknown(word) => source::describe(&sass::Instruction {
            word: *word,
            architecture,
            opcode: sass::Opcode::NOP,
            modifiers: Default::default(),
            guard: sass::Guard::ALWAYS,
            operands: Default::default(),
            control: sass::Control::decode(*word),
        }),
    }
}

/// A kernel of a loaded module.
#[derive(Clone, Debug)]
pub struct Program {
    module: Arc<Module>,
    kernel: cubin::Kernel,
    entry: Pc,
    /// Entry functions other than the kernel: code that it cannot reach.
    others: Vec<std::ops::Range<usize>>,
}

impl Program {
    /// The kernel `name` of `cubin`, which was loaded as `module`.
    ///
    /// # Errors
    /// A kernel that is not there.
    pub fn load(cubin: &Cubin, name: &str, module: Arc<Module>) -> Result<Program, ExecError> {
        let kernel = cubin.kernel(name)?;
        Program::of_section(cubin, kernel.section, module)
    }

    /// The kernel whose code is `section`, for names that are empty or ambiguous.
    ///
    /// # Errors
    /// A section that holds no kernel.
    pub fn of_section(
        cubin: &Cubin,
        section: SectionIndex,
        module: Arc<Module>,
    ) -> Result<Program, ExecError> {
        let missing = || cubin::CubinError::NoSuchKernel {
            name: format!("section {}", section.0),
            nearest: Vec::new(),
            all: cubin.kernels().iter().map(|k| k.name.clone()).collect(),
        };
        let kernel = cubin.kernel_at(section).ok_or_else(missing)?.clone();
        let range = module.section_range(section).ok_or_else(missing)?;
        let others = cubin
            .kernels()
            .iter()
            .filter(|other| other.section != section)
            .filter_map(|other| module.section_range(other.section))
            .collect();
        let start = cubin
            .functions()
            .iter()
            .find(|f| f.section == section)
            .and_then(|f| f.symbols.iter().find(|s| s.name == kernel.name))
            .map_or(0, |symbol| symbol.offset / 16);
        let entry = Pc((range.start as u64 + start) as u32);
        Ok(Program {
            module,
            kernel,
            entry,
            others,
        })
    }

    /// The module it belongs to.
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// Name of the kernel.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// Resources and parameters of the kernel.
    pub fn kernel(&self) -> &cubin::Kernel {
        &self.kernel
    }

    /// Where the kernel begins.
    pub fn entry(&self) -> Pc {
        self.entry
    }

    /// Registers per thread.
    pub fn registers(&self) -> u32 {
        self.kernel.registers
    }

    /// Per program counter what the timing model must know of the instruction.
    pub fn descriptions(&self) -> &Arc<[Description]> {
        &self.module.descriptions
    }

    /// The decoded code image; position = program counter.
    pub fn decoded(&self) -> &[Decoded] {
        self.module.decoded()
    }

    /// Text of the instruction at `pc`.
    pub fn text(&self, pc: Pc) -> String {
        match self.decoded().get(pc.0 as usize) {
            Some(Decoded::Instruction(instruction)) => {
                // Targets are numbered as the disassembler does: from the function's beginning.
                let offset = self
                    .module
                    .locate(pc)
                    .map_or(pc.byte_address(), |(_, at)| at);
                instruction.display(offset).to_string()
            }
            Some(Decoded::Unknown(word)) => format!("{:#034x}", word.0),
            None => "outside the code".to_owned(),
        }
    }

    /// Ranges of the image that hold other kernels.
    pub(crate) fn others(&self) -> &[std::ops::Range<usize>] {
        &self.others
    }
}
