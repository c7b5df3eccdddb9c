//! The life of one memory instruction: what its SM and the memory side noted of it, joined to one way
//! from issue to the release of its dependence counter.

use exec::Launch;
use sm::{Sm, Touched, Walk, WalkTarget};
use source::{
    Chosen, Cycle, Hop, LaneMask, MemoryKind, Operation, Pc, RequestId, RowState, Space, Structure,
};

use crate::device::Prepared;
use crate::timed::instruction;

/// Which memory instruction to follow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WalkRequest {
    /// Position of the launch.
    pub launch: usize,
    /// Byte offset of the instruction in its kernel; the first load of device memory without.
    pub pc: Option<u64>,
    /// How many executions by the warp go before.
    pub nth: u64,
    /// Warp, counted over the grid. Without it, of the first executions on every SM, the one whose data
    /// the DRAM gives first; the first that is issued if none goes there. Where executions are to go
    /// before, warp 0.
    pub warp: Option<u64>,
}

impl WalkRequest {
    /// The warp, if it has to be a certain one.
    fn certain_warp(&self) -> Option<u64> {
        self.warp.or((self.nth > 0).then_some(0))
    }
}

/// Why nothing can be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// There is no such launch.
    #[error("there is no launch {launch}: the file has {launches}, counted from 0")]
    NoLaunch {
        /// The launch wanted.
        launch: usize,
        /// Launches there are.
        launches: usize,
    },
    /// There is no such warp.
    #[error(
        "there is no warp {warp}: the grid has {warps} warps ({per_cta} of each CTA), counted from 0"
    )]
    NoWarp {
        /// The warp wanted.
        warp: u64,
        /// Warps there are.
        warps: u64,
        /// Warps of a CTA.
        per_cta: u32,
    },
    /// The instruction does not go to memory.
    #[error("pc {pc:#06x} is {what}; instructions that go to memory: {right}")]
    NotMemory {
        /// The pc wanted.
        pc: u64,
        /// What is there.
        what: String,
        /// The pcs that can be followed.
        right: String,
    },
    /// The warp did not execute it so often.
    #[error("{who} executed {what} {met} times, so there is no execution {nth}, counted from 0")]
    NeverReached {
        /// The warp.
        who: String,
        /// The instruction.
        what: String,
        /// How often it was executed.
        met: u64,
        /// The execution wanted.
        nth: u64,
    },
}

/// The life of one memory instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkReport {
    /// Where it ran.
    pub sm: u16,
    /// Sub-core.
    pub sub_core: u8,
    /// CTA, counted over the grid.
    pub cta: u64,
    /// Warp, counted over the grid.
    pub warp: u64,
    /// How many executions by that warp went before.
    pub nth: u64,
    /// Byte offset in its function.
    pub offset: u64,
    /// The instruction.
    pub text: String,
    /// What it does.
    pub operation: Operation,
    /// Where.
    pub space: Space,
    /// Lanes that took part.
    pub lanes: LaneMask,
    /// When it was issued.
    pub issued: Cycle,
    /// When its result was there, or its last acknowledgement.
    pub done: Cycle,
    /// Lines of device memory that it touched.
    pub lines: Vec<Touched>,
    /// Every step, in the order of time.
    pub hops: Vec<Hop>,
    /// The steps that decided how long it took, each beginning where the one before ended.
    pub way: Vec<Hop>,
}

impl WalkReport {
    /// Cycles from its issue to its end.
    pub fn latency(&self) -> u64 {
        self.done - self.issued
    }
}

/// What the SMs have to look out for.
pub(crate) fn target(prepared: &Prepared, request: &WalkRequest) -> Result<WalkTarget, WalkError> {
    let per_cta = prepared.occupancy.warps_per_cta;
    let warps = prepared.launch.ctas() * u64::from(per_cta);
    let certain = request.certain_warp();
    if let Some(warp) = certain.filter(|warp| *warp >= warps) {
        return Err(WalkError::NoWarp {
            warp,
            warps,
            per_cta,
        });
    }
    let place = |warp: u64| {
        let each = u64::from(per_cta.max(1));
        (warp / each, (warp % each) as u32)
    };
    let pc = request
        .pc
        .map(|offset| find(prepared, offset))
        .transpose()?;
    Ok(WalkTarget {
        warp: certain.map(place),
        pc,
        nth: request.nth,
    })
}

