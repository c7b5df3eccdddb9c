//! The L1 instruction and L1.5 constant cache, one array shared by the SM, the larger cache behind it where
//! there is one, and the link between it and the L0 caches: 39 cycles each way, one request per cycle,
//! served in rotation (MODEL.md §4, trap T12).
//!
//! A request that finds no free miss, no room with the miss of its line, or no credit for its packets stays
//! where it came in and holds those behind it up; meanwhile the link takes no further ones.

use std::collections::VecDeque;

use crate::event::Event;
use crate::port::{Outstanding, Port};
use crate::tags::Tags;
use crate::wheel::Wheel;
use source::{Found, RequestKind, Sector, SectorMask};

hardware::parameters! {
    /// The shared L1 instruction and L1.5 constant cache.
    pub struct Level1Parameters = "l1_instruction_cache" {
        /// Sets.
        sets: u32, "sets", 1..=8192;
        /// Ways per set.
        ways: u32, "ways", 1..=256;
        /// Bytes per line.
        line_bytes: u32, "bytes", 32..=1024;
        /// Cycles of the link between L0 and L1, each way.
        link: u64, "cycles", 1..=512;
        /// Cycles for which a constant line takes the link on its way back.
        constant_interval: u64, "cycles", 1..=64;
        /// Cycles between two lines that come from L2.
        fill_interval: u64, "cycles", 1..=512;
        /// Lines that can be missing at once.
        outstanding: u32, "lines", 1..=4096;
        /// Requests that can wait for one of them.
        merges: u32, "requests", 1..=4096;
    }
}

hardware::parameters! {
    /// A larger instruction and constant cache behind the L1's.
    pub struct LargerParameters = "larger_instruction_cache" {
        /// Sets; 0 if there is no such cache.
        sets: u32, "sets", 0..=8192;
        /// Ways per set.
        ways: u32, "ways", 1..=256;
        /// Cycles from a miss in L1 to a line that is here.
        latency: u64, "cycles", 1..=1000;
        /// Cycles between two lines out of it.
        interval: u64, "cycles", 1..=512;
    }
}

/// Who asks over the link: sub-cores 0 to 3, or the memory unit.
pub const MEMORY_UNIT: u8 = 4;

/// What a line on the link is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Purpose {
    /// Instruction line that a fetch waits for.
    Demand,
    /// Instruction line for the stream buffer.
    Prefetch,
    /// Constant line.
    Constant,
}

impl Purpose {
    /// Back from its number in an event.
    pub fn from_number(number: u8) -> Purpose {
        match number {
            0 => Purpose::Demand,
            1 => Purpose::Prefetch,
            _ => Purpose::Constant,
        }
    }
}

#[derive(Clone, Copy)]
struct Waiter {
    line: u32,
    client: u8,
    purpose: Purpose,
}

/// A request from the link.
#[derive(Clone, Copy)]
struct Asked {
    /// Counts lines of `bytes` bytes.
    line: u32,
    bytes: u32,
    client: u8,
    purpose: Purpose,
}

/// A line on its way from L2.
struct Miss {
    line: u32,
    sectors_left: u8,
    waiters: Vec<Waiter>,
}

/// Marks the numbers of constant lines, so that both kinds share the array without clashing.
const CONSTANT_LINES: u32 = 1 << 31;

/// The cache behind the shared array.
struct Larger {
    tags: Tags,
    latency: u64,
    interval: u64,
    /// First cycle in which it can give the next line.
    free: u64,
}

/// What came of a line that the memory unit asked for.
#[derive(Clone, Copy)]
pub struct Told {
    /// The line, as the memory unit counts.
    pub line: u32,
    /// The packets that left for it: places in the port's list.
    pub packets: (usize, usize),
    /// What was found.
    pub found: Found,
}

