//! The summary of an XLA profile on the terminal.

use std::fmt::Write;

use gpu_timeline::Breakdown;
use report_writers::Report;
use report_writers::terminal::Style;
use xla_perf::collectives::CollectiveAnalysis;
use xla_perf::tpu::{TpuNotice, tpu_finding};
use xla_perf::{JaxAnalysis, jax_finding};

use crate::notes::Notes;
use crate::numbers::counted;
use crate::rooflines::Rooflines;
use crate::summary::{WIDEST, duration, timeline_bar, write_rooflines};
use crate::top_table::{CATEGORIES, TopTable, operations};
use crate::wrapping::wrap;

/// What reading and the analysis got over.
pub(crate) fn warnings(analysis: &JaxAnalysis) -> Vec<String> {
    let of_reading = analysis.trace().warnings().iter().map(ToString::to_string);
    let of_analysis = analysis.notices().into_iter().map(|notice| notice.to_string());
    let of_tpus = analysis.tpu().map(TpuNotice::all).into_iter().flatten();
    of_reading.chain(of_analysis).chain(of_tpus.map(|notice| notice.to_string())).collect()
}

/// The summary as text.
pub(crate) fn text(analysis: &JaxAnalysis, report: &Report, notes: &Notes, style: Style) -> String {
    let style = Style { width: style.width.min(WIDEST), ..style };
    let mut out = String::new();
    write_head(&mut out, analysis, report.title(), style);
    let of_gpus = jax_finding(analysis).map(|finding| finding.to_string());
    let of_tpus = analysis.tpu().and_then(tpu_finding);
    for finding in of_gpus.into_iter().chain(of_tpus.map(|finding| finding.to_string())) {
        wrap(&finding, "", "  ", style.width, &mut out);
    }
    write_timelines(&mut out, analysis, style);
    write_steps(&mut out, analysis, style);
    for table in TABLES {
        table.write(&mut out, report, style);
    }
    if let (Some(rooflines), Some(architecture)) =
        (Rooflines::of_instructions(report), analysis.architecture())
    {
        write_rooflines(&mut out, &rooflines, &architecture.name, style);
    }
    notes.write(&mut out, style);
    out
}

/// The summary of the collectives of a run as text.
pub(crate) fn text_of_run(
    profiles: usize,
    collectives: &CollectiveAnalysis,
    report: &Report,
    notes: &Notes,
    style: Style,
) -> String {
    let style = Style { width: style.width.min(WIDEST), ..style };
    let mut out = String::new();
    let parts = [
        report.title().to_owned(),
        counted(profiles, "profile", "profiles"),
        counted(collectives.devices.shown.len(), "GPU", "GPUs"),
        counted(collectives.operations.len(), "collective", "collectives"),
        counted(collectives.slices.len(), "execution", "executions"),
    ];
    wrap(&parts.join(if style.unicode { " · " } else { " - " }), "", "  ", style.width, &mut out);
    for table in TABLES_OF_RUN {
        table.write(&mut out, report, style);
    }
    notes.write(&mut out, style);
    out
}

const TABLES_OF_RUN: [TopTable; 2] = [
    TopTable {
        sheet: "collective_types",
        headers: ["kind", "executions", "kernel ms", "exposed %"],
        columns: ["type", "total_slices", "total_time_ms", "exposed (%)"],
        rows: 6,
    },
    TopTable {
        sheet: "collectives",
        headers: ["collective", "executions", "kernel ms", "exposed %"],
        columns: ["collective_name", "num_slices", "total_time_ms", "exposed (%)"],
        rows: 10,
    },
];

const TABLES: [TopTable; 3] = [
    CATEGORIES,
    operations("instruction"),
    TopTable {
        sheet: "hlo_stats",
        headers: ["instruction", "calls", "self us", "%"],
        columns: ["HLO op name", "#Occurrences", "Total self time (us)", "Total self time (%)"],
        rows: 10,
    },
];

fn write_head(out: &mut String, analysis: &JaxAnalysis, title: &str, style: Style) {
    let (separator, times) = if style.unicode { (" · ", "×") } else { (" - ", "x") };
    let mut parts = vec![title.to_owned()];
    let devices = analysis.gpus().len();
    if let Some(architecture) = analysis.architecture() {
        let count = if devices > 1 { format!("{devices} {times} ") } else { String::new() };
        parts.push(format!("{count}{}", architecture.name));
    } else if devices > 0 {
        parts.push(counted(devices, "GPU", "GPUs"));
    }
    parts.push(counted(analysis.profile().programs.len(), "program", "programs"));
    parts.push(counted(analysis.trace().events().len(), "event", "events"));
    wrap(&parts.join(separator), "", "  ", style.width, out);
}

/// GPUs whose timeline is drawn; the sheet has all.
const DRAWN: usize = 4;

fn write_timelines(out: &mut String, analysis: &JaxAnalysis, style: Style) {
    let time = |time| duration(analysis.trace().to_microseconds(time));
    for gpu in analysis.gpus().iter().take(DRAWN) {
        let Breakdown { total, busy, idle, .. } = gpu.breakdown;
        let name = analysis.profile().planes.get(gpu.plane).map_or("", |plane| plane.name.as_str());
        let _ = writeln!(out, "\n{name} time {}: busy {}, idle {}", time(total), time(busy), time(idle));
        out.push_str(&timeline_bar(&gpu.breakdown, style));
    }
    if analysis.gpus().len() > DRAWN {
        let more = counted(analysis.gpus().len() - DRAWN, "GPU", "GPUs");
        let _ = writeln!(out, "and {more} more, see gpu_timeline");
    }
}

/// How often the program with the most time ran, and how long it takes.
fn write_steps(out: &mut String, analysis: &JaxAnalysis, style: Style) {
    let busy = |program| {
        let of = analysis.executions().iter().filter(move |execution| execution.program == program);
        of.map(|execution| execution.busy).sum::<i64>()
    };
    let Some(most) = analysis.executions().iter().max_by_key(|execution| busy(execution.program)) else {
        return;
    };
    let of = analysis.executions().iter().filter(|execution| execution.program == most.program);
    let (warm_up, steady): (Vec<_>, Vec<_>) = of.partition(|execution| execution.is_warm_up);
    let us = |time| analysis.trace().to_microseconds(time);
    let mean = |executions: &[&xla_perf::Execution]| {
        us(executions.iter().map(|execution| execution.busy).sum()) / executions.len() as f64
    };
    let count = warm_up.len() + steady.len();
    let name = analysis.program_name(&most.program).unwrap_or("a program");
    let mut line = format!(
        "{name}: {} on GPUs, busy {} on average",
        counted(count, "execution", "executions"),
        duration(mean(&steady)),
    );
    if !warm_up.is_empty() {
        let _ = write!(line, " after {} to warm up ({})", warm_up.len(), duration(mean(&warm_up)));
    }
    out.push('\n');
    wrap(&line, "", "  ", style.width, out);
}
