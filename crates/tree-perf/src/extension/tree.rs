//! The tree as a script sees it.

use std::collections::BTreeMap;

use perf_models::Value;
use starlark::collections::SmallMap;
use starlark::environment::{Globals, GlobalsBuilder};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::AllocDict;
use starlark::values::list::AllocList;
use starlark::values::none::{NoneOr, NoneType};
use starlark::values::structs::{AllocStruct, StructRef};
use starlark::values::{Heap, UnpackValue, Value as ScriptValue};
use trace_ingest::EventId;
use trace2tree::{PseudoOperator, TraceTree};

use super::host::{Host, complain};
use super::values::{all_to_script, from_script, to_argument, to_script};

/// Further arguments of events, by event.
pub(super) type Attributes = BTreeMap<EventId, Vec<(String, Value)>>;

/// A tree under a script. Insertions wait until the script asks for something again: each time they are
/// carried out, the whole tree's order is derived anew.
pub(super) struct TreeHost<'t> {
    tree: &'t mut TraceTree,
    waiting: Vec<Insertion>,
    pub(super) attributes: Attributes,
}

#[derive(Clone, Copy)]
enum Position {
    Above,
    Isolating,
    AroundChildren,
}

struct Insertion {
    position: Position,
    event: EventId,
    name: String,
    donor: Option<EventId>,
    sequence_number: Option<i64>,
    attributes: Vec<(String, Value)>,
}

impl<'t> TreeHost<'t> {
    pub(super) fn new(tree: &'t mut TraceTree) -> Self {
        TreeHost { tree, waiting: Vec::new(), attributes: Attributes::new() }
    }

    /// The tree with all insertions so far.
    fn current(&mut self) -> Result<&TraceTree, String> {
        if self.waiting.is_empty() {
            return Ok(self.tree);
        }
        let mut edit = self.tree.edit();
        for insertion in self.waiting.drain(..) {
            let attributes =
                insertion.attributes.iter().map(|(name, value)| (name.clone(), to_argument(value))).collect();
            let operator = PseudoOperator {
                name: &insertion.name,
                donor: insertion.donor,
                sequence_number: insertion.sequence_number,
                attributes,
            };
            match insertion.position {
                Position::Above => edit.insert_above(insertion.event, operator),
                Position::Isolating => edit.isolate(insertion.event, operator),
                Position::AroundChildren => edit.wrap_children(insertion.event, operator),
            }
            .map_err(|error| error.to_string())?;
        }
        edit.finish();
        Ok(self.tree)
    }

    /// Carries out what waits and gives the further arguments of events.
    pub(super) fn finish(mut self) -> Result<Attributes, String> {
        self.current()?;
        Ok(self.attributes)
    }

    /// Takes an insertion up after making sure that it can be carried out; gives the event that it will be.
    fn insert(&mut self, insertion: Insertion) -> Result<EventId, String> {
        if insertion.event.index() >= self.tree.trace().events().len() {
            // What hangs below an operator that waits itself is known only then.
            self.current()?;
        }
        let event = insertion.event;
        let is_host = self.tree.is_host(event);
        let reason = match insertion.position {
            Position::Above if !is_host => "is not a host event of the tree",
            Position::Isolating if self.tree.launch(event).is_none() => {
                "is not a device event with a launch in the tree"
            }
            Position::AroundChildren if !is_host => "is not a host event of the tree",
            Position::AroundChildren if !self.has_host_children(event) => "has no host children to wrap",
            _ => {
                self.waiting.push(insertion);
                return Ok(EventId((self.tree.trace().events().len() + self.waiting.len() - 1) as u32));
            }
        };
        Err(format!("event {} ({}) {reason}", event.0, self.tree.trace().name(event)))
    }

    fn has_host_children(&self, event: EventId) -> bool {
        let events = self.tree.trace().events();
        self.tree.children(event).iter().any(|&child| !events.category(child).is_device())
    }

    /// Further arguments: what the script set, and what inserted operators were given.
    fn attributes_of(&self, event: EventId) -> Vec<(String, Value)> {
        let given = self.tree.pseudo_attributes(event);
        let mut all: Vec<(String, Value)> =
            given.iter().map(|(name, value)| (name.clone(), crate::models::value(value))).collect();
        for (name, value) in self.attributes.get(&event).into_iter().flatten() {
            set(&mut all, name, value.clone());
        }
        all
    }

