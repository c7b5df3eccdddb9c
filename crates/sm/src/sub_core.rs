//! A sub-core: one line per stage, the oldest stage first (MODEL.md §3). What a stage does stands in the
//! file of its name.

use crate::constant_cache::ConstantCache;
use crate::dependence::COUNTERS;
use crate::event::RecordIndex;
use crate::front_end::fetch::Fetch;
use crate::front_end::level0::Level0;
use crate::issue::Policy;
use crate::issue::turns::Turns;
use crate::parameters::SmParameters;
use crate::program::{Path, Program};
use crate::register_file::{ReadPorts, WritePorts};
use crate::reuse_cache::ReuseCache;
use crate::ring::MaskRing;
use crate::sm::Sm;
use crate::stall_reason::{REASONS, StallReason};
use crate::units::{UnitIndex, Units};
use source::{Fault, Source};

/// Warps of a sub-core at most.
pub const SLOTS: usize = 16;
/// No warp.
pub const NO_SLOT: usize = 15;

/// An instruction in the Control or Allocate latch.
#[derive(Clone, Copy, Debug)]
pub struct Latched {
    /// Its pc.
    pub pc: u32,
    /// Local slot of its warp.
    pub slot: u8,
    /// Unit that took it.
    pub unit: UnitIndex,
    /// Its record, if it goes to the memory unit.
    pub record: RecordIndex,
    /// Its entry in the hazard table.
    pub hazard: u16,
    /// Generation of its warp.
    pub generation: u8,
    /// First cycle in which it is in this stage.
    pub since: u64,
}

/// Counters that an instruction raises, seen by issue two cycles after its own issue.
#[derive(Clone, Copy, Debug)]
pub struct Increment {
    /// Local slot.
    pub slot: u8,
    /// Write counter, 7 if none.
    pub write: u8,
    /// Read counter, 7 if none.
    pub read: u8,
    /// Producer goes off the SM.
    pub long: bool,
    /// Cycle in which issue sees it.
    pub cycle: u64,
}

/// State of one sub-core. Warps are named by local slot (warp slot divided by four); sets of warps are
/// masks over the slots.
pub struct SubCore {
    /// Instruction buffers and fetch.
    pub fetch: Fetch,
    /// L0 instruction cache.
    pub level0: Level0,
    /// L0 constant cache for operands.
    pub constants: ConstantCache,
    /// Warps that have not ended.
    pub present: u16,
    /// Warps whose stall count runs.
    pub stalled: u16,
    /// When stall counts run out.
    pub stall_ends: MaskRing,
    /// Warps whose next instruction waits for a dependence counter.
    pub dependent: u16,
    /// Warps held by a barrier, fence, sleep or DEPBAR.
    pub held: u16,
    /// Why they are held: bits of [`crate::dependence::Hold`].
    pub holds: [u8; SLOTS],
    /// Warps that wait for a constant line, and which.
    pub constant_wait: u16,
    /// The line each of them waits for.
    pub constant_line: [u32; SLOTS],
    /// Next pc of each warp.
    pub pc: [u32; SLOTS],
    /// Wait mask of each warp's next instruction.
    pub wait: [u8; SLOTS],
    /// Dependence counters.
    pub counters: [[u8; COUNTERS]; SLOTS],
    /// Warps with a counter close to its largest value.
    pub nearly_full: u16,
    /// Counters that are not zero, bit k = counter k.
    pub nonzero: [u8; SLOTS],
    /// Counters raised by something that goes off the SM.
    pub long: [u8; SLOTS],
    /// Which warp goes first.
    pub policy: Policy,
    /// Warps younger than each warp.
    pub younger: [u16; SLOTS],
    /// The warp that issued last.
    pub greedy: usize,
    /// First cycle in which others may pass the greedy warp that misses a constant.
    pub others_from: u64,
    /// Warps whose next instruction has missed its constant at least once.
    pub constant_missed: u16,
    /// Counters about to rise.
    pub increments: [Option<Increment>; 4],
    /// Control stage.
    pub control: Option<Latched>,
    /// The instruction that waits for room in the queue of its unit.
    pub throttled: Option<Latched>,
    /// Whose turn it is once there is.
    pub turns: Turns,
    /// Allocate stage.
    pub allocate: Option<Latched>,
    /// First cycle in which the issue port is open.
    pub port_opens: u64,
    /// Cycle in which issue should look again at warps that it could not take in this one.
    pub try_again: u64,
    /// Execution units.
    pub units: Units,
    /// Read ports.
    pub read_ports: ReadPorts,
    /// Write ports.
    pub write_ports: WritePorts,
    /// Reuse cache.
    pub reuse_cache: ReuseCache,
    /// FP64 instructions in the queue, and when the transfer stage is free.
    pub float64_queued: u32,
    /// First cycle in which the transfer of the next FP64 instruction can begin.
    pub float64_transfer_free: u64,
    /// Next cycle in which the sub-core has something to do by itself.
    pub next_step: u64,
    /// First cycle not charged yet.
    pub charged_until: u64,
    /// What the cycles since then are charged to.
    pub charge_to: StallReason,
    /// Slots by reason.
    pub slots: [u64; REASONS],
    /// Cycles that instructions waited in Allocate.
    pub port_stalls: u64,
}

