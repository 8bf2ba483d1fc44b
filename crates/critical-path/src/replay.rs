//! What if: the recording is replayed with some operators or kernels shorter or longer. Every moment of the host and of
//! the device comes as early as what it waits for allows.
//!
//! Held fixed: the order of calls on each thread and of work on each stream, which work waits for which, how long the
//! host takes where nothing was recorded, and the latency of whatever each event waited for last. Where an event also
//! waited for something that came earlier, the latency is the median of those where that came last, so that it decides
//! once what came last is gone. A launch that waited for room in a full queue waits as long as before
//! ([`Fault::FullQueue`](crate::Fault::FullQueue) says so), and kernels that slow each other down are not modelled.

use gpu_timeline::{lower_median, upper_median};
use hashbrown::HashMap;
use trace_ingest::{EventId, PerString};
use trace2tree::HostWait;

use crate::graph::{Edge, Graph};
use crate::recorded::{LONG_GAP, MOST_TRIED, NONE, Recorded, WaitsFor, some};

/// Operators and kernels that are to take another time.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// Name of an operator, call or kernel; `*` stands for any characters. With an operator come all that it calls
    /// and all device work that it launches.
    pub name: String,
    /// What their time is multiplied with; 0 takes it away.
    pub factor: f64,
}

impl Scaling {
    fn matches(&self, name: &str) -> bool {
        let mut parts = self.name.split('*');
        let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }
}

/// How long the recording takes under a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replayed {
    /// From the first start to the last end, in the trace's unit.
    pub duration: i64,
    /// Operators, calls and kernels of that name.
    pub matched: usize,
}

/// What an edge's time belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    /// An event, with which it is scaled.
    Of(EventId),
    /// Nothing that can be scaled.
    Fixed,
}

/// Why work starts no earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reason {
    Launch { is_graph: bool },
    Stream,
    Graph,
    Awaited,
    Inferred,
}

/// A recording made ready to be replayed.
pub struct Replay<'r, 't> {
    recorded: &'r Recorded<'t>,
    graph: Graph<Share>,
}

/// Nodes of the graph: the first is the start of the recording; then those of threads; then start and end of each work.
struct Nodes {
    times: Vec<i64>,
    /// By thread: its moments and their nodes.
    thread_moments: HashMap<u32, Vec<(i64, u32)>>,
    first_work: u32,
}

impl Nodes {
    fn work_start(&self, work: u32) -> u32 {
        self.first_work + 2 * work
    }

    fn work_end(&self, work: u32) -> u32 {
        self.first_work + 2 * work + 1
    }

    /// The node of a moment of a thread at which something starts or ends; else that before it.
    fn node_at(&self, thread: u32, time: i64) -> u32 {
        let moments = self.thread_moments.get(&thread).map_or(&[][..], Vec::as_slice);
        let before = moments.partition_point(|&(moment, _)| moment <= time);
        before.checked_sub(1).map_or(0, |last| moments[last].1)
    }
}

impl<'r, 't> Replay<'r, 't> {
    /// Finds what each moment of a recording waits for.
    #[must_use]
    pub fn new(recorded: &'r Recorded<'t>) -> Self {
        let mut nodes =
            Nodes { times: vec![recorded.time.start], thread_moments: HashMap::new(), first_work: 0 };
        for &thread in &recorded.threads.threads {
            let mut moments: Vec<(i64, u32)> = Vec::new();
            for segment in recorded.threads.of(thread) {
                for time in [segment.start, segment.end] {
                    if moments.last().is_none_or(|&(last, _)| last < time) {
                        moments.push((time, nodes.times.len() as u32));
                        nodes.times.push(time);
                    }
                }
            }
            nodes.thread_moments.insert(thread, moments);
        }
        nodes.first_work = nodes.times.len() as u32;
        for work in &recorded.works {
            nodes.times.extend([work.start, work.end]);
        }
        let mut edges = Vec::new();
        add_threads(recorded, &nodes, &mut edges);
        add_works(recorded, &nodes, &mut edges);
        let graph = Graph::new(nodes.times.len(), edges);
        Replay { recorded, graph }
    }

    /// Dependencies that were left out because they close a circle.
    #[must_use]
    pub fn circular(&self) -> u64 {
        self.graph.circular
    }

