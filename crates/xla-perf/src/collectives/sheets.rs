//! Sheets of the collectives: by kind, one by one, by execution, and by the size of their buffers.

use std::cmp::Reverse;

use gpu_timeline::{SortFew, Spread, Summary};
use hlo_cost::ArrayShape;
use sheets::ColumnKind::{Count, Number, Text, Whole};
use sheets::Unit::{
    Bytes, GibibytesPerSecond, GigabytesPerSecond, Kibibytes, Mebibytes, Milliseconds, Percent,
};
use sheets::{Chart, ChartShape, Column, Excerpt, Field, Role, Sheet, percent};
use trace_ingest::{Picoseconds, TimeUnit};

use super::analysis::CollectiveAnalysis;
use super::executions::{Bandwidth, SliceMeasurement};
use super::operation::CollectiveOperation;
use super::summary::{
    BandwidthRange, BufferSize, BufferedCollective, Distribution, KindSummary, OperationSummary, buffered,
    by_range, by_size,
};
use crate::JaxAnalysis;
use crate::sheet::unless_empty;

const KIND: Column = Column::new(
    "type",
    Text,
    "Kind of collective: all-gather, all-reduce, all-to-all, reduce-scatter, collective-permute, or other.",
);
const ALGORITHMIC: Column = Column::new(
    "bandwidth (GiB/s)",
    Number(GibibytesPerSecond),
    "Algorithm bandwidth in GiB/s (2³⁰ bytes): bytes / time of a group's fastest device, mean over groups, then over executions. The bytes depend on the kind; for data_bytes D and n devices in the group: all-gather 2·D·(n−1), all-reduce and collective-permute 2·D, reduce-scatter D + D/n, all-to-all 2·D·(n−1)/n, other D.",
);
const NAME: Column = Column::new(
    "collective_name",
    Text,
    "HLO instruction; the kernel if the profile does not link it to one.",
);
const SLICES_OF_KIND: Column =
    Column::new("total_slices", Count, "Number of executions, each counted once across devices.");
const SLICES: Column =
    Column::new("num_slices", Count, "Number of executions, each counted once across devices.");
const TOTAL_MS: Column = Column::new(
    "total_time_ms",
    Number(Milliseconds),
    "Sum over devices of kernel durations, including waits for other devices.",
)
.with_role(Role::Headline);
const EXPOSED_SHARE: Column =
    Column::new("exposed (%)", Number(Percent), "Share of total_time_ms without computation on the device.")
        .with_role(Role::Headline);

/// The sheets of the collectives of one profile, in order.
pub(crate) fn profile_collective_sheets<'a>() -> Vec<Sheet<'a, JaxAnalysis>> {
    sheets(JaxAnalysis::collectives)
}

/// The sheets of the collectives of a run, whose nodes have a profile each: the same as those of one profile.
#[must_use]
pub fn collective_sheets<'a>() -> Vec<Sheet<'a, CollectiveAnalysis>> {
    sheets(|collectives| collectives)
}

fn excerpt(rows: usize, header: &'static str, name: Column, executions: Column) -> Excerpt {
    let executions = ("executions", executions);
    Excerpt::new(rows, [(header, name), executions, ("kernel ms", TOTAL_MS), ("exposed %", EXPOSED_SHARE)])
}

