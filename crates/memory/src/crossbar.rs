//! The two networks between SMs and slices (MODEL.md §8.1): a port moves so many sectors per cycle, one
//! packet after the other, in the order in which they reach it; the rest waits. A packet reaches the
//! other side's port a fixed number of cycles after it entered.
//!
//! Nothing is lost or turned back: an SM sends a packet only with a credit (`sm_port.outstanding` of
//! them), which the last answer to the packet gives back; those for lines of instructions and constants go
//! without one, as many as those caches miss at once. So what waits for a slice is at most what all SMs
//! have credits and such misses for, and what waits for an SM at most four replies for each of its credits.

use source::{Cycle, Line, Reply, RequestId};

use crate::slice::Departure;

/// How many cycles a port is busy with the data of a packet.
#[derive(Clone, Copy, Debug)]
pub struct DataRate([u8; Line::SECTORS as usize + 1]);

impl DataRate {
    /// A port that moves `rate` sectors of one packet per cycle, at least one.
    pub fn new(rate: u64) -> DataRate {
        DataRate(std::array::from_fn(|sectors| {
            (sectors as u64).div_ceil(rate.max(1)).max(1) as u8
        }))
    }

    /// Cycles for so many sectors, 0 to 4; a packet without data takes one.
    #[inline]
    pub fn cycles(self, sectors: u32) -> u64 {
        self.0[sectors as usize].into()
    }
}

/// The port of a slice in the request network.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlicePort {
    next: u64,
}

impl SlicePort {
    /// The L2 cycle in which the port has taken a packet of so many cycles that reaches it in L2 cycle
    /// `reached`.
    #[inline]
    pub fn take(&mut self, reached: u64, cycles: u64) -> u64 {
        self.next = self.next.max(reached) + cycles;
        self.next - 1
    }
}

/// The port of an SM in the reply network.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmPort {
    next: u64,
    /// Longest time that a reply waited for the port.
    pub wait_most: u64,
}

impl SmPort {
    /// Takes a reply that begins to reach the port in cycle `reached`; it needs `cycles` cycles there.
    #[inline]
    pub fn take(&mut self, reached: u64, cycles: u64, departure: &Departure) -> Reply {
        // Nothing comes between the parts of a packet, nor before its last part has left the slice.
        let last = (self.next.max(reached) + cycles - 1).max(reached + u64::from(departure.span));
        self.wait_most = self.wait_most.max(self.next.saturating_sub(reached));
        self.next = last + 1;
        Reply {
            cycle: Cycle(last),
            id: RequestId(departure.id),
            sectors: departure.sectors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_the_cycles_of_its_sectors() {
        for (rate, cycles) in [(1, [1, 1, 2, 3, 4]), (2, [1, 1, 1, 2, 2]), (4, [1; 5])] {
            let data = DataRate::new(rate);
            for (sectors, want) in (0..).zip(cycles) {
                assert_eq!(data.cycles(sectors), want, "{sectors} at {rate} per cycle");
            }
        }
    }

    #[test]
    fn a_reply_is_there_when_its_last_sector_is() {
        let departure = |sectors, span| Departure {
            cycle: 0,
            id: 7,
            sm: 0,
            sectors,
            span,
            data: true,
            traced: false,
        };
        let mut port = SmPort::default();
        let mut take =
            |reached, cycles, span| port.take(reached, cycles, &departure(0xf, span)).cycle.0;
        // Both sides move one sector per cycle: the port follows the slice.
        assert_eq!(take(10, 4, 3), 13);
        // The next packet waits for the port.
        assert_eq!(take(12, 1, 0), 14);
        // A faster port waits for the slice.
        assert_eq!(take(20, 1, 3), 23);
    }
}
