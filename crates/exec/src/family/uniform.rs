//! The uniform datapath: one value per warp. The arithmetic is that of `integer`.

use sass::{Modifier, Opcode};

use crate::lanes::mask_of;
use crate::lower::{Lowered, Reader, refuse};
use crate::micro::{Operand, PredicateSource, Wide};
use crate::warp::Warp;

use super::arithmetic::{self, Shift, ShiftAdd};
use super::integer;
use super::move_::{Permute, permute, permute_mode};
use super::predicate::{Combine, Compare, comparison};

/// Lowered uniform operations. `row` is a uniform register.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Move {
        row: u8,
        a: Operand,
    },
    Add3 {
        row: u8,
        out: [u8; 2],
        sources: [Operand; 3],
        negate: u8,
        extended: bool,
        carry: [PredicateSource; 2],
    },
    MultiplyAdd {
        row: u8,
        sources: [Operand; 3],
        negate: bool,
        carry: Option<PredicateSource>,
    },
    MultiplyAddWide {
        row: u8,
        out: u8,
        a: Operand,
        b: Operand,
        c: Wide,
        signed: bool,
        negate: bool,
        carry: Option<PredicateSource>,
        high: bool,
    },
    Logic3 {
        row: u8,
        sources: [Operand; 3],
        table: u8,
        out: u8,
        with: PredicateSource,
        conjunction: bool,
    },
    Shift {
        row: u8,
        sources: [Operand; 3],
        kind: Shift,
    },
    ShiftAdd {
        row: u8,
        out: u8,
        sources: [Operand; 3],
        carry: PredicateSource,
        kind: ShiftAdd,
    },
    Permute {
        row: u8,
        sources: [Operand; 3],
        mode: Permute,
    },
    Select {
        row: u8,
        a: Operand,
        b: Operand,
        which: PredicateSource,
    },
    Mask {
        row: u8,
        a: Operand,
        b: Operand,
        wrap: bool,
    },
    Extend {
        row: u8,
        a: Operand,
        b: Operand,
        wrap: bool,
        signed: bool,
    },
    LeadingOne {
        row: u8,
        a: Operand,
        invert: bool,
        signed: bool,
        shift: bool,
    },
    CountOnes {
        row: u8,
        a: Operand,
        invert: bool,
    },
    Reverse {
        row: u8,
        a: Operand,
    },
    Compare {
        out: [u8; 2],
        a: Operand,
        b: Operand,
        signed: bool,
        compare: Compare,
        combine: Combine,
        with: PredicateSource,
        lower: Option<PredicateSource>,
    },
    Logic {
        out: [u8; 2],
        sources: [PredicateSource; 3],
        tables: [u8; 2],
    },
    /// Uniform predicates into the bits of a register.
    FromPredicates {
        row: u8,
        a: Operand,
        select: Operand,
        byte: u8,
    },
    /// A byte of a register into the uniform predicates that the mask names.
    ToPredicates {
        a: Operand,
        byte: u8,
        select: Operand,
    },
    /// The value of the lowest active lane; the predicate says that another lane's differs (the
    /// compiler asks so before it trusts a lane mask to be the same in all lanes).
    FromLane {
        row: u8,
        out: u8,
        a: Operand,
        /// The predicate keeps the lanes that it holds already.
        join: bool,
    },
}

