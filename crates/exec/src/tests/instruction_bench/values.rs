//! What the bench puts into registers: numbers at which things change, and random ones.

use super::super::float::{SINGLES, random_single};
use super::super::{EDGES, Random};

/// What most registers of a warp hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contents {
    Integers,
    Singles,
    Doubles,
    Halves,
    /// All of them.
    Mixed,
}

const DOUBLES: [u64; 22] = [
    0,
    1 << 63,
    1,
    1 << 63 | 1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x0010_0000_0000_0001,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3fef_ffff_ffff_ffff,
    0x3ff0_0000_0000_0001,
    0x4000_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x3ca0_0000_0000_0000,
    0x4330_0000_0000_0000,
    0x43e0_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0xfff0_0000_0000_1234,
];

/// Halves and brain floats at which things change: the patterns of one are numbers of the other.
const HALVES: [u16; 28] = [
    0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x401, 0x8400, 0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x4000,
    0x1400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfd12, 0x0080, 0x007f, 0x3f80, 0xbf80, 0x7f7f,
    0x7f80, 0xff80, 0x7fc1,
];

fn pick<T: Copy>(list: &[T], random: &mut Random) -> T {
    list[random.word() as usize % list.len()]
}

fn integer(random: &mut Random) -> u32 {
    match random.word() % 8 {
        0..3 => pick(&EDGES, random),
        3 => random.word() % 70,
        4 => (1u32 << (random.word() % 32))
            .wrapping_add(random.word() % 3)
            .wrapping_sub(1),
        _ => random.word(),
    }
}

fn single(random: &mut Random) -> u32 {
    match random.word() % 8 {
        0..4 => pick(&SINGLES, random),
        // Near integers, halves and the bounds of integer types.
        4 => {
            let integer = integer(random) as i32 as f32;
            (integer.to_bits() + random.word() % 3).wrapping_sub(1)
        }
        5 => ((random.word() % 2048) as f32 / 2.0 - 512.0).to_bits(),
        _ => random_single(random),
    }
}

fn double(random: &mut Random) -> u64 {
    match random.word() % 8 {
        0..4 => pick(&DOUBLES, random),
        4 => {
            let integer = random.wide() >> (random.word() % 64);
            let value = integer as f64 * if random.word() & 1 == 0 { 0.5 } else { -0.5 };
            (value.to_bits() + u64::from(random.word() % 3)).wrapping_sub(1)
        }
        5 => f64::from(f32::from_bits(single(random))).to_bits(),
        6 => 0x3ff0_0000_0000_0000 + (random.wide() >> 11),
        _ => random.wide(),
    }
}

fn halves(random: &mut Random) -> u32 {
    let one = |random: &mut Random| match random.word() % 4 {
        0..2 => u32::from(pick(&HALVES, random)),
        2 => 0x3800 + random.word() % 0x1000,
        _ => random.word() >> 16,
    };
    one(random) | one(random) << 16
}

/// Two registers in a row.
pub fn pair(contents: Contents, random: &mut Random) -> (u32, u32) {
    let contents = match (contents, random.word() % 8) {
        (Contents::Mixed, 0 | 1) | (_, 7) => Contents::Integers,
        (Contents::Mixed, 2 | 3) => Contents::Singles,
        (Contents::Mixed, 4) => Contents::Halves,
        (Contents::Mixed, _) => Contents::Doubles,
        (contents, _) => contents,
    };
    match contents {
        Contents::Integers => (integer(random), integer(random)),
        Contents::Singles => (single(random), single(random)),
        Contents::Halves => (halves(random), halves(random)),
        Contents::Doubles | Contents::Mixed => {
            let bits = double(random);
            (bits as u32, (bits >> 32) as u32)
        }
    }
}
