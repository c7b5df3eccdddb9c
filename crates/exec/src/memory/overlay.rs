//! Plain stores of one SM in timing mode (DESIGN.md V4): the log from which they are published to
//! all SMs at the next boundary, and the overlay through which the SM sees them at once.

use source::{Cycle, Token};

use crate::family::mbarrier::Arrival;
use crate::lanes::{Lanes, lanes_of};
use crate::memory::deferred::{Deferral, Operation};
use crate::memory::global::GlobalMemory;
use crate::memory::port::{self, Batch, Port};
use crate::service::heap::{BadFree, Request, Waiting};

/// Bytes of a sector, the unit of the overlay.
const SECTOR: u64 = 32;

/// One warp's store in the log.
#[derive(Clone, Copy, Debug)]
struct Entry {
    cycle: Cycle,
    sub_core: u8,
    bytes: u8,
    consecutive: bool,
    lanes: u32,
    /// First of its addresses (one for each lane, or one alone if consecutive) and of its words.
    address: u32,
    word: u32,
}

/// Stores in the order of issue.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreLog {
    entries: Vec<Entry>,
    addresses: Vec<u64>,
    words: Vec<u32>,
}

impl StoreLog {
    fn push(&mut self, cycle: Cycle, sub_core: u8, batch: &Batch<'_>, words: &[Lanes; 4]) {
        self.entries.push(Entry {
            cycle,
            sub_core,
            bytes: batch.bytes as u8,
            consecutive: batch.consecutive,
            lanes: batch.lanes,
            address: self.addresses.len() as u32,
            word: self.words.len() as u32,
        });
        let count = batch.bytes.div_ceil(4) as usize;
        if batch.consecutive {
            self.addresses.push(batch.addresses[0]);
        } else if batch.lanes == u32::MAX {
            self.addresses.extend_from_slice(batch.addresses);
        } else {
            self.addresses
                .extend(lanes_of(batch.lanes).map(|lane| batch.addresses[lane]));
        }
        for lanes in words.iter().take(count) {
            if batch.lanes == u32::MAX {
                self.words.extend_from_slice(&lanes.0);
            } else {
                self.words
                    .extend(lanes_of(batch.lanes).map(|lane| lanes[lane]));
            }
        }
    }

    /// Whether nothing was stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.addresses.clear();
        self.words.clear();
    }

    fn apply(&self, entry: &Entry, memory: &mut GlobalMemory) {
        let lanes = entry.lanes.count_ones() as usize;
        let count = usize::from(entry.bytes).div_ceil(4);
        // Back into a batch whose lanes are those that took part, side by side.
        let mut addresses = [0; 32];
        let mut words = [Lanes::ZERO; 4];
        let from = entry.address as usize;
        let bytes = u32::from(entry.bytes);
        if entry.consecutive {
            let first = self.addresses[from];
            for (lane, address) in addresses.iter_mut().enumerate() {
                *address = first + lane as u64 * u64::from(bytes);
            }
        } else {
            addresses[..lanes].copy_from_slice(&self.addresses[from..from + lanes]);
        }
        for (index, place) in words.iter_mut().enumerate().take(count) {
            let from = entry.word as usize + index * lanes;
            place.0[..lanes].copy_from_slice(&self.words[from..from + lanes]);
        }
        let mask = if lanes == 32 {
            u32::MAX
        } else {
            (1 << lanes) - 1
        };
        let batch = Batch {
            addresses: &addresses,
            lanes: mask,
            bytes,
            block: locate(memory, &addresses, mask, bytes),
            consecutive: entry.consecutive,
        };
        port::write(memory, &batch, &words);
    }
}

/// Lowest address of the lanes and its place, if one allocation holds them all.
#[inline(always)]
pub(crate) fn locate(
    memory: &GlobalMemory,
    addresses: &[u64; 32],
    lanes: u32,
    bytes: u32,
) -> Option<(u64, super::global::Place)> {
    let mut lowest = u64::MAX;
    let mut highest = 0;
    if lanes == u32::MAX {
        let mut lane = 0;
        while lane < 32 {
            lowest = lowest.min(addresses[lane]);
            highest = highest.max(addresses[lane]);
            lane += 1;
        }
    } else {
        for lane in lanes_of(lanes) {
            lowest = lowest.min(addresses[lane]);
            highest = highest.max(addresses[lane]);
        }
    }
    let length = highest.checked_sub(lowest)?.checked_add(u64::from(bytes))?;
    memory.find(lowest, length, 0).map(|place| (lowest, place))
}

