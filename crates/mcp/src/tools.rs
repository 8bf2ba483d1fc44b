//! The tools: their arguments and answers.

use std::path::Path;
use std::sync::Arc;

use answers::envelope::{Answer, Asked, Input, InputDetails, Role};
use answers::{
    Analysed, Condition, CriticalPathReporter, DiffReporter, GateReader, Order, Report, Reporter, RowError,
    RowQuery, Rows, Run, Test, TreeQuery, TreeStart, Value as CellValue, did_you_mean, known_sheets,
    means_rule, table_named,
};
use iterations::Window;
use perf_gate::{Gate, Thresholds};
use report_writers::JsonTable;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sheets::Table;
use sheets::names;
use trace_ingest::ReadOptions;

use crate::protocol::Following;
use crate::refusal::Refusal;
use crate::session::{Held, Session};

/// Arguments of a tool, and its answer.
macro_rules! tools {
    ($($name:literal $arguments:ident $function:ident $about:literal;)*) => {
        /// The tools with the forms of their arguments.
        pub(crate) fn all() -> Vec<Value> {
            vec![$(tool($name, $about, schema_for!($arguments).to_value())),*]
        }

        pub(crate) fn is_known(name: &str) -> bool {
            [$($name),*].contains(&name)
        }

        /// Calls a tool.
        pub(crate) fn call(
            session: &Session,
            name: &str,
            arguments: Map<String, Value>,
            following: &Following<'_>,
        ) -> Result<Value, Refusal> {
            match name {
                $($name => $function(session, &asked($name, &arguments), parsed::<$arguments>(arguments)?, following),)*
                _ => Err(Refusal::new("bad-value", "unknown tool")),
            }
        }
    };
}

tools! {
    "open" Open open "Read a recording (PyTorch/Kineto, XPlane, rocprofv3, Nsight Systems export, \
                      Tenstorrent CSV) and keep it open. Returns a handle, how reliable its figures are, and its \
                      tables. Start here.";
    "close" Close close "Close an open recording and free its memory.";
    "summary" TraceArguments summary "Where the time of a recording went: devices, time split, steps, what \
                               limits it, and the first findings.";
    "table" TableRows table "Rows of one table of a recording, filtered, sorted and paged. `open` lists the \
                             tables, `columns` explains their columns.";
    "why" TargetArguments why "Explain one operator, kernel, module or event: time, calls, spread, callers, \
                        kernels, waits before it, findings.";
    "tree" TreeArguments tree "What a call launches (down) or who calls it (up), with device times; identical siblings share one row.";
    "path" PathArguments path "The critical path of a PyTorch trace: what the run waited for, by class of work.";
    "diff" RunsArguments diff "Where two runs of a program differ in time: a breakdown that adds up to the total difference.";
    "advise" AdviceArguments advise "What to change first: findings with gain in µs, evidence and remedy.";
    "gate" GateArguments gate "Whether a candidate is slower than a baseline, from one or several recordings of each.";
    "columns" ColumnsArguments columns "Meaning and units of a table's columns.";
    "doctor" DoctorArguments doctor "Problems with a recording and the figures they make unreliable; without a \
                              trace: the server's version and limits.";
}

fn tool(name: &str, about: &str, mut schema: Value) -> Value {
    without_titles(&mut schema);
    json!({
        "name": name,
        "description": about,
        "inputSchema": schema,
        "annotations":
            {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false},
    })
}

/// Removes what an agent has no use for.
fn without_titles(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for name in ["title", "$schema", "format"] {
                if members.get(name).is_some_and(Value::is_string) {
                    members.remove(name);
                }
            }
            members.values_mut().for_each(without_titles);
        }
        Value::Array(items) => items.iter_mut().for_each(without_titles),
        _ => {}
    }
}

fn parsed<A: for<'de> Deserialize<'de>>(arguments: Map<String, Value>) -> Result<A, Refusal> {
    serde_json::from_value(Value::Object(arguments)).map_err(bad_value)
}

