//! Branches, calls, convergence barriers and what else moves the program counter. How lanes part and
//! meet is in `split`.

use sass::{Modifier, Opcode, Operand as Printed};
use source::FaultKind;

use crate::lower::{Lowered, Reader, refuse};
use crate::micro::{Operand, PredicateSource, Wide};
use crate::program::CODE_BASE;
use crate::warp::Warp;

/// Where an indirect jump takes its address from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Register {
    /// A pair of general registers.
    Lanes(u16),
    /// The same for all lanes.
    Scalar(u64),
    /// A pair of uniform registers.
    Uniform(u8),
}

/// Lowered control flow. Program counters are instruction numbers in the code image.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// BRA, CALL.REL to a fixed place.
    Branch {
        target: u32,
        condition: PredicateSource,
        /// BRA.U.ANY: all lanes jump if one would.
        together: bool,
    },
    /// BRA.DIV, BRA.CONV: jumps if not all (or all) lanes of the mask are here.
    BranchIf {
        target: u32,
        condition: PredicateSource,
        mask: Operand,
        invert: bool,
        converged: bool,
    },
    /// BRX, CALL, RET, JMX: `base` is added to the register's byte address in the image.
    Jump {
        register: Register,
        base: i64,
        condition: PredicateSource,
    },
    /// BSSY.
    Arm {
        barrier: u8,
        condition: PredicateSource,
    },
    /// BSYNC.
    Converge {
        barrier: u8,
        condition: PredicateSource,
    },
    /// BREAK.
    Leave {
        barrier: u8,
        condition: PredicateSource,
    },
    /// BMOV from a barrier.
    Save { row: u16, barrier: u8, clear: bool },
    /// BMOV to a barrier.
    Restore { barrier: u8, mask: Operand },
    /// BMOV from MACTIVE to a barrier.
    KeepActive { barrier: u8 },
    /// BMOV from MACTIVE to a register.
    ReadActive { row: u16 },
    /// BMOV to MACTIVE; `.PQUAD` completes the quads of its lanes.
    Activate { mask: Mask, quads: bool },
    /// WARPSYNC.
    Synchronize {
        mask: Operand,
        condition: PredicateSource,
    },
    /// YIELD.
    Yield { condition: PredicateSource },
    /// EXIT, KILL.
    Exit { condition: PredicateSource },
    /// LEPC.
    Address { row: u16, address: u64 },
    /// BPT.TRAP.
    Trap,
    /// NANOSLEEP.
    Sleep { nanoseconds: Operand },
}

/// A mask of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mask {
    Barrier(u8),
    Value(Operand),
}

/// All lanes of the quads that `lanes` lie in.
fn quads_of(lanes: u32) -> u32 {
    let pairs = lanes | lanes >> 1;
    let first = (pairs | pairs >> 2) & 0x1111_1111;
    first * 0xf
}

/// A target that lies outside the image or between instructions.
const NOWHERE: u32 = u32::MAX;

fn fixed(bytes: i64) -> u32 {
    if bytes >= 0 && bytes % 16 == 0 && bytes / 16 < i64::from(NOWHERE) {
        (bytes / 16) as u32
    } else {
        NOWHERE
    }
}

