//! The sectors that a slice awaits from the DRAM, and who waits for each (MODEL.md §8.1). An entry
//! is found through its place in the tags, never by a search.

use crate::address::SECTORS;

/// Who waits for a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The request's name.
    pub id: u32,
    /// Its SM.
    pub sm: u16,
    /// Whether it updates the sector.
    pub update: bool,
    /// Whether its way is noted.
    pub traced: bool,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    first: Waiter,
    slot: u32,
    head: u32,
    tail: u32,
    waiters: u32,
    sector: u8,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    waiter: Waiter,
    next: u32,
}

/// The entries of one slice.
#[derive(Clone, Debug)]
pub struct Mshrs {
    entries: Vec<Entry>,
    free: Vec<u16>,
    capacity: usize,
    merges: u32,
    nodes: Vec<Node>,
    free_nodes: Vec<u32>,
    /// Per sector of the tags, the entry that awaits it; meaningful while it is pending.
    entry_of: Vec<u16>,
}

impl Mshrs {
    /// `capacity` entries of `merges` requests each, for tags of `slots` lines.
    pub fn new(capacity: usize, merges: u32, slots: usize) -> Mshrs {
        Mshrs {
            entries: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            capacity,
            merges,
            // At most `capacity` × (`merges` − 1) of them.
            nodes: Vec::with_capacity(capacity),
            free_nodes: Vec::with_capacity(capacity),
            entry_of: vec![0; slots * SECTORS as usize],
        }
    }

    /// Whether so many further sectors can be awaited.
    #[inline]
    pub fn has_room(&self, sectors: u32) -> bool {
        self.free.len() + self.capacity >= self.entries.len() + sectors as usize
    }

    /// Whether another request can wait for a pending sector.
    #[inline]
    pub fn can_merge(&self, slot: u32, sector: u8) -> bool {
        let index = self.entry_of[(slot * SECTORS) as usize + usize::from(sector)];
        self.entries[usize::from(index)].waiters < self.merges
    }

    /// Sectors that are awaited.
    pub fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether nothing is awaited.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.entries.len()
    }

    /// Awaits a sector of a slot for its first waiter. Room must be there.
    #[inline]
    pub fn allocate(&mut self, slot: u32, sector: u8, first: Waiter) -> u16 {
        debug_assert!(self.used() < self.capacity, "no entry left");
        let entry = Entry {
            first,
            slot,
            head: NONE,
            tail: NONE,
            waiters: 1,
            sector,
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[usize::from(index)] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u16 - 1
            }
        };
        self.entry_of[(slot * SECTORS) as usize + usize::from(sector)] = index;
        index
    }

    /// Adds a waiter to a pending sector. Room must be there.
    #[inline]
    pub fn merge(&mut self, slot: u32, sector: u8, waiter: Waiter) {
        let index = self.entry_of[(slot * SECTORS) as usize + usize::from(sector)];
        let entry = &mut self.entries[usize::from(index)];
        debug_assert!(entry.waiters < self.merges, "no room with the entry");
        entry.waiters += 1;
        let node = Node { waiter, next: NONE };
        let index = match self.free_nodes.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        if entry.tail == NONE {
            entry.head = index;
        } else {
            self.nodes[entry.tail as usize].next = index;
        }
        entry.tail = index;
    }

    /// Ends an entry: its slot and sector; `each` sees that sector and its waiters in the order of
    /// their arrival.
    #[inline]
    pub fn release(&mut self, index: u16, mut each: impl FnMut(u8, Waiter)) -> (u32, u8) {
        let entry = self.entries[usize::from(index)];
        each(entry.sector, entry.first);
        let mut next = entry.head;
        while next != NONE {
            let node = self.nodes[next as usize];
            each(entry.sector, node.waiter);
            self.free_nodes.push(next);
            next = node.next;
        }
        self.free.push(index);
        (entry.slot, entry.sector)
    }
}