/// Applies the stores of all logs to `memory` in (cycle, SM, sub-core, lane) order. `order` is
/// scratch space.
pub(crate) fn publish<'a>(
    logs: impl Iterator<Item = &'a StoreLog> + Clone,
    memory: &mut GlobalMemory,
    order: &mut Vec<(Cycle, u32, u8, u32)>,
) {
    order.clear();
    for (sm, log) in logs.clone().enumerate() {
        let entries = log.entries.iter().enumerate();
        order.extend(entries.map(|(index, e)| (e.cycle, sm as u32, e.sub_core, index as u32)));
    }
    order.sort_unstable();
    let logs: Vec<&StoreLog> = logs.collect();
    for &(_, sm, _, index) in order.iter() {
        let log = logs[sm as usize];
        log.apply(&log.entries[index as usize], memory);
    }
}

/// One sector with the bytes that the SM has stored in it.
#[derive(Clone, Copy, Debug)]
struct Patch {
    sector: u64,
    /// Bit i: byte i was stored.
    stored: u32,
    bytes: [u8; SECTOR as usize],
}

/// Number of bits of the filter.
const FILTER_BITS: usize = 4096;

/// The SM's own stores of this quantum by sector: a table behind a filter.
#[derive(Clone, Debug)]
pub(crate) struct Overlay {
    /// Open addressing; 0 = free, else position in `patches` plus one.
    table: Vec<u32>,
    patches: Vec<Patch>,
    filter: Box<[u64; FILTER_BITS / 64]>,
}

impl Default for Overlay {
    fn default() -> Overlay {
        Overlay {
            table: vec![0; 512],
            patches: Vec::new(),
            filter: Box::new([0; FILTER_BITS / 64]),
        }
    }
}