/// Lowers an instruction that moves the program counter.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let next = r.next_address();
    // LEPC and BMOV have no condition of their own.
    let condition = match opcode {
        Opcode::LEPC | Opcode::BMOV | Opcode::BPT => PredicateSource::TRUE,
        _ => r.predicate_source_or(PredicateSource::TRUE)?,
    };
    Ok(match opcode {
        Opcode::BRA => {
            r.only(&[U, DIV, CONV, INC, DEC, ANY])?;
            if r.has(DIV) || r.has(CONV) {
                let (mask, invert) = match r.peek() {
                    // Turing names no mask: all lanes.
                    Some(Printed::Target(_)) => (Operand::Scalar(0), true),
                    _ => r.negatable_source()?,
                };
                let target = fixed(next + r.code_offset()?);
                Op::BranchIf {
                    target,
                    condition,
                    mask,
                    invert,
                    converged: r.has(CONV),
                }
            } else {
                Op::Branch {
                    target: fixed(next + r.code_offset()?),
                    condition,
                    together: r.has(ANY),
                }
            }
        }
        Opcode::BRX | Opcode::BRXU => {
            r.only(&[INC, DEC, U])?;
            let register = register(r)?;
            Op::Jump {
                register,
                base: next + addend(r)?,
                condition,
            }
        }
        Opcode::JMX => {
            r.only(&[INC, DEC])?;
            let register = register(r)?;
            Op::Jump {
                register,
                base: addend(r)? - CODE_BASE as i64,
                condition,
            }
        }
        Opcode::JMP => {
            r.only(&[INC, DEC, U])?;
            let address = r.code_offset()?;
            Op::Jump {
                register: Register::Scalar(0),
                base: address - CODE_BASE as i64,
                condition,
            }
        }
        Opcode::CALL | Opcode::RET => {
            r.only(&[ABS, REL, NOINC, NODEC])?;
            let relative = r.has(REL);
            let register = match r.peek() {
                Some(Printed::Register { .. } | Printed::Constant { .. }) => register(r)?,
                _ => Register::Scalar(0),
            };
            let addend = addend(r)?;
            match (relative, register) {
                (true, Register::Scalar(0)) => Op::Branch {
                    target: fixed(next + addend),
                    condition,
                    together: false,
                },
                (true, _) => Op::Jump {
                    register,
                    base: next + addend,
                    condition,
                },
                (false, _) => Op::Jump {
                    register,
                    base: addend - CODE_BASE as i64,
                    condition,
                },
            }
        }
        Opcode::BSSY => {
            r.only(&[])?;
            let barrier = r.convergence_barrier()?;
            // Where the lanes meet follows from the BSYNC; the target is a hint.
            r.code_offset()?;
            Op::Arm { barrier, condition }
        }
        Opcode::BSYNC => {
            r.only(&[])?;
            Op::Converge {
                barrier: r.convergence_barrier()?,
                condition,
            }
        }
        Opcode::BREAK => {
            r.only(&[])?;
            Op::Leave {
                barrier: r.convergence_barrier()?,
                condition,
            }
        }
        Opcode::BMOV => {
            r.only(&[N32, CLEAR, PQUAD])?;
            return barrier_move(r);
        }
        Opcode::WARPSYNC => {
            // `.EXCLUSIVE`: the lanes run on without interruption, as splits do here anyway.
            // `.COLLECTIVE`: the lanes run together up to ENDCOLLECTIVE, behind which the target
            // lies: as they do here without it.
            r.only(&[EXCLUSIVE, ALL, COLLECTIVE])?;
            let mask = if r.has(ALL) {
                Operand::Scalar(u32::MAX)
            } else {
                r.plain_source()?
            };
            if r.has(COLLECTIVE) {
                r.code_offset()?;
            }
            Op::Synchronize { mask, condition }
        }
        Opcode::YIELD => {
            r.only(&[])?;
            Op::Yield { condition }
        }
        Opcode::EXIT | Opcode::KILL => {
            r.only(&[KEEPREFCOUNT, NO_ATEXIT, PREEMPTED])?;
            Op::Exit { condition }
        }
        Opcode::LEPC => {
            r.only(&[])?;
            let row = r.destination(2)?;
            // Its own address, or from sm_90 on the one that a target names.
            let at = match r.peek() {
                Some(_) => next + r.code_offset()?,
                None => next - 16,
            };
            Op::Address {
                row,
                address: CODE_BASE.wrapping_add(at as u64),
            }
        }
        Opcode::BPT => {
            r.only(&[TRAP])?;
            if !r.has(TRAP) {
                return refuse("BPT other than .TRAP");
            }
            while r.peek().is_some() {
                r.skip();
            }
            Op::Trap
        }
        Opcode::NANOSLEEP => {
            r.only(&[WARP, RAND, SYNCS])?;
            let nanoseconds = r.plain_source()?;
            // `.SYNCS` ends with the phase that the SYNCS before it looked at; the time is a limit, and
            // the program looks again.
            if r.has(SYNCS) {
                let nanoseconds = Operand::Scalar(0);
                Op::Sleep { nanoseconds }
            } else {
                Op::Sleep { nanoseconds }
            }
        }
        other => return refuse(format!("{} is not control flow", other.text())),
    })
}

/// The part of the warp's state that the next operand names, if it names one.
fn state<'a>(r: &mut Reader<'a>) -> Lowered<Option<&'a str>> {
    let Some(Printed::Keyword(name)) = r.peek() else {
        return Ok(None);
    };
    r.skip();
    if *name != "MACTIVE" {
        return refuse("a part of the warp's state other than MACTIVE");
    }
    Ok(Some(name))
}

