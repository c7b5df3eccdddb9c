//! From a decoded instruction to its lowered form: reads operands in printed order and hands each
//! opcode to its family. What this file and the families refuse is exactly what does not execute;
//! coverage is derived from it.

use sass::{
    Adjust, ConstantBank, ImmediateKind, Instruction, Modifier, Opcode, Operand as Printed,
    Register, Select, UniformRegister,
};

use crate::constant::Banks;
use crate::family;
use crate::memory;
use crate::micro::{Micro, Op, Operand, PredicateSource, Vector, Wide};

/// Why an instruction is not executed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Refusal(pub(crate) String);

/// Result of lowering.
pub(crate) type Lowered<T> = Result<T, Refusal>;

/// A refusal with a reason.
pub(crate) fn refuse<T>(reason: impl Into<String>) -> Lowered<T> {
    Err(Refusal(reason.into()))
}

/// What lowering depends on besides the instruction.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// Where the instruction lies in the code image.
    pub(crate) pc: u32,
    /// General registers of a thread.
    pub(crate) registers: u16,
    /// Constant banks of the launch.
    pub(crate) banks: &'a Banks,
}

/// Signs of sources, packed: bit 2k minus, bit 2k + 1 absolute value of source k.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Signs(pub(crate) u8);

impl Signs {
    /// Adds the signs of source `k`.
    pub(crate) fn with(self, k: u32, adjust: Adjust) -> Signs {
        Signs(self.0 | (adjust.negate as u8) << (2 * k) | (adjust.absolute as u8) << (2 * k + 1))
    }

    /// Sign bits to flip in source `k`.
    #[inline(always)]
    pub(crate) const fn flip(self, k: u32) -> u32 {
        ((self.0 >> (2 * k) & 1) as u32) << 31
    }

    /// Bits of source `k` that stay.
    #[inline(always)]
    pub(crate) const fn keep(self, k: u32) -> u32 {
        !(((self.0 >> (2 * k + 1) & 1) as u32) << 31)
    }

    /// A 32-bit word (or the upper word of a double) with the signs of source `k` applied.
    #[inline(always)]
    pub(crate) const fn apply(self, k: u32, bits: u32) -> u32 {
        bits & self.keep(k) ^ self.flip(k)
    }
}

/// An address as lowered: base row or none, whether 64 bits wide, uniform register, offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    /// Base: a row, or a scalar zero if RZ.
    pub(crate) base: Operand,
    /// The base is a pair of registers.
    pub(crate) wide: bool,
    /// Left shift of the base.
    pub(crate) scale: u8,
    /// Uniform register to add, 63 if none.
    pub(crate) uniform: u8,
    /// The uniform register is a pair.
    pub(crate) uniform_wide: bool,
    /// Byte offset.
    pub(crate) offset: i32,
}

