//! One instruction of one warp: the step that functional and timing mode share. A machine holds
//! warps and CTAs; how device memory is reached is the port's business.

use std::sync::Arc;

use source::{Effect, Fault, FaultKind, Pc};

use crate::cta::Cta;
use crate::family::barrier::{Mode, Op as BarrierOp};
use crate::family::control_flow::Outcome;
use crate::family::miscellaneous::Surroundings;
use crate::family::{atomic, control_flow, miscellaneous, surface, texture};
use crate::isa_dispatch;
use crate::lanes::{ALL, Lanes, WARP, lanes_of};
use crate::launch::{Launch, UnknownOp};
use crate::memory::access::{self, Trouble, Unit};
use crate::memory::deferred::Operation;
use crate::memory::local::LocalMemory;
use crate::memory::port::Port;
use crate::micro::{Micro, Op, Operand};
use crate::service::heap::BadFree;
use crate::service::{self, BadPointer, Caller, Service, console};
use crate::split::{Splits, Wait};
use crate::texture::taps::Taps;
use crate::warp::Warp;

/// Warps and CTAs that run together.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) launch: Arc<Launch>,
    pub(crate) warps: Vec<Warp>,
    pub(crate) locals: Vec<LocalMemory>,
    pub(crate) ctas: Vec<Cta>,
    /// Which SM it is.
    pub(crate) sm: u16,
    operation: Box<Operation>,
    words: Box<[Lanes; 4]>,
    taps: Box<Taps>,
    /// Skipped instructions by pc (`UnknownOp::Nop`).
    pub(crate) skipped: Vec<u64>,
}

impl Machine {
    /// A machine with empty slots.
    pub(crate) fn new(launch: Arc<Launch>, sm: u16, warps: usize, ctas: usize) -> Machine {
        let skipped = match launch.options().unknown_op {
            UnknownOp::Nop => vec![0; launch.code.len()],
            UnknownOp::Error => Vec::new(),
        };
        Machine {
            launch,
            warps: (0..warps).map(|_| Warp::empty()).collect(),
            locals: vec![LocalMemory::default(); warps],
            ctas: (0..ctas).map(|_| Cta::empty()).collect(),
            sm,
            operation: Box::new(Operation::empty()),
            words: Box::new([Lanes::ZERO; 4]),
            taps: Box::new(Taps::new()),
            skipped,
        }
    }

    /// Starts CTA `number` in slot `slot`; its warp w lives in place `places[w]`.
    pub(crate) fn start_cta(&mut self, number: u64, slot: usize, places: &[u32]) {
        let launch = Arc::clone(&self.launch);
        let warps = launch.warps_per_cta().min(places.len() as u32);
        let cta = &mut self.ctas[slot];
        cta.start(number, warps, launch.shared_bytes());
        let index = launch.cta_index(number);
        let threads = launch.threads_per_cta();
        let entry = launch.program().entry().0;
        for w in 0..warps {
            let place = places[w as usize];
            cta.places[w as usize] = place;
            let first = w * WARP as u32;
            let count = (threads - first).min(WARP as u32);
            let lanes = if count == 32 { ALL } else { (1 << count) - 1 };
            let warp = &mut self.warps[place as usize];
            warp.start(launch.registers as usize, lanes, entry);
            warp.cta = slot as u32;
            warp.index = w;
            warp.cta_number = number;
            warp.cta_index = index;
            // Most blocks are one-dimensional: no division for those.
            let [x, y, _] = launch.block();
            if x >= threads {
                warp.threads[0] = Lanes::from_fn(|lane| first + lane as u32);
                warp.threads[1] = Lanes::ZERO;
                warp.threads[2] = Lanes::ZERO;
            } else {
                warp.threads[0] = Lanes::from_fn(|lane| (first + lane as u32) % x);
                warp.threads[1] = Lanes::from_fn(|lane| (first + lane as u32) / x % y);
                warp.threads[2] = Lanes::from_fn(|lane| (first + lane as u32) / x / y);
            }
            // The place in the machine, so that caches see other addresses for other warps.
            let of_sm = u64::from(launch.options().warps_per_sm);
            let number = u64::from(self.sm) * of_sm + u64::from(place);
            self.locals[place as usize].reset(launch.local_bytes(), number);
        }
    }

