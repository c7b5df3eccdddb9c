//! Matrix multiply-accumulate. Fragments lie across the warp as PTX lays them out.
//!
//! Half, brain-float and TF32 matrices are in `tensor_float`.

use sass::{Modifier, Opcode};

use crate::lanes::Lanes;
use crate::lower::{Lowered, Reader, refuse};
use crate::micro::PredicateSource;
use crate::rounding::DOUBLE_NAN;
use crate::warp::Warp;

use super::tensor_float::{self, Matrices};

/// Element type of A and B.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Element {
    Half,
    Brain,
    Tf32,
}

/// Lowered matrix operations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// 16 × 8 × k of half, brain or TF32 elements.
    Float {
        row: u16,
        a: Option<u16>,
        b: Option<u16>,
        c: Option<u16>,
        k: u8,
        element: Element,
        single: bool,
    },
    /// m × 8 × k of integers.
    Integer {
        row: u16,
        a: Option<u16>,
        b: Option<u16>,
        c: Option<u16>,
        /// 8 or 16 rows.
        m: u8,
        /// Elements of a register and registers of a quarter row.
        k: u8,
        bits: u8,
        signed_a: bool,
        signed_b: bool,
        saturate: bool,
    },
    /// 8 × 8 × 4 of doubles.
    Double {
        row: u16,
        a: Option<u16>,
        b: Option<u16>,
        c: Option<u16>,
        signs: u8,
    },
    /// m × 8 × k of bits: counts of the ones of and or xor.
    Bits {
        row: u16,
        a: Option<u16>,
        b: Option<u16>,
        c: Option<u16>,
        m: u8,
        k: u16,
        xor: bool,
    },
}

/// Lowers a matrix instruction.
pub(crate) fn lower(opcode: Opcode, r: &mut Reader<'_>) -> Lowered<Op> {
    use Modifier::*;
    let op = match opcode {
        Opcode::HMMA => {
            r.only(&[N1688, N16816, N1684, F16, F32, BF16, TF32])?;
            let element = r.choose(
                &[(BF16, Element::Brain), (TF32, Element::Tf32)],
                Element::Half,
            );
            let single = r.has(F32);
            let k: u8 = r.choose(&[(N1684, 4), (N1688, 8), (N16816, 16)], 0);
            // Registers of A and B: two halves or one TF32 number in each.
            let (na, nb) = match (element, k) {
                (Element::Tf32, 4) => (2, 1),
                (Element::Tf32, 8) => (4, 2),
                (Element::Half | Element::Brain, 8) => (2, 1),
                (Element::Half | Element::Brain, 16) => (4, 2),
                _ => return refuse("a shape of HMMA"),
            };
            let nc = if single { 4 } else { 2 };
            let Some(row) = r.destination_or_none(nc)? else {
                return refuse("HMMA into RZ");
            };
            let a = r.register_source(na)?;
            let b = r.register_source(nb)?;
            let c = r.register_source(nc)?;
            Op::Float {
                row,
                a,
                b,
                c,
                k,
                element,
                single,
            }
        }
        Opcode::IMMA => {
            let (m, k): (u8, u8) = r.choose(
                &[
                    (N8816, (8, 16)),
                    (N8832, (8, 32)),
                    (N16816, (16, 16)),
                    (N16832, (16, 32)),
                    (N16864, (16, 64)),
                ],
                (0, 0),
            );
            if m == 0 || r.has(SP) {
                return refuse("a shape of IMMA");
            }
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
            let [(bits, signed_a), (bits_b, signed_b)] = types[..] else {
                return refuse("IMMA without two types");
            };
            if bits != bits_b {
                return refuse("IMMA of mixed widths");
            }
            // Registers: rows over eight, K in quarters of a register's elements.
            let per_register = 32 / u16::from(bits);
            let quarters = u16::from(k) / (4 * per_register);
            if quarters == 0 {
                return refuse("a shape of IMMA");
            }
            let tiles = u16::from(m) / 8;
            let Some(row) = r.destination_or_none(2 * tiles)? else {
                return refuse("IMMA into RZ");
            };
            let a = skip_layout(r, tiles * quarters)?;
            let b = skip_layout(r, quarters)?;
            let c = r.register_source(2 * tiles)?;
            Op::Integer {
                row,
                a,
                b,
                c,
                m,
                k,
                bits,
                signed_a,
                signed_b,
                saturate: r.has(SAT),
            }
        }
        Opcode::DMMA => {
            r.only(&[N884])?;
            let Some(row) = r.destination_or_none(4)? else {
                return refuse("DMMA into RZ");
            };
            let (a, na) = double_source(r, 2)?;
            let (b, nb) = double_source(r, 2)?;
            let (c, nc) = double_source(r, 4)?;
            Op::Double {
                row,
                a,
                b,
                c,
                signs: na | nb << 2 | nc << 4,
            }
        }
        Opcode::BMMA => {
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
                return refuse("BMMA into RZ");
            };
            let a = skip_layout(r, tiles * quarters)?;
            let b = skip_layout(r, quarters)?;
            let c = r.register_source(2 * tiles)?;
            Op::Bits {
                row,
                a,
                b,
                c,
                m,
                k,
                xor,
            }
        }
        other => return refuse(format!("{} is not a matrix instruction", other.text())),
    };
    if r.predicate_source_or(PredicateSource::TRUE)? != PredicateSource::TRUE {
        return refuse("a gated matrix instruction");
    }
    Ok(op)
}

