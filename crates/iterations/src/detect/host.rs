//! The calls of a program's main thread, one after the other, with the device work that each launched.

use gpu_timeline::SortFew;
use hashbrown::HashMap;
use perf_models::ParameterUpdate;
use trace_ingest::{Category, EventId, EventTable, RowId, StringId, Trace, TrackId};
use trace2tree::{CaptureSpan, TraceTree, capture_spans};

use super::names::Names;

/// A call that lies in no other: an operator, or a launch outside of all operators. Where nothing of the host was
/// recorded, a device event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) event: EventId,
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// Equal for calls of one name that launch the same kind of work.
    pub(crate) symbol: u32,
    /// Time of the device events that it launched; of the call itself where the recording has no device work.
    pub(crate) work: i64,
    pub(crate) update: ParameterUpdate,
    pub(crate) backward: bool,
    /// The host waits for the device in it, or it copies between them.
    pub(crate) touches_host: bool,
    /// It launches a captured graph.
    pub(crate) graph_launch: bool,
    /// It multiplies matrices or launches a captured graph, as a pass over a model does.
    pub(crate) runs_model: bool,
    /// It copies from the device to the host.
    pub(crate) to_host: bool,
    /// A language model may choose tokens in it.
    pub(crate) chooses: bool,
    /// The host waits in it and launches nothing else.
    pub(crate) waits: bool,
    /// Autograd recorded it.
    pub(crate) sequence: Option<i64>,
}

/// What one process did.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) pid: RowId,
    /// The thread of the program's loop; `None` where only device events were recorded.
    pub(crate) main: Option<TrackId>,
    /// Threads whose marks may be the loop's, for they launch some of its work: `main`, then those with the most.
    pub(crate) launching: Vec<TrackId>,
    /// Calls of the main thread by start.
    pub(crate) items: Vec<Item>,
    /// Functions of backward passes on any thread, by start.
    pub(crate) backward: Vec<Item>,
    /// Work of all threads.
    pub(crate) work: Work,
    /// Whether most of the main thread's calls are operators.
    pub(crate) has_operators: bool,
    /// First moment of anything recorded of this process on the host.
    pub(crate) begin: i64,
    /// When the main thread captured graphs, by start.
    pub(crate) captures: Vec<CaptureSpan>,
}

/// Work by the moment at which it was launched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    starts: Vec<i64>,
    /// Work before each start; one entry more than starts.
    before: Vec<i64>,
}

impl Process {
    /// The symbols of the calls, numbered by their first place.
    pub(crate) fn symbols(&self) -> Vec<u32> {
        let bound = self.items.iter().map(|item| item.symbol as usize + 1).max().unwrap_or(0);
        let mut numbers: Vec<Option<u32>> = vec![None; bound];
        let mut next = 0..;
        let number =
            |item: &Item| *numbers[item.symbol as usize].get_or_insert_with(|| next.next().unwrap_or(0));
        self.items.iter().map(number).collect()
    }
}

impl Work {
    /// Start and length of each.
    pub(crate) fn new(mut launched: Vec<(i64, i64)>) -> Work {
        // One sorted run per thread, which only a stable sort merges.
        launched.sort();
        let mut total = 0i64;
        let mut before = vec![0];
        before.extend(launched.iter().map(|&(_, work)| {
            total = total.saturating_add(work);
            total
        }));
        Work { starts: launched.into_iter().map(|(start, _)| start).collect(), before }
    }

    pub(crate) fn total(&self) -> i64 {
        self.before.last().copied().unwrap_or(0)
    }

    /// Work launched from `start` on and before `end`.
    pub(crate) fn between(&self, start: i64, end: i64) -> i64 {
        let at = |time: i64| self.before[self.starts.partition_point(|&start| start < time)];
        (at(end) - at(start)).max(0)
    }

    /// Share of all work that these spans launched; they do not overlap. 0 where there is none.
    pub(crate) fn share(&self, spans: impl Iterator<Item = (i64, i64)>) -> f64 {
        let covered: i64 = spans.map(|(start, end)| self.between(start, end)).sum();
        covered as f64 / self.total().max(1) as f64
    }
}

