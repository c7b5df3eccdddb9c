//! Matrix multiply-accumulate. Fragments lie across the warp as PTX lays them out.
//!
//! Floating-point matrices are in `tensor_float` (with the rule in `tensor_rule` and its arithmetic in
//! `tensor_step`) and `tensor_quad`, integers in `tensor_integer`, doubles in `tensor_double`; where the
//! elements of a sparse factor stand is in `tensor_sparse`.

use sass::{Modifier, Opcode, Select};

use crate::lanes::Lanes;
use crate::lower::{Lowered, Reader, refuse};
use crate::micro::PredicateSource;
use crate::warp::Warp;

use super::tensor_double::{self, Doubles};
use super::tensor_float::{self, Matrices};
use super::tensor_integer::{self, Bits, Integers};
use super::tensor_quad::{self, Quads};
use super::tensor_rule::{Element, rule};
use super::tensor_sparse::Metadata;

/// Lowered matrix operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// 16 × 8 × k of half, brain, TF32 or 8-bit elements.
    Float(Matrices),
    /// A step of 8 × 8 × 4 of halves.
    Quad(Quads),
    /// m × 8 × k of integers.
    Integer(Integers),
    /// m × 8 × k of doubles.
    Double(Doubles),
    /// m × 8 × k of bits: counts of the ones of and or xor.
    Bits(Bits),
}

/// Lowers a matrix instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    match opcode {
        Opcode::HMMA if r.has(Modifier::N884) => quads(r),
        Opcode::HMMA => halves(r),
        Opcode::QMMA => quarters(r),
        Opcode::IMMA => integers(r),
        Opcode::DMMA => doubles(r),
        Opcode::BMMA => bits(r),
        other => refuse(format!("{} is not a matrix instruction", other.text())),
    }
}

/// HMMA but the shape of Volta.
fn halves(r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    r.only(&[SP, N1684, N1688, N16816, N16832, F16, F32, BF16, TF32])?;
    let element = r.choose(
        &[(BF16, Element::Brain), (TF32, Element::Tf32)],
        Element::Half,
    );
    let k = r.choose(&[(N1684, 4), (N1688, 8), (N16816, 16), (N16832, 32)], 0);
    float(r, (element, element), k)
}

/// QMMA.
fn quarters(r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    r.only(&[SP, N16816, N16832, N16864, F16, F32, E4M3, E5M2])?;
    let mut elements = r.instruction.modifiers.iter().filter_map(|m| match m {
        E4M3 => Some(Element::E4m3),
        E5M2 => Some(Element::E5m2),
        _ => None,
    });
    let (Some(a), Some(b)) = (elements.next(), elements.next()) else {
        return refuse("QMMA without two types");
    };
    let k = r.choose(&[(N16816, 16), (N16832, 32), (N16864, 64)], 0);
    float(r, (a, b), k)
}

/// A product of 16 rows and `depth` with these elements.
fn float(r: &mut Reader<'_>, elements: (Element, Element), depth: u16) -> Lowered<Op> {
    let (element_a, element_b) = elements;
    let Some(rule) = rule(r.instruction.architecture, element_a) else {
        return refuse(format!(
            "{} of this type on {}",
            r.instruction.opcode.text(),
            r.instruction.architecture
        ));
    };
    let single = r.has(Modifier::F32);
    let sparse = r.has(Modifier::SP);
    let k = if sparse { depth / 2 } else { depth };
    let quarter = 4 * element_a.per_register() as u16;
    // A has one or two registers for each half of the rows.
    if !matches!(k / quarter, 1 | 2) || k % quarter != 0 {
        return refuse("a shape of this matrix instruction");
    }
    let sums = if single { 4 } else { 2 };
    let Some(row) = r.destination_or_none(sums)? else {
        return refuse("a matrix result into RZ");
    };
    let a = factor(r, 2 * k / quarter)?;
    let b = factor(r, depth / quarter)?;
    let c = r.register_source(sums)?;
    gate(r)?;
    let metadata = metadata(r, sparse, element_a.bits(), k)?;
    Ok(Op::Float(Matrices {
        row,
        a,
        b,
        c,
        k: k as u8,
        element_a,
        element_b,
        single,
        rule,
        metadata,
    }))
}

