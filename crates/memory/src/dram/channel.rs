//! A DRAM channel: takes requests from its slices, gives one command per command cycle, and says
//! when data is there. It runs from event to event; a cycle in which nothing can happen costs
//! nothing.

use std::collections::VecDeque;

use super::bank::{Banks, Direction};
use super::scheduler::{Choice, Command, Shared, WriteDrain, choose_column, choose_row};
use super::{DramParameters, Refresh, Timing};
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

/// What a traced read has met on its way to the channel and in it; command cycles unless told.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// The slice's entry.
    pub mshr: u16,
    /// Core cycle in which it left the slice.
    pub left: u64,
    /// When it reached the channel's queue.
    pub arrived: u64,
    /// Its bank and row, and the column: its burst of the row.
    pub bank: u8,
    pub row: u32,
    pub burst: u16,
    /// Whether it waited at the slice because the channel had no room for it.
    pub waited_for_room: bool,
    /// Whether another row was closed for it, or it waited for a refresh.
    pub closed_another: bool,
    pub refreshed: bool,
    /// When its row was opened, if it was not open, and whether for this read: it was the oldest.
    pub opened: Option<u64>,
    pub oldest: bool,
    /// When the row was opened that the column was read from.
    pub open_since: u64,
    /// When its column was read, and how long until its data had come.
    pub column: u64,
    pub data: u64,
}

/// What stands between one slice and one channel.
/// In both directions together at most as many as the slice has room for at the channel.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Requests to the channel, in the order of their time.
    pub down: VecDeque<Arrival>,
    /// Returns to the slice, in the order of their time.
    pub up: VecDeque<Return>,
    /// Traced reads that are under way.
    pub notes: Vec<Note>,
}

/// Shows the traced reads that wait in a channel, with their slices, to `each`.
#[inline]
fn noted(links: &mut [Link], now: u64, mut each: impl FnMut(u16, &mut Note)) {
    for (slice, link) in (0..).zip(links) {
        let waiting = |note: &&mut Note| note.arrived <= now && note.column == u64::MAX;
        let notes = link.notes.iter_mut().filter(waiting);
        notes.for_each(|note| each(slice, note));
    }
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
    /// Requests that waited while the channel refreshed.
    pub refreshed: u64,
    /// Most requests that waited at once.
    pub queue_most: u64,
}

/// A DRAM channel.
#[derive(Clone, Debug)]
pub struct Channel {
    timing: Timing,
    clocks: Clocks,
    refresh: Refresh,
    /// The end of the last refresh that a request met.
    refreshed_until: u64,
    /// Core cycles from the data to the slice.
    return_latency: u64,
    banks: Banks,
    queue: u32,
    drain: WriteDrain,
    /// Command cycle before which nothing is left to decide.
    now: u64,
    /// The next command cycle in which a command may be given, once what is known has arrived.
    wake: u64,
    column_from: [u64; 2],
    group_from: Vec<u64>,
    group_banks: u32,
    activate_from: u64,
    /// No row command can be given before this command cycle, unless something changes.
    row_wake: u64,
    /// The direction that is served.
    direction: Direction,
    /// The direction in which data moved last.
    last: Direction,
    pub(crate) statistics: ChannelStatistics,
    /// Every command with its cycle and the row of its bank before it.
    #[cfg(test)]
    given: Vec<(u64, Command, u32)>,
}

