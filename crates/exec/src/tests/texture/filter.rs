//! Every dimension, address mode, filter, format and read mode.

use super::exact::{Rational, inside, mean, neighbours, value};
use super::*;
use crate::texture::{AddressMode, Dimension, Filter, ReadMode};

const CHANNELS: [ChannelType; 8] = [
    ChannelType::U8,
    ChannelType::U16,
    ChannelType::U32,
    ChannelType::S8,
    ChannelType::S16,
    ChannelType::S32,
    ChannelType::F16,
    ChannelType::F32,
];
const MODES: [AddressMode; 4] = [
    AddressMode::Clamp,
    AddressMode::Wrap,
    AddressMode::Mirror,
    AddressMode::Border,
];

/// Images to sample: printed dimension, dimension, extents, layers.
const IMAGES: [(&str, Dimension, [u32; 3], Option<u32>); 6] = [
    ("1D", Dimension::One, [13, 1, 1], None),
    ("2D", Dimension::One, [16, 1, 1], None),
    ("2D", Dimension::Two, [7, 12, 1], None),
    ("3D", Dimension::Three, [5, 8, 3], None),
    ("ARRAY_1D", Dimension::One, [9, 1, 1], Some(3)),
    ("ARRAY_2D", Dimension::Two, [6, 5, 1], Some(4)),
];

/// Coordinates along an axis: whole texels, halves, ties between 256ths, far outside.
fn coordinate(lane: usize, axis: usize, extent: u32, normalized: bool, random: &mut Random) -> f32 {
    let scale = if normalized {
        1.0 / extent.next_power_of_two() as f32
    } else {
        1.0
    };
    let step = match (lane + axis) % 8 {
        0 => (random.word() % 64) as f32 - 32.0,
        1 => (random.word() % 64) as f32 / 2.0 - 8.0,
        // Half a weight's unit.
        2 => (random.word() % 16384) as f32 / 512.0 - 8.0,
        3 => -(random.word() as f32 / 4_294_967_296.0),
        _ => (random.word() % (1 << 20)) as f32 / 32768.0 - 8.0,
    };
    // At most 20 fractional bits.
    (step * scale * 1_048_576.0).floor() / 1_048_576.0
}

