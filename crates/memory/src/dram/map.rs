//! From a line of a partition to channel, bank and row (MODEL.md §8.1).

use super::BankIndex;
use crate::address::{LINE_BYTES, SECTORS};
use crate::divide::Divisor;

/// Where a sector lies in the DRAM of its partition, but for the column, which never matters for time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coordinates {
    /// Channel of the partition.
    pub channel: u32,
    /// Bank.
    pub bank: u8,
    /// Row; beyond the capacity they begin anew.
    pub row: u32,
}

/// A run of neighbouring address bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    from: u32,
    to: u32,
    mask: u64,
}

/// The address map of a channel.
#[derive(Clone, Debug)]
pub struct DramMap {
    channels: Divisor,
    bank_index: BankIndex,
    bank_mask: u64,
    bank_runs: Vec<Run>,
    /// Bits of the column above those inside a burst.
    column_mask: u64,
    row_shift: u32,
    row_mask: u64,
}

impl DramMap {
    /// Reads a map as `dram.address_map` writes it, for a power of two of rows.
    ///
    /// # Errors
    /// What a right map looks like.
    pub fn new(
        text: &str,
        bank_index: BankIndex,
        banks: u64,
        rows_of_bank: u64,
        channels: u64,
    ) -> Result<DramMap, String> {
        let letters: Vec<char> = text.chars().filter(|&letter| letter != '.').collect();
        let width = letters.len() as u32;
        let burst = source::Sector::BYTES.trailing_zeros();
        let bank_bits = banks.trailing_zeros();
        let count = |wanted| letters.iter().filter(|&&letter| letter == wanted).count() as u32;
        let rows = letters.iter().take_while(|&&letter| letter == 'R').count() as u32;
        let in_burst = letters
            .iter()
            .rev()
            .take_while(|&&letter| letter == 'S')
            .count() as u32;
        if width > 64
            || count('R') + count('B') + count('C') + count('S') != width
            || rows == 0
            || rows != count('R')
            || in_burst != burst
            || count('S') != burst
            || count('B') != bank_bits
            || !banks.is_power_of_two()
        {
            return Err(format!(
                "R bits, then {bank_bits} B bits and any C bits mixed, then {burst} S bits"
            ));
        }
        let mut bank_runs: Vec<Run> = Vec::new();
        let mut to = 0;
        for (bit, &letter) in (0..width).zip(letters.iter().rev()) {
            if letter != 'B' {
                continue;
            }
            match bank_runs.last_mut() {
                Some(run) if run.from + run.mask.count_ones() == bit => {
                    run.mask = run.mask << 1 | 1;
                }
                _ => bank_runs.push(Run {
                    from: bit,
                    to,
                    mask: 1,
                }),
            }
            to += 1;
        }
        let columns = (0..width).zip(letters.iter().rev());
        let columns = columns.filter(|&(_, &letter)| letter == 'C');
        Ok(DramMap {
            column_mask: columns.fold(0, |mask, (bit, _)| mask | 1 << bit),
            channels: Divisor::new(channels),
            bank_index,
            bank_mask: banks - 1,
            bank_runs,
            row_shift: width - rows,
            row_mask: rows_of_bank.min(1 << 31) - 1,
        })
    }

    /// Bytes of one row in every bank of a channel.
    pub fn row_bytes(&self) -> u64 {
        1 << self.row_shift
    }

    /// Whether the sectors of every line lie in one row of one bank.
    pub fn keeps_lines_together(&self) -> bool {
        let line_bits = LINE_BYTES.trailing_zeros();
        self.row_shift >= line_bits && self.bank_runs.iter().all(|run| run.from >= line_bits)
    }

    /// The column, a burst of the row, of sector `sector` (0 to 3) of the partition's line `line`.
    pub fn column(&self, line: u64, sector: u32) -> u32 {
        let line = self.channels.divide(line);
        let address = line * LINE_BYTES + u64::from(sector) * source::Sector::BYTES;
        let bits = (0..u64::BITS).filter(|bit| self.column_mask >> bit & 1 == 1);
        (0..)
            .zip(bits)
            .fold(0, |column, (to, from)| column | (address >> from & 1) << to) as u32
    }

    /// The place of sector `sector` (0 to 3) of the partition's line `line`.
    #[inline]
    pub fn of(&self, line: u64, sector: u32) -> Coordinates {
        debug_assert!(sector < SECTORS);
        let quotient = self.channels.divide(line);
        let channel = line - quotient * self.channels.get();
        let line = quotient;
        let address = line * LINE_BYTES + u64::from(sector) * source::Sector::BYTES;
        let row = address >> self.row_shift;
        let mut bank = 0;
        for run in &self.bank_runs {
            bank |= (address >> run.from & run.mask) << run.to;
        }
        if self.bank_index == BankIndex::XorRow {
            bank ^= row & self.bank_mask;
        }
        Coordinates {
            channel: channel as u32,
            bank: bank as u8,
            row: (row & self.row_mask) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_of_the_a6000() {
        // Burst 4:0; column 5, 6, 8–11; bank 7, 12, 13, 14; row from 15.
        let map = DramMap::new(
            "RRRR.RRRRRRRR.RBBBCCCC.BCCSSSSS",
            BankIndex::Linear,
            16,
            1 << 16,
            1,
        )
        .expect("a right map");
        assert_eq!(map.row_bytes(), 16 * 2048);
        assert!(map.keeps_lines_together());
        let split = DramMap::new("RRCCBBCBBSSSSS", BankIndex::Linear, 16, 4, 1);
        let split = split.expect("a right map");
        assert!(!split.keeps_lines_together());
        assert_ne!(split.of(0, 0), split.of(0, 1));
        let at = |address: u64| map.of(address / 128, (address / 32 % 4) as u32);
        assert_eq!(at(0x60).bank, 0);
        assert_eq!(at(0x80).bank, 1);
        assert_eq!(at(0xf00).bank, 0);
        assert_eq!(at(0x1000).bank, 2);
        assert_eq!(at(0x7f80).bank, 15);
        assert_eq!((at(0x8000).bank, at(0x8000).row), (0, 1));
        assert_eq!(at(0x7fff).row, 0);
        assert_eq!(at(1 << 31), at(0), "the rows end");
        let column = |address: u64| map.column(address / 128, (address / 32 % 4) as u32);
        assert_eq!([0x0, 0x20, 0x60, 0x80].map(column), [0, 1, 3, 0]);
        assert_eq!([0x100, 0x200, 0xf60, 0x1000].map(column), [4, 8, 63, 0]);
    }

    #[test]
    fn wrong_maps_are_refused() {
        for text in [
            "",
            "RRBBBCCSSSSS",
            "BRRRBBBCSSSSS",
            "RRXBBBBSSSSS",
            "RRBBBBCSSSS",
        ] {
            assert!(
                DramMap::new(text, BankIndex::Linear, 16, 1 << 16, 1).is_err(),
                "{text}"
            );
        }
    }
}
