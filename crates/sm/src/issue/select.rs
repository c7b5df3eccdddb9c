//! The issue decision of one cycle: who is tried, what stops it, and what issuing changes
//! (MODEL.md §2.1 to 2.4).

use source::{Cycle, Fault, LaneMask, Operation, Pc, Source, Special, WarpSlot};

use super::Policy;
use crate::copies::Closed;
use crate::dependence::Hold;
use crate::event::Event;
use crate::hazard::HazardKind;
use crate::program::{NO_CONSTANT, Path, Row};
use crate::sm::Sm;
use crate::stall_reason::StallReason;
use crate::sub_core::{Increment, Latched};

impl Sm {
    /// One cycle of the issue stage; returns what became of the slot.
    #[inline]
    pub(crate) fn issue<S: Source>(
        &mut self,
        sub_core: usize,
        source: &mut S,
        shared: &S::Shared,
    ) -> Result<StallReason, (u8, Fault)> {
        let now = self.now;
        let sub = &mut self.sub_cores[sub_core];
        sub.try_again = u64::MAX;
        if let Some(stuck) = sub.control {
            // Cycles in which nobody is looked at do not count.
            sub.others_from += 1;
            return Ok(self.stuck_reason(&stuck));
        }
        if now < sub.port_opens {
            sub.others_from += 1;
            sub.try_again = sub.port_opens;
            return Ok(StallReason::Dispatch);
        }
        let greedy = sub.greedy;
        if now < sub.others_from && self.only_constant_missing(sub_core, greedy) {
            // The greedy warp's constant miss keeps the others back for a while.
            self.sub_cores[sub_core].try_again = now + 1;
            return Ok(StallReason::ConstantMiss);
        }
        let ready = self.sub_cores[sub_core].ready();
        let mut candidates = ready;
        let mut throttle = None;
        if let Some(aside) = self.sub_cores[sub_core].throttled {
            candidates &= !(1 << aside.slot);
            throttle = Some(self.stuck_reason(&aside));
        }
        let mut first_reason = None;
        while candidates != 0 {
            let sub = &mut self.sub_cores[sub_core];
            let slot = sub.policy.select(candidates, greedy, &sub.younger);
            candidates &= !(1 << slot);
            if self.scoreboard.is_some() && self.scoreboard_blocks(sub_core, slot) {
                let long = self.sub_cores[sub_core].waits_long(slot);
                first_reason.get_or_insert(if long {
                    StallReason::LongScoreboard
                } else {
                    StallReason::ShortScoreboard
                });
                continue;
            }
            let sub = &mut self.sub_cores[sub_core];
            let row = &self.program.rows[sub.pc[slot] as usize];
            let mut unit = row.unit;
            if row.path != Path::Fixed {
                if let Some(reason) = throttle {
                    sub.turns.turn_away(slot);
                    first_reason.get_or_insert(reason);
                    continue;
                }
                if !sub.turns.may_go(slot, ready) {
                    // There is room, but not for this one. Whose turn it is follows in this cycle.
                    sub.turns.turn_away(slot);
                    first_reason.get_or_insert(queue_reason(row));
                    continue;
                }
            } else {
                match sub.units.choose(row.first_unit, row.unit, now) {
                    Some(free) => unit = free,
                    None => {
                        let opens = sub.units.opens(row.first_unit, row.unit);
                        sub.try_again = sub.try_again.min(opens);
                        first_reason.get_or_insert(StallReason::MathPipe);
                        continue;
                    }
                }
                if row.constant_line != NO_CONSTANT && !sub.constants.lookup(row.constant_line, now)
                {
                    sub.constant_wait |= 1 << slot;
                    sub.constant_line[slot] = row.constant_line;
                    self.level1.arm(&mut self.wheel, now);
                    if sub.constant_missed >> slot & 1 == 0 {
                        sub.constant_missed |= 1 << slot;
                        if slot == greedy && sub.policy != Policy::Lrr {
                            let hold = self.parameters.issue.constant_hold as u64;
                            sub.others_from = now + hold.saturating_sub(1);
                        }
                    }
                    if slot == greedy && now < sub.others_from {
                        sub.try_again = now + 1;
                        return Ok(StallReason::ConstantMiss);
                    }
                    first_reason.get_or_insert(StallReason::ConstantMiss);
                    continue;
                }
            }
            if sub.nearly_full >> slot & 1 == 1
                && sub.would_overflow(slot, row.write_counter, row.read_counter)
            {
                sub.turns.leave(slot);
                sub.try_again = now + 1;
                first_reason.get_or_insert(StallReason::ShortScoreboard);
                continue;
            }
            let warp_slot = slot * 4 + sub_core;
            if self.warps[warp_slot].deferred > 0
                && self.touches_deferred(warp_slot as u8, slot, source)
            {
                let sub = &mut self.sub_cores[sub_core];
                if sub.turns.waits(slot) {
                    // Others need not wait for it any longer.
                    sub.turns.leave(slot);
                    sub.try_again = now + 1;
                }
                first_reason.get_or_insert(StallReason::LongScoreboard);
                continue;
            }
            self.issue_warp(sub_core, slot, unit, source, shared)
                .map_err(|fault| (warp_slot as u8, fault))?;
            self.sub_cores[sub_core].try_again = now + 1;
            return Ok(StallReason::Selected);
        }
        Ok(first_reason.unwrap_or_else(|| self.waiting_reason(sub_core)))
    }

