//! Native charts: which cells they refer to and where they stand.

use rust_xlsxwriter::{
    Chart as NativeChart, ChartAxisCrossing, ChartFont, ChartFormat, ChartLayout, ChartLegendPosition,
    ChartLine, ChartRange, ChartSolidFill, ChartType, ObjectMovement, Worksheet, XlsxError, utility,
};

use super::{column_number, row_number};
use crate::cell::{Cell, Cells};
use crate::chart::{Chart, ChartKind, SeriesFrom};
use crate::palette::PALETTE;
use crate::table::Table;

/// Pixels of a default row, and of a character and the padding of a column.
const ROW_HEIGHT: u32 = 20;
const CHARACTER_WIDTH: f64 = 7.0;
const COLUMN_PADDING: f64 = 5.0;

const CHART_WIDTH: u32 = 720;
/// Names so long that they would need a higher chart may touch their neighbours.
const HIGHEST_CHART: u32 = 1100;
/// Pixels above the plot (title) and below it (value axis and legend).
const ABOVE_PLOT: u32 = 50;
const BELOW_PLOT: u32 = 90;
/// Category names longer than this get a fixed share of the chart's width, where they are broken into
/// lines.
const LONG_NAME: usize = 30;
/// Characters of a line of a long name, and pixels from line to line.
const NAME_LINE: usize = 50;
const NAME_LINE_HEIGHT: u32 = 12;
/// Columns of a chart that are named.
pub(super) const MOST_COLUMN_NAMES: usize = 12;
/// Space between columns in percent of their width.
const COLUMN_GAP: u16 = 15;
/// A table and a chart that are together no wider than this are side by side on one screen.
const SCREEN_WIDTH: f64 = 1620.0;

/// Puts `chart` beside or below the cells of its table. A chart without rows or values is
/// nothing to look at and is left out.
pub(super) fn insert_chart(
    sheet: &mut Worksheet,
    table: &Table,
    chart: &Chart,
    sheet_name: &str,
    widths: &[f64],
    rows: usize,
) -> Result<(), XlsxError> {
    let mut drawn = table.chart_rows(chart);
    drawn.retain(|&row| row < rows);
    let column_of = |name: &str| table.frame().get_column_index(name).filter(|&column| column < widths.len());
    let values: Vec<usize> = chart.values.iter().filter_map(|name| column_of(name)).collect();
    let Some(categories) = column_of(&chart.categories) else { return Ok(()) };
    if drawn.is_empty() || values.is_empty() {
        return Ok(());
    }

    let mut native = NativeChart::new(match chart.kind {
        ChartKind::Bar => ChartType::Bar,
        ChartKind::StackedBar => ChartType::BarStacked,
        ChartKind::Column => ChartType::Column,
    });
    native.title().set_name(&chart.title);
    let cells = SheetCells { sheet_name };
    let data_rows: Vec<usize> = drawn.iter().map(|row| row + 1).collect();
    let header = 0;
    match chart.series {
        SeriesFrom::Columns => {
            for (position, &column) in values.iter().enumerate() {
                let series = native.add_series();
                series.set_name(&cells.one(header, column)?);
                series.set_categories(&cells.in_column(categories, &data_rows)?);
                series.set_values(&cells.in_column(column, &data_rows)?);
                series.set_format(&mut fill(position));
                if chart.kind == ChartKind::Column {
                    series.set_gap(COLUMN_GAP);
                }
            }
        }
        SeriesFrom::Rows => {
            for (position, &row) in data_rows.iter().enumerate() {
                let series = native.add_series();
                series.set_name(&cells.one(row, categories)?);
                series.set_categories(&cells.in_row(header, &values)?);
                series.set_values(&cells.in_row(row, &values)?);
                series.set_format(&mut fill(position));
            }
        }
    }
    style(&mut native, chart, &shape(&table.cells(), chart.series, categories, &values, &drawn));

    place(sheet, native, CHART_WIDTH, widths, rows)
}

