//! The iterations of the program: one row each, and one row per group of alike ones.

use gpu_timeline::{Breakdown, SortFew, Summary};
use iterations::{Figures, Group, Iteration, Level, Mark, Measured, MeasuredIterations, Part};
use sheets::columns::ITERATION_DURATION;
use sheets::names;
use sheets::{Chart, ChartShape, Column, ColumnKind, Field, Figure, Nested, Role, Sheet, Unit, percent};

/// The analysis of a recording in which something may repeat.
pub trait Iterated {
    /// The iterations of the program; `None` where a report has none, as one that gives TraceLens's figures.
    fn iterations(&self) -> Option<&MeasuredIterations>;

    /// A time of the recording in ms.
    fn ms(&self, time: f64) -> f64;

    /// What each of several devices did in each part of the recording, by part and device; empty for a single device.
    fn device_parts(&self) -> &[DevicePart] {
        &[]
    }

    /// Name of a device of [`device_parts`](Self::device_parts).
    fn device_name(&self, _device: usize) -> &str {
        ""
    }

    /// How many iterations the window has that the report is of: what sums are divided by for the mean of one. `None`
    /// where it is no window, or one without several whole iterations.
    fn iterations_of_window(&self) -> Option<usize> {
        None
    }

    /// Whether [`Iterated::work`] may ever know anything: only then the sheets have columns of it.
    const KNOWS_WORK: bool = false;

    /// What was done for users in each of the steps, in their order; empty where nobody knows.
    fn work(&self) -> &[IterationWork] {
        &[]
    }
}

/// What one of several devices did in a part of the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DevicePart {
    /// The device, by whatever number the analysis gives it.
    pub device: usize,
    /// The part, by the steps of the recording.
    pub part: Part,
    /// What the device did in the time that is the part's own.
    pub breakdown: Breakdown,
}

/// The mean of a time over the iterations of a window; which kinds of figures that is, the sheet says.
pub fn per_iteration<'a, A: Iterated, R>(
    shows: &'static [Figure],
    time: impl Fn(&R) -> f64 + Copy + Send + Sync + 'static,
) -> Field<&'a A, R> {
    const PER_ITERATION: Column = Column::milliseconds(
        "per iteration (ms)",
        "Time per iteration; only for windows of several complete iterations.",
    )
    .per("iteration");
    PER_ITERATION
        .showing(shows)
        .field_in(move |analysis: &&A, row: &R| {
            analysis.iterations_of_window().map(|count| analysis.ms(time(row)) / count as f64).into()
        })
        .when(|analysis| analysis.iterations_of_window().is_some())
}

/// What a model did for its users in an iteration, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IterationWork {
    /// Phases of a language model's steps in it, each once, in their order.
    pub phases: Vec<&'static str>,
    /// New tokens of these steps, of prompts and of generation.
    pub tokens: Option<i64>,
    /// Images or videos that a diffusion model made.
    pub samples: Option<i64>,
}

/// Place of the phase among the fields of groups.
const BEHIND_COUNT: usize = 3;

/// Iterations of the chart: more are narrower than a pixel or two.
const DRAWN: usize = 500;

const ITERATION: Column = Column::identifier(
    "iteration",
    "Iteration number in this recording, from 0; empty for device work before, between and after iterations.",
)
.with_role(Role::Name);
const NUMBER: Column = Column::identifier(
    "recorded number",
    "Number assigned by the program, such as 12 in ProfilerStep#12; empty if none.",
)
.with_role(Role::Name);
const LEVEL: Column = Column::text(
    "level",
    "Kind of iteration: step, engine step, image, program run, micro-batch, denoising step or layer.",
)
.with_role(Role::Detail);
const NAME: Column =
    Column::text("name", "Name of the iterations in the recording, or of the repeating unit.")
        .with_role(Role::Detail);
