//! Pictures that go with a report, and why one shows nothing.

use inference_phase::sheets::PhaseAnalysis;
use inference_phase::{Phase, Step};
use iterations::Mark;
use metal_perf::{MetalReport, OpCategory, StackedGroup, stacked};
use multi_rank::{JobAnalysis, StepLateness};
use operator_sheets::{Iterated, Roof, Rooflines};
use perf_models::Architecture;
use report_writers::DrawError;
use report_writers::heat_map::{Axis, HeatMap};
use report_writers::roofline_chart::{RooflineChart, RooflinePanel, RooflinePoint};
use report_writers::stacked_time::{Arrangement, StackedBar, StackedSegment, StackedTime};
use report_writers::step_timeline::{MeasuredOn, StepBar, StepEngine, StepTimeline};
use trace_ingest::{RowId, Trace, TrackId};

use crate::numbers::{counted, decimal, grouped};

/// A picture that goes with a report, as an SVG document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// Operators under the rooflines of the device.
    Rooflines,
    /// The steps of a program over time: those of an inference engine coloured by phase where phases are analysed, else
    /// the iterations coloured by what sets them apart. Of a job how late each rank was in each step.
    Steps,
    /// Time by operation, of Tenstorrent operations.
    StackedTime(Arrangement),
}

/// Why a picture shows nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NothingToDraw {
    /// No architecture was named, and the recording names no known device.
    #[error("the recording does not name a GPU with known peaks")]
    NoArchitecture,
    /// No operator has FLOPs and bytes under a peak of this architecture.
    #[error("no operator with known FLOPs and bytes has a peak on {0}")]
    NoOperators(Box<str>),
    /// Rooflines are drawn of GPUs only.
    #[error("the plot is for GPUs only; for TPUs, see sheet roofline_model")]
    TpusOnly,
    /// The trace has no steps.
    #[error("the trace has no steps")]
    NoSteps,
    /// The figures of TraceLens, which were asked for, have no steps.
    #[error("a report with --parity tracelens has no steps")]
    NoStepsAsReference,
    /// Reports of this kind have no such picture.
    #[error("reports of this kind do not include it")]
    OtherReports,
}

impl NothingToDraw {
    pub(crate) fn under(architecture: &Architecture) -> Self {
        NothingToDraw::NoOperators(architecture.name.as_str().into())
    }
}

/// Operators under the rooflines of the device, or why there is none.
pub(crate) fn rooflines(
    analysis: &impl Rooflines,
    architecture: Option<&Architecture>,
    title: &str,
) -> Result<Result<String, NothingToDraw>, DrawError> {
    let Some(architecture) = architecture else { return Ok(Err(NothingToDraw::NoArchitecture)) };
    let roofs = analysis.roofs();
    if roofs.is_empty() {
        return Ok(Err(NothingToDraw::under(architecture)));
    }
    let drawn: i64 = roofs.iter().flat_map(|roof| &roof.points).map(|point| point.time).sum();
    let share = drawn as f64 / analysis.kernel_time() as f64 * 100.0;
    let chart = RooflineChart {
        title: format!("Rooflines of {} · {} · {title}", architecture.name, architecture.peaks_in_words()),
        weight_label: "total kernel time".into(),
        footnote: format!(
            "{}% of kernel time is shown; the rest has no model, no arithmetic or no known peak.",
            decimal(share, 1)
        ),
        panels: roofs.iter().map(panel).collect(),
    };
    chart.to_svg().map(Ok)
}

fn panel(roof: &Roof) -> RooflinePanel {
    let points = roof.points.iter().map(|point| RooflinePoint {
        name: point.name.clone(),
        group: point.category.as_str().to_owned(),
        intensity: point.intensity,
        tflops: point.tflops,
        weight: point.kernel_time_us,
    });
    RooflinePanel {
        title: match roof.peak == roof.spec {
            true => roof.spec.to_string(),
            false => format!("{} (compared with {})", roof.spec, roof.peak),
        },
        peak_tflops: roof.peak_tflops,
        bandwidth_gb_per_s: roof.bandwidth_gb_per_s,
        points: points.collect(),
    }
}

/// In the order of [`OpCategory`].
const CATEGORIES: [OpCategory; 6] = [
    OpCategory::Compute,
    OpCategory::Ccl,
    OpCategory::Tm,
    OpCategory::Dm,
    OpCategory::Host,
    OpCategory::Other,
];

/// The time of Tenstorrent operations as a stacked bar, or one per device.
pub(crate) fn stacked_time(
    report: &MetalReport,
    title: &str,
    arrangement: Arrangement,
) -> Result<String, DrawError> {
    let groups = stacked(report);
    let mut devices: Vec<Option<u32>> = groups.iter().map(|group| group.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let bars = devices.into_iter().map(|device| StackedBar {
        name: device.map_or(String::new(), |device| format!("Dev {device}")),
        segments: groups.iter().filter(|group| group.device == device).map(segment).collect(),
    });
    // A sum of nothing is −0.
    let total = groups.iter().map(|group| group.time_us).sum::<f64>() + 0.0;
    let picture = StackedTime {
        title: format!("{title}: device time {} µs", decimal(total, 1)),
        categories: CATEGORIES.map(|category| category.as_str().to_owned()).to_vec(),
        bars: bars.collect(),
        arrangement,
        footnote: format!("{}, {}", report.chip.name, counted(report.ops.len(), "row", "rows")),
    };
    picture.to_svg()
}

fn segment(group: &StackedGroup) -> StackedSegment {
    let category = group.category.unwrap_or(OpCategory::Other);
    let mut details = vec![counted(group.count, "operation", "operations")];
    if let Some(spread) = &group.flops {
        let by_time =
            spread.weighted_mean.map_or(String::new(), |mean| format!(", time-weighted mean {mean:.1}%"));
        details.push(format!("{:.1}% to {:.1}% of peak FLOPs{by_time}", spread.min, spread.max));
    }
    StackedSegment { name: group.name.clone(), category: category as usize, time_us: group.time_us, details }
}

/// The steps of an inference engine by phase, or why there is none.
pub(crate) fn phases(
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
    let events =
        if outside == 1 { "device event outside steps is" } else { "device events outside steps are" };
    let timeline = StepTimeline {
        title: format!("Steps · {title}"),
        measured_on: MeasuredOn::Device,
        phases: Phase::ALL.map(|phase| phase.to_string()).to_vec(),
        label_meaning: "prompt + generated tokens".into(),
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
pub(crate) fn iterations(
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
                Some(Mark::WarmUp | Mark::Partial | Mark::NoDeviceWork) => 1,
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
        label_meaning: "iteration number".into(),
        engines: vec![StepEngine { name: String::new(), steps: bars.collect() }],
        footnote: format!("{} by {}, on the {place}.", level.name, level.evidence),
    };
    timeline.to_svg().map(Ok)
}

/// The lateness of a job's ranks by step, or why there is no picture of it.
pub(crate) fn ranks(analysis: &JobAnalysis, title: &str) -> Result<Result<String, NothingToDraw>, DrawError> {
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
        footnote:
            "Each rank's own delay in entering collectives, relative to the median rank; each delay counts \
             once."
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
    let Some(track) = track else { return "no host thread".into() };
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
