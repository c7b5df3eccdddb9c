//! The reference: texel indices and means in exact rational arithmetic, written from the programming
//! guide.

use crate::texture::{AddressMode, ChannelType, Filter, ReadMode, TexelFormat};

/// A rational number; the denominator is positive.
#[derive(Clone, Copy, Debug)]
pub struct Rational {
    pub numerator: i128,
    pub denominator: i128,
}

impl Rational {
    pub fn new(numerator: i128, denominator: i128) -> Rational {
        assert!(denominator > 0);
        Rational {
            numerator,
            denominator,
        }
    }

    /// A single-precision number of at most 2^20 in magnitude and at least 2^-40 in granularity.
    pub fn of(value: f32) -> Rational {
        let scaled = f64::from(value) * (1u64 << 40) as f64;
        assert!(scaled.fract() == 0.0 && scaled.abs() < 2f64.powi(62));
        Rational::new(scaled as i128, 1 << 40)
    }

    pub fn times(self, factor: i128) -> Rational {
        Rational::new(self.numerator * factor, self.denominator)
    }

    pub fn floor(self) -> i128 {
        self.numerator.div_euclid(self.denominator)
    }

    /// The nearest whole number, ties up.
    pub fn nearest(self) -> i128 {
        Rational::new(2 * self.numerator + self.denominator, 2 * self.denominator).floor()
    }

    /// The nearest single-precision number, ties to even: chosen among neighbours by exact comparison.
    pub fn to_f32(self) -> f32 {
        if self.numerator == 0 {
            return 0.0;
        }
        let guess = (self.numerator as f64 / self.denominator as f64) as f32;
        // All candidates are whole multiples of 2^-places.
        let places = 152 - (guess.to_bits() >> 23 & 0xff) as i32;
        let places = places.max(0);
        let distance = |value: f32| {
            let multiple = (f64::from(value) * 2f64.powi(places)) as i128;
            let scaled = self.numerator.checked_mul(1 << places).unwrap();
            (scaled - multiple * self.denominator).abs()
        };
        let mut best = guess;
        for candidate in [guess.next_down(), guess.next_up()] {
            match distance(candidate).cmp(&distance(best)) {
                std::cmp::Ordering::Less => best = candidate,
                std::cmp::Ordering::Equal if candidate.to_bits() & 1 == 0 => best = candidate,
                _ => {}
            }
        }
        best
    }
}

/// The texel that an index stands for, by walking back into the texture.
pub fn inside(mut index: i128, extent: i128, mode: AddressMode) -> Option<i128> {
    loop {
        if (0..extent).contains(&index) {
            return Some(index);
        }
        index = match mode {
            AddressMode::Border => return None,
            AddressMode::Clamp if index < 0 => 0,
            AddressMode::Clamp => extent - 1,
            AddressMode::Wrap if index < 0 => index + extent,
            AddressMode::Wrap => index - extent,
            AddressMode::Mirror if index < 0 => -1 - index,
            AddressMode::Mirror => 2 * extent - 1 - index,
        };
    }
}

/// Index and weight in 256ths of the texels along an axis.
pub fn neighbours(place: Rational, filter: Filter) -> Vec<(i128, i128)> {
    match filter {
        Filter::Point => vec![(place.floor(), 256)],
        Filter::Linear => {
            // x - 0.5 with 8 fractional bits.
            let fixed = place.times(256).nearest() - 128;
            let (index, weight) = (fixed.div_euclid(256), fixed.rem_euclid(256));
            vec![(index, 256 - weight), (index + 1, weight)]
        }
    }
}

/// What a texel's channel is worth, as a rational number; and the bits of an integer read as element.
pub fn value(format: TexelFormat, read: ReadMode, bytes: &[u8]) -> (Rational, u32) {
    let mut padded = [0; 4];
    padded[..bytes.len()].copy_from_slice(bytes);
    let word = u32::from_le_bytes(padded);
    let (integer, unit) = match format.channel {
        ChannelType::U8 => (i128::from(bytes[0]), 255),
        ChannelType::S8 => (i128::from(bytes[0] as i8), 127),
        ChannelType::U16 => (i128::from(word as u16), 65535),
        ChannelType::S16 => (i128::from(word as i16), 32767),
        ChannelType::U32 => (i128::from(word), 1),
        ChannelType::S32 => (i128::from(word as i32), 1),
        ChannelType::F16 => {
            let half = ::half::f16::from_bits(word as u16);
            let value = Rational::of(half.to_f32());
            return (value, half.to_f32().to_bits());
        }
        ChannelType::F32 => return (Rational::of(f32::from_bits(word)), word),
    };
    match read {
        ReadMode::Element => (Rational::new(integer, 1), integer as u32),
        ReadMode::Normalized => (Rational::new(integer.max(-unit), unit), integer as u32),
    }
}

/// A weighted mean of rationals with the same denominator, in single precision.
pub fn mean(terms: &[(i128, Rational)], whole: i128) -> f32 {
    let Some((_, first)) = terms.first() else {
        return 0.0;
    };
    let mut sum = 0;
    for (weight, value) in terms {
        assert_eq!(value.denominator, first.denominator);
        sum += weight * value.numerator;
    }
    Rational::new(sum, whole * first.denominator).to_f32()
}
