//! Latency classes: the row and column of a GPU's latency tables (`gpus/latency/`) that an
//! instruction, or one of its operands, belongs to.
//!
//! Classes are fine enough for two tables. The *distance* table says how many issue cycles must lie
//! between a producer and its reader (the pipe categories of Mesa NAK's sm80_instr_latencies.rs,
//! which come from the vendor); the *unit* table says which execution unit takes the instruction and
//! for how long (MODEL.md §6). No number stands here.

use crate::instruction::Instruction;
use crate::modifier::Modifier;
use crate::opcode::Opcode;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident)*) => {
        /// A latency class.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Class { $($(#[$doc])* $name),* }

        impl Class {
            /// All classes; a class's index here is its row in a loaded latency table.
            pub const ALL: &'static [Class] = &[$(Class::$name),*];

            /// The names of [`Class::ALL`], in the same order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The name used in the latency tables.
            pub const fn name(self) -> &'static str {
                Class::NAMES[self as usize]
            }
        }
    };
}

classes! {
    // Fixed latency, general registers.
    /// Integer and logic on the ALU: IADD3, LOP3, SHF, LEA, ISETP, MOV, SEL, PRMT, PLOP3, I2FP, F2FP
    /// and the like, CS2R.32.
    CoupledAlu
    /// Single-precision comparison and selection (FSETP, FSEL, FMNMX): the distances of the ALU.
    CoupledAluFloat
    /// CS2R of 64 bits, LEPC: a pair written one register after the other.
    CoupledDisp64
    /// FADD, FMUL, FFMA.
    CoupledFma
    /// IMAD in all 32-bit forms, IDP, and VIADD, which runs beside them.
    Imad
    /// IMAD.WIDE and IMAD.HI; as operand class their factors.
    ImadWide
    /// Operand class: low half of IMAD.WIDE's result and of its 64-bit addend.
    ImadWideLow
    /// Operand class: high half of IMAD.WIDE's result (the result of IMAD.HI) and of its addend.
    ImadWideHigh
    /// HADD2, HMUL2, HFMA2.
    Fp16
    /// HSET2, HSETP2, HMNMX2.
    Fp16Alu
    /// HADD2.F32: half to single.
    Fp16F32
    /// HFMA2.MMA and its kin: half precision on the tensor path.
    Hfma2Mma
    /// DADD, DMUL, DFMA, DSETP: fixed latency where every sub-core has an FP64 unit (GA100), variable
    /// where the SM shares one.
    RedirectedFp64

    // Tensor core: one class per shape and type.
    /// HMMA.1688 with half accumulator.
    Hmma1688F16
    /// HMMA.1688 with single accumulator.
    Hmma1688F32
    /// HMMA.1688 on bfloats.
    Hmma1688Bf16
    /// HMMA.16816 with half accumulator.
    Hmma16816F16
    /// HMMA.16816 with single accumulator.
    Hmma16816F32
    /// HMMA.16816 on bfloats.
    Hmma16816Bf16
    /// HMMA.1684 on TF32.
    Hmma1684Tf32
    /// HMMA.1688 on TF32.
    Hmma1688Tf32
    /// HMMA.SP.16816 with half accumulator.
    HmmaSparse16816F16
    /// HMMA.SP.16816 with single accumulator.
    HmmaSparse16816F32
    /// HMMA.SP.16816 on bfloats.
    HmmaSparse16816Bf16
    /// HMMA.SP.16832 with half accumulator.
    HmmaSparse16832F16
    /// HMMA.SP.16832 with single accumulator.
    HmmaSparse16832F32
    /// HMMA.SP.16832 on bfloats.
    HmmaSparse16832Bf16
    /// HMMA.SP.1688 on TF32.
    HmmaSparse1688Tf32
    /// HMMA.SP.16816 on TF32.
    HmmaSparse16816Tf32
    /// IMMA.8816 on bytes.
    Imma8816S8
    /// IMMA.16816 on bytes.
    Imma16816S8
    /// IMMA.16832 on bytes.
    Imma16832S8
    /// IMMA.8832 on nibbles.
    Imma8832S4
    /// IMMA.16832 on nibbles.
    Imma16832S4
    /// IMMA.16864 on nibbles.
    Imma16864S4
    /// IMMA.SP.16832 on bytes.
    ImmaSparse16832S8
    /// IMMA.SP.16864 on bytes.
    ImmaSparse16864S8
    /// IMMA.SP.16864 on nibbles.
    ImmaSparse16864S4
    /// IMMA.SP.168128 on nibbles.
    ImmaSparse168128S4
    /// BMMA.88128.
    Bmma88128
    /// BMMA.168128.
    Bmma168128
    /// BMMA.168256.
    Bmma168256
    /// QMMA.16832 (8-bit floats) with half accumulator.
    Qmma16832F16
    /// QMMA.16832 with single accumulator.
    Qmma16832F32
    /// QMMA.16816 with half accumulator.
    Qmma16816F16
    /// QMMA.16816 with single accumulator.
    Qmma16816F32
    /// QMMA.SP.16864 with half accumulator.
    QmmaSparse16864F16
    /// QMMA.SP.16864 with single accumulator.
    QmmaSparse16864F32
    /// DMMA.884, DMMA.8x8x4.
    Dmma884
    /// DMMA.16x8x4.
    Dmma1684
    /// DMMA.16x8x8.
    Dmma1688
    /// DMMA.16x8x16.
    Dmma16816
    /// One step of HMMA.884 with half result.
    Hmma884F16
    /// One step of HMMA.884 with single result.
    Hmma884F32
    /// MOVM: transposition of a matrix fragment.
    Movm

    // Uniform datapath.
    /// UIADD3, ULOP3, ULEA, USHF, UIMAD, UISETP, USEL, UPLOP3 and the like.
    UniformAlu
    /// ULDC.
    UniformLoadConstant
    /// UMOV.
    UniformMove
    /// VOTEU.
    VoteUniform
    /// R2UR.
    RegisterToUniform
    /// REDUX.
    Redux
    /// S2UR.
    SpecialToUniform
    /// Operand class: the uniform registers that name the bank of a bindless constant.
    Bindless

    // Votes, control flow and what needs no unit of its own.
    /// VOTE.
    Vote
    /// BRA, BRX, BRXU, JMP, JMX.
    Branch
    /// BSSY, BSYNC, BREAK, WARPSYNC, YIELD.
    Convergence
    /// BMOV.
    BarrierMove
    /// CALL, RET.
    Call
    /// EXIT, KILL, BPT.
    Exit
    /// NOP, PMTRIG.
    Nop
    /// BAR.
    CtaBarrier
    /// B2R.
    BarrierResult
    /// DEPBAR, LDGDEPBAR.
    DependenceBarrier
    /// NANOSLEEP.
    Sleep
    /// ERRBAR.
    ErrorBarrier

    // Variable latency outside the memory unit.
    /// MUFU.
    SpecialFunction
    /// F2F, F2I, I2F, I2I, FRND without 64-bit types.
    Conversion
    /// F2F, F2I, I2F, FRND from or to 64-bit types.
    Conversion64
    /// POPC, FLO, BREV.
    BitScan
    /// FCHK.
    DivisionCheck

    // Memory unit.
    /// Loads, stores, atomics and copies of all spaces.
    Memory
    /// SYNCS: barriers in shared memory, which take their address as other decoupled units do.
    SharedBarrier
    /// LDC.
    LoadConstant
    /// Textures and surfaces.
    Texture
    /// SHFL.
    Shuffle
    /// MATCH.
    Match
    /// S2R.
    SpecialRegister
    /// QSPC.
    QuerySpace
    /// MEMBAR.
    Fence
    /// CCTL, CCTLL.
    CacheControl

    // Hopper's units, which no table times yet: their rows stand for their issue alone.
    /// HGMMA, IGMMA, QGMMA, BGMMA: matrices of a warp group.
    WarpGroupMatrix
    /// WARPGROUP, WARPGROUPSET, USETMAXREG, USETSHMSZ.
    WarpGroup
    /// UTMA… and UBLK…: copies of tensors and blocks.
    TensorMap
    /// UCGABAR_ARV, UCGABAR_WAIT, ACQBULK, PREEXIT.
    ClusterBarrier
}

