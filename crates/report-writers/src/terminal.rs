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

use std::borrow::Cow;

use sheets::escaped;
use unicode_width::UnicodeWidthStr;

use crate::shorten::shortened_apart;
pub use crate::shorten::truncate_middle;

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

/// Colours of ANSI terminals: those that every terminal has are in the user's own scheme, orange is one of the 256.
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
    /// White.
    White,
    /// Orange.
    Orange,
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
            Self::White => "97",
            Self::Orange => "38;5;208",
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
const UNICODE_MARKS: [char; 5] = ['█', '▓', '▒', '░', '·'];
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
    bar_alone(segments, style) + "\n" + &legend(segments, true, style)
}

/// A [`bar`] without its legend, without the end of its line.
#[must_use]
pub fn bar_alone(segments: &[Segment<'_>], style: Style) -> String {
    let fractions: Vec<f64> = segments.iter().map(|segment| segment.fraction).collect();
    let mut text = String::new();
    let mut used = 0;
    for (position, cells) in share_out(&fractions, style.width).into_iter().enumerate() {
        let run = mark(position, style).to_string().repeat(cells);
        text.push_str(&style.paint(&run, segments[position].color));
        used += cells;
    }
    text.push_str(&" ".repeat(style.width - used));
    text
}

/// What the parts of a [`bar`] are, with or without their shares; with them only those that do not round to nothing.
#[must_use]
pub fn legend(segments: &[Segment<'_>], with_shares: bool, style: Style) -> String {
    let mut text = String::new();
    let mut line_width = 0;
    const LEAST: f64 = 0.0005;
    let shown = segments.iter().enumerate().filter(|(_, segment)| !with_shares || segment.fraction >= LEAST);
    for (position, segment) in shown {
        let label = match with_shares {
            true => format!(" {} {:.1}%", segment.label, segment.fraction * 100.0),
            false => format!(" {}", segment.label),
        };
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
enum Alignment {
    Left,
    Right,
}

/// How a column gives way in a table that is wider than the terminal. Half a number is a wrong number, so numbers are
/// dropped whole or stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Keep,
    /// Texts lose their middle.
    Shorten,
    /// The column is left out; higher numbers go first.
    Drop(u8),
}

/// The text of a cell and its colour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextCell {
    /// The text. Line breaks and the like are shown as [`escaped`] writes them.
    pub text: String,
    /// The colour, where colours may be used.
    pub color: Option<Color>,
}

impl TextCell {
    /// A cell with a colour.
    pub fn new(text: impl Into<String>, color: Option<Color>) -> Self {
        TextCell { text: text.into(), color }
    }
}

impl From<String> for TextCell {
    fn from(text: String) -> Self {
        TextCell::new(text, None)
    }
}

impl From<&str> for TextCell {
    fn from(text: &str) -> Self {
        TextCell::new(text, None)
    }
}

/// A column of a table: its header and the function that fills it.
pub struct TextColumn<'a, R> {
    header: &'a str,
    alignment: Alignment,
    fit: Fit,
    total: Option<String>,
    cell: Box<dyn Fn(&R) -> TextCell + 'a>,
}

impl<'a, R: 'a> TextColumn<'a, R> {
    /// A column of texts, which lose their middle where the table is too wide.
    pub fn left<C: Into<TextCell>>(header: &'a str, cell: impl Fn(&R) -> C + 'a) -> Self {
        TextColumn {
            header,
            alignment: Alignment::Left,
            fit: Fit::Shorten,
            total: None,
            cell: Box::new(move |row| cell(row).into()),
        }
    }

    /// A column of numbers, whose digits line up. They are never shortened.
    pub fn right<C: Into<TextCell>>(header: &'a str, cell: impl Fn(&R) -> C + 'a) -> Self {
        TextColumn { alignment: Alignment::Right, fit: Fit::Keep, ..TextColumn::left(header, cell) }
    }

    /// Never shortens the column.
    #[must_use]
    pub fn kept(self) -> Self {
        TextColumn { fit: Fit::Keep, ..self }
    }

    /// Leaves the column out where the table is too wide, columns of a higher `order` first.
    #[must_use]
    pub fn droppable(self, order: u8) -> Self {
        TextColumn { fit: Fit::Drop(order), ..self }
    }

    /// Adds a cell to the line of totals below the table, which is grey.
    #[must_use]
    pub fn with_total(self, total: impl Into<String>) -> Self {
        TextColumn { total: Some(total.into()), ..self }
    }

    /// Leaves the cell of the line of totals out again.
    #[must_use]
    pub fn without_total(self) -> Self {
        TextColumn { total: None, ..self }
    }

    /// Changes the colour of cells.
    #[must_use]
    pub fn recolored(self, color: impl Fn(&R, Option<Color>) -> Option<Color> + 'a) -> Self {
        let cell = self.cell;
        let recolored = move |row: &R| {
            let TextCell { text, color: before } = cell(row);
            TextCell { text, color: color(row, before) }
        };
        TextColumn { cell: Box::new(recolored), ..self }
    }
}

