//! Chases of pointers around a ring, timed as a whole: the time of a hop with nothing else in it.

use crate::bench::{Bench, LANES, LINE, Shape, Word};
use crate::error::ProbeError;
use crate::kernel::Load;
use crate::random::Order;

const TEXT: &str = include_str!("kernels/chase.sass");
/// The registers that sum up what was loaded.
const SUMS: [&str; 2] = ["R32", "R33"];
/// Hops of one round of the kernel's loop.
pub const ROUND: usize = 16;
/// Threads of each CTA that touches a footprint.
const THREADS: u32 = 256;

/// The kernel's name and text: with the sums of a hop, or bare.
pub(crate) fn kernel(bare: bool) -> (&'static str, String) {
    if !bare {
        return ("chase", TEXT.to_owned());
    }
    let sums = |line: &&str| !SUMS.iter().any(|sum| line.contains(sum));
    let lines: Vec<&str> = TEXT.lines().filter(sums).collect();
    ("bare_chase", lines.join("\n") + "\n")
}

/// Lines that all SMs touch before the chase begins.
#[derive(Debug, Clone, Copy)]
pub struct Footprint {
    /// Address of the first.
    pub base: u64,
    /// How many there are.
    pub lines: u32,
}

impl Footprint {
    /// Addresses of the first `count` lines in the order of touching.
    pub fn first(self, count: usize) -> Vec<u64> {
        let places = Order::new(self.lines).places();
        let lines = places.map(|place| self.base + u64::from(place) * LINE);
        lines.take(count).collect()
    }
}

/// A chase.
#[derive(Debug, Clone)]
pub struct Chase<'a> {
    /// Addresses in the order of the hops; the last points at the first.
    pub ring: &'a [u64],
    /// What is touched before, if anything.
    pub touched: Option<Footprint>,
    /// How the hops treat the L1 cache.
    pub load: Load,
    /// Whether a hop is a load and nothing else, or also sums up what was loaded.
    pub bare: bool,
    /// The SM that chases.
    pub sm: u32,
    /// Hops that are not timed, then hops that are: multiples of [`ROUND`].
    pub hops: (usize, usize),
}

impl Bench {
    /// Cycles per hop of a chase.
    ///
    /// # Errors
    /// A launch that fails, a chase that came out where it could not.
    pub fn chase(&mut self, chase: &Chase<'_>) -> Result<f64, ProbeError> {
        let next = chase.ring.iter().skip(1).chain(chase.ring.first());
        for (from, to) in chase.ring.iter().zip(next) {
            self.write(*from, &to.to_le_bytes())?;
        }
        let rounds = |hops: usize| (hops / ROUND).max(1);
        let (untimed, timed) = (rounds(chase.hops.0), rounds(chase.hops.1));
        let sms = self.card().sms;
        let touched = chase.touched.unwrap_or(Footprint { base: 0, lines: 0 });
        let order = Order::new(touched.lines);
        let start = chase.ring.first().copied().unwrap_or(0);
        let out = self.scratch(256)?;
        let counter = out + 128;
        self.write(counter, &[0; 8])?;
        let arguments = [
            Word::U64(start),
            Word::U64(out),
            Word::U64(touched.base),
            Word::U64(counter),
            Word::U32(chase.sm),
            Word::U32(untimed as u32),
            Word::U32(timed as u32),
            Word::U32(touched.lines),
            Word::U32(order.mask),
            Word::U32(order.multiplier),
            Word::U32(sms * THREADS / LANES),
        ];
        let shape = Shape {
            ctas: sms,
            threads: THREADS,
        };
        let (name, text) = kernel(chase.bare);
        self.launch(name, &text, chase.load, shape, &arguments)?;
        let words = self.read(out, 2)?;
        // Where the chase stands in the end tells that it went around.
        let hops = (untimed + timed) * ROUND;
        let end = chase.ring[hops % chase.ring.len()];
        let folded = end as u32 ^ (end >> 32) as u32;
        if words[1] != folded {
            return Err(ProbeError::Inconclusive {
                probe: "chase",
                reason: format!(
                    "ended at a place that folds to {:#x}, not {folded:#x}",
                    words[1]
                ),
            });
        }
        Ok(f64::from(words[0]) / (timed * ROUND) as f64)
    }
}
