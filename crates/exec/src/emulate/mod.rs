//! Values with time (`--hazards emulate`, DESIGN.md H4): results stay beside the register file until they
//! land, and whoever is too early sees what the file holds.
//!
//! An instruction is executed at issue on a file into which the results that it sees have been put for
//! that moment; its own results are taken out again and held. One that reads its sources later keeps
//! them, and is executed again if they have changed by then.

mod peek;

use source::{Cycle, Effect, Fault, Pc, ReaderId, Register, ResultId, Sight, Source, WarpSlot};

use self::peek::{Peek, target};
use crate::family::{atomic, control_flow, uniform};
use crate::lanes::{ALL, Lanes, lanes_of};
use crate::memory;
use crate::memory::copy::put;
use crate::memory::deferred::Operation;
use crate::memory::global::GlobalMemory;
use crate::memory::load_store::{self, Transfer};
use crate::memory::overlay::WindowPort;
use crate::memory::shared::SharedMemory;
use crate::micro::{Op, Vector};
use crate::sm::SmState;
use crate::warp::Warp;

/// Results of one instruction that have not landed.
#[derive(Debug, Default)]
struct Held {
    warp: u8,
    generation: u32,
    /// Lanes that they are for.
    lanes: u32,
    /// Counts instructions, so that results can be put in the order of issue.
    order: u64,
    values: Vec<(Register, Lanes)>,
    /// A predicate among them that keeps the lanes which it holds when they land.
    joined: Option<u8>,
    copy: Copied,
}

impl Held {
    /// What `register` holds once `value` of these results has been put over `old`.
    fn over(&self, register: Register, value: &Lanes, old: &Lanes) -> Lanes {
        let mut value = *value;
        if self.joined.map(Register::Predicate) == Some(register) {
            value[0] |= old[0];
        }
        value
    }

    fn value(&self, register: Register) -> Option<&Lanes> {
        let mut values = self.values.iter();
        let found = values.find(|(held, _)| *held == register);
        found.map(|(_, value)| value)
    }
}

/// Bytes that an LDGSTS has not written to shared memory yet.
#[derive(Debug)]
struct Copied {
    /// Empty if there are none.
    lanes: u32,
    bytes: u32,
    cta: u32,
    offsets: [u32; 32],
    words: [Lanes; 4],
}

impl Default for Copied {
    fn default() -> Copied {
        Copied {
            lanes: 0,
            bytes: 4,
            cta: 0,
            offsets: [0; 32],
            words: [Lanes::ZERO; 4],
        }
    }
}

impl Copied {
    /// Takes what a copy has just written out of shared memory again; `old` was there before.
    fn take(
        &mut self,
        shared: &mut SharedMemory,
        cta: u32,
        bytes: u32,
        lanes: u32,
        old: &[Lanes; 4],
        effect: &Effect,
    ) {
        self.lanes = lanes;
        self.bytes = bytes;
        self.cta = cta;
        self.offsets = effect.access.shared;
        for lane in lanes_of(lanes) {
            for index in 0..bytes / 4 {
                let word = shared.word(self.offsets[lane] + 4 * index);
                self.words[index as usize][lane] = word;
            }
        }
        put(shared, &self.offsets, lanes, bytes, old);
    }
}

/// An instruction that has not read its sources.
#[derive(Debug, Default)]
struct Kept {
    warp: u8,
    generation: u32,
    pc: u32,
    lanes: u32,
    /// Its results, if it has any.
    result: Option<ResultId>,
    sources: Vec<(Register, Lanes)>,
    /// What its store has overwritten, if it has stored.
    overwritten: Option<[Lanes; 4]>,
    /// Its deferred operation.
    token: Option<source::Token>,
}

/// Results and readers under way on one SM, by their names.
#[derive(Debug, Default)]
pub(crate) struct UnderWay {
    results: Vec<Held>,
    readers: Vec<Kept>,
    /// What the file holds while an instruction sees something else.
    saved: Vec<(Register, Lanes)>,
    order: u64,
}

