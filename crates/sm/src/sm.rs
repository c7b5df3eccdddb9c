//! One SM: warps, CTAs and the loop over cycles that have something in them.

use std::collections::VecDeque;
use std::sync::Arc;

use source::{
    Cycle, Effect, Fault, PageTable, Reply, Request, RequestId, SectorMask, SmId, Source, Token,
    WarpMask, WarpSlot,
};

use crate::barrier::Wait;
use crate::copies::CopyGroups;
use crate::dependence::{COUNTERS, Hold, Scoreboard};
use crate::emulation::{Emulation, Issued};
use crate::event::{Event, RecordIndex};
use crate::fence::{Fence, Orders};
use crate::front_end::level1::{Level1, Purpose};
use crate::hazard::{Hazard, HazardMode, Hazards, NO_HAZARD};
use crate::memory_unit::MemoryUnit;
use crate::memory_unit::copy_check::CopyCheck;
use crate::memory_unit::translation::Translation;
use crate::parameters::SmParameters;
use crate::port::{Outstanding, Port};
use crate::program::Program;
use crate::stall_reason::StallReason;
use crate::statistics::SmStatistics;
use crate::sub_core::{Latched, SLOTS, SubCore};
use crate::walk::{Walk, WalkTarget};
use crate::wheel::Wheel;

/// Sub-cores of an SM.
pub const SUB_CORES: usize = 4;

/// What the timing model must know about a launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The kernel's rows.
    pub program: Arc<Program>,
    /// Warps of a CTA.
    pub warps_per_cta: u32,
    /// CTAs resident on an SM at most (occupancy).
    pub ctas_per_sm: u32,
    /// Warps that an SM can hold, a multiple of the sub-cores.
    pub warps_per_sm: u32,
    /// Bytes of L1 data cache beside the shared memory.
    pub l1_bytes: u32,
    /// What is done about hazards.
    pub hazards: HazardMode,
    /// Whether every issue is remembered ([`Sm::issued`]); where hazards are emulated.
    pub watch: bool,
    /// The instruction whose life is noted ([`Sm::walk`]).
    pub walk: Option<WalkTarget>,
    /// Device address of the code image.
    pub code_address: u64,
    /// Device address of the constant banks.
    pub constant_address: u64,
    /// Where everything lies in device memory.
    pub pages: Arc<PageTable>,
}

/// Why an SM stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// The window is over.
    Window,
    /// A CTA slot became free in this cycle and CTAs wait.
    CtaFreed(Cycle),
}

/// What the SM keeps per warp slot.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) cta: u8,
    pub(crate) resident: bool,
    pub(crate) ended: bool,
    /// Instructions of variable latency under way.
    pub(crate) outstanding: u32,
    /// Memory instructions not handed over yet.
    pub(crate) unhanded: u32,
    /// Writes without acknowledgement.
    pub(crate) unacknowledged: u32,
    /// Deferred operations with pending registers.
    pub(crate) deferred: u32,
    /// Memory instructions still to be handed over before the warp counts as arrived at its barrier.
    pub(crate) arrival_left: u32,
    /// Counts the warps of this slot, so that late events of one do not reach the next.
    pub(crate) generation: u8,
    /// Counts releases, so that a hold scheduled before one does not outlive it.
    pub(crate) barrier_generation: u8,
    pub(crate) fence: Option<Fence>,
    /// Values that DEPBAR.LE allows the counters while it holds the warp.
    pub(crate) depbar: [u8; COUNTERS],
    pub(crate) copies: CopyGroups,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cta {
    pub(crate) resident: bool,
    pub(crate) warps: WarpMask,
    /// Warps that have not ended or still have something under way.
    pub(crate) busy: WarpMask,
}

