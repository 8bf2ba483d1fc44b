//! Points on logarithmic axes as a native scatter chart, with names where there is room for them.

use std::borrow::Cow;

use indexmap::IndexMap;
use rust_xlsxwriter::{
    Chart as NativeChart, ChartAxis, ChartAxisCrossing, ChartAxisLabelPosition, ChartDataLabel,
    ChartDataLabelPosition, ChartFormat, ChartLine, ChartMarker, ChartMarkerType, ChartSolidFill, ChartType,
    XlsxError,
};
use sheets::{Cell, Chart, ChartShape, ScatterPoints};

use super::cells::{Source, sheet_rows};
use super::charts::{LABEL_PIXELS, data_label, gridlines, lay_out, number};
use crate::picture::{PALETTE, Pixel, Rect, along, shortened, text_width};

const WIDTH: u32 = 960;
const HEIGHT: u32 = 640;
/// The plot as shares of the chart: left, top, width, height. Below it stand the axis and the legend.
const PLOT: [f64; 4] = [0.08, 0.1, 0.89, 0.66];
/// Points across of the markers of the heaviest class and of the lightest.
const LARGEST_MARKER: usize = 14;
const SMALLEST_MARKER: usize = 5;
/// Lines that belong to no points.
const INK: u32 = 0x59_5959;

/// Names that are shown at most: those of the heaviest points.
const LABELS: usize = 8;
const LONGEST_LABEL: usize = 32;
const HALF_HEIGHT: i32 = 8;
/// Pixels between a point and its name.
const DISTANCE: i32 = 4;

/// What can be drawn of two columns.
struct Placed<'a> {
    source: Source<'a>,
    /// Number of the column of the places from left to right.
    x: usize,
    /// Number of the column of the heights.
    y: usize,
    groups: IndexMap<String, Vec<Place>>,
}

/// Row, x and y.
type Place = (usize, f64, f64);

impl<'a> Placed<'a> {
    /// Groups of the rows that have a place, both in their order.
    fn new(source: Source<'a>, x: &str, y: &str, group: &str) -> Option<Self> {
        let ((x_number, x), (y_number, y)) = (source.column(x)?, source.column(y)?);
        let (_, group) = source.column(group)?;
        let mut groups: IndexMap<String, Vec<Place>> = IndexMap::new();
        for row in 0..sheet_rows(source.table) {
            let (Some(x), Some(y)) = (positive(&x.cell(row)), positive(&y.cell(row))) else { continue };
            groups.entry(group.cell(row).text().into_owned()).or_default().push((row, x, y));
        }
        Some(Placed { source, x: x_number, y: y_number, groups })
    }
}

fn positive(cell: &Cell<'_>) -> Option<f64> {
    number(cell).filter(|value| value.is_finite() && *value > 0.0)
}

