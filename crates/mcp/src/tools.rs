//! The tools: their arguments and answers.

use std::path::Path;
use std::sync::Arc;

use answers::envelope::{Answer, Asked, Input, InputDetails, Role};
use answers::model::{chosen_architecture, figures_of};
use answers::{
    Analysed, Condition, CriticalPathReporter, DiffReporter, GateReader, Order, REQUESTED_TABLES,
    RanksReporter, Report, Reporter, RowError, RowQuery, Run, Test, TreeQuery, TreeStart, Value as CellValue,
    advice_rules, did_you_mean, known_sheets, means_rule, requested_table, table_named,
};
use critical_path::Scaling;
use iterations::Window;
use perf_gate::{Gate, Thresholds};
use report_writers::JsonTable;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sheets::{Table, names};
use trace_ingest::ReadOptions;

use crate::protocol::Following;
use crate::refusal::Refusal;
use crate::session::{Held, Session};

/// Arguments of a tool, its answer with the members that tell it, and what it is for.
macro_rules! tools {
    ($($name:literal $arguments:ident $function:ident [$($member:literal)*] $about:literal;)*) => {
        /// The tools with the forms of their arguments and answers.
        pub(crate) fn all() -> Vec<Value> {
            vec![$(tool($name, $about, form_of::<$arguments>(), &[$($member),*])),*]
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
    "open" Open open ["result" "trust"] "Read a recording (PyTorch, XPlane, rocprofv3, Nsight Systems, Tenstorrent) and keep \
        it open: a handle, how reliable its figures are, its tables with their rows. Without a path: the recordings \
        below the roots. Start here.";
    "close" Close close ["result"] "Close an open recording.";
    "summary" TraceArguments summary ["result" "findings"] "Where the time went: devices, time split, steps, the first findings.";
    "table" TableRows table ["tables"] "Rows of a table, filtered, sorted and paged. `open` lists tables; modules (by device \
        time), device_timeline (events one by one), gpu_gaps, launch_delay and other tables of waits are made on request.";
    "why" TargetArguments why ["result" "tables"] "All about one operator, kernel, module or event: time, calls, callers, kernels, waits \
        before it, roofline, findings.";
    "tree" TreeArguments tree ["tables"] "What a call launches (down) or who calls it (up), with device times; equal siblings share a row.";
    "path" PathArguments path ["result" "tables"] "The critical path: what the run waited for, and what it would take if operators were faster.";
    "diff" RunsArguments diff ["result" "tables"] "Where two runs differ in time, in parts that add up to the difference; of recordings that are cut differently the \
        work that both repeat, per call.";
    "ranks" RanksArguments ranks ["result" "tables"] "Which rank of a job holds up the others, and why.";
    "advise" AdviceArguments advise ["findings"] "What to change first: findings with gain in µs, evidence and remedy.";
    "gate" GateArguments gate ["result"] "Whether a candidate is slower than a baseline.";
    "model" ModelArguments model ["result"] "FLOPs, bytes and least time of an operator's call, without a recording.";
    "columns" ColumnsArguments columns ["result"] "Meaning and units of a table's columns.";
    "doctor" DoctorArguments doctor ["tables" "trust"] "Problems with a recording and the figures they make unreliable; without a trace: the \
        server's version and limits.";
}

fn tool(name: &str, about: &str, form: Value, members: &[&str]) -> Value {
    let members: Map<String, Value> =
        members.iter().map(|member| ((*member).to_owned(), json!({}))).collect();
    json!({
        "name": name,
        "description": about,
        "inputSchema": form,
        "outputSchema": {"type": "object", "properties": members},
        "annotations": {"readOnlyHint": true},
    })
}

/// The schema of arguments, without what an agent has no use for.
fn form_of<A: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::default();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    simplify(&mut schema);
    // What stands in an argument is checked all the same.
    schema["additionalProperties"] = false.into();
    schema
}

fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for name in ["title", "$schema", "format"] {
                if members.get(name).is_some_and(Value::is_string) {
                    members.remove(name);
                }
            }
            for (name, implied) in [("additionalProperties", json!(false)), ("minimum", json!(0))] {
                if members.get(name) == Some(&implied) {
                    members.remove(name);
                }
            }
            // An argument that may be left out may be null as well; nobody needs to be told.
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(mut forms)) = members.remove("anyOf") {
                forms.retain(|form| form["type"] != "null");
                if let Some(Value::Object(form)) = forms.into_iter().next() {
                    members.extend(form);
                }
            }
            let says_nothing =
                |value: &Value| value.is_null() || *value == 0 || value.as_array().is_some_and(Vec::is_empty);
            if members.get("default").is_some_and(says_nothing) {
                members.remove("default");
            }
            members.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

