//! A memory partition: L2 slices and the DRAM channels behind them. Partitions share nothing, so
//! they run in parallel.
//!
//! What a slice sends reaches the channel at least `dram_latency` core cycles later. So the
//! channels run first, as far as that, then the slices with all returns known: no interleaving of
//! single cycles, nothing lost.

use std::sync::Arc;

use source::Cycle;

use crate::dram::{Channel, DramParameters, Link, Refresh, Timing};
use crate::l2_tags::L2Tags;
use crate::slice::{Slice, SliceSettings};

/// A memory partition.
#[derive(Debug)]
pub struct Partition {
    pub(crate) slices: Vec<Slice>,
    pub(crate) channels: Vec<Channel>,
    /// `links[channel * slices + slice]`.
    links: Vec<Link>,
    dram_latency: u64,
    /// Everything before this core cycle has been simulated.
    now: u64,
    /// Nothing happens before this core cycle, given what is known.
    pub(crate) next: u64,
}

impl Partition {
    /// An idle partition of `slices` slices, with the next of `tags` as far as there are any; `refresh` gives the times of each of its channels.
    pub(crate) fn new(
        settings: &Arc<SliceSettings>,
        slices: u32,
        dram: &DramParameters,
        timing: Timing,
        tags: &mut impl Iterator<Item = L2Tags>,
        refresh: impl Fn(u64) -> Refresh,
    ) -> Partition {
        let channels = settings.channels;
        let channel = |n| Channel::new(dram, timing, settings.clocks, refresh(n));
        Partition {
            slices: (0..slices)
                .map(|sub| Slice::new(Arc::clone(settings), sub, tags.next()))
                .collect(),
            channels: (0..channels as u64).map(channel).collect(),
            links: vec![Link::default(); channels * slices as usize],
            dram_latency: settings.dram_latency,
            now: 0,
            next: u64::MAX,
        }
    }

    /// Simulates every core cycle before `until`.
    pub fn run(&mut self, until: Cycle) {
        let until = until.0;
        let stride = self.slices.len();
        while self.next < until {
            // Skip to where something happens; from there, as far as the channels' inputs are known.
            self.now = self.now.max(self.next);
            let step = until.min(self.now + self.dram_latency);
            for (channel, links) in self.channels.iter_mut().zip(self.links.chunks_mut(stride)) {
                channel.run(step, links);
            }
            for slice in &mut self.slices {
                slice.run(step, &mut self.links, stride);
            }
            self.now = step;
            self.next = self.next_event().max(step);
        }
        self.now = self.now.max(until);
    }

    fn next_event(&self) -> u64 {
        let stride = self.slices.len();
        let channels = self
            .channels
            .iter()
            .zip(self.links.chunks(stride))
            .map(|(channel, links)| channel.next_event(links));
        let slices = self
            .slices
            .iter()
            .map(|slice| slice.next_event(&self.links, stride));
        channels.chain(slices).fold(u64::MAX, u64::min)
    }
}
