//! IMMA and BMMA: matrices of 8-bit, 4-bit and single-bit integers.

use crate::lanes::Lanes;
use crate::warp::Warp;

use super::tensor::register;
use super::tensor_sparse::Metadata;

/// What the operands of an integer product are: first registers, `None` for RZ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Integers {
    pub(crate) row: u16,
    pub(crate) a: Option<u16>,
    pub(crate) b: Option<u16>,
    pub(crate) c: Option<u16>,
    /// 8 or 16 rows.
    pub(crate) m: u8,
    /// Elements of a row of A as it lies in registers: half of the depth if it is sparse.
    pub(crate) k: u8,
    /// Bits of an element.
    pub(crate) bits: u8,
    pub(crate) signed_a: bool,
    pub(crate) signed_b: bool,
    /// Clamps the sum.
    pub(crate) saturate: bool,
    /// Where A's elements stand, if it is sparse.
    pub(crate) metadata: Option<Metadata>,
}

/// The operands of a product of bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    pub(crate) row: u16,
    pub(crate) a: Option<u16>,
    pub(crate) b: Option<u16>,
    pub(crate) c: Option<u16>,
    pub(crate) m: u8,
    pub(crate) k: u16,
    /// Counts the ones of exclusive or, else of and.
    pub(crate) xor: bool,
}

/// Element `index` of `bits` bits in a register.
#[inline(always)]
fn element(word: u32, index: usize, bits: u32, signed: bool) -> i32 {
    let shifted = word << (32 - bits * (index as u32 + 1));
    if signed {
        shifted as i32 >> (32 - bits)
    } else {
        (shifted >> (32 - bits)) as i32
    }
}

/// Sum of the products of two registers' elements.
#[inline(always)]
fn dot(x: u32, y: u32, m: &Integers) -> i32 {
    let bits = u32::from(m.bits);
    let mut sum = 0;
    for index in 0..32 / m.bits as usize {
        sum += element(x, index, bits, m.signed_a) * element(y, index, bits, m.signed_b);
    }
    sum
}

/// Executes IMMA; all lanes take part.
#[inline(always)]
pub(crate) fn integers(warp: &mut Warp, m: &Integers) {
    let per_register = 32 / m.bits as usize;
    let quarters = m.k as usize / (4 * per_register);
    let tiles = m.m as usize / 8;
    let mut result = [Lanes::ZERO; 4];
    for tile in 0..tiles {
        for column in 0..2 {
            let c = register(warp, m.c, (2 * tile + column) as u16);
            for lane in 0..32 {
                let (i, j) = (lane / 4, 2 * (lane % 4) + column);
                let mut sum = i64::from(c[lane] as i32);
                match m.metadata {
                    None => {
                        for quarter in 0..quarters {
                            let a = register(warp, m.a, (tiles * quarter + tile) as u16);
                            let b = register(warp, m.b, quarter as u16);
                            for within in 0..4 {
                                let (x, y) = (a[4 * i + within], b[4 * j + within]);
                                sum += i64::from(dot(x, y, m));
                            }
                        }
                    }
                    Some(metadata) => sum += sparse(warp, m, metadata, (lane, tile, j)),
                }
                result[2 * tile + column][lane] = if m.saturate {
                    sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
                } else {
                    sum as u32
                };
            }
        }
    }
    for (index, lanes) in result.iter().enumerate().take(2 * tiles) {
        warp.registers[m.row as usize + index] = *lanes;
    }
}

/// The products of the kept elements of `lane`'s row in half `tile` with column `j`.
fn sparse(
    warp: &Warp,
    m: &Integers,
    metadata: Metadata,
    (lane, tile, j): (usize, usize, usize),
) -> i64 {
    let bits = u32::from(m.bits);
    let per_register = 32 / m.bits as usize;
    let words = register(warp, metadata.row, 0);
    // Register, lane and place in the register of element `l` of a row or column.
    let place = |l: usize| {
        let (quarter, rest) = (l / (4 * per_register), l % (4 * per_register));
        (quarter, rest / per_register, rest % per_register)
    };
    let mut sum = 0;
    for kept in 0..m.k as usize {
        let (quarter, within, part) = place(kept);
        let a = register(warp, m.a, (2 * quarter + tile) as u16)[(lane & !3) | within];
        let (quarter, within, other) = place(metadata.find(&words, lane, tile, kept));
        let b = register(warp, m.b, quarter as u16)[4 * j + within];
        let product = element(a, part, bits, m.signed_a) * element(b, other, bits, m.signed_b);
        sum += i64::from(product);
    }
    sum
}

/// Executes BMMA; all lanes take part.
#[inline(always)]
pub(crate) fn bits(warp: &mut Warp, m: &Bits) {
    let quarters = m.k as usize / 128;
    let tiles = m.m as usize / 8;
    let mut result = [Lanes::ZERO; 4];
    for tile in 0..tiles {
        for column in 0..2 {
            let c = register(warp, m.c, (2 * tile + column) as u16);
            for lane in 0..32 {
                let (i, j) = (lane / 4, 2 * (lane % 4) + column);
                let mut sum = c[lane];
                for quarter in 0..quarters {
                    let a = register(warp, m.a, (tiles * quarter + tile) as u16);
                    let b = register(warp, m.b, quarter as u16);
                    for within in 0..4 {
                        let (x, y) = (a[4 * i + within], b[4 * j + within]);
                        let joined = if m.xor { x ^ y } else { x & y };
                        sum = sum.wrapping_add(joined.count_ones());
                    }
                }
                result[2 * tile + column][lane] = sum;
            }
        }
    }
    for (index, lanes) in result.iter().enumerate().take(2 * tiles) {
        warp.registers[m.row as usize + index] = *lanes;
    }
}
