//! Where probes run: one GPU, whose memory they allocate and on which they launch kernels. What a probe
//! knows of the GPU is what a data sheet and the driver's device query tell: [`Card`].

use std::collections::BTreeMap;
use std::path::Path;

use device::launch::{Argument, DEFAULT_STACK, KernelLaunch};
use device::statistics::{InstanceKind, Instances};
use device::{Device, HazardMode, LaunchReport, LoadedCubin, PageOrder, RunError, RunOptions};
use hardware::{CardParameters, Gpu, MemoryParameters, OccupancyParameters};

use crate::error::ProbeError;
use crate::kernel::{Load, assembled};

/// Bytes of a cache line, which CUDA's programming guide tells.
pub const LINE: u64 = 128;
/// Bytes of a sector, likewise.
pub const SECTOR: u64 = 32;
/// Threads of a warp.
pub const LANES: u32 = 32;

/// What a data sheet and the driver's device query tell of a GPU.
#[derive(Debug, Clone)]
pub struct Card {
    /// Its name.
    pub name: String,
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Clock of the SMs in MHz.
    pub clock: f64,
    /// Bytes of the L2 cache.
    pub l2_bytes: u64,
    /// Bytes of the DRAM.
    pub dram_bytes: u64,
    /// Bandwidth of the DRAM in GB/s.
    pub bandwidth: f64,
    /// Warps that can be resident on an SM.
    pub warps_per_sm: u32,
}

impl Card {
    /// Cycles of the SMs in nanoseconds.
    pub fn nanoseconds(&self, cycles: f64) -> f64 {
        cycles * 1000.0 / self.clock
    }
}

/// One GPU with the kernels that were assembled for it.
pub struct Bench {
    gpu: Gpu,
    card: Card,
    options: RunOptions,
    /// By name: what is loaded on the device of the moment.
    device: Device,
    loaded: BTreeMap<String, LoadedCubin>,
    /// Address and bytes of what launches hand in and out.
    scratch: (u64, u64),
    /// Counters of each instance in the last launch, where they are asked for.
    counted: Vec<Instances>,
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Word {
    /// 32 bits.
    U32(u32),
    /// 64 bits, an address for instance.
    U64(u64),
}

impl Word {
    fn argument(self) -> Argument {
        Argument::Bytes(match self {
            Word::U32(value) => value.to_le_bytes().to_vec(),
            Word::U64(value) => value.to_le_bytes().to_vec(),
        })
    }
}

/// The shape of a launch of one-dimensional CTAs.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// CTAs.
    pub ctas: u32,
    /// Threads of each.
    pub threads: u32,
}

impl Bench {
    /// A bench with that GPU on it, whose pages lie one after the other in device memory.
    ///
    /// # Errors
    /// A GPU at fault.
    pub fn new(gpu: Gpu, threads: usize) -> Result<Bench, ProbeError> {
        Bench::with_pages(gpu, threads, PageOrder::Contiguous)
    }

    /// A bench with that GPU on it, whose pages lie as they are told to.
    ///
    /// # Errors
    /// A GPU at fault.
    pub fn with_pages(gpu: Gpu, threads: usize, pages: PageOrder) -> Result<Bench, ProbeError> {
        let sheet = CardParameters::load(&gpu)?;
        let memory = MemoryParameters::load(&gpu)?;
        let limits = OccupancyParameters::load(&gpu)?;
        let card = Card {
            name: gpu.name().to_owned(),
            sms: sheet.sms,
            clock: sheet.core_clock,
            l2_bytes: memory.l2_size,
            dram_bytes: memory.dram_size,
            bandwidth: memory.bandwidth,
            warps_per_sm: limits.warps_per_sm,
        };
        let options = RunOptions {
            threads,
            hazards: HazardMode::Off,
            ..RunOptions::default()
        };
        let device = Device::with_pages(gpu.clone(), threads, pages)
            .map_err(|error| failed("device", error))?;
        Ok(Bench {
            gpu,
            card,
            options,
            device,
            loaded: BTreeMap::new(),
            scratch: (0, 0),
            counted: Vec::new(),
        })
    }

    /// The same bench with hazards looked for in every launch; a launch with one fails.
    #[must_use]
    pub fn checked(mut self) -> Bench {
        self.options.hazards = HazardMode::Check;
        self
    }

    /// What is known of the GPU.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Allocates device memory; its content is zero.
    ///
    /// # Errors
    /// Too little memory.
    pub fn allocate(&mut self, bytes: u64, name: &str) -> Result<u64, ProbeError> {
        let memory = self.device.memory_mut();
        memory
            .allocate(bytes, name)
            .map_err(|error| failed(name, error.into()))
    }

