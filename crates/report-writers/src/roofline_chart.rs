//! Roofline charts as SVG: work as points under the ceilings of the device that did it.
//!
//! One panel per ceiling of arithmetic, both axes logarithmic: arithmetic intensity in FLOP/byte to the
//! right, achieved rate in TFLOP/s upwards (Williams, Waterman, Patterson, *Roofline*, Communications of
//! the ACM 52(4), 2009). The area of a point is its weight, its colour its group.
//!
//! ```
//! use report_writers::roofline_chart::{RooflineChart, RooflinePanel, RooflinePoint};
//!
//! let chart = RooflineChart {
//!     title: "one step".into(),
//!     weight_label: "kernel time".into(),
//!     footnote: String::new(),
//!     panels: vec![RooflinePanel {
//!         title: "matrix units, BF16".into(),
//!         peak_tflops: 989.0,
//!         bandwidth_gb_per_s: 3350.0,
//!         points: vec![RooflinePoint {
//!             name: "aten::mm".into(),
//!             group: "GEMM".into(),
//!             intensity: 1365.0,
//!             tflops: 620.0,
//!             weight: 1.0,
//!         }],
//!     }],
//! };
//! let svg = chart.to_svg()?;
//! assert!(svg.starts_with("<svg") && svg.contains("aten::mm"));
//! # Ok::<(), report_writers::roofline_chart::DrawError>(())
//! ```

use indexmap::IndexMap;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

pub use crate::picture::DrawError;
use crate::picture::{
    Area, FONT, GRID, INK, MARGIN, PALETTE, Rect, SOFT_INK, WIDTH, along, pixels, rgb, shortened, svg, text,
    text_width, title, trimmed,
};

/// Panels one below the other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RooflineChart {
    /// Heading.
    pub title: String,
    /// What the weight of a point is, for the legend: `total kernel time`.
    pub weight_label: String,
    /// Line at the bottom: what is not shown, for example. May be empty.
    pub footnote: String,
    /// The panels, from the top.
    pub panels: Vec<RooflinePanel>,
}

/// Work that is held against the same ceilings.
#[derive(Debug, Clone, PartialEq)]
pub struct RooflinePanel {
    /// Heading.
    pub title: String,
    /// Peak of arithmetic in 10¹² operations a second: the flat part of the roof.
    pub peak_tflops: f64,
    /// Bandwidth of the memory in 10⁹ bytes a second: the slope.
    pub bandwidth_gb_per_s: f64,
    /// The work. What cannot stand on logarithmic axes (zero, no number) is left out.
    pub points: Vec<RooflinePoint>,
}

/// Some work.
#[derive(Debug, Clone, PartialEq)]
pub struct RooflinePoint {
    /// Name, shown beside the heaviest points.
    pub name: String,
    /// Points of one group have one colour.
    pub group: String,
    /// Operations per byte.
    pub intensity: f64,
    /// Achieved 10¹² operations a second.
    pub tflops: f64,
    /// Area.
    pub weight: f64,
}

const PANEL_HEIGHT: u32 = 520;
/// Title and legend.
const HEADER_HEIGHT: u32 = 84;
const FOOTER_HEIGHT: u32 = 34;
/// Radius of the heaviest point and of the lightest.
const LARGEST_RADIUS: f64 = 17.0;
const SMALLEST_RADIUS: f64 = 3.0;
/// Points of different names that are labelled in a panel.
const LABELS: usize = 8;
const LONGEST_LABEL: usize = 36;

impl RooflineChart {
    /// The picture. The same chart gives the same text.
    ///
    /// # Errors
    ///
    /// When a ceiling is not a positive number.
    pub fn to_svg(&self) -> Result<String, DrawError> {
        let panels = u32::try_from(self.panels.len()).unwrap_or(u32::MAX);
        let height =
            HEADER_HEIGHT.saturating_add(FOOTER_HEIGHT).saturating_add(panels.saturating_mul(PANEL_HEIGHT));
        svg(height, |root| {
            let groups = self.groups();
            self.draw_header(root, &groups)?;
            let heaviest = self.points().map(|point| point.weight).fold(0.0, f64::max);
            let mut top = HEADER_HEIGHT;
            for panel in &self.panels {
                panel.draw(root, top, &groups, heaviest)?;
                top = top.saturating_add(PANEL_HEIGHT);
            }
            text(root, &self.footnote, (MARGIN, pixels(top) + 8), 13.0, &SOFT_INK, HPos::Left)
        })
    }