/// The chart with its width in pixels. Without points there is none. Rows without a positive finite place are not
/// drawn.
pub(super) fn draw(
    chart: &Chart,
    own: Source<'_>,
    sheets: &[Source<'_>],
) -> Result<Option<(NativeChart, u32)>, XlsxError> {
    let ChartShape::Scatter { x, x_axis, groups, points: described } = chart.shape else { return Ok(None) };
    let Some(&source) = sheets.iter().find(|other| other.table.name() == described.table) else {
        return Ok(None);
    };
    let (Some(points), Some(mut lines)) = (
        Placed::new(source, described.x, described.y, described.groups),
        Placed::new(own, x, chart.values, groups),
    ) else {
        return Ok(None);
    };
    if own.table.name() == described.table {
        lines.groups.clear();
    }
    if points.groups.is_empty() {
        return Ok(None);
    }
    let plot = Plot::around(points.groups.values().chain(lines.groups.values()).flatten());

    let mut native = NativeChart::new(ChartType::Scatter);
    add_lines(&mut native, chart.categories, &lines, &points.groups)?;
    let labels = plot.labels(&described, &points, &lines);
    add_points(&mut native, &described, &points, &labels)?;

    lay_out(&mut native, (chart.title, 12), [WIDTH, HEIGHT], PLOT);
    logarithmic(native.x_axis(), x_axis, plot.x);
    logarithmic(native.y_axis(), chart.axis, plot.y);
    Ok(Some((native, WIDTH)))
}

fn add_lines(
    native: &mut NativeChart,
    names: &str,
    placed: &Placed<'_>,
    points: &IndexMap<String, Vec<Place>>,
) -> Result<(), XlsxError> {
    let source = placed.source;
    let Some((names, _)) = source.column(names) else { return Ok(()) };
    for (name, places) in &placed.groups {
        // Below the header.
        let rows: Vec<usize> = places.iter().map(|place| place.0 + 1).collect();
        let Some(&first) = rows.first() else { continue };
        let of_points = points.get_index_of(name);
        let series = native.add_series();
        source.set_cells(series, (first, names), (placed.x, &rows), (placed.y, &rows))?;
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
    placed: &Placed<'_>,
    labels: &[Option<PointLabel>],
) -> Result<(), XlsxError> {
    let source = placed.source;
    let Some((names, _)) = source.column(described.groups) else { return Ok(()) };
    let weights = weights(described, source);
    let mut labels = labels.iter();
    for (group_number, places) in placed.groups.values().enumerate() {
        let mut is_in_legend = false;
        let labelled: Vec<(usize, &Option<PointLabel>)> =
            places.iter().map(|place| place.0).zip(labels.by_ref()).collect();
        for class in 0..=described.thresholds.len() {
            let members: Vec<_> =
                labelled.iter().filter(|(row, _)| class_of(described, weights(*row)) == class).collect();
            let rows: Vec<usize> = members.iter().map(|(row, _)| row + 1).collect();
            let Some(&first) = rows.first() else { continue };
            let series = native.add_series();
            source.set_cells(series, (first, names), (placed.x, &rows), (placed.y, &rows))?;
            series.set_marker(&marker(class, described, color(group_number)));
            series.delete_from_legend(is_in_legend);
            is_in_legend = true;
            if members.iter().any(|(_, label)| label.is_some()) {
                let custom: Vec<ChartDataLabel> = members
                    .iter()
                    .map(|(_, label)| data_label(label.as_ref().map(|(text, side)| (text.as_str(), *side))))
                    .collect();
                series.set_custom_data_labels(&custom);
            }
        }
    }
    Ok(())
}

/// The weight of a row; 0 where there is none.
fn weights<'a>(described: &ScatterPoints, source: Source<'a>) -> impl Fn(usize) -> f64 + use<'a> {
    let column = source.column(described.weights);
    move |row| column.and_then(|(_, cells)| number(&cells.cell(row))).unwrap_or(0.0)
}

/// Spreadsheet programs know one size per series, so points are sorted into classes by weight: 0 is the heaviest.
fn class_of(described: &ScatterPoints, weight: f64) -> usize {
    let thresholds = described.thresholds;
    thresholds.iter().position(|&least| weight >= least).unwrap_or(thresholds.len())
}

fn color(group: usize) -> u32 {
    PALETTE[group % PALETTE.len()]
}

