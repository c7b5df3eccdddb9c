//! One SM's share of execution in timing mode: implements the contract of `source`. Values follow
//! the visibility rules of DESIGN.md V1, V2 and V4.

use std::sync::Arc;

use source::{
    CtaSlot, Cycle, Effect, Fault, Pc, Performed, ReaderId, Register, ResultId, Sight, SmId,
    Source, Token, WarpMask, WarpSlot,
};

use crate::emulate::UnderWay;
use crate::isa_dispatch;
use crate::lanes::lanes_of;
use crate::launch::Launch;
use crate::machine::{Machine, free_fault};
use crate::memory::access::write_words;
use crate::memory::copy::put;
use crate::memory::deferred::{Kind, extend};
use crate::memory::global::GlobalMemory;
use crate::memory::overlay::{self, Window, WindowPort};
use crate::service::heap::{Misuse, Waiting};
use crate::service::write_addresses;

/// Warp places of an SM.
const WARPS: usize = 64;
/// CTA places of an SM.
const CTAS: usize = 32;

/// Registers, lanes, control flow and values of one SM. Neighbours in memory run on different host
/// threads: they share no line.
#[derive(Debug)]
#[repr(align(128))]
pub struct SmState {
    pub(crate) machine: Machine,
    pub(crate) window: Window,
    /// What wrong control bits may see or miss (`--hazards emulate`).
    pub(crate) under_way: UnderWay,
    /// Space for the order of published stores.
    order: Vec<(Cycle, u32, u8, u32)>,
}

impl SmState {
    /// An SM without warps.
    pub fn new(launch: Arc<Launch>, sm: SmId) -> SmState {
        SmState {
            machine: Machine::new(launch, sm.0, WARPS, CTAS),
            window: Window::default(),
            under_way: UnderWay::default(),
            order: Vec::new(),
        }
    }

    /// The launch that runs here.
    pub fn launch(&self) -> &Arc<Launch> {
        &self.machine.launch
    }

    /// Instructions that were skipped because nothing executes them, with how often
    /// (`UnknownOp::Nop`).
    pub fn skipped(&self) -> impl Iterator<Item = (Pc, u64)> {
        let counts = self.machine.skipped.iter().enumerate();
        counts
            .filter(|&(_, &n)| n > 0)
            .map(|(pc, &n)| (Pc(pc as u32), n))
    }

    /// Whether the SM has stored since the last boundary.
    pub fn has_stores(&self) -> bool {
        !self.window.log.is_empty()
    }

    /// Whether deferred operations are under way.
    pub fn has_deferred(&self) -> bool {
        self.window.deferral.any()
    }

    /// A general register of a lane, for inspection.
    pub fn register(&self, warp: WarpSlot, register: u8, lane: usize) -> Option<u32> {
        let warp = self.machine.warps.get(warp.0 as usize)?;
        (u16::from(register) < self.machine.launch.registers)
            .then(|| {
                warp.registers
                    .get(register as usize)
                    .and_then(|r| r.0.get(lane))
                    .copied()
            })
            .flatten()
    }
}

impl Source for SmState {
    type Shared = GlobalMemory;

    fn start_cta(&mut self, _shared: &GlobalMemory, cta: u64, slot: CtaSlot, warps: &[WarpSlot]) {
        let mut places = [0; crate::cta::MAX_WARPS];
        let count = warps.len().min(places.len());
        for (place, warp) in places.iter_mut().zip(warps) {
            *place = u32::from(warp.0);
        }
        self.machine
            .start_cta(cta, slot.0 as usize, &places[..count]);
    }

    #[inline(always)]
    fn pc(&self, warp: WarpSlot) -> Pc {
        Pc(self.machine.warps[warp.0 as usize].splits.pc)
    }

    #[inline(always)]
    fn issue(
        &mut self,
        shared: &GlobalMemory,
        warp: WarpSlot,
        pc: Pc,
        clock: Cycle,
        effect: &mut Effect,
    ) -> Result<(), Fault> {
        let place = warp.0 as usize;
        let generation = self.machine.warps[place].generation;
        let mut port = WindowPort {
            shared,
            window: &mut self.window,
            cycle: clock,
            warp: warp.0,
            generation,
        };
        match self.machine.step(place, pc, clock.0, &mut port, effect) {
            Ok(()) => {
                if effect.released != 0 {
                    effect.released = self.slots(place, effect.released);
                }
                Ok(())
            }
            Err(fault) => Err(*fault),
        }
    }

