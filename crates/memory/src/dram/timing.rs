//! The timing of a channel in command cycles, derived as MODEL.md §8.1 says.

use super::DramParameters;

/// Distances between commands, in command cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Cycles that a burst occupies the data pins.
    pub burst: u64,
    /// Column to column.
    pub ccd: u64,
    /// Column to column inside a bank group.
    pub ccdl: u64,
    /// Activation to activation.
    pub rrd: u64,
    /// Activation to read.
    pub rcd_read: u64,
    /// Activation to write: RCD − (WL + 1).
    pub rcd_write: u64,
    /// Activation to precharge.
    pub ras: u64,
    /// Precharge to activation.
    pub rp: u64,
    /// Activation to activation of a bank.
    pub rc: u64,
    /// Read to write: CL + burst + 2 − WL.
    pub read_to_write: u64,
    /// Write to read: WL + burst + CDLR.
    pub write_to_read: u64,
    /// Read to precharge.
    pub read_to_precharge: u64,
    /// Write to precharge: WL + burst + WR.
    pub write_to_precharge: u64,
    /// Read to the end of its data: CL + burst.
    pub read_data: u64,
    /// Write to the end of its data: WL + burst.
    pub write_data: u64,
}

impl Timing {
    /// The timing of a channel whose pins move `bits_per_cycle` bits per command cycle.
    pub fn new(p: &DramParameters, bits_per_cycle: u64) -> Timing {
        let burst = (p.atom * 8).div_ceil(p.pins * bits_per_cycle);
        Timing {
            burst,
            // Bursts cannot overlap on the pins.
            ccd: p.ccd.max(burst),
            ccdl: p.ccdl.max(burst),
            rrd: p.rrd,
            rcd_read: p.rcd,
            rcd_write: p.rcd.saturating_sub(p.wl + 1),
            ras: p.ras,
            rp: p.rp,
            rc: p.rc,
            read_to_write: (p.cl + burst + 2).saturating_sub(p.wl).max(burst),
            write_to_read: p.wl + burst + p.cdlr,
            read_to_precharge: p.rtp,
            write_to_precharge: p.wl + burst + p.wr,
            read_data: p.cl + burst,
            write_data: p.wl + burst,
        }
    }
}
