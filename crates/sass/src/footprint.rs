//! What an instruction reads and writes: registers of every file, in which role. The timing model's
//! port bookings, the hazard check and the assembler's dependence pass all derive from it.
//!
//! Each opcode has a layout: which operands it writes, how many registers each source spans. The
//! operands themselves are walked in printed order, so what is printed decides (a destination of PT
//! that is left out writes nothing).

use smallvec::{SmallVec, smallvec};

use crate::class::{Class, accumulator_bits, class, factor_bits, shape};
use crate::instruction::Instruction;
use crate::modifier::Modifier;
use crate::opcode::Opcode;
use crate::operand::{ConstantBank, Operand, Predicate, Register, Select, UniformRegister};

/// A register file of one warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum File {
    /// R0 to R254, one value per lane.
    General,
    /// UR0 to UR62, one value per warp.
    Uniform,
    /// P0 to P6, one bit per lane.
    Predicate,
    /// UP0 to UP6, one bit per warp.
    UniformPredicate,
    /// B0 to B15, a lane mask.
    Convergence,
}

/// What a read register is used for; visibility distances depend on it (DESIGN.md H1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Role {
    /// An ordinary source operand.
    Data,
    /// The instruction's guard predicate.
    Guard,
    /// Part of a memory address or another operand sampled by a variable-latency unit's address stage.
    Address,
    /// Data to be stored (sampled by the memory unit).
    StoreData,
}

/// A run of consecutive registers that one operand reads or writes. RZ, URZ, PT never appear.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Use {
    /// Which file.
    pub file: File,
    /// First register.
    pub first: u8,
    /// Number of registers, 1 to 16.
    pub count: u8,
    /// Role of a read; `Role::Data` for writes.
    pub role: Role,
    /// Position among the general-register source operands (RZ counts, immediates and constants do
    /// not), the key of the reuse cache; `None` if not such an operand.
    pub slot: Option<u8>,
    /// The operand carries `.reuse`.
    pub reuse: bool,
    /// Row (writes) or column (reads) of the distance table: the instruction's class, except where
    /// an operand is written or sampled at a time of its own (halves of IMAD.WIDE, bindless banks).
    pub class: Class,
}

/// Everything one instruction reads and writes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Footprint {
    /// Registers read, guard included.
    pub reads: SmallVec<[Use; 8]>,
    /// Registers written.
    pub writes: SmallVec<[Use; 4]>,
}

/// What `instruction` reads and writes.
pub fn footprint(instruction: &Instruction) -> Footprint {
    let mut walk = Walk {
        instruction,
        class: class(instruction),
        footprint: Footprint::default(),
        slot: 0,
    };
    walk.guard();
    let layout = layout(instruction);
    let rest = walk.results(&layout);
    walk.sources(rest, &layout);
    walk.footprint
}

/// Which of the leading operands are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Head {
    /// None.
    Nothing,
    /// Predicates, one register, predicates: as many as are printed before the first source.
    Register,
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
struct Layout {
    head: Head,
    /// Registers of the result.
    result: u8,
    /// Registers of the first, second, … source that is a register, uniform register, literal or
    /// constant; the last entry holds for all further ones.
    sources: [u8; 4],
    /// Role of general-register sources.
    role: Role,
    /// Registers of the base of an address.
    address: u8,
}

const fn result(result: u8, sources: [u8; 4]) -> Layout {
    Layout {
        head: Head::Register,
        result,
        sources,
        role: Role::Data,
        address: 1,
    }
}

const fn head(head: Head) -> Layout {
    Layout {
        head,
        result: 1,
        sources: [1; 4],
        role: Role::Data,
        address: 1,
    }
}

