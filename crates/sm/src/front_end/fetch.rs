//! Fetch arbitration and the instruction buffers of a sub-core (MODEL.md §4).
//!
//! One instruction per cycle and sub-core: for the warp with room that the scheduler would try first, the
//! one that issued last, else the youngest. An entry is reserved at the request and freed at issue; L0 access in cycle c, answer
//! latch c + 1, decode c + 2, issue from c + 3 on.

use std::collections::VecDeque;

use super::level0::{Access, Level0};
use crate::issue::Policy;
use crate::ring::MaskRing;

hardware::parameters! {
    /// Fetch and decode.
    pub struct FetchParameters = "fetch" {
        /// Entries of the instruction buffer of each warp.
        buffer_entries: u32, "instructions", 1..=8;
        /// Cycles from the L0 access to the first cycle in which the instruction can issue.
        to_issue: u64, "cycles", 1..=32;
        /// The same with a perfect instruction cache.
        perfect_to_issue: u64, "cycles", 1..=32;
        /// Cycles added to the fetch of the target of a taken branch.
        redirect_delay: u64, "cycles", 0..=64;
    }
}

const NEVER: u64 = u64::MAX;
/// Entries that a buffer can have at most.
pub const MOST_ENTRIES: usize = 8;

/// A fetch that waited for a line which is here now.
#[derive(Clone, Copy)]
struct Arrived {
    slot: u8,
    pc: u32,
    epoch: u32,
}

/// Instruction buffers of the warps of one sub-core; `slot` is the warp's local slot, 0 to 15.
pub struct Fetch {
    entries: usize,
    to_issue: u64,
    redirect_delay: u64,
    end: u32,
    /// Next pc to fetch.
    next: [u32; 16],
    /// Reserved entries.
    count: [u8; 16],
    /// Place of the oldest entry.
    head: [u8; 16],
    /// Cycle from which each reserved entry can issue, a ring; NEVER while it waits for a line.
    valid: [[u64; MOST_ENTRIES]; 16],
    /// Not before this cycle (redirect delay).
    not_before: [u64; 16],
    epoch: [u32; 16],
    /// Warps with room in their buffer and code left to fetch.
    room: u16,
    /// Warps whose oldest entry can issue.
    pub valid_heads: u16,
    /// Cycles in which a head becomes valid.
    becomes_valid: MaskRing,
    /// Fetches whose line has arrived and that wait for the answer latch.
    arrived: VecDeque<Arrived>,
}

impl Fetch {
    /// Empty buffers for a program of `end` instructions.
    pub fn new(parameters: &FetchParameters, perfect: bool, end: u32) -> Fetch {
        Fetch {
            entries: (parameters.buffer_entries as usize).min(MOST_ENTRIES),
            to_issue: if perfect {
                parameters.perfect_to_issue
            } else {
                parameters.to_issue
            },
            redirect_delay: parameters.redirect_delay,
            end,
            next: [0; 16],
            count: [0; 16],
            head: [0; 16],
            valid: [[NEVER; MOST_ENTRIES]; 16],
            not_before: [0; 16],
            epoch: [0; 16],
            room: 0,
            valid_heads: 0,
            becomes_valid: MaskRing::new(),
            arrived: VecDeque::with_capacity(16 * MOST_ENTRIES),
        }
    }

    /// A warp starts at `pc`; its first fetch may happen in cycle `at`.
    pub fn start(&mut self, slot: usize, pc: u32, at: u64) {
        self.flush(slot, pc);
        self.not_before[slot] = at;
    }

    /// A warp has ended.
    pub fn end(&mut self, slot: usize) {
        self.flush(slot, 0);
        self.room &= !(1 << slot);
    }

    /// Drops the buffer of a warp and goes on at `pc`.
    #[inline]
    fn flush(&mut self, slot: usize, pc: u32) {
        self.next[slot] = pc;
        self.count[slot] = 0;
        self.epoch[slot] = self.epoch[slot].wrapping_add(1);
        self.valid_heads &= !(1 << slot);
        self.becomes_valid.clear(slot);
        if pc < self.end {
            self.room |= 1 << slot;
        } else {
            self.room &= !(1 << slot);
        }
    }

    /// Redirect at the issue of a taken branch in cycle `now`.
    #[inline]
    pub fn redirect(&mut self, slot: usize, pc: u32, now: u64) {
        self.flush(slot, pc);
        self.not_before[slot] = now + self.redirect_delay;
    }

    /// The oldest instruction of a warp was issued in cycle `now`.
    #[inline]
    pub fn pop(&mut self, slot: usize, now: u64) {
        self.head[slot] = self.head[slot].wrapping_add(1);
        self.count[slot] -= 1;
        if self.next[slot] < self.end {
            self.room |= 1 << slot;
        }
        self.look_at_head(slot, now);
    }

