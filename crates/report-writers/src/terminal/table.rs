//! A table without borders, as wide as the terminal at most.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use unicode_width::UnicodeWidthStr;

use super::style::Style;
use super::truncate::truncate_middle;

/// How the cells of a column line up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Text.
    Left,
    /// Numbers, so that their digits line up.
    Right,
}

/// A column's header and alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextColumn<'a> {
    /// The header.
    pub header: &'a str,
    /// How the cells line up. Left-aligned columns may be shortened, right-aligned ones never:
    /// half a number is a wrong number.
    pub alignment: Alignment,
}

/// Columns between two cells.
const GAP: u16 = 2;
/// Left-aligned columns are shortened to this at most.
const NARROWEST: usize = 8;

/// Renders `rows` under `columns`, each line ending in `\n`.
///
/// Left-aligned columns lose the middle of their longest texts until the table is at most
/// `style.width` columns wide; it stays wider only when right-aligned columns alone fill it.
/// Missing cells are empty and surplus ones are dropped. Control characters, such as a newline,
/// become spaces.
#[must_use]
pub fn table<R: AsRef<[String]>>(columns: &[TextColumn<'_>], rows: &[R], style: Style) -> String {
    if columns.is_empty() {
        return String::new();
    }
    let one_line = |text: &str| text.replace(char::is_control, " ");
    let headers: Vec<String> = columns.iter().map(|column| one_line(column.header)).collect();
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let row = row.as_ref();
            (0..columns.len())
                .map(|column| row.get(column).map_or(String::new(), |text| one_line(text)))
                .collect()
        })
        .collect();
    let widths = column_widths(columns, &headers, &cells, style.width);
    let fit = |row: &[String]| -> Vec<String> {
        row.iter().zip(&widths).map(|(text, &width)| truncate_middle(text, width, style.unicode)).collect()
    };

    let rule = if style.unicode { '─' } else { '-' };
    let separator = LineStyle::none().fill(rule);
    let mut rendered = Table::new();
    rendered.load_style(TableStyle::new().header_separator(separator));
    rendered.set_header(fit(&headers));
    for row in &cells {
        rendered.add_row(fit(row));
    }
    let last = columns.len() - 1;
    for (position, column) in columns.iter().enumerate() {
        if let Some(layout) = rendered.column_mut(position) {
            let gap = if position == last { 0 } else { GAP };
            layout.set_padding((0, gap));
            layout.set_cell_alignment(match column.alignment {
                Alignment::Left => CellAlignment::Left,
                Alignment::Right => CellAlignment::Right,
            });
        }
    }
    let mut text = String::new();
    for (position, line) in rendered.lines().enumerate() {
        let line = line.trim_end();
        if position == 0 {
            text.push_str(&style.bold(line))
        } else {
            text.push_str(line)
        }
        text.push('\n');
    }
    text
}

/// The width of each column: its widest text, less where the table would exceed `width`.
fn column_widths(
    columns: &[TextColumn<'_>],
    headers: &[String],
    cells: &[Vec<String>],
    width: usize,
) -> Vec<usize> {
    let mut widths: Vec<usize> = headers
        .iter()
        .enumerate()
        .map(|(column, header)| cells.iter().map(|row| row[column].width()).fold(header.width(), usize::max))
        .collect();
    let gaps = usize::from(GAP) * (columns.len() - 1);
    let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(width);
    // One column at a time from the widest: columns that already fit keep their text.
    while excess > 0 {
        let shrinkable = (0..columns.len())
            .filter(|&column| columns[column].alignment == Alignment::Left && widths[column] > NARROWEST)
            .max_by_key(|&column| (widths[column], usize::MAX - column));
        let Some(column) = shrinkable else { break };
        widths[column] -= 1;
        excess -= 1;
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [TextColumn<'static>; 3] = [
        TextColumn { header: "kernel", alignment: Alignment::Left },
        TextColumn { header: "count", alignment: Alignment::Right },
        TextColumn { header: "category", alignment: Alignment::Left },
    ];

    fn rows() -> Vec<Vec<String>> {
        [
            ["sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn", "48", "GEMM"],
            ["Memset (Device)", "12345", "other\nthings"],
        ]
        .map(|row| row.map(str::to_owned).to_vec())
        .to_vec()
    }

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_space() {
        let style = Style { width: 80, colored: false, unicode: true };
        let expected = "\
kernel                                  count  category
───────────────────────────────────────────────────────────
sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn     48  GEMM
Memset (Device)                         12345  other things
";
        assert_eq!(table(&COLUMNS, &rows(), style), expected);
    }

    #[test]
    fn long_names_lose_their_middle_and_numbers_nothing() {
        for (unicode, name) in [(true, "sm90_xmma…2_f32_tn"), (false, "sm90_xmm..._f32_tn")] {
            let text = table(&COLUMNS, &rows(), Style { width: 39, colored: false, unicode });
            assert!(text.contains(name), "{text}");
            assert!(text.contains("12345"), "{text}");
            assert!(text.lines().all(|line| line.width() <= 39), "{text}");
            assert_eq!(text.is_ascii(), !unicode);
        }
    }

    #[test]
    fn numbers_stay_whole_even_where_they_do_not_fit() {
        let text = table(
            &COLUMNS[1..2],
            &[vec!["1234567890".to_owned()]],
            Style { width: 4, colored: false, unicode: true },
        );
        assert!(text.contains("1234567890"));
    }

    #[test]
    fn colour_adds_escapes_and_changes_nothing_else() {
        let style = Style { width: 60, colored: true, unicode: true };
        let colored = table(&COLUMNS, &rows(), style);
        assert!(colored.starts_with("\u{1b}[1mkernel"));
        let plain = table(&COLUMNS, &rows(), Style { colored: false, ..style });
        assert_eq!(colored.replace("\u{1b}[1m", "").replace("\u{1b}[0m", ""), plain);
        assert!(!plain.contains('\u{1b}'));
    }

    #[test]
    fn a_table_without_rows_is_its_header() {
        let text = table::<Vec<String>>(&COLUMNS, &[], Style { width: 60, colored: false, unicode: false });
        assert_eq!(text, "kernel  count  category\n-----------------------\n");
        assert_eq!(table::<Vec<String>>(&[], &[], Style { width: 60, colored: false, unicode: false }), "");
    }

    #[test]
    fn short_rows_are_padded() {
        let style = Style { width: 60, colored: false, unicode: false };
        let text = table(&COLUMNS, &[vec!["a".to_owned()]], style);
        assert_eq!(text.lines().last(), Some("a"));
    }
}
