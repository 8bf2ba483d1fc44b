//! The entries of the event list as they stand in the file, one after the other.

use std::borrow::Cow;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use super::assemble::{Refusal, Sink};
use super::facts::{is_log, read_fact};
use super::members::{number, time};
use super::rare_arguments::RareField;
use super::run::{Entry, RunEnd, walk};
use super::valid_json::valid_json;
use super::{FORMAT, pipeline, refused};
use crate::category::Category;
use crate::error::IngestError;
use crate::event_table::{FlowEnd, FlowKind};
use crate::facts::{RecordingKind, TraceFacts};
use crate::json::scanner::{RawValue, unescape};
use crate::open::{detect, other_kind, recognise};
use crate::source::{self, ReadOptions, TextSource};
use crate::trace::Trace;
use crate::track_table::{RowId, Track, TrackId};

/// An entry of the event list as it stands in the file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RawEntry<'t> {
    /// Index in the list, the one that [`crate::EventTable::find_uid`] takes.
    pub uid: u32,
    /// The text, from brace to brace.
    pub text: &'t [u8],
    /// `ph`, where it is a single character.
    pub phase: Option<u8>,
    /// Kind, end and id of an end of a known kind of flow arrow.
    pub flow: Option<(FlowKind, FlowEnd, i64)>,
    /// `ts`, absolute, in nanoseconds.
    pub time: Option<i64>,
    /// `cat` as it stands, empty without.
    category: &'t [u8],
    name: &'t [u8],
    correlation: RawValue<'t>,
    external_id: RawValue<'t>,
    pid: RawValue<'t>,
    tid: RawValue<'t>,
    names_collective: bool,
}

impl<'t> RawEntry<'t> {
    fn new(uid: u32, text: &'t [u8], entry: &Entry<'t>, rare: &[(RareField, RawValue<'t>)]) -> Self {
        let phase = match entry.phase {
            RawValue::Text(&[phase]) => Some(phase),
            _ => None,
        };
        let end = match phase {
            Some(b's') => Some(FlowEnd::Start),
            Some(b'f') => Some(FlowEnd::Finish),
            _ => None,
        };
        let flow = entry.flow_kind().zip(end).zip(number(entry.id)).map(|((kind, end), id)| (kind, end, id));
        RawEntry {
            uid,
            text,
            phase,
            flow,
            time: time(entry.timestamp),
            category: entry.category,
            name: entry.name.unwrap_or_default(),
            correlation: entry.correlation,
            external_id: entry.external_id,
            pid: entry.pid,
            tid: entry.tid,
            names_collective: rare.iter().any(|(field, _)| field.is_collective_name()),
        }
    }

    /// The category, where it is one of those that [`Category`] has constants for.
    #[must_use]
    pub fn category(&self) -> Option<Category> {
        let device_category = || Category::from_device_event(self.category, self.name)?.1;
        Category::known(self.category).or_else(device_category)
    }

    /// The text of `cat` as it stands; empty without.
    #[must_use]
    pub fn category_text(&self) -> &'t [u8] {
        self.category
    }

    /// The name, escapes resolved; empty without.
    #[must_use]
    pub fn name(&self) -> String {
        unescape(self.name).0
    }

    /// The argument `correlation`, which a launch and its device event share.
    #[must_use]
    pub fn correlation(&self) -> Option<i64> {
        number(self.correlation)
    }

    /// The argument `External id`.
    #[must_use]
    pub fn external_id(&self) -> Option<i64> {
        number(self.external_id)
    }

    /// Whether its arguments describe a collective.
    #[must_use]
    pub fn names_collective(&self) -> bool {
        self.names_collective
    }

    /// The track of `trace`, which was read from the same file, that the entry lies on; `None` when none of
    /// its events does.
    #[must_use]
    pub fn track(&self, trace: &Trace) -> Option<TrackId> {
        let track = Track { pid: row_id(self.pid, trace)?, tid: row_id(self.tid, trace)? };
        trace.tracks().find(track)
    }

    /// The text as JSON that strict parsers take too: profilers write control characters into names, bytes that
    /// are no UTF-8, `NaN`. `None` when it cannot be made so.
    #[must_use]
    pub fn valid_json(&self) -> Option<Cow<'t, [u8]>> {
        valid_json(self.text)
    }
}

