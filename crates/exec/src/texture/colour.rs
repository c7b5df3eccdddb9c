//! Colours that are stored in sRGB's curve (IEC 61966-2-1): `cudaTextureDesc::sRGB` makes them linear
//! before they are filtered. The fourth channel is not a colour.

/// Linear value of each stored byte, in single precision.
const LINEAR: [f32; 256] = {
    let mut table = [0.0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = decode(byte as f64 / 255.0) as f32;
        byte += 1;
    }
    table
};

/// The curve, by arithmetic that every machine does alike.
const fn decode(stored: f64) -> f64 {
    if stored <= 0.04045 {
        return stored / 12.92;
    }
    let base = (stored + 0.055) / 1.055;
    let square = base * base;
    let fourth = square * square;
    fifth_root(fourth * fourth * fourth)
}

/// By Newton's method from above; `value` lies in (0, 1].
const fn fifth_root(value: f64) -> f64 {
    let mut root = 1.0;
    let mut step = 0;
    while step < 64 {
        let square = root * root;
        root = (4.0 * root + value / (square * square)) / 5.0;
        step += 1;
    }
    root
}

/// Channel `channel` of a texel of four bytes, of which it is `stored`.
#[inline]
pub(crate) fn linear(stored: u32, channel: u32) -> f32 {
    if channel == 3 {
        stored as f32 / 255.0
    } else {
        LINEAR[stored as usize & 0xff]
    }
}

#[cfg(test)]
mod tests {
    use super::linear;

    #[test]
    fn the_curve_is_that_of_the_standard() {
        for stored in 0..=255u32 {
            let c = f64::from(stored) / 255.0;
            let expected = if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            };
            let found = linear(stored, 1);
            let unit = f64::from(f32::from_bits(found.to_bits() + 1) - found);
            assert!(
                (f64::from(found) - expected).abs() <= 0.501 * unit,
                "{stored}"
            );
            assert_eq!(linear(stored, 3), stored as f32 / 255.0);
        }
        assert_eq!((linear(0, 0), linear(255, 2)), (0.0, 1.0));
    }
}
