//! Collectives one by one and summed up, in the columns of TraceLens's report of collectives.

use std::cmp::Reverse;

use gpu_timeline::{SortFew, Summary};
use hashbrown::HashMap;
use sheets::{Cell, Chart, ChartShape, Column, ColumnKind, Excerpt, Field, Role, Sheet, TableColumn, Unit};

use crate::analysis::JobAnalysis;
use crate::collectives::{Kernel, Member, RankColumn, Sent, Straggler, Synchronising, Uneven, us};
use crate::conventions::{MetadataRule, Rounding};
use crate::job::Group;
use crate::members::Members;
use crate::statistic::Statistic;

pub(super) fn sheets<'a>() -> Vec<Sheet<'a, JobAnalysis>> {
    vec![
        summary_of_synchronising(),
        summary_of_kernels(),
        summary_of_uneven(),
        sent(),
        kernels(),
        synchronising(),
        uneven(),
        stragglers(),
    ]
}

type Job<'a> = &'a JobAnalysis;

/// A sheet with the rows that a job has, left out where there are none.
fn sheet<'a, R: 'a>(
    name: &'static str,
    description: &'static str,
    fields: Vec<Field<Job<'a>, R>>,
    rows: fn(Job<'a>) -> Vec<R>,
) -> Sheet<'a, JobAnalysis> {
    Sheet::with_context(name, description, fields, move |job: &'a JobAnalysis| {
        Some((job, rows(job))).filter(|(_, rows)| !rows.is_empty())
    })
}

const ID: Column = Column::text(
    "collective_id",
    "Process group, and number of the collective within it; the same for all kernels of the collective.",
);
const GROUP: Column =
    Column::text("Process Group Name", "Name of the group in the program.").with_role(Role::Detail);
const RANKS: Column =
    Column::nested("Process Group Ranks", "Ranks of the group as recorded; PyTorch lists at most 30.");
const NAME: Column = Column::text("Collective name", "Collective, such as allreduce.");
const SIZE: Column = Column::count("Group size", "Number of ranks in the group.").with_role(Role::Detail);
const DTYPE: Column = Column::text("dtype", "Element type.");
const STREAM: Column = Column::identifier("stream", "Stream of the kernel.").with_role(Role::Detail);
const IN_ELEMENTS: Column =
    Column::count("In msg nelems", "Number of the rank's input elements.").with_role(Role::Detail);
const OUT_ELEMENTS: Column =
    Column::count("Out msg nelems", "Number of the rank's output elements.").with_role(Role::Detail);
const IN_SPLIT: Column = Column::nested("In split size", "Input elements per rank, if split unevenly.");
const OUT_SPLIT: Column = Column::nested("Out split size", "Output elements per rank, if split unevenly.");
const IN_SIZE: Column = Column::new(
    "In msg size (MB)",
    ColumnKind::Number(Unit::Mebibytes),
    "Input size in MiB: In msg nelems × size of dtype.",
);
const OUT_SIZE: Column = Column::new(
    "Out msg size (MB)",
    ColumnKind::Number(Unit::Mebibytes),
    "Output size in MiB: Out msg nelems × size of dtype.",
);
const FULL_SIZE: Column = Column::new(
    "Full msg size (MB)",
    ColumnKind::Number(Unit::Mebibytes),
    "Full message size in MiB: a rank's output for an all-gather, else its input.",
);

fn mib(bytes: Option<i64>) -> Option<f64> {
    bytes.map(|bytes| bytes as f64 / (1024.0 * 1024.0))
}

/// A cell of a kernel, which stands for all of its collective.
type KernelCell = for<'a> fn(Job<'a>, &'a Kernel) -> Cell<'a>;

/// The group, kind and sizes of a row's kernel.
const KERNEL_COLUMNS: [(Column, KernelCell); 12] = [
    (GROUP, |job, kernel| name_of(job, group_of(job, kernel)).into()),
    (RANKS, |job, kernel| group_of(job, kernel).ranks_text.as_deref().into()),
    (SIZE, |job, kernel| group_of(job, kernel).size.into()),
    (NAME, |_, kernel| kernel.row.name.as_deref().into()),
    (DTYPE, |_, kernel| kernel.row.dtype.as_deref().into()),
    (STREAM, |_, kernel| kernel.row.stream.into()),
    (IN_ELEMENTS, |_, kernel| kernel.row.in_elements.into()),
    (OUT_ELEMENTS, |_, kernel| kernel.row.out_elements.into()),
    (IN_SIZE, |_, kernel| mib(kernel.in_bytes).into()),
    (OUT_SIZE, |_, kernel| mib(kernel.out_bytes).into()),
    (IN_SPLIT, |_, kernel| kernel.row.in_split.as_deref().into()),
    (OUT_SPLIT, |_, kernel| kernel.row.out_split.as_deref().into()),
];

/// What fills a column of [`KERNEL_COLUMNS`], whatever is said of it.
fn kernel_cell(column: &Column) -> KernelCell {
    let known = KERNEL_COLUMNS.into_iter().find(|(known, _)| known.name == column.name);
    known.map_or(|_, _| Cell::Missing, |(_, cell)| cell)
}

