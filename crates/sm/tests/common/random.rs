//! Random scripts: instructions of every kind with random control bits, random addresses, branches, exits,
//! barriers and deferred operations, on several CTAs; and a memory side that answers in random order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sass::{Class, File, Use};
use sm::{Hazard, HazardMode, Launch, Pause, Program, Sm, SmParameters, SmStatistics, UnderWay};
use source::{
    Access, CtaSlot, Cycle, Effect, Fault, MemoryKind, Operation, Pc, Performed, Reply, Request,
    RequestKind, SmId, Source, Space, Special, Token, WarpMask, WarpSlot,
};

use super::{Bench, Step, read, write};

/// What an instruction does beyond its description.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Nothing,
    /// Addresses: pattern, bytes, lanes.
    Access(Space, Operation, u8, u8, u32),
    /// Past L1, values pending.
    Deferred(Operation, u8, u32),
    /// Back to this pc, so many times for each warp.
    Jump(u32, u8),
    Barrier,
    Arrive,
    Sleep(u64),
    /// Sleeps this many cycles for each warp from this one to the eighth: the lower its number, the
    /// longer.
    Late(u64),
    /// Warps whose number in the CTA is this modulo four end here.
    ExitSome(u8),
    Exit,
    /// The guard is false in all lanes.
    Off,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Line {
    pub step: Step,
    pub act: Act,
}

impl From<Step> for Line {
    fn from(step: Step) -> Line {
        let act = if step.barrier {
            Act::Barrier
        } else if step.ends {
            Act::Exit
        } else if let Some((space, operation, bytes)) = step.access {
            Act::Access(space, operation, 2, bytes, 1)
        } else {
            Act::Nothing
        };
        Line { step, act }
    }
}

impl Step {
    pub fn act(self, act: Act) -> Line {
        Line { step: self, act }
    }

    pub fn special(mut self, special: Special) -> Step {
        self.description.special = special;
        self
    }

    pub fn depbar(counter: u8, at_most: u8) -> Step {
        Step::new(Class::DependenceBarrier).special(Special::WaitCounter {
            counter,
            at_most,
            others: 0,
        })
    }

    pub fn fence(scope: source::Scope) -> Step {
        let mut step = Step::memory(MemoryKind::Pass, true, 4, None).special(Special::Fence(scope));
        step.description.class = Class::Fence;
        step
    }

    pub fn commit() -> Step {
        Step::new(Class::DependenceBarrier).special(Special::CommitCopies)
    }

    pub fn mufu(to: u8, from: u8) -> Step {
        Step::op(Class::SpecialFunction, to, [from, 255, 255])
    }

    pub fn load(to: u8) -> Step {
        Step::memory(MemoryKind::GlobalLoad, false, 4, Some(to))
    }

    pub fn copy() -> Step {
        Step::memory(MemoryKind::CopyToShared, false, 4, None)
    }
}

/// A setup of one CTA.
pub fn one_cta(warps: u32) -> Setup {
    Setup {
        window: 64,
        check: true,
        warps,
        ctas: 1,
        resident: 1,
        start: 0,
        salt: 1,
    }
}

/// Raw material of one instruction: kind, three numbers, control bits.
pub type Seed = (u8, [u8; 3], u32);

fn lanes_of(number: u8) -> u32 {
    [u32::MAX, 1, 0xffff, 0x5555_5555, 0x8000_0001, 0][number as usize % 6]
}