impl SubCore {
    /// An empty sub-core for a program of `instructions` instructions.
    pub fn new(parameters: &SmParameters, instructions: u32) -> SubCore {
        let level0 = &parameters.l0_instruction_cache;
        let constants = &parameters.constant_operand_cache;
        let register_file = &parameters.register_file;
        let reuse_slots = if register_file.reuse_cache {
            register_file.reuse_slots
        } else {
            0
        };
        SubCore {
            fetch: Fetch::new(&parameters.fetch, level0.perfect, instructions),
            level0: Level0::new(level0, &parameters.stream_buffer, instructions),
            constants: ConstantCache::new(
                constants.sets,
                constants.ways,
                constants.line_bytes,
                constants.perfect,
            ),
            present: 0,
            stalled: 0,
            stall_ends: MaskRing::new(),
            dependent: 0,
            held: 0,
            holds: [0; SLOTS],
            constant_wait: 0,
            constant_line: [0; SLOTS],
            pc: [0; SLOTS],
            wait: [0; SLOTS],
            counters: [[0; COUNTERS]; SLOTS],
            nearly_full: 0,
            nonzero: [0; SLOTS],
            long: [0; SLOTS],
            policy: parameters.issue.policy,
            younger: [0; SLOTS],
            greedy: NO_SLOT,
            others_from: 0,
            constant_missed: 0,
            increments: [None; 4],
            control: None,
            throttled: None,
            turns: Turns::new(),
            allocate: None,
            port_opens: 0,
            try_again: u64::MAX,
            units: Units::new(),
            read_ports: ReadPorts::new(register_file.read_ports, register_file.reads_last),
            write_ports: WritePorts::new(),
            reuse_cache: ReuseCache::new(reuse_slots),
            float64_queued: 0,
            float64_transfer_free: 0,
            next_step: u64::MAX,
            charged_until: 0,
            charge_to: StallReason::Idle,
            slots: [0; REASONS],
            port_stalls: 0,
        }
    }

    /// Warps whose next instruction could be issued as far as the warp itself is concerned.
    #[inline]
    pub fn ready(&self) -> u16 {
        self.present
            & self.fetch.valid_heads
            & !(self.stalled | self.dependent | self.held | self.constant_wait)
    }

    /// Charges the cycles up to `now` (exclusive) to the present reason.
    #[inline]
    pub fn charge(&mut self, now: u64) {
        self.slots[self.charge_to as usize] += now - self.charged_until;
        self.charged_until = now;
    }