/// Pcs of the kernel, with their byte offsets.
fn of_kernel(launch: &Launch) -> impl Iterator<Item = (u32, u64)> {
    let program = launch.program();
    let own = program
        .module()
        .locate(program.entry())
        .map(|(name, _)| name);
    (0..program.descriptions().len() as u32).filter_map(move |pc| {
        let (name, offset) = program.module().locate(Pc(pc))?;
        (Some(name) == own).then_some((pc, offset))
    })
}

fn find(prepared: &Prepared, offset: u64) -> Result<u32, WalkError> {
    let launch = &prepared.launch;
    let goes_out = |pc: u32| {
        let description = launch.program().descriptions().get(pc as usize);
        description
            .and_then(|one| one.memory)
            .is_some_and(|memory| memory.kind != MemoryKind::Pass)
    };
    let found = of_kernel(launch).find(|(_, at)| *at == offset);
    if let Some((pc, _)) = found.filter(|(pc, _)| goes_out(*pc)) {
        return Ok(pc);
    }
    let right: Vec<String> = of_kernel(launch)
        .filter(|(pc, _)| goes_out(*pc))
        .take(MOST_TOLD)
        .map(|(pc, at)| format!("{at:#06x} {}", instruction(prepared, Pc(pc)).1))
        .collect();
    Err(WalkError::NotMemory {
        pc: offset,
        what: match found {
            Some((pc, _)) => format!("`{}`", instruction(prepared, Pc(pc)).1),
            None => "outside of the kernel, or no multiple of 16".to_owned(),
        },
        right: match right.is_empty() {
            true => "none".to_owned(),
            false => right.join(", "),
        },
    })
}

/// Instructions that an error lists.
const MOST_TOLD: usize = 24;

/// Joins what was noted.
pub(crate) fn report(
    prepared: &Prepared,
    request: &WalkRequest,
    sms: &[Sm],
    beyond: Vec<Hop>,
) -> Result<WalkReport, WalkError> {
    let seen = sms.iter().filter_map(|sm| Some((sm, sm.walk()?)));
    let met = seen.clone().map(|(_, walk)| walk.met).max().unwrap_or(0);
    let done = seen.filter_map(|(sm, walk)| Some((sm, walk, walk.issued?, walk.done?)));
    // Of several the one that the DRAM serves first, whose row nothing of the others has opened.
    let served = |sm: &Sm| {
        let columns = beyond
            .iter()
            .filter(|hop| hop.sm == sm.id() && hop.structure == Structure::Column);
        columns.map(|hop| hop.end).min().unwrap_or(Cycle::NEVER)
    };
    let first = done.min_by_key(|(sm, _, issued, _)| (served(sm), *issued, sm.id()));
    let Some((sm, walk, issued, done)) = first else {
        let what = match request.pc {
            Some(pc) => format!("the instruction at {pc:#06x}"),
            None => "loads of device memory".to_owned(),
        };
        return Err(WalkError::NeverReached {
            who: match request.certain_warp() {
                Some(warp) => format!("warp {warp}"),
                None => "each warp".to_owned(),
            },
            what,
            met,
            nth: request.nth,
        });
    };
    let beyond: Vec<Hop> = beyond.into_iter().filter(|hop| hop.sm == sm.id()).collect();
    let beyond = opened_for_own(beyond);
    let per_cta = u64::from(prepared.occupancy.warps_per_cta);
    let (offset, text) = instruction(prepared, Pc(walk.pc));
    let way = way(walk, &beyond);
    let mut hops = walk.hops.clone();
    hops.extend(beyond);
    hops.sort_by_key(|hop| (hop.start, hop.end, hop.structure, hop.packet, hop.sectors));
    Ok(WalkReport {
        sm: sm.id().0,
        sub_core: walk.slot.0 % 4,
        cta: walk.place.0,
        warp: walk.place.0 * per_cta + u64::from(walk.place.1),
        nth: request.nth,
        offset,
        text,
        operation: walk.operation,
        space: walk.space,
        lanes: walk.lanes,
        issued,
        done,
        lines: walk.lines.clone(),
        hops,
        way,
    })
}

