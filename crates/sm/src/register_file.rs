//! Ports of the banked register file (MODEL.md §5.1, §5.2, §5.5): two banks per sub-core, bank = low bit
//! of the register number, one read and one write port each.
//!
//! Bookings are words of bits, bit i = cycle `base` + i, shifted as time passes.

hardware::parameters! {
    /// The register file of each sub-core.
    pub struct RegisterFileParameters = "register_file" {
        /// Read ports per bank; 1 or 2 as studied, or more than any instruction needs (ideal).
        read_ports: u32, "ports", 1..=16;
        /// Cycles of the read phase of an ordinary fixed-latency instruction.
        read_window: u32, "cycles", 1..=8;
        /// Whether the reuse cache is there.
        reuse_cache: bool, "", false..=true;
        /// Operand slots of the reuse cache per bank.
        reuse_slots: u32, "slots", 0..=4;
        /// Whether an instruction's reads of a bank fill the last cycles of the read phase; otherwise
        /// its earliest free ones.
        reads_last: bool, "", false..=true;
    }
}

/// Most read ports per bank that are told apart; more count as unlimited.
const PORT_WORDS: usize = 2;

/// Read-port bookings of both banks.
pub struct ReadPorts {
    ports: usize,
    last: bool,
    base: u64,
    /// `busy[bank][k]`: cycles in which more than k ports of the bank are booked.
    busy: [[u32; PORT_WORDS]; 2],
}

impl ReadPorts {
    /// Nothing booked.
    pub fn new(ports: u32, last: bool) -> ReadPorts {
        ReadPorts {
            ports: ports as usize,
            last,
            base: 0,
            busy: [[0; PORT_WORDS]; 2],
        }
    }

    #[inline]
    fn advance(&mut self, now: u64) {
        let passed = now - self.base;
        if passed == 0 {
            return;
        }
        self.base = now;
        for bank in &mut self.busy {
            for word in bank {
                *word = if passed >= 32 { 0 } else { *word >> passed };
            }
        }
    }

    /// Books `needs[bank]` reads within the `window` cycles after `now`, earliest first or, as `last`
    /// asks, in just the last cycles that they need; false (and nothing booked) if they do not fit.
    #[inline]
    pub fn book(&mut self, now: u64, needs: [u8; 2], window: u32) -> bool {
        if self.ports > PORT_WORDS {
            return true;
        }
        self.advance(now);
        let span = (1u32 << window) - 1;
        // Reads that end at a fixed point need the last cycles, as many as ports ask for.
        let cycles = |need: u8| u32::from(need).div_ceil(self.ports as u32).min(window);
        let place = |need: u8| match self.last {
            true => span & !((1u32 << (window - cycles(need))) - 1),
            false => span,
        };
        // The highest word is set only where all ports are booked.
        let last = (self.ports - 1) % PORT_WORDS;
        let mut booked = self.busy;
        for (busy, need) in booked.iter_mut().zip(needs) {
            let span = place(need);
            for _ in 0..need {
                let free = !(busy[last] >> 1) & span;
                if free == 0 {
                    return false;
                }
                let earliest = (free & free.wrapping_neg()) << 1;
                let port = if busy[0] & earliest == 0 { 0 } else { last };
                busy[port] |= earliest;
            }
        }
        self.busy = booked;
        true
    }

    /// Books one read in each bank in the cycle after `now`, as memory instructions do.
    #[inline]
    pub fn book_both_next(&mut self, now: u64) -> bool {
        self.book(now, [1, 1], 1)
    }
}

/// Write-port bookings of both banks.
pub struct WritePorts {
    base: u64,
    busy: [u64; 2],
    /// Cycles in which the result queue is drained.
    drained: u64,
}

impl WritePorts {
    /// Nothing booked.
    pub fn new() -> WritePorts {
        WritePorts {
            base: 0,
            busy: [0; 2],
            drained: 0,
        }
    }

