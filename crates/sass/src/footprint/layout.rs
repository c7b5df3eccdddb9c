//! The layout of each opcode's operands: which are written and how many registers each spans. The walk
//! reads an instruction by it.

use super::matrix::matrix;
use super::texture::{surface, texture};
use super::{Role, hopper};
use crate::instruction::Instruction;
use crate::modifier::Modifier;
use crate::opcode::Opcode;
use crate::operand::Operand;

/// Which of the leading operands are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Head {
    /// None.
    Nothing,
    /// Predicates, one register, predicates: as many as are printed before the first source.
    Register,
    /// Predicates, then one register; what follows is read.
    PredicateRegister,
    /// All leading predicates.
    Predicates,
    /// Exactly two predicates; further ones are sources.
    TwoPredicates,
    /// A register, if printed, and the predicate behind it (VOTE, VOTEU).
    Vote,
    /// Two registers: the upper and the lower half of a texture's result.
    Texture,
    /// A set of predicates (R2P).
    PredicateSet,
    /// A convergence barrier.
    Barrier,
    /// A convergence barrier that is also read (BREAK).
    BarrierUpdate,
}

/// How an opcode's operands are to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) head: Head,
    /// Registers of the result.
    pub(super) result: u8,
    /// Registers of the first, second, … source that is a register, uniform register, literal or
    /// constant; the last entry holds for all further ones.
    pub(super) sources: [u8; 4],
    /// Role of general-register sources.
    pub(super) role: Role,
    /// Registers of the base of an address.
    pub(super) address: u8,
}

pub(super) const fn result(result: u8, sources: [u8; 4]) -> Layout {
    Layout {
        head: Head::Register,
        result,
        sources,
        role: Role::Data,
        address: 1,
    }
}

pub(super) const fn head(head: Head) -> Layout {
    Layout {
        head,
        result: 1,
        sources: [1; 4],
        role: Role::Data,
        address: 1,
    }
}

/// The layout of an instruction.
pub(super) fn layout(instruction: &Instruction) -> Layout {
    use Opcode::*;
    let has = |modifier| instruction.has(modifier);
    let width = data_registers(instruction);
    // `.E`: addresses of 64 bits; a remote address has its barrier's beside it.
    let remote = matches!(instruction.opcode, STAS | REDAS);
    let address = if has(Modifier::E) || remote { 2 } else { 1 };
    let load = Layout {
        address,
        role: Role::Address,
        ..result(width, [1; 4])
    };
    let store = Layout {
        head: Head::Nothing,
        result: 0,
        sources: [width; 4],
        role: Role::StoreData,
        address,
    };
    let word = result(1, [1; 4]);
    let nothing = head(Head::Nothing);
    match instruction.opcode {
        BMSK | BREV | FADD | FFMA | FLO | FMNMX | FMUL | FSEL | HADD2 | HFMA2 | HMNMX2 | HMUL2
        | HSET2 | FSET | I2FP | IABS | IADD3 | IDP | IMNMX | F2FP | F2IP | I2IP | LEA | LOP3
        | MOV | MOVM | MUFU | P2R | POPC | PRMT | SEL | SGXT | SHF | VABSDIFF | VABSDIFF4
        | VIADD | VIADDMNMX | VIMNMX | VIMNMX3 | VHMNMX | CLMAD | FSWZADD | GETLMEMBASE | OUT
        | PIXLD => word,
        ELECT => head(Head::PredicateRegister),
        UBMSK | UBREV | UFLO | UIADD3 | ULEA | ULOP3 | UMOV | UP2UR | UPOPC | UPRMT | USEL
        | USGXT | USHF | R2UR | REDUX | S2UR | S2R | B2R => word,
        IMAD | UIMAD if has(Modifier::WIDE) => result(2, [1, 1, 2, 1]),
        // The high product is taken of factors plus a 64-bit addend.
        IMAD | UIMAD if has(Modifier::HI) => result(1, [1, 1, 2, 1]),
        IMAD | UIMAD => word,
        DADD | DFMA | DMUL => result(2, [2; 4]),
        DSETP => Layout {
            sources: [2; 4],
            ..head(Head::Predicates)
        },
        F2F | F2I | FRND | I2F | I2I => conversion(instruction),
        FCHK | FSETP | HSETP2 | ISETP | UISETP => head(Head::Predicates),
        PLOP3 | UPLOP3 => head(Head::TwoPredicates),
        VOTE | VOTEU => head(Head::Vote),
        R2P | UR2UP => head(Head::PredicateSet),
        CS2R if has(Modifier::N32) => word,
        CS2R | LEPC => result(2, [1; 4]),
        BMMA | DMMA | HMMA | IMMA | QMMA => matrix(instruction),
        SHFL => Layout {
            role: Role::Address,
            ..word
        },
        MATCH => {
            let words = if has(Modifier::U64) { 2 } else { 1 };
            result(1, [words; 4])
        }
        ULDC | LDC => Layout {
            role: Role::Address,
            ..result(width, [1; 4])
        },
        LD | LDG | LDL | LDS => load,
        LDSM => Layout {
            role: Role::Address,
            ..result(matrices(instruction), [1; 4])
        },
        QSPC => Layout {
            address,
            role: Role::Address,
            ..word
        },
        ST | STG | STL | STS | RED | REDG | STAS | REDAS => store,
        STSM => Layout {
            sources: [matrices(instruction); 4],
            ..store
        },
        LDGMC => load,
        ULEPC => result(2, [1; 4]),
        BGMMA | HGMMA | IGMMA | QGMMA => hopper::matrix(instruction),
        UBLKCP | UBLKPF | UBLKRED | UTMACCTL | UTMALDG | UTMAPF | UTMAREDG | UTMASTG => nothing,
        USETMAXREG => head(Head::Predicates),
        UCGABAR_ARV | UCGABAR_WAIT | ACQBULK | PREEXIT | FENCE | UTMACMDFLUSH | WARPGROUP
        | WARPGROUPSET | USETSHMSZ => nothing,
        SYNCS => hopper::shared_barrier(instruction),
        ATOM | ATOMG | ATOMS => Layout {
            result: width,
            head: Head::Register,
            ..store
        },
        LDGSTS => Layout {
            role: Role::Address,
            address,
            ..nothing
        },
        ARRIVES | CCTL | CCTLL => Layout {
            role: Role::Address,
            address,
            ..nothing
        },
        TEX | TLD | TLD4 | TMML | TXD | TXQ => texture(instruction),
        SULD => surface(instruction, load),
        SUATOM | SURED | SUST => surface(instruction, store),
        BAR | WARPSYNC | NANOSLEEP => Layout {
            role: Role::Address,
            ..nothing
        },
        BRA | BPT | DEPBAR | ERRBAR | CGAERRBAR | ENDCOLLECTIVE | EXIT | JMP | KILL | LDGDEPBAR
        | MEMBAR | NOP | PMTRIG | YIELD | BSYNC => nothing,
        // Code addresses are pairs.
        BRX | BRXU | CALL | JMX | RET => Layout {
            sources: [2; 4],
            ..nothing
        },
        BSSY => head(Head::Barrier),
        BREAK => head(Head::BarrierUpdate),
        SETCTAID => nothing,
        RPCMOV | BMOV => match instruction.operands.first() {
            Some(Operand::ConvergenceBarrier(_)) => head(Head::Barrier),
            Some(Operand::Register { .. }) => word,
            _ => nothing,
        },
    }
}

