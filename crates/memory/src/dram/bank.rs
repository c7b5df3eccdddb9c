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

/// Most banks of a channel.
pub const BANKS: usize = 32;

/// Age and bank in one number: the smallest of several is the oldest, and names its bank.
#[inline]
fn key(age: u64, bank: u32) -> u64 {
    age << BANKS.trailing_zeros() | u64::from(bank)
}

/// The bank that a key names.
#[inline]
pub fn bank_of(key: u64) -> u32 {
    key as u32 & (BANKS as u32 - 1)
}

/// What waits for one bank, of each direction.
#[derive(Clone, Copy, Debug)]
struct Lists {
    hits: [List; 2],
    misses: [List; 2],
}

/// All banks of a channel; what the scheduler looks at stands in arrays by bank.
#[derive(Clone, Debug)]
pub struct Banks {
    lists: Vec<Lists>,
    /// At most `capacity`.
    queue: Vec<Queued>,
    capacity: usize,
    free: Vec<u32>,
    age: u64,
    row: [u32; BANKS],
    /// When the row was opened.
    open_since: [u64; BANKS],
    /// Key of the oldest request for the open row, of each direction; stale where there is none.
    pub hit_key: [[u64; BANKS]; 2],
    /// Key of the oldest request for another row, of each direction; stale where there is none.
    pub miss_key: [[u64; BANKS]; 2],
    /// Banks whose row was opened lately: perhaps not ready for a column command yet.
    pub settling: u32,
    /// When each bank may read or write its open row.
    pub column_from: [[u64; BANKS]; 2],
    /// When each bank may be precharged, if open, or activated, if closed.
    pub row_command_from: [u64; BANKS],
    /// When each bank may be activated as its last activation allows.
    activate_from: [u64; BANKS],
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
        let lists = Lists {
            hits: [EMPTY; 2],
            misses: [EMPTY; 2],
        };
        Banks {
            lists: vec![lists; banks.min(BANKS)],
            queue: Vec::with_capacity(queue),
            capacity: queue,
            free: Vec::with_capacity(queue),
            age: 0,
            row: [NONE; BANKS],
            open_since: [0; BANKS],
            hit_key: [[0; BANKS]; 2],
            miss_key: [[0; BANKS]; 2],
            settling: 0,
            column_from: [[0; BANKS]; 2],
            row_command_from: [0; BANKS],
            activate_from: [0; BANKS],
            waiting: [0; 2],
            hit_banks: [0; 2],
            miss_banks: [0; 2],
            open: 0,
        }
    }

    /// Takes a request in, for which there is room. Whether its row is open.
    #[inline]
    pub fn push(
        &mut self,
        direction: Direction,
        bank: u8,
        row: u32,
        slice: u16,
        mshr: u16,
    ) -> bool {
        let age = self.age;
        let queued = Queued {
            age,
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
                debug_assert!(self.queue.len() < self.capacity, "the queue is full");
                self.queue.push(queued);
                self.queue.len() as u32 - 1
            }
        };
        let direction = direction as usize;
        self.waiting[direction] += 1;
        let lists = &mut self.lists[usize::from(bank)];
        let hit = self.row[usize::from(bank)] == row;
        let (list, banks, keys) = if hit {
            (
                &mut lists.hits[direction],
                &mut self.hit_banks[direction],
                &mut self.hit_key[direction],
            )
        } else {
            (
                &mut lists.misses[direction],
                &mut self.miss_banks[direction],
                &mut self.miss_key[direction],
            )
        };
        if list.head == NONE {
            *banks |= 1 << bank;
            keys[usize::from(bank)] = key(age, u32::from(bank));
        }
        append(&mut self.queue, list, index);
        hit
    }

    /// Reads or writes for the oldest request of the open row, and lets it go.
    #[inline]
    pub fn column(&mut self, direction: Direction, bank: u32, precharge_from: u64) -> Queued {
        let direction = direction as usize;
        let bank = bank as usize;
        self.row_command_from[bank] = self.row_command_from[bank].max(precharge_from);
        let list = &mut self.lists[bank].hits[direction];
        let index = list.head;
        let queued = self.queue[index as usize];
        list.head = queued.next;
        if queued.next == NONE {
            list.tail = NONE;
            self.hit_banks[direction] &= !(1 << bank);
        } else {
            let age = self.queue[queued.next as usize].age;
            self.hit_key[direction][bank] = key(age, bank as u32);
        }
        self.free.push(index);
        self.waiting[direction] -= 1;
        queued
    }

    /// The row that was opened last in a bank.
    pub fn row(&self, bank: u32) -> u32 {
        self.row[bank as usize]
    }

    /// When the row was opened that was opened last in a bank.
    pub fn open_since(&self, bank: u32) -> u64 {
        self.open_since[bank as usize]
    }

    /// Closes the open row. Requests for it wait again, at their age.
    pub fn precharge(&mut self, bank: u32, activate_from: u64) {
        let place = bank as usize;
        self.row[place] = NONE;
        self.row_command_from[place] = self.activate_from[place].max(activate_from);
        self.open &= !(1 << bank);
        for direction in 0..2 {
            if self.hit_banks[direction] >> bank & 1 == 1 {
                merge(&mut self.queue, &mut self.lists[place], direction);
                self.hit_banks[direction] &= !(1 << bank);
                self.miss_banks[direction] |= 1 << bank;
                let head = self.lists[place].misses[direction].head;
                self.miss_key[direction][place] = key(self.queue[head as usize].age, bank);
            }
        }
    }

    /// Closes every row, to stay closed until `until`. How many were open.
    pub fn refresh(&mut self, until: u64) -> u32 {
        let open = self.open;
        for bank in 0..self.lists.len() as u32 {
            if open >> bank & 1 == 1 {
                self.precharge(bank, until);
            } else {
                let from = &mut self.row_command_from[bank as usize];
                *from = until.max(*from);
            }
        }
        open.count_ones()
    }

    /// Opens the row of the oldest request of `direction` in command cycle `now`; that request.
    pub fn activate(
        &mut self,
        direction: Direction,
        bank: u32,
        now: u64,
        column_from: [u64; 2],
        precharge_from: u64,
        activate_from: u64,
    ) -> Queued {
        let place = bank as usize;
        let lists = &mut self.lists[place];
        let oldest = self.queue[lists.misses[direction as usize].head as usize];
        let row = oldest.row;
        self.row[place] = row;
        self.open_since[place] = now;
        self.row_command_from[place] = precharge_from;
        self.activate_from[place] = activate_from;
        let bit = 1 << bank;
        self.open |= bit;
        self.settling |= bit;
        for (direction, from) in column_from.into_iter().enumerate() {
            self.column_from[direction][place] = from;
            let mut next = lists.misses[direction].head;
            lists.misses[direction] = EMPTY;
            while next != NONE {
                let index = next;
                let queued = self.queue[index as usize];
                next = queued.next;
                let list = if queued.row == row {
                    &mut lists.hits[direction]
                } else {
                    &mut lists.misses[direction]
                };
                append(&mut self.queue, list, index);
            }
            let head = lists.hits[direction].head;
            if head != NONE {
                self.hit_banks[direction] |= bit;
                self.hit_key[direction][place] = key(self.queue[head as usize].age, bank);
            }
            let head = lists.misses[direction].head;
            if head != NONE {
                self.miss_key[direction][place] = key(self.queue[head as usize].age, bank);
            } else {
                self.miss_banks[direction] &= !bit;
            }
        }
        oldest
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
fn merge(queue: &mut [Queued], place: &mut Lists, direction: usize) {
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
