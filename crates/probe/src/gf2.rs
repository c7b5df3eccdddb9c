//! Linear algebra over GF(2): rows are bit masks of at most 64 columns.

/// The reduced row echelon form of a row space: each row's highest bit stands in no other row; highest rows
/// first. Two sets of masks span the same space exactly if these are equal.
pub fn reduced(rows: &[u64]) -> Vec<u64> {
    let mut basis: Vec<u64> = Vec::new();
    for &row in rows {
        let mut row = row;
        for &known in &basis {
            row = row.min(row ^ known);
        }
        if row == 0 {
            continue;
        }
        let top = 1u64 << row.ilog2();
        for known in &mut basis {
            if *known & top != 0 {
                *known ^= row;
            }
        }
        basis.push(row);
        basis.sort_unstable_by(|a, b| b.cmp(a));
    }
    basis
}

/// A basis, in reduced form, of all masks over the columns of `columns` whose parity with each of `vectors`
/// is even.
pub fn orthogonal(vectors: &[u64], columns: u64) -> Vec<u64> {
    let vectors: Vec<u64> = vectors.iter().map(|vector| vector & columns).collect();
    let basis = reduced(&vectors);
    let pivots: u64 = basis.iter().map(|row| 1u64 << row.ilog2()).sum();
    let free = (0..64)
        .map(|bit| 1u64 << bit)
        .filter(|bit| columns & bit & !pivots != 0);
    // A free column is set together with the pivots of the rows that hold it.
    let solutions = free.map(|bit| {
        let rows = basis.iter().filter(|&&row| row & bit != 0);
        rows.fold(bit, |mask, row| mask | 1u64 << row.ilog2())
    });
    reduced(&solutions.collect::<Vec<_>>())
}

/// Parity of the bits of `address` in `mask`.
pub fn parity(address: u64, mask: u64) -> u64 {
    u64::from((address & mask).count_ones() & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_spaces_have_equal_forms() {
        let masks = [0b1100, 0b0110, 0b1010];
        assert_eq!(reduced(&masks), [0b1010, 0b0110]);
        assert_eq!(reduced(&[0b0110, 0b1010]), reduced(&masks));
        assert_ne!(reduced(&[0b0110, 0b1000]), reduced(&masks));
        assert!(reduced(&[0]).is_empty());
    }

    #[test]
    fn the_orthogonal_of_the_orthogonal_is_the_space() {
        let masks = [0x0C39_01E00, 0x119A_80A00, 0x0678, 0x1_0000_0080];
        let columns = 0x1_FFFF_FFF0;
        let null = orthogonal(&masks, columns);
        assert_eq!(null.len() + masks.len(), columns.count_ones() as usize);
        for vector in &null {
            assert!(
                masks
                    .iter()
                    .all(|mask| parity(*vector, mask & columns) == 0)
            );
        }
        let masks: Vec<u64> = masks.iter().map(|mask| mask & columns).collect();
        assert_eq!(orthogonal(&null, columns), reduced(&masks));
    }
}
