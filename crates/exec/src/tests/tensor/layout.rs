//! Where the elements of a matrix lie: every shape and type of mma.sync and mma.sp as the tables of the
//! PTX manual place them, checked by products of matrices that hold different integers everywhere.

use sass::{Architecture, Instruction, Modifier as M, Opcode, Operand};

use super::super::*;
use crate::rounding::{f32_to_brain, f32_to_half};

/// A matrix of integers.
pub type Matrix = Vec<Vec<i64>>;

/// How a type of factor is written into bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Half,
    Brain,
    Tf32,
    E4m3,
    E5m2,
    Signed8,
    Unsigned8,
    Signed4,
    Unsigned4,
    Bit,
    Double,
}

impl Kind {
    pub fn bits(self) -> usize {
        match self {
            Kind::Double => 64,
            Kind::Tf32 => 32,
            Kind::Half | Kind::Brain => 16,
            Kind::E4m3 | Kind::E5m2 | Kind::Signed8 | Kind::Unsigned8 => 8,
            Kind::Signed4 | Kind::Unsigned4 => 4,
            Kind::Bit => 1,
        }
    }

    /// Integers that the type holds exactly, 0 excepted where there are others.
    fn random(self, random: &mut Random) -> i64 {
        let word = random.word();
        match self {
            Kind::Signed8 => i64::from(word as i8),
            Kind::Unsigned8 => i64::from(word as u8),
            Kind::Signed4 => i64::from(word % 16) - 8,
            Kind::Unsigned4 => i64::from(word % 16),
            Kind::Bit => i64::from(word % 2),
            // Two fraction bits: 1 to 7 and their negatives.
            Kind::E5m2 => [1, 2, 3, 4, 5, 6, 7, -1, -2, -3, -4, -5, -6, -7][word as usize % 14],
            _ => {
                let magnitude = i64::from(word % 15) + 1;
                if word >> 16 & 1 == 1 {
                    -magnitude
                } else {
                    magnitude
                }
            }
        }
    }

    /// An integer of small magnitude in this type.
    pub fn encode(self, value: i64) -> u64 {
        let small_float = |fraction: u32, bias: i64| {
            if value == 0 {
                return 0;
            }
            let magnitude = value.unsigned_abs();
            let exponent = magnitude.ilog2();
            let significand = if exponent <= fraction {
                magnitude << (fraction - exponent)
            } else {
                magnitude >> (exponent - fraction)
            };
            let rest = significand - (1 << fraction);
            let biased = (i64::from(exponent) + bias) as u64;
            ((value < 0) as u64) << 7 | biased << fraction | rest
        };
        match self {
            Kind::Double => (value as f64).to_bits(),
            Kind::Tf32 => u64::from((value as f32).to_bits()),
            Kind::Half => u64::from(f32_to_half(value as f32)),
            Kind::Brain => u64::from(f32_to_brain(value as f32)),
            Kind::E4m3 => small_float(3, 7),
            Kind::E5m2 => small_float(2, 15),
            _ => value as u64 & ((1 << self.bits()) - 1),
        }
    }
}

/// Puts element `index` of `bits` bits into the registers from `row` on in one lane.
pub fn put(w: &mut Warp, row: usize, lane: usize, index: usize, bits: usize, value: u64) {
    if bits == 64 {
        w.registers[row + 2 * index][lane] = value as u32;
        w.registers[row + 2 * index + 1][lane] = (value >> 32) as u32;
    } else {
        let (register, shift) = (index * bits / 32, index * bits % 32);
        w.registers[row + register][lane] |= (value as u32) << shift;
    }
}

/// Row and column of A's element `i` in a lane: PTX gives 32-bit registers in turn to the upper and
/// lower eight rows, then to the next columns.
pub fn place_a(m: usize, bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let per = (32 / bits).max(1);
    let (group, within) = (lane / 4, lane % 4);
    let register = i / per;
    let (half, step) = if m == 16 {
        (register % 2, register / 2)
    } else {
        (0, register)
    };
    (group + 8 * half, 4 * per * step + per * within + i % per)
}

