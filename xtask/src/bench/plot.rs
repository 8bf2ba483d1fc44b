//! Times over sizes as a picture, both axes logarithmic: what grows with the size is a straight line.

use std::error::Error;

use plotters::prelude::*;

use super::Row;

const SIZE: (u32, u32) = (900, 560);
const INK: RGBColor = RGBColor(38, 38, 38);
const GRID: RGBColor = RGBColor(228, 228, 228);
/// Of the palette of Okabe and Ito, which people with colour-blindness can tell apart.
const COLORS: [RGBColor; 2] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0)];
const SERIES: [&str; 2] = ["plain", "gzip"];

/// Points of one line: events and seconds.
struct Line {
    name: String,
    color: RGBColor,
    /// Our points are filled, those of the floor are not.
    is_filled: bool,
    points: Vec<(f64, f64)>,
}

/// The picture of the generated traces; `None` without any.
pub(super) fn svg(rows: &[Row]) -> Result<Option<String>, Box<dyn Error>> {
    let lines = lines(rows);
    let points = || lines.iter().flat_map(|line| &line.points);
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = points().map(of);
        let (low, high) =
            values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        low / 1.5..high * 1.5
    };
    if points().next().is_none() {
        return Ok(None);
    }
    let (events, seconds) = (range(|point| point.0), range(|point| point.1));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .margin(24)
            .caption(
                "tracelens report over the size of the trace",
                ("sans-serif", 20).into_font().color(&INK),
            )
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d(events.log_scale(), seconds.log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(GRID)
            .x_desc("events")
            .y_desc("seconds")
            .x_label_formatter(&count)
            .y_label_formatter(&|seconds| format!("{seconds}"))
            .label_style(("sans-serif", 13).into_font().color(&INK))
            .draw()?;
        for line in &lines {
            let (color, is_filled) = (line.color, line.is_filled);
            let style = color.stroke_width(if is_filled { 2 } else { 1 });
            let fill = move || ShapeStyle { color: color.into(), filled: is_filled, stroke_width: 1 };
            chart
                .draw_series(std::iter::once(PathElement::new(line.points.clone(), style)))?
                .label(&line.name)
                .legend(move |(x, y)| Circle::new((x + 8, y), 5, fill()));
            chart.draw_series(line.points.iter().map(|&point| Circle::new(point, 5, fill())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(("sans-serif", 13).into_font().color(&INK))
            .background_style(WHITE)
            .border_style(GRID)
            .draw()?;
        root.present()?;
    }
    Ok(Some(svg))
}

/// Our time and the floor of each series, as far as they have places on logarithmic axes.
fn lines(rows: &[Row]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (series, color) in SERIES.into_iter().zip(COLORS) {
        let of = |seconds: &dyn Fn(&Row) -> Option<f64>| {
            let rows = rows.iter().filter(|row| row.input.series == Some(series));
            let points = rows.filter_map(|row| Some((row.run.events as f64, seconds(row)?)));
            points.filter(|&(events, seconds)| events > 0.0 && seconds > 0.0).collect::<Vec<_>>()
        };
        let ours = (format!("{series}: tracelens"), true, of(&|row| Some(row.run.wall_seconds)));
        let floor = (format!("{series}: floor"), false, of(&|row| row.floor.seconds()));
        let named = [ours, floor].map(|(name, is_filled, points)| Line { name, color, is_filled, points });
        lines.extend(named.into_iter().filter(|line| !line.points.is_empty()));
    }
    lines
}

/// A number of events: `300k`, `10M`.
fn count(events: &f64) -> String {
    match *events {
        events if events >= 1e6 => format!("{}M", events / 1e6),
        events if events >= 1e3 => format!("{}k", events / 1e3),
        events => format!("{events}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::row;
    use super::*;

    #[test]
    fn the_picture_has_a_line_for_ours_and_the_floor_of_each_series() {
        let mut rows: Vec<Row> = [100_000, 1_000_000]
            .into_iter()
            .flat_map(|events| SERIES.map(|series| row(series, events)))
            .collect();
        let svg = svg(&rows).unwrap().unwrap();
        for name in
            ["plain: tracelens", "plain: floor", "gzip: tracelens", "gzip: floor", "events", "seconds"]
        {
            assert!(svg.contains(name), "no {name} in {svg}");
        }
        rows[0].floor.tape_seconds = None;
        let points: Vec<usize> = lines(&rows).iter().map(|line| line.points.len()).collect();
        assert_eq!(points, [2, 1, 2, 2]);
    }

    #[test]
    fn recordings_alone_give_no_picture() {
        let mut recording = row("plain", 1000);
        recording.input.series = None;
        assert_eq!(svg(&[recording]).unwrap(), None);
    }

    #[test]
    fn counts_are_short() {
        for (events, text) in [(500.0, "500"), (10_000.0, "10k"), (1e7, "10M")] {
            assert_eq!(count(&events), text);
        }
    }
}
