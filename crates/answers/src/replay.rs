//! Which operators of a recording or report can run again, with what it says of their calls.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use gpu_timeline::{SortFew, Summary};
use op_replay::{Entry, Operation, Refusal, SeenTensors};
use perf_models::{OpCall, Value};
use sheets::Table;
use sheets::columns;
use sheets::names;
use trace_diff::{ReportFormat, read_report, report_format};
use trace_ingest::{
    Category, EventId, EventTable, ReadOptions, SignatureId, StringId, is_standard_input, read_path,
};
use trace2tree::{TraceTree, TreeOptions, busy_time};
use tree_perf::{Analysis, AnalysisOptions};

use crate::error::Error;
use crate::known_sheets::column_names;
use crate::notice::Notice;

/// Which operators, and how they are read.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// Which operators.
    pub choice: ReplayChoice,
    /// Operators whose tensors need more bytes are refused.
    pub max_bytes: Option<u64>,
    /// How trees are built: what finds the launch of a device event, and whether recorded ends are kept.
    pub tree: TreeOptions,
}

/// Operators of a recording.
#[derive(Clone, Debug)]
pub enum ReplayChoice {
    /// Those that launched most device work themselves, this many; without a device, those that took the host longest
    /// themselves.
    Top(usize),
    /// Those of these names, with whatever arguments.
    Names(Vec<String>),
    /// Those of these events: an operator, or what it launched.
    Uids(Vec<u32>),
}

/// An operator with some arguments.
#[derive(Clone, Debug)]
pub struct ReplayedOperator {
    /// Its name.
    pub name: String,
    /// Index of its first call in the list of events, where that is known.
    pub uid: Option<u32>,
    /// Number of its calls with these arguments.
    pub count: u64,
    /// Time of these calls in µs, operators inside them included: on the device, or without one on the host.
    pub time_us: f64,
    /// The operator as it runs again, or why it cannot.
    pub verdict: Result<Entry, Refusal>,
}

/// The operators that were asked for.
#[derive(Clone, Debug, Default)]
pub struct OperatorsToReplay {
    /// By their time, longest first.
    pub operators: Vec<ReplayedOperator>,
    /// Time in µs of all operators of the recording.
    pub total_us: f64,
    /// Whether times are those of the host.
    pub is_host_time: bool,
    /// What reading got over.
    pub notices: Vec<Notice>,
}

/// Finds operators of a trace, or of a report with a table of operators and their arguments, and says which of them can run
/// again.
///
/// # Errors
/// When the file cannot be read, or has no such operators.
pub fn operators_to_replay(
    path: &Path,
    options: &ReplayOptions,
    reading: &ReadOptions<'_>,
) -> Result<OperatorsToReplay, Error> {
    let is_operators = |name: &str| TABLES.contains(&name);
    let format = if is_standard_input(path) { None } else { report_format(path, &is_operators)? };
    let mut found = match format {
        Some(format) => from_report(path, format, options)?,
        None => from_trace(path, options, reading)?,
    };
    // Of equal times, the first call goes first.
    found.operators.sort_few_by(|a, b| b.time_us.total_cmp(&a.time_us).then(a.uid.cmp(&b.uid)));
    Ok(found)
}

/// Operators are told apart by name and arguments.
type CallKey = (StringId, Option<SignatureId>);

fn key(events: &EventTable, event: EventId) -> CallKey {
    (events.name(event), events.signature(event))
}

