//! Double-precision arithmetic. Results that are NaN are the canonical one.

use sass::{Modifier, Opcode};

use crate::lanes::{Lanes, mask_of};
use crate::lower::{Lowered, Reader, Signs, refuse};
use crate::micro::{PredicateSource, Wide};
use crate::rounding::{DOUBLE_NAN, Rounding};
use crate::softfloat;
use crate::warp::Warp;

use super::predicate::{Combine, Compare, comparison};

/// Lowered double-precision operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Add {
        row: u16,
        a: Wide,
        b: Wide,
        signs: Signs,
        rounding: Rounding,
    },
    Multiply {
        row: u16,
        a: Wide,
        b: Wide,
        signs: Signs,
        rounding: Rounding,
    },
    MultiplyAdd {
        row: u16,
        sources: [Wide; 3],
        signs: Signs,
        rounding: Rounding,
    },
    Compare {
        out: [u8; 2],
        a: Wide,
        b: Wide,
        signs: Signs,
        compare: Compare,
        combine: Combine,
        with: PredicateSource,
    },
    /// Chooses for a minimum or maximum: the first predicate takes a, the second says that the
    /// chosen b is NaN.
    Choose {
        out: [u8; 2],
        a: Wide,
        b: Wide,
        signs: Signs,
        minimum: bool,
        combine: Combine,
        with: PredicateSource,
    },
}

/// Lowers a double-precision instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    if opcode == Opcode::DSETP {
        let choice = r.has(MIN) || r.has(MAX);
        let (compare, combine) = if choice {
            r.only(&[MIN, MAX, AND, OR, XOR])?;
            let combines = [(AND, Combine::And), (OR, Combine::Or), (XOR, Combine::Xor)];
            (Compare::True, r.choose(&combines, Combine::And))
        } else {
            comparison(r, &[])?
        };
        let out = [r.predicate_destination()?, r.predicate_destination()?];
        let (a, adjust_a) = r.wide_source(true)?;
        let (b, adjust_b) = r.wide_source(true)?;
        let signs = Signs::default().with(0, adjust_a).with(1, adjust_b);
        let with = r.predicate_source()?;
        return Ok(if choice {
            Op::Choose {
                out,
                a,
                b,
                signs,
                minimum: r.has(MIN),
                combine,
                with,
            }
        } else {
            Op::Compare {
                out,
                a,
                b,
                signs,
                compare,
                combine,
                with,
            }
        });
    }
    r.only(&[RM, RP, RZ])?;
    let rounding = super::float::rounding(r);
    let row = r.destination(2)?;
    let (a, adjust_a) = r.wide_source(true)?;
    let (b, adjust_b) = r.wide_source(true)?;
    let signs = Signs::default().with(0, adjust_a).with(1, adjust_b);
    Ok(match opcode {
        Opcode::DADD => Op::Add {
            row,
            a,
            b,
            signs,
            rounding,
        },
        Opcode::DMUL => Op::Multiply {
            row,
            a,
            b,
            signs,
            rounding,
        },
        Opcode::DFMA => {
            let (c, adjust_c) = r.wide_source(true)?;
            let signs = signs.with(2, adjust_c);
            Op::MultiplyAdd {
                row,
                sources: [a, b, c],
                signs,
                rounding,
            }
        }
        other => return refuse(format!("{} is not a double instruction", other.text())),
    })
}

/// A double per lane as its words.
#[derive(Clone, Copy)]
struct Doubles {
    low: Lanes,
    high: Lanes,
}

impl Doubles {
    #[inline(always)]
    fn fetch(warp: &Warp, operand: Wide, signs: Signs, k: u32) -> Doubles {
        let (low, mut high) = warp.fetch_wide(operand);
        let (keep, flip) = (signs.keep(k), signs.flip(k));
        let mut lane = 0;
        while lane < 32 {
            high[lane] = high[lane] & keep ^ flip;
            lane += 1;
        }
        Doubles { low, high }
    }

