//! What atomic operations make of a value: functions and types, alike in global and shared memory.

use crate::rounding::{
    DOUBLE_NAN, brain_to_f32, canonical, f32_to_brain, f32_to_half, flush, half_to_f32,
};

/// What an atomic does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Function {
    Add,
    Minimum,
    Maximum,
    /// Up to the operand, then zero.
    Increment,
    /// Down from the operand.
    Decrement,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
}

/// Type of an atomic's elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Type {
    U32,
    S32,
    U64,
    S64,
    /// Singles, denormals flushed.
    F32,
    /// Singles with denormals.
    F32Denormal,
    F16x2,
    BF16x2,
    F64,
    /// Bits alone: exchanged and compared.
    B128,
}

impl Type {
    /// Bytes.
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Type::U64 | Type::S64 | Type::F64 => 8,
            Type::B128 => 16,
            _ => 4,
        }
    }
}

/// Function and type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arithmetic {
    pub(crate) function: Function,
    pub(crate) kind: Type,
    /// Elements of a lane, side by side; each is an operation of its own.
    pub(crate) elements: u8,
}

impl Arithmetic {
    /// Bytes of a lane.
    pub(crate) const fn bytes(self) -> u32 {
        self.kind.bytes() * self.elements as u32
    }
}

fn wide(words: [u32; 4]) -> u64 {
    u64::from(words[1]) << 32 | u64::from(words[0])
}

/// The new words of a lane: `old` combined with the operands.
#[inline]
pub(crate) fn combine(
    arithmetic: Arithmetic,
    old: [u32; 4],
    operand: [u32; 4],
    second: [u32; 4],
) -> [u32; 4] {
    if arithmetic.kind == Type::B128 {
        return match arithmetic.function {
            Function::CompareAndSwap if old == operand => second,
            Function::CompareAndSwap => old,
            _ => operand,
        };
    }
    if arithmetic.elements > 1 {
        let mut new = old;
        for index in 0..usize::from(arithmetic.elements).min(4) {
            let [old, operand] = [old[index], operand[index]].map(u64::from);
            new[index] = element(arithmetic, old, operand, 0) as u32;
        }
        return new;
    }
    let new = element(arithmetic, wide(old), wide(operand), wide(second));
    [new as u32, (new >> 32) as u32, 0, 0]
}

/// The new value of one element.
fn element(arithmetic: Arithmetic, old: u64, operand: u64, second: u64) -> u64 {
    let kind = arithmetic.kind;
    let (old32, operand32) = (old as u32, operand as u32);
    match arithmetic.function {
        Function::Exchange => operand,
        Function::CompareAndSwap => {
            let same = if kind.bytes() == 8 {
                old == operand
            } else {
                old32 == operand32
            };
            if same { second } else { old }
        }
        Function::And => old & operand,
        Function::Or => old | operand,
        Function::Xor => old ^ operand,
        Function::Increment => u64::from(if old32 >= operand32 { 0 } else { old32 + 1 }),
        Function::Decrement => u64::from(if old32 == 0 || old32 > operand32 {
            operand32
        } else {
            old32 - 1
        }),
        Function::Minimum => choose(kind, old, operand, true),
        Function::Maximum => choose(kind, old, operand, false),
        Function::Add => match kind {
            Type::U32 | Type::S32 => u64::from(old32.wrapping_add(operand32)),
            Type::U64 | Type::S64 => old.wrapping_add(operand),
            Type::F32 => {
                let sum = f32::from_bits(flush(old32)) + f32::from_bits(flush(operand32));
                u64::from(flush(canonical(sum)))
            }
            Type::F32Denormal => {
                let sum = f32::from_bits(old32) + f32::from_bits(operand32);
                u64::from(canonical(sum))
            }
            Type::B128 => old,
            Type::F64 => {
                let sum = f64::from_bits(old) + f64::from_bits(operand);
                if sum.is_nan() {
                    DOUBLE_NAN
                } else {
                    sum.to_bits()
                }
            }
            Type::F16x2 => halves(old32, operand32, |a, b| {
                f32_to_half(half_to_f32(a) + half_to_f32(b))
            }),
            Type::BF16x2 => halves(old32, operand32, |a, b| {
                f32_to_brain(brain_to_f32(a) + brain_to_f32(b))
            }),
        },
    }
}

fn halves(a: u32, b: u32, add: impl Fn(u32, u32) -> u32) -> u64 {
    u64::from(add(a & 0xffff, b & 0xffff) | add(a >> 16, b >> 16) << 16)
}

fn choose(kind: Type, old: u64, operand: u64, minimum: bool) -> u64 {
    if let Type::F16x2 | Type::BF16x2 = kind {
        // Sign and all exponent bits of the format.
        let infinity = if kind == Type::F16x2 { 0x7c00 } else { 0x7f80 };
        return halves(old as u32, operand as u32, |a, b| {
            choose_half(a, b, infinity, minimum)
        });
    }
    let less = match kind {
        Type::S32 => (old as i32) < operand as i32,
        Type::S64 => (old as i64) < operand as i64,
        Type::U64 => old < operand,
        _ => (old as u32) < operand as u32,
    };
    if less == minimum { old } else { operand }
}

/// The lesser or greater of two halves: a number rather than NaN, -0 less than +0.
fn choose_half(a: u32, b: u32, infinity: u32, minimum: bool) -> u32 {
    let is_nan = |bits: u32| bits & 0x7fff > infinity;
    match (is_nan(a), is_nan(b)) {
        (true, true) => 0x7fff,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let order = |bits: u32| {
                if bits & 0x8000 != 0 {
                    -((bits & 0x7fff) as i32) - 1
                } else {
                    bits as i32
                }
            };
            if (order(a) < order(b)) == minimum {
                a
            } else {
                b
            }
        }
    }
}
