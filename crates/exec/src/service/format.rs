//! The conversions of C's `printf` as the host's library prints them: flags, width, precision and
//! length of d i u o x X c s p f F e E g G a A and %%.

/// Where a format's arguments come from, as the compiler laid them out: integers of 32 bits, and
/// integers, doubles and pointers of 64.
pub(crate) trait Arguments {
    /// The next 32-bit argument.
    fn word(&mut self) -> u32;
    /// The next 64-bit argument.
    fn wide(&mut self) -> u64;
    /// The string that a pointer argument, not null, points to.
    fn string(&mut self, address: u64) -> Vec<u8>;
}

/// Flags, width and precision of a conversion.
#[derive(Clone, Copy, Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternative: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Bits of an integer argument as its length says: 8, 16, 32 or 64.
    bits: u32,
}

/// Widest field: what a buffer of `printf` could hold.
const WIDEST: usize = 1 << 20;

/// What `format` prints, and how many arguments it took.
pub(crate) fn format(format: &[u8], arguments: &mut impl Arguments) -> (Vec<u8>, u32) {
    let mut out = Vec::with_capacity(format.len() + 16);
    let mut taken = 0;
    let mut rest = format;
    while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
        out.extend_from_slice(&rest[..at]);
        let from = &rest[at..];
        let (conversion, letter, length) = parse(from, arguments, &mut taken);
        rest = &from[length..];
        match letter {
            Some(b'%') => out.push(b'%'),
            Some(letter) if convert(letter, conversion, arguments, &mut out) => taken += 1,
            // Not a conversion: as it stands.
            _ => out.extend_from_slice(&from[..length]),
        }
    }
    out.extend_from_slice(rest);
    (out, taken)
}

/// Reads a conversion from its `%` on: what it says, its letter, its length in bytes.
fn parse(
    text: &[u8],
    arguments: &mut impl Arguments,
    taken: &mut u32,
) -> (Conversion, Option<u8>, usize) {
    let mut conversion = Conversion {
        bits: 32,
        ..Conversion::default()
    };
    let mut at = 1;
    let peek = |at: usize| text.get(at).copied();
    loop {
        match peek(at) {
            Some(b'-') => conversion.left = true,
            Some(b'+') => conversion.plus = true,
            Some(b' ') => conversion.space = true,
            Some(b'#') => conversion.alternative = true,
            Some(b'0') => conversion.zero = true,
            _ => break,
        }
        at += 1;
    }
    let mut number = |at: &mut usize| -> i64 {
        if peek(*at) == Some(b'*') {
            *at += 1;
            *taken += 1;
            return i64::from(arguments.word() as i32);
        }
        let mut value = 0i64;
        while let Some(digit @ b'0'..=b'9') = peek(*at) {
            value = (value * 10 + i64::from(digit - b'0')).min(WIDEST as i64);
            *at += 1;
        }
        value
    };
    let width = number(&mut at);
    conversion.left |= width < 0;
    conversion.width = (width.unsigned_abs() as usize).min(WIDEST);
    if peek(at) == Some(b'.') {
        at += 1;
        let precision = number(&mut at);
        conversion.precision = (precision >= 0).then_some((precision as usize).min(WIDEST));
    }
    loop {
        match peek(at) {
            Some(b'h') => conversion.bits = if conversion.bits == 16 { 8 } else { 16 },
            Some(b'l' | b'z' | b'j' | b't' | b'q' | b'L') => conversion.bits = 64,
            letter => return (conversion, letter, at + letter.is_some() as usize),
        }
        at += 1;
    }
}

