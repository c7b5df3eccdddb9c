//! One L2 slice: takes packets from the crossbar in order, looks them up, answers hits, sends
//! misses and write-backs to the DRAM, and answers the rest when data returns (MODEL.md §8.1).
//!
//! A packet is one line with a mask of sectors and costs one lookup. A read or atomic needs its
//! sectors: those that are here are answered together, the others as they return. A write needs only
//! the line, which it takes without reading it from the DRAM (the fetch is lazy: a read of a sector
//! fetches it if by then not all of its bytes were written). A packet that finds no room blocks those behind it
//! until something returns.

use std::collections::VecDeque;
use std::sync::Arc;

use source::{ByteMask, Found, Hop, Line, RequestKind, SectorMask, Wait};

use crate::address::AddressMap;
use crate::clock::{Clocks, Domain};
use crate::crossbar::DataRate;
use crate::dram::{Arrival, Coordinates, Link, Note};
use crate::hops::Way;
use crate::l2_tags::L2Tags;
use crate::mshr::{Mshrs, Waiter};
use crate::reply_queue::ReplyQueue;
use crate::request_queue::RequestQueue;
use crate::statistics::SliceStatistics;

/// A request at the port of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// L2 cycle in which it has passed the port.
    pub arrival: u64,
    /// L2 cycle in which it has reached it.
    pub reached: u64,
    /// The line.
    pub line: u64,
    /// The number of the line among those of the slice.
    pub local: u32,
    /// The request's name.
    pub id: u32,
    /// Its SM.
    pub sm: u16,
    /// L2 cycles that the lookup is busy with it.
    pub cost: u16,
    /// What it asks for.
    pub kind: RequestKind,
    /// The sectors of the line.
    pub sectors: SectorMask,
    /// The bytes of each that a write writes.
    pub bytes: [ByteMask; Line::SECTORS as usize],
    /// Whether its way is noted.
    pub traced: bool,
}

/// A reply on its way into the reply network.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Cycle in which its first sector enters the network.
    pub cycle: u64,
    /// The request's name.
    pub id: u32,
    /// Its SM.
    pub sm: u16,
    /// The sectors that it answers.
    pub sectors: SectorMask,
    /// Cycles from its first sector to its last.
    pub span: u8,
    /// Whether it carries data.
    pub data: bool,
    /// Whether its way is noted.
    pub traced: bool,
}

/// The sectors of a mask.
#[inline]
fn each(mut sectors: SectorMask) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let sector = sectors.trailing_zeros() as u8;
        let some = sectors != 0;
        sectors &= sectors.wrapping_sub(1);
        some.then_some(sector)
    })
}

/// Where the sectors of a line lie in the DRAM.
struct Places {
    local: u32,
    sub: u32,
    /// The same for all of them.
    all: Option<Coordinates>,
}

impl Places {
    /// Those of line `local` of slice `sub`.
    #[inline]
    fn new(settings: &SliceSettings, local: u32, sub: u32) -> Places {
        let map = &settings.map;
        let all = map.keeps_lines_together();
        Places {
            local,
            sub,
            all: all.then(|| map.coordinates(local, sub, 0)),
        }
    }

    #[inline]
    fn of(&self, map: &AddressMap, sector: u8) -> Coordinates {
        self.all
            .unwrap_or_else(|| map.coordinates(self.local, self.sub, sector.into()))
    }
}

/// What all slices of a GPU have in common.
#[derive(Debug)]
pub struct SliceSettings {
    pub map: AddressMap,
    pub clocks: Clocks,
    /// The clock of lookups and of ports.
    pub domain: Domain,
    pub sets: u32,
    pub ways: u32,
    pub mshrs: usize,
    pub mshr_merges: u32,
    pub miss_queue: usize,
    /// Packets in front of the lookup, and replies in front of the port into the reply network.
    pub request_queue: usize,
    pub reply_queue: usize,
    pub data_rate: DataRate,
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
    /// So many places in the miss queue, and so many entries.
    Room {
        needed: u32,
        reads: u32,
        /// The queue had room, but not the entries.
        entries: bool,
    },
    /// A way that waits for nothing.
    Way,
    /// A further request for a sector that is under way.
    Merge,
    /// A place for its reply, which there is for a lookup in this L2 cycle.
    Reply(u64),
}