    fn event<'v>(&self, event: EventId, heap: Heap<'v>) -> ScriptValue<'v> {
        let trace = self.tree.trace();
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
        heap.alloc(AllocStruct([
            ("id", heap.alloc(event.0)),
            ("name", heap.alloc(trace.name(event))),
            ("category", heap.alloc(trace.category_name(events.category(event)))),
            ("is_gpu", ScriptValue::new_bool(events.category(event).is_device())),
            ("start_us", heap.alloc(trace.to_microseconds(events.start(event)))),
            ("duration_us", heap.alloc(trace.to_microseconds(events.duration(event)))),
            ("dims", list(signature.dims)),
            ("types", list(signature.types)),
            ("strides", list(signature.strides)),
            ("concrete", list(signature.concrete)),
            ("sequence_number", number(events.sequence_number(event))),
            ("external_id", number(events.external_id(event))),
            ("correlation", number(events.correlation(event))),
            ("args", heap.alloc(AllocDict(args))),
        ]))
    }
}

fn set(attributes: &mut Vec<(String, Value)>, name: &str, value: Value) {
    match attributes.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => attributes.push((name.to_owned(), value)),
    }
}

/// The event behind a script's value.
fn id(value: ScriptValue<'_>) -> starlark::Result<EventId> {
    let field = StructRef::from_value(value)
        .and_then(|event| event.iter().find(|(name, _)| name.as_str() == "id").map(|(_, id)| id));
    let id = field.and_then(|id| u32::unpack_value(id).ok().flatten());
    id.map(EventId)
        .ok_or_else(|| complain(format!("expected an event of the tree, found a {}", value.get_type())))
}

/// Runs a query that gives one event or none.
fn one<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    event: ScriptValue<'v>,
    query: impl FnOnce(&TraceTree, EventId) -> Option<EventId>,
) -> starlark::Result<ScriptValue<'v>> {
    let id = id(event)?;
    let mut host = borrow(eval)?;
    let found = query(host.known(id)?, id);
    Ok(found.map_or(ScriptValue::new_none(), |found| host.event(found, eval.heap())))
}

/// Runs a query that gives a list of events.
fn many<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    event: ScriptValue<'v>,
    query: impl FnOnce(&TraceTree, EventId) -> Vec<EventId>,
) -> starlark::Result<ScriptValue<'v>> {
    let id = id(event)?;
    let mut host = borrow(eval)?;
    let found = query(host.known(id)?, id);
    Ok(list(&host, &found, eval.heap()))
}

fn list<'v>(host: &TreeHost<'_>, events: &[EventId], heap: Heap<'v>) -> ScriptValue<'v> {
    let events: Vec<_> = events.iter().map(|&event| host.event(event, heap)).collect();
    heap.alloc(AllocList(events))
}

fn borrow<'a, 'e>(eval: &Evaluator<'_, 'a, 'e>) -> starlark::Result<std::cell::RefMut<'a, TreeHost<'e>>> {
    let tree = Host::of(eval)?.tree.as_ref();
    let tree = tree.ok_or_else(|| complain("the tree is there only in tree_postprocess_extension"))?;
    tree.try_borrow_mut().map_err(|_| complain("the tree is in use"))
}

impl TreeHost<'_> {
    /// Makes sure that the event is in the tree or waits for its insertion.
    fn reserved(&self, event: EventId) -> starlark::Result<()> {
        match event.index() < self.tree.trace().events().len() + self.waiting.len() {
            true => Ok(()),
            false => Err(complain(format!("the tree has no event {}", event.0))),
        }
    }

    /// The current tree, which must have the event.
    fn known(&mut self, event: EventId) -> starlark::Result<&TraceTree> {
        let tree = self.current().map_err(complain)?;
        match event.index() < tree.trace().events().len() {
            true => Ok(tree),
            false => Err(complain(format!("the tree has no event {}", event.0))),
        }
    }
}

/// What the three insertions have in common.
fn insert<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    position: Position,
    event: ScriptValue<'v>,
    name: &str,
    donor: NoneOr<ScriptValue<'v>>,
    sequence_number: NoneOr<i64>,
    args: SmallMap<String, ScriptValue<'v>>,
) -> starlark::Result<ScriptValue<'v>> {
    let heap = eval.heap();
    let event = id(event)?;
    let donor = donor.into_option().map(id).transpose()?;
    let mut attributes = Vec::new();
    for (label, value) in args {
        let value =
            from_script(value).map_err(|found| complain(format!("args[{label:?}] cannot be {found}")))?;
        attributes.push((label, value));
    }
    let mut host = borrow(eval)?;
    [Some(event), donor].into_iter().flatten().try_for_each(|event| host.reserved(event))?;
    let sequence_number = sequence_number.into_option();
    let insertion = Insertion { position, event, name: name.to_owned(), donor, sequence_number, attributes };
    let inserted = host.insert(insertion).map_err(complain)?;
    let fields = [("id", heap.alloc(inserted.0)), ("name", heap.alloc(name))];
    Ok(heap.alloc(AllocStruct(fields)))
}

