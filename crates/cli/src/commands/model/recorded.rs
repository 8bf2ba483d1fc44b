//! `tracelens model --jsonl`: figures of recorded operator calls, line by line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use perf_models::{Figure, OpCall, Value, model, op_category, operator};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::console;
use crate::error::Failure;
use answers::numbers::json_number;

/// Answers every line. What is no call is answered with an error, and makes the run fail at its end.
pub(super) fn run(path: &Path) -> Result<(), Failure> {
    let is_standard_input = path == Path::new("-");
    let source = if is_standard_input { PathBuf::from("standard input") } else { path.to_path_buf() };
    let unreadable = |error: io::Error| Failure::Input { path: source.clone(), detail: error.to_string() };
    let mut input: Box<dyn BufRead> = match is_standard_input {
        true => Box::new(io::stdin().lock()),
        false => Box::new(BufReader::new(File::open(path).map_err(unreadable)?)),
    };
    let mut lines = Lines::default();
    let mut read_error = None;
    console::write_with(|out| {
        let mut line = Vec::new();
        loop {
            line.clear();
            match input.read_until(b'\n', &mut line) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) => {
                    read_error = Some(error);
                    return Ok(());
                }
            }
            if let Some(answer) = lines.answer(&line) {
                writeln!(out, "{answer}")?;
                // Who asks line by line may wait for each answer.
                if is_standard_input {
                    out.flush()?;
                }
            }
        }
    })?;
    if let Some(error) = read_error {
        return Err(unreadable(error));
    }
    match lines.first_malformed {
        None => Ok(()),
        Some(first) => Err(Failure::MalformedLines { path: source, count: lines.malformed, first }),
    }
}

/// What is kept from line to line.
#[derive(Default)]
struct Lines {
    read: u64,
    malformed: u64,
    first_malformed: Option<u64>,
    /// Calls whose backward may follow, by name and sequence number.
    forwards: HashMap<(String, String), RecordedCall>,
}

impl Lines {
    /// The answer to a line as JSON; `None` for an empty one.
    fn answer(&mut self, line: &[u8]) -> Option<String> {
        self.read += 1;
        if line.trim_ascii().is_empty() {
            return None;
        }
        let answer = parsed(line).and_then(|line| {
            let call = RecordedCall::from(line);
            let answer = serde_json::to_string(&self.ask(&call));
            self.keep(call);
            answer.map_err(|error| error.to_string())
        });
        Some(answer.unwrap_or_else(|reason| {
            self.malformed += 1;
            self.first_malformed.get_or_insert(self.read);
            serde_json::json!({ "line": self.read, "error": reason }).to_string()
        }))
    }

    fn ask(&self, call: &RecordedCall) -> Answer {
        let forward = call.forward.as_deref().or_else(|| {
            let name = call.name.strip_suffix(BACKWARD)?;
            self.forwards.get(&(name.to_owned(), call.sequence_number()?))
        });
        let forward = forward.map(BorrowedCall::new);
        let forward = forward.as_ref().map(|forward| forward.call(None));
        Answer::of(&BorrowedCall::new(call).call(forward.as_ref()))
    }

    fn keep(&mut self, call: RecordedCall) {
        let has_backward = || operator(&format!("{}{BACKWARD}", call.name)).is_some();
        if let Some(number) = call.sequence_number()
            && has_backward()
        {
            self.forwards.insert((call.name.clone(), number), call);
        }
    }
}

/// What the names of backward calls end with.
const BACKWARD: &str = "Backward";

/// The call of a line, or what is wrong with it.
fn parsed(line: &[u8]) -> Result<Line, String> {
    // The parser would take a list for an object without names.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err("a line must be a JSON object: {\"name\": …, \"args\": {…}}".to_owned());
    }
    let line: Line = serde_json::from_slice(line).map_err(|error| reason(&error))?;
    line.check()?;
    Ok(line)
}

/// The error without its line, which is always the first: a line of the file is parsed alone.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => format!("{reason} at column {}", error.column()),
        None => text,
    }
}

#[derive(Deserialize)]
struct Line {
    name: String,
    #[serde(default)]
    args: Map<String, Json>,
    annotation: Option<String>,
    kernel_details: Option<Vec<Kernel>>,
    forward: Option<Box<Line>>,
}

/// The arguments of each input, in the order of [`OpCall`]'s fields.
const LISTS: [&str; 4] = ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"];

impl Line {
    /// Whether the lists of arguments are lists.
    fn check(&self) -> Result<(), String> {
        let is_wrong =
            |name: &&str| self.args.get(*name).is_some_and(|list| !list.is_array() && !list.is_null());
        if let Some(name) = LISTS.into_iter().find(|name| is_wrong(name)) {
            return Err(format!("{name} must be a list"));
        }
        let forward = self.forward.as_ref().map_or(Ok(()), |forward| forward.check());
        forward.map_err(|reason| format!("forward: {reason}"))
    }
}

