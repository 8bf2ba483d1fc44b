//! Device time by line of the source.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::origin::{Origin, Share, origins, shares};
use tree_perf::{Column, ColumnKind, Unit};
use operator_sheets::columns as shared;
use tree_perf::FrameBuilder;
use crate::JaxAnalysis;
use tree_perf::{ChartShape, Sheet, SheetChart};

/// One row per line of the source.
pub(crate) const SHEET: Sheet<JaxAnalysis> = Sheet {
    name: "source_lines",
    current_name: "source_lines",
    description: "Device time by the line of the source that instructions come from, the most first; one row without a source for all that no program says the source of.",
    columns: &[
        Column::new("source", ColumnKind::Text, "Source file and line."),
        Column::new(
            "function",
            ColumnKind::Text,
            "Function that the line is in; empty where the program does not say.",
        ),
        Column::new(
            "call_stack",
            ColumnKind::Text,
            "Functions with file and line around it, from the inside out, of the instruction with the most time.",
        ),
        Column::new("top_instruction", ColumnKind::Text, "Instruction with the most time."),
        Column::new("instructions", ColumnKind::Count, "Instructions that come from the line."),
        Column::new("executions", ColumnKind::Count, "Their executions on all GPUs."),
        Column::new("kernels", ColumnKind::Count, "Kernels, copies and fills of these."),
        Column::new(
            "total_time_ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Sum in ms over executions of the time in which a kernel of the instruction ran.",
        ),
        shared::SHARE_OF_KERNEL_TIME,
        shared::CUMULATIVE,
    ],
    chart: Some(SheetChart {
        title: "Device time by source line",
        categories: "source",
        values: "total_time_ms",
        axis: "device time (ms)",
        shape: ChartShape::Bars(15),
    }),
    build: |analysis| {
        let (origins, shares) = (origins(analysis), shares(analysis));
        let mut lines: BTreeMap<(&str, &str), (Share, usize)> = BTreeMap::new();
        let none = Origin::default();
        for (operator, share) in shares.iter().enumerate().filter(|(_, share)| share.calls > 0) {
            let origin = origins[operator].as_ref().unwrap_or(&none);
            let line = lines.entry((&origin.source, &origin.function));
            let (sum, top) = line.or_insert((Share::default(), operator));
            sum.add(share);
            if share.time > shares[*top].time {
                *top = operator;
            }
        }
        // A table with one row for everything says nothing.
        if lines.keys().all(|(source, _)| source.is_empty()) {
            return Ok(None);
        }
        let mut rows: Vec<_> = lines.into_iter().collect();
        rows.sort_by_key(|(_, (share, _))| Reverse(share.time));
        let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());

        let mut frame = FrameBuilder::default();
        frame.text("source", rows.iter().map(|((source, _), _)| said(source)));
        frame.text("function", rows.iter().map(|((_, function), _)| said(function)));
        frame.text(
            "call_stack",
            rows.iter().map(|(_, (_, top))| said(&origins[*top].as_ref().unwrap_or(&none).stack.join(" < "))),
        );
        frame
            .text("top_instruction", rows.iter().map(|(_, (_, top))| Some(&analysis.operators()[*top].name)));
        frame.integer("instructions", rows.iter().map(|(_, (share, _))| Some(share.instructions as i64)));
        frame.integer("executions", rows.iter().map(|(_, (share, _))| Some(share.calls as i64)));
        frame.integer("kernels", rows.iter().map(|(_, (share, _))| Some(share.kernels as i64)));
        frame.float("total_time_ms", rows.iter().map(|(_, (share, _))| Some(analysis.ms(share.time))));
        frame.shares(rows.iter().map(|(_, (share, _))| share.time));
        frame.finish().map(Some)
    },
};
