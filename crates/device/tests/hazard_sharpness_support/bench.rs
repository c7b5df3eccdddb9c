//! One SM that runs a launch from a cubin's bytes, with a record of every issue.

use std::path::Path;
use std::sync::Arc;

use cubin::Cubin;
use device::engine::{Engine, EngineParameters, HangKind, Parts, Stop, Threads};
use device::launch::{Buffer, Contents, KernelLaunch, TextureObject, Workload, pack, place_images};
use exec::texture::TextureTable;
use exec::{CODE_BASE, GlobalMemory, LaunchOptions, Module, Program, SmState};
use hardware::{
    CardParameters, CtaFootprint, Gpu, LaunchParameters, MemoryParameters, OccupancyParameters,
};
use memory::MemorySystem;
use sm::{Hazard, Sm, SmParameters};
use source::{
    CtaSlot, Cycle, Effect, Fault, LaneMask, Pc, Performed, SmId, Source, Token, WarpMask, WarpSlot,
};

/// One SM, and nothing that keeps instructions apart by chance: cold caches would hide most of what is
/// to be found.
const SETTINGS: [&str; 3] = [
    "card.sms=1",
    "l0_instruction_cache.perfect=true",
    "constant_operand_cache.perfect=true",
];

/// Cycles after which a launch is given up.
const MAX_CYCLES: u64 = 2_000_000;

/// A GPU of one SM.
pub struct Bench {
    gpu: Gpu,
    card: CardParameters,
    limits: OccupancyParameters,
    launching: LaunchParameters,
    engine: EngineParameters,
    sm: Arc<SmParameters>,
    dram_size: u64,
    beyond: MemorySystem,
    threads: Threads,
}

/// One issue of a warp instruction.
#[derive(Clone, Copy, Debug)]
pub struct Issue {
    /// When.
    pub cycle: u64,
    /// Position in the code image.
    pub pc: u32,
    /// Lanes in which it took effect.
    pub lanes: LaneMask,
    /// Lanes whose guard was read.
    pub active: LaneMask,
}

/// Everything one warp issued, in order.
pub type Warp = Vec<Issue>;

/// What a run gave.
pub struct Outcome {
    /// What the hazard check found.
    pub hazards: Vec<Hazard>,
    /// What each warp issued.
    pub warps: Vec<Warp>,
}

/// What a launch finds in device memory.
#[derive(Clone, PartialEq)]
pub struct Image {
    /// The initial contents of the buffers: bytes and, unless all are zero, values.
    pub buffers: Vec<(u64, Option<Vec<u8>>)>,
    /// Textures and surfaces on them.
    pub objects: Vec<TextureObject>,
}

impl Bench {
    /// One SM of `gpu`.
    pub fn new(name: &str) -> Bench {
        let mut gpu = Gpu::load(name).expect(name);
        gpu.check(&device::declarations()).expect(name);
        for setting in SETTINGS {
            gpu.set(setting).expect(name);
        }
        Bench {
            card: CardParameters::load(&gpu).expect(name),
            limits: OccupancyParameters::load(&gpu).expect(name),
            launching: LaunchParameters::load(&gpu).expect(name),
            engine: EngineParameters::load(&gpu).expect(name),
            sm: SmParameters::load(&gpu).expect(name),
            dram_size: MemoryParameters::load(&gpu).expect(name).dram_size,
            beyond: MemorySystem::new(&gpu).expect(name),
            threads: Threads::new(1).expect("one thread"),
            gpu,
        }
    }