/// Numbers for distinct values.
#[derive(Default)]
struct Symbols(HashMap<(u64, u64), u32>);

impl Symbols {
    fn get(&mut self, kind: u64, what: u64) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry((kind, what)).or_insert(next)
    }
}

/// What each process did, the one with the most work first.
pub(crate) fn processes(tree: &TraceTree, names: &mut Names<'_>) -> Vec<Process> {
    let trace = tree.trace();
    let events = trace.events();
    let has_launches = !tree.linked_device_events().is_empty();
    let mut symbols = Symbols::default();
    let mut by_track: Vec<Vec<Item>> = Vec::with_capacity(trace.tracks().len());
    for calls in outermost_calls(tree, names) {
        let items = calls.into_iter().map(|event| item(tree, names, &mut symbols, event, has_launches));
        by_track.push(items.collect());
    }
    let mut by_process: Vec<(RowId, Vec<TrackId>)> = Vec::new();
    for track in trace.tracks().ids().filter(|track| !by_track[track.index()].is_empty()) {
        let pid = trace.tracks().get(track).pid;
        match by_process.iter_mut().find(|(known, _)| *known == pid) {
            Some((_, tracks)) => tracks.push(track),
            None => by_process.push((pid, vec![track])),
        }
    }
    let mut begins: HashMap<RowId, i64> = HashMap::new();
    for event in tree.roots().iter().copied() {
        let begin = begins.entry(trace.tracks().get(events.track(event)).pid).or_insert(i64::MAX);
        *begin = events.start(event).min(*begin);
    }
    let captures = capture_spans(trace);
    let mut found: Vec<Process> = by_process
        .into_iter()
        .filter_map(|(pid, tracks)| {
            let begin = begins.get(&pid).copied().unwrap_or(0);
            process(pid, begin, &tracks, &mut by_track, &captures, events)
        })
        .collect();
    let is_host_empty = found.iter().all(|process| process.items.len() < 3);
    if is_host_empty && !has_launches {
        found.extend(devices(tree, names, &mut symbols));
    }
    found.sort_few_by_key(|process| std::cmp::Reverse(process.work.total()));
    found
}

/// Operators that lie in no other, and calls that launch or wait outside of all operators, by start on each thread.
fn outermost_calls(tree: &TraceTree, names: &mut Names<'_>) -> Vec<Vec<EventId>> {
    let events = tree.trace().events();
    let mut by_track: Vec<Vec<EventId>> = vec![Vec::new(); tree.trace().tracks().len()];
    let mut add = |event: EventId| by_track[events.track(event).index()].push(event);
    // Ranges that an old recorder wrote as operators are looked into.
    let mut pending: Vec<EventId> = Vec::new();
    for &root in tree.operator_roots() {
        pending.push(root);
        while let Some(event) = pending.pop() {
            let is_range = events.category(event) == Category::CPU_OP && names.get(events.name(event)).range;
            if !is_range || !push_operators_below(tree, event, &mut pending) {
                add(event);
            }
        }
    }
    for &event in tree.host_events() {
        let is_outside = events.category(event).is_launch_api()
            && tree.parent(event).is_none_or(|above| !events.category(above).is_launch_api())
            && match tree.operator(event) {
                None => true,
                Some(operator) => names.get(events.name(operator)).range,
            };
        if is_outside && (!tree.device_events(event).is_empty() || names.get(events.name(event)).waits) {
            add(event);
        }
    }
    for calls in &mut by_track {
        // Two runs, each nearly in order, which only a stable sort merges.
        calls.sort_by_key(|&event| (events.start(event), event));
        calls.dedup();
    }
    by_track
}

