//! The memory side as a whole: takes the SMs' requests of a window, runs every slice and channel
//! as far as their inputs are known (DESIGN.md W1), and hands replies back.
//!
//! All that depends on the order of requests of different SMs is decided in the order (cycle, SM,
//! sequence), all that depends on the order of replies of different slices in the order (cycle,
//! slice, sequence). So neither the length of windows nor the number of threads changes anything.

use std::sync::Arc;

use hardware::{CardParameters, Gpu, HardwareError, MemoryParameters};
use source::{Chosen, Cycle, Hop, Line, Performed, Reply, Request, RequestKind};

use crate::address::{AddressMap, LINE_BYTES};
use crate::clock::{Clocks, Domain};
use crate::crossbar::{DataRate, SmPort};
use crate::dram::{DramParameters, Refresh, Timing};
use crate::geometry;
use crate::hops::Way;
use crate::l2_tags::L2Tags;
use crate::order::CycleOrder;
use crate::parameters::{CrossbarParameters, L2Parameters};
use crate::partition::Partition;
use crate::slice::{Departure, Packet, Slice, SliceSettings};
use crate::statistics::{InstanceCounts, MemoryStatistics, of_channels, of_slices};

/// Crossbar, L2 and DRAM of a GPU.
#[derive(Debug)]
pub struct MemorySystem {
    crossbar: CrossbarParameters,
    sm_rate: DataRate,
    l2: L2Parameters,
    dram: DramParameters,
    timing: Timing,
    command_clock: f64,
    settings: Arc<SliceSettings>,
    sms: usize,
    partitions: Vec<Partition>,
    sm_ports: Vec<SmPort>,
    /// SMs run before this cycle.
    until: u64,
    /// A reply that is still to come reaches its SM no earlier than this.
    next: u64,
    /// Packets of the window with partition and slice.
    requests: Vec<(Packet, (u16, u16))>,
    /// Deferred packets of the window with their slice.
    deferred: Vec<(u32, Performed)>,
    departures: Vec<Departure>,
    order: CycleOrder,
    /// Steps of traced packets in the networks.
    hops: Vec<Hop>,
    /// What earlier launches counted.
    past: MemoryStatistics,
}

impl MemorySystem {
    /// The memory side of a GPU, idle, with empty caches.
    ///
    /// # Errors
    /// A parameter that is missing, out of range, or does not fit the others.
    pub fn new(gpu: &Gpu) -> Result<MemorySystem, HardwareError> {
        let card = CardParameters::load(gpu)?;
        let memory = MemoryParameters::load(gpu)?;
        let crossbar = CrossbarParameters::load(gpu)?;
        let l2 = L2Parameters::load(gpu)?;
        let dram = DramParameters::load(gpu)?;
        geometry::check(gpu, &memory, &crossbar, &l2, &dram)?;

        let map = AddressMap::new(gpu, &l2, &dram)?;
        let settings = Arc::new(SliceSettings {
            map,
            clocks: Clocks::from_mhz(card.core_clock, memory.command_clock),
            domain: Domain::new(card.core_clock, l2.clock),
            sets: l2.sets as u32,
            ways: l2.ways as u32,
            mshrs: l2.mshrs as usize,
            mshr_merges: l2.mshr_merges as u32,
            miss_queue: l2.miss_queue as usize,
            request_queue: l2.queue as usize,
            reply_queue: l2.reply_queue as usize,
            data_rate: DataRate::new(crossbar.slice_rate),
            lookup_latency: l2.lookup_latency,
            dram_latency: dram.fixed_latency,
            dram_share: ((dram.queue + dram.return_queue) / l2.slices_per_partition) as u32,
            channels: dram.channels_per_partition as usize,
        });
        let timing = Timing::new(&dram, u64::from(memory.bits_per_command_cycle));
        let mut system = MemorySystem {
            sm_rate: DataRate::new(crossbar.sm_rate),
            crossbar,
            l2,
            dram,
            timing,
            command_clock: memory.command_clock,
            settings,
            sms: card.sms as usize,
            partitions: Vec::new(),
            sm_ports: Vec::new(),
            until: 0,
            next: u64::MAX,
            requests: Vec::new(),
            deferred: Vec::new(),
            departures: Vec::new(),
            order: CycleOrder::default(),
            hops: Vec::new(),
            past: MemoryStatistics::default(),
        };
        system.clear(Vec::new());
        Ok(system)
    }

    /// Smallest number of cycles from [`Request::cycle`] until the packet reaches its slice.
    pub fn request_latency(&self) -> u64 {
        self.crossbar.from_sm + self.crossbar.request + self.l2.fixed_latency
    }