/// The tree's methods as a value to pass to a script.
pub(super) fn methods<'v>(heap: Heap<'v>) -> ScriptValue<'v> {
    static METHODS: std::sync::LazyLock<Globals> =
        std::sync::LazyLock::new(|| GlobalsBuilder::new().with(tree_methods).build());
    heap.alloc(AllocStruct(METHODS.iter().map(|(name, value)| (name, value.to_value()))))
}

#[starlark_module]
fn tree_methods(builder: &mut GlobalsBuilder) {
    fn events_by_name<'v>(
        #[starlark(require = pos)] name: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        let mut host = borrow(eval)?;
        let found = host.current().map_err(complain)?.find_by_name(name).to_vec();
        Ok(list(&host, &found, eval.heap()))
    }

    fn names<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<ScriptValue<'v>> {
        let mut host = borrow(eval)?;
        let tree = host.current().map_err(complain)?;
        let names: Vec<_> =
            tree.node_names().map(|name| eval.heap().alloc(tree.trace().text(name))).collect();
        Ok(eval.heap().alloc(AllocList(names)))
    }

    fn roots<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<ScriptValue<'v>> {
        let mut host = borrow(eval)?;
        let found = host.current().map_err(complain)?.roots().to_vec();
        Ok(list(&host, &found, eval.heap()))
    }

    fn children<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        many(eval, event, |tree, id| if tree.contains(id) { tree.children(id).to_vec() } else { Vec::new() })
    }

    fn descendants<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        many(
            eval,
            event,
            |tree, id| if tree.contains(id) { tree.descendants(id).collect() } else { Vec::new() },
        )
    }

    fn ancestors<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        many(eval, event, |tree, id| tree.ancestors(id).collect())
    }

    /// Device events by start.
    fn gpu_events<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        many(eval, event, |tree, id| {
            let mut events = tree.device_events(id).to_vec();
            events.sort_by_key(|&event| (tree.trace().events().start(event), event));
            events
        })
    }

    fn parent<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        one(eval, event, TraceTree::parent)
    }

    fn launch<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        one(eval, event, TraceTree::launch)
    }

    fn operator<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        one(eval, event, TraceTree::operator)
    }

    fn forward_event<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        one(eval, event, TraceTree::forward_event)
    }

    fn backward_events<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        many(eval, event, |tree, id| tree.backward_events(id).to_vec())
    }

    fn backward_events_of_subtree<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        many(
            eval,
            event,
            |tree, id| if tree.contains(id) { tree.backward_events_of_subtree(id) } else { Vec::new() },
        )
    }

    fn insert_above<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        name: &str,
        #[starlark(require = named, default = NoneOr::None)] donor: NoneOr<ScriptValue<'v>>,
        #[starlark(require = named, default = NoneOr::None)] sequence_number: NoneOr<i64>,
        #[starlark(require = named, default = SmallMap::new())] args: SmallMap<String, ScriptValue<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        insert(eval, Position::Above, event, name, donor, sequence_number, args)
    }

    fn isolate<'v>(
        #[starlark(require = pos)] gpu_event: ScriptValue<'v>,
        name: &str,
        #[starlark(require = named, default = NoneOr::None)] donor: NoneOr<ScriptValue<'v>>,
        #[starlark(require = named, default = NoneOr::None)] sequence_number: NoneOr<i64>,
        #[starlark(require = named, default = SmallMap::new())] args: SmallMap<String, ScriptValue<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        insert(eval, Position::Isolating, gpu_event, name, donor, sequence_number, args)
    }

    fn wrap_children<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        name: &str,
        #[starlark(require = named, default = NoneOr::None)] donor: NoneOr<ScriptValue<'v>>,
        #[starlark(require = named, default = NoneOr::None)] sequence_number: NoneOr<i64>,
        #[starlark(require = named, default = SmallMap::new())] args: SmallMap<String, ScriptValue<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        insert(eval, Position::AroundChildren, event, name, donor, sequence_number, args)
    }

    /// Gives an event a further argument, for the models.
    fn set_arg<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        #[starlark(require = pos)] name: &str,
        #[starlark(require = pos)] value: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let id = id(event)?;
        let value = from_script(value).map_err(|found| complain(format!("an argument cannot be {found}")))?;
        let mut host = borrow(eval)?;
        host.reserved(id)?;
        set(host.attributes.entry(id).or_default(), name, value);
        Ok(NoneType)
    }
}
