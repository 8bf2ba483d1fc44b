//! Device time by operator within a phase.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use polars::prelude::{DataFrame, PolarsResult};
use trace_ingest::StringId;
use tree_perf::{ChartShape, Column, ColumnKind, FrameBuilder, SheetChart, Unit};

use super::phase_analysis::{PhaseAnalysis, PhaseMethod};
use super::{Build, PhaseSheet};
use crate::methods::{kernel_category, legacy_kernel_category};
use crate::phase::Phase;

const COLUMNS: &[Column] = &[
    Column::new(
        "Kernel categories",
        ColumnKind::Text,
        "Kinds of work of the kernels that these calls launched, by the kernels' names; with --phase_legacy those of the first call, in the reference tool's words.",
    ),
    Column::new(
        "name",
        ColumnKind::Text,
        "Operator, as the profiler names it; a runtime call where device work was launched outside any operator, such as the launch of a captured graph.",
    ),
    Column::new(
        "total_direct_kernel_time_sum",
        ColumnKind::Number(Unit::Microseconds),
        "Device time in µs, within the phase, of the kernels that the operator launched itself: per call the union of their spans, summed over calls; communication kernels are left out.",
    ),
    Column::new("Count", ColumnKind::Count, "Calls of the operator with device work in the phase."),
    Column::new(
        "total_direct_kernel_time_ms",
        ColumnKind::Number(Unit::Milliseconds),
        "total_direct_kernel_time_sum in ms.",
    ),
    Column::new(
        "Percentage (%)",
        ColumnKind::Number(Unit::Percent),
        "Share of the phase's direct kernel time, in percent.",
    ),
    Column::new(
        "Cumulative Percentage (%)",
        ColumnKind::Number(Unit::Percent),
        "Sum of Percentage (%) over this row and all above it, in percent.",
    ),
];

pub(super) const fn sheet(name: &'static str, phase: Phase) -> PhaseSheet {
    PhaseSheet {
        name,
        description: "Device time by operator within one phase of inference, most time first; with --inference_phase_analysis only. The sheets of all phases together have the device time of ops_summary.",
        columns: COLUMNS,
        chart: Some(SheetChart {
            title: "Operators of the phase by kernel time",
            categories: "name",
            values: "total_direct_kernel_time_ms",
            axis: "kernel time (ms)",
            shape: ChartShape::Bars(15),
        }),
        build: Build::OfPhase(phase, build),
    }
}

#[derive(Default)]
struct Group {
    time: i64,
    calls: i64,
    categories: BTreeSet<&'static str>,
}

fn build(phases: &PhaseAnalysis<'_>, phase: Phase) -> PolarsResult<Option<DataFrame>> {
    let trace = phases.analysis.trace();
    let events = trace.events();
    let is_legacy = matches!(phases.options.method, PhaseMethod::Legacy(_));
    let category = if is_legacy { legacy_kernel_category } else { kernel_category };
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
    if groups.is_empty() {
        return Ok(None);
    }
    let mut rows: Vec<(StringId, Group)> = groups.into_iter().collect();
    rows.sort_by_key(|(name, group)| (std::cmp::Reverse(group.time), trace.text(*name)));
    let total: i64 = rows.iter().map(|(_, group)| group.time).sum();
    let percent = |time: i64| if total > 0 { time as f64 / total as f64 * 100.0 } else { 0.0 };
    let us = |group: &Group| trace.to_microseconds(group.time);
    // From the whole number, so that it is rounded once.
    let ms = |group: &Group| group.time as f64 / (trace.time_unit().per_microsecond() * 1000) as f64;
    let running = rows.iter().scan(0, |sum, (_, group)| {
        *sum += group.time;
        Some(*sum)
    });

    let mut frame = FrameBuilder::default();
    let joined = |group: &Group| group.categories.iter().copied().collect::<Vec<_>>().join(", ");
    frame.text("Kernel categories", rows.iter().map(|(_, group)| Some(joined(group))));
    frame.text("name", rows.iter().map(|(name, _)| Some(trace.text(*name))));
    frame.float("total_direct_kernel_time_sum", rows.iter().map(|(_, group)| Some(us(group))));
    frame.integer("Count", rows.iter().map(|(_, group)| Some(group.calls)));
    frame.float("total_direct_kernel_time_ms", rows.iter().map(|(_, group)| Some(ms(group))));
    frame.float("Percentage (%)", rows.iter().map(|(_, group)| Some(percent(group.time))));
    frame.float("Cumulative Percentage (%)", running.map(|sum| Some(percent(sum))));
    frame.finish().map(Some)
}
