//! From the layout to the page.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::layout::{LABELLED, Placed, place};
use super::{StackedBar, StackedTime};
use crate::label_room::{shortened, text_width};
use crate::palette::{is_dark, shade_of};
use crate::picture::{Area, DrawError, INK, MARGIN, SOFT_INK, WIDTH, pixels, rgb, text, text_upwards};

/// Bars that are drawn at most.
const MOST_BARS: usize = 32;
const TITLE_TOP: i32 = 14;
const LEGEND_TOP: i32 = 50;
const BARS_TOP: i32 = 84;
const BARS_HEIGHT: i32 = 800;
const NAME_HEIGHT: i32 = 40;
/// Room for the names of categories at the left of a bar that is alone.
const CATEGORY_WIDTH: i32 = 40;
const GAP: i32 = 10;
const LINE: i32 = 15;
const LABEL_SIZE: f64 = 12.0;

pub(super) fn draw(picture: &StackedTime) -> Result<String, DrawError> {
    let shown = &picture.bars[..picture.bars.len().min(MOST_BARS)];
    let placed: Vec<Vec<Placed<'_>>> =
        shown.iter().map(|bar| place(bar, picture.arrangement, BARS_HEIGHT)).collect();
    let notes = notes(picture, &placed);
    let notes_height = 18 * i32::try_from(notes.len()).unwrap_or(0) + 12;
    let height = BARS_TOP + BARS_HEIGHT + NAME_HEIGHT + notes_height;
    let mut svg = String::new();
    {
        let page = (WIDTH, u32::try_from(height).unwrap_or(u32::MAX));
        let root = SVGBackend::with_string(&mut svg, page).into_drawing_area();
        root.fill(&WHITE)?;
        text(&root, &shortened(&picture.title, 90), (MARGIN, TITLE_TOP), 20.0, &INK, HPos::Left)?;
        legend(&root, picture)?;
        let left = MARGIN + if shown.len() == 1 { CATEGORY_WIDTH } else { 0 };
        let room = pixels(WIDTH) - MARGIN - left;
        let count = i32::try_from(shown.len().max(1)).unwrap_or(1);
        let width = ((room - GAP * (count - 1)) / count).max(1);
        for (number, (bar, segments)) in (0..).zip(shown.iter().zip(&placed)) {
            let x = left + number * (width + GAP);
            segments.iter().try_for_each(|segment| draw_segment(&root, segment, x, width))?;
            name(&root, bar, x, width)?;
        }
        if let [segments] = placed.as_slice() {
            category_names(&root, picture, segments)?;
        }
        for (number, note) in (0..).zip(&notes) {
            let y = BARS_TOP + BARS_HEIGHT + NAME_HEIGHT + 18 * number;
            text(&root, note, (MARGIN, y), 13.0, &SOFT_INK, HPos::Left)?;
        }
        root.present()?;
    }
    Ok(svg)
}

/// The categories that have time, with their shares of it.
fn legend(root: &Area<'_>, picture: &StackedTime) -> Result<(), DrawError> {
    let total: f64 = picture.bars.iter().map(StackedBar::total).sum();
    let mut x = MARGIN;
    for (category, name) in picture.categories.iter().enumerate() {
        let segments = picture.bars.iter().flat_map(|bar| &bar.segments);
        let of_category = segments.filter(|one| one.category == category && one.is_drawn());
        let time: f64 = of_category.map(|segment| segment.time_us).sum();
        if time == 0.0 {
            continue;
        }
        let entry = format!("{} {:.1} %", shortened(name, 24), time / total * 100.0);
        let swatch = [(x, LEGEND_TOP), (x + 14, LEGEND_TOP + 14)];
        root.draw(&Rectangle::new(swatch, rgb(shade_of(category, 0)).filled()))?;
        text(root, &entry, (x + 20, LEGEND_TOP), 13.0, &INK, HPos::Left)?;
        x += 20 + text_width(&entry, 13.0) + 14;
    }
    Ok(())
}

fn draw_segment(root: &Area<'_>, placed: &Placed<'_>, x: i32, width: i32) -> Result<(), DrawError> {
    let (top, bottom) = (BARS_TOP + placed.top, BARS_TOP + placed.bottom);
    let fill = shade_of(placed.segment.category, placed.shade);
    root.draw(&Rectangle::new([(x, top), (x + width, bottom)], rgb(fill).filled()))?;
    // A white line keeps neighbours of like shades apart where both can be seen.
    if bottom - top > 2 {
        root.draw(&Rectangle::new([(x, top), (x + width, top + 1)], WHITE.filled()))?;
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
    let share = format!("{:.1} %", placed.share * 100.0);
    let time = format!("{:.1} µs", segment.time_us);
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
        root.draw(&Rectangle::new(edge, rgb(shade_of(category, 0)).filled()))?;
        let label = format!("{name} {:.1} %", share * 100.0);
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
        notes.push("There is no time to show.".to_owned());
    }
    let small = placed.iter().flatten().filter(|one| one.share < LABELLED);
    let (count, share) = small.fold((0, 0.0), |(count, share), one| (count + 1, share + one.share));
    if count > 0 {
        let bars = placed.iter().filter(|bar| !bar.is_empty()).count().max(1) as f64;
        notes.push(format!(
            "Not named: {count} segments below {:.0} %, together {:.1} %.",
            LABELLED * 100.0,
            share / bars * 100.0
        ));
    }
    if placed.len() > 1 {
        notes.push("Every bar is as high as its own time: 100 %.".to_owned());
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
