//! Timing mode: what is seen when (DESIGN.md V1, V2, V4), by the calls that the device makes.

use std::sync::Arc;

use sass::{Instruction, Modifier as M, Opcode};
use source::{CtaSlot, Cycle, Effect, Performed, Sector, SmId, Source, Token, WarpSlot};

use super::machine::*;
use super::*;
use crate::launch::LaunchOptions;
use crate::{GlobalMemory, SmState};

/// Two SMs with one CTA each.
struct Pair {
    sms: Vec<SmState>,
    memory: GlobalMemory,
    effect: Effect,
}

impl Pair {
    fn new(code: &[Instruction]) -> Pair {
        let launch = launch_with(code, [2, 1, 1], [32, 1, 1], LaunchOptions::default());
        let memory = memory(1024);
        let mut sms: Vec<SmState> = (0..2)
            .map(|k| SmState::new(Arc::clone(&launch), SmId(k)))
            .collect();
        for (k, sm) in sms.iter_mut().enumerate() {
            sm.start_cta(&memory, k as u64, CtaSlot(0), &[WarpSlot(5)]);
        }
        Pair {
            sms,
            memory,
            effect: Effect::new(),
        }
    }

    /// Issues the next instruction on SM `k` at `cycle`; the token if it was deferred.
    fn issue(&mut self, k: usize, cycle: u64) -> Option<Token> {
        let sm = &mut self.sms[k];
        let pc = sm.pc(WarpSlot(5));
        sm.issue(
            &self.memory,
            WarpSlot(5),
            pc,
            Cycle(cycle),
            &mut self.effect,
        )
        .unwrap();
        self.effect
            .accesses
            .then_some(self.effect.access.deferred)
            .flatten()
    }

    fn issue_many(&mut self, k: usize, count: usize) {
        for _ in 0..count {
            self.issue(k, 0);
        }
    }

    fn perform(&mut self, k: usize, token: Token, sector: u64) {
        let performed = Performed {
            cycle: Cycle(0),
            sm: SmId(k as u16),
            token,
            sector: Sector::of(FIRST + 32 * sector),
        };
        self.sms[k].perform(&mut self.memory, performed);
    }

    fn register(&self, k: usize, row: u8, lane: usize) -> u32 {
        self.sms[k].register(WarpSlot(5), row, lane).unwrap()
    }

    fn publish(&mut self) {
        SmState::publish(&mut self.sms, &mut self.memory);
    }
}

/// Lane l's address FIRST + 4 l in R10, the CTA's number in R2; six instructions.
fn prologue() -> Vec<Instruction> {
    let mut code = vec![
        tid(1),
        op(Opcode::S2R, &[r(2), Operand::SpecialRegister(37)]),
    ];
    code.extend(pointer(10, 1));
    code.push(op(Opcode::IADD3, &[r(3), r(2), imm(7), r(255)]));
    code
}

fn load(row: u8) -> Instruction {
    instruction(Opcode::LDG, &[M::E], &[r(row), at(10, 0)])
}

fn store_word(row: u8) -> Instruction {
    instruction(Opcode::STG, &[M::E], &[at(10, 0), r(row)])
}

#[test]
fn a_plain_store_is_seen_at_home_at_once_and_elsewhere_after_the_boundary() {
    let mut code = prologue();
    code.extend([store_word(3), load(4), load(5), exit()]);
    let mut pair = Pair::new(&code);
    pair.issue_many(0, 8);
    assert_eq!(pair.register(0, 4, 9), 7);
    assert!(pair.sms[0].has_stores());
    // SM 1 reads before it stores.
    pair.issue_many(1, 6);
    assert_eq!(words(&pair.memory, 1)[0], 0);
    pair.publish();
    assert!(!pair.sms[0].has_stores());
    assert_eq!(words(&pair.memory, 32), [7; 32]);
    pair.issue_many(0, 1);
    assert_eq!(pair.register(0, 5, 31), 7);
}

#[test]
fn stores_are_published_in_the_order_of_cycle_and_sm() {
    let mut code = prologue();
    code.extend([store_word(3), exit()]);
    // The later cycle wins; in the same cycle the higher SM.
    for (first, second, expected) in [(10, 20, 8), (20, 10, 7), (15, 15, 8)] {
        let mut pair = Pair::new(&code);
        pair.issue_many(0, 6);
        pair.issue_many(1, 6);
        pair.issue(1, second);
        pair.issue(0, first);
        pair.publish();
        assert_eq!(words(&pair.memory, 32), [expected; 32]);
    }
}

