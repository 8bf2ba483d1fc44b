//! The figures of recorded operator calls, each a JSON object.

use std::collections::HashMap;

use perf_models::{Architecture, Figure, OpCall, Undefined, Value, model, op_category, operator};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value as Json};
use sheets::columns;

use super::ModelFigures;
use crate::numbers::json_number;

/// Answers recorded calls one after the other, and remembers those whose backward may follow.
#[derive(Debug, Default)]
pub struct RecordedCalls {
    /// By name and sequence number.
    forwards: HashMap<(String, String), RecordedCall>,
}

/// What the names of backward calls end with.
const BACKWARD: &str = "Backward";

impl RecordedCalls {
    /// The figures of a call: an object with the `name` of the operator and its `args` as in a Kineto event, and
    /// optionally `annotation`, `kernel_details` and the `forward` call.
    pub fn answer(&mut self, call: &[u8]) -> Result<RecordedFigures, String> {
        // The parser would take a list for an object without names.
        if !call.trim_ascii_start().starts_with(b"{") {
            return Err("a line must be a JSON object: {\"name\": …, \"args\": {…}}".to_owned());
        }
        let call: RecordedCall = serde_json::from_slice(call).map_err(|error| reason(&error))?;
        call.check()?;
        let forward = call.forward.as_deref().or_else(|| {
            let name = call.name.strip_suffix(BACKWARD)?;
            self.forwards.get(&(name.to_owned(), call.sequence_number()?))
        });
        let figures = match forward {
            Some(forward) => {
                forward.with_call(None, |forward| call.with_call(Some(forward), RecordedFigures::new))
            }
            None => call.with_call(None, RecordedFigures::new),
        };
        let has_backward = || operator(&format!("{}{BACKWARD}", call.name)).is_some();
        if let Some(number) = call.sequence_number()
            && has_backward()
        {
            self.forwards.insert((call.name.clone(), number), call);
        }
        Ok(figures)
    }
}

/// The figures of the forward pass of an operator called with these shapes and element types, as recorders write them, held
/// against an architecture where one is named.
///
/// # Errors
/// When no model knows the operator, or the call is none of it.
pub fn figures_of(
    name: &str,
    dims: &[Json],
    types: &[String],
    architecture: Option<&Architecture>,
) -> Result<Json, Undefined> {
    let types: Vec<Value> = types.iter().map(|name| name.clone().into()).collect();
    let model = model(&OpCall {
        name,
        dims: Some(&values(dims)),
        types: Some(&types),
        strides: None,
        concrete: None,
        attributes: &[],
        annotation: None,
        kernels: &[],
        forward: None,
    })?;
    Ok(ModelFigures::forward(model.as_ref(), architecture).to_json())
}

/// The error without its line, which is always the first.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((reason, _)) => format!("{reason} at column {}", error.column()),
        None => text,
    }
}

#[derive(Debug, Deserialize)]
struct RecordedCall {
    name: String,
    #[serde(default)]
    args: Map<String, Json>,
    annotation: Option<String>,
    kernel_details: Option<Vec<Kernel>>,
    forward: Option<Box<RecordedCall>>,
}

#[derive(Debug, Deserialize)]
struct Kernel {
    name: String,
}

/// The arguments of each input, in the order of [`OpCall`]'s fields.
const LISTS: [&str; 4] = [
    columns::INPUT_DIMS.name,
    columns::INPUT_TYPE.name,
    columns::INPUT_STRIDES.name,
    columns::CONCRETE_INPUTS.name,
];

impl RecordedCall {
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

    fn sequence_number(&self) -> Option<String> {
        self.args.get("Sequence number").map(|number| value_of(number).to_string())
    }

    /// Lends the call in the form that models take.
    fn with_call<T>(&self, forward: Option<&OpCall<'_>>, ask: impl FnOnce(&OpCall<'_>) -> T) -> T {
        let lists = LISTS.map(|name| self.args.get(name).and_then(Json::as_array).map(|items| values(items)));
        let [dims, types, strides, concrete] = lists.each_ref().map(Option::as_deref);
        let attributes = self.args.iter().filter(|(name, _)| !LISTS.contains(&name.as_str()));
        let attributes: Vec<_> = attributes.map(|(name, value)| (name.as_str(), value_of(value))).collect();
        let kernels: Vec<&str> =
            self.kernel_details.iter().flatten().map(|kernel| kernel.name.as_str()).collect();
        ask(&OpCall {
            name: &self.name,
            dims,
            types,
            strides,
            concrete,
            attributes: &attributes,
            annotation: self.annotation.as_deref(),
            kernels: &kernels,
            forward,
        })
    }
}

fn values(items: &[Json]) -> Vec<Value> {
    items.iter().map(value_of).collect()
}

fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::None,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().into(),
        },
        Json::String(text) => text.clone().into(),
        Json::Array(items) => Value::List(values(items)),
        Json::Object(members) => {
            let members = members.iter();
            Value::List(
                members.map(|(key, value)| Value::Tuple(vec![key.clone().into(), value_of(value)])).collect(),
            )
        }
    }
}

/// The figures of a recorded call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecordedFigures {
    /// Name of the operator.
    pub name: String,
    /// Its category in reports.
    pub category: &'static str,
    /// Floating point operations of the forward pass.
    #[serde(serialize_with = "as_number")]
    pub flops: Option<f64>,
    /// Bytes that it reads and writes.
    #[serde(serialize_with = "as_number")]
    pub bytes: Option<f64>,
    /// Floating point operations of the backward pass.
    #[serde(serialize_with = "as_number")]
    pub flops_bwd: Option<f64>,
    /// Bytes that the backward pass reads and writes.
    #[serde(serialize_with = "as_number")]
    pub bytes_bwd: Option<f64>,
    /// The arithmetic unit that does the operations.
    pub spec: Option<String>,
    /// The sizes that the model sees, as text.
    #[serde(serialize_with = "in_order")]
    pub params: Vec<(&'static str, Option<String>)>,
    /// Why figures are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the figures assume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

fn as_number<S: Serializer>(figure: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    figure.map(json_number).serialize(serializer)
}

fn in_order<S: Serializer>(
    params: &[(&'static str, Option<String>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(params.iter().map(|(name, value)| (name, value)))
}

impl RecordedFigures {
    fn new(call: &OpCall<'_>) -> Self {
        let category = op_category(call.name, call.kernels.first().copied()).as_str();
        let mut figures =
            RecordedFigures { name: call.name.to_owned(), category, ..RecordedFigures::default() };
        let model = match model(call) {
            Ok(model) => model,
            Err(undefined) => return RecordedFigures { reason: Some(undefined.to_string()), ..figures },
        };
        let mut reasons = Vec::new();
        let mut figure = |name: &str, figure: Figure| {
            figure.map_err(|undefined| reasons.push(format!("{name}: {undefined}"))).ok()
        };
        figures.flops = figure("flops", model.flops());
        figures.bytes = figure("bytes", model.bytes());
        figures.flops_bwd = figure("flops_bwd", model.backward_flops());
        figures.bytes_bwd = figure("bytes_bwd", model.backward_bytes());
        figures.spec = model.compute_spec().map(|spec| spec.to_string());
        let shown = |value: Value| (value != Value::None).then(|| value.to_string());
        figures.params = model.parameters().into_iter().map(|(name, value)| (name, shown(value))).collect();
        figures.reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        figures.note = model.assumption();
        figures
    }
}
