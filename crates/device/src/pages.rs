//! Where a launch lies in physical memory: the page table of its data, and what the driver keeps beside
//! them — code, constant banks and the local memory of all warps that can be resident.

use std::sync::Arc;

use exec::{CODE_BASE, LOCAL_BASE};
use source::PageTable;

use crate::device::{Device, Prepared};
use crate::error::RunError;

/// Where the constant banks lie for the caches that hold them, apart from code and data.
pub(crate) const CONSTANT_BASE: u64 = CODE_BASE + (1 << 32);

/// Bytes of all constant banks: 32 of 64 KiB.
const CONSTANT_BYTES: u64 = 32 << 16;

/// Frames of the driver's own, kept from launch to launch. (Those of code belong to its module.)
#[derive(Debug, Default)]
pub(crate) struct DriverFrames {
    constants: Vec<u32>,
    local: Vec<u32>,
}

impl Device {
    /// Has frames ready for the constant banks and the local memory of a launch.
    ///
    /// # Errors
    /// Not enough device memory.
    pub(crate) fn reserve_frames(&mut self, launch: &exec::Launch) -> Result<(), RunError> {
        let frames = &mut self.driver_frames;
        if frames.constants.is_empty() {
            frames.constants = self
                .global
                .reserve_frames(CONSTANT_BYTES, "constant banks")?;
        }
        let sms = u64::from(self.card.sms).min(launch.ctas());
        let bytes = sms * u64::from(self.limits.warps_per_sm) * launch.local_bytes_of_warp();
        let held = frames.local.len() as u64 * self.dram.page_size;
        if bytes > held {
            let more = self
                .global
                .reserve_frames(bytes - held, "local memory of all warps")?;
            frames.local.extend(more);
        }
        Ok(())
    }

    /// The page table of a launch.
    pub(crate) fn page_table(&self, prepared: &Prepared) -> Arc<PageTable> {
        let code = prepared.launch.program().module().frames();
        let driver = [
            (CODE_BASE, code),
            (CONSTANT_BASE, &self.driver_frames.constants),
            (LOCAL_BASE, &self.driver_frames.local),
        ];
        Arc::new(self.global.page_table(driver))
    }
}
