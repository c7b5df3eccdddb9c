//! Loads by index, gathers, queries, offsets, handles, result registers and what is refused.

use super::*;
use crate::texture::{AddressMode, Dimension, Filter, ReadMode};

const FLOATS: TexelFormat = TexelFormat {
    channel: ChannelType::F32,
    channels: 1,
};

fn two(extent: [u32; 2], layers: Option<u32>, levels: u32) -> Shape {
    Shape {
        dimension: Dimension::Two,
        extent: [extent[0], extent[1], 1],
        layers,
        levels,
    }
}

fn line(width: u32) -> Shape {
    Shape {
        dimension: Dimension::One,
        extent: [width, 1, 1],
        layers: None,
        levels: 1,
    }
}

/// Texels of four bytes that count up.
fn counting(count: u32) -> Vec<u8> {
    (0..count).flat_map(|i| (i as f32).to_le_bytes()).collect()
}

fn floats(bench: &Bench, row: usize) -> Vec<f32> {
    bench.warp.registers[row]
        .0
        .iter()
        .map(|&bits| f32::from_bits(bits))
        .collect()
}

#[test]
fn linear_memory_is_read_by_index_and_zero_beyond() {
    let format = TexelFormat {
        channel: ChannelType::S16,
        channels: 2,
    };
    let texels: Vec<u8> = (0..20i16)
        .flat_map(|i| [i, -i])
        .flat_map(|i| i.to_le_bytes())
        .collect();
    let mut bench = Bench::new();
    bench.add(
        format,
        line(20),
        Storage::Linear,
        Some(Sampler::default()),
        &texels,
    );
    set(&mut bench.warp, 0, |lane| lane as u32);
    bench.run(&fetch(Opcode::TLD, &[M::LZ], "1D", 15));
    for lane in 0..32 {
        let inside = lane < 20;
        let row = |row: usize| bench.warp.registers[row][lane] as i32;
        let wanted = if inside { lane as i32 } else { 0 };
        assert_eq!(
            (row(20), row(21), row(22), row(23)),
            (wanted, -wanted, 0, 1)
        );
    }
    set(&mut bench.warp, 0, |lane| (lane as u32).wrapping_sub(1));
    bench.run(&fetch(Opcode::TLD, &[M::LZ], "1D", 1));
    assert_eq!(bench.warp.registers[20][0], 0, "index -1");
    assert_eq!(bench.warp.registers[20][2], 1);
    // It cannot be filtered.
    bench.set_floats(0, |lane| lane as f32);
    let (_, reason) = bench.fault(&fetch(Opcode::TEX, &[M::LZ], "1D", 1));
    assert!(reason.contains("read by index only"), "{reason}");
}

#[test]
fn loads_take_layers_and_levels() {
    let mut bench = Bench::new();
    let shape = two([8, 4], Some(2), 3);
    let texels = counting(2 * (32 + 8 + 2));
    let sampler = Sampler {
        normalized: true,
        ..Sampler::default()
    };
    bench.add(FLOATS, shape, Storage::Array, Some(sampler), &texels);
    // Layer, x, y | level.
    set(&mut bench.warp, 0, |lane| (lane % 3) as u32);
    set(&mut bench.warp, 1, |lane| (lane % 4) as u32);
    set(&mut bench.warp, 2, |_| 1);
    set(&mut bench.warp, 8, |lane| lane as u32 / 8);
    let run = |bench: &mut Bench, clamp: bool| {
        let modifiers: &[M] = if clamp { &[M::LL, M::CL] } else { &[M::LL] };
        bench.run(&fetch(Opcode::TLD, modifiers, "ARRAY_2D", 1));
        floats(bench, 20)
    };
    let wanted = |lane: usize, clamp: bool| {
        let (layer, x) = (lane % 3, lane % 4);
        let level = if clamp { (lane / 8).min(2) } else { lane / 8 };
        if layer > 1 || level > 2 {
            return 0.0;
        }
        let (width, height) = (8 >> level, 4 >> level);
        let before = [0, 64, 80][level];
        if x < width && 1 < height {
            (before + (layer * height + 1) * width + x) as f32
        } else {
            0.0
        }
    };
    for clamp in [false, true] {
        let found = run(&mut bench, clamp);
        for lane in 0..32 {
            assert_eq!(
                found[lane],
                wanted(lane, clamp),
                "lane {lane}, clamp {clamp}"
            );
        }
    }
}