/// The fields of such columns, filled from the kernel of each row.
fn described<'a, R>(
    columns: &[Column],
    kernel: impl Fn(Job<'a>, &R) -> Option<&'a Kernel> + Copy + Send + Sync + 'static,
) -> Vec<Field<Job<'a>, R>> {
    let field = |column: &Column| {
        let cell = kernel_cell(column);
        column.field_in(move |job: &Job<'a>, row: &R| {
            kernel(job, row).map_or(Cell::Missing, |of| cell(job, of))
        })
    };
    columns.iter().map(field).collect()
}

fn group_of<'a>(job: Job<'a>, kernel: &Kernel) -> &'a Group {
    &job.job.groups[kernel.group]
}

/// What a group is called, also where it has no name.
fn name_of<'a>(job: Job<'a>, group: &'a Group) -> &'a str {
    let lacks_names = || job.collectives.kernels.iter().all(|kernel| group_of(job, kernel).name.is_none());
    match group.name.as_deref() {
        Some(name) => name,
        None if lacks_names() => "all",
        None => "Unknown_Group",
    }
}

fn first_kernel<'a>(job: Job<'a>, members: &[Member]) -> Option<&'a Kernel> {
    members.first().and_then(|member| job.collectives.kernels.get(member.kernel))
}

const NODE: Column = Column::identifier("node_id", "Node of the rank: rank divided by devices per node.");
const NODE_SPAN: Column = Column::text(
    "node_span",
    "intra_node if all ranks of the group are on one node, else inter_node; unknown without a rank list.",
)
.with_role(Role::Detail);

fn node<'a, R>(rank: impl Fn(Job<'a>, &R) -> u32 + Send + Sync + 'static) -> Field<Job<'a>, R> {
    NODE.field_in(move |job: &Job<'a>, row: &R| {
        job.options.gpus_per_node.and_then(|devices| rank(job, row).checked_div(devices)).into()
    })
    .when(|job: &Job<'a>| job.options.gpus_per_node.is_some())
}

fn node_span<'a, R>(
    group: impl Fn(Job<'a>, &R) -> Option<&'a Group> + Send + Sync + 'static,
) -> Field<Job<'a>, R> {
    NODE_SPAN
        .field_in(move |job: &Job<'a>, row: &R| {
            let span = |group| spans_nodes(group, job.options.gpus_per_node?);
            group(job, row).and_then(span).into()
        })
        .when(|job: &Job<'a>| job.options.gpus_per_node.is_some())
}

fn spans_nodes(group: &Group, devices: u32) -> Option<&'static str> {
    let listed = group.ranks_text.as_deref().and_then(Members::from_list).map(|(members, _)| members);
    let members = if group.members.is_empty() { listed.unwrap_or_default() } else { group.members.clone() };
    let mut nodes = members.iter().filter_map(|rank| rank.checked_div(devices));
    let Some(first) = nodes.next() else { return Some("unknown") };
    Some(if nodes.all(|node| node == first) { "intra_node" } else { "inter_node" })
}

/// Statistics of a figure, a column for each that was asked for. `one` is what each of the values is of.
fn statistics<'a, R>(
    figure: &'static str,
    description: &'static str,
    unit: Unit,
    one: &'static str,
    values: impl Fn(&R) -> Option<&[f64]> + Copy + Send + Sync + 'static,
) -> Field<Job<'a>, R> {
    let column = Column::new(figure, ColumnKind::Number(unit), description).per(one);
    Field::from_columns(column, move |column, job: &Job<'a>, rows, columns| {
        for statistic in &job.options.agg_metrics {
            let column = match statistic {
                Statistic::Sum => Column { per: None, ..column },
                Statistic::Count => Column { per: None, kind: ColumnKind::Number(Unit::One), ..column },
                _ => column,
            };
            let cells = rows.iter().map(|row| values(row).and_then(|values| statistic.of(values)).into());
            columns.push(TableColumn::named(format!("{figure}_{statistic}"), column, cells));
        }
    })
}

// nccl_long

