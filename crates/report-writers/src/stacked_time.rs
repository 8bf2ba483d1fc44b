//! Time stacked up as SVG: a bar per device, made of segments by kind, the kinds of one category together.
//!
//! A segment of at least 2% of its bar says what it is; smaller ones are counted below the picture. With
//! [`Arrangement::ByTime`] segments are in the order of their time alone.
//!
//! ```
//! use report_writers::stacked_time::{Arrangement, StackedBar, StackedSegment, StackedTime};
//!
//! let segment = |name: &str, category: usize, time_us: f64| StackedSegment {
//!     name: name.into(),
//!     category,
//!     time_us,
//!     details: vec![],
//! };
//! let picture = StackedTime {
//!     title: "where the time goes".into(),
//!     categories: vec!["Compute".into(), "TM".into()],
//!     bars: vec![StackedBar {
//!         name: String::new(),
//!         segments: vec![segment("Matmul", 0, 750.0), segment("Transpose", 1, 250.0)],
//!     }],
//!     arrangement: Arrangement::ByCategory,
//!     footnote: String::new(),
//! };
//! let svg = picture.to_svg()?;
//! assert!(svg.contains("75.0%") && svg.contains("Transpose"));
//! # Ok::<(), report_writers::DrawError>(())
//! ```

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use sheets::numbers::counted;

use crate::picture::{
    Area, DrawError, INK, MARGIN, WIDTH, grouped, is_dark, legend, notes_height, pixels, rectangle, rgb,
    shade_of, shortened, svg, text, text_upwards, text_width, title, write_notes,
};

/// Time of one or more devices by what it was spent on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StackedTime {
    /// Heading.
    pub title: String,
    /// Categories of segments, from the bottom up; they have a colour each, six at most before colours begin again.
    pub categories: Vec<String>,
    /// The bars, from the left.
    pub bars: Vec<StackedBar>,
    /// Order of the segments.
    pub arrangement: Arrangement,
    /// Line at the bottom. May be empty.
    pub footnote: String,
}

/// Order of the segments of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrangement {
    /// By category, the longest of each at the bottom.
    #[default]
    ByCategory,
    /// The longest at the bottom, whatever its category.
    ByTime,
}

/// Time of a device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StackedBar {
    /// Name below the bar; empty: none.
    pub name: String,
    /// What its time was spent on, in any order.
    pub segments: Vec<StackedSegment>,
}

/// What a part of the time was spent on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StackedSegment {
    /// What it is.
    pub name: String,
    /// Index of its category.
    pub category: usize,
    /// Time in microseconds. Segments without time, or with a number that is none, are not drawn.
    pub time_us: f64,
    /// More lines for where there is room.
    pub details: Vec<String>,
}

impl StackedSegment {
    fn is_drawn(&self) -> bool {
        self.time_us.is_finite() && self.time_us > 0.0
    }
}

impl StackedBar {
    /// Time of all segments.
    fn total(&self) -> f64 {
        self.segments.iter().filter(|segment| segment.is_drawn()).map(|segment| segment.time_us).sum()
    }
}

impl StackedTime {
    /// The picture. The same time gives the same text.
    ///
    /// # Errors
    ///
    /// When a segment has a category that is not among the categories.
    pub fn to_svg(&self) -> Result<String, DrawError> {
        let categories = self.categories.len();
        let mut segments = self.bars.iter().flat_map(|bar| &bar.segments);
        if let Some(segment) = segments.find(|segment| segment.category >= categories) {
            return Err(DrawError(format!(
                "{:?} has category number {}, but there are {categories}, counting from 0",
                segment.name, segment.category
            )));
        }
        draw(self)
    }
}

/// Share of its bar from which a segment says what it is.
const LABELLED: f64 = 0.02;

/// A segment in its place. Pixels, downwards from the top of the bar.
#[derive(Debug, Clone, Copy)]
struct Placed<'a> {
    segment: &'a StackedSegment,
    /// Which shade of its category's colour: 0 for the longest.
    shade: usize,
    /// Share of its bar, 0 to 1.
    share: f64,
    top: i32,
    bottom: i32,
}