    #[inline(always)]
    fn get(&self, lane: usize) -> f64 {
        f64::from_bits(u64::from(self.high[lane]) << 32 | u64::from(self.low[lane]))
    }
}

#[inline(always)]
fn write(warp: &mut Warp, mask: u32, row: u16, value: impl Fn(usize) -> f64) {
    let mut low = Lanes::ZERO;
    let mut high = Lanes::ZERO;
    let mut lane = 0;
    while lane < 32 {
        let value = value(lane);
        let bits = if value.is_nan() {
            DOUBLE_NAN
        } else {
            value.to_bits()
        };
        low[lane] = bits as u32;
        high[lane] = (bits >> 32) as u32;
        lane += 1;
    }
    warp.write(row, &low, mask);
    warp.write(row + 1, &high, mask);
}

/// Executes a double-precision operation in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    match *op {
        Op::Add {
            row,
            a,
            b,
            signs,
            rounding,
        } => {
            let a = Doubles::fetch(warp, a, signs, 0);
            let b = Doubles::fetch(warp, b, signs, 1);
            if rounding == Rounding::Nearest {
                write(warp, mask, row, |lane| a.get(lane) + b.get(lane));
            } else {
                write(warp, mask, row, |lane| {
                    softfloat::multiply_add(a.get(lane), 1.0, b.get(lane), rounding)
                });
            }
        }
        Op::Multiply {
            row,
            a,
            b,
            signs,
            rounding,
        } => {
            let a = Doubles::fetch(warp, a, signs, 0);
            let b = Doubles::fetch(warp, b, signs, 1);
            if rounding == Rounding::Nearest {
                write(warp, mask, row, |lane| a.get(lane) * b.get(lane));
            } else {
                write(warp, mask, row, |lane| {
                    softfloat::multiply(a.get(lane), b.get(lane), rounding)
                });
            }
        }
        Op::MultiplyAdd {
            row,
            sources,
            signs,
            rounding,
        } => {
            let a = Doubles::fetch(warp, sources[0], signs, 0);
            let b = Doubles::fetch(warp, sources[1], signs, 1);
            let c = Doubles::fetch(warp, sources[2], signs, 2);
            if rounding == Rounding::Nearest {
                // Without a fused instruction this is the library's, which rounds once as well.
                write(warp, mask, row, |lane| {
                    a.get(lane).mul_add(b.get(lane), c.get(lane))
                });
            } else {
                write(warp, mask, row, |lane| {
                    softfloat::multiply_add(a.get(lane), b.get(lane), c.get(lane), rounding)
                });
            }
        }
        Op::Compare {
            out,
            a,
            b,
            signs,
            compare,
            combine,
            with,
        } => {
            let a = Doubles::fetch(warp, a, signs, 0);
            let b = Doubles::fetch(warp, b, signs, 1);
            let holds = mask_of(|lane| compare.floats(a.get(lane), b.get(lane)));
            let with = warp.predicate(with);
            warp.write_predicate(out[0], combine.masks(holds, with), mask);
            warp.write_predicate(out[1], combine.masks(!holds, with), mask);
        }
        Op::Choose {
            out,
            a,
            b,
            signs,
            minimum,
            combine,
            with,
        } => {
            let a = Doubles::fetch(warp, a, signs, 0);
            let b = Doubles::fetch(warp, b, signs, 1);
            let first = mask_of(|lane| {
                let (x, y) = (a.get(lane), b.get(lane));
                let key = |v: f64| {
                    let bits = v.to_bits() as i64;
                    bits ^ ((bits >> 63) as u64 >> 1) as i64
                };
                !x.is_nan() && (y.is_nan() || (key(x) < key(y)) == minimum)
            });
            let nan = mask_of(|lane| b.get(lane).is_nan());
            let with = warp.predicate(with);
            warp.write_predicate(out[0], combine.masks(first, with), mask);
            warp.write_predicate(out[1], combine.masks(!first & nan, with), mask);
        }
    }
}
