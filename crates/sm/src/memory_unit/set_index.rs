//! Which set of the L1 data cache a line belongs to: bits of the virtual line number, XORed as a GPU
//! document says (MODEL.md §8.2), and how many sets there are beside a share of shared memory.
//!
//! All functions are linear over GF(2), so that a set is the XOR of one table entry for each byte of the
//! line number.

use std::sync::Arc;

use hardware::{Declaration, Gpu, HardwareError, OccupancyParameters};

use super::l1d::{L1dParameters, LINE_BYTES};

hardware::choice! {
    /// How the set of a line follows from its virtual address.
    pub enum SetFunction {
        /// The low bits of the line number.
        Linear = "linear",
        /// The low bits of the line number, XORed with the two groups of as many bits above them.
        XorFold = "xor-fold",
        /// Bit i is the parity of the address bits that mask i selects.
        Masks = "masks",
    }
}

/// Bits of an address inside a line.
const LINE_BITS: u32 = LINE_BYTES.trailing_zeros();
/// Bytes of a line number that may select a set: addresses have 47 bits.
const BYTES: usize = 5;
/// Highest address bit that a mask may select.
const HIGHEST_BIT: u32 = LINE_BITS + 8 * BYTES as u32 - 1;

/// The set of each line when all sets are in use.
#[derive(Clone, Debug)]
pub struct SetIndex {
    /// By byte of the line number and its value.
    tables: [[u16; 256]; BYTES],
}

impl SetIndex {
    /// Index bit i is the parity of the line number's bits that `masks[i]` selects.
    fn of_masks(masks: &[u64]) -> SetIndex {
        let mut tables = [[0; 256]; BYTES];
        for (byte, table) in tables.iter_mut().enumerate() {
            for (value, entry) in table.iter_mut().enumerate() {
                for (bit, mask) in masks.iter().enumerate() {
                    let selected = mask >> (8 * byte) & value as u64;
                    *entry |= ((selected.count_ones() & 1) as u16) << bit;
                }
            }
        }
        SetIndex { tables }
    }

    /// The set of line number `line`.
    #[inline(always)]
    pub fn of(&self, line: u64) -> usize {
        let t = &self.tables;
        let set = t[0][(line & 0xff) as usize]
            ^ t[1][(line >> 8 & 0xff) as usize]
            ^ t[2][(line >> 16 & 0xff) as usize]
            ^ t[3][(line >> 24 & 0xff) as usize]
            ^ t[4][(line >> 32 & 0xff) as usize];
        usize::from(set)
    }
}

/// The parameters of the L1 data cache, checked, with its set function made ready.
#[derive(Clone, Debug)]
pub struct L1dSettings {
    /// As the GPU gives them.
    pub parameters: L1dParameters,
    /// The set of each line.
    pub index: Arc<SetIndex>,
}

impl L1dSettings {
    /// What is declared.
    pub const DECLARED: &'static [Declaration] = L1dParameters::DECLARED;

