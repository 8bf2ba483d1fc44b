//! A table of numbers as colours, as SVG: a cell per row and column, darker for more.
//!
//! ```
//! use report_writers::heat_map::{Axis, HeatMap};
//!
//! let picture = HeatMap {
//!     title: "Lateness by rank and step".into(),
//!     rows: Axis { title: "rank".into(), names: vec!["0".into(), "1".into()] },
//!     columns: Axis { title: "step".into(), names: vec!["7".into(), "8".into()] },
//!     cells: vec![vec![Some(0.0), Some(2.5)], vec![Some(0.0), None]],
//!     unit: "ms".into(),
//!     footnote: String::new(),
//! };
//! let svg = picture.to_svg()?;
//! assert!(svg.contains("to 2.50 ms") && svg.contains("not recorded"));
//! # Ok::<(), report_writers::DrawError>(())
//! ```

use plotters::style::text_anchor::HPos;

use crate::picture::{
    Area, DrawError, INK, MARGIN, WIDTH, legend, notes_height, pixels, rectangle, rgb, shade_of, shortened,
    svg, text, text_upwards, text_width, title, write_notes,
};

/// Numbers by row and column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatMap {
    /// Heading.
    pub title: String,
    /// The rows, from the top.
    pub rows: Axis,
    /// The columns, from the left.
    pub columns: Axis,
    /// The numbers by row, of each as many as there are columns; `None` where there is none. What is below 0 counts as 0.
    pub cells: Vec<Vec<Option<f64>>>,
    /// Unit of the numbers.
    pub unit: String,
    /// Line at the bottom. May be empty.
    pub footnote: String,
}

/// The rows or the columns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// What they are.
    pub title: String,
    /// Their names.
    pub names: Vec<String>,
}

impl HeatMap {
    /// The picture. The same numbers give the same text.
    ///
    /// # Errors
    ///
    /// When there are not as many numbers as rows and columns have names.
    pub fn to_svg(&self) -> Result<String, DrawError> {
        let (rows, columns) = (self.rows.names.len(), self.columns.names.len());
        if self.cells.len() != rows || self.cells.iter().any(|row| row.len() != columns) {
            return Err(DrawError(format!("expected {rows} rows of {columns} numbers")));
        }
        draw(self)
    }
}

/// Rows and columns that are drawn at most: of more, several share one.
const MOST_ROWS: usize = 200;
const MOST_COLUMNS: usize = 180;
/// Classes of numbers that are shown, each with a shade.
const CLASSES: usize = 5;
/// Share of the largest number up to which one is not told from 0: noise would draw the eye.
const LEAST: f64 = 0.05;
/// The category of [`shade_of`] that the shades are of: red.
const HUE: usize = 4;
const ZERO: u32 = 0xF2F2F2;
const NOTHING: u32 = 0xFFFFFF;
const CELLS_TOP: i32 = 84;
const LABEL_SIZE: f64 = 12.0;
const LABEL_HEIGHT: i32 = 18;

/// So many rows or columns share a cell.
fn shared_by(count: usize, most: usize) -> usize {
    count.div_ceil(most).max(1)
}

/// The largest number of a block of cells.
fn largest<'c>(rows: impl Iterator<Item = &'c [Option<f64>]>) -> Option<f64> {
    rows.flatten().copied().flatten().reduce(f64::max)
}

/// The class of a number, from 0; `None` for what is not told from 0.
fn class_of(number: f64, most: f64) -> Option<usize> {
    (number > LEAST * most).then(|| ((number / most * CLASSES as f64).ceil() as usize).clamp(1, CLASSES) - 1)
}

fn shade(class: usize) -> u32 {
    shade_of(HUE, (CLASSES - 1 - class) * 11 / (CLASSES - 1))
}

