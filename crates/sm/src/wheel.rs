//! The SM's calendar: what will happen at a known later cycle. Nothing polls; whoever waits has an
//! entry here or in a ring of its sub-core (DESIGN.md §4, speed rules 3 and 4).

use crate::event::Event;

/// Cycles that the wheel covers; events further away wait in a heap.
const HORIZON: u64 = 1024;
const WORDS: usize = HORIZON as usize / 64;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Node {
    event: Event,
    next: u32,
}

/// The chain of nodes of one cycle.
#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

/// Events by cycle, in the order in which they were scheduled within a cycle.
pub struct Wheel {
    nodes: Vec<Node>,
    free: u32,
    /// First and last node of each cycle, side by side: an event touches one cache line of the host.
    cycles: Box<[Ends; HORIZON as usize]>,
    occupied: [u64; WORDS],
    /// Words of `occupied` that are not zero.
    summary: u32,
    /// Entries beyond the horizon: (cycle, sequence, event), smallest first.
    far: std::collections::BinaryHeap<std::cmp::Reverse<Far>>,
    sequence: u64,
    /// Cycle up to which everything has been taken out (exclusive).
    base: u64,
    pending: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Far {
    cycle: u64,
    sequence: u64,
    event: Event,
}

impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Far) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Far {
    fn cmp(&self, other: &Far) -> std::cmp::Ordering {
        (self.cycle, self.sequence).cmp(&(other.cycle, other.sequence))
    }
}

impl Wheel {
    /// An empty wheel that starts at cycle 0.
    pub fn new() -> Wheel {
        Wheel {
            nodes: Vec::with_capacity(512),
            free: NONE,
            cycles: Box::new(
                [Ends {
                    first: NONE,
                    last: NONE,
                }; HORIZON as usize],
            ),
            occupied: [0; WORDS],
            summary: 0,
            far: std::collections::BinaryHeap::new(),
            sequence: 0,
            base: 0,
            pending: 0,
        }
    }

    /// Schedules `event` for `cycle`, which must not lie before the cycle being processed.
    #[inline]
    pub fn schedule(&mut self, cycle: u64, event: Event) {
        debug_assert!(cycle >= self.base, "event scheduled into the past");
        let cycle = cycle.max(self.base);
        self.pending += 1;
        if cycle - self.base >= HORIZON {
            self.sequence += 1;
            self.far.push(std::cmp::Reverse(Far {
                cycle,
                sequence: self.sequence,
                event,
            }));
            return;
        }
        self.insert(cycle, event);
    }

    #[inline]
    fn insert(&mut self, cycle: u64, event: Event) {
        let node = Node { event, next: NONE };
        let index = if self.free == NONE {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let index = self.free;
            self.free = self.nodes[index as usize].next;
            self.nodes[index as usize] = node;
            index
        };
        let place = (cycle % HORIZON) as usize;
        let ends = &mut self.cycles[place];
        if ends.first == NONE {
            ends.first = index;
            self.occupied[place / 64] |= 1 << (place % 64);
            self.summary |= 1 << (place / 64);
        } else {
            self.nodes[ends.last as usize].next = index;
        }
        ends.last = index;
    }

    /// The next event of cycle `now`, if any is left. Cycles before `now` must be empty.
    #[inline]
    pub fn take(&mut self, now: u64) -> Option<Event> {
        if now > self.base {
            self.base = now;
            self.pull_far();
        }
        let place = (now % HORIZON) as usize;
        let index = self.cycles[place].first;
        if index == NONE {
            return None;
        }
        let node = self.nodes[index as usize];
        self.cycles[place].first = node.next;
        if node.next == NONE {
            self.occupied[place / 64] &= !(1 << (place % 64));
            if self.occupied[place / 64] == 0 {
                self.summary &= !(1 << (place / 64));
            }
        }
        self.nodes[index as usize].next = self.free;
        self.free = index;
        self.pending -= 1;
        Some(node.event)
    }

    fn pull_far(&mut self) {
        while let Some(std::cmp::Reverse(far)) = self.far.peek() {
            if far.cycle - self.base >= HORIZON {
                break;
            }
            let far = *far;
            self.far.pop();
            self.insert(far.cycle, far.event);
        }
    }

    /// Events not taken yet.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Cycle of the earliest event, `u64::MAX` if there is none.
    #[inline]
    pub fn next(&self) -> u64 {
        if self.pending == 0 {
            return u64::MAX;
        }
        let start = (self.base % HORIZON) as usize;
        let (word, bit) = (start / 64, start % 64);
        let first = self.occupied[word] >> bit;
        if first != 0 {
            return self.base + first.trailing_zeros() as u64;
        }
        // Words behind this one in turn, this one's lower bits last.
        let rotated = self.summary as u64 | (self.summary as u64) << WORDS;
        let behind = rotated >> (word + 1) & ((1 << WORDS) - 1);
        if behind != 0 {
            let step = behind.trailing_zeros() as usize + 1;
            let bits = self.occupied[(word + step) % WORDS];
            return self.base + (step * 64 - bit) as u64 + bits.trailing_zeros() as u64;
        }
        self.far.peek().map_or(u64::MAX, |far| far.0.cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u16) -> Event {
        Event::HandOver {
            sub_core: number as u8,
        }
    }

    #[test]
    fn events_come_in_cycle_and_schedule_order() {
        let mut wheel = Wheel::new();
        for (cycle, number) in [(5, 1), (5000, 2), (5, 3), (70, 4), (1030, 5)] {
            wheel.schedule(cycle, event(number));
        }
        let mut seen = Vec::new();
        while wheel.next() != u64::MAX {
            let now = wheel.next();
            while let Some(taken) = wheel.take(now) {
                seen.push((now, taken));
            }
        }
        let expected: Vec<_> = [(5, 1), (5, 3), (70, 4), (1030, 5), (5000, 2)]
            .into_iter()
            .map(|(cycle, number)| (cycle, event(number)))
            .collect();
        assert_eq!(seen, expected);
    }
}