/// Points across of the markers of a class.
fn marker_size(class: usize, described: &ScatterPoints) -> usize {
    let steps = described.thresholds.len().max(1);
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

/// What the axes span: from a power of ten below everything drawn, with room above.
struct Plot {
    x: (f64, f64),
    y: (f64, f64),
}

impl Plot {
    fn around<'a>(places: impl Iterator<Item = &'a Place> + Clone) -> Self {
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
        points: &Placed<'_>,
        lines: &Placed<'_>,
    ) -> Vec<Option<PointLabel>> {
        let names = points.source.column(described.labels);
        let name = |row| names.map_or(Cell::Missing, |(_, cells)| cells.cell(row));
        let weights = weights(described, points.source);
        let rows: Vec<(Cell<'_>, &Place)> =
            points.groups.values().flatten().map(|place| (name(place.0), place)).collect();
        let rows: Vec<(Cow<'_, str>, &Place)> =
            rows.iter().map(|(name, place)| (name.text(), *place)).collect();
        let markers: Vec<Marker<'_>> = rows
            .iter()
            .map(|(name, place)| {
                let &(row, x, y) = *place;
                let size = marker_size(class_of(described, weights(row)), described);
                // Half of its points across, at 96 pixels per 72 points.
                let radius = i32::try_from(size * 2 / 3 + 1).unwrap_or(i32::MAX);
                Marker { at: self.pixel(x, y), radius, name, weight: weights(row) }
            })
            .collect();
        let segments: Vec<_> = lines
            .groups
            .values()
            .flat_map(|places| places.windows(2))
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

fn logarithmic(axis: &mut ChartAxis, title: &str, (least, most): (f64, f64)) {
    gridlines(axis);
    axis.set_name(title)
        .set_log_base(10)
        .set_min(least)
        .set_max(most)
        // Left alone, the other axis stands at 1, in the midst of the points.
        .set_crossing(ChartAxisCrossing::Min)
        .set_label_position(ChartAxisLabelPosition::Low);
}

/// A point in pixels.
struct Marker<'a> {
    at: Pixel,
    radius: i32,
    name: &'a str,
    weight: f64,
}

/// A name, and where it stands, seen from its point.
type PointLabel = (String, ChartDataLabelPosition);

/// Where the names of points can stand without lying on anything. A spreadsheet program writes a label beside, above or
/// below its point and asks nobody whether something is there; with the axes and the place of the plot fixed, the
/// pixels are known well enough to ask before.
///
/// The names that have room, each once, the heaviest points asked first; in the order of `markers`.
fn point_labels(frame: Rect, markers: &[Marker<'_>], lines: &[(Pixel, Pixel)]) -> Vec<Option<PointLabel>> {
    let mut taken: Vec<Rect> = markers.iter().map(|marker| Rect::around(marker.at, marker.radius)).collect();
    taken.extend(lines.iter().flat_map(|&(from, to)| along(from, to)));
    let mut by_weight: Vec<usize> = (0..markers.len()).collect();
    by_weight.sort_by(|&a, &b| markers[b].weight.total_cmp(&markers[a].weight));
    let mut names: Vec<&str> = Vec::new();
    for &index in &by_weight {
        let name = markers[index].name;
        if names.len() < LABELS && !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    let mut labels = vec![None; markers.len()];
    for name in names {
        let text = shortened(name, LONGEST_LABEL);
        let room = |&index: &usize| {
            let is_free =
                |place: &Rect| frame.holds(place) && !taken.iter().any(|taken| taken.overlaps(place));
            let (side, place) =
                places(&markers[index], &text).into_iter().find(|(_, place)| is_free(place))?;
            Some((index, side, place))
        };
        // In the midst of others the heaviest point of a name may have no room where another one has.
        let of_name = by_weight.iter().filter(|&&index| markers[index].name == name);
        if let Some((index, side, place)) = of_name.filter_map(room).next() {
            taken.push(place);
            labels[index] = Some((text, side));
        }
    }
    labels
}

fn places(marker: &Marker<'_>, text: &str) -> [(ChartDataLabelPosition, Rect); 4] {
    let (x, y) = marker.at;
    let away = marker.radius + DISTANCE;
    let width = text_width(text, LABEL_PIXELS);
    let beside =
        |left: i32| Rect { left, top: y - HALF_HEIGHT, right: left + width, bottom: y + HALF_HEIGHT };
    let over =
        |top: i32| Rect { left: x - width / 2, top, right: x + width / 2, bottom: top + 2 * HALF_HEIGHT };
    [
        (ChartDataLabelPosition::Right, beside(x + away)),
        (ChartDataLabelPosition::Below, over(y + away)),
        (ChartDataLabelPosition::Left, beside(x - away - width)),
        (ChartDataLabelPosition::Above, over(y - away - 2 * HALF_HEIGHT)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_begin_at_a_power_of_ten_and_end_at_a_round_number() {
        for (value, below, above) in
            [(0.02, 0.01, 0.02), (45.0, 10.0, 50.0), (100.0, 100.0, 100.0), (989.4, 100.0, 1000.0)]
        {
            assert_eq!((decade(value), round_above(value)), (below, above), "{value}");
        }
    }

    #[test]
    fn a_weight_is_in_the_first_class_that_it_reaches() {
        let described = ScatterPoints {
            table: "",
            x: "",
            y: "",
            groups: "",
            labels: "",
            weights: "",
            thresholds: &[10.0, 1.0],
        };
        for (weight, class) in [(100.0, 0), (10.0, 0), (9.99, 1), (1.0, 1), (0.5, 2), (f64::NAN, 2)] {
            assert_eq!(class_of(&described, weight), class, "{weight}");
        }
    }

    const FRAME: Rect = Rect { left: 0, top: 0, right: 400, bottom: 300 };

    fn marker(at: (i32, i32), name: &str, weight: f64) -> Marker<'_> {
        Marker { at, radius: 5, name, weight }
    }

    fn positions(markers: &[Marker<'_>], lines: &[(Pixel, Pixel)]) -> Vec<Option<ChartDataLabelPosition>> {
        point_labels(FRAME, markers, lines).into_iter().map(|label| Some(label?.1)).collect()
    }

    #[test]
    fn names_avoid_points_lines_the_frame_and_one_another() {
        use ChartDataLabelPosition::{Above, Below, Left, Right};
        let alone = || marker((200, 150), "aten::mm", 2.0);
        assert!(positions(&[alone()], &[]) == [Some(Right)]);
        assert!(positions(&[alone()], &[((230, 0), (230, 300))]) == [Some(Below)]);
        assert!(positions(&[marker((395, 290), "aten::mm", 2.0)], &[]) == [Some(Left)]);
        let crowded = [((150, 170), (250, 170)), ((229, 146), (229, 160)), ((170, 145), (170, 155))];
        assert!(positions(&[alone()], &crowded) == [Some(Above)]);
        // The heavier one is asked first, wherever it stands in the table.
        let pair = [marker((190, 150), "light", 1.0), marker((220, 150), "heavy", 3.0)];
        assert!(positions(&pair, &[]) == [Some(Below), Some(Right)]);
    }

    #[test]
    fn a_name_without_room_is_left_out() {
        let wall: Vec<_> = (0..30).map(|at| ((0, at * 10), (400, at * 10))).collect();
        assert!(positions(&[marker((200, 150), "aten::mm", 2.0)], &wall) == [None]);
    }

    #[test]
    fn a_lighter_point_carries_the_name_where_the_heaviest_has_no_room() {
        let walls = [((150, 170), (250, 170)), ((150, 130), (250, 130))];
        let ends = [((225, 130), (225, 170)), ((175, 130), (175, 170))];
        let two = [marker((200, 150), "aten::mm", 2.0), marker((200, 250), "aten::mm", 1.0)];
        assert!(positions(&two, &[walls, ends].concat()) == [None, Some(ChartDataLabelPosition::Right)]);
    }

    #[test]
    fn only_the_heaviest_points_are_named_and_each_name_once() {
        let names: Vec<String> = (0..12).map(|at| format!("op{}", at / 2)).collect();
        let markers: Vec<Marker<'_>> = names
            .iter()
            .enumerate()
            .map(|(at, name)| marker((50, 20 + 20 * at as i32), name, at as f64))
            .collect();
        let labels = point_labels(FRAME, &markers, &[]);
        let named: Vec<usize> = (0..12).filter(|&at| labels[at].is_some()).collect();
        assert_eq!(named, [1, 3, 5, 7, 9, 11]);
        let distinct: Vec<String> = (0..12).map(|at| format!("op{at}")).collect();
        let markers: Vec<Marker<'_>> = distinct
            .iter()
            .enumerate()
            .map(|(at, name)| marker((50, 20 + 20 * at as i32), name, at as f64))
            .collect();
        assert_eq!(point_labels(FRAME, &markers, &[]).iter().flatten().count(), LABELS);
    }
}
