//! Metrics of L1TEX: the L1 data cache, shared memory, and what goes between them and L2.

use source::{Operation, Space};

use super::{Declared, percent, ratio};

/// Kinds of traffic: how Nsight Compute calls it, what it is, where and what is done. Those whose
/// sectors are looked up in the L1 data cache, then those that go to L2 without.
macro_rules! traffic {
    (
        $(#[$attribute:meta])*
        $list:ident:
        looked_up {$($name:literal, $what:literal, $space:ident $operation:ident;)*}
        passing {$($past_name:literal, $past:literal, $past_space:ident $past_operation:ident;)*}
    ) => {
        super::metrics! {
            $(#[$attribute])*
            $list:
            $(
            concat!("l1tex__t_requests_", $name, ".sum"), "request", concat!($what, ": instructions with at least one lane."), |m| m.sm.traffic.of(Space::$space, Operation::$operation).instructions;
            concat!("l1tex__t_sectors_", $name, ".sum"), "sector", concat!($what, ": sectors that they touched."), |m| m.sm.traffic.of(Space::$space, Operation::$operation).sectors;
            concat!("l1tex__t_sectors_", $name, "_lookup_hit.sum"), "sector", concat!($what, ": sectors that hit in L1D; of stores, those whose line was there."), |m| m.sm.traffic.of(Space::$space, Operation::$operation).hits;
            concat!("l1tex__t_sectors_", $name, "_lookup_miss.sum"), "sector", concat!($what, ": other sectors, those that pass L1D by among them."), |m| m.sm.traffic.of(Space::$space, Operation::$operation).misses;
            concat!("l1tex__average_t_sectors_per_request_", $name, ".ratio"), "sector/request", concat!($what, ": sectors per instruction."), |m| {
                let traffic = m.sm.traffic.of(Space::$space, Operation::$operation);
                ratio(traffic.sectors, traffic.instructions)
            };
            )*
            $(
            concat!("l1tex__t_requests_", $past_name, ".sum"), "request", concat!($past, ": instructions with at least one lane."), |m| m.sm.traffic.of(Space::$past_space, Operation::$past_operation).instructions;
            concat!("l1tex__t_sectors_", $past_name, ".sum"), "sector", concat!($past, ": sectors that they touched."), |m| m.sm.traffic.of(Space::$past_space, Operation::$past_operation).sectors;
            concat!("l1tex__average_t_sectors_per_request_", $past_name, ".ratio"), "sector/request", concat!($past, ": sectors per instruction."), |m| {
                let traffic = m.sm.traffic.of(Space::$past_space, Operation::$past_operation);
                ratio(traffic.sectors, traffic.instructions)
            };
            )*
        }
    };
}

traffic! {
    /// Metrics of L1TEX by space and operation.
    TRAFFIC:
    looked_up {
        "pipe_lsu_mem_global_op_ld", "Global loads", Global Load;
        "pipe_lsu_mem_global_op_st", "Global stores", Global Store;
        "pipe_lsu_mem_local_op_ld", "Local loads", Local Load;
        "pipe_lsu_mem_local_op_st", "Local stores", Local Store;
    }
    passing {
        "pipe_lsu_mem_global_op_atom", "Global atomics with a result", Global Atomic;
        "pipe_lsu_mem_global_op_red", "Global atomics without a result", Global Reduction;
    }
}

/// Shared memory by operation: how Nsight Compute calls it, what it is.
macro_rules! shared {
    ($(#[$attribute:meta])* $list:ident: $($name:literal, $what:literal, $operation:ident;)*) => {
        super::metrics! {
            $(#[$attribute])*
            $list:
            $(
            concat!("smsp__inst_executed_op_shared_", $name, ".sum"), "inst", concat!($what, ": instructions with at least one lane."), |m| m.sm.traffic.of(Space::Shared, Operation::$operation).instructions;
            concat!("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_", $name, ".sum"), "cycle", concat!($what, ": cycles of shared memory."), |m| m.sm.traffic.of(Space::Shared, Operation::$operation).wavefronts;
            concat!("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_", $name, ".sum"), "cycle", concat!($what, ": cycles beyond one for each 128 bytes."), |m| m.sm.traffic.of(Space::Shared, Operation::$operation).conflicts;
            )*
        }
    };
}

shared! {
    /// Metrics of shared memory by operation.
    SHARED:
    "ld", "Shared loads", Load;
    "st", "Shared stores", Store;
    "atom", "Shared atomics", Atomic;
}

super::metrics! {
    /// Totals of L1TEX.
    TOTALS:
    "l1tex__t_sectors.sum", "sector", "Sectors that instructions touched, atomics among them.", |m| m.sm.traffic.total(CACHED).sectors;
    "l1tex__t_sectors_lookup_hit.sum", "sector", "Sector lookups of loads and stores in L1D that hit.", |m| m.sm.l1_load_hits + m.sm.l1_store_hits;
    "l1tex__t_sectors_lookup_miss.sum", "sector", "Sector lookups of loads and stores in L1D that missed.", |m| m.sm.l1_load_misses + m.sm.l1_store_misses;
    "l1tex__t_sector_hit_rate.pct", "%", "Hits of all sector lookups in L1D.", |m| percent(m.sm.l1_load_hits + m.sm.l1_store_hits, m.sm.l1_load_hits + m.sm.l1_store_hits + m.sm.l1_load_misses + m.sm.l1_store_misses);
    "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct", "%", "Hits of all sectors of global loads, those that pass L1D by among them.", |m| {
        let traffic = m.sm.traffic.of(Space::Global, Operation::Load);
        percent(traffic.hits, traffic.hits + traffic.misses)
    };
    "l1tex__t_requests_pipe_tex.sum", "request", "Texture and surface instructions with at least one lane.", |m| m.sm.traffic.total(&[Space::Texture]).instructions;
    "l1tex__t_sectors_pipe_tex.sum", "sector", "Texture and surface instructions: sectors that they touched.", |m| m.sm.traffic.total(&[Space::Texture]).sectors;
    "l1tex__t_sectors_pipe_tex_lookup_hit.sum", "sector", "Texture and surface instructions: sectors that hit in L1D.", |m| m.sm.traffic.total(&[Space::Texture]).hits;
    "l1tex__t_sectors_pipe_tex_lookup_miss.sum", "sector", "Texture and surface instructions: other sectors of loads and stores.", |m| m.sm.traffic.total(&[Space::Texture]).misses;
    "sm__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum", "request", "Copies to shared memory (LDGSTS) with at least one lane.", |m| m.sm.traffic.of(Space::Global, Operation::CopyToShared).instructions;
    "sm__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum", "sector", "Copies to shared memory: sectors that they read.", |m| m.sm.traffic.of(Space::Global, Operation::CopyToShared).sectors;
    "l1d_ldgsts_hits.sum", "sector", "Copies to shared memory: sectors that hit in L1D.", |m| m.sm.traffic.of(Space::Global, Operation::CopyToShared).hits;
    "l1d_ldgsts_misses.sum", "sector", "Copies to shared memory: other sectors, those that pass L1D by among them.", |m| m.sm.traffic.of(Space::Global, Operation::CopyToShared).misses;
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", "cycle", "Copies to shared memory: cycles in which shared memory was written.", |m| m.sm.traffic.of(Space::Shared, Operation::CopyToShared).wavefronts;
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "cycle", "Cycles in which shared memory was busy.", |m| m.sm.traffic.total(&[Space::Shared]).wavefronts;
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "cycle", "Those beyond one for each 128 bytes.", |m| m.sm.traffic.total(&[Space::Shared]).conflicts;
    "l1d_load_hits.sum", "sector", "Sector lookups of loads in L1D that hit.", |m| m.sm.l1_load_hits;
    "l1d_load_misses.sum", "sector", "Sector lookups of loads in L1D that missed.", |m| m.sm.l1_load_misses;
    "l1d_load_merges.sum", "sector", "Those of a sector that was already on its way.", |m| m.sm.l1_load_merges;
    "l1d_load_hit_rate.pct", "%", "Hits of the sector lookups of loads in L1D.", |m| percent(m.sm.l1_load_hits, m.sm.l1_load_hits + m.sm.l1_load_misses);
    "l1d_store_hits.sum", "sector", "Sector lookups of stores in L1D whose line was present.", |m| m.sm.l1_store_hits;
    "l1d_store_misses.sum", "sector", "Other sector lookups of stores in L1D.", |m| m.sm.l1_store_misses;
    "l1tex__m_l1tex2xbar_req_cycles_active.sum", "cycle", "Cycles in which an SM sent a packet to L2.", |m| m.sm.port_cycles;
    "l1tex_packets_under_way.max", "packet", "High-water mark of an SM's packets to L2 without an answer; `sm_port.outstanding` at most.", |m| m.sm.packets_most;
    "l1d_sectors_missing.max", "sector", "High-water mark of the sectors missing in an SM's L1D; `l1_data_cache.outstanding` at most.", |m| m.sm.l1_missing_most;
    "l1i_lines_missing.max", "line", "High-water mark of the lines missing in an SM's L1 instruction and constant cache; `l1_instruction_cache.outstanding` at most.", |m| m.sm.instruction_missing_most;
    "l1i_requests_stalled.max", "request", "High-water mark of requests to an SM's L1 instruction and constant cache that found no room; one more than `l1_instruction_cache.link` at most.", |m| m.sm.instruction_stalled_most;
    "tlb_lookups.sum", "packet", "Translations that packets of data looked for on their way out of the SM.", |m| m.sm.translations;
    "tlb_hits.sum", "packet", "Those at hand in the SM's translation buffer.", |m| m.sm.translation_hits;
    "tlb_misses.sum", "packet", "Those that waited for a refill.", |m| m.sm.translation_misses;
    "tlb_refills.sum", "refill", "Refills of the translation buffers; misses of one page under way share one.", |m| m.sm.translation_refills;
    "tlb_refills_at_once.max", "refill", "Most refills of an SM under way at once; the entries of its buffer at most.", |m| m.sm.translation_refills_at_once;
    "tlb_hit_rate.pct", "%", "Hits of all lookups in the translation buffers.", |m| percent(m.sm.translation_hits, m.sm.translations);
    "l1tex2xbar_packets.sum", "packet", "Packets that SMs sent to L2, each with sectors of one line; those for instructions and constants among them.", |m| m.sm.packets;
}

/// Spaces whose sectors lie in device memory.
const CACHED: &[Space] = &[Space::Global, Space::Local, Space::Texture];
