//! Events of the tree as values of a script.

use perf_models::Value;
use starlark::values::dict::AllocDict;
use starlark::values::list::AllocList;
use starlark::values::structs::{AllocStruct, StructRef};
use starlark::values::{Heap, UnpackValue, Value as ScriptValue};
use trace_ingest::EventId;

use super::edits::TreeHost;
use crate::extension::values::{all_to_script, to_script};

/// The field that stands for the event.
const ID: &str = "id";

/// The fields of an event of the tree.
pub(super) const FIELDS: [&str; 14] = [
    ID,
    "name",
    "category",
    "is_gpu",
    "start_us",
    "duration_us",
    "dims",
    "types",
    "strides",
    "concrete",
    "sequence_number",
    "external_id",
    "correlation",
    "args",
];

/// The event behind a script's value.
pub(super) fn event_id(value: ScriptValue<'_>) -> Result<EventId, String> {
    let field = StructRef::from_value(value)
        .and_then(|event| event.iter().find(|(name, _)| name.as_str() == ID).map(|(_, id)| id));
    let id = field.and_then(|id| u32::unpack_value(id).ok().flatten());
    id.map(EventId).ok_or_else(|| format!("expected an event of the tree, found a {}", value.get_type()))
}

/// An operator that waits for its insertion.
pub(super) fn inserted<'v>(operator: EventId, name: &str, heap: Heap<'v>) -> ScriptValue<'v> {
    heap.alloc(AllocStruct([(ID, heap.alloc(operator.0)), ("name", heap.alloc(name))]))
}

impl TreeHost<'_> {
    /// An event of the tree with all that a script can know of it.
    pub(super) fn event<'v>(&self, event: EventId, heap: Heap<'v>) -> ScriptValue<'v> {
        let trace = self.carried_out().trace();
        let events = trace.events();
        let signature = events.signature(event).map(|id| trace.signatures().get(id)).unwrap_or_default();
        let list = |id: Option<_>| match id.map(|id| crate::models::value(trace.signatures().argument(id))) {
            Some(Value::List(items)) => all_to_script(&items, heap),
            Some(other) => all_to_script(&[other], heap),
            None => all_to_script(&[], heap),
        };
        let number = |value: Option<i64>| value.map_or(ScriptValue::new_none(), |value| heap.alloc(value));
        let attributes = self.attributes_of(event);
        let args = attributes.iter().map(|(name, value)| (name.as_str(), to_script(value, heap)));
        let values = [
            heap.alloc(event.0),
            heap.alloc(trace.name(event)),
            heap.alloc(trace.category_name(events.category(event))),
            ScriptValue::new_bool(events.category(event).is_device()),
            heap.alloc(trace.to_microseconds(events.start(event))),
            heap.alloc(trace.to_microseconds(events.duration(event))),
            list(signature.dims),
            list(signature.types),
            list(signature.strides),
            list(signature.concrete),
            number(events.sequence_number(event)),
            number(events.external_id(event)),
            number(events.correlation(event)),
            heap.alloc(AllocDict(args)),
        ];
        heap.alloc(AllocStruct(FIELDS.into_iter().zip(values)))
    }

    pub(super) fn events<'v>(&self, events: &[EventId], heap: Heap<'v>) -> ScriptValue<'v> {
        let events: Vec<_> = events.iter().map(|&event| self.event(event, heap)).collect();
        heap.alloc(AllocList(events))
    }
}