/// HMMA.884.
fn quads(r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    r.only(&[N884, F16, F32, STEP0, STEP1, STEP2, STEP3])?;
    let types: Vec<bool> = r
        .instruction
        .modifiers
        .iter()
        .filter_map(|m| match m {
            F32 => Some(true),
            F16 => Some(false),
            _ => None,
        })
        .collect();
    let [single_out, single_in] = types[..] else {
        return refuse("HMMA.884 without two types");
    };
    let step = r.choose(&[(STEP0, 0), (STEP1, 1), (STEP2, 2), (STEP3, 3)], 4);
    if step >= if single_out { 4 } else { 2 } || single_in && !single_out {
        return refuse("a step of HMMA.884");
    }
    let Some(mut rule) = rule(r.instruction.architecture, Element::Half) else {
        return refuse("HMMA.884 on this architecture");
    };
    rule.products = 4;
    let Some(row) = r.destination_or_none(2)? else {
        return refuse("a matrix result into RZ");
    };
    let by_column = |r: &Reader<'_>| match r.peek() {
        Some(sass::Operand::Register { select, .. }) => *select == Select::Col,
        _ => false,
    };
    let a_by_column = by_column(r);
    let a = factor(r, 2)?;
    let b_by_column = by_column(r);
    let b = factor(r, 2)?;
    let c = r.register_source(2)?;
    gate(r)?;
    Ok(Op::Quad(Quads {
        row,
        a,
        b,
        c,
        a_by_column,
        b_by_column,
        single_out,
        single_in,
        step,
        rule,
    }))
}

/// IMMA.
fn integers(r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let (m, depth): (u8, u16) = r.choose(
        &[
            (N8816, (8, 16)),
            (N8832, (8, 32)),
            (N16816, (16, 16)),
            (N16832, (16, 32)),
            (N16864, (16, 64)),
            (N168128, (16, 128)),
        ],
        (0, 0),
    );
    let types: Vec<(u8, bool)> = r
        .instruction
        .modifiers
        .iter()
        .filter_map(|m| match m {
            S8 => Some((8, true)),
            U8 => Some((8, false)),
            S4 => Some((4, true)),
            U4 => Some((4, false)),
            _ => None,
        })
        .collect();
    let [(width, signed_a), (width_b, signed_b)] = types[..] else {
        return refuse("IMMA without two types");
    };
    if width != width_b {
        return refuse("IMMA of mixed widths");
    }
    let sparse = r.has(SP);
    let k = if sparse { depth / 2 } else { depth };
    // Registers: rows over eight, K in quarters of a register's elements.
    let quarter = 4 * 32 / u16::from(width);
    let tiles = u16::from(m) / 8;
    let quarters = k / quarter;
    if !matches!((tiles, quarters), (1, 1) | (2, 1 | 2)) || sparse && tiles == 1 {
        return refuse("a shape of IMMA");
    }
    let Some(row) = r.destination_or_none(2 * tiles)? else {
        return refuse("a matrix result into RZ");
    };
    let a = factor(r, tiles * quarters)?;
    let b = factor(r, depth / quarter)?;
    let c = r.register_source(2 * tiles)?;
    gate(r)?;
    let metadata = metadata(r, sparse, u32::from(width), k)?;
    Ok(Op::Integer(Integers {
        row,
        a,
        b,
        c,
        m,
        k: k as u8,
        bits: width,
        signed_a,
        signed_b,
        saturate: r.has(SAT),
        metadata,
    }))
}