fn from_trace(
    path: &Path,
    options: &ReplayOptions,
    reading: &ReadOptions<'_>,
) -> Result<OperatorsToReplay, Error> {
    let trace = read_path(path, &ReadOptions { skip_python_frames: true, ..*reading })?;
    let mut notices: Vec<Notice> = trace.warnings().iter().cloned().map(Notice::Reading).collect();
    let tree_options = TreeOptions { threads: reading.thread_count(), ..options.tree.clone() };
    let tree = TraceTree::build(trace, &tree_options);
    notices.extend(tree.warnings().iter().cloned().map(Notice::Tree));
    let analysis = Analysis::from_tree(
        tree,
        AnalysisOptions {
            link_by: options.tree.link_by,
            enable_pseudo_ops: false,
            ..AnalysisOptions::default()
        },
    );
    let events = analysis.trace().events();
    let is_operator = |event: EventId| events.category(event) == Category::CPU_OP;
    let is_host_time = !analysis.launchers().any(|row| is_operator(row.event));
    let own_times: Vec<(EventId, i64)> = match is_host_time {
        true => host_times(analysis.tree()).collect(),
        false => analysis.launchers().map(|row| (row.event, row.direct_time)).collect(),
    };
    let chosen = match &options.choice {
        ReplayChoice::Top(most) => longest(events, &own_times, *most),
        ReplayChoice::Names(names) => calls_named(path, analysis.tree(), names)?,
        ReplayChoice::Uids(uids) => calls_numbered(path, analysis.tree(), uids)?,
    };
    let mut calls: HashMap<CallKey, Vec<EventId>> = chosen.into_iter().map(|key| (key, Vec::new())).collect();
    // Calls of the runtime count where no operator is around them.
    let outside: HashSet<EventId> =
        own_times.iter().map(|&(event, _)| event).filter(|&event| !is_operator(event)).collect();
    let mut seen = SeenTensors::default();
    let mut observed = HashSet::new();
    for &event in analysis.tree().host_events() {
        if let Some(calls) = calls.get_mut(&key(events, event))
            && (is_operator(event) || outside.contains(&event))
        {
            calls.push(event);
        }
        if events.signature(event).is_some_and(|signature| observed.insert(signature)) {
            analysis.with_recorded_call(event, |call| seen.observe(&call));
        }
    }
    let operators = calls.into_values().filter(|calls| !calls.is_empty());
    let operators =
        operators.map(|calls| replayed(&analysis, &calls, &seen, is_host_time, options.max_bytes));
    Ok(OperatorsToReplay {
        operators: operators.collect(),
        total_us: analysis.trace().to_microseconds(own_times.iter().map(|&(_, time)| time).sum()),
        is_host_time,
        notices,
    })
}

/// The operators that took longest themselves.
fn longest(events: &EventTable, own_times: &[(EventId, i64)], most: usize) -> Vec<CallKey> {
    // With the first event, which tells equal times apart.
    let mut times: HashMap<CallKey, (i64, EventId)> = HashMap::new();
    for &(event, time) in own_times {
        times.entry(key(events, event)).or_insert((0, event)).0 += time;
    }
    let mut ranked: Vec<(CallKey, (i64, EventId))> = times.into_iter().collect();
    ranked.sort_few_by_key(|&(_, (time, first))| (Reverse(time), first));
    ranked.into_iter().take(most).map(|(key, _)| key).collect()
}

fn calls_named(path: &Path, tree: &TraceTree, names: &[String]) -> Result<Vec<CallKey>, Error> {
    let events = tree.trace().events();
    let mut all = Vec::new();
    for name in names {
        let named = tree.find_by_name(name).iter().copied();
        let before = all.len();
        all.extend(
            named.filter(|&event| events.category(event) == Category::CPU_OP).map(|event| key(events, event)),
        );
        if all.len() == before {
            return Err(not_recorded(path, format!("operator named {name:?}"), NAMES));
        }
    }
    Ok(all)
}

fn calls_numbered(path: &Path, tree: &TraceTree, uids: &[u32]) -> Result<Vec<CallKey>, Error> {
    let events = tree.trace().events();
    let event_call = |&uid: &u32| {
        let operator = events.find_uid(uid).and_then(|event| operator_of(tree, event));
        let advice =
            "an index is a position in the event list, from 0, as in the column example UID of ops_all";
        let what = || format!("operator at event {uid} or above it in the call tree");
        operator.map(|event| key(events, event)).ok_or_else(|| not_recorded(path, what(), advice))
    };
    uids.iter().map(event_call).collect()
}

const NAMES: &str = "names are in the sheet ops_all of `tracelens report`";

fn not_recorded(path: &Path, what: String, advice: &'static str) -> Error {
    Error::NotRecorded { path: path.to_path_buf(), what, advice }
}

/// The operator that an event is, that it is inside, or that launched it.
fn operator_of(tree: &TraceTree, event: EventId) -> Option<EventId> {
    let events = tree.trace().events();
    let host = if tree.is_host(event) { event } else { tree.kernel_launcher(event)? };
    std::iter::once(host)
        .chain(tree.ancestors(host))
        .find(|&event| events.category(event) == Category::CPU_OP)
}

/// Time of each operator on the host, without that of operators inside it.
fn host_times(tree: &TraceTree) -> impl Iterator<Item = (EventId, i64)> {
    let events = tree.trace().events();
    let is_operator = |event: EventId| events.category(event) == Category::CPU_OP;
    tree.host_events().iter().copied().filter(move |&event| is_operator(event)).map(move |event| {
        let inside = tree.children(event).iter().copied().filter(|&child| is_operator(child));
        (event, events.duration(event) - inside.map(|child| events.duration(child)).sum::<i64>())
    })
}

