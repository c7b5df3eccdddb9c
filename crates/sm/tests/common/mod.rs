//! A scripted source: straight-line instructions described by hand, and a bench that records when each
//! one is issued.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used)]

pub mod random;

use std::sync::Arc;

use sass::{Class, Control, File, Footprint, Role, Use};
use sm::{Launch, Program, Sm, SmParameters};
use source::{
    Access, ConstantUse, CtaSlot, Cycle, Description, Effect, Fault, MemoryKind, MemoryShape,
    Operation, Pc, Performed, Reply, SmId, Source, Space, Special, Token, WarpMask, WarpSlot,
};

/// What an instruction of the script does.
#[derive(Clone, Debug)]
pub struct Step {
    pub description: Description,
    pub access: Option<(Space, Operation, u8)>,
    /// Bytes from the common address.
    pub distance: u64,
    pub ends: bool,
    /// Waits until all warps are here.
    pub barrier: bool,
    /// The first four warps end here.
    pub leaves: bool,
    /// All lanes take part, each with the element behind its neighbour's.
    pub all_lanes: bool,
}

/// Control bits: stall 1, nothing else.
pub fn plain() -> Control {
    Control {
        stall: 1,
        yields: false,
        write_counter: None,
        read_counter: None,
        wait_mask: 0,
        reuse: 0,
    }
}

pub fn read(register: u8, slot: u8, class: Class) -> Use {
    Use {
        file: File::General,
        first: register,
        count: 1,
        role: Role::Data,
        slot: Some(slot),
        reuse: false,
        class,
    }
}

pub fn write(register: u8, count: u8, class: Class) -> Use {
    Use {
        file: File::General,
        first: register,
        count,
        role: Role::Data,
        slot: None,
        reuse: false,
        class,
    }
}

impl Step {
    pub fn new(class: Class) -> Step {
        Step {
            description: Description {
                control: plain(),
                footprint: Footprint::default(),
                class,
                constant: None,
                memory: None,
                special: Special::None,
            },
            access: None,
            distance: 0,
            ends: false,
            barrier: false,
            leaves: false,
            all_lanes: false,
        }
    }

    /// `R<to> = op R<a>, R<b>, R<c>`; a source of 255 is RZ.
    pub fn op(class: Class, to: u8, sources: [u8; 3]) -> Step {
        let mut step = Step::new(class);
        for (slot, &register) in sources.iter().enumerate() {
            if register != 255 {
                step.description
                    .footprint
                    .reads
                    .push(read(register, slot as u8, class));
            }
        }
        step.description.footprint.writes.push(write(to, 1, class));
        step
    }

    pub fn ffma(to: u8, sources: [u8; 3]) -> Step {
        Step::op(Class::CoupledFma, to, sources)
    }

    pub fn iadd3(to: u8, sources: [u8; 3]) -> Step {
        Step::op(Class::CoupledAlu, to, sources)
    }

    pub fn nop() -> Step {
        Step::new(Class::Nop)
    }

    pub fn clock(to: u8) -> Step {
        let mut step = Step::new(Class::CoupledAlu);
        step.description.special = Special::Clock;
        step.description
            .footprint
            .writes
            .push(write(to, 1, Class::CoupledAlu));
        step
    }

    pub fn barrier() -> Step {
        Step::barrier_with(false)
    }

    /// BAR, with DEFER_BLOCKING or without.
    pub fn barrier_with(deferred: bool) -> Step {
        let mut step = Step::new(Class::CtaBarrier);
        step.description.special = Special::CtaBarrier { deferred };
        step.barrier = true;
        step
    }

    /// The first four warps, one per sub-core, end; the others go on.
    pub fn leave() -> Step {
        let mut step = Step::nop();
        step.leaves = true;
        step
    }

    pub fn exit() -> Step {
        let mut step = Step::new(Class::Exit);
        step.description.special = Special::Exit;
        step.description.control.stall = 5;
        step.ends = true;
        step
    }

