//! Barriers in shared memory: phases against a model that counts, for both words.

use sass::{Architecture, Modifier as M, Opcode, Operand};

use super::machine::*;
use super::memory::Bench;
use super::*;
use crate::family::mbarrier::{arrive, transact};

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
