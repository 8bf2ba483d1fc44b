//! The path as entries of a trace file, for viewers.

use std::fmt::Write as _;

use trace_ingest::{EventId, RowId, Trace, TrackId};

use crate::analysis::{CriticalPath, PathPart};

/// Process of the track that the path has of its own, which no recorder uses.
const PROCESS: i64 = 2_000_000_000;

/// First id of the arrows: above those of launches and of dependencies between graph nodes.
const FIRST_ARROW: u64 = 1 << 52;

impl CriticalPath {
    /// Entries to add to those of the recording, each a JSON object: a track with the path, and arrows, which stand on the
    /// tracks of the events. Where all edges of the graph were kept, each edge from one event to another has an arrow, with
    /// its kind and weight; else those events of the path that follow each other on different tracks have one.
    pub fn overlay(&self) -> impl Iterator<Item = String> + '_ {
        let name = |what: &str, name: &str| {
            format!(
                r#"{{"ph": "M", "name": "{what}", "pid": {PROCESS}, "tid": 0, "args": {{"name": "{name}"}}}}"#
            )
        };
        let names = [name("process_name", "Critical path"), name("thread_name", "path")];
        let spans = self.parts.iter().filter(|part| part.duration > 0).map(|part| self.span(part));
        let arrows = if self.edges.is_empty() { self.path_arrows() } else { self.edge_arrows() };
        names.into_iter().chain(spans).chain(arrows)
    }

    fn path_arrows(&self) -> Vec<String> {
        let on_events: Vec<&PathPart> = self.parts.iter().filter(|part| part.event.is_some()).collect();
        let mut arrows = Vec::new();
        for (two, id) in on_events.windows(2).zip(FIRST_ARROW..) {
            if let [Some(from), Some(to)] = [two[0], two[1]].map(|part| self.track(part))
                && from != to
            {
                arrows.push(self.arrow("s", id, from, two[0].start + two[0].duration.max(1) - 1, ""));
                arrows.push(self.arrow("f", id, to, two[1].start, ""));
            }
        }
        arrows
    }

    fn edge_arrows(&self) -> Vec<String> {
        let events = self.trace().events();
        // An arrow stands on the event around its time, and nothing is around the end of an event.
        let within = |(event, time): (EventId, i64)| time.min(events.end(event) - 1).max(events.start(event));
        let between = self.edges.iter().filter(|edge| edge.from.0 != edge.to.0);
        let arrows = between.zip(FIRST_ARROW..).flat_map(|(edge, id)| {
            let arguments = format!(
                r#", "args": {{"edge": "{}", "weight_us": {}, "critical": {}}}"#,
                edge.kind.as_str(),
                self.us(edge.weight),
                u8::from(edge.is_on_path)
            );
            [("s", edge.from), ("f", edge.to)].map(|(phase, moment)| {
                self.arrow(phase, id, events.track(moment.0), within(moment), &arguments)
            })
        });
        arrows.collect()
    }

    fn track(&self, part: &PathPart) -> Option<TrackId> {
        part.event.map(|event| self.trace().events().track(event))
    }

    fn span(&self, part: &PathPart) -> String {
        let trace = self.trace();
        let class = part.class.map_or("", |class| class.as_str());
        let name = part.event.map_or("", |event| trace.name(event));
        let mut entry =
            format!(r#"{{"ph": "X", "cat": "critical_path", "name": "{class}", "pid": {PROCESS}, "tid": 0"#);
        let _ = write!(
            entry,
            r#", "ts": {}, "dur": {}"#,
            self.us(trace.origin() + part.start),
            self.us(part.duration)
        );
        let _ = write!(entry, r#", "args": {{"event": {}}}}}"#, json_text(name));
        entry
    }

    fn arrow(&self, phase: &str, id: u64, track: TrackId, time: i64, arguments: &str) -> String {
        let trace: &Trace = self.trace();
        let row = |id: RowId| match id {
            RowId::Number(number) => number.to_string(),
            RowId::Text(text) => json_text(trace.text(text)),
            RowId::Missing => "null".to_owned(),
        };
        let track = trace.tracks().get(track);
        let binding = if phase == "f" { r#", "bp": "e""# } else { "" };
        format!(
            r#"{{"ph": "{phase}", "cat": "critical_path", "name": "critical_path", "id": {id}, "pid": {}, "tid": {}, "ts": {}{binding}{arguments}}}"#,
            row(track.pid),
            row(track.tid),
            self.us(trace.origin() + time),
        )
    }

    /// A time of the file in µs with all its digits.
    fn us(&self, time: i64) -> String {
        self.trace().time_unit().decimal_microseconds(time)
    }
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
