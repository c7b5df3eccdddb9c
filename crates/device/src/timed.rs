//! A launch cycle by cycle: SMs with their sources and the memory side in one engine, and what they
//! counted in one report.

use std::collections::BTreeMap;

use exec::{CODE_BASE, SmState};
use sm::{Hazard, HazardMode, Sm, SmStatistics, StallReason};
use source::{Cycle, Fault, PageTable, Pc, SmId};

use crate::device::{Device, Prepared};
use crate::engine::{Engine, Hang, Parts, Progress, Stop};
use crate::error::{FaultReport, HangReport, RunError};
use crate::options::{Mode, RunOptions};
use crate::pages::CONSTANT_BASE;
use crate::report::{HazardReport, Issue, LaunchReport, Timing};
use crate::statistics::{
    DRAM_SHARE, DRAM_THROUGHPUT, InstanceKind, L2_HIT_RATE, Measured, Metric, channels, slices,
    sm_metrics, sms as of_sms,
};
use crate::walk::{self, WalkError};

/// Constant banks.
const BANKS: u8 = 32;

impl Device {
    /// Puts into L2 what copies from the host wrote since the last launch: data, code, constants.
    fn warm_l2(&mut self, prepared: &Prepared, pages: &PageTable) {
        let beyond = &mut self.beyond;
        let page = 1 << pages.page_bits();
        let mut copied = |address: u64, bytes: u64| {
            let end = address.saturating_add(bytes);
            let mut from = address;
            while from < end {
                let to = end.min((from / page + 1) * page);
                beyond.warm(pages.physical(from), to - from);
                from = to;
            }
        };
        for &(address, bytes) in &self.copied {
            copied(address, bytes);
        }
        let program = prepared.launch.program();
        let kernel = program.kernel();
        let loaded = program.module().loaded();
        for bank in 0..BANKS {
            let bytes = match bank {
                0 => (kernel.parameter_base + kernel.parameter_size).max(kernel.constant0_size),
                bank => loaded
                    .constant_bank(u32::from(bank), Some(kernel.section))
                    .map_or(0, |bytes| bytes.len() as u32),
            };
            let first = sm::constant_address(bank, 0);
            let address = CONSTANT_BASE + u64::from(first);
            copied(address, u64::from(bytes));
        }
    }

