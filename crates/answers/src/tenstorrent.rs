//! The report of Tenstorrent operations.

use std::collections::BTreeMap;
use std::path::PathBuf;

use advise::Limits;
use gpu_timeline::Breakdown;
use indexmap::IndexMap;
use metal_perf::{
    Analysed as Modelled, MetalNotice, MetalOptions, MetalReport, Op, OpCategory, OpKind, metal_sheets,
};
use operator_sheets::RooflineShares;
use sheets::{Layout, Scope, Sheet, TableError};
use trace_diff::{
    CompareOptions, Comparison, Side, TIME_CHANGE, all_comparison_sheets, compare, comparison_sheets,
    is_compared,
};
use trace_ingest::metal::{OpType, OpsFile, OpsTable, OpsWarning, read_ops};

use crate::advice::{self, first_of};
use crate::envelope::{Input, Losses, Trust};
use crate::error::Error;
use crate::notice::Notice;
use crate::numbers::{counted, decimal};
use crate::parts::SheetNames;
use crate::picture::{self, NothingToDraw, Picture};
use crate::report::{Analysed, Report, Reporter, Run, Stage, pictures, tables, title, titled};
use crate::runs::{names_of, statements};
use crate::summary::{Summary, Timeline, TimelineWindow, devices};

/// Makes the report of Tenstorrent operations, of the files of several hosts of one run as of one.
#[derive(Default)]
pub struct TenstorrentReporter {
    /// What is reported.
    pub analysis: MetalOptions,
    /// A run to compare with.
    pub baseline: Option<PathBuf>,
}

impl Reporter for TenstorrentReporter {
    fn report(self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        let Some(first) = paths.first() else { return Err(Error::NoRecording) };
        let conventions = self.analysis.conventions;
        let tells_all = conventions.scope == Scope::Full;
        let analysis = analysis(paths, self.analysis.clone(), run)?;
        let comparison = match &self.baseline {
            Some(path) => {
                // IDs of one file say nothing of another.
                let options = MetalOptions { id_range: None, ..self.analysis };
                let baseline = self::analysis(std::slice::from_ref(path), options, run)?;
                let names = names_of(&[path.clone(), first.clone()]);
                Some(compared([&baseline, &analysis], names)?)
            }
            None => None,
        };
        run.begin(Stage::Sheets);
        let title = title(first);
        let (mut made, mut known) = tables(&analysis, metal_sheets(), conventions.layout)?;
        known.extend(baseline_sheets().into_iter().map(|sheet| sheet.name.into_owned()));
        if let Some(comparison) = &comparison {
            made.extend(tables(comparison, comparison_sheets(comparison, BASELINE), conventions.layout)?.0);
        }
        // The findings have a sheet of that name among those of operations.
        let advice = tells_all.then(|| advice::operation_advice(&analysis, &Limits::default()));
        let tables = titled(&title, (made, known), run)?;
        let mut notices: Vec<Notice> = analysis.notices.iter().cloned().map(Notice::Tenstorrent).collect();
        let comparison_notices = comparison.iter().flat_map(|comparison| comparison.notices.iter().cloned());
        notices.extend(comparison_notices.map(Notice::Comparison));
        let pictures = pictures(run, &mut notices, |picture| match picture {
            Picture::StackedTime(arrangement) => {
                picture::stacked_time(&analysis, &title, arrangement).map(Ok)
            }
            Picture::Rooflines | Picture::Steps => Ok(Err(NothingToDraw::OtherReports)),
        })?;
        let mut summary = Summary { findings: first_of(advice.as_ref()), ..summary(&analysis, title) };
        summary.statements.extend(comparison.iter().flat_map(statements));
        let analysis = Analysed::Tenstorrent(Box::new(analysis), comparison);
        let report = Report { tables, summary, notices, pictures, advice, analysis };
        if tells_all { report.with_overview(SheetNames::Documented, run) } else { Ok(report) }
    }
}

/// The first page but for its findings.
fn summary(report: &MetalReport, title: String) -> Summary {
    let MetalReport { ops, chip, totals, .. } = report;
    let mut numbers: Vec<u32> = report.table.rows.iter().filter_map(|row| row.device).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let chip_limits = format!("{} cores, {} GB/s", report.worker_cores, decimal(chip.dram_gb_per_s, 0));
    let windows = report.notices.iter().filter(|notice| matches!(notice, MetalNotice::Window { .. }));
    let windows: Vec<String> = windows.map(ToString::to_string).collect();
    let window = (!windows.is_empty()).then(|| windows.join("; "));
    let headlines: Vec<String> = window.into_iter().chain(headline(report)).collect();
    // Several devices are one timeline where their operations are one row.
    let mut device_operations: IndexMap<Option<u32>, Vec<&Op>> = IndexMap::new();
    for op in ops.iter().filter(|op| op.kind != OpKind::Signpost) {
        device_operations.entry(op.device.filter(|_| !report.options.merge_devices)).or_default().push(op);
    }
    let name = |device: Option<u32>| match (device, &numbers[..]) {
        (Some(device), _) | (None, &[device]) => format!("device {device}"),
        (None, _) => counted(numbers.len(), "device", "devices"),
    };
    let timelines = device_operations.iter().map(|(&device, ops)| timeline(name(device), ops));
    let dram = totals.dram_gb_per_s.zip(totals.dram_percent).map(|(rate, percent)| {
        format!(
            "DRAM: {} GB/s over all device time, {}% of the chip's bandwidth",
            decimal(rate, 0),
            decimal(percent, 1)
        )
    });
    Summary {
        head: vec![title, devices(numbers.len(), chip.name), chip_limits.clone(), rows(report)],
        headlines: headlines.len(),
        statements: headlines,
        more_timelines: Summary::more_timelines(device_operations.len(), "devices"),
        timelines: timelines.take(Summary::MOST_TIMELINES).collect(),
        program: dram.into_iter().collect(),
        coverage: coverage(ops),
        architecture: Some(format!("{} ({chip_limits})", chip.name)),
        ..Summary::default()
    }
}

