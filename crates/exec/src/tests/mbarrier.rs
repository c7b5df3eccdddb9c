//! Barriers in shared memory: phases against a model that counts, for both words.

use sass::{Architecture, Modifier as M, Opcode, Operand};

use super::machine::*;
use super::memory::Bench;
use super::*;
use crate::family::mbarrier::{arrive, transact};
use source::FaultKind;

/// What the PTX manual says of an mbarrier: arrivals and transactions left, and the phase.
struct Model {
    count: u32,
    left: u32,
    transactions: i32,
    phase: bool,
}

impl Model {
    fn new(count: u32) -> Model {
        Model {
            count,
            left: count,
            transactions: 0,
            phase: false,
        }
    }

    fn step(&mut self, arrivals: u32, announced: i32) {
        self.left -= arrivals;
        self.transactions += announced;
        if self.left == 0 && self.transactions == 0 {
            self.phase = !self.phase;
            self.left = self.count;
        }
    }
}

/// The word that the compiler's code initialises a barrier of sm_90 with: from its own instructions,
/// `0x100000 - count`, shifted by 1 in the lower and by 11 in the upper half.
fn initial_90(count: u32) -> u64 {
    let minus = 0x10_0000 - count;
    u64::from(minus << 11) << 32 | u64::from(minus << 1)
}

/// The same up to sm_89: minus the count in both halves.
fn initial_80(count: u32) -> u64 {
    let minus = 0u32.wrapping_sub(count);
    u64::from(minus & 0x7fff_ffff) << 32 | u64::from(minus & 0x3fff_ffff)
}

#[test]
fn phases_end_with_the_last_arrival() {
    for count in [1, 2, 3, 7, 32, 1024, 0xf_ffff] {
        let (mut old, mut new) = (initial_80(count), initial_90(count));
        let mut model = Model::new(count);
        for step in 0..(5 * count).min(5000) {
            assert_eq!(old >> 63 == 1, model.phase, "count {count}, step {step}");
            assert_eq!(new >> 63 == 1, model.phase, "count {count}, step {step}");
            model.step(1, 0);
            old = arrive(old);
            new = transact(new, 1, 0);
        }
    }
}

#[test]
fn a_phase_waits_for_what_is_announced() {
    let mut random = Random::new(90);
    for count in [1u32, 2, 5, 128] {
        let mut word = initial_90(count);
        let mut model = Model::new(count);
        for _ in 0..4000 {
            let choice = random.word() % 3;
            let (arrivals, announced) = match choice {
                0 => (1.min(model.left), 0),
                1 => (0, (random.word() % 4096) as i32),
                _ => (0, -(random.word() as i32 & 0xfff).min(model.transactions)),
            };
            // More than the field holds, or a step that the manual forbids.
            if (arrivals, announced) == (0, 0) || model.transactions + announced > 0xf_ffff {
                continue;
            }
            model.step(arrivals, announced);
            word = transact(word, arrivals, announced);
            assert_eq!(word >> 63 == 1, model.phase);
        }
    }
}

fn on_hopper(mut i: sass::Instruction) -> sass::Instruction {
    i.architecture = Architecture::Sm90;
    i
}

/// SYNCS.EXCH, .ARRIVE and .PHASECHK as the compiler uses them for 32 threads.
#[test]
fn lanes_arrive_and_ask_for_the_phase() {
    let mut bench = Bench::new();
    let word = initial_90(33);
    bench.warp.uniforms[4] = word as u32;
    bench.warp.uniforms[5] = (word >> 32) as u32;
    let exchange = instruction(
        Opcode::SYNCS,
        &[M::EXCH, M::N64],
        &[ur(63), at(255, 64), ur(4)],
    );
    bench.run(&on_hopper(exchange));
    let arrive = instruction(
        Opcode::SYNCS,
        &[M::ARRIVE, M::TRANS64, M::A1T0],
        &[r(2), at(255, 64), r(255)],
    );
    let check = instruction(
        Opcode::SYNCS,
        &[M::PHASECHK, M::TRANS64, M::TRYWAIT],
        &[p(0, false), at(255, 64), r(3)],
    );
    bench.run(&on_hopper(arrive.clone()));
    bench.run(&on_hopper(check.clone()));
    assert_eq!(bench.warp.predicates[0], 0, "one arrival is missing");
    let token = bench.warp.registers[3];
    bench.try_run(&on_hopper(arrive), 1).unwrap();
    bench.warp.registers[3] = token;
    bench.run(&on_hopper(check.clone()));
    assert_eq!(bench.warp.predicates[0], ALL);
    // A token of the phase that has begun.
    set(&mut bench.warp, 3, |lane| token[lane] ^ 0x8000_0000);
    bench.run(&on_hopper(check));
    assert_eq!(bench.warp.predicates[0], 0);
}