    /// Executes the next instruction of the warp in `place`, which is at `pc`. `effect.released`
    /// holds warps of the CTA by their number in it.
    ///
    /// # Errors
    /// The fault that the machine would trap.
    #[inline(always)]
    pub(crate) fn step<P: Port>(
        &mut self,
        place: usize,
        pc: Pc,
        clock: u64,
        port: &mut P,
        effect: &mut Effect,
    ) -> Result<(), Box<Fault>> {
        let launch: &Launch = &self.launch;
        let warp = &mut self.warps[place];
        let Some(micro) = launch.code.get(pc.0 as usize) else {
            return Err(fault(launch, warp, pc, None, FaultKind::IllegalPc));
        };
        let active = warp.splits.active;
        let lanes = active & warp.predicate(micro.guard);
        effect.lanes = lanes;
        effect.active = active;
        effect.ended = false;
        effect.blocked = false;
        effect.released = 0;
        effect.arrived = false;
        effect.sleep = 0;
        effect.accesses = false;
        if active == 0 {
            return self.slip(place, pc, clock, port, effect);
        }
        if let Op::Vector(op) = &micro.op {
            if lanes != 0 {
                isa_dispatch::execute(launch.host(), op, warp, lanes);
            }
            warp.splits.advance(pc.0 + 1);
            effect.next = Pc(pc.0 + 1);
            return Ok(());
        }
        self.step_other(place, pc, clock, *micro, port, effect)
    }

    /// Executes an instruction behind the CTA barrier at which the warp in `place` waits: the timing model
    /// issues some before the barrier takes hold ([`Effect::slips`]).
    #[cold]
    #[inline(never)]
    fn slip<P: Port>(
        &mut self,
        place: usize,
        pc: Pc,
        clock: u64,
        port: &mut P,
        effect: &mut Effect,
    ) -> Result<(), Box<Fault>> {
        effect.next = pc;
        let Some(wait) = self.warps[place].splits.slip(pc.0) else {
            effect.blocked = true;
            effect.slips = false;
            return Ok(());
        };
        let done = self.step(place, pc, clock, port, effect);
        self.warps[place].splits.wait_again(wait);
        done
    }

    /// Executes the instruction at `pc` in `lanes` of the warp in `place` without moving on.
    ///
    /// # Errors
    /// The fault that the machine would trap.
    pub(crate) fn repeat<P: Port>(
        &mut self,
        place: usize,
        pc: Pc,
        lanes: u32,
        clock: u64,
        port: &mut P,
        effect: &mut Effect,
    ) -> Result<(), Box<Fault>> {
        let mut splits = Splits::new();
        splits.start(pc.0, lanes);
        let own = std::mem::replace(&mut self.warps[place].splits, splits);
        let done = self.step(place, pc, clock, port, effect);
        self.warps[place].splits = own;
        done
    }

