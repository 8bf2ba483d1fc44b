//! How the numbers of a column look: digits, thousands, and the unit where the header does not say it.

use sheets::{ColumnKind, TableColumn, Unit};
use unicode_width::UnicodeWidthStr;

/// Decimal places of rates, sizes and ratios, and the number below which they are shown with an exponent instead, so
/// that a few bytes are not 0.000 MiB.
const PLACES: usize = 3;
const SMALL: f64 = 0.001;
/// Characters of a number with an exponent.
const EXPONENT: usize = 8;

/// The look of a column's numbers.
pub(super) struct NumberFormat {
    look: Look,
    /// ` µs`, where the header does not say it.
    unit: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Look {
    Flag,
    Identifier,
    /// So many decimal places.
    Fixed(usize),
    /// Percentages, which have no thousands.
    Percent,
    /// [`PLACES`], and exponents for what is [`SMALL`].
    Wide,
}

impl NumberFormat {
    /// `None` for texts.
    pub(super) fn new(column: &TableColumn, header: &str) -> Option<Self> {
        let look = match column.kind() {
            ColumnKind::Text | ColumnKind::Nested | ColumnKind::Names => return None,
            ColumnKind::Flag => Look::Flag,
            ColumnKind::Identifier => Look::Identifier,
            ColumnKind::Count | ColumnKind::Whole(_) | ColumnKind::Number(Unit::Bytes) => Look::Fixed(0),
            ColumnKind::Number(Unit::Nanoseconds | Unit::Megahertz) => Look::Fixed(1),
            ColumnKind::Number(Unit::Microseconds | Unit::Milliseconds) => Look::Fixed(3),
            ColumnKind::Number(Unit::Percent) => Look::Percent,
            ColumnKind::Number(_) => Look::Wide,
        };
        let unit = column.kind().unit().filter(|&unit| unit != Unit::One && !says_unit(header, unit));
        Some(NumberFormat { look, unit: unit.map_or_else(String::new, suffix) })
    }

    /// The format's code.
    pub(super) fn code(&self) -> String {
        let unit = match self.unit.is_empty() {
            true => String::new(),
            false => format!("\"{}\"", self.unit),
        };
        let grouped = |places: usize| match places {
            0 => "#,##0".to_owned(),
            places => format!("#,##0.{}", "0".repeat(places)),
        };
        match self.look {
            // Some programs show a boolean without a format of its own as 0 or 1; those that know booleans ignore it.
            Look::Flag => r#""TRUE";"TRUE";"FALSE""#.to_owned(),
            Look::Identifier => format!("0{unit}"),
            Look::Fixed(places) => grouped(places) + &unit,
            Look::Percent => format!("0.00{unit}"),
            Look::Wide => format!("[=0]0{unit};[>={SMALL}]{}{unit};0.00E+00{unit}", grouped(PLACES)),
        }
    }

    /// Characters of a number in this format.
    pub(super) fn width(&self, value: f64) -> usize {
        let sign = usize::from(value < 0.0);
        // log10 of the largest double is below 309, so the cast is exact.
        let whole_digits = value.abs().max(1.0).log10().floor() as usize + 1;
        let grouped =
            |places: usize| sign + whole_digits + (whole_digits - 1) / 3 + usize::from(places > 0) + places;
        let number = match self.look {
            Look::Flag => 5,
            Look::Identifier => sign + whole_digits,
            Look::Fixed(places) => grouped(places),
            Look::Percent => sign + whole_digits + 3,
            Look::Wide if value == 0.0 => 1,
            Look::Wide if value >= SMALL => grouped(PLACES),
            Look::Wide => sign + EXPONENT,
        };
        number + self.unit.width()
    }
}

/// Whether a header names the unit of its figures, as a word of its own.
fn says_unit(header: &str, unit: Unit) -> bool {
    let spellings: &[&str] = match unit {
        Unit::Percent => return header.contains('%') || has_word(header, &["percent", "pct"]),
        Unit::Nanoseconds => &["ns"],
        Unit::Microseconds => &["µs", "μs", "us"],
        Unit::Milliseconds => &["ms"],
        Unit::Bytes => &["bytes", "b"],
        Unit::Kibibytes => &["kib", "kb"],
        // What the reports have always called MB.
        Unit::Mebibytes => &["mib", "mb"],
        Unit::Gigabytes => &["gb"],
        Unit::Flops => &["flops", "flop"],
        Unit::Gigaflops => &["gflops", "gflop"],
        Unit::TeraflopsPerSecond => &["tflops/s", "tflop/s"],
        Unit::FlopsPerByte => &["flops/byte", "flop/byte", "flop/b"],
        other => return has_word(header, &[other.symbol()]),
    };
    has_word(header, spellings)
}

fn has_word(header: &str, words: &[&str]) -> bool {
    let mut parts = header.split([' ', '_', '(', ')']);
    parts.any(|part| words.iter().any(|word| part.eq_ignore_ascii_case(word)))
}

/// A unit behind its number; the sign of percent stands at the number itself.
fn suffix(unit: Unit) -> String {
    if unit == Unit::Percent { unit.symbol().to_owned() } else { format!(" {}", unit.symbol()) }
}

#[cfg(test)]
mod tests {
    use sheets::{Cell, Column};