    /// Issues the next instruction of the warp in local slot `slot`.
    #[inline]
    fn issue_warp<S: Source>(
        &mut self,
        sub_core: usize,
        slot: usize,
        unit: u8,
        source: &mut S,
        shared: &S::Shared,
    ) -> Result<(), Fault> {
        let now = self.now;
        let pc = self.sub_cores[sub_core].pc[slot];
        let warp_slot = (slot * 4 + sub_core) as u8;
        let effect = &mut self.effect;
        effect.ended = false;
        effect.blocked = false;
        effect.arrived = false;
        effect.accesses = false;
        effect.released = 0;
        effect.sleep = 0;
        // The clock is sampled in Control.
        if self.emulation.is_some() {
            self.execute_emulated(source, shared, warp_slot, pc)?;
        } else {
            source.issue(shared, WarpSlot(warp_slot), Pc(pc), Cycle(now + 1), effect)?;
        }
        let (lanes, active) = (self.effect.lanes, self.effect.active);
        self.statistics.warp_instructions += 1;
        self.statistics.thread_instructions += match lanes {
            LaneMask::MAX => 32,
            // Many host instructions where the target has none for it.
            lanes => lanes.count_ones() as u64,
        };

        let row = &self.program.rows[pc as usize];
        let variable = row.path != Path::Fixed;
        let hazard = match &mut self.scoreboard {
            None => self.hazards.issue(
                &self.program,
                row,
                pc,
                warp_slot,
                lanes,
                active,
                now,
                variable,
            ),
            Some(scoreboard) => scoreboard.issue(&self.program, row, pc, warp_slot, now, variable),
        };
        if self.emulation.is_some() {
            self.enter_emulated(warp_slot, pc, hazard);
        }
        let row = &self.program.rows[pc as usize];
        let sub = &mut self.sub_cores[sub_core];
        let bit = 1u16 << slot;
        if row.distance > 1 {
            sub.stalled |= bit;
            sub.stall_ends.set(slot, now + row.distance as u64, now);
        }
        if row.write_counter != 7 || row.read_counter != 7 {
            let cycle = now + 2;
            sub.increments[(cycle % 4) as usize] = Some(Increment {
                slot: slot as u8,
                write: row.write_counter,
                read: row.read_counter,
                long: row.long,
                cycle,
            });
        }
        if row.path == Path::Fixed {
            // Variable-latency units are asked in Control.
            sub.units.take(unit, now, row.interval as u64);
        } else {
            sub.turns.leave(slot);
        }
        if row.blocks_port > 0 {
            sub.port_opens = now + 1 + row.blocks_port as u64;
        }
        sub.greedy = slot;
        sub.others_from = 0;
        if row.constant_line != NO_CONSTANT && row.path == Path::Fixed {
            sub.constants.count(sub.constant_missed & bit == 0);
            sub.constant_missed &= !bit;
        }

        // Where the warp goes on.
        // The next pc of a blocked warp is known when its barrier lets it go.
        let next = if self.effect.blocked {
            pc.wrapping_add(1)
        } else {
            self.effect.next.0
        };
        if self.effect.ended {
            sub.present &= !bit;
            sub.fetch.end(slot);
            sub.dependent &= !bit;
        } else {
            if next == pc.wrapping_add(1) {
                sub.fetch.pop(slot, now);
            } else {
                sub.fetch.redirect(slot, next, now);
            }
            sub.pc[slot] = next;
            sub.wait[slot] = self
                .program
                .rows
                .get(next as usize)
                .map_or(0, |row| row.wait_mask);
            sub.look_at_counters(slot);
            self.expect(warp_slot, next, source);
        }

        let mut latched = Latched {
            pc,
            slot: slot as u8,
            unit,
            record: u16::MAX,
            hazard,
            generation: self.warps[warp_slot as usize].generation,
            since: now + 1,
        };
        if row.path == Path::Memory {
            latched.record = self.start_memory(pc, warp_slot, hazard);
        } else if row.path != Path::Fixed {
            self.warps[warp_slot as usize].outstanding += 1;
        }
        self.sub_cores[sub_core].control = Some(latched);
        self.special(pc, warp_slot, source);
        self.after_issue(pc, warp_slot);
        Ok(())
    }