    pub fn memory(kind: MemoryKind, uniform: bool, bytes: u8, to: Option<u8>) -> Step {
        let class = if kind == MemoryKind::ConstantLoad {
            Class::LoadConstant
        } else {
            Class::Memory
        };
        let mut step = Step::new(class);
        step.description.memory = Some(MemoryShape {
            kind,
            uniform_address: uniform,
            bytes,
        });
        if let Some(to) = to {
            step.description
                .footprint
                .writes
                .push(write(to, (bytes / 4).max(1), class));
        }
        let (space, operation) = match kind {
            MemoryKind::GlobalLoad => (Space::Global, Operation::Load),
            MemoryKind::GlobalStore => (Space::Global, Operation::Store),
            MemoryKind::SharedLoad => (Space::Shared, Operation::Load),
            MemoryKind::SharedStore => (Space::Shared, Operation::Store),
            MemoryKind::CopyToShared => (Space::Global, Operation::CopyToShared),
            MemoryKind::ConstantLoad => (Space::Constant, Operation::Load),
            _ => (Space::Shared, Operation::Load),
        };
        if kind != MemoryKind::Pass {
            step.access = Some((space, operation, bytes));
        }
        step
    }

    /// A texture fetch of four bytes into `to`, `distance` bytes from the common address.
    pub fn texture(to: u8, distance: u64) -> Step {
        let mut step = Step::memory(MemoryKind::GlobalLoad, false, 4, Some(to));
        step.description.class = Class::Texture;
        step.description.footprint.writes = [write(to, 1, Class::Texture)].into_iter().collect();
        step.access = Some((Space::Texture, Operation::Load, 4));
        step.distance = distance;
        step
    }

    pub fn all_lanes(mut self) -> Step {
        self.all_lanes = true;
        self
    }

    /// Counts above 11 come with yield, as compiled code has them: without it they collapse.
    pub fn stall(mut self, stall: u8) -> Step {
        self.description.control.stall = stall;
        self.description.control.yields |= stall > 11;
        self
    }

    pub fn yields(mut self) -> Step {
        self.description.control.yields = true;
        self
    }

    pub fn write_counter(mut self, counter: u8) -> Step {
        self.description.control.write_counter = Some(counter);
        self
    }

    pub fn read_counter(mut self, counter: u8) -> Step {
        self.description.control.read_counter = Some(counter);
        self
    }

    pub fn waits(mut self, mask: u8) -> Step {
        self.description.control.wait_mask = mask;
        self
    }

    pub fn reuse(mut self, slot: u8) -> Step {
        for read in &mut self.description.footprint.reads {
            if read.slot == Some(slot) {
                read.reuse = true;
            }
        }
        self
    }

    pub fn constant(mut self, bank: u8, offset: u32) -> Step {
        self.description.constant = Some(ConstantUse { bank, offset });
        self
    }
}

/// Runs every warp through the same script and remembers who was issued when.
pub struct Script {
    steps: Arc<Vec<Step>>,
    pcs: [u32; 64],
    /// Addresses of memory steps: (lane 0 address), one active lane.
    pub address: u64,
    /// Warps at the barrier.
    pub arrived: WarpMask,
    pub warps: u32,
    /// (warp slot, pc, cycle of issue)
    pub issued: Vec<(u8, u32, u64)>,
}

impl Source for Script {
    type Shared = ();

    fn start_cta(&mut self, _: &(), _: u64, _: CtaSlot, warps: &[WarpSlot]) {
        for warp in warps {
            self.pcs[warp.0 as usize] = 0;
        }
    }

    fn pc(&self, warp: WarpSlot) -> Pc {
        Pc(self.pcs[warp.0 as usize])
    }

    fn issue(
        &mut self,
        _: &(),
        warp: WarpSlot,
        pc: Pc,
        clock: Cycle,
        effect: &mut Effect,
    ) -> Result<(), Fault> {
        let step = &self.steps[pc.0 as usize];
        self.issued.push((warp.0, pc.0, clock.0 - 1));
        self.pcs[warp.0 as usize] = pc.0 + 1;
        effect.next = Pc(pc.0 + 1);
        effect.lanes = 1;
        effect.active = 1;
        effect.ended = step.ends || step.leaves && warp.0 < 4;
        if step.barrier {
            effect.arrived = true;
            self.arrived |= 1 << warp.0;
            effect.blocked = self.arrived.count_ones() < self.warps;
            if !effect.blocked {
                effect.released = self.arrived;
            }
        }
        if let Some((space, operation, bytes)) = step.access {
            effect.accesses = true;
            effect.access = Access {
                space,
                operation,
                lanes: if step.all_lanes { u32::MAX } else { 1 },
                bytes,
                bypass: false,
                deferred: None,
                addresses: std::array::from_fn(|lane| {
                    let lane = if step.all_lanes { lane as u64 } else { 0 };
                    self.address + step.distance + lane * u64::from(bytes)
                }),
                texels: Vec::new(),
                shared: [0; 32],
            };
        }
        Ok(())
    }

