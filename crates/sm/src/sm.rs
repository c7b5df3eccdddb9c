//! One SM: warps, CTAs and the loop over cycles that have something in them.

use std::collections::VecDeque;
use std::sync::Arc;

use source::{
    CtaSlot, Cycle, Effect, Fault, Reply, Request, SmId, Source, Token, WarpMask, WarpSlot,
};

use crate::barrier::Wait;
use crate::copies::CopyGroups;
use crate::event::{Event, RecordIndex};
use crate::fence::{Fence, Orders};
use crate::front_end::level1::{Level1, MEMORY_UNIT, Purpose};
use crate::hazard::{Hazard, Hazards, NO_HAZARD};
use crate::memory_unit::MemoryUnit;
use crate::memory_unit::copy_check::CopyCheck;
use crate::parameters::SmParameters;
use crate::port::{Outstanding, Port};
use crate::program::Program;
use crate::stall_reason::StallReason;
use crate::statistics::SmStatistics;
use crate::sub_core::{Latched, SLOTS, SubCore};
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
    /// Whether hazards are checked.
    pub check_hazards: bool,
    /// Device address of the code image.
    pub code_address: u64,
    /// Device address of the constant banks.
    pub constant_address: u64,
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
    pub(crate) arrival_pending: bool,
    /// Counts releases, so that a hold scheduled before one does not outlive it.
    pub(crate) barrier_generation: u8,
    pub(crate) fence: Option<Fence>,
    /// DEPBAR condition that holds the warp: (counter, at most, others).
    pub(crate) depbar: Option<(u8, u8, u8)>,
    pub(crate) copies: CopyGroups,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cta {
    resident: bool,
    warps: WarpMask,
    /// Warps that have not ended or still have something under way.
    busy: WarpMask,
}

/// The timing model of one SM.
pub struct Sm {
    id: SmId,
    pub(crate) parameters: Arc<SmParameters>,
    pub(crate) program: Arc<Program>,
    launch: Launch,
    pub(crate) now: u64,
    /// First cycle not simulated yet.
    frontier: u64,
    pub(crate) wheel: Wheel,
    pub(crate) sub_cores: [SubCore; SUB_CORES],
    pub(crate) unit: MemoryUnit,
    pub(crate) level1: Level1,
    pub(crate) port: Port,
    inbox: VecDeque<Reply>,
    pub(crate) warps: Vec<Warp>,
    ctas: Vec<Cta>,
    free_warps: WarpMask,
    resident_ctas: u32,
    freed: bool,
    pub(crate) effect: Effect,
    pub(crate) hazards: Hazards,
    /// Shared bytes that copies are writing; only fed when hazards are checked.
    pub(crate) copy_check: CopyCheck,
    pub(crate) statistics: SmStatistics,
    pub(crate) barrier_waits: Vec<Wait>,
    pub(crate) orders: Orders,
    pub(crate) fenced: WarpMask,
    /// Deferred operations with pending registers: (warp slot, record).
    pub(crate) deferred_under_way: Vec<(u8, RecordIndex)>,
    /// Deferred operations that are complete; told to the source.
    pub(crate) completed: Vec<Token>,
    pub(crate) float64_waiting: [VecDeque<Latched>; SUB_CORES],
    pub(crate) float64_link_free: u64,
    pub(crate) float64_free: u64,
    finished_at: u64,
    /// First cycle of the present stretch with resident warps.
    active_since: u64,
    resident_warps: u32,
}

