//! From the address stages to the unit shared by the SM: one instruction every other cycle, the
//! sub-cores in rotation (MODEL.md §7.1, §7.2). FP64 instructions come the same way where the SM has one unit for
//! them (MODEL.md §6).

use source::MemoryKind;

use crate::event::{Event, RecordIndex};
use crate::sm::{SUB_CORES, Sm};

/// Bits of `asking` that are memory instructions; the others are FP64 instructions.
const MEMORY: u8 = 0b1111;

impl Sm {
    /// Works out the stage times of a sub-core and schedules what follows from them.
    pub(crate) fn propagate_stages(&mut self, sub_core: usize) {
        let now = self.now;
        let unit = &mut self.unit;
        let (records, wheel, program) = (&unit.records, &mut self.wheel, &self.program);
        let walk = &mut self.walk;
        unit.stages[sub_core].propagate(|index, ready| {
            let record = &records[index];
            if !record.read_with_write {
                let read = program.rows[record.pc as usize].sources_read as u64;
                let cycle = (ready - 1 + read).max(now + 1);
                wheel.schedule(cycle, Event::MemorySourcesRead { record: index });
            }
            if let Some(walk) = walk {
                Sm::walk_ready(walk, index, ready);
            }
        });
        if let Some(ready) = unit.stages[sub_core].asks_at() {
            let event = Event::HandOver {
                sub_core: sub_core as u8,
            };
            wheel.schedule(ready.max(now + 1), event);
        }
    }

    /// The oldest instruction of `sub_core` asks for the shared unit.
    pub(crate) fn ask_for_hand_over(&mut self, sub_core: u8) {
        self.unit.asking |= 1 << sub_core;
        self.hand_over();
    }

    /// Hands over one instruction if the shared unit can take it: of the memory instructions and, where the
    /// SM has one FP64 unit, the FP64 instructions of the four sub-cores, each in turn. They share the way:
    /// while the lanes of an FP64 instruction pass, no memory instruction does.
    pub(crate) fn hand_over(&mut self) {
        let now = self.now;
        let mut asking = self.unit.asking;
        if self.unit.pending >= self.parameters.memory_unit.pending {
            asking &= !MEMORY;
        }
        if asking == 0 {
            return;
        }
        // Packets are bounded by credits: an instruction that may send many waits for room.
        let room = self.port.has_room(64);
        let unit = &self.unit;
        let may_go = |turn: u8| {
            let sends = |sub_core: u8| {
                let oldest = unit.stages[sub_core as usize].oldest();
                oldest.is_some_and(|index| unit.records[index].sends_packets())
            };
            asking >> turn & 1 == 1 && (room || turn >= 4 || !sends(turn))
        };
        let turn = (1..=8)
            .map(|step| (unit.last_served + step) % 8)
            .find(|&turn| may_go(turn));
        let Some(turn) = turn else { return };
        let accept = self.parameters.shared_float64.accept;
        let passed = if turn < 4 {
            self.float64_free
        } else {
            self.float64_free.saturating_sub(accept)
        };
        let from = self.unit.hand_over_free.max(passed);
        if now < from {
            self.arm_hand_over(from);
            return;
        }
        let sub_core = turn as usize % SUB_CORES;
        self.unit.last_served = turn;
        self.unit.hand_over_free = now + self.parameters.memory_unit.hand_over_interval;
        if turn >= 4 {
            self.float64_handed_over(sub_core);
        } else {
            self.unit.asking &= !(1 << turn);
            if let Some(record) = self.unit.stages[sub_core].hand_over(now) {
                self.unit.pending += 1;
                self.propagate_stages(sub_core);
                self.wake(sub_core);
                self.accepted(record);
            }
        }
        if self.unit.asking != 0 {
            self.arm_hand_over(self.unit.hand_over_free);
        }
    }

    /// Looks again in cycle `from`.
    fn arm_hand_over(&mut self, from: u64) {
        let from = from.max(self.now + 1);
        if self.unit.hand_over_armed > from {
            self.unit.hand_over_armed = from;
            self.wheel.schedule(from, Event::HandOverFree);
        }
    }

    /// The shared unit has accepted `record` in this cycle: sends it on its way.
    fn accepted(&mut self, index: RecordIndex) {
        let now = self.now;
        let (slot, kind, in_order) = {
            let record = &self.unit.records[index];
            (record.slot, record.kind, record.in_order)
        };
        if in_order {
            self.unit.textures[slot as usize % 4].push_back(index);
        }
        self.handed_over(slot);
        let to_lookup = self.parameters.memory_unit.to_lookup;
        let sends = self.unit.records[index].sends_packets();
        if self.walk.is_some() && !sends {
            self.walk_accepted(index, now, now + to_lookup);
        }
        match kind {
            MemoryKind::Pass => {
                self.return_in_order(index, now + to_lookup);
            }
            MemoryKind::SharedLoad
            | MemoryKind::MatrixLoad
            | MemoryKind::SharedStore
            | MemoryKind::SharedAtomic => {
                self.access_shared(index, now + to_lookup);
            }
            MemoryKind::ConstantLoad => {
                self.wheel
                    .schedule(now + to_lookup, Event::ConstantAccess { record: index });
            }
            MemoryKind::GlobalLoad
            | MemoryKind::GlobalStore
            | MemoryKind::GlobalAtomic
            | MemoryKind::CopyToShared => {
                // Each access takes one cycle of a generator; at most four instructions at once.
                let accesses = self.unit.records[index].lines.sectors.max(1) as u64;
                let generators = self.parameters.memory_unit.generators as usize;
                let mut best = 0;
                for generator in 1..generators {
                    if self.unit.generators[generator] < self.unit.generators[best] {
                        best = generator;
                    }
                }
                let start = now.max(self.unit.generators[best]);
                self.unit.generators[best] = start + accesses;
                let record = &self.unit.records[index];
                if record.lines.sectors > 0 {
                    let traffic = &mut self.statistics.traffic;
                    let traffic = traffic.count(record.space, record.operation);
                    traffic.instructions += 1;
                    traffic.sectors += record.lines.sectors as u64;
                }
                let lookup = start + to_lookup + self.parameters.memory_unit.translation;
                if self.walk.is_some() {
                    self.walk_accepted(index, start, lookup);
                }
                self.wheel
                    .schedule(lookup, Event::L1Access { record: index });
            }
        }
    }
}