/// Adds the nearest operators below a range; whether there are any.
fn push_operators_below(tree: &TraceTree, range: EventId, pending: &mut Vec<EventId>) -> bool {
    let events = tree.trace().events();
    let before = pending.len();
    let mut below = tree.host_subtree(range).get(1..).unwrap_or_default();
    while let Some((&next, rest)) = below.split_first() {
        below = match events.category(next) {
            Category::CPU_OP => {
                pending.push(next);
                below.get(tree.host_subtree(next).len().max(1)..).unwrap_or_default()
            }
            _ => rest,
        };
    }
    pending.len() > before
}

fn item(
    tree: &TraceTree,
    names: &mut Names<'_>,
    symbols: &mut Symbols,
    event: EventId,
    has_launches: bool,
) -> Item {
    let events = tree.trace().events();
    let launched = tree.device_events(event);
    let own = names.get(events.name(event));
    let graph_launch = names.is_graph_launch(events.name(event));
    let (mut update, mut crosses, mut to_host, mut work) = (own.update, false, false, 0i64);
    let mut runs_model = own.multiplies || graph_launch;
    let mut last: Option<StringId> = None;
    for &device_event in launched {
        work = work.saturating_add(events.duration(device_event));
        // Runs of one kernel are asked about once.
        if last.replace(events.name(device_event)) != Some(events.name(device_event)) {
            let kernel = names.get(events.name(device_event));
            crosses |= kernel.crosses;
            to_host |= kernel.to_host;
            runs_model |= kernel.multiplies;
            update = update.max(match kernel.update {
                ParameterUpdate::Yes => ParameterUpdate::Yes,
                _ => ParameterUpdate::No,
            });
        }
    }
    let is_operator = events.category(event) == Category::CPU_OP;
    let symbol = match (is_operator, launched.first()) {
        (true, first) => symbols.get(u64::from(first.is_some()), events.name(event).index() as u64),
        // One call may launch any kernel.
        (false, Some(&first)) => {
            let length = if graph_launch { launched.len() as u64 } else { 0 };
            symbols.get(2 + length, events.name(first).index() as u64)
        }
        (false, None) => symbols.get(u64::MAX, events.name(event).index() as u64),
    };
    let in_range = |number: &i64| (0..i64::MAX / 2).contains(number);
    Item {
        event,
        start: events.start(event),
        end: events.end(event),
        symbol,
        work: if has_launches { work } else { events.duration(event) },
        update: if own.backward { ParameterUpdate::No } else { update },
        backward: own.backward,
        touches_host: own.waits || crosses,
        waits: own.waits,
        graph_launch,
        runs_model,
        to_host,
        chooses: own.chooses && is_choice_of_token(tree.trace(), event),
        sequence: events.sequence_number(event).filter(in_range),
    }
}

/// Least number of logits among which a choice is one of a token.
const LEAST_VOCABULARY: i64 = 8192;

/// Whether the choice may be one of a token, by the number of values where it was recorded. Experts and classes are
/// chosen among fewer.
fn is_choice_of_token(trace: &Trace, event: EventId) -> bool {
    match last_dimension(trace, event) {
        Some(values) => values >= LEAST_VOCABULARY,
        None => !trace.name(event).contains("topk"),
    }
}

/// The last dimension of the first argument, where it was recorded.
pub(crate) fn last_dimension(trace: &Trace, event: EventId) -> Option<i64> {
    let dims = trace.argument(event, |signature| signature.dims)?;
    dims.as_list()?.first()?.as_list()?.last()?.as_int()
}

/// The part of a process's work, one in so many, that a thread launches whose marks may be those of the loop.
const LEAST_LAUNCHED: i64 = 20;

