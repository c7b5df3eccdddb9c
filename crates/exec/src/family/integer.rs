//! Integer arithmetic, logic and shifts. What one lane computes is in `arithmetic`.

use sass::{Modifier, Opcode};

use crate::lanes::{Lanes, mask_of};
use crate::lower::{Lowered, Reader, refuse};
use crate::micro::{Operand, PredicateSource, Wide};
use crate::warp::Warp;

use super::arithmetic::{
    Dot, Shift, ShiftAdd, absolute_difference4, bit_mask, dot, extend, leading_one, logic3,
    multiply_add_wide, shift, shift_add,
};
use super::{map1, map2, map3};

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

/// Lowers an integer instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    Ok(match opcode {
        Opcode::IADD3 => {
            r.only(&[X])?;
            let extended = r.has(X);
            let row = r.destination(1)?;
            let out = [
                r.predicate_destination_or_none()?,
                r.predicate_destination_or_none()?,
            ];
            let (sources, negate) = three_negatable(r)?;
            let carry = if extended {
                [
                    r.predicate_source_or(PredicateSource::FALSE)?,
                    r.predicate_source_or(PredicateSource::FALSE)?,
                ]
            } else {
                [PredicateSource::FALSE; 2]
            };
            if !extended && out == [7, 7] {
                Op::Add3 {
                    row,
                    sources,
                    negate,
                }
            } else {
                Op::Add3Carry {
                    row,
                    out,
                    sources,
                    negate,
                    extended,
                    carry,
                }
            }
        }
        Opcode::IMAD => multiply_add(r)?,
        Opcode::LOP3 => {
            r.only(&[LUT, PAND])?;
            let out = r.predicate_destination_or_none()?;
            let row = r.destination(1)?;
            let sources = [r.plain_source()?, r.plain_source()?, r.plain_source()?];
            let table = r.immediate()? as u8;
            let with = r.predicate_source_or(PredicateSource::FALSE)?;
            Op::Logic3 {
                row,
                sources,
                table,
                out,
                with,
                conjunction: r.has(PAND),
            }
        }
        Opcode::SHF => {
            let kind = shift_kind(r)?;
            let row = r.destination(1)?;
            let sources = [r.plain_source()?, r.plain_source()?, r.plain_source()?];
            Op::Shift { row, sources, kind }
        }
        Opcode::LEA => {
            let row = r.destination(1)?;
            let out = r.predicate_destination_or_none()?;
            let (sources, kind, carry) = shift_add_sources(r)?;
            Op::ShiftAdd {
                row,
                out,
                sources,
                carry,
                kind,
            }
        }
        Opcode::IABS => {
            r.only(&[])?;
            Op::Absolute {
                row: r.destination(1)?,
                a: r.plain_source()?,
            }
        }
        Opcode::IMNMX => {
            r.only(&[U32])?;
            Op::MinMax {
                row: r.destination(1)?,
                a: r.plain_source()?,
                b: r.plain_source()?,
                signed: !r.has(U32),
                minimum: r.predicate_source()?,
            }
        }
        Opcode::FLO => {
            r.only(&[U32, SH])?;
            let row = r.destination(1)?;
            if r.at_predicate() {
                return refuse("the predicate result of FLO");
            }
            let (a, invert) = r.negatable_source()?;
            Op::LeadingOne {
                row,
                a,
                invert,
                signed: !r.has(U32),
                shift: r.has(SH),
            }
        }
        Opcode::POPC => {
            r.only(&[])?;
            let row = r.destination(1)?;
            let (a, invert) = r.negatable_source()?;
            Op::CountOnes { row, a, invert }
        }
        Opcode::BREV => {
            r.only(&[])?;
            Op::Reverse {
                row: r.destination(1)?,
                a: r.plain_source()?,
            }
        }
        Opcode::BMSK => {
            r.only(&[W])?;
            Op::Mask {
                row: r.destination(1)?,
                a: r.plain_source()?,
                b: r.plain_source()?,
                wrap: r.has(W),
            }
        }
        Opcode::SGXT => {
            r.only(&[W, U32])?;
            Op::Extend {
                row: r.destination(1)?,
                a: r.plain_source()?,
                b: r.plain_source()?,
                wrap: r.has(W),
                signed: !r.has(U32),
            }
        }
        Opcode::IDP => {
            let row = r.destination(1)?;
            let (a, b) = (r.plain_source()?, r.plain_source()?);
            let (c, negate) = r.negatable_source()?;
            let types: Vec<bool> = r
                .instruction
                .modifiers
                .iter()
                .filter_map(|m| match m {
                    S8 | S16 => Some(true),
                    U8 | U16 => Some(false),
                    _ => None,
                })
                .collect();
            let [signed_a, signed_b] = types[..] else {
                return refuse("a dot product without two types");
            };
            let kind = Dot {
                halves: r.has(N2A),
                high: r.has(HI),
                signed_a,
                signed_b,
                negate,
            };
            Op::Dot {
                row,
                sources: [a, b, c],
                kind,
            }
        }
        Opcode::VABSDIFF => {
            r.only(&[U32])?;
            let row = r.destination(1)?;
            if r.at_predicate() {
                return refuse("the predicate result of VABSDIFF");
            }
            let sources = [r.plain_source()?, r.plain_source()?, r.plain_source()?];
            Op::AbsoluteDifference {
                row,
                sources,
                signed: !r.has(U32),
            }
        }
        Opcode::VABSDIFF4 => {
            r.only(&[U8, ACC])?;
            let row = r.destination(1)?;
            if r.at_predicate() {
                return refuse("the predicate result of VABSDIFF4");
            }
            let sources = [r.plain_source()?, r.plain_source()?, r.plain_source()?];
            Op::AbsoluteDifference4 {
                row,
                sources,
                signed: !r.has(U8),
                accumulate: r.has(ACC),
            }
        }
        other => return refuse(format!("{} is not an integer instruction", other.text())),
    })
}