impl Sm {
    /// An idle SM, ready for CTAs of `launch`.
    pub fn new(id: SmId, parameters: Arc<SmParameters>, launch: &Launch) -> Sm {
        let slots = (launch.warps_per_sm as usize).min(SLOTS * SUB_CORES);
        let instructions = launch.program.rows.len() as u32;
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
                launch.code_address,
                launch.constant_address,
            ),
            port: Port::new(id, &parameters.sm_port),
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
            hazards: Hazards::new(launch.check_hazards, launch.program.places, slots),
            copy_check: CopyCheck::default(),
            statistics: SmStatistics::default(),
            barrier_waits: Vec::new(),
            orders: Orders::default(),
            fenced: 0,
            deferred_under_way: Vec::new(),
            completed: Vec::new(),
            float64_waiting: std::array::from_fn(|_| VecDeque::new()),
            float64_link_free: 0,
            float64_free: 0,
            finished_at: 0,
            active_since: 0,
            resident_warps: 0,
            parameters,
        }
    }

    /// Whether a CTA slot is free.
    pub fn can_start_cta(&self) -> bool {
        self.resident_ctas < self.launch.ctas_per_sm
            && self.free_warps.count_ones() >= self.launch.warps_per_cta
    }

    /// Starts CTA number `cta` of the grid; its warps can fetch from cycle `at` on, which must not lie
    /// before the cycles already simulated.
    pub fn start_cta<S: Source>(
        &mut self,
        source: &mut S,
        shared: &S::Shared,
        cta: u64,
        at: Cycle,
    ) {
        let Some(place) = self.ctas.iter().position(|cta| !cta.resident) else {
            return;
        };
        let at = at.0.max(self.frontier);
        let mut chosen = [WarpSlot(0); SLOTS * SUB_CORES];
        let count = self.launch.warps_per_cta as usize;
        // Warp w goes to sub-core w mod 4, counted from the sub-core with the fewest warps.
        let fewest = (0..SUB_CORES)
            .min_by_key(|&sub_core| self.sub_cores[sub_core].present.count_ones())
            .unwrap_or(0);
        let mut mask = 0;
        for (warp, chosen) in chosen.iter_mut().enumerate().take(count) {
            let free = self.free_warps & !mask;
            let preferred = (0..SUB_CORES)
                .map(|step| (fewest + warp + step) % SUB_CORES)
                .find_map(|sub_core| {
                    let lanes = 0x1111_1111_1111_1111u64 << sub_core;
                    let here = free & lanes;
                    (here != 0).then(|| here.trailing_zeros() as u8)
                });
            let Some(slot) = preferred else { return };
            mask |= 1 << slot;
            *chosen = WarpSlot(slot);
        }
        self.free_warps &= !mask;
        self.resident_ctas += 1;
        self.count_residents(at);
        self.resident_warps += count as u32;
        self.ctas[place] = Cta {
            resident: true,
            warps: mask,
            busy: mask,
        };
        source.start_cta(shared, cta, CtaSlot(place as u8), &chosen[..count]);
        for &slot in &chosen[..count] {
            let pc = source.pc(slot).0;
            self.start_warp(slot.0, place as u8, pc, at);
        }
    }

    fn start_warp(&mut self, slot: u8, cta: u8, pc: u32, at: u64) {
        let warp = &mut self.warps[slot as usize];
        warp.cta = cta;
        warp.resident = true;
        warp.ended = false;
        warp.arrival_pending = false;
        warp.fence = None;
        warp.depbar = None;
        warp.copies.clear();
        warp.barrier_generation = warp.barrier_generation.wrapping_add(1);
        self.hazards.start_warp(slot);
        let sub = &mut self.sub_cores[slot as usize % SUB_CORES];
        let local = slot as usize / SUB_CORES;
        let bit = 1u16 << local;
        // The new warp is younger than all that are here.
        for other in 0..SLOTS {
            if sub.present >> other & 1 == 1 {
                sub.younger[other] |= bit;
            } else {
                sub.younger[other] &= !bit;
            }
        }
        sub.younger[local] = 0;
        sub.present |= bit;
        sub.stalled &= !bit;
        sub.stall_ends.clear(local);
        sub.held &= !bit;
        sub.dependent &= !bit;
        sub.constant_wait &= !bit;
        sub.counters[local] = [0; 6];
        sub.nonzero[local] = 0;
        sub.long[local] = 0;
        sub.pc[local] = pc;
        sub.wait[local] = self
            .program
            .rows
            .get(pc as usize)
            .map_or(0, |row| row.wait_mask);
        sub.fetch.start(local, pc, at);
        sub.next_step = sub.next_step.min(at);
        if sub.charged_until < at && sub.present == bit {
            // The cycles before were idle.
            sub.charge(at);
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
            let id = reply.id;
            self.inbox.pop_front();
            match self.port.answered(id) {
                Outstanding::Sector {
                    sector,
                    line,
                    waiters,
                } => self.fill(sector, line, waiters),
                Outstanding::Bypass { record } => self.part_arrives(record),
                Outstanding::Write { slot, order } => {
                    self.acknowledged(order);
                    self.write_acknowledged(slot);
                }
                Outstanding::Line { miss } => {
                    self.level1.sector_arrives(&mut self.wheel, miss, now);
                }
                Outstanding::Free { .. } => {}
            }
            if !self.unit.retry.is_empty() {
                self.retry_accesses();
            }
            if self.unit.asking != 0 {
                self.hand_over();
            }
        }
    }

    #[inline]
    fn fill(&mut self, sector: u64, line: u32, waiters: u32) {
        let now = self.now;
        let (l1d, records) = (&mut self.unit.l1d, &mut self.unit.records);
        let wheel = &mut self.wheel;
        l1d.fill(sector, line, waiters, |index| {
            let record = &mut records[index];
            record.waiting -= 1;
            record.ready = record.ready.max(now);
            if record.waiting == 0 && record.next_sector == record.sectors.count {
                let ready = record.ready.max(now + 1);
                wheel.schedule(ready, Event::DataReady { record: index });
            }
        });
    }

    #[inline]
    fn handle<S: Source>(&mut self, event: Event, source: &mut S) {
        match event {
            Event::CounterFalls { slot, counter } => self.counter_falls(slot, counter),
            Event::DepbarHolds {
                slot,
                counter,
                at_most,
                others,
            } => {
                self.depbar_holds(slot, counter, at_most, others);
            }
            Event::BarrierHolds { slot, generation } => {
                let warp = &self.warps[slot as usize];
                if warp.resident && !warp.ended && warp.barrier_generation == generation {
                    self.hold(slot, StallReason::Barrier);
                }
            }
            Event::BarrierReleases { wait, .. } => self.release_barrier(wait as usize, source),
            Event::WarpWakes { slot } => self.release(slot),
            Event::SourcesRead {
                slot,
                counter,
                hazard,
            } => {
                if counter != 7 {
                    self.counter_falls(slot, counter);
                }
                self.hazards.sources_read(hazard, &self.program);
            }
            Event::ResultWritten {
                slot,
                counter,
                hazard,
                variable,
            } => {
                if counter != 7 {
                    self.counter_falls(slot, counter);
                }
                if hazard != NO_HAZARD {
                    self.hazards.retired(hazard, &self.program, self.now);
                }
                if variable {
                    self.instruction_done(slot);
                }
            }
            Event::HandOver { sub_core } => self.ask_for_hand_over(sub_core),
            Event::HandOverFree => {
                self.unit.hand_over_armed = false;
                self.hand_over();
            }
            Event::MemorySourcesRead { record } => self.memory_sources_read(record),
            Event::L1Access { record } => self.access_l1(record),
            Event::ConstantAccess { record } => self.access_constant(record),
            Event::DataReady { record } => self.data_ready(record),
            Event::WrittenBack { record } => self.written_back(record),
            Event::Retired { record } => self.retire(record),
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
            }
            Event::LinkReply {
                line,
                sub_core,
                purpose,
            } => {
                self.line_arrives(line, sub_core, Purpose::from_number(purpose));
            }
            Event::Float64HandOver { sub_core } => self.float64_hand_over(sub_core as usize),
        }
    }

    /// Line size of the cache that asks.
    fn asked_bytes(&self, client: u8, purpose: Purpose) -> u32 {
        match purpose {
            Purpose::Constant if client == MEMORY_UNIT => self.unit.constants.line_bytes(),
            Purpose::Constant => self.sub_cores[client as usize].constants.line_bytes(),
            _ => self.parameters.l0_instruction_cache.line_bytes,
        }
    }

    /// One request onto the link to the shared instruction and constant cache: the clients in rotation,
    /// demands before constants before prefetches.
    fn serve_link(&mut self) {
        let now = self.now;
        self.level1.armed = false;
        for step in 1..=SUB_CORES as u8 + 1 {
            let client = (self.level1.last_served + step) % (SUB_CORES as u8 + 1);
            let request = if client == MEMORY_UNIT {
                self.unit
                    .constants
                    .take_demand()
                    .map(|line| (line, Purpose::Constant))
            } else {
                let sub = &mut self.sub_cores[client as usize];
                sub.level0
                    .take_demand()
                    .map(|line| (line, Purpose::Demand))
                    .or_else(|| {
                        sub.constants
                            .take_demand()
                            .map(|line| (line, Purpose::Constant))
                    })
                    .or_else(|| {
                        sub.level0
                            .take_prefetch()
                            .map(|line| (line, Purpose::Prefetch))
                    })
            };
            if let Some((line, purpose)) = request {
                self.level1.last_served = client;
                self.level1
                    .send(&mut self.wheel, line, client, purpose, now);
                break;
            }
        }
        let wanted = self.unit.constants.wants_link()
            || self
                .sub_cores
                .iter()
                .any(|sub| sub.level0.wants_link() || sub.constants.wants_link());
        if wanted {
            self.level1.arm(&mut self.wheel, now);
        }
    }

    fn line_arrives(&mut self, line: u32, client: u8, purpose: Purpose) {
        let now = self.now;
        if client == MEMORY_UNIT {
            self.constant_line_arrives(line);
            return;
        }
        let sub = &mut self.sub_cores[client as usize];
        match purpose {
            Purpose::Constant => {
                sub.constants.arrive(line, now);
                for slot in 0..SLOTS {
                    if sub.constant_wait >> slot & 1 == 1 && sub.constant_line[slot] == line {
                        sub.constant_wait &= !(1 << slot);
                    }
                }
            }
            Purpose::Demand => {
                sub.level0.arrive_demand(line, now);
                let fetch = &mut sub.fetch;
                sub.level0
                    .answer(line, |slot, epoch| fetch.answer(slot as usize, epoch, now));
            }
            Purpose::Prefetch => {
                if sub.level0.arrive_prefetch(line, now) {
                    let fetch = &mut sub.fetch;
                    sub.level0
                        .answer(line, |slot, epoch| fetch.answer(slot as usize, epoch, now));
                }
                if sub.level0.wants_link() {
                    self.level1.arm(&mut self.wheel, now);
                }
            }
        }
        self.wake(client as usize);
    }

    /// A dependence counter of the warp in `slot` falls by one.
    #[inline]
    pub(crate) fn counter_falls(&mut self, slot: u8, counter: u8) {
        let sub_core = slot as usize % SUB_CORES;
        let local = slot as usize / SUB_CORES;
        let sub = &mut self.sub_cores[sub_core];
        let value = &mut sub.counters[local][counter as usize];
        *value = value.saturating_sub(1);
        if *value == 0 {
            sub.nonzero[local] &= !(1 << counter);
        }
        sub.look_at_counters(local);
        if self.warps[slot as usize].depbar.is_some() {
            self.look_at_depbar(slot);
        }
        self.wake(sub_core);
    }

    fn depbar_holds(&mut self, slot: u8, counter: u8, at_most: u8, others: u8) {
        let warp = &mut self.warps[slot as usize];
        if !warp.resident || warp.ended {
            return;
        }
        warp.depbar = Some((counter, at_most, others));
        let kind = if self.sub_cores[slot as usize % SUB_CORES].long[slot as usize / SUB_CORES]
            >> counter
            & 1
            == 1
        {
            StallReason::LongScoreboard
        } else {
            StallReason::ShortScoreboard
        };
        self.hold(slot, kind);
        self.look_at_depbar(slot);
    }

    fn look_at_depbar(&mut self, slot: u8) {
        let sub = &self.sub_cores[slot as usize % SUB_CORES];
        let local = slot as usize / SUB_CORES;
        let Some((counter, at_most, others)) = self.warps[slot as usize].depbar else {
            return;
        };
        let value = sub.counters[local]
            .get(counter as usize)
            .copied()
            .unwrap_or(0);
        if value <= at_most && sub.nonzero[local] & others == 0 {
            self.warps[slot as usize].depbar = None;
            self.release(slot);
        }
    }

    /// Keeps the warp in `slot` from issuing.
    pub(crate) fn hold(&mut self, slot: u8, reason: StallReason) {
        let sub = &mut self.sub_cores[slot as usize % SUB_CORES];
        let local = slot as usize / SUB_CORES;
        sub.held |= 1 << local;
        sub.held_by[local] = reason;
        self.wake(slot as usize % SUB_CORES);
    }

    /// Lets the warp in `slot` issue again.
    pub(crate) fn release(&mut self, slot: u8) {
        let sub = &mut self.sub_cores[slot as usize % SUB_CORES];
        sub.held &= !(1 << (slot as usize / SUB_CORES));
        self.wake(slot as usize % SUB_CORES);
    }

    fn release_barrier<S: Source>(&mut self, place: usize, source: &mut S) {
        let mut left = self.barrier_waits[place].warps;
        self.barrier_waits[place].active = false;
        while left != 0 {
            let slot = left.trailing_zeros() as u8;
            left &= left - 1;
            let warp = &mut self.warps[slot as usize];
            warp.barrier_generation = warp.barrier_generation.wrapping_add(1);
            if warp.ended || !warp.resident {
                continue;
            }
            // Which of its lanes run first is the source's business.
            let pc = source.pc(WarpSlot(slot)).0;
            let sub = &mut self.sub_cores[slot as usize % SUB_CORES];
            let local = slot as usize / SUB_CORES;
            if sub.pc[local] != pc {
                sub.pc[local] = pc;
                sub.wait[local] = self
                    .program
                    .rows
                    .get(pc as usize)
                    .map_or(0, |row| row.wait_mask);
                sub.fetch.redirect(local, pc, self.now);
                sub.look_at_counters(local);
            }
            if sub.held_by[local] == StallReason::Barrier {
                self.release(slot);
            }
        }
    }

    /// A memory instruction of the warp in `slot` has been handed over.
    pub(crate) fn handed_over(&mut self, slot: u8) {
        let warp = &mut self.warps[slot as usize];
        warp.unhanded -= 1;
        if warp.unhanded == 0 {
            if warp.arrival_pending {
                self.arrival_complete(slot);
            }
            if self.fenced >> slot & 1 == 1 {
                self.look_at_fence(slot);
            }
        }
    }

    /// A store sends a packet that will be acknowledged.
    #[inline]
    pub(crate) fn acknowledgement_expected(&mut self, slot: u8, order: u32) {
        self.orders.expect(order);
        self.warps[slot as usize].unacknowledged += 1;
    }

    fn write_acknowledged(&mut self, slot: u8) {
        self.warps[slot as usize].unacknowledged -= 1;
        self.look_at_end(slot);
    }

    /// An instruction of variable latency is over.
    #[inline]
    pub(crate) fn instruction_done(&mut self, slot: u8) {
        self.warps[slot as usize].outstanding -= 1;
        if self.warps[slot as usize].ended {
            self.look_at_end(slot);
        }
    }

    /// A copy to shared memory of group `group` is complete.
    pub(crate) fn copy_done(&mut self, slot: u8, group: u32) {
        let mut fallen = [0u8; 64];
        let mut count = 0;
        self.warps[slot as usize].copies.done(group, |counter| {
            if count < fallen.len() {
                fallen[count] = counter;
                count += 1;
            }
        });
        for &counter in &fallen[..count] {
            if counter < 6 {
                self.counter_falls(slot, counter);
            }
        }
    }

    /// The last lane of the warp in `slot` has exited.
    pub(crate) fn warp_ended(&mut self, slot: u8) {
        self.warps[slot as usize].ended = true;
        self.look_at_end(slot);
    }

    /// Ends the warp, and its CTA, once nothing is under way any more.
    fn look_at_end(&mut self, slot: u8) {
        let warp = &self.warps[slot as usize];
        if !warp.ended || warp.outstanding > 0 || warp.unacknowledged > 0 {
            return;
        }
        let place = warp.cta as usize;
        let cta = &mut self.ctas[place];
        if cta.busy >> slot & 1 == 0 {
            return;
        }
        cta.busy &= !(1 << slot);
        if cta.busy != 0 {
            return;
        }
        let warps = cta.warps;
        *cta = Cta::default();
        self.free_warps |= warps;
        self.resident_ctas -= 1;
        self.statistics.ctas += 1;
        self.count_residents(self.now + 1);
        self.resident_warps -= warps.count_ones();
        let mut left = warps;
        while left != 0 {
            let slot = left.trailing_zeros() as usize;
            left &= left - 1;
            self.warps[slot].resident = false;
        }
        self.copy_check.clear(place as u8);
        self.freed = true;
        self.finished_at = self.now + 1;
    }

    fn count_residents(&mut self, cycle: u64) {
        if self.resident_warps > 0 && cycle > self.active_since {
            let cycles = cycle - self.active_since;
            self.statistics.active_cycles += cycles;
            self.statistics.resident_warp_cycles += cycles * self.resident_warps as u64;
        }
        self.active_since = cycle;
    }

    /// Whether ended warps of a sub-core still wait for something.
    pub(crate) fn draining(&self, sub_core: usize) -> bool {
        (0..SLOTS).any(|local| {
            let slot = local * SUB_CORES + sub_core;
            self.warps.get(slot).is_some_and(|warp| {
                warp.ended && warp.resident && self.ctas[warp.cta as usize].busy >> slot & 1 == 1
            })
        })
    }

    /// Whether the next instruction of a warp touches a register that a deferred operation has not
    /// delivered (DESIGN.md V5); if so, holds the warp until it has.
    pub(crate) fn touches_deferred(&mut self, slot: u8, local: usize) -> bool {
        let sub = &self.sub_cores[slot as usize % SUB_CORES];
        let row = &self.program.rows[sub.pc[local] as usize];
        let next = sub.pc[local];
        let touched = self.deferred_under_way.iter().find_map(|&(other, index)| {
            if other != slot {
                return None;
            }
            let older = self.unit.records[index].pc;
            let pending = self.program.marks(self.program.rows[older as usize].writes);
            let mut uses = self
                .program
                .marks(row.reads)
                .iter()
                .chain(self.program.marks(row.writes));
            let mark = uses.find(|mark| {
                pending.iter().any(|write| {
                    mark.first < write.first + write.count as u16
                        && write.first < mark.first + mark.count as u16
                })
            })?;
            Some((older, mark.first))
        });
        if let Some((older, place)) = touched {
            self.hazards
                .touches_pending(older, next, place, slot, self.now);
            self.hold(slot, StallReason::LongScoreboard);
        }
        touched.is_some()
    }

    /// A deferred operation of the warp in `slot` has delivered.
    pub(crate) fn deferred_done(&mut self, slot: u8, index: RecordIndex) {
        let before = self.deferred_under_way.len();
        self.deferred_under_way
            .retain(|&entry| entry != (slot, index));
        if self.deferred_under_way.len() < before {
            self.warps[slot as usize].deferred -= 1;
            let local = slot as usize / SUB_CORES;
            let sub = &self.sub_cores[slot as usize % SUB_CORES];
            let held_for_data = sub.held >> local & 1 == 1
                && sub.held_by[local] == StallReason::LongScoreboard
                && self.warps[slot as usize].depbar.is_none();
            if held_for_data {
                self.release(slot);
            }
        }
    }

    /// No live warp and nothing under way.
    pub fn is_idle(&self) -> bool {
        self.resident_ctas == 0 && self.port.in_flight() == 0 && self.wheel.next() == u64::MAX
    }

    /// Whether any CTA is resident.
    pub fn has_ctas(&self) -> bool {
        self.resident_ctas > 0
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
        self.statistics.l1_store_hits += std::mem::take(&mut l1d.store_hits);
        self.statistics.l1_store_misses += std::mem::take(&mut l1d.store_misses);
        self.statistics.l1_instruction_hits += std::mem::take(&mut self.level1.hits);
        self.statistics.l1_instruction_misses += std::mem::take(&mut self.level1.miss_count);
        self.statistics.packets += std::mem::take(&mut self.port.busy_cycles);
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

    /// For the hang report: every live warp with its pc and what it waits for.
    pub fn waiting_warps(&self) -> Vec<WaitingWarp> {
        let mut waiting = Vec::new();
        for (slot, warp) in self.warps.iter().enumerate() {
            if !warp.resident || warp.ended {
                continue;
            }
            let sub = &self.sub_cores[slot % SUB_CORES];
            let local = slot / SUB_CORES;
            let bit = 1u16 << local;
            let counters = sub.wait[local] & sub.nonzero[local];
            let reason = if sub.held & bit != 0 {
                sub.held_by[local]
            } else if sub.dependent & bit != 0 {
                StallReason::ShortScoreboard
            } else if sub.fetch.waits_for_instruction(local) {
                StallReason::NoInstruction
            } else {
                StallReason::Dispatch
            };
            waiting.push(WaitingWarp {
                slot: WarpSlot(slot as u8),
                cta: CtaSlot(warp.cta),
                pc: source::Pc(sub.pc[local]),
                reason,
                counters,
                outstanding: warp.outstanding,
            });
        }
        waiting
    }
}

/// A live warp in a hang report.
#[derive(Clone, Copy, Debug)]
pub struct WaitingWarp {
    /// Its slot.
    pub slot: WarpSlot,
    /// Its CTA's slot.
    pub cta: CtaSlot,
    /// Its next instruction.
    pub pc: source::Pc,
    /// What holds it.
    pub reason: StallReason,
    /// Dependence counters that it waits for, bit k = counter k.
    pub counters: u8,
    /// Its instructions of variable latency under way.
    pub outstanding: u32,
}
