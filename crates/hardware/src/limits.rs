//! What an SM has room for, and what a launch may ask for.

crate::parameters! {
    /// Capacities of an SM that limit how many CTAs are resident.
    pub struct OccupancyParameters = "occupancy" {
        /// CTAs resident on an SM.
        ctas_per_sm: u32, "", 1..=64;
        /// Warps resident on an SM.
        warps_per_sm: u32, "", 1..=128;
        /// Threads resident on an SM.
        threads_per_sm: u32, "", 32..=4096;
        /// 32-bit registers of an SM.
        registers_per_sm: u32, "", 1024..=1_048_576;
        /// 32-bit registers that one CTA may have.
        registers_per_cta: u32, "", 1024..=1_048_576;
        /// Registers that one thread may have.
        registers_per_thread: u32, "", 16..=255;
        /// Registers are given to a warp in multiples of this.
        register_unit: u32, "registers", 1..=4096;
        /// Warps are counted in multiples of this when registers are shared out.
        warp_unit: u32, "warps", 1..=16;
        /// Array that L1D and shared memory divide between them.
        l1_shared_size: u32, "bytes", 1024..=1_048_576;
        /// Sizes that shared memory may take of it, ascending.
        carveouts: Vec<u32>, "bytes", ..;
        /// Shared memory that one CTA may have with opt-in, the reserved part not counted.
        shared_per_cta: u32, "bytes", 1024..=1_048_576;
        /// Shared memory that one CTA may have without opt-in.
        shared_per_cta_default: u32, "bytes", 1024..=1_048_576;
        /// Shared memory is given to a CTA in multiples of this.
        shared_unit: u32, "bytes", 1..=4096;
        /// Shared memory that the system keeps for itself in every CTA.
        shared_reserved_per_cta: u32, "bytes", 0..=65_536;
        /// Barriers (BAR) that one CTA may use.
        barriers_per_cta: u32, "", 1..=64;
        /// Barriers of an SM that its resident CTAs share.
        barriers_per_sm: u32, "", 1..=4096;
    }

    /// The launch of a kernel: its cost and its limits.
    pub struct LaunchParameters = "launch" {
        /// Cycles between the launch of a kernel and its first CTA.
        overhead: u64, "cycles", 0..=1_000_000;
        /// Cycles between the grant of a CTA and the first fetch of its warps.
        cta_overhead: u64, "cycles", 0..=1_000_000;
        /// CTAs that one SM can be granted in one cycle.
        ctas_per_sm_cycle: u32, "", 1..=32;
        /// Threads of a CTA.
        threads_per_cta: u32, "", 32..=4096;
        /// Extent of a CTA in x and in y.
        block_xy: u32, "", 1..=65_536;
        /// Extent of a CTA in z.
        block_z: u32, "", 1..=65_536;
        /// Extent of a grid in x.
        grid_x: u32, "", 1..=0x7fff_ffff;
        /// Extent of a grid in y and in z.
        grid_yz: u32, "", 1..=0x7fff_ffff;
        /// Bytes of kernel parameters.
        parameter_size: u32, "bytes", 256..=65_536;
    }
}
