//! A GPU with its memory: modules and buffers go in, launches run on it one after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cubin::{Container, Cubin};
use exec::texture::{Image, Sampler, TextureIndex, TextureTable};
use exec::{GlobalMemory, LaunchOptions, Module, PageOrder, Program};
use hardware::{
    CardParameters, CtaFootprint, Gpu, LaunchParameters, MemoryParameters, Occupancy,
    OccupancyParameters,
};
use memory::MemorySystem;
use sm::SmParameters;

use crate::engine::{EngineParameters, Progress, Threads};
use crate::error::RunError;
use crate::launch::{Argument, KernelLaunch, pack};
use crate::options::{Mode, RunOptions};
use crate::pages::DriverFrames;
use crate::report::LaunchReport;

/// A simulated GPU.
#[derive(Debug)]
pub struct Device {
    pub(crate) gpu: Gpu,
    pub(crate) card: CardParameters,
    pub(crate) dram: MemoryParameters,
    pub(crate) limits: OccupancyParameters,
    pub(crate) launching: LaunchParameters,
    pub(crate) engine: EngineParameters,
    pub(crate) sm: Arc<SmParameters>,
    pub(crate) global: GlobalMemory,
    pub(crate) driver_frames: DriverFrames,
    pub(crate) beyond: MemorySystem,
    pub(crate) threads: Threads,
    textures: Arc<TextureTable>,
    launches: u64,
    /// Address and bytes of what the host has copied since the last launch with timing.
    pub(crate) copied: Vec<(u64, u64)>,
    /// Address of the workspace for grid barriers, once a cooperative launch has asked for it.
    grid_workspace: Option<u64>,
}

/// Bytes of the workspace for grid barriers. Cooperative groups use two words: the size and a
/// counter, of which the counter at byte 4 is touched on the device.
const GRID_WORKSPACE: u64 = 64;

/// Bytes of an instruction in the code image.
const INSTRUCTION_BYTES: u64 = 16;

/// A file of code, read but not loaded: the cubins in it that the GPU can run.
#[derive(Debug)]
pub struct Code {
    /// Its path, for messages.
    pub file: std::path::PathBuf,
    /// One for each module of the program, in file order.
    pub cubins: Vec<Cubin>,
}

impl Code {
    /// Position of the cubin that holds the kernel.
    ///
    /// # Errors
    /// None does.
    pub fn holder(&self, kernel: &str) -> Result<usize, RunError> {
        cubin::find_kernel(&self.cubins, kernel).map_err(|error| RunError::Cubin {
            file: self.file.clone(),
            error: Box::new(error),
        })
    }
}

/// A cubin loaded on a device.
#[derive(Debug)]
pub struct LoadedCubin {
    /// Its path, for messages.
    pub file: std::path::PathBuf,
    /// What it holds.
    pub cubin: Cubin,
    /// Its code and variables on the device.
    pub module: Arc<Module>,
}

/// A launch that has been found possible.
#[derive(Debug)]
pub struct Prepared {
    pub(crate) launch: Arc<exec::Launch>,
    pub(crate) occupancy: Occupancy,
}

impl Device {
    /// A device with nothing on it, whose pages will lie in neighbouring frames.
    ///
    /// # Errors
    /// Parameters of the GPU that are missing or do not fit each other, threads that cannot be had.
    pub fn new(gpu: Gpu, threads: usize) -> Result<Device, RunError> {
        Device::with_pages(gpu, threads, PageOrder::Contiguous)
    }