    fn complete(&mut self, _: Token) {}
    fn perform(&mut self, _: &mut (), _: Performed) {}
    fn publish(_: &mut [Script], _: &mut ()) {}
    fn waiting(&self, _: WarpSlot) -> Option<String> {
        None
    }
    fn sm(&self) -> SmId {
        SmId(0)
    }
    fn next_lanes(&self, _: WarpSlot) -> u32 {
        u32::MAX
    }
    fn live_warps(&self, _: CtaSlot) -> WarpMask {
        0
    }
}

/// A bench of one SM.
pub struct Bench {
    gpu: hardware::Gpu,
    /// Which SM of the GPU it is.
    pub sm: SmId,
}

impl Bench {
    /// An SM of `gpu` with these overrides.
    pub fn new(gpu: &str, overrides: &[&str]) -> Bench {
        let mut gpu = hardware::Gpu::load(gpu).unwrap();
        for assignment in overrides {
            gpu.set(assignment).unwrap();
        }
        Bench { gpu, sm: SmId(0) }
    }

    /// Runs `warps` warps of one CTA through `steps`; a packet is answered `latency` cycles later.
    /// Returns (warp slot, pc, cycle) of every issue.
    pub fn run(&self, steps: &[Step], warps: u32, latency: u64) -> Vec<(u8, u32, u64)> {
        self.run_sm(steps, warps, latency).0
    }

    /// The same, with the SM.
    pub fn run_sm(&self, steps: &[Step], warps: u32, latency: u64) -> (Vec<(u8, u32, u64)>, Sm) {
        let parameters = SmParameters::load(&self.gpu).unwrap();
        let descriptions: Vec<_> = steps.iter().map(|step| step.description.clone()).collect();
        let program = Program::new(&descriptions, &self.gpu, &parameters).unwrap();
        let launch = Launch {
            program,
            warps_per_cta: warps,
            ctas_per_sm: 1,
            warps_per_sm: 48,
            l1_bytes: 64 * 1024,
            hazards: sm::HazardMode::Check,
            watch: false,
            walk: None,
            code_address: 0x1000_0000,
            constant_address: 0x2000_0000,
            pages: Default::default(),
        };
        let mut sm = Sm::new(self.sm, parameters, &launch);
        let mut source = Script {
            steps: Arc::new(steps.to_vec()),
            pcs: [0; 64],
            address: 0x4000,
            arrived: 0,
            warps,
            issued: Vec::new(),
        };
        sm.start_cta(&mut source, &(), 0, Cycle(0));
        let mut now = 0;
        while sm.has_ctas() {
            now += latency.min(64);
            sm.run(&mut source, &(), Cycle(now), false).unwrap();
            let mut replies: Vec<Reply> = sm
                .requests()
                .drain(..)
                .map(|request| Reply {
                    cycle: request.cycle + latency,
                    id: request.id,
                    sectors: request.sectors,
                })
                .collect();
            replies.sort();
            sm.deliver(&replies);
            assert!(now < 1_000_000, "the script never ends");
        }
        let end = sm.finished_at();
        sm.close(end);
        (source.issued, sm)
    }
}

/// Cycle in which `slot` issued `pc`.
pub fn cycle(issued: &[(u8, u32, u64)], slot: u8, pc: u32) -> u64 {
    issued
        .iter()
        .find(|&&(s, p, _)| s == slot && p == pc)
        .unwrap()
        .2
}

/// Issue order as `W3x2 W2x2 …` of one sub-core, in local slot numbers.
pub fn order(issued: &[(u8, u32, u64)]) -> String {
    let mut runs: Vec<(u8, u32)> = Vec::new();
    for &(slot, _, _) in issued {
        match runs.last_mut() {
            Some((last, count)) if *last == slot => *count += 1,
            _ => runs.push((slot, 1)),
        }
    }
    runs.iter()
        .map(|(slot, count)| format!("W{}x{count}", slot / 4))
        .collect::<Vec<_>>()
        .join(" ")
}
