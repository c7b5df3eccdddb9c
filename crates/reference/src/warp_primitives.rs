//! Exchanges and votes within a warp.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::rows::table;

/// One row per exchange or vote, for blocks of `block` threads.
pub(crate) fn warp_primitives(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let block = inputs.positive("block")?;
    if block % 32 != 0 || n % block != 0 {
        return Err(ReferenceError::BadParameter {
            name: "block",
            value: crate::Number::Integer(block as i128),
            expected: "whole warps, and a divisor of n",
        });
    }
    let values = inputs.words("in", n)?;
    table(inputs, n, |i| {
        let first = i / 32 * 32;
        let block_start = i / block * block;
        of_lane(
            i % 32,
            &values[first..first + 32],
            &values[block_start..block_start + block],
        )
    })
}

/// Mask of the lanes whose value satisfies a condition.
fn ballot(warp: &[u32], condition: impl Fn(u32) -> bool) -> u32 {
    warp.iter().enumerate().fold(0, |mask, (lane, &value)| {
        mask | u32::from(condition(value)) << lane
    })
}

fn of_lane(lane: usize, warp: &[u32], block: &[u32]) -> [u32; 19] {
    let value = warp[lane];
    let own = |source: usize, allowed: bool| if allowed { warp[source] } else { value };
    let every = |condition: fn(u32) -> bool, values: &[u32]| values.iter().all(|&v| condition(v));
    let partners = if lane % 2 == 1 {
        0xaaaa_aaaa
    } else {
        0x5555_5555
    };
    let partners_with_bit_1 = (ballot(warp, |v| v & 2 != 0) & partners).count_ones();
    [
        warp[(value & 31) as usize],
        own(lane.saturating_sub(3), lane >= 3),
        own((lane + 5) % 32, lane % 16 + 5 < 16),
        warp[lane ^ 9],
        warp[lane & !7 | 2],
        ballot(warp, |v| v & 1 != 0),
        u32::from(every(|v| v != 12345, warp)) + 2 * u32::from(!every(|v| v & 31 != 7, warp)),
        ballot(warp, |v| v & 7 == value & 7),
        // All lanes hold 0: the mask of all lanes, plus 1.
        0xffff_ffff_u32.wrapping_add(1),
        warp.iter().fold(!0, |all, v| all & (v | 0xff)),
        warp.iter().fold(0, |all, v| all | (v & 0xff00)),
        warp.iter().fold(0, |all, v| all ^ v),
        warp.iter().copied().fold(u32::MAX, u32::min),
        warp.iter().copied().fold(0, u32::max),
        if lane % 2 == 1 {
            warp[31].wrapping_add(partners_with_bit_1)
        } else {
            warp[30].wrapping_sub(partners_with_bit_1)
        },
        (ballot(warp, |v| v & 4 != 0) & ((1 << lane) - 1)).count_ones(),
        block.iter().filter(|&&v| v & 1 != 0).count() as u32,
        u32::from(every(|v| v & 0xff != 3, block)),
        u32::from(!every(|v| v & 0xfff != 5, block)),
    ]
}
