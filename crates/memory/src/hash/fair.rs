//! A fair order of slices within each block of lines, for any number of slices.

/// Spreads every bit of `block` over the whole word (a finaliser of the splitmix64 kind).
#[inline]
const fn mix(block: u64) -> u64 {
    let mut x = block.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// How far block `block` rotates the partitions and the slices inside each: two numbers below
/// `partitions` and `slices`.
#[inline]
pub fn rotation(block: u64, partitions: u32, slices: u32) -> (u32, u32) {
    let mixed = mix(block);
    let below = |word: u32, bound: u32| ((u64::from(word) * u64::from(bound)) >> 32) as u32;
    (
        below((mixed >> 32) as u32, partitions),
        below(mixed as u32, slices),
    )
}
