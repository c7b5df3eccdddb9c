//! What the memory side counts, as one list: names are Nsight Compute's where they mean the same
//! (`lts` is a slice of L2, `dram` a channel), without the roll-up over slices or channels.
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
pub struct SliceStatistics {
    requests: [u64; KINDS],
    hits: [u64; KINDS],
    misses: [u64; KINDS],
    pub(crate) merged: u64,
    pub(crate) allocated_by_write: u64,
    pub(crate) blocked: u64,
    /// Sectors that became dirty.
    pub(crate) dirtied: u64,
    /// Sectors sent to the DRAM because their line was replaced.
    pub(crate) written_back: u64,
    /// Those of which only some bytes were there: written with a mask.
    pub(crate) written_back_partly: u64,
    /// Sectors that the DRAM does not have yet; looked up when statistics are asked for.
    pub(crate) dirty: u64,
    /// Most packets that stood in front of the lookup, the one looked up among them. This and the next
    /// three are taken from the queues when statistics are asked for.
    pub(crate) queue_most: u64,
    /// Most packets that waited in the network for a place there.
    pub(crate) network_most: u64,
    /// Most replies that waited for the port into the reply network.
    pub(crate) reply_queue_most: u64,
    /// Most packets to the DRAM that waited for room there.
    pub(crate) miss_queue_most: u64,
    /// Most places at one channel that were held.
    pub(crate) dram_places_most: u64,
    /// Most data of one channel that had come and were not taken yet.
    pub(crate) fill_queue_most: u64,
    /// Most sectors that were awaited from the DRAM.
    pub(crate) mshrs_most: u64,
    /// Most L2 cycles that a reply waited for the port into the reply network.
    pub(crate) reply_wait_most: u64,
}

impl SliceStatistics {
    /// A packet was looked up.
    #[inline]
    pub(crate) fn request(&mut self, kind: RequestKind) {
        self.requests[kind as usize] += 1;
    }

    /// Sectors were looked up and found.
    #[inline]
    pub(crate) fn hit(&mut self, kind: RequestKind, sectors: u32) {
        self.hits[kind as usize] += u64::from(sectors);
    }

    /// A sector was looked up and not found.
    #[inline]
    pub(crate) fn miss(&mut self, kind: RequestKind, sectors: u32) {
        self.misses[kind as usize] += u64::from(sectors);
    }

    fn requests(&self, kinds: &[RequestKind]) -> u64 {
        sum_of(&self.requests, kinds)
    }

    fn hits(&self, kinds: &[RequestKind]) -> u64 {
        sum_of(&self.hits, kinds)
    }

    fn misses(&self, kinds: &[RequestKind]) -> u64 {
        sum_of(&self.misses, kinds)
    }

    fn sectors(&self, kinds: &[RequestKind]) -> u64 {
        self.hits(kinds) + self.misses(kinds)
    }
}

fn sum_of(counts: &[u64; KINDS], kinds: &[RequestKind]) -> u64 {
    kinds.iter().map(|&kind| counts[kind as usize]).sum()
}

use RequestKind::{Atomic, Constant, Instruction, Read, Reduction, Write};
/// All kinds.
const ALL: &[RequestKind] = &[Read, Write, Atomic, Reduction, Instruction, Constant];
/// Reads, whoever asks.
const READS: &[RequestKind] = &[Read, Instruction, Constant];
/// What the L1 data caches send.
const TEX: &[RequestKind] = &[Read, Write, Atomic, Reduction];
/// What the instruction and constant caches send.
const GCC: &[RequestKind] = &[Instruction, Constant];

/// The unit of a statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain count.
    Count,
    /// Packets of the request network.
    Requests,
    /// Sectors of 32 bytes.
    Sectors,
    /// Bytes.
    Bytes,
    /// Cycles of the core clock.
    Cycles,
    /// Command cycles of the DRAM.
    CommandCycles,
    /// Cycles of the L2 clock.
    L2Cycles,
}

impl Unit {
    /// The unit's name; empty for a plain count.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Count => "",
            Unit::Requests => "requests",
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

/// How values of several slices or channels become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RollUp {
    /// They add up.
    Sum,
    /// The largest is told: high-water marks.
    Max,
}

/// A counter of every slice, or of every channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceCounts {
    /// Its name, without a roll-up.
    pub name: &'static str,
    /// What it counts.
    pub doc: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// How the values become one.
    pub rolled_up: RollUp,
    /// One value for each, in the order of their numbers.
    pub values: Vec<u64>,
}

fn sum(a: u64, b: u64) -> u64 {
    a + b
}

fn max(a: u64, b: u64) -> u64 {
    a.max(b)
}

