//! Levels of detail: explicit, from derivatives, from a quad's lanes.

use super::exact::{Rational, inside, mean, neighbours};
use super::*;
use crate::texture::{AddressMode, Dimension, Filter};

const FORMAT: TexelFormat = TexelFormat {
    channel: ChannelType::F32,
    channels: 1,
};

/// A texture of 16 x 8 texels with five levels, each texel of level k at 100 k + 1 / 64 times its number.
fn pyramid(filter: Filter, level_filter: Filter) -> (Bench, Vec<Vec<f32>>) {
    let shape = Shape {
        dimension: Dimension::Two,
        extent: [16, 8, 1],
        layers: None,
        levels: 5,
    };
    let levels: Vec<Vec<f32>> = (0..5)
        .map(|level| {
            let count = (16 >> level).max(1) * (8 >> level).max(1);
            (0..count)
                .map(|texel| 100.0 * level as f32 + texel as f32 / 64.0)
                .collect()
        })
        .collect();
    let bytes: Vec<u8> = levels
        .iter()
        .flatten()
        .flat_map(|t| t.to_le_bytes())
        .collect();
    let sampler = Sampler {
        filter,
        level_filter,
        normalized: true,
        address: [AddressMode::Wrap; 3],
        level_bias: 0.25,
        level_range: [0.5, 3.75],
        ..Sampler::default()
    };
    let mut bench = Bench::new();
    bench.add(FORMAT, shape, Storage::Array, Some(sampler), &bytes);
    (bench, levels)
}

fn at_level(
    levels: &[Vec<f32>],
    level: usize,
    x: f32,
    y: f32,
    filter: Filter,
) -> Vec<(i128, Rational)> {
    let (width, height) = ((16 >> level).max(1) as i128, (8 >> level).max(1) as i128);
    let mut terms = Vec::new();
    for (i, wi) in neighbours(Rational::of(x).times(width), filter) {
        for (j, wj) in neighbours(Rational::of(y).times(height), filter) {
            let i = inside(i, width, AddressMode::Wrap).unwrap();
            let j = inside(j, height, AddressMode::Wrap).unwrap();
            let texel = levels[level][(j * width + i) as usize];
            terms.push((wi * wj, Rational::of(texel)));
        }
    }
    terms
}

/// What a fetch at a level of detail in 256ths, before bias and clamp, returns.
fn expected(
    levels: &[Vec<f32>],
    detail: i128,
    x: f32,
    y: f32,
    filter: Filter,
    between: Filter,
) -> f32 {
    let detail = (detail + 64).clamp(128, 3 * 256 + 192);
    let parts = match between {
        Filter::Point => vec![((detail + 128).div_euclid(256), 256)],
        Filter::Linear => {
            let (level, weight) = (detail.div_euclid(256), detail.rem_euclid(256));
            vec![(level, 256 - weight), ((level + 1).min(4), weight)]
        }
    };
    let mut terms = Vec::new();
    for (level, share) in parts {
        for (weight, value) in at_level(levels, level as usize, x, y, filter) {
            terms.push((weight * share, value));
        }
    }
    mean(&terms, 1 << 24)
}

#[test]
fn explicit_levels_are_clamped_and_mixed() {
    for filter in [Filter::Point, Filter::Linear] {
        for between in [Filter::Point, Filter::Linear] {
            let (mut bench, levels) = pyramid(filter, between);
            let x = |lane: usize| lane as f32 / 64.0 - 0.125;
            let y = |lane: usize| lane as f32 / 128.0 + 0.0625;
            // From -1 to 6.75; a step is a quarter and half a 256th.
            let detail = |lane: usize| lane as f32 * (0.25 + 1.0 / 512.0) - 1.0;
            bench.set_floats(0, x);
            bench.set_floats(1, y);
            bench.set_floats(8, detail);
            bench.run(&fetch(Opcode::TEX, &[M::LL], "2D", 1));
            for lane in 0..32 {
                let fixed = Rational::of(detail(lane)).times(256).nearest();
                let found = f32::from_bits(bench.warp.registers[20][lane]);
                let wanted = expected(&levels, fixed, x(lane), y(lane), filter, between);
                assert_eq!(found, wanted, "lane {lane}, {filter:?}, {between:?}");
            }
        }
    }
}

#[test]
fn the_longer_derivative_sets_the_level() {
    let (mut bench, levels) = pyramid(Filter::Point, Filter::Linear);
    // In texels of level 0: (4, 0) and (0, 2) give level 2; halved and doubled lane by lane.
    let scale = |lane: usize| 2f32.powi((lane % 5) as i32 - 1);
    bench.set_floats(0, |_| 0.25);
    bench.set_floats(1, |_| 0.5);
    bench.set_floats(8, |lane| scale(lane) / 4.0); // du/dx
    bench.set_floats(9, |_| 0.0); // du/dy
    bench.set_floats(10, |_| 0.0); // dv/dx
    bench.set_floats(11, |lane| scale(lane) / 4.0); // dv/dy
    bench.run(&fetch(Opcode::TXD, &[], "2D", 1));
    for lane in 0..32 {
        let detail = (2 + (lane % 5) as i128 - 1) * 256;
        let wanted = expected(&levels, detail, 0.25, 0.5, Filter::Point, Filter::Linear);
        let found = f32::from_bits(bench.warp.registers[20][lane]);
        assert_eq!(found, wanted, "lane {lane}");
    }
}

#[test]
fn a_quad_gives_its_lanes_one_level() {
    let (mut bench, levels) = pyramid(Filter::Point, Filter::Linear);
    // Quads whose second lane is 2^k texels to the right, the third one 2^k / 2 texels down.
    let step = |lane: usize| 2f32.powi((lane / 4) as i32 % 4) / 16.0;
    let x = |lane: usize| if lane % 4 == 1 { step(lane) } else { 0.0 };
    let y = |lane: usize| if lane % 4 == 2 { step(lane) } else { 0.0 };
    bench.set_floats(0, x);
    bench.set_floats(1, y);
    bench.run(&fetch(Opcode::TEX, &[M::NDV], "2D", 1));
    for lane in 0..32 {
        let detail = ((lane / 4) as i128 % 4) * 256;
        let wanted = expected(
            &levels,
            detail,
            x(lane),
            y(lane),
            Filter::Point,
            Filter::Linear,
        );
        let found = f32::from_bits(bench.warp.registers[20][lane]);
        assert_eq!(found, wanted, "lane {lane}");
    }
}

#[test]
fn logarithms_are_rounded_as_wide_integers_say() {
    use crate::texture::level::of_steps;
    let mut random = Random::new(5);
    for _ in 0..20_000 {
        let length = f64::from(random.word() % 1_000_000 + 1) / 1024.0;
        let found = of_steps([length, 0.0, 0.0], [0.0; 3]);
        // 2^((found - 1/2) / 256) <= length < 2^((found + 1/2) / 256), within double precision.
        let bound = |half: f64| ((found as f64 + half) / 256.0).exp2();
        let slack = 1e-12;
        assert!(bound(-0.5) * (1.0 - slack) <= length && length <= bound(0.5) * (1.0 + slack));
    }
    assert!(of_steps([0.0; 3], [0.0; 3]) < -1000);
    assert!(of_steps([f64::NAN; 3], [0.0; 3]) < -1000);
    assert!(of_steps([f64::INFINITY; 3], [0.0; 3]) > 1000);
    assert_eq!(
        of_steps([1e-160, 0.0, 0.0], [0.0; 3]),
        (1e-160f64.log2() * 256.0).round() as i64
    );
}