/// Lowers a uniform instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    Ok(match opcode {
        Opcode::UMOV => {
            r.only(&[])?;
            Op::Move {
                row: r.uniform_destination(1)?,
                a: r.plain_source()?,
            }
        }
        Opcode::UIADD3 => {
            r.only(&[X])?;
            let extended = r.has(X);
            let row = r.uniform_destination(1)?;
            let out = [
                r.predicate_destination_or_none()?,
                r.predicate_destination_or_none()?,
            ];
            let (sources, negate) = integer::three_negatable(r)?;
            let carry = if extended {
                [
                    r.predicate_source_or(PredicateSource::FALSE)?,
                    r.predicate_source_or(PredicateSource::FALSE)?,
                ]
            } else {
                [PredicateSource::FALSE; 2]
            };
            Op::Add3 {
                row,
                out,
                sources,
                negate,
                extended,
                carry,
            }
        }
        Opcode::UIMAD => {
            r.only(&[MOV, SHL, IADD, U32, X, WIDE, HI])?;
            let wide = r.has(WIDE);
            let high = r.has(HI);
            let row = r.uniform_destination(if wide { 2 } else { 1 })?;
            if !wide && !high {
                let (a, b) = (r.plain_source()?, r.plain_source()?);
                let (c, negate) = r.negatable_source()?;
                let carry = if r.has(X) {
                    Some(r.predicate_source()?)
                } else {
                    None
                };
                return Ok(Op::MultiplyAdd {
                    row,
                    sources: [a, b, c],
                    negate,
                    carry,
                });
            }
            let out = r.predicate_destination_or_none()?;
            let (a, b) = (r.plain_source()?, r.plain_source()?);
            let (c, adjust) = r.wide_source(false)?;
            let carry = if r.has(X) {
                Some(r.predicate_source()?)
            } else {
                None
            };
            let negate = adjust.negate || adjust.invert;
            Op::MultiplyAddWide {
                row,
                out,
                a,
                b,
                c,
                signed: !r.has(U32),
                negate,
                carry,
                high,
            }
        }
        Opcode::ULOP3 => {
            r.only(&[LUT, PAND])?;
            let out = r.predicate_destination_or_none()?;
            let row = r.uniform_destination(1)?;
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
        Opcode::USHF => {
            let kind = integer::shift_kind(r)?;
            let row = r.uniform_destination(1)?;
            let sources = [r.plain_source()?, r.plain_source()?, r.plain_source()?];
            Op::Shift { row, sources, kind }
        }
        Opcode::ULEA => {
            let row = r.uniform_destination(1)?;
            let out = r.predicate_destination_or_none()?;
            let (sources, kind, carry) = integer::shift_add_sources(r)?;
            Op::ShiftAdd {
                row,
                out,
                sources,
                carry,
                kind,
            }
        }
        Opcode::UPRMT => {
            r.only(&[F4E, B4E, RC8, ECL, ECR, RC16])?;
            let mode = permute_mode(r);
            let row = r.uniform_destination(1)?;
            let sources = [r.plain_source()?, r.plain_source()?, r.plain_source()?];
            Op::Permute { row, sources, mode }
        }
        Opcode::USEL => {
            r.only(&[])?;
            Op::Select {
                row: r.uniform_destination(1)?,
                a: r.plain_source()?,
                b: r.plain_source()?,
                which: r.predicate_source()?,
            }
        }
        Opcode::UBMSK => {
            r.only(&[W])?;
            Op::Mask {
                row: r.uniform_destination(1)?,
                a: r.plain_source()?,
                b: r.plain_source()?,
                wrap: r.has(W),
            }
        }
        Opcode::USGXT => {
            r.only(&[W, U32])?;
            Op::Extend {
                row: r.uniform_destination(1)?,
                a: r.plain_source()?,
                b: r.plain_source()?,
                wrap: r.has(W),
                signed: !r.has(U32),
            }
        }
        Opcode::UFLO => {
            r.only(&[U32, SH])?;
            let row = r.uniform_destination(1)?;
            if r.at_predicate() {
                return refuse("the predicate result of UFLO");
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
        Opcode::UPOPC => {
            r.only(&[])?;
            let row = r.uniform_destination(1)?;
            let (a, invert) = r.negatable_source()?;
            Op::CountOnes { row, a, invert }
        }
        Opcode::UBREV => {
            r.only(&[])?;
            Op::Reverse {
                row: r.uniform_destination(1)?,
                a: r.plain_source()?,
            }
        }
        Opcode::UISETP => {
            let (compare, combine) = comparison(r, &[U32, EX])?;
            let out = [r.predicate_destination()?, r.predicate_destination()?];
            let (a, b) = (r.plain_source()?, r.plain_source()?);
            let with = r.predicate_source()?;
            let lower = if r.has(EX) {
                Some(r.predicate_source_or(PredicateSource::TRUE)?)
            } else {
                None
            };
            Op::Compare {
                out,
                a,
                b,
                signed: !r.has(U32),
                compare,
                combine,
                with,
                lower,
            }
        }
        Opcode::UPLOP3 => {
            r.only(&[LUT])?;
            let out = [r.predicate_destination()?, r.predicate_destination()?];
            let sources = [
                r.predicate_source()?,
                r.predicate_source()?,
                r.predicate_source()?,
            ];
            let tables = [r.immediate()? as u8, r.immediate()? as u8];
            Op::Logic {
                out,
                sources,
                tables,
            }
        }
        Opcode::UP2UR => {
            r.only(&[B1, B2, B3])?;
            let byte = r.choose(&[(B1, 1), (B2, 2), (B3, 3)], 0);
            let row = r.uniform_destination(1)?;
            r.predicate_set()?;
            let (a, select) = (r.plain_source()?, r.plain_source()?);
            Op::FromPredicates {
                row,
                a,
                select,
                byte,
            }
        }
        Opcode::UR2UP => {
            r.only(&[])?;
            r.predicate_set()?;
            let (a, adjust, select) = r.source()?;
            if adjust != sass::Adjust::default() {
                return refuse("a sign of UR2UP's source");
            }
            let byte = match select {
                sass::Select::None => 0,
                sass::Select::B1 => 1,
                sass::Select::B2 => 2,
                sass::Select::B3 => 3,
                _ => return refuse("a suffix of UR2UP's source"),
            };
            let select = match r.peek() {
                Some(_) => r.plain_source()?,
                None => Operand::Scalar(0xff),
            };
            Op::ToPredicates { a, byte, select }
        }
        Opcode::R2UR => {
            r.only(&[OR])?;
            let out = r.predicate_destination_or_none()?;
            Op::FromLane {
                row: r.uniform_destination(1)?,
                out,
                a: r.plain_source()?,
                join: r.has(OR),
            }
        }
        other => return refuse(format!("{} is not a uniform instruction", other.text())),
    })
}

