//! The slice functions are fair for any number of slices (REGRESSIONS.md M3, M4; MODEL.md T22).

mod driver;

use memory::hash::{
    Ad102Parameters, SetHash, SetIndex, SetMaskParameters, SliceHash, SliceSelector,
};

/// Partitions and slices of each, for the counts of real and likely GPUs.
const SHAPES: &[(u32, u32)] = &[
    (5, 1),
    (6, 1),
    (10, 1),
    (12, 1),
    (24, 1),
    (80, 1),
    (5, 2),
    (6, 2),
    (10, 2),
    (12, 2),
    (20, 2),
    (24, 2),
    (40, 2),
    (12, 3),
    (12, 4),
    (48, 1),
    (16, 5),
    (20, 5),
    (16, 2),
    (32, 1),
    (64, 1),
];

fn selector(hash: SliceHash, shape: (u32, u32)) -> SliceSelector {
    let none = Ad102Parameters {
        slice_masks: None,
        slice_blocks: None,
        slice_weights: None,
        slice_thirds: None,
        slice_turns: None,
    };
    SliceSelector::new(hash, shape.0, shape.1, 19, &none).expect("a function without masks")
}

fn index(hash: SetHash, bits: u32) -> SetIndex {
    let none = SetMaskParameters {
        set_masks: None,
        set_quotient_masks: None,
        set_quotient: None,
        set_block: None,
        set_residues: None,
    };
    SetIndex::new(hash, bits, 19, &none).expect("a function without masks")
}

/// Least and largest share of a slice, 1 being fair, over `per_slice` lines for each.
fn shares(selector: &SliceSelector, shape: (u32, u32), stride: u64, per_slice: u64) -> (f64, f64) {
    let mut counts = vec![0_u64; (shape.0 * shape.1) as usize];
    for n in 0..per_slice * counts.len() as u64 {
        let at = selector.of(0x7f_0000_0000 / 128 + n * stride);
        counts[(at.partition * shape.1 + at.sub) as usize] += 1;
    }
    let share = |count: u64| count as f64 / per_slice as f64;
    let least = counts.iter().copied().min().unwrap_or_default();
    let largest = counts.iter().copied().max().unwrap_or_default();
    (share(least), share(largest))
}

#[test]
fn every_stride_reaches_all_slices_alike() {
    for &shape in SHAPES {
        let slices = u64::from(shape.0 * shape.1);
        let selector = selector(SliceHash::Fair, shape);
        let powers = (0..16).map(|power| 1 << power);
        let odd = [3, 5, 7, 9, 11, 13, 31, 33, 127, 1023, 1025];
        let own = (1..5).map(|n| n * slices);
        for stride in powers.chain(odd).chain(own) {
            let (least, largest) = shares(&selector, shape, stride, 512);
            // Five standard deviations of a random spread.
            assert!(
                least > 0.78 && largest < 1.22,
                "{shape:?}, every {stride}th line: shares from {least} to {largest}"
            );
        }
        // Neighbouring lines: exactly fair, but for the blocks at both ends.
        let (least, largest) = shares(&selector, shape, 1, 64);
        assert!(least >= 63.0 / 64.0 && largest <= 65.0 / 64.0, "{shape:?}");
    }
}

#[test]
fn the_fair_function_is_one_to_one() {
    for &shape in SHAPES {
        let selector = selector(SliceHash::Fair, shape);
        let mut seen = std::collections::HashSet::new();
        for line in (0..20_000).chain((1 << 42)..(1 << 42) + 1000) {
            assert!(seen.insert(selector.of(line)), "{shape:?}: line {line}");
        }
    }
}

#[test]
fn the_artifacts_function_gives_sixteen_of_48_slices_twice_the_traffic() {
    let selector = selector(SliceHash::PolynomialMod, (24, 2));
    let mut counts = [0_u32; 48];
    for line in 0..48 * 4096 {
        let at = selector.of(line);
        counts[(at.partition * 2 + at.sub) as usize] += 1;
    }
    let mean = |counts: &[u32]| counts.iter().sum::<u32>() as f64 / counts.len() as f64;
    let ratio = mean(&counts[..16]) / mean(&counts[16..]);
    assert!((1.95..2.05).contains(&ratio), "{ratio}");
}

#[test]
fn a_cache_sized_block_fills_every_set_alike() {
    for bits in [6_u32, 8, 10] {
        for hash in [SetHash::Polynomial, SetHash::Linear] {
            let index = index(hash, bits);
            let mut counts = vec![0; 1 << bits];
            for local in 0..16 << bits {
                counts[index.of(0, local) as usize] += 1;
            }
            assert!(counts.iter().all(|&count| count == 16), "{bits} {hash}");
        }
    }
}

#[test]
fn a_power_of_two_stride_does_not_fall_into_one_set() {
    let index = index(SetHash::Polynomial, 6);
    for power in 0..12 {
        let sets: std::collections::HashSet<u32> =
            (0..64_u32).map(|n| index.of(0, n << power)).collect();
        assert!(
            sets.len() >= 32,
            "every {}th line: {} sets",
            1 << power,
            sets.len()
        );
    }
}
