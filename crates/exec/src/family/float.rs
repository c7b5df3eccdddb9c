//! Single-precision arithmetic.

use sass::{Modifier, Opcode, Operand as Printed};

use crate::isa_dispatch::Host;
use crate::lanes::{Lanes, mask_of};
use crate::lower::{Lowered, Reader, Signs, refuse};
use crate::micro::{Operand, PredicateSource};
use crate::rounding::{NAN, Rounding, SINGLE, canonical, flush, fused, narrow, saturate, sum};
use crate::warp::Warp;

use super::predicate::{Combine, Compare};

/// Lowered single-precision operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// a · b + c.
    MultiplyAdd {
        row: u16,
        sources: [Operand; 3],
        signs: Signs,
        kind: Kind,
    },
    /// a + b.
    Add {
        row: u16,
        a: Operand,
        b: Operand,
        signs: Signs,
        kind: Kind,
    },
    /// FSWZADD: a + b, a - b, b - a or b by the lane's place in its quad, the first one's choice in
    /// the upper two bits (0 to 3).
    AddInQuad {
        row: u16,
        a: Operand,
        b: Operand,
        choices: u8,
        kind: Kind,
    },
    /// a · b · 2^scale.
    Multiply {
        row: u16,
        a: Operand,
        b: Operand,
        signs: Signs,
        kind: Kind,
        scale: i8,
    },
    /// Minimum where the predicate holds, else maximum.
    MinMax {
        row: u16,
        a: Operand,
        b: Operand,
        signs: Signs,
        minimum: PredicateSource,
        ftz: bool,
        /// NaN if either is.
        nan: bool,
        /// The sign is the product of both signs.
        xor_sign: bool,
    },
    /// a where the predicate holds, else b.
    Select {
        row: u16,
        a: Operand,
        b: Operand,
        signs: Signs,
        ftz: bool,
        which: PredicateSource,
    },
    /// 1.0 where the comparison holds, else 0.
    Set {
        row: u16,
        a: Operand,
        b: Operand,
        signs: Signs,
        ftz: bool,
        compare: Compare,
        combine: Combine,
        with: PredicateSource,
    },
}

/// How a result is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Kind {
    pub(crate) rounding: Rounding,
    /// Denormal sources and results become zero.
    pub(crate) ftz: bool,
    /// As `ftz`, and zero times anything is zero.
    pub(crate) fmz: bool,
    /// Results are clamped to [0, 1].
    pub(crate) saturate: bool,
}

impl Kind {
    /// To nearest, without clamping.
    fn is_plain(self) -> bool {
        self.rounding == Rounding::Nearest && !self.saturate && !self.fmz
    }
}

/// The rounding direction among the modifiers.
pub(crate) fn rounding(r: &Reader<'_>) -> Rounding {
    r.choose(
        &[
            (Modifier::RM, Rounding::Down),
            (Modifier::RP, Rounding::Up),
            (Modifier::RZ, Rounding::Zero),
        ],
        Rounding::Nearest,
    )
}

/// What FSWZADD does in the lanes of a quad: two letters for each, the signs of a and b, Z for none.
fn choices_of_lanes(r: &mut Reader<'_>) -> Lowered<u8> {
    let Some(Printed::Keyword(letters)) = r.peek() else {
        return refuse("signs that have no name");
    };
    r.skip();
    let mut choices = 0;
    for pair in letters.as_bytes().chunks(2) {
        let choice = match pair {
            b"PP" => 0,
            b"PN" => 1,
            b"NP" => 2,
            b"ZP" => 3,
            _ => return refuse(format!("signs {letters}")),
        };
        choices = choices << 2 | choice;
    }
    Ok(choices)
}

/// Lowers a single-precision instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let kind = Kind {
        rounding: rounding(r),
        ftz: r.has(FTZ) || r.has(FMZ),
        fmz: r.has(FMZ),
        saturate: r.has(SAT),
    };
    if r.named("IS_A") {
        return refuse(format!("{}.IS_A", opcode.text()));
    }
    let row = r.destination(1)?;
    let (a, adjust_a, _) = r.source()?;
    let (b, adjust_b, _) = r.source()?;
    let signs = Signs::default().with(0, adjust_a).with(1, adjust_b);
    Ok(match opcode {
        Opcode::FFMA => {
            r.only(&[FTZ, FMZ, RM, RP, RZ, SAT])?;
            let (c, adjust_c, _) = r.source()?;
            Op::MultiplyAdd {
                row,
                sources: [a, b, c],
                signs: signs.with(2, adjust_c),
                kind,
            }
        }
        Opcode::FADD => {
            r.only(&[FTZ, RM, RP, RZ, SAT])?;
            Op::Add {
                row,
                a,
                b,
                signs,
                kind,
            }
        }
        Opcode::FSWZADD => {
            // `.NDV`: its sources have been gathered without divergence, which changes no value.
            r.only(&[FTZ, RM, RP, RZ, NDV])?;
            Op::AddInQuad {
                row,
                a,
                b,
                choices: choices_of_lanes(r)?,
                kind,
            }
        }
        Opcode::FMUL => {
            r.only(&[D8, D4, D2, M2, M4, M8, FTZ, FMZ, RM, RP, RZ, SAT])?;
            let scales = [(D8, -3), (D4, -2), (D2, -1), (M2, 1), (M4, 2), (M8, 3)];
            Op::Multiply {
                row,
                a,
                b,
                signs,
                kind,
                scale: r.choose(&scales, 0),
            }
        }
        Opcode::FMNMX => {
            r.only(&[FTZ, NAN, XORSIGN])?;
            Op::MinMax {
                row,
                a,
                b,
                signs,
                minimum: r.predicate_source()?,
                ftz: kind.ftz,
                nan: r.has(NAN),
                xor_sign: r.has(XORSIGN),
            }
        }
        Opcode::FSEL => {
            r.only(&[FTZ])?;
            Op::Select {
                row,
                a,
                b,
                signs,
                ftz: kind.ftz,
                which: r.predicate_source()?,
            }
        }
        Opcode::FSET => {
            let (compare, combine) = super::predicate::comparison(r, &[BF, FTZ])?;
            if !r.has(BF) {
                return refuse("FSET without .BF");
            }
            let with = r.predicate_source()?;
            Op::Set {
                row,
                a,
                b,
                signs,
                ftz: kind.ftz,
                compare,
                combine,
                with,
            }
        }
        other => return refuse(format!("{} is not a float instruction", other.text())),
    })
}

