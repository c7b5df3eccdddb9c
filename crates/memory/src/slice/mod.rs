//! One L2 slice: takes packets from the crossbar in order, looks them up, answers hits, sends
//! misses and write-backs to the DRAM, and answers the rest when data returns (MODEL.md §8.1).
//!
//! A packet is one line with a mask of sectors and costs one lookup. A read or atomic needs its
//! sectors: those that are here are answered together, the others as they return. A write needs only
//! the line, which it takes without reading it from the DRAM (the fetch is lazy: a read of a sector
//! fetches it if by then not all of its bytes were written). A packet that finds no room blocks those behind it
//! until something returns.

mod lookup;
mod misses;
mod packet;

use std::collections::VecDeque;
use std::sync::Arc;

use source::Hop;

use self::lookup::note_port;
use self::misses::Miss;
pub use self::packet::{Departure, Packet};
use crate::address::AddressMap;
use crate::clock::{Clocks, Domain};
use crate::crossbar::DataRate;
use crate::dram::Link;
use crate::l2_tags::L2Tags;
use crate::mshr::Mshrs;
use crate::reply_queue::ReplyQueue;
use crate::request_queue::RequestQueue;
use crate::statistics::SliceStatistics;

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
}