    /// Has the host fetch what the instruction at `pc` of the warp in `slot` will touch: the registers of
    /// all SMs together exceed its caches, and it need not wait for each when the time has come.
    #[inline]
    pub(crate) fn expect<S: Source>(&self, slot: u8, pc: u32, source: &S) {
        let Some(row) = self.program.rows.get(pc as usize) else {
            return;
        };
        for marks in [row.reads, row.writes] {
            for mark in self.program.marks(marks) {
                self.hazards.expect(slot, mark);
                if (mark.first as usize) < self.program.registers {
                    source.expect(WarpSlot(slot), mark.first, mark.count);
                }
            }
        }
    }

    /// Makes a record for a memory instruction and enters it where others look for it.
    fn start_memory(&mut self, pc: u32, warp_slot: u8, hazard: u16) -> u16 {
        let row: &Row = &self.program.rows[pc as usize];
        let index = self.unit.records.add(row, pc, warp_slot, &self.effect);
        let deferred = self.effect.accesses && self.effect.access.deferred.is_some();
        let record = &mut self.unit.records[index];
        record.hazard = hazard;
        if let Some(emulation) = &mut self.emulation {
            emulation.has_record(hazard, index);
        }
        let writes = matches!(
            record.operation,
            Operation::Store | Operation::Atomic | Operation::Reduction
        );
        let ordered = deferred || writes && record.lines.count > 0;
        if ordered {
            record.order = self.orders.add();
        }
        let copies = self.effect.accesses && record.operation == Operation::CopyToShared;
        let warp = &mut self.warps[warp_slot as usize];
        warp.outstanding += 1;
        warp.unhanded += 1;
        if copies {
            record.group = warp.copies.start();
        }
        if self.hazards.enabled() {
            self.check_copies(index, pc, warp_slot);
        }
        let record = &self.unit.records[index];
        let warp = &mut self.warps[warp_slot as usize];
        let has_result = self.program.rows[pc as usize].writes.1 > 0;
        if deferred {
            for step in 0..record.lines.count as usize {
                let part = record.lines.at(step);
                self.unit.l1d.drop_sectors(part.line.0, part.sectors);
            }
            if has_result {
                warp.deferred += 1;
                let lanes = self.effect.access.lanes;
                self.deferred_under_way.push((warp_slot, index, lanes));
            }
        }
        if self.walk.is_some() {
            self.walk_issue(index, pc, warp_slot);
        }
        index
    }

    /// The part of the hazard check that concerns LDGSTS.
    #[inline]
    fn check_copies(&mut self, index: u16, pc: u32, warp_slot: u8) {
        if !self.effect.accesses {
            return;
        }
        let cta = self.warps[warp_slot as usize].cta;
        let access = &self.effect.access;
        match access.operation {
            Operation::CopyToShared => {
                self.copy_check.start(index, cta, pc, self.now, access);
            }
            Operation::Load if !self.copy_check.is_empty() => {
                if let Some((copy, issued)) = self.copy_check.touched(cta, access) {
                    let kind = HazardKind::CopyNotWaitedFor;
                    let found = self.now - issued;
                    self.hazards
                        .report(kind, copy, pc, 0, found, 0, warp_slot, self.now);
                }
            }
            _ => {}
        }
    }

