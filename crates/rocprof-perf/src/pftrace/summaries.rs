//! `pftrace_kernel_summary` and `hip_summary`: kernels by name and launch configuration, and HIP calls by function.
//! Both have the same columns of time: for reading at the front, exact at the back.

use std::cmp::Reverse;
use std::hash::Hash;

use gpu_timeline::{SortFew, Summary};
use sheets::ColumnKind::Whole;
use sheets::Unit::Bytes;
use sheets::names;
use sheets::{Cell, Column, ColumnKind, Field, Layout, Role, Sheet, Unit, percent};
use trace_ingest::rocprof::{Call, Launch, Profile};
use trace_ingest::{Nanoseconds, StringId};

use super::gpu_kernels::{KernelRun, Labels};
use super::hip_launches::hip_calls;
use crate::IndexMap;
use crate::analysis::RocprofAnalysis;
use crate::options::{KernelBaseline, KernelGrouping};

/// Kernels or calls of a row, by what makes a row.
pub(super) struct Timed<K> {
    pub(super) key: K,
    /// In nanoseconds.
    pub(super) durations: Summary,
    /// Share of their sum in the baseline.
    percent: f64,
}

/// Groups durations, most time first; those of equal time in the order of their first records.
pub(super) fn timed<K: Copy + Eq + Hash>(
    durations: impl Iterator<Item = (K, Nanoseconds)>,
    baseline: Nanoseconds,
) -> Vec<Timed<K>> {
    let mut groups: IndexMap<K, Vec<i64>> = IndexMap::default();
    for (key, duration) in durations {
        groups.entry(key).or_default().push(duration.0);
    }
    let row = |(key, durations): (K, Vec<i64>)| {
        let durations = Summary::from_values(&durations)?;
        Some(Timed { key, durations, percent: percent(durations.sum, baseline.0).unwrap_or(0.0) })
    };
    let mut rows: Vec<Timed<K>> = groups.into_iter().filter_map(row).collect();
    rows.sort_few_by_key(|row| Reverse(row.durations.sum));
    rows
}

/// The columns for reading; `instances` says what their count is of.
fn readable<C, K>(instances: &'static str) -> [Field<C, Timed<K>>; 8] {
    let time = |column: Column, nanoseconds: fn(&Summary) -> f64| {
        column
            .only_in(Layout::Listed)
            .field(move |row: &Timed<K>| readable_time(nanoseconds(&row.durations)).into())
    };
    [
        Column::text("Time", "Time % with one decimal and percent sign.")
            .only_in(Layout::Listed)
            .field(|row: &Timed<K>| format!("{:.1}%", row.percent).into()),
        time(Column::text("Total Time", "Total Time (ns), converted to ms, μs or ns."), |times| {
            times.sum as f64
        }),
        Column::count("Instances", instances).field(|row: &Timed<K>| row.durations.count.into()),
        time(Column::text("Avg", "Avg (ns), converted to ms, μs or ns."), |times| times.mean),
        time(Column::text("Med", "Med (ns), converted to ms, μs or ns."), |times| times.median),
        time(Column::text("Min", "Min (ns), converted to ms, μs or ns."), |times| times.min as f64),
        time(Column::text("Max", "Max (ns), converted to ms, μs or ns."), |times| times.max as f64),
        time(Column::text("StdDev", "StdDev (ns), converted to ms, μs or ns."), |times| {
            times.population_std
        }),
    ]
}

const MEAN: Column = Column::new("Avg (ns)", EXACT, "Mean duration.");
const EXACT: ColumnKind = ColumnKind::Number(Unit::Nanoseconds);
const WHOLE: ColumnKind = ColumnKind::Whole(Unit::Nanoseconds);

/// The exact columns; `share` says what percentages are of, `one` what a row has several of.
fn exact<C, K>(share: &'static str, one: &'static str) -> [Field<C, Timed<K>>; 7] {
    let number = |column: Column, nanoseconds: fn(&Summary) -> f64| {
        column.per(one).field(move |row: &Timed<K>| nanoseconds(&row.durations).into())
    };
    let whole = |column: Column, nanoseconds: fn(&Summary) -> i64| {
        column.field(move |row: &Timed<K>| nanoseconds(&row.durations).into())
    };
    let spread = |column: Column| column.spread_of(MEAN.name).per(one);
    [
        Column::percent("Time %", share).with_role(Role::Headline).field(|row: &Timed<K>| row.percent.into()),
        whole(
            Column::new("Total Time (ns)", WHOLE, "Sum of durations.").with_role(Role::Headline),
            |times| times.sum,
        ),
        number(MEAN, |times| times.mean),
        number(
            spread(Column::new(
                "Med (ns)",
                EXACT,
                "Median duration; for an even count, the mean of the middle two.",
            )),
            |times| times.median,
        ),
        whole(spread(Column::new("Min (ns)", WHOLE, "Shortest duration.")), |times| times.min),
        whole(spread(Column::new("Max (ns)", WHOLE, "Longest duration.")), |times| times.max),
        number(
            spread(Column::new("StdDev (ns)", EXACT, "Population standard deviation (n) of durations.")),
            |times| times.population_std,
        ),
    ]
}