/// Reads an instruction's operands from left to right.
pub(crate) struct Reader<'a> {
    pub(crate) instruction: &'a Instruction,
    pub(crate) context: Context<'a>,
    position: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(instruction: &'a Instruction, context: Context<'a>) -> Reader<'a> {
        Reader {
            instruction,
            context,
            position: 0,
        }
    }

    /// Whether the mnemonic carries `modifier`.
    pub(crate) fn has(&self, modifier: Modifier) -> bool {
        self.instruction.has(modifier)
    }

    /// The first of these modifiers that the mnemonic carries, mapped.
    pub(crate) fn choose<T: Copy>(&self, choices: &[(Modifier, T)], default: T) -> T {
        self.instruction
            .modifiers
            .iter()
            .find_map(|m| choices.iter().find(|(name, _)| name == m))
            .map_or(default, |&(_, value)| value)
    }

    /// Refuses modifiers beyond `known`: a suffix without a meaning here must not be ignored.
    pub(crate) fn only(&self, known: &[Modifier]) -> Lowered<()> {
        match self
            .instruction
            .modifiers
            .iter()
            .find(|m| !known.contains(m))
        {
            Some(other) => refuse(format!(
                "{}.{}",
                self.instruction.opcode.text(),
                other.text()
            )),
            None => Ok(()),
        }
    }

    /// As `only`, by the printed names.
    pub(crate) fn only_named(&self, known: &[&str]) -> Lowered<()> {
        match self
            .instruction
            .modifiers
            .iter()
            .find(|m| !known.contains(&m.text()))
        {
            Some(other) => refuse(format!(
                "{}.{}",
                self.instruction.opcode.text(),
                other.text()
            )),
            None => Ok(()),
        }
    }

    /// Whether the mnemonic carries the suffix of this name.
    pub(crate) fn named(&self, name: &str) -> bool {
        self.instruction.modifiers.iter().any(|m| m.text() == name)
    }

    /// The next operand without taking it.
    pub(crate) fn peek(&self) -> Option<&'a Printed> {
        self.instruction.operands.get(self.position)
    }

    fn next(&mut self) -> Lowered<&'a Printed> {
        let operand = self.peek();
        self.position += 1;
        operand.ok_or_else(|| Refusal("an operand is missing".to_owned()))
    }

    /// Refuses operands that were not read.
    pub(crate) fn end(&self) -> Lowered<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => refuse("an operand that is not understood"),
        }
    }

    /// `count` consecutive registers from `register` as a row number.
    pub(crate) fn rows(&self, register: Register, count: u16) -> Lowered<u16> {
        let first = register.0 as u16;
        if first + count > self.context.registers {
            return refuse(format!(
                "R{} of a kernel with {} registers",
                first + count - 1,
                self.context.registers
            ));
        }
        Ok(first)
    }

    /// A destination of `count` (1 or 2) registers; RZ becomes the sink.
    pub(crate) fn destination(&mut self, count: u16) -> Lowered<u16> {
        match self.next()? {
            Printed::Register { register, .. } if *register == Register::ZERO => {
                Ok(self.context.registers)
            }
            Printed::Register { register, .. } => self.rows(*register, count),
            _ => refuse("a destination that is not a register"),
        }
    }

    /// A destination of any number of registers; `None` for RZ.
    pub(crate) fn destination_or_none(&mut self, count: u16) -> Lowered<Option<u16>> {
        match self.next()? {
            Printed::Register { register, .. } if *register == Register::ZERO => Ok(None),
            Printed::Register { register, .. } => self.rows(*register, count).map(Some),
            _ => refuse("a destination that is not a register"),
        }
    }

    /// A uniform destination.
    pub(crate) fn uniform_destination(&mut self, count: u8) -> Lowered<u8> {
        match self.next()? {
            Printed::UniformRegister { register, .. } => Self::uniform_rows(*register, count),
            _ => refuse("a destination that is not a uniform register"),
        }
    }

    fn uniform_rows(register: UniformRegister, count: u8) -> Lowered<u8> {
        let first = register.0;
        if first == 63 || first + count <= 63 {
            Ok(first)
        } else {
            refuse(format!("a pair of uniform registers from UR{first}"))
        }
    }

    /// Whether the next operand is a (uniform) predicate.
    pub(crate) fn at_predicate(&self) -> bool {
        matches!(
            self.peek(),
            Some(Printed::Predicate { .. } | Printed::UniformPredicate { .. })
        )
    }

    /// A predicate destination.
    pub(crate) fn predicate_destination(&mut self) -> Lowered<u8> {
        match self.next()? {
            Printed::Predicate { predicate, .. } | Printed::UniformPredicate { predicate, .. } => {
                Ok(predicate.0)
            }
            _ => refuse("a destination that is not a predicate"),
        }
    }

    /// A predicate destination that is not printed if it is PT.
    pub(crate) fn predicate_destination_or_none(&mut self) -> Lowered<u8> {
        if self.at_predicate() {
            self.predicate_destination()
        } else {
            Ok(7)
        }
    }

    /// A predicate source.
    pub(crate) fn predicate_source(&mut self) -> Lowered<PredicateSource> {
        match self.next()? {
            Printed::Predicate { predicate, negate } => {
                Ok(PredicateSource::new(predicate.0, *negate, false))
            }
            Printed::UniformPredicate { predicate, negate } => {
                Ok(PredicateSource::new(predicate.0, *negate, true))
            }
            _ => refuse("a source that is not a predicate"),
        }
    }

    /// A predicate source that is not printed if it is PT.
    pub(crate) fn predicate_source_or(
        &mut self,
        default: PredicateSource,
    ) -> Lowered<PredicateSource> {
        if self.at_predicate() {
            self.predicate_source()
        } else {
            Ok(default)
        }
    }

    /// A 32-bit source with its signs and suffix.
    pub(crate) fn source(&mut self) -> Lowered<(Operand, Adjust, Select)> {
        match self.next()? {
            Printed::Register {
                register,
                adjust,
                select,
                ..
            } => Ok((self.register_operand(*register)?, *adjust, *select)),
            Printed::UniformRegister {
                register,
                adjust,
                select,
            } => Ok((uniform_operand(*register), *adjust, *select)),
            Printed::Immediate { bits, .. } => Ok((
                Operand::Scalar(*bits as u32),
                Adjust::default(),
                Select::None,
            )),
            Printed::Constant {
                bank,
                index,
                uniform_index,
                offset,
                adjust,
                select,
            } => {
                let value = self.fixed_constant(*bank, *index, *uniform_index, *offset, 4)?;
                Ok((Operand::Scalar(value as u32), *adjust, *select))
            }
            _ => refuse("a source that is not a value"),
        }
    }

    fn register_operand(&self, register: Register) -> Lowered<Operand> {
        if register == Register::ZERO {
            Ok(Operand::Scalar(0))
        } else {
            self.rows(register, 1).map(Operand::Register)
        }
    }

    /// A 32-bit source without signs or suffix.
    pub(crate) fn plain_source(&mut self) -> Lowered<Operand> {
        match self.source()? {
            (operand, adjust, Select::None) if adjust == Adjust::default() => Ok(operand),
            _ => refuse("a sign or suffix of a source"),
        }
    }

    /// A 32-bit source with a complement or minus sign: whether it is there.
    pub(crate) fn negatable_source(&mut self) -> Lowered<(Operand, bool)> {
        match self.source()? {
            (
                operand,
                Adjust {
                    absolute: false,
                    negate,
                    invert,
                },
                Select::None,
            ) => Ok((operand, negate || invert)),
            _ => refuse("a sign or suffix of a source"),
        }
    }

    /// A 64-bit source with its signs. An immediate is the upper word if `high`, else a word that
    /// is extended by its sign if it has one.
    pub(crate) fn wide_source(&mut self, high: bool) -> Lowered<(Wide, Adjust)> {
        match self.next()? {
            Printed::Register {
                register, adjust, ..
            } => Ok((self.wide_register(*register)?, *adjust)),
            Printed::UniformRegister {
                register, adjust, ..
            } => {
                if register.0 == 63 {
                    return Ok((Wide::Scalar(0, 0), *adjust));
                }
                Ok((Wide::Uniform(Self::uniform_rows(*register, 2)?), *adjust))
            }
            Printed::Immediate { bits, kind } => {
                let value = match kind {
                    _ if high => *bits << 32,
                    ImmediateKind::Signed => *bits as u32 as i32 as i64 as u64,
                    _ => *bits as u32 as u64,
                };
                Ok((
                    Wide::Scalar(value as u32, (value >> 32) as u32),
                    Adjust::default(),
                ))
            }
            Printed::Constant {
                bank,
                index,
                uniform_index,
                offset,
                adjust,
                ..
            } => {
                let value = self.fixed_constant(*bank, *index, *uniform_index, *offset, 8)?;
                Ok((Wide::Scalar(value as u32, (value >> 32) as u32), *adjust))
            }
            _ => refuse("a source that is not a value"),
        }
    }

    fn wide_register(&self, register: Register) -> Lowered<Wide> {
        if register == Register::ZERO {
            Ok(Wide::Scalar(0, 0))
        } else {
            self.rows(register, 2).map(Wide::Register)
        }
    }

    /// A general register operand of `count` registers: its first row, `None` for RZ.
    pub(crate) fn register_source(&mut self, count: u16) -> Lowered<Option<u16>> {
        match self.next()? {
            Printed::Register {
                register,
                adjust,
                select: Select::None | Select::Wide,
                ..
            } if *adjust == Adjust::default() => {
                if *register == Register::ZERO {
                    Ok(None)
                } else {
                    self.rows(*register, count).map(Some)
                }
            }
            _ => refuse("a source that is not a plain register"),
        }
    }

    fn fixed_constant(
        &self,
        bank: ConstantBank,
        index: Register,
        uniform_index: UniformRegister,
        offset: i32,
        bytes: u32,
    ) -> Lowered<u64> {
        let ConstantBank::Number(number) = bank else {
            return refuse("a bindless constant");
        };
        if index != Register::ZERO || uniform_index != UniformRegister::ZERO {
            return refuse("a constant operand with an index register");
        }
        // The field has 16 bits; the disassembler prints the upper half as negative.
        self.context
            .banks
            .read(number, offset as u32 & 0xffff, bytes)
            .ok_or_else(|| {
                let offset = offset as u32 & 0xffff;
                Refusal(format!("c[{number:#x}][{offset:#x}] lies outside the bank"))
            })
    }

    /// A constant whose place is known only at run time: bank, index operand, offset.
    pub(crate) fn indexed_constant(&mut self) -> Lowered<(u8, Operand, i32)> {
        match self.next()? {
            Printed::Constant {
                bank: ConstantBank::Number(bank),
                index,
                uniform_index,
                offset,
                ..
            } => {
                let operand = if *uniform_index == UniformRegister::ZERO {
                    self.register_operand(*index)?
                } else if *index == Register::ZERO {
                    uniform_operand(*uniform_index)
                } else {
                    return refuse("a constant with two index registers");
                };
                Ok((*bank, operand, *offset))
            }
            Printed::Constant { .. } => refuse("a bindless constant"),
            _ => refuse("an operand that is not a constant"),
        }
    }

    /// A literal.
    pub(crate) fn immediate(&mut self) -> Lowered<u64> {
        match self.next()? {
            Printed::Immediate { bits, .. } => Ok(*bits),
            _ => refuse("an operand that is not a literal"),
        }
    }

    /// Whether the next operand is a literal.
    pub(crate) fn at_immediate(&self) -> bool {
        matches!(self.peek(), Some(Printed::Immediate { .. }))
    }

    /// An address. A base beside a uniform register or a descriptor is a pair if it carries `.64`;
    /// a lone base is a pair if the instruction says so (`extended`).
    pub(crate) fn address(&mut self, extended: bool) -> Lowered<Address> {
        let Printed::Memory {
            base,
            base_select,
            uniform,
            uniform_select,
            descriptor,
            offset,
        } = self.next()?
        else {
            return refuse("an operand that is not an address");
        };
        let (wide, scale) = match base_select {
            Select::Wide => (true, 0),
            Select::U32 => (false, 0),
            Select::X4 => (false, 2),
            Select::X8 => (false, 3),
            Select::X16 => (false, 4),
            Select::None => (extended && *uniform == UniformRegister::ZERO, 0),
            _ => return refuse("a suffix of an address"),
        };
        let uniform_wide = extended || *uniform_select == Select::Wide;
        let _ = descriptor;
        let base = match (*base, wide) {
            (Register::ZERO, _) => Operand::Scalar(0),
            (base, true) => Operand::Register(self.rows(base, 2)?),
            (base, false) => Operand::Register(self.rows(base, 1)?),
        };
        if uniform.0 != 63 && uniform_wide {
            Self::uniform_rows(*uniform, 2)?;
        }
        Ok(Address {
            base,
            wide,
            scale,
            uniform: uniform.0,
            uniform_wide,
            offset: *offset,
        })
    }

    /// A convergence barrier.
    pub(crate) fn convergence_barrier(&mut self) -> Lowered<u8> {
        match self.next()? {
            Printed::ConvergenceBarrier(number) => Ok(*number & 15),
            _ => refuse("an operand that is not a convergence barrier"),
        }
    }

    /// A special register.
    pub(crate) fn special_register(&mut self) -> Lowered<u8> {
        match self.next()? {
            Printed::SpecialRegister(number) => Ok(*number),
            _ => refuse("an operand that is not a special register"),
        }
    }

    /// A code address in bytes relative to the next instruction.
    pub(crate) fn code_offset(&mut self) -> Lowered<i64> {
        match self.next()? {
            Printed::Target(offset) => Ok(*offset),
            Printed::Immediate { bits, .. } => Ok(*bits as i64),
            _ => refuse("an operand that is not a code address"),
        }
    }

    /// All predicates as one value.
    pub(crate) fn predicate_set(&mut self) -> Lowered<Select> {
        match self.next()? {
            Printed::PredicateSet { select, .. } => Ok(*select),
            _ => refuse("an operand that is not PR or UPR"),
        }
    }

    /// Byte address of the next instruction in the code image.
    pub(crate) fn next_address(&self) -> i64 {
        (self.context.pc as i64 + 1) * 16
    }
}