    /// Reads and checks the parameters.
    ///
    /// # Errors
    /// A parameter that is missing or out of range; sets that are no power of two, more lines than the
    /// common array has, masks that do not select every set, or shared memory that leaves no line.
    pub fn load(gpu: &Gpu) -> Result<L1dSettings, HardwareError> {
        let parameters = L1dParameters::load(gpu)?;
        let (sets, ways) = (parameters.sets, parameters.ways);
        if !sets.is_power_of_two() {
            return Err(gpu.misfit("l1_data_cache.sets", "a power of two"));
        }
        let array = OccupancyParameters::load(gpu)?;
        let most = u64::from(array.l1_shared_size) / LINE_BYTES;
        if u64::from(sets) * u64::from(ways) > most {
            let right = format!(
                "at most {} with {ways} ways: `occupancy.l1_shared_size` holds {most} lines",
                most / u64::from(ways)
            );
            return Err(gpu.misfit("l1_data_cache.sets", &right));
        }
        let carveouts = array.carveouts.iter();
        let largest = carveouts
            .filter(|&&size| size <= array.l1_shared_size)
            .max();
        if largest.is_some_and(|&size| u64::from(array.l1_shared_size - size) < LINE_BYTES) {
            let right = "sizes that leave a line of L1D: with none it has zero ways";
            return Err(gpu.misfit("occupancy.carveouts", right));
        }
        let bits = sets.trailing_zeros();
        let masks: Vec<u64> = match parameters.index {
            SetFunction::Linear => (0..bits).map(|bit| 1 << bit).collect(),
            SetFunction::XorFold => (0..bits)
                .map(|bit| 1 << bit | 1 << (bit + bits) | 1 << (bit + 2 * bits))
                .collect(),
            SetFunction::Masks => {
                let Some(masks) = &parameters.masks else {
                    let right = "linear or xor-fold where `l1_data_cache.masks` is not given";
                    return Err(gpu.misfit("l1_data_cache.index", right));
                };
                if let Err(right) = check_masks(masks, bits) {
                    return Err(gpu.misfit("l1_data_cache.masks", &right));
                }
                masks.iter().map(|mask| mask >> LINE_BITS).collect()
            }
        };
        let index = Arc::new(SetIndex::of_masks(&masks));
        Ok(L1dSettings { parameters, index })
    }

    /// Sets in use when shared memory leaves `lines` lines (a guess: nothing is known of how the machine
    /// does it). As many as keep about the nominal number of ways, three quarters at least, so that index
    /// bits fall away one by one from the highest; lines are dealt out evenly, whatever their number.
    pub fn sets_of(&self, lines: usize) -> usize {
        let ways = self.parameters.ways as usize;
        let mut sets = self.parameters.sets as usize;
        while sets > 1 && 4 * lines < 3 * ways * sets {
            sets /= 2;
        }
        sets
    }
}