/// The shared array, its misses and the two directions of the link.
pub struct Level1 {
    tags: Tags,
    larger: Option<Larger>,
    line_bytes: u32,
    link: u64,
    code_address: u64,
    constant_address: u64,
    /// At most `outstanding`, of at most `merges` waiters each.
    misses: Vec<Miss>,
    free_misses: Vec<u16>,
    outstanding: usize,
    merges: usize,
    /// Requests that came in and found no room, at most as many as the link holds.
    stalled: VecDeque<Asked>,
    /// Whether what the memory unit asked for is told, for who follows a load, and what was.
    pub tells: bool,
    pub told: Vec<Told>,
    reply_free: u64,
    constant_interval: u64,
    fill_interval: u64,
    /// First cycle in which the next line from L2 can be filled.
    fill_free: u64,
    /// A LinkRequest event is scheduled.
    pub armed: bool,
    /// Client served last.
    pub last_served: u8,
    /// Lookups that hit.
    pub hits: u64,
    /// Lookups that missed.
    pub miss_count: u64,
    /// Most lines that were missing at once.
    pub missing_most: u64,
    /// Most requests that found no room at once.
    pub stalled_most: u64,
}

impl Level1 {
    /// An empty cache; code and constants lie at these device addresses.
    pub fn new(
        parameters: &Level1Parameters,
        larger: &LargerParameters,
        code_address: u64,
        constant_address: u64,
    ) -> Level1 {
        Level1 {
            tags: Tags::new(parameters.sets, parameters.ways),
            larger: (larger.sets > 0).then(|| Larger {
                tags: Tags::new(larger.sets, larger.ways),
                latency: larger.latency,
                interval: larger.interval,
                free: 0,
            }),
            line_bytes: parameters.line_bytes,
            link: parameters.link,
            code_address,
            constant_address,
            misses: Vec::new(),
            free_misses: Vec::new(),
            outstanding: parameters.outstanding as usize,
            merges: parameters.merges as usize,
            stalled: VecDeque::new(),
            tells: false,
            told: Vec::new(),
            reply_free: 0,
            constant_interval: parameters.constant_interval,
            fill_interval: parameters.fill_interval,
            fill_free: 0,
            armed: false,
            last_served: MEMORY_UNIT,
            hits: 0,
            miss_count: 0,
            missing_most: 0,
            stalled_most: 0,
        }
    }

    /// Whether requests came in that found no room.
    #[inline]
    pub fn is_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Makes sure that the link looks for requests from the cycle after `now` on.
    #[inline]
    pub fn arm(&mut self, wheel: &mut Wheel, now: u64) {
        if !self.armed {
            self.armed = true;
            wheel.schedule(now + 1, Event::LinkRequest);
        }
    }

    /// Puts a request on the link in cycle `now`.
    pub fn send(&self, wheel: &mut Wheel, line: u32, client: u8, purpose: Purpose, now: u64) {
        let event = Event::LinkArrives {
            line,
            sub_core: client,
            purpose: purpose as u8,
        };
        wheel.schedule(now + self.link, event);
    }

    fn reply(&mut self, wheel: &mut Wheel, waiter: Waiter, now: u64) {
        let leaves = now.max(self.reply_free);
        self.reply_free = leaves
            + match waiter.purpose {
                Purpose::Constant => self.constant_interval,
                Purpose::Demand | Purpose::Prefetch => 1,
            };
        let event = Event::LinkReply {
            line: waiter.line,
            sub_core: waiter.client,
            purpose: waiter.purpose as u8,
        };
        wheel.schedule(leaves + self.link, event);
    }

    /// A request arrives in cycle `now`. `line` counts lines of `asked_bytes`.
    #[allow(clippy::too_many_arguments)]
    pub fn arrive(
        &mut self,
        wheel: &mut Wheel,
        port: &mut Port,
        line: u32,
        asked_bytes: u32,
        client: u8,
        purpose: Purpose,
        now: u64,
    ) {
        let asked = Asked {
            line,
            bytes: asked_bytes,
            client,
            purpose,
        };
        if self.is_stalled() || !self.look_up(wheel, port, asked, now) {
            debug_assert!(self.stalled.len() as u64 <= self.link);
            self.stalled.push_back(asked);
            self.stalled_most = self.stalled_most.max(self.stalled.len() as u64);
        }
    }

    /// Something that requests wait for may be free: they are looked up in their order.
    #[cold]
    pub fn retry(&mut self, wheel: &mut Wheel, port: &mut Port, now: u64) {
        while let Some(&asked) = self.stalled.front() {
            if !self.look_up(wheel, port, asked, now) {
                return;
            }
            self.stalled.pop_front();
        }
        self.arm(wheel, now);
    }

