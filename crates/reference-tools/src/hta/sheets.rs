//! The tables of Holistic Trace Analysis (HTA), with its columns and figures.

use std::borrow::Cow;

use sheets::{Column, ColumnKind, Field, Role, Sheet, Unit};
use trace_ingest::{EventId, RowId, Track};

use super::{
    BandwidthPoint, Described, Hta, IdleTime, LaunchTimes, NamedTimes, QueuePoint, QueueSummary, Sequence,
    TemporalBreakdown, rounded,
};

/// All of them, in the order of HTA's documentation.
#[must_use]
pub fn hta_sheets<'a>() -> Vec<Sheet<'a, Hta<'a>>> {
    vec![
        temporal_breakdown(),
        idle_time(),
        overlap(),
        kernel_types(),
        kernels(),
        annotations(),
        annotated_kernels(),
        queue_length(),
        queue_length_series(),
        memory_bandwidth(),
        memory_bandwidth_series(),
        launches(),
        sequences(),
    ]
}

/// A table of the rank with HTA's headers, left out where it has no rows.
fn sheet<'a, R: 'a>(
    name: &'static str,
    description: &'static str,
    fields: impl IntoIterator<Item = Field<&'a Hta<'a>, R>>,
    rows: fn(&Hta<'a>) -> Vec<R>,
) -> Sheet<'a, Hta<'a>> {
    let rank = Column::identifier("rank", "Rank of the process; 0 if not in the trace.")
        .with_role(Role::Name)
        .field_in(|hta: &&Hta<'_>, _: &R| {
            hta.trace.facts().distributed.as_ref().and_then(|job| job.rank).unwrap_or(0).into()
        });
    Sheet::with_context(name, description, [rank].into_iter().chain(fields), move |hta: &'a Hta<'a>| {
        let rows = rows(hta);
        (!rows.is_empty()).then_some((hta, rows))
    })
    .keeping_names()
}

/// A time in whole µs.
const fn whole_us(name: &'static str, description: &'static str) -> Column {
    Column::new(name, ColumnKind::Whole(Unit::Microseconds), description)
}

const fn us(name: &'static str, description: &'static str) -> Column {
    Column::microseconds(name, description)
}

const fn number(name: &'static str, description: &'static str) -> Column {
    Column::new(name, ColumnKind::Number(Unit::One), description)
}

fn temporal_breakdown<'a>() -> Sheet<'a, Hta<'a>> {
    let percent = |part: i64, row: &TemporalBreakdown| {
        (row.kernel != 0).then(|| rounded(part as f64 / row.kernel as f64 * 100.0, 2))
    };
    sheet(
        "hta_temporal_breakdown",
        "HTA's get_temporal_breakdown: device time in whole µs, from the first start to the last end; with \
         --parity hta. Every event with a stream counts, including host operators with a stream argument. \
         gpu_timeline has the exact times.",
        [
            whole_us("idle_time(us)", "Idle time.").field(|row: &TemporalBreakdown| row.idle.into()),
            whole_us("compute_time(us)", "Compute kernel time, overlaps counted once.")
                .field(|row: &TemporalBreakdown| row.compute.into()),
            whole_us(
                "non_compute_time(us)",
                "Remaining busy time: communication and copies not overlapped by compute. Negative if rounding took \
                 more from the sum than from the parts; HTA then fails with an error.",
            )
            .field(|row: &TemporalBreakdown| row.non_compute.into()),
            whole_us("kernel_time(us)", "From the first start to the last end.")
                .with_role(Role::Headline)
                .field(|row: &TemporalBreakdown| row.kernel.into()),
            Column::percent("idle_time_pctg", "Idle time as a share of kernel_time(us), rounded to two decimals.")
                .field(move |row: &TemporalBreakdown| percent(row.idle, row).into()),
            Column::percent(
                "compute_time_pctg",
                "Compute time as a share of kernel_time(us), rounded to two decimals.",
            )
            .field(move |row: &TemporalBreakdown| percent(row.compute, row).into()),
            Column::percent(
                "non_compute_time_pctg",
                "Non-compute time as a share of kernel_time(us), rounded to two decimals.",
            )
            .field(move |row: &TemporalBreakdown| percent(row.non_compute, row).into()),
        ],
        |events| events.temporal_breakdown().into_iter().collect(),
    )
}

