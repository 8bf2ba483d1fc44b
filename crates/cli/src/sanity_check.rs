//! What the summary says of the tables of operators held against the device's work.

use std::fmt::Write;

use report_writers::terminal::{Color, Style, TextColumn, table, truncate_middle};
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
    type Row<'a> = (&'a str, &'a KernelSums);
    let columns = [
        TextColumn::left("sanity check", |(sheet, _): &Row<'_>| *sheet),
        TextColumn::right("kernel time", |(_, sums): &Row<'_>| duration(sums.kernel_time_us)),
        TextColumn::right("at least", |_: &Row<'_>| duration(check.computation_time_us)),
        TextColumn::right("", |(_, sums): &Row<'_>| verdict(sums.time_passes)),
        TextColumn::right("kernels", |(_, sums): &Row<'_>| grouped(sums.device_events as u128)),
        TextColumn::right("of", |_: &Row<'_>| grouped(check.device_events as u128)),
        TextColumn::right("", |(_, sums): &Row<'_>| verdict(sums.count_passes())),
    ];
    out.push('\n');
    out.push_str(&table(&columns, &sheets, style).replace("FAIL", &style.paint("FAIL", Color::Yellow)));
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