const SOURCE: Column = Column::text(
    "source",
    "Evidence for the iterations, strongest first: recorded steps, annotations, program sequence, module calls, training cycle, operator sequence, kernel sequence.",
).with_role(Role::Detail);
const CONFIDENCE: Column = Column::new(
    "confidence",
    ColumnKind::Number(Unit::One),
    "Confidence that these are iterations and their count is right, 0 to 1.",
)
.with_role(Role::Detail);
const GROUP: Column = Column::identifier(
    "group",
    "Group of iterations with similar device events: its number in iteration_groups, from 0.",
)
.with_role(Role::Detail);
const STATE: Column = Column::text(
    "state",
    "steady, or why it is not: partial (truncated by the recording, without device work, or the first iteration, if it lacks a wait that all others have), warm-up (one of the first, and slower), different (unlike all others), slow or fast (off its group's median by more than 10% and four standard deviations, estimated from the median deviation). Outside iterations: before, between or after.",
);
const PHASE: Column = Column::text(
    "phase",
    "Phase of a language model's step: Prefill, Decode, Mixed (both in one step) or Unknown; several if steps differ. For traces annotated by an inference engine, and with --inference_phase_analysis for any language model.",
);
const TOKENS: Column = Column::count(
    "tokens",
    "New prompt and decode tokens of a language model: from the engine's annotation, else from operator shapes, including padding of replayed graphs. Only with phases; empty if unknown.",
);
const SAMPLES: Column = Column::count(
    "samples",
    "Images or videos generated by a diffusion model, from the engine's annotation. Only for traces of diffusion engines.",
);
const MEDIAN: Column =
    Column::milliseconds("median (ms)", "Median duration, excluding partial and warm-up iterations.")
        .with_role(Role::Headline)
        .per("iteration");

/// A part of the recording.
struct Row<'a> {
    level: &'a Level,
    part: Part,
    figures: &'a Figures,
    /// The figures where the recording has device work. In one without it, what the device did is unknown, not nothing.
    on_device: Option<&'a Figures>,
    work: Option<&'a IterationWork>,
}

impl Row<'_> {
    fn iteration(&self) -> Option<&Iteration> {
        match self.part {
            Part::Iteration(index) => self.level.iterations.get(index),
            Part::Before | Part::After(_) => None,
        }
    }

    fn duration(&self) -> i64 {
        self.iteration().map_or(self.figures.breakdown.total, |iteration| self.figures.duration(iteration))
    }

    fn state(&self) -> &'static str {
        state(self.level, self.part, self.figures.mark)
    }
}

fn state(level: &Level, part: Part, mark: Option<Mark>) -> &'static str {
    match part {
        Part::Iteration(_) => mark.map_or("steady", Mark::as_str),
        Part::Before => "before",
        Part::After(index) if index + 1 == level.iterations.len() => "after",
        Part::After(_) => "between",
    }
}

/// Number of the iteration that a part is, in the whole recording.
fn number(level: &Level, part: Part) -> Option<u64> {
    match part {
        Part::Iteration(index) => Some((level.first + index) as u64),
        Part::Before | Part::After(_) => None,
    }
}

/// A kind of time of a part.
struct TimeOfPart {
    column: Column,
    time: fn(&Breakdown) -> i64,
}

/// They add up to the duration; all but idle are busy.
const TIMES: [TimeOfPart; 5] = [
    TimeOfPart {
        column: Column::milliseconds(
            "busy (ms)",
            "Device busy time: computation, exposed communication and exposed copies.",
        )
        .showing(&[Figure::BusyTime]),
        time: |breakdown| breakdown.busy,
    },
    TimeOfPart {
        column: Column::milliseconds("computation (ms)", "Computation time.").showing(&[Figure::BusyTime]),
        time: |breakdown| breakdown.computation,
    },
    TimeOfPart {
        column: Column::milliseconds("exposed communication (ms)", "Communication time without computation."),
        time: |breakdown| breakdown.exposed_communication,
    },
    TimeOfPart {
        column: Column::milliseconds(
            "exposed copies (ms)",
            "Copy time without computation or communication.",
        ),
        time: |breakdown| breakdown.exposed_memcpy,
    },
    TimeOfPart {
        column: Column::milliseconds(
            "idle (ms)",
            "Device idle time, counted toward the iteration whose device events end it.",
        )
        .showing(&[Figure::IdleTime, Figure::BusyTime]),
        time: |breakdown| breakdown.idle,
    },
];

/// The columns of the kinds of time, empty where the breakdown is unknown.
fn time_fields<'a, A: Iterated + 'a, R: 'a>(
    breakdown: impl Fn(&R) -> Option<&Breakdown> + Copy + Send + Sync + 'static,
) -> impl Iterator<Item = Field<&'a A, R>> {
    TIMES.into_iter().map(move |TimeOfPart { column, time }| {
        column.field_in(move |analysis: &&A, row: &R| {
            breakdown(row).map(|breakdown| analysis.ms(time(breakdown) as f64)).into()
        })
    })
}

