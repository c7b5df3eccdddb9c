//! Loads, stores and atomics of every space.

use sass::{ConstantBank, Instruction, Modifier as M, Opcode, Operand};
use source::{Effect, FaultKind, Operation as Access, Space};

use super::machine::*;
use super::*;
use crate::GlobalMemory;
use crate::functional::RunFault;
use crate::memory::access::{self, Done, Unit};
use crate::memory::deferred::Operation;
use crate::memory::local::LocalMemory;
use crate::memory::port::DirectPort;
use crate::memory::shared::SharedMemory;
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW};

/// One warp with all its memories.
pub struct Bench {
    pub warp: Warp,
    pub shared: SharedMemory,
    local: LocalMemory,
    banks: Banks,
    memory: GlobalMemory,
    effect: Effect,
}

impl Bench {
    pub fn new() -> Bench {
        let mut bench = Bench {
            warp: warp(),
            shared: SharedMemory::default(),
            local: LocalMemory::default(),
            banks: Banks::new(),
            memory: memory(1024),
            effect: Effect::new(),
        };
        bench.shared.reset(4096);
        bench.local.reset(512, 3);
        bench.banks.set(3, (0..=255).collect());
        bench
    }

    pub fn try_run(&mut self, i: &Instruction, mask: u32) -> Done {
        let context = Context {
            pc: 0,
            registers: REGISTERS,
            banks: &self.banks,
        };
        let micro = lower(i, context).unwrap_or_else(|e| panic!("{}: {e}", i.display(0)));
        let mut unit = Unit {
            host: HostIsa::best(),
            taps: &mut crate::texture::taps::Taps::new(),
            words: &mut [Lanes::ZERO; 4],
            warp: &mut self.warp,
            shared: &mut self.shared,
            local: &mut self.local,
            banks: &self.banks,
            operation: &mut Operation::empty(),
        };
        let mut port = DirectPort {
            memory: &mut self.memory,
        };
        match &micro.op {
            Op::Memory(op) => access::execute(op, &mut unit, mask, &mut port, &mut self.effect),
            Op::Atomic(op) => {
                crate::family::atomic::execute(op, &mut unit, mask, &mut port, &mut self.effect)
            }
            other => panic!("{other:?}"),
        }
    }

    pub fn run(&mut self, i: &Instruction) {
        self.try_run(i, ALL).unwrap();
    }

    /// Puts bytes into device memory.
    pub fn store(&mut self, address: u64, bytes: &[u8]) {
        self.memory.write(address, bytes).unwrap();
    }

    /// Sixteen bytes of device memory.
    pub fn fetch(&self, address: u64) -> u128 {
        let mut bytes = [0; 16];
        self.memory.read(address, &mut bytes).unwrap();
        u128::from_le_bytes(bytes)
    }

    fn fault(&mut self, i: &Instruction) -> (u8, FaultKind) {
        let trouble = self.try_run(i, ALL).unwrap_err();
        (trouble.lane.unwrap(), trouble.kind)
    }
}

const SIZES: [(&[M], u32, bool); 7] = [
    (&[M::U8], 1, false),
    (&[M::S8], 1, true),
    (&[M::U16], 2, false),
    (&[M::S16], 2, true),
    (&[], 4, false),
    (&[M::N64], 8, false),
    (&[M::N128], 16, false),
];

/// What a load of `bytes` bytes makes of the low bytes of `data`.
fn loaded(data: u32, bytes: u32, signed: bool) -> u32 {
    match (bytes, signed) {
        (1, false) => data & 0xff,
        (1, true) => data as i8 as u32,
        (2, false) => data & 0xffff,
        (2, true) => data as i16 as u32,
        _ => data,
    }
}

