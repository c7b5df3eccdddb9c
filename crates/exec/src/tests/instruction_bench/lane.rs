//! One lane of a warp before an instruction, read operand by operand as the disassembly prints
//! them, and what the reference says it writes. Independent of the lowering under test.

use sass::{Adjust, ConstantBank, ImmediateKind, Instruction, Modifier, Operand, Select};

use crate::warp::Warp;

/// What an instruction writes in one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    Register(u8, u32),
    Uniform(u8, u32),
    Predicate(u8, bool),
    UniformPredicate(u8, bool),
}

/// A destination register.
#[derive(Clone, Copy, Debug)]
pub enum Destination {
    Register(u8),
    Uniform(u8),
}

/// A destination predicate.
#[derive(Clone, Copy, Debug)]
pub struct PredicateDestination {
    number: u8,
    uniform: bool,
}

impl PredicateDestination {
    /// PT: writes vanish.
    pub const NONE: PredicateDestination = PredicateDestination {
        number: 7,
        uniform: false,
    };
}

/// The state that an instruction finds in one lane.
pub struct Lane<'a> {
    pub instruction: &'a Instruction,
    warp: &'a Warp,
    constants: &'a [u8],
    pub lane: usize,
    next: usize,
    pub writes: Vec<Write>,
}

impl<'a> Lane<'a> {
    /// `constants` are the bytes of every constant bank.
    pub fn new(
        instruction: &'a Instruction,
        warp: &'a Warp,
        constants: &'a [u8],
        lane: usize,
    ) -> Lane<'a> {
        Lane {
            instruction,
            warp,
            constants,
            lane,
            next: 0,
            writes: Vec::new(),
        }
    }

    pub fn has(&self, modifier: Modifier) -> bool {
        self.instruction.has(modifier)
    }

    /// Whether a suffix of this name is printed.
    pub fn named(&self, name: &str) -> bool {
        self.instruction.modifiers.iter().any(|m| m.text() == name)
    }

    /// The next operand.
    pub fn peek(&self) -> Option<&'a Operand> {
        self.instruction.operands.get(self.next)
    }

    fn take(&mut self) -> &'a Operand {
        let operand = self.peek().expect("an operand");
        self.next += 1;
        operand
    }

    /// Skips an operand without meaning for the result.
    pub fn skip(&mut self) {
        self.take();
    }

    pub fn at_predicate(&self) -> bool {
        matches!(
            self.peek(),
            Some(Operand::Predicate { .. } | Operand::UniformPredicate { .. })
        )
    }

    pub fn destination(&mut self) -> Destination {
        match self.take() {
            Operand::Register { register, .. } => Destination::Register(register.0),
            Operand::UniformRegister { register, .. } => Destination::Uniform(register.0),
            other => panic!("{other:?} as destination"),
        }
    }

    pub fn predicate_destination(&mut self) -> PredicateDestination {
        match self.take() {
            Operand::Predicate { predicate, .. } => PredicateDestination {
                number: predicate.0,
                uniform: false,
            },
            Operand::UniformPredicate { predicate, .. } => PredicateDestination {
                number: predicate.0,
                uniform: true,
            },
            other => panic!("{other:?} as predicate destination"),
        }
    }

    /// A predicate destination that may be left out.
    pub fn optional_predicate(&mut self) -> PredicateDestination {
        if self.at_predicate() {
            self.predicate_destination()
        } else {
            PredicateDestination::NONE
        }
    }

    pub fn predicate(&mut self) -> bool {
        match self.take() {
            Operand::Predicate { predicate, negate } => {
                let value = predicate.0 == 7
                    || self.warp.predicates[predicate.0 as usize] >> self.lane & 1 == 1;
                value != *negate
            }
            Operand::UniformPredicate { predicate, negate } => {
                let value =
                    predicate.0 == 7 || self.warp.uniform_predicates >> predicate.0 & 1 == 1;
                value != *negate
            }
            other => panic!("{other:?} as predicate"),
        }
    }

    /// All seven predicates as bits.
    pub fn predicates(&self) -> u32 {
        (0..7)
            .map(|k| (self.warp.predicates[k] >> self.lane & 1) << k)
            .sum()
    }

    /// A predicate source that may be left out.
    pub fn predicate_or(&mut self, default: bool) -> bool {
        if self.at_predicate() {
            self.predicate()
        } else {
            default
        }
    }

    fn register(&self, number: u8) -> u32 {
        if number == 255 {
            0
        } else {
            self.warp.registers[number as usize][self.lane]
        }
    }

    fn uniform(&self, number: u8) -> u32 {
        if number >= 63 {
            0
        } else {
            self.warp.uniforms[number as usize]
        }
    }

    fn constant(&self, offset: i32) -> u32 {
        let at = (offset as u32 & 0xffff) as usize;
        u32::from_le_bytes(self.constants[at..at + 4].try_into().unwrap())
    }

    /// The raw 32-bit value of a source, its signs and suffix.
    pub fn raw(&mut self) -> (u32, Adjust, Select) {
        match self.take() {
            Operand::Register {
                register,
                adjust,
                select,
                ..
            } => (self.register(register.0), *adjust, *select),
            Operand::UniformRegister {
                register,
                adjust,
                select,
            } => (self.uniform(register.0), *adjust, *select),
            Operand::Immediate { bits, .. } => (*bits as u32, Adjust::default(), Select::None),
            Operand::Constant {
                bank: ConstantBank::Number(_),
                offset,
                adjust,
                select,
                ..
            } => (self.constant(*offset), *adjust, *select),
            other => panic!("{other:?} as source"),
        }
    }

    /// A plain word.
    pub fn word(&mut self) -> u32 {
        let (word, adjust, select) = self.raw();
        assert_eq!((adjust, select), (Adjust::default(), Select::None));
        word
    }

    /// A word with a minus sign or complement: the value before it and whether it is there.
    pub fn signed_word(&mut self) -> (u32, bool) {
        let (word, adjust, select) = self.raw();
        assert!(!adjust.absolute && select == Select::None);
        (word, adjust.negate || adjust.invert)
    }

    /// A 64-bit source and its signs. `high`: a literal is the upper word.
    pub fn wide(&mut self, high: bool) -> (u64, Adjust) {
        let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        match self.take() {
            Operand::Register {
                register, adjust, ..
            } => {
                let number = register.0;
                let value = if number == 255 {
                    0
                } else {
                    pair(self.register(number), self.register(number + 1))
                };
                (value, *adjust)
            }
            Operand::UniformRegister {
                register, adjust, ..
            } => {
                let number = register.0;
                let value = if number == 63 {
                    0
                } else {
                    pair(self.uniform(number), self.uniform(number + 1))
                };
                (value, *adjust)
            }
            Operand::Immediate { bits, kind } => {
                let value = match kind {
                    _ if high => *bits << 32,
                    ImmediateKind::Signed => i64::from(*bits as u32 as i32) as u64,
                    _ => u64::from(*bits as u32),
                };
                (value, Adjust::default())
            }
            Operand::Constant { offset, adjust, .. } => {
                let value = pair(self.constant(*offset), self.constant(*offset + 4));
                (value, *adjust)
            }
            other => panic!("{other:?} as wide source"),
        }
    }

    pub fn immediate(&mut self) -> u64 {
        match self.take() {
            Operand::Immediate { bits, .. } => *bits,
            other => panic!("{other:?} as literal"),
        }
    }

    pub fn write(&mut self, to: Destination, value: u32) {
        self.writes.push(match to {
            Destination::Register(number) => Write::Register(number, value),
            Destination::Uniform(number) => Write::Uniform(number, value),
        });
    }

    pub fn write_wide(&mut self, to: Destination, value: u64) {
        self.write(to, value as u32);
        let second = match to {
            Destination::Register(255) => Destination::Register(255),
            Destination::Uniform(63) => Destination::Uniform(63),
            Destination::Register(number) => Destination::Register(number + 1),
            Destination::Uniform(number) => Destination::Uniform(number + 1),
        };
        self.write(second, (value >> 32) as u32);
    }

    pub fn write_predicate(&mut self, to: PredicateDestination, value: bool) {
        self.writes.push(if to.uniform {
            Write::UniformPredicate(to.number, value)
        } else {
            Write::Predicate(to.number, value)
        });
    }
}
