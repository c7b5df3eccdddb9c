//! Tests of instructions against independent references, family by family.
#![allow(
    clippy::unwrap_used,
    clippy::type_complexity,
    clippy::neg_cmp_op_on_partial_ord
)]

mod atomics;
mod control_flow;
mod conversion;
mod double;
mod exchange;
mod float;
mod half;
mod hostile;
mod instruction_bench;
mod integer;
mod launch;
mod machine;
mod mbarrier;
mod memory;
mod order;
mod predicate;
mod refusals;
mod tensor;
mod texture;

use sass::{
    Adjust, Architecture, Control, Guard, ImmediateKind, Instruction, Modifier, Opcode, Operand,
    Predicate, Register, Select, UniformRegister, Word,
};

use crate::constant::Banks;
use crate::isa_dispatch::{self, HostIsa};
use crate::lanes::{ALL, Lanes};
use crate::lower::{Context, lower};
use crate::micro::Op;
use crate::warp::Warp;

/// An unguarded instruction.
pub fn instruction(opcode: Opcode, modifiers: &[Modifier], operands: &[Operand]) -> Instruction {
    Instruction {
        word: Word::default(),
        architecture: Architecture::Sm86,
        opcode,
        modifiers: modifiers.iter().copied().collect(),
        guard: Guard::ALWAYS,
        operands: operands.iter().cloned().collect(),
        control: Control::decode(Word::default()),
    }
}

/// `R{number}`; 255 is RZ.
pub fn r(number: u8) -> Operand {
    adjusted(number, Adjust::default())
}

pub fn adjusted(number: u8, adjust: Adjust) -> Operand {
    Operand::Register {
        register: Register(number),
        adjust,
        reuse: false,
        select: Select::None,
    }
}

pub fn selected(number: u8, select: Select) -> Operand {
    let adjust = Adjust::default();
    Operand::Register {
        register: Register(number),
        adjust,
        reuse: false,
        select,
    }
}

/// `-R{number}`.
pub fn minus(number: u8) -> Operand {
    adjusted(
        number,
        Adjust {
            negate: true,
            ..Adjust::default()
        },
    )
}

/// `~R{number}`.
pub fn not(number: u8) -> Operand {
    adjusted(
        number,
        Adjust {
            invert: true,
            ..Adjust::default()
        },
    )
}

/// `P{number}` or `!P{number}`.
pub fn p(number: u8, negate: bool) -> Operand {
    Operand::Predicate {
        predicate: Predicate(number),
        negate,
    }
}

/// PT.
pub fn pt() -> Operand {
    p(7, false)
}

/// `UR{number}`.
pub fn ur(number: u8) -> Operand {
    Operand::UniformRegister {
        register: UniformRegister(number),
        adjust: Adjust::default(),
        select: Select::None,
    }
}

/// A literal.
pub fn imm(bits: u32) -> Operand {
    Operand::Immediate {
        bits: u64::from(bits),
        kind: ImmediateKind::Unsigned,
    }
}

/// Rows of the register file in tests.
pub const REGISTERS: u16 = 64;

/// A warp with all lanes at work.
pub fn warp() -> Warp {
    let mut warp = Warp::empty();
    warp.start(REGISTERS as usize, ALL, 0);
    warp
}

/// Executes `instruction` on a copy of `warp` with every host instruction set in the lanes of
/// `mask`; all must agree.
pub fn run_masked(instruction: &Instruction, warp: &Warp, mask: u32) -> Warp {
    let banks = Banks::new();
    let context = Context {
        pc: 0,
        registers: REGISTERS,
        banks: &banks,
    };
    let micro =
        lower(instruction, context).unwrap_or_else(|e| panic!("{}: {e}", instruction.display(0)));
    let Op::Vector(op) = micro.op else {
        panic!(
            "{} does not stay in the register file",
            instruction.display(0)
        );
    };
    let mut results = HostIsa::ALL
        .into_iter()
        .filter(|isa| isa.is_available())
        .map(|isa| {
            let mut warp = warp.clone();
            warp.splits.active = mask;
            isa_dispatch::execute(isa, &op, &mut warp, mask);
            (isa, warp)
        });
    let (_, first) = results.next().unwrap();
    for (isa, other) in results {
        let same = first.registers == other.registers
            && first.predicates == other.predicates
            && first.uniforms == other.uniforms
            && first.uniform_predicates == other.uniform_predicates;
        assert!(same, "{} differs on {}", instruction.display(0), isa.name());
    }
    first
}

/// As `run_masked` in all lanes.
pub fn run(instruction: &Instruction, warp: &Warp) -> Warp {
    run_masked(instruction, warp, ALL)
}

/// Splits test vectors into warps: calls `check` with the lanes' values, 32 at a time.
pub fn in_warps<T: Copy>(cases: &[T], mut check: impl FnMut(&[T; 32])) {
    for chunk in cases.chunks(32) {
        let mut lanes = [chunk[0]; 32];
        lanes[..chunk.len()].copy_from_slice(chunk);
        check(&lanes);
    }
}

/// Sets a row from lane values.
pub fn set(warp: &mut Warp, row: usize, value: impl Fn(usize) -> u32) {
    warp.registers[row] = Lanes::from_fn(value);
}

/// Sets a pair of rows.
pub fn set_wide(warp: &mut Warp, row: usize, value: impl Fn(usize) -> u64) {
    warp.registers[row] = Lanes::from_fn(|lane| value(lane) as u32);
    warp.registers[row + 1] = Lanes::from_fn(|lane| (value(lane) >> 32) as u32);
}

/// A pair of rows in one lane.
pub fn wide(warp: &Warp, row: usize, lane: usize) -> u64 {
    u64::from(warp.registers[row + 1][lane]) << 32 | u64::from(warp.registers[row][lane])
}

/// Random numbers that are the same each time (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn wide(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn word(&mut self) -> u32 {
        (self.wide() >> 32) as u32
    }
}

/// Integers at which things change.
pub const EDGES: [u32; 16] = [
    0,
    1,
    2,
    3,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0xffff,
    0x1_0000,
    0x5555_5555,
    0xaaaa_aaaa,
    0x0123_4567,
    0x89ab_cdef,
];

/// Every pair of edges and `random` more.
pub fn pairs(random: usize) -> Vec<(u32, u32)> {
    let mut cases: Vec<(u32, u32)> = EDGES
        .iter()
        .flat_map(|&a| EDGES.iter().map(move |&b| (a, b)))
        .collect();
    let mut source = Random::new(1);
    cases.extend((0..random).map(|_| (source.word(), source.word())));
    cases
}

/// Every triple of edges and `random` more.
pub fn triples(random: usize) -> Vec<(u32, u32, u32)> {
    let mut cases: Vec<(u32, u32, u32)> = EDGES
        .iter()
        .flat_map(|&a| {
            EDGES
                .iter()
                .flat_map(move |&b| EDGES.iter().map(move |&c| (a, b, c)))
        })
        .collect();
    let mut source = Random::new(2);
    cases.extend((0..random).map(|_| (source.word(), source.word(), source.word())));
    cases
}