    /// Smallest number of cycles from there until the reply reaches the SM.
    pub fn reply_latency(&self) -> u64 {
        self.l2.lookup_latency + self.reply_hops()
    }

    /// Cycles from a slice's port to an SM's.
    fn reply_hops(&self) -> u64 {
        self.crossbar.reply + self.crossbar.to_sm
    }

    /// The address functions, to see where a sector lives.
    pub fn address_map(&self) -> &AddressMap {
        &self.settings.map
    }

    /// Bandwidth of all DRAM channels together in bytes per second, as their timing gives it.
    ///
    /// # Errors
    /// A GPU without its memory totals.
    pub fn dram_peak(&self, gpu: &Gpu) -> Result<f64, HardwareError> {
        let memory = MemoryParameters::load(gpu)?;
        let channels = (self.l2.partitions * self.dram.channels_per_partition) as f64;
        Ok(
            channels * self.dram.atom as f64 / self.timing.burst as f64
                * memory.command_clock
                * 1e6,
        )
    }

    /// Takes the requests that SMs sent before `until` (`requests[i]`: SM i's, in the order of
    /// their cycles; drained) and simulates the slices up to `until` + [`request_latency`]. Appends
    /// to `replies[i]` those of SM i by (cycle, id), and to `performed` the deferred packets in the
    /// order (arrival cycle, slice, SM, sequence).
    ///
    /// Windows follow each other and are no longer than [`request_latency`] + [`reply_latency`]
    /// unless no SM can send anything before `until`.
    ///
    /// These are the three steps [`accept`], [`partitions`] and [`deliver`], for who has no threads
    /// to share the second out to.
    ///
    /// [`request_latency`]: MemorySystem::request_latency
    /// [`reply_latency`]: MemorySystem::reply_latency
    /// [`accept`]: MemorySystem::accept
    /// [`partitions`]: MemorySystem::partitions
    /// [`deliver`]: MemorySystem::deliver
    pub fn run(
        &mut self,
        until: Cycle,
        requests: &mut [Vec<Request>],
        replies: &mut [Vec<Reply>],
        performed: &mut Vec<Performed>,
    ) {
        if let Some(horizon) = self.accept(until, requests, performed) {
            for partition in self.partitions() {
                partition.run(horizon);
            }
            self.deliver(horizon, replies);
        }
    }

    /// The partitions, to be run up to the horizon of the window, one after the other or at the same
    /// time.
    pub fn partitions(&mut self) -> &mut [Partition] {
        &mut self.partitions
    }

    /// How many packets the last window brought.
    pub fn accepted(&self) -> usize {
        self.requests.len()
    }

    /// A cycle before which no reply reaches an SM, given what was handed in; [`Cycle::NEVER`] if
    /// nothing is under way. `until` may skip to it while the SMs are idle.
    pub fn next_event(&self) -> Cycle {
        Cycle(self.next)
    }

    /// Ends a kernel: caches are emptied, and time begins anew.
    pub fn flush(&mut self) {
        self.past = self.statistics();
        self.past.l2_dirty = 0;
        self.clear(Vec::new());
    }

    /// Ends a kernel as the hardware does: L2 keeps its lines, also those that the DRAM does not have
    /// yet, and time begins anew.
    pub fn restart(&mut self) {
        self.past = self.statistics();
        // What stays dirty is counted when it is asked for.
        self.past.l2_dirty = 0;
        let slices = self.partitions.iter_mut().flat_map(|p| &mut p.slices);
        let kept: Vec<L2Tags> = slices.map(Slice::take_tags).collect();
        self.clear(kept);
    }

    /// What a copy from the host leaves in L2: the `bytes` from physical address `address` on, the
    /// last of them the most recently used. It takes no time.
    pub fn warm(&mut self, address: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let lines = address / LINE_BYTES..=address.saturating_add(bytes - 1) / LINE_BYTES;
        // Earlier lines would be gone again: no set is filled twice without the others.
        let capacity = u64::from(self.settings.map.slice_count()) * self.l2.sets * self.l2.ways;
        let first = (*lines.start()).max(lines.end().saturating_sub(4 * capacity));
        let map = &self.settings.map;
        for line in first..=*lines.end() {
            let place = map.place(Line(line));
            let partition = &mut self.partitions[place.partition as usize];
            let slice = &mut partition.slices[place.sub as usize];
            let written = slice.fill(line, place.local);
            self.past.l2_flushed_bytes += u64::from(written) * source::Sector::BYTES;
        }
    }

