//! How a launch file's buffers are filled before the first launch.

use crate::values::{ElementType, Number};

/// What a buffer holds at first. (`file` is read by whoever loads the launch file.)
#[derive(Debug, Clone, PartialEq)]
pub enum Initializer {
    /// Uniform pseudo-random numbers: one [`SplitMix64`] output per element. Integers lie in
    /// `low..=high`, floating-point numbers in `low..high` (computed in double precision, then
    /// rounded to the type).
    Random {
        /// Seed of the generator.
        seed: u64,
        /// Least value.
        low: Number,
        /// Greatest value.
        high: Number,
    },
    /// The same number everywhere.
    Fill(Number),
    /// `start + index * step`; integers wrap at the width of their type.
    Iota {
        /// The first element.
        start: Number,
        /// The difference between neighbours.
        step: Number,
    },
    /// These numbers, exactly as many as there are elements.
    Values(Vec<Number>),
    /// A ring for chasing pointers: the elements at multiples of `stride` form one cycle in random
    /// order, each holding the index of the next; all others are 0.
    PermutationRing {
        /// Seed of the generator that shuffles the ring.
        seed: u64,
        /// Distance between nodes, in elements.
        stride: u64,
    },
}

/// Why a buffer cannot be filled as asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InitError {
    /// A number that the element type cannot hold.
    #[error("{number} does not fit an element of type {element}")]
    OutOfRange {
        /// The number.
        number: Number,
        /// The element type.
        element: ElementType,
    },
    /// `low` above `high`.
    #[error("the range of random numbers is empty: low = {low} is above high = {high}")]
    EmptyRange {
        /// The lower end.
        low: Number,
        /// The upper end.
        high: Number,
    },
    /// A list whose length is not the buffer's.
    #[error("{values} values are given for {count} elements")]
    WrongCount {
        /// How many values are listed.
        values: usize,
        /// How many elements the buffer has.
        count: usize,
    },
    /// A ring needs indices, hence an integer type.
    #[error("a permutation ring holds indices, so its type must be an integer, not {0}")]
    RingOfReals(ElementType),
    /// A ring without a stride.
    #[error("the stride of a permutation ring must be at least 1")]
    ZeroStride,
    /// More bytes than this machine can give.
    #[error("a buffer of {count} elements of type {element} does not fit into memory")]
    TooLarge {
        /// How many elements were asked for.
        count: usize,
        /// Their type.
        element: ElementType,
    },
}

/// The SplitMix64 generator (Steele, Lea and Flood, 2014).
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A generator started at `seed`.
    pub fn new(seed: u64) -> Self {
        SplitMix64 { state: seed }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A double in `0.0..1.0` from the upper 53 bits.
    pub fn next_unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * SCALE
    }
}

/// The first contents of a buffer of `count` elements, as little-endian bytes.
pub fn initialize(
    initializer: &Initializer,
    element: ElementType,
    count: usize,
) -> Result<Vec<u8>, InitError> {
    let mut bytes = Vec::new();
    let too_large = InitError::TooLarge { count, element };
    let size = count.checked_mul(element.size()).ok_or(too_large.clone())?;
    bytes.try_reserve_exact(size).map_err(|_| too_large)?;

    match initializer {
        Initializer::Fill(number) => {
            check_holds(element, *number)?;
            for _ in 0..count {
                element.write(*number, &mut bytes);
            }
        }
        Initializer::Values(numbers) => {
            if numbers.len() != count {
                return Err(InitError::WrongCount {
                    values: numbers.len(),
                    count,
                });
            }
            for &number in numbers {
                check_holds(element, number)?;
                element.write(number, &mut bytes);
            }
        }
        Initializer::Iota { start, step } => iota(element, *start, *step, count, &mut bytes)?,
        Initializer::Random { seed, low, high } => {
            random(element, *seed, *low, *high, count, &mut bytes)?;
        }
        Initializer::PermutationRing { seed, stride } => {
            ring(element, *seed, *stride, count, &mut bytes)?;
        }
    }
    Ok(bytes)
}

fn check_holds(element: ElementType, number: Number) -> Result<(), InitError> {
    if element.holds(number) {
        Ok(())
    } else {
        Err(InitError::OutOfRange { number, element })
    }
}

/// A whole number that the integer type holds.
fn whole(element: ElementType, number: Number) -> Result<i128, InitError> {
    check_holds(element, number)?;
    Ok(match number {
        Number::Integer(value) => value,
        Number::Real(value) => value as i128,
    })
}

fn iota(
    element: ElementType,
    start: Number,
    step: Number,
    count: usize,
    bytes: &mut Vec<u8>,
) -> Result<(), InitError> {
    if element.is_real() {
        let (start, step) = (start.as_f64(), step.as_f64());
        for index in 0..count {
            element.write(Number::Real(start + index as f64 * step), bytes);
        }
    } else {
        let start = whole(element, start)?;
        // A step may be negative even for an unsigned type.
        let step = whole(ElementType::I64, step)?;
        for index in 0..count {
            let value = start.wrapping_add((index as i128).wrapping_mul(step));
            element.write(Number::Integer(value), bytes);
        }
    }
    Ok(())
}

