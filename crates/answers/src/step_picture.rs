//! The steps of a program as a picture: over time, of inference by phase and of any other program by what sets them apart;
//! of a job by rank.

use inference_phase::sheets::PhaseAnalysis;
use inference_phase::{Phase, Step};
use iterations::Mark;
use multi_rank::{JobAnalysis, StepLateness};
use operator_sheets::Iterated;
use report_writers::DrawError;
use report_writers::heat_map::{Axis, HeatMap};
use report_writers::step_timeline::{MeasuredOn, StepBar, StepEngine, StepTimeline};
use trace_ingest::{RowId, Trace, TrackId};

use crate::notice::NothingToDraw;
use crate::numbers::grouped;

/// The picture, or why there is none.
pub(crate) fn svg(
    phases: &PhaseAnalysis<'_>,
    title: &str,
) -> Result<Result<String, NothingToDraw>, DrawError> {
    let Some(steps) = phases.steps().filter(|steps| !steps.steps().is_empty()) else {
        return Ok(Err(NothingToDraw::NoSteps));
    };
    let trace = phases.analysis().trace();
    let ms = |time: i64| trace.to_microseconds(time) / 1e3;
    // Engines in the order of their first steps.
    let mut tracks: Vec<Option<TrackId>> = Vec::new();
    let mut engines: Vec<StepEngine> = Vec::new();
    for (step, figures) in steps.steps().iter().zip(phases.step_statistics()) {
        let engine = tracks.iter().position(|track| *track == step.track).unwrap_or_else(|| {
            tracks.push(step.track);
            engines.push(StepEngine::default());
            tracks.len() - 1
        });
        engines[engine].steps.push(StepBar {
            span_ms: figures.device_span.map(|(from, to)| (ms(from), ms(to))),
            busy_ms: ms(figures.busy_time),
            phase: Phase::ALL.iter().position(|phase| *phase == step.phase).unwrap_or_default(),
            label: tokens(step),
        });
    }
    // The only engine needs no name.
    if let [_, _, ..] = tracks[..] {
        for (engine, track) in engines.iter_mut().zip(tracks) {
            engine.name = thread_name(trace, track);
        }
    }
    let outside = steps.links().none;
    let events = if outside == 1 { "device event of no step is" } else { "device events of no step are" };
    let timeline = StepTimeline {
        title: format!("Steps · {title}"),
        measured_on: MeasuredOn::Device,
        phases: Phase::ALL.map(|phase| phase.to_string()).to_vec(),
        label_meaning: "tokens of prompts + generated ones".into(),
        engines,
        footnote: match outside {
            0 => String::new(),
            outside => format!("{} {events} not shown.", grouped(outside.into())),
        },
    };
    timeline.to_svg().map(Ok)
}

/// What the colours of iterations mean, as many as the picture has colours.
const STATES: [&str; 4] = ["steady", "warm-up or partial", "slow or fast", "different"];

/// The picture of the program's iterations, or why there is none.
pub(crate) fn of_iterations(
    analysis: &impl Iterated,
    title: &str,
) -> Result<Result<String, NothingToDraw>, DrawError> {
    let Some(iterations) = analysis.iterations() else {
        return Ok(Err(NothingToDraw::NoStepsAsReference));
    };
    let Some((level, measured)) = iterations.steps() else {
        return Ok(Err(NothingToDraw::NoSteps));
    };
    let (measured_on, place) = match measured.has_device_work() {
        true => (MeasuredOn::Device, "device"),
        false => (MeasuredOn::Host, "host"),
    };
    let ms = |time: i64| analysis.ms(time as f64);
    let steps = level.iterations.iter().zip(&measured.iterations).enumerate();
    let bars = steps.map(|(index, (iteration, figures))| {
        let (span, busy) = match measured_on {
            MeasuredOn::Device => {
                (figures.device_span.map(|span| (span.start, span.end)), figures.breakdown.busy)
            }
            MeasuredOn::Host => (Some((iteration.start, iteration.end)), figures.duration(iteration)),
        };
        StepBar {
            span_ms: span.map(|(start, end)| (ms(start), ms(end))),
            busy_ms: ms(busy),
            phase: match figures.mark {
                None => 0,
                Some(Mark::WarmUp | Mark::Partial) => 1,
                Some(Mark::Slow | Mark::Fast) => 2,
                Some(Mark::Different) => 3,
            },
            label: (level.first + index).to_string(),
        }
    });
    let timeline = StepTimeline {
        title: format!("Iterations · {title}"),
        measured_on,
        phases: STATES.map(str::to_owned).to_vec(),
        label_meaning: "number of the iteration".into(),
        engines: vec![StepEngine { name: String::new(), steps: bars.collect() }],
        footnote: format!("{} by {}, on the {place}.", level.name, level.evidence),
    };
    timeline.to_svg().map(Ok)
}

/// The lateness of a job's ranks by step, or why there is no picture of it.
pub(crate) fn of_ranks(
    analysis: &JobAnalysis,
    title: &str,
) -> Result<Result<String, NothingToDraw>, DrawError> {
    let Some(StepLateness { ranks, steps, lateness }) = analysis.step_lateness() else {
        return Ok(Err(NothingToDraw::NoStepsAsReference));
    };
    if steps.is_empty() {
        return Ok(Err(NothingToDraw::NoSteps));
    }
    let ms = |row: Vec<Option<i64>>| row.into_iter().map(|ns| ns.map(|ns| ns as f64 / 1e6)).collect();
    let names = |title: &str, names: Vec<String>| Axis { title: title.to_owned(), names };
    let picture = HeatMap {
        title: format!("Lateness by rank and step · {title}"),
        rows: names("rank", ranks.iter().map(u32::to_string).collect()),
        columns: names("step", steps.iter().map(i64::to_string).collect()),
        cells: lateness.into_iter().map(ms).collect(),
        unit: "ms".to_owned(),
        footnote: "By how much a rank entered collectives after the middle rank by its own doing; each delay counts once."
            .to_owned(),
    };
    picture.to_svg().map(Ok)
}

/// Tokens of prompts and generated ones, as far as there are any and the trace says so.
fn tokens(step: &Step) -> String {
    let counts = [step.load.context_tokens, step.load.generation_tokens];
    let counts: Vec<String> =
        counts.into_iter().flatten().filter(|count| *count > 0).map(|count| count.to_string()).collect();
    counts.join("+")
}

fn thread_name(trace: &Trace, track: Option<TrackId>) -> String {
    let Some(track) = track else { return "no thread of the host".into() };
    let id = |row: RowId| match row {
        RowId::Missing => "without id".to_owned(),
        RowId::Number(number) => number.to_string(),
        RowId::Text(text) => trace.strings().get(text).to_owned(),
    };
    let row = trace.tracks().get(track);
    let ids = format!("process {}, thread {}", id(row.pid), id(row.tid));
    match trace.thread_name(track) {
        Some(name) => format!("{name} ({ids})"),
        None => ids,
    }
}