fn replayed(
    analysis: &Analysis,
    calls: &[EventId],
    seen: &SeenTensors,
    is_host_time: bool,
    max_bytes: Option<u64>,
) -> ReplayedOperator {
    let (trace, tree) = (analysis.trace(), analysis.tree());
    let events = trace.events();
    let first = calls[0];
    let mut kernels: Vec<StringId> = Vec::new();
    for kernel in calls.iter().flat_map(|&event| tree.device_events(event)) {
        if !kernels.contains(&events.name(*kernel)) {
            kernels.push(events.name(*kernel));
        }
    }
    let kernels: Vec<&str> = kernels.into_iter().map(|name| trace.text(name)).collect();
    let verdict = analysis.with_recorded_call(first, |call| {
        Operation::read(&OpCall { kernels: &kernels, ..call }, seen, max_bytes)
    });
    let count = calls.len() as u64;
    let with_device_work =
        calls.iter().map(|&event| tree.device_events(event)).filter(|work| !work.is_empty());
    let on_device: Vec<i64> = with_device_work.map(|work| busy_time(events, work.iter().copied())).collect();
    let on_host: Vec<i64> = calls.iter().map(|&event| events.duration(event)).collect();
    let median = |times: &[i64]| {
        let unit = trace.time_unit().per_microsecond() as f64;
        Summary::from_values(times).and_then(|summary| summary.spread(unit).median)
    };
    let times = if is_host_time { &on_host } else { &on_device };
    ReplayedOperator {
        name: trace.name(first).to_owned(),
        uid: Some(events.uid(first)),
        count,
        time_us: trace.to_microseconds(times.iter().sum()),
        verdict: verdict.map(|operation| Entry {
            median_us: median(&on_device),
            host_median_us: median(&on_host),
            kernels: kernels.iter().map(|&name| name.to_owned()).collect(),
            ..Entry::new(operation, count)
        }),
    }
}

/// The tables of reports that have a row for each operator with its arguments.
const TABLES: [&str; 2] = [names::OPS_ALL, names::OPS_UNIQUE_ARGS];

/// Columns of them: shapes, types, strides, values.
const LISTS: [&str; 4] = [
    columns::INPUT_DIMS.name,
    columns::INPUT_TYPE.name,
    columns::INPUT_STRIDES.name,
    columns::CONCRETE_INPUTS.name,
];

/// A row of a report, together with others of the same operator and arguments.
struct Row {
    name: String,
    lists: [Option<Vec<Value>>; 4],
    uid: Option<u32>,
    /// Calls by process and thread. Rows of different kinds of work count the same calls.
    counts: HashMap<[String; 3], u64>,
    /// Of what the calls launched themselves.
    own_us: f64,
    /// Of operators inside them, too.
    time_us: f64,
    /// Time and median of the row with most time.
    median_us: (f64, Option<f64>),
    kernels: Vec<String>,
}

impl Row {
    fn call<'a>(&'a self, kernels: &'a [&'a str]) -> OpCall<'a> {
        let [dims, types, strides, concrete] = self.lists.each_ref().map(Option::as_deref);
        OpCall { name: &self.name, dims, types, strides, concrete, kernels, ..OpCall::default() }
    }
}

fn from_report(
    path: &Path,
    format: ReportFormat,
    options: &ReplayOptions,
) -> Result<OperatorsToReplay, Error> {
    let has_arguments = |name: &str, headers: &[String]| {
        TABLES.contains(&name) && LISTS.iter().all(|list| headers.iter().any(|header| header == list))
    };
    let tables = read_report(path, format, &column_names, &has_arguments)?;
    let table = tables.first().ok_or_else(|| {
        let what = "table of operators with their arguments (ops_all, ops_unique_args)".to_owned();
        not_recorded(path, what, "pass a report of `tracelens pytorch` or TraceLens, or the trace")
    })?;
    let mut rows = rows_of(table);
    rows.sort_few_by(|a, b| b.own_us.total_cmp(&a.own_us).then(a.uid.cmp(&b.uid)));
    let mut seen = SeenTensors::default();
    rows.iter().for_each(|row| seen.observe(&row.call(&[])));
    let is_chosen = |row: &Row| match &options.choice {
        ReplayChoice::Top(_) => true,
        ReplayChoice::Names(names) => names.contains(&row.name),
        ReplayChoice::Uids(uids) => row.uid.is_some_and(|uid| uids.contains(&uid)),
    };
    let most = if let ReplayChoice::Top(most) = options.choice { most } else { usize::MAX };
    let chosen: Vec<&Row> = rows.iter().filter(|row| is_chosen(row)).take(most).collect();
    let has = |is: &dyn Fn(&Row) -> bool| chosen.iter().any(|row| is(row));
    match &options.choice {
        ReplayChoice::Top(_) => {}
        ReplayChoice::Names(names) => {
            if let Some(name) = names.iter().find(|name| !has(&|row| row.name == **name)) {
                return Err(not_recorded(path, format!("operator named {name:?}"), NAMES));
            }
        }
        ReplayChoice::Uids(uids) => {
            if let Some(uid) = uids.iter().find(|&&uid| !has(&|row| row.uid == Some(uid))) {
                let advice = "a report has only the first call of each row (example UID); the trace has all";
                return Err(not_recorded(path, format!("row with UID {uid}"), advice));
            }
        }
    }
    let total_us = rows.iter().map(|row| row.own_us).sum();
    let operators = chosen.into_iter().map(|row| {
        let kernels: Vec<&str> = row.kernels.iter().map(String::as_str).collect();
        let count = row.counts.values().sum();
        let verdict = Operation::read(&row.call(&kernels), &seen, options.max_bytes);
        ReplayedOperator {
            name: row.name.clone(),
            uid: row.uid,
            count,
            time_us: row.time_us,
            verdict: verdict.map(|operation| Entry {
                median_us: row.median_us.1,
                kernels: row.kernels.clone(),
                ..Entry::new(operation, count)
            }),
        }
    });
    Ok(OperatorsToReplay {
        operators: operators.collect(),
        total_us,
        is_host_time: false,
        notices: Vec::new(),
    })
}

