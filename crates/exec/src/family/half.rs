//! Half-precision and brain-float arithmetic on pairs.

use sass::{Modifier, Opcode, Select};

use crate::lanes::{Lanes, mask_of};
use crate::lower::{Lowered, Reader, Signs, refuse};
use crate::micro::{Operand, PredicateSource};
use crate::rounding::{
    BRAIN, Format, HALF, HALF_NAN, NAN, Rounding, SINGLE, brain_to_f32, f32_to_brain, f32_to_half,
    half_to_f32, sum,
};
use crate::warp::Warp;

use super::predicate::{Combine, Compare, comparison};

/// Which halves of a source are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Halves {
    Both,
    Low,
    High,
    /// The source is a single.
    Single,
}

/// A source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    operand: Operand,
    halves: Halves,
    signs: Signs,
    /// The high half is negated besides (`.H0_NH1`).
    negate_high: bool,
}

/// How results are formed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    brain: bool,
    /// The result is one single instead of two halves.
    single: bool,
    ftz: bool,
    /// Zero times anything is zero.
    fmz: bool,
    saturate: bool,
    relu: bool,
}

/// Lowered half-precision operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Add {
        row: u16,
        a: Source,
        b: Source,
        kind: Kind,
    },
    Multiply {
        row: u16,
        a: Source,
        b: Source,
        kind: Kind,
    },
    MultiplyAdd {
        row: u16,
        a: Source,
        b: Source,
        c: Source,
        kind: Kind,
    },
    MinMax {
        row: u16,
        a: Source,
        b: Source,
        minimum: PredicateSource,
        kind: Kind,
        nan: bool,
        xor_sign: bool,
    },
    /// 1.0 (or all ones) in each half where the comparison holds.
    Set {
        row: u16,
        a: Source,
        b: Source,
        kind: Kind,
        compare: Compare,
        combine: Combine,
        with: PredicateSource,
        one: bool,
    },
    /// Predicates of the low and the high half, or whether both hold and whether not.
    SetPredicates {
        out: [u8; 2],
        a: Source,
        b: Source,
        kind: Kind,
        compare: Compare,
        combine: Combine,
        with: PredicateSource,
        both: bool,
    },
}

fn source(r: &mut Reader<'_>) -> Lowered<Source> {
    let (operand, adjust, select) = r.source()?;
    let halves = match select {
        Select::None | Select::H1H0 | Select::H0NegatedH1 => Halves::Both,
        Select::H0H0 | Select::H0 => Halves::Low,
        Select::H1H1 | Select::H1 => Halves::High,
        Select::F32 => Halves::Single,
        _ => return refuse("a suffix of a half-precision source"),
    };
    Ok(Source {
        operand,
        halves,
        signs: Signs::default().with(0, adjust),
        negate_high: select == Select::H0NegatedH1,
    })
}