    /// How long the recording takes with these changes, all at once.
    #[must_use]
    pub fn with(&self, changes: &[Scaling]) -> Replayed {
        let (factors, matched) = self.factors(changes);
        let start = self.recorded.time.start;
        let mut times = vec![start; self.graph.nodes()];
        for &node in &self.graph.order {
            let mut time = start;
            for position in self.graph.incoming(node) {
                let Edge { from, weight, kind, .. } = self.graph.edges[position];
                let weight = match kind {
                    Share::Of(event) if factors[event.index()] != 1.0 => {
                        (weight as f64 * factors[event.index()]).round() as i64
                    }
                    _ => weight,
                };
                time = time.max(times[from as usize].saturating_add(weight));
            }
            times[node as usize] = time;
        }
        let end = times.into_iter().max().unwrap_or(start);
        // What lies behind the last event of a window stays behind it.
        let last = self.recorded.last_end().unwrap_or(start);
        Replayed { duration: end - start + (self.recorded.time.end - last).max(0), matched }
    }

    /// By event what its time is multiplied with, and how many events have a name that is meant.
    fn factors(&self, changes: &[Scaling]) -> (Vec<f64>, usize) {
        let (tree, trace) = (self.recorded.tree, self.recorded.trace());
        let mut names = PerString::new(trace.strings(), |name: &str| {
            changes.iter().find(|change| change.matches(name)).map(|change| change.factor)
        });
        let mut factors = vec![1.0; trace.events().len()];
        let mut matched = 0;
        // Callers come before callees.
        for &event in tree.host_events() {
            let own = *names.get(trace.events().name(event));
            matched += usize::from(own.is_some() && self.recorded.has(event));
            let inherited = || tree.parent(event).map(|parent| factors[parent.index()]);
            factors[event.index()] = own.or_else(inherited).unwrap_or(1.0);
        }
        for work in &self.recorded.works {
            let own = *names.get(trace.events().name(work.event));
            matched += usize::from(own.is_some());
            let inherited = || some(work.launch).map(|call| factors[self.recorded.calls[call].event.index()]);
            factors[work.event.index()] = own.or_else(inherited).unwrap_or(1.0);
        }
        (factors, matched)
    }
}

fn push(edges: &mut Vec<Edge<Share>>, from: u32, to: u32, weight: i64, kind: Share) {
    edges.push(Edge { from, to, weight, kind });
}

/// What the moments of threads wait for: what comes before on the thread, the device, other threads.
fn add_threads(recorded: &Recorded<'_>, nodes: &Nodes, edges: &mut Vec<Edge<Share>>) {
    let long_gap = recorded.nanoseconds(LONG_GAP);
    // By thread and segment: when the stretch of work without long gaps that it is of began.
    let mut stretches: HashMap<u32, Vec<i64>> = HashMap::new();
    for &thread in &recorded.threads.threads {
        let mut starts: Vec<i64> = Vec::new();
        let mut last_end = None;
        for segment in recorded.threads.of(thread) {
            let start = match (last_end, starts.last()) {
                (Some(end), Some(&start)) if segment.start - end <= long_gap => start,
                _ => segment.start,
            };
            starts.push(start);
            last_end = Some(segment.end);
        }
        stretches.insert(thread, starts);
    }
    let mut calls: Vec<(i64, u32, Vec<u32>, Option<i64>)> = Vec::new();
    let mut returns: Vec<i64> = Vec::new();
    for &thread in &recorded.threads.threads {
        let mut before: Option<(i64, u32)> = None;
        for segment in recorded.threads.of(thread) {
            let start = nodes.node_at(thread, segment.start);
            let (from_time, from) = before.unwrap_or((recorded.time.start, 0));
            if from != start {
                let gap = segment.start - from_time;
                // Another thread took over in the gap, and this one goes on when that is done.
                let handed = Some(gap).filter(|&gap| gap > long_gap).and_then(|_| {
                    let (other, end) = recorded.threads.last_busy(segment.start)?;
                    let last = recorded.threads.before(other, end).checked_sub(1)?;
                    let stretch = stretches.get(&other)?[last];
                    (other != thread && stretch >= from_time && end > from_time && end <= segment.start)
                        .then(|| (nodes.node_at(other, end), segment.start - end))
                });
                match handed {
                    Some((other, lag)) => {
                        push(edges, other, start, lag, Share::Fixed);
                        push(edges, from, start, 0, Share::Fixed);
                    }
                    None => push(edges, from, start, gap, Share::Fixed),
                }
            }
            let end = nodes.node_at(thread, segment.end);
            before = Some((segment.end, end));
            let length = segment.end - segment.start;
            let sources = recorded.sources_of_call(segment.event, segment.end);
            // A call that waited: what it does itself takes no longer than what it took after the wait.
            let wait =
                sources.iter().map(|&work| (segment.end - recorded.works[work as usize].end).max(0)).min();
            let waited = wait.filter(|&after| after < length);
            returns.extend(waited);
            push(edges, start, end, waited.unwrap_or(length), Share::Of(segment.event));
            if !sources.is_empty() {
                calls.push((segment.end, end, sources, waited));
            }
        }
    }
    // A call that did not have to wait returns from a wait as others do.
    let usual = upper_median(returns).unwrap_or(0);
    for (time, end, sources, waited) in calls {
        for work in sources {
            let after = (time - recorded.works[work as usize].end).max(0);
            push(edges, nodes.work_end(work), end, after.min(waited.unwrap_or(usual)), Share::Fixed);
        }
    }
}