    /// Runs a launch cycle by cycle.
    pub(crate) fn run_timed(
        &mut self,
        prepared: &Prepared,
        options: &RunOptions,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<LaunchReport, RunError> {
        let mut report = self.blank_report(prepared, Mode::Timing);
        let launch = &prepared.launch;
        let program = sm::Program::new(launch.program().descriptions(), &self.gpu, &self.sm)
            .map_err(|error| RunError::Sm {
                kernel: launch.program().name().to_owned(),
                error: Box::new(error),
            })?;
        let registers = (program.places as u16).saturating_sub(UNIFORM + 2 * PREDICATES);
        let shape = sm::Launch {
            program,
            warps_per_cta: prepared.occupancy.warps_per_cta,
            ctas_per_sm: prepared.occupancy.ctas_per_sm,
            warps_per_sm: self.limits.warps_per_sm,
            l1_bytes: prepared.occupancy.l1_size,
            hazards: options.hazards,
            watch: options.timeline,
            walk: match &options.walk {
                Some(request) => Some(walk::target(prepared, request).map_err(no_walk(prepared))?),
                None => None,
            },
            code_address: CODE_BASE,
            constant_address: CONSTANT_BASE,
            pages: self.page_table(prepared),
        };
        // Each where it will run: its memory lies near that core.
        let mut places: Vec<_> = (0..self.card.sms).map(|_| None).collect();
        self.threads.run_each(
            places
                .iter_mut()
                .enumerate()
                .map(|(sm, place)| (sm, (SmId(sm as u16), place))),
            |(sm, place)| {
                let source = SmState::new(launch.clone(), sm);
                *place = Some((Sm::new(sm, self.sm.clone(), &shape), source));
            },
        );
        let (sms, sources) = places.into_iter().flatten().unzip();
        if options.warm_l2 {
            self.beyond.restart();
            self.warm_l2(prepared, &shape.pages);
        } else {
            self.beyond.flush();
        }
        self.copied.clear();
        self.beyond.reset_statistics();
        let mut engine = Engine::new(Parts {
            sms,
            sources,
            shared: &mut self.global,
            memory: &mut self.beyond,
            ctas: launch.ctas(),
            ctas_per_sm: prepared.occupancy.ctas_per_sm,
            grants_per_cycle: self.launching.ctas_per_sm_cycle,
            threads: &self.threads,
            quantum: self.engine.visibility_quantum,
            window: options.window,
            max_cycles: options.max_cycles,
        });
        let ended = match self.threads.install(|| engine.run(progress)) {
            Ok(ended) => ended,
            Err(stop) => {
                // What was printed before is told. The clock that an instruction sees is one ahead.
                let last = match &stop {
                    Stop::Fault { cycle, .. } => *cycle + 1,
                    Stop::Hang(_) => Cycle::NEVER,
                };
                let mut sources = engine.into_sources();
                SmState::tell_printed(&mut sources, &mut self.global, last);
                let earlier = self.global.take_misuse().filter(|misuse| misuse.0 <= last);
                return Err(match earlier {
                    Some(misuse) => misused(misuse, prepared),
                    None => stopped(stop, prepared),
                });
            }
        };
        let cycles = ended.cycles;

        let (sms, sources) = engine.close(ended);
        if let Some(misuse) = self.global.take_misuse() {
            return Err(misused(misuse, prepared));
        }
        let mut sum = SmStatistics::default();
        for sm in &sms {
            sum.add(sm.statistics());
        }
        let hazards =
            (options.hazards != HazardMode::Off).then(|| hazard_reports(&sms, prepared, registers));
        let counts = sources.iter().flat_map(SmState::skipped);
        report.not_modelled.extend(skipped(prepared, counts));
        if prepared.launch.samples_textures() {
            report.not_modelled.push(
                "the texture filter's own latency and throughput: the sectors of a fetch take the \
                 way of a load's through L1"
                    .to_owned(),
            );
        }
        report.warp_instructions = sum.warp_instructions;
        report.thread_instructions = sum.thread_instructions;
        let schedulers = self.card.sms * self.card.sub_cores_per_sm;
        let measured = Measured {
            sm: &sum,
            cycles,
            sms: self.card.sms.into(),
            sub_cores: self.card.sub_cores_per_sm.into(),
            warps_per_sm: self.limits.warps_per_sm.into(),
        };
        let mut metrics = sm_metrics(&measured);
        let instances = options.instances.iter().map(|kind| match kind {
            InstanceKind::Sm => of_sms(sms.iter().map(Sm::statistics), &measured),
            InstanceKind::Slice => slices(&self.beyond),
            InstanceKind::Channel => channels(&self.beyond),
        });
        let instances = instances.collect();
        self.memory_metrics(cycles, &mut metrics);
        let walk = match &options.walk {
            Some(request) => {
                let beyond = self.beyond.take_hops();
                let walk = walk::report(prepared, request, &sms, beyond);
                Some(Box::new(walk.map_err(no_walk(prepared))?))
            }
            None => None,
        };
        report.timing = Some(Timing {
            cycles,
            launch_overhead: self.launching.overhead,
            clock: self.card.core_clock,
            sms: self.card.sms,
            schedulers,
            issue_slots: StallReason::ALL
                .iter()
                .map(|&reason| (reason, sum.slots(reason)))
                .collect(),
            metrics,
            instances,
            data_sheet_bandwidth: self.dram.bandwidth,
            hazards,
            timeline: sms.first().map_or(Vec::new(), |sm| timeline(sm, prepared)),
            walk,
        });
        Ok(report)
    }

    /// Appends what the memory side counted, and the rates that follow from it.
    fn memory_metrics(&self, cycles: u64, metrics: &mut Vec<Metric>) {
        let counted = self.beyond.statistics();
        for statistic in counted.list() {
            metrics.push(Metric {
                name: statistic.name.to_owned(),
                unit: statistic.unit.name().to_owned(),
                value: statistic.value.into(),
            });
        }
        let mut rate = |name: &str, unit: &str, value: f64| {
            metrics.push(Metric {
                name: name.to_owned(),
                unit: unit.to_owned(),
                value: value.into(),
            });
        };
        if counted.l2_lookups > 0 {
            let hits = 100.0 * counted.l2_hits as f64 / counted.l2_lookups as f64;
            rate(L2_HIT_RATE, "%", hits);
        }
        if cycles > 0 {
            let bytes = (counted.dram_read_bytes + counted.dram_write_bytes) as f64;
            let seconds = cycles as f64 / (self.card.core_clock * 1e6);
            let throughput = bytes / seconds;
            rate(DRAM_THROUGHPUT, "byte/s", throughput);
            let share = 100.0 * throughput / (self.dram.bandwidth * 1e9);
            rate(DRAM_SHARE, "%", share);
        }
    }
}

/// Tells with the kernel's name why nothing can be followed.
fn no_walk(prepared: &Prepared) -> impl Fn(WalkError) -> RunError + '_ {
    |error| RunError::Walk {
        kernel: prepared.launch.program().name().to_owned(),
        error,
    }
}