/// Lowers a half-precision instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let kind = Kind {
        brain: r.has(BF16_V2),
        single: r.has(F32),
        ftz: r.has(FTZ) || r.has(FMZ),
        fmz: r.has(FMZ),
        saturate: r.has(SAT),
        relu: r.has(RELU),
    };
    Ok(match opcode {
        Opcode::HADD2 => {
            r.only(&[F32, FTZ, SAT, BF16_V2])?;
            Op::Add {
                row: r.destination(1)?,
                a: source(r)?,
                b: source(r)?,
                kind,
            }
        }
        Opcode::HMUL2 => {
            r.only(&[F32, FTZ, FMZ, SAT, BF16_V2])?;
            Op::Multiply {
                row: r.destination(1)?,
                a: source(r)?,
                b: source(r)?,
                kind,
            }
        }
        Opcode::HFMA2 => {
            // `.OOB`: a factor from outside a tensor makes the result zero. Only copies of tensors mark
            // elements so, with a NaN of their own; without them it is a plain multiply-add.
            r.only(&[F32, FTZ, FMZ, SAT, RELU, BF16_V2, MMA, OOB])?;
            let row = r.destination(1)?;
            let (a, b, c) = (source(r)?, source(r)?, source(r)?);
            if r.at_predicate() {
                return refuse("HFMA2.RELU under a predicate");
            }
            Op::MultiplyAdd { row, a, b, c, kind }
        }
        Opcode::HMNMX2 => {
            r.only(&[FTZ, BF16_V2, NAN, XORSIGN])?;
            Op::MinMax {
                row: r.destination(1)?,
                a: source(r)?,
                b: source(r)?,
                minimum: r.predicate_source()?,
                kind,
                nan: r.has(NAN),
                xor_sign: r.has(XORSIGN),
            }
        }
        Opcode::HSET2 => {
            let (compare, combine) = comparison(r, &[BF, FTZ, BF16_V2])?;
            Op::Set {
                row: r.destination(1)?,
                a: source(r)?,
                b: source(r)?,
                kind,
                compare,
                combine,
                with: r.predicate_source()?,
                one: r.has(BF),
            }
        }
        Opcode::HSETP2 => {
            let (compare, combine) = comparison(r, &[H_AND, FTZ, BF16_V2])?;
            let out = [r.predicate_destination()?, r.predicate_destination()?];
            Op::SetPredicates {
                out,
                a: source(r)?,
                b: source(r)?,
                kind,
                compare,
                combine,
                with: r.predicate_source()?,
                both: r.has(H_AND),
            }
        }
        other => return refuse(format!("{} is not a half instruction", other.text())),
    })
}

/// One element widened to single precision.
#[inline(always)]
fn widen(bits: u32, kind: Kind) -> f32 {
    if kind.brain {
        let flushed = if kind.ftz && bits & 0x7f80 == 0 {
            bits & 0x8000
        } else {
            bits
        };
        brain_to_f32(flushed)
    } else {
        let flushed = if kind.ftz && bits & 0x7c00 == 0 {
            bits & 0x8000
        } else {
            bits
        };
        half_to_f32(flushed)
    }
}

/// The elements that a source's suffix names.
#[inline(always)]
fn chosen(word: u32, halves: Halves) -> (u32, u32) {
    match halves {
        Halves::Both => (word & 0xffff, word >> 16),
        Halves::Low => (word & 0xffff, word & 0xffff),
        // Of a single the half that has its sign.
        Halves::High | Halves::Single => (word >> 16, word >> 16),
    }
}

/// Both elements of a source in one lane, in single precision.
#[inline(always)]
fn elements(word: u32, source: Source, kind: Kind) -> (f32, f32) {
    if source.halves == Halves::Single {
        let value = f32::from_bits(source.signs.apply(0, word));
        return (value, value);
    }
    let keep = 0xffff_ffff ^ (!source.signs.keep(0) | !source.signs.keep(0) >> 16);
    let flip = source.signs.flip(0) | source.signs.flip(0) >> 16;
    let flip = flip ^ (source.negate_high as u32) << 31;
    let (low, high) = chosen(word & keep ^ flip, source.halves);
    (widen(low, kind), widen(high, kind))
}

/// Clamps and flushes the bits of a rounded element.
#[inline(always)]
fn settle(bits: u32, kind: Kind) -> u32 {
    let infinity = if kind.brain { 0x7f80 } else { 0x7c00 };
    let one = if kind.brain { 0x3f80 } else { 0x3c00 };
    let nan = bits & 0x7fff > infinity;
    let mut bits = if nan { HALF_NAN } else { bits };
    if kind.ftz && bits & infinity == 0 {
        bits &= 0x8000;
    }
    if kind.saturate {
        bits = if nan || bits & 0x8000 != 0 {
            0
        } else {
            bits.min(one)
        };
    }
    if kind.relu && !nan && bits & 0x8000 != 0 {
        bits = 0;
    }
    bits
}

