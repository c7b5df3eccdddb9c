//! The vocabulary in which the families write their rows: operand forms, constructors of rows,
//! suffixes and operand fields. Stands between `table`, which holds the types, and the families.

use super::{Adjusts, Field, High, Row, Selects, Slot, Suffix, When};
use crate::architecture::Architecture;
use crate::opcode::Opcode;
use crate::operand::ImmediateKind;

/// No signs.
pub const PLAIN: Adjusts = Adjusts {
    negate: false,
    absolute: false,
    invert: false,
    half: false,
    at: (0, 0),
};
/// Minus sign only.
pub const NEGATE: Adjusts = Adjusts {
    negate: true,
    ..PLAIN
};
/// Complement only.
pub const INVERT: Adjusts = Adjusts {
    invert: true,
    ..PLAIN
};
/// Minus sign and absolute value.
pub const SIGNS: Adjusts = Adjusts {
    negate: true,
    absolute: true,
    ..PLAIN
};
/// Minus sign and absolute value of a half-precision source.
pub const HALF: Adjusts = Adjusts {
    half: true,
    ..SIGNS
};

// Operand forms: values of bits 9 to 11 as a set.
/// Form 1: all registers.
pub const RRR: u8 = 1 << 1;
/// Form 2: third source a literal.
pub const RRI: u8 = 1 << 2;
/// Form 3: third source a constant.
pub const RRC: u8 = 1 << 3;
/// Form 4: second source a literal.
pub const RIR: u8 = 1 << 4;
/// Form 5: second source a constant.
pub const RCR: u8 = 1 << 5;
/// Form 6: second source a uniform register.
pub const RUR: u8 = 1 << 6;
/// Form 7: third source a uniform register.
pub const RRU: u8 = 1 << 7;
/// Second source anything.
pub const ANY_B: u8 = RRR | RIR | RCR | RUR;
/// Third source anything but a register.
pub const ANY_C: u8 = RRI | RRC | RRU;
/// Second or third source anything.
pub const ANY: u8 = ANY_B | ANY_C;

const EVERY: (Architecture, Architecture) = (Architecture::Sm75, Architecture::Sm90);

/// A vector instruction of several operand forms.
pub const fn alu(
    opcode: Opcode,
    code: u16,
    forms: u8,
    when: &'static [When],
    suffixes: &'static [Suffix],
    fields: &'static [Field],
) -> Row {
    Row {
        opcode,
        code,
        forms,
        high: High::ByForm,
        architectures: EVERY,
        when,
        suffixes,
        fields,
        rest: &[],
    }
}

/// A uniform instruction of several operand forms; bit 91 is set in all of them.
pub const fn ualu(
    opcode: Opcode,
    code: u16,
    forms: u8,
    when: &'static [When],
    suffixes: &'static [Suffix],
    fields: &'static [Field],
) -> Row {
    Row {
        opcode,
        code,
        forms,
        high: High::One,
        architectures: EVERY,
        when,
        suffixes,
        fields,
        rest: &[],
    }
}

/// An instruction with one form: all of bits 0 to 11 given.
pub const fn plain(
    opcode: Opcode,
    code: u16,
    when: &'static [When],
    suffixes: &'static [Suffix],
    fields: &'static [Field],
) -> Row {
    Row {
        opcode,
        code: code & 0x1ff,
        forms: 1 << (code >> 9),
        high: High::Zero,
        architectures: EVERY,
        when,
        suffixes,
        fields,
        rest: &[],
    }
}

impl Row {
    /// The same row with another demand on bit 91.
    pub const fn high(mut self, high: High) -> Row {
        self.high = high;
        self
    }

    /// The same row with these values in unprinted bits.
    pub const fn rest(mut self, rest: &'static [(u8, u8, u64)]) -> Row {
        self.rest = rest;
        self
    }

    /// The same row from this architecture on.
    pub const fn since(mut self, first: Architecture) -> Row {
        self.architectures.0 = first;
        self
    }

    /// The same row up to this architecture.
    pub const fn until(mut self, last: Architecture) -> Row {
        self.architectures.1 = last;
        self
    }
}

/// A suffix that is always there.
pub const fn fixed(names: &'static str) -> Suffix {
    Suffix { bits: &[], names }
}

/// A suffix chosen by bit runs.
pub const fn suffix(bits: &'static [(u8, u8)], names: &'static str) -> Suffix {
    Suffix { bits, names }
}

/// No carry in at bits 87 to 90: the predicate `!PT`.
pub const NO_CARRY: (u8, u8, u64) = (87, 4, 15);
/// No second carry in at bits 77 to 80.
pub const NO_SECOND_CARRY: (u8, u8, u64) = (77, 4, 15);
/// No carry out at bits 81 to 83: PT.
pub const NO_CARRY_OUT: (u8, u8, u64) = (81, 3, 7);

/// The general destination register, bits 16 to 23.
pub const D: Field = reg(16);
/// The uniform destination register, bits 16 to 21.
pub const UD: Field = ureg(16);