fn idle_time<'a>() -> Sheet<'a, Hta<'a>> {
    sheet(
        "hta_idle_time_breakdown",
        "HTA's get_idle_time_breakdown: gaps between a stream's kernels, copies and fills in whole µs, by cause; with --parity hta. Work whose launch is not in the file counts as launched by the file's first event. idle_causes_per_stream has the exact times.",
        [
            Column::identifier("stream", "Stream on the device.").with_role(Role::Name).field(|row: &IdleTime| row.stream.into()),
            Column::text("idle_category", "host_wait (launched after the previous work ended), kernel_wait (already launched, gap below 30 µs) or other.")
                .field(|row: &IdleTime| row.category.into()),
            whole_us("idle_time", "Sum of the gaps in µs.").with_role(Role::Headline).field(|row: &IdleTime| row.time.into()),
            number("idle_time_ratio", "Share of the stream's total gap time, from 0 to 1, rounded to two decimals.").field(|row: &IdleTime| row.ratio.into()),
        ],
        Hta::idle_times,
    )
}

fn overlap<'a>() -> Sheet<'a, Hta<'a>> {
    sheet(
        "hta_comm_comp_overlap",
        "HTA's get_comm_comp_overlap; with --parity hta, for traces with communication. overlap_matrix has the exact times.",
        [Column::percent(
            "comp_comm_overlap_pctg",
            "Share of communication time during which compute kernels also ran, rounded to two decimals.",
        )
        .with_role(Role::Headline)
        .field(|&row: &f64| row.into())],
        |events| events.overlap().into_iter().collect(),
    )
}

fn kernel_types<'a>() -> Sheet<'a, Hta<'a>> {
    type Row = (String, i64, f64);
    sheet(
        "hta_kernel_types",
        "HTA's get_gpu_kernel_breakdown, table of types, without copies and fills (its default): time when \
         exactly these types ran; with --parity hta. overlap_matrix has the exact times.",
        [
            Column::text("kernel_type", "Types of work running.").field(|row: &Row| row.0.as_str().into()),
            whole_us("sum", "Time in µs.").with_role(Role::Headline).field(|row: &Row| row.1.into()),
            Column::percent("percentage", "Share of the sum of the rows, with one decimal.")
                .field(|row: &Row| row.2.into()),
        ],
        |events| {
            let rows = events.kernel_types();
            let whole: i64 = rows.iter().map(|(_, time)| time).sum();
            let share = |time: i64| rounded(time as f64 / whole as f64 * 100.0, 1);
            rows.into_iter().map(|(name, time)| (name, time, share(time))).collect()
        },
    )
}

/// Columns of the times of a name; `one` is what each time is of.
fn times<'a>(one: &'static str) -> [Field<&'a Hta<'a>, NamedTimes>; 6] {
    let us_of = |name, description| us(name, description).per(one);
    [
        Column::text("name", "Name; the row `others` combines all names without a row of their own.").field_in(
            |hta: &&Hta<'_>, row: &NamedTimes| row.name.map_or("others", |name| hta.trace.text(name)).into(),
        ),
        us("sum (us)", "Sum of durations.")
            .with_role(Role::Headline)
            .field(|row: &NamedTimes| row.times.sum.into()),
        us_of("max (us)", "Longest duration; in the row `others`, the largest sum of any one name.")
            .field(|row: &NamedTimes| row.times.max.into()),
        us_of("min (us)", "Shortest duration; in the row `others`, the smallest sum of any one name.")
            .field(|row: &NamedTimes| row.times.min.into()),
        us_of(
            "stddev",
            "Sample standard deviation in µs, 0 for one value; if there is a row `others`, computed over the sums by name.",
        )
        .field(|row: &NamedTimes| row.times.std.unwrap_or(0.0).into()),
        us_of("mean (us)", "Arithmetic mean; if there is a row `others`, computed over the sums by name.")
            .field(|row: &NamedTimes| row.times.mean.into()),
    ]
}

fn kernels<'a>() -> Sheet<'a, Hta<'a>> {
    let kind = Column::text("kernel_type", "COMPUTATION or COMMUNICATION.")
        .field(|row: &NamedTimes| row.kind.as_str().into());
    sheet(
        "hta_gpu_kernel_breakdown",
        "HTA's get_gpu_kernel_breakdown, table of kernels; with --parity hta. If a type has more than ten names, those whose cumulative time (largest first) exceeds the 0.8-quantile of these cumulative times are combined in a row `others`; all statistics are then computed over the sums by name. kernel_summary has the statistics over kernels.",
        times("kernel").into_iter().chain([kind]),
        Hta::kernels,
    )
}

fn annotations<'a>() -> Sheet<'a, Hta<'a>> {
    sheet(
        "hta_gpu_user_annotation_breakdown",
        "HTA's get_gpu_user_annotation_breakdown of the annotations that the profiler saw on streams; with \
         --parity hta, for traces with such annotations. annotations has the exact times.",
        times("annotation"),
        Hta::annotations,
    )
}