    /// What was counted since the system was made, or since [`reset_statistics`].
    ///
    /// [`reset_statistics`]: MemorySystem::reset_statistics
    pub fn statistics(&self) -> MemoryStatistics {
        let mut statistics = self.past;
        for partition in &self.partitions {
            for slice in &partition.slices {
                statistics.add_slice(&slice.counted());
            }
            for channel in &partition.channels {
                statistics.add_channel(&channel.statistics);
            }
        }
        for port in &self.sm_ports {
            statistics.sm_reply_wait_most = statistics.sm_reply_wait_most.max(port.wait_most);
            statistics.sm_replies_most = statistics.sm_replies_most.max(port.most);
        }
        statistics
    }

    /// What each slice has counted since the last [`flush`] or [`reset_statistics`]; slices by partition.
    ///
    /// [`flush`]: MemorySystem::flush
    /// [`reset_statistics`]: MemorySystem::reset_statistics
    pub fn slice_counts(&self) -> Vec<InstanceCounts> {
        let slices = self.partitions.iter().flat_map(|p| &p.slices);
        let counted: Vec<_> = slices.map(Slice::counted).collect();
        of_slices(&counted)
    }

    /// What each channel has counted since the last [`flush`] or [`reset_statistics`]; channels by
    /// partition.
    ///
    /// [`flush`]: MemorySystem::flush
    /// [`reset_statistics`]: MemorySystem::reset_statistics
    pub fn channel_counts(&self) -> Vec<InstanceCounts> {
        let channels = self.partitions.iter().flat_map(|p| &p.channels);
        let counted: Vec<_> = channels.map(|channel| channel.statistics).collect();
        of_channels(&counted)
    }

    /// The steps of traced packets since this was asked last, in the order of time.
    pub fn take_hops(&mut self) -> Vec<Hop> {
        let mut hops = std::mem::take(&mut self.hops);
        for (number, partition) in (0..).zip(&mut self.partitions) {
            for slice in &mut partition.slices {
                let each = self.settings.map.slices_per_partition;
                let own = slice.hops.drain(..);
                hops.extend(own.map(|hop| in_partition(hop, number, each)));
            }
        }
        hops.sort_by_key(|hop| (hop.start, hop.end, hop.structure, hop.sectors));
        hops
    }

    /// Begins to count anew.
    pub fn reset_statistics(&mut self) {
        self.past = MemoryStatistics::default();
        for partition in &mut self.partitions {
            for slice in &mut partition.slices {
                slice.reset_statistics();
            }
            for channel in &mut partition.channels {
                channel.statistics = Default::default();
            }
        }
        for port in &mut self.sm_ports {
            port.reset_statistics();
        }
    }

    /// Whether every request has been answered and every reply handed over.
    pub fn is_idle(&self) -> bool {
        let mut slices = self.partitions.iter().flat_map(|p| &p.slices);
        slices.all(Slice::is_idle)
    }

    /// Time begins anew, with these tags of the slices, by partition, or empty ones.
    fn clear(&mut self, kept: Vec<L2Tags>) {
        let mut kept = kept.into_iter();
        let each = self.dram.channels_per_partition;
        let channels = self.l2.partitions * each;
        let partition = |number| {
            Partition::new(
                &self.settings,
                self.l2.slices_per_partition as u32,
                &self.dram,
                self.timing,
                &mut kept,
                |n| Refresh::new(&self.dram, self.command_clock, number * each + n, channels),
            )
        };
        self.partitions = (0..self.l2.partitions).map(partition).collect();
        self.sm_ports = vec![SmPort::default(); self.sms];
        self.until = 0;
        self.next = u64::MAX;
    }

    /// The request network: every packet to the port of its slice, in the order (cycle, SM,
    /// sequence). The horizon up to which the partitions have to run then, if anything can come of
    /// it in this window.
    pub fn accept(
        &mut self,
        until: Cycle,
        requests: &mut [Vec<Request>],
        performed: &mut Vec<Performed>,
    ) -> Option<Cycle> {
        let until = until.0.max(self.until);
        self.take(until, requests, performed);
        self.until = until;
        let horizon = until.saturating_add(self.request_latency());
        (self.next < horizon.saturating_add(self.reply_latency())).then_some(Cycle(horizon))
    }

