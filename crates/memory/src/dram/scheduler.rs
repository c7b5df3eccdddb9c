//! First ready, first come, first served: of the commands that may be given now, those that move
//! data come before those that open and close rows, and among each the oldest request's
//! (MODEL.md §8.1). Writes gather and are drained in batches, because each turn of the data pins
//! costs time.

use super::bank::{Banks, Direction};

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

/// The command to give at `now`, or the first cycle at which one may be given if nothing else
/// arrives.
#[inline]
pub fn choose(
    banks: &Banks,
    shared: Shared<'_>,
    direction: Direction,
    now: u64,
) -> Result<Command, u64> {
    let mut wake = u64::MAX;
    let mut oldest = u64::MAX;
    let mut command = None;

    let group_mask = shared.group_from.len() as u32 - 1;
    let column_from = shared.column_from[direction as usize];
    let hits = banks.hit_banks[direction as usize];
    if column_from > now {
        // The pins are taken: no bank needs to be looked at, but the wake-up is a bound only.
        if hits != 0 {
            wake = column_from;
        }
    } else {
        let mut rest = hits;
        while rest != 0 {
            let bank = rest.trailing_zeros();
            rest &= rest - 1;
            let from = banks
                .column_from(direction, bank)
                .max(shared.group_from[(bank & group_mask) as usize]);
            if from > now {
                wake = wake.min(from);
                continue;
            }
            let age = banks.hit_age(direction, bank);
            if age < oldest {
                oldest = age;
                command = Some(Command::Column(direction, bank));
            }
        }
        if let Some(command) = command {
            return Ok(command);
        }
    }

    // Rows: for the direction that is served, and for the other where this one wants nothing.
    let other = direction.other();
    let wanted = banks.miss_banks[direction as usize] & !hits;
    let idle = !(hits | banks.miss_banks[direction as usize]);
    let wanted_other = banks.miss_banks[other as usize] & !banks.hit_banks[other as usize] & idle;
    for (direction, wanted) in [(direction, wanted), (other, wanted_other)] {
        let mut rest = wanted;
        while rest != 0 {
            let bank = rest.trailing_zeros();
            rest &= rest - 1;
            let open = banks.open >> bank & 1 == 1;
            let mut from = banks.row_command_from(bank);
            if !open {
                from = from.max(shared.activate_from);
            }
            if from > now {
                wake = wake.min(from);
                continue;
            }
            let age = banks.miss_age(direction, bank);
            if age < oldest {
                oldest = age;
                command = Some(if open {
                    Command::Precharge(bank)
                } else {
                    Command::Activate(direction, bank)
                });
            }
        }
        if command.is_some() {
            break;
        }
    }
    command.ok_or(wake)
}
