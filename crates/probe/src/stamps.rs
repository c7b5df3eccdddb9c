//! Launches whose warps each store when they began and ended what is measured: throughputs.

use std::collections::BTreeMap;

use crate::bench::{Bench, LANES, Shape, Word};
use crate::error::ProbeError;
use crate::kernel::Load;

/// What one warp stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Clock at its begin.
    pub first: u32,
    /// Clock at its end.
    pub last: u32,
    /// The SM whose clock that was.
    pub sm: u32,
}

impl Stamp {
    /// Cycles between.
    pub fn cycles(self) -> u32 {
        self.last.wrapping_sub(self.first)
    }
}

/// Bytes of a warp's stamps in memory.
const BYTES: u64 = 16;

impl Bench {
    /// Launches a kernel whose parameters are `before`, the place of the stamps and `after`; one stamp of
    /// each warp.
    ///
    /// # Errors
    /// A text at fault, a launch that fails.
    pub fn stamps(
        &mut self,
        name: &str,
        text: &str,
        load: Load,
        shape: Shape,
        (before, after): (&[Word], &[Word]),
    ) -> Result<Vec<Stamp>, ProbeError> {
        let warps = u64::from(shape.ctas) * u64::from(shape.threads / LANES);
        let out = self.scratch(warps * BYTES)?;
        let mut arguments = before.to_vec();
        arguments.push(Word::U64(out));
        arguments.extend_from_slice(after);
        self.launch(name, text, load, shape, &arguments)?;
        let words = self.read(out, (warps * BYTES / 4) as usize)?;
        let (stamps, _) = words.as_chunks::<4>();
        let stamps = stamps
            .iter()
            .map(|&[first, last, sm, _]| Stamp { first, last, sm });
        Ok(stamps.collect())
    }
}

/// Cycles from the first begin to the last end on the SM where that took longest: clocks of different SMs
/// are not compared.
pub fn span(stamps: &[Stamp]) -> u32 {
    let mut of_sms: BTreeMap<u32, (u32, i32, i32)> = BTreeMap::new();
    for stamp in stamps {
        let (origin, first, last) = of_sms.entry(stamp.sm).or_insert((stamp.first, 0, 0));
        // Clocks wrap; an SM's stamps lie close together.
        *first = (*first).min(stamp.first.wrapping_sub(*origin) as i32);
        *last = (*last).max(stamp.last.wrapping_sub(*origin) as i32);
    }
    let spans = of_sms
        .values()
        .map(|(_, first, last)| last.wrapping_sub(*first) as u32);
    spans.max().unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_different_sms_are_not_compared() {
        let stamp = |first, last, sm| Stamp { first, last, sm };
        let stamps = [
            stamp(u32::MAX - 9, 90, 0),
            stamp(u32::MAX, 110, 0),
            stamp(5000, 5050, 1),
        ];
        assert_eq!(span(&stamps), 120);
        assert_eq!(stamps[0].cycles(), 100);
    }
}
