//! The tree under a Python file's pass: columns of it on their way into the process, and the edits that come back.

use std::collections::{BTreeMap, HashMap};

use perf_models::Value;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use trace_ingest::{ArgumentValue, EventId, RowId, Signature, Trace};
use trace2tree::{PseudoOperator, TraceTree};

use super::json::{argument_to_json, from_json, to_argument};
use super::process::Reply;

/// Signatures of a batch: who asks for one soon asks for others.
const BATCH: usize = 4096;

/// "No number" in columns of numbers.
const NO_NUMBER: i64 = i64::MIN;

/// Further arguments of events, by event.
pub(super) type Attributes = BTreeMap<EventId, Vec<(String, Value)>>;

/// Answers a question of the process about the tree.
///
/// # Errors
/// Why it cannot be answered.
pub(super) fn answer(tree: &TraceTree, question: &Json) -> Result<Reply, String> {
    let part = |position: usize| question.get(position);
    match part(0).and_then(Json::as_str) {
        Some("column") => {
            let name = part(1).and_then(Json::as_str).unwrap_or_default();
            column(tree, name).ok_or_else(|| format!("there is no column {name:?}"))
        }
        Some("signatures") => {
            Ok(signatures(tree.trace(), part(1).and_then(Json::as_u64).unwrap_or_default()))
        }
        _ => super::built_in::answer(question),
    }
}

/// A column with an item for each event, if not said otherwise.
fn column(tree: &TraceTree, name: &str) -> Option<Reply> {
    let (trace, events) = (tree.trace(), tree.trace().events());
    let each = |item: &dyn Fn(EventId) -> Option<EventId>| {
        ids(events.ids().map(|event| item(event).unwrap_or(EventId(u32::MAX))))
    };
    let numbers = |item: &dyn Fn(EventId) -> Option<i64>| {
        Reply::column('q', events.ids().map(|event| item(event).unwrap_or(NO_NUMBER).to_ne_bytes()))
    };
    let indices = |items: &mut dyn Iterator<Item = usize>| ids(items.map(|index| EventId(index as u32)));
    let times = |item: &dyn Fn(EventId) -> i64| {
        Reply::column('d', events.ids().map(|event| trace.to_microseconds(item(event)).to_ne_bytes()))
    };
    let categories = || {
        let mut known = HashMap::new();
        let category_indices: Vec<usize> = events
            .ids()
            .map(|event| {
                let next = known.len();
                *known.entry(events.category(event)).or_insert(next)
            })
            .collect();
        (known, category_indices)
    };
    Some(match name {
        "name" => indices(&mut events.ids().map(|event| events.name(event).index())),
        // By number of the name, of which the two that follow have one entry each and one more.
        "names" => json(&trace.strings().iter().map(|(_, name)| name).collect::<Vec<_>>()),
        "named_at" => {
            let lengths = trace.strings().iter().map(|(name, _)| tree.find_by_name_id(name).len());
            indices(&mut starts(lengths))
        }
        "named" => ids(trace.strings().iter().flat_map(|(name, _)| tree.find_by_name_id(name)).copied()),
        "category" => indices(&mut categories().1.into_iter()),
        "categories" => {
            let mut known: Vec<_> = categories().0.into_iter().collect();
            known.sort_unstable_by_key(|&(_, index)| index);
            json(&known.iter().map(|&(category, _)| trace.category_name(category)).collect::<Vec<_>>())
        }
        "kind" => Reply::column('b', events.ids().map(|event| [kind(tree, event)])),
        "track" => indices(&mut events.ids().map(|event| events.track(event).index())),
        "tracks" => {
            let track = |id| {
                let track = trace.tracks().get(id);
                [row_id(trace, track.pid), row_id(trace, track.tid)]
            };
            json(&trace.tracks().ids().map(track).collect::<Vec<_>>())
        }
        "uid" => ids(events.ids().map(|event| EventId(events.uid(event)))),
        "start" => times(&|event| events.start(event)),
        "duration" => times(&|event| events.duration(event)),
        "parent" => each(&|event| tree.parent(event)),
        "roots" => ids(tree.roots().iter().copied()),
        "children_at" => indices(&mut starts(events.ids().map(|event| tree.children(event).len()))),
        "children" => ids(events.ids().flat_map(|event| tree.children(event)).copied()),
        "gpu_events" => ids(tree.linked_device_events().iter().copied()),
        "gpu_events_from" => indices(&mut events.ids().map(|event| tree.device_positions(event).start)),
        "gpu_events_to" => indices(&mut events.ids().map(|event| tree.device_positions(event).end)),
        "launch" => each(&|event| tree.launch(event)),
        "forward" => each(&|event| tree.forward_event(event)),
        "signature" => each(&|event| events.signature(event).map(|id| EventId(id.index() as u32))),
        "sequence_number" => numbers(&|event| events.sequence_number(event)),
        "external_id" => numbers(&|event| events.external_id(event)),
        "correlation" => numbers(&|event| events.correlation(event)),
        "device" => numbers(&|event| events.device(event)),
        "stream" => numbers(&|event| events.stream(event)),
        // Of the operators that were inserted before, by event.
        "own_args" => {
            let own = |event| {
                let own = tree.pseudo_attributes(event).iter();
                own.map(|(name, value)| (name.as_str(), argument_to_json(value))).collect::<BTreeMap<_, _>>()
            };
            let inserted = events.ids().filter(|&event| tree.is_pseudo_operator(event));
            json(&inserted.map(|event| (event.0, own(event))).collect::<BTreeMap<_, _>>())
        }
        _ => return None,
    })
}

