//! How many CTAs of a kernel are resident on an SM, which resource limits them, and how the array
//! of L1D and shared memory is divided (MODEL.md §6, §7.5).

use thiserror::Error;

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
}

/// What one CTA of a kernel takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CtaFootprint {
    /// Threads.
    pub threads: u32,
    /// Registers of each thread.
    pub registers_per_thread: u32,
    /// Shared memory, static and dynamic, without the reserved part.
    pub shared: u32,
    /// Barriers it names.
    pub barriers: u32,
}

/// A resource that limits how many CTAs are resident on an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The number of CTAs itself.
    Ctas,
    /// Warps.
    Warps,
    /// Threads.
    Threads,
    /// Registers.
    Registers,
    /// Shared memory.
    Shared,
    /// Barriers.
    Barriers,
}

impl Limit {
    /// The resource, in words.
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Ctas => "CTAs",
            Limit::Warps => "warps",
            Limit::Threads => "threads",
            Limit::Registers => "registers",
            Limit::Shared => "shared memory",
            Limit::Barriers => "barriers",
        }
    }

    /// What stands between a number and the resource.
    const fn unit(self) -> &'static str {
        match self {
            Limit::Shared => "bytes of ",
            _ => "",
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// How a kernel sits on an SM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// CTAs resident on an SM.
    pub ctas_per_sm: u32,
    /// Warps of a CTA.
    pub warps_per_cta: u32,
    /// The resource that limits the CTAs; the first in the order of [`Occupancy::by`] of several.
    pub limit: Limit,
    /// CTAs that each resource alone would allow.
    pub by: [(Limit, u32); 6],
    /// Registers given to a warp.
    pub registers_per_warp: u32,
    /// Shared memory given to a CTA, the reserved part included.
    pub shared_per_cta: u32,
    /// Part of the common array that is shared memory.
    pub carveout: u32,
    /// Part of the common array that is L1D.
    pub l1_size: u32,
}

impl Occupancy {
    /// Warps resident on an SM.
    pub fn warps_per_sm(&self) -> u32 {
        self.ctas_per_sm * self.warps_per_cta
    }
}

/// Why not even one CTA fits on an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OccupancyError {
    /// A CTA without threads.
    #[error("a CTA of 0 threads")]
    NoThreads,
    /// One resource is too small for one CTA.
    #[error("a CTA takes {wanted} {}{limit}, the most is {most}", .limit.unit())]
    TooLarge {
        /// The resource.
        limit: Limit,
        /// What the CTA takes of it.
        wanted: u64,
        /// What there is.
        most: u64,
    },
    /// A thread has more registers than the architecture allows.
    #[error("a thread takes {wanted} registers, the most is {most}")]
    RegistersPerThread {
        /// What the thread takes.
        wanted: u32,
        /// What there is.
        most: u32,
    },
}

const WARP_SIZE: u32 = 32;

impl OccupancyParameters {
    /// How a kernel with CTAs of that footprint sits on an SM.
    ///
    /// # Errors
    /// The resource that is too small for even one CTA.
    pub fn occupancy(&self, cta: &CtaFootprint) -> Result<Occupancy, OccupancyError> {
        if cta.threads == 0 {
            return Err(OccupancyError::NoThreads);
        }
        if cta.registers_per_thread > self.registers_per_thread {
            return Err(OccupancyError::RegistersPerThread {
                wanted: cta.registers_per_thread,
                most: self.registers_per_thread,
            });
        }
        let largest = self.carveouts().max().unwrap_or(0);
        let warps_per_cta = cta.threads.div_ceil(WARP_SIZE);
        let registers_per_warp =
            (cta.registers_per_thread * WARP_SIZE).next_multiple_of(self.register_unit);
        let counted_warps = u64::from(warps_per_cta).next_multiple_of(u64::from(self.warp_unit));
        let shared_per_cta = (u64::from(cta.shared) + u64::from(self.shared_reserved_per_cta))
            .next_multiple_of(u64::from(self.shared_unit));

        let most = |limit, wanted: u64, most: u32| match wanted <= u64::from(most) {
            true => Ok(()),
            false => Err(OccupancyError::TooLarge {
                limit,
                wanted,
                most: u64::from(most),
            }),
        };
        most(Limit::Threads, cta.threads.into(), self.threads_per_sm)?;
        most(Limit::Warps, warps_per_cta.into(), self.warps_per_sm)?;
        most(
            Limit::Registers,
            counted_warps * u64::from(registers_per_warp),
            self.registers_per_cta.min(self.registers_per_sm),
        )?;
        most(Limit::Shared, cta.shared.into(), self.shared_per_cta)?;
        most(Limit::Shared, shared_per_cta, largest)?;
        most(
            Limit::Barriers,
            cta.barriers.into(),
            self.barriers_per_cta.min(self.barriers_per_sm),
        )?;
        // Fits: `largest` is a u32.
        let shared_per_cta = u32::try_from(shared_per_cta).unwrap_or(u32::MAX);

        // Each sub-core has its share of the registers and holds whole warps.
        let warps_by_registers = (self.registers_per_sm / self.warp_unit)
            .checked_div(registers_per_warp)
            .map_or(u32::MAX, |warps| warps * self.warp_unit);
        let by = [
            (Limit::Ctas, self.ctas_per_sm),
            (Limit::Warps, self.warps_per_sm / warps_per_cta),
            (Limit::Threads, self.threads_per_sm / cta.threads),
            (Limit::Registers, warps_by_registers / warps_per_cta),
            (
                Limit::Shared,
                largest.checked_div(shared_per_cta).unwrap_or(u32::MAX),
            ),
            (
                Limit::Barriers,
                self.barriers_per_sm
                    .checked_div(cta.barriers)
                    .unwrap_or(u32::MAX),
            ),
        ];
        let least = by.iter().min_by_key(|(_, ctas)| *ctas).unwrap_or(&by[0]);
        let (limit, ctas_per_sm) = *least;
        if ctas_per_sm == 0 {
            // Registers that fit the SM but not the shares of its sub-cores.
            return Err(OccupancyError::TooLarge {
                limit,
                wanted: u64::from(registers_per_warp) * counted_warps,
                most: u64::from(self.registers_per_sm),
            });
        }
        let wanted = u64::from(shared_per_cta) * u64::from(ctas_per_sm);
        let carveout = self.carveouts().filter(|size| u64::from(*size) >= wanted);
        let carveout = carveout.min().unwrap_or(largest);
        Ok(Occupancy {
            ctas_per_sm,
            warps_per_cta,
            limit,
            by,
            registers_per_warp,
            shared_per_cta,
            carveout,
            l1_size: self.l1_shared_size - carveout,
        })
    }

    /// The sizes that shared memory may take, those that the array has room for.
    fn carveouts(&self) -> impl Iterator<Item = u32> {
        let sizes = self.carveouts.iter().copied();
        sizes.filter(|size| *size <= self.l1_shared_size)
    }
}
