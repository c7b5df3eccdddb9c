//! The slice function of AD102 (MODEL.md §8.2), a reconstruction that fits the throughput of 36
//! slices and, with a fourth slice on each controller, of 48.
//!
//! Seven parities of the address, and the numbers of two kinds of blocks modulo 3 and 9, select
//! the controller and its slice. A table over all of them leaves four loads, two remainders and a
//! look-up for each packet.

use crate::divide::Divisor;
use crate::parameters::Misfit;

use super::linear::{LINE_BITS, Linear, rank};

hardware::parameters! {
    /// What the slice function `ad102` is made of; a GPU with another function has none of these.
    pub struct Ad102Parameters = "l2" {
        /// Masks over the bits of an address, whose parities are, in this order, P1, P2, q3, that in
        /// A, q0, q1, q2, and for four slices per controller P1w.
        slice_masks: Option<Vec<u64>>, "", ..;
        /// Bytes of the blocks that are counted modulo 3 and modulo 9, the second ones shifted by
        /// half a block.
        slice_blocks: Option<Vec<u64>>, "bytes", ..;
        /// Weights modulo 9 in s: the constant, q0, q1, q2, q3.
        slice_weights: Option<Vec<u32>>, "", ..;
        /// S: what each third of the controllers subtracts modulo 9.
        slice_thirds: Option<Vec<u32>>, "", ..;
        /// O: how far each third of the controllers turns its slices.
        slice_turns: Option<Vec<u32>>, "", ..;
    }
}

/// Remainders modulo 3 and modulo 9 together.
const RESIDUES: usize = 27;
/// Parities with the one that only a fourth slice needs.
const PARITIES: usize = 8;
/// Controllers of the function.
const CONTROLLERS: u32 = 12;

/// Bits of the parities.
const P1: u32 = 0;
const P2: u32 = 1;
const Q3: u32 = 2;
const IN_A: u32 = 3;
const Q0: u32 = 4;
const Q1: u32 = 5;
const Q2: u32 = 6;
const P1_WIDE: u32 = 7;

/// The slice function.
#[derive(Clone, Debug)]
pub struct Ad102 {
    parities: Linear,
    /// Controller and slice of it, by parities and remainders.
    slices: Box<[(u8, u8)]>,
    /// Where a granule stands among those that its block gives the controller, by parities; the
    /// free bit comes below.
    places: Box<[u8; 1 << PARITIES]>,
    free: u32,
    /// Lines of a granule, the run of lines that no parity of the controller parts.
    granule: u32,
    blocks: [u32; 2],
    three: Divisor,
    nine: Divisor,
}

impl Ad102 {
    /// The function to 12 controllers of 3 or 4 slices.
    ///
    /// # Errors
    /// The key at fault and what it must be.
    pub fn new(p: &Ad102Parameters, controllers: u32, slices: u32) -> Result<Ad102, Misfit> {
        fn given<'a, T>(key: &'static str, list: &'a Option<Vec<T>>) -> Result<&'a [T], Misfit> {
            list.as_deref().ok_or(Misfit::missing(key))
        }
        const MASKS: &str = "l2.slice_masks";
        const BLOCKS: &str = "l2.slice_blocks";
        if controllers != CONTROLLERS {
            return Err(Misfit::new("l2.partitions", "12 for l2.slice_hash ad102"));
        }
        if !(3..=4).contains(&slices) {
            let right = "3 or 4 for l2.slice_hash ad102";
            return Err(Misfit::new("l2.slices_per_partition", right));
        }
        let masks = lines(MASKS, given(MASKS, &p.slice_masks)?)?;
        if masks.len() != 4 + slices as usize {
            let right = format!("{} masks", 4 + slices);
            return Err(Misfit::new(MASKS, right));
        }
        let wide: Vec<u128> = masks.iter().map(|&mask| mask.into()).collect();
        if rank(&wide) != masks.len() {
            return Err(Misfit::new(MASKS, "masks that are independent over GF(2)"));
        }
        let blocks = given(BLOCKS, &p.slice_blocks)?;
        let (&[thirds, ninths], true) = (
            blocks,
            blocks
                .iter()
                .all(|block| block.is_power_of_two() && (1 << 10..=1 << 30).contains(block)),
        ) else {
            return Err(Misfit::new(BLOCKS, "two powers of two from 1 KiB to 1 GiB"));
        };
        let blocks = [thirds, ninths].map(|block| block.trailing_zeros() - 7);
        let (granule, free) = granules(&masks[..4], blocks[0]).ok_or(Misfit::new(
            MASKS,
            "masks whose first four are independent over the highest bits inside the first of \
             l2.slice_blocks that tell controllers apart, one bit more than they need",
        ))?;
        let weights = residues::<5>(
            "l2.slice_weights",
            given("l2.slice_weights", &p.slice_weights)?,
            9,
        )?;
        let subtracted = residues::<3>(
            "l2.slice_thirds",
            given("l2.slice_thirds", &p.slice_thirds)?,
            9,
        )?;
        let turns = residues::<3>(
            "l2.slice_turns",
            given("l2.slice_turns", &p.slice_turns)?,
            3,
        )?;

        let mut table = Vec::with_capacity(RESIDUES << PARITIES);
        let mut places = Box::new([0; 1 << PARITIES]);
        for parities in 0..1_u32 << PARITIES {
            let bit = |which: u32| parities >> which & 1;
            let step = (2 * bit(Q3) + bit(IN_A)) % 3;
            places[parities as usize] = match step {
                0 => bit(Q3) as u8 * 2,
                step => 2 + step as u8 * 2,
            };
            for residue in 0..RESIDUES as u32 {
                let third = ((residue / 9 + step + 2) % 3) as usize;
                let controller = 3 * (2 * bit(P1) + bit(P2)) + third as u32;
                let majority = u32::from(bit(Q0) + bit(Q1) + bit(Q2) >= 2);
                let s = weights[0]
                    + weights[1] * bit(Q0)
                    + weights[2] * bit(Q1)
                    + weights[3] * bit(Q2)
                    + weights[4] * bit(Q3)
                    + 9
                    - majority;
                let o = (residue % 9 + 18 - subtracted[third] - s % 9) % 9;
                let first = if bit(Q0) ^ bit(Q1) ^ bit(Q2) == 0 {
                    2
                } else {
                    1
                };
                let u = u32::from(o % 3 >= first);
                let slice = if slices == 4 {
                    2 * (bit(P1_WIDE) ^ bit(Q2) ^ u) + (bit(P1_WIDE) ^ bit(P2) ^ u)
                } else {
                    let arc = match (o / 3, u) {
                        (0, _) => 2,
                        (1, 0) => 1,
                        _ => 0,
                    };
                    let arc = if bit(Q2) == 1 { (4 - arc) % 3 } else { arc };
                    (arc + turns[third]) % 3
                };
                table.push((controller as u8, slice as u8));
            }
        }
        Ok(Ad102 {
            parities: Linear::from_masks(&masks),
            slices: table.into(),
            places,
            free,
            granule,
            blocks,
            three: Divisor::new(3),
            nine: Divisor::new(9),
        })
    }

