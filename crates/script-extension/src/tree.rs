//! The tree under a script: its events as values, and its edits, carried out in groups.

use std::collections::BTreeMap;

use perf_models::Value;
use starlark::collections::SmallMap;
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::list::AllocList;
use starlark::values::structs::{AllocStruct, StructRef};
use starlark::values::tuple::AllocTuple;
use starlark::values::{Heap, UnpackValue, Value as ScriptValue};
use trace_ingest::{ArgumentValue, EventId};
use trace2tree::{EditError, EventLabel, PseudoOperator, TraceTree, TreeEdit};

use crate::memory::Memory;
use crate::values::{argument_to_script, from_script, to_argument, to_script};

/// Where an operator is inserted.
#[derive(Clone, Copy)]
pub(crate) enum Position {
    Above,
    Isolating,
    AroundChildren,
}

/// An operator with its place.
pub(crate) struct Insertion {
    position: Position,
    /// The event that it is inserted above, inside of, or that it isolates.
    event: EventId,
    name: String,
    given: Given,
}

/// What a script gives an operator that it inserts, all on request.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) donor: Option<EventId>,
    sequence_number: Option<i64>,
    lists: [Option<ArgumentValue>; 4],
    attributes: Vec<(String, ArgumentValue)>,
}

/// What can be given, the four lists of arguments last and in their order.
const NAMES: [&str; 7] = ["donor", "sequence_number", "args", "dims", "types", "strides", "concrete"];
const FIRST_LIST: usize = 3;

impl Given {
    /// Reads the named arguments of a script's call; `None` counts as not given.
    pub(crate) fn read(named: SmallMap<String, ScriptValue<'_>>) -> Result<Given, String> {
        let mut given = Given::default();
        for (name, value) in named {
            let Some(position) = NAMES.iter().position(|known| *known == name) else {
                return Err(format!("there is no argument {name:?}; there are {}", NAMES.join(", ")));
            };
            if value.is_none() {
                continue;
            }
            let wrong = |expected: &str| format!("{name} must be {expected}, found a {}", value.get_type());
            match (name.as_str(), position.checked_sub(FIRST_LIST)) {
                ("donor", _) => given.donor = Some(event_id(value)?),
                ("sequence_number", _) => {
                    let number = i64::unpack_value(value).ok().flatten();
                    given.sequence_number = Some(number.ok_or_else(|| wrong("a whole number"))?);
                }
                (_, Some(list)) => {
                    let items = from_script(value).map_err(|found| format!("{name} cannot have {found}"))?;
                    if !matches!(items, Value::List(_) | Value::Tuple(_)) {
                        return Err(wrong("a list"));
                    }
                    given.lists[list] = Some(to_argument(&items));
                }
                (_, None) => {
                    let labelled = DictRef::from_value(value).ok_or_else(|| wrong("a dict"))?;
                    given.attributes = labelled.iter().map(attribute).collect::<Result<_, _>>()?;
                }
            }
        }
        Ok(given)
    }
}

fn attribute((label, value): (ScriptValue<'_>, ScriptValue<'_>)) -> Result<(String, ArgumentValue), String> {
    let Some(label) = label.unpack_str() else {
        return Err(format!("args must have texts as keys, found a {}", label.get_type()));
    };
    let value = from_script(value).map_err(|found| format!("args[{label:?}] cannot be {found}"))?;
    Ok((label.to_owned(), to_argument(&value)))
}

impl Insertion {
    pub(crate) fn new(position: Position, event: EventId, name: &str, given: Given) -> Self {
        Insertion { position, event, name: name.to_owned(), given }
    }

    fn carry_out(self, edit: &mut TreeEdit<'_>) -> Result<(), EditError> {
        let Given { donor, sequence_number, lists, attributes } = self.given;
        let operator = PseudoOperator { name: &self.name, donor, sequence_number, lists, attributes };
        match self.position {
            Position::Above => edit.insert_above(self.event, operator),
            Position::Isolating => edit.isolate(self.event, operator),
            Position::AroundChildren => edit.wrap_children(self.event, operator),
        }
        .map(|_| ())
    }
}