/// Whether masks over the address select each of 2^`bits` sets equally often; what would be right, if not.
fn check_masks(masks: &[u64], bits: u32) -> Result<(), String> {
    if masks.len() != bits as usize {
        return Err(format!(
            "{bits} masks, one for each bit of the index of {} sets, not {}",
            1u64 << bits,
            masks.len()
        ));
    }
    for (number, mask) in masks.iter().enumerate() {
        let outside = mask & !((1 << (HIGHEST_BIT + 1)) - (1 << LINE_BITS));
        if outside != 0 {
            return Err(format!(
                "masks of address bits {LINE_BITS} to {HIGHEST_BIT}; mask {number} has bit {}",
                outside.trailing_zeros()
            ));
        }
    }
    // Gauss: each row is reduced by the rows before it, which have distinct leading bits.
    let mut rows: Vec<u64> = Vec::with_capacity(masks.len());
    for (number, &mask) in masks.iter().enumerate() {
        let mut left = mask;
        for row in &rows {
            left = left.min(left ^ row);
        }
        if left == 0 {
            return Err(format!(
                "of rank {bits} over GF(2), or some sets are never used; mask {number} is zero or the \
                 XOR of others"
            ));
        }
        rows.push(left);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set of an address with all sets in use.
    fn set(settings: &L1dSettings, address: u64) -> usize {
        settings.index.of(address / LINE_BYTES)
    }

    fn settings(gpu: &str, changes: &[&str]) -> Result<L1dSettings, HardwareError> {
        let mut gpu = Gpu::load(gpu)?;
        for change in changes {
            gpu.set(change)?;
        }
        L1dSettings::load(&gpu)
    }

    /// MODEL.md §8.2, the column of L1 sets.
    #[test]
    fn vectors_of_the_rtx_4090() {
        let settings = settings("rtx-4090", &[]).unwrap();
        for (address, expected) in [
            (0x0, 0),
            (0x80, 168),
            (0x100, 44),
            (0x200, 7),
            (0x400, 217),
            (0x800, 143),
            (0x1000, 109),
            (0x2000, 128),
            (0x4000, 64),
            (0x8000, 32),
            (0x1_0000, 16),
            (0x2_0000, 8),
            (0x10_0000, 1),
            (0x20_0000, 162),
            (0x1_2345_6780, 230),
            (0x3_ffff_ff80, 86),
        ] {
            assert_eq!(set(&settings, address), expected, "{address:#x}");
        }
    }

    /// Each block of 128 KB fills each set exactly four times, whatever the function.
    #[test]
    fn an_aligned_block_fills_every_set_equally() {
        for (gpu, changes) in [
            ("rtx-4090", &[][..]),
            ("rtx-a6000", &[][..]),
            ("rtx-a6000", &["l1_data_cache.index=linear"][..]),
        ] {
            let settings = settings(gpu, changes).unwrap();
            for base in [0, 0x2_0000, 0x7f_0000_0000, 0x7f_4662_0000u64] {
                let mut used = [0; 256];
                for line in 0..1024 {
                    used[set(&settings, base + line * LINE_BYTES)] += 1;
                }
                assert_eq!(used, [4; 256], "{gpu} {changes:?} {base:#x}");
            }
        }
    }

    /// Masks and the parity that they stand for agree on addresses of every magnitude.
    #[test]
    fn tables_give_the_parities_of_the_masks() {
        let settings = settings("rtx-4090", &[]).unwrap();
        let masks = settings.parameters.masks.as_ref().unwrap();
        let mut address = 1u64;
        for _ in 0..10_000 {
            address = address
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let virtual_address = address >> 17;
            let expected = masks.iter().enumerate().fold(0, |set, (bit, mask)| {
                set | ((virtual_address & mask).count_ones() as usize & 1) << bit
            });
            assert_eq!(set(&settings, virtual_address), expected);
        }
    }

    /// Index bits fall away as shared memory grows, and about four ways stay.
    #[test]
    fn shared_memory_takes_sets_then() {
        let settings = settings("rtx-4090", &[]).unwrap();
        let sets = |kilobytes: usize| settings.sets_of(kilobytes << 10 >> LINE_BITS);
        assert_eq!(
            [128, 120, 112, 96, 64, 28].map(sets),
            [256, 256, 256, 256, 128, 64]
        );
    }

    fn refused(changes: &[&str], words: &[&str]) {
        let error = settings("rtx-4090", changes).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{changes:?}: {error}");
        }
    }

    #[test]
    fn geometry_that_cannot_be_is_refused() {
        let key = "l1_data_cache";
        refused(
            &[&format!(
                "{key}.masks=0x100,0x200,0x400,0x800,0x1000,0x2000,0x4000"
            )],
            &["l1_data_cache.masks", "8 masks", "not 7"],
        );
        refused(
            &[&format!(
                "{key}.masks=0x100,0x200,0x400,0x800,0x1000,0x2000,0x4000,0x7700"
            )],
            &["l1_data_cache.masks", "rank 8", "mask 7"],
        );
        refused(
            &[&format!(
                "{key}.masks=0x140,0x200,0x400,0x800,0x1000,0x2000,0x4000,0x8000"
            )],
            &["l1_data_cache.masks", "mask 0 has bit 6"],
        );
        refused(&[&format!("{key}.ways=0")], &["l1_data_cache.ways", "1..="]);
        refused(
            &[&format!("{key}.sets=96")],
            &["l1_data_cache.sets", "power of two"],
        );
        refused(
            &[&format!("{key}.sets=512")],
            &["l1_data_cache.sets", "1024 lines"],
        );
        refused(
            &["occupancy.carveouts=0,131072"],
            &["occupancy.carveouts", "zero ways"],
        );
        let error = settings("rtx-a6000", &["l1_data_cache.index=masks"]).unwrap_err();
        assert!(error.to_string().contains("l1_data_cache.index"), "{error}");
    }
}
