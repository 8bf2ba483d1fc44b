//! `pftrace_kernel_summary` and `hip_summary`: kernels by name and launch configuration, and HIP calls by function.
//! Both have the same columns of time: for reading at the front, exact at the back.

use std::cmp::Reverse;
use std::hash::Hash;

use gpu_timeline::Summary;
use sheets::ColumnKind::{Count, Identifier, Number, Text, Whole};
use sheets::Unit::{Bytes, Percent};
use sheets::{Cell, ColumnKind, Field, Layout, Role, Sheet, Unit, percent};
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
    rows.sort_by_key(|row| Reverse(row.durations.sum));
    rows
}

/// The columns for reading; `instances` says what their count is of.
fn readable<C, K>(instances: &'static str) -> [Field<C, Timed<K>>; 8] {
    let time = |name, description, nanoseconds: fn(&Summary) -> f64| {
        Field::<C, Timed<K>>::new(Text, name, move |_, row| readable_time(nanoseconds(&row.durations)).into())
            .described(description)
            .only_in(Layout::Reference)
    };
    [
        Field::<C, Timed<K>>::new(Text, "Time", |_, row| format!("{:.1}%", row.percent).into())
            .described("Time %, with one decimal place and the sign.")
            .only_in(Layout::Reference),
        time("Total Time", "Total Time (ns) in ms, μs or ns.", |durations| durations.sum as f64),
        Field::<C, Timed<K>>::new(Count, "Instances", |_, row| row.durations.count.into())
            .described(instances),
        time("Avg", "Avg (ns) in ms, μs or ns.", |durations| durations.mean),
        time("Med", "Med (ns) in ms, μs or ns.", |durations| durations.median),
        time("Min", "Min (ns) in ms, μs or ns.", |durations| durations.min as f64),
        time("Max", "Max (ns) in ms, μs or ns.", |durations| durations.max as f64),
        time("StdDev", "StdDev (ns) in ms, μs or ns.", |durations| durations.population_std),
    ]
}

const MEAN: &str = "Avg (ns)";

/// The exact columns; `share` says what percentages are of, `one` what a row has several of.
fn exact<C, K>(share: &'static str, one: &'static str) -> [Field<C, Timed<K>>; 7] {
    let number = |name, description, nanoseconds: fn(&Summary) -> f64| {
        Field::<C, Timed<K>>::new(Number(Unit::Nanoseconds), name, move |_, row| {
            nanoseconds(&row.durations).into()
        })
        .described(description)
    };
    let whole = |name, description, nanoseconds: fn(&Summary) -> i64| {
        Field::<C, Timed<K>>::new(Whole(Unit::Nanoseconds), name, move |_, row| {
            nanoseconds(&row.durations).into()
        })
        .described(description)
    };
    [
        Field::<C, Timed<K>>::new(Number(Percent), "Time %", |_, row| row.percent.into())
            .described(share)
            .with_role(Role::Headline),
        whole("Total Time (ns)", "Sum of the durations in ns.", |durations| durations.sum)
            .with_role(Role::Headline),
        number(MEAN, "Mean duration in ns.", |durations| durations.mean).per(one),
        number(
            "Med (ns)",
            "Median duration in ns: of an even number the mean of the middle two.",
            |durations| durations.median,
        )
        .spread_of(MEAN)
        .per(one),
        whole("Min (ns)", "Shortest duration in ns.", |durations| durations.min).spread_of(MEAN).per(one),
        whole("Max (ns)", "Longest duration in ns.", |durations| durations.max).spread_of(MEAN).per(one),
        number(
            "StdDev (ns)",
            "Standard deviation of the durations in ns, of a population: divided by their number.",
            |durations| durations.population_std,
        )
        .spread_of(MEAN)
        .per(one),
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
    kind: ColumnKind,
    name: &'static str,
    cell: fn(&Launch) -> Cell<'static>,
) -> Field<Kernels<'a>, Timed<KernelKey>> {
    Field::new(kind, name, move |kernels: &Kernels<'_>, row| kernels.launch(row).map(cell).into())
        .when(|kernels| kernels.by_configuration)
        .with_role(Role::Detail)
}

/// Three extents in columns of fixed width.
fn aligned([x, y, z]: [u32; 3]) -> Cell<'static> {
    format!("{x:>7} {y:>4} {z:>4}").into()
}