/// Nanoseconds in the largest unit of ms and μs (with three decimal places) of which there is one, else in whole ns.
/// The μ is the Greek letter.
fn readable_time(ns: f64) -> String {
    if ns >= 1e6 {
        format!("{:.3} ms", ns / 1e6)
    } else if ns >= 1e3 {
        format!("{:.3} \u{3bc}s", ns / 1e3)
    } else {
        format!("{} ns", ns as i64)
    }
}

/// What the rows of kernels share.
struct Kernels<'a> {
    labels: Labels,
    launches: &'a [Launch],
    by_configuration: bool,
}

/// Label of a kernel, and the position of its launch configuration where that makes a row.
type KernelKey = (u32, Option<u32>);

impl Kernels<'_> {
    fn launch(&self, row: &Timed<KernelKey>) -> Option<&Launch> {
        self.launches.get(row.key.1? as usize)
    }
}

/// A column of the launch configuration.
fn launch_field<'a>(
    column: Column,
    cell: fn(&Launch) -> Cell<'static>,
) -> Field<Kernels<'a>, Timed<KernelKey>> {
    column
        .with_role(Role::Detail)
        .field_in(move |kernels: &Kernels<'_>, row| kernels.launch(row).map(cell).into())
        .when(|kernels| kernels.by_configuration)
}

/// Three extents in columns of fixed width.
fn aligned([x, y, z]: [u32; 3]) -> Cell<'static> {
    format!("{x:>7} {y:>4} {z:>4}").into()
}

pub(super) fn kernel_summary<'a>() -> Sheet<'a, RocprofAnalysis> {
    let configuration = [
        launch_field(Column::text("GridXYZ", "GridX, GridY and GridZ.").only_in(Layout::Listed), |launch| {
            aligned(launch.grid)
        }),
        launch_field(
            Column::text("BlockXYZ", "BlockX, BlockY and BlockZ.").only_in(Layout::Listed),
            |launch| aligned(launch.workgroup),
        ),
        launch_field(Column::count("VGPR", "Vector registers per work item.").per("work item"), |launch| {
            launch.vgprs.into()
        }),
        launch_field(
            Column::count("AccumVGPR", "Accumulation registers per work item.").per("work item"),
            |launch| launch.accum_vgprs.into(),
        ),
        launch_field(Column::count("SGPR", "Scalar registers per wave.").per("wave"), |launch| {
            launch.sgprs.into()
        }),
        launch_field(
            Column::new("LDS", Whole(Bytes), "Local data share per work group, in bytes.").per("work group"),
            |launch| launch.group_segment.into(),
        ),
        launch_field(
            Column::new("Scratch", Whole(Bytes), "Scratch memory per work item, in bytes.").per("work item"),
            |launch| launch.private_segment.into(),
        ),
    ];
    let name = Column::text("Name", "Kernel; without digits if kernels differing only in digits are merged.")
        .field_in(|kernels: &Kernels<'_>, row: &Timed<KernelKey>| {
            kernels.labels.texts[row.key.0 as usize].as_str().into()
        });
    let dimensions = [
        launch_field(Column::count("GridX", "Work items of the grid along the first dimension; for Perfetto traces, the product of all dimensions.").per("launch"), |launch| launch.grid[0].into()),
        launch_field(Column::count("GridY", "Work items of the grid along the second dimension; 1 for Perfetto traces.").per("launch"), |launch| launch.grid[1].into()),
        launch_field(Column::count("GridZ", "Work items of the grid along the third dimension; 1 for Perfetto traces.").per("launch"), |launch| launch.grid[2].into()),
        launch_field(Column::count("BlockX", "Work items per work group along the first dimension; for Perfetto traces, the product of all dimensions.").per("work group"), |launch| launch.workgroup[0].into()),
        launch_field(Column::count("BlockY", "Work items per work group along the second dimension; 1 for Perfetto traces.").per("work group"), |launch| launch.workgroup[1].into()),
        launch_field(Column::count("BlockZ", "Work items per work group along the third dimension; 1 for Perfetto traces.").per("work group"), |launch| launch.workgroup[2].into()),
    ];
    let fields = readable("Number of kernels.")
        .into_iter()
        .chain(configuration)
        .chain([name])
        .chain(exact(
            "Share of the total time of all kernels that reach the minimum duration, excluding collectives \
             if the base is compute.",
            "kernel",
        ))
        .chain(dimensions);
    Sheet::with_context(
        "pftrace_kernel_summary",
        "Kernels of all GPUs by name and launch configuration, or by name alone, most time first. Excludes kernels below the minimum duration and, by default, collectives.",
        fields,
        kernel_rows,
    )
    .known_as(names::KERNEL_SUMMARY)
}