/// One row per iteration of the level that a person would call steps.
pub fn iterations_sheet<'a, A: Iterated + 'static>() -> Sheet<'a, A> {
    type Time = fn(&Row<'_>) -> Option<i64>;
    let time = |column: Column, time: Time| {
        column.field_in(move |analysis: &&A, row: &Row<'_>| {
            time(row).map(|time| analysis.ms(time as f64)).into()
        })
    };
    let named = [
        ITERATION.field_in(|_: &&A, row: &Row<'_>| number(row.level, row.part).into()),
        NUMBER.field(|row: &Row<'_>| row.iteration().and_then(|iteration| iteration.number).into()),
        STATE.field(|row: &Row<'_>| row.state().into()),
        GROUP.field(|row: &Row<'_>| row.figures.group.map(|group| group as u64).into()),
    ];
    let work_fields = [
        PHASE
            .field(|row: &Row<'_>| row.work.and_then(|work| phases_in_words(&work.phases)).into())
            .when(has_phases),
        TOKENS.field(|row: &Row<'_>| row.work.and_then(|work| work.tokens).into()).when(has_phases),
        SAMPLES
            .field(|row: &Row<'_>| row.work.and_then(|work| work.samples).into())
            .when(|analysis: &&A| analysis.work().iter().any(|work| work.samples.is_some())),
    ];
    let duration =
        ITERATION_DURATION.field_in(|analysis: &&A, row: &Row<'_>| analysis.ms(row.duration() as f64).into());
    let rest = [
        Column::count("kernels", "Number of kernels launched; for a TPU, number of operations in its program runs.")
            .field(|row: &Row<'_>| row.on_device.map(|figures| figures.kernels).into()),
        Column::count(
            "launches",
            "Number of calls that launched device work; a graph counts once. For TPUs, number of program runs, one per core.",
        )
        .field(|row: &Row<'_>| row.on_device.map(|figures| figures.launches).into()),
        time(
            Column::milliseconds(
                "host start (ms)",
                "Start on the host, relative to the recording's first event; empty if the iteration was detected only on the device.",
            ),
            |row| {
                row.iteration().filter(|iteration| iteration.track.is_some()).map(|iteration| iteration.start)
            },
        ),
        time(
            Column::milliseconds("host duration (ms)", "Duration on the host.")
                .showing(&[Figure::HostTimes]),
            |row| {
                let iteration = row.iteration().filter(|iteration| iteration.track.is_some())?;
                Some(iteration.end.saturating_sub(iteration.start))
            },
        ),
        time(
            Column::milliseconds(
                "lead (ms)",
                "From the first iteration's host start to its first device event; included in its duration, although the timeline begins only with that event.",
            ),
            |row| row.figures.lead,
        ),
        time(
            Column::milliseconds(
                "device start (ms)",
                "Start of the iteration's first device event, relative to the recording's first event.",
            ),
            |row| row.figures.device_span.map(|span| span.start),
        ),
        time(
            Column::milliseconds(
                "device span (ms)",
                "From the start of the iteration's first device event to the end of its last. Spans of consecutive iterations can overlap.",
            ),
            |row| row.figures.device_span.map(gpu_timeline::Interval::length),
        ),
        LEVEL.field(|row: &Row<'_>| row.level.kind.as_str().into()),
        NAME.field(|row: &Row<'_>| row.level.name.as_str().into()),
        SOURCE.field(|row: &Row<'_>| row.level.evidence.as_str().into()),
        CONFIDENCE.field(|row: &Row<'_>| row.level.confidence.into()),
    ];
    let times = time_fields(|row: &Row<'_>| Some(&row.on_device?.breakdown));
    let work_fields = work_fields.into_iter().filter(|_| A::KNOWS_WORK);
    let fields = named.into_iter().chain(work_fields).chain([duration]).chain(times).chain(rest);
    Sheet::with_context(
        names::ITERATIONS,
        "Iterations of the program over time: training steps, batches, engine steps, images. Device work belongs to the iteration that launched it, whenever it runs. Several devices count as one, busy while any of them is. Device columns are empty without device work. Omitted if nothing repeats.",
        fields,
        |analysis: &'a A| {
            let (level, measured) = analysis.iterations()?.steps()?;
            Some((analysis, rows(level, measured, analysis.work())))
        },
    )
    .with_chart(Chart::new(
        "Iteration time",
        ITERATION.name,
        ITERATION_DURATION.name,
        ITERATION_DURATION.name,
        ChartShape::Grouped {
            title: "iteration",
            groups: STATE.name,
            order: &["steady", "warm-up", "slow", "fast", "different", "partial"],
            labels: &[],
            rows: DRAWN,
        },
    ))
}

/// One row per iteration and device, where there are several devices.
pub fn iterations_per_device_sheet<'a, A: Iterated + 'a>() -> Sheet<'a, A> {
    struct DeviceRow<'a> {
        level: &'a Level,
        of: &'a DevicePart,
        mark: Option<Mark>,
    }
    let head = [
        ITERATION.field_in(|_: &&A, row: &DeviceRow<'_>| number(row.level, row.of.part).into()),
        Column::text("device", "Device (plane name).")
            .with_role(Role::Name)
            .field_in(|analysis: &&A, row: &DeviceRow<'_>| analysis.device_name(row.of.device).into()),
        STATE
            .described("State of the iteration across all devices; see the sheet iterations.")
            .field(|row: &DeviceRow<'_>| state(row.level, row.of.part, row.mark).into()),
        ITERATION_DURATION
            .described("Part of this device's time that belongs to the iteration, busy and idle. The parts add up to the span of the device's timeline.")
            .field_in(|analysis: &&A, row: &DeviceRow<'_>| analysis.ms(row.of.breakdown.total as f64).into()),
    ];
    let times = time_fields(|row: &DeviceRow<'_>| Some(&row.of.breakdown));
    Sheet::with_context(
        "iterations_per_device",
        "Work per device and iteration, for profiles of several devices. Device work belongs to the iteration that launched it; a program run on all devices belongs to one iteration.",
        head.into_iter().chain(times),
        |analysis: &'a A| {
            let (level, measured) = analysis.iterations()?.steps()?;
            let mark = |part| match part {
                Part::Iteration(index) => measured.iterations.get(index)?.mark,
                Part::Before | Part::After(_) => None,
            };
            let parts = analysis.device_parts();
            let rows =
                parts.iter().map(|of| DeviceRow { level, of, mark: mark(of.part) }).collect::<Vec<_>>();
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
}

fn has_phases<A: Iterated>(analysis: &&A) -> bool {
    analysis.work().iter().any(|work| !work.phases.is_empty())
}

/// Phases, each once; `None` of none.
fn phases_in_words(phases: &[&str]) -> Option<String> {
    (!phases.is_empty()).then(|| phases.join(" + "))
}

fn rows<'a>(level: &'a Level, measured: &'a Measured, work: &'a [IterationWork]) -> Vec<Row<'a>> {
    let iterations = measured.iterations.iter().enumerate();
    let iterations = iterations.map(|(index, figures)| (Part::Iteration(index), figures));
    let outside = measured.outside.iter().map(|(part, figures)| (*part, figures));
    let work = |part: Part| match part {
        Part::Iteration(index) => work.get(index),
        Part::Before | Part::After(_) => None,
    };
    let has_device_work = measured.has_device_work();
    let row = |(part, figures)| {
        let on_device = has_device_work.then_some(figures);
        Row { level, part, figures, on_device, work: work(part) }
    };
    let mut rows: Vec<Row<'_>> = iterations.chain(outside).map(row).collect();
    rows.sort_few_by_key(|row| row.part);
    rows
}

/// A group of iterations of a level.
struct GroupRow<'a> {
    level: &'a Level,
    place: usize,
    group: &'a Group,
    /// Time of the group in that of all iterations of the level.
    time: i64,
    all: i64,
    /// Phases of its iterations, each once, in their order.
    phases: Vec<&'static str>,
}

impl GroupRow<'_> {
    fn representative(&self) -> Option<&Iteration> {
        self.level.iterations.get(self.group.representative)
    }
}

/// One row per group of alike iterations, on all levels.
pub fn iteration_groups_sheet<'a, A: Iterated + 'static>() -> Sheet<'a, A> {
    let duration_field = |name, description, time: fn(&Summary) -> Option<f64>| {
        Column::milliseconds(name, description).per("iteration").field_in(
            move |analysis: &&A, row: &GroupRow<'_>| {
                time(&row.group.durations).map(|time| analysis.ms(time)).into()
            },
        )
    };
    let phase = PHASE
        .described(
            "Phases of a language model's steps in the group; empty if the sheet iterations has no phases.",
        )
        .field(|row: &GroupRow<'_>| phases_in_words(&row.phases).into())
        .when(has_phases);
    let mut fields = vec![
        LEVEL.with_role(Role::Name).field(|row: &GroupRow<'_>| row.level.kind.as_str().into()),
        GROUP.with_role(Role::Name).described("Group number within its level, from 0, by descending total time.")
            .field(|row: &GroupRow<'_>| (row.place as u64).into()),
        Column::count("iterations", "Number of iterations in the group.")
            .field(|row: &GroupRow<'_>| row.group.iterations.len().into()),
        MEDIAN.field_in(|analysis: &&A, row: &GroupRow<'_>| {
            analysis.ms(row.group.durations.median).into()
        }),
        duration_field("mean (ms)", "Mean time of an iteration.", |all| Some(all.mean)),
        duration_field("std (ms)", "Sample standard deviation (n − 1) of iteration times; empty for one \
            iteration.", |all| all.sample_std),
        duration_field("min (ms)", "Shortest iteration time.", |all| Some(all.min as f64)),
        duration_field("max (ms)", "Longest iteration time.", |all| Some(all.max as f64)),
        Column::count("measured", "Number of iterations in the statistics: all except partial and warm-up ones, or all if none remain.")
            .field(|row: &GroupRow<'_>| row.group.durations.count.into()),
        Column::percent("time (%)", "The group's time as a share of the time of all iterations of this kind.")
            .field(|row: &GroupRow<'_>| percent(row.time, row.all).into()),
        Column::identifier("representative", "Iteration with the median duration; see the sheet iterations.")
            .field(|row: &GroupRow<'_>| ((row.level.first + row.group.representative) as u64).into()),
        NUMBER.with_role(Role::Detail).described("Number that the program assigned to the representative iteration; empty if none.")
            .field(|row: &GroupRow<'_>| row.representative().and_then(|iteration| iteration.number).into()),
        Column::nested("members", "Numbers of the iterations in the group; a run of consecutive iterations is given by its first and last.")
            .field(|row: &GroupRow<'_>| runs(row.level.first, &row.group.iterations).into()),
        NAME.field(|row: &GroupRow<'_>| row.level.name.as_str().into()),
        SOURCE.field(|row: &GroupRow<'_>| row.level.evidence.as_str().into()),
        CONFIDENCE.field(|row: &GroupRow<'_>| row.level.confidence.into()),
    ];
    if A::KNOWS_WORK {
        fields.insert(BEHIND_COUNT, phase);
    }
    Sheet::with_context(
        names::ITERATION_GROUPS,
        "Groups of similar iterations, by names and counts of their device events, for steps and for other repeating units, such as layers or micro-batches. Omitted if nothing repeats.",
        fields,
        |analysis: &'a A| {
            let rows = group_rows(analysis.iterations()?, analysis.work());
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
}

fn group_rows<'a>(found: &'a MeasuredIterations, work: &[IterationWork]) -> Vec<GroupRow<'a>> {
    let mut rows = Vec::new();
    for (level, measured) in found.levels() {
        // What is known is known of the steps.
        let is_steps = found.detected().steps().is_some_and(|steps| std::ptr::eq(steps, level));
        let phases_of = |group: &Group| {
            let mut phases = Vec::new();
            for one in group.iterations.iter().filter(|_| is_steps).filter_map(|&index| work.get(index)) {
                phases.extend(one.phases.iter().filter(|phase| !phases.contains(*phase)).collect::<Vec<_>>());
            }
            phases
        };
        let duration = |index: usize| {
            let figures = measured.iterations.get(index).zip(level.iterations.get(index));
            figures.map_or(0, |(figures, iteration)| figures.duration(iteration))
        };
        let all = (0..level.iterations.len()).map(duration).sum();
        rows.extend(measured.groups.iter().enumerate().map(|(place, group)| {
            let time = group.iterations.iter().map(|&index| duration(index)).sum();
            GroupRow { level, place, group, time, all, phases: phases_of(group) }
        }));
    }
    rows
}

/// Runs of ascending indices as lists of their first and last, counted from `first`.
fn runs(first: usize, indices: &[usize]) -> Nested {
    let number = |index: &usize| Nested::Whole((first + index) as i64);
    let run = |run: &[usize]| match run {
        [from, .., to] => Nested::List(vec![number(from), number(to)]),
        short => short.first().map_or(Nested::List(Vec::new()), number),
    };
    Nested::List(indices.chunk_by(|a, b| a + 1 == *b).map(run).collect())
}