/// A packet to the DRAM that waits for room there.
#[derive(Clone, Copy, Debug)]
struct Miss {
    row: u32,
    mshr: u16,
    /// Of a traced read, its column: a burst of the row.
    burst: u16,
    bank: u8,
    write: bool,
    traced: bool,
}

/// One L2 slice.
#[derive(Debug)]
pub struct Slice {
    settings: Arc<SliceSettings>,
    /// Its number inside the partition.
    sub: u32,
    requests: RequestQueue,
    /// What held the packet at the head up when it was looked up.
    blocked: Blocked,
    /// Whether it may try again.
    may_go: bool,
    /// Core cycle in which a packet at the head was held up last.
    held_up: u64,
    /// L2 cycle of the next lookup.
    next_lookup: u64,
    next_fill: u64,
    next_miss: u64,
    tags: L2Tags,
    mshrs: Mshrs,
    /// Per channel, the misses that wait, `miss_queue` in all, and the room that is left.
    misses: Vec<VecDeque<Miss>>,
    room: Vec<u32>,
    waiting_misses: usize,
    pub(crate) replies: ReplyQueue,
    /// Steps of traced packets.
    pub(crate) hops: Vec<Hop>,
    pub(crate) statistics: SliceStatistics,
}

impl Slice {
    /// A slice with nothing under way, and these tags or empty ones.
    pub fn new(settings: Arc<SliceSettings>, sub: u32, tags: Option<L2Tags>) -> Slice {
        let tags = tags.unwrap_or_else(|| L2Tags::new(settings.sets, settings.ways));
        Slice {
            sub,
            requests: RequestQueue::new(settings.request_queue, settings.data_rate),
            blocked: Blocked::No,
            may_go: true,
            held_up: 0,
            next_lookup: 0,
            next_fill: 0,
            next_miss: 0,
            mshrs: Mshrs::new(settings.mshrs, settings.mshr_merges, tags.slots()),
            tags,
            misses: vec![VecDeque::with_capacity(settings.miss_queue); settings.channels],
            room: vec![settings.dram_share; settings.channels],
            waiting_misses: 0,
            replies: ReplyQueue::new(settings.reply_queue),
            hops: Vec::new(),
            statistics: SliceStatistics::default(),
            settings,
        }
    }