impl UnderWay {
    fn held(&mut self, result: ResultId) -> &mut Held {
        let index = usize::from(result.0);
        if index >= self.results.len() {
            self.results.resize_with(index + 1, Held::default);
        }
        &mut self.results[index]
    }

    fn kept(&mut self, reader: ReaderId) -> &mut Kept {
        let index = usize::from(reader.0);
        if index >= self.readers.len() {
            self.readers.resize_with(index + 1, Kept::default);
        }
        &mut self.readers[index]
    }

    fn save(&mut self, warp: &Warp, register: Register) {
        if self.saved.iter().all(|(saved, _)| *saved != register) {
            self.saved.push((register, warp.value(register)));
        }
    }

    /// The file holds again what it did.
    fn restore(&mut self, warp: &mut Warp) {
        for (register, value) in self.saved.drain(..) {
            warp.put(register, &value, ALL);
        }
    }

    /// A deferred operation has taken effect in `lanes`: its results are held.
    pub(crate) fn performed(
        &mut self,
        result: ResultId,
        operation: &Operation,
        results: &[Lanes; 4],
        lanes: u32,
    ) {
        let held = self.held(result);
        let count = operation.bytes.div_ceil(4) as usize;
        if held.copy.lanes != 0 {
            for (word, result) in held.copy.words.iter_mut().zip(results).take(count) {
                word.blend(result, lanes);
            }
            return;
        }
        let Some(row) = operation.row else { return };
        for (index, result) in results.iter().enumerate().take(count) {
            let register = Register::General((row as usize + index) as u8);
            if let Some((_, value)) = held.values.iter_mut().find(|(r, _)| *r == register) {
                value.blend(result, lanes);
            }
        }
    }
}

impl Warp {
    /// What a register holds; uniform ones in lane 0, predicates as a set of lanes there.
    fn value(&self, register: Register) -> Lanes {
        let single = |word| {
            let mut value = Lanes::ZERO;
            value[0] = word;
            value
        };
        match register {
            Register::General(number) => {
                let row = self.registers.get(usize::from(number));
                row.copied().unwrap_or(Lanes::ZERO)
            }
            Register::Uniform(number) => single(self.uniforms[usize::from(number) & 63]),
            Register::Predicate(number) => single(self.predicates[usize::from(number) & 7]),
            Register::UniformPredicate(number) => {
                single(u32::from(self.uniform_predicates >> (number & 7) & 1))
            }
        }
    }

    /// Writes what [`Warp::value`] gave, in the lanes of `mask`.
    fn put(&mut self, register: Register, value: &Lanes, mask: u32) {
        match register {
            Register::General(number) => {
                if let Some(row) = self.registers.get_mut(usize::from(number)) {
                    row.blend(value, mask);
                }
            }
            Register::Uniform(number) => self.write_uniform(number, value[0]),
            Register::Predicate(number) => self.write_predicate(number, value[0], mask),
            Register::UniformPredicate(number) => {
                self.write_uniform_predicate(number, value[0] != 0);
            }
        }
    }
}

