//! Device work within a phase, by operator and by kernel.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use perf_models::{engine_kernel, tracelens_engine_kernel};
use sheets::{Chart, ChartShape, Column, ColumnKind, Sheet, Unit};
use trace_ingest::StringId;
use tree_perf::KernelTable;

use super::phase_analysis::{PhaseAnalysis, PhaseMethod};
use crate::phase::Phase;

const NAME: Column = Column::new(
    "name",
    ColumnKind::Text,
    "Operator, as the profiler names it; a runtime call where device work was launched outside any operator, such as the launch of a captured graph.",
);
const TIME_MS: Column = Column::new(
    "total_direct_kernel_time_ms",
    ColumnKind::Number(Unit::Milliseconds),
    "total_direct_kernel_time_sum in ms.",
);

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
        Column::new(
            "Kernel categories",
            ColumnKind::Text,
            "Kinds of work of the kernels that these calls launched, by the kernels' names; with --phase_legacy those of the first call, in the reference tool's words.",
        )
        .field(|row: &Row<'_>| row.categories.iter().copied().collect::<Vec<_>>().join(", ").into()),
        NAME.field(|row: &Row<'_>| row.name.into()),
        Column::new(
            "total_direct_kernel_time_sum",
            ColumnKind::Number(Unit::Microseconds),
            "Device time in µs, within the phase, of the kernels that the operator launched itself: per call the union of their spans, summed over calls; communication kernels are left out.",
        )
        .field(|row: &Row<'_>| row.time_us.into()),
        Column::new("Count", ColumnKind::Count, "Calls of the operator with device work in the phase.")
            .field(|row: &Row<'_>| row.calls.into()),
        TIME_MS.field(|row: &Row<'_>| row.time_ms.into()),
        Column::new(
            "Percentage (%)",
            ColumnKind::Number(Unit::Percent),
            "Share of the phase's direct kernel time, in percent.",
        )
        .field(|row: &Row<'_>| row.share.into()),
        Column::new(
            "Cumulative Percentage (%)",
            ColumnKind::Number(Unit::Percent),
            "Sum of Percentage (%) over this row and all above it, in percent.",
        )
        .field(|row: &Row<'_>| row.running_share.into()),
    ];
    Sheet::new(
        name,
        "Device time by operator within one phase of inference, most time first; with --inference_phase_analysis only. The sheets of all phases together have the device time of ops_summary.",
        fields,
        move |phases| operators(phases, phase),
    )
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
    let is_legacy = matches!(phases.options.method, PhaseMethod::Legacy(_));
    let category = if is_legacy { tracelens_engine_kernel } else { engine_kernel };
    let mut known: HashMap<StringId, &'static str> = HashMap::new();
    let mut groups: BTreeMap<StringId, Group> = BTreeMap::new();
    let mut launchers = phases.analysis.launchers().enumerate();
    for part in phases.parts.iter().filter(|part| part.phase == phase) {
        // Parts are in the order of the launchers.
        let Some((_, row)) = launchers.find(|&(position, _)| position == part.launcher) else { break };
        let group = groups.entry(events.name(row.event)).or_default();
        if !is_legacy || group.calls == 0 {
            for &kernel in row.kernels.iter().filter(|&&kernel| phases.phase_of(kernel) == phase) {
                let name = events.name(kernel);
                group.categories.insert(known.entry(name).or_insert_with(|| category(trace.text(name))));
            }
        }
        group.time += part.time;
        group.calls += 1;
    }
    let mut groups: Vec<(StringId, Group)> = groups.into_iter().collect();
    groups.sort_by_key(|(name, group)| (Reverse(group.time), trace.text(*name)));
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
        "Kernels of one phase of inference by operator, name and stream, most time first; with --inference_phase_analysis and --enable_kernel_summary only. Kernels of communication and kernels without a launch in the trace are included, copies and fills are not. The reference tool never writes this sheet, and neither does --phase_legacy.",
        KernelTable::fields("Sum as a share of the summed durations of the phase's kernels, in percent."),
        move |phases: &PhaseAnalysis<'a>| {
            let is_legacy = matches!(phases.options.method, PhaseMethod::Legacy(_));
            if is_legacy || !phases.analysis.options().kernel_summary {
                return None;
            }
            KernelTable::rows(phases.analysis, |kernel| phases.phase_of(kernel) == phase)
        },
    )
    .with_chart(KernelTable::chart("Kernels of the phase by time"))
}