    #[inline(never)]
    fn issue_emulated(
        &mut self,
        shared: &GlobalMemory,
        warp: WarpSlot,
        pc: Pc,
        clock: Cycle,
        sight: &Sight<'_>,
        effect: &mut Effect,
    ) -> Result<(), Fault> {
        self.issue_with(shared, warp, pc, clock, sight, effect)
    }

    fn land(&mut self, result: ResultId) {
        self.land_result(result);
    }

    #[inline(never)]
    fn read_again(
        &mut self,
        shared: &GlobalMemory,
        reader: ReaderId,
        seen: &[(Register, ResultId)],
        clock: Cycle,
        effect: &mut Effect,
    ) -> Result<bool, Fault> {
        self.read_with(shared, reader, seen, clock, effect)
    }

    #[inline(always)]
    fn expect(&self, warp: WarpSlot, first: u16, count: u8) {
        let registers = &self.machine.warps[warp.0 as usize].registers;
        let first = first as usize;
        if let Some(rows) = registers.get(first..first + count as usize) {
            for row in rows {
                isa_dispatch::prefetch(row);
            }
        }
    }

    fn arrive(&mut self, warp: WarpSlot) {
        let arrivals = &mut self.window.arrivals;
        if let Some(oldest) = arrivals.iter().position(|(of, _)| *of == warp.0) {
            let (_, arrival) = arrivals.remove(oldest);
            // The warp may have ended meanwhile; its CTA stays until its copies are complete.
            let cta = self.machine.warps[warp.0 as usize].cta as usize;
            arrival.perform(&mut self.machine.ctas[cta].shared);
        }
    }

    fn complete(&mut self, token: Token) {
        self.window.deferral.complete(token);
    }

    fn perform(&mut self, shared: &mut GlobalMemory, performed: Performed) {
        let Some(pending) = self.window.deferral.get_mut(performed.token) else {
            return;
        };
        let lanes = pending.operation.lanes_in(performed.sector) & pending.outstanding;
        pending.outstanding &= !lanes;
        if lanes == 0 {
            return;
        }
        let mut results = pending.operation.perform(shared, lanes);
        let warp = &mut self.machine.warps[pending.warp as usize];
        if warp.generation != pending.generation {
            return;
        }
        let operation = &pending.operation;
        if let Some(result) = pending.result {
            if let Kind::Load { signed } = operation.kind {
                extend(&mut results[0], operation.bytes, signed);
            }
            self.under_way.performed(result, operation, &results, lanes);
            return;
        }
        match operation.kind {
            Kind::Store => {}
            Kind::CopyToShared => {
                // Other warps may wait for it after this one has ended.
                let shared = &mut self.machine.ctas[warp.cta as usize].shared;
                put(shared, &operation.shared, lanes, operation.bytes, &results);
            }
            Kind::Load { .. } | Kind::Atomic(_) if !warp.live => {}
            Kind::Load { .. } | Kind::Atomic(_) => {
                if let Some(row) = operation.row {
                    if let Kind::Load { signed } = operation.kind {
                        extend(&mut results[0], operation.bytes, signed);
                    }
                    write_words(warp, row, &results, operation.bytes, lanes);
                }
            }
        }
    }

    fn publish(sources: &mut [SmState], shared: &mut GlobalMemory) {
        let mut order = match sources.first_mut() {
            Some(first) => std::mem::take(&mut first.order),
            None => return,
        };
        if sources.iter().any(|source| !source.window.log.is_empty()) {
            overlay::publish(
                sources.iter().map(|source| &source.window.log),
                shared,
                &mut order,
            );
            for source in sources
                .iter_mut()
                .filter(|source| !source.window.log.is_empty())
            {
                source.window.log.clear();
                source.window.overlay.clear();
            }
        }
        sources[0].order = order;
        if sources.iter().any(SmState::calls_services) {
            SmState::serve_heap(sources, shared);
            SmState::tell_printed(sources, shared, Cycle::NEVER);
        }
    }

