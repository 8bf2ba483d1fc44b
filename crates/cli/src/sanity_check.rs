//! What the summary says of the tables of operators held against the device's work.

use std::fmt::Write;

use report_writers::terminal::{Alignment, Color, Style, TextColumn, table, truncate_middle};
use tree_perf::{KernelSums, SanityCheck};

use crate::numbers::grouped;
use crate::summary::duration;
use crate::wrapping::wrap;

/// Mismatches of a table that are shown.
const MISMATCHES: usize = 3;

/// Adds the verdict, and where it is bad the tables and kernels that it is about.
pub(crate) fn write(out: &mut String, check: &SanityCheck, style: Style) {
    let sheets = [("ops_summary", &check.launchers), ("unified_perf_summary", &check.unified)];
    let verdict = |passes: bool| if passes { "PASS" } else { "FAIL" };
    let columns = ["sanity check", "kernel time", "at least", "", "kernels", "of", ""];
    let headers: Vec<TextColumn<'_>> = columns
        .iter()
        .enumerate()
        .map(|(position, header)| TextColumn {
            header,
            alignment: if position == 0 { Alignment::Left } else { Alignment::Right },
        })
        .collect();
    let row = |(sheet, sums): (&str, &KernelSums)| {
        vec![
            sheet.to_string(),
            duration(sums.kernel_time_us),
            duration(check.computation_time_us),
            verdict(sums.time_passes).to_string(),
            grouped(sums.device_events as u128),
            grouped(check.device_events as u128),
            verdict(sums.count_passes()).to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = sheets.into_iter().map(row).collect();
    out.push('\n');
    out.push_str(&table(&headers, &rows, style).replace("FAIL", &style.paint("FAIL", Color::Yellow)));
    for (sheet, sums) in sheets {
        for mismatch in sums.mismatches.iter().take(MISMATCHES) {
            let kernel = truncate_middle(&mismatch.kernel, 60, style.unicode);
            let (in_table, in_trace) = (mismatch.in_table, mismatch.in_trace);
            let line = format!("{sheet} has {in_table} of {in_trace} {kernel}");
            wrap(&line, "  ", "    ", style.width, out);
        }
        if sums.mismatches.len() > MISMATCHES {
            let _ = writeln!(out, "  and {} more kernels", sums.mismatches.len() - MISMATCHES);
        }
    }
}
