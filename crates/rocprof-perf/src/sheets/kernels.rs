//! Kernels by name, by category and one by one, and those too short to be worth a launch.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::{SortFew, Summary, summaries};
use operator_sheets::{per_iteration, short_kernel_histogram};
use sheets::ColumnKind::{Count, Text, Whole};
use sheets::Unit::Nanoseconds;
use sheets::columns::DIRECT_MS;
use sheets::columns::rocprof_kernels::{MAX, MEAN, MEDIAN, MIN, STD, TOTAL};
use sheets::columns::{CUMULATIVE, SHARE_OF_KERNEL_TIME};
use sheets::names;
use sheets::{Chart, ChartShape, Column, Excerpt, Field, Figure, Role, Sheet, percent};
use trace_ingest::rocprof::{Dispatch, Launch};

use crate::analysis::{KernelGroup, RocprofAnalysis};
use crate::conventions::{Cumulation, TimeUnits, cumulated_as_found};

/// What the rows of these sheets share.
type Context<'a> = &'a RocprofAnalysis;

const NAME: Column = Column::new("name", Text, "Name of the kernel, in the requested form.");
const COUNT: Column = Column::new("Count", Count, "");
const CATEGORY: Column = Column::new(
    "op category",
    Text,
    "Category by full kernel name, as in trace reports: GEMM, SDPA_fwd (attention), CONV_fwd, NORM_fwd, elementwise, reduce, copy/fill, communication and so on; other if the name is not recognized. In the TraceLens layout: GEMM, Elementwise, Reduction, Convolution, Normalization, Attention, Memory, COMM, Other.",
);
/// What rests on the durations of kernels.
const DURATION_FIGURES: &[Figure] = &[Figure::OpsSummary, Figure::SumsOfDeviceTime];
const CATEGORY_TOTAL: Column = TOTAL.named(DIRECT_MS.name).showing(DURATION_FIGURES);

/// A column in µs of times that are whole nanoseconds.
fn whole_time<'a, R>(
    column: Column,
    nanoseconds: impl Fn(&R) -> i64 + Copy + Send + Sync + 'static,
) -> Field<Context<'a>, R> {
    let kind = move |analysis: &Context<'_>| match analysis.options().conventions.units {
        TimeUnits::Header => column.kind,
        TimeUnits::AThousandthBelow => Whole(Nanoseconds),
    };
    Field::with_kind(column, kind, move |analysis: &Context<'_>, row| {
        match analysis.options().conventions.units {
            TimeUnits::Header => analysis.us(nanoseconds(row) as f64).into(),
            TimeUnits::AThousandthBelow => nanoseconds(row).into(),
        }
    })
}

/// A share in percent; nothing has no share of nothing.
fn share(part: i64, whole: i64) -> f64 {
    percent(part, whole).unwrap_or(0.0)
}

/// Kernels with something in common, and the share of all kernel time down to their row.
type Ranked<K> = (K, Summed, f64);

/// How many kernels there are, and the sum of their durations in nanoseconds.
#[derive(Clone, Copy, Default)]
struct Summed {
    count: usize,
    time: i64,
}

/// The rows, most time first.
fn ranked<K>(analysis: &RocprofAnalysis, mut rows: Vec<(K, Summed)>) -> Vec<Ranked<K>> {
    let total = analysis.groups().total;
    if analysis.options().conventions.cumulation == Cumulation::AsFound {
        let rows = cumulated_as_found(rows, total, |(_, summed)| summed.time);
        return rows.into_iter().map(|((key, summed), running)| (key, summed, running)).collect();
    }
    rows.sort_few_by_key(|(_, summed)| Reverse(summed.time));
    let mut running = 0_i64;
    let add = |(key, summed): (K, Summed)| {
        running = running.saturating_add(summed.time);
        (key, summed, share(running, total))
    };
    rows.into_iter().map(add).collect()
}

/// The columns of the share in all kernel time.
fn shares<'a, K>() -> [Field<Context<'a>, Ranked<K>>; 2] {
    [
        SHARE_OF_KERNEL_TIME.showing(&[Figure::SharesOfDeviceTime]).field_in(
            |analysis: &Context<'_>, (_, summed, _): &Ranked<K>| {
                share(summed.time, analysis.groups().total).into()
            },
        ),
        CUMULATIVE.field(|&(.., running): &Ranked<K>| running.into()),
    ]
}

/// The sheets `kernel_summary` and `kernel_summary_by_category`.
pub(super) fn summary_sheets<'a>() -> [Sheet<'a, RocprofAnalysis>; 2] {
    [by_name(), by_category()]
}