/// A general register without signs.
pub const fn reg(at: u8) -> Field {
    Field::Register {
        at,
        adjust: PLAIN,
        select: Selects::Nothing,
        optional: false,
        reused: false,
    }
}

/// A general register that is left out if RZ.
pub const fn reg_or_nothing(at: u8) -> Field {
    Field::Register {
        at,
        adjust: PLAIN,
        select: Selects::Nothing,
        optional: true,
        reused: false,
    }
}

/// A uniform register.
pub const fn ureg(at: u8) -> Field {
    Field::Uniform {
        at,
        adjust: PLAIN,
        optional: false,
    }
}

/// A uniform register that is left out if URZ.
pub const fn ureg_or_nothing(at: u8) -> Field {
    Field::Uniform {
        at,
        adjust: PLAIN,
        optional: true,
    }
}

/// An integer source printed without sign.
pub const fn word(slot: Slot, adjust: Adjusts) -> Field {
    Field::Source {
        slot,
        literal: ImmediateKind::Unsigned,
        adjust,
        select: Selects::Nothing,
    }
}

/// An integer source printed with sign.
pub const fn int(slot: Slot, adjust: Adjusts) -> Field {
    Field::Source {
        slot,
        literal: ImmediateKind::Signed,
        adjust,
        select: Selects::Nothing,
    }
}

/// A single-precision source.
pub const fn float(slot: Slot, adjust: Adjusts) -> Field {
    Field::Source {
        slot,
        literal: ImmediateKind::Float32,
        adjust,
        select: Selects::Nothing,
    }
}

/// A double-precision source.
pub const fn double(slot: Slot, adjust: Adjusts) -> Field {
    Field::Source {
        slot,
        literal: ImmediateKind::Float64High,
        adjust,
        select: Selects::Nothing,
    }
}

/// A half-precision source.
pub const fn half(slot: Slot) -> Field {
    let literal = ImmediateKind::Float16Pair;
    Field::Source {
        slot,
        literal,
        adjust: HALF,
        select: Selects::Half,
    }
}

/// A predicate destination.
pub const fn pred(at: u8) -> Field {
    Field::Predicate {
        at,
        not: None,
        optional: false,
        uniform: false,
        complement: false,
    }
}

/// A predicate destination that is left out if PT.
pub const fn pred_or_nothing(at: u8) -> Field {
    Field::Predicate {
        at,
        not: None,
        optional: true,
        uniform: false,
        complement: false,
    }
}

/// A predicate source with its `!` in the bit above.
pub const fn pred_source(at: u8) -> Field {
    Field::Predicate {
        at,
        not: Some(at + 3),
        optional: false,
        uniform: false,
        complement: false,
    }
}

/// A predicate source that is left out if PT.
pub const fn pred_source_or_nothing(at: u8) -> Field {
    Field::Predicate {
        at,
        not: Some(at + 3),
        optional: true,
        uniform: false,
        complement: false,
    }
}

/// A uniform predicate destination.
pub const fn upred(at: u8) -> Field {
    Field::Predicate {
        at,
        not: None,
        optional: false,
        uniform: true,
        complement: false,
    }
}

/// A uniform predicate destination that is left out if UPT.
pub const fn upred_or_nothing(at: u8) -> Field {
    Field::Predicate {
        at,
        not: None,
        optional: true,
        uniform: true,
        complement: false,
    }
}

/// A uniform predicate source.
pub const fn upred_source(at: u8) -> Field {
    Field::Predicate {
        at,
        not: Some(at + 3),
        optional: false,
        uniform: true,
        complement: false,
    }
}

/// A uniform predicate source that is left out if UPT.
pub const fn upred_source_or_nothing(at: u8) -> Field {
    Field::Predicate {
        at,
        not: Some(at + 3),
        optional: true,
        uniform: true,
        complement: false,
    }
}

/// A predicate source stored complemented, left out if PT.
pub const fn gate(at: u8, uniform: bool) -> Field {
    Field::Predicate {
        at,
        not: Some(at + 3),
        optional: true,
        uniform,
        complement: true,
    }
}

/// An unsigned literal.
pub const fn unsigned(bits: &'static [(u8, u8)]) -> Field {
    Field::Immediate {
        bits,
        kind: ImmediateKind::Unsigned,
        default: None,
        scale: 1,
    }
}

/// An unsigned literal that is left out if it has the value `default`.
pub const fn unsigned_or_nothing(bits: &'static [(u8, u8)], default: u64) -> Field {
    Field::Immediate {
        bits,
        kind: ImmediateKind::Unsigned,
        default: Some(default),
        scale: 1,
    }
}

/// A signed literal.
pub const fn signed(bits: &'static [(u8, u8)]) -> Field {
    Field::Immediate {
        bits,
        kind: ImmediateKind::Signed,
        default: None,
        scale: 1,
    }
}
