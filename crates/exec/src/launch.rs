//! One kernel launch: shape, parameters and options checked, constants filled in, code lowered.

use std::sync::Arc;

use sass::{Architecture, Decoded};

use crate::constant::{Banks, driver};
use crate::error::ExecError;
use crate::isa_dispatch::HostIsa;
use crate::lanes::WARP;
use crate::lower::{Context, lower};
use crate::memory::generic::WINDOW;
use crate::memory::local::warp_bytes;
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::micro::{Micro, Op, PredicateSource, Refusals};
use crate::program::Program;
use crate::texture::TextureTable;

/// Most threads of a block.
const MAX_BLOCK_THREADS: u64 = 1024;
/// Most threads of a block in x, y, z.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// Most blocks of a grid in x, y, z.
const MAX_GRID: [u32; 3] = [0x7fff_ffff, 0xffff, 0xffff];
/// Most local memory of a thread in bytes.
const MAX_LOCAL: u64 = 512 << 10;
/// Registers of those that a kernel declares that its code may not touch (measured on an A100,
/// lab: a100_register_limit; no compiled kernel touches them).
const RESERVED_REGISTERS: u32 = 2;

/// What happens at an instruction that is not executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UnknownOp {
    /// The run ends with a fault that names it.
    #[default]
    Error,
    /// It is skipped and counted.
    Nop,
}

/// What a launch can choose besides kernel, shape and parameters.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// Dynamic shared memory of a block in bytes.
    pub dynamic_shared: u32,
    /// What happens at an instruction that is not executed.
    pub unknown_op: UnknownOp,
    /// Host instruction set, `None` for the best that this machine has.
    pub host: Option<HostIsa>,
    /// SMs of the GPU (%nsmid).
    pub sm_count: u32,
    /// Warps that an SM has room for (%nwarpid).
    pub warps_per_sm: u32,
    /// Most shared memory of a block in bytes.
    pub shared_per_cta: u32,
    /// Bytes of shared memory that the system keeps to itself in every block.
    pub reserved_shared: u32,
    /// Number of the grid (%gridid).
    pub grid_id: u64,
    /// Stack of a thread where the compiler could not bound it (`cudaLimitStackSize`).
    pub stack_limit: u32,
    /// Address of the workspace for grid barriers of cooperative launches, 0 if not cooperative.
    pub grid_workspace: u64,
    /// Textures and surfaces as they are bound when the launch is made.
    pub textures: Arc<TextureTable>,
    /// Cycles that a warp waits for the heap of device `malloc` in timing mode: at least the time
    /// to the next boundary at which requests are served.
    pub heap_wait: u64,
}

impl Default for LaunchOptions {
    fn default() -> LaunchOptions {
        LaunchOptions {
            dynamic_shared: 0,
            unknown_op: UnknownOp::Error,
            host: None,
            sm_count: 1,
            warps_per_sm: 64,
            // Without a GPU: what the shared window has room for.
            shared_per_cta: WINDOW as u32,
            reserved_shared: 0,
            grid_id: 1,
            stack_limit: 1024,
            grid_workspace: 0,
            textures: Arc::default(),
            heap_wait: 1,
        }
    }
}

/// A launch, ready to run.
#[derive(Debug)]
pub struct Launch {
    program: Arc<Program>,
    grid: [u32; 3],
    block: [u32; 3],
    options: LaunchOptions,
    host: HostIsa,
    pub(crate) banks: Banks,
    pub(crate) code: Vec<Micro>,
    pub(crate) refusals: Refusals,
    /// Rows of a warp's register file.
    pub(crate) registers: u16,
    local_bytes: u32,
    shared_bytes: u32,
}

