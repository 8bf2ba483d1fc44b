//! What stands where in the block of lanes of one engine.

use super::lanes::{Lanes, Placed, lanes};
use super::runs::{Frequencies, Run, runs};
use super::time_scale::TimeScale;
use super::{StepBar, StepEngine};
use crate::label_room::{Rect, shortened, text_width};

/// Points of labels.
pub(super) const LABEL_SIZE: f64 = 12.0;
/// Steps of fewer pixels are drawn together.
pub(super) const NARROW: f64 = 3.0;
const LONGEST_LABEL: usize = 24;
const LINE_HEIGHT: i32 = 15;
/// Pixels beside a label in its bar.
const PADDING: i32 = 4;
const NAME_HEIGHT: i32 = 22;
/// The strip of labels above the lanes, with room for the lines to the bars.
const STRIP_HEIGHT: i32 = 21;
const BETWEEN_LANES: i32 = 4;
const BELOW: i32 = 14;

/// Which way a label runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Level,
    Upwards,
}

/// A bar in pixels from the left, in its lane.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bar {
    pub(super) run: Run,
    pub(super) label: Option<(String, Direction)>,
}

/// A label above the lanes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Raised {
    pub(super) text: String,
    /// Where it begins.
    pub(super) left: i32,
    /// The middle of its bar.
    pub(super) at: i32,
}

/// A lane: first what is drawn first.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) bars: Vec<Bar>,
}

/// The block of an engine.
pub(super) struct EngineLayout<'a> {
    pub(super) name: &'a str,
    pub(super) lanes: Vec<Lane>,
    pub(super) lane_height: i32,
    pub(super) raised: Vec<Raised>,
    /// Steps that are drawn together with others.
    pub(super) narrow: usize,
    /// Steps that lie on others for want of lanes.
    pub(super) crowded: usize,
}

impl<'a> EngineLayout<'a> {
    pub(super) fn new(
        engine: &'a StepEngine,
        scale: &TimeScale,
        (left, right): (i32, i32),
        frequencies: &Frequencies<'_>,
    ) -> Self {
        let Lanes { lanes: steps, crowded } = lanes(&engine.steps, scale.pixel_ms());
        let lane_height = match steps.len() {
            0..=1 => 64,
            2..=3 => 44,
            _ => 26,
        };
        let mut layout = EngineLayout {
            name: &engine.name,
            lanes: Vec::new(),
            lane_height,
            raised: Vec::new(),
            narrow: 0,
            crowded,
        };
        let mut without_room: Vec<(&StepBar, (f64, f64))> = Vec::new();
        for (number, steps) in steps.iter().enumerate() {
            let in_pixels = |placed: &Placed<'a>| (scale.x(placed.span.0), scale.x(placed.span.1));
            let (wide, narrow): (Vec<_>, Vec<_>) = steps
                .iter()
                .map(|placed| (placed.step, in_pixels(placed)))
                .partition(|(_, (from, to))| to - from >= NARROW);
            layout.narrow += narrow.len();
            let mut lane = Lane::default();
            for (position, &(step, (from, to))) in wide.iter().enumerate() {
                let next = wide.get(position + 1).map_or(i32::MAX, |(_, (from, _))| from.round() as i32);
                let begin = from.round() as i32;
                let end = to.round() as i32;
                // The last pixel is the gap to the next bar, which may begin a pixel too early.
                let end = if (end - 1..=end).contains(&next) { next - 1 } else { end - 1 };
                let run = Run::whole(begin, end.max(begin + 1), step.phase);
                let label = label_inside(&step.label, run.right - run.left, lane_height);
                if label.is_none() && number == 0 {
                    without_room.push((step, (from, to)));
                }
                lane.bars.push(Bar { run, label });
            }
            let together = narrow.iter().map(|&(step, (from, to))| (from, to, step.phase));
            lane.bars.extend(
                runs(together, (left, right), frequencies).into_iter().map(|run| Bar { run, label: None }),
            );
            if number == 0 {
                without_room.extend(narrow.iter().filter(|(step, _)| frequencies.is_few(step.phase)));
            }
            layout.lanes.push(lane);
        }
        layout.raise(without_room, frequencies, (left, right));
        layout
    }

    /// Labels that have no room in their bars of the first lane go above it where they fit, the rarer phases first and
    /// among equals the steps with the most work.
    fn raise(
        &mut self,
        mut steps: Vec<(&StepBar, (f64, f64))>,
        frequencies: &Frequencies<'_>,
        (left, right): (i32, i32),
    ) {
        steps.sort_by(|(a, a_place), (b, b_place)| {
            let by_rank = frequencies.rank(a.phase).cmp(&frequencies.rank(b.phase));
            by_rank.then(b.busy_ms.total_cmp(&a.busy_ms)).then(a_place.0.total_cmp(&b_place.0))
        });
        let mut taken: Vec<Rect> = Vec::new();
        for (step, (from, to)) in steps {
            if step.label.is_empty() {
                continue;
            }
            let text = shortened(&step.label, LONGEST_LABEL);
            let width = text_width(&text, LABEL_SIZE);
            let at = ((from + to) / 2.0) as i32;
            let begin = (at - width / 2).min(right - width).max(left);
            let room = Rect { left: begin - PADDING, top: 0, right: begin + width + PADDING, bottom: 1 };
            if !taken.iter().any(|other| other.overlaps(&room)) {
                taken.push(room);
                self.raised.push(Raised { text, left: begin, at });
            }
        }
    }