impl SmState {
    /// [`Source::issue_emulated`].
    ///
    /// # Errors
    /// The fault that the machine would trap.
    pub(crate) fn issue_with(
        &mut self,
        shared: &GlobalMemory,
        slot: WarpSlot,
        pc: Pc,
        clock: Cycle,
        sight: &Sight<'_>,
        effect: &mut Effect,
    ) -> Result<(), Fault> {
        let place = usize::from(slot.0);
        let Some(op) = self.machine.launch.code.get(pc.0 as usize).map(|m| m.op) else {
            return self.issue(shared, slot, pc, clock, effect);
        };
        if let Op::Control(jump) = &op {
            self.settle_for_service(place, jump);
        }
        let copies = matches!(op, Op::Memory(memory::Op::Copy { .. }));
        let has_results = copies || !sight.writes.is_empty();
        let under_way = &mut self.under_way;
        let warp = &mut self.machine.warps[place];
        under_way.saved.clear();
        for &(register, result) in sight.visible {
            under_way.save(warp, register);
            let held = &under_way.results[usize::from(result.0)];
            if let Some(value) = held.value(register) {
                let value = held.over(register, value, &warp.value(register));
                warp.put(register, &value, held.lanes);
            }
        }
        for &register in sight.writes {
            under_way.save(warp, register);
        }
        let generation = warp.generation;
        if let Some(reader) = sight.reader {
            let kept = under_way.kept(reader);
            kept.warp = slot.0;
            kept.generation = generation;
            kept.pc = pc.0;
            kept.result = has_results.then_some(sight.result);
            kept.token = None;
            kept.sources.clear();
            let sources = sight.reads.iter().map(|&r| (r, warp.value(r)));
            kept.sources.extend(sources);
        }
        let lanes =
            warp.splits.active & warp.predicate(self.machine.launch.code[pc.0 as usize].guard);
        let overwritten = match sight.reader {
            Some(_) => self.peek(shared, slot, &op, lanes, clock, effect),
            None => None,
        };

        let done = self.issue(shared, slot, pc, clock, effect);

        let lanes = effect.lanes;
        let under_way = &mut self.under_way;
        let warp = &mut self.machine.warps[place];
        if let Some(reader) = sight.reader {
            let kept = under_way.kept(reader);
            kept.lanes = lanes;
            kept.overwritten = overwritten;
            if effect.accesses {
                kept.token = effect.access.deferred;
            }
        }
        under_way.order += 1;
        let order = under_way.order;
        let held = under_way.held(sight.result);
        held.warp = slot.0;
        held.generation = generation;
        held.order = order;
        held.values.clear();
        held.copy.lanes = 0;
        held.lanes = written_lanes(&op, lanes);
        held.joined = joined(&op);
        if done.is_ok() && lanes != 0 {
            if let (Some(predicate), Op::Vector(Vector::Uniform(op))) = (held.joined, &op) {
                // Its own lanes alone: with what it joins is known when they land.
                warp.write_predicate(predicate, 0, ALL);
                uniform::execute(op, warp, lanes);
            }
            let values = sight.writes.iter().map(|&r| (r, warp.value(r)));
            held.values.extend(values);
            if effect.accesses {
                if let Some(token) = effect.access.deferred
                    && let Some(pending) = self.window.deferral.get_mut(token)
                {
                    pending.result = has_results.then_some(sight.result);
                }
                if let (Op::Memory(memory::Op::Copy { bytes, .. }), Some(old)) = (&op, overwritten)
                {
                    let shared = &mut self.machine.ctas[warp.cta as usize].shared;
                    held.copy
                        .take(shared, warp.cta, u32::from(*bytes), lanes, &old, effect);
                }
            }
        }
        under_way.restore(warp);
        done
    }

    /// [`Source::land`].
    pub(crate) fn land_result(&mut self, result: ResultId) {
        let held = self.under_way.held(result);
        let warp = &mut self.machine.warps[usize::from(held.warp)];
        if warp.generation != held.generation {
            held.values.clear();
            held.copy.lanes = 0;
            return;
        }
        if warp.live {
            for (register, value) in &held.values {
                let value = held.over(*register, value, &warp.value(*register));
                warp.put(*register, &value, held.lanes);
            }
        }
        held.values.clear();
        // Other warps may wait for a copy after this one has ended.
        let copy = &mut held.copy;
        if copy.lanes != 0 {
            let shared = &mut self.machine.ctas[copy.cta as usize].shared;
            put(shared, &copy.offsets, copy.lanes, copy.bytes, &copy.words);
            copy.lanes = 0;
        }
    }

