//! Scoreboards in place of control bits (MODEL.md §9.2): each register knows whether a result for it is
//! under way, and how many instructions have yet to read it. Stall counts, yield flags, wait masks and
//! counters mean nothing then; DEPBAR waits for copies to shared memory alone.

use crate::program::{Mark, Program, Row};
use crate::sm::{SUB_CORES, Sm};

hardware::choice! {
    /// What keeps an instruction from issuing before its operands are there.
    pub enum DependenceMode {
        /// Stall counts, wait masks and dependence counters of the code.
        ControlBits = "control_bits",
        /// A scoreboard of pending writes: RAW and WAW.
        Scoreboard = "scoreboard",
        /// Another one of pending readers beside it: WAR.
        ScoreboardWar = "scoreboard_war",
        /// Control bits where the code has them, both scoreboards where all are zero.
        Hybrid = "hybrid",
    }
}

hardware::choice! {
    /// When a scoreboard lets go of a result of fixed latency.
    pub enum Release {
        /// When it is in the register file.
        WriteBack = "write_back",
        /// When the reader would get it by bypass: at the distance of the latency table.
        Bypass = "bypass",
    }
}

hardware::parameters! {
    /// Dependences between instructions of a warp.
    pub struct DependenceParameters = "dependence" {
        /// What keeps them.
        mode: DependenceMode, "", ..;
        /// Readers of one register that the scoreboard of readers counts; 0 for any number.
        consumers: u32, "readers", 0..=63;
        /// When the scoreboard of writes lets go of a result of fixed latency.
        release: Release, "", ..;
    }
}

impl DependenceParameters {
    /// Whether code without (`absent`) or with control bits runs on scoreboards.
    pub fn uses_scoreboards(&self, absent: bool) -> bool {
        match self.mode {
            DependenceMode::ControlBits => false,
            DependenceMode::Scoreboard | DependenceMode::ScoreboardWar => true,
            DependenceMode::Hybrid => absent,
        }
    }
}

/// Bit of a warp's wait mask and counters that stands for its scoreboards.
const SCOREBOARD: u8 = 1 << 6;
/// No entry.
const NO_ENTRY: u16 = u16::MAX;
/// A cycle that is not known.
const NEVER: u64 = u64::MAX;

/// One register of a warp.
#[derive(Clone, Copy, Default)]
struct Place {
    /// Issue cycle and class of what writes it.
    issued: u64,
    class: u8,
    written: Written,
    /// The writer goes off the SM.
    long: bool,
    readers: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Written {
    #[default]
    Settled,
    /// By an instruction of fixed latency.
    Fixed,
    /// By one of variable latency.
    Variable,
}

/// An instruction that has not read or not written.
#[derive(Clone, Copy)]
struct Entry {
    slot: u8,
    generation: u8,
    pc: u32,
    issued: u64,
    reads_pending: bool,
    writes_pending: bool,
}

#[derive(Default)]
struct Table {
    generation: u8,
    places: Vec<Place>,
}

/// What keeps an instruction from issuing.
pub struct Block {
    /// First cycle in which to look again; NEVER: when something is released.
    pub until: u64,
    /// Something that goes off the SM.
    pub long: bool,
}

/// The scoreboards of an SM.
pub struct Scoreboard {
    counts_readers: bool,
    /// Readers of a register at most.
    most: u16,
    bypass: bool,
    places: usize,
    warps: Vec<Table>,
    entries: Vec<Entry>,
    free: Vec<u16>,
}

impl Scoreboard {
    /// Empty scoreboards for `slots` warps of `places` registers each.
    pub fn new(parameters: &DependenceParameters, places: usize, slots: usize) -> Scoreboard {
        Scoreboard {
            counts_readers: parameters.mode != DependenceMode::Scoreboard,
            most: match parameters.consumers {
                0 => u16::MAX,
                most => most as u16,
            },
            bypass: parameters.release == Release::Bypass,
            places,
            warps: (0..slots).map(|_| Table::default()).collect(),
            entries: Vec::with_capacity(256),
            free: Vec::with_capacity(256),
        }
    }

    /// A new warp starts in `slot`.
    pub fn start_warp(&mut self, slot: u8) {
        let table = &mut self.warps[slot as usize];
        table.generation = table.generation.wrapping_add(1);
        table.places.clear();
        table.places.resize(self.places, Place::default());
    }

    /// What keeps the instruction of `row` of the warp in `slot` from issuing in cycle `now`.
    pub fn blocks(&self, program: &Program, row: &Row, slot: u8, now: u64) -> Option<Block> {
        let table = &self.warps[slot as usize].places;
        let mut until = 0;
        let mut long = false;
        let mut look = |mark: &Mark, is_write: bool| {
            let first = mark.first as usize;
            for place in &table[first..first + mark.count as usize] {
                let from = match place.written {
                    Written::Settled => 0,
                    Written::Fixed if self.bypass => {
                        place.issued + program.distances.get(mark.kind, place.class, mark.class)
                    }
                    Written::Fixed | Written::Variable => NEVER,
                };
                if from > now {
                    until = until.max(from);
                    long |= place.long;
                }
                let full = match is_write {
                    true => place.readers > 0,
                    false => place.readers >= self.most,
                };
                if full {
                    until = NEVER;
                }
            }
        };
        for mark in program.marks(row.reads) {
            look(mark, false);
        }
        for mark in program.marks(row.writes) {
            look(mark, true);
        }
        (until > now).then_some(Block { until, long })
    }