#[derive(Deserialize)]
struct Kernel {
    name: String,
}

/// An operator call that owns what [`OpCall`] borrows.
#[derive(Default)]
struct RecordedCall {
    name: String,
    dims: Option<Vec<Value>>,
    types: Option<Vec<Value>>,
    strides: Option<Vec<Value>>,
    concrete: Option<Vec<Value>>,
    attributes: Vec<(String, Value)>,
    annotation: Option<String>,
    kernels: Vec<String>,
    forward: Option<Box<RecordedCall>>,
}

impl From<Line> for RecordedCall {
    fn from(line: Line) -> Self {
        let mut call = RecordedCall {
            name: line.name,
            annotation: line.annotation,
            kernels: line.kernel_details.into_iter().flatten().map(|kernel| kernel.name).collect(),
            forward: line.forward.map(|forward| Box::new(RecordedCall::from(*forward))),
            ..RecordedCall::default()
        };
        for (key, value) in line.args {
            let [dims, types, strides, concrete] = LISTS;
            match value_of(value) {
                Value::List(items) if key == dims => call.dims = Some(items),
                Value::List(items) if key == types => call.types = Some(items),
                Value::List(items) if key == strides => call.strides = Some(items),
                Value::List(items) if key == concrete => call.concrete = Some(items),
                value => call.attributes.push((key, value)),
            }
        }
        call
    }
}

impl RecordedCall {
    fn sequence_number(&self) -> Option<String> {
        let (_, number) = self.attributes.iter().find(|(name, _)| name == "Sequence number")?;
        Some(number.to_string())
    }
}

fn value_of(json: Json) -> Value {
    match json {
        Json::Null => Value::None,
        Json::Bool(value) => value.into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().into(),
        },
        Json::String(text) => text.into(),
        Json::Array(items) => Value::List(items.into_iter().map(value_of).collect()),
        Json::Object(members) => Value::List(
            members.into_iter().map(|(key, value)| Value::Tuple(vec![key.into(), value_of(value)])).collect(),
        ),
    }
}

/// The lists that an [`OpCall`] borrows from its call.
struct BorrowedCall<'a> {
    call: &'a RecordedCall,
    attributes: Vec<(&'a str, Value)>,
    kernels: Vec<&'a str>,
}

impl<'a> BorrowedCall<'a> {
    fn new(call: &'a RecordedCall) -> Self {
        let attributes = call.attributes.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        BorrowedCall { call, attributes, kernels: call.kernels.iter().map(String::as_str).collect() }
    }

    fn call(&'a self, forward: Option<&'a OpCall<'a>>) -> OpCall<'a> {
        let call = self.call;
        OpCall {
            name: &call.name,
            dims: call.dims.as_deref(),
            types: call.types.as_deref(),
            strides: call.strides.as_deref(),
            concrete: call.concrete.as_deref(),
            attributes: &self.attributes,
            annotation: call.annotation.as_deref(),
            kernels: &self.kernels,
            forward,
        }
    }
}

/// One line of the output.
#[derive(Serialize)]
struct Answer {
    name: String,
    category: &'static str,
    flops: Json,
    bytes: Json,
    flops_bwd: Json,
    bytes_bwd: Json,
    spec: Option<String>,
    params: Parameters,
    /// Why figures are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What the figures assume.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Answer {
    fn of(call: &OpCall<'_>) -> Self {
        let mut answer = Answer {
            name: call.name.to_owned(),
            category: op_category(call.name, call.kernels.first().copied()).as_str(),
            flops: Json::Null,
            bytes: Json::Null,
            flops_bwd: Json::Null,
            bytes_bwd: Json::Null,
            spec: None,
            params: Parameters(Vec::new()),
            reason: None,
            note: None,
        };
        let model = match model(call) {
            Ok(model) => model,
            Err(undefined) => {
                answer.reason = Some(undefined.to_string());
                return answer;
            }
        };
        let mut reasons = Vec::new();
        let mut number = |name: &str, figure: Figure| {
            figure.map_or_else(
                |undefined| {
                    reasons.push(format!("{name}: {undefined}"));
                    Json::Null
                },
                json_number,
            )
        };
        answer.flops = number("flops", model.flops());
        answer.bytes = number("bytes", model.bytes());
        answer.flops_bwd = number("flops_bwd", model.backward_flops());
        answer.bytes_bwd = number("bytes_bwd", model.backward_bytes());
        answer.spec = model.compute_spec().map(|spec| spec.to_string());
        let shown = |value: Value| (value != Value::None).then(|| value.to_string());
        answer.params =
            Parameters(model.parameters().into_iter().map(|(name, value)| (name, shown(value))).collect());
        answer.reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        answer.note = model.assumption();
        answer
    }
}

/// Parameters as an object that keeps their order.
struct Parameters(Vec<(&'static str, Option<String>)>);

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
