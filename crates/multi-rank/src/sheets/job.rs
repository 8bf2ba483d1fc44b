//! The job as a whole: ranks, groups, causes, steps, clocks, matching, and what is odd.

use gpu_timeline::SortFew;
use sheets::columns::collectives::{BUS_BANDWIDTH, MESSAGE_SIZE};
use sheets::columns::job;
use sheets::names;
use sheets::{Chart, ChartShape, Column, ColumnKind, Field, Role, ScatterPoints, Sheet, Unit, percent};

use crate::align::Doubt;
use crate::analysis::JobAnalysis;
use crate::causes::Cause;
use crate::diagnostic::Diagnostic;
use crate::job::Recording;
use crate::matching::RankMatch;
use crate::reduction::{SizeClass, StepTimes};
use crate::statistic::Statistic;

pub(super) fn sheets<'a>() -> Vec<Sheet<'a, JobAnalysis>> {
    vec![ranks(), causes(), steps(), groups(), clocks(), matching(), diagnostics()]
}

type Job<'a> = &'a JobAnalysis;

/// A sheet with the rows that a job has, left out where there are none and in a report of the core.
fn sheet<'a, R: 'a>(
    name: &'static str,
    description: &'static str,
    fields: Vec<Field<Job<'a>, R>>,
    rows: fn(Job<'a>) -> Vec<R>,
) -> Sheet<'a, JobAnalysis> {
    Sheet::with_context(name, description, fields, move |job: &'a JobAnalysis| {
        Some(job)
            .filter(|job| job.options.tells_all())
            .map(|job| (job, rows(job)))
            .filter(|(_, rows)| !rows.is_empty())
    })
}

fn ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}

fn us(ns: i64) -> f64 {
    ns as f64 / 1e3
}

/// The host of a rank; `None` where it is not known.
fn host<'a>(job: Job<'a>, recording: &Recording) -> Option<&'a str> {
    let clock = &job.job.clocks[recording.clock];
    clock.is_host.then_some(clock.name.as_str())
}

const RANK: Column = Column::identifier("rank", "Rank.").with_role(Role::Name);
const HOST: Column = Column::text(
    "host",
    "Host, from the recording's file or folder name, else from the number of devices visible to a process; empty if unknown.",
)
.with_role(Role::Detail);

// ranks_overview