/// The layout of an instruction.
fn layout(instruction: &Instruction) -> Layout {
    use Opcode::*;
    let has = |modifier| instruction.has(modifier);
    let width = data_registers(instruction);
    // `.E`: addresses of 64 bits.
    let address = if has(Modifier::E) { 2 } else { 1 };
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
        | VIADD | VIADDMNMX | VIMNMX | VIMNMX3 => word,
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
        R2P => head(Head::PredicateSet),
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
        ST | STG | STL | STS | RED | REDG => store,
        ATOM | ATOMG | ATOMS | SYNCS if has(Modifier::CAST) => {
            // The helper of a compare-and-swap loop answers whether it took place.
            Layout {
                result: 1,
                head: Head::Register,
                ..store
            }
        }
        ATOM | ATOMG | ATOMS | SYNCS => Layout {
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
        BMOV => match instruction.operands.first() {
            Some(Operand::ConvergenceBarrier(_)) => head(Head::Barrier),
            Some(Operand::Register { .. }) => word,
            _ => nothing,
        },
    }
}

/// Registers of one data operand of a load, store or atomic operation.
fn data_registers(instruction: &Instruction) -> u8 {
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
fn matrices(instruction: &Instruction) -> u8 {
    if instruction.has(Modifier::N4) {
        4
    } else if instruction.has(Modifier::N2) {
        2
    } else {
        1
    }
}

/// Conversions name the result type before the source type where both are printed.
fn conversion(instruction: &Instruction) -> Layout {
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

/// Fragments of a matrix instruction: `rows · columns · bits / 1024` registers each, the first
/// factor of a sparse one half of that (MODEL.md §6).
fn matrix(instruction: &Instruction) -> Layout {
    if instruction.opcode == Opcode::HMMA && instruction.has(Modifier::N884) {
        // A step of Volta's shape: four products, the results of two registers.
        return result(2, [2, 2, 2, 1]);
    }
    let (rows, depth) = shape(instruction);
    let columns = 8;
    let registers = |elements: u16, bits: u16| (elements * bits / 1024).clamp(1, 16) as u8;
    let sparse = if instruction.has(Modifier::SP) { 2 } else { 1 };
    let factor = factor_bits(instruction);
    let sum = registers(rows * columns, accumulator_bits(instruction));
    let first = registers(rows * depth / sparse, factor);
    result(sum, [first, registers(depth * columns, factor), sum, 1])
}

/// Whether the mnemonic carries a suffix that is written so.
fn carries(instruction: &Instruction, text: &str) -> bool {
    instruction
        .modifiers
        .iter()
        .any(|modifier| modifier.text() == text)
}

/// Surface accesses: coordinates in the address, then data, then a handle if it is in a register.
fn surface(instruction: &Instruction, access: Layout) -> Layout {
    let has = |text| carries(instruction, text);
    let address = if has("3D") || has("2D_ARRAY") {
        3
    } else if has("2D") || has("1D_ARRAY") {
        2
    } else {
        1
    };
    // A formatted access moves one register per channel.
    let data = if !has("P") {
        data_registers(instruction)
    } else if has("RG") {
        2
    } else if has("R") {
        1
    } else {
        4
    };
    let swap = if instruction.has(Modifier::CAS) {
        data
    } else {
        1
    };
    match instruction.opcode {
        Opcode::SULD => Layout {
            result: data,
            sources: [1; 4],
            address,
            ..access
        },
        Opcode::SUATOM => Layout {
            head: Head::Register,
            result: data,
            sources: [data, swap, 1, 1],
            address,
            ..access
        },
        _ => Layout {
            sources: [data, 1, 1, 1],
            address,
            ..access
        },
    }
}

/// Texture results are two vectors of up to two registers, the upper one printed first; so are the
/// arguments. `.SCR` takes them all in a row and splits the row in the middle.
fn texture(instruction: &Instruction) -> Layout {
    let [coordinates, further] = texture_arguments(instruction);
    let (first, second) = if carries(instruction, "SCR") {
        let all = coordinates + further;
        (all.div_ceil(2), all / 2)
    } else {
        (coordinates, further)
    };
    Layout {
        head: Head::Texture,
        result: 0,
        sources: [first.max(1), second.max(1), 1, 1],
        role: Role::Address,
        address: 1,
    }
}

/// Number of coordinates (array index included) and of further arguments of a texture instruction:
/// handle, sample, level, offset, reference value, in this order. TXD has the handle before the
/// coordinates and two derivatives per axis behind.
fn texture_arguments(instruction: &Instruction) -> [u8; 2] {
    let dimension = instruction
        .operands
        .iter()
        .find_map(|operand| match operand {
            Operand::Keyword(name) => Some(*name),
            _ => None,
        });
    let name = dimension.unwrap_or("");
    let (array, plain) = match name.strip_prefix("ARRAY_") {
        Some(plain) => (1, plain),
        None => (0, name),
    };
    let axes = match plain {
        "1D" => 1,
        "3D" | "CUBE" => 3,
        _ => 2,
    };
    let count = |names: &[&str]| {
        let named = |modifier: &&Modifier| names.contains(&modifier.text());
        instruction.modifiers.iter().filter(named).count() as u8
    };
    // The first of TLD4's colours is the component that it gathers.
    let bound = match instruction.opcode {
        Opcode::TLD4 => count(&["R", "G", "B", "A"]).saturating_sub(1),
        _ => count(&["B"]),
    };
    let clamp = if array == 0 { count(&["LC"]) } else { 0 };
    match instruction.opcode {
        Opcode::TXD => [
            bound + axes + array + count(&["AOFFI"]).min(1 - array),
            2 * axes,
        ],
        Opcode::TXQ => [bound + 1, 1],
        _ => [
            axes + array + clamp,
            bound + count(&["MS", "LL", "LB", "AOFFI", "DC"]) + 2 * count(&["PTP"]),
        ],
    }
}

/// The walk over one instruction's operands.
struct Walk<'a> {
    instruction: &'a Instruction,
    class: Class,
    footprint: Footprint,
    slot: u8,
}

impl<'a> Walk<'a> {
    fn use_of(&self, file: File, first: u8, count: u8, role: Role) -> Use {
        Use {
            file,
            first,
            count,
            role,
            slot: None,
            reuse: false,
            class: self.class,
        }
    }

    fn read(&mut self, file: File, first: u8, count: u8, role: Role) {
        let read = self.use_of(file, first, count, role);
        self.footprint.reads.push(read);
    }

    fn write(&mut self, file: File, first: u8, count: u8) {
        let write = self.use_of(file, first, count, Role::Data);
        self.footprint.writes.push(write);
    }

    fn guard(&mut self) {
        let guard = self.instruction.guard;
        if guard.predicate != Predicate::TRUE {
            let file = if guard.uniform {
                File::UniformPredicate
            } else {
                File::Predicate
            };
            self.read(file, guard.predicate.0, 1, Role::Guard);
        }
    }

    fn read_predicate(&mut self, file: File, predicate: Predicate) {
        if predicate != Predicate::TRUE {
            self.read(file, predicate.0, 1, Role::Data);
        }
    }

    fn write_predicate(&mut self, operand: &Operand) {
        match *operand {
            Operand::Predicate { predicate, .. } if predicate != Predicate::TRUE => {
                self.write(File::Predicate, predicate.0, 1);
            }
            Operand::UniformPredicate { predicate, .. } if predicate != Predicate::TRUE => {
                self.write(File::UniformPredicate, predicate.0, 1);
            }
            _ => {}
        }
    }

    /// Writes the registers of a destination operand, if it is one.
    fn write_register(&mut self, operand: &Operand, count: u8) {
        match *operand {
            Operand::Register { register, .. } if register != Register::ZERO => {
                self.write_general(register.0, count);
            }
            Operand::UniformRegister { register, .. } if register != UniformRegister::ZERO => {
                self.write(File::Uniform, register.0, count);
            }
            _ => {}
        }
    }

    fn write_general(&mut self, first: u8, count: u8) {
        let mut write = self.use_of(File::General, first, count, Role::Data);
        if self.class != Class::ImadWide {
            self.footprint.writes.push(write);
        } else if count == 2 {
            for (offset, class) in [(0, Class::ImadWideLow), (1, Class::ImadWideHigh)] {
                let half = Use {
                    first: first.saturating_add(offset),
                    count: 1,
                    class,
                    ..write
                };
                self.footprint.writes.push(half);
            }
        } else {
            write.class = Class::ImadWideHigh;
            self.footprint.writes.push(write);
        }
    }

    /// Handles the operands that are written; returns the others.
    fn results(&mut self, layout: &Layout) -> &'a [Operand] {
        let operands: &'a [Operand] = &self.instruction.operands;
        let is_predicate = |operand: &Operand| {
            matches!(
                operand,
                Operand::Predicate { .. } | Operand::UniformPredicate { .. }
            )
        };
        let is_register = |operand: &Operand| {
            matches!(
                operand,
                Operand::Register { .. } | Operand::UniformRegister { .. }
            )
        };
        let mut rest = operands;
        let predicates = |walk: &mut Self, rest: &mut &'a [Operand], at_most: usize| {
            for _ in 0..at_most {
                match rest.split_first() {
                    Some((first, others)) if is_predicate(first) => {
                        walk.write_predicate(first);
                        *rest = others;
                    }
                    _ => break,
                }
            }
        };
        match layout.head {
            Head::Nothing => {}
            Head::Register => {
                predicates(self, &mut rest, 2);
                if let Some((first, others)) = rest.split_first()
                    && is_register(first)
                {
                    self.write_register(first, layout.result);
                    rest = others;
                    predicates(self, &mut rest, 2);
                }
            }
            Head::Predicates | Head::TwoPredicates => predicates(self, &mut rest, 2),
            Head::Vote => {
                if let Some((first, others)) = rest.split_first()
                    && is_register(first)
                {
                    self.write_register(first, 1);
                    rest = others;
                }
                // The last predicate is the vote.
                if rest.len() > 1 {
                    predicates(self, &mut rest, 1);
                }
            }
            Head::Texture => {
                predicates(self, &mut rest, 1);
                let components = self.texture_components();
                if let [upper, lower, others @ ..] = rest {
                    self.write_register(lower, components.min(2));
                    self.write_register(upper, components.saturating_sub(2));
                    rest = others;
                }
            }
            Head::PredicateSet => {
                if let Some((Operand::PredicateSet { .. }, others)) = rest.split_first() {
                    for (first, count) in self.predicate_set() {
                        self.write(File::Predicate, first, count);
                    }
                    rest = others;
                }
            }
            Head::Barrier | Head::BarrierUpdate => {
                // A condition may stand before the barrier.
                for operand in operands {
                    if let Operand::ConvergenceBarrier(barrier) = *operand {
                        self.write(File::Convergence, barrier, 1);
                        if layout.head == Head::BarrierUpdate {
                            self.read(File::Convergence, barrier, 1, Role::Data);
                        }
                    }
                }
            }
        }
        rest
    }

    /// Components that a texture instruction returns: its mask, printed unless all four.
    fn texture_components(&self) -> u8 {
        let components = match self.instruction.operands.last() {
            Some(Operand::Immediate { bits, .. }) => (bits & 15).count_ones() as u8,
            _ => 4,
        };
        // Halves come in pairs.
        let packed = self.instruction.has(Modifier::F16);
        if packed {
            components.div_ceil(2)
        } else {
            components
        }
    }

    /// Runs of predicates in the mask of P2R or R2P: the literal that is the last operand. Without a
    /// literal all are taken.
    fn predicate_set(&self) -> SmallVec<[(u8, u8); 4]> {
        let mask = match self.instruction.operands.last() {
            Some(Operand::Immediate { bits, .. }) => bits & 0x7f,
            _ => 0x7f,
        };
        let mut runs: SmallVec<[(u8, u8); 4]> = smallvec![];
        for predicate in (0..7).filter(|predicate| mask >> predicate & 1 == 1) {
            match runs.last_mut() {
                Some((first, count)) if *first + *count == predicate => *count += 1,
                _ => runs.push((predicate, 1)),
            }
        }
        runs
    }

    /// Handles the operands that are read.
    fn sources(&mut self, operands: &'a [Operand], layout: &Layout) {
        let mut position = 0;
        let mut addresses = 0;
        for operand in operands {
            let count = layout.sources[position.min(layout.sources.len() - 1)];
            match *operand {
                Operand::Register {
                    register, reuse, ..
                } => {
                    self.read_general(register, count, position, reuse, layout.role);
                    position += 1;
                }
                Operand::UniformRegister { register, .. } => {
                    self.read_uniform(register, count, layout.role, self.class);
                    position += 1;
                }
                Operand::Immediate { .. } => position += 1,
                Operand::Constant {
                    bank,
                    index,
                    uniform_index,
                    ..
                } => {
                    self.read_address(index, 1);
                    self.read_uniform(uniform_index, 1, Role::Address, self.class);
                    if let ConstantBank::Bindless(register) = bank {
                        self.read_uniform(register, 2, Role::Address, Class::Bindless);
                    }
                    position += 1;
                }
                Operand::Memory {
                    base,
                    base_select,
                    uniform,
                    descriptor,
                    ..
                } => {
                    let wide = self.is_wide(addresses, layout);
                    let narrow = base_select == Select::U32 || !wide;
                    self.read_address(
                        base,
                        if narrow {
                            layout.address.min(1)
                        } else {
                            layout.address
                        },
                    );
                    let uniform_count = if wide { 2 } else { 1 };
                    self.read_uniform(uniform, uniform_count, Role::Address, self.class);
                    if let Some(register) = descriptor {
                        self.read_uniform(register, 2, Role::Address, self.class);
                    }
                    addresses += 1;
                }
                Operand::Predicate { predicate, .. } => {
                    self.read_predicate(File::Predicate, predicate);
                }
                Operand::UniformPredicate { predicate, .. } => {
                    self.read_predicate(File::UniformPredicate, predicate);
                }
                Operand::PredicateSet { uniform, .. } => {
                    let file = if uniform {
                        File::UniformPredicate
                    } else {
                        File::Predicate
                    };
                    for (first, count) in self.predicate_set() {
                        self.read(file, first, count, Role::Data);
                    }
                }
                Operand::ConvergenceBarrier(barrier) => self.read_barrier(barrier, layout),
                Operand::SpecialRegister(_)
                | Operand::Counter(_)
                | Operand::CounterSet(_)
                | Operand::Target(_)
                | Operand::Keyword(_) => {}
            }
        }
    }

    /// Whether the address operand number `index` has 64 bits. LDGSTS names its shared-memory
    /// destination first.
    fn is_wide(&self, index: usize, layout: &Layout) -> bool {
        layout.address >= 2 && !(self.instruction.opcode == Opcode::LDGSTS && index == 0)
    }

    fn read_general(
        &mut self,
        register: Register,
        count: u8,
        position: usize,
        reuse: bool,
        role: Role,
    ) {
        let slot = Some(self.slot);
        self.slot += 1;
        if register == Register::ZERO {
            return;
        }
        let read = Use {
            slot,
            reuse,
            ..self.use_of(File::General, register.0, count, role)
        };
        if self.class == Class::ImadWide && position == 2 && count == 2 {
            for (offset, class) in [(0, Class::ImadWideLow), (1, Class::ImadWideHigh)] {
                let first = register.0.saturating_add(offset);
                self.footprint.reads.push(Use {
                    first,
                    count: 1,
                    class,
                    ..read
                });
            }
        } else {
            self.footprint.reads.push(read);
        }
    }

    fn read_address(&mut self, register: Register, count: u8) {
        if register != Register::ZERO {
            self.read(File::General, register.0, count, Role::Address);
        }
    }

    fn read_uniform(&mut self, register: UniformRegister, count: u8, role: Role, class: Class) {
        if register != UniformRegister::ZERO {
            let read = Use {
                class,
                ..self.use_of(File::Uniform, register.0, count, role)
            };
            self.footprint.reads.push(read);
        }
    }

    /// BSYNC reads its barrier; BMOV reads one, and `.CLEAR` empties it.
    fn read_barrier(&mut self, barrier: u8, layout: &Layout) {
        if matches!(layout.head, Head::Barrier | Head::BarrierUpdate) {
            return;
        }
        self.read(File::Convergence, barrier, 1, Role::Data);
        if self.instruction.has(Modifier::CLEAR) {
            self.write(File::Convergence, barrier, 1);
        }
    }
}
