//! The queue of a slice's replies in front of its port into the reply network (MODEL.md §8.1: of so many
//! entries to the network).
//!
//! A reply holds a place from the cycle in which its data are at hand until the last of them has left. Who
//! finds no place waits: a lookup is not begun, the data of a fill stay where they are. The network takes
//! what comes, for it goes to who asked for it and has room.

use std::collections::VecDeque;

use crate::slice::Departure;

/// The replies of a slice; cycles of the L2 clock.
#[derive(Debug)]
pub struct ReplyQueue {
    /// Replies with their departure, in the order of it, until the network takes them over.
    pub outbox: VecDeque<Departure>,
    /// The first cycle in which the port is free.
    port_free: u64,
    /// From when on each place is free, in the order in which they are taken.
    free_from: Box<[u64]>,
    /// The place that is taken next, and the one that was taken first of those still held.
    next: usize,
    first: usize,
    /// Places held, as far as was looked; no more than `most`.
    held: usize,
    /// Most replies in the queue.
    most: u64,
    /// Longest time that a reply waited for the port.
    pub wait_most: u64,
}

impl ReplyQueue {
    /// An empty queue of so many places, at least one.
    pub fn new(places: usize) -> ReplyQueue {
        ReplyQueue {
            outbox: VecDeque::with_capacity(places.max(1)),
            port_free: 0,
            free_from: vec![0; places.max(1)].into_boxed_slice(),
            next: 0,
            first: 0,
            held: 0,
            most: 0,
            wait_most: 0,
        }
    }

    /// The first cycle in which the next reply finds a place.
    #[inline]
    pub fn place_from(&self) -> u64 {
        self.free_from[self.next]
    }

    /// Takes a reply in whose data are at hand in cycle `ready`, not before there is a place, and take
    /// the port for `cycles` cycles: the first of those.
    #[inline]
    pub fn take(&mut self, ready: u64, cycles: u64) -> u64 {
        debug_assert!(self.place_from() <= ready);
        let first = ready.max(self.port_free);
        if first == ready {
            // All before it have left.
            (self.first, self.held) = (self.next, 0);
        } else {
            self.wait_most = self.wait_most.max(first - ready);
            if self.held as u64 == self.most {
                self.look(ready);
            }
        }
        self.port_free = first + cycles;
        self.free_from[self.next] = self.port_free;
        self.next = self.after(self.next);
        self.held += 1;
        self.most = self.most.max(self.held as u64);
        first
    }

    /// Sees which have left by cycle `ready`: only where there might be more than ever before.
    fn look(&mut self, ready: u64) {
        while self.held > 0 && self.free_from[self.first] <= ready {
            self.first = self.after(self.first);
            self.held -= 1;
        }
    }

    /// Most replies that were in the queue at once, since it was made or this was forgotten.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Begins to count anew.
    pub fn reset_statistics(&mut self) {
        self.wait_most = 0;
        self.most = 0;
        (self.first, self.held) = (self.next, 0);
    }

    #[inline]
    fn after(&self, place: usize) -> usize {
        if place + 1 == self.free_from.len() {
            0
        } else {
            place + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_when_the_reply_that_held_it_has_left() {
        let mut queue = ReplyQueue::new(2);
        assert_eq!(queue.place_from(), 0);
        assert_eq!(queue.take(10, 4), 10);
        assert_eq!(queue.place_from(), 0);
        // The port is busy until 14.
        assert_eq!(queue.take(11, 4), 14);
        // Both places are held.
        assert_eq!(queue.place_from(), 14);
        assert_eq!(queue.take(14, 1), 18);
        assert_eq!(queue.place_from(), 18);
        assert_eq!((queue.most, queue.wait_most), (2, 4));
    }

    #[test]
    fn the_mark_counts_those_that_are_there_at_once() {
        for places in [1_usize, 2, 3, 8] {
            let mut queue = ReplyQueue::new(places);
            let mut left: Vec<u64> = Vec::new();
            let (mut ready, mut most) = (0, 0);
            let mut state = 7_u64;
            for _ in 0..500 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                ready = (ready + (state >> 33) % 4).max(queue.place_from());
                let cycles = (state >> 40) % 4 + 1;
                let first = queue.take(ready, cycles);
                left.retain(|&cycle| cycle > ready);
                left.push(first + cycles);
                most = most.max(left.len());
                assert!(left.len() <= places);
                assert_eq!(queue.most, most as u64);
            }
            assert_eq!(most, places);
        }
    }
}