fn by_name<'a>() -> Sheet<'a, RocprofAnalysis> {
    type Row<'a> = Ranked<(&'a str, &'static str, Summary)>;
    let durations = [
        NAME.field(|((name, ..), ..): &Row<'_>| (*name).into()),
        COUNT.described("Number of kernel executions.").field(|(_, summed, _): &Row<'_>| summed.count.into()),
        MEAN.field_in(|analysis: &Context<'_>, ((.., durations), ..): &Row<'_>| {
            analysis.us(durations.mean).into()
        }),
        MEDIAN.field_in(|analysis: &Context<'_>, ((.., durations), ..): &Row<'_>| {
            analysis.us(durations.median).into()
        }),
        STD.field_in(|analysis: &Context<'_>, ((.., durations), ..): &Row<'_>| {
            durations.sample_std.map(|std| analysis.us(std)).into()
        }),
        whole_time(MIN, |((.., durations), ..): &Row<'_>| durations.min),
        whole_time(MAX, |((.., durations), ..): &Row<'_>| durations.max),
    ];
    let sums = [
        TOTAL.showing(DURATION_FIGURES).field_in(|analysis: &Context<'_>, (_, summed, _): &Row<'_>| {
            analysis.ms(summed.time as f64).into()
        }),
        CATEGORY
            .named("Category")
            .with_role(Role::Detail)
            .field(|((_, category, _), ..): &Row<'_>| (*category).into()),
        per_iteration(&[], |(_, summed, _): &Row<'_>| summed.time as f64),
    ];
    let fields = durations.into_iter().chain(shares()).chain(sums);
    Sheet::with_context(
        names::KERNEL_SUMMARY,
        "Kernels by name, most time first; kernels with the same name but different work have separate rows; omitted if the kernel summary is disabled.",
        fields,
        |analysis: &'a RocprofAnalysis| {
            let row = |group: &KernelGroup| {
                let durations = group.durations;
                let name = analysis.names()[group.name as usize].as_str();
                let summed = Summed { count: durations.count, time: durations.sum };
                ((name, group.category, durations), summed)
            };
            let rows = || analysis.groups().rows.iter().map(row).collect();
            (!analysis.options().disable_kernel_summary).then(|| (analysis, ranked(analysis, rows())))
        },
    )
    .with_chart(Chart::new(
        "Kernels by time",
        NAME.name,
        TOTAL.name,
        "kernel time (ms)",
        ChartShape::Bars(10),
    ))
    .with_excerpt(excerpt(10, "kernel", NAME, TOTAL))
}

fn by_category<'a>() -> Sheet<'a, RocprofAnalysis> {
    type Row = Ranked<&'static str>;
    let sums = [
        CATEGORY.field(|(category, ..): &Row| (*category).into()),
        COUNT.described("Number of kernels.").field(|(_, summed, _): &Row| summed.count.into()),
        CATEGORY_TOTAL
            .field_in(|analysis: &Context<'_>, (_, summed, _): &Row| analysis.ms(summed.time as f64).into()),
        per_iteration(&[], |(_, summed, _): &Row| summed.time as f64),
    ];
    Sheet::with_context(
        names::KERNEL_SUMMARY_BY_CATEGORY,
        "Kernels by category, most time first; omitted if the kernel summary is disabled.",
        sums.into_iter().chain(shares()),
        |analysis: &'a RocprofAnalysis| {
            if analysis.options().disable_kernel_summary {
                return None;
            }
            let mut categories: BTreeMap<&'static str, Summed> = BTreeMap::new();
            for group in &analysis.groups().rows {
                let summed = categories.entry(group.category).or_default();
                summed.count += group.durations.count;
                summed.time = summed.time.saturating_add(group.durations.sum);
            }
            Some((analysis, ranked(analysis, categories.into_iter().collect())))
        },
    )
    .with_chart(Chart::new(
        "Kernel time by category",
        CATEGORY.name,
        CATEGORY_TOTAL.name,
        "kernel time (ms)",
        ChartShape::Bars(12),
    ))
    .with_excerpt(excerpt(6, "category", CATEGORY, CATEGORY_TOTAL))
}

fn excerpt(rows: usize, header: &'static str, name: Column, total: Column) -> Excerpt {
    Excerpt::new(
        rows,
        [(header, name), ("calls", COUNT), ("kernel ms", total), ("% of kernel time", SHARE_OF_KERNEL_TIME)],
    )
}

/// A column of the size of a launch.
fn size<'a>(column: Column, size: fn(&Launch) -> u32) -> Field<Context<'a>, &'a Dispatch> {
    column.field_in(move |analysis: &Context<'_>, dispatch: &&Dispatch| {
        size(&analysis.profile().launches[dispatch.launch as usize]).into()
    })
}

/// Kernels one by one.
pub(super) fn details<'a>() -> Sheet<'a, RocprofAnalysis> {
    let fields = [
        NAME.field_in(|analysis: &Context<'_>, dispatch: &&Dispatch| {
            analysis.names()[analysis.name_of_kernel(dispatch.kernel) as usize].as_str().into()
        }),
        whole_time(
            Column::microseconds("Kernel duration (µs)", "From start to end.").with_role(Role::Headline),
            |dispatch: &&Dispatch| dispatch.duration().0,
        ),
        // The numbers of a profile have 64 bits without a sign, those of a column with one.
        Column::identifier("stream", "HIP stream; 0 is the default stream.")
            .field(|dispatch: &&Dispatch| (dispatch.stream as i64).into()),
        Column::identifier(
            "dispatch_id",
            "Position in dispatch order, from 1; 0 if the profile does not number dispatches.",
        )
        .field(|dispatch: &&Dispatch| (dispatch.dispatch_id as i64).into()),
        size(
            Column::count(
                "grid_x",
                "Work items along x (not work groups), or the product over x, y and z if only that is recorded.",
            ),
            |launch| launch.grid[0],
        ),
        size(Column::count("grid_y", "Work items along y."), |launch| launch.grid[1]),
        size(Column::count("grid_z", "Work items along z."), |launch| launch.grid[2]),
        size(
            Column::count(
                "block_x",
                "Work items per work group along x, or the product over x, y and z if only that is recorded.",
            )
            .per("work group"),
            |launch| launch.workgroup[0],
        ),
        size(Column::count("block_y", "Work items per work group along y.").per("work group"), |launch| {
            launch.workgroup[1]
        }),
        size(Column::count("block_z", "Work items per work group along z.").per("work group"), |launch| {
            launch.workgroup[2]
        }),
        Column::text("agent_id", "GPU, as named in the profile; empty if not named.")
            .with_role(Role::Detail)
            .field_in(|analysis: &Context<'_>, dispatch: &&Dispatch| match dispatch.agent {
                Some(agent) => analysis.profile().agents[agent as usize].label.as_str().into(),
                None => analysis.options().conventions.unknown_agent.into(),
            }),
        Column::identifier("thread_id", "Launching thread; 0 if not recorded.")
            .field(|dispatch: &&Dispatch| dispatch.thread.into()),
    ];
    Sheet::with_context(
        "kernel_details",
        "Individual kernels, longest first, ties in dispatch order; on request.",
        fields,
        |analysis: &'a RocprofAnalysis| {
            if !analysis.options().kernels.kernel_details {
                return None;
            }
            let mut rows: Vec<&Dispatch> = analysis.dispatches().collect();
            rows.sort_by_key(|dispatch| (Reverse(dispatch.duration()), dispatch.dispatch_id));
            rows.truncate(analysis.options().kernels.topk_kernels.unwrap_or(usize::MAX));
            Some((analysis, rows))
        },
    )
}

