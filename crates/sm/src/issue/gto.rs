//! Greedy then oldest, the classic scheduler (MODEL.md §9.1): the warp that issued last, else the oldest.

/// The oldest of `candidates` (not empty). `younger[slot]` is the set of warps younger than `slot`.
#[inline]
pub fn oldest(candidates: u16, younger: &[u16; 16]) -> usize {
    let mut left = candidates;
    loop {
        let slot = left.trailing_zeros() as usize & 15;
        left &= left.wrapping_sub(1);
        if left == 0 || candidates & !younger[slot] & !(1 << slot) == 0 {
            return slot;
        }
    }
}

/// The warp to try first among `candidates` (not empty).
#[inline]
pub fn select(candidates: u16, greedy: usize, younger: &[u16; 16]) -> usize {
    if candidates >> greedy & 1 == 1 {
        greedy
    } else {
        oldest(candidates, younger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_first_then_oldest() {
        // Ages: slot 2 oldest, then 0, then 1 youngest.
        let mut younger = [0u16; 16];
        younger[2] = 0b011;
        younger[0] = 0b010;
        assert_eq!(oldest(0b111, &younger), 2);
        assert_eq!(oldest(0b011, &younger), 0);
        assert_eq!(select(0b111, 1, &younger), 1);
        assert_eq!(select(0b110, 0, &younger), 2);
    }
}
