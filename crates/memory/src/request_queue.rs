//! The queue in front of a slice's lookup, behind its port of the request network (MODEL.md §8.1: of so
//! many entries from the network).
//!
//! A packet passes the port when that is free and the queue has a place for it. Until then it waits in the
//! network, in the order in which packets reach the port, on the side of its SM: there the SM's credits
//! (`sm_port.outstanding`) are its place, and packets for other slices pass it.

use std::collections::VecDeque;

use source::RequestKind;

use crate::crossbar::{DataRate, SlicePort};
use crate::slice::Packet;

/// The queue of a slice, and what waits in front of it.
#[derive(Debug)]
pub struct RequestQueue {
    rate: DataRate,
    port: SlicePort,
    places: usize,
    queue: VecDeque<Packet>,
    /// In the network, behind those of the queue.
    network: VecDeque<Packet>,
    /// How many of both had reached the port at the last lookup.
    reached: usize,
    /// Most packets in the queue.
    pub most: u64,
    /// Most packets that waited in the network for a place.
    pub network_most: u64,
}

impl RequestQueue {
    /// An empty queue of so many places, at least one, behind a port of rate `rate`.
    pub fn new(places: usize, rate: DataRate) -> RequestQueue {
        RequestQueue {
            rate,
            port: SlicePort::default(),
            places: places.max(1),
            queue: VecDeque::with_capacity(places.max(1)),
            network: VecDeque::new(),
            reached: 0,
            most: 0,
            network_most: 0,
        }
    }

    /// Whether no packet is here or in front.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The packet at the head, which is looked up next.
    #[inline]
    pub fn head(&self) -> Option<&Packet> {
        self.queue.front()
    }

    /// A packet reaches the port; they come in order. The packet, if it passes the port now.
    #[inline]
    pub fn push(&mut self, packet: Packet) -> Option<&Packet> {
        if self.queue.len() < self.places {
            // The network is empty then.
            return self.enter(packet, 0);
        }
        self.network.push_back(packet);
        None
    }

    /// The head was looked up in L2 cycle `now`: its place is free. The packet that takes it.
    #[inline]
    pub fn pop(&mut self, now: u64) -> Option<&Packet> {
        self.queue.pop_front();
        self.reached -= 1;
        let next = self.network.pop_front()?;
        self.enter(next, now)
    }

    #[inline]
    fn enter(&mut self, mut packet: Packet, free_from: u64) -> Option<&Packet> {
        let cycles = match packet.kind {
            RequestKind::Write => self.rate.cycles(packet.sectors.count_ones()),
            _ => 1,
        };
        packet.arrival = self.port.take(packet.reached.max(free_from), cycles);
        debug_assert!(self.queue.len() < self.places);
        self.queue.push_back(packet);
        self.queue.back()
    }

    /// Takes note of what waits in L2 cycle `now`, that of a lookup.
    #[inline]
    pub fn note(&mut self, now: u64) {
        loop {
            let packet = match self.reached.checked_sub(self.queue.len()) {
                None => self.queue.get(self.reached),
                Some(behind) => self.network.get(behind),
            };
            if packet.is_none_or(|packet| packet.reached > now) {
                break;
            }
            self.reached += 1;
        }
        let here = self.reached.min(self.queue.len());
        self.most = self.most.max(here as u64);
        self.network_most = self.network_most.max((self.reached - here) as u64);
    }
}