/// How many operations are reported, of how many.
fn rows(report: &MetalReport) -> String {
    let (shown, all) = (report.shown_counts, report.table.rows.len());
    let merged = report.notices.iter().find_map(|notice| match notice {
        MetalNotice::DevicesMerged { rows, .. } => Some(*rows),
        _ => None,
    });
    let operations = counted(shown.device_ops + shown.host_ops, "operation", "operations");
    let rows = merged.unwrap_or(shown.device_ops + shown.host_ops);
    let of = if rows < all { format!(" of {}", counted(all, "row", "rows")) } else { String::new() };
    match merged {
        Some(rows) if of.is_empty() => format!("{operations}, merged from {rows} rows"),
        Some(rows) => format!("{operations}, merged from {rows}{of}"),
        None => format!("{operations}{of}"),
    }
}

/// What takes most of the time; `None` without any.
fn headline(report: &MetalReport) -> Option<String> {
    let totals = &report.totals;
    if report.ops.is_empty() {
        return Some("no operations to show".to_owned());
    }
    let (device, whole) = (totals.device_time_us, totals.time_us());
    if whole <= 0.0 {
        return None;
    }
    let percent = |part: f64, of: f64| format!("{}%", decimal(100.0 * part / of, 1));
    let mut times: BTreeMap<OpCategory, f64> = BTreeMap::new();
    for op in &report.ops {
        let category = op.category.unwrap_or(OpCategory::Other);
        *times.entry(category).or_default() += op.device_time_us.unwrap_or(0.0);
    }
    let unknown = times.remove(&OpCategory::Other).unwrap_or_default();
    let largest = times.into_iter().filter(|&(_, time)| time > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
    let known = largest.map(|(category, time)| format!("{}, {}", category.in_words(), percent(time, device)));
    let parts = match (known, largest) {
        (Some(known), Some((_, time))) if time >= unknown => Some(format!("largest: {known} of device time")),
        (known, _) if unknown > 0.0 => {
            let known = known.map_or_else(String::new, |known| format!("; largest known category: {known}"));
            let unknown = percent(unknown, device);
            Some(format!("{unknown} of device time is in operations of unknown category{known}"))
        }
        _ => None,
    };
    let idle = percent(totals.gap_us, whole);
    let says = match totals.gap_us > device {
        true => [Some(format!("idle {idle} of the total, in gaps between operations")), parts],
        false => [parts, Some(format!("idle {idle} of the total"))],
    };
    Some(says.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

/// What a device, or several as one, did in all operations.
fn timeline(name: String, ops: &[&Op]) -> Timeline {
    let sum = |of: &dyn Fn(&Op) -> Option<f64>| ops.iter().filter_map(|op| of(op)).sum::<f64>();
    let nanoseconds = |us: f64| (us * 1e3).round() as i64;
    let is_communication = |op: &Op| op.category == Some(OpCategory::Ccl);
    let communication = nanoseconds(sum(&|op| op.device_time_us.filter(|_| is_communication(op))));
    let mut breakdown = Breakdown::default();
    breakdown.busy = nanoseconds(sum(&|op| op.device_time_us));
    breakdown.idle = nanoseconds(sum(&|op| op.gap_us));
    breakdown.total = breakdown.busy + breakdown.idle;
    breakdown.exposed_communication = communication;
    breakdown.total_communication = communication;
    breakdown.computation = breakdown.busy - communication;
    let window = TimelineWindow::Operations;
    Timeline { window, ..Timeline::new(name, breakdown, |time| time as f64 / 1e3) }
}

/// How much of the device time has a roofline, and how much of that is lost; `None` without device time.
fn coverage(ops: &[Op]) -> Option<RooflineShares> {
    let (mut all, mut modelled, mut near) = (0.0, 0.0, 0.0);
    let mut rest: IndexMap<&'static str, f64> = IndexMap::new();
    let mut losses: IndexMap<String, f64> = IndexMap::new();
    let mut unknown: IndexMap<String, f64> = IndexMap::new();
    for op in ops {
        let Some(time) = op.device_time_us else { continue };
        all += time;
        match op.percent_of_roofline().filter(|_| op.analysed == Modelled::Full) {
            Some(reached) => {
                modelled += time;
                near += if reached > 50.0 { time } else { 0.0 };
                *losses.entry(op.label.clone()).or_default() += op.beyond_roofline_us().unwrap_or(0.0);
            }
            None => {
                let category = op.category.unwrap_or(OpCategory::Other);
                *rest.entry(category.in_words()).or_default() += time;
                if matches!(category, OpCategory::Compute | OpCategory::Other) {
                    *unknown.entry(op.label.clone()).or_default() += time;
                }
            }
        }
    }
    let percent = 100.0 / all;
    (all > 0.0).then(|| RooflineShares {
        modelled_percent: modelled * percent,
        rest: most_first(rest, percent),
        near_percent: (modelled > 0.0).then(|| 100.0 * near / modelled),
        losses: most_first(losses, 1.0),
        unknown: most_first(unknown, percent),
    })
}

fn most_first<N>(times: IndexMap<N, f64>, factor: f64) -> Vec<(N, f64)> {
    let times = times.into_iter().filter(|&(_, time)| time > 0.0);
    let mut times: Vec<(N, f64)> = times.map(|(name, time)| (name, time * factor)).collect();
    times.sort_by(|a, b| b.1.total_cmp(&a.1));
    times
}

/// How far the figures of operations can be trusted. They were recorded without the host's calls and the program's frames.
pub(crate) fn trust(analysis: &MetalReport) -> Trust {
    let OpsTable { rows, warnings, .. } = &analysis.table;
    let truncated =
        warnings.iter().any(|warning| matches!(warning, OpsWarning::Source { loses_rows: true, .. }));
    let malformed = warnings.iter().map(|warning| match warning {
        OpsWarning::MalformedRows { count, .. } => *count,
        _ => 0,
    });
    let losses = Losses { truncated, bytes: (!truncated).then_some(0), events: malformed.sum() };
    let on_devices = || rows.iter().filter(|row| row.op_type == OpType::Device);
    let time = |op: &Op| op.device_time_us.unwrap_or(0.0);
    let all: f64 = analysis.ops.iter().map(time).sum();
    let is_modelled = |op: &&Op| op.analysed == Modelled::Full;
    let modelled: f64 = analysis.ops.iter().filter(is_modelled).map(time).sum();
    Trust {
        modelled_pct_of_time: (all > 0.0).then(|| 100.0 * modelled / all),
        shapes: Some(on_devices().any(|row| !row.inputs.is_empty() || !row.outputs.is_empty())),
        ..Trust::new(on_devices().count(), losses)
    }
}

/// What a file says of itself.
pub(crate) fn tell(input: &mut Input, table: &OpsTable, file: &OpsFile) {
    let rows = &table.rows[file.rows.start as usize..file.rows.end as usize];
    let devices: BTreeMap<u32, &str> = rows
        .iter()
        .filter_map(|row| Some((row.device?, table.text(row.arch).trim())))
        .filter(|(_, name)| !name.is_empty())
        .collect();
    input.devices = devices.into_values().map(ToOwned::to_owned).collect();
    input.events = Some(rows.len() as u64);
}

/// What follows the names of the sheets in which the run stands beside the baseline.
const BASELINE: &str = "_vs_baseline";

/// The sheets in which the run stands beside a baseline.
pub(crate) fn baseline_sheets() -> Vec<Sheet<'static, Comparison>> {
    let compared = metal_sheets().into_iter().map(|sheet| format!("{}{BASELINE}", sheet.name));
    let names: Vec<String> = compared.chain([format!("{TIME_CHANGE}{BASELINE}")]).collect();
    let mut sheets = all_comparison_sheets(BASELINE);
    sheets.retain(|sheet| names.iter().any(|name| *name == sheet.name));
    sheets
}

/// Two runs side by side, the baseline first.
fn compared(reports: [&MetalReport; 2], names: Vec<String>) -> Result<Comparison, TableError> {
    let mut sides = Vec::new();
    for (report, name) in reports.into_iter().zip(names) {
        let mut sheets = metal_sheets();
        sheets.retain(|sheet| is_compared(&sheet.name, &[]));
        let (tables, _) = tables(report, sheets, Layout::Roles)?;
        sides.push(Side { name, tables, steps: None, repeated: Vec::new() });
    }
    Ok(compare(&sides[0], &sides[1], &CompareOptions::default()))
}

fn analysis(paths: &[PathBuf], options: MetalOptions, run: &mut Run<'_>) -> Result<MetalReport, Error> {
    run.begin(Stage::Read);
    let table = read_ops(paths, &run.reading)?;
    run.count_events(table.rows.len());
    run.begin(Stage::Analysis);
    MetalReport::new(table, options).map_err(|error| Error::Metal { paths: paths.to_vec(), error })
}
