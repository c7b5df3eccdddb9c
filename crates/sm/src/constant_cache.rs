//! An L0 constant cache (MODEL.md §7.8): one per sub-core for the constant operands of fixed-latency
//! instructions, looked up at issue, and one in the memory unit for LDC.

use std::collections::VecDeque;

use crate::tags::Tags;

hardware::parameters! {
    /// The L0 constant cache of each sub-core, for constant operands.
    pub struct OperandConstantParameters = "constant_operand_cache" {
        /// Sets.
        sets: u32, "sets", 1..=4096;
        /// Ways per set.
        ways: u32, "ways", 1..=64;
        /// Bytes per line.
        line_bytes: u32, "bytes", 16..=128;
        /// Every lookup hits.
        perfect: bool, "", false..=true;
    }
}

hardware::parameters! {
    /// The constant cache of the memory unit, for LDC.
    pub struct LoadConstantParameters = "constant_load_cache" {
        /// Sets.
        sets: u32, "sets", 1..=4096;
        /// Ways per set.
        ways: u32, "ways", 1..=64;
        /// Bytes per line.
        line_bytes: u32, "bytes", 16..=128;
        /// Every lookup hits.
        perfect: bool, "", false..=true;
        /// Cycles of a lookup.
        lookup: u64, "cycles", 0..=64;
    }
}

/// Bytes of one constant bank in the address space of the constant caches.
const BANK_BYTES: u32 = 64 * 1024;

/// A byte address in the constant space: banks of 64 KiB one after the other.
pub fn constant_address(bank: u8, offset: u32) -> u32 {
    bank as u32 * BANK_BYTES + offset % BANK_BYTES
}

/// One constant cache with the lines it has asked for.
pub struct ConstantCache {
    tags: Tags,
    line_bytes: u32,
    perfect: bool,
    pending: Vec<u32>,
    to_send: VecDeque<u32>,
    /// Operands that hit when they were looked up first.
    pub hits: u64,
    /// Operands that missed then.
    pub misses: u64,
}

impl ConstantCache {
    /// An empty cache.
    pub fn new(sets: u32, ways: u32, line_bytes: u32, perfect: bool) -> ConstantCache {
        ConstantCache {
            tags: Tags::new(sets, ways),
            line_bytes,
            perfect,
            pending: Vec::with_capacity(32),
            to_send: VecDeque::with_capacity(32),
            hits: 0,
            misses: 0,
        }
    }

    /// Bytes per line.
    pub fn line_bytes(&self) -> u32 {
        self.line_bytes
    }

    /// Looks `line` up in cycle `now`; a miss asks for it.
    #[inline]
    pub fn lookup(&mut self, line: u32, now: u64) -> bool {
        if self.perfect || self.tags.touch(line, now) {
            return true;
        }
        if !self.pending.contains(&line) {
            self.pending.push(line);
            self.to_send.push_back(line);
        }
        false
    }

    /// Counts an operand that has been read, by whether its first lookup hit.
    #[inline]
    pub fn count(&mut self, hit: bool) {
        if hit {
            self.hits += 1;
        } else {
            self.misses += 1;
        }
    }

    /// Whether the link has something to carry for this cache.
    pub fn wants_link(&self) -> bool {
        !self.to_send.is_empty()
    }

    /// Next line to ask for.
    pub fn take_demand(&mut self) -> Option<u32> {
        self.to_send.pop_front()
    }

    /// A line arrived.
    pub fn arrive(&mut self, line: u32, now: u64) {
        self.tags.fill(line, now);
        self.pending.retain(|&pending| pending != line);
    }
}
