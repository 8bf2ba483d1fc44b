//! Device events that follow each other again and again: what could be fused into one kernel, or captured in a graph.

use std::cmp::Reverse;
use std::ops::Range;

use gpu_timeline::{SortFew, repeated_sequences};
use hashbrown::HashMap;
use sheets::{Column, ColumnKind, Figure, Role, Sheet, Unit};
use trace_ingest::{Category, EventId, PerString, StringId};
use trace2tree::is_graph_launch;

use crate::IndexMap;
use crate::analysis::Analysis;

/// Rows of operators, and of streams, that are shown.
const MOST_ROWS: usize = 50;
/// Names of a sequence that are shown.
const MOST_NAMES: usize = 12;

/// A sequence of names that occurs several times.
struct Row {
    /// Below whose calls; `None` of sequences on streams.
    operator: Option<StringId>,
    /// The first occurrence.
    events: Vec<EventId>,
    count: usize,
    totals: Totals,
    /// Time without work between the events of the occurrences; `None` below operators, whose events may be on several
    /// streams.
    gaps: Option<i64>,
}

/// Of all occurrences.
#[derive(Clone, Copy, Default)]
struct Totals {
    /// Launching calls but the first of each occurrence.
    launches: i64,
    launch_time: i64,
    device_time: i64,
}

/// One row per sequence, of operators and of streams.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let fields = [
        Column::text("within", "operator (work launched by one operator, the innermost enclosing all of it) or stream (consecutive work on a stream, regardless of launcher). Stream sequences may contain operator sequences and each other.")
            .field(|row: &Row| if row.operator.is_some() { "operator" } else { "stream" }.into()),
        Column::text("operator", "Name of the operator; empty for stream sequences.")
            .field_in(|analysis: &&Analysis, row: &Row| row.operator.map(|name| analysis.trace().text(name)).into()),
        Column::text("sequence", "Device event names in order; for long sequences, the first twelve and the number of others.")
            .field_in(|analysis: &&Analysis, row: &Row| names(analysis, &row.events).into()),
        Column::milliseconds("saved_launch_ms", "Host time of all launching calls except the first of each occurrence: the saving if one fused kernel or one graph replaced the sequence and its launch took as long as the first call.")
            .with_role(Role::Headline)
            .field_in(|analysis: &&Analysis, row: &Row| analysis.ms(row.totals.launch_time).into()),
        Column::count("saved_launches", "Number of launching calls saved.").field(|row: &Row| row.totals.launches.into()),
        Column::count("count", "Number of occurrences, excluding those that overlap the previous one.")
            .field(|row: &Row| row.count.into()),
        Column::count("length", "Number of device events in the sequence.")
            .per("occurrence")
            .field(|row: &Row| row.events.len().into()),
        Column::milliseconds("device_ms", "Sum over occurrences of the device events' durations.")
            .field_in(|analysis: &&Analysis, row: &Row| analysis.ms(row.totals.device_time).into()),
        Column::new(
            "gaps_ms",
            ColumnKind::Number(Unit::Milliseconds),
            "Idle time of the stream between the events, summed over occurrences; empty for operator sequences, which may use several streams.",
        ).showing(&[Figure::Gaps])
        .field_in(|analysis: &&Analysis, row: &Row| row.gaps.map(|gaps| analysis.ms(gaps)).into()),
        Column::identifier("first_UID", "Index of the first occurrence's first device event in the file's event list.")
            .with_role(Role::Provenance)
            .field_in(|analysis: &&Analysis, row: &Row| {
                row.events.first().map(|&event| analysis.trace().events().uid(event)).into()
            }),
    ];
    Sheet::with_context(
        "frequent_sequences",
        "Repeated sequences of device events, largest possible launch saving first: candidates for one fused kernel or a graph; needs --waits. The top fifty for operators and the top fifty for streams. Graph work and work without a launch in the trace are excluded and interrupt stream sequences.",
        fields,
        |analysis: &Analysis| {
            let rows = analysis.options().waits.then(|| rows(analysis))?;
            (!rows.is_empty()).then_some((analysis, rows))
        },
    )
}