#[derive(Clone, Copy, Debug)]
struct Case {
    image: (&'static str, Dimension, [u32; 3], Option<u32>),
    format: TexelFormat,
    sampler: Sampler,
}

/// What `lane`'s fetch returns in channel `channel`.
fn expected(case: &Case, texels: &[u8], coordinates: [f32; 3], layer: u32, channel: u32) -> u32 {
    let Case {
        image: (_, dimension, extent, layers),
        format,
        sampler,
    } = case;
    let integers = !format.channel.is_real() && sampler.read == ReadMode::Element;
    if channel >= format.channels {
        return match (channel, integers) {
            (3, true) => 1,
            (3, false) => 1f32.to_bits(),
            _ => 0,
        };
    }
    let axes = dimension.axes() as usize;
    let along: Vec<Vec<(i128, i128)>> = (0..3)
        .map(|axis| {
            if axis >= axes {
                return vec![(0, 256)];
            }
            let size = i128::from(extent[axis]);
            let place = Rational::of(coordinates[axis]);
            let place = if sampler.normalized {
                place.times(size)
            } else {
                place
            };
            neighbours(place, sampler.filter)
        })
        .collect();
    let layer = i128::from(layer.min(layers.unwrap_or(1) - 1));
    let mut terms = Vec::new();
    let mut bits = 0;
    for &(x, wx) in &along[0] {
        for &(y, wy) in &along[1] {
            for &(z, wz) in &along[2] {
                let texel: Option<Vec<i128>> = [x, y, z]
                    .iter()
                    .zip(extent)
                    .zip(sampler.address)
                    .enumerate()
                    .map(|(axis, ((&index, &extent), mode))| {
                        if axis < axes {
                            inside(index, i128::from(extent), mode)
                        } else {
                            Some(0)
                        }
                    })
                    .collect();
                let Some(texel) = texel else { continue };
                let [w, h, d] = extent.map(i128::from);
                let place = ((layer * d + texel[2]) * h + texel[1]) * w + texel[0];
                let size = format.channel.bytes() as usize;
                let from = place as usize * format.bytes() as usize + channel as usize * size;
                let (number, element) = value(*format, sampler.read, &texels[from..from + size]);
                terms.push((wx * wy * wz, number));
                bits = element;
            }
        }
    }
    if integers {
        bits
    } else {
        mean(&terms, 1 << 24).to_bits()
    }
}

fn check(case: &Case, random: &mut Random) {
    let (name, dimension, extent, layers) = case.image;
    let shape = Shape {
        dimension,
        extent,
        layers,
        levels: 1,
    };
    let mut bench = Bench::new();
    let count = extent.iter().product::<u32>() * layers.unwrap_or(1) * case.format.channels;
    let texels = random_texels(case.format, u64::from(count), random);
    let sampler = Some(case.sampler);
    bench.add(case.format, shape, Storage::Array, sampler, &texels);
    let coordinates: Vec<[f32; 3]> = (0..32)
        .map(|lane| {
            std::array::from_fn(|axis| {
                coordinate(lane, axis, extent[axis], case.sampler.normalized, random)
            })
        })
        .collect();
    let first = usize::from(layers.is_some());
    let layer = |lane: usize| (lane % 6) as u32;
    set(&mut bench.warp, 0, layer);
    for axis in 0..3 {
        bench.set_floats(first + axis, |lane| coordinates[lane][axis]);
    }
    bench.run(&fetch(Opcode::TEX, &[M::LZ], name, 15));
    for lane in 0..32 {
        for channel in 0..4 {
            let found = bench.warp.registers[20 + channel as usize][lane];
            let wanted = expected(case, &texels, coordinates[lane], layer(lane), channel);
            assert_eq!(
                found,
                wanted,
                "{case:?}, channel {channel} at {:?}: {} for {}",
                coordinates[lane],
                f32::from_bits(found),
                f32::from_bits(wanted)
            );
        }
    }
}

#[test]
fn every_dimension_address_mode_filter_and_format() {
    let mut random = Random::new(7);
    let mut count = 0;
    for image in IMAGES {
        for channel in CHANNELS {
            for channels in [1, 2, 4] {
                let format = TexelFormat { channel, channels };
                for filter in [Filter::Point, Filter::Linear] {
                    for read in [ReadMode::Element, ReadMode::Normalized] {
                        for normalized in [false, true] {
                            for mode in 0..4 {
                                let sampler = Sampler {
                                    // Another mode along each axis.
                                    address: std::array::from_fn(|axis| MODES[(mode + axis) % 4]),
                                    filter,
                                    read,
                                    normalized,
                                    ..Sampler::default()
                                };
                                let case = Case {
                                    image,
                                    format,
                                    sampler,
                                };
                                count += u32::from(check_if_possible(&case, &mut random));
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(count > 1000, "{count} combinations");
}

/// Checks a case unless such a texture cannot be made.
fn check_if_possible(case: &Case, random: &mut Random) -> bool {
    let (_, dimension, extent, layers) = case.image;
    let shape = Shape {
        dimension,
        extent,
        layers,
        levels: 1,
    };
    let image = Image::new("t", case.format, shape, Storage::Array).unwrap();
    if case.sampler.check(&image).is_err() {
        return false;
    }
    check(case, random);
    true
}

/// The face, and the place on it over twice the longest component, from the table of the guide.
fn cube_place([x, y, z]: [i128; 3]) -> (u32, i128, i128, i128) {
    let longest = x.abs().max(y.abs()).max(z.abs());
    if z.abs() == longest {
        let (face, s) = if z > 0 { (4, x) } else { (5, -x) };
        (face, s, -y, longest)
    } else if y.abs() == longest {
        let (face, t) = if y > 0 { (2, z) } else { (3, -z) };
        (face, x, t, longest)
    } else {
        let (face, s) = if x > 0 { (0, -z) } else { (1, z) };
        (face, s, -y, longest)
    }
}

#[test]
fn a_cube_is_sampled_on_the_face_that_the_direction_meets() {
    let format = TexelFormat {
        channel: ChannelType::U8,
        channels: 1,
    };
    let mut random = Random::new(3);
    let mut faces = [0; 6];
    for layers in [None, Some(2)] {
        for filter in [Filter::Point, Filter::Linear] {
            let size = 5u32;
            let shape = Shape {
                dimension: Dimension::Cube,
                extent: [size, size, 1],
                layers,
                levels: 1,
            };
            let sampler = Sampler {
                filter,
                read: ReadMode::Normalized,
                normalized: true,
                ..Sampler::default()
            };
            let mut bench = Bench::new();
            let count = u64::from(size * size * shape.slots());
            let texels = random_texels(format, count, &mut random);
            bench.add(format, shape, Storage::Array, Some(sampler), &texels);
            for _ in 0..40 {
                let directions: Vec<[i128; 3]> = (0..32)
                    .map(|_| std::array::from_fn(|_| i128::from(random.word() % 129) - 64))
                    .map(|d: [i128; 3]| if d == [0; 3] { [1, 0, 0] } else { d })
                    .collect();
                let first = usize::from(layers.is_some());
                set(&mut bench.warp, 0, |lane| (lane % 3) as u32);
                for axis in 0..3 {
                    bench.set_floats(first + axis, |lane| directions[lane][axis] as f32);
                }
                let name = if layers.is_some() {
                    "ARRAY_CUBE"
                } else {
                    "CUBE"
                };
                bench.run(&fetch(Opcode::TEX, &[M::LZ], name, 1));
                for lane in 0..32 {
                    let (face, s, t, longest) = cube_place(directions[lane]);
                    faces[face as usize] += 1;
                    let layer = (lane as u32 % 3).min(layers.unwrap_or(1) - 1);
                    let along = |c: i128| {
                        let place = Rational::new((c + longest) * i128::from(size), 2 * longest);
                        neighbours(place, filter)
                    };
                    let mut terms = Vec::new();
                    for (x, wx) in along(s) {
                        for (y, wy) in along(t) {
                            let edge = |index| {
                                inside(index, i128::from(size), AddressMode::Clamp).unwrap()
                            };
                            let slot = i128::from(6 * layer + face);
                            let at =
                                (slot * i128::from(size) + edge(y)) * i128::from(size) + edge(x);
                            let texel = texels[at as usize];
                            terms.push((wx * wy, Rational::new(i128::from(texel), 255)));
                        }
                    }
                    let found = f32::from_bits(bench.warp.registers[20][lane]);
                    assert_eq!(
                        found,
                        mean(&terms, 1 << 16),
                        "{:?}, {filter:?}",
                        directions[lane]
                    );
                }
            }
        }
    }
    assert!(faces.iter().all(|&count| count > 100), "{faces:?}");
}
