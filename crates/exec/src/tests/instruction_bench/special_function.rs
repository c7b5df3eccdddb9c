//! The multi-function unit: exact special cases and the error bounds that `special_function` states,
//! against the host's double-precision functions. FCHK: true wherever the fast division is unsafe.

use sass::{Adjust, Instruction, Modifier as M, Select};

use super::lane::Lane;

/// The number of a short float or single.
fn value(bits: u32, name: &str) -> f64 {
    match name {
        "F16" => half::f16::from_bits(bits as u16).to_f64(),
        "BF16" => half::bf16::from_bits(bits as u16).to_f64(),
        _ => f64::from(f32::from_bits(bits)),
    }
}

/// What the machine must come near to, from a source without denormals.
fn exact(function: &str, x: f64) -> f64 {
    let turns = x - x.round();
    match function {
        "COS" => (turns * std::f64::consts::TAU).cos(),
        "SIN" => (turns * std::f64::consts::TAU).sin(),
        "EX2" => x.exp2(),
        "LG2" => x.log2(),
        "RCP" => 1.0 / x,
        "RSQ" => 1.0 / x.sqrt(),
        "SQRT" => x.sqrt(),
        "TANH" => x.tanh(),
        other => panic!("MUFU.{other}"),
    }
}

/// Largest error of a single: absolute, and relative to the exact value (PTX ISA, `sin.approx.f32`
/// and the like; sine and cosine on arguments of up to one turn).
fn bounds(function: &str, x: f64) -> (f64, f64) {
    let power = |n: i32| 2f64.powi(n);
    match function {
        "COS" | "SIN" => (power(-20) * x.abs().max(1.0), 0.0),
        "EX2" => (0.0, power(-22)),
        "LG2" if (0.5..2.0).contains(&x) => (power(-22), 0.0),
        "LG2" => (0.0, power(-22)),
        "RCP" | "SQRT" => (0.0, power(-23)),
        "RSQ" => (0.0, power(-22)),
        "TANH" => (0.0, power(-11)),
        other => panic!("MUFU.{other}"),
    }
}

fn check_seed(instruction: &Instruction, high: u32, found: u32) {
    let x = f64::from_bits(u64::from(high) << 32);
    let root = instruction.has(M::RSQ64H);
    let sign = high & 0x8000_0000;
    let expected = match x {
        x if x.is_nan() || root && x < 0.0 && x.is_normal() => Some(0x7fff_ffff),
        x if root && x == f64::NEG_INFINITY => Some(0x7fff_ffff),
        x if x == 0.0 || x.is_subnormal() => Some(sign | 0x7ff0_0000),
        x if x.is_infinite() => Some(sign),
        _ => None,
    };
    if let Some(expected) = expected {
        assert_eq!(found, expected, "{} of {x:e}", instruction.display(0));
        return;
    }
    let y = f64::from_bits(u64::from(found) << 32);
    let exact = if root { 1.0 / x.sqrt() } else { 1.0 / x };
    // A seed of 20 bits; quotients below the least normal number become zero.
    let near = (y - exact).abs() <= exact.abs() * 2f64.powi(-20);
    let flushed = y == 0.0 && exact.abs() < 2.0 * f64::MIN_POSITIVE;
    assert!(
        near || flushed,
        "{} of {x:e}: {y:e}",
        instruction.display(0)
    );
}

/// Checks one result of MUFU.
pub fn check(instruction: &Instruction, l: &mut Lane<'_>, found: u32) {
    l.destination();
    let (word, adjust, select) = l.raw();
    let name = ["F16", "BF16"]
        .into_iter()
        .find(|n| l.named(n))
        .unwrap_or("F32");
    let (bits, top) = match (name, select) {
        ("F32", _) => (word, 0x8000_0000),
        (_, Select::H1 | Select::H1H1) => (word >> 16, 0x8000),
        _ => (word & 0xffff, 0x8000),
    };
    let Adjust {
        negate, absolute, ..
    } = adjust;
    let bits = if absolute { bits & !top } else { bits };
    let bits = if negate { bits ^ top } else { bits };
    if l.has(M::RCP64H) || l.has(M::RSQ64H) {
        return check_seed(instruction, bits, found);
    }
    let function = instruction.modifiers[0].text();
    let single = name == "F32";
    let x = value(bits, name);
    // Denormal singles count as zero.
    let x = if single && (x as f32).is_subnormal() {
        0f64.copysign(x)
    } else {
        x
    };
    let text = || {
        format!(
            "{} of {x:e} ({bits:#x}): {found:#x}",
            instruction.display(0)
        )
    };
    let expected = exact(function, x);
    if expected.is_nan() {
        let nan = if single { 0x7fff_ffff } else { 0x7fff };
        assert_eq!(found, nan, "{}", text());
        return;
    }
    let y = value(found, name);
    let (least, most, unit) = match name {
        "F16" => (2f64.powi(-14), 65504.0, 2f64.powi(-10)),
        "BF16" => (
            f64::from(f32::MIN_POSITIVE),
            3.3895313892515355e38,
            2f64.powi(-7),
        ),
        _ => (
            f64::from(f32::MIN_POSITIVE),
            f64::from(f32::MAX),
            2f64.powi(-24),
        ),
    };
    if expected == 0.0 || expected.is_infinite() {
        assert!(y == expected, "{}", text());
        // Zeros keep their sign where the function is odd.
        if expected == 0.0 && matches!(function, "RCP" | "SQRT" | "TANH") {
            assert_eq!(
                y.is_sign_negative(),
                expected.is_sign_negative(),
                "{}",
                text()
            );
        }
        return;
    }
    if expected.abs() > most {
        assert!(
            y == f64::INFINITY.copysign(expected) || y.abs() == most,
            "{}",
            text()
        );
    } else if single && expected.abs() < least {
        assert!(y == 0.0 || y.abs() == least, "{}", text());
    } else {
        let (absolute, relative) = if single {
            bounds(function, x)
        } else {
            // Sine and cosine near their zeros are as exact as near one.
            let absolute = if matches!(function, "SIN" | "COS") {
                unit
            } else {
                least * unit
            };
            (absolute, unit)
        };
        let error = (y - expected).abs();
        assert!(
            error <= absolute + relative * expected.abs(),
            "{} is off by {error:e} from {expected:e}",
            text()
        );
    }
}

/// What FCHK must say of a / b, where only one answer is right: whether the fast division (a
/// reciprocal, a quotient and fused corrections) would be wrong.
pub fn must_check(a: u32, b: u32) -> Option<bool> {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    if !x.is_normal() && x != 0.0 || !y.is_normal() {
        return Some(true);
    }
    let exponent = |v: u32| (v >> 23 & 0xff) as i32 - 127;
    let quotient = exponent(a) - exponent(b);
    if !(-125..=126).contains(&quotient) {
        Some(true)
    } else if exponent(a).abs() < 64 && exponent(b).abs() < 62 {
        Some(false)
    } else {
        None
    }
}