fn kernels<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = &'a Kernel;
    let mut fields: Vec<Field<Job<'a>, R<'a>>> = vec![
        ID.with_role(Role::Detail).field(|kernel: &R<'_>| kernel.id.as_ref().map(|(id, _)| id).into()),
        Column::identifier("index_in_group", "Position of the collective in its group, from 0.")
            .field(|kernel: &R<'_>| kernel.id.as_ref().map(|(_, index)| *index).into()),
        RANK.field_in(|job: &Job<'_>, kernel: &R<'_>| job.job.recordings[kernel.recording].rank.into()),
    ];
    let columns = [
        GROUP,
        RANKS,
        NAME,
        SIZE,
        DTYPE,
        IN_ELEMENTS,
        IN_SIZE,
        OUT_ELEMENTS,
        OUT_SIZE,
        IN_SPLIT,
        OUT_SPLIT,
        STREAM,
    ];
    fields.extend(described(&columns, |_, kernel: &R<'a>| Some(*kernel)));
    fields.extend([
        Column::microseconds("ts", "Start in µs, on the recording's clock.")
            .with_role(Role::Detail)
            .field(|kernel: &R<'_>| us(kernel.row.start_ns).into()),
        Column::microseconds("dur", "Duration in µs, including waits for other ranks.")
            .with_role(Role::Headline)
            .field(|kernel: &R<'_>| us(kernel.row.duration_ns).into()),
        node(|job, kernel: &R<'a>| job.job.recordings[kernel.recording].rank),
        node_span(|job: Job<'a>, kernel: &R<'a>| Some(group_of(job, kernel))),
    ]);
    sheet(
        "nccl_long",
        "Collective kernels by rank, in recorded order; omitted if there are too many for a sheet.",
        fields,
        |job| job.collectives.kernels.iter().collect(),
    )
}

// nccl_summary_long

const MEAN_DURATION: Column = Column::microseconds("dur_mean", "Mean duration in µs.");

struct KernelClass<'a> {
    kernel: &'a Kernel,
    durations: Summary,
}

fn summary_of_kernels<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = KernelClass<'a>;
    fn kernel_classes(job: Job<'_>) -> Vec<KernelClass<'_>> {
        let mut classes: HashMap<_, (usize, &Kernel, Vec<i64>)> = HashMap::new();
        for (place, kernel) in job.collectives.kernels.iter().enumerate() {
            let (row, group) = (&kernel.row, group_of(job, kernel));
            let is_whole = row.name.is_some()
                && row.dtype.is_some()
                && row.in_elements.is_some()
                && row.out_elements.is_some()
                && row.in_split.is_some()
                && row.out_split.is_some()
                && group.ranks_text.is_some()
                && group.size.is_some();
            if job.options.conventions.metadata == MetadataRule::Recorded && !is_whole {
                continue;
            }
            let key = (
                (job.job.recordings[kernel.recording].rank, kernel.group, row.stream),
                (row.name.as_deref(), row.dtype.as_deref(), row.in_elements, row.out_elements),
                (row.in_split.as_deref(), row.out_split.as_deref()),
            );
            classes.entry(key).or_insert_with(|| (place, kernel, Vec::new())).2.push(row.duration_ns);
        }
        let mut classes: Vec<(usize, KernelClass<'_>)> = classes
            .into_values()
            .filter_map(|(place, kernel, durations)| {
                Some((place, KernelClass { kernel, durations: Summary::from_values(&durations)? }))
            })
            .collect();
        classes.sort_few_by_key(|(place, class)| (Reverse(class.durations.sum), *place));
        classes.into_iter().map(|(_, class)| class).collect()
    }
    let mut fields: Vec<Field<Job<'a>, R<'a>>> = vec![
        RANK.field_in(|job: &Job<'_>, class: &R<'_>| job.job.recordings[class.kernel.recording].rank.into()),
    ];
    let [in_elements, out_elements] = [IN_ELEMENTS, OUT_ELEMENTS].map(|column| column.per("message"));
    let columns = [GROUP, RANKS, NAME, SIZE, DTYPE, in_elements, out_elements, IN_SPLIT, OUT_SPLIT, STREAM];
    fields.extend(described(&columns, |_, class: &R<'a>| Some(class.kernel)));
    fields.extend([
        IN_SIZE
            .named("In msg size (MB)_first")
            .per("message")
            .field(|class: &R<'_>| mib(class.kernel.in_bytes).into()),
        OUT_SIZE
            .named("Out msg size (MB)_first")
            .per("message")
            .field(|class: &R<'_>| mib(class.kernel.out_bytes).into()),
        Column::microseconds("dur_sum", "Sum of durations in µs, including waits for other ranks.")
            .with_role(Role::Headline)
            .field(|class: &R<'_>| us(class.durations.sum).into()),
        MEAN_DURATION.per("kernel").field(|class: &R<'_>| (class.durations.mean / 1e3).into()),
        Column::microseconds("dur_std", "Sample standard deviation (n − 1) of durations in µs.")
            .spread_of(MEAN_DURATION.name)
            .per("kernel")
            .field(|class: &R<'_>| class.durations.sample_std.map(|std| std / 1e3).into()),
        Column::microseconds("dur_min", "Shortest duration in µs.")
            .spread_of(MEAN_DURATION.name)
            .per("kernel")
            .field(|class: &R<'_>| us(class.durations.min).into()),
        Column::microseconds("dur_max", "Longest duration in µs.")
            .spread_of(MEAN_DURATION.name)
            .per("kernel")
            .field(|class: &R<'_>| us(class.durations.max).into()),
        Column::count("operation_count", "Number of kernels.")
            .field(|class: &R<'_>| class.durations.count.into()),
        node(|job, class: &R<'a>| job.job.recordings[class.kernel.recording].rank),
        node_span(|job: Job<'a>, class: &R<'a>| Some(group_of(job, class.kernel))),
    ]);
    sheet(
        "nccl_summary_long",
        "Collective kernels by rank, group, collective, type, size and stream, most time first.",
        fields,
        kernel_classes,
    )
}

// nccl_implicit_sync

fn synchronising<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = &'a Synchronising;
    let mut fields: Vec<Field<Job<'a>, R<'a>>> = vec![ID.field(|row: &R<'_>| (&row.id).into())];
    let per_rank_columns = [IN_ELEMENTS, OUT_ELEMENTS, IN_SIZE, OUT_SIZE].map(|column| column.per("rank"));
    let columns: Vec<Column> =
        [GROUP, RANKS, NAME, SIZE, DTYPE].into_iter().chain(per_rank_columns).collect();
    fields.extend(described(&columns, |job, row: &R<'a>| first_kernel(job, &row.members)));
    fields.extend([
        FULL_SIZE.field(|row: &R<'_>| mib(row.bytes).into()),
        LATENCY.with_role(Role::Headline).per("rank").field(|row: &R<'_>| us(row.latency).into()),
        START_SKEW.field(|row: &R<'_>| us(row.start_skew).into()),
        Column::identifier(
            "earliest arrival rank",
            "Rank that entered first and waited longest; empty in a tie (in the TraceLens layout, the highest tied rank).",
        )
        .with_role(Role::Detail)
        .field(|row: &R<'_>| row.earliest.into()),
        Column::microseconds("avg_wait_time", "Mean time in µs that ranks waited for the last rank to enter.")
            .per("rank")
            .field(|row: &R<'_>| (row.mean_wait() / 1e3).into()),
        END_SKEW.field(|row: &R<'_>| us(row.end_skew).into()),
        ALGORITHM_BANDWIDTH.field(|row: &R<'_>| row.algorithm_bandwidth.into()),
        BUS_BANDWIDTH.field(|row: &R<'_>| row.bus_bandwidth.into()),
        Field::each(
            Column::new(
                "rank_…",
                ColumnKind::Number(Unit::Microseconds),
                "For each participating rank: start on the common clock, duration, and wait for the last rank to enter, in µs.",
            ).with_role(Role::Provenance)
            .per("rank"),
            |job: &Job<'a>| {
                let name = |(rank, of): (u32, RankColumn)| match of {
                    RankColumn::Start => format!("rank_{rank}_ts"),
                    RankColumn::Duration => format!("rank_{rank}_dur"),
                    RankColumn::Wait => format!("rank_{rank}_wait_time"),
                };
                job.collectives.rank_columns.iter().copied().map(name).collect()
            },
            |job: &Job<'a>, row: &R<'a>, at| {
                let Some(&(rank, of)) = job.collectives.rank_columns.get(at) else { return Cell::Missing };
                let member = row.members.iter().find(|member| member.rank == rank);
                let time = member.map(|member| match of {
                    RankColumn::Start => member.start,
                    RankColumn::Duration => member.duration,
                    RankColumn::Wait => member.wait,
                });
                time.map(us).into()
            },
        ),
        node_span(|job: Job<'a>, row: &R<'a>| first_kernel(job, &row.members).map(|kernel| group_of(job, kernel))),
    ]);
    sheet(
        "nccl_implicit_sync",
        "Individual synchronizing collectives (all members leave together); omitted if there are too many for a sheet.",
        fields,
        |job| job.collectives.synchronising.iter().collect(),
    )
}

const LATENCY: Column = Column::microseconds(
    "comm_latency",
    "Shortest duration on any rank in µs: the exchange itself, since this rank waited least.",
);
const TOTAL_LATENCY: Column =
    Column::milliseconds("Total comm latency (ms)", "Sum of comm_latency.").with_role(Role::Headline);
const START_SKEW: Column =
    Column::microseconds("skew in start time", "Latest minus earliest start in µs, on the common clock.");
const END_SKEW: Column =
    Column::microseconds("skew in end time", "Latest minus earliest end in µs, on the common clock.")
        .with_role(Role::Detail);
const ALGORITHM_BANDWIDTH: Column = Column::new(
    "algo bw (GB/s)",
    ColumnKind::Number(Unit::GibibytesPerSecond),
    "Full msg size / comm_latency in GiB/s (2³⁰ bytes). Empty if a rank's kernel is missing, because that kernel may be the shortest.",
);
const BUS_BANDWIDTH: Column = Column::new(
    "bus bw (GB/s)",
    ColumnKind::Number(Unit::GibibytesPerSecond),
    "algo bw × correction factor for link traffic, in GiB/s: 2(n−1)/n for all-reduce, (n−1)/n for all-gather, reduce-scatter and all-to-all (nccl-tests, doc/PERFORMANCE.md).",
);

// nccl_summary_implicit_sync

/// Collectives of one name, type and size.
struct SyncClass<'a> {
    first: &'a Synchronising,
    /// The first of them that has each.
    group: Option<&'a str>,
    size: Option<i64>,
    bytes: Option<i64>,
    count: usize,
    total: i64,
    latency: Vec<f64>,
    start_skew: Vec<f64>,
    end_skew: Vec<f64>,
    algorithm_bandwidth: Vec<f64>,
    bus_bandwidth: Vec<f64>,
}

fn sync_classes(job: Job<'_>) -> Vec<SyncClass<'_>> {
    let mut places: HashMap<_, usize> = HashMap::new();
    let mut classes: Vec<SyncClass<'_>> = Vec::new();
    for row in &job.collectives.synchronising {
        let Some(kernel) = first_kernel(job, &row.members) else { continue };
        let group = group_of(job, kernel);
        let key = (kernel.row.name.as_deref(), kernel.row.dtype.as_deref(), kernel.row.in_elements);
        let place = *places.entry(key).or_insert_with(|| {
            classes.push(SyncClass {
                first: row,
                group: None,
                size: None,
                bytes: None,
                count: 0,
                total: 0,
                latency: Vec::new(),
                start_skew: Vec::new(),
                end_skew: Vec::new(),
                algorithm_bandwidth: Vec::new(),
                bus_bandwidth: Vec::new(),
            });
            classes.len() - 1
        });
        let class = &mut classes[place];
        class.group = class.group.or(Some(name_of(job, group)));
        class.size = class.size.or(group.size);
        class.bytes = class.bytes.or(row.bytes);
        class.count += 1;
        class.total += row.latency;
        class.latency.push(us(row.latency));
        class.start_skew.push(us(row.start_skew));
        class.end_skew.push(us(row.end_skew));
        class.algorithm_bandwidth.extend(row.algorithm_bandwidth);
        class.bus_bandwidth.extend(row.bus_bandwidth);
    }
    classes.sort_few_by_key(|class| Reverse(class.total));
    classes
}

fn summary_of_synchronising<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = SyncClass<'a>;
    let text = |column: Column| {
        let cell = kernel_cell(&column);
        column.field_in(move |job: &Job<'a>, class: &R<'a>| {
            match first_kernel(job, &class.first.members).map(|kernel| cell(job, kernel)) {
                Some(Cell::Missing) | None => "Unknown".into(),
                Some(cell) => cell.text().into_owned().into(),
            }
        })
    };
    let has = |values: fn(&Synchronising) -> Option<f64>| {
        move |job: &Job<'a>| job.collectives.synchronising.iter().any(|row| values(row).is_some())
    };
    let fields: Vec<Field<Job<'a>, R<'a>>> = vec![
        text(NAME),
        text(DTYPE),
        text(Column::text(IN_ELEMENTS.name, "Number of a rank's input elements.")),
        GROUP.field(|class: &R<'_>| class.group.into()),
        SIZE.field(|class: &R<'_>| class.size.into()),
        FULL_SIZE.per("message").field(|class: &R<'_>| mib(class.bytes).into()),
        statistics(LATENCY.name, LATENCY.description, Unit::Microseconds, "collective", |class: &R<'a>| {
            Some(&class.latency)
        }),
        statistics(
            START_SKEW.name,
            START_SKEW.description,
            Unit::Microseconds,
            "collective",
            |class: &R<'a>| Some(&class.start_skew),
        ),
        statistics(END_SKEW.name, END_SKEW.description, Unit::Microseconds, "collective", |class: &R<'a>| {
            Some(&class.end_skew)
        }),
        statistics(
            ALGORITHM_BANDWIDTH.name,
            ALGORITHM_BANDWIDTH.description,
            Unit::GibibytesPerSecond,
            "collective",
            |class: &R<'a>| Some(&class.algorithm_bandwidth),
        )
        .when(has(|row| row.algorithm_bandwidth)),
        statistics(
            BUS_BANDWIDTH.name,
            BUS_BANDWIDTH.description,
            Unit::GibibytesPerSecond,
            "collective",
            |class: &R<'a>| Some(&class.bus_bandwidth),
        )
        .when(has(|row| row.bus_bandwidth)),
        Column::count("count", "Number of collectives.").field(|class: &R<'_>| class.count.into()),
        TOTAL_LATENCY.field(|class: &R<'_>| (us(class.total) / 1e3).into()),
    ];
    sheet(
        "nccl_summary_implicit_sync",
        "Synchronizing collectives (all members leave together) by name, type and size, most time first. Group and sizes \
         are from the row's first collective; group_summary has a row for each group.",
        fields,
        sync_classes,
    )
    .with_chart(
        Chart::new(
            "Collectives by exchange time",
            NAME.name,
            TOTAL_LATENCY.name,
            "time without waiting (ms)",
            ChartShape::Bars(15),
        )
        .told_by(&[DTYPE.name, FULL_SIZE.name]),
    )
}

// nccl_all2allv

/// What the members of an uneven exchange gave and took.
struct Exchanged<'a> {
    uneven: &'a Uneven,
    sizes: Vec<(Option<f64>, i64)>,
    elements: i64,
}

impl Exchanged<'_> {
    /// Sum of what all give, in MiB.
    fn total(&self) -> f64 {
        self.sizes.iter().filter_map(|(size, _)| *size).sum()
    }

    fn wall(&self) -> i64 {
        self.uneven.latest_end - self.uneven.earliest_start
    }

    fn durations(&self) -> impl Iterator<Item = i64> + Clone + '_ {
        self.sizes.iter().map(|(_, duration)| *duration)
    }

    fn mean_duration(&self) -> f64 {
        self.durations().sum::<i64>() as f64 / self.sizes.len() as f64
    }

    /// In GiB/s.
    fn throughput(&self) -> Option<f64> {
        (self.wall() > 0).then(|| self.total() / 1024.0 / (us(self.wall()) / 1e6))
    }

    fn rank_throughputs(&self) -> impl Iterator<Item = f64> + '_ {
        let rate = |&(size, duration): &(Option<f64>, i64)| {
            let size = size.filter(|&size| size > 0.0 && duration > 0)?;
            Some(size / 1024.0 / (us(duration) / 1e6))
        };
        self.sizes.iter().filter_map(rate)
    }

    fn imbalance(&self) -> Option<f64> {
        let sizes: Vec<f64> = self.sizes.iter().filter_map(|(size, _)| *size).collect();
        let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
        let largest = sizes.into_iter().reduce(f64::max)?;
        (mean > 0.0).then_some(largest / mean)
    }
}

fn exchanged<'a>(job: Job<'a>) -> Vec<Exchanged<'a>> {
    let of = |uneven: &'a Uneven| {
        let members = &uneven.members;
        let kernel = |member: &Member| &job.collectives.kernels[member.kernel];
        let size = |member: &Member| (mib(kernel(member).in_bytes), member.duration);
        let elements = members.iter().filter_map(|member| kernel(member).row.in_elements).sum();
        Exchanged { uneven, sizes: members.iter().map(size).collect(), elements }
    };
    job.collectives.uneven.iter().map(of).collect()
}

/// What a rank's kernel says of an uneven exchange, behind its start and duration.
const EXCHANGE_COLUMNS: [Column; 6] = [IN_ELEMENTS, OUT_ELEMENTS, IN_SIZE, OUT_SIZE, IN_SPLIT, OUT_SPLIT];

fn uneven<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = Exchanged<'a>;
    let mut fields: Vec<Field<Job<'a>, R<'a>>> = vec![ID.field(|row: &R<'_>| (&row.uneven.id).into())];
    let columns = [GROUP, RANKS, NAME, SIZE, DTYPE, STREAM];
    fields.extend(described(&columns, |job, row: &R<'a>| first_kernel(job, &row.uneven.members)));
    let exchange_cells = EXCHANGE_COLUMNS.map(|column| kernel_cell(&column));
    fields.extend([
        TOTAL_DATA.field(|row: &R<'_>| row.total().into()),
        Column::count("total nelems communicated", "Sum of input elements over all ranks.")
            .with_role(Role::Detail)
            .field(|row: &R<'_>| row.elements.into()),
        WALL_TIME.with_role(Role::Headline).field(|row: &R<'_>| us(row.wall()).into()),
        Column::microseconds("max_rank_dur (us)", "Longest duration on any rank.")
            .per("rank")
            .field(|row: &R<'_>| row.durations().max().map(us).into()),
        Column::microseconds("min_rank_dur (us)", "Shortest duration on any rank.")
            .per("rank")
            .field(|row: &R<'_>| row.durations().min().map(us).into()),
        Column::microseconds("avg_rank_dur (us)", "Mean duration over ranks.")
            .per("rank")
            .field(|row: &R<'_>| (row.mean_duration() / 1e3).into()),
        THROUGHPUT.field(|row: &R<'_>| row.throughput().into()),
        THROUGHPUT
            .named("max_rank_throughput (GB/s)")
            .described("Highest rate of any rank: its input / its duration, in GiB/s (2³⁰ bytes).")
            .per("rank")
            .field(|row: &R<'_>| row.rank_throughputs().reduce(f64::max).into()),
        THROUGHPUT
            .named("min_rank_throughput (GB/s)")
            .described("Lowest rate of any rank with input: its input / its duration, in GiB/s (2³⁰ bytes).")
            .per("rank")
            .field(|row: &R<'_>| row.rank_throughputs().reduce(f64::min).into()),
        IMBALANCE.field(|row: &R<'_>| row.imbalance().into()),
        START_SKEW.field(|row: &R<'_>| us(row.uneven.start_skew).into()),
        END_SKEW.field(|row: &R<'_>| us(row.uneven.end_skew).into()),
        Field::each(
            Column::nested("rank_…", "Start, duration, sizes and splits of each participating rank.")
                .with_role(Role::Provenance),
            |job: &Job<'a>| {
                let rank_names = |rank: u32| {
                    let names = ["ts", "dur"].into_iter().chain(EXCHANGE_COLUMNS.iter().map(|column| column.name));
                    names.map(move |column| format!("rank_{rank}_{column}"))
                };
                job.collectives.uneven_ranks.iter().copied().flat_map(rank_names).collect()
            },
            move |job: &Job<'a>, row: &R<'a>, at| {
                let columns = 2 + exchange_cells.len();
                let rank = job.collectives.uneven_ranks.get(at / columns).copied();
                let Some(member) = row.uneven.members.iter().find(|member| Some(member.rank) == rank) else {
                    return Cell::Missing;
                };
                match at % columns {
                    0 => us(member.start).into(),
                    1 => us(member.duration).into(),
                    place => exchange_cells[place - 2](job, &job.collectives.kernels[member.kernel]),
                }
            },
        ),
        Field::each(
            Column::new(
                "rank_…_skew",
                ColumnKind::Number(Unit::Microseconds),
                "For each rank, how long after the earliest rank it started and how long before the latest rank it ended, in µs.",
            )
            .with_role(Role::Provenance)
            .per("rank"),
            |job: &Job<'a>| {
                let skews =
                    |rank: u32| ["start", "end"].map(|which| format!("rank_{rank}_skew in {which} time"));
                job.collectives.uneven_ranks.iter().copied().flat_map(skews).collect()
            },
            |job: &Job<'a>, row: &R<'a>, at| {
                let rank = job.collectives.uneven_ranks.get(at / 2).copied();
                let member = row.uneven.members.iter().find(|member| Some(member.rank) == rank);
                let skew = member.map(|member| match at % 2 {
                    0 => member.start - row.uneven.earliest_start,
                    _ => row.uneven.latest_end - (member.start + member.duration),
                });
                skew.map(us).into()
            },
        ),
        node_span(|job: Job<'a>, row: &R<'a>| {
            first_kernel(job, &row.uneven.members).map(|kernel| group_of(job, kernel))
        }),
    ]);
    sheet("nccl_all2allv", "Individual uneven exchanges (all_to_allv), most data first.", fields, exchanged)
}

const TOTAL_DATA: Column = Column::new(
    "total data communicated (MB)",
    ColumnKind::Number(Unit::Mebibytes),
    "Sum of inputs over all ranks, in MiB.",
);
const WALL_TIME: Column =
    Column::microseconds("wall_time (us)", "From the earliest start to the latest end on any rank.");
const THROUGHPUT: Column = Column::new(
    "throughput (GB/s)",
    ColumnKind::Number(Unit::GibibytesPerSecond),
    "total data communicated / wall_time, in GiB/s (2³⁰ bytes).",
);
const IMBALANCE: Column = Column::new(
    "size_imbalance",
    ColumnKind::Number(Unit::One),
    "Largest amount sent by a rank divided by the mean; 1 if all send the same amount.",
);

// nccl_summary_all2allv

struct UnevenClass<'a> {
    first: &'a Kernel,
    group: &'a Group,
    data: Vec<f64>,
    wall: Vec<f64>,
    throughput: Vec<f64>,
    imbalance: Vec<f64>,
    longest: Vec<f64>,
    start_skew: Vec<f64>,
    end_skew: Vec<f64>,
}

fn summary_of_uneven<'a>() -> Sheet<'a, JobAnalysis> {
    type R<'a> = UnevenClass<'a>;
    fn classes(job: Job<'_>) -> Vec<UnevenClass<'_>> {
        let mut places: HashMap<_, usize> = HashMap::new();
        let mut classes: Vec<UnevenClass<'_>> = Vec::new();
        for row in exchanged(job) {
            let Some(first) = first_kernel(job, &row.uneven.members) else { continue };
            let group = group_of(job, first);
            let place =
                *places.entry((name_of(job, group), first.row.dtype.as_deref())).or_insert_with(|| {
                    let none = Vec::new;
                    let (data, wall, throughput, imbalance) = (none(), none(), none(), none());
                    let (longest, start_skew, end_skew) = (none(), none(), none());
                    classes.push(UnevenClass {
                        first,
                        group,
                        data,
                        wall,
                        throughput,
                        imbalance,
                        longest,
                        start_skew,
                        end_skew,
                    });
                    classes.len() - 1
                });
            let class = &mut classes[place];
            class.data.push(row.total());
            class.wall.push(us(row.wall()));
            class.throughput.extend(row.throughput());
            class.imbalance.extend(row.imbalance());
            class.longest.extend(row.durations().max().map(us));
            class.start_skew.push(us(row.uneven.start_skew));
            class.end_skew.push(us(row.uneven.end_skew));
        }
        classes.sort_few_by(|a, b| b.wall.iter().sum::<f64>().total_cmp(&a.wall.iter().sum()));
        classes
    }
    type Values = for<'c> fn(&'c UnevenClass<'_>) -> &'c [f64];
    let pair = |[mean, max]: [Column; 2], values: Values| {
        let of = |column: Column, statistic: Statistic| {
            column.per("exchange").field(move |class: &R<'_>| statistic.of(values(class)).into())
        };
        [of(mean, Statistic::Mean), of(max, Statistic::Max)]
    };
    let mut fields: Vec<Field<Job<'a>, R<'a>>> = vec![
        GROUP.with_role(Role::Name).field_in(|job: &Job<'a>, class: &R<'a>| name_of(job, class.group).into()),
        DTYPE.field(|class: &R<'_>| class.first.row.dtype.as_deref().into()),
        statistics(TOTAL_DATA.name, TOTAL_DATA.description, Unit::Mebibytes, "exchange", |class: &R<'a>| {
            Some(&class.data)
        }),
        statistics(WALL_TIME.name, WALL_TIME.description, Unit::Microseconds, "exchange", |class: &R<'a>| {
            Some(&class.wall)
        }),
        WALL_TIME
            .named("Total wall_time (us)")
            .described("Sum of wall_time.")
            .field(|class: &R<'_>| class.wall.iter().sum::<f64>().into()),
        statistics(
            THROUGHPUT.name,
            THROUGHPUT.description,
            Unit::GibibytesPerSecond,
            "exchange",
            |class: &R<'a>| Some(&class.throughput),
        ),
    ];
    const LONGEST: Column =
        Column::microseconds("", "Longest duration on any rank in µs: mean and maximum over exchanges.");
    let imbalance = [IMBALANCE.named("size_imbalance_mean"), IMBALANCE.named("size_imbalance_max")];
    let longest = [LONGEST.named("max_rank_dur (us)_mean"), LONGEST.named("max_rank_dur (us)_max")];
    let starts = [START_SKEW.named("skew in start time_mean"), START_SKEW.named("skew in start time_max")];
    let ends = [END_SKEW.named("skew in end time_mean"), END_SKEW.named("skew in end time_max")];
    fields.extend(pair(imbalance, |class| &class.imbalance));
    fields.extend(pair(longest, |class| &class.longest));
    fields.extend(pair(starts, |class| &class.start_skew));
    fields.extend(pair(ends, |class| &class.end_skew));
    fields.extend([
        Column::count("count", "Number of exchanges.").field(|class: &R<'_>| class.data.len().into()),
        RANKS.field(|class: &R<'_>| class.group.ranks_text.as_deref().into()),
        NAME.with_role(Role::Detail).field(|class: &R<'_>| class.first.row.name.as_deref().into()),
        SIZE.field(|class: &R<'_>| class.group.size.into()),
        node_span(|_, class: &R<'a>| Some(class.group)),
        Column::milliseconds("Total wall_time (ms)", "Sum of wall_time.")
            .with_role(Role::Headline)
            .field(|class: &R<'_>| (class.wall.iter().sum::<f64>() / 1e3).into()),
    ]);
    sheet("nccl_summary_all2allv", "Uneven exchanges by group and type, most time first.", fields, classes)
}

// nccl_all2allv_heatmap

fn sent<'a>() -> Sheet<'a, JobAnalysis> {
    type R = Sent;
    const MIB: ColumnKind = ColumnKind::Number(Unit::Mebibytes);
    let fields: Vec<Field<Job<'a>, R>> = vec![
        Column::identifier("src_rank", "Sending rank.")
            .with_role(Role::Name)
            .field(|sent: &R| sent.source.into()),
        Column::identifier(
            "dst_rank",
            "Receiving rank (in the TraceLens layout, its position in the group).",
        )
        .with_role(Role::Name)
        .field(|sent: &R| sent.destination.into()),
        Column::new("total_sent_MB", MIB, "Data sent in all exchanges, in MiB.")
            .with_role(Role::Headline)
            .field(|sent: &R| mib(Some(sent.bytes)).into()),
        Column::new("avg_sent_MB", MIB, "Mean data sent per exchange, in MiB.")
            .per("exchange")
            .field(|sent: &R| mib(Some(sent.bytes)).map(|size| size / sent.count as f64).into()),
        Column::count("count", "Number of exchanges.").field(|sent: &R| sent.count.into()),
    ];
    sheet(
        "nccl_all2allv_heatmap",
        "Data that each rank sent to every other rank in uneven exchanges; with --all2allv_heatmap.",
        fields,
        |job| job.collectives.sent.clone(),
    )
}

// straggler_summary

const RANK: Column = Column::identifier("rank", "Rank.").with_role(Role::Name);
const WAITED: Column = Column::microseconds(
    "total_wait_time_us",
    "Time the rank waited in collectives for the last rank to enter. The straggler waits least.",
)
.with_role(Role::Headline);
const LAST: Column =
    Column::count("times_arrived_last", "Number of collectives the rank entered last, delaying all others.");
const LAST_PERCENT: Column = Column::percent(
    "pct_arrived_last",
    "times_arrived_last as a share of the rank's collectives (in the TraceLens layout, of the job's collectives).",
);

fn stragglers<'a>() -> Sheet<'a, JobAnalysis> {
    type R = Straggler;
    let shown = |job: &Job<'_>, value: f64| match job.options.conventions.rounding {
        Rounding::Exact => value,
        Rounding::Tenths => (value * 10.0).round_ties_even() / 10.0,
    };
    let fields: Vec<Field<Job<'a>, R>> = vec![
        RANK.field(|rank: &R| rank.rank.into()),
        WAITED.field_in(move |job: &Job<'a>, rank: &R| shown(job, us(rank.waiting)).into()),
        Column::microseconds("mean_wait_time_us", "total_wait_time_us per collective of the rank.")
            .per("collective")
            .field_in(move |job: &Job<'a>, rank: &R| {
                shown(job, us(rank.waiting) / rank.collectives as f64).into()
            }),
        LAST.field(|rank: &R| rank.last.into()),
        Column::count("times_arrived_first", "Number of collectives the rank entered first.")
            .field(|rank: &R| rank.first.into()),
        LAST_PERCENT.field_in(move |job: &Job<'a>, rank: &R| {
            shown(job, 100.0 * rank.last as f64 / rank.of as f64).into()
        }),
        Column::count(
            "num_collectives",
            "Number of collectives the rank took part in (in the TraceLens layout, all collectives of the job).",
        )
        .field(|rank: &R| rank.of.into()),
        Column::microseconds(
            "total_nccl_dur_us",
            "Sum of the durations of the rank's collective kernels, including waits.",
        )
        .field_in(move |job: &Job<'a>, rank: &R| shown(job, us(rank.duration)).into()),
        node(|_, rank: &R| rank.rank),
    ];
    sheet(
        "straggler_summary",
        "Ranks by time spent waiting for others in synchronizing collectives (all members leave together), shortest first.",
        fields,
        |job| job.collectives.stragglers.clone(),
    )
    .with_excerpt(Excerpt::new(
        4,
        [("rank", RANK), ("waited µs", WAITED), ("last", LAST), ("% last", LAST_PERCENT)],
    ))
    .with_chart(Chart::new(
        "Waiting by rank",
        RANK.name,
        WAITED.name,
        "time waited for other ranks (µs)",
        ChartShape::Bars(64),
    ))
}
