//! A column per row, coloured by group, as a native chart.

use indexmap::IndexMap;
use rust_xlsxwriter::{
    Chart as NativeChart, ChartDataLabel, ChartDataLabelPosition, ChartFormat, ChartPoint, ChartType,
    XlsxError,
};
use sheets::{Cell, Chart, ChartShape};

use super::cells::{Source, sheet_rows};
use super::charts::{LABEL_PIXELS, MOST_COLUMN_NAMES, data_label, fill, gridlines, lay_out, number};
use super::scatter::decade;
use crate::picture::{KINDS, Rect, text_width};

const WIDTH: u32 = 960;
const HEIGHT: u32 = 420;
/// The plot as shares of the chart: left, top, width, height. Below it stand the axis and the legend.
const PLOT: [f64; 4] = [0.1, 0.13, 0.87, 0.62];
/// Space between columns in percent of their width.
const GAP: u16 = 20;
const MOST_LABELS: usize = 40;
const LABEL_HEIGHT: i32 = 18;

/// A drawn row.
struct Drawn {
    /// Heights below zero and what is no number are drawn as nothing.
    height: f64,
    group: usize,
    label: String,
}

/// The chart with its width in pixels.
pub(super) fn draw(chart: &Chart, own: Source<'_>) -> Result<Option<(NativeChart, u32)>, XlsxError> {
    let ChartShape::Grouped { title: category_title, groups, order, labels, rows: most } = chart.shape else {
        return Ok(None);
    };
    let all_rows = sheet_rows(own.table);
    let rows = all_rows.min(most);
    let (Some((categories, _)), Some((values, heights)), Some((group_column, group_cells))) =
        (own.column(chart.categories), own.column(chart.values), own.column(groups))
    else {
        return Ok(None);
    };
    let labels: Vec<_> = labels.iter().filter_map(|name| Some(own.column(name)?.1)).collect();
    // Groups with the first row of each.
    let mut groups: IndexMap<String, Option<usize>> =
        order.iter().map(|&group| (group.to_owned(), None)).collect();
    let mut drawn: Vec<Drawn> = Vec::with_capacity(rows);
    for row in 0..rows {
        let cell = group_cells.cell(row);
        let group = groups.entry(cell.text().into_owned());
        let index = group.index();
        group.or_default().get_or_insert(row);
        let numbers = labels.iter().filter_map(|cells| match cells.cell(row) {
            Cell::Whole(value) if value > 0 => Some(value.to_string()),
            _ => None,
        });
        let height = number(&heights.cell(row)).filter(|height| height.is_finite()).unwrap_or(0.0).max(0.0);
        drawn.push(Drawn { height, group: index, label: numbers.collect::<Vec<_>>().join("+") });
    }
    let highest = drawn.iter().map(|row| row.height).fold(0.0, f64::max);
    let Some(most_frequent) = most_frequent(&drawn).filter(|_| highest > 0.0) else { return Ok(None) };
    // Room for a label above the highest column.
    let top = axis_end(highest * 1.08);

    let mut native = NativeChart::new(ChartType::Column);
    let data_rows: Vec<usize> = (1..=rows).collect();
    let series = native.add_series();
    own.set_cells(series, (0, values), (categories, &data_rows), (values, &data_rows))?;
    series.set_format(&mut color(most_frequent)).set_gap(GAP).set_overlap(100);
    series.delete_from_legend(true);
    // Only what differs from the series is written: a chart of hundreds of steps stays small.
    let points: Vec<ChartPoint> = drawn
        .iter()
        .map(|row| match row.group == most_frequent {
            true => ChartPoint::new(),
            false => ChartPoint::new().set_format(&mut color(row.group)),
        })
        .collect();
    series.set_points(&points);
    let has_label = labelled(&drawn, top);
    if has_label.contains(&true) {
        let label = |(row, shown): (&Drawn, bool)| {
            data_label(shown.then_some((row.label.as_str(), ChartDataLabelPosition::OutsideEnd)))
        };
        let labels: Vec<ChartDataLabel> = drawn.iter().zip(has_label).map(label).collect();
        series.set_custom_data_labels(&labels);
    }
    // The legend: a series per group without a column of its own, because its one value is text.
    for (group, first) in groups.values().enumerate() {
        let Some(first) = first else { continue };
        let series = native.add_series();
        let cell = own.cell(first + 1, group_column)?;
        series.set_name(&cell).set_values(&cell).set_format(&mut color(group));
    }

    let title = match rows < all_rows {
        true => format!("{} (the first {rows} of {all_rows})", chart.title),
        false => chart.title.to_owned(),
    };
    lay_out(&mut native, (&title, 14), [WIDTH, HEIGHT], PLOT);
    style(&mut native, chart.axis, category_title, rows, top);
    Ok(Some((native, WIDTH)))
}

/// A number at or above another at which an axis may end.
fn axis_end(value: f64) -> f64 {
    let decade = decade(value);
    let step =
        [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0].into_iter().find(|step| step * decade >= value);
    step.unwrap_or(10.0) * decade
}