    /// What a memory instruction of the warp in `place` works on.
    pub(crate) fn unit(&mut self, place: usize) -> Unit<'_> {
        let warp = &mut self.warps[place];
        Unit {
            host: self.launch.host(),
            shared: &mut self.ctas[warp.cta as usize].shared,
            warp,
            local: &mut self.locals[place],
            banks: &self.launch.banks,
            operation: &mut self.operation,
            words: &mut self.words,
            taps: &mut self.taps,
        }
    }

    /// Everything but register-file operations.
    fn step_other<P: Port>(
        &mut self,
        place: usize,
        pc: Pc,
        clock: u64,
        micro: Micro,
        port: &mut P,
        effect: &mut Effect,
    ) -> Result<(), Box<Fault>> {
        let Machine {
            launch,
            warps,
            locals,
            ctas,
            operation,
            words,
            taps,
            sm,
            ..
        } = self;
        let launch: &Launch = launch;
        let warp = &mut warps[place];
        let lanes = effect.lanes;
        let next = pc.0 + 1;
        match &micro.op {
            Op::Vector(_) | Op::Nop => warp.splits.advance(next),
            Op::Memory(op) => {
                if lanes != 0 {
                    let cta = warp.cta as usize;
                    let mut unit = Unit {
                        host: launch.host(),
                        warp,
                        shared: &mut ctas[cta].shared,
                        local: &mut locals[place],
                        banks: &launch.banks,
                        operation,
                        words,
                        taps,
                    };
                    if let Err(trouble) = access::execute(op, &mut unit, lanes, port, effect) {
                        let Trouble { lane, kind } = *trouble;
                        return Err(fault(launch, warp, pc, lane, kind));
                    }
                }
                warp.splits.advance(next);
            }
            Op::Atomic(op) => {
                if lanes != 0 {
                    let cta = warp.cta as usize;
                    let mut unit = Unit {
                        host: launch.host(),
                        warp,
                        shared: &mut ctas[cta].shared,
                        local: &mut locals[place],
                        banks: &launch.banks,
                        operation,
                        words,
                        taps,
                    };
                    if let Err(trouble) = atomic::execute(op, &mut unit, lanes, port, effect) {
                        let Trouble { lane, kind } = *trouble;
                        return Err(fault(launch, warp, pc, lane, kind));
                    }
                }
                warp.splits.advance(next);
            }
            Op::Texture(_) | Op::Surface(_) => {
                if lanes != 0 {
                    let cta = warp.cta as usize;
                    let mut unit = Unit {
                        host: launch.host(),
                        warp,
                        shared: &mut ctas[cta].shared,
                        local: &mut locals[place],
                        banks: &launch.banks,
                        operation,
                        words,
                        taps,
                    };
                    let unit = &mut unit;
                    let table = &launch.options().textures;
                    let done = match &micro.op {
                        Op::Texture(op) => {
                            let architecture = launch.program().module().architecture();
                            texture::execute(op, unit, table, architecture, lanes, port, effect)
                        }
                        Op::Surface(op) => surface::execute(op, unit, table, lanes, port, effect),
                        _ => Ok(()),
                    };
                    if let Err(trouble) = done {
                        let Trouble { lane, kind } = *trouble;
                        return Err(fault(launch, warp, pc, lane, kind));
                    }
                }
                warp.splits.advance(next);
            }
            Op::Miscellaneous(op) => {
                let around = Surroundings {
                    launch,
                    clock,
                    sm: u32::from(*sm),
                    slot: place as u32,
                    warps: launch.options().warps_per_sm,
                };
                if lanes != 0 {
                    miscellaneous::execute(op, warp, lanes, &around);
                }
                warp.splits.advance(next);
            }
            Op::Control(op) => {
                let code = launch.code.len() as u32;
                match control_flow::execute(op, warp, pc.0, lanes, code) {
                    Ok(Outcome::Moved) => {}
                    Ok(Outcome::Sleep(time)) => effect.sleep = time,
                    Ok(Outcome::Service { lanes }) => {
                        let op = *op;
                        self.call_services(&op, place, pc, lanes, port, effect)?;
                    }
                    Ok(Outcome::Exited(lanes)) => {
                        if lanes != 0 {
                            self.exited(place, effect);
                        }
                    }
                    Err((lane, kind)) => {
                        return Err(fault(launch, warp, pc, Some(lane), kind));
                    }
                }
            }
            Op::Barrier(op) => {
                let op = *op;
                if warp.splits.helpers != 0 {
                    let text = "a barrier while lanes of other places complete quads".to_owned();
                    return Err(fault(launch, warp, pc, None, FaultKind::Unsupported(text)));
                }
                if let Err(kind) = self.barrier(&op, place, pc, lanes, effect) {
                    let warp = &self.warps[place];
                    let lane = Some(lanes.trailing_zeros() as u8 & 31);
                    return Err(fault(&self.launch, warp, pc, lane, kind));
                }
            }
            Op::BeyondRegisters(register) => {
                if lanes != 0 {
                    let kernel = launch.program().kernel();
                    let text = format!(
                        "R{register} of a kernel that declares {} registers, of which it may use {}",
                        kernel.registers,
                        launch.usable_registers(),
                    );
                    let lane = Some(lanes.trailing_zeros() as u8);
                    let kind = FaultKind::IllegalInstruction(text);
                    return Err(fault(launch, warp, pc, lane, kind));
                }
                warp.splits.advance(next);
            }
            Op::Refused(reason) => {
                let skip = launch.options().unknown_op == UnknownOp::Nop;
                if lanes != 0 && !skip {
                    let kind = refused(launch, pc, *reason);
                    let lane = Some(lanes.trailing_zeros() as u8);
                    return Err(fault(launch, warp, pc, lane, kind));
                }
                warp.splits.advance(next);
                if lanes != 0
                    && let Some(count) = self.skipped.get_mut(pc.0 as usize)
                {
                    *count += 1;
                }
            }
        }
        let splits = &self.warps[place].splits;
        effect.next = Pc(splits.pc);
        if splits.active == 0 {
            effect.ended = splits.live == 0;
            effect.blocked = !effect.ended;
            effect.slips = effect.arrived && splits.wait_together();
        }
        Ok(())
    }

    /// `lanes` jump, some of them to functions that the system provides: those are served, lanes that
    /// call the same function together, and go on where they return to.
    #[cold]
    fn call_services<P: Port>(
        &mut self,
        op: &control_flow::Op,
        place: usize,
        pc: Pc,
        lanes: u32,
        port: &mut P,
        effect: &mut Effect,
    ) -> Result<(), Box<Fault>> {
        let Machine {
            launch,
            warps,
            locals,
            ctas,
            ..
        } = self;
        let launch: &Launch = launch;
        let warp = &mut warps[place];
        let code = launch.code.len() as u32;
        let mut targets = [u32::MAX; 32];
        let mut left = lanes;
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let address = control_flow::jump_target(op, warp, first);
            let mut group = 0;
            for lane in lanes_of(left) {
                if control_flow::jump_target(op, warp, lane) == address {
                    group |= 1 << lane;
                }
            }
            left &= !group;
            let wrong = |warp: &Warp, lane: usize, kind| {
                Err(fault(launch, warp, pc, Some(lane as u8), kind))
            };
            let inside = control_flow::number_of(address);
            if inside < code {
                lanes_of(group).for_each(|lane| targets[lane] = inside);
                continue;
            }
            let Some(function) = launch.program().module().loaded().extern_at(address) else {
                return wrong(warp, first, FaultKind::IllegalPc);
            };
            let Some(service) = Service::named(&function.name) else {
                let text = format!("a call of `{}`", function.name);
                return wrong(warp, first, FaultKind::Unsupported(text));
            };
            let cta = warp.cta as usize;
            let mut caller = Caller {
                warp,
                shared: &ctas[cta].shared,
                local: &locals[place],
            };
            match service {
                Service::Print => {
                    if let Err(BadPointer { lane, address }) =
                        service::print(&mut caller, group, port)
                    {
                        let nearest = Some(port.memory().nearest(address));
                        let kind = FaultKind::OutOfBounds {
                            space: "generic",
                            address,
                            bytes: 1,
                            nearest,
                        };
                        return wrong(warp, lane, kind);
                    }
                }
                Service::Allocate | Service::Free => {
                    let free = service == Service::Free;
                    let request = service::heap_request(&caller, group, free);
                    match port.request(&request, pc.0) {
                        Some(Ok(addresses)) if !free => {
                            service::write_addresses(warp, group, &addresses);
                        }
                        Some(Ok(_)) => {}
                        Some(Err(bad)) => return wrong(warp, bad.lane, bad_free(bad)),
                        None => effect.sleep = launch.options().heap_wait,
                    }
                }
                Service::AssertFail => {
                    let mut first_text = String::new();
                    for lane in lanes_of(group) {
                        let (place, message) = service::assertion(&caller, lane, port);
                        let [x, y, z] = caller.warp.cta_index;
                        let thread =
                            launch.thread_index(caller.warp.index * WARP as u32 + lane as u32);
                        let [tx, ty, tz] = thread;
                        let text = format!(
                            "{place}block: [{x},{y},{z}], thread: [{tx},{ty},{tz}] \
                             Assertion `{message}` failed."
                        );
                        let bytes = console::record_bytes(0, text.len() as u64);
                        port.print(format!("{text}\n").into_bytes(), bytes);
                        if first_text.is_empty() {
                            first_text = text;
                        }
                    }
                    return wrong(warp, first, FaultKind::Trap(first_text));
                }
            }
            for lane in lanes_of(group) {
                let back = control_flow::number_of(service::return_address(warp, lane));
                if back >= code {
                    return wrong(warp, lane, FaultKind::IllegalPc);
                }
                targets[lane] = back;
            }
        }
        warp.splits.scatter(&targets, lanes, pc.0 + 1);
        Ok(())
    }

    /// Lanes of a warp have exited: barriers that waited for them may be complete.
    fn exited(&mut self, place: usize, effect: &mut Effect) {
        let warp = &mut self.warps[place];
        let (slot, index, live) = (warp.cta as usize, warp.index, warp.splits.live);
        if live == 0 {
            warp.live = false;
        }
        let cta = &mut self.ctas[slot];
        cta.exited(index, live);
        if cta.ended.count_ones() == cta.warps {
            cta.live = false;
            return;
        }
        for number in 0..crate::cta::BARRIERS as u8 {
            self.release(slot, number, effect);
        }
    }

    /// Lets the warps of a barrier go if all have arrived.
    fn release(&mut self, slot: usize, number: u8, effect: &mut Effect) {
        let Machine { warps, ctas, .. } = self;
        let cta = &mut ctas[slot];
        let Some(reduced) = cta.complete(number) else {
            return;
        };
        for w in 0..cta.warps {
            let warp = &mut warps[cta.places[w as usize] as usize];
            if !warp.live || warp.splits.at_cta_barrier(number) == 0 {
                continue;
            }
            warp.barrier_result = reduced;
            warp.splits.release_cta(number);
            effect.released |= 1 << w;
        }
    }

    fn barrier(
        &mut self,
        op: &BarrierOp,
        place: usize,
        pc: Pc,
        lanes: u32,
        effect: &mut Effect,
    ) -> Result<(), FaultKind> {
        let next = pc.0 + 1;
        let warp = &mut self.warps[place];
        let (number, packed, count, mode) = match *op {
            BarrierOp::Result { row, out } => {
                let result = warp.barrier_result;
                warp.write(row, &Lanes::splat(result), lanes);
                warp.write_predicate(out, 0u32.wrapping_sub((result != 0) as u32), lanes);
                warp.splits.advance(next);
                return Ok(());
            }
            BarrierOp::Barrier {
                number,
                packed,
                count,
                mode,
            } => (number, packed, count, mode),
        };
        if lanes == 0 {
            warp.splits.advance(next);
            return Ok(());
        }
        let first = lanes.trailing_zeros() as usize;
        let read = |operand: Operand| warp.fetch(operand)[first];
        let word = read(number);
        let number = if matches!(number, Operand::Scalar(_)) {
            word
        } else {
            word & 15
        };
        let threads = match count {
            None => 0,
            Some(operand) if packed => read(operand) >> 16 & 0xfff,
            Some(operand) => read(operand),
        };
        if number > 15 {
            return Err(FaultKind::Barrier(format!(
                "barrier {number}; there are 0 to 15"
            )));
        }
        if threads % WARP as u32 != 0 {
            return Err(FaultKind::Barrier(format!(
                "barrier {number} for {threads} threads, not a multiple of 32"
            )));
        }
        let slot = warp.cta as usize;
        let warps = self.ctas[slot].warps;
        let mut expected = threads / WARP as u32;
        if expected > warps {
            return Err(FaultKind::Barrier(format!(
                "barrier {number} for {threads} threads; the block has {warps} warps"
            )));
        }
        if expected == warps {
            // The same as no count: warps that have ended do not hold it up.
            expected = 0;
        }
        let number = number as u8;
        let (reduction, set) = match mode {
            Mode::Reduce(reduction, source) => (Some(reduction), warp.predicate(source)),
            _ => (None, 0),
        };
        let (index, live) = (warp.index, warp.splits.live);
        if mode == Mode::Arrive {
            warp.splits.advance(next);
        } else {
            warp.splits.split_off(lanes, next);
            warp.splits.advance(next);
            warp.splits.wait(Wait::Cta(number));
        }
        effect.arrived = true;
        self.ctas[slot].arrive(number, index, lanes, live, expected, reduction, set);
        self.release(slot, number, effect);
        Ok(())
    }

    /// What the warp in `place` waits for, if none of its lanes can run.
    pub(crate) fn waiting(&self, place: usize) -> Option<String> {
        let warp = &self.warps[place];
        let mut text = warp.splits.describe()?;
        let cta = &self.ctas[warp.cta as usize];
        for number in 0..crate::cta::BARRIERS as u8 {
            if warp.splits.at_cta_barrier(number) != 0 {
                text.push_str("; ");
                text.push_str(&cta.describe_barrier(number));
            }
        }
        Some(text)
    }
}

