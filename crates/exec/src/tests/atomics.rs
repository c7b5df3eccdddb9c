//! Atomic operations: every function with every type that the encoding table knows, on device memory, on
//! shared memory and by generic addresses, against 128-bit integers and soft floats. Lanes meet in a few
//! places, so that each sees what the ones before it left.

use std::collections::{BTreeMap, BTreeSet};

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use sass::{Modifier as M, Opcode};

use super::instruction_bench::words;
use super::machine::*;
use super::memory::Bench;
use super::*;
use crate::memory::SHARED_WINDOW;

/// Places that lanes meet in, 16 bytes each.
const PLACES: u32 = 5;

/// What a modifier list says of an operation, read by its text alone.
#[derive(Clone, Debug, PartialEq)]
struct Meaning {
    function: &'static str,
    /// Format of an element: its name, bits, and how many there are side by side.
    format: &'static str,
    bits: u32,
    elements: u32,
}

fn meaning(modifiers: &[M]) -> Option<Meaning> {
    let has = |text: &str| modifiers.iter().any(|modifier| modifier.text() == text);
    let functions = [
        "POPC", "ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR", "EXCH", "CAS", "CAST",
    ];
    let function = functions.into_iter().find(|name| has(name))?;
    // `F32x2` is a pair of singles, but `F16x2` one pair of halves.
    let types = [
        ("S32", "signed", 32, 1),
        ("S64", "signed", 64, 1),
        ("64", "unsigned", 64, 1),
        ("128", "unsigned", 128, 1),
        ("F16x2", "half", 16, 2),
        ("F16x4", "half", 16, 4),
        ("F16x8", "half", 16, 8),
        ("BF16x2", "brain", 16, 2),
        ("BF16x4", "brain", 16, 4),
        ("BF16x8", "brain", 16, 8),
        ("F32", "single", 32, 1),
        ("F32x2", "single", 32, 2),
        ("F32x4", "single", 32, 4),
        ("F64", "double", 64, 1),
    ];
    let (_, format, bits, elements) = types
        .into_iter()
        .find(|(name, ..)| has(name))
        .unwrap_or(("", "unsigned", 32, 1));
    let format = if format == "single" && has("FTZ") {
        "flushed single"
    } else {
        format
    };
    Some(Meaning {
        function,
        format,
        bits,
        elements,
    })
}

/// A sum in a format, NaN as the hardware writes it.
fn sum<F: Float>(a: u128, b: u128, nan: u128) -> u128 {
    let sum = (F::from_bits(a) + F::from_bits(b)).value;
    if sum.is_nan() { nan } else { sum.to_bits() }
}

/// Minimum or maximum in a format: a number rather than NaN, -0 below +0.
fn extreme<F: Float>(a: u128, b: u128, minimum: bool, nan: u128) -> u128 {
    let (x, y) = (F::from_bits(a), F::from_bits(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => nan,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let first = if x.is_zero() && y.is_zero() {
                x.is_negative()
            } else {
                x < y
            };
            if first == minimum { a } else { b }
        }
    }
}

fn flush(bits: u128) -> u128 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// The new value of one element.
fn element(meaning: &Meaning, old: u128, operand: u128, second: u128) -> u128 {
    let mask = u128::MAX >> (128 - meaning.bits);
    let signed = |bits: u128| (bits << (128 - meaning.bits)) as i128 >> (128 - meaning.bits);
    let (half, brain) = (0x7fff, 0x7fff);
    match (meaning.function, meaning.format) {
        ("ADD", "unsigned" | "signed") => old.wrapping_add(operand) & mask,
        ("ADD", "half") => sum::<Half>(old, operand, half),
        ("ADD", "brain") => sum::<BFloat>(old, operand, brain),
        ("ADD", "single") => sum::<Single>(old, operand, 0x7fff_ffff),
        ("ADD", "flushed single") => flush(sum::<Single>(flush(old), flush(operand), 0x7fff_ffff)),
        ("ADD", "double") => sum::<Double>(old, operand, 0xfff8_0000_0000_0000),
        (function @ ("MIN" | "MAX"), format) => {
            let minimum = function == "MIN";
            match format {
                "half" => extreme::<Half>(old, operand, minimum, half),
                "brain" => extreme::<BFloat>(old, operand, minimum, brain),
                "signed" => {
                    if (signed(old) < signed(operand)) == minimum {
                        old
                    } else {
                        operand
                    }
                }
                _ if minimum => old.min(operand),
                _ => old.max(operand),
            }
        }
        ("INC", _) => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        ("DEC", _) => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
        ("AND", _) => old & operand,
        ("OR", _) => old | operand,
        ("XOR", _) => old ^ operand,
        ("EXCH", _) => operand,
        ("CAS" | "CAST", _) => {
            if old == operand {
                second
            } else {
                old
            }
        }
        ("POPC", _) => (old + 1) & mask,
        other => panic!("{other:?}"),
    }
}

