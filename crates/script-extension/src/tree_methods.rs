//! The methods of the tree in a script.

use std::cell::RefMut;
use std::sync::LazyLock;

use starlark::collections::SmallMap;
use starlark::environment::{Globals, GlobalsBuilder};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::list::AllocList;
use starlark::values::none::NoneType;
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, Value as ScriptValue};
use trace_ingest::EventId;
use trace2tree::TraceTree;

use crate::error::complain;
use crate::host::Host;
use crate::tree::{Given, Insertion, Position, TreeHost, event_id, inserted};
use crate::values::from_script;

type Answer<'v> = starlark::Result<ScriptValue<'v>>;

static METHODS: LazyLock<Globals> = LazyLock::new(|| {
    GlobalsBuilder::new().with(queries).with(event_queries).with(insertions).with(edits).build()
});

/// The names of the tree's methods, sorted.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = METHODS.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

/// The tree's methods as a value to pass to a script.
pub(crate) fn methods<'v>(heap: Heap<'v>) -> ScriptValue<'v> {
    heap.alloc(AllocStruct(METHODS.iter().map(|(name, value)| (name, value.to_value()))))
}

fn borrow<'a, 'e>(eval: &Evaluator<'_, 'a, 'e>) -> starlark::Result<RefMut<'a, TreeHost<'e>>> {
    let tree = Host::from_evaluator(eval)?.tree.as_ref();
    let tree = tree.ok_or_else(|| complain("the tree is there only in tree_postprocess_extension"))?;
    tree.try_borrow_mut().map_err(|_| complain("the tree is in use"))
}

fn id(event: ScriptValue<'_>) -> starlark::Result<EventId> {
    event_id(event).map_err(complain)
}

/// Answers a query about one event with an event or `None`.
fn one<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    event: ScriptValue<'v>,
    query: impl FnOnce(&TraceTree, EventId) -> Option<EventId>,
) -> Answer<'v> {
    let id = id(event)?;
    let mut host = borrow(eval)?;
    let found = query(host.known(id).map_err(complain)?, id);
    Ok(found.map_or(ScriptValue::new_none(), |found| host.event(found, eval.heap())))
}

/// Answers a query about one event with a list of events.
fn many<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    event: ScriptValue<'v>,
    query: impl FnOnce(&TraceTree, EventId) -> Vec<EventId>,
) -> Answer<'v> {
    let id = id(event)?;
    let mut host = borrow(eval)?;
    let found = query(host.known(id).map_err(complain)?, id);
    host.events(&found, &Host::from_evaluator(eval)?.memory, eval.heap())
}

/// Answers a query about the tree with a list of events.
fn all<'v>(eval: &mut Evaluator<'v, '_, '_>, query: impl FnOnce(&TraceTree) -> &[EventId]) -> Answer<'v> {
    let mut host = borrow(eval)?;
    let found = query(host.current().map_err(complain)?).to_vec();
    host.events(&found, &Host::from_evaluator(eval)?.memory, eval.heap())
}

/// Asks for an edit that gives nothing back.
fn edit(
    eval: &mut Evaluator<'_, '_, '_>,
    edit: impl FnOnce(&mut TreeHost<'_>) -> Result<(), String>,
) -> starlark::Result<NoneType> {
    edit(&mut *borrow(eval)?).map_err(complain)?;
    Ok(NoneType)
}

/// Inserts an operator; gives what stands for it.
fn insert<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    position: Position,
    event: ScriptValue<'v>,
    name: &str,
    given: SmallMap<String, ScriptValue<'v>>,
) -> Answer<'v> {
    let event = id(event)?;
    let given = Given::read(given).map_err(complain)?;
    let mut host = borrow(eval)?;
    for event in [Some(event), given.donor].into_iter().flatten() {
        host.reserved(event).map_err(complain)?;
    }
    let operator = host.insert(Insertion::new(position, event, name, given)).map_err(complain)?;
    Ok(inserted(operator, name, eval.heap()))
}