    pub(super) fn name_height(&self) -> i32 {
        if self.name.is_empty() { 0 } else { NAME_HEIGHT }
    }

    pub(super) fn strip_height(&self) -> i32 {
        if self.raised.is_empty() { 0 } else { STRIP_HEIGHT }
    }

    /// Pixels from the top of the block to the top of a lane.
    pub(super) fn lane_top(&self, lane: usize) -> i32 {
        // At most MOST_LANES.
        let lane = i32::try_from(lane).unwrap_or(i32::MAX);
        self.name_height() + self.strip_height() + lane * (self.lane_height + BETWEEN_LANES)
    }

    pub(super) fn height(&self) -> i32 {
        self.lane_top(self.lanes.len()) - BETWEEN_LANES + BELOW
    }
}

/// The label of a bar that is this wide and high, if it fits, and which way it runs.
fn label_inside(label: &str, width: i32, height: i32) -> Option<(String, Direction)> {
    if label.is_empty() {
        return None;
    }
    let text = shortened(label, LONGEST_LABEL);
    let length = text_width(&text, LABEL_SIZE) + 2 * PADDING;
    if length <= width {
        Some((text, Direction::Level))
    } else if length <= height && width >= LINE_HEIGHT {
        Some((text, Direction::Upwards))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(steps: Vec<StepBar>) -> StepEngine {
        StepEngine { name: String::new(), steps }
    }

    fn step(from: f64, to: f64, phase: usize, label: &str) -> StepBar {
        StepBar { span_ms: Some((from, to)), busy_ms: to - from, phase, label: label.into() }
    }

    fn layout<'a>(engine: &'a StepEngine, end: f64, steps_by_phase: &[usize]) -> EngineLayout<'a> {
        // A pixel is a millisecond.
        let scale = TimeScale::around([(0.0, end)].into_iter(), (0, end as i32)).unwrap();
        EngineLayout::new(engine, &scale, (0, end as i32), &Frequencies::new(steps_by_phase))
    }

    #[test]
    fn labels_stand_level_upwards_or_above_their_bars() {
        let steps = vec![
            step(0.0, 100.0, 0, "15360"),
            step(100.0, 117.0, 1, "32"),
            step(117.0, 128.0, 1, "33"),
            step(128.0, 139.0, 1, "34"),
            step(200.0, 201.0, 1, "35"),
        ];
        let engine = engine(steps);
        let layout = layout(&engine, 400.0, &[1, 4]);
        let labels: Vec<Option<Direction>> =
            layout.lanes[0].bars.iter().map(|bar| Some(bar.label.as_ref()?.1)).collect();
        use Direction::{Level, Upwards};
        assert_eq!(labels, [Some(Level), Some(Upwards), None, None, None]);
        // Two equal ones side by side have room for one.
        let raised: Vec<&str> = layout.raised.iter().map(|label| label.text.as_str()).collect();
        assert_eq!(raised, ["33", "35"]);
        assert_eq!(layout.narrow, 1);
    }

    #[test]
    fn among_labels_above_bars_the_rarer_phase_is_asked_first() {
        let mut steps: Vec<StepBar> =
            (0..100).map(|at| step(f64::from(at) * 4.0, f64::from(at) * 4.0 + 4.0, 1, "32")).collect();
        steps[50].phase = 0;
        steps[50].label = "15360".into();
        let engine = engine(steps);
        let layout = layout(&engine, 400.0, &[1, 99]);
        assert_eq!(layout.raised[0], Raised { text: "15360".into(), left: 185, at: 202 });
        for (number, one) in layout.raised.iter().enumerate() {
            let ends = |label: &Raised| (label.left, label.left + text_width(&label.text, LABEL_SIZE));
            let (left, right) = ends(one);
            let apart = |other: &Raised| ends(other).1 <= left || right <= ends(other).0;
            assert!(layout.raised[number + 1..].iter().all(apart), "{:?}", layout.raised);
            assert!((0..=400).contains(&left) && right <= 400);
        }
    }

    #[test]
    fn steps_that_are_drawn_together_are_labelled_only_if_their_phase_has_few() {
        let mut steps: Vec<StepBar> =
            (0..4000).map(|at| step(f64::from(at) / 10.0, f64::from(at + 1) / 10.0, 1, "32")).collect();
        steps[2000].phase = 0;
        steps[2000].label = "15360".into();
        let engine = engine(steps);
        let layout = layout(&engine, 400.0, &[1, 3999]);
        assert_eq!(layout.raised.len(), 1);
        assert_eq!(layout.raised[0].text, "15360");
        assert_eq!(layout.narrow, 4000);
        assert_eq!(layout.lanes[0].bars.len(), 3);
    }
}