    /// The instruction of `row` at `pc` is issued in cycle `now`; its entry, to be released.
    pub fn issue(
        &mut self,
        program: &Program,
        row: &Row,
        pc: u32,
        slot: u8,
        now: u64,
        variable: bool,
    ) -> u16 {
        let table = &mut self.warps[slot as usize];
        if self.counts_readers {
            for mark in program.marks(row.reads) {
                let first = mark.first as usize;
                for place in &mut table.places[first..first + mark.count as usize] {
                    place.readers += 1;
                }
            }
        }
        for mark in program.marks(row.writes) {
            let first = mark.first as usize;
            for place in &mut table.places[first..first + mark.count as usize] {
                place.issued = now;
                place.class = mark.class;
                place.long = row.long;
                place.written = match variable {
                    true => Written::Variable,
                    false => Written::Fixed,
                };
            }
        }
        let entry = Entry {
            slot,
            generation: table.generation,
            pc,
            issued: now,
            reads_pending: self.counts_readers && row.reads.1 > 0,
            writes_pending: row.writes.1 > 0,
        };
        match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u16 - 1
            }
        }
    }

    /// The sources of `index` have been read; the warp that may go on.
    fn sources_read(&mut self, index: u16, program: &Program) -> Option<u8> {
        let entry = &mut self.entries[index as usize];
        if !std::mem::take(&mut entry.reads_pending) {
            return None;
        }
        let table = &mut self.warps[entry.slot as usize];
        if table.generation != entry.generation {
            return None;
        }
        for mark in program.marks(program.rows[entry.pc as usize].reads) {
            let first = mark.first as usize;
            for place in &mut table.places[first..first + mark.count as usize] {
                place.readers -= 1;
            }
        }
        Some(entry.slot)
    }

    /// The results of `index` have been written; the warp that may go on.
    fn result_written(&mut self, index: u16, program: &Program) -> Option<u8> {
        let entry = &mut self.entries[index as usize];
        if !std::mem::take(&mut entry.writes_pending) {
            return None;
        }
        let table = &mut self.warps[entry.slot as usize];
        if table.generation != entry.generation {
            return None;
        }
        for mark in program.marks(program.rows[entry.pc as usize].writes) {
            let first = mark.first as usize;
            for place in &mut table.places[first..first + mark.count as usize] {
                // By bypass a younger instruction may have come to write it too.
                if place.issued == entry.issued {
                    place.written = Written::Settled;
                }
            }
        }
        Some(entry.slot)
    }
}

impl Sm {
    /// Whether the scoreboards keep the next instruction of the warp in local slot `slot` from issuing.
    #[inline(never)]
    pub(crate) fn scoreboard_blocks(&mut self, sub_core: usize, slot: usize) -> bool {
        let Some(scoreboard) = &self.scoreboard else {
            return false;
        };
        let sub = &mut self.sub_cores[sub_core];
        let row = &self.program.rows[sub.pc[slot] as usize];
        let warp_slot = (slot * SUB_CORES + sub_core) as u8;
        let Some(block) = scoreboard.blocks(&self.program, row, warp_slot, self.now) else {
            return false;
        };
        if block.until == NEVER {
            sub.wait[slot] |= SCOREBOARD;
            sub.nonzero[slot] |= SCOREBOARD;
            if block.long {
                sub.long[slot] |= SCOREBOARD;
            } else {
                sub.long[slot] &= !SCOREBOARD;
            }
            sub.look_at_counters(slot);
        } else {
            sub.try_again = sub.try_again.min(block.until);
        }
        true
    }

    /// The warp in `slot` may have become free to issue.
    fn scoreboard_released(&mut self, slot: Option<u8>) {
        let Some(slot) = slot else { return };
        let (sub_core, local) = (slot as usize % SUB_CORES, slot as usize / SUB_CORES);
        let sub = &mut self.sub_cores[sub_core];
        if sub.nonzero[local] & SCOREBOARD != 0 {
            sub.nonzero[local] &= !SCOREBOARD;
            sub.look_at_counters(local);
            self.wake(sub_core);
        }
    }

    /// The sources of an instruction have been sampled: `entry` of the scoreboards or of the hazard table.
    #[inline]
    pub(crate) fn sources_read(&mut self, entry: u16) {
        match &mut self.scoreboard {
            None => self.hazards.sources_read(entry, &self.program),
            Some(_) if entry == NO_ENTRY => {}
            Some(scoreboard) => {
                let slot = scoreboard.sources_read(entry, &self.program);
                self.scoreboard_released(slot);
            }
        }
    }

    /// The result of an instruction has been written; issue sees it in this cycle.
    #[inline]
    pub(crate) fn result_written(&mut self, entry: u16) {
        match &mut self.scoreboard {
            None => self.hazards.result_written(entry, &self.program, self.now),
            Some(_) if entry == NO_ENTRY => {}
            Some(scoreboard) => {
                let slot = scoreboard.result_written(entry, &self.program);
                self.scoreboard_released(slot);
            }
        }
    }

    /// An instruction is over.
    #[inline]
    pub(crate) fn entry_retired(&mut self, entry: u16) {
        if self.scoreboard.is_none() {
            self.hazards.retired(entry, &self.program, self.now);
        } else if entry != NO_ENTRY {
            self.sources_read(entry);
            self.result_written(entry);
            if let Some(scoreboard) = &mut self.scoreboard {
                scoreboard.free.push(entry);
            }
        }
    }
}
