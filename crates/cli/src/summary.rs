//! The summary on the terminal.

use std::fmt::Write;

use gpu_timeline::Breakdown;
use inference_phase::sheets::PhaseAnalysis;
use report_writers::Report;
use report_writers::terminal::{Color, Segment, Style, bar, truncate_middle};
use trace_ingest::Category;
use trace2tree::TreeWarning;
use tree_perf::{Analysis, Notice, ReportLayout};

use crate::notes::{Notes, write_warnings};
use crate::numbers::{counted, decimal, grouped};
use crate::phases;
use crate::report_request::ReportRequest;
use crate::rooflines::Rooflines;
use crate::sanity_check;
use crate::top_table::{CATEGORIES, TopTable, operations};
use crate::wrapping::wrap;

/// Lines longer than this are hard to follow, however wide the terminal is.
pub(crate) const WIDEST: usize = 100;

impl Notes {
    /// What reading, the tree and the analysis got over.
    pub(crate) fn of(analysis: &Analysis, request: &ReportRequest) -> Self {
        let mut warnings = request.notices.clone();
        warnings.extend(without_stacks(analysis));
        warnings.extend(analysis.trace().warnings().iter().map(ToString::to_string));
        // Said by `left_out` with what to do about it.
        let is_said = |warning: &&TreeWarning| matches!(warning, TreeWarning::UnlinkedDeviceEvents { .. });
        let of_tree = analysis.tree().warnings().iter().filter(|warning| !is_said(warning));
        warnings.extend(of_tree.map(ToString::to_string));
        let (of_extension, of_analysis): (Vec<_>, Vec<_>) =
            analysis.notices().into_iter().partition(Notice::is_of_extension);
        warnings.extend(of_analysis.iter().map(ToString::to_string));
        let mut notes = Notes::of_warnings(warnings);
        (notes.left_out, notes.of_extension) = (left_out(analysis), of_extension);
        notes
    }
}

/// Options that need Python frames where the trace has none.
fn without_stacks(analysis: &Analysis) -> Option<String> {
    let options = analysis.options();
    let asked: Vec<&str> = [
        ("--include_call_stack", options.include_call_stack),
        ("--detect_recompute", options.detect_recompute),
        ("--group_by_parent_module", options.group_by_parent_module),
    ]
    .into_iter()
    .filter_map(|(option, asked)| asked.then_some(option))
    .collect();
    let events = analysis.trace().events();
    let has_frames = || events.ids().any(|event| events.category(event) == Category::PYTHON_FUNCTION);
    (!asked.is_empty() && !has_frames()).then(|| {
        let find = if asked.len() == 1 { "finds" } else { "find" };
        let advice = match analysis.trace().facts().recorder.python_frames {
            true => "; record it with with_stack=True",
            false => ", which its profiler does not record",
        };
        format!("{} {find} nothing: the trace has no Python frames{advice}", asked.join(" and "))
    })
}

fn left_out(analysis: &Analysis) -> Option<String> {
    let coverage = analysis.coverage();
    let place = match analysis.options().include_unlinked_kernels {
        true => "in the timeline, but in no operator's figures",
        false => "in no figure; with --include_unlinked_kernels in the timeline",
    };
    (coverage.unlinked_events > 0).then(|| {
        format!(
            "{} ({}) without a launch in the trace: {place}",
            counted(coverage.unlinked_events, "device event", "device events"),
            duration(coverage.unlinked_time_us),
        )
    })
}

/// What the report says beside its tables.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) rooflines: Option<&'a Rooflines>,
    pub(crate) phases: Option<&'a PhaseAnalysis<'a>>,
}

/// The summary as text.
pub(crate) fn text(
    analysis: &Analysis,
    report: &Report,
    found: Found<'_>,
    notes: &Notes,
    style: Style,
) -> String {
    let style = Style { width: style.width.min(WIDEST), ..style };
    let mut out = String::new();
    write_head(&mut out, analysis, report.title(), style);
    write_warnings(&mut out, notes.left_out.as_slice(), style);
    write_timeline(&mut out, analysis, style);
    let of_kernels = TopTable {
        sheet: "kernel_summary",
        headers: ["kernel", "calls", if style.unicode { "kernel µs" } else { "kernel us" }, "%"],
        columns: [
            "Kernel name",
            "Kernel duration (µs)_count",
            "Kernel duration (µs)_sum",
            "Percent of kernels time (%)",
        ],
        rows: 10,
    };
    if !analysis.is_gpu_only() {
        for table in [CATEGORIES, operations("operator")] {
            table.write(&mut out, report, style);
        }
    } else if analysis.options().kernel_summary {
        of_kernels.write(&mut out, report, style);
    } else {
        out.push_str("\nThe trace has no operators; --enable_kernel_summary lists its kernels.\n");
    }
    if analysis.options().layout == ReportLayout::Inference
        && let Some(check) = analysis.sanity_check()
    {
        sanity_check::write(&mut out, &check, style);
    }
    if let Some(line) = found.phases.and_then(phases::summary_line) {
        out.push('\n');
        wrap(&line, "", "  ", style.width, &mut out);
    }
    if let (Some(rooflines), Some(architecture)) = (found.rooflines, analysis.architecture()) {
        write_rooflines(&mut out, rooflines, &architecture.name, style);
    }
    notes.write(&mut out, style);
    out
}