impl Launch {
    /// Checks the launch, fills constant bank 0 and lowers the code.
    ///
    /// # Errors
    /// A grid, block, shared memory or parameter size that the machine would refuse.
    pub fn new(
        program: Arc<Program>,
        grid: [u32; 3],
        block: [u32; 3],
        parameters: &[u8],
        options: LaunchOptions,
    ) -> Result<Launch, ExecError> {
        let kernel = program.kernel();
        check_grid(grid)?;
        check_block(block, kernel)?;
        let architecture = program.module().architecture();
        let own = system_shared(kernel, architecture, options.reserved_shared);
        let limit = options.shared_per_cta.saturating_add(own);
        let shared = u64::from(kernel.static_shared) + u64::from(options.dynamic_shared);
        if shared > u64::from(limit) {
            return Err(ExecError::Shared {
                fixed: kernel.static_shared,
                dynamic: options.dynamic_shared,
                limit,
            });
        }
        if parameters.len() != kernel.parameter_size as usize {
            return Err(ExecError::Parameters {
                kernel: kernel.name.clone(),
                found: parameters.len(),
                expected: kernel.parameter_size,
            });
        }
        let stack = if kernel.stack_is_unbounded {
            u64::from(options.stack_limit)
        } else {
            0
        };
        let local = (u64::from(kernel.local_per_thread) + stack).next_multiple_of(16);
        if local > MAX_LOCAL {
            return Err(ExecError::Local {
                bytes: local,
                limit: MAX_LOCAL,
            });
        }
        let host = match options.host {
            None => HostIsa::best(),
            Some(host) if host.is_available() => host,
            Some(host) => return Err(ExecError::HostIsa(host.name())),
        };
        // Register files are handed out in units of eight.
        let registers = (kernel.registers.clamp(1, 255) as u16)
            .next_multiple_of(8)
            .min(255);
        if let Some(error) = Launch::not_relocated(&program) {
            return Err(ExecError::Cubin(error.clone()));
        }
        let mut launch = Launch {
            grid,
            block,
            host,
            banks: Banks::new(),
            code: Vec::new(),
            refusals: Vec::new(),
            registers,
            local_bytes: local as u32,
            shared_bytes: shared as u32,
            options,
            program: Arc::clone(&program),
        };
        launch.fill_banks(parameters);
        launch.bind_references()?;
        launch.lower();
        Ok(launch)
    }

    fn fill_banks(&mut self, parameters: &[u8]) {
        let program = Arc::clone(&self.program);
        let kernel = program.kernel();
        let architecture = program.module().architecture();
        let loaded = program.module().loaded();
        for bank in 1..32 {
            if let Some(bytes) = loaded.constant_bank(bank, Some(kernel.section)) {
                self.banks.set(bank, bytes.to_vec());
            }
        }
        let base = kernel.parameter_base as usize;
        let size = (base + parameters.len())
            .max(driver::AREA)
            .max(kernel.constant0_size as usize);
        let mut bank0 = vec![0; size.next_multiple_of(8)];
        if let Some(place) = bank0.get_mut(base..base + parameters.len()) {
            place.copy_from_slice(parameters);
        }
        self.banks.set(0, bank0);
        for axis in 0..3 {
            let offset = 4 * axis as u32;
            self.banks
                .write_driver_word(driver::BLOCK + offset, self.block[axis]);
            self.banks
                .write_driver_word(driver::GRID + offset, self.grid[axis]);
        }
        self.banks
            .write_driver_wide(driver::SHARED_WINDOW, SHARED_WINDOW);
        self.banks
            .write_driver_wide(driver::LOCAL_WINDOW, LOCAL_WINDOW);
        self.banks
            .write_driver_word(driver::STACK_POINTER, self.local_bytes);
        self.banks
            .write_driver_word(driver::DYNAMIC_SHARED, self.options.dynamic_shared);
        self.banks
            .write_driver_wide(driver::GRID_ID, self.options.grid_id);
        let hopper = architecture >= Architecture::Sm90;
        let workspace = self.options.grid_workspace;
        let place = if hopper {
            driver::GRID_WORKSPACE_90
        } else {
            driver::GRID_WORKSPACE
        };
        self.banks
            .write_driver_word(place, (workspace >> 32) as u32);
        self.banks.write_driver_word(place + 4, workspace as u32);
        self.banks
            .write_driver_word(driver::SM_COUNT, self.options.sm_count);
        self.banks
            .write_driver_word(driver::RESERVED_SHARED, self.options.reserved_shared);
        let place = if hopper {
            driver::GLOBAL_DESCRIPTOR_90
        } else {
            driver::GLOBAL_DESCRIPTOR
        };
        self.banks.write_driver_wide(place, 0);
        if hopper {
            for offset in driver::CLUSTER_90 {
                self.banks.write_driver_word(offset, 1);
            }
            for axis in 0..3 {
                let offset = driver::CLUSTERS_90 + 4 * axis as u32;
                self.banks.write_driver_word(offset, self.grid[axis]);
            }
        }
    }

