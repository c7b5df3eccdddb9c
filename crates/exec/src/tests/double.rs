//! Double precision against soft floats of arbitrary rounding.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::Double;
use sass::{Modifier as M, Opcode};

use super::float::ROUNDINGS;
use super::*;

const DOUBLES: [u64; 22] = [
    0,
    1 << 63,
    1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0001,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3fef_ffff_ffff_ffff,
    0x4000_0000_0000_0000,
    0x3ca0_0000_0000_0000,
    0x4340_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_1234,
    0x2000_0000_0000_0000,
    0x5fe0_0000_0000_0000,
    0x1e60_0000_0000_0001,
];

fn cases(random: usize) -> Vec<(u64, u64, u64)> {
    let mut cases = Vec::new();
    for &a in &DOUBLES {
        for &b in &DOUBLES {
            for &c in &DOUBLES {
                cases.push((a, b, c));
            }
        }
    }
    let mut source = Random::new(9);
    let number = |source: &mut Random| match source.word() % 3 {
        0 => source.wide(),
        1 => 0x3ff0_0000_0000_0000 + source.wide() % (1 << 53),
        _ => source.wide() & 0x803f_ffff_ffff_ffff,
    };
    for _ in 0..random {
        let (a, b) = (number(&mut source), number(&mut source));
        let c = if source.word().is_multiple_of(3) {
            let product = f64::from_bits(a) * f64::from_bits(b);
            (-product)
                .to_bits()
                .wrapping_add(source.wide() % 5)
                .wrapping_sub(2)
        } else {
            number(&mut source)
        };
        cases.push((a, b, c));
    }
    cases
}

fn check(
    opcode: Opcode,
    modifiers: &[M],
    cases: &[(u64, u64, u64)],
    operands: &[Operand],
    reference: impl Fn(Double, Double, Double) -> Double,
) {
    let i = instruction(opcode, modifiers, operands);
    in_warps(cases, |lanes| {
        let mut w = warp();
        set_wide(&mut w, 2, |i| lanes[i].0);
        set_wide(&mut w, 4, |i| lanes[i].1);
        set_wide(&mut w, 6, |i| lanes[i].2);
        let after = run(&i, &w);
        for (lane, &(a, b, c)) in lanes.iter().enumerate() {
            let number = |bits: u64| Double::from_bits(u128::from(bits));
            let value = reference(number(a), number(b), number(c));
            let expected = if value.is_nan() {
                0xfff8_0000_0000_0000
            } else {
                value.to_bits() as u64
            };
            let found = wide(&after, 0, lane);
            assert_eq!(
                found,
                expected,
                "{} of {a:#x} {b:#x} {c:#x}: {found:#x}, not {expected:#x}",
                i.display(0)
            );
        }
    });
}

#[test]
fn sums_products_and_fused_products_in_every_rounding() {
    let cases = cases(6000);
    for (modifier, round) in ROUNDINGS {
        let modifiers: Vec<M> = modifier.into_iter().collect();
        check(
            Opcode::DADD,
            &modifiers,
            &cases,
            &[r(0), r(2), r(4)],
            |a, b, _| a.add_r(b, round).value,
        );
        check(
            Opcode::DMUL,
            &modifiers,
            &cases,
            &[r(0), r(2), r(4)],
            |a, b, _| a.mul_r(b, round).value,
        );
        check(
            Opcode::DFMA,
            &modifiers,
            &cases,
            &[r(0), r(2), r(4), minus(6)],
            |a, b, c| a.mul_add_r(b, -c, round).value,
        );
    }
}

#[test]
fn comparisons_and_choices() {
    let compare = |modifier: M| {
        instruction(
            Opcode::DSETP,
            &[modifier, M::AND],
            &[p(0, false), p(1, false), r(2), r(4), pt()],
        )
    };
    in_warps(&cases(100), |lanes| {
        let mut w = warp();
        set_wide(&mut w, 2, |i| lanes[i].0);
        set_wide(&mut w, 4, |i| lanes[i].1);
        let less = run(&compare(M::LT), &w);
        let not_equal = run(&compare(M::NEU), &w);
        let minimum = run(&compare(M::MIN), &w);
        let maximum = run(&compare(M::MAX), &w);
        for (lane, &(a, b, _)) in lanes.iter().enumerate() {
            let (x, y) = (f64::from_bits(a), f64::from_bits(b));
            let get = |w: &Warp, k: usize| w.predicates[k] >> lane & 1 == 1;
            assert_eq!(get(&less, 0), x < y);
            assert_eq!(get(&less, 1), !(x < y));
            assert_eq!(get(&not_equal, 0), x != y);
            // What the compiler makes of the choice: a or b, quieted if b was taken and is NaN.
            for (w, smaller) in [(&minimum, true), (&maximum, false)] {
                let chosen = if get(w, 0) { x } else { y };
                let expected = if smaller { x.min(y) } else { x.max(y) };
                assert!(chosen == expected || chosen.is_nan() && expected.is_nan());
                assert_eq!(get(w, 1), !get(w, 0) && y.is_nan());
            }
        }
    });
}