impl Recorded<'_> {
    /// Last end of what is recorded.
    pub(crate) fn last_end(&self) -> Option<i64> {
        let works = self.works.iter().map(|work| work.end);
        works.chain(self.threads.extent().map(|(_, end)| end)).max()
    }

    /// Whether an operator or call lies in it.
    fn has(&self, event: EventId) -> bool {
        let events = self.trace().events();
        events.start(event) < self.time.end && events.end(event) > self.time.start
    }

    /// The work that a call which ends at `end` has to wait for; it ended by then, as far as the clocks can tell.
    pub(crate) fn sources_of_call(&self, event: EventId, end: i64) -> Vec<u32> {
        let Some(call) = self.call(event).filter(|call| call.end == end) else { return Vec::new() };
        // Clocks of host and device differ by some microseconds, so that work may seem to end after a call that waited for it.
        let latest = end + self.nanoseconds(LONG_GAP);
        let has_ended = |work: &u32| self.works[*work as usize].end <= latest;
        let whole = |work: u32| self.whole_of(&work).to_vec();
        // The last work of a stream that was launched before the call.
        let last_on = |stream: usize| {
            let works = self.on_stream.get(stream);
            let started = works.partition_point(|&work| self.works[work as usize].start < end);
            works[..started].iter().rev().take(MOST_TRIED).copied().find(|&work| {
                let launch = some(self.works[work as usize].launch);
                launch.is_none_or(|launch| self.calls[launch].start < call.start)
            })
        };
        let stream_work = |is_meant: &dyn Fn(i64) -> bool| -> Vec<u32> {
            let streams = self.streams.iter().enumerate().filter(|(_, stream)| is_meant(stream.device));
            streams.filter_map(|(stream, _)| last_on(stream)).flat_map(whole).filter(has_ended).collect()
        };
        match (call.waits_for, call.blocking) {
            (WaitsFor::Device(device), _) => stream_work(&|other| other == device),
            (WaitsFor::Stream(stream), _) => {
                last_on(stream as usize).into_iter().flat_map(whole).filter(has_ended).collect()
            }
            (WaitsFor::Work(work), _) => whole(work).into_iter().filter(has_ended).collect(),
            (WaitsFor::Nothing, _) | (WaitsFor::Unrecorded, None) => Vec::new(),
            (WaitsFor::Unrecorded, Some(HostWait::Device)) => stream_work(&|_| true),
            (WaitsFor::Unrecorded, Some(HostWait::Copy | HostWait::AsyncCopy)) => {
                let position = self.call_position(call);
                let own = position.map_or(&[][..], |position| self.launched_by.get(position));
                own.iter().copied().filter(has_ended).collect()
            }
            // What it waits for is not recorded: that which ended last while it waited.
            (WaitsFor::Unrecorded, Some(_)) => {
                let found =
                    stream_work(&|_| true).into_iter().map(|work| (self.works[work as usize].end, work));
                found.filter(|&(end, _)| end > call.start).max().map(|(_, work)| work).into_iter().collect()
            }
        }
    }
}

