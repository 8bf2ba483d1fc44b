//! Values on their way into a script and out of it.

use perf_models::{OpCall, Value};
use starlark::values::dict::AllocDict;
use starlark::values::float::UnpackFloat;
use starlark::values::list::ListRef;
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::{AllocTuple, TupleRef};
use starlark::values::{Heap, UnpackValue, Value as ScriptValue};
use trace_ingest::ArgumentValue;

/// Lists in lists are shapes of tensor lists; nothing recorded is deeper than a few levels.
const DEEPEST: usize = 16;

/// A recorded value as a script sees it. Lists become tuples: a script cannot change what was recorded.
pub(crate) fn to_script<'v>(value: &Value, heap: Heap<'v>) -> ScriptValue<'v> {
    match value {
        Value::None => ScriptValue::new_none(),
        Value::Bool(value) => ScriptValue::new_bool(*value),
        Value::Int(value) => heap.alloc(*value),
        Value::Float(value) => heap.alloc(*value),
        Value::Text(text) => heap.alloc(text.as_str()),
        Value::List(items) | Value::Tuple(items) => all_to_script(items, heap),
    }
}

/// An argument of the trace as a script sees it.
pub(crate) fn argument_to_script<'v>(argument: &ArgumentValue, heap: Heap<'v>) -> ScriptValue<'v> {
    match argument {
        ArgumentValue::Null => ScriptValue::new_none(),
        ArgumentValue::Bool(value) => ScriptValue::new_bool(*value),
        ArgumentValue::Int(value) => heap.alloc(*value),
        ArgumentValue::Float(value) => heap.alloc(*value),
        ArgumentValue::Text(text) => heap.alloc(text.as_str()),
        ArgumentValue::List(items) => {
            let items: Vec<_> = items.iter().map(|item| argument_to_script(item, heap)).collect();
            heap.alloc(AllocTuple(items))
        }
    }
}

/// Recorded values as a tuple.
fn all_to_script<'v>(items: &[Value], heap: Heap<'v>) -> ScriptValue<'v> {
    let items: Vec<_> = items.iter().map(|item| to_script(item, heap)).collect();
    heap.alloc(AllocTuple(items))
}

/// The fields of a call as a model's function sees it.
pub(crate) const CALL_FIELDS: [&str; 9] =
    ["name", "dims", "types", "strides", "concrete", "args", "kernels", "annotation", "forward"];

/// A call as a model's function sees it.
pub(crate) fn call_to_script<'v>(call: &OpCall<'_>, heap: Heap<'v>) -> ScriptValue<'v> {
    let list = |items: Option<&[Value]>| all_to_script(items.unwrap_or_default(), heap);
    let args = call.attributes.iter().map(|(name, value)| (*name, to_script(value, heap)));
    let values = [
        heap.alloc(call.name),
        list(call.dims),
        list(call.types),
        list(call.strides),
        list(call.concrete),
        heap.alloc(AllocDict(args)),
        heap.alloc(AllocTuple(call.kernels.iter().copied())),
        call.annotation.map_or(ScriptValue::new_none(), |text| heap.alloc(text)),
        call.forward.map_or(ScriptValue::new_none(), |forward| call_to_script(forward, heap)),
    ];
    heap.alloc(AllocStruct(CALL_FIELDS.into_iter().zip(values)))
}

/// Elements, and bytes of texts, of one value. A list that holds another many times is small in a script only.
const LARGEST: usize = 1 << 20;

/// A value of a script; where reports cannot show it, the error names what it is.
pub(crate) fn from_script(value: ScriptValue<'_>) -> Result<Value, String> {
    let mut left = LARGEST;
    read(value, DEEPEST, &mut left)
}

fn read(value: ScriptValue<'_>, depth: usize, left: &mut usize) -> Result<Value, String> {
    let Some(deeper) = depth.checked_sub(1) else { return Err("a list nested too deeply".to_owned()) };
    let size = 1 + value.unpack_str().map_or(0, str::len);
    *left = left.checked_sub(size).ok_or_else(|| format!("more than {LARGEST} elements and letters"))?;
    let mut items = |items: &[ScriptValue<'_>]| {
        items.iter().map(|&item| read(item, deeper, left)).collect::<Result<Vec<_>, _>>()
    };
    if value.is_none() {
        Ok(Value::None)
    } else if let Some(flag) = value.unpack_bool() {
        Ok(Value::Bool(flag))
    } else if let Ok(Some(number)) = i64::unpack_value(value) {
        Ok(Value::Int(number))
    } else if let Ok(Some(UnpackFloat(number))) = UnpackFloat::unpack_value(value) {
        Ok(Value::Float(number))
    } else if let Some(text) = value.unpack_str() {
        Ok(Value::from(text))
    } else if let Some(list) = ListRef::from_value(value) {
        items(list.content()).map(Value::List)
    } else if let Some(tuple) = TupleRef::from_value(value) {
        items(tuple.content()).map(Value::Tuple)
    } else {
        Err(format!("a {}", value.get_type()))
    }
}

/// A value as an argument of the trace.
pub(crate) fn to_argument(value: &Value) -> ArgumentValue {
    match value {
        Value::None => ArgumentValue::Null,
        Value::Bool(value) => ArgumentValue::Bool(*value),
        Value::Int(value) => ArgumentValue::Int(*value),
        Value::Float(value) => ArgumentValue::Float(*value),
        Value::Text(text) => ArgumentValue::Text(text.clone()),
        Value::List(items) | Value::Tuple(items) => {
            ArgumentValue::List(items.iter().map(to_argument).collect())
        }
    }
}
