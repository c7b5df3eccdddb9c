//! The two networks between SMs and slices (MODEL.md §8.1): every port takes a fixed number of
//! packets per cycle, in the order in which they reach it; the rest waits. A packet reaches the
//! other side's port a fixed number of cycles after it entered. Buffers are never full: the SMs'
//! credits bound what is under way.

use source::{Cycle, Reply, RequestId};

/// The port of a slice in the request network.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlicePort {
    next: u64,
}

impl SlicePort {
    /// The cycle in which the port takes a packet that reaches it in cycle `reached`.
    #[inline]
    pub fn take(&mut self, reached: u64, rate: u64) -> u64 {
        let turn = self.next.max(reached * rate);
        self.next = turn + 1;
        turn / rate
    }
}

/// Largest number of packets that a port takes per cycle.
const RATE_MAX: usize = 4;

/// The port of an SM in the reply network. It hands replies of one cycle over together, by id, once
/// no other can join them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SmPort {
    next: u64,
    cycle: u64,
    held: [u32; RATE_MAX],
    count: u8,
}

impl SmPort {
    /// Takes a reply that reaches the port in cycle `reached`.
    #[inline]
    pub fn take(&mut self, reached: u64, id: u32, rate: u64, replies: &mut Vec<Reply>) {
        let turn = self.next.max(reached * rate);
        self.next = turn + 1;
        if rate == 1 {
            // No other reply can come in this cycle.
            replies.push(Reply {
                cycle: Cycle(turn),
                id: RequestId(id),
            });
            return;
        }
        let cycle = turn / rate;
        if cycle != self.cycle {
            self.hand_over(replies);
            self.cycle = cycle;
        }
        self.held[usize::from(self.count)] = id;
        self.count += 1;
    }

    /// Hands over what is held for a cycle before `before`, which nothing else can reach.
    #[inline]
    pub fn flush(&mut self, before: u64, replies: &mut Vec<Reply>) {
        if self.cycle < before {
            self.hand_over(replies);
        }
    }

    /// The cycle of what is held.
    pub fn held(&self) -> u64 {
        if self.count == 0 {
            u64::MAX
        } else {
            self.cycle
        }
    }

    #[inline]
    fn hand_over(&mut self, replies: &mut Vec<Reply>) {
        let held = &mut self.held[..usize::from(self.count)];
        held.sort_unstable();
        replies.extend(held.iter().map(|&id| Reply {
            cycle: Cycle(self.cycle),
            id: RequestId(id),
        }));
        self.count = 0;
    }
}
