//! How wide columns are and how numbers look.

use rust_xlsxwriter::Format;
use unicode_width::UnicodeWidthStr;

use crate::cell::{Cell, Cells};
use crate::table::CellKind;

/// Column widths in characters of the default font.
const NARROWEST: usize = 8;
const WIDEST: usize = 60;
/// The filter button that covers the end of a header, in characters.
const FILTER_BUTTON: usize = 3;

/// How the cells of a column look, unless the spreadsheet program chooses.
pub(super) fn column_format(column: &Cells<'_>, kind: CellKind) -> Option<Format> {
    let format = match column {
        // Some programs show a boolean without a format of its own as 0 or 1; those that know booleans ignore it.
        Cells::Boolean(_) => r#""TRUE";"TRUE";"FALSE""#.to_owned(),
        _ => match decimal_places(kind)? {
            0 => "0".to_owned(),
            places => {
                let grouping = if matches!(kind, CellKind::Percent) { "0." } else { "#,##0." };
                format!("{grouping}{}", "0".repeat(places))
            }
        },
    };
    Some(Format::new().set_num_format(format))
}

/// Decimal places shown, or `None` where the spreadsheet program chooses.
fn decimal_places(kind: CellKind) -> Option<usize> {
    match kind {
        CellKind::Text | CellKind::Literal | CellKind::Number => None,
        CellKind::Integer => Some(0),
        CellKind::Decimal { places } => Some(places.into()),
        CellKind::Percent => Some(2),
        CellKind::Microseconds | CellKind::Milliseconds => Some(3),
    }
}

/// The width, in characters, in which the header and the first `rows` cells can be read: no
/// number turns into `####`, long text is cut by its neighbour.
pub(super) fn column_width(header: &str, column: &Cells<'_>, kind: CellKind, rows: usize) -> f64 {
    let widest_cell = (0..rows).map(|row| cell_width(column.get(row), kind)).max().unwrap_or(0);
    let width = (header.width() + FILTER_BUTTON).max(widest_cell + 1);
    // At most 60, so exact.
    width.clamp(NARROWEST, WIDEST) as f64
}

fn cell_width(cell: Cell<'_>, kind: CellKind) -> usize {
    match cell {
        Cell::Null => 0,
        Cell::Boolean(_) => 5,
        Cell::Integer(value) => number_width(value as f64, kind),
        Cell::Float(value) => number_width(value, kind),
        // Four bytes a character at most: what is surely too wide is not measured.
        Cell::Text(text) if text.len() > 4 * WIDEST => WIDEST,
        Cell::Text(text) => text.width(),
    }
}

fn number_width(value: f64, kind: CellKind) -> usize {
    if !value.is_finite() {
        return 4;
    }
    let sign = usize::from(value < 0.0);
    // log10 of the largest double is below 309, so the cast is exact.
    let whole_digits = value.abs().max(1.0).log10().floor() as usize + 1;
    match decimal_places(kind) {
        // The general format shows up to 11 characters, then turns to exponents.
        None => (sign + whole_digits + 5).min(12),
        Some(0) => sign + whole_digits,
        Some(places) => sign + whole_digits + (whole_digits - 1) / 3 + 1 + places,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_formatted_text() {
        let cases = [
            (0.0, CellKind::Integer, "0"),
            (999.0, CellKind::Integer, "999"),
            (1000.0, CellKind::Integer, "1000"),
            (-12.5, CellKind::Percent, "-12.50"),
            (1234.5, CellKind::Microseconds, "1,234.500"),
            (-1_234_567.0, CellKind::Milliseconds, "-1,234,567.000"),
            (0.25, CellKind::Decimal { places: 1 }, "0.2"),
            (1e6, CellKind::Decimal { places: 0 }, "1000000"),
        ];
        for (value, kind, shown) in cases {
            assert_eq!(number_width(value, kind), shown.len(), "{value} as {kind:?}");
        }
    }

    #[test]
    fn widths_stay_within_the_limits() {
        let no_cells = Cells::AllNull;
        assert_eq!(column_width("id", &no_cells, CellKind::Text, 0), 8.0);
        assert_eq!(column_width("mean_duration_us", &no_cells, CellKind::Text, 0), 19.0);
        assert_eq!(column_width(&"x".repeat(300), &no_cells, CellKind::Text, 0), 60.0);
    }
}