/// The timing model of one SM. Neighbours in memory run on different host threads: they share no line
/// (nor the pair of lines that hosts fetch together).
#[repr(align(128))]
pub struct Sm {
    pub(crate) id: SmId,
    pub(crate) parameters: Arc<SmParameters>,
    pub(crate) program: Arc<Program>,
    pub(crate) launch: Launch,
    pub(crate) now: u64,
    /// First cycle not simulated yet.
    pub(crate) frontier: u64,
    pub(crate) wheel: Wheel,
    pub(crate) sub_cores: [SubCore; SUB_CORES],
    pub(crate) unit: MemoryUnit,
    pub(crate) level1: Level1,
    pub(crate) port: Port,
    pub(crate) inbox: VecDeque<Reply>,
    pub(crate) warps: Vec<Warp>,
    pub(crate) ctas: Vec<Cta>,
    pub(crate) free_warps: WarpMask,
    pub(crate) resident_ctas: u32,
    pub(crate) freed: bool,
    pub(crate) effect: Effect,
    pub(crate) hazards: Hazards,
    /// In place of control bits, if there.
    pub(crate) scoreboard: Option<Box<Scoreboard>>,
    /// Only there if wrong control bits are to give wrong values.
    pub(crate) emulation: Option<Box<Emulation>>,
    /// Shared bytes that copies are writing; only fed when hazards are checked.
    pub(crate) copy_check: CopyCheck,
    pub(crate) statistics: SmStatistics,
    /// Only there if an instruction is followed.
    pub(crate) walk: Option<Box<Walk>>,
    pub(crate) barrier_waits: Vec<Wait>,
    pub(crate) orders: Orders,
    pub(crate) fenced: WarpMask,
    /// Deferred operations with pending registers: (warp slot, record, lanes).
    pub(crate) deferred_under_way: Vec<(u8, RecordIndex, u32)>,
    /// Deferred operations that are complete; told to the source.
    pub(crate) completed: Vec<Token>,
    /// Warps whose oldest ARRIVES takes effect, as the copies before it are complete; told to the source
    /// at once.
    pub(crate) arrivals: Vec<WarpSlot>,
    pub(crate) float64_waiting: [VecDeque<Latched>; SUB_CORES],
    /// How many of those have brought their operands to the common way.
    pub(crate) float64_ready: [u8; SUB_CORES],
    /// First cycle in which the shared FP64 unit has taken all lanes.
    pub(crate) float64_free: u64,
    pub(crate) finished_at: u64,
    /// First cycle of the present stretch with resident warps.
    pub(crate) active_since: u64,
    pub(crate) resident_warps: u32,
}

impl Sm {
    /// An idle SM, ready for CTAs of `launch`.
    pub fn new(id: SmId, parameters: Arc<SmParameters>, launch: &Launch) -> Sm {
        let slots = (launch.warps_per_sm as usize).min(SLOTS * SUB_CORES);
        let instructions = launch.program.rows.len() as u32;
        // Scoreboards leave nothing to go wrong.
        let hazards = match launch.program.on_scoreboards {
            true => HazardMode::Off,
            false => launch.hazards,
        };
        Sm {
            id,
            program: launch.program.clone(),
            launch: launch.clone(),
            now: 0,
            frontier: 0,
            wheel: Wheel::new(),
            sub_cores: std::array::from_fn(|_| SubCore::new(&parameters, instructions)),
            unit: MemoryUnit::new(
                &parameters.memory_unit,
                &parameters.l1_data_cache,
                &parameters.constant_load_cache,
                launch.l1_bytes,
            ),
            level1: Level1::new(
                &parameters.l1_instruction_cache,
                &parameters.larger_instruction_cache,
                launch.code_address,
                launch.constant_address,
            ),
            port: Port::new(
                id,
                &parameters.sm_port,
                Translation::new(&parameters.translation, Arc::clone(&launch.pages)),
            ),
            inbox: VecDeque::with_capacity(256),
            warps: (0..slots).map(|_| Warp::default()).collect(),
            ctas: vec![Cta::default(); launch.ctas_per_sm as usize],
            free_warps: if slots == 64 {
                WarpMask::MAX
            } else {
                (1 << slots) - 1
            },
            resident_ctas: 0,
            freed: false,
            effect: Effect::new(),
            hazards: Hazards::new(hazards, launch.program.places, slots),
            scoreboard: launch.program.on_scoreboards.then(|| {
                let places = launch.program.places;
                Box::new(Scoreboard::new(&parameters.dependence, places, slots))
            }),
            emulation: (hazards == HazardMode::Emulate)
                .then(|| Box::new(Emulation::new(slots, launch.watch, &parameters.control))),
            copy_check: CopyCheck::default(),
            statistics: SmStatistics::default(),
            walk: launch.walk.map(|target| Box::new(Walk::new(target))),
            barrier_waits: Vec::new(),
            orders: Orders::default(),
            fenced: 0,
            deferred_under_way: Vec::new(),
            completed: Vec::new(),
            arrivals: Vec::new(),
            float64_waiting: std::array::from_fn(|_| VecDeque::new()),
            float64_ready: [0; SUB_CORES],
            float64_free: 0,
            finished_at: 0,
            active_since: 0,
            resident_warps: 0,
            parameters,
        }
    }