/// The segments from the bottom up in a bar of `height` pixels, without those that have no time. They fill it.
fn place(bar: &StackedBar, arrangement: Arrangement, height: i32) -> Vec<Placed<'_>> {
    let mut segments: Vec<&StackedSegment> = bar.segments.iter().filter(|one| one.is_drawn()).collect();
    // Ties by name: the order of the input does not show.
    segments.sort_by(|a, b| b.time_us.total_cmp(&a.time_us).then_with(|| a.name.cmp(&b.name)));
    if arrangement == Arrangement::ByCategory {
        segments.sort_by_key(|segment| segment.category);
    }
    let total = bar.total();
    let mut seen = Vec::new();
    let mut below = 0.0;
    let y = |time: f64| height - (time / total * f64::from(height)).round() as i32;
    segments
        .into_iter()
        .map(|segment| {
            let bottom = y(below);
            below += segment.time_us;
            let shade = seen.iter().filter(|category| **category == segment.category).count();
            seen.push(segment.category);
            let top = y(below).max(0);
            Placed { segment, shade, share: segment.time_us / total, top, bottom }
        })
        .collect()
}

/// Bars that are drawn at most.
const MOST_BARS: usize = 32;
const BARS_TOP: i32 = 84;
const BARS_HEIGHT: i32 = 800;
const NAME_HEIGHT: i32 = 40;
/// Room for the names of categories at the left of a bar that is alone.
const CATEGORY_WIDTH: i32 = 40;
const GAP: i32 = 10;
const LINE: i32 = 15;
const LABEL_SIZE: f64 = 12.0;

fn draw(picture: &StackedTime) -> Result<String, DrawError> {
    let shown = &picture.bars[..picture.bars.len().min(MOST_BARS)];
    let placed: Vec<Vec<Placed<'_>>> =
        shown.iter().map(|bar| place(bar, picture.arrangement, BARS_HEIGHT)).collect();
    let notes = notes(picture, &placed);
    let height = BARS_TOP + BARS_HEIGHT + NAME_HEIGHT + notes_height(&notes);
    svg(u32::try_from(height).unwrap_or(u32::MAX), |root| {
        title(root, &picture.title)?;
        legend(root, legend_entries(picture))?;
        let left = MARGIN + if shown.len() == 1 { CATEGORY_WIDTH } else { 0 };
        let room = pixels(WIDTH) - MARGIN - left;
        let count = i32::try_from(shown.len().max(1)).unwrap_or(1);
        let width = ((room - GAP * (count - 1)) / count).max(1);
        for (number, (bar, segments)) in (0..).zip(shown.iter().zip(&placed)) {
            let x = left + number * (width + GAP);
            segments.iter().try_for_each(|segment| draw_segment(root, segment, x, width))?;
            name(root, bar, x, width)?;
        }
        if let [segments] = placed.as_slice() {
            category_names(root, picture, segments)?;
        }
        write_notes(root, &notes, BARS_TOP + BARS_HEIGHT + NAME_HEIGHT)
    })
}

/// The categories that have time, with their shares of it, each in its darkest shade.
fn legend_entries(picture: &StackedTime) -> Vec<(String, u32)> {
    let total: f64 = picture.bars.iter().map(StackedBar::total).sum();
    let entry = |(category, name): (usize, &String)| {
        let segments = picture.bars.iter().flat_map(|bar| &bar.segments);
        let of_category = segments.filter(|one| one.category == category && one.is_drawn());
        let time: f64 = of_category.map(|segment| segment.time_us).sum();
        let text = format!("{} {:.1}%", shortened(name, 24), time / total * 100.0);
        (time != 0.0).then(|| (text, shade_of(category, 0)))
    };
    picture.categories.iter().enumerate().filter_map(entry).collect()
}