/// Rounds a result that is exact, or innocuously rounded, in single precision.
#[inline(always)]
fn narrow(value: f32, kind: Kind) -> u32 {
    settle(
        if kind.brain {
            f32_to_brain(value)
        } else {
            f32_to_half(value)
        },
        kind,
    )
}

/// a · b + c rounded once.
#[inline(always)]
fn multiply_add(a: f32, b: f32, c: f32, kind: Kind, format: Format) -> u32 {
    let product = if kind.fmz && (a == 0.0 || b == 0.0) {
        0.0
    } else {
        f64::from(a) * f64::from(b)
    };
    sum(product, f64::from(c), format, Rounding::Nearest)
}

/// Applies `f` to both elements of two sources.
#[inline(always)]
fn each2(
    warp: &mut Warp,
    mask: u32,
    row: u16,
    a: Source,
    b: Source,
    kind: Kind,
    f: impl Fn(f32, f32) -> u32,
) {
    let (x, y) = (warp.fetch(a.operand), warp.fetch(b.operand));
    let result = Lanes::from_fn(|lane| {
        let (a_low, a_high) = elements(x[lane], a, kind);
        let (b_low, b_high) = elements(y[lane], b, kind);
        if kind.single {
            f(a_low, b_low)
        } else {
            f(a_low, b_low) | f(a_high, b_high) << 16
        }
    });
    warp.write(row, &result, mask);
}

#[inline(always)]
fn single(bits: u32, kind: Kind) -> u32 {
    let bits = if kind.ftz {
        crate::rounding::flush(bits)
    } else {
        bits
    };
    let bits = if kind.saturate {
        crate::rounding::saturate(bits)
    } else {
        bits
    };
    if kind.relu && bits != NAN && bits >> 31 == 1 {
        0
    } else {
        bits
    }
}

/// Whether sums and products of these sources, rounded to single precision, round to a half as if
/// they had not been rounded before: those of two halves do.
#[inline(always)]
fn innocuous(a: Source, b: Source, kind: Kind) -> bool {
    !kind.brain && a.halves != Halves::Single && b.halves != Halves::Single
}

/// A number of double precision as the result says.
#[inline(always)]
fn round(value: f64, kind: Kind) -> u32 {
    use crate::rounding::narrow;
    match (kind.single, kind.brain) {
        (true, _) => single(narrow(value, SINGLE, Rounding::Nearest), kind),
        (false, true) => settle(narrow(value, BRAIN, Rounding::Nearest), kind),
        (false, false) => settle(narrow(value, HALF, Rounding::Nearest), kind),
    }
}