    /// Runs until `until` (exclusive), or until it frees a CTA slot while CTAs wait.
    ///
    /// # Errors
    /// The first fault of the simulated program: cycle, warp slot, fault.
    pub fn run<S: Source>(
        &mut self,
        source: &mut S,
        shared: &S::Shared,
        until: Cycle,
        ctas_wait: bool,
    ) -> Result<Pause, (Cycle, WarpSlot, Fault)> {
        self.expect_ready_warps(source);
        loop {
            let next = self.next_cycle();
            if next >= until.0 {
                self.frontier = self.frontier.max(until.0);
                return Ok(Pause::Window);
            }
            self.now = next;
            self.frontier = next + 1;
            self.receive();
            while let Some(event) = self.wheel.take(next) {
                self.handle(event, source);
            }
            if self.emulation.is_some() {
                self.emulate(source, shared)
                    .map_err(|(slot, fault)| (Cycle(next), WarpSlot(slot), fault))?;
            }
            for sub_core in 0..SUB_CORES {
                if self.sub_cores[sub_core].next_step <= next {
                    self.step(sub_core, source, shared)
                        .map_err(|(slot, fault)| (Cycle(next), WarpSlot(slot), fault))?;
                }
            }
            for index in 0..self.completed.len() {
                source.complete(self.completed[index]);
            }
            self.completed.clear();
            if self.freed {
                self.freed = false;
                if ctas_wait {
                    return Ok(Pause::CtaFreed(Cycle(next)));
                }
            }
        }
    }

    /// Has the host fetch what warps will touch that do not wait for something off the SM.
    fn expect_ready_warps<S: Source>(&self, source: &S) {
        for (sub_core, sub) in self.sub_cores.iter().enumerate() {
            let mut left = sub.present & !sub.held;
            while left != 0 {
                let slot = left.trailing_zeros() as usize % SLOTS;
                left &= left - 1;
                if sub.long[slot] & sub.wait[slot] & sub.nonzero[slot] == 0 {
                    self.expect((slot * SUB_CORES + sub_core) as u8, sub.pc[slot], source);
                }
            }
        }
    }

    /// The next cycle that has something in it.
    #[inline]
    fn next_cycle(&self) -> u64 {
        let mut next = self.wheel.next();
        if let Some(reply) = self.inbox.front() {
            next = next.min(reply.cycle.0);
        }
        for sub in &self.sub_cores {
            next = next.min(sub.next_step);
        }
        if let Some(emulation) = &self.emulation {
            next = next.min(emulation.next());
        }
        next.max(if next == u64::MAX { 0 } else { self.frontier })
    }

    /// The next cycle in which anything happens without new replies; [`Cycle::NEVER`] if nothing will.
    pub fn next_event(&self) -> Cycle {
        Cycle(self.next_cycle())
    }

    /// Hands over replies for coming cycles, sorted by cycle.
    pub fn deliver(&mut self, replies: &[Reply]) {
        self.inbox.extend(replies);
    }

    /// Packets of the present window, to be drained by the memory side.
    pub fn requests(&mut self) -> &mut Vec<Request> {
        &mut self.port.requests
    }

    /// Replies of this cycle.
    #[inline]
    fn receive(&mut self) {
        let now = self.now;
        while let Some(reply) = self.inbox.front() {
            if reply.cycle.0 > now {
                return;
            }
            let (id, sectors) = (reply.id, reply.sectors);
            self.inbox.pop_front();
            let waits = *self.port.waiting(id);
            if matches!(waits, Outstanding::Data { .. }) {
                self.fill(id, sectors);
            }
            let last = self.port.answered(id, sectors);
            if self.walk.is_some() {
                self.walk_answered(id, sectors);
            }
            match waits {
                Outstanding::Bypass { record } => self.part_arrives(record, sectors),
                Outstanding::Write { slot, order } if last => {
                    self.acknowledged(order);
                    self.write_acknowledged(slot);
                }
                Outstanding::Level1 { miss } => {
                    self.level1
                        .sectors_arrive(&mut self.wheel, miss, sectors, now);
                }
                _ => {}
            }
            if self.level1.is_stalled() {
                self.level1.retry(&mut self.wheel, &mut self.port, now);
                if self.walk.is_some() {
                    self.walk_level1();
                }
            }
            if !self.unit.retry.is_empty() {
                self.retry_accesses();
            }
            if self.unit.asking != 0 {
                self.hand_over();
            }
        }
    }

