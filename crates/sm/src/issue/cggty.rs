//! Compiler-guided greedy then youngest (MODEL.md §2.2): the warp that issued last, else the youngest.

/// The youngest of `candidates` (not empty). `younger[slot]` is the set of warps younger than `slot`.
#[inline]
pub fn youngest(candidates: u16, younger: &[u16; 16]) -> usize {
    let mut left = candidates;
    loop {
        let slot = left.trailing_zeros() as usize & 15;
        if younger[slot] & candidates == 0 {
            return slot;
        }
        left = candidates & younger[slot];
    }
}

/// The warp to try first among `candidates` (not empty).
#[inline]
pub fn select(candidates: u16, greedy: usize, younger: &[u16; 16]) -> usize {
    if candidates >> greedy & 1 == 1 {
        greedy
    } else {
        youngest(candidates, younger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greedy_first_then_youngest() {
        // Ages: slot 2 oldest, then 0, then 1 youngest.
        let mut younger = [0u16; 16];
        younger[2] = 0b011;
        younger[0] = 0b010;
        assert_eq!(youngest(0b111, &younger), 1);
        assert_eq!(youngest(0b101, &younger), 0);
        assert_eq!(select(0b111, 2, &younger), 2);
        assert_eq!(select(0b011, 2, &younger), 1);
    }
}