/// The kernels below the threshold, which TraceLens takes for one in nanoseconds.
pub(crate) fn short_kernels(analysis: &RocprofAnalysis) -> impl Iterator<Item = &Dispatch> {
    let threshold = analysis.options().kernels.short_kernel_threshold_us;
    analysis.dispatches().filter(move |dispatch| analysis.us(dispatch.duration().0 as f64) < threshold)
}

/// The sheets `short_kernels_summary` and `short_kernel_histogram`.
pub(super) fn short<'a>() -> [Sheet<'a, RocprofAnalysis>; 2] {
    let histogram = short_kernel_histogram(names::SHORT_KERNEL_HISTOGRAM, |analysis: &RocprofAnalysis| {
        let durations = || short_kernels(analysis).map(|dispatch| analysis.us(dispatch.duration().0 as f64));
        let options = analysis.options();
        options
            .kernels
            .short_kernel_study
            .then(|| (durations().collect(), options.kernels.short_kernel_histogram_bins))
    });
    [short_by_name(), histogram]
}

fn short_by_name<'a>() -> Sheet<'a, RocprofAnalysis> {
    /// Durations of the kernels of a name, by its position.
    type Row = (u32, Summary);
    let fields = [
        NAME.field_in(|analysis: &Context<'_>, (name, _): &Row| {
            analysis.names()[*name as usize].as_str().into()
        }),
        Column::count("Short Kernel count", "Number of kernel executions shorter than the threshold.")
            .field(|(_, durations): &Row| durations.count.into()),
        whole_time(
            Column::microseconds("Short Kernel duration (µs) sum", "Sum of short kernel durations.")
                .with_role(Role::Headline),
            |(_, durations): &Row| durations.sum,
        ),
        Column::microseconds("Short Kernel duration (µs) mean", "Mean short kernel duration.")
            .per("kernel")
            .field_in(|analysis: &Context<'_>, (_, durations): &Row| {
                (analysis.us(durations.sum as f64) / durations.count as f64).into()
            }),
        Column::percent(
            "Short Kernel duration (µs) percent of total time",
            "Time of short kernels as a share of the time of all kernels, short or not.",
        )
        .with_role(Role::Headline)
        .field_in(|analysis: &Context<'_>, (_, durations): &Row| {
            share(durations.sum, analysis.groups().total).into()
        }),
    ];
    Sheet::with_context(
        names::SHORT_KERNELS_SUMMARY,
        "Kernels below the threshold by name, most time first; on request.",
        fields,
        |analysis: &'a RocprofAnalysis| {
            let name = |dispatch: &Dispatch| analysis.name_of_kernel(dispatch.kernel);
            let durations =
                || short_kernels(analysis).map(|dispatch| (name(dispatch), dispatch.duration().0));
            analysis.options().kernels.short_kernel_study.then(|| (analysis, summaries(durations())))
        },
    )
}