    use super::*;

    fn format(name: &'static str, kind: ColumnKind) -> NumberFormat {
        NumberFormat::new(&TableColumn::new(Column::new(name, kind, ""), [Cell::Missing]), name).unwrap()
    }

    #[test]
    fn numbers_fit_their_formatted_text() {
        use ColumnKind::{Count, Identifier, Number, Whole};
        let cases = [
            (0.0, "n", Count, "0"),
            (8944.0, "n", Count, "8,944"),
            (999.0, "n", Identifier, "999"),
            (1e6, "n", Whole(Unit::Bytes), "1,000,000 B"),
            (1e6, "input_bytes", Whole(Unit::Bytes), "1,000,000"),
            (-12.5, "n %", Number(Unit::Percent), "-12.50"),
            (1234.5, "dur_us", Number(Unit::Microseconds), "1,234.500"),
            (1234.5, "dur_sum", Number(Unit::Microseconds), "1,234.500 µs"),
            (-1_234_567.0, "time ms", Number(Unit::Milliseconds), "-1,234,567.000"),
            (0.25, "Data Moved (MB)", Number(Unit::Mebibytes), "0.250"),
            (4e-6, "Data Moved (MB)", Number(Unit::Mebibytes), "4.00E-06"),
            (0.0, "TB/s", Number(Unit::TerabytesPerSecond), "0"),
            (660.25, "TFLOPS/s_mean", Number(Unit::TeraflopsPerSecond), "660.250"),
        ];
        for (value, name, kind, shown) in cases {
            assert_eq!(format(name, kind).width(value), shown.width(), "{value} as {kind:?}");
        }
    }

    #[test]
    fn the_unit_stands_in_the_header_or_behind_the_number() {
        use Unit::{GigabytesPerSecond, Mebibytes, Microseconds, Milliseconds, Percent, TeraflopsPerSecond};
        for (header, unit) in [
            ("Kernel Time (µs)_sum", Microseconds),
            ("duration_us_median", Microseconds),
            ("Total time (us)", Microseconds),
            ("time ms", Milliseconds),
            ("Data Moved (MB)_first", Mebibytes),
            ("Pct Roofline_mean", Percent),
            ("%time stalled by DMA", Percent),
            ("percent_of_kernel_time", Percent),
            ("nccl_tests_busbw (GB/s)", GigabytesPerSecond),
            ("TFLOPS/s_mean", TeraflopsPerSecond),
        ] {
            assert!(says_unit(header, unit), "{header}");
        }
        for (header, unit, code) in [
            ("dur_sum", Microseconds, r##"#,##0.000" µs""##),
            ("Min FLOPs", Percent, r#"0.00"%""#),
            ("DRAM", GigabytesPerSecond, r##"[=0]0" GB/s";[>=0.001]#,##0.000" GB/s";0.00E+00" GB/s""##),
            ("status", Microseconds, r##"#,##0.000" µs""##),
        ] {
            assert_eq!(format(header, ColumnKind::Number(unit)).code(), code, "{header}");
        }
    }
}
