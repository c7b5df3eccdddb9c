//! Loose round-robin (MODEL.md §9): the first warp that can issue behind the one that issued last.

/// The warp to try first among `candidates` (not empty): the next place behind `last`, which comes last.
#[inline]
pub fn select(candidates: u16, last: usize) -> usize {
    let first = (last + 1) as u32 & 15;
    (candidates.rotate_right(first).trailing_zeros() + first) as usize & 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_in_turn() {
        assert_eq!(select(0b1011, 0), 1);
        assert_eq!(select(0b1011, 1), 3);
        assert_eq!(select(0b1011, 3), 0);
        assert_eq!(select(0b1000, 3), 3);
        assert_eq!(select(0b1, 15), 0);
    }
}
