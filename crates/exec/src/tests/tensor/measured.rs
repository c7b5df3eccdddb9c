//! Results that GPUs gave, from the validation data of Khattak and Mikaitis (`measured/README.md`).

use sass::{Architecture, Instruction, Modifier as M, Opcode};

use super::super::*;
use super::layout::{Kind, place_a, place_b, place_c, put, sizes};
use crate::rounding::f32_to_half;
use Architecture::{Sm80, Sm86, Sm89, Sm90};

const D: usize = 0;
const A: usize = 8;
const B: usize = 16;
const C: usize = 24;

/// Elements of `digits` hexadecimal digits each.
fn elements(text: &str, digits: usize) -> Vec<u64> {
    text.as_bytes()
        .chunks(digits)
        .map(|chunk| u64::from_str_radix(std::str::from_utf8(chunk).unwrap(), 16).unwrap())
        .collect()
}

/// Row 0 of A times column 0 of B, all other elements zero, added to an accumulator.
pub fn inner_product(
    architecture: Architecture,
    shape: M,
    kind: Kind,
    single: bool,
    (a, b, c): (&[u64], &[u64], u64),
) -> u64 {
    let (_, k) = sizes(shape);
    let mut w = warp();
    for lane in 0..32 {
        for i in 0..16 * k / 32 {
            let (row, column) = place_a(16, kind.bits(), lane, i);
            if row == 0 && column < a.len() {
                put(&mut w, A, lane, i, kind.bits(), a[column]);
            }
        }
        for i in 0..8 * k / 32 {
            let (row, column) = place_b(kind.bits(), lane, i);
            if column == 0 && row < b.len() {
                put(&mut w, B, lane, i, kind.bits(), b[row]);
            }
        }
        for i in 0..4 {
            if place_c(lane, i) == (0, 0) {
                put(&mut w, C, lane, i, if single { 32 } else { 16 }, c);
            }
        }
    }
    let mut modifiers = vec![shape, if single { M::F32 } else { M::F16 }];
    let opcode = match kind {
        Kind::E4m3 | Kind::E5m2 => {
            let name = if kind == Kind::E4m3 { M::E4M3 } else { M::E5M2 };
            modifiers.extend([name, name]);
            Opcode::QMMA
        }
        _ => Opcode::HMMA,
    };
    modifiers.extend(match kind {
        Kind::Brain => Some(M::BF16),
        Kind::Tf32 => Some(M::TF32),
        _ => None,
    });
    let operands = [r(D as u8), r(A as u8), r(B as u8), r(C as u8)];
    let i = Instruction {
        architecture,
        ..instruction(opcode, &modifiers, &operands)
    };
    let after = run(&i, &w);
    let word = u64::from(after.registers[D][0]);
    if single { word } else { word & 0xffff }
}

/// Compares every row of a file.
fn check(architecture: Architecture, shape: M, kind: Kind, rows: &str) {
    let mut count = 0;
    for row in rows.lines() {
        let fields: Vec<&str> = row.split(' ').collect();
        let digits = kind.bits() / 4;
        let (a, b) = (elements(fields[0], digits), elements(fields[1], digits));
        let c = elements(fields[2], 8)[0];
        let found = inner_product(architecture, shape, kind, true, (&a, &b, c));
        assert_eq!(
            found,
            elements(fields[3], 8)[0],
            "{architecture:?} {kind:?}: {row}"
        );
        if let Some(half) = fields.get(4) {
            let c = u64::from(f32_to_half(f32::from_bits(c as u32)));
            let found = inner_product(architecture, shape, kind, false, (&a, &b, c));
            assert_eq!(
                found,
                elements(half, 4)[0],
                "{architecture:?} {kind:?}, half: {row}"
            );
        }
        count += 1;
    }
    assert_eq!(count, 40);
}

#[test]
fn ampere_data_center() {
    check(
        Sm80,
        M::N16816,
        Kind::Half,
        include_str!("measured/a100_fp16.txt"),
    );
    check(
        Sm80,
        M::N16816,
        Kind::Brain,
        include_str!("measured/a100_bf16.txt"),
    );
    check(
        Sm80,
        M::N1688,
        Kind::Tf32,
        include_str!("measured/a100_tf32.txt"),
    );
}

#[test]
fn ampere() {
    check(
        Sm86,
        M::N16816,
        Kind::Half,
        include_str!("measured/a2_fp16.txt"),
    );
    check(
        Sm86,
        M::N1688,
        Kind::Tf32,
        include_str!("measured/a2_tf32.txt"),
    );
}

#[test]
fn ada() {
    check(
        Sm89,
        M::N16816,
        Kind::Half,
        include_str!("measured/ada_fp16.txt"),
    );
    check(
        Sm89,
        M::N16816,
        Kind::Brain,
        include_str!("measured/ada_bf16.txt"),
    );
    check(
        Sm89,
        M::N1688,
        Kind::Tf32,
        include_str!("measured/ada_tf32.txt"),
    );
    check(
        Sm89,
        M::N16832,
        Kind::E4m3,
        include_str!("measured/ada_e4m3.txt"),
    );
    check(
        Sm89,
        M::N16832,
        Kind::E5m2,
        include_str!("measured/ada_e5m2.txt"),
    );
    check(
        Sm89,
        M::N16816,
        Kind::Half,
        include_str!("measured/l40s_fp16.txt"),
    );
    check(
        Sm89,
        M::N16832,
        Kind::E4m3,
        include_str!("measured/l40s_e4m3.txt"),
    );
}

#[test]
fn hopper() {
    check(
        Sm90,
        M::N16816,
        Kind::Half,
        include_str!("measured/h100_fp16.txt"),
    );
    check(
        Sm90,
        M::N16816,
        Kind::Brain,
        include_str!("measured/h100_bf16.txt"),
    );
    check(
        Sm90,
        M::N1688,
        Kind::Tf32,
        include_str!("measured/h100_tf32.txt"),
    );
}
