//! The banks of a channel: which row is open, what waits for each, and when each may be commanded
//! again. Requests stand in fixed storage, linked into lists in the order of their arrival; those
//! of an open row stand apart, so that the scheduler never searches.

/// Whether data comes from the DRAM or goes to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Direction {
    /// A read.
    Read = 0,
    /// A write.
    Write = 1,
}

impl Direction {
    /// The opposite direction.
    pub fn other(self) -> Direction {
        match self {
            Direction::Read => Direction::Write,
            Direction::Write => Direction::Read,
        }
    }
}

/// No request, no row.
pub const NONE: u32 = u32::MAX;

/// A request in the queue of a channel.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// Its place in the order of arrival.
    pub age: u64,
    /// Its row.
    pub row: u32,
    next: u32,
    /// The slice it comes from.
    pub slice: u16,
    /// The slice's entry that waits for it.
    pub mshr: u16,
}

/// A list of requests in the order of their age.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

const EMPTY: List = List {
    head: NONE,
    tail: NONE,
};

/// One bank.
#[derive(Clone, Copy, Debug)]
struct Bank {
    row: u32,
    hits: [List; 2],
    misses: [List; 2],
    activate_from: u64,
    column_from: [u64; 2],
    precharge_from: u64,
}

/// All banks of a channel.
#[derive(Clone, Debug)]
pub struct Banks {
    banks: Vec<Bank>,
    queue: Vec<Queued>,
    free: Vec<u32>,
    age: u64,
    /// Requests that wait, of each direction.
    pub waiting: [u32; 2],
    /// Banks whose open row has requests, of each direction.
    pub hit_banks: [u32; 2],
    /// Banks with requests for a row that is not open, of each direction.
    pub miss_banks: [u32; 2],
    /// Banks with an open row.
    pub open: u32,
}

impl Banks {
    /// Closed banks with room for `queue` requests.
    pub fn new(banks: usize, queue: usize) -> Banks {
        let bank = Bank {
            row: NONE,
            hits: [EMPTY; 2],
            misses: [EMPTY; 2],
            activate_from: 0,
            column_from: [0; 2],
            precharge_from: 0,
        };
        Banks {
            banks: vec![bank; banks],
            queue: Vec::with_capacity(queue),
            free: Vec::with_capacity(queue),
            age: 0,
            waiting: [0; 2],
            hit_banks: [0; 2],
            miss_banks: [0; 2],
            open: 0,
        }
    }

    /// Takes a request in.
    #[inline]
    pub fn push(&mut self, direction: Direction, bank: u8, row: u32, slice: u16, mshr: u16) {
        let queued = Queued {
            age: self.age,
            row,
            next: NONE,
            slice,
            mshr,
        };
        self.age += 1;
        let index = match self.free.pop() {
            Some(index) => {
                self.queue[index as usize] = queued;
                index
            }
            None => {
                self.queue.push(queued);
                self.queue.len() as u32 - 1
            }
        };
        self.waiting[direction as usize] += 1;
        let place = &mut self.banks[usize::from(bank)];
        if place.row == row {
            append(&mut self.queue, &mut place.hits[direction as usize], index);
            self.hit_banks[direction as usize] |= 1 << bank;
        } else {
            append(
                &mut self.queue,
                &mut place.misses[direction as usize],
                index,
            );
            self.miss_banks[direction as usize] |= 1 << bank;
        }
    }

    /// Age of the oldest request of a bank for its open row.
    #[inline]
    pub fn hit_age(&self, direction: Direction, bank: u32) -> u64 {
        self.queue[self.banks[bank as usize].hits[direction as usize].head as usize].age
    }

    /// Age of the oldest request of a bank for another row.
    #[inline]
    pub fn miss_age(&self, direction: Direction, bank: u32) -> u64 {
        self.queue[self.banks[bank as usize].misses[direction as usize].head as usize].age
    }

    /// When the bank may read or write its open row.
    #[inline]
    pub fn column_from(&self, direction: Direction, bank: u32) -> u64 {
        self.banks[bank as usize].column_from[direction as usize]
    }

    /// When the bank may be precharged, if open, or activated, if closed.
    #[inline]
    pub fn row_command_from(&self, bank: u32) -> u64 {
        let place = &self.banks[bank as usize];
        if place.row == NONE {
            place.activate_from
        } else {
            place.precharge_from
        }
    }

    /// Reads or writes for the oldest request of the open row, and lets it go.
    #[inline]
    pub fn column(&mut self, direction: Direction, bank: u32, precharge_from: u64) -> Queued {
        let place = &mut self.banks[bank as usize];
        place.precharge_from = place.precharge_from.max(precharge_from);
        let list = &mut place.hits[direction as usize];
        let index = list.head;
        let queued = self.queue[index as usize];
        list.head = queued.next;
        if list.head == NONE {
            list.tail = NONE;
            self.hit_banks[direction as usize] &= !(1 << bank);
        }
        self.free.push(index);
        self.waiting[direction as usize] -= 1;
        queued
    }

    /// Closes the open row. Requests for it wait again, at their age.
    pub fn precharge(&mut self, bank: u32, activate_from: u64) {
        let place = &mut self.banks[bank as usize];
        place.row = NONE;
        place.activate_from = place.activate_from.max(activate_from);
        self.open &= !(1 << bank);
        for direction in 0..2 {
            if place.hits[direction].head != NONE {
                merge(&mut self.queue, place, direction);
                self.hit_banks[direction] &= !(1 << bank);
                self.miss_banks[direction] |= 1 << bank;
            }
        }
    }

    /// Opens the row of the oldest request of `direction`.
    pub fn activate(
        &mut self,
        direction: Direction,
        bank: u32,
        column_from: [u64; 2],
        precharge_from: u64,
        activate_from: u64,
    ) {
        let place = &mut self.banks[bank as usize];
        let row = self.queue[place.misses[direction as usize].head as usize].row;
        place.row = row;
        place.column_from = column_from;
        place.precharge_from = precharge_from;
        place.activate_from = activate_from;
        self.open |= 1 << bank;
        for direction in 0..2 {
            let mut next = place.misses[direction].head;
            place.misses[direction] = EMPTY;
            while next != NONE {
                let index = next;
                let queued = self.queue[index as usize];
                next = queued.next;
                let list = if queued.row == row {
                    &mut place.hits[direction]
                } else {
                    &mut place.misses[direction]
                };
                append(&mut self.queue, list, index);
            }
            let bit = 1 << bank;
            if place.hits[direction].head != NONE {
                self.hit_banks[direction] |= bit;
            }
            if place.misses[direction].head == NONE {
                self.miss_banks[direction] &= !bit;
            }
        }
    }
}

#[inline]
fn append(queue: &mut [Queued], list: &mut List, index: u32) {
    queue[index as usize].next = NONE;
    if list.tail == NONE {
        list.head = index;
    } else {
        queue[list.tail as usize].next = index;
    }
    list.tail = index;
}

/// Merges the requests of the row that was open back into those of other rows, by age.
fn merge(queue: &mut [Queued], place: &mut Bank, direction: usize) {
    let mut left = place.hits[direction].head;
    let mut right = place.misses[direction].head;
    let mut merged = EMPTY;
    while left != NONE || right != NONE {
        let from_left =
            right == NONE || (left != NONE && queue[left as usize].age < queue[right as usize].age);
        let index = if from_left { left } else { right };
        let next = queue[index as usize].next;
        if from_left {
            left = next;
        } else {
            right = next;
        }
        append(queue, &mut merged, index);
    }
    place.hits[direction] = EMPTY;
    place.misses[direction] = merged;
}