    /// The controller of a line, the slice of it, and the line's number among those of the
    /// controller, which is dense.
    #[inline]
    pub fn of(&self, line: u64) -> (u32, u32, u64) {
        let parities = self.parities.of(line) as usize;
        let block = line >> self.blocks[0];
        let group = self.three.divide(block);
        let ninths = (line + (1 << self.blocks[1] >> 1)) >> self.blocks[1];
        let residue = (block - 3 * group) * 9 + (ninths - 9 * self.nine.divide(ninths));
        let (controller, slice) = self.slices[parities * RESIDUES + residue as usize];
        let place = u64::from(self.places[parities]) + (line >> self.free & 1);
        let dense = (group * 8 + place) << self.granule | line & ((1 << self.granule) - 1);
        (controller.into(), slice.into(), dense)
    }
}

/// Masks over the bits of an address, as masks over those of a line number.
///
/// # Errors
/// Masks that look inside a line or beyond the bits that count.
pub fn lines(key: &'static str, masks: &[u64]) -> Result<Vec<u64>, Misfit> {
    let shift = crate::address::LINE_BYTES.trailing_zeros();
    let inside = |mask: &u64| mask & ((1 << shift) - 1) != 0 || mask >> shift >> LINE_BITS != 0;
    if masks.iter().any(inside) {
        let right = format!("masks over the bits {shift} to {}", shift + LINE_BITS - 1);
        return Err(Misfit::new(key, right));
    }
    Ok(masks.iter().map(|mask| mask >> shift).collect())
}

/// So many remainders.
fn residues<const N: usize>(
    key: &'static str,
    list: &[u32],
    modulus: u32,
) -> Result<[u32; N], Misfit> {
    match <[u32; N]>::try_from(list) {
        Ok(list) if list.iter().all(|&item| item < modulus) => Ok(list),
        _ => Err(Misfit::new(key, format!("{N} numbers below {modulus}"))),
    }
}

/// Inside a block of 2^`block` lines the four parities that select a controller must part it into
/// 32 granules: sixteen parities, two granules each. The bits of a line's number inside its granule,
/// and the bit that tells the two granules apart.
fn granules(masks: &[u64], block: u32) -> Option<(u32, u32)> {
    let granule = block.checked_sub(5)?;
    let inside = |mask: &u64| mask & ((1 << granule) - 1) == 0;
    let rows: Vec<u128> = masks
        .iter()
        .map(|mask| (mask >> granule & 31).into())
        .collect();
    if !masks.iter().all(inside) || rank(&rows) != 4 {
        return None;
    }
    let free = (0..5).find(|bit| {
        let mut rows = rows.clone();
        rows.push(1 << bit);
        rank(&rows) == 5
    })?;
    Some((granule, granule + free))
}
