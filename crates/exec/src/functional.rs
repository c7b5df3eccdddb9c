//! Functional mode: values without time. All CTAs that fit are resident and take turns warp by warp
//! in a fixed quantum (DESIGN.md W5), so that locks and grid barriers between them make progress.

use std::sync::Arc;

use source::{Effect, Fault, Pc};

use crate::launch::Launch;
use crate::machine::Machine;
use crate::memory::global::GlobalMemory;
use crate::memory::port::DirectPort;

/// Warps that are resident at the same time: more than the largest GPU holds.
const RESIDENT_WARPS: u64 = 8192;
/// Instructions that a warp executes before the next one has its turn.
const QUANTUM: u64 = 1024;

/// What a functional run did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FunctionalStatistics {
    /// Instructions executed by warps.
    pub warp_instructions: u64,
    /// Lanes in which they took effect.
    pub thread_instructions: u64,
    /// Executions of each instruction by pc.
    pub by_pc: Vec<u64>,
    /// Executions that were skipped because nothing executes the instruction, by pc; empty unless
    /// [`crate::UnknownOp::Nop`] was asked for.
    pub skipped: Vec<u64>,
}

impl FunctionalStatistics {
    /// Executions by mnemonic, most frequent first.
    pub fn by_opcode(&self, launch: &Launch) -> Vec<(&'static str, u64)> {
        let mut counts: Vec<(&'static str, u64)> = Vec::new();
        for (decoded, &count) in launch.program().decoded().iter().zip(&self.by_pc) {
            if count == 0 {
                continue;
            }
            let name = match decoded {
                sass::Decoded::Instruction(instruction) => instruction.opcode.text(),
                sass::Decoded::Unknown(_) => "unknown",
            };
            match counts.iter_mut().find(|(other, _)| *other == name) {
                Some((_, total)) => *total += count,
                None => counts.push((name, count)),
            }
        }
        counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        counts
    }
}

/// Why a functional run ended early.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RunFault {
    /// The program did something that the machine would trap.
    #[error("{0:?}")]
    Fault(Box<Fault>),
    /// No warp can run and not all have ended: who waits for what.
    #[error("deadlock: {} warps wait: {}", .waiting.len(), .waiting.join(" | "))]
    Deadlock {
        /// One line for each waiting warp, the first few.
        waiting: Vec<String>,
    },
    /// The limit of instructions was reached.
    #[error(
        "more than {limit} warp instructions: an endless loop, or --max-instructions is too low"
    )]
    TooLong {
        /// The limit.
        limit: u64,
        /// Where the warp that ran last is.
        pc: Pc,
    },
}

/// Runs a launch to its end.
///
/// # Errors
/// A fault, a deadlock, or more than `max_instructions` warp instructions.
pub fn run(
    launch: &Arc<Launch>,
    memory: &mut GlobalMemory,
    max_instructions: u64,
) -> Result<FunctionalStatistics, RunFault> {
    let warps_per_cta = u64::from(launch.warps_per_cta());
    let ctas = launch.ctas();
    // CTAs of a cooperative launch wait for each other: all are resident.
    let resident = if launch.options().grid_workspace != 0 {
        ctas as usize
    } else {
        (RESIDENT_WARPS / warps_per_cta).clamp(1, ctas) as usize
    };
    let places = resident * warps_per_cta as usize;
    let mut machine = Machine::new(Arc::clone(launch), 0, places, resident);
    let mut statistics = FunctionalStatistics {
        by_pc: vec![0; launch.code.len()],
        ..Default::default()
    };
    let mut effect = Effect::new();
    let mut next_cta = 0;
    for slot in 0..resident {
        start(&mut machine, slot, &mut next_cta, warps_per_cta as u32);
    }
    let mut live = resident;
    while live > 0 {
        let mut progress = false;
        for slot in 0..resident {
            if !machine.ctas[slot].live {
                continue;
            }
            for w in 0..warps_per_cta as usize {
                let place = slot * warps_per_cta as usize + w;
                progress |= turn(
                    &mut machine,
                    place,
                    memory,
                    &mut statistics,
                    &mut effect,
                    max_instructions,
                )?;
            }
            if !machine.ctas[slot].live {
                if next_cta < ctas {
                    start(&mut machine, slot, &mut next_cta, warps_per_cta as u32);
                } else {
                    live -= 1;
                }
            }
        }
        if !progress && live > 0 {
            return Err(deadlock(&machine));
        }
    }
    statistics.skipped = std::mem::take(&mut machine.skipped);
    Ok(statistics)
}

fn start(machine: &mut Machine, slot: usize, next_cta: &mut u64, warps: u32) {
    let mut places = [0; crate::cta::MAX_WARPS];
    for (w, place) in places.iter_mut().enumerate() {
        *place = slot as u32 * warps + w as u32;
    }
    machine.start_cta(*next_cta, slot, &places[..warps as usize]);
    *next_cta += 1;
}

/// Lets a warp run for a quantum; whether it executed anything.
#[inline]
fn turn(
    machine: &mut Machine,
    place: usize,
    memory: &mut GlobalMemory,
    statistics: &mut FunctionalStatistics,
    effect: &mut Effect,
    max_instructions: u64,
) -> Result<bool, RunFault> {
    let warp = &machine.warps[place];
    if !warp.live || warp.splits.active == 0 {
        return Ok(false);
    }
    let mut pc = Pc(warp.splits.pc);
    let left = max_instructions - statistics.warp_instructions;
    let quantum = left.min(QUANTUM);
    let mut port = DirectPort { memory };
    let mut executed = 0;
    while executed < quantum {
        let clock = statistics.warp_instructions + executed;
        if let Err(fault) = machine.step(place, pc, clock, &mut port, effect) {
            return Err(RunFault::Fault(fault));
        }
        executed += 1;
        statistics.thread_instructions += u64::from(effect.lanes.count_ones());
        if let Some(count) = statistics.by_pc.get_mut(pc.0 as usize) {
            *count += 1;
        }
        if effect.ended || effect.blocked {
            break;
        }
        pc = effect.next;
        if effect.sleep > 0 {
            break;
        }
    }
    statistics.warp_instructions += executed;
    if left == executed && machine.warps[place].live {
        return Err(RunFault::TooLong {
            limit: max_instructions,
            pc,
        });
    }
    Ok(true)
}

fn deadlock(machine: &Machine) -> RunFault {
    const SHOWN: usize = 64;
    let waiting = machine
        .warps
        .iter()
        .enumerate()
        .filter(|(_, warp)| warp.live)
        .filter_map(|(place, warp)| {
            let what = machine.waiting(place)?;
            Some(format!(
                "block {:?} warp {}: {what}",
                warp.cta_index, warp.index
            ))
        })
        .take(SHOWN)
        .collect();
    RunFault::Deadlock { waiting }
}
