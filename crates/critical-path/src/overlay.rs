//! The path as entries of a trace file, for viewers.

use std::fmt::Write as _;

use trace_ingest::{RowId, Trace, TrackId};

use crate::analysis::{CriticalPath, PathPart};

/// Process of the track that the path has of its own, which no recorder uses.
const PROCESS: i64 = 2_000_000_000;

/// First id of the arrows: above those of launches and of dependencies between graph nodes.
const FIRST_ARROW: u64 = 1 << 52;

impl CriticalPath {
    /// Entries to add to those of the recording, each a JSON object: a track with the path, and arrows between the events
    /// on it. The arrows stand on the tracks of the events.
    pub fn overlay(&self) -> impl Iterator<Item = String> + '_ {
        let name = |what: &str, name: &str| {
            format!(
                r#"{{"ph": "M", "name": "{what}", "pid": {PROCESS}, "tid": 0, "args": {{"name": "{name}"}}}}"#
            )
        };
        let names = [name("process_name", "Critical path"), name("thread_name", "path")];
        let spans = self.parts.iter().filter(|part| part.duration > 0).map(|part| self.span(part));
        let on_events: Vec<&PathPart> = self.parts.iter().filter(|part| part.event.is_some()).collect();
        let mut arrows = Vec::new();
        for (two, id) in on_events.windows(2).zip(FIRST_ARROW..) {
            if let [Some(from), Some(to)] = [two[0], two[1]].map(|part| self.track(part))
                && from != to
            {
                arrows.push(self.arrow("s", id, from, two[0].start + two[0].duration.max(1) - 1));
                arrows.push(self.arrow("f", id, to, two[1].start));
            }
        }
        names.into_iter().chain(spans).chain(arrows)
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

    fn arrow(&self, phase: &str, id: u64, track: TrackId, time: i64) -> String {
        let trace: &Trace = self.trace();
        let row = |id: RowId| match id {
            RowId::Number(number) => number.to_string(),
            RowId::Text(text) => json_text(trace.text(text)),
            RowId::Missing => "null".to_owned(),
        };
        let track = trace.tracks().get(track);
        let binding = if phase == "f" { r#", "bp": "e""# } else { "" };
        format!(
            r#"{{"ph": "{phase}", "cat": "critical_path", "name": "critical_path", "id": {id}, "pid": {}, "tid": {}, "ts": {}{binding}}}"#,
            row(track.pid),
            row(track.tid),
            self.us(trace.origin() + time),
        )
    }

    /// A time of the file in µs with all its digits.
    fn us(&self, time: i64) -> String {
        let unit = self.trace().time_unit().per_microsecond().unsigned_abs();
        let digits = unit.ilog10() as usize;
        let sign = if time < 0 { "-" } else { "" };
        format!("{sign}{}.{:0digits$}", time.unsigned_abs() / unit, time.unsigned_abs() % unit)
    }
}

/// A text as JSON.
fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
