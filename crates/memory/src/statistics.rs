//! What the memory side counts, as one list: names are Nsight Compute's where they mean the same.
//!
//! A write counts as a hit whether or not its line was there: it never waits for the DRAM, because
//! a line is taken without reading it (REGRESSIONS.md M15). A read of a sector that is already on
//! its way counts as a miss.

use source::RequestKind;

use crate::dram::ChannelStatistics;

/// Kinds of requests.
const KINDS: usize = 6;

/// What a slice counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SliceStatistics {
    hits: [u64; KINDS],
    misses: [u64; KINDS],
    pub requests: u64,
    pub merged: u64,
    pub allocated_by_write: u64,
    pub blocked: u64,
    /// Most packets that waited for a lookup, the one looked up among them.
    pub queue_most: u64,
    /// Most packets to the DRAM that waited for room there.
    pub miss_queue_most: u64,
    /// Most sectors that were awaited from the DRAM.
    pub mshrs_most: u64,
    /// Most L2 cycles that a reply waited for the port into the reply network.
    pub reply_wait_most: u64,
}

impl SliceStatistics {
    #[inline]
    pub fn hit(&mut self, kind: RequestKind, sectors: u32) {
        self.hits[kind as usize] += u64::from(sectors);
    }

    #[inline]
    pub fn miss(&mut self, kind: RequestKind, sectors: u32) {
        self.misses[kind as usize] += u64::from(sectors);
    }
}

/// The unit of a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain count.
    Count,
    /// Sectors of 32 bytes.
    Sectors,
    /// Bytes.
    Bytes,
    /// Command cycles of the DRAM.
    CommandCycles,
    /// Core cycles.
    Cycles,
    /// Cycles of the L2 clock.
    L2Cycles,
}

impl Unit {
    /// The unit's name; empty for a plain count.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Count => "",
            Unit::Sectors => "sectors",
            Unit::Bytes => "bytes",
            Unit::CommandCycles => "command cycles",
            Unit::Cycles => "cycles",
            Unit::L2Cycles => "L2 cycles",
        }
    }
}

/// One statistic of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// Its name.
    pub name: &'static str,
    /// What it counts.
    pub doc: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its value.
    pub value: u64,
}

