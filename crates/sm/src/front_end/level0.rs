//! The L0 instruction cache of a sub-core and the fetches that wait for its lines (MODEL.md §4).

use std::collections::VecDeque;

use super::stream_buffer::{Demand, StreamBuffer, StreamBufferParameters};
use crate::tags::Tags;

hardware::parameters! {
    /// The L0 instruction cache of each sub-core.
    pub struct Level0Parameters = "l0_instruction_cache" {
        /// Sets.
        sets: u32, "sets", 1..=4096;
        /// Ways per set.
        ways: u32, "ways", 1..=256;
        /// Bytes per line.
        line_bytes: u32, "bytes", 16..=1024;
        /// Every access hits and answers in its own cycle.
        perfect: bool, "", false..=true;
        /// Lines that can be outstanding at once.
        outstanding: u32, "lines", 1..=1024;
    }
}

/// Outcome of one fetch access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The line is here.
    Hit,
    /// The fetch waits for the line.
    Waits,
    /// The fetch cannot even wait (no room); it has to be tried again.
    Refused,
}

/// A fetch that waits for a line.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    line: u32,
    pc: u32,
    slot: u8,
    epoch: u32,
}

/// L0 instruction cache with its stream buffer.
pub struct Level0 {
    tags: Tags,
    instructions_per_line: u32,
    /// The same as a shift, if it is a power of two: a division per fetch shows.
    line_shift: Option<u32>,
    perfect: bool,
    outstanding: usize,
    /// Last line that each warp hit, and the generation of the tags at that time.
    remembered: [(u32, u32); 16],
    waiters: VecDeque<Waiter>,
    /// Lines asked for on demand and not yet here.
    pending: Vec<u32>,
    /// Demand lines not yet handed to the link.
    to_send: VecDeque<u32>,
    stream: StreamBuffer,
    last_line: u32,
    /// Accesses that hit.
    pub hits: u64,
    /// Accesses that missed.
    pub misses: u64,
}

impl Level0 {
    /// An empty cache for a program of `instructions` instructions.
    pub fn new(
        level0: &Level0Parameters,
        stream: &StreamBufferParameters,
        instructions: u32,
    ) -> Level0 {
        let instructions_per_line = level0.line_bytes / 16;
        Level0 {
            tags: Tags::new(level0.sets, level0.ways),
            instructions_per_line,
            line_shift: instructions_per_line
                .is_power_of_two()
                .then(|| instructions_per_line.trailing_zeros()),
            perfect: level0.perfect,
            outstanding: level0.outstanding as usize,
            remembered: [(u32::MAX, 0); 16],
            waiters: VecDeque::with_capacity(64),
            pending: Vec::with_capacity(level0.outstanding as usize),
            to_send: VecDeque::with_capacity(level0.outstanding as usize),
            stream: StreamBuffer::new(stream.depth),
            last_line: instructions.saturating_sub(1) / instructions_per_line,
            hits: 0,
            misses: 0,
        }
    }

    /// Fetch of the instruction at `pc` (in instructions) by the warp in local slot `slot`.
    #[inline]
    pub fn access(&mut self, slot: u8, pc: u32, epoch: u32, now: u64) -> Access {
        let line = match self.line_shift {
            Some(shift) => pc >> shift,
            None => pc / self.instructions_per_line,
        };
        if self.perfect || self.remembered[slot as usize] == (line, self.tags.generation()) {
            self.hits += 1;
            return Access::Hit;
        }
        if self.tags.touch(line, now) {
            self.remembered[slot as usize] = (line, self.tags.generation());
            self.hits += 1;
            self.stream.passed(line);
            return Access::Hit;
        }
        self.miss(
            Waiter {
                line,
                pc,
                slot,
                epoch,
            },
            now,
        )
    }

    #[cold]
    fn miss(&mut self, waiter: Waiter, now: u64) -> Access {
        let line = waiter.line;
        if !self.pending.contains(&line) {
            if self.pending.len() >= self.outstanding {
                return Access::Refused;
            }
            match self.stream.demand(line) {
                Demand::Here => {
                    self.stream.pop();
                    self.tags.fill(line, now);
                    self.misses += 1;
                    return Access::Hit;
                }
                Demand::Coming => self.pending.push(line),
                Demand::Elsewhere => {
                    self.pending.push(line);
                    self.to_send.push_back(line);
                }
            }
        }
        self.misses += 1;
        self.waiters.push_back(waiter);
        Access::Waits
    }

    /// Whether the link has something to carry for this cache.
    pub fn wants_link(&self) -> bool {
        !self.to_send.is_empty() || self.stream.wanted().is_some()
    }

    /// Demand line to send next; demands go before prefetches.
    pub fn take_demand(&mut self) -> Option<u32> {
        self.to_send.pop_front()
    }

    /// Line to prefetch next. Whether L0 holds it is not looked at: it may be gone when it is needed (a
    /// GA106 shows no stall in straight code a little larger than L0).
    pub fn take_prefetch(&mut self) -> Option<u32> {
        loop {
            let line = self.stream.wanted()?;
            if line > self.last_line {
                self.stream.stop();
                return None;
            }
            if self.pending.contains(&line) {
                self.stream.skip();
                continue;
            }
            self.stream.requested();
            return Some(line);
        }
    }

    /// A demanded line arrived.
    pub fn arrive_demand(&mut self, line: u32, now: u64) {
        self.tags.fill(line, now);
        self.pending.retain(|&pending| pending != line);
    }

    /// A prefetched line arrived. True if it went on into L0 because a demand waits for it.
    pub fn arrive_prefetch(&mut self, line: u32, now: u64) -> bool {
        if !self.stream.arrive(line) {
            return false;
        }
        self.stream.pop();
        self.arrive_demand(line, now);
        true
    }

    /// Calls `answer(slot, pc, epoch)` for each fetch that waited for `line`, oldest first.
    pub fn answer(&mut self, line: u32, mut answer: impl FnMut(u8, u32, u32)) {
        self.waiters.retain(|waiter| {
            if waiter.line == line {
                answer(waiter.slot, waiter.pc, waiter.epoch);
            }
            waiter.line != line
        });
    }
}