    /// A device with nothing on it, whose pages will get frames in `order`.
    ///
    /// # Errors
    /// As [`Device::new`].
    pub fn with_pages(gpu: Gpu, threads: usize, order: PageOrder) -> Result<Device, RunError> {
        let card = CardParameters::load(&gpu)?;
        let dram = MemoryParameters::load(&gpu)?;
        let limits = OccupancyParameters::load(&gpu)?;
        let launching = LaunchParameters::load(&gpu)?;
        let engine = EngineParameters::load(&gpu)?;
        let sm = SmParameters::load(&gpu)?;
        let beyond = MemorySystem::new(&gpu)?;
        let most = beyond.request_latency() + beyond.reply_latency();
        if engine.visibility_quantum > most {
            return Err(RunError::Quantum {
                quantum: engine.visibility_quantum,
                most,
            });
        }
        if !dram.page_size.is_power_of_two() {
            return Err(gpu.misfit("memory.page_size", "a power of two").into());
        }
        let global = GlobalMemory::with_pages(dram.dram_size, dram.page_size, order);
        let threads = Threads::new(threads).map_err(|error| RunError::Threads {
            count: threads,
            reason: error.to_string(),
        })?;
        Ok(Device {
            gpu,
            card,
            dram,
            limits,
            launching,
            engine,
            sm,
            global,
            driver_frames: DriverFrames::default(),
            beyond,
            threads,
            textures: Arc::default(),
            launches: 0,
            copied: Vec::new(),
            grid_workspace: None,
        })
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Device memory.
    pub fn memory(&self) -> &GlobalMemory {
        &self.global
    }

    /// Device memory, to be written.
    pub fn memory_mut(&mut self) -> &mut GlobalMemory {
        &mut self.global
    }

    /// Notes that the host has copied `bytes` bytes to `address`, which leaves lines in L2
    /// ([`RunOptions::warm_l2`]).
    pub fn copied(&mut self, address: u64, bytes: u64) {
        self.copied.push((address, bytes));
    }

    /// Makes a texture of an image in device memory, or a surface if there is no sampler. Launches
    /// prepared from now on see it.
    ///
    /// # Errors
    /// A sampler that does not fit the image, or too many textures.
    pub fn add_texture(
        &mut self,
        image: Image,
        sampler: Option<Sampler>,
    ) -> Result<TextureIndex, RunError> {
        let table = Arc::make_mut(&mut self.textures);
        Ok(match sampler {
            Some(sampler) => table.add_texture(image, sampler)?,
            None => table.add_surface(image)?,
        })
    }

    /// Reads a file of code: a cubin, a fatbin, or a host executable or object with fatbins in it,
    /// of which the images are taken that the driver would take for this GPU.
    ///
    /// # Errors
    /// A file that is malformed, or that has no code which the GPU can run.
    pub fn open(&self, file: &Path, bytes: &[u8]) -> Result<Code, RunError> {
        let wrong = |error| RunError::Cubin {
            file: file.to_owned(),
            error: Box::new(error),
        };
        let hardware = self.card.architecture;
        let container = Container::parse(bytes).map_err(wrong)?;
        let mut cubins = Vec::new();
        for unpacked in container.cubins_for(hardware).map_err(wrong)? {
            let cubin = Cubin::parse(&unpacked.bytes).map_err(wrong)?;
            if !runs_on(cubin.sm(), hardware) {
                return Err(RunError::WrongArchitecture {
                    file: file.to_owned(),
                    code: cubin.sm(),
                    gpu: self.gpu.name().to_owned(),
                    hardware,
                });
            }
            cubins.push(cubin);
        }
        Ok(Code {
            file: file.to_owned(),
            cubins,
        })
    }

    /// Loads a cubin of a file: its code and its variables get their places on the device.
    ///
    /// # Errors
    /// A cubin that cannot be loaded, or whose variables do not fit the device's memory.
    pub fn load(&mut self, file: &Path, cubin: &Cubin) -> Result<LoadedCubin, RunError> {
        let module = Module::load(cubin, &mut self.global).map_err(|error| match error {
            exec::ExecError::Cubin(error) => RunError::Cubin {
                file: file.to_owned(),
                error: Box::new(error),
            },
            error => RunError::from(error),
        })?;
        let bytes = module.decoded().len() as u64 * INSTRUCTION_BYTES;
        self.copied(exec::CODE_BASE, bytes);
        Ok(LoadedCubin {
            file: file.to_owned(),
            cubin: cubin.clone(),
            module: Arc::new(module),
        })
    }

    /// Checks a launch against kernel and GPU and makes it ready. `addresses[i]` is the device address
    /// of buffer i, `textures[i]` texture or surface i.
    ///
    /// # Errors
    /// A kernel that is not there, arguments that do not fit it, a shape that the GPU refuses.
    pub fn prepare(
        &mut self,
        loaded: &LoadedCubin,
        wanted: &KernelLaunch,
        addresses: &[u64],
        textures: &[TextureIndex],
        options: &RunOptions,
    ) -> Result<Prepared, RunError> {
        let kernel = loaded
            .cubin
            .kernel(&wanted.kernel)
            .map_err(|error| RunError::Cubin {
                file: loaded.file.clone(),
                error: Box::new(error),
            })?;
        let architecture = loaded.module.architecture();
        let handles: Vec<u64> = textures
            .iter()
            .map(|&index| self.textures.handle(index, architecture))
            .collect();
        let parameters = pack(&wanted.arguments, kernel, addresses, &handles)?;
        let name = || kernel.name.clone();
        if loaded.cubin.externs().iter().any(|e| e.name == "malloc") {
            self.global
                .reserve_heap(options.heap.unwrap_or(exec::DEFAULT_HEAP))?;
        }
        self.launching
            .accept(wanted.grid, wanted.block, kernel.parameter_size)
            .map_err(|error| RunError::Launch {
                kernel: name(),
                error,
            })?;
        // What the system reserves in every CTA is counted by the occupancy itself.
        let reserved = self.limits.shared_reserved_per_cta;
        let architecture = loaded.module.architecture();
        let own = kernel.static_shared - exec::system_shared(kernel, architecture, reserved);
        let shared = u64::from(own) + u64::from(wanted.shared);
        let occupancy = self
            .limits
            .occupancy(&CtaFootprint {
                threads: wanted.block.iter().product(),
                registers_per_thread: kernel.registers,
                shared: u32::try_from(shared).unwrap_or(u32::MAX),
                barriers: kernel.barriers,
            })
            .map_err(|error| RunError::Occupancy {
                kernel: name(),
                error,
            })?;
        let wrong = |error| RunError::Exec {
            kernel: name(),
            error: Box::new(error),
        };
        let program =
            Program::of_section(&loaded.cubin, kernel.section, Arc::clone(&loaded.module))
                .map_err(wrong)?;
        let grid_workspace = if wanted.cooperative {
            let ctas: u64 = wanted.grid.iter().map(|&n| u64::from(n)).product();
            let most = u64::from(occupancy.ctas_per_sm) * u64::from(self.card.sms);
            if ctas > most {
                return Err(RunError::Cooperative {
                    kernel: name(),
                    ctas,
                    most,
                });
            }
            match self.grid_workspace {
                Some(address) => address,
                None => {
                    let name = "the workspace of grid barriers";
                    let address = self.global.allocate(GRID_WORKSPACE, name)?;
                    *self.grid_workspace.insert(address)
                }
            }
        } else {
            0
        };
        self.launches += 1;
        let launch = exec::Launch::new(
            Arc::new(program),
            wanted.grid,
            wanted.block,
            &parameters,
            LaunchOptions {
                dynamic_shared: wanted.shared,
                unknown_op: options.unknown_op,
                host: options.host_isa,
                sm_count: self.card.sms,
                warps_per_sm: self.limits.warps_per_sm,
                shared_per_cta: self.limits.shared_per_cta,
                reserved_shared: reserved,
                grid_id: self.launches,
                textures: Arc::clone(&self.textures),
                stack_limit: wanted.stack,
                grid_workspace,
                heap_wait: self.engine.visibility_quantum,
            },
        )
        .map_err(wrong)?;
        if options.mode == Mode::Timing {
            self.reserve_frames(&launch)?;
        }
        Ok(Prepared {
            launch: Arc::new(launch),
            occupancy,
        })
    }

    /// Runs a launch to its end.
    ///
    /// # Errors
    /// A fault of the program, or a launch that does not end.
    pub fn run(
        &mut self,
        prepared: &Prepared,
        options: &RunOptions,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<LaunchReport, RunError> {
        let start = Instant::now();
        let mut report = match options.mode {
            Mode::Timing => self.run_timed(prepared, options, progress)?,
            Mode::Functional => self.run_functional(prepared, options)?,
        };
        let printed = self.global.take_printed();
        if printed.calls > 0 {
            let calls = printed.calls;
            let line = format!("the time that printf takes on the device ({calls} calls)");
            report.not_modelled.push(line);
        }
        if printed.lost > 0 {
            let lost = printed.lost;
            let line = format!("{lost} calls of printf: overwritten, the buffer holds 1 MiB");
            report.not_modelled.push(line);
        }
        report.printed = printed.text;
        report.host_seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }

    /// What is known of a launch before it runs.
    pub(crate) fn blank_report(&self, prepared: &Prepared, mode: Mode) -> LaunchReport {
        let launch = &prepared.launch;
        let kernel = launch.program().kernel();
        LaunchReport {
            kernel: kernel.name.clone(),
            gpu: self.gpu.name().to_owned(),
            gpu_title: self.gpu.title().to_owned(),
            architecture: launch.program().module().architecture().number(),
            mode,
            grid: launch.grid(),
            block: launch.block(),
            registers: kernel.registers,
            static_shared: kernel.static_shared,
            dynamic_shared: launch.options().dynamic_shared,
            occupancy: prepared.occupancy.clone(),
            warps_per_sm: self.limits.warps_per_sm,
            warp_instructions: 0,
            thread_instructions: 0,
            printed: String::new(),
            timing: None,
            not_modelled: Vec::new(),
            threads: match mode {
                Mode::Timing => self.threads.count(),
                Mode::Functional => 1,
            },
            host_seconds: 0.0,
        }
    }
}

/// Whether a GPU of architecture `hardware` runs code for `code`: same generation, not newer.
fn runs_on(code: u32, hardware: u32) -> bool {
    code / 10 == hardware / 10 && code <= hardware
}

impl KernelLaunch {
    /// The buffers that the launch is given.
    pub fn buffers(&self) -> impl Iterator<Item = usize> + '_ {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Buffer { buffer, .. } => Some(*buffer),
            _ => None,
        })
    }
}
