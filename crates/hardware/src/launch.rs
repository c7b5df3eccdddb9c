//! The launch of a kernel: its cost (MODEL.md §8.1) and what it may ask for.

use thiserror::Error;

crate::parameters! {
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

/// A launch that no GPU of this kind accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LaunchError {
    /// One extent of the grid or of the block is 0 or too large.
    #[error("the {what} is {extent} in {axis}; it must be 1 to {most}")]
    Extent {
        /// `grid` or `block`.
        what: &'static str,
        /// `x`, `y` or `z`.
        axis: char,
        /// What was asked for.
        extent: u32,
        /// The most.
        most: u32,
    },
    /// The block has too many threads.
    #[error("the block has {threads} threads; the most is {most}")]
    Threads {
        /// What was asked for.
        threads: u64,
        /// The most.
        most: u32,
    },
    /// The kernel has too many bytes of parameters.
    #[error("the kernel takes {size} bytes of parameters; the most is {most}")]
    Parameters {
        /// What the kernel takes.
        size: u32,
        /// The most.
        most: u32,
    },
}

impl LaunchParameters {
    /// Whether a launch is possible at all: grid, block and bytes of parameters.
    ///
    /// # Errors
    /// What is impossible about it.
    pub fn accept(
        &self,
        grid: [u32; 3],
        block: [u32; 3],
        parameters: u32,
    ) -> Result<(), LaunchError> {
        let axes = ['x', 'y', 'z'];
        let grid_most = [self.grid_x, self.grid_yz, self.grid_yz];
        let block_most = [self.block_xy, self.block_xy, self.block_z];
        let extents = [("grid", grid, grid_most), ("block", block, block_most)];
        for (what, extents, most) in extents {
            for ((axis, extent), most) in axes.into_iter().zip(extents).zip(most) {
                if !(1..=most).contains(&extent) {
                    return Err(LaunchError::Extent {
                        what,
                        axis,
                        extent,
                        most,
                    });
                }
            }
        }
        // Each extent is at most 2^16 here, so the product fits.
        let threads = block.into_iter().map(u64::from).product();
        if threads > u64::from(self.threads_per_cta) {
            return Err(LaunchError::Threads {
                threads,
                most: self.threads_per_cta,
            });
        }
        if parameters > self.parameter_size {
            return Err(LaunchError::Parameters {
                size: parameters,
                most: self.parameter_size,
            });
        }
        Ok(())
    }
}