/// A row that was opened for one sector of the access was opened for the others too.
fn opened_for_own(mut hops: Vec<Hop>) -> Vec<Hop> {
    let bank = |hop: &Hop| match hop.chosen {
        Chosen::Bank {
            controller,
            channel,
            bank,
            row,
            state,
            ..
        } => Some(((controller, channel, bank, row, hop.start), state)),
        _ => None,
    };
    let rows = hops.iter().filter(|hop| hop.structure == Structure::Row);
    let own: Vec<_> = rows
        .filter_map(bank)
        .filter(|(_, state)| *state == RowState::Opened)
        .map(|(place, _)| place)
        .collect();
    // When each of the other sectors' rows was opened is known by its own step.
    let mut opened: Vec<(RequestId, u8)> = Vec::new();
    for hop in hops.iter().filter(|hop| hop.structure == Structure::Row) {
        if let (Some((place, _)), Some(packet)) = (bank(hop), hop.packet)
            && own.contains(&place)
        {
            opened.push((packet, hop.sectors));
        }
    }
    for hop in &mut hops {
        if let Chosen::Bank { state, .. } = &mut hop.chosen
            && *state == RowState::OpenedForAnother
            && hop
                .packet
                .is_some_and(|packet| opened.contains(&(packet, hop.sectors)))
        {
            *state = RowState::Opened;
        }
    }
    hops
}

/// The steps that lead to the end: those of the whole instruction, and between them those of the sector
/// that came last.
fn way(walk: &Walk, beyond: &[Hop]) -> Vec<Hop> {
    let last = beyond
        .iter()
        .filter(|hop| hop.packet.is_some())
        .max_by_key(|hop| (hop.end, hop.packet, hop.sectors));
    let of_last = |hop: &&Hop| match last {
        Some(last) => hop.packet == last.packet && hop.sectors & first(last.sectors) != 0,
        None => false,
    };
    let whole = walk.hops.iter().filter(|hop| hop.packet.is_none());
    let back = last.map_or(0, |last| last.end.0);
    let out = walk
        .hops
        .iter()
        .chain(beyond)
        .filter(of_last)
        .map(|hop| hop.start.0)
        .min();
    let mut way: Vec<Hop> = whole
        .filter(|hop| match out {
            // Lines that hit meanwhile decide nothing.
            Some(out) => hop.end.0 <= out || hop.start.0 >= back,
            None => true,
        })
        .copied()
        .collect();
    way.extend(walk.hops.iter().chain(beyond).filter(of_last));
    way.sort_by_key(|hop| (hop.start, hop.end, hop.structure));
    // Of lines that all hit, the last decides.
    let mut joined: Vec<Hop> = Vec::new();
    for hop in way {
        if let Some(before) = joined.last_mut()
            && before.structure == hop.structure
            && before.start == hop.start
            && before.end < hop.end
            && before.packet.is_none()
            && hop.packet.is_none()
        {
            *before = hop;
        } else {
            joined.push(hop);
        }
    }
    joined
}

/// The lowest sector of a mask, as a mask.
fn first(sectors: u8) -> u8 {
    sectors & sectors.wrapping_neg()
}

/// The packets of a walk, each once.
pub fn packets(hops: &[Hop]) -> Vec<RequestId> {
    let mut packets: Vec<RequestId> = hops.iter().filter_map(|hop| hop.packet).collect();
    packets.sort_unstable();
    packets.dedup();
    packets
}