/// The new 16 bytes of a place.
fn step(meaning: &Meaning, old: u128, operand: u128, second: u128) -> u128 {
    let mask = u128::MAX >> (128 - meaning.bits);
    (0..meaning.elements).fold(old, |new, index| {
        let shift = index * meaning.bits;
        let [old, operand, second] = [old, operand, second].map(|value| value >> shift & mask);
        new & !(mask << shift) | element(meaning, old, operand, second) << shift
    })
}

/// Values that matter to a format, and random ones.
fn value(meaning: &Meaning, random: &mut Random) -> u128 {
    let edges: &[u128] = match meaning.format {
        "half" => &[
            0, 0x8000, 1, 0x03ff, 0x3c00, 0x7bff, 0x7c00, 0xfc00, 0x7e01, 0xfe00,
        ],
        "brain" => &[
            0, 0x8000, 1, 0x007f, 0x3f80, 0x7f7f, 0x7f80, 0xff80, 0x7fc1, 0xffc0,
        ],
        "single" | "flushed single" => &[
            0,
            0x8000_0000,
            1,
            0x807f_ffff,
            0x0080_0000,
            0x8080_0001,
            0x3f80_0000,
            0x7f7f_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0001,
        ],
        "double" => &[
            0,
            1 << 63,
            1,
            0x000f_ffff_ffff_ffff,
            0x3ff0_0000_0000_0000,
            0x7fef_ffff_ffff_ffff,
            0x7ff0_0000_0000_0000,
            0xfff0_0000_0000_0000,
            0x7ff8_0000_0000_0001,
        ],
        _ => &[
            0,
            1,
            2,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            1 << 63,
            u64::MAX as u128,
        ],
    };
    (0..meaning.elements).fold(0, |all, index| {
        let one = match random.word() % 3 {
            0 => u128::from(random.wide()) << 64 | u128::from(random.wide()),
            _ => edges[random.word() as usize % edges.len()],
        };
        all | (one & u128::MAX >> (128 - meaning.bits)) << (index * meaning.bits)
    })
}

fn put(warp: &mut Warp, row: usize, values: &[u128]) {
    for word in 0..4 {
        set(warp, row + word, |lane| {
            (values[lane] >> (32 * word)) as u32
        });
    }
}

/// Runs one operation on one space and compares memory and results.
fn check(opcode: Opcode, modifiers: &[M], meaning: &Meaning, shared: bool, random: &mut Random) {
    let mut bench = Bench::new();
    let mut places: Vec<u128> = (0..PLACES).map(|_| value(meaning, random)).collect();
    for (index, place) in places.iter().enumerate() {
        let (at, bytes) = (16 * index as u32, place.to_le_bytes());
        bench.shared.write(at, &bytes);
        bench.store(FIRST + u64::from(at), &bytes);
    }
    let swaps = matches!(meaning.function, "CAS" | "CAST");
    let at_place: Vec<usize> = (0..32).map(|_| (random.word() % PLACES) as usize).collect();
    let operands: Vec<u128> = (0..32)
        .map(|lane| {
            // Half of the swaps find what they expect, if no other lane was before them.
            if swaps && lane % 2 == 0 {
                places[at_place[lane]]
            } else {
                value(meaning, random)
            }
        })
        .collect();
    let seconds: Vec<u128> = (0..32).map(|_| value(meaning, random)).collect();
    let base = match (opcode, shared) {
        (Opcode::ATOMS, _) => 0,
        (_, true) => SHARED_WINDOW,
        _ => FIRST,
    };
    set_wide(&mut bench.warp, 2, |lane| base + 16 * at_place[lane] as u64);
    put(&mut bench.warp, 4, &operands);
    put(&mut bench.warp, 8, &seconds);
    put(
        &mut bench.warp,
        12,
        &[0xaaaa_aaaa_aaaa_aaaa_aaaa_aaaa_aaaa_aaaau128; 32],
    );
    let mut fields = match opcode {
        Opcode::RED | Opcode::REDG => vec![at(2, 0)],
        Opcode::ATOMS => vec![r(12), at(2, 0)],
        _ => vec![pt(), r(12), at(2, 0)],
    };
    if meaning.function != "POPC" {
        fields.push(r(4));
    }
    if swaps {
        fields.push(r(8));
    }
    let mut i = instruction(opcode, modifiers, &fields);
    i.architecture = sass::Architecture::Sm90;
    let mask = random.word() | 1;
    bench
        .try_run(&i, mask)
        .unwrap_or_else(|t| panic!("{}: {t:?}", i.display(0)));
    let bytes = meaning.bits * meaning.elements / 8;
    for lane in 0..32 {
        let found = (0..4).fold(0u128, |value, word| {
            value | u128::from(bench.warp.registers[12 + word][lane]) << (32 * word)
        });
        let untouched = 0xaaaa_aaaa_aaaa_aaaa_aaaa_aaaa_aaaa_aaaau128;
        let mut expected = untouched;
        if mask >> lane & 1 == 1 {
            let old = places[at_place[lane]];
            let new = step(meaning, old, operands[lane], seconds[lane]);
            let low = u128::MAX >> (128 - 8 * bytes);
            // CAST tells whether the word was as expected, instead of what it was.
            let told = if meaning.function == "CAST" {
                u128::from(old & low == operands[lane] & low)
            } else {
                old
            };
            if !matches!(opcode, Opcode::RED | Opcode::REDG) {
                expected = untouched & !low | told & low;
            }
            places[at_place[lane]] = new;
        }
        assert_eq!(found, expected, "{} [{mask:#x}], lane {lane}", i.display(0));
    }
    for (index, place) in places.iter().enumerate() {
        let at = 16 * index as u32;
        let found = if base == FIRST {
            bench.fetch(FIRST + u64::from(at))
        } else {
            u128::from_le_bytes(bench.shared.read::<16>(at))
        };
        assert_eq!(found, *place, "{} [{mask:#x}], place {index}", i.display(0));
    }
}

