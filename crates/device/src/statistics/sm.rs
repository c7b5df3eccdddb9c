//! Metrics of the SM: cycles, instructions, occupancy, caches of instructions and constants, registers.

use ::sm::StallReason;

use super::{Declared, percent, ratio};

super::metrics! {
    /// Metrics of the SM.
    SM:
    "sm__cycles_elapsed.max", "cycle", "Cycles of the launch, without its overhead.", |m| m.cycles;
    "sm__cycles_active.sum", "cycle", "Cycles in which an SM had a resident warp, summed over the SMs.", |m| m.sm.active_cycles;
    "sm__cycles_active.avg", "cycle", "The same, by SM.", |m| ratio(m.sm.active_cycles, m.sms);
    "smsp__inst_executed.sum", "inst", "Warp instructions issued.", |m| m.sm.warp_instructions;
    "smsp__thread_inst_executed_pred_on.sum", "inst", "Thread instructions: lanes in which an issued instruction took effect.", |m| m.sm.thread_instructions;
    "sm__inst_executed.avg.per_cycle_elapsed", "inst/cycle", "Warp instructions per cycle and SM, over the whole launch.", |m| ratio(m.sm.warp_instructions, m.cycles * m.sms);
    "sm__inst_executed.avg.per_cycle_active", "inst/cycle", "Warp instructions per cycle and SM, while it had a resident warp.", |m| ratio(m.sm.warp_instructions, m.sm.active_cycles);
    "smsp__issue_active.sum", "slot", "Issue slots in which an instruction was issued.", |m| m.sm.slots(StallReason::Selected);
    "smsp__issue_active.avg.pct_of_peak_sustained_elapsed", "%", "The same, of all issue slots of the launch.", |m| percent(m.sm.slots(StallReason::Selected), m.cycles * m.sms * m.sub_cores);
    "sm__ctas_launched.sum", "cta", "CTAs that ran to their end.", |m| m.sm.ctas;
    "sm__warps_active.avg.per_cycle_active", "warp", "Resident warps of an SM while it had one.", |m| ratio(m.sm.resident_warp_cycles, m.sm.active_cycles);
    "sm__warps_active.avg.pct_of_peak_sustained_active", "%", "The same, of the warps that an SM has room for: achieved occupancy.", |m| percent(m.sm.resident_warp_cycles, m.sm.active_cycles * m.warps_per_sm);
    "l0i_hits.sum", "access", "Accesses of the L0 instruction caches that hit.", |m| m.sm.l0_instruction_hits;
    "l0i_misses.sum", "access", "Accesses of the L0 instruction caches that missed.", |m| m.sm.l0_instruction_misses;
    "l0i_hit_rate.pct", "%", "Hits of all accesses of the L0 instruction caches.", |m| percent(m.sm.l0_instruction_hits, m.sm.l0_instruction_hits + m.sm.l0_instruction_misses);
    "l1i_hits.sum", "access", "Lookups in the L1 instruction caches that hit.", |m| m.sm.l1_instruction_hits;
    "l1i_misses.sum", "access", "Lookups in the L1 instruction caches that missed.", |m| m.sm.l1_instruction_misses;
    "l1i_hit_rate.pct", "%", "Hits of all lookups in the L1 instruction caches.", |m| percent(m.sm.l1_instruction_hits, m.sm.l1_instruction_hits + m.sm.l1_instruction_misses);
    "constant_hits.sum", "access", "Lookups of constant operands that hit.", |m| m.sm.constant_hits;
    "constant_misses.sum", "access", "Lookups of constant operands that missed.", |m| m.sm.constant_misses;
    "constant_hit_rate.pct", "%", "Hits of all lookups of constant operands.", |m| percent(m.sm.constant_hits, m.sm.constant_hits + m.sm.constant_misses);
    "reuse_cache_hits.sum", "operand", "Source operands taken from the reuse cache.", |m| m.sm.reuse_hits;
    "register_port_stalls.sum", "cycle", "Cycles that instructions waited in Allocate for read ports.", |m| m.sm.register_port_stalls;
}
