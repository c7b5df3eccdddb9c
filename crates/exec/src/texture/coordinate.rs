//! From coordinates along one axis to texel indices and weights.

use super::sampler::AddressMode;

/// A weight of one along an axis.
pub(crate) const ONE: u64 = 256;

/// One or two neighbours along an axis: index, and the weight in 256ths of the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) first: i64,
    pub(crate) second_weight: u64,
}

/// `coordinate` in texels; normalized ones are scaled by the extent.
#[inline]
pub(crate) fn in_texels(coordinate: f64, extent: u32, normalized: bool) -> f64 {
    if coordinate.is_nan() {
        return 0.0;
    }
    if normalized {
        // A single-precision number's 24 bits times 17: exact.
        coordinate * f64::from(extent)
    } else {
        coordinate
    }
}

/// The texel that holds a place.
#[inline]
pub(crate) fn point(place: f64) -> Span {
    Span {
        first: place.floor() as i64,
        second_weight: 0,
    }
}

/// The two texels whose centres are next to a place.
#[inline]
pub(crate) fn linear(place: f64) -> Span {
    let fixed = ((place * 256.0 + 0.5).floor() as i64).saturating_sub(128);
    Span {
        first: fixed >> 8,
        second_weight: (fixed & 255) as u64,
    }
}

/// The texel that stands for index `index` on an axis of `extent` texels; `None` beyond a border.
#[inline]
pub(crate) fn resolve(index: i64, extent: u32, mode: AddressMode) -> Option<u32> {
    let size = i64::from(extent);
    if (0..size).contains(&index) {
        return Some(index as u32);
    }
    let inside = match mode {
        AddressMode::Border => return None,
        AddressMode::Clamp => index.clamp(0, size - 1),
        AddressMode::Wrap => index.rem_euclid(size),
        AddressMode::Mirror => {
            let folded = index.rem_euclid(2 * size);
            folded.min(2 * size - 1 - folded)
        }
    };
    Some(inside as u32)
}
