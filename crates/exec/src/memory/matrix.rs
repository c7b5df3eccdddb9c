//! LDSM and STSM: 8 × 8 matrices of 16-bit elements between shared memory, a row address in each of
//! eight lanes, and registers, where they lie dealt out over the warp.

use source::{Effect, Operation as Kind, Space};

use crate::lanes::{Lanes, lanes_of};
use crate::lower::Address;
use crate::memory::access::{Done, Unit, note};
use crate::memory::address::{check_offsets, survey};

/// Lanes 8m to 8m + 7 hold the row addresses of matrix m.
fn row_lanes(matrices: u8) -> u32 {
    u32::MAX >> (32 - 8 * u32::from(matrices.clamp(1, 4)))
}

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
    let used = row_lanes(matrices);
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

/// Executes STSM in the lanes of `mask`; a row of `None` is RZ.
pub(crate) fn store(
    unit: &mut Unit<'_>,
    row: Option<u16>,
    address: &Address,
    matrices: u8,
    transpose: bool,
    mask: u32,
    effect: &mut Effect,
) -> Done {
    let used = row_lanes(matrices);
    let to = &mut effect.access.addresses;
    let survey = survey(unit.host, unit.warp, address, false, 16, used, to);
    let offsets = &effect.access.addresses;
    check_offsets(offsets, used, Some(survey), 16, unit.shared.len(), "shared")?;
    for matrix in 0..usize::from(matrices) {
        let words = row.map_or(Lanes::ZERO, |row| {
            unit.warp.registers[row as usize + matrix]
        });
        for lane in lanes_of(mask) {
            let (i, j) = (lane / 4, 2 * (lane % 4));
            let at =
                |row: usize, column: usize| offsets[8 * matrix + row] as u32 + 2 * column as u32;
            let bytes = words[lane].to_le_bytes();
            if transpose {
                unit.shared.write(at(j, i), &bytes[..2]);
                unit.shared.write(at(j + 1, i), &bytes[2..]);
            } else {
                unit.shared.write(at(i, j), &bytes);
            }
        }
    }
    note(effect, Space::Shared, Kind::Store, used, 16);
    Ok(())
}