/// Three sources that can each be negated or complemented, and which are.
pub(crate) fn three_negatable(r: &mut Reader<'_>) -> Lowered<([Operand; 3], u8)> {
    let (a, na) = r.negatable_source()?;
    let (b, nb) = r.negatable_source()?;
    let (c, nc) = r.negatable_source()?;
    Ok(([a, b, c], na as u8 | (nb as u8) << 1 | (nc as u8) << 2))
}

fn multiply_add(r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    // MOV, SHL and IADD are names for the same operation with particular operands.
    r.only(&[MOV, SHL, IADD, U32, X, WIDE, HI])?;
    let extended = r.has(X);
    let wide = r.has(WIDE);
    let high = r.has(HI);
    if !wide && !high {
        let row = r.destination(1)?;
        let (a, b) = (r.plain_source()?, r.plain_source()?);
        let (c, negate) = r.negatable_source()?;
        let sources = [a, b, c];
        return Ok(if extended {
            let carry = r.predicate_source_or(PredicateSource::FALSE)?;
            Op::MultiplyAddCarry {
                row,
                sources,
                invert: negate,
                carry,
            }
        } else {
            Op::MultiplyAdd {
                row,
                sources,
                negate,
            }
        });
    }
    let row = r.destination(if wide { 2 } else { 1 })?;
    let out = r.predicate_destination_or_none()?;
    let (a, b) = (r.plain_source()?, r.plain_source()?);
    let (c, adjust) = r.wide_source(false)?;
    let carry = if extended {
        r.predicate_source_or(PredicateSource::FALSE)?
    } else {
        PredicateSource::FALSE
    };
    Ok(Op::MultiplyAddWide {
        row,
        out,
        a,
        b,
        c,
        signed: !r.has(U32),
        negate: adjust.negate || adjust.invert,
        extended,
        carry,
        high,
    })
}

/// Direction, type and result of a shift from the modifiers.
pub(crate) fn shift_kind(r: &Reader<'_>) -> Lowered<Shift> {
    use Modifier::*;
    r.only(&[L, R, W, S64, U64, S32, U32, HI])?;
    Ok(Shift {
        right: r.has(R),
        wrap: r.has(W),
        signed: r.has(S64) || r.has(S32),
        wide: r.has(S64) || r.has(U64),
        high: r.has(HI),
    })
}

/// Sources of LEA and ULEA behind the destinations.
pub(crate) fn shift_add_sources(
    r: &mut Reader<'_>,
) -> Lowered<([Operand; 3], ShiftAdd, PredicateSource)> {
    use Modifier::*;
    r.only(&[HI, X, SX32])?;
    let (a, na) = r.negatable_source()?;
    let (b, nb) = r.negatable_source()?;
    let high = r.has(HI);
    let sign = r.has(SX32);
    let c = if high && !sign {
        r.plain_source()?
    } else {
        Operand::Scalar(0)
    };
    let shift = r.immediate()? as u8 & 31;
    let extended = r.has(X);
    let carry = if extended {
        r.predicate_source_or(PredicateSource::FALSE)?
    } else {
        PredicateSource::FALSE
    };
    let negate = na as u8 | (nb as u8) << 1;
    Ok((
        [a, b, c],
        ShiftAdd {
            shift,
            high,
            sign,
            extended,
            negate,
        },
        carry,
    ))
}

#[inline(always)]
fn bit(mask: u32, lane: usize) -> u32 {
    mask >> lane & 1
}

