//! Nothing is lost and nothing counts twice in recorded traces, whatever the options.

use std::path::PathBuf;

use trace_ingest::EventId;
use trace2tree::busy_time;
use tree_perf::{Analysis, AnalysisOptions};

use super::{cases, read};
use crate::common::{THEIRS, Table, conventions};

/// The recorded traces of PyTorch and of inference engines, and those of the repository.
fn traces() -> Vec<PathBuf> {
    let repository = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut folders = vec![repository.join("generated")];
    let corpus = ["pytorch", "inference"].into_iter().filter_map(testdata::corpus);
    for parent in corpus.chain([repository.join("recorded")]) {
        folders.extend(cases(&parent).into_iter().map(|case| parent.join(case)));
    }
    let mut traces: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().is_some_and(|path| path.ends_with(".json.gz")))
        .collect();
    traces.sort();
    traces
}

/// The sum of a column in ns, exactly.
fn nanoseconds(table: &Option<Table>, column: &str) -> i64 {
    let numbers = table.as_ref().map(|table| table.numbers(column)).unwrap_or_default();
    numbers.iter().map(|us| (us * 1e3).round() as i64).sum()
}

/// Device events of all calls of all rows.
fn device_events(table: &Option<Table>) -> usize {
    let Some(table) = table else { return 0 };
    let calls = table.numbers("operation_count");
    table.numbers("num_kernels").iter().zip(calls).map(|(kernels, calls)| (kernels * calls) as usize).sum()
}

/// Checks a trace; whether no two device events of it ran at the same time, so that times had to add up.
fn check(analysis: &Analysis, what: &str) -> bool {
    let (tree, events) = (analysis.tree(), analysis.trace().events());
    let all: Vec<EventId> = events.ids().filter(|&event| events.category(event).is_device()).collect();
    let communication = &analysis.options().communication;
    let is_linked = |event: &EventId| tree.launch(*event).is_some();
    let are_theirs = analysis.options().conventions == THEIRS;
    // The figures of TraceLens leave communication out.
    let computes =
        |event: &EventId| !are_theirs || !communication.is_communication(analysis.trace().name(*event));
    let launched: Vec<EventId> = all.iter().copied().filter(is_linked).filter(computes).collect();
    assert_eq!(all.len(), analysis.device_event_count(), "{what}");

    // Every device event is in one row of the unified table, or coverage tells of it.
    let unified = Table::build(analysis, "unified_perf_summary");
    let coverage = Table::build(analysis, "coverage");
    let (mut rest, mut rest_time, mut charged_time, mut charged_calls) = (0, 0, 0, 0);
    if let Some(coverage) = &coverage {
        for row in coverage.select("status | operation_count | Kernel Time (µs)_sum") {
            let cells: Vec<&str> = row.split(" | ").collect();
            let (count, time): (usize, f64) = (cells[1].parse().unwrap(), cells[2].parse().unwrap());
            let time = (time * 1e3).round() as i64;
            match cells[0] {
                "communication" if !are_theirs => {
                    (charged_calls, charged_time) = (charged_calls + count, charged_time + time)
                }
                "communication" | "unlinked" => (rest, rest_time) = (rest + count, rest_time + time),
                _ => (charged_calls, charged_time) = (charged_calls + count, charged_time + time),
            }
        }
    }
    assert_eq!(device_events(&unified) + rest, all.len(), "{what}: device events");
    assert_eq!(charged_time, nanoseconds(&unified, "Kernel Time (µs)_sum"), "{what}: time in coverage");
    let calls: f64 = unified.iter().flat_map(|table| table.numbers("operation_count")).sum();
    assert_eq!(charged_calls as f64, calls, "{what}: calls in coverage");

    // The launchers have all that was launched, once.
    let launchers = Table::build(analysis, "ops_all");
    assert_eq!(device_events(&launchers), launched.len(), "{what}: device events of launchers");
    let direct = nanoseconds(&launchers, "total_direct_kernel_time_sum");
    let sum = |of: &[EventId]| of.iter().map(|&event| events.duration(event)).sum::<i64>();
    let busy = |of: &[EventId]| busy_time(events, of.iter().copied());
    let total = charged_time + rest_time;
    assert!((busy(&launched)..=sum(&launched)).contains(&direct), "{what}: time of launchers");
    assert!((busy(&all)..=sum(&all)).contains(&total), "{what}: time of the unified rows and the rest");
    let one_by_one = busy(&all) == sum(&all);
    if one_by_one {
        let left_out: Vec<EventId> =
            all.iter().copied().filter(|event| !(is_linked(event) && computes(event))).collect();
        assert_eq!(direct + sum(&left_out), total, "{what}: time of launchers and what they leave out");
    }
    one_by_one
}

#[test]
fn every_device_event_of_recorded_traces_is_accounted_for_once() {
    let traces = traces();
    assert!(traces.len() > 4, "{traces:?}");
    let (mut one_by_one, mut checked) = (0, 0);
    for path in &traces {
        for (enable_pseudo_ops, include_call_stack, are_theirs) in
            [(false, false, false), (true, false, false), (false, true, false), (false, false, true)]
        {
            let options = AnalysisOptions {
                enable_pseudo_ops,
                include_call_stack,
                conventions: conventions(are_theirs),
                group_by_num_kernels: true,
                ..AnalysisOptions::default()
            };
            let analysis = Analysis::new(read(path), options);
            if analysis.is_gpu_only() || analysis.is_host_only() {
                continue;
            }
            let what = format!(
                "{} pseudo {enable_pseudo_ops} frames {include_call_stack} theirs {are_theirs}",
                path.display()
            );
            one_by_one += usize::from(check(&analysis, &what));
            checked += 1;
        }
    }
    assert!(one_by_one > 0 && checked > one_by_one, "{one_by_one} of {checked} traces without overlap");
}
