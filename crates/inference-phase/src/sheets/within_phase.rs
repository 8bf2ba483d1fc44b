//! Device work within a phase, by operator and by kernel.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use gpu_timeline::SortFew;
use perf_models::{kernel_class, tracelens_engine_kernel};
use sheets::{Chart, ChartShape, Column, Figure, Layout, Role, Sheet};
use trace_ingest::{PerString, StringId};
use tree_perf::KernelTable;

use super::phase_analysis::{PhaseAnalysis, PhaseMethod};
use crate::step::Phase;

const NAME: Column = Column::text(
    "name",
    "Operator, as named by the profiler; a runtime call for device work launched outside any operator, such as a captured graph.",
);
const TIME_MS: Column =
    Column::milliseconds("total_direct_kernel_time_ms", "Device time, within the phase, of kernels launched by the operator itself: union of their spans per call, summed over calls.").showing(&[Figure::SumsOfDeviceTime]).with_role(Role::Headline);

struct Row<'a> {
    name: &'a str,
    time_us: f64,
    time_ms: f64,
    calls: i64,
    categories: BTreeSet<&'static str>,
    /// In percent; 0 where no kernel took any time.
    share: f64,
    running_share: f64,
}

/// One row per operator with device work in the phase.
pub(super) fn ops_summary<'a>(name: &'static str, phase: Phase) -> Sheet<'a, PhaseAnalysis<'a>> {
    let fields = [
        Column::text(
            "Kernel categories",
            "Categories of the launched kernels, by kernel name; with a TraceLens method, TraceLens's categories for the kernels of the first call.",
        ).with_role(Role::Detail)
        .field(|row: &Row<'_>| row.categories.iter().copied().collect::<Vec<_>>().join(", ").into()),
        NAME.field(|row: &Row<'_>| row.name.into()),
        Column::microseconds(
            "total_direct_kernel_time_sum",
            "Device time in µs, within the phase, of kernels launched by the operator itself: union of their spans per call, summed over calls.",
        ).showing(&[Figure::SumsOfDeviceTime]).only_in(Layout::Listed)
        .field(|row: &Row<'_>| row.time_us.into()),
        Column::count("Count", "Number of calls with device work in the phase.")
            .field(|row: &Row<'_>| row.calls.into()),
        TIME_MS.field(|row: &Row<'_>| row.time_ms.into()),
        Column::percent(
            "Percentage (%)",
            "Share of the phase's direct kernel time.",
        ).showing(&[Figure::SumsOfDeviceTime]).with_role(Role::Headline)
        .field(|row: &Row<'_>| row.share.into()),
        Column::percent(
            "Cumulative Percentage (%)",
            "Running sum of Percentage (%).",
        ).showing(&[Figure::SumsOfDeviceTime]).with_role(Role::Headline)
        .field(|row: &Row<'_>| row.running_share.into()),
    ];
    Sheet::new(
        name,
        "Device time by operator within one inference phase, most time first; needs --inference_phase_analysis. The sheets of all phases add up to ops_summary.",
        fields,
        move |phases| operators(phases, phase),
    ).with_sums_showing(&[Figure::OpsSummary])
    .with_chart(Chart::new(
        "Operators of the phase by kernel time",
        NAME.name,
        TIME_MS.name,
        "kernel time (ms)",
        ChartShape::Bars(15),
    ))
}

#[derive(Default)]
struct Group {
    time: i64,
    calls: i64,
    categories: BTreeSet<&'static str>,
}

fn operators<'a>(phases: &PhaseAnalysis<'a>, phase: Phase) -> Vec<Row<'a>> {
    let trace = phases.analysis.trace();
    let events = trace.events();
    let is_tracelens = matches!(phases.options.method, PhaseMethod::TraceLens(_));
    let communication = &phases.analysis.options().communication;
    let mut category = PerString::new(trace.strings(), |name| match is_tracelens {
        true => tracelens_engine_kernel(name),
        false => kernel_class(name, communication).map_or("Uncategorized", |class| class.detail),
    });
    let mut groups: BTreeMap<StringId, Group> = BTreeMap::new();
    let mut launchers = phases.analysis.launchers().enumerate();
    for part in phases.parts.iter().filter(|part| part.phase == phase) {
        // Parts are in the order of the launchers.
        let Some((_, row)) = launchers.find(|&(position, _)| position == part.launcher) else { break };
        let group = groups.entry(events.name(row.event)).or_default();
        if !is_tracelens || group.calls == 0 {
            for &kernel in row.kernels.iter().filter(|&&kernel| phases.phase_of(kernel) == phase) {
                group.categories.insert(category.get(events.name(kernel)));
            }
        }
        group.time += part.time;
        group.calls += 1;
    }
    let mut groups: Vec<(StringId, Group)> = groups.into_iter().collect();
    groups.sort_few_by_key(|(name, group)| (Reverse(group.time), trace.text(*name)));
    let total: i64 = groups.iter().map(|(_, group)| group.time).sum();
    let percent = |time: i64| if total > 0 { time as f64 / total as f64 * 100.0 } else { 0.0 };
    let rows = groups.into_iter().scan(0, |running, (name, group)| {
        *running += group.time;
        Some(Row {
            name: trace.text(name),
            time_us: trace.to_microseconds(group.time),
            // From the whole number, so that it is rounded once.
            time_ms: group.time as f64 / (trace.time_unit().per_microsecond() * 1000) as f64,
            calls: group.calls,
            categories: group.categories,
            share: percent(group.time),
            running_share: percent(*running),
        })
    });
    rows.collect()
}

/// One row per operator, kernel and stream in the phase.
pub(super) fn kernel_summary<'a>(name: &'static str, phase: Phase) -> Sheet<'a, PhaseAnalysis<'a>> {
    Sheet::with_context(
        name,
        "Kernels of one inference phase by operator, name and stream, most time first; needs --inference_phase_analysis and the kernel summary. Includes communication kernels and kernels without a launch in the trace; excludes copies and fills. TraceLens does not write this sheet, so it is omitted with TraceLens methods.",
        KernelTable::fields("Sum as a share of the summed durations of the phase's kernels."),
        move |phases: &PhaseAnalysis<'a>| {
            let is_tracelens = matches!(phases.options.method, PhaseMethod::TraceLens(_));
            if is_tracelens || !phases.analysis.options().kernel_summary {
                return None;
            }
            KernelTable::rows(phases.analysis, |kernel| phases.phase_of(kernel) == phase)
        },
    )
    .with_chart(KernelTable::chart("Kernels of the phase by time"))
}
