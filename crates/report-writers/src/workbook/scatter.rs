//! Points on logarithmic axes as a native scatter chart.

use std::borrow::Cow;

use rust_xlsxwriter::{
    Chart as NativeChart, ChartAxis, ChartAxisCrossing, ChartAxisLabelPosition, ChartDataLabel,
    ChartDataLabelPosition, ChartFont, ChartFormat, ChartLayout, ChartLegendPosition, ChartLine, ChartMarker,
    ChartMarkerType, ChartSolidFill, ChartType, Worksheet, XlsxError,
};

use super::drawing::{SheetCells, place};
use super::point_labels::{FONT_SIZE, Marker, PointLabel, Side, point_labels};
use super::{MAX_COLUMNS, sheet_rows};
use crate::cell::{Cell, Cells};
use crate::float_text::float_text;
use crate::label_room::Rect;
use crate::palette::PALETTE;
use crate::scatter::{ScatterAxis, ScatterChart, ScatterPoints};
use crate::table::Table;

/// Pixels of the chart.
const WIDTH: u32 = 960;
const HEIGHT: u32 = 640;
/// The plot as shares of the chart: left, top, width, height. Below it stand the axis and the legend.
const PLOT: [f64; 4] = [0.08, 0.1, 0.89, 0.66];
/// Points across of the markers of the heaviest class and of the lightest.
const LARGEST_MARKER: usize = 14;
const SMALLEST_MARKER: usize = 5;
/// Lines that belong to no points.
const INK: u32 = 0x59_5959;
const GRID: u32 = 0xD9_D9D9;

/// A table and its sheet.
pub(super) struct Source<'a> {
    pub(super) table: &'a Table,
    pub(super) sheet_name: &'a str,
}

impl<'a> Source<'a> {
    /// A column of the sheet with its number.
    pub(super) fn column(&self, name: &str) -> Option<(usize, Cells<'a>)> {
        let number = self.table.frame().get_column_index(name).filter(|&number| number < MAX_COLUMNS)?;
        Some((number, Cells::of(self.table.frame().columns().get(number)?)?))
    }

    /// Groups of the rows that have a place, both in their order.
    fn groups(&self, x: &str, y: &str, group: &str) -> Option<Placed<'a>> {
        let ((x_number, x), (y_number, y)) = (self.column(x)?, self.column(y)?);
        let (_, group) = self.column(group)?;
        let mut groups: Vec<Group<'a>> = Vec::new();
        for row in 0..sheet_rows(self.table) {
            let (Some(x), Some(y)) = (positive(x.get(row)), positive(y.get(row))) else { continue };
            let name = text(group.get(row));
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.places.push((row, x, y)),
                None => groups.push(Group { name, places: vec![(row, x, y)] }),
            }
        }
        Some(Placed { x: x_number, y: y_number, groups })
    }
}

/// What can be drawn of two columns.
struct Placed<'a> {
    /// Number of the column of the places from left to right.
    x: usize,
    /// Number of the column of the heights.
    y: usize,
    groups: Vec<Group<'a>>,
}

/// Row, x and y.
type Place = (usize, f64, f64);

struct Group<'a> {
    name: Cow<'a, str>,
    places: Vec<Place>,
}

fn positive(cell: Cell<'_>) -> Option<f64> {
    number(cell).filter(|value| value.is_finite() && *value > 0.0)
}

pub(super) fn number(cell: Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Integer(value) => Some(value as f64),
        Cell::Float(value) => Some(value),
        _ => None,
    }
}