fn sheets<'a, A: 'a>(collectives: fn(&'a A) -> &'a CollectiveAnalysis) -> Vec<Sheet<'a, A>> {
    let chart = Chart::new(
        "Collective bandwidth by kind",
        KIND.name,
        BANDWIDTHS[0].name,
        "algorithm bandwidth (GiB/s)",
        ChartShape::Bars(6),
    );
    vec![
        sheet(
            "collective_types",
            "Collectives by kind, largest mean bandwidth first.",
            kind_fields(),
            collectives,
            |collectives| collectives.by_kind.iter().collect(),
        )
        .with_chart(chart)
        .with_excerpt(excerpt(6, "kind", KIND, SLICES_OF_KIND)),
        sheet(
            "collectives",
            "Collectives of the programs, most time first: data exchanged according to the HLO, and kernel \
             times and rates.",
            operation_fields(),
            collectives,
            operations,
        )
        .with_chart(
            Chart::new(
                "Collectives by time",
                NAME.name,
                TOTAL_MS.name,
                "time summed over devices (ms)",
                ChartShape::Bars(15),
            )
            .told_by(&["module", PROGRAM_ID.name]),
        )
        .with_excerpt(excerpt(10, "collective", NAME, SLICES)),
        sheet(
            "collective_slices",
            "Executions of collectives by start; each comprises the kernels of all participating devices.",
            execution_fields(),
            collectives,
            |collectives| {
                let mut rows: Vec<_> = collectives.slices.iter().collect();
                rows.sort_by_key(|row| (row.start, row.operation, row.index));
                rows
            },
        ),
        sheet(
            "collective_buffers",
            "Collectives with their buffer sizes, by kind; those without a known buffer are omitted.",
            buffer_fields(),
            collectives,
            buffers,
        ),
        sheet(
            "collective_buffer_sizes",
            "Collectives by kind and buffer size, smallest first.",
            size_fields(),
            collectives,
            |collectives| with_shares(by_size(&buffers(collectives)), |size| (size.kind, size.time.0)),
        ),
        sheet(
            "collective_bw_ranges",
            "Time of collectives by kind and range of effective bandwidth; empty ranges are omitted.",
            range_fields(),
            collectives,
            |collectives| with_shares(by_range(&buffers(collectives)), |range| (range.kind, range.time.0)),
        ),
    ]
}

fn sheet<'a, A: 'a, R: 'a>(
    name: &'static str,
    description: &'static str,
    fields: impl IntoIterator<Item = Field<&'a CollectiveAnalysis, R>>,
    collectives: fn(&'a A) -> &'a CollectiveAnalysis,
    rows: fn(&'a CollectiveAnalysis) -> Vec<R>,
) -> Sheet<'a, A> {
    Sheet::with_context(name, description, fields, move |analysis| {
        let collectives = collectives(analysis);
        Some((collectives, rows(collectives))).filter(|(_, rows)| !rows.is_empty())
    })
}

const PROGRAM_ID: Column =
    Column::text("program_id", "Program ID; empty if not recorded.").with_role(Role::Provenance);

/// Which collective a row is about, by its index.
fn identity_fields<'a, R>(
    kind: Column,
    operation: impl Fn(&R) -> usize + Copy + Send + Sync + 'static,
) -> [Field<&'a CollectiveAnalysis, R>; 4] {
    let collective = move |all: &&'a CollectiveAnalysis, row: &R| &all.operations[operation(row)];
    let program = move |all: &&'a CollectiveAnalysis, row: &R| &all.programs[operation(row)];
    [
        kind.field_in(move |all: &&CollectiveAnalysis, row: &R| collective(all, row).kind.name().into()),
        NAME.field_in(move |all: &&CollectiveAnalysis, row: &R| collective(all, row).name.as_str().into()),
        Column::text("module", "Program module; empty if not recorded.")
            .with_role(Role::Detail)
            .field_in(move |all: &&CollectiveAnalysis, row: &R| unless_empty(&program(all, row).module)),
        PROGRAM_ID.field_in(move |all: &&CollectiveAnalysis, row: &R| {
            program(all, row).program.map(|id| id.to_string()).into()
        }),
    ]
}