/// The lines of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// A rule below the header, two blanks between columns.
    Rule,
    /// Lines around and between all columns.
    Boxes,
}

/// Blanks between columns without lines.
const GAP: usize = 2;
/// Columns are dropped before texts are shortened to less than this.
const READABLE: usize = 20;
/// Texts are shortened to this at most.
const NARROWEST: usize = 8;

/// Rows laid out in columns that fit the terminal.
///
/// Where the table is wider than [`Style::width`], droppable columns go until texts of [`TextColumn::left`] keep a
/// readable length; then the widest of these lose their middle. The table stays wider only when the remaining columns
/// cannot be shortened.
#[derive(Debug, Clone)]
pub struct Grid<'a> {
    columns: Vec<GridColumn<'a>>,
    rows: Vec<Vec<TextCell>>,
    total: Option<Vec<TextCell>>,
    frame: Frame,
    style: Style,
}

#[derive(Debug, Clone, Copy)]
struct GridColumn<'a> {
    header: &'a str,
    alignment: Alignment,
    fit: Fit,
    width: usize,
    is_shown: bool,
}

impl<'a> Grid<'a> {
    /// Lays out `rows` under `columns`.
    pub fn new<'r, R: 'r>(
        columns: &[TextColumn<'a, R>],
        rows: impl IntoIterator<Item = &'r R>,
        frame: Frame,
        style: Style,
    ) -> Self {
        let rows = rows.into_iter();
        let rows = rows.map(|row| columns.iter().map(|column| one_line((column.cell)(row))).collect());
        let rows: Vec<Vec<TextCell>> = rows.collect();
        let total = |column: &TextColumn<'_, R>| {
            one_line(TextCell::new(column.total.clone().unwrap_or_default(), Some(Color::Gray)))
        };
        let has_total = columns.iter().any(|column| column.total.is_some());
        let total: Option<Vec<TextCell>> = has_total.then(|| columns.iter().map(total).collect());
        let lay_out = |(at, column): (usize, &TextColumn<'a, R>)| {
            let &TextColumn { header, alignment, fit, .. } = column;
            let widths = rows.iter().chain(&total).map(|row| row[at].text.width());
            GridColumn {
                header,
                alignment,
                fit,
                width: widths.fold(header.width(), usize::max),
                is_shown: true,
            }
        };
        let columns = columns.iter().enumerate().map(lay_out).collect();
        let mut grid = Grid { columns, rows, total, frame, style };
        grid.fit();
        grid.shorten();
        grid
    }

    /// Shortens texts to the width of their columns. Texts that differ stay different.
    fn shorten(&mut self) {
        let unicode = self.style.unicode;
        for (at, column) in self.columns.iter().enumerate().filter(|(_, column)| column.fit == Fit::Shorten) {
            let texts: Vec<String> = self.rows.iter().map(|row| row[at].text.clone()).collect();
            let short = shortened_apart(texts.iter().map(String::as_str), column.width, unicode);
            for row in &mut self.rows {
                if let Some(text) = short.get(row[at].text.as_str()) {
                    row[at].text.clone_from(text);
                }
            }
        }
    }