fn process(
    pid: RowId,
    begin: i64,
    tracks: &[TrackId],
    by_track: &mut [Vec<Item>],
    captures: &[CaptureSpan],
    events: &EventTable,
) -> Option<Process> {
    let items_of = |track: &TrackId| &by_track[track.index()];
    // Autograd has threads of its own where there is a device.
    let is_autograd = |track: &&TrackId| {
        let items = items_of(track);
        2 * items.iter().filter(|item| item.backward).count() > items.len()
    };
    let work_of = |track: &&TrackId| {
        let items = items_of(track);
        (items.iter().map(|item| item.work).sum::<i64>(), items.len())
    };
    let main = tracks.iter().filter(|track| !is_autograd(track)).max_by_key(work_of);
    let main = *main.or_else(|| tracks.iter().max_by_key(work_of))?;
    let work = tracks.iter().flat_map(|track| items_of(track).iter().map(|item| (item.start, item.work)));
    let work = Work::new(work.collect());
    let launches = |track: &&TrackId| **track == main || LEAST_LAUNCHED * work_of(track).0 >= work.total();
    let mut launching: Vec<TrackId> = tracks.iter().filter(launches).copied().collect();
    launching.sort_few_by_key(|track| (*track != main, std::cmp::Reverse(work_of(&track))));
    let mut backward: Vec<Item> = tracks
        .iter()
        .flat_map(|track| items_of(track).iter().filter(|item| item.backward).copied())
        .collect();
    backward.sort_by_key(|item| (item.start, item.event));
    let items = std::mem::take(&mut by_track[main.index()]);
    let operators = items.iter().filter(|item| events.category(item.event) == Category::CPU_OP).count();
    Some(Process {
        pid,
        main: Some(main),
        launching,
        has_operators: 2 * operators >= items.len(),
        items,
        backward,
        work,
        begin,
        captures: captures.iter().filter(|capture| capture.track == main).copied().collect(),
    })
}

/// What each device did, its busiest stream as the main thread.
fn devices(tree: &TraceTree, names: &mut Names<'_>, symbols: &mut Symbols) -> Vec<Process> {
    let trace = tree.trace();
    let events = trace.events();
    let mut by_stream: Vec<Vec<Item>> = vec![Vec::new(); trace.tracks().len()];
    for event in events.ids().filter(|&event| events.category(event).is_device()) {
        let facts = names.get(events.name(event));
        let item = Item {
            event,
            start: events.start(event),
            end: events.end(event),
            symbol: symbols.get(2, events.name(event).index() as u64),
            work: events.duration(event),
            update: facts.update,
            backward: false,
            touches_host: facts.crosses,
            waits: false,
            graph_launch: false,
            runs_model: facts.multiplies,
            to_host: facts.to_host,
            chooses: facts.chooses,
            sequence: None,
        };
        by_stream[events.track(event).index()].push(item);
    }
    let mut device_streams: Vec<(RowId, Vec<TrackId>)> = Vec::new();
    for track in trace.tracks().ids().filter(|track| !by_stream[track.index()].is_empty()) {
        let pid = trace.tracks().get(track).pid;
        match device_streams.iter_mut().find(|(known, _)| *known == pid) {
            Some((_, streams)) => streams.push(track),
            None => device_streams.push((pid, vec![track])),
        }
    }
    let mut devices = Vec::new();
    for (pid, streams) in device_streams {
        let items_of = |stream: &TrackId| by_stream[stream.index()].iter();
        let work = streams.iter().flat_map(items_of).map(|item| (item.start, item.work)).collect();
        let busy = |stream: &&TrackId| items_of(stream).map(|item| item.work).sum::<i64>();
        let Some(&busiest) = streams.iter().max_by_key(busy) else { continue };
        let mut items = std::mem::take(&mut by_stream[busiest.index()]);
        // A stream of one kernel tells no cycle; with the others it may.
        let is_one = |pair: &[Item]| pair[0].symbol == pair[1].symbol;
        if items.windows(2).all(is_one) {
            items.extend(streams.iter().flat_map(|stream| std::mem::take(&mut by_stream[stream.index()])));
        }
        items.sort_by_key(|item| (item.start, item.event));
        let begin = items.first().map_or(0, |item| item.start);
        let work = Work::new(work);
        devices.push(Process {
            pid,
            main: None,
            launching: Vec::new(),
            items,
            backward: Vec::new(),
            work,
            has_operators: false,
            begin,
            captures: Vec::new(),
        });
    }
    devices
}