    /// [`Source::read_again`].
    ///
    /// # Errors
    /// The fault that the machine would trap.
    pub(crate) fn read_with(
        &mut self,
        shared: &GlobalMemory,
        reader: ReaderId,
        seen: &[(Register, ResultId)],
        clock: Cycle,
        effect: &mut Effect,
    ) -> Result<bool, Fault> {
        let mut kept = std::mem::take(self.under_way.kept(reader));
        let place = usize::from(kept.warp);
        let warp = &self.machine.warps[place];
        let op = self.machine.launch.code[kept.pc as usize].op;
        if !warp.live || warp.generation != kept.generation || !can_be_repeated(&op) {
            return Ok(false);
        }
        let before = kept.sources.clone();
        for &(register, result) in seen {
            let held = &self.under_way.results[usize::from(result.0)];
            let source = kept.sources.iter_mut().find(|(r, _)| *r == register);
            if let Some((_, source)) = source {
                let value = match held.value(register) {
                    Some(value) => held.over(register, value, source),
                    // It has landed.
                    None => warp.value(register),
                };
                merge(register, source, &value, held.lanes);
            }
        }
        if kept.sources == before || kept.lanes == 0 {
            return Ok(false);
        }
        let copied = match op {
            Op::Memory(memory::Op::Copy { bytes, .. }) => Some(u32::from(bytes)),
            _ => None,
        };
        if let (Some(old), None) = (kept.overwritten, copied) {
            self.undo(shared, &kept, &before, &op, &old, clock, effect);
        }
        let writes: Vec<Register> = match kept.result {
            Some(result) => {
                let values = &self.under_way.held(result).values;
                values.iter().map(|(register, _)| *register).collect()
            }
            None => Vec::new(),
        };
        self.show(place, &kept.sources, &writes);
        let old = match copied {
            Some(_) => self.peek(shared, WarpSlot(kept.warp), &op, kept.lanes, clock, effect),
            None => None,
        };
        let slot = WarpSlot(kept.warp);
        let mut port = WindowPort {
            shared,
            window: &mut self.window,
            cycle: clock,
            warp: slot.0,
            generation: kept.generation,
        };
        let pc = Pc(kept.pc);
        let done = self
            .machine
            .repeat(place, pc, kept.lanes, clock.0, &mut port, effect);
        let warp = &mut self.machine.warps[place];
        if let Some(result) = kept.result {
            let held = self.under_way.held(result);
            for (register, value) in &mut held.values {
                *value = warp.value(*register);
            }
            if let (Some(bytes), Some(old)) = (copied, old)
                && effect.accesses
            {
                let shared = &mut self.machine.ctas[warp.cta as usize].shared;
                held.copy
                    .take(shared, warp.cta, bytes, kept.lanes, &old, effect);
            }
        }
        self.under_way.restore(warp);
        done.map_err(|fault| *fault)?;
        if effect.accesses {
            let deferral = &mut self.window.deferral;
            let new = effect.access.deferred;
            effect.access.deferred = match (kept.token, new) {
                (Some(old), new) => {
                    deferral.replace(old, new);
                    Some(old)
                }
                (None, new) => new,
            };
            if let Some(token) = effect.access.deferred
                && let Some(pending) = deferral.get_mut(token)
            {
                pending.result = kept.result;
            }
        }
        Ok(true)
    }

    /// Puts values into the file of a warp until [`UnderWay::restore`].
    fn show(&mut self, place: usize, values: &[(Register, Lanes)], writes: &[Register]) {
        let under_way = &mut self.under_way;
        let warp = &mut self.machine.warps[place];
        under_way.saved.clear();
        for (register, value) in values {
            under_way.save(warp, *register);
            warp.put(*register, value, ALL);
        }
        for &register in writes {
            under_way.save(warp, register);
        }
    }

    /// What the bytes hold that `op` will overwrite.
    fn peek(
        &mut self,
        shared: &GlobalMemory,
        slot: WarpSlot,
        op: &Op,
        lanes: u32,
        clock: Cycle,
        effect: &mut Effect,
    ) -> Option<[Lanes; 4]> {
        let (space, address, size) = target(op)?;
        let transfer = Transfer {
            space,
            row: None,
            address: &address,
            size,
            strong: false,
        };
        if lanes == 0 {
            return None;
        }
        let port = WindowPort {
            shared,
            window: &mut self.window,
            cycle: clock,
            warp: slot.0,
            generation: 0,
        };
        let mut unit = self.machine.unit(usize::from(slot.0));
        // An address outside is the instruction's own fault, told when it is executed.
        load_store::load(&mut unit, transfer, lanes, &mut Peek(port), effect).ok()?;
        Some(*unit.words)
    }

