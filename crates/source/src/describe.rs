//! From a decoded instruction to its description for timing: control bits, footprint and class from
//! `sass`, and what only timing wants to know: constant operands looked up at issue, the memory unit's
//! rows, and what issue has to do besides (MODEL.md §2, §7).

use sass::{
    Class, ConstantBank, File, Instruction, Modifier, Opcode, Operand, Register, UniformRegister,
};

use crate::description::{ConstantUse, Description, MemoryKind, MemoryShape, Scope, Special};

/// Numbers of the special registers that read a clock or a timer: SR_CLOCKLO, SR_CLOCKHI and the
/// 64-bit read that starts at SR_CLOCKLO, SR_GLOBALTIMERLO, SR_GLOBALTIMERHI.
const CLOCKS: [u8; 4] = [0x50, 0x51, 0x52, 0x53];

/// Describes `instruction` for the timing model.
pub fn describe(instruction: &Instruction) -> Description {
    let memory = memory(instruction);
    Description {
        control: instruction.control,
        footprint: sass::footprint(instruction),
        class: sass::class(instruction),
        // ULDC has a path of its own, which is not modelled (MODEL.md §7.8).
        constant: match instruction.opcode {
            Opcode::ULDC => None,
            _ if memory.is_some() => None,
            _ => constant(instruction),
        },
        memory,
        special: special(instruction),
    }
}

/// The first constant operand, if it is at a fixed place. Bindless and indexed operands have their
/// bank or offset in registers and are not known before execution.
fn constant(instruction: &Instruction) -> Option<ConstantUse> {
    instruction
        .operands
        .iter()
        .find_map(|operand| match *operand {
            Operand::Constant {
                bank: ConstantBank::Number(bank),
                index,
                uniform_index,
                offset,
                ..
            } if index == Register::ZERO && uniform_index == UniformRegister::ZERO => {
                Some(ConstantUse {
                    bank,
                    offset: offset as u32 & 0xffff,
                })
            }
            _ => None,
        })
}

/// How an instruction meets the memory unit.
fn memory(instruction: &Instruction) -> Option<MemoryShape> {
    use Opcode::*;
    let kind = match instruction.opcode {
        LD | LDG | LDL | TEX | TLD | TLD4 | TMML | TXD | TXQ | SULD => MemoryKind::GlobalLoad,
        ST | STG | STL | RED | REDG | SUST | SURED => MemoryKind::GlobalStore,
        ATOM | ATOMG | SUATOM => MemoryKind::GlobalAtomic,
        LDS => MemoryKind::SharedLoad,
        LDSM => MemoryKind::MatrixLoad,
        STS | STSM => MemoryKind::SharedStore,
        ATOMS | ARRIVES | SYNCS => MemoryKind::SharedAtomic,
        LDC => MemoryKind::ConstantLoad,
        LDGSTS => MemoryKind::CopyToShared,
        CCTL | FENCE | MATCH | MEMBAR | MOVM | QSPC | S2R | SHFL => MemoryKind::Pass,
        _ => return None,
    };
    Some(MemoryShape {
        kind,
        uniform_address: uniform_address(instruction),
        bytes: bytes(instruction),
    })
}

/// Whether no general register takes part in the address.
fn uniform_address(instruction: &Instruction) -> bool {
    instruction.operands.iter().all(|operand| match *operand {
        Operand::Memory { base, .. } => base == Register::ZERO,
        Operand::Constant { index, .. } => index == Register::ZERO,
        _ => true,
    }) && sass::class(instruction) != Class::Texture
}

/// Bytes per lane.
fn bytes(instruction: &Instruction) -> u8 {
    let has = |modifier| instruction.has(modifier);
    if matches!(instruction.opcode, Opcode::LDSM | Opcode::STSM) {
        // Every lane has one register per matrix.
        return if has(Modifier::N4) {
            16
        } else if has(Modifier::N2) {
            8
        } else {
            4
        };
    }
    if sass::class(instruction) == Class::Texture {
        // One register per component; three travel as four.
        let writes = sass::footprint(instruction).writes;
        let registers: u8 = writes
            .iter()
            .filter(|write| write.file == File::General)
            .map(|write| write.count)
            .sum();
        match registers {
            0 => {}
            1 => return 4,
            2 => return 8,
            _ => return 16,
        }
    }
    if has(Modifier::N128) {
        16
    } else if has(Modifier::N64) || has(Modifier::F64) || has(Modifier::S64) || has(Modifier::U64) {
        8
    } else if has(Modifier::U8) || has(Modifier::S8) {
        1
    } else if has(Modifier::U16) || has(Modifier::S16) {
        2
    } else {
        4
    }
}

/// What issue has to do besides the ordinary.
fn special(instruction: &Instruction) -> Special {
    let has = |modifier| instruction.has(modifier);
    match instruction.opcode {
        Opcode::DEPBAR => wait(instruction),
        Opcode::LDGDEPBAR => Special::CommitCopies,
        Opcode::ARRIVES => Special::ArriveCopies,
        Opcode::MEMBAR if has(Modifier::CTA) || has(Modifier::SM) => Special::Fence(Scope::Cta),
        Opcode::MEMBAR if has(Modifier::SYS) => Special::Fence(Scope::System),
        // Forms without scope count as the GPU's (MODEL.md §2.4).
        Opcode::MEMBAR => Special::Fence(Scope::Gpu),
        Opcode::BAR => Special::CtaBarrier {
            deferred: has(Modifier::DEFER_BLOCKING),
        },
        Opcode::ERRBAR | Opcode::CGAERRBAR => Special::ErrorBarrier,
        Opcode::CCTL if has(Modifier::IVALL) => Special::InvalidateL1,
        Opcode::EXIT => Special::Exit,
        Opcode::CS2R | Opcode::S2R | Opcode::S2UR if reads_clock(instruction) => Special::Clock,
        _ => Special::None,
    }
}

fn reads_clock(instruction: &Instruction) -> bool {
    instruction.operands.iter().any(
        |operand| matches!(operand, Operand::SpecialRegister(number) if CLOCKS.contains(number)),
    )
}

/// DEPBAR: `SBx, n {, list}`, or only a list, which is a wait for all of its counters.
fn wait(instruction: &Instruction) -> Special {
    let mut named = None;
    let mut at_most = 0;
    let mut others = 0;
    for operand in &instruction.operands {
        match *operand {
            Operand::Counter(counter) => named = Some(counter),
            Operand::Immediate { bits, .. } => at_most = (bits & 63) as u8,
            Operand::CounterSet(set) => others = set,
            _ => {}
        }
    }
    let first_of_list = || (others != 0).then(|| others.trailing_zeros() as u8);
    match named.or_else(first_of_list) {
        Some(counter) => Special::WaitCounter {
            counter,
            at_most,
            others,
        },
        None => Special::None,
    }
}