    fn points(&self) -> impl Iterator<Item = &RooflinePoint> {
        self.panels.iter().flat_map(RooflinePanel::drawable)
    }

    /// The groups, the heaviest first.
    fn groups(&self) -> Vec<&str> {
        let mut weights: IndexMap<&str, f64> = IndexMap::new();
        for point in self.points() {
            *weights.entry(&point.group).or_default() += point.weight;
        }
        weights.sort_by(|a, a_weight, b, b_weight| b_weight.total_cmp(a_weight).then(a.cmp(b)));
        weights.into_keys().collect()
    }

    fn draw_header(&self, root: &Area<'_>, groups: &[&str]) -> Result<(), DrawError> {
        title(root, &self.title)?;
        let mut x = MARGIN;
        let row = 58;
        let area = format!("area: {}", self.weight_label);
        let end = pixels(WIDTH) - MARGIN - text_width(&area, 13.0);
        text(root, &area, (pixels(WIDTH) - MARGIN, row - 8), 13.0, &SOFT_INK, HPos::Right)?;
        for (position, group) in groups.iter().enumerate() {
            let group = shortened(group, LONGEST_LABEL);
            let width = 26 + text_width(&group, 13.0);
            if x + width > end - 40 {
                text(root, "…", (x, row - 8), 13.0, &INK, HPos::Left)?;
                break;
            }
            root.draw(&Circle::new((x + 6, row), 6, color(position).filled()))?;
            text(root, &group, (x + 17, row - 8), 13.0, &INK, HPos::Left)?;
            x += width;
        }
        Ok(())
    }
}

impl RooflinePanel {
    fn drawable(&self) -> impl Iterator<Item = &RooflinePoint> {
        let has_place = |value: f64| value.is_finite() && value > 0.0;
        self.points
            .iter()
            .filter(move |point| has_place(point.intensity) && has_place(point.tflops) && point.weight >= 0.0)
    }

    /// Operations per byte from which on arithmetic is the bound.
    fn ridge(&self) -> f64 {
        self.peak_tflops * 1e3 / self.bandwidth_gb_per_s
    }

    /// The least and most of both axes: all points and the ridge, with room around them.
    fn ranges(&self) -> ((f64, f64), (f64, f64)) {
        let (mut x, mut y) = ((self.ridge(), self.ridge()), (self.peak_tflops, self.peak_tflops));
        for point in self.drawable() {
            x = (x.0.min(point.intensity), x.1.max(point.intensity));
            y = (y.0.min(point.tflops), y.1.max(point.tflops));
        }
        let whole_decade = |value: f64| 10_f64.powf(value.log10().floor());
        ((whole_decade(x.0 / 2.0), x.1 * 6.0), (whole_decade(y.0 / 1.5), y.1 * 3.0))
    }

    fn draw(&self, root: &Area<'_>, top: u32, groups: &[&str], heaviest: f64) -> Result<(), DrawError> {
        for (what, value) in [("peak", self.peak_tflops), ("bandwidth", self.bandwidth_gb_per_s)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(DrawError(format!("the {what} {value} of {} is not positive", self.title)));
            }
        }
        let area = root.clone().shrink((0, top), (WIDTH, PANEL_HEIGHT));
        text(root, &self.title, (MARGIN, pixels(top) + 6), 16.0, &INK, HPos::Left)?;
        let ((left, right), (low, high)) = self.ranges();
        let mut chart = ChartBuilder::on(&area)
            .margin(MARGIN)
            .margin_top(38)
            .margin_bottom(8)
            .x_label_area_size(52)
            .y_label_area_size(66)
            .build_cartesian_2d(
                (left..right).log_scale().with_key_points(ticks(left, right)),
                (low..high).log_scale().with_key_points(ticks(low, high)),
            )?;
        let label = |size: f64| (FONT, size).into_font().color(&INK);
        chart
            .configure_mesh()
            .x_desc("arithmetic intensity (FLOP/byte)")
            .y_desc("achieved rate (TFLOP/s)")
            .axis_desc_style(label(14.0))
            .label_style(label(12.0))
            .x_label_formatter(&|value| tick(*value))
            .y_label_formatter(&|value| tick(*value))
            .bold_line_style(GRID)
            .light_line_style(WHITE)
            .axis_style(SOFT_INK)
            .draw()?;