#[test]
fn every_size_in_every_space() {
    for (load, store, extended) in [
        (Opcode::LDG, Opcode::STG, true),
        (Opcode::LDS, Opcode::STS, false),
        (Opcode::LDL, Opcode::STL, false),
        (Opcode::LD, Opcode::ST, true),
    ] {
        for (size, bytes, signed) in SIZES {
            let mut bench = Bench::new();
            let mut modifiers: Vec<M> = if extended { vec![M::E] } else { vec![] };
            modifiers.extend(size);
            let base = if extended { FIRST } else { 0 };
            // Lanes in a mixed order, each at a place of its own.
            set_wide(&mut bench.warp, 2, |lane| {
                base + u64::from(bytes) * (lane as u64 * 7 % 32)
            });
            let mut random = Random::new(u64::from(bytes));
            for row in 8..12 {
                let words: Vec<u32> = (0..32).map(|_| random.word()).collect();
                set(&mut bench.warp, row, |lane| words[lane]);
            }
            let mut store_modifiers = modifiers.clone();
            store_modifiers.retain(|m| *m != M::S8 && *m != M::S16);
            if signed {
                store_modifiers.push(if bytes == 1 { M::U8 } else { M::U16 });
            }
            bench.run(&instruction(store, &store_modifiers, &[at(2, 0), r(8)]));
            assert!(bench.effect.accesses);
            assert_eq!(bench.effect.access.operation, Access::Store);
            bench.run(&instruction(load, &modifiers, &[r(16), at(2, 0)]));
            assert_eq!(bench.effect.access.bytes, bytes as u8);
            for lane in 0..32 {
                for word in 0..(bytes.div_ceil(4) as usize) {
                    let expected = loaded(bench.warp.registers[8 + word][lane], bytes, signed);
                    assert_eq!(bench.warp.registers[16 + word][lane], expected);
                }
            }
        }
    }
}

/// Bytes at any offset of local memory, and the interleaved addresses that caches see.
///
/// REGRESSIONS T18, T19: narrow local accesses at odd offsets; one offset in all lanes is a word for each.
#[test]
fn local_memory_is_interleaved_and_takes_odd_offsets() {
    let mut bench = Bench::new();
    for offset in [0i32, 1, 2, 3, 5, 0x101] {
        set(&mut bench.warp, 1, |lane| {
            0x80 + lane as u32 + offset as u32
        });
        bench.run(&instruction(
            Opcode::STL,
            &[M::U8],
            &[at(255, offset), r(1)],
        ));
        bench.run(&instruction(
            Opcode::LDL,
            &[M::U8],
            &[r(2), at(255, offset)],
        ));
        for lane in 0..32 {
            assert_eq!(
                bench.warp.registers[2][lane],
                (0x80 + lane as u32 + offset as u32) & 0xff
            );
        }
    }
    // The same offset in all lanes: 32 distinct words, side by side.
    bench.run(&instruction(Opcode::LDL, &[], &[r(2), at(255, 0x100)]));
    let access = &bench.effect.access;
    assert_eq!((access.space, access.lanes), (Space::Local, ALL));
    for lane in 0..32u64 {
        assert_eq!(
            access.addresses[lane as usize],
            access.addresses[0] + 4 * lane
        );
    }
    let first = access.addresses[0];
    bench.run(&instruction(Opcode::LDL, &[], &[r(2), at(255, 0x104)]));
    assert_eq!(bench.effect.access.addresses[0], first + 128);
    // Neighbouring bytes of one lane are neighbours.
    bench.run(&instruction(Opcode::LDL, &[M::U8], &[r(2), at(255, 0x102)]));
    assert_eq!(bench.effect.access.addresses[5], first + 4 * 5 + 2);
}

/// REGRESSIONS M7: the windows lie at the same generic addresses on every SM.
#[test]
fn generic_addresses_find_their_space() {
    let mut bench = Bench::new();
    set(&mut bench.warp, 1, |lane| 100 + lane as u32);
    // Lane k: global, shared or local by k mod 3.
    let address = |lane: usize| match lane % 3 {
        0 => FIRST + 4 * lane as u64,
        1 => SHARED_WINDOW + 4 * lane as u64,
        _ => LOCAL_WINDOW + 4 * lane as u64,
    };
    set_wide(&mut bench.warp, 2, address);
    bench.run(&instruction(Opcode::ST, &[M::E], &[at(2, 0), r(1)]));
    assert_eq!(bench.effect.access.space, Space::Global);
    assert_eq!(bench.effect.access.lanes, 0x4924_9249);
    bench.run(&instruction(Opcode::LD, &[M::E], &[r(5), at(2, 0)]));
    for lane in 0..32 {
        assert_eq!(bench.warp.registers[5][lane], 100 + lane as u32);
    }
    assert_eq!(words(&bench.memory, 4)[3], 103);
    assert_eq!(bench.shared.word(4), 101);
    assert_eq!(bench.local.word(8, 2), 102);
    let query = instruction(Opcode::QSPC, &[M::E, M::S], &[p(0, false), r(6), at(2, 0)]);
    bench.run(&query);
    assert_eq!(bench.warp.predicates[0], 0x9249_2492);
}