#[test]
fn gathers_take_one_channel_of_four_texels() {
    let format = TexelFormat {
        channel: ChannelType::U8,
        channels: 4,
    };
    let texels: Vec<u8> = (0..64u8)
        .flat_map(|i| [i, i + 64, i + 128, i + 192])
        .collect();
    for (channel, letter) in [M::R, M::G, M::B, M::A].into_iter().enumerate() {
        let mut bench = Bench::new();
        let sampler = Some(Sampler::default());
        bench.add(
            format,
            two([8, 8], None, 1),
            Storage::Array,
            sampler,
            &texels,
        );
        // Centres of quads of texels, and the corners beyond the edge.
        let x = |lane: usize| (lane % 9) as f32;
        let y = |lane: usize| (lane / 9) as f32 * 2.5;
        bench.set_floats(0, x);
        bench.set_floats(1, y);
        bench.run(&fetch(Opcode::TLD4, &[letter], "2D", 15));
        for lane in 0..32 {
            let left = x(lane) as i32 - 1;
            let top = (y(lane) - 0.5).floor() as i32;
            let places = [(0, 1), (1, 1), (1, 0), (0, 0)];
            for (row, (right, down)) in places.into_iter().enumerate() {
                let column = (left + right).clamp(0, 7);
                let line = (top + down).clamp(0, 7);
                let wanted = (line * 8 + column) as u32 + 64 * channel as u32;
                assert_eq!(bench.warp.registers[20 + row][lane], wanted, "lane {lane}");
            }
        }
    }
    // Normalized, and moved by (-3, 5): six bits each.
    let mut bench = Bench::new();
    let sampler = Sampler {
        read: ReadMode::Normalized,
        address: [AddressMode::Border; 3],
        ..Sampler::default()
    };
    bench.add(
        format,
        two([8, 8], None, 1),
        Storage::Array,
        Some(sampler),
        &texels,
    );
    bench.set_floats(0, |_| 6.0);
    bench.set_floats(1, |_| 1.0);
    set(&mut bench.warp, 8, |_| 0x3d | 5 << 8);
    bench.run(&fetch(Opcode::TLD4, &[M::R, M::AOFFI], "2D", 15));
    let found: Vec<f32> = (20..24)
        .map(|row| f32::from_bits(bench.warp.registers[row][0]))
        .collect();
    let texel = |x: u32, y: u32| (y * 8 + x) as f32 / 255.0;
    assert_eq!(found, [texel(2, 6), texel(3, 6), texel(3, 5), texel(2, 5)]);
}

#[test]
fn offsets_move_texels_before_the_address_mode() {
    let mut bench = Bench::new();
    let sampler = Sampler {
        normalized: true,
        address: [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Clamp],
        ..Sampler::default()
    };
    bench.add(
        FLOATS,
        two([8, 4], None, 1),
        Storage::Array,
        Some(sampler),
        &counting(32),
    );
    bench.set_floats(0, |lane| (lane % 8) as f32 / 8.0);
    bench.set_floats(1, |_| 0.25);
    // -3 and 5 in four bits each.
    set(&mut bench.warp, 8, |_| 0x5d);
    bench.run(&fetch(Opcode::TEX, &[M::LZ, M::AOFFI], "2D", 1));
    let wanted = |lane: usize| 24.0 + ((lane + 5) % 8) as f32;
    let found = floats(&bench, 20);
    assert!((0..32).all(|lane| found[lane] == wanted(lane)), "{found:?}");
    // TXD has the offset in an upper half behind the coordinates.
    set(&mut bench.warp, 2, |_| 0x5d << 16);
    for row in 8..12 {
        bench.set_floats(row, |_| 0.0);
    }
    bench.run(&fetch(Opcode::TXD, &[M::AOFFI], "2D", 1));
    let found = floats(&bench, 20);
    assert!((0..32).all(|lane| found[lane] == wanted(lane)), "{found:?}");
}

#[test]
fn arguments_in_a_row_are_split_in_the_middle() {
    let mut bench = Bench::new();
    let sampler = Some(Sampler::default());
    bench.add(
        FLOATS,
        two([8, 4], Some(2), 1),
        Storage::Array,
        sampler,
        &counting(64),
    );
    // Layer, x | y, level.
    set(&mut bench.warp, 0, |_| 1);
    bench.set_floats(1, |lane| (lane % 8) as f32);
    bench.set_floats(8, |lane| (lane / 8) as f32);
    bench.set_floats(9, |_| -32.0);
    bench.run(&fetch(Opcode::TEX, &[M::SCR, M::LL], "ARRAY_2D", 1));
    let found = floats(&bench, 20);
    assert!(
        (0..32).all(|lane| found[lane] == 32.0 + lane as f32),
        "{found:?}"
    );
}