        // The roof, from where the slope comes into the picture.
        let ridge = (self.ridge(), self.peak_tflops);
        let start = left.max(low * 1e3 / self.bandwidth_gb_per_s);
        let foot = (start, start * self.bandwidth_gb_per_s / 1e3);
        chart.draw_series([PathElement::new(
            vec![(ridge.0, low), ridge],
            SOFT_INK.mix(0.5).stroke_width(1),
        )])?;
        chart.draw_series([PathElement::new(vec![foot, ridge, (right, ridge.1)], INK.stroke_width(2))])?;

        let mut points: Vec<&RooflinePoint> = self.drawable().collect();
        // Heavy ones first: light ones stay visible on top of them.
        points.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let radius = |point: &RooflinePoint| {
            let share = if heaviest > 0.0 { (point.weight / heaviest).sqrt() } else { 0.0 };
            (SMALLEST_RADIUS + (LARGEST_RADIUS - SMALLEST_RADIUS) * share).round() as i32
        };
        for point in &points {
            let position = groups.iter().position(|group| *group == point.group).unwrap_or(0);
            let at = (point.intensity, point.tflops);
            let fill = color(position);
            chart.draw_series([
                Circle::new(at, radius(point), fill.mix(0.45).filled()),
                Circle::new(at, radius(point), fill.stroke_width(1)),
            ])?;
        }

        let pixel = |at: (f64, f64)| chart.backend_coord(&at);
        let (plot_left, plot_top) = pixel((left, high));
        let (plot_right, plot_bottom) = pixel((right, low));
        let mut labels = Labels {
            frame: Rect { left: plot_left, top: plot_top, right: plot_right, bottom: plot_bottom },
            taken: Vec::new(),
            texts: Vec::new(),
        };
        // What the roofs and the ridge are stands first; the names of points keep clear of it.
        let (ridge_x, ridge_y) = pixel(ridge);
        let foot_pixel = pixel(foot);
        let middle = ((foot_pixel.0 + ridge_x) / 2, (foot_pixel.1 + ridge_y) / 2);
        let peak = format!("{} TFLOP/s", number(self.peak_tflops));
        let bandwidth = format!("{} GB/s", number(self.bandwidth_gb_per_s));
        let intensity = format!("ridge {} FLOP/byte", number(ridge.0));
        let right_end = plot_right - 6 - text_width(&peak, 13.0);
        labels.force(root, &peak, (right_end.max(plot_left), ridge_y - 20), 13.0, &INK)?;
        let slope_label = (middle.0 - text_width(&bandwidth, 13.0) - 12).max(plot_left + 4);
        labels.force(root, &bandwidth, (slope_label, middle.1 - 14), 13.0, &INK)?;
        let beside_ridge = match ridge_x + 6 + text_width(&intensity, 12.0) > plot_right {
            true => ridge_x - 6 - text_width(&intensity, 12.0),
            false => ridge_x + 6,
        };
        labels.force(root, &intensity, (beside_ridge, plot_bottom - 20), 12.0, &SOFT_INK)?;
        // Neither do names lie on the roof: the slope is a chain of small rectangles.
        labels.taken.push(Rect { left: ridge_x, top: ridge_y - 3, right: plot_right, bottom: ridge_y + 3 });
        let steps = ((ridge_x - foot_pixel.0) / 6).max(1);
        for step in 0..steps {
            let along = |from: i32, to: i32| from + (to - from) * step / steps;
            let (x, y) = (along(foot_pixel.0, ridge_x), along(foot_pixel.1, ridge_y));
            labels.taken.push(Rect { left: x - 3, top: y - 5, right: x + 9, bottom: y + 5 });
        }

        for point in &points {
            let (x, y) = pixel((point.intensity, point.tflops));
            // The square inside the circle and a little more: corners may be touched.
            let reach = radius(point) * 4 / 5;
            labels.taken.push(Rect::around((x, y), reach));
        }
        let mut named: Vec<&str> = Vec::new();
        for point in points {
            if named.len() == LABELS {
                break;
            }
            if !named.contains(&point.name.as_str()) {
                named.push(&point.name);
                let name = shortened(&point.name, LONGEST_LABEL);
                labels.beside(root, &name, pixel((point.intensity, point.tflops)), radius(point))?;
            }
        }
        Ok(())
    }
}

/// Where text stands in a panel.
struct Labels {
    frame: Rect,
    /// Where no further text has room.
    taken: Vec<Rect>,
    /// The texts among that, which no line may cross.
    texts: Vec<Rect>,
}