    /// Sectors of a line of the L1 data cache have come.
    #[inline]
    fn fill(&mut self, id: RequestId, sectors: SectorMask) {
        let now = self.now;
        let records = &mut self.unit.records;
        let wheel = &mut self.wheel;
        let waits = self.port.waiting(id);
        self.unit.l1d.fill(id, sectors, waits, |index, came| {
            let record = &mut records[index];
            record.waiting -= came.count_ones() as u16;
            record.ready = record.ready.max(now);
            if record.waiting == 0 && record.next_line == record.lines.count {
                let ready = record.ready.max(now + 1);
                wheel.schedule(ready, Event::DataReady { record: index });
            }
        });
    }

    #[inline]
    fn handle<S: Source>(&mut self, event: Event, source: &mut S) {
        match event {
            Event::CounterFalls {
                slot,
                counter,
                generation,
            } => self.counter_falls_of(slot, counter, generation),
            Event::DepbarHolds {
                slot,
                counter,
                at_most,
                others,
                generation,
            } => {
                let warp = &self.warps[slot as usize];
                if warp.generation == generation && !warp.ended {
                    self.depbar_holds(slot, counter, at_most, others);
                }
            }
            Event::BarrierHolds { slot, generation } => {
                let warp = &self.warps[slot as usize];
                if warp.resident && !warp.ended && warp.barrier_generation == generation {
                    self.hold(slot, Hold::Barrier);
                }
            }
            Event::BarrierReleases { wait } => self.release_barrier(wait as usize, source),
            Event::WarpWakes { slot, hold } => self.release(slot, hold),
            Event::SourcesRead {
                slot,
                counter,
                hazard,
                generation,
            } => {
                if counter != 7 {
                    self.counter_falls_of(slot, counter, generation);
                }
                self.sources_read(hazard);
            }
            Event::ResultReady {
                slot,
                counter,
                hazard,
                banks,
                generation,
            } => {
                let ports = &mut self.sub_cores[slot as usize % SUB_CORES].write_ports;
                let written = ports.book_load(self.now, self.now, banks);
                let event = Event::ResultWritten {
                    slot,
                    counter,
                    hazard,
                    variable: true,
                    generation,
                };
                self.wheel.schedule(written + 1, event);
            }
            Event::ResultWritten {
                slot,
                counter,
                hazard,
                variable,
                generation,
            } => {
                if counter != 7 {
                    self.counter_falls_of(slot, counter, generation);
                }
                if hazard != NO_HAZARD {
                    self.entry_retired(hazard);
                }
                if variable {
                    self.instruction_done(slot);
                }
            }
            Event::HandOver { sub_core } => self.ask_for_hand_over(sub_core),
            Event::HandOverFree => {
                if self.unit.hand_over_armed <= self.now {
                    self.unit.hand_over_armed = u64::MAX;
                }
                self.hand_over();
            }
            Event::MemorySourcesRead { record } => self.memory_sources_read(record),
            Event::L1Access { record } => self.access_l1(record),
            Event::ConstantAccess { record } => self.access_constant(record),
            Event::DataReady { record } => self.data_ready(record),
            Event::WrittenBack { record } => self.written_back(record),
            Event::Retired { record } => {
                self.retire(record);
                if !self.arrivals.is_empty() {
                    for warp in self.arrivals.drain(..) {
                        source.arrive(warp);
                    }
                }
            }
            Event::LinkRequest => self.serve_link(),
            Event::LinkArrives {
                line,
                sub_core,
                purpose,
            } => {
                let purpose = Purpose::from_number(purpose);
                let bytes = self.asked_bytes(sub_core, purpose);
                let (wheel, port) = (&mut self.wheel, &mut self.port);
                self.level1
                    .arrive(wheel, port, line, bytes, sub_core, purpose, self.now);
                if self.walk.is_some() {
                    self.walk_level1();
                }
            }
            Event::LinkReply {
                line,
                sub_core,
                purpose,
            } => {
                self.line_arrives(line, sub_core, Purpose::from_number(purpose));
            }
            Event::LineFills { miss } => {
                self.level1.fill(&mut self.wheel, miss, self.now);
                if self.level1.is_stalled() {
                    let (wheel, port) = (&mut self.wheel, &mut self.port);
                    self.level1.retry(wheel, port, self.now);
                    if self.walk.is_some() {
                        self.walk_level1();
                    }
                }
            }
            Event::Float64HandOver { sub_core } => self.float64_asks(sub_core as usize),
        }
    }