    /// Puts back what a store with sources `sources` has overwritten.
    #[allow(clippy::too_many_arguments)]
    fn undo(
        &mut self,
        shared: &GlobalMemory,
        kept: &Kept,
        sources: &[(Register, Lanes)],
        op: &Op,
        old: &[Lanes; 4],
        clock: Cycle,
        effect: &mut Effect,
    ) {
        let Some((space, address, size)) = target(op) else {
            return;
        };
        if kept.token.is_some() {
            return;
        }
        let place = usize::from(kept.warp);
        self.show(place, sources, &[]);
        let warp = &mut self.machine.warps[place];
        let row = warp.registers.len();
        warp.registers.extend_from_slice(old);
        let transfer = Transfer {
            space,
            row: Some(row as u16),
            address: &address,
            size,
            strong: false,
        };
        let mut port = WindowPort {
            shared,
            window: &mut self.window,
            cycle: clock,
            warp: kept.warp,
            generation: kept.generation,
        };
        let mut unit = self.machine.unit(place);
        // It was stored there before, so it can be again.
        let done = load_store::store(&mut unit, transfer, kept.lanes, &mut port, effect);
        debug_assert!(done.is_ok());
        let warp = &mut self.machine.warps[place];
        warp.registers.truncate(row);
        self.under_way.restore(warp);
    }

    /// The system's functions are no code whose instructions wait for their arguments: when one is
    /// called, the results under way are there.
    fn settle_for_service(&mut self, place: usize, jump: &control_flow::Op) {
        let warp = &self.machine.warps[place];
        let code = self.machine.launch.code.len() as u32;
        let mut lanes = lanes_of(warp.splits.active);
        let outside = |lane| {
            let address = control_flow::jump_target(jump, warp, lane);
            address != 0 && control_flow::number_of(address) >= code
        };
        if !lanes.any(outside) {
            return;
        }
        let generation = warp.generation;
        let mut own: Vec<(u64, u16)> = Vec::new();
        for (index, held) in self.under_way.results.iter().enumerate() {
            let is_own = usize::from(held.warp) == place && held.generation == generation;
            if is_own && !held.values.is_empty() {
                own.push((held.order, index as u16));
            }
        }
        own.sort_unstable();
        for (_, index) in own {
            self.land_result(ResultId(index));
        }
    }
}

/// Puts `value` over what `into` holds of a register, in the lanes of `mask`.
fn merge(register: Register, into: &mut Lanes, value: &Lanes, mask: u32) {
    match register {
        Register::General(_) => into.blend(value, mask),
        Register::Predicate(_) => into[0] = into[0] & !mask | value[0] & mask,
        Register::Uniform(_) | Register::UniformPredicate(_) => into[0] = value[0],
    }
}

/// Lanes in which an instruction that is in effect in `lanes` writes its results.
fn written_lanes(op: &Op, lanes: u32) -> u32 {
    match op {
        // The warp's matrices.
        Op::Vector(Vector::Tensor(_)) if lanes != 0 => ALL,
        _ => lanes,
    }
}

/// The predicate that keeps the lanes which it holds when the result of `op` lands.
fn joined(op: &Op) -> Option<u8> {
    match *op {
        Op::Vector(Vector::Uniform(uniform::Op::FromLane {
            out, join: true, ..
        })) if out != 7 => Some(out),
        _ => None,
    }
}

/// Whether an instruction can be executed once more in place of the first time.
fn can_be_repeated(op: &Op) -> bool {
    match op {
        Op::Vector(_) | Op::Memory(_) | Op::Texture(_) | Op::Surface(_) => true,
        Op::Atomic(op) => !matches!(op, atomic::Op::Barrier(_)),
        Op::Miscellaneous(_) => true,
        Op::Nop | Op::Control(_) | Op::Barrier(_) => false,
        Op::Refused(_) | Op::BeyondRegisters(_) => false,
    }
}
