//! What integer operations do to the lanes of a warp.

use crate::lanes::{Lanes, mask_of};
use crate::micro::Operand;
use crate::warp::Warp;

use super::super::arithmetic::{
    Shift, absolute_difference4, bit_mask, dot, extend, leading_one, logic3, multiply_add_wide,
    shift, shift_add,
};
use super::super::{map1, map2, map3};
use super::Op;

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