/// An instruction at `pc` out of raw material.
pub fn line(pc: u32, &(kind, [a, b, c], bits): &Seed) -> Line {
    let register = |n: u8| n % 24;
    let (to, x, y) = (register(a), register(b), register(c));
    let bytes = [4u8, 8, 16, 1, 2][a as usize % 5];
    let pair = (to & !3, bytes);
    let lanes = lanes_of(c);
    let memory = |kind, space, operation, result: bool| {
        let mut step = Step::memory(kind, b & 1 == 0, pair.1, result.then_some(pair.0));
        let class = step.description.class;
        step.description.footprint.reads.push(read(x, 0, class));
        (step, Act::Access(space, operation, b >> 1, bytes, lanes))
    };
    let (mut step, act) = match kind % 26 {
        0 | 1 => (Step::ffma(to, [x, y, register(a ^ c)]), Act::Nothing),
        2 => (Step::iadd3(to, [x, y, 255]), Act::Nothing),
        3 => (
            Step::iadd3(to, [x, 255, 255]).constant(3, c as u32 * 16),
            Act::Nothing,
        ),
        4 => {
            let mut step = Step::op(Class::Hmma16816F32, to & !3, [x & !3, y & !1, to & !3]);
            step.description.footprint.reads[0].count = 4;
            step.description.footprint.writes[0].count = 4;
            (step, Act::Nothing)
        }
        5 => (
            Step::op(Class::SpecialFunction, to, [x, 255, 255]),
            Act::Nothing,
        ),
        6 => (
            Step::op(Class::RedirectedFp64, to & !1, [x & !1, y & !1, 255]),
            Act::Nothing,
        ),
        7 => (
            Step::op(Class::ImadWide, to & !1, [x, y, 255]),
            Act::Nothing,
        ),
        8 => {
            let mut step = Step::new(Class::UniformAlu);
            step.description.footprint.writes.push(Use {
                file: File::Uniform,
                ..write(to, 1, Class::UniformAlu)
            });
            (step, Act::Nothing)
        }
        9 => (Step::nop(), Act::Nothing),
        10 => (
            Step::new(Class::Branch),
            Act::Jump(pc.saturating_sub(b as u32 % 12), c % 3),
        ),
        11 => memory(MemoryKind::GlobalLoad, Space::Global, Operation::Load, true),
        12 => memory(
            MemoryKind::GlobalStore,
            Space::Global,
            Operation::Store,
            false,
        ),
        13 => memory(MemoryKind::SharedLoad, Space::Shared, Operation::Load, true),
        14 => memory(
            MemoryKind::SharedStore,
            Space::Shared,
            Operation::Store,
            false,
        ),
        15 => memory(
            MemoryKind::ConstantLoad,
            Space::Constant,
            Operation::Load,
            true,
        ),
        16 => memory(
            MemoryKind::CopyToShared,
            Space::Global,
            Operation::CopyToShared,
            false,
        ),
        17 => {
            let mut step = Step::new(Class::DependenceBarrier).write_counter(c % 6);
            step.description.special = Special::CommitCopies;
            (step, Act::Nothing)
        }
        18 => {
            let mut step = Step::new(Class::DependenceBarrier);
            step.description.special = Special::WaitCounter {
                counter: a % 6,
                at_most: b % 4,
                others: c & 0x3f & bits as u8,
            };
            (step, Act::Nothing)
        }
        19 => (
            Step::barrier(),
            if a & 7 == 0 {
                Act::Arrive
            } else {
                Act::Barrier
            },
        ),
        20 => {
            let mut step = Step::memory(MemoryKind::Pass, true, 4, None);
            step.description.class = Class::Fence;
            step.description.special = Special::Fence(match a % 3 {
                0 => source::Scope::Cta,
                1 => source::Scope::Gpu,
                _ => source::Scope::System,
            });
            (step, Act::Nothing)
        }
        21 => {
            let operation = match a % 4 {
                0 => Operation::Atomic,
                1 => Operation::Load,
                2 => Operation::Store,
                _ => Operation::Reduction,
            };
            let kind = match operation {
                Operation::Atomic => MemoryKind::GlobalAtomic,
                Operation::Load => MemoryKind::GlobalLoad,
                _ => MemoryKind::GlobalStore,
            };
            let result = matches!(operation, Operation::Atomic | Operation::Load);
            let step = Step::memory(kind, false, 4, result.then_some(to));
            (step, Act::Deferred(operation, b, lanes))
        }
        22 => (Step::new(Class::Sleep), Act::Sleep(a as u64 * 3)),
        23 => (Step::new(Class::Exit), Act::ExitSome(c % 4)),
        24 => memory(
            MemoryKind::SharedAtomic,
            Space::Shared,
            Operation::Atomic,
            true,
        ),
        _ => (
            Step::memory(MemoryKind::Pass, true, 4, Some(to)),
            Act::Nothing,
        ),
    };
    let control = &mut step.description.control;
    control.stall = (bits & 15) as u8;
    control.yields = bits >> 4 & 3 == 0;
    if bits >> 6 & 1 == 1 {
        control.write_counter = Some((bits >> 7) as u8 % 6);
    }
    if bits >> 10 & 1 == 1 {
        control.read_counter = Some((bits >> 11) as u8 % 6);
    }
    if bits >> 14 & 1 == 1 {
        control.wait_mask = (bits >> 15) as u8 & 0x3f;
    }
    if control.yields && control.stall == 0 && bits >> 21 & 3 != 0 {
        control.stall = 1;
    }
    let off = bits >> 24 & 15 == 0 && !matches!(act, Act::Jump(..) | Act::ExitSome(_));
    Line {
        step,
        act: if off { Act::Off } else { act },
    }
}

