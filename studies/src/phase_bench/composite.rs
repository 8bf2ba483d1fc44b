//! Traces put together out of recorded ones, the same for the same parts.

use trace_ingest::{Category, EventArguments, EventId, RowId, Signature, Trace, TraceBuilder, Track};

/// Which events of a recording the detector gets to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// All of them.
    Sighted,
    /// No annotations.
    Blind,
    /// Neither annotations nor Python frames.
    BlindNoStack,
}

impl Mode {
    pub(super) const ALL: [Mode; 3] = [Mode::Sighted, Mode::Blind, Mode::BlindNoStack];

    pub(super) fn name(self) -> &'static str {
        match self {
            Mode::Sighted => "sighted",
            Mode::Blind => "blind",
            Mode::BlindNoStack => "blind+nostack",
        }
    }

    fn shows(self, trace: &Trace, category: Category) -> bool {
        match self {
            Mode::Sighted => true,
            Mode::Blind => !trace.category_name(category).contains("annotation"),
            Mode::BlindNoStack => category != Category::PYTHON_FUNCTION && Mode::Blind.shows(trace, category),
        }
    }
}

/// Between the end of a part and the start of the next.
const PAUSE_MICROSECONDS: i64 = 1000;

/// Added to the ids of a part, times its number, so that no two parts share any.
const ID_OFFSET: i64 = 10_000_000;

/// The parts one after the other. Events keep their threads and streams, and their order: the device events of one
/// composite are in the same places in every mode.
pub(super) fn composite(parts: &[&Trace], mode: Mode) -> Trace {
    let mut builder = TraceBuilder::new();
    let mut begin = 0;
    for (trace, number) in parts.iter().zip(1..) {
        begin = append(&mut builder, trace, mode, begin, number) + PAUSE_MICROSECONDS * 1000;
    }
    builder.finish()
}

/// Adds a part that starts at `begin`; when it ends, with all of its events, shown or not.
fn append(builder: &mut TraceBuilder, trace: &Trace, mode: Mode, begin: i64, number: i64) -> i64 {
    let events = trace.events();
    let columns = events.arguments();
    // The builder takes nanoseconds.
    let unit = trace.time_unit().per_microsecond() / 1000;
    let shift = |id: Option<i64>| id.map(|id| id.saturating_add(number * ID_OFFSET));
    let mut end = begin;
    for event in events.ids() {
        end = end.max(begin + events.end(event) / unit);
        let category = events.category(event);
        if !mode.shows(trace, category) {
            continue;
        }
        let Some((pid, tid)) = numbers(trace.tracks().get(events.track(event))) else { continue };
        let track = builder.track(pid, tid);
        let signature = events.signature(event).map(|id| {
            let Signature { dims, types, strides, concrete } = trace.signatures().get(id);
            let value = |id: Option<_>| id.map(|id| trace.signatures().argument(id).clone());
            builder.signature([value(dims), value(types), value(strides), value(concrete)])
        });
        let arguments = EventArguments {
            external_id: shift(events.external_id(event)),
            correlation: shift(events.correlation(event)),
            sequence_number: shift(events.sequence_number(event)),
            device: events.device(event),
            stream: events.stream(event),
            signature,
            graph_node: columns.graph_node.get(event.index()),
            ..EventArguments::default()
        };
        let category = builder.category(trace.category_name(category));
        let (start, duration) = (events.start(event) / unit, events.duration(event) / unit);
        builder.event(category, trace.name(event), track, begin + start, duration, arguments);
    }
    end
}

/// Process and thread; rows named by text hold the recording's own spans, nothing of the program's.
fn numbers(track: Track) -> Option<(i64, i64)> {
    match (track.pid, track.tid) {
        (RowId::Number(pid), RowId::Number(tid)) => Some((pid, tid)),
        _ => None,
    }
}

/// Device events in file order.
pub(crate) fn device_events(trace: &Trace) -> Vec<EventId> {
    let events = trace.events();
    events.ids().filter(|&event| events.category(event).is_device()).collect()
}