    /// Code that could not be relocated, if it is the kernel's or that of a function.
    fn not_relocated(program: &Program) -> Option<&cubin::CubinError> {
        let module = program.module();
        let of_another = |range: &std::ops::Range<usize>| program.others().contains(range);
        let refused = &module.loaded().refused;
        let reached = refused.iter().find(|(section, _)| {
            let range = module.section_range(*section);
            !range.is_some_and(|range| of_another(&range))
        });
        reached.map(|(_, error)| error)
    }

    /// Puts the handles of textures and surfaces where the kernel has references of their names.
    fn bind_references(&mut self) -> Result<(), ExecError> {
        let program = Arc::clone(&self.program);
        let kernel = program.kernel();
        let architecture = program.module().architecture();
        let loaded = program.module().loaded();
        let own = |bank: &&cubin::ConstantBank| bank.function == Some(kernel.section);
        for bank in loaded.constants.iter().filter(own) {
            let here = |reference: &&cubin::Reference| reference.section == bank.section;
            for reference in loaded.references.iter().filter(here) {
                let cubin::Reference {
                    name, is_surface, ..
                } = reference;
                let handle = self.options.textures.named(name, *is_surface, architecture);
                let handle = handle.ok_or_else(|| ExecError::Reference {
                    name: name.clone(),
                    kind: if *is_surface { "surface" } else { "texture" },
                })?;
                self.banks
                    .write_word(bank.bank, reference.offset as u32, handle);
            }
        }
        Ok(())
    }

    fn lower(&mut self) {
        let program = Arc::clone(&self.program);
        let decoded = program.decoded();
        let mut code = Vec::with_capacity(decoded.len());
        let mut refusals = Vec::new();
        let mut others: Vec<_> = program.others().to_vec();
        others.sort_by_key(|range| range.start);
        let mut others = others.into_iter().peekable();
        for (pc, decoded) in decoded.iter().enumerate() {
            while others.next_if(|range| range.end <= pc).is_some() {}
            // Another kernel's code is not reached; its constants may not be there.
            if others.peek().is_some_and(|range| range.contains(&pc)) {
                code.push(Micro {
                    op: Op::Refused(u32::MAX),
                    guard: PredicateSource::TRUE,
                });
                continue;
            }
            let context = Context {
                pc: pc as u32,
                registers: self.registers,
                banks: &self.banks,
            };
            code.push(match decoded {
                Decoded::Instruction(instruction) => match lower(instruction, context) {
                    Ok(micro) => match self.beyond_registers(instruction) {
                        Some(register) => Micro {
                            op: Op::BeyondRegisters(register),
                            guard: micro.guard,
                        },
                        None => micro,
                    },
                    Err(refusal) => {
                        let text = instruction.display(pc as u64 * 16);
                        refusals.push(format!("{text}: {refusal}"));
                        let guard = &instruction.guard;
                        Micro {
                            op: Op::Refused(refusals.len() as u32 - 1),
                            guard: PredicateSource::new(
                                guard.predicate.0,
                                guard.negate,
                                guard.uniform,
                            ),
                        }
                    }
                },
                Decoded::Unknown(_) => {
                    refusals.push("no row of the encoding table describes this word".to_owned());
                    Micro {
                        op: Op::Refused(refusals.len() as u32 - 1),
                        guard: PredicateSource::TRUE,
                    }
                }
            });
        }
        self.code = code;
        self.refusals = refusals;
    }

    /// Registers of a thread that the code may touch: the hardware keeps some of those that the kernel
    /// declares to itself.
    pub(crate) fn usable_registers(&self) -> u32 {
        self.program
            .kernel()
            .registers
            .saturating_sub(RESERVED_REGISTERS)
    }

    /// The highest register that an instruction touches, if it is beyond the usable ones.
    fn beyond_registers(&self, instruction: &sass::Instruction) -> Option<u8> {
        let footprint = sass::footprint(instruction);
        footprint
            .reads
            .iter()
            .chain(&footprint.writes)
            .filter(|one| one.file == sass::File::General)
            .map(|one| one.first.saturating_add(one.count.saturating_sub(1)))
            .max()
            .filter(|&highest| u32::from(highest) >= self.usable_registers())
    }