/// Executes a half-precision operation in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    match *op {
        Op::Add { row, a, b, kind } => {
            if kind.single {
                each2(warp, mask, row, a, b, kind, |x, y| {
                    single(crate::rounding::canonical(x + y), kind)
                });
            } else if innocuous(a, b, kind) {
                each2(warp, mask, row, a, b, kind, |x, y| narrow(x + y, kind));
            } else {
                let format = if kind.brain { BRAIN } else { HALF };
                each2(warp, mask, row, a, b, kind, |x, y| {
                    settle(multiply_add(x, 1.0, y, kind, format), kind)
                });
            }
        }
        Op::Multiply { row, a, b, kind } => {
            let zero = |x: f32, y: f32| kind.fmz && (x == 0.0 || y == 0.0);
            if innocuous(a, b, kind) && !kind.single {
                each2(warp, mask, row, a, b, kind, |x, y| {
                    narrow(if zero(x, y) { 0.0 } else { x * y }, kind)
                });
            } else {
                each2(warp, mask, row, a, b, kind, |x, y| {
                    let product = f64::from(x) * f64::from(y);
                    round(if zero(x, y) { 0.0 } else { product }, kind)
                });
            }
        }
        Op::MultiplyAdd { row, a, b, c, kind } => {
            let (x, y, z) = (
                warp.fetch(a.operand),
                warp.fetch(b.operand),
                warp.fetch(c.operand),
            );
            let format = match (kind.single, kind.brain) {
                (true, _) => SINGLE,
                (false, true) => BRAIN,
                (false, false) => HALF,
            };
            let result = Lanes::from_fn(|lane| {
                let (a_low, a_high) = elements(x[lane], a, kind);
                let (b_low, b_high) = elements(y[lane], b, kind);
                let (c_low, c_high) = elements(z[lane], c, kind);
                let low = multiply_add(a_low, b_low, c_low, kind, format);
                if kind.single {
                    single(low, kind)
                } else {
                    let high = multiply_add(a_high, b_high, c_high, kind, format);
                    settle(low, kind) | settle(high, kind) << 16
                }
            });
            warp.write(row, &result, mask);
        }
        Op::MinMax {
            row,
            a,
            b,
            minimum,
            kind,
            nan,
            xor_sign,
        } => {
            let minimum = warp.predicate(minimum);
            let (x, y) = (warp.fetch(a.operand), warp.fetch(b.operand));
            let choose = |a: f32, b: f32, sign: u32, minimum: bool| {
                let chosen = super::float::min_max(a.to_bits(), b.to_bits(), minimum, nan);
                let chosen = f32::from_bits(chosen);
                let bits = if kind.brain {
                    f32_to_brain(chosen)
                } else {
                    f32_to_half(chosen)
                };
                if xor_sign && !chosen.is_nan() {
                    bits & 0x7fff | sign & 0x8000
                } else {
                    bits
                }
            };
            let result = Lanes::from_fn(|lane| {
                let (a_low, a_high) = elements(x[lane], a, kind);
                let (b_low, b_high) = elements(y[lane], b, kind);
                let minimum = minimum >> lane & 1 == 1;
                // The sign comes from the sources before their |…|, as in FMNMX.
                let flip = (a.signs.flip(0) ^ b.signs.flip(0)) >> 16;
                let (a_sign, b_sign) = (chosen(x[lane], a.halves), chosen(y[lane], b.halves));
                let low = choose(a_low, b_low, a_sign.0 ^ b_sign.0 ^ flip, minimum);
                let high = choose(a_high, b_high, a_sign.1 ^ b_sign.1 ^ flip, minimum);
                low | high << 16
            });
            warp.write(row, &result, mask);
        }
        Op::Set {
            row,
            a,
            b,
            kind,
            compare,
            combine,
            with,
            one,
        } => {
            let (low, high) = compare_halves(warp, a, b, kind, compare);
            let with = warp.predicate(with);
            let (low, high) = (combine.masks(low, with), combine.masks(high, with));
            let set = match (one, kind.brain) {
                (false, _) => 0xffff,
                (true, false) => 0x3c00,
                (true, true) => 0x3f80,
            };
            let result =
                Lanes::from_fn(|lane| ((low >> lane & 1) * set) | ((high >> lane & 1) * set) << 16);
            warp.write(row, &result, mask);
        }
        Op::SetPredicates {
            out,
            a,
            b,
            kind,
            compare,
            combine,
            with,
            both,
        } => {
            let (low, high) = compare_halves(warp, a, b, kind, compare);
            let with = warp.predicate(with);
            if both {
                warp.write_predicate(out[0], combine.masks(low & high, with), mask);
                warp.write_predicate(out[1], combine.masks(!(low & high), with), mask);
            } else {
                warp.write_predicate(out[0], combine.masks(low, with), mask);
                warp.write_predicate(out[1], combine.masks(high, with), mask);
            }
        }
    }
}

/// The lanes in which the low and the high elements compare.
#[inline(always)]
fn compare_halves(warp: &Warp, a: Source, b: Source, kind: Kind, compare: Compare) -> (u32, u32) {
    let (x, y) = (warp.fetch(a.operand), warp.fetch(b.operand));
    let low =
        mask_of(|lane| compare.floats(elements(x[lane], a, kind).0, elements(y[lane], b, kind).0));
    let high =
        mask_of(|lane| compare.floats(elements(x[lane], a, kind).1, elements(y[lane], b, kind).1));
    (low, high)
}
