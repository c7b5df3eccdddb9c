//! The DRAM behind a partition: what a GPU document says of it, the timing derived from that, and
//! the address map (MODEL.md §8.1). `channel` joins `bank` (what is open where) with `scheduler`
//! (which command comes next).

mod bank;
mod channel;
mod map;
mod refresh;
mod scheduler;
mod timing;

pub use channel::ChannelStatistics;
pub(crate) use channel::{Arrival, Channel, Link, Note};
pub use map::{Coordinates, DramMap};
pub(crate) use refresh::Refresh;
pub use timing::Timing;

hardware::choice! {
    /// How the bank number is made from the address bits of the map.
    pub enum BankIndex {
        /// The bits as they are.
        Linear = "linear",
        /// The bits, exclusive-or the low bits of the row: rows that lie one above the other go
        /// to different banks.
        XorRow = "xor-row",
    }
}

hardware::parameters! {
    /// A DRAM channel and its scheduler. Timings count command cycles: `memory.command_clock`.
    pub struct DramParameters = "dram" {
        /// The kind of memory; a document of that name in `gpus/dram` gives its timings.
        kind: String, "", ..;
        /// Channels of a memory partition.
        channels_per_partition: u64, "", 1..=16;
        /// Data pins of a channel.
        pins: u64, "bits", 1..=1024;
        /// Bytes of a burst, the smallest transfer.
        atom: u64, "bytes", 32..=32;
        /// Core cycles from an L2 slice to the scheduler's queue.
        fixed_latency: u64, "cycles", 1..=10_000;
        /// Core cycles from the last of a burst's data to the L2 slice.
        return_latency: u64, "cycles", 0..=10_000;
        /// Requests that the scheduler chooses from.
        queue: u64, "requests", 1..=4096;
        /// Requests that may be under way beside those, to the scheduler or back from it, data that a slice
        /// has not taken yet among them. The slices of a partition have equal shares of both kinds of places
        /// together, and send a request only when they have one for it.
        return_queue: u64, "requests", 0..=4096;
        /// Waiting writes at which the channel turns to writing.
        write_high: u64, "requests", 1..=4096;
        /// Waiting writes at which it turns back to reads that wait.
        write_low: u64, "requests", 0..=4095;
        /// Banks.
        banks: u64, "", 1..=32;
        /// Rows of a bank.
        rows: u64, "", 1..=16_777_216;
        /// Bank groups, taken from the low bits of the bank number.
        bank_groups: u64, "", 1..=16;
        /// From a column command to the next.
        ccd: u64, "command cycles", 1..=200;
        /// From a column command to the next in the same bank group.
        ccdl: u64, "command cycles", 1..=200;
        /// From an activation to the next, of another bank.
        rrd: u64, "command cycles", 1..=200;
        /// From an activation to a read.
        rcd: u64, "command cycles", 1..=200;
        /// From an activation to the precharge.
        ras: u64, "command cycles", 1..=500;
        /// From a precharge to the activation.
        rp: u64, "command cycles", 1..=200;
        /// From an activation to the next of the same bank.
        rc: u64, "command cycles", 1..=500;
        /// From a read to its data.
        cl: u64, "command cycles", 1..=200;
        /// From a write to its data.
        wl: u64, "command cycles", 1..=200;
        /// From the end of write data to a read.
        cdlr: u64, "command cycles", 0..=200;
        /// From the end of write data to the precharge.
        wr: u64, "command cycles", 0..=200;
        /// From a read to the precharge.
        rtp: u64, "command cycles", 0..=200;
        /// How long a channel, its rows closed, stands still to refresh; nothing where that was not
        /// measured.
        refresh_stall: Option<f64>, "ns", 1.0..=10_000.0;
        /// From the begin of such a stall to that of the next of the same channel.
        refresh_period: Option<f64>, "ns", 1.0..=1e9;
        /// Bits of an address inside a channel, highest first, dots ignored: R row, B bank,
        /// C column, S inside a burst. The row goes on above.
        address_map: String, "", ..;
        /// How the bank number is made from its bits.
        bank_index: BankIndex, "", ..;
    }
}