/// SYNCS.ARRIVE.TRANS64.RED.A0T1 before a copy and ARRIVES.TRANSCNT behind it leave nothing to come.
#[test]
fn copies_hold_the_phase_until_they_arrive() {
    let mut bench = Bench::new();
    let word = initial_90(32);
    bench.shared.write(8, &word.to_le_bytes());
    let announce = instruction(
        Opcode::SYNCS,
        &[M::ARRIVE, M::TRANS64, M::RED, M::A0T1],
        &[r(255), at(255, 8), r(255)],
    );
    let arrive = instruction(
        Opcode::SYNCS,
        &[M::ARRIVE, M::TRANS64, M::A1T0],
        &[r(255), at(255, 8), r(255)],
    );
    let complete = instruction(
        Opcode::ARRIVES,
        &[M::LDGSTSBAR, M::N64, M::TRANSCNT],
        &[at(255, 8)],
    );
    let phase = |bench: &Bench| u64::from_le_bytes(bench.shared.read::<8>(8)) >> 63;
    bench.run(&on_hopper(announce));
    bench.run(&on_hopper(arrive));
    assert_eq!(phase(&bench), 0, "all have arrived, the copies have not");
    bench.run(&on_hopper(complete));
    assert_eq!(phase(&bench), 1);
}

/// ATOMS.ARRIVE gives the word from before; ARRIVES gives nothing.
#[test]
fn arrivals_up_to_sm_89() {
    let mut bench = Bench::new();
    bench.shared.write(16, &initial_80(64).to_le_bytes());
    let i = instruction(Opcode::ATOMS, &[M::ARRIVE, M::N64], &[r(2), at(255, 16)]);
    bench.run(&i);
    let mut expected = initial_80(64);
    for lane in 0..32 {
        assert_eq!(wide(&bench.warp, 2, lane), expected);
        expected = arrive(expected);
    }
    bench.run(&instruction(
        Opcode::ARRIVES,
        &[M::LDGSTSBAR, M::N64],
        &[at(255, 16)],
    ));
    assert_eq!(u64::from_le_bytes(bench.shared.read::<8>(16)) >> 63, 1);
}

#[test]
fn forms_of_clusters_are_refused_by_name() {
    for (modifiers, operands) in [
        (
            vec![M::ARRIVE, M::TRANS64, M::A1T0, M::GPU],
            vec![r(2), at(255, 0), r(255)],
        ),
        (vec![M::ARRIVE, M::A1T0], vec![r(2), at(255, 0), r(255)]),
        (
            vec![M::EXCH, M::N64, M::SYS],
            vec![ur(63), at(255, 0), ur(4)],
        ),
    ] {
        let i: sass::Instruction = on_hopper(instruction(
            Opcode::SYNCS,
            &modifiers,
            &operands as &[Operand],
        ));
        assert!(crate::refusal(&i).is_some(), "{}", i.display(0));
    }
}

/// A word in the middle of a phase, for `count` threads of which `arrived` have arrived.
fn under_way(count: u32, arrived: u32) -> u64 {
    transact(initial_90(count), arrived, 0)
}

fn state(bench: &Bench, at: u32) -> u64 {
    u64::from_le_bytes(bench.shared.read::<8>(at))
}