pub(super) fn text(cell: Cell<'_>) -> Cow<'_, str> {
    match cell {
        Cell::Null => "".into(),
        Cell::Boolean(value) => value.to_string().into(),
        Cell::Integer(value) => value.to_string().into(),
        Cell::Float(value) => float_text(value).into(),
        Cell::Text(text) => text.into(),
    }
}

/// Puts `chart` beside or below the cells of its table. A chart without points is nothing to look at and is
/// left out.
pub(super) fn insert(
    sheet: &mut Worksheet,
    chart: &ScatterChart,
    own: &Source<'_>,
    sheets: &[Source<'_>],
    widths: &[f64],
) -> Result<(), XlsxError> {
    let Some(source) = sheets.iter().find(|other| other.table.name() == chart.points.table) else {
        return Ok(());
    };
    let ScatterPoints { x, y, groups, .. } = &chart.points;
    let (Some(points), Some(lines)) =
        (source.groups(x, y, groups), own.groups(&chart.x.column, &chart.y.column, &chart.groups))
    else {
        return Ok(());
    };
    if points.groups.is_empty() {
        return Ok(());
    }
    let plot = Plot::around(points.groups.iter().chain(&lines.groups));

    let mut native = NativeChart::new(ChartType::Scatter);
    add_lines(&mut native, &chart.names, own, &lines, &points.groups)?;
    let labels = plot.labels(&chart.points, source, &points, &lines);
    add_points(&mut native, &chart.points, source, &points, &labels)?;
    style(&mut native, chart, &plot);
    place(sheet, native, WIDTH, widths, sheet_rows(own.table))
}

fn add_lines(
    native: &mut NativeChart,
    names: &str,
    own: &Source<'_>,
    placed: &Placed<'_>,
    points: &[Group<'_>],
) -> Result<(), XlsxError> {
    let cells = SheetCells { sheet_name: own.sheet_name };
    let Some((names, _)) = own.column(names) else { return Ok(()) };
    for line in &placed.groups {
        let rows = sheet_row_numbers(line.places.iter().map(|place| place.0));
        let Some(&first) = rows.first() else { continue };
        let of_points = points.iter().position(|group| group.name == line.name);
        let series = native.add_series();
        series.set_name(&cells.one(first, names)?);
        series.set_categories(&cells.in_column(placed.x, &rows)?);
        series.set_values(&cells.in_column(placed.y, &rows)?);
        series.set_marker(ChartMarker::new().set_none());
        let mut look = ChartLine::new();
        look.set_color(of_points.map_or(INK, color)).set_width(2);
        series.set_format(ChartFormat::new().set_line(&look));
    }
    Ok(())
}

/// A series per group and class of weight; in the legend a group stands once.
fn add_points(
    native: &mut NativeChart,
    described: &ScatterPoints,
    source: &Source<'_>,
    placed: &Placed<'_>,
    labels: &[Option<PointLabel>],
) -> Result<(), XlsxError> {
    let cells = SheetCells { sheet_name: source.sheet_name };
    let Some((names, _)) = source.column(&described.groups) else { return Ok(()) };
    let weights = weights(described, source);
    let mut labels = labels.iter();
    for (group_number, group) in placed.groups.iter().enumerate() {
        let mut is_in_legend = false;
        let labelled: Vec<(usize, &Option<PointLabel>)> =
            group.places.iter().map(|place| place.0).zip(labels.by_ref()).collect();
        for class in 0..=described.weights.thresholds.len() {
            let members: Vec<_> =
                labelled.iter().filter(|(row, _)| described.weights.class(weights(*row)) == class).collect();
            let rows = sheet_row_numbers(members.iter().map(|(row, _)| *row));
            let Some(&first) = rows.first() else { continue };
            let series = native.add_series();
            series.set_name(&cells.one(first, names)?);
            series.set_categories(&cells.in_column(placed.x, &rows)?);
            series.set_values(&cells.in_column(placed.y, &rows)?);
            series.set_marker(&marker(class, described, color(group_number)));
            series.delete_from_legend(is_in_legend);
            is_in_legend = true;
            if members.iter().any(|(_, label)| label.is_some()) {
                let custom: Vec<ChartDataLabel> =
                    members.iter().map(|(_, label)| data_label(label.as_ref())).collect();
                series.set_custom_data_labels(&custom);
            }
        }
    }
    Ok(())
}

/// The weight of a row; 0 where there is none.
fn weights<'a>(described: &ScatterPoints, source: &Source<'a>) -> impl Fn(usize) -> f64 + use<'a> {
    let column = source.column(&described.weights.column);
    move |row| column.as_ref().and_then(|(_, cells)| number(cells.get(row))).unwrap_or(0.0)
}

fn sheet_row_numbers(rows: impl Iterator<Item = usize>) -> Vec<usize> {
    // Below the header.
    rows.map(|row| row + 1).collect()
}

fn color(group: usize) -> u32 {
    PALETTE[group % PALETTE.len()]
}

/// Points across of the markers of a class.
fn marker_size(class: usize, described: &ScatterPoints) -> usize {
    let steps = described.weights.thresholds.len().max(1);
    LARGEST_MARKER - (LARGEST_MARKER - SMALLEST_MARKER) * class.min(steps) / steps
}

fn marker(class: usize, described: &ScatterPoints, color: u32) -> ChartMarker {
    let mut format = ChartFormat::new();
    format.set_solid_fill(ChartSolidFill::new().set_color(color).set_transparency(45));
    format.set_border(ChartLine::new().set_color(color).set_width(1));
    let mut marker = ChartMarker::new();
    let size = u8::try_from(marker_size(class, described)).unwrap_or(u8::MAX);
    marker.set_type(ChartMarkerType::Circle).set_size(size).set_format(&mut format);
    marker
}

fn data_label(label: Option<&PointLabel>) -> ChartDataLabel {
    let mut native = ChartDataLabel::new();
    match label {
        None => native.set_hidden(),
        Some(label) => native
            .show_value()
            .set_value(label.text.as_str())
            .set_position(position(label.side))
            .set_font(ChartFont::new().set_size(FONT_SIZE)),
    };
    native
}

fn position(side: Side) -> ChartDataLabelPosition {
    match side {
        Side::Right => ChartDataLabelPosition::Right,
        Side::Below => ChartDataLabelPosition::Below,
        Side::Left => ChartDataLabelPosition::Left,
        Side::Above => ChartDataLabelPosition::Above,
    }
}

/// What the axes span: from a power of ten below everything drawn, with room above.
struct Plot {
    x: (f64, f64),
    y: (f64, f64),
}

impl Plot {
    fn around<'a>(groups: impl Iterator<Item = &'a Group<'a>> + Clone) -> Self {
        let places = groups.flat_map(|group| &group.places);
        let (left, right) = extremes(places.clone().map(|&(_, x, _)| x));
        let (low, high) = extremes(places.map(|&(_, _, y)| y));
        // Lines may run into the frame on the right, but not along it at the top.
        Plot { x: (decade(left), round_above(right)), y: (decade(low / 1.5), round_above(high * 2.0)) }
    }

    /// Where the spreadsheet program draws a place, in pixels of the chart.
    fn pixel(&self, x: f64, y: f64) -> (i32, i32) {
        let [left, top, width, height] = PLOT;
        let share = |value: f64, (least, most): (f64, f64)| {
            (value.log10() - least.log10()) / (most.log10() - least.log10())
        };
        let across = (left + width * share(x, self.x)) * f64::from(WIDTH);
        let down = (top + height * (1.0 - share(y, self.y))) * f64::from(HEIGHT);
        (across as i32, down as i32)
    }

    /// The labels of the points, group by group in the order of their rows.
    fn labels(
        &self,
        described: &ScatterPoints,
        source: &Source<'_>,
        points: &Placed<'_>,
        lines: &Placed<'_>,
    ) -> Vec<Option<PointLabel>> {
        let names = source.column(&described.labels).map_or(Cells::AllNull, |(_, cells)| cells);
        let weights = weights(described, source);
        let rows: Vec<(Cow<'_, str>, &Place)> = points
            .groups
            .iter()
            .flat_map(|group| &group.places)
            .map(|place| (text(names.get(place.0)), place))
            .collect();
        let markers: Vec<Marker<'_>> = rows
            .iter()
            .map(|(name, place)| {
                let &(row, x, y) = *place;
                let size = marker_size(described.weights.class(weights(row)), described);
                // Half of its points across, at 96 pixels per 72 points.
                let radius = i32::try_from(size * 2 / 3 + 1).unwrap_or(i32::MAX);
                Marker { at: self.pixel(x, y), radius, name, weight: weights(row) }
            })
            .collect();
        let segments: Vec<_> = lines
            .groups
            .iter()
            .flat_map(|line| line.places.windows(2))
            .filter_map(|ends| match ends {
                [from, to] => Some((self.pixel(from.1, from.2), self.pixel(to.1, to.2))),
                _ => None,
            })
            .collect();
        let ((left, bottom), (right, top)) = (self.pixel(self.x.0, self.y.0), self.pixel(self.x.1, self.y.1));
        point_labels(Rect { left, top, right, bottom }, &markers, &segments)
    }
}

fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)))
}