    /// Drops and shortens columns until the table fits.
    fn fit(&mut self) {
        let preferred = |column: &GridColumn<'_>| match column.fit {
            Fit::Shorten => column.width.min(READABLE),
            _ => column.width,
        };
        while self.width(preferred) > self.style.width {
            let droppable = self.columns.iter_mut().filter(|column| column.is_shown);
            let droppable = droppable.filter(|column| matches!(column.fit, Fit::Drop(_)));
            let Some(column) = droppable.max_by_key(|column| column.fit) else { break };
            column.is_shown = false;
        }
        // One character at a time from the widest: columns that already fit keep their text.
        for _ in self.style.width..self.width(|column| column.width) {
            let shrinkable = self
                .columns
                .iter_mut()
                .rev()
                .filter(|column| column.fit == Fit::Shorten && column.width > NARROWEST);
            let Some(column) = shrinkable.max_by_key(|column| column.width) else { break };
            column.width -= 1;
        }
    }

    /// Length of a line.
    fn width(&self, of: impl Fn(&GridColumn<'_>) -> usize) -> usize {
        let widths = self.shown().map(of);
        match self.frame {
            Frame::Rule => widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP),
            Frame::Boxes => widths.map(|width| width + 3).sum::<usize>() + 1,
        }
    }

    fn shown(&self) -> impl Iterator<Item = &GridColumn<'a>> {
        self.columns.iter().filter(|column| column.is_shown)
    }

    /// Headers of the columns that there was no room for.
    #[must_use]
    pub fn left_out(&self) -> Vec<&'a str> {
        let left_out = self.columns.iter().filter(|column| !column.is_shown);
        left_out.map(|column| column.header).collect()
    }

    /// One of the rows as a line.
    #[must_use]
    pub fn line(&self, row: usize) -> String {
        self.rows.get(row).map_or(String::new(), |cells| self.line_of(cells))
    }

    fn line_of(&self, cells: &[TextCell]) -> String {
        let style = self.style;
        let cells = self.columns.iter().zip(cells).filter(|(column, _)| column.is_shown);
        let cells: Vec<String> = cells
            .map(|(column, cell)| {
                let text = truncate_middle(&cell.text, column.width, style.unicode);
                let room = " ".repeat(column.width.saturating_sub(text.width()));
                let painted = cell.color.map_or_else(|| text.clone(), |color| style.paint(&text, color));
                match column.alignment {
                    Alignment::Left => painted + &room,
                    Alignment::Right => room + &painted,
                }
            })
            .collect();
        let bar = if style.unicode { "│" } else { "|" };
        match self.frame {
            Frame::Rule => format!("{}\n", cells.join(&" ".repeat(GAP)).trim_end()),
            Frame::Boxes => format!("{bar} {} {bar}\n", cells.join(&format!(" {bar} "))),
        }
    }

    /// A line between parts of the table; in boxes with these ends and crossings.
    fn rule(&self, [left, crossing, right]: [&str; 3]) -> String {
        let [dash, left, crossing, right] =
            if self.style.unicode { ["─", left, crossing, right] } else { ["-", "+", "+", "+"] };
        let runs: Vec<String> = self.shown().map(|column| dash.repeat(column.width + 2)).collect();
        match self.frame {
            Frame::Rule => dash.repeat(self.width(|column| column.width)) + "\n",
            Frame::Boxes => format!("{left}{}{right}\n", runs.join(crossing)),
        }
    }

    /// The whole table: headers, rows, the line of totals if a column has one; each line ends in `\n`.
    #[must_use]
    pub fn text(&self) -> String {
        let has_boxes = self.frame == Frame::Boxes;
        let headers: Vec<TextCell> = self.columns.iter().map(|column| column.header.into()).collect();
        let headers = self.line_of(&headers);
        let mut text = match self.frame {
            Frame::Rule => self.style.bold(headers.trim_end()) + "\n",
            Frame::Boxes => self.rule(["┌", "┬", "┐"]) + &headers,
        };
        text.push_str(&self.rule(["├", "┼", "┤"]));
        self.rows.iter().for_each(|row| text.push_str(&self.line_of(row)));
        if let Some(total) = &self.total {
            text.push_str(&self.rule(["├", "┼", "┤"]));
            text.push_str(&self.line_of(total));
        }
        if has_boxes {
            text.push_str(&self.rule(["└", "┴", "┘"]));
        }
        text
    }
}