pub(super) fn kernel_summary<'a>() -> Sheet<'a, RocprofAnalysis> {
    type F<'a> = Field<Kernels<'a>, Timed<KernelKey>>;
    let configuration = [
        launch_field(Text, "GridXYZ", |launch| aligned(launch.grid))
            .described("GridX, GridY and GridZ.")
            .only_in(Layout::Reference),
        launch_field(Text, "BlockXYZ", |launch| aligned(launch.workgroup))
            .described("BlockX, BlockY and BlockZ.")
            .only_in(Layout::Reference),
        launch_field(Count, "VGPR", |launch| launch.vgprs.into())
            .described("Vector registers of a work item.")
            .per("work item"),
        launch_field(Count, "AccumVGPR", |launch| launch.accum_vgprs.into())
            .described("Accumulation registers of a work item.")
            .per("work item"),
        launch_field(Count, "SGPR", |launch| launch.sgprs.into())
            .described("Scalar registers of a wave.")
            .per("wave"),
        launch_field(Whole(Bytes), "LDS", |launch| launch.group_segment.into())
            .described("Local data share of a work group, in bytes.")
            .per("work group"),
        launch_field(Whole(Bytes), "Scratch", |launch| launch.private_segment.into())
            .described("Scratch memory of a work item, in bytes.")
            .per("work item"),
    ];
    let name = F::new(Text, "Name", |kernels, row| kernels.labels.texts[row.key.0 as usize].as_str().into())
        .described("Kernel; without digits where kernels whose names differ in digits are merged.");
    let dimensions = [
        launch_field(Count, "GridX", |launch| launch.grid[0].into())
            .described("Work items of the grid along the first dimension; of Perfetto traces, which give the product only, the number of all.")
            .per("launch"),
        launch_field(Count, "GridY", |launch| launch.grid[1].into())
            .described("Along the second; 1 of Perfetto traces.")
            .per("launch"),
        launch_field(Count, "GridZ", |launch| launch.grid[2].into())
            .described("Along the third; 1 of Perfetto traces.")
            .per("launch"),
        launch_field(Count, "BlockX", |launch| launch.workgroup[0].into())
            .described("Work items of a work group along the first dimension; of Perfetto traces, which give the product only, the number of all.")
            .per("work group"),
        launch_field(Count, "BlockY", |launch| launch.workgroup[1].into())
            .described("Along the second; 1 of Perfetto traces.")
            .per("work group"),
        launch_field(Count, "BlockZ", |launch| launch.workgroup[2].into())
            .described("Along the third; 1 of Perfetto traces.")
            .per("work group"),
    ];
    let fields = readable("Kernels of the row.")
        .into_iter()
        .chain(configuration)
        .chain([name])
        .chain(exact(
            "Total time over that of all kernels that are long enough, in percent; or over that of computation where this is the baseline.",
            "kernel",
        ))
        .chain(dimensions);
    Sheet::with_context(
        "pftrace_kernel_summary",
        "Kernels of all GPUs by name and launch configuration, or by name alone, most time first. Kernels below the minimum duration are left out, and collectives unless they are included.",
        fields,
        kernel_rows,
    )
    .known_as("kernel_summary")
}

fn kernel_rows(analysis: &RocprofAnalysis) -> Option<(Kernels<'_>, Vec<Timed<KernelKey>>)> {
    let options = analysis.options().pftrace.as_ref().filter(|options| !options.no_kernel_summary)?;
    let by_configuration = options.kernel_summary_group == KernelGrouping::Config;
    let kernels = analysis.gpu_kernels(options);
    let labels = Labels::new(&kernels.names, options.merge_kernels);
    let runs = || kernels.all().filter(|run| run.duration() >= options.min_event);
    let has_all = options.kernel_summary_baseline == KernelBaseline::Total;
    let baseline = runs().filter(|run| has_all || !run.kind.communicates).map(|run| run.duration()).sum();
    let shown = runs().filter(|run| options.kernel_summary_include_rccl || !run.kind.communicates);
    let key = |run: &KernelRun| (labels.of_name[run.name as usize], by_configuration.then_some(run.launch));
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
    type F<'a> = Field<Calls<'a>, Timed<CallKey>>;
    let names = [
        F::new(Identifier, "Stream", |_, row| row.key.1.into())
            .described("HIP stream, 0 where the profile does not say; only where calls are grouped by stream.")
        .when(|calls: &Calls<'_>| calls.by_stream),
        F::new(Identifier, "Op", |_, row| row.key.2.into())
            .described("Number of the function in the profiler's table, 0 where the profile does not say; only where calls are grouped by operation.")
        .when(|calls: &Calls<'_>| calls.by_operation),
        F::new(Text, "Name", |calls, row| calls.profile.text(row.key.0).into()).described("Function."),
    ];
    let fields = readable("Calls of the row.")
        .into_iter()
        .chain(names)
        .chain(exact("Total time over that of all rows, in percent.", "call"));
    Sheet::with_context(
        "hip_summary",
        "HIP calls by function, most time first. Calls below the minimum duration are left out.",
        fields,
        call_rows,
    )
}

fn call_rows(analysis: &RocprofAnalysis) -> Option<(Calls<'_>, Vec<Timed<CallKey>>)> {
    let options = analysis.options().pftrace.as_ref().filter(|options| !options.no_hip_summary)?;
    let profile = analysis.profile();
    let group = options.hip_summary_group;
    let (by_stream, by_operation) = (group.by_stream(), group.by_operation());
    let calls = || hip_calls(profile, options).filter(|call| call.duration() >= options.min_event);
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