    /// Runs `wanted` with the code in `bytes`.
    ///
    /// # Errors
    /// Why the launch cannot be made or did not end.
    pub fn run(
        &mut self,
        bytes: &[u8],
        wanted: &KernelLaunch,
        image: &Image,
    ) -> Result<Outcome, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let cubin = Cubin::parse(bytes).map_err(|error| text(&error))?;
        let mut global = GlobalMemory::with_capacity(self.dram_size);
        let mut addresses = Vec::new();
        for (size, contents) in &image.buffers {
            let address = global.allocate(*size, "").map_err(|error| text(&error))?;
            if let Some(contents) = contents {
                global
                    .write(address, contents)
                    .map_err(|error| text(&error))?;
            }
            addresses.push(address);
        }
        let module = Module::load(&cubin, &mut global).map_err(|error| text(&error))?;
        let kernel = cubin.kernel(&wanted.kernel).map_err(|error| text(&error))?;
        let mut textures = TextureTable::default();
        let mut handles = Vec::new();
        let images =
            place_images(&image.objects, &addresses, &mut global).map_err(|error| text(&error))?;
        for (object, image) in image.objects.iter().zip(images) {
            let index = match object.sampler {
                Some(sampler) => textures.add_texture(image, sampler),
                None => textures.add_surface(image),
            };
            let index = index.map_err(|error| text(&error))?;
            handles.push(textures.handle(index, module.architecture()));
        }
        let parameters =
            pack(&wanted.arguments, kernel, &addresses, &handles).map_err(|error| text(&error))?;
        let occupancy = self
            .limits
            .occupancy(&CtaFootprint {
                threads: wanted.block.iter().product(),
                registers_per_thread: kernel.registers,
                shared: kernel.static_shared + wanted.shared,
                barriers: kernel.barriers,
            })
            .map_err(|error| text(&error))?;
        let program = Program::of_section(&cubin, kernel.section, Arc::new(module))
            .map_err(|error| text(&error))?;
        let options = LaunchOptions {
            dynamic_shared: wanted.shared,
            textures: Arc::new(textures),
            ..LaunchOptions::default()
        };
        let launch = exec::Launch::new(
            Arc::new(program),
            wanted.grid,
            wanted.block,
            &parameters,
            options,
        )
        .map_err(|error| text(&error))?;
        let launch = Arc::new(launch);
        let program = sm::Program::new(launch.program().descriptions(), &self.gpu, &self.sm)
            .map_err(|error| text(&error))?;
        let shape = sm::Launch {
            program,
            warps_per_cta: occupancy.warps_per_cta,
            ctas_per_sm: occupancy.ctas_per_sm,
            warps_per_sm: self.limits.warps_per_sm,
            l1_bytes: occupancy.l1_size,
            hazards: sm::HazardMode::Check,
            watch: false,
            walk: None,
            code_address: CODE_BASE,
            constant_address: CODE_BASE + (1 << 32),
            pages: Default::default(),
        };
        self.beyond.flush();
        self.beyond.reset_statistics();
        let mut engine = Engine::new(Parts {
            sms: vec![Sm::new(SmId(0), self.sm.clone(), &shape)],
            sources: vec![Recorder {
                inner: SmState::new(launch.clone(), SmId(0)),
                running: Vec::new(),
                ended: Vec::new(),
            }],
            shared: &mut global,
            memory: &mut self.beyond,
            ctas: launch.ctas(),
            ctas_per_sm: occupancy.ctas_per_sm,
            grants_per_cycle: self.launching.ctas_per_sm_cycle,
            threads: &self.threads,
            quantum: self.engine.visibility_quantum,
            window: None,
            max_cycles: MAX_CYCLES,
        });
        let ended = engine.run(&mut |_| ()).map_err(|stop| match stop {
            Stop::Fault { fault, .. } => format!("fault: {:?}", fault.kind),
            Stop::Hang(hang) => match hang.kind {
                HangKind::Deadlock => "deadlock".to_owned(),
                HangKind::MaxCycles(_) => "too long".to_owned(),
            },
        })?;
        let (sms, mut sources) = engine.close(ended);
        let recorder = sources.remove(0);
        Ok(Outcome {
            hazards: sms[0].hazards().to_vec(),
            warps: recorder.warps(),
        })
    }

    /// The card.
    pub fn card(&self) -> &CardParameters {
        &self.card
    }
}

/// The first contents of `buffers`; file contents lie in `folder`.
pub fn image(workload: &Workload, folder: &Path) -> Image {
    let bytes = |buffer: &Buffer| match &buffer.contents {
        contents if contents.is_zero() => None,
        Contents::Computed(initializer) => Some(
            reference::initialize(initializer, buffer.element, buffer.count as usize)
                .unwrap_or_else(|error| panic!("{}: {error}", buffer.name)),
        ),
        Contents::File(name) => Some(
            std::fs::read(folder.join(name))
                .unwrap_or_else(|error| panic!("{}: {error}", buffer.name)),
        ),
        Contents::Pointers { .. } => {
            panic!("{}: its contents follow from its address", buffer.name)
        }
    };
    Image {
        buffers: workload
            .buffers
            .iter()
            .map(|buffer| (buffer.bytes(), bytes(buffer)))
            .collect(),
        objects: workload.objects.clone(),
    }
}

/// A source that notes what it is asked to issue.
struct Recorder {
    inner: SmState,
    running: Vec<Warp>,
    ended: Vec<Warp>,
}

impl Recorder {
    fn warps(self) -> Vec<Warp> {
        let mut warps = self.ended;
        warps.extend(self.running);
        warps.retain(|warp| !warp.is_empty());
        warps
    }
}

impl Source for Recorder {
    type Shared = GlobalMemory;

    fn start_cta(&mut self, shared: &GlobalMemory, cta: u64, slot: CtaSlot, warps: &[WarpSlot]) {
        for warp in warps {
            let place = usize::from(warp.0);
            if self.running.len() <= place {
                self.running.resize_with(place + 1, Vec::new);
            }
            self.ended.push(std::mem::take(&mut self.running[place]));
        }
        self.inner.start_cta(shared, cta, slot, warps);
    }

    fn pc(&self, warp: WarpSlot) -> Pc {
        self.inner.pc(warp)
    }

    fn next_lanes(&self, warp: WarpSlot) -> LaneMask {
        self.inner.next_lanes(warp)
    }

    fn issue(
        &mut self,
        shared: &GlobalMemory,
        warp: WarpSlot,
        pc: Pc,
        clock: Cycle,
        effect: &mut Effect,
    ) -> Result<(), Fault> {
        self.inner.issue(shared, warp, pc, clock, effect)?;
        self.running[usize::from(warp.0)].push(Issue {
            cycle: clock.0,
            pc: pc.0,
            lanes: effect.lanes,
            active: effect.active,
        });
        Ok(())
    }

    fn complete(&mut self, token: Token) {
        self.inner.complete(token);
    }

    fn perform(&mut self, shared: &mut GlobalMemory, performed: Performed) {
        self.inner.perform(shared, performed);
    }

    fn publish(sources: &mut [Self], shared: &mut GlobalMemory) {
        for source in sources {
            SmState::publish(std::slice::from_mut(&mut source.inner), shared);
        }
    }

    fn waiting(&self, warp: WarpSlot) -> Option<String> {
        self.inner.waiting(warp)
    }

    fn sm(&self) -> SmId {
        self.inner.sm()
    }

    fn live_warps(&self, slot: CtaSlot) -> WarpMask {
        self.inner.live_warps(slot)
    }
}