fn parsed<A: for<'de> Deserialize<'de> + JsonSchema>(arguments: Map<String, Value>) -> Result<A, Refusal> {
    let (form, arguments) = (form_of::<A>(), Value::Object(arguments));
    check(&form, "the question", &arguments)?;
    serde_json::from_value(arguments).map_err(|_| bad_value("an argument is null that must have a value"))
}

/// Whether an argument has the form that its tool names; else what is wrong, in the words of the question.
fn check(form: &Value, name: &str, given: &Value) -> Result<(), Refusal> {
    if given.is_null() {
        return Ok(());
    }
    let (is_so, kind) = match form["type"].as_str() {
        Some("string") => (given.is_string(), "a text"),
        Some("integer") => (given.is_u64(), "a whole number"),
        Some("number") => (given.as_f64().is_some_and(|number| number >= 0.0), "a number, not below 0"),
        Some("boolean") => (given.is_boolean(), "true or false"),
        Some("array") => (given.is_array(), "a list"),
        Some("object") => (given.is_object(), "an object"),
        _ => (true, ""),
    };
    if !is_so {
        return Err(bad_value(format!("{name} must be {kind}")));
    }
    let (least, most) = (form["minimum"].as_f64().unwrap_or(0.0), form["maximum"].as_f64());
    if let (Some(number), Some(most)) = (given.as_f64(), most)
        && !(least..=most).contains(&number)
    {
        return Err(bad_value(format!("{name} is {number}")).with_help(format!("use {least} to {most}")));
    }
    if let (Some(known), Some(text)) = (form["enum"].as_array(), given.as_str())
        && !known.iter().any(|known| known == text)
    {
        let known: Vec<&str> = known.iter().filter_map(Value::as_str).collect();
        return Err(bad_value(format!("{name} is {text:?}")).with_help(format!("use {}", known.join(", "))));
    }
    for item in given.as_array().into_iter().flatten() {
        check(&form["items"], &format!("an entry of {name}"), item)?;
    }
    if let (Some(members), Some(known)) = (given.as_object(), form["properties"].as_object()) {
        for (member, value) in members {
            let form = known.get(member).ok_or_else(|| {
                let names = known.keys().map(String::as_str);
                bad_value(format!("{name} has no argument {member:?}"))
                    .with_help(nearest_names(member, names))
            })?;
            check(form, member, value)?;
        }
        let required = form["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = required.into_iter().find(|name| members.get(*name).is_none_or(Value::is_null))
        {
            let about = known[missing]["description"].as_str().unwrap_or_default();
            return Err(bad_value(format!("{name} lacks {missing:?}")).with_help(about));
        }
    }
    Ok(())
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

/// Rows of an answer.
const ROWS: usize = 20;
const MOST_ROWS: usize = 500;
/// Findings, and entries of lists.
const ENTRIES: usize = 5;
const MOST_ENTRIES: usize = 50;
/// Levels and rows of a tree.
const LEVELS: usize = 4;
const MOST_LEVELS: usize = 32;

fn rows() -> usize {
    ROWS
}

fn entries() -> usize {
    ENTRIES
}

fn levels() -> usize {
    LEVELS
}

/// A slowdown that fails the gate, in percent.
fn slower_by_pct() -> f64 {
    (Thresholds::default().slower_by() * 1e4).round() / 100.0
}

/// A step, or a range in ms after the first event.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Part {
    step: Option<usize>,
    start_ms: Option<f64>,
    end_ms: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Open {
    /// The file, absolute or relative to a root.
    path: Option<String>,
    /// Architecture for rooflines, such as H100-SXM. Default: the recorded device.
    arch: Option<String>,
    #[serde(default)]
    cursor: usize,
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
    /// Handle or file.
    trace: String,
    window: Option<Part>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TableRows {
    /// Handle or file.
    trace: String,
    window: Option<Part>,
    /// Name of the table.
    name: String,
    /// Columns, in this order. Default: the first that are not empty.
    #[serde(default)]
    select: Vec<String>,
    /// Conditions that all must hold.
    #[serde(default)]
    filter: Vec<FilterBy>,
    /// The most important first.
    #[serde(default)]
    sort: Vec<SortBy>,
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    top: usize,
    /// Where to continue: `next` of the last answer.
    #[serde(default)]
    cursor: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FilterBy {
    column: String,
    op: Operator,
    /// A list for `in`; none for `null`.
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

fn largest_first() -> bool {
    true
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SortBy {
    column: String,
    #[serde(default = "largest_first")]
    descending: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TargetArguments {
    /// Handle or file.
    trace: String,
    window: Option<Part>,
    /// Name of an operator, kernel or module, or UID of an event.
    target: String,
    /// Entries per list.
    #[serde(default = "entries")]
    #[schemars(range(min = 1, max = MOST_ENTRIES))]
    top: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TreeArguments {
    /// Handle or file.
    trace: String,
    window: Option<Part>,
    /// Start at this event.
    uid: Option<u32>,
    /// Start at calls of this name. Default: the outermost.
    name: Option<String>,
    #[serde(default)]
    direction: Direction,
    /// Levels.
    #[serde(default = "levels")]
    #[schemars(range(min = 1, max = MOST_LEVELS))]
    depth: usize,
    /// Least device time, in µs.
    #[serde(default)]
    min_us: f64,
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    top: usize,
    #[serde(default)]
    cursor: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    #[default]
    Down,
    Up,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PathArguments {
    /// Handle or file.
    trace: String,
    window: Option<Part>,
    /// What if these took `factor` times as long? The names may have a *.
    #[serde(default)]
    what_if: Vec<Change>,
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    top: usize,
    #[serde(default)]
    cursor: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Change {
    /// Operator or kernel.
    name: String,
    #[serde(default)]
    factor: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RanksArguments {
    /// The recordings of the ranks.
    traces: Vec<String>,
    /// Table to return; `result` lists them. Default: the first.
    name: Option<String>,
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    top: usize,
    #[serde(default)]
    cursor: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ModelArguments {
    /// Operator, such as aten::mm.
    name: String,
    /// Shapes of its inputs: [[4096, 1024], [1024, 512]].
    dims: Vec<Value>,
    /// Element types of its inputs as PyTorch records them, such as c10::BFloat16.
    types: Vec<String>,
    /// Architecture for the least time.
    arch: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RunsArguments {
    /// The earlier run.
    baseline: String,
    /// The later run.
    candidate: String,
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = MOST_ROWS))]
    top: usize,
    #[serde(default)]
    cursor: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AdviceArguments {
    /// Handle or file.
    trace: String,
    window: Option<Part>,
    /// Only these, such as IDLE-SYNC or IDLE-*.
    #[serde(default)]
    rules: Vec<String>,
    #[serde(default = "entries")]
    #[schemars(range(min = 1, max = MOST_ENTRIES))]
    top: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GateArguments {
    /// Recordings or a baseline file of the earlier version.
    baseline: Vec<String>,
    /// Recordings of the later version.
    candidate: Vec<String>,
    /// Smallest slowdown that fails, in percent of the step time.
    #[serde(default = "slower_by_pct")]
    #[schemars(range(max = 1000))]
    slower_by_pct: f64,
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
    /// Handle or file.
    trace: Option<String>,
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
    let Some(path) = &given.path else {
        let mut answer = session.answer(asked, Vec::new());
        let table = session.roots().recordings(following.stop).map_err(bad_value)?;
        answer.tables =
            vec![part(&table, &RowQuery { top: MOST_ROWS, skip: given.cursor, ..RowQuery::default() })?];
        return document(answer);
    };
    let (held, evicted) = session.open(path, given.arch.as_deref(), following)?;
    let mut answer = about(session, asked, &held);
    let tables = held.report.tables.tables().iter();
    let tables: Map<String, Value> =
        tables.map(|table| (table.name().to_owned(), table.height().into())).collect();
    let all = session.all();
    let others: Vec<Value> = all
        .iter()
        .filter(|other| other.handle != held.handle)
        .map(|held| json!({"trace": held.handle, "file": held.input.file}))
        .collect();
    answer.result = json!({"trace": held.handle, "tables": tables, "others": others, "evicted": evicted});
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
    let held = session.part(&given.trace, window(given.window)?, false, following)?;
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
    let window = window(given.window)?;
    let mut held = session.part(&given.trace, window.clone(), false, following)?;
    let conditions: Vec<Condition> = given.filter.into_iter().map(condition).collect::<Result<_, _>>()?;
    let order: Vec<Order> =
        given.sort.into_iter().map(|by| Order { column: by.column, descending: by.descending }).collect();
    let mut columns = given.select;
    if !columns.is_empty() {
        let asked = conditions.iter().map(|condition| &condition.column);
        columns.extend(asked.chain(order.iter().map(|order| &order.column)).cloned());
    }
    let query = RowQuery { columns, conditions, order, skip: given.cursor, top: given.top };
    let name = given.name.as_str();
    let made = requested_table(&held.report, name).transpose().map_err(bad_value)?;
    if made.is_none() && matches!(table_named(&held.report.tables, name), Err(RowError::AbsentTable { .. })) {
        held = session.part(&given.trace, window, true, following)?;
    }
    let whole = match &made {
        Some(made) => made,
        None => table_named(&held.report.tables, name).map_err(|error| unknown_table(error, name, &held))?,
    };
    let mut answer = about(session, asked, &held);
    answer.tables = vec![part(whole, &query)?];
    document(answer)
}

/// That a table is not there; those that are made on request are named among the nearest.
fn unknown_table(error: RowError, name: &str, held: &Held) -> Refusal {
    match error {
        RowError::UnknownTable { .. } => {
            let tables = held.report.tables.tables().iter().map(Table::name);
            let known = tables.chain(held.report.tables.absent_names()).chain(REQUESTED_TABLES);
            from_row_error(error).with_help(nearest_names(name, known))
        }
        RowError::AbsentTable { .. } => {
            from_row_error(error).with_help("this recording lacks what it needs; see the tool columns")
        }
        error => from_row_error(error),
    }
}

/// The rows of a table that are asked for, with the columns that they are sorted by.
fn part(whole: &Table, query: &RowQuery) -> Result<JsonTable<'static>, Refusal> {
    query.json(whole).map_err(from_row_error)
}

fn nearest_names<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    format!("the nearest names are {}", did_you_mean(name, names).join(", "))
}

fn from_row_error(error: RowError) -> Refusal {
    let code = match error {
        RowError::UnknownTable { .. } | RowError::AbsentTable { .. } => "unknown-table",
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
    let top = given.top;
    let held = session.part(&given.trace, window(given.window)?, false, following)?;
    let why = held.report.why(&given.target, top).map_err(|error| Refusal::of("bad-value", &error))?;
    let mut answer = about(session, asked, &held);
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
    let TreeArguments { depth, top, cursor, .. } = given;
    let start = match (given.uid, given.name) {
        (Some(_), Some(_)) => {
            return Err(bad_value("both uid and name are given").with_help("pass only one of them"));
        }
        (Some(uid), None) => TreeStart::Uid(uid),
        (None, Some(name)) => TreeStart::Name(name),
        (None, None) => TreeStart::Roots,
    };
    let held = session.part(&given.trace, window(given.window)?, false, following)?;
    let Analysed::Trace(analysis, _) = &held.report.analysis else {
        return Err(bad_value("this recording has no call tree").with_help("use its tables"));
    };
    let callers = given.direction == Direction::Up;
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
    answer.tables = vec![part(&table, &RowQuery { columns, top, skip: cursor, ..RowQuery::default() })?];
    document(answer)
}

/// A table of a report that is made for this call alone.
fn part_of(report: &Report, name: &str, top: usize, skip: usize) -> Result<JsonTable<'static>, Refusal> {
    let table = table_named(&report.tables, name).map_err(from_row_error)?;
    part(table, &RowQuery { top, skip, ..RowQuery::default() })
}

fn path(
    session: &Session,
    asked: &Asked,
    given: PathArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let held = session.get(&given.trace, following)?;
    let beside = |path: &Path| session.may_read(path);
    let reading = ReadOptions { beside: Some(&beside), ..following.reading() };
    let mut run = Run { reading, ..Run::default() };
    let window = window(given.window)?;
    let mut reporter = CriticalPathReporter { window, ..CriticalPathReporter::default() };
    let changes = given.what_if.into_iter().map(|Change { name, factor }| Scaling { name, factor });
    reporter.path.changes = changes.collect();
    let report = reporter
        .report(std::slice::from_ref(&held.file.path), &mut run)
        .map_err(|error| Refusal::from_answer(&error))?;
    let mut answer = about(session, asked, &held);
    answer.result = json!({"statements": report.summary.statements});
    answer.tables = vec![part_of(&report, names::CRITICAL_PATH, given.top, given.cursor)?];
    document(answer)
}

fn diff(
    session: &Session,
    asked: &Asked,
    given: RunsArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let runs = [session.get(&given.baseline, following)?, session.get(&given.candidate, following)?];
    let beside = |path: &Path| session.may_read(path);
    let reading = ReadOptions { beside: Some(&beside), ..following.reading() };
    let mut run = Run { reading, ..Run::default() };
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
    let table = match &report.analysis {
        Analysed::Trees(diff) if diff.is_cut_differently() => names::DIFF_CLASSES,
        _ => names::DIFF_LEDGER,
    };
    answer.tables = vec![part_of(&report, table, given.top, given.cursor)?];
    document(answer)
}

fn advise(
    session: &Session,
    asked: &Asked,
    given: AdviceArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    for pattern in &given.rules {
        if !advice_rules().any(|rule| means_rule(&pattern.to_uppercase(), rule)) {
            return Err(Refusal::new("unknown-rule", format!("no rule is named {pattern:?}"))
                .with_help(nearest_names(pattern, advice_rules())));
        }
    }
    let held = session.part(&given.trace, window(given.window)?, false, following)?;
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
    answer.findings.truncate(given.top);
    answer.result = json!({"findings_total": all, "findings_returned": answer.findings.len()});
    document(answer)
}

fn gate(
    session: &Session,
    asked: &Asked,
    given: GateArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let thresholds = Thresholds::default().with_slower_by(given.slower_by_pct / 100.0);
    let reader = GateReader::default();
    let details = InputDetails { hash: true, ..InputDetails::default() };
    let mut inputs = Vec::new();
    let beside = |path: &Path| session.may_read(path);
    let reading = ReadOptions { beside: Some(&beside), ..following.reading() };
    let mut read = |files: &[String], role| {
        let mut recordings = Vec::new();
        for file in files {
            let allowed = session.file(file)?;
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

fn ranks(
    session: &Session,
    asked: &Asked,
    given: RanksArguments,
    following: &Following<'_>,
) -> Result<Value, Refusal> {
    let mut paths = Vec::new();
    for trace in &given.traces {
        paths.push(session.file(trace)?.path);
    }
    let beside = |path: &Path| session.may_read(path);
    let reading = ReadOptions { beside: Some(&beside), ..following.reading() };
    let mut run = Run { reading, ..Run::default() };
    let report =
        RanksReporter::default().report(&paths, &mut run).map_err(|error| Refusal::from_answer(&error))?;
    let mut answer = session.answer(asked, Vec::new()).about(&report);
    let tables = report.tables.tables().iter().filter(|table| !table.name().starts_with("overview"));
    let tables: Vec<&str> = tables.map(Table::name).collect();
    answer.result = json!({"statements": report.summary.statements, "tables": tables});
    if let Some(name) = given.name.as_deref().or(tables.first().copied()) {
        answer.tables = vec![part_of(&report, name, given.top, given.cursor)?];
    }
    answer.findings.truncate(ENTRIES);
    document(answer)
}

fn model(
    session: &Session,
    asked: &Asked,
    given: ModelArguments,
    _: &Following<'_>,
) -> Result<Value, Refusal> {
    let architecture = chosen_architecture(None, given.arch.as_deref());
    let architecture = architecture.map_err(|error| Refusal::of("bad-value", &error))?;
    let figures = figures_of(&given.name, &given.dims, &given.types, architecture.as_ref());
    let mut answer = session.answer(asked, Vec::new());
    answer.result = figures.map_err(bad_value)?;
    document(answer)
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
