//! The crossing between the core clock and another, that of the DRAM's commands or of the L2, exact in
//! integers.

use crate::divide::Divisor;

/// Two clocks whose first edges coincide at cycle 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// Command cycles ...
    command: Divisor,
    /// ... per this many core cycles.
    core: Divisor,
}

impl Clocks {
    /// Clocks of these frequencies in MHz, taken to the nearest kHz.
    pub fn from_mhz(core: f64, command: f64) -> Clocks {
        let khz = |mhz: f64| ((mhz * 1000.0).round() as u64).max(1);
        let (core, command) = (khz(core), khz(command));
        let divisor = gcd(core, command);
        Clocks {
            command: Divisor::new(command / divisor),
            core: Divisor::new(core / divisor),
        }
    }

    /// The first command cycle that does not begin before core cycle `core` does.
    #[inline]
    pub fn command_at_or_after(self, core: u64) -> u64 {
        scale(core, self.command.get(), self.core.get() - 1, self.core)
    }

    /// The first core cycle that does not begin before command cycle `command` does.
    #[inline]
    pub fn core_at_or_after(self, command: u64) -> u64 {
        scale(
            command,
            self.core.get(),
            self.command.get() - 1,
            self.command,
        )
    }

    /// The last core cycle that does not begin after command cycle `command` does.
    #[inline]
    pub fn core_at_or_before(self, command: u64) -> u64 {
        scale(command, self.core.get(), 0, self.command)
    }
}

/// A clock domain beside the core's, or the core's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain(Option<Clocks>);

impl Domain {
    /// A domain of `mhz` MHz; without a number it runs with the core clock.
    pub fn new(core: f64, mhz: Option<f64>) -> Domain {
        Domain(mhz.map(|mhz| Clocks::from_mhz(core, mhz)))
    }

    /// The first cycle of the domain that does not begin before core cycle `core` does.
    #[inline]
    pub fn cycle(self, core: u64) -> u64 {
        self.0
            .map_or(core, |clocks| clocks.command_at_or_after(core))
    }

    /// The first core cycle that does not begin before cycle `cycle` of the domain does.
    #[inline]
    pub fn core(self, cycle: u64) -> u64 {
        self.0
            .map_or(cycle, |clocks| clocks.core_at_or_after(cycle))
    }
}

/// ⌊(cycle × by + add) / per⌋.
#[inline]
fn scale(cycle: u64, by: u64, add: u64, per: Divisor) -> u64 {
    match cycle.checked_mul(by).and_then(|n| n.checked_add(add)) {
        Some(dividend) => per.divide(dividend),
        None => wide(cycle, by, add, per.get()),
    }
}

#[cold]
fn wide(cycle: u64, by: u64, add: u64, per: u64) -> u64 {
    let quotient = (u128::from(cycle) * u128::from(by) + u128::from(add)) / u128::from(per);
    u64::try_from(quotient).unwrap_or(u64::MAX)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossing_there_and_back_never_loses_a_cycle() {
        for (core, command) in [
            (1800.0, 4000.0),
            (1395.0, 4875.0),
            (1410.0, 1215.0),
            (2600.0, 5250.0),
        ] {
            let clocks = Clocks::from_mhz(core, command);
            for cycle in (0..10_000).chain([1_000_000_007, 1 << 40, (1 << 60) + 1]) {
                let there = clocks.command_at_or_after(cycle);
                assert!(clocks.core_at_or_before(there) >= cycle);
                // No edge lies between: the command cycle before begins earlier.
                assert!(there == 0 || clocks.core_at_or_after(there - 1) <= cycle);
                assert!(clocks.core_at_or_after(there) >= cycle);
            }
        }
    }
}