fn uniform_operand(register: UniformRegister) -> Operand {
    if register.0 == 63 {
        Operand::Scalar(0)
    } else {
        Operand::Uniform(register.0)
    }
}

/// Lowers one instruction.
pub(crate) fn lower(instruction: &Instruction, context: Context<'_>) -> Lowered<Micro> {
    let guard = PredicateSource::new(
        instruction.guard.predicate.0,
        instruction.guard.negate,
        instruction.guard.uniform,
    );
    let mut reader = Reader::new(instruction, context);
    let op = lower_op(instruction.opcode, &mut reader)?;
    reader.end()?;
    Ok(Micro { op, guard })
}

/// Every opcode stands here once, with the family that executes it or the reason why none does.
fn lower_op(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Opcode::*;
    Ok(match opcode {
        IADD3 | IMAD | LOP3 | SHF | LEA | IABS | IMNMX | FLO | POPC | BREV | BMSK | SGXT | IDP
        | VABSDIFF | VABSDIFF4 => Op::Vector(Vector::Integer(family::integer::lower(opcode, r)?)),
        FADD | FMUL | FFMA | FMNMX | FSEL | FSET | FSWZADD => {
            Op::Vector(Vector::Float(family::float::lower(opcode, r)?))
        }
        HADD2 | HFMA2 | HMUL2 | HMNMX2 | HSET2 | HSETP2 => {
            Op::Vector(Vector::Half(family::half::lower(opcode, r)?))
        }
        DADD | DMUL | DFMA | DSETP => Op::Vector(Vector::Double(family::double::lower(opcode, r)?)),
        F2F | F2I | I2F | I2FP | FRND => {
            Op::Vector(Vector::Conversion(family::conversion::lower(opcode, r)?))
        }
        F2FP | F2IP | I2I | I2IP => Op::Vector(Vector::Packing(family::packing::lower(opcode, r)?)),
        VIADD | VIADDMNMX | VIMNMX | VIMNMX3 => Op::Vector(Vector::PackedInteger(
            family::packed_integer::lower(opcode, r)?,
        )),
        ISETP | FSETP | PLOP3 | R2P | P2R | FCHK => {
            Op::Vector(Vector::Predicate(family::predicate::lower(opcode, r)?))
        }
        MOV | SEL | PRMT | MOVM => Op::Vector(Vector::Move(family::move_::lower(opcode, r)?)),
        MUFU => Op::Vector(Vector::SpecialFunction(family::special_function::lower(r)?)),
        UIADD3 | UIMAD | UISETP | ULEA | ULOP3 | UMOV | UPLOP3 | UPOPC | UPRMT | USEL | USHF
        | UFLO | USGXT | UBMSK | UBREV | R2UR | UP2UR | UR2UP => {
            Op::Vector(Vector::Uniform(family::uniform::lower(opcode, r)?))
        }
        SHFL | VOTE | VOTEU | MATCH | REDUX | ELECT => {
            Op::Vector(Vector::ShuffleVote(family::shuffle_vote::lower(opcode, r)?))
        }
        HMMA | QMMA | IMMA | DMMA | BMMA => {
            Op::Vector(Vector::Tensor(family::tensor::lower(opcode, r)?))
        }
        LDG | LD | LDL | LDS | LDC | ULDC | LDSM | LDGSTS | STG | ST | STL | STS | STSM | QSPC => {
            Op::Memory(memory::lower(opcode, r)?)
        }
        ATOM | ATOMG | ATOMS | RED | REDG | ARRIVES | SYNCS => {
            Op::Atomic(family::atomic::lower(opcode, r)?)
        }
        BRA | BRX | BRXU | JMP | JMX | BSSY | BSYNC | BREAK | BMOV | WARPSYNC | YIELD | CALL
        | RET | EXIT | KILL | LEPC | BPT | NANOSLEEP => {
            Op::Control(family::control_flow::lower(opcode, r)?)
        }
        BAR | B2R => Op::Barrier(family::barrier::lower(opcode, r)?),
        S2R | S2UR | CS2R | RPCMOV => Op::Miscellaneous(family::miscellaneous::lower(opcode, r)?),
        // Order and time only: values are already as these would make them.
        // (A grid that depends on none has nothing to wait for or to let go.)
        NOP | MEMBAR | ERRBAR | CGAERRBAR | CCTL | CCTLL | DEPBAR | LDGDEPBAR | PMTRIG
        | ENDCOLLECTIVE | FENCE | PREEXIT | ACQBULK => {
            while r.peek().is_some() {
                r.skip();
            }
            Op::Nop
        }
        TEX | TLD | TLD4 | TXD | TXQ | TMML => Op::Texture(family::texture::lower(opcode, r)?),
        SULD | SUST | SUATOM | SURED => Op::Surface(family::surface::lower(opcode, r)?),
        BGMMA | HGMMA | IGMMA | QGMMA | WARPGROUP | WARPGROUPSET | USETMAXREG => {
            return refuse("matrices of a warp group (a unit of Hopper)");
        }
        UBLKCP | UBLKPF | UBLKRED | UTMACCTL | UTMACMDFLUSH | UTMALDG | UTMAPF | UTMAREDG
        | UTMASTG => {
            return refuse("copies of tensors and blocks (a unit of Hopper)");
        }
        UCGABAR_ARV | UCGABAR_WAIT | STAS | REDAS | USETSHMSZ => {
            return refuse("clusters of CTAs (a unit of Hopper)");
        }
        CLMAD | GETLMEMBASE | OUT | PIXLD | SETCTAID => {
            return refuse("an instruction of shaders or of the trap handler");
        }
        LDGMC => return refuse("multicast memory (a unit of Hopper)"),
        ULEPC | VHMNMX => return refuse("an instruction of sm_90"),
    })
}

impl Reader<'_> {
    /// Leaves an operand out: it has no influence on values.
    pub(crate) fn skip(&mut self) {
        self.position += 1;
    }
}