/// The columns of pandas' `describe`.
fn described<'a, R: 'static>(of: fn(&R) -> &Described) -> [Field<&'a Hta<'a>, R>; 8] {
    let point_column = |name, description| number(name, description).per("point");
    [
        Column::count("count", "Number of data points.").field(move |row: &R| of(row).count.into()),
        point_column("mean", "Arithmetic mean over points, not weighted by time.")
            .field(move |row: &R| of(row).mean.into()),
        point_column("std", "Sample standard deviation; empty for one point.")
            .field(move |row: &R| of(row).std.into()),
        point_column("min", "Smallest.").field(move |row: &R| of(row).min.into()),
        point_column("25%", "First quartile, interpolated.")
            .field(move |row: &R| of(row).quartiles[0].into()),
        point_column("50%", "Median.").field(move |row: &R| of(row).quartiles[1].into()),
        point_column("75%", "Third quartile, interpolated.")
            .field(move |row: &R| of(row).quartiles[2].into()),
        point_column("max", "Largest.").field(move |row: &R| of(row).max.into()),
    ]
}

fn queue_length<'a>() -> Sheet<'a, Hta<'a>> {
    let stream = Column::identifier("stream", "Stream on the device.")
        .with_role(Role::Name)
        .field(|row: &QueueSummary| row.stream.into());
    let full = [
        whole_us(
            "duration_at_max_queue_length",
            "Time in µs with 1,024 or more events in the queue; HTA reports it only for the last stream.",
        )
        .field(|row: &QueueSummary| row.full.map(|(time, _)| time).into()),
        number(
            "relative_duration_at_max_queue_length",
            "duration_at_max_queue_length as a fraction (0 to 1) of the time from the first point to the last.",
        )
        .field(|row: &QueueSummary| row.full.and_then(|(_, share)| share).into()),
    ];
    sheet(
        "hta_queue_length_summary",
        "HTA's get_queue_length_summary and get_time_spent_blocked_on_full_queue: lengths of a stream's queue, one point at each launch and each start; at equal times, launches come first; with --parity hta. Launches of graphs and of calls unknown to HTA do not count. queue_length has the lengths over time.",
        [stream].into_iter().chain(described(|row: &QueueSummary| &row.lengths)).chain(full),
        Hta::queues,
    )
}

/// When something happens.
const TIME: Column = whole_us("ts", "Time in µs since the earliest start of the events that HTA keeps.");

/// The process, or the thread, that an event stands under in the file.
fn row_id<'a>(hta: &'a Hta<'a>, event: EventId, id: fn(Track) -> RowId) -> Option<Cow<'a, str>> {
    let trace = hta.trace;
    trace.row_text(id(trace.tracks().get(trace.events().track(event))))
}

const PID: Column = Column::text("pid", "Process id of the device in the file.");

fn queue_length_series<'a>() -> Sheet<'a, Hta<'a>> {
    sheet(
        "hta_queue_length_time_series",
        "HTA's get_queue_length_time_series: one row for each launch and each start; at equal times, launches come first; with --parity hta. queue_length_timeline has all launches.",
        [
            TIME.with_role(Role::Name).field(|row: &QueuePoint| row.time.into()),
            PID.field_in(|hta: &&Hta<'_>, row: &QueuePoint| row_id(hta, row.work, |track| track.pid).into()),
            Column::text("tid", "Thread id of the stream in the file.")
                .field_in(|hta: &&Hta<'_>, row: &QueuePoint| row_id(hta, row.work, |track| track.tid).into()),
            Column::identifier("stream", "Stream on the device.").field(|row: &QueuePoint| row.stream.into()),
            Column::count(
                "queue_length",
                "Number of events launched but not started, from the time of this row on.",
            )
            .with_role(Role::Headline)
            .field(|row: &QueuePoint| row.length.into()),
        ],
        Hta::queue_points,
    )
}

fn memory_bandwidth<'a>() -> Sheet<'a, Hta<'a>> {
    let kind = Column::text("name", "Kind of copy, or Memset.")
        .field(|row: &(String, Described)| row.0.as_str().into());
    sheet(
        "hta_memory_bw_summary",
        "HTA's get_memory_bw_summary: GB/s of concurrent copies of a kind, one point at each start and end where the rate is above 0; with --parity hta, for traces with copies. copy_bandwidth has the rates over time.",
        [kind].into_iter().chain(described(|row: &(String, Described)| &row.1)),
        Hta::bandwidths,
    )
}