impl Class {
    /// The class of a given name.
    pub fn from_name(name: &str) -> Option<Class> {
        let index = Class::NAMES.iter().position(|&known| known == name)?;
        Class::ALL.get(index).copied()
    }

    /// Its row in a table that was loaded for [`Class::NAMES`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The class of `instruction`: its row of the unit table.
pub fn class(instruction: &Instruction) -> Class {
    use Opcode::*;
    let has = |modifier| instruction.has(modifier);
    let wide = || has(Modifier::F64) || has(Modifier::S64) || has(Modifier::U64);
    let on_tensor_path = |otherwise| {
        if has(Modifier::MMA) {
            Class::Hfma2Mma
        } else {
            otherwise
        }
    };
    match instruction.opcode {
        BMSK | F2FP | F2IP | I2FP | I2IP | IABS | IADD3 | IMNMX | ISETP | LEA | LOP3 | MOV
        | P2R | PLOP3 | PRMT | R2P | SEL | SGXT | SHF | VABSDIFF | VABSDIFF4 | VIADDMNMX
        | VIMNMX | VIMNMX3 => Class::CoupledAlu,
        FMNMX | FSEL | FSET | FSETP => Class::CoupledAluFloat,
        CS2R if has(Modifier::N32) => Class::CoupledAlu,
        CS2R | LEPC => Class::CoupledDisp64,
        FADD | FFMA | FMUL | FSWZADD => Class::CoupledFma,
        IDP | CLMAD | VIADD => Class::Imad,
        IMAD if has(Modifier::WIDE) || has(Modifier::HI) => Class::ImadWide,
        IMAD => Class::Imad,
        HADD2 if has(Modifier::F32) => Class::Fp16F32,
        HADD2 | HFMA2 | HMUL2 => on_tensor_path(Class::Fp16),
        HMNMX2 | HSET2 | HSETP2 | VHMNMX => Class::Fp16Alu,
        DADD | DFMA | DMUL | DSETP => Class::RedirectedFp64,
        HMMA => half_matrix(instruction),
        IMMA => integer_matrix(instruction),
        BMMA => match shape(instruction) {
            (8, _) => Class::Bmma88128,
            (_, 128) => Class::Bmma168128,
            _ => Class::Bmma168256,
        },
        QMMA => quarter_matrix(instruction),
        DMMA => match shape(instruction) {
            (8, _) => Class::Dmma884,
            (_, 4) => Class::Dmma1684,
            (_, 8) => Class::Dmma1688,
            _ => Class::Dmma16816,
        },
        MOVM => Class::Movm,
        UBMSK | UBREV | UFLO | UIADD3 | UIMAD | UISETP | ULEA | ULOP3 | UP2UR | UPLOP3 | UPOPC
        | UPRMT | USEL | USGXT | USHF | ULEPC | UR2UP => Class::UniformAlu,
        BGMMA | HGMMA | IGMMA | QGMMA => Class::WarpGroupMatrix,
        WARPGROUP | WARPGROUPSET | USETMAXREG | USETSHMSZ => Class::WarpGroup,
        UBLKCP | UBLKPF | UBLKRED | UTMACCTL | UTMACMDFLUSH | UTMALDG | UTMAPF | UTMAREDG
        | UTMASTG => Class::TensorMap,
        UCGABAR_ARV | UCGABAR_WAIT | ACQBULK | PREEXIT => Class::ClusterBarrier,
        ULDC => Class::UniformLoadConstant,
        UMOV => Class::UniformMove,
        VOTEU | ELECT => Class::VoteUniform,
        R2UR => Class::RegisterToUniform,
        REDUX => Class::Redux,
        S2UR => Class::SpecialToUniform,
        VOTE => Class::Vote,
        BRA | BRX | BRXU | JMP | JMX => Class::Branch,
        BREAK | BSSY | BSYNC | ENDCOLLECTIVE | WARPSYNC | YIELD => Class::Convergence,
        BMOV => Class::BarrierMove,
        // Compiled code waits for no counter and keeps the distances of the ALU.
        RPCMOV => Class::CoupledAlu,
        CALL | RET => Class::Call,
        BPT | EXIT | KILL => Class::Exit,
        NOP | PMTRIG | SETCTAID => Class::Nop,
        BAR => Class::CtaBarrier,
        B2R => Class::BarrierResult,
        DEPBAR | LDGDEPBAR => Class::DependenceBarrier,
        NANOSLEEP => Class::Sleep,
        CGAERRBAR | ERRBAR => Class::ErrorBarrier,
        MUFU => Class::SpecialFunction,
        F2F | F2I | FRND | I2F if wide() => Class::Conversion64,
        F2F | F2I | FRND | I2F | I2I => Class::Conversion,
        BREV | FLO | POPC => Class::BitScan,
        FCHK => Class::DivisionCheck,
        ARRIVES | ATOM | ATOMG | ATOMS | LD | LDG | LDGSTS | LDL | LDS | LDSM | RED | REDG | ST
        | STG | STL | STS | STSM | STAS | REDAS | LDGMC | OUT | PIXLD => Class::Memory,
        SYNCS => Class::SharedBarrier,
        LDC => Class::LoadConstant,
        SUATOM | SULD | SURED | SUST | TEX | TLD | TLD4 | TMML | TXD | TXQ => Class::Texture,
        SHFL => Class::Shuffle,
        MATCH => Class::Match,
        S2R | GETLMEMBASE => Class::SpecialRegister,
        QSPC => Class::QuerySpace,
        MEMBAR | FENCE => Class::Fence,
        CCTL | CCTLL => Class::CacheControl,
    }
}

/// Class of HMMA by shape, factor type and accumulator.
fn half_matrix(instruction: &Instruction) -> Class {
    let sparse = instruction.has(Modifier::SP);
    let single = instruction.has(Modifier::F32);
    let (_, depth) = shape(instruction);
    if instruction.has(Modifier::TF32) {
        return match (sparse, depth) {
            (false, 4) => Class::Hmma1684Tf32,
            (false, _) => Class::Hmma1688Tf32,
            (true, 8) => Class::HmmaSparse1688Tf32,
            (true, _) => Class::HmmaSparse16816Tf32,
        };
    }
    if instruction.has(Modifier::BF16) {
        return match (sparse, depth) {
            (false, 8) => Class::Hmma1688Bf16,
            (false, _) => Class::Hmma16816Bf16,
            (true, 16) => Class::HmmaSparse16816Bf16,
            (true, _) => Class::HmmaSparse16832Bf16,
        };
    }
    match (sparse, depth, single) {
        (false, 4, false) => Class::Hmma884F16,
        (false, 4, true) => Class::Hmma884F32,
        (false, 8, false) => Class::Hmma1688F16,
        (false, 8, true) => Class::Hmma1688F32,
        (false, _, false) => Class::Hmma16816F16,
        (false, _, true) => Class::Hmma16816F32,
        (true, 16, false) => Class::HmmaSparse16816F16,
        (true, 16, true) => Class::HmmaSparse16816F32,
        (true, _, false) => Class::HmmaSparse16832F16,
        (true, _, true) => Class::HmmaSparse16832F32,
    }
}

/// Class of QMMA by shape and accumulator.
fn quarter_matrix(instruction: &Instruction) -> Class {
    let half = accumulator_bits(instruction) == 16;
    match (instruction.has(Modifier::SP), shape(instruction), half) {
        (true, _, true) => Class::QmmaSparse16864F16,
        (true, _, false) => Class::QmmaSparse16864F32,
        (false, (_, 16), true) => Class::Qmma16816F16,
        (false, (_, 16), false) => Class::Qmma16816F32,
        (false, _, true) => Class::Qmma16832F16,
        (false, _, false) => Class::Qmma16832F32,
    }
}

/// Class of IMMA by shape and factor type.
fn integer_matrix(instruction: &Instruction) -> Class {
    let nibbles = factor_bits(instruction) == 4;
    match (instruction.has(Modifier::SP), nibbles, shape(instruction)) {
        (false, false, (8, _)) => Class::Imma8816S8,
        (false, false, (_, 16)) => Class::Imma16816S8,
        (false, false, _) => Class::Imma16832S8,
        (false, true, (8, _)) => Class::Imma8832S4,
        (false, true, (_, 32)) => Class::Imma16832S4,
        (false, true, _) => Class::Imma16864S4,
        (true, false, (_, 32)) => Class::ImmaSparse16832S8,
        (true, false, _) => Class::ImmaSparse16864S8,
        (true, true, (_, 64)) => Class::ImmaSparse16864S4,
        (true, true, _) => Class::ImmaSparse168128S4,
    }
}

/// Rows and depth of a matrix instruction from its shape suffix (`16816`, `8x8x4`); there are always
/// eight columns. (0, 0) if it carries none.
pub(crate) fn shape(instruction: &Instruction) -> (u16, u16) {
    let is_shape = |text: &&str| {
        text.len() >= 3
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'x')
    };
    let texts = instruction.modifiers.iter().map(|modifier| modifier.text());
    let Some(text) = texts.into_iter().find(is_shape) else {
        return (0, 0);
    };
    if let Some((rows, rest)) = text.split_once('x') {
        let depth = rest.split_once('x').map_or("", |(_, depth)| depth);
        return (rows.parse().unwrap_or(0), depth.parse().unwrap_or(0));
    }
    let (rows, depth) = match (text.strip_prefix("168"), text.strip_prefix("88")) {
        (Some(depth), _) => (16, depth),
        (None, Some(depth)) => (8, depth),
        (None, None) => return (0, 0),
    };
    (rows, depth.parse().unwrap_or(0))
}

/// Bits per element of a matrix instruction's factors.
pub(crate) fn factor_bits(instruction: &Instruction) -> u16 {
    match instruction.opcode {
        Opcode::BMMA => 1,
        Opcode::DMMA => 64,
        Opcode::QMMA => 8,
        Opcode::IMMA => {
            let nibbles = |modifier: &Modifier| matches!(modifier.text(), "S4" | "U4");
            if instruction.modifiers.iter().any(nibbles) {
                4
            } else {
                8
            }
        }
        _ if instruction.has(Modifier::TF32) => 32,
        _ => 16,
    }
}

/// Bits per element of a matrix instruction's accumulator.
pub(crate) fn accumulator_bits(instruction: &Instruction) -> u16 {
    match instruction.opcode {
        Opcode::DMMA => 64,
        Opcode::HMMA | Opcode::QMMA | Opcode::HGMMA | Opcode::QGMMA => {
            if instruction.has(Modifier::F32) {
                32
            } else {
                16
            }
        }
        _ => 32,
    }
}