/// The reason of a refused instruction as a fault.
#[cold]
fn refused(launch: &Launch, pc: Pc, reason: u32) -> FaultKind {
    let text = launch
        .refusals
        .get(reason as usize)
        .cloned()
        .unwrap_or_else(|| "code of another kernel".to_owned());
    let word = match launch.program().decoded().get(pc.0 as usize) {
        Some(sass::Decoded::Instruction(instruction)) => instruction.word,
        Some(sass::Decoded::Unknown(word)) => *word,
        None => sass::Word::default(),
    };
    FaultKind::UnknownInstruction {
        word: [word.low(), word.high()],
        text,
    }
}

/// A wrong `free`.
#[cold]
fn bad_free(bad: BadFree) -> FaultKind {
    let address = bad.address;
    FaultKind::Trap(format!(
        "free({address:#x}): no block of the heap begins there, or it was freed before"
    ))
}

/// The first wrong `free` of a request that waited for the boundary.
#[cold]
pub(crate) fn free_fault(launch: &Launch, warp: &Warp, pc: u32, bad: BadFree) -> Box<Fault> {
    fault(launch, warp, Pc(pc), Some(bad.lane as u8), bad_free(bad))
}

/// A fault of a warp.
#[cold]
fn fault(launch: &Launch, warp: &Warp, pc: Pc, lane: Option<u8>, kind: FaultKind) -> Box<Fault> {
    let thread = match lane {
        Some(lane) => launch.thread_index(warp.index * WARP as u32 + u32::from(lane)),
        None => launch.thread_index(warp.index * WARP as u32),
    };
    Box::new(Fault {
        pc,
        lane,
        thread,
        cta: warp.cta_index,
        kind,
    })
}