#[test]
fn lanes_may_name_different_textures() {
    let mut bench = Bench::new();
    let mut handles = Vec::new();
    for k in 0..3u32 {
        let texels: Vec<u8> = (0..8 + k)
            .flat_map(|i| ((100 * k + i) as f32).to_le_bytes())
            .collect();
        let sampler = Some(Sampler::default());
        handles.push(
            bench
                .add(FLOATS, line(8 + k), Storage::Array, sampler, &texels)
                .1,
        );
    }
    bench.set_floats(0, |lane| (lane % 8) as f32);
    set(&mut bench.warp, 8, |lane| handles[lane % 3]);
    let operands = [r(22), r(20), r(0), r(8), Operand::Keyword("1D"), imm(1)];
    let tex = instruction(Opcode::TEX, &[M::B, M::LZ], &operands);
    bench.run(&tex);
    let found = floats(&bench, 20);
    for lane in 0..32 {
        assert_eq!(
            found[lane],
            (100 * (lane % 3) + lane % 8) as f32,
            "lane {lane}"
        );
    }
    // Another texture's sampler, in the upper bits.
    set(&mut bench.warp, 8, |_| {
        handles[0] & 0xfffff | handles[1] & 0xfff0_0000
    });
    bench.run(&tex);
    set(
        &mut bench.warp,
        8,
        |lane| if lane == 5 { 77 } else { handles[0] },
    );
    let (lane, reason) = bench.fault(&tex);
    assert!(lane == 5 && reason.contains("0x4d"), "{reason}");
}

#[test]
fn results_are_packed_as_the_mask_says() {
    let format = TexelFormat {
        channel: ChannelType::F32,
        channels: 4,
    };
    let texels: Vec<u8> = (0..32).flat_map(|i| (i as f32).to_le_bytes()).collect();
    for mask in 1..16u8 {
        let mut bench = Bench::new();
        bench.add(
            format,
            line(8),
            Storage::Array,
            Some(Sampler::default()),
            &texels,
        );
        bench.set_floats(0, |lane| (lane % 8) as f32);
        for row in 20..24 {
            set(&mut bench.warp, row, |_| 7777);
        }
        bench
            .try_run(&fetch(Opcode::TEX, &[M::LZ], "1D", mask), 0xffff)
            .unwrap();
        let wanted: Vec<u32> = (0..4).filter(|c| mask >> c & 1 == 1).collect();
        for place in 0..4 {
            let row = &bench.warp.registers[20 + place];
            assert_eq!(row[16], 7777, "a lane that takes no part");
            match wanted.get(place) {
                Some(channel) => assert_eq!(f32::from_bits(row[3]), 12.0 + *channel as f32),
                None => assert_eq!(row[3], 7777, "mask {mask:#x}"),
            }
        }
    }
    // Halves: two in a register, the second pair in the other one.
    let mut bench = Bench::new();
    bench.add(
        format,
        line(8),
        Storage::Array,
        Some(Sampler::default()),
        &texels,
    );
    bench.set_floats(0, |lane| (lane % 8) as f32);
    bench.run(&fetch(Opcode::TEX, &[M::F16, M::RN, M::LZ], "1D", 15));
    let half = |value: f32| u32::from(::half::f16::from_f32(value).to_bits());
    for lane in 0..32 {
        let first = 4.0 * (lane % 8) as f32;
        let (low, high) = (
            bench.warp.registers[20][lane],
            bench.warp.registers[22][lane],
        );
        assert_eq!(low, half(first) | half(first + 1.0) << 16);
        assert_eq!(high, half(first + 2.0) | half(first + 3.0) << 16);
    }
}

#[test]
fn a_predicate_tells_where_texels_are_not_resident() {
    let mut bench = Bench::new();
    bench.add(
        FLOATS,
        line(8),
        Storage::Array,
        Some(Sampler::default()),
        &counting(8),
    );
    bench.warp.write_predicate(0, ALL, ALL);
    let mut operands = vec![p(0, false)];
    operands.extend(fetch(Opcode::TEX, &[], "1D", 1).operands);
    bench.run(&instruction(Opcode::TEX, &[M::LZ], &operands));
    assert_eq!(bench.warp.predicates[0], 0);
}

