//! Numbers as people read them.

/// With commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes with a binary unit.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 {
        format!("{value} {}", UNITS[unit])
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

/// Three significant digits with k, M or G.
pub fn rate(number: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, " G"), (1e6, " M"), (1e3, " k")];
    for (scale, unit) in UNITS {
        if number >= scale {
            return format!("{}{unit}", significant(number / scale));
        }
    }
    significant(number)
}

/// Nanoseconds with a fitting unit.
pub fn time(nanoseconds: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    for (scale, unit) in UNITS {
        if nanoseconds >= scale {
            return format!("{:.3} {unit}", nanoseconds / scale);
        }
    }
    format!("{nanoseconds:.1} ns")
}

fn significant(number: f64) -> String {
    if number >= 100.0 {
        format!("{number:.0}")
    } else if number >= 10.0 {
        format!("{number:.1}")
    } else {
        format!("{number:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1234567), "1,234,567");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(rate(12_345_678.0), "12.3 M");
        assert_eq!(rate(7.0), "7.00");
        assert_eq!(time(1500.0), "1.500 µs");
    }
}