/// REGRESSIONS M6: device addresses have 64 bits.
#[test]
fn addresses_beyond_4_gigabytes() {
    let mut bench = Bench::new();
    let large = bench.memory.allocate(6 << 30, "large").unwrap();
    set_wide(&mut bench.warp, 2, |lane| {
        large + (lane as u64 * (190 << 20)) / 256 * 256
    });
    set(&mut bench.warp, 1, |lane| lane as u32 + 1);
    bench.run(&instruction(Opcode::STG, &[M::E], &[at(2, 0x10), r(1)]));
    bench.run(&instruction(Opcode::LDG, &[M::E], &[r(4), at(2, 0x10)]));
    for lane in 0..32 {
        assert_eq!(bench.warp.registers[4][lane], lane as u32 + 1);
        let mut word = [0; 4];
        let address = bench.effect.access.addresses[lane];
        bench.memory.read(address, &mut word).unwrap();
        assert_eq!(u32::from_le_bytes(word), lane as u32 + 1);
    }
    assert!(bench.effect.access.addresses[31] - large > 1 << 32);
    // Negative offsets and a uniform register.
    bench.warp.uniforms[4] = 0x20;
    let operand = Operand::Memory {
        base: Register(2),
        base_select: Select::Wide,
        uniform: UniformRegister(4),
        uniform_select: Select::None,
        descriptor: None,
        offset: -0x10,
    };
    bench.run(&instruction(Opcode::LDG, &[M::E], &[r(5), operand]));
    assert_eq!(bench.warp.registers[5][9], 10);
}

