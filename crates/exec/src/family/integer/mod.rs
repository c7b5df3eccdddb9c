//! Integer arithmetic, logic and shifts: the operations (here), what instructions are lowered to which
//! (`lower`) and what they do to the lanes of a warp (`execute`). What one lane computes is in
//! `arithmetic`.

mod execute;
mod lower;

use crate::micro::{Operand, PredicateSource, Wide};

use super::arithmetic::{Dot, Shift, ShiftAdd};

pub(crate) use execute::execute;
pub(crate) use lower::{lower, shift_add_sources, shift_kind, three_negatable};

/// Lowered integer operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Sum of three without carries.
    Add3 {
        row: u16,
        sources: [Operand; 3],
        negate: u8,
    },
    /// Sum of three with carries: `extended` adds carries in and complements instead of negating.
    Add3Carry {
        row: u16,
        out: [u8; 2],
        sources: [Operand; 3],
        negate: u8,
        extended: bool,
        carry: [PredicateSource; 2],
    },
    /// Low word of a · b + c.
    MultiplyAdd {
        row: u16,
        sources: [Operand; 3],
        negate: bool,
    },
    /// Low word of a · b + (c or ~c) + carry.
    MultiplyAddCarry {
        row: u16,
        sources: [Operand; 3],
        invert: bool,
        carry: PredicateSource,
    },
    /// 64-bit a · b + c, or its upper word.
    MultiplyAddWide {
        row: u16,
        out: u8,
        a: Operand,
        b: Operand,
        c: Wide,
        signed: bool,
        /// The minus sign or, extended, the complement of c.
        negate: bool,
        extended: bool,
        carry: PredicateSource,
        high: bool,
    },
    /// Any logic function of three.
    Logic3 {
        row: u16,
        sources: [Operand; 3],
        table: u8,
        out: u8,
        with: PredicateSource,
        conjunction: bool,
    },
    /// Funnel shift.
    Shift {
        row: u16,
        sources: [Operand; 3],
        kind: Shift,
    },
    /// (a << shift) + b.
    ShiftAdd {
        row: u16,
        out: u8,
        sources: [Operand; 3],
        carry: PredicateSource,
        kind: ShiftAdd,
    },
    /// Absolute value.
    Absolute { row: u16, a: Operand },
    /// Minimum where the predicate holds, else maximum.
    MinMax {
        row: u16,
        a: Operand,
        b: Operand,
        signed: bool,
        minimum: PredicateSource,
    },
    /// Position of the leading bit.
    LeadingOne {
        row: u16,
        a: Operand,
        invert: bool,
        signed: bool,
        shift: bool,
    },
    /// Number of ones.
    CountOnes { row: u16, a: Operand, invert: bool },
    /// Bits in reverse order.
    Reverse { row: u16, a: Operand },
    /// Ones from bit a up, b of them.
    Mask {
        row: u16,
        a: Operand,
        b: Operand,
        wrap: bool,
    },
    /// Extends the low b bits of a.
    Extend {
        row: u16,
        a: Operand,
        b: Operand,
        wrap: bool,
        signed: bool,
    },
    /// Dot product of bytes or halves.
    Dot {
        row: u16,
        sources: [Operand; 3],
        kind: Dot,
    },
    /// |a - b| + c.
    AbsoluteDifference {
        row: u16,
        sources: [Operand; 3],
        signed: bool,
    },
    /// |a - b| of each byte, packed or summed onto c.
    AbsoluteDifference4 {
        row: u16,
        sources: [Operand; 3],
        signed: bool,
        accumulate: bool,
    },
}