    /// Whether the wait mask of the warp's next instruction is satisfied has to be looked at again.
    #[inline]
    pub fn look_at_counters(&mut self, slot: usize) {
        if self.wait[slot] & self.nonzero[slot] != 0 {
            self.dependent |= 1 << slot;
        } else {
            self.dependent &= !(1 << slot);
        }
    }

    /// Whether what the warp's next instruction waits for goes off the SM.
    #[inline]
    pub fn waits_long(&self, slot: usize) -> bool {
        self.long[slot] & self.wait[slot] & self.nonzero[slot] != 0
    }

    /// Next cycle after `now` in which the sub-core can do something without an event from outside.
    #[inline]
    fn next_own_step(&self, program: &Program, now: u64) -> u64 {
        if self.allocate.is_some() {
            return now + 1;
        }
        let mut next = self.try_again.max(now + 1);
        if let Some(latched) = self.control
            && latched.since > now
        {
            return now + 1;
        }
        if let Some(latched) = self.control.or(self.throttled) {
            // Stuck. The memory unit and the shared FP64 unit wake the sub-core when they have room.
            let row = &program.rows[latched.pc as usize];
            if row.path == Path::Variable {
                next = next.min(self.units.opens(row.unit, row.unit).max(now + 1));
            }
        }
        for increment in self.increments.iter().flatten() {
            next = next.min(increment.cycle);
        }
        next.min(self.fetch.next_fetch(now))
            .min(self.stall_ends.next(now))
            .min(self.fetch.next_valid(now))
    }

    /// Cycles slept through in which nobody was looked at because the issue port was not open: they do
    /// not count for the constant hold.
    #[inline]
    fn skip_closed_port(&mut self, now: u64) {
        let slept = now - self.charged_until;
        if slept == 0 {
            return;
        }
        if self.control.is_some() {
            self.others_from += slept;
        } else if self.charged_until < self.port_opens {
            self.others_from += self.port_opens.min(now) - self.charged_until;
        }
    }
}

impl Sm {
    /// One cycle of a sub-core.
    #[inline]
    pub(crate) fn step<S: Source>(
        &mut self,
        sub_core: usize,
        source: &mut S,
        shared: &S::Shared,
    ) -> Result<(), (u8, Fault)> {
        let now = self.now;
        let sub = &mut self.sub_cores[sub_core];
        sub.skip_closed_port(now);
        sub.charge(now);
        sub.stalled &= !sub.stall_ends.take(now);
        sub.fetch.tick(now);
        sub.raise_counters(now);

        self.allocate(sub_core);
        self.enter_memory_stages(sub_core);
        self.control(sub_core);
        let mut reason = self.issue(sub_core, source, shared)?;
        self.fetch(sub_core);
        if self.resident_ctas == 0 && reason != StallReason::Selected {
            // What is left in the pipeline stalls nobody.
            reason = StallReason::Idle;
        }

        let next_entry = self.unit.stages[sub_core].next_entry(now);
        let sub = &mut self.sub_cores[sub_core];
        sub.slots[reason as usize] += 1;
        sub.charged_until = now + 1;
        sub.next_step = next_entry.min(sub.next_own_step(&self.program, now));
        if sub.next_step > now + 1 {
            let reason = self.waiting_reason(sub_core);
            self.sub_cores[sub_core].charge_to = reason;
        }
        Ok(())
    }

    /// One fetch.
    #[inline]
    fn fetch(&mut self, sub_core: usize) {
        let now = self.now;
        let sub = &mut self.sub_cores[sub_core];
        if sub.fetch.wants() {
            sub.fetch
                .fetch(&mut sub.level0, sub.policy, sub.greedy, &sub.younger, now);
            if sub.level0.wants_link() {
                self.level1.arm(&mut self.wheel, now);
            }
        }
    }

    /// Makes a sub-core step in this cycle.
    #[inline]
    pub(crate) fn wake(&mut self, sub_core: usize) {
        let sub = &mut self.sub_cores[sub_core];
        sub.next_step = sub.next_step.min(self.now);
    }
}
