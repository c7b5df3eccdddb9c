//! LDSM: loads 8 × 8 matrices of 16-bit elements from shared memory, a row address in each of eight
//! lanes, and deals them out over the warp.

use source::{Effect, Operation as Kind, Space};

use crate::lanes::Lanes;
use crate::lower::Address;
use crate::memory::access::{Done, Unit, note};
use crate::memory::address::{check_offsets, survey};

/// Executes LDSM in the lanes of `mask`.
pub(crate) fn load(
    unit: &mut Unit<'_>,
    row: u16,
    address: &Address,
    matrices: u8,
    transpose: bool,
    mask: u32,
    effect: &mut Effect,
) -> Done {
    // Lanes 8m to 8m + 7 hold the row addresses of matrix m.
    let rows = 8 * u32::from(matrices);
    let used = if rows >= 32 {
        u32::MAX
    } else {
        (1 << rows) - 1
    };
    let to = &mut effect.access.addresses;
    let survey = survey(unit.host, unit.warp, address, false, 16, used, to);
    let offsets = &effect.access.addresses;
    check_offsets(offsets, used, Some(survey), 16, unit.shared.len(), "shared")?;
    for matrix in 0..usize::from(matrices) {
        let element = |i: usize, j: usize| -> u32 {
            let at = offsets[8 * matrix + i] as u32 + 2 * j as u32;
            u32::from(u16::from_le_bytes(unit.shared.read::<2>(at)))
        };
        let result = if transpose {
            Lanes::from_fn(|lane| {
                let (i, j) = (lane / 4, 2 * (lane % 4));
                element(j, i) | element(j + 1, i) << 16
            })
        } else {
            Lanes::from_fn(|lane| {
                let at = offsets[8 * matrix + lane / 4] as u32 + 4 * (lane as u32 % 4);
                unit.shared.word(at)
            })
        };
        unit.warp.write(row + matrix as u16, &result, mask);
    }
    note(effect, Space::Shared, Kind::Load, used, 16);
    Ok(())
}