/// What is left of a phase, from the word: arrivals of this phase and of the next, what is to come.
fn left_of(word: u64) -> (u32, u32, u32) {
    let minus = |field: u64| (0x10_0000 - field as u32) & 0xf_ffff;
    (
        minus(word >> 43 & 0xf_ffff),
        minus(word >> 1 & 0xf_ffff),
        (word >> 21) as u32 & 0x3f_ffff,
    )
}

/// SYNCS.ARRIVE without counts is PTX arrive.expect_tx, .A0TR expect_tx, .A0TX complete_tx.
#[test]
fn transactions_are_announced_and_come() {
    let mut bench = Bench::new();
    bench.shared.write(8, &initial_90(32).to_le_bytes());
    set(&mut bench.warp, 5, |lane| 16 * lane as u32);
    let arrive = |counts: &[M]| {
        let modifiers = [&[M::ARRIVE, M::TRANS64, M::RED], counts].concat();
        on_hopper(instruction(
            Opcode::SYNCS,
            &modifiers,
            &[r(255), at(255, 8), r(5)],
        ))
    };
    let sum = 16 * (0..32).sum::<u32>();
    bench.run(&arrive(&[]));
    assert_eq!(left_of(state(&bench, 8)), (0, 32, sum));
    bench.run(&arrive(&[M::A0TR]));
    assert_eq!(left_of(state(&bench, 8)), (0, 32, 2 * sum));
    bench.run(&arrive(&[M::A0TX]));
    assert_eq!(left_of(state(&bench, 8)), (0, 32, sum));
    assert_eq!(state(&bench, 8) >> 63, 0);
    bench.run(&arrive(&[M::A0TX]));
    assert_eq!(left_of(state(&bench, 8)), (32, 32, 0));
    assert_eq!(
        state(&bench, 8) >> 63,
        1,
        "the phase ends with what was announced"
    );
}

/// SYNCS.ARRIVE.OPTOUT (PTX arrive_drop): who leaves is not waited for in the next phase, also where
/// its arrival ends the phase.
#[test]
fn who_leaves_takes_no_part_in_later_phases() {
    let mut bench = Bench::new();
    bench.shared.write(8, &under_way(40, 5).to_le_bytes());
    set(&mut bench.warp, 5, |lane| lane as u32 % 3);
    let drop = instruction(
        Opcode::SYNCS,
        &[M::ARRIVE, M::TRANS64, M::OPTOUT, M::ART0],
        &[r(2), at(255, 8), r(5)],
    );
    let sum: u32 = (0..32).map(|lane| lane % 3).sum();
    bench.run(&on_hopper(drop));
    assert_eq!(left_of(state(&bench, 8)), (35 - sum, 40 - sum, 0));
    assert_eq!(wide(&bench.warp, 2, 0), under_way(40, 5));
    let drop = instruction(
        Opcode::SYNCS,
        &[M::ARRIVE, M::TRANS64, M::OPTOUT, M::A1T0],
        &[r(2), at(255, 8), r(255)],
    );
    let left = 35 - sum;
    bench.try_run(&on_hopper(drop), (1 << left) - 1).unwrap();
    let word = state(&bench, 8);
    assert_eq!(word >> 63, 1, "the last arrival ends the phase");
    assert_eq!(left_of(word), (5, 5, 0));
}

/// SYNCS.ARRIVE.TMASK gives each lane the mask of those that did the same at the same barrier and the
/// state from before all of them; with them the compiler's code makes each lane's own state.
#[test]
fn lanes_that_arrive_together_share_a_mask() {
    let mut bench = Bench::new();
    for barrier in 0..2 {
        let word = under_way(200, 7 + barrier);
        bench.shared.write(8 + 8 * barrier, &word.to_le_bytes());
    }
    set(&mut bench.warp, 4, |lane| 8 + 8 * (lane as u32 / 3 % 2));
    set(&mut bench.warp, 5, |_| 2);
    let together = instruction(
        Opcode::SYNCS,
        &[M::ARRIVE, M::TRANS64, M::TMASK, M::ART0],
        &[r(2), at(4, 0), r(5)],
    );
    let mask = 0xdead_beef;
    bench.try_run(&on_hopper(together), mask).unwrap();
    let mut words = [under_way(200, 7), under_way(200, 8)];
    for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
        let barrier = lane / 3 % 2;
        let same = (0..32)
            .filter(|other| mask >> other & 1 == 1 && other / 3 % 2 == barrier)
            .fold(0, |same, other| same | 1u32 << other);
        assert_eq!(bench.warp.registers[2][lane], same, "lane {lane}");
        let before = (same & ((1u32 << lane) - 1)).count_ones();
        let own = bench.warp.registers[3][lane] + (before << 11) * 2;
        assert_eq!(own, (words[barrier] >> 32) as u32, "lane {lane}");
        words[barrier] = transact(words[barrier], 2, 0);
    }
    assert_eq!([state(&bench, 8), state(&bench, 16)], words);
}