/// Converts the next argument; whether the letter is a conversion.
fn convert(
    letter: u8,
    conversion: Conversion,
    arguments: &mut impl Arguments,
    out: &mut Vec<u8>,
) -> bool {
    let unused = 64 - conversion.bits;
    let unsigned = |arguments: &mut dyn Arguments| {
        let value = if conversion.bits == 64 {
            arguments.wide()
        } else {
            u64::from(arguments.word())
        };
        value << unused >> unused
    };
    match letter {
        b'd' | b'i' => {
            let value = (unsigned(arguments) << unused) as i64 >> unused;
            let digits = value.unsigned_abs().to_string();
            integer(conversion, sign(conversion, value < 0), digits, out);
        }
        b'u' => {
            let digits = unsigned(arguments).to_string();
            integer(conversion, "", digits, out);
        }
        b'o' => {
            let mut digits = at_least(conversion, format!("{:o}", unsigned(arguments)));
            if conversion.alternative && !digits.starts_with('0') {
                digits.insert(0, '0');
            }
            let zeros = conversion.zero && conversion.precision.is_none();
            pad(conversion, "", &digits, zeros, out);
        }
        b'x' | b'X' => {
            let value = unsigned(arguments);
            let (digits, prefix) = if letter == b'x' {
                (format!("{value:x}"), "0x")
            } else {
                (format!("{value:X}"), "0X")
            };
            let prefix = if conversion.alternative && value != 0 {
                prefix
            } else {
                ""
            };
            integer(conversion, prefix, digits, out);
        }
        b'p' => match arguments.wide() {
            0 => pad(conversion, "", "(nil)", false, out),
            address => integer(conversion, "0x", format!("{address:x}"), out),
        },
        b'c' => pad_bytes(conversion, &[arguments.word() as u8], out),
        b's' => {
            let address = arguments.wide();
            let mut text = if address == 0 {
                b"(null)".to_vec()
            } else {
                arguments.string(address)
            };
            text.truncate(conversion.precision.unwrap_or(usize::MAX));
            pad_bytes(conversion, &text, out);
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            real(letter, conversion, f64::from_bits(arguments.wide()), out);
        }
        _ => return false,
    }
    true
}

fn sign(conversion: Conversion, negative: bool) -> &'static str {
    if negative {
        "-"
    } else if conversion.plus {
        "+"
    } else if conversion.space {
        " "
    } else {
        ""
    }
}

/// Digits, at least as many as the precision says.
fn at_least(conversion: Conversion, mut digits: String) -> String {
    if let Some(precision) = conversion.precision {
        if precision == 0 && digits == "0" {
            digits.clear();
        }
        if digits.len() < precision {
            digits.insert_str(0, &"0".repeat(precision - digits.len()));
        }
    }
    digits
}

/// An integer behind its sign or prefix.
fn integer(conversion: Conversion, prefix: &str, digits: String, out: &mut Vec<u8>) {
    let digits = at_least(conversion, digits);
    let zeros = conversion.zero && conversion.precision.is_none();
    pad(conversion, prefix, &digits, zeros, out);
}

/// Prefix and text in a field; the room between them may be filled with zeros.
fn pad(conversion: Conversion, prefix: &str, text: &str, zeros: bool, out: &mut Vec<u8>) {
    let room = conversion.width.saturating_sub(prefix.len() + text.len());
    let fill = |out: &mut Vec<u8>, byte: u8| out.extend(std::iter::repeat_n(byte, room));
    if !conversion.left && !zeros {
        fill(out, b' ');
    }
    out.extend_from_slice(prefix.as_bytes());
    if !conversion.left && zeros {
        fill(out, b'0');
    }
    out.extend_from_slice(text.as_bytes());
    if conversion.left {
        fill(out, b' ');
    }
}

fn pad_bytes(conversion: Conversion, text: &[u8], out: &mut Vec<u8>) {
    let room = conversion.width.saturating_sub(text.len());
    if !conversion.left {
        out.extend(std::iter::repeat_n(b' ', room));
    }
    out.extend_from_slice(text);
    if conversion.left {
        out.extend(std::iter::repeat_n(b' ', room));
    }
}

fn real(letter: u8, conversion: Conversion, value: f64, out: &mut Vec<u8>) {
    let upper = letter.is_ascii_uppercase();
    let sign = sign(conversion, value.is_sign_negative());
    let magnitude = value.abs();
    if !magnitude.is_finite() {
        let text = if magnitude.is_nan() { "nan" } else { "inf" };
        let text = if upper {
            text.to_ascii_uppercase()
        } else {
            text.to_owned()
        };
        return pad(conversion, sign, &text, false, out);
    }
    let precision = conversion.precision.unwrap_or(6);
    let mut prefix = sign.to_owned();
    let mut text = match letter.to_ascii_lowercase() {
        b'f' => fixed(magnitude, precision, conversion.alternative),
        b'e' => exponential(magnitude, precision, conversion.alternative),
        b'g' => general(magnitude, precision.max(1), conversion.alternative),
        _ => {
            prefix.push_str("0x");
            hexadecimal(magnitude, conversion.precision, conversion.alternative)
        }
    };
    if upper {
        text.make_ascii_uppercase();
        prefix.make_ascii_uppercase();
    }
    pad(conversion, &prefix, &text, conversion.zero, out);
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    // A double has at most 1074 places behind the point; the rest is zeros.
    let exact = precision.min(1100);
    let mut text = format!("{value:.exact$}");
    text.push_str(&"0".repeat(precision - exact));
    if precision == 0 && point {
        text.push('.');
    }
    text
}

