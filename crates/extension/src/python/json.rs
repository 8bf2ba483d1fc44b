//! Values on their way into the user's process and out of it.

use perf_models::{OpCall, Value};
use serde_json::{Map, Value as Json, json};
use trace_ingest::ArgumentValue;

/// Lists in lists are shapes of tensor lists; nothing recorded is deeper than a few levels.
const DEEPEST: usize = 16;

pub(super) fn to_json(value: &Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Bool(flag) => (*flag).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(items) | Value::Tuple(items) => items.iter().map(to_json).collect(),
    }
}

pub(super) fn argument_to_json(argument: &ArgumentValue) -> Json {
    match argument {
        ArgumentValue::Null => Json::Null,
        ArgumentValue::Bool(flag) => (*flag).into(),
        ArgumentValue::Int(number) => (*number).into(),
        ArgumentValue::Float(number) => (*number).into(),
        ArgumentValue::Text(text) => text.as_str().into(),
        ArgumentValue::List(items) => items.iter().map(argument_to_json).collect(),
    }
}

/// A call as the bridge takes it.
pub(super) fn call_to_json(call: &OpCall<'_>) -> Json {
    let list = |items: Option<&[Value]>| items.map(|items| items.iter().map(to_json).collect::<Json>());
    let args: Map<_, _> =
        call.attributes.iter().map(|(name, value)| ((*name).to_owned(), to_json(value))).collect();
    json!({
        "name": call.name,
        "lists": [list(call.dims), list(call.types), list(call.strides), list(call.concrete)],
        "args": args,
        "kernels": call.kernels,
        "annotation": call.annotation,
        "forward": call.forward.map(call_to_json),
    })
}

/// A value of the user's file; the error names what reports cannot show.
pub(super) fn from_json(json: &Json) -> Result<Value, String> {
    read(json, DEEPEST)
}

fn read(json: &Json, depth: usize) -> Result<Value, String> {
    let deeper = depth.checked_sub(1).ok_or("a list is nested too deeply")?;
    let all = |items: &[Json]| items.iter().map(|item| read(item, deeper)).collect::<Result<Vec<_>, _>>();
    Ok(match json {
        Json::Null => Value::None,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Int(number),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(all(items)?),
        Json::Object(marked) => match (marked.get("tuple"), marked.get("float")) {
            (Some(Json::Array(items)), _) => Value::Tuple(all(items)?),
            (_, Some(Json::String(text))) => Value::Float(text.parse().unwrap_or(f64::NAN)),
            _ => return Err("a dict cannot be a value in a report".to_owned()),
        },
    })
}

/// A value as an argument of the trace.
pub(super) fn to_argument(value: &Value) -> ArgumentValue {
    match value {
        Value::None => ArgumentValue::Null,
        Value::Bool(flag) => ArgumentValue::Bool(*flag),
        Value::Int(number) => ArgumentValue::Int(*number),
        Value::Float(number) => ArgumentValue::Float(*number),
        Value::Text(text) => ArgumentValue::Text(text.clone()),
        Value::List(items) | Value::Tuple(items) => {
            ArgumentValue::List(items.iter().map(to_argument).collect())
        }
    }
}
