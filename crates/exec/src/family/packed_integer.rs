//! Additions, minima and maxima of words and of pairs of halves: VIADD, VIMNMX, VIMNMX3 and
//! VIADDMNMX (CUDA's DPX functions), which sm_90 has.

use sass::{Modifier, Opcode};

use crate::lanes::{Lanes, mask_of};
use crate::lower::{Lowered, Reader, refuse};
use crate::micro::{Operand, PredicateSource};
use crate::warp::Warp;

use super::map2;

/// What is compared, and what happens to the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    /// Two halves instead of a word.
    halves: bool,
    signed: bool,
    /// Negative results become zero.
    relu: bool,
}

/// Lowered operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// a + b, each negated if its bit of `negate` is set.
    Add {
        row: u16,
        a: Operand,
        b: Operand,
        negate: u8,
        halves: bool,
    },
    /// Minimum (where the predicate holds, else maximum) of a and b; the predicates say where b is
    /// chosen, the first for the word or the low half, the second for the high half.
    Choose {
        row: u16,
        out: [u8; 2],
        a: Operand,
        b: Operand,
        kind: Kind,
        minimum: PredicateSource,
    },
    /// Minimum or maximum of three, or of the sum of two and a third.
    Choose3 {
        row: u16,
        sources: [Operand; 3],
        negate: u8,
        add: bool,
        kind: Kind,
        minimum: PredicateSource,
    },
}

/// Lowers an instruction of this family.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    r.only_named(&["U32", "S32", "S16x2", "U16x2", "16x2", "RELU"])?;
    let kind = Kind {
        halves: r.named("S16x2") || r.named("U16x2") || r.named("16x2"),
        signed: !r.named("U32") && !r.named("U16x2"),
        relu: r.has(Modifier::RELU),
    };
    let row = r.destination(1)?;
    Ok(match opcode {
        Opcode::VIADD => {
            let (a, na) = r.negatable_source()?;
            let (b, nb) = r.negatable_source()?;
            Op::Add {
                row,
                a,
                b,
                negate: na as u8 | (nb as u8) << 1,
                halves: kind.halves,
            }
        }
        Opcode::VIMNMX => {
            let out = [
                r.predicate_destination_or_none()?,
                r.predicate_destination_or_none()?,
            ];
            Op::Choose {
                row,
                out,
                a: r.plain_source()?,
                b: r.plain_source()?,
                kind,
                minimum: r.predicate_source()?,
            }
        }
        Opcode::VIMNMX3 | Opcode::VIADDMNMX => {
            let (a, na) = r.negatable_source()?;
            let (b, nb) = r.negatable_source()?;
            let (c, nc) = r.negatable_source()?;
            Op::Choose3 {
                row,
                sources: [a, b, c],
                negate: na as u8 | (nb as u8) << 1 | (nc as u8) << 2,
                add: opcode == Opcode::VIADDMNMX,
                kind,
                minimum: r.predicate_source()?,
            }
        }
        other => return refuse(format!("{} is not a packed integer one", other.text())),
    })
}

/// Applies `f` to words, or to both halves, which are moved to the top of a word so that wrapping
/// and comparing are those of words.
#[inline(always)]
fn each(words: [u32; 3], halves: bool, f: impl Fn([u32; 3]) -> u32) -> u32 {
    if halves {
        let low = f(words.map(|w| w << 16)) >> 16;
        low | f(words.map(|w| w & 0xffff_0000)) & 0xffff_0000
    } else {
        f(words)
    }
}

#[inline(always)]
fn negated(word: u32, negate: u8, k: u32) -> u32 {
    if negate >> k & 1 == 1 {
        word.wrapping_neg()
    } else {
        word
    }
}

#[inline(always)]
fn less(a: u32, b: u32, signed: bool) -> bool {
    let flip = (signed as u32) << 31;
    a ^ flip < b ^ flip
}

/// The smaller or larger one, b only if it is strictly so.
#[inline(always)]
fn choose(a: u32, b: u32, minimum: bool, signed: bool) -> u32 {
    let second = if minimum {
        less(b, a, signed)
    } else {
        less(a, b, signed)
    };
    if second { b } else { a }
}

#[inline(always)]
fn rectify(word: u32, relu: bool) -> u32 {
    if relu && word >> 31 == 1 { 0 } else { word }
}

/// Executes an operation of this family in the lanes of `mask`.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    match *op {
        Op::Add {
            row,
            a,
            b,
            negate,
            halves,
        } => map2(warp, mask, row, a, b, |a, b| {
            each([a, b, 0], halves, |[a, b, _]| {
                negated(a, negate, 0).wrapping_add(negated(b, negate, 1))
            })
        }),
        Op::Choose {
            row,
            out,
            a,
            b,
            kind,
            minimum,
        } => {
            let minimum = warp.predicate(minimum);
            let (a, b) = (warp.fetch(a), warp.fetch(b));
            let result = Lanes::from_fn(|lane| {
                each([a[lane], b[lane], 0], kind.halves, |[a, b, _]| {
                    let chosen = choose(a, b, minimum >> lane & 1 == 1, kind.signed);
                    rectify(chosen, kind.relu)
                })
            });
            if out != [7, 7] {
                let second = |shift: u32| {
                    mask_of(|lane| {
                        let (a, b) = (a[lane] << shift, b[lane] << shift);
                        let (a, b) = if kind.halves {
                            (a & 0xffff_0000, b & 0xffff_0000)
                        } else {
                            (a, b)
                        };
                        if minimum >> lane & 1 == 1 {
                            less(b, a, kind.signed)
                        } else {
                            less(a, b, kind.signed)
                        }
                    })
                };
                let low = second(if kind.halves { 16 } else { 0 });
                warp.write_predicate(out[0], low, mask);
                if kind.halves {
                    warp.write_predicate(out[1], second(0), mask);
                }
            }
            warp.write(row, &result, mask);
        }
        Op::Choose3 {
            row,
            sources,
            negate,
            add,
            kind,
            minimum,
        } => {
            let minimum = warp.predicate(minimum);
            let [a, b, c] = sources.map(|source| warp.fetch(source));
            let result = Lanes::from_fn(|lane| {
                let minimum = minimum >> lane & 1 == 1;
                each([a[lane], b[lane], c[lane]], kind.halves, |[a, b, c]| {
                    let a = negated(a, negate, 0);
                    let b = negated(b, negate, 1);
                    let c = negated(c, negate, 2);
                    let first = if add {
                        a.wrapping_add(b)
                    } else {
                        choose(a, b, minimum, kind.signed)
                    };
                    rectify(choose(first, c, minimum, kind.signed), kind.relu)
                })
            });
            warp.write(row, &result, mask);
        }
    }
}