/// The row id that a value stands for, if the trace has it.
fn row_id(value: RawValue<'_>, trace: &Trace) -> Option<RowId> {
    match value {
        RawValue::Null | RawValue::Nested(_) => Some(RowId::Missing),
        RawValue::Bare(text) | RawValue::Text(text) => match crate::json::number::integer(text) {
            Some(number) => Some(RowId::Number(number)),
            None => trace.strings().find(&unescape(text).0).map(RowId::Text),
        },
    }
}

/// Takes what [`crate::visit_entries`] finds, in the order of the file, until it breaks off.
pub trait EntryVisitor {
    /// Takes a top-level fact that [`crate::TraceFacts`] knows, as valid JSON. Other top-level members, the
    /// recorder's environment among them, are not handed out.
    fn fact(&mut self, key: &'static str, value: &[u8]) -> ControlFlow<()>;

    /// Takes an entry of the event list. Malformed ones are left out, but counted by the index.
    fn entry(&mut self, entry: RawEntry<'_>) -> ControlFlow<()>;
}

/// Hands entries to a visitor.
pub(crate) struct EntrySink<'v> {
    pub(crate) visitor: &'v mut dyn EntryVisitor,
    /// Entries so far.
    pub(crate) entries: u32,
    pub(crate) outcome: ControlFlow<()>,
}

impl Sink for EntrySink<'_> {
    fn fact(&mut self, key: &'static str, value: &[u8]) {
        // A value that is not what the key promises may be anything, so it is nothing to hand on.
        let mut warnings = Vec::new();
        read_fact(key, value, &mut TraceFacts::default(), &mut warnings);
        if warnings.is_empty()
            && !is_log(key)
            && self.outcome.is_continue()
            && let Some(value) = valid_json(value)
        {
            self.outcome = self.visitor.fact(key, &value);
        }
    }

    fn entries(&mut self, text: &[u8], _: u64) -> Result<RunEnd, Refusal> {
        let mut too_many = false;
        let end = walk(text, false, |range, parsed| {
            self.outcome?;
            let Some(next) = self.entries.checked_add(1) else {
                too_many = true;
                return ControlFlow::Break(());
            };
            let uid = std::mem::replace(&mut self.entries, next);
            if let Ok((entry, rare)) = parsed {
                self.outcome = self.visitor.entry(RawEntry::new(uid, &text[range], entry, rare));
            }
            self.outcome
        });
        if too_many { Err(Refusal::TooManyEvents) } else { Ok(end) }
    }

    fn trailing(&mut self, _: &[u8]) {}

    fn wants_more(&self) -> bool {
        self.outcome.is_continue()
    }
}

/// Goes through a Kineto file and hands its known top-level facts and the entries of its event list to
/// `visitor` as they stand there, in constant memory. Returns the number of entries, malformed ones
/// included; after the visitor broke off, the number so far.
///
/// For copying parts of a file: read it with [`crate::read_path`], choose events, and take their text here.
/// What [`crate::read_path`] warns of (a cut-off end, damage) is skipped silently here.
///
/// # Errors
/// Those of [`crate::read_path`], [`IngestError::OtherKind`] for a recording of another kind, and
/// [`IngestError::NoEntries`] for one that is no JSON.
pub fn visit_entries(
    path: &Path,
    options: &ReadOptions<'_>,
    visitor: &mut dyn EntryVisitor,
) -> Result<u32, IngestError> {
    let source = open_entries(path, options)?;
    let sink = EntrySink { visitor, entries: 0, outcome: ControlFlow::Continue(()) };
    let outcome = pipeline::read_into(source.text, sink, pipeline::BLOCK);
    let entries = outcome.map(|(sink, ..)| sink.entries).map_err(|refusal| refused(path, refusal));
    source.expansion.end(path, entries)
}

/// Whether [`visit_entries`] can go through a file, by its beginning alone. A pipe is not looked at: what it gives here, it
/// gives to no one else.
///
/// # Errors
/// Those of [`visit_entries`] that the beginning shows.
pub fn check_entries(path: &Path, options: &ReadOptions<'_>) -> Result<(), IngestError> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Ok(());
    }
    match recognise(path, options)? {
        RecordingKind::Trace => open_entries(path, &ReadOptions { progress: None, ..*options }).map(drop),
        other => Err(other_kind(path, other, &[RecordingKind::Trace])),
    }
}

fn open_entries<'a>(path: &Path, options: &ReadOptions<'a>) -> Result<TextSource<'a>, IngestError> {
    let source = source::open(path, options)?;
    match detect(&[RecordingKind::Trace], path, &source.head, options)?.name == FORMAT.name {
        true => Ok(source),
        false => Err(IngestError::NoEntries { path: path.to_path_buf() }),
    }
}