/// BMOV.
fn barrier_move(r: &mut Reader<'_>) -> Lowered<Op> {
    let quads = r.has(Modifier::PQUAD);
    let at_barrier = |r: &Reader<'_>| matches!(r.peek(), Some(Printed::ConvergenceBarrier(_)));
    if state(r)?.is_some() {
        let mask = if at_barrier(r) {
            Mask::Barrier(r.convergence_barrier()?)
        } else {
            Mask::Value(r.plain_source()?)
        };
        return Ok(Op::Activate { mask, quads });
    }
    if quads {
        return refuse("quads of a convergence barrier");
    }
    if at_barrier(r) {
        let barrier = r.convergence_barrier()?;
        return Ok(match state(r)? {
            Some(_) => Op::KeepActive { barrier },
            None => Op::Restore {
                barrier,
                mask: r.plain_source()?,
            },
        });
    }
    let row = r.destination(1)?;
    Ok(match state(r)? {
        Some(_) => Op::ReadActive { row },
        None => Op::Save {
            row,
            barrier: r.convergence_barrier()?,
            clear: r.has(Modifier::CLEAR),
        },
    })
}

fn register(r: &mut Reader<'_>) -> Lowered<Register> {
    let (wide, adjust) = r.wide_source(false)?;
    if adjust != sass::Adjust::default() {
        return refuse("a sign of a jump's register");
    }
    Ok(match wide {
        Wide::Register(row) => Register::Lanes(row),
        Wide::Scalar(low, high) => Register::Scalar(u64::from(high) << 32 | u64::from(low)),
        Wide::Uniform(number) => Register::Uniform(number),
    })
}

fn addend(r: &mut Reader<'_>) -> Lowered<i64> {
    if r.peek().is_some() {
        r.code_offset()
    } else {
        Ok(0)
    }
}

/// What a control-flow instruction did besides moving lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// Nothing.
    Moved,
    /// These lanes exited.
    Exited(u32),
    /// The warp sleeps.
    Sleep(u64),
    /// These lanes jump to `base` and the register, some of them out of the code: the machine looks
    /// for functions that the system provides. No lane has moved.
    Service { lanes: u32 },
}

