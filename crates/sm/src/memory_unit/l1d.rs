//! The L1 data cache: virtually addressed, sectored lines, least recently used, write-through, allocated
//! on miss (MODEL.md §7.5, §8.2). `set_index` says which set a line belongs to.

use std::sync::Arc;

use super::set_index::{L1dSettings, SetFunction, SetIndex};
use crate::port::{Outstanding, Port};
use source::{RequestId, RequestKind, Sector};

hardware::parameters! {
    /// The L1 data cache.
    pub struct L1dParameters = "l1_data_cache" {
        /// Sets, a power of two; fewer are in use where shared memory leaves less than about `ways` lines
        /// for each.
        sets: u32, "sets", 1..=4096;
        /// Lines of a set where nothing is shared memory; how many a launch has follows from the bytes
        /// that shared memory leaves.
        ways: u32, "lines", 1..=1024;
        /// The function that selects a set.
        index: SetFunction, "", ..;
        /// Masks over the virtual address for `index = "masks"`, one for each bit of the index, lowest
        /// first.
        masks: Option<Vec<u64>>, "", ..;
        /// Cycles of a lookup.
        lookup: u64, "cycles", 1..=128;
        /// Sectors that can be missing at once.
        outstanding: u32, "sectors", 1..=65536;
    }
}

/// Sectors of a line; a property of the address format (sector masks have four bits).
const LINE_SECTORS: u64 = 4;
/// Bytes of a line.
pub(super) const LINE_BYTES: u64 = LINE_SECTORS * Sector::BYTES;
const EMPTY: u64 = u64::MAX;
/// Missing sectors in the state of a line.
const MISSING: u64 = 0xf;

/// Sector `part` in the state of a line: missing.
#[inline]
const fn missing(part: usize) -> u64 {
    1 << part
}

/// Sector `part` in the state of a line: valid.
#[inline]
const fn valid(part: usize) -> u64 {
    0x10 << part
}

/// No waiting record.
pub const NO_WAITER: u32 = u32::MAX;

/// Tags and sector states. Lines with missing sectors are never replaced.
pub struct L1d {
    index: Arc<SetIndex>,
    /// Sets in use, less one: the index bits that are looked at.
    set_mask: usize,
    set_bits: u32,
    tags: Vec<u64>,
    /// Way found or filled last.
    last_way: usize,
    /// By line: cycle of the last use << 8 | valid sectors << 4 | missing sectors.
    states: Vec<u64>,
    request: Vec<[u32; 4]>,
    missing: u32,
    limit: u32,
    waiters: Vec<(u16, u32)>,
    free_waiters: u32,
    /// Sector lookups of loads that hit.
    pub load_hits: u64,
    /// Sector lookups of loads that missed (also those that join a missing sector).
    pub load_misses: u64,
    /// Sector lookups of stores whose line was present.
    pub store_hits: u64,
    /// Other sector lookups of stores.
    pub store_misses: u64,
}

/// Outcome of a load's sector lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    /// The data are here.
    Hit,
    /// The record waits for the sector.
    Waits,
    /// No more sectors may be missing; try again later.
    Full,
}

impl L1d {
    /// An empty cache of `bytes` bytes.
    pub fn new(settings: &L1dSettings, bytes: u32) -> L1d {
        let lines = bytes as usize / LINE_BYTES as usize;
        let sets = settings.sets_of(lines);
        L1d {
            index: Arc::clone(&settings.index),
            set_mask: sets - 1,
            set_bits: sets.trailing_zeros(),
            tags: vec![EMPTY; lines],
            last_way: usize::MAX,
            states: vec![0; lines],
            request: vec![[0; 4]; lines],
            missing: 0,
            limit: settings.parameters.outstanding,
            waiters: Vec::with_capacity(256),
            free_waiters: NO_WAITER,
            load_hits: 0,
            load_misses: 0,
            store_hits: 0,
            store_misses: 0,
        }
    }

    /// The ways of the set of `line`. Where the lines are no multiple of the sets, some have one more.
    #[inline]
    fn set(&self, line: u64) -> std::ops::Range<usize> {
        let set = self.index.of(line) & self.set_mask;
        let lines = self.tags.len();
        (set * lines) >> self.set_bits..((set + 1) * lines) >> self.set_bits
    }

    #[inline]
    fn find(&mut self, line: u64) -> Option<usize> {
        // The sectors of one warp access mostly share a line.
        if self.tags.get(self.last_way) == Some(&line) {
            return Some(self.last_way);
        }
        let found = self.search(line)?;
        self.last_way = found;
        Some(found)
    }

    #[inline]
    fn search(&self, line: u64) -> Option<usize> {
        let set = self.set(line);
        let start = set.start;
        let ways = self.tags.get(set)?;
        ways.iter()
            .position(|&tag| tag == line)
            .map(|way| start + way)
    }