    /// The kernel.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Blocks in x, y, z.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// Threads of a block in x, y, z.
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// Blocks in all.
    pub fn ctas(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Threads of a block.
    pub fn threads_per_cta(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps of a block.
    pub fn warps_per_cta(&self) -> u32 {
        self.threads_per_cta().div_ceil(WARP as u32)
    }

    /// Static and dynamic shared memory of a block in bytes.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// Shared memory that the system takes besides, per block, in bytes.
    pub fn reserved_shared(&self) -> u32 {
        let architecture = self.program.module().architecture();
        let reserved = self.options.reserved_shared;
        reserved - system_shared(self.program.kernel(), architecture, reserved)
    }

    /// Local memory of a thread in bytes.
    pub fn local_bytes(&self) -> u32 {
        self.local_bytes
    }

    /// Bytes of device addresses that the local memory of a warp takes.
    pub fn local_bytes_of_warp(&self) -> u64 {
        warp_bytes(self.local_bytes)
    }

    /// Sets the local memory of a thread, for tests.
    #[cfg(test)]
    pub(crate) fn set_local_bytes(&mut self, bytes: u32) {
        self.local_bytes = bytes;
    }

    /// Options of the launch.
    pub fn options(&self) -> &LaunchOptions {
        &self.options
    }

    /// The host instruction set that executes it.
    pub fn host(&self) -> HostIsa {
        self.host
    }

    /// Index in the grid of the CTA with this linear number.
    pub fn cta_index(&self, cta: u64) -> [u32; 3] {
        let (x, y) = (u64::from(self.grid[0]), u64::from(self.grid[1]));
        [(cta % x) as u32, (cta / x % y) as u32, (cta / x / y) as u32]
    }

    /// Thread index in its CTA of the thread with this linear number.
    pub fn thread_index(&self, thread: u32) -> [u32; 3] {
        let (x, y) = (self.block[0], self.block[1]);
        [thread % x, thread / x % y, thread / x / y]
    }

    /// Whether the kernel's code fetches from textures.
    pub fn samples_textures(&self) -> bool {
        self.code
            .iter()
            .any(|micro| matches!(micro.op, Op::Texture(_)))
    }

    /// Instructions of the kernel's code that would not execute: pc and reason.
    pub fn refused(&self) -> impl Iterator<Item = (source::Pc, &str)> {
        self.code
            .iter()
            .enumerate()
            .filter_map(|(pc, micro)| match micro.op {
                Op::Refused(index) => self
                    .refusals
                    .get(index as usize)
                    .map(|reason| (source::Pc(pc as u32), reason.as_str())),
                _ => None,
            })
    }
}

/// Bytes of a kernel's static shared memory that are the system's, of the `reserved` ones that it keeps
/// in every block: from sm_90 on the kernel's variables begin behind them.
pub fn system_shared(kernel: &cubin::Kernel, architecture: Architecture, reserved: u32) -> u32 {
    if architecture >= Architecture::Sm90 {
        kernel.static_shared.min(reserved)
    } else {
        0
    }
}

fn check_grid(grid: [u32; 3]) -> Result<(), ExecError> {
    for axis in 0..3 {
        if grid[axis] == 0 || grid[axis] > MAX_GRID[axis] {
            let axis_name = ["x", "y", "z"][axis];
            return Err(ExecError::Grid {
                grid,
                reason: format!("{axis_name} must be 1 to {}", MAX_GRID[axis]),
            });
        }
    }
    Ok(())
}

fn check_block(block: [u32; 3], kernel: &cubin::Kernel) -> Result<(), ExecError> {
    let refuse = |reason: String| Err(ExecError::Block { block, reason });
    for axis in 0..3 {
        if block[axis] == 0 || block[axis] > MAX_BLOCK[axis] {
            let axis_name = ["x", "y", "z"][axis];
            return refuse(format!("{axis_name} must be 1 to {}", MAX_BLOCK[axis]));
        }
    }
    let threads: u64 = block.iter().map(|&n| u64::from(n)).product();
    if threads > MAX_BLOCK_THREADS {
        return refuse(format!("{threads} threads; at most {MAX_BLOCK_THREADS}"));
    }
    if let Some(required) = kernel.required_threads
        && block != required
    {
        return refuse(format!(
            "kernel `{}` was compiled for {required:?}",
            kernel.name
        ));
    }
    if let Some(most) = kernel.max_threads {
        let most_threads: u64 = most.iter().map(|&n| u64::from(n.max(1))).product();
        if threads > most_threads {
            return refuse(format!(
                "{threads} threads; kernel `{}` was compiled for at most {most_threads}",
                kernel.name
            ));
        }
    }
    Ok(())
}