/// Executes a uniform operation; `mask` are the lanes that take part.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp, mask: u32) {
    let active = warp.splits.active;
    let holds = |warp: &Warp, source: PredicateSource| warp.uniform_condition(source, active);
    match *op {
        Op::Move { row, a } => {
            let value = warp.fetch_scalar(a);
            warp.write_uniform(row, value);
        }
        Op::Add3 {
            row,
            out,
            sources,
            negate,
            extended,
            carry,
        } => {
            let words = sources.map(|source| warp.fetch_scalar(source));
            let carries = if extended {
                holds(warp, carry[0]) as u32 + holds(warp, carry[1]) as u32
            } else {
                0
            };
            let sum = arithmetic::add3(words, negate, extended, carries);
            warp.write_uniform(row, sum as u32);
            warp.write_uniform_predicate(out[0], sum >> 32 >= 1);
            warp.write_uniform_predicate(out[1], sum >> 32 >= 2);
        }
        Op::MultiplyAdd {
            row,
            sources,
            negate,
            carry,
        } => {
            let [a, b, c] = sources.map(|source| warp.fetch_scalar(source));
            let value = match (negate, carry) {
                (false, None) => c,
                (true, None) => c.wrapping_neg(),
                (false, Some(carry)) => c.wrapping_add(holds(warp, carry) as u32),
                (true, Some(carry)) => (!c).wrapping_add(holds(warp, carry) as u32),
            };
            warp.write_uniform(row, a.wrapping_mul(b).wrapping_add(value));
        }
        Op::MultiplyAddWide {
            row,
            out,
            a,
            b,
            c,
            signed,
            negate,
            carry,
            high,
        } => {
            let (a, b) = (warp.fetch_scalar(a), warp.fetch_scalar(b));
            let (low, upper) = warp.fetch_wide(c);
            let c = u64::from(upper[0]) << 32 | u64::from(low[0]);
            let added = carry.is_some_and(|carry| holds(warp, carry)) as u32;
            let (sum, over) =
                arithmetic::multiply_add_wide(a, b, c, signed, negate, carry.is_some(), added);
            if high {
                warp.write_uniform(row, (sum >> 32) as u32);
            } else {
                warp.write_uniform(row, sum as u32);
                if row != 63 {
                    warp.write_uniform(row + 1, (sum >> 32) as u32);
                }
            }
            warp.write_uniform_predicate(out, over);
        }
        Op::Logic3 {
            row,
            sources,
            table,
            out,
            with,
            conjunction,
        } => {
            let [a, b, c] = sources.map(|source| warp.fetch_scalar(source));
            let result = arithmetic::logic3(a, b, c, table);
            let with = holds(warp, with);
            let set = result != 0;
            warp.write_uniform_predicate(
                out,
                if conjunction {
                    set && with
                } else {
                    set || with
                },
            );
            warp.write_uniform(row, result);
        }
        Op::Shift { row, sources, kind } => {
            let [a, b, c] = sources.map(|source| warp.fetch_scalar(source));
            warp.write_uniform(row, arithmetic::shift(a, b, c, kind));
        }
        Op::ShiftAdd {
            row,
            out,
            sources,
            carry,
            kind,
        } => {
            let [a, b, c] = sources.map(|source| warp.fetch_scalar(source));
            let added = (kind.extended && holds(warp, carry)) as u32;
            let sum = arithmetic::shift_add(a, b, c, added, kind);
            warp.write_uniform(row, sum as u32);
            warp.write_uniform_predicate(out, sum >> 32 != 0);
        }
        Op::Permute { row, sources, mode } => {
            let [a, b, c] = sources.map(|source| warp.fetch_scalar(source));
            warp.write_uniform(row, permute(a, b, c, mode));
        }
        Op::Select { row, a, b, which } => {
            let value = warp.fetch_scalar(if holds(warp, which) { a } else { b });
            warp.write_uniform(row, value);
        }
        Op::Mask { row, a, b, wrap } => {
            let value = arithmetic::bit_mask(warp.fetch_scalar(a), warp.fetch_scalar(b), wrap);
            warp.write_uniform(row, value);
        }
        Op::Extend {
            row,
            a,
            b,
            wrap,
            signed,
        } => {
            let value =
                arithmetic::extend(warp.fetch_scalar(a), warp.fetch_scalar(b), wrap, signed);
            warp.write_uniform(row, value);
        }
        Op::LeadingOne {
            row,
            a,
            invert,
            signed,
            shift,
        } => {
            let a = warp.fetch_scalar(a) ^ 0u32.wrapping_sub(invert as u32);
            warp.write_uniform(row, arithmetic::leading_one(a, signed, shift));
        }
        Op::CountOnes { row, a, invert } => {
            let a = warp.fetch_scalar(a) ^ 0u32.wrapping_sub(invert as u32);
            warp.write_uniform(row, a.count_ones());
        }
        Op::Reverse { row, a } => {
            let value = warp.fetch_scalar(a).reverse_bits();
            warp.write_uniform(row, value);
        }
        Op::Compare {
            out,
            a,
            b,
            signed,
            compare,
            combine,
            with,
            lower,
        } => {
            let (a, b) = (warp.fetch_scalar(a), warp.fetch_scalar(b));
            let mut result = if signed {
                compare.integers(a as i32, b as i32)
            } else {
                compare.integers(a, b)
            };
            if let Some(lower) = lower
                && a == b
                && !matches!(compare, Compare::True | Compare::False)
            {
                result = holds(warp, lower);
            }
            let with = holds(warp, with) as u32;
            let first = combine.masks(result as u32, with) & 1 == 1;
            let second = combine.masks(!result as u32, with) & 1 == 1;
            warp.write_uniform_predicate(out[0], first);
            warp.write_uniform_predicate(out[1], second);
        }
        Op::Logic {
            out,
            sources,
            tables,
        } => {
            let [a, b, c] = sources.map(|source| 0u32.wrapping_sub(holds(warp, source) as u32));
            for (out, table) in out.into_iter().zip(tables) {
                warp.write_uniform_predicate(out, arithmetic::logic3(a, b, c, table) & 1 == 1);
            }
        }
        Op::FromPredicates {
            row,
            a,
            select,
            byte,
        } => {
            let shift = 8 * u32::from(byte & 3);
            let select = warp.fetch_scalar(select) & 0x7f;
            let bits = u32::from(warp.uniform_predicates) & select;
            let value = warp.fetch_scalar(a) & !(select << shift) | bits << shift;
            warp.write_uniform(row, value);
        }
        Op::ToPredicates { a, byte, select } => {
            let bits = (warp.fetch_scalar(a) >> (8 * u32::from(byte & 3))) as u8;
            let select = warp.fetch_scalar(select) as u8 & 0x7f;
            warp.uniform_predicates = warp.uniform_predicates & !select | bits & select;
        }
        Op::FromLane { row, out, a, join } => {
            // The compiler loops over the lanes for which the predicate says that their value is
            // another one.
            let lane = mask.trailing_zeros() as usize & 31;
            let a = warp.fetch(a);
            let value = a[lane];
            warp.write_uniform(row, value);
            if out != 7 {
                let mut differs = mask_of(|other| a[other] != value);
                if join {
                    differs |= warp.predicates[out as usize & 7];
                }
                warp.write_predicate(out, differs, mask);
            }
        }
    }
}