/// The three rates, means over what `one` says.
fn rate_fields<'a, R>(
    one: &'static str,
    bandwidth: impl Fn(&R) -> Option<Bandwidth> + Copy + Send + Sync + 'static,
) -> [Field<&'a CollectiveAnalysis, R>; 3] {
    let rate = move |row: &R, rate: fn(Bandwidth) -> f64| bandwidth(row).map(rate).into();
    [
        ALGORITHMIC.per(one).field(move |row| rate(row, |rates| rates.algorithmic)),
        Column::new("bus_bandwidth (GiB/s)", ALGORITHMIC.kind, "Algorithm bandwidth × correction factor for link traffic: 2(n−1)/n for all-reduce, (n−1)/n for all-gather, reduce-scatter and all-to-all, else 1.").per(one).field(move |row| rate(row, |rates| rates.bus)),
        Column::new("nccl_tests_busbw (GB/s)", Number(GigabytesPerSecond), "Bus bandwidth as reported by nccl-tests and rccl-tests (10⁹ bytes): message size (the larger of a device's input and output) / time of the fastest device × the correction factor of the bus bandwidth. Comparable with link speeds.").per(one).field(move |row| {
            rate(row, |rates| rates.message_bus)
        }),
    ]
}

macro_rules! distribution {
    ($figure:literal, $unit:expr, $what:literal) => {
        [
            distribution!(@ "avg_", $figure, $unit, "Mean of the ", $what),
            distribution!(@ "median_", $figure, $unit, "Median of the ", $what).spread_of(concat!("avg_", $figure)),
            distribution!(@ "min_", $figure, $unit, "Minimum of the ", $what).spread_of(concat!("avg_", $figure)),
            distribution!(@ "max_", $figure, $unit, "Maximum of the ", $what).spread_of(concat!("avg_", $figure)),
            distribution!(@ "std_", $figure, $unit, "Population standard deviation of the ", $what).spread_of(concat!("avg_", $figure)),
            distribution!(@ "p25_", $figure, $unit, "First quartile of the ", $what).spread_of(concat!("avg_", $figure)),
            distribution!(@ "p75_", $figure, $unit, "Third quartile of the ", $what).spread_of(concat!("avg_", $figure)),
        ]
    };
    (@ $aggregate:literal, $figure:literal, $unit:expr, $start:literal, $what:literal) => {
        Column::new(concat!($aggregate, $figure), Number($unit), concat!($start, $what, "; each collective counts once."))
            .per("collective")
    };
}

const BANDWIDTHS: [Column; 7] = distribution!(
    "bandwidth (GiB/s)",
    GibibytesPerSecond,
    "collectives' algorithm bandwidths, see the sheet collectives"
);
const BUS_BANDWIDTHS: [Column; 7] = distribution!(
    "bus_bandwidth (GiB/s)",
    GibibytesPerSecond,
    "collectives' bus bandwidths, see the sheet collectives"
);
const MESSAGE_BUS_BANDWIDTHS: [Column; 7] = distribution!(
    "nccl_tests_busbw (GB/s)",
    GigabytesPerSecond,
    "collectives' nccl-tests bus bandwidths, see the sheet collectives"
);
/// What each of the seven columns shows.
const AGGREGATES: [fn(&Distribution) -> f64; 7] =
    [|d| d.mean, |d| d.median, |d| d.min, |d| d.max, |d| d.std, |d| d.p25, |d| d.p75];

type KindField<'a> = Field<&'a CollectiveAnalysis, &'a KindSummary>;

type KindDistribution = fn(&KindSummary) -> Option<Distribution>;

