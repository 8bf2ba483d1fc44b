//! Native charts: how they look, and those made of bars.

use std::borrow::Cow;

use rust_xlsxwriter::{
    Chart as NativeChart, ChartAxis, ChartAxisCrossing, ChartDataLabel, ChartDataLabelPosition, ChartFont,
    ChartFormat, ChartLayout, ChartLegendPosition, ChartLine, ChartSolidFill, ChartType, XlsxError,
};
use sheets::{Cell, Chart, ChartShape, Layout, TableColumn};

use super::cells::{Source, cells_of, sheet_rows};
use super::labels::{ChartLabels, LabelCells};
use crate::picture::PALETTE;

/// Lines behind everything.
const GRID: u32 = 0xD9_D9D9;
/// Points of the labels' font, and pixels of it at the usual 96 per inch.
const LABEL_SIZE: u32 = 8;
pub(super) const LABEL_PIXELS: f64 = LABEL_SIZE as f64 * 96.0 / 72.0;
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

/// The chart with its width in pixels.
pub(super) fn bars(
    chart: &Chart,
    own: Source<'_>,
    labels: &mut ChartLabels,
) -> Result<Option<(NativeChart, u32)>, XlsxError> {
    let (Some((categories, names)), Some((values, lengths))) =
        (own.column(chart.categories), own.column(chart.values))
    else {
        return Ok(None);
    };
    let mut drawn = own.table.chart_rows();
    drawn.retain(|&row| row < sheet_rows(own.table));
    if !drawn.iter().any(|&row| number(&lengths.cell(row)).is_some()) {
        return Ok(None);
    }
    let is_stacked = matches!(chart.shape, ChartShape::Stacked { .. });
    let mut native = NativeChart::new(match chart.shape {
        ChartShape::Columns(_) => ChartType::Column,
        ChartShape::Stacked { .. } => ChartType::BarStacked,
        _ => ChartType::Bar,
    });
    native.title().set_name(chart.title);
    let rows: Vec<usize> = drawn.iter().map(|row| row + 1).collect();
    let header = 0;
    // The layout of a reference tool has the sheets of that tool and no others.
    let shortened = match chart.shape {
        ChartShape::Bars(_) if own.table.layout() == Layout::Roles => {
            let told_by: Vec<&TableColumn> =
                chart.told_by.iter().filter_map(|name| Some(own.column(name)?.1)).collect();
            labels.add(names, &told_by, &drawn)?
        }
        _ => None,
    };
    if is_stacked {
        for (position, &row) in rows.iter().enumerate() {
            let series = native.add_series();
            own.set_cells(series, (row, categories), (values, &[header]), (values, &[row]))?;
            series.set_format(&mut fill(PALETTE[position % PALETTE.len()]));
        }
    } else {
        let series = native.add_series();
        own.set_cells(series, (header, values), (categories, &rows), (values, &rows))?;
        if let Some(LabelCells { sheet_name, column, rows, .. }) = &shortened {
            series.set_categories(&cells_of(sheet_name, *column, rows)?);
        }
        series.set_format(&mut fill(PALETTE[0]));
        if matches!(chart.shape, ChartShape::Columns(_)) {
            series.set_gap(COLUMN_GAP);
        }
    }
    if shortened.is_some() {
        // Without the rows that a filter hides, names and values would no longer be of the same rows.
        native.show_hidden_data();
    }
    let name_length = |&row: &usize| match names.cell(row) {
        Cell::Text(name) => name.chars().count(),
        _ => 0,
    };
    let shape = Shape {
        series: if is_stacked { drawn.len() } else { 1 },
        categories: if is_stacked { 1 } else { drawn.len() },
        // The bar that is alone is named by a header, which is short.
        longest_name: if is_stacked {
            0
        } else {
            let of_cells = || drawn.iter().map(name_length).max().unwrap_or(0);
            shortened.as_ref().map_or_else(of_cells, |labels| labels.longest)
        },
        largest: drawn.iter().filter_map(|&row| number(&lengths.cell(row))).fold(0.0, f64::max),
        starts_at_zero: drawn.iter().all(|&row| number(&lengths.cell(row)).is_none_or(|value| value >= 0.0)),
    };
    style(&mut native, chart, &shape);
    Ok(Some((native, CHART_WIDTH)))
}

/// A bar per cell of the column `per`, made of the rows with the names of `parts`; the chart with its width in pixels.
pub(super) fn stacked_per(
    chart: &Chart,
    own: Source<'_>,
    parts: &[&str],
    per: &str,
) -> Result<Option<(NativeChart, u32)>, XlsxError> {
    let (Some((categories, names)), Some((values, lengths)), Some((bars, _))) =
        (own.column(chart.categories), own.column(chart.values), own.column(per))
    else {
        return Ok(None);
    };
    let mut native = NativeChart::new(ChartType::BarStacked);
    native.title().set_name(chart.title);
    let (mut series_count, mut bar_count, mut largest, mut starts_at_zero) = (0, 0, 0.0_f64, true);
    for (position, part) in parts.iter().enumerate() {
        let of_part = |row: &usize| names.cell(*row).text() == *part;
        let drawn: Vec<usize> = (0..sheet_rows(own.table)).filter(of_part).collect();
        let Some(&first) = drawn.first() else { continue };
        let rows: Vec<usize> = drawn.iter().map(|row| row + 1).collect();
        let series = native.add_series();
        own.set_cells(series, (first + 1, categories), (bars, &rows), (values, &rows))?;
        series.set_format(&mut fill(PALETTE[position % PALETTE.len()]));
        series_count += 1;
        bar_count = bar_count.max(drawn.len());
        for length in drawn.iter().filter_map(|&row| number(&lengths.cell(row))) {
            largest = largest.max(length);
            starts_at_zero &= length >= 0.0;
        }
    }
    if series_count == 0 {
        return Ok(None);
    }
    let shape =
        Shape { series: series_count, categories: bar_count, longest_name: 0, largest, starts_at_zero };
    style(&mut native, chart, &shape);
    native.y_axis().set_name(per);
    Ok(Some((native, CHART_WIDTH)))
}