fn memory_bandwidth_series<'a>() -> Sheet<'a, Hta<'a>> {
    sheet(
        "hta_memory_bw_time_series",
        "HTA's get_memory_bw_time_series: one row for each start and each end of a copy or fill; with \
         --parity hta, for traces with copies or fills. copy_bandwidth_timeline has the rates as bytes / \
         duration.",
        [
            TIME.with_role(Role::Name).field(|row: &BandwidthPoint| row.time.into()),
            PID.field_in(|hta: &&Hta<'_>, row: &BandwidthPoint| {
                row_id(hta, row.copy, |track| track.pid).into()
            }),
            Column::text("name", "Kind of copy, or Memset.").field(|row: &BandwidthPoint| (&row.kind).into()),
            Column::new(
                "memory_bw_gbps",
                ColumnKind::Number(Unit::GigabytesPerSecond),
                "Combined rate in GB/s of the running copies of this kind, from the time of this row on.",
            )
            .with_role(Role::Headline)
            .field(|row: &BandwidthPoint| row.gb_per_s.into()),
        ],
        Hta::bandwidth_points,
    )
}

fn annotated_kernels<'a>() -> Sheet<'a, Hta<'a>> {
    type Row = (EventId, Option<EventId>);
    fn name<'t>(hta: &Hta<'t>, event: Option<EventId>) -> Option<&'t str> {
        event.map(|event| hta.trace.name(event))
    }
    sheet(
        "hta_gpu_kernels_with_user_annotations",
        "HTA's get_gpu_kernels_with_user_annotations: each kernel, copy and fill with the shortest annotation that the profiler saw on its stream at that time; with --parity hta, for traces with such annotations. kernel_details also has the host's annotations.",
        [
            Column::identifier("index", "Index of the event in the file's event list.")
                .with_role(Role::Name)
                .field_in(|hta: &&Hta<'_>, row: &Row| hta.trace.events().uid(row.0).into()),
            TIME.field_in(|hta: &&Hta<'_>, row: &Row| hta.aligned(row.0).0.into()),
            whole_us("dur", "From start to end, in µs.").with_role(Role::Headline).field_in(
                |hta: &&Hta<'_>, row: &Row| {
                    let (start, end) = hta.aligned(row.0);
                    (end - start).into()
                },
            ),
            Column::identifier("stream", "Stream on the device.")
                .field_in(|hta: &&Hta<'_>, row: &Row| hta.trace.events().stream(row.0).into()),
            Column::identifier("correlation", "ID shared by the call and its device event.")
                .field_in(|hta: &&Hta<'_>, row: &Row| hta.trace.events().correlation(row.0).into()),
            Column::text("s_name", "Name of the kernel, copy or fill.")
                .field_in(|hta: &&Hta<'_>, row: &Row| name(hta, Some(row.0)).into()),
            Column::text("user_annotation", "Annotation name; empty if none.")
                .field_in(|hta: &&Hta<'_>, row: &Row| name(hta, row.1).into()),
        ],
        Hta::annotated_kernels,
    )
}

fn sequences<'a>() -> Sheet<'a, Hta<'a>> {
    sheet(
        "hta_frequent_kernel_sequences",
        "HTA's get_frequent_cuda_kernel_sequences of the operators named by --hta_sequences_of, with its \
         default of three kernels or more; with --parity hta. Only calls at the smallest nesting depth are counted. \
         frequent_sequences covers all operators.",
        [
            Column::text("pattern", "Names of the operator and its device events, in order of start time.")
                .field(|row: &Sequence| (&row.pattern).into()),
            Column::count("count", "Number of calls that launch this sequence.")
                .field(|row: &Sequence| row.count.into()),
            whole_us("GPU kernel duration (us)", "Sum of these device events' durations.")
                .with_role(Role::Headline)
                .field(|row: &Sequence| row.device.into()),
            whole_us("CPU op duration (us)", "Sum of the calls' durations.")
                .field(|row: &Sequence| row.host.into()),
        ],
        Hta::sequences,
    )
}

fn launches<'a>() -> Sheet<'a, Hta<'a>> {
    sheet(
        "hta_cuda_kernel_launch_stats",
        "HTA's get_cuda_kernel_launch_stats: each launch of a kernel, copy or fill through the CUDA runtime, in whole µs; with --parity hta, for traces with such calls. launch_delay has all launches with exact times.",
        [
            Column::identifier("correlation", "ID shared by the call and its device event.")
                .with_role(Role::Name)
                .field(|row: &LaunchTimes| row.correlation.into()),
            whole_us("cpu_duration", "Duration of the call in µs.").field(|row: &LaunchTimes| row.cpu.into()),
            whole_us("gpu_duration", "Duration of the device event in µs.")
                .field(|row: &LaunchTimes| row.gpu.into()),
            whole_us(
                "launch_delay",
                "From the end of the call to the start of the device event in µs; 0 if it starts earlier.",
            )
            .with_role(Role::Headline)
            .field(|row: &LaunchTimes| row.delay.into()),
        ],
        Hta::launches,
    )
}
