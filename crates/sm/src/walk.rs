//! The life of one memory instruction, written down beside the simulation: which warp, which execution,
//! and each step from its issue to the release of its dependence counter. Beyond the port the memory side
//! notes its own.

use source::{
    Chosen, Cycle, Found, Hop, LaneMask, Line, Operation, RequestId, SectorMask, Space, Structure,
    Wait, WarpSlot,
};

use crate::event::RecordIndex;
use crate::memory_unit::coalesce::Part;
use crate::sm::{SUB_CORES, Sm};
use crate::sub_core::SLOTS;

/// Which execution of which instruction is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkTarget {
    /// CTA, counted over the grid, and warp of it; without them any warp that an SM has.
    pub warp: Option<(u64, u32)>,
    /// Pc in instructions; without it any load of device memory.
    pub pc: Option<u32>,
    /// How many executions go before.
    pub nth: u64,
}

/// A line that the instruction touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    /// The line, virtually addressed.
    pub line: Line,
    /// Its sectors.
    pub sectors: SectorMask,
    /// The packets that it sent: the first, and how many.
    pub packets: Option<(RequestId, u16)>,
}

/// What became of the instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walk {
    target: WalkTarget,
    /// The warp's slot and generation, once its CTA has started.
    warp: Option<(u8, u8)>,
    /// The CTA in each slot, counted over the grid, and the warp of it.
    residents: Vec<(u64, u32)>,
    /// Executions so far.
    pub met: u64,
    record: Option<RecordIndex>,
    /// Cycle in which its address stages are through.
    ready: u64,
    /// Sectors of packets that are to be answered.
    pending: Vec<(RequestId, SectorMask)>,
    /// The last answer.
    answered: u64,
    /// The constant line that is awaited, and whether the L1.5 cache has to fetch it.
    constant: Option<(u32, Found)>,
    /// CTA, counted over the grid, and warp of it.
    pub place: (u64, u32),
    /// Where it was executed.
    pub slot: WarpSlot,
    /// Its pc.
    pub pc: u32,
    /// What it does, and where.
    pub operation: Operation,
    /// The memory space.
    pub space: Space,
    /// Its lanes.
    pub lanes: LaneMask,
    /// When it was issued.
    pub issued: Option<Cycle>,
    /// When it was through: the counter fell, or the last acknowledgement came.
    pub done: Option<Cycle>,
    /// The lines that it touched.
    pub lines: Vec<Touched>,
    /// The steps inside the SM.
    pub hops: Vec<Hop>,
}

impl Walk {
    /// Nothing seen yet.
    pub fn new(target: WalkTarget) -> Walk {
        Walk {
            target,
            warp: None,
            residents: vec![(0, 0); SLOTS * SUB_CORES],
            met: 0,
            record: None,
            ready: 0,
            pending: Vec::new(),
            answered: 0,
            constant: None,
            place: (0, 0),
            slot: WarpSlot(0),
            pc: 0,
            operation: Operation::Load,
            space: Space::Global,
            lanes: 0,
            issued: None,
            done: None,
            lines: Vec::new(),
            hops: Vec::new(),
        }
    }

    fn follows(&self, index: RecordIndex) -> bool {
        self.record == Some(index)
    }

    /// When the last step of the whole instruction ended.
    fn so_far(&self) -> u64 {
        let whole = self.hops.iter().rev().find(|hop| hop.packet.is_none());
        let issued = self.issued.map_or(0, |cycle| cycle.0);
        whole.map_or(issued, |hop| hop.end.0)
    }

    fn add(&mut self, structure: Structure, end: u64) -> &mut Hop {
        let start = self.so_far().min(end);
        self.hops.push(Hop::whole(structure, start, end));
        let last = self.hops.len() - 1;
        &mut self.hops[last]
    }

    fn add_wait(&mut self, structure: Structure, end: u64, wait: Wait) {
        let hop = self.add(structure, end);
        *hop = hop.waited(wait);
    }
}

/// What each part of the SM tells. None of this runs unless an instruction is followed.
impl Sm {
    /// A CTA has started, its warps in these slots.
    #[cold]
    pub(crate) fn walk_cta(&mut self, cta: u64, slots: &[WarpSlot]) {
        let Some(walk) = &mut self.walk else { return };
        for (warp, slot) in (0..).zip(slots) {
            walk.residents[slot.0 as usize] = (cta, warp);
            if walk.target.warp == Some((cta, warp)) {
                walk.warp = Some((slot.0, self.warps[slot.0 as usize].generation));
            }
        }
    }

