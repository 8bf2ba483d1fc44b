//! Compact text for a terminal: tables and stacked bars.
//!
//! Everything here is a function from data to text. Whether colour and Unicode are wanted, and
//! how wide the terminal is, the caller finds out and says in a [`Style`].
//!
//! ```
//! use report_writers::terminal::{Color, Segment, Style, bar};
//!
//! let style = Style { width: 20, colored: false, unicode: true };
//! let parts = [
//!     Segment { label: "computation", fraction: 0.9, color: Color::Green },
//!     Segment { label: "idle", fraction: 0.1, color: Color::Red },
//! ];
//! assert_eq!(bar(&parts, style), "██████████████████▓▓\n█ computation 90.0%\n▓ idle 10.0%\n");
//! ```

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What the caller found out about its terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether ANSI escape sequences may be used.
    pub colored: bool,
    /// Whether characters beyond ASCII may be used.
    pub unicode: bool,
}

/// The colours that every ANSI terminal has, in the user's own scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Color {
    /// Red.
    Red,
    /// Green.
    Green,
    /// Yellow.
    Yellow,
    /// Blue.
    Blue,
    /// Magenta.
    Magenta,
    /// Cyan.
    Cyan,
    /// Grey: bright black.
    Gray,
}

impl Color {
    /// The parameter of the "select graphic rendition" sequence (ECMA-48, SGR) for foreground.
    const fn sgr(self) -> &'static str {
        match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
            Self::Gray => "90",
        }
    }
}

impl Style {
    /// `text` in `color`, if colours may be used.
    #[must_use]
    pub fn paint(self, text: &str, color: Color) -> String {
        self.sequence(text, color.sgr())
    }

    /// `text` in bold, if escape sequences may be used.
    fn bold(self, text: &str) -> String {
        self.sequence(text, "1")
    }

