//! Surface loads, stores and reductions, inside and outside.

use super::*;
use crate::texture::Dimension;

fn format(channel: ChannelType, channels: u32) -> TexelFormat {
    TexelFormat { channel, channels }
}

const SHAPES: [(M, Dimension, [u32; 3], Option<u32>); 6] = [
    (M::N1D, Dimension::One, [24, 1, 1], None),
    (M::N1D_ARRAY, Dimension::One, [24, 1, 1], Some(3)),
    (M::N2D, Dimension::Two, [24, 20, 1], None),
    (M::N2D_ARRAY, Dimension::Two, [24, 20, 1], Some(3)),
    (M::N3D, Dimension::Three, [24, 20, 5], None),
    (M::N2D_ARRAY, Dimension::Cube, [24, 24, 1], None),
];
const SIZES: [(&[M], u32); 5] = [
    (&[M::U8], 1),
    (&[M::U16], 2),
    (&[], 4),
    (&[M::N64], 8),
    (&[M::N128], 16),
];

/// `[R{number}]`.
fn at(number: u8) -> Operand {
    Operand::Memory {
        base: Register(number),
        base_select: Select::None,
        uniform: UniformRegister::ZERO,
        uniform_select: Select::None,
        descriptor: None,
        offset: 0,
    }
}

fn shape_of(dimension: Dimension, extent: [u32; 3], layers: Option<u32>) -> Shape {
    Shape {
        dimension,
        extent,
        layers,
        levels: 1,
    }
}

fn load(modifiers: &[M]) -> Instruction {
    instruction(
        Opcode::SULD,
        modifiers,
        &[r(20), at(0), imm(0), imm(HANDLE_WORD)],
    )
}

fn store(modifiers: &[M]) -> Instruction {
    instruction(
        Opcode::SUST,
        modifiers,
        &[at(0), r(8), imm(0), imm(HANDLE_WORD)],
    )
}

/// Coordinates of each lane, some of them outside: (byte x, y, z or layer), and the place of the access
/// in the host's order after clamping, or `None` if it is outside.
fn places(
    shape: &Shape,
    texel: u32,
    bytes: u32,
    random: &mut Random,
) -> Vec<([i32; 3], Option<usize>, usize)> {
    let [width, height, depth] = shape.extent.map(|n| n as i64);
    let row = width * i64::from(texel);
    let slots = i64::from(shape.slots());
    let sizes = match shape.dimension {
        Dimension::One => vec![slots],
        Dimension::Two | Dimension::Cube => vec![height, slots],
        Dimension::Three => vec![height, depth],
    };
    (0..32)
        .map(|lane| {
            let beyond = if lane % 4 == 3 { 2 } else { 0 };
            let x = i64::from(random.word()) % (row / i64::from(bytes) + 2 * beyond) - beyond;
            let x = if lane == 19 { -1 } else { x } * i64::from(bytes);
            let mut coordinates = [x as i32, 0, 0];
            let clamped_x = x.clamp(0, row - i64::from(bytes));
            let mut outside = x != clamped_x;
            let mut clamped = Vec::new();
            for (axis, size) in sizes.iter().enumerate() {
                let value = i64::from(random.word()) % (size + 2 * beyond) - beyond;
                // The layer of what has none is not among the coordinates.
                let value = if *size == 1 { 0 } else { value };
                coordinates[1 + axis] = value as i32;
                outside |= value != value.clamp(0, size - 1);
                clamped.push(value.clamp(0, size - 1));
            }
            let rows = match clamped.as_slice() {
                [layer] => *layer,
                [y, other] => other * height + y,
                _ => 0,
            };
            let place = (rows * row + clamped_x) as usize;
            (coordinates, (!outside).then_some(place), place)
        })
        .collect()
}

fn set_coordinates(bench: &mut Bench, places: &[([i32; 3], Option<usize>, usize)]) {
    for axis in 0..3 {
        set(&mut bench.warp, axis, |lane| places[lane].0[axis] as u32);
    }
}

