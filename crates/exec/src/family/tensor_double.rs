//! DMMA: matrices of doubles. Each result is a chain of fused multiply-adds along the depth, the
//! accumulator first (microsoft/MMA-Sim, arXiv 2511.10909; Fasi et al., "Numerical behavior of NVIDIA
//! tensor cores", find the A100's products and sums rounded as IEEE 754 asks).

use crate::lanes::Lanes;
use crate::rounding::{DOUBLE_NAN, Rounding};
use crate::softfloat;
use crate::warp::Warp;

use super::tensor::register;

/// The operands of DMMA: first registers, `None` for RZ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubles {
    pub(crate) row: u16,
    pub(crate) a: Option<u16>,
    pub(crate) b: Option<u16>,
    pub(crate) c: Option<u16>,
    /// 8 or 16 rows.
    pub(crate) m: u8,
    /// 4, 8 or 16.
    pub(crate) k: u8,
    /// Minus (1) and absolute value (2) of A, two bits further of B and of C.
    pub(crate) signs: u8,
    pub(crate) rounding: Rounding,
}

/// Executes DMMA; all lanes take part.
#[inline(always)]
pub(crate) fn execute(warp: &mut Warp, m: &Doubles) {
    let get = |warp: &Warp, first: Option<u16>, index: usize, lane: usize, signs: u8| {
        let low = register(warp, first, 2 * index as u16)[lane];
        let high = register(warp, first, 2 * index as u16 + 1)[lane];
        let value = f64::from_bits(u64::from(high) << 32 | u64::from(low));
        let value = if signs & 2 != 0 { value.abs() } else { value };
        if signs & 1 != 0 { -value } else { value }
    };
    let tiles = m.m as usize / 8;
    let mut result = [Lanes::ZERO; 8];
    for tile in 0..tiles {
        for column in 0..2 {
            for lane in 0..32 {
                let (i, j) = (lane / 4, 2 * (lane % 4) + column);
                let mut sum = get(warp, m.c, 2 * tile + column, lane, m.signs >> 4);
                for l in 0..m.k as usize {
                    let (quarter, within) = (l / 4, l % 4);
                    let x = get(warp, m.a, tiles * quarter + tile, 4 * i + within, m.signs);
                    let y = get(warp, m.b, quarter, 4 * j + within, m.signs >> 2);
                    sum = if m.rounding == Rounding::Nearest {
                        x.mul_add(y, sum)
                    } else {
                        softfloat::multiply_add(x, y, sum, m.rounding)
                    };
                }
                let bits = if sum.is_nan() {
                    DOUBLE_NAN
                } else {
                    sum.to_bits()
                };
                let pair = 2 * (2 * tile + column);
                result[pair][lane] = bits as u32;
                result[pair + 1][lane] = (bits >> 32) as u32;
            }
        }
    }
    for (index, lanes) in result.iter().enumerate().take(4 * tiles) {
        warp.registers[m.row as usize + index] = *lanes;
    }
}
