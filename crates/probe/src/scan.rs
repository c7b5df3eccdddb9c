//! Loads of a list, each timed on its own.

use crate::bench::{Bench, LANES, Shape, Word};
use crate::error::ProbeError;
use crate::kernel::Load;

/// Who goes through a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// One warp of that SM.
    Sm(u32),
    /// As many warps as there are SMs, each a part of the list.
    Everywhere,
}

const TEXT: &str = include_str!("kernels/scan.sass");
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
        let Some(&last) = list.last() else {
            return Ok(Vec::new());
        };
        let sms = self.card().sms;
        let (parts, sm) = match place {
            Place::Sm(sm) => (1, sm),
            Place::Everywhere => (sms, ANY),
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
        let shape = Shape {
            ctas: sms,
            threads: LANES,
        };
        let arguments = [
            Word::U64(addresses),
            Word::U64(out),
            Word::U32(sm),
            Word::U32(chunks),
        ];
        self.launch("scan", TEXT, load, shape, &arguments)?;
        self.read(out, list.len())
    }
}