/// Refuses an argument that is longer than any that makes sense, before there is work that grows with it.
pub(crate) fn bounded(name: &str, argument: &Value) -> Result<(), Refusal> {
    /// Characters of a text: paths are the longest.
    const CHARACTERS: usize = 1_024;
    /// Entries of a list: recordings of a gate are the most.
    const ENTRIES: usize = 64;
    let name = || name.chars().take(CHARACTERS.min(64)).collect::<String>();
    let too_long = |count: usize, what: &str, most: usize| {
        let text = format!("{} has {count} {what}, expected at most {most}", name());
        Err(bad_value(text).with_help("shorten it"))
    };
    match argument {
        Value::String(text) if text.len() > CHARACTERS && text.chars().count() > CHARACTERS => {
            too_long(text.chars().count(), "characters", CHARACTERS)
        }
        Value::Array(entries) if entries.len() > ENTRIES => too_long(entries.len(), "entries", ENTRIES),
        Value::Array(entries) => entries.iter().try_for_each(|entry| bounded(&name(), entry)),
        Value::Object(members) => members.iter().try_for_each(|(name, member)| bounded(name, member)),
        _ => Ok(()),
    }
}

/// What was asked: the arguments that are not about files, by name.
fn asked(name: &str, arguments: &Map<String, Value>) -> Asked {
    const FILES: [&str; 4] = ["trace", "path", "baseline", "candidate"];
    let given = arguments.iter().filter(|(name, _)| !FILES.contains(&name.as_str()));
    let mut options: Vec<String> = given.map(|(name, value)| format!("{name} {value}")).collect();
    options.sort();
    Asked { name: name.to_owned(), options }
}