/// Where each group starts, given the lengths of all, and where the last one ends.
fn starts(lengths: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(lengths.scan(0, |end, length| {
        *end += length;
        Some(*end)
    }))
}

/// Kinds of events; the bridge has the same numbers.
fn kind(tree: &TraceTree, event: EventId) -> u8 {
    if tree.trace().events().category(event).is_device() {
        2
    } else if tree.is_pseudo_operator(event) {
        3
    } else {
        u8::from(tree.is_host(event))
    }
}

/// The argument lists of signatures from this one on.
fn signatures(trace: &Trace, first: u64) -> Reply {
    let lists = |id| {
        let Signature { dims, types, strides, concrete } = trace.signatures().get(id);
        [dims, types, strides, concrete]
            .map(|list| list.map(|id| argument_to_json(trace.signatures().argument(id))))
    };
    json(&trace.signatures().ids().skip(first as usize).take(BATCH).map(lists).collect::<Vec<_>>())
}

fn row_id(trace: &Trace, id: RowId) -> Json {
    match id {
        RowId::Number(number) => number.into(),
        RowId::Text(text) => trace.text(text).into(),
        RowId::Missing => Json::Null,
    }
}

/// Rows of events; none is -1 as the process reads it.
fn ids(events: impl Iterator<Item = EventId>) -> Reply {
    Reply::column('i', events.map(|event| event.0.to_ne_bytes()))
}

/// JSON of what has nothing that JSON lacks.
fn json(answer: &impl Serialize) -> Reply {
    Reply::Json(serde_json::to_string(answer).unwrap_or_else(|_| "null".to_owned()))
}

/// What the file did to the tree. Events that it inserts have numbers behind those of the tree, in any order.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Edit {
    /// Number, name, children, and what the operator is given.
    Around(u32, String, Vec<u32>, Given),
    /// The same with the event whose children all go below the operator.
    Wrap(u32, String, u32, Given),
    /// The same with the device event that the operator has to itself.
    Isolate(u32, String, u32, Given),
    Rename(u32, String),
    /// Event, name and value.
    Arg(u32, String, Json),
    /// Forward and backward.
    Link(u32, u32),
    /// An inserted operator that is charged with all below it.
    Charge((u32,)),
}

/// What a file gives an operator that it inserts.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Given {
    donor: Option<u32>,
    sequence_number: Option<i64>,
    dims: Option<Json>,
    types: Option<Json>,
    strides: Option<Json>,
    concrete: Option<Json>,
    args: BTreeMap<String, Json>,
}

impl Given {
    fn operator(self, name: &str, donor: Option<EventId>) -> Result<PseudoOperator<'_>, String> {
        let value = |json: &Json| Ok::<ArgumentValue, String>(to_argument(&from_json(json)?));
        let list = |list: Option<Json>| list.as_ref().map(value).transpose();
        let lists = [list(self.dims)?, list(self.types)?, list(self.strides)?, list(self.concrete)?];
        let attributes = self.args.iter().map(|(label, json)| Ok((label.clone(), value(json)?)));
        let attributes = attributes.collect::<Result<_, String>>()?;
        Ok(PseudoOperator { name, donor, sequence_number: self.sequence_number, lists, attributes })
    }
}

/// Carries out edits, up to the first that cannot be; gives the further arguments of events.
pub(super) fn carry_out(tree: &mut TraceTree, edits: Vec<Edit>) -> Result<Attributes, String> {
    let recorded = tree.trace().events().len();
    let mut inserted: HashMap<u32, EventId> = HashMap::new();
    let mut attributes = Attributes::new();
    let mut edit = tree.edit();
    for asked in edits {
        let event = |number: u32| match (number as usize) < recorded {
            true => Ok(EventId(number)),
            false => inserted.get(&number).copied().ok_or_else(|| format!("the tree has no event {number}")),
        };
        let donor = |given: &Given| given.donor.map(event).transpose();
        let (number, insertion) = match asked {
            Edit::Around(number, name, children, given) => {
                let children: Vec<EventId> = children.into_iter().map(event).collect::<Result<_, _>>()?;
                let donor = donor(&given)?;
                (number, edit.insert_around(&children, given.operator(&name, donor)?))
            }
            Edit::Wrap(number, name, above, given) => {
                let (above, donor) = (event(above)?, donor(&given)?);
                (number, edit.wrap_children(above, given.operator(&name, donor)?))
            }
            Edit::Isolate(number, name, device_event, given) => {
                let (device_event, donor) = (event(device_event)?, donor(&given)?);
                (number, edit.isolate(device_event, given.operator(&name, donor)?))
            }
            Edit::Rename(renamed, name) => {
                edit.rename(event(renamed)?, &name);
                continue;
            }
            Edit::Arg(of, name, value) => {
                attributes.entry(event(of)?).or_default().push((name, from_json(&value)?));
                continue;
            }
            Edit::Link(forward, backward) => {
                let (forward, backward) = (event(forward)?, event(backward)?);
                edit.link_backward(forward, backward).map_err(|error| error.to_string())?;
                continue;
            }
            Edit::Charge((operator,)) => {
                edit.charge_with_subtree(event(operator)?).map_err(|error| error.to_string())?;
                continue;
            }
        };
        inserted.insert(number, insertion.map_err(|error| error.to_string())?);
    }
    Ok(attributes)
}
