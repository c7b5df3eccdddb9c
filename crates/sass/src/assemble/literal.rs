//! Literals: text to the bits that the hardware uses. The inverse of how `display` writes them.

use super::cursor::Cursor;
use crate::display::half_value;
use crate::operand::ImmediateKind;

/// Reads a literal of a field of `width` bits as `kind`: the bits of the field.
pub(crate) fn literal(cursor: &mut Cursor<'_>, kind: ImmediateKind, width: u32) -> Option<u64> {
    cursor.blanks();
    let start = cursor.at();
    match kind {
        ImmediateKind::Signed | ImmediateKind::Unsigned => {
            let value = cursor.integer("a number")?;
            let bits = in_width(value, width);
            if bits.is_none() {
                cursor.back(start);
                return cursor.miss(format!("a number of {width} bits"));
            }
            bits
        }
        // Raw bits of a floating literal.
        _ if is_hexadecimal(cursor.rest()) => {
            let value = cursor.integer("a number")?;
            let bits = in_width(value, width);
            if bits.is_none() {
                cursor.back(start);
                return cursor.miss(format!("a number of {width} bits"));
            }
            bits
        }
        ImmediateKind::Float32 => Some(single(cursor)?.into()),
        ImmediateKind::Float64High => {
            let value = double(cursor)?;
            if value as u32 != 0 {
                cursor.back(start);
                return cursor.miss("a double whose lower 32 bits are zero");
            }
            Some(value >> 32)
        }
        ImmediateKind::Float16 => Some(half(cursor)?.into()),
        ImmediateKind::BFloat16 => Some(brain(cursor)?.into()),
        ImmediateKind::Float16Pair => pair(cursor, half),
        ImmediateKind::BFloat16Pair => pair(cursor, brain),
    }
}

/// `value` as a field of `width` bits, signed or unsigned.
pub(crate) fn in_width(value: i128, width: u32) -> Option<u64> {
    let (lowest, highest) = (-(1i128 << (width.max(1) - 1)), (1i128 << width) - 1);
    (lowest..=highest)
        .contains(&value)
        .then_some((value & highest) as u64)
}

fn is_hexadecimal(text: &str) -> bool {
    text.starts_with("0x") || text.starts_with("0X")
}

fn pair(cursor: &mut Cursor<'_>, one: fn(&mut Cursor<'_>) -> Option<u16>) -> Option<u64> {
    let high = one(cursor)?;
    cursor.demand(",")?;
    let low = one(cursor)?;
    Some(u64::from(high) << 16 | u64::from(low))
}

/// What a number's text can be: a value, or a NaN by sign and kind.
enum Float<'a> {
    Number(&'a str),
    Nan { negative: bool, signalling: bool },
}

fn float<'a>(cursor: &mut Cursor<'a>) -> Option<Float<'a>> {
    cursor.blanks();
    let start = cursor.at();
    let rest = cursor.rest();
    let mut length = 0;
    let mut previous = ' ';
    for c in rest.chars() {
        let sign = matches!(c, '+' | '-') && (length == 0 || matches!(previous, 'e' | 'E'));
        if !(c.is_ascii_alphanumeric() || c == '.' || sign) {
            break;
        }
        previous = c;
        length += c.len_utf8();
    }
    let text = &rest[..length];
    cursor.back(start + length);
    let (sign, name) = match text.strip_prefix('-') {
        Some(name) => (true, name),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    match name {
        "QNAN" | "NAN" => Some(Float::Nan {
            negative: sign,
            signalling: false,
        }),
        "SNAN" => Some(Float::Nan {
            negative: sign,
            signalling: true,
        }),
        "INF" => Some(Float::Number(text)),
        _ if name.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && text.parse::<f64>().is_ok() =>
        {
            Some(Float::Number(text))
        }
        _ => {
            cursor.back(start);
            cursor.miss("a floating-point number")
        }
    }
}

/// A NaN: all exponent bits, the quiet bit or (as the vendor's compiler writes a signalling one) the
/// lowest bit of the fraction, sign.
fn nan(negative: bool, signalling: bool, fraction: u32, width: u32) -> u64 {
    let exponent = ((1u64 << (width - 1 - fraction)) - 1) << fraction;
    let kind = if signalling { 1 } else { 1 << (fraction - 1) };
    u64::from(negative) << (width - 1) | exponent | kind
}

fn single(cursor: &mut Cursor<'_>) -> Option<u32> {
    match float(cursor)? {
        Float::Nan {
            negative,
            signalling,
        } => Some(nan(negative, signalling, 23, 32) as u32),
        Float::Number(text) => text.parse::<f32>().ok().map(f32::to_bits),
    }
}

fn double(cursor: &mut Cursor<'_>) -> Option<u64> {
    match float(cursor)? {
        Float::Nan {
            negative,
            signalling,
        } => {
            let high = nan(negative, signalling, 20, 32);
            // Here the compiler sets the lowest bit of the upper fraction halfword.
            let high = if signalling {
                high << 15 & 0x1_0000 | high & !1
            } else {
                high
            };
            Some(high << 32)
        }
        Float::Number(text) => text.parse::<f64>().ok().map(f64::to_bits),
    }
}

/// Half precision, rounded to the nearest, ties to even.
fn half(cursor: &mut Cursor<'_>) -> Option<u16> {
    const INFINITY: u16 = 0x7c00;
    let value = match float(cursor)? {
        Float::Nan {
            negative,
            signalling,
        } => return Some(nan(negative, signalling, 10, 16) as u16),
        Float::Number(text) => text.parse::<f64>().ok()?,
    };
    let sign = u16::from(value.is_sign_negative()) << 15;
    let magnitude = value.abs();
    if magnitude.is_infinite() {
        return Some(sign | INFINITY);
    }
    // Positive half-precision numbers are in the order of their bits.
    let (mut below, mut above) = (0u16, INFINITY);
    while above - below > 1 {
        let middle = below + (above - below) / 2;
        if half_value(middle) <= magnitude {
            below = middle;
        } else {
            above = middle;
        }
    }
    let lower = magnitude - half_value(below);
    // Beyond the largest number the next step would have been 65536.
    let next = if above == INFINITY {
        65536.0
    } else {
        half_value(above)
    };
    let upper = next - magnitude;
    let rounded = if lower < upper || lower == upper && below.is_multiple_of(2) {
        below
    } else {
        above
    };
    Some(sign | rounded)
}

/// Brain float, rounded to the nearest, ties to even.
fn brain(cursor: &mut Cursor<'_>) -> Option<u16> {
    let bits = match float(cursor)? {
        Float::Nan {
            negative,
            signalling,
        } => return Some(nan(negative, signalling, 7, 16) as u16),
        Float::Number(text) => text.parse::<f32>().ok()?.to_bits(),
    };
    let odd = bits >> 16 & 1;
    Some((bits.saturating_add(0x7fff + odd) >> 16) as u16)
}
