//! The lookup of the packet at the head: what is here, what is under way, what must be read, and the answer to
//! what is here. What finds no room says what it waits for.

use source::{Found, Hop, RequestKind, SectorMask, Wait};

use super::misses::Places;
use super::packet::each;
use super::{Blocked, Departure, Packet, Slice};
use crate::clock::Domain;
use crate::dram::Link;
use crate::hops::Way;
use crate::mshr::Waiter;

impl Slice {
    /// Looks a packet up; what it waits for if it cannot be served now. All its sectors are served or
    /// none.
    #[inline]
    pub(super) fn look_up(
        &mut self,
        now: u64,
        packet: &Packet,
        links: &mut [Link],
        stride: usize,
    ) -> Blocked {
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
    pub(super) fn await_sectors(
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
    pub(super) fn has_room(&self, packets: u32, reads: u32) -> bool {
        self.waiting_misses + packets as usize <= self.settings.miss_queue
            && self.mshrs.has_room(reads)
    }

    /// What is short where there is no room for so many packets.
    pub(super) fn without_room(&self, needed: u32, reads: u32) -> Blocked {
        Blocked::Room {
            needed,
            reads,
            entries: self.waiting_misses + needed as usize <= self.settings.miss_queue,
        }
    }

    /// Answers sectors of a packet, with their data, at hand in L2 cycle `ready`, or without. There is a
    /// place for the reply.
    #[inline]
    pub(super) fn reply(&mut self, ready: u64, packet: &Packet, sectors: SectorMask, data: bool) {
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

    /// Notes what a traced packet has waited for, now that its lookup is tried.
    #[cold]
    pub(super) fn note_try(&mut self, now: u64, packet: &Packet) {
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
    pub(super) fn note_lookup(
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
}

/// Notes the passage of a traced packet through the port of a slice, the `sub`th of its partition.
#[inline]
pub(super) fn note_port(hops: &mut Vec<Hop>, domain: Domain, sub: u32, packet: Option<&Packet>) {
    if let Some(packet) = packet
        && packet.traced
    {
        let (reached, passed) = (domain.core(packet.reached), domain.core(packet.arrival));
        Way::of(hops, (packet.sm, packet.id), packet.sectors).slice_port(sub, reached, passed);
    }
}
