//! Decimal text of floats in the form that Python, and so every pandas reader, prints.

/// The fewest digits that read back as `value`, with `.0` for integral values, and in exponent
/// form (`1e-05`, `1e+16`) outside 1e-4 ≤ |value| < 1e16, as Python's `repr(float)` lays it out.
/// Infinities are `inf` and `-inf`, NaN is `nan`.
pub(crate) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if value == 0.0 || (1e-4..1e16).contains(&value.abs()) {
        // Shortest digits too, and never in exponent form.
        let text = format!("{value}");
        return if text.contains('.') { text } else { text + ".0" };
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |magnitude| ('-', magnitude));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::float_text;

    #[test]
    fn floats_print_as_python_prints_them() {
        let cases = [
            (60.0, "60.0"),
            (-0.0, "-0.0"),
            (0.0, "0.0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (91.43279886779221, "91.43279886779221"),
            (1.123046875e-05, "1.123046875e-05"),
            (0.0001, "0.0001"),
            (0.00012345, "0.00012345"),
            (0.000_099_9, "9.99e-05"),
            (1e15, "1000000000000000.0"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.5e16, "1.5e+16"),
            (-2.5e-7, "-2.5e-07"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in cases {
            assert_eq!(float_text(value), text);
        }
    }
}