/// Row and column of B's element `i` in a lane.
pub fn place_b(bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let per = (32 / bits).max(1);
    let (group, within) = (lane / 4, lane % 4);
    (4 * per * (i / per) + per * within + i % per, group)
}

/// Row and column of the accumulator's element `i` in a lane.
pub fn place_c(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2)
}

/// One instruction to check.
struct Case {
    architecture: Architecture,
    opcode: Opcode,
    modifiers: Vec<M>,
    m: usize,
    k: usize,
    a: Kind,
    b: Kind,
    /// Kind of the accumulator; signed integers are `None`.
    c: Option<Accumulator>,
    /// The selector, if A is sparse.
    sparse: Option<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Accumulator {
    Single,
    Half,
    Double,
}

/// Random sparsity: for every row the columns that are kept, in the pattern of the type.
fn pattern(random: &mut Random, m: usize, k: usize, bits: usize) -> Vec<Vec<usize>> {
    (0..m)
        .map(|_| {
            let mut kept = Vec::new();
            match bits {
                32 => (0..k / 2).for_each(|g| kept.push(2 * g + random.word() as usize % 2)),
                _ => {
                    // Two of four elements, or of four pairs of elements.
                    let unit = if bits == 4 { 2 } else { 1 };
                    for group in 0..k / (4 * unit) {
                        let first = random.word() as usize % 3;
                        let second = first + 1 + random.word() as usize % (3 - first);
                        for choice in [first, second] {
                            (0..unit).for_each(|u| kept.push(unit * (4 * group + choice) + u));
                        }
                    }
                }
            }
            kept
        })
        .collect()
}

/// The metadata of a row as a string of bits: two bits per kept element (TF32: 0b0100 for the first of
/// two, 0b1110 for the second; 4-bit integers: two bits per pair).
fn metadata_of_row(kept: &[usize], bits: usize) -> u64 {
    let mut string = 0;
    let mut at = 0;
    let step = if bits == 4 { 2 } else { 1 };
    for &column in kept.iter().step_by(step) {
        let (code, width) = match bits {
            32 => ([0b0100, 0b1110][column % 2], 4),
            4 => (column / 2 % 4, 2),
            _ => (column % 4, 2),
        };
        string |= (code as u64) << at;
        at += width;
    }
    string
}

/// Lays the metadata out over the four lanes of each row.
fn put_metadata(w: &mut Warp, row: usize, rows: &[Vec<usize>], bits: usize, selector: u8) {
    let strings: Vec<u64> = rows
        .iter()
        .map(|kept| metadata_of_row(kept, bits))
        .collect();
    let length = rows[0].len() / if bits == 4 { 2 } else { 1 } * if bits == 32 { 4 } else { 2 };
    let selector = usize::from(selector);
    for group in 0..8 {
        let (upper, lower) = (strings[group], strings[group + 8]);
        let word = |string: u64, n: usize| (string >> (32 * n)) as u32;
        let halves =
            |n: usize| ((upper >> (16 * n) & 0xffff) | (lower >> (16 * n) & 0xffff) << 16) as u32;
        match (bits >= 16, length) {
            (true, 16) => w.registers[row][4 * group + selector] = halves(0),
            (true, _) => {
                for n in 0..2 {
                    w.registers[row][4 * group + 2 * selector + n] = halves(n);
                }
            }
            (false, 32) => {
                w.registers[row][4 * group + 2 * selector] = word(upper, 0);
                w.registers[row][4 * group + 2 * selector + 1] = word(lower, 0);
            }
            (false, _) => {
                for n in 0..2 {
                    w.registers[row][4 * group + 2 * n] = word(upper, n);
                    w.registers[row][4 * group + 2 * n + 1] = word(lower, n);
                }
            }
        }
    }
}

const D: usize = 0;
const A: usize = 8;
const B: usize = 24;
const C: usize = 32;
const METADATA: usize = 40;

/// Runs one case and compares every element.
fn check(case: &Case, seed: u64) {
    let mut random = Random::new(seed);
    let (m, k) = (case.m, case.k);
    let kept = match case.sparse {
        Some(_) => pattern(&mut random, m, k, case.a.bits()),
        None => vec![(0..k).collect(); m],
    };
    let mut a: Matrix = vec![vec![0; k]; m];
    for (row, kept) in a.iter_mut().zip(&kept) {
        kept.iter()
            .for_each(|&column| row[column] = case.a.random(&mut random));
    }
    let b: Matrix = (0..k)
        .map(|_| (0..8).map(|_| case.b.random(&mut random)).collect())
        .collect();
    let c: Matrix = (0..m)
        .map(|_| (0..8).map(|_| i64::from(random.word() % 50)).collect())
        .collect();
    let mut w = warp();
    let held = kept[0].len();
    let c_bits = match case.c {
        Some(Accumulator::Double) => 64,
        Some(Accumulator::Half) => 16,
        _ => 32,
    };
    for lane in 0..32 {
        for i in 0..held * m / 32 {
            let (row, index) = place_a(m, case.a.bits(), lane, i);
            let value = case.a.encode(a[row][kept[row][index]]);
            put(&mut w, A, lane, i, case.a.bits(), value);
        }
        for i in 0..k * 8 / 32 {
            let (row, column) = place_b(case.b.bits(), lane, i);
            put(
                &mut w,
                B,
                lane,
                i,
                case.b.bits(),
                case.b.encode(b[row][column]),
            );
        }
        for i in 0..m / 4 {
            let (row, column) = place_c(lane, i);
            let value = c[row][column];
            let bits = match case.c {
                None => value as u64,
                Some(Accumulator::Single) => u64::from((value as f32).to_bits()),
                Some(Accumulator::Half) => u64::from(f32_to_half(value as f32)),
                Some(Accumulator::Double) => (value as f64).to_bits(),
            };
            put(&mut w, C, lane, i, c_bits, bits);
        }
    }
    let mut operands = vec![r(D as u8), r(A as u8), r(B as u8), r(C as u8)];
    if let Some(selector) = case.sparse {
        // Lanes that are not selected hold nonsense.
        for lane in 0..32 {
            w.registers[METADATA][lane] = random.word();
        }
        put_metadata(&mut w, METADATA, &kept, case.a.bits(), selector);
        operands.push(r(METADATA as u8));
        operands.push(imm(u32::from(selector)));
    }
    let i = Instruction {
        architecture: case.architecture,
        ..instruction(case.opcode, &case.modifiers, &operands)
    };
    let after = run(&i, &w);
    for lane in 0..32 {
        for i in 0..m / 4 {
            let (row, column) = place_c(lane, i);
            let product = |l: usize| match (case.a, &case.modifiers) {
                (Kind::Bit, modifiers) if modifiers.contains(&M::XOR) => a[row][l] ^ b[l][column],
                _ => a[row][l] * b[l][column],
            };
            let expected = c[row][column] + (0..k).map(product).sum::<i64>();
            let found = match case.c {
                None => i64::from(after.registers[D + i][lane] as i32),
                Some(Accumulator::Single) => f32::from_bits(after.registers[D + i][lane]) as i64,
                Some(Accumulator::Half) => {
                    let word = after.registers[D + i / 2][lane];
                    crate::rounding::half_to_f32(word >> (16 * (i % 2)) & 0xffff) as i64
                }
                Some(Accumulator::Double) => f64::from_bits(wide(&after, D + 2 * i, lane)) as i64,
            };
            assert_eq!(
                found, expected,
                "{:?} {:?}.{:?}: row {row}, column {column}",
                case.architecture, case.opcode, case.modifiers
            );
        }
    }
}

use Architecture::{Sm75, Sm80, Sm86, Sm89, Sm90};

/// Checks a list of (architectures, modifiers, shape, kinds, accumulator, selectors).
fn check_all(cases: Vec<Case>) {
    assert!(!cases.is_empty());
    for (index, case) in cases.iter().enumerate() {
        check(case, index as u64 + 1);
    }
}

fn number(modifier: M) -> usize {
    modifier.text().parse().unwrap()
}

/// Rows and depth of a shape suffix.
pub fn sizes(modifier: M) -> (usize, usize) {
    let text = number(modifier).to_string();
    match text.strip_prefix("168") {
        Some(depth) => (16, depth.parse().unwrap()),
        None => (8, text.strip_prefix("88").unwrap().parse().unwrap()),
    }
}

#[test]
fn halves_of_every_architecture() {
    let mut cases = Vec::new();
    let shapes = [
        (Sm75, M::N1688, Kind::Half),
        (Sm80, M::N1688, Kind::Half),
        (Sm86, M::N16816, Kind::Half),
        (Sm90, M::N16816, Kind::Half),
        (Sm80, M::N1688, Kind::Brain),
        (Sm89, M::N16816, Kind::Brain),
        (Sm90, M::N16816, Kind::Brain),
        (Sm80, M::N1684, Kind::Tf32),
        (Sm86, M::N1688, Kind::Tf32),
        (Sm90, M::N1688, Kind::Tf32),
    ];
    for (architecture, shape, kind) in shapes {
        for accumulator in [Accumulator::Single, Accumulator::Half] {
            if kind != Kind::Half && accumulator == Accumulator::Half {
                continue;
            }
            let (m, k) = sizes(shape);
            let single = accumulator == Accumulator::Single;
            let mut modifiers = vec![shape, if single { M::F32 } else { M::F16 }];
            modifiers.extend(match kind {
                Kind::Brain => Some(M::BF16),
                Kind::Tf32 => Some(M::TF32),
                _ => None,
            });
            cases.push(Case {
                architecture,
                opcode: Opcode::HMMA,
                modifiers,
                m,
                k,
                a: kind,
                b: kind,
                c: Some(accumulator),
                sparse: None,
            });
        }
    }
    check_all(cases);
}

#[test]
fn sparse_halves() {
    let mut cases = Vec::new();
    let shapes = [
        (M::N16816, Kind::Half, 4),
        (M::N16832, Kind::Half, 2),
        (M::N16816, Kind::Brain, 4),
        (M::N16832, Kind::Brain, 2),
        (M::N1688, Kind::Tf32, 4),
        (M::N16816, Kind::Tf32, 2),
    ];
    for architecture in [Sm80, Sm86, Sm89, Sm90] {
        for (shape, kind, selectors) in shapes {
            for selector in 0..selectors {
                let (m, k) = sizes(shape);
                let mut modifiers = vec![M::SP, shape, M::F32];
                modifiers.extend(match kind {
                    Kind::Brain => Some(M::BF16),
                    Kind::Tf32 => Some(M::TF32),
                    _ => None,
                });
                cases.push(Case {
                    architecture,
                    opcode: Opcode::HMMA,
                    modifiers,
                    m,
                    k,
                    a: kind,
                    b: kind,
                    c: Some(Accumulator::Single),
                    sparse: Some(selector),
                });
            }
        }
    }
    check_all(cases);
}

#[test]
fn quarters() {
    let mut cases = Vec::new();
    for (shape, selector) in [(M::N16816, None), (M::N16832, None), (M::N16864, Some(0))] {
        for a in [Kind::E4m3, Kind::E5m2] {
            for b in [Kind::E4m3, Kind::E5m2] {
                let name = |kind| if kind == Kind::E4m3 { M::E4M3 } else { M::E5M2 };
                let (m, k) = sizes(shape);
                let mut modifiers = vec![shape, M::F32, name(a), name(b)];
                if selector.is_some() {
                    modifiers.insert(0, M::SP);
                }
                cases.push(Case {
                    architecture: Sm89,
                    opcode: Opcode::QMMA,
                    modifiers,
                    m,
                    k,
                    a,
                    b,
                    c: Some(Accumulator::Single),
                    sparse: selector,
                });
            }
        }
    }
    check_all(cases);
}

#[test]
fn integers() {
    let mut cases = Vec::new();
    let eights = [Kind::Signed8, Kind::Unsigned8];
    let fours = [Kind::Signed4, Kind::Unsigned4];
    let shapes: [(M, &[Kind; 2], u8); 10] = [
        (M::N8816, &eights, 0),
        (M::N16816, &eights, 0),
        (M::N16832, &eights, 0),
        (M::N8832, &fours, 0),
        (M::N16832, &fours, 0),
        (M::N16864, &fours, 0),
        (M::N16832, &eights, 2),
        (M::N16864, &eights, 1),
        (M::N16864, &fours, 2),
        (M::N168128, &fours, 1),
    ];
    let name = |kind| match kind {
        Kind::Signed8 => M::S8,
        Kind::Unsigned8 => M::U8,
        Kind::Signed4 => M::S4,
        _ => M::U4,
    };
    for (shape, kinds, selectors) in shapes {
        for &a in kinds {
            for &b in kinds {
                let (m, k) = sizes(shape);
                let choices: Vec<Option<u8>> = match selectors {
                    0 => vec![None],
                    count => (0..count).map(Some).collect(),
                };
                for sparse in choices {
                    let mut modifiers = vec![shape, name(a), name(b)];
                    if sparse.is_some() {
                        modifiers.insert(0, M::SP);
                    }
                    let architecture = if m == 8 { Sm75 } else { Sm86 };
                    cases.push(Case {
                        architecture,
                        opcode: Opcode::IMMA,
                        modifiers,
                        m,
                        k,
                        a,
                        b,
                        c: None,
                        sparse,
                    });
                }
            }
        }
    }
    check_all(cases);
}

#[test]
fn bits_and_doubles() {
    let mut cases = Vec::new();
    for shape in [M::N88128, M::N168128, M::N168256] {
        for op in [M::XOR, M::AND] {
            let (m, k) = sizes(shape);
            cases.push(Case {
                architecture: if m == 8 { Sm75 } else { Sm80 },
                opcode: Opcode::BMMA,
                modifiers: vec![shape, op, M::POPC],
                m,
                k,
                a: Kind::Bit,
                b: Kind::Bit,
                c: None,
                sparse: None,
            });
        }
    }
    let doubles = [
        (Sm80, M::N884, 8, 4),
        (Sm90, M::N8x8x4, 8, 4),
        (Sm90, M::N16x8x4, 16, 4),
        (Sm90, M::N16x8x8, 16, 8),
        (Sm90, M::N16x8x16, 16, 16),
    ];
    for (architecture, shape, m, k) in doubles {
        cases.push(Case {
            architecture,
            opcode: Opcode::DMMA,
            modifiers: vec![shape],
            m,
            k,
            a: Kind::Double,
            b: Kind::Double,
            c: Some(Accumulator::Double),
            sparse: None,
        });
    }
    check_all(cases);
}

/// Row and column of A and B of mma.m8n8k4 in a lane, and of the accumulator in both types, as the PTX
/// manual tables them.
mod quad {
    pub fn a(by_column: bool, lane: usize, i: usize) -> (usize, usize) {
        let upper = if lane < 16 { 0 } else { 4 };
        if by_column {
            (i % 4 + upper, lane % 4)
        } else {
            (lane % 4 + upper, i)
        }
    }