#[test]
fn faults_name_lane_address_and_neighbour() {
    let mut bench = Bench::new();
    let load = instruction(Opcode::LDG, &[M::E], &[r(4), at(2, 0)]);
    set_wide(&mut bench.warp, 2, |lane| {
        if lane == 7 { FIRST + 4096 } else { FIRST }
    });
    match bench.fault(&load) {
        (
            7,
            FaultKind::OutOfBounds {
                space: "global",
                address,
                bytes: 4,
                nearest,
            },
        ) => {
            assert_eq!(address, FIRST + 4096);
            assert!(nearest.unwrap().contains("`first`"));
        }
        other => panic!("{other:?}"),
    }
    // The same address in a lane that takes no part is no fault.
    assert!(bench.try_run(&load, !(1 << 7)).is_ok());
    set_wide(&mut bench.warp, 2, |lane| {
        if lane == 9 { FIRST + 2 } else { FIRST }
    });
    assert_eq!(
        bench.fault(&load),
        (
            9,
            FaultKind::Misaligned {
                space: "global",
                address: FIRST + 2,
                bytes: 4
            }
        )
    );
    set_wide(&mut bench.warp, 2, |_| 0);
    assert!(matches!(
        bench.fault(&load),
        (0, FaultKind::OutOfBounds { .. })
    ));
    set(&mut bench.warp, 2, |lane| 4 * lane as u32 + 4000);
    match bench.fault(&op(Opcode::LDS, &[r(4), at(2, 0)])) {
        (
            24,
            FaultKind::OutOfBounds {
                space: "shared",
                nearest,
                ..
            },
        ) => {
            assert_eq!(nearest.unwrap(), "the block has 4096 bytes");
        }
        other => panic!("{other:?}"),
    }
    let wide = instruction(Opcode::LDS, &[M::N128], &[r(4), at(255, 8)]);
    assert!(matches!(
        bench.fault(&wide),
        (0, FaultKind::Misaligned { bytes: 16, .. })
    ));
    match bench.fault(&op(Opcode::STL, &[at(255, 512), r(4)])) {
        (
            0,
            FaultKind::OutOfBounds {
                space: "local",
                nearest,
                ..
            },
        ) => {
            assert_eq!(nearest.unwrap(), "each thread has 512 bytes");
        }
        other => panic!("{other:?}"),
    }
    let constant = Operand::Constant {
        bank: ConstantBank::Number(3),
        index: Register(2),
        uniform_index: UniformRegister::ZERO,
        offset: 0,
        adjust: Adjust::default(),
        select: Select::None,
    };
    set(&mut bench.warp, 2, |lane| 8 * lane as u32 + 16);
    match bench.fault(&op(Opcode::LDC, &[r(4), constant])) {
        (
            30,
            FaultKind::OutOfBounds {
                space: "constant",
                address: 256,
                ..
            },
        ) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn indexed_constants() {
    let mut bench = Bench::new();
    set(&mut bench.warp, 2, |lane| 4 * lane as u32);
    let constant = |offset: i32| Operand::Constant {
        bank: ConstantBank::Number(3),
        index: Register(2),
        uniform_index: UniformRegister::ZERO,
        offset,
        adjust: Adjust::default(),
        select: Select::None,
    };
    bench.run(&instruction(Opcode::LDC, &[M::U8], &[r(4), constant(3)]));
    assert_eq!(bench.warp.registers[4][10], 43);
    bench.run(&instruction(Opcode::LDC, &[M::S8], &[r(4), constant(100)]));
    assert_eq!(bench.warp.registers[4][31], (224u8 as i8) as u32);
    bench.run(&op(Opcode::LDC, &[r(4), constant(0)]));
    assert_eq!(bench.warp.registers[4][1], 0x0706_0504);
    assert_eq!(bench.effect.access.addresses[1], 3 << 32 | 4);
    set(&mut bench.warp, 2, |lane| {
        8 * lane as u32 / 2 * 2 % 200 / 8 * 8
    });
    bench.run(&instruction(Opcode::LDC, &[M::N64], &[r(4), constant(8)]));
    assert_eq!(bench.warp.registers[5][0], 0x0f0e_0d0c);
}

#[test]
fn scaled_shared_addresses() {
    let mut bench = Bench::new();
    set(&mut bench.warp, 1, |lane| 31 - lane as u32);
    let scaled = Operand::Memory {
        base: Register(1),
        base_select: Select::X4,
        uniform: UniformRegister::ZERO,
        uniform_select: Select::None,
        descriptor: None,
        offset: 64,
    };
    bench.run(&op(Opcode::STS, &[scaled, r(1)]));
    for k in 0..32 {
        assert_eq!(bench.shared.word(64 + 4 * k), k);
    }
}

#[test]
fn ldsm_distributes_rows() {
    let mut bench = Bench::new();
    for k in 0..512u32 {
        bench.shared.write(2 * k, &(k as u16).to_le_bytes());
    }
    // Matrix m's row i at 128 m + 16 i bytes: element (i, j) of it is 64 m + 8 i + j.
    set(&mut bench.warp, 1, |lane| 16 * lane as u32);
    bench.run(&instruction(
        Opcode::LDSM,
        &[M::N16, M::M88, M::N4],
        &[r(4), at(1, 0)],
    ));
    for lane in 0..32usize {
        for m in 0..4 {
            let first = (64 * m + 8 * (lane / 4) + 2 * (lane % 4)) as u32;
            assert_eq!(bench.warp.registers[4 + m][lane], first | (first + 1) << 16);
        }
    }
    bench.run(&instruction(
        Opcode::LDSM,
        &[M::N16, M::MT88, M::N2],
        &[r(8), at(1, 0)],
    ));
    for lane in 0..32usize {
        for m in 0..2 {
            let element = |i: usize, j: usize| (64 * m + 8 * i + j) as u32;
            let (i, j) = (lane / 4, 2 * (lane % 4));
            assert_eq!(
                bench.warp.registers[8 + m][lane],
                element(j, i) | element(j + 1, i) << 16
            );
        }
    }
    assert_eq!(
        (bench.effect.access.lanes, bench.effect.access.bytes),
        (0xffff, 16)
    );
}

#[test]
fn stsm_gathers_rows() {
    let mut bench = Bench::new();
    // Matrix m's row i at 128 m + 16 i bytes; lanes hold element (i, j) of it as 64 m + 8 i + j.
    set(&mut bench.warp, 1, |lane| 16 * lane as u32);
    for m in 0..4 {
        set(&mut bench.warp, 4 + m, |lane| {
            let first = (64 * m + 8 * (lane / 4) + 2 * (lane % 4)) as u32;
            first | (first + 1) << 16
        });
    }
    bench.run(&instruction(
        Opcode::STSM,
        &[M::N16, M::M88, M::N4],
        &[at(1, 0), r(4)],
    ));
    for k in 0..256u32 {
        assert_eq!(u16::from_le_bytes(bench.shared.read::<2>(2 * k)), k as u16);
    }
    bench.run(&instruction(
        Opcode::STSM,
        &[M::N16, M::MT88, M::N2],
        &[at(1, 0), r(4)],
    ));
    for m in 0..2u32 {
        for i in 0..8 {
            for j in 0..8 {
                let stored = bench.shared.read::<2>(128 * m + 16 * i + 2 * j);
                assert_eq!(u32::from(u16::from_le_bytes(stored)), 64 * m + 8 * j + i);
            }
        }
    }
    assert_eq!(
        (bench.effect.access.lanes, bench.effect.access.bytes),
        (0xffff, 16)
    );
}

#[test]
fn copies_to_shared_memory_with_zero_fill() {
    let mut bench = Bench::new();
    let data: Vec<u8> = (0..1024u32).map(|k| (k % 251) as u8).collect();
    bench.memory.write(FIRST, &data).unwrap();
    set(&mut bench.warp, 1, |lane| 16 * (31 - lane as u32));
    set_wide(&mut bench.warp, 2, |lane| FIRST + 16 * lane as u64);
    bench.shared.write(0, &[0xee; 512]);
    bench.warp.predicates[1] = 0x0000_ffff;
    let i = instruction(
        Opcode::LDGSTS,
        &[M::E, M::BYPASS, M::N128, M::ZFILL],
        &[at(1, 0), at(2, 0), p(1, false)],
    );
    bench.run(&i);
    for lane in 0..32 {
        let found = bench.shared.read::<16>(16 * (31 - lane as u32));
        if lane < 16 {
            assert_eq!(found, data[16 * lane..16 * lane + 16]);
        } else {
            assert_eq!(found, [0; 16]);
        }
    }
    let access = &bench.effect.access;
    assert_eq!(
        (access.operation, access.lanes),
        (Access::CopyToShared, 0xffff)
    );
    assert!(access.bypass);
    assert_eq!(access.shared[0], 16 * 31);
}

/// Applies an atomic in all lanes to one word: the reference goes lane by lane.
fn atomic(
    modifiers: &[M],
    bytes: u32,
    start: u64,
    operands: &dyn Fn(usize) -> u64,
) -> (u64, Vec<u64>) {
    let mut results = Vec::new();
    for space in 0..3 {
        let mut bench = Bench::new();
        bench.memory.write(FIRST, &start.to_le_bytes()).unwrap();
        bench.shared.write(0, &start.to_le_bytes());
        set_wide(&mut bench.warp, 2, |_| FIRST);
        set_wide(&mut bench.warp, 4, operands);
        let typed: Vec<M> = modifiers.to_vec();
        let i = match space {
            0 => {
                let mut modifiers = vec![M::E];
                modifiers.extend(&typed);
                modifiers.extend([M::STRONG, M::GPU]);
                instruction(Opcode::ATOMG, &modifiers, &[pt(), r(8), at(2, 0), r(4)])
            }
            1 => {
                let mut modifiers = vec![M::E];
                modifiers.extend(&typed);
                modifiers.extend([M::STRONG, M::GPU]);
                instruction(Opcode::RED, &modifiers, &[at(2, 0), r(4)])
            }
            _ => instruction(Opcode::ATOMS, &typed, &[r(8), at(255, 0), r(4)]),
        };
        bench.run(&i);
        let mut word = [0; 8];
        if space < 2 {
            bench.memory.read(FIRST, &mut word).unwrap();
        } else {
            word = bench.shared.read::<8>(0);
        }
        let cut = |value: u64| {
            if bytes == 4 {
                value & 0xffff_ffff
            } else {
                value
            }
        };
        let end = cut(u64::from_le_bytes(word));
        let olds: Vec<u64> = (0..32)
            .map(|lane| cut(wide(&bench.warp, 8, lane)))
            .collect();
        results.push((end, olds, space));
    }
    for (end, olds, space) in &results[1..] {
        assert_eq!(*end, results[0].0, "{modifiers:?}");
        if *space == 2 {
            assert_eq!(*olds, results[0].1);
        }
    }
    (results[0].0, results[0].1.clone())
}

#[test]
fn integer_atomics() {
    let operand = |lane: usize| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(lane as u64 + 1);
    type Step = fn(u64, u64) -> u64;
    let cases: [(&[M], u32, Step); 15] = [
        (&[M::ADD], 4, |a, b| {
            u64::from((a as u32).wrapping_add(b as u32))
        }),
        (&[M::MIN], 4, |a, b| u64::from((a as u32).min(b as u32))),
        (&[M::MAX], 4, |a, b| u64::from((a as u32).max(b as u32))),
        (&[M::MIN, M::S32], 4, |a, b| {
            u64::from((a as i32).min(b as i32) as u32)
        }),
        (&[M::MAX, M::S32], 4, |a, b| {
            u64::from((a as i32).max(b as i32) as u32)
        }),
        (&[M::INC], 4, |a, b| {
            u64::from(if a as u32 >= b as u32 {
                0
            } else {
                a as u32 + 1
            })
        }),
        (&[M::DEC], 4, |a, b| {
            u64::from(if a as u32 == 0 || a as u32 > b as u32 {
                b as u32
            } else {
                a as u32 - 1
            })
        }),
        (&[M::AND], 4, |a, b| a & b & 0xffff_ffff),
        (&[M::OR], 4, |a, b| (a | b) & 0xffff_ffff),
        (&[M::XOR], 4, |a, b| (a ^ b) & 0xffff_ffff),
        (&[M::ADD, M::N64], 8, |a, b| a.wrapping_add(b)),
        (&[M::MAX, M::N64], 8, |a, b| a.max(b)),
        (&[M::MIN, M::S64], 8, |a, b| (a as i64).min(b as i64) as u64),
        (&[M::AND, M::N64], 8, |a, b| a & b),
        (&[M::XOR, M::N64], 8, |a, b| a ^ b),
    ];
    for (modifiers, bytes, step) in cases {
        let start = 0x1234_5678_9abc_def0u64;
        let (end, olds) = atomic(modifiers, bytes, start, &operand);
        let mut value = if bytes == 4 {
            start & 0xffff_ffff
        } else {
            start
        };
        for lane in 0..32 {
            assert_eq!(olds[lane], value, "{modifiers:?} lane {lane}");
            value = step(value, operand(lane));
        }
        assert_eq!(end, value, "{modifiers:?}");
    }
}

#[test]
fn float_atomics() {
    let mut bench = Bench::new();
    set_wide(&mut bench.warp, 2, |_| FIRST);
    set(&mut bench.warp, 4, |lane| (lane as f32 * 0.5).to_bits());
    let red = |kind: &[M]| {
        let mut modifiers = vec![M::E, M::ADD];
        modifiers.extend(kind);
        modifiers.extend([M::STRONG, M::GPU]);
        instruction(Opcode::RED, &modifiers, &[at(2, 0), r(4)])
    };
    bench.run(&red(&[M::F32, M::FTZ, M::RN]));
    assert_eq!(f32::from_bits(words(&bench.memory, 1)[0]), 248.0);
    assert_eq!(bench.effect.access.operation, Access::Reduction);
    // Denormals count as zero.
    bench.memory.write(FIRST, &[0; 8]).unwrap();
    set(&mut bench.warp, 4, |_| 1);
    bench.run(&red(&[M::F32, M::FTZ, M::RN]));
    assert_eq!(words(&bench.memory, 1)[0], 0);
    set_wide(&mut bench.warp, 4, |lane| (lane as f64).to_bits());
    bench.run(&red(&[M::F64, M::RN]));
    let mut word = [0; 8];
    bench.memory.read(FIRST, &mut word).unwrap();
    assert_eq!(f64::from_le_bytes(word), 496.0);
    bench.memory.write(FIRST, &[0; 8]).unwrap();
    set(&mut bench.warp, 4, |_| 0x3800_3c00); // 0.5 and 1
    bench.run(&red(&[M::F16x2, M::RN]));
    assert_eq!(words(&bench.memory, 1)[0], 0x4c00_5000); // 16 and 32
}

#[test]
fn compare_and_swap() {
    let mut bench = Bench::new();
    set_wide(&mut bench.warp, 2, |_| FIRST);
    set(&mut bench.warp, 4, |lane| lane as u32);
    set(&mut bench.warp, 6, |lane| lane as u32 + 1);
    let cas = instruction(
        Opcode::ATOMG,
        &[M::E, M::CAS, M::STRONG, M::GPU],
        &[pt(), r(8), at(2, 0), r(4), r(6)],
    );
    bench.run(&cas);
    assert_eq!(words(&bench.memory, 1)[0], 32);
    for lane in 0..32 {
        assert_eq!(bench.warp.registers[8][lane], lane as u32);
    }
    // The helper of the loops on shared memory: one lane wins.
    let test = instruction(
        Opcode::ATOMS,
        &[M::CAST, M::SPIN, M::N64],
        &[r(8), at(255, 16), r(10), r(12)],
    );
    set_wide(&mut bench.warp, 10, |_| 0);
    set_wide(&mut bench.warp, 12, |lane| (1 << 40) | (lane as u64 + 5));
    bench.run(&test);
    assert_eq!(bench.shared.read::<8>(16), (1u64 << 40 | 5).to_le_bytes());
    for lane in 0..32 {
        assert_eq!(wide(&bench.warp, 8, lane), (lane == 0) as u64);
    }
    let count = instruction(
        Opcode::ATOMS,
        &[M::POPC, M::INC, M::N32],
        &[r(255), at(255, 32)],
    );
    bench.try_run(&count, 0x0f0f_0000).unwrap();
    assert_eq!(bench.shared.word(32), 8);
}

/// ATOM on an address that the unit cannot handle leaves it to the program and says so.
#[test]
fn atomics_with_a_predicate_leave_shared_memory_alone() {
    let mut bench = Bench::new();
    set_wide(&mut bench.warp, 2, |lane| {
        if lane < 4 { FIRST } else { SHARED_WINDOW }
    });
    set(&mut bench.warp, 4, |_| 0x3c00_3c00);
    let i = instruction(
        Opcode::ATOM,
        &[M::E, M::ADD, M::F16x2, M::RN, M::STRONG, M::GPU],
        &[p(0, false), r(255), at(2, 0), r(4)],
    );
    bench.run(&i);
    assert_eq!(bench.warp.predicates[0], 0xf);
    assert_eq!(words(&bench.memory, 1)[0], 0x4400_4400);
    assert_eq!(bench.shared.word(0), 0);
}

#[test]
fn a_fault_in_a_program_names_thread_and_block() {
    let mut program = vec![tid(1), op(Opcode::IMAD, &[r(1), r(1), imm(1000), r(255)])];
    program.extend(store(1, 1));
    program.push(exit());
    match run_code(&program, [16, 4, 1], &mut memory(4100)).unwrap_err() {
        RunFault::Fault(fault) => {
            assert_eq!((fault.pc.0, fault.lane), (5, Some(5)));
            assert_eq!((fault.thread, fault.cta), ([5, 0, 0], [0, 0, 0]));
            assert!(matches!(fault.kind, FaultKind::OutOfBounds { address, .. }
                if address == FIRST + 20_000));
        }
        other => panic!("{other}"),
    }
}

/// The word of a barrier in shared memory as the compiler initialises and tests it.
#[test]
fn barriers_in_shared_memory_flip_their_phase() {
    let mut bench = Bench::new();
    let threads = 48u32;
    let start = u64::from(0x8000_0000 - threads) << 32 | u64::from(0x4000_0000 - threads);
    bench.shared.write(64, &start.to_le_bytes());
    let arrive = instruction(Opcode::ATOMS, &[M::ARRIVE, M::N64], &[r(8), at(255, 64)]);
    let copies = instruction(Opcode::ARRIVES, &[M::LDGSTSBAR, M::N64], &[at(255, 64)]);
    let phase = |bench: &Bench| bench.shared.word(68) >> 31;
    let pending = |bench: &Bench| 0x8000_0000 - (bench.shared.word(68) & 0x7fff_ffff);
    bench.run(&arrive);
    assert_eq!(wide(&bench.warp, 8, 0), start);
    assert_eq!((phase(&bench), pending(&bench)), (0, 16));
    bench.try_run(&copies, 0xffff).unwrap();
    assert_eq!((phase(&bench), pending(&bench)), (1, threads));
    bench.run(&arrive);
    bench.try_run(&arrive, 0xffff_0000).unwrap();
    assert_eq!((phase(&bench), pending(&bench)), (0, threads));
}