/// Further arguments of events, by event.
type Attributes = BTreeMap<EventId, Vec<(String, Value)>>;

/// A tree under a script. Edits wait until the script asks for something again: each time they are carried out,
/// the whole tree's order is derived anew.
pub(crate) struct TreeHost<'t> {
    tree: &'t mut TraceTree,
    waiting: Vec<Edit>,
    /// How many operators wait for their insertion; they get the ids after those of the tree.
    operators_waiting: usize,
    attributes: Attributes,
}

/// An edit that is known to be possible.
enum Edit {
    Insert(Insertion),
    Rename(EventId, String),
    ChargeWithSubtree(EventId),
}

impl Edit {
    fn carry_out(self, edit: &mut TreeEdit<'_>) -> Result<(), EditError> {
        match self {
            Edit::Insert(insertion) => insertion.carry_out(edit),
            Edit::Rename(event, name) => {
                edit.rename(event, &name);
                Ok(())
            }
            Edit::ChargeWithSubtree(operator) => edit.charge_with_subtree(operator),
        }
    }
}

impl<'t> TreeHost<'t> {
    pub(crate) fn new(tree: &'t mut TraceTree) -> Self {
        TreeHost { tree, waiting: Vec::new(), operators_waiting: 0, attributes: Attributes::new() }
    }

    /// Carries out what waits and gives the further arguments of events.
    pub(crate) fn finish(mut self) -> Result<Attributes, String> {
        self.current()?;
        Ok(self.attributes)
    }

    /// The tree with all edits so far.
    pub(crate) fn current(&mut self) -> Result<&TraceTree, String> {
        if !self.waiting.is_empty() {
            self.operators_waiting = 0;
            let mut edit = self.tree.edit();
            let mut waiting = self.waiting.drain(..);
            waiting
                .try_for_each(|waiting| waiting.carry_out(&mut edit))
                .map_err(|error| error.to_string())?;
        }
        Ok(self.tree)
    }

    /// The current tree, which must have the event.
    pub(crate) fn known(&mut self, event: EventId) -> Result<&TraceTree, String> {
        self.reserved(event)?;
        self.current()
    }

    /// Makes sure that the event is in the trace or waits for its insertion.
    pub(crate) fn reserved(&self, event: EventId) -> Result<(), String> {
        match event.index() < self.next_event().index() {
            true => Ok(()),
            false => Err(format!("the tree has no event {}", event.0)),
        }
    }

    fn next_event(&self) -> EventId {
        EventId((self.tree.trace().events().len() + self.operators_waiting) as u32)
    }

    fn waits(&self, event: EventId) -> bool {
        event.index() >= self.tree.trace().events().len()
    }

    /// Takes an insertion up after making sure that it can be carried out; gives the event that it will be.
    pub(crate) fn insert(&mut self, insertion: Insertion) -> Result<EventId, String> {
        if self.waits(insertion.event) {
            // What hangs below an operator that waits itself is known only then.
            self.current()?;
        }
        let event = insertion.event;
        if let Some(refusal) = self.refusal(insertion.position, event) {
            return Err(refusal.to_string());
        }
        let inserted = self.next_event();
        self.waiting.push(Edit::Insert(insertion));
        self.operators_waiting += 1;
        Ok(inserted)
    }

    /// Why nothing can be inserted there.
    fn refusal(&self, position: Position, event: EventId) -> Option<EditError> {
        let label = || EventLabel::new(self.tree.trace(), event);
        match position {
            Position::Above | Position::AroundChildren if !self.tree.is_host(event) => {
                Some(EditError::NotAHostEvent(label()))
            }
            Position::Isolating if self.tree.launch(event).is_none() => Some(EditError::NotLaunched(label())),
            Position::AroundChildren if !self.has_host_children(event) => {
                Some(EditError::NoChildren(label()))
            }
            _ => None,
        }
    }

    fn has_host_children(&self, event: EventId) -> bool {
        let events = self.tree.trace().events();
        self.tree.children(event).iter().any(|&child| !events.category(child).is_device())
    }