/// Executes an integer operation in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    match *op {
        Op::Add3 {
            row,
            sources,
            negate,
        } => {
            let flip = |k: u32| 0u32.wrapping_sub((negate >> k & 1) as u32);
            let (fa, fb, fc) = (flip(0), flip(1), flip(2));
            let ones = negate.count_ones();
            map3(warp, mask, row, sources, |a, b, c| {
                (a ^ fa)
                    .wrapping_add(b ^ fb)
                    .wrapping_add(c ^ fc)
                    .wrapping_add(ones)
            });
        }
        Op::Add3Carry {
            row,
            out,
            sources,
            negate,
            extended,
            carry,
        } => {
            let (a, b, c) = (
                warp.fetch(sources[0]),
                warp.fetch(sources[1]),
                warp.fetch(sources[2]),
            );
            let flip = |k: u32| 0u32.wrapping_sub((negate >> k & 1) as u32);
            let (fa, fb, fc) = (flip(0), flip(1), flip(2));
            let ones = if extended {
                0
            } else {
                u64::from(negate.count_ones())
            };
            let (first, second) = if extended {
                (warp.predicate(carry[0]), warp.predicate(carry[1]))
            } else {
                (0, 0)
            };
            let mut result = Lanes::ZERO;
            let mut over = Lanes::ZERO;
            let mut lane = 0;
            while lane < 32 {
                let sum = u64::from(a[lane] ^ fa)
                    + u64::from(b[lane] ^ fb)
                    + u64::from(c[lane] ^ fc)
                    + ones
                    + u64::from(bit(first, lane))
                    + u64::from(bit(second, lane));
                result[lane] = sum as u32;
                over[lane] = (sum >> 32) as u32;
                lane += 1;
            }
            warp.write(row, &result, mask);
            if out[0] != 7 {
                warp.write_predicate(out[0], mask_of(|lane| over[lane] >= 1), mask);
            }
            if out[1] != 7 {
                warp.write_predicate(out[1], mask_of(|lane| over[lane] >= 2), mask);
            }
        }
        Op::MultiplyAdd {
            row,
            sources,
            negate,
        } => {
            let flip = 0u32.wrapping_sub(negate as u32);
            let one = negate as u32;
            map3(warp, mask, row, sources, |a, b, c| {
                a.wrapping_mul(b).wrapping_add(c ^ flip).wrapping_add(one)
            });
        }
        Op::MultiplyAddCarry {
            row,
            sources: [a, b, c],
            invert,
            carry,
        } => {
            let carry = warp.predicate(carry);
            let flip = 0u32.wrapping_sub(invert as u32);
            let (a, b, c) = (warp.fetch(a), warp.fetch(b), warp.fetch(c));
            let result = Lanes::from_fn(|lane| {
                a[lane]
                    .wrapping_mul(b[lane])
                    .wrapping_add(c[lane] ^ flip)
                    .wrapping_add(bit(carry, lane))
            });
            warp.write(row, &result, mask);
        }
        Op::MultiplyAddWide {
            row,
            out,
            a,
            b,
            c,
            signed,
            negate,
            extended,
            carry,
            high,
        } => {
            let carry = if extended { warp.predicate(carry) } else { 0 };
            let (a, b) = (warp.fetch(a), warp.fetch(b));
            let (c_low, c_high) = warp.fetch_wide(c);
            if !negate && carry == 0 && out == 7 {
                let mut low = Lanes::ZERO;
                let mut upper = Lanes::ZERO;
                let mut lane = 0;
                while lane < 32 {
                    let product = if signed {
                        (i64::from(a[lane] as i32) * i64::from(b[lane] as i32)) as u64
                    } else {
                        u64::from(a[lane]) * u64::from(b[lane])
                    };
                    let sum = product
                        .wrapping_add(u64::from(c_high[lane]) << 32 | u64::from(c_low[lane]));
                    low[lane] = sum as u32;
                    upper[lane] = (sum >> 32) as u32;
                    lane += 1;
                }
                if high {
                    warp.write(row, &upper, mask);
                } else {
                    warp.write(row, &low, mask);
                    warp.write(row + 1, &upper, mask);
                }
                return;
            }
            let mut low = Lanes::ZERO;
            let mut upper = Lanes::ZERO;
            let mut over = 0;
            for lane in 0..32 {
                let c = u64::from(c_high[lane]) << 32 | u64::from(c_low[lane]);
                let (sum, carried) = multiply_add_wide(
                    a[lane],
                    b[lane],
                    c,
                    signed,
                    negate,
                    extended,
                    bit(carry, lane),
                );
                low[lane] = sum as u32;
                upper[lane] = (sum >> 32) as u32;
                over |= (carried as u32) << lane;
            }
            if high {
                warp.write(row, &upper, mask);
            } else {
                warp.write(row, &low, mask);
                warp.write(row + 1, &upper, mask);
            }
            if out != 7 {
                warp.write_predicate(out, over, mask);
            }
        }
        Op::Logic3 {
            row,
            sources,
            table,
            out,
            with,
            conjunction,
        } => {
            let (a, b, c) = (
                warp.fetch(sources[0]),
                warp.fetch(sources[1]),
                warp.fetch(sources[2]),
            );
            let result = Lanes::from_fn(|lane| logic3(a[lane], b[lane], c[lane], table));
            if out != 7 {
                let set = mask_of(|lane| result[lane] != 0);
                let with = warp.predicate(with);
                let set = if conjunction { set & with } else { set | with };
                warp.write_predicate(out, set, mask);
            }
            warp.write(row, &result, mask);
        }
        Op::Shift {
            row,
            sources: [a, b, c],
            kind,
        } => match (kind, b) {
            // The common forms by a fixed amount are plain shifts of one word.
            (
                Shift {
                    right: false,
                    wide: false,
                    high: false,
                    wrap: false,
                    ..
                },
                Operand::Scalar(amount),
            ) => {
                let shift = move |a: u32| (u64::from(a) << amount.min(32)) as u32;
                map1(warp, mask, row, a, shift);
            }
            (
                Shift {
                    right: true,
                    wide: false,
                    high: true,
                    wrap: false,
                    signed: false,
                },
                Operand::Scalar(amount),
            ) => map1(warp, mask, row, c, move |c| {
                (u64::from(c) >> amount.min(32)) as u32
            }),
            (
                Shift {
                    right: true,
                    wide: false,
                    high: true,
                    wrap: false,
                    signed: true,
                },
                Operand::Scalar(amount),
            ) => map1(warp, mask, row, c, move |c| {
                (c as i32 >> amount.min(31)) as u32
            }),
            _ => map3(warp, mask, row, [a, b, c], |a, b, c| shift(a, b, c, kind)),
        },
        Op::ShiftAdd {
            row,
            out,
            sources: [a, b, c],
            carry,
            kind,
        } => {
            let carry = if kind.extended {
                warp.predicate(carry)
            } else {
                0
            };
            let (a, b, c) = (warp.fetch(a), warp.fetch(b), warp.fetch(c));
            let mut result = Lanes::ZERO;
            let mut over = Lanes::ZERO;
            let mut lane = 0;
            while lane < 32 {
                let sum = shift_add(a[lane], b[lane], c[lane], bit(carry, lane), kind);
                result[lane] = sum as u32;
                over[lane] = (sum >> 32) as u32;
                lane += 1;
            }
            warp.write(row, &result, mask);
            if out != 7 {
                warp.write_predicate(out, mask_of(|lane| over[lane] != 0), mask);
            }
        }
        Op::Absolute { row, a } => {
            map1(warp, mask, row, a, |a| (a as i32).unsigned_abs());
        }
        Op::MinMax {
            row,
            a,
            b,
            signed,
            minimum,
        } => {
            let minimum = warp.predicate(minimum);
            let (a, b) = (warp.fetch(a), warp.fetch(b));
            let result = Lanes::from_fn(|lane| {
                let less = if signed {
                    (a[lane] as i32) < b[lane] as i32
                } else {
                    a[lane] < b[lane]
                };
                if less == (bit(minimum, lane) == 1) {
                    a[lane]
                } else {
                    b[lane]
                }
            });
            warp.write(row, &result, mask);
        }
        Op::LeadingOne {
            row,
            a,
            invert,
            signed,
            shift,
        } => {
            let flip = 0u32.wrapping_sub(invert as u32);
            map1(warp, mask, row, a, |a| leading_one(a ^ flip, signed, shift));
        }
        Op::CountOnes { row, a, invert } => {
            let flip = 0u32.wrapping_sub(invert as u32);
            map1(warp, mask, row, a, |a| (a ^ flip).count_ones());
        }
        Op::Reverse { row, a } => map1(warp, mask, row, a, u32::reverse_bits),
        Op::Mask { row, a, b, wrap } => {
            map2(warp, mask, row, a, b, |a, b| bit_mask(a, b, wrap));
        }
        Op::Extend {
            row,
            a,
            b,
            wrap,
            signed,
        } => {
            map2(warp, mask, row, a, b, |a, b| extend(a, b, wrap, signed));
        }
        Op::Dot { row, sources, kind } => {
            map3(warp, mask, row, sources, |a, b, c| dot(a, b, c, kind));
        }
        Op::AbsoluteDifference {
            row,
            sources,
            signed,
        } => {
            map3(warp, mask, row, sources, |a, b, c| {
                let difference = if signed {
                    (a as i32).abs_diff(b as i32)
                } else {
                    a.abs_diff(b)
                };
                difference.wrapping_add(c)
            });
        }
        Op::AbsoluteDifference4 {
            row,
            sources,
            signed,
            accumulate,
        } => {
            map3(warp, mask, row, sources, |a, b, c| {
                absolute_difference4(a, b, c, signed, accumulate)
            });
        }
    }
}