#[test]
fn the_overlay_merges_bytes() {
    let mut code = prologue();
    code.extend([
        instruction(Opcode::STG, &[M::E, M::U8], &[at(10, 1), r(3)]),
        load(4),
        instruction(Opcode::LDG, &[M::E, M::U16], &[r(5), at(10, 0)]),
        exit(),
    ]);
    let mut pair = Pair::new(&code);
    pair.memory.fill(FIRST, 0x11, 128).unwrap();
    pair.issue_many(0, 9);
    assert_eq!(pair.register(0, 4, 3), 0x1111_0711);
    assert_eq!(pair.register(0, 5, 3), 0x0711);
    assert_eq!(words(&pair.memory, 1)[0], 0x1111_1111);
    pair.publish();
    assert_eq!(words(&pair.memory, 1)[0], 0x1111_0711);
}

#[test]
fn many_stores_of_a_quantum_are_all_seen() {
    // One warp stores to 32 sectors in each round, 64 rounds: the overlay grows.
    let mut code = prologue();
    code.extend([
        instruction(Opcode::STG, &[M::E], &[at(12, 0), r(4)]),
        instruction(Opcode::LDG, &[M::E], &[r(5), at(12, 0)]),
        exit(),
    ]);
    let mut pair = Pair::new(&code);
    pair.memory.allocate(1 << 20, "large").unwrap();
    let base = pair.memory.allocations().nth(1).unwrap().0;
    pair.issue_many(0, 6);
    for round in 0..64u64 {
        let warp = pair.sms[0].warp_mut(WarpSlot(5));
        warp.splits.advance(6);
        set_wide(warp, 12, |lane| base + 64 * (32 * round + lane as u64));
        set(warp, 4, |lane| (1000 * round) as u32 + lane as u32);
        pair.issue_many(0, 2);
        assert_eq!(pair.register(0, 5, 17), (1000 * round) as u32 + 17);
    }
    // The first round's stores are still there.
    let warp = pair.sms[0].warp_mut(WarpSlot(5));
    warp.splits.advance(7);
    set_wide(warp, 12, |lane| base + 64 * lane as u64);
    pair.issue_many(0, 1);
    assert_eq!(pair.register(0, 5, 30), 30);
    pair.publish();
    let mut word = [0; 4];
    pair.memory
        .read(base + 64 * (32 * 63 + 31), &mut word)
        .unwrap();
    assert_eq!(u32::from_le_bytes(word), 63_031);
}

fn red() -> Instruction {
    instruction(
        Opcode::RED,
        &[M::E, M::ADD, M::STRONG, M::GPU],
        &[at(10, 0), r(3)],
    )
}

#[test]
fn deferred_operations_take_effect_sector_by_sector() {
    let mut code = prologue();
    code.extend([
        instruction(
            Opcode::ATOMG,
            &[M::E, M::ADD, M::STRONG, M::GPU],
            &[pt(), r(6), at(10, 0), r(3)],
        ),
        exit(),
    ]);
    let mut pair = Pair::new(&code);
    pair.memory.fill(FIRST, 0, 128).unwrap();
    pair.issue_many(0, 6);
    let token = pair.issue(0, 0).unwrap();
    assert!(pair.effect.access.bypass);
    assert_eq!(words(&pair.memory, 32), [0; 32]);
    pair.perform(0, token, 1); // lanes 8 to 15
    let found = words(&pair.memory, 32);
    assert!(found[8..16].iter().all(|&w| w == 7));
    assert!(found[..8].iter().all(|&w| w == 0) && found[16..].iter().all(|&w| w == 0));
    // A second packet of the same sector does not apply it again.
    pair.perform(0, token, 1);
    assert_eq!(words(&pair.memory, 9)[8], 7);
    for sector in [0, 3, 2] {
        pair.perform(0, token, sector);
    }
    assert_eq!(words(&pair.memory, 32), [7; 32]);
    assert_eq!(pair.register(0, 6, 20), 0);
    assert!(pair.sms[0].has_deferred());
    pair.sms[0].complete(token);
    assert!(!pair.sms[0].has_deferred());
}

