//! A DRAM channel: takes requests from its slices, gives one command per command cycle, and says
//! when data is there. It runs from event to event; a cycle in which nothing can happen costs
//! nothing.

use std::collections::VecDeque;

use super::bank::{Banks, Direction};
use super::scheduler::{Command, Shared, WriteDrain, choose};
use super::{DramParameters, Timing};
use crate::clock::Clocks;

/// A request on its way from a slice to the channel.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Command cycle in which it reaches the queue.
    pub command_cycle: u64,
    /// Its row.
    pub row: u32,
    /// The slice's entry that waits for it.
    pub mshr: u16,
    /// Its bank.
    pub bank: u8,
    /// Whether it is a write.
    pub write: bool,
}

/// Room in the queue, and data for reads, on its way back to the slice.
#[derive(Clone, Copy, Debug)]
pub struct Return {
    /// Core cycle in which it reaches the slice.
    pub cycle: u64,
    /// The entry that waits for the data; nothing for a write.
    pub mshr: Option<u16>,
}

/// What stands between one slice and one channel.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Requests to the channel, in the order of their time.
    pub down: VecDeque<Arrival>,
    /// Returns to the slice, in the order of their time.
    pub up: VecDeque<Return>,
}

/// What a channel counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStatistics {
    /// Bursts read.
    pub reads: u64,
    /// Bursts written.
    pub writes: u64,
    /// Rows opened.
    pub activations: u64,
    /// Rows closed.
    pub precharges: u64,
    /// Turns of the data pins.
    pub turns: u64,
    /// Command cycles in which the pins moved data.
    pub busy: u64,
}

/// A DRAM channel.
#[derive(Clone, Debug)]
pub struct Channel {
    timing: Timing,
    clocks: Clocks,
    banks: Banks,
    queue: u32,
    drain: WriteDrain,
    /// Command cycle before which nothing is left to decide.
    now: u64,
    /// The next command cycle in which a command may be given, once what is known has arrived.
    wake: u64,
    column_from: [u64; 2],
    group_from: Vec<u64>,
    activate_from: u64,
    last: Direction,
    pub(crate) statistics: ChannelStatistics,
}

impl Channel {
    /// An idle channel with closed banks.
    pub fn new(p: &DramParameters, timing: Timing, clocks: Clocks) -> Channel {
        Channel {
            timing,
            clocks,
            banks: Banks::new(p.banks as usize, p.queue as usize),
            queue: p.queue as u32,
            drain: WriteDrain::new(p.write_high as u32, p.write_low as u32),
            now: 0,
            wake: u64::MAX,
            column_from: [0; 2],
            group_from: vec![0; p.bank_groups as usize],
            activate_from: 0,
            last: Direction::Read,
            statistics: ChannelStatistics::default(),
        }
    }

    /// A core cycle before which the channel does nothing, given what it knows.
    pub fn next_event(&self, links: &[Link]) -> u64 {
        let next = self.wake.min(self.next_arrival(links).0);
        if next == u64::MAX {
            next
        } else {
            self.clocks.core_at_or_before(next)
        }
    }

    /// Gives every command that begins before core cycle `until`. `links[i]` leads to the i-th
    /// slice; all that reaches the channel before `until` must stand in it.
    pub fn run(&mut self, until: u64, links: &mut [Link]) {
        let end = self.clocks.command_at_or_after(until);
        let mut arrival = self.next_arrival(links);
        let mut now = self.now.max(self.wake.min(arrival.0));
        while now < end {
            while arrival.0 <= now {
                self.take(arrival.1, links);
                arrival = self.next_arrival(links);
            }
            let direction = self.drain.direction(self.banks.waiting);
            let shared = Shared {
                column_from: self.column_from,
                group_from: &self.group_from,
                activate_from: self.activate_from,
            };
            match choose(&self.banks, shared, direction, now) {
                Ok(command) => {
                    self.give(command, now, links);
                    arrival = self.next_arrival(links);
                    now += 1;
                    self.wake = now;
                    if self.banks.waiting == [0; 2] {
                        self.wake = u64::MAX;
                        self.now = now;
                        now = now.max(arrival.0);
                        continue;
                    }
                }
                Err(wake) => {
                    self.wake = wake;
                    now = wake.min(arrival.0).max(now + 1);
                }
            }
        }
        self.now = self.now.max(end);
    }

    fn take(&mut self, slice: usize, links: &mut [Link]) {
        if let Some(arrival) = links[slice].down.pop_front() {
            let direction = if arrival.write {
                Direction::Write
            } else {
                Direction::Read
            };
            self.banks.push(
                direction,
                arrival.bank,
                arrival.row,
                slice as u16,
                arrival.mshr,
            );
        }
    }

    fn give(&mut self, command: Command, now: u64, links: &mut [Link]) {
        let t = &self.timing;
        match command {
            Command::Column(direction, bank) => {
                let (data, precharge) = match direction {
                    Direction::Read => (t.read_data, t.read_to_precharge),
                    Direction::Write => (t.write_data, t.write_to_precharge),
                };
                let queued = self.banks.column(direction, bank, now + precharge);
                let group = bank as usize & (self.group_from.len() - 1);
                self.group_from[group] = now + t.ccdl;
                self.column_from = match direction {
                    Direction::Read => [now + t.ccd, now + t.read_to_write],
                    Direction::Write => [now + t.write_to_read, now + t.ccd],
                };
                let count = &mut self.statistics;
                count.busy += t.burst;
                count.turns += u64::from(self.last != direction);
                self.last = direction;
                let up = &mut links[usize::from(queued.slice)].up;
                // Data never overtakes data: it shares the pins.
                let cycle = self.clocks.core_at_or_after(now + data);
                let cycle = up.back().map_or(cycle, |last| cycle.max(last.cycle));
                let mshr = match direction {
                    Direction::Read => {
                        count.reads += 1;
                        Some(queued.mshr)
                    }
                    Direction::Write => {
                        count.writes += 1;
                        None
                    }
                };
                up.push_back(Return { cycle, mshr });
            }
            Command::Activate(direction, bank) => {
                self.banks.activate(
                    direction,
                    bank,
                    [now + t.rcd_read, now + t.rcd_write],
                    now + t.ras,
                    now + t.rc,
                );
                self.activate_from = now + t.rrd;
                self.statistics.activations += 1;
            }
            Command::Precharge(bank) => {
                self.banks.precharge(bank, now + t.rp);
                self.statistics.precharges += 1;
            }
        }
    }

    /// The earliest request on its way, and the slice it comes from; the lower slice among equals.
    /// None while the queue is full.
    #[inline]
    fn next_arrival(&self, links: &[Link]) -> (u64, usize) {
        let mut next = (u64::MAX, 0);
        if self.banks.waiting[0] + self.banks.waiting[1] >= self.queue {
            return next;
        }
        for (slice, link) in links.iter().enumerate() {
            if let Some(arrival) = link.down.front()
                && arrival.command_cycle < next.0
            {
                next = (arrival.command_cycle, slice);
            }
        }
        next
    }
}