    /// Instructions that do something at issue besides going down the pipeline.
    #[inline]
    fn special<S: Source>(&mut self, pc: u32, slot: u8, source: &mut S) {
        let now = self.now;
        let generation = self.warps[slot as usize].generation;
        let in_effect = self.effect.lanes != 0;
        match self.program.rows[pc as usize].special {
            Special::None | Special::Clock | Special::ErrorBarrier => {}
            Special::Exit | Special::CtaBarrier { .. } => {}
            // With a guard that is false in all lanes none of these happens.
            Special::WaitCounter { .. }
            | Special::Fence(_)
            | Special::InvalidateL1
            | Special::ArriveCopies
                if !in_effect => {}
            Special::ArriveCopies => {
                if self.warps[slot as usize].copies.close(Closed::Arrival) {
                    source.arrive(WarpSlot(slot));
                }
            }
            Special::WaitCounter {
                counter,
                at_most,
                others,
            } => {
                let cycle = now + self.parameters.issue.depbar_hold;
                self.wheel.schedule(
                    cycle,
                    Event::DepbarHolds {
                        slot,
                        counter,
                        at_most,
                        others,
                        generation,
                    },
                );
            }
            Special::CommitCopies => {
                let counter = self.program.rows[pc as usize].write_counter;
                let closed = Closed::Counter(counter, now + 3);
                let complete = !in_effect || self.warps[slot as usize].copies.close(closed);
                if complete && counter != 7 {
                    // Nothing under way: complete as soon as the counter has risen.
                    let event = Event::CounterFalls {
                        slot,
                        counter,
                        generation,
                    };
                    self.wheel.schedule(now + 3, event);
                }
            }
            Special::Fence(scope) => self.starts_fence(slot, scope),
            Special::InvalidateL1 => self.unit.l1d.invalidate(),
        }
    }

    /// What the effect asks for beyond the instruction's own way.
    #[inline]
    fn after_issue(&mut self, pc: u32, slot: u8) {
        let (arrived, blocked) = (self.effect.arrived, self.effect.blocked);
        let (released, sleep, ended) = (self.effect.released, self.effect.sleep, self.effect.ended);
        if arrived || blocked {
            self.arrives_at_barrier(pc, slot, released);
        }
        if sleep > 0 {
            let hold = Hold::Sleep;
            self.hold(slot, hold);
            let wakes = self.now.saturating_add(sleep);
            self.wheel.schedule(wakes, Event::WarpWakes { slot, hold });
        }
        if released != 0 {
            self.barrier_complete(released);
        }
        if ended {
            self.warp_ended(slot);
        }
    }

    /// Why an instruction is stuck in Control.
    fn stuck_reason(&self, stuck: &Latched) -> StallReason {
        queue_reason(&self.program.rows[stuck.pc as usize])
    }

    /// Whether the warp could be issued but for a constant line.
    fn only_constant_missing(&self, sub_core: usize, slot: usize) -> bool {
        let sub = &self.sub_cores[sub_core];
        if sub.constant_wait >> slot & 1 == 0 {
            return false;
        }
        let others = sub.stalled | sub.dependent | sub.held;
        (sub.present & sub.fetch.valid_heads & !others) >> slot & 1 == 1
    }

    /// Why the warp that the policy tries first cannot be issued.
    pub(crate) fn waiting_reason(&self, sub_core: usize) -> StallReason {
        let sub = &self.sub_cores[sub_core];
        if sub.present == 0 {
            return if self.draining(sub_core) {
                StallReason::Drain
            } else {
                StallReason::Idle
            };
        }
        let slot = sub.policy.select(sub.present, sub.greedy, &sub.younger);
        let bit = 1u16 << slot;
        if let Some(aside) = sub.throttled
            && aside.slot as usize == slot
        {
            self.stuck_reason(&aside)
        } else if sub.held & bit != 0 {
            self.held_reason(sub_core, slot)
        } else if sub.stalled & bit != 0 {
            StallReason::Wait
        } else if sub.fetch.waits_for_instruction(slot) {
            StallReason::NoInstruction
        } else if sub.dependent & bit != 0 {
            if sub.waits_long(slot) {
                StallReason::LongScoreboard
            } else {
                StallReason::ShortScoreboard
            }
        } else if sub.constant_wait & bit != 0 {
            StallReason::ConstantMiss
        } else {
            StallReason::Dispatch
        }
    }
}

/// What an instruction waits for that its unit has no room for.
fn queue_reason(row: &Row) -> StallReason {
    match row.path {
        Path::Fixed => StallReason::Dispatch,
        Path::Memory if row.long => StallReason::MemoryQueue,
        Path::Memory => StallReason::SharedQueue,
        Path::Variable | Path::SharedFloat64 => StallReason::MathPipe,
    }
}