fn write_head(out: &mut String, analysis: &Analysis, title: &str, style: Style) {
    let trace = analysis.trace();
    let (separator, times) = if style.unicode { (" · ", "×") } else { (" - ", "x") };
    let mut parts = vec![title.to_string()];
    let mut devices: Vec<&str> = trace
        .facts()
        .devices
        .iter()
        .filter_map(|device| device.name.as_deref())
        .filter(|name| !name.is_empty())
        .collect();
    let count = devices.len();
    devices.dedup();
    if count > 0 {
        let times = if count > 1 { format!("{count} {times} ") } else { String::new() };
        parts.push(format!("{times}{}", devices.join(", ")));
    }
    if let Some(distributed) = &trace.facts().distributed
        && let (Some(rank), Some(size)) = (distributed.rank, distributed.world_size)
    {
        parts.push(format!("rank {rank} of {size}"));
    }
    parts.push(format!("{} events", grouped(trace.entries().into())));
    wrap(&parts.join(separator), "", "  ", style.width, out);

    let coverage = analysis.coverage();
    let total = coverage.linked_events + coverage.unlinked_events;
    let share = coverage.linked_time_us / (coverage.linked_time_us + coverage.unlinked_time_us) * 100.0;
    let linked = format!(
        "{} of {} device events linked to their launch ({:.1}% of device time)",
        grouped(coverage.linked_events as u128),
        grouped(total as u128),
        if share.is_nan() { 0.0 } else { share },
    );
    wrap(&linked, "", "  ", style.width, out);
}

fn write_timeline(out: &mut String, analysis: &Analysis, style: Style) {
    let Some(timeline) = analysis.timeline() else { return };
    let time = |time| duration(analysis.trace().to_microseconds(time));
    let _ = writeln!(
        out,
        "\nGPU time {}: busy {}, idle {}",
        time(timeline.total),
        time(timeline.busy),
        time(timeline.idle)
    );
    out.push_str(&timeline_bar(&timeline, style));
}

/// Where the time went, as a bar with its legend.
pub(crate) fn timeline_bar(timeline: &Breakdown, style: Style) -> String {
    let parts = [
        ("computation", timeline.computation, Color::Green),
        ("exposed comm", timeline.exposed_communication, Color::Magenta),
        ("exposed copies", timeline.exposed_memcpy, Color::Yellow),
        ("idle", timeline.idle, Color::Gray),
    ];
    let segment =
        |(label, time, color)| Segment { label, fraction: timeline.percent_of_total(time) / 100.0, color };
    bar(&parts.map(segment), style)
}

/// Operators named with the time that they lose to their roofline.
const LOSSES: usize = 3;

pub(crate) fn write_rooflines(out: &mut String, rooflines: &Rooflines, architecture: &str, style: Style) {
    let Some(shares) = rooflines.shares() else { return };
    let line = format!(
        "rooflines for {architecture}: {:.1}% of kernel time modelled, {:.1}% of it above 50% of roofline",
        shares.modelled_percent, shares.near_percent
    );
    out.push('\n');
    wrap(&line, "", "  ", style.width, out);
    let losses = rooflines.losses();
    let most: Vec<String> = losses
        .iter()
        .take(LOSSES)
        .map(|(name, lost)| format!("{} {}", truncate_middle(name, 44, style.unicode), duration(*lost)))
        .collect();
    if !most.is_empty() {
        wrap(&format!("most time lost to it: {}", most.join(", ")), "", "  ", style.width, out);
    }
}

/// A time in the unit in which it can be read.
pub(crate) fn duration(microseconds: f64) -> String {
    match microseconds {
        us if us >= 10e6 => format!("{} s", decimal(us / 1e6, 3)),
        us => format!("{} ms", decimal(us / 1e3, 3)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_in_seconds() {
        for (us, text) in [
            (0.0, "0.000 ms"),
            (7.6, "0.008 ms"),
            (5_012_345.6, "5,012.346 ms"),
            (12_345_678.0, "12.346 s"),
            (3_600_000_000.0, "3,600.000 s"),
        ] {
            assert_eq!(duration(us), text);
        }
    }
}