/// A step, or a time range.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    /// Number of the step, as in the table iterations.
    step: Option<usize>,
    /// Start, in ms after the first event.
    start_ms: Option<f64>,
    /// End, in ms after the first event.
    end_ms: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Open {
    /// The file, absolute or relative to a root.
    path: String,
    /// Architecture for rooflines, such as H100-SXM. Default: the recorded device.
    arch: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Close {
    /// A handle from `open`.
    trace: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TraceArguments {
    /// A handle from `open`, or a file.
    trace: String,
    /// Part of the recording. Default: all of it.
    window: Option<Part>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TableRows {
    /// A handle from `open`, or a file.
    trace: String,
    /// Part of the recording. Default: all of it.
    window: Option<Part>,
    /// Name of the table.
    name: String,
    /// Columns to return, in this order. Default: the first columns that are not empty.
    #[serde(default)]
    select: Vec<String>,
    /// Conditions that rows must all meet.
    #[serde(default)]
    filter: Vec<FilterBy>,
    /// Columns to sort by, the most important first.
    #[serde(default)]
    sort: Vec<SortBy>,
    /// Rows to return, 1 to 500. Default: 20.
    top: Option<usize>,
    /// Where to continue: `next` of the last answer.
    #[serde(default)]
    cursor: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FilterBy {
    column: String,
    op: Operator,
    /// A string, number or boolean; a list for `in`; omitted for `null`.
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Operator {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Contains,
    Starts,
    In,
    Null,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SortBy {
    column: String,
    /// Largest first. Default: true.
    descending: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TargetArguments {
    /// A handle from `open`, or a file.
    trace: String,
    /// Part of the recording. Default: all of it.
    window: Option<Part>,
    /// Name of an operator, kernel or module, or UID of an event.
    target: String,
    /// Entries per list, 1 to 50. Default: 5.
    top: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TreeArguments {
    /// A handle from `open`, or a file.
    trace: String,
    /// Part of the recording. Default: all of it.
    window: Option<Part>,
    /// Start at the event with this number.
    uid: Option<u32>,
    /// Start at all events of this name. Default: the outermost calls.
    name: Option<String>,
    /// `down` to callees and launches (default), or `up` to callers.
    direction: Option<Direction>,
    /// Levels, 1 to 32. Default: 4.
    depth: Option<usize>,
    /// Omit events with less device time than this, in µs.
    #[serde(default)]
    min_us: f64,
    /// Rows to return, 1 to 300. Default: 50.
    top: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Down,
    Up,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PathArguments {
    /// A handle from `open`, or a file.
    trace: String,
    /// Part of the recording. Default: all of it.
    window: Option<Part>,
    /// Rows to return, 1 to 500. Default: 20.
    top: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunsArguments {
    /// The earlier run: a handle or a file.
    baseline: String,
    /// The later run: a handle or a file.
    candidate: String,
    /// Rows to return, 1 to 500. Default: 20.
    top: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AdviceArguments {
    /// A handle from `open`, or a file.
    trace: String,
    /// Part of the recording. Default: all of it.
    window: Option<Part>,
    /// Only these rules, such as IDLE-SYNC or IDLE-*.
    #[serde(default)]
    rules: Vec<String>,
    /// Findings to return, 1 to 50. Default: 10.
    top: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GateArguments {
    /// Recordings or a baseline file of the earlier version.
    baseline: Vec<String>,
    /// Recordings of the later version.
    candidate: Vec<String>,
    /// Smallest slowdown that fails the gate, as a percentage of the step time. Default: 1.75.
    slower_by_pct: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ColumnsArguments {
    /// Name of the table.
    name: String,
    /// Explain only this column.
    column: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DoctorArguments {
    /// A handle from `open`, or a file.
    trace: Option<String>,
}

/// A number within its bounds, which the schema alone does not enforce.
fn within(name: &str, given: Option<usize>, default: usize, most: usize) -> Result<usize, Refusal> {
    match given.unwrap_or(default) {
        number if (1..=most).contains(&number) => Ok(number),
        number => Err(bad_value(format!("{name} is {number}")).with_help(format!("use 1 to {most}"))),
    }
}

/// The part of a recording that is asked for.
fn window(part: Option<Part>) -> Result<Option<Window>, Refusal> {
    let Some(part) = part else { return Ok(None) };
    match part {
        Part { step: Some(step), start_ms: None, end_ms: None } => {
            Ok(Some(Window::Iterations(step..step.saturating_add(1))))
        }
        Part { step: None, start_ms: Some(start), end_ms: Some(end) } if 0.0 <= start && start < end => {
            Ok(Some(Window::Microseconds(start * 1e3..end * 1e3)))
        }
        _ => Err(bad_value("a window is a step, or a start_ms and a later end_ms")),
    }
}

fn bad_value(what: impl std::fmt::Display) -> Refusal {
    Refusal::new("bad-value", what.to_string())
}

/// The answer about a held recording, without tables and findings.
fn about<'h>(session: &Session, asked: &Asked, held: &'h Held) -> Answer<'h> {
    let mut answer = session.answer(asked, vec![held.input.clone()]).about(&held.report);
    answer.findings.clear();
    answer
}

fn document(answer: Answer<'_>) -> Result<Value, Refusal> {
    serde_json::to_value(answer).map_err(bad_value)
}

fn open(session: &Session, asked: &Asked, given: Open, following: &Following<'_>) -> Result<Value, Refusal> {
    let (held, evicted) = session.open(&given.path, given.arch.as_deref(), following)?;
    let mut answer = about(session, asked, &held);
    let tables = held.report.tables.tables().iter();
    let tables: Vec<Value> = tables
        .map(|table| json!({"name": table.name(), "rows": table.height(), "columns": table.columns().len()}))
        .collect();
    let all = session.all();
    let all: Vec<Value> = all
        .iter()
        .map(|held| json!({"trace": held.handle, "file": held.input.file, "bytes": held.bytes}))
        .collect();
    answer.result = json!({"trace": held.handle, "tables": tables, "held": all, "evicted": evicted});
    document(answer)
}

fn close(session: &Session, asked: &Asked, given: Close, _: &Following<'_>) -> Result<Value, Refusal> {
    let freed = session.close(&given.trace).ok_or_else(|| {
        Refusal::new("unknown-trace", "no open recording has this handle").with_help("nothing to close")
    })?;
    let mut answer = session.answer(asked, Vec::new());
    answer.result = json!({"freed_bytes": freed});
    document(answer)
}

fn summary(
    session: &Session,
    asked: &Asked,
    given: TraceArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let held = session.part(&given.trace, window(given.window)?, following)?;
    let mut answer = session.answer(asked, vec![held.input.clone()]).with_report(&held.report);
    answer.tables.clear();
    answer.findings.truncate(3);
    document(answer)
}

fn table(
    session: &Session,
    asked: &Asked,
    given: TableRows,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let top = within("top", given.top, 20, 500)?;
    let held = session.part(&given.trace, window(given.window)?, following)?;
    let conditions = given.filter.into_iter().map(condition).collect::<Result<_, _>>()?;
    let order: Vec<Order> = given
        .sort
        .into_iter()
        .map(|by| Order { column: by.column, descending: by.descending.unwrap_or(true) })
        .collect();
    let query = RowQuery { columns: given.select, conditions, order, skip: given.cursor, top };
    let whole = table_named(&held.report.tables, &given.name).map_err(from_row_error)?;
    let mut answer = about(session, asked, &held);
    answer.tables = vec![part(whole, &query)?];
    document(answer)
}

/// The rows of a table that are asked for, with the columns that they are sorted by.
fn part(whole: &Table, query: &RowQuery) -> Result<JsonTable<'static>, Refusal> {
    let Rows { table, total, next, sort } = query.rows(whole).map_err(from_row_error)?;
    Ok(JsonTable::part(whole, table, total, next, sort))
}

fn nearest_names<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    format!("the nearest names are {}", did_you_mean(name, names).join(", "))
}

fn from_row_error(error: RowError) -> Refusal {
    let code = match error {
        RowError::UnknownTable { .. } => "unknown-table",
        RowError::UnknownColumn { .. } => "unknown-column",
        _ => "bad-filter",
    };
    Refusal::of(code, &error)
}

fn condition(given: FilterBy) -> Result<Condition, Refusal> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let FilterBy { column, op, value } = given;
    let bad = |expected: &str| {
        Refusal::new("bad-filter", format!("the condition on {column:?} expects {expected}"))
    };
    let one = |value: &Value| match value {
        Value::String(text) => Ok(CellValue::Text(text.clone())),
        Value::Bool(flag) => Ok(CellValue::Flag(*flag)),
        Value::Number(number) => Ok(CellValue::Number(number.as_f64().unwrap_or(f64::NAN))),
        _ => Err(bad("a string, a number or a boolean as its value")),
    };
    let number = |orders| match value.as_f64() {
        Some(number) => Ok(Test::Number(orders, number)),
        None => Err(bad("a number as its value")),
    };
    let text = || value.as_str().map(ToOwned::to_owned).ok_or_else(|| bad("a string as its value"));
    let test = match op {
        Operator::Eq => Test::Equal(one(&value)?),
        Operator::Ne => Test::NotEqual(one(&value)?),
        Operator::Lt => number(&[Less])?,
        Operator::Le => number(&[Less, Equal])?,
        Operator::Gt => number(&[Greater])?,
        Operator::Ge => number(&[Greater, Equal])?,
        Operator::Contains => Test::Contains(text()?),
        Operator::Starts => Test::Starts(text()?),
        Operator::In => {
            let values = value.as_array().ok_or_else(|| bad("a list as its value"))?;
            Test::In(values.iter().map(one).collect::<Result<_, _>>()?)
        }
        Operator::Null => Test::Null,
    };
    Ok(Condition { column, test })
}

fn why(
    session: &Session,
    asked: &Asked,
    given: TargetArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let top = within("top", given.top, 5, 50)?;
    let held = session.part(&given.trace, window(given.window)?, following)?;
    let why = held.report.why(&given.target, top).map_err(bad_value)?;
    let all = session.answer(asked, vec![held.input.clone()]).about(&held.report);
    let mut answer = about(session, asked, &held);
    let is_named = |rank: usize| why.findings.iter().any(|named| named.rank == rank);
    answer.findings = all.findings.into_iter().filter(|finding| is_named(finding.rank)).collect();
    // One table an answer: that of operators with their arguments, or the first that there is.
    let call_rows = why.rows.iter().find(|table| table.name().starts_with(names::UNIFIED_PERF_SUMMARY));
    let rows = call_rows.or(why.rows.first());
    let query = RowQuery { top, ..RowQuery::default() };
    if let Some(rows) = rows {
        answer.tables = vec![part(rows, &query)?];
    }
    document(answer.with_result(&why).map_err(bad_value)?)
}

fn tree(
    session: &Session,
    asked: &Asked,
    given: TreeArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let depth = within("depth", given.depth, 4, 32)?;
    let top = within("top", given.top, 50, 300)?;
    let start = match (given.uid, given.name) {
        (Some(_), Some(_)) => {
            return Err(bad_value("both uid and name are given").with_help("pass only one of them"));
        }
        (Some(uid), None) => TreeStart::Uid(uid),
        (None, Some(name)) => TreeStart::Name(name),
        (None, None) => TreeStart::Roots,
    };
    let held = session.part(&given.trace, window(given.window)?, following)?;
    let Analysed::Trace(analysis, _) = &held.report.analysis else {
        return Err(bad_value("this recording has no call tree").with_help("use its tables"));
    };
    let callers = given.direction == Some(Direction::Up);
    let query = TreeQuery { start: start.clone(), callers, depth, min_us: given.min_us };
    let found = query.table(analysis).map_err(bad_value)?;
    let Some(table) = found else {
        let trace = analysis.trace();
        let refusal = bad_value("no such event in the tree");
        return Err(match &start {
            TreeStart::Name(name) => {
                let names = analysis.tree().node_names().map(|name| trace.text(name));
                refusal.with_help(nearest_names(name, names))
            }
            _ => refusal,
        });
    };
    let columns = table.columns().iter().map(|column| column.name().to_owned()).collect();
    let mut answer = about(session, asked, &held);
    answer.tables = vec![part(&table, &RowQuery { columns, top, ..RowQuery::default() })?];
    document(answer)
}

/// A table of a report that is made for this call alone.
fn part_of(report: &Report, name: &str, top: usize) -> Result<JsonTable<'static>, Refusal> {
    let table = table_named(&report.tables, name).map_err(from_row_error)?;
    part(table, &RowQuery { top, ..RowQuery::default() })
}

fn path(
    session: &Session,
    asked: &Asked,
    given: PathArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let top = within("top", given.top, 20, 500)?;
    let held = session.get(&given.trace, following)?;
    let mut run = Run { reading: following.reading(), ..Run::default() };
    let window = window(given.window)?;
    let report = CriticalPathReporter { window, ..CriticalPathReporter::default() }
        .report(std::slice::from_ref(&held.file.path), &mut run)
        .map_err(|error| Refusal::from_answer(&error))?;
    let mut answer = about(session, asked, &held);
    answer.result = json!({"statements": report.summary.statements});
    answer.tables = vec![part_of(&report, names::CRITICAL_PATH, top)?];
    document(answer)
}

fn diff(
    session: &Session,
    asked: &Asked,
    given: RunsArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let top = within("top", given.top, 20, 500)?;
    let runs = [session.get(&given.baseline, following)?, session.get(&given.candidate, following)?];
    let mut run = Run { reading: following.reading(), ..Run::default() };
    let paths = [runs[0].file.path.clone(), runs[1].file.path.clone()];
    let report =
        DiffReporter::default().report(&paths, &mut run).map_err(|error| Refusal::from_answer(&error))?;
    let role = |(at, held): (usize, &Arc<Held>)| Input {
        id: format!("t{}", at + 1),
        role: [Role::Baseline, Role::Candidate][at],
        ..held.input.clone()
    };
    let inputs = runs.iter().enumerate().map(role).collect();
    let mut answer = session.answer(asked, inputs).about(&report);
    answer.result = json!({"statements": report.summary.statements});
    answer.tables = vec![part_of(&report, names::DIFF_LEDGER, top)?];
    document(answer)
}

fn advise(
    session: &Session,
    asked: &Asked,
    given: AdviceArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let top = within("top", given.top, 10, 50)?;
    let held = session.part(&given.trace, window(given.window)?, following)?;
    let mut answer = session.answer(asked, vec![held.input.clone()]).about(&held.report);
    if held.report.advice.is_none() {
        return Err(Refusal::new("bad-value", "no rules exist for recordings of this kind"));
    }
    if !given.rules.is_empty() {
        let is_asked =
            |rule: &str| given.rules.iter().any(|pattern| means_rule(&pattern.to_uppercase(), rule));
        answer.findings.retain(|finding| is_asked(&finding.rule));
    }
    let all = answer.findings.len();
    answer.findings.truncate(top);
    answer.result = json!({"findings_total": all, "findings_returned": answer.findings.len()});
    document(answer)
}

fn gate(
    session: &Session,
    asked: &Asked,
    given: GateArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let thresholds = match given.slower_by_pct {
        None => Thresholds::default(),
        Some(percent) if (0.0..=1_000.0).contains(&percent) => {
            Thresholds::default().with_slower_by(percent / 100.0)
        }
        Some(_) => return Err(bad_value("slower_by_pct must be from 0 to 1000")),
    };
    let reader = GateReader::default();
    let details = InputDetails { hash: true, ..InputDetails::default() };
    let mut inputs = Vec::new();
    let beside = |path: &Path| matches!(session.beside(path), Ok(Some(_)));
    let reading = ReadOptions { beside: Some(&beside), ..following.reading() };
    let mut read = |files: &[String], role| {
        let mut recordings = Vec::new();
        for file in files {
            let held = session.all().into_iter().find(|held| held.handle == *file);
            let allowed = held.map_or_else(|| session.roots().file(file), |held| Ok(held.file.clone()))?;
            let file_recordings = reader.read(&allowed.path, &reading);
            recordings.extend(file_recordings.map_err(|error| Refusal::from_answer(&error))?);
            inputs.push(Input::of(&allowed.path, role, inputs.len() + 1, details));
        }
        Ok::<_, Refusal>(recordings)
    };
    let baseline = read(&given.baseline, Role::Baseline)?;
    let candidate = read(&given.candidate, Role::Candidate)?;
    let gate = Gate::new(baseline, candidate, &thresholds, &Default::default()).map_err(bad_value)?;
    document(session.answer(asked, inputs).with_gate(&gate).map_err(bad_value)?)
}

fn columns(
    session: &Session,
    asked: &Asked,
    given: ColumnsArguments,
    _: &Following<'_>,
) -> Result<Value, Refusal> {
    let all = known_sheets();
    let chosen: Vec<_> = all.iter().filter(|sheet| sheet.name == given.name).collect();
    if chosen.is_empty() {
        let names = all.iter().map(|sheet| sheet.name.as_ref());
        return Err(Refusal::new("unknown-table", format!("unknown table {:?}", given.name))
            .with_help(nearest_names(&given.name, names)));
    }
    let found: Vec<Value> = chosen.iter().map(|sheet| sheet.to_json(given.column.as_deref())).collect();
    if let Some(name) = &given.column
        && found.iter().all(|sheet| sheet["columns"].as_array().is_none_or(Vec::is_empty))
    {
        let names = chosen.iter().flat_map(|sheet| &sheet.columns).map(|column| column.name);
        return Err(Refusal::new("unknown-column", format!("unknown column {name:?}"))
            .with_help(nearest_names(name, names)));
    }
    let mut answer = session.answer(asked, Vec::new());
    answer.result = json!({"sheets": found});
    document(answer)
}

fn doctor(
    session: &Session,
    asked: &Asked,
    given: DoctorArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let Some(trace) = given.trace else {
        let mut answer = session.answer(asked, Vec::new());
        let roots = session.roots();
        answer.result = json!({
            "version": env!("CARGO_PKG_VERSION"), "roots": roots.count(), "max_file_bytes": roots.most_bytes(),
            "held": session.all().len(),
        });
        return document(answer);
    };
    let held = session.get(&trace, following)?;
    let mut answer = about(session, asked, &held);
    match held.report.tables.tables().iter().find(|table| table.name() == "recording") {
        Some(table) => {
            let query = RowQuery { top: 100, ..RowQuery::default() };
            answer.tables = vec![part(table, &query)?];
        }
        None => answer.result = json!({"findings": 0}),
    }
    document(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_beyond_all_sense_are_refused_before_any_work() {
        let most = "x".repeat(1_024);
        for argument in [json!(most), json!(vec![1; 64]), json!([{"column": "name"}]), json!(null)] {
            assert_eq!(bounded("name", &argument), Ok(()));
        }
        let long = most + "é";
        for argument in [json!(long), json!([{"column": long}]), json!(vec![json!({"column": "name"}); 65])] {
            let refusal = bounded("sort", &argument).unwrap_err();
            assert_eq!(refusal.code, "bad-value");
            assert!(
                refusal.text.contains("expected at most") && refusal.text.len() < 100,
                "{}",
                refusal.text
            );
        }
    }
}
