//! The summary of a profile of rocprofv3 on the terminal.

use std::collections::BTreeMap;
use std::fmt::Write;

use gpu_timeline::Breakdown;
use report_writers::Report;
use report_writers::terminal::Style;
use rocprof_perf::{AgentTimeline, RocprofAnalysis, agent_timelines, rocprof_finding, rocprof_notices};
use trace_ingest::rocprof::{Agent, Process, Profile};

use crate::notes::Notes;
use crate::numbers::counted;
use crate::summary::{WIDEST, duration, timeline_bar};
use crate::top_table::TopTable;
use crate::wrapping::wrap;

/// What reading and the analysis got over.
pub(crate) fn warnings(analysis: &RocprofAnalysis) -> Vec<String> {
    let of_reading = analysis.profile().warnings.iter().map(ToString::to_string);
    let of_analysis = rocprof_notices(analysis).into_iter().map(|notice| notice.to_string());
    of_reading.chain(of_analysis).collect()
}

/// The summary as text.
pub(crate) fn text(analysis: &RocprofAnalysis, report: &Report, notes: &Notes, style: Style) -> String {
    let style = Style { width: style.width.min(WIDEST), ..style };
    let mut out = String::new();
    let timelines = agent_timelines(analysis);
    write_head(&mut out, analysis.profile(), &timelines, report.title(), style);
    if let Some(finding) = rocprof_finding(analysis) {
        wrap(&finding.to_string(), "", "  ", style.width, &mut out);
    }
    write_timelines(&mut out, &timelines, style);
    // The reference's figures are a thousand times what their headers say.
    let times = match (analysis.options().parity, style.unicode) {
        (false, _) => "kernel ms",
        (true, true) => "kernel µs",
        (true, false) => "kernel us",
    };
    for (sheet, what, rows) in [
        ("kernel_summary_by_category", ("category", "op category", "total_direct_kernel_time_ms"), 6),
        ("kernel_summary", ("kernel", "name", "Total Kernel Time (ms)"), 10),
    ] {
        let (header, name, total) = what;
        let headers = [header, "calls", times, "%"];
        let columns = [name, "Count", total, "Percentage (%)"];
        TopTable { sheet, headers, columns, rows }.write(&mut out, report, style);
    }
    CALLS.write(&mut out, report, style);
    notes.write(&mut out, style);
    out
}

const CALLS: TopTable = TopTable {
    sheet: "api_summary",
    headers: ["function", "calls", "host ms", "% of library"],
    columns: ["function", "Count", "Total Time (ms)", "Percentage (%)"],
    rows: 5,
};

fn write_head(
    out: &mut String,
    profile: &Profile,
    timelines: &[AgentTimeline<'_>],
    title: &str,
    style: Style,
) {
    let (separator, times) = if style.unicode { (" · ", "×") } else { (" - ", "x") };
    let mut parts = vec![title.to_owned()];
    let mut products: BTreeMap<&str, usize> = BTreeMap::new();
    for agent in timelines.iter().filter_map(|timeline| timeline.agent) {
        let product = agent.product_name.as_deref().or(agent.name.as_deref()).filter(|name| !name.is_empty());
        *products.entry(product.unwrap_or("GPU")).or_default() += 1;
    }
    for (product, count) in products {
        let count = if count > 1 { format!("{count} {times} ") } else { String::new() };
        parts.push(format!("{count}{product}"));
    }
    parts.extend(processes(&profile.processes));
    parts.push(counted(profile.dispatches.len(), "kernel dispatch", "kernel dispatches"));
    parts.push(counted(profile.copies.len(), "memory copy", "memory copies"));
    parts.push(counted(profile.calls.len(), "call", "calls"));
    wrap(&parts.join(separator), "", "  ", style.width, out);
}

/// Which processes on which hosts; nothing where the profile does not say.
fn processes(processes: &[Process]) -> Option<String> {
    let known = |process: &Process| process.pid.is_some() || process.hostname.is_some();
    match processes {
        [process] if known(process) => {
            let pid = process.pid.map_or("a process".to_owned(), |pid| format!("process {pid}"));
            let host = process.hostname.as_ref().map(|host| format!(" on {host}"));
            Some(pid + host.as_deref().unwrap_or_default())
        }
        [] | [_] => None,
        several => {
            let mut hosts: Vec<&str> =
                several.iter().filter_map(|process| process.hostname.as_deref()).collect();
            hosts.sort_unstable();
            hosts.dedup();
            let on = match hosts[..] {
                [] => String::new(),
                [host] => format!(" on {host}"),
                [..] => format!(" on {} hosts", hosts.len()),
            };
            Some(format!("{} processes{on}", several.len()))
        }
    }
}

/// GPUs whose timeline is drawn; the sheet has all.
const DRAWN: usize = 4;

fn write_timelines(out: &mut String, timelines: &[AgentTimeline<'_>], style: Style) {
    let time = |nanoseconds: i64| duration(nanoseconds as f64 / 1e3);
    for AgentTimeline { agent, breakdown } in timelines.iter().take(DRAWN) {
        let Breakdown { total, busy, idle, .. } = *breakdown;
        let name = agent.map_or("GPU".to_owned(), agent_name);
        let _ = writeln!(out, "\n{name} time {}: busy {}, idle {}", time(total), time(busy), time(idle));
        out.push_str(&timeline_bar(breakdown, style));
    }
    if timelines.len() > DRAWN {
        let more = counted(timelines.len() - DRAWN, "GPU", "GPUs");
        let _ = writeln!(out, "and {more} more, see gpu_timeline_by_agent");
    }
}

fn agent_name(agent: &Agent) -> String {
    agent.ordinal.map_or_else(|| agent.label.clone(), |ordinal| format!("GPU {ordinal}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_told_as_far_as_they_are_known() {
        let process = |pid: Option<i64>, host: Option<&str>| Process {
            pid,
            hostname: host.map(ToOwned::to_owned),
            ..Process::default()
        };
        for (known, text) in [
            (vec![], None),
            (vec![process(None, None)], None),
            (vec![process(Some(908), None)], Some("process 908")),
            (vec![process(None, Some("a"))], Some("a process on a")),
            (vec![process(Some(908), Some("a"))], Some("process 908 on a")),
            (vec![process(Some(1), Some("a")), process(Some(2), Some("a"))], Some("2 processes on a")),
            (vec![process(Some(1), Some("a")), process(Some(1), Some("b"))], Some("2 processes on 2 hosts")),
            (vec![process(Some(1), None), process(Some(2), None)], Some("2 processes")),
        ] {
            assert_eq!(processes(&known).as_deref(), text);
        }
    }
}
