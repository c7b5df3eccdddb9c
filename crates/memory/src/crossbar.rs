//! The two networks between SMs and slices (MODEL.md §8.1): a port moves so many sectors per cycle, one
//! packet after the other, in the order in which they reach it; the rest waits. A packet reaches the
//! other side's port a fixed number of cycles after it entered.
//!
//! Nothing is lost, and every queue ends: an SM sends a packet only with a credit (`sm_port.outstanding` of
//! them), which the last answer to the packet gives back. A packet whose slice has no place for it
//! (`request_queue`) waits at its SM's side, in the place that its credit is; packets for other slices pass
//! it. A reply goes to a place that its SM keeps for it, so the reply network takes whatever a slice's
//! queue (`reply_queue`) gives; at most four replies for each credit of an SM wait for that SM's port.

use std::collections::VecDeque;

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
#[derive(Clone, Debug, Default)]
pub struct SmPort {
    next: u64,
    /// When each of the last `most` replies at most has passed, the earliest first.
    passed: VecDeque<u64>,
    /// Most replies that waited for the port, the one that passes among them.
    pub most: u64,
    /// Longest time that a reply waited for the port.
    pub wait_most: u64,
}

impl SmPort {
    /// Begins to count anew.
    pub fn reset_statistics(&mut self) {
        self.passed.clear();
        (self.most, self.wait_most) = (0, 0);
    }

    /// Takes a reply that begins to reach the port in cycle `reached`; it needs `cycles` cycles there.
    #[inline]
    pub fn take(&mut self, reached: u64, cycles: u64, departure: &Departure) -> Reply {
        // Nothing comes between the parts of a packet, nor before its last part has left the slice.
        let last = (self.next.max(reached) + cycles - 1).max(reached + u64::from(departure.span));
        self.wait_most = self.wait_most.max(self.next.saturating_sub(reached));
        if self.next <= reached {
            self.passed.clear();
        }
        self.next = last + 1;
        if self.passed.len() as u64 == self.most {
            // Only where there might be more than ever before need it be known which have passed.
            while self.passed.front().is_some_and(|&cycle| cycle < reached) {
                self.passed.pop_front();
            }
        }
        self.passed.push_back(last);
        self.most = self.most.max(self.passed.len() as u64);
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
        // Three come at once: the last of them waits for two.
        assert_eq!(
            [take(30, 1, 0), take(30, 1, 0), take(30, 1, 0)],
            [30, 31, 32]
        );
        assert_eq!(port.most, 3);
    }
}
