//! One L2 slice: takes packets from the crossbar in order, looks them up, answers hits, sends
//! misses and write-backs to the DRAM, and answers the rest when data returns (MODEL.md §8.1).
//!
//! A read or atomic needs the sector; a write needs only the line, which it takes without reading
//! it from the DRAM (the fetch is lazy: a later read of a sector that was written in part fetches
//! it). A packet that finds no room blocks those behind it until something returns.

use std::collections::VecDeque;
use std::sync::Arc;

use source::RequestKind;

use crate::address::{AddressMap, SECTORS};
use crate::clock::Clocks;
use crate::dram::{Arrival, Link};
use crate::l2_tags::L2Tags;
use crate::mshr::{Mshrs, Waiter};
use crate::statistics::SliceStatistics;

/// A request at the port of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Cycle in which it has passed the port.
    pub arrival: u64,
    /// The sector.
    pub sector: u64,
    /// The number of its line among those of the slice.
    pub local: u32,
    /// The request's name.
    pub id: u32,
    /// Its SM.
    pub sm: u16,
    /// Cycles that the lookup is busy with it.
    pub cost: u16,
    /// What it asks for.
    pub kind: RequestKind,
    /// Whether a write covers the whole sector.
    pub whole: bool,
}

/// A reply on its way into the reply network.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Cycle in which it enters the network.
    pub cycle: u64,
    /// The request's name.
    pub id: u32,
    /// Its SM.
    pub sm: u16,
}

/// What all slices of a GPU have in common.
#[derive(Debug)]
pub struct SliceSettings {
    pub map: AddressMap,
    pub clocks: Clocks,
    pub sets: u32,
    pub ways: u32,
    pub mshrs: usize,
    pub mshr_merges: u32,
    pub miss_queue: usize,
    pub lookup_latency: u64,
    /// Core cycles from the slice to the DRAM scheduler.
    pub dram_latency: u64,
    /// Requests that one slice may have at one channel.
    pub dram_share: u32,
    pub channels: usize,
}

/// What the packet at the head waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocked {
    No,
    /// So many places in the miss queue, and an entry if it reads; its slot is chosen.
    Room {
        needed: usize,
        slot: u32,
        found: bool,
        reads: bool,
    },
    /// A way that waits for nothing, or a merge.
    Return,
}

/// A packet to the DRAM that waits for room there.
#[derive(Clone, Copy, Debug)]
struct Miss {
    row: u32,
    mshr: u16,
    bank: u8,
    write: bool,
}

/// One L2 slice.
#[derive(Debug)]
pub struct Slice {
    settings: Arc<SliceSettings>,
    /// Its number inside the partition.
    sub: u32,
    inbox: VecDeque<Packet>,
    /// What held the packet at the head up when it was looked up.
    blocked: Blocked,
    /// Whether it may try again.
    may_go: bool,
    next_lookup: u64,
    next_fill: u64,
    next_miss: u64,
    next_reply: u64,
    tags: L2Tags,
    mshrs: Mshrs,
    /// Per channel, the misses that wait, and the room that is left.
    misses: Vec<VecDeque<Miss>>,
    room: Vec<u32>,
    waiting_misses: usize,
    /// Replies in the order of their cycle.
    pub outbox: VecDeque<Departure>,
    pub(crate) statistics: SliceStatistics,
}

impl Slice {
    /// An empty slice.
    pub fn new(settings: Arc<SliceSettings>, sub: u32) -> Slice {
        let tags = L2Tags::new(settings.sets, settings.ways);
        Slice {
            sub,
            inbox: VecDeque::new(),
            blocked: Blocked::No,
            may_go: true,
            next_lookup: 0,
            next_fill: 0,
            next_miss: 0,
            next_reply: 0,
            mshrs: Mshrs::new(settings.mshrs, settings.mshr_merges, tags.slots()),
            tags,
            misses: vec![VecDeque::new(); settings.channels],
            room: vec![settings.dram_share; settings.channels],
            waiting_misses: 0,
            outbox: VecDeque::new(),
            statistics: SliceStatistics::default(),
            settings,
        }
    }