/// The power of ten at or below a number.
pub(super) fn decade(value: f64) -> f64 {
    10_f64.powf(value.log10().floor())
}

/// One, two or five times a power of ten at or above a number.
fn round_above(value: f64) -> f64 {
    let decade = decade(value);
    let step = [1.0, 2.0, 5.0].into_iter().find(|step| step * decade >= value).unwrap_or(10.0);
    step * decade
}

fn style(native: &mut NativeChart, chart: &ScatterChart, plot: &Plot) {
    native.set_width(WIDTH).set_height(HEIGHT);
    native.title().set_name(&chart.title).set_font(ChartFont::new().set_size(12).set_bold());
    let [left, top, width, height] = PLOT;
    native.plot_area().set_layout(&ChartLayout::new().set_offset(left, top).set_dimensions(width, height));
    native.legend().set_position(ChartLegendPosition::Bottom);
    logarithmic(native.x_axis(), &chart.x, plot.x);
    logarithmic(native.y_axis(), &chart.y, plot.y);
}

fn logarithmic(axis: &mut ChartAxis, described: &ScatterAxis, (least, most): (f64, f64)) {
    axis.set_name(&described.title)
        .set_log_base(10)
        .set_min(least)
        .set_max(most)
        .set_major_gridlines(true)
        .set_major_gridlines_line(ChartLine::new().set_color(GRID))
        // Left alone, the other axis stands at 1, in the midst of the points.
        .set_crossing(ChartAxisCrossing::Min)
        .set_label_position(ChartAxisLabelPosition::Low);
}

#[cfg(test)]
mod tests {
    use super::{decade, round_above};

    #[test]
    fn axes_begin_at_a_power_of_ten_and_end_at_a_round_number() {
        for (value, below, above) in
            [(0.02, 0.01, 0.02), (45.0, 10.0, 50.0), (100.0, 100.0, 100.0), (989.4, 100.0, 1000.0)]
        {
            assert_eq!((decade(value), round_above(value)), (below, above), "{value}");
        }
    }
}