#[test]
fn every_function_and_type() {
    let mut random = Random::new(128);
    let mut checked: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for opcode in [
        Opcode::ATOM,
        Opcode::ATOMG,
        Opcode::ATOMS,
        Opcode::RED,
        Opcode::REDG,
    ] {
        let mut seen = BTreeSet::new();
        words::each(opcode, 1, |i| {
            // Orders, cache hints and the width of the address do not change what is computed.
            let hints = [
                "EF", "EL", "LU", "EU", "NA", "PRIVATE", "CTA", "SYS", "MMIO", "VC",
            ];
            let texts: Vec<&str> = i.modifiers.iter().map(|modifier| modifier.text()).collect();
            let plain = !texts.iter().any(|text| hints.contains(text));
            let extended = opcode == Opcode::ATOMS || texts.contains(&"E");
            if !plain || !extended || crate::refusal(i).is_some() || texts.contains(&"ARRIVE") {
                return;
            }
            let Some(meaning) = meaning(&i.modifiers) else {
                panic!("{}", i.display(0));
            };
            if !seen.insert(i.modifiers.clone()) {
                return;
            }
            let only_shared = matches!(meaning.function, "CAST" | "POPC");
            for _ in 0..4 {
                for shared in [false, true] {
                    let possible = match opcode {
                        Opcode::ATOM => shared || !only_shared,
                        Opcode::ATOMS => shared,
                        _ => !shared,
                    };
                    if possible {
                        check(opcode, &i.modifiers, &meaning, shared, &mut random);
                    }
                }
            }
            let name = format!(
                "{} {} {} x{}",
                meaning.function, meaning.format, meaning.bits, meaning.elements
            );
            checked.entry(opcode.text()).or_default().insert(name);
        });
    }
    for (opcode, name) in [
        ("REDG", "ADD half 16 x8"),
        ("REDG", "MAX brain 16 x4"),
        ("ATOMG", "MIN half 16 x2"),
        ("ATOMG", "ADD single 32 x4"),
        ("ATOMG", "CAS unsigned 128 x1"),
        ("ATOMG", "EXCH unsigned 128 x1"),
        ("ATOMS", "CAS unsigned 128 x1"),
        ("ATOMS", "CAST unsigned 64 x1"),
        ("ATOMS", "POPC unsigned 32 x1"),
        ("ATOM", "POPC unsigned 32 x1"),
        ("ATOM", "CAST unsigned 32 x1"),
        ("RED", "ADD double 64 x1"),
        ("RED", "ADD flushed single 32 x1"),
    ] {
        assert!(
            checked[opcode].contains(name),
            "{opcode} {name}: {:#?}",
            checked[opcode]
        );
    }
}
