//! Why nothing moves any more (DESIGN.md W6): every live warp with what it waits for.

use sm::Sm;
use source::{Cycle, Pc, Source};

/// A launch that will not end, or not within the cycles allowed.
#[derive(Debug, Clone)]
pub struct Hang {
    /// Deadlock or limit.
    pub kind: HangKind,
    /// The cycle in which it was seen.
    pub cycle: Cycle,
    /// Live warps, in the order of SM and slot.
    pub warps: Vec<StuckWarp>,
    /// CTAs that were never started.
    pub waiting_ctas: u64,
}

/// What kind of hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangKind {
    /// Live warps and no event left.
    Deadlock,
    /// The limit of cycles was reached.
    MaxCycles(u64),
}

/// A live warp and what it waits for.
#[derive(Debug, Clone)]
pub struct StuckWarp {
    /// The SM.
    pub sm: u16,
    /// The warp's slot.
    pub slot: u8,
    /// Its CTA's slot.
    pub cta_slot: u8,
    /// The instruction it stands at.
    pub pc: Pc,
    /// What it waits for.
    pub reason: String,
}

impl Hang {
    /// The live warps of all SMs, with what time and values know of their waiting.
    pub(crate) fn of<S: Source>(
        kind: HangKind,
        cycle: Cycle,
        sms: &[Sm],
        sources: &[S],
        waiting_ctas: u64,
    ) -> Hang {
        let mut warps = Vec::new();
        for (place, (sm, source)) in sms.iter().zip(sources).enumerate() {
            for warp in sm.waiting_warps() {
                let mut reason = warp.reason.name().to_owned();
                if let Some(waits) = source.waiting(warp.slot) {
                    reason = format!("{reason}, {waits}");
                }
                if warp.counters != 0 {
                    let counters: Vec<String> = (0..6)
                        .filter(|counter| warp.counters >> counter & 1 == 1)
                        .map(|counter| format!("SB{counter}"))
                        .collect();
                    reason = format!("{reason}, waits for {}", counters.join(", "));
                }
                if warp.outstanding > 0 {
                    reason = format!("{reason}, {} instructions under way", warp.outstanding);
                }
                warps.push(StuckWarp {
                    sm: place as u16,
                    slot: warp.slot.0,
                    cta_slot: warp.cta.0,
                    pc: warp.pc,
                    reason,
                });
            }
        }
        Hang {
            kind,
            cycle,
            warps,
            waiting_ctas,
        }
    }
}
