//! What to change, one row per item.

use polars::prelude::{DataFrame, PolarsResult};
use tree_perf::{Column, ColumnKind, FrameBuilder, Sheet, Unit};

use crate::advice::{Finding, findings};
use crate::csv::op_code;
use crate::report::MetalReport;

/// One row per item of advice.
pub(super) const SHEET: Sheet<MetalReport> = Sheet::new(
    "advice",
    "What the figures say should be changed, a row per item; an item about several operations names the first.",
    &[
        Column::new("finding", ColumnKind::Text, "What it is about."),
        Column::new("ID", ColumnKind::Identifier, "The operation, or the first of them."),
        Column::new("OP Code", ColumnKind::Text, "Its name."),
        Column::new("operations", ColumnKind::Count, "How many operations it is about."),
        Column::new("Bound", ColumnKind::Text, "What bounds the operation, for matrix products only."),
        Column::new("advice", ColumnKind::Text, "What to try."),
        Column::new(
            "saving at most (µs)",
            ColumnKind::Number(Unit::Microseconds),
            "What there is to win at most, in µs: time on the host; gaps less 6 µs each; time of a product × (1 − the higher of DRAM % and FLOPs % / 100). Items of one operation share it.",
        ),
    ],
    build,
);

fn build(report: &MetalReport) -> PolarsResult<Option<DataFrame>> {
    let mut rows: Vec<(Finding, String)> = Vec::new();
    for finding in findings(report) {
        match &finding {
            Finding::MatrixProduct { advice, .. } => {
                rows.extend(advice.iter().map(|item| (finding.clone(), item.to_string())));
            }
            _ => rows.push((finding.clone(), finding.to_string())),
        }
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let of_rows = || rows.iter().map(|(finding, _)| finding);
    let op = |finding: &Finding| finding.ops().first().and_then(|&position| report.ops.get(position));
    let mut frame = FrameBuilder::default();
    frame.text("finding", of_rows().map(|finding| Some(finding.title())));
    frame.integer("ID", of_rows().map(|finding| op(finding).map(|op| op.id.into())));
    frame.text("OP Code", of_rows().map(|finding| op(finding).map(op_code)));
    frame.integer("operations", of_rows().map(|finding| Some(finding.ops().len() as i64)));
    frame.text(
        "Bound",
        of_rows().map(|finding| match finding {
            Finding::MatrixProduct { bound, .. } => bound.map(|bound| bound.as_str()),
            _ => None,
        }),
    );
    frame.text("advice", rows.iter().map(|(_, text)| Some(text)));
    frame.float("saving at most (µs)", of_rows().map(Finding::at_most_us));
    frame.finish().map(Some)
}