impl Labels {
    /// Writes a text where it has to stand.
    fn force(
        &mut self,
        root: &Area<'_>,
        label: &str,
        at: (i32, i32),
        size: f64,
        ink: &RGBColor,
    ) -> Result<(), DrawError> {
        self.write(Rect::of_text(label, at, size));
        text(root, label, at, size, ink, HPos::Left)
    }

    fn write(&mut self, label: Rect) {
        self.taken.push(label);
        self.texts.push(label);
    }

    /// Writes a name near a point where there is room for it, with a line to the point; else not at all.
    fn beside(
        &mut self,
        root: &Area<'_>,
        name: &str,
        (x, y): (i32, i32),
        radius: i32,
    ) -> Result<(), DrawError> {
        const SIZE: f64 = 12.0;
        let (width, half_height) = (text_width(name, SIZE), 8);
        for distance in [3, 14, 30, 50, 74, 100, 130] {
            let away = radius + distance;
            let places = [
                (x + away, y - half_height),
                (x + away, y + away - half_height),
                (x - away - width, y + away - half_height),
                (x - width / 2, y + away),
                (x - away - width, y - half_height),
                (x + away, y - away - half_height),
                (x - width / 2, y - away - 2 * half_height),
                (x - away - width, y - away - half_height),
            ];
            for place in places {
                let label = Rect::of_text(name, place, SIZE);
                if !self.frame.holds(&label) || self.taken.iter().any(|taken| taken.overlaps(&label)) {
                    continue;
                }
                if distance > 3 {
                    let end = (x.clamp(label.left, label.right), y.clamp(label.top, label.bottom));
                    let crosses = |piece: Rect| self.texts.iter().any(|text| text.overlaps(&piece));
                    if along((x, y), end).any(crosses) {
                        continue;
                    }
                    self.taken.extend(along((x, y), end));
                    root.draw(&PathElement::new(vec![(x, y), end], SOFT_INK.mix(0.7).stroke_width(1)))?;
                }
                self.write(label);
                return text(root, name, place, SIZE, &INK, HPos::Left);
            }
        }
        Ok(())
    }
}

fn color(group: usize) -> RGBColor {
    rgb(PALETTE[group % PALETTE.len()])
}

/// Three digits at least, no exponent where people expect none.
fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => trimmed(format!("{v:.1}")),
        v => trimmed(format!("{v:.2}")),
    }
}

/// Powers of ten between two numbers, and twice and five times them on short axes.
fn ticks(from: f64, to: f64) -> Vec<f64> {
    let (first, last) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let digits: &[u8] = if last - first <= 4 { &[1, 2, 5] } else { &[1] };
    // Far more decades than labels have room for are a fault of the data, not a picture to read.
    let step = ((last - first) / 12 + 1).unsigned_abs() as usize;
    (first..=last)
        .step_by(step)
        .flat_map(|exponent| digits.iter().map(move |digit| format!("{digit}e{exponent}")))
        .filter_map(|text| text.parse().ok())
        .filter(|tick| (from..=to).contains(tick))
        .collect()
}

