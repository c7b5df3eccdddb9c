//! Execution units of a sub-core and when each can take the next instruction (MODEL.md §2.5, §6).
//!
//! Fixed-latency units are looked at when an instruction is issued; variable-latency units make it wait
//! in Control.

hardware::parameters! {
    /// The FP64 unit that the sub-cores of an SM share, where they have none of their own.
    pub struct SharedFloat64Parameters = "shared_float64" {
        /// Places of a sub-core's queue.
        queue: u32, "instructions", 1..=16;
        /// One-cycle stages before the transfer.
        stages: u64, "cycles", 0..=32;
        /// Transfer cycles per general-register source.
        transfer_register: u64, "cycles", 0..=16;
        /// Transfer cycles of the instruction itself.
        transfer_base: u64, "cycles", 0..=16;
        /// Source operands that are counted; those that are no register take one cycle each.
        sources: u64, "operands", 0..=4;
        /// Cycles from hand-over until the unit sees the instruction.
        accept: u64, "cycles", 0..=16;
        /// Cycles of the way back per destination register.
        write_register: u64, "cycles", 0..=16;
    }
}

/// Number of units that are told apart.
pub const UNITS: usize = 12;

/// Unit numbers, in the order of [`hardware::Unit`].
pub type UnitIndex = u8;

/// When each unit's input is free.
pub struct Units {
    free_at: [u64; UNITS],
}

impl Units {
    /// All free.
    pub fn new() -> Units {
        Units {
            free_at: [0; UNITS],
        }
    }

    /// Whether `unit` can take an instruction that is issued in cycle `now`.
    #[inline]
    pub fn is_free(&self, unit: UnitIndex, now: u64) -> bool {
        self.free_at[unit as usize] <= now
    }

    /// The unit among `first` and `second` that can take an instruction; the first is preferred.
    #[inline]
    pub fn choose(&self, first: UnitIndex, second: UnitIndex, now: u64) -> Option<UnitIndex> {
        if self.is_free(first, now) {
            Some(first)
        } else if self.is_free(second, now) {
            Some(second)
        } else {
            None
        }
    }

    /// First cycle in which `first` or `second` can take an instruction.
    #[inline]
    pub fn opens(&self, first: UnitIndex, second: UnitIndex) -> u64 {
        self.free_at[first as usize].min(self.free_at[second as usize])
    }

    /// `unit` takes an instruction in cycle `now` and is busy for `interval` cycles.
    #[inline]
    pub fn take(&mut self, unit: UnitIndex, now: u64, interval: u64) {
        self.free_at[unit as usize] = now + interval;
    }

    /// The instruction that `unit` took last is held for one more cycle on its way.
    #[inline]
    pub fn hold(&mut self, unit: UnitIndex) {
        self.free_at[unit as usize] += 1;
    }
}