    /// A place for `line`: a free or the least recently used way without missing sectors.
    fn victim(&mut self, line: u64) -> Option<usize> {
        let mut best: Option<usize> = None;
        for way in self.set(line) {
            if self.tags[way] == EMPTY {
                best = Some(way);
                break;
            }
            let state = self.states[way];
            if state & MISSING == 0 && best.is_none_or(|b| state >> 8 < self.states[b] >> 8) {
                best = Some(way);
            }
        }
        let way = best?;
        self.tags[way] = line;
        self.last_way = way;
        self.states[way] &= !0xff;
        Some(way)
    }

    fn add_waiter(&mut self, record: u16, next: u32) -> u32 {
        if self.free_waiters == NO_WAITER {
            self.waiters.push((record, next));
            return self.waiters.len() as u32 - 1;
        }
        let index = self.free_waiters;
        self.free_waiters = self.waiters[index as usize].1;
        self.waiters[index as usize] = (record, next);
        index
    }

    /// A load of `record` looks up `sector`. A miss leaves the SM in cycle `leaves`.
    #[inline]
    pub fn load(
        &mut self,
        port: &mut Port,
        sector: u64,
        record: u16,
        now: u64,
        leaves: u64,
    ) -> Lookup {
        let (line, part) = (sector / LINE_SECTORS, (sector % LINE_SECTORS) as usize);
        let found = self.find(line);
        if let Some(way) = found {
            let state = &mut self.states[way];
            *state = now << 8 | *state & 0xff;
            if *state & valid(part) != 0 {
                self.load_hits += 1;
                return Lookup::Hit;
            }
            if *state & missing(part) != 0 {
                self.load_misses += 1;
                let id = RequestId(self.request[way][part]);
                if let Outstanding::Sector { waiters, .. } = *port.waiting(id) {
                    let head = self.add_waiter(record, waiters);
                    if let Outstanding::Sector { waiters, .. } = port.waiting(id) {
                        *waiters = head;
                    }
                }
                return Lookup::Waits;
            }
        }
        if self.missing >= self.limit || !port.has_room(1) {
            return Lookup::Full;
        }
        self.load_misses += 1;
        self.missing += 1;
        let head = self.add_waiter(record, NO_WAITER);
        let way = found.or_else(|| self.victim(line));
        let place = way.map_or(u32::MAX, |way| way as u32);
        let waits = Outstanding::Sector {
            sector,
            line: place,
            waiters: head,
        };
        let id = port.send(leaves, RequestKind::Read, Sector(sector), waits);
        if let Some(way) = way {
            let state = &mut self.states[way];
            *state = now << 8 | *state & 0xff | missing(part);
            self.request[way][part] = id.0;
        }
        Lookup::Waits
    }

    /// The answer to a missing sector: makes it valid and calls `wake` for each waiting record.
    #[inline]
    pub fn fill(
        &mut self,
        sector: u64,
        id: RequestId,
        place: u32,
        waiters: u32,
        mut wake: impl FnMut(u16),
    ) {
        self.missing -= 1;
        let part = (sector % LINE_SECTORS) as usize;
        if place != u32::MAX {
            let way = place as usize;
            // The line may have been dropped and asked for again meanwhile.
            if self.tags[way] == sector / LINE_SECTORS
                && self.states[way] & missing(part) != 0
                && self.request[way][part] == id.0
            {
                self.states[way] = self.states[way] & !missing(part) | valid(part);
            }
        }
        // The list starts with the youngest; the oldest goes first.
        let mut next = NO_WAITER;
        let mut rest = waiters;
        while rest != NO_WAITER {
            let after = self.waiters[rest as usize].1;
            self.waiters[rest as usize].1 = next;
            next = rest;
            rest = after;
        }
        while next != NO_WAITER {
            let (record, after) = self.waiters[next as usize];
            self.waiters[next as usize].1 = self.free_waiters;
            self.free_waiters = next;
            wake(record);
            next = after;
        }
    }

    /// A store of `bytes` bytes to `sector`: written through; a whole sector becomes valid, a part of
    /// one is fetched when it is read (lazy fetch on read).
    #[inline]
    pub fn store(&mut self, sector: u64, bytes: u8, now: u64) {
        let (line, part) = (sector / LINE_SECTORS, (sector % LINE_SECTORS) as usize);
        let found = self.find(line);
        if found.is_some() {
            self.store_hits += 1;
        } else {
            self.store_misses += 1;
        }
        if let Some(way) = found.or_else(|| self.victim(line)) {
            let state = &mut self.states[way];
            *state = now << 8 | *state & 0xff;
            if bytes as u64 == Sector::BYTES {
                *state |= valid(part);
            }
        }
    }

    /// Drops `sector` (DESIGN.md V2). A fill on its way no longer makes it valid.
    pub fn drop_sector(&mut self, sector: u64) {
        if let Some(way) = self.find(sector / LINE_SECTORS) {
            let part = (sector % LINE_SECTORS) as usize;
            self.states[way] &= !(valid(part) | missing(part));
        }
    }

    /// Drops everything (CCTL.IVALL, acquiring fences).
    pub fn invalidate(&mut self) {
        self.tags.fill(EMPTY);
        for state in &mut self.states {
            *state &= !0xff;
        }
    }
}
