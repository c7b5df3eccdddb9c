//! Division, square root, reciprocal and fused operations of the vendor's compiler in every rounding,
//! both precisions, bit by bit: slow paths, FCHK and the multi-function unit's seeds together.
//!
//! The normal run takes all pairs of edge operands and some random ones on every architecture;
//! `cargo test -p exec --test division --release -- --ignored` takes ten million.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{Loaded, Parameters};
use exec::{LaunchOptions, functional};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round};

const ROUNDINGS: [Round; 4] = [
    Round::NearestTiesToEven,
    Round::TowardZero,
    Round::TowardNegative,
    Round::TowardPositive,
];
const ARCHITECTURES: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"];

/// Bits of a format: width, fraction bits, and how NaN is stored.
#[derive(Clone, Copy)]
struct Format {
    bits: u32,
    fraction: u32,
}

const SINGLE: Format = Format {
    bits: 32,
    fraction: 23,
};
const DOUBLE: Format = Format {
    bits: 64,
    fraction: 52,
};

impl Format {
    fn nan(self) -> u64 {
        (1 << (self.bits - 1)) - 1
    }

    fn infinity(self) -> u64 {
        self.nan() >> self.fraction << self.fraction
    }

    /// Numbers at which things change.
    fn edges(self) -> Vec<u64> {
        let (f, bias) = (self.fraction, (1u64 << (self.bits - self.fraction - 2)) - 1);
        let one = bias << f;
        let power = |n: i64| (bias as i64 + n) as u64;
        let mut edges = vec![
            0,
            1,
            2,
            3,
            (1 << f) - 1,
            1 << f,
            (1 << f) + 1,
            1 << (f - 1),
            one - 1,
            one,
            one + 1,
            one + (1 << (f - 1)),
            self.infinity() - 1,
            self.infinity(),
            self.infinity() + 1,
            self.nan(),
        ];
        let reach = bias as i64;
        for n in [
            2 - reach,
            25 - reach,
            -reach / 2,
            -1,
            1,
            2,
            3,
            reach / 2,
            reach - 2,
            reach - 1,
        ] {
            edges.extend([power(n) << f, (power(n) << f) + 1, (power(n) << f) - 1]);
        }
        let signs: Vec<u64> = edges.iter().map(|e| e | 1 << (self.bits - 1)).collect();
        edges.extend(signs);
        edges
    }
}

/// Random numbers that are the same each time (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Any bits, often with an exponent near one's, so that quotients are numbers.
    fn number(&mut self, format: Format) -> u64 {
        let bits = self.next() >> (64 - format.bits);
        let z = self.next();
        let exponent = format.infinity() >> format.fraction;
        match z % 4 {
            0 => bits,
            1 => {
                let near = exponent / 2 - 8 + (z >> 8) % 16;
                bits & !format.infinity() | near << format.fraction
            }
            // Few fraction bits: quotients and roots that are exact or halfway.
            2 => bits & !((1 << (format.fraction - 4)) - 1),
            _ => {
                let small = (z >> 8) % 40;
                bits & !format.infinity() | small << format.fraction
            }
        }
    }
}

/// Square root in a direction, from the integer square root of the significand.
fn root(x: u64, format: Format, round: Round) -> u64 {
    let negative = x >> (format.bits - 1) == 1;
    let magnitude = x & format.nan();
    if magnitude == 0 || magnitude == format.infinity() && !negative {
        return x;
    }
    if negative || magnitude > format.infinity() {
        return format.nan();
    }
    let f = format.fraction;
    let bias = (1i64 << (format.bits - f - 2)) - 1;
    let exponent = (magnitude >> f) as i64;
    let significand = magnitude & ((1 << f) - 1) | if exponent == 0 { 0 } else { 1 << f };
    // x = significand · 2^power, scaled so that the power is even and the root has f + 1 bits and one.
    let mut power = exponent.max(1) - bias - i64::from(f);
    let up = 2 * i64::from(f) + 4 - (64 - i64::from(significand.leading_zeros()));
    let up = up + ((power - up) & 1);
    power -= up;
    let scaled = u128::from(significand) << up;
    let found = scaled.isqrt();
    let exact = found * found == scaled;
    let width = 128 - i64::from(found.leading_zeros());
    let drop = (width - i64::from(f) - 1) as u32;
    let (kept, rest) = (found >> drop, found & ((1 << drop) - 1));
    let half = 1u128 << (drop - 1);
    let above = match round {
        Round::NearestTiesToEven => rest > half || rest == half && (!exact || kept & 1 == 1),
        Round::TowardPositive => rest != 0 || !exact,
        _ => false,
    };
    // Roots are never denormal; a carry moves into the exponent.
    let biased = (power / 2 + i64::from(drop) + i64::from(f) + bias) as u64;
    ((biased - 1) << f) + kept as u64 + u64::from(above)
}

/// The rows of the kernel for one set of operands.
fn expected<F: Float>(a: u64, b: u64, c: u64, format: Format) -> Vec<u64> {
    let number = |bits: u64| F::from_bits(bits.into());
    let bits = |value: F| {
        if value.is_nan() {
            format.nan()
        } else {
            value.to_bits() as u64
        }
    };
    let (x, y, z) = (number(a), number(b), number(c));
    let one = F::from_u128(1).value;
    let mut rows = Vec::with_capacity(24);
    rows.extend(ROUNDINGS.map(|r| bits(x.div_r(y, r).value)));
    rows.extend(ROUNDINGS.map(|r| root(a, format, r)));
    rows.extend(ROUNDINGS.map(|r| bits(one.div_r(y, r).value)));
    rows.extend(ROUNDINGS.map(|r| bits(x.mul_add_r(y, z, r).value)));
    rows.extend(ROUNDINGS.map(|r| bits(x.add_r(y, r).value)));
    rows.extend(ROUNDINGS.map(|r| bits(x.mul_r(y, r).value)));
    rows
}

