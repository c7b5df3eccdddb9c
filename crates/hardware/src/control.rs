//! What the control field of an instruction means on a GPU (MODEL.md §1.3, §1.5): in one place for the
//! timing model and for static checks, which see the same code.

crate::parameters! {
    /// What stall counts mean.
    pub struct StallParameters = "issue" {
        /// Distance to the warp's next instruction after stall 0 with yield.
        stall_zero_yield: u16, "cycles", 1..=63;
        /// Distances after the highest stall counts without yield, which do not mean what they say: one per
        /// count, the last for 15; empty where every count does.
        collapsed_stalls: Vec<u32>, "cycles", ..;
    }
}

crate::parameters! {
    /// When what a control field names takes effect, in cycles behind the issue of its instruction.
    pub struct ControlParameters = "control" {
        /// Cycles from an instruction's issue until a wait mask sees its dependence counters raised.
        counter_visible: u16, "cycles", 1..=15;
        /// Least distance from a taken branch to its target, which is fetched anew.
        redirect: u16, "cycles", 1..=15;
        /// Cycles from issue to the register read of a fixed-latency instruction.
        register_read: u16, "cycles", 1..=15;
    }
}

/// Stall counts that a control field can hold.
const COUNTS: usize = 16;
/// The longest distance that a stall count can ask for.
const MOST: u32 = 63;

impl StallParameters {
    /// Cycles from the issue of an instruction with `stall` and `yields` to the warp's next one, at least.
    pub fn distance(&self, stall: u8, yields: bool) -> u8 {
        match (stall, yields) {
            (0, true) => u32::from(self.stall_zero_yield).min(MOST) as u8,
            (_, true) => stall.max(2),
            (_, false) => self.collapsed(stall, yields).unwrap_or(stall.max(1)),
        }
    }

    /// The distance after a stall count that collapses; `None` if it means what it says.
    pub fn collapsed(&self, stall: u8, yields: bool) -> Option<u8> {
        let first = COUNTS.saturating_sub(self.collapsed_stalls.len());
        let place = usize::from(stall).checked_sub(first)?;
        let distance = self.collapsed_stalls.get(place).filter(|_| !yields)?;
        Some((*distance).clamp(1, MOST) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of MODEL.md §1.3: a count with yield lasts two cycles at least, 0 with yield a long while,
    /// and those from 12 on without yield a cycle or two.
    #[test]
    fn counts_mean_what_they_say_but_for_the_special_ones() {
        let stalls = StallParameters {
            stall_zero_yield: 45,
            collapsed_stalls: vec![1, 2, 2, 0],
        };
        for (stall, yields, distance) in [
            (0, false, 1),
            (0, true, 45),
            (1, false, 1),
            (1, true, 2),
            (11, false, 11),
            (12, false, 1),
            (13, false, 2),
            (12, true, 12),
            (15, false, 1),
            (15, true, 15),
        ] {
            assert_eq!(stalls.distance(stall, yields), distance, "{stall} {yields}");
        }
        assert_eq!(stalls.collapsed(11, false), None);
        assert_eq!(stalls.collapsed(14, true), None);
        assert_eq!(stalls.collapsed(14, false), Some(2));
    }

    #[test]
    fn a_gpu_without_special_counts_has_none() {
        let stalls = StallParameters {
            stall_zero_yield: 2,
            collapsed_stalls: Vec::new(),
        };
        assert_eq!(stalls.distance(15, false), 15);
        assert_eq!(stalls.collapsed(15, false), None);
    }
}