fn kind_fields<'a>() -> Vec<KindField<'a>> {
    let mut fields = vec![
        KIND.field(|row: &&KindSummary| row.kind.name().into()),
        Column::count("num_operations", "Number of collectives of this kind that ran.")
            .field(|row: &&KindSummary| row.operations.into()),
        SLICES_OF_KIND.field(|row: &&KindSummary| row.slices.into()),
        Column::count("total_measurements", "Number of groups with a bandwidth, over all executions.")
            .field(|row: &&KindSummary| row.measurements.into()),
        TOTAL_MS.field(|row: &&KindSummary| row.total_duration.to_milliseconds().into()),
        EXPOSED_SHARE.field(|row: &&KindSummary| percent(row.exposed.0, row.total_duration.0).into()),
        Column::new(
            "avg_data_size (MiB)",
            Number(Mebibytes),
            "Mean data_bytes per collective, see the sheet collectives.",
        )
        .per("collective")
        .field(|row: &&KindSummary| row.mean_data.into()),
    ];
    let figures: [([Column; 7], KindDistribution); 3] = [
        (BANDWIDTHS, |kind| kind.algorithmic),
        (BUS_BANDWIDTHS, |kind| kind.bus),
        (MESSAGE_BUS_BANDWIDTHS, |kind| kind.message_bus),
    ];
    for (columns, figure) in figures {
        let aggregated = columns.into_iter().zip(AGGREGATES);
        fields.extend(aggregated.map(|(column, aggregate)| {
            column.field(move |row: &&KindSummary| figure(row).as_ref().map(aggregate).into())
        }));
    }
    fields
}

/// A collective of a program, times in µs.
struct OperationRow<'a> {
    summary: &'a OperationSummary,
    operation: &'a CollectiveOperation,
    /// Devices of a group.
    size: Option<usize>,
    min_durations: Spread,
    start_skews: Spread,
    end_skews: Spread,
}

impl OperationRow<'_> {
    /// What the HLO says of the tensors; `None` where it says nothing.
    fn tensors<T>(&self, figure: impl FnOnce(&CollectiveOperation) -> T) -> Option<T> {
        (!self.operation.outputs.is_empty()).then(|| figure(self.operation))
    }
}

fn operations<'a>(all: &'a CollectiveAnalysis) -> Vec<OperationRow<'a>> {
    let spread = |times: &Vec<Picoseconds>| {
        let times: Vec<i64> = times.iter().map(|time| time.0).collect();
        let unit = TimeUnit::Picoseconds.per_microsecond() as f64;
        Summary::from_values(&times).map_or_else(Spread::default, |times| times.spread(unit))
    };
    let row = |summary: &'a OperationSummary| {
        let OperationSummary { operation, min_durations, start_skews, end_skews, .. } = summary;
        let operation = &all.operations[*operation];
        OperationRow {
            summary,
            operation,
            size: operation.groups.as_ref().and_then(|groups| groups.group_size(all.devices.total)),
            min_durations: spread(min_durations),
            start_skews: spread(start_skews),
            end_skews: spread(end_skews),
        }
    };
    let mut rows: Vec<OperationRow<'_>> = all.by_operation.iter().map(row).collect();
    rows.sort_few_by_key(|row| (Reverse(row.summary.total_duration), row.summary.operation));
    rows
}

const MIN_DUR_MEAN_US: Column = Column::microseconds(
    "min_dur_mean_us",
    "Duration of an execution's fastest kernel, mean over executions.",
)
.per("execution");

const START_SKEW_MEAN_US: Column = Column::microseconds(
    "start_skew_mean_us",
    "Latest minus earliest start of an execution's kernels on a node, mean over executions.",
)
.per("execution");