    pub(crate) fn rename(&mut self, event: EventId, name: &str) -> Result<(), String> {
        self.reserved(event)?;
        self.waiting.push(Edit::Rename(event, name.to_owned()));
        Ok(())
    }

    pub(crate) fn charge_with_subtree(&mut self, operator: EventId) -> Result<(), String> {
        self.reserved(operator)?;
        if self.waits(operator) {
            self.waiting.push(Edit::ChargeWithSubtree(operator));
            return Ok(());
        }
        self.tree.edit().charge_with_subtree(operator).map_err(|error| error.to_string())
    }

    /// Links of events that are in the tree need none of the edits that wait.
    pub(crate) fn link_backward(&mut self, forward: EventId, backward: EventId) -> Result<(), String> {
        for event in [forward, backward] {
            self.reserved(event)?;
            if self.waits(event) {
                self.current()?;
            }
        }
        self.tree.edit().link_backward(forward, backward).map_err(|error| error.to_string())
    }

    /// Gives an event a further argument, in place of one of the same name.
    pub(crate) fn set_attribute(&mut self, event: EventId, name: &str, value: Value) -> Result<(), String> {
        self.reserved(event)?;
        let attributes = self.attributes.entry(event).or_default();
        match attributes.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => attributes.push((name.to_owned(), value)),
        }
        Ok(())
    }
}

/// The field that stands for the event.
const ID: &str = "id";

/// The fields of an event of the tree.
pub(crate) const FIELDS: [&str; 14] = [
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
pub(crate) fn event_id(value: ScriptValue<'_>) -> Result<EventId, String> {
    let field = StructRef::from_value(value)
        .and_then(|event| event.iter().find(|(name, _)| name.as_str() == ID).map(|(_, id)| id));
    let id = field.and_then(|id| u32::unpack_value(id).ok().flatten());
    id.map(EventId).ok_or_else(|| format!("expected an event of the tree, found a {}", value.get_type()))
}

/// An operator that waits for its insertion.
pub(crate) fn inserted<'v>(operator: EventId, name: &str, heap: Heap<'v>) -> ScriptValue<'v> {
    heap.alloc(AllocStruct([(ID, heap.alloc(operator.0)), ("name", heap.alloc(name))]))
}

impl TreeHost<'_> {
    /// An event of the tree with all that a script can know of it.
    pub(crate) fn event<'v>(&self, event: EventId, heap: Heap<'v>) -> ScriptValue<'v> {
        let trace = self.tree.trace();
        let events = trace.events();
        let signature = events.signature(event).map(|id| trace.signatures().get(id)).unwrap_or_default();
        let list = |id: Option<_>| match id.map(|id| trace.signatures().argument(id)) {
            Some(argument @ ArgumentValue::List(_)) => argument_to_script(argument, heap),
            other => heap.alloc(AllocTuple(other.map(|argument| argument_to_script(argument, heap)))),
        };
        let number = |value: Option<i64>| value.map_or(ScriptValue::new_none(), |value| heap.alloc(value));
        let inserted_with = self.tree.pseudo_attributes(event).iter();
        let inserted_with =
            inserted_with.map(|(name, value)| (name.as_str(), argument_to_script(value, heap)));
        let set = self.attributes.get(&event).into_iter().flatten();
        let set = set.map(|(name, value)| (name.as_str(), to_script(value, heap)));
        // Of two arguments of one name, the dict keeps the later one.
        let args: Vec<_> = inserted_with.chain(set).collect();
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

    /// Events as a list, as long as memory suffices: one query may give all events of a trace.
    pub(crate) fn events<'v>(
        &self,
        events: &[EventId],
        memory: &Memory,
        heap: Heap<'v>,
    ) -> starlark::Result<ScriptValue<'v>> {
        let event = |&event| memory.room(heap, 0).map(|()| self.event(event, heap));
        let events: Vec<_> = events.iter().map(event).collect::<starlark::Result<_>>()?;
        Ok(heap.alloc(AllocList(events)))
    }
}
