//! First ready, first come, first served: of the commands that may be given now, those that move
//! data come before those that open and close rows, and among each the oldest request's
//! (MODEL.md §8.1). Writes gather and are drained in batches, because each turn of the data pins
//! costs time.

use super::bank::{BANKS, Banks, Direction, bank_of};

/// A command for one bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read or write the open row for its oldest request.
    Column(Direction, u32),
    /// Open the row of the oldest request of this direction.
    Activate(Direction, u32),
    /// Close the open row.
    Precharge(u32),
}

/// When the parts that banks share are free again.
#[derive(Clone, Copy, Debug)]
pub struct Shared<'a> {
    /// When a column command of each direction may come.
    pub column_from: [u64; 2],
    /// When a column command of each bank group may come.
    pub group_from: &'a [u64],
    /// The banks of group 0; those of group `n` are `n` bits higher.
    pub group_banks: u32,
    /// When an activation may come.
    pub activate_from: u64,
}

/// The batches of writes.
#[derive(Clone, Copy, Debug)]
pub struct WriteDrain {
    high: u32,
    low: u32,
    direction: Direction,
}

impl WriteDrain {
    /// Turns to writing at `high` waiting writes, back to reading at `low`.
    pub fn new(high: u32, low: u32) -> WriteDrain {
        WriteDrain {
            high,
            low,
            direction: Direction::Read,
        }
    }

    /// The direction to serve, given what waits. Asking twice changes nothing.
    #[inline]
    pub fn direction(&mut self, waiting: [u32; 2]) -> Direction {
        let [reads, writes] = waiting;
        self.direction = match self.direction {
            Direction::Read if writes >= self.high || (reads == 0 && writes > 0) => {
                Direction::Write
            }
            Direction::Write if writes == 0 || (writes <= self.low && reads > 0) => Direction::Read,
            direction => direction,
        };
        self.direction
    }
}

/// What may be given next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// This, now.
    Now(Command),
    /// Nothing before this cycle.
    From(u64),
}

/// The bits of a mask.
#[inline]
fn each(mut mask: u32, mut with: impl FnMut(usize)) {
    while mask != 0 {
        with(mask.trailing_zeros() as usize);
        mask &= mask - 1;
    }
}

/// The smallest key of some banks.
#[inline]
fn oldest(banks: u32, keys: &[u64; BANKS]) -> u64 {
    let mut oldest = u64::MAX;
    each(banks, |bank| oldest = oldest.min(keys[bank]));
    oldest
}

/// The column command for `now`.
#[inline]
pub fn choose_column(
    banks: &mut Banks,
    shared: Shared<'_>,
    direction: Direction,
    now: u64,
) -> Choice {
    let hits = banks.hit_banks[direction as usize];
    if hits == 0 {
        return Choice::From(u64::MAX);
    }
    let pins = shared.column_from[direction as usize];
    if pins > now {
        return Choice::From(pins);
    }
    let column_from = &banks.column_from[direction as usize];
    let mut settling = 0;
    let mut settled = 0;
    each(banks.settling, |bank| {
        settling |= u32::from(column_from[bank] > now) << bank;
        let both = banks.column_from[0][bank].max(banks.column_from[1][bank]);
        settled |= u32::from(both <= now) << bank;
    });
    banks.settling &= !settled;
    let groups = shared.group_from.len();
    let mut busy = 0;
    for (group, &from) in shared.group_from.iter().enumerate() {
        busy |= if from > now {
            shared.group_banks << group
        } else {
            0
        };
    }
    let ready = hits & !settling & !busy;
    if ready != 0 {
        let bank = bank_of(oldest(ready, &banks.hit_key[direction as usize]));
        return Choice::Now(Command::Column(direction, bank));
    }
    let mut wake = u64::MAX;
    each(hits, |bank| {
        wake = wake.min(column_from[bank].max(shared.group_from[bank & (groups - 1)]));
    });
    Choice::From(wake)
}

/// The row command for `now`: for the direction that is served, and for the other where this one
/// wants nothing of a bank.
#[inline]
pub fn choose_row(banks: &Banks, shared: Shared<'_>, direction: Direction, now: u64) -> Choice {
    let other = direction.other();
    let hits = banks.hit_banks[direction as usize];
    let misses = banks.miss_banks[direction as usize];
    let wanted = misses & !hits;
    let wanted_other =
        banks.miss_banks[other as usize] & !banks.hit_banks[other as usize] & !(hits | misses);
    let mut wake = u64::MAX;
    for (direction, wanted) in [(direction, wanted), (other, wanted_other)] {
        let mut ready = 0;
        each(wanted, |bank| {
            let closed = banks.open >> bank & 1 == 0;
            let shared = if closed { shared.activate_from } else { 0 };
            let from = banks.row_command_from[bank].max(shared);
            let now = from <= now;
            ready |= u32::from(now) << bank;
            wake = wake.min(if now { u64::MAX } else { from });
        });
        if ready != 0 {
            let bank = bank_of(oldest(ready, &banks.miss_key[direction as usize]));
            return Choice::Now(if banks.open >> bank & 1 == 1 {
                Command::Precharge(bank)
            } else {
                Command::Activate(direction, bank)
            });
        }
    }
    Choice::From(wake)
}
