//! A sub-core's half of the memory unit: input latch, queue and address stages (MODEL.md §7.1 to 7.3).
//!
//! Control hands an instruction to the latch; from there it takes one of four places, which it keeps
//! until the shared unit accepts it. The stages form a pipeline of one instruction each.

use std::collections::VecDeque;

use crate::event::RecordIndex;

/// Number of address stages.
pub const STAGES: usize = 6;
/// Cycle that is not known yet.
pub const UNKNOWN: u64 = u64::MAX;

/// One instruction in the address stages.
#[derive(Clone, Copy)]
struct Staged {
    record: RecordIndex,
    lengths: [u8; STAGES],
    /// Stage in which it is, as far as known.
    stage: u8,
    /// Cycle in which it entered that stage.
    entered: u64,
    /// Cycle in which it leaves each stage. UNKNOWN until it follows from the instructions ahead.
    leaves: [u64; STAGES],
    /// Cycle in which it is ready for hand-over; UNKNOWN until it follows from the instructions ahead.
    ready: u64,
    asked: bool,
}

impl Staged {
    /// Works out its stage times as far as they follow from when the instruction ahead leaves each stage.
    #[inline]
    fn propagate(&mut self, ahead: &[u64; STAGES], ready: &mut impl FnMut(RecordIndex, u64)) {
        loop {
            let stage = self.stage as usize % STAGES;
            let done = self.entered + self.lengths[stage] as u64;
            let mut next = stage + 1;
            let mut free = 0;
            while next < STAGES {
                free = free.max(ahead[next]);
                if self.lengths[next] > 0 {
                    break;
                }
                next += 1;
            }
            if next == STAGES {
                self.ready = done;
                ready(self.record, done);
                return;
            }
            if free == UNKNOWN {
                return;
            }
            let moves = done.max(free);
            // One stage, or a few that it skips.
            self.leaves[stage] = moves;
            for skipped in stage + 1..next {
                self.leaves[skipped] = moves;
            }
            self.stage = next as u8;
            self.entered = moves;
        }
    }
}

/// Input latch, queue and address stages of one sub-core.
pub struct Stages {
    capacity: usize,
    /// Instruction in the input latch and the first cycle in which it can take a place.
    latch: Option<(RecordIndex, u64)>,
    /// Instructions that wait for the first stage: (record, stage lengths, first cycle possible).
    queue: VecDeque<(RecordIndex, [u8; STAGES], u64)>,
    staged: VecDeque<Staged>,
    /// Places taken.
    taken: usize,
    /// First cycle in which the head of the queue could enter the first stage; UNKNOWN if there is none
    /// or it depends on a hand-over.
    head_enters: u64,
    /// When the instruction that left the stages last left each of them.
    left: [u64; STAGES],
}

impl Stages {
    /// Empty, with `capacity` places.
    pub fn new(capacity: u32) -> Stages {
        Stages {
            capacity: capacity as usize,
            latch: None,
            queue: VecDeque::with_capacity(capacity as usize),
            staged: VecDeque::with_capacity(capacity as usize),
            taken: 0,
            head_enters: UNKNOWN,
            left: [0; STAGES],
        }
    }

    /// Works out when the head of the queue could enter the first stage.
    #[inline]
    fn look_at_head(&mut self) {
        self.head_enters = UNKNOWN;
        if let Some((_, lengths, from)) = self.queue.front() {
            let free = self.staged.back().map_or(&self.left, |last| &last.leaves);
            let mut enters = *from;
            for (length, &free) in lengths.iter().zip(free) {
                enters = enters.max(free);
                if *length > 0 {
                    break;
                }
            }
            self.head_enters = enters;
        }
    }

    /// Whether Control can hand over an instruction.
    #[inline]
    pub fn latch_free(&self) -> bool {
        self.latch.is_none()
    }

    /// Control hands over `record` in cycle `now`.
    #[inline]
    pub fn accept(&mut self, record: RecordIndex, now: u64) {
        debug_assert!(self.latch.is_none());
        self.latch = Some((record, now + 1));
    }