    /// A memory instruction was issued and has its record.
    #[cold]
    pub(crate) fn walk_issue(&mut self, index: RecordIndex, pc: u32, slot: u8) {
        let Some(walk) = &mut self.walk else { return };
        let record = &self.unit.records[index];
        let generation = self.warps[slot as usize].generation;
        let device = record.lines.count > 0 && record.sends_packets();
        let wanted = match walk.target.pc {
            Some(wanted) => wanted == pc,
            None => device && record.operation == Operation::Load && record.space == Space::Global,
        };
        let any = walk.target.warp.is_none();
        if !wanted || !any && walk.warp != Some((slot, generation)) {
            return;
        }
        walk.met += 1;
        if walk.met != walk.target.nth + 1 {
            return;
        }
        walk.record = Some(index);
        walk.slot = WarpSlot(slot);
        walk.place = walk.residents[slot as usize];
        walk.pc = pc;
        walk.operation = record.operation;
        walk.space = record.space;
        walk.lanes = self.effect.lanes;
        walk.issued = Some(Cycle(self.now));
    }

    /// It enters the address stages in this cycle.
    #[cold]
    pub(crate) fn walk_enters(&mut self, index: Option<RecordIndex>) {
        let now = self.now;
        if let Some(walk) = &mut self.walk
            && walk.record.is_some()
            && walk.record == index
        {
            walk.add_wait(Structure::Queue, now, Wait::Ahead);
        }
    }

    /// The shared unit accepts it in this cycle; what makes its accesses begins in `start`, and its first
    /// lookup is in `lookup`.
    #[cold]
    pub(crate) fn walk_accepted(&mut self, index: RecordIndex, start: u64, lookup: u64) {
        let now = self.now;
        let record = &self.unit.records[index];
        let chosen = match record.sends_packets() {
            true => Chosen::Lines {
                lines: record.lines.count,
                sectors: record.lines.sectors,
            },
            false => Chosen::Nothing,
        };
        if let Some(walk) = &mut self.walk
            && walk.follows(index)
        {
            let ready = walk.ready.clamp(walk.so_far(), now);
            walk.add(Structure::AddressStages, ready);
            walk.add_wait(Structure::HandOver, now, Wait::OtherSubCores);
            if start > now {
                walk.add_wait(Structure::Coalescer, start, Wait::Generators);
            }
            walk.add(Structure::Coalescer, lookup).chosen = chosen;
        }
    }

    /// It reaches shared memory in cycle `arrives`, its passes begin in `start`, and its data are at hand in
    /// `done`, after those of earlier ones of its queue in `in_turn`.
    #[cold]
    pub(crate) fn walk_shared(
        &mut self,
        index: RecordIndex,
        (arrives, start): (u64, u64),
        (done, in_turn): (u64, u64),
    ) {
        let passes = self.unit.records[index].wavefronts.cycles.max(1);
        if let Some(walk) = &mut self.walk
            && walk.follows(index)
        {
            if walk.so_far() < arrives {
                // A copy: read already, now to be put into shared memory.
                walk.add(Structure::Transfer, arrives);
            }
            if start > arrives {
                walk.add_wait(Structure::SharedMemory, start, Wait::Passes);
            }
            walk.add(Structure::SharedMemory, done).chosen = Chosen::Passes { passes };
            if in_turn > done {
                walk.add_wait(Structure::SharedMemory, in_turn, Wait::Ahead);
            }
        }
    }

    /// Its constants were looked up from this cycle on, so many lines one after the other, the last of them
    /// through in cycle `ready`; `missing` is the last that was not there.
    #[cold]
    pub(crate) fn walk_constant(
        &mut self,
        index: RecordIndex,
        lines: u64,
        missing: Option<u32>,
        ready: u64,
    ) {
        let now = self.now;
        if let Some(walk) = &mut self.walk
            && walk.follows(index)
        {
            let found = match missing {
                Some(_) => Found::Miss,
                None => Found::Hit,
            };
            let lines = lines as u16;
            // A miss asks for its line in the cycle of the lookup.
            let end = match missing {
                Some(_) => now + u64::from(lines.saturating_sub(1)),
                None => ready,
            };
            walk.add(Structure::ConstantCache, end).chosen = Chosen::Constants { lines, found };
            walk.constant = missing.map(|line| (line, Found::Hit));
            self.level1.tells = missing.is_some();
        }
    }

