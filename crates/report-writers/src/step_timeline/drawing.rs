//! From the layout to the page.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::engine_layout::{Direction, EngineLayout, LABEL_SIZE, Lane, NARROW};
use super::lanes::MOST_LANES;
use super::runs::{FEW, Frequencies, MANY, PARTS};
use super::time_scale::TimeScale;
use super::{PhaseTotal, StepBar, StepTimeline};
use crate::label_room::{shortened, text_width};
use crate::palette::{KINDS, is_dark};
use crate::picture::{Area, DrawError, GRID, INK, MARGIN, SOFT_INK, WIDTH, pixels, rgb, text, text_upwards};

/// Engines that are drawn at most.
const MOST_ENGINES: usize = 24;
const TITLE_TOP: i32 = 14;
const LEGEND_TOP: i32 = 50;
/// Title, legend, and what the legend says.
const HEADER_HEIGHT: i32 = 104;
/// Marks, numbers and title of the axis.
const AXIS_HEIGHT: i32 = 58;
const LINE: i32 = 18;
const LONGEST_NAME: usize = 80;
/// Where nothing happens.
const IDLE: RGBColor = RGBColor(245, 245, 245);
const AXIS_TITLE: &str = "time on the device (ms)";

pub(super) fn draw(timeline: &StepTimeline) -> Result<String, DrawError> {
    let plot = (MARGIN, pixels(WIDTH) - MARGIN);
    let totals = timeline.totals();
    let steps_by_phase: Vec<usize> = totals.iter().map(|total| total.steps).collect();
    let frequencies = Frequencies::new(&steps_by_phase);
    let shown = &timeline.engines[..timeline.engines.len().min(MOST_ENGINES)];
    let spans = shown.iter().flat_map(|engine| &engine.steps).filter_map(StepBar::place);
    let scale = TimeScale::around(spans, plot);
    let layouts: Vec<EngineLayout<'_>> = match &scale {
        Some(scale) => {
            shown.iter().map(|engine| EngineLayout::new(engine, scale, plot, &frequencies)).collect()
        }
        None => Vec::new(),
    };
    let notes = notes(timeline, &layouts);

    let lanes_height: i32 = layouts.iter().map(EngineLayout::height).sum();
    let axis_height = if scale.is_some() { AXIS_HEIGHT } else { 0 };
    let notes_height = LINE * i32::try_from(notes.len()).unwrap_or(0) + 12;
    let height = HEADER_HEIGHT + lanes_height + axis_height + notes_height;
    let mut svg = String::new();
    {
        let page = (WIDTH, u32::try_from(height).unwrap_or(u32::MAX));
        let root = SVGBackend::with_string(&mut svg, page).into_drawing_area();
        root.fill(&WHITE)?;
        header(&root, timeline, &totals)?;
        let bottom = HEADER_HEIGHT + lanes_height;
        if let Some(scale) = &scale {
            let mut top = HEADER_HEIGHT;
            for layout in &layouts {
                backgrounds(&root, layout, top, scale)?;
                top += layout.height();
            }
            axis(&root, scale, bottom)?;
            let mut top = HEADER_HEIGHT;
            for layout in &layouts {
                engine(&root, layout, top)?;
                top += layout.height();
            }
        }
        for (number, note) in notes.iter().enumerate() {
            let y = bottom + axis_height + LINE * i32::try_from(number).unwrap_or(0);
            text(&root, note, (MARGIN, y), 13.0, &SOFT_INK, HPos::Left)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn header(root: &Area<'_>, timeline: &StepTimeline, totals: &[PhaseTotal]) -> Result<(), DrawError> {
    text(root, &shortened(&timeline.title, 90), (MARGIN, TITLE_TOP), 20.0, &INK, HPos::Left)?;
    let busy: f64 = totals.iter().map(|total| total.busy_ms).sum();
    let mut x = MARGIN;
    for (phase, (name, total)) in timeline.phases.iter().zip(totals).enumerate() {
        if total.steps == 0 {
            continue;
        }
        let entry = legend_entry(&shortened(name, 20), *total, busy);
        let width = 20 + text_width(&entry, 13.0);
        if x + width > pixels(WIDTH) - MARGIN {
            text(root, "…", (x, LEGEND_TOP), 13.0, &INK, HPos::Left)?;
            break;
        }
        let swatch = [(x, LEGEND_TOP), (x + 14, LEGEND_TOP + 14)];
        root.draw(&Rectangle::new(swatch, rgb(color(phase)).filled()))?;
        text(root, &entry, (x + 20, LEGEND_TOP), 13.0, &INK, HPos::Left)?;
        x += width + 14;
    }
    let mut says = "share of the time that the device was busy".to_owned();
    let is_labelled = timeline.steps().any(|step| !step.label.is_empty());
    if is_labelled && !timeline.label_meaning.is_empty() {
        says = format!("{says}; numbers at bars: {}", shortened(&timeline.label_meaning, 60));
    }
    text(root, &says, (MARGIN, LEGEND_TOP + 22), 13.0, &SOFT_INK, HPos::Left)
}

/// A phase with its steps and its share of the busy time.
fn legend_entry(name: &str, total: PhaseTotal, busy_ms: f64) -> String {
    let steps = if total.steps == 1 { "step" } else { "steps" };
    let share = total.busy_ms / busy_ms * 100.0;
    let share = match share {
        share if !share.is_finite() => return format!("{name} {} {steps}", total.steps),
        share if share > 0.0 && share < 0.05 => "<0.1".to_owned(),
        share => format!("{share:.1}"),
    };
    format!("{name} {} {steps} · {share}%", total.steps)
}

/// Lanes without steps, with the lines of the axis through them.
fn backgrounds(
    root: &Area<'_>,
    layout: &EngineLayout<'_>,
    top: i32,
    scale: &TimeScale,
) -> Result<(), DrawError> {
    for lane in 0..layout.lanes.len() {
        let y = top + layout.lane_top(lane);
        let corners = [(MARGIN, y), (pixels(WIDTH) - MARGIN, y + layout.lane_height)];
        root.draw(&Rectangle::new(corners, IDLE.filled()))?;
        for (time, _) in scale.ticks() {
            let x = scale.x(time).round() as i32;
            root.draw(&Rectangle::new([(x, y), (x + 1, y + layout.lane_height)], GRID.filled()))?;
        }
    }
    Ok(())
}

fn axis(root: &Area<'_>, scale: &TimeScale, bottom: i32) -> Result<(), DrawError> {
    const SIZE: f64 = 12.0;
    let end = pixels(WIDTH) - 4;
    let mut free_from = 4;
    for (time, label) in scale.ticks() {
        let x = scale.x(time).round() as i32;
        root.draw(&Rectangle::new([(x, bottom), (x + 1, bottom + 5)], SOFT_INK.filled()))?;
        let width = text_width(&label, SIZE);
        let left = (x - width / 2).min(end - width);
        if left >= free_from {
            text(root, &label, (left + width / 2, bottom + 9), SIZE, &INK, HPos::Center)?;
            free_from = left + width + 8;
        }
    }
    let (left, right) = (MARGIN, pixels(WIDTH) - MARGIN);
    root.draw(&Rectangle::new([(left, bottom), (right + 1, bottom + 1)], SOFT_INK.filled()))?;
    text(root, AXIS_TITLE, ((left + right) / 2, bottom + 28), 14.0, &INK, HPos::Center)
}

fn engine(root: &Area<'_>, layout: &EngineLayout<'_>, top: i32) -> Result<(), DrawError> {
    text(root, &shortened(layout.name, LONGEST_NAME), (MARGIN, top), 14.0, &INK, HPos::Left)?;
    let lanes_top = top + layout.lane_top(0);
    for label in &layout.raised {
        let y = lanes_top - layout.strip_height();
        text(root, &label.text, (label.left, y), LABEL_SIZE, &INK, HPos::Left)?;
        root.draw(&Rectangle::new([(label.at, y + 14), (label.at + 1, lanes_top)], INK.filled()))?;
    }
    for (number, lane) in layout.lanes.iter().enumerate() {
        bars(root, lane, top + layout.lane_top(number), layout.lane_height)?;
    }
    Ok(())
}

fn bars(root: &Area<'_>, lane: &Lane, top: i32, height: i32) -> Result<(), DrawError> {
    for bar in &lane.bars {
        let fill = color(bar.run.phase);
        let y = |part: i32| top + height * part / PARTS;
        let corners = [(bar.run.left, y(bar.run.top)), (bar.run.right, y(bar.run.bottom))];
        root.draw(&Rectangle::new(corners, rgb(fill).filled()))?;
        let Some((label, direction)) = &bar.label else { continue };
        let ink = if is_dark(fill) { WHITE } else { INK };
        let middle = ((bar.run.left + bar.run.right) / 2, top + height / 2);
        match direction {
            Direction::Level => text(root, label, (middle.0, middle.1 - 5), LABEL_SIZE, &ink, HPos::Center)?,
            Direction::Upwards => text_upwards(root, label, middle, LABEL_SIZE, &ink)?,
        }
    }
    Ok(())
}

fn color(phase: usize) -> u32 {
    KINDS[phase % KINDS.len()]
}

/// What the reader must know beyond the picture.
fn notes(timeline: &StepTimeline, layouts: &[EngineLayout<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    let steps = timeline.steps().count();
    if steps == 0 {
        notes.push("There are no steps.".to_owned());
    }
    let narrow: usize = layouts.iter().map(|layout| layout.narrow).sum();
    if narrow > 0 {
        notes.push(format!(
            "{narrow} of {steps} steps are narrower than {NARROW} pixels and drawn together: a pixel shows the rarest \
             phase in it,"
        ));
        notes.push(format!(
            "or from {MANY} steps on the shares of their phases; phases of up to {FEW} steps are always shown."
        ));
    }
    let crowded: usize = layouts.iter().map(|layout| layout.crowded).sum();
    if crowded > 0 {
        notes.push(format!(
            "{crowded} steps overlap with more than {MOST_LANES} others and lie on top of one another in the last lane."
        ));
    }
    let unplaced = timeline.steps().filter(|step| step.place().is_none()).count();
    if unplaced > 0 {
        notes.push(format!("{unplaced} of {steps} steps did nothing on the device and are not drawn."));
    }
    let hidden = timeline.engines.len().saturating_sub(MOST_ENGINES);
    if hidden > 0 {
        notes.push(format!("{hidden} more engines are not drawn."));
    }
    if !timeline.footnote.is_empty() {
        notes.push(timeline.footnote.clone());
    }
    notes
}
