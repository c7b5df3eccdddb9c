//! One 32-bit value for each lane of a warp: a row of the register file.

/// Lanes of a warp.
pub const WARP: usize = 32;

/// All lanes.
pub const ALL: u32 = u32::MAX;

/// A 32-bit value per lane, aligned so that a row is two vector registers of the widest host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub struct Lanes(pub [u32; WARP]);

impl Lanes {
    /// Zero in every lane.
    pub const ZERO: Lanes = Lanes([0; WARP]);

    /// The same value in every lane.
    #[inline(always)]
    pub fn splat(value: u32) -> Lanes {
        Lanes([value; WARP])
    }

    /// A value per lane.
    #[inline(always)]
    pub fn from_fn(mut value: impl FnMut(usize) -> u32) -> Lanes {
        let mut lanes = [0; WARP];
        let mut lane = 0;
        while lane < WARP {
            lanes[lane] = value(lane);
            lane += 1;
        }
        Lanes(lanes)
    }

    /// These values in the lanes of `mask`, the old ones in the others.
    #[inline(always)]
    pub fn blend(&mut self, values: &Lanes, mask: u32) {
        if mask == ALL {
            *self = *values;
        } else {
            let mut lane = 0;
            while lane < WARP {
                let keep = (mask >> lane & 1).wrapping_sub(1);
                self.0[lane] = (self.0[lane] & keep) | (values.0[lane] & !keep);
                lane += 1;
            }
        }
    }
}

impl std::ops::Index<usize> for Lanes {
    type Output = u32;
    #[inline(always)]
    fn index(&self, lane: usize) -> &u32 {
        &self.0[lane]
    }
}

impl std::ops::IndexMut<usize> for Lanes {
    #[inline(always)]
    fn index_mut(&mut self, lane: usize) -> &mut u32 {
        &mut self.0[lane]
    }
}

/// The set of lanes in which `holds` is true, written so that it becomes vector code.
#[inline(always)]
pub fn mask_of(mut holds: impl FnMut(usize) -> bool) -> u32 {
    let mut bits = [0u32; WARP];
    let mut lane = 0;
    while lane < WARP {
        bits[lane] = if holds(lane) { 1 << lane } else { 0 };
        lane += 1;
    }
    let mut mask = 0;
    let mut lane = 0;
    while lane < WARP {
        mask |= bits[lane];
        lane += 1;
    }
    mask
}

/// The lanes of a set in rising order.
#[inline(always)]
pub fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}
