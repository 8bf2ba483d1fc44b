//! Numbers for people.

/// A count with its thousands apart.
pub fn grouped(value: u128) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// A count of what, with the word of its number: `1 copy`, `2 copies`.
pub fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{} {}", grouped(count as u128), if count == 1 { one } else { several })
}

/// The word that agrees with a count: `1 of 4 launches has`, `2 of 4 launches have`.
pub fn agreeing(count: u64, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}

/// A number with its thousands apart and a fixed number of decimals.
pub fn decimal(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    // What rounds to zero has no sign.
    let text = match text.strip_prefix('-') {
        Some(digits) if !digits.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) => digits.to_owned(),
        _ => text,
    };
    match text.split_once('.') {
        Some((whole, decimals)) => match whole.parse() {
            Ok(whole) => format!("{}.{decimals}", grouped(whole)),
            Err(_) => text,
        },
        None => text.parse().map_or(text, grouped),
    }
}

/// A number with its thousands apart, and decimals only where it has some.
pub fn plain(value: f64) -> String {
    decimal(value, if value.fract() == 0.0 { 0 } else { 3 })
}

/// A unit in which times are read, and how many µs it has.
pub fn unit_of_time(microseconds: f64) -> (&'static str, f64) {
    match microseconds.abs() {
        us if us >= 1e6 => ("s", 1e6),
        us if us >= 1e3 => ("ms", 1e3),
        _ => ("µs", 1.0),
    }
}

/// A time in µs in the unit in which it can be read, in four digits.
pub fn duration(microseconds: f64) -> String {
    let (unit, size) = unit_of_time(microseconds);
    let value = microseconds / size;
    let places = match value.abs() {
        0.0 => 0,
        value if value < 10.0 => 3,
        value if value < 100.0 => 2,
        value if value < 1000.0 => 1,
        _ => 0,
    };
    format!("{} {unit}", decimal(value, places))
}

/// A size in bytes in the unit in which it can be read, in four digits.
pub fn bytes(size: i64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut value, mut unit) = (size as f64, 0);
    while value.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let places = match value.abs() {
        _ if unit == 0 => 0,
        value if value < 10.0 => 3,
        value if value < 100.0 => 2,
        _ => 1,
    };
    format!("{} {}", decimal(value, places), UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(value), text);
        }
        assert_eq!(decimal(1234.5678, 3), "1,234.568");
        assert_eq!(decimal(0.05, 1), "0.1");
        assert_eq!((plain(12345.0).as_str(), plain(1234.5).as_str()), ("12,345", "1,234.500"));
    }

    #[test]
    fn sizes_are_in_the_unit_in_which_they_are_read() {
        for (size, text) in [
            (0, "0 B"),
            (1023, "1,023 B"),
            (-2048, "-2.000 KiB"),
            (860_295_680, "820.4 MiB"),
            (2_707_847_680, "2.522 GiB"),
            (i64::MAX, "8,192.0 PiB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn times_are_in_the_unit_in_which_they_are_read() {
        for (us, text) in [
            (0.0, "0 µs"),
            (7.6, "7.600 µs"),
            (999.0, "999.0 µs"),
            (74_683.0, "74.68 ms"),
            (5_699_918.0, "5.700 s"),
            (77_773_215.731, "77.77 s"),
            (3_600_000_000.0, "3,600 s"),
        ] {
            assert_eq!(duration(us), text);
        }
    }

    #[test]
    fn what_rounds_to_zero_has_no_sign() {
        assert_eq!((decimal(-0.04, 1).as_str(), decimal(-0.06, 1).as_str()), ("0.0", "-0.1"));
    }
}