fn one_line(mut cell: TextCell) -> TextCell {
    if let Cow::Owned(text) = escaped(&cell.text) {
        cell.text = text;
    }
    cell
}

/// The table of `rows` under `columns`, with a rule below the header; empty without columns.
#[must_use]
pub fn table<'r, R: 'r>(
    columns: &[TextColumn<'_, R>],
    rows: impl IntoIterator<Item = &'r R>,
    style: Style,
) -> String {
    match columns {
        [] => String::new(),
        columns => Grid::new(columns, rows, Frame::Rule, style).text(),
    }
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
    fn names_that_differ_never_look_alike() {
        let long = |middle: &str| format!("Cijk_Alik_Bljk_{}_{middle}_{}", "x".repeat(60), "y".repeat(60));
        for unicode in [true, false] {
            let style = Style { width: 40, colored: false, unicode };
            let names = [long("MT256"), long("MT128"), long("MT256"), "short".to_owned()];
            let column = TextColumn::left("kernel", |name: &String| name.clone());
            let text = table(&[column], &names, style);
            let lines: Vec<&str> = text.lines().skip(2).collect();
            assert!(lines[0].contains("MT256") || lines[0].contains("256"), "{text}");
            assert_ne!(lines[0], lines[1], "{text}");
            assert_eq!((lines[0], lines[3]), (lines[2], "short"), "{text}");
            assert!(lines.iter().all(|line| line.width() <= 40), "{text}");
        }
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
        let expected = format!("{}{}\n# computation 91.4%  - idle 8.6%\n", "#".repeat(64), "-".repeat(6));
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

    type Row = [&'static str; 3];

    fn columns<'a>() -> [TextColumn<'a, Row>; 3] {
        [
            TextColumn::left("kernel", |row: &Row| row[0]),
            TextColumn::right("count", |row: &Row| row[1]),
            TextColumn::left("category", |row: &Row| row[2]),
        ]
    }

    const ROWS: [Row; 2] = [
        ["sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn", "48", "GEMM"],
        ["Memset (Device)", "12345", "other\nthings"],
    ];

    const PLAIN: Style = Style { width: 80, colored: false, unicode: true };

    #[test]
    fn columns_line_up_and_lines_have_no_trailing_space() {
        let expected = "\
kernel                                  count  category
────────────────────────────────────────────────────────────
sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn     48  GEMM
Memset (Device)                         12345  other\\nthings
";
        assert_eq!(table(&columns(), &ROWS, PLAIN), expected);
    }

    #[test]
    fn long_names_lose_their_middle_and_numbers_nothing() {
        for (unicode, name) in [(true, "sm90_xmma…_f32_tn"), (false, "sm90_xmm..._f32_tn")] {
            let text = table(&columns(), &ROWS, Style { width: 40, unicode, ..PLAIN });
            assert!(text.contains(name), "{text}");
            assert!(text.contains("12345"), "{text}");
            assert!(text.lines().all(|line| line.width() <= 40), "{text}");
            assert_eq!(text.is_ascii(), !unicode);
        }
    }

    #[test]
    fn numbers_stay_whole_even_where_they_do_not_fit() {
        assert!(table(&columns()[1..2], &ROWS, Style { width: 4, ..PLAIN }).contains("12345"));
    }

    #[test]
    fn colour_adds_escapes_and_changes_nothing_else() {
        let style = Style { colored: true, ..PLAIN };
        let colored = table(&columns(), &ROWS, style);
        assert!(colored.starts_with("\u{1b}[1mkernel"));
        let bare =
            |text: &str| text.replace("\u{1b}[1m", "").replace("\u{1b}[31m", "").replace("\u{1b}[0m", "");
        let plain = table(&columns(), &ROWS, PLAIN);
        assert_eq!(bare(&colored), plain);
        assert!(!plain.contains('\u{1b}'));
        let red = columns().map(|column| column.recolored(|_, _| Some(Color::Red)));
        let red = table(&red, &ROWS, style);
        assert!(red.contains("\u{1b}[31m48\u{1b}[0m"), "{red}");
        assert_eq!(bare(&red), plain);
    }

    #[test]
    fn a_table_without_rows_is_its_header() {
        let style = Style { unicode: false, ..PLAIN };
        assert_eq!(table(&columns(), &[], style), "kernel  count  category\n-----------------------\n");
        assert_eq!(table::<Row>(&[], &[], style), "");
    }

    fn droppable<'a>() -> [TextColumn<'a, [&'static str; 4]>; 4] {
        [
            TextColumn::right("ID", |row: &[&'static str; 4]| row[0]),
            TextColumn::left("OP Code", |row: &[&'static str; 4]| row[1]),
            TextColumn::right("DRAM", |row: &[&'static str; 4]| row[2]).droppable(2).with_total("151 GB/s"),
            TextColumn::right("Bound", |row: &[&'static str; 4]| row[3]).droppable(1),
        ]
    }

    const OPERATIONS: [[&str; 4]; 1] =
        [["7", "MatmulDeviceOperation 3200 x 1792 x 1536", "151 GB/s", "FLOP"]];

    #[test]
    fn columns_are_dropped_before_texts_become_unreadable() {
        for width in 32..90 {
            let grid = Grid::new(&droppable(), &OPERATIONS, Frame::Boxes, Style { width, ..PLAIN });
            let text = grid.text();
            let lengths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
            assert!(lengths.iter().all(|length| *length == lengths[0] && *length <= width), "{text}");
            assert!(text.contains("151 GB/s") || !text.contains("DRAM"), "{text}");
            assert_eq!(grid.left_out().contains(&"DRAM"), !text.contains("DRAM"), "{text}");
        }
        let narrow = Grid::new(&droppable(), &OPERATIONS, Frame::Boxes, Style { width: 44, ..PLAIN }).text();
        assert!(narrow.contains("│  7 │ MatmulDevice") && narrow.contains('…'), "{narrow}");
        assert!(narrow.contains("Bound") && !narrow.contains("DRAM"), "{narrow}");
    }

    #[test]
    fn boxes_have_lines_around_every_cell_and_totals_below() {
        let style = Style { width: usize::MAX, unicode: false, ..PLAIN };
        let grid = Grid::new(&droppable(), &OPERATIONS, Frame::Boxes, style);
        let expected = "\
+----+------------------------------------------+----------+-------+
| ID | OP Code                                  |     DRAM | Bound |
+----+------------------------------------------+----------+-------+
|  7 | MatmulDeviceOperation 3200 x 1792 x 1536 | 151 GB/s |  FLOP |
+----+------------------------------------------+----------+-------+
|    |                                          | 151 GB/s |       |
+----+------------------------------------------+----------+-------+
";
        assert_eq!(grid.text(), expected);
        assert_eq!(grid.line(0), expected.lines().nth(3).unwrap().to_owned() + "\n");
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
            ("漢字漢字漢字", 7, true, "漢…漢字"),
        ];
        for (text, width, unicode, shortened) in cases {
            let result = truncate_middle(text, width, unicode);
            assert_eq!(result, shortened);
            assert!(result.width() <= width);
        }
    }
}