fn timeline(sm: &Sm, prepared: &Prepared) -> Vec<Issue> {
    let one = |issued: &sm::Issued| {
        let (offset, text) = instruction(prepared, issued.pc);
        Issue {
            cycle: issued.cycle.0,
            warp: issued.warp.0,
            offset,
            text,
        }
    };
    sm.issued().iter().map(one).collect()
}

/// Tells a wrong `free`.
fn misused((cycle, sm, fault): (Cycle, SmId, Box<Fault>), prepared: &Prepared) -> RunError {
    RunError::Fault(Box::new(fault_report(&fault, prepared, Some((sm, cycle)))))
}

/// Tells why the engine stopped, with the program's names.
fn stopped(stop: Stop, prepared: &Prepared) -> RunError {
    match stop {
        Stop::Fault {
            cycle, sm, fault, ..
        } => RunError::Fault(Box::new(fault_report(&fault, prepared, Some((sm, cycle))))),
        Stop::Hang(hang) => RunError::Hang(Box::new(hang_report(*hang, prepared))),
    }
}

/// Instructions that were skipped because nothing executes them, as lines of the report.
pub(crate) fn skipped(prepared: &Prepared, counts: impl Iterator<Item = (Pc, u64)>) -> Vec<String> {
    let mut sums: BTreeMap<Pc, u64> = BTreeMap::new();
    for (pc, count) in counts.filter(|(_, count)| *count > 0) {
        *sums.entry(pc).or_default() += count;
    }
    sums.into_iter()
        .map(|(pc, count)| {
            let (offset, text) = instruction(prepared, pc);
            format!("pc {offset:#06x} `{text}` was skipped {count} times")
        })
        .collect()
}

/// Byte offset in its function and text of an instruction.
pub(crate) fn instruction(prepared: &Prepared, pc: Pc) -> (u64, String) {
    let program = prepared.launch.program();
    let offset = program
        .module()
        .locate(pc)
        .map_or(pc.byte_address(), |(_, offset)| offset);
    (offset, program.text(pc))
}

fn hang_report(hang: Hang, prepared: &Prepared) -> HangReport {
    let instructions = hang
        .warps
        .iter()
        .map(|warp| instruction(prepared, warp.pc))
        .collect();
    let kernel = prepared.launch.program().name().to_owned();
    HangReport {
        kernel,
        hang,
        instructions,
    }
}

