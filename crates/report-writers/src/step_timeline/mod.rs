//! The steps of a program over time as SVG: a bar per step, its colour what the step does.
//!
//! Steps stand on one axis of time, a block of lanes per engine; steps that overlap in time are in different
//! lanes. A label stands in its bar, upright or upwards, or above it, and only where it has room. Steps too narrow
//! to be seen alone are drawn together, so that the picture of a hundred thousand steps is as small as that of a
//! hundred. A lone step of another phase is seen among any number.
//!
//! ```
//! use report_writers::step_timeline::{MeasuredOn, StepBar, StepEngine, StepTimeline};
//!
//! let step = |from: f64, to: f64, phase: usize, label: &str| StepBar {
//!     span_ms: Some((from, to)),
//!     busy_ms: to - from,
//!     phase,
//!     label: label.into(),
//! };
//! let timeline = StepTimeline {
//!     title: "two steps".into(),
//!     measured_on: MeasuredOn::Device,
//!     phases: vec!["Prefill".into(), "Decode".into()],
//!     label_meaning: "tokens".into(),
//!     engines: vec![StepEngine {
//!         name: String::new(),
//!         steps: vec![step(0.0, 31.5, 0, "15360"), step(31.5, 36.0, 1, "32")],
//!     }],
//!     footnote: String::new(),
//! };
//! let svg = timeline.to_svg()?;
//! assert!(svg.starts_with("<svg") && svg.contains("15360"));
//! # Ok::<(), report_writers::DrawError>(())
//! ```

mod layout;

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use sheets::numbers::{agreeing, counted};

use self::layout::{
    Direction, EngineLayout, FEW, Frequencies, LABEL_SIZE, Lane, MANY, MOST_LANES, NARROW, PARTS, TimeScale,
};
pub use self::layout::{StepBar, StepEngine};
use crate::picture::{
    Area, DrawError, GRID, INK, KINDS, LEGEND_TOP, MARGIN, SOFT_INK, WIDTH, is_dark, legend, notes_height,
    pixels, rectangle, rgb, shortened, svg, text, text_upwards, text_width, title, write_notes,
};

/// Steps of one or more engines on one axis of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepTimeline {
    /// Heading.
    pub title: String,
    /// Whose time the bars are.
    pub measured_on: MeasuredOn,
    /// What steps do, in the order of the legend, which is that of the colours. There are four colours; more
    /// phases begin again with the first.
    pub phases: Vec<String>,
    /// What the labels of bars are: `tokens`. Said in the legend if there are labels; may be empty.
    pub label_meaning: String,
    /// The engines, from the top.
    pub engines: Vec<StepEngine>,
    /// Line at the bottom. May be empty.
    pub footnote: String,
}

/// Whose time the bars of a picture are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MeasuredOn {
    /// Bars reach from the first to the last device event of a step, shares are of the device's busy time.
    #[default]
    Device,
    /// Bars are the host's spans of the steps, shares are of their time: the recording has no device work.
    Host,
}

impl MeasuredOn {
    fn axis_title(self) -> &'static str {
        match self {
            MeasuredOn::Device => "time on the device (ms)",
            MeasuredOn::Host => "time on the host (ms)",
        }
    }

    fn share_meaning(self) -> &'static str {
        match self {
            MeasuredOn::Device => "share of device busy time",
            MeasuredOn::Host => "share of the host's time in steps",
        }
    }

    fn lacking(self) -> &'static str {
        match self {
            MeasuredOn::Device => "no device work",
            MeasuredOn::Host => "no host time",
        }
    }
}

impl StepTimeline {
    /// The picture. The same timeline gives the same text.
    ///
    /// # Errors
    ///
    /// When a step has a phase that is not among the phases.
    pub fn to_svg(&self) -> Result<String, DrawError> {
        let phases = self.phases.len();
        if let Some(step) = self.steps().find(|step| step.phase >= phases) {
            return Err(DrawError(format!(
                "a step has phase number {}, but there are {phases}, counting from 0",
                step.phase
            )));
        }
        draw(self)
    }

    fn steps(&self) -> impl Iterator<Item = &StepBar> {
        self.engines.iter().flat_map(|engine| &engine.steps)
    }