/// ARRIVES.LDGSTSBAR.ARVCNT (PTX cp.async.mbarrier.arrive.noinc) counts as an arrival.
#[test]
fn copies_that_count_as_arrivals() {
    let mut bench = Bench::new();
    bench.shared.write(8, &initial_90(33).to_le_bytes());
    let arrive = instruction(
        Opcode::ARRIVES,
        &[M::LDGSTSBAR, M::N64, M::ARVCNT],
        &[at(255, 8)],
    );
    bench.run(&on_hopper(arrive));
    assert_eq!(left_of(state(&bench, 8)), (1, 33, 0));
}

/// By generic addresses: ATOM.ARRIVE, ATOM.POPC.INC (with which arrive_drop lowers the count of later
/// phases) and ATOM.CAST.SPIN do what their ATOMS forms do, and nothing outside shared memory.
#[test]
fn barriers_by_generic_addresses() {
    use crate::memory::SHARED_WINDOW;
    let mut bench = Bench::new();
    bench.shared.write(16, &initial_80(64).to_le_bytes());
    set(&mut bench.warp, 4, |_| SHARED_WINDOW as u32);
    set(&mut bench.warp, 5, |_| (SHARED_WINDOW >> 32) as u32);
    let generic = |modifiers: &[M], operands: &[Operand]| {
        let modifiers = [&[M::E], modifiers, &[M::STRONG, M::SM]].concat();
        let operands = [&[p(7, false)], operands].concat();
        instruction(Opcode::ATOM, &modifiers, &operands)
    };
    bench.run(&generic(&[M::POPC, M::INC, M::N32], &[r(6), at(4, 16)]));
    for lane in 0..32 {
        let low = (initial_80(64) as u32).wrapping_add(lane as u32);
        assert_eq!(bench.warp.registers[6][lane], low);
    }
    bench.run(&generic(&[M::ARRIVE, M::N64], &[r(2), at(4, 16)]));
    let mut expected = initial_80(64) & !0xffff_ffff | (initial_80(64) as u32 + 32) as u64;
    for lane in 0..32 {
        assert_eq!(wide(&bench.warp, 2, lane), expected);
        expected = arrive(expected);
    }
    assert_eq!(state(&bench, 16), expected);
    // Each lane finds what the one before it stored.
    bench.shared.write(64, &7u32.to_le_bytes());
    set(&mut bench.warp, 8, |lane| 7 + lane as u32 / 2);
    set(&mut bench.warp, 9, |lane| 8 + lane as u32 / 2);
    bench.run(&generic(
        &[M::CAST, M::SPIN],
        &[r(10), at(4, 64), r(8), r(9)],
    ));
    for lane in 0..32 {
        assert_eq!(bench.warp.registers[10][lane], 1 - lane as u32 % 2);
    }
    assert_eq!(bench.shared.word(64), 23);
    set(&mut bench.warp, 5, |lane| {
        (SHARED_WINDOW >> 32) as u32 - u32::from(lane == 9)
    });
    let trouble = bench
        .try_run(&generic(&[M::ARRIVE, M::N64], &[r(2), at(4, 16)]), ALL)
        .unwrap_err();
    assert_eq!(trouble.lane, Some(9));
    let elsewhere = SHARED_WINDOW - (1 << 32) + 16;
    assert!(
        matches!(trouble.kind, FaultKind::OutOfBounds { space: "shared", address, .. } if address == elsewhere),
        "{:?}",
        trouble.kind
    );
}