/// A whole script: the lines and an EXIT.
pub fn script(seeds: &[Seed]) -> Vec<Line> {
    let mut lines: Vec<_> = seeds
        .iter()
        .enumerate()
        .map(|(pc, s)| line(pc as u32, s))
        .collect();
    lines.push(Line {
        step: Step::exit(),
        act: Act::Exit,
    });
    lines
}

#[derive(Clone, Default)]
struct CtaState {
    arrived: WarpMask,
    live: WarpMask,
}

/// Runs the lines.
pub struct Machine {
    lines: Arc<Vec<Line>>,
    pcs: [u32; 64],
    number: [u8; 64],
    cta_of: [u8; 64],
    jumps: Vec<BTreeMap<u32, u8>>,
    ctas: Vec<CtaState>,
    tokens: BTreeSet<u32>,
    /// Sectors of plain loads and stores through L1.
    pub loads: u64,
    pub stores: u64,
    pub constants: u64,
    pub issued: Vec<(u8, u32, u64)>,
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 31).wrapping_mul(0x7fb5_d329_728e_a185);
    x = (x ^ x >> 27).wrapping_mul(0x81da_def4_bc2d_d44d);
    x ^ x >> 33
}

/// Addresses of one access.
pub fn addresses(space: Space, pattern: u8, bytes: u8, salt: u64) -> [u64; 32] {
    let bytes = bytes.max(1) as u64;
    std::array::from_fn(|lane| {
        let lane = lane as u64;
        let range = if space == Space::Shared {
            16 * 1024
        } else {
            1 << 18
        };
        let element = match pattern % 6 {
            0 => lane,
            1 => lane * 32,
            2 => 7,
            3 => mix(lane ^ salt << 8) % (1 << 14),
            4 => lane / 2 * 33,
            _ => 31 - lane,
        };
        let base = (pattern as u64 / 6 % 4) * 4096;
        let offset = (base + element * bytes) % range / bytes * bytes;
        match space {
            Space::Constant => 3 << 32 | (offset % 4096),
            Space::Shared => offset,
            _ => 0x10_0000 + offset,
        }
    })
}

fn sectors(addresses: &[u64; 32], lanes: u32, bytes: u8) -> u64 {
    let touched: BTreeSet<u64> = (0..32)
        .filter(|lane| lanes >> lane & 1 == 1)
        .flat_map(|lane| {
            [
                addresses[lane] / 32,
                (addresses[lane] + bytes as u64 - 1) / 32,
            ]
        })
        .collect();
    touched.len() as u64
}

impl Machine {
    fn access(&mut self, effect: &mut Effect, access: Access) {
        effect.accesses = true;
        if !access.bypass && access.space == Space::Global {
            let count = sectors(&access.addresses, access.lanes, access.bytes);
            match access.operation {
                Operation::Store => self.stores += count,
                _ => self.loads += count,
            }
        }
        effect.access = access;
    }

    /// Lets the barrier of `cta` go if all live warps have arrived.
    fn complete_barrier(&mut self, cta: usize, effect: &mut Effect) {
        let state = &mut self.ctas[cta];
        if state.live != 0 && state.arrived & state.live == state.live {
            effect.released = state.arrived & state.live;
            state.arrived = 0;
        }
    }
}

impl Source for Machine {
    type Shared = ();

    fn start_cta(&mut self, _: &(), _: u64, slot: CtaSlot, warps: &[WarpSlot]) {
        let mut state = CtaState::default();
        for (number, warp) in warps.iter().enumerate() {
            let w = warp.0 as usize;
            state.live |= 1 << w;
            self.pcs[w] = 0;
            self.number[w] = number as u8;
            self.cta_of[w] = slot.0;
            self.jumps[w].clear();
        }
        self.ctas[slot.0 as usize] = state;
    }