    /// Lines that the memory unit asked for have been looked up in the L1.5 cache in this cycle: the one that
    /// is followed may be among them.
    #[cold]
    pub(crate) fn walk_level1(&mut self) {
        let (now, sm) = (self.now, self.id);
        for told in self.level1.told.drain(..) {
            let Some(walk) = &mut self.walk else { return };
            if walk.constant.is_none_or(|(line, _)| line != told.line) {
                continue;
            }
            let found = told.found;
            walk.constant = Some((told.line, found));
            walk.add(Structure::ConstantLink, now);
            walk.add(Structure::Level15, now).chosen = Chosen::Constants { lines: 1, found };
            for packet in &mut self.port.requests[told.packets.0..told.packets.1] {
                packet.traced = true;
                let (name, sectors) = ((sm, packet.id), packet.sectors);
                let hop = Hop::of(Structure::Port, (now, packet.cycle.0), name, sectors);
                walk.hops.push(hop.waited(Wait::Packets));
                walk.pending.push((packet.id, sectors));
            }
        }
    }

    /// A constant line has come to the memory unit's cache in this cycle, after `link` cycles on its way from
    /// the L1.5 cache.
    #[cold]
    pub(crate) fn walk_constant_arrives(&mut self, line: u32, link: u64) {
        let now = self.now;
        let Some(walk) = &mut self.walk else { return };
        let Some((wanted, found)) = walk.constant else {
            return;
        };
        if wanted != line {
            return;
        }
        walk.constant = None;
        self.level1.tells = false;
        let left = now.saturating_sub(link);
        if found == Found::Hit {
            walk.add(Structure::Level15, left);
        } else {
            let start = walk.answered.max(walk.so_far()).min(left);
            let hop = Hop::whole(Structure::Level15Fill, start, left);
            walk.hops.push(match found {
                Found::Merged => hop.waited(Wait::UnderWay),
                _ => hop,
            });
        }
        walk.add(Structure::ConstantReturn, now);
    }

    /// Its address stages will be through in cycle `ready`.
    #[cold]
    pub(crate) fn walk_ready(walk: &mut Walk, index: RecordIndex, ready: u64) {
        if walk.follows(index) {
            walk.ready = ready;
        }
    }

    /// A line of it was looked up: the lookup of the whole instruction began in this cycle, that of the
    /// line's last sector was in `last` (of its first in `first`), and packets from `sent` on left for it.
    #[cold]
    pub(crate) fn walk_line(
        &mut self,
        index: RecordIndex,
        part: Part,
        (first, last): (u64, u64),
        sent: usize,
        hits: u64,
    ) {
        let now = self.now;
        let (set, way) = self.unit.l1d.place(part.line.0);
        let record = &self.unit.records[index];
        let past = record.bypass || record.deferred.is_some();
        let atomic = matches!(record.operation, Operation::Atomic | Operation::Reduction);
        let lookup = self.unit.l1_lookup;
        let translated = self.port.translation.latest_ready();
        let sm = self.id;
        let packets = &mut self.port.requests[sent..];
        let Some(walk) = &mut self.walk else { return };
        if !walk.follows(index) {
            return;
        }
        let from = walk.so_far();
        if from < now && walk.lines.is_empty() {
            walk.add_wait(Structure::L1d, now, Wait::Room);
        }
        let sectors = u64::from(part.sectors.count_ones());
        let found = match walk.operation {
            _ if past => Found::Passed,
            Operation::Store => Found::Written,
            _ if hits == sectors => Found::Hit,
            _ if packets.is_empty() => Found::Merged,
            _ => Found::Miss,
        };
        let way = way.filter(|_| !past);
        let chosen = Chosen::Line { set, way, found };
        walk.lines.push(Touched {
            line: part.line,
            sectors: part.sectors,
            packets: packets
                .first()
                .map(|packet| (packet.id, packets.len() as u16)),
        });
        if packets.is_empty() {
            let hop = Hop::whole(Structure::L1d, now, last + lookup).chosen(chosen);
            walk.hops.push(Hop {
                sectors: part.sectors,
                ..hop
            });
        }
        for packet in packets {
            packet.traced = true;
            let looked_up = match atomic {
                // One sector after the other, each with its packets.
                true => {
                    let before = part.sectors & (packet.sectors - 1);
                    first + u64::from(before.count_ones())
                }
                false => last,
            };
            let leaves = looked_up + lookup;
            let id = packet.id;
            let name = (sm, id);
            let hop = Hop::of(Structure::L1d, (now, leaves), name, packet.sectors);
            walk.hops.push(hop.chosen(chosen));
            let out = packet.cycle.0.max(leaves);
            // The packets of a line share its page.
            let ready = translated.clamp(leaves, out);
            let hop = Hop::of(
                Structure::Translation,
                (leaves, ready),
                name,
                packet.sectors,
            );
            let found = match ready > leaves {
                true => Found::Miss,
                false => Found::Hit,
            };
            let hop = hop.chosen(Chosen::Page { found });
            walk.hops.push(hop.waited(Wait::Refill));
            let hop = Hop::of(Structure::Port, (ready, out), name, packet.sectors);
            walk.hops.push(hop.waited(Wait::Packets));
            walk.pending.push((id, packet.sectors));
        }
    }

