//! Integer operations beyond addition.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::rows::table;

/// One row per operation on the words of `a` and `b`.
pub(crate) fn integers(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let a = inputs.words("a", n)?;
    let b = inputs.words("b", n)?;
    table(inputs, n, |i| operations(a[i], b[i]))
}

/// Bytes of the pair b:a picked by the nibbles of `selector`.
fn byte_permute(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    u32::from_le_bytes(std::array::from_fn(|i| {
        bytes[(selector >> (4 * i) & 7) as usize]
    }))
}

fn dot_signed(a: u32, b: u32, sum: i32) -> i32 {
    a.to_le_bytes()
        .into_iter()
        .zip(b.to_le_bytes())
        .fold(sum, |sum, (a, b)| {
            sum.wrapping_add(i32::from(a as i8) * i32::from(b as i8))
        })
}

fn dot_unsigned(a: u32, b: u32, sum: u32) -> u32 {
    a.to_le_bytes()
        .into_iter()
        .zip(b.to_le_bytes())
        .fold(sum, |sum, (a, b)| {
            sum.wrapping_add(u32::from(a) * u32::from(b))
        })
}

fn operations(a: u32, b: u32) -> [u32; 36] {
    let (sa, sb) = (a as i32, b as i32);
    let wide = u64::from(a) << 32 | u64::from(b);
    let signed_wide = wide as i64;
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let small = sb >> 20 | 1;
    let divisor = u64::from(b) * 3 + 1;
    [
        a.count_ones(),
        a.leading_zeros(),
        if a == 0 { 0 } else { a.trailing_zeros() + 1 },
        a.reverse_bits(),
        byte_permute(a, b, 0x2615),
        byte_permute(a, b, a & 0x7777),
        (pair(b, a) << (b & 31) >> 32) as u32,
        (pair(b, a) >> (a & 31)) as u32,
        ((u64::from(a) * u64::from(b)) >> 32) as u32,
        ((i64::from(sa) * i64::from(sb)) >> 32) as u32,
        a / (b | 1),
        a % (b | 1),
        sa.wrapping_div(small) as u32,
        sa.wrapping_rem(small) as u32,
        sa.wrapping_abs() as u32,
        sa.min(sb) as u32,
        a.max(b),
        a.abs_diff(b).wrapping_add(7),
        sa.abs_diff(sb).wrapping_add(9),
        dot_unsigned(a, b, 1000),
        dot_signed(a, b, -1000) as u32,
        (sa >> (b & 31)) as u32,
        a << (b & 31),
        wide.count_ones(),
        wide.leading_zeros(),
        (wide.wrapping_mul(wide >> 7) >> 32) as u32,
        (wide / divisor) as u32,
        (wide % divisor) as u32,
        signed_wide.wrapping_div(i64::from(sb | 1)) as u32,
        (signed_wide >> (a & 63)) as u32,
        (wide << (b & 63) >> 32) as u32,
        (a & b) ^ (!a | (b >> 3)),
        (a & 0xff00_ff00) | (b & 0x00ff_00ff),
        a % 10 + b / 7,
        u32::from(sa < sb)
            + 2 * u32::from(a < b)
            + 4 * u32::from(signed_wide < 0)
            + 8 * u32::from(wide > 1 << 63),
        ((i64::from(sa) + i64::from(sb)) >> 1) as u32 ^ ((u64::from(a) + u64::from(b)) >> 1) as u32,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_dots() {
        assert_eq!(byte_permute(0x3322_1100, 0x7766_5544, 0x7410), 0x7744_1100);
        assert_eq!(dot_signed(0x0000_00ff, 0x0000_0003, 10), 7);
        assert_eq!(dot_unsigned(0x0000_00ff, 0x0000_0003, 10), 775);
    }
}
