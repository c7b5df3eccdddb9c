//! A memory instruction from issue to its release: one entry of the pending-request table.

use source::{Access, Effect, LaneMask, MemoryKind, Operation, Queue, Space, Token};

use super::coalesce::{Lines, Pattern, Wavefronts, wavefronts};
use crate::event::RecordIndex;
use crate::program::Row;

/// No counter.
pub const NO_COUNTER: u8 = 7;

/// One memory instruction on its way.
pub struct Record {
    /// Row of the stage table.
    pub kind: MemoryKind,
    /// Warp slot in the SM.
    pub slot: u8,
    /// Sub-core.
    pub sub_core: u8,
    /// Pc in instructions.
    pub pc: u32,
    /// Counter that falls at write-back.
    pub write_counter: u8,
    /// Counter that falls when the sources have been read.
    pub read_counter: u8,
    /// Whether the sources count as read only at write-back (LDC with a register address).
    pub read_with_write: bool,
    /// Transfer cycles.
    pub transfer: u8,
    /// Banks that the result writes.
    pub banks: u8,
    /// What it does.
    pub operation: Operation,
    /// Space after resolution of generic addresses.
    pub space: Space,
    /// Goes past L1.
    pub bypass: bool,
    /// Deferred operation.
    pub deferred: Option<Token>,
    /// Place in the order that fences wait for; `u32::MAX` if fences need not wait for it.
    pub order: u32,
    /// LDGSTS: its group, counted per warp.
    pub group: u32,
    /// Accesses to shared memory, none without lanes; LDGSTS: of its store.
    pub wavefronts: Wavefronts,
    /// Whether the address has a general register.
    pub register_address: bool,
    /// LDSM with two or four matrices.
    pub matrices: bool,
    /// Lines with their sectors (global and local memory).
    pub lines: Lines,
    /// Next line to look up.
    pub next_line: u16,
    /// Flat addresses in the constant banks (LDC), each once; `constants` of them.
    pub constant: [u64; 32],
    /// How many those are.
    pub constants: u8,
    /// Sectors, or constant lines, still to come.
    pub waiting: u16,
    /// Latest cycle in which a part of the data is at hand.
    pub ready: u64,
    /// Its data wait until those of earlier texture instructions have been delivered.
    pub in_order: bool,
    /// All its data are at hand.
    pub arrived: bool,
    /// Entry in the hazard table, `u16::MAX` if none.
    pub hazard: u16,
    next_free: RecordIndex,
}

const NONE: RecordIndex = RecordIndex::MAX;

/// All records of an SM; places are reused.
pub struct Records {
    records: Vec<Record>,
    free: RecordIndex,
    /// By number of memory instruction in the program; grown when one is met first.
    patterns: Vec<Pattern>,
}

impl Records {
    /// No records.
    pub fn new() -> Records {
        Records {
            records: Vec::with_capacity(64),
            free: NONE,
            patterns: Vec::new(),
        }
    }

    /// A new record for the instruction of `row` that `effect` describes.
    pub fn add(&mut self, row: &Row, pc: u32, slot: u8, effect: &Effect) -> RecordIndex {
        let index = if self.free != NONE {
            let index = self.free;
            self.free = self.records[index as usize].next_free;
            index
        } else {
            self.records.push(Record::blank());
            self.records.len() as RecordIndex - 1
        };
        let number = row.memory_number as usize;
        if number >= self.patterns.len() {
            self.patterns.resize(number + 1, Pattern::NONE);
        }
        let pattern = &mut self.patterns[number];
        self.records[index as usize].fill(row, pc, slot, effect, pattern);
        index
    }

    /// Records in use.
    pub fn in_use(&self) -> usize {
        let mut free = 0;
        let mut next = self.free;
        while next != NONE {
            free += 1;
            next = self.records[next as usize].next_free;
        }
        self.records.len() - free
    }

    /// Frees a record.
    pub fn remove(&mut self, index: RecordIndex) {
        self.records[index as usize].next_free = self.free;
        self.free = index;
    }
}

impl std::ops::Index<RecordIndex> for Records {
    type Output = Record;
    fn index(&self, index: RecordIndex) -> &Record {
        &self.records[index as usize]
    }
}

impl std::ops::IndexMut<RecordIndex> for Records {
    fn index_mut(&mut self, index: RecordIndex) -> &mut Record {
        &mut self.records[index as usize]
    }
}

impl Record {
    fn blank() -> Record {
        Record {
            kind: MemoryKind::Pass,
            slot: 0,
            sub_core: 0,
            pc: 0,
            write_counter: NO_COUNTER,
            read_counter: NO_COUNTER,
            read_with_write: false,
            transfer: 1,
            banks: 0,
            operation: Operation::Load,
            space: Space::Global,
            bypass: false,
            deferred: None,
            order: u32::MAX,
            group: 0,
            wavefronts: Wavefronts::NONE,
            register_address: false,
            matrices: false,
            lines: Lines::new(),
            next_line: 0,
            constant: [0; 32],
            constants: 0,
            waiting: 0,
            ready: 0,
            in_order: false,
            arrived: false,
            hazard: u16::MAX,
            next_free: NONE,
        }
    }

