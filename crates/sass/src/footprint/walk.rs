//! The walk over an instruction's operands in printed order, by its layout.

use smallvec::{SmallVec, smallvec};

use super::layout::{Head, Layout, layout};
use super::{File, Footprint, Role, Use, hopper};
use crate::class::{Class, class};
use crate::instruction::Instruction;
use crate::modifier::Modifier;
use crate::opcode::Opcode;
use crate::operand::{ConstantBank, Operand, Predicate, Register, Select, UniformRegister};

/// What `instruction` reads and writes.
pub fn footprint(instruction: &Instruction) -> Footprint {
    let mut walk = Walk {
        instruction,
        class: class(instruction),
        footprint: Footprint::default(),
    };
    walk.guard();
    let layout = layout(instruction);
    let rest = walk.results(&layout);
    walk.sources(rest, &layout);
    walk.footprint
}

/// The walk over one instruction's operands.
struct Walk<'a> {
    instruction: &'a Instruction,
    class: Class,
    footprint: Footprint,
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
            Head::PredicateRegister => {
                predicates(self, &mut rest, 2);
                if let Some((first, others)) = rest.split_first()
                    && is_register(first)
                {
                    self.write_register(first, layout.result);
                    rest = others;
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
                // The lower vector is filled first: two singles, or two halves in one register.
                let registers = self.texture_registers();
                let lower_holds = if self.instruction.has(Modifier::F16) {
                    1
                } else {
                    2
                };
                if let [upper, lower, others @ ..] = rest {
                    self.write_register(lower, registers.min(lower_holds));
                    self.write_register(upper, registers.saturating_sub(lower_holds));
                    rest = others;
                }
            }
            Head::PredicateSet => {
                if let Some((&Operand::PredicateSet { uniform, .. }, others)) = rest.split_first() {
                    let file = if uniform {
                        File::UniformPredicate
                    } else {
                        File::Predicate
                    };
                    for (first, count) in self.predicate_set() {
                        self.write(file, first, count);
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

    /// Registers that a texture instruction returns, by its mask, which is printed unless it is all
    /// four components.
    fn texture_registers(&self) -> u8 {
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
                    let uniform_count = hopper::address_registers(self.instruction, addresses)
                        .unwrap_or(if wide { 2 } else { 1 });
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
                Operand::Policy(register) => {
                    self.read_uniform(register, 2, Role::Address, self.class);
                }
                Operand::MatrixDescriptor { register, both, .. } => {
                    let count = if both { 4 } else { 2 };
                    self.read_uniform(register, count, Role::Address, self.class);
                    position += 1;
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
        let slot = Some(self.source_place(position));
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

    /// Which of the places A, B, C the source number `position` has. Compiled code tells: it sets the bit
    /// of that place where, and only where, the register's next read stands at the same one.
    fn source_place(&self, position: usize) -> u8 {
        use Opcode::*;
        let place = match (self.instruction.opcode, position) {
            // Sums take their second source where a multiply-add has its addend.
            (DADD | DSETP | FADD | HADD2, 1) => 2,
            (F2FP | I2FP | IABS | MOV, 0) if self.is_alone() => 1,
            _ => position,
        };
        place.min(usize::from(u8::MAX)) as u8
    }

    /// Whether the instruction has one source only.
    fn is_alone(&self) -> bool {
        let is_source = |operand: &&Operand| {
            matches!(
                operand,
                Operand::Register { .. }
                    | Operand::UniformRegister { .. }
                    | Operand::Immediate { .. }
                    | Operand::Constant { .. }
            )
        };
        // The result, and the source.
        self.instruction.operands.iter().filter(is_source).count() <= 2
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