fn tick(value: f64) -> String {
    match value {
        v if (1.0..1e6).contains(&v) => format!("{v:.0}"),
        v if (1e-4..1.0).contains(&v) => trimmed(format!("{v:.6}")),
        v => format!("{v:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, group: &str, intensity: f64, tflops: f64, weight: f64) -> RooflinePoint {
        RooflinePoint { name: name.into(), group: group.into(), intensity, tflops, weight }
    }

    fn chart(points: Vec<RooflinePoint>) -> RooflineChart {
        RooflineChart {
            title: "step".into(),
            weight_label: "kernel time".into(),
            footnote: "2 rows are not shown".into(),
            panels: vec![RooflinePanel {
                title: "matrix_bf16".into(),
                peak_tflops: 1000.0,
                bandwidth_gb_per_s: 4000.0,
                points,
            }],
        }
    }

    #[test]
    fn the_ceilings_the_ridge_and_the_heaviest_points_are_labelled() {
        let points =
            vec![point("aten::mm", "GEMM", 500.0, 600.0, 3.0), point("copy", "other", 0.5, 1.0, 1.0)];
        let svg = chart(points).to_svg().unwrap();
        for part in [
            "1000 TFLOP/s",
            "4000 GB/s",
            "ridge 250 FLOP/byte",
            "arithmetic intensity (FLOP/byte)",
            "achieved rate (TFLOP/s)",
            "matrix_bf16",
            "aten::mm",
            "copy",
            "GEMM",
            "area: kernel time",
            "2 rows are not shown",
        ] {
            assert!(svg.contains(part), "no {part:?} in {svg}");
        }
    }

    fn numbers(element: &str, attribute: &str) -> Vec<i32> {
        let (_, rest) = element.split_once(&format!(" {attribute}=\"")).unwrap();
        let (value, _) = rest.split_once('"').unwrap();
        value.split([' ', ',']).filter_map(|number| number.parse().ok()).collect()
    }

    #[test]
    fn no_line_to_a_point_crosses_a_name() {
        // Names at few places next to each other below the roof: most have to stand away from them.
        let places = [(0.166, 0.5), (0.25, 0.8), (0.166, 0.4), (0.25, 0.35), (0.2, 0.55), (0.22, 0.45)];
        let points = (0..12).map(|at| {
            let (intensity, tflops) = places[at % places.len()];
            point(&format!("aten::operator{at}"), "g", intensity, tflops, (13 - at) as f64)
        });
        let svg = chart(points.collect()).to_svg().unwrap();
        let texts = svg.split("<text").skip(1).filter_map(|text| {
            let (name, _) = text.split_once('>')?.1.split_once('<')?;
            let name = name.trim();
            name.starts_with("aten::").then(|| (numbers(text, "x")[0], numbers(text, "y")[0], name))
        });
        let names: Vec<Rect> = texts
            .map(|(x, y, name)| Rect { left: x, top: y, right: x + text_width(name, 12.0), bottom: y + 12 })
            .collect();
        let thin = |line: &&str| line.contains("#696969") && numbers(line, "points").len() == 4;
        let lines: Vec<&str> = svg.split("<polyline").skip(1).filter(thin).collect();
        assert!(names.len() > 4 && !lines.is_empty(), "{} names, {} lines", names.len(), lines.len());
        for line in lines {
            let ends = numbers(line, "points");
            let (from, to) = ((ends[0], ends[1]), (ends[2], ends[3]));
            // The end of the line is at its own name.
            let at_end = Rect::around(to, 10);
            let crossed =
                |name: &Rect| along(from, to).any(|piece| !piece.overlaps(&at_end) && piece.overlaps(name));
            assert!(!names.iter().any(crossed), "{ends:?} {names:?}");
        }
    }

    #[test]
    fn names_are_text_whatever_they_hold() {
        let svg = chart(vec![point("</text><script>\"&\u{1}", "<b>", 5.0, 6.0, 1.0)]).to_svg().unwrap();
        assert!(!svg.contains("<script>") && !svg.contains("<b>") && !svg.contains('\u{1}'), "{svg}");
        assert!(svg.contains("&lt;script&gt;&quot;&amp;\\x01"), "{svg}");
    }

    #[test]
    fn what_has_no_place_on_logarithmic_axes_is_left_out() {
        let empty = chart(Vec::new()).to_svg().unwrap();
        for (intensity, tflops) in
            [(0.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0), (1.0, f64::INFINITY), (-1.0, 1.0)]
        {
            let svg = chart(vec![point("odd", "g", intensity, tflops, 1.0)]).to_svg().unwrap();
            assert_eq!(svg, empty, "{intensity} {tflops}");
        }
    }

    #[test]
    fn ceilings_must_be_above_zero() {
        let mut without_peak = chart(Vec::new());
        without_peak.panels[0].peak_tflops = 0.0;
        let error = without_peak.to_svg().unwrap_err().to_string();
        assert_eq!(error, "the plot cannot be drawn: the peak 0 of matrix_bf16 is not positive");
    }

    #[test]
    fn ticks_are_powers_of_ten_and_on_short_axes_twice_and_five_times_them() {
        assert_eq!(ticks(100.0, 3000.0), [100.0, 200.0, 500.0, 1000.0, 2000.0]);
        assert_eq!(ticks(0.05, 2e4), [0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0]);
        assert!(ticks(1e-30, 1e30).len() < 13);
    }

    #[test]
    fn heavier_points_are_larger_and_the_picture_is_repeatable() {
        let chart = chart(vec![point("a", "g", 5.0, 6.0, 4.0), point("b", "g", 50.0, 60.0, 1.0)]);
        let svg = chart.to_svg().unwrap();
        assert!(svg.contains(r#"r="17""#) && svg.contains(r#"r="10""#), "{svg}");
        assert_eq!(svg, chart.to_svg().unwrap());
    }
}