/// A source of `count` registers that may carry its layout (`.ROW`, `.COL`), which the shape fixes.
fn skip_layout(r: &mut Reader<'_>, count: u16) -> Lowered<Option<u16>> {
    match r.peek() {
        Some(sass::Operand::Register { register, .. }) => {
            let register = *register;
            r.skip();
            if register == sass::Register::ZERO {
                Ok(None)
            } else {
                r.rows(register, count).map(Some)
            }
        }
        _ => refuse("a source that is not a register"),
    }
}

fn double_source(r: &mut Reader<'_>, count: u16) -> Lowered<(Option<u16>, u8)> {
    match r.peek() {
        Some(sass::Operand::Register { adjust, .. }) => {
            let adjust = *adjust;
            let row = skip_layout(r, count)?;
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

/// Element `index` of `bits` bits in a register.
fn integer_element(word: u32, index: usize, bits: u32, signed: bool) -> i32 {
    let shifted = word << (32 - bits * (index as u32 + 1));
    if signed {
        shifted as i32 >> (32 - bits)
    } else {
        (shifted >> (32 - bits)) as i32
    }
}

fn integer(warp: &mut Warp, op: &Op) {
    let Op::Integer {
        row,
        a,
        b,
        c,
        m,
        k,
        bits,
        signed_a,
        signed_b,
        saturate,
    } = *op
    else {
        return;
    };
    let bits = u32::from(bits);
    let per_register = 32 / bits as usize;
    let quarters = k as usize / (4 * per_register);
    let tiles = m as usize / 8;
    let mut result = [Lanes::ZERO; 4];
    for tile in 0..tiles {
        for column in 0..2 {
            let c = register(warp, c, (2 * tile + column) as u16);
            for lane in 0..32 {
                let (i, j) = (lane / 4, 2 * (lane % 4) + column);
                let mut sum = i64::from(c[lane] as i32);
                for quarter in 0..quarters {
                    let a = register(warp, a, (tiles * quarter + tile) as u16);
                    let b = register(warp, b, quarter as u16);
                    for within in 0..4 {
                        let (x, y) = (a[4 * i + within], b[4 * j + within]);
                        for index in 0..per_register {
                            sum += i64::from(
                                integer_element(x, index, bits, signed_a)
                                    * integer_element(y, index, bits, signed_b),
                            );
                        }
                    }
                }
                result[2 * tile + column][lane] = if saturate {
                    sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
                } else {
                    sum as u32
                };
            }
        }
    }
    for (index, lanes) in result.iter().enumerate().take(2 * tiles) {
        warp.registers[row as usize + index] = *lanes;
    }
}

fn bits(warp: &mut Warp, op: &Op) {
    let Op::Bits {
        row,
        a,
        b,
        c,
        m,
        k,
        xor,
    } = *op
    else {
        return;
    };
    let quarters = k as usize / 128;
    let tiles = m as usize / 8;
    let mut result = [Lanes::ZERO; 4];
    for tile in 0..tiles {
        for column in 0..2 {
            let c = register(warp, c, (2 * tile + column) as u16);
            for lane in 0..32 {
                let (i, j) = (lane / 4, 2 * (lane % 4) + column);
                let mut sum = c[lane];
                for quarter in 0..quarters {
                    let a = register(warp, a, (tiles * quarter + tile) as u16);
                    let b = register(warp, b, quarter as u16);
                    for within in 0..4 {
                        let (x, y) = (a[4 * i + within], b[4 * j + within]);
                        let joined = if xor { x ^ y } else { x & y };
                        sum = sum.wrapping_add(joined.count_ones());
                    }
                }
                result[2 * tile + column][lane] = sum;
            }
        }
    }
    for (index, lanes) in result.iter().enumerate().take(2 * tiles) {
        warp.registers[row as usize + index] = *lanes;
    }
}

fn double(warp: &mut Warp, op: &Op) {
    let Op::Double {
        row,
        a,
        b,
        c,
        signs,
    } = *op
    else {
        return;
    };
    let get = |warp: &Warp, first: Option<u16>, index: u16, lane: usize, signs: u8| {
        let low = register(warp, first, 2 * index)[lane];
        let high = register(warp, first, 2 * index + 1)[lane];
        let value = f64::from_bits(u64::from(high) << 32 | u64::from(low));
        let value = if signs & 2 != 0 { value.abs() } else { value };
        if signs & 1 != 0 { -value } else { value }
    };
    let mut result = [Lanes::ZERO; 4];
    for lane in 0..32 {
        for column in 0..2 {
            let (i, j) = (lane / 4, 2 * (lane % 4) + column);
            let mut sum = get(warp, c, column as u16, lane, signs >> 4);
            for k in 0..4 {
                let x = get(warp, a, 0, 4 * i + k, signs);
                let y = get(warp, b, 0, 4 * j + k, signs >> 2);
                sum = x.mul_add(y, sum);
            }
            let bits = if sum.is_nan() {
                DOUBLE_NAN
            } else {
                sum.to_bits()
            };
            result[2 * column][lane] = bits as u32;
            result[2 * column + 1][lane] = (bits >> 32) as u32;
        }
    }
    for (index, lanes) in result.iter().enumerate() {
        warp.registers[row as usize + index] = *lanes;
    }
}

/// Executes a matrix operation; all lanes take part.
#[inline(always)]
pub(crate) fn execute(op: &Op, warp: &mut Warp) {
    match op {
        &Op::Float {
            row,
            a,
            b,
            c,
            k,
            element,
            single,
        } => {
            tensor_float::execute(
                warp,
                Matrices {
                    row,
                    a,
                    b,
                    c,
                    k,
                    element,
                    single,
                },
            );
        }
        Op::Integer { .. } => integer(warp, op),
        Op::Double { .. } => double(warp, op),
        Op::Bits { .. } => bits(warp, op),
    }
}