fn draw_segment(root: &Area<'_>, placed: &Placed<'_>, x: i32, width: i32) -> Result<(), DrawError> {
    let (top, bottom) = (BARS_TOP + placed.top, BARS_TOP + placed.bottom);
    let fill = shade_of(placed.segment.category, placed.shade);
    rectangle(root, [(x, top), (x + width, bottom)], rgb(fill))?;
    // A white line keeps neighbours of like shades apart where both can be seen.
    if bottom - top > 2 {
        rectangle(root, [(x, top), (x + width, top + 1)], WHITE)?;
    }
    if placed.share < LABELLED {
        return Ok(());
    }
    let ink = if is_dark(fill) { WHITE } else { INK };
    let lines = lines(placed, width, (bottom - top) / LINE);
    let height = LINE * i32::try_from(lines.len()).unwrap_or(0);
    for (number, line) in (0..).zip(&lines) {
        let y = (top + bottom - height) / 2 + number * LINE + 1;
        text(root, line, (x + width / 2, y), LABEL_SIZE, &ink, HPos::Center)?;
    }
    Ok(())
}

/// What a segment says: one line, and in a wide bar more where they fit; in a narrow one the parts below each other.
fn lines(placed: &Placed<'_>, width: i32, most: i32) -> Vec<String> {
    const NARROW: i32 = 400;
    /// Narrower than a share.
    const MUTE: i32 = 46;
    if width < MUTE {
        return Vec::new();
    }
    let longest = usize::try_from(width / 7).unwrap_or(1).max(1);
    let segment = placed.segment;
    let share = format!("{:.1}%", placed.share * 100.0);
    let time = format!("{} µs", grouped(segment.time_us));
    let all = match width < NARROW {
        true => vec![share, segment.name.clone(), time],
        false => {
            let first = format!("{share}  {}  {time}", segment.name);
            std::iter::once(first).chain(segment.details.iter().cloned()).collect()
        }
    };
    let room = usize::try_from(most.max(1)).unwrap_or(1);
    all.iter().take(room).map(|line| shortened(line, longest)).collect()
}

fn name(root: &Area<'_>, bar: &StackedBar, x: i32, width: i32) -> Result<(), DrawError> {
    let longest = usize::try_from(width / 7).unwrap_or(1).max(1);
    let y = BARS_TOP + BARS_HEIGHT + 6;
    text(root, &shortened(&bar.name, longest), (x + width / 2, y), 13.0, &INK, HPos::Center)
}

/// Beside each run of segments of a category its name, where there is room.
fn category_names(root: &Area<'_>, picture: &StackedTime, segments: &[Placed<'_>]) -> Result<(), DrawError> {
    for run in segments.chunk_by(|a, b| a.segment.category == b.segment.category) {
        let (Some(lowest), Some(highest)) = (run.first(), run.last()) else { continue };
        let category = lowest.segment.category;
        let share: f64 = run.iter().map(|placed| placed.share).sum();
        let name = shortened(&picture.categories[category], 24);
        let (top, bottom) = (BARS_TOP + highest.top, BARS_TOP + lowest.bottom);
        let edge = [(MARGIN + CATEGORY_WIDTH - 8, top), (MARGIN + CATEGORY_WIDTH - 4, bottom)];
        rectangle(root, edge, rgb(shade_of(category, 0)))?;
        let label = format!("{name} {:.1}%", share * 100.0);
        let label = if text_width(&label, 13.0) <= bottom - top { label } else { name };
        if text_width(&label, 13.0) <= bottom - top {
            text_upwards(root, &label, (MARGIN + 14, (top + bottom) / 2), 13.0, &INK)?;
        }
    }
    Ok(())
}