    /// The instruction in the latch that can take a place in cycle `now`.
    #[inline]
    pub fn latch_to_queue(&self, now: u64) -> Option<RecordIndex> {
        let (record, from) = self.latch?;
        (now >= from && self.taken < self.capacity).then_some(record)
    }

    /// Moves the latched instruction to the queue.
    #[inline]
    pub fn enqueue(&mut self, lengths: [u8; STAGES], now: u64) {
        if let Some((record, _)) = self.latch.take() {
            self.taken += 1;
            self.queue.push_back((record, lengths, now + 1));
            if self.queue.len() == 1 {
                self.look_at_head();
            }
        }
    }

    /// Whether the head of the queue could enter the first stage in cycle `now`.
    #[inline]
    pub fn head_ready(&self, now: u64) -> bool {
        self.head_enters <= now
    }

    /// Next cycle after `now` in which the latch or the head of the queue may move; UNKNOWN if that
    /// depends on a hand-over.
    #[inline]
    pub fn next_entry(&self, now: u64) -> u64 {
        let mut next = UNKNOWN;
        if let Some((_, from)) = self.latch
            && self.taken < self.capacity
        {
            next = from.max(now + 1);
        }
        if self.head_enters != UNKNOWN {
            next = next.min(self.head_enters.max(now + 1));
        }
        next
    }

    /// The instruction that enters the first stage next.
    pub fn head(&self) -> Option<RecordIndex> {
        self.queue.front().map(|(record, ..)| *record)
    }

    /// The head enters the first stage in cycle `now`. To be followed by [`Stages::propagate`].
    pub fn enter(&mut self, now: u64) {
        if let Some((record, lengths, _)) = self.queue.pop_front() {
            let first = first_stage(&lengths);
            let mut staged = Staged {
                record,
                lengths,
                stage: first as u8,
                entered: now,
                leaves: [UNKNOWN; STAGES],
                ready: UNKNOWN,
                asked: false,
            };
            staged.leaves[..first].fill(0);
            self.staged.push_back(staged);
        }
    }

    /// Works out all stage times that follow from what is known. Calls `ready(record, cycle)` once
    /// for each instruction whose hand-over cycle became known.
    pub fn propagate(&mut self, mut ready: impl FnMut(RecordIndex, u64)) {
        // Both halves of the queue in turn: its own iterator costs more than the work.
        let (first, second) = self.staged.as_mut_slices();
        let mut ahead = &self.left;
        for half in [first, second] {
            for staged in half {
                if staged.ready == UNKNOWN {
                    staged.propagate(ahead, &mut ready);
                }
                ahead = &staged.leaves;
            }
        }
        self.look_at_head();
    }

    /// Cycle from which the oldest instruction asks for hand-over, told once.
    pub fn asks_at(&mut self) -> Option<u64> {
        let oldest = self.staged.front_mut()?;
        if oldest.asked || oldest.ready == UNKNOWN {
            return None;
        }
        oldest.asked = true;
        Some(oldest.ready)
    }

    /// The instruction that is handed over next.
    #[inline]
    pub fn oldest(&self) -> Option<RecordIndex> {
        self.staged.front().map(|staged| staged.record)
    }

    /// Instructions in the latch, the queue and the stages.
    pub fn len(&self) -> usize {
        self.latch.iter().len() + self.taken
    }

    /// The shared unit takes the oldest instruction in cycle `now`. To be followed by
    /// [`Stages::propagate`].
    pub fn hand_over(&mut self, now: u64) -> Option<RecordIndex> {
        let staged = self.staged.pop_front()?;
        self.taken -= 1;
        self.left = staged.leaves;
        for left in &mut self.left {
            if *left == UNKNOWN {
                *left = now;
            }
        }
        Some(staged.record)
    }
}

#[inline]
fn first_stage(lengths: &[u8; STAGES]) -> usize {
    lengths
        .iter()
        .position(|&length| length > 0)
        .unwrap_or(STAGES - 1)
}
