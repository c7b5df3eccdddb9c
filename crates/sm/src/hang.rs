//! What an SM tells about warps that make no progress.

use source::{CtaSlot, WarpSlot};

use crate::sm::{SUB_CORES, Sm};
use crate::stall_reason::StallReason;

impl Sm {
    /// For the hang report: every live warp with its pc and what it waits for.
    pub fn waiting_warps(&self) -> Vec<WaitingWarp> {
        let mut waiting = Vec::new();
        for (slot, warp) in self.warps.iter().enumerate() {
            if !warp.resident || warp.ended {
                continue;
            }
            let sub = &self.sub_cores[slot % SUB_CORES];
            let local = slot / SUB_CORES;
            let bit = 1u16 << local;
            let counters = sub.wait[local] & sub.nonzero[local];
            let reason = if sub.held & bit != 0 {
                self.held_reason(slot % SUB_CORES, local)
            } else if sub.dependent & bit != 0 {
                StallReason::ShortScoreboard
            } else if sub.fetch.waits_for_instruction(local) {
                StallReason::NoInstruction
            } else {
                StallReason::Dispatch
            };
            waiting.push(WaitingWarp {
                slot: WarpSlot(slot as u8),
                cta: CtaSlot(warp.cta),
                pc: source::Pc(sub.pc[local]),
                reason,
                counters,
                outstanding: warp.outstanding,
            });
        }
        waiting
    }
}

/// A live warp in a hang report.
#[derive(Clone, Copy, Debug)]
pub struct WaitingWarp {
    /// Its slot.
    pub slot: WarpSlot,
    /// Its CTA's slot.
    pub cta: CtaSlot,
    /// Its next instruction.
    pub pc: source::Pc,
    /// What holds it.
    pub reason: StallReason,
    /// Dependence counters that it waits for, bit k = counter k.
    pub counters: u8,
    /// Its instructions of variable latency under way.
    pub outstanding: u32,
}