    /// At least `bytes` of memory for what one launch hands in and out; the next call hands out the same.
    ///
    /// # Errors
    /// Too little memory.
    pub fn scratch(&mut self, bytes: u64) -> Result<u64, ProbeError> {
        if self.scratch.1 < bytes {
            let bytes = bytes.next_power_of_two().max(1 << 16);
            self.scratch = (self.allocate(bytes, "lists of a probe")?, bytes);
        }
        Ok(self.scratch.0)
    }

    /// Frees what was allocated at that address.
    pub fn free(&mut self, address: u64) {
        self.device.memory_mut().free(address);
    }

    /// Copies bytes to the device.
    ///
    /// # Errors
    /// A place that is not allocated.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), ProbeError> {
        let memory = self.device.memory_mut();
        memory
            .write(address, bytes)
            .map_err(|error| failed("a copy to the device", error.into()))
    }

    /// Copies words from the device.
    ///
    /// # Errors
    /// A place that is not allocated.
    pub fn read(&self, address: u64, words: usize) -> Result<Vec<u32>, ProbeError> {
        let mut bytes = vec![0; words * 4];
        let memory = self.device.memory();
        memory
            .read(address, &mut bytes)
            .map_err(|error| failed("a copy from the device", error.into()))?;
        let (words, _) = bytes.as_chunks::<4>();
        Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// The device, for who compares what was found with what its document says.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What `launches` gives, and the values of one counter of each instance of `kind` in its last launch.
    ///
    /// # Errors
    /// A launch that fails, a counter that is not there.
    pub fn counting<T>(
        &mut self,
        (kind, counter): (InstanceKind, &str),
        launches: impl FnOnce(&mut Bench) -> Result<T, ProbeError>,
    ) -> Result<(T, Vec<u64>), ProbeError> {
        self.options.instances = vec![kind];
        let given = launches(self);
        self.options.instances.clear();
        let given = given?;
        let counted = std::mem::take(&mut self.counted);
        let found = counted.iter().find_map(|one| one.counter(counter));
        let values = found.map(|one| one.values.clone());
        let values = values.ok_or_else(|| ProbeError::Inconclusive {
            probe: "launch",
            reason: format!("no counter {counter} of each {}", kind.name()),
        })?;
        Ok((given, values))
    }

    /// Assembles and loads a text under a name, unless that was done before, and launches its kernel.
    ///
    /// # Errors
    /// A text at fault, a launch that fails.
    pub fn launch(
        &mut self,
        name: &str,
        text: &str,
        load: Load,
        shape: Shape,
        arguments: &[Word],
    ) -> Result<LaunchReport, ProbeError> {
        let key = format!("{name}/{load:?}");
        if !self.loaded.contains_key(&key) {
            let cubin = assembled(name, text, load, &self.gpu)?;
            let loaded = self.device.load(Path::new(name), &cubin);
            let loaded = loaded.map_err(|error| failed(name, error))?;
            self.loaded.insert(key.clone(), loaded);
        }
        let Some(loaded) = self.loaded.get(&key) else {
            return Err(ProbeError::Inconclusive {
                probe: "launch",
                reason: format!("kernel {name} is not loaded"),
            });
        };
        let kernel = loaded.cubin.kernels().first().map(|kernel| &kernel.name);
        let launch = KernelLaunch {
            kernel: kernel.cloned().unwrap_or_default(),
            grid: [shape.ctas, 1, 1],
            block: [shape.threads, 1, 1],
            shared: 0,
            cooperative: false,
            stack: DEFAULT_STACK,
            arguments: arguments.iter().map(|word| word.argument()).collect(),
        };
        let prepared = self
            .device
            .prepare(loaded, &launch, &[], &[], &self.options)
            .map_err(|error| failed(name, error))?;
        let report = self
            .device
            .run(&prepared, &self.options, &mut |_| {})
            .map_err(|error| failed(name, error))?;
        let hazards = report
            .timing
            .as_ref()
            .and_then(|timing| timing.hazards.as_ref());
        let hazards = hazards.map_or(0, Vec::len);
        if hazards > 0 {
            return Err(ProbeError::Control {
                kernel: name.to_owned(),
                findings: hazards,
            });
        }
        if let Some(timing) = &report.timing {
            self.counted.clone_from(&timing.instances);
        }
        Ok(report)
    }
}

fn failed(kernel: &str, error: RunError) -> ProbeError {
    ProbeError::Run {
        kernel: kernel.to_owned(),
        error: Box::new(error),
    }
}
