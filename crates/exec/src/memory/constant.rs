//! LDC and ULDC: loads from the constant banks.

use source::{Effect, FaultKind, Operation as Kind, Space};

use crate::lanes::lanes_of;
use crate::memory::access::{Done, Unit, note, write_words};
use crate::memory::address::trouble;
use crate::memory::deferred::extend;
use crate::memory::{ConstantMode, Size};
use crate::micro::Operand;

/// The operands of a load from a constant bank.
#[derive(Clone, Copy)]
pub(crate) struct ConstantLoad {
    pub(crate) row: u16,
    /// Into uniform registers.
    pub(crate) uniform: bool,
    pub(crate) bank: u8,
    pub(crate) index: Operand,
    pub(crate) offset: i32,
    pub(crate) size: Size,
    pub(crate) mode: ConstantMode,
}

/// Executes a load from a constant bank in the lanes of `mask`.
pub(crate) fn load(
    unit: &mut Unit<'_>,
    load: ConstantLoad,
    mask: u32,
    effect: &mut Effect,
) -> Done {
    let bytes = u32::from(load.size.bytes);
    let index = unit.warp.fetch(load.index);
    let lanes = if load.uniform { 1 } else { mask };
    for lane in lanes_of(lanes) {
        let (number, at) = match load.mode {
            ConstantMode::Linear => (load.bank, index[lane].wrapping_add(load.offset as u32)),
            ConstantMode::Indexed => (
                load.bank.wrapping_add((index[lane] >> 16) as u8),
                (index[lane] & 0xffff).wrapping_add(load.offset as u32),
            ),
        };
        // A fixed offset is printed with its sign; the field has 16 bits.
        let fixed = matches!(load.index, Operand::Scalar(0));
        let at = if fixed { at & 0xffff } else { at };
        if !at.is_multiple_of(bytes) {
            let address = u64::from(at);
            return trouble(
                lane,
                FaultKind::Misaligned {
                    space: "constant",
                    address,
                    bytes,
                },
            );
        }
        let Some(value) = unit.banks.read(number, at, bytes) else {
            let size = unit.banks.size(number);
            let nearest = Some(format!("constant bank {number} has {size} bytes"));
            let address = u64::from(at);
            let space = "constant";
            return trouble(
                lane,
                FaultKind::OutOfBounds {
                    space,
                    address,
                    bytes,
                    nearest,
                },
            );
        };
        unit.words[0][lane] = value as u32;
        unit.words[1][lane] = (value >> 32) as u32;
        effect.access.addresses[lane] = u64::from(number) << 32 | u64::from(at);
    }
    extend(&mut unit.words[0], bytes, load.size.signed);
    if load.uniform {
        unit.warp.write_uniform(load.row as u8, unit.words[0][0]);
        if bytes == 8 && load.row != 63 {
            unit.warp
                .write_uniform(load.row as u8 + 1, unit.words[1][0]);
        }
    } else {
        write_words(unit.warp, load.row, unit.words, bytes, mask);
        note(effect, Space::Constant, Kind::Load, mask, bytes);
    }
    Ok(())
}