    #[inline]
    fn advance(&mut self, now: u64) {
        let passed = now - self.base;
        if passed == 0 {
            return;
        }
        self.base = now;
        let shift = |word: u64| if passed >= 64 { 0 } else { word >> passed };
        self.busy = [shift(self.busy[0]), shift(self.busy[1])];
        self.drained = shift(self.drained);
    }

    /// A fixed-latency result enters the result queue for `cycle`: written in the first cycle from then
    /// on in which the queue is not drained for another one. It never delays its consumers.
    #[inline]
    pub fn book_result(&mut self, now: u64, cycle: u64, banks: u8) {
        self.advance(now);
        let ahead = cycle - now;
        if ahead >= 63 || banks == 0 {
            return;
        }
        let offset = ahead + (!(self.drained >> ahead)).trailing_zeros() as u64;
        if offset < 64 {
            self.drained |= 1 << offset;
            for bank in 0..2 {
                if banks >> bank & 1 == 1 {
                    self.busy[bank] |= 1 << offset;
                }
            }
        }
    }

    /// A loaded register wants the ports of `banks` in `cycle`; returns the cycle in which it gets
    /// them: the load waits for fixed-latency results.
    #[inline]
    pub fn book_load(&mut self, now: u64, cycle: u64, banks: u8) -> u64 {
        self.advance(now);
        let ahead = cycle - now;
        if ahead >= 63 {
            return cycle;
        }
        let mut busy = 0;
        for bank in 0..2 {
            if banks >> bank & 1 == 1 {
                busy |= self.busy[bank];
            }
        }
        let offset = ahead + (!(busy >> ahead)).trailing_zeros() as u64;
        if offset < 64 {
            for bank in 0..2 {
                if banks >> bank & 1 == 1 {
                    self.busy[bank] |= 1 << offset;
                }
            }
        }
        now + offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MODEL.md §3.3: bank 0 is used in cycles 6, 7, 8 by the first FFMA; the second needs 1, 2 or 3.
    #[test]
    fn listing_a_waits_zero_one_two_cycles() {
        for (needs, expected) in [(1, 6), (2, 7), (3, 8)] {
            for last in [false, true] {
                let mut ports = ReadPorts::new(1, last);
                assert!(ports.book(5, [3, 0], 3));
                let mut now = 6;
                while !ports.book(now, [needs, 3 - needs], 3) {
                    now += 1;
                }
                assert_eq!(now, expected);
            }
        }
    }

    /// lab: a100_register_file_cache. One even register, then three: two cycles lost on a machine whose
    /// reads end at a fixed point, none where they begin as early as they can.
    #[test]
    fn reads_that_end_at_a_fixed_point_meet_behind_a_single_read() {
        for (last, expected) in [(false, 6), (true, 8)] {
            let mut ports = ReadPorts::new(1, last);
            assert!(ports.book(5, [1, 2], 3));
            let mut now = 6;
            while !ports.book(now, [3, 0], 3) {
                now += 1;
            }
            assert_eq!(now, expected);
        }
    }

    #[test]
    fn two_ports_never_wait() {
        let mut ports = ReadPorts::new(2, false);
        assert!(ports.book(5, [3, 0], 3));
        assert!(ports.book(6, [3, 0], 3));
    }

    #[test]
    fn a_load_waits_for_a_result_in_its_bank() {
        let mut ports = WritePorts::new();
        ports.book_result(0, 10, 0b01);
        assert_eq!(ports.book_load(4, 10, 0b10), 10);
        assert_eq!(ports.book_load(4, 10, 0b01), 11);
    }

    #[test]
    fn two_results_in_one_cycle_drain_one_after_the_other() {
        let mut ports = WritePorts::new();
        ports.book_result(0, 10, 0b01);
        ports.book_result(0, 10, 0b01);
        assert_eq!(ports.book_load(0, 10, 0b01), 12);
    }
}
