//! The bits that keeping dependences takes in each warp (MODEL.md §9.4).

use super::control_bits::{COUNTER_MOST, COUNTERS};
use super::scoreboard::DependenceMode;
use crate::program::{PREDICATES, UNIFORM};

/// Bits of the stall count in a warp's state.
const STALL_BITS: u32 = 4;
/// Its yield flag.
const YIELD_BITS: u32 = 1;

/// Sizes that the bits follow from.
#[derive(Clone, Copy, Debug)]
pub struct DependenceArea {
    /// Registers of a warp that a scoreboard tells apart: general and uniform registers, predicates of both
    /// kinds, without those that always read the same.
    registers: u32,
    /// Readers of a register counted at most; 0 for any number.
    consumers: u32,
}

impl DependenceArea {
    /// For threads of `general` registers and scoreboards that count `consumers` readers of each.
    pub fn new(general: u32, consumers: u32) -> DependenceArea {
        let others = UNIFORM as u32 - 1 + 2 * (PREDICATES as u32 - 1);
        DependenceArea {
            registers: general + others,
            consumers,
        }
    }

    /// Bits of a warp's state; `None` if nothing bounds them.
    pub fn bits_per_warp(&self, mode: DependenceMode) -> Option<u32> {
        let counter = (COUNTER_MOST as u32 + 1).ilog2();
        let control = COUNTERS as u32 * counter + STALL_BITS + YIELD_BITS;
        let readers = match self.consumers {
            0 => None,
            most => Some(self.registers * (u32::BITS - most.leading_zeros())),
        };
        match mode {
            DependenceMode::ControlBits => Some(control),
            DependenceMode::Scoreboard => Some(self.registers),
            DependenceMode::ScoreboardWar => readers.map(|readers| self.registers + readers),
            DependenceMode::Hybrid => readers.map(|readers| control + self.registers + readers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of a register file of 65,536 registers in hundredths of a percent.
    fn share(mode: DependenceMode, warps: u32) -> u32 {
        let bits = DependenceArea::new(255, 63).bits_per_warp(mode);
        let bits = bits.expect("a bound") * warps;
        (f64::from(bits) / f64::from(65_536 * 32) * 10_000.0).round() as u32
    }

    #[test]
    fn shares_are_the_published_ones() {
        assert_eq!(share(DependenceMode::ControlBits, 48), 9);
        assert_eq!(share(DependenceMode::ScoreboardWar, 48), 532);
        assert_eq!(share(DependenceMode::ControlBits, 64), 13);
        assert_eq!(share(DependenceMode::ScoreboardWar, 64), 709);
    }

    #[test]
    fn bits_follow_from_registers_and_readers() {
        let area = DependenceArea::new(255, 63);
        assert_eq!(area.bits_per_warp(DependenceMode::ControlBits), Some(41));
        assert_eq!(area.bits_per_warp(DependenceMode::Scoreboard), Some(332));
        assert_eq!(
            area.bits_per_warp(DependenceMode::ScoreboardWar),
            Some(2324)
        );
        let one = DependenceArea::new(255, 1);
        assert_eq!(one.bits_per_warp(DependenceMode::ScoreboardWar), Some(664));
        let any = DependenceArea::new(255, 0);
        assert_eq!(any.bits_per_warp(DependenceMode::ScoreboardWar), None);
    }
}