/// Registers of one data operand of a load, store or atomic operation.
pub(super) fn data_registers(instruction: &Instruction) -> u8 {
    let registers = |modifier: &Modifier| match modifier {
        Modifier::N128 | Modifier::F16x8 | Modifier::BF16x8 | Modifier::F32x4 => 4,
        Modifier::N64
        | Modifier::F64
        | Modifier::S64
        | Modifier::U64
        | Modifier::F16x4
        | Modifier::BF16x4
        | Modifier::F32x2 => 2,
        _ => 1,
    };
    let widths = instruction.modifiers.iter().map(registers);
    widths.max().unwrap_or(1)
}

/// Matrices that LDSM loads, one register each.
pub(super) fn matrices(instruction: &Instruction) -> u8 {
    if instruction.has(Modifier::N4) {
        4
    } else if instruction.has(Modifier::N2) {
        2
    } else {
        1
    }
}

/// Conversions name the result type before the source type where both are printed.
pub(super) fn conversion(instruction: &Instruction) -> Layout {
    let words = |modifier: &Modifier| match modifier {
        Modifier::F64 | Modifier::S64 | Modifier::U64 => Some(2),
        Modifier::F32 | Modifier::F16 | Modifier::BF16 => Some(1),
        _ => None,
    };
    let is_float = |modifier: &&Modifier| {
        matches!(
            modifier,
            Modifier::F64 | Modifier::F32 | Modifier::F16 | Modifier::BF16
        )
    };
    let is_integer = |modifier: &&Modifier| matches!(modifier, Modifier::S64 | Modifier::U64);
    let modifiers = &instruction.modifiers;
    let float = modifiers.iter().find(is_float).and_then(words).unwrap_or(1);
    let integer = modifiers
        .iter()
        .find(is_integer)
        .and_then(words)
        .unwrap_or(1);
    match instruction.opcode {
        Opcode::F2I => result(integer, [float; 4]),
        Opcode::I2F => result(float, [integer; 4]),
        Opcode::F2F => {
            let source = modifiers.iter().filter(is_float).nth(1).and_then(words);
            result(float, [source.unwrap_or(1); 4])
        }
        _ => result(float, [float; 4]),
    }
}