    fn take(&mut self, until: u64, requests: &mut [Vec<Request>], performed: &mut Vec<Performed>) {
        let latency = self.request_latency();
        let map = &self.settings.map;
        self.requests.clear();
        for (sm, requests) in requests.iter_mut().enumerate() {
            debug_assert!(requests.is_sorted_by_key(|request| request.cycle));
            for request in requests.iter() {
                debug_assert!(request.cycle.0 >= self.until && request.cycle.0 < until);
                let place = map.place(request.line);
                let cost = match request.kind {
                    RequestKind::Atomic | RequestKind::Reduction => self.rounds(request.lanes),
                    _ => 1,
                };
                let packet = Packet {
                    // In core cycles, until the order of all is known.
                    reached: request.cycle.0 + latency,
                    arrival: 0,
                    line: request.line.0,
                    local: place.local,
                    id: request.id.0,
                    sm: sm as u16,
                    cost,
                    kind: request.kind,
                    sectors: request.sectors,
                    bytes: request.bytes,
                    traced: request.traced,
                };
                if let Some(deferred) = request.deferred {
                    let sectors = (0..Line::SECTORS).filter(|s| request.sectors >> s & 1 == 1);
                    self.deferred.extend(sectors.map(|sector| {
                        let performed = Performed {
                            cycle: Cycle(packet.reached),
                            sm: source::SmId(packet.sm),
                            token: deferred.token,
                            sector: deferred.virtual_line.sector(sector),
                        };
                        (map.slice(place), performed)
                    }));
                }
                let place = (place.partition as u16, place.sub as u16);
                self.requests.push((packet, place));
            }
            requests.clear();
        }
        let domain = self.settings.domain;
        let mut earliest = u64::MAX;
        for &index in self.order.of(&self.requests, |(packet, _)| packet.reached) {
            let (mut packet, place) = self.requests[index as usize];
            let reached = packet.reached;
            packet.reached = domain.cycle(reached);
            if packet.traced {
                let slice = u32::from(place.0) * self.settings.map.slices_per_partition
                    + u32::from(place.1);
                Way::of(&mut self.hops, (packet.sm, packet.id), packet.sectors).request_network(
                    slice,
                    reached - latency,
                    domain.core(packet.reached),
                );
            }
            let partition = &mut self.partitions[usize::from(place.0)];
            partition.slices[usize::from(place.1)].push(packet);
            let from = domain.core(packet.reached);
            partition.next = partition.next.min(from);
            earliest = earliest.min(from);
        }
        self.next = self.next.min(earliest.saturating_add(self.reply_latency()));
        // Already in the order (SM, sequence).
        self.deferred
            .sort_by_key(|&(slice, performed)| (performed.cycle, slice));
        performed.extend(self.deferred.drain(..).map(|(_, performed)| performed));
    }

    /// Cycles that a slice is busy with an atomic of so many lanes.
    fn rounds(&self, lanes: u8) -> u16 {
        let rounds = u64::from(lanes).div_ceil(self.l2.atomic_lanes).max(1);
        (rounds * self.l2.atomic_interval) as u16
    }

    /// The reply network: every reply to the port of its SM, in the order (cycle, slice, sequence),
    /// as far as no earlier one can follow. Every partition has run up to `horizon`.
    pub fn deliver(&mut self, horizon: Cycle, replies: &mut [Vec<Reply>]) {
        let horizon = horizon.0;
        let (hop, rate) = (self.reply_hops(), self.sm_rate);
        let complete = horizon.saturating_add(self.l2.lookup_latency);
        let reply_latency = self.reply_latency();
        self.departures.clear();
        let mut next = u64::MAX;
        for partition in &mut self.partitions {
            next = next.min(partition.next.saturating_add(reply_latency));
            for slice in &mut partition.slices {
                while let Some(&departure) = slice.replies.outbox.front() {
                    if departure.cycle >= complete {
                        next = next.min(departure.cycle + hop);
                        break;
                    }
                    slice.replies.outbox.pop_front();
                    self.departures.push(departure);
                }
            }
        }
        for &index in self.order.of(&self.departures, |departure| departure.cycle) {
            let departure = &self.departures[index as usize];
            let sm = usize::from(departure.sm);
            let cycles = match departure.data {
                true => rate.cycles(departure.sectors.count_ones()),
                false => 1,
            };
            let reply = self.sm_ports[sm].take(departure.cycle + hop, cycles, departure);
            if departure.traced {
                Way::of(
                    &mut self.hops,
                    (departure.sm, departure.id),
                    departure.sectors,
                )
                .reply_network(
                    departure.cycle,
                    departure.cycle + hop,
                    reply.cycle.0,
                );
            }
            replies[sm].push(reply);
        }
        self.next = next;
    }
}

/// A step in a partition, which does not know its number.
fn in_partition(hop: Hop, partition: u32, slices: u32) -> Hop {
    match hop.chosen {
        Chosen::Bank {
            channel,
            bank,
            row,
            column,
            state,
            ..
        } => hop.chosen(Chosen::Bank {
            controller: partition,
            channel,
            bank,
            row,
            column,
            state,
        }),
        Chosen::Slice { slice } => hop.chosen(Chosen::Slice {
            slice: partition * slices + slice,
        }),
        _ => hop,
    }
}
