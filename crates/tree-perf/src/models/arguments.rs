//! Recorded arguments as the models take them.

use std::sync::Arc;

use perf_models::{OpCall, Value};
use trace_ingest::{ArgumentValue, EventId, StringId, Trace};

/// An argument of the trace as the models take it.
pub(crate) fn value(argument: &ArgumentValue) -> Value {
    match argument {
        ArgumentValue::Null => Value::None,
        ArgumentValue::Bool(value) => Value::Bool(*value),
        ArgumentValue::Int(value) => Value::Int(*value),
        ArgumentValue::Float(value) => Value::Float(*value),
        ArgumentValue::Text(text) => Value::Text(text.clone()),
        ArgumentValue::List(items) => Value::List(items.iter().map(value).collect()),
    }
}

/// Recorded arguments of a call: shapes, types, strides, values.
pub(super) struct Recorded(pub(super) [Option<Arc<Vec<Value>>>; 4]);

impl Recorded {
    pub(super) fn call<'a>(&'a self, name: &'a str) -> OpCall<'a> {
        let [dims, types, strides, concrete] =
            self.0.each_ref().map(|list| list.as_deref().map(Vec::as_slice));
        OpCall { name, dims, types, strides, concrete, ..OpCall::default() }
    }
}

/// Further arguments as recorded: of the call of a generated kernel, and of a collective, if that is wanted.
pub(super) fn recorded_attributes(
    trace: &Trace,
    event: EventId,
    with_collective: bool,
) -> Vec<(&str, Value)> {
    let arguments = trace.events().arguments();
    let text = |id: Option<StringId>| id.map(|id| Value::from(trace.text(id)));
    let number = |number: Option<i64>| number.map(Value::Int);
    let mut all = Vec::new();
    if let Some(triton) = arguments.triton.get(event.index()) {
        all.extend([
            ("kernel_file", text(triton.file)),
            ("kernel_hash", text(triton.hash)),
            ("kernel_kwargs", text(triton.keyword_arguments)),
        ]);
    }
    if let Some(collective) = arguments.collective.get(event.index()).filter(|_| with_collective) {
        all.extend([
            ("Collective name", text(collective.name)),
            ("Process Group Name", text(collective.group_name)),
            ("Process Group Description", text(collective.group_description)),
            ("Process Group Ranks", text(collective.group_ranks)),
            ("Group size", number(collective.group_size)),
            ("dtype", text(collective.dtype)),
            ("In msg nelems", number(collective.in_elements)),
            ("Out msg nelems", number(collective.out_elements)),
            ("In split size", text(collective.in_split_size)),
            ("Out split size", text(collective.out_split_size)),
        ]);
    }
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Gives an attribute a value: what comes later overrides what is there.
pub(crate) fn set_attribute<N: AsRef<str>>(attributes: &mut Vec<(N, Value)>, name: N, value: Value) {
    match attributes.iter_mut().find(|(known, _)| known.as_ref() == name.as_ref()) {
        Some((_, old)) => *old = value,
        None => attributes.push((name, value)),
    }
}
