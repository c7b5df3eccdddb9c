//! The multi-function unit. The machine's own tables are not published, only bounds of their errors
//! (PTX ISA, the approximate functions); results here are the mathematical ones in double precision,
//! rounded once, so they lie within every bound, rise and fall as the functions do and are the same on
//! every host. Code that shows the unit's result directly (`__sinf`, `ex2.approx`) can differ from the
//! machine's in the last bits; full-precision division, square root and the double-precision functions
//! correct the seed, so that a difference there vanishes.
//!
//! | function | PTX bound for singles | here | special cases |
//! |---|---|---|---|
//! | RCP | 1 ulp | 0.5 ulp | ±0 gives ±∞, ±∞ gives ±0 |
//! | RSQ | 2^-22.9 relative | 0.5 ulp | ±0 gives ±∞, below 0 NaN |
//! | SQRT | 2^-23 relative | 0.5 ulp | -0 gives -0, below 0 NaN |
//! | EX2 | 2^-22 relative | 0.5 ulp | -∞ gives 0, powers of integers exact |
//! | LG2 | 2^-22 absolute near 1, relative elsewhere | 0.5 ulp | ±0 gives -∞, below 0 NaN, 1 gives 0 |
//! | SIN, COS | 2^-20.9 absolute over one turn | 0.5 ulp | ±∞ gives NaN |
//! | TANH | 2^-11 relative | 0.5 ulp | ±∞ gives ±1 |
//! | RCP64H, RSQ64H | 2^-20 (upper word of a double) | upper word, truncated | as RCP and RSQ |
//!
//! Denormal single sources count as zero and denormal results become zero, as on the machine: compiled
//! code scales around them. The instruction bench holds each function against these bounds.

use sass::{Modifier, Select};

use crate::lanes::Lanes;
use crate::lower::{Lowered, Reader, Signs, refuse};
use crate::micro::Operand;
use crate::rounding::{
    BRAIN, HALF, NAN, Rounding, SINGLE, brain_to_f32, flush, half_to_f32, narrow,
};
use crate::warp::Warp;

/// A function of one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub(crate) enum Function {
    /// cos(2πx).
    Cosine,
    /// sin(2πx).
    Sine,
    Exponential2,
    Logarithm2,
    Reciprocal,
    ReciprocalRoot,
    Root,
    Tangent,
    /// Reciprocal of a double by its upper word.
    Reciprocal64,
    /// Reciprocal square root of a double by its upper word.
    ReciprocalRoot64,
}

/// A lowered MUFU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    row: u16,
    a: Operand,
    signs: Signs,
    function: Function,
    /// Half precision, from the low or the high half.
    half: Option<u8>,
    /// Brain floats instead of halves.
    brain: bool,
}

/// Lowers MUFU.
pub(crate) fn lower(r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    r.only(&[
        COS, SIN, EX2, LG2, RCP, RSQ, SQRT, TANH, RCP64H, RSQ64H, F16, BF16,
    ])?;
    let functions = [
        (COS, Some(Function::Cosine)),
        (SIN, Some(Function::Sine)),
        (EX2, Some(Function::Exponential2)),
        (LG2, Some(Function::Logarithm2)),
        (RCP, Some(Function::Reciprocal)),
        (RSQ, Some(Function::ReciprocalRoot)),
        (SQRT, Some(Function::Root)),
        (TANH, Some(Function::Tangent)),
        (RCP64H, Some(Function::Reciprocal64)),
        (RSQ64H, Some(Function::ReciprocalRoot64)),
    ];
    let Some(function) = r.choose(&functions, None) else {
        return refuse("MUFU without a function");
    };
    let row = r.destination(1)?;
    let (a, adjust, select) = r.source()?;
    let half = match (r.has(F16) || r.has(BF16), select) {
        (false, Select::None) => None,
        (true, Select::None | Select::H0 | Select::H0H0) => Some(0),
        (true, Select::H1 | Select::H1H1) => Some(16),
        _ => return refuse("a suffix of MUFU's source"),
    };
    Ok(Op {
        row,
        a,
        signs: Signs::default().with(0, adjust),
        function,
        half,
        brain: r.has(BF16),
    })
}

/// Value in double precision.
fn evaluate(function: Function, x: f64) -> f64 {
    match function {
        Function::Cosine => libm::cos(turn(x)),
        Function::Sine => {
            let reduced = turn(x);
            // Keeps the sign of zero.
            if reduced == 0.0 {
                reduced
            } else {
                libm::sin(reduced)
            }
        }
        Function::Exponential2 => libm::exp2(x),
        Function::Logarithm2 => libm::log2(x),
        Function::Reciprocal => 1.0 / x,
        Function::ReciprocalRoot => 1.0 / x.sqrt(),
        Function::Root => x.sqrt(),
        Function::Tangent => libm::tanh(x),
        Function::Reciprocal64 | Function::ReciprocalRoot64 => x,
    }
}

/// 2πx with whole turns taken off first.
fn turn(x: f64) -> f64 {
    (x - x.round_ties_even()) * std::f64::consts::TAU
}

/// The upper word of a seed for double precision.
fn seed64(function: Function, high: u32) -> u32 {
    let exponent = high >> 20 & 0x7ff;
    if exponent == 0x7ff && high & 0xf_ffff != 0 {
        return NAN;
    }
    // Denormals count as zero.
    let x = if exponent == 0 {
        f64::from_bits(u64::from(high & 0x8000_0000) << 32)
    } else {
        f64::from_bits(u64::from(high) << 32)
    };
    let value = match function {
        Function::ReciprocalRoot64 => 1.0 / x.sqrt(),
        _ => 1.0 / x,
    };
    if value.is_nan() {
        return NAN;
    }
    let bits = value.to_bits();
    if bits >> 52 & 0x7ff == 0 {
        return (bits >> 32) as u32 & 0x8000_0000;
    }
    (bits >> 32) as u32
}

#[inline(never)]
fn one(op: &Op, bits: u32) -> u32 {
    match op.function {
        Function::Reciprocal64 | Function::ReciprocalRoot64 => seed64(op.function, bits),
        function if op.half.is_some() => {
            let (x, format) = if op.brain {
                (brain_to_f32(bits), BRAIN)
            } else {
                (half_to_f32(bits), HALF)
            };
            narrow(evaluate(function, f64::from(x)), format, Rounding::Nearest)
        }
        function => {
            let x = f64::from(f32::from_bits(flush(bits)));
            flush(narrow(evaluate(function, x), SINGLE, Rounding::Nearest))
        }
    }
}

/// Executes MUFU in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    let a = warp.fetch(op.a);
    let mut result = Lanes::ZERO;
    for lane in crate::lanes::lanes_of(mask) {
        let bits = match op.half {
            Some(shift) => {
                let half = a[lane] >> shift & 0xffff;
                half & !(!op.signs.keep(0) >> 16) ^ op.signs.flip(0) >> 16
            }
            None => op.signs.apply(0, a[lane]),
        };
        result[lane] = one(op, bits);
    }
    warp.write(op.row, &result, mask);
}
