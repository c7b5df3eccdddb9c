//! Generic addresses: two windows of the 64-bit space stand for shared and local memory, the rest is
//! global. The windows are the same on every SM and above everything that is allocated.

use crate::lanes::Lanes;
use crate::lower::Address;
use crate::memory::Named;
use crate::memory::access::Unit;
use crate::memory::address::survey;

/// Generic address of byte 0 of shared memory (driver constant c[0x0][0x18]).
pub(crate) const SHARED_WINDOW: u64 = 0xfff_0000_0000;

/// Generic address of byte 0 of local memory (driver constant c[0x0][0x20]).
pub(crate) const LOCAL_WINDOW: u64 = 0xfff_0100_0000;

/// Bytes of each window.
pub(crate) const WINDOW: u64 = 1 << 24;

/// Lanes by the space their generic address lies in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spaces {
    pub(crate) global: u32,
    pub(crate) shared: u32,
    pub(crate) local: u32,
}

/// Sorts the lanes of `mask` by space and makes shared and local addresses offsets.
pub(crate) fn resolve(addresses: &mut [u64; 32], mask: u32) -> Spaces {
    let mut spaces = Spaces {
        global: 0,
        shared: 0,
        local: 0,
    };
    for lane in crate::lanes::lanes_of(mask) {
        let address = &mut addresses[lane];
        if address.wrapping_sub(SHARED_WINDOW) < WINDOW {
            *address -= SHARED_WINDOW;
            spaces.shared |= 1 << lane;
        } else if address.wrapping_sub(LOCAL_WINDOW) < WINDOW {
            *address -= LOCAL_WINDOW;
            spaces.local |= 1 << lane;
        } else {
            spaces.global |= 1 << lane;
        }
    }
    spaces
}

/// QSPC: which lanes' addresses lie in a space.
pub(crate) fn query(
    unit: &mut Unit<'_>,
    out: u8,
    row: u16,
    address: &Address,
    space: Named,
    mask: u32,
) {
    let mut addresses = [0; 32];
    survey(unit.host, unit.warp, address, true, 1, mask, &mut addresses);
    let spaces = resolve(&mut addresses, mask);
    let set = match space {
        Named::Shared => spaces.shared,
        Named::Local => spaces.local,
        Named::Global | Named::Generic => spaces.global,
    };
    unit.warp
        .write(row, &Lanes::from_fn(|lane| set >> lane & 1), mask);
    unit.warp.write_predicate(out, set, mask);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_lie_above_allocations_and_4_gib() {
        const { assert!(SHARED_WINDOW > super::super::global::FIRST_ADDRESS + (1 << 40)) };
        let mut addresses = [0u64; 32];
        addresses[0] = SHARED_WINDOW + 12;
        addresses[1] = LOCAL_WINDOW + 8;
        addresses[2] = 0x7f_0000_0000;
        addresses[3] = LOCAL_WINDOW + WINDOW;
        let spaces = resolve(&mut addresses, 0xf);
        assert_eq!(
            spaces,
            Spaces {
                global: 0b1100,
                shared: 1,
                local: 2
            }
        );
        assert_eq!(&addresses[..3], &[12, 8, 0x7f_0000_0000]);
    }
}