/// A source with its signs.
#[inline(always)]
fn signed(warp: &Warp, operand: Operand, signs: Signs, k: u32) -> Lanes {
    let mut lanes = warp.fetch(operand);
    let (keep, flip) = (signs.keep(k), signs.flip(k));
    let mut lane = 0;
    while lane < 32 {
        lanes[lane] = lanes[lane] & keep ^ flip;
        lane += 1;
    }
    lanes
}

/// A source with its signs, flushed if asked.
#[inline(always)]
pub(crate) fn source(warp: &Warp, operand: Operand, signs: Signs, k: u32, ftz: bool) -> Lanes {
    let mut lanes = signed(warp, operand, signs, k);
    if ftz {
        let mut lane = 0;
        while lane < 32 {
            lanes[lane] = flush(lanes[lane]);
            lane += 1;
        }
    }
    lanes
}

/// Rounds p + c (both exact) as `kind` says.
#[inline(always)]
fn finish(p: f64, c: f64, kind: Kind) -> u32 {
    settle(sum(p, c, SINGLE, kind.rounding), kind)
}

#[inline(always)]
fn settle(bits: u32, kind: Kind) -> u32 {
    let bits = if kind.ftz { flush(bits) } else { bits };
    if kind.saturate { saturate(bits) } else { bits }
}

#[inline(always)]
fn is_zero(bits: u32) -> bool {
    bits & 0x7fff_ffff == 0
}

#[inline(always)]
fn wide(bits: u32) -> f64 {
    f64::from(f32::from_bits(bits))
}

/// Smaller (or larger) of two numbers: minus zero is below zero, NaN loses against a number.
#[inline(always)]
pub(crate) fn min_max(a: u32, b: u32, minimum: bool, nan: bool) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    // Order of the bits read as sign and magnitude.
    let key = |bits: u32| (bits as i32) ^ (((bits as i32) >> 31) as u32 >> 1) as i32;
    let chosen = if (key(a) < key(b)) == minimum { a } else { b };
    if x.is_nan() || y.is_nan() {
        if nan || x.is_nan() && y.is_nan() {
            NAN
        } else if x.is_nan() {
            b
        } else {
            a
        }
    } else {
        chosen
    }
}