#[test]
fn every_shape_size_and_boundary_mode() {
    let mut random = Random::new(9);
    for (name, dimension, extent, layers) in SHAPES {
        for (size, bytes) in SIZES {
            let texel = format(ChannelType::F32, 4);
            let shape = shape_of(dimension, extent, layers);
            let count = u64::from(extent.iter().product::<u32>() * shape.slots()) * 16;
            let texels: Vec<u8> = (0..count).map(|_| random.word() as u8).collect();
            let mut bench = Bench::new();
            let (image, _) = bench.add(texel, shape, Storage::Array, None, &texels);
            let places = places(&shape, 16, bytes, &mut random);
            set_coordinates(&mut bench, &places);
            let mut modifiers = vec![M::D, M::BA, name];
            modifiers.extend(size);
            let with = |mode: &[M]| [&modifiers, mode].concat();
            // Loads: zero outside, then clamped.
            for (mode, clamps) in [(&[M::IGN][..], false), (&[], true)] {
                bench.run(&load(&with(mode)));
                for lane in 0..32 {
                    let (coordinates, inside, clamped) = places[lane];
                    let place = if clamps { Some(clamped) } else { inside };
                    let mut wanted = [0u8; 16];
                    if let Some(place) = place {
                        let bytes = bytes as usize;
                        wanted[..bytes].copy_from_slice(&texels[place..place + bytes]);
                    }
                    for word in 0..bytes.div_ceil(4) as usize {
                        let wanted =
                            u32::from_le_bytes(wanted[4 * word..][..4].try_into().unwrap());
                        let found = bench.warp.registers[20 + word][lane];
                        assert_eq!(found, wanted, "{name:?}, {bytes} bytes at {coordinates:?}");
                    }
                }
            }
            // Stores: dropped outside, then clamped. Lanes go in rising order.
            for (mode, clamps) in [(&[M::IGN][..], false), (&[], true)] {
                let mut wanted = texels.clone();
                image.upload(&mut bench.memory, &texels).unwrap();
                for word in 0..4 {
                    set(&mut bench.warp, 8 + word, |lane| {
                        (lane * 0x0101_0101 + word) as u32
                    });
                }
                bench.run(&store(&with(mode)));
                for lane in 0..32 {
                    let (_, inside, clamped) = places[lane];
                    let Some(place) = (if clamps { Some(clamped) } else { inside }) else {
                        continue;
                    };
                    for byte in 0..bytes as usize {
                        let word = (lane * 0x0101_0101 + byte / 4) as u32;
                        wanted[place + byte] = word.to_le_bytes()[byte % 4];
                    }
                }
                let mut found = vec![0; wanted.len()];
                image.download(&bench.memory, &mut found).unwrap();
                assert!(found == wanted, "{name:?}, {bytes} bytes, clamp {clamps}");
            }
            // The first lane outside traps.
            let (lane, reason) = bench.fault(&store(&with(&[M::TRAP])));
            let first = places.iter().position(|(_, inside, _)| inside.is_none());
            assert_eq!(Some(lane as usize), first);
            assert!(
                reason.contains("outside, at (") && reason.contains("surface `t`"),
                "{reason}"
            );
        }
    }
}

#[test]
fn misaligned_bytes_and_other_shapes_are_named() {
    let mut bench = Bench::new();
    let shape = shape_of(Dimension::Two, [8, 8, 1], None);
    bench.add(
        format(ChannelType::U32, 1),
        shape,
        Storage::Array,
        None,
        &[0; 256],
    );
    set(&mut bench.warp, 0, |lane| if lane == 7 { 6 } else { 4 });
    let (lane, reason) = bench.fault(&load(&[M::D, M::BA, M::N2D, M::IGN]));
    assert!(
        lane == 7 && reason.contains("not aligned at (6, 0)"),
        "{reason}"
    );
    let (_, reason) = bench.fault(&load(&[M::D, M::BA, M::N3D, M::IGN]));
    assert_eq!(reason, "surface `t` is 2-D, the instruction's is 3-D");
    // A texture is no surface.
    let sampler = Some(Sampler::default());
    bench.add(
        format(ChannelType::U32, 1),
        shape,
        Storage::Array,
        sampler,
        &[0; 256],
    );
    let (_, reason) = bench.fault(&load(&[M::D, M::BA, M::N2D, M::IGN]));
    assert!(reason.contains("names no surface"), "{reason}");
}