/// Tells a fault with the program's names.
pub(crate) fn fault_report(
    fault: &Fault,
    prepared: &Prepared,
    place: Option<(SmId, Cycle)>,
) -> FaultReport {
    use source::FaultKind;
    let program = prepared.launch.program();
    let (function, _) = program.module().locate(fault.pc).unwrap_or(("", 0));
    let (offset, text) = instruction(prepared, fault.pc);
    let (what, help) = match &fault.kind {
        FaultKind::OutOfBounds {
            space,
            address,
            bytes,
            nearest,
        } => (
            format!("out of bounds: {bytes} bytes of {space} memory at {address:#x}"),
            nearest.clone(),
        ),
        FaultKind::Misaligned {
            space,
            address,
            bytes,
        } => (
            format!(
                "misaligned: {bytes} bytes of {space} memory at {address:#x}, no multiple of {bytes}"
            ),
            None,
        ),
        FaultKind::UnknownInstruction { word, text } => (
            format!(
                "unknown instruction {:#018x} {:#018x}: {text}",
                word[0], word[1]
            ),
            Some("--unknown-op nop skips it".to_owned()),
        ),
        FaultKind::IllegalInstruction(text) => (format!("illegal instruction: {text}"), None),
        FaultKind::IllegalPc => ("control left the code".to_owned(), None),
        FaultKind::Trap(text) => (format!("trap: {text}"), None),
        FaultKind::Unsupported(text) => (format!("not supported: {text}"), None),
        FaultKind::Texture(text) => (text.clone(), None),
        FaultKind::Barrier(text) => (format!("barrier: {text}"), None),
    };
    FaultReport {
        kernel: program.name().to_owned(),
        function: if function.is_empty() {
            program.name().to_owned()
        } else {
            function.to_owned()
        },
        offset,
        instruction: text,
        thread: fault.lane.map(|_| fault.thread),
        cta: fault.cta,
        place: place.map(|(sm, cycle)| (sm.0, cycle.0)),
        what,
        help,
    }
}

/// Hazards of all SMs, one entry per pair of instructions, the most frequent first.
fn hazard_reports(sms: &[Sm], prepared: &Prepared, registers: u16) -> Vec<HazardReport> {
    // By both instructions, kind and register: how often, and where first.
    let mut pairs: BTreeMap<_, (u64, SmId, Hazard)> = BTreeMap::new();
    for (sm, hazard) in sms
        .iter()
        .flat_map(|sm| sm.hazards().iter().map(|found| (sm.id(), found)))
    {
        let key = (
            hazard.first,
            hazard.second,
            hazard.kind.name(),
            hazard.place,
        );
        let entry = pairs.entry(key).or_insert((0, sm, *hazard));
        entry.0 += hazard.count;
        if (hazard.cycle, sm) < (entry.2.cycle, entry.1) {
            (entry.1, entry.2) = (sm, *hazard);
        }
    }
    let mut reports: Vec<HazardReport> = pairs
        .into_values()
        .map(|(count, sm, hazard)| HazardReport {
            kind: hazard.kind.name().to_owned(),
            what: place_name(hazard.place, registers),
            first: instruction(prepared, Pc(hazard.first)),
            second: instruction(prepared, Pc(hazard.second)),
            found: hazard.found,
            needed: hazard.needed,
            count,
            place: format!(
                "SM {}, warp slot {}, cycle {}",
                sm.0, hazard.slot, hazard.cycle
            ),
        })
        .collect();
    reports.sort_by_key(|report| {
        (
            std::cmp::Reverse(report.count),
            report.second.0,
            report.first.0,
        )
    });
    reports
}

/// Uniform registers of a warp in the timing model's table of registers.
const UNIFORM: u16 = 64;
/// Predicates, and uniform predicates, of a warp in that table.
const PREDICATES: u16 = 8;

/// The register at a place of the timing model's table: general registers, uniform registers,
/// predicates, uniform predicates.
fn place_name(place: u16, registers: u16) -> String {
    let Some(uniform) = place.checked_sub(registers) else {
        return format!("R{place}");
    };
    match uniform.checked_sub(UNIFORM) {
        None => format!("UR{uniform}"),
        Some(predicate) if predicate < PREDICATES => format!("P{predicate}"),
        Some(predicate) => format!("UP{}", predicate - PREDICATES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_the_names_of_registers() {
        let names: Vec<String> = [0, 15, 16, 79, 80, 87, 88]
            .iter()
            .map(|&place| place_name(place, 16))
            .collect();
        assert_eq!(names, ["R0", "R15", "UR0", "UR63", "P0", "P7", "UP0"]);
    }
}