#[starlark_module]
fn queries(builder: &mut GlobalsBuilder) {
    fn events_by_name<'v>(
        #[starlark(require = pos)] name: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<ScriptValue<'v>> {
        all(eval, |tree| tree.find_by_name(name))
    }

    fn names<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<ScriptValue<'v>> {
        let mut host = borrow(eval)?;
        let tree = host.current().map_err(complain)?;
        let names: Vec<_> =
            tree.node_names().map(|name| eval.heap().alloc(tree.trace().text(name))).collect();
        Ok(eval.heap().alloc(AllocList(names)))
    }

    fn roots<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<ScriptValue<'v>> {
        all(eval, TraceTree::roots)
    }
}

/// Methods that answer a query about one event.
macro_rules! event_queries {
    ($($name:ident => $answer:ident($query:expr);)*) => {
        #[starlark_module]
        fn event_queries(builder: &mut GlobalsBuilder) {
            $(fn $name<'v>(
                #[starlark(require = pos)] event: ScriptValue<'v>,
                eval: &mut Evaluator<'v, '_, '_>,
            ) -> starlark::Result<ScriptValue<'v>> {
                $answer(eval, event, $query)
            })*
        }
    };
}

event_queries! {
    children => many(|tree, id| tree.children(id).to_vec());
    descendants => many(|tree, id| tree.descendants(id).collect());
    ancestors => many(|tree, id| tree.ancestors(id).collect());
    gpu_events => many(device_events_by_start);
    parent => one(TraceTree::parent);
    launch => one(TraceTree::launch);
    operator => one(TraceTree::operator);
    forward_event => one(TraceTree::forward_event);
    backward_events => many(|tree, id| tree.backward_events(id).to_vec());
    backward_events_of_subtree => many(TraceTree::backward_events_of_subtree);
}

fn device_events_by_start(tree: &TraceTree, id: EventId) -> Vec<EventId> {
    let mut events = tree.device_events(id).to_vec();
    events.sort_by_key(|&event| (tree.trace().events().start(event), event));
    events
}

/// Methods that insert an operator at a position of an event.
macro_rules! insertions {
    ($($name:ident($event:ident) => $position:expr;)*) => {
        #[starlark_module]
        fn insertions(builder: &mut GlobalsBuilder) {
            $(fn $name<'v>(
                #[starlark(require = pos)] $event: ScriptValue<'v>,
                name: &str,
                #[starlark(kwargs)] given: SmallMap<String, ScriptValue<'v>>,
                eval: &mut Evaluator<'v, '_, '_>,
            ) -> starlark::Result<ScriptValue<'v>> {
                insert(eval, $position, $event, name, given)
            })*
        }
    };
}

insertions! {
    insert_above(event) => Position::Above;
    isolate(gpu_event) => Position::Isolating;
    wrap_children(event) => Position::AroundChildren;
}

#[starlark_module]
fn edits(builder: &mut GlobalsBuilder) {
    /// Gives an event another name.
    fn rename<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        #[starlark(require = pos)] name: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let event = id(event)?;
        edit(eval, |host| host.rename(event, name))
    }

    /// Makes an inserted operator the launcher of all that was launched below it.
    fn charge_with_subtree<'v>(
        #[starlark(require = pos)] operator: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let operator = id(operator)?;
        edit(eval, |host| host.charge_with_subtree(operator))
    }

    /// Makes one event a backward of another.
    fn link_backward<'v>(
        #[starlark(require = pos)] forward: ScriptValue<'v>,
        #[starlark(require = pos)] backward: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let (forward, backward) = (id(forward)?, id(backward)?);
        edit(eval, |host| host.link_backward(forward, backward))
    }

    /// Gives an event a further argument, for the models.
    fn set_arg<'v>(
        #[starlark(require = pos)] event: ScriptValue<'v>,
        #[starlark(require = pos)] name: &str,
        #[starlark(require = pos)] value: ScriptValue<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<NoneType> {
        let event = id(event)?;
        let value = from_script(value).map_err(|found| complain(format!("an argument cannot be {found}")))?;
        edit(eval, |host| host.set_attribute(event, name, value))
    }
}