#[test]
fn formatted_stores_convert_to_the_surfaces_format() {
    let values = [-3.5f32, 0.0, 65504.0, 1.0 / 3.0];
    let integers = [-300i32, 200, 70000, 5];
    let cases: [(ChannelType, [u32; 4], fn(u32) -> u32); 8] = [
        (ChannelType::U8, integers.map(|i| i as u32), |v| v.min(255)),
        (ChannelType::U16, integers.map(|i| i as u32), |v| {
            v.min(65535)
        }),
        (ChannelType::U32, integers.map(|i| i as u32), |v| v),
        (ChannelType::S8, integers.map(|i| i as u32), |v| {
            (v as i32).clamp(-128, 127) as u8 as u32
        }),
        (ChannelType::S16, integers.map(|i| i as u32), |v| {
            (v as i32).clamp(-32768, 32767) as u16 as u32
        }),
        (ChannelType::S32, integers.map(|i| i as u32), |v| v),
        (ChannelType::F16, values.map(f32::to_bits), |v| {
            ::half::f16::from_f32(f32::from_bits(v)).to_bits().into()
        }),
        (ChannelType::F32, values.map(f32::to_bits), |v| v),
    ];
    for (channel, data, convert) in cases {
        for channels in [1u32, 2, 4] {
            for (suffix, given) in [(Some(M::R), 1u32), (Some(M::RG), 2), (None, 4)] {
                let mut bench = Bench::new();
                let shape = shape_of(Dimension::Two, [8, 4, 1], None);
                let size = channel.bytes() as usize;
                let texels = vec![0; 32 * channels as usize * size];
                let (image, _) = bench.add(
                    format(channel, channels),
                    shape,
                    Storage::Array,
                    None,
                    &texels,
                );
                set(&mut bench.warp, 0, |lane| (lane % 8) as u32);
                set(&mut bench.warp, 1, |lane| (lane / 8) as u32);
                for word in 0..4 {
                    set(&mut bench.warp, 8 + word, |lane| data[(lane + word) % 4]);
                }
                let mut modifiers = vec![M::P, M::N2D];
                modifiers.extend(suffix);
                modifiers.push(M::TRAP);
                bench.run(&store(&modifiers));
                let mut found = vec![0; texels.len()];
                image.download(&bench.memory, &mut found).unwrap();
                for lane in 0..32 {
                    for c in 0..channels as usize {
                        let wanted = if (c as u32) < given {
                            convert(data[(lane + c) % 4])
                        } else {
                            0
                        };
                        let from = (lane * channels as usize + c) * size;
                        assert_eq!(
                            found[from..from + size],
                            wanted.to_le_bytes()[..size],
                            "{channel:?} {channels} {given}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn reductions_combine_in_lane_order() {
    type Combine = fn(u32, u32) -> u32;
    let cases: [(&[M], Combine); 7] = [
        (&[M::ADD], |a, b| a.wrapping_add(b)),
        (&[M::MIN], |a, b| a.min(b)),
        (&[M::MAX], |a, b| a.max(b)),
        (&[M::MIN, M::S32], |a, b| (a as i32).min(b as i32) as u32),
        (&[M::MAX, M::S32], |a, b| (a as i32).max(b as i32) as u32),
        (&[M::AND], |a, b| a & b),
        (&[M::OR], |a, b| a | b),
    ];
    let mut random = Random::new(4);
    for (operation, combine) in cases {
        let shape = shape_of(Dimension::Two, [4, 2, 1], None);
        let texels: Vec<u8> = (0..32).map(|_| random.word() as u8).collect();
        let mut bench = Bench::new();
        let (image, _) = bench.add(
            format(ChannelType::U32, 1),
            shape,
            Storage::Array,
            None,
            &texels,
        );
        let data: Vec<u32> = (0..32).map(|_| random.word()).collect();
        set(&mut bench.warp, 0, |lane| 4 * (lane % 5) as u32);
        set(&mut bench.warp, 1, |lane| (lane % 2) as u32);
        set(&mut bench.warp, 8, |lane| data[lane]);
        let mut modifiers = vec![M::D, M::BA, M::N2D];
        modifiers.extend(operation);
        modifiers.extend([M::STRONG, M::SYS, M::IGN]);
        let operands = [at(0), r(8), imm(0), imm(HANDLE_WORD)];
        bench.run(&instruction(Opcode::SURED, &modifiers, &operands));
        let mut words: Vec<u32> = texels
            .chunks(4)
            .map(|c| u32::from_le_bytes(c.try_into().unwrap()))
            .collect();
        for lane in (0..32).filter(|lane| lane % 5 < 4) {
            let word = &mut words[lane % 2 * 4 + lane % 5];
            *word = combine(*word, data[lane]);
        }
        let mut found = vec![0; 32];
        image.download(&bench.memory, &mut found).unwrap();
        let wanted: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(found, wanted, "{operation:?}");
    }
}

#[test]
fn atomics_return_the_old_value_and_zero_outside() {
    let shape = shape_of(Dimension::One, [8, 1, 1], None);
    let texels: Vec<u8> = (0..8u32).flat_map(|i| (10 * i).to_le_bytes()).collect();
    let mut bench = Bench::new();
    let (image, _) = bench.add(
        format(ChannelType::U32, 1),
        shape,
        Storage::Array,
        None,
        &texels,
    );
    // By texel, not by byte.
    set(&mut bench.warp, 0, |lane| lane as u32);
    set(&mut bench.warp, 8, |_| 1);
    let operands = [p(1, false), r(20), at(0), r(8), imm(0), imm(HANDLE_WORD)];
    bench.run(&instruction(
        Opcode::SUATOM,
        &[M::D, M::N1D, M::ADD, M::IGN],
        &operands,
    ));
    for lane in 0..32 {
        let wanted = if lane < 8 { 10 * lane as u32 } else { 0 };
        assert_eq!(bench.warp.registers[20][lane], wanted);
    }
    let mut found = vec![0; 32];
    image.download(&bench.memory, &mut found).unwrap();
    let wanted: Vec<u8> = (0..8u32).flat_map(|i| (10 * i + 1).to_le_bytes()).collect();
    assert_eq!(found, wanted);
}