impl Channel {
    /// An idle channel with closed banks.
    pub fn new(p: &DramParameters, timing: Timing, clocks: Clocks, refresh: Refresh) -> Channel {
        Channel {
            timing,
            clocks,
            refresh,
            refreshed_until: 0,
            return_latency: p.return_latency,
            banks: Banks::new(p.banks as usize, p.queue as usize),
            queue: p.queue as u32,
            drain: WriteDrain::new(p.write_high as u32, p.write_low as u32),
            now: 0,
            wake: u64::MAX,
            column_from: [0; 2],
            group_from: vec![0; p.bank_groups as usize],
            group_banks: (0..p.banks.min(32))
                .step_by(p.bank_groups as usize)
                .fold(0, |banks, bank| banks | 1 << bank),
            activate_from: 0,
            row_wake: 0,
            direction: Direction::Read,
            last: Direction::Read,
            statistics: ChannelStatistics::default(),
            #[cfg(test)]
            given: Vec::new(),
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
        let mut now = self.now.max(self.wake);
        loop {
            // What arrives until then is taken in, and may bring it nearer.
            while arrival.0 <= now && arrival.0 < end {
                now = self
                    .take(arrival, links)
                    .clamp(arrival.0.max(self.now), now.max(self.now));
                arrival = self.next_arrival(links);
            }
            if now >= end {
                break;
            }
            self.refresh(now);
            let shared = Shared {
                column_from: self.column_from,
                group_from: &self.group_from,
                group_banks: self.group_banks,
                activate_from: self.activate_from,
            };
            let mut choice = choose_column(&mut self.banks, shared, self.direction, now);
            if let Choice::From(column_wake) = choice {
                if self.row_wake <= now {
                    match choose_row(&self.banks, shared, self.direction, now) {
                        Choice::From(row_wake) => self.row_wake = row_wake,
                        command => choice = command,
                    }
                }
                if matches!(choice, Choice::From(_)) {
                    choice = Choice::From(column_wake.min(self.row_wake));
                }
            }
            match choice {
                Choice::Now(command) => {
                    let full = self.is_full();
                    self.give(command, now, links);
                    if full {
                        arrival = self.next_arrival(links);
                    }
                    self.now = now + 1;
                    let pins = match self.banks.hit_banks[self.direction as usize] {
                        0 => u64::MAX,
                        _ => self.column_from[self.direction as usize],
                    };
                    now = self.now.max(pins.min(self.row_wake));
                }
                Choice::From(wake) => now = wake,
            }
        }
        self.wake = now;
        self.now = self.now.max(end);
    }

    /// Takes the refreshes that began until `now` into account: rows are closed, and opened again
    /// when the refresh is over.
    #[inline]
    fn refresh(&mut self, now: u64) {
        if let Some(until) = self.refresh.over_by(now) {
            if now < until {
                self.statistics.refreshed += u64::from(self.banks.waiting.iter().sum::<u32>());
            }
            self.refreshed_until = until;
            self.statistics.precharges += u64::from(self.banks.refresh(until));
            self.row_wake = 0;
        }
    }

    /// Serves the direction that what waits now asks for.
    #[inline]
    fn turn(&mut self) {
        let direction = self.drain.direction(self.banks.waiting);
        if direction != self.direction {
            self.direction = direction;
            self.row_wake = 0;
        }
    }

    /// Takes a request in; a cycle before which it changes nothing.
    #[inline]
    fn take(&mut self, (_, slice): (u64, usize), links: &mut [Link]) -> u64 {
        let Some(arrival) = links[slice].down.pop_front() else {
            return u64::MAX;
        };
        self.refresh(arrival.command_cycle);
        let direction = if arrival.write {
            Direction::Write
        } else {
            Direction::Read
        };
        let (bank, row) = (arrival.bank, arrival.row);
        self.statistics.refreshed += u64::from(arrival.command_cycle < self.refreshed_until);
        let hit = self
            .banks
            .push(direction, bank, row, slice as u16, arrival.mshr);
        let waiting: u32 = self.banks.waiting.iter().sum();
        self.statistics.queue_most = self.statistics.queue_most.max(u64::from(waiting));
        let place = usize::from(bank);
        let before = self.direction;
        self.turn();
        if self.direction != before {
            return 0;
        }
        if !hit {
            let closed = self.banks.open >> bank & 1 == 0;
            let shared = if closed { self.activate_from } else { 0 };
            let from = self.banks.row_command_from[place].max(shared);
            self.row_wake = self.row_wake.min(from);
            from
        } else if direction == self.direction {
            self.banks.column_from[direction as usize][place]
                .max(self.group_from[place & (self.group_from.len() - 1)])
                .max(self.column_from[direction as usize])
        } else {
            u64::MAX
        }
    }

    fn give(&mut self, command: Command, now: u64, links: &mut [Link]) {
        #[cfg(test)]
        {
            let (Command::Column(_, bank) | Command::Activate(_, bank) | Command::Precharge(bank)) =
                command;
            self.given.push((now, command, self.banks.row(bank)));
        }
        let t = &self.timing;
        match command {
            Command::Column(direction, bank) => {
                let (data, precharge) = match direction {
                    Direction::Read => (t.read_data, t.read_to_precharge),
                    Direction::Write => (t.write_data, t.write_to_precharge),
                };
                let queued = self.banks.column(direction, bank, now + precharge);
                if self.banks.hit_banks[direction as usize] >> bank & 1 == 0 {
                    let from = self.banks.row_command_from[bank as usize];
                    self.row_wake = self.row_wake.min(from);
                }
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
                let link = &mut links[usize::from(queued.slice)];
                if direction == Direction::Read && !link.notes.is_empty() {
                    let mut notes = link.notes.iter_mut();
                    if let Some(note) = notes.find(|note| note.mshr == queued.mshr) {
                        (note.column, note.data) = (now, data);
                        note.open_since = self.banks.open_since(bank);
                    }
                }
                let up = &mut link.up;
                // Data never overtakes data: it shares the pins.
                let cycle = self.clocks.core_at_or_after(now + data) + self.return_latency;
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
                self.turn();
            }
            Command::Activate(direction, bank) => {
                let oldest = self.banks.activate(
                    direction,
                    bank,
                    now,
                    [now + t.rcd_read, now + t.rcd_write],
                    now + t.ras,
                    now + t.rc,
                );
                let (row, refreshed_until) = (self.banks.row(bank), self.refreshed_until);
                noted(links, now, |slice, note| {
                    if (u32::from(note.bank), note.row) == (bank, row) {
                        note.opened = Some(now);
                        note.oldest = direction == Direction::Read
                            && (slice, note.mshr) == (oldest.slice, oldest.mshr);
                        note.refreshed = note.arrived < refreshed_until;
                    }
                });
                self.activate_from = now + t.rrd;
                self.row_wake = 0;
                self.statistics.activations += 1;
            }
            Command::Precharge(bank) => {
                self.banks.precharge(bank, now + t.rp);
                noted(links, now, |_, note| {
                    note.closed_another |= u32::from(note.bank) == bank;
                });
                self.row_wake = 0;
                self.statistics.precharges += 1;
            }
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.banks.waiting[0] + self.banks.waiting[1] >= self.queue
    }

    /// The earliest request on its way, and the slice it comes from; the lower slice among equals.
    /// None while the queue is full.
    #[inline]
    fn next_arrival(&self, links: &[Link]) -> (u64, usize) {
        let mut next = (u64::MAX, 0);
        if self.is_full() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use hardware::{Gpu, MemoryParameters};

    fn channel(gpu: &str) -> (Channel, Timing) {
        let gpu = Gpu::load(gpu).expect("a GPU");
        let p = DramParameters::load(&gpu).expect("a DRAM");
        let memory = MemoryParameters::load(&gpu).expect("a memory");
        let timing = Timing::new(&p, u64::from(memory.bits_per_command_cycle));
        let clocks = Clocks::from_mhz(1.0, 1.0);
        let never = DramParameters {
            refresh_stall: None,
            refresh_period: None,
            ..p
        };
        let refresh = Refresh::new(&never, 1.0, 0, 1);
        (Channel::new(&never, timing, clocks, refresh), timing)
    }

    fn arrival(command_cycle: u64, bank: u8, row: u32, mshr: u16, write: bool) -> Arrival {
        Arrival {
            command_cycle,
            row,
            mshr,
            bank,
            write,
        }
    }

    /// The reads in the order in which their columns are read, each with the cycle of its return.
    fn order(channel: &mut Channel, arrivals: Vec<Arrival>) -> Vec<u16> {
        let mut links = [Link::default()];
        links[0].down.extend(arrivals);
        channel.run(1 << 20, &mut links);
        links[0].up.iter().filter_map(|back| back.mshr).collect()
    }

    #[test]
    fn requests_of_the_open_row_come_first_then_the_oldest() {
        for name in ["rtx-a6000", "rtx-4090", "a100-sxm4-40gb"] {
            // While row 1 is opened for the first, others come: two more of its row pass an older one.
            let reads = [(0, 1), (1, 2), (2, 1), (3, 3), (4, 1), (5, 2)];
            let of_bank = |bank| {
                let reads = reads.iter();
                reads.map(move |&(n, row)| arrival(u64::from(n), bank, row, n, false))
            };
            let (mut channel, _) = channel(name);
            let got = order(&mut channel, of_bank(5).collect());
            assert_eq!(got, [0, 2, 4, 1, 5, 3], "{name}");
            let s = channel.statistics;
            assert_eq!((s.activations, s.precharges, s.reads), (3, 2, 6), "{name}");
        }
    }

    #[test]
    fn an_open_row_is_read_at_the_rate_of_the_pins() {
        let (mut channel, t) = channel("rtx-4090");
        // A row of 1 KiB in each of four banks, one of every bank group, in turn.
        let reads = (0..128_u16)
            .map(|n| arrival(0, n as u8 % 4, 9, n, false))
            .collect();
        assert_eq!(order(&mut channel, reads).len(), 128);
        let s = channel.statistics;
        assert_eq!((s.activations, s.precharges), (4, 0));
        assert_eq!(s.busy, 128 * t.burst);
        let columns: Vec<u64> = (channel.given.iter())
            .filter(|given| matches!(given.1, Command::Column(..)))
            .map(|given| given.0)
            .collect();
        // Once all four are open.
        let late = &columns[64..];
        assert_eq!(late[63] - late[0], 63 * t.ccd);
    }

    /// Every command keeps its distance from those before it, whatever comes when.
    #[test]
    fn commands_keep_their_distances() {
        for name in hardware::names() {
            let (mut channel, t) = channel(name);
            let mut state = 99_u64;
            let mut random = move |below: u64| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 33) % below
            };
            let mut links = [Link::default(), Link::default()];
            let (mut now, mut sent) = (0, 0);
            let mut returned = 0;
            while sent < 4000 || returned < sent {
                // What is sent now arrives in the next step at the earliest.
                let step = 1 + random(200);
                if sent < 4000 {
                    let mut cycle = now + step;
                    for _ in 0..random(60) {
                        cycle += random(6);
                        let link = &mut links[random(2) as usize];
                        let last = link
                            .down
                            .back()
                            .map_or(0, |last: &Arrival| last.command_cycle);
                        let (bank, row) = (random(8) as u8, random(4) as u32);
                        let write = random(3) == 0;
                        link.down.push_back(arrival(
                            cycle.max(last),
                            bank,
                            row,
                            sent as u16,
                            write,
                        ));
                        sent += 1;
                    }
                }
                now += step;
                channel.run(now, &mut links);
                for link in &mut links {
                    returned += link.up.drain(..).count();
                }
                assert!(now < 1 << 24, "{name}: it never ends");
            }
            assert_eq!(
                channel.statistics.reads + channel.statistics.writes,
                sent as u64
            );
            check(name, &channel, &t);
        }
    }

    /// When something came last, and the least distance from there.
    fn apart(what: &str, now: u64, last: Option<u64>, distance: u64) {
        if let Some(last) = last {
            assert!(now >= last + distance, "{what}: {last}, then {now}");
        }
    }

    fn check(name: &str, channel: &Channel, t: &Timing) {
        use Direction::{Read, Write};
        let groups = channel.group_from.len();
        let mut before = None;
        let mut activated: Option<u64> = None;
        // Of each direction: the last column command, also by bank and by group.
        let mut column = [None; 2];
        let mut of_bank = [[None; 2]; 32];
        let mut of_group = [None; 32];
        let mut opened = [None; 32];
        let mut closed = [None; 32];
        let mut open = [false; 32];
        for &(now, command, row) in &channel.given {
            apart(name, now, before, 1);
            before = Some(now);
            match command {
                Command::Activate(_, bank) => {
                    let bank = bank as usize;
                    assert!(!open[bank], "{name}: bank {bank} is open");
                    apart("RP", now, closed[bank], t.rp);
                    apart("RC", now, opened[bank], t.rc);
                    apart("RRD", now, activated, t.rrd);
                    (open[bank], opened[bank], activated) = (true, Some(now), Some(now));
                }
                Command::Precharge(bank) => {
                    let bank = bank as usize;
                    assert!(open[bank], "{name}: bank {bank} is closed");
                    apart("RAS", now, opened[bank], t.ras);
                    apart(
                        "RTP",
                        now,
                        of_bank[bank][Read as usize],
                        t.read_to_precharge,
                    );
                    let write = of_bank[bank][Write as usize];
                    apart("WR", now, write, t.write_to_precharge);
                    (open[bank], closed[bank]) = (false, Some(now));
                }
                Command::Column(direction, bank) => {
                    let bank = bank as usize;
                    assert!(open[bank] && row != super::super::bank::NONE);
                    let (rcd, turn) = match direction {
                        Read => (t.rcd_read, t.write_to_read),
                        Write => (t.rcd_write, t.read_to_write),
                    };
                    apart("RCD", now, opened[bank], rcd);
                    apart("CCD", now, column[direction as usize], t.ccd);
                    apart("CCDL", now, of_group[bank % groups], t.ccdl);
                    apart("turn", now, column[direction.other() as usize], turn);
                    column[direction as usize] = Some(now);
                    of_bank[bank][direction as usize] = Some(now);
                    of_group[bank % groups] = Some(now);
                }
            }
        }
    }
}