fn names(analysis: &Analysis, events: &[EventId]) -> String {
    let shown: Vec<&str> =
        events.iter().take(MOST_NAMES).map(|&event| analysis.trace().name(event)).collect();
    match events.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(" -> "),
        more => format!("{} -> ... {more} more", shown.join(" -> ")),
    }
}

fn rows(analysis: &Analysis) -> Vec<Row> {
    let mut rows = operator_rows(analysis);
    rows.extend(stream_rows(analysis));
    rows.sort_few_by_key(|row| {
        (Reverse(row.totals.launch_time), row.operator.is_none(), row.events.first().copied())
    });
    rows
}

/// Sums over a list of device events, of which any stretch can be asked.
struct Sums(Vec<Totals>);

impl Sums {
    /// The events in order, each with the call that launched it; calls that launch graphs count as none. An event whose
    /// call is that of the event before adds no launch.
    fn new(analysis: &Analysis, launched: impl Iterator<Item = (EventId, Option<EventId>)>) -> Self {
        let events = analysis.trace().events();
        let (mut sums, mut sum, mut before) = (vec![Totals::default()], Totals::default(), None);
        for (event, launch) in launched {
            if let Some(call) = launch.filter(|_| launch != before) {
                sum.launches += 1;
                sum.launch_time += events.duration(call);
            }
            sum.device_time += events.duration(event);
            sums.push(sum);
            before = launch;
        }
        Sums(sums)
    }

    /// Of one occurrence.
    fn of(&self, range: Range<usize>) -> Totals {
        let (first, start, end) = (self.0[range.start], self.0[range.start + 1], self.0[range.end]);
        Totals {
            launches: end.launches - start.launches,
            launch_time: end.launch_time - start.launch_time,
            device_time: end.device_time - first.device_time,
        }
    }
}

impl Totals {
    fn add(&mut self, other: Totals) {
        self.launches += other.launches;
        self.launch_time += other.launch_time;
        self.device_time += other.device_time;
    }
}

/// The call that launched an event by itself; `None` where a graph did, or nobody knows.
fn single_launch<'a>(analysis: &'a Analysis) -> impl FnMut(EventId) -> Option<EventId> + 'a {
    let (tree, events) = (analysis.tree(), analysis.trace().events());
    let mut is_graph = PerString::new(analysis.trace().strings(), is_graph_launch);
    move |event| tree.recorded_launch(event).filter(|&call| !*is_graph.get(events.name(call)))
}

/// What the calls of an operator launch, where several calls launch the same.
fn operator_rows(analysis: &Analysis) -> Vec<Row> {
    let (tree, events) = (analysis.tree(), analysis.trace().events());
    let launched = tree.linked_device_events();
    let mut launch = single_launch(analysis);
    let sums = Sums::new(analysis, launched.iter().map(|&event| (event, launch(event))));
    let hashes = Hashes::new(launched.iter().map(|&event| events.name(event)));
    // Operators stand before those inside them, so the innermost around the same events is the last.
    let mut innermost: IndexMap<(usize, usize), EventId> = IndexMap::default();
    for &event in tree.host_events() {
        let positions = tree.device_positions(event);
        if events.category(event) == Category::CPU_OP && positions.len() > 1 {
            innermost.insert((positions.start, positions.end), event);
        }
    }
    let mut alike: IndexMap<(StringId, usize, u64), Row> = IndexMap::default();
    for ((start, end), operator) in innermost {
        let totals = sums.of(start..end);
        if totals.launches == 0 {
            continue;
        }
        let name = events.name(operator);
        let row = alike.entry((name, end - start, hashes.of(start..end))).or_insert_with(|| Row {
            operator: Some(name),
            events: launched[start..end].to_vec(),
            count: 0,
            totals: Totals::default(),
            gaps: None,
        });
        row.count += 1;
        row.totals.add(totals);
    }
    let mut rows: Vec<Row> = alike.into_values().filter(|row| row.count > 1).collect();
    rows.sort_few_by_key(|row| Reverse(row.totals.launch_time));
    rows.truncate(MOST_ROWS);
    rows
}