    fn waiting(&self, warp: WarpSlot) -> Option<String> {
        self.machine.waiting(warp.0 as usize)
    }

    fn next_lanes(&self, warp: WarpSlot) -> source::LaneMask {
        let warp = &self.machine.warps[warp.0 as usize];
        let guard = self
            .machine
            .launch
            .code
            .get(warp.splits.pc as usize)
            .map(|micro| micro.guard);
        warp.splits.active & guard.map_or(0, |guard| warp.predicate(guard))
    }

    fn sm(&self) -> SmId {
        SmId(self.machine.sm)
    }

    fn live_warps(&self, slot: CtaSlot) -> WarpMask {
        let cta = &self.machine.ctas[slot.0 as usize];
        if !cta.live {
            return 0;
        }
        let mut mask = 0;
        for w in 0..cta.warps {
            if cta.ended >> w & 1 == 0 {
                mask |= 1 << cta.places[w as usize];
            }
        }
        mask
    }
}

#[cfg(test)]
impl SmState {
    /// A warp, to be changed by a test.
    pub(crate) fn warp_mut(&mut self, warp: WarpSlot) -> &mut crate::warp::Warp {
        &mut self.machine.warps[warp.0 as usize]
    }
}

impl SmState {
    /// Whether the SM has printed or waits for the heap.
    #[inline]
    fn calls_services(&self) -> bool {
        !self.window.printed.is_empty() || !self.window.requests.is_empty()
    }

    /// Moves what all SMs have printed until `last` (inclusive) to the device's buffer, in
    /// (cycle, SM, sub-core, lane) order. For launches that end early; boundaries do it themselves.
    pub fn tell_printed(sources: &mut [SmState], shared: &mut GlobalMemory, last: Cycle) {
        let mut records: Vec<(Cycle, usize, Vec<u8>, u64)> = Vec::new();
        for (sm, source) in sources.iter_mut().enumerate() {
            let printed = source.window.printed.drain(..);
            records.extend(printed.map(|(cycle, text, bytes)| (cycle, sm, text, bytes)));
        }
        // Stable: each SM has its records in order.
        records.sort_by_key(|(cycle, sm, ..)| (*cycle, *sm));
        for (cycle, _, text, bytes) in records {
            if cycle <= last {
                shared.console.print(text, bytes);
            }
        }
    }

    /// Serves requests to the heap in (cycle, SM, sub-core, lane) order; the warps sleep until now.
    fn serve_heap(sources: &mut [SmState], shared: &mut GlobalMemory) {
        let mut requests: Vec<(Cycle, usize, Waiting)> = Vec::new();
        for (sm, source) in sources.iter_mut().enumerate() {
            let waiting = source.window.requests.drain(..);
            requests.extend(waiting.map(|waiting| (waiting.cycle, sm, waiting)));
        }
        requests.sort_by_key(|(cycle, sm, _)| (*cycle, *sm));
        for (cycle, sm, waiting) in requests {
            let Machine { launch, warps, .. } = &mut sources[sm].machine;
            let warp = &mut warps[waiting.warp as usize];
            if warp.generation != waiting.generation {
                continue;
            }
            match shared.serve(&waiting.request) {
                Ok(addresses) if !waiting.request.free => {
                    write_addresses(warp, waiting.request.lanes, &addresses);
                }
                Ok(_) => {}
                Err(bad) => {
                    if let Some(heap) = shared.heap.as_mut().filter(|heap| heap.misuse.is_none()) {
                        heap.misuse = Some(Misuse {
                            cycle,
                            sm: SmId(sm as u16),
                            fault: free_fault(launch, warp, waiting.pc, bad),
                        });
                    }
                }
            }
        }
    }

    /// Warp slots of warps of the CTA that the warp in `place` belongs to.
    fn slots(&self, place: usize, warps: u64) -> WarpMask {
        let cta = &self.machine.ctas[self.machine.warps[place].cta as usize];
        lanes_of(warps as u32).fold(0, |mask, w| mask | 1 << cta.places[w])
    }
}