    /// Sectors of a packet have been answered in this cycle.
    #[cold]
    pub(crate) fn walk_answered(&mut self, id: RequestId, sectors: SectorMask) {
        let now = self.now;
        let Some(walk) = &mut self.walk else { return };
        let Some(place) = walk.pending.iter().position(|(known, _)| *known == id) else {
            return;
        };
        walk.answered = now;
        walk.pending[place].1 &= !sectors;
        if walk.pending[place].1 == 0 {
            walk.pending.swap_remove(place);
        }
        // A plain store has left the unit; its last acknowledgement ends it.
        if walk.record.is_none() && walk.pending.is_empty() {
            walk.done = Some(Cycle(now));
        }
    }

    /// All its data are at hand in this cycle.
    #[cold]
    pub(crate) fn walk_data(&mut self, index: RecordIndex) {
        let now = self.now;
        let record = &self.unit.records[index];
        let (shared, constant) = (record.wavefronts.cycles > 0, record.constants > 0);
        if let Some(walk) = &mut self.walk
            && walk.follows(index)
            && !record.sends_packets()
        {
            if constant && walk.so_far() < now {
                walk.add(Structure::ConstantFill, now);
            } else if shared && walk.so_far() < now {
                walk.add_wait(Structure::SharedMemory, now, Wait::Ahead);
            }
            return;
        }
        if let Some(walk) = &mut self.walk
            && walk.follows(index)
        {
            let hits = walk.hops.iter().filter(|hop| hop.packet.is_none());
            let looked_up = hits.map(|hop| hop.end.0).max().unwrap_or(0);
            // From the last answer, or from the end of the lookup. What waited for another's miss has
            // none of its own.
            let merged = walk.lines.iter().all(|line| line.packets.is_none());
            let start = walk
                .answered
                .max(if merged { looked_up } else { 0 })
                .min(now);
            let hop = Hop::whole(Structure::L1Fill, start, now);
            let waits = merged && looked_up < now;
            walk.hops.push(if waits {
                hop.waited(Wait::UnderWay)
            } else {
                hop
            });
        }
    }

    /// Its data go to the sub-core from cycle `start` on; the last register is written in `written` and
    /// seen in `seen`.
    #[cold]
    pub(crate) fn walk_transfer(
        &mut self,
        index: RecordIndex,
        start: u64,
        written: u64,
        seen: u64,
    ) {
        if let Some(walk) = &mut self.walk
            && walk.follows(index)
        {
            if start > walk.so_far() {
                walk.add_wait(Structure::Transfer, start, Wait::WritePort);
            }
            walk.add(Structure::Transfer, written);
            walk.add(Structure::WriteBack, seen);
            walk.done = Some(Cycle(seen));
        }
    }

    /// Its record is free again.
    #[cold]
    pub(crate) fn walk_retires(&mut self, index: RecordIndex) {
        let now = self.now;
        if let Some(walk) = &mut self.walk
            && walk.follows(index)
        {
            walk.record = None;
            if walk.pending.is_empty() && walk.done.is_none() {
                walk.done = Some(Cycle(now));
            }
        }
    }

    /// What was seen of the instruction that was to be followed.
    pub fn walk(&self) -> Option<&Walk> {
        self.walk.as_deref()
    }
}
