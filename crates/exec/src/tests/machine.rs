//! A launch of hand-written instructions, for tests of control flow, memory and order.

use std::sync::Arc;

use sass::{
    Guard, Instruction, Modifier as M, Opcode, Operand, Predicate, Register, Select,
    UniformRegister,
};

use super::{imm, instruction, r};
use crate::functional::{self, FunctionalStatistics, RunFault};
use crate::launch::{Launch, LaunchOptions, UnknownOp};
use crate::lower::{Context, lower};
use crate::micro::{Micro, Op, PredicateSource};
use crate::{GlobalMemory, Module, Program};

/// Where the first buffer of a test lies.
pub const FIRST: u64 = 0x7f_0000_0000;

/// The committed vadd kernel, whose place the instructions take.
pub fn kernel() -> (cubin::Cubin, Arc<Module>) {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../kernels/vadd/vadd.sm_86.cubin"
    );
    let cubin = cubin::Cubin::parse(&std::fs::read(path).unwrap()).unwrap();
    let module = Arc::new(Module::load(&cubin, &mut GlobalMemory::new()).unwrap());
    (cubin, module)
}

/// A launch of `code` with one warp's or several warps' block; no parameters matter.
pub fn launch_with(
    code: &[Instruction],
    grid: [u32; 3],
    block: [u32; 3],
    options: LaunchOptions,
) -> Arc<Launch> {
    let (cubin, module) = kernel();
    let program = Arc::new(Program::load(&cubin, "vadd", module).unwrap());
    assert_eq!(program.entry().0, 0);
    let unknown_op = options.unknown_op;
    let mut launch = Launch::new(program, grid, block, &[0; 28], options).unwrap();
    launch.set_local_bytes(256);
    launch.registers = 64;
    launch.refusals.clear();
    launch.code = code
        .iter()
        .enumerate()
        .map(|(pc, instruction)| {
            let context = Context {
                pc: pc as u32,
                registers: 64,
                banks: &launch.banks,
            };
            lower(instruction, context).unwrap_or_else(|refusal| {
                assert_eq!(unknown_op, UnknownOp::Nop, "{refusal}");
                launch.refusals.push(refusal.0);
                Micro {
                    op: Op::Refused(0),
                    guard: PredicateSource::TRUE,
                }
            })
        })
        .collect();
    Arc::new(launch)
}

/// Runs `code` in functional mode.
pub fn run_code(
    code: &[Instruction],
    block: [u32; 3],
    memory: &mut GlobalMemory,
) -> Result<FunctionalStatistics, RunFault> {
    let options = LaunchOptions {
        dynamic_shared: 1024,
        reserved_shared: 1024,
        ..Default::default()
    };
    functional::run(
        &launch_with(code, [1, 1, 1], block, options),
        memory,
        100_000,
    )
}

/// `@P{number}` or `@!P{number}`.
pub fn when(number: u8, negate: bool, mut i: Instruction) -> Instruction {
    i.guard = Guard {
        predicate: Predicate(number),
        negate,
        uniform: false,
    };
    i
}

/// An instruction without suffixes.
pub fn op(opcode: Opcode, operands: &[Operand]) -> Instruction {
    instruction(opcode, &[], operands)
}

/// A jump from instruction `from` to instruction `to`.
pub fn target(from: usize, to: usize) -> Operand {
    Operand::Target((to as i64 - from as i64 - 1) * 16)
}

pub fn barrier(number: u8) -> Operand {
    Operand::ConvergenceBarrier(number)
}

pub fn tid(row: u8) -> Instruction {
    op(Opcode::S2R, &[r(row), Operand::SpecialRegister(33)])
}

pub fn exit() -> Instruction {
    op(Opcode::EXIT, &[])
}

pub fn mov(row: u8, value: u32) -> Instruction {
    op(Opcode::MOV, &[r(row), imm(value)])
}

/// `[R{base}.64 + offset]`, or `[offset]` without a base.
pub fn at(base: u8, offset: i32) -> Operand {
    Operand::Memory {
        base: Register(base),
        base_select: Select::None,
        uniform: UniformRegister::ZERO,
        uniform_select: Select::None,
        descriptor: None,
        offset,
    }
}

/// Puts `FIRST + 4 · R{index}` into R{row}, R{row + 1}.
pub fn pointer(row: u8, index: u8) -> Vec<Instruction> {
    vec![
        mov(row, FIRST as u32),
        mov(row + 1, (FIRST >> 32) as u32),
        instruction(
            Opcode::IMAD,
            &[M::WIDE, M::U32],
            &[r(row), r(index), imm(4), r(row)],
        ),
    ]
}

/// Stores R{value} to word R{index} of the first buffer; uses R40 and R41.
pub fn store(index: u8, value: u8) -> Vec<Instruction> {
    let mut code = pointer(40, index);
    code.push(instruction(Opcode::STG, &[M::E], &[at(40, 0), r(value)]));
    code
}

/// Words of the first buffer.
pub fn words(memory: &GlobalMemory, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    memory.read(FIRST, &mut bytes).unwrap();
    bytes
        .chunks_exact(4)
        .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
        .collect()
}

/// Memory whose first buffer has `count` words.
pub fn memory(count: u64) -> GlobalMemory {
    let mut memory = GlobalMemory::new();
    assert_eq!(memory.allocate(4 * count, "first").unwrap(), FIRST);
    memory
}

/// Concatenates pieces of code.
pub fn code(parts: Vec<Vec<Instruction>>) -> Vec<Instruction> {
    parts.into_iter().flatten().collect()
}