/// DMMA.
fn doubles(r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    r.only(&[N884, N8x8x4, N16x8x4, N16x8x8, N16x8x16, RM, RP, RZ])?;
    let (m, k): (u8, u8) = r.choose(
        &[
            (N884, (8, 4)),
            (N8x8x4, (8, 4)),
            (N16x8x4, (16, 4)),
            (N16x8x8, (16, 8)),
            (N16x8x16, (16, 16)),
        ],
        (0, 0),
    );
    if m == 0 {
        return refuse("a shape of DMMA");
    }
    let (tiles, quarters) = (u16::from(m) / 8, u16::from(k) / 4);
    let Some(row) = r.destination_or_none(4 * tiles)? else {
        return refuse("a matrix result into RZ");
    };
    let (a, na) = signed_factor(r, 2 * tiles * quarters)?;
    let (b, nb) = signed_factor(r, 2 * quarters)?;
    let (c, nc) = signed_factor(r, 4 * tiles)?;
    gate(r)?;
    Ok(Op::Double(Doubles {
        row,
        a,
        b,
        c,
        m,
        k,
        signs: na | nb << 2 | nc << 4,
        rounding: super::float::rounding(r),
    }))
}

/// BMMA.
fn bits(r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let (m, k): (u8, u16) = r.choose(
        &[
            (N88128, (8, 128)),
            (N168128, (16, 128)),
            (N168256, (16, 256)),
        ],
        (0, 0),
    );
    if m == 0 {
        return refuse("a shape of BMMA");
    }
    let xor = r.choose(&[(XOR, Some(true)), (AND, Some(false))], None);
    let Some(xor) = xor else {
        return refuse("BMMA without an operation");
    };
    let tiles = u16::from(m) / 8;
    let quarters = k / 128;
    let Some(row) = r.destination_or_none(2 * tiles)? else {
        return refuse("a matrix result into RZ");
    };
    let a = factor(r, tiles * quarters)?;
    let b = factor(r, quarters)?;
    let c = r.register_source(2 * tiles)?;
    gate(r)?;
    Ok(Op::Bits(Bits {
        row,
        a,
        b,
        c,
        m,
        k,
        xor,
    }))
}

/// The uniform predicate that gates a product, which must be true.
fn gate(r: &mut Reader<'_>) -> Lowered<()> {
    if r.predicate_source_or(PredicateSource::TRUE)? == PredicateSource::TRUE {
        Ok(())
    } else {
        refuse("a gated matrix instruction")
    }
}

/// The metadata and the selector of a sparse product with `k` kept elements of `bits` bits in a row.
fn metadata(r: &mut Reader<'_>, sparse: bool, bits: u32, k: u16) -> Lowered<Option<Metadata>> {
    if !sparse {
        return Ok(None);
    }
    let row = factor(r, 1)?;
    let selector = r.immediate()?;
    Ok(Some(Metadata {
        row,
        selector: selector as u8 & 3,
        bits: bits as u8,
        k: k as u8,
    }))
}

/// A source of `count` registers that may carry its layout (`.ROW`, `.COL`), but no sign.
fn factor(r: &mut Reader<'_>, count: u16) -> Lowered<Option<u16>> {
    match signed_factor(r, count)? {
        (row, 0) => Ok(row),
        _ => refuse("the sign of a factor"),
    }
}

/// A source of `count` registers with its signs: minus 1, absolute value 2.
fn signed_factor(r: &mut Reader<'_>, count: u16) -> Lowered<(Option<u16>, u8)> {
    match r.peek() {
        Some(sass::Operand::Register {
            register, adjust, ..
        }) => {
            let (register, adjust) = (*register, *adjust);
            r.skip();
            let row = if register == sass::Register::ZERO {
                None
            } else {
                Some(r.rows(register, count)?)
            };
            Ok((row, adjust.negate as u8 | (adjust.absolute as u8) << 1))
        }
        _ => refuse("a source that is not a register"),
    }
}

/// A register of an operand; RZ is zero.
#[inline(always)]
pub(crate) fn register(warp: &Warp, first: Option<u16>, index: u16) -> Lanes {
    first.map_or(Lanes::ZERO, |first| {
        warp.registers[(first + index) as usize]
    })
}

/// Executes a matrix operation; all lanes take part.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp) {
    match op {
        Op::Float(m) => tensor_float::execute(warp, m),
        Op::Quad(m) => tensor_quad::execute(warp, m),
        Op::Integer(m) => tensor_integer::integers(warp, m),
        Op::Double(m) => tensor_double::execute(warp, m),
        Op::Bits(m) => tensor_integer::bits(warp, m),
    }
}