macro_rules! statistics {
    ($($(#[doc = $doc:literal])* $field:ident, $name:literal, $unit:ident;)*) => {
        /// What the memory side of a GPU has counted since it was made or reset.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct MemoryStatistics {
            $($(#[doc = $doc])* pub $field: u64,)*
        }

        impl MemoryStatistics {
            /// Every statistic with name, meaning, unit and value.
            pub fn list(&self) -> Vec<Statistic> {
                vec![$(Statistic {
                    name: $name,
                    doc: concat!($($doc,)*).trim_ascii(),
                    unit: Unit::$unit,
                    value: self.$field,
                },)*]
            }
        }
    };
}

statistics! {
    /// Packets looked up in L2; each asks for sectors of one line.
    l2_requests, "lts__t_requests.sum", Count;
    /// Sectors looked up in L2.
    l2_lookups, "lts__t_sectors.sum", Sectors;
    /// Sectors found in L2; every write counts as found.
    l2_hits, "lts__t_sectors_lookup_hit.sum", Sectors;
    /// Sectors not found in L2, those already on their way from DRAM among them.
    l2_misses, "lts__t_sectors_lookup_miss.sum", Sectors;
    /// Sectors read: loads, instructions, constants.
    l2_reads, "lts__t_sectors_op_read.sum", Sectors;
    /// Sectors read that were found.
    l2_read_hits, "lts__t_sectors_op_read_lookup_hit.sum", Sectors;
    /// Sectors read that were not found.
    l2_read_misses, "lts__t_sectors_op_read_lookup_miss.sum", Sectors;
    /// Sectors written.
    l2_writes, "lts__t_sectors_op_write.sum", Sectors;
    /// Packets of atomics with a result; one carries the lanes of a sector.
    l2_atomics, "lts__t_sectors_op_atom.sum", Sectors;
    /// Packets of atomics without a result.
    l2_reductions, "lts__t_sectors_op_red.sum", Sectors;
    /// Sectors read for instruction caches.
    l2_instruction_reads, "l2_sectors_instruction", Sectors;
    /// Sectors read for constant caches.
    l2_constant_reads, "l2_sectors_constant", Sectors;
    /// Sectors that joined a miss already on its way from DRAM.
    l2_merged, "l2_sectors_merged", Sectors;
    /// Lines taken for a write.
    l2_write_allocations, "l2_write_allocations", Count;
    /// Packets that found no room and held up their slice.
    l2_blocked, "l2_lookups_blocked", Count;
    /// Bytes left dirty in L2 at the end of kernels; their way to DRAM takes no time in the model.
    l2_flushed_bytes, "l2_bytes_flushed", Bytes;
    /// Bytes read from DRAM.
    dram_read_bytes, "dram__bytes_read.sum", Bytes;
    /// Bytes written to DRAM, without those flushed at the end of kernels.
    dram_write_bytes, "dram__bytes_write.sum", Bytes;
    /// Bursts read from DRAM.
    dram_reads, "dram__sectors_read.sum", Sectors;
    /// Bursts written to DRAM.
    dram_writes, "dram__sectors_write.sum", Sectors;
    /// Bursts whose row was open already.
    dram_row_hits, "dram_row_hits", Count;
    /// Rows opened.
    dram_activations, "dram_row_activations", Count;
    /// Rows closed.
    dram_precharges, "dram_row_precharges", Count;
    /// Turns of the data pins between reading and writing.
    dram_turns, "dram_turns", Count;
    /// Bursts that waited while their channel refreshed.
    dram_refreshed, "dram_refreshed", Count;
    /// Command cycles in which data moved, of all channels.
    dram_busy_cycles, "dram_data_cycles.sum", CommandCycles;
    /// The same of the busiest channel.
    dram_busy_cycles_max, "dram_data_cycles.max", CommandCycles;
    /// High-water mark of a slice's queue: packets at its port or in front of its lookup. At most what
    /// all SMs have credits for.
    l2_queue_most, "l2_queue_packets.max", Count;
    /// High-water mark of a slice's misses that wait for room at the DRAM; `l2.miss_queue` at most.
    l2_miss_queue_most, "l2_miss_queue_packets.max", Count;
    /// High-water mark of the sectors that a slice awaits from the DRAM; `l2.mshrs` at most.
    l2_mshrs_most, "l2_mshrs_used.max", Count;
    /// High-water mark of a DRAM channel's queue; `dram.queue` at most.
    dram_queue_most, "dram_queue_requests.max", Count;
    /// Longest time that a reply waited at its slice for the port into the reply network.
    l2_reply_wait_most, "l2_reply_port_wait.max", L2Cycles;
    /// Longest time that a reply waited in the reply network for the port of its SM.
    sm_reply_wait_most, "crossbar_reply_port_wait.max", Cycles;
}

impl MemoryStatistics {
    pub(crate) fn add_slice(&mut self, s: &SliceStatistics) {
        use RequestKind::{Atomic, Constant, Instruction, Read, Reduction, Write};
        let hits = |kinds: &[RequestKind]| sum(&s.hits, kinds);
        let misses = |kinds: &[RequestKind]| sum(&s.misses, kinds);
        let all = |kinds: &[RequestKind]| hits(kinds) + misses(kinds);
        let reads = [Read, Instruction, Constant];
        let every = [Read, Instruction, Constant, Write, Atomic, Reduction];
        self.l2_requests += s.requests;
        self.l2_lookups += all(&every);
        self.l2_hits += hits(&every);
        self.l2_misses += misses(&every);
        self.l2_reads += all(&reads);
        self.l2_read_hits += hits(&reads);
        self.l2_read_misses += misses(&reads);
        self.l2_writes += all(&[Write]);
        self.l2_atomics += all(&[Atomic]);
        self.l2_reductions += all(&[Reduction]);
        self.l2_instruction_reads += all(&[Instruction]);
        self.l2_constant_reads += all(&[Constant]);
        self.l2_merged += s.merged;
        self.l2_write_allocations += s.allocated_by_write;
        self.l2_blocked += s.blocked;
        self.l2_queue_most = self.l2_queue_most.max(s.queue_most);
        self.l2_miss_queue_most = self.l2_miss_queue_most.max(s.miss_queue_most);
        self.l2_mshrs_most = self.l2_mshrs_most.max(s.mshrs_most);
        self.l2_reply_wait_most = self.l2_reply_wait_most.max(s.reply_wait_most);
    }

    pub(crate) fn add_channel(&mut self, s: &ChannelStatistics) {
        let bytes = source::Sector::BYTES;
        self.dram_reads += s.reads;
        self.dram_writes += s.writes;
        self.dram_read_bytes += s.reads * bytes;
        self.dram_write_bytes += s.writes * bytes;
        self.dram_activations += s.activations;
        self.dram_row_hits += (s.reads + s.writes).saturating_sub(s.activations);
        self.dram_precharges += s.precharges;
        self.dram_turns += s.turns;
        self.dram_refreshed += s.refreshed;
        self.dram_busy_cycles += s.busy;
        self.dram_queue_most = self.dram_queue_most.max(s.queue_most);
        self.dram_busy_cycles_max = self.dram_busy_cycles_max.max(s.busy);
    }
}

fn sum(counts: &[u64; KINDS], kinds: &[RequestKind]) -> u64 {
    kinds.iter().map(|&kind| counts[kind as usize]).sum()
}