    /// Entry `index` of a warp, counted from the oldest.
    #[inline]
    fn entry(&mut self, slot: usize, index: usize) -> &mut u64 {
        &mut self.valid[slot][(self.head[slot] as usize + index) % MOST_ENTRIES]
    }

    #[inline]
    fn look_at_head(&mut self, slot: usize, now: u64) {
        let head = if self.count[slot] == 0 {
            NEVER
        } else {
            *self.entry(slot, 0)
        };
        if head <= now + 1 {
            self.valid_heads |= 1 << slot;
        } else {
            self.valid_heads &= !(1 << slot);
            if head != NEVER {
                self.becomes_valid.set(slot, head, now);
            }
        }
    }

    /// Heads that become valid in cycle `now`.
    #[inline]
    pub fn tick(&mut self, now: u64) {
        self.valid_heads |= self.becomes_valid.take(now);
    }

    /// Next cycle after `now` in which a head becomes valid.
    #[inline]
    pub fn next_valid(&self, now: u64) -> u64 {
        self.becomes_valid.next(now)
    }

    /// One fetch in cycle `now`, for the warp with room that `policy` puts first. `younger[slot]` is the
    /// set of warps younger than `slot`. A hit takes the answer latch; without one
    /// a fetch that waited gets it (that is how the greedy warp runs through a line that others wait for:
    /// MODEL.md §3.4 a).
    #[inline]
    pub fn fetch(
        &mut self,
        level0: &mut Level0,
        policy: Policy,
        last_issued: usize,
        younger: &[u16; 16],
        now: u64,
    ) {
        let mut room = self.room;
        while room != 0 {
            let slot = policy.select(room, last_issued, younger);
            if self.not_before[slot] > now {
                room &= !(1 << slot);
                continue;
            }
            let access = level0.access(slot as u8, self.next[slot], self.epoch[slot], now);
            let valid = match access {
                Access::Hit => now + self.to_issue,
                Access::Waits => NEVER,
                Access::Refused => {
                    room &= !(1 << slot);
                    continue;
                }
            };
            let count = self.count[slot] as usize;
            *self.entry(slot, count) = valid;
            self.count[slot] = count as u8 + 1;
            self.next[slot] += 1;
            if count + 1 == self.entries || self.next[slot] >= self.end {
                self.room &= !(1 << slot);
            }
            if count == 0 {
                self.look_at_head(slot, now);
            }
            if access == Access::Hit {
                return;
            }
            break;
        }
        if !self.arrived.is_empty() {
            self.answer_one(now);
        }
    }

    /// Next cycle after `now` in which a fetch can be made or answered.
    #[inline]
    pub fn next_fetch(&self, now: u64) -> u64 {
        if !self.arrived.is_empty() {
            return now + 1;
        }
        let mut next = NEVER;
        let mut room = self.room;
        while room != 0 {
            let slot = room.trailing_zeros() as usize;
            room &= room - 1;
            next = next.min(self.not_before[slot].max(now + 1));
        }
        next
    }

    /// Whether a fetch could be made (now or when a redirect delay is over) or be answered.
    #[inline]
    pub fn wants(&self) -> bool {
        self.room != 0 || !self.arrived.is_empty()
    }

    /// The line that the fetch of `pc` by `slot` waited for has arrived; its answer takes the latch when
    /// no hit does.
    pub fn answer(&mut self, slot: u8, pc: u32, epoch: u32) {
        if epoch == self.epoch[slot as usize] {
            self.arrived.push_back(Arrived { slot, pc, epoch });
        }
    }

    /// The answer latch is free in cycle `now`: the oldest fetch whose line has arrived is answered.
    #[inline]
    fn answer_one(&mut self, now: u64) {
        while let Some(Arrived { slot, pc, epoch }) = self.arrived.pop_front() {
            let slot = slot as usize;
            if epoch != self.epoch[slot] {
                continue;
            }
            // Entries hold consecutive instructions; lines may arrive in any order.
            let oldest = self.next[slot].wrapping_sub(self.count[slot] as u32);
            let entry = pc.wrapping_sub(oldest) as usize;
            if entry < self.count[slot] as usize {
                *self.entry(slot, entry) = now + self.to_issue;
                if entry == 0 {
                    self.look_at_head(slot, now);
                }
            }
            return;
        }
    }

    /// Whether the warp's buffer holds nothing that could issue because its fetch is under way.
    pub fn waits_for_instruction(&self, slot: usize) -> bool {
        self.valid_heads >> slot & 1 == 0
    }
}
