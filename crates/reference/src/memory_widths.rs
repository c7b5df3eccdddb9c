//! Accesses of every width to every memory space.

use crate::inputs::{Inputs, Output, ReferenceError};
use crate::values::Values;

const BLOCK: usize = 64;
const ROWS: usize = 13;
const CONSTANTS: [u32; 16] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53];

/// The 16 bytes of one thread.
struct Own([u8; 16]);

impl Own {
    fn word(&self, index: usize) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|byte| self.0[4 * index + byte]))
    }

    fn short(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }
}

/// One row per access, for blocks of 64 threads, each with 16 of the `bytes`.
pub(crate) fn memory_widths(inputs: &Inputs) -> Result<Vec<Output>, ReferenceError> {
    let n = inputs.size("n")?;
    let bytes = inputs.u8s("bytes", n.next_multiple_of(BLOCK) * 16)?;
    let mut out = inputs.u32s("out", ROWS * n)?;
    let (chunks, _) = bytes.as_chunks::<16>();
    for index in 0..n {
        let (block, thread) = (index / BLOCK * BLOCK, index % BLOCK);
        let own = Own(chunks[index]);
        let other = Own(chunks[block + (thread + 33) % BLOCK]);
        let pick = usize::from(own.0[4] % 4);
        let anywhere = match own.0[3] % 3 {
            0 => own.word(pick),
            1 => other.word(pick),
            _ => own.word(3 - pick),
        };
        let sum = (0..4).fold(0, |sum: u32, word| sum.wrapping_add(own.word(word)));
        let narrow =
            u32::from(own.0[0]) | u32::from(own.0[1]) << 8 | u32::from(own.word(1) as u16) << 16;
        // The last row gets one byte and one short; the byte between them stays.
        let kept = out[12 * n + index] & 0xff00;
        let rows: [u32; ROWS] = [
            u32::from(own.0[5]).wrapping_add((own.0[6] as i8 as u32).wrapping_mul(256)),
            u32::from(own.short(2)).wrapping_add(own.short(4) as i16 as u32),
            own.word(2) ^ own.word(3),
            sum,
            CONSTANTS[usize::from(own.0[0] & 15)],
            u32::from(other.0[usize::from(own.0[1] % 16)]),
            other.short(2) as i16 as u32,
            other.word(2).wrapping_sub(other.word(3)),
            other.word(1),
            anywhere,
            narrow,
            u32::MAX,
            u32::from(own.0[7]) | kept | 0x1234 << 16,
        ];
        for (row, word) in rows.into_iter().enumerate() {
            out[row * n + index] = word;
        }
    }
    Ok(vec![Output::new("out", Values::U32(out))])
}