#[inline(always)]
fn hash(sector: u64) -> usize {
    (sector.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

impl Overlay {
    #[inline(always)]
    fn may_hold(&self, sector: u64) -> bool {
        let bit = hash(sector) % FILTER_BITS;
        self.filter[bit / 64] >> (bit % 64) & 1 == 1
    }

    #[inline(always)]
    fn find(&self, sector: u64) -> Option<&Patch> {
        let mask = self.table.len() - 1;
        let mut at = hash(sector) & mask;
        loop {
            let index = self.table[at];
            if index == 0 {
                return None;
            }
            let patch = &self.patches[index as usize - 1];
            if patch.sector == sector {
                return Some(patch);
            }
            at = (at + 1) & mask;
        }
    }

    fn find_or_add(&mut self, sector: u64) -> &mut Patch {
        if self.patches.len() * 2 >= self.table.len() {
            self.grow();
        }
        let mask = self.table.len() - 1;
        let mut at = hash(sector) & mask;
        loop {
            let index = self.table[at] as usize;
            if index == 0 {
                break;
            }
            if self.patches[index - 1].sector == sector {
                return &mut self.patches[index - 1];
            }
            at = (at + 1) & mask;
        }
        self.patches.push(Patch {
            sector,
            stored: 0,
            bytes: [0; SECTOR as usize],
        });
        self.table[at] = self.patches.len() as u32;
        let bit = hash(sector) % FILTER_BITS;
        self.filter[bit / 64] |= 1 << (bit % 64);
        let last = self.patches.len() - 1;
        &mut self.patches[last]
    }

    /// Twice the size: the table keeps the size of the busiest quantum so far.
    fn grow(&mut self) {
        let size = self.table.len() * 2;
        self.table.clear();
        self.table.resize(size, 0);
        for (index, patch) in self.patches.iter().enumerate() {
            let mut at = hash(patch.sector) & (size - 1);
            while self.table[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            self.table[at] = index as u32 + 1;
        }
    }

    fn store(&mut self, batch: &Batch<'_>, words: &[Lanes; 4]) {
        let bytes = batch.bytes as usize;
        for lane in lanes_of(batch.lanes) {
            let address = batch.addresses[lane];
            let at = (address % SECTOR) as usize;
            let patch = self.find_or_add(address / SECTOR);
            patch.stored |= ((1u64 << bytes) - 1) as u32 * (1 << at);
            if bytes >= 4 {
                for index in 0..bytes / 4 {
                    let from = at + 4 * index;
                    if let Some(place) = patch.bytes.get_mut(from..from + 4) {
                        place.copy_from_slice(&words[index][lane].to_le_bytes());
                    }
                }
            } else {
                let word = words[0][lane].to_le_bytes();
                if let Some(place) = patch.bytes.get_mut(at..at + bytes) {
                    place.copy_from_slice(&word[..bytes]);
                }
            }
        }
    }

    /// Puts the SM's own bytes over those read from the image.
    fn patch(&self, batch: &Batch<'_>, words: &mut [Lanes; 4]) {
        let mut last = u64::MAX;
        let mut found = None;
        for lane in lanes_of(batch.lanes) {
            let address = batch.addresses[lane];
            let sector = address / SECTOR;
            if sector != last {
                last = sector;
                found = if self.may_hold(sector) {
                    self.find(sector)
                } else {
                    None
                };
            }
            let Some(patch) = found else {
                continue;
            };
            let at = (address % SECTOR) as usize;
            for byte in 0..batch.bytes as usize {
                if patch.stored >> (at + byte) & 1 == 1 {
                    let shift = 8 * (byte % 4);
                    let word = &mut words[byte / 4][lane];
                    *word = *word & !(0xff << shift) | u32::from(patch.bytes[at + byte]) << shift;
                }
            }
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        if self.patches.is_empty() {
            return;
        }
        self.table.fill(0);
        self.patches.clear();
        self.filter.fill(0);
    }
}

/// What an SM holds for its port.
#[derive(Clone, Debug, Default)]
pub(crate) struct Window {
    pub(crate) log: StoreLog,
    pub(crate) overlay: Overlay,
    pub(crate) deferral: Deferral,
    /// Warp and arrival of each ARRIVES whose copies are under way, in the order of issue.
    pub(crate) arrivals: Vec<(u8, Arrival)>,
    /// Cycle, text and bytes of each `printf` since the last boundary.
    pub(crate) printed: Vec<(Cycle, Vec<u8>, u64)>,
    /// Requests to the heap since the last boundary.
    pub(crate) requests: Vec<Waiting>,
}

/// The port of one warp of an SM for one instruction.
pub(crate) struct WindowPort<'a> {
    pub(crate) shared: &'a GlobalMemory,
    pub(crate) window: &'a mut Window,
    pub(crate) cycle: Cycle,
    pub(crate) warp: u8,
    pub(crate) generation: u32,
}

impl Port for WindowPort<'_> {
    #[inline(always)]
    fn memory(&self) -> &GlobalMemory {
        self.shared
    }

    #[inline(always)]
    fn load(&mut self, batch: &Batch<'_>, words: &mut [Lanes; 4]) {
        port::read(self.shared, batch, words);
        if !self.window.overlay.patches.is_empty() {
            self.window.overlay.patch(batch, words);
        }
    }

    #[inline(always)]
    fn store(&mut self, batch: &Batch<'_>, words: &[Lanes; 4]) {
        self.window
            .log
            .push(self.cycle, self.warp % 4, batch, words);
        self.window.overlay.store(batch, words);
    }

    #[inline(always)]
    fn must_defer(&self, batch: &Batch<'_>) -> bool {
        self.window.deferral.holds(batch.addresses, batch.lanes)
    }

    fn defer(&mut self, operation: &Operation) -> Option<Token> {
        Some(
            self.window
                .deferral
                .add(operation, self.warp, self.generation),
        )
    }

    fn perform(&mut self, _operation: &Operation) -> [Lanes; 4] {
        // Not reached: `defer` takes every operation.
        [Lanes::ZERO; 4]
    }

    fn arrive_with_copies(&mut self, arrival: &Arrival) -> bool {
        self.window.arrivals.push((self.warp, *arrival));
        true
    }

    fn print(&mut self, text: Vec<u8>, bytes: u64) {
        self.window.printed.push((self.cycle, text, bytes));
    }

    fn request(&mut self, request: &Request, pc: u32) -> Option<Result<[u64; 32], BadFree>> {
        self.window.requests.push(Waiting {
            cycle: self.cycle,
            warp: self.warp,
            generation: self.generation,
            pc,
            request: *request,
        });
        None
    }
}