/// What work waits for: its launch, the stream, other nodes of its graph, events of other streams.
fn add_works(recorded: &Recorded<'_>, nodes: &Nodes, edges: &mut Vec<Edge<Share>>) {
    let long_gap = recorded.nanoseconds(LONG_GAP);
    let trace = recorded.trace();
    let mut is_graph_launch = PerString::new(trace.strings(), trace2tree::is_graph_launch);
    let mut reasons: Vec<Vec<(Reason, u32, i64)>> = Vec::with_capacity(recorded.works.len());
    let mut last_on_stream = vec![NONE; recorded.streams.len()];
    for (work, position) in recorded.works.iter().zip(0..) {
        let mut work_reasons: Vec<(Reason, u32, i64)> = Vec::new();
        if let Some(launch) = some(work.launch) {
            let call = recorded.calls[launch];
            let node = nodes.node_at(call.thread, call.start);
            let is_graph = *is_graph_launch.get(recorded.name(call.event));
            work_reasons.push((Reason::Launch { is_graph }, node, nodes.times[node as usize]));
        }
        let in_graph = recorded.graph_predecessors.get(position as usize);
        work_reasons.extend(in_graph.iter().map(|&other| {
            let end = recorded.works[other as usize].end;
            (Reason::Graph, nodes.work_end(other), end)
        }));
        let last = &mut last_on_stream[work.stream as usize];
        if *last != NONE && in_graph.is_empty() {
            // Nodes of one replay wait for each other only where that is recorded.
            let is_other_launch = |other: u32| {
                work.launch == NONE
                    || recorded.works[other as usize].launch != work.launch
                    || recorded.last_of_replay.get(work.launch as usize).is_empty()
            };
            for &other in recorded.whole_of(last).iter().filter(|&&other| is_other_launch(other)) {
                let end = recorded.works[other as usize].end;
                if end - work.start <= long_gap / 10 {
                    work_reasons.push((Reason::Stream, nodes.work_end(other), end));
                }
            }
        }
        *last = position;
        let awaited =
            recorded.awaited.get(position as usize).iter().flat_map(|other| recorded.whole_of(other));
        work_reasons.extend(awaited.filter(|&&other| recorded.works[other as usize].end <= work.start).map(
            |&other| {
                let end = recorded.works[other as usize].end;
                (Reason::Awaited, nodes.work_end(other), end)
            },
        ));
        reasons.push(work_reasons);
    }

    let typical = typical_latencies(recorded, &reasons);
    let mut ends: Vec<(i64, u32)> = recorded.works.iter().zip(0..).map(|(work, at)| (work.end, at)).collect();
    ends.sort_unstable();
    for ((work, position), mut work_reasons) in recorded.works.iter().zip(0..).zip(reasons) {
        let start = nodes.work_start(position);
        push(edges, start, nodes.work_end(position), work.end - work.start, Share::Of(work.event));
        let usual = |reason: Reason| typical.get(&reason).copied().unwrap_or(0);
        let unexplained = |&(reason, _, time): &(Reason, u32, i64)| work.start - time - usual(reason);
        // Nothing known explains when it started: the last work of another stream that ended before.
        if work_reasons.iter().map(unexplained).min().is_none_or(|least| least > long_gap) {
            let before = ends.partition_point(|&(end, _)| end <= work.start);
            let device = recorded.streams[work.stream as usize].device;
            let other = ends[..before].iter().rev().take(MOST_TRIED).copied().find(|&(_, other)| {
                let stream = recorded.works[other as usize].stream;
                stream != work.stream
                    && recorded.streams[stream as usize].device == device
                    && other < position
            });
            let latest = work_reasons.iter().map(|&(_, _, time)| time).max();
            if let Some((end, other)) = other.filter(|&(end, _)| latest.is_none_or(|latest| end > latest)) {
                work_reasons.push((Reason::Inferred, nodes.work_end(other), end));
            }
        }
        let Some(decisive) = work_reasons.iter().map(unexplained).min() else {
            push(edges, 0, start, work.start - recorded.time.start, Share::Fixed);
            continue;
        };
        for reason in &work_reasons {
            let &(kind, node, time) = reason;
            let slack = work.start - time;
            let lag = if unexplained(reason) == decisive { slack } else { slack.min(usual(kind)) };
            push(edges, node, start, lag, Share::Fixed);
        }
    }
}

/// What each reason usually takes to the start of the work: the median over the work that waited for it last. Which that
/// was, the least that each takes where it came last in time decides: a launch takes longer than a stream to go on, so that
/// the launch may be what work waited for although its stream was busy a little longer.
fn typical_latencies(recorded: &Recorded<'_>, reasons: &[Vec<(Reason, u32, i64)>]) -> HashMap<Reason, i64> {
    let mut least: HashMap<Reason, i64> = HashMap::new();
    for (work, work_reasons) in recorded.works.iter().zip(reasons) {
        if let Some(&(reason, _, time)) = work_reasons.iter().max_by_key(|&&(_, _, time)| time) {
            let latency = (work.start - time).max(0);
            least.entry(reason).and_modify(|known| *known = latency.min(*known)).or_insert(latency);
        }
    }
    let mut latencies: HashMap<Reason, Vec<i64>> = HashMap::new();
    for (work, work_reasons) in recorded.works.iter().zip(reasons) {
        let earliest = |&&(reason, _, time): &&(Reason, u32, i64)| time + least.get(&reason).unwrap_or(&0);
        if let Some(&(reason, _, time)) = work_reasons.iter().max_by_key(earliest) {
            latencies.entry(reason).or_default().push((work.start - time).max(0));
        }
    }
    // Of two, the shorter: the longer one may wait for something that nobody recorded.
    let median = |(reason, values)| Some((reason, lower_median(values)?));
    let mut typical: HashMap<Reason, i64> = latencies.into_iter().filter_map(median).collect();
    // Where every launch of one kind was early, those of the other say the most about it.
    for is_graph in [false, true] {
        if let Some(&other) = typical.get(&Reason::Launch { is_graph: !is_graph }) {
            typical.entry(Reason::Launch { is_graph }).or_insert(other);
        }
    }
    typical
}