#[test]
fn later_accesses_to_sectors_in_flight_are_deferred_too() {
    let mut code = prologue();
    code.extend([
        red(),
        store_word(2),
        load(4),
        instruction(Opcode::LDG, &[M::E], &[r(5), at(10, 128)]),
        load(7),
        exit(),
    ]);
    let mut pair = Pair::new(&code);
    pair.issue_many(0, 6);
    let red = pair.issue(0, 0).unwrap();
    let stored = pair.issue(0, 1).unwrap();
    let loaded = pair.issue(0, 2).unwrap();
    assert!(pair.effect.access.bypass);
    // Another sector is not held up.
    assert_eq!(pair.issue(0, 3), None);
    for token in [red, stored, loaded] {
        for sector in 0..4 {
            pair.perform(0, token, sector);
        }
        if token == red {
            assert_eq!(words(&pair.memory, 1)[0], 7);
        }
    }
    // The store came behind the reduction, the load behind the store.
    assert_eq!(words(&pair.memory, 32), [0; 32]);
    assert_eq!(pair.register(0, 4, 5), 0);
    for token in [red, stored, loaded] {
        pair.sms[0].complete(token);
    }
    assert_eq!(pair.issue(0, 9), None);
}

#[test]
fn strong_loads_and_stores_are_deferred_and_those_of_the_sm_are_plain() {
    let strong = |scope: M| {
        [
            instruction(Opcode::STG, &[M::E, M::STRONG, scope], &[at(10, 0), r(3)]),
            instruction(Opcode::LDG, &[M::E, M::STRONG, scope], &[r(4), at(10, 0)]),
        ]
    };
    for (scope, deferred) in [(M::GPU, true), (M::SYS, true), (M::SM, false)] {
        let mut code = prologue();
        code.extend(strong(scope));
        code.push(exit());
        let mut pair = Pair::new(&code);
        pair.issue_many(0, 6);
        let tokens = [pair.issue(0, 0), pair.issue(0, 1)];
        assert_eq!(tokens.map(|t| t.is_some()), [deferred; 2]);
        for token in tokens.into_iter().flatten() {
            for sector in 0..4 {
                pair.perform(0, token, sector);
            }
            pair.sms[0].complete(token);
        }
        assert_eq!(pair.register(0, 4, 3), 7);
    }
}

#[test]
fn results_for_a_warp_that_has_ended_are_dropped() {
    let mut code = prologue();
    code.extend([
        instruction(
            Opcode::ATOMG,
            &[M::E, M::EXCH, M::STRONG, M::GPU],
            &[pt(), r(6), at(10, 0), r(3)],
        ),
        exit(),
    ]);
    let mut pair = Pair::new(&code);
    pair.memory.fill(FIRST, 0xff, 128).unwrap();
    pair.issue_many(0, 6);
    let token = pair.issue(0, 0).unwrap();
    pair.issue(0, 1);
    assert!(pair.effect.ended);
    assert_eq!(pair.sms[0].live_warps(CtaSlot(0)), 0);
    let memory = std::mem::take(&mut pair.memory);
    pair.sms[0].start_cta(&memory, 1, CtaSlot(0), &[WarpSlot(5)]);
    pair.memory = memory;
    for sector in 0..4 {
        pair.perform(0, token, sector);
    }
    assert_eq!(words(&pair.memory, 32), [7; 32]);
    assert_eq!(pair.register(0, 6, 0), 0);
    assert_eq!(pair.sms[0].live_warps(CtaSlot(0)), 1 << 5);
}

#[test]
fn deferred_narrow_loads_extend_their_sign() {
    let mut code = prologue();
    code.extend([
        instruction(
            Opcode::LDG,
            &[M::E, M::S8, M::STRONG, M::GPU],
            &[r(4), at(10, 0)],
        ),
        exit(),
    ]);
    let mut pair = Pair::new(&code);
    pair.memory.fill(FIRST, 0x85, 128).unwrap();
    pair.issue_many(0, 6);
    let token = pair.issue(0, 0).unwrap();
    for sector in 0..4 {
        pair.perform(0, token, sector);
    }
    assert_eq!(pair.register(0, 4, 30), 0xffff_ff85);
}