    fn pc(&self, warp: WarpSlot) -> Pc {
        Pc(self.pcs[warp.0 as usize])
    }

    fn issue(
        &mut self,
        _: &(),
        warp: WarpSlot,
        pc: Pc,
        clock: Cycle,
        effect: &mut Effect,
    ) -> Result<(), Fault> {
        let w = warp.0 as usize;
        let cta = self.cta_of[w] as usize;
        assert_eq!(pc.0, self.pcs[w], "the timing model is at another pc");
        assert!(self.ctas[cta].live >> w & 1 == 1, "an ended warp issues");
        assert!(
            self.ctas[cta].arrived >> w & 1 == 0,
            "a warp slips past its barrier"
        );
        let lines = self.lines.clone();
        let line = &lines[pc.0 as usize];
        self.issued.push((warp.0, pc.0, clock.0 - 1));
        effect.lanes = u32::MAX;
        effect.active = u32::MAX;
        if line.step.description.constant.is_some() {
            self.constants += 1;
        }
        let mut next = pc.0 + 1;
        let salt = (w as u64) << 32 | pc.0 as u64;
        match line.act {
            Act::Nothing => {}
            Act::Off => effect.lanes = 0,
            Act::Access(space, operation, pattern, bytes, lanes) => {
                let shared = addresses(Space::Shared, pattern ^ 1, bytes, salt);
                self.access(
                    effect,
                    Access {
                        space,
                        operation,
                        lanes,
                        bytes,
                        bypass: false,
                        deferred: None,
                        addresses: addresses(space, pattern, bytes, salt),
                        texels: Vec::new(),
                        shared: shared.map(|a| a as u32),
                    },
                );
            }
            Act::Deferred(operation, pattern, lanes) => {
                let token = (0..).find(|token| !self.tokens.contains(token)).unwrap();
                self.tokens.insert(token);
                self.access(
                    effect,
                    Access {
                        space: Space::Global,
                        operation,
                        lanes,
                        bytes: 4,
                        bypass: true,
                        deferred: Some(Token(token)),
                        addresses: addresses(Space::Global, pattern, 4, salt),
                        texels: Vec::new(),
                        shared: [0; 32],
                    },
                );
            }
            Act::Jump(to, times) => {
                let done = self.jumps[w].entry(pc.0).or_insert(0);
                if *done < times {
                    *done += 1;
                    next = to;
                }
            }
            Act::Barrier => {
                effect.arrived = true;
                self.ctas[cta].arrived |= 1 << w;
                self.complete_barrier(cta, effect);
                effect.blocked = effect.released == 0;
            }
            // Arrives without waiting: never completes a barrier here.
            Act::Arrive => effect.arrived = true,
            Act::Sleep(cycles) => effect.sleep = cycles,
            Act::Late(cycles) => effect.sleep = cycles * (8 - self.number[w] as u64 % 8),
            Act::ExitSome(rest) if self.number[w] % 4 != rest => {}
            Act::ExitSome(_) | Act::Exit => {
                effect.ended = true;
                self.ctas[cta].live &= !(1 << w);
                self.complete_barrier(cta, effect);
            }
        }
        self.pcs[w] = next;
        effect.next = if effect.blocked {
            Pc(u32::MAX)
        } else {
            Pc(next)
        };
        Ok(())
    }

    fn complete(&mut self, token: Token) {
        assert!(
            self.tokens.remove(&token.0),
            "token {} completes twice",
            token.0
        );
    }

    fn perform(&mut self, _: &mut (), _: Performed) {}
    fn publish(_: &mut [Machine], _: &mut ()) {}
    fn waiting(&self, _: WarpSlot) -> Option<String> {
        None
    }
    fn sm(&self) -> SmId {
        SmId(0)
    }
    fn next_lanes(&self, _: WarpSlot) -> u32 {
        u32::MAX
    }
    fn live_warps(&self, slot: CtaSlot) -> WarpMask {
        self.ctas[slot.0 as usize].live
    }
}