/// Puts a chart beside the cells where the screen has room for both, else below them.
pub(super) fn place(
    sheet: &mut Worksheet,
    mut native: NativeChart,
    chart_width: u32,
    widths: &[f64],
    rows: usize,
) -> Result<(), XlsxError> {
    let beside_column = widths.len() + 1;
    let below_row = rows + 2;
    let table_width: f64 = widths.iter().map(|width| width * CHARACTER_WIDTH + COLUMN_PADDING).sum();
    let table_height = f64::from(row_number(rows)?) * f64::from(ROW_HEIGHT);
    let beside = table_width + f64::from(chart_width) <= SCREEN_WIDTH || table_width <= table_height;
    // A filter hides rows; a chart beside them must not shrink with them.
    native.set_object_movement(ObjectMovement::DontMoveOrSizeWithCells);
    if beside {
        sheet.insert_chart(1, column_number(beside_column)?, &native)?;
    } else {
        native.set_object_movement(ObjectMovement::MoveButDontSizeWithCells);
        sheet.insert_chart(row_number(below_row)?, 0, &native)?;
    }
    Ok(())
}

fn shape(
    cells: &[Cells<'_>],
    series_from: SeriesFrom,
    categories: usize,
    values: &[usize],
    drawn: &[usize],
) -> Shape {
    let name_length = |&row: &usize| match cells[categories].get(row) {
        Cell::Text(name) => name.chars().count(),
        _ => 0,
    };
    let is_negative = |cell: Cell<'_>| match cell {
        Cell::Integer(value) => value < 0,
        Cell::Float(value) => value < 0.0,
        _ => false,
    };
    let has_negative =
        values.iter().any(|&column| drawn.iter().any(|&row| is_negative(cells[column].get(row))));
    let (series, categories, longest_name) = match series_from {
        SeriesFrom::Columns => (values.len(), drawn.len(), drawn.iter().map(name_length).max().unwrap_or(0)),
        // Headers are short.
        SeriesFrom::Rows => (drawn.len(), values.len(), 0),
    };
    Shape { series, categories, longest_name, starts_at_zero: !has_negative }
}

/// What the look of a chart depends on.
struct Shape {
    series: usize,
    categories: usize,
    /// Characters of the longest category name.
    longest_name: usize,
    /// Whether no drawn value is below zero.
    starts_at_zero: bool,
}

impl Shape {
    /// Pixels from one bar to the next. A long name needs all its lines and, because it breaks at blanks
    /// first, often one more.
    fn bar_height(&self) -> u32 {
        if self.longest_name <= LONG_NAME {
            return 24;
        }
        let lines = u32::try_from(self.longest_name.div_ceil(NAME_LINE) + 1).unwrap_or(u32::MAX);
        lines.saturating_mul(NAME_LINE_HEIGHT).saturating_add(6)
    }
}

fn style(native: &mut NativeChart, chart: &Chart, shape: &Shape) {
    let horizontal = matches!(chart.kind, ChartKind::Bar | ChartKind::StackedBar);
    let bars_per_category = if chart.kind == ChartKind::Bar { shape.series } else { 1 };
    let bars = u32::try_from(shape.categories * bars_per_category).unwrap_or(u32::MAX);
    let height = if horizontal {
        bars.saturating_mul(shape.bar_height())
            .saturating_add(ABOVE_PLOT + BELOW_PLOT)
            .clamp(240, HIGHEST_CHART)
    } else {
        380
    };
    native.set_width(CHART_WIDTH).set_height(height);
    // The library names the axes of bar charts by what they show on the page: y is vertical.
    if horizontal {
        // Bars are drawn upwards from the origin; turned round, the first row is on top, and
        // crossing at the far end keeps the value axis at the bottom.
        native.y_axis().set_reverse().set_crossing(ChartAxisCrossing::Max);
        native.y_axis().set_major_gridlines(false);
        if shape.longest_name > LONG_NAME {
            // Left alone, long names, of kernels for example, leave no room for the bars. Only an
            // explicit angle of zero makes every program break them into lines.
            let share = |pixels: u32| f64::from(pixels) / f64::from(height);
            native.plot_area().set_layout(
                &ChartLayout::new()
                    .set_offset(0.44, share(ABOVE_PLOT))
                    .set_dimensions(0.52, share(height - ABOVE_PLOT - BELOW_PLOT)),
            );
            native.y_axis().set_font(ChartFont::new().set_size(8).set_rotation(0));
        }
    }
    let values = if horizontal { native.x_axis() } else { native.y_axis() };
    values.set_major_gridlines(true).set_major_gridlines_line(ChartLine::new().set_color(0xD9D9D9));
    if !chart.value_axis.is_empty() {
        values.set_name(&chart.value_axis);
    }
    if shape.starts_at_zero {
        // Lengths are compared from zero; left alone, some programs cut the axis off below.
        values.set_min(0);
    }
    if !horizontal {
        if !chart.category_axis.is_empty() {
            native.x_axis().set_name(&chart.category_axis);
        }
        // More names than these are turned round and hard to read.
        let interval = shape.categories.div_ceil(MOST_COLUMN_NAMES);
        native.x_axis().set_label_interval(u16::try_from(interval).unwrap_or(u16::MAX));
    }
    native.title().set_font(ChartFont::new().set_size(14).set_bold());
    if shape.series > 1 {
        native.legend().set_position(ChartLegendPosition::Bottom);
    } else {
        native.legend().set_hidden();
    }
}

