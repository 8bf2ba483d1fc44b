//! Lines over a linear axis, such as time, as a native chart.

use indexmap::IndexMap;
use rust_xlsxwriter::{
    Chart as NativeChart, ChartErrorBars, ChartErrorBarsDirection, ChartErrorBarsType, ChartFormat,
    ChartLine, ChartMarker, ChartType, XlsxError,
};
use sheets::{Chart, ChartShape, TableColumn};

use super::cells::{Source, sheet_rows};
use super::charts::{gridlines, lay_out, number};
use crate::picture::PALETTE;

const WIDTH: u32 = 960;
const HEIGHT: u32 = 480;
/// The plot as shares of the chart: left, top, width, height. Below it stand the axis and the legend.
const PLOT: [f64; 4] = [0.09, 0.12, 0.88, 0.66];
/// Lines beyond this are not drawn: they could no longer be told apart.
const MOST_LINES: usize = PALETTE.len();
/// Lines at which something begins.
const BORDER: u32 = 0x8C_8C8C;

type Numbered<'a> = (usize, &'a TableColumn);

/// The chart with its width in pixels. Without numbers there is none.
pub(super) fn draw(chart: &Chart, own: Source<'_>) -> Result<Option<(NativeChart, u32)>, XlsxError> {
    let ChartShape::Lines { x, x_axis, also, borders } = chart.shape else { return Ok(None) };
    let (Some((names_column, names)), Some((x, _))) = (own.column(chart.categories), own.column(x)) else {
        return Ok(None);
    };
    let mut groups: IndexMap<String, Vec<usize>> = IndexMap::new();
    for row in 0..sheet_rows(own.table) {
        groups.entry(names.cell(row).text().into_owned()).or_default().push(row);
    }
    let values: Vec<Numbered<'_>> =
        std::iter::once(&chart.values).chain(also).filter_map(|name| own.column(name)).collect();
    let has_numbers = |column: Numbered<'_>, rows: &[usize]| {
        rows.iter().any(|&row| number(&column.1.cell(row)).is_some_and(f64::is_finite))
    };
    let lines = groups.iter().flat_map(|(name, rows)| values.iter().map(move |&column| (name, rows, column)));
    let lines: Vec<_> = lines.filter(|(_, rows, column)| has_numbers(*column, rows)).collect();
    if lines.is_empty() {
        return Ok(None);
    }
    let mut native = NativeChart::new(ChartType::ScatterStraight);
    for ((name, rows, column), color) in lines.iter().zip(PALETTE) {
        let rows: Vec<usize> = rows.iter().map(|row| row + 1).collect();
        let series = native.add_series();
        own.set_cells(series, (rows[0], names_column), (x, &rows), (column.0, &rows))?;
        if values.len() > 1 {
            series.set_name(&format!("{name}: {}", column.1.title()));
        }
        series.set_marker(ChartMarker::new().set_none());
        series.set_format(&mut line(color, 1.5));
    }
    let borders = borders.and_then(|name| own.column(name));
    // The borders are the same for all groups: the highest ones are seen best.
    let height = |rows: &[usize], column: Numbered<'_>| {
        rows.iter().filter_map(|&row| number(&column.1.cell(row))).fold(0.0, f64::max)
    };
    if let Some(column) = borders
        && let Some((_, rows)) =
            groups.iter().max_by(|a, b| height(a.1, column).total_cmp(&height(b.1, column)))
        && has_numbers(column, rows)
    {
        // All rows of the group: cells without a number draw nothing, and one area stays short.
        let rows: Vec<usize> = rows.iter().map(|row| row + 1).collect();
        let series = native.add_series();
        own.set_cells(series, (0, column.0), (x, &rows), (column.0, &rows))?;
        series.set_marker(ChartMarker::new().set_none());
        series.set_format(ChartFormat::new().set_no_line());
        let mut down = ChartErrorBars::new();
        down.set_type(ChartErrorBarsType::Percentage(100.0)).set_direction(ChartErrorBarsDirection::Minus);
        down.set_end_cap(false).set_format(&mut line(BORDER, 0.75));
        series.set_y_error_bars(&down);
        series.delete_from_legend(true);
    }
    let title = match lines.len() > MOST_LINES {
        true => format!("{} (the first {MOST_LINES} of {})", chart.title, lines.len()),
        false => chart.title.to_owned(),
    };
    lay_out(&mut native, (&title, 14), [WIDTH, HEIGHT], PLOT);
    native.x_axis().set_name(x_axis).set_num_format("General").set_major_gridlines(false).set_min(0);
    native.y_axis().set_name(chart.axis).set_num_format("#,##0").set_min(0);
    gridlines(native.y_axis());
    Ok(Some((native, WIDTH)))
}

fn line(color: u32, width: f64) -> ChartFormat {
    let mut format = ChartFormat::new();
    format.set_line(ChartLine::new().set_color(color).set_width(width));
    format
}