    /// Looks a request up; false if it has to wait for room.
    fn look_up(&mut self, wheel: &mut Wheel, port: &mut Port, asked: Asked, now: u64) -> bool {
        let sent = port.requests.len();
        let found = self.find(wheel, port, asked, now);
        if self.tells
            && asked.client == MEMORY_UNIT
            && let Some(found) = found
        {
            let packets = (sent, port.requests.len());
            self.told.push(Told {
                line: asked.line,
                packets,
                found,
            });
        }
        found.is_some()
    }

    /// What a request finds: a line that is here, under way for another, or missing; nothing if it has to
    /// wait for room.
    #[inline]
    fn find(
        &mut self,
        wheel: &mut Wheel,
        port: &mut Port,
        asked: Asked,
        now: u64,
    ) -> Option<Found> {
        let waiter = Waiter {
            line: asked.line,
            client: asked.client,
            purpose: asked.purpose,
        };
        let own_line =
            (u64::from(asked.line) * u64::from(asked.bytes) / u64::from(self.line_bytes)) as u32;
        let constant = asked.purpose == Purpose::Constant;
        let key = own_line | if constant { CONSTANT_LINES } else { 0 };
        if self.tags.touch(key, now) {
            self.hits += 1;
            self.reply(wheel, waiter, now);
            return Some(Found::Hit);
        }
        if let Some(miss) = self
            .misses
            .iter_mut()
            .find(|m| m.line == key && m.sectors_left > 0)
        {
            if miss.waiters.len() == self.merges {
                return None;
            }
            miss.waiters.push(waiter);
            self.miss_count += 1;
            return Some(Found::Merged);
        }
        let used = self.misses.len() - self.free_misses.len();
        if used == self.outstanding {
            return None;
        }
        let (base, kind) = if constant {
            (self.constant_address, RequestKind::Constant)
        } else {
            (self.code_address, RequestKind::Instruction)
        };
        let first = Sector::of(base + own_line as u64 * self.line_bytes as u64);
        let sectors = (self.line_bytes as u64).div_ceil(Sector::BYTES);
        let packets = Sector(first.0 + sectors - 1).line().0 - first.line().0 + 1;
        // What the larger cache has needs none.
        let near = self
            .larger
            .as_mut()
            .is_some_and(|larger| larger.tags.touch(key, now));
        if !near && !port.has_room(packets as u32) {
            return None;
        }
        self.miss_count += 1;
        self.missing_most = self.missing_most.max(used as u64 + 1);
        let index = self.free_misses.pop().unwrap_or_else(|| {
            self.misses.push(Miss {
                line: 0,
                sectors_left: 0,
                waiters: Vec::with_capacity(8),
            });
            self.misses.len() as u16 - 1
        });
        let miss = &mut self.misses[index as usize];
        miss.line = key;
        miss.sectors_left = sectors as u8;
        miss.waiters.push(waiter);
        if near && let Some(larger) = &mut self.larger {
            let comes = (now + larger.latency).max(larger.free);
            larger.free = comes + larger.interval;
            wheel.schedule(comes, Event::LineFills { miss: index });
            return Some(Found::Miss);
        }
        port.send_run(
            now,
            kind,
            first,
            sectors,
            Outstanding::Level1 { miss: index },
        );
        Some(Found::Miss)
    }

    /// Sectors of a missing line came back from L2.
    pub fn sectors_arrive(&mut self, wheel: &mut Wheel, miss: u16, sectors: SectorMask, now: u64) {
        let entry = &mut self.misses[miss as usize];
        let left = entry.sectors_left - sectors.count_ones() as u8;
        if left > 0 {
            entry.sectors_left = left;
            return;
        }
        if let Some(larger) = &mut self.larger {
            larger.tags.fill(entry.line, now);
        }
        let fills = now.max(self.fill_free);
        self.fill_free = fills + self.fill_interval;
        if fills == now {
            self.fill(wheel, miss, now);
        } else {
            wheel.schedule(fills, Event::LineFills { miss });
        }
    }

    /// A missing line is here: those that waited for it are answered.
    pub fn fill(&mut self, wheel: &mut Wheel, miss: u16, now: u64) {
        let entry = &mut self.misses[miss as usize];
        entry.sectors_left = 0;
        let mut waiters = std::mem::take(&mut entry.waiters);
        self.tags.fill(entry.line, now);
        self.free_misses.push(miss);
        for waiter in waiters.drain(..) {
            self.reply(wheel, waiter, now);
        }
        self.misses[miss as usize].waiters = waiters;
    }
}