fn draw(picture: &HeatMap) -> Result<String, DrawError> {
    let rows_each = shared_by(picture.rows.names.len(), MOST_ROWS);
    let columns_each = shared_by(picture.columns.names.len(), MOST_COLUMNS);
    let blocks: Vec<Vec<Option<f64>>> = picture
        .cells
        .chunks(rows_each)
        .map(|rows| {
            let count = picture.columns.names.len().div_ceil(columns_each);
            let of = |column: usize| {
                let from = column * columns_each;
                let to = (from + columns_each).min(picture.columns.names.len());
                largest(rows.iter().map(|row| &row[from..to]))
            };
            (0..count).map(of).collect()
        })
        .collect();
    let most = largest(blocks.iter().map(Vec::as_slice)).unwrap_or(0.0);

    let labels = picture.rows.names.iter().map(|name| text_width(&shortened(name, 12), LABEL_SIZE));
    let left = MARGIN + LABEL_HEIGHT + labels.max().unwrap_or(0) + 8;
    let room = pixels(WIDTH) - MARGIN - left;
    let count = |blocks: usize| i32::try_from(blocks.max(1)).unwrap_or(1);
    let (rows, columns) = (count(blocks.len()), count(blocks.first().map_or(0, Vec::len)));
    let (width, height) = ((room / columns).clamp(4, 60), (600 / rows).clamp(3, 24));
    let bottom = CELLS_TOP + rows * height;
    let mut notes = vec![];
    if rows_each > 1 || columns_each > 1 {
        let (row, column) = (&picture.rows.title, &picture.columns.title);
        notes.push(format!(
            "A cell shows the maximum of up to {rows_each} × {columns_each} ({row} × {column})."
        ));
    }
    notes.extend(Some(picture.footnote.clone()).filter(|note| !note.is_empty()));
    let notes_top = bottom + 2 * LABEL_HEIGHT + 16;
    svg(u32::try_from(notes_top + notes_height(&notes)).unwrap_or(u32::MAX), |root| {
        title(root, &picture.title)?;
        legend(root, legend_entries(&blocks, most, &picture.unit))?;
        for (y, row) in (0..).map(|row| CELLS_TOP + row * height).zip(&blocks) {
            for (x, cell) in (0..).map(|column| left + column * width).zip(row) {
                let color = cell.map_or(NOTHING, |number| class_of(number, most).map_or(ZERO, shade));
                let gap = i32::from(width > 6 && height > 6);
                rectangle(root, [(x, y), (x + width - gap, y + height - gap)], rgb(color))?;
            }
        }
        row_labels(root, picture, rows_each, (left, height))?;
        column_labels(root, picture, columns_each, (left, bottom, width))?;
        write_notes(root, &notes, notes_top)
    })
}

/// A swatch for each class that a number may have, and for what is not there where something is not.
fn legend_entries(blocks: &[Vec<Option<f64>>], most: f64, unit: &str) -> Vec<(String, u32)> {
    // Three digits of the largest number.
    let places = (2 - most.max(f64::MIN_POSITIVE).log10().floor() as i32).clamp(0, 9) as usize;
    let bound = |class: usize| {
        let share = if class == 0 { LEAST } else { class as f64 / CLASSES as f64 };
        format!("{:.places$}", most * share)
    };
    let mut entries = vec![(format!("up to {} {unit}", bound(0)), ZERO)];
    if most > 0.0 {
        let of = |class| (format!("to {} {unit}", bound(class + 1)), shade(class));
        entries.extend((0..CLASSES).map(of));
    }
    if blocks.iter().flatten().any(Option::is_none) {
        entries.push(("white: not recorded".to_owned(), NOTHING));
    }
    entries
}

/// Names of rows, as many as have room.
fn row_labels(
    root: &Area<'_>,
    picture: &HeatMap,
    each: usize,
    (left, height): (i32, i32),
) -> Result<(), DrawError> {
    let step = usize::try_from((LABEL_HEIGHT - 3 + height) / height).unwrap_or(1);
    let blocks = picture.rows.names.len().div_ceil(each);
    for row in (0..blocks).step_by(step) {
        let y = CELLS_TOP + i32::try_from(row).unwrap_or(0) * height + (height - 14) / 2;
        let name = shortened(&picture.rows.names[row * each], 12);
        text(root, &name, (left - 6, y), LABEL_SIZE, &INK, HPos::Right)?;
    }
    let middle = CELLS_TOP + i32::try_from(blocks).unwrap_or(0) * height / 2;
    text_upwards(root, &picture.rows.title, (MARGIN, middle), 13.0, &INK)
}