/// The number of a cell, if it has one.
pub(super) fn number(cell: &Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Whole(value) => Some(*value as f64),
        Cell::Number(value) => Some(*value),
        _ => None,
    }
}

/// What the look of a chart depends on.
struct Shape {
    series: usize,
    categories: usize,
    /// Characters of the longest category name.
    longest_name: usize,
    /// The largest drawn value; 0 without any above.
    largest: f64,
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
    let column_title = match chart.shape {
        ChartShape::Columns(title) => Some(title),
        _ => None,
    };
    let horizontal = column_title.is_none();
    let bars = u32::try_from(shape.categories).unwrap_or(u32::MAX);
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
    gridlines(values);
    let (axis, format) = scaled(chart.axis, shape.largest);
    if !axis.is_empty() {
        values.set_name(&*axis);
    }
    values.set_num_format(format);
    if shape.starts_at_zero {
        // Lengths are compared from zero; left alone, some programs cut the axis off below.
        values.set_min(0);
    }
    if let Some(title) = column_title {
        if !title.is_empty() {
            native.x_axis().set_name(title);
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

/// Units of time from a thousandth of one to the next.
const TIMES: [&str; 3] = ["(µs)", "(ms)", "(s)"];
/// Numbers from here on leave no room between those of an axis.
const CROWDED: f64 = 1e5;

/// The title of a value axis and the format of its numbers, with no more digits than they need, whatever the cells have:
/// times that would be crowded are in a larger unit, for a comma behind a format divides by a thousand.
pub(super) fn scaled(axis: &str, largest: f64) -> (Cow<'_, str>, &'static str) {
    let unit = TIMES.iter().position(|unit| axis.ends_with(unit));
    let room = unit.map_or(0, |unit| TIMES.len() - 1 - unit);
    let thousands = match largest {
        largest if largest >= CROWDED * 1e3 => room,
        largest if largest >= CROWDED => room.min(1),
        _ => 0,
    };
    let title = match unit {
        Some(unit) if thousands > 0 => {
            axis.trim_end_matches(TIMES[unit]).to_owned() + TIMES[unit + thousands]
        }
        _ => return (axis.into(), if largest >= 10.0 { "#,##0" } else { "General" }),
    };
    (title.into(), if thousands == 1 { "#,##0," } else { "#,##0,," })
}

pub(super) fn gridlines(axis: &mut ChartAxis) {
    axis.set_major_gridlines(true).set_major_gridlines_line(ChartLine::new().set_color(GRID));
}

/// Size and title, with its size in points, of a chart whose plot has a fixed place, as shares of the chart: left, top, width, height. Below it
/// stand the axis and the legend.
pub(super) fn lay_out(
    native: &mut NativeChart,
    (title, size): (&str, u32),
    [width, height]: [u32; 2],
    plot: [f64; 4],
) {
    native.set_width(width).set_height(height);
    native.title().set_name(title).set_font(ChartFont::new().set_size(size).set_bold());
    let [left, top, width, height] = plot;
    native.plot_area().set_layout(&ChartLayout::new().set_offset(left, top).set_dimensions(width, height));
    native.legend().set_position(ChartLegendPosition::Bottom);
}

/// A label of a point, hidden where there is none.
pub(super) fn data_label(label: Option<(&str, ChartDataLabelPosition)>) -> ChartDataLabel {
    let mut native = ChartDataLabel::new();
    match label {
        None => native.set_hidden(),
        Some((text, position)) => native
            .show_value()
            .set_value(text)
            .set_position(position)
            .set_font(ChartFont::new().set_size(LABEL_SIZE)),
    };
    native
}

pub(super) fn fill(color: u32) -> ChartFormat {
    let mut format = ChartFormat::new();
    format.set_solid_fill(ChartSolidFill::new().set_color(color));
    format
}

#[cfg(test)]
mod tests {
    use super::{Shape, scaled};

    #[test]
    fn an_axis_of_long_times_is_in_a_larger_unit() {
        for (axis, largest, title, format) in [
            ("time (µs)", 5.0, "time (µs)", "General"),
            ("time (µs)", 99_999.0, "time (µs)", "#,##0"),
            ("time (µs)", 274_146.0, "time (ms)", "#,##0,"),
            ("time (µs)", 2e8, "time (s)", "#,##0,,"),
            ("time (ms)", 2e8, "time (s)", "#,##0,"),
            ("kernels", 2e8, "kernels", "#,##0"),
        ] {
            assert_eq!(scaled(axis, largest), (title.into(), format), "{axis} {largest}");
        }
    }

    #[test]
    fn a_bar_is_as_high_as_the_lines_of_its_name() {
        let height = |longest_name| {
            Shape { series: 1, categories: 1, longest_name, largest: 1.0, starts_at_zero: true }.bar_height()
        };
        assert_eq!(height(30), 24);
        assert_eq!(height(31), 30);
        assert_eq!(height(51), 42);
        assert_eq!(height(250), 78);
    }
}