    /// A packet reaches the port; they come in that order.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        let passes = self.requests.push(packet);
        note_port(&mut self.hops, self.settings.domain, self.sub, passes);
    }

    /// The cycle of the next lookup or return, given what is known.
    pub fn next_event(&self, links: &[Link], stride: usize) -> u64 {
        self.next_return(links, stride).0.min(self.next_packet())
    }

    #[inline]
    fn next_packet(&self) -> u64 {
        match self.requests.head() {
            Some(packet) if self.may_go => {
                let cycle = packet.arrival.max(self.next_lookup);
                self.settings.domain.core(cycle)
            }
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
        self.requests.is_empty()
            && self.replies.outbox.is_empty()
            && self.mshrs.is_empty()
            && self.waiting_misses == 0
    }

    /// What it has counted, with what is looked up only now.
    pub fn counted(&self) -> SliceStatistics {
        let mut counted = self.statistics;
        counted.dirty = self.dirty_sectors();
        counted.queue_most = self.requests.most;
        counted.network_most = self.requests.network_most;
        counted.reply_queue_most = self.replies.most();
        counted.reply_wait_most = self.replies.wait_most;
        counted
    }

    /// Begins to count anew.
    pub fn reset_statistics(&mut self) {
        self.statistics = SliceStatistics::default();
        (self.requests.most, self.requests.network_most) = (0, 0);
        self.replies.reset_statistics();
    }

    /// Dirty sectors that the DRAM does not have yet.
    pub fn dirty_sectors(&self) -> u64 {
        self.tags.dirty_sectors()
    }

    /// The tags, to be kept beyond a launch.
    pub fn take_tags(&mut self) -> L2Tags {
        let mut tags = std::mem::replace(&mut self.tags, L2Tags::new(0, 0));
        tags.settle();
        tags
    }

    /// Puts a line into the tags. How many sectors were written back for it.
    pub fn fill(&mut self, line: u64, local: u32) -> u32 {
        let set = self.settings.map.set(line, local);
        self.tags.fill(set, line)
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
            } else if let Some(&head) = self.requests.head() {
                let cycle = head.arrival.max(self.next_lookup);
                self.requests.note(cycle);
                if head.traced {
                    self.note_try(packet, &head);
                }
                self.blocked = self.look_up(packet, &head, links, stride);
                if self.blocked != Blocked::No {
                    self.statistics.blocked += 1;
                    self.held_up = packet;
                }
                match self.blocked {
                    Blocked::No => {
                        let passes = self.requests.pop(cycle);
                        note_port(&mut self.hops, self.settings.domain, self.sub, passes);
                        self.next_lookup = cycle + u64::from(head.cost);
                    }
                    Blocked::Reply(from) => self.next_lookup = from.max(cycle + 1),
                    Blocked::Room { .. } | Blocked::Way | Blocked::Merge => self.may_go = false,
                }
            }
            packet = self.next_packet();
        }
    }

    /// Looks a packet up; what it waits for if it cannot be served now. All its sectors are served or
    /// none.
    #[inline]
    fn look_up(&mut self, now: u64, packet: &Packet, links: &mut [Link], stride: usize) -> Blocked {
        let set = self.settings.map.set(packet.line, packet.local);
        let found = self.tags.find(set, packet.line);
        let write = packet.kind == RequestKind::Write;
        let update = matches!(packet.kind, RequestKind::Atomic | RequestKind::Reduction);
        // Sectors that are here, under way, and to be read.
        let (mut here, mut under_way) = (0, 0);
        if let Some(slot) = found {
            let sectors = self.tags.sectors(slot);
            here = packet.sectors & sectors.valid;
            under_way = packet.sectors & !here & sectors.pending;
        }
        if write {
            (here, under_way) = (packet.sectors, 0);
        }
        let reads = packet.sectors & !(here | under_way);
        let domain = self.settings.domain;
        let mut ready = 0;
        if here != 0 {
            ready = domain.cycle(now + self.settings.lookup_latency);
            let place = self.replies.place_from();
            if place > ready {
                let latency = self.settings.lookup_latency;
                return Blocked::Reply(domain.cycle(domain.core(place).saturating_sub(latency)));
            }
        }

        let slot = match found {
            Some(slot) => {
                if reads != 0 && !self.has_room(reads.count_ones(), reads.count_ones()) {
                    return self.without_room(reads.count_ones(), reads.count_ones());
                }
                if each(under_way).any(|sector| !self.mshrs.can_merge(slot, sector)) {
                    return Blocked::Merge;
                }
                slot
            }
            None => {
                let Some(slot) = self.tags.victim(set) else {
                    return Blocked::Way;
                };
                let dirty = self.tags.sectors(slot).dirty;
                let reads = reads.count_ones();
                let needed = dirty.count_ones() + reads;
                if !self.has_room(needed, reads) {
                    return self.without_room(needed, reads);
                }
                if dirty != 0 {
                    self.write_back(now, slot, dirty, links, stride);
                }
                self.tags.replace(slot, packet.line);
                self.statistics.allocated_by_write += u64::from(write);
                slot
            }
        };

        self.statistics.request(packet.kind);
        if packet.traced {
            let parts = [
                (here, if write { Found::Written } else { Found::Hit }),
                (under_way, Found::Merged),
                (reads, Found::Miss),
            ];
            self.note_lookup(now, packet, set, slot, parts);
        }
        self.tags.touch(set, slot);
        if write {
            let became = self.tags.write(slot, packet.sectors, &packet.bytes);
            self.statistics.dirtied += u64::from(became);
        } else {
            let sectors = self.tags.sectors(slot);
            if update {
                self.statistics.dirtied += u64::from((here & !sectors.dirty).count_ones());
                sectors.dirty |= here;
            }
            sectors.pending |= reads;
        }
        if here != 0 {
            self.statistics.hit(packet.kind, here.count_ones());
            self.reply(ready, packet, here, !write);
        }
        if reads | under_way != 0 {
            self.await_sectors(now, packet, slot, reads, under_way, links, stride);
        }
        Blocked::No
    }

    /// Reads the sectors `reads` of a packet from the DRAM and lets it wait for them and for those
    /// that are under way. There is room for all.
    #[inline]
    #[allow(clippy::too_many_arguments)] // two masks, and where the DRAM is
    fn await_sectors(
        &mut self,
        now: u64,
        packet: &Packet,
        slot: u32,
        reads: SectorMask,
        under_way: SectorMask,
        links: &mut [Link],
        stride: usize,
    ) {
        let waiter = Waiter {
            id: packet.id,
            sm: packet.sm,
            update: matches!(packet.kind, RequestKind::Atomic | RequestKind::Reduction),
            traced: packet.traced,
        };
        self.statistics
            .miss(packet.kind, (reads | under_way).count_ones());
        self.statistics.merged += u64::from(under_way.count_ones());
        for sector in each(under_way) {
            self.mshrs.merge(slot, sector, waiter);
        }
        let places = Places::new(&self.settings, packet.local, self.sub);
        for sector in each(reads) {
            let mshr = self.mshrs.allocate(slot, sector, waiter);
            let burst = packet.traced.then(|| {
                let map = &self.settings.map;
                map.column(packet.local, self.sub, sector.into()) as u16
            });
            let read = Some((mshr, burst));
            let place = places.of(&self.settings.map, sector);
            self.send(now, place, read, links, stride);
        }
        let most = &mut self.statistics.mshrs_most;
        *most = (*most).max(self.mshrs.used() as u64);
    }

    /// Whether so many packets may go to the DRAM, so many of them reads.
    #[inline]
    fn has_room(&self, packets: u32, reads: u32) -> bool {
        self.waiting_misses + packets as usize <= self.settings.miss_queue
            && self.mshrs.has_room(reads)
    }

    /// What is short where there is no room for so many packets.
    fn without_room(&self, needed: u32, reads: u32) -> Blocked {
        Blocked::Room {
            needed,
            reads,
            entries: self.waiting_misses + needed as usize <= self.settings.miss_queue,
        }
    }

    /// Answers sectors of a packet, with their data, at hand in L2 cycle `ready`, or without. There is a
    /// place for the reply.
    #[inline]
    fn reply(&mut self, ready: u64, packet: &Packet, sectors: SectorMask, data: bool) {
        let domain = self.settings.domain;
        let cycles = match data {
            true => self.settings.data_rate.cycles(sectors.count_ones()),
            false => 1,
        };
        let first = self.replies.take(ready, cycles);
        let cycle = domain.core(first);
        if packet.traced {
            let mut way = Way::of(&mut self.hops, (packet.sm, packet.id), sectors);
            way.found_in_l2(domain.core(ready));
            way.reply_port(cycle);
        }
        self.replies.outbox.push_back(Departure {
            cycle,
            id: packet.id,
            sm: packet.sm,
            sectors,
            span: (domain.core(first + cycles - 1) - cycle) as u8,
            data,
            traced: packet.traced,
        });
    }

    #[cold]
    fn write_back(&mut self, now: u64, victim: u32, dirty: u8, links: &mut [Link], stride: usize) {
        let local = self.settings.map.slices.of(self.tags.line(victim)).local;
        self.statistics.written_back += u64::from(dirty.count_ones());
        let partly = self.tags.partly_written(victim);
        self.statistics.written_back_partly += u64::from(partly.count_ones());
        let places = Places::new(&self.settings, local as u32, self.sub);
        for sector in each(dirty) {
            let place = places.of(&self.settings.map, sector);
            self.send(now, place, None, links, stride);
        }
    }

    /// Sends a read (with its entry and, if it is traced, its column) or a write to the DRAM, or lets it wait
    /// for room there.
    #[inline]
    fn send(
        &mut self,
        now: u64,
        place: Coordinates,
        read: Option<(u16, Option<u16>)>,
        links: &mut [Link],
        stride: usize,
    ) {
        let channel = place.channel as usize;
        let (mshr, burst) = read.unwrap_or_default();
        let miss = Miss {
            row: place.row,
            mshr,
            burst: burst.unwrap_or_default(),
            bank: place.bank,
            write: read.is_none(),
            traced: burst.is_some(),
        };
        if self.room[channel] > 0 && self.misses[channel].is_empty() {
            self.depart(now, channel, (miss, false), links, stride);
        } else {
            self.misses[channel].push_back(miss);
            self.waiting_misses += 1;
            debug_assert!(self.waiting_misses <= self.settings.miss_queue);
            let most = &mut self.statistics.miss_queue_most;
            *most = (*most).max(self.waiting_misses as u64);
        }
    }

    /// A miss, and whether it waited for room, leaves for the DRAM.
    #[inline]
    fn depart(
        &mut self,
        now: u64,
        channel: usize,
        (miss, waited_for_room): (Miss, bool),
        links: &mut [Link],
        stride: usize,
    ) {
        debug_assert!(self.room[channel] > 0, "a request without a place");
        self.room[channel] -= 1;
        let held = u64::from(self.settings.dram_share - self.room[channel]);
        let most = &mut self.statistics.dram_places_most;
        *most = (*most).max(held);
        let cycle = now.max(self.next_miss);
        self.next_miss = cycle + 1;
        let settings = &self.settings;
        let command_cycle = settings
            .clocks
            .command_at_or_after(cycle + settings.dram_latency);
        let link = &mut links[channel * stride + self.sub as usize];
        if miss.traced {
            link.notes.push(Note {
                mshr: miss.mshr,
                left: cycle,
                arrived: command_cycle,
                bank: miss.bank,
                row: miss.row,
                burst: miss.burst,
                waited_for_room,
                closed_another: false,
                refreshed: false,
                opened: None,
                oldest: false,
                open_since: 0,
                column: u64::MAX,
                data: 0,
            });
        }
        link.down.push_back(Arrival {
            command_cycle,
            row: miss.row,
            mshr: miss.mshr,
            bank: miss.bank,
            write: miss.write,
        });
    }

    /// Notes what a traced packet has waited for, now that its lookup is tried.
    #[cold]
    fn note_try(&mut self, now: u64, packet: &Packet) {
        let arrival = self.settings.domain.core(packet.arrival);
        let wait = match self.blocked {
            Blocked::No if self.held_up > arrival => Wait::SliceRoom,
            Blocked::No => Wait::Lookups,
            Blocked::Room { entries: true, .. } => Wait::EntriesFull,
            Blocked::Room { .. } => Wait::MissQueueFull,
            Blocked::Merge => Wait::MergesFull,
            Blocked::Reply(_) => Wait::ReplyRoom,
            Blocked::Way => Wait::NoWay,
        };
        let name = (packet.sm, packet.id);
        Way::of(&mut self.hops, name, packet.sectors).slice_queue(arrival, now, wait);
    }

    /// Notes where and when a traced packet was looked up.
    #[cold]
    fn note_lookup(
        &mut self,
        now: u64,
        packet: &Packet,
        set: u32,
        slot: u32,
        parts: [(SectorMask, Found); 3],
    ) {
        for (sectors, found) in parts.into_iter().filter(|(sectors, _)| *sectors != 0) {
            Way::of(&mut self.hops, (packet.sm, packet.id), sectors).lookup(
                now,
                set,
                self.tags.way(slot),
                found,
            );
        }
    }

    fn take_return(&mut self, now: u64, channel: usize, links: &mut [Link], stride: usize) {
        let link = &mut links[channel * stride + self.sub as usize];
        let most = &mut self.statistics.fill_queue_most;
        while (link.up.get(*most as usize)).is_some_and(|back| back.cycle <= now) {
            *most += 1;
        }
        let Some(back) = link.up.pop_front() else {
            return;
        };
        self.room[channel] += 1;
        if let Some(index) = back.mshr {
            self.next_fill = now + 1;
            let domain = self.settings.domain;
            let ready = domain.cycle(now + self.settings.lookup_latency);
            let note = link.notes.iter().position(|note| note.mshr == index);
            let mut note = note.map(|place| link.notes.swap_remove(place));
            let replies = &mut self.replies;
            let mut last = ready;
            let (hops, clocks) = (&mut self.hops, self.settings.clocks);
            let mut update = false;
            let (slot, sector) = self.mshrs.release(index, |sector, waiter| {
                update |= waiter.update;
                // Those that find no place wait with their entry, one behind the other.
                last = last.max(replies.place_from());
                let cycle = replies.take(last, 1);
                if waiter.traced {
                    let mut way = Way::of(hops, (waiter.sm, waiter.id), 1 << sector);
                    // The way is that of who asked first; others found it under way.
                    way.dram(note.take().as_ref(), channel as u32, clocks, back.cycle);
                    way.fill(now, domain.core(last));
                    way.reply_port(domain.core(cycle));
                }
                replies.outbox.push_back(Departure {
                    cycle: domain.core(cycle),
                    id: waiter.id,
                    sm: waiter.sm,
                    sectors: 1 << sector,
                    span: 0,
                    data: true,
                    traced: waiter.traced,
                });
            });
            if last > ready {
                // The next fill begins when the last of them has found one.
                let found = domain
                    .core(last)
                    .saturating_sub(self.settings.lookup_latency);
                self.next_fill = self.next_fill.max(found);
            }
            let sectors = self.tags.sectors(slot);
            sectors.pending &= !(1 << sector);
            sectors.valid |= 1 << sector;
            if update {
                self.statistics.dirtied += u64::from(!sectors.dirty >> sector & 1);
                sectors.dirty |= 1 << sector;
            }
        }
        if let Some(miss) = self.misses[channel].pop_front() {
            self.waiting_misses -= 1;
            self.depart(now, channel, (miss, true), links, stride);
        }
        self.may_go = match self.blocked {
            Blocked::No | Blocked::Reply(_) => return,
            Blocked::Room { needed, reads, .. } => self.has_room(needed, reads),
            Blocked::Way | Blocked::Merge => true,
        };
        if self.may_go {
            self.next_lookup = self.next_lookup.max(self.settings.domain.cycle(now));
        }
    }
}

/// Notes the passage of a traced packet through the port of a slice, the `sub`th of its partition.
#[inline]
fn note_port(hops: &mut Vec<Hop>, domain: Domain, sub: u32, packet: Option<&Packet>) {
    if let Some(packet) = packet
        && packet.traced
    {
        let (reached, passed) = (domain.core(packet.reached), domain.core(packet.arrival));
        Way::of(hops, (packet.sm, packet.id), packet.sectors).slice_port(sub, reached, passed);
    }
}