/// Executes a single-precision operation in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute<H: Host>(op: &Op, warp: &mut Warp, mask: u32) {
    match *op {
        Op::MultiplyAdd {
            row,
            sources,
            signs,
            kind,
        } => {
            if let [
                Operand::Register(a),
                Operand::Register(b),
                Operand::Register(c),
            ] = sources
                && kind == Kind::default()
                && signs == Signs::default()
            {
                // The most frequent instruction of numeric code, straight from the registers.
                let a = &warp.registers[a as usize];
                let b = &warp.registers[b as usize];
                let c = &warp.registers[c as usize];
                let result = Lanes::from_fn(|lane| {
                    let (x, y, z) = (
                        f32::from_bits(a[lane]),
                        f32::from_bits(b[lane]),
                        f32::from_bits(c[lane]),
                    );
                    canonical(if H::FMA {
                        x.mul_add(y, z)
                    } else {
                        fused(x, y, z)
                    })
                });
                warp.write(row, &result, mask);
                return;
            }
            let a = source(warp, sources[0], signs, 0, kind.ftz);
            let b = source(warp, sources[1], signs, 1, kind.ftz);
            let c = source(warp, sources[2], signs, 2, kind.ftz);
            let result = if kind.is_plain() {
                let mut result = Lanes::ZERO;
                let mut lane = 0;
                while lane < 32 {
                    let (x, y, z) = (
                        f32::from_bits(a[lane]),
                        f32::from_bits(b[lane]),
                        f32::from_bits(c[lane]),
                    );
                    let value = if H::FMA {
                        x.mul_add(y, z)
                    } else {
                        fused(x, y, z)
                    };
                    result[lane] = canonical(value);
                    lane += 1;
                }
                if kind.ftz {
                    Lanes::from_fn(|lane| flush(result[lane]))
                } else {
                    result
                }
            } else {
                Lanes::from_fn(|lane| {
                    let product = if kind.fmz && (is_zero(a[lane]) || is_zero(b[lane])) {
                        0.0
                    } else {
                        wide(a[lane]) * wide(b[lane])
                    };
                    finish(product, wide(c[lane]), kind)
                })
            };
            warp.write(row, &result, mask);
        }
        Op::Add {
            row,
            a,
            b,
            signs,
            kind,
        } => {
            let a = source(warp, a, signs, 0, kind.ftz);
            let b = source(warp, b, signs, 1, kind.ftz);
            let result = if kind.is_plain() {
                let result = Lanes::from_fn(|lane| {
                    canonical(f32::from_bits(a[lane]) + f32::from_bits(b[lane]))
                });
                if kind.ftz {
                    Lanes::from_fn(|lane| flush(result[lane]))
                } else {
                    result
                }
            } else {
                Lanes::from_fn(|lane| finish(wide(a[lane]), wide(b[lane]), kind))
            };
            warp.write(row, &result, mask);
        }
        Op::AddInQuad {
            row,
            a,
            b,
            choices,
            kind,
        } => {
            let none = Signs::default();
            let a = source(warp, a, none, 0, kind.ftz);
            let b = source(warp, b, none, 1, kind.ftz);
            let result = Lanes::from_fn(|lane| {
                let negative = |word: u32| word ^ 0x8000_0000;
                match choices >> (6 - 2 * (lane & 3)) & 3 {
                    0 => finish(wide(a[lane]), wide(b[lane]), kind),
                    1 => finish(wide(a[lane]), wide(negative(b[lane])), kind),
                    2 => finish(wide(negative(a[lane])), wide(b[lane]), kind),
                    _ => b[lane],
                }
            });
            warp.write(row, &result, mask);
        }
        Op::Multiply {
            row,
            a,
            b,
            signs,
            kind,
            scale,
        } => {
            let a = source(warp, a, signs, 0, kind.ftz);
            let b = source(warp, b, signs, 1, kind.ftz);
            let result = if kind.is_plain() && scale == 0 {
                let result = Lanes::from_fn(|lane| {
                    canonical(f32::from_bits(a[lane]) * f32::from_bits(b[lane]))
                });
                if kind.ftz {
                    Lanes::from_fn(|lane| flush(result[lane]))
                } else {
                    result
                }
            } else {
                let factor = f64::from_bits(((1023 + i64::from(scale)) as u64) << 52);
                Lanes::from_fn(|lane| {
                    if kind.fmz && (is_zero(a[lane]) || is_zero(b[lane])) {
                        return 0;
                    }
                    let product = wide(a[lane]) * wide(b[lane]) * factor;
                    settle(narrow(product, SINGLE, kind.rounding), kind)
                })
            };
            warp.write(row, &result, mask);
        }
        Op::MinMax {
            row,
            a,
            b,
            signs,
            minimum,
            ftz,
            nan,
            xor_sign,
        } => {
            let minimum = warp.predicate(minimum);
            // The sign comes from the sources before their |…|, which PTX's `.xorsign.abs` sets.
            let (x, y) = (warp.fetch(a), warp.fetch(b));
            let flip = signs.flip(0) ^ signs.flip(1);
            let a = source(warp, a, signs, 0, ftz);
            let b = source(warp, b, signs, 1, ftz);
            let result = Lanes::from_fn(|lane| {
                let chosen = min_max(a[lane], b[lane], minimum >> lane & 1 == 1, nan);
                if xor_sign && chosen != NAN {
                    chosen & 0x7fff_ffff | (x[lane] ^ y[lane] ^ flip) & 0x8000_0000
                } else {
                    chosen
                }
            });
            warp.write(row, &result, mask);
        }
        Op::Select {
            row,
            a,
            b,
            signs,
            ftz,
            which,
        } => {
            let which = warp.predicate(which);
            let a = source(warp, a, signs, 0, ftz);
            let b = source(warp, b, signs, 1, ftz);
            let result = Lanes::from_fn(|lane| {
                if which >> lane & 1 == 1 {
                    a[lane]
                } else {
                    b[lane]
                }
            });
            warp.write(row, &result, mask);
        }
        Op::Set {
            row,
            a,
            b,
            signs,
            ftz,
            compare,
            combine,
            with,
        } => {
            let with = warp.predicate(with);
            let a = source(warp, a, signs, 0, ftz);
            let b = source(warp, b, signs, 1, ftz);
            let holds =
                mask_of(|lane| compare.floats(f32::from_bits(a[lane]), f32::from_bits(b[lane])));
            let set = combine.masks(holds, with);
            let result = Lanes::from_fn(|lane| if set >> lane & 1 == 1 { 0x3f80_0000 } else { 0 });
            warp.write(row, &result, mask);
        }
    }
}