    /// What was issued, in its order, if it was watched.
    pub fn issued(&self) -> &[Issued] {
        let watched = self.emulation.as_ref().and_then(|e| e.watched.as_deref());
        watched.unwrap_or_default()
    }

    /// No live warp and nothing under way.
    pub fn is_idle(&self) -> bool {
        self.resident_ctas == 0 && self.port.in_flight() == 0 && self.next_cycle() == u64::MAX
    }

    /// First cycle after the end of the last CTA.
    pub fn finished_at(&self) -> Cycle {
        Cycle(self.finished_at)
    }

    /// Closes the books: all slots up to `end` (the end of the launch) are charged.
    pub fn close(&mut self, end: Cycle) {
        for sub in &mut self.sub_cores {
            if sub.charged_until < end.0 {
                if sub.present == 0 && sub.charge_to != StallReason::Drain {
                    sub.charge_to = StallReason::Idle;
                }
                sub.charge(end.0);
            } else {
                // The pipeline ran empty behind the last CTA: idle slots.
                sub.slots[StallReason::Idle as usize] -= sub.charged_until - end.0;
                sub.charged_until = end.0;
            }
            for (sum, slots) in self.statistics.slots.iter_mut().zip(sub.slots) {
                *sum += slots;
            }
            sub.slots.fill(0);
            self.statistics.l0_instruction_hits += std::mem::take(&mut sub.level0.hits);
            self.statistics.l0_instruction_misses += std::mem::take(&mut sub.level0.misses);
            self.statistics.constant_hits += std::mem::take(&mut sub.constants.hits);
            self.statistics.constant_misses += std::mem::take(&mut sub.constants.misses);
            self.statistics.reuse_hits += std::mem::take(&mut sub.reuse_cache.hits);
            self.statistics.register_port_stalls += std::mem::take(&mut sub.port_stalls);
        }
        let l1d = &mut self.unit.l1d;
        self.statistics.l1_load_hits += std::mem::take(&mut l1d.load_hits);
        self.statistics.l1_load_misses += std::mem::take(&mut l1d.load_misses);
        self.statistics.l1_load_merges += std::mem::take(&mut l1d.load_merges);
        self.statistics.l1_store_hits += std::mem::take(&mut l1d.store_hits);
        self.statistics.l1_store_misses += std::mem::take(&mut l1d.store_misses);
        self.statistics.l1_instruction_hits += std::mem::take(&mut self.level1.hits);
        self.statistics.l1_instruction_misses += std::mem::take(&mut self.level1.miss_count);
        let translation = &mut self.port.translation;
        let statistics = &mut self.statistics;
        statistics.translations += std::mem::take(&mut translation.lookups);
        statistics.translation_hits += std::mem::take(&mut translation.hits);
        statistics.translation_misses += std::mem::take(&mut translation.misses);
        statistics.translation_refills += std::mem::take(&mut translation.refills);
        statistics.translation_refills_at_once = statistics
            .translation_refills_at_once
            .max(translation.most_refills);
        self.statistics.packets += std::mem::take(&mut self.port.sent);
        self.statistics.packets_most = self.port.most();
        self.statistics.instruction_missing_most = self.level1.missing_most;
        self.statistics.instruction_stalled_most = self.level1.stalled_most;
        self.statistics.l1_missing_most = self.unit.l1d.missing_most;
        self.statistics.port_cycles += std::mem::take(&mut self.port.busy_cycles);
    }

    /// What was counted; complete after [`Sm::close`].
    pub fn statistics(&self) -> &SmStatistics {
        &self.statistics
    }

    /// Hazards found.
    pub fn hazards(&self) -> &[Hazard] {
        self.hazards.found()
    }

    /// How often a hazard was met.
    pub fn hazard_count(&self) -> u64 {
        self.hazards.count()
    }

    /// Which SM this is.
    pub fn id(&self) -> SmId {
        self.id
    }
}