    /// Steps and busy time of every phase.
    fn totals(&self) -> Vec<PhaseTotal> {
        let mut totals = vec![PhaseTotal::default(); self.phases.len()];
        for step in self.steps() {
            if let Some(total) = totals.get_mut(step.phase) {
                total.steps += 1;
                if step.busy_ms.is_finite() {
                    total.busy_ms += step.busy_ms;
                }
            }
        }
        totals
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct PhaseTotal {
    steps: usize,
    busy_ms: f64,
}

/// Engines that are drawn at most.
const MOST_ENGINES: usize = 24;
/// Title, legend, and what the legend says.
const HEADER_HEIGHT: i32 = 104;
/// Marks, numbers and title of the axis.
const AXIS_HEIGHT: i32 = 58;
const LONGEST_NAME: usize = 80;
/// Where nothing happens.
const IDLE: RGBColor = RGBColor(245, 245, 245);
fn draw(timeline: &StepTimeline) -> Result<String, DrawError> {
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
    let height = HEADER_HEIGHT + lanes_height + axis_height + notes_height(&notes);
    svg(u32::try_from(height).unwrap_or(u32::MAX), |root| {
        header(root, timeline, &totals)?;
        let bottom = HEADER_HEIGHT + lanes_height;
        if let Some(scale) = &scale {
            let mut top = HEADER_HEIGHT;
            for layout in &layouts {
                backgrounds(root, layout, top, scale)?;
                top += layout.height();
            }
            axis(root, scale, bottom, timeline.measured_on.axis_title())?;
            let mut top = HEADER_HEIGHT;
            for layout in &layouts {
                engine(root, layout, top)?;
                top += layout.height();
            }
        }
        write_notes(root, &notes, bottom + axis_height)
    })
}

fn header(root: &Area<'_>, timeline: &StepTimeline, totals: &[PhaseTotal]) -> Result<(), DrawError> {
    title(root, &timeline.title)?;
    let busy: f64 = totals.iter().map(|total| total.busy_ms).sum();
    let phases = timeline.phases.iter().zip(totals).enumerate().filter(|(_, (_, total))| total.steps > 0);
    let entry = |(phase, (name, total)): (usize, (&String, &PhaseTotal))| {
        (legend_entry(&shortened(name, 20), *total, busy), color(phase))
    };
    legend(root, phases.map(entry))?;
    let mut says = timeline.measured_on.share_meaning().to_owned();
    let is_labelled = timeline.steps().any(|step| !step.label.is_empty());
    if is_labelled && !timeline.label_meaning.is_empty() {
        says = format!("{says}; numbers on bars: {}", shortened(&timeline.label_meaning, 60));
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
        rectangle(root, corners, IDLE)?;
        for (time, _) in scale.ticks() {
            let x = scale.x(time).round() as i32;
            rectangle(root, [(x, y), (x + 1, y + layout.lane_height)], GRID)?;
        }
    }
    Ok(())
}

fn axis(root: &Area<'_>, scale: &TimeScale, bottom: i32, title: &str) -> Result<(), DrawError> {
    const SIZE: f64 = 12.0;
    let end = pixels(WIDTH) - 4;
    let mut free_from = 4;
    for (time, label) in scale.ticks() {
        let x = scale.x(time).round() as i32;
        rectangle(root, [(x, bottom), (x + 1, bottom + 5)], SOFT_INK)?;
        let width = text_width(&label, SIZE);
        let left = (x - width / 2).min(end - width);
        if left >= free_from {
            text(root, &label, (left + width / 2, bottom + 9), SIZE, &INK, HPos::Center)?;
            free_from = left + width + 8;
        }
    }
    let (left, right) = (MARGIN, pixels(WIDTH) - MARGIN);
    rectangle(root, [(left, bottom), (right + 1, bottom + 1)], SOFT_INK)?;
    text(root, title, ((left + right) / 2, bottom + 28), 14.0, &INK, HPos::Center)
}

fn engine(root: &Area<'_>, layout: &EngineLayout<'_>, top: i32) -> Result<(), DrawError> {
    text(root, &shortened(layout.name, LONGEST_NAME), (MARGIN, top), 14.0, &INK, HPos::Left)?;
    let lanes_top = top + layout.lane_top(0);
    for label in &layout.raised {
        let y = lanes_top - layout.strip_height();
        text(root, &label.text, (label.left, y), LABEL_SIZE, &INK, HPos::Left)?;
        rectangle(root, [(label.at, y + 14), (label.at + 1, lanes_top)], INK)?;
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
        rectangle(root, corners, rgb(fill))?;
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
        notes.push("No steps.".to_owned());
    }
    let narrow: usize = layouts.iter().map(|layout| layout.narrow).sum();
    if narrow > 0 {
        notes.push(format!(
            "{narrow} of {steps} steps are narrower than {NARROW} pixels and drawn together: a pixel shows its rarest phase,"
        ));
        notes.push(format!(
            "or, with {MANY} or more steps, the shares of its phases; phases with up to {FEW} steps are always shown."
        ));
    }
    let crowded: usize = layouts.iter().map(|layout| layout.crowded).sum();
    if crowded > 0 {
        let overlap = counted(crowded, "step overlaps", "steps overlap");
        notes.push(format!("{overlap} more than {MOST_LANES} others: drawn in the last lane."));
    }
    let unplaced = timeline.steps().filter(|step| step.place().is_none()).count();
    if unplaced > 0 {
        let lacking = timeline.measured_on.lacking();
        let has = agreeing(unplaced as u64, "has", "have");
        notes.push(format!("{unplaced} of {steps} steps {has} {lacking}: not drawn."));
    }
    let hidden = timeline.engines.len().saturating_sub(MOST_ENGINES);
    if hidden > 0 {
        notes.push(format!("{} not drawn.", counted(hidden, "more engine is", "more engines are")));
    }
    if !timeline.footnote.is_empty() {
        notes.push(timeline.footnote.clone());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHASES: [&str; 4] = ["Prefill", "Decode", "Mixed", "Unknown"];

    fn step(from: f64, to: f64, phase: usize, label: &str) -> StepBar {
        StepBar { span_ms: Some((from, to)), busy_ms: to - from, phase, label: label.into() }
    }

    fn timeline(steps: Vec<StepBar>) -> StepTimeline {
        StepTimeline {
            title: "decode".into(),
            measured_on: MeasuredOn::Device,
            phases: PHASES.map(String::from).to_vec(),
            label_meaning: "tokens".into(),
            engines: vec![StepEngine { name: String::new(), steps }],
            footnote: "2 steps are unknown.".into(),
        }
    }

    /// Decodes of a millisecond end to end; one in the middle is a prefill.
    fn many(count: usize) -> StepTimeline {
        let mut steps: Vec<StepBar> =
            (0..count).map(|at| step(at as f64, at as f64 + 0.9, 1, "32")).collect();
        steps[count / 2].phase = 0;
        steps[count / 2].label = "15360".into();
        timeline(steps)
    }

    /// Rectangles of a colour: left edge and width.
    fn bars(svg: &str, color: &str) -> Vec<(i32, i32)> {
        let number = |rect: &str, name: &str| -> i32 {
            let rest = rect.split_once(&format!(" {name}=\"")).unwrap().1;
            rest.split_once('"').unwrap().0.parse().unwrap()
        };
        svg.split("<rect")
            .skip(1)
            .filter(|rect| rect.split_once("/>").unwrap().0.contains(color))
            .map(|rect| (number(rect, "x"), number(rect, "width")))
            .collect()
    }

    const PREFILL: &str = "#004488";
    const DECODE: &str = "#DDAA33";

    #[test]
    fn a_bar_per_step_with_its_colour_its_label_and_the_legend() {
        let steps = vec![step(0.0, 60.0, 0, "15360"), step(60.0, 90.0, 1, "32"), step(95.0, 100.0, 1, "31")];
        let svg = timeline(steps).to_svg().unwrap();
        for part in [
            "decode",
            "Prefill 1 step · 63.2%",
            "Decode 2 steps · 36.8%",
            "numbers on bars: tokens",
            "time on the device (ms)",
            "15360",
            "32",
            "31",
            "2 steps are unknown.",
        ] {
            assert!(svg.contains(part), "no {part:?} in {svg}");
        }
        assert!(!svg.contains("Mixed") && !svg.contains("drawn together"), "{svg}");
        // The legend, then the bars on a plot of 992 pixels from 24 on.
        assert_eq!(bars(&svg, PREFILL), [(24, 14), (24, 594)]);
        assert_eq!(bars(&svg, DECODE)[1..], [(619, 297), (966, 49)]);
    }

    #[test]
    fn a_lone_prefill_is_seen_and_named_among_any_number_of_decodes() {
        for count in [100, 10_000, 100_000] {
            let svg = many(count).to_svg().unwrap();
            let prefill = bars(&svg, PREFILL);
            assert_eq!(prefill.len(), 2, "{count}");
            assert!(prefill[1].1 >= 2, "{count}: {prefill:?}");
            assert!((519..=522).contains(&prefill[1].0), "{count}: {prefill:?}");
            assert!(svg.contains("15360"), "{count}");
            assert!(svg.len() < 60_000, "{count}: {} bytes", svg.len());
        }
        let svg = many(10_000).to_svg().unwrap();
        assert!(svg.contains("10000 of 10000 steps are narrower than 3 pixels"), "{svg}");
    }

    #[test]
    fn the_worst_picture_is_small() {
        // Phases alternate in every pixel of every lane.
        let steps = (0..100_000)
            .map(|at| step(f64::from(at), f64::from(at) + 60.0, at as usize / 100 % 4, "1"))
            .collect();
        let svg = timeline(steps).to_svg().unwrap();
        assert!(svg.len() < 1_000_000, "{} bytes", svg.len());
    }

    #[test]
    fn names_and_labels_are_text_whatever_they_hold() {
        let evil = "</text><script>\"&\u{1}\u{ffff}";
        let mut timeline = timeline(vec![step(0.0, 10.0, 0, evil)]);
        timeline.title = evil.into();
        timeline.phases[0] = evil.into();
        timeline.engines[0].name = evil.into();
        timeline.footnote = evil.into();
        let svg = timeline.to_svg().unwrap();
        assert!(!svg.contains("<script>") && !svg.contains('\u{1}') && !svg.contains('\u{ffff}'), "{svg}");
        assert_eq!(svg.matches("&lt;script&gt;&quot;&amp;").count(), 5, "{svg}");
    }

    #[test]
    fn engines_have_blocks_with_their_names() {
        let mut timeline = timeline(vec![step(0.0, 10.0, 0, "a"), step(5.0, 15.0, 0, "b")]);
        timeline.engines[0].name = "thread 1".into();
        let one = timeline.to_svg().unwrap();
        timeline.engines.push(StepEngine { name: "thread 2".into(), steps: vec![step(20.0, 30.0, 1, "c")] });
        let two = timeline.to_svg().unwrap();
        let height = |svg: &str| -> u32 {
            svg.split_once("height=\"").unwrap().1.split_once('"').unwrap().0.parse().unwrap()
        };
        assert!(one.contains("thread 1") && two.contains("thread 1") && two.contains("thread 2"), "{two}");
        assert!(height(&one) < height(&two));
        timeline
            .engines
            .extend((0..30).map(|at| StepEngine { name: format!("extra {at}"), steps: Vec::new() }));
        assert!(timeline.to_svg().unwrap().contains("8 more engines are not drawn."));
    }

    #[test]
    fn what_is_not_drawn_is_said() {
        let mut odd = step(0.0, 1.0, 1, "x");
        odd.span_ms = None;
        let svg = timeline(vec![odd, step(f64::NAN, 1.0, 1, "y"), step(0.0, 1.0, 0, "z")]).to_svg().unwrap();
        assert!(svg.contains("2 of 3 steps have no device work: not drawn."), "{svg}");
        let crowd = (0..20).map(|at| step(f64::from(at), 100.0, 1, "")).collect();
        assert!(timeline(crowd).to_svg().unwrap().contains("12 steps overlap more than 8 others"));
        assert!(timeline(Vec::new()).to_svg().unwrap().contains("No steps."));
    }

    #[test]
    fn a_phase_that_does_not_exist_is_refused() {
        let error = timeline(vec![step(0.0, 1.0, 4, "")]).to_svg().unwrap_err().to_string();
        assert_eq!(
            error,
            "the plot cannot be drawn: a step has phase number 4, but there are 4, counting from 0"
        );
    }

    #[test]
    fn one_moment_and_no_busy_time_make_a_picture() {
        let svg = timeline(vec![step(7.0, 7.0, 1, "32")]).to_svg().unwrap();
        assert!(svg.contains("Decode 1 step") && !svg.contains("NaN") && !svg.contains('%'), "{svg}");
    }

    #[test]
    fn the_picture_is_repeatable_and_the_order_of_steps_says_nothing() {
        let mut timeline = many(1000);
        let svg = timeline.to_svg().unwrap();
        assert_eq!(svg, timeline.to_svg().unwrap());
        timeline.engines[0].steps.reverse();
        assert_eq!(svg, timeline.to_svg().unwrap());
    }

    #[test]
    fn small_shares_are_not_nothing() {
        let svg =
            timeline(vec![step(0.0, 10_000.0, 0, ""), step(10_000.0, 10_000.1, 1, "")]).to_svg().unwrap();
        assert!(svg.contains("Prefill 1 step · 100.0%"), "{svg}");
        assert!(svg.contains("Decode 1 step · &lt;0.1%"), "{svg}");
        // Without labels not a word about them.
        assert!(!svg.contains("numbers on bars"), "{svg}");
    }
}
