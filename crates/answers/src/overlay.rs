//! Copies of a trace with more in them, for viewers.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use critical_path::CriticalPath;
use gpu_timeline::HeldSamples;
use multi_rank::{FuseOutput, FusedFile};
use serde_json::Value;
use trace_ingest::{
    Category, EntryVisitor, RawEntry, ReadOptions, RowId, Trace, TrackId, members, visit_entries,
};
use tree_perf::Analysis;

use crate::error::Error;

/// Which of the recorded events stand in an overlay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverlayEvents {
    /// All.
    #[default]
    All,
    /// Those of the path, and around them the annotations and Python frames; none of the recorder's arrows. What is
    /// neither span nor arrow, such as the names of threads, stays.
    Path,
}

/// Writes the trace that a path was found in once more, with the path on a track of its own and with arrows between
/// events. Events of the path have the argument `critical`, as those of Holistic Trace Analysis. Returns how many entries of
/// the trace were left out because they are not JSON.
///
/// # Errors
/// When the trace cannot be read again, or the file cannot be written.
pub fn write_overlay(
    trace: &Path,
    path: &CriticalPath,
    kept: OverlayEvents,
    output: &FuseOutput,
    reading: &ReadOptions<'_>,
) -> Result<u64, Error> {
    let events = path.trace().events();
    let on_path = path.parts.iter().filter(|part| part.class.is_some()).filter_map(|part| part.event);
    let critical: BTreeSet<u32> = on_path.map(|event| events.uid(event)).collect();
    let rewrite = |entry: &RawEntry<'_>, text: &[u8]| match (critical.contains(&entry.uid), kept) {
        (true, _) => marked_critical(text).map_or(Copied::Unchanged, Copied::As),
        (false, OverlayEvents::Path) if !stays_around_path(entry) => Copied::Not,
        (false, _) => Copied::Unchanged,
    };
    copy_with(trace, rewrite, path.overlay(), output, reading)
}

/// Whether an entry that is not of the path stands in an overlay of the path alone.
fn stays_around_path(entry: &RawEntry<'_>) -> bool {
    const AROUND: [Category; 3] =
        [Category::USER_ANNOTATION, Category::GPU_USER_ANNOTATION, Category::PYTHON_FUNCTION];
    match entry.phase {
        Some(b'X' | b'B' | b'E') => entry.category().is_some_and(|category| AROUND.contains(&category)),
        Some(b's' | b't' | b'f') => false,
        _ => true,
    }
}

/// Writes a trace once more with counters: the length of each stream's queue, and the rate of the copies of each kind, below
/// the process of the device. Returns how many entries of the trace were left out because they are not JSON.
///
/// # Errors
/// When the trace cannot be read again, or the file cannot be written.
pub fn write_counters(
    trace: &Path,
    analysis: &Analysis,
    output: &FuseOutput,
    reading: &ReadOptions<'_>,
) -> Result<u64, Error> {
    let queues = analysis.queue_lengths_over_time().into_iter().map(|queue| Counter {
        name: queue
            .stream
            .map_or("queue length".to_owned(), |stream| format!("queue length, stream {stream}")),
        value: "events",
        track: queue.track,
        values: queue.lengths,
    });
    let copies = analysis.copy_rates_over_time().into_iter().map(|copies| Counter {
        name: format!("bandwidth, {}", copies.kind),
        value: "GB/s",
        track: copies.track,
        values: copies.gb_per_s,
    });
    let counters: Vec<Counter> = queues.chain(copies).collect();
    let entries = counters.iter().flat_map(|counter| counter.entries(analysis.trace()));
    copy_with(trace, |_, _| Copied::Unchanged, entries, output, reading)
}

/// A quantity over time, as a track of a viewer.
struct Counter {
    name: String,
    value: &'static str,
    /// An event's, whose process it is of.
    track: TrackId,
    values: HeldSamples,
}

