//! The card: what the data sheet says of the chip, its clocks and its memory.

crate::parameters! {
    /// The chip and its clocks.
    pub struct CardParameters = "card" {
        /// The product's name.
        title: String, "", ..;
        /// Architecture number of the machine code: 86 for sm_86.
        architecture: u32, "sm", 70..=129;
        /// Streaming multiprocessors that are enabled.
        sms: u32, "", 1..=1024;
        /// Sub-cores of an SM, each with its own scheduler.
        sub_cores_per_sm: u32, "", 1..=8;
        /// Clock of the SMs in a simulation: what the reference measurements were locked to.
        core_clock: f64, "MHz", 1.0..=10_000.0;
        /// Base clock of the data sheet.
        base_clock: f64, "MHz", 1.0..=10_000.0;
        /// Boost clock of the data sheet; peak rates refer to it.
        boost_clock: f64, "MHz", 1.0..=10_000.0;
        /// Memory clock as the vendor's tools print it: half the data rate of a pin.
        memory_clock: f64, "MHz", 1.0..=100_000.0;
    }

    /// The memory of the card, as totals.
    pub struct MemoryParameters = "memory" {
        /// Width of the memory bus.
        bus_width: u32, "bits", 1..=65_536;
        /// Data rate of one pin of the bus.
        data_rate: f64, "Gbit/s", 0.001..=1000.0;
        /// Bits that one pin moves per command cycle.
        bits_per_command_cycle: u32, "bits", 1..=64;
        /// The clock that DRAM timings count: data rate / bits per command cycle. Not the memory
        /// clock of the vendor's tools, which is twice this on GDDR6.
        command_clock: f64, "MHz", 1.0..=100_000.0;
        /// Bandwidth of the data sheet.
        bandwidth: f64, "GB/s", 0.001..=1e6;
        /// Capacity of the L2 cache.
        l2_size: u64, "bytes", 1..=0x1_0000_0000;
        /// Capacity of the DRAM.
        dram_size: u64, "bytes", 1..=0x100_0000_0000;
        /// Page of virtual memory, a power of two: what the driver maps to a frame of DRAM, and what one
        /// translation covers.
        page_size: u64, "bytes", 0x1_0000..=0x4000_0000;
    }
}

impl MemoryParameters {
    /// Bandwidth that bus width and data rate give, in GB/s (10⁹ bytes).
    pub fn bus_bandwidth(&self) -> f64 {
        f64::from(self.bus_width) * self.data_rate / 8.0
    }
}