/// Executes control flow: `pc` is the instruction's own, `lanes` those whose guard holds.
///
/// # Errors
/// The lane and what it did.
pub(crate) fn execute(
    op: &Op,
    warp: &mut Warp,
    pc: u32,
    lanes: u32,
    code: u32,
) -> Result<Outcome, (u8, FaultKind)> {
    let next = pc + 1;
    if warp.splits.helpers != 0 && !matches!(op, Op::Activate { .. } | Op::ReadActive { .. }) {
        let text = "control flow while lanes of other places complete quads";
        return Err((
            warp.splits.active.trailing_zeros() as u8,
            FaultKind::Unsupported(text.to_owned()),
        ));
    }
    match *op {
        Op::Branch {
            target,
            condition,
            together,
        } => {
            let mut taken = lanes & warp.predicate(condition);
            if together && taken != 0 {
                taken = warp.splits.active;
            }
            if taken != 0 && target >= code {
                return Err((taken.trailing_zeros() as u8, FaultKind::IllegalPc));
            }
            warp.splits.branch(taken, target, next);
        }
        Op::BranchIf {
            target,
            condition,
            mask,
            invert,
            converged,
        } => {
            let mask = warp.fetch_scalar(mask) ^ 0u32.wrapping_sub(invert as u32);
            let here = mask & warp.splits.live & !lanes == 0;
            let taken = if here == converged {
                lanes & warp.predicate(condition)
            } else {
                0
            };
            if taken != 0 && target >= code {
                return Err((taken.trailing_zeros() as u8, FaultKind::IllegalPc));
            }
            warp.splits.branch(taken, target, next);
        }
        Op::Jump {
            register,
            base,
            condition,
        } => {
            let taken = lanes & warp.predicate(condition);
            let mut targets = [NOWHERE; 32];
            let mut same = true;
            let first = taken.trailing_zeros() as usize;
            for lane in crate::lanes::lanes_of(taken) {
                let address = jump_address(register, base, warp, lane);
                let target = fixed(address);
                if target >= code {
                    return Ok(Outcome::Service { lanes: taken });
                }
                targets[lane] = target;
                same &= target == targets[first];
            }
            if taken == 0 || same {
                let target = if taken == 0 { next } else { targets[first] };
                warp.splits.branch(taken, target, next);
            } else {
                warp.splits.scatter(&targets, taken, next);
            }
        }
        Op::Arm { barrier, condition } => {
            let lanes = lanes & warp.predicate(condition);
            if lanes != 0 {
                warp.splits.arm(barrier, lanes);
            }
            warp.splits.advance(next);
        }
        Op::Converge { barrier, condition } => {
            let lanes = lanes & warp.predicate(condition);
            warp.splits.converge(barrier, lanes, next);
        }
        Op::Leave { barrier, condition } => {
            let lanes = lanes & warp.predicate(condition);
            warp.splits.advance(next);
            warp.splits.leave(barrier, lanes);
        }
        Op::Save {
            row,
            barrier,
            clear,
        } => {
            let mask = warp.splits.barriers[barrier as usize & 15];
            warp.write(row, &crate::lanes::Lanes::splat(mask), lanes);
            if clear && lanes != 0 {
                warp.splits.barriers[barrier as usize & 15] = 0;
            }
            warp.splits.advance(next);
        }
        Op::Restore { barrier, mask } => {
            if lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                let mask = warp.fetch(mask)[lane] & warp.splits.live;
                warp.splits.arm(barrier, mask);
            }
            warp.splits.advance(next);
        }
        Op::KeepActive { barrier } => {
            if lanes != 0 {
                warp.splits.arm(barrier, warp.splits.active);
            }
            warp.splits.advance(next);
        }
        Op::ReadActive { row } => {
            let active = warp.splits.active;
            warp.write(row, &crate::lanes::Lanes::splat(active), lanes);
            warp.splits.advance(next);
        }
        Op::Activate { mask, quads } => {
            if lanes != 0 {
                let lane = lanes.trailing_zeros();
                let mask = match mask {
                    Mask::Barrier(barrier) => warp.splits.barriers[barrier as usize & 15],
                    Mask::Value(operand) => warp.fetch(operand)[lane as usize],
                };
                let mask = if quads { quads_of(mask) } else { mask };
                if !warp.splits.activate(mask) {
                    let text = "MACTIVE without a lane that is there";
                    return Err((lane as u8, FaultKind::Unsupported(text.to_owned())));
                }
            }
            warp.splits.advance(next);
        }
        Op::Synchronize { mask, condition } => {
            let lanes = lanes & warp.predicate(condition);
            if lanes == 0 {
                warp.splits.advance(next);
            } else {
                let lane = lanes.trailing_zeros() as usize;
                let mask = warp.fetch(mask)[lane];
                warp.splits.synchronize(mask, lanes, next);
            }
        }
        Op::Yield { condition } => {
            if lanes & warp.predicate(condition) == 0 {
                warp.splits.advance(next);
            } else {
                warp.splits.yield_turn(next);
            }
        }
        Op::Exit { condition } => {
            let lanes = lanes & warp.predicate(condition);
            warp.splits.exit(lanes, next);
            return Ok(Outcome::Exited(lanes));
        }
        Op::Address { row, address } => {
            warp.write(row, &crate::lanes::Lanes::splat(address as u32), lanes);
            warp.write(
                row + 1,
                &crate::lanes::Lanes::splat((address >> 32) as u32),
                lanes,
            );
            warp.splits.advance(next);
        }
        Op::Trap => {
            if lanes != 0 {
                return Err((
                    lanes.trailing_zeros() as u8,
                    FaultKind::Trap("BPT.TRAP".to_owned()),
                ));
            }
            warp.splits.advance(next);
        }
        Op::Sleep { nanoseconds } => {
            if lanes == 0 {
                warp.splits.advance(next);
            } else {
                // Who sleeps lets others go first: the compiler puts no YIELD into such a loop.
                warp.splits.yield_turn(next);
                let lane = lanes.trailing_zeros() as usize;
                return Ok(Outcome::Sleep(u64::from(warp.fetch(nanoseconds)[lane])));
            }
        }
    }
    Ok(Outcome::Moved)
}

/// Byte address in the code image that a lane of an indirect jump goes to.
#[inline(always)]
fn jump_address(register: Register, base: i64, warp: &Warp, lane: usize) -> i64 {
    let address = match register {
        Register::Lanes(row) => {
            let low = warp.registers[row as usize][lane];
            let high = warp.registers[row as usize + 1][lane];
            u64::from(high) << 32 | u64::from(low)
        }
        Register::Scalar(value) => value,
        Register::Uniform(number) => {
            let low = warp.uniforms[number as usize & 63];
            let high = warp.uniforms[(number as usize + 1) & 63];
            u64::from(high) << 32 | u64::from(low)
        }
    };
    address.wrapping_add(base as u64) as i64
}

/// Code address that a lane of a jump goes to.
pub(crate) fn jump_target(op: &Op, warp: &Warp, lane: usize) -> u64 {
    match *op {
        Op::Jump { register, base, .. } => {
            (jump_address(register, base, warp, lane) as u64).wrapping_add(CODE_BASE)
        }
        _ => 0,
    }
}

/// Instruction number in the image of a code address; out of every image if it is none.
pub(crate) fn number_of(address: u64) -> u32 {
    fixed(address.wrapping_sub(CODE_BASE) as i64)
}