macro_rules! roll_up {
    (sum) => {
        RollUp::Sum
    };
    (max) => {
        RollUp::Max
    };
}

/// Declares counters: field of the totals, name, how instances become one, unit, value of one instance.
macro_rules! counters {
    (
        slice {$($(#[doc = $slice_doc:literal])* $slice:ident, $slice_name:literal, $slice_roll:ident, $slice_unit:ident, $slice_of:expr;)*}
        channel {$($(#[doc = $channel_doc:literal])* $channel:ident, $channel_name:literal, $channel_roll:ident, $channel_unit:ident, $channel_of:expr;)*}
        whole {$($(#[doc = $whole_doc:literal])* $whole:ident, $whole_name:literal, $whole_unit:ident;)*}
    ) => {
        /// What the memory side of a GPU has counted since it was made or reset.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct MemoryStatistics {
            $($(#[doc = $slice_doc])* pub $slice: u64,)*
            $($(#[doc = $channel_doc])* pub $channel: u64,)*
            $($(#[doc = $whole_doc])* pub $whole: u64,)*
        }

        impl MemoryStatistics {
            /// Every statistic with name, meaning, unit and value.
            pub fn list(&self) -> Vec<Statistic> {
                vec![
                    $(Statistic {
                        name: concat!($slice_name, ".", stringify!($slice_roll)),
                        doc: concat!($($slice_doc,)*).trim_ascii(),
                        unit: Unit::$slice_unit,
                        value: self.$slice,
                    },)*
                    $(Statistic {
                        name: concat!($channel_name, ".", stringify!($channel_roll)),
                        doc: concat!($($channel_doc,)*).trim_ascii(),
                        unit: Unit::$channel_unit,
                        value: self.$channel,
                    },)*
                    $(Statistic {
                        name: $whole_name,
                        doc: concat!($($whole_doc,)*).trim_ascii(),
                        unit: Unit::$whole_unit,
                        value: self.$whole,
                    },)*
                ]
            }

            pub(crate) fn add_slice(&mut self, slice: &SliceStatistics) {
                $({
                    let value: fn(&SliceStatistics) -> u64 = $slice_of;
                    self.$slice = $slice_roll(self.$slice, value(slice));
                })*
            }

            fn add_channel_counters(&mut self, channel: &ChannelStatistics) {
                $({
                    let value: fn(&ChannelStatistics) -> u64 = $channel_of;
                    self.$channel = $channel_roll(self.$channel, value(channel));
                })*
            }
        }

        /// Every counter of the slices.
        pub(crate) fn of_slices(slices: &[SliceStatistics]) -> Vec<InstanceCounts> {
            vec![$(InstanceCounts {
                name: $slice_name,
                doc: concat!($($slice_doc,)*).trim_ascii(),
                unit: Unit::$slice_unit,
                rolled_up: roll_up!($slice_roll),
                values: {
                    let value: fn(&SliceStatistics) -> u64 = $slice_of;
                    slices.iter().map(value).collect()
                },
            },)*]
        }

        /// Every counter of the channels.
        pub(crate) fn of_channels(channels: &[ChannelStatistics]) -> Vec<InstanceCounts> {
            vec![$(InstanceCounts {
                name: $channel_name,
                doc: concat!($($channel_doc,)*).trim_ascii(),
                unit: Unit::$channel_unit,
                rolled_up: roll_up!($channel_roll),
                values: {
                    let value: fn(&ChannelStatistics) -> u64 = $channel_of;
                    channels.iter().map(value).collect()
                },
            },)*]
        }
    };
}

counters! {
    slice {
        /// Packets looked up in L2; each asks for sectors of one line.
        l2_requests, "lts__t_requests", sum, Requests, |s| s.requests(ALL);
        /// Packets of the L1 data caches.
        l2_tex_requests, "lts__t_requests_srcunit_tex", sum, Requests, |s| s.requests(TEX);
        /// Packets of the L1 data caches that read.
        l2_tex_read_requests, "lts__t_requests_srcunit_tex_op_read", sum, Requests, |s| s.requests(&[Read]);
        /// Packets of the L1 data caches that write.
        l2_tex_write_requests, "lts__t_requests_srcunit_tex_op_write", sum, Requests, |s| s.requests(&[Write]);
        /// Packets of atomics with a result.
        l2_tex_atomic_requests, "lts__t_requests_srcunit_tex_op_atom", sum, Requests, |s| s.requests(&[Atomic]);
        /// Packets of atomics without a result.
        l2_tex_reduction_requests, "lts__t_requests_srcunit_tex_op_red", sum, Requests, |s| s.requests(&[Reduction]);
        /// Packets of the instruction and constant caches.
        l2_gcc_requests, "lts__t_requests_srcunit_gcc", sum, Requests, |s| s.requests(GCC);
        /// Sectors looked up in L2.
        l2_lookups, "lts__t_sectors", sum, Sectors, |s| s.sectors(ALL);
        /// Sectors found in L2; every write counts as found.
        l2_hits, "lts__t_sectors_lookup_hit", sum, Sectors, |s| s.hits(ALL);
        /// Sectors not found in L2, those already on their way from DRAM among them.
        l2_misses, "lts__t_sectors_lookup_miss", sum, Sectors, |s| s.misses(ALL);
        /// Sectors read: loads, instructions, constants.
        l2_reads, "lts__t_sectors_op_read", sum, Sectors, |s| s.sectors(READS);
        /// Sectors read that were found.
        l2_read_hits, "lts__t_sectors_op_read_lookup_hit", sum, Sectors, |s| s.hits(READS);
        /// Sectors read that were not found.
        l2_read_misses, "lts__t_sectors_op_read_lookup_miss", sum, Sectors, |s| s.misses(READS);
        /// Sectors written.
        l2_writes, "lts__t_sectors_op_write", sum, Sectors, |s| s.sectors(&[Write]);
        /// Sectors written that were found: all.
        l2_write_hits, "lts__t_sectors_op_write_lookup_hit", sum, Sectors, |s| s.hits(&[Write]);
        /// Packets of atomics with a result; one carries the lanes of a sector.
        l2_atomics, "lts__t_sectors_op_atom", sum, Sectors, |s| s.sectors(&[Atomic]);
        /// Those whose sector was found.
        l2_atomic_hits, "lts__t_sectors_op_atom_lookup_hit", sum, Sectors, |s| s.hits(&[Atomic]);
        /// Those whose sector was not found.
        l2_atomic_misses, "lts__t_sectors_op_atom_lookup_miss", sum, Sectors, |s| s.misses(&[Atomic]);
        /// Packets of atomics without a result.
        l2_reductions, "lts__t_sectors_op_red", sum, Sectors, |s| s.sectors(&[Reduction]);
        /// Those whose sector was found.
        l2_reduction_hits, "lts__t_sectors_op_red_lookup_hit", sum, Sectors, |s| s.hits(&[Reduction]);
        /// Those whose sector was not found.
        l2_reduction_misses, "lts__t_sectors_op_red_lookup_miss", sum, Sectors, |s| s.misses(&[Reduction]);
        /// Sectors of the L1 data caches.
        l2_tex_sectors, "lts__t_sectors_srcunit_tex", sum, Sectors, |s| s.sectors(TEX);
        /// Those that were found.
        l2_tex_hits, "lts__t_sectors_srcunit_tex_lookup_hit", sum, Sectors, |s| s.hits(TEX);
        /// Those that were not found.
        l2_tex_misses, "lts__t_sectors_srcunit_tex_lookup_miss", sum, Sectors, |s| s.misses(TEX);
        /// Sectors that the L1 data caches read.
        l2_tex_reads, "lts__t_sectors_srcunit_tex_op_read", sum, Sectors, |s| s.sectors(&[Read]);
        /// Those that were found.
        l2_tex_read_hits, "lts__t_sectors_srcunit_tex_op_read_lookup_hit", sum, Sectors, |s| s.hits(&[Read]);
        /// Those that were not found.
        l2_tex_read_misses, "lts__t_sectors_srcunit_tex_op_read_lookup_miss", sum, Sectors, |s| s.misses(&[Read]);
        /// Sectors of the instruction and constant caches.
        l2_gcc_sectors, "lts__t_sectors_srcunit_gcc", sum, Sectors, |s| s.sectors(GCC);
        /// Sectors read for instruction caches.
        l2_instruction_reads, "l2_sectors_instruction", sum, Sectors, |s| s.sectors(&[Instruction]);
        /// Sectors read for constant caches.
        l2_constant_reads, "l2_sectors_constant", sum, Sectors, |s| s.sectors(&[Constant]);
        /// Sectors that joined a miss already on its way from DRAM.
        l2_merged, "l2_sectors_merged", sum, Sectors, |s| s.merged;
        /// Lines taken for a write.
        l2_write_allocations, "l2_write_allocations", sum, Count, |s| s.allocated_by_write;
        /// Packets that found no room and held up their slice.
        l2_blocked, "l2_lookups_blocked", sum, Count, |s| s.blocked;
        /// Times that a sector came to hold what DRAM does not: each is written back, flushed or still dirty.
        l2_dirtied, "l2_sectors_dirtied", sum, Sectors, |s| s.dirtied;
        /// Sectors sent to DRAM because their line was replaced.
        l2_written_back, "l2_sectors_written_back", sum, Sectors, |s| s.written_back;
        /// Those of them of which some bytes were never there; their bursts mask those.
        l2_written_back_partly, "l2_sectors_written_back_partly", sum, Sectors, |s| s.written_back_partly;
        /// Sectors that L2 has and DRAM does not, in the end; their way there takes no time in the model.
        l2_dirty, "l2_sectors_dirty", sum, Sectors, |s| s.dirty;
        /// High-water mark of a slice's queue: packets in front of its lookup; `l2.queue` at most.
        l2_queue_most, "l2_queue_packets", max, Count, |s| s.queue_most;
        /// High-water mark of the packets that wait in the request network for a place in a slice's queue; at
        /// most what all SMs have credits for.
        crossbar_queue_most, "crossbar_request_packets", max, Count, |s| s.network_most;
        /// High-water mark of a slice's replies in front of its port into the reply network;
        /// `l2.reply_queue` at most.
        l2_reply_queue_most, "l2_reply_queue_packets", max, Count, |s| s.reply_queue_most;
        /// High-water mark of a slice's misses that wait for room at the DRAM; `l2.miss_queue` at most.
        l2_miss_queue_most, "l2_miss_queue_packets", max, Count, |s| s.miss_queue_most;
        /// High-water mark of a slice's requests under way to one DRAM channel, in it, or back; a slice's share
        /// of `dram.queue` + `dram.return_queue` at most.
        l2_dram_places_most, "l2_dram_requests", max, Count, |s| s.dram_places_most;
        /// High-water mark of the bursts of one DRAM channel that have come to a slice and wait to be taken;
        /// the same share at most.
        l2_fill_queue_most, "l2_fill_queue_bursts", max, Count, |s| s.fill_queue_most;
        /// High-water mark of the sectors that a slice awaits from the DRAM; `l2.mshrs` at most.
        l2_mshrs_most, "l2_mshrs_used", max, Count, |s| s.mshrs_most;
        /// Longest time that a reply waited at its slice for the port into the reply network.
        l2_reply_wait_most, "l2_reply_port_wait", max, L2Cycles, |s| s.reply_wait_most;
    }
    channel {
        /// Bytes read from DRAM.
        dram_read_bytes, "dram__bytes_read", sum, Bytes, |c| c.reads * source::Sector::BYTES;
        /// Bytes written to DRAM, without those that are dirty in L2 in the end.
        dram_write_bytes, "dram__bytes_write", sum, Bytes, |c| c.writes * source::Sector::BYTES;
        /// Bursts read from DRAM.
        dram_reads, "dram__sectors_read", sum, Sectors, |c| c.reads;
        /// Bursts written to DRAM.
        dram_writes, "dram__sectors_write", sum, Sectors, |c| c.writes;
        /// Bursts whose row was open already.
        dram_row_hits, "dram_row_hits", sum, Count, |c| (c.reads + c.writes).saturating_sub(c.activations);
        /// Rows opened.
        dram_activations, "dram_row_activations", sum, Count, |c| c.activations;
        /// Rows closed.
        dram_precharges, "dram_row_precharges", sum, Count, |c| c.precharges;
        /// Turns of the data pins between reading and writing.
        dram_turns, "dram_turns", sum, Count, |c| c.turns;
        /// Bursts that waited while their channel refreshed.
        dram_refreshed, "dram_refreshed", sum, Count, |c| c.refreshed;
        /// Command cycles in which data moved, of all channels.
        dram_busy_cycles, "dram__cycles_active", sum, CommandCycles, |c| c.busy;
        /// High-water mark of a channel's queue; `dram.queue` at most.
        dram_queue_most, "dram_queue_requests", max, Count, |c| c.queue_most;
    }
    whole {
        /// The same of the busiest channel.
        dram_busy_cycles_max, "dram__cycles_active.max", CommandCycles;
        /// Bytes that were dirty in L2 when a host copy displaced them; their way to DRAM takes no time in the
        /// model.
        l2_flushed_bytes, "l2_bytes_flushed.sum", Bytes;
        /// High-water mark of the replies that wait in the reply network for the port of one SM, the one that
        /// passes it among them; at most four for each of the SM's packets without an answer.
        sm_replies_most, "crossbar_reply_packets.max", Count;
        /// Longest time that a reply waited in the reply network for the port of its SM.
        sm_reply_wait_most, "crossbar_reply_port_wait.max", Cycles;
    }
}

impl MemoryStatistics {
    pub(crate) fn add_channel(&mut self, channel: &ChannelStatistics) {
        self.add_channel_counters(channel);
        self.dram_busy_cycles_max = self.dram_busy_cycles_max.max(channel.busy);
    }
}