/// Runs the kernel over operands of `bytes` bytes each and compares every row but those after the
/// twenty-fourth.
fn check(loaded: &mut Loaded, format: Format, operands: &[[u64; 3]]) {
    let bytes = format.bits as usize / 8;
    let n = operands.len();
    let single = format.bits == 32;
    let rows = if single { 25 } else { 24 };
    let encode = |values: &mut dyn Iterator<Item = u64>| -> Vec<u8> {
        values
            .flat_map(|v| v.to_le_bytes().into_iter().take(bytes))
            .collect()
    };
    let mut addresses = Vec::new();
    for k in 0..3 {
        let data = encode(&mut operands.iter().map(|o| o[k]));
        let address = loaded
            .memory
            .allocate(data.len() as u64, "operands")
            .unwrap();
        loaded.memory.write(address, &data).unwrap();
        addresses.push(address);
    }
    let out = loaded
        .memory
        .allocate((rows * n * bytes) as u64, "out")
        .unwrap();
    let parameters = Parameters::default()
        .wide(addresses[0])
        .wide(addresses[1])
        .wide(addresses[2])
        .wide(out)
        .word(n as u32);
    let launch = loaded.launch(
        if single {
            "rounding_f32"
        } else {
            "rounding_f64"
        },
        [n.div_ceil(256) as u32, 1, 1],
        [256, 1, 1],
        &parameters.0,
        LaunchOptions::default(),
    );
    functional::run(&launch, &mut loaded.memory, 1 << 40).unwrap();
    let mut data = vec![0; rows * n * bytes];
    loaded.memory.read(out, &mut data).unwrap();
    let found = |row: usize, i: usize| {
        let mut word = [0; 8];
        let at = (row * n + i) * bytes;
        word[..bytes].copy_from_slice(&data[at..at + bytes]);
        u64::from_le_bytes(word)
    };
    for (i, &[a, b, c]) in operands.iter().enumerate() {
        let wanted = if single {
            expected::<Single>(a, b, c, format)
        } else {
            expected::<Double>(a, b, c, format)
        };
        for (row, &wanted) in wanted.iter().enumerate() {
            let found = found(row, i);
            assert_eq!(
                found, wanted,
                "row {row} of {a:#x}, {b:#x}, {c:#x}: {found:#x}, not {wanted:#x}"
            );
        }
        if single {
            // Correctly rounded: within half a unit, which double precision tells.
            let (x, y) = (
                f32::from_bits(a as u32),
                f32::from_bits(found(24, i) as u32),
            );
            let exact = 1.0 / f64::from(x).sqrt();
            let right = if exact.is_nan() {
                y.is_nan()
            } else {
                y == exact as f32
            };
            assert!(right, "1/sqrt of {a:#x}: {y:e}");
        }
    }
    for address in addresses {
        assert!(loaded.memory.free(address));
    }
    assert!(loaded.memory.free(out));
}

fn edge_pairs(format: Format) -> Vec<[u64; 3]> {
    let edges = format.edges();
    let mut operands = Vec::new();
    for (i, &a) in edges.iter().enumerate() {
        for (k, &b) in edges.iter().enumerate() {
            operands.push([a, b, edges[(i + 7 * k) % edges.len()]]);
        }
    }
    operands
}

fn random(format: Format, count: usize, source: &mut Random) -> Vec<[u64; 3]> {
    (0..count)
        .map(|_| [0; 3].map(|_: u64| source.number(format)))
        .collect()
}

#[test]
fn roots_of_the_reference_are_those_of_the_host() {
    let mut source = Random(5);
    for _ in 0..20_000 {
        let bits = source.number(DOUBLE) & DOUBLE.nan();
        let host = f64::from_bits(bits).sqrt();
        if !host.is_nan() {
            let found = root(bits, DOUBLE, Round::NearestTiesToEven);
            assert_eq!(found, host.to_bits(), "{bits:#x}");
        }
        let bits = source.number(SINGLE) & SINGLE.nan();
        let host = f32::from_bits(bits as u32).sqrt();
        if !host.is_nan() {
            let found = root(bits, SINGLE, Round::NearestTiesToEven);
            assert_eq!(found, u64::from(host.to_bits()), "{bits:#x}");
        }
    }
}

#[test]
fn every_rounding_is_exact_on_edges_and_a_sample() {
    for (number, architecture) in ARCHITECTURES.into_iter().enumerate() {
        let mut loaded = Loaded::new(&format!("features/division.{architecture}.cubin"));
        for format in [SINGLE, DOUBLE] {
            let mut operands = random(format, 1500, &mut Random(number as u64));
            if architecture == "sm_86" {
                operands.extend(edge_pairs(format));
            }
            check(&mut loaded, format, &operands);
        }
    }
}

#[test]
#[ignore = "ten million operands; minutes"]
fn every_rounding_is_exact_on_ten_million_operands() {
    let architecture = std::env::var("WARPATH_ARCHITECTURE").unwrap_or("sm_86".to_owned());
    let mut loaded = Loaded::new(&format!("features/division.{architecture}.cubin"));
    for format in [SINGLE, DOUBLE] {
        check(&mut loaded, format, &edge_pairs(format));
        let mut source = Random(77);
        for _ in 0..40 {
            check(&mut loaded, format, &random(format, 250_000, &mut source));
        }
    }
}
