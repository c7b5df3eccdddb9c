//! Fetch arbitration and the instruction buffers of a sub-core (MODEL.md §4).
//!
//! One instruction per cycle and sub-core: for the warp that issued last, else for the youngest warp
//! with room. An entry is reserved at the request and freed at issue; L0 access in cycle c, answer
//! latch c + 1, decode c + 2, issue from c + 3 on.

use super::level0::{Access, Level0};
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
    /// Cycle from which each reserved entry can issue, oldest first; NEVER while it waits for a line.
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
    /// Answers booked on the one answer port: bit i = cycle `port_base` + i.
    port: u64,
    port_base: u64,
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
            valid: [[NEVER; MOST_ENTRIES]; 16],
            not_before: [0; 16],
            epoch: [0; 16],
            room: 0,
            valid_heads: 0,
            becomes_valid: MaskRing::new(),
            port: 0,
            port_base: 0,
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
        let count = self.count[slot] as usize;
        let valid = &mut self.valid[slot];
        valid.copy_within(1..count, 0);
        self.count[slot] = count as u8 - 1;
        if self.next[slot] < self.end {
            self.room |= 1 << slot;
        }
        self.look_at_head(slot, now);
    }

    #[inline]
    fn look_at_head(&mut self, slot: usize, now: u64) {
        let head = if self.count[slot] == 0 {
            NEVER
        } else {
            self.valid[slot][0]
        };
        if head <= now + 1 {
            self.valid_heads |= 1 << slot;
        } else {
            self.valid_heads &= !(1 << slot);
            if head != NEVER {
                // Further ahead than the ring reaches: looked at again on the way.
                let cycle = head.min(now + crate::ring::REACH);
                self.becomes_valid.set(slot, cycle, now);
            }
        }
    }

    /// Heads that become valid in cycle `now`.
    #[inline]
    pub fn tick(&mut self, now: u64) {
        let mut heads = self.becomes_valid.take(now);
        while heads != 0 {
            let slot = heads.trailing_zeros() as usize;
            heads &= heads - 1;
            self.look_at_head(slot, now);
        }
    }

    /// Next cycle after `now` in which a head becomes valid.
    #[inline]
    pub fn next_valid(&self, now: u64) -> u64 {
        self.becomes_valid.next(now)
    }

    /// One fetch in cycle `now`: for `last_issued` if it has room, else for the youngest with room.
    /// `younger[slot]` is the set of warps younger than `slot`.
    #[inline]
    pub fn fetch(
        &mut self,
        level0: &mut Level0,
        last_issued: usize,
        younger: &[u16; 16],
        now: u64,
    ) -> bool {
        if self.room == 0 {
            return false;
        }
        let mut room = self.room;
        while room != 0 {
            let slot = if room >> last_issued & 1 == 1 {
                last_issued
            } else {
                crate::issue::cggty::youngest(room, younger)
            };
            if self.not_before[slot] > now {
                room &= !(1 << slot);
                continue;
            }
            let access = level0.access(slot as u8, self.next[slot], self.epoch[slot], now);
            let valid = match access {
                Access::Hit => self.book_answer(now) + self.to_issue - 1,
                Access::Waits => NEVER,
                Access::Refused => {
                    room &= !(1 << slot);
                    continue;
                }
            };
            let count = self.count[slot] as usize;
            self.valid[slot][count] = valid;
            self.count[slot] = count as u8 + 1;
            self.next[slot] += 1;
            if count + 1 == self.entries || self.next[slot] >= self.end {
                self.room &= !(1 << slot);
            }
            if count == 0 {
                self.look_at_head(slot, now);
            }
            return true;
        }
        false
    }

    /// Whether a fetch could be made (now or when a redirect delay is over).
    #[inline]
    pub fn wants(&self) -> bool {
        self.room != 0
    }

    /// Books the answer port for an access in cycle `now`; returns the cycle of the answer latch.
    #[inline]
    fn book_answer(&mut self, now: u64) -> u64 {
        let passed = now - self.port_base;
        self.port = if passed >= 64 { 0 } else { self.port >> passed };
        self.port_base = now;
        let offset = (!self.port & !1).trailing_zeros() as u64;
        if offset < 64 {
            self.port |= 1 << offset;
        }
        now + offset
    }

    /// The line that the waiting fetch of `pc` by `slot` wanted arrived in cycle `now`.
    pub fn answer(&mut self, slot: usize, pc: u32, epoch: u32, now: u64) {
        if epoch != self.epoch[slot] {
            return;
        }
        // Entries hold consecutive instructions; lines may arrive in any order.
        let count = self.count[slot] as usize;
        let oldest = self.next[slot].wrapping_sub(count as u32);
        let entry = pc.wrapping_sub(oldest) as usize;
        if entry >= count || self.valid[slot][entry] != NEVER {
            return;
        }
        self.valid[slot][entry] = self.book_answer(now) + self.to_issue - 1;
        if entry == 0 {
            self.look_at_head(slot, now);
        }
    }

    /// Whether the warp's buffer holds nothing that could issue because its fetch is under way.
    pub fn waits_for_instruction(&self, slot: usize) -> bool {
        self.valid_heads >> slot & 1 == 0
    }
}
