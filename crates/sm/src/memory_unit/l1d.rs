//! The L1 data cache: virtually addressed, sectored lines, least recently used, write-through, allocated
//! on miss (MODEL.md §7.5, §8.2). `set_index` says which set a line belongs to.

use std::sync::Arc;

use super::set_index::{L1dSettings, SetFunction, SetIndex};
use crate::port::{Outstanding, Packet, Port};
use source::{Line, RequestId, RequestKind, SectorMask};

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
        outstanding: u32, "sectors", 4..=65536;
        /// Instructions that can wait for the sectors of one packet.
        merges: u32, "instructions", 1..=65536;
    }
}

/// Bytes of a line.
pub(super) const LINE_BYTES: u64 = Line::BYTES;
const EMPTY: u64 = u64::MAX;
/// Missing sectors in the state of a line.
const MISSING: u64 = 0xf;

/// Sectors in the state of a line: missing.
#[inline]
const fn missing(sectors: SectorMask) -> u64 {
    sectors as u64
}

/// Sectors in the state of a line: valid.
#[inline]
const fn valid(sectors: SectorMask) -> u64 {
    (sectors as u64) << 4
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
    merges: u32,
    /// Most sectors that were missing at once.
    pub missing_most: u64,
    /// Records that wait for packets, at most `merges` for each.
    waiters: Vec<Waiter>,
    free_waiters: u32,
    /// Sector lookups of loads that hit.
    pub load_hits: u64,
    /// Sector lookups of loads that missed (also those that join a missing sector).
    pub load_misses: u64,
    /// Those of them that joined a missing sector.
    pub load_merges: u64,
    /// Sector lookups of stores whose line was present.
    pub store_hits: u64,
    /// Other sector lookups of stores.
    pub store_misses: u64,
}

/// A record that waits for sectors of one packet.
#[derive(Clone, Copy)]
struct Waiter {
    record: u16,
    sectors: SectorMask,
    next: u32,
}