fn most_frequent(drawn: &[Drawn]) -> Option<usize> {
    let mut rows: Vec<usize> = Vec::new();
    for row in drawn {
        rows.resize(rows.len().max(row.group + 1), 0);
        rows[row.group] += 1;
    }
    // The first of equals.
    (0..rows.len()).rev().max_by_key(|&group| rows[group])
}

fn style(native: &mut NativeChart, value_title: &str, category_title: &str, rows: usize, top: f64) {
    let values = native.y_axis();
    gridlines(values.set_min(0).set_max(top));
    if !value_title.is_empty() {
        values.set_name(value_title);
    }
    let interval = rows.div_ceil(MOST_COLUMN_NAMES);
    let categories = native.x_axis();
    categories.set_label_interval(u16::try_from(interval).unwrap_or(u16::MAX));
    categories.set_tick_interval(u16::try_from(interval).unwrap_or(u16::MAX));
    if !category_title.is_empty() {
        categories.set_name(category_title);
    }
}

fn color(group: usize) -> ChartFormat {
    fill(KINDS[group % KINDS.len()])
}

/// Which columns have room for their labels above them: those of the rarest groups are asked first, then the highest.
fn labelled(drawn: &[Drawn], top: f64) -> Vec<bool> {
    let [left, above, width, height] = PLOT;
    let (left, width) = (left * f64::from(WIDTH), width * f64::from(WIDTH));
    let (above, height) = (above * f64::from(HEIGHT), height * f64::from(HEIGHT));
    let pitch = width / drawn.len() as f64;
    let middle = |position: usize| left + (position as f64 + 0.5) * pitch;
    let y = |value: f64| (above + height * (1.0 - value / top)) as i32;
    let column = |position: usize| Rect {
        left: (middle(position) - pitch / 2.0) as i32,
        top: y(drawn[position].height),
        right: (middle(position) + pitch / 2.0).ceil() as i32,
        bottom: y(0.0),
    };
    let columns: Vec<Rect> = (0..drawn.len()).map(column).collect();
    let of_group = |group: usize| drawn.iter().filter(|row| row.group == group).count();
    let frequency: Vec<usize> =
        (0..=drawn.iter().map(|row| row.group).max().unwrap_or(0)).map(of_group).collect();
    let mut order: Vec<usize> = (0..drawn.len()).filter(|&row| !drawn[row].label.is_empty()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&drawn[a], &drawn[b]);
        frequency[a.group].cmp(&frequency[b.group]).then(b.height.total_cmp(&a.height))
    });
    let mut shown = vec![false; drawn.len()];
    let mut taken: Vec<Rect> = Vec::new();
    for position in order {
        if taken.len() == MOST_LABELS {
            break;
        }
        let half = text_width(&drawn[position].label, LABEL_PIXELS) / 2 + 1;
        let (x, bottom) = (middle(position) as i32, columns[position].top);
        let label = Rect { left: x - half, top: bottom - LABEL_HEIGHT, right: x + half, bottom };
        let reach = (f64::from(half) / pitch).ceil() as usize + 1;
        let near = position.saturating_sub(reach)..(position + reach + 1).min(columns.len());
        let is_free = !columns[near].iter().chain(&taken).any(|other| other.overlaps(&label));
        if is_free && label.left >= 0 && label.right <= WIDTH as i32 {
            taken.push(label);
            shown[position] = true;
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{Drawn, MOST_LABELS, labelled, most_frequent};

    fn rows(heights: &[(f64, usize, &str)]) -> Vec<Drawn> {
        heights.iter().map(|&(height, group, label)| Drawn { height, group, label: label.into() }).collect()
    }

    #[test]
    fn labels_stand_where_neither_columns_nor_labels_are() {
        let few = rows(&[(9.0, 0, "15360"), (1.0, 1, "32"), (1.0, 1, ""), (1.0, 1, "32")]);
        assert_eq!(labelled(&few, 10.0), [true, true, false, true]);
        // A hundred columns of eight pixels: the highest, then every few of the others, but none beside the highest.
        let mut many = rows(&[(1.0, 1, "32"); 100]);
        many[50] = Drawn { height: 9.0, group: 0, label: "15360".into() };
        let shown = labelled(&many, 10.0);
        assert!(shown[50] && !shown[49] && !shown[51]);
        let count = shown.iter().filter(|shown| **shown).count();
        assert!((20..=MOST_LABELS).contains(&count), "{count}");
        assert!(!shown.windows(2).any(|pair| pair[0] && pair[1]));
        assert!(
            labelled(&rows(&[(1.0, 0, "1"); 500]), 2.0).iter().filter(|shown| **shown).count() <= MOST_LABELS
        );
    }

    #[test]
    fn the_first_of_equally_frequent_groups_is_the_most_frequent() {
        assert_eq!(most_frequent(&rows(&[(1.0, 2, ""), (1.0, 1, ""), (1.0, 1, ""), (1.0, 2, "")])), Some(1));
        assert_eq!(most_frequent(&[]), None);
    }
}