fn fill(series: usize) -> ChartFormat {
    let mut format = ChartFormat::new();
    format.set_solid_fill(ChartSolidFill::new().set_color(PALETTE[series % PALETTE.len()]));
    format
}

/// References to cells of one sheet, rows and columns counted from zero.
pub(super) struct SheetCells<'a> {
    pub(super) sheet_name: &'a str,
}

impl SheetCells<'_> {
    pub(super) fn one(&self, row: usize, column: usize) -> Result<ChartRange, XlsxError> {
        self.area(row, column, row, column)
    }

    /// The cells of `column` in ascending `rows`.
    pub(super) fn in_column(&self, column: usize, rows: &[usize]) -> Result<ChartRange, XlsxError> {
        self.union(&runs(rows), |first, last| (first, column, last, column))
    }

    /// The cells of `row` in `columns`.
    fn in_row(&self, row: usize, columns: &[usize]) -> Result<ChartRange, XlsxError> {
        self.union(&runs(columns), |first, last| (row, first, row, last))
    }

    fn area(
        &self,
        row: usize,
        column: usize,
        to_row: usize,
        to_column: usize,
    ) -> Result<ChartRange, XlsxError> {
        Ok(ChartRange::new_from_range(
            self.sheet_name,
            row_number(row)?,
            column_number(column)?,
            row_number(to_row)?,
            column_number(to_column)?,
        ))
    }

    /// One area, or a union of areas: `=(Sheet!$A$2:$A$3,Sheet!$A$7:$A$7)`.
    fn union(
        &self,
        runs: &[(usize, usize)],
        area_of: impl Fn(usize, usize) -> (usize, usize, usize, usize),
    ) -> Result<ChartRange, XlsxError> {
        if let &[(first, last)] = runs {
            let (row, column, to_row, to_column) = area_of(first, last);
            return self.area(row, column, to_row, to_column);
        }
        let mut areas = Vec::with_capacity(runs.len());
        for &(first, last) in runs {
            let (row, column, to_row, to_column) = area_of(first, last);
            areas.push(utility::worksheet_range_absolute(
                self.sheet_name,
                row_number(row)?,
                column_number(column)?,
                row_number(to_row)?,
                column_number(to_column)?,
            ));
        }
        Ok(ChartRange::new_from_string(&format!("=({})", areas.join(","))))
    }
}

/// Groups numbers into runs of consecutive ones, each as its first and last.
fn runs(numbers: &[usize]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if number == *last + 1 => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::{Shape, runs};

    #[test]
    fn a_bar_is_as_high_as_the_lines_of_its_name() {
        let height = |longest_name| {
            Shape { series: 1, categories: 1, longest_name, starts_at_zero: true }.bar_height()
        };
        assert_eq!(height(30), 24);
        assert_eq!(height(31), 30);
        assert_eq!(height(51), 42);
        assert_eq!(height(250), 78);
    }

    #[test]
    fn consecutive_numbers_form_one_run() {
        assert_eq!(runs(&[]), []);
        assert_eq!(runs(&[1, 2, 3]), [(1, 3)]);
        assert_eq!(runs(&[1, 2, 4, 7, 8]), [(1, 2), (4, 4), (7, 8)]);
        assert_eq!(runs(&[3, 1]), [(3, 3), (1, 1)]);
    }
}