/// Outcome of a load's lookup of some sectors of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    /// All data are here.
    Hit,
    /// The record waits for so many of the sectors.
    Waits(u16),
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
            merges: settings.parameters.merges,
            missing_most: 0,
            waiters: Vec::with_capacity(256),
            free_waiters: NO_WAITER,
            load_hits: 0,
            load_misses: 0,
            load_merges: 0,
            store_hits: 0,
            store_misses: 0,
        }
    }

    /// The set of `line`, and its way there if it has one.
    pub fn place(&self, line: u64) -> (u32, Option<u32>) {
        let set = self.index.of(line) & self.set_mask;
        let start = self.set(line).start;
        (
            set as u32,
            self.search(line).map(|way| (way - start) as u32),
        )
    }

    /// Lookups that hit.
    #[inline]
    pub fn hits(&self) -> u64 {
        self.load_hits + self.store_hits
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

    /// Appends a waiter to the list of a packet.
    fn add_waiter(&mut self, record: u16, sectors: SectorMask, waits: &mut Outstanding) {
        let Outstanding::Data {
            first,
            last,
            waiting,
            ..
        } = waits
        else {
            return;
        };
        *waiting += 1;
        let waiter = Waiter {
            record,
            sectors,
            next: NO_WAITER,
        };
        let index = if self.free_waiters == NO_WAITER {
            self.waiters.push(waiter);
            self.waiters.len() as u32 - 1
        } else {
            let index = self.free_waiters;
            self.free_waiters = self.waiters[index as usize].next;
            self.waiters[index as usize] = waiter;
            index
        };
        if *first == NO_WAITER {
            *first = index;
        } else {
            self.waiters[*last as usize].next = index;
        }
        *last = index;
    }

    /// Whether a further record can wait for the packets that bring `sectors` of the line in `way`.
    fn can_join(&self, port: &mut Port, way: usize, sectors: SectorMask) -> bool {
        (0..Line::SECTORS as usize)
            .filter(|part| sectors >> part & 1 == 1)
            .all(
                |part| match *port.waiting(RequestId(self.request[way][part])) {
                    Outstanding::Data { waiting, .. } => waiting < self.merges,
                    _ => true,
                },
            )
    }

    /// A load of `record` looks up `sectors` of `line`, the last of them in cycle `now`. What is
    /// neither here nor under way leaves the SM as one packet in cycle `leaves`. All or nothing: if
    /// there is no room for it, nothing has happened.
    #[inline]
    pub fn load(
        &mut self,
        port: &mut Port,
        line: u64,
        sectors: SectorMask,
        record: u16,
        now: u64,
        leaves: u64,
    ) -> Lookup {
        let found = self.find(line);
        let (mut lacking, mut under_way) = (sectors, 0);
        if let Some(way) = found {
            let state = &mut self.states[way];
            lacking &= !(*state >> 4) as SectorMask;
            under_way = lacking & *state as SectorMask;
            if lacking == 0 {
                *state = now << 8 | *state & 0xff;
                self.load_hits += u64::from(sectors.count_ones());
                return Lookup::Hit;
            }
        }
        let wanted = lacking & !under_way;
        if let Some(way) = found
            && under_way != 0
            && !self.can_join(port, way, under_way)
        {
            return Lookup::Full;
        }
        let missing_then = self.missing + wanted.count_ones();
        if wanted != 0 && (missing_then > self.limit || !port.has_room(1)) {
            return Lookup::Full;
        }
        self.load_hits += u64::from((sectors & !lacking).count_ones());
        self.load_misses += u64::from(lacking.count_ones());
        if let Some(way) = found {
            let state = &mut self.states[way];
            *state = now << 8 | *state & 0xff;
            self.load_merges += u64::from(under_way.count_ones());
            while under_way != 0 {
                let id = self.request[way][under_way.trailing_zeros() as usize];
                let mut joined = 0;
                for part in 0..Line::SECTORS as usize {
                    let bit = 1 << part;
                    if under_way & bit != 0 && self.request[way][part] == id {
                        joined |= bit;
                    }
                }
                under_way &= !joined;
                self.add_waiter(record, joined, port.waiting(RequestId(id)));
            }
        }
        if wanted != 0 {
            self.missing = missing_then;
            self.missing_most = self.missing_most.max(missing_then.into());
            let way = found.or_else(|| self.victim(line));
            let mut waits = Outstanding::Data {
                line,
                place: way.map_or(u32::MAX, |way| way as u32),
                first: NO_WAITER,
                last: NO_WAITER,
                waiting: 0,
            };
            self.add_waiter(record, wanted, &mut waits);
            let packet = Packet::read(RequestKind::Read, Line(line), wanted);
            let id = port.send(leaves, packet, waits);
            if let Some(way) = way {
                let state = &mut self.states[way];
                *state = now << 8 | *state & 0xff | missing(wanted);
                for part in 0..Line::SECTORS as usize {
                    if wanted >> part & 1 == 1 {
                        self.request[way][part] = id.0;
                    }
                }
            }
        }
        Lookup::Waits(lacking.count_ones() as u16)
    }

    /// Missing sectors of packet `id` have come: makes them valid and calls `wake` for each record
    /// that waits for some, with those, the oldest first.
    #[inline]
    pub fn fill(
        &mut self,
        id: RequestId,
        sectors: SectorMask,
        waits: &mut Outstanding,
        mut wake: impl FnMut(u16, SectorMask),
    ) {
        let Outstanding::Data {
            line,
            place,
            first,
            last,
            waiting,
        } = waits
        else {
            return;
        };
        self.missing -= sectors.count_ones();
        if *place != u32::MAX {
            let way = *place as usize;
            // The line may have been dropped and asked for again meanwhile.
            if self.tags[way] == *line {
                let mut came = sectors & self.states[way] as SectorMask & MISSING as SectorMask;
                for part in 0..Line::SECTORS as usize {
                    if self.request[way][part] != id.0 {
                        came &= !(1 << part);
                    }
                }
                self.states[way] = self.states[way] & !missing(came) | valid(came);
            }
        }
        let (mut before, mut next) = (NO_WAITER, *first);
        while next != NO_WAITER {
            let waiter = &mut self.waiters[next as usize];
            let came = waiter.sectors & sectors;
            waiter.sectors &= !came;
            let (record, done, after) = (waiter.record, waiter.sectors == 0, waiter.next);
            if done {
                *waiting -= 1;
                waiter.next = self.free_waiters;
                self.free_waiters = next;
                match before {
                    NO_WAITER => *first = after,
                    before => self.waiters[before as usize].next = after,
                }
                if *last == next {
                    *last = before;
                }
            } else {
                before = next;
            }
            if came != 0 {
                wake(record, came);
            }
            next = after;
        }
    }

    /// A store to `sectors` of `line`, the last of them in cycle `now`: written through; those that it
    /// covers wholly become valid, of the others the rest is fetched when it is read (lazy fetch on
    /// read).
    #[inline]
    pub fn store(&mut self, line: u64, sectors: SectorMask, whole: SectorMask, now: u64) {
        let found = self.find(line);
        if found.is_some() {
            self.store_hits += u64::from(sectors.count_ones());
        } else {
            self.store_misses += u64::from(sectors.count_ones());
        }
        if let Some(way) = found.or_else(|| self.victim(line)) {
            let state = &mut self.states[way];
            *state = now << 8 | *state & 0xff | valid(whole);
        }
    }

    /// Drops sectors of a line (DESIGN.md V2). A fill on its way no longer makes them valid.
    pub fn drop_sectors(&mut self, line: u64, sectors: SectorMask) {
        if let Some(way) = self.find(line) {
            self.states[way] &= !(valid(sectors) | missing(sectors));
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