    fn fill(&mut self, row: &Row, pc: u32, slot: u8, effect: &Effect, pattern: &mut Pattern) {
        self.kind = row.memory_kind;
        self.slot = slot;
        self.sub_core = slot % 4;
        self.pc = pc;
        self.write_counter = row.write_counter;
        self.read_counter = row.read_counter;
        self.read_with_write = row.memory_kind == MemoryKind::ConstantLoad && !row.uniform_address;
        self.transfer = row.transfer;
        self.banks = row.write_banks;
        self.register_address = !row.uniform_address;
        self.matrices = row.matrices;
        self.order = u32::MAX;
        self.group = 0;
        self.wavefronts = Wavefronts::NONE;
        self.lines.clear();
        self.next_line = 0;
        self.constants = 0;
        self.waiting = 0;
        self.ready = 0;
        self.in_order =
            row.queue == Some(Queue::Texture) && row.memory_kind != MemoryKind::GlobalStore;
        self.arrived = false;
        self.hazard = u16::MAX;
        self.bypass = false;
        self.deferred = None;
        self.operation = Operation::Load;
        self.space = Space::Global;
        if effect.accesses {
            // Without lanes there is nothing to do, but the token must be given back.
            self.deferred = effect.access.deferred;
            if effect.access.lanes != 0 {
                self.place(&effect.access, pattern);
            }
        }
    }

    /// Its addresses are others than at issue; it has not been handed over yet.
    pub fn place_again(&mut self, effect: &Effect) {
        if !effect.accesses {
            return;
        }
        self.deferred = effect.access.deferred;
        self.lines.clear();
        self.constants = 0;
        self.wavefronts = Wavefronts::NONE;
        if effect.access.lanes != 0 {
            let mut pattern = Pattern::NONE;
            self.place(&effect.access, &mut pattern);
        }
    }

    /// Whether it may send packets to L2.
    #[inline]
    pub fn sends_packets(&self) -> bool {
        matches!(
            self.kind,
            MemoryKind::GlobalLoad
                | MemoryKind::GlobalStore
                | MemoryKind::GlobalAtomic
                | MemoryKind::CopyToShared
        )
    }

    /// Works out what the addresses mean for time.
    fn place(&mut self, access: &Access, pattern: &mut Pattern) {
        self.operation = access.operation;
        self.space = access.space;
        self.bypass =
            access.bypass || matches!(access.operation, Operation::Atomic | Operation::Reduction);
        match access.space {
            Space::Global | Space::Local | Space::Texture => {
                self.lines.coalesce(access);
                if access.operation == Operation::CopyToShared {
                    let shared = access.shared.map(u64::from);
                    self.wavefronts = wavefronts(&shared, access.lanes, access.bytes);
                }
            }
            Space::Shared => {
                self.wavefronts = match access.operation {
                    Operation::Atomic | Operation::Reduction => {
                        atomic_wavefronts(&access.addresses, access.lanes)
                    }
                    _ => pattern.wavefronts(&access.addresses, access.lanes, access.bytes),
                };
                // A generic access that turned out to be shared takes the shared path.
                if !matches!(
                    self.kind,
                    MemoryKind::SharedLoad
                        | MemoryKind::MatrixLoad
                        | MemoryKind::SharedStore
                        | MemoryKind::SharedAtomic
                ) {
                    self.kind = match access.operation {
                        Operation::Load => MemoryKind::SharedLoad,
                        Operation::Store => MemoryKind::SharedStore,
                        _ => MemoryKind::SharedAtomic,
                    };
                }
            }
            Space::Constant => self.constant_lines(access),
        }
    }

    /// Distinct constant addresses of an indexed LDC; the cache lines follow at the lookup.
    fn constant_lines(&mut self, access: &Access) {
        let mut lanes = access.lanes;
        self.constants = 0;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let address = access.addresses[lane];
            let flat =
                crate::constant_cache::constant_address((address >> 32) as u8, address as u32)
                    as u64;
            let count = usize::from(self.constants);
            if !self.constant[..count].contains(&flat) {
                self.constant[count] = flat;
                self.constants += 1;
            }
        }
    }
}

/// Shared atomics: lanes with the same word go one after the other, as do different words of a bank.
fn atomic_wavefronts(addresses: &[u64; 32], lanes: LaneMask) -> Wavefronts {
    let mut per_bank = [0u32; 32];
    let mut left = lanes;
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        per_bank[(addresses[lane] / 4 % 32) as usize] += 1;
    }
    Wavefronts {
        cycles: per_bank.into_iter().max().unwrap_or(1).max(1),
        passes: 1,
    }
}