/// What the reader must know beyond the picture.
fn notes(picture: &StackedTime, placed: &[Vec<Placed<'_>>]) -> Vec<String> {
    let mut notes = Vec::new();
    if placed.iter().all(Vec::is_empty) {
        notes.push("No time to show.".to_owned());
    }
    let small = placed.iter().flatten().filter(|one| one.share < LABELLED);
    let (count, share) = small.fold((0, 0.0), |(count, share), one| (count + 1, share + one.share));
    if count > 0 {
        let bars = placed.iter().filter(|bar| !bar.is_empty()).count().max(1) as f64;
        notes.push(format!(
            "Not labeled: {} below {:.0}%, {:.1}% in total.",
            counted(count, "segment", "segments"),
            LABELLED * 100.0,
            share / bars * 100.0
        ));
    }
    if placed.len() > 1 {
        notes.push("Each bar is scaled to 100% of its own time.".to_owned());
    }
    let hidden = picture.bars.len().saturating_sub(MOST_BARS);
    if hidden > 0 {
        notes.push(format!("{hidden} more bars are not drawn."));
    }
    if !picture.footnote.is_empty() {
        notes.push(picture.footnote.clone());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(name: &str, category: usize, time_us: f64) -> StackedSegment {
        StackedSegment { name: name.into(), category, time_us, details: vec!["more".into()] }
    }

    fn picture(bars: Vec<StackedBar>) -> StackedTime {
        StackedTime {
            title: "time".into(),
            categories: vec!["Compute".into(), "TM".into()],
            bars,
            ..StackedTime::default()
        }
    }

    fn bar(name: &str, segments: Vec<StackedSegment>) -> StackedBar {
        StackedBar { name: name.into(), segments }
    }

    #[test]
    fn segments_fill_the_bar_from_the_bottom() {
        let bar = bar("", vec![segment("b", 1, 60.0), segment("a", 0, 10.0), segment("c", 0, 30.0)]);
        let order = |arrangement| -> Vec<(String, i32, i32, usize)> {
            let placed = place(&bar, arrangement, 100);
            placed.iter().map(|one| (one.segment.name.clone(), one.bottom, one.top, one.shade)).collect()
        };
        let of = |name: &str, bottom, top, shade| (name.to_owned(), bottom, top, shade);
        assert_eq!(
            order(Arrangement::ByCategory),
            [of("c", 100, 70, 0), of("a", 70, 60, 1), of("b", 60, 0, 0)]
        );
        assert_eq!(order(Arrangement::ByTime), [of("b", 100, 40, 0), of("c", 40, 10, 0), of("a", 10, 0, 1)]);
    }

    #[test]
    fn what_has_no_time_is_not_drawn() {
        let odd = [f64::NAN, f64::INFINITY, -1.0, 0.0].map(|time| segment("odd", 0, time));
        let svg = picture(vec![bar("", odd.to_vec())]).to_svg().unwrap();
        assert!(svg.contains("No time to show.") && !svg.contains("odd"), "{svg}");
        assert!(picture(vec![]).to_svg().unwrap().contains("No time to show."));
    }

    #[test]
    fn small_segments_are_counted_not_named() {
        let segments = vec![segment("large", 0, 98.5), segment("small", 1, 1.5)];
        let svg = picture(vec![bar("", segments)]).to_svg().unwrap();
        assert!(svg.contains("large") && !svg.contains("small"));
        assert!(svg.contains("Not labeled: 1 segment below 2%, 1.5% in total."), "{svg}");
    }

    #[test]
    fn names_are_escaped() {
        let svg = picture(vec![bar("<d>", vec![segment("a<b>&\"\u{1}", 0, 1.0)])]).to_svg().unwrap();
        assert!(svg.contains("a&lt;b&gt;&amp;&quot;\\x01") && svg.contains("&lt;d&gt;"), "{svg}");
    }

    #[test]
    fn every_device_has_a_bar() {
        let device =
            |number: usize| bar(&format!("device {number}"), vec![segment("op", 0, number as f64 + 1.0)]);
        let of_devices = |count: usize| picture((0..count).map(device).collect()).to_svg().unwrap();
        let few = of_devices(8);
        assert_eq!(few.matches("100.0%").count(), 9, "a bar each, and the legend");
        assert!(few.contains("device 7") && !few.contains("not drawn"));
        // Bars too narrow for text have none.
        let many = of_devices(40);
        assert_eq!(many.matches("100.0%").count(), 1);
        assert!(many.contains("8 more bars are not drawn."));
    }

    #[test]
    fn a_category_that_is_not_there_is_an_error() {
        let error = picture(vec![bar("", vec![segment("op", 2, 1.0)])]).to_svg().unwrap_err();
        assert!(error.to_string().contains("category number 2"), "{error}");
    }
}
