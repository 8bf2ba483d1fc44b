//! The tree under a Python file's rule: parts of it in batches, and the edits.

use std::collections::{BTreeMap, HashSet};

use perf_models::Value;
use serde::Serialize;
use serde_json::{Value as Json, json};
use trace_ingest::{ArgumentValue, EventId, RowId, SignatureId, Trace};
use trace2tree::{EditError, EventLabel, PseudoOperator, TraceTree, TreeEdit};

use super::json::{argument_to_json, from_json, to_argument, to_json};

/// Events that a batch may have beyond those asked for: what hangs below these is likely to be asked for next.
const BEYOND: usize = 20_000;

/// Events of a batch of which one alone was asked for.
const BATCH: usize = 4096;

/// More device events than this are sent when they are asked for.
const MOST_DEVICE_EVENTS: usize = 256;

/// Further arguments of events, by event.
type Attributes = BTreeMap<EventId, Vec<(String, Value)>>;

/// A tree under a rule. Edits wait until something is asked for again: each time they are carried out, the whole
/// tree's order is derived anew.
pub(super) struct TreeHost<'t> {
    tree: &'t mut TraceTree,
    waiting: Vec<Edit>,
    /// How many operators wait for their insertion; they get the ids after those of the tree.
    operators_waiting: usize,
    attributes: Attributes,
    /// Names and signatures that the process knows by number.
    sent_strings: HashSet<usize>,
    sent_signatures: HashSet<usize>,
    /// Events by sequence number, made when first asked for.
    numbered: Option<BTreeMap<i64, Vec<u32>>>,
}

/// An edit that is known to be possible.
enum Edit {
    Insert(Position, String, Given),
    Rename(EventId, String),
    ChargeWithSubtree(EventId),
}

/// Where an operator is inserted.
#[derive(Clone, Debug)]
enum Position {
    Above(EventId),
    Isolating(EventId),
    AroundChildren(EventId),
    /// Around some children of one parent.
    Around(Vec<EventId>),
}

/// Events for the process, with the names and signatures that it has not had.
#[derive(Default, Serialize)]
struct Batch {
    strings: BTreeMap<usize, String>,
    signatures: BTreeMap<usize, [Option<Json>; 4]>,
    events: Vec<Row>,
}

/// An event as `Tree._add` of the bridge takes it: number, name, category, process, thread, start, duration, signature,
/// sequence number with the other recorded numbers, parent, children, device events, backwards, forward, own arguments.
type Row = (
    u32,
    usize,
    String,
    Json,
    Json,
    f64,
    f64,
    Option<usize>,
    [Option<i64>; 5],
    Option<u32>,
    Vec<u32>,
    Option<Vec<u32>>,
    Vec<u32>,
    Option<u32>,
    BTreeMap<String, Json>,
);

/// What a file gives an operator that it inserts, all on request.
#[derive(Default)]
struct Given {
    donor: Option<EventId>,
    sequence_number: Option<i64>,
    lists: [Option<ArgumentValue>; 4],
    attributes: Vec<(String, ArgumentValue)>,
}

impl Given {
    fn read(given: &Json) -> Result<Given, String> {
        let list = |name: &str| match given.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(list) => Ok::<_, String>(Some(to_argument(&from_json(list)?))),
        };
        let args = given.get("args").and_then(Json::as_object).into_iter().flatten();
        Ok(Given {
            donor: given.get("donor").and_then(event_id),
            sequence_number: given.get("sequence_number").and_then(Json::as_i64),
            lists: [list("dims")?, list("types")?, list("strides")?, list("concrete")?],
            attributes: args
                .map(|(label, value)| Ok((label.clone(), to_argument(&from_json(value)?))))
                .collect::<Result<_, String>>()?,
        })
    }
}

impl Edit {
    fn carry_out(self, edit: &mut TreeEdit<'_>) -> Result<(), EditError> {
        match self {
            Edit::Insert(position, name, given) => {
                let Given { donor, sequence_number, lists, attributes } = given;
                let operator = PseudoOperator { name: &name, donor, sequence_number, lists, attributes };
                match position {
                    Position::Above(event) => edit.insert_above(event, operator),
                    Position::Isolating(event) => edit.isolate(event, operator),
                    Position::AroundChildren(event) => edit.wrap_children(event, operator),
                    Position::Around(children) => edit.insert_around(&children, operator),
                }
                .map(|_| ())
            }
            Edit::Rename(event, name) => {
                edit.rename(event, &name);
                Ok(())
            }
            Edit::ChargeWithSubtree(operator) => edit.charge_with_subtree(operator),
        }
    }
}