/// Names of columns, as many as have room.
fn column_labels(
    root: &Area<'_>,
    picture: &HeatMap,
    each: usize,
    (left, bottom, width): (i32, i32, i32),
) -> Result<(), DrawError> {
    let longest = picture.columns.names.iter().map(|name| text_width(&shortened(name, 8), LABEL_SIZE)).max();
    let step = usize::try_from((longest.unwrap_or(0) + 5 + width) / width).unwrap_or(1).max(1);
    let blocks = picture.columns.names.len().div_ceil(each);
    for column in (0..blocks).step_by(step) {
        let x = left + i32::try_from(column).unwrap_or(0) * width + width / 2;
        let name = shortened(&picture.columns.names[column * each], 8);
        text(root, &name, (x, bottom + 4), LABEL_SIZE, &INK, HPos::Center)?;
    }
    let middle = left + i32::try_from(blocks).unwrap_or(0) * width / 2;
    text(root, &picture.columns.title, (middle, bottom + 4 + LABEL_HEIGHT), 13.0, &INK, HPos::Center)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(title: &str, count: usize) -> Axis {
        Axis { title: title.into(), names: (0..count).map(|name| name.to_string()).collect() }
    }

    fn map(rows: usize, columns: usize, cell: impl Fn(usize, usize) -> Option<f64>) -> HeatMap {
        HeatMap {
            title: "Lateness".into(),
            rows: axis("rank", rows),
            columns: axis("step", columns),
            cells: (0..rows).map(|row| (0..columns).map(|column| cell(row, column)).collect()).collect(),
            unit: "ms".into(),
            footnote: String::new(),
        }
    }

    /// How many rectangles have this colour, swatches of the legend included.
    fn rectangles(svg: &str, color: u32) -> usize {
        svg.matches(&format!("fill=\"#{color:06X}\"")).count()
    }

    #[test]
    fn a_cell_is_darker_the_more_it_has() {
        let svg =
            map(2, 3, |row, column| Some(if row == 0 { 0.0 } else { 5.0 * column as f64 })).to_svg().unwrap();
        // Three zeros of the first row, one of the second and the legend's.
        assert_eq!(rectangles(&svg, ZERO), 5);
        assert_eq!(rectangles(&svg, shade(CLASSES - 1)), 2);
        assert_eq!(rectangles(&svg, shade(2)), 2, "5 of 10 is in the class from 4 to 6");
        assert!(svg.contains("to 8.0 ms") && svg.contains("to 10.0 ms") && !svg.contains("not recorded"));
    }

    #[test]
    fn what_is_not_there_is_white_and_said() {
        let svg = map(2, 2, |row, column| (row == column).then_some(1.0)).to_svg().unwrap();
        assert!(svg.contains("not recorded"));
        assert!(map(1, 1, |_, _| Some(0.0)).to_svg().unwrap().contains("up to 0"));
    }

    #[test]
    fn many_rows_share_cells_that_show_the_largest() {
        let svg =
            map(1000, 1000, |row, column| Some(f64::from(u8::from((row, column) == (777, 444))))).to_svg();
        let svg = svg.unwrap();
        assert_eq!(rectangles(&svg, shade(CLASSES - 1)), 2, "one cell and the legend");
        assert!(svg.contains("maximum of up to 5 × 6 (rank × step)"));
    }

    #[test]
    fn numbers_without_place_are_refused() {
        let mut short = map(2, 2, |_, _| None);
        short.cells.pop();
        assert!(short.to_svg().is_err());
        assert!(map(0, 0, |_, _| None).to_svg().is_ok());
    }
}
