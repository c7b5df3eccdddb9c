//! What one SM counted.

use source::{Operation, Space};

use crate::stall_reason::{REASONS, StallReason};

/// What memory instructions of one kind, in one space, asked of the memory unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Instructions handed over, with at least one lane.
    pub instructions: u64,
    /// Sectors that they touched (shared memory has none).
    pub sectors: u64,
    /// Sectors looked up in the L1 data cache and found; of stores, those whose line was present.
    pub hits: u64,
    /// Other sectors, those of loads that pass the cache by among them. Atomics are looked up in L2
    /// alone: they have neither hits nor misses.
    pub misses: u64,
    /// Cycles that shared memory was busy with them.
    pub wavefronts: u64,
    /// Those of them that bank conflicts cost.
    pub conflicts: u64,
}

impl Traffic {
    fn add(&mut self, other: &Traffic) {
        self.instructions += other.instructions;
        self.sectors += other.sectors;
        self.hits += other.hits;
        self.misses += other.misses;
        self.wavefronts += other.wavefronts;
        self.conflicts += other.conflicts;
    }
}

/// Number of memory spaces, and of operations.
const SPACES: usize = Space::Texture as usize + 1;
const OPERATIONS: usize = Operation::CopyToShared as usize + 1;

/// Traffic by space and operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TrafficTable([[Traffic; OPERATIONS]; SPACES]);

impl TrafficTable {
    /// What `operation` did in `space`.
    #[inline]
    pub fn of(&self, space: Space, operation: Operation) -> &Traffic {
        &self.0[space as usize][operation as usize]
    }

    /// The same, to be counted up.
    #[inline]
    pub(crate) fn count(&mut self, space: Space, operation: Operation) -> &mut Traffic {
        &mut self.0[space as usize][operation as usize]
    }

    /// All that was done in `spaces`.
    pub fn total(&self, spaces: &[Space]) -> Traffic {
        let mut total = Traffic::default();
        for traffic in spaces.iter().flat_map(|&space| &self.0[space as usize]) {
            total.add(traffic);
        }
        total
    }

    fn add(&mut self, other: &TrafficTable) {
        let pairs = self.0.iter_mut().flatten().zip(other.0.iter().flatten());
        pairs.for_each(|(sum, traffic)| sum.add(traffic));
    }
}

/// Counters of one SM.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SmStatistics {
    /// Warp instructions issued.
    pub warp_instructions: u64,
    /// Lanes in which they took effect.
    pub thread_instructions: u64,
    /// Issue slots by reason, summed over the sub-cores.
    pub slots: [u64; REASONS],
    /// CTAs that ran to their end.
    pub ctas: u64,
    /// Cycles in which at least one warp was resident.
    pub active_cycles: u64,
    /// Resident warps summed over the active cycles.
    pub resident_warp_cycles: u64,
    /// L1 data cache: sector lookups of loads that hit.
    pub l1_load_hits: u64,
    /// L1 data cache: sector lookups of loads that missed.
    pub l1_load_misses: u64,
    /// L1 data cache: sector lookups of stores with their line present.
    pub l1_store_hits: u64,
    /// L1 data cache: other sector lookups of stores.
    pub l1_store_misses: u64,
    /// Translations that packets of data looked for.
    pub translations: u64,
    /// Those at hand in the SM's buffer.
    pub translation_hits: u64,
    /// Those that waited for a refill.
    pub translation_misses: u64,
    /// Refills of the buffer; misses of one page under way share one.
    pub translation_refills: u64,
    /// Most refills of an SM under way at once.
    pub translation_refills_at_once: u64,
    /// L1 data cache: lookups of loads that missed a sector already on its way.
    pub l1_load_merges: u64,
    /// Memory instructions by space and operation.
    pub traffic: TrafficTable,
    /// L0 instruction cache accesses that hit.
    pub l0_instruction_hits: u64,
    /// L0 instruction cache accesses that missed.
    pub l0_instruction_misses: u64,
    /// L1 instruction cache lookups that hit.
    pub l1_instruction_hits: u64,
    /// L1 instruction cache lookups that missed.
    pub l1_instruction_misses: u64,
    /// Constant operand lookups that hit.
    pub constant_hits: u64,
    /// Constant operand lookups that missed.
    pub constant_misses: u64,
    /// Source operands taken from the reuse cache.
    pub reuse_hits: u64,
    /// Cycles that instructions waited in Allocate for read ports.
    pub register_port_stalls: u64,
    /// Packets sent to L2.
    pub packets: u64,
    /// Cycles in which one left the SM.
    pub port_cycles: u64,
    /// Most packets without an answer at once, of one SM.
    pub packets_most: u64,
    /// Most sectors missing in L1D at once, of one SM.
    pub l1_missing_most: u64,
    /// Most lines missing in the L1 instruction and constant cache at once, of one SM.
    pub instruction_missing_most: u64,
    /// Most requests at once that found no room there, of one SM.
    pub instruction_stalled_most: u64,
}

impl SmStatistics {
    /// Slots charged to `reason`.
    pub fn slots(&self, reason: StallReason) -> u64 {
        self.slots[reason as usize]
    }

    /// Adds another SM's counters.
    pub fn add(&mut self, other: &SmStatistics) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        for (sum, slots) in self.slots.iter_mut().zip(other.slots) {
            *sum += slots;
        }
        self.ctas += other.ctas;
        self.active_cycles += other.active_cycles;
        self.resident_warp_cycles += other.resident_warp_cycles;
        self.l1_load_hits += other.l1_load_hits;
        self.l1_load_misses += other.l1_load_misses;
        self.l1_store_hits += other.l1_store_hits;
        self.l1_store_misses += other.l1_store_misses;
        self.translations += other.translations;
        self.translation_hits += other.translation_hits;
        self.translation_misses += other.translation_misses;
        self.translation_refills += other.translation_refills;
        self.translation_refills_at_once = self
            .translation_refills_at_once
            .max(other.translation_refills_at_once);
        self.l1_load_merges += other.l1_load_merges;
        self.traffic.add(&other.traffic);
        self.l0_instruction_hits += other.l0_instruction_hits;
        self.l0_instruction_misses += other.l0_instruction_misses;
        self.l1_instruction_hits += other.l1_instruction_hits;
        self.l1_instruction_misses += other.l1_instruction_misses;
        self.constant_hits += other.constant_hits;
        self.constant_misses += other.constant_misses;
        self.reuse_hits += other.reuse_hits;
        self.register_port_stalls += other.register_port_stalls;
        self.packets += other.packets;
        self.port_cycles += other.port_cycles;
        self.packets_most = self.packets_most.max(other.packets_most);
        self.l1_missing_most = self.l1_missing_most.max(other.l1_missing_most);
        self.instruction_missing_most = self
            .instruction_missing_most
            .max(other.instruction_missing_most);
        self.instruction_stalled_most = self
            .instruction_stalled_most
            .max(other.instruction_stalled_most);
    }
}