#[test]
fn extents_of_a_level_are_asked_for() {
    let mut bench = Bench::new();
    let texels = counting(3 * (32 + 8));
    let sampler = Sampler {
        normalized: true,
        ..Sampler::default()
    };
    bench.add(
        FLOATS,
        two([8, 4], Some(3), 2),
        Storage::Array,
        Some(sampler),
        &texels,
    );
    set(&mut bench.warp, 0, |lane| (lane % 3) as u32);
    let name = Operand::Keyword("TEX_HEADER_DIMENSION");
    let operands = [r(22), r(20), r(0), name, imm(0), imm(HANDLE_WORD)];
    bench.run(&instruction(Opcode::TXQ, &[], &operands));
    for lane in 0..32 {
        let found: [u32; 4] = std::array::from_fn(|row| bench.warp.registers[20 + row][lane]);
        let wanted = [[8, 4, 3, 2], [4, 2, 3, 2], [0, 0, 0, 2]][lane % 3];
        assert_eq!(found, wanted);
    }
    assert!(!bench.effect.accesses);
}

#[test]
fn other_dimensions_are_named() {
    let mut bench = Bench::new();
    let sampler = Some(Sampler::default());
    bench.add(
        FLOATS,
        two([8, 4], None, 1),
        Storage::Array,
        sampler,
        &counting(32),
    );
    let (_, reason) = bench.fault(&fetch(Opcode::TEX, &[M::LZ], "ARRAY_2D", 1));
    assert_eq!(
        reason,
        "texture `t` is 2-D, the instruction's is 2-D layered"
    );
    let (_, reason) = bench.fault(&fetch(Opcode::TLD, &[M::LZ], "3D", 1));
    assert_eq!(reason, "texture `t` is 2-D, the instruction's is 3-D");
    let integers = TexelFormat {
        channel: ChannelType::U32,
        channels: 1,
    };
    bench.add(integers, line(8), Storage::Array, sampler, &counting(8));
    let (_, reason) = bench.fault(&fetch(Opcode::TEX, &[M::F16, M::RN, M::LZ], "1D", 1));
    assert!(reason.contains("holds integers"), "{reason}");
}

#[test]
fn sectors_of_all_texels_are_noted_once() {
    let mut bench = Bench::new();
    let sampler = Sampler {
        filter: Filter::Linear,
        ..Sampler::default()
    };
    let shape = two([64, 16], None, 1);
    let (image, _) = bench.add(
        FLOATS,
        shape,
        Storage::Array,
        Some(sampler),
        &counting(1024),
    );
    bench.set_floats(0, |lane| lane as f32 + 1.0);
    bench.set_floats(1, |_| 3.0);
    bench.run(&fetch(Opcode::TEX, &[M::LZ], "2D", 1));
    let mut wanted: Vec<u64> = Vec::new();
    for y in [2, 3] {
        wanted.extend((0..33).map(|x| image.texel_address(0, 0, [x, y, 0]) / 32));
    }
    wanted.sort_unstable();
    wanted.dedup();
    let access = &bench.effect.access;
    let mut found = access.texels.clone();
    found.sort_unstable();
    assert_eq!(found, wanted);
    assert_eq!((access.lanes, access.space), (ALL, source::Space::Texture));
    // A pair of rows shares its sectors: 33 texels of 16 bytes each four.
    assert_eq!(found.len(), 9);
}

#[test]
fn depth_comparison_and_levels_as_results_are_refused_by_name() {
    let refusal = |i: &Instruction| crate::refusal(i).unwrap();
    let depth = fetch(Opcode::TEX, &[M::LZ, M::DC], "2D", 15);
    assert!(refusal(&depth).contains("depth"));
    let operands = [
        r(22),
        r(20),
        r(0),
        r(8),
        imm(0),
        imm(HANDLE_WORD),
        Operand::Keyword("2D"),
    ];
    let level = instruction(Opcode::TMML, &[M::LOD], &operands);
    assert!(refusal(&level).contains("level of detail"));
}

/// REGRESSIONS M18: what is bound later is not seen by a launch that was made before.
#[test]
fn a_launch_sees_textures_as_they_were_bound() {
    let mut bench = Bench::new();
    let sampler = Some(Sampler::default());
    bench.add(FLOATS, line(8), Storage::Array, sampler, &counting(8));
    let bound = Arc::clone(&bench.table);
    let (_, later) = bench.add(FLOATS, line(9), Storage::Array, sampler, &counting(9));
    bench.set_floats(0, |_| 8.0);
    let tex = fetch(Opcode::TEX, &[M::LZ], "1D", 1);
    bench.run(&tex);
    assert_eq!(floats(&bench, 20)[0], 8.0);
    bench.table = bound;
    let (_, reason) = bench.fault(&tex);
    assert_eq!(reason, format!("handle {later:#x} names no texture"));
}
