//! Instructions by kind of name and by kind of work.

use std::collections::BTreeSet;

use polars::prelude::{DataFrame, PolarsResult};

use super::call_groups::{CallGroup, call_groups};
use super::columns::{CUMULATIVE, PERCENTAGE};
use super::of_gpus;
use super::operator_columns::{CALLS, CATEGORY, DIRECT_MS, STEM};
use tree_perf::{Column, ColumnKind};
use tree_perf::FrameBuilder;
use crate::analysis::JaxAnalysis;
use crate::record::text_list;
use tree_perf::{ChartShape, Sheet, SheetChart};

const KERNELS: Column = Column::new("num_kernels", ColumnKind::Count, "Kernels of these calls.");

/// One row per category.
pub(crate) const BY_CATEGORY: Sheet<JaxAnalysis> = Sheet {
    name: "ops_summary_by_category",
    current_name: "ops_summary_by_category",
    description: "Kernel time by kind of work of the instructions, most time first; copies and fills included.",
    columns: &[CATEGORY, CALLS, KERNELS, DIRECT_MS, PERCENTAGE, CUMULATIVE],
    chart: Some(SheetChart {
        title: "Kernel time by kind of work",
        categories: "op category",
        values: "total_direct_kernel_time_ms",
        axis: "kernel time (ms)",
        shape: ChartShape::Bars(16),
    }),
    build: |analysis| of_gpus(analysis, by_category),
};

fn by_category(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let groups = call_groups(analysis, |call| Some(analysis.operators()[call.operator].category.as_str()));
    let mut frame = FrameBuilder::default();
    let category = |group: &CallGroup<'_>| Some(group.operator(analysis).category.to_string());
    frame.text("op category", groups.iter().map(category));
    append(&mut frame, analysis, &groups);
    frame.finish().map(Some)
}

/// One row per name without number.
pub(crate) const BY_NAME: Sheet<JaxAnalysis> = Sheet {
    name: "ops_summary",
    current_name: "ops_summary",
    description: "Kernel time by kind of instruction, most time first; copies and fills included.",
    columns: &[
        STEM,
        Column::new("Categories", ColumnKind::Nested, "Kinds of work of these instructions, by name."),
        Column::new("instructions", ColumnKind::Count, "Instructions of this name, numbers aside."),
        CALLS,
        KERNELS,
        DIRECT_MS,
        PERCENTAGE,
        CUMULATIVE,
    ],
    chart: None,
    build: |analysis| of_gpus(analysis, by_name),
};

fn by_name(analysis: &JaxAnalysis) -> PolarsResult<Option<DataFrame>> {
    let operators = analysis.operators();
    let groups = call_groups(analysis, |call| Some(stem(&operators[call.operator].name)));
    let mut frame = FrameBuilder::default();
    frame.text("name", groups.iter().map(|group| Some(stem(&group.operator(analysis).name))));
    let categories = |group: &CallGroup<'_>| {
        let of_calls = group.calls.iter().map(|call| operators[call.operator].category.as_str());
        Some(text_list(&of_calls.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()))
    };
    frame.text("Categories", groups.iter().map(categories));
    let instructions = |group: &CallGroup<'_>| {
        Some(group.calls.iter().map(|call| call.operator).collect::<BTreeSet<_>>().len() as i64)
    };
    frame.integer("instructions", groups.iter().map(instructions));
    append(&mut frame, analysis, &groups);
    frame.finish().map(Some)
}

fn append(frame: &mut FrameBuilder, analysis: &JaxAnalysis, groups: &[CallGroup<'_>]) {
    let kernels = |group: &CallGroup<'_>| group.calls.iter().map(|call| call.kernels.len() as i64).sum();
    frame.integer("Count", groups.iter().map(|group| Some(group.calls.len() as i64)));
    frame.integer("num_kernels", groups.iter().map(|group| Some(kernels(group))));
    frame.float("total_direct_kernel_time_ms", groups.iter().map(|group| Some(analysis.ms(group.time()))));
    frame.shares(groups.iter().map(CallGroup::time));
}

/// The name of an instruction without the numbers at its end: `fusion.12` and `fusion_3.clone.1` are instances.
pub(crate) fn stem(name: &str) -> &str {
    let mut stem = name;
    loop {
        let without_digits = stem.trim_end_matches(|c: char| c.is_ascii_digit());
        let shorter = match without_digits.strip_suffix(['.', '_']) {
            Some(before) if without_digits.len() < stem.len() => before,
            _ => stem.strip_suffix(".clone").unwrap_or(stem),
        };
        if shorter.is_empty() || shorter == stem {
            return stem;
        }
        stem = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn a_stem_has_no_number_at_its_end() {
        for (name, expected) in [
            ("fusion.12", "fusion"),
            ("input_transpose_fusion_1", "input_transpose_fusion"),
            ("gemm_fusion_dot.3.clone.1", "gemm_fusion_dot"),
            ("all-reduce-start", "all-reduce-start"),
            ("Im3d2Col", "Im3d2Col"),
            ("conv2", "conv2"),
            ("_1", "_1"),
            ("", ""),
        ] {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