/// How a script is run.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub window: u64,
    pub check: bool,
    pub warps: u32,
    pub ctas: u64,
    pub resident: u32,
    pub start: u64,
    pub salt: u64,
}

/// What came out.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    pub issued: Vec<(u8, u32, u64)>,
    pub requests: Vec<Request>,
    pub statistics: SmStatistics,
    pub hazards: Vec<Hazard>,
    pub end: u64,
    pub left: UnderWay,
    pub tokens: usize,
    pub loads: u64,
    pub stores: u64,
    pub constants: u64,
}

/// Shortest way to L2 and back.
const ROUND_TRIP: u64 = 210;

impl Bench {
    /// Runs `lines` as `setup` says.
    pub fn run_random(&self, lines: &[Line], setup: Setup) -> Outcome {
        let parameters = SmParameters::load(&self.gpu).unwrap();
        let descriptions: Vec<_> = lines.iter().map(|l| l.step.description.clone()).collect();
        let program = Program::new(&descriptions, &self.gpu, &parameters).unwrap();
        let launch = Launch {
            program,
            warps_per_cta: setup.warps,
            ctas_per_sm: setup.resident,
            warps_per_sm: 64,
            l1_bytes: 16 * 1024,
            hazards: if setup.check {
                HazardMode::Check
            } else {
                HazardMode::Off
            },
            watch: false,
            walk: None,
            code_address: 0x1000_0000,
            constant_address: 0x2000_0000,
            pages: Default::default(),
        };
        let mut sm = Sm::new(SmId(0), parameters, &launch);
        let mut source = Machine {
            lines: Arc::new(lines.to_vec()),
            pcs: [0; 64],
            number: [0; 64],
            cta_of: [0; 64],
            jumps: vec![BTreeMap::new(); 64],
            ctas: vec![CtaState::default(); 32],
            tokens: BTreeSet::new(),
            loads: 0,
            stores: 0,
            constants: 0,
            issued: Vec::new(),
        };
        let mut left = setup.ctas;
        let mut at = setup.start;
        let mut now = setup.start;
        let mut replies: BTreeSet<Reply> = BTreeSet::new();
        let mut requests: Vec<Request> = Vec::new();
        let mut quiet = 0;
        while left > 0 || sm.has_ctas() || quiet < 4000 {
            if !(left > 0 || sm.has_ctas()) {
                quiet += setup.window;
                if sm.is_idle() {
                    break;
                }
            }
            let until = now + setup.window;
            loop {
                while left > 0 && sm.can_start_cta() {
                    sm.start_cta(&mut source, &(), setup.ctas - left, Cycle(at));
                    left -= 1;
                }
                match sm.run(&mut source, &(), Cycle(until), left > 0).unwrap() {
                    Pause::Window => break,
                    Pause::CtaFreed(cycle) => at = cycle.0 + 1,
                }
            }
            for request in sm.requests().drain(..) {
                let spread = mix(requests.len() as u64 ^ setup.salt) % 120;
                let cycle = request.cycle + ROUND_TRIP + spread;
                // The sectors of some lines come in two parts.
                let apart = match request.kind {
                    RequestKind::Read | RequestKind::Instruction => spread as u8 & request.sectors,
                    _ => 0,
                };
                for (sectors, later) in [(request.sectors & !apart, 0), (apart, spread % 7)] {
                    if sectors != 0 {
                        replies.insert(Reply {
                            cycle: cycle + later,
                            id: request.id,
                            sectors,
                        });
                    }
                }
                requests.push(request);
            }
            now = until;
            let later = replies.split_off(&Reply {
                cycle: Cycle(now + setup.window),
                id: source::RequestId(0),
                sectors: 0,
            });
            let due: Vec<Reply> = std::mem::replace(&mut replies, later).into_iter().collect();
            sm.deliver(&due);
            assert!(
                now < setup.start + 2_000_000,
                "the script hangs: {:?}",
                sm.waiting_warps()
            );
        }
        let end = sm.finished_at();
        sm.close(end);
        Outcome {
            issued: source.issued,
            requests,
            statistics: sm.statistics().clone(),
            hazards: sm.hazards().to_vec(),
            end: end.0,
            left: sm.under_way(),
            tokens: source.tokens.len(),
            loads: source.loads,
            stores: source.stores,
            constants: source.constants,
        }
    }
}