fn kernel_rows(analysis: &RocprofAnalysis) -> Option<(Kernels<'_>, Vec<Timed<KernelKey>>)> {
    let options = analysis.options().pftrace().filter(|options| !options.no_kernel_summary)?;
    let by_configuration = options.kernel_summary_group == KernelGrouping::Config;
    let kernels = analysis.gpu_kernels(options);
    let labels = Labels::new(&kernels.names, options.merge_kernels);
    let runs = || kernels.all().filter(|run| run.duration() >= options.min_event());
    let has_all = options.kernel_summary_baseline == KernelBaseline::Total;
    let baseline = runs().filter(|run| has_all || !run.kind.communicates).map(|run| run.duration()).sum();
    let shown = runs().filter(|run| options.kernel_summary_include_rccl || !run.kind.communicates);
    let key =
        |run: &KernelRun| (labels.label_positions[run.name as usize], by_configuration.then_some(run.launch));
    let rows = timed(shown.map(|run| (key(run), run.duration())), baseline);
    Some((Kernels { labels, launches: &analysis.profile().launches, by_configuration }, rows))
}

/// Function, stream and operation; 0 for what does not make a row.
type CallKey = (StringId, u64, u32);

/// What the rows of calls share.
struct Calls<'a> {
    profile: &'a Profile,
    by_stream: bool,
    by_operation: bool,
}

pub(super) fn hip_summary<'a>() -> Sheet<'a, RocprofAnalysis> {
    let names = [
        Column::identifier("Stream", "HIP stream; 0 if not recorded. Shown only if grouped by stream.")
            .field(|row: &Timed<CallKey>| row.key.1.into())
            .when(|calls: &Calls<'_>| calls.by_stream),
        Column::identifier(
            "Op",
            "Function number in the profiler's table; 0 if not recorded. Shown only if grouped by operation.",
        )
        .field(|row: &Timed<CallKey>| row.key.2.into())
        .when(|calls: &Calls<'_>| calls.by_operation),
        Column::text("Name", "Function.")
            .field_in(|calls: &Calls<'_>, row: &Timed<CallKey>| calls.profile.text(row.key.0).into()),
    ];
    let fields = readable("Number of calls.")
        .into_iter()
        .chain(names)
        .chain(exact("Share of the total time of all rows.", "call"));
    Sheet::with_context(
        "hip_summary",
        "HIP calls by function, most time first. Excludes calls below the minimum duration.",
        fields,
        call_rows,
    )
}

fn call_rows(analysis: &RocprofAnalysis) -> Option<(Calls<'_>, Vec<Timed<CallKey>>)> {
    let options = analysis.options().pftrace().filter(|options| !options.no_hip_summary)?;
    let profile = analysis.profile();
    let group = options.hip_summary_group;
    let (by_stream, by_operation) = (group.by_stream(), group.by_operation());
    let calls = || hip_calls(profile, options).filter(|call| call.duration() >= options.min_event());
    let key = |call: &Call| {
        let stream = if by_stream { call.stream } else { 0 };
        (call.name, stream, if by_operation { call.operation } else { 0 })
    };
    let baseline = calls().map(|call| call.duration()).sum();
    let rows = timed(calls().map(|call| (key(call), call.duration())), baseline);
    Some((Calls { profile, by_stream, by_operation }, rows))
}

#[cfg(test)]
mod tests {
    use super::readable_time;

    #[test]
    fn times_are_in_the_largest_unit_that_fits() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (999.6, "999 ns"),
            (1000.0, "1.000 μs"),
            (100_000.0, "100.000 μs"),
            (999_999.9, "1000.000 μs"),
            (1e6, "1.000 ms"),
            (12_345_678.0, "12.346 ms"),
        ] {
            assert_eq!(readable_time(ns), text);
        }
        assert!(readable_time(1500.0).contains('\u{3bc}'));
    }
}