fn operation_fields<'a>() -> Vec<Field<&'a CollectiveAnalysis, OperationRow<'a>>> {
    let mut fields = Vec::from(identity_fields(KIND, |row: &OperationRow<'_>| row.summary.operation));
    fields.extend([
        Column::identifier("channel_id", "Channel that links the instruction across devices.").field(|row: &OperationRow<'_>| row.operation.channel.into()),
        Column::text("replica_groups", "Replica groups in HLO notation: lists, {} for all devices, [groups,size]<=[dims]T(permutation) for the numbers from 0 reshaped to an array, transposed and split; source-target pairs for a permute. Numbers are assumed to be ranks.").with_role(Role::Provenance).field(|row: &OperationRow<'_>| row.operation.groups.as_ref().map(ToString::to_string).into()),
        Column::count("group_size", "Number of devices in the first group.").per("group").field(|row: &OperationRow<'_>| row.size.into()),
        Column::count("num_groups", "Number of groups, including groups without a recorded device.").field_in(|collectives: &&CollectiveAnalysis, row: &OperationRow<'_>| {
            row.operation.groups.as_ref().map(|groups| groups.resolve(&collectives.devices).len()).into()
        }),
        Column::text("inputs", "Type and shape of a device's input.").with_role(Role::Detail).field(|row: &OperationRow<'_>| row.tensors(|operation| texts(&operation.inputs)).into()),
        Column::text("outputs", "Type and shape of a device's output.").with_role(Role::Detail).field(|row: &OperationRow<'_>| row.tensors(|operation| texts(&operation.outputs)).into()),
        Column::new("input_bytes", Whole(Bytes), "Size of a device's input.").with_role(Role::Detail).per("device").field(|row: &OperationRow<'_>| row.tensors(CollectiveOperation::input_bytes).into()),
        Column::new("output_bytes", Whole(Bytes), "Size of a device's output.").with_role(Role::Detail).per("device").field(|row: &OperationRow<'_>| row.tensors(CollectiveOperation::output_bytes).into()),
        Column::new("data_bytes", Whole(Bytes), "Data size D for the algorithm bandwidth: a device's shard for all-gather, the full input for reduce-scatter, else the output.").per("device").field(|row: &OperationRow<'_>| {
            row.size.and_then(|size| row.tensors(|operation| operation.data_bytes(size))).into()
        }),
        SLICES.field(|row: &OperationRow<'_>| row.summary.slices.into()),
        Column::count("incomplete_slices", "Number of executions that lack the kernel of a device whose profile shows other work; their skew and fastest device may be wrong.").with_role(Role::Detail).field(|row: &OperationRow<'_>| row.summary.incomplete.into()),
        Column::count("num_kernels", "Number of kernels on all devices.").field(|row: &OperationRow<'_>| row.summary.kernels.into()),
        TOTAL_MS.field(|row: &OperationRow<'_>| row.summary.total_duration.to_milliseconds().into()),
        Column::milliseconds("waiting_ms", "Part of total_time_ms spent waiting for a later device: kernel time beyond the fastest kernel of the execution.").field(|row: &OperationRow<'_>| row.summary.waited.to_milliseconds().into()),
        Column::milliseconds("exposed_ms", "Part of total_time_ms without computation on the device. Concurrent collectives each count.").field(|row: &OperationRow<'_>| row.summary.exposed.to_milliseconds().into()),
        EXPOSED_SHARE.field(|row: &OperationRow<'_>| percent(row.summary.exposed.0, row.summary.total_duration.0).into()),
        MIN_DUR_MEAN_US.field(|row: &OperationRow<'_>| row.min_durations.mean.into()),
        Column::microseconds("min_dur_median_us", "Median over executions of the fastest kernel's duration.").spread_of(MIN_DUR_MEAN_US.name).per("execution").field(|row: &OperationRow<'_>| row.min_durations.median.into()),
        Column::microseconds("min_dur_min_us", "Minimum over executions of the fastest kernel's duration.").spread_of(MIN_DUR_MEAN_US.name).per("execution").field(|row: &OperationRow<'_>| row.min_durations.min.into()),
        Column::microseconds("min_dur_max_us", "Maximum over executions of the fastest kernel's duration.").spread_of(MIN_DUR_MEAN_US.name).per("execution").field(|row: &OperationRow<'_>| row.min_durations.max.into()),
    ]);
    fields.extend(rate_fields("execution", |row: &OperationRow<'_>| row.summary.bandwidth));
    fields.extend([
        ALGORITHMIC
            .named("bandwidth_min (GiB/s)")
            .described("Smallest algorithm bandwidth of a group in an execution.")
            .spread_of(ALGORITHMIC.name)
            .per("execution")
            .field(|row: &OperationRow<'_>| row.summary.algorithmic_range.map(|range| range.0).into()),
        ALGORITHMIC
            .named("bandwidth_max (GiB/s)")
            .described("Largest algorithm bandwidth of a group in an execution.")
            .spread_of(ALGORITHMIC.name)
            .per("execution")
            .field(|row: &OperationRow<'_>| row.summary.algorithmic_range.map(|range| range.1).into()),
        START_SKEW_MEAN_US.field(|row: &OperationRow<'_>| row.start_skews.mean.into()),
        Column::microseconds("start_skew_max_us", "Maximum start skew over executions.")
            .spread_of(START_SKEW_MEAN_US.name)
            .per("execution")
            .field(|row: &OperationRow<'_>| row.start_skews.max.into()),
        Column::microseconds(
            "end_skew_mean_us",
            "Latest minus earliest end of an execution's kernels on a node, mean over executions.",
        )
        .per("execution")
        .field(|row: &OperationRow<'_>| row.end_skews.mean.into()),
    ]);
    fields
}

fn texts(tensors: &[ArrayShape]) -> String {
    let texts: Vec<String> = tensors.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

fn execution_fields<'a>() -> Vec<Field<&'a CollectiveAnalysis, &'a SliceMeasurement>> {
    let mut fields = Vec::from(identity_fields(KIND, |row: &&SliceMeasurement| row.operation));
    fields.extend([
        Column::identifier("slice", "Execution number within the collective, from 0.").with_role(Role::Name).field(|row: &&SliceMeasurement| row.index.into()),
        Column::milliseconds("start_ms", "Earliest start, relative to the profile's first event; for several profiles, the minimum over profiles, because each host has its own clock.").field(|row: &&SliceMeasurement| row.start.to_milliseconds().into()),
        Column::count("num_devices", "Number of devices whose kernel is in the profile.").field(|row: &&SliceMeasurement| row.ranks.len().into()),
        Column::count("missing_devices", "Number of group devices that have other work in the profile but lack this execution.").field(|row: &&SliceMeasurement| row.missing.into()),
        Column::identifier("fastest_device", "Rank of the device with the shortest duration: it entered last and did not wait. If there are several groups, that of the first group.").field(|row: &&SliceMeasurement| row.groups.first().map(|group| group.fastest).into()),
        Column::microseconds("min_dur_us", "Shortest duration.").per("device").field(|row: &&SliceMeasurement| row.min_duration.to_microseconds().into()),
        Column::microseconds("max_dur_us", "Longest duration.").per("device").field(|row: &&SliceMeasurement| row.max_duration.to_microseconds().into()),
        Column::microseconds("start_skew_us", "Latest minus earliest start on a node; empty for one device.").field(|row: &&SliceMeasurement| row.start_skew.map(Picoseconds::to_microseconds).into()),
        Column::microseconds("end_skew_us", "Latest minus earliest end on a node; empty for one device.").field(|row: &&SliceMeasurement| row.end_skew.map(Picoseconds::to_microseconds).into()),
        Column::microseconds("exposed_us", "Time without computation on the device, mean over devices.").per("device").field(|row: &&SliceMeasurement| (row.exposed.to_microseconds() / row.ranks.len() as f64).into()),
    ]);
    fields.extend(rate_fields("group", |row: &&SliceMeasurement| row.bandwidth));
    fields
}

const BASE: Column = KIND.named("base_collective");
const SIZE: Column = Column::new(
    "buffer_size_kb",
    Number(Kibibytes),
    "Size in KiB of the collective's output buffer on a device, from the HLO.",
)
.with_role(Role::Name)
.per("device");
const COUNT: Column = Column::new("count", Count, "Number of collectives in the range.");
const TIME: Column =
    Column::new("time_ms", Number(Milliseconds), "Duration on the fastest device, summed over executions.")
        .with_role(Role::Headline);
const SHARE: Column =
    Column::new("percent", Number(Percent), "Share of time_ms of all rows with the same base_collective.")
        .with_role(Role::Headline);
const EFFECTIVE: Column = Column::new(
    "effective_bw (GB/s)",
    Number(GigabytesPerSecond),
    "Buffer size / latency (10⁹ bytes); for a reduce-scatter, whose buffer is a device's shard, × devices per group.",
);

/// The collectives with known buffers.
fn buffers(all: &CollectiveAnalysis) -> Vec<BufferedCollective> {
    buffered(&all.by_operation, &all.operations, all.devices.total)
}

fn buffer_fields<'a>() -> Vec<Field<&'a CollectiveAnalysis, BufferedCollective>> {
    let mut fields = Vec::from(identity_fields(BASE, |row: &BufferedCollective| row.operation));
    fields.extend([
        Column::microseconds("latency_us", "Shortest duration of any execution on any device.")
            .per("execution")
            .field(|row: &BufferedCollective| row.latency.to_microseconds().into()),
        SIZE.field(|row: &BufferedCollective| (row.bytes as f64 / 1024.0).into()),
        EFFECTIVE.per("execution").field(|row: &BufferedCollective| row.bandwidth.into()),
        TIME.field(|row: &BufferedCollective| row.time.to_milliseconds().into()),
    ]);
    fields
}

/// A row with its share of the time of all rows of its kind.
type Shared<R> = (R, Option<f64>);

fn with_shares<R, K: PartialEq>(rows: Vec<R>, time: impl Fn(&R) -> (K, i64)) -> Vec<Shared<R>> {
    let times: Vec<(K, i64)> = rows.iter().map(time).collect();
    let share = |(kind, time): &(K, i64)| {
        let kind_times = times.iter().filter(|(other, _)| other == kind).map(|(_, time)| time);
        percent(*time, kind_times.sum())
    };
    let shares: Vec<Option<f64>> = times.iter().map(share).collect();
    rows.into_iter().zip(shares).collect()
}

fn size_fields<'a>() -> [Field<&'a CollectiveAnalysis, Shared<BufferSize>>; 7] {
    [
        BASE.field(|(row, _): &Shared<BufferSize>| row.kind.name().into()),
        SIZE.field(|(row, _): &Shared<BufferSize>| (row.bytes as f64 / 1024.0).into()),
        COUNT
            .described("Number of collectives with a buffer of this size.")
            .field(|(row, _): &Shared<BufferSize>| row.count.into()),
        TIME.field(|(row, _): &Shared<BufferSize>| row.time.to_milliseconds().into()),
        SHARE.field(|(_, share): &Shared<BufferSize>| (*share).into()),
        EFFECTIVE
            .named("effective_bw_mean (GB/s)")
            .per("collective")
            .described("Mean effective bandwidth of these collectives, see the sheet collective_buffers.")
            .field(|(row, _): &Shared<BufferSize>| row.bandwidth.map(|rates| rates.mean).into()),
        EFFECTIVE
            .named("effective_bw_std (GB/s)")
            .per("collective")
            .described("Population standard deviation of the effective bandwidths of these collectives.")
            .spread_of(EFFECTIVE.name)
            .field(|(row, _): &Shared<BufferSize>| row.bandwidth.map(|rates| rates.std).into()),
    ]
}

fn range_fields<'a>() -> [Field<&'a CollectiveAnalysis, Shared<BandwidthRange>>; 5] {
    [
        BASE.field(|(row, _): &Shared<BandwidthRange>| row.kind.name().into()),
        Column::text("bandwidth_range (GB/s)", "Range of the effective bandwidth, lower bound inclusive.")
            .field(|(row, _): &Shared<BandwidthRange>| row.text().into()),
        COUNT.field(|(row, _): &Shared<BandwidthRange>| row.count.into()),
        TIME.field(|(row, _): &Shared<BandwidthRange>| row.time.to_milliseconds().into()),
        SHARE.field(|(_, share): &Shared<BandwidthRange>| (*share).into()),
    ]
}
