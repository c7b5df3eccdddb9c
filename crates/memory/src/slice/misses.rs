//! Reads and write-backs on their way to the DRAM, and what returns from there: the sector is filled and whoever
//! waited for it is answered.

use super::packet::each;
use super::{Blocked, Departure, Slice, SliceSettings};
use crate::address::AddressMap;
use crate::dram::{Arrival, Coordinates, Link, Note};
use crate::hops::Way;

/// Where the sectors of a line lie in the DRAM.
pub(super) struct Places {
    local: u32,
    sub: u32,
    /// The same for all of them.
    all: Option<Coordinates>,
}

impl Places {
    /// Those of line `local` of slice `sub`.
    #[inline]
    pub(super) fn new(settings: &SliceSettings, local: u32, sub: u32) -> Places {
        let map = &settings.map;
        let all = map.keeps_lines_together();
        Places {
            local,
            sub,
            all: all.then(|| map.coordinates(local, sub, 0)),
        }
    }

    #[inline]
    pub(super) fn of(&self, map: &AddressMap, sector: u8) -> Coordinates {
        self.all
            .unwrap_or_else(|| map.coordinates(self.local, self.sub, sector.into()))
    }
}

/// A packet to the DRAM that waits for room there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Miss {
    row: u32,
    mshr: u16,
    /// Of a traced read, its column: a burst of the row.
    burst: u16,
    bank: u8,
    write: bool,
    traced: bool,
}

impl Slice {
    #[cold]
    pub(super) fn write_back(
        &mut self,
        now: u64,
        victim: u32,
        dirty: u8,
        links: &mut [Link],
        stride: usize,
    ) {
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
    pub(super) fn send(
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
    pub(super) fn depart(
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

    pub(super) fn take_return(
        &mut self,
        now: u64,
        channel: usize,
        links: &mut [Link],
        stride: usize,
    ) {
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
