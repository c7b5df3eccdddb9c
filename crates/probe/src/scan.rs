//! Loads of a list, each timed on its own.

use crate::bench::{Bench, LANES, Shape, Word};
use crate::error::ProbeError;
use crate::kernel::Load;

/// Who goes through a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// One warp of that SM.
    Sm(u32),
    /// Warps of all SMs, so many on each, each with a part of the list.
    Everywhere {
        /// Warps of each SM.
        warps: u32,
    },
}

/// Warps of a CTA, at most, which CUDA's programming guide tells.
const MOST_WARPS: u32 = 32;
const TEXT: &str = include_str!("kernels/scan.sass");
const GATHERS: &str = include_str!("kernels/gathers.sass");
/// The SM that means every SM.
const ANY: u32 = u32::MAX;

impl Bench {
    /// Cycles that each load of the list took, one after the other in every part; the clock reads are in
    /// them. Which part an entry belongs to follows from [`Place`]: parts are equally long and in order.
    ///
    /// # Errors
    /// A launch that fails.
    pub fn times(
        &mut self,
        list: &[u64],
        load: Load,
        place: Place,
    ) -> Result<Vec<u32>, ProbeError> {
        self.times_of_last(1, list, load, place)
    }

    /// The same of the last of so many passes through the list.
    ///
    /// # Errors
    /// A launch that fails.
    pub fn times_of_last(
        &mut self,
        passes: u32,
        list: &[u64],
        load: Load,
        place: Place,
    ) -> Result<Vec<u32>, ProbeError> {
        let Some(&last) = list.last() else {
            return Ok(Vec::new());
        };
        let sms = self.card().sms;
        let (parts, sm) = match place {
            Place::Sm(sm) => (1, sm),
            Place::Everywhere { warps } => (sms * warps.max(1), ANY),
        };
        let chunks = (list.len() as u32).div_ceil(LANES).div_ceil(parts);
        let entries = (chunks * parts * LANES) as usize;
        let mut bytes = Vec::with_capacity(entries * 8);
        let padding = std::iter::repeat_n(&last, entries - list.len());
        for address in list.iter().chain(padding) {
            bytes.extend_from_slice(&address.to_le_bytes());
        }
        let addresses = self.scratch(entries as u64 * 12)?;
        self.write(addresses, &bytes)?;
        let out = addresses + entries as u64 * 8;
        // One warp of a CTA does all. Where CTAs are large, few of them share an SM, and the shared memory that
        // the system takes for each leaves L1 the more.
        let warps = match place {
            Place::Sm(_) => self.card().warps_per_sm.min(MOST_WARPS),
            Place::Everywhere { .. } => 1,
        };
        let shape = Shape {
            ctas: parts.max(sms),
            threads: LANES * warps,
        };
        let arguments = [
            Word::U64(addresses),
            Word::U64(out),
            Word::U32(sm),
            Word::U32(chunks),
            Word::U32(passes),
        ];
        self.launch("scan", TEXT, load, shape, &arguments)?;
        self.read(out, list.len())
    }

    /// Cycles of loads past L1 by one warp, one after the other, each of as many addresses at once as are
    /// given for it: at least one, at most one for each lane.
    ///
    /// # Errors
    /// A launch that fails.
    pub fn times_of_gathers(
        &mut self,
        gathers: &[Vec<u64>],
        sm: u32,
    ) -> Result<Vec<u32>, ProbeError> {
        let mut bytes = Vec::with_capacity(gathers.len() * LANES as usize * 8);
        for gather in gathers {
            let lanes = gather.iter().cycle().take(LANES as usize);
            lanes.for_each(|address| bytes.extend_from_slice(&address.to_le_bytes()));
        }
        let list = self.scratch((bytes.len() + gathers.len() * 8) as u64)?;
        self.write(list, &bytes)?;
        let out = list + bytes.len() as u64;
        let shape = Shape {
            ctas: self.card().sms,
            threads: LANES,
        };
        let arguments = [
            Word::U64(list),
            Word::U64(out),
            Word::U32(sm),
            Word::U32(gathers.len() as u32),
        ];
        self.launch("gathers", GATHERS, Load::PastL1, shape, &arguments)?;
        let words = self.read(out, gathers.len() * 2)?;
        Ok(words.into_iter().step_by(2).collect())
    }
}