/// Mantissa with `precision` places and the decimal exponent.
fn scientific(value: f64, precision: usize) -> (String, i32) {
    let exact = precision.min(1100);
    let text = format!("{value:.exact$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut mantissa = mantissa.to_owned();
    mantissa.push_str(&"0".repeat(precision - exact));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn exponential(value: f64, precision: usize, point: bool) -> String {
    let (mut mantissa, exponent) = scientific(value, precision);
    if precision == 0 && point {
        mantissa.push('.');
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

fn general(value: f64, precision: usize, keep: bool) -> String {
    let (_, exponent) = scientific(value, precision - 1);
    let small = exponent < -4 || exponent >= precision as i32;
    let (text, tail) = if small {
        let text = exponential(value, precision - 1, keep);
        let (mantissa, tail) = text.split_once('e').unwrap_or((&text, ""));
        (mantissa.to_owned(), format!("e{tail}"))
    } else {
        let places = (precision as i32 - 1 - exponent).max(0) as usize;
        (fixed(value, places, keep), String::new())
    };
    let text = if !keep && text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    };
    text + &tail
}

/// The digits behind `0x` of %a: one before the point.
fn hexadecimal(value: f64, precision: Option<usize>, point: bool) -> String {
    const PLACES: usize = 13;
    let bits = value.to_bits();
    let mut fraction = bits & ((1 << 52) - 1);
    let exponent = (bits >> 52) as i32;
    let mut lead = u64::from(exponent != 0);
    let exponent = match (exponent, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        (exponent, _) => exponent - 1023,
    };
    let mut digits = match precision {
        Some(places) if places < PLACES => {
            // To nearest, ties to even.
            let dropped = 4 * (PLACES - places) as u32;
            let whole = lead << 52 | fraction;
            let (kept, rest) = (whole >> dropped, whole & ((1 << dropped) - 1));
            let half = 1 << (dropped - 1);
            let kept = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
            lead = kept >> (52 - dropped);
            fraction = kept & ((1 << (52 - dropped)) - 1);
            if places == 0 {
                String::new()
            } else {
                format!("{fraction:0places$x}")
            }
        }
        Some(places) => format!("{fraction:013x}") + &"0".repeat(places - PLACES),
        None => format!("{fraction:013x}").trim_end_matches('0').to_owned(),
    };
    if !digits.is_empty() || point {
        digits.insert(0, '.');
    }
    format!("{lead:x}{digits}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments as the compiler lays them out: words of a buffer.
    struct List(std::collections::VecDeque<u64>);

    impl Arguments for List {
        fn word(&mut self) -> u32 {
            self.0.pop_front().unwrap() as u32
        }

        fn wide(&mut self) -> u64 {
            self.0.pop_front().unwrap()
        }

        fn string(&mut self, _: u64) -> Vec<u8> {
            b"string".to_vec()
        }
    }

    fn printed(text: &str, arguments: &[u64]) -> String {
        let mut list = List(arguments.iter().copied().collect());
        let (bytes, count) = format(text.as_bytes(), &mut list);
        assert!(list.0.is_empty(), "{text}: arguments left");
        assert_eq!(count as usize, arguments.len(), "{text}");
        String::from_utf8(bytes).unwrap()
    }

    /// Expected strings are the C library's (ISO C 7.21.6.1).
    #[test]
    fn integers() {
        for (format, value, expected) in [
            ("%d", 0, "0"),
            ("%d", -5i64, "-5"),
            ("%i|", i64::from(i32::MIN), "-2147483648|"),
            ("%5d|", 42, "   42|"),
            ("%-5d|", 42, "42   |"),
            ("%05d", -42, "-0042"),
            ("%+d", 42, "+42"),
            ("% d", 42, " 42"),
            ("%.3d", 7, "007"),
            ("%8.3d", -7, "    -007"),
            ("%08.3d", 7, "     007"),
            ("%.0d", 0, ""),
            ("%u", -1, "4294967295"),
            ("%x", 0xbeef, "beef"),
            ("%#x", 0xbeef, "0xbeef"),
            ("%#x", 0, "0"),
            ("%#010X", 0xbeef, "0X0000BEEF"),
            ("%o", 8, "10"),
            ("%#o", 8, "010"),
            ("%#o", 0, "0"),
            ("%#.0o", 0, "0"),
            ("%#.3o", 8, "010"),
            ("%.8p", 16, "0x00000010"),
            ("%hd", 0x1_8000, "-32768"),
            ("%hhu", 0x1ff, "255"),
            ("%lld", i64::MIN, "-9223372036854775808"),
            ("%lu", -1, "18446744073709551615"),
            ("%zx", -1, "ffffffffffffffff"),
            ("%c", 65, "A"),
            ("%3c|", 66, "  B|"),
            ("%-3c|", 67, "C  |"),
            ("%p", 0x7f00_1234, "0x7f001234"),
            ("%p", 0, "(nil)"),
            ("%12p", 0x10, "        0x10"),
        ] {
            assert_eq!(printed(format, &[value as u64]), expected, "{format}");
        }
    }

    #[test]
    fn strings_and_what_is_no_conversion() {
        assert_eq!(printed("%s", &[1]), "string");
        assert_eq!(printed("%10s|", &[1]), "    string|");
        assert_eq!(printed("%-10.3s|", &[1]), "str       |");
        assert_eq!(printed("%s", &[0]), "(null)");
        assert_eq!(printed("100%%", &[]), "100%");
        assert_eq!(printed("%", &[]), "%");
        assert_eq!(printed("%5y and %", &[]), "%5y and %");
        assert_eq!(printed("%*d|%-*d|", &[5, 1, 3, 2]), "    1|2  |");
        assert_eq!(printed("%*d|", &[-4i64 as u64, 9]), "9   |");
        assert_eq!(printed("%.*f", &[2, 1.0f64.to_bits()]), "1.00");
    }

    #[test]
    fn reals() {
        for (format, value, expected) in [
            ("%f", 1.5, "1.500000"),
            ("%.0f", 2.5, "2"),
            ("%#.0f", 2.5, "2."),
            ("%10.3f|", -3.15159, "    -3.152|"),
            ("%-10.1f|", 2.25, "2.2       |"),
            ("%010.2f", -1.5, "-000001.50"),
            ("%+.1f", 0.0, "+0.0"),
            ("%.1f", -0.0, "-0.0"),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.0e", 12345.0, "1e+04"),
            ("%E", 1e-300, "1.000000E-300"),
            ("%e", 0.0, "0.000000e+00"),
            ("%g", 100_000.0, "100000"),
            ("%g", 1_000_000.0, "1e+06"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001, "1e-05"),
            ("%g", 0.5, "0.5"),
            ("%#g", 0.5, "0.500000"),
            ("%.3g", 999.9, "1e+03"),
            ("%.10g", 1.0 / 3.0, "0.3333333333"),
            ("%G", 1e-10, "1E-10"),
            ("%g", 0.0, "0"),
            ("%a", 1.0, "0x1p+0"),
            ("%a", 0.1, "0x1.999999999999ap-4"),
            ("%.2a", 1.999, "0x2.00p+0"),
            ("%.0a", 1.5, "0x2p+0"),
            ("%A", 255.0, "0X1.FEP+7"),
            ("%a", 0.0, "0x0p+0"),
            ("%a", f64::from_bits(1), "0x0.0000000000001p-1022"),
            ("%f", f64::INFINITY, "inf"),
            ("%F", f64::NEG_INFINITY, "-INF"),
            ("%05f|", f64::INFINITY, "  inf|"),
            ("%e", f64::NAN, "nan"),
            ("%.3f", 1e22, "10000000000000000000000.000"),
        ] {
            assert_eq!(printed(format, &[value.to_bits()]), expected, "{format}");
        }
    }
}
