//! From decoded integer instructions to operations.

use sass::{Modifier, Opcode};

use crate::lower::{Lowered, Reader, refuse};
use crate::micro::{Operand, PredicateSource};

use super::super::arithmetic::{Dot, Shift, ShiftAdd};
use super::Op;

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
