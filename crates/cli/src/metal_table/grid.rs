//! How columns stand beside one another: in boxes that fit the terminal, or plain.

use report_writers::terminal::truncate_middle;

use super::ink::{Ink, Paint};

/// How a column lines up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// What becomes of a column where there is too little room. Half a number is a wrong number: numbers are never cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// It stays.
    Kept,
    /// It is shortened in the middle.
    Shortened,
    /// It goes; higher numbers go first.
    Dropped(u8),
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct GridColumn {
    pub(crate) header: &'static str,
    pub(crate) align: Align,
    /// Narrowest that it may be with all its cells empty.
    pub(crate) least: usize,
    pub(crate) priority: Priority,
}

/// A cell: its text and colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) ink: Option<Ink>,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, ink: Option<Ink>) -> Self {
        Cell { text: text.into(), ink }
    }
}

/// What stands between and around the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// Lines around and between.
    Boxes {
        /// Columns of the terminal; `None` where lines may have any length.
        width: Option<usize>,
        /// Whether lines may be drawn with characters beyond ASCII.
        unicode: bool,
    },
    /// Two blanks between columns, a rule below the header and above the last line.
    Plain,
}

/// Columns with their widths.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    columns: Vec<GridColumn>,
    widths: Vec<usize>,
    shown: Vec<bool>,
    frame: Frame,
    paint: Paint,
}

/// A column that is shortened keeps this much, if it has it.
const NARROWEST: usize = 20;

/// Columns of the terminal that a text takes: the mark of signposts takes two, which the plain table does not heed.
fn room_of(text: &str, frame: Frame) -> usize {
    let marks = if frame == Frame::Plain { 0 } else { text.matches('🪧').count() };
    text.chars().count() + marks
}