/// The rows of a table, those of the same operator and arguments as one, in the order of the first of them.
fn rows_of(table: &Table) -> Vec<Row> {
    let text = |column: &str, row: usize| {
        table.column(column).map(|column| column.cell(row).text().into_owned()).unwrap_or_default()
    };
    let number = |column: &str, row: usize| text(column, row).parse::<f64>().ok();
    let mut rows: Vec<Row> = Vec::new();
    let mut places: HashMap<[String; 5], usize> = HashMap::new();
    for at in 0..table.height() {
        let [dims, types, strides, concrete] = LISTS.map(|list| text(list, at));
        let name = text("name", at);
        let place = *places.entry([name, dims, types, strides, concrete]).or_insert_with_key(|key| {
            let list = |text: &String| match Value::from_literal(text) {
                Ok(Value::Tuple(items) | Value::List(items)) => Some(items),
                _ => None,
            };
            let [name, lists @ ..] = key;
            rows.push(Row {
                name: name.clone(),
                lists: lists.each_ref().map(list),
                uid: text(columns::EX_UID.name, at).parse().ok(),
                counts: HashMap::new(),
                own_us: 0.0,
                time_us: 0.0,
                median_us: (f64::NEG_INFINITY, None),
                kernels: Vec::new(),
            });
            rows.len() - 1
        });
        let row = &mut rows[place];
        let thread = [columns::PROCESS_NAME.name, columns::PROCESS_LABEL.name, columns::THREAD_NAME.name]
            .map(|column| text(column, at));
        let count = number(columns::OPERATION_COUNT.name, at).map_or(0, |count| count as u64);
        let counted = row.counts.entry(thread).or_default();
        *counted = count.max(*counted);
        let time_us = number(columns::SUBTREE_US_SUM.name, at).unwrap_or(0.0);
        row.time_us += time_us;
        row.own_us += number(columns::DIRECT_US_SUM.name, at).unwrap_or(0.0);
        if time_us > row.median_us.0 {
            row.median_us = (time_us, number(columns::SUBTREE_US.median.name, at));
        }
        for kernel in kernel_names(&text(columns::KERNEL_DETAILS.name, at)) {
            if !row.kernels.contains(&kernel) {
                row.kernels.push(kernel);
            }
        }
    }
    rows
}

/// The names in a list of kernels, which are records: `[{'name': 'Memset (Device)', 'stream': 7, …`.
fn kernel_names(records: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = records;
    let mut is_name = false;
    while let Some(at) = rest.find(['\'', '"']) {
        rest = &rest[at..];
        let Some(length) = quoted_length(rest) else { break };
        let (quoted, behind) = rest.split_at(length);
        if std::mem::take(&mut is_name) {
            if let Ok(Value::Text(name)) = Value::from_literal(quoted) {
                names.push(name);
            }
        } else {
            is_name = quoted.trim_matches(['\'', '"']) == "name" && behind.starts_with(':');
        }
        rest = behind;
    }
    names
}

/// Length of the Python text in quotes that `text` begins with.
fn quoted_length(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let mut is_escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let ends = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.map(|(at, _)| at + quote.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_are_found_in_records() {
        for (records, expected) in [
            (
                "[{'name': 'Memset (Device)', 'stream': 7, 'count': np.float64(2.0)}, {'name': \"it's 'name': x\", 'stream': 7}]",
                &["Memset (Device)", "it's 'name': x"][..],
            ),
            ("[{'stream': 'name'}]", &[]),
            ("[{'name': 'cut", &[]),
            ("", &[]),
        ] {
            assert_eq!(kernel_names(records), expected, "{records}");
        }
    }
}