fn event_id(json: &Json) -> Option<EventId> {
    json.as_u64().and_then(|id| u32::try_from(id).ok()).map(EventId)
}

impl<'t> TreeHost<'t> {
    pub(super) fn new(tree: &'t mut TraceTree) -> Self {
        TreeHost {
            tree,
            waiting: Vec::new(),
            operators_waiting: 0,
            attributes: Attributes::new(),
            sent_strings: HashSet::new(),
            sent_signatures: HashSet::new(),
            numbered: None,
        }
    }

    /// Carries out what waits and gives the further arguments of events.
    pub(super) fn finish(mut self) -> Result<Attributes, String> {
        self.current()?;
        Ok(self.attributes)
    }

    /// The tree with all edits so far.
    fn current(&mut self) -> Result<&TraceTree, String> {
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

    // ---- Questions ----

    /// Answers a question of the process in JSON.
    ///
    /// # Errors
    /// Why it cannot be answered, or an edit not be made.
    pub(super) fn answer(&mut self, question: &Json) -> Result<String, String> {
        let parts = question.as_array().map_or(&[][..], Vec::as_slice);
        let kind = parts.first().and_then(Json::as_str).unwrap_or_default();
        let event = parts.get(1).and_then(event_id);
        if kind == "edit" {
            return self.edits(parts.get(1).and_then(Json::as_array).map_or(&[][..], Vec::as_slice));
        }
        self.current()?;
        let of_event = |this: &Self| {
            let event = event.ok_or("the event is missing")?;
            this.reserved(event).map(|()| event)
        };
        match kind {
            "names" => Ok(text(&self.names())),
            "roots" => {
                let roots = self.tree.roots().to_vec();
                Ok(self.list(&roots, 0))
            }
            "named" => {
                let name = parts.get(1).and_then(Json::as_str).unwrap_or_default();
                let found = self.tree.find_by_name(name).to_vec();
                Ok(self.list(&found, BEYOND))
            }
            "event" => {
                let most = parts.get(2).and_then(Json::as_u64).unwrap_or(1) as usize;
                let events = self.like(of_event(self)?, most.min(BATCH));
                Ok(text(&self.batch(&events, 0)))
            }
            "range" => {
                let first = of_event(self)?.0;
                let end = (first as usize + BATCH).min(self.tree.trace().events().len());
                let events: Vec<_> = (first..end as u32).map(EventId).collect();
                Ok(text(&self.batch(&events, 0)))
            }
            "gpu_events" => Ok(text(&ids(&device_events_by_start(self.tree, of_event(self)?)))),
            "descendants" => {
                let below: Vec<_> = self.tree.descendants(of_event(self)?).collect();
                Ok(self.list(&below, 0))
            }
            "ancestors" => {
                let above: Vec<_> = self.tree.ancestors(of_event(self)?).collect();
                Ok(self.list(&above, 0))
            }
            "launch" => self.one(of_event(self)?, TraceTree::launch),
            "operator" => self.one(of_event(self)?, TraceTree::operator),
            "forward_event" => self.one(of_event(self)?, TraceTree::forward_event),
            "subtree_backward" => {
                let events = self.like(of_event(self)?, BATCH);
                let found: Vec<_> = events
                    .iter()
                    .map(|&event| (event, self.tree.backward_events_of_subtree(event)))
                    .collect();
                let all: Vec<EventId> =
                    found.iter().flat_map(|(_, backward)| backward.iter().copied()).collect();
                let by_event: BTreeMap<u32, Vec<u32>> =
                    found.iter().map(|(event, backward)| (event.0, ids(backward))).collect();
                Ok(text(&(by_event, self.batch(&all, BEYOND))))
            }
            "sequence_numbers" => {
                Ok(self.sequence_numbers(parts.get(1).and_then(Json::as_i64).unwrap_or_default()))
            }
            other => Err(format!("there is no question {other:?}")),
        }
    }

    /// The event and those of its name after it, `most` in all: who asks for one of them in a loop soon asks for the others.
    fn like(&self, event: EventId, most: usize) -> Vec<EventId> {
        let name = self.tree.trace().events().name(event);
        let of_name = self.tree.find_by_name_id(name);
        let from = of_name.partition_point(|&other| other < event);
        let others = of_name[from..].iter().copied().filter(|&other| other != event);
        std::iter::once(event).chain(others).take(most).collect()
    }

    fn one(
        &mut self,
        event: EventId,
        query: impl FnOnce(&TraceTree, EventId) -> Option<EventId>,
    ) -> Result<String, String> {
        let found: Vec<_> = query(self.tree, event).into_iter().collect();
        Ok(self.list(&found, 0))
    }

    fn names(&self) -> Vec<&str> {
        self.tree.node_names().map(|name| self.tree.trace().text(name)).collect()
    }

    /// Events with a batch that has all of them, and `beyond` of what is below them.
    fn list(&mut self, events: &[EventId], beyond: usize) -> String {
        text(&(ids(events), self.batch(events, beyond)))
    }

    fn batch(&mut self, events: &[EventId], beyond: usize) -> Batch {
        let mut batch = Batch::default();
        let mut taken = HashSet::new();
        let most = events.len() + beyond;
        for &event in events {
            self.add(&mut batch, &mut taken, event);
        }
        for &event in events {
            if batch.events.len() >= most {
                break;
            }
            let below: Vec<_> = self.tree.descendants(event).take(most - batch.events.len()).collect();
            for event in below {
                self.add(&mut batch, &mut taken, event);
            }
        }
        batch
    }

    fn add(&mut self, batch: &mut Batch, taken: &mut HashSet<EventId>, event: EventId) {
        if !taken.insert(event) {
            return;
        }
        let tree = &*self.tree;
        let trace = tree.trace();
        let events = trace.events();
        let name = events.name(event);
        if self.sent_strings.insert(name.index()) {
            batch.strings.insert(name.index(), trace.text(name).to_owned());
        }
        let signature = events.signature(event);
        if let Some(id) = signature
            && self.sent_signatures.insert(id.index())
        {
            let signature = trace.signatures().get(id);
            let lists = [signature.dims, signature.types, signature.strides, signature.concrete];
            let list = |id| argument_to_json(trace.signatures().argument(id));
            batch.signatures.insert(id.index(), lists.map(|id| id.map(list)));
        }
        let track = trace.tracks().get(events.track(event));
        let own = tree.pseudo_attributes(event).iter();
        let own = own.map(|(name, value)| (name.clone(), argument_to_json(value)));
        let set = self.attributes.get(&event).into_iter().flatten();
        batch.events.push((
            event.0,
            name.index(),
            trace.category_name(events.category(event)).to_owned(),
            row_id(trace, track.pid),
            row_id(trace, track.tid),
            trace.to_microseconds(events.start(event)),
            trace.to_microseconds(events.duration(event)),
            signature.map(SignatureId::index),
            [
                events.sequence_number(event),
                events.external_id(event),
                events.correlation(event),
                events.device(event),
                events.stream(event),
            ],
            tree.parent(event).map(|parent| parent.0),
            ids(tree.children(event)),
            (tree.device_events(event).len() <= MOST_DEVICE_EVENTS)
                .then(|| ids(&device_events_by_start(tree, event))),
            ids(tree.backward_events(event)),
            tree.forward_event(event).map(|forward| forward.0),
            // Of two arguments of one name, the later one counts.
            own.chain(set.map(|(name, value)| (name.clone(), to_json(value)))).collect(),
        ));
    }

    /// Events by sequence number, of this number and a batch of those after it.
    fn sequence_numbers(&mut self, first: i64) -> String {
        let events = self.tree.trace().events();
        let numbered = self.numbered.get_or_insert_with(|| {
            let mut numbered: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
            for event in events.ids() {
                if let Some(number) = events.sequence_number(event) {
                    numbered.entry(number).or_default().push(event.0);
                }
            }
            numbered
        });
        text(&numbered.range(first..).take(BATCH).collect::<BTreeMap<_, _>>())
    }

    // ---- Edits ----

    /// Takes edits up, each after making sure that it can be carried out; gives what they insert.
    fn edits(&mut self, edits: &[Json]) -> Result<String, String> {
        let mut inserted = Vec::new();
        for edit in edits {
            inserted.extend(self.edit(edit.as_array().map_or(&[][..], Vec::as_slice))?);
        }
        self.numbered = None;
        Ok(json!({ "inserted": ids(&inserted), "count": self.next_event().0 }).to_string())
    }

    fn edit(&mut self, edit: &[Json]) -> Result<Option<EventId>, String> {
        let kind = edit.first().and_then(Json::as_str).unwrap_or_default();
        let event = |position: usize| {
            edit.get(position).and_then(event_id).ok_or_else(|| "expected an event of the tree".to_owned())
        };
        let word = |position: usize| edit.get(position).and_then(Json::as_str).unwrap_or_default();
        match kind {
            "above" => self.insert(Position::Above(event(1)?), edit).map(Some),
            "isolate" => self.insert(Position::Isolating(event(1)?), edit).map(Some),
            "around_children" => self.insert(Position::AroundChildren(event(1)?), edit).map(Some),
            "around" => {
                let children = edit.get(1).and_then(Json::as_array).into_iter().flatten();
                let children: Option<Vec<EventId>> = children.map(event_id).collect();
                let children = children.ok_or_else(|| "children must be numbers of events".to_owned())?;
                self.insert(Position::Around(children), edit).map(Some)
            }
            "rename" => {
                let event = event(1)?;
                self.reserved(event)?;
                self.waiting.push(Edit::Rename(event, word(2).to_owned()));
                Ok(None)
            }
            "charge" => self.charge_with_subtree(event(1)?).map(|()| None),
            "link" => self.link_backward(event(1)?, event(2)?).map(|()| None),
            "arg" => {
                let value = from_json(edit.get(3).unwrap_or(&Json::Null))?;
                self.set_attribute(event(1)?, word(2), value).map(|()| None)
            }
            other => Err(format!("there is no edit {other:?}")),
        }
    }

    /// Makes sure that the event is in the trace or waits for its insertion.
    fn reserved(&self, event: EventId) -> Result<(), String> {
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
    fn insert(&mut self, position: Position, edit: &[Json]) -> Result<EventId, String> {
        let name = edit.get(2).and_then(Json::as_str).unwrap_or_default().to_owned();
        let given = Given::read(edit.get(3).unwrap_or(&Json::Null))?;
        let around: &[EventId] = match &position {
            Position::Above(event) | Position::Isolating(event) | Position::AroundChildren(event) => {
                std::slice::from_ref(event)
            }
            Position::Around(children) => children,
        };
        for &event in around.iter().chain(&given.donor) {
            self.reserved(event)?;
        }
        if around.iter().any(|&event| self.waits(event)) {
            // What hangs below an operator that waits itself is known only then.
            self.current()?;
        }
        if let Some(refusal) = self.refusal(&position) {
            return Err(refusal.to_string());
        }
        let inserted = self.next_event();
        self.waiting.push(Edit::Insert(position, name, given));
        self.operators_waiting += 1;
        Ok(inserted)
    }

    /// Why nothing can be inserted there.
    fn refusal(&self, position: &Position) -> Option<EditError> {
        let label = |event| EventLabel::new(self.tree.trace(), event);
        match *position {
            Position::Above(event) | Position::AroundChildren(event) if !self.tree.is_host(event) => {
                Some(EditError::NotAHostEvent(label(event)))
            }
            Position::Isolating(event) if self.tree.launch(event).is_none() => {
                Some(EditError::NotLaunched(label(event)))
            }
            Position::AroundChildren(event) if !self.has_host_children(event) => {
                Some(EditError::NoChildren(label(event)))
            }
            _ => None,
        }
    }

    fn has_host_children(&self, event: EventId) -> bool {
        let events = self.tree.trace().events();
        self.tree.children(event).iter().any(|&child| !events.category(child).is_device())
    }

    fn charge_with_subtree(&mut self, operator: EventId) -> Result<(), String> {
        self.reserved(operator)?;
        if self.waits(operator) {
            self.waiting.push(Edit::ChargeWithSubtree(operator));
            return Ok(());
        }
        self.tree.edit().charge_with_subtree(operator).map_err(|error| error.to_string())
    }

    /// Links of events that are in the tree need none of the edits that wait.
    fn link_backward(&mut self, forward: EventId, backward: EventId) -> Result<(), String> {
        for event in [forward, backward] {
            self.reserved(event)?;
            if self.waits(event) {
                self.current()?;
            }
        }
        self.tree.edit().link_backward(forward, backward).map_err(|error| error.to_string())
    }

    /// Gives an event a further argument, in place of one of the same name.
    fn set_attribute(&mut self, event: EventId, name: &str, value: Value) -> Result<(), String> {
        self.reserved(event)?;
        let attributes = self.attributes.entry(event).or_default();
        match attributes.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => attributes.push((name.to_owned(), value)),
        }
        Ok(())
    }
}

fn row_id(trace: &Trace, id: RowId) -> Json {
    match id {
        RowId::Number(number) => number.into(),
        RowId::Text(text) => trace.text(text).into(),
        RowId::Missing => Json::Null,
    }
}

fn ids(events: &[EventId]) -> Vec<u32> {
    events.iter().map(|event| event.0).collect()
}

/// JSON of what has nothing that JSON lacks.
fn text(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).unwrap_or_else(|_| "null".to_owned())
}

fn device_events_by_start(tree: &TraceTree, id: EventId) -> Vec<EventId> {
    let mut events = tree.device_events(id).to_vec();
    events.sort_by_key(|&event| (tree.trace().events().start(event), event));
    events
}