/// Hashes of all stretches of a list: those of the stretches from its start, as polynomials modulo the prime 2^61 - 1.
/// Two of n stretches that differ have one hash with a probability of about n^2 / 2^61.
struct Hashes {
    prefixes: Vec<u64>,
    powers: Vec<u64>,
}

impl Hashes {
    const PRIME: u64 = (1 << 61) - 1;
    /// An arbitrary number below the prime.
    const BASE: u64 = 0x0123_4567_89AB_CDEF;

    fn new(names: impl Iterator<Item = StringId>) -> Self {
        let mut hashes = Hashes { prefixes: vec![0], powers: vec![1] };
        let (mut hash, mut power) = (0, 1);
        for name in names {
            hash = (Self::product(hash, Self::BASE) + name.index() as u64 + 1) % Self::PRIME;
            power = Self::product(power, Self::BASE);
            hashes.prefixes.push(hash);
            hashes.powers.push(power);
        }
        hashes
    }

    fn product(a: u64, b: u64) -> u64 {
        (u128::from(a) * u128::from(b) % u128::from(Self::PRIME)) as u64
    }

    fn of(&self, range: Range<usize>) -> u64 {
        let before = Self::product(self.prefixes[range.start], self.powers[range.len()]);
        (self.prefixes[range.end] + Self::PRIME - before) % Self::PRIME
    }
}

/// What follows each other on streams.
fn stream_rows(analysis: &Analysis) -> Vec<Row> {
    let events = analysis.trace().events();
    let mut launch = single_launch(analysis);
    let mut streams: HashMap<(Option<i64>, Option<i64>), Vec<EventId>> = HashMap::new();
    for &event in &analysis.device.ids {
        streams.entry((events.device(event), events.stream(event))).or_default().push(event);
    }
    let mut streams: Vec<_> = streams.into_iter().collect();
    streams.sort_few_by_key(|&(stream, _)| stream);
    let mut launched: Vec<(EventId, Option<EventId>)> = Vec::with_capacity(analysis.device.ids.len());
    let (mut symbols, mut gaps, mut gap) = (Vec::new(), vec![0], 0);
    for (_, mut on_stream) in streams {
        on_stream.sort_by_key(|&event| events.start(event));
        let mut latest_end: Option<i64> = None;
        for event in on_stream {
            let call = launch(event);
            // The name of what has no launch of its own is like no other.
            symbols.push(call.map(|_| events.name(event).index() as u32));
            launched.push((event, call));
            gap += latest_end.map_or(0, |end| (events.start(event) - end).max(0));
            gaps.push(gap);
            latest_end = latest_end.max(Some(events.end(event)));
        }
        // Nothing goes on from one stream to the next.
        if let Some(&(last, _)) = launched.last() {
            symbols.push(None);
            launched.push((last, None));
            gaps.push(gap);
        }
    }
    let sums = Sums::new(analysis, launched.iter().copied());
    let costs: Vec<i64> = sums.0.windows(2).map(|pair| pair[1].launch_time - pair[0].launch_time).collect();
    let row = |sequence: gpu_timeline::RepeatedSequence| {
        let mut row = Row {
            operator: None,
            events: Vec::new(),
            count: sequence.starts.len(),
            totals: Totals::default(),
            gaps: Some(0),
        };
        let first_range = sequence.first()..sequence.first() + sequence.length;
        row.events = launched[first_range].iter().map(|&(event, _)| event).collect();
        for &start in &sequence.starts {
            let (start, end) = (start as usize, start as usize + sequence.length);
            row.totals.add(sums.of(start..end));
            row.gaps = row.gaps.map(|sum| sum + gaps[end] - gaps[start + 1]);
        }
        row
    };
    repeated_sequences(&symbols, &costs, MOST_ROWS).into_iter().map(row).collect()
}