fn random(
    element: ElementType,
    seed: u64,
    low: Number,
    high: Number,
    count: usize,
    bytes: &mut Vec<u8>,
) -> Result<(), InitError> {
    let mut generator = SplitMix64::new(seed);
    if element.is_real() {
        let (least, most) = (low.as_f64(), high.as_f64());
        // A range with a NaN at either end is as empty as one turned round.
        if least > most || least.is_nan() || most.is_nan() {
            return Err(InitError::EmptyRange { low, high });
        }
        for _ in 0..count {
            let value = least + generator.next_unit() * (most - least);
            element.write(Number::Real(value), bytes);
        }
    } else {
        let (least, most) = (whole(element, low)?, whole(element, high)?);
        if least > most {
            return Err(InitError::EmptyRange { low, high });
        }
        let span = most - least + 1;
        for _ in 0..count {
            let value = least + i128::from(generator.next_u64()) % span;
            element.write(Number::Integer(value), bytes);
        }
    }
    Ok(())
}

fn ring(
    element: ElementType,
    seed: u64,
    stride: u64,
    count: usize,
    bytes: &mut Vec<u8>,
) -> Result<(), InitError> {
    if element.is_real() {
        return Err(InitError::RingOfReals(element));
    }
    if stride == 0 {
        return Err(InitError::ZeroStride);
    }
    // A stride beyond the buffer leaves one node, which points at itself.
    let stride = usize::try_from(stride)
        .unwrap_or(usize::MAX)
        .min(count.max(1));
    let nodes = count.div_ceil(stride);
    let last = Number::Integer((nodes.saturating_sub(1) * stride) as i128);
    check_holds(element, last)?;

    // Sattolo's shuffle: its permutations are exactly those with a single cycle.
    let mut next: Vec<usize> = (0..nodes).collect();
    let mut generator = SplitMix64::new(seed);
    for node in (1..nodes).rev() {
        let other = (generator.next_u64() % node as u64) as usize;
        next.swap(node, other);
    }
    for index in 0..count {
        let target = if index % stride == 0 {
            next[index / stride] * stride
        } else {
            0
        };
        element.write(Number::Integer(target as i128), bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Values;

    fn values(initializer: Initializer, element: ElementType, count: usize) -> Values {
        Values::from_bytes(element, &initialize(&initializer, element, count).unwrap()).unwrap()
    }

    #[test]
    fn split_mix_gives_its_published_sequence() {
        let mut generator = SplitMix64::new(1_234_567);
        assert_eq!(generator.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(generator.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn random_integers_stay_in_their_closed_range() {
        let initializer = Initializer::Random {
            seed: 1,
            low: Number::Integer(-2),
            high: Number::Integer(2),
        };
        let Values::I8(drawn) = values(initializer, ElementType::I8, 1000) else {
            panic!()
        };
        for value in -2..=2 {
            assert!(drawn.contains(&value));
        }
        assert!(drawn.iter().all(|value| (-2..=2).contains(value)));
    }

    #[test]
    fn the_full_range_of_u64_is_the_generator_itself() {
        let initializer = Initializer::Random {
            seed: 9,
            low: Number::Integer(0),
            high: Number::Integer(i128::from(u64::MAX)),
        };
        let first = SplitMix64::new(9).next_u64();
        assert_eq!(
            values(initializer, ElementType::U64, 1),
            Values::U64(vec![first])
        );
    }

    #[test]
    fn random_reals_stay_in_range() {
        let initializer = Initializer::Random {
            seed: 1,
            low: Number::Real(-1.0),
            high: Number::Real(1.0),
        };
        let Values::F32(drawn) = values(initializer, ElementType::F32, 1000) else {
            panic!()
        };
        assert!(drawn.iter().all(|value| (-1.0..=1.0).contains(value)));
        assert!(drawn.iter().sum::<f32>().abs() < 100.0);
    }

    #[test]
    fn a_ring_visits_every_node_once() {
        let initializer = Initializer::PermutationRing {
            seed: 5,
            stride: 16,
        };
        let Values::U32(ring) = values(initializer, ElementType::U32, 1600) else {
            panic!()
        };
        let mut at = 0;
        for step in 1..=100 {
            at = ring[at] as usize;
            assert_eq!(at % 16, 0);
            assert_eq!(at == 0, step == 100);
        }
    }

    #[test]
    fn iota_counts_in_its_type() {
        let initializer = Initializer::Iota {
            start: Number::Integer(254),
            step: Number::Integer(1),
        };
        assert_eq!(
            values(initializer, ElementType::U8, 3),
            Values::U8(vec![254, 255, 0])
        );
        let initializer = Initializer::Iota {
            start: Number::Integer(0),
            step: Number::Real(0.5),
        };
        assert_eq!(
            values(initializer, ElementType::F32, 3),
            Values::F32(vec![0.0, 0.5, 1.0])
        );
    }

    #[test]
    fn impossible_requests_are_errors() {
        let fill = Initializer::Fill(Number::Integer(256));
        assert!(initialize(&fill, ElementType::U8, 1).is_err());
        let list = Initializer::Values(vec![Number::Integer(1)]);
        assert!(initialize(&list, ElementType::U8, 2).is_err());
        let zero = Initializer::Fill(Number::Integer(0));
        assert!(initialize(&zero, ElementType::U64, usize::MAX).is_err());
        let ring = Initializer::PermutationRing { seed: 1, stride: 0 };
        assert_eq!(
            initialize(&ring, ElementType::U32, 4),
            Err(InitError::ZeroStride)
        );
        let empty = Initializer::Random {
            seed: 1,
            low: Number::Real(f64::NAN),
            high: Number::Real(1.0),
        };
        assert!(initialize(&empty, ElementType::F32, 1).is_err());
    }
}