impl Counter {
    /// An entry for each change, and one at the end, where it is 0.
    fn entries<'a>(&'a self, trace: &'a Trace) -> impl Iterator<Item = String> + 'a {
        let process = match trace.tracks().get(self.track).pid {
            RowId::Number(number) => number.into(),
            RowId::Text(text) => trace.text(text).into(),
            RowId::Missing => Value::Null,
        };
        let begin = format!(r#"{{"ph": "C", "name": {}, "pid": {process}"#, Value::from(&*self.name));
        let stretches = self.values.stretches();
        let end = stretches.last().map(|&(time, _)| (time.end, 0.0));
        let changes = stretches.iter().map(|&(time, value)| (time.start, value)).chain(end);
        changes.map(move |(time, value)| {
            let time = trace.time_unit().decimal_microseconds(trace.origin() + time);
            format!(r#"{begin}, "ts": {time}, "args": {{"{}": {value}}}}}"#, self.value)
        })
    }
}

/// What becomes of an entry.
enum Copied {
    Unchanged,
    As(Vec<u8>),
    Not,
}

/// Copies a trace, with entries added at its end. Returns how many of its own are not JSON and were left out.
fn copy_with(
    trace: &Path,
    rewrite: impl FnMut(&RawEntry<'_>, &[u8]) -> Copied,
    added: impl Iterator<Item = String>,
    output: &FuseOutput,
    reading: &ReadOptions<'_>,
) -> Result<u64, Error> {
    let failed = |source| Error::Overlay { path: output.path().to_path_buf(), source };
    let file = output.create().map_err(failed)?;
    let mut copier = Copier { file, rewrite, unusable: 0, failure: None };
    visit_entries(trace, reading, &mut copier)?;
    let Copier { mut file, unusable, failure, .. } = copier;
    if let Some(failure) = failure {
        return Err(failed(failure));
    }
    for entry in added {
        file.add_entry(entry.as_bytes()).map_err(failed)?;
    }
    file.commit().map_err(failed)?;
    Ok(unusable)
}

/// Copies what stands in a trace.
struct Copier<R> {
    file: FusedFile,
    rewrite: R,
    unusable: u64,
    failure: Option<io::Error>,
}

impl<R: FnMut(&RawEntry<'_>, &[u8]) -> Copied> EntryVisitor for Copier<R> {
    fn fact(&mut self, key: &'static str, value: &[u8]) -> ControlFlow<()> {
        self.file.add_fact(key, value);
        ControlFlow::Continue(())
    }

    fn entry(&mut self, entry: RawEntry<'_>) -> ControlFlow<()> {
        let Some(text) = entry.valid_json() else {
            self.unusable += 1;
            return ControlFlow::Continue(());
        };
        let text = match (self.rewrite)(&entry, &text) {
            Copied::Unchanged => text,
            Copied::As(text) => Cow::Owned(text),
            Copied::Not => return ControlFlow::Continue(()),
        };
        match self.file.add_entry(&text) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// An entry of a trace with the argument `critical`; `None` where it is no object.
fn marked_critical(entry: &[u8]) -> Option<Vec<u8>> {
    const MARK: &[u8] = br#""critical": 1"#;
    let own = members(entry)?;
    let arguments = own.iter().find(|member| member.key == b"args").filter(|own| own.text.starts_with(b"{"));
    let (at, parts): (usize, [&[u8]; 3]) = match arguments {
        Some(own) => {
            let comma: &[u8] = if members(own.text)?.is_empty() { b"" } else { b", " };
            (own.text.as_ptr() as usize - entry.as_ptr() as usize + 1, [MARK, comma, b""])
        }
        None => (entry.iter().rposition(|&byte| byte == b'}')?, [br#", "args": {"#, MARK, b"}"]),
    };
    Some([&entry[..at], parts[0], parts[1], parts[2], &entry[at..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_among_the_arguments() {
        for (entry, marked) in [
            (r#"{"a": 1, "args": {"b": 2}}"#, r#"{"a": 1, "args": {"critical": 1, "b": 2}}"#),
            (r#"{"args": {}, "a": 1}"#, r#"{"args": {"critical": 1}, "a": 1}"#),
            (r#"{"a": "}"}"#, r#"{"a": "}", "args": {"critical": 1}}"#),
        ] {
            assert_eq!(marked_critical(entry.as_bytes()).as_deref(), Some(marked.as_bytes()), "{entry}");
        }
        assert_eq!(marked_critical(b"[]"), None);
    }
}