fn ranks<'a>() -> Sheet<'a, JobAnalysis> {
    type R = usize;
    let time = |column: Column, time: fn(&Recording) -> i64| {
        column.field_in(move |job: &Job<'a>, &rank: &R| ms(time(&job.job.recordings[rank])).into())
    };
    let fields: Vec<Field<Job<'a>, R>> = vec![
        RANK.field_in(|job: &Job<'a>, &rank: &R| job.job.recordings[rank].rank.into()),
        HOST.field_in(|job: &Job<'a>, &rank: &R| host(job, &job.job.recordings[rank]).into()),
        Column::text("device", "Name of the device.").with_role(Role::Detail)
            .field_in(|job: &Job<'a>, &rank: &R| job.job.recordings[rank].row.device_name.as_deref().into()),
        time(Column::milliseconds("window (ms)", "From the first event's start to the last event's end."), |rank| {
            rank.row.window_end_ns - rank.row.window_start_ns
        }),
        time(job::BUSY, |rank| rank.row.busy_ns),
        time(job::COMPUTATION, |rank| rank.row.computation_ns),
        time(job::COMMUNICATION, |rank| {
            rank.row.communication_ns
        }),
        time(job::EXPOSED_COMMUNICATION, |rank| rank.row.exposed_communication_ns),
        job::WAITING
        .field_in(|job: &Job<'a>, &rank: &R| ms(job.ranks[rank].waiting).into()),
        time(job::IDLE, |rank| rank.row.idle_ns),
        Column::percent(
            "overlap (%)",
            "Share of communication (ms) during which the device also computed.",
        )
        .field_in(|job: &Job<'a>, &rank: &R| {
            let row = &job.job.recordings[rank].row;
            percent(row.communication_ns - row.exposed_communication_ns, row.communication_ns).into()
        }),
        Column::count("collectives", "Number of multi-rank collectives that all members leave simultaneously.")
            .field_in(|job: &Job<'a>, &rank: &R| job.ranks[rank].collectives.into()),
        Column::count("last", "Number of collectives the rank alone entered last, making all others wait.")
            .field_in(|job: &Job<'a>, &rank: &R| job.ranks[rank].last.into()),
        Column::percent("last (%)", "Collectives the rank alone entered last, as a share of its collectives.").field_in(|job: &Job<'a>, &rank: &R| {
            let figures = &job.ranks[rank];
            percent(figures.last as i64, figures.collectives as i64).into()
        }),
        Column::count("first", "Number of collectives the rank alone entered first.").with_role(Role::Detail)
            .field_in(|job: &Job<'a>, &rank: &R| job.ranks[rank].first.into()),
        Column::milliseconds(
            "lateness (ms)",
            "Sum of the rank's delays behind the median rank, over collectives that it entered last by more than the clock uncertainty. Each delay counts once, in the group where it began.",
        )
        .field_in(|job: &Job<'a>, &rank: &R| ms(job.ranks[rank].lateness).into()),
        Column::text("first cause", "Cause of most of the rank's lateness.")
            .with_role(Role::Detail)
            .field_in(|job: &Job<'a>, &rank: &R| job.main_cause(rank).map(Cause::in_words).into()),
        Column::milliseconds("step (ms)", "Median duration of the steps recorded in full.")
            .per("step")
            .field_in(|job: &Job<'a>, &rank: &R| job.ranks[rank].usual_step.map(ms).into()),
        Column::count("steps", "Number of program iterations in the recording.").with_role(Role::Detail)
            .field_in(|job: &Job<'a>, &rank: &R| job.job.recordings[rank].row.steps.into()),
        Column::text("recording", "File.").with_role(Role::Provenance)
            .field_in(|job: &Job<'a>, &rank: &R| job.job.recordings[rank].folder.source().path.as_str().into()),
    ];
    sheet(names::RANKS_OVERVIEW, "Ranks of the job.", fields, |job| (0..job.job.recordings.len()).collect())
        .with_chart(Chart::new(
            "Waiting in collectives by rank",
            RANK.name,
            job::WAITING.name,
            "time waited for other ranks (ms)",
            ChartShape::Columns("rank"),
        ))
}

// straggler_causes

fn causes<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = &'a Cause;
    let more = |column: Column, time: fn(&Cause) -> i64| {
        column.with_role(Role::Detail).field(move |cause: &R<'_>| ms(time(cause)).into())
    };
    let fields: Vec<Field<Job<'a>, R<'a>>> = vec![
        RANK.field_in(|job: &Job<'a>, cause: &R<'a>| job.job.recordings[cause.recording].rank.into()),
        Column::identifier("step", "Step of the rank, numbered by the program if possible; empty outside steps.")
            .with_role(Role::Name)
            .field_in(|job: &Job<'a>, cause: &R<'a>| job.step_number(cause.recording, cause.step).into()),
        Column::milliseconds(
            "lateness (ms)",
            "Sum of the rank's delays behind the median rank, each counted once; if all its delays came from other ranks, the largest of them.",
        )
        .with_role(Role::Headline)
        .field(|cause: &R<'_>| ms(cause.lateness).into()),
        Column::text(
            "cause",
            "Main cause of the excess over the median rank: computation, copies, host (the device waited for the host), idle, passed on (the rank was itself waiting for another rank), slow transfer, or not recorded.",
        )
        .field(|cause: &R<'_>| cause.kind.as_str().into()),
        Column::text("what", "Kernel, host activity, awaited rank or collective responsible for the delay.")
            .field(|cause: &R<'_>| cause.what.as_deref().into()),
        Column::count("late arrivals", "Number of the step's collectives the rank entered last.")
            .field(|cause: &R<'_>| cause.arrivals.into()),
        more(Column::milliseconds("computation (+ms)", "Computation since the group's previous collective, minus that of the median rank; summed over late arrivals."), |cause| cause.computation),
        more(Column::milliseconds("other communication (+ms)", "Exposed communication since the group's previous collective, minus that of the median rank; summed over late arrivals."), |cause| {
            cause.communication
        }),
        more(Column::milliseconds("copies (+ms)", "Exposed copies since the group's previous collective, minus that of the median rank; summed over late arrivals."), |cause| cause.copies),
        more(Column::milliseconds("host (+ms)", "Time the device waited for the host since the group's previous collective, minus that of the median rank; summed over late arrivals."), |cause| cause.host),
        more(Column::milliseconds("idle (+ms)", "Other idle time since the group's previous collective, minus that of the median rank; summed over late arrivals."), |cause| cause.idle),
        Column::text("group", "Group of the delayed collective.").with_role(Role::Detail)
            .field_in(|job: &Job<'a>, cause: &R<'a>| job.job.groups[cause.group].title().into()),
        HOST.field_in(|job: &Job<'a>, cause: &R<'a>| host(job, &job.job.recordings[cause.recording]).into()),
    ];
    sheet(
        names::STRAGGLER_CAUSES,
        "Causes of late ranks: one row per rank and step with late arrivals, compared with the median rank, \
         most lateness first.",
        fields,
        |job| job.causes.iter().collect(),
    )
}

// step_times

const MEDIAN: Column =
    Column::milliseconds("median (ms)", "Median over ranks of the step's duration on the device.")
        .with_role(Role::Headline);

fn steps<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = &'a StepTimes;
    fn times(step: &StepTimes) -> Vec<f64> {
        step.durations.iter().map(|(_, duration)| ms(*duration)).collect()
    }
    fn slowest(step: &StepTimes) -> Option<(usize, i64)> {
        step.durations
            .iter()
            .copied()
            .max_by_key(|&(recording, duration)| (duration, std::cmp::Reverse(recording)))
    }
    let statistic = |column: Column, statistic: Statistic| {
        column.per("rank").field(move |step: &R<'_>| statistic.of(&times(step)).into())
    };
    let fields: Vec<Field<Job<'a>, R<'a>>> = vec![
        Column::identifier("step", "Step number in the program if all ranks have one, else counted from 0.")
            .with_role(Role::Name)
            .field(|step: &R<'_>| step.step.into()),
        Column::count("ranks", "Number of ranks that recorded the complete step.")
            .field(|step: &R<'_>| step.durations.len().into()),
        statistic(MEDIAN, Statistic::Median),
        statistic(Column::milliseconds("min (ms)", "Shortest duration on any rank."), Statistic::Min),
        statistic(Column::milliseconds("max (ms)", "Longest duration on any rank."), Statistic::Max),
        Column::identifier("slowest rank", "Rank with the longest duration.")
            .with_role(Role::Detail)
            .field_in(|job: &Job<'a>, step: &R<'a>| {
                slowest(step).map(|(recording, _)| job.job.recordings[recording].rank).into()
            }),
    ];
    sheet("step_times", "Durations of the program's steps across ranks.", fields, |job| {
        job.steps.iter().collect()
    })
    .with_chart(Chart::new(
        "Time per step",
        "step",
        MEDIAN.name,
        "median over ranks (ms)",
        ChartShape::Columns("step"),
    ))
}

// group_summary

const EXCHANGE_MEDIAN: Column = Column::microseconds(
    "exchange_median (us)",
    "Median over collectives of the shortest duration on any rank.",
);

const START_SKEW_MEDIAN: Column =
    Column::microseconds("start skew_median (us)", "Median of latest minus earliest start.");

fn groups<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = &'a SizeClass;
    let signature = |job: Job<'a>, class: &R<'a>| &job.signatures.all[class.signature as usize];
    /// In GB/s over a duration.
    fn rate(job: &JobAnalysis, class: &SizeClass, duration: Option<i64>) -> Option<f64> {
        let bytes = class.message_bytes(&job.signatures)?;
        duration.filter(|&duration| duration > 0).map(|duration| bytes as f64 / duration as f64)
    }
    fn factor(job: &JobAnalysis, class: &SizeClass) -> Option<f64> {
        let ranks = job.job.groups[class.group].expected().filter(|&ranks| ranks > 1)?;
        Some(class.kind(&job.signatures).bus_factor(ranks))
    }
    fn usual(class: &SizeClass) -> Option<i64> {
        gpu_timeline::upper_median(class.complete.iter().copied())
    }
    let of = |column: Column, values: fn(&SizeClass) -> &[i64], statistic: Statistic| {
        column.per("collective").field(move |class: &R<'_>| {
            let values: Vec<f64> = values(class).iter().map(|&value| us(value)).collect();
            statistic.of(&values).into()
        })
    };
    let fields: Vec<Field<Job<'a>, R<'a>>> = vec![
        Column::text("group", "Name and purpose of the process group.")
            .field_in(|job: &Job<'a>, class: &R<'a>| job.job.groups[class.group].title().into()),
        Column::text("collective", "Collective, such as allreduce.")
            .field_in(move |job: &Job<'a>, class: &R<'a>| signature(job, class).name.as_deref().into()),
        Column::text("dtype", "Element type.")
            .field_in(move |job: &Job<'a>, class: &R<'a>| signature(job, class).dtype.as_deref().into()),
        Column { kind: ColumnKind::Whole(Unit::Bytes), ..MESSAGE_SIZE }
            .described("The larger of a rank's input and output, as in nccl-tests.")
        .field_in(|job: &Job<'a>, class: &R<'a>| class.message_bytes(&job.signatures).into()),
        Column::text("ranks", "Ranks of the group, such as 0-7,16.").with_role(Role::Detail)
            .field_in(|job: &Job<'a>, class: &R<'a>| job.job.groups[class.group].members.to_string().into()),
        Column::text("link", "Whether the ranks are on one host or several; empty if unknown.").with_role(Role::Detail)
            .field_in(|job: &Job<'a>, class: &R<'a>| {
                let place = |is_one| if is_one { "one host" } else { "several hosts" };
                job.job.is_on_one_host(class.group).map(place).into()
            }),
        Column::count("count", "Number of collectives.").field(|class: &R<'_>| class.latencies.len().into()),
        Column::count("complete", "Number of collectives recorded on all member ranks.").with_role(Role::Detail)
            .field(|class: &R<'_>| class.complete.len().into()),
        job::EXCHANGE
        .field(|class: &R<'_>| ms(class.latencies.iter().sum()).into()),
        Column::milliseconds("waiting (ms)", "Sum over collectives and ranks of the waits for the last rank to enter.")
            .field(|class: &R<'_>| ms(class.waiting).into()),
        of(
            EXCHANGE_MEDIAN,
            |class| &class.latencies,
            Statistic::Median,
        ),
        of(
            Column::microseconds("exchange_min (us)", "Minimum over collectives of the shortest duration on any rank.").spread_of(EXCHANGE_MEDIAN.name),
            |class| &class.latencies,
            Statistic::Min,
        ),
        of(
            Column::microseconds("exchange_max (us)", "Maximum over collectives of the shortest duration on any rank.").spread_of(EXCHANGE_MEDIAN.name),
            |class| &class.latencies,
            Statistic::Max,
        ),
        of(
            START_SKEW_MEDIAN,
            |class| &class.start_skews,
            Statistic::Median,
        ),
        of(
            Column::microseconds("start skew_max (us)", "Maximum of latest minus earliest start.").spread_of(START_SKEW_MEDIAN.name),
            |class| &class.start_skews,
            Statistic::Max,
        ),
        of(
            Column::microseconds(
                "end skew_median (us)",
                "Median of latest minus earliest end: ranks leave simultaneously, so this is the timing uncertainty.",
            )
            .with_role(Role::Detail),
            |class| &class.end_skews,
            Statistic::Median,
        ),
        Column::new("algorithm bandwidth (GB/s)", ColumnKind::Number(Unit::GigabytesPerSecond), "Message size / median exchange of collectives recorded on all ranks (10⁹ bytes).").per("collective")
        .field_in(|job: &Job<'a>, class: &R<'a>| rate(job, class, usual(class)).into()),
        BUS_BANDWIDTH
        .field_in(|job: &Job<'a>, class: &R<'a>| {
            rate(job, class, usual(class)).zip(factor(job, class)).map(|(rate, factor)| rate * factor).into()
        }),
    ];
    sheet(
        names::GROUP_SUMMARY,
        "Collectives by group, name, type and size, most exchange time first.",
        fields,
        |job| {
            let mut classes: Vec<&SizeClass> = job.classes.iter().collect();
            classes.sort_few_by_key(|class| std::cmp::Reverse(class.latencies.iter().sum::<i64>()));
            classes
        },
    )
    .with_chart(Chart::new(
        "Bus bandwidth by message size",
        "collective",
        BUS_BANDWIDTH.name,
        BUS_BANDWIDTH.name,
        ChartShape::Scatter {
            x: MESSAGE_SIZE.name,
            x_axis: MESSAGE_SIZE.name,
            groups: "collective",
            points: ScatterPoints {
                table: names::GROUP_SUMMARY,
                x: MESSAGE_SIZE.name,
                y: BUS_BANDWIDTH.name,
                groups: "collective",
                labels: "group",
                weights: job::EXCHANGE.name,
                thresholds: &[1e3, 1e2, 1e1],
            },
        },
    ))
}

// clock

fn clocks<'a>() -> Sheet<'a, JobAnalysis> {
    type R = usize;
    let fields: Vec<Field<Job<'a>, R>> = vec![
        HOST.with_role(Role::Name).field_in(|job: &Job<'a>, &clock: &R| job.job.clocks[clock].name.as_str().into()),
        Column::text("ranks", "Ranks that share the clock, such as 0-7,16.").with_role(Role::Detail)
            .field_in(|job: &Job<'a>, &clock: &R| job.job.clocks[clock].ranks.to_string().into()),
        Column::microseconds(
            "offset_us",
            "Clock offset relative to the first host, from the ends of collectives that ranks leave simultaneously; subtracted from all times.",
        )
        .with_role(Role::Headline)
        .field_in(|job: &Job<'a>, &clock: &R| us(job.clocks.corrections[clock].offset).into()),
        Column::new(
            "drift_ppm",
            ColumnKind::Number(Unit::One),
            "Clock drift relative to the first host, in ppm; positive if the clock is faster, 0 if less than 1 in either direction.",
        )
        .field_in(|job: &Job<'a>, &clock: &R| (job.clocks.corrections[clock].drift / 1e3).into()),
        Column::microseconds(
            "mad_us",
            "Uncertainty of the offset: median deviation of the collectives from the offset, summed over intermediate hosts.",
        )
        .field_in(|job: &Job<'a>, &clock: &R| us(job.clocks.corrections[clock].deviation).into()),
        Column::count("pairs", "Number of collectives used for the offset.")
            .field_in(|job: &Job<'a>, &clock: &R| job.clocks.corrections[clock].pairs.into()),
    ];
    sheet("clock", "Host clocks, relative to that of the first host.", fields, |job| {
        (0..job.job.clocks.len()).collect()
    })
}

// matching

fn matching<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = &'a RankMatch;
    let fields: Vec<Field<Job<'a>, R<'a>>> = vec![
        Column::text("group", "Group of ranks; for point-to-point operations also source and destination ranks.").field_in(
            |job: &Job<'a>, of: &R<'a>| {
                let lane = &job.lanes[of.lane];
                let pair = lane.pair.map_or_else(String::new, |(a, b)| format!(", rank {a} to {b}"));
                format!("{}{pair}", job.job.groups[lane.group].title()).into()
            },
        ),
        RANK.field_in(|job: &Job<'a>, of: &R<'a>| job.job.recordings[of.recording].rank.into()),
        Column::text(
            "match",
            "How the rank's collectives were matched: seq (by the program's numbering), aligned (by end time), aligned_stream (by end time, for kernels without a group), ordinal (by order alone).",
        )
        .with_role(Role::Detail)
        .field(|of: &R<'_>| of.tier.as_str().into()),
        Column::count("collectives", "Number of collectives on the rank.").field(|of: &R<'_>| of.executions.into()),
        Column::count("not matched", "Number of collectives without a match on another rank.").with_role(Role::Headline)
            .field(|of: &R<'_>| of.unmatched.into()),
        Column::text("doubt", "Why the matching is uncertain; empty if it is not.").with_role(Role::Detail).field(|of: &R<'_>| {
            of.doubt
                .map(|doubt| match doubt {
                    Doubt::NoCommonOffset => "no common offset",
                    Doubt::FewPairs => "few pairs",
                    Doubt::TwoOffsets => "several offsets",
                    Doubt::SeveralStreams => "several streams",
                })
                .into()
        }),
    ];
    sheet("matching", "Matching of each rank's collectives with those of other ranks.", fields, |job| {
        job.matches.iter().collect()
    })
}

// diagnostics

fn diagnostics<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = &'a Diagnostic;
    let fields: Vec<Field<Job<'a>, R<'a>>> = vec![
        Column::text("kind", "Kind of anomaly.").field(|of: &R<'_>| of.kind().into()),
        RANK.field(|of: &R<'_>| of.rank().into()),
        Column::text("what", "Description.").field(|of: &R<'_>| of.to_string().into()),
    ];
    sheet("diagnostics", "Anomalies in the recordings.", fields, |job| job.diagnostics.iter().collect())
}