    pub fn b(by_column: bool, lane: usize, i: usize) -> (usize, usize) {
        let upper = if lane < 16 { 0 } else { 4 };
        if by_column {
            (i, lane % 4 + upper)
        } else {
            (lane % 4, i + upper)
        }
    }

    pub fn c(single: bool, lane: usize, i: usize) -> (usize, usize) {
        let upper = if lane < 16 { 0 } else { 4 };
        if single {
            let x = (lane & 1) + (i & 2);
            (x + upper, (i & 4) + (lane & 2) + (i & 1))
        } else {
            (lane % 4 + upper, i)
        }
    }
}

#[test]
fn quad_pairs_of_turing() {
    let steps = [M::STEP0, M::STEP1, M::STEP2, M::STEP3];
    for (single_out, single_in) in [(true, true), (true, false), (false, false)] {
        for layouts in 0..4 {
            let (a_column, b_column) = (layouts & 1 == 1, layouts & 2 == 2);
            let mut random = Random::new(900 + layouts);
            // One product for each pair of quads.
            let mut matrix = |rows: usize, columns: usize| -> Vec<Matrix> {
                let mut row = || {
                    (0..columns)
                        .map(|_| Kind::Half.random(&mut random))
                        .collect()
                };
                (0..4).map(|_| (0..rows).map(|_| row()).collect()).collect()
            };
            let (a, b, c) = (matrix(8, 4), matrix(4, 8), matrix(8, 8));
            let mut w = warp();
            for lane in 0..32 {
                let quad = lane % 16 / 4;
                for i in 0..4 {
                    let (row, column) = quad::a(a_column, lane, i);
                    put(
                        &mut w,
                        A,
                        lane,
                        i,
                        16,
                        Kind::Half.encode(a[quad][row][column]),
                    );
                    let (row, column) = quad::b(b_column, lane, i);
                    put(
                        &mut w,
                        B,
                        lane,
                        i,
                        16,
                        Kind::Half.encode(b[quad][row][column]),
                    );
                }
                for i in 0..8 {
                    let (row, column) = quad::c(single_in, lane, i);
                    let value = c[quad][row][column];
                    if single_in {
                        put(&mut w, C, lane, i, 32, Kind::Tf32.encode(value));
                    } else {
                        put(&mut w, C, lane, i, 16, Kind::Half.encode(value));
                    }
                }
            }
            let select = |column| if column { Select::Col } else { Select::Row };
            // Destinations and accumulators as the compiler orders them.
            let count = if single_out { 4 } else { 2 };
            let mut after = w;
            for step in 0..count {
                let c_row = match (single_out, single_in) {
                    (true, false) => C + 2 * (step / 2),
                    _ => C + 2 * step,
                };
                let operands: [Operand; 4] = [
                    r((D + 2 * step) as u8),
                    selected(A as u8, select(a_column)),
                    selected(B as u8, select(b_column)),
                    r(c_row as u8),
                ];
                let name = |single| if single { M::F32 } else { M::F16 };
                let modifiers = [M::N884, name(single_out), name(single_in), steps[step]];
                let i = Instruction {
                    architecture: Sm75,
                    ..instruction(Opcode::HMMA, &modifiers, &operands)
                };
                after = run(&i, &after);
            }
            for lane in 0..32 {
                let quad = lane % 16 / 4;
                for i in 0..8 {
                    let (row, column) = quad::c(single_out, lane, i);
                    let expected = c[quad][row][column]
                        + (0..4)
                            .map(|l| a[quad][row][l] * b[quad][l][column])
                            .sum::<i64>();
                    let found = if single_out {
                        f32::from_bits(after.registers[D + i][lane]) as i64
                    } else {
                        let word = after.registers[D + i / 2][lane];
                        crate::rounding::half_to_f32(word >> (16 * (i % 2)) & 0xffff) as i64
                    };
                    assert_eq!(
                        found, expected,
                        "{single_out} {single_in} {layouts}: lane {lane}"
                    );
                }
            }
        }
    }
}

/// What an architecture does not have is refused by name.
#[test]
fn absent_types_are_refused() {
    let refused = [
        (Sm75, Opcode::HMMA, vec![M::N16816, M::F32, M::BF16]),
        (Sm75, Opcode::HMMA, vec![M::N1688, M::F32, M::TF32]),
        (
            Sm86,
            Opcode::QMMA,
            vec![M::N16832, M::F32, M::E4M3, M::E4M3],
        ),
        (
            Sm90,
            Opcode::QMMA,
            vec![M::N16832, M::F32, M::E4M3, M::E4M3],
        ),
    ];
    let banks = Banks::new();
    for (architecture, opcode, modifiers) in refused {
        let i = Instruction {
            architecture,
            ..instruction(opcode, &modifiers, &[r(0), r(8), r(24), r(32)])
        };
        let context = Context {
            pc: 0,
            registers: REGISTERS,
            banks: &banks,
        };
        let reason = lower(&i, context).unwrap_err().to_string();
        assert!(
            reason.contains(&architecture.to_string()),
            "{opcode:?} {modifiers:?}: {reason}"
        );
    }
}