    fn sequence(self, text: &str, sgr: &str) -> String {
        if self.colored && !text.is_empty() {
            format!("\u{1b}[{sgr}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// A part of a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment<'a> {
    /// What the part is.
    pub label: &'a str,
    /// Its share of the whole, 0 to 1.
    pub fraction: f64,
    /// Its colour, where colours may be used.
    pub color: Color,
}

/// Marks that tell parts apart without colour.
const UNICODE_MARKS: [char; 4] = ['█', '▓', '▒', '░'];
const ASCII_MARKS: [char; 6] = ['#', '=', '-', '+', ':', '.'];

/// A stacked bar of `style.width` cells, then a legend with each part's label and percentage,
/// on as many lines as it needs; every line ends in `\n`.
///
/// Cells are shared out by largest remainder, so they always add up to the width, and ties go to
/// the earlier part. Fractions that do not add up to 1 are scaled for the bar; the legend shows
/// them as given. Negative and non-finite fractions count as 0. Without any part the bar is
/// blank.
#[must_use]
pub fn bar(segments: &[Segment<'_>], style: Style) -> String {
    let fractions: Vec<f64> = segments.iter().map(|segment| segment.fraction).collect();
    let mut text = String::new();
    let mut used = 0;
    for (position, cells) in share_out(&fractions, style.width).into_iter().enumerate() {
        let run = mark(position, style).to_string().repeat(cells);
        text.push_str(&style.paint(&run, segments[position].color));
        used += cells;
    }
    text.push_str(&" ".repeat(style.width - used));
    text.push('\n');

    let mut line_width = 0;
    for (position, segment) in segments.iter().enumerate() {
        let label = format!(" {} {:.1}%", segment.label, segment.fraction * 100.0);
        let entry_width = 1 + label.width();
        if line_width > 0 && line_width + 2 + entry_width > style.width {
            text.push('\n');
            line_width = 0;
        } else if line_width > 0 {
            text.push_str("  ");
            line_width += 2;
        }
        text.push_str(&style.paint(&mark(position, style).to_string(), segment.color));
        text.push_str(&label);
        line_width += entry_width;
    }
    if line_width > 0 {
        text.push('\n');
    }
    text
}

/// The character of the part at `position`: full blocks where colour tells parts apart.
fn mark(position: usize, style: Style) -> char {
    match (style.unicode, style.colored) {
        (true, true) => '█',
        (true, false) => UNICODE_MARKS[position % UNICODE_MARKS.len()],
        (false, true) => '#',
        (false, false) => ASCII_MARKS[position % ASCII_MARKS.len()],
    }
}

/// Divides `cells` in proportion to `fractions` by largest remainder (Hamilton's method).
fn share_out(fractions: &[f64], cells: usize) -> Vec<usize> {
    let usable = |fraction: f64| if fraction.is_finite() && fraction > 0.0 { fraction } else { 0.0 };
    let total: f64 = fractions.iter().map(|&fraction| usable(fraction)).sum();
    if total == 0.0 {
        return vec![0; fractions.len()];
    }
    let quotas: Vec<f64> =
        fractions.iter().map(|&fraction| usable(fraction) / total * cells as f64).collect();
    let mut shares: Vec<usize> = quotas.iter().map(|quota| quota.floor() as usize).collect();
    let mut by_remainder: Vec<usize> = (0..quotas.len()).filter(|&part| quotas[part] > 0.0).collect();
    // Stable, so that ties go to the earlier part.
    by_remainder.sort_by(|&a, &b| quotas[b].fract().total_cmp(&quotas[a].fract()));
    let missing = cells.saturating_sub(shares.iter().sum());
    for part in by_remainder.into_iter().cycle().take(missing) {
        shares[part] += 1;
    }
    shares
}

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

/// `text` in at most `width` terminal columns, with `…` (or `...` where `unicode` is false) in
/// place of its middle if it is longer.
#[must_use]
pub fn truncate_middle(text: &str, width: usize, unicode: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mark = if unicode { "…" } else { "..." };
    let Some(room) = width.checked_sub(mark.width()) else {
        return start_of(text.chars(), width);
    };
    let tail_room = room / 2;
    let head = start_of(text.chars(), room - tail_room);
    let tail: String = start_of(text.chars().rev(), tail_room).chars().rev().collect();
    head + mark + &tail
}

/// The first of `chars` that fit `width` columns.
fn start_of(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_shared_by_largest_remainder() {
        let cases: &[(&[f64], usize, &[usize])] = &[
            (&[0.9, 0.1], 10, &[9, 1]),
            (&[1.0, 1.0, 1.0], 10, &[4, 3, 3]),
            (&[0.5, 0.25, 0.25], 2, &[1, 1, 0]),
            (&[0.001, 0.999], 10, &[0, 10]),
            (&[0.2, 0.2], 9, &[5, 4]),
            (&[-1.0, f64::NAN, 0.5, f64::INFINITY], 4, &[0, 0, 4, 0]),
            (&[0.0, 0.0], 10, &[0, 0]),
            (&[1e-300, 1e-300], 3, &[2, 1]),
            (&[], 10, &[]),
            (&[1.0], 0, &[0]),
        ];
        for (fractions, cells, shares) in cases {
            assert_eq!(&share_out(fractions, *cells), shares, "{fractions:?}");
        }
    }

    fn segments() -> [Segment<'static>; 3] {
        [
            Segment { label: "computation", fraction: 0.914, color: Color::Green },
            Segment { label: "exposed communication", fraction: 0.0, color: Color::Yellow },
            Segment { label: "idle", fraction: 0.086, color: Color::Red },
        ]
    }

    #[test]
    fn the_bar_is_exactly_as_wide_as_asked() {
        for width in 0..200 {
            for (colored, unicode) in [(true, true), (true, false), (false, true), (false, false)] {
                let text = bar(&segments(), Style { width, colored, unicode });
                let line = text.lines().next().unwrap();
                let plain: String = line
                    .split('\u{1b}')
                    .enumerate()
                    .map(|(position, part)| match position {
                        0 => part,
                        _ => part.split_once('m').unwrap().1,
                    })
                    .collect();
                assert_eq!(plain.width(), width);
            }
        }
    }

    #[test]
    fn parts_are_told_apart_without_colour() {
        let text = bar(&segments(), Style { width: 70, colored: false, unicode: false });
        let expected = format!(
            "{}{}\n# computation 91.4%  = exposed communication 0.0%  - idle 8.6%\n",
            "#".repeat(64),
            "-".repeat(6)
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn colour_replaces_the_marks() {
        let text = bar(&segments()[..1], Style { width: 3, colored: true, unicode: true });
        assert_eq!(text, "\u{1b}[32m███\u{1b}[0m\n\u{1b}[32m█\u{1b}[0m computation 91.4%\n");
    }

    #[test]
    fn no_parts_give_a_blank_bar() {
        assert_eq!(bar(&[], Style { width: 3, colored: false, unicode: true }), "   \n");
    }

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

    #[test]
    fn both_ends_of_a_long_text_are_kept() {
        let cases = [
            ("short", 5, true, "short"),
            ("0123456789", 10, true, "0123456789"),
            ("0123456789", 7, true, "012…789"),
            ("0123456789", 6, true, "012…89"),
            ("0123456789", 7, false, "01...89"),
            ("0123456789", 1, true, "…"),
            ("0123456789", 2, false, "01"),
            ("0123456789", 0, true, ""),
            ("µµµµµµ", 5, true, "µµ…µµ"),
            // Two columns each.
            ("漢字漢字漢字", 7, true, "漢…字"),
        ];
        for (text, width, unicode, shortened) in cases {
            let result = truncate_middle(text, width, unicode);
            assert_eq!(result, shortened);
            assert!(result.width() <= width);
        }
    }
}
