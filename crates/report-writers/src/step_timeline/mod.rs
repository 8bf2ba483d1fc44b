//! The steps of a program over time as SVG: a bar per step, its colour what the step does.
//!
//! Steps stand on one axis of time, a block of lanes per engine; steps that overlap in time are in different
//! lanes. A label stands in its bar, upright or upwards, or above it, and only where it has room. Steps too narrow
//! to be seen alone are drawn together, so that the picture of a hundred thousand steps is as small as that of a
//! hundred. A lone step of another phase is seen among any number.
//!
//! ```
//! use report_writers::step_timeline::{StepBar, StepEngine, StepTimeline};
//!
//! let step = |from: f64, to: f64, phase: usize, label: &str| StepBar {
//!     span_ms: Some((from, to)),
//!     busy_ms: to - from,
//!     phase,
//!     label: label.into(),
//! };
//! let timeline = StepTimeline {
//!     title: "two steps".into(),
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

mod drawing;
mod engine_layout;
mod lanes;
mod runs;
mod time_scale;

use crate::picture::DrawError;

/// Steps of one or more engines on one axis of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepTimeline {
    /// Heading.
    pub title: String,
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

/// Steps that one engine, or one thread of it, does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepEngine {
    /// Name above its lanes; empty: none.
    pub name: String,
    /// Its steps, in any order.
    pub steps: Vec<StepBar>,
}

/// A step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepBar {
    /// Begin and end in ms. A step without, or with numbers that are none, is counted but not drawn.
    pub span_ms: Option<(f64, f64)>,
    /// Time in ms that the step did something: its part in the shares of the legend.
    pub busy_ms: f64,
    /// Index of what it does among the phases.
    pub phase: usize,
    /// What stands in or above its bar, if there is room.
    pub label: String,
}

impl StepBar {
    /// Begin and end, if they have a place on an axis.
    fn place(&self) -> Option<(f64, f64)> {
        // Beyond this, 31 000 years, doubles know no µs any more.
        const FARTHEST_MS: f64 = 1e15;
        self.span_ms.filter(|(from, to)| from <= to && from.abs() <= FARTHEST_MS && to.abs() <= FARTHEST_MS)
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
                "a step has phase number {}, but there are {phases}, counted from 0",
                step.phase
            )));
        }
        drawing::draw(self)
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

#[cfg(test)]
mod tests;