    /// Takes a packet from the port; they come in the order of their arrival.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.inbox.push_back(packet);
    }

    /// The cycle of the next lookup or return, given what is known.
    pub fn next_event(&self, links: &[Link], stride: usize) -> u64 {
        self.next_return(links, stride).0.min(self.next_packet())
    }

    #[inline]
    fn next_packet(&self) -> u64 {
        match self.inbox.front() {
            Some(packet) if self.may_go => packet.arrival.max(self.next_lookup),
            _ => u64::MAX,
        }
    }

    /// The next return and its channel; of equals the lower channel's.
    #[inline]
    fn next_return(&self, links: &[Link], stride: usize) -> (u64, usize) {
        let mut next = (u64::MAX, 0);
        for channel in 0..self.settings.channels {
            if let Some(back) = links[channel * stride + self.sub as usize].up.front()
                && back.cycle < next.0
            {
                next = (back.cycle, channel);
            }
        }
        if next.0 != u64::MAX {
            next.0 = next.0.max(self.next_fill);
        }
        next
    }

    /// Whether everything that came in has been answered and sent on.
    pub fn is_idle(&self) -> bool {
        self.inbox.is_empty()
            && self.outbox.is_empty()
            && self.mshrs.is_empty()
            && self.waiting_misses == 0
    }

    /// Dirty sectors that the DRAM does not have yet.
    pub fn dirty_sectors(&self) -> u64 {
        self.tags.dirty_sectors()
    }

    /// Simulates every cycle before `until`. `links[channel * stride + sub]` leads to a channel;
    /// all that returns before `until` must stand in it.
    pub fn run(&mut self, until: u64, links: &mut [Link], stride: usize) {
        let mut back = self.next_return(links, stride);
        let mut packet = self.next_packet();
        while back.0.min(packet) < until {
            if back.0 <= packet {
                self.take_return(back.0, back.1, links, stride);
                back = self.next_return(links, stride);
            } else if let Some(&head) = self.inbox.front() {
                match self.blocked {
                    Blocked::Room { slot, found, .. } => {
                        self.blocked = Blocked::No;
                        self.miss(packet, &head, slot, found, links, stride);
                    }
                    _ => self.blocked = self.look_up(packet, &head, links, stride),
                }
                self.may_go = self.blocked == Blocked::No;
                if self.may_go {
                    self.inbox.pop_front();
                    self.next_lookup = packet + u64::from(head.cost);
                } else {
                    self.next_lookup = packet;
                    self.statistics.blocked += 1;
                }
            }
            packet = self.next_packet();
        }
    }

    /// Looks a packet up; what it waits for if it cannot be served now.
    fn look_up(&mut self, now: u64, packet: &Packet, links: &mut [Link], stride: usize) -> Blocked {
        let line = packet.sector / u64::from(SECTORS);
        let sector = (packet.sector % u64::from(SECTORS)) as u8;
        let bit = 1_u8 << sector;
        let set = self.settings.map.set(line, packet.local);
        let found = self.tags.find(set, line);
        let write = packet.kind == RequestKind::Write;
        let update = matches!(packet.kind, RequestKind::Atomic | RequestKind::Reduction);

        if let Some(slot) = found {
            let sectors = self.tags.sectors(slot);
            if write {
                sectors.dirty |= bit;
                if packet.whole {
                    sectors.valid |= bit;
                }
                self.hit(now, packet, set, slot);
                return Blocked::No;
            }
            if sectors.valid & bit != 0 {
                if update {
                    sectors.dirty |= bit;
                }
                self.hit(now, packet, set, slot);
                return Blocked::No;
            }
            if sectors.pending & bit != 0 {
                let waiter = Waiter {
                    id: packet.id,
                    sm: packet.sm,
                    update,
                };
                if !self.mshrs.merge(slot, sector, waiter) {
                    return Blocked::Return;
                }
                self.tags.touch(set, slot);
                self.statistics.miss(packet.kind);
                self.statistics.merged += 1;
                return Blocked::No;
            }
        }

        // From here on: a read or atomic without its sector, or a write without its line.
        let (slot, needed) = match found {
            Some(slot) => (slot, 1),
            None => {
                let Some(victim) = self.tags.victim(set) else {
                    return Blocked::Return;
                };
                let dirty = self.tags.sectors(victim).dirty;
                (victim, dirty.count_ones() as usize + usize::from(!write))
            }
        };
        let found = found.is_some();
        if !self.has_room(needed, !write) {
            return Blocked::Room {
                needed,
                slot,
                found,
                reads: !write,
            };
        }
        self.miss(now, packet, slot, found, links, stride);
        Blocked::No
    }

    /// Whether so many packets may go to the DRAM, one of them a read.
    #[inline]
    fn has_room(&self, packets: usize, reads: bool) -> bool {
        self.waiting_misses + packets <= self.settings.miss_queue
            && (!reads || self.mshrs.has_room())
    }

    /// Takes the slot for a packet that misses; there is room for all that follows.
    #[inline]
    fn miss(
        &mut self,
        now: u64,
        packet: &Packet,
        slot: u32,
        found: bool,
        links: &mut [Link],
        stride: usize,
    ) {
        let line = packet.sector / u64::from(SECTORS);
        let set = self.settings.map.set(line, packet.local);
        let sector = (packet.sector % u64::from(SECTORS)) as u8;
        let bit = 1_u8 << sector;
        if !found {
            let dirty = self.tags.sectors(slot).dirty;
            if dirty != 0 {
                self.write_back(now, slot, dirty, links, stride);
            }
            self.tags.replace(slot, packet.sector / u64::from(SECTORS));
        }
        let sectors = self.tags.sectors(slot);
        if packet.kind == RequestKind::Write {
            sectors.dirty |= bit;
            if packet.whole {
                sectors.valid |= bit;
            }
            self.statistics.allocated_by_write += 1;
            self.hit(now, packet, set, slot);
            return;
        }
        sectors.pending |= bit;
        self.tags.touch(set, slot);
        self.statistics.miss(packet.kind);
        let waiter = Waiter {
            id: packet.id,
            sm: packet.sm,
            update: matches!(packet.kind, RequestKind::Atomic | RequestKind::Reduction),
        };
        let mshr = self.mshrs.allocate(slot, sector, waiter);
        self.send(now, packet.local, sector, Some(mshr), links, stride);
    }

    #[inline]
    fn hit(&mut self, now: u64, packet: &Packet, set: u32, slot: u32) {
        self.tags.touch(set, slot);
        self.statistics.hit(packet.kind);
        self.reply(now, packet.id, packet.sm);
    }

    #[inline]
    fn reply(&mut self, now: u64, id: u32, sm: u16) {
        let cycle = self.next_reply.max(now + self.settings.lookup_latency);
        self.next_reply = cycle + 1;
        self.outbox.push_back(Departure { cycle, id, sm });
    }

    fn write_back(&mut self, now: u64, victim: u32, dirty: u8, links: &mut [Link], stride: usize) {
        let local = self.settings.map.slices.of(self.tags.line(victim)).local;
        let mut rest = dirty;
        while rest != 0 {
            let sector = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            self.send(now, local as u32, sector, None, links, stride);
        }
    }

    /// Sends a read (with its entry) or a write to the DRAM, or lets it wait for room there.
    #[inline]
    fn send(
        &mut self,
        now: u64,
        local: u32,
        sector: u8,
        mshr: Option<u16>,
        links: &mut [Link],
        stride: usize,
    ) {
        let place = self
            .settings
            .map
            .coordinates(local, self.sub, u32::from(sector));
        let channel = place.channel as usize;
        let miss = Miss {
            row: place.row,
            mshr: mshr.unwrap_or_default(),
            bank: place.bank,
            write: mshr.is_none(),
        };
        if self.room[channel] > 0 && self.misses[channel].is_empty() {
            self.depart(now, channel, miss, links, stride);
        } else {
            self.misses[channel].push_back(miss);
            self.waiting_misses += 1;
        }
    }

    #[inline]
    fn depart(&mut self, now: u64, channel: usize, miss: Miss, links: &mut [Link], stride: usize) {
        self.room[channel] -= 1;
        let cycle = now.max(self.next_miss);
        self.next_miss = cycle + 1;
        let settings = &self.settings;
        links[channel * stride + self.sub as usize]
            .down
            .push_back(Arrival {
                command_cycle: settings
                    .clocks
                    .command_at_or_after(cycle + settings.dram_latency),
                row: miss.row,
                mshr: miss.mshr,
                bank: miss.bank,
                write: miss.write,
            });
    }

    fn take_return(&mut self, now: u64, channel: usize, links: &mut [Link], stride: usize) {
        let Some(back) = links[channel * stride + self.sub as usize].up.pop_front() else {
            return;
        };
        self.room[channel] += 1;
        if let Some(index) = back.mshr {
            self.next_fill = now + 1;
            let ready = now + self.settings.lookup_latency;
            let (outbox, next_reply) = (&mut self.outbox, &mut self.next_reply);
            let mut update = false;
            let (slot, sector) = self.mshrs.release(index, |waiter| {
                update |= waiter.update;
                let cycle = ready.max(*next_reply);
                *next_reply = cycle + 1;
                outbox.push_back(Departure {
                    cycle,
                    id: waiter.id,
                    sm: waiter.sm,
                });
            });
            let sectors = self.tags.sectors(slot);
            sectors.pending &= !(1 << sector);
            sectors.valid |= 1 << sector;
            if update {
                sectors.dirty |= 1 << sector;
            }
        }
        if let Some(miss) = self.misses[channel].pop_front() {
            self.waiting_misses -= 1;
            self.depart(now, channel, miss, links, stride);
        }
        self.may_go = match self.blocked {
            Blocked::No => return,
            Blocked::Room { needed, reads, .. } => self.has_room(needed, reads),
            Blocked::Return => true,
        };
        if self.may_go {
            self.next_lookup = self.next_lookup.max(now);
        }
    }
}