impl Grid {
    /// Columns wide enough for all these rows, as far as there is room.
    pub(crate) fn new<'a>(
        columns: Vec<GridColumn>,
        rows: impl Iterator<Item = &'a Vec<Cell>>,
        frame: Frame,
        paint: Paint,
    ) -> Self {
        let start = |column: &GridColumn| column.header.chars().count().max(column.least);
        let mut widths: Vec<usize> = columns.iter().map(start).collect();
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(room_of(&cell.text, frame));
            }
        }
        let mut grid = Grid { shown: vec![true; columns.len()], columns, widths, frame, paint };
        if let Frame::Boxes { width: Some(width), .. } = frame {
            grid.fit(width);
        }
        grid
    }

    /// Headers of the columns that there was no room for.
    pub(crate) fn left_out(&self) -> Vec<&'static str> {
        let left_out = self.columns.iter().zip(&self.shown).filter(|(_, shown)| !**shown);
        left_out.map(|(column, _)| column.header).collect()
    }

    fn fit(&mut self, width: usize) {
        let flexible = self.columns.iter().position(|column| column.priority == Priority::Shortened);
        let least = flexible.map_or(0, |column| self.widths[column].min(NARROWEST));
        let surplus = |grid: &Grid| {
            let full = flexible.map_or(0, |column| grid.widths[column]);
            (grid.total() - full + least).saturating_sub(width)
        };
        while surplus(self) > 0 {
            let next = (0..self.columns.len())
                .filter(|column| self.shown[*column])
                .filter_map(|column| match self.columns[column].priority {
                    Priority::Dropped(order) => Some((order, column)),
                    _ => None,
                })
                .max();
            let Some((_, column)) = next else { break };
            self.shown[column] = false;
        }
        if let Some(column) = flexible {
            let excess = self.total().saturating_sub(width);
            self.widths[column] = self.widths[column].saturating_sub(excess).max(1);
        }
    }

    /// Length of a line in boxes.
    fn total(&self) -> usize {
        let shown = self.widths.iter().zip(&self.shown).filter(|(_, shown)| **shown);
        shown.map(|(width, _)| width + 3).sum::<usize>() + 1
    }

    /// The line of headers, with the line above and below.
    pub(crate) fn head(&self) -> String {
        let cells: Vec<Cell> = self.columns.iter().map(|column| Cell::new(column.header, None)).collect();
        match self.frame {
            Frame::Plain => format!("{}{}", self.plain_line(&cells, true), self.rule()),
            Frame::Boxes { .. } => {
                format!("{}{}{}", self.edge(['┌', '┬', '┐']), self.line(&cells), self.rule())
            }
        }
    }

    /// A line of cells.
    pub(crate) fn line(&self, cells: &[Cell]) -> String {
        let Frame::Boxes { unicode, .. } = self.frame else { return self.plain_line(cells, false) };
        let bar = if unicode { '│' } else { '|' };
        let mut line = String::new();
        for (((column, width), cell), _) in self.each(cells) {
            let text = truncate_middle(&cell.text, *width, unicode);
            line.push_str(&format!("{bar} {} ", self.padded(&text, cell.ink, *width, column.align)));
        }
        line.push(bar);
        line.push('\n');
        line
    }

    fn plain_line(&self, cells: &[Cell], header: bool) -> String {
        let each = self.each(cells).map(|(((column, width), cell), _)| {
            let align = if header { Align::Left } else { column.align };
            self.padded(&cell.text, cell.ink, *width, align)
        });
        format!("{}\n", each.collect::<Vec<_>>().join("  "))
    }

    fn each<'a>(
        &'a self,
        cells: &'a [Cell],
    ) -> impl Iterator<Item = (((&'a GridColumn, &'a usize), &'a Cell), &'a bool)> {
        self.columns.iter().zip(&self.widths).zip(cells).zip(&self.shown).filter(|(_, shown)| **shown)
    }

    fn padded(&self, text: &str, ink: Option<Ink>, width: usize, align: Align) -> String {
        let room = " ".repeat(width.saturating_sub(room_of(text, self.frame)));
        let painted = self.paint.text(text, ink);
        match align {
            Align::Left => painted + &room,
            Align::Right => room + &painted,
        }
    }

    /// The line between parts of the table.
    pub(crate) fn rule(&self) -> String {
        match self.frame {
            Frame::Plain => {
                let gaps = 2 * self.widths.len().saturating_sub(1);
                format!("{}\n", "-".repeat(self.widths.iter().sum::<usize>() + gaps))
            }
            Frame::Boxes { .. } => self.edge(['├', '┼', '┤']),
        }
    }

    /// The line at the end.
    pub(crate) fn foot(&self) -> String {
        match self.frame {
            Frame::Plain => String::new(),
            Frame::Boxes { .. } => self.edge(['└', '┴', '┘']),
        }
    }

    fn edge(&self, [left, middle, right]: [char; 3]) -> String {
        let Frame::Boxes { unicode, .. } = self.frame else { return String::new() };
        let dash = if unicode { "─" } else { "-" };
        let corner = |c: char| if unicode { c } else { '+' };
        let shown = self.widths.iter().zip(&self.shown).filter(|(_, shown)| **shown);
        let runs: Vec<String> = shown.map(|(width, _)| dash.repeat(width + 2)).collect();
        format!("{}{}{}\n", corner(left), runs.join(&corner(middle).to_string()), corner(right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<GridColumn> {
        let column = |header, align, priority| GridColumn { header, align, least: 0, priority };
        vec![
            column("ID", Align::Right, Priority::Kept),
            column("OP Code", Align::Left, Priority::Shortened),
            column("DRAM", Align::Right, Priority::Dropped(2)),
            column("Bound", Align::Right, Priority::Dropped(1)),
        ]
    }

    fn rows() -> Vec<Vec<Cell>> {
        let row = |cells: [&str; 4]| cells.map(|text| Cell::new(text, Some(Ink::Red))).to_vec();
        vec![row(["7", "MatmulDeviceOperation 3200 x 1792 x 1536", "151 GB/s", "FLOP"])]
    }

    fn drawn(frame: Frame) -> String {
        let rows = rows();
        let grid = Grid::new(columns(), rows.iter(), frame, Paint { colored: false });
        [grid.head(), grid.line(&rows[0]), grid.foot()].concat()
    }

    #[test]
    fn boxes_fit_any_width_and_numbers_stay_whole() {
        for width in 32..90 {
            let text = drawn(Frame::Boxes { width: Some(width), unicode: true });
            let lengths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
            assert!(lengths.iter().all(|length| *length == lengths[0] && *length <= width), "{text}");
            assert!(text.contains("151 GB/s") || !text.contains("DRAM"), "{text}");
        }
        let narrow = drawn(Frame::Boxes { width: Some(44), unicode: true });
        assert!(narrow.contains("│  7 │ MatmulDevice") && narrow.contains('…'), "{narrow}");
        assert!(narrow.contains("Bound") && !narrow.contains("DRAM"), "{narrow}");
    }

    #[test]
    fn without_a_width_nothing_is_shortened() {
        let text = drawn(Frame::Boxes { width: None, unicode: false });
        assert_eq!(
            text,
            "+----+------------------------------------------+----------+-------+\n\
             | ID | OP Code                                  |     DRAM | Bound |\n\
             +----+------------------------------------------+----------+-------+\n\
             |  7 | MatmulDeviceOperation 3200 x 1792 x 1536 | 151 GB/s |  FLOP |\n\
             +----+------------------------------------------+----------+-------+\n"
        );
    }

    #[test]
    fn plain_columns_have_two_blanks_between_and_headers_at_the_left() {
        assert_eq!(
            drawn(Frame::Plain),
            "ID  OP Code                                   DRAM      Bound\n\
             -------------------------------------------------------------\n \
              7  MatmulDeviceOperation 3200 x 1792 x 1536  151 GB/s   FLOP\n"
        );
    }

    #[test]
    fn colours_have_no_width() {
        let rows = rows();
        let frame = Frame::Boxes { width: Some(80), unicode: true };
        let grid = Grid::new(columns(), rows.iter(), frame, Paint { colored: true });
        let plain = Grid::new(columns(), rows.iter(), frame, Paint { colored: false });
        let line = grid.line(&rows[0]);
        let bare = line.replace("\u{1b}[38;5;9m", "").replace("\u{1b}[0m", "");
        assert_eq!(bare, plain.line(&rows[0]));
        assert_ne!(line, bare);
    }
}
