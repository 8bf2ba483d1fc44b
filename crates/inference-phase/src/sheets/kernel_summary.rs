//! Kernels within a phase.

use polars::prelude::{DataFrame, PolarsResult};
use tree_perf::{ChartShape, Column, KERNEL_TABLE_COLUMNS, SheetChart, kernel_table};

use super::phase_analysis::{PhaseAnalysis, PhaseMethod};
use super::{Build, PhaseSheet};
use crate::phase::Phase;

const COLUMNS: &[Column] = &{
    let mut columns = KERNEL_TABLE_COLUMNS;
    let last = columns.len() - 1;
    columns[last].description = "Sum as a share of the summed durations of the phase's kernels, in percent.";
    columns
};

pub(super) const fn sheet(name: &'static str, phase: Phase) -> PhaseSheet {
    PhaseSheet {
        name,
        description: "Kernels of one phase of inference by operator, name and stream, most time first; with --inference_phase_analysis and --enable_kernel_summary only. Kernels of communication and kernels without a launch in the trace are included, copies and fills are not. The reference tool never writes this sheet, and neither does --phase_legacy.",
        columns: COLUMNS,
        chart: Some(SheetChart {
            title: "Kernels of the phase by time",
            categories: "Kernel name",
            values: "Kernel duration (µs)_sum",
            axis: "kernel time (µs)",
            shape: ChartShape::Bars(10),
        }),
        build: Build::OfPhase(phase, build),
    }
}

fn build(phases: &PhaseAnalysis<'_>, phase: Phase) -> PolarsResult<Option<DataFrame>> {
    let is_legacy = matches!(phases.options.method, PhaseMethod::Legacy(_));
    if is_legacy || !phases.analysis.options().kernel_summary {
        return Ok(None);
    }
    kernel_table(phases.analysis, |kernel| phases.phase_of(kernel) == phase)
}
